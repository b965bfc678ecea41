//! Schedulers and read-ahead of disks, and the geometry of LVM, as they are.
use super::Found;
use crate::draft::known;
use crate::shape::{Shape, size_text};
use crate::vocabulary::{Facts, Read, Row, Stop};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// Devices that are made of others, or of nothing.
const MADE: [&str; 9] = ["loop", "ram", "zram", "dm-", "md", "sr", "fd", "nbd", "rbd"];

/// The value of a file of disks' queues, and the disks that have it.
fn by_value(facts: &Facts, file: &str) -> Result<BTreeMap<String, Vec<String>>, Stop> {
    let paths = known(facts.names(&format!("/sys/block/*/queue/{file}")))?.unwrap_or_default();
    facts.need(&paths.iter().map(Read::text).collect::<Vec<_>>())?;
    let mut by: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in &paths {
        let device = path.as_str().split('/').nth(3).unwrap_or_default();
        if MADE.iter().any(|made| device.starts_with(made)) {
            continue;
        }
        if let Some(value) = known(facts.value(path))?.flatten() {
            by.entry(value.trim().to_owned()).or_default().push(device.to_owned());
        }
    }
    Ok(by)
}

/// Schedulers and read-ahead.
pub(super) fn queues(facts: &Facts) -> Result<Vec<Found>, Stop> {
    let (schedulers, ahead) = (by_value(facts, "scheduler"), by_value(facts, "read_ahead_kb"));
    let mut both = crate::vocabulary::all([schedulers, ahead])?.into_iter();
    let mut found = Vec::new();
    for (value, devices) in both.next().unwrap_or_default() {
        let scheduler = Shape::Choice.written(&value);
        let args = json!({ "devices": devices, "scheduler": scheduler });
        let what = format!("scheduler {scheduler} of {}", devices.join(", "));
        found.push(Found::new(&what, "/sys/block/*/queue/scheduler").kept_or_live(
            &what,
            "io_scheduler",
            args,
        ));
    }
    for (value, devices) in both.next().unwrap_or_default() {
        let size = if value == "0" { json!("none") } else { json!(format!("{value}K")) };
        let args = json!({ "devices": devices, "size": size });
        let what = format!("read-ahead of {}", devices.join(", "));
        found.push(Found::new(&what, "/sys/block/*/queue/read_ahead_kb").kept_or_live(
            &what,
            "read_ahead",
            args,
        ));
    }
    Ok(found)
}

/// A line of `LVM2_FIELD=value` pairs.
fn fields(line: &str) -> BTreeMap<String, String> {
    let pair = |word: &str| {
        let (name, value) = word.strip_prefix("LVM2_")?.split_once('=')?;
        Some((name.to_ascii_lowercase(), value.to_owned()))
    };
    line.split_whitespace().filter_map(pair).collect()
}

fn lines(facts: &Facts, name: &str) -> Result<Vec<BTreeMap<String, String>>, Stop> {
    let output = known(facts.output(&Row::new(name, Vec::<String>::new())))?;
    let text = output.filter(|output| output.status == 0).map(|output| output.text()).unwrap_or_default();
    Ok(text.lines().map(fields).filter(|fields| !fields.is_empty()).collect())
}

fn size(bytes: &str) -> Json {
    match bytes.parse::<u64>() {
        Ok(bytes) => {
            let text = size_text(bytes);
            let short =
                [(" TiB", "T"), (" GiB", "G"), (" MiB", "M"), (" KiB", "K"), (" PiB", "P"), (" B", "B")];
            json!(short.iter().fold(text, |text, (long, short)| text.replace(long, short)))
        }
        Err(_) => json!(bytes),
    }
}

