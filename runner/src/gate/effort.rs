//! What a gate costs in time, what it can see, and the cheaper ones: for the plan, before anything runs.
use super::experiment::Experiment;
use super::metric::Metric;
use super::noise::Noise;
use super::words::{Reach, Toggle};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long the parts of a run take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// After an arm was put on.
    pub settle: Duration,
    /// Load that is not counted.
    pub ramp: Duration,
    /// Load that is.
    pub measure: Duration,
    /// One boot or power cycle, until the host serves again.
    pub boot: Duration,
    /// Putting an arm on and reading it back.
    pub toggle: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            settle: seconds(5),
            ramp: seconds(20),
            measure: seconds(60),
            boot: seconds(300),
            toggle: seconds(5),
        }
    }
}

impl Timing {
    /// One run of `benchmarks` that load one after the other.
    pub fn run(&self, benchmarks: u32) -> Duration {
        self.settle + self.toggle + (self.ramp + self.measure) * benchmarks.max(1)
    }
}

/// What a gate costs and can see.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effort {
    /// The design in words.
    pub design: String,
    /// The least time: decided at the first look.
    pub least: Duration,
    /// The most time.
    pub most: Duration,
    /// Runs at most, on all hosts.
    pub runs: u32,
    /// Boots or power cycles.
    pub boots: u32,
    /// The smallest relative loss that it would very likely show, by metric; where the noise is known.
    pub visible: Vec<(String, f64)>,
}

/// What an experiment costs, and what it can see with this noise.
pub fn effort(experiment: &Experiment, timing: &Timing, benchmarks: u32, noise: &[Option<Noise>]) -> Effort {
    let schedule = experiment.schedule();
    let looks = schedule.looks();
    let hosts = (experiment.canaries.len() + experiment.controls.len()).max(1) as u32;
    let run = timing.run(benchmarks);
    let slots = experiment.slots();
    let boots = experiment.boots();
    // Hosts are measured at the same time and booted one after the other.
    let most = run * slots + timing.boot * boots;
    let least = match (experiment.toggle, looks.first()) {
        (Toggle::Runtime, Some(first)) => run * (2 * first),
        _ => most,
    };
    let rollback = experiment.budget().rollback / experiment.metrics.len().max(1) as f64;
    let visible = experiment.metrics.iter().zip(noise).filter_map(|(metric, noise)| {
        let pairs = schedule.max_pairs();
        let seen = shown_by(experiment, metric, noise.as_ref()?).visible(pairs, &schedule, rollback);
        Some((metric.name.clone(), metric.direction.relative(-seen).abs()))
    });
    Effort { design: design(experiment), least, most, runs: slots * hosts, boots, visible: visible.collect() }
}

/// The noise of one unit: several hosts of a slot are one pair, their median is calmer than one. Nothing is calmer than
/// the floor below which differences are not told apart.
fn shown_by(experiment: &Experiment, metric: &Metric, noise: &Noise) -> Noise {
    let calmer = match experiment.toggle {
        Toggle::Runtime => (experiment.canaries.len().max(1) as f64).sqrt(),
        Toggle::Reboot | Toggle::Guest | Toggle::None => (f64::from(experiment.runs_each.max(1))).sqrt(),
    };
    Noise { pair_sd: (noise.pair_sd / calmer).max(metric.floor), ..*noise }
}

fn design(experiment: &Experiment) -> String {
    let hosts = experiment.canaries.len();
    let plural = if hosts == 1 { "host" } else { "hosts" };
    match experiment.toggle {
        Toggle::Runtime => format!("up to {} pairs of runs on {hosts} {plural}", experiment.max_pairs),
        Toggle::Reboot | Toggle::Guest => {
            let of = if experiment.toggle == Toggle::Reboot { "boots" } else { "power cycles" };
            format!(
                "{} pairs of {of} on {hosts} {plural}, {} runs each",
                experiment.max_pairs, experiment.runs_each
            )
        }
        Toggle::None => format!(
            "{} runs before and after on {hosts} {plural} beside {}",
            experiment.runs_each,
            experiment.controls.len()
        ),
    }
}

/// Cheaper designs of the same experiment, the dearest first.
pub fn cheaper(
    experiment: &Experiment,
    timing: &Timing,
    benchmarks: u32,
    noise: &[Option<Noise>],
) -> Vec<Effort> {
    let mut designs = Vec::new();
    let mut offer = |change: &dyn Fn(&mut Experiment)| {
        let mut other = experiment.clone();
        change(&mut other);
        if other != *experiment && other.faults().is_empty() {
            designs.push(effort(&other, timing, benchmarks, noise));
        }
    };
    match experiment.toggle {
        Toggle::Runtime => {
            for pairs in [16, 12, 6] {
                offer(&|other| other.max_pairs = other.max_pairs.min(pairs));
            }
        }
        Toggle::Reboot | Toggle::Guest => {
            for (hosts, pairs) in [(4, 2), (2, 2), (1, 3)] {
                offer(&|other| {
                    other.canaries.truncate(hosts);
                    other.max_pairs = other.max_pairs.min(pairs);
                });
            }
        }
        Toggle::None => offer(&|other| other.runs_each = 3),
    }
    designs.dedup();
    let now = effort(experiment, timing, benchmarks, noise).most;
    designs.retain(|design| design.most < now);
    designs.sort_by_key(|design| std::cmp::Reverse(design.most));
    designs
}

