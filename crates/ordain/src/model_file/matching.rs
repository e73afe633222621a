//! Matchers in a file.

use super::{Opened, Stored, Tensors};
use crate::error::Result;
use crate::method::{Match, MatchNotes, Matcher};
use crate::structure::matching::Engine;
use crate::task::{Facts, Inputs};
use serde::{Deserialize, Serialize};

/// What the header of a matcher says beside what all models have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchParts {
    /// How probabilities are found.
    pub marginals: String,
}

impl Stored for Match {
    type Parts = MatchParts;

    fn parts(model: &Matcher) -> MatchParts {
        MatchParts { marginals: model.engine.name().into() }
    }

    fn store(model: &Matcher, to: &mut Tensors) {
        to.f64s("weights", &model.weights);
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
        Ok(Matcher {
            inputs,
            weights: from.f64s("weights")?,
            null: one("null")?,
            temperature: one("temperature")?,
            engine: engine.ok_or_else(|| from.refusal.impossible())?,
            seed: facts.seed,
        })
    }
}
