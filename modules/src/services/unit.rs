//! A unit as `systemctl show` tells it, with what planned calls make of it.
use crate::argument::nearest;
use crate::vocabulary::{Act, Facts, HostPath, Output, Read, Row, Seen, Stop, TaskId};
use std::collections::BTreeMap;

/// Folders that hold units.
const FOLDERS: [&str; 4] = [
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/lib/systemd/system",
    "/usr/local/lib/systemd/system",
];

/// The name with its kind: `irqbalance` is `irqbalance.service`.
pub(crate) fn full_name(name: &str) -> Result<String, Stop> {
    const KINDS: [&str; 11] = [
        ".service",
        ".socket",
        ".target",
        ".timer",
        ".mount",
        ".automount",
        ".path",
        ".slice",
        ".swap",
        ".device",
        ".scope",
    ];
    let fault = name.is_empty()
        || name.starts_with('-')
        || !name.chars().all(|letter| letter.is_ascii_alphanumeric() || "@.:_-\\".contains(letter));
    match (fault, KINDS.iter().any(|kind| name.ends_with(kind))) {
        (true, _) => Err(Stop::refused("name", format!("`{name}` is not the name of a unit"))),
        (false, true) => Ok(name.to_owned()),
        (false, false) => Ok(format!("{name}.service")),
    }
}

/// Whether it is a template such as `ceph-osd@.service`, which has no state of its own.
pub(crate) fn is_template(unit: &str) -> bool {
    unit.contains("@.")
}

/// The row that tells everything of a unit.
pub(crate) fn show(unit: &str) -> Row {
    Row::new("systemctl-show", [unit])
}

/// The narrow look at whether a unit runs.
pub(crate) fn active_look(unit: &str) -> Read {
    Read::Ask(Row::new("systemctl-active", [unit]))
}

/// The narrow look at whether a unit starts at boot.
pub(crate) fn file_look(unit: &str) -> Read {
    Read::Ask(Row::new("systemctl-unit-file-state", [unit]))
}

/// The narrow look at when a unit was started.
pub(crate) fn start_look(unit: &str) -> Read {
    Read::Ask(Row::new("systemctl-started-at", [unit]))
}

/// One property as the narrow looks answer it.
pub(crate) fn answer(property: &str, value: &str) -> Seen {
    Seen::Output(Output::ok(format!("{property}={value}\n")))
}

/// The names of all unit files.
pub(crate) fn globs() -> Vec<Read> {
    FOLDERS.iter().map(|folder| Read::Glob(format!("{folder}/*"))).collect()
}

/// A unit.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    /// Its name with its kind.
    pub name: String,
    /// Its properties.
    pub properties: BTreeMap<String, String>,
}

impl Unit {
    /// A unit with the state that planned calls leave.
    ///
    /// # Errors
    /// A unit that is not there: late where an earlier task may bring it, else refused.
    pub fn read(facts: &Facts, name: &str) -> Result<Self, Stop> {
        let output = facts.output(&show(name))?;
        if output.status != 0 {
            return Err(Stop::refused(
                "name",
                format!("systemd does not tell of {name}: {}", output.error_text().trim()),
            ));
        }
        let text = output.text();
        let properties = text
            .lines()
            .filter_map(|line| line.split_once('='))
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        let mut unit = Self { name: name.to_owned(), properties };
        if unit.get("LoadState") == "not-found" {
            match brought_by(facts, name) {
                Some(task) => return Err(Stop::Late(task)),
                None => unit.properties.extend(unread(facts, name)?),
            }
        }
        for (_, step) in facts.planned() {
            if let Act::Call { row, .. } = &step.act
                && row.args.last().is_some_and(|arg| arg == name)
            {
                unit.follow(&row.name);
            }
        }
        Ok(unit)
    }

    /// Takes over what a planned call leaves.
    pub fn follow(&mut self, call: &str) {
        let (property, value) = match call {
            "systemctl-start" | "systemctl-restart" => ("ActiveState", "active"),
            "systemctl-stop" => ("ActiveState", "inactive"),
            "systemctl-enable" => ("UnitFileState", "enabled"),
            "systemctl-disable" => ("UnitFileState", "disabled"),
            "systemctl-mask" => ("UnitFileState", "masked"),
            "systemctl-unmask" => ("UnitFileState", "disabled"),
            _ => return,
        };
        if property == "UnitFileState" {
            let load = if value == "masked" { "masked" } else { "loaded" };
            self.properties.insert("LoadState".to_owned(), load.to_owned());
        }
        self.properties.insert(property.to_owned(), value.to_owned());
    }

    /// A property; empty where systemd did not tell it.
    pub fn get(&self, property: &str) -> &str {
        self.properties.get(property).map_or("", String::as_str)
    }

    /// Whether it runs, or is about to.
    pub fn runs(&self) -> bool {
        matches!(self.get("ActiveState"), "active" | "activating" | "reloading" | "refreshing")
    }

    /// Whether it cannot be started.
    pub fn is_masked(&self) -> bool {
        self.get("UnitFileState").starts_with("masked") || self.get("LoadState") == "masked"
    }

