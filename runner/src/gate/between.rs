//! The decision for a change that cannot be taken off again: changed hosts beside hosts that kept as they were.
//!
//! The unit is the host. It repairs what is common to all hosts and nothing of what one host does on its own; so it
//! is the last choice, and later waves use it because the evidence is already there.
use super::catastrophe::Catastrophe;
use super::decide::{Claim, Course, Ending, Errors, Finding, Look, Why, finding};
use super::distribution::{mean, median, t_above};
use super::estimate::Estimate;
use super::metric::Metric;
use super::words::{Outcome, Role};

/// Hosts on each side below which only the rule of three pairs may decide.
pub const HOSTS: usize = 4;

/// One host before and after, in goodness: run by run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Before {
    /// Runs before.
    pub before: Vec<f64>,
    /// Runs after. On a control: of the same time, unchanged.
    pub after: Vec<f64>,
}

impl Before {
    fn change(&self) -> f64 {
        mean(&self.after) - mean(&self.before)
    }
}

/// All hosts for one metric.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sides {
    /// The changed hosts.
    pub changed: Vec<Before>,
    /// Those that kept as they were.
    pub kept: Vec<Before>,
    /// Why this metric cannot be judged.
    pub lacks: Option<String>,
}

/// What is known of the spread from earlier gates of the same kind of host, tool and job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// The variance of one host's change, in goodness.
    pub variance: f64,
    /// How many degrees of freedom it is worth; at most 20 count.
    pub df: f64,
}

/// Decides on hosts before and after, once.
pub fn decide(metrics: &[Metric], errors: Errors, sides: &[Sides], profile: Option<Profile>) -> Course {
    let mut course = Course { looks: Vec::new(), catastrophes: Vec::new(), end: Ending::Open { pairs: 0 } };
    let hosts = sides.iter().map(|side| side.changed.len().min(side.kept.len())).min().unwrap_or(0);
    let decided = |outcome, why| Ending::Decided { outcome, why, pairs: hosts as u32 };
    for (i, (metric, side)) in metrics.iter().zip(sides).enumerate() {
        if metric.role != Role::Primary || metric.warn || side.lacks.is_some() {
            continue;
        }
        let Some(seen) = catastrophe(side, metric.bound()) else { continue };
        course.catastrophes.push((i, seen));
        if seen.found {
            course.end = decided(Outcome::Regress, Why::Catastrophe(i));
            return course;
        }
    }
    let binding = |i: &usize| !metrics[*i].warn;
    let all = || (0..metrics.len().min(sides.len())).filter(binding);
    if let Some(i) = all().find(|i| sides[*i].lacks.is_some()) {
        course.end = decided(Outcome::Inconclusive, Why::Lacking(i));
        return course;
    }
    if hosts < HOSTS {
        course.end = decided(Outcome::Inconclusive, Why::FewHosts(hosts));
        return course;
    }
    let rollback = errors.rollback / all().count().max(1) as f64;
    for (i, (metric, side)) in metrics.iter().zip(sides).enumerate() {
        if side.lacks.is_none() {
            course.looks.push(look(i, metric, side, (rollback, errors.pass), profile));
        }
    }
    let (outcome, why) = answer(&course.looks, metrics);
    course.end = decided(outcome, why);
    course
}

fn answer(looks: &[Look], metrics: &[Metric]) -> (Outcome, Why) {
    let binding = || looks.iter().filter(|look| !metrics[look.metric].warn);
    if let Some(look) = binding().find(|look| look.finding == Finding::Regress) {
        return (Outcome::Regress, Why::Loss(look.metric));
    }
    if let Some(look) = binding().find(|look| look.finding != Finding::Pass) {
        return (Outcome::Inconclusive, Why::Cap(look.metric));
    }
    match binding().find(|look| look.claim.is_some_and(|claim| claim != Claim::Shown)) {
        Some(look) => (Outcome::Inconclusive, Why::NoGain(look.metric)),
        None => (Outcome::Pass, Why::Harmless),
    }
}

