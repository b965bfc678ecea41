//! Kernel arguments, settings of sysctl files and huge pages, as they are.
use super::Found;
use crate::draft::{Draft, known};
use crate::files::place;
use crate::kernel::kernel_args::line::Line;
use crate::kernel::kernel_args::pools::is_part;
use crate::kernel::kernel_args::token::{Key, Token};
use crate::kernel::sysctl::order::Order;
use crate::vocabulary::{Facts, Read, Stop};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

const CMDLINE: &str = "/proc/cmdline";
/// Arguments that name the host's own disks and images, or that the boot loader adds: they mean nothing elsewhere.
const OWN: [&str; 16] = [
    "BOOT_IMAGE",
    "initrd",
    "root",
    "rootfstype",
    "rootflags",
    "ro",
    "rw",
    "resume",
    "resume_offset",
    "rd.lvm.lv",
    "rd.luks.uuid",
    "rd.luks.name",
    "rd.md.uuid",
    "cryptdevice",
    "ostree",
    "systemd.machine_id",
];

fn is_own(token: &Token) -> bool {
    OWN.iter().any(|name| token.key() == Key::of(name)) || token.is_reference()
}

/// Kernel arguments: all at once where the files say the same, else one by one.
pub(super) fn line(facts: &Facts) -> Result<Vec<Found>, Stop> {
    let text = known(facts.value(&place::known(CMDLINE)?))?.flatten().unwrap_or_default();
    let line = Line::read(&text);
    let tokens: Vec<&Token> = line.args.iter().filter(|token| !is_own(token)).collect();
    let mut found = Vec::new();
    if tokens.is_empty() {
        return Ok(found);
    }
    let mut keys: BTreeMap<Key, Vec<&Token>> = BTreeMap::new();
    tokens.iter().for_each(|token| keys.entry(token.key()).or_default().push(token));
    let repeats = |key: &Key| keys[key].len() > 1 && !is_part(key);
    // Pools of huge pages are pairs whose order counts: they stay together.
    let pools: Vec<&str> =
        tokens.iter().filter(|token| is_part(&token.key())).map(|token| token.raw()).collect();
    if !pools.is_empty() {
        let args = json!({ "args": pools });
        found.push(Found::new(pools.join(" "), CMDLINE).way("Huge pages of the boot", "kernel_args", args));
    }
    for (key, same) in keys.iter().filter(|(key, _)| !is_part(key)) {
        let raws: Vec<&str> = same.iter().map(|token| token.raw()).collect();
        let args = if repeats(key) { json!({ "replace": raws }) } else { json!({ "args": raws }) };
        let name = format!("Kernel argument {key}");
        found.push(Found::new(raws.join(" "), CMDLINE).way(&name, "kernel_args", args));
    }
    Ok(found)
}

/// Tasks about arguments as one; none where there are not several.
pub(super) fn together(drafts: &[Draft]) -> Option<Draft> {
    let own: Vec<&Draft> = drafts.iter().filter(|draft| draft.module == "kernel_args").collect();
    let all = |name: &str| -> Vec<Json> {
        own.iter().flat_map(|draft| draft.args[name].as_array().cloned().unwrap_or_default()).collect()
    };
    let mut args = Map::new();
    for name in ["args", "replace"] {
        let words = all(name);
        args.extend((!words.is_empty()).then(|| (name.to_owned(), Json::Array(words))));
    }
    let whole = Draft::new("Kernel arguments", "kernel_args", Json::Object(args));
    (own.len() > 1)
        .then(|| whole.about(format!("from {CMDLINE}, and from the files of the boot loader alike")))
}

/// Settings that an administrator's files decide at boot.
pub(super) fn settings(facts: &Facts) -> Result<Vec<Found>, Stop> {
    let Some(order) = known(Order::read(facts))? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for (key, place) in order.decided() {
        // What distributions ship is theirs to say.
        if !place.file.as_str().starts_with("/etc/") {
            continue;
        }
        let source = format!("{}, line {}", place.file, place.line);
        let name = key.dotted();
        if name.contains(['*', '?', '[']) {
            let why = "it is a pattern, and a task names one setting";
            found.push(Found::new(format!("{name} = {}", place.value), source).because(why));
            continue;
        }
        let args = json!({ "name": name, "value": place.value, "state": "present" });
        let own = super::with(&args, "sysctl_file", json!(place.file.as_str()));
        found.push(
            Found::new(format!("{name} = {}", place.value), source)
                .way(&name, "sysctl", args)
                .way(&name, "sysctl", own),
        );
    }
    Ok(found)
}

/// Huge pages that the kernel keeps: by node where there are several.
pub(super) fn huge_pages(facts: &Facts) -> Result<Vec<Found>, Stop> {
    const NODES: &str = "/sys/devices/system/node/node*/hugepages/hugepages-*kB/nr_hugepages";
    facts.need(&[Read::Glob(NODES.to_owned())])?;
    let pools = known(crate::budget::pools_now(facts))?.unwrap_or_default();
    let paths = known(facts.names(NODES))?.unwrap_or_default();
    facts.need(&paths.iter().map(Read::text).collect::<Vec<_>>())?;
    let mut nodes: BTreeMap<u64, BTreeMap<String, u64>> = BTreeMap::new();
    for path in &paths {
        let parts: Vec<&str> = path.as_str().split('/').collect();
        let node = parts
            .iter()
            .find_map(|part| part.strip_prefix("node").filter(|rest| rest.parse::<u32>().is_ok()));
        let size = parts
            .iter()
            .find_map(|part| part.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse::<u64>().ok());
        let count = known(facts.value(path))?.flatten().and_then(|text| text.trim().parse::<u64>().ok());
        if let (Some(node), Some(size), Some(count)) = (node, size, count) {
            nodes.entry(size * 1024).or_default().insert(node.to_owned(), count);
        }
    }
    let mut found = Vec::new();
    for (size, count) in pools.into_iter().filter(|(_, count)| *count > 0) {
        let text = crate::budget::page_text(size);
        let name = format!("Huge pages of {text}");
        let mut one = Found::new(format!("{count} huge pages of {text}"), "/sys/kernel/mm/hugepages");
        let in_all = json!({ "size": text, "count": count });
        one = one.way(&name, "hugepages", in_all.clone());
        if let Some(by) = nodes.get(&size).filter(|by| by.len() > 1) {
            one = one.kept_or_live(&name, "hugepages", json!({ "size": text, "nodes": by }));
        }
        found.push(one.kept_or_live(&name, "hugepages", in_all));
    }
    Ok(found)
}
