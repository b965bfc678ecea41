//! From counting runs to the numbers that are decided on: pairs of slots, pairs of boots, or hosts before and after.
use super::between::{Before, Sides};
use super::decide::{Control, Series};
use super::distribution::{mean, median};
use super::estimate::Pair;
use super::experiment::Experiment;
use super::gather::Gathered;
use super::metric::Metric;
use super::run::{Figure, Run, RunEnd};
use super::words::{Order, Toggle};

/// How good a run is by one metric.
pub(super) fn goodness(run: &Run, metric: &Metric) -> Option<f64> {
    metric.direction.goodness(figure(run, metric)?)
}

/// The figure of one metric in a run.
pub(super) fn figure(run: &Run, metric: &Metric) -> Option<f64> {
    let RunEnd::Measured { figures } = &run.end else { return None };
    match figures.get(&metric.from)? {
        Figure::Number(x) => Some(*x),
        Figure::Insufficient { .. } | Figure::NotAvailable { .. } => None,
    }
}

/// The goodness of one boot or slot of a host: the mean over its runs.
fn block(
    experiment: &Experiment,
    gathered: &Gathered<'_>,
    host: &str,
    block: u32,
    metric: &Metric,
) -> Option<f64> {
    let each = match experiment.toggle {
        Toggle::Runtime | Toggle::None => 1,
        Toggle::Reboot | Toggle::Guest => experiment.runs_each,
    };
    let runs: Option<Vec<f64>> = (block * each..(block + 1) * each)
        .map(|slot| goodness(gathered.counted.get(&(host, slot))?, metric))
        .collect();
    runs.map(|runs| mean(&runs))
}

/// The pairs of one host, as far as they are whole.
fn own(
    experiment: &Experiment,
    gathered: &Gathered<'_>,
    host: &str,
    place: usize,
    metric: &Metric,
) -> Vec<Pair> {
    let pair = |pair: u32| {
        let first = block(experiment, gathered, host, 2 * pair, metric)?;
        let second = block(experiment, gathered, host, 2 * pair + 1, metric)?;
        let order = experiment.order(place, pair);
        Some(match order {
            Order::Ab => Pair::of(order, first, second),
            Order::Ba => Pair::of(order, second, first),
        })
    };
    (0..experiment.max_pairs).map_while(pair).collect()
}

/// Takes each host's own level out of its pairs, so that hosts can stand beside each other.
fn levelled(mut pairs: Vec<Pair>, over: usize) -> Vec<Pair> {
    let first: Vec<f64> = pairs.iter().take(over).flat_map(|pair| [pair.a, pair.b]).collect();
    let level = mean(&first);
    for pair in &mut pairs {
        pair.a -= level;
        pair.b -= level;
    }
    pairs
}

/// Each changed host's own pairs, per metric.
pub fn hosts(experiment: &Experiment, gathered: &Gathered<'_>) -> Vec<Vec<Series>> {
    let of = |(place, host): (usize, &String)| -> Vec<Series> {
        experiment
            .metrics
            .iter()
            .map(|metric| Series { pairs: own(experiment, gathered, host, place, metric), lacks: None })
            .collect()
    };
    experiment.canaries.iter().enumerate().map(of).collect()
}

/// The pairs that are decided on, per metric.
pub fn series(experiment: &Experiment, gathered: &Gathered<'_>) -> Vec<Series> {
    let count = experiment.canaries.len();
    let one = |(metric, lacks): (&Metric, &Option<String>)| {
        let all = experiment.canaries.iter().enumerate();
        let each: Vec<Vec<Pair>> =
            all.map(|(place, host)| own(experiment, gathered, host, place, metric)).collect();
        let pairs = match experiment.toggle {
            _ if count == 1 => each.into_iter().next().unwrap_or_default(),
            Toggle::Runtime | Toggle::None => {
                medians(&each.into_iter().map(|pairs| levelled(pairs, 3)).collect::<Vec<_>>())
            }
            Toggle::Reboot | Toggle::Guest => {
                // The first three pairs of all are asked for a catastrophe: they span so many pairs of each host.
                let over = 3_usize.div_ceil(count.max(1));
                woven(&each.into_iter().map(|pairs| levelled(pairs, over)).collect::<Vec<_>>())
            }
        };
        Series { pairs, lacks: lacks.clone() }
    };
    experiment.metrics.iter().zip(&gathered.lacks).map(one).collect()
}

/// Canaries that share the order of a slot: the median over them is one pair.
fn medians(each: &[Vec<Pair>]) -> Vec<Pair> {
    let whole = each.iter().map(Vec::len).min().unwrap_or(0);
    let over = |i: usize, pick: fn(&Pair) -> f64| {
        median(&each.iter().filter_map(|pairs| pairs.get(i).map(pick)).collect::<Vec<f64>>())
    };
    let pair = |i: usize| {
        let order = each.first()?.get(i)?.order;
        let difference = over(i, |pair| pair.difference);
        Some(Pair { difference, order, a: over(i, |pair| pair.a), b: over(i, |pair| pair.b) })
    };
    (0..whole).filter_map(pair).collect()
}

/// Hosts whose pairs are units of their own: first pairs of all, then second pairs.
fn woven(each: &[Vec<Pair>]) -> Vec<Pair> {
    let most = each.iter().map(Vec::len).max().unwrap_or(0);
    (0..most).flat_map(|i| each.iter().filter_map(move |pairs| pairs.get(i).copied())).collect()
}

/// The controls that are whole, by name, with their pairs in the slots of the first canary. Where boots are the pairs,
/// all controls together are one: each alone has too few.
pub fn controls(experiment: &Experiment, gathered: &Gathered<'_>) -> Vec<(String, Control)> {
    let whole: Vec<&String> =
        experiment.controls.iter().filter(|host| !gathered.lost.contains(&host.as_str())).collect();
    let each = |host: &&String| -> Control {
        let series =
            |metric: &Metric| Series { pairs: own(experiment, gathered, host, 0, metric), lacks: None };
        experiment.metrics.iter().map(series).collect()
    };
    let mut all: Vec<(String, Control)> = whole.iter().map(|host| ((*host).clone(), each(host))).collect();
    if matches!(experiment.toggle, Toggle::Reboot | Toggle::Guest) && !all.is_empty() {
        let of = |at: usize| {
            let own = |(_, control): &(String, Control)| control.get(at).map(|series| series.pairs.clone());
            Series { pairs: woven(&all.iter().filter_map(own).collect::<Vec<_>>()), lacks: None }
        };
        let together: Control = (0..experiment.metrics.len()).map(of).collect();
        let names: Vec<&str> = all.iter().map(|(host, _)| host.as_str()).collect();
        all = vec![(names.join(", "), together)];
    }
    all
}

/// Hosts before and after, per metric.
pub fn sides(experiment: &Experiment, gathered: &Gathered<'_>) -> Vec<Sides> {
    let each = experiment.runs_each;
    let one = |(metric, lacks): (&Metric, &Option<String>)| {
        let host = |host: &String| {
            let runs = |from: u32| -> Option<Vec<f64>> {
                (from..from + each)
                    .map(|slot| goodness(gathered.counted.get(&(host.as_str(), slot))?, metric))
                    .collect()
            };
            Some(Before { before: runs(0)?, after: runs(each)? })
        };
        Sides {
            changed: experiment.canaries.iter().filter_map(host).collect(),
            kept: experiment.controls.iter().filter_map(host).collect(),
            lacks: lacks.clone(),
        }
    };
    experiment.metrics.iter().zip(&gathered.lacks).map(one).collect()
}
