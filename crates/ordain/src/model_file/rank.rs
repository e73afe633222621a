//! Rankers in a file.

use super::score::{ExpansionHeader, Place};
use super::{Opened, Stored, Tensors};
use crate::error::Result;
use crate::method::{GivenOrder, PairCore, PairLinks, PlaceDesign, Places, Quadratic, Rank, RankNotes, Ranker};
use crate::score::Score;
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
    /// The columns of links, of a field of documents that are linked; how much each pulls is a tensor.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub linked: Vec<String>,
    /// What start scores are multiplied by, of a model that adds trees to them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<f64>,
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
    /// Links between documents by features of pairs; their weights are tensors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairs: Option<PairsHeader>,
}

/// What the header says of links between documents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairsHeader {
    /// The features of pairs, by name.
    pub features: Vec<String>,
    /// Number of core documents of a query, of a core that is found by scores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<usize>,
    /// The names of core documents, of a core by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documents: Option<Vec<String>>,
}

impl PairsHeader {
    fn of(pairs: &PairLinks) -> Self {
        let (size, documents) = match &pairs.core {
            PairCore::Best { size, .. } => (Some(*size), None),
            PairCore::Named(names) => (None, Some(names.clone())),
        };
        Self { features: pairs.names.clone(), size, documents }
    }

    fn restore(&self, from: &Opened) -> Result<PairLinks> {
        let core = match (self.size, &self.documents) {
            (Some(size), None) => PairCore::Best { size, weights: from.f64s("quadratic/core")? },
            (None, Some(names)) => PairCore::Named(names.clone()),
            _ => return Err(from.refusal.impossible()),
        };
        Ok(PairLinks { names: self.features.clone(), weights: from.f64s("quadratic/pairs")?, core })
    }
}

/// The score of documents.
const SCORE: Place = Place { weights: "weights", expansion: "expansion", trees: "trees" };

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
                pairs: quadratic.pairs.as_ref().map(PairsHeader::of),
            }),
            linked: match &model.score {
                Score::Field(field) => field.links.iter().map(|(name, _)| name.clone()).collect(),
                _ => vec![],
            },
            start: model.start,
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
            if let Some(pairs) = &quadratic.pairs {
                to.f64s("quadratic/pairs", &pairs.weights);
                if let PairCore::Best { weights, .. } = &pairs.core {
                    to.f64s("quadratic/core", weights);
                }
            }
        }
    }

    fn parameters(model: &Ranker) -> usize {
        let more = model.quadratic.as_ref().map_or(0, |quadratic| {
            let pairs = quadratic.pairs.as_ref().map_or(0, PairLinks::parameters);
            quadratic.biases.len() + quadratic.links.len() + pairs
        });
        model.inputs.columns.names.len() + more
    }

    fn restore(inputs: Inputs, parts: &RankParts, _: &Facts<RankNotes>, from: &Opened) -> Result<Ranker> {
        let d = inputs.columns.names.len();
        let score = SCORE.restore_linked(parts.expansion.as_ref(), &parts.linked, d, from)?;
        let places = if from.has("places") { from.f64s("places")? } else { vec![] };
        let quadratic = parts.quadratic.as_ref().map(|header| quadratic(header, from)).transpose()?;
        Ok(Ranker { inputs, score, places, quadratic, start: parts.start })
    }
}

/// Links between items. What they hold is checked with the rest of the model.
fn quadratic(header: &QuadraticHeader, from: &Opened) -> Result<Quadratic> {
    let values = from.f64s("quadratic/values")?;
    let worth = values.iter().all(|&c| c > 0.0) && values.is_sorted_by(|a, b| a >= b);
    let places = if values.is_empty() { Places::whole(header.design) } else { Places::new(&values, header.design) };
    let places = places.ok().filter(|_| worth);
    let (items, core) = (header.items.clone(), header.core.clone());
    let places = places.ok_or_else(|| from.refusal.impossible())?;
    Ok(Quadratic {
        places,
        order: header.order,
        items,
        biases: from.f64s("quadratic/biases")?,
        core,
        links: from.f64s("quadratic/links")?,
        pairs: header.pairs.as_ref().map(|pairs| pairs.restore(from)).transpose()?,
    })
}
