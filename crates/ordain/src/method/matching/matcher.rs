//! The fitted matcher: how an edge gets its score, and what staying unmatched is worth.

use crate::data::scale::{Scale, Scaling};
use crate::data::{Filled, MatchSet, Problem, Truth};
use crate::error::{Error, Result};
use crate::method::matching::decide::{DecideNotes, MatchDecide};
use crate::method::matching::precision::{Precision, Reached};
use crate::method::{Match, Positive, TreeNotes};
use crate::metric::{Convention, Evaluation, Metric, SaidMatches, evaluate_matches};
use crate::score::{Contribution, Score, with_values};
use crate::scorer::edges::NULL_UNIT;
use crate::scorer::rows;
use crate::structure::matching::best::{self, best, forbidden};
use crate::structure::matching::engine;
use crate::structure::matching::graph::Graph;
use crate::structure::matching::{Accuracy, Engine, Sum, likely, ties};
use crate::task::{Inputs, Model, Ready};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::cmp::Ordering;

/// Scores edges, and matches the two sides so that the sum of scores is largest, or the most items are expected to be matched rightly.
#[derive(Clone, Debug, PartialEq)]
pub struct Matcher {
    /// What it needs to read a row.
    pub inputs: Inputs,
    /// How an edge gets its score.
    pub score: Score,
    /// The score of an item that stays unmatched; `None` where all of the lesser side have to be matched.
    pub null: Option<f64>,
    /// What scores are divided by before they become probabilities; `None` where there are none.
    pub temperature: Option<f64>,
    /// How probabilities are found.
    pub engine: Engine,
    /// The seed of samples, where probabilities are found by drawing them.
    pub seed: u64,
    /// What the matching is best for.
    pub decide: MatchDecide,
    /// The least probability of a match: less likely ones are dropped, and their items stay unmatched.
    pub least: Option<f64>,
    /// How precise matches of problems were that the fit had not seen, by their probability; nothing where there were none.
    pub precision: Option<Precision>,
}

/// How a matcher is to answer where that is not what it was fitted for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Operating {
    /// What the matching is best for.
    pub decide: Option<MatchDecide>,
    /// The least probability of a match.
    pub min_probability: Option<f64>,
    /// The share of matches that are to be right, by what is known of validation.
    pub precision: Option<f64>,
}

/// One match.
#[derive(Clone, Debug, PartialEq)]
pub struct Matched {
    /// The edge, by its number within the problem.
    pub edge: u32,
    /// Its score.
    pub score: f64,
    /// How likely it is, of models that know.
    pub probability: Option<f64>,
    /// By how much the best sum falls without this edge, of scores, or of what edges are worth where marginals decide; infinite where nothing
    /// else is possible.
    pub margin: f64,
    /// When a person should look at it: 1 for the most doubtful of its problem.
    pub check: usize,
    /// Whether it is less likely than that one of its two items stays unmatched; never of a model without nulls or without probabilities.
    pub unlikely: bool,
}

/// What a matcher says of one problem.
#[derive(Clone, Debug, PartialEq)]
pub struct MatchPrediction {
    /// The matches, by left item.
    pub matches: Vec<Matched>,
    /// Left items without a match.
    pub left: Vec<u32>,
    /// Right items without a match.
    pub right: Vec<u32>,
    /// The score of every edge.
    pub scores: Vec<f64>,
    /// The probability of every edge, then with nulls of every left and every right item to stay unmatched.
    pub probabilities: Option<Vec<f64>>,
    /// Where other matchings score the same: edges that are in some of them, with the share of those that they are in.
    pub ties: Vec<(u32, f64)>,
    /// How probabilities were found, and how near they are.
    pub sum: Option<Sum>,
    /// Minus the log of the probability of the right matching, where all of it is known and there are probabilities.
    pub nll: Option<f64>,
}

/// The order of doubt of two matches by probability and margin: the least likely first, of equals the one that costs
/// least to give up.
pub(crate) fn doubt(a: (Option<f64>, f64), b: (Option<f64>, f64)) -> Ordering {
    let sure = |p: Option<f64>| p.unwrap_or(0.0);
    sure(a.0).total_cmp(&sure(b.0)).then(a.1.total_cmp(&b.1))
}

