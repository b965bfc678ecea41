//! What must hold of a command line as it will be: what QEMU would refuse, and what it would take and not feel.
use super::line::{Line, Properties};
use super::wish::Guest;
use crate::shape::parse_size;

/// What stands against a line: each with the way out.
pub(super) fn faults(line: &Line) -> Vec<(String, &'static str)> {
    let mut faults = Vec::new();
    drives(line, &mut faults);
    iothreads(line, &mut faults);
    cpus(line, &mut faults);
    shared(line, &mut faults);
    faults
}

fn all<'l>(line: &'l Line, name: &'l str) -> impl Iterator<Item = Properties> + 'l {
    line.options.iter().filter(move |choice| choice.name == name).filter_map(|choice| choice.properties())
}

fn drives(line: &Line, faults: &mut Vec<(String, &'static str)>) {
    for drive in all(line, "drive") {
        let direct = matches!(drive.get("cache"), Some("none" | "directsync"))
            || drive.get("cache.direct").is_some_and(|value| matches!(value, "on" | "true"));
        if drive.get("aio") == Some("native") && !direct {
            let name = drive.get("id").or(drive.get("file")).unwrap_or("a drive");
            let cache = drive.get("cache").unwrap_or("writeback, QEMU's default");
            faults.push((
                format!("{name} has aio=native with cache {cache}: QEMU refuses to start"),
                "set `cache: none` or `directsync`, or `aio: threads`",
            ));
        }
    }
}

fn iothreads(line: &Line, faults: &mut Vec<(String, &'static str)>) {
    let declared: Vec<String> = all(line, "object")
        .filter(|object| object.head() == Some("iothread"))
        .filter_map(|object| object.get("id").map(ToOwned::to_owned))
        .collect();
    let used: Vec<String> =
        all(line, "device").filter_map(|device| device.get("iothread").map(ToOwned::to_owned)).collect();
    for name in declared.iter().filter(|name| !used.contains(name)) {
        faults.push((
            format!("the I/O thread {name} is declared and serves no device: it does nothing"),
            "give a drive's device `iothread`, or take it away by `without: [\"-object NAME\"]`",
        ));
    }
    for name in used.iter().filter(|name| !declared.contains(name)) {
        faults.push((
            format!("a device is to be served by the I/O thread {name}, which is not declared"),
            "name it in `iothreads`",
        ));
    }
}

/// How many CPUs the guest has.
fn count(smp: &Properties) -> Option<u32> {
    smp.head().or(smp.get("cpus"))?.parse().ok()
}

fn cpus(line: &Line, faults: &mut Vec<(String, &'static str)>) {
    let smp = all(line, "smp").last();
    let vcpus = smp.as_ref().and_then(count).unwrap_or(1);
    if let Some(smp) = &smp {
        let names = ["sockets", "dies", "cores", "threads"];
        let given: Vec<u32> =
            names.iter().filter_map(|name| smp.get(name)).filter_map(|text| text.parse().ok()).collect();
        let slots: u32 = given.iter().product();
        // With one left out QEMU finds it by itself.
        let complete = ["sockets", "cores", "threads"].iter().all(|name| smp.get(name).is_some());
        let max = smp.get("maxcpus").and_then(|text| text.parse().ok()).unwrap_or(vcpus);
        if complete && slots != max {
            faults.push((
                format!("{vcpus} CPUs do not fit a topology of {slots}"),
                "say `vcpus: {count, sockets, cores, threads}` so that their product is the count",
            ));
        }
    }
    for device in all(line, "device") {
        let queues = ["num_queues", "num-queues"].iter().find_map(|name| device.get(name));
        if let Some(queues) =
            queues.and_then(|text| text.parse::<u32>().ok()).filter(|queues| *queues > vcpus)
        {
            let name = device.get("id").or(device.get("chardev")).or(device.head()).unwrap_or("a device");
            faults.push((
                format!("{name} has {queues} queues, and the guest has {vcpus} CPUs: the rest idles"),
                "ask for as many queues as CPUs, or fewer",
            ));
        }
    }
}

/// A vhost-user back-end maps the guest's memory itself.
fn shared(line: &Line, faults: &mut Vec<(String, &'static str)>) {
    let shared: Vec<Properties> = all(line, "object")
        .filter(|object| {
            object.head().is_some_and(|head| head.starts_with("memory-backend-"))
                && object.get("share").is_some_and(|value| matches!(value, "on" | "yes" | "true"))
        })
        .collect();
    let named = |id: Option<&str>| {
        let by_node = all(line, "numa").any(|node| node.get("memdev").is_some() && node.get("memdev") == id);
        by_node || all(line, "machine").any(|machine| machine.get("memory-backend") == id && id.is_some())
    };
    let used = shared.iter().any(|object| named(object.get("id")));
    let user = all(line, "device")
        .find(|device| device.head().is_some_and(|driver| driver.starts_with("vhost-user-")));
    if let (Some(device), false) = (user, used) {
        faults.push((
            format!(
                "{} needs memory that others may map: without share=on its data path is dead",
                device.head().unwrap_or_default()
            ),
            "set `shared_memory: {path: /dev/hugepages}`",
        ));
    }
    let memory = all(line, "m").last();
    let memory = memory.as_ref().and_then(|m| m.head().or(m.get("size")).map(ToOwned::to_owned));
    for object in shared.iter().filter(|object| named(object.get("id"))) {
        let bytes = |text: &str| {
            let plain = text.chars().all(|letter| letter.is_ascii_digit());
            parse_size(&if plain { format!("{text}M") } else { text.to_owned() }).ok()
        };
        let (Some(size), Some(memory)) = (object.get("size"), &memory) else { continue };
        if shared.len() == 1 && bytes(size) != bytes(memory) {
            faults.push((
                format!("the shared memory has {size} and the guest {memory}: QEMU refuses to start"),
                "say `memory`, which is the size of both",
            ));
        }
    }
}

/// What is said besides: what changes in the guest.
pub(super) fn notes(guest: &Guest, before: &Line, after: &Line) -> Vec<String> {
    let mut notes = Vec::new();
    let machine = |line: &Line| all(line, "machine").last().and_then(|m| m.head().map(ToOwned::to_owned));
    let (old, new) = (machine(before), machine(after));
    if old != new {
        notes.push(format!(
            "machine {} becomes {}: PCI addresses in the guest change",
            old.as_deref().unwrap_or("(default)"),
            new.as_deref().unwrap_or("(default)")
        ));
    }
    let virtio = |line: &Line| {
        all(line, "device")
            .filter(|device| device.head().is_some_and(|head| head.starts_with("virtio-blk")))
            .count()
    };
    if virtio(after) > virtio(before) {
        notes.push(
            "a disk comes to virtio: the guest names it vda, and what named it sda (fstab, benchmarks) must follow"
                .to_owned(),
        );
    }
    if guest.drives.iter().any(|drive| drive.blockdev) {
        notes.push(
            "-blockdev without a layer of raw: those who measured it found no clear gain; measure it"
                .to_owned(),
        );
    }
    let boots = |device: &Properties| device.get("bootindex").is_some();
    let first = all(after, "device").any(|device| boots(&device));
    let spdk =
        all(after, "device").any(|device| device.head() == Some("vhost-user-scsi-pci") && !boots(&device));
    if spdk && !first && !guest.vhost_user_scsi.is_empty() {
        notes.push(
            "no device has a boot index: the firmware may try the vhost-user disk first; give the boot disk `bootindex: 0`"
                .to_owned(),
        );
    }
    notes
}