    /// Whether a start runs it to its end rather than leaves it running.
    pub fn runs_once(&self) -> bool {
        self.get("Type") == "oneshot" && self.get("RemainAfterExit") != "yes"
    }

    /// Whether systemd holds an older unit than the files say, planned files included.
    pub fn needs_reload(&self, facts: &Facts) -> bool {
        let reloaded = facts.planned().any(|(_, step)| is_reload(&step.act));
        files_planned(facts) || (self.get("NeedDaemonReload") == "yes" && !reloaded)
    }
}

/// Whether unit files are planned after the last planned daemon-reload.
pub(crate) fn files_planned(facts: &Facts) -> bool {
    facts
        .planned()
        .rev()
        .take_while(|(_, step)| !is_reload(&step.act))
        .any(|(_, step)| step.path().is_some_and(is_unit_path))
}

fn is_reload(act: &Act) -> bool {
    matches!(act, Act::Call { row, .. } if row.name == "systemctl-daemon-reload")
}

fn is_unit_path(path: &HostPath) -> bool {
    FOLDERS.iter().any(|folder| path.as_str().starts_with(&format!("{folder}/")))
}

/// The newest planned task that may bring a unit: its file, a package, or a command that may do anything.
fn brought_by(facts: &Facts, unit: &str) -> Option<TaskId> {
    let template = template_of(unit);
    facts
        .planned()
        .rev()
        .find(|(_, step)| match &step.act {
            Act::Put { path, .. } => {
                is_unit_path(path) && (path.name() == unit || Some(path.name()) == template.as_deref())
            }
            Act::Call { row, .. } => {
                matches!(
                    row.name.as_str(),
                    "apt-get-install" | "dnf-install" | "command" | "shell" | "shell-by"
                )
            }
            _ => false,
        })
        .map(|(task, _)| *task)
}

/// The name of a unit's template: `ceph-osd@3.service` is of `ceph-osd@.service`.
fn template_of(unit: &str) -> Option<String> {
    let (name, rest) = unit.split_once('@')?;
    Some(format!("{name}@.{}", rest.rsplit_once('.').map_or("service", |(_, kind)| kind)))
}

/// What systemd will tell of a unit whose file is there and was put there since systemd last read its units.
fn unread(facts: &Facts, unit: &str) -> Result<BTreeMap<String, String>, Stop> {
    facts.need(&globs())?;
    let names: Vec<HostPath> =
        FOLDERS.iter().filter_map(|folder| facts.names(&format!("{folder}/*")).ok()).flatten().collect();
    let template = template_of(unit);
    let is_it = |path: &&HostPath| path.name() == unit || Some(path.name()) == template.as_deref();
    // The folders stand in the order in which systemd takes them.
    let Some(path) = names.iter().find(is_it) else { return Err(not_found(unit, &names)) };
    let read = Read::text(path);
    facts.need([&read])?;
    let text = match facts.get(&read)? {
        Seen::Node(node) => node.bytes().map(|bytes| String::from_utf8_lossy(bytes.as_slice()).into_owned()),
        _ => None,
    };
    let Some(text) = text else { return Err(not_found(unit, &names)) };
    let setting = |name: &str| {
        let of = |line: &str| {
            line.trim().strip_prefix(name)?.trim_start().strip_prefix('=').map(str::trim).map(str::to_owned)
        };
        text.lines().filter_map(of).next_back()
    };
    let state = if text.lines().any(|line| line.trim() == "[Install]") { "disabled" } else { "static" };
    let mut told = BTreeMap::from(
        [
            ("LoadState", "loaded"),
            ("ActiveState", "inactive"),
            ("NeedDaemonReload", "yes"),
            ("UnitFileState", state),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned())),
    );
    told.extend(
        ["Type", "RemainAfterExit"].into_iter().filter_map(|key| Some((key.to_owned(), setting(key)?))),
    );
    Ok(told)
}

fn not_found(unit: &str, names: &[HostPath]) -> Stop {
    let hint = match nearest(unit, names.iter().map(HostPath::name)) {
        Some(near) => format!("did you mean `{near}`? "),
        None => String::new(),
    };
    Stop::refused("name", format!("this host has no unit {unit}")).way_out(format!(
        "{hint}install the package that brings it in an earlier task, or leave the host out by `when`"
    ))
}

/// Refuses a host that systemd does not run.
///
/// # Errors
/// The refusal, or unread.
pub(crate) fn need_systemd(facts: &Facts) -> Result<(), Stop> {
    let there = facts.stat(&crate::files::place::known(RUNNING)?)?.is_some();
    let why = || Stop::failed(format!("this host is not run by systemd: {RUNNING} is not there"));
    if there {
        Ok(())
    } else {
        Err(why().way_out("leave it out by `when: ansible_service_mgr == 'systemd'`"))
    }
}

/// The folder that is there where systemd runs the host: see sd_booted(3).
pub(crate) const RUNNING: &str = "/run/systemd/system";
