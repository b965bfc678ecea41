//! Values of INI inventories: Python literals become typed values, everything else stays text.
use serde_json::{Map, Number, Value as Json};

/// How deep brackets may nest before the text is left alone.
const DEPTH: usize = 64;

/// The value of a text as Python's `literal_eval` reads it, or the text itself where that would refuse it.
pub(super) fn value(text: &str) -> Json {
    let plain = || Json::String(text.to_owned());
    let Some(first) = text.trim_start_matches([' ', '\t']).as_bytes().first() else { return plain() };
    // Nearly all values are words: no literal starts like them, save three names and string prefixes.
    let may_be = match first {
        b'0'..=b'9' | b'.' | b'-' | b'+' | b'(' | b'[' | b'{' | b'\'' | b'"' => true,
        b'T' | b'F' | b'N' => true,
        b'r' | b'R' | b'b' | b'B' | b'u' | b'U' => text.contains(['\'', '"']),
        _ => false,
    };
    if !may_be {
        return plain();
    }
    let mut reader = Reader { text, at: 0 };
    reader.whole().unwrap_or_else(plain)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\x0c')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        self.blanks();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// One literal, or several with commas between (a bare tuple), to the end or a comment.
    fn whole(&mut self) -> Option<Json> {
        let first = self.item(0)?;
        if self.ended() {
            return Some(first);
        }
        let mut items = vec![first];
        while self.take(b',') {
            if self.ended() {
                return Some(Json::Array(items));
            }
            items.push(self.item(0)?);
            if self.ended() {
                return Some(Json::Array(items));
            }
        }
        None
    }

    fn ended(&mut self) -> bool {
        self.blanks();
        matches!(self.peek(), None | Some(b'#'))
    }

    fn item(&mut self, depth: usize) -> Option<Json> {
        if depth > DEPTH {
            return None;
        }
        self.blanks();
        match self.peek()? {
            b'(' => self.parenthesised(depth),
            b'[' => {
                self.at += 1;
                Some(Json::Array(self.items(b']', Vec::new(), depth)?))
            }
            b'{' => self.braced(depth),
            b'0'..=b'9' | b'.' | b'-' | b'+' => self.number(),
            b'\'' | b'"' | b'r' | b'R' | b'b' | b'B' | b'u' | b'U' => self.strings(),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Option<Json> {
        let end = self.rest().find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest().len());
        let value = match &self.rest()[..end] {
            "True" => Json::Bool(true),
            "False" => Json::Bool(false),
            "None" => Json::Null,
            _ => return None,
        };
        self.at += end;
        Some(value)
    }

    /// `(x)` is x, `(x,)` and `(x, y)` are lists, `()` is the empty list.
    fn parenthesised(&mut self, depth: usize) -> Option<Json> {
        self.at += 1;
        if self.take(b')') {
            return Some(Json::Array(Vec::new()));
        }
        let first = self.item(depth + 1)?;
        if self.take(b')') {
            return Some(first);
        }
        self.take(b',').then_some(())?;
        Some(Json::Array(self.items(b')', vec![first], depth)?))
    }

    /// Items up to `close`, a trailing comma allowed.
    fn items(&mut self, close: u8, mut items: Vec<Json>, depth: usize) -> Option<Vec<Json>> {
        loop {
            if self.take(close) {
                return Some(items);
            }
            items.push(self.item(depth + 1)?);
            if !self.take(b',') {
                return self.take(close).then_some(items);
            }
        }
    }

    /// A dictionary, or a set, which becomes a list.
    fn braced(&mut self, depth: usize) -> Option<Json> {
        self.at += 1;
        let mut map = Map::new();
        if self.take(b'}') {
            return Some(Json::Object(map));
        }
        let mut first = self.item(depth + 1)?;
        if !self.take(b':') {
            let comma = self.take(b',');
            let mut items = vec![first];
            if comma {
                items = self.items(b'}', items, depth)?;
            } else if !self.take(b'}') {
                return None;
            }
            let mut unique: Vec<Json> = Vec::new();
            for item in items {
                // Not hashable in Python; and `{{ 'x' }}` is a template, not a set of a set.
                if item.is_array() || item.is_object() {
                    return None;
                }
                if !unique.contains(&item) {
                    unique.push(item);
                }
            }
            return Some(Json::Array(unique));
        }
        loop {
            let value = self.item(depth + 1)?;
            map.insert(key(first)?, value);
            let comma = self.take(b',');
            if self.take(b'}') {
                return Some(Json::Object(map));
            }
            if !comma {
                return None;
            }
            first = self.item(depth + 1)?;
            self.take(b':').then_some(())?;
        }
    }

    fn number(&mut self) -> Option<Json> {
        let mut negative = false;
        if let Some(sign @ (b'-' | b'+')) = self.peek() {
            negative = sign == b'-';
            self.at += 1;
            self.blanks();
        }
        let rest = self.rest();
        let mut end = 0;
        let bytes = rest.as_bytes();
        let radix = bytes.len() > 1 && bytes[0] == b'0' && matches!(bytes[1] | 32, b'x' | b'o' | b'b');
        while end < bytes.len() {
            let exponent_sign =
                !radix && end > 0 && matches!(bytes[end], b'+' | b'-') && bytes[end - 1] | 32 == b'e';
            if bytes[end].is_ascii_alphanumeric() || matches!(bytes[end], b'.' | b'_') || exponent_sign {
                end += 1;
            } else {
                break;
            }
        }
        if rest[end..].starts_with(char::is_alphanumeric) {
            return None;
        }
        self.at += end;
        let number = unsigned(&rest[..end])?;
        match (number, negative) {
            (Unsigned::Int(int), false) => Some(Json::from(int)),
            (Unsigned::Int(int), true) => i64::try_from(-i128::from(int)).ok().map(Json::from),
            (Unsigned::Float(float), _) => {
                Number::from_f64(if negative { -float } else { float }).map(Json::Number)
            }
        }
    }

    /// One string or several side by side, joined as Python joins them.
    fn strings(&mut self) -> Option<Json> {
        let mut joined = String::new();
        loop {
            self.string(&mut joined)?;
            self.blanks();
            if !matches!(self.peek(), Some(b'\'' | b'"')) {
                return Some(Json::String(joined));
            }
        }
    }

    fn string(&mut self, out: &mut String) -> Option<()> {
        let (mut raw, mut bytes) = (false, false);
        while let Some(prefix) = self.peek() {
            match prefix | 32 {
                b'r' if !raw => raw = true,
                b'b' if !bytes => bytes = true,
                b'u' if !raw && !bytes => {}
                _ => break,
            }
            self.at += 1;
        }
        let quote = self.peek().filter(|byte| matches!(byte, b'\'' | b'"'))? as char;
        let triple = ["'''", "\"\"\""].iter().any(|three| self.rest().starts_with(three));
        let close: String = std::iter::repeat_n(quote, if triple { 3 } else { 1 }).collect();
        self.at += close.len();
        loop {
            if self.rest().starts_with(&close) {
                self.at += close.len();
                return Some(());
            }
            let next = self.rest().chars().next()?;
            self.at += next.len_utf8();
            if next != '\\' {
                out.push(next);
            } else if raw {
                out.push('\\');
                let escaped = self.rest().chars().next()?;
                self.at += escaped.len_utf8();
                out.push(escaped);
            } else {
                self.escape(out)?;
            }
        }
    }

    fn escape(&mut self, out: &mut String) -> Option<()> {
        let next = self.rest().chars().next()?;
        self.at += next.len_utf8();
        let simple = match next {
            '\\' | '\'' | '"' => next,
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'a' => '\x07',
            'b' => '\x08',
            'f' => '\x0c',
            'v' => '\x0b',
            'x' => self.code(16, 2)?,
            'u' => self.code(16, 4)?,
            'U' => self.code(16, 8)?,
            '0'..='7' => {
                self.at -= 1;
                let digits = self.rest().bytes().take(3).take_while(|b| (b'0'..=b'7').contains(b)).count();
                self.code(8, digits)?
            }
            'N' => return None,
            other => {
                out.push('\\');
                other
            }
        };
        out.push(simple);
        Some(())
    }

    fn code(&mut self, radix: u32, digits: usize) -> Option<char> {
        let text = self.rest().get(..digits)?;
        text.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(())?;
        let code = char::from_u32(u32::from_str_radix(text, radix).ok()?)?;
        self.at += digits;
        Some(code)
    }
}

enum Unsigned {
    Int(u64),
    Float(f64),
}

/// A number as Python writes it: `1_000`, `0x10`, `0b1`, `0o7`, `1.`, `.5`, `1e3`; not `010`.
fn unsigned(text: &str) -> Option<Unsigned> {
    if text.starts_with('_') || text.ends_with('_') || text.contains("__") {
        return None;
    }
    let digits: String = text.chars().filter(|c| *c != '_').collect();
    let radix = match digits.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("0x") => 16,
        Some("0o") => 8,
        Some("0b") => 2,
        _ => 10,
    };
    if radix != 10 {
        return u64::from_str_radix(&digits[2..], radix).ok().map(Unsigned::Int);
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let padded = digits.len() > 1 && digits.starts_with('0') && digits.bytes().any(|byte| byte != b'0');
        return if padded { None } else { digits.parse().ok().map(Unsigned::Int) };
    }
    let float = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'))
        && digits.bytes().any(|byte| byte.is_ascii_digit());
    float.then(|| digits.parse().ok()).flatten().map(Unsigned::Float)
}

