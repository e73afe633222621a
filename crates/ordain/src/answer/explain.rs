//! Explanations.

use super::Ask;
use super::predict::{RankedLabel, label};
use crate::data::Problem;
use crate::error::{Error, Result};
use crate::method::annotator::ranked;
use crate::method::{Annotate, Annotator, LabelReason, Match, Matcher, Rank, Ranker};
use crate::score::Contribution;
use crate::task::Ready;
use serde::Serialize;

/// Why one document stands above another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankExplanation {
    /// The query.
    pub query: String,
    /// The document above.
    pub above: DocumentPart,
    /// The document below.
    pub below: DocumentPart,
    /// The difference of their scores: the sum of the contributions.
    pub difference: f64,
    /// What each feature adds, the largest first; of a model with links the bias of the item too.
    pub contributions: Vec<ContributionPart>,
    /// What the links of each core item add to both where they stand, of a model with links. They are not in the difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub links: Option<Vec<ReasonPart>>,
}

/// A document and where it stands.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DocumentPart {
    /// The document.
    pub id: String,
    /// Its place, from 1.
    pub rank: usize,
    /// Its score; of a model with links the one that it has by itself.
    pub score: f64,
}

/// What one feature adds to a difference of scores.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ContributionPart {
    /// The feature.
    pub feature: String,
    /// Its value above.
    pub above: f32,
    /// Its value below.
    pub below: f32,
    /// The difference of the two after transform and scaling.
    pub difference: f64,
    /// The weight.
    pub weight: f64,
    /// Weight times difference.
    pub contribution: f64,
}

fn contributions(parts: &[Contribution], names: &[String]) -> Vec<ContributionPart> {
    let one = |c: &Contribution| ContributionPart {
        feature: names[c.column].clone(),
        above: c.above,
        below: c.below,
        difference: c.difference,
        weight: c.weight,
        contribution: c.contribution,
    };
    parts.iter().map(one).collect()
}

/// Adds what is no column of the data, and keeps the largest first.
fn also(parts: &mut Vec<ContributionPart>, what: &str, [above, below]: [f64; 2], weight: f64) {
    let difference = above - below;
    parts.push(ContributionPart {
        feature: what.into(),
        above: above as f32,
        below: below as f32,
        difference,
        weight,
        contribution: weight * difference,
    });
    parts.sort_by(|a, b| b.contribution.abs().total_cmp(&a.contribution.abs()));
}

/// Says that nothing was named to explain.
fn unnamed(what: &str) -> Error {
    Error::Data { expected: format!("the {what} to explain, by its id"), found: "none".into() }
}

/// Says that both are the same.
fn same(what: &str) -> Error {
    Error::Data { expected: format!("two different {what}s to compare"), found: "the same one twice".into() }
}

/// Says that there are too few to compare.
fn few(unit: &str, name: &str, count: usize, what: &str) -> Error {
    Error::Data { expected: format!("two {what}s of {unit} {name:?} to compare"), found: count.to_string() }
}

pub(super) fn rank(model: &Ranker, on: &Ready<'_, Rank>, ask: &Ask<'_>) -> Result<RankExplanation> {
    let (set, query) = (on.set(), ask.unit.ok_or_else(|| unnamed("query"))?);
    let q = set.find_query(query)?;
    let said = model.predict(on, &[q as u32], false)?.remove(0);
    let pick = |wanted: Option<&str>, place: usize| match wanted {
        Some(id) => set.find_document(q, id),
        None => said.order.get(place).copied().ok_or_else(|| few("query", query, said.order.len(), "document")),
    };
    let (above, below) = (pick(ask.above, 0)?, pick(ask.below, 1)?);
    if above == below {
        return Err(same("document"));
    }
    let scores = said.placed.as_ref().map_or(&said.scores, |placed| &placed.own);
    let score = |row: usize| scores[row - set.span(q).start];
    let part = |row: usize| DocumentPart {
        id: set.document(row).into_owned(),
        rank: said.order.iter().position(|&r| r == row).map_or(0, |place| place + 1),
        score: score(row),
    };
    let mut contributions = contributions(&model.explain(on, q, above, below)?, &model.inputs.columns.names);
    if let (Some(factor), Some(start)) = (model.start, set.start()) {
        also(&mut contributions, "start score", [start[above], start[below]], factor);
    }
    let reasons = model.link_reasons(on, q, &said.order, [above, below])?;
    let links = model.quadratic.as_ref().zip(reasons).map(|(quadratic, reasons)| {
        also(&mut contributions, "bias of the item", [above, below].map(|row| quadratic.bias(set, row)), 1.0);
        let reason = |(core, [above, below]): (String, [f64; 2])| ReasonPart {
            what: format!("link to {core}"),
            above,
            below,
            contribution: above - below,
        };
        reasons.into_iter().map(reason).collect()
    });
    Ok(RankExplanation {
        query: query.to_owned(),
        above: part(above),
        below: part(below),
        difference: score(above) - score(below),
        contributions,
        links,
    })
}

