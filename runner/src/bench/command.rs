//! A command of one's own that prints JSON, and where in it the figures are.
use super::text::{check_status, complaint, documents, number, only};
use super::{Call, Driver, Measure, Output, Overwritten, Reading, Span, Unit, failed};
use crate::gate::{Direction, Fault};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// A command whose standard output holds a JSON object.
///
/// Figures: those that are named. `{seconds}` in an argument is replaced by the measured time, `{ramp}` by the ramp.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// The program and its arguments; no shell in between.
    pub argv: Vec<String>,
    /// Figures by name.
    pub figures: BTreeMap<String, Place>,
    /// The device, file or image whose content is lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<String>,
}

/// Where a figure stands in the JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Keys and numbers of elements with dots between: `jobs.0.read.iops`.
    pub path: String,
    /// What it counts in. Default: something of one's own.
    #[serde(default = "other")]
    pub unit: Unit,
    /// Which way it is better.
    pub direction: Direction,
}

const fn other() -> Unit {
    Unit::Other
}

impl Driver for Command {
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.argv.first().is_none_or(String::is_empty) {
            faults.push("`argv` names a program".into());
        }
        if self.figures.is_empty() {
            faults.push("`figures` names at least one".into());
        }
        faults
    }

    fn calls(&self, span: Span) -> Vec<Call> {
        let (ramp, measure) = span.seconds();
        let fill = |word: &String| {
            word.replace("{seconds}", &measure.to_string()).replace("{ramp}", &ramp.to_string())
        };
        vec![Call::new(self.argv.iter().map(fill).collect(), span.limit())]
    }

    fn read(&self, _: Span, outputs: &[Output]) -> Result<Reading, Fault> {
        let output = only("the command", outputs)?;
        check_status("the command", output)?;
        let (mut found, _) = documents(&output.stdout);
        let report = found
            .pop()
            .ok_or_else(|| failed(format!("the command printed no JSON: {}", complaint(output))))?;
        let mut reading = Reading::default();
        for (name, place) in &self.figures {
            let value = walk(&report, &place.path)
                .ok_or_else(|| failed(format!("the command's JSON has no number at {}", place.path)))?;
            let measure = match place.direction {
                Direction::Higher => Measure::higher(value, place.unit),
                Direction::Lower => Measure::lower(value, place.unit),
            };
            reading.put(name, measure);
        }
        Ok(reading)
    }

    fn overwrites(&self) -> Vec<Overwritten> {
        self.writes.iter().cloned().map(Overwritten::Path).collect()
    }
}

/// The number at a path of keys and numbers of elements.
fn walk(value: &Value, path: &str) -> Option<f64> {
    let step = |value: &Value, key: &str| match value {
        Value::Array(items) => items.get(key.parse::<usize>().ok()?).cloned(),
        other => other.get(key).cloned(),
    };
    number(path.split('.').try_fold(value.clone(), |value, key| step(&value, key)).as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const SPAN: Span = Span { ramp: Duration::from_secs(2), measure: Duration::from_secs(9) };

    fn command() -> Command {
        serde_json::from_str(
            r#"{"argv": ["load", "--for", "{seconds}"],
                "figures": {"rate": {"path": "runs.1.rate", "direction": "higher"}}}"#,
        )
        .unwrap()
    }

    fn read(stdout: &str) -> Result<Reading, Fault> {
        command().read(SPAN, &[Output { status: Some(0), stdout: stdout.into(), stderr: String::new() }])
    }

    #[test]
    fn a_path_leads_to_a_number_or_the_run_failed() {
        assert_eq!(command().calls(SPAN)[0].argv, ["load", "--for", "9"]);
        let reading = read("warming up\n{\"runs\": [{\"rate\": 1}, {\"rate\": \"7.5\"}]}\n").unwrap();
        assert_eq!(reading.number("rate"), Some(7.5));
        for text in ["", "no json", "{\"runs\": [{\"rate\": 1}]}", "{\"runs\": [0, {\"rate\": null}]}"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
