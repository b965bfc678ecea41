//! Changes that need a boot: pairs of boots on four hosts, from runs to the verdict.
use super::rates::{at_least, at_most, metric, replicates};
use std::collections::BTreeMap;
use tunerun::gate::random::Seeded;
use tunerun::gate::{Arm, Experiment, Figure, Judgement, Live, Outcome, Run, RunEnd, Toggle, judge};

const HOSTS: [&str; 4] = ["h1", "h2", "h3", "h4"];

fn experiment(seed: u64) -> Experiment {
    Experiment {
        toggle: Toggle::Reboot,
        canaries: HOSTS.map(Into::into).into(),
        max_pairs: 2,
        runs_each: 4,
        ..Experiment::new("boots", "h1", vec![metric()], seed)
    }
}

/// Boots differ by 2 %, runs within a boot by 2 %, and hosts drift by -0.1 % a run.
fn runs(experiment: &Experiment, effect: f64, seeded: &mut Seeded) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut levels: BTreeMap<(usize, u32), f64> = BTreeMap::new();
    for slot in 0..experiment.slots() {
        for (place, host) in HOSTS.iter().enumerate() {
            let boot = experiment.boot(slot);
            let level = *levels.entry((place, boot)).or_insert_with(|| 0.02 * seeded.normal());
            let arm = experiment.arm(place, slot);
            let change = if arm == Arm::B { effect.ln_1p() } else { 0.0 };
            let own = 0.3 * place as f64;
            let x = own + level + change + 0.02 * seeded.normal() - 0.001 * f64::from(slot);
            let figures = BTreeMap::from([("x.iops".to_owned(), Figure::of(1000.0 * x.exp()))]);
            runs.push(Run {
                host: (*host).into(),
                slot,
                arm,
                live: Live::Proven { seen: format!("{arm:?}") },
                end: RunEnd::Measured { figures },
                boot: Some(format!("{host}-{boot}")),
                versions: BTreeMap::new(),
                flags: Vec::new(),
                within: None,
            });
        }
    }
    runs
}

fn outcomes(effect: f64, n: u32) -> [f64; 3] {
    let mut seeded = Seeded::new(141);
    let mut counts = [0_u32; 3];
    for i in 0..n {
        let experiment = experiment(u64::from(i));
        let runs = runs(&experiment, effect, &mut seeded);
        let Judgement::Answer(verdict) = judge(&experiment, &runs) else { panic!("64 runs decide") };
        counts[match verdict.outcome {
            Outcome::Pass => 0,
            Outcome::Regress => 1,
            Outcome::Inconclusive => 2,
        }] += 1;
    }
    counts.map(|count| f64::from(count) / f64::from(n))
}

#[test]
fn four_hosts_with_two_pairs_of_boots_each_decide() {
    let n = replicates() / 2;
    let [none, margin, large] = [0.0, -0.05, -0.10].map(|effect| outcomes(effect, n));
    eprintln!(
        "pairs of boots, 4 x 2, {n} gates: PASS, REGRESS, INCONCLUSIVE at 0, -5 %, -10 %: {none:?} {margin:?} {large:?}"
    );
    assert!(none[1] <= at_most(0.01, n), "T14: {none:?}");
    assert!(margin[0] <= at_most(0.065, n), "T14: {margin:?}");
    assert!(large[1] >= at_least(0.99, n), "T14: {large:?}");
}
