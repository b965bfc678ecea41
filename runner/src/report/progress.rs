//! How a rollout and its gates come on, as plain data, and in lines.
use super::paint::Paint;
use crate::gate::so_far::SoFar;
use crate::gate::{Arm, Outcome};
use serde::Serialize;
use std::time::Duration;

/// One thing that happened in a rollout.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "progress", content = "of", rename_all = "snake_case")]
pub enum Progress {
    /// Hosts that are decided together begin.
    WaveBegan {
        /// Its number, from 1.
        number: usize,
        /// How many there are.
        of: usize,
        /// Its hosts.
        hosts: Vec<String>,
    },
    /// It waits.
    Waited {
        /// For what.
        on: String,
    },
    /// An experiment begins.
    GateBegan {
        /// What is judged.
        change: String,
        /// Its design in words.
        design: String,
        /// The least time.
        least: Duration,
        /// The most time.
        most: Duration,
    },
    /// No experiment is needed.
    NothingToJudge {
        /// Why.
        why: String,
    },
    /// One run was measured, or failed.
    Measured {
        /// On this host.
        host: String,
        /// Its number, from 1.
        run: u32,
        /// The arm.
        arm: Arm,
        /// The figures that are judged, by the metric's name, with their units.
        figures: Vec<(String, String)>,
        /// The same figures as numbers.
        numbers: Vec<(String, f64)>,
        /// Why it does not count, if it does not.
        fault: Option<String>,
    },
    /// How far an experiment has come: for those who look on.
    SoFar(Vec<SoFar>),
    /// An experiment has its answer.
    Judged {
        /// The answer.
        outcome: Outcome,
        /// The report in lines.
        report: String,
        /// What becomes of it, in words.
        action: String,
    },
    /// Hosts are taken back.
    RollsBack {
        /// These.
        hosts: Vec<String>,
        /// Why.
        why: String,
    },
    /// What else a person should know.
    Noted(String),
}

impl Progress {
    /// As it is told.
    pub fn text(&self, paint: Paint) -> String {
        match self {
            Self::WaveBegan { number, of, hosts } => {
                let names: Vec<&str> = hosts.iter().map(String::as_str).collect();
                format!("wave {number} of {of}: {}", super::plan::shortened(&names))
            }
            Self::Waited { on } => format!("waits for {on}"),
            Self::GateBegan { change, design, least, most } => {
                format!("gate {change}: {design}, {}", span(*least, *most))
            }
            Self::NothingToJudge { why } => format!("gate: nothing to judge: {why}"),
            Self::SoFar(_) => String::new(),
            Self::Measured { host, run, arm, figures, numbers: _, fault } => {
                let side = match arm {
                    Arm::A => "without",
                    Arm::B => "with",
                };
                let words = match fault {
                    Some(fault) => format!("{} {fault}", paint.bad("does not count:")),
                    None => figures
                        .iter()
                        .map(|(name, figure)| format!("{name} {figure}"))
                        .collect::<Vec<_>>()
                        .join(", "),
                };
                format!("  run {run} on {host}, {side}: {words}")
            }
            Self::Judged { outcome, report, action } => {
                let mut lines = report.trim_end().lines();
                let first = lines.next().unwrap_or_default();
                let first = match outcome {
                    Outcome::Pass => paint.good(first),
                    Outcome::Regress => paint.bad(first),
                    Outcome::Inconclusive => paint.mark(first),
                };
                let rest: String = lines.map(|line| format!("\n{line}")).collect();
                format!("{first}{rest}\n  -> {action}")
            }
            Self::RollsBack { hosts, why } => {
                let names: Vec<&str> = hosts.iter().map(String::as_str).collect();
                format!("{}: {} ({why})", paint.bad("rolling back"), super::plan::shortened(&names))
            }
            Self::Noted(words) => words.clone(),
        }
    }
}

/// A time as people say it: to the second below two minutes, to the minute above.
pub fn time(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// From the least to the most time.
pub fn span(least: Duration, most: Duration) -> String {
    if least == most { format!("about {}", time(most)) } else { format!("{} to {}", time(least), time(most)) }
}
