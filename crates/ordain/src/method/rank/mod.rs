//! Methods that rank, and the ranker that they fit.

pub mod adarank;
pub mod ballrank;
mod boosting;
pub mod ccrf;
mod core_documents;
pub mod dorm;
mod exportable;
pub mod frank;
mod grown;
mod hinge;
pub mod isorank;
mod kernel_looks;
pub(super) mod kernel_search;
pub mod listnet;
mod lists;
mod network;
pub mod qbrank;
pub mod quadrank;
mod quadratic;
mod race;
pub mod rankboost;
pub(super) mod ranker;
pub mod rankmatch;
pub mod ranknet;
pub mod ranksvm;
pub(super) mod search;
mod shards;
pub mod sortnet;
mod staged;
pub mod structrank;
pub mod svmmap;

use crate::data::{self, Holds, PreferenceFacts, RankReading, RankSet};
use crate::error::{Error, Result};
use crate::method::registry::methods;
use crate::method::trees::TreeNotes;
use crate::metric::{Kind, Metric};
use crate::task::{Methods, Task, Words};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

pub use adarank::AdaRank;
pub use ballrank::BallRank;
pub use ccrf::Ccrf;
pub use core_documents::Choose;
pub use dorm::Dorm;
pub use exportable::Exportable;
pub use frank::FRank;
pub use grown::Grown;
pub use isorank::{Gap, IsoRank};
pub use kernel_search::Kernels;
pub use listnet::ListNet;
pub use lists::Subset;
pub use qbrank::QbRank;
pub use quadrank::QuadRank;
pub use quadratic::{GivenOrder, LinkReason, PairCore, PairLinks, PlaceDesign, Placed, Places, Quadratic};
pub use rankboost::{Alpha, RankBoost};
pub use ranker::{PlaceProbabilities, RankPrediction, Ranker};
pub use rankmatch::RankMatch;
pub use ranknet::RankNet;
pub use ranksvm::{Documents, PairWeight, RankSvm};
pub use shards::{Shard, fit_shards};
pub use sortnet::SortNet;
pub use structrank::StructRank;
pub use svmmap::SvmMap;

/// The task of ranking: queries with documents to an ordering.
#[derive(Clone, Debug, PartialEq)]
pub enum Rank {}

impl Task for Rank {
    const WORDS: &'static Words = &Words {
        name: "rank",
        does: "ranks",
        unit: ["query", "queries"],
        row: ["document", "documents"],
        thing: ["document", "documents"],
        curve: ["NDCG", "NDCG@k"],
        empty: "nothing in it is relevant",
        holds: "queries with documents",
        file: Holds::Queries,
        metrics: &["ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "map"],
    };
    type Set = RankSet;
    type Reading = RankReading;
    type Method = RankMethod;
    type Model = Ranker;
    type Notes = RankNotes;
    const METHODS: Methods<RankMethod> = RankMethod::ALL;

    const CANDIDATES: &'static [&'static [&'static str]] = &[&[
        "ranksvm",
        "listnet",
        "structrank",
        "rankmatch",
        "svmmap",
        "frank",
        "ranksvm[scorer=trees,loss=lambda]",
        "rankmatch[scorer=linear+trees]",
        "ranksvm[kernel=rbf]",
    ]];

    fn read(parts: &[Vec<PathBuf>], how: &RankReading) -> Result<(RankSet, Vec<Range<usize>>)> {
        data::read_rank(parts, how)
    }

    fn write(set: &RankSet, path: &Path) -> Result<()> {
        data::write(set, path)
    }
}

