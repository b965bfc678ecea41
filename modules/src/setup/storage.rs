//! Facts of block devices and mounts, from lsblk and findmnt.
use crate::shape::size_text;
use crate::vocabulary::{Facts, Read, Row, Stop};
use serde_json::{Map, Value as Json, json};

fn row(name: &str) -> Row {
    Row::new(name, Vec::<String>::new())
}

pub(super) fn asked(facts: &Facts, name: &str, key: &str) -> Result<Vec<Json>, Stop> {
    let output = facts.output(&row(name))?;
    if output.status == 127 {
        return Err(
            Stop::failed(format!("this host has no `{name}`")).way_out("install the package `util-linux`")
        );
    }
    let text = output.text();
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let answer: Json = serde_json::from_str(&text)
        .map_err(|why| Stop::failed(format!("`{name}` does not answer in JSON: {why}")))?;
    Ok(answer[key].as_array().cloned().unwrap_or_default())
}

pub(super) fn device_reads(_: &Facts) -> Vec<Read> {
    vec![Read::Ask(row("lsblk"))]
}

/// A truth value, which older versions of lsblk write as text.
pub(super) fn flag(value: &Json) -> &'static str {
    if *value == json!(true) || *value == json!("1") { "1" } else { "0" }
}

/// A number, which older versions of lsblk write as text.
pub(super) fn number(value: &Json) -> u64 {
    value.as_u64().or_else(|| value.as_str()?.parse().ok()).unwrap_or(0)
}

fn children(device: &Json) -> impl Iterator<Item = &Json> {
    device["children"].as_array().into_iter().flatten()
}

/// `devices`: whole devices by name, with their partitions and holders. Sizes are as people read them; sectors are
/// 512 bytes.
pub(super) fn devices(facts: &Facts) -> Result<Json, Stop> {
    let mut devices = Map::new();
    for device in asked(facts, "lsblk", "blockdevices")? {
        let Some(name) = device["kname"].as_str().or(device["name"].as_str()) else { continue };
        let bytes = number(&device["size"]);
        let of_type = |child: &&Json, part: bool| (child["type"] == "part") == part;
        let partitions: Map<String, Json> = children(&device)
            .filter(|child| of_type(child, true))
            .filter_map(|child| Some((child["kname"].as_str()?.to_owned(), partition(child))))
            .collect();
        let holders: Vec<&str> = children(&device)
            .filter(|child| of_type(child, false))
            .filter_map(|child| child["name"].as_str())
            .collect();
        devices.insert(
            name.to_owned(),
            json!({
                "size": size_text(bytes),
                "sectors": bytes / 512,
                "sectorsize": number(&device["log-sec"]).to_string(),
                "model": device["model"],
                "vendor": device["vendor"],
                "serial": device["serial"],
                "wwn": device["wwn"],
                "rotational": flag(&device["rota"]),
                "removable": flag(&device["rm"]),
                "scheduler_mode": device["sched"].as_str().unwrap_or_default(),
                "holders": holders,
                "partitions": partitions,
            }),
        );
    }
    Ok(Json::Object(devices))
}

fn partition(child: &Json) -> Json {
    let bytes = number(&child["size"]);
    let holders: Vec<&str> = children(child).filter_map(|holder| holder["name"].as_str()).collect();
    json!({
        "size": size_text(bytes),
        "sectors": bytes / 512,
        "start": number(&child["start"]),
        "uuid": child["uuid"],
        "holders": holders,
    })
}

pub(super) fn mount_reads(_: &Facts) -> Vec<Read> {
    vec![Read::Ask(row("mounts"))]
}

/// `mounts`; sizes are bytes.
pub(super) fn mounts(facts: &Facts) -> Result<Json, Stop> {
    let mounts: Vec<Json> = asked(facts, "mounts", "filesystems")?
        .iter()
        .map(|mount| {
            json!({
                "mount": mount["target"],
                "device": mount["source"],
                "fstype": mount["fstype"],
                "options": mount["options"],
                "size_total": number(&mount["size"]),
                "size_available": number(&mount["avail"]),
                "uuid": mount["uuid"].as_str().unwrap_or("N/A"),
            })
        })
        .collect();
    Ok(json!(mounts))
}
