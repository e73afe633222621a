//! What a model answers, as plain data: predictions, explanations, evaluations, comparisons and inspections.
//!
//! Every struct here serialises to the document that `ordain --json` prints. The command line, the report and the
//! Python package only render them; nothing is decided there.
//!
//! ```
//! use ordain::answer::{Answers, Want};
//! use ordain::{data::synthetic::Synthetic, method::{Rank, RankSvm}, solver::run::Watch};
//! use ordain::task::{Method, Model, Training};
//!
//! let set = Synthetic::default().make();
//! let fitted = RankSvm::default().fit(&Training::new(&set, &set.all()), &Watch::NOBODY)?;
//! let ready = fitted.model.prepare(&set)?;
//! let lists = Rank::predict(&fitted.model, &ready, &[0], Want { top: Some(3), ..Want::default() })?;
//! assert_eq!((lists[0].query.as_str(), lists[0].items.len()), (set.query(0), 3));
//! assert!(lists[0].items[0].score >= lists[0].items[1].score);
//! # Ok::<(), ordain::Error>(())
//! ```

mod asked;
mod asked_documents;
mod asked_pair;
mod compare;
mod evaluate;
mod explain;
mod fit;
mod importance;
mod inspect;
mod methods;
mod overlap;
mod predict;
mod rules;

pub use asked::{AskHow, AskedItem, AskedLabel, Control, LabelState, LinkSays, asked_item, quartiles};
pub use asked_documents::{
    AskedDocument, AskedQuery, BEST_GRADE, GradedDocument, NdcgBounds, asked_query, ndcg_bounds,
};
pub use asked_pair::{AskedPair, AskedProblem, PairFeature, PairName, PairState, asked_problem};
pub use compare::{
    AskedCells, Compared, ComparedMethod, Difference, FoldCell, Seconds, best_and_level, best_of, differences,
    differences_in,
};
pub use evaluate::{BOOTSTRAP, Bin, Cell, Importances, Measured, Reliability, cells, curve_metrics, measured};
pub use explain::{
    ContributionPart, DocumentPart, EdgeExplanation, EdgePart, LabelExplanation, LabelPart, RankExplanation,
    ReasonPart, TakenPart, UnmatchedPart,
};
pub use fit::{FitAnswer, FloorPart, LabelFit, MatchFit, RankFit};
pub use importance::{Importance, importances};
pub use inspect::{
    LabelCounts, LabelModel, LabelSetFacts, LabelsPerItem, LinkPart, MatchModel, MatchSetFacts, NumberOfLabels,
    PairFacts, QuadraticFacts, RankModel, RankSetFacts, SidesFacts, Spread, SumsPart, strongest,
};
pub use methods::{Figure, MethodFacts, methods};
pub use overlap::{Overlap, Shared, SharedTexts, overlap};
pub use predict::{
    CandidateEdge, Candidates, Doubt, LabelledItem, Marginals, MatchedPair, MatchedProblem, RankedDocument,
    RankedLabel, RankedList, Unmatched, doubtful,
};
pub use rules::{RulesPart, ruled_lists, under_rules, unused_rules};

use crate::error::Result;
use crate::method::{Annotate, Match, Rank};
use crate::model_file::Stored;
use crate::task::{Fitted, Ready};
use serde::Serialize;
use serde::ser::SerializeMap;
use std::fmt::Debug;

/// A task whose models answer.
pub trait Answers: Stored {
    /// What a model says of one unit.
    type Prediction: Clone + Debug + PartialEq + Serialize + Send;
    /// Why it says so.
    type Explanation: Clone + Debug + PartialEq + Serialize;
    /// What is said of a fit beside what all tasks have.
    type FitFacts: Clone + Debug + PartialEq + Serialize;
    /// What a set holds.
    type SetFacts: Clone + Debug + PartialEq + Serialize;
    /// What a model holds, beside its header.
    type ModelFacts: Clone + Debug + PartialEq + Serialize;
    /// What a model says of some units.
    fn predict(model: &Self::Model, on: &Ready<'_, Self>, units: &[u32], want: Want) -> Result<Vec<Self::Prediction>>;
    /// Why one thing stands above another.
    fn explain(model: &Self::Model, on: &Ready<'_, Self>, ask: &Ask<'_>) -> Result<Self::Explanation>;
    /// What is said of a fit beside what all tasks have.
    fn fit_facts(fitted: &Fitted<Self>) -> Self::FitFacts;
    /// How many examples a fit saw.
    fn examples(fitted: &Fitted<Self>) -> serde_json::Value;
    /// Counts of a set.
    fn set_facts(set: &Self::Set) -> Self::SetFacts;
    /// The strongest parameters of a model.
    fn model_facts(fitted: &Fitted<Self>) -> Self::ModelFacts;
}

/// What is wanted of a prediction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Want {
    /// Only the best so many documents, labels or candidates.
    pub top: Option<usize>,
    /// Probabilities of places, of rankings; labels and matches have theirs anyway.
    pub probabilities: bool,
}

impl Want {
    fn most(self) -> usize {
        self.top.unwrap_or(usize::MAX)
    }
}

/// What is to be explained; names as they stand in the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ask<'a> {
    /// The query, the item or the problem. A set of one problem needs none.
    pub unit: Option<&'a str>,
    /// The left item, of a matching; by default that of the most doubtful match.
    pub left: Option<&'a str>,
    /// The document, label or right item above; by default the first.
    pub above: Option<&'a str>,
    /// The one below; by default the next.
    pub below: Option<&'a str>,
}

/// Values by name, in order: an object in JSON.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Named<V>(pub Vec<(String, V)>);

impl<V> Named<V> {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<V: Serialize> Serialize for Named<V> {
    fn serialize<S: serde::Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// The answers of a task, by the functions of its module in each file.
macro_rules! answers {
    ($task:ident: $prediction:ident, $explanation:ident, $fit:ident, $set:ident, $model:ident;
     $predict:ident, $model_facts:ident, $set_facts:ident, |$notes:ident| $examples:expr) => {
        impl Answers for $task {
            type Prediction = $prediction;
            type Explanation = $explanation;
            type FitFacts = $fit;
            type SetFacts = $set;
            type ModelFacts = $model;
            fn predict(
                model: &Self::Model,
                on: &Ready<'_, Self>,
                units: &[u32],
                want: Want,
            ) -> Result<Vec<$prediction>> {
                predict::$predict(model, on, units, want)
            }
            fn explain(model: &Self::Model, on: &Ready<'_, Self>, ask: &Ask<'_>) -> Result<$explanation> {
                explain::$predict(model, on, ask)
            }
            fn fit_facts(fitted: &Fitted<Self>) -> $fit {
                fit::$model_facts(fitted)
            }
            fn examples(fitted: &Fitted<Self>) -> serde_json::Value {
                let $notes = &fitted.facts.notes;
                $examples.into()
            }
            fn set_facts(set: &Self::Set) -> $set {
                inspect::$set_facts(set)
            }
            fn model_facts(fitted: &Fitted<Self>) -> $model {
                inspect::$model_facts(fitted)
            }
        }
    };
}

answers!(Rank: RankedList, RankExplanation, RankFit, RankSetFacts, RankModel;
         rank, ranker, rank_set, |notes| notes.examples);
answers!(Annotate: LabelledItem, LabelExplanation, LabelFit, LabelSetFacts, LabelModel;
         labels, annotator, label_set, |notes| notes.examples);
answers!(Match: MatchedProblem, EdgeExplanation, MatchFit, MatchSetFacts, MatchModel;
         matches, matcher, match_set, |notes| notes.problems);
