//! What a task may ask of a domain: the arguments below `libvirt_domain`.
use crate::argument::Scalar;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which domains.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Selector {
    /// A name, a pattern of names (`*`, `?`, `[…]`), or a uuid.
    Name(String),
    /// What the domain says of itself; all that is given must match.
    Says(Says),
}

/// What a domain says of itself.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Says {
    /// Its `<title>`, a pattern.
    #[serde(default)]
    pub title: Option<String>,
    /// Its `<description>`, a pattern.
    #[serde(default)]
    pub description: Option<String>,
    /// The local name of an element below `<metadata>`.
    #[serde(default)]
    pub metadata: Option<String>,
    /// The text of that element, a pattern; without it the element must only be there.
    #[serde(default)]
    pub value: Option<String>,
}

/// One feature of `<features>`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Feature {
    /// On or off. `acpi`, `apic`, `pae`, `viridian` and `privnet` have no state: on means that the element is there.
    Switch(bool),
    /// The feature's main attribute: `on`, `off`, of `ioapic` the driver (`kvm`, `qemu`), of `gic` the version; `absent`
    /// takes the element away.
    Word(Scalar),
    /// Attributes of the element.
    Attributes(BTreeMap<String, Attribute>),
}

/// The value of an attribute.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Attribute {
    /// `on` and `off`.
    Switch(bool),
    /// A number.
    Number(i64),
    /// A text.
    Text(String),
}

impl Attribute {
    /// As libvirt writes it.
    pub fn text(&self) -> String {
        match self {
            Self::Switch(true) => "on".to_owned(),
            Self::Switch(false) => "off".to_owned(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.trim().to_owned(),
        }
    }
}

/// What the guest's memory is made of: `<memoryBacking>`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryBacking {
    /// Huge pages of the host. `true` takes the kernel's default size.
    #[serde(default)]
    pub hugepages: Option<Hugepages>,
    /// Whether other processes may map it: a vhost-user back-end such as SPDK needs `shared`.
    #[serde(default)]
    pub access: Option<Access>,
    /// Where it comes from.
    #[serde(default)]
    pub source: Option<Source>,
    /// Whether it is locked, so that the host never swaps it.
    #[serde(default)]
    pub locked: Option<bool>,
    /// Whether the host may merge equal pages of guests: `false` is `<nosharepages/>`.
    #[serde(default)]
    pub merge: Option<bool>,
}

/// Huge pages.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Hugepages {
    /// Of the kernel's default size, or none.
    Switch(bool),
    /// Of one size.
    Pages(Pages),
}

/// Huge pages of one size.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pages {
    /// The size, such as `1G` or `2M`.
    pub size: String,
    /// The guest's NUMA nodes that are made of them, such as `0-1`; else all.
    #[serde(default)]
    pub nodeset: Option<Scalar>,
}

/// Who may map the guest's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Other processes may.
    Shared,
    /// QEMU alone.
    Private,
}

impl Access {
    /// As libvirt writes it.
    pub fn text(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Private => "private",
        }
    }
}

/// Where the guest's memory comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// A file without a name.
    Memfd,
    /// A file.
    File,
    /// Memory of the process.
    Anonymous,
}

impl Source {
    /// As libvirt writes it.
    pub fn text(self) -> &'static str {
        match self {
            Self::Memfd => "memfd",
            Self::File => "file",
            Self::Anonymous => "anonymous",
        }
    }
}

/// Which CPUs of the host run which threads: `<cputune>`. Lists of CPUs such as `0-3,8`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cputune {
    /// Virtual CPUs (a number or a list) and the host's CPUs that run them: `{0: 8, "1-3": 9-11}`.
    #[serde(default)]
    pub vcpupin: BTreeMap<String, Scalar>,
    /// The host's CPUs that run QEMU's own threads.
    #[serde(default)]
    pub emulatorpin: Option<Scalar>,
    /// I/O threads by number, from 1, and the host's CPUs that run them.
    #[serde(default)]
    pub iothreadpin: BTreeMap<String, Scalar>,
}

/// The guest's CPUs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Vcpus {
    /// How many.
    Count(u32),
    /// How many, and how they are arranged.
    Arranged(Arranged),
}

/// The guest's CPUs and their topology. `sockets × dies × cores × threads` must be `count`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arranged {
    /// How many.
    pub count: u32,
    /// Sockets.
    #[serde(default)]
    pub sockets: Option<u32>,
    /// Dies in a socket.
    #[serde(default)]
    pub dies: Option<u32>,
    /// Cores in a die.
    #[serde(default)]
    pub cores: Option<u32>,
    /// Threads in a core.
    #[serde(default)]
    pub threads: Option<u32>,
}

