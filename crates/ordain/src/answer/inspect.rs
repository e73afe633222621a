//! What a data set or a model holds.

use super::Named;
use crate::data::{Columns, LabelSet, MatchSet, RankSet, Truth};
use crate::matrix::Features;
use crate::method::{Annotate, CountModel, Match, PairCore, PairLinks, Quadratic, Rank};
use crate::score::Score;
use crate::task::Fitted;
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};

/// The features with the largest weights, the largest first.
pub fn strongest(columns: &Columns, weights: &[f64], most: usize) -> Vec<(String, f64)> {
    let mut all: Vec<(String, f64)> = columns.names.iter().cloned().zip(weights.iter().copied()).collect();
    all.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    all.truncate(most);
    all
}

fn layout(features: &Features) -> &'static str {
    if matches!(features, Features::Dense(_)) { "dense" } else { "sparse" }
}

/// What a set of queries holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankSetFacts {
    /// The task.
    pub task: &'static str,
    /// What one unit is.
    pub unit: &'static str,
    /// Number of queries.
    pub units: usize,
    /// Number of documents.
    pub rows: usize,
    /// Number of features.
    pub features: usize,
    /// Whether values are stored `dense` or `sparse`.
    pub layout: &'static str,
    /// How many documents have which grade, in the order of the grades.
    pub grades: Named<usize>,
    /// Queries without two different grades.
    pub flat_queries: usize,
}

pub(super) fn rank_set(set: &RankSet) -> RankSetFacts {
    let mut grades: BTreeMap<String, usize> = BTreeMap::new();
    for grade in &set.grades {
        *grades.entry(grade.to_string()).or_default() += 1;
    }
    let mut grades: Vec<(String, usize)> = grades.into_iter().collect();
    grades.sort_by(|a, b| a.0.parse::<f64>().unwrap_or(0.0).total_cmp(&b.0.parse().unwrap_or(0.0)));
    RankSetFacts {
        task: "rank",
        unit: "query",
        units: set.len(),
        rows: set.rows(),
        features: set.features.cols(),
        layout: layout(&set.features),
        grades: Named(grades),
        flat_queries: (0..set.len()).filter(|&q| set.is_flat(q)).count(),
    }
}

/// What a set of items holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LabelSetFacts {
    /// The task.
    pub task: &'static str,
    /// What one unit is.
    pub unit: &'static str,
    /// Number of items.
    pub units: usize,
    /// Number of items, once more.
    pub rows: usize,
    /// Number of features.
    pub features: usize,
    /// Whether values are stored `dense` or `sparse`.
    pub layout: &'static str,
    /// Number of labels.
    pub labels: usize,
    /// Whether it is known which labels apply.
    pub labelled: bool,
    /// How many labels an item has.
    pub labels_per_item: LabelsPerItem,
    /// Different sets of labels.
    pub label_sets: usize,
    /// Items known to have no label.
    pub bare_items: usize,
    /// Entries of which it is unknown whether the label applies.
    pub unknown: usize,
    /// Labels that never occur.
    pub silent_labels: Vec<String>,
    /// Items of which every label is unknown.
    #[serde(skip)]
    pub blank_items: usize,
    /// The most frequent labels; the first 50 in JSON.
    pub frequent: Vec<LabelCounts>,
    /// How many labels occur.
    #[serde(skip)]
    pub occurring: usize,
}

/// How many labels an item has.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LabelsPerItem {
    /// The mean.
    pub mean: f64,
    /// The least.
    pub min: usize,
    /// The most.
    pub max: usize,
}

/// How often a label occurs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LabelCounts {
    /// The label.
    pub label: String,
    /// On how many items it is.
    pub items: usize,
}

/// Labels that are listed.
const FREQUENT: usize = 50;

pub(super) fn label_set(set: &LabelSet) -> LabelSetFacts {
    let all = set.all();
    let sizes = || (0..set.len()).map(|i| set.yes(i).len());
    let silent = if set.labelled { set.silent_labels(&all) } else { vec![] };
    let mut often: Vec<(usize, usize)> =
        set.label_counts(&all).into_iter().enumerate().filter(|&(_, n)| n > 0).collect();
    often.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    LabelSetFacts {
        task: "annotate",
        unit: "item",
        units: set.len(),
        rows: set.len(),
        features: set.features.cols(),
        layout: layout(&set.features),
        labels: set.labels.len(),
        labelled: set.labelled,
        labels_per_item: LabelsPerItem {
            mean: sizes().sum::<usize>() as f64 / set.len().max(1) as f64,
            min: sizes().min().unwrap_or(0),
            max: sizes().max().unwrap_or(0),
        },
        label_sets: (0..set.len()).map(|i| set.yes(i)).collect::<HashSet<_>>().len(),
        bare_items: set.bare_items(&all),
        unknown: (0..set.len()).map(|i| set.unknown(i).len()).sum(),
        silent_labels: silent.iter().map(|&label| set.labels[label as usize].clone()).collect(),
        blank_items: set.blank_items(&all),
        occurring: often.len(),
        frequent: often
            .into_iter()
            .take(FREQUENT)
            .map(|(label, items)| LabelCounts { label: set.labels[label].clone(), items })
            .collect(),
    }
}

