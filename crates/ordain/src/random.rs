//! Randomness from a seed, the same in every release: PCG XSL RR 128/64 and samplers of our own.

use rand_core::{Rng, SeedableRng};

/// The name of the generator, written into model files.
pub const GENERATOR: &str = "pcg64";

/// A stream of random numbers that depends on its seed alone.
///
/// ```
/// let (mut a, mut b) = (ordain::random::Random::new(7), ordain::random::Random::new(7));
/// assert_eq!(a.below(1000), b.below(1000));
/// ```
pub struct Random(rand_pcg::Pcg64);

impl Random {
    /// The stream of this seed.
    pub fn new(seed: u64) -> Self {
        Self(rand_pcg::Pcg64::seed_from_u64(seed))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in 0..n, by Lemire's multiplication with rejection, so that no value is favoured.
    pub fn below(&mut self, n: usize) -> usize {
        let n = n as u64;
        loop {
            let wide = u128::from(self.bits()) * u128::from(n);
            if (wide as u64) >= n.wrapping_neg() % n.max(1) {
                return (wide >> 64) as usize;
            }
        }
    }

    /// Uniform in [0, 1) with 53 bits.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Standard normal, by Marsaglia's polar method.
    pub fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let r = x * x + y * y;
            if r > 0.0 && r < 1.0 {
                return x * (-2.0 * r.ln() / r).sqrt();
            }
        }
    }

    /// Puts the items into random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_laws() {
        let mut random = Random::new(1);
        let n = 200_000;
        let (mut u, mut g, mut g2, mut dice) = (0.0, 0.0, 0.0, [0usize; 6]);
        for _ in 0..n {
            u += random.uniform();
            let x = random.normal();
            g += x;
            g2 += x * x;
            dice[random.below(6)] += 1;
        }
        let n = f64::from(n);
        assert!((u / n - 0.5).abs() < 0.004 && (g / n).abs() < 0.01 && (g2 / n - 1.0).abs() < 0.02);
        // chi-square with 5 degrees of freedom: 20.5 is passed by chance once in a thousand seeds
        let chi: f64 = dice.iter().map(|&c| (c as f64 - n / 6.0).powi(2) / (n / 6.0)).sum();
        assert!(chi < 20.5, "{chi}");
    }

    #[test]
    fn a_shuffle_is_a_permutation() {
        let mut items: Vec<usize> = (0..100).collect();
        Random::new(3).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
