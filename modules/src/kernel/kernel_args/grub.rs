//! The kernel line as `grub-mkconfig` composes it: `GRUB_CMDLINE_LINUX`, then `GRUB_CMDLINE_LINUX_DEFAULT`.
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::amend::{Draft, Op, Slot, Trouble, Wish};
use super::line::Line;
use super::shell::edit::{self, Cannot, Edit};
use super::shell::lexer::Quote;
use super::shell::script::{Reading, Script};
use super::shell::value::Placed;
use super::token::Token;

/// The two variables in the order in which they stand on the line; recovery entries get only the first.
pub const VARIABLES: [&str; 2] = ["GRUB_CMDLINE_LINUX", "GRUB_CMDLINE_LINUX_DEFAULT"];

/// The main file.
pub const MAIN: &str = "/etc/default/grub";

/// Where drop-ins are, on distributions whose `grub-mkconfig` reads them.
pub const DROP_INS: &str = "/etc/default/grub.d";

/// Our own drop-in. Its name sorts behind those of cloud images and packages.
pub const OURS: &str = "/etc/default/grub.d/zz-tunerun.cfg";

/// Which of the two variables new arguments go to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Variable {
    /// `GRUB_CMDLINE_LINUX_DEFAULT` where the host sets it, else `GRUB_CMDLINE_LINUX`.
    #[default]
    Auto,
    /// `GRUB_CMDLINE_LINUX`: recovery entries get the argument too; it is moved there if it stands in the other.
    Linux,
    /// `GRUB_CMDLINE_LINUX_DEFAULT`: normal entries only.
    Default,
}

/// What `grub-mkconfig` would compose from a reading of the shell files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootLine {
    /// The arguments, holes and their parts in boot order.
    pub slots: Vec<Slot>,
    /// For each slot the index of its variable in [`VARIABLES`] and its place among that variable's arguments.
    pub places: Vec<(usize, usize)>,
    /// The arguments of each variable.
    pub args: [Vec<Placed>; 2],
}

/// One file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewrite {
    /// Its path.
    pub path: String,
    /// Its bytes as read; `None` where it does not exist.
    pub before: Option<Vec<u8>>,
    /// Its bytes as wished.
    pub after: Vec<u8>,
}

/// Why the files cannot be brought to say what is wished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A wish cannot be met by editing arguments.
    Trouble(Trouble),
    /// A file is no valid shell script; `grub-mkconfig` itself would fail.
    Broken {
        /// Which file.
        path: String,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// Every way to write it left a line that does not surely say what is wished.
    Unproven {
        /// The arguments that would not surely count.
        args: Vec<String>,
        /// What stands in the way, with file and line.
        because: Vec<String>,
    },
}

impl BootLine {
    /// Composes the line of a reading.
    pub fn of(reading: &Reading) -> Self {
        let args = VARIABLES.map(|name| reading.value(name).map(|value| value.args()).unwrap_or_default());
        let mut line = Self { slots: Vec::new(), places: Vec::new(), args };
        for (area, args) in line.args.iter().enumerate() {
            for (at, arg) in args.iter().enumerate() {
                let from = Some(line.slots.len());
                line.slots.push(Slot { token: arg.token.clone(), from, area, sure: arg.sure });
                line.places.push((area, at));
            }
        }
        line
    }

    /// The arguments, likely ones included.
    pub fn line(&self) -> Line {
        self.slots.iter().filter_map(|slot| slot.token.clone()).collect()
    }

    /// Where an argument is written: `/etc/default/grub line 9 (GRUB_CMDLINE_LINUX)`.
    pub fn origin(&self, reading: &Reading, slot: usize) -> Option<String> {
        let (area, at) = *self.places.get(slot)?;
        let cells = self.args[area].get(at)?.cells.clone();
        let value = reading.value(VARIABLES[area])?;
        let seat = value.cells.get(cells)?.iter().find_map(|cell| cell.seat)?;
        let script = reading.scripts.get(seat.script)?;
        Some(format!("{} line {} ({})", script.path, script.line(seat.start), VARIABLES[area]))
    }

