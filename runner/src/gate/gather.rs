//! From runs to pairs: which runs count, which are repeated, and what ends a gate without any statistics.
//!
//! Whether a run counts never depends on its arm or on how good its figures are.
use super::experiment::Experiment;
use super::run::{Fault, Figure, Live, Run, RunEnd};
use super::words::{Arm, Toggle};
use std::collections::BTreeMap;

/// Tries of one run: the first and one repeat.
const TRIES: usize = 2;
/// So many repeats with the change, and twice those without it, and nothing passes.
const SHAKY: u32 = 3;

/// What the runs so far come to.
#[derive(Clone, Debug, Default)]
pub struct Gathered<'a> {
    /// The counting run of each host and slot.
    pub counted: BTreeMap<(&'a str, u32), &'a Run>,
    /// Slots that are whole on every host.
    pub slots: u32,
    /// Repeats so far.
    pub repeats: Repeats,
    /// Why each metric cannot be judged, if it cannot.
    pub lacks: Vec<Option<String>>,
    /// Controls that broke and are left out.
    pub lost: Vec<&'a str>,
    /// What ends the gate without statistics.
    pub stop: Option<Stop>,
    /// What makes all of it worth nothing, whatever the figures say.
    pub void: Option<Stop>,
    /// What to run next: all of one slot.
    pub next: Vec<Wanted>,
}

/// Repeats of runs, by arm. Of the changed hosts alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Repeats {
    /// Without the change.
    pub a: u32,
    /// With it.
    pub b: u32,
}

impl Repeats {
    /// Whether the change seems to make runs fail: nothing passes then.
    pub const fn shaky(self) -> bool {
        self.b >= SHAKY && self.b >= 2 * self.a
    }
}

/// A run that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// On this host.
    pub host: String,
    /// Its place in the order.
    pub slot: u32,
    /// The arm to put on.
    pub arm: Arm,
    /// It is a repeat.
    pub repeat: bool,
}

/// What ends a gate whatever the figures say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Runs with the change failed again and again, none without it did.
    Broken {
        /// On this host.
        host: String,
        /// How.
        what: String,
    },
    /// A run could not be had.
    Invalid {
        /// On this host.
        host: String,
        /// Its place.
        slot: u32,
        /// Why not.
        what: String,
    },
    /// An arm was not live.
    NotLive {
        /// On this host.
        host: String,
        /// Its place.
        slot: u32,
        /// What was read instead.
        what: String,
    },
    /// Too many runs had to be repeated.
    Unstable(Repeats),
    /// The load was stopped because it hurt others.
    Aborted {
        /// What it hurt.
        what: String,
    },
    /// A run was measured by another version of a tool.
    OtherTool {
        /// On this host.
        host: String,
        /// Which, and which versions.
        what: String,
    },
    /// Two boots that should differ are one.
    NotBooted {
        /// On this host.
        host: String,
        /// The boot, from 0.
        boot: u32,
    },
}

/// What one try is worth.
enum Try {
    Counts,
    NotLive(String),
    Failed(Fault),
}

struct Walk<'a> {
    experiment: &'a Experiment,
    tries: BTreeMap<(&'a str, u32), Vec<&'a Run>>,
    gathered: Gathered<'a>,
    /// Faults without the change that could have been called the change's.
    a_faults: u32,
    a_counted: u32,
    /// A run with the change that failed twice before any run without it was made.
    pending: Option<(String, u32, String)>,
}

/// Sorts the runs of an experiment. They are taken in the order they were made.
pub fn gather<'a>(experiment: &'a Experiment, runs: &'a [Run]) -> Gathered<'a> {
    let mut tries: BTreeMap<(&str, u32), Vec<&Run>> = BTreeMap::new();
    for run in runs {
        tries.entry((run.host.as_str(), run.slot)).or_default().push(run);
    }
    let gathered = Gathered { lacks: vec![None; experiment.metrics.len()], ..Gathered::default() };
    let mut walk = Walk { experiment, tries, gathered, a_faults: 0, a_counted: 0, pending: None };
    for slot in 0..experiment.slots() {
        walk.slot(slot);
        if walk.gathered.stop.is_some() || !walk.gathered.next.is_empty() {
            break;
        }
        walk.gathered.slots = slot + 1;
    }
    walk.gathered.void = walk.versions().or_else(|| walk.boots());
    walk.gathered
}

