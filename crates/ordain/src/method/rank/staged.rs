//! What methods share that add one piece after another to a score: who is held out, the number of rounds, and the model.

use crate::data::Preferences;
use crate::data::scale::{Affine, Scale};
use crate::error::{Error, Result};
use crate::method::rank::boosting;
use crate::method::rank::ranksvm::PairWeight;
use crate::method::trees::{BINS, ROUNDS, TreeNotes, paired};
use crate::method::{Choice, Rank, RankNotes, Ranker};
use crate::metric::{self, Metric};
use crate::score::{Score, TreeScore};
use crate::solver::run::{Report, Watch};
use crate::solver::stages::{Pace, Ran, Stage};
use crate::surrogate::pair_hinge::PairHinge;
use crate::task::{Candidate, Chosen, Facts, Fitted, Inputs, Method, Setting, Training, both};
use crate::traits::{Stop, Surrogate};
use crate::tree::{Stump, Stumps};
use serde_json::{Map, Value};
use std::collections::HashSet;

/// The part of such a method that is its own.
pub(super) trait Staged: Method<Rank> {
    /// Its rounds, as they are asked for.
    fn rounds(&self) -> Choice<usize>;
    /// The most rounds where their number is chosen.
    const MOST: usize;
    /// Rounds without a better mean after which a choice ends.
    const PATIENCE: usize = 60;
    /// What can have weights.
    const WEIGHS: Weighs = Weighs::Nothing;
    /// What is learned from a job; more than one where something beside the number of rounds is chosen.
    fn run(&self, job: &Job<'_>) -> Result<Vec<Made>>;
}

/// What a method takes weights of.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Weighs {
    Nothing,
    Queries,
    Documents,
}

/// What every [`Staged`] method answers as a [`Method`].
macro_rules! staged {
    () => {
        fn chooses_by(&self) -> $crate::metric::Metric {
            $crate::method::rank::CHOOSES_BY
        }

        fn learn(
            &self,
            data: &$crate::task::Training<'_, $crate::method::Rank>,
            watch: &$crate::solver::run::Watch,
        ) -> $crate::error::Result<$crate::task::Fitted<$crate::method::Rank>> {
            $crate::method::rank::staged::fit(self, data, watch)
        }
    };
}
pub(super) use staged;

/// Courses to run side by side.
pub(super) struct Job<'a> {
    pub(super) data: &'a Training<'a, Rank>,
    /// Queries that teach something and queries that are held out, of each course; the last one holds nothing out.
    pub(super) courses: Vec<(Vec<u32>, Vec<u32>)>,
    /// All queries that are fitted on.
    pub(super) units: Vec<u32>,
    pub(super) pace: Pace,
    by: Metric,
    pub(super) watch: &'a Watch<'a>,
}

/// What came of it.
pub(super) struct Made {
    pub(super) score: Score,
    pub(super) scale: Scale,
    /// The scaling that is learned from the training queries, of [`Scale::Global`].
    pub(super) global: Option<Affine>,
    pub(super) ran: Ran,
    /// The objective with the rounds that were chosen.
    pub(super) objective: f64,
    /// What was chosen beside the rounds.
    pub(super) chosen: Map<String, Value>,
    /// Examples fitted on, and what one of them is.
    pub(super) examples: (f64, &'static str),
}

/// `weight` of pairs.
pub(super) const WEIGHTS: [(&str, PairWeight); 2] = [("query", PairWeight::Query), ("pair", PairWeight::Pair)];

/// `thresholds` of a column.
pub(super) fn thresholds(value: usize) -> Result<()> {
    match (1..BINS).contains(&value) {
        true => Ok(()),
        false => {
            Err(Error::Setting { name: "thresholds".into(), expected: THRESHOLDS.into(), found: value.to_string() })
        }
    }
}

/// The range of `thresholds`.
pub(super) const THRESHOLDS: &str = "a whole number from 1 to 254";

/// `rounds`, with the most that are tried and what serves where nothing can be chosen.
pub(super) const fn rounds(help: &'static str) -> Setting {
    Setting { name: "rounds", range: "auto or a whole number above 0", default: "auto", help }
}

/// The rows of some queries, ascending if these are.
pub(super) fn rows_of(data: &Training<'_, Rank>, units: &[u32]) -> Vec<u32> {
    units.iter().flat_map(|&q| data.set.span(q as usize)).map(|row| row as u32).collect()
}

impl Job<'_> {
    /// What held-out queries are worth by the metric of the choice; more is better.
    pub(super) fn judge(&self, course: usize, scores: &[f64]) -> Result<Vec<f64>> {
        let sign = if self.by.is_loss() { -1.0 } else { 1.0 };
        let held = &self.courses[course].1;
        let made = metric::evaluate(self.data.set, held, scores, &[self.by], &self.data.convention)?;
        Ok(made.counted(0).into_iter().map(|value| sign * value).collect())
    }

    /// Rows in bins, by the cuts of all queries that are fitted on.
    pub(super) fn stumps(&self, thresholds: usize) -> Result<Stumps> {
        (self.watch.tell)(0.0, "cutting columns into bins");
        Stumps::learn(&self.data.set.features, &rows_of(self.data, &self.units), (thresholds + 1).min(BINS))
    }

