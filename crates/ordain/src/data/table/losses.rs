//! What columns lose when their values are stored in single precision.

/// More than this share of the spread of a column is worth a warning.
const MOST: f64 = 1e-6;

/// The range of a column, and the most that a value lost.
#[derive(Clone, Copy)]
pub(in crate::data) struct Loss {
    low: f64,
    high: f64,
    worst: f64,
}

impl Default for Loss {
    fn default() -> Self {
        Self { low: f64::INFINITY, high: f64::NEG_INFINITY, worst: 0.0 }
    }
}

impl Loss {
    /// A value, and what was stored of it.
    #[inline]
    pub(in crate::data) fn add(&mut self, x: f64, stored: f32) {
        self.low = if x < self.low { x } else { self.low };
        self.high = if x > self.high { x } else { self.high };
        let lost = (x - f64::from(stored)).abs();
        self.worst = if lost > self.worst { lost } else { self.worst };
    }

    /// Whether values that differ can hardly be told apart any more.
    pub(in crate::data) fn is_coarse(&self) -> bool {
        self.worst > MOST * (self.high - self.low) && self.high > self.low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coarse(values: &[f64]) -> bool {
        let mut loss = Loss::default();
        values.iter().for_each(|&x| loss.add(x, x as f32));
        loss.is_coarse()
    }

    #[test]
    fn time_stamps_are_coarse_and_years_are_not() {
        assert!(coarse(&[1_700_000_000.0, 1_700_000_001.0, 1_700_086_400.0]));
        assert!(coarse(&[1000.0001, 1000.0002]));
        assert!(!coarse(&[1999.0, 2024.0]));
        assert!(!coarse(&[0.1, 0.2, 0.3]));
        assert!(!coarse(&[0.1, 0.1]));
        assert!(!coarse(&[]));
    }
}
