//! Mount options as sets: which count for fstab alone, which can change while mounted.
use std::collections::BTreeSet;

/// Options that any mounted file system takes by a remount, and shows.
const REMOUNTABLE: [&str; 11] = [
    "ro",
    "noatime",
    "nodiratime",
    "relatime",
    "lazytime",
    "nosuid",
    "nodev",
    "noexec",
    "sync",
    "discard",
    "nosymfollow",
];

/// The options of a text, in order, each once; `defaults` is no option.
pub(super) fn list(text: &str) -> Vec<String> {
    let mut options: Vec<String> = Vec::new();
    for option in text.split(',').map(str::trim).filter(|option| !option.is_empty() && *option != "defaults")
    {
        if !options.iter().any(|known| known == option) {
            options.push(option.to_owned());
        }
    }
    options
}

/// As fstab and `mount -o` have them.
pub(super) fn text(options: &[String]) -> String {
    if options.is_empty() { "defaults".to_owned() } else { options.join(",") }
}

/// Whether two texts name the same options.
pub(super) fn alike(one: &str, two: &str) -> bool {
    let set = |text: &str| list(text).into_iter().filter(|option| option != "rw").collect::<BTreeSet<_>>();
    set(one) == set(two)
}

/// Whether an option is for those who read fstab, not for the kernel.
fn is_for_fstab(option: &str) -> bool {
    let name = option.split('=').next().unwrap_or_default();
    matches!(
        name,
        "auto"
            | "noauto"
            | "user"
            | "nouser"
            | "users"
            | "owner"
            | "group"
            | "nofail"
            | "_netdev"
            | "comment"
            | "rw"
            | "suid"
            | "dev"
            | "exec"
            | "async"
            | "atime"
            | "diratime"
            | "strictatime"
            | "bind"
            | "rbind"
            | "loop"
            | "sw"
            | "pri"
            | "fail"
    ) || name.starts_with("x-")
        || name.starts_with("X-")
}

/// The options that a mount lacks: those that a remount can bring, and those that the next mount may.
pub(super) fn lacking(wanted: &[String], live: &[String]) -> (Vec<String>, Vec<String>) {
    let lacks: Vec<String> =
        wanted.iter().filter(|option| !is_for_fstab(option) && !live.contains(option)).cloned().collect();
    let mut parts: (Vec<String>, Vec<String>) =
        lacks.into_iter().partition(|option| REMOUNTABLE.contains(&option.as_str()));
    // What is mounted read-only becomes writable only where nobody wants it so.
    if live.iter().any(|option| option == "ro") && !wanted.iter().any(|option| option == "ro") {
        parts.0.push("rw".to_owned());
    }
    parts
}

/// As a remount is told: `relatime` alone leaves `noatime` as it is.
pub(super) fn told(options: &[String]) -> Vec<String> {
    let atime = options.iter().any(|option| option == "relatime").then(|| "atime".to_owned());
    atime.into_iter().chain(options.iter().cloned()).collect()
}

/// The options that take `added` back from a mount that had `live`: a remount keeps what it is not told to drop.
pub(super) fn opposite(added: &[String], live: &[String]) -> Vec<String> {
    let had = |option: &&str| live.iter().any(|live| live == option);
    let mut back: Vec<String> = Vec::new();
    for option in added {
        let word = match option.as_str() {
            // Strict times are shown by no word.
            "noatime" | "relatime" => {
                ["noatime", "relatime"].into_iter().find(had).unwrap_or("strictatime").to_owned()
            }
            "ro" => "rw".to_owned(),
            "rw" => "ro".to_owned(),
            "sync" => "async".to_owned(),
            word => word.strip_prefix("no").map_or_else(|| format!("no{word}"), str::to_owned),
        };
        if !back.contains(&word) {
            back.push(word);
        }
    }
    told(&back)
}

#[cfg(test)]
mod tests {
    use super::{alike, lacking, list, opposite, text};

    #[test]
    fn what_was_added_is_named_to_go() {
        for (added, live, back) in [
            ("noatime,nosuid", "rw,relatime", "atime,relatime,suid"),
            ("relatime,discard", "rw,noatime", "noatime,nodiscard"),
            ("noatime", "rw", "strictatime"),
            ("ro,sync,lazytime", "rw", "rw,async,nolazytime"),
            ("rw", "ro,relatime", "ro"),
        ] {
            assert_eq!(opposite(&list(added), &list(live)), list(back), "{added}");
        }
    }

    #[test]
    fn options_are_sets() {
        for (one, two, wanted) in [
            ("defaults", "rw", true),
            ("noatime,nofail", "nofail, noatime,defaults", true),
            ("noatime", "noatime,discard", false),
        ] {
            assert_eq!(alike(one, two), wanted, "{one} {two}");
        }
        assert_eq!(text(&list("defaults")), "defaults");
    }

    #[test]
    fn what_is_lacking() {
        let (now, later) = lacking(
            &list("noatime,nofail,_netdev,x-systemd.automount,logbsize=256k"),
            &list("rw,relatime,logbsize=32k"),
        );
        assert_eq!((now, later), (list("noatime"), list("logbsize=256k")));
        assert_eq!(lacking(&list("noatime"), &list("ro,noatime")).0, ["rw"]);
        assert_eq!(lacking(&list("ro"), &list("ro,relatime")).0, Vec::<String>::new());
    }
}
