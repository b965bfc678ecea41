//! `gate:` as people write it, and the experiment that it is.
use super::amounts::{Share, Time};
use crate::bench::Benchmark;
use crate::gate::metric::{FLOOR, FLOOR_OF_PERCENTILES};
use crate::gate::{Direction, Errors, Experiment, Limit, Metric, Reach, Role, Toggle};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::time::Duration;

/// The benchmark experiment that decides whether a change is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// How the change is put on and taken off. Default: while everything runs; `reboot` for what needs a boot.
    #[serde(default)]
    pub toggle: Toggle,
    /// Whom the change reaches: a cluster has no controls.
    #[serde(default)]
    pub scope: Reach,
    /// The most pairs: of runs (default 24), or of boots of each host (default 2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_pairs: Option<u32>,
    /// Runs in each boot, or before and after for what cannot be toggled. Default 4.
    #[serde(default = "four")]
    pub runs_each: u32,
    /// How often it may err.
    #[serde(default)]
    pub alpha: Alpha,
    /// One run.
    #[serde(default)]
    pub run: RunTimes,
    /// What a host and its cluster must be like before each run.
    #[serde(default)]
    pub preflight: Preflight,
    /// What loads or observes.
    pub benchmarks: Vec<Bench>,
    /// What is judged. `tunerun bench` needs none.
    #[serde(default)]
    pub metrics: Vec<Judge>,
    /// What must not be exceeded, by the figure's path: errors, loss.
    #[serde(default)]
    pub hard: BTreeMap<String, f64>,
    /// The share of the clients' own load that benchmarks may add on a cluster that serves others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Share>,
    /// What ends the load at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abort_if: Option<AbortIf>,
    /// The longest that it may take; a gate that may take longer is refused in the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_time: Option<Time>,
    /// Where the order comes from. Default: drawn, and stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

const fn four() -> u32 {
    4
}

/// How often a gate may err.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Alpha {
    /// Rolling back a change that costs nothing, per gate. Default 0.5 %.
    pub rollback: Share,
    /// Passing a loss as large as the margin, per metric. Default 5 %.
    pub pass: Share,
}

impl Default for Alpha {
    fn default() -> Self {
        let errors = Errors::default();
        Self { rollback: Share(errors.rollback), pass: Share(errors.pass) }
    }
}

/// One run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RunTimes {
    /// After the change was put on or taken off. Default 5 s.
    pub settle: Time,
    /// Load that is not counted. Default 20 s.
    pub ramp: Time,
    /// Load that is. Default 60 s.
    pub measure: Time,
    /// When a run is steady enough to count.
    pub steady: Steady,
}

impl Default for RunTimes {
    fn default() -> Self {
        let time = |seconds| Time(Duration::from_secs(seconds));
        Self { settle: time(5), ramp: time(20), measure: time(60), steady: Steady::Rule(Windows::default()) }
    }
}

/// When a run is steady enough to count.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Steady {
    /// `off` (or `false`): every run counts.
    Off(Off),
    /// By windows side by side.
    Rule(Windows),
}

/// `off`, in the ways it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Off {
    /// The word.
    Word(OffWord),
    /// `false`, which YAML 1.1 reads `off` as.
    Flag(bool),
}

/// The word `off`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OffWord {
    /// Every run counts.
    Off,
}

/// Windows of seconds side by side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Windows {
    /// How many. Default 5.
    pub windows: u32,
    /// How long each. Default 12 s.
    pub window: Time,
    /// The largest range over them. Default 10 %.
    pub range: Share,
    /// The largest change of the line through them. Default 3 %.
    pub slope: Share,
}

impl Default for Windows {
    fn default() -> Self {
        Self { windows: 5, window: Time(Duration::from_secs(12)), range: Share(0.10), slope: Share(0.03) }
    }
}

