//! The decision: looks at the pairs one after the other, and ends as soon as they allow an answer.
//!
//! This is the one place that decides. A gate that runs, one that is replayed, the power computed beforehand and the
//! simulations that prove the procedure all go through [`Protocol::decide`].
use super::catastrophe::Catastrophe;
use super::distribution::normal_above;
use super::estimate::{Estimate, Pair};
use super::metric::Metric;
use super::schedule::{Bound, Schedule, Statistic};
use super::words::{Outcome, Role};
use serde::{Deserialize, Serialize};

/// From so many pairs on, a gate that cannot decide in any reasonable time ends.
const FUTILE_FROM: u32 = 16;
/// So many times the most pairs is beyond any reasonable time.
const FUTILE_BEYOND: f64 = 4.0;

/// How often a gate may err.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Errors {
    /// The risk of rolling back a change that costs nothing, per gate.
    pub rollback: f64,
    /// The risk of passing a loss as large as the margin, per metric.
    pub pass: f64,
}

impl Default for Errors {
    fn default() -> Self {
        Self { rollback: 0.005, pass: 0.05 }
    }
}

impl Errors {
    /// Half of both: what an extension or a later wave may spend.
    pub const fn halved(self) -> Self {
        Self { rollback: self.rollback / 2.0, pass: self.pass / 2.0 }
    }
}

/// All that is fixed before the first run.
#[derive(Clone, Debug)]
pub struct Protocol {
    rules: Vec<Rule>,
    bounds: Vec<Bound>,
    statistic: Statistic,
    /// The error that rolls back, per metric.
    rollback: f64,
}

/// One metric, as the decision sees it.
#[derive(Clone, Debug)]
struct Rule {
    bound: f64,
    gain: Option<f64>,
    floor: f64,
    primary: bool,
    warn: bool,
}

/// The pairs of one metric.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// In the order they were measured.
    pub pairs: Vec<Pair>,
    /// Why no number of pairs can pass this metric: too few completions for a percentile, or a figure that the tool
    /// cannot tell.
    pub lacks: Option<String>,
}

/// The pairs of one host that kept as it was, per metric, measured beside.
pub type Control = Vec<Series>;

/// What one look found of one metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// Neither.
    Open,
    /// A loss as large as the margin is ruled out.
    Pass,
    /// A loss is shown, and it is beyond half the margin.
    Regress,
    /// It cannot be judged.
    Lacking,
}

/// What became of a promised gain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// Not shown yet.
    Open,
    /// At least the promised gain.
    Shown,
    /// Less than the promised gain.
    Refuted,
}

/// One look at one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// After so many pairs.
    pub pairs: u32,
    /// The metric's place in the experiment.
    pub metric: usize,
    /// The estimate.
    pub estimate: Estimate,
    /// The lower end of its interval.
    pub lo: f64,
    /// The upper end.
    pub hi: f64,
    /// Nominal level of the lower end.
    pub pass_level: f64,
    /// Nominal level of the upper end.
    pub rollback_level: f64,
    /// The smallest loss that would very likely (95 %) have been shown at this look, as a difference in goodness.
    pub visible: f64,
    /// What it means.
    pub finding: Finding,
    /// What it means for the promised gain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// The control that differs from itself: the look decides nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clash: Option<usize>,
}

/// Where a gate stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// All looks so far.
    pub looks: Vec<Look>,
    /// What the rule of three pairs saw, per metric that it was asked of.
    pub catastrophes: Vec<(usize, Catastrophe)>,
    /// How it ends.
    pub end: Ending,
}

/// How a gate stands or ends.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// More pairs are needed.
    Open {
        /// Until the next look.
        pairs: u32,
    },
    /// It is decided.
    Decided {
        /// The answer.
        outcome: Outcome,
        /// Why.
        why: Why,
        /// After so many pairs.
        pairs: u32,
    },
}

/// Why the statistics end a gate. Metrics are named by their place.
#[derive(Clone, Debug, PartialEq)]
pub enum Why {
    /// Every metric is shown harmless, and every promised gain is shown.
    Harmless,
    /// A metric is shown to lose.
    Loss(usize),
    /// The rule of three pairs.
    Catastrophe(usize),
    /// It would take far too many pairs.
    Futile {
        /// The metric.
        metric: usize,
        /// Pairs it would take.
        needs: f64,
    },
    /// The last look came.
    Cap(usize),
    /// There are too few hosts for more than the rule of three pairs.
    FewHosts(usize),
    /// A metric cannot be judged.
    Lacking(usize),
    /// A control differed from itself at the last look.
    Clash(usize),
    /// Harmless, and the promised gain is not there.
    NoGain(usize),
}

