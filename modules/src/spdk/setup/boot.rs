//! The unit that binds the same disks again at each boot, before file systems are mounted.
use super::bind::Standing;
use crate::files::place::{self, known};
use crate::files::text::TextFile;
use crate::vocabulary::{Activation, Change, Claim, Diff, Facts, Image, Kind, Read, Seen, Step, Stop};

const NAME: &str = "tunerun-spdk-bind.service";
const UNIT: &str = "/etc/systemd/system/tunerun-spdk-bind.service";
const WANT: &str = "/etc/systemd/system/sysinit.target.wants/tunerun-spdk-bind.service";

const HEAD: &str = "\
# Kept by tunerun (spdk_setup): one line a disk.
[Unit]
Description=Disks for SPDK
DefaultDependencies=no
After=systemd-modules-load.service
Before=local-fs-pre.target shutdown.target
Wants=local-fs-pre.target
Conflicts=shutdown.target

[Service]
Type=oneshot
RemainAfterExit=yes
";

const TAIL: &str = "
[Install]
WantedBy=sysinit.target
";

/// Binds a disk if it is still the same one and nobody uses it. Addresses move when cards are put in.
const SCRIPT: &str = r#"d=/sys/bus/pci/devices/$1; no() { echo "$1" >&2; exit 1; }; [ -e "$d" ] || no "$1 is not there"
for s in "$d"/nvme/nvme*/serial; do [ -z "$3" ] || [ ! -e "$s" ] || { read -r n <"$s"; [ "$n" = "$3" ] || no "$1 is another disk: $n"; }; done
for b in "$d"/nvme/nvme*/nvme*n* "$d"/virtio*/block/*; do [ -e "$b" ] || continue; n=${b##*/}
for h in "$b"/holders/* "$b"/*/holders/*; do [ ! -e "$h" ] || no "$1 is held by ${h##*/}"; done
while read -r m r; do case $m in /dev/"$n"|/dev/"$n"p*) no "$1 is mounted";; esac; done </proc/mounts; done
c=none; [ ! -e "$d/driver" ] || { c=$(readlink "$d/driver"); c=${c##*/}; }; [ "$c" != "$2" ] || exit 0
[ "$c" = none ] || echo "$1" >"$d/driver/unbind"; echo "$2" >"$d/driver_override"; echo "$1" >/sys/bus/pci/drivers_probe
c=$(readlink "$d/driver"); [ "${c##*/}" = "$2" ] || no "$1 is not driven by $2""#;

/// What is looked at in the first round.
pub(super) fn first_reads() -> Result<Vec<Read>, Stop> {
    let mut reads = place::first_reads(&known(UNIT)?);
    reads.push(Read::Stat(known(crate::services::unit::RUNNING)?));
    reads.extend(place::first_reads(&known(WANT)?));
    Ok(reads)
}

/// Adds what binds the disks at boot; lines of other disks stay.
pub(super) fn persist(
    facts: &Facts,
    disks: &[Standing],
    driver: &str,
    change: &mut Change,
) -> Result<(), Stop> {
    if facts.stat(&known(crate::services::unit::RUNNING)?)?.is_none() {
        return Err(Stop::refused(
            "persist",
            "this host is not run by systemd, so that no unit binds the disks at boot",
        )
        .way_out("set `persist: false`"));
    }
    let path = known(UNIT)?;
    let file = TextFile::read(facts, &path)?;
    if !file.text.is_empty() && !file.text.starts_with("# Kept by tunerun") {
        return Err(Stop::refused("persist", format!("{path} is there and is not ours"))
            .way_out("move that file away, or set `persist: false`"));
    }
    let mut lines: Vec<(String, String)> = file.text.lines().filter_map(parsed).collect();
    for disk in disks {
        let known = lines.iter().position(|(address, _)| *address == disk.address);
        // A disk that is bound already tells no serial number: the one that was written down stays.
        let serial = disk.serial.clone().or_else(|| Some(serial_in(&lines[known?].1))).unwrap_or_default();
        let line = line(&disk.address, driver, &serial);
        match known {
            Some(at) => lines[at].1 = line,
            None => lines.push((disk.address.clone(), line)),
        }
    }
    lines.sort();
    let lines: Vec<String> = lines.into_iter().map(|(_, line)| line).collect();
    let text = format!("{HEAD}{}\n{TAIL}", lines.join("\n"));
    let mut changed = file.put(facts, Claim::file(&path), &text, change)?;
    changed |= wanted(facts, change)?;
    if changed {
        change.then.insert(Activation::DaemonReload);
    }
    Ok(())
}

/// The link by which the unit starts at boot, as `systemctl enable` makes it.
fn wanted(facts: &Facts, change: &mut Change) -> Result<bool, Stop> {
    let path = known(WANT)?;
    let target = format!("../{NAME}");
    let node = facts.node(&path)?;
    if node.as_ref().is_some_and(
        |node| matches!(&node.kind, Kind::Link { target: now } if now.rsplit('/').next() == Some(NAME)),
    ) {
        return Ok(false);
    }
    if node.is_some() {
        return Err(Stop::refused("persist", format!("{path} is there and is not the link to the unit")));
    }
    change.steps.extend(place::folders(facts, &path, &crate::vocabulary::Meta::default())?);
    change.steps.push(Step::put(Claim::file(&path), path.clone(), Seen::Absent, Image::Link { target }));
    change.diff.push(Diff::Note(format!("{NAME} binds the disks at each boot")));
    Ok(true)
}

fn line(address: &str, driver: &str, serial: &str) -> String {
    // `$` and `%` mean something in a unit. The lines of the script end where a newline may stand for `;`.
    let script = SCRIPT.replace('\n', "; ");
    let script = script.replace('%', "%%").replace('$', "$$");
    let fine = |letter: &char| letter.is_ascii_alphanumeric() || "._-".contains(*letter);
    let serial: String = serial.chars().filter(fine).collect();
    let script = script.replace('\\', "\\\\").replace('"', "\\\"");
    format!("ExecStart=/bin/sh -c \"{script}\" bind {address} {driver} \"{serial}\"")
}

/// The address of a line, and the line.
fn parsed(line: &str) -> Option<(String, String)> {
    let (_, words) = line.strip_prefix("ExecStart=")?.rsplit_once("\" bind ")?;
    Some((words.split_whitespace().next()?.to_owned(), line.to_owned()))
}

fn serial_in(line: &str) -> String {
    let mut parts = line.rsplit('"').skip(1);
    parts.next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{line, parsed, serial_in};

    #[test]
    fn a_line_is_found_again() {
        let text = line("0000:02:00.0", "vfio-pci", "S3 X-1");
        assert!(!text.contains('\n') && text.contains("$$1"), "{text}");
        assert!(text.contains("$${h##*/}"), "{text}");
        assert_eq!(parsed(&text).unwrap().0, "0000:02:00.0");
        assert_eq!(serial_in(&text), "S3X-1");
        assert_eq!(serial_in(&line("0000:02:00.0", "vfio-pci", "")), "");
        assert_eq!(parsed("ExecStart=/bin/true"), None);
    }
}