/// What a host and its cluster must be like before each run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Preflight {
    /// Scrubs are paused for the gate, and running ones waited for. Default yes.
    pub scrub_pause: bool,
    /// The longest that scrubs may be paused. Default 6 h.
    pub scrub_pause_max: Time,
    /// Processor time that the hypervisor may keep. Default 2 %.
    pub steal_max: Share,
    /// How long to wait for all of it. Default 10 min.
    pub timeout: Time,
}

impl Default for Preflight {
    fn default() -> Self {
        let time = |seconds| Time(Duration::from_secs(seconds));
        Self {
            scrub_pause: true,
            scrub_pause_max: time(6 * 3600),
            steal_max: Share(0.02),
            timeout: time(600),
        }
    }
}

/// One benchmark: its name, where it runs, what it loads, and the tool's own arguments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<String, Json>")]
pub struct Bench {
    /// Its name in the paths of figures.
    pub id: String,
    /// The hosts that load. Default: each changed host itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// The other end, for tools that need one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// The share of this load that the changed hosts serve. Default: all of it.
    pub share: Share,
    /// The tool.
    #[serde(flatten)]
    pub tool: Benchmark,
}

const fn whole() -> Share {
    Share(1.0)
}

impl TryFrom<BTreeMap<String, Json>> for Bench {
    type Error = String;

    /// Its own words first; what is left must be one tool. A flattened enum would take any other word in silence.
    fn try_from(mut words: BTreeMap<String, Json>) -> Result<Self, String> {
        fn word<T: serde::de::DeserializeOwned>(
            value: Option<Json>,
            name: &str,
        ) -> Result<Option<T>, String> {
            let read = |value| {
                serde_json::from_value(value).map_err(|error| format!("`{name}` of a benchmark: {error}"))
            };
            value.map(read).transpose()
        }
        let id: String = word(words.remove("id"), "id")?.ok_or("a benchmark has no `id`")?;
        // In YAML 1.1, which playbooks are written in, the word `on` is a boolean, as a key too.
        let on = word(words.remove("on").or_else(|| words.remove("true")), "on")?;
        let peer = word(words.remove("peer"), "peer")?;
        let share = word(words.remove("share"), "share")?.unwrap_or_else(whole);
        let tools: Vec<(String, Json)> = words.into_iter().collect();
        let [(name, arguments)] = &tools[..] else {
            let names: Vec<&str> = tools.iter().map(|(name, _)| name.as_str()).collect();
            return Err(format!("benchmark {id}: say one tool, as `fio:`; there is {}", names.join(", ")));
        };
        let tool = serde_json::json!({ name: arguments });
        let tool = serde_json::from_value(tool).map_err(|error| format!("benchmark {id}: {error}"))?;
        Ok(Self { id, on, peer, share, tool })
    }
}

/// One figure that is judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Judge {
    /// Its name in the report.
    pub name: String,
    /// The benchmark's id and the figure's path: `rbd.read.iops`.
    pub from: String,
    /// Which way it is better.
    pub direction: Direction,
    /// The largest loss that is accepted. Either this or `cost`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<Share>,
    /// A price that is accepted beforehand: the margin is this large, and the report names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Share>,
    /// What it is for. Default: what the change is about.
    #[serde(default)]
    pub role: Role,
    /// It is looked at and listed, and decides nothing.
    #[serde(default)]
    pub warn: bool,
    /// The gain that is promised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_gain: Option<Share>,
}

/// What ends the load at once. That run does not count, and the gate is INCONCLUSIVE.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AbortIf {
    /// New health codes of the cluster. Slow operations and full devices always count.
    pub health: Vec<String>,
    /// The clients' latency above this many milliseconds.
    pub client_latency_ms: Option<f64>,
}

