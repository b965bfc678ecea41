//! The target as a systemd unit: it reads the list at every start, and guests are started after it.
use super::live::Live;
use super::own_path;
use crate::argument::Scalar;
use crate::files::place;
use crate::files::text::TextFile;
use crate::services::acts;
use crate::services::unit::{Unit, active_look, file_look, full_name, need_systemd, show, start_look};
use crate::shape::{CpuList, parse_size};
use crate::spdk::cores::{cores, mask};
use crate::vocabulary::{
    Act, Activation, Back, Change, Claim, Diff, Effect, Facts, HostPath, Kind, Match, Output, Read, Row,
    Seen, Spoil, Step, Stop,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An SPDK vhost target as a systemd unit.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetUnit {
    /// The unit; a name without a kind is a service.
    #[serde(default = "default_name")]
    pub name: String,
    /// The program: SPDK's `vhost`, or `spdk_tgt`.
    pub program: String,
    /// The folder of the controllers' sockets (`-S`).
    #[serde(default = "default_sockets")]
    pub sockets: String,
    /// Huge page memory that it takes (`-s`), a multiple of 1 MiB.
    #[serde(default = "default_memory")]
    pub memory: String,
    /// The cores that it runs on (`-m`): a mask 0x3 or a list `[0,1]`. Each is kept busy: leave them to it alone, on the
    /// socket of the disks and the guests' own cores.
    pub reactors: Scalar,
    /// Further arguments.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Units that start after it and stop before it: those that run guests.
    #[serde(default = "default_before")]
    pub before: Vec<String>,
    /// Whether it starts at boot.
    #[serde(default = "crate::argument::yes")]
    pub enabled: bool,
    /// Whether it is started again at once where its settings changed; refused while guests hold controllers open.
    #[serde(default)]
    pub restart: bool,
}

fn default_name() -> String {
    "spdk-vhost.service".to_owned()
}

fn default_sockets() -> String {
    "/var/tmp".to_owned()
}

fn default_memory() -> String {
    "1G".to_owned()
}

fn default_before() -> Vec<String> {
    ["libvirtd.service", "virtqemud.service", "libvirt-guests.service"].map(str::to_owned).to_vec()
}

/// How the target stands once the change is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// It is somebody else's.
    Elsewhere,
    /// Its unit runs already.
    Runs,
    /// Its unit is started by the change.
    Starts,
}

impl TargetUnit {
    fn unit_name(&self) -> Result<String, Stop> {
        full_name(&self.name).map_err(|stop| stop.blame("target"))
    }

    fn path(&self) -> Result<HostPath, Stop> {
        own_path(&format!("/etc/systemd/system/{}", self.unit_name()?))
    }

    /// The cores that it shall run on.
    pub fn reactors(&self) -> Result<CpuList, Stop> {
        cores(&self.reactors).map_err(|why| Stop::refused("target", format!("reactors: {why}")))
    }

    fn memory(&self) -> Result<u64, Stop> {
        let bytes =
            parse_size(&self.memory).map_err(|why| Stop::refused("target", format!("memory: {why}")))?;
        match bytes > 0 && bytes.is_multiple_of(1 << 20) {
            true => Ok(bytes >> 20),
            false => {
                Err(Stop::refused("target", format!("memory: {} is not a multiple of 1 MiB", self.memory)))
            }
        }
    }

    /// What is looked at in the first round.
    pub fn first_reads(&self) -> Result<Vec<Read>, Stop> {
        let unit = self.unit_name()?;
        let mut reads = place::first_reads(&self.path()?);
        reads.push(Read::Stat(place::path("target", &self.program)?));
        reads.push(Read::Stat(own_path(crate::services::unit::RUNNING)?));
        reads.push(Read::Ask(show(&unit)));
        reads.extend([runs_look(&unit), file_look(&unit)]);
        Ok(reads)
    }

    /// The unit's text.
    fn text(&self, socket: &HostPath, config: &HostPath) -> Result<String, Stop> {
        let (memory, cores) = (self.memory()?, mask(&self.reactors()?));
        let sockets = place::path("target", &self.sockets)?;
        let mut words = vec![self.program.clone()];
        for (flag, value) in [
            ("-r", socket.as_str()),
            ("-S", sockets.as_str()),
            ("-s", &memory.to_string()),
            ("-m", &cores),
            ("-c", config.as_str()),
        ] {
            words.extend([flag.to_owned(), value.to_owned()]);
        }
        words.extend(self.arguments.iter().cloned());
        let command: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let before: Vec<String> = self
            .before
            .iter()
            .map(|unit| full_name(unit).map_err(|stop| stop.blame("target")))
            .collect::<Result<_, _>>()?;
        let before = match before.is_empty() {
            true => String::new(),
            false => format!("Before={}\n", before.join(" ")),
        };
        let socket = quoted(socket.as_str());
        Ok(format!(
            "# Kept by tunerun (spdk_vhost). The next run puts it back.
[Unit]
Description=SPDK vhost target
After=local-fs.target systemd-modules-load.service tunerun-spdk-bind.service
{before}
[Service]
Type=simple
# A socket that a dead target left would be taken for the new one's.
ExecStartPre=/bin/rm -f -- {socket}
ExecStart={}
# The target serves its socket once its list is made: what is ordered after it finds its disks.
ExecStartPost=/bin/sh -c 'until [ -S \"$$0\" ]; do kill -0 \"$$1\" || exit 1; sleep 0.1; done' {socket} ${{MAINPID}}
TimeoutStartSec=120
LimitMEMLOCK=infinity
Restart=on-failure
RestartSec=1

[Install]
WantedBy=multi-user.target
",
            command.join(" ")
        ))
    }