/// Extents, chunks, zeroing and read-ahead of LVM.
pub(super) fn volumes(facts: &Facts) -> Result<Vec<Found>, Stop> {
    let asked = ["lvm-groups", "lvm-volumes"].map(|name| Read::Ask(Row::new(name, Vec::<String>::new())));
    facts.need(&asked)?;
    let mut found = Vec::new();
    for group in lines(facts, "lvm-groups")? {
        let get = |name: &str| group.get(name).map_or("", String::as_str);
        let name = get("vg_name");
        let args = json!({ "vg": name, "extent_size": size(get("vg_extent_size")) });
        found.push(Found::new(format!("the volume group {name}"), "vgs").way(
            &format!("Extents of {name}"),
            "lvm_vg",
            args,
        ));
    }
    for volume in lines(facts, "lvm-volumes")? {
        let get = |name: &str| volume.get(name).map_or("", String::as_str);
        let (group, name, layout) = (get("vg_name"), get("lv_name"), get("lv_layout"));
        let kinds: Vec<&str> = layout.split(',').collect();
        let one = Found::new(format!("the volume {group}/{name}"), "lvs");
        found.push(if kinds.contains(&"pool") && kinds.contains(&"thin") {
            let args = json!({
                "vg": group,
                "pool": name,
                "size": size(get("lv_size")),
                "chunk_size": size(get("chunk_size")),
                "zero": get("zero") == "1",
                "tenants": if get("zero") == "1" { "many" } else { "one" },
            });
            one.way(&format!("The thin pool {group}/{name}"), "lvm_thin_pool", args)
        } else if !get("origin").is_empty() {
            one.because("it is a snapshot, which a playbook would take anew")
        } else {
            let mut args = json!({ "vg": group, "lv": name, "size": size(get("lv_size")) });
            let pool = get("pool_lv");
            if !pool.is_empty() {
                args = super::with(&args, "thinpool", json!(pool));
            }
            let ahead = match get("lv_read_ahead") {
                "0" => json!("none"),
                "auto" => json!("auto"),
                // LVM counts it in bytes where it is asked for bytes.
                bytes => size(bytes),
            };
            let full = super::with(&args, "read_ahead", ahead);
            one.way(&format!("The volume {group}/{name}"), "lvm_lv", full).way(
                &format!("The volume {group}/{name}"),
                "lvm_lv",
                args,
            )
        });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Host;
    use crate::vocabulary::{Output, Seen};

    #[test]
    fn geometry_is_told_in_its_units() {
        let row = |name: &str| Row::new(name, Vec::<String>::new());
        let answer = |text: &str| Seen::Output(Output::ok(text));
        let volumes = "  LVM2_VG_NAME=vg0 LVM2_LV_NAME=thin LVM2_LV_LAYOUT=thin,pool LVM2_LV_SIZE=322122547200 LVM2_POOL_LV= \
             LVM2_ORIGIN= LVM2_LV_READ_AHEAD=auto LVM2_CHUNK_SIZE=4194304 LVM2_ZERO=0\n  LVM2_VG_NAME=vg0 LVM2_LV_NAME=vm1 \
             LVM2_LV_LAYOUT=linear LVM2_LV_SIZE=107374182400 LVM2_POOL_LV= LVM2_ORIGIN= LVM2_LV_READ_AHEAD=0 LVM2_CHUNK_SIZE=0 \
             LVM2_ZERO=\n  LVM2_VG_NAME=vg0 LVM2_LV_NAME=snap LVM2_LV_LAYOUT=thin,sparse LVM2_LV_SIZE=1024 LVM2_POOL_LV=thin \
             LVM2_ORIGIN=vm1 LVM2_LV_READ_AHEAD=auto LVM2_CHUNK_SIZE=0 LVM2_ZERO=\n";
        let host = Host::new()
            .answer(row("lvm-groups"), answer("  LVM2_VG_NAME=vg0 LVM2_VG_EXTENT_SIZE=268435456\n"))
            .answer(row("lvm-volumes"), answer(volumes));
        let reads = ["lvm-groups", "lvm-volumes"].map(|name| Read::Ask(row(name)));
        let found = volumes_of(&host, reads);
        assert_eq!(found[0].ways[0].args, json!({ "vg": "vg0", "extent_size": "256M" }));
        let pool = json!({
            "vg": "vg0", "pool": "thin", "size": "300G", "chunk_size": "4M", "zero": false, "tenants": "one"
        });
        assert_eq!(found[1].ways[0].args, pool);
        let plain = json!({ "vg": "vg0", "lv": "vm1", "size": "100G", "read_ahead": "none" });
        assert_eq!(found[2].ways[0].args, plain);
        assert!(found[3].why_not.as_deref().unwrap().contains("snapshot"));
    }

    fn volumes_of(host: &Host, reads: [Read; 2]) -> Vec<Found> {
        volumes(&host.facts(reads)).unwrap()
    }
}
