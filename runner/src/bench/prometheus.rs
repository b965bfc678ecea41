//! A query of Prometheus: figures of anything that is watched already. It loads nothing.
use super::text::{complaint, documents, number};
use super::{Call, Driver, Measure, Output, Reading, Span, Unit, words};
use crate::gate::{Direction, Fault};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;

/// One query, asked at the end of the measured time.
///
/// Figure: `value`. Use `rate(…[{seconds}s])` so that the query covers the run and nothing else. No answer, an empty
/// one and NaN are not available: never zero, and never a failure. Source: Prometheus' HTTP API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prometheus {
    /// Where it answers: `http://prometheus:9090`.
    pub url: String,
    /// The query. `{seconds}` is replaced by the measured time.
    pub query: String,
    /// Which way it is better.
    pub direction: Direction,
    /// What it counts in. Default: something of one's own.
    #[serde(default = "other")]
    pub unit: Unit,
    /// What becomes of several series. Default: their sum.
    #[serde(default)]
    pub fold: Fold,
}

/// What becomes of several series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Fold {
    /// Added up.
    #[default]
    Sum,
    /// Their mean.
    Mean,
    /// The largest.
    Max,
}

const fn other() -> Unit {
    Unit::Other
}

impl Driver for Prometheus {
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if !self.url.starts_with("http://") && !self.url.starts_with("https://") {
            faults.push(format!("`url` begins with http:// or https://, not {:?}", self.url));
        }
        if self.query.trim().is_empty() {
            faults.push("`query` is empty".into());
        }
        faults
    }

    fn calls(&self, span: Span) -> Vec<Call> {
        let (_, measure) = span.seconds();
        let query = self.query.replace("{seconds}", &measure.to_string());
        let mut argv = words(["curl", "--silent", "--show-error", "--max-time", "20", "--get"]);
        argv.push(format!("{}/api/v1/query", self.url.trim_end_matches('/')));
        argv.extend(["--data-urlencode".into(), format!("query={query}")]);
        vec![Call::new(argv, Duration::from_secs(30))]
    }

    fn read(&self, _: Span, outputs: &[Output]) -> Result<Reading, Fault> {
        let mut reading = Reading::default();
        let measure = match self.value(outputs.first()) {
            Ok(value) if self.direction == Direction::Higher => Measure::higher(value, self.unit),
            Ok(value) => Measure::lower(value, self.unit),
            Err(why) => Measure::not_available(why, self.unit, Some(self.direction)),
        };
        reading.put("value", measure);
        Ok(reading)
    }

    fn loads(&self) -> bool {
        false
    }
}

impl Prometheus {
    fn value(&self, output: Option<&Output>) -> Result<f64, String> {
        let output = output.ok_or("it was not asked")?;
        let Some(answer) = documents(&output.stdout).0.pop() else {
            return Err(format!("no answer: {}", complaint(output)));
        };
        if answer.get("status").and_then(Value::as_str) != Some("success") {
            let why = answer.get("error").and_then(Value::as_str).unwrap_or("no success");
            return Err(format!("it answered: {why}"));
        }
        let result = answer.get("data").and_then(|data| data.get("result"));
        // A scalar is [time, "value"]; a vector holds such pairs under `value`.
        let pair = |pair: &Value| number(pair.get(1));
        let values: Vec<f64> = match result.and_then(Value::as_array) {
            Some(items) if items.iter().all(Value::is_object) => {
                items.iter().filter_map(|item| pair(item.get("value")?)).collect()
            }
            Some(_) => result.and_then(pair).into_iter().collect(),
            None => Vec::new(),
        };
        if values.is_empty() {
            return Err("the query gives no series, or NaN".into());
        }
        let sum: f64 = values.iter().sum();
        Ok(match self.fold {
            Fold::Sum => sum,
            Fold::Mean => sum / values.len() as f64,
            Fold::Max => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::Figure;

    fn read(stdout: &str) -> Figure {
        let asked: Prometheus = serde_json::from_str(
            r#"{"url": "http://p:9090/", "query": "rate(x[{seconds}s])", "direction": "lower"}"#,
        )
        .unwrap();
        let span = Span { ramp: Duration::ZERO, measure: Duration::from_secs(60) };
        let argv = &asked.calls(span)[0].argv;
        assert_eq!(argv[6..], ["http://p:9090/api/v1/query", "--data-urlencode", "query=rate(x[60s])"]);
        let output =
            Output { status: Some(0), stdout: stdout.into(), stderr: "curl: (7) Failed to connect".into() };
        asked.read(span, &[output]).unwrap().figures["value"].figure.clone()
    }

    #[test]
    fn what_is_not_there_is_not_available() {
        let vector = r#"{"status":"success","data":{"resultType":"vector","result":[
            {"metric":{"a":"1"},"value":[1700000000.1,"2.5"]},{"metric":{"a":"2"},"value":[1700000000.1,"1.5"]}]}}"#;
        assert_eq!(read(&vector.replace('\n', "")), Figure::Number(4.0));
        let scalar = r#"{"status":"success","data":{"resultType":"scalar","result":[1700000000.1,"7"]}}"#;
        assert_eq!(read(scalar), Figure::Number(7.0));
        for text in [
            "",
            r#"{"status":"error","errorType":"bad_data","error":"parse error"}"#,
            r#"{"status":"success","data":{"resultType":"vector","result":[]}}"#,
            r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"NaN"]}]}}"#,
        ] {
            assert!(matches!(read(text), Figure::NotAvailable { .. }), "{text}");
        }
    }
}
