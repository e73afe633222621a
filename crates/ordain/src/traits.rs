//! The five traits of every learner, on one page, and the plain types beside them.
//!
//! Everything trained here is `ridge(θ) + Σ_n weight_n · L_n(A_n θ)`: `A_n` is linear and belongs to the [`Scorer`],
//! `L_n` lives in score space and belongs to the [`Surrogate`]; their sum is a [`Risk`], which a [`Solver`] minimises; where only
//! the worst output of an example can be found, examples are [`Blocks`].

use crate::error::Result;
use crate::matrix;
use crate::pieces::Pieces;
use std::ops::Range;

/// Parameters to the scores of examples, `s_n = A_n θ`, and back, `grad += A_nᵀ d_n`.
pub trait Scorer: Sync {
    /// Scratch, one per thread.
    type Work: Default + Send;
    /// Number of parameters.
    fn dim(&self) -> usize;
    /// Number of examples.
    fn len(&self) -> usize;
    /// Whether there is no example.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Where the scores of example `n` stand in the row of all scores.
    fn span(&self, n: usize) -> Range<usize>;
    /// How the set that the examples are of is cut; where nothing else is said, the examples are the set.
    fn pieces(&self) -> Pieces {
        let bounds: Vec<usize> = std::iter::once(0).chain((0..self.len()).map(|n| self.span(n).end)).collect();
        Pieces::new(&bounds, self.dim())
    }
    /// Which unit of that set example `n` is.
    fn unit(&self, n: usize) -> usize {
        n
    }
    /// `s = A_n θ`.
    fn scores(&self, n: usize, theta: &[f64], s: &mut [f64], work: &mut Self::Work);
    /// `grad += A_nᵀ d`.
    fn pull_back(&self, n: usize, d: &[f64], grad: &mut [f64], work: &mut Self::Work);
    /// `to += A_nᵀ d` where only a few scores have a d.
    fn add_few(&self, n: usize, d: &[(u32, f64)], to: &mut [f64], work: &mut Self::Work) {
        let mut all = vec![0.0; self.span(n).len()];
        d.iter().for_each(|&(i, d)| all[i as usize] += d);
        self.pull_back(n, &all, to, work);
    }
    /// `|A_nᵀ d|²` where only a few scores have a d.
    fn norm2_few(&self, n: usize, d: &[(u32, f64)], work: &mut Self::Work) -> f64 {
        let mut to = vec![0.0; self.dim()];
        self.add_few(n, d, &mut to, work);
        self.dot(&to, &to)
    }
    /// The inner product of parameters.
    fn dot(&self, a: &[f64], b: &[f64]) -> f64 {
        matrix::dot(a, b)
    }
    /// Writes `A_n` to `out`, row after row; `false` where it has no such form.
    fn matrix(&self, _n: usize, _out: &mut [f64]) -> bool {
        false
    }
}

/// The loss of one example as a function of its scores.
pub trait Surrogate: Sync {
    /// Scratch, one per thread.
    type Work: Default + Send;
    /// Number of examples.
    fn len(&self) -> usize;
    /// Whether there is no example.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Whether there may be a curvature: where there is none, nobody has to remember scores for it.
    fn bends(&self) -> bool {
        true
    }
    /// `L_n(s)`, with `d = ∂L_n/∂s`.
    fn value(&self, n: usize, s: &[f64], d: &mut [f64], work: &mut Self::Work) -> Result<f64>;
    /// `L_n(s)`, `d = ∂L_n/∂s` and `h` = the diagonal of the curvature (of its convex part, where L is a difference of two); `None`: there
    /// is none.
    fn diagonal(
        &self,
        _n: usize,
        _s: &[f64],
        _d: &mut [f64],
        _h: &mut [f64],
        _work: &mut Self::Work,
    ) -> Result<Option<f64>> {
        Ok(None)
    }
    /// `out = ∇²L_n(s)·V` for `V` of `columns` columns; `false` where there is none.
    fn curvature(
        &self,
        _n: usize,
        _s: &[f64],
        _v: &[f64],
        _columns: usize,
        _out: &mut [f64],
        _work: &mut Self::Work,
    ) -> Result<bool> {
        Ok(false)
    }
}

