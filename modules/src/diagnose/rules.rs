//! The visible table of rules: what is seen, which tuning answers it, why, and what that may cost.
use super::case::Case;
use super::samples::Symbol;
use super::{drafts, signs};
use crate::draft::Draft;

/// Whose work symbols are looked for in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// The kernel's, for whomever.
    Kernel,
    /// Programs'.
    Programs,
    /// That of threads of Ceph's messenger, in daemons and clients.
    Messengers,
    /// That of guests' processes outside the guest: QEMU's own threads and those of its libraries.
    Guests,
}

/// How a rule sees what it is about.
#[derive(Clone, Copy)]
pub(super) enum Sign {
    /// Functions whose names begin so have at least this share of the work, in percent.
    Symbols {
        /// How the names begin.
        names: &'static [&'static str],
        /// Whose work.
        of: Whose,
        /// The least share, in percent of what was not idle.
        least: f64,
    },
    /// Something else is so: a line for each thing that shows it, none where it is not so.
    Seen(fn(&Case) -> Vec<String>),
}

/// One rule.
pub(super) struct Rule {
    /// Its name.
    pub name: &'static str,
    /// What is the matter, one sentence.
    pub what: &'static str,
    /// How it is seen.
    pub sign: Sign,
    /// The module that says the tuning; empty where none does.
    pub module: &'static str,
    /// The tuning, as an engineer writes it.
    pub tuning: &'static str,
    /// Why it helps.
    pub why: &'static str,
    /// Who measured it.
    pub source: &'static str,
    /// What it may cost.
    pub cost: &'static str,
    /// Why the tuning cannot be the answer on this host, where that can be told.
    pub unless: fn(&Case) -> Option<String>,
    /// The tasks.
    pub drafts: fn(&Case) -> Vec<Draft>,
    /// Whether the tasks are for somewhere else than this host.
    pub is_elsewhere: bool,
    /// Where, in words.
    pub place: &'static str,
}

/// A rule that was met.
pub(super) struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// The figures.
    pub evidence: Vec<String>,
    /// Why the tuning is not the answer here.
    pub instead: Option<String>,
    /// The tasks.
    pub drafts: Vec<Draft>,
}

fn never(_: &Case) -> Option<String> {
    None
}

fn nothing(_: &Case) -> Vec<Draft> {
    Vec::new()
}

/// What rules are made from.
const PLAIN: Rule = Rule {
    name: "",
    what: "",
    sign: Sign::Seen(|_| Vec::new()),
    module: "",
    tuning: "",
    why: "",
    source: "",
    cost: "",
    unless: never,
    drafts: nothing,
    is_elsewhere: false,
    place: "",
};

/// The account of a Ceph cluster on cloud machines with 200 Gb/s cards.
const NETWORK: &str = "an account of tuning Ceph's network and CPUs on cloud machines";
/// The account of one guest of QEMU on a cluster of 30 OSDs.
const GUESTS: &str = "ceph.io, \"QEMU/KVM tuning\" (2022)";

