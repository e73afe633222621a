//! Trees in matchers: on top of a linear fit, or alone.

use crate::data::scale::Scale;
use crate::error::Result;
use crate::method::matching::decide::Unseen;
use crate::method::matching::search::{Learner, Made, Search, cases_of};
use crate::method::matching::shards::By;
use crate::method::matching::temperature::fit_temperature;
use crate::method::trees::{BINS, FEW, FOLDS, Scorer, TreeNotes, Trees, paired};
use crate::method::{Match, Matcher};
use crate::score::{Score, TreeScore};
use crate::scorer::edges::NULL_UNIT;
use crate::solver::boost::{Boosted, Course, Table};
use crate::surrogate::fixed_nulls::{FixedNulls, FixedWork};
use crate::surrogate::matching::{Case, MatchLikelihood};
use crate::task::{Candidate, Chosen, Fitted, Inputs, both};
use crate::traits::{Stop, Surrogate};
use crate::tree::Cuts;
use serde_json::{Map, Value};

/// The fit of a method, with trees if it has them.
///
/// Trees are grown on all problems of the last fit, and beside them on parts of these, each from the linear fit of its part; rounds
/// and leaves are those that make the right matchings of held-out problems most likely. They start from linear scores over their
/// temperature, so that trees are not kept for what a temperature does. The null and the temperature that is left follow from
/// held-out scores too.
pub(super) fn added<L: Learner>(
    search: &Search<'_, L>,
    made: Made,
    train: &[u32],
    valid: &[u32],
) -> Result<Fitted<Match>> {
    let (train, valid) = (&both(train, &[]), &both(valid, &[])); // in order, as the rows of courses are
    match search.learner.trees() {
        Some(trees) if made.outcome.report.stop != Stop::Interrupted => {
            Boosting { search, trees }.fit(made, train, valid)
        }
        _ => search.fitted(made),
    }
}

struct Boosting<'a, L> {
    search: &'a Search<'a, L>,
    trees: &'a Trees,
}

/// What the scores of a linear fit are divided by.
fn warmth(linear: &Matcher) -> f64 {
    linear.temperature.unwrap_or(1.0)
}

/// Problems of one course with what is right of them, and where their edges start.
struct Lesson {
    units: Vec<u32>,
    cases: Vec<Case>,
    held: Vec<u32>,
    null: f64,
    /// The score of every edge of the set.
    start: Vec<f64>,
}