/// Why this gate must not be planned, if so: it promises to see a loss that it cannot see.
///
/// `noise` has one entry a metric; nothing where it was never measured.
pub fn refusals(experiment: &Experiment, noise: &[Option<Noise>]) -> Vec<String> {
    let mut refusals = experiment.faults();
    refusals.extend(blind_spots(experiment, noise));
    if experiment.toggle == Toggle::None && experiment.canaries.len().min(experiment.controls.len()) < 4 {
        let why = if experiment.reach == Reach::Cluster {
            "a cluster has no controls"
        } else {
            "4 and 4 are needed"
        };
        refusals.push(format!(
            "{} changed hosts beside {} others can only show a catastrophe ({why}); toggle it, or add hosts",
            experiment.canaries.len(),
            experiment.controls.len()
        ));
    }
    refusals
}

/// The losses that an experiment promises to see and cannot see, in words; `noise` as of [`refusals`].
pub fn blind_spots(experiment: &Experiment, noise: &[Option<Noise>]) -> Vec<String> {
    let schedule = experiment.schedule();
    let binding = experiment.metrics.iter().filter(|metric| !metric.warn).count().max(1);
    let rollback = experiment.budget().rollback / binding as f64;
    let mut blind_spots = Vec::new();
    for (metric, noise) in experiment.metrics.iter().zip(noise).filter(|(metric, _)| !metric.warn) {
        blind_spots.extend(blind(experiment, metric, noise.as_ref(), |noise| {
            shown_by(experiment, metric, noise).visible(schedule.max_pairs(), &schedule, rollback)
        }));
    }
    blind_spots
}

fn blind(
    experiment: &Experiment,
    metric: &Metric,
    noise: Option<&Noise>,
    visible: impl Fn(&Noise) -> f64,
) -> Option<String> {
    let percent = |loss: f64| format!("{:.2} %", loss * 100.0);
    let bound = metric.margin * metric.share;
    let dilution = (metric.share < 1.0).then(|| {
        format!(
            "the changed hosts serve {} of the load, so a loss of {} shows as {}",
            percent(metric.share),
            percent(metric.margin),
            percent(bound)
        )
    });
    let Some(noise) = noise else {
        // Without a share the gate finds out by itself whether it can see; with one it would look as if nothing happened.
        return dilution.map(|dilution| {
            format!("{}: {dilution}; measure the noise first (`tunerun gate calibrate`)", metric.name)
        });
    };
    let seen = metric.direction.relative(-visible(noise)).abs();
    if seen <= bound {
        return None;
    }
    let because = dilution.map(|dilution| format!("{dilution}, and ")).unwrap_or_default();
    Some(format!(
        "{}: {because}{} pairs at this noise ({} between runs) show a loss of {} at the least; aim the benchmark at the \
         changed hosts, take more of them, longer runs, or a larger margin",
        metric.name,
        experiment.schedule().max_pairs(),
        percent(noise.run_sd()),
        percent(seen)
    ))
}

#[cfg(test)]
mod tests {
    use super::super::words::Direction;
    use super::*;

    fn experiment() -> Experiment {
        Experiment::new("g", "h1", vec![Metric::new("iops", "x.iops", Direction::Higher, 0.05)], 1)
    }

    #[test]
    fn a_share_that_no_noise_can_show_is_refused() {
        let mut one = experiment();
        let noise = [Some(Noise::between_runs(0.02))];
        assert!(refusals(&one, &noise).is_empty());
        one.metrics[0].share = 1.0 / 40.0;
        let told = refusals(&one, &noise).join("\n");
        assert!(told.contains("serve 2.50 % of the load, so a loss of 5.00 % shows as 0.1"), "{told}");
        assert!(refusals(&one, &[None]).join("").contains("gate calibrate"));
    }

    #[test]
    fn noise_larger_than_the_margin_is_refused() {
        let told = refusals(&experiment(), &[Some(Noise::between_runs(0.2))]).join("\n");
        assert!(told.contains("24 pairs at this noise (20.00 % between runs)"), "{told}");
    }

    #[test]
    fn cheaper_designs_say_what_they_see() {
        let noise = [Some(Noise::between_runs(0.02))];
        let full = effort(&experiment(), &Timing::default(), 1, &noise);
        assert_eq!(full.most, Duration::from_secs(48 * 90));
        assert_eq!(full.least, Duration::from_secs(12 * 90));
        let less = cheaper(&experiment(), &Timing::default(), 1, &noise);
        assert_eq!(less.len(), 3, "{less:?}");
        assert!(less.windows(2).all(|w| w[0].most > w[1].most && w[0].visible[0].1 < w[1].visible[0].1));
    }
}