impl Matched {
    /// The order of doubt: the least certain first.
    pub fn doubt(&self, other: &Self) -> Ordering {
        doubt((self.probability, self.margin), (other.probability, other.margin))
    }
}

impl MatchPrediction {
    /// How likely an item of the problem, of the right side or of the left, is to stay unmatched, where there are probabilities.
    pub fn unmatched(&self, problem: &Problem, right: bool, item: usize) -> Option<f64> {
        let all = self.probabilities.as_ref()?;
        let null = problem.edges.len() + if right { problem.left.len() } else { 0 } + item;
        if let Some(&probability) = all.get(null) {
            return Some(probability);
        }
        let taken: f64 = match right {
            true => problem.edges.iter().zip(all).filter(|(ends, _)| ends.1 as usize == item).map(|(_, p)| p).sum(),
            false => all[problem.candidates(item)].iter().sum(),
        };
        Some((1.0 - taken).clamp(0.0, 1.0))
    }
}

impl Model<Match> for Matcher {
    type Scaled = Scaling;

    fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    fn inputs_mut(&mut self) -> &mut Inputs {
        &mut self.inputs
    }

    fn check(&self) -> Result<()> {
        let right = self.score.fits(self.inputs.columns.names.len())
            && self.temperature.is_none_or(|t| Positive::new(t).is_ok())
            && self.can_decide(self.decide).is_ok()
            && self.least.is_none_or(|least| (0.0..=1.0).contains(&least) && self.temperature.is_some())
            && self.precision.as_ref().is_none_or(Precision::fits)
            && self.inputs.fits();
        match right {
            true => Ok(()),
            false => Err(Error::Data { expected: "a matcher whose parts fit".into(), found: "another".into() }),
        }
    }

    fn scaled(&self, set: &MatchSet) -> Scaling {
        self.inputs.scaling(set, &set.all())
    }

    fn evaluate(&self, on: &Ready<'_, Match>, units: &[u32], metrics: &[Metric], _: &Convention) -> Result<Evaluation> {
        self.evaluate_with(on.set(), units, on.scaled(self)?, metrics)
    }
}

impl Matcher {
    /// A matcher that has learned nothing: these weights on the features of a set as they are, all of the lesser side matched, no probabilities.
    ///
    /// ```
    /// use ordain::{data::synthetic::Silhouettes, method::Matcher, metric::Convention, task::Model};
    /// let (set, _) = Silhouettes::default().make();
    /// let matcher = Matcher::unlearned(&set, vec![-1.0; set.features.cols()]); // the less two contexts differ, the better
    /// let ready = matcher.prepare(&set)?;
    /// let wrong = matcher.evaluate(&ready, &set.all(), &["hamming".parse()?], &Convention::STANDARD)?.mean(0);
    /// assert!(wrong > 0.05 && wrong < 0.6);
    /// # Ok::<(), ordain::Error>(())
    /// ```
    pub fn unlearned(set: &MatchSet, weights: Vec<f64>) -> Self {
        let inputs = Inputs::new(&set.columns, &Filled::default(), Scale::None, None);
        Self::scored(inputs, Score::Linear(weights))
    }

    /// A matcher of scores alone: all of the lesser side matched by the best sum, no probabilities.
    pub(in crate::method) fn scored(inputs: Inputs, score: Score) -> Self {
        Self {
            inputs,
            score,
            null: None,
            temperature: None,
            engine: Engine::Auto,
            seed: 0,
            decide: MatchDecide::Map,
            least: None,
            precision: None,
        }
    }

    /// Refuses what this model cannot decide by: without a temperature there are no marginals.
    pub fn can_decide(&self, decide: MatchDecide) -> Result<()> {
        match decide == MatchDecide::Marginals && self.temperature.is_none() {
            true => Err(Error::Setting {
                name: "decide".into(),
                expected: "map of this model: marginals are probabilities, and it was fitted with calibrate=false"
                    .into(),
                found: decide.name().into(),
            }),
            false => Ok(()),
        }
    }

