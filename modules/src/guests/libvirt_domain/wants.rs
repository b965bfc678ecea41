//! What a task's arguments want of one domain's XML.
use super::LibvirtDomain;
use super::disks;
use super::features::{PLAIN, is_x86, main_attribute};
use super::problem::{Kind, Problems};
use super::wish::{Feature, Hugepages, Vcpus};
use crate::argument::Scalar;
use crate::guests::virsh::Version;
use crate::shape::{CpuList, parse_size};
use crate::xml::{Like, Part, Route, Value, Want, Wanted, text_of};
use roxmltree::Node;
use serde_json::Value as Json;

/// The namespace of QEMU's own arguments and environment.
pub(super) const QEMU: &str = "http://libvirt.org/schemas/domain/qemu/1.0";

/// What a domain wants of its own XML, in the order of the edits.
pub(super) fn wants(
    task: &LibvirtDomain,
    root: Node<'_, '_>,
    qemu: Option<Version>,
    problems: &mut Problems,
) -> Vec<Want> {
    let mut wants = Vec::new();
    machine(task, root, problems, &mut wants);
    vcpus(task, root, &mut wants);
    memory(task, root, problems, &mut wants);
    backing(task, root, problems, &mut wants);
    if let Some(count) = task.iothreads {
        let route = Route::plain("iothreads");
        wants.push(match count {
            0 => Want::gone(route),
            count => Want::there(route).saying(Value::text(count.to_string())),
        });
    }
    pins(task, problems, &mut wants);
    features(task, root, problems, &mut wants);
    for disk in &task.disks {
        disks::wants(disk, root, problems, &mut wants);
    }
    commandline(task, root, qemu, &mut wants);
    wants
}

fn arch<'a>(root: Node<'a, '_>) -> &'a str {
    Route::plain("os/type").find(root).and_then(|node| node.attribute("arch")).unwrap_or("x86_64")
}

fn machine(task: &LibvirtDomain, root: Node<'_, '_>, problems: &mut Problems, wants: &mut Vec<Want>) {
    let Some(machine) = &task.machine else { return };
    let want = Want::there(Route::plain("os/type")).with("machine", Value::like(machine, Like::Machine));
    let now = Route::plain("os/type").find(root).and_then(|node| node.attribute("machine"));
    if want.fault(root).is_some() {
        let kind = |name: &str| name.contains("q35");
        let other = now.is_some_and(|now| kind(now) != kind(machine));
        let moved = if other { ", and fixed addresses of the old one may not fit it" } else { "" };
        problems.note(format!(
            "machine {} becomes {machine}: PCI addresses in the guest change{moved}; network cards may be named anew and a \
             Windows guest may ask for its licence",
            now.unwrap_or("(default)")
        ));
    }
    wants.push(want);
}

fn vcpus(task: &LibvirtDomain, root: Node<'_, '_>, wants: &mut Vec<Want>) {
    let Some(vcpus) = &task.vcpus else { return };
    let count = match vcpus {
        Vcpus::Count(count) => *count,
        Vcpus::Arranged(arranged) => arranged.count,
    };
    wants.push(Want::there(Route::plain("vcpu")).saying(Value::text(count.to_string())).lacking("current"));
    let Vcpus::Arranged(arranged) = vcpus else { return };
    let given = [
        ("sockets", arranged.sockets),
        ("dies", arranged.dies),
        ("cores", arranged.cores),
        ("threads", arranged.threads),
    ];
    if given.iter().all(|(_, count)| count.is_none()) {
        return;
    }
    let route = Route::plain("cpu/topology");
    let now = route.find(root);
    let mut want = Want::there(route);
    for (name, count) in given {
        // libvirt takes the three together, or none.
        let count = match count {
            Some(count) => count.to_string(),
            None if name == "dies" || now.is_some_and(|now| now.has_attribute(name)) => continue,
            None => "1".to_owned(),
        };
        want = want.with(name, Value::text(count));
    }
    wants.push(want);
}

/// A size of an element in bytes: a number and its unit, KiB where it names none.
pub(crate) fn bytes(node: Node<'_, '_>, number: &str) -> Option<u64> {
    let unit = node.attribute("unit").unwrap_or("KiB");
    let factor: u64 = match unit {
        "b" | "bytes" => 1,
        "KB" => 1000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        other => parse_size(&format!("1{other}")).ok()?,
    };
    number.trim().parse::<u64>().ok()?.checked_mul(factor)
}

/// What a size element below the root holds, in bytes.
pub(super) fn size_of(root: Node<'_, '_>, name: &str) -> Option<u64> {
    let node = Part::new(name).of(root)?;
    bytes(node, &text_of(node))
}

