//! `systemd_unit`: whether a unit runs, starts at boot or is masked, and its drop-ins.
use super::acts;
use super::drop_in::DropIn;
use super::unit::{self, RUNNING, Unit, files_planned, full_name, is_template, need_systemd, show};
use crate::files::place::{self, known};
use crate::host::Host;
use crate::module::{Module, Sample};
use crate::vocabulary::{Activation, Change, Diff, Effect, Facts, Output, Read, Row, Seen, Step, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// Whether a unit runs, starts at boot or is masked, and its drop-ins.
///
/// `started`, `stopped`, `enabled` and `masked` are states: each is one call of `systemctl` with a look of its own
/// and the opposite call as the way back. `restarted` and `reloaded` are acts at the task's place: the evidence of a
/// restart is another start time, that of a reload the exit status. They leave nothing to undo, but a restart or
/// daemon-reload that a run made is made again after an undo has put the files back, once for each unit. A handler
/// that restarts a unit is the same activation as the one a drop-in asks for by `restart: true`.
///
/// systemd is told to read its units again (`daemon-reload`) before a start, restart or reload where unit files
/// changed since, so `daemon_reload: true` is needed only where nothing else in the task says so; it does nothing
/// where systemd holds what the files say.
///
/// Errors: a unit that is not there is refused with the nearest name, or decided late where an earlier task installs
/// packages, puts the unit's file or runs a command; so are a start of a masked unit and `enabled: false` of a unit
/// without an `[Install]` section. Sources: systemctl(1), systemd.unit(5), org.freedesktop.systemd1(5).
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SystemdUnit {
    /// The unit; a name without a kind is a service.
    #[serde(default)]
    pub name: Option<String>,
    /// What it shall do.
    #[serde(default)]
    pub state: Option<State>,
    /// Whether it starts at boot.
    #[serde(default)]
    pub enabled: Option<bool>,
    /// Whether it is impossible to start.
    #[serde(default)]
    pub masked: Option<bool>,
    /// Let systemd read its units again where they changed.
    #[serde(default)]
    pub daemon_reload: bool,
    /// Let systemd start itself again.
    #[serde(default)]
    pub daemon_reexec: bool,
    /// Which systemd; only the system's is known here.
    #[serde(default)]
    pub scope: ManagerScope,
    /// A drop-in of the unit.
    #[serde(default)]
    pub drop_in: Option<DropIn>,
}

/// What a unit shall do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It runs.
    Started,
    /// It does not run.
    Stopped,
    /// It is started again, or started.
    Restarted,
    /// It reads its settings again, or is started where it does not run.
    Reloaded,
}

/// Which systemd.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ManagerScope {
    /// The system's.
    #[default]
    System,
}

impl SystemdUnit {
    fn unit_name(&self) -> Result<Option<String>, Stop> {
        let asks =
            self.state.is_some() || self.enabled.is_some() || self.masked.is_some() || self.drop_in.is_some();
        match &self.name {
            Some(name) => Ok(Some(full_name(name)?)),
            None if asks => Err(Stop::refused("name", "which unit? `name` is not set")),
            None => Ok(None),
        }
    }

    fn first_reads(&self) -> Result<Vec<Read>, Stop> {
        let mut reads = vec![Read::Stat(known(RUNNING)?)];
        match self.unit_name()? {
            None if self.daemon_reload => reads.push(Read::Ask(need_reload())),
            None => {}
            Some(unit) => {
                reads.extend(self.asks_state(&unit).then(|| Read::Ask(show(&unit))));
                let drop_in = self.drop_in.as_ref().map(|drop_in| drop_in.path(&unit)).transpose()?;
                reads.extend(drop_in.iter().flat_map(place::first_reads));
            }
        }
        Ok(reads)
    }

    /// Whether the unit's own state is asked for, rather than its files alone.
    fn asks_state(&self, unit: &str) -> bool {
        let asks = self.state.is_some() || self.enabled.is_some() || self.masked.is_some();
        asks || !is_template(unit)
    }

    fn drop_in(&self, facts: &Facts, unit: &str, change: &mut Change) -> Result<bool, Stop> {
        match &self.drop_in {
            Some(drop_in) => drop_in.plan(facts, unit, change),
            None => Ok(false),
        }
    }

