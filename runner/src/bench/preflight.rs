//! Whether a cluster and a host are fit to be measured. What cannot be told is not available, and never a failure.
use super::text::number_at;
use serde_json::Value;

/// Why a cluster is not fit to be measured, by its `ceph status`. `allowed` names health codes that may stand; muted
/// ones may as well. Empty where it is fit.
pub fn cluster(status: &Value, allowed: &[String]) -> Vec<String> {
    let mut why = Vec::new();
    let checks = status.get("health").and_then(|health| health.get("checks")).and_then(Value::as_object);
    for (code, check) in checks.into_iter().flatten() {
        let muted = check.get("muted") == Some(&Value::Bool(true));
        if !muted && !allowed.contains(code) {
            let message =
                check.get("summary").and_then(|summary| summary.get("message")).and_then(Value::as_str);
            why.push(format!("{code}: {}", message.unwrap_or("no summary")));
        }
    }
    let states = status.get("pgmap").and_then(|map| map.get("pgs_by_state")).and_then(Value::as_array);
    let Some(states) = states else {
        why.push("the status tells no placement groups".into());
        return why;
    };
    for state in states {
        let name = state.get("state_name").and_then(Value::as_str).unwrap_or("unknown");
        let count = number_at(state, &["count"]).unwrap_or(0.0);
        if name != "active+clean" && count > 0.0 {
            let what = if name.contains("scrubbing") { "a scrub is running" } else { "not clean" };
            why.push(format!("{count} placement groups are {name}: {what}"));
        }
    }
    why
}

/// What is known of a host that loads or is loaded. Nothing where no sensor tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Surroundings {
    /// Bytes that the benchmark uses.
    pub target: Option<u64>,
    /// Bytes of memory and caches that could hold them.
    pub cache: Option<u64>,
    /// The benchmark goes past the page cache.
    pub direct: bool,
    /// The share of the target that was ever written.
    pub written: Option<f64>,
    /// The share of processor time that the hypervisor kept.
    pub steal: Option<f64>,
    /// Whether the processor was slowed down.
    pub throttled: Option<bool>,
    /// Degrees that the device is warmer than at the first run.
    pub warmer: Option<f64>,
}

/// What a reader of the figures must know, and what makes a run not count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fitness {
    /// The run does not count.
    pub unfit: Vec<String>,
    /// It counts, and this is said.
    pub notes: Vec<String>,
    /// What no sensor told.
    pub not_available: Vec<&'static str>,
}

impl Surroundings {
    /// Judges them. `steal_max` is the largest share of stolen time.
    pub fn judge(&self, steal_max: f64) -> Fitness {
        let mut fitness = Fitness::default();
        let mut sensor = |known: bool, name: &'static str| {
            if !known {
                fitness.not_available.push(name);
            }
        };
        sensor(self.written.is_some(), "how much of the target was written");
        sensor(self.steal.is_some(), "stolen time");
        sensor(self.throttled.is_some(), "throttling");
        sensor(self.warmer.is_some(), "temperature of the device");
        if let (Some(target), Some(cache)) = (self.target, self.cache)
            && target < cache
            && !self.direct
        {
            let note = "the target fits into memory: caches are measured, not devices".to_owned();
            fitness.notes.push(note);
        }
        if self.written.is_some_and(|written| written < 0.99) {
            fitness
                .unfit
                .push("blocks that were never written are read from nowhere: fill the target first".into());
        }
        if self.steal.is_some_and(|steal| steal > steal_max) {
            let percent = self.steal.unwrap_or_default() * 100.0;
            fitness.unfit.push(format!("the hypervisor kept {percent:.1} % of the processor's time"));
        }
        if self.throttled == Some(true) {
            fitness.unfit.push("the processor was slowed down".into());
        }
        if self.warmer.is_some_and(|degrees| degrees.abs() > 5.0) {
            fitness.unfit.push("the device is more than 5 degrees from the first run".into());
        }
        fitness
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sensors_that_are_not_there_are_named_and_fail_nothing() {
        let blind = Surroundings::default().judge(0.02);
        assert_eq!((blind.unfit.len(), blind.not_available.len()), (0, 4));
        let bad = Surroundings {
            target: Some(1 << 30),
            cache: Some(1 << 34),
            direct: false,
            written: Some(0.4),
            steal: Some(0.10),
            throttled: Some(true),
            warmer: Some(-7.0),
        };
        let bad = bad.judge(0.02);
        assert_eq!((bad.unfit.len(), bad.notes.len(), bad.not_available.len()), (4, 1, 0), "{bad:?}");
    }
}