/// Why one label stands above another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LabelExplanation {
    /// The item.
    pub item: String,
    /// The label above.
    pub above: LabelPart,
    /// The label below.
    pub below: LabelPart,
    /// The difference of their scores: the sum of the contributions.
    pub difference: f64,
    /// What features, classifiers and the number of labels add, the largest first.
    pub contributions: Vec<ReasonPart>,
    /// The sum of the links.
    pub link_difference: f64,
    /// What links to other labels add.
    pub links: Vec<ReasonPart>,
}

/// A label and where it stands.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LabelPart {
    /// The label.
    pub label: String,
    /// Its place, from 1.
    pub rank: usize,
    /// Its score by itself, without links.
    pub score: f64,
    /// Its probability, of a model by likelihood.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    /// Its margin, of a model by margin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
}

impl LabelPart {
    /// What labels are ranked by.
    pub fn value(&self) -> f64 {
        self.probability.or(self.margin).unwrap_or(f64::NAN)
    }
}

impl From<RankedLabel> for LabelPart {
    fn from(label: RankedLabel) -> Self {
        let RankedLabel { label, score, rank, probability, margin } = label;
        Self { label, rank, score, probability, margin }
    }
}

/// What one reason adds to two labels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReasonPart {
    /// A feature or a classifier, the number of labels, or a linked label.
    pub what: String,
    /// What it adds above.
    pub above: f64,
    /// What it adds below.
    pub below: f64,
    /// The difference of the two.
    pub contribution: f64,
}

pub(super) fn labels(model: &Annotator, on: &Ready<'_, Annotate>, ask: &Ask<'_>) -> Result<LabelExplanation> {
    let (set, name) = (on.set(), ask.unit.ok_or_else(|| unnamed("item"))?);
    let i = set.find_item(name)?;
    let said = model.predict(on, &[i as u32])?.remove(0);
    let order = ranked(&said.values);
    let pick = |wanted: Option<&str>, other: Option<usize>| match wanted {
        Some(name) => set.find_label(name),
        // the first of the ranking that is not the other one
        None => order
            .iter()
            .map(|&label| label as usize)
            .find(|&label| Some(label) != other)
            .ok_or_else(|| few("item", name, order.len(), "label")),
    };
    let given = ask.below.map(|name| set.find_label(name)).transpose()?;
    let above = pick(ask.above, given)?;
    let below = pick(ask.below, Some(above))?;
    if above == below {
        return Err(same("label"));
    }
    let place = |l: usize| order.iter().position(|&label| label as usize == l).map_or(0, |p| p + 1);
    let part = |l: usize| LabelPart::from(label(model, &said, l, place(l)));
    let reason =
        |r: LabelReason| ReasonPart { contribution: r.above - r.below, what: r.what, above: r.above, below: r.below };
    let reasons = model.explain(on, i, above, below)?.into_iter().map(reason);
    let (links, contributions): (Vec<ReasonPart>, Vec<ReasonPart>) =
        reasons.partition(|r| r.what.starts_with("link to "));
    Ok(LabelExplanation {
        item: set.item(i).into_owned(),
        above: part(above),
        below: part(below),
        difference: said.scores[above] - said.scores[below],
        contributions,
        link_difference: links.iter().map(|link| link.contribution).sum(),
        links,
    })
}

/// Why a left item is matched with one right item and not with another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EdgeExplanation {
    /// The problem.
    pub problem: String,
    /// The left item.
    pub left: String,
    /// Its match, if it has one.
    #[serde(rename = "match")]
    pub partner: Option<String>,
    /// What staying unmatched scores, if it is possible.
    pub unmatched: Option<UnmatchedPart>,
    /// The candidate above.
    pub above: EdgePart,
    /// The candidate below, if there are two.
    pub below: Option<EdgePart>,
    /// The difference of their scores: the sum of the contributions.
    pub difference: Option<f64>,
    /// What each feature adds, the largest first.
    pub contributions: Vec<ContributionPart>,
    /// Who has the best candidate, if it is not the match.
    pub taken: Option<TakenPart>,
    /// The match.
    #[serde(skip)]
    pub matched: Option<EdgePart>,
    /// The best candidate by score, if it is not the match.
    #[serde(skip)]
    pub better: Option<EdgePart>,
    /// How the probabilities of the problem were found.
    #[serde(skip)]
    pub sums: crate::method::Sums,
}