    /// A draft of the line for editing.
    pub fn draft(
        &self,
        reading: &Reading,
        variable: Variable,
        references: &BTreeMap<String, Vec<Token>>,
    ) -> Draft {
        let home = match variable {
            Variable::Linux => 0,
            Variable::Default => 1,
            Variable::Auto => {
                let doubted = reading.value(VARIABLES[1]).is_some_and(|value| !value.doubts().is_empty());
                usize::from(doubted || reading.last_assign(VARIABLES[1]).is_some())
            }
        };
        Draft {
            slots: self.slots.clone(),
            home,
            home_only: variable == Variable::Linux,
            references: references.clone(),
        }
    }
}

/// What is asked of the shell files.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The wishes in order.
    pub wishes: &'a [Wish],
    /// Where new arguments go.
    pub variable: Variable,
    /// What the boot loader's own variables hold.
    pub references: &'a BTreeMap<String, Vec<Token>>,
    /// Whether `grub-mkconfig` here reads [`DROP_INS`].
    pub drop_ins: bool,
}

/// The files to write so that the composed line meets the wishes; empty where it does already. Each candidate is read
/// back and must say what is wished, else the next one is tried: in place, then our own drop-in.
pub fn rewrite(reading: &Reading, asked: Asked<'_>) -> Result<Vec<Rewrite>, Vec<Refusal>> {
    let broken = reading.broken.iter().filter(|broken| broken.syntax).map(|broken| Refusal::Broken {
        path: reading.scripts.get(broken.script).map_or_else(String::new, |script| script.path.clone()),
        line: broken.line,
        what: broken.what.clone(),
    });
    let broken: Vec<Refusal> = broken.collect();
    if !broken.is_empty() {
        return Err(broken);
    }
    let stood = BootLine::of(reading);
    let mut draft = stood.draft(reading, asked.variable, asked.references);
    let troubles: Vec<Refusal> =
        asked.wishes.iter().filter_map(|wish| draft.meet(wish).err()).map(Refusal::Trouble).collect();
    if !troubles.is_empty() {
        return Err(troubles);
    }
    let ops = draft.ops(&stood.slots);
    let tidied = if asked.wishes.contains(&Wish::Tidy) { overridden(reading) } else { Vec::new() };
    if ops.is_empty() && tidied.is_empty() {
        return Ok(Vec::new());
    }
    let foreign = |area: usize| {
        reading.last_assign(VARIABLES[area]).is_some_and(|last| is_foreign(reading, last.script))
    };
    let mut appended = ops.iter().filter_map(|op| match op {
        Op::Append { area, .. } => Some(*area),
        _ => None,
    });
    let own_first = asked.drop_ins && appended.any(foreign);
    let ways = match (asked.drop_ins, own_first) {
        (false, _) => vec![Way::InPlace],
        (true, false) => vec![Way::InPlace, Way::DropIn],
        (true, true) => vec![Way::DropIn, Way::InPlace],
    };
    for way in ways {
        if let Some(files) = carry_out(reading, &stood, &ops, &tidied, way)
            && let Some(after) = proven(reading, &files, &draft, asked)
        {
            return Ok(after);
        }
    }
    Err(vec![unproven(reading, &ops)])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    InPlace,
    DropIn,
}

fn is_foreign(reading: &Reading, script: usize) -> bool {
    reading.scripts.get(script).is_some_and(|script| script.path != MAIN && script.path != OURS)
}

