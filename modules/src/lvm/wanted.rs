//! Kinds of volumes, and what LVM says of them once they are made.
use super::report::{answer, line};
use crate::block::device;
use crate::vocabulary::{Seen, Spoil};

/// What a volume is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Extents of its own.
    Plain,
    /// Blocks of this pool.
    Thin(String),
    /// What this volume was.
    Snapshot(String),
}

/// What LVM will say of a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// `lv_layout`.
    pub(crate) layout: String,
    /// Bytes, where they are known.
    pub(crate) size: Option<u64>,
    /// The thin pool, or nothing.
    pub(crate) pool: String,
    /// What it is a snapshot of, or nothing.
    pub(crate) origin: String,
}

impl Shape {
    /// The whole answer, where the size is known.
    pub(crate) fn answer(&self) -> Option<Seen> {
        let size = self.size?.to_string();
        Some(answer(&[
            ("lv_layout", &self.layout),
            ("lv_size", &size),
            ("pool_lv", &self.pool),
            ("origin", &self.origin),
        ]))
    }

    /// The lines that must be seen.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines =
            vec![line("lv_layout", &self.layout), line("pool_lv", &self.pool), line("origin", &self.origin)];
        lines.extend(self.size.map(|size| line("lv_size", &size.to_string())));
        lines
    }
}

/// The paths of a volume below /dev.
pub(crate) fn paths(group: &str, name: &str) -> [String; 2] {
    let doubled = |text: &str| text.replace('-', "--");
    [format!("/dev/{group}/{name}"), format!("/dev/mapper/{}-{}", doubled(group), doubled(name))]
}

/// What is known of the devices of a new, empty volume.
pub(crate) fn empty(group: &str, name: &str, size: Option<u64>) -> Vec<Spoil> {
    let known = |device: String| match size {
        Some(size) => device::made(&device, size).map(|(read, seen)| Spoil::Becomes(read, seen)).to_vec(),
        None => unknown(&device),
    };
    paths(group, name).into_iter().flat_map(known).collect()
}

/// What is not known any more of a device.
pub(crate) fn unknown(device: &str) -> Vec<Spoil> {
    device::reads(device).into_iter().map(Spoil::Read).collect()
}