    /// Runs courses of stumps.
    pub(super) fn boost<'s, W: Weak>(
        &self,
        stumps: &'s Stumps,
        weak: impl Fn(&[u32]) -> Result<W>,
        kind: &'static str,
    ) -> Result<Vec<Made>> {
        let course = |(on, held): &(Vec<u32>, Vec<u32>)| {
            Ok(StumpCourse {
                stumps,
                weak: weak(on)?,
                rows: rows_of(self.data, &both(on, held)),
                judged: !held.is_empty(),
                scores: vec![0.0; self.data.set.rows()],
                made: vec![],
                losses: vec![],
                done: false,
            })
        };
        let mut courses: Vec<StumpCourse<'s, W>> = self.courses.iter().map(course).collect::<Result<_>>()?;
        let mut ran = self.pace.run(&mut courses, &|n, scores| self.judge(n, scores), self.watch)?;
        let Some(mut last) = courses.pop() else { return Ok(vec![]) };
        ran.best = ran.best.max(1).min(last.made.len());
        let objective = match last.losses.get(ran.best) {
            Some(&loss) => loss,
            None => last.weak.next(stumps, &last.scores)?.0,
        };
        let forests = vec![stumps.forest(&last.made[..ran.best])?];
        Ok(vec![Made {
            score: Score::Trees(TreeScore { weights: vec![], forests }),
            scale: Scale::None,
            global: None,
            ran,
            objective,
            chosen: Map::new(),
            examples: (last.weak.examples(), kind),
        }])
    }
}

/// A stump with its factor and what it gains.
pub(super) type Weighed = (Stump, f64, f64);

/// What finds the next stump.
pub(super) trait Weak: Send + Sync {
    /// The loss at these scores, and the stump that lowers it with its factor and what it gains; no stump where nothing is left to gain.
    fn next(&mut self, stumps: &Stumps, scores: &[f64]) -> Result<(f64, Option<Weighed>)>;
    /// The number of examples.
    fn examples(&self) -> f64;
}

/// A course of stumps.
struct StumpCourse<'a, W> {
    stumps: &'a Stumps,
    weak: W,
    /// Rows that it learns from or is judged on.
    rows: Vec<u32>,
    judged: bool,
    scores: Vec<f64>,
    made: Vec<(Stump, f64, f64)>,
    /// The loss after so many rounds.
    losses: Vec<f64>,
    done: bool,
}

impl<W: Weak> Stage for StumpCourse<'_, W> {
    fn round(&mut self, _: usize) -> Result<bool> {
        if self.done {
            return Ok(false);
        }
        let (loss, found) = self.weak.next(self.stumps, &self.scores)?;
        self.losses.push(loss);
        let Some(found @ (stump, factor, _)) = found else {
            self.done = true;
            return Ok(false);
        };
        let above = self.rows.iter().filter(|&&row| self.stumps.above(stump, row as usize));
        above.for_each(|&row| self.scores[row as usize] += factor);
        self.made.push(found);
        Ok(true)
    }

    fn scores(&self) -> &[f64] {
        &self.scores
    }

    fn judged(&self) -> bool {
        self.judged
    }
}

/// What a pair of each query counts beside its own weight: all pairs count alike, or all queries do; and the number of pairs. The weights of all
/// pairs add up to 1.
pub(super) fn pair_weights(data: &Training<'_, Rank>, units: &[u32], by: PairWeight) -> Result<(Vec<f64>, f64)> {
    let loss = PairHinge::of_set(data.set, units);
    let counts: Vec<(f64, f64)> = (0..loss.len()).map(|n| loss.pairs(n)).collect();
    let total: f64 = match by {
        PairWeight::Pair => counts.iter().map(|(_, weight)| weight).sum(),
        PairWeight::Query => counts.iter().map(|(pairs, weight)| weight / pairs).sum(),
    };
    if !(total > 0.0 && (1.0 / total).is_finite()) {
        return Err(Error::Data {
            expected: "a training query with two different grades and weights above 0".into(),
            found: "none: there is no pair to learn from".into(),
        });
    }
    let weight = |&(pairs, _): &(f64, f64)| match by {
        PairWeight::Pair => 1.0 / total,
        PairWeight::Query => 1.0 / (pairs * total),
    };
    Ok((counts.iter().map(weight).collect(), counts.iter().map(|(pairs, _)| pairs).sum()))
}

