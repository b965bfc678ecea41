//! The controller dies while the host boots a line on trial.
use super::bed::{begin, boot_files, call, line_and_boot, play};
use tests::vm::{BOOT, Vm, can};

#[test]
fn a_controller_killed_during_the_boot_is_recovered_from_by_looking() {
    if !can() {
        return;
    }
    let mut vm = Vm::restored();
    let (files, boot_id) = (boot_files(&vm), vm.boot_id());
    let tasks = line_and_boot("hugepages=24", "");
    let mut child = begin(&vm, &tasks);
    vm.wait_for("the host goes down", BOOT, |vm| {
        let armed = vm.try_ssh("grep -a -q next_entry=tunerun-trial /boot/grub/grubenv");
        armed.status.success() || !vm.greets()
    });
    child.kill().unwrap();
    child.wait().unwrap();
    vm.wait_for("the trial boots", BOOT, |vm| vm.is_booted_since(&boot_id));
    assert!(vm.cmdline().contains("tunerun.trial="), "{}", vm.cmdline());
    vm.ssh("test -e /boot/grub/custom.cfg");

    // A new run does not begin over it; resume takes the trial entry away. The default was never touched.
    play(&vm, &tasks, &[]).ended(15, &["resume"]);
    call(&vm, &["resume", "last"]).ended(0, &["tunerun play"]);
    let after = boot_files(&vm);
    let kept = |text: &str| {
        text.lines().filter(|line| !line.contains("grubenv")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(kept(&after), kept(&files));

    // The line is live already, so it is made the default without another boot.
    let boot_id = vm.boot_id();
    play(&vm, &tasks, &[]).ended(0, &["proven"]);
    assert!(!vm.is_booted_since(&boot_id));
    vm.ssh("grep -q hugepages=24 /boot/grub/grub.cfg && test ! -e /boot/grub/custom.cfg");
    call(&vm, &["undo", "last"]).ended(0, &[]);
    assert_eq!(kept(&boot_files(&vm)), kept(&files));
    vm.reboot();
    assert!(!vm.cmdline().contains("hugepages=24"), "{}", vm.cmdline());
}