    /// Makes the model answer in another way than it was fitted for. A precision becomes the least probability with which the matches of
    /// validation reached it, which is returned.
    ///
    /// ```
    /// use ordain::{data::synthetic::Linkage, method::{MatchMap, Operating}, solver::run::Watch, task::{Method, Model, Training}};
    /// let set = Linkage::default().make();
    /// let fitted = MatchMap { null: true, ..MatchMap::default() }.fit(&Training::new(&set, &set.all()), &Watch::NOBODY)?;
    /// let mut model = fitted.model;
    /// let count = |model: &ordain::method::Matcher| -> ordain::Result<usize> {
    ///     let said = model.predict(&model.prepare(&set)?, &set.all())?;
    ///     Ok(said.iter().map(|one| one.matches.len()).sum())
    /// };
    /// let all = count(&model)?;
    /// model.operate(&Operating { min_probability: Some(0.9), ..Operating::default() })?;
    /// assert!(count(&model)? < all);
    /// # Ok::<(), ordain::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Setting`] for what the model has no probabilities for, or no validation, and for a precision that no probability reaches there.
    pub fn operate(&mut self, how: &Operating) -> Result<Option<Reached>> {
        let refuse = |name: &str, expected: &str, found: String| {
            Err(Error::Setting { name: name.into(), expected: expected.into(), found })
        };
        let fitted_for = self.decide;
        if let Some(decide) = how.decide {
            self.can_decide(decide)?;
            self.decide = decide;
        }
        let named = [("min_probability", how.min_probability), ("precision", how.precision)];
        if let (Some((name, Some(x))), None) = (named.iter().find(|(_, x)| x.is_some()), self.temperature) {
            return refuse(name, "a model with probabilities: fit it with calibrate=true", x.to_string());
        }
        if let Some(least) = how.min_probability {
            if !(0.0..=1.0).contains(&least) {
                return refuse("min_probability", "a probability from 0 to 1", least.to_string());
            }
            self.least = Some(least);
        }
        let Some(precision) = how.precision else { return Ok(None) };
        if how.min_probability.is_some() {
            return refuse("precision", "this or min_probability", "both".into());
        }
        let Some(known) = &self.precision else {
            return refuse(
                "precision",
                "a model that knows how precise its matches are: fit it by this version with problems to choose on (lambda=auto, or calibrate=true of matchmargin, on 5 problems or more), or give a least probability",
                precision.to_string(),
            );
        };
        if self.decide != fitted_for {
            let expected =
                format!("decide={} with it, by which the precision of validation was found", fitted_for.name());
            return refuse("precision", &expected, format!("decide={}", self.decide.name()));
        }
        let reached = known.threshold(precision)?;
        self.least = Some(reached.least);
        Ok(Some(reached))
    }

    /// Refuses scores of the edges of problem `p` that are not finite, and those that are not once they are divided by the temperature: the one place
    /// where matchings are kept from them.
    pub(super) fn finite(&self, set: &MatchSet, p: usize, scores: &[f64]) -> Result<()> {
        let t = self.temperature.unwrap_or(1.0);
        let Some(e) = scores.iter().position(|s| !(s.is_finite() && (s / t).is_finite())) else { return Ok(()) };
        let problem = set.problem(p);
        let place = match problem.edges.get(e) {
            Some(&(i, j)) => format!("edge {:?} - {:?}", problem.left[i as usize], problem.right[j as usize]),
            None => "an item that stays unmatched".into(),
        };
        Err(Error::Score {
            place: format!("problem {:?}, {place}", problem.name),
            score: if scores[e].is_finite() { scores[e] / t } else { scores[e] },
            cure: self.score.cure(
                "look for a value that is missing or too large, or fit with scaled features (scale=matched, global, query or minmax)",
                "values of this size overflow the power of the kernel: fit with scaled features (scale=matched, global, query or minmax) or a lower degree",
            ),
        })
    }

