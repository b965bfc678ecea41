//! Numbers from a seed, the same in every version: a stored seed must give the same order again.

/// A generator of numbers from a seed (SplitMix64). It is for orders and simulations, never for secrets.
#[derive(Clone, Debug)]
pub struct Seeded {
    state: u64,
    spare: Option<f64>,
}

impl Seeded {
    /// A generator that gives the same numbers for the same seed.
    pub const fn new(seed: u64) -> Self {
        Self { state: seed, spare: None }
    }

    /// The next 64 bits.
    pub const fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A fair coin.
    pub const fn coin(&mut self) -> bool {
        self.bits() >> 63 == 1
    }

    /// A number of the standard normal distribution (Marsaglia's polar method).
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let r = x * x + y * y;
            if r > 0.0 && r < 1.0 {
                let scale = (-2.0 * r.ln() / r).sqrt();
                self.spare = Some(y * scale);
                return x * scale;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Seeded;

    #[test]
    fn a_seed_gives_the_same_numbers_for_ever() {
        let mut seeded = Seeded::new(1_234_567);
        // The published test values of SplitMix64.
        assert_eq!(seeded.bits(), 6_457_827_717_110_365_317);
        assert_eq!(seeded.bits(), 3_203_168_211_198_807_973);
        assert_eq!(seeded.bits(), 9_817_491_932_198_370_423);
    }

    #[test]
    fn normal_numbers_have_mean_0_and_spread_1() {
        let mut seeded = Seeded::new(7);
        let n = 20_000;
        let x: Vec<f64> = (0..n).map(|_| seeded.normal()).collect();
        let mean = x.iter().sum::<f64>() / f64::from(n);
        let square = x.iter().map(|x| x * x).sum::<f64>() / f64::from(n);
        assert!(mean.abs() < 0.025 && (square - 1.0).abs() < 0.04, "{mean} {square}");
    }
}
