//! GRUB's environment block: 1024 bytes of `name=value` lines, filled up with `#`.

/// The first line of every block.
const HEAD: &[u8] = b"# GRUB Environment Block\n";

/// A block as read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its lines without their newlines, comments included, the filling not.
    lines: Vec<Vec<u8>>,
    /// How many bytes it has, and keeps.
    size: usize,
}

/// A block that cannot take a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Full {
    /// Bytes that would be needed.
    pub needed: usize,
    /// Bytes that there are.
    pub size: usize,
}

impl Block {
    /// Reads a block; `None` where it is none, which GRUB would refuse too.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(HEAD)?;
        let mut lines = Vec::new();
        let mut line = Vec::new();
        let mut at = 0;
        while let Some(sign) = rest.get(at) {
            match sign {
                b'#' if line.is_empty() && rest[at..].iter().all(|sign| *sign == b'#') => break,
                b'\\' => {
                    line.push(b'\\');
                    line.extend(rest.get(at + 1));
                    at += 1;
                }
                b'\n' => lines.push(std::mem::take(&mut line)),
                other => line.push(*other),
            }
            at += 1;
        }
        if !line.is_empty() {
            lines.push(line);
        }
        Some(Self { lines, size: bytes.len() })
    }

    /// The value of a name, escapes taken off.
    pub fn get(&self, name: &str) -> Option<String> {
        let line =
            self.lines.iter().find_map(|line| line.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
        let mut value = Vec::new();
        let mut signs = line.iter();
        while let Some(sign) = signs.next() {
            value.extend(if *sign == b'\\' { signs.next() } else { Some(sign) });
        }
        String::from_utf8(value).ok()
    }

    /// The bytes of the block with another value, the size as before.
    ///
    /// # Errors
    /// The block is full: GRUB never makes one longer.
    pub fn with(&self, name: &str, value: &str) -> Result<Vec<u8>, Full> {
        let mut written = name.as_bytes().to_vec();
        written.push(b'=');
        for byte in value.bytes() {
            if matches!(byte, b'\\' | b'\n') {
                written.push(b'\\');
            }
            written.push(byte);
        }
        let mut lines = self.lines.clone();
        let is_name =
            |line: &Vec<u8>| line.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b"="));
        match lines.iter().position(is_name) {
            Some(at) => lines[at] = written,
            None => lines.push(written),
        }
        let mut bytes = HEAD.to_vec();
        for line in lines {
            bytes.extend(line);
            bytes.push(b'\n');
        }
        if bytes.len() > self.size {
            return Err(Full { needed: bytes.len(), size: self.size });
        }
        bytes.resize(self.size, b'#');
        Ok(bytes)
    }
}
