//! Top-k lists: the best one.

use super::fill::Fill;
use super::reduced::Reduced;
use super::walk::{At, Visit, Walk};
use super::{Problem, Search};
use crate::error::Result;

/// Buffers of top-k lists.
#[derive(Default)]
pub(super) struct Lists {
    pub(super) reduced: Reduced,
    pub(super) walk: Walk,
    pub(super) top: Top,
}

/// The best placement so far, and who fills its places.
#[derive(Default)]
pub(super) struct Top {
    pub(super) fill: Fill,
    every: bool,
    /// The best value, `big` for each leaf that is excluded from the tail included.
    value: f64,
    core: Vec<u32>,
    open: Vec<u32>,
    leaf: Vec<u32>,
}

impl Visit for Top {
    fn skip(&self, bound: f64) -> bool {
        !self.every && bound <= self.value
    }

    fn visit(&mut self, reduced: &Reduced, at: &mut At) -> Result<()> {
        if let Some(sum) = self.fill.run(reduced, at.open.len(), at.rows)?
            && at.value + sum > self.value
        {
            self.value = at.value + sum;
            for (to, from) in [(&mut self.core, at.core), (&mut self.open, at.open), (&mut self.leaf, &self.fill.leaf)]
            {
                to.clear();
                to.extend_from_slice(from);
            }
        }
        Ok(())
    }

    fn leave(&mut self, _: &Reduced, _: usize, _: usize) {}
}

impl Lists {
    /// Searches for the best list; whether there is one. Its value has rounding of its own.
    pub(super) fn search(&mut self, problem: &Problem, search: Search) -> Result<bool> {
        let Self { reduced, walk, top } = self;
        reduced.set(problem);
        top.every = search == Search::Every;
        top.value = f64::NEG_INFINITY;
        walk.run(problem, reduced, top)?;
        Ok(top.value > f64::NEG_INFINITY)
    }

    /// The value of the best list, `big` included.
    pub(super) fn value(&self) -> f64 {
        self.top.value
    }

    /// The class of each item in the best list.
    pub(super) fn read(&self, problem: &Problem, places: &mut Vec<u32>) {
        let Self { reduced, top, .. } = self;
        places.clear();
        places.resize(problem.items(), problem.head() as u32);
        reduced.pinned.iter().for_each(|&(i, j)| places[i as usize] = j);
        problem.links.core().iter().zip(&top.core).for_each(|(&i, &j)| places[i as usize] = j);
        for (&slot, &leaf) in top.open.iter().zip(&top.leaf) {
            places[reduced.leaves[leaf as usize] as usize] = reduced.free[slot as usize];
        }
    }
}
