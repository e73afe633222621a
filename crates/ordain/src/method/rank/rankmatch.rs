//! RankMatch: the exponential family over orders, on whole lists or on the paper's subsets.

use crate::data::Columns;
use crate::data::scale::Scale;
use crate::data::transform::Transform;
use crate::error::{Error, Result};
use crate::method::rank::CHOOSES_BY;
use crate::method::rank::boosting::{self, TreeLearner};
use crate::method::rank::exportable::{EXPORTABLE, Exportable};
use crate::method::rank::lists::{self, DRAWS, ListSettings, SHARE, Subset, draw, draws, draws_text, draws_value};
use crate::method::rank::search::{self, Choices, Drawn, Learner, Problem, Solved, Start, lbfgs, mean_risk};
use crate::method::rank::shards::{Spread, Whole, alone};
use crate::method::settings::{self, Common, SCALE, TRANSFORM, accuracy, count, name_of, one_of, ridge, serves, steps};
use crate::method::{Choice, Positive, Rank, Trees};
use crate::metric::Metric;
use crate::solver::run::Watch;
use crate::structure::matching::places::MOST;
use crate::surrogate::lists::{ListLikelihood, RightOrders};
use crate::task::{About, Fitted, Method, Setting, Training, Written};
use crate::traits::Risk;
use serde_json::{Map, Value};
use std::sync::atomic::AtomicBool;

/// What head places are worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceDiscount {
    /// `1/log2(1 + j)` for the head places, 0 below.
    Log,
    /// `m − j` at place j of m.
    Linear,
}

/// RankMatch: the probability of an order is `exp(Σ_i s_i c_y(i)) / Z`, and the right orders are made likely.
///
/// ```text
/// min over w:   λ/2·|w|² + mean over lists  −log p(right order | scores w·x)
/// ```
///
/// \[EFM\] Eqs. (3)-(8) with (16). By default on whole lists with five head places, where log Z and all marginals are exact
/// ([`crate::structure::matching::places`]); with `subset=M` on the paper's random subsets of M documents, c_j = M − j.
/// Prediction sorts. Fitted by L-BFGS that starts from the curvature at zero.
///
/// ```
/// use ordain::{method::RankMatch, solver::run::Watch, task::{Method, Model, Training}};
/// let set = ordain::data::synthetic::Synthetic::default().make();
/// let model = RankMatch::default().fit(&Training::new(&set, &set.all()), &Watch::NOBODY)?;
/// let places = model.model.place_probabilities(&model.model.prepare(&set)?, 0)?;
/// assert!((places.iter().map(|document| document.places[0]).sum::<f64>() - 1.0).abs() < 1e-9);
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RankMatch {
    /// Strength of the ridge.
    pub lambda: Choice<Positive>,
    /// Transform of columns before they are scaled.
    pub transform: Transform,
    /// Scaling of the features.
    pub scale: Choice<Scale>,
    /// What the model is to be exported to, which restricts the choice.
    pub exportable: Exportable,
    /// Whole lists or subsets.
    pub subset: Subset,
    /// Head places of whole lists.
    pub places: usize,
    /// What places are worth; by default log on whole lists, linear on subsets.
    pub discount: Option<PlaceDiscount>,
    /// What is right among equal grades.
    pub ties: RightOrders,
    /// Subsets per query, as a share of documents times M; `None` takes all pairs (M = 2).
    pub draws: Option<Positive>,
    /// The most steps of one fit.
    pub max_iter: usize,
    /// The norm of the gradient at which a fit stops, relative to the one at zero.
    pub tol: Positive,
    /// Trees beside weights, or in their place.
    pub trees: Trees,
}

impl Default for RankMatch {
    fn default() -> Self {
        Self {
            lambda: Choice::Auto,
            transform: Transform::Auto,
            scale: Choice::Auto,
            exportable: Exportable::No,
            subset: Subset::Full,
            places: 5,
            discount: None,
            ties: RightOrders::Average,
            draws: Some(SHARE),
            max_iter: 1000,
            tol: Positive(1e-4),
            trees: Trees::default(),
        }
    }
}

const TIES: [(&str, RightOrders); 3] =
    [("average", RightOrders::Average), ("sum", RightOrders::Sum), ("random", RightOrders::Random)];
const DISCOUNTS: [(&str, PlaceDiscount); 2] = [("log", PlaceDiscount::Log), ("linear", PlaceDiscount::Linear)];
/// λ where nothing says otherwise.
pub(in crate::method) const LAMBDA: f64 = 0.1;
/// The λ that are tried on validation, from the strongest.
const PATH: [f64; 9] = [10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4];

