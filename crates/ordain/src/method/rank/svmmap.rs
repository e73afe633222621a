//! SVM-map: the structural hinge of average precision over whole lists.

use crate::data::scale::Scale;
use crate::data::transform::Transform;
use crate::error::{Error, Result};
use crate::method::rank::exportable::{EXPORTABLE, Exportable};
use crate::method::rank::search::{Choices, Drawn, Learner, Problem, Solved, Start, bundle, mean_risk, searched};
use crate::method::settings::{self, Common, SCALE, TRANSFORM, accuracy, name_of, one_of, ridge, steps};
use crate::method::{Choice, Positive, Rank};
use crate::solver::run::Watch;
use crate::surrogate::average_precision::ApMargin;
use crate::task::{About, Method, Setting, Training};
use crate::traits::Risk;
use serde_json::{Map, Value};
use std::sync::atomic::AtomicBool;

/// SVM-map: relevant documents first should beat every other ordering by what that one loses in average precision.
///
/// ```text
/// min over w:   λ/2·|w|² + mean over queries  max over orderings y [ 1 − AP(y) + F(y) ] − F(right)
/// F(y) = mean over relevant i and irrelevant j of  ±(w·x_i − w·x_j), + where i stands above j
/// ```
///
/// Yue, Finley, Radlinski and Joachims 2007, with λ = 1/C; see [`ApMargin`] for the search of the worst ordering, O(n log n) for each
/// query. Fitted by a bundle method to a duality gap, a small one: at w = 0 the objective is little above its minimum.
/// Queries count alike. Relevant is what `map` counts as relevant under the convention of the training: a grade above 0 unless `relevant_from` says otherwise. Queries without relevant or without irrelevant documents
/// teach nothing and are left out. All relevant grades count alike: where some are better than others, `ranksvm` sees more.
///
/// ```
/// use ordain::{data::synthetic::Synthetic, method::RankMethod, solver::run::Watch, task::{Method, Model, Training}};
/// let set = Synthetic::default().make();
/// let method: RankMethod = "svmmap[scale=query,lambda=0.01]".parse()?;
/// let fitted = method.fit(&Training::new(&set, &set.all()), &Watch::NOBODY)?;
/// let report = fitted.facts.report;
/// assert!(report.gap.is_some_and(|gap| gap < 0.01)); // how far the objective may be above its minimum
/// assert_eq!(fitted.model.scores(&fitted.model.prepare(&set)?)?.len(), set.rows());
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SvmMap {
    /// Strength of the ridge.
    pub lambda: Choice<Positive>,
    /// Transform of columns before they are scaled.
    pub transform: Transform,
    /// Scaling of the features.
    pub scale: Choice<Scale>,
    /// What the model is to be exported to, which restricts the choice.
    pub exportable: Exportable,
    /// The most planes of one fit.
    pub max_iter: usize,
    /// The gap at which a fit stops, relative to the objective.
    pub tol: Positive,
}

impl Default for SvmMap {
    fn default() -> Self {
        Self {
            lambda: Choice::Auto,
            transform: Transform::Auto,
            scale: Choice::Auto,
            exportable: Exportable::No,
            max_iter: 300,
            tol: Positive(1e-4),
        }
    }
}

/// λ if nothing can be chosen.
const LAMBDA: f64 = 0.01;
/// The λ that are tried on validation, from the strongest; planes grow with 1/λ.
const PATH: [f64; 7] = [1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3];

impl SvmMap {
    /// What can be set.
    pub const SETTINGS: &'static [Setting] = &[
        TRANSFORM,
        SCALE,
        Exportable::SETTING,
        ridge("strength of the ridge: auto by validation (else 0.01); c=1/lambda is accepted too"),
        steps("300", "the most planes of one fit"),
        accuracy("1e-4", "the duality gap at which a fit stops, relative to the objective"),
    ];
}

