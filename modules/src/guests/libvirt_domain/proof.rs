//! The proofs that a running guest has what its definition says.
use super::LibvirtDomain;
use super::seeing::Domain;
use super::wish::{Feature, Hugepages};
use crate::guests::process::Process;
use crate::vocabulary::{Effect, Evidence};
use crate::xml::{Document, Want};

/// Elements that a running guest shows as they are now, not as it was started.
const MOVING: [&str; 1] = ["currentMemory"];

/// What a running guest was not started with; none where it has all of it.
pub(super) fn unfelt(live: &str, wants: &[Want]) -> Option<String> {
    let Ok(document) = Document::parse(live) else { return Some("its XML cannot be read".to_owned()) };
    let faults: Vec<String> = wants
        .iter()
        .filter(|want| want.route.parts().last().is_none_or(|part| !MOVING.contains(&part.name.as_str())))
        .filter_map(|want| want.fault(document.root()))
        .collect();
    (!faults.is_empty()).then(|| faults.join("; "))
}

/// What is proven of a domain. `is_written` says whether its definition is as asked for already.
pub(super) fn evidence(
    task: &LibvirtDomain,
    domain: &Domain,
    wants: &[Want],
    is_written: bool,
) -> Vec<Evidence> {
    let what = format!("{} runs with {}", domain.name, task.knobs().join(", "));
    let proof = format!("virsh dumpxml {}", domain.uuid);
    let Some(live) = &domain.live else {
        return vec![Evidence::not_available(what, proof, "it is off; it is felt when it is started")];
    };
    let unfelt = unfelt(live, wants);
    let seen = unfelt.clone().unwrap_or_else(|| "the running XML has it".to_owned());
    let until = Effect::GuestPowerCycle;
    let mut all = vec![Evidence::told(what, proof, (unfelt.is_none(), is_written), seen, until)];
    let Some(process) = &domain.process else { return all };
    let proof = || format!("/proc/PID of /run/libvirt/qemu/{}.pid", domain.name);
    for (what, live, seen) in arguments(task, process).into_iter().chain(libraries(task, process)) {
        let what = format!("{}: {what}", domain.name);
        all.push(Evidence::told(what, proof(), (live, is_written), seen, until));
    }
    all
}

/// What QEMU's arguments tell: what, whether it is so, what was seen.
fn arguments(task: &LibvirtDomain, process: &Process) -> Vec<(String, bool, String)> {
    let mut told = Vec::new();
    let find = |mark: &str| process.arguments.iter().find(|argument| argument.contains(mark)).cloned();
    let mut tell = |what: &str, mark: &str| {
        let seen = find(mark);
        let words = seen.clone().unwrap_or_else(|| format!("no argument holds `{mark}`"));
        told.push((what.to_owned(), seen.is_some(), words));
    };
    let off = match task.features.get("pvspinlock") {
        Some(Feature::Switch(on)) => Some(!on),
        Some(Feature::Word(word)) => Some(word.text() == "off"),
        _ => None,
    };
    if off == Some(true) {
        tell("QEMU was started without paravirtual spin locks", "kvm-pv-unhalt=off");
    }
    if task.iothreads.is_some_and(|count| count > 0) {
        tell("QEMU has an I/O thread", "iothread");
    }
    let backing = task.memory_backing.as_ref();
    if backing.is_some_and(|backing| {
        matches!(backing.hugepages, Some(Hugepages::Switch(true) | Hugepages::Pages(_)))
    }) {
        tell("the guest's memory is made of huge pages", "huge");
    }
    for (option, value) in task.qemu_arguments() {
        let mark = value.unwrap_or(option);
        tell(&format!("QEMU was started with {mark}"), &mark);
    }
    told
}

/// What the linker has mapped.
fn libraries(task: &LibvirtDomain, process: &Process) -> Vec<(String, bool, String)> {
    match task.environment.get("LD_PRELOAD") {
        Some(Some(preload)) => process.preloaded(&preload.text()),
        _ => Vec::new(),
    }
}