    /// What changed files call for, where this task does not activate them itself.
    fn owe(&self, unit: Option<&Unit>, change: &mut Change) {
        change.then.insert(Activation::DaemonReload);
        let Some(unit) = unit.filter(|unit| unit.runs()) else { return };
        let restart = self.drop_in.as_ref().is_some_and(|drop_in| drop_in.restart);
        match (restart, self.state) {
            (_, Some(State::Restarted | State::Stopped)) => {}
            (true, _) => drop(change.then.insert(Activation::Restart(unit.name.clone()))),
            (false, _) => {
                change.effect = Effect::DaemonRestart;
                change.notes.push(format!(
                    "{} runs on with its old settings until it is started again: `restart: true` in the drop-in does it",
                    unit.name
                ));
            }
        }
    }

    fn states(
        &self,
        facts: &Facts,
        unit: &mut Unit,
        reload: bool,
        steps: &mut Vec<Step>,
    ) -> Result<(), Stop> {
        if let Some(step) = self.masked.map(|masked| acts::mask(unit, masked)).transpose()?.flatten() {
            unit.follow(if self.masked == Some(true) { "systemctl-mask" } else { "systemctl-unmask" });
            steps.push(step);
        }
        if let Some(step) = self.enabled.map(|enabled| acts::enable(unit, enabled)).transpose()?.flatten() {
            steps.push(step);
        }
        let act = match (self.state, unit.runs()) {
            (None | Some(State::Started), true) | (None | Some(State::Stopped), false) => None,
            (Some(State::Stopped), true) => Some(acts::stop(unit)),
            (Some(State::Started | State::Reloaded), false) => Some(acts::start(unit)?),
            (Some(State::Restarted), _) if unit.is_masked() => Some(acts::start(unit)?),
            (Some(State::Restarted), _) => Some(acts::restart(unit)),
            (Some(State::Reloaded), true) => Some(acts::reload(unit)?),
        };
        let stops = self.state == Some(State::Stopped);
        let needed = reload || unit.needs_reload(facts);
        if (act.is_some() && !stops && needed) || (self.daemon_reload && needed) {
            steps.push(acts::daemon_reload());
        }
        steps.extend(act);
        Ok(())
    }

    fn result(&self, unit: Option<&Unit>) -> Json {
        let mut result = json!({});
        if let Some(name) = &self.name {
            result["name"] = json!(name);
        }
        if let Some(state) = self.state {
            let stopped = state == State::Stopped;
            result["state"] = json!(if stopped { "stopped" } else { "started" });
        }
        if let Some(enabled) = self.enabled {
            result["enabled"] = json!(enabled);
        }
        if let Some(unit) = unit {
            result["status"] = json!(unit.properties);
        }
        result
    }
}

/// What a person reads of the calls.
fn told(unit: &Unit, steps: &[Step], diff: &mut Vec<Diff>) {
    for step in steps {
        let what = step.claim.as_str().rsplit('/').next().unwrap_or_default();
        let (property, after) = match what {
            "active" => ("ActiveState", if unit.runs() { "inactive" } else { "active" }),
            "enabled" => {
                ("UnitFileState", if unit.get("UnitFileState") == "enabled" { "disabled" } else { "enabled" })
            }
            "masked" => ("UnitFileState", if unit.is_masked() { "not masked" } else { "masked" }),
            "restart" => return diff.push(Diff::Note(format!("{} is started again", unit.name))),
            "reload" => return diff.push(Diff::Note(format!("{} reads its settings again", unit.name))),
            "run" => return diff.push(Diff::Note(format!("{} is run", unit.name))),
            "daemon-reload" => {
                diff.push(Diff::Note("systemd reads its units again".to_owned()));
                continue;
            }
            _ => continue,
        };
        diff.push(Diff::Value {
            name: format!("{} {property}", unit.name),
            before: Some(unit.get(property).to_owned()),
            after: Some(after.to_owned()),
        });
    }
}

