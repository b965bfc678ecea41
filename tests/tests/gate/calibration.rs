//! The boundary constants, recomputed.
use super::trace::pairs;
use tunerun::gate::random::Seeded;
use tunerun::gate::{Estimate, Schedule, distribution::t_above};

/// How often any look of a schedule rejects, at each of two errors, where nothing is to be found.
fn rejected(schedule: &Schedule, errors: [f64; 2], n: u32, seed: u64) -> [f64; 2] {
    let looks = schedule.looks();
    let bounds: Vec<[f64; 2]> = looks
        .iter()
        .map(|look| errors.map(|error| t_above(schedule.level(error), f64::from(*look) - 2.0)))
        .collect();
    let most = schedule.max_pairs() as usize;
    let mut seeded = Seeded::new(seed);
    let mut counts = [0_u32; 2];
    for _ in 0..n {
        let runs: Vec<f64> = (0..2 * most).map(|_| seeded.normal()).collect();
        let series = pairs(&runs, 0.0, false);
        let mut hit = [false; 2];
        for (look, bounds) in looks.iter().zip(&bounds) {
            let estimate = Estimate::of(&series.pairs[..*look as usize], schedule.statistic(), 0.0);
            let t = estimate.effect / estimate.error;
            for i in 0..2 {
                hit[i] |= t > bounds[i];
            }
        }
        for i in 0..2 {
            counts[i] += u32::from(hit[i]);
        }
    }
    counts.map(|count| f64::from(count) / f64::from(n))
}

fn check(schedule: &Schedule, seed: u64) {
    let n = 100_000;
    let halves: Vec<[f64; 2]> = std::thread::scope(|scope| {
        let threads: Vec<_> = [0, 1]
            .map(|half| scope.spawn(move || rejected(schedule, [0.005, 0.05], n / 2, seed + half)))
            .into();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let [small, large] = [0, 1].map(|i| f64::midpoint(halves[0][i], halves[1][i]));
    eprintln!("{schedule:?}: 0.5 % comes out as {:.3} %, 5 % as {:.2} %", small * 100.0, large * 100.0);
    assert!((small / 0.005 - 1.0).abs() < 0.15, "T13 {schedule:?}: {small}");
    assert!((large / 0.05 - 1.0).abs() < 0.05, "T13 {schedule:?}: {large}");
}

#[test]
fn the_constants_of_the_full_schedule_hold() {
    check(&Schedule::of(24), 131);
}

#[test]
fn the_constants_of_the_quick_schedule_hold() {
    check(&Schedule::of(12), 133);
}

#[test]
fn a_schedule_of_ones_own_errs_less_than_promised() {
    let [small, large] = rejected(&Schedule::of(48), [0.005, 0.05], 4_000, 135);
    assert!(small <= 0.005 && large <= 0.05, "{small} {large}");
}
