//! The value of a shell variable, byte by byte, each with the place in a file that it came from.
use std::ops::Range;

use super::lexer::Quote;
use crate::kernel::kernel_args::line::words;
use crate::kernel::kernel_args::token::Token;

/// Where a byte of a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Index of the script among those read.
    pub script: usize,
    /// First byte there, a backslash included.
    pub start: usize,
    /// One past the last.
    pub end: usize,
    /// How it is quoted there.
    pub quote: Quote,
}

/// One byte of a value, or a hole of unknown length that only running code would fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The byte; `None` for a hole.
    pub byte: Option<u8>,
    /// Where it is written; `None` where it is made up by code.
    pub seat: Option<Seat>,
    /// Index of the [`Doubt`] that makes it unsure.
    pub doubt: Option<usize>,
}

/// Why a value is not surely known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// Index of the script.
    pub script: usize,
    /// Line, from 1.
    pub line: usize,
    /// What stands there: `assigned inside an if`, `the output of a command` …
    pub what: String,
}

/// What a variable holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Value {
    /// Its bytes and holes in order.
    pub cells: Vec<Cell>,
}

/// One argument of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The argument; `None` for a hole, and for a word that a hole is part of.
    pub token: Option<Token>,
    /// Which cells it is made of.
    pub cells: Range<usize>,
    /// Whether it surely stands there.
    pub sure: bool,
}

impl Value {
    /// The text, where no byte of it is in doubt and it is UTF-8.
    pub fn known(&self) -> Option<String> {
        let byte = |cell: &Cell| cell.byte.filter(|_| cell.doubt.is_none());
        String::from_utf8(self.cells.iter().map(byte).collect::<Option<Vec<u8>>>()?).ok()
    }

    /// The text if every assignment in the scripts took place in the order of the text, and code printed nothing.
    pub fn likely(&self) -> String {
        let bytes: Vec<u8> = self.cells.iter().filter_map(|cell| cell.byte).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The doubts on it, each once.
    pub fn doubts(&self) -> Vec<usize> {
        let mut found: Vec<usize> = self.cells.iter().filter_map(|cell| cell.doubt).collect();
        found.dedup();
        found
    }

    /// The same value with every byte in doubt, and a hole before it for what else it may be.
    pub fn doubted(self, doubt: usize) -> Self {
        let mut cells = vec![Cell { byte: None, seat: None, doubt: Some(doubt) }];
        cells.extend(
            self.cells
                .into_iter()
                .filter(|cell| cell.byte.is_some())
                .map(|cell| Cell { doubt: cell.doubt.or(Some(doubt)), ..cell }),
        );
        Self { cells }
    }

    /// Its arguments and holes in order, split by the kernel's rules.
    pub fn args(&self) -> Vec<Placed> {
        // A hole is a letter here, so that a word it touches is one word with it.
        let bytes: Vec<u8> = self.cells.iter().map(|cell| cell.byte.unwrap_or(0)).collect();
        let mut args = Vec::new();
        for range in words(&bytes) {
            let cells = &self.cells[range.clone()];
            let hole = cells.iter().any(|cell| cell.byte.is_none());
            let text = std::str::from_utf8(&bytes[range.clone()]).ok().filter(|_| !hole);
            let sure = cells.iter().all(|cell| cell.doubt.is_none());
            if hole && cells.len() > 1 {
                // What a hole is glued to is seen by nobody; a likely word behind it stays visible as unsure.
                args.push(Placed { token: None, cells: range.start..range.start, sure: false });
                let likely: Vec<u8> = cells.iter().filter_map(|cell| cell.byte).collect();
                let token = String::from_utf8(likely).ok().map(|text| Token::read(&text));
                args.push(Placed { token, cells: range, sure: false });
                continue;
            }
            args.push(Placed { token: text.map(Token::read), cells: range, sure });
        }
        args
    }
}