fn memory(task: &LibvirtDomain, root: Node<'_, '_>, problems: &mut Problems, wants: &mut Vec<Want>) {
    let Some(wished) = &task.memory else { return };
    let wished = match parse_size(&wished.text()) {
        Ok(bytes) if bytes > 0 && bytes.is_multiple_of(1024) => bytes,
        Ok(_) => return problems.add(Kind::Mistake, "memory", "memory is counted in whole KiB", ""),
        Err(why) => return problems.add(Kind::Mistake, "memory", &why, "write it such as `16G`"),
    };
    let now = size_of(root, "memory");
    if now == Some(wished) {
        return;
    }
    if Route::plain("cpu/numa/cell").find(root).is_some() {
        return problems.add(
            Kind::CannotConverge,
            "memory",
            "its memory is shared out among NUMA cells, which this would not fit",
            "change the cells of <numa> by hand, `virsh edit` shows them",
        );
    }
    let kib = (wished / 1024).to_string();
    let want = |name: &str| {
        Want::there(Route::plain(name)).with("unit", Value::text("KiB")).saying(Value::text(kib.clone()))
    };
    // The balloon: what the guest has now follows what it may have.
    if size_of(root, "currentMemory").is_some_and(|current| Some(current) == now || current > wished) {
        wants.push(want("currentMemory"));
    }
    wants.push(want("memory"));
}

fn backing(task: &LibvirtDomain, root: Node<'_, '_>, problems: &mut Problems, wants: &mut Vec<Want>) {
    let Some(backing) = &task.memory_backing else { return };
    let route = |name: &str| Route::plain("memoryBacking").then(Part::new(name));
    let switch = |name: &str, wanted: bool| match wanted {
        true => Want::there(route(name)),
        false => Want::gone(route(name)),
    };
    match &backing.hugepages {
        None => {}
        Some(Hugepages::Switch(wanted)) => wants.push(switch("hugepages", *wanted)),
        Some(Hugepages::Pages(pages)) => match parse_size(&pages.size) {
            Ok(bytes) if bytes >= 1024 => {
                let nodes = pages.nodeset.as_ref().map(Scalar::text);
                page(root, bytes, nodes.as_deref(), problems, wants);
            }
            Ok(_) => problems.add(Kind::Mistake, "memory_backing", "a page has at least 1 KiB", ""),
            Err(why) => problems.add(Kind::Mistake, "memory_backing", &why, "write it such as `1G`"),
        },
    }
    wants.extend(backing.merge.map(|merge| switch("nosharepages", !merge)));
    wants.extend(backing.locked.map(|locked| switch("locked", locked)));
    let named = |name: &str, attribute: &str, value: &str| {
        Want::there(route(name)).with(attribute, Value::text(value))
    };
    wants.extend(backing.source.map(|source| named("source", "type", source.text())));
    wants.extend(backing.access.map(|access| named("access", "mode", access.text())));
}

/// One size of huge pages, for the whole guest or for some of its nodes.
fn page(
    root: Node<'_, '_>,
    wished: u64,
    nodeset: Option<&str>,
    problems: &mut Problems,
    wants: &mut Vec<Want>,
) {
    let list = Route::plain("memoryBacking/hugepages");
    let pages: Vec<Node<'_, '_>> = list
        .find(root)
        .map(|node| node.children().filter(|child| child.has_tag_name("page")).collect())
        .unwrap_or_default();
    let part = match nodeset {
        None => {
            if let Some(other) = pages.iter().find_map(|page| page.attribute("nodeset")) {
                let why = format!("its huge pages are told by node already (nodeset {other})");
                let way = "say `nodeset` too, so that it is clear which of them is meant";
                return problems.add(Kind::Mistake, "memory_backing", &why, way);
            }
            Part::new("page").without("nodeset")
        }
        Some(nodes) => {
            let alike = |page: &&Node<'_, '_>| Like::Cpus.alike(page.attribute("nodeset"), nodes);
            let written = pages.iter().find(alike).and_then(|page| page.attribute("nodeset"));
            Part::new("page").with("nodeset", written.unwrap_or(nodes))
        }
    };
    let now = list.clone().then(part.clone()).find(root);
    let now = now.and_then(|page| bytes(page, page.attribute("size")?));
    let mut want = Want::there(list.then(part));
    if now != Some(wished) {
        want = want.with("size", Value::text((wished / 1024).to_string())).with("unit", Value::text("KiB"));
    }
    wants.push(want);
}