/// What a set of problems holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MatchSetFacts {
    /// The task.
    pub task: &'static str,
    /// What one unit is.
    pub unit: &'static str,
    /// Number of problems.
    pub units: usize,
    /// Number of edges.
    pub rows: usize,
    /// Number of features.
    pub features: usize,
    /// Whether values are stored `dense` or `sparse`.
    pub layout: &'static str,
    /// Whether it is known of any edge that it is matched or not.
    pub labelled: bool,
    /// Whether items have places in the plane.
    pub places: bool,
    /// Left items of a problem.
    pub left: Spread,
    /// Right items of a problem.
    pub right: Spread,
    /// Edges of a problem.
    pub edges: Spread,
    /// Share of all pairs of a left and a right item that are no edge.
    pub forbidden: f64,
    /// Edges that are matched.
    pub matched: usize,
    /// Edges of which it is unknown.
    pub unknown: usize,
    /// Items without a match of which no edge is unknown.
    pub unmatched: SidesFacts,
    /// Problems of which nothing is known.
    pub blank_problems: usize,
}

/// A count for each side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SidesFacts {
    /// Of the left side.
    pub left: usize,
    /// Of the right side.
    pub right: usize,
}

/// The least, the median and the largest of some counts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The least.
    pub min: usize,
    /// The median.
    pub median: usize,
    /// The largest.
    pub max: usize,
}

impl Spread {
    fn of(counts: impl Iterator<Item = usize>) -> Self {
        let mut all: Vec<usize> = counts.collect();
        all.sort_unstable();
        let at = |i: usize| all.get(i).copied().unwrap_or(0);
        Self { min: at(0), median: at(all.len() / 2), max: at(all.len().saturating_sub(1)) }
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{} to {}, median {}", self.min, self.max, self.median)
    }
}

pub(super) fn match_set(set: &MatchSet) -> MatchSetFacts {
    let all = set.problems();
    let pairs: f64 = all.iter().map(|p| p.left.len() as f64 * p.right.len() as f64).sum();
    let count = |truth: Truth| all.iter().flat_map(|p| &p.truth).filter(|&&t| t == truth).count();
    let mut unmatched = [0; 2];
    for problem in all {
        let mut free = [vec![true; problem.left.len()], vec![true; problem.right.len()]];
        for (&(i, j), _) in problem.edges.iter().zip(&problem.truth).filter(|(_, truth)| **truth != Truth::No) {
            (free[0][i as usize], free[1][j as usize]) = (false, false);
        }
        (0..2).for_each(|side| unmatched[side] += free[side].iter().filter(|free| **free).count());
    }
    MatchSetFacts {
        task: "match",
        unit: "problem",
        units: set.len(),
        rows: set.edges(),
        features: set.features.cols(),
        layout: layout(&set.features),
        labelled: set.labelled(),
        places: all.iter().any(|p| p.places.is_some()),
        left: Spread::of(all.iter().map(|p| p.left.len())),
        right: Spread::of(all.iter().map(|p| p.right.len())),
        edges: Spread::of(all.iter().map(|p| p.edges.len())),
        forbidden: 1.0 - set.edges() as f64 / pairs.max(1.0),
        matched: count(Truth::Yes),
        unknown: count(Truth::Unknown),
        unmatched: SidesFacts { left: unmatched[0], right: unmatched[1] },
        blank_problems: all.iter().filter(|p| p.truth.iter().all(|&t| t == Truth::Unknown)).count(),
    }
}

/// What a ranker holds beside its header.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankModel {
    /// The weight of every feature; none with a kernel.
    pub weights: Named<f64>,
    /// What splits by each feature gain in all trees, as a share; nothing without trees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gains: Option<Named<f64>>,
    /// How much documents pull at each other by each column of links, of a field that was fitted with them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pulls: Option<Named<f64>>,
    /// Core, strongest links and largest biases, of a model with links.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub quadratic: Option<QuadraticFacts>,
}

/// What a ranker with links holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QuadraticFacts {
    /// The items that have links, by name.
    pub core: Vec<String>,
    /// The strongest links.
    pub links: Vec<LinkPart>,
    /// The largest biases in size.
    pub biases: Named<f64>,
    /// Number of items.
    pub items: usize,
    /// Links between documents, of a model that was fitted with them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs: Option<PairFacts>,
}

/// What a ranker with links between documents holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairFacts {
    /// The weight of each feature of pairs.
    pub weights: Named<f64>,
    /// Number of core documents of a query.
    pub core: usize,
    /// Their names, of a core by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub documents: Option<Vec<String>>,
}

impl PairFacts {
    fn of(pairs: &PairLinks) -> Self {
        let (core, documents) = match &pairs.core {
            PairCore::Best { size, .. } => (*size, None),
            PairCore::Named(names) => (names.len(), Some(names.clone())),
        };
        Self {
            weights: Named(pairs.names.iter().cloned().zip(pairs.weights.iter().copied()).collect()),
            core,
            documents,
        }
    }
}

