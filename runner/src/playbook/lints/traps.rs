//! Known traps of tuning storage hosts, found in the texts of commands and files.
use super::said::{Said, is_command, said};
use crate::diagnostic::{Diagnostic, Problems};
use crate::playbook::tree::Task;

/// A trap that a text shows by itself.
struct Trap {
    /// All of these are in the text.
    with: &'static [&'static str],
    /// None of these is.
    without: &'static [&'static str],
    /// What is wrong.
    what: &'static str,
    /// What to do instead.
    instead: &'static str,
}

const fn trap(
    with: &'static [&'static str],
    without: &'static [&'static str],
    what: &'static str,
    instead: &'static str,
) -> Trap {
    Trap { with, without, what, instead }
}

const TRAPS: &[Trap] = &[
    trap(
        &["pvsendipi"],
        &[],
        "libvirt has no feature `pvsendipi`: it drops the element without a word",
        "leave it out; `libvirt_domain` reads back what libvirt kept and fails by name",
    ),
    trap(
        &["setup.sh"],
        &["PCI_ALLOWED", "reset", "status"],
        "SPDK's setup.sh without an allow list takes every drive that it knows, and nothing of it survives a boot",
        "use `spdk_setup`, which takes only the drives that are named and unused, or set PCI_ALLOWED",
    ),
    trap(&["tunctl"], &[], "a tap made by hand is gone after a boot", "use `bridge_tap`, which keeps it"),
    trap(
        &["brctl addif"],
        &[],
        "a bridge's port made by hand is gone after a boot",
        "use `bridge_tap`, which keeps it",
    ),
    trap(
        &["vfio-pci"],
        &[],
        "a driver bound by hand is the kernel's own again after a boot",
        "use `spdk_setup`, which keeps it and refuses drives that are in use",
    ),
    trap(
        &["> /proc/sys/"],
        &[],
        "a value written to /proc/sys is gone after a boot",
        "use `sysctl`, which also keeps it and says which file wins",
    ),
    trap(
        &["xps_cpus"],
        &[],
        "values of queues are gone after a boot and on queues made later; a card with one queue refuses them",
        "use `nic_queues`",
    ),
    trap(
        &["smp_affinity"],
        &[],
        "numbers of interrupts change over boots, managed ones refuse the write, and irqbalance moves them again",
        "use `irq_affinity`, which names queues, reads back what the hardware took and keeps it over boots",
    ),
    trap(
        &["default_hugepagesz=1GB"],
        &[],
        "`1GB` and `1G` are one size: written in two ways they look like two",
        "write `1G` in both places",
    ),
    trap(
        &["GRUB_CMDLINE_LINUX=\""],
        &["$GRUB_CMDLINE_LINUX"],
        "the whole variable is written over: `root=`, `console=` and what others set there are lost",
        "use `kernel_args`, which changes only the arguments that are named",
    ),
    trap(
        &["--root-password password:"],
        &[],
        "a password on a command line is in the list of processes, the shell's history and the log",
        "use a key, or `password:file:FILE`",
    ),
    trap(
        &["hostfwd=tcp::"],
        &[],
        "the forwarded port listens on every address of the host",
        "write the address: `hostfwd=tcp:127.0.0.1:2222-:22`",
    ),
    trap(
        &["rbd_cache"],
        &[],
        "librbd's option does not reach guests of QEMU: its drives say their own",
        "set `cache=none` on each drive too: `libvirt_domain` or `qemu_args`",
    ),
    trap(
        &["_mode = secure"],
        &[],
        "one mode of Ceph's connections alone may lock daemons and clients out, without a word",
        "use `ceph_msgr_mode`, which offers both first and proves live connections",
    ),
    trap(
        &["ethtool -K", "rx"],
        &[],
        "rx checksums may have been off for a reason: a card that passes broken packets is fast too",
        "use `nic_offload` with `integrity_probe`, which compares what arrives before it counts",
    ),
    trap(
        &["mkfs"],
        &[],
        "a file system is made over whatever is there",
        "use `filesystem`, which refuses a device with a signature",
    ),
    trap(
        &["pvcreate"],
        &[],
        "a physical volume is made over whatever is there",
        "use `lvm_pv`, which refuses a device with a signature",
    ),
    trap(
        &["lvcreate", "-Zn"],
        &[],
        "without zeroing, a new volume shows what another tenant left in its blocks",
        "use `lvm_thin_pool` with `zero: false` and say why that is accepted",
    ),
    trap(
        &["vhost_create_", "--cpumask"],
        &[],
        "whether that core runs is known to the target alone: one may have been asked for and not started",
        "use `spdk_vhost`, which asks the target for its reactors",
    ),
    trap(
        &["taskset"],
        &[],
        "affinity of one process is gone with it; pinning helped reads and cost writes where it was measured",
        "use `cpu_affinity` or `cputune`, and measure reads and writes",
    ),
];

/// Traps that a task's texts show.
pub(super) fn traps(task: &Task) -> Problems {
    let mut problems = Problems::new();
    for said in said(task) {
        for trap in TRAPS {
            let has = |part: &&str| said.text.contains(*part);
            if trap.with.iter().all(&has) && !trap.without.iter().any(has) {
                problems.push(warn(&said, trap.what).help(trap.instead));
            }
        }
        problems.extend(mitigations(&said));
        problems.extend(thin_pool_key(&said));
        problems.extend(malloc_blocks(&said));
        if is_command(task) {
            problems.extend(unset_names(&said));
            problems.extend(overwriting(&said));
        }
    }
    problems
}

