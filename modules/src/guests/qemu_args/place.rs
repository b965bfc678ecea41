//! Where a command line is: in a script, or in a unit with a drop-in of its own.
use super::QemuArgs;
use super::edit::{Edit, Surroundings};
use super::line::Line;
use super::words::{Dialect, commands, quoted};
use crate::argument::Scalar;
use crate::files::place::{known, path};
use crate::files::text::TextFile;
use crate::vocabulary::{Facts, HostPath, Read, Row, Stop};

/// Folders of units, the strongest first.
const UNITS: [&str; 5] = [
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
];

/// A command line and the file that it is written to.
pub(super) struct Place {
    /// The file.
    pub(super) file: TextFile,
    /// The text that holds the line now.
    pub(super) text: String,
    /// The line.
    pub(super) line: Line,
    /// How its words are quoted.
    pub(super) dialect: Dialect,
    /// The unit, with its state.
    pub(super) unit: Option<Unit>,
}

/// A unit that starts QEMU.
pub(super) struct Unit {
    /// Its name.
    pub(super) name: String,
    /// Whether it runs.
    pub(super) runs: bool,
    /// The number of its process; 0 where it has none.
    pub(super) pid: String,
}

fn one(lines: Vec<Line>, path: &HostPath) -> Result<Line, Stop> {
    let count = lines.len();
    let mut lines = lines.into_iter();
    match (lines.next(), count) {
        (Some(line), 1) => Ok(line),
        (None, _) => Err(Stop::failed(format!("{path} starts no QEMU (qemu-system-…, qemu-kvm or kvm)"))
            .way_out("name the file whose command starts the guest")),
        _ => Err(Stop::failed(format!("{path} starts {count} QEMUs, and it is not clear which is meant"))
            .way_out("keep one guest a file")),
    }
}

impl Place {
    /// Finds it.
    pub(super) fn of(task: &QemuArgs, facts: &Facts) -> Result<Self, Stop> {
        match (&task.script, &task.unit) {
            (Some(script), None) => Self::in_script(facts, script).map_err(|stop| stop.blame("script")),
            (None, Some(unit)) => Self::in_unit(task, facts, unit).map_err(|stop| stop.blame("unit")),
            _ => Err(Stop::refused("script", "either `script` or `unit` says what starts the guest")
                .way_out("give one of the two")),
        }
    }

    fn in_script(facts: &Facts, script: &str) -> Result<Self, Stop> {
        let asked = path("script", script)?;
        facts.need(&crate::files::place::first_reads(&asked))?;
        let file = TextFile::read(facts, &asked)?;
        if file.text.is_empty() {
            return Err(Stop::failed(format!("{asked} is not there, or empty")));
        }
        let text = file.text.clone();
        let line = one(Line::all(&text, Dialect::Shell), &asked)?;
        Ok(Self { file, text, line, dialect: Dialect::Shell, unit: None })
    }

    fn in_unit(task: &QemuArgs, facts: &Facts, unit: &str) -> Result<Self, Stop> {
        let name = if unit.contains('.') { unit.to_owned() } else { format!("{unit}.service") };
        if name.contains('/') {
            return Err(Stop::failed(format!("`{unit}` is no name of a unit")));
        }
        let show = Row::new("systemctl-show", [name.as_str()]);
        let pattern = format!("/etc/systemd/system/{name}.d/*.conf");
        let template = name
            .split_once('@')
            .and_then(|(stem, rest)| Some(format!("{stem}@.{}", rest.rsplit_once('.')?.1)));
        let files: Vec<HostPath> = [Some(name.clone()), template]
            .iter()
            .flatten()
            .flat_map(|name| UNITS.iter().map(move |folder| known(&format!("{folder}/{name}"))))
            .collect::<Result<_, _>>()?;
        let own = known(&format!("/etc/systemd/system/{name}.d/{}.conf", task.drop_in))?;
        let mut reads = vec![Read::Ask(show.clone()), Read::Glob(pattern.clone())];
        reads.extend(crate::files::place::first_reads(&own));
        reads.extend(files.iter().map(Read::text));
        facts.need(&reads)?;
        let mut found = None;
        for file in &files {
            if found.is_none() && facts.node(file)?.is_some() {
                found = Some(TextFile::read(facts, file)?);
            }
        }
        let Some(fragment) = found else {
            return Err(Stop::failed(format!("there is no unit {name}"))
                .way_out("put the unit's file first, by a task before this one"));
        };
        let others = facts.names(&pattern)?;
        facts.need(&others.iter().map(Read::text).collect::<Vec<_>>())?;
        for other in others.iter().filter(|other| **other != own) {
            if TextFile::read(facts, other)?.text.lines().any(|line| line.starts_with("ExecStart=")) {
                return Err(Stop::failed(format!(
                    "{other} sets ExecStart too, and one of the two would win"
                ))
                .way_out("take ExecStart out of that drop-in, or name it by `drop_in`"));
            }
        }
        let file = TextFile::read(facts, &own)?;
        let here = Line::all(&file.text, Dialect::Unit);
        let (text, line) = match here.is_empty() {
            false => (file.text.clone(), one(here, &own)?),
            true => {
                let line = one(Line::all(&fragment.text, Dialect::Unit), fragment.path())?;
                (fragment.text.clone(), line)
            }
        };
        let answer = facts.output(&show)?.text();
        let get = |name: &str| {
            let line = answer.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
            line.unwrap_or_default().to_owned()
        };
        let unit = Unit { name, runs: get("ActiveState") == "active", pid: get("MainPID") };
        Ok(Self { file, text, line, dialect: Dialect::Unit, unit: Some(unit) })
    }

