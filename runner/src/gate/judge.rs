//! From an experiment and its runs to the next run or the answer. A pure function: the same runs give the same answer.
use super::advice::advise;
use super::assemble::{controls, figure, hosts, series, sides};
use super::between::{self, Profile};
use super::catastrophe::Catastrophe;
use super::decide::{Claim, Course, Ending, Finding, Look, Protocol, Why};
use super::distribution::median;
use super::experiment::Experiment;
use super::gather::{Gathered, Stop, Wanted, gather};
use super::metric::Metric;
use super::run::Run;
use super::verdict::{Interval, Judged, Reason, Verdict};
use super::words::{Arm, Direction, Outcome, Toggle};

/// Where a gate stands.
#[derive(Clone, Debug, PartialEq)]
pub enum Judgement {
    /// These runs are wanted next; they belong to one slot.
    Wants(Vec<Wanted>),
    /// The answer.
    Answer(Box<Verdict>),
}

/// Judges the runs made so far, in the order they were made.
pub fn judge(experiment: &Experiment, runs: &[Run]) -> Judgement {
    let gathered = gather(experiment, runs);
    let errors = experiment.budget();
    let protocol = Protocol::new(&experiment.metrics, errors, &experiment.schedule());
    let controls = controls(experiment, &gathered);
    let course = match experiment.toggle {
        Toggle::None if gathered.slots < experiment.slots() => None,
        Toggle::None => {
            let profile = experiment.profile.map(|(variance, df)| Profile { variance, df });
            let sides = sides(experiment, &gathered);
            Some(between::decide(&experiment.metrics, errors, &sides, profile))
        }
        Toggle::Runtime | Toggle::Reboot | Toggle::Guest => {
            let monitors: Vec<_> = controls.iter().map(|(_, control)| control.clone()).collect();
            Some(protocol.decide(&series(experiment, &gathered), &monitors))
        }
    };
    if let Some(void) = &gathered.void {
        let (outcome, reason) = stopped(void);
        return answer(experiment, &protocol, &gathered, None, (outcome, reason, gathered.slots / 2));
    }
    // What was decided on earlier pairs is not undone by a run that failed later.
    if let Some(Course { end: Ending::Decided { outcome, why, pairs }, .. }) = &course {
        let mut outcome = *outcome;
        let mut reason = reason(experiment, &gathered, &controls, why, course.as_ref());
        if outcome == Outcome::Pass && gathered.repeats.shaky() {
            (outcome, reason) = (Outcome::Inconclusive, Reason::Shaky);
        }
        return answer(experiment, &protocol, &gathered, course.as_ref(), (outcome, reason, *pairs));
    }
    if let Some(stop) = &gathered.stop {
        let (outcome, reason) = stopped(stop);
        let pairs = gathered.slots / 2;
        return answer(experiment, &protocol, &gathered, course.as_ref(), (outcome, reason, pairs));
    }
    Judgement::Wants(gathered.next)
}

fn stopped(stop: &Stop) -> (Outcome, Reason) {
    let reason = match stop.clone() {
        Stop::Broken { host, what } => return (Outcome::Regress, Reason::Broken { host, what }),
        Stop::Invalid { host, slot, what } => Reason::Invalid { host, slot, what },
        Stop::NotLive { host, slot, what } => Reason::NotLive { host, slot, what },
        Stop::Unstable(_) => Reason::Unstable,
        Stop::Aborted { what } => Reason::Aborted { what },
        Stop::OtherTool { host, what } => Reason::OtherTool { host, what },
        Stop::NotBooted { host, .. } => Reason::NotBooted { host },
    };
    (Outcome::Inconclusive, reason)
}

fn reason(
    experiment: &Experiment,
    gathered: &Gathered<'_>,
    controls: &[(String, super::decide::Control)],
    why: &Why,
    course: Option<&Course>,
) -> Reason {
    let name = |metric: &usize| experiment.metrics.get(*metric).map_or("", |metric| &metric.name).to_owned();
    match why {
        Why::Harmless => Reason::Harmless,
        Why::Loss(metric) => Reason::Loss { metric: name(metric) },
        Why::Catastrophe(metric) => {
            let seen = course.and_then(|course| course.catastrophes.iter().find(|(at, _)| at == metric));
            let gap = seen.map_or(0.0, |(_, seen)| Direction::Higher.relative(-seen.gap).abs());
            Reason::Catastrophe { metric: name(metric), gap }
        }
        Why::Futile { metric, needs } => {
            Reason::Futile { metric: name(metric), pairs: needs.ceil().min(1e6) as u64 }
        }
        Why::Cap(metric) => Reason::Cap { metric: name(metric) },
        Why::FewHosts(hosts) => Reason::FewHosts { hosts: *hosts as u32, needs: between::HOSTS as u32 },
        Why::Lacking(metric) => {
            let why = gathered.lacks.get(*metric).cloned().flatten().unwrap_or_default();
            Reason::Lacking { metric: name(metric), why }
        }
        Why::Clash(control) => {
            Reason::Clash { host: controls.get(*control).map_or_else(String::new, |(host, _)| host.clone()) }
        }
        Why::NoGain(metric) => Reason::NoGain { metric: name(metric) },
    }
}