    /// What the model says of some problems.
    ///
    /// The best matching of each, as [`Self::decide`] has it, and if the model has a temperature the probability of every edge. In parallel
    /// over problems.
    ///
    /// # Errors
    ///
    /// [`Error::Data`] naming the problem and the item if forbidden edges leave no matching;
    /// [`Error::Score`] naming the first edge whose score is not finite; [`Error::Setting`] if marginals are to decide and there are none.
    pub fn predict(&self, on: &Ready<'_, Match>, units: &[u32]) -> Result<Vec<MatchPrediction>> {
        self.answer(on, units, true)
    }

    /// The same, with margins or without (infinite): they cost a search for every match.
    pub fn answer(&self, on: &Ready<'_, Match>, units: &[u32], margins: bool) -> Result<Vec<MatchPrediction>> {
        self.answer_with(on.set(), units, on.scaled(self)?, margins)
    }

    /// The same, under a scaling that was learned before.
    fn answer_with(
        &self,
        set: &MatchSet,
        units: &[u32],
        scaling: &Scaling,
        margins: bool,
    ) -> Result<Vec<MatchPrediction>> {
        let rows = rows::Rows::new(set, units, scaling);
        let score = |work: &mut rows::Work, n: usize, s: &mut [f64]| {
            self.score.unit(&rows, n, &set.problem(units[n] as usize).name, s, work);
        };
        self.answer_by(set, units, &score, margins)
    }

    /// The same, with whatever gives the edges of the n-th problem their scores.
    fn answer_by(
        &self,
        set: &MatchSet,
        units: &[u32],
        score: &(dyn Fn(&mut rows::Work, usize, &mut [f64]) + Sync),
        margins: bool,
    ) -> Result<Vec<MatchPrediction>> {
        self.can_decide(self.decide)?;
        // what is said to people says how near it is
        let sums = || if margins { engine::Work::default().looking() } else { engine::Work::default() };
        let desk = || (rows::Work::default(), best::Work::default(), sums());
        (0..units.len())
            .into_par_iter()
            .map_init(desk, |work: &mut (rows::Work, best::Work, engine::Work), n| {
                let p = units[n] as usize;
                let graph = graph_of(set, p, self.null.is_some())?;
                // edges, then what each item that stays unmatched scores, to the bit as in training
                let null = self.null.map_or(0.0, |null| NULL_UNIT * (null / NULL_UNIT));
                let mut s = vec![null; graph.table()];
                score(&mut work.0, n, &mut s[..set.span(p).len()]);
                self.finite(set, p, &s)?;
                self.answer_one((set, p), &graph, s, margins, (&mut work.1, &mut work.2))
                    .map_err(|error| named(error, set, p))
            })
            .collect()
    }

