//! Scores in a file: weights, a kernel with its core rows, trees, a network, a comparison or a field.

use super::{Opened, Tensors};
use crate::error::Result;
use crate::kernel::{Expansion, Kernel, Part};
use crate::matrix::Matrix;
use crate::score::{Score, TreeScore};
use crate::scorer::comparison::Comparison;
use crate::scorer::field::{Field, Similarity};
use crate::scorer::network::Network;
use crate::tree::{Forest, Parts};
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
    /// The folder of trees.
    pub(super) trees: &'static str,
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
        self.store_trees(score.forests(), to);
        match score {
            Score::Network(network) => to.f64s(&self.beside("network"), &network.numbers),
            Score::Comparison(comparison) => to.f64s(&self.beside("comparison"), &comparison.numbers),
            Score::Field(field) => {
                to.f64s(&self.beside("field"), &[&field.alpha[..], &[field.beta]].concat());
                to.u32s(&self.beside("alike"), std::iter::once(u32::from(field.similarity == Similarity::Rbf)));
                if !field.links.is_empty() {
                    to.f64s(&self.beside("links"), &field.links.iter().map(|(_, pull)| *pull).collect::<Vec<f64>>());
                }
            }
            Score::Linear(_) | Score::Kernel(_) | Score::Trees(_) => {}
        }
    }

    /// A name beside that of the trees.
    fn beside(&self, name: &str) -> String {
        format!("{}/{name}", self.trees)
    }

    /// A network, a comparison or a field, if the file has one; [`Score::fits`] looks at all its numbers.
    fn restore_network(&self, linked: &[String], d: usize, from: &Opened) -> Result<Option<Score>> {
        let impossible = || from.refusal.impossible();
        if from.has(&self.beside("network")) {
            let numbers = from.f64s(&self.beside("network"))?;
            let hidden = numbers.len() / d.checked_add(2).ok_or_else(impossible)?;
            return Ok(Some(Score::Network(Network { columns: d, hidden, numbers })));
        }
        if from.has(&self.beside("comparison")) {
            let numbers = from.f64s(&self.beside("comparison"))?;
            let of_unit = d.checked_mul(2).and_then(|d| d.checked_add(3)).ok_or_else(impossible)?;
            let hidden = numbers.len().saturating_sub(1) / of_unit;
            return Ok(Some(Score::Comparison(Comparison { columns: d, hidden, numbers })));
        }
        if from.has(&self.beside("field")) {
            let mut alpha = from.f64s(&self.beside("field"))?;
            let beta = alpha.pop().ok_or_else(impossible)?;
            let similarity = match from.u32s(&self.beside("alike"))?[..] {
                [0] => Similarity::None,
                [1] => Similarity::Rbf,
                _ => return Err(impossible()),
            };
            return Ok(Some(Score::Field(Field { alpha, beta, similarity, links: self.restore_links(linked, from)? })));
        }
        Ok(None)
    }

    /// Columns of links by the names that the header has, with their numbers.
    fn restore_links(&self, linked: &[String], from: &Opened) -> Result<Vec<(String, f64)>> {
        let name = self.beside("links");
        let pulls = if from.has(&name) { from.f64s(&name)? } else { vec![] };
        from.sized(pulls.len(), linked.len())?;
        Ok(linked.iter().cloned().zip(pulls).collect())
    }

    /// Adds the vectors of all forests, one behind the other, and the lengths of each.
    fn store_trees(&self, forests: &[Forest], to: &mut Tensors) {
        if forests.is_empty() {
            return;
        }
        let all: Vec<Parts> = forests.iter().map(Forest::parts).collect();
        let name = |name: &str| format!("{}/{name}", self.trees);
        let sizes = |p: &Parts| [p.first.len() - 1, p.kind.len(), p.set_end.len(), p.set.len()].map(|n| n as u32);
        let each = |of: fn(&Parts) -> &[u32]| all.iter().flat_map(of).copied();
        to.u32s(&name("sizes"), all.iter().flat_map(sizes));
        to.u32s(&name("first"), each(|p| &p.first[1..]));
        to.u8s(&name("kind"), all.iter().flat_map(|p| &p.kind).copied());
        to.u32s(&name("column"), each(|p| &p.column));
        to.f32s(&name("cut"), &all.iter().flat_map(|p| &p.cut).copied().collect::<Vec<_>>());
        to.u32s(&name("child"), all.iter().flat_map(|p| p.child.as_flattened()).copied());
        to.f64s(&name("value"), &all.iter().flat_map(|p| &p.value).copied().collect::<Vec<_>>());
        to.u32s(&name("set_end"), each(|p| &p.set_end));
        to.f32s(&name("set"), &all.iter().flat_map(|p| &p.set).copied().collect::<Vec<_>>());
    }

    /// The forests, each checked in full by [`Forest::new`].
    fn restore_trees(&self, d: usize, from: &Opened) -> Result<Vec<Forest>> {
        let name = |name: &str| format!("{}/{name}", self.trees);
        let impossible = || from.refusal.impossible();
        let sizes = from.u32s(&name("sizes"))?;
        if sizes.is_empty() || sizes.len() % 4 != 0 {
            return Err(impossible());
        }
        let mut total = [0usize; 4];
        for size in sizes.chunks_exact(4) {
            for (total, &size) in total.iter_mut().zip(size) {
                *total = total.checked_add(size as usize).ok_or_else(impossible)?;
            }
        }
        let [trees, nodes, lists, values] = total;
        let (first, column) = (from.u32s(&name("first"))?, from.u32s(&name("column"))?);
        let (child, set_end) = (from.u32s(&name("child"))?, from.u32s(&name("set_end"))?);
        let (kind, value) = (from.bytes(&name("kind"), Dtype::U8)?, from.f64s(&name("value"))?);
        let (cut, set) = (from.f32s(&name("cut"), nodes)?, from.f32s(&name("set"), values)?);
        from.sized(first.len(), trees)?;
        from.sized(set_end.len(), lists)?;
        from.sized(child.len() / 2, nodes)?;
        for len in [column.len(), kind.len(), value.len()] {
            from.sized(len, nodes)?;
        }
        let mut at = [0usize; 4];
        let forest = |size: &[u32]| {
            let [t, n, l, v] = [0, 1, 2, 3].map(|i| at[i]..at[i] + size[i] as usize);
            at = [t.end, n.end, l.end, v.end];
            let parts = Parts {
                first: std::iter::once(0).chain(first[t].iter().copied()).collect(),
                kind: kind[n.clone()].to_vec(),
                column: column[n.clone()].to_vec(),
                cut: cut[n.clone()].to_vec(),
                child: child[2 * n.start..2 * n.end].chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect(),
                value: value[n].to_vec(),
                set_end: set_end[l].to_vec(),
                set: set[v].to_vec(),
            };
            Forest::new(parts, d).map_err(|_| impossible())
        };
        sizes.chunks_exact(4).map(forest).collect()
    }

    /// The score of rows of `d` columns, as the header says that it is. [`Model::check`](crate::task::Model::check) looks
    /// at the sizes of what belongs together and at the numbers of documents.
    pub(super) fn restore(&self, header: Option<&ExpansionHeader>, d: usize, from: &Opened) -> Result<Score> {
        self.restore_linked(header, &[], d, from)
    }

    /// The same of a score that may have links, whose columns the header names.
    pub(super) fn restore_linked(
        &self,
        header: Option<&ExpansionHeader>,
        linked: &[String],
        d: usize,
        from: &Opened,
    ) -> Result<Score> {
        let weights = from.f64s(self.weights)?;
        if let Some(score) = self.restore_network(linked, d, from)? {
            from.sized(weights.len(), 0)?;
            return Ok(score);
        }
        let Some(header) = header else {
            return Ok(match from.has(&format!("{}/sizes", self.trees)) {
                true => Score::Trees(TreeScore { weights, forests: self.restore_trees(d, from)? }),
                false => Score::Linear(weights),
            });
        };
        from.sized(weights.len(), 0)?;
        let impossible = || from.refusal.impossible();
        let values = header.documents.checked_mul(d).ok_or_else(impossible)?;
        let documents = from.f32s(&self.inside("documents"), values)?;
        let of = from.u32s(&self.inside("of_part"))?;
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
