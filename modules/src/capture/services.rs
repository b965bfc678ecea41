//! Options that a Ceph cluster stores, and how guests of libvirt are defined, as they are.
use super::Found;
use crate::ceph::Cluster;
use crate::ceph::answers::Stored;
use crate::draft::known;
use crate::guests::virsh;
use crate::vocabulary::{Facts, Read, Stop};
use crate::xml::{Document, Part, Route, text_of};
use roxmltree::Node;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

const KEYRINGS: &str = "/etc/ceph/*.keyring";
const DOMAINS: &str = "/etc/libvirt/qemu/*.xml";
const URI: &str = "qemu:///system";
/// Words in names of options whose values are nobody's to read.
const SECRET: [&str; 6] = ["password", "passwd", "secret", "token", "private_key", "access_key"];

/// Options in the mons' database, where this host may ask for them.
pub(super) fn ceph(facts: &Facts) -> Result<Vec<Found>, Stop> {
    // Without a key every question waits in vain.
    if known(facts.names(KEYRINGS))?.unwrap_or_default().is_empty() {
        return Ok(Vec::new());
    }
    let Some(shell) = known(Cluster::default().shell(facts))? else { return Ok(Vec::new()) };
    let source = "ceph config dump";
    let stored: Vec<Stored> = match shell.json(facts, &shell.plain("ceph-config-dump")) {
        Ok(stored) => stored,
        Err(unread @ Stop::Unread(_)) => return Err(unread),
        Err(Stop::Refused(refusal)) => {
            return Ok(vec![Found::new("options of the Ceph cluster", source).because(refusal.why)]);
        }
        Err(Stop::Late(_)) => return Ok(Vec::new()),
    };
    let mut found = Vec::new();
    for option in &stored {
        let what = format!("{} {}", option.who(), option.name);
        let one = Found::new(&what, source);
        found.push(if SECRET.iter().any(|word| option.name.contains(word)) || option.name == "key" {
            one.because("its value may be a secret")
        } else if option.name.starts_with("ms_") && option.name.ends_with("_mode") {
            one.because("the six modes of the messenger belong together: see `ceph_msgr_mode`")
        } else {
            let options = BTreeMap::from([(option.name.as_str(), option.value.as_str())]);
            one.way(&what, "ceph_config", json!({ "who": option.who(), "options": options }))
        });
    }
    Ok(found)
}

/// Guests, as they are defined.
pub(super) fn guests(facts: &Facts) -> Result<Vec<Found>, Stop> {
    if known(facts.names(DOMAINS))?.unwrap_or_default().is_empty() {
        return Ok(Vec::new());
    }
    let Some(list) = known(facts.output(&virsh::list(URI)))? else { return Ok(Vec::new()) };
    if list.status != 0 {
        let why = list.error_text().trim().to_owned();
        return Ok(vec![Found::new("guests of libvirt", "virsh list").because(why)]);
    }
    let text = list.text();
    let domains: Vec<(&str, &str)> =
        text.lines().filter_map(|line| line.trim().split_once(char::is_whitespace)).collect();
    let reads: Vec<Read> =
        domains.iter().map(|(uuid, _)| Read::Ask(virsh::inactive_xml(URI, uuid))).collect();
    facts.need(&reads)?;
    let mut found = Vec::new();
    for (uuid, name) in domains {
        let name = name.trim();
        let one = Found::new(format!("the guest {name}"), format!("virsh dumpxml --inactive {name}"));
        let Some(output) = known(facts.output(&virsh::inactive_xml(URI, uuid)))? else { continue };
        let xml = output.text();
        let Ok(document) = Document::parse(&xml) else {
            found.push(one.because("its definition cannot be read"));
            continue;
        };
        match tuned(name, document.root()) {
            Some(args) => found.push(one.way(&format!("The guest {name}"), "libvirt_domain", args)),
            None => found.push(one.because("its definition says nothing that is tuned")),
        }
    }
    Ok(found)
}

/// What a definition says of tunings; none where it says nothing.
fn tuned(name: &str, root: Node<'_, '_>) -> Option<Json> {
    let mut args = Map::new();
    let features = features(root);
    if !features.is_empty() {
        args.insert("features".to_owned(), Json::Object(features));
    }
    if let Some(list) = Route::plain("memoryBacking/hugepages").find(root) {
        let page = Part::new("page").of(list);
        let size = page.and_then(|page| {
            Some(format!("{}{}", page.attribute("size")?, page.attribute("unit").unwrap_or("KiB")))
        });
        let pages = size.map_or(json!(true), |size| json!({ "size": size }));
        args.insert("memory_backing".to_owned(), json!({ "hugepages": pages }));
    }
    let threads = Part::new("iothreads").of(root).and_then(|node| text_of(node).trim().parse::<u32>().ok());
    if let Some(threads) = threads.filter(|threads| *threads > 0) {
        args.insert("iothreads".to_owned(), json!(threads));
    }
    let disks = disks(root);
    if !disks.is_empty() {
        args.insert("disks".to_owned(), Json::Array(disks));
    }
    if args.is_empty() {
        return None;
    }
    args.insert("domains".to_owned(), json!([name]));
    Some(Json::Object(args))
}

fn features(root: Node<'_, '_>) -> Map<String, Json> {
    let mut features = Map::new();
    let list = Part::new("features").of(root);
    for node in list.into_iter().flat_map(|list| list.children()).filter(Node::is_element) {
        let attributes: Vec<(&str, &str)> =
            node.attributes().map(|attribute| (attribute.name(), attribute.value())).collect();
        let value = match attributes.as_slice() {
            // Those with parts of their own are named part by part.
            _ if node.children().any(|child| child.is_element()) => continue,
            [] => json!(true),
            [("state" | "driver" | "version", word)] => json!(word),
            many => many.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect(),
        };
        features.insert(node.tag_name().name().to_owned(), value);
    }
    features
}

fn disks(root: Node<'_, '_>) -> Vec<Json> {
    let devices = Part::new("devices").of(root);
    let all = devices.into_iter().flat_map(|list| list.children());
    let mut disks = Vec::new();
    for disk in all.filter(|node| node.is_element() && node.tag_name().name() == "disk") {
        if disk.attribute("device").is_some_and(|device| device != "disk") {
            continue;
        }
        let target = Part::new("target").of(disk).and_then(|node| node.attribute("dev"));
        let (Some(target), Some(driver)) = (target, Part::new("driver").of(disk)) else { continue };
        let mut one = Map::from_iter([("target".to_owned(), json!(target))]);
        for (attribute, name) in [("cache", "cache"), ("io", "io"), ("discard", "discard")] {
            one.extend(driver.attribute(attribute).map(|value| (name.to_owned(), json!(value))));
        }
        for (attribute, name) in [("iothread", "iothread"), ("queues", "queues")] {
            let number = driver.attribute(attribute).and_then(|value| value.parse::<u32>().ok());
            one.extend(number.map(|number| (name.to_owned(), json!(number))));
        }
        if one.len() > 1 {
            disks.push(Json::Object(one));
        }
    }
    disks
}