/// A dictionary's key as text, as JSON writes keys that are not text.
fn key(value: Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text),
        Json::Null | Json::Bool(_) | Json::Number(_) => Some(value.to_string()),
        Json::Array(_) | Json::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::value;
    use serde_json::{Value as Json, json};

    fn check(table: &[(&str, Json)]) {
        for (text, wanted) in table {
            assert_eq!(&value(text), wanted, "{text:?}");
        }
    }

    /// Each pair was checked against `ansible-inventory --list` of ansible-core 2.19.
    #[test]
    fn values_are_typed_as_python_literals() {
        let table: &[(&str, Json)] = &[
            ("", json!("")),
            ("true", json!("true")),
            ("True", json!(true)),
            ("None", json!(null)),
            ("Nonesuch", json!("Nonesuch")),
            ("16", json!(16)),
            ("-5", json!(-5)),
            ("- 5", json!(-5)),
            ("0x10", json!(16)),
            ("0o17", json!(15)),
            ("0b101", json!(5)),
            ("1_000", json!(1000)),
            ("0644", json!("0644")),
            ("00", json!(0)),
            ("08", json!("08")),
            ("1.5", json!(1.5)),
            ("1.", json!(1.0)),
            (".5", json!(0.5)),
            ("1e3", json!(1000.0)),
            ("1e", json!("1e")),
            ("192.0.2.1", json!("192.0.2.1")),
            ("9000 # jumbo", json!(9000)),
            ("word # not a comment", json!("word # not a comment")),
            ("'x' # c", json!("x")),
            ("\"x\"", json!("x")),
            ("'16'", json!("16")),
            ("'a' 'b'", json!("ab")),
            ("'it\\'s'", json!("it's")),
            ("'a\\tb\\x41\\101\\u00e9'", json!("a\tbAAé")),
            ("'\\d'", json!("\\d")),
            ("'''it's'''", json!("it's")),
            ("'''open'", json!("'''open'")),
            ("--5", json!("--5")),
            ("r'a\\nb'", json!("a\\nb")),
            ("b'bytes'", json!("bytes")),
            ("'open", json!("'open")),
        ];
        check(table);
    }

    #[test]
    fn collections_are_typed_as_python_literals() {
        let table: &[(&str, Json)] = &[
            ("1,2", json!([1, 2])),
            ("1,", json!([1])),
            ("(1)", json!(1)),
            ("(1, 'b')", json!([1, "b"])),
            ("()", json!([])),
            ("[]", json!([])),
            ("['a', 'b',]", json!(["a", "b"])),
            ("[1 2]", json!("[1 2]")),
            ("{'a': {'b': [1, True, None]}}", json!({"a": {"b": [1, true, null]}})),
            ("{1: 'x'}", json!({"1": "x"})),
            ("{}", json!({})),
            ("{1, 2, 1}", json!([1, 2])),
            ("{{ ansible_env.HOME }}", json!("{{ ansible_env.HOME }}")),
            ("{{ x }}/y", json!("{{ x }}/y")),
            ("{{ 'x' }}", json!("{{ 'x' }}")),
            ("{{ 1 }}", json!("{{ 1 }}")),
            ("4-N", json!("4-N")),
            ("0-3,8", json!("0-3,8")),
            ("[abc]", json!("[abc]")),
            ("1 or 2", json!("1 or 2")),
            ("18446744073709551615", json!(18446744073709551615u64)),
        ];
        check(table);
    }

    #[test]
    fn deep_brackets_stay_text() {
        let deep = "[".repeat(100_000);
        assert_eq!(value(&deep), json!(deep));
    }
}