    fn answer_one(
        &self,
        (set, p): (&MatchSet, usize),
        graph: &Graph,
        mut s: Vec<f64>,
        with_margins: bool,
        (best_work, work): (&mut best::Work, &mut engine::Work),
    ) -> Result<MatchPrediction> {
        let (mut sum, mut probabilities, mut nll) = (None, None, None);
        if let Some(t) = self.temperature {
            let warm: Vec<f64> = s.iter().map(|s| s / t).collect();
            let mut marginals = vec![0.0; graph.table()];
            let made = engine::log_sum(self.engine, graph, &warm, self.seed ^ p as u64, work, &mut marginals)?;
            let problem = set.problem(p);
            let right: Vec<u32> = problem.matched().map(|e| e as u32).collect();
            if problem.is_known() && (self.null.is_some() || right.len() == graph.lesser()) {
                nll = Some(made.log_z - graph.score(&warm, &right));
            }
            (sum, probabilities) = (Some(made), Some(marginals));
        }
        let worth = probabilities.as_ref().filter(|_| self.decide == MatchDecide::Marginals).map(|marginals| {
            let mut worth = vec![0.0; graph.table()];
            likely::worth(graph, marginals, &mut worth);
            worth
        });
        let worth = worth.as_deref().unwrap_or(&s);
        let found = best(graph, worth, best_work)?;
        let mut ties = ties::shares(graph, worth, &found, work)?;
        let found: Vec<u32> = found.edges.to_vec();
        let mut margins = vec![f64::INFINITY; found.len()];
        if with_margins {
            forbidden(graph, worth, best_work, &mut margins)?;
        }
        let chance = |edge: u32| probabilities.as_ref().map(|p| p[edge as usize]);
        let kept = |edge: u32| self.least.is_none_or(|least| chance(edge).is_some_and(|p| p >= least));
        let unlikely = |edge: u32| {
            let (i, j) = graph.ends(edge as usize);
            let stays = |all: &Vec<f64>| graph.left_null(all, i).max(graph.right_null(all, j));
            probabilities.as_ref().is_some_and(|all| all[edge as usize] < stays(all))
        };
        ties.retain(|(edge, _)| kept(*edge));
        let mut matches: Vec<Matched> = found
            .iter()
            .zip(margins)
            .filter(|(edge, _)| kept(**edge))
            .map(|(&edge, margin)| Matched {
                edge,
                score: s[edge as usize],
                probability: chance(edge),
                margin,
                check: 0,
                unlikely: unlikely(edge),
            })
            .collect();
        let mut order: Vec<usize> = (0..matches.len()).collect();
        order.sort_by(|&a, &b| {
            let (a, b) = (&matches[a], &matches[b]);
            a.doubt(b).then(a.edge.cmp(&b.edge))
        });
        order.into_iter().enumerate().for_each(|(check, m)| matches[m].check = check + 1);
        let (mut left, mut right) = (vec![true; graph.left()], vec![true; graph.right()]);
        for m in &matches {
            let (i, j) = graph.ends(m.edge as usize);
            (left[i], right[j]) = (false, false);
        }
        let free = |side: Vec<bool>| (0u32..).zip(side).filter(|&(_, free)| free).map(|(i, _)| i).collect();
        s.truncate(set.span(p).len());
        Ok(MatchPrediction { matches, left: free(left), right: free(right), scores: s, probabilities, ties, sum, nll })
    }

    /// [`Model::evaluate`] under a scaling that was learned before.
    pub(in crate::method) fn evaluate_with(
        &self,
        set: &MatchSet,
        units: &[u32],
        scaling: &Scaling,
        metrics: &[Metric],
    ) -> Result<Evaluation> {
        let plain = self.plain();
        let model = if metrics.iter().any(|metric| metric.of_probabilities()) { self } else { &plain };
        evaluate_said(set, units, &model.answer_with(set, units, scaling, false)?, metrics)
    }

    /// The same for edges whose scores are given, problem by problem.
    pub(in crate::method) fn evaluate_scored(
        &self,
        set: &MatchSet,
        units: &[u32],
        scores: &[Vec<f64>],
        metrics: &[Metric],
    ) -> Result<Evaluation> {
        let plain = self.plain();
        let model = if metrics.iter().any(|metric| metric.of_probabilities()) { self } else { &plain };
        evaluate_said(set, units, &model.said_of(set, units, scores)?, metrics)
    }

    /// What the model says of problems whose edges have these scores, without margins.
    pub(in crate::method) fn said_of(
        &self,
        set: &MatchSet,
        units: &[u32],
        scores: &[Vec<f64>],
    ) -> Result<Vec<MatchPrediction>> {
        let score = |_: &mut rows::Work, n: usize, s: &mut [f64]| s.copy_from_slice(&scores[n]);
        self.answer_by(set, units, &score, false)
    }

    /// The same matcher without probabilities, which cost more than the best matching does; as it is, where its matches follow from them.
    pub fn plain(&self) -> Self {
        let needed = self.decide == MatchDecide::Marginals || self.least.is_some();
        Self { temperature: self.temperature.filter(|_| needed), ..self.clone() }
    }

