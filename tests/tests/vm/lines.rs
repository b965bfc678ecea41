//! Kernel arguments: written, tried, booted, felt, played again, taken back.
use super::bed::{boot_files, call, line_and_boot, play};
use tests::vm::{Vm, can};

const ARGS: &str = "mitigations=off init_on_alloc=0 hugepagesz=2M hugepages=32";

fn has(line: &str, args: &str) -> bool {
    args.split_whitespace().all(|arg| line.split_whitespace().any(|word| word == arg))
}

#[test]
fn a_line_is_tried_then_made_the_default_and_taken_back_over_a_boot() {
    if !can() {
        return;
    }
    let mut vm = Vm::restored();
    let (files, old) = (boot_files(&vm), vm.cmdline());
    let tasks = line_and_boot(ARGS, "");

    // The plan is shown, and nothing is touched.
    let check = play(&vm, &tasks, &["--check", "--diff"]);
    check.ended(0, &["try-boot", "next_entry", "The line", "update-grub", "the trial is over"]);
    assert_eq!(boot_files(&vm), files);

    let boot_id = vm.boot_id();
    play(&vm, &tasks, &[]).ended(0, &["proven"]);
    assert!(vm.is_booted_since(&boot_id));
    let tried = vm.cmdline();
    assert!(has(&tried, ARGS) && tried.contains("panic=30") && tried.contains("tunerun.trial="), "{tried}");
    assert_eq!(vm.ssh("sed -n 's/^HugePages_Total: *//p' /proc/meminfo"), "32");
    vm.ssh("test ! -e /boot/grub/custom.cfg && grep -q init_on_alloc=0 /boot/grub/grub.cfg");
    assert_eq!(vm.ssh("grep -a -x 'next_entry=..*' /boot/grub/grubenv || echo none"), "none");

    // All is as it should be: no change, no boot.
    let boot_id = vm.boot_id();
    play(&vm, &tasks, &["--detailed-exitcode"]).ended(0, &[]);
    assert!(!vm.is_booted_since(&boot_id));

    // The default is the new line, without what only the trial had.
    vm.reboot();
    let new = vm.cmdline();
    assert!(has(&new, ARGS) && !new.contains("panic=30") && !new.contains("tunerun.trial"), "{new}");
    let spectre = vm.ssh("cat /sys/devices/system/cpu/vulnerabilities/spectre_v2");
    assert!(spectre.starts_with("Vulnerable"), "{spectre}");
    play(&vm, &tasks, &["--check", "--detailed-exitcode"]).ended(0, &[]);

    // The files go back at once, the running line by a boot.
    let boot_id = vm.boot_id();
    call(&vm, &["undo", &first_run(&vm), "--reboot"]).ended(0, &["owed: reboot", "vm: booted"]);
    assert!(vm.is_booted_since(&boot_id));
    assert_eq!(without_grubenv(&boot_files(&vm)), without_grubenv(&files));
    assert_eq!(vm.cmdline(), old);
    assert_eq!(vm.ssh("sed -n 's/^HugePages_Total: *//p' /proc/meminfo"), "0");
}

/// GRUB keeps an empty `next_entry` in its own block once it has cleared one.
fn without_grubenv(files: &str) -> String {
    files.lines().filter(|line| !line.contains("grubenv")).collect::<Vec<_>>().join("\n")
}

/// The run that changed something.
fn first_run(vm: &Vm) -> String {
    let runs = std::fs::read_dir(vm.dir.join("runs")).unwrap().flatten();
    let mut names: Vec<String> = runs.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names.into_iter().next().unwrap()
}

#[test]
fn where_grub_cannot_clear_a_one_shot_the_boot_is_refused() {
    if !can() {
        return;
    }
    let vm = Vm::restored();
    // /boot/grub on a logical volume: GRUB reads it there, and cannot write.
    vm.ssh(
        "pvcreate -q /dev/vdb && vgcreate -q boot /dev/vdb && lvcreate -q -y -L 64M -n grub boot && \
         mkfs.ext4 -q /dev/boot/grub && mount /dev/boot/grub /mnt && cp -a /boot/grub/. /mnt/ && umount /mnt && \
         mount /dev/boot/grub /boot/grub",
    );
    let files = boot_files(&vm);
    let tasks = line_and_boot(ARGS, "");
    let refused = play(&vm, &tasks, &[]);
    refused.ended(1, &["try-boot is not possible here", "lvm", "no_try_boot", "leave the boot to a person"]);
    assert_eq!(boot_files(&vm), files, "nothing was touched");

    // With the waiver the line would be written at once; without a boot in the play nothing is tried.
    let waived = line_and_boot(ARGS, "  accept_risk: {no_try_boot: a machine of a test}\n");
    play(&vm, &waived, &["--check"]).ended(0, &["accepted risk no_try_boot"]);
    let (alone, _) = tasks.split_once("- name: Boot").unwrap();
    let written = play(&vm, alone, &[]);
    written.ended(0, &["reboot"]);
    vm.ssh("grep -q init_on_alloc=0 /etc/default/grub");
    call(&vm, &["undo", "last"]).ended(0, &[]);
    assert_eq!(boot_files(&vm), files);
}
