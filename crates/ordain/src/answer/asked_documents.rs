//! What a person sees who grades documents: which one next, the list as it stands, and how good the order of the model is so far.

use super::Named;
use crate::error::Result;
use crate::method::{Rank, Ranker};
use crate::task::Ready;
use serde::Serialize;

/// A query under the grades of a person.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AskedQuery {
    /// The next document; none where all have a grade, or were skipped.
    pub question: Option<AskedDocument>,
    /// All documents: those with a grade by it, the others by score.
    pub list: Vec<GradedDocument>,
    /// NDCG@10 of the order of the model.
    pub metric: Named<NdcgBounds>,
    /// Why the person may stop here, if so.
    pub stop: Option<String>,
}

/// The next document to grade.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AskedDocument {
    /// The document.
    pub doc: String,
    /// Its number within the query.
    #[serde(skip)]
    pub number: u32,
    /// Why this one.
    pub why: String,
}

/// A document with its grade, if it has one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GradedDocument {
    /// The document.
    pub id: String,
    /// Its number within the query.
    #[serde(skip)]
    pub number: u32,
    /// The score.
    pub score: f64,
    /// The place that the model gives it, from 1.
    pub rank: usize,
    /// The grade.
    pub grade: Option<u8>,
}

/// A measure of an order whose grades are not all known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NdcgBounds {
    /// If every open document is worth nothing; none if nothing is worth anything yet.
    pub now: Option<f64>,
    /// The least that open grades can make of it; none if it is not defined whatever they are.
    pub least: Option<f64>,
    /// The most.
    pub most: Option<f64>,
}

/// The places that count.
const K: usize = 10;
/// The best grade there can be: the search for the best case counts its ways.
pub const BEST_GRADE: u8 = 9;

fn gain(grade: u8) -> f64 {
    2f64.powi(grade.into()) - 1.0
}

fn discount(place: usize) -> f64 {
    1.0 / (place as f64 + 2.0).log2()
}

/// Σ gain(grade) / log₂(1 + place) over the first k places.
fn dcg(grades: impl Iterator<Item = u8>) -> f64 {
    grades.take(K).enumerate().map(|(place, grade)| gain(grade) * discount(place)).sum()
}

/// DCG over the best order of documents, so many of each grade.
fn ideal(counts: &[usize; 256]) -> f64 {
    dcg((0..=u8::MAX).rev().flat_map(|grade| std::iter::repeat_n(grade, counts[usize::from(grade)].min(K))))
}

/// NDCG@10 of an order, best first, some of whose grades are open: each may be any whole number up to `top`.
///
/// ```text
/// NDCG@k = Σ_{i ≤ k} (2^{g_i} − 1) / log₂(1 + i)  /  the same over the best order
/// ```
///
/// The numerator is linear in the gains and the denominator convex, so that the least is at a corner of the box of open gains: the last m
/// open documents have the best grade and the others none, for some m. At the most, open documents behind place k have no grade, and those before
/// it fall along the order (a larger gain is worth more further up and costs the same): all such rows are tried, at most
/// C(k + top, top). Cost: O(n k + that k).
///
/// ```
/// use ordain::answer::ndcg_bounds;
/// let said = ndcg_bounds(&[Some(1), None, Some(0)], 1);
/// assert_eq!((said.now, said.most), (Some(1.0), Some(1.0)));
/// let said = ndcg_bounds(&[Some(0), None], 1);
/// assert!((said.least.unwrap() - 1.0 / 3f64.log2()).abs() < 1e-12); // a 1 at place 2, or nothing is worth anything
/// ```
pub fn ndcg_bounds(grades: &[Option<u8>], top: u8) -> NdcgBounds {
    let mut counts = [0; 256];
    grades.iter().flatten().for_each(|&grade| counts[usize::from(grade)] += 1);
    let value = |sum: f64, counts: &[usize; 256]| Some(ideal(counts)).filter(|best| *best > 0.0).map(|best| sum / best);
    let sum = dcg(grades.iter().map(|grade| grade.unwrap_or(0)));
    let now = value(sum, &counts);
    let open: Vec<usize> = (0..grades.len()).filter(|&place| grades[place].is_none()).collect();
    // the last m open documents have the best grade
    let (mut least, mut own, mut worst) = (now, counts, sum);
    for &place in open.iter().rev() {
        own[usize::from(top)] += 1;
        worst += if place < K { gain(top) * discount(place) } else { 0.0 };
        least = [least, value(worst, &own)].into_iter().flatten().min_by(f64::total_cmp);
    }
    // grades of open head places that fall along the order, from none at all to the best everywhere
    let head: Vec<usize> = open.into_iter().filter(|&place| place < K).collect();
    let (mut most, mut row) = (now, vec![0u8; head.len()]);
    let (mut own, mut best) = (counts, sum);
    while let Some(at) = row.iter().rposition(|&grade| grade < top).map(|last| first_like(&row, last)) {
        // the next row: one more at the first place of its grade, nothing behind
        for (place, grade) in head.iter().zip(&mut row).skip(at + 1) {
            own[usize::from(*grade)] -= usize::from(*grade > 0);
            best -= gain(*grade) * discount(*place);
            *grade = 0;
        }
        own[usize::from(row[at])] -= usize::from(row[at] > 0);
        best += (gain(row[at] + 1) - gain(row[at])) * discount(head[at]);
        row[at] += 1;
        own[usize::from(row[at])] += 1;
        most = [most, value(best, &own)].into_iter().flatten().max_by(f64::total_cmp);
    }
    NdcgBounds { now, least, most: most.map(|most| most.min(1.0)) }
}

