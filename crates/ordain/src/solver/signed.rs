//! A quasi-Newton method for smooth convex risks some of whose parameters must keep a sign.

use super::factor_shifted;
use super::past::{Past, difference};
use crate::error::{Error, Result};
use crate::matrix::{axpy, dot, finite, solve_factored};
use crate::traits::{Progress, Risk, Solver, Stop};

/// How many steps are remembered.
const MEMORY: usize = 20;
/// Two steps in a row that do not make the gradient this many times smaller make the Hessian old.
const POOR: f64 = 3.0;

/// Minimises `λ/2·|θ|² + risk(θ)` where θ_j ≥ 0 for sign +1, θ_j ≤ 0 for sign −1 and θ_j is free for sign 0.
///
/// A parameter that is 0 and whose slope pushes it over its bound is held; the others take a step of L-BFGS, and what crosses 0 on the way
/// stays there: projection in two metrics, Bertsekas 1982. Up to [`super::newton::EXPLICIT`] parameters the first matrix is the Hessian of those that
/// are not held, where the risk has one. It stops when the gradient of those that are not held is `tol` times the one at zero.
pub struct Signed<'a> {
    risk: &'a mut dyn Risk,
    signs: &'a [i8],
    lambda: f64,
    tol: f64,
    theta: Vec<f64>,
    grad: Vec<f64>,
    objective: f64,
    at_zero: f64,
    /// The Hessian of the risk, where it was last written out; empty without one.
    hessian: Vec<f64>,
    /// Cholesky's factor of its part that is not held, with the ridge; and which part that is.
    factor: (Vec<f64>, Vec<usize>),
    past: Past,
    poor: u32,
    stalled: bool,
}

impl<'a> Signed<'a> {
    /// Starts at `theta`, or at the nearest point with the right signs; parameters behind the last sign are free.
    pub fn new(risk: &'a mut dyn Risk, signs: &'a [i8], lambda: f64, tol: f64, theta: &[f64]) -> Result<Self> {
        let d = risk.dim();
        let mut solver = Self {
            risk,
            signs,
            lambda,
            tol,
            theta: vec![0.0; d],
            grad: vec![0.0; d],
            objective: 0.0,
            at_zero: 0.0,
            hessian: vec![],
            factor: (vec![], vec![]),
            past: Past::default(),
            poor: 0,
            stalled: false,
        };
        (solver.objective, solver.grad) = solver.evaluate(&solver.theta.clone())?;
        solver.at_zero = solver.norm();
        // where everything is held at zero, that is the minimum
        if solver.at_zero > 0.0 && theta.iter().any(|&x| x != 0.0) {
            solver.theta = theta.to_vec();
            solver.put_inside();
            (solver.objective, solver.grad) = solver.evaluate(&solver.theta.clone())?;
        }
        solver.write_out()?;
        Ok(solver)
    }

    fn sign(&self, j: usize) -> f64 {
        self.signs.get(j).map_or(0.0, |&sign| f64::from(sign))
    }

    fn put_inside(&mut self) {
        for j in 0..self.theta.len() {
            if self.sign(j) * self.theta[j] < 0.0 {
                self.theta[j] = 0.0;
            }
        }
    }

    /// Whether a parameter stays at its bound.
    fn held(&self, j: usize) -> bool {
        let sign = self.sign(j);
        sign != 0.0 && sign * self.theta[j] <= 0.0 && sign * self.grad[j] > 0.0
    }

    fn evaluate(&mut self, theta: &[f64]) -> Result<(f64, Vec<f64>)> {
        let mut grad = vec![0.0; theta.len()];
        let risk = self.risk.value(theta, &mut grad)?;
        axpy(self.lambda, theta, &mut grad);
        Ok((finite("the objective", risk + 0.5 * self.lambda * dot(theta, theta))?, grad))
    }

    /// The norm of the gradient of what is not held.
    fn norm(&self) -> f64 {
        (0..self.grad.len()).filter(|&j| !self.held(j)).map(|j| self.grad[j] * self.grad[j]).sum::<f64>().sqrt()
    }

