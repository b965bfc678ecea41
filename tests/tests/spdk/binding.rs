//! Binding a disk through a faked sysfs in a mount namespace of its own, with a faked kernel behind its files.
use crate::bed::Bed;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use tests::program::{is_root, tunerun};

/// A tree as the kernel makes it, and what the kernel does where something is written: pipes stand for its files.
const KERNEL: &str = r#"set -e
cd "$1"; a=0000:02:00.0
mount --bind etc /etc
mount -t tmpfs tmpfs /sys/bus/pci
mount -t tmpfs tmpfs /sys/module
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system
cd /sys/bus/pci
mkdir -p devices/$a/nvme/nvme0/nvme0n1/holders drivers/nvme drivers/uio_pci_generic
[ -z "$REFUSES" ] || rmdir drivers/uio_pci_generic
echo 0x010802 > devices/$a/class; echo '(null)' > devices/$a/driver_override; echo S3X1 > devices/$a/nvme/nvme0/serial
mkfifo drivers_probe drivers/nvme/unbind; [ -n "$REFUSES" ] || mkfifo drivers/uio_pci_generic/unbind
ln -s ../../drivers/nvme devices/$a/driver
mkdir -p /sys/module/uio_pci_generic; echo live > /sys/module/uio_pci_generic/initstate
unbind() { while :; do read -r b < drivers/$1/unbind || continue; rm -f devices/$b/driver; done; }
probe() { while :; do read -r b < drivers_probe || continue; o=$(cat devices/$b/driver_override)
case $o in ''|'(null)') o=nvme;; esac; [ -e devices/$b/driver ] || [ ! -d drivers/$o ] || ln -s ../../drivers/$o devices/$b/driver; done; }
unbind nvme & p1=$!; probe & p2=$!; p3=
[ -n "$REFUSES" ] || { unbind uio_pci_generic & p3=$!; }
trap 'kill $p1 $p2 $p3' EXIT
set +e
driver() { d=$(readlink devices/$a/driver); echo "driver: ${d##*/} override: $(cat devices/$a/driver_override)"; }
"#;

/// A /dev of the namespace's own, in which a file stands for the disk, and a process that holds it open.
const HELD: &str = r#"mkdir "$BED/dev"; mount -t tmpfs tmpfs "$BED/dev"
for n in null zero full random urandom tty; do cp -a /dev/$n "$BED/dev/"; done
ln -s /proc/self/fd "$BED/dev/fd"; : > "$BED/dev/nvme0n1"; : > "$BED/dev/nvme0n10"; mount --rbind "$BED/dev" /dev
hold() { sleep 300 9<"$1" >/dev/null 2>&1 & h=$!; while ! ls -l /proc/$h/fd | grep -q nvme; do sleep 0.05; done; }
let_go() { kill $h; wait $h 2>/dev/null || :; }
"#;

/// lsblk's answer for one disk.
fn lsblk(bed: &Bed, more: &str) {
    let text = format!(
        "#!/bin/sh\necho '{{\"blockdevices\": [{{\"name\": \"nvme0n1\", \"kname\": \"nvme0n1\", \"type\": \"disk\", \"serial\": \"S3X1\"{more}}}]}}'\n"
    );
    program(bed, "lsblk", &text);
    program(bed, "systemctl", "#!/bin/sh\n[ \"$*\" = daemon-reload ]\n");
}

fn program(bed: &Bed, name: &str, text: &str) {
    let path = bed.root.join("bin").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs a script with the faked kernel; `$T` is the program.
fn with_kernel(bed: &Bed, refuses: bool, script: &str) -> String {
    fs::create_dir_all(bed.root.join("etc/systemd/system")).unwrap();
    fs::create_dir_all(bed.root.join("etc/modules-load.d")).unwrap();
    for file in ["passwd", "group", "nsswitch.conf"] {
        let _ = fs::copy(format!("/etc/{file}"), bed.root.join("etc").join(file));
    }
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c"]);
    command.arg(format!("{KERNEL}\n{script}")).arg("sh").arg(&bed.root);
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}/bin:{path}", bed.root.display())).env("T", tunerun());
    command.env("REFUSES", if refuses { "1" } else { "" });
    command.env("TUNERUN_RUNS", bed.root.join("runs")).env("NO_COLOR", "1").env("BED", &bed.root);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    text
}

fn playbook(bed: &Bed, more: &str) {
    let text = format!(
        "- hosts: all\n  gather_facts: false\n  tasks:\n  - name: the disk\n    spdk_setup:\n      driver: uio_pci_generic\n      \
         devices: [{{address: '02:00.0'{more}}}]\n"
    );
    fs::write(bed.root.join("play.yml"), text).unwrap();
}

fn can() -> bool {
    if !is_root("a mount namespace") {
        return false;
    }
    let there = std::path::Path::new("/sys/bus/pci").is_dir();
    if !there {
        eprintln!("NOT TESTED: this machine has no /sys/bus/pci to mount over");
        assert!(std::env::var_os("CI").is_none(), "CI must have a PCI bus");
    }
    there
}

const PLAY: &str = "cd \"$BED\"; $T play play.yml -i hosts.ini --yes";

