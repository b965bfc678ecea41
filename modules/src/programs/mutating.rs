//! The table of programs that change something.
use super::guests::{CYCLE, START};
use super::{Program, SCRIPT};

/// Binds a PCI device to a driver by its name alone: `new_id` would take every device of the same kind. The override
/// stays for drivers in user space, so that a disk that is plugged in again does not go back to the kernel. Where
/// the driver does not take it, the device is given back to the one that it had.
const PCI_BIND: &str = r#"d=/sys/bus/pci/devices/$1; [ -e "$d" ] || { echo "there is no PCI device $1" >&2; exit 1; }
now() { c=none; [ ! -e "$d/driver" ] || { c=$(readlink "$d/driver"); c=${c##*/}; }; }
to() { now; [ "$c" != "$1" ] || return 0; [ "$c" = none ] || echo "$a" >"$d/driver/unbind" || return 1
case $1 in none) echo >"$d/driver_override"; return;; *) echo "$1" >"$d/driver_override" || return 1;; esac
i=0; while echo "$a" >/sys/bus/pci/drivers_probe; now; [ "$c" != "$1" ] && [ $i -lt 10 ]; do i=$((i+1)); sleep 0.5; done
case $1 in vfio-pci|uio_pci_generic|igb_uio) ;; *) echo >"$d/driver_override";; esac; [ "$c" = "$1" ]; }
used() { for b in "$d"/nvme/nvme*/nvme*n* "$d"/virtio*/block/*; do [ -e "$b" ] || continue
n=$(echo "${b##*/}" | sed 's/c[0-9]*n/n/'); case $n in *[0-9]) p=p;; *) p=;; esac; e="/dev/$n($p[0-9]+)?"
for h in "$b"/holders/* "$b"/*/holders/* /sys/class/block/"$n"/holders/* /sys/class/block/"$n"/*/holders/*; do
[ ! -e "$h" ] || { echo "$n is held by ${h##*/}"; return; }; done
if grep -Eqs "^$e[[:space:]]" /proc/mounts /proc/swaps; then echo "$n is mounted or swapped to"; return; fi
if ls -ln /proc/[0-9]*/fd 2>/dev/null | grep -Eq -e "-> $e\$"; then echo "a process holds $n open"; return; fi; done; }
a=$1; now; was=$c; case $2 in "$c") ;; vfio-pci|uio_pci_generic|igb_uio) u=$(used)
[ -z "$u" ] || { echo "$a: $u by now; it stays where it is" >&2; exit 1; };; esac
to "$2" || { now; echo "$a is driven by $c, and $2 does not take it; it goes back to $was" >&2; to "$was"; exit 1; }"#;

/// Where udev runs it reads its rules again, and what it has to do is waited for; it looks at its files by itself only
/// every few seconds.
const UDEV_SETTLED: &str =
    "[ -S /run/udev/control ] || exit 0; udevadm control --reload && { udevadm settle --timeout=60 || :; }";

