//! QEMU's command line: what stands before the program, and its options with their values.
use super::words::{Dialect, Word, commands};

/// Options without a value: what follows one is not its value.
const FLAGS: [&str; 18] = [
    "nographic",
    "enable-kvm",
    "nodefaults",
    "daemonize",
    "S",
    "no-user-config",
    "no-reboot",
    "no-shutdown",
    "no-acpi",
    "no-hpet",
    "snapshot",
    "version",
    "help",
    "usb",
    "h",
    "full-screen",
    "preconfig",
    "only-migratable",
];

/// Two names of one option.
const ALIASES: [(&str, &str); 3] = [("M", "machine"), ("net-dev", "netdev"), ("hda-dev", "hda")];

/// One option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    /// Its name without dashes, other names made one.
    pub(super) name: String,
    /// The word that names it.
    pub(super) word: Word,
    /// The word behind it, where it takes a value.
    pub(super) value: Option<Word>,
}

impl Choice {
    /// Where it ends.
    pub(super) fn end(&self) -> usize {
        self.value.as_ref().unwrap_or(&self.word).range.end
    }

    /// Its value as properties; none where a shell makes it up or it is JSON.
    pub(super) fn properties(&self) -> Option<Properties> {
        let value = self.value.as_ref()?.value.as_deref()?;
        (!value.starts_with('{')).then(|| Properties::parse(value))
    }
}

/// A command that starts QEMU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Assignments of variables before it.
    pub(super) assignments: Vec<Word>,
    /// Words between those and the program, such as `exec taskset -c 2,3`.
    pub(super) prefix: Vec<Word>,
    /// The program.
    pub(super) program: Word,
    /// Its options.
    pub(super) options: Vec<Choice>,
}

/// The name of an option as the code knows it.
pub(super) fn own_name(word: &str) -> Option<String> {
    let name = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
    if name.is_empty() {
        return None;
    }
    let own = ALIASES.iter().find(|(other, _)| *other == name).map_or(name, |(_, own)| own);
    Some(own.to_owned())
}

/// Whether a word is a QEMU that emulates a machine.
fn is_qemu(word: &str) -> bool {
    let word = word.strip_prefix("ExecStart=").unwrap_or(word).trim_start_matches(['-', '@', ':', '+', '!']);
    let name = word.rsplit('/').next().unwrap_or(word);
    name.starts_with("qemu-system-") || name == "qemu-kvm" || name == "kvm"
}

impl Line {
    /// The commands of a text that start QEMU.
    pub(super) fn all(text: &str, dialect: Dialect) -> Vec<Self> {
        commands(text, dialect).iter().filter_map(|words| Self::of(words)).collect()
    }

    /// The line that a running process was started with.
    pub(super) fn running(words: &[Word]) -> Option<Self> {
        Self::of(words)
    }

    fn of(words: &[Word]) -> Option<Self> {
        // Its own arguments may look like a QEMU: only the first word that does is the program, and no `[ -x … ]`.
        let at = words.iter().position(|word| is_qemu(word.text()))?;
        let first = words.first()?.text();
        if matches!(first, "[" | "test" | "echo" | "which" | "command" | "if" | "pkill" | "pgrep" | "killall")
            && at > 0
        {
            return None;
        }
        let is_assignment = |word: &&Word| {
            let text = word.text();
            text.split_once('=').is_some_and(|(name, _)| {
                !name.is_empty()
                    && !name.starts_with(|letter: char| letter.is_ascii_digit())
                    && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
            })
        };
        let assignments: Vec<Word> = words[..at].iter().take_while(is_assignment).cloned().collect();
        let prefix = words[assignments.len()..at].to_vec();
        let mut options = Vec::new();
        let mut rest = words[at + 1..].iter().peekable();
        while let Some(word) = rest.next() {
            let Some(name) = own_name(word.text()) else { continue };
            let takes = !FLAGS.contains(&name.as_str());
            let value = rest.next_if(|next| takes && !next.text().starts_with('-')).cloned();
            options.push(Choice { name, word: word.clone(), value });
        }
        Some(Self { assignments, prefix, program: words[at].clone(), options })
    }

    /// The program's path or name.
    pub(super) fn program(&self) -> &str {
        let text = self.program.text();
        text.strip_prefix("ExecStart=").unwrap_or(text)
    }

