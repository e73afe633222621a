//! Rows of a shard, whatever the task, and what can be asked of them.

use super::wire::{OfRows, Which, said, set_bits, torn, unpack_transforms};
use crate::data::scale::{Affine, Parts as Passes, Scale, Scaling};
use crate::data::transform::SENT;
use crate::data::{DataSet, Groups, MatchSet, Place, RankSet};
use crate::error::Result;
use crate::matrix::runs::{self, Run, merge};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// A set whose units can be spread over machines.
pub(in crate::method) trait Spreads: DataSet {
    /// The same units as a part of a larger set.
    fn placed(self, place: Place) -> Self;
    /// The digests of a run of its pieces.
    fn digests(&self, run: Range<usize>) -> Vec<[u8; 32]>;
    /// Its rows.
    fn groups(&self) -> Groups<'_>;
    /// Rows of some units.
    fn rows_of(&self, units: &[u32], which: Which) -> Vec<Range<usize>>;
}

impl Spreads for RankSet {
    fn placed(self, place: Place) -> Self {
        self.placed(place)
    }

    fn digests(&self, run: Range<usize>) -> Vec<[u8; 32]> {
        self.digests(run)
    }

    fn groups(&self) -> Groups<'_> {
        self.into()
    }

    fn rows_of(&self, units: &[u32], _: Which) -> Vec<Range<usize>> {
        units.iter().map(|&q| self.span(q as usize)).collect()
    }
}

impl Spreads for MatchSet {
    fn placed(self, place: Place) -> Self {
        self.placed(place)
    }

    fn digests(&self, run: Range<usize>) -> Vec<[u8; 32]> {
        self.digests(run)
    }

    fn groups(&self) -> Groups<'_> {
        self.into()
    }

    fn rows_of(&self, units: &[u32], which: Which) -> Vec<Range<usize>> {
        match which {
            Which::All => units.iter().map(|&p| self.span(p as usize)).collect(),
            Which::Matched => self.matched_rows(units).collect(),
        }
    }
}

/// Some of the pieces, with the units of a set that are theirs.
pub(in crate::method) struct Part<S> {
    pub(in crate::method) set: S,
    pub(in crate::method) run: Range<usize>,
    pub(in crate::method) units: Range<usize>,
}

/// The values of some columns in order, of some units, of each part.
type Sorted = (Vec<u32>, Vec<u8>, Arc<Vec<Vec<Vec<Run>>>>);

/// Scalings of the parts that each unit learns from itself.
type Known = Vec<(Scale, Arc<Vec<Scaling>>)>;

/// Units of a set that is spread over machines: a run of its [pieces](crate::pieces).
pub(in crate::method) struct Parts<S> {
    all: Vec<Part<S>>,
    sorted: Mutex<Option<Sorted>>,
    scalings: Mutex<Known>,
}

/// The rows of some units.
fn rows<S: Spreads>(part: &Part<S>, units: &[u32]) -> Vec<u32> {
    units.iter().flat_map(|&q| part.set.span(q as usize)).map(|row| row as u32).collect()
}

impl<S: Spreads> Parts<S> {
    /// Units that stand at some [`Place`] of a set; of each set some pieces that are whole in it, one run behind the other.
    pub(in crate::method) fn new(parts: Vec<(S, Place, Range<usize>)>) -> Self {
        let part = |(set, place, run): (S, Place, Range<usize>)| {
            let units = match run.is_empty() {
                true => 0..0,
                false => place.pieces.units(run.start).start..place.pieces.units(run.end - 1).end,
            };
            Part { set: set.placed(place), run, units }
        };
        Self::of(parts.into_iter().map(part).collect())
    }

    fn of(all: Vec<Part<S>>) -> Self {
        Self { all, sorted: Mutex::default(), scalings: Mutex::default() }
    }

