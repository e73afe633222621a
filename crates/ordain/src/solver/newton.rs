//! Newton's method with a line search, for risks with a second derivative.

use super::factor_shifted;
use super::past::{Past, difference};
use crate::error::{Error, Result};
use crate::matrix::{axpy, finite, solve_factored};
use crate::traits::{Progress, Risk, Solver, Stop};

/// Up to this many parameters the Hessian is written out; above, it is used through its products (CG).
///
/// With d parameters and n rows the explicit Hessian costs about `n d²` multiplications in one matrix product, a
/// product with it `2 n d`, and a Newton step needs tens of these.
pub const EXPLICIT: usize = 200;

/// A written-out Hessian of d parameters costs about as much as `d / 8` products with it: `n d²/2` multiplications in a matrix product
/// against `2 n d` as fast as memory.
const PRODUCTS: usize = 8;

/// Minimises `λ/2·|θ|² + risk(θ)`.
///
/// A step solves `(H + λ) p = −g`, by Cholesky's factor up to [`EXPLICIT`] parameters and by conjugate gradients to a
/// relative residual of at most 0.1 above, then halves its length until the objective falls enough (Armijo). It stops
/// when the norm of the gradient is `tol` times the one at zero.
///
/// A written-out Hessian costs about four evaluations, and pair losses change theirs little from step to step. So it
/// serves for further steps, corrected by what each of them shows of the curvature (BFGS, Nocedal and Wright 2006,
/// algorithm 7.4 with `(H + λ)⁻¹` as its first matrix), and for the next λ of a path, until two steps in a row fail to
/// make the gradient three times smaller; then it is written out anew.
pub struct Newton<'a> {
    risk: &'a mut dyn Risk,
    lambda: f64,
    tol: f64,
    theta: Vec<f64>,
    grad: Vec<f64>,
    objective: f64,
    memory: Memory,
    stalled: bool,
    poor: u32,
    next: (Vec<f64>, Vec<f64>),
    direction: Vec<f64>,
    matrix: Vec<f64>,
    /// Steps since the Hessian was written out.
    past: Past,
    explicit: bool,
    /// Whether the Hessian is written out once products with it turn out to cost more.
    may_turn: bool,
}

/// What a run leaves to the next one on the same risk, whatever its λ.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// Norm of the gradient at zero.
    at_zero: Option<f64>,
    /// The Hessian of the risk where it was last written out.
    hessian: Vec<f64>,
}

impl<'a> Newton<'a> {
    /// Starts at `theta`, with the memory of an earlier run on the same risk.
    pub fn new(risk: &'a mut dyn Risk, lambda: f64, tol: f64, theta: Vec<f64>, memory: Memory) -> Result<Self> {
        let d = risk.dim();
        let explicit = d <= EXPLICIT;
        let mut newton = Self {
            risk,
            lambda,
            tol,
            grad: vec![0.0; d],
            objective: 0.0,
            memory,
            stalled: false,
            poor: 0,
            next: (vec![0.0; d], vec![0.0; d]),
            direction: vec![0.0; d],
            matrix: vec![],
            past: Past::default(),
            explicit,
            may_turn: false,
            theta: vec![0.0; d],
        };
        let moved = theta.iter().any(|&x| x != 0.0);
        if !moved || newton.memory.at_zero.is_none() {
            newton.objective = newton.evaluate(false)?;
            newton.memory.at_zero = Some(newton.norm());
        }
        if moved {
            newton.theta = theta;
            newton.objective = newton.evaluate(false)?;
        }
        Ok(newton)
    }

    /// Uses products with the Hessian whatever the number of parameters.
    pub fn by_products(mut self) -> Self {
        self.explicit = false;
        self
    }

    /// Where there are more parameters than [`EXPLICIT`], writes the Hessian out all the same once a step has taken more products than that
    /// costs: with weak ridges conjugate gradients take hundreds. For features that are dense.
    pub(crate) fn may_write_out(mut self) -> Self {
        self.may_turn = true;
        self
    }

