//! Users that are not root: what they replace keeps its owner, or is not replaced.
use crate::bed::{Bed, on_all};
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use tests::program::is_root;

fn mode(path: &std::path::Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Root's file of this mode in a folder that everybody may write.
fn of_root(bits: u32) -> Option<Bed> {
    if !is_root("another user's file") {
        return None;
    }
    let bed = Bed::one();
    fs::create_dir_all(bed.dir.join("state")).unwrap();
    for folder in ["state", "roots/a"] {
        mode(&bed.dir.join(folder), 0o777);
    }
    fs::write(bed.dir.join("roots/a/x"), "old\n").unwrap();
    mode(&bed.dir.join("roots/a/x"), bits);
    let task = "- copy: {dest: \"{{ root }}/x\", content: \"new and longer\\n\"}\n  become: true\n  become_user: nobody";
    bed.file("site.yml", &on_all(task));
    Some(bed)
}

#[test]
fn what_everybody_may_write_is_written_in_place_and_stays_its_owners() {
    let Some(bed) = of_root(0o666) else { return };
    bed.call(&["--check"])
        .ok()
        .says("written in place: DIR/roots/a/x belongs to root, which a rename by nobody");
    let before = fs::metadata(bed.dir.join("roots/a/x")).unwrap();
    bed.call(&["--yes"]).ok();
    let state = |text: &str| {
        let after = fs::metadata(bed.dir.join("roots/a/x")).unwrap();
        assert_eq!((after.uid(), after.gid(), after.mode()), (0, before.gid(), before.mode()));
        assert_eq!(after.ino(), before.ino());
        assert_eq!(bed.got("a/x").as_deref(), Some(text));
    };
    state("new and longer\n");
    let run = bed.runs().pop().unwrap();
    // By the host's own script, and again by the program.
    let script = bed.dir.join("state/a").join(&run).join("undo.sh");
    let status =
        std::process::Command::new("sudo").args(["-n", "-u", "nobody", "sh"]).arg(script).status().unwrap();
    assert!(status.success());
    state("old\n");
    bed.call(&["--yes"]).ok();
    state("new and longer\n");
    bed.tunerun(&["undo", "last"]).ok().says("1 step taken back");
    state("old\n");
}

#[test]
fn what_only_its_owner_may_write_is_refused_in_the_plan() {
    let Some(bed) = of_root(0o644) else { return };
    let done = bed.call(&["--yes"]);
    done.ended(1).says("belongs to root and may not be written by nobody").says("become");
    assert_eq!(bed.got("a/x").as_deref(), Some("old\n"));
    assert!(bed.runs().is_empty());
}
