//! What is worth knowing about single arguments before they are booted: needless, foreign, coupled, dangerous.
use super::line::Line;
use super::memparse;
use super::table::{Isolation, switch};
use super::token::Token;
use crate::shape::CpuList;

/// Who made the processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vendor {
    /// `GenuineIntel`.
    Intel,
    /// `AuthenticAMD`, `HygonGenuine`.
    Amd,
    /// Anything else: Arm, Power …
    Other,
}

impl Vendor {
    /// Reads the vendor's name as the processor gives it (`lscpu`, `/proc/cpuinfo`).
    pub fn named(name: &str) -> Self {
        match name.trim() {
            "GenuineIntel" => Self::Intel,
            "AuthenticAMD" | "HygonGenuine" => Self::Amd,
            _ => Self::Other,
        }
    }
}

/// What the host tells that lints depend on. What is unknown silences the lints that need it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ground {
    /// Who made the processors.
    pub vendor: Option<Vendor>,
    /// Whether the kernel clears pages at allocation without being told (`CONFIG_INIT_ON_ALLOC_DEFAULT_ON`).
    pub init_on_alloc_default: Option<bool>,
    /// The same for `CONFIG_INIT_ON_FREE_DEFAULT_ON`.
    pub init_on_free_default: Option<bool>,
    /// How many CPUs the host has.
    pub cpus: Option<u32>,
}

/// One remark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lint {
    /// The argument as written.
    pub arg: String,
    /// What there is to know, one sentence.
    pub text: String,
}

/// On which processors an argument does anything.
#[derive(Clone, Copy, PartialEq, Eq)]
enum On {
    Any,
    Intel,
    Amd,
}

/// One argument that switches a protection of the processor off.
struct Protection {
    name: &'static str,
    /// The values that switch it off; empty: the flag itself does.
    off: &'static [&'static str],
    on: On,
    /// Whether `mitigations=off` does the same.
    covered: bool,
    /// Whether mainline kernels do not know it.
    foreign: bool,
}

const fn flag(name: &'static str, on: On) -> Protection {
    Protection { name, off: &[], on, covered: true, foreign: false }
}

