//! Python's templates of replacement: `\1`, `\g<name>`, `\g<0>`, `\n`, octal escapes.
use super::{Fault, Found, Pattern};

/// A template of replacement, checked against the groups of its pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Group(usize),
}

impl Template {
    /// Reads a template for a pattern.
    ///
    /// # Errors
    /// A group that the pattern does not have, or an escape that Python does not know, and where.
    pub fn new(text: &str, pattern: &Pattern) -> Result<Self, Fault> {
        let letters: Vec<char> = text.chars().collect();
        let mut reader = Reader { letters: &letters, at: 0, pattern, parts: Vec::new() };
        while reader.at < letters.len() {
            if letters[reader.at] == '\\' {
                reader.escape()?;
            } else {
                reader.push(letters[reader.at]);
                reader.at += 1;
            }
        }
        Ok(Self { parts: reader.parts })
    }

    /// A template that stands for itself, without escapes.
    pub fn literal(text: &str) -> Self {
        Self { parts: vec![Part::Text(text.to_owned())] }
    }

    /// The replacement of one match. A group that took no part is empty.
    pub fn expand(&self, text: &str, found: &Found) -> String {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Text(literal) => literal.as_str(),
                Part::Group(group) => found.group(text, *group),
            })
            .collect()
    }
}

struct Reader<'a> {
    letters: &'a [char],
    at: usize,
    pattern: &'a Pattern,
    parts: Vec<Part>,
}

impl Reader<'_> {
    fn push(&mut self, letter: char) {
        match self.parts.last_mut() {
            Some(Part::Text(text)) => text.push(letter),
            _ => self.parts.push(Part::Text(letter.to_string())),
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.letters.get(self.at + ahead).copied()
    }

    fn escape(&mut self) -> Result<(), Fault> {
        let Some(letter) = self.peek(1) else {
            return Err(Fault::at(self.at, "the replacement ends in a lone backslash"));
        };
        match letter {
            'g' => return self.named(),
            '0' => self.octal(1, 3),
            '1'..='9' => return self.numbered(),
            'a' => self.one('\u{7}'),
            'b' => self.one('\u{8}'),
            'f' => self.one('\u{c}'),
            'n' => self.one('\n'),
            'r' => self.one('\r'),
            't' => self.one('\t'),
            'v' => self.one('\u{b}'),
            '\\' => self.one('\\'),
            letter if letter.is_ascii_alphabetic() => {
                return Err(Fault::at(self.at, format!("`\\{letter}` is not an escape of a replacement")));
            }
            other => {
                self.push('\\');
                self.one(other);
            }
        }
        Ok(())
    }

    fn one(&mut self, letter: char) {
        self.push(letter);
        self.at += 2;
    }

    fn octal(&mut self, from: usize, most: usize) {
        let mut value = 0;
        let mut taken = 0;
        while taken < most {
            let Some(digit) = self.peek(from + taken).and_then(|digit| digit.to_digit(8)) else { break };
            value = value * 8 + digit;
            taken += 1;
        }
        self.push(char::from_u32(value & 0xff).unwrap_or('\0'));
        self.at += from + taken;
    }

    fn numbered(&mut self) -> Result<(), Fault> {
        let digit = |ahead: usize| self.peek(ahead).and_then(|letter| letter.to_digit(10));
        let (first, second, third) = (digit(1), digit(2), digit(3));
        if let (Some(..=3), Some(..=7), Some(..=7)) = (first, second, third) {
            self.octal(1, 3);
            return Ok(());
        }
        let number = first.unwrap_or(0) as usize;
        match second {
            Some(second) => self.group(number * 10 + second as usize, 3),
            None => self.group(number, 2),
        }
    }

    fn named(&mut self) -> Result<(), Fault> {
        let start = self.at + 3;
        if self.peek(2) != Some('<') {
            return Err(Fault::at(self.at, "`\\g` needs the name of a group: `\\g<name>`"));
        }
        let Some(length) = self.letters[start..].iter().position(|letter| *letter == '>') else {
            return Err(Fault::at(self.at, "`\\g<` is never closed by `>`"));
        };
        let name: String = self.letters[start..start + length].iter().collect();
        let number = name.parse().ok().or_else(|| self.pattern.named(&name));
        match number {
            Some(number) => self.group(number, length + 4),
            None => Err(Fault::at(start, format!("the pattern has no group named `{name}`"))),
        }
    }

    fn group(&mut self, number: usize, length: usize) -> Result<(), Fault> {
        if number > self.pattern.groups() {
            let groups = self.pattern.groups();
            return Err(Fault::at(self.at, format!("group {number} is asked for, the pattern has {groups}")));
        }
        self.parts.push(Part::Group(number));
        self.at += length;
        Ok(())
    }
}
