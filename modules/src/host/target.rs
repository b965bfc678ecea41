//! An SPDK target in memory: what it answers was recorded from a real one (SPDK v23.05), its errors included.
use serde_json::{Map, Value as Json, json};

/// An SPDK target in memory. Hosts in memory hold one for a socket; a test may serve it over a real socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    bdevs: Vec<Json>,
    nvme: Vec<(String, String)>,
    controllers: Vec<Json>,
    cores: Vec<u32>,
    memory: u64,
    devices: Vec<String>,
    dead: bool,
}

type Answer = Result<Json, (i64, &'static str)>;

const UNDECODED: (i64, &str) = (-32603, "spdk_json_decode_object failed");
const EXISTS: (i64, &str) = (-17, "File exists");
const NO_DEVICE: (i64, &str) = (-19, "No such device");
const INVALID: (i64, &str) = (-22, "Invalid argument");
/// vhost methods say everything with one code.
const VHOST_INVALID: (i64, &str) = (-32602, "Invalid argument");
const VHOST_EXISTS: (i64, &str) = (-32602, "File exists");
const VHOST_NO_DEVICE: (i64, &str) = (-32602, "No such device");
const VHOST_IO: (i64, &str) = (-32602, "Input/output error");
const VHOST_BUSY: (i64, &str) = (-32602, "Device or resource busy");

impl Target {
    /// A target that runs on these cores, with so many bytes of huge pages for its devices.
    pub fn new(cores: &[u32], memory: u64) -> Self {
        Self {
            bdevs: Vec::new(),
            nvme: Vec::new(),
            controllers: Vec::new(),
            cores: cores.to_vec(),
            memory,
            devices: Vec::new(),
            dead: false,
        }
    }

    /// Adds a PCI address that is bound to a user-space driver and can be attached.
    pub fn device(mut self, address: &str) -> Self {
        self.devices.push(address.to_owned());
        self
    }

    /// Carries out a method that must go well.
    ///
    /// # Panics
    /// Where it does not: targets are set up by tests.
    pub fn with(mut self, method: &str, params: Json) -> Self {
        self.call(method, &params).unwrap_or_else(|(code, words)| panic!("{method}: {words} ({code})"));
        self
    }

    /// Lets a client hold a controller open.
    pub fn session(mut self, controller: &str) -> Self {
        self.connect(controller);
        self
    }

    /// Lets a client hold a controller open. A client that only connects counts.
    pub fn connect(&mut self, controller: &str) {
        if let Some(at) = self.controller(controller) {
            let name = format!("{controller}s0");
            self.controllers[at]["sessions"] = json!([{ "vid": 0, "id": 0, "name": name, "started": false,
                "max_queues": 0, "inflight_task_cnt": 0 }]);
        }
    }

    /// Lets the client go.
    pub fn disconnect(&mut self, controller: &str) {
        if let Some(at) = self.controller(controller) {
            self.controllers[at]["sessions"] = json!([]);
        }
    }

    /// Whether it has died of what was asked of it.
    pub fn is_dead(&self) -> bool {
        self.dead
    }

    /// Answers one request; none where a real one closes the connection or says nothing.
    pub fn answer(&mut self, request: &Json) -> Option<Json> {
        let id = request.get("id").cloned();
        let invalid = |id: Json| json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32600, "message": "Invalid request" } });
        if !request.is_object() || request.get("jsonrpc").is_some_and(|version| version != "2.0") {
            return Some(invalid(Json::Null));
        }
        let id = id.filter(|id| !id.is_null())?;
        let params = request.get("params").cloned().unwrap_or(Json::Null);
        if !(params.is_null() || params.is_object() || params.is_array()) {
            return Some(invalid(id));
        }
        let method = request.get("method").and_then(Json::as_str).unwrap_or_default();
        let answer = self.call(method, &params);
        if self.dead {
            return None;
        }
        Some(match answer {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err((code, message)) => {
                json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
            }
        })
    }

    /// Carries out one method.
    ///
    /// # Errors
    /// Code and message, as a real target says them.
    pub fn call(&mut self, method: &str, params: &Json) -> Answer {
        if self.controllers.iter().any(|one| one.get("doomed").is_some()) {
            self.dead = true;
        }
        match method {
            "spdk_get_version" => Ok(json!({ "version": "SPDK v23.05",
                "fields": { "major": 23, "minor": 5, "patch": 0, "suffix": "" } })),
            "framework_wait_init" => Ok(json!(true)),
            "framework_get_reactors" => {
                let reactors: Vec<Json> = self
                    .cores
                    .iter()
                    .map(|core| {
                        json!({ "lcore": core, "busy": 1_849_016_754_u64, "idle": 49_104_568_396_u64,
                        "in_interrupt": false, "lw_threads": [] })
                    })
                    .collect();
                Ok(json!({ "tick_rate": 2_600_000_000_u64, "reactors": reactors }))
            }
            "bdev_get_bdevs" => self.named(params, "name", "name", &self.bdevs, NO_DEVICE),
            "vhost_get_controllers" => {
                self.named(params, "name", "ctrlr", &self.controllers, (-32603, "No such device"))
            }
            "bdev_nvme_get_controllers" => Ok(self
                .nvme
                .iter()
                .map(|(name, address)| {
                    json!({ "name": name, "ctrlrs": [{ "state": "enabled", "cntlid": 0,
                    "trid": { "trtype": "PCIe", "traddr": address } }] })
                })
                .collect()),
            "bdev_malloc_create" => self.malloc(params),
            "bdev_aio_create" | "bdev_uring_create" => self.file(method, params),
            "bdev_malloc_delete" => self.delete(params, "Malloc disk"),
            "bdev_aio_delete" => self.delete(params, "AIO disk"),
            "bdev_uring_delete" => self.delete(params, "URING bdev"),
            "bdev_nvme_attach_controller" => self.attach(params),
            "bdev_nvme_detach_controller" => self.detach(params),
            "vhost_create_scsi_controller" => self.controller_of(params, json!({ "scsi": [] })),
            "vhost_create_blk_controller" => self.blk(params),
            "vhost_delete_controller" => self.delete_controller(params),
            "vhost_scsi_controller_add_target" => self.add_target(params),
            "vhost_scsi_controller_remove_target" => self.remove_target(params),
            _ => Err((-32601, "Method not found")),
        }
    }

    fn named(
        &self,
        params: &Json,
        asked: &str,
        key: &str,
        all: &[Json],
        missing: (i64, &'static str),
    ) -> Answer {
        if params.is_null() {
            return Ok(Json::Array(all.to_vec()));
        }
        let params = decoded(params, &[], &[asked])?;
        let Some(name) = params.get(asked) else { return Ok(Json::Array(all.to_vec())) };
        let name = name.as_str().ok_or(UNDECODED)?;
        match all.iter().find(|one| one[key] == name) {
            Some(one) => Ok(json!([one])),
            None => Err(missing),
        }
    }

    fn bdev(&self, name: &str) -> Option<usize> {
        self.bdevs.iter().position(|bdev| bdev["name"] == name || bdev["uuid"] == name)
    }

    fn controller(&self, name: &str) -> Option<usize> {
        self.controllers.iter().position(|controller| controller["ctrlr"] == name)
    }

    fn add(&mut self, name: &str, product: &str, size: (u64, u64), uuid: String, specific: Json) -> Answer {
        if name.is_empty() {
            return Err(INVALID);
        }
        if self.bdev(name).is_some() || self.bdev(&uuid).is_some() {
            return Err(EXISTS);
        }
        let (block_size, num_blocks) = size;
        self.bdevs.push(json!({ "name": name, "aliases": [uuid], "product_name": product,
            "block_size": block_size, "num_blocks": num_blocks, "uuid": uuid, "claimed": false, "zoned": false,
            "driver_specific": specific }));
        Ok(json!(name))
    }

    fn malloc(&mut self, params: &Json) -> Answer {
        let params = decoded(params, &["num_blocks", "block_size"], &["name", "uuid"])?;
        let (num_blocks, block_size) = (whole(&params["num_blocks"])?, whole(&params["block_size"])?);
        let name = optional(&params, "name")?.unwrap_or("Malloc0").to_owned();
        let is_uuid = |text: &str| {
            text.len() == 36 && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
        };
        if optional(&params, "uuid")?.is_some_and(|text| !is_uuid(text)) {
            return Err(UNDECODED);
        }
        let uuid = optional(&params, "uuid")?.map(str::to_owned).unwrap_or_else(|| uuid_of(&name));
        if num_blocks == 0 {
            return Err(INVALID);
        }
        if block_size == 0 {
            return Err((-12, "Cannot allocate memory"));
        }
        if !block_size.is_multiple_of(512) {
            return Err(INVALID);
        }
        let taken = self.bdevs.iter().filter(|bdev| bdev["product_name"] == "Malloc disk");
        let taken: u64 =
            taken.filter_map(|bdev| Some(bdev["block_size"].as_u64()? * bdev["num_blocks"].as_u64()?)).sum();
        if taken.saturating_add(num_blocks.saturating_mul(block_size)) > self.memory {
            return Err((-12, "Cannot allocate memory"));
        }
        self.add(&name, "Malloc disk", (block_size, num_blocks), uuid, json!({}))
    }

    fn file(&mut self, method: &str, params: &Json) -> Answer {
        let params = decoded(params, &["name", "filename"], &["block_size", "readonly"])?;
        let (name, file) = (string(&params, "name")?.to_owned(), string(&params, "filename")?.to_owned());
        let block_size = params.get("block_size").map(whole).transpose()?.unwrap_or_default();
        if file.starts_with("/nonexistent") {
            return Err((-2, "No such file or directory"));
        }
        if self.bdev(&name).is_some() {
            return Err(EXISTS);
        }
        if block_size < 512 || !block_size.is_power_of_two() || file.contains("odd") {
            return Err(INVALID);
        }
        let (product, kind) = match method {
            "bdev_aio_create" => ("AIO disk", "aio"),
            _ => ("URING bdev", "uring"),
        };
        let mut specific = Map::new();
        specific.insert(kind.to_owned(), json!({ "filename": file }));
        let size = (block_size, (8 << 20) / block_size);
        self.add(&name, product, size, uuid_of(&name), Json::Object(specific))
    }

    fn delete(&mut self, params: &Json, product: &str) -> Answer {
        let params = decoded(params, &["name"], &[])?;
        let name = string(&params, "name")?.to_owned();
        let at = self.bdev(&name).filter(|at| self.bdevs[*at]["product_name"] == product).ok_or(NO_DEVICE)?;
        self.bdevs.remove(at);
        self.unplug(&name);
        Ok(json!(true))
    }

    /// Hot removal: a slot is emptied; a blk controller stays and then fails all I/O.
    fn unplug(&mut self, bdev: &str) {
        for controller in &mut self.controllers {
            if let Some(slots) = controller["backend_specific"]["scsi"].as_array_mut() {
                slots.retain(|slot| slot["luns"][0]["bdev_name"] != bdev);
            }
        }
    }

    fn attach(&mut self, params: &Json) -> Answer {
        let optional = ["adrfam", "trsvcid", "subnqn"];
        let params = decoded(params, &["name", "trtype", "traddr"], &optional)?;
        let (name, address) = (string(&params, "name")?.to_owned(), string(&params, "traddr")?.to_owned());
        let local = string(&params, "trtype")?.eq_ignore_ascii_case("pcie");
        if !local || !self.devices.contains(&address) || self.nvme.iter().any(|(_, at)| *at == address) {
            return Err(NO_DEVICE);
        }
        let bdev = format!("{name}n1");
        let nvme = json!({ "nvme": [{ "pci_address": address }] });
        self.add(&bdev, "NVMe disk", (512, 1_953_525_168), uuid_of(&bdev), nvme)?;
        self.nvme.push((name, address));
        Ok(json!([bdev]))
    }

    fn detach(&mut self, params: &Json) -> Answer {
        let params = decoded(params, &["name"], &[])?;
        let name = string(&params, "name")?.to_owned();
        let at = self.nvme.iter().position(|(known, _)| *known == name).ok_or(NO_DEVICE)?;
        self.nvme.remove(at);
        let bdev = format!("{name}n1");
        self.bdevs.retain(|known| known["name"] != bdev.as_str());
        self.unplug(&bdev);
        Ok(json!(true))
    }

    fn controller_of(&mut self, params: &Json, backend: Json) -> Answer {
        let params =
            decoded(params, &["ctrlr"], &["cpumask", "dev_name", "readonly"]).map_err(|_| VHOST_INVALID)?;
        let name = string(&params, "ctrlr")?.to_owned();
        let own: u64 = self.cores.iter().map(|core| 1 << core).sum();
        let mask = match optional(&params, "cpumask")? {
            None => own,
            Some(text) => {
                u64::from_str_radix(text.trim_start_matches("0x"), 16).map_err(|_| VHOST_INVALID)?
            }
        };
        if mask == 0 || mask & !own != 0 {
            return Err(VHOST_INVALID);
        }
        // A name that does not fit into the path of a socket is accepted: no guest can connect then.
        if name.is_empty() || name.contains('/') {
            return Err(VHOST_IO);
        }
        if self.controller(&name).is_some() {
            return Err(VHOST_EXISTS);
        }
        self.controllers.push(json!({ "ctrlr": name, "cpumask": format!("{mask:#x}"), "delay_base_us": 0,
            "iops_threshold": 60000, "socket": format!("/var/tmp/{name}"), "sessions": [],
            "backend_specific": backend }));
        Ok(json!(true))
    }

    fn blk(&mut self, params: &Json) -> Answer {
        // Unknown keys are ignored here, and nowhere else.
        let known = ["ctrlr", "cpumask", "dev_name", "readonly"];
        let params: Map<String, Json> = params
            .as_object()
            .ok_or((-32602, "Invalid argument"))?
            .iter()
            .filter(|(key, _)| known.contains(&key.as_str()))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let bdev = string(&params, "dev_name")?.to_owned();
        if self.bdev(&bdev).is_none() {
            return Err(VHOST_NO_DEVICE);
        }
        let readonly = params.get("readonly").and_then(Json::as_bool).unwrap_or_default();
        let block = json!({ "block": { "readonly": readonly, "bdev": bdev, "transport": "vhost_user_blk" } });
        self.controller_of(&Json::Object(params), block)
    }

    fn delete_controller(&mut self, params: &Json) -> Answer {
        let params = decoded(params, &["ctrlr"], &[]).map_err(|_| VHOST_INVALID)?;
        let at = self.controller(string(&params, "ctrlr")?).ok_or(VHOST_NO_DEVICE)?;
        let held = self.controllers[at]["sessions"].as_array().is_some_and(|held| !held.is_empty());
        let is_blk = self.controllers[at]["backend_specific"]["block"].is_object();
        match (held, is_blk) {
            (true, true) => Err(VHOST_BUSY),
            (true, false) => {
                // It answers true, and dies of the next call.
                self.controllers[at]["doomed"] = json!(true);
                Ok(json!(true))
            }
            (false, _) => {
                self.controllers.remove(at);
                Ok(json!(true))
            }
        }
    }

    fn add_target(&mut self, params: &Json) -> Answer {
        let params =
            decoded(params, &["ctrlr", "scsi_target_num", "bdev_name"], &[]).map_err(|_| VHOST_INVALID)?;
        let (bdev, number) = (string(&params, "bdev_name")?.to_owned(), &params["scsi_target_num"]);
        let at = self.controller(string(&params, "ctrlr")?).ok_or(VHOST_NO_DEVICE)?;
        let number = number.as_i64().ok_or(VHOST_INVALID)?;
        let is_taken =
            |slots: &Vec<Json>, number: i64| slots.iter().any(|slot| slot["scsi_dev_num"] == number);
        let known = self.bdev(&bdev).is_some();
        let slots = self.controllers[at]["backend_specific"]["scsi"].as_array_mut().ok_or(VHOST_INVALID)?;
        let number = match number {
            -1 => (0..8).find(|free| !is_taken(slots, *free)).ok_or(VHOST_INVALID)?,
            0..8 => number,
            _ => return Err(VHOST_INVALID),
        };
        if is_taken(slots, number) {
            return Err(VHOST_EXISTS);
        }
        if !known {
            return Err(VHOST_INVALID);
        }
        slots.push(
            json!({ "scsi_dev_num": number, "id": slots.len(), "target_name": format!("Target {number}"),
            "luns": [{ "id": 0, "bdev_name": bdev }] }),
        );
        slots.sort_by_key(|slot| slot["scsi_dev_num"].as_i64());
        for (id, slot) in slots.iter_mut().enumerate() {
            slot["id"] = json!(id);
        }
        Ok(json!(number))
    }

    fn remove_target(&mut self, params: &Json) -> Answer {
        let params = decoded(params, &["ctrlr", "scsi_target_num"], &[]).map_err(|_| VHOST_INVALID)?;
        let at = self.controller(string(&params, "ctrlr")?).ok_or(VHOST_NO_DEVICE)?;
        let number = params["scsi_target_num"].as_u64().filter(|number| *number < 8).ok_or(VHOST_INVALID)?;
        let slots = self.controllers[at]["backend_specific"]["scsi"].as_array_mut().ok_or(VHOST_INVALID)?;
        let before = slots.len();
        slots.retain(|slot| slot["scsi_dev_num"] != number);
        match slots.len() == before {
            true => Err(VHOST_BUSY),
            false => Ok(json!(true)),
        }
    }
}