    /// What each feature adds to the score of one edge of problem `p` over another; the largest first.
    pub fn explain(&self, on: &Ready<'_, Match>, p: usize, above: usize, below: usize) -> Result<Vec<Contribution>> {
        self.scores(on, p)?; // what has no score has no reasons
        let (set, start) = (on.set(), on.set().span(p).start);
        let unit = (p, set.problem(p).name.as_str());
        let (above, below) = (start + above, start + below);
        let parts = self.score.explain(set.into(), unit, on.scaled(self)?, above, below);
        Ok(with_values(parts, &on.raw().features, above, below))
    }

    /// The score of every edge of problem `p`. O(values of the problem); errors as [`Self::predict`].
    pub fn scores(&self, on: &Ready<'_, Match>, p: usize) -> Result<Vec<f64>> {
        let units = [p as u32];
        let rows = rows::Rows::new(on.set(), &units, on.scaled(self)?);
        self.scores_by(on.set(), p, &rows, 0, &mut rows::Work::default())
    }

    /// The score of every edge of some problems. O(values of these problems); errors as [`Self::predict`].
    pub fn scores_of(&self, on: &Ready<'_, Match>, units: &[u32]) -> Result<Vec<Vec<f64>>> {
        self.scores_with(on.set(), units, on.scaled(self)?)
    }

    /// The same, under a scaling that was learned before.
    pub(in crate::method) fn scores_with(
        &self,
        set: &MatchSet,
        units: &[u32],
        scaling: &Scaling,
    ) -> Result<Vec<Vec<f64>>> {
        let rows = rows::Rows::new(set, units, scaling);
        let one = |work: &mut rows::Work, n: usize| self.scores_by(set, units[n] as usize, &rows, n, work);
        (0..units.len()).into_par_iter().with_min_len(64).map_init(rows::Work::default, one).collect()
    }

    /// The score of every edge of problem `p`, which is number `n` of some rows.
    fn scores_by(
        &self,
        set: &MatchSet,
        p: usize,
        rows: &rows::Rows,
        n: usize,
        work: &mut rows::Work,
    ) -> Result<Vec<f64>> {
        let mut s = vec![0.0; set.span(p).len()];
        self.score.unit(rows, n, &set.problem(p).name, &mut s, work);
        self.finite(set, p, &s)?;
        Ok(s)
    }
}

/// Measures what was said of some problems.
pub fn evaluate_said(
    set: &MatchSet,
    units: &[u32],
    said: &[MatchPrediction],
    metrics: &[Metric],
) -> Result<Evaluation> {
    let said: Vec<SaidMatches> = units
        .iter()
        .zip(said)
        .map(|(&p, said)| SaidMatches {
            edges: said.matches.iter().map(|m| m.edge).collect(),
            ties: said.ties.clone(),
            probabilities: said.probabilities.as_ref().map(|all| all[..set.span(p as usize).len()].to_vec()),
            nll: said.nll,
        })
        .collect();
    evaluate_matches(set, units, &said, metrics)
}

/// The edges of a problem.
pub(in crate::method) fn graph_of(set: &MatchSet, p: usize, null: bool) -> Result<Graph> {
    let problem = set.problem(p);
    Graph::new(problem.left.len(), problem.right.len(), &problem.edges, null)
}

/// An error of a problem, with its name and that of the item.
pub(in crate::method) fn named(error: Error, set: &MatchSet, p: usize) -> Error {
    let problem = set.problem(p);
    match error {
        Error::Infeasible { side, index } => {
            let (side, names) = if side == "row" { ("left", &problem.left) } else { ("right", &problem.right) };
            Error::Data {
                expected: format!(
                    "problem {:?}: a match for every item of the lesser side (null=true lets items stay unmatched)",
                    problem.name
                ),
                found: format!(
                    "{side} item {:?} that cannot be matched: its candidates are all needed by others",
                    names[index]
                ),
            }
        }
        Error::Data { expected, found } => {
            Error::Data { expected: format!("problem {:?}: {expected}", problem.name), found }
        }
        other => other,
    }
}