/// Programs that change a host. Their look and their way back are the module's, which the contract suite proves.
pub const MUTATING: &[Program] = &[
    Program::new("systemctl-start", &["systemctl", "start", "--"], "starts units"),
    Program::new("systemctl-stop", &["systemctl", "stop", "--"], "stops units"),
    Program::new("systemctl-restart", &["systemctl", "restart", "--"], "stops and starts units"),
    Program::new("systemctl-reload", &["systemctl", "reload", "--"], "lets units read their settings again"),
    Program::new("systemctl-enable", &["systemctl", "enable", "--"], "starts units at boot"),
    Program::new("systemctl-disable", &["systemctl", "disable", "--"], "does not start units at boot"),
    Program::new("systemctl-mask", &["systemctl", "mask", "--"], "makes units impossible to start"),
    Program::new("systemctl-unmask", &["systemctl", "unmask", "--"], "makes units possible to start"),
    Program::new("systemctl-daemon-reload", &["systemctl", "daemon-reload"], "systemd reads its units again"),
    Program::new("systemctl-daemon-reexec", &["systemctl", "daemon-reexec"], "systemd starts itself again"),
    Program::new("sysctl-load", &["sysctl", "-q", "-p"], "sets what a sysctl file says"),
    Program::new(
        "udev-settled",
        &["sh", "-c", UDEV_SETTLED, "udev-settled"],
        "lets udev read its rules again, and waits until it is done with its events",
    ),
    Program::new("pci-bind", &["sh", "-c", PCI_BIND, "pci-bind"], "binds a PCI device to a driver"),
    Program::new("ethtool-set-features", &["ethtool", "-K"], "changes what a network card does by itself"),
    Program::new("ethtool-set-channels", &["ethtool", "-L"], "changes how many queues a network card has"),
    Program::new(
        "ip-link",
        &["ip", "link"],
        "makes, changes and takes away network cards of the kernel's own",
    ),
    Program::new("ip-tuntap", &["ip", "tuntap"], "makes and takes away taps"),
    Program::new(
        "smt-control",
        &["sh", "-c", "printf %s \"$1\" > /sys/devices/system/cpu/smt/control", "smt-control"],
        "turns the second threads of all cores on or off",
    ),
    Program::new("tuned-adm-profile", &["tuned-adm", "profile"], "lets TuneD apply profiles"),
    Program::new("tuned-adm-off", &["tuned-adm", "off"], "lets TuneD take its tunings back"),
    Program::new("modprobe", &["modprobe", "--"], "loads a kernel module"),
    Program::new("modprobe-remove", &["modprobe", "-r", "--"], "unloads a kernel module"),
    Program::new(
        "apt-get-install",
        &["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-q", "-y"],
        "installs Debian packages",
    ),
    Program::new(
        "apt-get-remove",
        &["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "remove", "-q", "-y", "--"],
        "removes Debian packages",
    ),
    Program::new(
        "apt-get-purge",
        &["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "purge", "-q", "-y", "--"],
        "removes Debian packages with their configuration",
    ),
    Program::new("dnf-makecache", &["dnf", "-q", "makecache"], "fetches the lists of RPM packages"),
    Program::new("apt-get-update", &["apt-get", "update", "-q"], "fetches the lists of Debian packages"),
    Program::new("dnf-install", &["dnf", "-y", "-q", "install"], "installs RPM packages"),
    Program::new("dnf-remove", &["dnf", "-y", "-q", "remove", "--"], "removes RPM packages"),
    Program::new("update-grub", &["update-grub"], "makes Debian's grub.cfg again"),
    Program::new("grub-mkconfig", &["grub-mkconfig", "-o"], "makes a grub.cfg again"),
    Program::new("grub2-mkconfig", &["grub2-mkconfig", "-o"], "makes a grub.cfg again"),
    Program::new(
        "grub2-mkconfig-bls",
        &["grub2-mkconfig", "--update-bls-cmdline", "-o"],
        "makes a grub.cfg and the boot entries' arguments again",
    ),
    Program::new("grub-editenv", &["grub-editenv"], "changes a variable of GRUB's environment block"),
    Program::new("grub2-editenv", &["grub2-editenv"], "changes a variable of GRUB's environment block"),
    Program::new(
        "bootctl-set-oneshot",
        &["bootctl", "set-oneshot"],
        "lets systemd-boot boot an entry once; an empty name takes that back",
    ),
    Program::new("grubby", &["grubby"], "changes the arguments of boot entries"),
    Program::new(
        "proxmox-boot-refresh",
        &["proxmox-boot-tool", "refresh"],
        "copies kernels and their arguments to Proxmox' boot partitions",
    ),
    Program::new("kernel-install-add-all", &["kernel-install", "add-all"], "makes the boot entries again"),
    Program::new("update-initramfs", &["update-initramfs", "-u"], "makes the initial file system again"),
    Program::new("reboot", &["systemctl", "reboot", "--no-wall"], "boots the host"),
    Program::new(
        "virsh-define",
        &["timeout", "-k", "5", "60", "virsh", "-q", "define", "/dev/stdin"],
        "defines a domain from the XML that is its input",
    ),
    Program::new(
        "virsh-define-checked",
        &["timeout", "-k", "5", "60", "virsh", "-q", "define", "--validate", "/dev/stdin"],
        "the same, checked by libvirt's schema first",
    ),
    Program::new("guest-power-cycle", CYCLE, "shuts a guest down, waits until it is off, and starts it"),
    Program::new("guest-start", START, "starts a guest that is off"),
    Program::new("command", &[], "a command that a person wrote"),
    Program::new("shell", &["sh", "-c"], "shell text that a person wrote"),
    Program::new("script", SCRIPT, "a script that a person wrote; its text is the input"),
    Program::new("shell-by", &[], "shell text that a person wrote, by an interpreter that they named"),
];
