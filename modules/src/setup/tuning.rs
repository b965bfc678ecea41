//! Facts that tunings are decided by: huge pages, block devices, the boot line, daemons of Ceph, guests.
use crate::budget;
use crate::files::place::known;
use crate::guests::virsh;
use crate::kernel::kernel_args::declared;
use crate::vocabulary::{Facts, HostPath, Read, Row, Stop, missing};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

const POOLS: &str = "/sys/kernel/mm/hugepages/hugepages-*kB/*_hugepages";
const NODES: &str = "/sys/devices/system/node/node*/hugepages/hugepages-*kB/*_hugepages";
const CMDLINE: &str = "/proc/cmdline";
/// Folders of Ceph's daemons: of packages, and of cephadm; and the sockets of those that run.
const CEPH: [&str; 3] = ["/var/lib/ceph/*/*-*", "/var/lib/ceph/*-*-*-*-*/*.*", "/run/ceph/*"];
const CEPHADM: &str = "/run/ceph/*/*.asok";
const KINDS: [&str; 5] = ["mon", "mgr", "osd", "mds", "radosgw"];
const URI: &str = "qemu:///system";

/// What must be read for `huge_pages`.
pub(super) fn page_reads(facts: &Facts) -> Vec<Read> {
    missing(pages(facts))
}

/// `huge_pages`: by size such as `2M`, how many there are, free ones, and both by node.
pub(super) fn pages(facts: &Facts) -> Result<Json, Stop> {
    facts.need(&[POOLS, NODES].map(|pattern| Read::Glob(pattern.to_owned())))?;
    let paths: Vec<HostPath> = facts.names(POOLS)?.into_iter().chain(facts.names(NODES)?).collect();
    facts.need(&paths.iter().map(Read::text).collect::<Vec<_>>())?;
    let mut sizes: Map<String, Json> = Map::new();
    for path in &paths {
        let word = match path.name() {
            "nr_hugepages" => "total",
            "free_hugepages" => "free",
            _ => continue,
        };
        let parts: Vec<&str> = path.as_str().split('/').collect();
        let kib = parts
            .iter()
            .find_map(|part| part.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse::<u64>().ok());
        let node = parts
            .iter()
            .find_map(|part| part.strip_prefix("node").filter(|rest| rest.parse::<u32>().is_ok()));
        let count = facts.value(path)?.and_then(|text| text.trim().parse::<u64>().ok());
        let (Some(kib), Some(count)) = (kib, count) else { continue };
        let size = sizes.entry(budget::page_text(kib * 1024)).or_insert_with(|| json!({ "nodes": {} }));
        match node {
            None => size[word] = json!(count),
            Some(node) => size["nodes"][node][word] = json!(count),
        }
    }
    Ok(Json::Object(sizes))
}

fn lsblk() -> Row {
    Row::new("lsblk", Vec::<String>::new())
}

/// What must be read for `block_devices`.
pub(super) fn block_reads(_: &Facts) -> Vec<Read> {
    vec![Read::Ask(lsblk())]
}

/// `block_devices`: every device by its kernel name, partitions and volumes too: bytes, kind, what it holds (a file
/// system, LVM, a partition table), where it is mounted, and what is made of it.
pub(super) fn blocks(facts: &Facts) -> Result<Json, Stop> {
    let mut found = Map::new();
    for device in super::storage::asked(facts, "lsblk", "blockdevices")? {
        block(&device, &mut found);
    }
    Ok(Json::Object(found))
}

fn block(device: &Json, found: &mut Map<String, Json>) {
    let text = |name: &str| device[name].as_str().map(str::to_owned);
    let Some(name) = text("kname").or_else(|| text("name")) else { return };
    let children: Vec<&Json> = device["children"].as_array().into_iter().flatten().collect();
    // Newer versions list all places, older ones the last.
    let places =
        device["mountpoints"].as_array().cloned().unwrap_or_else(|| vec![device["mountpoint"].clone()]);
    let mounts: Vec<&str> = places.iter().filter_map(Json::as_str).collect();
    let holders: Vec<&str> =
        children.iter().filter_map(|child| child["kname"].as_str().or(child["name"].as_str())).collect();
    found.insert(
        name,
        json!({
            "size": super::storage::number(&device["size"]),
            "type": device["type"],
            "signature": device["fstype"].as_str().or(device["pttype"].as_str()),
            "mounts": mounts,
            "holders": holders,
            "model": device["model"],
            "serial": device["serial"],
            "rotational": super::storage::flag(&device["rota"]) == "1",
        }),
    );
    children.into_iter().for_each(|child| block(child, found));
}