    /// The CPUs that it is bound to by `taskset -c`, with their word.
    pub(super) fn bound(&self) -> Option<&Word> {
        let at = self.prefix.iter().position(|word| word.text().rsplit('/').next() == Some("taskset"))?;
        let option =
            self.prefix.get(at + 1).filter(|word| matches!(word.text(), "-c" | "--cpu-list" | "-ac"))?;
        let _ = option;
        self.prefix.get(at + 2)
    }

    /// Where what stands before the program begins, behind the assignments.
    pub(super) fn head(&self) -> usize {
        self.prefix.first().unwrap_or(&self.program).range.start
    }
}

/// A value as its parts: `virtio-blk-pci,drive=d0`. Two commas are one in a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Properties(pub(super) Vec<(String, Option<String>)>);

impl Properties {
    /// Reads a value.
    pub(super) fn parse(value: &str) -> Self {
        let mut parts = Vec::new();
        let mut part = String::new();
        let mut letters = value.chars().peekable();
        while let Some(letter) = letters.next() {
            if letter == ',' && letters.next_if_eq(&',').is_none() {
                parts.push(std::mem::take(&mut part));
            } else {
                part.push(letter);
            }
        }
        parts.push(part);
        let split = |part: String| match part.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (part, None),
        };
        Self(parts.into_iter().map(split).collect())
    }

    /// The value of a property.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| other == name).and_then(|(_, value)| value.as_deref())
    }

    /// The first part, where it has no name: a driver, a machine, a number.
    pub(super) fn head(&self) -> Option<&str> {
        self.0.first().filter(|(_, value)| value.is_none()).map(|(head, _)| head.as_str())
    }

    /// As QEMU reads it.
    pub(super) fn text(&self) -> String {
        let parts: Vec<String> = self
            .0
            .iter()
            .map(|(name, value)| match value {
                Some(value) => format!("{name}={}", value.replace(',', ",,")),
                None => name.clone(),
            })
            .collect();
        parts.join(",")
    }

    /// Gives a property a value: in its place, or where `order` puts it.
    pub(super) fn set(&mut self, name: &str, value: &str, order: &[&str]) {
        if let Some(part) = self.0.iter_mut().find(|(other, _)| other == name) {
            part.1 = Some(value.to_owned());
            return;
        }
        let rank = |name: &str| order.iter().position(|other| *other == name);
        let at = match rank(name) {
            Some(own) => self
                .0
                .iter()
                .position(|(other, value)| value.is_some() && rank(other).is_some_and(|rank| rank > own)),
            None => None,
        };
        let at = at.unwrap_or(self.0.len());
        self.0.insert(at, (name.to_owned(), Some(value.to_owned())));
    }
}

#[cfg(test)]
mod tests {
    use super::{Dialect, Line, Properties};

    #[test]
    fn a_command_is_found_with_what_stands_before_it() {
        let text = "#!/bin/sh\n[ -x /usr/bin/qemu-system-x86_64 ] || exit 1\nA=1 exec taskset -c 2,3 qemu-system-x86_64 \\\n --enable-kvm -M q35 -nographic disk.img -m 4G\n";
        let lines = Line::all(text, Dialect::Shell);
        let [line] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!(line.program(), "qemu-system-x86_64");
        assert_eq!(line.bound().unwrap().text(), "2,3");
        assert_eq!(line.assignments.len(), 1);
        let names: Vec<&str> = line.options.iter().map(|option| option.name.as_str()).collect();
        assert_eq!(names, ["enable-kvm", "machine", "nographic", "m"]);
        assert_eq!(line.options[3].value.as_ref().unwrap().text(), "4G");
    }

    #[test]
    fn properties_keep_their_commas_and_their_order() {
        let mut one = Properties::parse("format=raw,id=rbd0,if=none,file=rbd:a/b,,c");
        assert_eq!(one.get("file"), Some("rbd:a/b,c"));
        one.set("cache", "none", &["format", "id", "if", "cache", "aio", "file"]);
        one.set("format", "qcow2", &[]);
        assert_eq!(one.text(), "format=qcow2,id=rbd0,if=none,cache=none,file=rbd:a/b,,c");
        assert_eq!(Properties::parse("q35,accel=tcg").head(), Some("q35"));
    }
}
