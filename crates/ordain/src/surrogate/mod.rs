//! Losses in score space; none of them sees a feature.

pub mod average_precision;
pub mod fixed_nulls;
pub mod isotonic;
pub mod label_logistic;
pub mod listnet;
pub mod lists;
pub mod matching;
pub mod pair_band;
pub mod pair_exponential;
pub mod pair_hinge;
pub mod pair_logistic;
pub mod pair_quadratic;
mod pair_side;
pub mod preferences;
pub mod ranking;
pub mod squared;
pub mod star;

/// `h = p (1 − p)`: the variances of what is 0 or 1, by probabilities, which may be a little outside of 0 to 1.
fn variances(p: &[f64], h: &mut [f64]) {
    h.iter_mut().zip(p).for_each(|(h, p)| *h = (p * (1.0 - p)).max(0.0));
}
