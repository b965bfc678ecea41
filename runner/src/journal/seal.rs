//! The seal at the end of each line: what a crash or a bad disk did to a line is seen, whatever JSON it still is.
use modules::vocabulary::Bytes;

/// What stands before the seal.
const HEAD: &str = ",\"seal\":\"";
/// Hexadecimal digits of SHA-256 that are kept.
const DIGITS: usize = 16;

/// Appends a JSON object as a sealed line.
pub(super) fn line(object: &str, out: &mut String) {
    let body = object.strip_suffix('}').unwrap_or(object);
    out.push_str(body);
    out.push_str(HEAD);
    out.push_str(&seal(body.as_bytes()));
    out.push_str("\"}\n");
}

/// Whether a line, without its newline, is as it was written.
pub(super) fn is_whole(line: &[u8]) -> bool {
    let tail = HEAD.len() + DIGITS + 2;
    let Some(cut) = line.len().checked_sub(tail) else { return false };
    let (body, rest) = line.split_at(cut);
    rest == [HEAD.as_bytes(), seal(body).as_bytes(), b"\"}"].concat()
}

fn seal(body: &[u8]) -> String {
    let mut digits = Bytes::from(body).digest().to_string();
    digits.truncate(DIGITS);
    digits
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_changed_digit_breaks_the_seal() {
        let mut out = String::new();
        super::line("{\"a\":1}", &mut out);
        let line = out.trim_end();
        assert!(super::is_whole(line.as_bytes()));
        assert!(serde_json::from_str::<serde_json::Value>(line).is_ok(), "{line}");
        assert!(!super::is_whole(line.replace(":1", ":2").as_bytes()));
        assert!(!super::is_whole(b"{}"));
    }
}