impl Protocol {
    /// The protocol for these metrics. The risk of a rollback is shared by all metrics that can cause one; each may
    /// pass with the whole risk of a pass, since all of them must.
    pub fn new(metrics: &[Metric], errors: Errors, schedule: &Schedule) -> Self {
        let binding = metrics.iter().filter(|metric| !metric.warn).count().max(1);
        let rollback = errors.rollback / binding as f64;
        let rule = |metric: &Metric| Rule {
            bound: metric.bound(),
            gain: metric.gain(),
            floor: metric.floor,
            primary: metric.role == Role::Primary,
            warn: metric.warn,
        };
        Self {
            rules: metrics.iter().map(rule).collect(),
            bounds: schedule.bounds(rollback, errors.pass),
            statistic: schedule.statistic(),
            rollback,
        }
    }

    /// The pairs after which it first looks.
    pub fn first_look(&self) -> u32 {
        self.bounds.first().map_or(0, |bound| bound.pairs)
    }

    /// The most pairs.
    pub fn max_pairs(&self) -> u32 {
        self.bounds.last().map_or(0, |bound| bound.pairs)
    }

    /// The error that rolls back, per metric.
    pub const fn rollback_error(&self) -> f64 {
        self.rollback
    }

    /// Looks at the pairs, in order, until they allow an answer. `series` has one entry a metric.
    pub fn decide(&self, series: &[Series], controls: &[Control]) -> Course {
        let whole = series.iter().filter(|s| s.lacks.is_none()).map(|s| s.pairs.len()).min();
        let have = whole.unwrap_or(0);
        let mut course = Course {
            looks: Vec::new(),
            catastrophes: Vec::new(),
            end: Ending::Open { pairs: self.first_look() },
        };
        if whole.is_none() {
            course.end = Ending::Decided { outcome: Outcome::Inconclusive, why: Why::Lacking(0), pairs: 0 };
            return course;
        }
        if self.catastrophic(series, controls, have, &mut course) {
            return course;
        }
        let mut found = vec![Finding::Open; self.rules.len()];
        for (i, bound) in self.bounds.iter().enumerate() {
            course.end = Ending::Open { pairs: bound.pairs };
            if (bound.pairs as usize) > have {
                return course;
            }
            let clash = self.clash(controls, bound);
            let first = course.looks.len();
            for (metric, seen) in series.iter().enumerate().take(self.rules.len()) {
                if seen.lacks.is_some() {
                    found[metric] = Finding::Lacking;
                } else {
                    course.looks.push(self.look(metric, seen, bound, clash, &mut found[metric]));
                }
            }
            let last = i + 1 == self.bounds.len();
            if let Some((outcome, why)) = self.verdict(&course.looks[first..], &found, bound, last, clash) {
                course.end = Ending::Decided { outcome, why, pairs: bound.pairs };
                return course;
            }
        }
        course
    }

    /// The rule of three pairs, for what the change is about. A control that falls with it takes it back.
    fn catastrophic(
        &self,
        series: &[Series],
        controls: &[Control],
        have: usize,
        course: &mut Course,
    ) -> bool {
        for (metric, (rule, seen)) in self.rules.iter().zip(series).enumerate() {
            if !rule.primary || rule.warn || seen.lacks.is_some() {
                continue;
            }
            let Some(catastrophe) = Catastrophe::of_pairs(&seen.pairs[..have], rule.bound) else { continue };
            course.catastrophes.push((metric, catastrophe));
            let shared = controls.iter().filter_map(|control| control.get(metric)).any(|control| {
                Catastrophe::of_pairs(&control.pairs, rule.bound).is_some_and(|shared| shared.found)
            });
            if catastrophe.found && !shared {
                course.end =
                    Ending::Decided { outcome: Outcome::Regress, why: Why::Catastrophe(metric), pairs: 3 };
                return true;
            }
        }
        false
    }

    /// The first control that differs from itself at this look.
    fn clash(&self, controls: &[Control], bound: &Bound) -> Option<usize> {
        controls.iter().position(|control| {
            self.rules.iter().zip(control).any(|(rule, seen)| {
                seen.pairs.get(..bound.pairs as usize).is_some_and(|pairs| {
                    let estimate = Estimate::of(pairs, self.statistic, rule.floor);
                    estimate.effect.abs() > bound.clash * estimate.error
                })
            })
        })
    }

