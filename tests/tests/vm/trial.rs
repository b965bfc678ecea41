//! Lines that do not boot: the old one comes back by itself, or at the next power cycle.
use super::bed::{boot_files, line_and_boot, play};
use tests::vm::{Vm, can};

fn is_as_before(vm: &Vm, files: &str, old: &str) {
    assert_eq!(vm.cmdline(), old);
    let now: Vec<String> = boot_files(vm).lines().map(str::to_owned).collect();
    let moved: Vec<&String> =
        now.iter().filter(|line| !line.contains("grubenv") && !files.contains(line.as_str())).collect();
    assert!(moved.is_empty(), "{moved:?}");
    assert_eq!(now.len(), files.lines().count());
    assert_eq!(vm.ssh("grep -a -x 'next_entry=..*' /boot/grub/grubenv || echo none"), "none");
}

#[test]
fn a_line_that_panics_falls_back_by_itself() {
    if !can() {
        return;
    }
    let vm = Vm::restored();
    let (files, old, boot_id) = (boot_files(&vm), vm.cmdline(), vm.boot_id());
    // Without an initial program the kernel finds no root file system, and panics.
    let done = play(&vm, &line_and_boot("rdinit=/nonexistent", ""), &[]);
    done.ended(1, &["came back with the old kernel line", "failed"]);
    assert!(vm.said("Kernel panic"), "{}", vm.console());
    assert!(vm.is_booted_since(&boot_id));
    is_as_before(&vm, &files, &old);
    assert_eq!(vm.power_cycles(), 0);
}

#[test]
fn a_line_that_hangs_falls_back_at_a_power_cycle() {
    if !can() {
        return;
    }
    let mut vm = Vm::restored();
    // The play waits as long before it calls for the power cycle, and then once more: a boot must fit in.
    let patience = vm.patience().as_secs();
    let (files, old) = (boot_files(&vm), vm.cmdline());
    // The initial program reads the console, for ever.
    let reboot =
        format!("    boot_timeout: {patience}\n    power_cycle: bash {}/power-cycle\n", vm.dir.display());
    let tasks = line_and_boot("rdinit=/bin/cat", &reboot).replace("    reboot_timeout: 600\n", "");
    let done = play(&vm, &tasks, &[]);
    done.ended(1, &["powered off and on once by", "came back with the old kernel line"]);
    assert_eq!(vm.power_cycles(), 1);
    is_as_before(&vm, &files, &old);
}
