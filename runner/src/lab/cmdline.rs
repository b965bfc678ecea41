//! The kernel command line that a booted host's boot loader gives: GRUB's choice among the entries of `grub.cfg` and
//! `custom.cfg`, a one-time entry included, which is forgotten as soon as it is taken.
use std::fs;
use std::path::Path;

/// An entry of the menu.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    title: String,
    id: Option<String>,
    line: String,
}

/// The command line of the next boot of the host whose root this is.
pub(super) fn next(root: &Path) -> String {
    let folder = root.join("boot/grub");
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    let (configuration, environment) = (read("grub.cfg"), read("grubenv"));
    let mut entries = entries(&configuration);
    entries.extend(self::entries(&read("custom.cfg")));
    let once = variable(&environment, "next_entry").filter(|name| !name.is_empty());
    if once.is_some() {
        // The block keeps its length, as GRUB itself writes it in place.
        let _ = fs::write(folder.join("grubenv"), forget(&environment, "next_entry"));
    }
    let usual = variable(&configuration, "set default").map(|name| name.trim_matches('"').to_owned());
    let usual = match usual.as_deref() {
        Some("saved" | "${saved_entry}") => variable(&environment, "saved_entry"),
        _ => usual,
    };
    let wanted = once.or(usual).unwrap_or_else(|| "0".to_owned());
    chosen(&entries, &wanted).or(entries.first()).map_or_else(String::new, |entry| entry.line.clone())
}

/// The entry of this number, id or title.
fn chosen<'a>(entries: &'a [Entry], wanted: &str) -> Option<&'a Entry> {
    let numbered = wanted.parse().ok().and_then(|number: usize| entries.get(number));
    numbered.or_else(|| entries.iter().find(|it| it.id.as_deref() == Some(wanted) || it.title == wanted))
}

/// The value of a variable: what is after its name and an equals sign on the last line that has it.
fn variable(text: &str, name: &str) -> Option<String> {
    let mut values = text.lines().filter_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix('='));
    values.next_back().map(str::to_owned)
}

/// The block of variables with one of them empty, as GRUB's own `save_env` leaves it, and as long as before.
fn forget(environment: &str, name: &str) -> String {
    let kept: Vec<&str> = environment
        .lines()
        .filter(|line| !line.starts_with('#') && !line.starts_with(&format!("{name}=")))
        .collect();
    let mut text = format!("# GRUB Environment Block\n{name}=\n");
    kept.iter().for_each(|line| text.push_str(&format!("{line}\n")));
    format!("{text:#<1024}")
}

/// The entries of a configuration, in order.
fn entries(text: &str) -> Vec<Entry> {
    let mut found: Vec<Entry> = Vec::new();
    for line in text.lines().map(str::trim_start) {
        if let Some(rest) = line.strip_prefix("menuentry ") {
            let words = shlex::split(rest.trim_end().trim_end_matches('{')).unwrap_or_default();
            let id = words.iter().position(|word| word == "--id" || word == "$menuentry_id_option");
            let id = id.and_then(|at| words.get(at + 1)).cloned();
            let title = words.into_iter().next().unwrap_or_default();
            found.push(Entry { title, id, line: String::new() });
        } else if let (Some(entry), Some(rest)) = (found.last_mut(), line.strip_prefix("linux"))
            && rest.starts_with([' ', '\t'])
        {
            let words: Vec<&str> = rest.split_whitespace().collect();
            entry.line = format!("BOOT_IMAGE={}", words.join(" "));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIGURATION: &str = "\
set default=\"saved\"
menuentry 'GNU/Linux' --class gnu-linux $menuentry_id_option 'simple' {
\tlinux\t/boot/vmlinuz root=/dev/vda1 ro  quiet
\tinitrd /boot/initrd.img
}
menuentry \"Other one\" --id other {
  linux /boot/vmlinuz ro single
}
";

    #[test]
    fn entries_have_titles_ids_and_lines() {
        let found = entries(CONFIGURATION);
        assert_eq!(found[0].line, "BOOT_IMAGE=/boot/vmlinuz root=/dev/vda1 ro quiet");
        assert_eq!((found[1].title.as_str(), found[1].id.as_deref()), ("Other one", Some("other")));
        for name in ["1", "other", "Other one"] {
            assert_eq!(chosen(&found, name), Some(&found[1]), "{name}");
        }
        assert_eq!(chosen(&found, "none"), None);
    }

    #[test]
    fn a_one_time_entry_is_taken_once() {
        let root = std::env::temp_dir().join(format!("tunerun-cmdline-{}", std::process::id()));
        let folder = root.join("boot/grub");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("grub.cfg"), CONFIGURATION).unwrap();
        fs::write(
            folder.join("custom.cfg"),
            "menuentry trial --id trial {\n linux /boot/vmlinuz ro trial=1\n}\n",
        )
        .unwrap();
        fs::write(
            folder.join("grubenv"),
            "# GRUB Environment Block\nsaved_entry=other\nnext_entry=trial\n####",
        )
        .unwrap();
        let taken = [next(&root), next(&root)];
        let left = fs::read_to_string(folder.join("grubenv")).unwrap();
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(taken, ["BOOT_IMAGE=/boot/vmlinuz ro trial=1", "BOOT_IMAGE=/boot/vmlinuz ro single"]);
        assert_eq!((left.len(), variable(&left, "next_entry")), (1024, Some(String::new())));
    }
}
