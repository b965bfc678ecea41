//! The tables of programs on disks, file systems and mounts.
use super::Program;

/// What is on disks, and what is mounted.
pub(super) const READING: &[Program] = &[
    Program::new(
        "block-device",
        &["lsblk", "--json", "--bytes", "--output", "NAME,KNAME,TYPE,SIZE,MOUNTPOINT,FSTYPE", "--"],
        "a block device with what holds it and where it is mounted",
    ),
    kept(Program::new(
        "signatures",
        &["wipefs", "--no-act", "--parsable", "--"],
        "every signature on a device",
    )),
    // Without this output a device holds nothing: status 2.
    kept(Program::new(
        "device-content",
        &["blkid", "-p", "-s", "TYPE", "-s", "PTTYPE", "-o", "value", "--"],
        "what a device holds: a file system, LVM's label, a partition table",
    )),
    Program::new(
        "pci-disk-openers",
        &["sh", "-c", OPENERS, "openers"],
        "processes that hold the disks of a PCI device open",
    ),
    Program::new(
        "mounted",
        &["findmnt", "--noheadings", "--raw", "--output", "SOURCE,FSTYPE,OPTIONS", "--mountpoint"],
        "what is mounted at a path",
    ),
    Program::new(
        "mounted-from",
        &["findmnt", "--noheadings", "--raw", "--output", "FSTYPE", "--source"],
        "whether a source is mounted at a path",
    ),
    Program::new(
        "mount-options",
        &[
            "sh",
            "-c",
            "findmnt --noheadings --raw --output OPTIONS --mountpoint \"$1\" | tr , '\\n'",
            "mount-options",
        ],
        "the options that a mount has, one a line",
    ),
];

/// Lists who holds the disks of a PCI device or their partitions open: DEVICE PROCESS NAME, one a line. The argument is
/// its address; 4 where processes cannot be looked at. A disk of `nvme0n1` has partitions `nvme0n1p1`, one of `vda`
/// `vda1`; `nvme0c1n1` is a path of `nvme0n1`.
const OPENERS: &str = r#"d=/sys/bus/pci/devices/$1
for b in "$d"/nvme/nvme*/nvme*n* "$d"/virtio*/block/*; do [ -e "$b" ] || continue
b=$(echo "${b##*/}" | sed 's/c[0-9]*n/n/'); case $b in *[0-9]) p=p;; *) p=;; esac
ls -ln /proc/[0-9]*/fd 2>/dev/null |
  sed -n -E -e 's#^/proc/([0-9]+)/fd:$#P \1#p' -e "s#^.* -> (/dev/$b($p[0-9]+)?)\$#D \1#p" | {
  n=
  while read -r k v; do case $k in
    P) n=$v s= ;;
    D) [ -n "$s" ] || { s=1; read -r c 2>/dev/null <"/proc/$n/comm" || c=gone; echo "$v $n $c"; } ;;
  esac; done
  [ -n "$n" ]
} || exit 4
done"#;

/// What is made on disks, and mounted.
pub(super) const MUTATING: &[Program] = &[
    // Without `-f`: mkfs itself refuses what holds something.
    Program::new("mkfs.xfs", &["mkfs.xfs", "-q"], "makes an XFS file system; never over another"),
    Program::new("mkfs.ext4", &["mkfs.ext4", "-q"], "makes an ext4 file system; never over another"),
    Program::new("mkfs.ext3", &["mkfs.ext3", "-q"], "makes an ext3 file system; never over another"),
    Program::new("mkfs.ext2", &["mkfs.ext2", "-q"], "makes an ext2 file system; never over another"),
    Program::new("mkswap", &["mkswap"], "makes a swap area; never over anything"),
    Program::new(
        "wipefs-empty",
        &["sh", "-c", WIPEFS_EMPTY, "wipefs"],
        "takes the signatures off a file system that holds no files",
    ),
    Program::new("mount", &["mount"], "mounts a file system"),
    Program::new("umount", &["umount", "--"], "unmounts a file system that nobody uses"),
];

/// A new ext file system uses eleven inodes, a new XFS three of its first 64.
const WIPEFS_EMPTY: &str = "export LC_ALL=C; \
    case $(blkid -p -s TYPE -o value -- \"$1\") in \
    ext*) n=$(dumpe2fs -h -- \"$1\" 2>/dev/null | awk -F: '/^Inode count/ {a=$2} /^Free inodes/ {f=$2} END {print a-f-11}');; \
    xfs) n=$(xfs_db -r -c 'sb 0' -c 'p icount ifree' \"$1\" | awk '/^icount/ {a=$3} /^ifree/ {f=$3} END {print a-f-3}');; \
    swap) n=0;; \
    *) echo \"whether $1 holds files cannot be told: wipefs -a $1 takes its signatures away\" >&2; exit 1;; esac; \
    if [ \"$n\" != 0 ]; then echo \"$1 is not empty: it holds ${n:-unknown} files; move them away first\" >&2; exit 1; fi; \
    exec wipefs --all --quiet -- \"$1\"";

/// Outlives a reboot.
const fn kept(mut program: Program) -> Program {
    program.volatile = false;
    program
}
