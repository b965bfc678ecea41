//! Walks a script command by command: simple assignments take effect, everything else casts doubt on what it may set.
use std::collections::BTreeSet;

use super::lexer::{Fault, Lexeme, Lexer, Part, Quote, Word};
use super::script::{Assign, Broken, Reading};
use super::value::{Cell, Doubt, Seat, Value};

/// Commands that may set any variable, or end the reading.
const SETTERS: [&str; 14] = [
    ".", "source", "eval", "read", "getopts", "exec", "exit", "return", "alias", "trap", "break", "continue",
    "command", "local",
];

/// The longest value that is followed byte by byte; kernels take at most 4 KiB.
const LONGEST: usize = 16_384;

/// The most doubts that are told apart; a script of endless code has as many as lines.
const DOUBTS: usize = 1000;

/// A compound command that is open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    If,
    Loop,
    Case,
    Brace,
    Paren,
}

/// The walk through one script.
pub(super) struct Walk<'r> {
    reading: &'r mut Reading,
    script: usize,
    open: Vec<Open>,
    functions: BTreeSet<String>,
    /// Whether the next command runs only if another did, or did not, succeed.
    linked: bool,
    /// Whether a pattern of a `case` comes next.
    pattern: bool,
}

impl<'r> Walk<'r> {
    /// Reads one script into the reading.
    pub(super) fn through(reading: &'r mut Reading, script: usize) {
        let bytes = reading.scripts[script].bytes.clone();
        let mut walk = Self {
            reading,
            script,
            open: Vec::new(),
            functions: BTreeSet::new(),
            linked: false,
            pattern: false,
        };
        let mut lexer = Lexer::new(&bytes);
        let ended = walk.commands(&mut lexer);
        let fault = match ended {
            Err(fault) => Some(fault),
            Ok(()) if !walk.open.is_empty() => Some(Fault {
                at: bytes.len(),
                what: "the script ends inside an `if`, loop or group",
                syntax: true,
            }),
            Ok(()) => None,
        };
        if let Some(fault) = fault {
            let line = walk.reading.scripts[script].line(fault.at);
            let doubt = walk.doubt(fault.at, format!("unreadable from here: {}", fault.what));
            walk.doubt_all(doubt);
            let broken = Broken { script, line, what: fault.what.to_owned(), syntax: fault.syntax };
            walk.reading.broken.push(broken);
        }
    }

    fn commands(&mut self, lexer: &mut Lexer<'_>) -> Result<(), Fault> {
        let mut words: Vec<Word> = Vec::new();
        loop {
            let at = lexer.at();
            match lexer.lexeme()? {
                Lexeme::End => {
                    self.command(&words, false)?;
                    return Ok(());
                }
                Lexeme::Newline => {
                    self.command(&words, false)?;
                    // Behind `&&` or `|` the command goes on in the next line.
                    self.linked &= words.is_empty();
                    words.clear();
                }
                Lexeme::Word(word) => {
                    let plain = word.plain();
                    if self.pattern && plain.as_deref() != Some("esac") {
                        continue;
                    }
                    self.pattern = false;
                    match plain.as_deref().filter(|_| words.is_empty()) {
                        Some(keyword) if self.keyword(keyword, word.start)? => {}
                        _ => words.push(word),
                    }
                    if words.len() > 2
                        && is_plain(&words[0], "case")
                        && is_plain(&words[words.len() - 1], "in")
                    {
                        words.clear();
                        self.pattern = true;
                    }
                }
                Lexeme::Operator(operator) => self.operator(operator, at, &mut words, lexer)?,
            }
        }
    }

