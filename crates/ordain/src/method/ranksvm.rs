//! Linear RankSVM: the squared hinge over all pairs of different grades within a query.

use super::{Candidate, Choice, Chosen, Facts, Fitted, LinearRanker, Positive, Setting, Training};
use crate::data::scale::{Scale, Scaling};
use crate::data::{RankSet, split};
use crate::error::{Error, Result};
use crate::metric;
use crate::risk::Empirical;
use crate::scorer::rows::Rows;
use crate::solver::newton::{Memory, Newton};
use crate::solver::run::{Report, Watch, run};
use crate::surrogate::pair_hinge::PairHinge;
use crate::traits::{Solver, Stop, Surrogate};
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

/// The part of a problem that does not depend on λ or the scaling.
struct Pairs<'a> {
    set: &'a RankSet,
    /// Queries with at least two grades.
    units: Vec<u32>,
    loss: PairHinge,
    weight: Vec<f64>,
    pairs: f64,
}

/// What is left to choose.
#[derive(Clone, Copy)]
struct Point {
    scale: Scale,
    lambda: f64,
}

impl Point {
    fn settings(self) -> Map<String, Value> {
        Map::from_iter([("scale".into(), self.scale.name().into()), ("lambda".into(), self.lambda.into())])
    }
}

/// What a fit came to.
struct Outcome {
    ranker: LinearRanker,
    report: Report,
    at: Point,
    chosen: Option<Chosen>,
    refit: bool,
}

