//! Thin pools on a kernel that has a device mapper: made, felt, made again without a change, taken back.
use super::bed::call;
use std::path::Path;
use tests::vm::{Vm, can};

#[test]
fn thin_pools_in_chunks_of_4_mib_are_made_and_taken_back() {
    if !can() {
        return;
    }
    let vm = Vm::restored();
    let playbook = Path::new(env!("CARGO_MANIFEST_DIR")).join("vm/playbooks/lvm.yaml");
    let play = |more: &[&str]| {
        let mut words = vec!["play", playbook.to_str().unwrap(), "--yes"];
        words.extend(more);
        call(&vm, &words)
    };
    let files = "cat /etc/lvm/lvm.conf /etc/lvm/lvmlocal.conf /etc/fstab 2>/dev/null | sha256sum; ls /srv";
    let queues =
        "cat /sys/block/vd[bc]/queue/scheduler /sys/block/vd[bc]/queue/read_ahead_kb; ls /etc/udev/rules.d";
    let (before, waiting) = (vm.ssh(files), vm.ssh(queues));
    play(&["--check", "--diff"]).ended(0, &["A pool in chunks of 4 MiB"]);
    assert_eq!(vm.ssh("pvs --noheadings"), "");

    play(&[]).ended(0, &["proven"]);
    let asked = |name: &str, field: &str| {
        vm.ssh(&format!("lvs --noheadings --units b --nosuffix -o {field} vgtune/{name}")).trim().to_owned()
    };
    assert_eq!(asked("thin", "chunk_size"), "4194304");
    assert_eq!(asked("thin", "discards"), "passdown");
    assert_eq!(vm.ssh("vgs --noheadings --units b --nosuffix -o vg_extent_size vgtune").trim(), "268435456");
    // The kernel itself: chunks of 8192 sectors, new blocks not zeroed, nothing read ahead.
    let table = vm.ssh("dmsetup table vgtune-thin-tpool");
    assert!(table.contains(" 8192 ") && table.contains("skip_block_zeroing"), "{table}");
    assert_eq!(vm.ssh("blockdev --getra /dev/vgtune/vm1 /dev/vgtune/vm2"), "0\n0");
    let tuned = vm.ssh(queues);
    assert!(tuned.matches("[none]").count() == 2 && tuned.contains("\n0\n0\n"), "{tuned}");
    assert!(!waiting.contains("[none]") && !waiting.contains("\n0\n"), "{waiting}");
    vm.ssh("dd if=/dev/urandom of=/dev/vgtune/vm2 bs=1M count=8 oflag=direct status=none && mountpoint -q /srv/images");

    play(&["--check", "--detailed-exitcode"]).ended(0, &[]);
    call(&vm, &["undo", "last"]).ended(0, &[]);
    assert_eq!(vm.ssh("pvs --noheadings; wipefs -n /dev/vdb /dev/vdc"), "");
    assert_eq!(vm.ssh(files), before);
    // Closing a disk after the way back let udev look at it again: by then its rule was gone, and stays gone.
    vm.ssh("udevadm trigger --action=change --settle /sys/block/vdb /sys/block/vdc && udevadm settle");
    assert_eq!(vm.ssh(queues), waiting);
}
