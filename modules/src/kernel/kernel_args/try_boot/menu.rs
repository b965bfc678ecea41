//! The menu of a generated `grub.cfg`: its entries, and which one is the default.

/// An entry that boots something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) title: String,
    pub(super) id: String,
    /// Whether it boots without a password where GRUB asks for one.
    pub(super) unrestricted: bool,
    /// The lines between its braces, as they stand.
    pub(super) body: Vec<String>,
}

/// One line of the menu.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    Entry(Entry),
    Submenu { title: String, id: String, items: Vec<Item> },
}

/// Reads the menu. Functions and conditions around it are passed over.
pub(super) fn read(grub_cfg: &str) -> Vec<Item> {
    items(&mut grub_cfg.lines(), false)
}

fn items(lines: &mut std::str::Lines<'_>, inner: bool) -> Vec<Item> {
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        let text = line.trim();
        if inner && text == "}" {
            break;
        }
        if !text.ends_with('{') {
            continue;
        }
        let words = words(text);
        match words.first().map(String::as_str) {
            Some("menuentry") => {
                let body = lines.by_ref().take_while(|line| line.trim() != "}").map(str::to_owned).collect();
                let unrestricted = words.iter().any(|word| word == "--unrestricted");
                let (title, id) = named(&words);
                found.push(Item::Entry(Entry { title, id, unrestricted, body }));
            }
            Some("submenu") => {
                let (title, id) = named(&words);
                found.push(Item::Submenu { title, id, items: items(lines, true) });
            }
            // A function's body holds no entries.
            _ => drop(lines.by_ref().take_while(|line| line.trim() != "}").count()),
        }
    }
    found
}

/// Title and id: Debian writes the id behind a variable that holds `--id`.
fn named(words: &[String]) -> (String, String) {
    let title = words.get(1).cloned().unwrap_or_default();
    let option = words.iter().position(|word| word == "--id" || word == "$menuentry_id_option");
    (title, option.and_then(|at| words.get(at + 1)).cloned().unwrap_or_default())
}

/// The words of a line of GRUB's script, quotes taken off.
fn words(line: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let (mut word, mut quote, mut begun) = (String::new(), None, false);
    let mut signs = line.chars();
    while let Some(sign) = signs.next() {
        match (sign, quote) {
            ('\'' | '"', None) => (quote, begun) = (Some(sign), true),
            (sign, Some(open)) if sign == open => quote = None,
            ('\\', None | Some('"')) => word.extend(signs.next()),
            (sign, None) if sign.is_whitespace() => {
                if begun {
                    found.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            (sign, _) => {
                word.push(sign);
                begun = true;
            }
        }
    }
    if begun {
        found.push(word);
    }
    found
}

/// What boots when nothing is said: the value that `default` gets where there is no one-shot.
pub(super) fn default_of(grub_cfg: &str, saved: Option<&str>) -> Option<String> {
    let values = grub_cfg.lines().filter_map(|line| line.trim().strip_prefix("set default="));
    let value =
        values.map(|value| value.trim_matches(['"', '\''])).rfind(|value| !value.contains("next_entry"))?;
    let value = match value {
        "${saved_entry}" | "$saved_entry" => saved.unwrap_or_default(),
        other => other,
    };
    match value {
        // As GRUB does: nothing is the first.
        "" => Some("0".to_owned()),
        value if value.contains('$') => None,
        value => Some(value.to_owned()),
    }
}

/// The entry that a default means: numbers, titles or ids, `>` between a submenu and what is in it.
pub(super) fn chosen<'m>(menu: &'m [Item], default: &str) -> Option<&'m Entry> {
    let (first, rest) = default.split_once('>').unwrap_or((default, ""));
    let item = match first.parse::<usize>() {
        Ok(number) => menu.get(number),
        Err(_) => menu.iter().find(|item| match item {
            Item::Entry(Entry { title, id, .. }) | Item::Submenu { title, id, .. } => {
                title == first || id == first
            }
        }),
    };
    match item? {
        Item::Entry(entry) => Some(entry),
        Item::Submenu { items, .. } => chosen(items, if rest.is_empty() { "0" } else { rest }),
    }
}

