//! The wishes, checked among themselves: what each object is asked for by, looked at by and taken away by.
use super::objects::{Bdev, BdevKind, Controller, ControllerKind};
use super::{SpdkVhost, place};
use crate::argument::nearest;
use crate::shape::{CpuList, parse_size};
use crate::spdk::address::normal;
use crate::spdk::cores::{beyond, cores, mask};
use crate::vocabulary::{Diff, Facts, HostPath, Read, Row, Stop};
use serde_json::{Value as Json, json};

/// One object of a target.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Object {
    /// What it is, as people call it: `bdev Malloc0`.
    pub title: String,
    /// The name of its claim.
    pub claim: String,
    /// What makes it.
    pub make: (&'static str, Json),
    /// What takes it away.
    pub take: (&'static str, Json),
    /// The narrow look.
    pub look: Row,
    /// What the look answers where it is as wanted.
    pub is: Json,
    /// Whether it holds data that goes with it.
    pub memory: bool,
}

impl Object {
    /// What the look answers, as text; a slot is its block device alone.
    pub fn text(&self) -> String {
        match &self.is {
            Json::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}

/// A controller with its slots.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Export {
    /// The controller itself.
    pub object: Object,
    /// Its name.
    pub name: String,
    /// The cores, where they are said.
    pub cores: Option<CpuList>,
    /// Its slots: number, block device, object.
    pub slots: Vec<(u64, String, Object)>,
    /// Its own block device, if it has one.
    pub bdev: Option<String>,
}

/// All wishes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Wishes {
    /// Block devices in their order.
    pub bdevs: Vec<Object>,
    /// Their names; of NVMe controllers the names of these.
    pub names: Vec<(String, BdevKind)>,
    /// PCI addresses of NVMe controllers.
    pub addresses: Vec<String>,
    /// Controllers in their order.
    pub exports: Vec<Export>,
}

fn is_name(text: &str) -> bool {
    let fine = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    !text.is_empty() && !text.starts_with(['.', '-']) && text.chars().all(fine)
}

impl SpdkVhost {
    /// The wishes, checked.
    pub(super) fn wishes(&self) -> Result<Wishes, Stop> {
        let mut wishes = Wishes::default();
        for bdev in &self.bdevs {
            if !is_name(&bdev.name) {
                return Err(Stop::refused(
                    "bdevs",
                    format!("`{}` is not the name of a block device", bdev.name),
                ));
            }
            if wishes.names.iter().any(|(name, _)| *name == bdev.name) {
                return Err(Stop::refused("bdevs", format!("{} is listed twice", bdev.name)));
            }
            let object = of_bdev(bdev, &mut wishes.addresses)?;
            wishes.names.push((bdev.name.clone(), bdev.kind));
            wishes.bdevs.push(object);
        }
        let folder = self.target.as_ref().map_or("/var/tmp", |target| target.sockets.as_str());
        for controller in &self.controllers {
            let path = format!("{folder}/{}", controller.name);
            if !is_name(&controller.name) || path.len() > 107 {
                let why = format!("`{}` cannot be the name of a socket in {folder}", controller.name);
                return Err(Stop::refused("controllers", why)
                    .way_out("letters, digits, `.`, `_` and `-`; the whole path holds at most 107 bytes"));
            }
            if wishes.exports.iter().any(|export| export.name == controller.name) {
                return Err(Stop::refused("controllers", format!("{} is listed twice", controller.name)));
            }
            wishes.exports.push(of_controller(controller)?);
        }
        wishes.no_double_export()?;
        Ok(wishes)
    }
}

fn block_size(bdev: &Bdev) -> Result<u32, Stop> {
    match bdev.block_size.unwrap_or(512) {
        size @ (512 | 4096) => Ok(size),
        other => Err(Stop::refused(
            "bdevs",
            format!("{}: no guest can use blocks of {other} bytes: it sees a disk of 0 bytes", bdev.name),
        )
        .way_out("use 512 or 4096")),
    }
}

fn only(bdev: &Bdev, given: &[(&str, bool, bool)]) -> Result<(), Stop> {
    for (argument, is_given, belongs) in given {
        let kind = format!("{:?}", bdev.kind).to_ascii_lowercase();
        match (is_given, belongs) {
            (true, false) => {
                return Err(Stop::refused(
                    "bdevs",
                    format!("{}: `{argument}` means nothing for {kind}", bdev.name),
                ));
            }
            (false, true) if *argument != "block_size" => {
                return Err(Stop::refused("bdevs", format!("{}: {kind} needs `{argument}`", bdev.name)));
            }
            _ => {}
        }
    }
    Ok(())
}

/// How many blocks a RAM disk has.
fn malloc_blocks(bdev: &Bdev, block: u32) -> Result<u64, Stop> {
    let (name, text) = (&bdev.name, bdev.size.as_deref().unwrap_or_default());
    let bytes = parse_size(text).map_err(|why| Stop::refused("bdevs", format!("{name}: {why}")))?;
    let blocks = bytes / u64::from(block);
    if blocks == 0 || !bytes.is_multiple_of(u64::from(block)) {
        let why = format!("{name}: {text} is not a number of blocks of {block} bytes");
        return Err(Stop::refused("bdevs", why));
    }
    Ok(blocks)
}

fn of_bdev(bdev: &Bdev, addresses: &mut Vec<String>) -> Result<Object, Stop> {
    use BdevKind::{Aio, Malloc, Nvme, Uring};
    let kind = bdev.kind;
    let of_file = matches!(kind, Aio | Uring);
    only(
        bdev,
        &[
            ("size", bdev.size.is_some(), kind == Malloc),
            ("block_size", bdev.block_size.is_some(), kind != Nvme),
            ("file", bdev.file.is_some(), of_file),
            ("address", bdev.address.is_some(), kind == Nvme),
        ],
    )?;
    let name = bdev.name.as_str();
    let by_name = json!({ "name": name });
    let (make, take, is) = match kind {
        Malloc => {
            let block = block_size(bdev)?;
            let blocks = malloc_blocks(bdev, block)?;
            (
                ("bdev_malloc_create", json!({ "name": name, "num_blocks": blocks, "block_size": block })),
                "bdev_malloc_delete",
                json!({ "kind": "malloc", "num_blocks": blocks, "block_size": block }),
            )
        }
        Aio | Uring => {
            let block = block_size(bdev)?;
            let file = place::path("bdevs", bdev.file.as_deref().unwrap_or_default())?;
            let (make, take, word) = match kind {
                Aio => ("bdev_aio_create", "bdev_aio_delete", "aio"),
                _ => ("bdev_uring_create", "bdev_uring_delete", "uring"),
            };
            (
                (make, json!({ "name": name, "filename": file.as_str(), "block_size": block })),
                take,
                json!({ "kind": word, "file": file.as_str(), "block_size": block }),
            )
        }
        Nvme => {
            let address = normal("bdevs", bdev.address.as_deref().unwrap_or_default())?;
            if addresses.contains(&address) {
                return Err(Stop::refused("bdevs", format!("{address} is attached twice")));
            }
            addresses.push(address.clone());
            let make = json!({ "name": name, "trtype": "PCIe", "traddr": address });
            (
                ("bdev_nvme_attach_controller", make),
                "bdev_nvme_detach_controller",
                json!({ "trtype": "pcie", "traddr": address }),
            )
        }
    };
    Ok(Object {
        title: format!("bdev {name}"),
        claim: format!("bdev/{name}"),
        make,
        take: (take, by_name),
        look: Row::new(if kind == Nvme { "spdk-nvme-controller" } else { "spdk-bdev" }, [name]),
        is,
        memory: kind == Malloc,
    })
}

fn of_controller(controller: &Controller) -> Result<Export, Stop> {
    let name = controller.name.as_str();
    let refused = |why: String| Stop::refused("controllers", format!("{name}: {why}"));
    let set = controller.cpumask.as_ref().map(cores).transpose().map_err(refused)?;
    let is_blk = controller.kind == ControllerKind::Blk;
    if is_blk && !controller.slots.is_empty() {
        return Err(refused("a blk controller has no slots: say its `bdev`".to_owned()));
    }
    if !is_blk && (controller.bdev.is_some() || controller.readonly) {
        return Err(refused("a scsi controller has slots: `slots: {0: NAME}`".to_owned()));
    }
    let mut make = json!({ "ctrlr": name });
    if let Some(set) = &set {
        make["cpumask"] = json!(mask(set));
    }
    let (method, is) = match (&controller.bdev, is_blk) {
        (Some(bdev), _) => {
            make["dev_name"] = json!(bdev);
            make["readonly"] = json!(controller.readonly);
            let is = json!({ "kind": "blk", "cpumask": set.as_ref().map(mask), "bdev": bdev,
                "readonly": controller.readonly });
            ("vhost_create_blk_controller", is)
        }
        (None, true) => return Err(refused("a blk controller needs its `bdev`".to_owned())),
        (None, false) => {
            let is = json!({ "kind": "scsi", "cpumask": set.as_ref().map(mask) });
            ("vhost_create_scsi_controller", is)
        }
    };
    let mut slots = Vec::new();
    for (slot, bdev) in &controller.slots {
        let number = slot.trim().parse::<u64>().ok().filter(|number| *number < 8);
        let number = number.ok_or_else(|| refused(format!("`{slot}` is not a slot: they are 0 to 7")))?;
        slots.push((number, bdev.clone(), of_slot(name, number, bdev)));
    }
    slots.sort_by_key(|(number, ..)| *number);
    Ok(Export {
        object: Object {
            title: format!("controller {name}"),
            claim: format!("vhost/{name}"),
            make: (method, make),
            take: ("vhost_delete_controller", json!({ "ctrlr": name })),
            look: Row::new("spdk-controller", [name]),
            is,
            memory: false,
        },
        name: name.to_owned(),
        cores: set,
        slots,
        bdev: controller.bdev.clone(),
    })
}

/// A block device in a slot.
pub(super) fn of_slot(controller: &str, number: u64, bdev: &str) -> Object {
    Object {
        title: format!("{controller} slot {number}"),
        claim: format!("vhost/{controller}/{number}"),
        make: (
            "vhost_scsi_controller_add_target",
            json!({ "ctrlr": controller, "scsi_target_num": number, "bdev_name": bdev }),
        ),
        take: (
            "vhost_scsi_controller_remove_target",
            json!({ "ctrlr": controller, "scsi_target_num": number }),
        ),
        look: Row::new("spdk-slot", [controller.to_owned(), number.to_string()]),
        is: json!(bdev),
        memory: false,
    }
}

impl Wishes {
    /// Block devices that are exported, with where.
    pub fn exported(&self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for export in &self.exports {
            all.extend(export.bdev.iter().map(|bdev| (bdev.clone(), export.name.clone())));
            all.extend(
                export
                    .slots
                    .iter()
                    .map(|(slot, bdev, _)| (bdev.clone(), format!("{} slot {slot}", export.name))),
            );
        }
        all
    }

    fn no_double_export(&self) -> Result<(), Stop> {
        let all = self.exported();
        for (index, (bdev, place)) in all.iter().enumerate() {
            if let Some((_, other)) = all[..index].iter().find(|(known, _)| known == bdev) {
                return Err(Stop::refused(
                    "controllers",
                    format!("{bdev} is exported twice, by {other} and by {place}: two guests would write to one disk"),
                )
                .way_out("give each guest a block device of its own"));
            }
        }
        Ok(())
    }

    /// Whether a name is of a block device in the list: itself, or a namespace of an NVMe controller.
    pub fn brings(&self, bdev: &str) -> bool {
        self.names.iter().any(|(name, kind)| match kind {
            BdevKind::Nvme => bdev.strip_prefix(name.as_str()).is_some_and(|rest| {
                let digits = rest.strip_prefix('n').unwrap_or_default();
                !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit())
            }),
            _ => name == bdev,
        })
    }

    /// A block device that nothing brings.
    pub fn unknown(&self, bdev: &str, place: &str, live: &[String]) -> Stop {
        let known = self.names.iter().map(|(name, kind)| match kind {
            BdevKind::Nvme => format!("{name}n1"),
            _ => name.clone(),
        });
        let known: Vec<String> = known.chain(live.iter().cloned()).collect();
        let near = nearest(bdev, known.iter().map(String::as_str));
        let hint = near.map_or(String::new(), |near| format!("did you mean `{near}`? "));
        Stop::refused(
            "controllers",
            format!("{place} exports {bdev}, which neither `bdevs` nor the target has"),
        )
        .way_out(format!("{hint}list it in `bdevs`"))
    }

    /// Refuses cores of controllers that the target does not run on.
    pub fn cores_fit(&self, of: &CpuList, what: &str) -> Result<(), Stop> {
        for export in &self.exports {
            let lost = export.cores.as_ref().map(|set| beyond(set, of)).filter(|lost| !lost.is_empty());
            if let Some(lost) = lost {
                return Err(Stop::refused(
                    "controllers",
                    format!("{}: core {lost} is not among those that {what}: {of}", export.name),
                )
                .way_out(
                    "choose among these, or give the target more cores (`reactors`) and start it again",
                ));
            }
        }
        Ok(())
    }

    /// The drivers of the NVMe controllers.
    pub fn driver_reads(&self) -> Vec<Read> {
        self.addresses.iter().map(|address| Read::Ask(Row::new("pci-driver", [address.as_str()]))).collect()
    }

    /// Refuses NVMe controllers that the kernel drives.
    pub fn drivers_fit(&self, facts: &Facts) -> Result<(), Stop> {
        for address in &self.addresses {
            let output = facts.output(&Row::new("pci-driver", [address.as_str()]))?;
            let driver = output.text().trim().to_owned();
            let why = match (output.status, driver.as_str()) {
                (0, "vfio-pci" | "uio_pci_generic" | "igb_uio") => continue,
                (0, "none") => "has no driver".to_owned(),
                (0, driver) => format!("is driven by the kernel's {driver}"),
                _ => "is not on this host".to_owned(),
            };
            return Err(Stop::refused("bdevs", format!("{address} {why}"))
                .way_out("bind it to vfio-pci by an `spdk_setup` task before this one"));
        }
        Ok(())
    }

    /// What a person reads of a target that makes all of it as it starts.
    pub fn started(&self) -> Vec<Diff> {
        let objects = self.bdevs.iter().chain(self.exports.iter().flat_map(|export| {
            std::iter::once(&export.object).chain(export.slots.iter().map(|slot| &slot.2))
        }));
        objects
            .map(|object| Diff::Value {
                name: object.title.clone(),
                before: None,
                after: Some(format!("{}, as the target starts", object.text())),
            })
            .collect()
    }

    /// All objects' looks.
    pub fn looks(&self) -> Vec<Row> {
        let mut looks: Vec<Row> = self.bdevs.iter().map(|bdev| bdev.look.clone()).collect();
        for export in &self.exports {
            looks.push(export.object.look.clone());
            looks.extend(export.slots.iter().map(|slot| slot.2.look.clone()));
        }
        looks
    }
}

/// The folder of a path, made where it is missing, is the file modules' matter.
pub(super) fn socket_reads(socket: &HostPath, rows: impl IntoIterator<Item = Row>) -> Vec<Read> {
    rows.into_iter().map(|row| Read::rpc(socket, row)).collect()
}