/// Parameters, all that are needed and none that is not known.
fn decoded(
    params: &Json,
    needed: &[&str],
    optional: &[&str],
) -> Result<Map<String, Json>, (i64, &'static str)> {
    let params = params.as_object().ok_or(UNDECODED)?;
    let known = |key: &String| needed.contains(&key.as_str()) || optional.contains(&key.as_str());
    match needed.iter().all(|key| params.contains_key(*key)) && params.keys().all(known) {
        true => Ok(params.clone()),
        false => Err(UNDECODED),
    }
}

fn string<'a>(params: &'a Map<String, Json>, key: &str) -> Result<&'a str, (i64, &'static str)> {
    params.get(key).and_then(Json::as_str).ok_or(UNDECODED)
}

fn optional<'a>(params: &'a Map<String, Json>, key: &str) -> Result<Option<&'a str>, (i64, &'static str)> {
    params.get(key).map(|value| value.as_str().ok_or(UNDECODED)).transpose()
}

/// `16.0` and `1e3` are whole numbers here.
fn whole(value: &Json) -> Result<u64, (i64, &'static str)> {
    if let Some(number) = value.as_u64() {
        return Ok(number);
    }
    let number = value.as_f64().filter(|number| number.fract() == 0.0 && (0.0..1e15).contains(number));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "its range was just checked")]
    number.map(|number| number as u64).ok_or(UNDECODED)
}

/// A uuid of its own for each name.
fn uuid_of(name: &str) -> String {
    let digest = crate::vocabulary::Bytes::from(name).digest().to_string();
    format!(
        "{}-{}-4{}-8{}-{}",
        &digest[..8],
        &digest[8..12],
        &digest[13..16],
        &digest[17..20],
        &digest[20..32]
    )
}
