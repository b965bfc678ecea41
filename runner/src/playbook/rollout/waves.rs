//! `rollout:` as people write it: canaries, waves, and what becomes of each answer.
use super::amounts::{Hosts, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a change goes from the first hosts to all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rollout {
    /// Who is first. Default: one host.
    #[serde(default)]
    pub canary: Canary,
    /// Hosts that keep as they are, as references, until the last wave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controls: Option<Hosts>,
    /// The hosts that are decided together, cumulative: `[4, 25%, 100%]`.
    pub waves: Vec<Wave>,
    /// How many of them are down at once. Default 1.
    #[serde(default = "one")]
    pub max_down: Hosts,
    /// What is never mixed within those that are down: a variable of hosts. Default: each host is its own.
    #[serde(default)]
    pub by: By,
    /// How long a wave is watched before the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soak: Option<Time>,
    /// Hosts that may fail before the rollout holds. Default none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_failures: Option<u32>,
    /// Hosts that may be out of reach before it holds. Default none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_unreachable: Option<Hosts>,
    /// When it may go forward. Undo goes at any hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<TimeWindow>,
    /// When changes are felt. Default now.
    #[serde(default)]
    pub activate: Activate,
    /// What becomes of a loss. Default: all that this run changed goes back.
    #[serde(default)]
    pub on_regress: OnRegress,
    /// What becomes of no answer. Default: back where nobody watches, hold at a terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_inconclusive: Option<OnInconclusive>,
    /// What becomes of a failed step. Default: that host goes back, and the rollout holds.
    #[serde(default)]
    pub on_error: OnError,
    /// A command on the controller that gets what became of the rollout, as JSON on its input.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on_event: Vec<String>,
}

const fn one() -> Hosts {
    Hosts::Count(1)
}

/// Who is first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Canary {
    /// So many, the first in the inventory's order.
    Count(Hosts),
    /// By name or pattern.
    Named {
        /// The hosts.
        hosts: Vec<String>,
    },
    /// One of each value of a variable: a hardware class, a rack.
    Per(CanaryPer),
}

impl Default for Canary {
    fn default() -> Self {
        Self::Count(Hosts::Count(1))
    }
}

/// One host of each value of a variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CanaryPer {
    /// The variable.
    pub one_per: String,
}

/// One wave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Wave {
    /// So many hosts, cumulative.
    Plain(Hosts),
    /// The same, with what is special about it.
    Special {
        /// So many hosts, cumulative.
        hosts: Hosts,
        /// Wait for a person before it: the question that is asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pause: Option<String>,
        /// How long it is watched.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        soak: Option<Time>,
        /// How many are down at once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_down: Option<Hosts>,
    },
}

impl Wave {
    /// So many hosts, cumulative.
    pub const fn hosts(&self) -> Hosts {
        match self {
            Self::Plain(hosts) | Self::Special { hosts, .. } => *hosts,
        }
    }
}

/// What is never mixed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct By(
    /// A variable of hosts, as `rack`; `host` for none.
    pub Option<String>,
);

/// When a rollout may go forward, in the controller's time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimeWindow {
    /// From this hour and minute: `"22:00"`.
    pub from: String,
    /// To this one; earlier than `from` is on the next day.
    pub to: String,
    /// On these days it begins: `[mon, tue]`. Default: every day.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub days: Vec<Day>,
}

/// A day of the week.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Day {
    /// Monday.
    Mon,
    /// Tuesday.
    Tue,
    /// Wednesday.
    Wed,
    /// Thursday.
    Thu,
    /// Friday.
    Fri,
    /// Saturday.
    Sat,
    /// Sunday.
    Sun,
}

/// When changes are felt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Activate {
    /// In the rollout.
    #[default]
    Now,
    /// Written at any hour; restarts, power cycles and boots in the window, else owed. No gate can stand over it.
    Window,
    /// By somebody else: they are written, and owed until seen live. No gate can stand over it.
    Later,
}

/// What becomes of a loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnRegress {
    /// All that this run changed goes back.
    #[default]
    Run,
    /// What this wave changed goes back.
    Wave,
    /// Nothing moves until a person says so.
    Hold,
}

/// What becomes of no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnInconclusive {
    /// Nothing moves until a person says so.
    Hold,
    /// All that this run changed goes back.
    Run,
    /// It goes on, and the report says so.
    Accept,
}

/// What becomes of a failed step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnError {
    /// That host goes back, and nothing else moves.
    #[default]
    Hold,
    /// What this wave changed goes back.
    Wave,
    /// All that this run changed goes back.
    Run,
}