/// What must be read for `boot_line`.
pub(super) fn line_reads(facts: &Facts) -> Vec<Read> {
    let mut reads = declared::reads(facts);
    reads.extend(known(CMDLINE).ok().map(|path| Read::text(&path)));
    reads
}

/// `boot_line`: the running kernel's arguments, and those that the files declare for the next boot with file, line and
/// variable of each.
pub(super) fn line(facts: &Facts) -> Result<Json, Stop> {
    let running = facts.value(&known(CMDLINE)?)?.unwrap_or_default();
    let declared: Vec<Json> = declared::declared(facts)?
        .into_iter()
        .map(|one| json!({ "arg": one.arg, "origin": one.origin }))
        .collect();
    let running: Vec<&str> = running.split_whitespace().collect();
    Ok(json!({ "running": running, "declared": declared }))
}

/// What must be read for `ceph_daemons`.
pub(super) fn daemon_reads(_: &Facts) -> Vec<Read> {
    CEPH.iter().chain([&CEPHADM]).map(|pattern| Read::Glob((*pattern).to_owned())).collect()
}

/// `ceph_daemons`: by kind (`osd`, `mon` …) and name, whether it runs: whether its socket is there.
pub(super) fn daemons(facts: &Facts) -> Result<Json, Stop> {
    facts.need(&daemon_reads(facts))?;
    let mut found: BTreeMap<&str, BTreeMap<String, bool>> = BTreeMap::new();
    let named = |text: &str, part: char| {
        let (kind, name) = text.split_once(part)?;
        KINDS.iter().find(|known| **known == kind).map(|kind| (*kind, name.to_owned()))
    };
    let of_packages = facts.names(CEPH[0])?.into_iter().filter_map(|path| {
        let kind = path.parent()?.name().to_owned();
        let kind = KINDS.iter().find(|known| **known == kind)?;
        Some((*kind, path.name().split_once('-')?.1.to_owned()))
    });
    let of_cephadm = facts.names(CEPH[1])?.into_iter().filter_map(|path| named(path.name(), '.'));
    for (kind, name) in of_packages.chain(of_cephadm) {
        found.entry(kind).or_default().insert(name, false);
    }
    for path in facts.names(CEPH[2])?.into_iter().chain(facts.names(CEPHADM)?) {
        let socket = path.name().strip_suffix(".asok").and_then(|name| name.split_once('-'));
        if let Some((kind, name)) = socket.and_then(|(_, daemon)| named(daemon, '.')) {
            found.entry(kind).or_default().insert(name, true);
        }
    }
    Ok(json!(found))
}

/// What must be read for `libvirt_domains`.
pub(super) fn domain_reads(_: &Facts) -> Vec<Read> {
    vec![Read::Ask(virsh::list(URI)), Read::Ask(virsh::active(URI))]
}

/// `libvirt_domains`: the persistent domains of the system's libvirt by name, with uuid and whether they run; empty
/// where there is no libvirt.
pub(super) fn domains(facts: &Facts) -> Result<Json, Stop> {
    facts.need(&domain_reads(facts))?;
    let (all, active) = (facts.output(&virsh::list(URI))?, facts.output(&virsh::active(URI))?);
    if all.status == 127 {
        return Ok(json!({}));
    }
    if all.status != 0 {
        return Err(Stop::failed(format!("libvirt cannot be asked: {}", all.error_text().trim())));
    }
    let active = active.text();
    let runs = |uuid: &str| active.lines().any(|line| line.trim() == uuid);
    let text = all.text();
    let domains: Map<String, Json> = text
        .lines()
        .filter_map(|line| line.trim().split_once(char::is_whitespace))
        .map(|(uuid, name)| (name.trim().to_owned(), json!({ "uuid": uuid, "running": runs(uuid) })))
        .collect();
    Ok(Json::Object(domains))
}

