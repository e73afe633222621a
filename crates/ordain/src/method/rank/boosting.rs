//! Trees in rankers: on top of a linear fit, or alone.

use crate::data::scale::Scale;
use crate::data::{Preferences, RankSet};
use crate::error::{Error, Result};
use crate::method::rank::search::{Drawn, Learner, Point, Search};
use crate::method::trees::Scorer;
use crate::method::trees::{BINS, FEW, FOLDS, TreeNotes, Trees, paired};
use crate::method::{Rank, RankNotes, Ranker};
use crate::metric;
use crate::score::{Score, TreeScore};
use crate::solver::boost::{Boosted, Course, Table};
use crate::solver::run::{Report, Watch};
use crate::task::{Candidate, Chosen, Facts, Fitted, Inputs, Training, both};
use crate::traits::{State, Stop, Surrogate};
use crate::tree::Cuts;
use rayon::prelude::*;
use serde_json::{Map, Value};
use std::ops::Range;

/// A linear method whose loss trees can lower too.
pub(in crate::method) trait TreeLearner: Learner {
    /// The loss that trees lower.
    type Loss: Surrogate + Send;
    /// How trees are set.
    fn trees(&self) -> &Trees;
    /// Examples of some queries for trees, and the weight of each; refuses data that teach nothing.
    fn lessons(&self, data: &Training<'_, Rank>, units: &[u32]) -> Result<(Drawn<Self::Loss>, Vec<f64>)>;
}

/// Fits a ranker with trees.
///
/// The linear fit comes first, with its own choices (`scorer=linear+trees`, `auto`). Then trees are grown on all queries of
/// the last fit, and beside them on parts of these, each from the linear fit of its part. The mean metric of what is held out is
/// the curve that gives the number of rounds: over five parts below 2,000 queries, else on the validation queries.
pub(in crate::method) fn fit<L: TreeLearner>(
    learner: &L,
    data: &Training<'_, Rank>,
    watch: &Watch,
) -> Result<Fitted<Rank>> {
    let trees = learner.trees();
    let open = learner.choices().open() && trees.starts_linear() || trees.open();
    let (train, valid) = data.parts(open);
    let (train, valid) = (both(&train, &[]), both(&valid, &[])); // in order, as the rows of courses are
    let units = if data.refit || data.valid.is_none() && !open { both(&train, &valid) } else { train.clone() };
    let mut search = Search::new(learner, data, watch);
    let linear = if trees.starts_linear() { Some(search.run(&units)?) } else { None };
    if let Some((linear, _)) = linear.as_ref().filter(|(linear, _)| linear.facts.report.stop == Stop::Interrupted) {
        return Ok(linear.clone());
    }
    let boosting = Boosting { trees, units: &units, parts: parts(trees.open(), &units, &train, &valid) };
    boosting.fit(&mut search, linear)
}

/// What is fitted and what is held out, for each part that is judged.
pub(super) fn parts(open: bool, units: &[u32], train: &[u32], valid: &[u32]) -> Vec<(Vec<u32>, Vec<u32>)> {
    if !open || units.len() < FOLDS {
        return vec![];
    }
    if units.len() >= FEW && !valid.is_empty() {
        return vec![(train.to_vec(), valid.to_vec())];
    }
    let part = |fold: usize, own: bool| {
        units.iter().enumerate().filter(|(i, _)| (i % FOLDS == fold) == own).map(|(_, &q)| q).collect()
    };
    (0..FOLDS).map(|fold| (part(fold, false), part(fold, true))).collect()
}

struct Boosting<'a> {
    trees: &'a Trees,
    units: &'a [u32],
    parts: Vec<(Vec<u32>, Vec<u32>)>,
}

/// A forest of some size, with what it came to.
struct Grown {
    leaves: usize,
    boosted: Boosted,
}