    /// What the next run on the same risk can use.
    pub fn into_memory(self) -> Memory {
        self.memory
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

    /// The norm of the gradient, relative to the one at zero.
    fn relative(&self) -> f64 {
        let at_zero = self.memory.at_zero.unwrap_or(0.0);
        if at_zero > 0.0 { self.norm() / at_zero } else { 0.0 }
    }

    /// Moves to the next point and remembers what the way there showed.
    fn accept(&mut self, objective: f64) {
        self.objective = objective;
        if self.explicit {
            let (way, change) = (difference(&self.next.0, &self.theta), difference(&self.next.1, &self.grad));
            self.past.push(way, change, usize::MAX);
        }
        std::mem::swap(&mut self.theta, &mut self.next.0);
        std::mem::swap(&mut self.grad, &mut self.next.1);
    }

    fn no_curvature() -> Error {
        Error::Data {
            expected: "a loss with a second derivative for Newton's method".into(),
            found: "one without".into(),
        }
    }

    /// `p = −(H + λ)⁻¹ g` with the Hessian written out, and corrected by the steps made since.
    fn solve_explicit(&mut self) -> Result<()> {
        if self.memory.hessian.is_empty() {
            self.memory.hessian.resize(self.theta.len().pow(2), 0.0);
            let there = self
                .risk
                .hessian(&self.theta, &mut self.memory.hessian)
                .inspect_err(|_| self.memory.hessian.clear())?;
            if !there {
                // no Hessian, or one whose making would take too much memory
                self.memory.hessian.clear();
                (self.explicit, self.may_turn) = (false, false);
                return self.solve_by_products();
            }
            self.past = Past::default();
            self.matrix.clear();
        }
        if self.matrix.is_empty() {
            factor_shifted(&self.memory.hessian, self.lambda, self.theta.len(), &mut self.matrix)?;
        }
        let p = &mut self.direction;
        p.iter_mut().zip(&self.grad).for_each(|(p, g)| *p = -g);
        self.past.apply(p, |p| solve_factored(&self.matrix, p));
        Ok(())
    }

    /// `p ≈ −(H + λ)⁻¹ g` by conjugate gradients.
    fn solve_by_products(&mut self) -> Result<()> {
        let d = self.theta.len();
        let accuracy = self.relative().sqrt().min(0.1);
        let p = &mut self.direction;
        p.fill(0.0);
        let mut r: Vec<f64> = self.grad.iter().map(|g| -g).collect();
        let (mut q, mut hq) = (r.clone(), vec![0.0; d]);
        let mut rr = self.risk.dot(&r, &r);
        let enough = rr * accuracy * accuracy;
        for products in 0..500 {
            if self.may_turn && products > d / PRODUCTS {
                self.explicit = true; // from the next step on
                self.memory.hessian.clear();
                break;
            }
            if rr <= enough || rr == 0.0 {
                break;
            }
            if !self.risk.curvature(&self.theta, &q, &mut hq)? {
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

impl Newton<'_> {
    fn make_step(&mut self) -> Result<()> {
        let before = self.norm();
        // without a written-out Hessian there is nothing that could be old
        let fresh = !self.explicit || self.memory.hessian.is_empty();
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
                let level = objective >= self.objective;
                self.accept(objective);
                // a step that stays level within the rounding although its Hessian is new is the last one
                self.stalled = level && fresh;
                self.poor = if self.norm() > before / 3.0 { self.poor + 1 } else { 0 };
                if level || self.poor > 1 {
                    self.poor = 0;
                    self.memory.hessian.clear();
                }
                return Ok(());
            }
            length *= 0.5;
            if length < 1e-10 {
                self.stalled = fresh;
                self.memory.hessian.clear();
                self.objective = self.evaluate(false)?;
                return Ok(());
            }
        }
    }
}

impl Solver for Newton<'_> {
    fn step(&mut self) -> Result<()> {
        self.risk.heed(true);
        let made = self.make_step();
        self.risk.heed(false);
        made
    }

    fn progress(&self) -> Progress {
        let gradient = self.relative();
        let done = if gradient <= self.tol { Some(Stop::Gradient) } else { self.stalled.then_some(Stop::Stalled) };
        Progress { objective: self.objective, gradient, gap: None, done }
    }

    fn theta(&self) -> &[f64] {
        &self.theta
    }
}