#[cfg(test)]
mod tests {
    use crate::guests::virsh;
    use crate::host::Host;
    use crate::vocabulary::{Output, Row, Seen};

    fn value(host: &Host, name: &str) -> serde_json::Value {
        super::super::tests::value(host, name).unwrap()
    }

    #[test]
    fn pages_are_told_by_size_and_node() {
        let pool = "/sys/kernel/mm/hugepages/hugepages-1048576kB";
        let node = "/sys/devices/system/node/node1/hugepages/hugepages-1048576kB";
        let host = Host::new()
            .value(&format!("{pool}/nr_hugepages"), "8")
            .value(&format!("{pool}/free_hugepages"), "3")
            .value(&format!("{pool}/nr_overcommit_hugepages"), "0")
            .value(&format!("{node}/nr_hugepages"), "8")
            .value(&format!("{node}/free_hugepages"), "3");
        let pages = value(&host, "huge_pages");
        assert_eq!((pages["1G"]["total"].as_u64(), pages["1G"]["free"].as_u64()), (Some(8), Some(3)));
        assert_eq!(pages["1G"]["nodes"]["1"]["free"], 3);
    }

    #[test]
    fn devices_are_told_with_what_is_on_and_made_of_them() {
        let text = include_str!("../../../tests/data/host-facts/lsblk.json");
        let row = Row::new("lsblk", Vec::<String>::new());
        let host = Host::new().answer(row, Seen::Output(Output::ok(text)));
        let devices = value(&host, "block_devices");
        let all = devices.as_object().unwrap();
        assert!(all.len() > 2, "partitions and volumes too: {devices}");
        let mounted = r#"{"blockdevices":[{"kname":"vda1","size":1048576,"type":"part","fstype":"ext4","mountpoints":["/",null]}]}"#;
        let row = Row::new("lsblk", Vec::<String>::new());
        let one = value(&Host::new().answer(row, Seen::Output(Output::ok(mounted))), "block_devices");
        assert_eq!((&one["vda1"]["signature"], &one["vda1"]["mounts"]), (&"ext4".into(), &vec!["/"].into()));
        let made = all.values().any(|device| !device["holders"].as_array().unwrap().is_empty());
        assert!(made, "{devices}");
    }

    #[test]
    fn the_boot_line_says_where_each_argument_is_written() {
        let host = Host::new()
            .file("/etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\nGRUB_CMDLINE_LINUX=\"nosmt\"\n")
            .file("/usr/sbin/grub-mkconfig", "#!/bin/sh\n")
            .value("/proc/cmdline", "root=/dev/sda1 quiet");
        let line = value(&host, "boot_line");
        assert_eq!(line["running"][1], "quiet");
        let nosmt = line["declared"].as_array().unwrap().iter().find(|one| one["arg"] == "nosmt").unwrap();
        assert!(nosmt["origin"].as_str().unwrap().contains("/etc/default/grub"), "{line}");
    }

    #[test]
    fn daemons_and_guests_are_told_with_whether_they_run() {
        let uuid = "6bd1ad0a-49bf-4981-a947-e133752baa00";
        let host = Host::new()
            .dir("/var/lib/ceph/osd/ceph-0")
            .dir("/var/lib/ceph/osd/ceph-1")
            .dir(&format!("/var/lib/ceph/{uuid}/osd.7"))
            .file("/run/ceph/ceph-osd.0.asok", "")
            .file("/run/ceph/ceph-mon.a.asok", "")
            .answer(virsh::list("qemu:///system"), Seen::Output(Output::ok(format!("{uuid} web\n"))))
            .answer(virsh::active("qemu:///system"), Seen::Output(Output::ok(format!("{uuid}\n"))));
        let daemons = value(&host, "ceph_daemons");
        assert_eq!(
            (&daemons["osd"]["0"], &daemons["osd"]["1"], &daemons["osd"]["7"]),
            (&true.into(), &false.into(), &false.into())
        );
        assert_eq!(daemons["mon"]["a"], true);
        assert_eq!(value(&host, "libvirt_domains")["web"]["running"], true);
        assert_eq!(value(&Host::new(), "libvirt_domains"), serde_json::json!({}));
    }
}
