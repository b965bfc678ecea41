//! File systems and mounts.
use crate::bed::Bed;

fn tasks(fstype: &str, opts: &str) -> String {
    format!(
        "
- filesystem: {{dev: DISK0, fstype: {fstype}}}
- ansible.posix.mount:
    path: ROOT/srv/images
    src: DISK0
    fstype: {fstype}
    opts: {opts}
    fstab: ROOT/fstab
    state: mounted
"
    )
}

const FSTAB: &str = "# ours\nUUID=a / ext4 errors=remount-ro 0 1";

fn bed() -> Option<Bed> {
    let bed = Bed::new(&["400M", "400M"])?;
    std::fs::write(bed.root.join("fstab"), FSTAB).unwrap();
    Some(bed)
}

#[test]
fn made_mounted_kept_and_taken_back_when_empty() {
    let Some(bed) = bed() else { return };
    for fstype in ["xfs", "ext4"] {
        let tasks = tasks(fstype, "noatime,nofail");
        bed.check(&tasks).ended(0).says(&["empty ->", "not mounted ->"]);
        bed.play(&tasks).ended(0);
        assert_eq!(
            bed.sh("findmnt -n -o SOURCE,FSTYPE ROOT/srv/images"),
            format!("{} {fstype}", bed.disks[0])
        );
        assert_eq!(bed.sh("findmnt -n -o OPTIONS ROOT/srv/images | tr , '\\n' | grep noatime"), "noatime");
        bed.same(&tasks);
        bed.sh("touch ROOT/srv/images/disk");
        let said = bed.undo();
        assert_ne!(said.code, Some(0), "files are in it: {}", said.text);
        let said = said.says(&["is not empty: it holds 1 files"]);
        assert_eq!(bed.sh("blkid -p -s TYPE -o value DISK0"), fstype, "{}", said.text);
        bed.sh("mkdir -p ROOT/m; mount DISK0 ROOT/m; rm ROOT/m/disk; umount ROOT/m");
        bed.undo().ended(0).says(&["its blocks are not what they were"]);
        assert_eq!(
            bed.sh("wipefs -n DISK0; findmnt -n ROOT/srv/images; ls ROOT/srv 2>/dev/null || true"),
            ""
        );
        assert_eq!(std::fs::read_to_string(bed.root.join("fstab")).unwrap(), FSTAB);
    }
}

#[test]
fn another_signature_is_never_overwritten() {
    let Some(bed) = bed() else { return };
    bed.sh("mkfs.xfs -q DISK0; pvcreate -q DISK1");
    let uuid = bed.sh("blkid -p -s UUID -o value DISK0");
    bed.same("- filesystem: {dev: DISK0, fstype: xfs, opts: -m reflink=0}\n");
    bed.play("- filesystem: {dev: DISK0, fstype: ext4}\n").ended(1).says(&["it holds xfs"]);
    bed.play("- filesystem: {dev: DISK1, fstype: ext4}\n").ended(1).says(&["it holds LVM2_member"]);
    bed.play("- filesystem: {dev: DISK1, fstype: ext4, force: true}\n")
        .ended(1)
        .says(&["nothing is overwritten"]);
    bed.play("- filesystem: {dev: DISK1, fstype: ext4, opts: -F}\n").ended(1).says(&["would overwrite"]);
    assert_eq!(bed.sh("blkid -p -s UUID -o value DISK0"), uuid);
}

#[test]
fn an_option_comes_by_a_remount_and_goes_back() {
    let Some(bed) = bed() else { return };
    bed.play(&tasks("ext4", "relatime")).ended(0);
    bed.play(&tasks("ext4", "noatime,nosuid")).ended(0);
    let options = "findmnt -n -o OPTIONS ROOT/srv/images";
    let live = bed.sh(options);
    assert!(live.contains("noatime") && live.contains("nosuid"), "{live}");
    bed.same(&tasks("ext4", "nosuid,noatime"));
    bed.undo().ended(0);
    let live = bed.sh(options);
    assert!(live.contains("relatime") && !live.contains("nosuid"), "{live}");
    assert!(std::fs::read_to_string(bed.root.join("fstab")).unwrap().contains("ext4 relatime 0 0"));
    bed.sh("umount ROOT/srv/images");
}

#[test]
fn unmounting_and_forgetting_go_back() {
    let Some(bed) = bed() else { return };
    bed.play(&tasks("ext4", "noatime")).ended(0);
    let before = bed.sh("cat ROOT/fstab");
    let absent = "- mount: {path: ROOT/srv/images, fstab: ROOT/fstab, state: absent}\n";
    bed.play(absent).ended(0);
    assert_eq!(bed.sh("findmnt -n ROOT/srv/images || true; cat ROOT/fstab"), FSTAB);
    bed.same(absent);
    bed.undo().ended(0);
    assert_eq!(
        bed.sh("findmnt -n -o SOURCE ROOT/srv/images; cat ROOT/fstab"),
        format!("{}\n{before}", bed.disks[0])
    );
    // Somebody uses it: nothing is forced.
    bed.sh("cd ROOT/srv/images; sleep 60 </dev/null >/dev/null 2>&1 & echo $! > ROOT/pid");
    bed.play(absent).ended(1).says(&["busy"]);
    bed.sh("kill $(cat ROOT/pid)");
    assert_eq!(bed.sh("cat ROOT/fstab"), before, "the batch is taken back");
    bed.play("- mount: {path: ROOT/srv/images, state: remounted}\n").ended(0);
    // Another file system on the same folder is refused.
    bed.sh("mkfs.ext4 -q DISK1");
    let other = tasks("ext4", "noatime").replace("src: DISK0", "src: DISK1");
    bed.play(&other).ended(1).says(&["is mounted at"]);
    bed.sh("umount ROOT/srv/images");
}