#[test]
fn a_disk_is_bound_and_given_back() {
    if !can() {
        return;
    }
    let bed = Bed::new();
    lsblk(&bed, "");
    playbook(&bed, "");
    let text = with_kernel(
        &bed,
        false,
        &format!(
            "({PLAY}) || exit 1; driver; ls /etc/systemd/system/sysinit.target.wants
             echo AGAIN; ({PLAY}) || exit 1
             echo UNDO; ( cd \"$BED\"; $T undo $($T runs | sed -n 1p | cut -d' ' -f1) ) || exit 1; driver; ls -R /etc/systemd/system"
        ),
    );
    let (first, rest) = text.split_once("AGAIN").unwrap();
    let (again, undone) = rest.split_once("UNDO").unwrap();
    assert!(first.contains("driver: uio_pci_generic override: uio_pci_generic"), "{text}");
    assert!(first.contains("tunerun-spdk-bind.service"), "{text}");
    assert!(!again.contains("changed on"), "{text}");
    assert!(undone.contains("driver: nvme override:"), "{text}");
    assert!(!undone.contains("tunerun-spdk-bind"), "{text}");
}

#[test]
fn a_driver_that_does_not_take_the_disk_leaves_it_where_it_was() {
    if !can() {
        return;
    }
    let bed = Bed::new();
    lsblk(&bed, "");
    playbook(&bed, "");
    let text = with_kernel(&bed, true, &format!("({PLAY}); echo ended $?; driver"));
    assert!(text.contains("ended 1") && text.contains("uio_pci_generic does not take it"), "{text}");
    assert!(text.contains("goes back to nvme") && text.contains("driver: nvme override:"), "{text}");
}

#[test]
fn what_is_not_blank_is_refused_with_the_way_out() {
    if !can() {
        return;
    }
    let bed = Bed::new();
    lsblk(&bed, ", \"pttype\": \"gpt\"");
    playbook(&bed, "");
    let text = with_kernel(&bed, false, &format!("({PLAY}); echo ended $?; driver"));
    assert!(text.contains("ended 1") && text.contains("partition table type gpt"), "{text}");
    assert!(text.contains("wipefs") && text.contains("driver: nvme"), "{text}");
    playbook(&bed, ", data: S3X1");
    let text = with_kernel(&bed, false, &format!("({PLAY}) || exit 1; driver"));
    assert!(text.contains("driver: uio_pci_generic"), "{text}");
}

#[test]
fn what_a_process_holds_open_is_left_alone() {
    if !can() {
        return;
    }
    let bed = Bed::new();
    lsblk(&bed, "");
    playbook(&bed, ", data: S3X1");
    // The act looks once more by itself: who opens the disk after the plan is not cut off.
    let row = modules::vocabulary::Row::new("pci-bind", ["0000:02:00.0", "uio_pci_generic"]);
    let act = modules::programs::command(&row).unwrap();
    fs::write(bed.root.join("act"), &act[2]).unwrap();
    let text = with_kernel(
        &bed,
        false,
        &format!(
            "{HELD}
             hold /dev/nvme0n1; ({PLAY}); echo ended $?; driver
             sh $BED/act $a uio_pci_generic 2>&1; echo acted $?; driver; let_go
             echo OTHER; hold /dev/nvme0n10; ({PLAY}) || exit 1; driver; let_go"
        ),
    );
    let (held, other) = text.split_once("OTHER").unwrap();
    assert!(held.contains("nvme0n1 is held open by sleep (process") && held.contains("ended 1"), "{text}");
    assert!(held.contains("a process holds nvme0n1 open by now") && held.contains("acted 1"), "{text}");
    assert_eq!(held.matches("driver: nvme ").count(), 2, "{text}");
    assert!(other.contains("driver: uio_pci_generic"), "{text}");
}

#[test]
fn the_unit_of_the_boot_binds_the_same_disk_and_no_other() {
    if !can() {
        return;
    }
    let bed = Bed::new();
    lsblk(&bed, "");
    playbook(&bed, "");
    // The line of the unit, as systemd would run it.
    let line = "l=$(grep ^ExecStart= /etc/systemd/system/tunerun-spdk-bind.service | sed 's/^ExecStart=//; s/[$][$]/\\\\$/g; s/%%/%/g')";
    let text = with_kernel(
        &bed,
        false,
        &format!(
            "({PLAY}) >/dev/null || exit 1; {line}
             echo $a > devices/$a/driver/unbind; while [ -e devices/$a/driver ]; do sleep 0.05; done
             echo > devices/$a/driver_override; echo $a > drivers_probe; while [ ! -e devices/$a/driver ]; do sleep 0.05; done
             echo BOOT; driver; for i in 1 2 3 4 5; do eval \"$l\" && break; sleep 0.3; done; driver
             echo $a > devices/$a/driver/unbind; while [ -e devices/$a/driver ]; do sleep 0.05; done
             echo > devices/$a/driver_override; echo $a > drivers_probe; while [ ! -e devices/$a/driver ]; do sleep 0.05; done
             echo OTHER > devices/$a/nvme/nvme0/serial; eval \"$l\"; echo ended $?; driver
             echo S3X1 > devices/$a/nvme/nvme0/serial; mkdir devices/$a/nvme/nvme0/nvme0n1/holders/dm-0; eval \"$l\"; echo ended $?; driver"
        ),
    );
    let booted = text.split_once("BOOT").unwrap().1;
    let lines: Vec<&str> =
        booted.lines().filter(|line| line.contains("driver: ") || line.contains("ended")).collect();
    assert!(lines[0].contains("nvme") && lines[1].contains("uio_pci_generic"), "{text}");
    assert!(text.contains("is another disk: OTHER") && text.contains("held by dm-0"), "{text}");
    assert_eq!(lines.iter().filter(|line| line.contains("ended 1")).count(), 2, "{text}");
    assert!(lines.last().unwrap().contains("driver: nvme"), "{text}");
}