impl Module for SystemdUnit {
    const NAME: &'static str = "systemd_unit";
    const EXAMPLE: &'static str = "\
- name: No balancer moves interrupts away from their CPUs
  systemd_unit:
    name: irqbalance.service
    state: stopped
    enabled: false
    masked: true
";
    const ALIASES: &'static [(&'static str, &'static str)] = &[
        ("service", "name"),
        ("unit", "name"),
        ("daemon-reload", "daemon_reload"),
        ("daemon-reexec", "daemon_reexec"),
    ];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        facts.need(&self.first_reads()?)?;
        need_systemd(facts)?;
        let mut change = Change::default();
        if self.daemon_reexec {
            change.steps.push(acts::daemon_reexec());
        }
        let Some(name) = self.unit_name()? else {
            if self.daemon_reload && any_needs_reload(facts)? {
                change.steps.push(acts::daemon_reload());
                change.diff.push(Diff::Note("systemd reads its units again".to_owned()));
            }
            change.result = self.result(None);
            return Ok(change);
        };
        let mut unit = if self.asks_state(&name) { Some(Unit::read(facts, &name)?) } else { None };
        let dropped = self.drop_in(facts, &name, &mut change)?;
        let mut steps = Vec::new();
        if let Some(unit) = &mut unit {
            let before = unit.clone();
            self.states(facts, unit, dropped, &mut steps)?;
            told(&before, &steps, &mut change.diff);
        } else if self.daemon_reload && (dropped || files_planned(facts)) {
            steps.push(acts::daemon_reload());
        }
        if dropped {
            self.owe(unit.as_ref(), &mut change);
            if steps.iter().any(|step| step.claim == acts::daemon_reload().claim) {
                change.then.remove(&Activation::DaemonReload);
            }
        }
        change.steps.extend(steps);
        change.result = self.result(unit.as_ref());
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        let unit = "ceph-osd@1.service";
        let stopped = properties(unit, "inactive", "disabled");
        let running = properties(unit, "active", "disabled");
        let host = |shown: &Seen, active: &str| {
            Host::new()
                .dir("/etc/systemd/system")
                .dir(RUNNING)
                .answer(show(unit), shown.clone())
                .answer(Row::new("systemctl-active", [unit]), unit::answer("ActiveState", active))
                .answer(
                    Row::new("systemctl-unit-file-state", [unit]),
                    unit::answer("UnitFileState", "disabled"),
                )
        };
        let after = |shown: &Seen, active: &str| {
            vec![
                (Read::Ask(show(unit)), shown.clone()),
                (unit::active_look(unit), unit::answer("ActiveState", active)),
            ]
        };
        let calls = vec![
            (Row::new("systemctl-start", [unit]), after(&running, "active")),
            (Row::new("systemctl-stop", [unit]), after(&stopped, "inactive")),
        ];
        let sample = |about, args, host| Sample { about, args, host, calls: calls.clone() };
        vec![
            sample("a start", json!({ "name": unit, "state": "started" }), host(&stopped, "inactive")),
            sample("a stop", json!({ "name": unit, "state": "stopped" }), host(&running, "active")),
            sample(
                "a drop-in",
                json!({ "name": unit, "drop_in": { "name": "pin", "settings": { "Service": { "CPUAffinity": "0-15" } } } }),
                host(&running, "active"),
            ),
        ]
    }
}

fn need_reload() -> Row {
    Row::new("systemctl-need-reload", Vec::<String>::new())
}

/// Whether systemd holds any unit older than its files.
fn any_needs_reload(facts: &Facts) -> Result<bool, Stop> {
    let output = facts.output(&need_reload())?;
    let reloaded = facts.planned().any(|(_, step)| step.claim == acts::daemon_reload().claim);
    let stale = output.text().lines().any(|line| line.trim() == "NeedDaemonReload=yes");
    Ok(files_planned(facts) || (stale && !reloaded))
}

/// What `systemctl show` answers of a plain service.
fn properties(unit: &str, active: &str, file: &str) -> Seen {
    Seen::Output(Output::ok(format!(
        "Type=simple\nMainPID=7\nResult=success\nExecMainStartTimestampMonotonic=1000\nId={unit}\nLoadState=loaded\n\
         ActiveState={active}\nSubState=x\nFragmentPath=/usr/lib/systemd/system/{unit}\nUnitFileState={file}\n\
         ActiveEnterTimestampMonotonic=1000\nCanReload=no\nNeedDaemonReload=no\nRemainAfterExit=no\n"
    )))
}

#[cfg(test)]
mod tests;