impl RankSvm {
    /// What can be set.
    pub const SETTINGS: &'static [Setting] = &[
        Setting {
            name: "scale",
            range: "auto, none, global, query, minmax",
            default: "auto",
            help: "scaling of the features: auto by validation (else query), none, global (mean 0, deviation 1), query (the same within each query), minmax (0 to 1 within each query)",
        },
        Setting {
            name: "lambda",
            range: "auto or a number above 0",
            default: "auto",
            help: "strength of the ridge: auto by validation (else 1); c=1/lambda is accepted too",
        },
        Setting {
            name: "weight",
            range: "query, pair",
            default: "query",
            help: "what the mean loss is over: query (every query counts the same) or pair (every pair does)",
        },
        Setting {
            name: "max_iter",
            range: "a whole number above 0",
            default: "100",
            help: "the most Newton steps of one fit",
        },
        Setting {
            name: "tol",
            range: "a number above 0",
            default: "1e-5",
            help: "the norm of the gradient at which a fit stops, relative to the one at zero",
        },
    ];

    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let wrong =
            |expected: &str| Error::Setting { name: name.into(), expected: expected.into(), found: value.into() };
        let number = || value.parse().ok().and_then(|x| Positive::new(x).ok());
        match name {
            "scale" if value == "auto" => self.scale = Choice::Auto,
            "scale" => self.scale = Choice::Set(value.parse()?),
            "lambda" | "c" if value == "auto" => self.lambda = Choice::Auto,
            "lambda" => self.lambda = Choice::Set(number().ok_or_else(|| wrong("auto or a number above 0"))?),
            "c" => {
                let c = number().and_then(|c| Positive::new(1.0 / c.get()).ok());
                self.lambda = Choice::Set(c.ok_or_else(|| wrong("auto or a number above 0"))?);
            }
            "weight" => {
                self.weight = match value {
                    "query" => PairWeight::Query,
                    "pair" => PairWeight::Pair,
                    _ => return Err(Error::unknown("weight", value, ["query", "pair"])),
                }
            }
            "max_iter" => {
                self.max_iter = value.parse().ok().filter(|&n| n > 0).ok_or_else(|| wrong("a whole number above 0"))?;
            }
            _ => self.tol = number().ok_or_else(|| wrong("a number above 0"))?,
        }
        Ok(())
    }

    /// Whether λ or the scaling is left to validation.
    pub fn chooses(&self) -> bool {
        self.lambda == Choice::Auto || self.scale == Choice::Auto
    }

    /// Fits a ranker.
    ///
    /// Where λ or the scaling is [`Choice::Auto`], a path of λ from strong to weak is followed for each scaling, each
    /// fit starting from the one before, and the best on the validation queries is taken; of equals the first tried.
    /// With fewer than five queries, or none that the metric counts, there is nothing to choose on, and the defaults serve.
    pub fn fit(&self, data: &Training, watch: &Watch) -> Result<Fitted> {
        data.set.need_grades()?;
        let held_out;
        let (train, valid): (&[u32], &[u32]) = match data.valid {
            Some(valid) => (data.train, valid),
            None if self.chooses() && data.train.len() >= 5 => {
                held_out = split::hold_out(data.train);
                (&held_out.0, &held_out.1)
            }
            None => (data.train, &[]),
        };
        // a query that the metric leaves out says nothing about a choice
        let zeros = vec![0.0; data.set.rows()];
        let says =
            |valid| metric::evaluate(data.set, valid, &zeros, &[data.by.0], &data.by.1).map(|e| e.counted(0).len());
        if self.chooses() && !valid.is_empty() && says(valid)? > 0 {
            return self.choose(data, train, valid, watch);
        }
        let train = if self.chooses() { data.train } else { train };
        let at = Point {
            lambda: if let Choice::Set(lambda) = self.lambda { lambda.get() } else { LAMBDA },
            scale: if let Choice::Set(scale) = self.scale { scale } else { Scale::Query },
        };
        let pairs = self.pairs(data.set, train)?;
        (watch.tell)(0.0, "fitting");
        let (ranker, report) = self.fit_one(data, &pairs, train, at, None, watch)?;
        Ok(self.fitted(data, train, &pairs, Outcome { ranker, report, at, chosen: None, refit: false }))
    }

    fn choose(&self, data: &Training, train: &[u32], valid: &[u32], watch: &Watch) -> Result<Fitted> {
        let pairs = self.pairs(data.set, train)?;
        let mut best = self.search(data, &pairs, train, valid, watch)?;
        if watch.stopped() {
            best.report.stop = Stop::Interrupted;
        }
        if !data.refit || watch.stopped() {
            return Ok(self.fitted(data, train, &pairs, best));
        }
        drop(pairs);
        (watch.tell)(0.98, "fitting on training and validation");
        let mut both = [train, valid].concat();
        both.sort_unstable();
        let pairs = self.pairs(data.set, &both)?;
        let start = std::mem::take(&mut best.ranker.weights);
        let (ranker, report) = self.fit_one(data, &pairs, &both, best.at, Some(start), watch)?;
        Ok(self.fitted(data, &both, &pairs, Outcome { ranker, report, refit: true, ..best }))
    }

    /// The best of all scalings and λ on the validation queries.
    fn search(&self, data: &Training, pairs: &Pairs, train: &[u32], valid: &[u32], watch: &Watch) -> Result<Outcome> {
        let set = data.set;
        let scales = if let Choice::Set(scale) = self.scale { vec![scale] } else { Scale::ALL.to_vec() };
        let lambdas = if let Choice::Set(lambda) = self.lambda { vec![lambda.get()] } else { PATH.to_vec() };
        let (metric, convention) = data.by;
        let total = (scales.len() * lambdas.len() + 1) as f64;
        let mut candidates: Vec<Candidate> = vec![];
        let mut best: Option<(f64, Outcome)> = None;
        'search: for &scale in &scales {
            let scaling = Scaling::learn(scale, set, train);
            let rows = Rows::new(set, &pairs.units, &scaling);
            let mut risk = Empirical::new(&rows, &pairs.loss, pairs.weight.clone());
            let (mut theta, mut memory) = (vec![0.0; set.features.cols()], Memory::default());
            for &lambda in &lambdas {
                let what = format!("choosing: scale={} lambda={lambda}", scale.name());
                (watch.tell)(candidates.len() as f64 / total, &what);
                let mut newton = Newton::new(&mut risk, lambda, self.tol.get(), theta, memory)?;
                let report = run(&mut newton, self.max_iter, watch)?;
                theta = newton.theta().to_vec();
                memory = newton.into_memory();
                let ranker = ranker(data, theta.clone(), scale, &scaling);
                let scores = ranker.scores_with(set, valid, &scaling);
                let value = metric::evaluate(set, valid, &scores, &[metric], &convention)?.mean(0);
                candidates.push(Candidate { settings: Point { scale, lambda }.settings(), value });
                if best.as_ref().is_none_or(|(so_far, _)| value > *so_far) {
                    let at = Point { scale, lambda };
                    best = Some((value, Outcome { ranker, report, at, chosen: None, refit: false }));
                }
                if watch.stopped() {
                    break 'search;
                }
            }
        }
        let Some((_, mut best)) = best else { return Err(Error::Interrupted) };
        let (metric, convention) = (metric.to_string(), convention.to_string());
        best.chosen = Some(Chosen { metric, convention, queries: valid.len(), candidates });
        Ok(best)
    }

    fn fit_one(
        &self,
        data: &Training,
        pairs: &Pairs,
        units: &[u32],
        at: Point,
        start: Option<Vec<f64>>,
        watch: &Watch,
    ) -> Result<(LinearRanker, Report)> {
        let set = pairs.set;
        let scaling = Scaling::learn(at.scale, set, units);
        let rows = Rows::new(set, &pairs.units, &scaling);
        let mut risk = Empirical::new(&rows, &pairs.loss, pairs.weight.clone());
        let start = start.unwrap_or_else(|| vec![0.0; set.features.cols()]);
        let mut newton = Newton::new(&mut risk, at.lambda, self.tol.get(), start, Memory::default())?;
        let report = run(&mut newton, self.max_iter, watch)?;
        let theta = newton.theta().to_vec();
        Ok((ranker(data, theta, at.scale, &scaling), report))
    }

    /// The pairs of some queries with their weights; refuses data without a single pair.
    fn pairs<'a>(&self, set: &'a RankSet, units: &[u32]) -> Result<Pairs<'a>> {
        let units: Vec<u32> = units.iter().copied().filter(|&q| !set.is_flat(q as usize)).collect();
        let of = |values: &'a [f64]| units.iter().map(move |&q| &values[set.span(q as usize)]);
        let weights = set.weights.as_ref().map(|w| of(w).collect::<Vec<_>>());
        let loss = PairHinge::new(of(&set.grades), weights.as_deref());
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
        Ok(Pairs { set, units, loss, weight, pairs: counts.iter().map(|&(pairs, _)| pairs).sum() })
    }

    fn fitted(&self, data: &Training, units: &[u32], pairs: &Pairs, outcome: Outcome) -> Fitted {
        let mut settings = outcome.at.settings();
        settings.insert("weight".into(), self.weight.name().into());
        settings.insert("max_iter".into(), self.max_iter.into());
        settings.insert("tol".into(), self.tol.get().into());
        let facts = Facts {
            method: "ranksvm".into(),
            settings,
            data: data.set.digest(),
            rows: units.iter().map(|&q| data.set.span(q as usize).len()).sum(),
            queries: units.len(),
            flat_queries: units.len() - pairs.units.len(),
            pairs: pairs.pairs,
            report: outcome.report,
            refit: outcome.refit,
            chosen: outcome.chosen,
            seed: data.seed,
        };
        Fitted { ranker: outcome.ranker, facts }
    }
}

fn ranker(data: &Training, weights: Vec<f64>, scale: Scale, scaling: &Scaling) -> LinearRanker {
    let global = if let Scaling::Global(affine) = scaling { Some(affine.clone()) } else { None };
    let means = data.means.map(<[f32]>::to_vec);
    LinearRanker { weights, columns: data.set.columns.clone(), scale, global, missing: data.missing, means }
}
