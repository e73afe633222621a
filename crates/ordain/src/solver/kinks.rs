//! Newton's method for convex risks that are pieced together of squares and straight lines.

use super::factor_shifted;
use crate::error::Result;
use crate::matrix::{axpy, finite, solve_factored};
use crate::solver::run::Watch;
use crate::traits::{Risk, Stop};

/// Products with a Hessian in one step, at most.
const PRODUCTS: usize = 500;
/// A search along a line ends where the slope is so much of the one at its start.
const FLAT: f64 = 0.1;

/// Where a descent starts and ends.
pub struct Descent<'a> {
    /// Strength of the ridge.
    pub lambda: f64,
    /// The norm of the gradient at which it ends.
    pub enough: f64,
    /// The most steps.
    pub max_iter: usize,
    /// Up to so many parameters the Hessian is written out; above, products with it serve conjugate gradients.
    pub explicit: usize,
    /// Who may stop it.
    pub watch: &'a Watch<'a>,
}

/// Minimises `λ/2·|θ|² + risk(θ)` from `theta`: the parameters, the steps and why it ended.
///
/// Such a risk has kinks in its slope everywhere, so that a written-out Hessian serves one step, and a test of how far the objective fell
/// drowns in rounding long before the slope does. Each step goes along Newton's direction to where the slope of the objective in that
/// direction is nearly 0, which is found between two points by false position: of a slope that is pieced together of lines.
pub fn descend(risk: &mut dyn Risk, mut theta: Vec<f64>, how: &Descent) -> Result<(Vec<f64>, usize, Stop)> {
    let d = theta.len();
    let (mut grad, mut next, mut ahead) = (vec![0.0; d], vec![0.0; d], vec![0.0; d]);
    slope(risk, how.lambda, &theta, &mut grad)?;
    let first = risk.dot(&grad, &grad).max(0.0).sqrt();
    let mut iterations = 0;
    loop {
        let norm = risk.dot(&grad, &grad).max(0.0).sqrt();
        if norm <= how.enough {
            return Ok((theta, iterations, Stop::Gradient));
        }
        if how.watch.stopped() {
            return Ok((theta, iterations, Stop::Interrupted));
        }
        if iterations >= how.max_iter {
            return Ok((theta, iterations, Stop::Iterations));
        }
        let p = direction(risk, &theta, &grad, (norm / first).sqrt().min(0.1), how)?;
        let start = risk.dot(&grad, &p);
        if start >= 0.0 {
            return Ok((theta, iterations, Stop::Stalled));
        }
        // the ends of a piece with a root of the slope in it
        let ((mut low, mut low_slope), mut high) = ((0.0, start), None);
        let mut length = 1.0;
        for _ in 0..60 {
            next.copy_from_slice(&theta);
            axpy(length, &p, &mut next);
            slope(risk, how.lambda, &next, &mut ahead)?;
            let here = risk.dot(&ahead, &p);
            if here.abs() <= FLAT * start.abs() || here < 0.0 && high.is_none() {
                break;
            }
            match here > 0.0 {
                true => {
                    // an end that stays twice counts half, so that both ends move
                    low_slope *= if high.is_some() { 0.5 } else { 1.0 };
                    high = Some((length, here));
                }
                false => {
                    high = high.map(|(at, value)| (at, 0.5 * value));
                    (low, low_slope) = (length, here);
                }
            }
            let Some((up, up_slope)) = high else { break };
            let share = (low_slope / (low_slope - up_slope)).clamp(0.02, 0.98);
            length = low + share * (up - low);
        }
        iterations += 1;
        let still = theta.iter().zip(&next).all(|(a, b)| a.to_bits() == b.to_bits());
        std::mem::swap(&mut theta, &mut next);
        std::mem::swap(&mut grad, &mut ahead);
        if still {
            return Ok((theta, iterations, Stop::Stalled));
        }
    }
}

/// The gradient of the objective.
fn slope(risk: &mut dyn Risk, lambda: f64, theta: &[f64], grad: &mut [f64]) -> Result<()> {
    finite("the objective", risk.value(theta, grad)?)?;
    axpy(lambda, theta, grad);
    Ok(())
}

/// `−(H + λ)⁻¹ g`, or nearly.
fn direction(risk: &mut dyn Risk, theta: &[f64], grad: &[f64], accuracy: f64, how: &Descent) -> Result<Vec<f64>> {
    let d = theta.len();
    let mut r: Vec<f64> = grad.iter().map(|g| -g).collect();
    if d <= how.explicit {
        let (mut hessian, mut factor) = (vec![0.0; d * d], vec![]);
        if risk.hessian(theta, &mut hessian)? {
            factor_shifted(&hessian, how.lambda, d, &mut factor)?;
            solve_factored(&factor, &mut r);
            return Ok(r);
        }
    }
    let (mut p, mut q, mut hq) = (vec![0.0; d], r.clone(), vec![0.0; d]);
    let mut rr = risk.dot(&r, &r);
    let enough = rr * accuracy * accuracy;
    for _ in 0..PRODUCTS {
        if rr <= enough || rr == 0.0 || how.watch.stopped() || !risk.curvature(theta, &q, &mut hq)? {
            break;
        }
        axpy(how.lambda, &q, &mut hq);
        let a = rr / finite("the curvature", risk.dot(&q, &hq))?;
        axpy(a, &q, &mut p);
        axpy(-a, &hq, &mut r);
        let new = risk.dot(&r, &r);
        q.iter_mut().zip(&r).for_each(|(q, r)| *q = r + new / rr * *q);
        rr = new;
    }
    Ok(p)
}