/// All rules, in the order in which findings are told.
pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "page_clearing",
        what: "the kernel clears pages",
        sign: Sign::Symbols {
            names: &["clear_page", "kernel_init_pages", "__clear_pages", "kernel_init_free_pages"],
            of: Whose::Kernel,
            least: 3.0,
        },
        module: "kernel_args",
        tuning: "init_on_alloc=0",
        why: "with init_on_alloc every page is cleared when it is given out, for each packet that is received too: the CPUs \
              that serve interrupts were full of it, and receiving got clearly better without",
        source: NETWORK,
        cost: "a hardening of the kernel is given up: old content of memory may be seen through bugs; felt after a reboot",
        unless: drafts::clears_for_programs,
        drafts: drafts::init_on_alloc,
        ..PLAIN
    },
    Rule {
        name: "checksums",
        what: "the kernel computes checksums of packets itself",
        sign: Sign::Symbols { names: &["csum_partial", "do_csum"], of: Whose::Kernel, least: 2.0 },
        module: "nic_offload",
        tuning: "receive checksums by the card",
        why: "a card that checks what it receives spares the kernel that work: the symbol was gone from the profile afterwards",
        source: NETWORK,
        cost: "in the source it had been off because a card marked damaged packets as good: an integrity probe is needed, a \
               benchmark does not see it",
        unless: drafts::checksums_are_on,
        drafts: drafts::rx_checksum,
        ..PLAIN
    },
    Rule {
        name: "paravirtual_locks",
        what: "the kernel of this guest waits for locks by the hypervisor's help",
        sign: Sign::Symbols {
            names: &["__pv_queued_spin_lock_slowpath", "pv_wait", "__pv_queued_spin_unlock_slowpath"],
            of: Whose::Kernel,
            least: 1.0,
        },
        module: "libvirt_domain",
        tuning: "pvspinlock off for this guest, on its hypervisor",
        why: "without pvspinlock the guest spins by itself, and lets an idle CPU halt without an exit; the symbol was gone \
              from the profile afterwards",
        source: NETWORK,
        cost: "where the hypervisor gives out more CPUs than it has, waiting CPUs burn the time of others; felt after a power \
               cycle of the guest",
        drafts: drafts::pvspinlock,
        is_elsewhere: true,
        place: "it is for the hypervisor of this guest",
        ..PLAIN
    },
    Rule {
        name: "page_allocator",
        what: "cards' buffers are taken from and given back to the page allocator",
        sign: Sign::Symbols {
            names: &[
                "rmqueue",
                "__rmqueue",
                "free_pcppages_bulk",
                "get_page_from_freelist",
                "free_unref_page",
            ],
            of: Whose::Kernel,
            least: 5.0,
        },
        module: "sysctl",
        tuning: "net.core.high_order_alloc_disable = 1",
        why: "buffers of single pages keep away from the allocator's lock at high bandwidth",
        source: NETWORK,
        cost: "the source saw slightly less CPU and unchanged hot spots: judge it by a benchmark",
        drafts: drafts::high_order,
        ..PLAIN
    },
    Rule {
        name: "allocator_in_qemu",
        what: "QEMU spends its time on memory of libc",
        sign: Sign::Symbols {
            names: &[
                "_int_malloc",
                "_int_free",
                "malloc_consolidate",
                "malloc",
                "cfree",
                "unlink_chunk",
                "sysmalloc",
                "arena_get",
                "tcache_",
                "__libc_malloc",
                "__libc_free",
                "operator new",
            ],
            of: Whose::Guests,
            least: 3.0,
        },
        module: "libvirt_domain",
        tuning: "TCMalloc for QEMU, by LD_PRELOAD",
        why: "librbd makes and frees many small objects in many threads, which TCMalloc does better than libc: 53.5k became \
              80.0k IOPS (another setting changed with it)",
        source: GUESTS,
        cost: "a library that neither the distribution's tests nor its AppArmor profile know; felt after a power cycle",
        unless: drafts::allocators_are_other,
        drafts: drafts::tcmalloc,
        ..PLAIN
    },
    Rule {
        name: "encryption",
        what: "Ceph's messenger encrypts",
        sign: Sign::Symbols {
            names: &[
                "_aesni_ctr32_ghash_6x",
                "aesni_gcm",
                "aes_gcm",
                "gcm_ghash",
                "ossl_aes_gcm",
                "vaes_gcm",
                "EVP_DecryptUpdate",
                "EVP_EncryptUpdate",
                "aesni_ctr32",
                "CRYPTO_gcm128",
            ],
            of: Whose::Messengers,
            least: 5.0,
        },
        module: "ceph_msgr_mode",
        tuning: "what the secure mode of the messenger costs",
        why: "each thread of the messenger spent 14 % and more on AES-GCM, and one guest's reads fell from 123k to 87k IOPS \
              in secure mode",
        source: GUESTS,
        cost: "`crc` gives confidentiality on the wire up: only where the network is trusted. More messenger threads cost CPU \
               instead",
        drafts: drafts::more_messengers,
        is_elsewhere: true,
        place: "it is for the cluster, and clients take it when they start",
        ..PLAIN
    },
    Rule {
        name: "full_messengers",
        what: "threads of Ceph's messenger fill their CPUs",
        sign: Sign::Seen(signs::messengers),
        module: "ceph_config",
        tuning: "ms_async_op_threads",
        why: "all three threads of one guest's librbd were at 100 %: more of them may raise what a single client gets",
        source: GUESTS,
        cost: "more CPU and more contention; the source names it and did not measure it: judge it by a benchmark",
        drafts: drafts::more_messengers,
        is_elsewhere: true,
        place: "it is for the cluster, and daemons and clients take it when they start",
        ..PLAIN
    },
    Rule {
        name: "copying_on_few_cpus",
        what: "programs copy memory, on few CPUs",
        sign: Sign::Symbols {
            names: &[
                "__memmove_",
                "__memcpy_",
                "__pi_mem",
                "memcpy",
                "memmove",
                "copy_user",
                "rep_movs_alternative",
                "_copy_to_iter",
                "_copy_from_iter",
                "copyout",
                "copyin",
            ],
            of: Whose::Programs,
            least: 10.0,
        },
        module: "cpu_affinity",
        tuning: "the program on CPUs that share a third-level cache, or on one NUMA node",
        why: "copies within one cache are cheaper: reads got much better on the 16 CPUs of one cache",
        source: NETWORK,
        cost: "writes stayed or fell where the server side was pinned so too: judge reads and writes both; felt when the unit \
               starts again",
        unless: drafts::copies_everywhere,
        drafts: drafts::one_cache,
        ..PLAIN
    },
    Rule {
        name: "interrupts_on_one_cpu",
        what: "the interrupts of all queues of a card come to one CPU",
        sign: Sign::Seen(signs::one_cpu),
        module: "irq_affinity",
        tuning: "one CPU for each queue",
        why: "the CPU that serves all queues is full before the card is",
        source: NETWORK,
        cost: "these CPUs have less time for programs; irqbalance must leave them alone",
        drafts: drafts::spread,
        ..PLAIN
    },
    Rule {
        name: "interrupts_on_one_node",
        what: "the interrupts of a card with many queues come to one NUMA node",
        sign: Sign::Seen(signs::one_node),
        module: "irq_affinity",
        tuning: "half of the queues on each node, where the card has a port or path to each",
        why: "with both halves of the machine serving, 290 to 300 Gb/s went through both ways",
        source: NETWORK,
        cost: "a card with one port on one node is served best by its own node: compare with `place: local`",
        drafts: drafts::split,
        ..PLAIN
    },
    Rule {
        name: "single_queue",
        what: "one CPU receives for a card that has a single queue",
        sign: Sign::Seen(signs::one_queue),
        module: "nic_queues",
        tuning: "RPS: other CPUs take packets over",
        why: "the CPU that was interrupted gives packets to others before it is full",
        source: "the kernel's Documentation/networking/scaling.rst",
        cost: "a wake-up of another CPU for each packet: with as many queues as CPUs the sources turn it off",
        drafts: drafts::rps,
        ..PLAIN
    },
    Rule {
        name: "serving_cpus",
        what: "CPUs do little but serve interrupts",
        sign: Sign::Seen(signs::serving),
        module: "cpu_isolation",
        tuning: "CPUs that serve interrupts are left to them (isolcpus, nohz_full, rcu_nocbs)",
        why: "programs that the scheduler puts there wait for interrupts, and interrupts for them",
        source: NETWORK,
        cost: "these CPUs are lost to programs; felt after a reboot",
        drafts: drafts::isolation,
        ..PLAIN
    },
    Rule {
        name: "full_main_loop",
        what: "the main loop of a guest's QEMU is full",
        sign: Sign::Seen(signs::main_loops),
        module: "libvirt_domain",
        tuning: "an I/O thread of its own for the disk",
        why: "the disk is served beside the main loop: 24.9k became 26.0k IOPS, and more once the cache was off",
        source: GUESTS,
        cost: "one more busy thread; felt after a power cycle of the guest",
        drafts: drafts::iothread,
        ..PLAIN
    },
    Rule {
        name: "kernel_threads",
        what: "threads of the kernel fill their CPUs",
        sign: Sign::Seen(signs::kernel_threads),
        tuning: "none by itself: what they work for is the question",
        why: "ksoftirqd receives what interrupts put off, vhost serves one guest's card, kswapd and kcompactd look for memory, \
              kworkers do what drivers and file systems put off",
        source: "the kernel's Documentation/admin-guide/kernel-per-CPU-kthreads.rst",
        ..PLAIN
    },
    Rule {
        name: "far_memory",
        what: "memory is taken from other NUMA nodes",
        sign: Sign::Seen(signs::far_memory),
        module: "cpu_affinity",
        tuning: "the busiest program with its memory on one NUMA node",
        why: "client on one node and interrupts over both made reads and writes better",
        source: NETWORK,
        cost: "the program has half of the CPUs and of the memory; felt when the unit starts again",
        drafts: drafts::one_node,
        ..PLAIN
    },
    Rule {
        name: "mitigations",
        what: "the kernel works around flaws of the processor",
        sign: Sign::Symbols {
            names: &[
                "srso_",
                "retbleed",
                "zen_untrain_ret",
                "entry_ibpb",
                "__x86_indirect_thunk",
                "entry_untrain_ret",
                "clear_bhb_loop",
            ],
            of: Whose::Kernel,
            least: 5.0,
        },
        module: "kernel_args",
        tuning: "mitigations=off",
        why: "single cores and single streams of small I/O got a little better",
        source: NETWORK,
        cost: "guests and programs may read what is not theirs: only where all of them are trusted; felt after a reboot",
        unless: drafts::mitigations_are_off,
        drafts: drafts::mitigations,
        ..PLAIN
    },
    Rule {
        name: "stolen_time",
        what: "the hypervisor takes time away from this guest",
        sign: Sign::Seen(signs::stolen),
        tuning: "none in the guest: fewer guests, or CPUs of its own (`cputune`) on the hypervisor",
        why: "what is measured here while that is so says little of the tunings of this host",
        source: "proc(5), steal",
        is_elsewhere: true,
        place: "it is for the hypervisor of this guest",
        ..PLAIN
    },
    Rule {
        name: "waiting_for_memory",
        what: "programs wait for memory",
        sign: Sign::Seen(signs::waiting_for_memory),
        tuning: "fewer huge pages, a smaller osd_memory_target or smaller guests",
        why: "what is promised together is more than there is, or nearly: `tunerun plan` tells the sum where a task adds to it",
        source: "the kernel's Documentation/accounting/psi.rst",
        ..PLAIN
    },
];

