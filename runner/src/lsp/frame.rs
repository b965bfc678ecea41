//! Messages on a stream of bytes: a header with the length, an empty line, JSON.
use serde_json::Value as Json;
use std::fmt;
use std::io::{self, BufRead, Read as _, Write};

/// The longest message that is taken, in bytes.
const LONGEST: usize = 64 << 20;
/// The longest line of a header.
const LONGEST_LINE: u64 = 64 << 10;

/// Why there is no message.
#[derive(Debug)]
pub enum Fault {
    /// The stream broke, or ended inside a message.
    Io(io::Error),
    /// This is no header. Reading goes on behind it.
    Header(String),
    /// This is no JSON, or too much of it. Reading goes on behind it.
    Body(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(why) => write!(out, "the stream broke: {why}"),
            Self::Header(line) => write!(out, "no header with a Content-Length: {line}"),
            Self::Body(why) => write!(out, "no JSON: {why}"),
        }
    }
}

/// The next message; none at the end of the stream.
///
/// # Errors
/// [`Fault`].
pub fn read(input: &mut impl BufRead) -> Result<Option<Json>, Fault> {
    let mut length = None;
    loop {
        let mut bytes = Vec::new();
        let read = input.take(LONGEST_LINE).read_until(b'\n', &mut bytes).map_err(Fault::Io)?;
        if read == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&bytes);
        let line = line.trim_end_matches(['\r', '\n']);
        if line.is_empty() {
            match length {
                Some(length) => return body(input, length).map(Some),
                None => continue,
            }
        }
        // What a broken message left may stand before the next header, on one line with it.
        let lower = line.to_ascii_lowercase();
        let found = lower.rfind("content-length:").map(|at| lower[at + "content-length:".len()..].trim());
        match found.map(str::parse::<usize>) {
            Some(Ok(bytes)) => length = Some(bytes),
            None if is_header(line) => {}
            _ => return Err(Fault::Header(line.chars().take(80).collect())),
        }
    }
}

fn is_header(line: &str) -> bool {
    let name = line.split_once(':').map(|(name, _)| name);
    name.is_some_and(|name| {
        !name.is_empty() && name.chars().all(|sign| sign.is_ascii_alphanumeric() || sign == '-')
    })
}

fn body(input: &mut impl BufRead, length: usize) -> Result<Json, Fault> {
    if length > LONGEST {
        let mut rest = input.take(length as u64);
        io::copy(&mut rest, &mut io::sink()).map_err(Fault::Io)?;
        return Err(Fault::Body(format!("{length} bytes are more than {LONGEST}")));
    }
    let mut bytes = vec![0; length];
    input.read_exact(&mut bytes).map_err(Fault::Io)?;
    serde_json::from_slice(&bytes).map_err(|why| Fault::Body(why.to_string()))
}

/// Writes a message.
///
/// # Errors
/// The stream broke.
pub fn write(output: &mut impl Write, message: &Json) -> io::Result<()> {
    let text = message.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{text}", text.len())?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<Result<Json, String>> {
        let mut input = text.as_bytes();
        let mut found = Vec::new();
        loop {
            match read(&mut input) {
                Ok(None) => return found,
                Ok(Some(message)) => found.push(Ok(message)),
                Err(Fault::Io(why)) => {
                    found.push(Err(why.to_string()));
                    return found;
                }
                Err(fault) => found.push(Err(fault.to_string())),
            }
        }
    }

    #[test]
    fn messages_are_read_after_each_other_and_behind_broken_ones() {
        let one = |text: &str| format!("Content-Length: {}\r\nContent-Type: x\r\n\r\n{text}", text.len());
        assert_eq!(all(&(one("1") + &one("[2]"))), [Ok(1.into()), Ok(serde_json::json!([2]))]);
        let broken = all(&(one("{") + "rubbish without end" + &one("3")));
        assert!(broken[0].as_ref().is_err_and(|why| why.contains("no JSON")), "{broken:?}");
        assert_eq!(broken[1], Ok(3.into()), "{broken:?}");
        let lines = all(&format!("junk\r\n\r\nContent-Length: many\r\n\r\n{}", one("4")));
        assert!(lines[0].is_err() && lines[1].is_err() && lines[2] == Ok(4.into()), "{lines:?}");
        assert!(all("Content-Length: 10\r\n\r\n123")[0].is_err());
        assert_eq!(all(""), []);
    }
}
