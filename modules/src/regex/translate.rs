//! A Python pattern said again for the engine that matches it.
use super::{Fault, Flags};

/// ASCII's letters, digits and the underscore, as members of a set.
pub(super) const WORD: &str = "0-9A-Za-z_";

/// A pattern for the engine, and the groups of the Python one.
pub(super) struct Translated {
    pub(super) text: String,
    pub(super) names: Vec<(String, usize)>,
    pub(super) groups: usize,
    pub(super) flags: Flags,
}

/// What stands before the place that is read: it decides whether a repeat may follow.
#[derive(Clone, Copy, PartialEq)]
enum Last {
    Nothing,
    Anchor,
    Atom,
    Repeat,
}

pub(super) struct Translator<'p> {
    letters: &'p [char],
    pub(super) at: usize,
    pub(super) out: String,
    names: Vec<(String, usize)>,
    groups: usize,
    /// Groups that are open: where each began, and the flags to go back to.
    open: Vec<(usize, Flags, Option<usize>)>,
    flags: Flags,
    last: Last,
}

/// Says a pattern again for the engine.
pub(super) fn translate(pattern: &str, flags: Flags) -> Result<Translated, Fault> {
    let letters: Vec<char> = pattern.chars().collect();
    let mut translator = Translator {
        letters: &letters,
        at: 0,
        out: String::new(),
        names: Vec::new(),
        groups: 0,
        open: Vec::new(),
        flags,
        last: Last::Nothing,
    };
    translator.global_flags()?;
    let whole = translator.flags;
    while translator.at < letters.len() {
        translator.next()?;
    }
    if let Some((start, ..)) = translator.open.last() {
        return Err(Fault::at(*start, "the group is never closed by `)`"));
    }
    let text = if whole.ignore_case { format!("(?i:{})", translator.out) } else { translator.out };
    Ok(Translated { text, names: translator.names, groups: translator.groups, flags: whole })
}

