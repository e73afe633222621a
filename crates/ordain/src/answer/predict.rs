//! Predictions.

use super::Want;
use crate::data::Problem;
use crate::error::Result;
use crate::method::annotator::ranked;
use crate::method::matcher;
use crate::method::{Annotate, Annotator, Match, MatchPrediction, Matched, Matcher, PlaceProbabilities, Rank, Ranker};
use crate::method::{LabelPrediction, Sums, Trainer};
use crate::task::Ready;
use serde::Serialize;

/// The documents of one query, best first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankedList {
    /// The query.
    pub query: String,
    /// Its documents; ties in the order of the input.
    pub items: Vec<RankedDocument>,
    /// The value of the order, of a model with links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// By how much another order could have a larger value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<f64>,
    /// What rules did to it, if there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<super::RulesPart>,
}

/// One document of a ranking.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankedDocument {
    /// The document.
    pub id: String,
    /// Its score; of a model with links minus its place.
    pub score: f64,
    /// Its score by itself, of a model with links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_score: Option<f64>,
    /// Its place, from 1.
    pub rank: usize,
    /// How likely it stands where, if that was asked for.
    #[serde(flatten)]
    pub places: Option<PlaceProbabilities>,
}

pub(super) fn rank(model: &Ranker, on: &Ready<'_, Rank>, units: &[u32], want: Want) -> Result<Vec<RankedList>> {
    let set = on.set();
    let list = |(&q, said): (&u32, crate::method::RankPrediction)| {
        let start = set.span(q as usize).start;
        let mut places = said.places;
        let rows = said.order.iter().take(want.most()).enumerate();
        let items = rows.map(|(rank, &row)| RankedDocument {
            id: set.document(row).into_owned(),
            score: said.scores[row - start],
            own_score: said.placed.as_ref().map(|placed| placed.own[row - start]),
            rank: rank + 1,
            places: places.as_mut().map(|all| std::mem::take(&mut all[row - start])),
        });
        RankedList {
            query: set.query(q as usize).to_owned(),
            items: items.collect(),
            value: said.placed.as_ref().map(|placed| placed.value),
            gap: said.placed.as_ref().map(|placed| placed.gap),
            rules: None,
        }
    };
    Ok(units.iter().zip(model.predict(on, units, want.probabilities)?).map(list).collect())
}

/// The labels of one item, best first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LabelledItem {
    /// The item.
    pub item: String,
    /// Its labels by rank.
    pub labels: Vec<RankedLabel>,
    /// The labels that the model would give, best first.
    pub chosen: Vec<String>,
}

/// One label of a ranking.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankedLabel {
    /// The label.
    pub label: String,
    /// Its score by itself, without links.
    pub score: f64,
    /// Its place, from 1.
    pub rank: usize,
    /// Its probability, of a model by likelihood.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    /// The best score with it less the best score without it, of a model by margin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
}

impl RankedLabel {
    /// What labels are ranked by.
    pub fn value(&self) -> f64 {
        self.probability.or(self.margin).unwrap_or(f64::NAN)
    }
}

/// A label of a prediction at some rank.
pub(super) fn label(model: &Annotator, said: &LabelPrediction, label: usize, rank: usize) -> RankedLabel {
    let value = |trainer: Trainer| (model.trainer == trainer).then_some(said.values[label]);
    RankedLabel {
        label: model.labels[label].clone(),
        score: said.scores[label],
        rank,
        probability: value(Trainer::Likelihood),
        margin: value(Trainer::Margin),
    }
}

pub(super) fn labels(
    model: &Annotator,
    on: &Ready<'_, Annotate>,
    units: &[u32],
    want: Want,
) -> Result<Vec<LabelledItem>> {
    let item = |(&i, said): (&u32, LabelPrediction)| {
        let order = ranked(&said.values).into_iter().take(want.most()).enumerate();
        LabelledItem {
            item: on.set().item(i as usize).into_owned(),
            labels: order.map(|(rank, l)| label(model, &said, l as usize, rank + 1)).collect(),
            chosen: said.chosen.iter().map(|&l| model.labels[l as usize].clone()).collect(),
        }
    };
    Ok(units.iter().zip(model.predict(on, units)?).map(item).collect())
}

/// The matching of one problem.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MatchedProblem {
    /// The problem.
    pub problem: String,
    /// The matches, by left item.
    pub matches: Vec<MatchedPair>,
    /// The items without a match.
    pub unmatched: Unmatched,
    /// How probabilities were found, and how near they are.
    pub marginals: Option<Marginals>,
    /// The best candidates of every left item, if a number of them was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidates: Option<Vec<Candidates>>,
}

/// One match.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MatchedPair {
    /// The left item.
    pub left: String,
    /// The right item.
    pub right: String,
    /// The score of the edge.
    pub score: f64,
    /// Its probability, of models that have them.
    pub probability: Option<f64>,
    /// By how much the best sum of scores falls without it, or, where marginals decide, how many items fewer are expected to be matched
    /// rightly; nothing if nothing else is possible.
    pub margin: Option<f64>,
    /// When a person should look at it: 1 for the most doubtful of its problem.
    pub check: usize,
    /// Whether it is less likely than that one of its two items stays unmatched.
    pub unlikely: bool,
}

