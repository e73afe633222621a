//! Trees per label: gradient boosting on the log-loss of each label, judged on items that it has not seen.

use crate::data::LabelSet;
use crate::error::{Error, Result};
use crate::matrix::Features;
use crate::method::annotate::one_vs_rest::{Judged, OneVsRest, maps_of};
use crate::method::trees::{BINS, FOLDS, Scorer, TreeNotes, Trees, paired};
use crate::score::{Score, TreeScore};
use crate::solver::boost::{Course, Table};
use crate::solver::run::Watch;
use crate::surrogate::label_logistic::LabelLogistic;
use crate::traits::Stop;
use crate::tree::{Cuts, Forest};
use rayon::prelude::*;

/// Trains trees for every label on `units`, on top of ridge classifiers or alone; the number of rounds of each label is the one with
/// the smallest log-loss on unseen items.
///
/// ```text
/// log-odds = start(x) + Σ_t tree_t(x),   start = the log-odds of the ridge classifier, or those of the label
/// ```
///
/// Items are cut into five parts, as in [`OneVsRest::fit`]. Trees start from what ridge classifiers say of items that they have not
/// seen. With `scorer=auto` a label keeps its trees if the loss on unseen items falls by more than a standard error.
pub(in crate::method) fn fit(
    trees: &Trees,
    features: &Features,
    set: &LabelSet,
    units: &[u32],
    seed: u64,
    watch: &Watch,
) -> Result<(Judged, TreeNotes)> {
    let n = set.labels.len();
    if !units.is_sorted() {
        let mut place: Vec<usize> = (0..units.len()).collect();
        place.sort_unstable_by_key(|&at| units[at]);
        // in order, as the rows of courses are; and back
        let sorted: Vec<u32> = place.iter().map(|&at| units[at]).collect();
        let (mut judged, notes) = fit(trees, features, set, &sorted, seed, watch)?;
        let mut logits = vec![0.0; judged.logits.len()];
        for (own, &at) in judged.logits.chunks_exact(n.max(1)).zip(&place) {
            logits[at * n..(at + 1) * n].copy_from_slice(own);
        }
        judged.logits = logits;
        return Ok((judged, notes));
    }
    let linear = if trees.starts_linear() { Some(OneVsRest::judged(features, set, units, watch)?) } else { None };
    let cuts = Cuts::learn(features, units, &trees.categorical(&set.columns)?, BINS)?;
    let bins = cuts.bin(features)?;
    let table = Table { features, cuts: &cuts, bins: &bins };
    let one = |label: usize| {
        let start = match &linear {
            Some(linear) => linear.logits.iter().skip(label).step_by(n).copied().collect(),
            None => vec![prior(set, units, label); units.len()],
        };
        Labelled { trees, table, set, units, label, seed }.grow(start, watch)
    };
    let grown: Vec<Grown> = (0..n).into_par_iter().map(one).collect::<Result<_>>()?;
    let mut scores = vec![0.0; units.len() * n];
    for (label, grown) in grown.iter().enumerate() {
        scores.iter_mut().skip(label).step_by(n.max(1)).zip(&grown.unseen).for_each(|(to, s)| *to = *s);
    }
    // the log-odds of a classifier are slope·(w·x + offset) + shift: trees are added to those
    let (weights, offset) = match &linear {
        Some(Judged { model, .. }) => {
            let weights = model.score.weights().iter().zip(model.slope.iter().cycle()).map(|(w, slope)| slope * w);
            let offset = model.offset.iter().zip(&model.slope).zip(&model.shift);
            (weights.collect(), offset.map(|((offset, slope), shift)| slope * offset + shift).collect())
        }
        None => (vec![], (0..n).map(|label| prior(set, units, label)).collect()),
    };
    let maps = maps_of(set, units, &scores);
    let loss = maps.iter().map(|map| map.2).sum();
    let (slope, shift) = maps.iter().map(|map| (map.0, map.1)).unzip();
    let forests: Vec<Forest> = grown.into_iter().map(|grown| grown.forest).collect();
    let notes = TreeNotes {
        trees: forests.iter().map(Forest::trees).sum(),
        nodes: forests.iter().map(Forest::nodes).sum(),
        curve: vec![],
        gain: None,
    };
    let model = OneVsRest { score: Score::Trees(TreeScore { weights, forests }), offset, slope, shift };
    Ok((Judged::new(model, scores, loss, set, units), notes))
}