impl Entry {
    /// The place of its `linux` line in the body, and what stands behind the kernel's path there.
    pub(super) fn linux(&self) -> Option<(usize, &str)> {
        self.body.iter().enumerate().find_map(|(at, line)| {
            let (_, rest) = linux_words(line)?;
            Some((at, rest.split_once(char::is_whitespace).map_or("", |(_, args)| args.trim())))
        })
    }

    /// Its body with other arguments.
    pub(super) fn with_args(&self, args: &str) -> Option<Vec<String>> {
        let (at, _) = self.linux()?;
        let mut body = self.body.clone();
        let (command, rest) = linux_words(&self.body[at])?;
        let path = rest.split_whitespace().next()?;
        body[at] = format!("\t{command} {path} {args}");
        Some(body)
    }
}

/// The command and the rest of a line that loads a kernel.
fn linux_words(line: &str) -> Option<(&str, &str)> {
    let (command, rest) = line.trim().split_once(char::is_whitespace)?;
    matches!(command, "linux" | "linux16" | "linuxefi").then(|| (command, rest.trim()))
}

#[cfg(test)]
mod tests {
    use super::{chosen, default_of, read};

    const CFG: &str = "\
if [ \"${next_entry}\" ] ; then
   set default=\"${next_entry}\"
   set next_entry=
   save_env next_entry
else
   set default=\"0\"
fi
function load_video {
  insmod all_video
}
menuentry 'Debian GNU/Linux' --class debian $menuentry_id_option 'gnulinux-simple-7' {
\tload_video
\tlinux\t/boot/vmlinuz-6.1 root=UUID=7 ro console=ttyS0 quiet
\tinitrd\t/boot/initrd.img-6.1
}
submenu 'Advanced options' $menuentry_id_option 'gnulinux-advanced-7' {
\tmenuentry 'Debian, with Linux 6.1' --id old {
\t\tlinux /boot/vmlinuz-6.0 root=UUID=7 ro
\t}
}
menuentry \"it's \\\"else\\\"\" --unrestricted {
\tchainloader +1
}
";

    #[test]
    fn the_default_is_found_as_grub_finds_it() {
        let menu = read(CFG);
        assert_eq!(menu.len(), 3);
        let title = |default: &str| chosen(&menu, default).map(|entry| entry.title.clone());
        assert_eq!(title("0").as_deref(), Some("Debian GNU/Linux"));
        assert_eq!(title("gnulinux-simple-7"), title("0"));
        for path in ["1>0", "1", "Advanced options>old", "gnulinux-advanced-7>Debian, with Linux 6.1"] {
            assert_eq!(title(path).as_deref(), Some("Debian, with Linux 6.1"), "{path}");
        }
        assert_eq!(title("it's \"else\"").as_deref(), Some("it's \"else\""));
        assert!(chosen(&menu, "2").is_some_and(|entry| entry.unrestricted && entry.linux().is_none()));
        assert_eq!(title("9"), None);
        assert_eq!(title("gone"), None);
        assert_eq!(default_of(CFG, None).as_deref(), Some("0"));
        let saved = CFG.replace("default=\"0\"", "default=\"${saved_entry}\"");
        assert_eq!(default_of(&saved, Some("1>old")).as_deref(), Some("1>old"));
        assert_eq!(default_of(&saved, None).as_deref(), Some("0"));
        assert_eq!(default_of("set default=\"${mine}\"", None), None);
    }

    #[test]
    fn only_the_arguments_are_replaced() {
        let menu = read(CFG);
        let entry = chosen(&menu, "0").unwrap();
        assert_eq!(entry.linux().unwrap().1, "root=UUID=7 ro console=ttyS0 quiet");
        let body = entry.with_args("root=UUID=7 ro panic=30").unwrap();
        assert_eq!(
            body,
            [
                "\tload_video",
                "\tlinux /boot/vmlinuz-6.1 root=UUID=7 ro panic=30",
                "\tinitrd\t/boot/initrd.img-6.1"
            ]
        );
    }
}
