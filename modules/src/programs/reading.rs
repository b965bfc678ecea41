//! The table of read-only programs.
use super::guests::PROCESS;
use super::{Program, SCRIPT};

/// Properties of a unit that state and evidence are read from.
const UNIT: &[&str] = &[
    "systemctl",
    "show",
    "--no-pager",
    "--property=Id,LoadState,ActiveState,SubState,UnitFileState,MainPID,NeedDaemonReload,FragmentPath,DropInPaths,\
     ActiveEnterTimestampMonotonic,ExecMainStartTimestampMonotonic,Result,CanReload,Type,RemainAfterExit",
    "--",
];

/// Programs that look and never change anything.
pub const READING: &[Program] = &[
    Program::new("systemctl-show", UNIT, "state of units as properties"),
    Program::new(
        "systemctl-active",
        &["systemctl", "show", "--no-pager", "--property=ActiveState", "--"],
        "whether a unit runs",
    ),
    Program::new(
        "systemctl-runs",
        &[
            "sh",
            "-c",
            "if systemctl is-active --quiet -- \"$1\"; then echo yes; else echo no; fi",
            "systemctl-runs",
        ],
        "whether a unit runs, yes or no: one that failed to start does not",
    ),
    Program::new(
        "systemctl-unit-file-state",
        &["systemctl", "show", "--no-pager", "--property=UnitFileState", "--"],
        "whether a unit starts at boot",
    ),
    Program::new(
        "systemctl-started-at",
        &[
            "systemctl",
            "show",
            "--no-pager",
            "--property=ExecMainStartTimestampMonotonic,ActiveEnterTimestampMonotonic",
            "--",
        ],
        "when a unit was started, in microseconds since boot",
    ),
    Program::new(
        "systemctl-unit-files",
        &["systemctl", "list-unit-files", "--no-pager", "--no-legend", "--plain"],
        "which units are installed and enabled",
    ),
    Program::new(
        "systemctl-units",
        &["systemctl", "list-units", "--no-pager", "--no-legend", "--plain", "--all", "--type=service"],
        "which services are loaded",
    ),
    Program::new(
        "systemctl-need-reload",
        &["systemctl", "show", "--no-pager", "--property=NeedDaemonReload", "*"],
        "whether systemd holds units older than their files",
    ),
    Program::new("grub-probe", &["grub-probe"], "what a path lies on, as GRUB would have to read it"),
    Program::new("grub2-probe", &["grub2-probe"], "what a path lies on, as GRUB would have to read it"),
    Program::new(
        "grub-next-entry",
        &["grep", "-a", "-s", "-h", "-x", "-e", "next_entry=..*", "--"],
        "which entry GRUB boots once",
    ),
    Program::new("systemctl-is-system-running", &["systemctl", "is-system-running"], "whether systemd is up"),
    Program::new(
        "dpkg-query",
        &[
            "dpkg-query",
            "--show",
            "--showformat=${binary:Package}\\t${Version}\\t${db:Status-Abbrev}\\t${Architecture}\\n",
        ],
        "installed Debian packages",
    )
    .of_files(&["/var/lib/dpkg"]),
    Program::new(
        "dpkg-installed",
        &[
            "dpkg-query",
            "--show",
            "--showformat=${Package} ${db:Status-Status}\\n${Package}=${Version} ${db:Status-Status}\\n",
            "--",
        ],
        "whether Debian packages are installed, and in which version",
    )
    .of_files(&["/var/lib/dpkg"]),
    Program::new(
        "rpm-installed",
        &[
            "rpm",
            "-q",
            "--queryformat",
            "%{NAME} installed\\n%{NAME}=%|EPOCH?{%{EPOCH}:}|%{VERSION}-%{RELEASE} installed\\n",
            "--",
        ],
        "whether RPM packages are installed, and in which version",
    )
    .of_files(&["/var/lib/rpm", "/usr/lib/sysimage/rpm"]),
    Program::new(
        "dnf-candidates",
        &["dnf", "-q", "-C", "repoquery", "--latest-limit=1", "--queryformat", "%{name}\\t%{evr}\\n", "--"],
        "candidates of RPM packages in the lists that the host has",
    ),
    Program::new("apt-policy", &["apt-cache", "policy"], "candidates of Debian packages").of_files(&[
        "/var/lib/dpkg",
        "/var/lib/apt",
        "/etc/apt",
    ]),
    Program::new(
        "rpm-query",
        &["rpm", "-q", "--queryformat", "%{NAME}\\t%{EPOCH}\\t%{VERSION}\\t%{RELEASE}\\t%{ARCH}\\n"],
        "installed RPM packages",
    )
    .of_files(&["/var/lib/rpm", "/usr/lib/sysimage/rpm"]),
    Program::new("uname", &["uname"], "kernel, architecture and host name"),
    Program::new("hostname", &["hostname"], "names of the host"),
    Program::new("getent", &["getent"], "users, groups and hosts as the host resolves them").of_files(&[
        "/etc/passwd",
        "/etc/group",
        "/etc/hosts",
        "/etc/nsswitch.conf",
    ]),
    Program::new("id", &["id"], "who acts"),
    Program::new("modinfo", &["modinfo"], "what a kernel module is, and whether there is one"),
    Program::new(
        "modprobe-dry",
        &["modprobe", "--dry-run", "--first-time"],
        "whether a module could be loaded",
    ),
    Program::new("getenforce", &["getenforce"], "SELinux's mode"),
    Program::new("ip-address", &["ip", "-json", "address", "show"], "network cards and addresses"),
    Program::new(
        "net-link",
        &[
            "sh",
            "-c",
            "d=/sys/class/net/$1; f=$(cat \"$d/flags\") || exit 1; m=$(readlink \"$d/master\"); \
             echo \"master=${m##*/}\"; echo \"up=$((f & 1))\"",
            "net-link",
        ],
        "which bridge or bond a network card belongs to, and whether it is up",
    ),
    Program::new("ethtool-features", &["ethtool", "-k"], "what a network card does by itself"),
    Program::new("ethtool-channels", &["ethtool", "-l"], "how many queues a network card has, and may have"),
    Program::new("tuned-adm-active", &["tuned-adm", "active"], "TuneD's active profile"),
    Program::new("ip-route", &["ip", "-json", "route", "show"], "routes"),
    Program::new("ip6-route", &["ip", "-6", "-json", "route", "show"], "IPv6 routes"),
    Program::new(
        "lsblk",
        &["lsblk", "--json", "--bytes", "--output-all"],
        "block devices, their holders and signatures",
    ),
    Program::new("lscpu", &["lscpu", "--json"], "processors and their topology"),
    Program::new(
        "pci-driver",
        &[
            "sh",
            "-c",
            "d=/sys/bus/pci/devices/$1; [ -e \"$d\" ] || exit 1; c=none; \
             [ ! -e \"$d/driver\" ] || { c=$(readlink \"$d/driver\") || exit 1; c=${c##*/}; }; echo \"$c\"",
            "pci-driver",
        ],
        "the driver of a PCI device; `none` where it has none",
    ),
    Program::new("findmnt", &["findmnt", "--json", "--bytes", "--real"], "mounts"),
    Program::new(
        "mounts",
        &[
            "findmnt",
            "--json",
            "--bytes",
            "--real",
            "--list",
            "--output=TARGET,SOURCE,FSTYPE,OPTIONS,SIZE,AVAIL,UUID",
        ],
        "mounts with their sizes",
    ),
    Program::new("environment", &["env", "-0"], "variables of the host's shell"),
    Program::new("date", &["date"], "the host's date, by a format"),
    Program::new("find", &["find"], "files below folders; the arguments are made by the module that asks"),
    Program::new(
        "kernel-config-init",
        &["grep", "-hs", "-E", "^CONFIG_INIT_ON_(ALLOC|FREE)_DEFAULT_ON=", "--"],
        "whether a kernel was built to clear memory by itself",
    ),
    Program::new("grub-editenv-list", &["grub-editenv", "-", "list"], "GRUB's environment block"),
    Program::new("grubby-info", &["grubby", "--info=ALL"], "boot entries as grubby sees them"),
    Program::new(
        "stat-fs",
        &["stat", "-f", "-c", "%a %S %T"],
        "free blocks, block size and type of a file system",
    ),
    Program::new(
        "port",
        &["bash", "-c", "exec 3<>\"/dev/tcp/$1/$2\"", "port"],
        "whether a TCP port answers, by bash",
    ),
    Program::new(
        "virsh-list",
        &["timeout", "-k", "5", "30", "virsh", "-q", "list", "--all", "--persistent", "--uuid", "--name"],
        "persistent domains of a libvirt, uuid and name",
    ),
    Program::new(
        "virsh-list-active",
        &["timeout", "-k", "5", "30", "virsh", "-q", "list", "--uuid"],
        "uuids of the domains that run",
    ),
    Program::new(
        "virsh-domid",
        &["timeout", "-k", "5", "30", "virsh", "-q", "domid", "--domain"],
        "the number of a domain since it was started last; none where it is off",
    ),
    Program::new(
        "virsh-version",
        &["timeout", "-k", "5", "30", "virsh", "-q", "version"],
        "versions of libvirt and QEMU",
    ),
    Program::new(
        "virsh-xml",
        &["timeout", "-k", "5", "30", "virsh", "-q", "dumpxml", "--security-info", "--domain"],
        "what a running domain was started with",
    ),
    Program::new(
        "virsh-xml-inactive",
        &["timeout", "-k", "5", "30", "virsh", "-q", "dumpxml", "--inactive", "--security-info", "--domain"],
        "what a domain is started with next",
    ),
    Program::new(
        "qemu-process",
        PROCESS,
        "arguments, linker variables, libraries, huge pages and CPUs of a running QEMU",
    ),
    Program::new("probe", &[], "a command that its author declared a read"),
    Program::new("probe-script", SCRIPT, "a script that its author declared a read"),
    Program::new("probe-shell", &["sh", "-c"], "shell text that its author declared a read"),
];
