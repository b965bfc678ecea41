//! Power, length and undecided gates on runs that differ normally; several canaries and several metrics.
use super::rates::{Rates, at_least, at_most, gate, metric, protocol, replicates};
use super::trace::pairs;
use tunerun::gate::distribution::mean;
use tunerun::gate::effort::refusals;
use tunerun::gate::noise::Noise;
use tunerun::gate::random::Seeded;
use tunerun::gate::{Errors, Experiment, Metric, Protocol, Schedule};

/// Gates on hosts whose runs differ by `sd`; several hosts are averaged.
fn rates(sd: f64, hosts: u32, effect: f64, seed: u64) -> Rates {
    let (protocol, mut seeded) = (protocol(), Seeded::new(seed));
    let sd = sd / f64::from(hosts).sqrt();
    let mut rates = Rates::default();
    for _ in 0..replicates() {
        let runs: Vec<f64> = (0..48).map(|_| sd * seeded.normal()).collect();
        let flipped = seeded.coin();
        rates.add(&gate(&protocol, pairs(&runs, effect.ln_1p(), flipped)));
    }
    rates
}

#[test]
fn a_loss_of_30_percent_is_caught_in_six_runs() {
    for (seed, sd) in [(51, 0.01), (52, 0.02), (53, 0.03), (54, 0.05)] {
        let rates = rates(sd, 1, -0.30, seed);
        assert!(rates.share(rates.at_once) >= at_least(0.99, rates.n), "T5 {sd}: {rates:?}");
        assert_eq!(rates.pass, 0, "T4 {sd}: {rates:?}");
    }
}

#[test]
fn a_loss_of_the_margin_and_of_twice_the_margin_is_found() {
    for (seed, sd) in [(61, 0.01), (62, 0.015), (63, 0.02), (64, 0.025)] {
        let rates = rates(sd, 1, -0.05, seed);
        assert!(rates.share(rates.regress) >= at_least(0.95, rates.n), "T6 {sd}: {rates:?}");
        assert!(rates.mean_runs() <= 26.0 && rates.most <= 48, "T6 {sd}: {rates:?}");
        assert!(rates.share(rates.pass) <= at_most(0.05, rates.n), "T2 {sd}: {rates:?}");
    }
    for (seed, sd) in [(71, 0.02), (72, 0.03), (73, 0.05)] {
        let rates = rates(sd, 1, -0.10, seed);
        assert!(rates.share(rates.regress) >= at_least(0.99, rates.n), "T7 {sd}: {rates:?}");
        assert!(rates.mean_runs() <= 26.0, "T7 {sd}: {rates:?}");
    }
}

#[test]
fn harmless_changes_are_seldom_left_undecided_and_soon_passed() {
    for (seed, sd, target) in [(81, 0.02, 0.005), (82, 0.03, 0.005), (83, 0.04, 0.04), (84, 0.05, 0.14)] {
        let rates = rates(sd, 1, 0.0, seed);
        assert!(rates.share(rates.inconclusive) <= at_most(target, rates.n), "T8 {sd}: {rates:?}");
        assert!(rates.share(rates.regress) <= at_most(0.006, rates.n), "T1 {sd}: {rates:?}");
        if sd <= 0.02 {
            assert!(rates.mean_runs() <= 16.0, "T9 {sd}: {rates:?}");
        }
    }
}

#[test]
fn three_canaries_see_what_one_cannot() {
    let three = rates(0.05, 3, -0.05, 101);
    assert!(three.share(three.regress) >= at_least(0.93, three.n), "T10: {three:?}");
    let one = rates(0.05, 1, -0.05, 102);
    assert!(one.regress < three.regress, "{one:?} {three:?}");
}

#[test]
fn six_metrics_together_are_not_rolled_back_more_often() {
    let metrics: Vec<Metric> = (0..6).map(|i| Metric { name: format!("m{i}"), ..metric() }).collect();
    let protocol = Protocol::new(&metrics, Errors::default(), &Schedule::of(24));
    let (mut seeded, mut none, mut loss) = (Seeded::new(111), Rates::default(), Rates::default());
    let sd = 0.05 * 0.5_f64.sqrt();
    for _ in 0..replicates() {
        let common: Vec<f64> = (0..48).map(|_| sd * seeded.normal()).collect();
        let flipped = seeded.coin();
        let own: Vec<Vec<f64>> =
            (0..6).map(|_| common.iter().map(|common| common + sd * seeded.normal()).collect()).collect();
        let with = |first: f64| -> Vec<_> {
            own.iter()
                .enumerate()
                .map(|(i, own)| pairs(own, if i == 0 { first } else { 0.0 }, flipped))
                .collect()
        };
        none.add(&protocol.decide(&with(0.0), &[]).end);
        loss.add(&protocol.decide(&with((-0.05_f64).ln_1p()), &[]).end);
    }
    assert!(none.share(none.regress) <= at_most(0.01, none.n), "T11: {none:?}");
    assert!(loss.share(loss.pass) <= at_most(0.05, loss.n), "T11, one of six loses: {loss:?}");
}

/// A loss of 30 % on one changed host of forty is 0.75 % of the whole load.
#[test]
fn a_loss_on_one_host_of_forty_never_passes() {
    let diluted = Metric { share: 1.0 / 40.0, ..metric() };
    let experiment = Experiment::new("share", "h1", vec![diluted.clone()], 1);
    for (seed, sd) in [(151, 0.0001), (152, 0.001), (153, 0.003), (154, 0.02)] {
        let told = refusals(&experiment, &[Some(Noise::between_runs(sd))]).join("");
        assert!(told.contains("shows as"), "no noise lets it be planned: {told}");
        // And where it is run all the same:
        let protocol = Protocol::new(std::slice::from_ref(&diluted), Errors::default(), &Schedule::of(24));
        let (mut seeded, mut rates) = (Seeded::new(seed), Rates::default());
        for _ in 0..replicates() / 4 {
            let runs: Vec<f64> = (0..48).map(|_| sd * seeded.normal()).collect();
            let flipped = seeded.coin();
            rates.add(&gate(&protocol, pairs(&runs, (-0.30_f64 / 40.0).ln_1p(), flipped)));
        }
        if sd < 0.01 {
            assert_eq!(rates.pass, 0, "{sd}: {rates:?}");
        }
        assert!(rates.share(rates.pass) <= at_most(0.05, rates.n), "{sd}: {rates:?}");
    }
}

#[test]
fn the_median_of_three_hosts_shrugs_off_one_wild_one() {
    let (protocol, mut seeded) = (protocol(), Seeded::new(121));
    let mut rates = Rates::default();
    for _ in 0..300 {
        let flipped = seeded.coin();
        let hosts: Vec<_> = (0..3)
            .map(|host| {
                let wild = if host == 2 { 0.3 } else { 0.02 };
                let runs: Vec<f64> = (0..48).map(|_| wild * seeded.normal()).collect();
                pairs(&runs, 0.0, flipped)
            })
            .collect();
        let mut middle = hosts[0].clone();
        for (i, pair) in middle.pairs.iter_mut().enumerate() {
            let differences: Vec<f64> = hosts.iter().map(|host| host.pairs[i].difference).collect();
            pair.difference = tunerun::gate::distribution::median(&differences);
            (pair.a, pair.b) = (0.0, pair.difference);
        }
        assert!(mean(&[middle.pairs[0].difference]).is_finite());
        rates.add(&gate(&protocol, middle));
    }
    assert!(rates.share(rates.pass) > 0.95, "{rates:?}");
}