const fn value(name: &'static str, off: &'static [&'static str], on: On) -> Protection {
    Protection { name, off, on, covered: true, foreign: false }
}

const fn vendor_kernel(name: &'static str) -> Protection {
    Protection { name, off: &[], on: On::Any, covered: true, foreign: true }
}

/// Arguments that weaken the processor's protections, and which of them `mitigations=off` implies.
/// Source: kernel admin-guide/kernel-parameters, entry `mitigations=`, and admin-guide/hw-vuln.
const PROTECTIONS: [Protection; 27] = [
    value("mitigations", &["off"], On::Any),
    flag("nospectre_v1", On::Any),
    flag("nospectre_v2", On::Any),
    flag("nospectre_bhb", On::Any),
    flag("nospec_store_bypass_disable", On::Any),
    value("spec_store_bypass_disable", &["off"], On::Any),
    value("spectre_v2", &["off"], On::Any),
    value("spectre_v2_user", &["off"], On::Any),
    value("spectre_bhi", &["off"], On::Intel),
    flag("nopti", On::Any),
    value("pti", &["off", "0"], On::Any),
    value("kpti", &["0"], On::Any),
    value("l1tf", &["off"], On::Intel),
    value("mds", &["off"], On::Intel),
    value("tsx_async_abort", &["off"], On::Intel),
    value("mmio_stale_data", &["off"], On::Intel),
    value("reg_file_data_sampling", &["off"], On::Intel),
    value("gather_data_sampling", &["off"], On::Intel),
    value("srbds", &["off"], On::Intel),
    value("retbleed", &["off"], On::Any),
    value("spec_rstack_overflow", &["off"], On::Amd),
    value("indirect_target_selection", &["off"], On::Intel),
    value("tsa", &["off"], On::Amd),
    value("kvm.nx_huge_pages", &["off", "0"], On::Intel),
    // mitigations=off sets `l1tf=off`; the flush at guest entry follows it unless it is set by itself.
    value("kvm_intel.vmentry_l1d_flush", &["never"], On::Intel),
    vendor_kernel("noibrs"),
    vendor_kernel("noibpb"),
];

/// Other arguments that take a protection away: name, values (empty: the flag), what is lost.
const WEAKENING: [(&str, &[&str], &str); 7] = [
    ("selinux", &["0"], "SELinux is off"),
    ("enforcing", &["0"], "SELinux only warns"),
    ("apparmor", &["0"], "AppArmor is off"),
    ("nokaslr", &[], "the kernel's addresses are not randomised"),
    ("nosmep", &[], "the kernel may run code of user space"),
    ("nosmap", &[], "the kernel may read memory of user space"),
    ("module.sig_enforce", &["0"], "unsigned kernel modules are loaded"),
];

/// What a line weakens: each argument with what is lost. Such arguments need `accept_risk: {security: …}`.
pub fn weakening(tokens: &[Token]) -> Vec<Lint> {
    let mut found = Vec::new();
    for token in tokens {
        let protection = protection(token).is_some().then_some("protections against processor flaws are off");
        let other =
            WEAKENING.iter().find(|(name, values, _)| token.key().as_str() == *name && says(token, values));
        if let Some(text) = protection.or(other.map(|(_, _, text)| *text)) {
            found.push(Lint { arg: token.raw().to_owned(), text: text.to_owned() });
        }
    }
    found
}

fn says(token: &Token, values: &[&str]) -> bool {
    match token.value() {
        None => values.is_empty(),
        Some(value) => values.contains(&value),
    }
}

fn protection(token: &Token) -> Option<&'static Protection> {
    PROTECTIONS.iter().find(|known| token.key().as_str() == known.name && says(token, known.off))
}

/// Remarks on the wished arguments as they would stand on the whole line.
pub fn lints(wished: &[Token], line: &Line, ground: &Ground) -> Vec<Lint> {
    let mut found = Vec::new();
    let all_off =
        line.last(&super::token::Key::of("mitigations")).is_some_and(|token| token.value() == Some("off"));
    for token in wished {
        let mut say = |text: String| found.push(Lint { arg: token.raw().to_owned(), text });
        if let Some(known) = protection(token) {
            foreign(known, ground, &mut say);
            if all_off && known.covered && known.name != "mitigations" && !known.foreign {
                say("is implied by `mitigations=off`, so it changes nothing".to_owned());
            }
        }
        match token.key().as_str() {
            "init_on_alloc" => default_of(token, ground.init_on_alloc_default, "INIT_ON_ALLOC", &mut say),
            "init_on_free" => default_of(token, ground.init_on_free_default, "INIT_ON_FREE", &mut say),
            "default_hugepagesz" => default_size(token, line, &mut say),
            "isolcpus" => isolation(token, ground, &mut say),
            "nohz_full" | "rcu_nocbs" => cpus(token, ground, &mut say),
            _ => {}
        }
    }
    found
}

/// Arguments that the early user space finds the root file system by.
const FINDS_ROOT: [&str; 8] =
    ["root", "rootflags", "rd.lvm.lv", "rd.lvm.vg", "rd.luks.uuid", "rd.md.uuid", "netroot", "boot"];

/// Remarks on what shall be absent though the host may need it to boot.
pub fn needed_to_boot(absent: &[Token]) -> Vec<Lint> {
    let needed = absent.iter().filter(|token| FINDS_ROOT.contains(&token.key().as_str()));
    let text = "may be what the root file system is found by; without it the host may not boot";
    needed.map(|token| Lint { arg: token.raw().to_owned(), text: text.to_owned() }).collect()
}