impl<'a> Walk<'a> {
    fn slot(&mut self, slot: u32) {
        let experiment = self.experiment;
        for (i, host) in experiment.canaries.iter().enumerate() {
            self.host(host, slot, experiment.arm(i, slot), true);
            if self.gathered.stop.is_some() {
                return;
            }
        }
        for host in &experiment.controls {
            if !self.gathered.lost.contains(&host.as_str()) {
                self.host(host, slot, Arm::A, false);
            }
        }
        if let Some((host, slot, what)) = self.pending.clone() {
            // The same failed twice with the change; what it does without it decides.
            if self.a_faults > 0 {
                self.gathered.stop = Some(Stop::Invalid { host, slot, what });
            } else if self.a_counted > 0 {
                self.gathered.stop = Some(Stop::Broken { host, what });
            }
        }
        let Repeats { a, b } = self.gathered.repeats;
        let made = (slot + 1) * experiment.canaries.len() as u32;
        if self.gathered.stop.is_none() && a + b > (made / 5).max(3) {
            self.gathered.stop = Some(Stop::Unstable(self.gathered.repeats));
        }
    }

    fn host(&mut self, host: &'a str, slot: u32, arm: Arm, canary: bool) {
        let tries = self.tries.remove(&(host, slot)).unwrap_or_default();
        let mut last = None;
        let mut hard = true;
        for (i, run) in tries.iter().copied().take(TRIES).enumerate() {
            if canary && i > 0 {
                match arm {
                    Arm::A => self.gathered.repeats.a += 1,
                    Arm::B => self.gathered.repeats.b += 1,
                }
            }
            match worth(self.experiment, run, arm) {
                Try::Counts => {
                    self.count(host, slot, run, canary, arm);
                    return;
                }
                Try::Failed(Fault::Aborted { what }) => {
                    self.gathered.stop = Some(Stop::Aborted { what });
                    return;
                }
                Try::Failed(fault) => {
                    hard &= fault.may_be_the_change();
                    if canary && arm == Arm::A && fault.may_be_the_change() {
                        self.a_faults += 1;
                    }
                    last = Some(Stop::Invalid { host: host.into(), slot, what: fault.text() });
                }
                Try::NotLive(what) => {
                    hard = false;
                    last = Some(Stop::NotLive { host: host.into(), slot, what });
                }
            }
        }
        match last {
            Some(stop) if tries.len() >= TRIES => self.given_up(host, stop, canary, hard && arm == Arm::B),
            last => {
                let repeat = last.is_some();
                self.gathered.next.push(Wanted { host: host.into(), slot, arm, repeat });
            }
        }
    }

    /// A run and its repeat both failed.
    fn given_up(&mut self, host: &'a str, stop: Stop, canary: bool, change: bool) {
        if !canary {
            self.gathered.lost.push(host);
            self.gathered.counted.retain(|(name, _), _| *name != host);
            return;
        }
        match stop {
            Stop::Invalid { host, what, .. } if change && self.a_faults == 0 && self.a_counted > 0 => {
                self.gathered.stop = Some(Stop::Broken { host, what });
            }
            Stop::Invalid { host, slot, what } if change && self.a_faults == 0 => {
                self.pending = Some((host, slot, what));
            }
            stop => self.gathered.stop = Some(stop),
        }
    }

