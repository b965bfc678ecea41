//! Volumes: sizes, shares, read-ahead.
use crate::bed::Bed;

const SHARES: &str = "
- lvm_lv: {vg: tl0, lv: a, size: 25%VG, active: false}
- lvm_lv: {vg: tl0, lv: b, size: 100%FREE, active: false}
";

#[test]
fn shares_are_fixed_at_creation() {
    let Some(bed) = Bed::new(&["512M", "512M"]) else { return };
    bed.sh("pvcreate -q DISK0; vgcreate -q tl0 DISK0");
    assert_eq!(bed.field("vgs", "vg_extent_count", "tl0"), "127");
    bed.play(SHARES).ended(0);
    let mib = |extents: u64| (extents * 4 * 1024 * 1024).to_string();
    assert_eq!(
        (bed.field("lvs", "lv_size", "tl0/a"), bed.field("lvs", "lv_size", "tl0/b")),
        (mib(31), mib(96))
    );
    assert_eq!(bed.field("vgs", "vg_free", "tl0"), "0");
    bed.same(SHARES);
    bed.sh("vgextend -q tl0 DISK1");
    bed.same(SHARES);
    let grow = "
- lvm_lv: {vg: tl0, lv: b, size: 100%FREE, grow: true}
  accept_risk: {irreversible: it is meant}
";
    bed.play(&grow.replace("  accept_risk: {irreversible: it is meant}\n", ""))
        .ended(1)
        .says(&["irreversible"]);
    bed.play(grow).ended(0);
    assert_eq!(bed.field("lvs", "lv_size", "tl0/b"), mib(96 + 127));
    bed.same(grow);
}

#[test]
fn sizes_are_rounded_and_never_made_smaller() {
    let Some(bed) = Bed::new(&["2G"]) else { return };
    bed.sh("pvcreate -q DISK0; vgcreate -q tl0 DISK0");
    let task = |size: &str| format!("- lvm_lv: {{vg: tl0, lv: a, size: {size}, active: false}}\n");
    bed.play(&task("1013m")).ended(0);
    assert_eq!(bed.field("lvs", "lv_size", "tl0/a"), "1065353216");
    bed.same(&task("1013m"));
    bed.same(&task("1012m"));
    bed.play(&task("500m")).ended(1).says(&["nothing is made smaller", "cannot_converge"]);
    bed.play(&task("9G")).ended(1).says(&["are free in the volume group"]);
    assert_eq!(bed.field("lvs", "lv_size", "tl0/a"), "1065353216");
}

#[test]
fn read_ahead_goes_and_comes_back() {
    let Some(bed) = Bed::new(&["600M"]) else { return };
    bed.sh("pvcreate -q DISK0; vgcreate -q tl0 DISK0; lvcreate -y -an -Zn -Wn -r 256 -l 3 -n a tl0");
    let task = "- lvm_lv: {vg: tl0, lv: a, read_ahead: none}\n";
    bed.play(task).ended(0).says(&["128 KiB -> none"]);
    assert_eq!(bed.field("lvs", "lv_read_ahead", "tl0/a"), "0");
    bed.same(task);
    bed.undo().ended(0);
    assert_eq!(bed.field("lvs", "lv_read_ahead", "tl0/a"), (128 << 10).to_string());
    bed.play("- lvm_lv: {vg: tl0, lv: a, read_ahead: auto}\n").ended(0);
    bed.undo().ended(0);
    assert_eq!(bed.field("lvs", "lv_read_ahead", "tl0/a"), (128 << 10).to_string());
}

#[test]
fn a_volume_that_grew_since_is_not_taken_back() {
    let Some(bed) = Bed::new(&["600M"]) else { return };
    bed.sh("pvcreate -q DISK0; vgcreate -q tl0 DISK0");
    bed.play("- lvm_lv: {vg: tl0, lv: a, size: 100M, active: false}\n").ended(0);
    bed.sh("lvextend -l +1 tl0/a");
    let said = bed.undo();
    assert_ne!(said.code, Some(0), "{}", said.text);
    let said = said.says(&["lvm/tl0/a"]);
    assert!(said.text.contains("somebody else"), "{}", said.text);
    assert_eq!(bed.field("lvs", "lv_size", "tl0/a"), (104 << 20).to_string());
}

#[test]
fn a_removal_is_accepted_by_name() {
    let Some(bed) = Bed::new(&["600M"]) else { return };
    bed.sh("pvcreate -q DISK0; vgcreate -q tl0 DISK0; lvcreate -y -an -Zn -Wn -l 3 -n a tl0");
    let task = "- lvol: {vg: tl0, lv: a, state: absent, force: true}\n";
    bed.play(task).ended(1).says(&["irreversible"]);
    bed.play(&format!("{task}  accept_risk: {{irreversible: old, data_loss: old}}\n")).ended(0);
    assert_eq!(bed.sh("lvs --noheadings tl0"), "");
    bed.same(&format!("{task}  accept_risk: {{irreversible: old, data_loss: old}}\n"));
}
