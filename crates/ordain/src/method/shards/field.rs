//! All shards of a set, as they are seen where the fit runs.

use super::order::{self, TOGETHER};
use super::wire::{OfRows, Question, Said, Which, bits, nodes, pack, pack_transforms, torn, unpack};
use super::{Cluster, Whereabouts};
use crate::data::ranges::Ranges;
use crate::data::scale::{Affine, Parts};
use crate::data::transform::{Look, SENT, Transform, Transforms, of_values};
use crate::error::Result;
use crate::matrix::runs::{self, Run};
use crate::pieces::{Node, Pieces, add_up, merge};
use crate::task::WIDE;
use serde::Serialize;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// All shards.
pub(in crate::method) struct Field {
    cluster: Arc<dyn Cluster>,
    /// The units of each shard.
    units: Vec<Range<usize>>,
}

impl Field {
    /// The shards of a set that is cut in this way.
    pub(in crate::method) fn new(where_: &Whereabouts, pieces: &Pieces) -> Self {
        let units = |run: &Range<usize>| match run.is_empty() {
            true => 0..0,
            false => pieces.units(run.start).start..pieces.units(run.end - 1).end,
        };
        Self { cluster: Arc::clone(&where_.cluster), units: where_.shards.iter().map(units).collect() }
    }

    /// The units of each shard.
    pub(in crate::method) fn units(&self) -> &[Range<usize>] {
        &self.units
    }

    /// Which units of each shard are meant.
    pub(in crate::method) fn masks(&self, units: &[u32]) -> Vec<Vec<u8>> {
        let last = self.units.iter().map(|units| units.end).max().unwrap_or(0);
        let mut meant = vec![false; last];
        units.iter().for_each(|&unit| meant[unit as usize] = true);
        self.units.iter().map(|units| bits(meant[units.clone()].iter().copied())).collect()
    }

    /// What every shard says to a question.
    pub(in crate::method) fn ask<Q: Serialize>(
        &self,
        question: &Question<Q>,
        numbers: &[&[f64]],
        masks: &[Vec<u8>],
        stop: Option<&AtomicBool>,
    ) -> Result<Vec<(Said, Vec<Vec<f64>>)>> {
        let answers = self.cluster.ask(&pack(question, numbers)?, masks, stop)?;
        if answers.len() != self.units.len() {
            return Err(torn("an answer is missing"));
        }
        answers.iter().map(|answer| unpack(answer)).collect()
    }

    /// The sum of the nodes of all shards; nothing where there is no curvature, or no example.
    pub(in crate::method) fn sum(
        answers: Vec<(Said, Vec<Vec<f64>>)>,
        before: usize,
        add: impl Fn(Vec<f64>, Vec<f64>) -> Vec<f64> + Sync,
    ) -> Option<Option<Vec<f64>>> {
        let all: Option<Vec<Vec<Node<Vec<f64>>>>> =
            answers.into_iter().map(|(said, lists)| nodes(&said, lists, before)).collect();
        all.map(|all| merge(all.into_iter().flatten().collect(), add))
    }

    /// The digests of all pieces.
    pub(in crate::method) fn digests(&self) -> Result<Vec<[u8; 32]>> {
        let question: Question<()> = Question::Rows(OfRows::Digests);
        let answers = self.ask(&question, &[], &vec![vec![]; self.units.len()], None)?;
        let all: Vec<u8> = answers.into_iter().flat_map(|(said, _)| said.bytes).collect();
        let (pieces, _) = all.as_chunks::<32>();
        Ok(pieces.to_vec())
    }

    /// Has all shards transform their columns.
    pub(in crate::method) fn transform(&self, by: &Transforms) -> Result<()> {
        if by.is_empty() { Ok(()) } else { self.cluster.transform(&pack_transforms(by)?) }
    }

    /// The transforms and ranges that some units teach.
    pub(in crate::method) fn looks(
        &self,
        how: Transform,
        columns: usize,
        units: &[u32],
    ) -> Result<(Transforms, Ranges)> {
        let wide = columns > WIDE;
        if how == Transform::None && wide {
            return Ok(Default::default());
        }
        let masks = self.masks(units);
        let (mut values, mut many): (Vec<Vec<Run>>, Vec<bool>) = (vec![vec![]; columns], vec![false; columns]);
        for (_, lists) in self.ask(&Question::<()>::Rows(OfRows::Values), &[], &masks, None)? {
            for ((list, values), many) in lists.iter().zip(&mut values).zip(&mut many) {
                *many |= list.len() == 1;
                let own: Vec<Run> = list.chunks_exact(2).map(|run| (run[0] as u32, run[1] as usize)).collect();
                *values = runs::merge(values, &own);
                *many |= values.len() > SENT;
            }
        }
        let mut all: Vec<Look> = values.iter().map(|runs| of_values(how, runs)).collect();
        let some: Vec<u32> = (0..columns as u32).filter(|&j| many[j as usize]).collect();
        for group in some.chunks(TOGETHER) {
            let question: Question<()> = Question::Rows(OfRows::Below { columns: group.to_vec() });
            let below = |keys: &[Vec<u32>]| {
                let wide: Vec<Vec<f64>> =
                    keys.iter().map(|list| list.iter().map(|&key| f64::from(key)).collect()).collect();
                let lists: Vec<&[f64]> = wide.iter().map(Vec::as_slice).collect();
                let mut counts: Vec<Vec<usize>> = keys.iter().map(|list| vec![0; list.len()]).collect();
                for (_, own) in self.ask(&question, &lists, &masks, None)? {
                    for (counts, own) in counts.iter_mut().zip(own) {
                        counts.iter_mut().zip(own).for_each(|(count, own)| *count += own as usize);
                    }
                }
                Ok(counts)
            };
            for (&j, learned) in group.iter().zip(order::learn(how, group.len(), below)?) {
                all[j as usize] = learned;
            }
        }
        let (transforms, ranges) = all.into_iter().unzip();
        Ok((Transforms::new(transforms), if wide { Ranges::default() } else { Ranges::new(units.len(), ranges) }))
    }

    /// Offsets and factors to mean 0 and deviation 1 over so many rows of some units.
    pub(in crate::method) fn standard(
        &self,
        columns: usize,
        rows: usize,
        units: &[u32],
        which: Which,
    ) -> Result<Affine> {
        let (masks, n) = (self.masks(units), rows.max(1));
        let first: Question<()> = Question::Rows(OfRows::Totals(which));
        let totals = Self::sum(self.ask(&first, &[], &masks, None)?, 0, Parts::add(columns)).flatten();
        let means = Parts::means(totals.as_deref(), columns, n);
        let second: Question<()> = Question::Rows(OfRows::Squares(which));
        let squares = Self::sum(self.ask(&second, &[&means], &masks, None)?, 0, add_up).flatten();
        Ok(Affine::of_parts(totals.as_deref(), squares.as_deref(), columns, n))
    }
}

/// Offsets and factors in double precision, of a scaling that has them.
pub(in crate::method) fn doubles(scaling: Option<&Affine>) -> [Vec<f64>; 2] {
    let wide = |list: &[f32]| list.iter().map(|&x| f64::from(x)).collect();
    scaling.map_or([vec![], vec![]], |affine| [wide(&affine.offset), wide(&affine.factor)])
}
