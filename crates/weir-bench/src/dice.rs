//! Seeded pseudo-random numbers, the same on every machine.
//!
//! SplitMix64 (Steele, Lea, Flood 2014): eight bytes of state, passes BigCrush, and any seed is a
//! good one. Not for secrets.

/// A stream of pseudo-random numbers.
#[derive(Clone, Debug)]
pub struct Dice {
    state: u64,
}

impl Dice {
    /// The stream of `seed`.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The stream number `stream` of `seed`: different streams do not overlap in practice.
    pub fn stream(seed: u64, stream: u64) -> Self {
        let mut dice = Self::new(seed ^ stream.wrapping_mul(0xA076_1D64_78BD_642F));
        dice.bits();
        dice
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in 0..`bound`; 0 for a `bound` of 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }

    /// Puts `items` in random order (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Dice;

    #[test]
    fn known_values_of_splitmix64() {
        let mut dice = Dice::new(1_234_567);
        // The first outputs of the reference C implementation for this seed.
        assert_eq!(dice.bits(), 6_457_827_717_110_365_317);
        assert_eq!(dice.bits(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn moments_fit_their_distributions() {
        let mut dice = Dice::new(7);
        let n = 200_000;
        let unit = (0..n).map(|_| dice.unit()).sum::<f64>() / f64::from(n);
        let exponential = (0..n).map(|_| dice.exponential()).sum::<f64>() / f64::from(n);
        assert!((unit - 0.5).abs() < 0.005, "{unit}");
        assert!((exponential - 1.0).abs() < 0.01, "{exponential}");
        assert!((0..1000).all(|_| dice.below(6) < 6));
    }
}
