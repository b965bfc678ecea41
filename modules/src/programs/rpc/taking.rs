//! What rows take from the answers of an SPDK target: the state, without what moves by itself.
use crate::vocabulary::Seen;
use serde_json::{Map, Value as Json, json};

type Taken = Result<Seen, String>;

fn value(json: &Json) -> Seen {
    Seen::Value(json.to_string())
}

fn list<'a>(result: &'a Json, what: &str) -> Result<&'a Vec<Json>, String> {
    result.as_array().ok_or_else(|| format!("it is no list of {what}"))
}

fn text<'a>(of: &'a Json, key: &str) -> Result<&'a str, String> {
    of.get(key).and_then(Json::as_str).ok_or_else(|| format!("`{key}` is missing"))
}

fn number(of: &Json, key: &str) -> Result<u64, String> {
    of.get(key).and_then(Json::as_u64).ok_or_else(|| format!("`{key}` is missing"))
}

/// `SPDK v23.05`.
pub(super) fn version(_: &[String], result: &Json) -> Taken {
    text(result, "version").map(|text| Seen::Value(text.to_owned()))
}

/// `0,1`: the cores in order.
pub(super) fn reactors(_: &[String], result: &Json) -> Taken {
    let reactors = result.get("reactors").unwrap_or(&Json::Null);
    let mut cores: Vec<u64> = list(reactors, "reactors")?
        .iter()
        .map(|reactor| number(reactor, "lcore"))
        .collect::<Result<_, _>>()?;
    cores.sort_unstable();
    let words: Vec<String> = cores.iter().map(u64::to_string).collect();
    Ok(Seen::Value(words.join(",")))
}

/// What a block device is made of, without what is made by chance (a uuid).
fn made_of(bdev: &Json) -> Result<Map<String, Json>, String> {
    let specific = bdev.get("driver_specific").unwrap_or(&Json::Null);
    let file_of = |kind: &str| specific.get(kind).and_then(|own| own.get("filename")).cloned();
    let product = text(bdev, "product_name")?;
    let mut made = Map::new();
    let mut set = |key: &str, value: Json| drop(made.insert(key.to_owned(), value));
    match (file_of("aio"), file_of("uring")) {
        (Some(file), _) => {
            set("kind", json!("aio"));
            set("file", file);
        }
        (None, Some(file)) => {
            set("kind", json!("uring"));
            set("file", file);
        }
        (None, None) if product == "Malloc disk" => {
            set("kind", json!("malloc"));
            set("num_blocks", json!(number(bdev, "num_blocks")?));
        }
        (None, None) if specific.get("nvme").is_some() => set("kind", json!("nvme")),
        (None, None) => set("kind", json!(product)),
    }
    set("block_size", json!(number(bdev, "block_size")?));
    Ok(made)
}

/// Each with its name and size.
pub(super) fn bdevs(_: &[String], result: &Json) -> Taken {
    let mut all: Vec<(String, Json)> = Vec::new();
    for bdev in list(result, "block devices")? {
        let name = text(bdev, "name")?.to_owned();
        let mut made = made_of(bdev)?;
        made.insert("name".to_owned(), json!(name));
        made.insert("num_blocks".to_owned(), json!(number(bdev, "num_blocks")?));
        all.push((name, Json::Object(made)));
    }
    all.sort_by(|(one, _), (two, _)| one.cmp(two));
    Ok(value(&all.into_iter().map(|(_, made)| made).collect()))
}

pub(super) fn bdev(args: &[String], result: &Json) -> Taken {
    let wanted = &args[0];
    let is_it = |bdev: &&Json| {
        let alias = bdev.get("aliases").and_then(Json::as_array);
        bdev.get("name").and_then(Json::as_str) == Some(wanted)
            || alias.is_some_and(|names| names.iter().any(|name| name.as_str() == Some(wanted)))
    };
    match list(result, "block devices")?.iter().find(is_it) {
        Some(bdev) => Ok(value(&Json::Object(made_of(bdev)?))),
        None => Ok(Seen::Absent),
    }
}

fn attached(controller: &Json) -> Json {
    let path = controller.get("ctrlrs").and_then(|paths| paths.get(0)).unwrap_or(controller);
    let trid = path.get("trid").unwrap_or(&Json::Null);
    let part = |key: &str| trid.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
    json!({ "trtype": part("trtype").to_ascii_lowercase(), "traddr": part("traddr") })
}

pub(super) fn nvme_controllers(_: &[String], result: &Json) -> Taken {
    let mut all: Vec<Json> = Vec::new();
    for controller in list(result, "controllers")? {
        let mut one = attached(controller);
        one["name"] = json!(text(controller, "name")?);
        all.push(one);
    }
    Ok(value(&Json::Array(all)))
}