    fn count(&mut self, host: &'a str, slot: u32, run: &'a Run, canary: bool, arm: Arm) {
        self.gathered.counted.insert((host, slot), run);
        if !canary {
            return;
        }
        self.a_counted += u32::from(arm == Arm::A);
        for (metric, lacks) in self.experiment.metrics.iter().zip(&mut self.gathered.lacks) {
            let RunEnd::Measured { figures } = &run.end else { continue };
            let why = match figures.get(&metric.from) {
                Some(Figure::Number(x)) if metric.direction.goodness(*x).is_some() => continue,
                Some(Figure::Number(x)) => format!("{} is {x}", metric.from),
                Some(Figure::Insufficient { had, needs }) => {
                    format!("{had} completions in a run, and this percentile needs {needs}")
                }
                Some(Figure::NotAvailable { why }) => why.clone(),
                None => format!("no figure {}", metric.from),
            };
            lacks.get_or_insert(why);
        }
    }

    /// All runs of one host are measured by the same tools.
    fn versions(&self) -> Option<Stop> {
        let mut first: BTreeMap<(&str, &str), &str> = BTreeMap::new();
        for (&(host, _), run) in &self.gathered.counted {
            for (tool, version) in &run.versions {
                let known = *first.entry((host, tool.as_str())).or_insert(version.as_str());
                if known != version.as_str() {
                    let what = format!("{tool} is {version}, and was {known}");
                    return Some(Stop::OtherTool { host: host.into(), what });
                }
            }
        }
        None
    }

    /// Where arms are boots: each boot is one, and differs from the one before it.
    fn boots(&self) -> Option<Stop> {
        if !matches!(self.experiment.toggle, Toggle::Reboot | Toggle::Guest) {
            return None;
        }
        for host in &self.experiment.canaries {
            let mut before: Option<(u32, &str)> = None;
            for slot in 0..self.experiment.slots() {
                let Some(run) = self.gathered.counted.get(&(host.as_str(), slot)) else { break };
                let boot = self.experiment.boot(slot);
                let id = run.boot.as_deref().unwrap_or("");
                let wrong = match before {
                    Some((last, seen)) => (last == boot) != (seen == id),
                    None => false,
                };
                if wrong || id.is_empty() {
                    return Some(Stop::NotBooted { host: host.clone(), boot });
                }
                before = Some((boot, id));
            }
        }
        None
    }
}

/// What one try is worth. Only a run whose arm was seen to be live counts.
fn worth(experiment: &Experiment, run: &Run, arm: Arm) -> Try {
    let figures = match &run.end {
        RunEnd::Failed(fault) => return Try::Failed(fault.clone()),
        RunEnd::Measured { figures } => figures,
    };
    match &run.live {
        Live::Proven { .. } if run.arm == arm => {}
        Live::Proven { .. } => return Try::NotLive("the other arm was measured".into()),
        Live::Differs { expected, seen } => {
            return Try::NotLive(format!("{seen} was read where {expected} should be"));
        }
        Live::Unknown => return Try::NotLive("it was not read back".into()),
    }
    for metric in experiment.metrics.iter().filter(|metric| !metric.warn) {
        let what = match figures.get(&metric.from) {
            Some(Figure::Number(x)) if metric.direction.goodness(*x).is_none() => {
                format!("{} is {x}", metric.from)
            }
            None => format!("no figure {}", metric.from),
            Some(_) => continue,
        };
        return Try::Failed(Fault::Unfit { what });
    }
    for limit in &experiment.limits {
        let what = match figures.get(&limit.from) {
            Some(Figure::Number(x)) if *x <= limit.max => continue,
            Some(Figure::Number(x)) => {
                let what = format!("{} is {x}, and at most {} is accepted", limit.from, limit.max);
                return Try::Failed(Fault::Limit { what });
            }
            Some(Figure::NotAvailable { why }) => format!("{} is not available: {why}", limit.from),
            Some(Figure::Insufficient { .. }) | None => format!("no figure {}", limit.from),
        };
        return Try::Failed(Fault::Unfit { what });
    }
    Try::Counts
}
