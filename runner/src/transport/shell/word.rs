//! Values as shell words and as printed bytes: a value never becomes shell syntax.
//!
//! A script is text, and a value may hold any byte. Bytes of 0x80 and more stand in the text as the last 128 characters
//! of Unicode (U+10FF80 to U+10FFFF, private use) and travel as the bytes that they stand for: see [`wire`].
use std::borrow::Cow;
use std::fmt::Write;

/// What the UTF-8 of every stand-in begins with; then 0xBE or 0xBF, then six bits.
const STAND_IN: [u8; 2] = [0xf4, 0x8f];

/// At most so many bytes of a value go into one `printf`, to keep lines sane.
const PIECE: usize = 16 * 1024;

/// From this size on a value travels by a channel of its own, see `Connection::upload`; in bytes.
pub const LARGE: usize = 256 * 1024;

/// Why bytes cannot be an argument of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NulByte;

impl std::fmt::Display for NulByte {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("holds a NUL byte, which no argument and no file name can hold")
    }
}

impl std::error::Error for NulByte {}

/// The character that stands for a byte.
fn stand_in(byte: u8) -> char {
    match byte {
        ..0x80 => char::from(byte),
        _ => char::from_u32(0x10_ff00 + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER),
    }
}

/// A piece of text that people wrote as a script holds it: the few characters that stand for bytes elsewhere are said
/// byte by byte.
pub fn plain(text: &str) -> Cow<'_, str> {
    if text.as_bytes().windows(2).any(|pair| pair == STAND_IN) {
        Cow::Owned(text.bytes().map(stand_in).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// The bytes of a script as they travel and are stored on a host: stand-ins are the bytes that they stand for.
pub fn wire(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|byte| *byte == STAND_IN[0]) {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        match rest {
            [_, 0x8f, page @ (0xbe | 0xbf), low, after @ ..] => {
                out.push(if *page == 0xbe { *low } else { *low + 0x40 });
                rest = after;
            }
            [lead, after @ ..] => {
                out.push(*lead);
                rest = after;
            }
            [] => {}
        }
    }
    out.extend_from_slice(rest);
    out
}

/// One single-quoted word. Only for text without NUL; for anything unknown use [`literal`].
pub fn quote(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:@,+%".contains(&byte);
    // Bare words keep logs readable. A reserved word (`if`), an assignment (`A=b`), or a number before `>` would be
    // syntax, so a word is left bare only if it has a sign that none of these has.
    if text.bytes().all(plain) && text.contains(['/', '-', '.']) && !text.starts_with(['%', '+']) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A shell word that is exactly these bytes: single-quoted where they are printable ASCII, newline or tab, else the
/// output of an octal `printf` (which costs a fork on the host). It is ASCII: any login shell hands it on. Bytes with
/// NUL are refused.
pub fn literal(bytes: &[u8]) -> Result<String, NulByte> {
    if bytes.contains(&0) {
        return Err(NulByte);
    }
    let harmless = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    if let (true, Ok(text)) = (bytes.iter().all(harmless), std::str::from_utf8(bytes)) {
        return Ok(quote(text));
    }
    // $(…) strips newlines at the end, so these are quoted on their own.
    let body = bytes.len() - bytes.iter().rev().take_while(|byte| **byte == b'\n').count();
    let mut word = format!("\"$({})\"", print(&bytes[..body], |_| false));
    if body < bytes.len() {
        word.push('\'');
        word.push_str(&"\n".repeat(bytes.len() - body));
        word.push('\'');
    }
    Ok(word)
}

/// A command that writes exactly these bytes to its standard output, by builtins alone; it can be redirected as a
/// whole, and fails if any of its writes failed. Bytes travel as they are where a quoted word can hold them: octal
/// would be three times their size. bash marks quoted characters by 0x01 and 0x7f, so these are octal.
pub fn emit(bytes: &[u8]) -> String {
    let raw = |byte| !matches!(byte, 0x00 | 0x01 | 0x7f);
    let pieces: Vec<String> = bytes.chunks(PIECE).map(|piece| print(piece, raw)).collect();
    match pieces.as_slice() {
        [] => ":".to_owned(),
        [one] => one.clone(),
        many => format!("{{ {}; }}", many.join(" && ")),
    }
}

/// One `printf` whose format is the bytes. No `--`: old builtins print it.
fn print(bytes: &[u8], raw: impl Fn(u8) -> bool) -> String {
    let mut out = String::with_capacity(bytes.len() * 2 + 16);
    out.push_str("printf '");
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'-' if at == 0 => out.push_str("\\055"),
            b'%' => out.push_str("%%"),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b' '..=b'~' if *byte != b'\'' => out.push(char::from(*byte)),
            _ if *byte != b'\'' && raw(*byte) => out.push(stand_in(*byte)),
            _ => {
                // Always three digits, so that a digit after it is not taken in. Writing to a String cannot fail.
                let _ = write!(out, "\\{byte:03o}");
            }
        }
    }
    out.push('\'');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_by_need() {
        assert_eq!(quote("/etc/default/grub"), "/etc/default/grub");
        assert_eq!(quote(""), "''");
        assert_eq!(quote("it's $(x)"), r"'it'\''s $(x)'");
        assert_eq!(quote("~root"), "'~root'");
        for syntax in ["if", "A=/b", "2", "time", "{", "!", "%1", "+x"] {
            assert_eq!(quote(syntax), format!("'{syntax}'"));
        }
        assert_eq!(literal("é\n\n".as_bytes()).unwrap(), "\"$(printf '\\303\\251')\"'\n\n'");
        assert_eq!(literal(b"a\0b"), Err(NulByte));
    }

    #[test]
    fn stand_ins_are_bytes_and_text_stays_text() {
        let all: Vec<u8> = (0x80..=0xff).collect();
        let text: String = all.iter().copied().map(stand_in).collect();
        assert_eq!(wire(&text), all);
        for text in ["", "größe €\u{10ffff}", "\u{10ff80}\u{10ff7f}\u{100000}", "\u{f48f}"] {
            assert_eq!(wire(&plain(text)), text.as_bytes());
        }
    }

    #[test]
    fn printed_bytes_are_escaped() {
        assert_eq!(emit(b"-n %s\\'\n\x007"), r"printf '\055n %%s\\\047\n\0007'");
        assert_eq!(wire(&emit(b"\xff\x80\x02")), b"printf '\xff\x80\x02'");
        assert_eq!(emit(b""), ":");
        assert!(emit(&[b'x'; 40_000]).starts_with("{ printf 'xxx"));
    }
}
