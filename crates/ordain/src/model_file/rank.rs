//! Rankers in a file.

use super::{Opened, Stored, Tensors};
use crate::error::Result;
use crate::kernel::{Expansion, Kernel, Part};
use crate::matrix::Matrix;
use crate::method::{Rank, RankNotes, Ranker};
use crate::task::{Facts, Inputs};
use safetensors::tensor::Dtype;
use serde::{Deserialize, Serialize};

/// What the header of a ranker says beside what all models have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankParts {
    /// The kernel with the sizes of its parts, of a model that has one; core documents and coefficients are tensors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expansion: Option<ExpansionHeader>,
}

/// What the header says of a sum of kernels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExpansionHeader {
    /// The kernel.
    pub kernel: Kernel,
    /// How many core documents there are.
    pub documents: usize,
    /// For each part the queries that it is for (all if there is no name), and its number of core documents.
    pub parts: Vec<(Option<String>, usize)>,
}

impl Stored for Rank {
    type Parts = RankParts;

    fn parts(model: &Ranker) -> RankParts {
        RankParts {
            expansion: model.expansion.as_ref().map(|expansion| ExpansionHeader {
                kernel: expansion.kernel,
                documents: expansion.documents.rows(),
                parts: expansion.parts.iter().map(|part| (part.query.clone(), part.documents.len())).collect(),
            }),
        }
    }

    fn store(model: &Ranker, to: &mut Tensors) {
        to.f64s("weights", &model.weights);
        if !model.places.is_empty() {
            to.f64s("places", &model.places);
        }
        if let Some(expansion) = &model.expansion {
            let beta: Vec<f64> = expansion.parts.iter().flat_map(|part| &part.coefficients).copied().collect();
            to.f32s("expansion/documents", expansion.documents.values());
            to.u32s("expansion/of_part", expansion.parts.iter().flat_map(|part| &part.documents).copied());
            to.f64s("expansion/coefficients", &beta);
        }
    }

    fn restore(inputs: Inputs, parts: &RankParts, _: &Facts<RankNotes>, from: &Opened) -> Result<Ranker> {
        let d = inputs.columns.names.len();
        let expansion = parts.expansion.as_ref().map(|header| expansion(header, d, from)).transpose()?;
        let places = if from.has("places") { from.f64s("places")? } else { vec![] };
        let weights = from.f64s("weights")?;
        from.sized(weights.len(), if expansion.is_some() { 0 } else { d })?;
        Ok(Ranker { inputs, weights, expansion, places })
    }
}

/// Core documents and coefficients, as the header says that they are.
fn expansion(header: &ExpansionHeader, d: usize, from: &Opened) -> Result<Expansion> {
    let impossible = || from.refusal.impossible();
    let values = header.documents.checked_mul(d).ok_or_else(impossible)?;
    let documents = Matrix::new(from.f32s("expansion/documents", values)?, d);
    let of: Vec<u32> = from
        .bytes("expansion/of_part", Dtype::U32)?
        .chunks_exact(4)
        .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect();
    let beta = from.f64s("expansion/coefficients")?;
    let total = header.parts.iter().try_fold(0usize, |sum, part| sum.checked_add(part.1));
    from.sized(of.len(), total.ok_or_else(impossible)?)?;
    from.sized(beta.len(), of.len())?;
    let named = header.parts.iter().filter(|part| part.0.is_some()).count();
    let width = header.kernel.gamma.is_finite() && header.kernel.gamma > 0.0;
    if of.iter().any(|&j| j as usize >= header.documents)
        || header.parts.is_empty()
        || (named < header.parts.len() && header.parts.len() > 1)
        || !width
        || d == 0
    {
        return Err(impossible());
    }
    let mut from = 0;
    let part = |(query, len): &(Option<String>, usize)| {
        let at = from..from + len;
        from = at.end;
        Part { query: query.clone(), documents: of[at.clone()].to_vec(), coefficients: beta[at].to_vec() }
    };
    let parts = header.parts.iter().map(part).collect();
    Ok(Expansion { kernel: header.kernel, documents, parts })
}