/// The rules that a host meets.
pub(super) fn judged(case: &Case) -> Vec<Finding> {
    let met = |rule: &'static Rule| {
        let evidence = match rule.sign {
            Sign::Symbols { names, of, least } => symbols(case, names, of, least),
            Sign::Seen(seen) => seen(case),
        };
        if evidence.is_empty() {
            return None;
        }
        let instead = (rule.unless)(case);
        let drafts = if instead.is_some() { Vec::new() } else { (rule.drafts)(case) };
        Some(Finding { rule, evidence, instead, drafts })
    };
    RULES.iter().filter_map(met).collect()
}

/// Whether a name begins so; `malloc` alone does not mean `malloc_trim`.
fn begins(name: &str, begin: &str) -> bool {
    let name = name.split('@').next().unwrap_or(name);
    match begin {
        "malloc" | "memcpy" | "memmove" | "rmqueue" => {
            name == begin || name.starts_with(&format!("{begin}."))
        }
        _ => name.starts_with(begin),
    }
}

fn is_of(case: &Case, symbol: &Symbol, of: Whose) -> bool {
    let is_messenger = symbol.thread.starts_with("msgr-worker");
    let guests = || {
        case.samples.threads.iter().any(|thread| thread.name == symbol.thread && case.is_of_guest(thread))
            || symbol.thread.starts_with("qemu")
    };
    match of {
        Whose::Kernel => symbol.is_kernel,
        // The kernel copies for programs too.
        Whose::Programs => true,
        Whose::Messengers => is_messenger && !symbol.is_kernel,
        Whose::Guests => !symbol.is_kernel && guests(),
    }
}

fn symbols(case: &Case, names: &[&str], of: Whose, least: f64) -> Vec<String> {
    let meant =
        |symbol: &&Symbol| names.iter().any(|begin| begins(&symbol.name, begin)) && is_of(case, symbol, of);
    let found: Vec<&Symbol> = case.samples.symbols.iter().filter(meant).collect();
    let share: f64 = found.iter().map(|symbol| symbol.share).sum();
    if share < least {
        return Vec::new();
    }
    let mut lines = vec![format!("{share:.1} % of the work")];
    lines.extend(found.iter().take(4).map(|symbol| {
        format!("{:.1} % in {} ({}, {})", symbol.share, symbol.name, symbol.thread, symbol.object)
    }));
    lines
}
