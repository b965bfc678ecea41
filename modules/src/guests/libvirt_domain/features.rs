//! What is known of libvirt's features: which have no state, since when, on which machines, and which nobody has.
use crate::guests::virsh::Version;

/// Features that are there or not, without a state.
pub(super) const PLAIN: [&str; 5] = ["acpi", "apic", "pae", "privnet", "viridian"];

/// Names that libvirt drops without a word, and what to say instead.
const UNKNOWN: &[(&str, &str)] = &[
    ("pvsendipi", "`kvm/pv-ipi` is libvirt's name for paravirtual IPIs, since 7.10.0"),
    ("pv-ipi", "it stands below kvm: write `kvm/pv-ipi`"),
    ("hidden", "it stands below kvm: write `kvm/hidden`"),
    ("hint-dedicated", "it stands below kvm: write `kvm/hint-dedicated`"),
    ("poll-control", "it stands below kvm: write `kvm/poll-control`"),
    ("pvunhalt", "`pvspinlock` is libvirt's name for kvm-pv-unhalt"),
    ("kvm-pv-unhalt", "`pvspinlock` is libvirt's name for it"),
    ("nested", "it is a feature of the CPU, not of the machine: edit the CPU model"),
];

/// Features since which version of libvirt (formatdomain.html).
const SINCE: &[(&str, Version)] = &[
    ("pvspinlock", Version(1, 1, 0)),
    ("vmport", Version(1, 2, 16)),
    ("gic", Version(1, 2, 16)),
    ("smm", Version(2, 1, 0)),
    ("ioapic", Version(3, 4, 0)),
    ("vmcoreinfo", Version(4, 4, 0)),
    ("msrs", Version(5, 1, 0)),
    ("kvm/hint-dedicated", Version(5, 7, 0)),
    ("kvm/poll-control", Version(6, 10, 0)),
    ("kvm/pv-ipi", Version(7, 10, 0)),
    ("kvm/dirty-ring", Version(8, 0, 0)),
];

/// Features of x86 machines alone.
const X86: &[&str] =
    &["pvspinlock", "hap", "ioapic", "pae", "apic", "vmport", "smm", "kvm", "hyperv", "viridian"];

/// Features that libvirt has (its schema of 9.0), for finding slips.
const NAMES: &[&str] = &[
    "acpi",
    "apic",
    "capabilities",
    "ccf-assist",
    "cfpc",
    "gic",
    "hap",
    "hpt",
    "htm",
    "hyperv",
    "ibs",
    "ioapic",
    "kvm",
    "msrs",
    "nested-hv",
    "pae",
    "pmu",
    "privnet",
    "pvspinlock",
    "sbbc",
    "smm",
    "tcg",
    "viridian",
    "vmcoreinfo",
    "vmport",
    "xen",
    "kvm/dirty-ring",
    "kvm/hidden",
    "kvm/hint-dedicated",
    "kvm/poll-control",
    "kvm/pv-ipi",
];

/// Why a feature cannot be had, with the way out.
pub(super) fn refusal(name: &str, libvirt: Option<Version>) -> Option<(String, String)> {
    if let Some((_, hint)) = UNKNOWN.iter().find(|(unknown, _)| *unknown == name) {
        return Some((
            format!(
                "`{name}` is no feature that libvirt has: older ones drop the element without a word, newer ones refuse it"
            ),
            (*hint).to_owned(),
        ));
    }
    let (_, since) = SINCE.iter().find(|(known, _)| *known == name)?;
    let libvirt = libvirt.filter(|libvirt| libvirt < since)?;
    Some((
        format!(
            "`{name}` is known to libvirt since {since}, and the host has {libvirt}: it would be dropped"
        ),
        "leave it out, or bring a newer libvirt".to_owned(),
    ))
}

/// A name that nobody here knows, with the nearest that libvirt has.
pub(super) fn stranger(name: &str) -> Option<String> {
    if NAMES.contains(&name) || name.starts_with("hyperv/") || name.starts_with("xen/") {
        return None;
    }
    let near = crate::argument::nearest(name, NAMES.iter().copied());
    let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    Some(format!(
        "`{name}` is not in libvirt's list of features{near} It is tried, and read back after the define"
    ))
}

/// Whether a feature is for x86 machines alone.
pub(super) fn is_x86(name: &str) -> bool {
    let first = name.split('/').next().unwrap_or(name);
    X86.contains(&first)
}

/// The attribute that a feature's single word is.
pub(super) fn main_attribute(name: &str) -> &'static str {
    match name {
        "ioapic" => "driver",
        "gic" => "version",
        "hpt" => "resizing",
        "msrs" => "unknown",
        "cfpc" | "sbbc" | "ibs" => "value",
        _ => "state",
    }
}
