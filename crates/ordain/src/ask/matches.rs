//! Which pair of a matching problem to ask a person about, and what the model says given the answers.

use crate::error::{Error, Result};
use crate::method::{Match, Matcher};
use crate::structure::matching::best::{self, best, forbidden};
use crate::structure::matching::engine;
use crate::structure::matching::graph::Graph;
use crate::task::Ready;

/// Pairs that are surer than this, either way, are not asked about.
pub const SURE: f64 = 0.99;

/// What a matcher says of a problem, some of whose edges are answered.
#[derive(Clone, Debug, PartialEq)]
pub struct GivenMatches {
    /// The edges of the best matching that agrees with the answers, ascending.
    pub edges: Vec<u32>,
    /// The probability of every edge given the answers: 1 where the answer is yes, 0 where it is no or where an answer rules it out.
    /// None of a model without probabilities.
    pub probabilities: Option<Vec<f64>>,
    /// By how much the best sum of scores falls without each of `edges`; infinite if nothing else is possible, or if the answer is yes.
    pub margins: Vec<f64>,
}

/// A pair to ask about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairQuestion {
    /// The edge.
    pub edge: u32,
    /// How much it is in doubt: the probability of its edge, or the margin of a match if there are no probabilities.
    pub value: f64,
}

/// Solves problem `p` again under answers: `known[e]` says whether the two ends of edge e belong together.
///
/// An edge that is answered with yes takes its two items out of the problem, and one that is answered with no is removed. The rest is
/// a smaller problem of the same kind, and its matchings have the probabilities of the whole, given the answers.
/// Cost: that of a prediction of the problem.
///
/// # Errors
///
/// [`Error::Data`] if answers contradict each other or leave no matching; else as [`Matcher::predict`].
pub fn given(matcher: &Matcher, on: &Ready<'_, Match>, p: usize, known: &[Option<bool>]) -> Result<GivenMatches> {
    let (problem, scores) = (on.set().problem(p), matcher.scores(on, p)?);
    let said = |e: usize| known.get(e).copied().flatten();
    let (mut left, mut right) = (vec![true; problem.left.len()], vec![true; problem.right.len()]);
    for (e, &(i, j)) in problem.edges.iter().enumerate().filter(|&(e, _)| said(e) == Some(true)) {
        let fresh = std::mem::take(&mut left[i as usize]) & std::mem::take(&mut right[j as usize]);
        if !fresh {
            let (i, j) = problem.edges[e];
            return Err(Error::Data {
                expected: format!("problem {:?}: at most one match of an item by the answers", problem.name),
                found: format!("a second one of {:?} or {:?}", problem.left[i as usize], problem.right[j as usize]),
            });
        }
    }
    let numbers = |kept: &[bool]| -> Vec<u32> {
        let count = |next: &mut u32, &kept: &bool| Some(std::mem::replace(next, *next + u32::from(kept)));
        kept.iter().scan(0, count).collect()
    };
    let (lefts, rights) = (numbers(&left), numbers(&right));
    let open: Vec<usize> = (0..problem.edges.len())
        .filter(|&e| {
            let (i, j) = problem.edges[e];
            left[i as usize] && right[j as usize] && said(e).is_none()
        })
        .collect();
    let edges: Vec<(u32, u32)> =
        open.iter().map(|&e| (lefts[problem.edges[e].0 as usize], rights[problem.edges[e].1 as usize])).collect();
    let count = |kept: &[bool]| kept.iter().filter(|kept| **kept).count();
    let graph = Graph::new(count(&left), count(&right), &edges, matcher.null.is_some())?;
    let mut s = vec![matcher.null.unwrap_or(0.0); graph.table()];
    s.iter_mut().zip(&open).for_each(|(s, &e)| *s = scores[e]);
    let nothing = |error: Error| match error {
        Error::Infeasible { .. } => Error::Data {
            expected: format!(
                "problem {:?}: answers that leave a matching of every item of the lesser side (take one back, or fit with null=true)",
                problem.name
            ),
            found: "answers that leave none".into(),
        },
        other => other,
    };
    let (mut work, mut losses) = (best::Work::default(), vec![]);
    let found = best(&graph, &s, &mut work).map_err(nothing)?.edges.to_vec();
    forbidden(&graph, &s, &mut work, &mut losses)?;
    let mut matches: Vec<(u32, f64)> =
        found.iter().zip(losses).map(|(&e, loss)| (open[e as usize] as u32, loss)).collect();
    matches.extend((0..problem.edges.len()).filter(|&e| said(e) == Some(true)).map(|e| (e as u32, f64::INFINITY)));
    matches.sort_unstable_by_key(|&(e, _)| e);
    let mut probabilities = None;
    if let Some(t) = matcher.temperature {
        let warm: Vec<f64> = s.iter().map(|s| s / t).collect();
        let mut own = vec![0.0; graph.table()];
        let seed = matcher.seed ^ p as u64;
        engine::log_sum(matcher.engine, &graph, &warm, seed, &mut engine::Work::default(), &mut own)
            .map_err(nothing)?;
        let mut all: Vec<f64> = (0..problem.edges.len()).map(|e| f64::from(u8::from(said(e) == Some(true)))).collect();
        open.iter().zip(own).for_each(|(&e, p)| all[e] = p);
        probabilities = Some(all);
    }
    let (edges, margins) = matches.into_iter().unzip();
    Ok(GivenMatches { edges, probabilities, margins })
}

/// The pair of a problem that is most in doubt and was neither answered nor `skipped`; none if nothing is left that is in doubt.
///
/// With probabilities it is the edge with the largest `p (1 − p)`, as long as p lies between 1 − [`SURE`] and [`SURE`]; else the match that
/// costs least to give up. Of equals the first.
pub fn next_pair(said: &GivenMatches, known: &[Option<bool>], skipped: &[u32]) -> Option<PairQuestion> {
    let open = |e: u32| known.get(e as usize).copied().flatten().is_none() && !skipped.contains(&e);
    let first = |a: &(f64, PairQuestion), b: &(f64, PairQuestion)| a.0.total_cmp(&b.0).then(a.1.edge.cmp(&b.1.edge));
    let best = match &said.probabilities {
        Some(all) => (0..)
            .zip(all)
            .filter(|&(e, &p)| open(e) && p > 1.0 - SURE && p < SURE)
            .map(|(edge, &value)| (-value * (1.0 - value), PairQuestion { edge, value }))
            .min_by(first),
        None => (said.edges.iter().zip(&said.margins))
            .filter(|&(&e, margin)| open(e) && margin.is_finite())
            .map(|(&edge, &value)| (value, PairQuestion { edge, value }))
            .min_by(first),
    };
    best.map(|(_, question)| question)
}

/// How much each problem of a set is in doubt: that of its most doubtful pair. Costs a prediction of the set.
pub fn pair_doubts(matcher: &Matcher, on: &Ready<'_, Match>) -> Result<Vec<f64>> {
    let one = |p: usize| -> Result<f64> {
        let said = given(matcher, on, p, &[])?;
        Ok(match (next_pair(&said, &[], &[]), said.probabilities.is_some()) {
            (None, _) => f64::NEG_INFINITY,
            (Some(question), true) => question.value * (1.0 - question.value),
            (Some(question), false) => -question.value,
        })
    };
    (0..on.set().len()).map(one).collect()
}
