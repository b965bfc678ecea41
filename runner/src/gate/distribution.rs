//! Student's t and the normal distribution: how far an estimate may be off.
use statrs::distribution::{Continuous, ContinuousCDF, Normal, StudentsT};

/// The value that a t variable with `df` degrees of freedom exceeds with probability `level` (below one half).
/// Infinite where there is nothing to go by (no degree of freedom, a level of 0).
pub fn t_above(level: f64, df: f64) -> f64 {
    let Ok(t) = StudentsT::new(0.0, 1.0, df) else { return f64::INFINITY };
    if !(level > 0.0 && level < 1.0) {
        return f64::INFINITY;
    }
    let mut x = -t.inverse_cdf(level);
    // The library's inverse is good to about eight digits; two steps of Newton make it as good as its integral.
    for _ in 0..2 {
        let density = t.pdf(x);
        if density > 0.0 {
            x += (t.sf(x) - level) / density;
        }
    }
    x
}

/// The probability that a t variable with `df` degrees of freedom exceeds `x`.
pub fn t_tail(x: f64, df: f64) -> f64 {
    StudentsT::new(0.0, 1.0, df).map_or(f64::NAN, |t| t.sf(x))
}

/// The value that a standard normal variable exceeds with probability `level`.
pub fn normal_above(level: f64) -> f64 {
    if !(level > 0.0 && level < 1.0) {
        return f64::INFINITY;
    }
    -Normal::standard().inverse_cdf(level)
}

/// The probability that a standard normal variable exceeds `x`.
pub fn normal_tail(x: f64) -> f64 {
    Normal::standard().sf(x)
}

/// The middle of the values: the mean of the two middle ones for an even number. 0 for none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[middle],
        _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
    }
}

/// The mean. 0 for none.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The variance of a sample (divided by one less than its size). 0 for fewer than two values.
pub fn variance(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mean = mean(values);
    values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_printed_tables() {
        for (level, df, t) in [
            (0.05, 4.0, 2.131_846_786),
            (0.005, 22.0, 2.818_756_061),
            (0.025, 10.0, 2.228_138_852),
            (0.0005, 6.0, 5.958_816_179),
        ] {
            assert!((t_above(level, df) - t).abs() < 1e-8, "{level} {df}: {}", t_above(level, df));
        }
        assert!((normal_above(0.005) - 2.575_829_304).abs() < 1e-8);
        assert!((t_tail(t_above(3.644e-5, 4.0), 4.0) / 3.644e-5 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn nothing_to_go_by_is_infinitely_uncertain() {
        assert_eq!(t_above(0.05, 0.0), f64::INFINITY);
        assert_eq!(t_above(0.0, 4.0), f64::INFINITY);
        assert_eq!(normal_above(0.0), f64::INFINITY);
        assert_eq!((median(&[]), mean(&[]), variance(&[1.0])), (0.0, 0.0, 0.0));
    }

    #[test]
    fn medians_of_even_numbers_are_between() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    }
}