    fn operator(
        &mut self,
        operator: &'static str,
        at: usize,
        words: &mut Vec<Word>,
        lexer: &mut Lexer<'_>,
    ) -> Result<(), Fault> {
        let fault = |what| Fault { at, what, syntax: true };
        match operator {
            "<" | ">" | ">>" | "<&" | ">&" | "<>" | ">|" | "<<" | "<<-" => {
                redirect(operator, at, words, lexer)?;
            }
            ")" if self.pattern => self.pattern = false,
            "(" | "|" if self.pattern => {}
            "(" => self.parenthesis(at, words, lexer)?,
            ")" => {
                self.command(words, false)?;
                words.clear();
                self.linked = false;
                if self.open.pop() != Some(Open::Paren) {
                    return Err(fault("`)` without `(`"));
                }
            }
            ";;" => {
                self.command(words, false)?;
                words.clear();
                self.linked = false;
                if self.open.last() != Some(&Open::Case) {
                    return Err(fault("`;;` outside a `case`"));
                }
                self.pattern = true;
            }
            // A side of a pipe and a background command run in a shell of their own.
            "|" | "&" => {
                self.command(words, true)?;
                words.clear();
                self.linked = operator == "|";
            }
            "&&" | "||" => {
                self.command(words, false)?;
                words.clear();
                self.linked = true;
            }
            _ => {
                self.command(words, false)?;
                words.clear();
                self.linked = false;
            }
        }
        Ok(())
    }

    /// `(` opens a subshell, or behind a name defines a function.
    fn parenthesis(&mut self, at: usize, words: &mut Vec<Word>, lexer: &mut Lexer<'_>) -> Result<(), Fault> {
        // bash gives it further meanings, so only dash surely stops here.
        let fault = || Fault { at, what: "`(` behind a word", syntax: false };
        match words.as_slice() {
            [] => self.open.push(Open::Paren),
            [name] => {
                let name = name.plain().ok_or_else(fault)?;
                if lexer.lexeme()? != Lexeme::Operator(")") {
                    return Err(fault());
                }
                self.functions.insert(name);
                words.clear();
            }
            _ => return Err(fault()),
        }
        Ok(())
    }