impl<L: Learner> Boosting<'_, L> {
    fn parts(&self, units: &[u32], train: &[u32], valid: &[u32]) -> Vec<(Vec<u32>, Vec<u32>)> {
        if !self.trees.open() || units.len() < FOLDS {
            return vec![];
        }
        if units.len() >= FEW && !valid.is_empty() && units.len() > train.len() {
            return vec![(train.to_vec(), valid.to_vec())];
        }
        let part = |fold: usize, own: bool| {
            units.iter().enumerate().filter(|(i, _)| (i % FOLDS == fold) == own).map(|(_, &p)| p).collect()
        };
        (0..FOLDS).map(|fold| (part(fold, false), part(fold, true))).collect()
    }

    fn lesson(&self, made: &Made, on: Vec<u32>, held: Vec<u32>, all: &[u32]) -> Result<Lesson> {
        let (data, null) = (self.search.data, self.search.learner.null());
        let set = data.set;
        let cases = cases_of(set, &on, null)?;
        let mut start = vec![0.0; set.features.rows()];
        let linear = match self.trees.starts_linear() {
            false => None,
            true => {
                let space = self.search.space(made.outcome.spec, &on)?;
                let matcher = self.search.fit_one((&on, &cases), &space, made.outcome.lambda, None, false)?.matcher;
                for (&p, s) in all.iter().zip(self.search.scores(&matcher, all)?) {
                    start[set.span(p as usize)].copy_from_slice(&s);
                }
                Some(matcher)
            }
        };
        let temperature = warmth(&made.outcome.matcher);
        start.iter_mut().for_each(|s| *s /= temperature);
        let null = linear.and_then(|matcher| matcher.null).unwrap_or(0.0) / temperature;
        Ok(Lesson { units: on, cases, held, null: NULL_UNIT * (null / NULL_UNIT), start })
    }

    fn fit(&self, mut made: Made, train: &[u32], valid: &[u32]) -> Result<Fitted<Match>> {
        let Self { search, trees } = *self;
        let (data, watch) = (search.data, search.watch);
        let set = data.set;
        let units = match data.refit {
            true => both(train, valid),
            false => train.to_vec(),
        };
        let mut lessons = vec![];
        for (on, held) in self.parts(&units, train, valid) {
            lessons.push(self.lesson(&made, on, held, &units)?);
        }
        let judged = !lessons.is_empty();
        lessons.push(self.lesson(&made, units.clone(), vec![], &units)?);
        let held: Vec<Vec<Case>> =
            lessons.iter().map(|lesson| cases_of(set, &lesson.held, search.learner.null())).collect::<Result<_>>()?;
        let loss =
            |cases, null| FixedNulls { likelihood: MatchLikelihood { cases, engines: By::Rough.engines(cases) }, null };
        let losses: Vec<FixedNulls<'_>> = lessons.iter().map(|lesson| loss(&lesson.cases, lesson.null)).collect();
        let tests: Vec<FixedNulls<'_>> =
            lessons.iter().zip(&held).map(|(lesson, held)| loss(held, lesson.null)).collect();
        let rows = |units: &[u32]| -> Vec<u32> {
            units.iter().flat_map(|&p| set.span(p as usize)).map(|row| row as u32).collect()
        };
        let courses: Vec<Course<'_, FixedNulls<'_>>> = lessons
            .iter()
            .zip(&losses)
            .map(|(lesson, loss)| Course {
                loss,
                weight: vec![1.0; lesson.units.len()],
                spans: lesson.units.iter().map(|&p| set.span(p as usize)).collect(),
                start: lesson.start.clone(),
                held: rows(&lesson.held),
            })
            .collect();
        let judge = |n: usize, scores: &[f64]| {
            let mut work = FixedWork::default();
            let one = |(at, &p): (usize, &u32)| {
                let s = &scores[set.span(p as usize)];
                Ok(-tests[n].value(at, s, &mut vec![0.0; s.len()], &mut work)?)
            };
            lessons[n].held.iter().enumerate().map(one).collect()
        };
        (watch.tell)(0.0, "cutting columns into bins");
        let cuts = Cuts::learn(&set.features, &rows(&units), &trees.categorical(&set.columns)?, BINS)?;
        let bins = cuts.bin(&set.features)?;
        let table = Table { features: &set.features, cuts: &cuts, bins: &bins };
        let (mut best, mut candidates): (Option<(usize, Boosted)>, Vec<Candidate>) = (None, vec![]);
        for leaves in trees.sizes(judged) {
            let how = trees.boost(leaves, judged, &set.columns, data.seed)?;
            let boosted = how.run(table, &courses, &judge, None, watch)?;
            if judged {
                let rounds = boosted.forest.trees();
                let settings = [("leaves".to_owned(), leaves.into()), ("rounds".to_owned(), rounds.into())];
                candidates.push(Candidate::new(Map::from_iter(settings), -boosted.best));
            }
            let stopped = boosted.report.stop == Stop::Interrupted;
            if best.as_ref().is_none_or(|(_, best)| boosted.best > best.best) {
                best = Some((leaves, boosted));
            }
            if stopped {
                break;
            }
        }
        drop((courses, bins));
        let Some((leaves, boosted)) = best else { return search.fitted(made) };
        let gain = paired(&boosted.worth);
        let kept = trees.scorer != Scorer::Auto || gain.is_some_and(|(gain, error)| gain > error);
        let rounds = if kept { boosted.forest.trees() } else { 0 };
        if kept {
            let last = lessons.pop();
            let null = search.learner.null().then_some(last.as_ref().map_or(0.0, |last| last.null));
            (made.outcome.matcher, made.unseen) =
                self.grown(&made.outcome.matcher, &boosted, null, (&lessons, &held))?;
            made.outcome.report = boosted.report;
            made.units = units;
        } else if boosted.report.stop == Stop::Interrupted {
            made.outcome.report.stop = Stop::Interrupted;
        }
        if judged {
            let known: usize = held.iter().map(Vec::len).sum();
            let nll = crate::metric::Metric { kind: crate::metric::Kind::Nll, k: None };
            made.chosen.get_or_insert_with(|| Chosen::new(nll, &data.convention, known, vec![]));
            made.refit = data.refit;
        }
        let mut fitted = search.fitted(made)?;
        let scorer = match (trees.starts_linear(), kept) {
            (_, false) => "linear",
            (true, true) => "linear+trees",
            (false, true) => "trees",
        };
        let settings = &mut fitted.facts.settings;
        settings.insert("scorer".into(), scorer.into());
        settings.insert("rounds".into(), rounds.into());
        settings.insert("leaves".into(), leaves.into());
        if scorer == "trees" {
            settings.insert("lambda".into(), Value::Null);
        }
        if let Some(chosen) = &mut fitted.facts.chosen {
            chosen.candidates.extend(candidates);
        }
        let nodes = boosted.forest.nodes();
        fitted.facts.notes.trees = Some(TreeNotes { trees: rounds, nodes, curve: boosted.curve, gain });
        Ok(fitted)
    }

    /// The matcher with trees; null and temperature by the scores of held-out problems, which it comes with.
    fn grown(
        &self,
        linear: &Matcher,
        boosted: &Boosted,
        null: Option<f64>,
        (lessons, held): (&[Lesson], &[Vec<Case>]),
    ) -> Result<(Matcher, Option<Unseen>)> {
        let (search, trees) = (self.search, self.trees);
        let set = search.data.set;
        let mut matcher = linear.clone();
        matcher.null = null;
        let weights = match trees.starts_linear() {
            true => matcher.score.weights().iter().map(|w| w / warmth(linear)).collect(),
            false => vec![],
        };
        if weights.is_empty() {
            matcher.inputs = Inputs::new(&set.columns, &search.data.filled, Scale::None, None);
        }
        matcher.score = Score::Trees(TreeScore { weights, forests: vec![boosted.forest.clone()] });
        // held-out problems, each with scores that have not seen it; their null is that of their part
        let (mut units, mut scores, mut cases) = (vec![], vec![], vec![]);
        for ((lesson, held), s) in lessons.iter().zip(held).zip(&boosted.held) {
            let mut from = 0;
            let shift = null.unwrap_or(0.0) - lesson.null;
            for (&p, case) in lesson.held.iter().zip(held) {
                let len = set.span(p as usize).len();
                units.push(p);
                // an edge takes two items from those that stay unmatched
                scores.push(s[from..from + len].iter().map(|s| s + 2.0 * shift).collect::<Vec<f64>>());
                cases.push(case.clone());
                from += len;
            }
        }
        if units.is_empty() {
            return Ok((matcher, None));
        }
        let shift = search.shift_of(&matcher, (&units, &scores), search.by)?;
        matcher.null = matcher.null.map(|null| null + shift);
        if matcher.temperature.is_some() {
            let null = matcher.null.unwrap_or(0.0);
            let tables: Vec<Vec<f64>> = scores
                .iter()
                .zip(&cases)
                .map(|(s, case)| {
                    let mut table = s.clone();
                    table.resize(case.graph.table(), null);
                    table
                })
                .collect();
            matcher.temperature = Some(fit_temperature(&cases, &tables)?);
        }
        let unseen = Unseen { units, scores, null: matcher.null, temperature: matcher.temperature };
        Ok((matcher, Some(unseen)))
    }
}