impl Boosting<'_> {
    fn fit<L: TreeLearner>(
        &self,
        search: &mut Search<'_, L>,
        linear: Option<(Fitted<Rank>, Point)>,
    ) -> Result<Fitted<Rank>> {
        let (data, watch, by) = (search.data, search.watch, search.by);
        let (set, learner) = (data.set, &self.settled(search.learner, &linear));
        // of each part, and of all at the end
        let mut starts = vec![];
        for (on, held) in &self.parts {
            starts.push(match &linear {
                Some((_, at)) => search.scores_at(*at, on, &both(on, held))?,
                None => from_start(set),
            });
        }
        starts.push(match &linear {
            Some((fitted, _)) => {
                let model = &fitted.model;
                model.scores_with(set, self.units, &model.inputs.scaling(set, self.units))?
            }
            None => from_start(set),
        });
        let of_parts = self.parts.iter().map(|(on, _)| on.as_slice()).chain([self.units]);
        let lessons: Vec<_> = of_parts.map(|on| learner.lessons(data, on)).collect::<Result<_>>()?;
        let held = |n: usize| self.parts.get(n).map_or(&[][..], |(_, held)| held);
        let rows = |units: &[u32]| -> Vec<u32> {
            units.iter().flat_map(|&q| set.span(q as usize)).map(|row| row as u32).collect()
        };
        let courses: Vec<Course<'_, L::Loss>> = lessons
            .iter()
            .zip(starts)
            .enumerate()
            .map(|(n, ((drawn, weight), start))| Course {
                loss: &drawn.examples,
                weight: weight.clone(),
                spans: drawn.units.iter().map(|&q| set.span(q as usize)).collect::<Vec<Range<usize>>>(),
                start,
                held: rows(held(n)),
            })
            .collect();
        let judge = |n: usize, scores: &[f64]| {
            let sign = if by.is_loss() { -1.0 } else { 1.0 };
            let made = metric::evaluate(set, held(n), scores, &[by], &data.convention)?;
            Ok(made.counted(0).into_iter().map(|value| sign * value).collect())
        };
        (watch.tell)(0.0, "cutting columns into bins");
        let cuts = Cuts::learn(&set.features, &rows(self.units), &self.trees.categorical(&set.columns)?, BINS)?;
        let bins = cuts.bin(&set.features)?;
        let table = Table { features: &set.features, cuts: &cuts, bins: &bins };
        let judged = !self.parts.is_empty();
        let saved = search.journal.partial().map(|(state, _)| state);
        let mut tried: Vec<Grown> = vec![];
        for leaves in self.trees.sizes(judged) {
            let how = self.trees.boost(leaves, judged, &set.columns, data.seed)?;
            let state = saved.as_ref().map(|saved| within(saved, leaves));
            let boosted = how.run(table, &courses, &judge, state.as_ref(), watch)?;
            let stopped = boosted.report.stop == Stop::Interrupted;
            tried.push(Grown { leaves, boosted });
            if stopped {
                break;
            }
        }
        drop((courses, bins));
        let stopped = tried.last().is_some_and(|grown| grown.boosted.report.stop == Stop::Interrupted);
        if stopped {
            let state = tried.iter().flat_map(|grown| named(grown.leaves, grown.boosted.state())).collect();
            let report = tried[0].boosted.report;
            search.journal.record(&[], &report, &Some(state));
        }
        let all = lessons.last().map(|(drawn, _)| (drawn.units.len(), drawn.count, drawn.kind));
        let journal = stopped.then(|| search.journal.rewound());
        let mut fitted = self.finish(search, linear, tried, all.unwrap_or((0, 0.0, "")))?;
        if stopped {
            fitted.facts.report.stop = Stop::Interrupted;
        }
        Ok(Fitted { journal, ..fitted })
    }

    /// The method with what the linear fit chose.
    fn settled<L: TreeLearner>(&self, learner: &L, linear: &Option<(Fitted<Rank>, Point)>) -> L {
        learner.settled(linear.as_ref().map_or_else(|| learner.choices().fixed(), |(_, at)| *at))
    }

    /// The model with the forest that was worth most, and what is known of it.
    fn finish<L: TreeLearner>(
        &self,
        search: &Search<'_, L>,
        linear: Option<(Fitted<Rank>, Point)>,
        tried: Vec<Grown>,
        (taught, examples, kind): (usize, f64, &'static str),
    ) -> Result<Fitted<Rank>> {
        let (data, learner) = (search.data, &self.settled(search.learner, &linear));
        let candidates = tried.iter().filter(|grown| !grown.boosted.curve.is_empty()).map(Grown::candidate);
        let candidates: Vec<Candidate> = candidates.collect();
        let best = tried.into_iter().reduce(|best, next| if next.worth() > best.worth() { next } else { best });
        let Some(Grown { leaves, boosted }) = best else { return Err(Error::Interrupted) };
        let gain = paired(&boosted.worth);
        let kept = self.trees.scorer != Scorer::Auto || gain.is_some_and(|(gain, error)| gain > error);
        let scorer = match (&linear, kept) {
            (_, false) => "linear",
            (Some(_), true) => "linear+trees",
            (None, true) => "trees",
        };
        let mut settings = Map::from_iter([("scorer".to_owned(), Value::from(scorer))]);
        let rounds = if kept { boosted.forest.trees() } else { 0 };
        settings.insert("rounds".into(), rounds.into());
        settings.insert("leaves".into(), leaves.into());
        let (mut model, mut facts) = match linear {
            Some((fitted, _)) => (fitted.model, fitted.facts),
            None => (self.bare(data, learner), self.facts(data, learner, (taught, examples, kind))),
        };
        if kept {
            let temper = if learner.places().is_empty() { 1.0 } else { self.temper(data, learner, &boosted)? };
            let mut forest = boosted.forest.clone();
            forest.scale(temper);
            let weights = model.score.weights().iter().map(|w| temper * w).collect();
            model.start = model.start.map(|factor| temper * factor);
            model.score = Score::Trees(TreeScore { weights, forests: vec![forest] });
            facts.report = boosted.report;
        }
        facts.notes.trees =
            Some(TreeNotes { trees: rounds, nodes: boosted.forest.nodes(), curve: boosted.curve.clone(), gain });
        facts.settings.append(&mut settings);
        facts.asked = search.learner.written().asked;
        if !candidates.is_empty() {
            let held = self.parts.iter().map(|(_, held)| held.len()).sum();
            let new = || Chosen::new(search.by, &data.convention, held, vec![]);
            facts.chosen.get_or_insert_with(new).candidates.extend(candidates);
            facts.refit = data.refit;
        }
        Ok(Fitted { model, facts, journal: None })
    }

    /// A ranker without anything learned.
    fn bare<L: TreeLearner>(&self, data: &Training<'_, Rank>, learner: &L) -> Ranker {
        let inputs = Inputs::new(&data.set.columns, &data.filled, Scale::None, None);
        Ranker {
            inputs,
            score: Score::Linear(vec![]),
            places: learner.places(),
            quadratic: None,
            start: data.set.start().map(|_| 1.0),
        }
    }

    /// What is known of trees alone.
    fn facts<L: TreeLearner>(
        &self,
        data: &Training<'_, Rank>,
        learner: &L,
        (taught, examples, kind): (usize, f64, &'static str),
    ) -> Facts<RankNotes> {
        let mut settings = Map::from_iter([("scale".to_owned(), Value::from(Scale::None.name()))]);
        settings.extend(learner.used());
        Facts {
            method: learner.name().into(),
            settings,
            asked: Map::new(),
            data: data.set.digest(),
            notes: RankNotes {
                preferences: data.set.preferences().map(Preferences::facts),
                rows: self.units.iter().map(|&q| data.set.span(q as usize).len()).sum(),
                queries: self.units.len(),
                flat_queries: self.units.len() - taught,
                examples,
                example: kind.into(),
                core: None,
                trees: None,
            },
            report: Report {
                iterations: 0,
                objective: 0.0,
                gradient: 0.0,
                gap: None,
                rounds: None,
                stop: Stop::Rounds,
            },
            refit: false,
            chosen: None,
            seed: data.seed,
            auto: None,
            init: None,
        }
    }

    /// What scores are to be multiplied by so that the right orders of held-out queries are most likely.
    ///
    /// ```text
    /// min over τ of  Σ_n L_n(τ·s_n)
    /// ```
    ///
    /// It is convex in τ: the sign of its slope is followed by halving, to a part in a thousand.
    fn temper<L: TreeLearner>(&self, data: &Training<'_, Rank>, learner: &L, boosted: &Boosted) -> Result<f64> {
        let set = data.set;
        let mut cases = vec![];
        for ((_, held), scores) in self.parts.iter().zip(&boosted.held) {
            // a part without anything to learn from says nothing
            let Ok((drawn, _)) = learner.lessons(data, held) else { continue };
            let mut all = vec![0.0; set.rows()];
            let rows = held.iter().flat_map(|&q| set.span(q as usize));
            rows.zip(scores).for_each(|(row, s)| all[row] = *s);
            cases.push((drawn, all));
        }
        if cases.is_empty() {
            return Ok(1.0);
        }
        let slope = |tau: f64| -> Result<f64> {
            let one = |(drawn, all): &(Drawn<L::Loss>, Vec<f64>)| {
                let (mut work, mut sum) = (<L::Loss as Surrogate>::Work::default(), 0.0);
                for (n, &q) in drawn.units.iter().enumerate() {
                    let own = &all[set.span(q as usize)];
                    let warm: Vec<f64> = own.iter().map(|s| tau * s).collect();
                    let mut d = vec![0.0; own.len()];
                    drawn.examples.value(n, &warm, &mut d, &mut work)?;
                    sum += d.iter().zip(own).map(|(d, s)| d * s).sum::<f64>();
                }
                Ok(sum)
            };
            Ok(cases.par_iter().map(one).collect::<Result<Vec<f64>>>()?.iter().sum())
        };
        let (mut low, mut high) = (1.0 / MOST_TEMPER, MOST_TEMPER);
        while high / low > 1.001 {
            let middle = (low * high).sqrt();
            if slope(middle)? < 0.0 { low = middle } else { high = middle }
        }
        Ok((low * high).sqrt())
    }
}

/// What trees alone start from: the scores of another model if they are given, else 0.
fn from_start(set: &RankSet) -> Vec<f64> {
    set.start().map_or_else(|| vec![0.0; set.rows()], <[f64]>::to_vec)
}

/// The most that scores are multiplied or divided by.
const MOST_TEMPER: f64 = 16.0;

impl Grown {
    /// The best mean of held-out queries.
    fn worth(&self) -> f64 {
        self.boosted.best
    }

    fn candidate(&self) -> Candidate {
        let rounds = self.boosted.forest.trees();
        let settings = [("leaves".to_owned(), self.leaves.into()), ("rounds".to_owned(), rounds.into())];
        Candidate::new(Map::from_iter(settings), self.worth().abs())
    }
}

/// What belongs to trees of one size, of a saved state.
fn within(saved: &State, leaves: usize) -> State {
    let prefix = format!("leaves{leaves}/");
    saved.iter().filter_map(|(name, values)| Some((name.strip_prefix(&prefix)?.to_owned(), values.clone()))).collect()
}

/// The same, to be saved beside others.
fn named(leaves: usize, state: State) -> impl Iterator<Item = (String, Vec<f64>)> {
    state.into_iter().map(move |(name, values)| (format!("leaves{leaves}/{name}"), values))
}
