//! Rankers in a file.

use super::score::{ExpansionHeader, Place};
use super::{Opened, Stored, Tensors};
use crate::error::Result;
use crate::method::{Rank, RankNotes, Ranker};
use crate::task::{Facts, Inputs};
use serde::{Deserialize, Serialize};

/// What the header of a ranker says beside what all models have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankParts {
    /// The kernel with the sizes of its parts, of a model that has one; core documents and coefficients are tensors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expansion: Option<ExpansionHeader>,
}

/// The score of documents.
const SCORE: Place = Place { weights: "weights", expansion: "expansion" };

impl Stored for Rank {
    type Parts = RankParts;

    fn parts(model: &Ranker) -> RankParts {
        RankParts { expansion: ExpansionHeader::of(&model.score) }
    }

    fn store(model: &Ranker, to: &mut Tensors) {
        SCORE.store(&model.score, to);
        if !model.places.is_empty() {
            to.f64s("places", &model.places);
        }
    }

    fn restore(inputs: Inputs, parts: &RankParts, _: &Facts<RankNotes>, from: &Opened) -> Result<Ranker> {
        let score = SCORE.restore(parts.expansion.as_ref(), inputs.columns.names.len(), from)?;
        let places = if from.has("places") { from.f64s("places")? } else { vec![] };
        Ok(Ranker { inputs, score, places })
    }
}
