//! What a POSIX shell would have in its variables after reading a list of scripts, and who wrote each of them.
use std::collections::BTreeMap;
use std::ops::Range;

use super::lexer::Tail;
use super::value::{Doubt, Value};
use super::walk::Walk;

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Its path on the host.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl Script {
    /// The line number, from 1, of a byte offset.
    pub fn line(&self, at: usize) -> usize {
        1 + self.bytes[..at.min(self.bytes.len())].iter().filter(|sign| **sign == b'\n').count()
    }
}

/// One assignment, in the order in which they take effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assign {
    /// The variable.
    pub name: String,
    /// Index of the script.
    pub script: usize,
    /// Where the name starts.
    pub start: usize,
    /// The bytes of the value as written, quotes included.
    pub value: Range<usize>,
    /// How the value ends.
    pub tail: Tail,
    /// Whether it surely takes place.
    pub sure: bool,
}

/// A place that this reader, or any shell, cannot get through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Index of the script.
    pub script: usize,
    /// Line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub what: String,
    /// Whether a shell stops there too, so that the boot loader's own configuration tool fails.
    pub syntax: bool,
}

/// What a list of scripts, read one after the other, leaves in the variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The scripts as read.
    pub scripts: Vec<Script>,
    /// The variables that are set.
    pub variables: BTreeMap<String, Value>,
    /// All assignments in order.
    pub assigns: Vec<Assign>,
    /// What makes values unsure.
    pub doubts: Vec<Doubt>,
    /// Where reading stopped short.
    pub broken: Vec<Broken>,
}

impl Reading {
    /// Reads the scripts in order, as one shell would by `.`; nothing is run. Bytes of any kind are taken.
    pub fn of(scripts: Vec<Script>) -> Self {
        let mut reading = Self { scripts, ..Self::default() };
        for script in 0..reading.scripts.len() {
            Walk::through(&mut reading, script);
        }
        reading
    }

    /// What the variable holds; `None` where it is not set.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.variables.get(name)
    }

    /// The assignment that the variable's value comes from.
    pub fn last_assign(&self, name: &str) -> Option<&Assign> {
        self.assigns.iter().rev().find(|assign| assign.name == name)
    }

    /// A doubt in words: `set inside an if (/etc/default/grub.d/xen.cfg line 5)`.
    pub fn doubt(&self, index: usize) -> String {
        match self.doubts.get(index) {
            None => String::new(),
            Some(doubt) => {
                let path = self.scripts.get(doubt.script).map_or("", |script| &script.path);
                format!("{} ({path} line {})", doubt.what, doubt.line)
            }
        }
    }
}
