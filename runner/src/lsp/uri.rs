//! Addresses of documents and paths of files (RFC 8089, RFC 3986).
use std::fmt::Write as _;

/// The path of an address; another scheme than `file:` is kept as it is, as a name that no file has.
pub fn path(address: &str) -> String {
    let Some(rest) = address.strip_prefix("file://") else { return address.to_owned() };
    // An authority may stand before the path: `localhost`, or nothing.
    let rest = rest.find('/').map_or(rest, |at| &rest[at..]);
    let mut bytes = Vec::with_capacity(rest.len());
    let mut at = 0;
    while at < rest.len() {
        let code = rest.as_bytes().get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
        match code.filter(|_| rest.as_bytes()[at] == b'%').map(|digits| u8::from_str_radix(digits, 16)) {
            Some(Ok(byte)) => {
                bytes.push(byte);
                at += 3;
            }
            _ => {
                bytes.push(rest.as_bytes()[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The address of a path.
pub fn of(path: &str) -> String {
    let mut address = "file://".to_owned();
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                address.push(byte.into())
            }
            other => drop(write!(address, "%{other:02X}")),
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use super::{of, path};

    #[test]
    fn addresses_and_paths() {
        assert_eq!(path("file:///a%20b/%C3%B6.yaml"), "/a b/ö.yaml");
        assert_eq!(path("file://localhost/a"), "/a");
        assert_eq!(path("file:///a%zz%"), "/a%zz%");
        assert_eq!(path("untitled:Untitled-1"), "untitled:Untitled-1");
        assert_eq!(of("/a b/ö.yaml"), "file:///a%20b/%C3%B6.yaml");
        assert_eq!(path(&of("/a b/ö#%.yaml")), "/a b/ö#%.yaml");
    }
}
