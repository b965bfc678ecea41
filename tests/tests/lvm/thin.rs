//! Thin pools on real metadata: written by hand where the kernel has no device-mapper, read and changed by LVM itself.
use crate::bed::Bed;

/// A pool of two extents of 256 MiB in chunks of 4 MiB, not zeroed, with one thin volume of 2 GiB.
const METADATA: &str = r#"
contents = "Text Format Volume Group"
version = 1
description = ""
creation_host = "h"
creation_time = 1700000000
tl0 {
  id = "VGID"
  seqno = 9
  format = "lvm2"
  status = ["RESIZEABLE", "READ", "WRITE"]
  flags = []
  extent_size = 524288
  max_lv = 0
  max_pv = 0
  metadata_copies = 0
  physical_volumes {
    pv0 { id = "PVID" device = "DISK0" status = ["ALLOCATABLE"] flags = [] dev_size = 8388608 pe_start = 2048 pe_count = 15 }
  }
  logical_volumes {
    thin {
      id = "aaaaaa-0000-0000-0000-0000-0000-000001" status = ["READ", "WRITE", "VISIBLE"] flags = [] segment_count = 1
      segment1 {
        start_extent = 0 extent_count = 2 type = "thin-pool" metadata = "thin_tmeta" pool = "thin_tdata"
        transaction_id = 1 chunk_size = 8192 discards = "passdown" zero_new_blocks = 0
      }
    }
    vm1 {
      id = "aaaaaa-0000-0000-0000-0000-0000-000002" status = ["READ", "WRITE", "VISIBLE"] flags = [] segment_count = 1
      segment1 { start_extent = 0 extent_count = 8 type = "thin" thin_pool = "thin" transaction_id = 0 device_id = 1 }
    }
    lvol0_pmspare {
      id = "aaaaaa-0000-0000-0000-0000-0000-000003" status = ["READ", "WRITE"] flags = [] segment_count = 1
      segment1 { start_extent = 0 extent_count = 1 type = "striped" stripe_count = 1 stripes = ["pv0", 0] }
    }
    thin_tmeta {
      id = "aaaaaa-0000-0000-0000-0000-0000-000004" status = ["READ", "WRITE"] flags = [] segment_count = 1
      segment1 { start_extent = 0 extent_count = 1 type = "striped" stripe_count = 1 stripes = ["pv0", 1] }
    }
    thin_tdata {
      id = "aaaaaa-0000-0000-0000-0000-0000-000005" status = ["READ", "WRITE"] flags = [] segment_count = 1
      segment1 { start_extent = 0 extent_count = 2 type = "striped" stripe_count = 1 stripes = ["pv0", 2] }
    }
  }
}
"#;

fn pool() -> Option<Bed> {
    let bed = Bed::new(&["4G"])?;
    bed.sh("pvcreate -q DISK0; vgcreate -q -s 256m tl0 DISK0");
    let text = METADATA
        .replace("DISK0", &bed.disks[0])
        .replace("VGID", &bed.field("vgs", "vg_uuid", "tl0"))
        .replace("PVID", &bed.field("pvs", "pv_uuid", &bed.disks[0]));
    std::fs::write(bed.root.join("thin.txt"), text).unwrap();
    bed.sh("vgcfgrestore --force -y -f ROOT/thin.txt tl0");
    assert_eq!(bed.field("lvs", "chunk_size", "tl0/thin"), (4 << 20).to_string());
    Some(bed)
}

const POOL: &str =
    "- lvm_thin_pool: {vg: tl0, pool: thin, size: 512M, chunk_size: 4M, zero: false, tenants: one}\n";

#[test]
fn a_pool_as_it_is_asked_for_is_left_alone() {
    let Some(bed) = pool() else { return };
    bed.same(POOL);
    bed.same("- lvm_lv: {vg: tl0, lv: vm1, thinpool: thin, size: 2G}\n");
    // One extent less was asked for: LVM may give one more.
    bed.same(&POOL.replace("512M", "256M"));
    bed.play(&POOL.replace("tenants: one", "tenants: many")).ended(1).says(&["another tenant's", "security"]);
}

#[test]
fn the_chunk_size_is_for_life() {
    let Some(bed) = pool() else { return };
    let task = POOL.replace("4M", "1M");
    bed.play(&task).ended(1).says(&["chunks of 4 MiB", "make a new pool", "cannot_converge"]);
    bed.play(&format!("{task}  accept_risk: {{cannot_converge: later}}\n")).ended(0).says(&["left as it is"]);
    assert_eq!(bed.field("lvs", "chunk_size", "tl0/thin"), (4 << 20).to_string());
    bed.play("- lvm_thin_pool: {vg: tl0, pool: other, size: 16T, chunk_size: 64K}\n")
        .ended(1)
        .says(&["too small for a pool of 16 TiB"]);
}

#[test]
fn zeroing_and_read_ahead_change_in_place_and_back() {
    let Some(bed) = pool() else { return };
    let task = POOL.replace("zero: false, tenants: one", "zero: true");
    bed.play(&task).ended(0);
    assert_eq!(bed.field("lvs", "zero", "--binary tl0/thin"), "1");
    bed.same(&task);
    bed.undo().ended(0);
    assert_eq!(bed.field("lvs", "zero", "--binary tl0/thin"), "0");
    let task = "- lvm_lv: {vg: tl0, lv: vm1, read_ahead: none}\n";
    bed.play(&task.replace("vm1", "vm1, thinpool: thin")).ended(0);
    assert_eq!(bed.field("lvs", "lv_read_ahead", "tl0/vm1"), "0");
    bed.undo().ended(0);
    assert_eq!(bed.field("lvs", "lv_read_ahead", "tl0/vm1"), "auto");
    bed.play(task).ended(1).says(&["a thin volume of the pool thin"]);
}

#[test]
fn a_pool_with_volumes_is_not_removed() {
    let Some(bed) = pool() else { return };
    bed.play("- lvm_lv: {vg: tl0, lv: thin, state: absent}\n").ended(1).says(&["holds thin volumes"]);
    assert_eq!(bed.field("lvs", "thin_count", "tl0/thin"), "1");
}