impl Translator<'_> {
    pub(super) fn flags(&self) -> Flags {
        self.flags
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<char> {
        self.letters.get(self.at + ahead).copied()
    }

    pub(super) fn take(&mut self, letter: char) -> bool {
        let there = self.peek() == Some(letter);
        self.at += usize::from(there);
        there
    }

    fn take_all(&mut self, text: &str) -> bool {
        let there = text.chars().enumerate().all(|(index, letter)| self.peek_at(index) == Some(letter));
        if there {
            self.at += text.chars().count();
        }
        there
    }

    /// `(?i)` and the like at the very start.
    fn global_flags(&mut self) -> Result<(), Fault> {
        while self.peek() == Some('(') && self.peek_at(1) == Some('?') {
            let length =
                self.letters[self.at + 2..].iter().take_while(|letter| letter.is_alphabetic()).count();
            if length == 0 || self.peek_at(2) == Some('P') || self.peek_at(2 + length) != Some(')') {
                return Ok(());
            }
            for index in self.at + 2..self.at + 2 + length {
                self.set_flag(index, true)?;
            }
            self.at += length + 3;
        }
        Ok(())
    }

    fn set_flag(&mut self, index: usize, on: bool) -> Result<(), Fault> {
        match self.letters[index] {
            'i' => self.flags.ignore_case = on,
            'm' => self.flags.multiline = on,
            's' => self.flags.dot_all = on,
            'x' => self.flags.verbose = on,
            'a' => self.flags.ascii = on,
            'u' => self.flags.ascii = !on,
            other => return Err(Fault::at(index, format!("`{other}` is not a flag of a pattern"))),
        }
        Ok(())
    }

    fn next(&mut self) -> Result<(), Fault> {
        let place = self.at;
        let letter = self.letters[place];
        self.at += 1;
        match letter {
            letter if self.flags.verbose && letter.is_ascii_whitespace() => {}
            '#' if self.flags.verbose => {
                while self.peek().is_some_and(|letter| letter != '\n') {
                    self.at += 1;
                }
            }
            '^' => self.anchor(if self.flags.multiline { "(?m:^)" } else { "\\A" }),
            '$' => self.anchor(if self.flags.multiline { "(?m:$)" } else { "(?=\\n?\\z)" }),
            '.' => self.atom(if self.flags.dot_all { "(?s:.)" } else { "." }),
            '|' => {
                self.out.push('|');
                self.last = Last::Nothing;
            }
            '(' => self.group(place)?,
            ')' => self.close(place)?,
            '[' => {
                self.class()?;
                self.last = Last::Atom;
            }
            '*' | '+' | '?' => self.repeat(place, letter.to_string())?,
            '{' => match self.counted(place)? {
                Some(count) => self.repeat(place, count)?,
                None => self.literal('{'),
            },
            '\\' => self.escape(place)?,
            letter => self.literal(letter),
        }
        Ok(())
    }

    fn anchor(&mut self, text: &str) {
        self.out.push_str(text);
        self.last = Last::Anchor;
    }

    fn atom(&mut self, text: &str) {
        self.out.push_str(text);
        self.last = Last::Atom;
    }

    fn literal(&mut self, letter: char) {
        if "\\.+*?()|[]{}^$#".contains(letter) {
            self.out.push('\\');
        }
        self.out.push(letter);
        self.last = Last::Atom;
    }

    fn repeat(&mut self, place: usize, what: String) -> Result<(), Fault> {
        match self.last {
            Last::Nothing | Last::Anchor => return Err(Fault::at(place, "there is nothing to repeat")),
            Last::Repeat => return Err(Fault::at(place, "a repeat is repeated")),
            Last::Atom => {}
        }
        self.out.push_str(&what);
        if self.take('?') {
            self.out.push('?');
        } else if self.take('+') {
            self.out.push('+');
        }
        self.last = Last::Repeat;
        Ok(())
    }

    /// `{3}`, `{3,}`, `{,5}`, `{3,5}`; anything else is a brace that means itself.
    fn counted(&mut self, place: usize) -> Result<Option<String>, Fault> {
        let Some(length) = self.letters[self.at..].iter().position(|letter| *letter == '}') else {
            return Ok(None);
        };
        let body: String = self.letters[self.at..self.at + length].iter().collect();
        let (low, high) = body.split_once(',').unwrap_or((&body, &body));
        if body.is_empty() || !(low.to_owned() + high).chars().all(|letter| letter.is_ascii_digit()) {
            return Ok(None);
        }
        self.at += length + 1;
        let (low, comma) = (if low.is_empty() { "0" } else { low }, body.contains(','));
        if let (Ok(low), Ok(high)) = (low.parse::<u32>(), high.parse::<u32>())
            && low > high
        {
            return Err(Fault::at(place, format!("the repeat asks for at least {low} and at most {high}")));
        }
        Ok(Some(if comma { format!("{{{low},{high}}}") } else { format!("{{{low}}}") }))
    }

    fn group(&mut self, place: usize) -> Result<(), Fault> {
        let before = self.flags;
        if self.peek() != Some('?') {
            self.groups += 1;
            self.enter("(", place, before, Some(self.groups));
            return Ok(());
        }
        self.at += 1;
        for opening in ["=", "!", "<=", "<!", ":", ">"] {
            if self.take_all(opening) {
                self.enter(&format!("(?{opening}"), place, before, None);
                return Ok(());
            }
        }
        match self.peek() {
            Some('#') => match self.letters[self.at..].iter().position(|letter| *letter == ')') {
                Some(length) => {
                    self.at += length + 1;
                    Ok(())
                }
                None => Err(Fault::at(place, "the comment is never closed by `)`")),
            },
            Some('P') => self.named(place, before),
            Some('(') => {
                self.at += 1;
                let name = self.name(')')?;
                let number = self.number_of(&name, place)?;
                self.enter(&format!("(?({number})"), place, before, None);
                Ok(())
            }
            _ => self.scoped_flags(place, before),
        }
    }

    fn named(&mut self, place: usize, before: Flags) -> Result<(), Fault> {
        self.at += 1;
        if self.take('<') {
            let name = self.name('>')?;
            if self.names.iter().any(|(known, _)| *known == name) {
                return Err(Fault::at(place, format!("two groups are named `{name}`")));
            }
            self.groups += 1;
            self.names.push((name, self.groups));
            self.enter("(", place, before, Some(self.groups));
            return Ok(());
        }
        if self.take('=') {
            let name = self.name(')')?;
            let number = self.number_of(&name, place)?;
            self.atom(&format!("(?:\\{number})"));
            return Ok(());
        }
        Err(Fault::at(place, "`(?P` is followed by `<name>` or `=name`"))
    }

    fn name(&mut self, close: char) -> Result<String, Fault> {
        let start = self.at;
        let Some(length) = self.letters[start..].iter().position(|letter| *letter == close) else {
            return Err(Fault::at(start, format!("the name of the group is never closed by `{close}`")));
        };
        self.at += length + 1;
        let name: String = self.letters[start..start + length].iter().collect();
        let numbered = close == '>' && name.starts_with(|letter: char| letter.is_ascii_digit());
        if name.is_empty()
            || numbered
            || !name.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
        {
            return Err(Fault::at(start, format!("`{name}` cannot be the name of a group")));
        }
        Ok(name)
    }

    fn number_of(&self, name: &str, place: usize) -> Result<usize, Fault> {
        let number = name.parse().ok().filter(|number| (1..=self.groups).contains(number));
        let known = self.names.iter().find(|(known, _)| known == name).map(|(_, number)| *number);
        known.or(number).ok_or_else(|| Fault::at(place, format!("there is no group `{name}` before this")))
    }

    fn scoped_flags(&mut self, place: usize, before: Flags) -> Result<(), Fault> {
        let mut on = true;
        while let Some(letter) = self.peek() {
            match letter {
                '-' => on = false,
                ':' => {
                    self.at += 1;
                    let case = match (before.ignore_case, self.flags.ignore_case) {
                        (false, true) => "(?i:",
                        (true, false) => "(?-i:",
                        _ => "(?:",
                    };
                    self.enter(case, place, before, None);
                    return Ok(());
                }
                ')' => return Err(Fault::at(place, "flags of the whole pattern stand at its start")),
                _ => self.set_flag(self.at, on)?,
            }
            self.at += 1;
        }
        Err(Fault::at(place, "the group is never closed by `)`"))
    }

    fn enter(&mut self, opening: &str, place: usize, before: Flags, group: Option<usize>) {
        self.out.push_str(opening);
        self.open.push((place, before, group));
        self.last = Last::Nothing;
    }

    fn close(&mut self, place: usize) -> Result<(), Fault> {
        let Some((_, flags, _)) = self.open.pop() else {
            return Err(Fault::at(place, "this `)` closes nothing"));
        };
        self.flags = flags;
        self.atom(")");
        Ok(())
    }

    fn escape(&mut self, place: usize) -> Result<(), Fault> {
        let Some(letter) = self.peek() else {
            return Err(Fault::at(place, "the pattern ends in a lone backslash"));
        };
        if let Some(shorthand) = self.shorthand(letter) {
            self.at += 1;
            self.atom(&format!("[{shorthand}]"));
            return Ok(());
        }
        match letter {
            'A' => self.boundary("\\A"),
            'Z' => self.boundary("\\z"),
            'b' if self.flags.ascii => {
                self.boundary(&format!("(?:(?<![{WORD}])(?=[{WORD}])|(?<=[{WORD}])(?![{WORD}]))"))
            }
            'B' if self.flags.ascii => {
                self.boundary(&format!("(?:(?<![{WORD}])(?![{WORD}])|(?<=[{WORD}])(?=[{WORD}]))"))
            }
            // The engine reads `\b{` as something else: a group keeps it apart from what follows.
            'b' => self.boundary("(?:\\b)"),
            'B' => self.boundary("(?:\\B)"),
            '0' => {
                let letter = self.octal(3);
                self.literal(letter);
            }
            '1'..='9' => self.backreference(place)?,
            _ => {
                let letter = self.escaped_letter(place)?;
                self.literal(letter);
            }
        }
        Ok(())
    }

    fn boundary(&mut self, text: &str) {
        self.at += 1;
        self.anchor(text);
    }

    fn backreference(&mut self, place: usize) -> Result<(), Fault> {
        let digits: Vec<u32> = (0..3).map_while(|ahead| self.peek_at(ahead)?.to_digit(10)).collect();
        if let [0..=3, 0..=7, 0..=7] = digits[..] {
            let letter = self.octal(3);
            self.literal(letter);
            return Ok(());
        }
        let taken = digits.len().min(2);
        let number = digits[..taken].iter().fold(0, |number, digit| number * 10 + *digit as usize);
        if number > self.groups {
            return Err(Fault::at(place, format!("there is no group {number} before this")));
        }
        if self.open.iter().any(|(_, _, group)| *group == Some(number)) {
            return Err(Fault::at(place, format!("group {number} is still open here")));
        }
        self.at += taken;
        self.atom(&format!("(?:\\{number})"));
        Ok(())
    }

    pub(super) fn octal(&mut self, most: usize) -> char {
        let mut value = 0;
        for _ in 0..most {
            let Some(digit) = self.peek().and_then(|letter| letter.to_digit(8)) else { break };
            value = value * 8 + digit;
            self.at += 1;
        }
        char::from_u32(value & 0xff).unwrap_or('\0')
    }

    /// The letter that an escape stands for; its backslash was taken.
    pub(super) fn escaped_letter(&mut self, place: usize) -> Result<char, Fault> {
        let letter = self.letters[self.at];
        self.at += 1;
        Ok(match letter {
            'a' => '\u{7}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'x' => return self.hex(place, 2),
            'u' => return self.hex(place, 4),
            'U' => return self.hex(place, 8),
            letter if letter.is_ascii_alphanumeric() => {
                return Err(Fault::at(place, format!("`\\{letter}` is not an escape of a pattern")));
            }
            other => other,
        })
    }

    fn hex(&mut self, place: usize, digits: usize) -> Result<char, Fault> {
        let text: String = (0..digits).map_while(|ahead| self.peek_at(ahead)).collect();
        let value = u32::from_str_radix(&text, 16).ok().filter(|_| text.len() == digits);
        self.at += digits;
        value
            .and_then(char::from_u32)
            .ok_or_else(|| Fault::at(place, format!("the escape needs {digits} hexadecimal digits")))
    }
}
