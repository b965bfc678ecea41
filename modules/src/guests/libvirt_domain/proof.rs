//! The proofs that a running guest has what its definition says.
use super::seeing::Domain;
use super::wants::size_of;
use super::wish::{Feature, Hugepages};
use super::{LibvirtDomain, hugepages};
use crate::guests::process::Process;
use crate::guests::virsh::Version;
use crate::shape::{CpuList, size_text};
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

/// What is proven of a domain. `is_written` says whether its definition is as asked for already; the version is QEMU's.
pub(super) fn evidence(
    task: &LibvirtDomain,
    domain: &Domain,
    wants: &[Want],
    (is_written, qemu): (bool, Option<Version>),
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
    let told = [
        arguments(task, process, qemu),
        huge(task, process, live),
        pins(task, process),
        libraries(task, process),
    ];
    for (what, live, seen) in told.concat() {
        let what = format!("{}: {what}", domain.name);
        all.push(Evidence::told(what, proof(), (live, is_written), seen, until));
    }
    all
}

/// What is told, whether it is so, what was seen.
type Told = (String, bool, String);

/// What QEMU's arguments tell.
fn arguments(task: &LibvirtDomain, process: &Process, qemu: Option<Version>) -> Vec<Told> {
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
    for (option, value) in task.qemu_arguments(qemu) {
        let mark = value.unwrap_or(option);
        tell(&format!("QEMU was started with {mark}"), &mark);
    }
    told
}

/// Whether the guest's memory is huge pages, by what the kernel has mapped.
fn huge(task: &LibvirtDomain, process: &Process, live: &str) -> Vec<Told> {
    let Some(mapped) = process.huge.filter(|_| hugepages::asked(task)) else { return Vec::new() };
    let memory = Document::parse(live).ok().and_then(|document| size_of(document.root(), "memory"));
    let pages = task.memory_backing.as_ref().and_then(|backing| backing.hugepages.as_ref());
    // Some nodes alone may be made of them.
    let is_part = matches!(pages, Some(Hugepages::Pages(pages)) if pages.nodeset.is_some());
    let needed = memory.filter(|_| !is_part).unwrap_or(1).max(1);
    let seen = format!("{} of huge pages are mapped into QEMU", size_text(mapped));
    vec![("the guest's memory is huge pages".to_owned(), mapped >= needed, seen)]
}

/// Which CPUs the pinned threads may run on. A virtual CPU that is not plugged in has no thread.
fn pins(task: &LibvirtDomain, process: &Process) -> Vec<Told> {
    let Some(tune) = &task.cputune else { return Vec::new() };
    let of_guest = tune.vcpupin.iter().map(|(threads, cpus)| (threads, cpus, "CPU "));
    let of_disks = tune.iothreadpin.iter().map(|(threads, cpus)| (threads, cpus, "IO iothread"));
    let mut told = Vec::new();
    for (threads, cpus, kind) in of_guest.chain(of_disks) {
        let (Ok(threads), Ok(cpus)) = (CpuList::parse(threads), CpuList::parse(&cpus.text())) else {
            continue;
        };
        for number in threads.iter() {
            let name = format!("{kind}{number}");
            let own = |other: &str| other.split('/').next() == Some(name.as_str());
            let Some(thread) = process.threads.iter().find(|thread| own(&thread.name)) else { continue };
            let seen = format!("{} may run on CPU {}", thread.name, thread.cpus);
            told.push((format!("{name} runs on CPU {cpus}"), thread.cpus == cpus, seen));
        }
    }
    told
}

/// What the linker has mapped.
fn libraries(task: &LibvirtDomain, process: &Process) -> Vec<Told> {
    match task.environment.get("LD_PRELOAD") {
        Some(Some(preload)) => process.preloaded(&preload.text()),
        _ => Vec::new(),
    }
}
