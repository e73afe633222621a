//! AdaRank: a sum of columns, each the best one for a metric on the queries that are still badly ordered.

use crate::data::scale::{Scale, Scaling};
use crate::data::transform::Transform;
use crate::error::{Error, Result};
use crate::method::rank::staged::{self, Job, Made, Staged, asked, staged};
use crate::method::settings::{TRANSFORM, shown};
use crate::method::trees::choice;
use crate::method::{Choice, Rank};
use crate::metric::{self, Kind, Metric};
use crate::score::Score;
use crate::solver::stages::Stage;
use crate::task::{About, Method, Setting, Training, Written, both};
use rayon::prelude::*;
use serde_json::Map;
use std::collections::HashMap;

/// AdaRank: one column after another, each weighed by what its order is worth to the queries that are badly ordered so far.
///
/// ```text
/// P_q ∝ exp(−M_q(s)),   k = argmax over columns of Σ_q P_q M_q(x_k),   α = ½ ln( Σ_q P_q (1 + M_q) / Σ_q P_q (1 − M_q) ),   s ← s + α x_k
/// ```
///
/// with M the metric of the order of a query. Xu and Li 2007, Algorithm 1. It lowers `mean over queries of exp(−M_q)`. A column stands for two weak rankers, itself and its
/// negative, so that columns where less is better serve too. Columns that are constant in every training query are left out.
///
/// A column that wins twice running changes no order, so that P stays and it would win forever. So a chosen column rests until the metric of the training queries
/// moves; the paper has no rule for it. Where all columns rest it ends. The choice sees orders, the sum sees values: columns have to be on one scale.
///
/// What each column is worth to each query is computed once: O(documents · columns · log). A round costs O(queries · columns) and one sort of the documents.
///
/// ```
/// use ordain::{data::synthetic::Synthetic, method::AdaRank, solver::run::Watch, task::{Method, Model, Training}};
/// let set = Synthetic::default().make();
/// let fitted = AdaRank::default().fit(&Training::new(&set, &set.all()), &Watch::NOBODY)?;
/// assert!(fitted.model.score.is_linear() && fitted.facts.report.objective < 1.0);
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdaRank {
    /// The metric that is learned for.
    pub metric: Metric,
    /// The number of rounds.
    pub rounds: Choice<usize>,
    /// Transform of columns before they are scaled.
    pub transform: Transform,
    /// Scaling of the features.
    pub scale: Choice<Scale>,
}

impl Default for AdaRank {
    fn default() -> Self {
        Self {
            metric: Metric { kind: Kind::Map, k: None },
            rounds: Choice::Auto,
            transform: Transform::Auto,
            scale: Choice::Set(Scale::Minmax),
        }
    }
}

impl AdaRank {
    /// What can be set.
    pub const SETTINGS: &'static [Setting] = &[
        Setting {
            name: "metric",
            range: "a metric of rankings from 0 to 1, such as map or ndcg@10",
            default: "map",
            help: "the metric that is learned for",
        },
        staged::rounds("the number of rounds: auto by validation (at most 100; 100 if nothing can be chosen)"),
        TRANSFORM,
        Setting {
            name: "scale",
            range: "minmax, auto, none, global, query",
            default: "minmax",
            help: "scaling of the features: minmax (0 to 1 within each query), query (mean 0 and deviation 1 within each query), global, none, or auto by validation",
        },
    ];
}

impl Method<Rank> for AdaRank {
    fn name(&self) -> &'static str {
        "adarank"
    }

    fn about(&self) -> About {
        About {
            good_for: "a readable sum of a few columns, for one metric",
            measured_on: "OHSUMED",
            figures: &[("ndcg@10", 0.4462), ("map", 0.4459)],
        }
    }

    fn settings(&self) -> &'static [Setting] {
        Self::SETTINGS
    }

    fn get(&self, name: &str) -> Option<String> {
        match name {
            "metric" => Some(self.metric.to_string()),
            "rounds" => Some(shown(&self.rounds, usize::to_string)),
            "transform" => Some(self.transform.name().into()),
            "scale" => Some(shown(&self.scale, |scale| scale.name().into())),
            _ => None,
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "metric" => self.metric = value.parse()?,
            "rounds" => self.rounds = choice(name, value)?,
            "transform" => self.transform = value.parse()?,
            "scale" if value == "auto" => self.scale = Choice::Auto,
            "scale" => self.scale = Choice::Set(value.parse()?),
            _ => {}
        }
        Ok(())
    }

    fn check(&self) -> Result<()> {
        staged::above_0(self.rounds)?;
        crate::method::settings::check(self.scale, 1)?;
        // gains have no upper bound, and correlations may be below 0
        match self.metric.of_rankings() && !matches!(self.metric.kind, Kind::Dcg | Kind::Kendall) {
            true => Ok(()),
            false => Err(Error::Setting {
                name: "metric".into(),
                expected: Self::SETTINGS[0].range.into(),
                found: self.metric.to_string(),
            }),
        }
    }

    fn chooses(&self) -> bool {
        self.rounds == Choice::Auto || self.scale == Choice::Auto
    }

    fn transform(&self) -> Transform {
        self.transform
    }

    fn written(&self) -> Written {
        let mut asked = asked(self.rounds);
        asked.extend(self.get("scale").map(|scale| ("scale".to_owned(), scale.into())));
        Written { asked, settings: Map::from_iter([("metric".to_owned(), self.metric.to_string().into())]) }
    }

    staged!();
}

