//! The table of programs that change something.
use super::guests::{CYCLE, START};
use super::{Program, SCRIPT};

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
