//! What a task may ask of QEMU's command line: the arguments below `qemu_args`.
use crate::argument::Scalar;
use crate::guests::libvirt_domain::wish::{Cache, Io, Vcpus, VhostUserScsi};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One disk, as a back-end and the device that shows it to the guest.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Drive {
    /// The back-end's name. A drive without one is found by its `file`.
    pub id: String,
    /// What it reads: a file, a device, `rbd:POOL/IMAGE`.
    pub file: String,
    /// The format of the file.
    #[serde(default)]
    pub format: Option<String>,
    /// The host's cache. librbd's own cache follows it, whatever ceph.conf says: `none` turns it off.
    #[serde(default)]
    pub cache: Option<Cache>,
    /// How requests are submitted; `native` needs `cache: none` or `directsync`.
    #[serde(default)]
    pub aio: Option<Io>,
    /// Whether it is a `-blockdev` of rbd without a layer of raw above it, rather than a `-drive`. `file` must be
    /// `rbd:POOL/IMAGE` then. Whoever measured it found no clear gain.
    #[serde(default)]
    pub blockdev: bool,
    /// The device.
    #[serde(default)]
    pub device: Option<Device>,
}

/// The device of a disk.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Its kind, such as `virtio-blk-pci` or `ide-hd`. The guest names virtio disks `vda`, others `sda`.
    pub driver: String,
    /// Its name.
    #[serde(default)]
    pub id: Option<String>,
    /// The I/O thread that serves it; one of `iothreads`. virtio devices only.
    #[serde(default)]
    pub iothread: Option<String>,
    /// Queues; at most as many as the guest has CPUs.
    #[serde(default)]
    pub queues: Option<u32>,
    /// The place in the boot order.
    #[serde(default)]
    pub bootindex: Option<u32>,
}

/// Memory that other processes may map: what a vhost-user back-end needs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SharedMemory {
    /// The object's name.
    #[serde(default = "mem0")]
    pub id: String,
    /// The folder of a hugetlbfs, such as `/dev/hugepages`.
    pub path: String,
    /// Whether others may map it. Without it the data path of vhost-user is dead.
    #[serde(default = "crate::argument::yes")]
    pub share: bool,
}

fn mem0() -> String {
    "mem0".to_owned()
}

/// The description of a guest as QEMU is started with it. What is left out stays as it is.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Guest {
    /// The machine, such as `q35`.
    #[serde(default)]
    pub machine: Option<String>,
    /// Whether the kernel's KVM runs it (`-enable-kvm`).
    #[serde(default)]
    pub kvm: Option<bool>,
    /// The CPU, such as `host`.
    #[serde(default)]
    pub cpu: Option<String>,
    /// The guest's CPUs.
    #[serde(default)]
    pub vcpus: Option<Vcpus>,
    /// The guest's memory, such as `4G`.
    #[serde(default)]
    pub memory: Option<Scalar>,
    /// What that memory is made of, where others shall map it.
    #[serde(default)]
    pub shared_memory: Option<SharedMemory>,
    /// I/O threads by name; each must serve a device.
    #[serde(default)]
    pub iothreads: Vec<String>,
    /// Disks.
    #[serde(default)]
    pub drives: Vec<Drive>,
    /// vhost-user-scsi devices, such as SPDK's.
    #[serde(default)]
    pub vhost_user_scsi: Vec<VhostUserScsi>,
    /// Further options, an option with its value in one text or in two: `-netdev tap,ifname=tap1,script=no,id=net0`.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Options that shall not be there, such as `-hdb`, or `-object iothread0` by its name.
    #[serde(default)]
    pub without: Vec<String>,
}
