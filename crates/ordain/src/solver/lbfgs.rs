//! L-BFGS, for smooth risks without an exact second derivative.

use super::factor_shifted;
use super::past::{Past, difference};
use crate::error::{Error, Result};
use crate::matrix::{axpy, dot, finite, solve_factored};
use crate::traits::{Progress, Risk, Solver, State, Stop};

/// How many steps are remembered.
const MEMORY: usize = 20;

/// Minimises `λ/2·|θ|² + risk(θ)` (Nocedal and Wright 2006, algorithms 7.4 and 7.5).
///
/// Up to [`super::newton::EXPLICIT`] parameters, where the risk has a Hessian or a stand-in for it, the first matrix is its
/// inverse with λ added, written out once at zero: features that are nearly collinear then cost nothing. It stops
/// when the norm of the gradient is `tol` times the one at zero. A value that is not finite ends a trial step, not the run.
pub struct Lbfgs<'a> {
    risk: &'a mut dyn Risk,
    lambda: f64,
    tol: f64,
    theta: Vec<f64>,
    grad: Vec<f64>,
    objective: f64,
    at_zero: f64,
    factor: Vec<f64>,
    past: Past,
    next: (Vec<f64>, Vec<f64>),
    stalled: bool,
}

impl<'a> Lbfgs<'a> {
    /// Starts at `theta`.
    pub fn new(risk: &'a mut dyn Risk, lambda: f64, tol: f64, theta: Vec<f64>) -> Result<Self> {
        let d = risk.dim();
        let mut solver = Self::at(risk, lambda, tol, vec![0.0; d], None)?;
        if theta.iter().any(|&x| x != 0.0) {
            solver.theta = theta;
            solver.objective = solver.evaluate(false)?;
        }
        Ok(solver)
    }

    /// Starts at `theta` without a look at zero, where the norm of the gradient is known to be `at_zero`, else that of the start stands in for it.
    /// The first matrix is the curvature at the start.
    pub fn at(risk: &'a mut dyn Risk, lambda: f64, tol: f64, theta: Vec<f64>, at_zero: Option<f64>) -> Result<Self> {
        let d = risk.dim();
        let mut solver = Self {
            risk,
            lambda,
            tol,
            theta,
            grad: vec![0.0; d],
            objective: 0.0,
            at_zero: 0.0,
            factor: vec![],
            past: Past::default(),
            next: (vec![0.0; d], vec![0.0; d]),
            stalled: false,
        };
        solver.objective = solver.evaluate(false)?;
        solver.at_zero = at_zero.unwrap_or_else(|| solver.norm());
        if d <= super::newton::EXPLICIT {
            let mut hessian = vec![0.0; d * d];
            if solver.risk.hessian(&solver.theta, &mut hessian)? {
                factor_shifted(&hessian, lambda, d, &mut solver.factor)?;
            }
        }
        Ok(solver)
    }

    /// The norm of the gradient that others are relative to.
    pub fn at_zero(&self) -> f64 {
        self.at_zero
    }

    /// Goes on from a saved state, to the same bytes as if it had not stopped.
    pub fn restore(&mut self, from: &State) -> Result<()> {
        let d = self.theta.len();
        let of = |name: &str| from.iter().find(|(n, _)| n == name).map_or(&[][..], |(_, values)| values);
        if of("theta").len() == d {
            self.theta.copy_from_slice(of("theta"));
            self.objective = self.evaluate(false)?;
            let pairs = of("steps").chunks_exact(d.max(1)).zip(of("changes").chunks_exact(d.max(1)));
            self.past = Past::default();
            pairs.for_each(|(way, change)| self.past.push(way.to_vec(), change.to_vec(), MEMORY));
        }
        Ok(())
    }

    /// What [`Self::restore`] needs.
    pub fn state(&self) -> State {
        vec![
            ("theta".into(), self.theta.clone()),
            ("steps".into(), self.past.0.iter().flat_map(|step| step.way.clone()).collect()),
            ("changes".into(), self.past.0.iter().flat_map(|step| step.change.clone()).collect()),
        ]
    }

    fn evaluate(&mut self, at_next: bool) -> Result<f64> {
        let (theta, grad) = if at_next { (&self.next.0, &mut self.next.1) } else { (&self.theta, &mut self.grad) };
        let risk = self.risk.value(theta, grad)?;
        axpy(self.lambda, theta, grad);
        finite("the objective", risk + 0.5 * self.lambda * dot(theta, theta))
    }

    fn norm(&self) -> f64 {
        dot(&self.grad, &self.grad).sqrt()
    }

    /// Minus the inverse curvature, as far as it is known, times the gradient.
    fn direction(&self) -> Vec<f64> {
        let mut p: Vec<f64> = self.grad.iter().map(|g| -g).collect();
        self.past.apply(&mut p, |p| {
            let scale = match self.past.0.back() {
                _ if !self.factor.is_empty() => return solve_factored(&self.factor, p),
                Some(last) => last.product / dot(&last.change, &last.change),
                None => 1.0 / self.norm().max(1.0),
            };
            p.iter_mut().for_each(|p| *p *= scale);
        });
        p
    }
}

impl Lbfgs<'_> {
    fn make_step(&mut self) -> Result<()> {
        let p = self.direction();
        let slope = dot(&self.grad, &p);
        let rounding = 4.0 * f64::EPSILON * self.objective.abs();
        let (mut length, mut low, mut high) = (1.0, 0.0, f64::INFINITY);
        for _ in 0..60 {
            self.next.0.copy_from_slice(&self.theta);
            axpy(length, &p, &mut self.next.0);
            // weak Wolfe conditions by bisection; what cannot be evaluated is too far, but not what could not be asked
            let objective = match self.evaluate(true) {
                Err(error @ (Error::Interrupted | Error::Outside(_))) => return Err(error),
                other => other.unwrap_or(f64::INFINITY),
            };
            let ahead = dot(&self.next.1, &p);
            if objective > self.objective + 1e-4 * length * slope + rounding || !ahead.is_finite() {
                high = length;
            } else if ahead < 0.9 * slope {
                low = length;
            } else {
                let (way, change) = (difference(&self.next.0, &self.theta), difference(&self.next.1, &self.grad));
                self.past.push(way, change, MEMORY);
                self.stalled = objective >= self.objective;
                self.objective = objective;
                std::mem::swap(&mut self.theta, &mut self.next.0);
                std::mem::swap(&mut self.grad, &mut self.next.1);
                return Ok(());
            }
            length = if high.is_finite() { 0.5 * (low + high) } else { 2.0 * length };
        }
        self.objective = self.evaluate(false)?;
        self.stalled = true;
        Ok(())
    }
}

impl Solver for Lbfgs<'_> {
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
