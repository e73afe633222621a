//! Matchers in a file.

use super::score::{ExpansionHeader, Place};
use super::{Opened, Stored, Tensors};
use crate::error::Result;
use crate::method::{Match, MatchDecide, MatchNotes, Matcher, Precision};
use crate::structure::matching::Engine;
use crate::task::{Facts, Inputs};
use serde::{Deserialize, Serialize};

/// What the header of a matcher says beside what all models have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchParts {
    /// How probabilities are found.
    pub marginals: String,
    /// The kernel with the size of its part, of a model that has one; core edges and coefficients are tensors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expansion: Option<ExpansionHeader>,
    /// What matchings are best for.
    #[serde(default, skip_serializing_if = "is_map")]
    pub decide: MatchDecide,
    /// The least probability of a match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<f64>,
    /// How precise matches were on validation, by their probability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
}

/// Whether a model decides as those do whose files do not say.
fn is_map(decide: &MatchDecide) -> bool {
    *decide == MatchDecide::Map
}

/// The score of edges.
const SCORE: Place = Place { weights: "weights", expansion: "expansion", trees: "trees" };

impl Stored for Match {
    type Parts = MatchParts;

    fn parts(model: &Matcher) -> MatchParts {
        MatchParts {
            marginals: model.engine.name().into(),
            expansion: ExpansionHeader::of(&model.score),
            decide: model.decide,
            least: model.least,
            precision: model.precision.clone(),
        }
    }

    fn store(model: &Matcher, to: &mut Tensors) {
        SCORE.store(&model.score, to);
        for (name, value) in [("null", model.null), ("temperature", model.temperature)] {
            to.f64s(name, value.as_slice());
        }
    }

    fn restore(inputs: Inputs, parts: &MatchParts, facts: &Facts<MatchNotes>, from: &Opened) -> Result<Matcher> {
        let one = |name: &str| match from.f64s(name)?[..] {
            [] => Ok(None),
            [value] => Ok(Some(value)),
            _ => Err(from.misshapen()),
        };
        let engine = Engine::ALL.iter().copied().find(|engine| engine.name() == parts.marginals);
        let score = SCORE.restore(parts.expansion.as_ref(), inputs.columns.names.len(), from)?;
        Ok(Matcher {
            inputs,
            score,
            null: one("null")?,
            temperature: one("temperature")?,
            engine: engine.ok_or_else(|| from.refusal.impossible())?,
            seed: facts.seed,
            decide: parts.decide,
            least: parts.least,
            precision: parts.precision.clone(),
        })
    }
}
