//! From figures to places: the range of an axis and its round ticks. Places across are percentages, so that a drawing is
//! as wide as its page and its letters stay as large as they are.

/// A range of figures along an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    from: f64,
    to: f64,
}

impl Scale {
    /// Over these figures, with some room at both ends.
    pub fn over(figures: impl IntoIterator<Item = f64>) -> Self {
        let (mut from, mut to) = (f64::INFINITY, f64::NEG_INFINITY);
        for figure in figures.into_iter().filter(|figure| figure.is_finite()) {
            (from, to) = (from.min(figure), to.max(figure));
        }
        if from > to {
            return Self { from: 0.0, to: 1.0 };
        }
        let room = match to - from {
            width if width > 0.0 => width * 0.06,
            _ => from.abs().max(1e-9) * 0.05,
        };
        Self { from: from - room, to: to + room }
    }

    /// From zero to the largest of these figures.
    pub fn from_zero(figures: impl IntoIterator<Item = f64>) -> Self {
        let most = figures.into_iter().filter(|figure| figure.is_finite()).fold(0.0, f64::max);
        Self { from: 0.0, to: if most > 0.0 { most } else { 1.0 } }
    }

    /// Where a figure lies, from 0 to 1; what lies beyond an end lies at it.
    pub fn share(self, figure: f64) -> f64 {
        ((figure - self.from) / (self.to - self.from)).clamp(0.0, 1.0)
    }

    /// Where a figure lies across, in per cent.
    pub fn across(self, figure: f64) -> String {
        percent(self.share(figure))
    }

    /// Round figures within the range, about `many` of them.
    pub fn ticks(self, many: usize) -> Vec<f64> {
        let width = (self.to - self.from) / many.max(1) as f64;
        let size = 10_f64.powf(width.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|step| step * size).find(|step| *step >= width);
        let step = step.unwrap_or(size * 10.0);
        let first = (self.from / step).ceil();
        let last = (self.to / step).floor();
        // A step of nothing, or figures beyond all numbers, has no ticks.
        if !(step.is_finite() && step > 0.0 && last - first < 100.0) {
            return Vec::new();
        }
        let mut ticks = Vec::new();
        let mut at = first;
        while at <= last {
            ticks.push(if at == 0.0 { 0.0 } else { at * step });
            at += 1.0;
        }
        ticks
    }
}

/// A share of 1 in per cent.
pub fn percent(share: f64) -> String {
    format!("{:.2}%", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::Scale;

    #[test]
    fn ticks_are_round_and_within() {
        assert_eq!(Scale { from: 0.0, to: 103.0 }.ticks(4), [0.0, 50.0, 100.0]);
        assert_eq!(Scale { from: -0.07, to: 0.021 }.ticks(5), [-0.06, -0.04, -0.02, 0.0, 0.02]);
        assert!(Scale { from: 1.0, to: 1.0 }.ticks(4).is_empty());
    }

    #[test]
    fn equal_figures_and_none_have_a_range_too() {
        let one = Scale::over([5.0, 5.0]);
        assert!((one.share(5.0) - 0.5).abs() < 1e-9);
        assert_eq!(Scale::over([]).across(0.5), "50.00%");
        assert_eq!(Scale::over([f64::NAN, 1.0, 3.0]).share(9.0), 1.0);
        assert_eq!(Scale::from_zero([2.0, 8.0]).across(4.0), "50.00%");
    }
}