/// What staying unmatched scores.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnmatchedPart {
    /// The score.
    pub score: f64,
    /// The probability.
    pub probability: Option<f64>,
}

/// A candidate of a left item.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EdgePart {
    /// The right item.
    pub right: String,
    /// The score.
    pub score: f64,
    /// The probability.
    pub probability: Option<f64>,
    /// Whether it is the match.
    pub matched: bool,
}

/// A better candidate that another left item has.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TakenPart {
    /// The right item.
    pub right: String,
    /// The left item that it is matched with.
    pub by: String,
    /// The score that it would have here.
    pub score: f64,
    /// The score that it has there.
    pub score_there: f64,
}

pub(super) fn matches(model: &Matcher, on: &Ready<'_, Match>, ask: &Ask<'_>) -> Result<EdgeExplanation> {
    let set = on.set();
    let p = match (ask.unit, set.len()) {
        (None, 1) => 0,
        (name, _) => set.find_problem(name.ok_or_else(|| unnamed("problem"))?)?,
    };
    let problem = set.problem(p);
    let said = model.predict(on, &[p as u32])?.remove(0);
    let ends = |e: usize| (problem.edges[e].0 as usize, problem.edges[e].1 as usize);
    let left = match ask.left {
        Some(name) => problem.find_left(name)?,
        None => {
            said.matches.iter().min_by_key(|m| m.check).map(|m| ends(m.edge as usize).0).ok_or_else(|| Error::Data {
                expected: format!("a left item of problem {:?} to explain", problem.name),
                found: "none, and the problem has no match".into(),
            })?
        }
    };
    let (scores, name) = (&said.scores, &problem.left[left]);
    let mut order: Vec<usize> = problem.candidates(left).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    let partner = said.matches.iter().map(|m| m.edge as usize).find(|&e| ends(e).0 == left);
    let pick = |wanted: Option<&str>| wanted.map(|right| edge(problem, left, right)).transpose();
    let given = pick(ask.below)?;
    let first = partner.filter(|&e| given != Some(e)).or(order.iter().copied().find(|&e| given != Some(e)));
    let none = || Error::Data { expected: format!("a candidate of left item {name:?}"), found: "none".into() };
    let above = pick(ask.above)?.or(first).ok_or_else(none)?;
    // an item with a single candidate has nothing to put beside it
    let below = given.or(order.iter().copied().find(|&e| e != above));
    if below == Some(above) {
        return Err(same("right item"));
    }
    let chance = |e: usize| said.probabilities.as_ref().map(|all| all[e]);
    let right = |e: usize| problem.right[ends(e).1].clone();
    let part =
        |e: usize| EdgePart { right: right(e), score: scores[e], probability: chance(e), matched: partner == Some(e) };
    let parts = below.map_or(Ok(vec![]), |below| model.explain(on, p, above, below))?;
    let better = order.first().copied().filter(|&best| Some(best) != partner);
    let taken = better.and_then(|best| {
        let there = said.matches.iter().map(|m| m.edge as usize).find(|&e| ends(e).1 == ends(best).1)?;
        let by = problem.left[ends(there).0].clone();
        Some(TakenPart { right: right(best), by, score: scores[best], score_there: scores[there] })
    });
    let free = model.null.and(said.unmatched(problem, false, left));
    Ok(EdgeExplanation {
        problem: problem.name.clone(),
        left: name.clone(),
        partner: partner.map(right),
        unmatched: model.null.map(|score| UnmatchedPart { score, probability: free }),
        above: part(above),
        below: below.map(part),
        difference: below.map(|below| scores[above] - scores[below]),
        contributions: contributions(&parts, &model.inputs.columns.names),
        taken,
        matched: partner.map(part),
        better: better.map(part),
        sums: crate::method::Sums::of([&said]),
    })
}

/// The edge of a left item to a right one, by its name.
fn edge(problem: &Problem, left: usize, right: &str) -> Result<usize> {
    let j = problem.find_right(right)?;
    problem.find_edge(left, j).ok_or_else(|| Error::Data {
        expected: format!("problem {:?}: a candidate of {:?}", problem.name, problem.left[left]),
        found: format!("{right:?}: the data have no edge between them"),
    })
}