    /// Writes the Hessian out, where there is one and it is small.
    fn write_out(&mut self) -> Result<()> {
        let d = self.theta.len();
        if d <= super::newton::EXPLICIT {
            let mut hessian = vec![0.0; d * d];
            if self.risk.hessian(&self.theta, &mut hessian)? {
                (self.hessian, self.factor, self.past) = (hessian, (vec![], vec![]), Past::default());
            }
        }
        Ok(())
    }

    /// Minus the inverse curvature among the parameters that are not held, as far as it is known, times the gradient.
    fn direction(&mut self, free: &[usize]) -> Result<Vec<f64>> {
        let of = |all: &[f64]| free.iter().map(|&j| all[j]).collect::<Vec<f64>>();
        let mut past = Past::default();
        self.past.0.iter().for_each(|step| past.push(of(&step.way), of(&step.change), MEMORY));
        if !self.hessian.is_empty() && self.factor.1 != free {
            let (d, m) = (self.theta.len(), free.len());
            let part: Vec<f64> = free.iter().flat_map(|&i| of(&self.hessian[i * d..(i + 1) * d])).collect();
            factor_shifted(&part, self.lambda, m, &mut self.factor.0)?;
            self.factor.1 = free.to_vec();
        }
        let mut p: Vec<f64> = of(&self.grad).iter().map(|g| -g).collect();
        let norm = self.norm();
        past.apply(&mut p, |p| {
            let scale = match past.0.back() {
                _ if !self.hessian.is_empty() => return solve_factored(&self.factor.0, p),
                Some(last) => last.product / dot(&last.change, &last.change),
                None => 1.0 / norm.max(1.0),
            };
            p.iter_mut().for_each(|p| *p *= scale);
        });
        let mut all = vec![0.0; self.theta.len()];
        free.iter().zip(p).for_each(|(&j, p)| all[j] = p);
        Ok(all)
    }

    fn make_step(&mut self) -> Result<()> {
        let before = self.norm();
        let fresh = self.past.0.is_empty();
        let free: Vec<usize> = (0..self.theta.len()).filter(|&j| !self.held(j)).collect();
        let p = self.direction(&free)?;
        let rounding = 4.0 * f64::EPSILON * self.objective.abs();
        let mut length = 1.0;
        while length > 1e-10 {
            let mut next = self.theta.clone();
            axpy(length, &p, &mut next);
            // what crosses its bound stays there
            for (j, next) in next.iter_mut().enumerate() {
                if self.sign(j) * *next < 0.0 {
                    *next = 0.0;
                }
            }
            let way = difference(&next, &self.theta);
            let tried = match self.evaluate(&next) {
                Err(Error::Interrupted) => return Err(Error::Interrupted),
                Err(_) => None,
                Ok((objective, _)) if objective > self.objective + 1e-4 * dot(&self.grad, &way) + rounding => None,
                Ok(tried) => Some(tried),
            };
            let Some((objective, grad)) = tried else {
                length *= 0.5;
                continue;
            };
            self.past.push(way, difference(&grad, &self.grad), MEMORY);
            let level = objective >= self.objective;
            (self.theta, self.grad, self.objective) = (next, grad, objective);
            self.stalled = level && fresh;
            self.poor = if self.norm() > before / POOR { self.poor + 1 } else { 0 };
            if level || self.poor > 1 && !self.hessian.is_empty() {
                (self.poor, self.past) = (0, Past::default());
                return self.write_out();
            }
            return Ok(());
        }
        // no way down: what is remembered may be why
        self.stalled = fresh;
        self.past = Past::default();
        self.write_out()
    }
}

impl Solver for Signed<'_> {
    fn step(&mut self) -> Result<()> {
        self.risk.heed(true);
        let made = self.make_step();
        self.risk.heed(false);
        made
    }

    fn progress(&self) -> Progress {
        let gradient = if self.at_zero > 0.0 { self.norm() / self.at_zero } else { 0.0 };
        let done = if gradient <= self.tol { Some(Stop::Gradient) } else { self.stalled.then_some(Stop::Stalled) };
        Progress { objective: self.objective, gradient, gap: None, done }
    }

    fn theta(&self) -> &[f64] {
        &self.theta
    }
}