fn answer(
    experiment: &Experiment,
    protocol: &Protocol,
    gathered: &Gathered<'_>,
    course: Option<&Course>,
    (outcome, reason, pairs): (Outcome, Reason, u32),
) -> Judgement {
    let looks = course.map_or(&[][..], |course| &course.looks);
    let counted = |host: &str| gathered.counted.keys().filter(|(name, _)| *name == host).count();
    let runs = experiment.canaries.iter().map(|host| counted(host)).sum::<usize>();
    let metrics: Vec<Judged> = experiment
        .metrics
        .iter()
        .enumerate()
        .map(|(i, metric)| judged(experiment, gathered, metric, i, looks))
        .collect();
    let catastrophes: Vec<(String, Catastrophe)> = course
        .map(|course| &course.catastrophes[..])
        .unwrap_or_default()
        .iter()
        .filter_map(|(at, seen)| Some((experiment.metrics.get(*at)?.name.clone(), *seen)))
        .collect();
    let undecided = matches!(
        reason,
        Reason::Cap { .. }
            | Reason::Futile { .. }
            | Reason::Clash { .. }
            | Reason::NoGain { .. }
            | Reason::FewHosts { .. }
    );
    let goes_on = match outcome {
        Outcome::Pass => true,
        Outcome::Regress => false,
        // A later wave does not prove it once more: it stops where a loss shows or figures are missing.
        Outcome::Inconclusive => {
            experiment.wave > 0 && matches!(reason, Reason::Cap { .. } | Reason::FewHosts { .. })
        }
    };
    let advice = (outcome == Outcome::Inconclusive && undecided)
        .then(|| advise(experiment, protocol, looks, gathered))
        .flatten();
    Judgement::Answer(Box::new(Verdict {
        outcome,
        reason,
        pairs,
        runs: runs as u32,
        repeats: gathered.repeats,
        metrics,
        looks: looks.to_vec(),
        catastrophes,
        lost_controls: gathered.lost.iter().map(|host| (*host).to_owned()).collect(),
        losing_hosts: losing(experiment, gathered, protocol, looks),
        goes_on,
        advice,
    }))
}

/// One metric in one line.
fn judged(
    experiment: &Experiment,
    gathered: &Gathered<'_>,
    metric: &Metric,
    at: usize,
    looks: &[Look],
) -> Judged {
    let middle = |arm: Arm| {
        let of = |place: usize, host: &str| -> Vec<f64> {
            let mine = gathered.counted.range((host, 0)..=(host, u32::MAX));
            mine.filter(|((_, slot), _)| experiment.arm(place, *slot) == arm)
                .filter_map(|(_, run)| figure(run, metric))
                .collect()
        };
        let all: Vec<f64> =
            experiment.canaries.iter().enumerate().flat_map(|(place, host)| of(place, host)).collect();
        (!all.is_empty()).then(|| median(&all))
    };
    let look = looks.iter().rev().find(|look| look.metric == at);
    let relative = |goodness: f64| metric.direction.relative(goodness);
    let change = look.map(|look| {
        let (lo, hi) = (relative(look.lo), relative(look.hi));
        Interval { middle: relative(look.estimate.effect), from: lo.min(hi), to: lo.max(hi) }
    });
    let lacks = gathered.lacks.get(at).cloned().flatten();
    Judged {
        name: metric.name.clone(),
        a: middle(Arm::A),
        b: middle(Arm::B),
        change,
        margin: relative(-metric.bound()),
        cost: metric.cost,
        finding: match (look, &lacks) {
            (_, Some(_)) => Finding::Lacking,
            (Some(look), None) => look.finding,
            (None, None) => Finding::Open,
        },
        measurable: look.is_some_and(|look| look.finding == Finding::Pass && look.hi < 0.0),
        gain: metric
            .min_gain
            .map(|gain| (gain * metric.share, look.is_some_and(|look| look.claim == Some(Claim::Shown)))),
        lacks,
    }
}

/// Hosts that lose on their own at the last look.
fn losing(
    experiment: &Experiment,
    gathered: &Gathered<'_>,
    protocol: &Protocol,
    looks: &[Look],
) -> Vec<String> {
    let Some(pairs) = looks.iter().map(|look| look.pairs).max() else { return Vec::new() };
    if experiment.toggle != Toggle::Runtime || experiment.canaries.len() < 2 {
        return Vec::new();
    }
    let all = hosts(experiment, gathered);
    let own = |(host, series): (&String, &Vec<super::decide::Series>)| {
        let loses = |(at, seen): (usize, &super::decide::Series)| {
            let seen = seen.pairs.get(..pairs as usize);
            seen.is_some_and(|seen| protocol.loses(at, seen))
        };
        series.iter().enumerate().any(loses).then(|| host.clone())
    };
    experiment.canaries.iter().zip(&all).filter_map(own).collect()
}
