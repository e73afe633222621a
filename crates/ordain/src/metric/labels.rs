//! Metrics of labels: of a ranking of all labels for each item, and of a set of labels for each item.

use super::rank::Ranked;
use super::{Convention, Empty, Evaluation, Kind, Metric, Query, transposed};
use crate::data::LabelSet;
use crate::error::{Error, Result};
use rayon::prelude::*;
use std::borrow::Cow;

/// What a model says of some items.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LabelScores {
    /// A score for each label, item after item.
    pub scores: Vec<f64>,
    /// The labels that it puts on each item; may be left empty where no metric asks for sets.
    pub sets: Vec<Vec<u32>>,
}

/// Measures what a model says of the items `units` of a set.
///
/// For an item with labels `T`, k of the N labels of which it is known whether they apply to it:
///
/// | name | value | scikit-learn's |
/// |---|---|---|
/// | `bep` | share of the first k labels that apply | – |
/// | `p@j` | share of the first j labels that apply, over j | – |
/// | `ap` | `1/k Σ_{i in T} (labels of T down to i) / (rank of i)` | `label_ranking_average_precision_score` |
/// | `rankloss` | share of the k (N − k) pairs that are in the wrong order | `label_ranking_loss` |
/// | `coverage` | rank of the last label of T; a depth from 1, no fraction | `coverage_error` |
/// | `hamming` | `\|T Δ P\| / N` for the predicted set P | `hamming_loss` |
/// | `f1` | `2 \|T ∩ P\| / (\|T\| + \|P\|)`, 1 where both are empty | `f1_score(average="samples", zero_division=1)` |
///
/// and every metric of [`super::evaluate`], with grade 1 for labels that apply and 0 for others. Rules:
///
/// - A label that is **unknown** of an item is left out of its list and of its sets before anything is computed. An item of
///   which nothing is known is left out of every metric.
/// - **Ties** follow the convention, as for documents: averaged over the tied orders, or by label number, or by
///   name. scikit-learn puts all tied labels at the last of their places instead, and so does the convention `sklearn`
///   in `ap`, `rankloss` and `coverage`.
/// - An item with **no label** says nothing about a ranking: `empty` of the convention decides, where `zero` and `one`
///   both mean 0 for `rankloss` and `coverage`, in which nothing is wrong. One with **all labels** is left out
///   of `bep`, `ap`, `rankloss` and `coverage`. Under `sklearn` both count as in scikit-learn: `ap` 1, `rankloss` 0,
///   `coverage` 0 and N; with `empty` set to `skip` both are left out.
/// - `hamming` and `f1` count every item.
///
/// Cost O(N log N) per item, in parallel over items; the result does not depend on the number of threads.
///
/// ```
/// use ordain::{data::{Columns, LabelSet}, matrix::{Features, Matrix}};
/// use ordain::metric::{evaluate_labels, Convention, LabelScores};
/// let features = Features::Dense(Matrix::new(vec![0.5], 1));
/// let columns = Columns::named(vec!["size".into()]);
/// let labels = ["sea", "sky", "tree"].map(String::from).to_vec();
/// let set = LabelSet::new(features, columns, labels, vec![vec![0, 2]])?;
/// let said = LabelScores { scores: vec![3.0, 2.0, 1.0], sets: vec![vec![0, 1]] };
/// let metrics = ["bep", "coverage", "f1"].map(|name| name.parse().unwrap());
/// let result = evaluate_labels(&set, &[0], &said, &metrics, &Convention::STANDARD)?;
/// assert_eq!([0, 1, 2].map(|m| result.mean(m)), [0.5, 3.0, 0.5]);
/// # Ok::<(), ordain::Error>(())
/// ```
pub fn evaluate_labels(
    set: &LabelSet,
    units: &[u32],
    prediction: &LabelScores,
    metrics: &[Metric],
    by: &Convention,
) -> Result<Evaluation> {
    set.need_truth()?;
    let n = set.labels.len();
    metrics.iter().try_for_each(|metric| metric.need_labels())?;
    prediction.check(units.len(), n, metrics)?;
    let by = Convention { relevant_from: None, ..*by }; // a label applies or not: there is no grade to start from
    let rows: Result<Vec<Vec<Option<f64>>>> = units
        .par_iter()
        .enumerate()
        .map(|(u, &i)| {
            let item = Item {
                at: (set, i as usize),
                yes: set.yes(i as usize),
                unknown: set.unknown(i as usize),
                scores: &prediction.scores[u * n..(u + 1) * n],
                said: prediction.sets.get(u).map_or(&[], Vec::as_slice),
            };
            item.measure(&set.labels, metrics, &by)
        })
        .collect();
    Ok(transposed(metrics, rows?))
}

impl LabelScores {
    fn check(&self, items: usize, labels: usize, metrics: &[Metric]) -> Result<()> {
        let refuse = |expected: String, found: String| Err(Error::Data { expected, found });
        if self.scores.len() != items * labels {
            return refuse(
                format!("{} scores, {labels} for each of {items} items", items * labels),
                format!("{} scores", self.scores.len()),
            );
        }
        let of_sets = metrics.iter().find(|metric| metric.of_sets());
        if let Some(metric) = of_sets.filter(|_| self.sets.len() != items) {
            return refuse(
                format!("a set of labels for each of {items} items, for {metric}"),
                format!("{} sets", self.sets.len()),
            );
        }
        match self.sets.iter().flatten().find(|&&label| label as usize >= labels) {
            Some(label) => refuse(format!("labels below {labels} in the sets"), format!("the label {label}")),
            None => Ok(()),
        }
    }
}