/// Things that contradict each other over tasks.
pub(super) fn contradictions(tasks: &[&Task]) -> Problems {
    let mut none = None;
    let mut writeback = None;
    for task in tasks {
        for said in said(task) {
            let text = said.text.to_ascii_lowercase().replace(['\'', '"'], "");
            if text.contains("cache=none") {
                none.get_or_insert(said.node.span.clone());
            }
            if text.contains("writeback") {
                writeback.get_or_insert(said.node.span.clone());
            }
        }
    }
    let (Some(_), Some(writeback)) = (none, writeback) else { return Problems::new() };
    vec![
        Diagnostic::warning("disks are asked for without cache, and with a write-back cache too", writeback)
            .help("choose one: a write-back cache loses what was not written when power goes"),
    ]
}

fn warn(said: &Said<'_>, what: impl Into<String>) -> Diagnostic {
    Diagnostic::warning(what.into(), said.node.span.clone())
}

/// Arguments that `mitigations=off` holds already, or that fit other kernels and processors.
fn mitigations(said: &Said<'_>) -> Option<Diagnostic> {
    let words: Vec<&str> = said.text.split_whitespace().map(|word| word.trim_matches(['"', '\\'])).collect();
    words.iter().find(|word| **word == "mitigations=off")?;
    let named = |list: &[&'static str]| -> Vec<&'static str> {
        list.iter().copied().filter(|name| words.contains(name)).collect()
    };
    let redundant =
        named(&["nospec_store_bypass_disable", "spectre_v2=off", "spectre_v2_user=off", "nopti", "l1tf=off"]);
    let vendors = named(&["noibrs", "noibpb"]);
    let makers = named(&["kvm-intel.vmentry_l1d_flush=never", "spec_rstack_overflow=off"]);
    let mut reasons = Vec::new();
    for (names, why) in [
        (redundant, "held already by `mitigations=off`"),
        (vendors, "known only to vendors' kernels"),
        (makers, "for one maker's processors"),
    ] {
        if !names.is_empty() {
            reasons.push(format!("{}: {why}", names.join(", ")));
        }
    }
    if reasons.is_empty() {
        return None;
    }
    let reasons = reasons.join("; ");
    Some(
        warn(said, reasons)
            .help("use `kernel_args: {args: {mitigations: \"off\"}}` and accept the risk by name"),
    )
}

/// Keys of lvm.conf that stand outside of their section.
fn thin_pool_key(said: &Said<'_>) -> Option<Diagnostic> {
    let bare = said.text.lines().map(str::trim_start).any(|line| line.starts_with("thin_pool_"));
    let section = ["allocation {", "allocation/", "allocation{"].iter().any(|part| said.text.contains(part));
    (bare && !section).then(|| {
        warn(said, "keys of lvm.conf count only inside of their section: these belong to `allocation`")
            .help("use `lvm_conf: {settings: {allocation/thin_pool_chunk_size: 4096}}`, which is checked by lvmconfig")
    })
}

/// Block sizes that a guest's disk cannot have.
fn malloc_blocks(said: &Said<'_>) -> Option<Diagnostic> {
    let (_, rest) = said.text.split_once("bdev_malloc_create ")?;
    let size: u64 = rest.split_whitespace().nth(1)?.parse().ok()?;
    (size != 512 && size != 4096).then(|| {
        warn(said, format!("a guest shows a disk with blocks of {size} bytes with 0 bytes"))
            .help("blocks of 512 or 4,096 bytes; `spdk_vhost` refuses others")
    })
}

/// Names in arithmetic that the text never sets: they count as 0.
fn unset_names(said: &Said<'_>) -> Option<Diagnostic> {
    let mut unset: Vec<&str> = Vec::new();
    for part in said.text.split("$((").skip(1) {
        let inside = part.split("))").next().unwrap_or_default();
        for name in inside.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_')) {
            let is_name = name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
            let set =
                [format!("{name}="), format!("for {name} "), format!("read {name}"), format!("{{{{ {name}")]
                    .iter()
                    .any(|way| said.text.contains(way.as_str()));
            if is_name && !set && !unset.contains(&name) {
                unset.push(name);
            }
        }
    }
    (!unset.is_empty()).then(|| {
        warn(said, format!("nothing sets {}: in arithmetic it counts as 0", unset.join(", ")))
            .help("set it, or use a module that computes it from the host's topology")
    })
}

/// fio that writes to a whole disk.
fn overwriting(said: &Said<'_>) -> Option<Diagnostic> {
    let writes =
        ["--rw=write", "--rw=randwrite", "--rw=randrw", "rw=write"].iter().any(|way| said.text.contains(way));
    let disk =
        ["--filename=/dev/", "--name=/dev/", "filename=/dev/"].iter().any(|way| said.text.contains(way));
    (said.text.contains("fio") && writes && disk).then(|| {
        warn(said, "fio overwrites a whole disk or partition")
            .help("name a file, or check before it that the partition holds no signature and is not mounted")
    })
}
