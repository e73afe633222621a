//! Linear RankSVM: the squared hinge over all pairs of different grades within a query.

use super::search::{Choices, Drawn, Learner, Problem, Solved, Start, fit};
use super::settings::{Common, SCALE, accuracy, one_of, ridge, steps};
use super::{Choice, Fitted, Positive, Setting, Training};
use crate::data::scale::Scale;
use crate::error::{Error, Result};
use crate::risk::Empirical;
use crate::solver::newton::{Memory, Newton};
use crate::solver::run::{Watch, run};
use crate::surrogate::pair_hinge::PairHinge;
use crate::traits::{Solver, Surrogate};
use serde_json::{Map, Value};

/// What the mean of the pair losses is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairWeight {
    /// Over queries, and within a query over its pairs: every query counts the same.
    Query,
    /// Over all pairs: a query counts by its number of pairs.
    Pair,
}

impl PairWeight {
    fn name(self) -> &'static str {
        if self == Self::Query { "query" } else { "pair" }
    }
}

/// Linear RankSVM.
///
/// ```text
/// min over w:   λ/2·|w|² + mean over pairs (i better than j)  ½ (1 − w·x_i + w·x_j)₊²
/// ```
///
/// \[BRM\] Eq. (4) in its primal form, with λ = 1/(C · pairs) for the C of a sum; Joachims 2002, Lee and Lin 2014. Fitted
/// by Newton's method, a few steps of O(n log n + n d²) each.
///
/// ```
/// use ordain::{method::{RankSvm, Training}, metric, solver::run::Watch};
/// let set = ordain::data::synthetic::Synthetic::default().make();
/// let all = set.all();
/// let (train, test) = all.split_at(200);
/// let model = RankSvm::default().fit(&Training::new(&set, train), &Watch::NOBODY)?;
/// let scores = model.ranker.scores(&set);
/// let quality = metric::evaluate(&set, test, &scores, &["ndcg@10".parse()?], &metric::Convention::STANDARD)?;
/// assert!(quality.mean(0) > 0.7);
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankSvm {
    /// Strength of the ridge.
    pub lambda: Choice<Positive>,
    /// Scaling of the features.
    pub scale: Choice<Scale>,
    /// What the mean is over.
    pub weight: PairWeight,
    /// The most Newton steps of one fit.
    pub max_iter: usize,
    /// The norm of the gradient at which a fit stops, relative to the one at zero.
    pub tol: Positive,
}

impl Default for RankSvm {
    fn default() -> Self {
        Self {
            lambda: Choice::Auto,
            scale: Choice::Auto,
            weight: PairWeight::Query,
            max_iter: 100,
            tol: Positive(1e-5),
        }
    }
}

/// λ where nothing says otherwise.
const LAMBDA: f64 = 1.0;
/// The λ that are tried on validation, from the strongest.
const PATH: [f64; 11] = [100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4];

/// Pairs with their weights.
pub(super) struct Pairs {
    loss: PairHinge,
    weight: Vec<f64>,
}

impl RankSvm {
    /// What can be set.
    pub const SETTINGS: &'static [Setting] = &[
        SCALE,
        ridge("strength of the ridge: auto by validation (else 1); c=1/lambda is accepted too"),
        Setting {
            name: "weight",
            range: "query, pair",
            default: "query",
            help: "what the mean loss is over: query (every query counts the same) or pair (every pair does)",
        },
        steps("100", "the most Newton steps of one fit"),
        accuracy("1e-5", "the norm of the gradient at which a fit stops, relative to the one at zero"),
    ];

    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let Self { scale, lambda, max_iter, tol, .. } = self;
        if !(Common { scale, lambda, max_iter, tol }).set(name, value)? {
            self.weight = one_of("weight", value, &[("query", PairWeight::Query), ("pair", PairWeight::Pair)])?;
        }
        Ok(())
    }

    /// Fits a ranker, choosing what is left open on validation queries.
    pub fn fit(&self, data: &Training, watch: &Watch) -> Result<Fitted> {
        fit(self, data, watch)
    }
}

impl Learner for RankSvm {
    type Examples = Pairs;
    type Carry = Memory;

    fn name(&self) -> &'static str {
        "ranksvm"
    }

    fn choices(&self) -> Choices {
        Choices { scale: self.scale, lambda: self.lambda, default: LAMBDA, path: &PATH }
    }

    /// The pairs of some queries with their weights; refuses data without a single pair.
    fn draw(&self, data: &Training, units: &[u32]) -> Result<Drawn<Pairs>> {
        let set = data.set;
        let units: Vec<u32> = units.iter().copied().filter(|&q| !set.is_flat(q as usize)).collect();
        let weights: Option<Vec<&[f64]>> =
            set.weights.as_ref().map(|w| units.iter().map(|&q| &w[set.span(q as usize)]).collect());
        let loss = PairHinge::new(units.iter().map(|&q| &set.grades[set.span(q as usize)]), weights.as_deref());
        let counts: Vec<(f64, f64)> = (0..loss.len()).map(|n| loss.pairs(n)).collect();
        let total: f64 = match self.weight {
            PairWeight::Pair => counts.iter().map(|&(_, weight)| weight).sum(),
            PairWeight::Query => counts.iter().map(|&(pairs, weight)| weight / pairs).sum(),
        };
        if !(total > 0.0 && total.is_finite()) {
            return Err(Error::Data {
                expected: "at least one training query with two different grades (and weights above 0)".into(),
                found: "none: there is no pair to learn from".into(),
            });
        }
        let weight = match self.weight {
            PairWeight::Pair => vec![1.0 / total; counts.len()],
            PairWeight::Query => counts.iter().map(|&(pairs, _)| 1.0 / (pairs * total)).collect(),
        };
        if !weight.iter().all(|w| w.is_finite()) {
            let expected = "weights whose sum has an inverse".into();
            return Err(Error::Data { expected, found: "a sum of weights that is almost 0".into() });
        }
        let count = counts.iter().map(|&(pairs, _)| pairs).sum();
        Ok(Drawn { units, examples: Pairs { loss, weight }, count, kind: "pair" })
    }

    fn solve(&self, problem: &Problem<Pairs>, from: Start<Memory>, watch: &Watch) -> Result<Solved<Memory>> {
        let Pairs { loss, weight } = &problem.drawn.examples;
        let mut risk = Empirical::new(problem.rows, loss, weight.clone());
        let mut newton = Newton::new(&mut risk, problem.lambda, self.tol.get(), from.theta, from.carry)?;
        let report = run(&mut newton, self.max_iter, 0, watch)?;
        Ok(Solved { theta: newton.theta().to_vec(), report, carry: newton.into_memory(), state: None })
    }

    fn settings(&self) -> Map<String, Value> {
        Map::from_iter([
            ("weight".into(), self.weight.name().into()),
            ("max_iter".into(), self.max_iter.into()),
            ("tol".into(), self.tol.get().into()),
        ])
    }
}
