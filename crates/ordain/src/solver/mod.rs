//! Minimisers of a ridge plus a risk; none of them knows what an example means.

pub mod ball;
pub mod block_fw;
pub mod boost;
pub mod bundle;
pub mod cccp;
pub mod kinks;
pub mod lbfgs;
pub mod newton;
mod past;
pub mod run;
pub mod signed;
pub mod stages;

use crate::error::Result;
use crate::matrix::{factor_spd, finite};

/// Cholesky's factor of `H + λ`. Where λ is lost in the rounding of H, a larger shift gives shorter steps downhill.
fn factor_shifted(hessian: &[f64], lambda: f64, d: usize, factor: &mut Vec<f64>) -> Result<()> {
    let largest = (0..d).fold(lambda, |a, j| a.max(hessian[j * d + j]));
    let mut shift = lambda;
    loop {
        factor.clear();
        factor.extend_from_slice(hessian);
        (0..d).for_each(|j| factor[j * d + j] += shift);
        if factor_spd(factor, d) {
            return Ok(());
        }
        shift = (10.0 * shift).max(1e-14 * largest);
        finite("the Hessian", shift)?;
    }
}
