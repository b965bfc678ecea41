//! Ways to make a gate say what one wants to hear, and real noise.
use super::outputs::data;
use super::rates::{Rates, at_most, gate, metric, protocol, replicates};
use super::trace::pairs;
use serde_json::Value;
use tunerun::gate::decide::{Ending, Series};
use tunerun::gate::estimate::Estimate;
use tunerun::gate::noise::Noise;
use tunerun::gate::random::Seeded;
use tunerun::gate::schedule::Statistic;
use tunerun::gate::{Experiment, Order, Outcome, Pair, Protocol, Schedule};

#[test]
fn going_on_after_an_inconclusive_gate_gains_nothing() {
    let first = Experiment::new("first", "h1", vec![metric()], 1);
    let second = first.extend("second", 48, 2).unwrap();
    assert!(second.extend("third", 96, 3).is_err(), "T20: the second extension is refused");
    let protocols = [&first, &second]
        .map(|experiment| Protocol::new(&experiment.metrics, experiment.budget(), &experiment.schedule()));
    for (seed, sd) in [(201, 0.04), (202, 0.07)] {
        let [mut none, mut margin] = [Rates::default(), Rates::default()];
        let mut seeded = Seeded::new(seed);
        for _ in 0..replicates() {
            for (effect, rates) in [(0.0, &mut none), (-0.05, &mut margin)] {
                let mut end = Ending::Open { pairs: 0 };
                for protocol in &protocols {
                    let runs: Vec<f64> =
                        (0..2 * protocol.max_pairs()).map(|_| sd * seeded.normal()).collect();
                    let flipped = seeded.coin();
                    end = gate(protocol, pairs(&runs, f64::ln_1p(effect), flipped));
                    if !matches!(end, Ending::Decided { outcome: Outcome::Inconclusive, .. }) {
                        break;
                    }
                }
                rates.add(&end);
            }
        }
        assert!(none.share(none.regress) <= at_most(0.01, none.n), "T20 {sd}: {none:?}");
        assert!(margin.share(margin.pass) <= at_most(0.08, margin.n), "T20 {sd}: {margin:?}");
    }
}

#[test]
fn exchanging_the_arms_mirrors_the_estimate_exactly() {
    let mut seeded = Seeded::new(191);
    for statistic in [Statistic::Plain, Statistic::Winsorised] {
        for k in [6, 8, 10, 16, 24] {
            let runs: Vec<f64> = (0..2 * k).map(|_| 0.03 * seeded.normal()).collect();
            let there = pairs(&runs, -0.05, false).pairs;
            let swap = |pair: &Pair| {
                let order = if pair.order == Order::Ab { Order::Ba } else { Order::Ab };
                Pair::of(order, pair.b, pair.a)
            };
            let back: Vec<Pair> = there.iter().map(swap).collect();
            let [x, y] = [&there, &back].map(|pairs| Estimate::of(pairs, statistic, 0.002));
            assert_eq!(x.effect.to_bits(), (-y.effect).to_bits(), "T19 {statistic:?} {k}");
            assert_eq!((x.error.to_bits(), x.df, x.clipped), (y.error.to_bits(), y.df, y.clipped));
            // With one level both ends mirror: lo of one is minus hi of the other.
            let (lo, hi) = (x.effect - 2.5 * x.error, x.effect + 2.5 * x.error);
            assert_eq!((lo, hi), (-(y.effect + 2.5 * y.error), -(y.effect - 2.5 * y.error)));
        }
    }
}

#[test]
fn a_real_trace_of_a_busy_machine_is_inconclusive() {
    let text = data("aa-fio-24-runs.json");
    let parsed: Value = serde_json::from_str(&text).unwrap();
    let iops: Vec<f64> =
        parsed["runs"].as_array().unwrap().iter().map(|run| run["iops"].as_f64().unwrap().ln()).collect();
    assert_eq!(iops.len(), 24);
    let protocol = Protocol::new(&[metric()], Default::default(), &Schedule::of(12));
    let course = protocol.decide(&[pairs(&iops, 0.0, false)], &[]);
    let Ending::Decided { outcome, pairs: at, .. } = course.end else { panic!("12 pairs end a quick gate") };
    assert_eq!((outcome, at), (Outcome::Inconclusive, 12));
    let look = course.looks.last().unwrap();
    let [from, to, visible] = [look.lo.exp_m1(), look.hi.exp_m1(), -(-look.visible).exp_m1()];
    eprintln!(
        "24 real runs of an unchanged host: [{:.1} %, {:.1} %], smallest visible loss {:.1} %",
        from * 100.0,
        to * 100.0,
        visible * 100.0
    );
    assert!((-0.30..-0.10).contains(&from) && (0.15..0.45).contains(&to), "{from} {to}");
    assert!((0.25..0.45).contains(&visible), "{visible}");
    let full = protocol().decide(&[pairs(&iops, 0.0, false)], &[]);
    assert!(matches!(full.end, Ending::Open { pairs: 16 }), "{:?}", full.end);
    let look = full.looks.last().unwrap();
    let (from, to) = (look.lo.exp_m1(), look.hi.exp_m1());
    eprintln!("the full schedule after its first 12 pairs: [{:.1} %, {:.1} %]", from * 100.0, to * 100.0);
    assert!(from < -0.05 && to > 0.0);
    // What neighbours share is no noise of pairs: the level halves half way through.
    let noise = Noise::of(&iops).unwrap();
    assert!(noise.lag > 0.6 && noise.run_sd() < 0.31, "{noise:?}");
}

#[test]
fn equal_numbers_are_no_division_by_zero() {
    let same = vec![7.0; 48];
    let Ending::Decided { outcome, pairs: at, .. } = gate(&protocol(), pairs(&same, 0.0, false)) else {
        panic!()
    };
    assert_eq!((outcome, at), (Outcome::Pass, 6), "T17");
    for effect in [-0.06_f64, -0.2] {
        let Ending::Decided { outcome, .. } = gate(&protocol(), pairs(&same, effect.ln_1p(), false)) else {
            panic!()
        };
        assert_eq!(outcome, Outcome::Regress, "T17 {effect}");
    }
}

#[test]
fn what_was_decided_is_not_decided_again_by_more_pairs() {
    let mut seeded = Seeded::new(211);
    for _ in 0..200 {
        let runs: Vec<f64> = (0..48).map(|_| 0.04 * seeded.normal()).collect();
        let whole = pairs(&runs, -0.03, false);
        let course = protocol().decide(std::slice::from_ref(&whole), &[]);
        let Ending::Decided { pairs: at, .. } = course.end else { panic!() };
        let cut = Series { pairs: whole.pairs[..at as usize].to_vec(), lacks: None };
        assert_eq!(protocol().decide(&[cut], &[]), course);
        for less in 0..at as usize {
            let cut = Series { pairs: whole.pairs[..less].to_vec(), lacks: None };
            assert!(matches!(protocol().decide(&[cut], &[]).end, Ending::Open { .. }), "{less} of {at}");
        }
    }
}