fn unproven(reading: &Reading, ops: &[Op]) -> Refusal {
    let args = ops.iter().filter_map(|op| match op {
        Op::Replace { with: token, .. } | Op::After { new: token, .. } | Op::Append { new: token, .. } => {
            Some(token.raw().to_owned())
        }
        Op::Remove { .. } => None,
    });
    let doubts = VARIABLES.iter().filter_map(|name| reading.value(name)).flat_map(|value| value.doubts());
    let mut because: Vec<String> = doubts.map(|doubt| reading.doubt(doubt)).collect();
    because.dedup();
    Refusal::Unproven { args: args.collect(), because }
}

/// The scripts after the edits; `None` where this way cannot carry them out.
fn carry_out(
    reading: &Reading,
    stood: &BootLine,
    ops: &[Op],
    tidied: &[Edit],
    way: Way,
) -> Option<BTreeMap<String, Vec<u8>>> {
    let mut edits = tidied.to_vec();
    let mut new_lines: Vec<(usize, Vec<&Token>)> = Vec::new();
    for (area, variable) in VARIABLES.iter().enumerate() {
        let local = |at: usize| stood.places.get(at).filter(|place| place.0 == area).map(|place| place.1);
        let mut inside = Vec::new();
        let mut behind = Vec::new();
        for op in ops {
            match op {
                Op::Replace { at, with } => {
                    inside.extend(local(*at).map(|at| Op::Replace { at, with: with.clone() }));
                }
                Op::Remove { at } => inside.extend(local(*at).map(|at| Op::Remove { at })),
                Op::After { at, new } => {
                    inside.extend(local(*at).map(|at| Op::After { at, new: new.clone() }))
                }
                Op::Append { area: there, new } if *there == area => behind.push(new),
                Op::Append { .. } => {}
            }
        }
        let last = reading.last_assign(variable);
        let apart = match way {
            Way::InPlace => last.is_none(),
            Way::DropIn => last.is_none_or(|last| reading.scripts[last.script].path != OURS),
        };
        match apart && !behind.is_empty() {
            true => new_lines.push((area, behind)),
            false => inside.extend(behind.into_iter().map(|new| Op::Append { area, new: new.clone() })),
        }
        if !inside.is_empty() {
            let found: Result<Vec<Edit>, Cannot> = edit::edits(reading, variable, &stood.args[area], &inside);
            edits.extend(found.ok()?);
        }
    }
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for (at, script) in reading.scripts.iter().enumerate() {
        files.insert(script.path.clone(), edit::apply(&script.bytes, at, &edits)?);
    }
    for (area, tokens) in new_lines {
        add_line(reading, &mut files, area, &tokens, way);
    }
    Some(files)
}

/// Adds `NAME="$NAME new"` (or `NAME="new"` where the variable is not set) at the end of the file that this way uses.
fn add_line(reading: &Reading, files: &mut BTreeMap<String, Vec<u8>>, area: usize, new: &[&Token], way: Way) {
    let variable = VARIABLES[area];
    let words: Vec<&str> = new.iter().map(|token| token.raw()).collect();
    let words = String::from_utf8_lossy(&edit::encode(&words.join(" "), Quote::Double)).into_owned();
    let line = match reading.value(variable).is_some() || way == Way::DropIn {
        true => format!("{variable}=\"${variable} {words}\"\n"),
        false => format!("{variable}=\"{words}\"\n"),
    };
    let path = if way == Way::DropIn { OURS } else { MAIN };
    let head = match way {
        Way::DropIn => "# Kernel arguments written by tunerun; read after the other files here.\n",
        Way::InPlace => "",
    };
    let bytes = files.entry(path.to_owned()).or_insert_with(|| head.as_bytes().to_vec());
    if bytes.last().is_some_and(|last| *last != b'\n') {
        bytes.push(b'\n');
    }
    bytes.extend_from_slice(line.as_bytes());
}

