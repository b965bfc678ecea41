//! The kernel command line that a booted host's boot loader would give.
use std::path::Path;

/// The command line of the next boot of the host whose root this is.
pub(super) fn next(root: &Path) -> String {
    let text = std::fs::read_to_string(root.join("etc/default/grub")).unwrap_or_default();
    let value = |name: &str| {
        let line =
            text.lines().filter_map(|line| line.trim().strip_prefix(name)?.strip_prefix('=')).next_back();
        line.map(|value| value.trim_matches(['"', '\'']).to_owned()).unwrap_or_default()
    };
    let (always, usual) = (value("GRUB_CMDLINE_LINUX"), value("GRUB_CMDLINE_LINUX_DEFAULT"));
    format!("BOOT_IMAGE=/boot/vmlinuz root=/dev/vda1 ro {always} {usual}")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}
