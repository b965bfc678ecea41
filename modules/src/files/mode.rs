//! Permission bits as people write them: octal text, YAML's octal numbers, symbols of `chmod`, `preserve`.
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;

/// A wanted mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// These bits, 0 to 0o7777.
    Bits(u32),
    /// Changes by symbols, such as `u+x,g=r`; the text is known to be well formed.
    Symbols(String),
    /// That of the source.
    Preserve,
}

const USER: u32 = 0o4700;
const GROUP: u32 = 0o2070;
const OTHER: u32 = 0o1007;
/// What a new file may not have: the host's shell runs with this mask, and `+w` without `ugoa` heeds it.
const UMASK: u32 = 0o022;

impl Mode {
    /// Reads a mode from text.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == "preserve" {
            return Ok(Self::Preserve);
        }
        let digits = text.strip_prefix("0o").unwrap_or(text);
        if digits.chars().all(|letter| letter.is_ascii_digit()) && !digits.is_empty() {
            return match u32::from_str_radix(digits, 8) {
                Ok(bits) if bits <= 0o7777 => Ok(Self::Bits(bits)),
                _ => {
                    Err(format!("`{text}` is not a mode: write three or four octal digits, such as \"0644\""))
                }
            };
        }
        symbols(text, 0, false).map(|_| Self::Symbols(text.to_owned()))
    }

    /// Reads a number of YAML, where `0644` was octal and came as 420.
    ///
    /// # Errors
    /// A number that is not a mode, or that was surely meant to be octal.
    pub fn of_number(number: u64) -> Result<Self, String> {
        let text = number.to_string();
        // 644 is 01204: a sticky bit that nobody means. Ansible takes it at its word.
        if (512..=777).contains(&number) && text.chars().all(|digit| digit < '8') {
            return Err(format!("the decimal number {number} is the mode {number:05o}: write \"0{number}\""));
        }
        match u32::try_from(number) {
            Ok(bits) if bits <= 0o7777 => Ok(Self::Bits(bits)),
            _ => Err(format!("{number} is not a mode: write three or four octal digits, such as \"0644\"")),
        }
    }

    /// The bits it makes of those that are there; `source` are those of what is copied.
    pub fn of(&self, bits: u32, is_folder: bool, source: Option<u32>) -> u32 {
        match self {
            Self::Bits(bits) => *bits,
            Self::Symbols(text) => symbols(text, bits, is_folder).unwrap_or(bits),
            Self::Preserve => source.unwrap_or(bits),
        }
    }
}

/// A mode as four octal digits.
pub(crate) fn octal(bits: u32) -> String {
    format!("{bits:04o}")
}

/// Applies clauses such as `u=rw,g-w,+X` to bits, as Ansible does.
fn symbols(text: &str, bits: u32, is_folder: bool) -> Result<u32, String> {
    let fault = || {
        format!(
            "`{text}` is not a mode: write octal digits such as \"0644\", or symbols such as \"u=rw,g-w\""
        )
    };
    let mut bits = bits;
    for clause in text.split(',') {
        let end = clause.find(['+', '-', '=']).ok_or_else(fault)?;
        let (who, mut rest) = clause.split_at(end);
        let masked = who.is_empty();
        let who = if masked || who == "a" { "ugo" } else { who };
        if !who.chars().all(|letter| "ugo".contains(letter)) {
            return Err(fault());
        }
        while let Some(operator) = rest.chars().next() {
            let body = &rest[1..];
            let end = body.find(['+', '-', '=']).unwrap_or(body.len());
            let (permissions, next) = body.split_at(end);
            if !permissions.chars().all(|letter| "rwxXstugo".contains(letter)) {
                return Err(fault());
            }
            for class in who.chars() {
                let mask = match class {
                    'u' => USER,
                    'g' => GROUP,
                    _ => OTHER,
                };
                let gives = permissions
                    .chars()
                    .fold(0, |gives, letter| gives | granted(letter, class, bits, is_folder, masked))
                    & mask;
                bits = match operator {
                    '+' => bits | gives,
                    '-' => bits & !gives,
                    _ => (bits & !mask) | gives,
                };
            }
            rest = next;
        }
    }
    Ok(bits)
}

fn granted(letter: char, class: char, bits: u32, is_folder: bool, masked: bool) -> u32 {
    let shown = if masked { !UMASK } else { !0 };
    let class_shift = match class {
        'u' => 6,
        'g' => 3,
        _ => 0,
    };
    match letter {
        'r' => 0o444 & shown,
        'w' => 0o222 & shown,
        'x' => 0o111 & shown,
        'X' if is_folder || bits & 0o111 != 0 => 0o111,
        's' => 0o6000,
        't' => 0o1000,
        'u' => (bits >> 6 & 7) << class_shift,
        'g' => (bits >> 3 & 7) << class_shift,
        'o' => (bits & 7) << class_shift,
        _ => 0,
    }
}

impl Serialize for Mode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bits(bits) => serializer.serialize_str(&octal(*bits)),
            Self::Symbols(text) => serializer.serialize_str(text),
            Self::Preserve => serializer.serialize_str("preserve"),
        }
    }
}

impl<'de> Deserialize<'de> for Mode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(u64),
            Text(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Number(number) => Self::of_number(number),
            Written::Text(text) => Self::parse(&text),
        }
        .map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Mode {
    fn schema_name() -> Cow<'static, str> {
        "Mode".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Permission bits: \"0644\", a YAML octal 0644, symbols such as \"u=rw,g-w\", or \"preserve\"",
            "anyOf": [{ "type": "string" }, { "type": "integer", "minimum": 0, "maximum": 4095 }],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Mode;

    #[test]
    fn numbers_are_octal_or_refused() {
        let read = |json: &str| serde_json::from_str::<Mode>(json).map_err(|fault| fault.to_string());
        assert_eq!(read("420"), Ok(Mode::Bits(0o644)));
        assert_eq!(read("\"0644\""), Ok(Mode::Bits(0o644)));
        assert_eq!(read("\"1777\""), Ok(Mode::Bits(0o1777)));
        assert_eq!(read("1023"), Ok(Mode::Bits(0o1777)));
        for wrong in
            ["644", "755", "600", "\"0999\"", "\"17777\"", "5000", "\"u\"", "\"q+x\"", "\"u+q\"", "\"\""]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert!(read("644").unwrap_err().contains("01204"));
    }

    /// Rows of `tests/data/modules/mode.json`: symbols, bits, whether a folder, and Ansible's answer.
    #[test]
    fn symbols_mean_what_ansible_means() {
        let rows: Vec<(String, u32, bool, Option<u32>)> =
            serde_json::from_str(include_str!("../../../tests/data/modules/mode.json")).unwrap();
        assert!(rows.len() >= 50);
        for (text, bits, is_folder, wanted) in rows {
            let ours = Mode::parse(&text).map(|mode| mode.of(bits, is_folder, None)).ok();
            // Ansible takes a class without a permission for nothing at all; it is a slip, and said so here.
            let wanted = wanted.filter(|_| text.contains(['+', '-', '=']));
            assert_eq!(ours, wanted, "{text} on {bits:04o}, folder {is_folder}");
        }
    }
}