/// Fits a ranker round by round.
///
/// The number of rounds is that of the mean curve of held-out queries, as of trees ([`boosting::parts`]); at least one is made.
pub(super) fn fit<L: Staged>(learner: &L, data: &Training<'_, Rank>, watch: &Watch) -> Result<Fitted<Rank>> {
    let set = data.set;
    match L::WEIGHS {
        Weighs::Nothing => super::refuse_weights(set, learner.name())?,
        Weighs::Queries => drop(super::query_weights(set, &both(data.train, data.valid.unwrap_or_default()))?),
        Weighs::Documents => {}
    }
    let open = learner.chooses();
    let (train, valid) = data.parts(open);
    let (train, valid) = (both(&train, &[]), both(&valid, &[])); // in order, as the rows of courses are
    let units = if open && data.refit { both(&train, &valid) } else { train.clone() };
    let taught = |units: &[u32]| units.iter().copied().filter(|&q| !set.is_flat(q as usize)).collect::<Vec<u32>>();
    let all = taught(&units);
    if all.is_empty() {
        return Err(Error::Data {
            expected: "at least one training query with two different grades".into(),
            found: "none: there is nothing to put in order".into(),
        });
    }
    let by = data.by(learner);
    let judged = metric::evaluate(set, &both(&train, &valid), &vec![0.0; set.rows()], &[by], &data.convention)?;
    let counted: HashSet<u32> = both(&train, &valid)
        .into_iter()
        .zip(&judged.values[0])
        .filter(|(_, value)| value.is_some())
        .map(|(q, _)| q)
        .collect();
    let mut courses: Vec<(Vec<u32>, Vec<u32>)> = boosting::parts(open, &units, &train, &valid)
        .into_iter()
        .map(|(on, held)| (taught(&on), held))
        .filter(|(on, held)| !on.is_empty() && held.iter().any(|q| counted.contains(q)))
        .collect();
    let parts = courses.len();
    courses.push((all, vec![]));
    let (rounds, patience) = match learner.rounds() {
        Choice::Set(rounds) => (rounds, None),
        Choice::Auto if parts > 0 => (L::MOST, Some(L::PATIENCE)),
        Choice::Auto => (ROUNDS.min(L::MOST), None),
    };
    let job = Job { data, courses, units, pace: Pace { rounds, patience, word: "boosting" }, by, watch };
    let made = learner.run(&job)?;
    finish(learner, &job, parts, made)
}

/// The best of what was made, as a model with what is known of it.
fn finish<L: Staged>(learner: &L, job: &Job<'_>, parts: usize, made: Vec<Made>) -> Result<Fitted<Rank>> {
    let (data, open) = (job.data, parts > 0);
    let sign = if job.by.is_loss() { -1.0 } else { 1.0 };
    let candidate = |made: &Made| {
        let mut settings = made.chosen.clone();
        settings.insert("rounds".into(), made.ran.best.into());
        Candidate::new(settings, sign * made.ran.mean)
    };
    let candidates: Vec<Candidate> = made.iter().filter(|_| open).map(candidate).collect();
    let stopped = made.iter().any(|made| made.ran.stop == Stop::Interrupted);
    let best = made.into_iter().reduce(|best, next| if next.ran.mean > best.ran.mean { next } else { best });
    let Some(Made { score, scale, global, ran, objective, chosen, examples }) = best else {
        return Err(Error::Interrupted);
    };
    let mut settings = Map::from_iter([("scale".to_owned(), Value::from(scale.name()))]);
    settings.insert("rounds".into(), ran.best.into());
    settings.extend(chosen);
    settings.extend(learner.written().settings);
    let taught = job.courses.last().map_or(0, |(on, _)| on.len());
    let trees = score.forests().first().map(|forest| TreeNotes {
        trees: forest.trees(),
        nodes: forest.nodes(),
        curve: ran.curve.clone(),
        gain: paired(&ran.worth),
    });
    let held = job.courses.iter().map(|(_, held)| held.len()).sum();
    let facts = Facts {
        method: learner.name().into(),
        settings,
        asked: learner.written().asked,
        data: data.set.digest(),
        notes: RankNotes {
            rows: job.units.iter().map(|&q| data.set.span(q as usize).len()).sum(),
            queries: job.units.len(),
            flat_queries: job.units.len() - taught,
            examples: examples.0,
            example: examples.1.into(),
            core: None,
            trees,
            preferences: data.set.preferences().map(Preferences::facts),
        },
        report: Report {
            iterations: ran.best,
            objective,
            gradient: 0.0,
            gap: None,
            rounds: None,
            stop: if stopped { Stop::Interrupted } else { Stop::Rounds },
        },
        refit: open && data.refit,
        chosen: open.then(|| Chosen {
            parts: (parts > 1).then_some(parts),
            ..Chosen::new(job.by, &data.convention, held, candidates)
        }),
        seed: data.seed,
        auto: None,
        init: None,
    };
    let inputs = Inputs::new(&data.set.columns, &data.filled, scale, global.as_ref());
    let model = Ranker { inputs, score, places: vec![], quadratic: None, start: None };
    Ok(Fitted { model, facts, journal: None })
}

/// What was asked of the rounds.
pub(super) fn asked(rounds: Choice<usize>) -> Map<String, Value> {
    let rounds = if let Choice::Set(rounds) = rounds { rounds.into() } else { "auto".into() };
    Map::from_iter([("rounds".to_owned(), rounds)])
}

/// Refuses 0 rounds.
pub(super) fn above_0(rounds: Choice<usize>) -> Result<()> {
    match rounds {
        Choice::Set(0) => Err(Error::Setting {
            name: "rounds".into(),
            expected: "auto or a whole number above 0".into(),
            found: "0".into(),
        }),
        _ => Ok(()),
    }
}
