//! C-CRF: the continuous conditional random field, documents of a query that pull at each other's scores.

mod likelihood;

use crate::data::scale::{Scale, Scaling};
use crate::data::transform::Transform;
use crate::error::{Error, Result};
use crate::method::settings::{self, Common, SCALE, TRANSFORM, accuracy, name_of, one_of, steps};
use crate::method::{Choice, Positive, Rank, RankNotes, Ranker};
use crate::metric::Metric;
use crate::score::Score;
use crate::scorer::field::{Field, Similarity};
use crate::scorer::rows::Rows;
use crate::solver::lbfgs::Lbfgs;
use crate::solver::run::{Watch, run};
use crate::task::{About, Facts, Fitted, Inputs, Method, Setting, Training, Written};
use crate::traits::{Risk, Solver};
use likelihood::{FAR, Likelihood, List};
use rayon::prelude::*;
use serde_json::{Map, Value};

/// C-CRF: grades as a Gaussian field around the features, in which documents that are alike have like grades.
///
/// ```text
/// p(y | X) ∝ exp(−Σ_k α_k Σ_i (y_i − x_ik)² − β/2 Σ_ij S_ij (y_i − y_j)²),     α_k, β > 0,   y = grade / largest grade
/// max over log α, log β:   Σ over queries  ½ log|A| − (y − μ)'A(y − μ),    A = aI + βΛ,  a = Σα,  Λ = diag(S 1) − S,  A μ = Xα
/// ```
///
/// Qin, Liu, Zhang, Wang and Li 2008, Eqs. (4) to (6); a query is ranked by the mode μ. Λ is made diagonal once for each query, O(n³), after
/// which an evaluation is O(values). Fitted by L-BFGS over the logarithms, which stay within −12 and 12; there is no ridge.
/// Features are taken literally as guesses of y: they should be between 0 and 1 (`scale=minmax`), and a
/// feature whose small values are good gets no weight. The paper takes the similarity from the text of documents, which feature files do not
/// have: `similarity=rbf` makes it from the features themselves. Links between documents ([`crate::data::RankSet::pairs`]) say it too: each feature of
/// pairs is one more S (0 for a pair that is not there, never below 0) with a β of its own, beside rbf or, with `similarity=none`, alone. With more
/// than one S there is no common diagonal form, and each evaluation is O(n³).
///
/// ```
/// use ordain::{data::synthetic::Synthetic, method::RankMethod, solver::run::Watch, task::{Method, Model, Training}};
/// let set = Synthetic::default().make();
/// let method: RankMethod = "ccrf".parse()?;
/// let fitted = method.fit(&Training::new(&set, &set.all()), &Watch::NOBODY)?;
/// assert_eq!(fitted.model.scores(&fitted.model.prepare(&set)?)?.len(), set.rows());
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ccrf {
    /// Transform of columns before they are scaled.
    pub transform: Transform,
    /// Scaling of the features.
    pub scale: Scale,
    /// How alike documents are.
    pub similarity: Similarity,
    /// The most steps of a fit.
    pub max_iter: usize,
    /// The norm of the gradient at which a fit stops, relative to the one at its start.
    pub tol: Positive,
}

impl Default for Ccrf {
    fn default() -> Self {
        Self {
            transform: Transform::Auto,
            scale: Scale::Minmax,
            similarity: Similarity::Rbf,
            max_iter: 1000,
            tol: Positive(1e-7),
        }
    }
}

const SIMILARITIES: [(&str, Similarity); 2] = [("rbf", Similarity::Rbf), ("none", Similarity::None)];
/// A query of so many documents has 200 MB of distances, and its eigenvalues take minutes.
const MOST: usize = 5000;

impl Ccrf {
    /// What can be set.
    pub const SETTINGS: &'static [Setting] = &[
        TRANSFORM,
        Setting {
            default: "minmax",
            range: "none, global, query, minmax",
            help: "scaling of the features, which stand for grades from 0 to 1: minmax (0 to 1 within each query), none, global or query",
            ..SCALE
        },
        Setting {
            name: "similarity",
            range: "rbf, none",
            default: "rbf",
            help: "how alike two documents of a query are: exp(-distance²/median) of their scaled features (rbf), or not at all (none); links (--links) say it besides",
        },
        steps("1000", "the most steps of a fit"),
        accuracy("1e-7", "the norm of the gradient at which a fit stops, relative to the one at its start"),
    ];

    fn used(&self) -> Map<String, Value> {
        Map::from_iter([
            ("scale".into(), self.scale.name().into()),
            ("similarity".into(), name_of(&self.similarity, &SIMILARITIES).into()),
            ("max_iter".into(), self.max_iter.into()),
            ("tol".into(), self.tol.get().into()),
        ])
    }
}

