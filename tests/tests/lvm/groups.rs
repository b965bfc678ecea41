//! Physical volumes and volume groups.
use crate::bed::Bed;

const GROUP: &str = "
- name: disks
  lvm_pv: {devices: [DISK0, DISK1]}
- name: group
  lvm_vg: {vg: tl0, devices: [DISK0, DISK1], extent_size: 256M}
- name: guest
  lvm_lv: {vg: tl0, lv: vm1, size: 1000M, read_ahead: none, active: false}
";

#[test]
fn a_chain_is_planned_whole_made_kept_and_taken_back() {
    let Some(bed) = Bed::new(&["4G", "4G"]) else { return };
    bed.check(GROUP).ended(0).says(&["a physical volume", "in extents of 256 MiB", "1 GiB"]);
    assert_eq!(bed.sh("pvs --noheadings"), "", "a dry run touches nothing");
    bed.play(GROUP).ended(0);
    assert_eq!(bed.field("vgs", "vg_extent_size,pv_count", "tl0"), "268435456 2");
    assert_eq!(bed.field("lvs", "lv_size", "tl0/vm1"), (1_u64 << 30).to_string(), "1000M in whole extents");
    assert_eq!(bed.field("lvs", "lv_read_ahead", "tl0/vm1"), "0");
    bed.same(GROUP);
    bed.undo().ended(0);
    assert_eq!(bed.sh("pvs --noheadings; vgs --noheadings"), "");
    assert_eq!(bed.sh("wipefs -n DISK0; wipefs -n DISK1"), "");
    bed.play(GROUP).ended(0);
}

#[test]
fn ansibles_names_mean_the_same() {
    let Some(bed) = Bed::new(&["600M", "600M"]) else { return };
    let first = "
- community.general.lvg: {vg: tl0, pvs: DISK0, pesize: 32}
- community.general.lvol: {vg: tl0, lv: data, size: 100, active: false, shrink: false}
";
    bed.play(first).ended(0);
    assert_eq!(bed.field("lvs", "lv_size", "tl0/data"), (128_u64 << 20).to_string());
    bed.same(first);
    // A list that names another disk adds it and takes none away.
    let second = "- lvg: {vg: tl0, pvs: DISK1, remove_extra_pvs: false}\n";
    bed.play(second).ended(0).says(&["stays in the volume group tl0"]);
    assert_eq!(bed.field("vgs", "pv_count", "tl0"), "2");
    bed.same(second);
    bed.play("- lvm_vg: {vg: tl0, remove_pvs: DISK0}\n").ended(1).says(&["volumes use", "pvmove"]);
    bed.play("- lvm_vg: {vg: tl0, remove_pvs: DISK1}\n").ended(0);
    assert_eq!(bed.field("vgs", "pv_count", "tl0"), "1");
    bed.undo().ended(0);
    assert_eq!(bed.field("vgs", "pv_count", "tl0"), "2");
    bed.play("- lvol: {vg: tl0, thinpool: x, size: 1g}\n").ended(1).says(&["lvm_thin_pool"]);
}

#[test]
fn extents_change_where_they_divide_and_else_it_is_said() {
    let Some(bed) = Bed::new(&["600M"]) else { return };
    bed.sh("pvcreate -q DISK0; vgcreate -s 4m tl0 DISK0; lvcreate -y -an -Zn -Wn -l 3 -n odd tl0");
    let smaller = "- lvm_vg: {vg: tl0, extent_size: 2M}\n";
    bed.play(smaller).ended(0).says(&["4 MiB -> 2 MiB"]);
    bed.same(smaller);
    bed.undo().ended(0);
    assert_eq!(bed.field("vgs", "vg_extent_size", "tl0"), (4 << 20).to_string());
    let larger = "- lvm_vg: {vg: tl0, extent_size: 256M}\n";
    bed.play(larger).ended(1).says(&[
        "cannot become 256 MiB in place",
        "make a new group",
        "cannot_converge",
    ]);
    let accepted = "
- lvm_vg: {vg: tl0, extent_size: 256M}
  accept_risk: {cannot_converge: moved next year}
";
    bed.play(accepted).ended(0).says(&["left as it is"]);
    assert_eq!(bed.field("vgs", "vg_extent_size", "tl0"), (4 << 20).to_string());
}

