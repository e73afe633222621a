//! How precise matches are by their probability: what a fit said of problems that it had not seen.

use crate::data::Truth;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// How many matches had a probability from `least` up to the next of the thresholds, and how many of them were right.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrecisionBin {
    /// The threshold.
    pub least: f64,
    /// Matches of which it is known whether they are right.
    pub matches: u32,
    /// Those that are.
    pub right: u32,
}

/// Matches of problems that a fit had not seen, counted by their probability, from the least.
///
/// Thresholds are 0, .01, …, .99, .991, …, .999, .9991, …, .9999, .99991, …, .99999. Counts do not depend on the order of problems, and those
/// of two parts add up. There are 127 bins at most, whatever the data; empty ones are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Precision(Vec<PrecisionBin>);

/// A threshold with the matches at it or above it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reached {
    /// The least probability.
    pub least: f64,
    /// How many matches had no less.
    pub matches: u64,
    /// How many of these were right.
    pub right: u64,
}

impl Reached {
    /// The share of these matches that are right.
    pub fn precision(&self) -> f64 {
        self.right as f64 / self.matches as f64
    }
}

/// All thresholds, ascending.
fn thresholds() -> Vec<f64> {
    let fine = |digits: u32| {
        let whole = 10u32.pow(digits);
        (whole - 9..whole).map(move |n| f64::from(n) / f64::from(whole))
    };
    (0..100).map(|n| f64::from(n) / 100.0).chain((3..=5).flat_map(fine)).collect()
}

impl Precision {
    /// That of some matches; nothing if of none of them it is known whether they are right. O(n·log).
    pub(super) fn learn(matches: impl Iterator<Item = (f64, Truth)>) -> Option<Self> {
        let thresholds = thresholds();
        let mut bins: Vec<PrecisionBin> =
            thresholds.iter().map(|&least| PrecisionBin { least, matches: 0, right: 0 }).collect();
        for (p, truth) in matches.filter(|(_, truth)| *truth != Truth::Unknown) {
            // a probability of 0, or by rounding below it, is in the first
            let bin = &mut bins[thresholds.partition_point(|&least| least <= p).saturating_sub(1)];
            bin.matches += 1;
            bin.right += u32::from(truth == Truth::Yes);
        }
        bins.retain(|bin| bin.matches > 0);
        (!bins.is_empty()).then_some(Self(bins))
    }

    /// Whether these can be counts.
    pub(crate) fn fits(&self) -> bool {
        let bin = |bin: &PrecisionBin| (0.0..1.0).contains(&bin.least) && bin.matches > 0 && bin.right <= bin.matches;
        !self.0.is_empty() && self.0.iter().all(bin) && self.0.windows(2).all(|pair| pair[0].least < pair[1].least)
    }

    /// The counts, from the least threshold.
    pub fn bins(&self) -> &[PrecisionBin] {
        &self.0
    }

    /// Every threshold that has matches, from the largest, with those at it or above it.
    fn reached(&self) -> impl Iterator<Item = Reached> {
        self.0.iter().rev().scan((0, 0), |(matches, right), bin| {
            *matches += u64::from(bin.matches);
            *right += u64::from(bin.right);
            Some(Reached { least: bin.least, matches: *matches, right: *right })
        })
    }

    /// The least threshold at which these matches are as precise as is asked, from 0 (not with it) to 1. O(bins).
    ///
    /// # Errors
    ///
    /// [`Error::Setting`] for a precision that is none, and for one that no threshold reaches: it says the largest that one does.
    pub fn threshold(&self, precision: f64) -> Result<Reached> {
        let refuse =
            |expected: String| Err(Error::Setting { name: "precision".into(), expected, found: precision.to_string() });
        if !(precision > 0.0 && precision <= 1.0) {
            return refuse("a share of matches that are right, above 0 and at most 1".into());
        }
        if let Some(least) = self.reached().filter(|reached| reached.precision() >= precision).last() {
            return Ok(least);
        }
        let best =
            self.reached().max_by(|a, b| a.precision().total_cmp(&b.precision()).then(a.matches.cmp(&b.matches)));
        match best {
            None => refuse("a model that knows how precise its matches are".into()),
            Some(best) => refuse(format!(
                "at most {}, the largest precision that any threshold reaches on validation (at a probability of {}: {} of {} matches)",
                best.precision(),
                best.least,
                best.right,
                best.matches
            )),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)] // a test may panic
mod tests {
    use super::*;
    use crate::random::Random;