/// Links and biases that are listed.
const STRONGEST: usize = 10;

impl QuadraticFacts {
    fn of(quadratic: &Quadratic) -> Self {
        let (names, core) = (&quadratic.items, &quadratic.core);
        let pairs =
            (0..core.len() * names.len()).map(|at| (core[at / names.len()], at % names.len(), quadratic.links[at]));
        let mut links: Vec<(u32, usize, f64)> = pairs.filter(|(_, _, g)| g.abs() > 0.0).collect();
        links.sort_by(|a, b| b.2.abs().total_cmp(&a.2.abs()));
        let mut biases: Vec<(String, f64)> = names.iter().cloned().zip(quadratic.biases.iter().copied()).collect();
        biases.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        biases.truncate(STRONGEST);
        let link =
            |(a, b, weight): (u32, usize, f64)| LinkPart { a: names[a as usize].clone(), b: names[b].clone(), weight };
        Self {
            core: core.iter().map(|&item| names[item as usize].clone()).collect(),
            links: links.into_iter().take(STRONGEST).map(link).collect(),
            biases: Named(biases),
            items: names.len(),
            pairs: quadratic.pairs.as_ref().map(PairFacts::of),
        }
    }
}

pub(super) fn ranker(fitted: &Fitted<Rank>) -> RankModel {
    RankModel {
        weights: weights(&fitted.model.inputs.columns, fitted.model.score.weights()),
        gains: gains(&fitted.model.inputs.columns, &fitted.model.score),
        pulls: match &fitted.model.score {
            Score::Field(field) if !field.links.is_empty() => Some(Named(field.links.clone())),
            _ => None,
        },
        quadratic: fitted.model.quadratic.as_ref().map(QuadraticFacts::of),
    }
}

/// What splits by each feature gain, as a share of all; `None` without trees.
fn gains(columns: &Columns, score: &Score) -> Option<Named<f64>> {
    let gains = score.gains()?;
    Some(Named(columns.names.iter().cloned().zip(gains).collect()))
}

fn weights(columns: &Columns, weights: &[f64]) -> Named<f64> {
    Named(columns.names.iter().cloned().zip(weights.iter().copied()).collect())
}

/// What an annotator holds beside its header.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LabelModel {
    /// The labels that have links, by name.
    pub core: Vec<String>,
    /// The strongest links.
    pub links: Vec<LinkPart>,
    /// How many labels a usual item has.
    pub labels_per_item: NumberOfLabels,
}

/// A link between two labels, or two items of rankings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkPart {
    /// The label or item of the core.
    pub a: String,
    /// The other one.
    pub b: String,
    /// The weight: above 0 if labels go together, of rankings if the design is to be large.
    pub weight: f64,
}

/// How many labels a usual item has: the median, and the middle nine tenths.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NumberOfLabels {
    /// The median.
    pub median: usize,
    /// The fifth of a hundred.
    pub low: usize,
    /// The ninety-fifth of a hundred.
    pub high: usize,
}

/// Links that are listed.
const LINKS: usize = 50;

pub(super) fn annotator(fitted: &Fitted<Annotate>) -> LabelModel {
    let model = &fitted.model;
    let links = model.strongest_links(LINKS).into_iter().map(|(a, b, weight)| LinkPart { a, b, weight });
    LabelModel { core: model.core_names(), links: links.collect(), labels_per_item: numbers(&model.count) }
}

fn numbers(count: &CountModel) -> NumberOfLabels {
    let p = count.distribution(count.center[0]);
    let at = |share: f64| {
        let mut sum = 0.0;
        let found = p.iter().position(|p| {
            sum += p;
            sum >= share
        });
        found.unwrap_or(p.len().saturating_sub(1))
    };
    NumberOfLabels { median: at(0.5), low: at(0.05), high: at(0.95) }
}

/// What a matcher holds beside its header.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MatchModel {
    /// The weight of every feature.
    pub weights: Named<f64>,
    /// What splits by each feature gain in all trees, as a share; nothing without trees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gains: Option<Named<f64>>,
    /// What staying unmatched scores, if it is possible.
    pub null: Option<f64>,
    /// What scores are divided by before they become probabilities; nothing if there are none.
    pub temperature: Option<f64>,
    /// How the sums over matchings of the fit were found.
    pub sums: SumsPart,
}

/// How sums over matchings were found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SumsPart {
    /// How many by which engine.
    pub engines: serde_json::Map<String, serde_json::Value>,
    /// The worst accuracy.
    pub accuracy: String,
    /// The largest error that is known.
    pub error: Option<f64>,
}

pub(super) fn matcher(fitted: &Fitted<Match>) -> MatchModel {
    let (model, notes) = (&fitted.model, &fitted.facts.notes);
    MatchModel {
        weights: weights(&model.inputs.columns, model.score.weights()),
        gains: gains(&model.inputs.columns, &model.score),
        null: model.null,
        temperature: model.temperature,
        sums: SumsPart { engines: notes.engines.clone(), accuracy: notes.accuracy.clone(), error: notes.error },
    }
}
