//! Hosts in memory with mounts.
use super::live::{from, mounted, options};
use super::row;
use crate::host::Host;
use crate::module::Sample;
use crate::vocabulary::{HostPath, Output, Read, Seen};
use serde_json::{Value as Json, json};

pub(super) const PATH: &str = "/srv/images";
pub(super) const SOURCE: &str = "/dev/vg0/images";

pub(super) fn at() -> HostPath {
    HostPath::new(PATH).unwrap_or_else(|why| panic!("{why}"))
}

fn output(status: i32, text: &str) -> Seen {
    Seen::Output(Output { status, stdout: text.into(), stderr: "".into() })
}

/// A host on which nothing is mounted there.
pub(super) fn bare() -> Host {
    Host::new()
        .file("/etc/fstab", "UUID=a / ext4 errors=remount-ro 0 1\n")
        .dir("/srv")
        .answer(mounted(&at()), output(1, ""))
        .answer(from(SOURCE, &at()), output(1, ""))
        .answer(options(&at()), output(0, ""))
}

/// A host on which it is mounted with these options.
pub(super) fn with(live: &str) -> Host {
    bare()
        .dir(PATH)
        .answer(mounted(&at()), output(0, &format!("/dev/mapper/vg0-images xfs {live}\n")))
        .answer(from(SOURCE, &at()), output(0, "xfs\n"))
        .answer(options(&at()), output(0, &format!("{}\n", live.replace(',', "\n"))))
}

fn answers(host: &Host) -> Vec<(Read, Seen)> {
    let rows = [mounted(&at()), from(SOURCE, &at()), options(&at())];
    rows.into_iter().map(|row| (Read::Ask(row.clone()), host.see(&Read::Ask(row)))).collect()
}

pub(super) fn args(state: &str, opts: &str) -> Json {
    json!({ "path": PATH, "src": SOURCE, "fstype": "xfs", "opts": opts, "state": state })
}

/// Trials of `mount`.
pub(super) fn all() -> Vec<Sample> {
    let live = "rw,noatime,inode64";
    let mount = |options: &str, source: &str, left: &Host| {
        (row("mount", &["-t", "xfs", "-o", options, "--", source, PATH]), answers(left))
    };
    let umount = || (row("umount", &[PATH]), answers(&bare()));
    let sample = |about, args, host, calls| Sample { about, args, host, calls };
    let written = |host: Host| host.file("/etc/fstab", format!("{SOURCE} {PATH} xfs noatime 0 0\n"));
    vec![
        sample(
            "mounted, at boot too",
            args("mounted", "noatime"),
            bare(),
            vec![mount("noatime", SOURCE, &with(live)), umount()],
        ),
        sample("at boot alone", args("present", "noatime,nofail"), bare(), Vec::new()),
        sample(
            "an option by a remount",
            args("mounted", "noatime"),
            written(with("rw,relatime,inode64")),
            vec![
                (row("mount", &["-o", "remount,noatime", PATH]), answers(&with(live))),
                (
                    row("mount", &["-o", "remount,atime,relatime", PATH]),
                    answers(&with("rw,relatime,inode64")),
                ),
            ],
        ),
        sample(
            "unmounted and forgotten",
            args("absent", "noatime"),
            written(with(live)),
            vec![umount(), mount(live, "/dev/mapper/vg0-images", &with(live))],
        ),
    ]
}
