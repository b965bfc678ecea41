//! Splits a POSIX shell script into operators and words, and words into literal bytes, variables and code.

/// How a byte was quoted where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quote {
    /// Not at all.
    Bare,
    /// Between single quotes.
    Single,
    /// Between double quotes.
    Double,
}

/// One piece of a word. Ranges are byte offsets in the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A literal byte.
    Byte {
        /// The byte after unquoting.
        byte: u8,
        /// Where it starts, a backslash included.
        start: usize,
        /// Where it ends.
        end: usize,
        /// How it is quoted.
        quote: Quote,
    },
    /// `$NAME`, `${NAME}` or `${NAME:-word}`.
    Variable {
        /// Its name.
        name: String,
        /// `-`, `+`, `=` or `?`, whether a colon stands before it, and the word behind it.
        operator: Option<(u8, bool, Vec<Part>)>,
    },
    /// What only running would tell: `$(…)`, backticks, arithmetic, `${NAME#…}`, `$1`, `~`.
    Code {
        /// What it is, for people.
        what: &'static str,
    },
}

/// How a word ends, which says how more can be written onto it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// With an unquoted part, or it is empty.
    Bare,
    /// With a closing single quote.
    Single,
    /// With a closing double quote.
    Double,
}

/// One word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Its pieces.
    pub parts: Vec<Part>,
    /// Where it starts.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// How it ends.
    pub tail: Tail,
}

impl Word {
    /// The text, where every byte of it is literal and unquoted: the only words that can be keywords.
    pub fn plain(&self) -> Option<String> {
        let byte = |part: &Part| match part {
            Part::Byte { byte, start, end, quote: Quote::Bare } if end - start == 1 => {
                Some(char::from(*byte))
            }
            _ => None,
        };
        (self.tail == Tail::Bare).then(|| self.parts.iter().map(byte).collect()).flatten()
    }
}

/// One lexeme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lexeme {
    /// A word.
    Word(Word),
    /// An operator: `;`, `&&`, `|`, `(`, `<`, `;;` …
    Operator(&'static str),
    /// An end of line.
    Newline,
    /// The end of the script.
    End,
}

/// What this reader cannot get through; a shell may or may not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where.
    pub at: usize,
    /// What.
    pub what: &'static str,
    /// Whether a shell would stop there too.
    pub syntax: bool,
}

/// Deepest nesting of substitutions that is followed.
const DEEPEST: usize = 32;

const OPERATORS: [&str; 18] =
    ["<<-", "&&", "||", ";;", "<<", ">>", "<&", ">&", "<>", ">|", ";", "&", "|", "(", ")", "<", ">", "\n"];

/// Reads lexemes one by one.
pub struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
    heredocs: Vec<(String, bool)>,
    depth: usize,
}

