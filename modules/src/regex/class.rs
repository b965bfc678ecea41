//! Sets of characters between brackets, said so that no operator of the engine's own sets comes in.
use super::Fault;
use super::translate::{Translator, WORD};

/// What a member of a set is.
enum Member {
    Letter(char),
    Shorthand(String),
}

impl Translator<'_> {
    /// Reads a set whose `[` was taken.
    pub(super) fn class(&mut self) -> Result<(), Fault> {
        let start = self.at - 1;
        let negated = self.take('^');
        let mut dash = false;
        let mut body = String::new();
        let mut first = true;
        loop {
            let Some(letter) = self.peek() else {
                return Err(Fault::at(start, "the set of characters is never closed by `]`"));
            };
            if letter == ']' && !first {
                self.at += 1;
                break;
            }
            first = false;
            let place = self.at;
            let low = self.member()?;
            let ranged = self.peek() == Some('-') && self.peek_at(1).is_some_and(|next| next != ']');
            match low {
                Member::Letter(low) if ranged => {
                    self.at += 1;
                    let Member::Letter(high) = self.member()? else {
                        return Err(Fault::at(place, "a range cannot end in a set such as `\\d`"));
                    };
                    if low > high {
                        return Err(Fault::at(place, format!("the range `{low}-{high}` is backwards")));
                    }
                    dash |= low == '-' || high == '-';
                    range(&mut body, low, high);
                }
                Member::Letter('-') => dash = true,
                Member::Letter(letter) => range(&mut body, letter, letter),
                Member::Shorthand(_) if ranged => {
                    return Err(Fault::at(place, "a range cannot begin with a set such as `\\d`"));
                }
                Member::Shorthand(shorthand) => body.push_str(&shorthand),
            }
        }
        self.out.push('[');
        self.out.push_str(if negated { "^" } else { "" });
        self.out.push_str(if dash { "-" } else { "" });
        self.out.push_str(&body);
        self.out.push(']');
        Ok(())
    }

    fn member(&mut self) -> Result<Member, Fault> {
        let Some(letter) = self.peek() else {
            return Err(Fault::at(self.at, "the set of characters is never closed by `]`"));
        };
        self.at += 1;
        if letter != '\\' {
            return Ok(Member::Letter(letter));
        }
        let place = self.at - 1;
        let Some(escaped) = self.peek() else {
            return Err(Fault::at(place, "the pattern ends in a lone backslash"));
        };
        if let Some(shorthand) = self.shorthand(escaped) {
            self.at += 1;
            return Ok(Member::Shorthand(shorthand));
        }
        match escaped {
            'b' => {
                self.at += 1;
                Ok(Member::Letter('\u{8}'))
            }
            '0'..='7' => Ok(Member::Letter(self.octal(3))),
            _ => self.escaped_letter(place).map(Member::Letter),
        }
    }

    /// `\d`, `\w`, `\s` and their opposites, as members of a set.
    pub(super) fn shorthand(&self, letter: char) -> Option<String> {
        let ascii = self.flags().ascii;
        Some(match (letter, ascii) {
            ('d', false) | ('D', false) | ('w', false) | ('W', false) => format!("\\{letter}"),
            ('s', false) => "\\s\u{1c}-\u{1f}".to_owned(),
            ('S', false) => "[^\\s\u{1c}-\u{1f}]".to_owned(),
            ('d', true) => "0-9".to_owned(),
            ('D', true) => "[^0-9]".to_owned(),
            ('w', true) => WORD.to_owned(),
            ('W', true) => format!("[^{WORD}]"),
            ('s', true) => "\t-\r ".to_owned(),
            ('S', true) => "[^\t-\r ]".to_owned(),
            _ => return None,
        })
    }
}

/// Adds a range. The dash itself is left out: it stands first in the set, where it means itself.
fn range(body: &mut String, low: char, high: char) {
    let low = if low == '-' { '.' } else { low };
    let high = if high == '-' { ',' } else { high };
    if low > high {
        return;
    }
    end(body, low);
    // A lone `&` or `~` beside another would be an operator of the engine's sets; as a range it is none.
    if low != high || matches!(low, '&' | '~') {
        body.push('-');
        end(body, high);
    }
}

fn end(body: &mut String, letter: char) {
    if matches!(letter, '[' | ']' | '\\' | '^') {
        body.push('\\');
    }
    body.push(letter);
}