impl Staged for AdaRank {
    const MOST: usize = 100;

    fn rounds(&self) -> Choice<usize> {
        self.rounds
    }

    fn run(&self, job: &Job<'_>) -> Result<Vec<Made>> {
        let scales = match self.scale {
            Choice::Set(scale) => vec![scale],
            Choice::Auto if job.courses.len() > 1 => Scale::ALL.to_vec(),
            Choice::Auto => vec![Scale::Minmax],
        };
        let held = job.courses.iter().flat_map(|(_, held)| held.iter().copied());
        let mut units: Vec<u32> = held.chain(job.units.iter().copied()).collect();
        units.sort_unstable();
        units.dedup();
        (job.watch.tell)(0.0, "measuring columns");
        let table = Table::new(job.data, &units, self.metric)?;
        scales.into_iter().map(|scale| self.at(job, scale, &table)).collect()
    }
}

impl AdaRank {
    fn at(&self, job: &Job<'_>, scale: Scale, table: &Table) -> Result<Made> {
        let data = job.data;
        let course = |(on, held): &(Vec<u32>, Vec<u32>)| {
            let queries: Vec<usize> = on.iter().filter_map(|q| table.place.get(q).copied()).collect();
            Course {
                data,
                table,
                metric: self.metric,
                scaling: Scaling::learn(scale, data.set, on),
                units: both(on, held),
                on: queries.iter().map(|&place| table.units[place]).collect(),
                rested: vec![false; 2 * data.set.features.cols()],
                varies: varies(data, on),
                scores: vec![0.0; data.set.rows()],
                values: HashMap::new(),
                made: vec![],
                worth: vec![],
                losses: vec![],
                judged: !held.is_empty(),
                queries,
                done: false,
            }
        };
        let mut courses: Vec<Course<'_>> = job.courses.iter().map(course).collect();
        courses.iter_mut().try_for_each(Course::measure)?;
        let mut ran = job.pace.run(&mut courses, &|n, scores| job.judge(n, scores), job.watch)?;
        let Some(last) = courses.pop() else { return Err(Error::Interrupted) };
        if last.queries.is_empty() {
            return Err(Error::Data {
                expected: format!("a training query with two different grades that {} counts", self.metric),
                found: "none: nothing says what an order is worth".into(),
            });
        }
        ran.best = ran.best.max(1).min(last.made.len());
        let mut weights = vec![0.0; data.set.features.cols()];
        last.made[..ran.best].iter().for_each(|&(ranker, alpha)| weights[ranker / 2] += sign(ranker) * alpha);
        Ok(Made {
            score: Score::Linear(weights),
            scale,
            global: last.scaling.global().cloned(),
            objective: last.losses.get(ran.best).copied().unwrap_or(1.0),
            ran,
            chosen: Map::from_iter([("scale".to_owned(), scale.name().into())]),
            examples: (last.queries.len() as f64, "list"),
        })
    }
}

/// What the order of each column, and the opposite order, is worth to each query that counts.
struct Table {
    units: Vec<u32>,
    place: HashMap<u32, usize>,
    /// Weak ranker after weak ranker (column j as 2j, its negative as 2j + 1): a value for each query.
    values: Vec<Vec<f64>>,
}

impl Table {
    fn new(data: &Training<'_, Rank>, units: &[u32], metric: Metric) -> Result<Self> {
        let set = data.set;
        let zeros = metric::evaluate(set, units, &vec![0.0; set.rows()], &[metric], &data.convention)?;
        let counts = units.iter().zip(&zeros.values[0]).filter(|(_, value)| value.is_some());
        let units: Vec<u32> = counts.map(|(&q, _)| q).collect();
        let of = |ranker: usize| {
            let value = |row: usize| sign(ranker) * f64::from(set.features.value(row, ranker / 2));
            let scores: Vec<f64> = (0..set.rows()).map(value).collect();
            Ok(metric::evaluate(set, &units, &scores, &[metric], &data.convention)?.counted(0))
        };
        let values = (0..2 * set.features.cols()).into_par_iter().map(of).collect::<Result<_>>()?;
        Ok(Self { place: units.iter().enumerate().map(|(place, &q)| (q, place)).collect(), units, values })
    }
}