impl Method<Rank> for Ccrf {
    fn name(&self) -> &'static str {
        "ccrf"
    }

    fn about(&self) -> About {
        About {
            good_for: "documents that are alike; has nothing to choose",
            measured_on: "OHSUMED",
            figures: &[("ndcg@10", 0.4350), ("map", 0.4451)],
        }
    }

    fn settings(&self) -> &'static [Setting] {
        Self::SETTINGS
    }

    fn get(&self, name: &str) -> Option<String> {
        match name {
            "similarity" => Some(name_of(&self.similarity, &SIMILARITIES).into()),
            "lambda" => None,
            _ => {
                let scale = Choice::Set(self.scale);
                settings::common(name, self.transform, &scale, &Choice::Auto, self.max_iter, self.tol)
            }
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "similarity" => self.similarity = one_of("similarity", value, &SIMILARITIES)?,
            "scale" => self.scale = value.parse()?,
            "c" => return Err(Error::unknown("setting", name, Self::SETTINGS.iter().map(|setting| setting.name))),
            _ => {
                let Self { transform, max_iter, tol, .. } = self;
                let (scale, lambda) = (&mut Choice::Auto, &mut Choice::Auto);
                Common { transform, scale, lambda, max_iter, tol }.set(name, value)?;
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<()> {
        settings::check(Choice::Set(self.scale), self.max_iter)
    }

    fn chooses(&self) -> bool {
        false
    }

    fn chooses_by(&self) -> Metric {
        super::CHOOSES_BY
    }

    fn resumes(&self) -> bool {
        false
    }

    fn takes_links(&self) -> bool {
        true
    }

    fn transform(&self) -> Transform {
        self.transform
    }

    fn written(&self) -> Written {
        Written { asked: Map::new(), settings: self.used() }
    }

    fn learn(&self, data: &Training<'_, Rank>, watch: &Watch) -> Result<Fitted<Rank>> {
        let set = data.set;
        crate::method::rank::refuse_weights(set, "ccrf")?;
        let all = data.train;
        // a query of one grade has a likelihood too
        let units: Vec<u32> = all.iter().copied().filter(|&q| set.span(q as usize).len() > 1).collect();
        let flat = units.iter().all(|&q| set.is_flat(q as usize));
        let grades = || units.iter().flat_map(|&q| &set.grades[set.span(q as usize)]);
        let top = grades().copied().fold(0.0, f64::max);
        if flat || top <= 0.0 || grades().any(|&grade| grade < 0.0) {
            return Err(Error::Data {
                expected: "at least one training query with two different grades, none of them below 0".into(),
                found: if flat { "none: there is nothing to put in order" } else { "grades below 0" }.into(),
            });
        }
        if let Some(&long) = units.iter().find(|&&q| set.span(q as usize).len() > MOST) {
            return Err(Error::Data {
                expected: format!("queries of at most {MOST} documents (ccrf has a number for every two of them)"),
                found: format!("{} in query {:?}", set.span(long as usize).len(), set.query(long as usize)),
            });
        }
        let linked: &[String] = set.pairs().map_or(&[], |pairs| pairs.names());
        set.pairs().map_or(Ok(()), |pairs| pairs.need_at_least_0(set))?;
        (watch.tell)(0.0, "documents that are alike");
        let scaling = Scaling::learn(self.scale, set, all);
        let rows = Rows::new(set, &units, &scaling);
        let one = |n: usize| {
            let own = &set.grades[set.span(units[n] as usize)];
            let y: Vec<f64> = own.iter().map(|grade| grade / top).collect();
            List::new(&rows.dense(n), &y, self.similarity, &rows.linked(n), linked.len())
        };
        let lists: Vec<List> = (0..units.len()).into_par_iter().map(one).collect();
        let d = set.features.cols();
        let pulls = usize::from(self.similarity != Similarity::None) + linked.len();
        let mut risk = Likelihood::new(lists, [d, pulls], &set.pieces(), &units, watch.stop);
        // all features alike, and little pull: the middle of what may be
        let theta = vec![0.0; risk.dim()];
        (watch.tell)(0.1, "fitting");
        let mut solver = Lbfgs::at(&mut risk, 0.0, self.tol.get(), theta, None)?;
        let report = run(&mut solver, self.max_iter, 0, watch)?;
        let numbers: Vec<f64> = solver.theta().iter().map(|log| log.clamp(-FAR, FAR).exp()).collect();
        let (alpha, rest) = numbers.split_at(d);
        let (own, of_links) = rest.split_at(pulls - linked.len());
        let score = Score::Field(Field {
            alpha: alpha.to_vec(),
            beta: own.first().copied().unwrap_or(0.0),
            similarity: self.similarity,
            links: linked.iter().cloned().zip(of_links.iter().copied()).collect(),
        });
        let inputs = Inputs::new(&set.columns, &data.filled, self.scale, scaling.global());
        let documents: usize = units.iter().map(|&q| set.span(q as usize).len()).sum();
        let facts = Facts {
            method: self.name().into(),
            settings: self.used(),
            asked: Map::new(),
            data: if linked.is_empty() { set.digest() } else { set.linked_digest() },
            notes: RankNotes {
                preferences: None,
                rows: all.iter().map(|&q| set.span(q as usize).len()).sum(),
                queries: all.len(),
                flat_queries: all.len() - units.len(),
                examples: documents as f64,
                example: "document".into(),
                core: None,
                trees: None,
            },
            report,
            refit: false,
            chosen: None,
            seed: data.seed,
            auto: None,
            init: None,
        };
        let model = Ranker { inputs, score, places: vec![], quadratic: None, start: None };
        Ok(Fitted { model, facts, journal: None })
    }
}