    fn look(
        &self,
        metric: usize,
        seen: &Series,
        bound: &Bound,
        clash: Option<usize>,
        found: &mut Finding,
    ) -> Look {
        let rule = &self.rules[metric];
        let estimate = Estimate::of(&seen.pairs[..bound.pairs as usize], self.statistic, rule.floor);
        let lo = estimate.effect - bound.lower * estimate.error;
        let hi = estimate.effect + bound.upper * estimate.error;
        // A pass stays one: the error of passing is promised for the first look that allows it.
        if *found != Finding::Pass && clash.is_none() {
            *found = finding(lo, hi, estimate.effect, rule.bound);
        }
        let claim = rule.gain.map(|gain| {
            if lo > gain {
                Claim::Shown
            } else if estimate.effect + bound.lower * estimate.error < gain {
                Claim::Refuted
            } else {
                Claim::Open
            }
        });
        Look {
            pairs: bound.pairs,
            metric,
            estimate,
            lo,
            hi,
            pass_level: bound.pass,
            rollback_level: bound.rollback,
            visible: (bound.upper + bound.power) * estimate.error,
            finding: *found,
            claim,
            clash,
        }
    }

    /// The answer after one look, if there is one.
    fn verdict(
        &self,
        looks: &[Look],
        found: &[Finding],
        bound: &Bound,
        last: bool,
        clash: Option<usize>,
    ) -> Option<(Outcome, Why)> {
        let inconclusive = |why| Some((Outcome::Inconclusive, why));
        if let Some(control) = clash {
            return if last { inconclusive(Why::Clash(control)) } else { None };
        }
        let binding = || (0..self.rules.len()).filter(|metric| !self.rules[*metric].warn);
        if let Some(metric) = binding().find(|metric| found[*metric] == Finding::Regress) {
            return Some((Outcome::Regress, Why::Loss(metric)));
        }
        let open = binding().find(|metric| found[*metric] == Finding::Open);
        let Some(metric) = open else {
            if let Some(metric) = binding().find(|metric| found[*metric] == Finding::Lacking) {
                return inconclusive(Why::Lacking(metric));
            }
            let claim = |state: Claim| {
                binding().find(|metric| at(looks, *metric).is_some_and(|look| look.claim == Some(state)))
            };
            return match (claim(Claim::Refuted), claim(Claim::Open)) {
                (Some(metric), _) => inconclusive(Why::NoGain(metric)),
                (None, Some(metric)) if last => inconclusive(Why::NoGain(metric)),
                (None, Some(_)) => None,
                (None, None) => Some((Outcome::Pass, Why::Harmless)),
            };
        };
        if last {
            return inconclusive(Why::Cap(metric));
        }
        if bound.pairs >= FUTILE_FROM {
            let beyond = FUTILE_BEYOND * f64::from(self.max_pairs());
            let hopeless = binding().filter(|metric| found[*metric] == Finding::Open).find_map(|metric| {
                let needs = self.needs(metric, &at(looks, metric)?.estimate);
                (needs > beyond).then_some(Why::Futile { metric, needs })
            });
            return hopeless.and_then(inconclusive);
        }
        None
    }

    /// Whether these pairs alone show a loss, however small, by the bounds of the look at so many pairs.
    pub fn loses(&self, metric: usize, pairs: &[Pair]) -> bool {
        let bound = self.bounds.iter().find(|bound| bound.pairs as usize == pairs.len());
        bound.zip(self.rules.get(metric)).is_some_and(|(bound, rule)| {
            let estimate = Estimate::of(pairs, self.statistic, rule.floor);
            estimate.effect + bound.upper * estimate.error < 0.0
        })
    }

    /// Pairs that would show a loss as large as the bound with 95 % probability, at the spread seen so far.
    pub fn needs(&self, metric: usize, estimate: &Estimate) -> f64 {
        let bound = self.rules[metric].bound;
        let z = normal_above(self.rollback) + normal_above(0.05);
        z * z * estimate.error * estimate.error * estimate.pairs as f64 / (bound * bound)
    }
}

/// The look at a metric among those of one time.
fn at(looks: &[Look], metric: usize) -> Option<&Look> {
    looks.iter().find(|look| look.metric == metric)
}

/// What an interval means.
pub(super) fn finding(lo: f64, hi: f64, effect: f64, bound: f64) -> Finding {
    if lo > -bound {
        Finding::Pass
    } else if hi < 0.0 && effect < -bound / 2.0 {
        Finding::Regress
    } else {
        Finding::Open
    }
}