/// Which way a weak ranker takes its column.
fn sign(ranker: usize) -> f64 {
    if ranker.is_multiple_of(2) { 1.0 } else { -1.0 }
}

/// Whether each column differs between documents of some query.
fn varies(data: &Training<'_, Rank>, units: &[u32]) -> Vec<bool> {
    let (set, mut varies) = (data.set, vec![false; data.set.features.cols()]);
    for &q in units {
        let span = set.span(q as usize);
        for (j, varies) in varies.iter_mut().enumerate().filter(|(_, varies)| !**varies) {
            let first = set.features.value(span.start, j).to_bits();
            *varies = span.clone().any(|row| set.features.value(row, j).to_bits() != first);
        }
    }
    varies
}

/// One course while it runs.
struct Course<'a> {
    data: &'a Training<'a, Rank>,
    table: &'a Table,
    metric: Metric,
    scaling: Scaling,
    /// All queries that it learns from or is judged on.
    units: Vec<u32>,
    /// Those that it learns from and that count, with their places in the table.
    on: Vec<u32>,
    queries: Vec<usize>,
    /// Weak rankers that rest.
    rested: Vec<bool>,
    varies: Vec<bool>,
    scores: Vec<f64>,
    /// Scaled columns that were chosen.
    values: HashMap<usize, Vec<f64>>,
    made: Vec<(usize, f64)>,
    /// What the order so far is worth to each query.
    worth: Vec<f64>,
    /// The mean of `exp(−M)` after so many rounds.
    losses: Vec<f64>,
    judged: bool,
    done: bool,
}

/// The metric has moved if its mean did by more than this.
const MOVED: f64 = 1e-9;
/// Weak rankers whose worth differs by less are as good: the first is taken.
const SAME: f64 = 1e-12;
/// What is added to both sides of a ratio, so that a column without a fault has a finite weight.
const FAULT: f64 = 1e-9;

impl Course<'_> {
    /// Measures the order so far.
    fn measure(&mut self) -> Result<()> {
        let (set, convention) = (self.data.set, &self.data.convention);
        self.worth = metric::evaluate(set, &self.on, &self.scores, &[self.metric], convention)?.counted(0);
        self.losses.push(mean(self.worth.iter().map(|m| (-m).exp())));
        Ok(())
    }

    /// The weak ranker that is worth most to the queries by their weights, and its α; nothing if all rest.
    fn best(&self) -> Option<(usize, f64)> {
        // without a round all queries weigh the same
        let weight = |m: &f64| if self.made.is_empty() { 1.0 } else { (-m).exp() };
        let weights: Vec<f64> = self.worth.iter().map(weight).collect();
        let total: f64 = weights.iter().sum();
        let mut best: Option<(usize, f64)> = None;
        for (ranker, values) in self.table.values.iter().enumerate() {
            if self.rested[ranker] || !self.varies[ranker / 2] {
                continue;
            }
            let worth = self.queries.iter().zip(&weights).map(|(&q, p)| p * values[q]).sum::<f64>() / total;
            if best.is_none_or(|(_, most)| worth > most + SAME) {
                best = Some((ranker, worth));
            }
        }
        best.map(|(ranker, worth)| (ranker, 0.5 * ((1.0 + worth + FAULT) / (1.0 - worth + FAULT)).ln()))
    }
}

impl Stage for Course<'_> {
    fn round(&mut self, _: usize) -> Result<bool> {
        if self.done || self.queries.is_empty() {
            return Ok(false);
        }
        let Some((ranker, alpha)) = self.best() else {
            self.done = true;
            return Ok(false);
        };
        let column = ranker / 2;
        if !self.values.contains_key(&column) {
            let mut one = vec![0.0; self.data.set.features.cols()];
            one[column] = 1.0;
            let values = Score::Linear(one).units(self.data.set.into(), &self.units, &self.scaling, |_| "");
            self.values.insert(column, values);
        }
        let step = sign(ranker) * alpha;
        self.scores.iter_mut().zip(&self.values[&column]).for_each(|(score, x)| *score += step * x);
        self.made.push((ranker, alpha));
        let before = mean(self.worth.iter().copied());
        self.measure()?;
        if (mean(self.worth.iter().copied()) - before).abs() > MOVED {
            self.rested.fill(false);
        }
        self.rested[ranker] = true;
        Ok(true)
    }

    fn scores(&self) -> &[f64] {
        &self.scores
    }

    fn judged(&self) -> bool {
        self.judged
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len().max(1) as f64;
    values.sum::<f64>() / n
}
