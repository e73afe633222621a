//! IsoRank: trees on the way to the nearest scores in the right order.

use crate::data::transform::Transform;
use crate::error::Result;
use crate::method::rank::grown::{Grown, MOST};
use crate::method::rank::query_weights;
use crate::method::rank::staged::{Job, Made, Staged, Weighs, asked, staged};
use crate::method::settings::{name_of, one_of};
use crate::method::{Choice, Rank};
use crate::surrogate::isotonic::Isotonic;
use crate::task::{About, Method, Setting, Written};

/// IsoRank: trees that follow the least change of the scores of a query that puts its documents into the right order.
///
/// ```text
/// min over s = Σ trees:  Σ_q min over δ of ½ Σ_i δ_i²,   s_i + δ_i ≥ s_j + δ_j + G(g_i) − G(g_j)  for all pairs g_i > g_j
/// ```
///
/// Zheng, Zha and Sun 2008: the change δ of each query is an isotonic regression ([`Isotonic`]), a tree is fitted to it and added at a rate. Here without the paper's slack ζ,
/// and with gaps `G(g) = 2^g − 1` between grades (`gap=linear`: g); without gaps scores of 0 would do. Only the ratios of gaps matter. No round raises the loss. The number of
/// trees is chosen on held-out queries.
///
/// A round costs O(documents · (columns + log)).
///
/// ```
/// use ordain::{data::synthetic::Synthetic, method::IsoRank, solver::run::Watch, task::{Method, Model, Training}};
/// let set = Synthetic::default().make();
/// let fitted = IsoRank::default().fit(&Training::new(&set, &set.all()), &Watch::NOBODY)?;
/// assert_eq!(fitted.model.score.forests()[0].trees(), fitted.facts.report.iterations);
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IsoRank {
    /// The trees.
    pub trees: Grown,
    /// What scores of different grades should differ by.
    pub gap: Gap,
}

/// What scores of different grades should differ by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// `2^g − 1`.
    Exp,
    /// The grade.
    Linear,
}

const GAPS: [(&str, Gap); 2] = [("exp", Gap::Exp), ("linear", Gap::Linear)];

impl Default for IsoRank {
    fn default() -> Self {
        Self { trees: Grown::default(), gap: Gap::Exp }
    }
}

impl IsoRank {
    /// What can be set.
    pub const SETTINGS: &'static [Setting] = &[
        Grown::SETTINGS[0],
        Grown::SETTINGS[1],
        Grown::SETTINGS[2],
        Grown::SETTINGS[3],
        Setting {
            name: "gap",
            range: "exp, linear",
            default: "exp",
            help: "what scores of different grades should differ by: exp (2^grade - 1) or linear (the grade)",
        },
    ];
}

impl Method<Rank> for IsoRank {
    fn name(&self) -> &'static str {
        "isorank"
    }

    fn about(&self) -> About {
        About {
            good_for: "trees on graded lists, where columns act together",
            measured_on: "OHSUMED",
            figures: &[("ndcg@10", 0.4318), ("map", 0.4503)],
        }
    }

    fn settings(&self) -> &'static [Setting] {
        Self::SETTINGS
    }

    fn get(&self, name: &str) -> Option<String> {
        if name == "gap" { Some(name_of(&self.gap, &GAPS).into()) } else { self.trees.get(name) }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        if name != "gap" {
            return self.trees.set(name, value);
        }
        self.gap = one_of("gap", value, &GAPS)?;
        Ok(())
    }

    fn check(&self) -> Result<()> {
        self.trees.check()
    }

    fn chooses(&self) -> bool {
        self.trees.rounds == Choice::Auto
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
        settings.insert("gap".into(), name_of(&self.gap, &GAPS).into());
        Written { asked: asked(self.trees.rounds), settings }
    }

    staged!();
}

impl Staged for IsoRank {
    const MOST: usize = MOST;
    const WEIGHS: Weighs = Weighs::Queries;

    fn rounds(&self) -> Choice<usize> {
        self.trees.rounds
    }

    fn run(&self, job: &Job<'_>) -> Result<Vec<Made>> {
        let set = job.data.set;
        let gap = |grade: f64| match self.gap {
            Gap::Exp => grade.exp2() - 1.0,
            Gap::Linear => grade,
        };
        let gaps: Vec<f64> = set.grades.iter().map(|&grade| gap(grade)).collect();
        let loss = |on: &[u32]| {
            let spans = on.iter().map(|&q| set.span(q as usize));
            Isotonic::new(spans.map(|span| (&set.grades[span.clone()], &gaps[span])))
        };
        let lists = job.courses.last().map_or(0, |(on, _)| on.len());
        let weights = query_weights(set, &job.units)?;
        let weight = |on: &[u32]| on.iter().map(|q| weights.as_ref().map_or(1.0, |weights| weights[q])).collect();
        self.trees.run(job, loss, weight, (lists as f64, "list"))
    }
}