/// What is known of the training of a matcher.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchNotes {
    /// Edges fitted on.
    pub edges: usize,
    /// Problems fitted on.
    pub problems: usize,
    /// Problems of which nothing is known, which are left out.
    pub blank_problems: usize,
    /// Problems of which some edges are unknown.
    pub partly_known: usize,
    /// How many sums over matchings were found by which engine, at the end.
    pub engines: Map<String, Value>,
    /// How near these sums are: `exact`, `certified`, `estimated` or `approximate`, the worst of them.
    pub accuracy: String,
    /// The largest error that is known of a probability, if one is; of approximate ones the largest that was seen in parts.
    pub error: Option<f64>,
    /// How trees were grown, if any were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trees: Option<TreeNotes>,
    /// How many small problems, around items of which something is known, stand for problems that are too large to be summed, if any are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local: Option<usize>,
    /// What the two ways to decide are worth on problems that the fit had not seen, where they were compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decisions: Option<DecideNotes>,
}

/// How sums over matchings were found, and the worst of their accuracies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sums {
    /// How many by which engine.
    pub engines: Map<String, Value>,
    worst: u8,
    error: Option<f64>,
}

impl Sums {
    /// Those of some predictions.
    pub fn of<'a>(said: impl IntoIterator<Item = &'a MatchPrediction>) -> Self {
        let mut all = Self::default();
        said.into_iter().filter_map(|said| said.sum.as_ref()).for_each(|sum| all.add(sum));
        all
    }

    /// Adds one.
    pub fn add(&mut self, sum: &Sum) {
        let (by, accuracy, error) = Self::named(sum);
        self.add_named(by, accuracy, error);
    }

    /// The name of its engine, that of its accuracy, and its error if one is known.
    pub(super) fn named(sum: &Sum) -> (&'static str, &'static str, Option<f64>) {
        let (accuracy, error) = match sum.accuracy {
            Accuracy::Exact => (0, None),
            Accuracy::Certified(error) => (1, Some(error)),
            Accuracy::Estimated(error) => (2, Some(error)),
            Accuracy::Seen(error) => (3, Some(error)),
            Accuracy::Approximate => (3, None),
        };
        (sum.by.name(), ACCURACIES[accuracy], error)
    }

    /// Adds one by the name of its engine and of its accuracy.
    pub fn add_named(&mut self, by: &str, accuracy: &str, error: Option<f64>) {
        let count = self.engines.entry(by).or_insert(0.into());
        *count = (count.as_u64().unwrap_or(0) + 1).into();
        let rank = ACCURACIES.iter().position(|known| *known == accuracy).unwrap_or(ACCURACIES.len() - 1);
        self.worst = self.worst.max(rank as u8);
        self.error = self.error.into_iter().chain(error).reduce(f64::max);
    }

    /// The worst accuracy, by name.
    pub fn accuracy(&self) -> &'static str {
        ACCURACIES[usize::from(self.worst)]
    }

    /// The largest error that is known.
    pub fn error(&self) -> Option<f64> {
        self.error
    }
}

/// Accuracies of sums by name, the best first.
const ACCURACIES: [&str; 4] = ["exact", "certified", "estimated", "approximate"];

/// Whether anything is known of a problem.
pub(in crate::method) fn tells(set: &MatchSet, p: u32) -> bool {
    set.problem(p as usize).truth.iter().any(|&truth| truth != Truth::Unknown)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)] // a test may panic
mod tests {
    use super::*;
    use crate::data::scale::learned;
    use crate::data::synthetic::Linkage;
    use crate::matrix::Features;

    fn matcher(set: &MatchSet, scale: Scale) -> Matcher {
        let weights = (0..set.features.cols()).map(|j| 1.0 + (j as f64).sin()).collect();
        let mut matcher = Matcher { null: Some(0.5), temperature: Some(2.0), ..Matcher::unlearned(set, weights) };
        matcher.inputs.scale = scale;
        matcher
    }

    /// Another weight for the first column.
    fn weigh(matcher: &mut Matcher, first: f64) {
        let mut weights = matcher.score.weights().to_vec();
        weights[0] = first;
        matcher.score = Score::Linear(weights);
    }

