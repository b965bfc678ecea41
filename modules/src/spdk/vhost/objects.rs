//! What a person writes of block devices and controllers.
use crate::argument::Scalar;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A block device of the target.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bdev {
    /// Its name; of an NVMe controller, whose namespaces are then NAMEn1, NAMEn2 and so on.
    pub name: String,
    /// What it is.
    pub kind: BdevKind,
    /// Of `malloc`: how large; it is taken from the target's huge pages at once.
    #[serde(default)]
    pub size: Option<String>,
    /// Of `malloc`, `aio` and `uring`: bytes of a block, 512 or 4096; 512 where it is not said.
    #[serde(default)]
    pub block_size: Option<u32>,
    /// Of `aio` and `uring`: the file or disk.
    #[serde(default)]
    pub file: Option<String>,
    /// Of `nvme`: the PCI address, bound to a user-space driver by `spdk_setup`.
    #[serde(default)]
    pub address: Option<String>,
}

/// What a block device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BdevKind {
    /// Memory, lost when the target stops.
    Malloc,
    /// A file or disk by Linux' asynchronous I/O.
    Aio,
    /// A file or disk by io_uring.
    Uring,
    /// An NVMe controller on PCI, driven by the target itself.
    Nvme,
}

/// A controller that guests connect to.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Controller {
    /// Its name, which is the name of its socket in the target's folder too.
    pub name: String,
    /// What a guest sees.
    pub kind: ControllerKind,
    /// The cores that it is served by: a mask 0x1 or a list `[0]`; all of the target's where it is not said.
    #[serde(default)]
    pub cpumask: Option<Scalar>,
    /// Of `scsi`: the block device of each slot, 0 to 7.
    #[serde(default)]
    pub slots: BTreeMap<String, String>,
    /// Of `blk`: its block device.
    #[serde(default)]
    pub bdev: Option<String>,
    /// Of `blk`: whether guests can only read.
    #[serde(default)]
    pub readonly: bool,
}

/// What a guest sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ControllerKind {
    /// A SCSI host adapter with up to 8 disks.
    Scsi,
    /// One virtio disk.
    Blk,
}