/// One disk: found by one of `target`, `serial` and `source`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Disk {
    /// Its target's name, such as `vda`.
    #[serde(default)]
    pub target: Option<String>,
    /// Its serial.
    #[serde(default)]
    pub serial: Option<String>,
    /// Its source: a file, a device, `pool/image` of rbd, a volume or a socket.
    #[serde(default)]
    pub source: Option<String>,
    /// The host's cache: `none` and `directsync` go past it.
    #[serde(default)]
    pub cache: Option<Cache>,
    /// How QEMU submits requests.
    #[serde(default)]
    pub io: Option<Io>,
    /// The number of the I/O thread that serves it, from 1. virtio-blk only.
    #[serde(default)]
    pub iothread: Option<u32>,
    /// Queues; at most as many as the guest has CPUs.
    #[serde(default)]
    pub queues: Option<u32>,
    /// Whether the guest's TRIM reaches the storage.
    #[serde(default)]
    pub discard: Option<Discard>,
    /// Its place in the boot order, from 1; not beside `<boot dev=…>` of the machine.
    #[serde(default)]
    pub boot_order: Option<u32>,
    /// The bus: the disk is then found by `source` or `serial`, since its name in the guest changes with it.
    #[serde(default)]
    pub bus: Option<Bus>,
}

macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[allow(clippy::enum_variant_names, reason = "the words are libvirt's")]
        pub enum $name { $($(#[$doc])* #[serde(rename = $text)] $variant,)* }

        impl $name {
            /// As libvirt writes it.
            pub fn text(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }
    };
}

words! {
    /// What the host's page cache does for a disk.
    Cache {
        /// Libvirt's default.
        Default = "default",
        /// Past the host's cache.
        None = "none",
        /// Through it, and each write waits for the storage.
        Writethrough = "writethrough",
        /// Through it, and writes wait for a flush only: a power cut loses what the guest did not flush.
        Writeback = "writeback",
        /// Past it, and each write waits for the storage.
        Directsync = "directsync",
        /// Flushes are ignored: a power cut loses data.
        Unsafe = "unsafe",
    }
}

impl Cache {
    /// Whether it goes past the host's page cache.
    pub fn is_direct(self) -> bool {
        matches!(self, Self::None | Self::Directsync)
    }

    /// Whether a power cut loses what the guest has not flushed, or more.
    pub fn is_volatile(self) -> bool {
        matches!(self, Self::Writeback | Self::Unsafe)
    }
}

words! {
    /// How QEMU submits requests.
    Io {
        /// By threads.
        Threads = "threads",
        /// By the kernel's asynchronous calls; needs `cache: none` or `directsync`.
        Native = "native",
        /// By io_uring.
        IoUring = "io_uring",
    }
}

words! {
    /// What becomes of the guest's TRIM.
    Discard {
        /// It reaches the storage.
        Unmap = "unmap",
        /// It is ignored.
        Ignore = "ignore",
    }
}

words! {
    /// A disk's bus.
    Bus {
        /// virtio-blk.
        Virtio = "virtio",
        /// SCSI, by virtio-scsi.
        Scsi = "scsi",
        /// SATA.
        Sata = "sata",
        /// IDE.
        Ide = "ide",
    }
}

/// A vhost-user-scsi device, served by a socket such as SPDK's. Its data path needs shared memory.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VhostUserScsi {
    /// The name of the character device, such as `spdk_vhost_scsi0`.
    pub id: String,
    /// The socket, such as `/var/tmp/vhost.0`.
    pub socket: String,
    /// Request queues; at most as many as the guest has CPUs.
    #[serde(default)]
    pub queues: Option<u32>,
    /// The boot order of its disks; give it a number behind the boot disk's.
    #[serde(default)]
    pub bootindex: Option<u32>,
}

/// When a running domain whose definition changed is powered off and on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PowerCycle {
    /// Not by this run: it is owed and told.
    #[default]
    Never,
    /// When the person at the terminal says so, at the end of the host's part.
    Ask,
    /// At the end of the host's part, if the host's clock is then within `window`.
    Window,
}

/// What becomes of a guest that does not shut down in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AfterTimeout {
    /// It is left running, and the run has failed there.
    #[default]
    Leave,
    /// It is destroyed: as if the plug was pulled. Needs the waiver `destroy_guest`.
    Destroy,
}