/// Items without a match.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unmatched {
    /// Those of the left side.
    pub left: Vec<String>,
    /// Those of the right side.
    pub right: Vec<String>,
    /// How likely each of them stays unmatched, left and right.
    #[serde(skip)]
    pub probabilities: [Vec<Option<f64>>; 2],
}

/// How the probabilities of a problem were found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Marginals {
    /// The engine.
    pub by: &'static str,
    /// `exact`, `certified`, `estimated` or `approximate`.
    pub accuracy: &'static str,
    /// The largest error that is known.
    pub error: Option<f64>,
}

/// The best candidates of a left item.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidates {
    /// The left item.
    pub left: String,
    /// Its candidates by probability, else by score; staying unmatched is among them if it is possible.
    pub candidates: Vec<CandidateEdge>,
}

/// One candidate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CandidateEdge {
    /// The right item; nothing for staying unmatched.
    pub right: Option<String>,
    /// Its score.
    pub score: f64,
    /// Its probability.
    pub probability: Option<f64>,
    /// Whether it is the answer of the model.
    pub matched: bool,
}

/// A match that a person should look at.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Doubt {
    /// Its problem.
    pub problem: String,
    /// The match; `check` counts over all problems.
    #[serde(flatten)]
    pub pair: MatchedPair,
}

/// The most doubtful matches of all problems, the most doubtful first.
pub fn doubtful(all: &[MatchedProblem], most: usize) -> Vec<Doubt> {
    let key = |doubt: &Doubt| (doubt.pair.probability, doubt.pair.margin.unwrap_or(f64::INFINITY));
    let mut doubts: Vec<Doubt> = all
        .iter()
        .flat_map(|one| one.matches.iter().map(|pair| Doubt { problem: one.problem.clone(), pair: pair.clone() }))
        .collect();
    // within a problem matches stand by edge, and the sort is stable
    doubts.sort_by(|a, b| matcher::doubt(key(a), key(b)));
    doubts.truncate(most);
    doubts.iter_mut().enumerate().for_each(|(n, doubt)| doubt.pair.check = n + 1);
    doubts
}

pub(super) fn matches(
    model: &Matcher,
    on: &Ready<'_, Match>,
    units: &[u32],
    want: Want,
) -> Result<Vec<MatchedProblem>> {
    let said = model.predict(on, units)?;
    Ok(units.iter().zip(&said).map(|(&p, said)| matched(model, on.set().problem(p as usize), said, want)).collect())
}

fn matched(model: &Matcher, problem: &Problem, said: &MatchPrediction, want: Want) -> MatchedProblem {
    let pair = |m: &Matched| {
        let (i, j) = problem.edges[m.edge as usize];
        MatchedPair {
            left: problem.left[i as usize].clone(),
            right: problem.right[j as usize].clone(),
            score: m.score,
            probability: m.probability,
            margin: m.margin.is_finite().then_some(m.margin),
            check: m.check,
            unlikely: m.unlikely,
        }
    };
    let names = |list: &[u32], names: &[String]| list.iter().map(|&i| names[i as usize].clone()).collect();
    let free = |list: &[u32], right: bool| {
        list.iter().map(|&item| said.unmatched(problem, right, item as usize)).collect::<Vec<Option<f64>>>()
    };
    let candidates = want.top.map(|most| {
        let of = |(i, left): (usize, &String)| Candidates {
            left: left.clone(),
            candidates: candidates(model, problem, said, i, most),
        };
        problem.left.iter().enumerate().map(of).collect()
    });
    MatchedProblem {
        problem: problem.name.clone(),
        matches: said.matches.iter().map(pair).collect(),
        unmatched: Unmatched {
            left: names(&said.left, &problem.left),
            right: names(&said.right, &problem.right),
            probabilities: [free(&said.left, false), free(&said.right, true)],
        },
        marginals: said.sum.as_ref().map(|sum| {
            let all = Sums::of([said]);
            Marginals { by: sum.by.name(), accuracy: all.accuracy(), error: all.error() }
        }),
        candidates,
    }
}

/// The best candidates of a left item, and staying unmatched if it is possible; by probability, else by score.
fn candidates(
    model: &Matcher,
    problem: &Problem,
    said: &MatchPrediction,
    left: usize,
    most: usize,
) -> Vec<CandidateEdge> {
    let partner = said.matches.iter().map(|m| m.edge as usize).find(|&e| problem.edges[e].0 as usize == left);
    let edge = |e: usize| CandidateEdge {
        right: Some(problem.right[problem.edges[e].1 as usize].clone()),
        score: said.scores[e],
        probability: said.probabilities.as_ref().map(|all| all[e]),
        matched: partner == Some(e),
    };
    let mut all: Vec<CandidateEdge> = problem.candidates(left).map(edge).collect();
    all.extend(model.null.map(|null| CandidateEdge {
        right: None,
        score: null,
        probability: said.unmatched(problem, false, left),
        matched: said.left.contains(&(left as u32)),
    }));
    let worth = |c: &CandidateEdge| (c.probability.unwrap_or(0.0), c.score);
    all.sort_by(|a, b| {
        let (a, b) = (worth(a), worth(b));
        b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1))
    });
    all.truncate(most);
    all
}
