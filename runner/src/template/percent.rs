//! Python's `'%s' % x` and the `format` filter.
use super::eval::Eval;
use super::fault::Fault;
use super::show;
use super::tree::Place;
use super::value::{Key, Val, range};

/// One `%…` of a format.
struct Spec {
    name: Option<String>,
    left: bool,
    zero: bool,
    plus: bool,
    blank: bool,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
}

impl Eval<'_> {
    /// Fills the format; `map` serves `%(name)s`.
    pub(super) fn percent(
        &self,
        format: &str,
        args: &[Val],
        map: &Val,
        place: Place,
    ) -> Result<String, Fault> {
        let fail = |why: &str| Fault::failed(why, range(place));
        let mut out = String::new();
        let mut rest = format.chars().peekable();
        let (mut next, mut named) = (0, false);
        while let Some(c) = rest.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            if rest.peek() == Some(&'%') {
                rest.next();
                out.push('%');
                continue;
            }
            let spec = spec(&mut rest).ok_or_else(|| fail("this format is incomplete"))?;
            let kind = rest.next().ok_or_else(|| fail("this format is incomplete"))?;
            let val = match &spec.name {
                Some(name) => {
                    named = true;
                    let key = Key::from(name.as_str());
                    self.child(map, &key, place)?.ok_or_else(|| fail("the format names a missing key"))?
                }
                None => {
                    next += 1;
                    args.get(next - 1)
                        .cloned()
                        .ok_or_else(|| fail("there are fewer values than `%` marks"))?
                }
            };
            let text = self.converted(&spec, kind, &val, place)?;
            out.push_str(&padded(&spec, kind, text));
        }
        if next < args.len() && !named && !(args.len() == 1 && args[0].is_mapping()) {
            return Err(fail("there are more values than `%` marks"));
        }
        Ok(out)
    }

    fn converted(&self, spec: &Spec, kind: char, val: &Val, place: Place) -> Result<String, Fault> {
        let number = || Fault::failed(format!("`%{kind}` needs a number, not {}", val.kind()), range(place));
        let signed = |text: String, negative: bool| match (negative, spec.plus, spec.blank) {
            (true, ..) => format!("-{text}"),
            (_, true, _) => format!("+{text}"),
            (_, _, true) => format!(" {text}"),
            _ => text,
        };
        let cut = |text: String| match spec.precision {
            Some(precision) => text.chars().take(precision).collect(),
            None => text,
        };
        Ok(match kind {
            's' => cut(self.show(val, place)?),
            'r' => cut(self.repr(val, place)?),
            'd' | 'i' | 'u' => {
                let n = match val {
                    Val::Float(f) => *f as i128,
                    other => other.as_int().ok_or_else(number)?,
                };
                signed(format!("{:0>1$}", n.unsigned_abs(), spec.precision.unwrap_or(1)), n < 0)
            }
            'x' | 'X' | 'o' => {
                let n = val.as_int().ok_or_else(number)?;
                let (digits, mark) = match kind {
                    'x' => (format!("{:x}", n.unsigned_abs()), "0x"),
                    'X' => (format!("{:X}", n.unsigned_abs()), "0X"),
                    _ => (format!("{:o}", n.unsigned_abs()), "0o"),
                };
                signed(if spec.alternate { format!("{mark}{digits}") } else { digits }, n < 0)
            }
            'f' | 'F' | 'e' | 'E' => {
                let f = val.as_float().ok_or_else(number)?;
                let precision = spec.precision.unwrap_or(6);
                let text = if kind.eq_ignore_ascii_case(&'f') {
                    format!("{:.precision$}", f.abs())
                } else {
                    exponent(f.abs(), precision)
                };
                signed(if kind == 'E' { text.to_uppercase() } else { text }, f < 0.0)
            }
            'c' => match val {
                Val::Str(text) if text.chars().count() == 1 => text.to_string(),
                other => other
                    .as_int()
                    .and_then(|n| u32::try_from(n).ok())
                    .and_then(char::from_u32)
                    .map(String::from)
                    .ok_or_else(number)?,
            },
            _ => {
                let why = "write %s, %d, %x, %o, %f or %e";
                return Err(Fault::unsupported(format!("format `%{kind}`"), why, range(place)));
            }
        })
    }
}

fn exponent(f: f64, precision: usize) -> String {
    let text = format!("{f:.precision$e}");
    match text.split_once('e') {
        Some((digits, exponent)) => match exponent.strip_prefix('-') {
            Some(exponent) => format!("{digits}e-{exponent:0>2}"),
            None => format!("{digits}e+{exponent:0>2}"),
        },
        None => show::float(f),
    }
}

fn spec(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<Spec> {
    let mut spec = Spec {
        name: None,
        left: false,
        zero: false,
        plus: false,
        blank: false,
        alternate: false,
        width: 0,
        precision: None,
    };
    if rest.next_if_eq(&'(').is_some() {
        let mut name = String::new();
        loop {
            match rest.next()? {
                ')' => break,
                c => name.push(c),
            }
        }
        spec.name = Some(name);
    }
    while let Some(c) = rest.next_if(|c| "-0+ #".contains(*c)) {
        match c {
            '-' => spec.left = true,
            '0' => spec.zero = true,
            '+' => spec.plus = true,
            '#' => spec.alternate = true,
            _ => spec.blank = true,
        }
    }
    let number = |rest: &mut std::iter::Peekable<std::str::Chars<'_>>| {
        let mut n = 0_usize;
        while let Some(digit) = rest.peek().and_then(|c| c.to_digit(10)) {
            n = (n * 10 + digit as usize).min(10_000);
            rest.next();
        }
        n
    };
    spec.width = number(rest);
    if rest.next_if_eq(&'.').is_some() {
        spec.precision = Some(number(rest));
    }
    Some(spec)
}

fn padded(spec: &Spec, kind: char, text: String) -> String {
    let len = text.chars().count();
    if len >= spec.width {
        return text;
    }
    let fill = spec.width - len;
    if spec.left {
        return text + &" ".repeat(fill);
    }
    if spec.zero && !"src".contains(kind) {
        let sign = usize::from(text.starts_with(['-', '+', ' ']));
        return format!("{}{}{}", &text[..sign], "0".repeat(fill), &text[sign..]);
    }
    " ".repeat(fill) + &text
}