/// The first place of a falling row with the value that it has at a place.
fn first_like(row: &[u8], place: usize) -> usize {
    row.iter().position(|&grade| grade == row[place]).unwrap_or(place)
}

/// A query of a set under grades: documents by their numbers within the query, with the grade of each, or none if it was skipped. `top` is the best
/// grade there is, at most [`BEST_GRADE`].
///
/// The next document is the first of the model's order that has no grade and was not skipped: its grade has the largest discount,
/// and moves the bounds most.
///
/// ```
/// use ordain::{answer::asked_query, data::synthetic::Synthetic, method::RankSvm, solver::run::Watch};
/// use ordain::task::{Method, Model, Training};
/// let set = Synthetic::default().make();
/// let model = RankSvm::default().fit(&Training::new(&set, &set.all()), &Watch::NOBODY)?.model;
/// let ready = model.prepare(&set)?;
/// let before = asked_query(&model, &ready, 0, &[], 4)?;
/// let first = before.question.unwrap();
/// let after = asked_query(&model, &ready, 0, &[(first.number, Some(2))], 4)?;
/// assert_eq!((after.list[0].id.as_str(), after.list[0].grade), (first.doc.as_str(), Some(2)));
/// # Ok::<(), ordain::Error>(())
/// ```
///
/// Costs a prediction of the query.
pub fn asked_query(
    model: &Ranker,
    on: &Ready<'_, Rank>,
    q: usize,
    answers: &[(u32, Option<u8>)],
    top: u8,
) -> Result<AskedQuery> {
    let (set, span) = (on.set(), on.set().span(q));
    let said = model.predict(on, &[q as u32], false)?.remove(0);
    let mut grades = vec![None; span.len()];
    answers.iter().for_each(|&(doc, grade)| grades[doc as usize] = grade);
    let numbers: Vec<usize> = said.order.iter().map(|row| row - span.start).collect();
    let mut list: Vec<GradedDocument> = (numbers.iter().enumerate())
        .map(|(place, &d)| GradedDocument {
            id: set.document(span.start + d).into_owned(),
            number: d as u32,
            score: said.scores[d],
            rank: place + 1,
            grade: grades[d],
        })
        .collect();
    let ordered: Vec<Option<u8>> = list.iter().map(|doc| doc.grade).collect();
    let said_of = |doc: &GradedDocument| answers.iter().any(|&(own, _)| own == doc.number);
    let question = list.iter().find(|doc| !said_of(doc)).map(|doc| AskedDocument {
        doc: doc.id.clone(),
        number: doc.number,
        why: format!("place {} of the model is the first without a grade", doc.rank),
    });
    list.sort_by_key(|doc| (std::cmp::Reverse(doc.grade), doc.rank));
    let bounds = ndcg_bounds(&ordered, top.min(BEST_GRADE));
    let stop = match (&question, bounds) {
        (None, _) => Some("every document has a grade, or was skipped".to_owned()),
        (_, NdcgBounds { least: Some(least), most: Some(most), .. }) if most - least < 0.01 => {
            Some("other grades cannot change NDCG@10 by more than .01".to_owned())
        }
        _ => None,
    };
    Ok(AskedQuery { question, list, metric: Named(vec![("ndcg@10".into(), bounds)]), stop })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;
    use crate::metric::{Convention, Metric, Query};
    use crate::random::Random;

    /// NDCG@10 of an order by the metric, none where nothing is worth anything.
    fn measured(grades: &[u8]) -> Option<f64> {
        let own: Vec<f64> = grades.iter().map(|&grade| grade.into()).collect();
        let scores: Vec<f64> = (0..grades.len()).map(|place| -(place as f64)).collect();
        let id = |i: usize| i.to_string().into();
        let query = Query { grades: &own, scores: &scores, unretrieved: &[], id: &id };
        query.measure(&["ndcg@10".parse::<Metric>().unwrap()], &Convention::STANDARD, 4.0).unwrap()[0]
    }

    /// Fills the open grades with the digits of a number.
    fn filled(grades: &[Option<u8>], top: u8, mut digits: usize) -> Vec<u8> {
        let base = usize::from(top) + 1;
        let mut digit = || {
            let own = (digits % base) as u8;
            digits /= base;
            own
        };
        grades.iter().map(|grade| grade.unwrap_or_else(&mut digit)).collect()
    }

    #[test]
    fn bounds_are_those_of_all_grades_that_can_be() {
        let mut random = Random::new(7);
        for _ in 0..crate::cases::cases(60) {
            let top = 1 + random.below(4) as u8;
            // more open documents than 10 places are tried with two grades alone
            let (open, n) = (random.below(if top == 1 { 9 } else { 5 }), 1 + random.below(14));
            let mut grades: Vec<Option<u8>> = (0..n).map(|_| Some(random.below(usize::from(top) + 1) as u8)).collect();
            (0..open).for_each(|_| grades[random.below(n)] = None);
            let ways = (usize::from(top) + 1).pow(grades.iter().filter(|grade| grade.is_none()).count() as u32);
            let all = || (0..ways).filter_map(|way| measured(&filled(&grades, top, way)));
            let said = ndcg_bounds(&grades, top);
            let near = |a: Option<f64>, b: Option<f64>| match (a, b) {
                (Some(a), Some(b)) => (a - b).abs() < 1e-12,
                (a, b) => a == b,
            };
            assert!(near(said.now, measured(&filled(&grades, top, 0))), "{grades:?}");
            assert!(near(said.least, all().min_by(f64::total_cmp)), "{grades:?} up to {top}: {said:?}");
            assert!(near(said.most, all().max_by(f64::total_cmp)), "{grades:?} up to {top}: {said:?}");
        }
    }
}