#[test]
fn what_holds_something_is_never_touched() {
    let Some(bed) = Bed::new(&["100M", "100M", "400M", "100M"]) else { return };
    bed.sh("mkfs.ext4 -q DISK0; printf 'label: gpt\\n,10M\\n' | sfdisk -q --no-reread --no-tell-kernel DISK1; mkfs.xfs -q DISK2");
    bed.sh("mkdir ROOT/m; mount DISK2 ROOT/m; pvcreate -q DISK3; vgcreate -q other DISK3");
    for (disk, words) in [(0, "it holds ext4"), (1, "it holds gpt"), (2, "mounted at")] {
        bed.play(&format!("- lvm_pv: {{devices: DISK{disk}}}\n")).ended(1).says(&[words]);
        bed.play(&format!("- lvm_vg: {{vg: tl0, devices: DISK{disk}}}\n")).ended(1).says(&[words]);
    }
    bed.play("- lvm_vg: {vg: tl0, devices: DISK3}\n").ended(1).says(&["belongs to the volume group other"]);
    bed.play("- lvm_pv: {devices: DISK3, state: absent}\n")
        .ended(1)
        .says(&["belongs to the volume group other"]);
    bed.play("- lvm_pv: {devices: /dev/tl-none}\n").ended(1).says(&["/dev/tl-none cannot be looked at"]);
    assert_eq!(bed.sh("blkid -p -s TYPE -o value DISK0"), "ext4");
    assert_eq!(bed.field("vgs", "vg_name", ""), "other");
}

#[test]
fn cephs_groups_are_left_alone_unless_they_are_meant() {
    let Some(bed) = Bed::new(&["600M"]) else { return };
    bed.sh("pvcreate -q DISK0; vgcreate -q ceph-1 DISK0; lvcreate -y -an -Zn -Wn -l 3 -n osd-block-1 ceph-1");
    bed.sh("lvchange --addtag ceph.osd_id=1 --addtag ceph.type=block ceph-1/osd-block-1");
    for task in [
        "- lvm_vg: {vg: ceph-1, state: absent}\n",
        "- lvm_vg: {vg: ceph-1, extent_size: 2M}\n",
        "- lvm_lv: {vg: ceph-1, lv: more, size: 8M, active: false}\n",
        "- lvm_lv: {vg: ceph-1, lv: osd-block-1, state: absent}\n",
        "- lvm_thin_pool: {vg: ceph-1, pool: thin, size: 100M}\n",
    ] {
        bed.play(task).ended(1).says(&["Ceph's", "of_ceph: true"]);
    }
    bed.play("- lvm_lv: {vg: ceph-1, lv: more, size: 8M, active: false, of_ceph: true}\n").ended(0);
    assert_eq!(bed.field("lvs", "lv_name", "ceph-1"), "more osd-block-1");
}

#[test]
fn a_group_that_others_use_since_is_not_taken_back() {
    let Some(bed) = Bed::new(&["600M"]) else { return };
    bed.play("- lvm_vg: {vg: tl0, devices: DISK0}\n").ended(0);
    bed.sh("lvcreate -y -an -Zn -Wn -l 3 -n theirs tl0");
    let said = bed.undo();
    assert_ne!(said.code, Some(0), "{}", said.text);
    assert_eq!(bed.sh("lvs --noheadings -o lv_name tl0"), "theirs");
    bed.sh("lvremove -y tl0/theirs");
    bed.undo().ended(0);
    assert_eq!(bed.sh("pvs --noheadings"), "");
}

/// Where a host keeps LVM's devices file, new devices get into it, and labels that it does not name are added.
#[test]
fn the_devices_file_is_kept() {
    let Some(bed) = Bed::new(&["100M", "100M"]) else { return };
    bed.sh("pvcreate -q DISK0");
    bed.sh("sed -i 's/use_devicesfile = 0/use_devicesfile = 1/; /filter/d' /etc/lvm/lvm.conf");
    bed.sh("mkdir /etc/lvm/devices; touch /etc/lvm/devices/system.devices");
    let tasks = "- lvm_pv: {devices: [DISK0, DISK1]}\n";
    bed.check(tasks).ended(0).says(&["not in LVM's devices file", "a physical volume"]);
    bed.play(tasks).ended(0);
    let named = "grep -c IDTYPE /etc/lvm/devices/system.devices";
    assert_eq!((bed.sh(named).as_str(), bed.field("pvs", "pv_name", "")), ("2", bed.disks.join(" ")));
    bed.same(tasks);
    bed.undo().ended(0).says(&["the counter in"]);
    assert_eq!(bed.sh("blkid -p -s TYPE -o value DISK0; wipefs -n DISK1"), "LVM2_member");
}