pub(super) fn nvme_controller(args: &[String], result: &Json) -> Taken {
    let found = list(result, "controllers")?
        .iter()
        .find(|controller| controller.get("name").and_then(Json::as_str) == Some(args[0].as_str()));
    Ok(found.map_or(Seen::Absent, |controller| value(&attached(controller))))
}

/// A mask as the target writes it: `0x2` here, `2` there.
pub(super) fn mask(text: &str) -> Result<String, String> {
    let digits = text.trim_start_matches("0x").trim_start_matches("0X").trim_start_matches('0');
    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(format!("`{text}` is no mask of cores"));
    }
    Ok(format!("0x{}", if digits.is_empty() { "0" } else { digits }.to_ascii_lowercase()))
}

fn kind_of(controller: &Json) -> Result<Map<String, Json>, String> {
    let backend = controller.get("backend_specific").unwrap_or(&Json::Null);
    let mut one = Map::new();
    let mut set = |key: &str, value: Json| drop(one.insert(key.to_owned(), value));
    match backend.get("block") {
        Some(block) => {
            set("kind", json!("blk"));
            set("cpumask", json!(mask(text(controller, "cpumask")?)?));
            set("bdev", json!(block.get("bdev").and_then(Json::as_str)));
            set("readonly", json!(block.get("readonly").and_then(Json::as_bool).unwrap_or_default()));
        }
        None if backend.get("scsi").is_some() => {
            set("kind", json!("scsi"));
            set("cpumask", json!(mask(text(controller, "cpumask")?)?));
        }
        None => set("kind", json!("other")),
    }
    Ok(one)
}

/// The slots that are taken: number and block device.
fn slots_of(controller: &Json) -> Vec<(String, String)> {
    let slots = controller.get("backend_specific").and_then(|backend| backend.get("scsi"));
    let slots = slots.and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
    slots
        .iter()
        .filter_map(|slot| {
            let number = slot.get("scsi_dev_num")?.as_u64()?;
            let lun = slot.get("luns").and_then(|luns| luns.get(0));
            let bdev = lun.and_then(|lun| lun.get("bdev_name")).and_then(Json::as_str).unwrap_or_default();
            Some((number.to_string(), bdev.to_owned()))
        })
        .collect()
}

fn sessions_of(controller: &Json) -> Vec<String> {
    let sessions = controller.get("sessions").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
    let name = |session: &Json| match session.get("name").and_then(Json::as_str) {
        Some(name) => name.to_owned(),
        None => "a session without a name".to_owned(),
    };
    sessions.iter().map(name).collect()
}

fn find<'a>(result: &'a Json, name: &str) -> Result<Option<&'a Json>, String> {
    let all = list(result, "controllers")?;
    Ok(all.iter().find(|controller| controller.get("ctrlr").and_then(Json::as_str) == Some(name)))
}

/// Each with its name, kind, slots, sessions and socket.
pub(super) fn controllers(_: &[String], result: &Json) -> Taken {
    let mut all: Vec<(String, Json)> = Vec::new();
    for controller in list(result, "controllers")? {
        let name = text(controller, "ctrlr")?.to_owned();
        let mut one = kind_of(controller)?;
        let slots: Map<String, Json> =
            slots_of(controller).into_iter().map(|(slot, bdev)| (slot, json!(bdev))).collect();
        one.insert("name".to_owned(), json!(name));
        one.insert("slots".to_owned(), Json::Object(slots));
        one.insert("sessions".to_owned(), json!(sessions_of(controller)));
        one.insert("socket".to_owned(), json!(controller.get("socket").and_then(Json::as_str)));
        all.push((name, Json::Object(one)));
    }
    all.sort_by(|(one, _), (two, _)| one.cmp(two));
    Ok(value(&all.into_iter().map(|(_, one)| one).collect()))
}

pub(super) fn controller(args: &[String], result: &Json) -> Taken {
    match find(result, &args[0])? {
        Some(controller) => Ok(value(&Json::Object(kind_of(controller)?))),
        None => Ok(Seen::Absent),
    }
}

pub(super) fn slot(args: &[String], result: &Json) -> Taken {
    let Some(controller) = find(result, &args[0])? else { return Ok(Seen::Absent) };
    let found = slots_of(controller).into_iter().find(|(number, _)| *number == args[1]);
    Ok(found.map_or(Seen::Absent, |(_, bdev)| Seen::Value(bdev)))
}

/// A list of names; absent where there is no such controller.
pub(super) fn sessions(args: &[String], result: &Json) -> Taken {
    Ok(find(result, &args[0])?.map_or(Seen::Absent, |controller| value(&json!(sessions_of(controller)))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_numbers() {
        for (text, wanted) in [("0x2", "0x2"), ("2", "0x2"), ("0x0F", "0xf"), ("0", "0x0")] {
            assert_eq!(mask(text).unwrap(), wanted);
        }
        assert!(mask("[0-1]").is_err());
    }
}
