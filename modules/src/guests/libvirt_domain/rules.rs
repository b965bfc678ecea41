//! What must hold of a domain as it will be: mistakes that QEMU or libvirt would find only at the next start.
use super::LibvirtDomain;
use super::disks::{all, bus, driver, find, target};
use super::problem::{Kind, Problems};
use super::wants::QEMU;
use super::wish::Cache;
use crate::guests::virsh::Version;
use crate::xml::{Part, Route, text_of};
use roxmltree::Node;

/// Checks the domain as it will be.
pub(super) fn check(
    task: &LibvirtDomain,
    after: Node<'_, '_>,
    qemu: Option<Version>,
    problems: &mut Problems,
) {
    let vcpus = number(after, "vcpu").unwrap_or(1);
    drivers(task, after, problems);
    iothreads(task, after, problems);
    queues(task, after, vcpus, problems);
    topology(task, after, vcpus, problems);
    vhost_user(task, after, problems);
    discard(task, after, qemu, problems);
    unused_pins(task, after, vcpus, problems);
}

/// The number that an element below the root holds.
pub(super) fn number(root: Node<'_, '_>, name: &str) -> Option<u32> {
    text_of(Part::new(name).of(root)?).parse().ok()
}

/// `io: native` hands requests to the kernel, which takes them asynchronously only past its cache: QEMU refuses to
/// start otherwise.
fn drivers(task: &LibvirtDomain, after: Node<'_, '_>, problems: &mut Problems) {
    for wish in &task.disks {
        let Ok(disk) = find(wish, after) else { continue };
        let cache = driver(disk, "cache").unwrap_or("default");
        if driver(disk, "io") == Some("native") && !matches!(cache, "none" | "directsync") {
            let why = format!("{} has io native with cache {cache}: QEMU would not start it", target(disk));
            let way = "set `cache: none` or `cache: directsync` on the disk, or `io: threads`";
            problems.add(Kind::Mistake, "disks", &why, way);
        }
        if wish.cache == Some(Cache::None) && wish.io.is_none() && driver(disk, "io") == Some("threads") {
            problems.note(format!(
                "{} keeps io threads with cache none; native may be faster on block devices: measure both",
                target(disk)
            ));
        }
    }
}

fn iothreads(task: &LibvirtDomain, after: Node<'_, '_>, problems: &mut Problems) {
    let asked = task.iothreads.is_some() || task.disks.iter().any(|disk| disk.iothread.is_some());
    if !asked {
        return;
    }
    let declared = number(after, "iothreads").unwrap_or(0);
    let controllers = Part::new("devices").of(after).into_iter().flat_map(|devices| {
        devices.children().filter(|node| node.has_tag_name("controller")).collect::<Vec<_>>()
    });
    let mut used: Vec<u32> = Vec::new();
    for device in all(after).into_iter().chain(controllers) {
        let Some(thread) = driver(device, "iothread").and_then(|text| text.parse::<u32>().ok()) else {
            continue;
        };
        let name = if device.has_tag_name("disk") { target(device) } else { "a controller" };
        if device.has_tag_name("disk") && bus(device) != "virtio" {
            let why =
                format!("{name} is on bus {}: an I/O thread serves virtio-blk disks alone", bus(device));
            problems.add(Kind::Mistake, "disks", &why, "set `bus: virtio`, or leave `iothread` out");
        }
        if thread == 0 || thread > declared {
            let why = format!("{name} is to be served by I/O thread {thread}, and {declared} are declared");
            problems.add(Kind::Mistake, "disks", &why, &format!("set `iothreads: {thread}`"));
        }
        used.push(thread);
    }
    let idle: Vec<String> =
        (1..=declared).filter(|thread| !used.contains(thread)).map(|thread| thread.to_string()).collect();
    if task.iothreads.is_some() && !idle.is_empty() {
        let why = format!("I/O thread {} is declared and serves no disk: it does nothing", idle.join(", "));
        let way = "give a disk `iothread`, or declare fewer";
        problems.add(Kind::Mistake, "iothreads", &why, way);
    }
    for pin in Part::new("cputune").of(after).into_iter().flat_map(|node| node.children()) {
        let thread = pin.attribute("iothread").and_then(|text| text.parse::<u32>().ok());
        if let Some(thread) = thread.filter(|thread| *thread > declared) {
            let why = format!("I/O thread {thread} is pinned, and {declared} are declared");
            let way = "keep as many I/O threads, or take its <iothreadpin> away by `virsh edit`";
            problems.add(Kind::Mistake, "iothreads", &why, way);
        }
    }
}

fn queues(task: &LibvirtDomain, after: Node<'_, '_>, vcpus: u32, problems: &mut Problems) {
    let mut check = |argument: &'static str, what: &str, queues: u32| {
        if queues > vcpus {
            let why = format!("{what} has {queues} queues, and the guest has {vcpus} CPUs: the rest idles");
            problems.add(Kind::Mistake, argument, &why, &format!("set `queues: {vcpus}` or fewer"));
        }
    };
    for wish in &task.disks {
        let Ok(disk) = find(wish, after) else { continue };
        if let Some(queues) = driver(disk, "queues").and_then(|text| text.parse().ok()) {
            check("disks", target(disk), queues);
        }
    }
    for device in &task.vhost_user_scsi {
        check("vhost_user_scsi", &device.id, device.queues.unwrap_or(1));
    }
}

