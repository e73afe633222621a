//! Newton's method with a line search, for risks with a second derivative.

use crate::error::{Error, Result};
use crate::matrix::{axpy, finite, solve_spd};
use crate::traits::{Progress, Risk, Solver, Stop};

/// Up to this many parameters the Hessian is written out; above, it is used through its products (CG).
///
/// With d parameters and n rows the explicit Hessian costs about `n d²` multiplications in one matrix product, a
/// product with it `2 n d`, and a Newton step needs tens of these.
pub const EXPLICIT: usize = 200;

/// Minimises `λ/2·|θ|² + risk(θ)`.
///
/// A step solves `(H + λ) p = −g`, by Cholesky's factor up to [`EXPLICIT`] parameters and by conjugate gradients to a
/// relative residual of at most 0.1 above, then halves its length until the objective falls enough (Armijo). It stops
/// when the norm of the gradient is `tol` times the one at zero.
pub struct Newton<'a> {
    risk: &'a mut dyn Risk,
    lambda: f64,
    tol: f64,
    theta: Vec<f64>,
    grad: Vec<f64>,
    objective: f64,
    at_zero: f64,
    stalled: bool,
    next: (Vec<f64>, Vec<f64>),
    direction: Vec<f64>,
    matrix: Vec<f64>,
    explicit: bool,
}

impl<'a> Newton<'a> {
    /// Starts at `theta`. `at_zero` is the norm of the gradient at zero, where it is known from an earlier run.
    pub fn new(risk: &'a mut dyn Risk, lambda: f64, tol: f64, theta: Vec<f64>, at_zero: Option<f64>) -> Result<Self> {
        let d = risk.dim();
        let explicit = d <= EXPLICIT;
        let mut newton = Self {
            risk,
            lambda,
            tol,
            grad: vec![0.0; d],
            objective: 0.0,
            at_zero: 0.0,
            stalled: false,
            next: (vec![0.0; d], vec![0.0; d]),
            direction: vec![0.0; d],
            matrix: vec![],
            explicit,
            theta: vec![0.0; d],
        };
        let moved = theta.iter().any(|&x| x != 0.0);
        if !moved || at_zero.is_none() {
            newton.objective = newton.evaluate(false)?;
            newton.at_zero = newton.norm();
        }
        if moved {
            newton.theta = theta;
            newton.objective = newton.evaluate(false)?;
        }
        newton.at_zero = at_zero.unwrap_or(newton.at_zero);
        Ok(newton)
    }

    /// Uses products with the Hessian whatever the number of parameters.
    pub fn by_products(mut self) -> Self {
        self.explicit = false;
        self
    }

    /// The norm of the gradient at zero, by which the stop rule measures.
    pub fn at_zero(&self) -> f64 {
        self.at_zero
    }

    /// Objective and gradient, at the present point or at the next.
    fn evaluate(&mut self, at_next: bool) -> Result<f64> {
        let (theta, grad) = if at_next { (&self.next.0, &mut self.next.1) } else { (&self.theta, &mut self.grad) };
        let risk = self.risk.value(theta, grad)?;
        axpy(self.lambda, theta, grad);
        finite("the objective", risk + 0.5 * self.lambda * self.risk.dot(theta, theta))
    }

    fn norm(&self) -> f64 {
        self.risk.dot(&self.grad, &self.grad).max(0.0).sqrt()
    }

    fn no_curvature() -> Error {
        Error::Data {
            expected: "a loss with a second derivative for Newton's method".into(),
            found: "one without".into(),
        }
    }

    /// `p = −(H + λ)⁻¹ g` with the Hessian written out.
    fn solve_explicit(&mut self) -> Result<()> {
        let d = self.theta.len();
        let mut hessian = vec![0.0; d * d];
        if !self.risk.hessian(&mut hessian)? {
            return Err(Self::no_curvature());
        }
        let largest = (0..d).fold(self.lambda, |a, j| a.max(hessian[j * d + j]));
        let mut shift = self.lambda;
        loop {
            self.matrix.clone_from(&hessian);
            (0..d).for_each(|j| self.matrix[j * d + j] += shift);
            self.direction.iter_mut().zip(&self.grad).for_each(|(p, g)| *p = -g);
            if solve_spd(&mut self.matrix, &mut self.direction) {
                return Ok(());
            }
            // λ lost in the rounding of H: a larger shift gives a shorter step downhill, and the stop rule stays the same
            shift = (10.0 * shift).max(1e-14 * largest);
            finite("the Hessian", shift)?;
        }
    }

    /// `p ≈ −(H + λ)⁻¹ g` by conjugate gradients.
    fn solve_by_products(&mut self) -> Result<()> {
        let d = self.theta.len();
        let relative = if self.at_zero > 0.0 { self.norm() / self.at_zero } else { 0.0 };
        let accuracy = relative.sqrt().min(0.1);
        let p = &mut self.direction;
        p.fill(0.0);
        let mut r: Vec<f64> = self.grad.iter().map(|g| -g).collect();
        let (mut q, mut hq) = (r.clone(), vec![0.0; d]);
        let mut rr = self.risk.dot(&r, &r);
        let enough = rr * accuracy * accuracy;
        for _ in 0..500 {
            if rr <= enough || rr == 0.0 {
                break;
            }
            if !self.risk.curvature(&q, &mut hq)? {
                return Err(Self::no_curvature());
            }
            axpy(self.lambda, &q, &mut hq);
            let a = rr / finite("the curvature", self.risk.dot(&q, &hq))?;
            axpy(a, &q, p);
            axpy(-a, &hq, &mut r);
            let new = self.risk.dot(&r, &r);
            q.iter_mut().zip(&r).for_each(|(q, r)| *q = r + new / rr * *q);
            rr = new;
        }
        Ok(())
    }
}

impl Solver for Newton<'_> {
    fn step(&mut self) -> Result<()> {
        if self.explicit {
            self.solve_explicit()?;
        } else {
            self.solve_by_products()?;
        }
        let slope = self.risk.dot(&self.grad, &self.direction);
        let rounding = 4.0 * f64::EPSILON * self.objective.abs();
        let mut length = 1.0;
        loop {
            self.next.0.copy_from_slice(&self.theta);
            axpy(length, &self.direction, &mut self.next.0);
            let objective = self.evaluate(true)?;
            if objective <= self.objective + 1e-4 * length * slope + rounding {
                // a step that only stays level within the rounding is the last one
                self.stalled = objective >= self.objective;
                self.objective = objective;
                std::mem::swap(&mut self.theta, &mut self.next.0);
                std::mem::swap(&mut self.grad, &mut self.next.1);
                return Ok(());
            }
            length *= 0.5;
            if length < 1e-10 {
                self.stalled = true;
                self.objective = self.evaluate(false)?;
                return Ok(());
            }
        }
    }

    fn progress(&self) -> Progress {
        let norm = self.norm();
        let gradient = if self.at_zero > 0.0 { norm / self.at_zero } else { 0.0 };
        let done = if gradient <= self.tol { Some(Stop::Gradient) } else { self.stalled.then_some(Stop::Stalled) };
        Progress { objective: self.objective, gradient, done }
    }

    fn theta(&self) -> &[f64] {
        &self.theta
    }
}
