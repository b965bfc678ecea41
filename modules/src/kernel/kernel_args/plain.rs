//! Files that hold a kernel line as plain text: boot entries, `/etc/kernel/cmdline`, a value of GRUB's environment block.
use std::collections::BTreeMap;
use std::ops::Range;

use super::amend::{Draft, Op, Slot, Trouble, Wish};
use super::line::{is_blank, words};
use super::token::Token;

/// The arguments in such a file with the bytes that each is written in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plain {
    /// The arguments in order, without what follows ` -- `.
    pub args: Vec<(Token, Range<usize>)>,
    /// Where more can be written: behind the last argument, before ` -- `. `None` where no line is there to write on.
    pub end: Option<usize>,
}

impl Plain {
    /// Reads the parts of a text that the kernel line is made of, in order.
    pub fn of(bytes: &[u8], lines: &[Range<usize>]) -> Self {
        let mut plain = Self { args: Vec::new(), end: lines.last().map(|line| line.start) };
        for line in lines {
            for word in words(&bytes[line.clone()]) {
                let range = line.start + word.start..line.start + word.end;
                let token = Token::read(&String::from_utf8_lossy(&bytes[range.clone()]));
                if token.name() == "--" && token.value().is_none() {
                    return plain;
                }
                plain.end = Some(range.end);
                plain.args.push((token, range));
            }
        }
        plain
    }

    /// The arguments alone.
    pub fn tokens(&self) -> impl Iterator<Item = &Token> {
        self.args.iter().map(|(token, _)| token)
    }

    /// The text after the wishes; `None` where they are met already.
    pub fn meet(
        &self,
        bytes: &[u8],
        wishes: &[Wish],
        references: &BTreeMap<String, Vec<Token>>,
    ) -> Result<Option<Vec<u8>>, Vec<Trouble>> {
        let mut draft = Draft::of(self.tokens().cloned());
        draft.references = references.clone();
        let stood: Vec<Slot> = draft.slots.clone();
        let troubles: Vec<Trouble> = wishes.iter().filter_map(|wish| draft.meet(wish).err()).collect();
        if !troubles.is_empty() {
            return Err(troubles);
        }
        let ops = draft.ops(&stood);
        Ok((!ops.is_empty()).then(|| self.carry_out(bytes, &ops)))
    }

    fn carry_out(&self, bytes: &[u8], ops: &[Op]) -> Vec<u8> {
        let removals = self.removals(bytes, ops).into_iter();
        let mut edits: Vec<(Range<usize>, String)> = removals.map(|run| (run, String::new())).collect();
        let mut appended: Vec<&str> = Vec::new();
        for op in ops {
            match op {
                Op::Replace { at, with } => edits.push((self.args[*at].1.clone(), with.raw().to_owned())),
                Op::Remove { .. } => {}
                Op::After { at, new } => {
                    let end = self.args[*at].1.end;
                    edits.push((end..end, format!(" {}", new.raw())));
                }
                Op::Append { new, .. } => appended.push(new.raw()),
            }
        }
        if !appended.is_empty() {
            let end = self.end.unwrap_or(bytes.len());
            let before = if end == 0 || is_blank(bytes[end - 1]) { "" } else { " " };
            let after = if bytes.get(end).is_none_or(|sign| is_blank(*sign)) { "" } else { " " };
            edits.push((end..end, format!("{before}{}{after}", appended.join(" "))));
        }
        edits.sort_by_key(|(range, _)| (range.start, range.end));
        let mut out = Vec::with_capacity(bytes.len() + 64);
        let mut at = 0;
        for (range, text) in edits {
            out.extend_from_slice(bytes.get(at..range.start).unwrap_or_default());
            out.extend_from_slice(text.as_bytes());
            at = range.end.max(at);
        }
        out.extend_from_slice(&bytes[at..]);
        out
    }

    /// Runs of neighbours that go, each with the blanks behind it, or at the end of a line those before it.
    fn removals(&self, bytes: &[u8], ops: &[Op]) -> Vec<Range<usize>> {
        let space = |sign: &u8| matches!(sign, b' ' | b'\t');
        let mut runs: Vec<Range<usize>> = Vec::new();
        for (at, (_, range)) in self.args.iter().enumerate() {
            if !ops.contains(&Op::Remove { at }) {
                continue;
            }
            match runs.last_mut() {
                Some(run) if bytes[run.end..range.start].iter().all(space) => run.end = range.end,
                _ => runs.push(range.clone()),
            }
        }
        for run in &mut runs {
            let behind = bytes[run.end..].iter().take_while(|sign| space(sign)).count();
            match bytes.get(run.end + behind) {
                // What is appended goes to the end of the last argument, so the blanks behind that one stay.
                Some(next) if behind > 0 && *next != b'\n' && self.end != Some(run.end) => run.end += behind,
                _ => run.start -= bytes[..run.start].iter().rev().take_while(|sign| space(sign)).count(),
            }
        }
        runs
    }
}

/// The parts of a boot entry (`/boot/loader/entries/*.conf`) that its `options` lines hold.
pub fn entry_lines(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in bytes.split_inclusive(|sign| *sign == b'\n') {
        let end = start + line.len() - usize::from(line.ends_with(b"\n"));
        let key = line.iter().position(|sign| is_blank(*sign)).unwrap_or(line.len());
        if &line[..key] == b"options" {
            let value =
                line[key..].iter().position(|sign| !is_blank(*sign)).map_or(end, |at| start + key + at);
            found.push(value.min(end)..end);
        }
        start += line.len();
    }
    found
}

/// The title of a boot entry, for people.
pub fn entry_title(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    text.lines().find_map(|line| line.strip_prefix("title ")).map(|title| title.trim().to_owned())
}

/// The parts of `/etc/kernel/cmdline`: all lines without comments (kernel-install reads it so).
pub fn cmdline_lines(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in bytes.split_inclusive(|sign| *sign == b'\n') {
        let end = start + line.len() - usize::from(line.ends_with(b"\n"));
        if !line.starts_with(b"#") && line.iter().any(|sign| !is_blank(*sign)) {
            found.push(start..end);
        }
        start += line.len();
    }
    if found.is_empty() {
        found.push(0..0);
    }
    found
}