methods! {
    /// A method that ranks.
    RankMethod of Rank {
        /// RankSVM, linear or with a kernel.
        "ranksvm" => RankSvm,
        /// The exponential family over orders.
        "rankmatch" => RankMatch,
        /// Max-margin on subsets.
        "dorm" => Dorm,
        /// The Ball Ranking Machine.
        "ballrank" => BallRank,
        /// ListNet: the cross-entropy of top-one probabilities.
        "listnet" => ListNet,
        /// SVM-map: the structural hinge of average precision.
        "svmmap" => SvmMap,
        /// Links between items that queries share, over top-k lists.
        "quadrank" => QuadRank,
        /// RankNet: the logistic loss of pairs, linear or with hidden units.
        "ranknet" => RankNet,
        /// StructRank: the joint probability of preferences.
        "structrank" => StructRank,
        /// C-CRF: a Gaussian field of documents that are alike.
        "ccrf" => Ccrf,
        /// SortNet: a symmetric network that compares two documents.
        "sortnet" => SortNet,
        /// RankBoost: thresholds on columns, by the exponential loss of pairs.
        "rankboost" => RankBoost,
        /// AdaRank: columns, by what their orders are worth to a metric.
        "adarank" => AdaRank,
        /// FRank: thresholds on columns, by the fidelity of pairs.
        "frank" => FRank,
        /// QBRank: trees, by a quadratic bound of the squared hinge of pairs.
        "qbrank" => QbRank,
        /// IsoRank: trees on the way to the nearest scores in the right order.
        "isorank" => IsoRank,
    }
}

/// Refuses weights, of a method whose loss has no place for them.
fn refuse_weights(set: &RankSet, method: &str) -> Result<()> {
    match set.weights.is_some() {
        false => Ok(()),
        true => Err(Error::Data {
            expected: format!(
                "data without a column of weights for {method} (ranksvm, ranknet, rankboost and qbrank take weights of documents; of whole queries rankmatch, dorm, listnet, structrank, svmmap, frank and isorank too)"
            ),
            found: "weights".into(),
        }),
    }
}

/// The weight of each of some queries, which all its documents share, of a method whose loss is one of whole queries; none where nobody gave
/// weights.
fn query_weights(set: &RankSet, units: &[u32]) -> Result<Option<HashMap<u32, f64>>> {
    let Some(weights) = &set.weights else { return Ok(None) };
    let mut found = HashMap::new();
    for &q in units {
        let own = &weights[set.span(q as usize)];
        let first = own.first().copied().unwrap_or(1.0);
        if let Some(at) = own.iter().position(|w| !w.total_cmp(&first).is_eq()) {
            let place = set.place(set.span(q as usize).start + at);
            return Err(Error::Data {
                expected: "the same weight for all documents of a query: this method weighs whole queries (ranksvm, ranknet, rankboost and qbrank weigh documents)".into(),
                found: format!("{} after {first} for {place}", own[at]),
            });
        }
        found.insert(q, first);
    }
    if found.values().all(|&weight| weight <= 0.0) {
        return Err(Error::Data { expected: "a training query with a weight above 0".into(), found: "none".into() });
    }
    Ok(Some(found))
}

/// What the loss of each of some queries is multiplied by, so that the mean over their lists is weighed by queries; none where nobody gave weights.
fn shares(set: &RankSet, units: &[u32], lists: impl Fn(usize) -> f64) -> Result<Option<Vec<f64>>> {
    let Some(weights) = query_weights(set, units)? else { return Ok(None) };
    let total: f64 = units.iter().enumerate().map(|(n, q)| weights[q] * lists(n)).sum();
    if !(total > 0.0 && (1.0 / total).is_finite()) {
        return Err(Error::Data { expected: "weights whose sum has an inverse".into(), found: total.to_string() });
    }
    Ok(Some(units.iter().map(|q| weights[q] / total).collect()))
}

/// The metric of a choice by default.
const CHOOSES_BY: Metric = Metric { kind: Kind::Ndcg, k: Some(10) };

/// What is known of the training of a ranker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankNotes {
    /// Documents fitted on.
    pub rows: usize,
    /// Queries fitted on.
    pub queries: usize,
    /// Of these, queries without two different grades, which teach nothing.
    pub flat_queries: usize,
    /// Examples fitted on.
    pub examples: f64,
    /// What one of them is: a pair, a list, a subset.
    pub example: String,
    /// The support of a model with a kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<CoreFacts>,
    /// How trees were grown, if any were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trees: Option<TreeNotes>,
    /// The preferences fitted on, if they stood in place of grades.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preferences: Option<PreferenceFacts>,
}

/// The support of a model with a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoreFacts {
    /// Core documents, one for each query that uses it.
    pub documents: usize,
    /// The core pairs of a ball.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairs: Option<usize>,
    /// `f = α'Hα` where a ball stopped, which is 1/(2P) at the optimum, P being the objective of the kernel RankSVM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub f: Option<f64>,
    /// How far f of a ball can be above its minimum, as a share of f.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<f64>,
}