/// One item, with what is known and what was said of it.
struct Item<'a> {
    at: (&'a LabelSet, usize),
    yes: &'a [u32],
    unknown: &'a [u32],
    scores: &'a [f64],
    said: &'a [u32],
}

impl Item<'_> {
    fn measure(&self, names: &[String], metrics: &[Metric], by: &Convention) -> Result<Vec<Option<f64>>> {
        let known: Vec<u32> =
            (0..self.scores.len() as u32).filter(|label| self.unknown.binary_search(label).is_err()).collect();
        if known.is_empty() {
            return Ok(vec![None; metrics.len()]);
        }
        let mut grades = vec![0.0; self.scores.len()];
        self.yes.iter().for_each(|&label| grades[label as usize] = 1.0);
        let pick = |from: &[f64]| known.iter().map(|&label| from[label as usize]).collect::<Vec<f64>>();
        let (grades, scores) = (pick(&grades), pick(self.scores));
        super::finite(&scores, |i| {
            format!("item {:?}, label {:?}", self.at.0.item(self.at.1), names[known[i] as usize])
        })?;
        let id = |i: usize| Cow::Borrowed(names[known[i] as usize].as_str());
        let query = Query { grades: &grades, scores: &scores, unretrieved: &[], id: &id };
        let ranked = query.ranked(by, by.ties);
        let list = List { ranked: &ranked, n: known.len(), k: self.yes.len() };
        let of_sets = || {
            let mut said = self.said.to_vec();
            said.sort_unstable();
            said.dedup();
            said.retain(|label| self.unknown.binary_search(label).is_err());
            let both = said.iter().filter(|label| self.yes.binary_search(label).is_ok()).count();
            (both, said.len() + self.yes.len())
        };
        let one = |metric: &Metric| {
            Ok(match metric.kind {
                Kind::Hamming => {
                    let (both, sum) = of_sets();
                    Some((sum - 2 * both) as f64 / known.len() as f64)
                }
                Kind::F1 => {
                    let (both, sum) = of_sets();
                    Some(if sum == 0 { 1.0 } else { 2.0 * both as f64 / sum as f64 })
                }
                Kind::RankLoss | Kind::Coverage => list.loss(metric.kind, by),
                Kind::Ap | Kind::Map if by.labels_last => list.last_precision(by),
                Kind::Ap | Kind::Map | Kind::Bep | Kind::BepLearned if list.k == list.n => None,
                _ => query.one(*metric, by, 1.0, &ranked)?,
            })
        };
        metrics.iter().map(one).collect()
    }
}

/// A ranking of n labels, k of which apply.
struct List<'a> {
    ranked: &'a Ranked,
    n: usize,
    k: usize,
}

impl List<'_> {
    /// For each group of tied labels: how many stand before it, how many are in it, and how many of these apply.
    fn groups(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let applying = |group: &[f64]| group.iter().filter(|&&grade| grade > 0.0).count();
        self.ranked.groups().map(move |(start, group)| (start, group.len(), applying(group)))
    }

    fn loss(&self, kind: Kind, by: &Convention) -> Option<f64> {
        if self.k == 0 || self.k == self.n {
            let counts = by.empty != Empty::Skip && (self.k == 0 || by.labels_last);
            return counts.then_some(if kind == Kind::Coverage { self.k as f64 } else { 0.0 });
        }
        Some(if kind == Kind::Coverage { self.coverage(by.labels_last) } else { self.rank_loss(by.labels_last) })
    }

    /// Wrong pairs, with tied ones by half or in full.
    fn rank_loss(&self, last: bool) -> f64 {
        let (mut wrong, mut tied, mut others) = (0, 0, 0);
        for (_, size, applying) in self.groups() {
            wrong += applying * others;
            tied += applying * (size - applying);
            others += size - applying;
        }
        let pairs = (self.k * (self.n - self.k)) as f64;
        (wrong as f64 + if last { tied as f64 } else { 0.5 * tied as f64 }) / pairs
    }

    /// The expected rank of the last label that applies: of n tied labels, r of which apply, it is the place
    /// r (n + 1) / (r + 1) of them.
    fn coverage(&self, last: bool) -> f64 {
        let deepest = self.groups().filter(|&(_, _, applying)| applying > 0).last();
        deepest.map_or(0.0, |(start, size, applying)| {
            let place = (applying * (size + 1)) as f64 / (applying + 1) as f64;
            start as f64 + if last { size as f64 } else { place }
        })
    }

    /// Average precision with tied labels at the last of their places.
    fn last_precision(&self, by: &Convention) -> Option<f64> {
        if self.k == 0 || self.k == self.n {
            return (by.empty != Empty::Skip).then_some(1.0);
        }
        let (mut sum, mut found) = (0.0, 0);
        for (start, size, applying) in self.groups() {
            found += applying;
            sum += applying as f64 * found as f64 / (start + size) as f64;
        }
        Some(sum / self.k as f64)
    }
}
