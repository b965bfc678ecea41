//! The answer of a gate and its reasons, as data that is stored and replayed.
use super::advice::Advice;
use super::catastrophe::Catastrophe;
use super::decide::{Finding, Look};
use super::gather::Repeats;
use super::words::Outcome;
use serde::{Deserialize, Serialize};

/// The answer of a gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// One of three.
    pub outcome: Outcome,
    /// Why.
    pub reason: Reason,
    /// Pairs it was decided on.
    pub pairs: u32,
    /// Runs that counted, on changed hosts.
    pub runs: u32,
    /// Runs that had to be repeated.
    pub repeats: Repeats,
    /// Each metric in one line.
    pub metrics: Vec<Judged>,
    /// Every look at every metric.
    pub looks: Vec<Look>,
    /// What the rule of three pairs saw, by metric.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub catastrophes: Vec<(String, Catastrophe)>,
    /// Controls that broke and were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_controls: Vec<String>,
    /// Hosts that lose on their own although the middle of all does not: never averaged away.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub losing_hosts: Vec<String>,
    /// Whether a later wave may go on: nothing was lost and no figure is missing.
    pub goes_on: bool,
    /// What would decide, where nothing is decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<Advice>,
}

/// One metric in one line. Changes are relative, of the figure itself: -0.076 is 7.6 % less.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// Its name.
    pub name: String,
    /// The middle figure without the change.
    pub a: Option<f64>,
    /// The middle figure with it.
    pub b: Option<f64>,
    /// The change.
    pub change: Option<Interval>,
    /// The largest change that is accepted: negative where more is better.
    pub margin: f64,
    /// The margin is a price that was accepted beforehand.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cost: bool,
    /// What was found of it.
    pub finding: Finding,
    /// It loses measurably and stays within the margin.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub measurable: bool,
    /// The promised gain and whether it was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain: Option<(f64, bool)>,
    /// Why it cannot be judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lacks: Option<String>,
}

/// A relative change with its interval, smaller first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The estimate.
    pub middle: f64,
    /// The smaller end.
    pub from: f64,
    /// The larger end.
    pub to: f64,
}

/// Why a gate ended as it did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Every metric is shown harmless; promised gains are shown.
    Harmless,
    /// A loss is shown.
    Loss {
        /// Of this metric.
        metric: String,
    },
    /// Every run with the change is far below every run without it.
    Catastrophe {
        /// Of this metric.
        metric: String,
        /// The relative gap between them.
        gap: f64,
    },
    /// Runs with the change fail, runs without it do not.
    Broken {
        /// On this host.
        host: String,
        /// How.
        what: String,
    },
    /// The last look came and a metric is still open.
    Cap {
        /// This one.
        metric: String,
    },
    /// It would take far too many pairs.
    Futile {
        /// This metric.
        metric: String,
        /// Pairs it would take.
        pairs: u64,
    },
    /// A metric cannot be judged.
    Lacking {
        /// This one.
        metric: String,
        /// Why.
        why: String,
    },
    /// A host that keeps as it is differs from itself: something common to all hosts interferes.
    Clash {
        /// This control.
        host: String,
    },
    /// Harmless, and less than the promised gain.
    NoGain {
        /// Of this metric.
        metric: String,
    },
    /// Too few hosts for more than the rule of three pairs.
    FewHosts {
        /// So many on the smaller side.
        hosts: u32,
        /// So many are needed.
        needs: u32,
    },
    /// An arm was not live.
    NotLive {
        /// On this host.
        host: String,
        /// Its place in the order.
        slot: u32,
        /// What was read instead.
        what: String,
    },
    /// A run could not be had.
    Invalid {
        /// On this host.
        host: String,
        /// Its place in the order.
        slot: u32,
        /// Why not.
        what: String,
    },
    /// Too many runs had to be repeated.
    Unstable,
    /// Harmless by its figures, and runs with the change had to be repeated far more often.
    Shaky,
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
    /// A host was not booted between two arms.
    NotBooted {
        /// This one.
        host: String,
    },
}

impl Reason {
    /// One sentence.
    pub fn text(&self) -> String {
        match self {
            Self::Harmless => "every metric is shown to lose less than its margin".into(),
            Self::Loss { metric } => format!("{metric} is shown to lose"),
            Self::Catastrophe { metric, gap } => {
                format!(
                    "{metric}: every run with the change lies {:.0} % or more beyond every run without it",
                    gap * 100.0
                )
            }
            Self::Broken { host, what } => {
                format!("with the change runs on {host} fail, without it none does: {what}")
            }
            Self::Cap { metric } => format!("{metric} is neither shown harmless nor shown to lose"),
            Self::Futile { metric, pairs } => {
                format!("{metric} would take about {pairs} pairs at this noise")
            }
            Self::Lacking { metric, why } => format!("{metric} cannot be judged: {why}"),
            Self::Clash { host } => {
                format!("{host}, which was not changed, differs from itself: something disturbs all hosts")
            }
            Self::NoGain { metric } => {
                format!("nothing is lost, and the promised gain of {metric} is not shown")
            }
            Self::FewHosts { hosts, needs } => {
                format!("{hosts} hosts on a side can only show a catastrophe; {needs} and {needs} are needed")
            }
            Self::NotLive { host, what, .. } => format!("the arm was not live on {host}: {what}"),
            Self::Invalid { host, what, .. } => format!("a run on {host} could not be had: {what}"),
            Self::Unstable => "more than a fifth of the runs had to be repeated".into(),
            Self::Shaky => {
                "the figures are good, and runs with the change had to be repeated far more often".into()
            }
            Self::Aborted { what } => format!("the load was stopped because it hurt others: {what}"),
            Self::OtherTool { host, what } => format!("runs on {host} cannot be compared: {what}"),
            Self::NotBooted { host } => format!("{host} was not booted between two arms"),
        }
    }
}