impl RankMatch {
    /// What can be set.
    pub const SETTINGS: &'static [Setting] = &[
        TRANSFORM,
        SCALE,
        Exportable::SETTING,
        ridge("strength of the ridge: auto by validation (else 0.1); c=1/lambda is accepted too"),
        Setting {
            name: "subset",
            range: "full, R or a number from 2 to 16",
            default: "full",
            help: "whole lists, or random subsets of M documents with one of every grade at least (R: as many as there are grades)",
        },
        Setting { name: "places", range: "a number from 1 to 16", default: "5", help: "head places of whole lists" },
        Setting {
            name: "discount",
            range: "log, linear",
            default: "log on whole lists, linear on subsets",
            help: "what place j is worth: 1/log2(1+j), or M-j",
        },
        Setting {
            name: "ties",
            range: "average, sum, random",
            default: "average",
            help: "right orders of equal grades: their mean, the sum of their probabilities, or one at random",
        },
        DRAWS,
        steps("1000", "the most steps of one fit"),
        accuracy("1e-4", "the norm of the gradient at which a fit stops, relative to the one at zero"),
        Trees::SETTINGS[0],
        Trees::SETTINGS[1],
        Trees::SETTINGS[2],
        Trees::SETTINGS[3],
        Trees::SETTINGS[4],
        Trees::SETTINGS[5],
        Trees::SETTINGS[6],
        Trees::SETTINGS[7],
        Trees::SETTINGS[8],
    ];

    fn discount(&self) -> PlaceDiscount {
        let usual = if self.subset == Subset::Full { PlaceDiscount::Log } else { PlaceDiscount::Linear };
        self.discount.unwrap_or(usual)
    }

    fn lists(&self) -> ListSettings {
        ListSettings {
            subset: self.subset,
            places: self.places,
            discount: self.discount(),
            ties: self.ties,
            draws: self.draws,
        }
    }
}

impl Method<Rank> for RankMatch {
    fn name(&self) -> &'static str {
        "rankmatch"
    }

    fn about(&self) -> About {
        About {
            good_for: "probabilities of places, learned from whole lists",
            measured_on: "OHSUMED",
            figures: &[("ndcg@10", 0.4397), ("map", 0.4443)],
        }
    }

    fn settings(&self) -> &'static [Setting] {
        Self::SETTINGS
    }

    fn get(&self, name: &str) -> Option<String> {
        match name {
            "exportable" => Some(name_of(&self.exportable, &EXPORTABLE).into()),
            "subset" => Some(self.subset.to_string()),
            "places" => Some(self.places.to_string()),
            "discount" => self.discount.map(|discount| name_of(&discount, &DISCOUNTS).into()),
            "ties" => Some(name_of(&self.ties, &TIES).into()),
            "draws" => Some(draws_text(self.draws)),
            _ => self
                .trees
                .get(name)
                .or_else(|| settings::common(name, self.transform, &self.scale, &self.lambda, self.max_iter, self.tol)),
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let Self { transform, scale, lambda, max_iter, tol, .. } = self;
        if (Common { transform, scale, lambda, max_iter, tol }).set(name, value)? || self.trees.set(name, value)? {
            return Ok(());
        }
        match name {
            "exportable" => self.exportable = one_of("exportable", value, &EXPORTABLE)?,
            "subset" => self.subset = value.parse()?,
            "places" => {
                self.places = count(name, value).ok().filter(|&k| k <= MOST).ok_or_else(|| Error::Setting {
                    name: name.into(),
                    expected: format!("a number from 1 to {MOST}"),
                    found: value.into(),
                })?;
            }
            "discount" => self.discount = Some(one_of("discount", value, &DISCOUNTS)?),
            "ties" => self.ties = one_of("ties", value, &TIES)?,
            _ => self.draws = draws(value)?,
        }
        Ok(())
    }

    /// Refuses settings that do not go together.
    fn check(&self) -> Result<()> {
        settings::check(self.scale, self.max_iter)?;
        self.exportable.check(self.scale, self.transform)?;
        if !(1..=MOST).contains(&self.places) {
            return Err(Error::Setting {
                name: "places".into(),
                expected: format!("a number from 1 to {MOST}"),
                found: self.places.to_string(),
            });
        }
        self.trees.check_beside_signs()?;
        self.trees.check_transform(self.transform)?;
        serves("scorer", self.trees.grows(), self.subset == Subset::Full, "whole lists (subset=full)", "subsets")?;
        lists::check(self.subset, self.draws)
    }

    fn chooses(&self) -> bool {
        self.trees.starts_linear() && self.choices().open() || self.trees.open()
    }

    fn chooses_by(&self) -> Metric {
        CHOOSES_BY
    }

    fn resumes(&self) -> bool {
        true
    }

    fn takes_gaps(&self) -> bool {
        !self.trees.starts_linear()
    }

    fn takes_init(&self) -> bool {
        !self.trees.grows()
    }

    fn takes_start(&self) -> bool {
        !self.trees.starts_linear()
    }

    fn transform(&self) -> Transform {
        self.trees.transform(self.transform)
    }

    fn categories(&self) -> &[String] {
        &self.trees.categories
    }

    fn written(&self) -> Written {
        let asked = self.trees.asked_beside(self.choices().asked());
        Written { asked, settings: self.used() }
    }

    fn learn(&self, data: &Training<'_, Rank>, watch: &Watch) -> Result<Fitted<Rank>> {
        if self.trees.grows() { boosting::fit(self, data, watch) } else { search::fit(self, data, watch) }
    }
}