impl Method<Rank> for SvmMap {
    fn name(&self) -> &'static str {
        "svmmap"
    }

    fn about(&self) -> About {
        About {
            good_for: "MAP itself, where documents are relevant or not",
            measured_on: "OHSUMED",
            figures: &[("ndcg@10", 0.4467), ("map", 0.4516)],
        }
    }

    fn settings(&self) -> &'static [Setting] {
        Self::SETTINGS
    }

    fn get(&self, name: &str) -> Option<String> {
        if name == "exportable" {
            return Some(name_of(&self.exportable, &EXPORTABLE).into());
        }
        settings::common(name, self.transform, &self.scale, &self.lambda, self.max_iter, self.tol)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        if name == "exportable" {
            self.exportable = one_of("exportable", value, &EXPORTABLE)?;
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

impl Learner for SvmMap {
    type Examples = ApMargin;
    type Carry = ();

    fn choices(&self) -> Choices {
        Choices::new(self.scale, self.lambda, LAMBDA, &PATH).exported(self.exportable)
    }

    fn draw(&self, data: &Training<'_, Rank>, units: &[u32]) -> Result<Drawn<ApMargin>> {
        let set = data.set;
        let relevant = |q: u32| set.grades[set.span(q as usize)].iter().map(|&grade| data.convention.relevant(grade));
        let both = |&q: &u32| relevant(q).any(|yes| yes) && relevant(q).any(|yes| !yes);
        let units: Vec<u32> = units.iter().copied().filter(both).collect();
        if units.is_empty() {
            return Err(Error::Data {
                expected: "at least one training query with two different grades, one of them relevant (above 0, or what relevant-from says) and one not".into(),
                found: "none: there is nothing to put in order".into(),
            });
        }
        let examples = ApMargin::new(units.iter().map(|&q| relevant(q)));
        let weights = super::shares(set, &units, |_| 1.0)?;
        Ok(Drawn { count: units.len() as f64, units, examples, weights, kind: "list" })
    }

    fn risk<'a>(&self, problem: &Problem<'a, ApMargin>, stop: &'a AtomicBool) -> Box<dyn Risk + 'a> {
        mean_risk(problem, stop)
    }

    fn descend(&self, risk: &mut dyn Risk, lambda: f64, from: Start<()>, watch: &Watch) -> Result<Solved<()>> {
        bundle(risk, lambda, (self.tol.get(), self.max_iter), from, watch)
    }

    fn used(&self) -> Map<String, Value> {
        let mut all =
            Map::from_iter([("max_iter".into(), self.max_iter.into()), ("tol".into(), self.tol.get().into())]);
        all.extend(self.exportable.written());
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::synthetic::Synthetic;
    use crate::metric::Convention;

    #[test]
    fn relevance_is_that_of_the_convention() {
        let set = Synthetic { queries: 40, documents: (3, 8), features: 5, grades: 4, ..Synthetic::default() }.make();
        let all = set.all();
        let method =
            SvmMap { lambda: Choice::Set(Positive(0.01)), scale: Choice::Set(Scale::Query), ..SvmMap::default() };
        for from in [None, Some(2.0), Some(-1.0), Some(9.0)] {
            let convention = Convention { relevant_from: from, ..Convention::STANDARD };
            let fitted = method.fit(&Training { convention, ..Training::new(&set, &all) }, &Watch::NOBODY);
            let mut binary = set.clone();
            binary.grades.iter_mut().for_each(|g| *g = f64::from(u8::from(from.map_or(*g > 0.0, |from| *g >= from))));
            let both = (0..set.len()).filter(|&q| !binary.is_flat(q)).count();
            let again = method.fit(&Training::new(&binary, &all), &Watch::NOBODY);
            let (Ok(fitted), Ok(again)) = (&fitted, &again) else {
                // all documents are relevant, or none
                assert!(both == 0 && fitted.is_err() && again.is_err(), "{from:?}: {both}");
                continue;
            };
            assert!(both > 0 && both < set.len() && fitted.model.score == again.model.score, "{from:?}");
            assert_eq!(fitted.facts.notes.flat_queries, set.len() - both);
        }
    }
}
