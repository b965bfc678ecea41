//! The kernel's side of FUSE: requests taken apart, answers put together (linux/fuse.h, protocol 7.31).

/// The major and the minor version spoken here.
pub(super) const VERSION: (u32, u32) = (7, 31);

/// The most bytes of one write.
pub(super) const LARGEST_WRITE: u32 = 16_384;

/// Room for one request: the largest write, and what stands before it.
pub(super) const REQUEST: usize = 32_768;

/// "Ask again each time": what FOPEN_DIRECT_IO means for values that change.
pub(super) const DIRECT: u32 = 1;

/// Operations, by the kernel's numbers.
pub(super) mod operation {
    pub const LOOKUP: u32 = 1;
    pub const FORGET: u32 = 2;
    pub const GETATTR: u32 = 3;
    pub const SETATTR: u32 = 4;
    pub const OPEN: u32 = 14;
    pub const READ: u32 = 15;
    pub const WRITE: u32 = 16;
    pub const STATFS: u32 = 17;
    pub const RELEASE: u32 = 18;
    pub const FSYNC: u32 = 20;
    pub const FLUSH: u32 = 25;
    pub const INIT: u32 = 26;
    pub const OPENDIR: u32 = 27;
    pub const READDIR: u32 = 28;
    pub const RELEASEDIR: u32 = 29;
    pub const INTERRUPT: u32 = 36;
    pub const DESTROY: u32 = 38;
    pub const BATCH_FORGET: u32 = 42;
}

/// One request.
pub(super) struct Request<'a> {
    /// What is asked, of [`operation`].
    pub operation: u32,
    /// The number the answer bears.
    pub unique: u64,
    /// The node it is about.
    pub node: u64,
    /// The rest.
    pub body: &'a [u8],
}

impl<'a> Request<'a> {
    /// Takes a request apart.
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        Some(Self {
            operation: u32_at(bytes, 4)?,
            unique: u64_at(bytes, 8)?,
            node: u64_at(bytes, 16)?,
            body: bytes.get(40..)?,
        })
    }

    /// A name that ends with a zero byte.
    pub fn name(&self) -> Option<&'a str> {
        std::str::from_utf8(self.body.split(|byte| *byte == 0).next()?).ok()
    }

    /// Offset and size of a read, or of a write.
    pub fn span(&self) -> Option<(usize, usize)> {
        Some((usize::try_from(u64_at(self.body, 8)?).ok()?, u32_at(self.body, 16)? as usize))
    }

    /// The first number of the body: flags, or a mask.
    pub fn first(&self) -> u32 {
        u32_at(self.body, 0).unwrap_or(0)
    }

    /// The bytes of a write.
    pub fn written(&self) -> Option<&'a [u8]> {
        let (_, size) = self.span()?;
        self.body.get(40..)?.get(..size)
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// An answer's body as it grows.
#[derive(Default)]
pub(super) struct Body(Vec<u8>);

impl Body {
    /// Adds a 16-bit number.
    pub fn u16(mut self, value: u16) -> Self {
        self.0.extend(value.to_ne_bytes());
        self
    }

    /// Adds a 32-bit number.
    pub fn u32(mut self, value: u32) -> Self {
        self.0.extend(value.to_ne_bytes());
        self
    }

    /// Adds a 64-bit number.
    pub fn u64(mut self, value: u64) -> Self {
        self.0.extend(value.to_ne_bytes());
        self
    }

    /// Adds bytes.
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    /// Adds so many zero bytes.
    pub fn zeros(mut self, count: usize) -> Self {
        self.0.resize(self.0.len() + count, 0);
        self
    }

    /// How long it is.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds what `fuse_attr` holds. Times are zero, as nobody can set them.
    pub fn attributes(self, node: u64, size: u64, mode: u32) -> Self {
        let links = if mode & 0o40_000 == 0 { 1 } else { 2 };
        // ino, size, blocks, three times, their nanoseconds | mode, links, user, group, device, block size, flags
        self.u64(node).u64(size).zeros(8 + 24 + 12).u32(mode).u32(links).zeros(12).u32(4096).zeros(4)
    }

    /// Adds one name of a folder, padded as the kernel wants; `next` is where reading goes on after it.
    pub fn name(self, node: u64, next: u64, folder: bool, name: &str) -> Self {
        let kind = if folder { 4 } else { 8 };
        let padding = name.len().next_multiple_of(8) - name.len();
        let length = u32::try_from(name.len()).unwrap_or(0);
        self.u64(node).u64(next).u32(length).u32(kind).bytes(name.as_bytes()).zeros(padding)
    }
}

/// How long one name of a folder is in an answer.
pub(super) fn name_length(name: &str) -> usize {
    24 + name.len().next_multiple_of(8)
}

/// Puts an answer together: the body, or an error number.
pub(super) fn answer(unique: u64, outcome: Result<Body, nix::errno::Errno>) -> Vec<u8> {
    let (error, body) = match outcome {
        Ok(body) => (0, body.0),
        Err(number) => (-(number as i32), Vec::new()),
    };
    let length = u32::try_from(body.len() + 16).unwrap_or(16);
    let mut bytes = Body::default().u32(length).0;
    bytes.extend(error.to_ne_bytes());
    bytes.extend(unique.to_ne_bytes());
    bytes.extend(body);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_the_kernels() {
        assert_eq!(Body::default().attributes(1, 0, 0o100_644).len(), 88);
        for name in ["a", "12345678", "swappiness"] {
            assert_eq!(Body::default().name(1, 1, false, name).len(), name_length(name));
        }
        assert_eq!(answer(7, Err(nix::errno::Errno::EINVAL)).len(), 16);
    }
}
