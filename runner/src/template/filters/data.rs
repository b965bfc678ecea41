//! Filters between values and their texts: JSON, base64, digests.
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::Digest as _;

use super::super::Json;
use super::super::calls::{Bound, Callee, row};
use super::super::eval::Eval;
use super::super::fault::Fault;
use super::super::show;
use super::super::value::Val;

pub(super) static TABLE: [Callee; 9] = [
    row("to_json", JSON, |eval, bound| to_json(eval, bound, false)),
    row("to_nice_json", JSON, |eval, bound| to_json(eval, bound, true)),
    row("from_json", &["value"], from_json),
    row("b64encode", &["value", "encoding"], |eval, bound| {
        Ok(Val::text(STANDARD.encode(bound.str(eval, 0, "text")?.as_bytes())))
    }),
    row("b64decode", &["value", "encoding"], b64decode),
    row("hash", &["value", "hashtype"], |eval, bound| {
        let kind = bound.some(1).map_or(Ok("sha1".into()), |_| bound.str(eval, 1, "a kind"))?;
        digest(eval, bound, &kind)
    }),
    row("sha1", &["value"], |eval, bound| digest(eval, bound, "sha1")),
    row("checksum", &["value"], |eval, bound| digest(eval, bound, "sha1")),
    row("md5", &["value"], |eval, bound| digest(eval, bound, "md5")),
];

const JSON: &[&str] =
    &["value", "indent", "sort_keys", "ensure_ascii", "separators", "vault_to_text", "preprocess_unsafe"];

fn to_json(eval: &Eval<'_>, bound: &Bound, nice: bool) -> Result<Val, Fault> {
    if bound.some(4).is_some() {
        let why = "leave it out";
        return Err(Fault::unsupported("`separators` of `to_json`", why, bound.range()));
    }
    let indent = match bound.int(1)? {
        Some(n) => Some(n.clamp(0, 40) as usize),
        None => nice.then_some(4),
    };
    let sort = bound.get(2).map_or(Ok(nice), |val| eval.truth(val, bound.place))?;
    let ascii = bound.get(3).map_or(Ok(true), |val| eval.truth(val, bound.place))?;
    let json = eval.json(bound.input(), bound.place)?;
    let mut out = String::new();
    Writer { indent, sort, ascii }.write(&json, 0, &mut out);
    Ok(Val::text(out))
}

/// JSON as Python writes it: blanks after `,` and `:`, and `\uXXXX` unless told otherwise.
struct Writer {
    indent: Option<usize>,
    sort: bool,
    ascii: bool,
}

impl Writer {
    fn write(&self, json: &Json, depth: usize, out: &mut String) {
        match json {
            Json::Array(items) if items.is_empty() => out.push_str("[]"),
            Json::Object(map) if map.is_empty() => out.push_str("{}"),
            Json::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    self.gap(index, depth + 1, out);
                    self.write(item, depth + 1, out);
                }
                self.close(depth, ']', out);
            }
            Json::Object(map) => {
                out.push('{');
                let mut entries: Vec<_> = map.iter().collect();
                if self.sort {
                    entries.sort_by_key(|(key, _)| *key);
                }
                for (index, (key, item)) in entries.into_iter().enumerate() {
                    self.gap(index, depth + 1, out);
                    self.text(key, out);
                    out.push_str(": ");
                    self.write(item, depth + 1, out);
                }
                self.close(depth, '}', out);
            }
            Json::String(text) => self.text(text, out),
            Json::Number(n) => match n.as_f64().filter(|_| n.is_f64()) {
                Some(f) => out.push_str(&show::float(f)),
                None => out.push_str(&n.to_string()),
            },
            Json::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
            Json::Null => out.push_str("null"),
        }
    }

    fn gap(&self, index: usize, depth: usize, out: &mut String) {
        match self.indent {
            Some(indent) => {
                out.push_str(if index > 0 { ",\n" } else { "\n" });
                out.push_str(&" ".repeat(indent * depth));
            }
            None if index > 0 => out.push_str(", "),
            None => {}
        }
    }

    fn close(&self, depth: usize, end: char, out: &mut String) {
        if let Some(indent) = self.indent {
            out.push('\n');
            out.push_str(&" ".repeat(indent * depth));
        }
        out.push(end);
    }

    fn text(&self, text: &str, out: &mut String) {
        out.push('"');
        for c in text.chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\u{8}' => out.push_str("\\b"),
                '\u{c}' => out.push_str("\\f"),
                c if (c as u32) < 0x20 || (self.ascii && !(' '..='~').contains(&c)) => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        out.push_str(&format!("\\u{unit:04x}"));
                    }
                }
                c => out.push(c),
            }
        }
        out.push('"');
    }
}

fn from_json(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let kind = bound.input().kind();
    let text =
        bound.input().as_str().ok_or_else(|| bound.fail(format!("`from_json` needs text, not {kind}")))?;
    let json = serde_json::from_str(text);
    let json = json.map_err(|error| bound.fail(format!("this is no JSON, from line {} on", error.line())))?;
    eval.plain(json, bound.place)
}

fn b64decode(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let text = bound.str(eval, 0, "text")?;
    let clean: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let bytes = STANDARD.decode(clean).map_err(|_| bound.fail("this is no base64"))?;
    String::from_utf8(bytes).map(Val::text).map_err(|_| bound.fail("the decoded bytes are no UTF-8 text"))
}

fn digest(eval: &Eval<'_>, bound: &Bound, kind: &str) -> Result<Val, Fault> {
    let text = bound.str(eval, 0, "text")?;
    let hex = |bytes: &[u8]| Val::text(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    Ok(match kind {
        "sha256" => hex(&sha2::Sha256::digest(text.as_bytes())),
        "sha224" => hex(&sha2::Sha224::digest(text.as_bytes())),
        "sha384" => hex(&sha2::Sha384::digest(text.as_bytes())),
        "sha512" => hex(&sha2::Sha512::digest(text.as_bytes())),
        other => {
            let why = "use `hash('sha256')`";
            return Err(Fault::unsupported(format!("digest `{other}`"), why, bound.range()));
        }
    })
}
