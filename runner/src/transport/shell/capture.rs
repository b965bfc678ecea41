//! What is kept of an output: its head and its tail, and how much was dropped between them.

/// The default of what is kept of one stream of one section, in bytes.
pub const DEFAULT_CAP: usize = 1024 * 1024;

/// A capped output. Memory stays below twice the cap, however much comes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    head: Vec<u8>,
    tail: Vec<u8>,
    cap: usize,
    total: u64,
}

impl Captured {
    /// Empty, keeping at most `cap` bytes.
    pub fn new(cap: usize) -> Self {
        Self { cap, ..Self::default() }
    }

    /// Whole bytes, as if a host had sent them; for tests and for hosts that are only in memory.
    pub fn whole(bytes: impl Into<Vec<u8>>) -> Self {
        let head = bytes.into();
        Self { total: head.len() as u64, cap: usize::MAX, head, tail: Vec::new() }
    }

    /// Takes further bytes in.
    pub fn push(&mut self, mut bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let half = self.cap / 2;
        if self.tail.is_empty() && self.head.len() + bytes.len() <= self.cap {
            self.head.extend_from_slice(bytes);
            return;
        }
        if self.tail.is_empty() && self.head.len() > half {
            self.tail = self.head.split_off(half);
        }
        let room = half.saturating_sub(self.head.len());
        if self.tail.is_empty() && room > 0 {
            self.head.extend_from_slice(&bytes[..room]);
            bytes = &bytes[room..];
        }
        let keep = self.cap - half;
        if bytes.len() >= keep {
            self.tail.clear();
            bytes = &bytes[bytes.len() - keep..];
        }
        self.tail.extend_from_slice(bytes);
        // Cut rarely, so that a flood costs one copy a byte.
        if self.tail.len() > 2 * keep.max(1) {
            self.tail.drain(..self.tail.len() - keep);
        }
    }

    fn kept_tail(&self) -> &[u8] {
        let keep = self.cap - self.cap / 2;
        &self.tail[self.tail.len().saturating_sub(keep)..]
    }

    /// All bytes if nothing was dropped.
    pub fn complete(&self) -> Option<Vec<u8>> {
        (self.dropped() == 0).then(|| [self.head.as_slice(), self.kept_tail()].concat())
    }

    /// What was kept; where bytes were dropped, a line between head and tail says so.
    pub fn bytes(&self) -> Vec<u8> {
        match self.dropped() {
            0 => [self.head.as_slice(), self.kept_tail()].concat(),
            dropped => {
                let gap = format!("\n[… {dropped} bytes dropped …]\n");
                [self.head.as_slice(), gap.as_bytes(), self.kept_tail()].concat()
            }
        }
    }

    /// [`Captured::bytes`] as text; what is not UTF-8 is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }

    /// How many bytes between head and tail are gone.
    pub fn dropped(&self) -> u64 {
        self.total - (self.head.len() + self.kept_tail().len()) as u64
    }

    /// How many bytes came.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Whether nothing came.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_and_tail_are_kept() {
        let mut kept = Captured::new(10);
        for byte in b"abcdefghijklmnopqrstuvwxyz" {
            kept.push(&[*byte]);
        }
        assert_eq!(kept.text(), "abcde\n[… 16 bytes dropped …]\nvwxyz");
        assert_eq!((kept.total(), kept.dropped(), kept.complete()), (26, 16, None));
    }

    #[test]
    fn pieces_of_any_size_give_the_same() {
        let all: Vec<u8> = (0..=255u8).cycle().take(1000).collect();
        for cap in [0, 1, 7, 100, 999, 1000, 2000] {
            for size in [1, 3, 64, 333, 1000] {
                let mut kept = Captured::new(cap);
                all.chunks(size).for_each(|piece| kept.push(piece));
                let expected = if cap >= 1000 { None } else { Some((cap / 2, cap - cap / 2)) };
                match expected {
                    None => assert_eq!(kept.complete().unwrap(), all, "cap {cap} size {size}"),
                    Some((head, tail)) => {
                        assert_eq!(kept.dropped(), (1000 - head - tail) as u64, "cap {cap} size {size}");
                        let bytes = kept.bytes();
                        assert!(bytes.starts_with(&all[..head]) && bytes.ends_with(&all[1000 - tail..]));
                    }
                }
            }
        }
    }

    #[test]
    fn a_flood_stays_small() {
        let mut kept = Captured::new(1000);
        for _ in 0..10_000 {
            kept.push(&[7; 1000]);
        }
        assert!(kept.head.capacity() + kept.tail.capacity() < 8000);
        assert_eq!(kept.total(), 10_000_000);
    }
}
