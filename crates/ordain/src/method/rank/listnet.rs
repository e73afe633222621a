//! ListNet: the cross-entropy of top-one probabilities.

use crate::data::Columns;
use crate::data::scale::Scale;
use crate::data::transform::Transform;
use crate::error::{Error, Result};
use crate::method::monotone::{self, MONOTONE};
use crate::method::rank::exportable::{EXPORTABLE, Exportable};
use crate::method::rank::search::{Choices, Drawn, Learner, Problem, Solved, Start, lbfgs, mean_risk, searched};
use crate::method::rank::shards::{Spread, Whole};
use crate::method::settings::{self, Common, SCALE, TRANSFORM, accuracy, name_of, one_of, ridge, steps};
use crate::method::{Choice, Positive, Rank};
use crate::solver::run::Watch;
use crate::surrogate::listnet::TopOne;
use crate::task::{About, Method, Setting, Training};
use crate::traits::Risk;
use serde_json::{Map, Value};
use std::sync::atomic::AtomicBool;

/// ListNet: the probability of each document to come first should be that of its grade.
///
/// ```text
/// min over w:   λ/2·|w|² + mean over queries  −Σ_i p_i · log π_i,   p = softmax(grades),   π = softmax(w·x)
/// ```
///
/// Cao, Qin, Liu, Tsai and Li 2007 with k = 1 and a linear scorer, which makes it convex. Fitted by L-BFGS. Queries count
/// alike. An evaluation costs O(values).
///
/// ```
/// use ordain::{data::synthetic::Synthetic, method::ListNet, solver::run::Watch, task::{Method, Model, Training}};
/// let set = Synthetic::default().make();
/// let fitted = ListNet::default().fit(&Training::new(&set, &set.all()), &Watch::NOBODY)?;
/// assert_eq!(fitted.model.scores(&fitted.model.prepare(&set)?)?.len(), set.rows());
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ListNet {
    /// Strength of the ridge.
    pub lambda: Choice<Positive>,
    /// Transform of columns before they are scaled.
    pub transform: Transform,
    /// Scaling of the features.
    pub scale: Choice<Scale>,
    /// What the model is to be exported to, which restricts the choice.
    pub exportable: Exportable,
    /// The most steps of one fit.
    pub max_iter: usize,
    /// The norm of the gradient at which a fit stops, relative to the one at zero.
    pub tol: Positive,
    /// Columns that a score may only rise with (+1) or fall with (−1), by name.
    pub monotone: Vec<(String, i8)>,
}

impl Default for ListNet {
    fn default() -> Self {
        Self {
            lambda: Choice::Auto,
            transform: Transform::Auto,
            scale: Choice::Auto,
            exportable: Exportable::No,
            max_iter: 1000,
            tol: Positive(1e-5),
            monotone: vec![],
        }
    }
}

/// λ if nothing can be chosen.
const LAMBDA: f64 = 0.1;
/// The λ that are tried on validation, from the strongest.
const PATH: [f64; 9] = [10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4];

impl ListNet {
    /// What can be set.
    pub const SETTINGS: &'static [Setting] = &[
        TRANSFORM,
        SCALE,
        Exportable::SETTING,
        ridge("strength of the ridge: auto by validation (else 0.1); c=1/lambda is accepted too"),
        steps("1000", "the most steps of one fit"),
        accuracy("1e-5", "the norm of the gradient at which a fit stops, relative to the one at zero"),
        MONOTONE,
    ];
}

impl Method<Rank> for ListNet {
    fn name(&self) -> &'static str {
        "listnet"
    }

    fn about(&self) -> About {
        About {
            good_for: "whole lists of graded documents in one convex fit",
            measured_on: "OHSUMED",
            figures: &[("ndcg@10", 0.4428), ("map", 0.4466)],
        }
    }

    fn settings(&self) -> &'static [Setting] {
        Self::SETTINGS
    }

    fn get(&self, name: &str) -> Option<String> {
        match name {
            "exportable" => return Some(name_of(&self.exportable, &EXPORTABLE).into()),
            "monotone" => return Some(monotone::written(&self.monotone)),
            _ => {}
        }
        settings::common(name, self.transform, &self.scale, &self.lambda, self.max_iter, self.tol)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "exportable" => {
                self.exportable = one_of("exportable", value, &EXPORTABLE)?;
                return Ok(());
            }
            "monotone" => {
                self.monotone = monotone::read(value)?;
                return Ok(());
            }
            _ => {}
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

impl ListNet {
    /// The lists of some queries; there may be none.
    fn lists(&self, data: &Training<'_, Rank>, units: &[u32]) -> Drawn<TopOne> {
        let set = data.set;
        // a query of one grade teaches too: all its documents are as likely to come first
        let units: Vec<u32> = units.iter().copied().filter(|&q| set.span(q as usize).len() > 1).collect();
        let examples = TopOne::new(units.iter().map(|&q| &set.grades[set.span(q as usize)]));
        Drawn { count: units.len() as f64, units, examples, weights: None, kind: self.kind() }
    }
}

impl Spread for ListNet {
    type Loss = TopOne;

    fn kind(&self) -> &'static str {
        "list"
    }

    fn check_spread(&self) -> Result<()> {
        Ok(())
    }

    fn loss(examples: &TopOne) -> &TopOne {
        examples
    }

    fn examples(&self, data: &Training<'_, Rank>, units: &[u32], _grades: &[f64]) -> Result<Drawn<TopOne>> {
        super::refuse_weights(data.set, "listnet on several machines")?;
        Ok(self.lists(data, units))
    }

    fn enough(&self, whole: &Whole) -> Result<()> {
        if whole.uneven > 0 {
            return Ok(());
        }
        Err(Error::Data {
            expected: "at least one training query with two different grades".into(),
            found: "none: there is nothing to put in order".into(),
        })
    }
}

impl Learner for ListNet {
    type Examples = TopOne;
    type Carry = ();

    fn choices(&self) -> Choices {
        Choices::new(self.scale, self.lambda, LAMBDA, &PATH).exported(self.exportable)
    }

    fn draw(&self, data: &Training<'_, Rank>, units: &[u32]) -> Result<Drawn<TopOne>> {
        let uneven = units.iter().filter(|&&q| !data.set.is_flat(q as usize)).count();
        self.enough(&Whole { uneven, ..Whole::default() })?;
        let drawn = self.lists(data, units);
        Ok(Drawn { weights: super::shares(data.set, &drawn.units, |_| 1.0)?, ..drawn })
    }

    fn risk<'a>(&self, problem: &Problem<'a, TopOne>, stop: &'a AtomicBool) -> Box<dyn Risk + 'a> {
        mean_risk(problem, stop)
    }

    fn descend(&self, risk: &mut dyn Risk, lambda: f64, from: Start<()>, watch: &Watch) -> Result<Solved<()>> {
        lbfgs(risk, lambda, (self.tol.get(), self.max_iter), from, watch)
    }

    fn used(&self) -> Map<String, Value> {
        let mut all =
            Map::from_iter([("max_iter".into(), self.max_iter.into()), ("tol".into(), self.tol.get().into())]);
        all.extend(self.exportable.written());
        if !self.monotone.is_empty() {
            all.insert("monotone".into(), monotone::written(&self.monotone).into());
        }
        all
    }

    fn signs(&self, columns: &Columns) -> Result<Vec<i8>> {
        monotone::signs(&self.monotone, columns)
    }
}
