//! One argument of a kernel command line: its name, its value, and the quotes that the kernel understands.
use std::fmt;

/// The name of an argument as the kernel compares it: `-` and `_` are one sign, so `kvm-intel.nested` is
/// `kvm_intel.nested` (kernel: `parameq`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(String);

impl Key {
    /// The key of a name.
    pub fn of(name: &str) -> Self {
        Self(name.replace('-', "_"))
    }

    /// The name with `_` for every `-`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// One argument. Its text is kept as written, so that an argument nobody asked about is never respelt.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Token {
    raw: String,
    name: String,
    value: Option<String>,
}

/// Why no argument can be made of a name and a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inexpressible {
    /// What was asked for.
    pub text: String,
    /// Why the kernel, or the boot loader on the way, would read it otherwise.
    pub why: &'static str,
}

impl fmt::Display for Inexpressible {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "`{}` cannot stand on a kernel command line: {}", self.text, self.why)
    }
}

impl Token {
    /// Reads one argument as written, quotes included, by the kernel's own rule (`next_arg`): the first `=` after the
    /// first byte parts name and value; one pair of quotes around the whole or around the value is taken off.
    pub fn read(raw: &str) -> Self {
        let body = raw.strip_prefix('"');
        let quoted = body.is_some();
        let body = body.unwrap_or(raw);
        let close = |text: &str, was: bool| match was {
            true => text.strip_suffix('"').unwrap_or(text).to_owned(),
            false => text.to_owned(),
        };
        let equals = body.bytes().enumerate().skip(1).find(|(_, sign)| *sign == b'=').map(|(at, _)| at);
        let (name, value) = match equals {
            None => (close(body, quoted), None),
            Some(at) => {
                let value = &body[at + 1..];
                let inner = value.strip_prefix('"');
                (body[..at].to_owned(), Some(close(inner.unwrap_or(value), quoted || inner.is_some())))
            }
        };
        Self { raw: raw.to_owned(), name, value }
    }

    /// Makes an argument of a name and a value (`None`: a flag), with quotes where the value has blanks.
    pub fn new(name: &str, value: Option<&str>) -> Result<Self, Inexpressible> {
        let blank = |text: &str| text.bytes().any(|sign| sign.is_ascii_whitespace() || sign == 0x0b);
        let raw = match value {
            None => name.to_owned(),
            Some(value) if blank(value) => format!("{name}=\"{value}\""),
            Some(value) => format!("{name}={value}"),
        };
        let refuse = |why| Inexpressible { text: raw.clone(), why };
        if name.is_empty() {
            return Err(refuse("the name is empty"));
        }
        if !raw.bytes().all(|sign| (b' '..=b'~').contains(&sign)) {
            return Err(refuse(
                "only printable ASCII survives: the kernel parts arguments at other blanks too",
            ));
        }
        if name.contains(['"', ' ', '=']) || name.starts_with('#') {
            return Err(refuse("a name holds no quote, blank or `=`, and no `#` at its start"));
        }
        if value.is_some_and(|value| value.contains('"')) {
            return Err(refuse("the kernel has no way to write a double quote inside a value"));
        }
        if name == "--" {
            return Err(refuse("`--` ends the kernel's arguments; what follows belongs to init"));
        }
        if raw.contains(['\\', '`', '\'', '$', ';', '&', '|', '<', '>']) {
            return Err(refuse("the boot loader's own script language would read this sign"));
        }
        let token = Self::read(&raw);
        match token.name == name && token.value.as_deref() == value {
            true => Ok(token),
            false => Err(refuse("the kernel would read it as something else")),
        }
    }

    /// The text as it stands on the line, quotes included.
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// The name as written.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name as compared.
    pub fn key(&self) -> Key {
        Key::of(&self.name)
    }

    /// The value without quotes; `None` for a flag (`quiet`), which is not the same as an empty value (`quiet=`).
    pub fn value(&self) -> Option<&str> {
        self.value.as_deref()
    }

    /// Whether it is a variable of the boot loader (`$tuned_params`), not an argument.
    pub fn is_reference(&self) -> bool {
        self.raw.starts_with('$')
    }
}

impl fmt::Display for Token {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.raw)
    }
}
