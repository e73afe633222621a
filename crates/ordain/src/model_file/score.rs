//! Scores in a file: weights, or a kernel with its core rows.

use super::{Opened, Tensors};
use crate::error::Result;
use crate::kernel::{Expansion, Kernel, Part};
use crate::matrix::Matrix;
use crate::score::Score;
use safetensors::tensor::Dtype;
use serde::{Deserialize, Serialize};

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

impl ExpansionHeader {
    /// That of a score, if it has a kernel.
    pub(super) fn of(score: &Score) -> Option<Self> {
        score.expansion().map(|expansion| Self {
            kernel: expansion.kernel,
            documents: expansion.documents.rows(),
            parts: expansion.parts.iter().map(|part| (part.query.clone(), part.documents.len())).collect(),
        })
    }
}

/// Where the numbers of a score stand: the tensor of its weights, and the folder of a sum of kernels.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) weights: &'static str,
    pub(super) expansion: &'static str,
}

impl Place {
    fn inside(&self, name: &str) -> String {
        format!("{}/{name}", self.expansion)
    }

    /// Adds the numbers of a score. A score with a kernel has no weights.
    pub(super) fn store(&self, score: &Score, to: &mut Tensors) {
        to.f64s(self.weights, score.weights());
        if let Some(expansion) = score.expansion() {
            let beta: Vec<f64> = expansion.parts.iter().flat_map(|part| &part.coefficients).copied().collect();
            to.f32s(&self.inside("documents"), expansion.documents.values());
            to.u32s(&self.inside("of_part"), expansion.parts.iter().flat_map(|part| &part.documents).copied());
            to.f64s(&self.inside("coefficients"), &beta);
        }
    }

    /// The score of rows of `d` columns, as the header says that it is. [`Model::check`](crate::task::Model::check) looks
    /// at the sizes of what belongs together and at the numbers of documents.
    pub(super) fn restore(&self, header: Option<&ExpansionHeader>, d: usize, from: &Opened) -> Result<Score> {
        let weights = from.f64s(self.weights)?;
        let Some(header) = header else { return Ok(Score::Linear(weights)) };
        from.sized(weights.len(), 0)?;
        let impossible = || from.refusal.impossible();
        let values = header.documents.checked_mul(d).ok_or_else(impossible)?;
        let documents = from.f32s(&self.inside("documents"), values)?;
        let of: Vec<u32> = from
            .bytes(&self.inside("of_part"), Dtype::U32)?
            .chunks_exact(4)
            .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect();
        let beta = from.f64s(&self.inside("coefficients"))?;
        let total = header.parts.iter().try_fold(0usize, |sum, part| sum.checked_add(part.1));
        from.sized(of.len(), total.ok_or_else(impossible)?)?;
        from.sized(beta.len(), of.len())?;
        if d == 0 {
            return Err(impossible());
        }
        let mut start = 0;
        let part = |(query, len): &(Option<String>, usize)| {
            let at = start..start + len;
            start = at.end;
            Part { query: query.clone(), documents: of[at.clone()].to_vec(), coefficients: beta[at].to_vec() }
        };
        let parts = header.parts.iter().map(part).collect();
        Ok(Score::Kernel(Expansion::new(header.kernel, Matrix::new(documents, d), parts)))
    }
}
