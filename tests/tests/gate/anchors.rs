//! Nine procedures that people use today, each from its published rule. Each sees what it would see: one or a few runs
//! before, and as many after. They know two answers: true is "roll back".
use super::noise::Trace;
use tunerun::gate::distribution::{mean, median, normal_above, normal_tail, t_above, t_tail, variance};

/// Names, in the order of [`judge`].
pub const NAMES: [&str; 9] = [
    "A1 mean ratio, 1+1 runs, threshold -5 %",
    "A2 mean ratio, 3+3 runs, threshold -5 %",
    "A3 Welch t on seconds, 1+1 runs, p < 0.05",
    "A4 Welch t on pooled seconds, 10+10 runs",
    "A5 Kayenta: Mann-Whitney at 98 %, 1+1 runs",
    "A6 the same, allowedDecrease 0.95",
    "A7 criterion: 95 % interval beyond 2 % of noise",
    "A8 benchstat: Mann-Whitney on runs, 10+10",
    "A9 Hunter: t at 0.001 and 5 % of size, 10+10",
];

/// What each says of a trace whose later runs have this effect.
pub fn judge(trace: &Trace, effect: f64) -> [bool; 9] {
    let before = |n: usize| trace.seconds[..n].concat();
    let after = |n: usize| trace.seconds[n..2 * n].concat().iter().map(|x| x + effect).collect::<Vec<f64>>();
    let (a1, b1, a3, b3) = (before(1), after(1), before(3), after(3));
    let (a10, b10) = (before(10), after(10));
    let welch1 = welch(&a1, &b1);
    let (kayenta, ratio) = (mann_whitney_low(&a1, &b1), ratio(&a1, &b1));
    let runs_before = &trace.middles[..10];
    let runs_after: Vec<f64> = trace.middles[10..20].iter().map(|x| x + effect).collect();
    [
        ratio < 0.95,
        self::ratio(&a3, &b3) < 0.95,
        welch1.below(0.0, 0.05),
        welch(&a10, &b10).below(0.0, 0.05),
        kayenta && ratio <= 1.0,
        kayenta && ratio <= 0.95,
        welch1.difference + t_above(0.025, welch1.df) * welch1.error < 0.98_f64.ln(),
        benchstat(runs_before, &runs_after),
        hunter(runs_before, &runs_after),
    ]
}

fn ratio(a: &[f64], b: &[f64]) -> f64 {
    let level = |x: &[f64]| mean(&x.iter().map(|x| x.exp()).collect::<Vec<f64>>());
    level(b) / level(a)
}

struct Welch {
    difference: f64,
    error: f64,
    df: f64,
}

impl Welch {
    fn below(&self, bound: f64, level: f64) -> bool {
        t_tail((bound - self.difference) / self.error, self.df) < level
    }
}

fn welch(a: &[f64], b: &[f64]) -> Welch {
    let (n, m) = (a.len() as f64, b.len() as f64);
    let (v, w) = (variance(a) / n, variance(b) / m);
    let df = (v + w).powi(2) / (v * v / (n - 1.0) + w * w / (m - 1.0));
    Welch { difference: mean(b) - mean(a), error: (v + w).sqrt(), df }
}

/// Kayenta's judge: the 98 % interval of the Hodges-Lehmann shift lies beyond a quarter of the shift below zero.
fn mann_whitney_low(a: &[f64], b: &[f64]) -> bool {
    let (a, b): (Vec<f64>, Vec<f64>) =
        (a.iter().map(|x| x.exp()).collect(), b.iter().map(|x| x.exp()).collect());
    let mut shifts: Vec<f64> = b.iter().flat_map(|b| a.iter().map(move |a| b - a)).collect();
    shifts.sort_unstable_by(f64::total_cmp);
    let (m, n) = (a.len() as f64, b.len() as f64);
    let middle = shifts.len() / 2;
    let shift = (shifts[middle - 1] + shifts[middle]) / 2.0;
    let k = (m * n / 2.0 - normal_above(0.01) * (m * n * (m + n + 1.0) / 12.0).sqrt()).floor() as usize;
    shifts[shifts.len() - 1 - k] < -0.25 * shift.abs()
}

/// Mann-Whitney with p < 0.05 on one number a run, two-sided by its normal limit, and the later median lower.
fn benchstat(a: &[f64], b: &[f64]) -> bool {
    let (m, n) = (a.len() as f64, b.len() as f64);
    let wins = b.iter().flat_map(|b| a.iter().map(move |a| f64::from(u8::from(b > a)))).sum::<f64>();
    let sd = (m * n * (m + n + 1.0) / 12.0).sqrt();
    let z = ((wins - m * n / 2.0).abs() - 0.5).max(0.0) / sd;
    2.0 * normal_tail(z) < 0.05 && median(b) < median(a)
}

/// A t test at 0.001 whose spread is divided by n, and a change of at least 5 %.
fn hunter(a: &[f64], b: &[f64]) -> bool {
    let n = a.len() as f64;
    let population = |x: &[f64]| variance(x) * (n - 1.0) / n;
    let pooled = ((n - 1.0) * (population(a) + population(b))) / (2.0 * n - 2.0);
    let t = (mean(b) - mean(a)) / (pooled * 2.0 / n).sqrt();
    2.0 * t_tail(t.abs(), 2.0 * n - 2.0) < 0.001 && (mean(b) - mean(a)).exp() < 0.95
}
