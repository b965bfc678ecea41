//! Mount options as sets: which count for fstab alone, which can change while mounted.
use std::collections::BTreeSet;

/// Options that any mounted file system takes by a remount, and shows.
const REMOUNTABLE: [&str; 13] = [
    "ro",
    "noatime",
    "nodiratime",
    "relatime",
    "strictatime",
    "lazytime",
    "nosuid",
    "nodev",
    "noexec",
    "sync",
    "dirsync",
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

#[cfg(test)]
mod tests {
    use super::{alike, lacking, list, text};

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