impl TreeLearner for RankMatch {
    type Loss = ListLikelihood;

    fn trees(&self) -> &Trees {
        &self.trees
    }

    fn lessons(&self, data: &Training<'_, Rank>, units: &[u32]) -> Result<(Drawn<ListLikelihood>, Vec<f64>)> {
        let drawn = self.draw(data, units)?;
        // as large in the mean as without weights
        let of = |weights: &Vec<f64>| weights.iter().map(|weight| weight * drawn.count).collect();
        let weight = drawn.weights.as_ref().map_or_else(|| vec![1.0; drawn.units.len()], of);
        Ok((drawn, weight))
    }
}

impl Spread for RankMatch {
    type Loss = ListLikelihood;

    fn kind(&self) -> &'static str {
        if self.subset == Subset::Full { "list" } else { "subset" }
    }

    fn check_spread(&self) -> Result<()> {
        alone("scorer", "linear", &self.trees.get("scorer").unwrap_or_default(), !self.trees.grows())?;
        alone("ties", "average or sum", "random", self.ties != RightOrders::Random)
    }

    fn loss(examples: &ListLikelihood) -> &ListLikelihood {
        examples
    }

    fn examples(&self, data: &Training<'_, Rank>, units: &[u32], grades: &[f64]) -> Result<Drawn<ListLikelihood>> {
        super::refuse_weights(data.set, "rankmatch on several machines")?;
        let Drawn { units, examples, count, weights, kind } = lists::cases(data, units, &self.lists(), grades)?;
        Ok(Drawn { units, examples: ListLikelihood(examples), count, weights, kind })
    }

    fn enough(&self, whole: &Whole) -> Result<()> {
        lists::enough(whole.count)
    }
}

impl Learner for RankMatch {
    type Examples = ListLikelihood;
    type Carry = ();

    fn choices(&self) -> Choices {
        Choices::new(self.scale, self.lambda, LAMBDA, &PATH).exported(self.exportable)
    }

    fn draw(&self, data: &Training<'_, Rank>, units: &[u32]) -> Result<Drawn<ListLikelihood>> {
        let Drawn { units, examples, count, weights, kind } = draw(data, units, &self.lists())?;
        Ok(Drawn { units, examples: ListLikelihood(examples), count, weights, kind })
    }

    fn risk<'a>(&self, problem: &Problem<'a, ListLikelihood>, stop: &'a AtomicBool) -> Box<dyn Risk + 'a> {
        mean_risk(problem, stop)
    }

    fn descend(&self, risk: &mut dyn Risk, lambda: f64, from: Start<()>, watch: &Watch) -> Result<Solved<()>> {
        lbfgs(risk, lambda, (self.tol.get(), self.max_iter), from, watch)
    }

    fn used(&self) -> Map<String, Value> {
        let ties = TIES.iter().find(|(_, ties)| *ties == self.ties).map_or("", |(name, _)| name);
        let discount = if self.discount() == PlaceDiscount::Log { "log" } else { "linear" };
        Map::from_iter(
            [
                ("subset".into(), self.subset.to_string().into()),
                ("places".into(), self.places.into()),
                ("discount".into(), discount.into()),
                ("ties".into(), ties.into()),
                ("draws".into(), draws_value(self.draws)),
                ("max_iter".into(), self.max_iter.into()),
                ("tol".into(), self.tol.get().into()),
            ]
            .into_iter()
            .chain(self.trees.used())
            .chain(self.exportable.written()),
        )
    }

    fn signs(&self, columns: &Columns) -> Result<Vec<i8>> {
        self.trees.signs(columns)
    }

    fn places(&self) -> Vec<f64> {
        // a subset says nothing about the places of a whole list
        if self.subset == Subset::Full { self.lists().place_values() } else { vec![] }
    }
}
