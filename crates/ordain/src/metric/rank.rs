//! The metrics of one query.
//!
//! A ranking is a row of groups: documents whose order is known are groups of one, tied documents share a group when
//! ties are averaged. Every metric is the exact mean over the orders inside the groups (McSherry and Najork 2008).

use super::{Convention, Discount, Empty, Gain, Kind, Metric, Short, Ties, own};
use crate::error::{Error, Result, Way};
use std::borrow::Cow;
use std::cmp::Ordering;

/// The documents of one query, with what is known of them.
pub struct Query<'a> {
    /// Grades of the documents.
    pub grades: &'a [f64],
    /// Their scores.
    pub scores: &'a [f64],
    /// Grades of judged documents that are not among them.
    pub unretrieved: &'a [f64],
    /// The id of a document, for ties by id.
    pub id: &'a dyn Fn(usize) -> Cow<'a, str>,
}

/// Grades in ranked order; `ends[g]` is where group g ends.
pub(super) struct Ranked {
    grades: Vec<f64>,
    ends: Vec<usize>,
}

impl Ranked {
    pub(super) fn groups(&self) -> impl Iterator<Item = (usize, &[f64])> {
        (0..self.ends.len()).map(|g| {
            let start = if g == 0 { 0 } else { self.ends[g - 1] };
            (start, &self.grades[start..self.ends[g]])
        })
    }
}

impl Query<'_> {
    /// The metrics of this query; `None` where the query is left out. `max_grade` is the best grade of the whole set.
    pub fn measure(&self, metrics: &[Metric], by: &Convention, max_grade: f64) -> Result<Vec<Option<f64>>> {
        metrics.iter().try_for_each(|metric| metric.need_rankings())?;
        super::finite(self.scores, |i| format!("document {:?}", (self.id)(i)))?;
        let ranked = self.ranked(by, by.ties);
        metrics.iter().map(|&metric| self.one(metric, by, max_grade, &ranked)).collect()
    }

    /// The share of the weight of some pairs (better document, lesser one, weight) that is in the right order; none without a pair.
    pub(super) fn preferred(&self, pairs: impl Iterator<Item = (u32, u32, f64)>, by: &Convention) -> Option<f64> {
        let key = |i: u32| {
            let score = self.scores[i as usize];
            if by.single { f64::from(score as f32) } else { score }
        };
        let (mut right, mut all) = (0.0, 0.0);
        for (winner, loser, weight) in pairs {
            let share = match key(winner).partial_cmp(&key(loser)) {
                Some(Ordering::Greater) => 1.0,
                Some(Ordering::Equal) => match by.ties {
                    Ties::Average => 0.5,
                    Ties::Input => f64::from(u8::from(winner < loser)),
                    Ties::Id => {
                        let [winner, loser] = [winner, loser].map(|i| (self.id)(i as usize));
                        f64::from(u8::from(winner.as_bytes() > loser.as_bytes()))
                    }
                },
                _ => 0.0,
            };
            right += weight * share;
            all += weight;
        }
        (all > 0.0).then(|| right / all)
    }

    pub(super) fn ranked(&self, by: &Convention, ties: Ties) -> Ranked {
        let key = |i: u32| {
            let score = self.scores[i as usize];
            let score = if by.single { f64::from(score as f32) } else { score };
            score + 0.0 // −0 and 0 are one score
        };
        let mut order: Vec<u32> = (0..self.scores.len() as u32).collect();
        order.sort_by(|&a, &b| key(b).total_cmp(&key(a)));
        let same = |a: u32, b: u32| key(a).total_cmp(&key(b)).is_eq();
        if ties == Ties::Id {
            for group in order.chunk_by_mut(|&a, &b| same(a, b)).filter(|group| group.len() > 1) {
                group.sort_by(|&a, &b| (self.id)(b as usize).as_bytes().cmp((self.id)(a as usize).as_bytes()));
            }
        }
        let ends = if ties == Ties::Average {
            order
                .chunk_by(|&a, &b| same(a, b))
                .scan(0, |end, group| {
                    *end += group.len();
                    Some(*end)
                })
                .collect()
        } else {
            (1..=order.len()).collect()
        };
        Ranked { grades: order.iter().map(|&i| self.grades[i as usize]).collect(), ends }
    }

    pub(super) fn one(&self, metric: Metric, by: &Convention, max_grade: f64, ranked: &Ranked) -> Result<Option<f64>> {
        let k = metric.k.unwrap_or(usize::MAX);
        let relevant = |grade: f64| by.relevant(grade);
        let judged = || self.grades.iter().chain(self.unretrieved).copied();
        let total = judged().filter(|&g| relevant(g)).count();
        let empty = |normalised: bool| match by.empty {
            Empty::Skip => None,
            Empty::Zero => Some(0.0),
            Empty::One => Some(if normalised { 1.0 } else { 0.0 }),
        };
        Ok(match metric.kind {
            Kind::Ndcg => {
                let mut best: Vec<f64> = judged().collect();
                best.sort_by(|a, b| b.total_cmp(a));
                let single = Ranked { ends: (1..=best.len()).collect(), grades: best };
                let ideal = dcg(&single, k, by)?;
                if ideal <= 0.0 {
                    empty(true)
                } else if by.short == Short::Zero && metric.k.is_some_and(|k| k > self.grades.len()) {
                    Some(0.0)
                } else {
                    Some(dcg(ranked, k, by)? / ideal)
                }
            }
            Kind::Dcg => Some(dcg(ranked, k, by)?),
            Kind::Err => {
                if total == 0 {
                    empty(false)
                } else {
                    Some(reciprocal_stop(ranked, k, by, max_grade)?)
                }
            }
            Kind::Precision if total == 0 => empty(false),
            Kind::Precision => Some(hits(ranked, k, relevant) / k as f64),
            Kind::Map | Kind::Ap | Kind::Recall | Kind::Mrr | Kind::Bep | Kind::BepLearned | Kind::Wta
                if total == 0 =>
            {
                empty(true)
            }
            Kind::Map | Kind::Ap => Some(average_precision(ranked, relevant) / total as f64),
            Kind::Recall => Some(hits(ranked, k, relevant) / total as f64),
            Kind::Bep | Kind::BepLearned => Some(hits(ranked, total, relevant) / total as f64),
            Kind::Mrr => Some(reciprocal_rank(ranked, relevant)),
            Kind::Wta => {
                let best = judged().fold(f64::NEG_INFINITY, f64::max);
                Some(hits(ranked, 1, |grade| grade >= best))
            }
            Kind::Pairs => {
                let (right, wrong, tied) = pairs(ranked);
                if right + wrong + tied == 0 {
                    empty(true)
                } else {
                    Some((right as f64 + 0.5 * tied as f64) / (right + wrong + tied) as f64)
                }
            }
            Kind::Kendall => self.kendall(by).or(empty(true)),
            Kind::Own(id) => own::value(id, self.grades, self.scores)?,
            Kind::RankLoss
            | Kind::Coverage
            | Kind::Hamming
            | Kind::F1
            | Kind::Accuracy
            | Kind::EdgePrecision
            | Kind::Nll
            | Kind::Ece => {
                metric.need_rankings()?;
                None
            }
        })
    }

    /// Kendall's tau-b, (right − wrong) / √(pairs of different grades · pairs of different scores); `None` where all
    /// grades are equal, 0 where all scores are.
    fn kendall(&self, by: &Convention) -> Option<f64> {
        let ranked = self.ranked(by, Ties::Average);
        let (right, wrong, tied) = pairs(&ranked);
        let graded = right + wrong + tied;
        let n = self.grades.len();
        let scored =
            (n * n.saturating_sub(1) / 2) - ranked.groups().map(|(_, g)| g.len() * (g.len() - 1) / 2).sum::<usize>();
        if graded == 0 {
            None
        } else if scored == 0 {
            Some(0.0)
        } else {
            Some((right as f64 - wrong as f64) / (graded as f64).sqrt() / (scored as f64).sqrt())
        }
    }
}