impl Gate {
    /// The experiment of this gate on these hosts.
    ///
    /// # Errors
    /// Everything that is wrong with it, one sentence each.
    pub fn experiment(
        &self,
        id: &str,
        change: &str,
        canaries: Vec<String>,
        controls: Vec<String>,
        seed: u64,
    ) -> Result<Experiment, Vec<String>> {
        let mut faults = self.bench_faults();
        let metrics = self.metrics.iter().filter_map(|judge| self.metric(judge, &mut faults)).collect();
        let boots = matches!(self.toggle, Toggle::Reboot | Toggle::Guest);
        let runtime = self.toggle == Toggle::Runtime;
        let experiment = Experiment {
            id: id.into(),
            change: change.into(),
            toggle: self.toggle,
            reach: self.scope,
            canaries,
            controls,
            metrics,
            limits: self.hard.iter().map(|(from, max)| Limit { from: from.clone(), max: *max }).collect(),
            errors: Errors { rollback: self.alpha.rollback.0, pass: self.alpha.pass.0 },
            max_pairs: self.max_pairs.unwrap_or(if boots { 2 } else { 24 }),
            runs_each: if runtime { 1 } else { self.runs_each },
            seed: self.seed.unwrap_or(seed),
            extends: None,
            wave: 0,
            profile: None,
        };
        faults.extend(experiment.faults());
        if faults.is_empty() { Ok(experiment) } else { Err(faults) }
    }

    /// What is wrong with its benchmarks, one sentence each.
    pub fn bench_faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for (i, bench) in self.benchmarks.iter().enumerate() {
            if self.benchmarks[..i].iter().any(|other| other.id == bench.id) {
                faults.push(format!("two benchmarks are called {}", bench.id));
            }
            faults.extend(
                bench.tool.driver().faults().into_iter().map(|fault| format!("{}: {fault}", bench.id)),
            );
        }
        for path in self.hard.keys().filter(|path| self.bench_of(path).is_none()) {
            faults.push(format!("`hard` names {path}, and no benchmark has that name"));
        }
        faults
    }

    fn bench_of(&self, path: &str) -> Option<&Bench> {
        let (id, _) = path.split_once('.')?;
        self.benchmarks.iter().find(|bench| bench.id == id)
    }

    fn metric(&self, judge: &Judge, faults: &mut Vec<String>) -> Option<Metric> {
        let name = &judge.name;
        let bench = self.bench_of(&judge.from);
        if bench.is_none() {
            let known: Vec<&str> = self.benchmarks.iter().map(|bench| bench.id.as_str()).collect();
            faults.push(format!("{name}: {} is of no benchmark; there are {}", judge.from, known.join(", ")));
        }
        let margin = match (judge.margin, judge.cost) {
            (Some(_), Some(_)) => {
                faults.push(format!("{name}: `margin` and `cost` are the same bound; say one of them"));
                None
            }
            (margin, cost) => margin.or(cost).or_else(|| usual(judge).map(Share)),
        };
        if margin.is_none() && judge.cost.is_none() {
            faults.push(format!("{name}: say the largest loss that is accepted, as `margin: 5%`"));
        }
        Some(Metric {
            name: name.clone(),
            from: judge.from.clone(),
            direction: judge.direction,
            margin: margin?.0,
            cost: judge.cost.is_some(),
            role: judge.role,
            warn: judge.warn,
            min_gain: judge.min_gain.map(|gain| gain.0),
            share: bench?.share.0,
            floor: floor(judge),
        })
    }
}

/// Whether a figure is a percentile, by the last part of its path: `p99`, `p99.9`.
fn percentile(from: &str) -> Option<f64> {
    let (_, last) = from.rsplit_once(".p")?;
    last.parse().ok()
}

fn floor(judge: &Judge) -> f64 {
    if percentile(&judge.from).is_some() { FLOOR_OF_PERCENTILES } else { FLOOR }
}

/// The usual margins: 5 % of throughput, 10 % of mean latency or of CPU for each operation, 15 % of a 99th percentile,
/// 25 % of a 99.9th.
fn usual(judge: &Judge) -> Option<f64> {
    match (judge.direction, percentile(&judge.from)) {
        (Direction::Higher, None) => Some(0.05),
        (Direction::Lower, Some(percentile)) if percentile > 99.0 => Some(0.25),
        (Direction::Lower, Some(_)) => Some(0.15),
        (Direction::Lower, None) => Some(0.10),
        (Direction::Higher, Some(_)) => None,
    }
}