    pub(in crate::method) fn iter(&self) -> std::slice::Iter<'_, Part<S>> {
        self.all.iter()
    }

    /// The number of its units.
    pub(in crate::method) fn len(&self) -> usize {
        self.iter().map(|part| part.units.len()).sum()
    }

    /// The number of its rows.
    pub(in crate::method) fn rows(&self) -> usize {
        self.iter().flat_map(|part| part.units.clone().map(|q| part.set.span(q).len())).sum()
    }

    /// The same with the columns transformed.
    pub(in crate::method) fn transformed(&self, by: &[u8]) -> Result<Self> {
        let transforms = unpack_transforms(by)?;
        let one = |part: &Part<S>| {
            let mut set = part.set.clone();
            transforms.apply(set.features_mut());
            Part { set, run: part.run.clone(), units: part.units.clone() }
        };
        Ok(Self::of(self.iter().map(one).collect()))
    }

    /// The units that are meant, of each part.
    pub(in crate::method) fn units(&self, own: &[u8]) -> Vec<Vec<u32>> {
        let mut before = 0;
        let of = |part: &Part<S>| {
            let bits = before..before + part.units.len();
            before = bits.end;
            let shift = |k: usize| (k - bits.start + part.units.start) as u32;
            set_bits(own, bits.clone()).map(shift).collect()
        };
        self.iter().map(of).collect()
    }

    /// Answers what is asked of rows.
    pub(in crate::method) fn answer(
        &self,
        question: &OfRows,
        numbers: &[Vec<f64>],
        (own, units): (&[u8], &[Vec<u32>]),
    ) -> Result<Vec<u8>> {
        match question {
            OfRows::Digests => {
                let all = self.iter().flat_map(|part| part.set.digests(part.run.clone()));
                said(Some(vec![]), vec![], all.flatten().collect())
            }
            OfRows::Values => {
                let columns = self.all.first().map_or(0, |part| part.set.features().cols());
                let mut all: Vec<Vec<Run>> = vec![vec![]; columns];
                for (part, units) in self.iter().zip(units) {
                    let few = |_: usize, runs: &[Run]| runs[..runs.len().min(SENT + 1)].to_vec();
                    let own = runs::columns(part.set.features(), &rows(part, units), few);
                    all.iter_mut().zip(own).for_each(|(all, own)| *all = merge(all, &own));
                }
                let sent = |runs: Vec<Run>| match runs.len() > SENT {
                    true => vec![f64::NAN],
                    false => runs.iter().flat_map(|run| [f64::from(run.0), run.1 as f64]).collect(),
                };
                said(Some(vec![]), all.into_iter().map(sent).collect(), vec![])
            }
            OfRows::Below { columns } => {
                let sorted = self.sorted(columns, own, units);
                let mut counts: Vec<Vec<f64>> = numbers.iter().map(|keys| vec![0.0; keys.len()]).collect();
                for part in sorted.iter() {
                    for ((counts, keys), runs) in counts.iter_mut().zip(numbers).zip(part) {
                        for (count, &key) in counts.iter_mut().zip(keys) {
                            let at = runs.partition_point(|run| f64::from(run.0) < key);
                            *count += if at == 0 { 0.0 } else { runs[at - 1].1 as f64 };
                        }
                    }
                }
                said(Some(vec![]), counts, vec![])
            }
            OfRows::Totals(which) => {
                let of = |(part, units): (&Part<S>, &Vec<u32>)| {
                    Passes::totals(part.set.groups(), part.set.rows_of(units, *which), part.run.clone())
                };
                said(Some(self.iter().zip(units).flat_map(of).collect()), vec![], vec![])
            }
            OfRows::Squares(which) => {
                let means = numbers.first().ok_or_else(|| torn("numbers are missing"))?;
                let of = |(part, units): (&Part<S>, &Vec<u32>)| {
                    Passes::squares(part.set.groups(), part.set.rows_of(units, *which), part.run.clone(), means)
                };
                said(Some(self.iter().zip(units).flat_map(of).collect()), vec![], vec![])
            }
        }
    }

    /// The values of some columns in order, each with how many are not above it; of each part, and kept for the next question.
    fn sorted(&self, columns: &[u32], own: &[u8], units: &[Vec<u32>]) -> Arc<Vec<Vec<Vec<Run>>>> {
        let mut kept = self.sorted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, mask, sorted)) = &*kept
            && of == columns
            && mask == own
        {
            return Arc::clone(sorted);
        }
        *kept = None; // one is enough memory
        let some: Vec<Option<u32>> = columns.iter().map(|&j| Some(j)).collect();
        let added = |_: usize, runs: &[Run]| {
            let mut sum = 0;
            let of = |run: &Run| {
                sum += run.1;
                (run.0, sum)
            };
            runs.iter().map(of).collect::<Vec<Run>>()
        };
        let one = |(part, units): (&Part<S>, &Vec<u32>)| {
            runs::columns(&part.set.features().select_columns(&some), &rows(part, units), added)
        };
        let made = Arc::new(self.iter().zip(units).map(one).collect::<Vec<_>>());
        *kept = Some((columns.to_vec(), own.to_vec(), Arc::clone(&made)));
        made
    }

    /// The scaling of each part; by unit it is kept.
    pub(in crate::method) fn scalings(&self, scale: Scale, offset: &[f64], factor: &[f64]) -> Arc<Vec<Scaling>> {
        let single = |list: &[f64]| list.iter().map(|&x| x as f32).collect();
        if !offset.is_empty() {
            let global = Scaling::Global(Affine { offset: single(offset), factor: single(factor) });
            return Arc::new(vec![global; self.all.len()]);
        }
        let mut kept = self.scalings.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = kept.iter().find(|(of, _)| *of == scale) {
            return Arc::clone(known);
        }
        let made = self.iter().map(|part| {
            let units: Vec<u32> = part.units.clone().map(|q| q as u32).collect();
            Scaling::of_units(scale, part.set.groups(), &units)
        });
        let made = Arc::new(made.collect());
        kept.push((scale, Arc::clone(&made)));
        made
    }
}
