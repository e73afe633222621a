//! DORM: max-margin on the lists of rankmatch.

use super::lists::{DRAWS, ListSettings, Subset, draw, draws, draws_value};
use super::rankmatch::{LAMBDA, PlaceDiscount};
use super::search::{Choices, Drawn, Learner, Problem, Solved, Start, fit};
use super::settings::{Common, SCALE, accuracy, count, one_of, ridge, steps};
use super::{Choice, Fitted, Positive, Setting, Training};
use crate::data::scale::Scale;
use crate::error::{Error, Result};
use crate::risk::Empirical;
use crate::solver::bundle::Bundle;
use crate::solver::run::{Watch, run};
use crate::surrogate::lists::{ListLoss, ListMargin, RightOrders};
use crate::traits::{Solver, Stop, Surrogate};
use serde_json::{Map, Value};

/// DORM: the right order of each subset should beat every other by what that one costs.
///
/// ```text
/// min over w:   λ/2·|w|² + mean over subsets  max over y [ loss(y) + s·c(y) ] − s·c(right)
/// ```
///
/// Le and Smola 2007, as the max-margin counterpart in \[EFM\] section 5.1: with the same subset, draws and seed it sees precisely the
/// subsets of [`super::RankMatch`]. Fitted by a bundle method to a duality gap. On whole lists its minimum on real data is
/// w = 0 (the worst order costs almost 1 whatever the scores), so that is refused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dorm {
    /// Strength of the ridge.
    pub lambda: Choice<Positive>,
    /// Scaling of the features.
    pub scale: Choice<Scale>,
    /// Documents of a subset.
    pub subset: Subset,
    /// Subsets per query, as a share of documents times M; `None` takes all pairs (M = 2).
    pub draws: Option<Positive>,
    /// What a wrong order costs.
    pub loss: ListLoss,
    /// The most planes of one fit.
    pub max_iter: usize,
    /// The gap at which a fit stops, relative to the objective.
    pub tol: Positive,
}

/// The λ that are tried on validation, from the strongest; planes grow with 1/λ.
const PATH: [f64; 6] = [10.0, 3.0, 1.0, 0.3, 0.1, 0.03];

impl Default for Dorm {
    fn default() -> Self {
        Self {
            lambda: Choice::Auto,
            scale: Choice::Auto,
            subset: Subset::Grades,
            draws: Some(Positive(0.4)),
            loss: ListLoss::Ndcg,
            max_iter: 200,
            tol: Positive(1e-3),
        }
    }
}

impl Dorm {
    /// What can be set.
    pub const SETTINGS: &'static [Setting] = &[
        SCALE,
        ridge("strength of the ridge: auto by validation (else 0.1); c=1/lambda is accepted too"),
        Setting {
            name: "subset",
            range: "R or a number from 2 to 16",
            default: "R",
            help: "random subsets of M documents with one of every grade at least (R: as many as there are grades)",
        },
        DRAWS,
        Setting {
            name: "loss",
            range: "ndcg, p@k, mrr, wta",
            default: "ndcg",
            help: "what a wrong order costs: 1 minus this metric",
        },
        steps("200", "the most planes of one fit"),
        accuracy("1e-3", "the duality gap at which a fit stops, relative to the objective"),
    ];

    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let Self { scale, lambda, max_iter, tol, .. } = self;
        if (Common { scale, lambda, max_iter, tol }).set(name, value)? {
            return Ok(());
        }
        match name {
            "subset" => match value.parse()? {
                Subset::Full => {
                    return Err(Error::Setting {
                        name: name.into(),
                        expected: "R or a number of documents: on whole lists the margin of dorm is smallest at w = 0, which ranks nothing (rankmatch takes whole lists)".into(),
                        found: value.into(),
                    });
                }
                subset => self.subset = subset,
            },
            "draws" => self.draws = draws(value)?,
            _ => {
                self.loss = match value.strip_prefix("p@") {
                    Some(k) => ListLoss::Precision(count("loss", k)?),
                    None => one_of(
                        "loss",
                        value,
                        &[("ndcg", ListLoss::Ndcg), ("mrr", ListLoss::Mrr), ("wta", ListLoss::Wta)],
                    )?,
                }
            }
        }
        Ok(())
    }

    /// Fits a ranker, choosing what is left open on validation queries.
    pub fn fit(&self, data: &Training, watch: &Watch) -> Result<Fitted> {
        fit(self, data, watch)
    }
}

impl Learner for Dorm {
    type Examples = ListMargin;
    type Carry = ();

    fn name(&self) -> &'static str {
        "dorm"
    }

    fn choices(&self) -> Choices {
        Choices { scale: self.scale, lambda: self.lambda, default: LAMBDA, path: &PATH }
    }

    fn draw(&self, data: &Training, units: &[u32]) -> Result<Drawn<ListMargin>> {
        let (discount, ties) = (PlaceDiscount::Linear, RightOrders::Average);
        let settings = ListSettings { subset: self.subset, places: 0, discount, ties, draws: self.draws };
        let Drawn { units, examples, count, kind } = draw(data, units, &settings)?;
        let grades = units.iter().map(|&q| &data.set.grades[data.set.span(q as usize)]);
        let examples = ListMargin::new(examples, grades, self.loss)?;
        Ok(Drawn { units, examples, count, kind })
    }

    fn solve(&self, problem: &Problem<ListMargin>, from: Start<()>, watch: &Watch) -> Result<Solved<()>> {
        let loss = &problem.drawn.examples;
        let mut risk = Empirical::new(problem.rows, loss, vec![1.0 / problem.drawn.count; loss.len()]);
        let mut solver = Bundle::new(&mut risk, problem.lambda, self.tol.get(), from.theta)?;
        let mut before = 0;
        if let Some((state, iterations)) = &from.state {
            solver.restore(state);
            before = *iterations;
        }
        let report = run(&mut solver, self.max_iter, before, watch)?;
        let state = (report.stop == Stop::Interrupted).then(|| solver.state());
        Ok(Solved { theta: solver.theta().to_vec(), report, carry: (), state })
    }

    fn settings(&self) -> Map<String, Value> {
        let loss = match self.loss {
            ListLoss::Ndcg => "ndcg".to_owned(),
            ListLoss::Precision(k) => format!("p@{k}"),
            ListLoss::Mrr => "mrr".to_owned(),
            ListLoss::Wta => "wta".to_owned(),
        };
        Map::from_iter([
            ("subset".into(), self.subset.to_string().into()),
            ("draws".into(), draws_value(self.draws)),
            ("loss".into(), loss.into()),
            ("max_iter".into(), self.max_iter.into()),
            ("tol".into(), self.tol.get().into()),
        ])
    }
}