fn pins(task: &LibvirtDomain, problems: &mut Problems, wants: &mut Vec<Want>) {
    let Some(tune) = &task.cputune else { return };
    let mut list = |text: &Scalar| match CpuList::parse(&text.text()) {
        Ok(cpus) if !cpus.is_empty() => Some(Value::like(cpus.to_string(), Like::Cpus)),
        Ok(_) => {
            problems.add(Kind::Mistake, "cputune", "an empty list of CPUs runs nothing", "");
            None
        }
        Err(why) => {
            problems.add(Kind::Mistake, "cputune", &why, "write it such as `0-3,8`");
            None
        }
    };
    let route = |part: Part| Route::plain("cputune").then(part);
    for (which, cpus) in &tune.vcpupin {
        let Some(cpus) = list(cpus) else { continue };
        let Some(which) = list(&Scalar::Text(which.clone())) else { continue };
        for vcpu in CpuList::parse(&which.text).iter().flat_map(CpuList::iter) {
            let part = Part::new("vcpupin").with("vcpu", &vcpu.to_string());
            wants.push(Want::there(route(part)).with("cpuset", cpus.clone()));
        }
    }
    if let Some(cpus) = tune.emulatorpin.as_ref().and_then(&mut list) {
        wants.push(Want::there(route(Part::new("emulatorpin"))).with("cpuset", cpus));
    }
    for (which, cpus) in &tune.iothreadpin {
        if let Some(cpus) = list(cpus) {
            let part = Part::new("iothreadpin").with("iothread", which.trim());
            wants.push(Want::there(route(part)).with("cpuset", cpus));
        }
    }
}

fn features(task: &LibvirtDomain, root: Node<'_, '_>, problems: &mut Problems, wants: &mut Vec<Want>) {
    let arch = arch(root);
    let is_x86_guest = matches!(arch, "x86_64" | "i686");
    for (name, feature) in &task.features {
        if is_x86(name) != is_x86_guest && (is_x86(name) || name == "gic") {
            let why = format!("`{name}` is no feature of a guest of {arch}");
            problems.add(Kind::CannotConverge, "features", &why, "leave this domain out of `domains`");
            continue;
        }
        let route = Route::of(["features"].into_iter().chain(name.split('/')).map(Part::new));
        let plain = PLAIN.contains(&name.as_str());
        let attribute = main_attribute(name);
        let said = |word: &str| match attribute {
            "state" => Value::like(word, Like::Switch),
            _ => Value::text(word),
        };
        let word = match feature {
            Feature::Switch(wanted) if plain => {
                wants.push(if *wanted { Want::there(route) } else { Want::gone(route) });
                continue;
            }
            Feature::Switch(true) => "on".to_owned(),
            Feature::Switch(false) => "off".to_owned(),
            Feature::Word(word) => word.text(),
            Feature::Attributes(attributes) => {
                let mut want = Want::there(route);
                for (name, value) in attributes {
                    want = want.with(name, Value::text(value.text()));
                }
                wants.push(want);
                continue;
            }
        };
        wants.push(match word.as_str() {
            "absent" => Want::gone(route),
            "present" => Want::there(route),
            word if plain && word == "on" => Want::there(route),
            word if plain && word == "off" => Want::gone(route),
            word => Want::there(route).with(attribute, said(word)),
        });
    }
}

/// QEMU's own environment and arguments.
fn commandline(task: &LibvirtDomain, root: Node<'_, '_>, qemu: Option<Version>, wants: &mut Vec<Want>) {
    let list = Route::of([Part::within(QEMU, "commandline")]);
    for (option, value) in task.qemu_arguments(qemu) {
        let values = match value {
            Some(value) => vec![option, value],
            None => vec![option],
        };
        wants.push(Want {
            route: list.clone(),
            wanted: Wanted::Row {
                instead: same_thing(list.find(root), &values),
                child: Part::within(QEMU, "arg"),
                name: "value".to_owned(),
                values,
            },
        });
    }
    for (name, value) in &task.environment {
        let part = Part::within(QEMU, "env").with("name", name);
        let route = list.clone().then(part);
        wants.push(match value {
            Some(value) => Want::there(route).with("value", Value::text(value.text())),
            None => Want::gone(route),
        });
    }
}

/// The option and value that stand for the same thing: the same option with the same `id=`.
fn same_thing(list: Option<Node<'_, '_>>, values: &[String]) -> Option<Vec<String>> {
    let [option, value] = values else { return None };
    let id = id_of(value)?;
    let is_arg = |node: &Node<'_, '_>| Part::within(QEMU, "arg").is(node);
    let args: Vec<&str> =
        list?.children().filter(is_arg).filter_map(|node| node.attribute("value")).collect();
    args.windows(2)
        .find(|pair| pair[0] == option && id_of(pair[1]).as_deref() == Some(id.as_str()))
        .map(|pair| pair.iter().map(|text| (*text).to_owned()).collect())
}

/// The name that a device, object or back-end is given.
fn id_of(value: &str) -> Option<String> {
    if value.starts_with('{') {
        let all: Json = serde_json::from_str(value).ok()?;
        return ["id", "node-name"].iter().find_map(|name| Some(all.get(name)?.as_str()?.to_owned()));
    }
    let found =
        value.split(',').find_map(|part| part.strip_prefix("id=").or(part.strip_prefix("node-name=")));
    found.map(ToOwned::to_owned)
}