    /// However a problem is asked about, its scaling is learned from itself once, and from no other.
    #[test]
    fn the_scaling_of_a_problem_is_learned_once() {
        let set = Linkage { problems: 300, records: 3, ..Linkage::default() }.make();
        for scale in [Scale::Query, Scale::Minmax] {
            let matcher = matcher(&set, scale);
            let (all, few) = (set.all(), [200u32, 3, 7]);
            let mut ready = None;
            assert_eq!(learned::by(|| ready = Some(matcher.prepare(&set).unwrap())), 300);
            let (ready, metrics) = (ready.unwrap(), ["f1".parse().unwrap(), "nll".parse().unwrap()]);
            let asked = || {
                matcher.scores_of(&ready, &all).unwrap();
                (0..300).for_each(|p| drop(matcher.scores(&ready, p).unwrap()));
                matcher.predict(&ready, &few).unwrap();
                matcher.evaluate(&ready, &few, &metrics, &Convention::STANDARD).unwrap();
                matcher.explain(&ready, 200, 0, 1).unwrap();
            };
            assert_eq!(learned::by(asked), 0);
        }
    }

    #[test]
    fn scores_are_the_same_however_they_are_asked_for() {
        let set = Linkage { problems: 20, ..Linkage::default() }.make();
        for scale in [Scale::None, Scale::Query, Scale::Minmax] {
            let (matcher, few) = (matcher(&set, scale), [11u32, 3, 17]);
            let ready = matcher.prepare(&set).unwrap();
            let (some, said) = (matcher.scores_of(&ready, &few).unwrap(), matcher.predict(&ready, &few).unwrap());
            for ((&p, some), said) in few.iter().zip(&some).zip(&said) {
                assert_eq!(matcher.scores(&ready, p as usize).unwrap(), *some);
                assert_eq!(said.scores, *some);
                assert!(said.matches.iter().all(|m| m.score.total_cmp(&some[m.edge as usize]).is_eq()));
            }
        }
    }

    #[test]
    fn a_score_that_is_not_finite_is_an_error_that_names_the_edge() {
        let mut set = Linkage { problems: 4, ..Linkage::default() }.make();
        let mut matcher = matcher(&set, Scale::None);
        weigh(&mut matcher, f64::MAX);
        let (row, cols) = (set.span(2).start + 1, set.features.cols());
        let Features::Dense(m) = &mut set.features else { panic!("made dense") };
        for (at, x) in m.values_mut().iter_mut().enumerate().filter(|(at, _)| at % cols == 0) {
            *x = if at / cols == row { -1e30 } else { 0.0 };
        }
        let (problem, metrics) = (set.problem(2).clone(), ["hamming".parse().unwrap()]);
        let (i, j) = problem.edges[1];
        let place = format!(
            "problem {:?}, edge {:?} - {:?}: expected a finite score, found -inf",
            problem.name, problem.left[i as usize], problem.right[j as usize]
        );
        let ready = matcher.prepare(&set).unwrap();
        assert!(matcher.predict(&ready, &[0, 1, 3]).is_ok());
        for refused in [
            matcher.predict(&ready, &set.all()).unwrap_err(),
            matcher.evaluate(&ready, &[2], &metrics, &Convention::STANDARD).unwrap_err(),
            matcher.scores(&ready, 2).unwrap_err(),
            matcher.scores_of(&ready, &[0, 2]).unwrap_err(),
            matcher.explain(&ready, 2, 0, 1).unwrap_err(),
        ] {
            assert!(refused.to_string().starts_with(&place), "{refused}");
        }
        // a finite score that the temperature makes infinite has no probability
        weigh(&mut matcher, 1e270);
        matcher.temperature = Some(1e-100);
        assert!(matches!(matcher.predict(&ready, &[2]).unwrap_err(), Error::Score { .. }));
    }

    #[test]
    fn other_columns_are_refused() {
        let set = Linkage { problems: 4, ..Linkage::default() }.make();
        let (matcher, mut other) = (matcher(&set, Scale::Query), set.clone());
        other.columns.names[0] = "another".into();
        assert!(matches!(matcher.prepare(&other), Err(Error::Features { .. })));
    }
}