fn topology(task: &LibvirtDomain, after: Node<'_, '_>, vcpus: u32, problems: &mut Problems) {
    if task.vcpus.is_none() {
        return;
    }
    if let Some(topology) = Route::plain("cpu/topology").find(after) {
        let factor =
            |name: &str| topology.attribute(name).and_then(|text| text.parse::<u32>().ok()).unwrap_or(1);
        let names = ["sockets", "dies", "clusters", "cores", "threads"];
        let slots: u32 = names.iter().map(|name| factor(name)).product();
        if slots != vcpus {
            let shown: Vec<String> = names
                .iter()
                .filter(|name| topology.has_attribute(**name))
                .map(|name| format!("{} {name}", factor(name)))
                .collect();
            let why =
                format!("{vcpus} CPUs do not fit the topology of {} ({slots} in all)", shown.join(" × "));
            let way = "say `vcpus: {count, sockets, cores, threads}` so that their product is the count";
            problems.add(Kind::Mistake, "vcpus", &why, way);
        }
    }
    let cells = Route::plain("cpu/numa").find(after);
    for cell in cells.into_iter().flat_map(|numa| numa.children()).filter(Node::is_element) {
        let cpus = cell.attribute("cpus").and_then(|text| crate::shape::CpuList::parse(text).ok());
        let last = cpus.and_then(|cpus| cpus.iter().last());
        if let Some(last) = last.filter(|last| *last >= vcpus) {
            let why = format!("a NUMA cell of the guest has CPU {last}, and there are {vcpus}");
            problems.add(Kind::CannotConverge, "vcpus", &why, "change the cells of <numa> by hand first");
        }
    }
}

/// A vhost-user back-end maps the guest's memory itself; memory of QEMU alone gives it nothing to read.
fn vhost_user(task: &LibvirtDomain, after: Node<'_, '_>, problems: &mut Problems) {
    let listed = Route::of([Part::within(QEMU, "commandline")]).find(after);
    let by_hand = listed
        .into_iter()
        .flat_map(|list| list.children())
        .any(|node| node.attribute("value").is_some_and(is_vhost_user));
    let by_disk = all(after).iter().any(|disk| disk.attribute("type") == Some("vhostuser"));
    let asked = !task.vhost_user_scsi.is_empty() || task.memory_backing.is_some();
    if !asked || !(by_hand || by_disk) {
        return;
    }
    if !is_shared(after) {
        let way = "set `memory_backing: {hugepages: {size: 2M}, access: shared}`";
        let why = "a vhost-user device needs memory that others may map, and the guest's is private";
        let argument = if task.vhost_user_scsi.is_empty() { "memory_backing" } else { "vhost_user_scsi" };
        problems.add(Kind::Mistake, argument, why, way);
    }
}

/// Whether an argument of QEMU is a vhost-user device, in either form.
fn is_vhost_user(value: &str) -> bool {
    value.starts_with("vhost-user-") || (value.starts_with('{') && value.contains("\"driver\":\"vhost-user-"))
}

/// Whether others may map all of the guest's memory.
pub(super) fn is_shared(root: Node<'_, '_>) -> bool {
    let backing = Part::new("memoryBacking").of(root);
    let has = |name: &str| backing.and_then(|backing| Part::new(name).of(backing));
    let mode = has("access").and_then(|node| node.attribute("mode"));
    let cells: Vec<Node<'_, '_>> = Route::plain("cpu/numa")
        .find(root)
        .map(|numa| numa.children().filter(|node| node.has_tag_name("cell")).collect())
        .unwrap_or_default();
    let cells_share =
        !cells.is_empty() && cells.iter().all(|cell| cell.attribute("memAccess") == Some("shared"));
    let named = has("hugepages").is_some()
        || has("source").is_some_and(|source| matches!(source.attribute("type"), Some("memfd" | "file")));
    named && (mode == Some("shared") || cells_share)
}

/// virtio-blk passes TRIM on since QEMU 4.0; before that virtio-scsi did it alone.
fn discard(task: &LibvirtDomain, after: Node<'_, '_>, qemu: Option<Version>, problems: &mut Problems) {
    for wish in &task.disks {
        let Ok(disk) = find(wish, after) else { continue };
        let trims = driver(disk, "discard") == Some("unmap");
        let virtio = bus(disk) == "virtio" && (wish.bus.is_some() || wish.discard.is_some());
        match qemu {
            Some(version) if virtio && version < Version(4, 0, 0) => problems.note(format!(
                "{} is virtio-blk, whose TRIM QEMU passes on since 4.0; the host has {version}: {}",
                target(disk),
                if trims {
                    "`discard: unmap` does nothing there, `bus: scsi` would"
                } else {
                    "keep it on scsi for TRIM"
                }
            )),
            _ => {}
        }
    }
}

/// Pins of CPUs that the guest does not have.
fn unused_pins(task: &LibvirtDomain, after: Node<'_, '_>, vcpus: u32, problems: &mut Problems) {
    if task.cputune.is_none() && task.vcpus.is_none() {
        return;
    }
    for pin in Part::new("cputune").of(after).into_iter().flat_map(|node| node.children()) {
        let vcpu = pin.attribute("vcpu").and_then(|text| text.parse::<u32>().ok());
        if let Some(vcpu) = vcpu.filter(|vcpu| *vcpu >= vcpus) {
            let why = format!("virtual CPU {vcpu} is pinned, and the guest has {vcpus} (from 0)");
            let argument = if task.cputune.is_some() { "cputune" } else { "vcpus" };
            problems.add(Kind::Mistake, argument, &why, "pin CPUs that the guest has");
        }
    }
    let declared = number(after, "iothreads").unwrap_or(0);
    for which in task.cputune.iter().flat_map(|tune| tune.iothreadpin.keys()) {
        if which.trim().parse::<u32>().map_or(true, |thread| thread == 0 || thread > declared) {
            let why = format!("I/O thread {which} is pinned, and {declared} are declared");
            problems.add(Kind::Mistake, "cputune", &why, "set `iothreads` too");
        }
    }
}