    /// Adds what makes it the unit that is asked for, and says how the target stands then.
    pub(super) fn plan(
        &self,
        facts: &Facts,
        (socket, config): (&HostPath, &HostPath),
        live: Option<&Live>,
        change: &mut Change,
    ) -> Result<Came, Stop> {
        need_systemd(facts)?;
        let text = self.text(socket, config)?;
        self.has_program(facts)?;
        let unit = self.unit(facts)?;
        if unit.is_masked() {
            return Err(Stop::refused("target", format!("{} is masked and cannot be started", unit.name))
                .way_out("unmask it by a `systemd_unit` task with `masked: false` before this one"));
        }
        let path = self.path()?;
        let file = TextFile::read(facts, &path)?;
        if !file.text.is_empty() && !file.text.starts_with("# Kept by tunerun") {
            return Err(Stop::refused("target", format!("{path} is there and is not ours"))
                .way_out("name another unit, or move that file away"));
        }
        let changed = file.put(facts, Claim::file(&path), &text, change)?;
        let runs = unit.runs();
        if changed || unit.needs_reload(facts) {
            change.steps.push(acts::daemon_reload());
            change.diff.push(Diff::Note("systemd reads its units again".to_owned()));
        }
        if let Some(step) = acts::enable(&unit, self.enabled).map_err(|stop| stop.blame("target"))?
            && (self.enabled || unit.get("LoadState") != "not-found")
        {
            let (before, after) = (unit.get("UnitFileState").to_owned(), self.enabled.to_string());
            let name = format!("{} starts at boot", unit.name);
            change.diff.push(Diff::Value { name, before: Some(before), after: Some(after) });
            change.steps.push(step);
        }
        match (runs, changed) {
            (true, true) => self.restarted(&unit, live, change).map(|()| Came::Runs),
            (true, false) => Ok(Came::Runs),
            (false, _) => {
                change.steps.push(start(&unit.name));
                change.diff.push(Diff::Value {
                    name: format!("{} ActiveState", unit.name),
                    before: Some(unit.get("ActiveState").to_owned()),
                    after: Some("active".to_owned()),
                });
                Ok(Came::Starts)
            }
        }
    }

    /// A unit that is not there yet is one that does not run.
    fn unit(&self, facts: &Facts) -> Result<Unit, Stop> {
        let name = self.unit_name()?;
        let output = facts.output(&show(&name))?;
        if output.status == 0 && output.text().lines().any(|line| line == "LoadState=not-found") {
            let pairs = [("LoadState", "not-found"), ("ActiveState", "inactive"), ("UnitFileState", "")];
            let properties = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
            return Ok(Unit { name, properties: properties.collect() });
        }
        Unit::read(facts, &name).map_err(|stop| stop.blame("target"))
    }

    fn has_program(&self, facts: &Facts) -> Result<(), Stop> {
        let path = place::path("target", &self.program)?;
        match facts.stat(&path)?.map(|node| node.kind) {
            Some(Kind::File | Kind::Link { .. }) => Ok(()),
            _ => Err(Stop::refused("target", format!("{path} is not a program on this host"))
                .way_out("build or install SPDK in an earlier task, and name its `vhost` program")),
        }
    }

    /// Its settings changed while it runs: every guest loses its disks meanwhile.
    fn restarted(&self, unit: &Unit, live: Option<&Live>, change: &mut Change) -> Result<(), Stop> {
        let held = live.map(Live::held).unwrap_or_default();
        change.effect = Effect::DaemonRestart;
        match (self.restart, held.is_empty()) {
            (true, true) => {
                change.then.insert(Activation::Restart(unit.name.clone()));
                Ok(())
            }
            (true, false) => Err(Stop::refused(
                "target",
                format!("{} shall start again while guests hold {} open", unit.name, held.join("; ")),
            )
            .way_out("stop these guests first, or set `restart: false` and start it again later")),
            (false, _) => {
                change.notes.push(format!(
                    "{} runs on with its old settings until it is started again, with all guests stopped: `restart: true` does it",
                    unit.name
                ));
                Ok(())
            }
        }
    }
}

/// Whether it runs, yes or no: a target that fails to start is as stopped as one that was never started.
pub(super) fn runs_look(unit: &str) -> Read {
    Read::Ask(Row::new("systemctl-runs", [unit]))
}

fn start(unit: &str) -> Step {
    let spoils = || {
        let mut spoils = vec![Spoil::Rpc, Spoil::Answers("systemctl-units".to_owned())];
        let own = [runs_look(unit), Read::Ask(show(unit)), active_look(unit), start_look(unit)];
        spoils.extend(own.map(Spoil::Read));
        spoils
    };
    let answer = |text: &str| Seen::Output(Output::ok(text));
    let back = Back::Exactly(Act::Call { row: Row::new("systemctl-stop", [unit]), spoils: spoils() });
    let look = (runs_look(unit), answer("no\n"), Match::Exactly(answer("yes\n")));
    let claim = Claim::new("unit", &format!("{unit}/active"));
    Step::call_seen(claim, Row::new("systemctl-start", [unit]), spoils(), look, back)
}

/// A word of a command line of systemd.
fn quoted(word: &str) -> String {
    let word = word.replace('%', "%%").replace('$', "$$");
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_/.,:=@+-%$[]".contains(letter);
    match !word.is_empty() && word.chars().all(plain) {
        true => word,
        false => format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")),
    }
}
