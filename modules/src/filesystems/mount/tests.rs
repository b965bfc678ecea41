//! Mounts on captured answers.
use super::Mount;
use super::live::{from, mounted};
use super::samples::{PATH, SOURCE, args, at, bare, with};
use crate::trial::{planned, refusal};
use crate::vocabulary::{Act, Activation, Back, Change, Diff, Output, Seen, Standing};
use serde_json::json;

fn words(change: &Change) -> Vec<String> {
    let word = |act: &Act| match act {
        Act::Call { row, .. } => format!("{} {}", row.name, row.args.join(" ")),
        Act::Put { path, .. } => format!("put {path}"),
        other => panic!("{other:?}"),
    };
    change.steps.iter().map(|step| word(&step.act)).collect()
}

#[test]
fn a_line_a_folder_and_a_mount() {
    let change = planned::<Mount>(&bare(), args("mounted", "noatime,nofail"));
    assert_eq!(
        words(&change),
        [
            "put /etc/fstab",
            "put /srv/images",
            "mount -t xfs -o noatime,nofail -- /dev/vg0/images /srv/images"
        ]
    );
    let Diff::Text { after, .. } = &change.diff[0] else { panic!() };
    assert!(after.ends_with("/dev/vg0/images /srv/images xfs noatime,nofail 0 0\n"), "{after}");
    assert!(matches!(&change.steps[2].back, Back::Exactly(Act::Call { row, .. }) if row.name == "umount"));
    assert!(change.then.is_empty(), "this host is not run by systemd");
    let booted = bare().dir("/run/systemd/system");
    assert!(planned::<Mount>(&booted, args("present", "")).then.contains(&Activation::DaemonReload));
}

#[test]
fn what_is_mounted_and_written_is_left_alone() {
    let host = with("rw,noatime").file("/etc/fstab", format!("{SOURCE}\t{PATH}\txfs nofail,noatime 0 0\n"));
    let change = planned::<Mount>(&host, args("mounted", "noatime,nofail"));
    assert!(change.is_empty());
    assert!(matches!(change.evidence[0].standing, Standing::Live { .. }));
}

#[test]
fn an_option_comes_by_a_remount_or_is_owed() {
    let host = with("rw,relatime,logbsize=32k")
        .file("/etc/fstab", format!("{SOURCE} {PATH} xfs noatime,logbsize=256k 0 0\n"));
    let change = planned::<Mount>(&host, args("mounted", "noatime,logbsize=256k"));
    assert_eq!(words(&change), ["mount -o remount,noatime /srv/images"]);
    assert!(change.notes[0].contains("logbsize=256k counts when"), "{:?}", change.notes);
    let host = with("rw,noatime,logbsize=32k")
        .file("/etc/fstab", format!("{SOURCE} {PATH} xfs noatime,logbsize=256k 0 0\n"));
    let change = planned::<Mount>(&host, args("mounted", "noatime,logbsize=256k"));
    assert!(change.is_empty(), "nothing is unmounted for an option");
    assert!(matches!(change.evidence[0].standing, Standing::Owed { .. }));
}

#[test]
fn another_file_system_there_is_refused() {
    let other = bare().answer(mounted(&at()), Seen::Output(Output::ok("/dev/sdc1 ext4 rw\n")));
    assert!(refusal::<Mount>(&other, args("mounted", "")).contains("/dev/sdc1 is mounted at"));
    let twice =
        bare().answer(mounted(&at()), Seen::Output(Output::ok("/dev/sdc1 ext4 rw\n/dev/sdd1 xfs rw\n")));
    assert!(refusal::<Mount>(&twice, args("unmounted", "")).contains("over each other"));
}

#[test]
fn unmounting_goes_back_to_what_was_seen() {
    let change = planned::<Mount>(&with("rw,noatime"), json!({ "path": PATH, "state": "unmounted" }));
    assert_eq!(words(&change), ["umount /srv/images"]);
    let Back::Exactly(Act::Call { row, .. }) = &change.steps[0].back else { panic!() };
    assert_eq!(row.args.join(" "), "-t xfs -o rw,noatime -- /dev/mapper/vg0-images /srv/images");
    assert!(planned::<Mount>(&bare(), json!({ "path": PATH, "state": "unmounted" })).is_empty());
}

#[test]
fn remounting_is_an_act() {
    let change = planned::<Mount>(&with("rw"), json!({ "path": PATH, "state": "remounted" }));
    assert_eq!(words(&change), ["mount -o remount /srv/images"]);
    assert!(
        refusal::<Mount>(&bare(), json!({ "path": PATH, "state": "remounted" }))
            .contains("nothing is mounted")
    );
}

#[test]
fn traps_are_told() {
    let note = |src: &str, fstype: &str| {
        let host = bare().answer(
            from(src, &at()),
            Seen::Output(Output { status: 1, stdout: "".into(), stderr: "".into() }),
        );
        let args = json!({ "path": PATH, "src": src, "fstype": fstype, "state": "mounted" });
        planned::<Mount>(&host, args).notes.join("\n")
    };
    assert!(note("mon1:/", "ceph").contains("_netdev"));
    assert!(note("/dev/rbd0", "xfs").contains("_netdev"));
    assert!(note("/dev/sdb1", "xfs").contains("UUID="));
    assert_eq!(note("UUID=b", "xfs"), "");
    assert!(
        refusal::<Mount>(&bare(), json!({ "path": PATH, "state": "mounted" })).contains("`src` is needed")
    );
}