/// The log-odds of a label among the items of which it is known.
fn prior(set: &LabelSet, units: &[u32], label: usize) -> f64 {
    let known: Vec<bool> = units.iter().filter_map(|&i| answer(set, i, label)).collect();
    let yes = known.iter().filter(|yes| **yes).count() as f64;
    ((yes + 0.5) / (known.len() as f64 - yes + 0.5)).ln()
}

/// Whether a label applies to an item, if that is known.
fn answer(set: &LabelSet, item: u32, label: usize) -> Option<bool> {
    let known = set.unknown(item as usize).binary_search(&(label as u32)).is_err();
    known.then(|| set.yes(item as usize).binary_search(&(label as u32)).is_ok())
}

/// The trees of one label.
struct Labelled<'a> {
    trees: &'a Trees,
    table: Table<'a>,
    set: &'a LabelSet,
    units: &'a [u32],
    label: usize,
    seed: u64,
}

/// A forest, and the scores of all items by trees that have not seen them.
struct Grown {
    forest: Forest,
    unseen: Vec<f64>,
}

impl Labelled<'_> {
    /// `start` are the scores of the items to start from.
    fn grow(&self, start: Vec<f64>, watch: &Watch) -> Result<Grown> {
        let (set, units) = (self.set, self.units);
        let answers: Vec<Option<bool>> = units.iter().map(|&i| answer(set, i, self.label)).collect();
        let bare = Grown { forest: Forest::empty(self.table.cuts.columns()), unseen: start.clone() };
        let has = |wanted: bool| answers.contains(&Some(wanted));
        if !(has(true) && has(false)) {
            return Ok(bare);
        }
        let mut all = vec![0.0; self.table.bins.rows()];
        units.iter().zip(&start).for_each(|(&i, s)| all[i as usize] = *s);
        let judged = self.trees.open() && units.len() >= FOLDS;
        let folds = if judged { FOLDS } else { 0 };
        // what each course learns from: all but one part, and all at the end
        let learned = |course: usize| {
            let own = move |&i: &usize| course == folds || i % FOLDS != course;
            (0..units.len()).filter(own).filter_map(|i| Some((units[i] as usize, answers[i]?)))
        };
        let loss = |course: usize| {
            let known: Vec<Option<bool>> = learned(course).map(|(_, yes)| Some(yes)).collect();
            LabelLogistic::new(known.chunks(1), None)
        };
        let losses: Vec<LabelLogistic> = (0..=folds).map(loss).collect();
        let courses: Vec<Course<'_, LabelLogistic>> = losses
            .iter()
            .enumerate()
            .map(|(course, loss)| Course {
                loss,
                weight: vec![1.0; learned(course).count()],
                spans: learned(course).map(|(i, _)| i..i + 1).collect(),
                start: all.clone(),
                held: if course < folds { units.iter().skip(course).step_by(FOLDS).copied().collect() } else { vec![] },
            })
            .collect();
        let judge = |course: usize, scores: &[f64]| {
            let held = units.iter().zip(&answers).skip(course).step_by(FOLDS);
            // minus log(1 + exp(∓s))
            let likely = |(&i, yes): (&u32, &Option<bool>)| {
                let s = scores[i as usize];
                yes.map(|yes| -softplus(if yes { -s } else { s }))
            };
            Ok(held.filter_map(likely).collect())
        };
        let leaves = self.trees.size_of_labels(units.len());
        let how = self.trees.boost(leaves, judged, &set.columns, self.seed ^ self.label as u64)?;
        let quiet = Watch { tell: &|_, _| {}, ..*watch };
        let boosted = how.run(self.table, &courses, &judge, None, &quiet)?;
        if boosted.report.stop == Stop::Interrupted {
            return Err(Error::Interrupted);
        }
        let gains = || paired(&boosted.worth).is_some_and(|(gain, error)| gain > error);
        if self.trees.scorer == Scorer::Auto && !gains() {
            return Ok(bare);
        }
        let mut unseen = start;
        for (course, held) in boosted.held.iter().enumerate().take(folds) {
            unseen.iter_mut().skip(course).step_by(FOLDS).zip(held).for_each(|(to, s)| *to = *s);
        }
        if folds == 0 {
            let score = |(s, &i): (&mut f64, &u32)| {
                boosted.forest.add_scores(self.table.features, i as usize..i as usize + 1, std::slice::from_mut(s));
            };
            unseen.iter_mut().zip(units).for_each(score);
        }
        Ok(Grown { forest: boosted.forest, unseen })
    }
}

/// `log(1 + exp(x))`.
fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}
