//! QBRank: trees on a quadratic bound of the squared hinge of pairs.

use crate::data::transform::Transform;
use crate::error::{Error, Result};
use crate::method::rank::grown::{Grown, MOST};
use crate::method::rank::ranksvm::PairWeight;
use crate::method::rank::staged::{Job, Made, Staged, Weighs, asked, pair_weights, staged};
use crate::method::settings::positive;
use crate::method::{Choice, Positive, Rank};
use crate::surrogate::pair_quadratic::PairQuadratic;
use crate::task::{About, Method, Setting, Written};

/// QBRank: trees that follow what every pair asks of its two documents, by a quadratic bound of the squared hinge.
///
/// ```text
/// min over s = Σ trees:  ½ Σ_pairs (τ − s_i + s_j)₊²;   a pair asks +R/2 of i and −R/2 of j,   R = (τ − s_i + s_j)₊
/// ```
///
/// Zheng, Zha, Zhang, Chapelle, Chen and Sun 2007, on preferences alone and with a constant margin τ; see [`PairQuadratic`] for the bound. A tree is fitted to the mean of what
/// its pairs ask of a document, weighed by their number, and added at a rate. No round raises the loss. With preferences alone scores start at 0 and are in proportion to τ, so that τ chooses a unit and no
/// model; τ = 0 would be content with scores of 0 and is refused. The number of trees is chosen on held-out queries.
///
/// A round costs O(documents · (columns + log)).
///
/// ```
/// use ordain::{data::synthetic::Synthetic, method::QbRank, solver::run::Watch, task::{Method, Model, Training}};
/// let set = Synthetic::default().make();
/// let fitted = QbRank::default().fit(&Training::new(&set, &set.all()), &Watch::NOBODY)?;
/// assert_eq!(fitted.model.score.forests()[0].trees(), fitted.facts.report.iterations);
/// assert!("qbrank[tau=0]".parse::<ordain::method::RankMethod>().is_err());
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QbRank {
    /// The trees.
    pub trees: Grown,
    /// The margin between the documents of a pair.
    pub tau: Positive,
}

impl Default for QbRank {
    fn default() -> Self {
        Self { trees: Grown::default(), tau: Positive(1.0) }
    }
}

impl QbRank {
    /// What can be set.
    pub const SETTINGS: &'static [Setting] = &[
        Grown::SETTINGS[0],
        Grown::SETTINGS[1],
        Grown::SETTINGS[2],
        Grown::SETTINGS[3],
        Setting {
            name: "tau",
            range: "a number above 0",
            default: "1",
            help: "the margin between the documents of a pair: the unit of scores, which changes no order",
        },
    ];
}

impl Method<Rank> for QbRank {
    fn name(&self) -> &'static str {
        "qbrank"
    }

    fn about(&self) -> About {
        About {
            good_for: "trees on pairs, where columns act together",
            measured_on: "OHSUMED",
            figures: &[("ndcg@10", 0.4385), ("map", 0.4484)],
        }
    }

    fn settings(&self) -> &'static [Setting] {
        Self::SETTINGS
    }

    fn get(&self, name: &str) -> Option<String> {
        if name == "tau" { Some(self.tau.get().to_string()) } else { self.trees.get(name) }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        if name != "tau" {
            return self.trees.set(name, value);
        }
        self.tau = positive(name, value).map_err(|_| Error::Setting {
            name: "tau".into(),
            expected: "a number above 0 (without a margin scores of 0 would do)".into(),
            found: value.into(),
        })?;
        Ok(())
    }

    fn check(&self) -> Result<()> {
        self.trees.check()
    }

    fn chooses(&self) -> bool {
        self.trees.rounds == Choice::Auto
    }

    fn takes_preferences(&self) -> bool {
        true
    }

    fn takes_gaps(&self) -> bool {
        true
    }

    /// None: a tree is the same before and after a monotone map.
    fn transform(&self) -> Transform {
        Transform::None
    }

    fn written(&self) -> Written {
        let mut settings = self.trees.used();
        settings.insert("tau".into(), self.tau.get().into());
        Written { asked: asked(self.trees.rounds), settings }
    }

    staged!();
}

impl Staged for QbRank {
    const MOST: usize = MOST;
    const WEIGHS: Weighs = Weighs::Documents;

    fn rounds(&self) -> Choice<usize> {
        self.trees.rounds
    }

    fn run(&self, job: &Job<'_>) -> Result<Vec<Made>> {
        let set = job.data.set;
        let loss = |on: &[u32]| PairQuadratic::of_set(set, on, self.tau.get());
        let pairs = match job.courses.last() {
            Some((on, _)) => pair_weights(job.data, on, PairWeight::Pair)?.1,
            None => 0.0,
        };
        self.trees.run(job, loss, |on| vec![1.0; on.len()], (pairs, "pair"))
    }
}
