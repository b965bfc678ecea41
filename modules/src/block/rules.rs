//! Rules of our own: settings of queues that udev writes whenever it sees a device.
use crate::files::place::{self, known};
use crate::files::udev::Rule;
use crate::vocabulary::{Read, Stop};

/// The file. Its name sorts behind those that make the links below /dev/disk, and behind the distribution's own.
pub(super) const FILE: &str = "/etc/udev/rules.d/99-tunerun-block.rules";

/// What is read of it first.
pub(super) fn first_reads() -> Result<Vec<Read>, Stop> {
    known(FILE).map(|path| place::first_reads(&path))
}

/// The rule by which udev writes a value: `device` is a match, `file` lies below /sys/block/DEVICE/queue.
pub(super) fn rule(device: &str, file: &str, value: &str) -> Rule {
    let head = "ACTION==\"add|change\", SUBSYSTEM==\"block\", ENV{DEVTYPE}==\"disk\"";
    Rule {
        head: format!("{head}, {device}, ATTR{{queue/{file}}}="),
        rest: format!("\"{value}\""),
        name: format!("{device} {file}"),
    }
}

#[cfg(test)]
mod tests {
    use super::rule;

    #[test]
    fn one_line_a_device_and_file() {
        let rule = rule("KERNEL==\"nvme*n1\"", "scheduler", "none");
        assert_eq!(
            format!("{}{}", rule.head, rule.rest),
            "ACTION==\"add|change\", SUBSYSTEM==\"block\", ENV{DEVTYPE}==\"disk\", KERNEL==\"nvme*n1\", ATTR{queue/scheduler}=\"none\""
        );
    }
}