impl<'a> Lexer<'a> {
    /// A reader at the start of a script.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, heredocs: Vec::new(), depth: 0 }
    }

    /// Where it stands.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Announces a here-document, whose body starts after the next end of line.
    pub fn heredoc(&mut self, delimiter: &Word, strip: bool) {
        let byte = |part: &Part| match part {
            Part::Byte { byte, .. } => Some(char::from(*byte)),
            _ => None,
        };
        self.heredocs.push((delimiter.parts.iter().filter_map(byte).collect(), strip));
    }

    /// The next lexeme.
    pub fn lexeme(&mut self) -> Result<Lexeme, Fault> {
        self.skip_blanks();
        let Some(sign) = self.peek(0) else { return Ok(Lexeme::End) };
        if let Some(operator) =
            OPERATORS.iter().find(|text| self.bytes[self.at..].starts_with(text.as_bytes()))
        {
            self.at += operator.len();
            if sign == b'\n' {
                self.skip_heredocs();
                return Ok(Lexeme::Newline);
            }
            return Ok(Lexeme::Operator(operator));
        }
        self.word().map(Lexeme::Word)
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn fault(&self, at: usize, what: &'static str) -> Fault {
        Fault { at, what, syntax: true }
    }

    fn deeper(&mut self, at: usize) -> Result<(), Fault> {
        self.depth += 1;
        match self.depth > DEEPEST {
            true => Err(Fault { at, what: "substitutions are nested too deep", syntax: false }),
            false => Ok(()),
        }
    }

    fn skip_blanks(&mut self) {
        loop {
            match self.peek(0) {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\\') if self.peek(1) == Some(b'\n') => self.at += 2,
                Some(b'#') => {
                    while self.peek(0).is_some_and(|sign| sign != b'\n') {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    fn skip_heredocs(&mut self) {
        for (delimiter, strip) in std::mem::take(&mut self.heredocs) {
            while self.at < self.bytes.len() {
                let rest = &self.bytes[self.at..];
                let length = rest.iter().position(|sign| *sign == b'\n').unwrap_or(rest.len());
                let mut line = &rest[..length];
                self.at = (self.at + length + 1).min(self.bytes.len());
                while strip && line.first() == Some(&b'\t') {
                    line = &line[1..];
                }
                if line == delimiter.as_bytes() {
                    break;
                }
            }
        }
    }

    fn word(&mut self) -> Result<Word, Fault> {
        let start = self.at;
        let mut parts = Vec::new();
        let mut tail = Tail::Bare;
        while let Some(sign) = self.peek(0) {
            match sign {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' => break,
                b'\\' if self.peek(1) == Some(b'\n') => {
                    self.at += 2;
                    continue;
                }
                b'\'' => {
                    self.single(&mut parts)?;
                    tail = Tail::Single;
                    continue;
                }
                b'"' => {
                    self.double(&mut parts)?;
                    tail = Tail::Double;
                    continue;
                }
                b'~' if is_tilde_place(&parts) => {
                    parts.push(Part::Code { what: "a home directory (`~`)" });
                    self.at += 1;
                }
                _ => self.piece(sign, Quote::Bare, &mut parts)?,
            }
            tail = Tail::Bare;
        }
        Ok(Word { parts, start, end: self.at, tail })
    }

    /// One piece outside quotes, or inside double quotes: an escape, an expansion or a literal byte.
    fn piece(&mut self, sign: u8, quote: Quote, parts: &mut Vec<Part>) -> Result<(), Fault> {
        let start = self.at;
        match sign {
            b'\\' => {
                let next =
                    self.peek(1).ok_or_else(|| self.fault(start, "the script ends behind a backslash"))?;
                let kept = quote == Quote::Double && !matches!(next, b'$' | b'`' | b'"' | b'\\' | b'\n');
                self.at += if kept { 1 } else { 2 };
                let byte = if kept { sign } else { next };
                if kept || next != b'\n' {
                    parts.push(Part::Byte { byte, start, end: self.at, quote });
                }
                Ok(())
            }
            b'$' => self.dollar(quote, parts),
            b'`' => {
                self.at += 1;
                self.backticks(start)?;
                parts.push(Part::Code { what: "the output of a command" });
                Ok(())
            }
            byte => {
                self.at += 1;
                parts.push(Part::Byte { byte, start, end: self.at, quote });
                Ok(())
            }
        }
    }

    fn single(&mut self, parts: &mut Vec<Part>) -> Result<(), Fault> {
        let open = self.at;
        self.at += 1;
        loop {
            let start = self.at;
            self.at += 1;
            match self.bytes.get(start) {
                None => return Err(self.fault(open, "this single quote is never closed")),
                Some(b'\'') => return Ok(()),
                Some(byte) => {
                    parts.push(Part::Byte { byte: *byte, start, end: start + 1, quote: Quote::Single });
                }
            }
        }
    }

    fn double(&mut self, parts: &mut Vec<Part>) -> Result<(), Fault> {
        let open = self.at;
        self.at += 1;
        loop {
            match self.peek(0) {
                None => return Err(self.fault(open, "this double quote is never closed")),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(sign) => self.piece(sign, Quote::Double, parts)?,
            }
        }
    }

    fn backticks(&mut self, open: usize) -> Result<(), Fault> {
        loop {
            match self.peek(0) {
                None => return Err(self.fault(open, "this backtick is never closed")),
                Some(b'`') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.at += 2,
                Some(_) => self.at += 1,
            }
        }
    }

    fn dollar(&mut self, quote: Quote, parts: &mut Vec<Part>) -> Result<(), Fault> {
        let start = self.at;
        match self.peek(1) {
            Some(b'(') => {
                self.at += 2;
                self.deeper(start)?;
                self.substitution(start)?;
                self.depth -= 1;
                parts.push(Part::Code { what: "the output of a command" });
            }
            Some(b'{') => {
                self.at += 2;
                self.deeper(start)?;
                let part = self.braces(start, quote)?;
                self.depth -= 1;
                parts.push(part);
            }
            Some(sign) if is_name_start(sign) => {
                self.at += 1;
                let name = self.name();
                parts.push(Part::Variable { name, operator: None });
            }
            Some(b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!') => {
                self.at += 2;
                parts.push(Part::Code { what: "a parameter of the script" });
            }
            Some(b'\'' | b'"') if quote == Quote::Bare => {
                self.at += 1;
                parts.push(Part::Code { what: "`$` before a quote, which shells read differently" });
            }
            _ => {
                self.at += 1;
                parts.push(Part::Byte { byte: b'$', start, end: self.at, quote });
            }
        }
        Ok(())
    }

    fn name(&mut self) -> String {
        let start = self.at;
        while self.peek(0).is_some_and(|sign| is_name_start(sign) || sign.is_ascii_digit()) {
            self.at += 1;
        }
        self.bytes[start..self.at].iter().map(|sign| char::from(*sign)).collect()
    }

    /// `${…}` behind its opening brace.
    fn braces(&mut self, open: usize, quote: Quote) -> Result<Part, Fault> {
        let name = match self.peek(0) {
            Some(sign) if is_name_start(sign) => self.name(),
            _ => String::new(),
        };
        let colon = self.peek(0) == Some(b':');
        let operator = self.peek(usize::from(colon));
        let known = matches!(operator, Some(b'-' | b'+' | b'=' | b'?'));
        if known {
            self.at += 1 + usize::from(colon);
        }
        let mut word = Vec::new();
        loop {
            match self.peek(0) {
                None => return Err(self.fault(open, "this `${` is never closed")),
                Some(b'}') => {
                    self.at += 1;
                    break;
                }
                Some(b'\'') if quote == Quote::Bare => self.single(&mut word)?,
                Some(b'"') if quote == Quote::Bare => self.double(&mut word)?,
                Some(b'"') => {
                    return Err(Fault {
                        at: self.at,
                        what: "quotes inside `${…}` inside quotes",
                        syntax: false,
                    });
                }
                Some(sign) => self.piece(sign, quote, &mut word)?,
            }
        }
        match (name.is_empty(), known, operator) {
            (false, true, Some(sign)) => Ok(Part::Variable { name, operator: Some((sign, colon, word)) }),
            (false, false, _) if word.is_empty() => Ok(Part::Variable { name, operator: None }),
            _ => Ok(Part::Code { what: "a substitution that cuts or counts" }),
        }
    }

    /// `$(…)` behind its opening parenthesis, skipped by reading it as a script of its own.
    fn substitution(&mut self, open: usize) -> Result<(), Fault> {
        let mut depth = 1_usize;
        loop {
            match self.lexeme()? {
                Lexeme::End => return Err(self.fault(open, "this `$(` is never closed")),
                Lexeme::Operator("(") => depth += 1,
                Lexeme::Operator(")") => {
                    depth -= 1;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                Lexeme::Word(word) if word.plain().as_deref() == Some("case") => {
                    return Err(Fault { at: word.start, what: "`case` inside `$(…)`", syntax: false });
                }
                _ => {}
            }
            if self.at - open > 65_536 {
                return Err(Fault { at: open, what: "a very long `$(…)`", syntax: false });
            }
        }
    }
}

fn is_name_start(sign: u8) -> bool {
    sign.is_ascii_alphabetic() || sign == b'_'
}

/// `~` stands for a home directory at the start of a value and behind its colons.
fn is_tilde_place(parts: &[Part]) -> bool {
    match parts.last() {
        None => true,
        Some(Part::Byte { byte, quote: Quote::Bare, .. }) => matches!(byte, b':' | b'='),
        Some(_) => false,
    }
}
