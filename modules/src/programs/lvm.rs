//! The tables of LVM's programs. Reports are asked for field by field, in bytes, one field a line.
use super::Program;

/// A report: `LVM2_FIELD=value` lines, sizes in bytes. Messages are in English, so that "not found" can be told from
/// "not allowed": both end with status 5.
macro_rules! report {
    ($program:literal, $fields:literal $(, $more:literal)*) => {
        &[
            "env", "LC_ALL=C", "LVM_SUPPRESS_FD_WARNINGS=1", $program, "--noheadings", "--nameprefixes", "--unquoted",
            "--rows", "--units", "b", "--nosuffix", "-o", $fields $(, $more)*
        ]
    };
}

macro_rules! call {
    ($($word:literal),+) => { &["env", "LC_ALL=C", "LVM_SUPPRESS_FD_WARNINGS=1", $($word),+] };
}

/// What LVM says, without changing anything.
pub(super) const READING: &[Program] = &[
    kept(Program::new(
        "lvm-pv",
        report!("pvs", "pv_fmt,vg_name", "--"),
        "whether a device is LVM's, and in which group",
    )),
    kept(Program::new(
        "lvm-pv-used",
        report!("pvs", "pv_name,pv_used", "--"),
        "how much of a device volumes use",
    )),
    kept(Program::new(
        "lvm-vg",
        report!("vgs", "vg_extent_size,vg_tags", "--"),
        "extent size and tags of a group",
    )),
    kept(Program::new(
        "lvm-vg-room",
        report!("vgs", "vg_extent_count,vg_free_count,vg_missing_pv_count,vg_exported", "--"),
        "extents of a group, free ones, and what is missing",
    )),
    kept(Program::new(
        "lvm-vg-names",
        call!("vgs", "--noheadings", "-o", "vg_name"),
        "names of the volume groups",
    )),
    kept(Program::new(
        "lvm-groups",
        &[
            "env",
            "LC_ALL=C",
            "LVM_SUPPRESS_FD_WARNINGS=1",
            "vgs",
            "--noheadings",
            "--nameprefixes",
            "--unquoted",
            "--units",
            "b",
            "--nosuffix",
            "-o",
            "vg_name,vg_extent_size",
        ],
        "all volume groups with their extent sizes, a line each",
    )),
    kept(Program::new(
        "lvm-volumes",
        &[
            "env",
            "LC_ALL=C",
            "LVM_SUPPRESS_FD_WARNINGS=1",
            "lvs",
            "--noheadings",
            "--nameprefixes",
            "--unquoted",
            "--units",
            "b",
            "--nosuffix",
            "--binary",
            "-o",
            "vg_name,lv_name,lv_layout,lv_size,pool_lv,origin,lv_read_ahead,chunk_size,zero",
        ],
        "all volumes with their geometry, a line each",
    )),
    kept(Program::new("lvm-vg-tags", report!("lvs", "lv_tags", "--"), "tags of a group's volumes")),
    kept(Program::new("lvm-vg-disks", report!("pvs", "pv_name", "--select"), "devices of a group")),
    kept(Program::new(
        "lvm-vg-extent-fits",
        call!("vgchange", "--test", "-s"),
        "whether a group could have another extent size: LVM's own dry run",
    )),
    kept(Program::new(
        "lvm-lv",
        report!("lvs", "lv_layout,lv_size,pool_lv,origin", "--"),
        "what a volume is, its size, pool and origin",
    )),
    kept(Program::new(
        "lvm-lv-read-ahead",
        report!("lvs", "lv_read_ahead", "--"),
        "a volume's read-ahead as it is kept",
    )),
    kept(Program::new(
        "lvm-lv-live",
        report!("lvs", "lv_kernel_read_ahead,lv_active", "--"),
        "a volume's read-ahead as the kernel has it",
    )),
    kept(Program::new(
        "lvm-pool",
        report!("lvs", "lv_layout,lv_size,chunk_size,zero,discards,thin_count", "--binary", "--"),
        "chunk size, zeroing and discards of a thin pool",
    )),
    Program::new(
        "lvmconfig-value",
        call!("lvmconfig", "--type", "full", "--"),
        "a setting of LVM as it counts, defaults included",
    )
    .of_files(&["/etc/lvm"]),
    kept(Program::new(
        "lvmconfig-known",
        call!("lvmconfig", "--typeconfig", "list"),
        "the settings that this LVM knows",
    )),
];

/// What LVM's programs change.
pub(super) const MUTATING: &[Program] = &[
    // `-y` is not given: where LVM would ask, the answer is no.
    Program::new(
        "pvcreate",
        call!("pvcreate", "-q", "--"),
        "makes a device a physical volume; never over a signature",
    ),
    Program::new(
        "pvremove",
        call!("pvremove", "-q", "--"),
        "takes LVM's label off a device that no group uses",
    ),
    Program::new("vgcreate", call!("vgcreate"), "makes a volume group"),
    Program::new("vgremove", call!("vgremove", "--"), "removes a volume group that holds no volumes"),
    Program::new("vgextend", call!("vgextend", "--"), "adds physical volumes to a group"),
    Program::new("vgreduce", call!("vgreduce", "--"), "takes an unused physical volume out of a group"),
    Program::new("vgchange-extent-size", call!("vgchange", "-s"), "changes the extent size of a group"),
    Program::new(
        "lvcreate",
        call!("lvcreate", "-y"),
        "makes a volume; what was left in the free extents is wiped",
    ),
    Program::new("lvextend", call!("lvextend", "-y"), "makes a volume larger"),
    Program::new("lvchange", call!("lvchange"), "changes a property of a volume"),
    Program::new("lvremove", call!("lvremove", "-y", "--"), "removes a volume with what it holds"),
    Program::new(
        "lvremove-unsigned",
        &["sh", "-c", LVREMOVE_UNSIGNED, "lvremove"],
        "removes a volume that holds no file system, no partitions, and no thin volumes",
    ),
    Program::new(
        "lvmdevices-add",
        call!("lvm", "lvmdevices", "--adddev"),
        "adds a device to LVM's devices file",
    ),
    Program::new(
        "lvmdevices-remove",
        call!("lvm", "lvmdevices", "--deldev"),
        "takes a device out of LVM's devices file",
    ),
];

/// What a person has put on a volume since is not taken away with it.
const LVREMOVE_UNSIGNED: &str = "export LC_ALL=C LVM_SUPPRESS_FD_WARNINGS=1; d=/dev/$1; \
    if [ -b \"$d\" ]; then s=$(blkid -p -s TYPE -s PTTYPE -o value -- \"$d\" | tr '\\n' ' '); \
    if [ -n \"$s\" ]; then echo \"$d is not empty: it holds $s; take that away first\" >&2; exit 1; fi; fi; \
    t=$(lvs --noheadings -o thin_count -- \"$1\" 2>/dev/null | tr -d ' '); \
    if [ \"${t:-0}\" != 0 ]; then echo \"$1 is not empty: it holds $t thin volumes; take them away first\" >&2; exit 1; fi; \
    exec lvremove -y -- \"$1\"";

/// LVM's metadata outlives a reboot.
const fn kept(mut program: Program) -> Program {
    program.volatile = false;
    program
}
