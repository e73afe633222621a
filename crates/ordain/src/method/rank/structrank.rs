//! StructRank: the likelihood of all preferences of a query, as a cumulative distribution network.

use crate::data::scale::Scale;
use crate::data::transform::Transform;
use crate::error::{Error, Result};
use crate::method::rank::exportable::{EXPORTABLE, Exportable};
use crate::method::rank::search::{Choices, Drawn, Learner, Problem, Solved, Start, lbfgs, mean_risk, searched};
use crate::method::settings::{self, Common, SCALE, TRANSFORM, accuracy, name_of, one_of, ridge, steps};
use crate::method::{Choice, Positive, Rank};
use crate::solver::run::Watch;
use crate::surrogate::preferences::Preferences;
use crate::task::{About, Method, Setting, Training};
use crate::traits::Risk;
use serde_json::{Map, Value};
use std::sync::atomic::AtomicBool;

/// StructRank: all preferences of a query together should be likely.
///
/// ```text
/// min over w:   λ/2·|w|² + mean over queries  −log P(all preferences of the query) / functions
/// edges=star    P = Π_i 1 / (1 + Σ_{g_j < g_i} exp(s_j − s_i)),   s = w·x
/// edges=pairs   P = Π over two edges from one document  1 / (1 + exp(−r_e) + exp(−r_e')),   r = s_i − s_j
/// ```
///
/// Huang and Frey 2008, with a linear scorer in the place of the paper's kernel regression, which makes it convex; see [`Preferences`] for which
/// edges share a function. Fitted by L-BFGS. Queries count alike, and within a query documents that are better than another (edges=star) or
/// edges (edges=pairs). An evaluation costs O(values), of pairs O(values + preferences).
///
/// ```
/// use ordain::{data::synthetic::Synthetic, method::RankMethod, solver::run::Watch, task::{Method, Model, Training}};
/// let set = Synthetic::default().make();
/// let method: RankMethod = "structrank[scale=query,lambda=0.01]".parse()?;
/// let fitted = method.fit(&Training::new(&set, &set.all()), &Watch::NOBODY)?;
/// assert_eq!(fitted.model.scores(&fitted.model.prepare(&set)?)?.len(), set.rows());
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StructRank {
    /// Strength of the ridge.
    pub lambda: Choice<Positive>,
    /// Transform of columns before they are scaled.
    pub transform: Transform,
    /// Scaling of the features.
    pub scale: Choice<Scale>,
    /// What the model is to be exported to, which restricts the choice.
    pub exportable: Exportable,
    /// Which preferences share a function.
    pub edges: Edges,
    /// The most steps of one fit.
    pub max_iter: usize,
    /// The norm of the gradient at which a fit stops, relative to the one at zero.
    pub tol: Positive,
}

impl Default for StructRank {
    fn default() -> Self {
        Self {
            lambda: Choice::Auto,
            transform: Transform::Auto,
            scale: Choice::Auto,
            exportable: Exportable::No,
            edges: Edges::Star,
            max_iter: 1000,
            tol: Positive(1e-5),
        }
    }
}

/// Which preferences of a query share a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edges {
    /// All those of one document over others.
    Star,
    /// Two and two of one document over others.
    Pairs,
}

const EDGES: [(&str, Edges); 2] = [("star", Edges::Star), ("pairs", Edges::Pairs)];

/// λ if nothing can be chosen.
const LAMBDA: f64 = 0.1;
/// The λ that are tried on validation, from the strongest.
const PATH: [f64; 9] = [10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4];

impl StructRank {
    /// What can be set.
    pub const SETTINGS: &'static [Setting] = &[
        TRANSFORM,
        SCALE,
        Exportable::SETTING,
        ridge("strength of the ridge: auto by validation (else 0.1); c=1/lambda is accepted too"),
        Setting {
            name: "edges",
            range: "star, pairs",
            default: "star",
            help: "preferences that share a function of their noises: all of one document over others (star), or two and two of them, drawn by the seed (pairs)",
        },
        steps("1000", "the most steps of one fit"),
        accuracy("1e-5", "the norm of the gradient at which a fit stops, relative to the one at zero"),
    ];
}

impl Method<Rank> for StructRank {
    fn name(&self) -> &'static str {
        "structrank"
    }

    fn about(&self) -> About {
        About {
            good_for: "each document against all that are worse, at once",
            measured_on: "OHSUMED",
            figures: &[("ndcg@10", 0.4418), ("map", 0.4497)],
        }
    }

    fn settings(&self) -> &'static [Setting] {
        Self::SETTINGS
    }

    fn get(&self, name: &str) -> Option<String> {
        if name == "exportable" {
            return Some(name_of(&self.exportable, &EXPORTABLE).into());
        }
        if name == "edges" {
            return Some(name_of(&self.edges, &EDGES).into());
        }
        settings::common(name, self.transform, &self.scale, &self.lambda, self.max_iter, self.tol)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        if name == "exportable" {
            self.exportable = one_of("exportable", value, &EXPORTABLE)?;
            return Ok(());
        }
        if name == "edges" {
            self.edges = one_of("edges", value, &EDGES)?;
            return Ok(());
        }
        let Self { transform, scale, lambda, max_iter, tol, .. } = self;
        Common { transform, scale, lambda, max_iter, tol }.set(name, value).map(drop)
    }

    fn check(&self) -> Result<()> {
        settings::check(self.scale, self.max_iter)?;
        self.exportable.check(self.scale, self.transform)
    }

    fn transform(&self) -> Transform {
        self.transform
    }

    searched!();
}

impl Learner for StructRank {
    type Examples = Preferences;
    type Carry = ();

    fn choices(&self) -> Choices {
        Choices::new(self.scale, self.lambda, LAMBDA, &PATH).exported(self.exportable)
    }

    fn draw(&self, data: &Training<'_, Rank>, units: &[u32]) -> Result<Drawn<Preferences>> {
        let set = data.set;
        let units: Vec<u32> = units.iter().copied().filter(|&q| !set.is_flat(q as usize)).collect();
        if units.is_empty() {
            return Err(Error::Data {
                expected: "at least one training query with two different grades".into(),
                found: "none: there is nothing to put in order".into(),
            });
        }
        let grades = units.iter().map(|&q| &set.grades[set.span(q as usize)]);
        let examples = match self.edges {
            Edges::Star => Preferences::star(grades),
            Edges::Pairs => Preferences::pairs(grades, data.seed),
        };
        let weights = super::shares(set, &units, |_| 1.0)?;
        Ok(Drawn { count: units.len() as f64, units, examples, weights, kind: "list" })
    }

    fn risk<'a>(&self, problem: &Problem<'a, Preferences>, stop: &'a AtomicBool) -> Box<dyn Risk + 'a> {
        mean_risk(problem, stop)
    }

    fn descend(&self, risk: &mut dyn Risk, lambda: f64, from: Start<()>, watch: &Watch) -> Result<Solved<()>> {
        lbfgs(risk, lambda, (self.tol.get(), self.max_iter), from, watch)
    }

    fn used(&self) -> Map<String, Value> {
        let mut all =
            Map::from_iter([("max_iter".into(), self.max_iter.into()), ("tol".into(), self.tol.get().into())]);
        all.insert("edges".into(), name_of(&self.edges, &EDGES).into());
        all.extend(self.exportable.written());
        all
    }
}