fn foreign(known: &Protection, ground: &Ground, say: &mut impl FnMut(String)) {
    if known.foreign {
        say("is a name of vendor kernels only; a mainline kernel logs it as unknown and does nothing"
            .to_owned());
    }
    let (maker, wanted) = match known.on {
        On::Any => return,
        On::Intel => ("Intel", Vendor::Intel),
        On::Amd => ("AMD", Vendor::Amd),
    };
    if ground.vendor.is_some_and(|vendor| vendor != wanted) {
        say(format!("does nothing here: it is for processors of {maker}, and this host has others"));
    }
}

fn default_of(token: &Token, default: Option<bool>, option: &str, say: &mut impl FnMut(String)) {
    if let (Some(wanted), Some(default)) = (token.value().and_then(switch), default)
        && wanted == default
    {
        let state = if default { "is set" } else { "is not set" };
        say(format!("changes nothing: CONFIG_{option}_DEFAULT_ON {state} in this kernel"));
    }
}

fn default_size(token: &Token, line: &Line, say: &mut impl FnMut(String)) {
    let (Some(text), Some(size)) = (token.value(), token.value().and_then(memparse::bytes)) else { return };
    if size > 2 << 20 {
        say("makes the kernel's plain huge page files (`vm.nr_hugepages`, HugePages_* of /proc/meminfo) speak of \
             this size: what sets 2 MiB pages through them will fail or take the wrong size"
            .to_owned());
    }
    let mut others = line.args.iter().filter(|other| other.key().as_str() == "hugepagesz");
    if others
        .any(|other| other.value() != Some(text) && other.value().and_then(memparse::bytes) == Some(size))
    {
        say("is spelt otherwise than the `hugepagesz` of the same size; one spelling is easier to search"
            .to_owned());
    }
}

fn isolation(token: &Token, ground: &Ground, say: &mut impl FnMut(String)) {
    let Some(isolation) = token.value().and_then(Isolation::read) else {
        return say("has a list of CPUs that the kernel cannot read".to_owned());
    };
    if !isolation.flags.contains("managed_irq") {
        say("keeps managed interrupts (NVMe and many network cards) on these CPUs; `managed_irq,domain,…` asks the \
             kernel to keep them away where it can"
            .to_owned());
    }
    range(&isolation.cpus, ground, say);
}

fn cpus(token: &Token, ground: &Ground, say: &mut impl FnMut(String)) {
    match token.value().map(CpuList::parse) {
        None if token.key().as_str() == "rcu_nocbs" => {}
        Some(Ok(cpus)) => {
            if token.key().as_str() == "nohz_full" && cpus.contains(0) {
                say("holds CPU 0, which most kernels keep for timekeeping: leave it out".to_owned());
            }
            range(&cpus, ground, say);
        }
        Some(Err(why)) if !matches!(token.value(), Some("all")) => say(format!("cannot be read: {why}")),
        _ => {}
    }
}

fn range(cpus: &CpuList, ground: &Ground, say: &mut impl FnMut(String)) {
    let Some(count) = ground.cpus else { return };
    if let Some(beyond) = cpus.iter().find(|cpu| *cpu >= count) {
        say(format!("names CPU {beyond}, but this host has {count}"));
    }
    if count > 0 && (0..count).all(|cpu| cpus.contains(cpu)) {
        say("names every CPU of this host, so none is left for the system itself".to_owned());
    }
}

/// Whether lints need to know how many CPUs there are.
pub fn asks_cpus(tokens: &[Token]) -> bool {
    tokens.iter().any(|token| matches!(token.key().as_str(), "isolcpus" | "nohz_full" | "rcu_nocbs"))
}

/// Whether lints need to know how the kernel was built.
pub fn asks_config(tokens: &[Token]) -> bool {
    tokens.iter().any(|token| matches!(token.key().as_str(), "init_on_alloc" | "init_on_free"))
}

/// Whether lints need to know who made the processors.
pub fn asks_vendor(tokens: &[Token]) -> bool {
    tokens.iter().filter_map(protection).any(|known| known.on != On::Any)
}