    /// What stands around the options, where it is part of the line.
    pub(super) fn surround(&self, task: &QemuArgs, edit: &mut Edit) {
        if self.dialect == Dialect::Shell {
            let environment = task.environment.iter();
            let environment =
                environment.map(|(name, value)| (name.as_str(), value.as_ref().map(Scalar::text)));
            let cpus = task.cpus.as_ref().map(Scalar::text);
            let around = Surroundings { environment: environment.collect(), cpus };
            edit.surround(&self.line, &around, self.dialect);
        }
    }

    /// The text of the file as it shall be.
    pub(super) fn after(&self, task: &QemuArgs, edit: &Edit) -> String {
        let edited = edit.apply(&self.text, &self.line, self.dialect);
        if self.dialect == Dialect::Shell {
            return edited;
        }
        let mut text = format!(
            "# Made by tunerun: how QEMU is started by {}.\n[Service]\n",
            self.unit.as_ref().map(|unit| unit.name.as_str()).unwrap_or_default()
        );
        for (name, value) in self.environment(task) {
            text.push_str(&format!("Environment={}\n", quoted(&format!("{name}={value}"), Dialect::Unit)));
        }
        let cpus = task.cpus.as_ref().map(Scalar::text).or_else(|| self.setting("CPUAffinity"));
        if let Some(cpus) = cpus {
            text.push_str(&format!("CPUAffinity={cpus}\n"));
        }
        let line = commands(&edited, Dialect::Unit).into_iter().find(|words| {
            words
                .first()
                .is_some_and(|word| word.text().starts_with("ExecStart=") && word.text() != "ExecStart=")
        });
        let words = line.unwrap_or_default();
        let (start, end) = match (words.first(), words.last()) {
            (Some(first), Some(last)) => (first.range.start, last.range.end),
            _ => (0, 0),
        };
        text.push_str(&format!("ExecStart=\n{}\n", edited.get(start..end).unwrap_or_default()));
        text
    }

    /// The variables of a unit's drop-in: those that are asked for, over those that it has.
    fn environment(&self, task: &QemuArgs) -> Vec<(String, String)> {
        let mut all: Vec<(String, String)> = Vec::new();
        for words in commands(&self.file.text, Dialect::Unit) {
            for word in words {
                let text = word.text();
                let text = text.strip_prefix("Environment=").unwrap_or(text);
                let is_name = |name: &str| {
                    name.chars()
                        .all(|letter| letter.is_ascii_uppercase() || letter == '_' || letter.is_ascii_digit())
                };
                if let Some((name, value)) = text.split_once('=').filter(|(name, _)| is_name(name)) {
                    all.push((name.to_owned(), value.to_owned()));
                }
            }
        }
        for (name, value) in &task.environment {
            all.retain(|(other, _)| other != name);
            all.extend(value.as_ref().map(|value| (name.clone(), value.text())));
        }
        all
    }

    fn setting(&self, name: &str) -> Option<String> {
        let line = self.file.text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        line.map(ToOwned::to_owned)
    }
}