/// `Σ_j gain(j) · discount(j)` over the first k places.
fn dcg(ranked: &Ranked, k: usize, by: &Convention) -> Result<f64> {
    let mut sum = 0.0;
    for (start, group) in ranked.groups().take_while(|&(start, _)| start < k) {
        let mut gains = 0.0;
        for &grade in group {
            gains += gain(grade, by)?;
        }
        let places: f64 = (start..(start + group.len()).min(k)).map(|place| discount(place, by.discount)).sum();
        sum += gains / group.len() as f64 * places;
    }
    Ok(sum)
}

fn gain(grade: f64, by: &Convention) -> Result<f64> {
    let refuse = |expected: &str| Error::Data { expected: expected.into(), found: format!("the grade {grade}") };
    if grade < 0.0 {
        return Err(refuse("grades of 0 or more for a metric with gains (pairs and kendall take any grade)"));
    }
    match by.gain {
        Gain::Linear if grade > 1e100 => Err(refuse("grades up to 1e100")),
        Gain::Linear => Ok(grade),
        Gain::Exp if grade > 500.0 => {
            Err(refuse("grades up to 500 for the gain 2^grade − 1").or(Way::new("gain", ["linear"], "takes any")))
        }
        Gain::Exp => Ok(grade.exp2() - 1.0),
    }
}

/// What the place counts, places from 0.
fn discount(place: usize, by: Discount) -> f64 {
    match by {
        Discount::Log2 => 1.0 / ((place + 2) as f64).log2(),
        Discount::Letor if place < 2 => 1.0,
        Discount::Letor => 1.0 / ((place + 1) as f64).log2(),
    }
}

