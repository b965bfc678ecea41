//! What a task wants of one disk.
use super::problem::{Kind, Problems};
use super::wish::{Bus, Disk};
use crate::xml::{Part, Route, Value, Want, Wanted, text_of};
use roxmltree::Node;

/// The attributes of `<source>` that name where a disk comes from.
const SOURCES: [&str; 6] = ["file", "dev", "name", "path", "dir", "volume"];

/// The disks of a domain.
pub(super) fn all<'a, 'i>(root: Node<'a, 'i>) -> Vec<Node<'a, 'i>> {
    let devices = Part::new("devices").of(root);
    devices
        .map(|node| node.children().filter(|child| child.has_tag_name("disk")).collect())
        .unwrap_or_default()
}

/// The name of a disk's target.
pub(super) fn target<'a>(disk: Node<'a, '_>) -> &'a str {
    Part::new("target").of(disk).and_then(|node| node.attribute("dev")).unwrap_or_default()
}

/// The bus of a disk.
pub(super) fn bus<'a>(disk: Node<'a, '_>) -> &'a str {
    Part::new("target").of(disk).and_then(|node| node.attribute("bus")).unwrap_or_default()
}

/// An attribute of a disk's driver.
pub(super) fn driver<'a>(disk: Node<'a, '_>, name: &str) -> Option<&'a str> {
    Part::new("driver").of(disk)?.attribute(name)
}

/// The disk that a task means.
pub(super) fn find<'a, 'i>(wish: &Disk, root: Node<'a, 'i>) -> Result<Node<'a, 'i>, String> {
    let found: Vec<Node<'a, 'i>> = all(root).into_iter().filter(|disk| is(wish, *disk)).collect();
    match found.as_slice() {
        [one] => Ok(*one),
        [] => {
            let targets: Vec<&str> = all(root).into_iter().map(target).collect();
            Err(format!("it has no disk {}; its disks are {}", named(wish), targets.join(", ")))
        }
        more => Err(format!("{} of its disks are {}", more.len(), named(wish))),
    }
}

/// How a task calls a disk.
pub(super) fn named(wish: &Disk) -> String {
    let by = |what: &str, value: &Option<String>| value.as_ref().map(|value| format!("{what} {value}"));
    let names: Vec<String> =
        [by("target", &wish.target), by("serial", &wish.serial), by("source", &wish.source)]
            .into_iter()
            .flatten()
            .collect();
    names.join(" and ")
}

fn is(wish: &Disk, disk: Node<'_, '_>) -> bool {
    let fits = |wished: &Option<String>, is: &dyn Fn(&str) -> bool| wished.as_deref().is_none_or(is);
    let serial = Part::new("serial").of(disk).map(text_of).unwrap_or_default();
    let source = Part::new("source").of(disk);
    (wish.target.is_some() || wish.serial.is_some() || wish.source.is_some())
        && fits(&wish.target, &|name| target(disk) == name)
        && fits(&wish.serial, &|text| serial == text)
        && fits(&wish.source, &|text| {
            source.is_some_and(|source| SOURCES.iter().any(|name| source.attribute(*name) == Some(text)))
        })
}

/// What is wanted of the disk.
pub(super) fn wants(wish: &Disk, root: Node<'_, '_>, problems: &mut Problems, wants: &mut Vec<Want>) {
    if wish.target.is_none() && wish.serial.is_none() && wish.source.is_none() {
        let way = "name it by `target`, `serial` or `source`";
        return problems.add(Kind::Mistake, "disks", "a disk is told by nothing", way);
    }
    let disk = match find(wish, root) {
        Ok(disk) => disk,
        Err(why) => {
            let way = "name one of its disks, or leave this domain out of `domains`";
            return problems.add(Kind::CannotConverge, "disks", &why, way);
        }
    };
    let part = bus_wants(wish, disk, root, problems, wants);
    let route = Route::plain("devices").then(part);
    if let Some(order) = wish.boot_order {
        if Route::plain("os/boot").find(root).is_some() {
            let why =
                "it boots by <boot dev=…> of its machine, beside which libvirt takes no order of devices";
            let way = "take <boot> out of <os> by `virsh edit` once";
            problems.add(Kind::CannotConverge, "disks", why, way);
        }
        let boot = Want::there(route.clone().then(Part::new("boot")));
        wants.push(boot.with("order", Value::text(order.to_string())));
    }
    let attributes = [
        ("cache", wish.cache.map(|cache| cache.text().to_owned())),
        ("io", wish.io.map(|io| io.text().to_owned())),
        ("discard", wish.discard.map(|discard| discard.text().to_owned())),
        ("queues", wish.queues.map(|queues| queues.to_string())),
        ("iothread", wish.iothread.map(|iothread| iothread.to_string())),
    ];
    let driver = Want::there(route.then(Part::new("driver")));
    let given = attributes.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let want = given.fold(driver, |want, (name, value)| want.with(name, Value::text(value)));
    if matches!(&want.wanted, Wanted::There { attributes, .. } if !attributes.is_empty()) {
        wants.push(want);
    }
}

/// What tells a disk, whatever its bus: its source or serial, where the task names it so.
fn lasting(wish: &Disk, disk: Node<'_, '_>) -> Part {
    let part = Part::new("disk");
    match (&wish.serial, &wish.source, Part::new("source").of(disk)) {
        (Some(serial), ..) => part.holding("serial", "", serial),
        (None, Some(text), Some(source)) => {
            let name = SOURCES.iter().find(|name| source.attribute(**name) == Some(text));
            part.holding("source", name.unwrap_or(&"file"), text)
        }
        _ => part.holding("target", "dev", target(disk)),
    }
}

/// A bus that changes gives the target a name of its kind, and takes an address of the old kind away. Gives what tells
/// the disk.
fn bus_wants(
    wish: &Disk,
    disk: Node<'_, '_>,
    root: Node<'_, '_>,
    problems: &mut Problems,
    wants: &mut Vec<Want>,
) -> Part {
    let now = target(disk).to_owned();
    let part = lasting(wish, disk);
    let Some(wished) = wish.bus else { return part };
    let at = |child: Part| Route::plain("devices").then(part.clone()).then(child);
    if wished.text() == bus(disk) {
        wants.push(Want::there(at(Part::new("target"))).with("bus", Value::text(wished.text())));
        return part;
    }
    if wish.target.is_some() {
        let why = format!("the bus of {now} changes, and its name with it: it would not be found again");
        let way = "name the disk by `source` or `serial`, not by `target`";
        problems.add(Kind::Mistake, "disks", &why, way);
        return part;
    }
    let (prefix, address) = match wished {
        Bus::Virtio => ("vd", "drive"),
        Bus::Scsi | Bus::Sata => ("sd", "pci"),
        Bus::Ide => ("hd", "pci"),
    };
    let taken: Vec<&str> = all(root).into_iter().map(target).filter(|other| *other != now).collect();
    let name =
        ('a'..='z').map(|letter| format!("{prefix}{letter}")).find(|name| !taken.contains(&name.as_str()));
    let Some(name) = name else {
        problems.add(Kind::CannotConverge, "disks", "no name is free for the disk on its new bus", "");
        return part;
    };
    if name != now {
        problems.note(format!(
            "the disk {now} becomes {name}: what names it so in the guest (fstab, boot loader, benchmarks) must follow, and \
             a Windows guest must have the driver of the new bus before"
        ));
    }
    wants.push(Want::gone(at(Part::new("address").with("type", address))));
    let named = Want::there(at(Part::new("target"))).with("dev", Value::text(&name));
    wants.push(named.with("bus", Value::text(wished.text())));
    part
}
