//! Lines of our own file of udev rules: settings of queues that udev writes whenever it sees a device.
use crate::files::place::{self, known};
use crate::files::text::{TextFile, ended};
use crate::vocabulary::{Change, Claim, Facts, Read, Stop};

/// The file. Its name sorts behind those that make the links below /dev/disk, and behind the distribution's own.
const FILE: &str = "/etc/udev/rules.d/99-tunerun-block.rules";

/// What [`persist`] reads first.
pub(super) fn first_reads() -> Result<Vec<Read>, Stop> {
    known(FILE).map(|path| place::first_reads(&path))
}

/// Adds the step that makes udev write a value, or no more where `value` is none.
pub(super) fn persist(
    facts: &Facts,
    device: &str,
    file: &str,
    value: Option<&str>,
    change: &mut Change,
) -> Result<(), Stop> {
    let path = known(FILE)?;
    let mut planned = facts.clone();
    let steps = change.steps.iter().filter(|step| step.path().is_some()).cloned();
    planned.plan(Default::default(), steps);
    let text = TextFile::read(&planned, &path)?;
    let after = edited(&text.text, device, file, value);
    let claim = Claim::part(&path, &format!("{device} {file}"));
    match after.is_empty() {
        true => drop(text.remove(claim, change)),
        false => drop(text.put(&planned, claim, &after, change)?),
    }
    Ok(())
}

fn head(device: &str, file: &str) -> String {
    format!(
        "ACTION==\"add|change\", SUBSYSTEM==\"block\", ENV{{DEVTYPE}}==\"disk\", {device}, ATTR{{queue/{file}}}="
    )
}

/// The text with the line of one device and file set or taken out; all other bytes stay.
fn edited(text: &str, device: &str, file: &str, value: Option<&str>) -> String {
    let head = head(device, file);
    let mut out = String::new();
    let mut left = value;
    for old in text.split_inclusive('\n') {
        if !old.starts_with(&head) {
            out.push_str(old);
        } else if let Some(value) = left.take() {
            out.push_str(&format!("{head}\"{value}\"\n"));
        }
    }
    match left {
        Some(value) => format!("{}{head}\"{value}\"\n", ended(&out)),
        None => out,
    }
}

#[cfg(test)]
mod tests {
    use super::edited;

    #[test]
    fn one_line_a_device_and_file() {
        let device = "KERNEL==\"nvme*n1\"";
        let one = edited("# mine", device, "scheduler", Some("none"));
        assert_eq!(
            one,
            "# mine\nACTION==\"add|change\", SUBSYSTEM==\"block\", ENV{DEVTYPE}==\"disk\", KERNEL==\"nvme*n1\", ATTR{queue/scheduler}=\"none\"\n"
        );
        let two = edited(&one, device, "read_ahead_kb", Some("0"));
        assert_eq!(two.lines().count(), 3);
        assert_eq!(edited(&two, device, "scheduler", Some("kyber")), two.replace("\"none\"", "\"kyber\""));
        assert_eq!(edited(&two, device, "read_ahead_kb", None), one);
    }
}