fn look(i: usize, metric: &Metric, side: &Sides, levels: (f64, f64), profile: Option<Profile>) -> Look {
    let (rollback, pass) = levels;
    let changes = |hosts: &[Before]| hosts.iter().map(Before::change).collect::<Vec<f64>>();
    let (changed, kept) = (changes(&side.changed), changes(&side.kept));
    let known = profile.map(|profile| (profile.variance, profile.df.min(20.0)));
    let estimate = Estimate::between(&changed, &kept, metric.floor, known);
    let lower = t_above(pass, estimate.df);
    let upper = t_above(rollback, estimate.df);
    let (lo, hi) = (estimate.effect - lower * estimate.error, estimate.effect + upper * estimate.error);
    let claim = metric.gain().map(|gain| {
        if lo > gain {
            Claim::Shown
        } else if estimate.effect + lower * estimate.error < gain {
            Claim::Refuted
        } else {
            Claim::Open
        }
    });
    Look {
        pairs: changed.len() as u32,
        metric: i,
        estimate,
        lo,
        hi,
        pass_level: pass,
        rollback_level: rollback,
        visible: (upper + t_above(0.05, estimate.df)) * estimate.error,
        finding: finding(lo, hi, estimate.effect, metric.bound()),
        claim,
        clash: None,
    }
}

/// The rule of three on the last three runs before and the first three after: medians over the changed hosts, less
/// those over the others.
fn catastrophe(side: &Sides, bound: f64) -> Option<Catastrophe> {
    let runs = |pick: fn(&Before) -> &[f64]| -> Option<Vec<f64>> {
        let at = |hosts: &[Before], i: usize| -> Vec<f64> {
            // Hosts differ in level; only what a run is against its own host's middle is compared.
            hosts.iter().filter_map(|host| Some(pick(host).get(i)? - median(&host.before))).collect()
        };
        let n = side.changed.iter().chain(&side.kept).map(|host| pick(host).len()).min()?;
        Some((0..n).map(|i| median(&at(&side.changed, i)) - median(&at(&side.kept, i))).collect())
    };
    let before = runs(|host| &host.before)?;
    let after = runs(|host| &host.after)?;
    Catastrophe::of(before.get(before.len().checked_sub(3)?..)?, after.get(..3)?, bound)
}

#[cfg(test)]
mod tests {
    use super::super::words::Direction;
    use super::*;

    fn host(level: f64, effect: f64, spread: f64) -> Before {
        let run = |i: i32| level + spread * f64::from(i % 3 - 1);
        Before { before: (0..4).map(run).collect(), after: (1..5).map(|i| run(i) + effect).collect() }
    }

    fn sides(hosts: u32, effect: f64) -> Vec<Sides> {
        let of =
            |effect: f64| move |i: u32| host(f64::from(i) * 0.3, effect + f64::from(i % 2) * 0.004, 0.01);
        vec![Sides {
            changed: (0..hosts).map(of(effect)).collect(),
            kept: (0..hosts).map(of(0.0)).collect(),
            lacks: None,
        }]
    }

    fn end(sides: &[Sides]) -> (Outcome, Why) {
        let metrics = [Metric::new("iops", "x.iops", Direction::Higher, 0.05)];
        match decide(&metrics, Errors::default(), sides, None).end {
            Ending::Decided { outcome, why, .. } => (outcome, why),
            Ending::Open { .. } => panic!("it decides once"),
        }
    }

    #[test]
    fn four_and_four_hosts_decide() {
        assert_eq!(end(&sides(4, 0.0)), (Outcome::Pass, Why::Harmless));
        assert_eq!(end(&sides(4, -0.09)), (Outcome::Regress, Why::Loss(0)));
    }

    #[test]
    fn fewer_hosts_decide_nothing_but_a_catastrophe() {
        assert_eq!(end(&sides(3, 0.0)), (Outcome::Inconclusive, Why::FewHosts(3)));
        assert_eq!(end(&sides(1, -0.36)), (Outcome::Regress, Why::Catastrophe(0)));
    }

    #[test]
    fn what_all_hosts_do_is_not_the_changes_doing() {
        let mut sides = sides(4, -0.36);
        for host in &mut sides[0].kept {
            host.after.iter_mut().for_each(|run| *run -= 0.36);
        }
        assert_eq!(end(&sides), (Outcome::Pass, Why::Harmless));
    }
}