/// What a solver minimises, the ridge apart.
pub trait Risk {
    /// Number of parameters.
    fn dim(&self) -> usize;
    /// The risk at `theta` with its gradient.
    fn value(&mut self, theta: &[f64], grad: &mut [f64]) -> Result<f64>;
    /// `out = H·v` at `theta`; `false` where there is none. It is cheapest at the point of the last `value`.
    fn curvature(&mut self, _theta: &[f64], _v: &[f64], _out: &mut [f64]) -> Result<bool> {
        Ok(false)
    }
    /// `H` at `theta`, row-major; `false` where there is none. It is cheapest at the point of the last `value`.
    fn hessian(&mut self, _theta: &[f64], _out: &mut [f64]) -> Result<bool> {
        Ok(false)
    }
    /// The inner product of parameters.
    fn dot(&self, a: &[f64], b: &[f64]) -> f64 {
        matrix::dot(a, b)
    }
    /// Whether an evaluation is left where somebody stops the work: within the steps of a solver, which then has something to keep, and not
    /// before the first.
    fn heed(&mut self, _stop: bool) {}
}

/// Examples, each with a loss `max over outputs t of H(t)`, where `H(t) = loss(t) + score(t) − score(right)`, under a ridge
/// with a strength for each parameter. The score is linear in the parameters: `score(right) − score(t) = ⟨θ, ψ(t)⟩`.
pub trait Blocks: Sync {
    /// An output, in whatever form is short.
    type Output: Clone + PartialEq + Send + Sync;
    /// Scratch, one per thread.
    type Work: Default + Send;
    /// Number of examples.
    fn len(&self) -> usize;
    /// Whether there is no example.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The strength of the ridge on each parameter.
    fn strength(&self) -> Vec<f64>;
    /// The right output of example `n`, for which H is 0 at any parameters.
    fn right(&self, n: usize) -> Self::Output;
    /// Takes over new parameters, all of them.
    fn set_theta(&mut self, theta: &[f64]) -> Result<()>;
    /// Makes ready for questions about example `n`.
    fn enter(&self, n: usize, theta: &[f64], work: &mut Self::Work);
    /// The output with the largest H, and its H.
    fn worst(&self, n: usize, work: &mut Self::Work) -> Result<(Self::Output, f64)>;
    /// `score(output) − score(right)`.
    fn score(&self, n: usize, output: &Self::Output, work: &Self::Work) -> f64;
    /// The loss of an output.
    fn loss(&self, n: usize, output: &Self::Output) -> f64;
    /// Takes up `δ = Σ weight·ψ(output)`, and returns `Σ_j δ_j²/strength_j`.
    fn turn(&self, n: usize, outputs: &[(f64, &Self::Output)], work: &mut Self::Work) -> f64;
    /// `θ_j += length·δ_j/strength_j` with the δ taken up last, and takes over the new parameters.
    fn advance(&mut self, n: usize, length: f64, theta: &mut [f64], work: &mut Self::Work);
}

/// A solver takes one step at a time, so that one loop watches and stops them all.
pub trait Solver {
    /// One step. Where it is left by [`crate::Error::Interrupted`], [`Self::theta`] and what can be saved are those of before.
    fn step(&mut self) -> Result<()>;
    /// Where it stands, before the first step and after each.
    fn progress(&self) -> Progress;
    /// The best parameters so far, at any time.
    fn theta(&self) -> &[f64];
}

/// How far a solver has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Ridge and risk together.
    pub objective: f64,
    /// Norm of the gradient, relative to the one at zero; 0 of solvers that have none.
    pub gradient: f64,
    /// How far the objective may be above its minimum, of solvers that know.
    pub gap: Option<f64>,
    /// Why the solver is finished, if it is.
    pub done: Option<Stop>,
}

/// Named vectors of a solver, from which it goes on.
pub type State = Vec<(String, Vec<f64>)>;

/// Why a solver stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Stop {
    /// The gradient is as small as was asked.
    Gradient,
    /// The duality gap is as small as was asked.
    Gap,
    /// The objective cannot be lowered in the arithmetic at hand.
    Stalled,
    /// `max_iter` steps were made.
    Iterations,
    /// Somebody stopped it.
    Interrupted,
    /// The objective fell by no more than was asked from one convex problem to the next.
    Change,
    /// All trees were grown that were asked for, or that validation wanted.
    Rounds,
}

impl Stop {
    /// All of them.
    pub const ALL: &'static [Self] =
        &[Self::Gradient, Self::Gap, Self::Stalled, Self::Iterations, Self::Interrupted, Self::Change, Self::Rounds];

    /// The name in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gradient => "gradient",
            Self::Gap => "gap",
            Self::Stalled => "stalled",
            Self::Iterations => "iterations",
            Self::Interrupted => "interrupted",
            Self::Change => "change",
            Self::Rounds => "rounds",
        }
    }
}