/// Reads the new files back. They must hold exactly what was drafted, meet every wish, and leave all other variables.
fn proven(
    reading: &Reading,
    files: &BTreeMap<String, Vec<u8>>,
    draft: &Draft,
    asked: Asked<'_>,
) -> Option<Vec<Rewrite>> {
    let mut scripts: Vec<Script> =
        files.iter().map(|(path, bytes)| Script { path: path.clone(), bytes: bytes.clone() }).collect();
    let order = |path: &str| reading.scripts.iter().position(|script| script.path == path);
    scripts.sort_by_key(|script| match (order(&script.path), script.path.as_str()) {
        (Some(at), _) => (at, 0),
        // A new main file is read first, a new drop-in of ours in name order.
        (None, MAIN) => (0, 0),
        (None, path) => (
            reading.scripts.iter().filter(|other| other.path == MAIN || other.path.as_str() < path).count(),
            1,
        ),
    });
    let again = Reading::of(scripts);
    if again.broken.len() != reading.broken.len() {
        return None;
    }
    let line = BootLine::of(&again);
    let tokens = |slots: &[Slot]| -> Vec<(usize, Option<Token>)> {
        slots
            .iter()
            .map(|slot| (slot.area, slot.token.clone()))
            .filter(|(_, token)| token.is_some())
            .collect()
    };
    if tokens(&line.slots) != tokens(&draft.slots) {
        return None;
    }
    let mut fresh = line.draft(&again, asked.variable, asked.references);
    if !asked.wishes.iter().all(|wish| fresh.meet(wish).is_ok()) || !fresh.ops(&line.slots).is_empty() {
        return None;
    }
    let others = |reading: &Reading| -> Vec<(String, String)> {
        let values = reading.variables.iter().filter(|(name, _)| !is_ours(name));
        values.map(|(name, value)| (name.clone(), value.likely())).collect()
    };
    if others(&again) != others(reading) {
        return None;
    }
    let before =
        |path: &str| reading.scripts.iter().find(|script| script.path == path).map(|script| &script.bytes);
    let changed = files.iter().filter(|(path, after)| before(path) != Some(after));
    Some(
        changed
            .map(|(path, after)| Rewrite {
                path: path.clone(),
                before: before(path).cloned(),
                after: after.clone(),
            })
            .collect(),
    )
}

/// The two variables and those derived from them, and helpers that only the scripts themselves use: grub-mkconfig looks
/// at names that start with `GRUB_` alone.
fn is_ours(name: &str) -> bool {
    name.starts_with("GRUB_CMDLINE_LINUX") || !name.starts_with("GRUB_")
}

/// The lines of the main file whose assignment of one of the two variables a later one of the same file replaces.
fn overridden(reading: &Reading) -> Vec<Edit> {
    let mut found = Vec::new();
    for (at, assign) in reading.assigns.iter().enumerate() {
        let later = reading.assigns[at + 1..].iter().find(|later| later.name == assign.name);
        let Some(later) = later.filter(|later| later.script == assign.script && later.sure && assign.sure)
        else {
            continue;
        };
        let script = &reading.scripts[assign.script];
        let uses = format!("${}", assign.name);
        let braces = format!("${{{}", assign.name);
        let text = String::from_utf8_lossy(&script.bytes[assign.value.end..later.value.end]);
        if !VARIABLES.contains(&assign.name.as_str())
            || script.path != MAIN
            || text.contains(&uses)
            || text.contains(&braces)
        {
            continue;
        }
        let start =
            script.bytes[..assign.start].iter().rposition(|sign| *sign == b'\n').map_or(0, |at| at + 1);
        let rest = &script.bytes[assign.value.end..];
        let end =
            assign.value.end + rest.iter().position(|sign| *sign == b'\n').map_or(rest.len(), |at| at + 1);
        let alone = |bytes: &[u8]| bytes.iter().all(|sign| matches!(sign, b' ' | b'\t' | b'\n'));
        if alone(&script.bytes[start..assign.start]) && alone(&script.bytes[assign.value.end..end]) {
            found.push(Edit { script: assign.script, range: start..end, text: Vec::new() });
        }
    }
    found
}
