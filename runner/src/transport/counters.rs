//! What a connection cost: round trips, frames, bytes, channels.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts of one connection, written as it works.
#[derive(Debug, Default)]
pub struct Counters {
    round_trips: AtomicU64,
    frames: AtomicU64,
    channels: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
}

/// A reading of [`Counters`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Tally {
    /// Waits for the host that had to follow one another; connecting is counted by its known steps.
    pub round_trips: u64,
    /// Scripts that were run in the interpreters.
    pub frames: u64,
    /// Channels that were opened (interpreters, uploads, kills).
    pub channels: u64,
    /// Payload bytes to the host.
    pub sent: u64,
    /// Payload bytes from the host, dropped ones included.
    pub received: u64,
}

impl Counters {
    /// The counts now.
    pub fn tally(&self) -> Tally {
        Tally {
            round_trips: self.round_trips.load(Relaxed),
            frames: self.frames.load(Relaxed),
            channels: self.channels.load(Relaxed),
            sent: self.sent.load(Relaxed),
            received: self.received.load(Relaxed),
        }
    }

    pub(crate) fn round_trips(&self, count: u64) {
        self.round_trips.fetch_add(count, Relaxed);
    }

    pub(crate) fn frame(&self) {
        self.frames.fetch_add(1, Relaxed);
    }

    pub(crate) fn channel(&self) {
        self.channels.fetch_add(1, Relaxed);
    }

    pub(crate) fn sent(&self, bytes: usize) {
        self.sent.fetch_add(bytes as u64, Relaxed);
    }

    pub(crate) fn received(&self, bytes: usize) {
        self.received.fetch_add(bytes as u64, Relaxed);
    }
}