/// Expected number of documents with some property among the first k.
fn hits(ranked: &Ranked, k: usize, has: impl Fn(f64) -> bool) -> f64 {
    ranked
        .groups()
        .take_while(|&(start, _)| start < k)
        .map(|(start, group)| {
            let count = group.iter().filter(|&&grade| has(grade)).count();
            let inside = group.len().min(k - start);
            if inside == group.len() { count as f64 } else { count as f64 * inside as f64 / group.len() as f64 }
        })
        .sum()
}

/// Expected `Σ precision at the rank of each relevant document`.
///
/// In a group of n documents, r of them relevant, after t documents, R of them relevant, the place t + j is relevant
/// with probability r/n, and then (j − 1)(r − 1)/(n − 1) of the places before it in the group are expected to be so.
fn average_precision(ranked: &Ranked, relevant: impl Fn(f64) -> bool) -> f64 {
    let (mut sum, mut before) = (0.0, 0.0);
    for (start, group) in ranked.groups() {
        let (n, r) = (group.len() as f64, group.iter().filter(|&&grade| relevant(grade)).count() as f64);
        if r > 0.0 {
            let slope = if n > 1.0 { (r - 1.0) / (n - 1.0) } else { 0.0 };
            for j in 0..group.len() {
                sum += r / n * (before + 1.0 + j as f64 * slope) / (start + j + 1) as f64;
            }
        }
        before += r;
    }
    sum
}

/// Expected `1 / rank` of the first relevant document; 0 where none is ranked.
fn reciprocal_rank(ranked: &Ranked, relevant: impl Fn(f64) -> bool) -> f64 {
    for (start, group) in ranked.groups() {
        let (n, r) = (group.len(), group.iter().filter(|&&grade| relevant(grade)).count());
        if r == 0 {
            continue;
        }
        let (mut sum, mut none_yet) = (0.0, 1.0);
        for j in 0..=n - r {
            let here = r as f64 / (n - j) as f64;
            sum += none_yet * here / (start + j + 1) as f64;
            none_yet *= 1.0 - here;
        }
        return sum;
    }
    0.0
}

/// Expected reciprocal rank: a reader stops at a document with probability gain / 2^max.
///
/// Inside a group the mean over orders of `Π (1 − stop)` over the first j documents is the j-th elementary symmetric
/// mean of the values `1 − stop`, built document by document; cost O(n·k) for a group of n.
fn reciprocal_stop(ranked: &Ranked, k: usize, by: &Convention, max_grade: f64) -> Result<f64> {
    let most = gain(max_grade, by)? + 1.0;
    let (mut sum, mut reached) = (0.0, 1.0);
    for (start, group) in ranked.groups().take_while(|&(start, _)| start < k) {
        let depth = group.len().min(k - start);
        let mut means = vec![0.0; depth + 1];
        means[0] = 1.0;
        for (n, &grade) in group.iter().enumerate() {
            let go_on = 1.0 - gain(grade, by)? / most;
            for j in (1..=depth.min(n + 1)).rev() {
                means[j] = ((n + 1 - j) as f64 * means[j] + j as f64 * go_on * means[j - 1]) / (n + 1) as f64;
            }
        }
        for j in 1..=depth {
            sum += reached * (means[j - 1] - means[j]) / (start + j) as f64;
        }
        reached *= means[depth];
    }
    Ok(sum)
}

/// Pairs of different grades that are in the right order, in the wrong one, and in the same group. O(n log n).
fn pairs(ranked: &Ranked) -> (usize, usize, usize) {
    let mut levels: Vec<f64> = ranked.grades.iter().map(|g| g + 0.0).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup_by(|a, b| a.total_cmp(b).is_eq());
    let level = |grade: &f64| levels.partition_point(|x| x < grade);
    // counts of the documents so far by level, as a Fenwick tree
    let mut tree = vec![0usize; levels.len() + 1];
    let up_to = |tree: &[usize], level: usize| {
        let (mut at, mut sum) = (level, 0);
        while at > 0 {
            sum += tree[at];
            at &= at - 1;
        }
        sum
    };
    let (mut right, mut wrong, mut tied, mut above) = (0, 0, 0, 0);
    let mut here: Vec<usize> = vec![];
    for (_, group) in ranked.groups() {
        here.clear();
        here.extend(group.iter().map(level));
        here.sort_unstable();
        for &l in &here {
            let lower = up_to(&tree, l);
            wrong += lower;
            right += above - up_to(&tree, l + 1);
        }
        let n = here.len();
        let equal: usize = here.chunk_by(|a, b| a == b).map(|run| run.len() * (run.len() - 1) / 2).sum();
        tied += n * (n - 1) / 2 - equal;
        for &l in &here {
            let mut at = l + 1;
            while at < tree.len() {
                tree[at] += 1;
                at += at & at.wrapping_neg();
            }
        }
        above += n;
    }
    (right, wrong, tied)
}
