//! The readings of one benchmark from one or several hosts as the figures of a run. Pure.
use super::Measured;
use crate::bench::{Measure, Reading, Unit};
use crate::gate::steady::{Steadiness, SteadyRule, stalls};
use crate::gate::{Direction, Fault, Figure};

/// Adds a benchmark's readings, one a host.
pub(super) fn take(
    id: &str,
    readings: Vec<Reading>,
    steady: Option<SteadyRule>,
    into: &mut Measured,
) -> Result<(), Fault> {
    let mut all = readings.into_iter();
    let Some(mut whole) = all.next() else { return Ok(()) };
    let mut count = 1.0;
    for other in all {
        count += 1.0;
        add(&mut whole, other);
    }
    if count > 1.0 {
        for (path, measure) in &mut whole.figures {
            if let (Figure::Number(number), false, false) =
                (&mut measure.figure, sums(measure.unit), percentile(path))
            {
                *number /= count;
            }
        }
    }
    for (path, series) in &whole.per_second {
        match steady.map(|rule| rule.judge(series)) {
            Some(Steadiness::Unsteady) => {
                return Err(Fault::Unsteady { what: format!("{id}.{path} over {} seconds", series.len()) });
            }
            Some(Steadiness::Loose) => flag(into, "loose"),
            Some(Steadiness::TooShort) => flag(into, "short"),
            Some(Steadiness::Steady) | None => {}
        }
        if let Some(Measure { figure: Figure::Number(figure), .. }) = whole.figures.get(path)
            && stalls(*figure, series)
        {
            flag(into, "stalls");
        }
    }
    let named = |path: String| format!("{id}.{path}");
    let better =
        whole.figures.iter().filter_map(|(path, measure)| Some((named(path.clone()), measure.direction?)));
    into.better.extend(better);
    into.figures.extend(whole.figures.into_iter().map(|(path, measure)| (named(path), measure.figure)));
    into.versions.extend(whole.versions);
    into.seen.extend(whole.seen.into_iter().map(|(what, value)| (named(what), value)));
    into.notes.extend(whole.notes.into_iter().map(|note| format!("{id}: {note}")));
    Ok(())
}

/// Adds what was read beside.
pub(super) fn merge(into: &mut Measured, beside: Measured) {
    into.figures.extend(beside.figures);
    into.better.extend(beside.better);
    into.versions.extend(beside.versions);
    into.seen.extend(beside.seen);
    into.notes.extend(beside.notes);
    into.raw.extend(beside.raw);
    beside.flags.iter().for_each(|own| flag(into, own));
}

fn flag(into: &mut Measured, word: &str) {
    if !into.flags.iter().any(|own| own == word) {
        into.flags.push(word.to_owned());
    }
}

/// Whether a figure of several hosts is their sum.
const fn sums(unit: Unit) -> bool {
    matches!(unit, Unit::PerSecond | Unit::BytesPerSecond | Unit::BitsPerSecond | Unit::Count)
}

/// Whether a path ends in a percentile: `p99`, `p99.9`.
fn percentile(path: &str) -> bool {
    path.rsplit_once(".p").is_some_and(|(_, last)| last.parse::<f64>().is_ok())
}

/// Rates and counts add up, times are averaged later, of percentiles the worst counts. What one host cannot tell is not
/// known of all.
fn add(whole: &mut Reading, other: Reading) {
    for (path, theirs) in other.figures {
        let Some(own) = whole.figures.get_mut(&path) else {
            whole.figures.insert(path, theirs);
            continue;
        };
        own.figure = match (own.figure.clone(), theirs.figure) {
            (Figure::Number(one), Figure::Number(two)) if percentile(&path) => {
                let worse = match theirs.direction {
                    Some(Direction::Higher) => one.min(two),
                    Some(Direction::Lower) | None => one.max(two),
                };
                Figure::Number(worse)
            }
            (Figure::Number(one), Figure::Number(two)) => Figure::Number(one + two),
            (Figure::Number(_), unknown) => unknown,
            (unknown, _) => unknown,
        };
    }
    for (path, series) in other.per_second {
        let own = whole.per_second.entry(path).or_default();
        if own.is_empty() {
            *own = series;
        } else {
            own.iter_mut().zip(series).for_each(|(one, two)| *one += two);
        }
    }
    whole.versions.extend(other.versions);
    whole.seen.extend(other.seen);
    whole.notes.extend(other.notes);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(iops: f64, mean: f64, p99: f64) -> Reading {
        let mut reading = Reading::default();
        reading.figures.insert("read.iops".into(), Measure::higher(iops, Unit::PerSecond));
        reading.figures.insert("read.clat_ns.mean".into(), Measure::lower(mean, Unit::Nanoseconds));
        reading.figures.insert("read.clat_ns.p99".into(), Measure::lower(p99, Unit::Nanoseconds));
        reading.per_second.insert("read.iops".into(), vec![iops; 60]);
        reading
    }

    #[test]
    fn hosts_add_up_average_and_show_the_worst() {
        let mut into = Measured::default();
        take("rbd", vec![reading(100.0, 10.0, 50.0), reading(300.0, 20.0, 40.0)], None, &mut into).unwrap();
        let number = |path: &str| into.figures[path].clone();
        assert_eq!(number("rbd.read.iops"), Figure::Number(400.0));
        assert_eq!(number("rbd.read.clat_ns.mean"), Figure::Number(15.0));
        assert_eq!(number("rbd.read.clat_ns.p99"), Figure::Number(50.0));
        let mut lacking = reading(1.0, 1.0, 1.0);
        let why = Figure::NotAvailable { why: "old".into() };
        lacking.figures.get_mut("read.iops").unwrap().figure = why.clone();
        let mut into = Measured::default();
        take("x", vec![reading(1.0, 1.0, 1.0), lacking], None, &mut into).unwrap();
        assert_eq!(into.figures["x.read.iops"], why);
    }

    #[test]
    fn runs_that_are_not_steady_do_not_count() {
        let mut falling = reading(100.0, 1.0, 1.0);
        falling
            .per_second
            .insert("read.iops".into(), (0..60).map(|second| 200.0 - 3.0 * f64::from(second)).collect());
        let rule = Some(SteadyRule::default());
        let fault = take("x", vec![falling.clone()], rule, &mut Measured::default()).unwrap_err();
        assert!(matches!(fault, Fault::Unsteady { .. }));
        let mut into = Measured::default();
        take("x", vec![falling], None, &mut into).unwrap();
        falling_short(rule);
    }

    fn falling_short(rule: Option<SteadyRule>) {
        let mut short = reading(100.0, 1.0, 1.0);
        short.per_second.insert("read.iops".into(), vec![100.0; 3]);
        let mut into = Measured::default();
        take("x", vec![short], rule, &mut into).unwrap();
        assert_eq!(into.flags, ["short"]);
    }
}
