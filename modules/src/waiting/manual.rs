//! `manual`: what a person must do by hand, and the probe that tells whether it is done.
use crate::host::Host;
use crate::module::{Module, Sample};
use crate::vocabulary::{Change, Diff, Facts, Goal, Output, Row, Seen, Stop, Wait};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// What a person must do by hand, such as a setting of the firmware, and the probe that tells whether it is done.
///
/// Where `verify` ends well (and `expect` matches its output) nothing is left to do. Else the plan shows the
/// instructions, and the run waits for the probe, or, without `verify`, for a person who says that it is done.
/// What was done by hand has no way back here.
///
/// `timeout` is seconds. Errors: empty instructions.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Manual {
    /// What to do, as a person reads it.
    pub instructions: String,
    /// Shell text that only looks; it ends with 0 where the work is done.
    #[serde(default)]
    pub verify: Option<String>,
    /// A pattern that the output of `verify` must match as well.
    #[serde(default)]
    pub expect: Option<String>,
    /// How long the run waits at most.
    #[serde(default = "an_hour")]
    pub timeout: u32,
}

fn an_hour() -> u32 {
    3600
}

impl Manual {
    fn goal(&self) -> Goal {
        match &self.verify {
            Some(verify) => {
                Goal::Answer { row: Row::new("probe-shell", [verify]), search: self.expect.clone() }
            }
            None => Goal::Said,
        }
    }
}

impl Module for Manual {
    const NAME: &'static str = "manual";
    const EXAMPLE: &'static str = "\
- name: Virtual functions of the network card
  manual:
    instructions: Set SR-IOV to Enabled in the firmware of the network card.
    verify: test -e /sys/class/net/eth0/device/sriov_totalvfs
";

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        if self.instructions.trim().is_empty() {
            return Err(Stop::refused("instructions", "nobody can follow empty instructions"));
        }
        let goal = self.goal();
        let done = goal.is_met(facts)?;
        let mut change = Change::nothing(json!({ "done": done, "instructions": self.instructions }));
        if !done {
            change.diff.push(Diff::Note(format!("by hand: {}", self.instructions.trim())));
            change.notes.push("what is done by hand has no way back here".to_owned());
            let message = Some(self.instructions.clone());
            change.wait = Some(Wait { goal, timeout: self.timeout, delay: 0, sleep: 5, settle: 0, message });
        }
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        let host = Host::new().answer(Row::new("probe-shell", ["true"]), Seen::Output(Output::ok("")));
        let args = json!({ "instructions": "Close the lid.", "verify": "true" });
        vec![Sample { about: "it is done", args, host, calls: Vec::new() }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{planned, refusal};

    #[test]
    fn the_probe_decides() {
        let host = Host::new().answer(Row::new("probe-shell", ["x"]), Seen::Output(Output::ok("sriov 8\n")));
        let done = json!({ "instructions": "do", "verify": "x", "expect": "^sriov" });
        assert!(planned::<Manual>(&host, done).wait.is_none());
        let open = json!({ "instructions": "do", "verify": "x", "expect": "^no" });
        assert!(matches!(planned::<Manual>(&host, open).wait.unwrap().goal, Goal::Answer { .. }));
        assert!(matches!(
            planned::<Manual>(&host, json!({ "instructions": "do" })).wait.unwrap().goal,
            Goal::Said
        ));
        assert!(refusal::<Manual>(&host, json!({ "instructions": " " })).contains("empty"));
    }
}
