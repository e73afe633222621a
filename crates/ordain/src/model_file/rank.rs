//! Rankers in a file.

use super::score::{ExpansionHeader, Place};
use super::{Opened, Stored, Tensors};
use crate::error::Result;
use crate::method::{GivenOrder, PlaceDesign, Places, Quadratic, Rank, RankNotes, Ranker};
use crate::structure::ranking::MOST_SUM;
use crate::task::{Facts, Inputs};
use serde::{Deserialize, Serialize};

/// What the header of a ranker says beside what all models have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankParts {
    /// The kernel with the sizes of its parts, of a model that has one; core documents and coefficients are tensors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expansion: Option<ExpansionHeader>,
    /// Items and core, of a model with links; biases and links are tensors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quadratic: Option<QuadraticHeader>,
}

/// What the header says of links between items.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuadraticHeader {
    /// What two places have to do with each other.
    pub design: PlaceDesign,
    /// Which order it gives.
    pub order: GivenOrder,
    /// The items by name, ascending.
    pub items: Vec<String>,
    /// The core, by item.
    pub core: Vec<u32>,
}

/// The score of documents.
const SCORE: Place = Place { weights: "weights", expansion: "expansion" };

impl Stored for Rank {
    type Parts = RankParts;

    fn parts(model: &Ranker) -> RankParts {
        RankParts {
            expansion: ExpansionHeader::of(&model.score),
            quadratic: model.quadratic.as_ref().map(|quadratic| QuadraticHeader {
                design: quadratic.places.design(),
                order: quadratic.order,
                items: quadratic.items.clone(),
                core: quadratic.core.clone(),
            }),
        }
    }

    fn store(model: &Ranker, to: &mut Tensors) {
        SCORE.store(&model.score, to);
        if !model.places.is_empty() {
            to.f64s("places", &model.places);
        }
        if let Some(quadratic) = &model.quadratic {
            to.f64s("quadratic/values", quadratic.places.values());
            to.f64s("quadratic/biases", &quadratic.biases);
            to.f64s("quadratic/links", &quadratic.links);
        }
    }

    fn parameters(model: &Ranker) -> usize {
        let more = model.quadratic.as_ref().map_or(0, |quadratic| quadratic.biases.len() + quadratic.links.len());
        model.inputs.columns.names.len() + more
    }

    fn restore(inputs: Inputs, parts: &RankParts, _: &Facts<RankNotes>, from: &Opened) -> Result<Ranker> {
        let score = SCORE.restore(parts.expansion.as_ref(), inputs.columns.names.len(), from)?;
        let places = if from.has("places") { from.f64s("places")? } else { vec![] };
        let quadratic = parts.quadratic.as_ref().map(|header| quadratic(header, from)).transpose()?;
        Ok(Ranker { inputs, score, places, quadratic })
    }
}

/// Links between items. What they hold is checked with the rest of the model.
fn quadratic(header: &QuadraticHeader, from: &Opened) -> Result<Quadratic> {
    let values = from.f64s("quadratic/values")?;
    let worth = values.len() <= MOST_SUM && values.iter().all(|&c| c > 0.0) && values.is_sorted_by(|a, b| a >= b);
    let places = Places::new(&values, header.design).ok().filter(|_| worth);
    let (items, core) = (header.items.clone(), header.core.clone());
    let places = places.ok_or_else(|| from.refusal.impossible())?;
    Ok(Quadratic {
        places,
        order: header.order,
        items,
        biases: from.f64s("quadratic/biases")?,
        core,
        links: from.f64s("quadratic/links")?,
    })
}