    /// Takes a keyword that stands where a command could; false where the word is none.
    fn keyword(&mut self, word: &str, at: usize) -> Result<bool, Fault> {
        self.linked &= !matches!(word, "fi" | "done" | "esac" | "}");
        let mut close = |kind| match self.open.pop() == Some(kind) {
            true => Ok(true),
            false => Err(Fault { at, what: "this keyword closes nothing that is open", syntax: true }),
        };
        match word {
            "if" => self.open.push(Open::If),
            "while" | "until" => self.open.push(Open::Loop),
            // Their heads are words up to the end of the line; `command` sorts them out.
            "for" => {
                self.open.push(Open::Loop);
                return Ok(false);
            }
            "case" => {
                self.open.push(Open::Case);
                return Ok(false);
            }
            "{" => self.open.push(Open::Brace),
            "fi" => return close(Open::If),
            "done" => return close(Open::Loop),
            "esac" => return close(Open::Case),
            "}" => return close(Open::Brace),
            "then" | "else" | "elif" | "do" | "!" => {}
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A finished simple command.
    fn command(&mut self, words: &[Word], apart: bool) -> Result<(), Fault> {
        if words.first().is_some_and(|word| is_plain(word, "case")) {
            return Err(Fault { at: words[0].start, what: "a `case` without `in`", syntax: true });
        }
        let count = words.iter().take_while(|word| assigned(word).is_some()).count();
        let (assigns, rest) = words.split_at(count);
        let Some(name) = rest.first() else {
            assigns.iter().for_each(|word| self.assign(word, apart));
            return Ok(());
        };
        words.iter().for_each(|word| self.side_effects(word.start, &word.parts));
        let doubt_of = |walk: &mut Self, what: &str| walk.doubt(name.start, what.to_owned());
        match name.plain().as_deref() {
            None => {
                let doubt = match rest.first().and_then(appended) {
                    Some(variable) => {
                        let doubt = doubt_of(self, "`+=`, which dash does not know and bash does");
                        self.doubt_one(&variable, doubt);
                        return Ok(());
                    }
                    None => doubt_of(self, "a command whose name is computed"),
                };
                self.doubt_all(doubt);
            }
            Some("export" | "readonly") => {
                for word in &rest[1..] {
                    match assigned(word) {
                        Some(_) => self.assign(word, apart),
                        None => self.doubt_if_computed(word),
                    }
                }
            }
            Some("unset") => rest[1..].iter().for_each(|word| self.unset(word, apart)),
            Some("for") => {
                let doubt = doubt_of(self, "set by a loop");
                if let Some(variable) = rest.get(1).and_then(Word::plain) {
                    self.doubt_one(&variable, doubt);
                }
            }
            Some(text) if appended_text(text).is_some() => {
                let doubt = doubt_of(self, "`+=`, which dash does not know and bash does");
                self.doubt_one(appended_text(text).unwrap_or(text), doubt);
            }
            Some("command")
                if rest.get(1).is_some_and(|word| is_plain(word, "-v") || is_plain(word, "-V")) => {}
            // These are special: what is assigned before them stays assigned.
            Some(":" | "set" | "shift" | "times") => {
                for (variable, _) in assigns.iter().filter_map(assigned) {
                    let doubt = doubt_of(self, "assigned before a command");
                    self.doubt_one(&variable, doubt);
                }
            }
            Some(text) if SETTERS.contains(&text) || self.functions.contains(text) => {
                let doubt = doubt_of(self, &format!("`{text}`, which may set any variable"));
                self.doubt_all(doubt);
            }
            // `[`, `echo`, programs: they cannot set a variable of this shell.
            Some(_) => {}
        }
        Ok(())
    }

    fn assign(&mut self, word: &Word, apart: bool) {
        let Some((name, split)) = assigned(word) else { return };
        self.side_effects(word.start, &word.parts);
        let mut value = self.value_of(&word.parts[split..], word.start);
        let sure = self.open.is_empty() && !self.linked && !apart;
        if !sure {
            let doubt = self.doubt(word.start, format!("`{name}` is set only if something holds"));
            value = value.doubted(doubt);
        }
        let start = match word.parts.get(split - 1) {
            Some(Part::Byte { end, .. }) => *end,
            _ => word.start,
        };
        self.reading.assigns.push(Assign {
            name: name.clone(),
            script: self.script,
            start: word.start,
            value: start..word.end,
            tail: word.tail,
            sure,
        });
        self.reading.variables.insert(name, value);
    }

    fn unset(&mut self, word: &Word, apart: bool) {
        match word.plain() {
            Some(name) if self.open.is_empty() && !self.linked && !apart => {
                self.reading.variables.remove(&name);
            }
            Some(name) => {
                let doubt = self.doubt(word.start, format!("`{name}` is unset only if something holds"));
                self.doubt_one(&name, doubt);
            }
            None => self.doubt_if_computed(word),
        }
    }

    fn doubt_if_computed(&mut self, word: &Word) {
        if word.plain().is_none() {
            let doubt = self.doubt(word.start, "a name that is computed".to_owned());
            self.doubt_all(doubt);
        }
    }

    /// `${NAME:=word}` sets as a side effect.
    fn side_effects(&mut self, at: usize, parts: &[Part]) {
        for part in parts {
            if let Part::Variable { name, operator: Some((sign, _, word)) } = part {
                self.side_effects(at, word);
                if *sign == b'=' {
                    let doubt = self.doubt(at, format!("`${{{name}:=…}}` sets it where it was empty"));
                    self.doubt_one(name, doubt);
                }
            }
        }
    }

    fn value_of(&mut self, parts: &[Part], at: usize) -> Value {
        let mut cells = Vec::new();
        for part in parts {
            match part {
                Part::Byte { byte, start, end, quote } => cells.push(Cell {
                    byte: Some(*byte),
                    seat: Some(Seat { script: self.script, start: *start, end: *end, quote: *quote }),
                    doubt: None,
                }),
                Part::Code { what } => {
                    let doubt = self.doubt(at, (*what).to_owned());
                    cells.push(Cell { byte: None, seat: None, doubt: Some(doubt) });
                }
                Part::Variable { name, operator } => {
                    let value = self.expand(name, operator.as_ref(), at);
                    cells.extend(value.cells);
                }
            }
            if cells.len() > LONGEST {
                let doubt = self.doubt(at, "a value that doubles itself".to_owned());
                return Value::default().doubted(doubt);
            }
        }
        Value { cells }
    }

    fn expand(&mut self, name: &str, operator: Option<&(u8, bool, Vec<Part>)>, at: usize) -> Value {
        let value = match self.reading.variables.get(name) {
            Some(value) => Some(value.clone()),
            // Only the boot loader's own variables surely start unset; any other may come from the environment.
            None if name.starts_with("GRUB_CMDLINE") => None,
            None => {
                let doubt = self.doubt(at, format!("`${name}`, which is set elsewhere or not at all"));
                Some(Value::default().doubted(doubt))
            }
        };
        let Some((sign, colon, word)) = operator else { return value.unwrap_or_default() };
        let doubts = value.as_ref().map(Value::doubts).unwrap_or_default();
        let filled = value.as_ref().is_some_and(|value| !*colon || !value.likely().is_empty());
        let chosen = match (sign, filled) {
            (b'+', true) | (b'-' | b'=', false) => self.value_of(word, at),
            (b'+', false) | (_, false) => Value::default(),
            (_, true) => return value.unwrap_or_default(),
        };
        match doubts.first() {
            Some(doubt) => chosen.doubted(*doubt),
            None => chosen,
        }
    }

    fn doubt(&mut self, at: usize, what: String) -> usize {
        if self.reading.doubts.len() >= DOUBTS {
            return DOUBTS - 1;
        }
        let line = self.reading.scripts[self.script].line(at);
        self.reading.doubts.push(Doubt { script: self.script, line, what });
        self.reading.doubts.len() - 1
    }

    fn doubt_one(&mut self, name: &str, doubt: usize) {
        let value = self.reading.variables.remove(name).unwrap_or_default();
        self.reading.variables.insert(name.to_owned(), value.doubted(doubt));
    }

    /// Anything may have been set, the two variables that matter included.
    fn doubt_all(&mut self, doubt: usize) {
        for name in ["GRUB_CMDLINE_LINUX", "GRUB_CMDLINE_LINUX_DEFAULT"] {
            self.reading.variables.entry(name.to_owned()).or_default();
        }
        for value in self.reading.variables.values_mut() {
            *value = std::mem::take(value).doubted(doubt);
        }
    }
}

/// Takes the file of a redirection; the digit before it was a descriptor, not a word.
fn redirect(operator: &str, at: usize, words: &mut Vec<Word>, lexer: &mut Lexer<'_>) -> Result<(), Fault> {
    let Lexeme::Word(target) = lexer.lexeme()? else {
        return Err(Fault { at, what: "a redirection without a file", syntax: true });
    };
    if operator.starts_with("<<") {
        lexer.heredoc(&target, operator == "<<-");
    }
    if words.last().is_some_and(|word| word.end == at && is_digits(word)) {
        words.pop();
    }
    Ok(())
}

/// The variable that a word assigns to, and at which part its value starts.
fn assigned(word: &Word) -> Option<(String, usize)> {
    let mut name = String::new();
    for (at, part) in word.parts.iter().enumerate() {
        match part {
            Part::Byte { byte: b'=', start, end, quote: Quote::Bare } if end - start == 1 && at > 0 => {
                return Some((name, at + 1));
            }
            Part::Byte { byte, start, end, quote: Quote::Bare }
                if end - start == 1
                    && (byte.is_ascii_alphabetic() || *byte == b'_' || (at > 0 && byte.is_ascii_digit())) =>
            {
                name.push(char::from(*byte));
            }
            _ => return None,
        }
    }
    None
}

/// The variable of `NAME+=…`.
fn appended(word: &Word) -> Option<String> {
    let byte = |part: &Part| match part {
        Part::Byte { byte, quote: Quote::Bare, .. } => Some(char::from(*byte)),
        _ => None,
    };
    let text: String = word.parts.iter().map_while(byte).collect();
    appended_text(&text).map(str::to_owned)
}

fn appended_text(text: &str) -> Option<&str> {
    let (name, _) = text.split_once("+=")?;
    let valid = !name.is_empty() && name.bytes().all(|sign| sign.is_ascii_alphanumeric() || sign == b'_');
    valid.then_some(name)
}

fn is_plain(word: &Word, text: &str) -> bool {
    word.plain().as_deref() == Some(text)
}

fn is_digits(word: &Word) -> bool {
    word.plain().is_some_and(|text| !text.is_empty() && text.bytes().all(|sign| sign.is_ascii_digit()))
}