    /// The least of all thresholds, each counted by itself over all matches.
    fn slow(matches: &[(f64, Truth)], precision: f64) -> Option<f64> {
        let share = |least: f64| {
            let some: Vec<&(f64, Truth)> =
                matches.iter().filter(|(p, truth)| *p >= least && *truth != Truth::Unknown).collect();
            some.iter().filter(|(_, truth)| *truth == Truth::Yes).count() as f64 / some.len() as f64
        };
        thresholds().into_iter().find(|&least| share(least) >= precision)
    }

    /// The precision at and above a threshold that is found is what was asked for, and at no lesser threshold that is not empty; the order of
    /// matches says nothing.
    #[test]
    fn the_threshold_is_the_least_that_reaches_the_precision() {
        let mut random = Random::new(7);
        let (mut found, mut refused) = (0, 0);
        for round in 0..300 {
            let count = 1 + random.below(60);
            let mut matches: Vec<(f64, Truth)> = (0..count)
                .map(|_| {
                    let p = 1.0 - random.uniform().powi(1 + round % 7);
                    // bolder than it should be, so that some precisions are not reached
                    let truth = if random.uniform() < 0.9 * p * p { Truth::Yes } else { Truth::No };
                    (p, if random.below(9) == 0 { Truth::Unknown } else { truth })
                })
                .collect();
            let Some(learned) = Precision::learn(matches.iter().copied()) else { continue };
            assert!(learned.fits());
            matches.reverse();
            assert_eq!(Precision::learn(matches.iter().copied()).unwrap(), learned);
            for precision in [0.3, 0.8, 0.95, 1.0] {
                match (learned.threshold(precision), slow(&matches, precision)) {
                    (Ok(reached), Some(least)) => {
                        let kept =
                            |from: f64| matches.iter().filter(|(p, t)| *p >= from && *t != Truth::Unknown).count();
                        assert!(reached.precision() >= precision);
                        // between the two there is no match: only bins that have some are kept
                        assert_eq!(kept(reached.least), kept(least));
                        assert_eq!(reached.matches, kept(least) as u64);
                        found += 1;
                    }
                    (Err(error), None) => {
                        assert!(error.to_string().contains("largest precision"), "{error}");
                        refused += 1;
                    }
                    (one, other) => panic!("{one:?} and {other:?}"),
                }
            }
        }
        assert!(found > 100 && refused > 100, "{found} {refused}");
    }

    #[test]
    fn there_are_few_thresholds_and_they_read_well() {
        let all = thresholds();
        assert_eq!(all.len(), 127);
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]));
        let text: Vec<String> = [0, 7, 99, 100, 109, 126].iter().map(|&n: &usize| all[n].to_string()).collect();
        assert_eq!(text, ["0", "0.07", "0.99", "0.991", "0.9991", "0.99999"]);
    }

    #[test]
    fn what_is_no_precision_is_refused() {
        let one = Precision::learn([(0.5, Truth::Yes)].into_iter()).unwrap();
        for wrong in [0.0, -1.0, 1.1, f64::NAN] {
            assert!(one.threshold(wrong).unwrap_err().to_string().contains("above 0"), "{wrong}");
        }
        assert_eq!(Precision::learn([(0.5, Truth::Unknown)].into_iter()), None);
        let bin = PrecisionBin { least: 0.5, matches: 1, right: 2 };
        assert!(!Precision(vec![bin]).fits() && !Precision(vec![]).fits());
    }
}
