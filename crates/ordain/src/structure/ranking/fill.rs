//! Open places filled with leaves: an assignment over the few best leaves of each place.

use super::reduced::Reduced;
use super::walk::At;
use crate::error::{Error, Result};
use crate::structure::matching::assignment;

/// Which leaves take the open places of a placement, with prices that prove it.
#[derive(Default)]
pub(super) struct Fill {
    /// The leaf of each open place.
    pub(super) leaf: Vec<u32>,
    /// The price `v` of each open place.
    pub(super) price: Vec<f64>,
    /// The leaves with a price `u`, all others have 0: `a_ij ≤ u_i + v_j`, with equality where i fills j.
    pub(super) paid: Vec<(u32, f64)>,
    /// The best leaf of each open place that fills none, and its `a_ij`; −∞ where there is none.
    pub(super) spare: Vec<(u32, f64)>,
    costs: Vec<f64>,
    short: Vec<(f64, u32)>,
    leaves: Vec<u32>,
    column: Vec<u32>,
    solver: assignment::Work,
}

const NO_COLUMN: u32 = u32::MAX;

/// Puts the `count` largest of `row` in `short`, falling, with their places; equal ones by place. Those of −∞ are left out.
fn largest(row: &[f64], count: usize, short: &mut Vec<(f64, u32)>) {
    const BLOCK: usize = 8;
    short.clear();
    let mut least = f64::NEG_INFINITY;
    for (b, block) in row.chunks(BLOCK).enumerate() {
        if !block.iter().fold(false, |any, &x| any | (x > least)) {
            continue;
        }
        for (l, &x) in block.iter().enumerate() {
            if x > least {
                let at = short.iter().rposition(|&(y, _)| y >= x).map_or(0, |at| at + 1);
                if short.len() == count {
                    short.pop();
                }
                short.insert(at, (x, (b * BLOCK + l) as u32));
                if short.len() == count {
                    least = short[count - 1].0;
                }
            }
        }
    }
}

impl Fill {
    /// Fills the open places of a placement; the sum of their `a_ij`, `big` included, or none where that cannot be done.
    ///
    /// The K + 1 best leaves of each of K places are enough: one of them fills no place, so its price is 0, and no leaf
    /// beyond it is worth more. O(n K + K⁴).
    pub(super) fn run(&mut self, reduced: &Reduced, at: &At) -> Result<Option<f64>> {
        let (n, k) = (reduced.leaves.len(), at.open.len());
        self.leaf.clear();
        self.price.clear();
        self.paid.clear();
        self.spare.clear();
        if k == 0 {
            return Ok(reduced.must.is_empty().then_some(0.0));
        }
        self.list(n, k, at);
        let m = self.leaves.len();
        self.costs.clear();
        for row in at.rows.chunks_exact(n).take(k) {
            self.costs.extend(self.leaves.iter().map(|&i| -row[i as usize]));
        }
        self.leaves.iter().for_each(|&i| self.column[i as usize] = NO_COLUMN);
        if m < k {
            return Ok(None);
        }
        let found = match assignment::solve(&self.costs, k, m, &mut self.solver) {
            Ok(found) => found,
            Err(Error::Infeasible { .. }) => return Ok(None),
            Err(other) => return Err(other),
        };
        self.price.extend(found.row_dual.iter().map(|v| 0.0 - v));
        for j in found.column_of.iter().flatten() {
            self.leaf.push(self.leaves[*j as usize]);
            self.paid.push((self.leaves[*j as usize], 0.0 - found.column_dual[*j as usize]));
        }
        let sum = 0.0 - found.cost;
        if !reduced.must.iter().all(|i| self.leaf.contains(i)) {
            return Ok(None);
        }
        self.read_spare(k, m);
        Ok(Some(sum))
    }

    /// The best leaves of each place, each leaf once.
    fn list(&mut self, n: usize, k: usize, at: &At) {
        self.leaves.clear();
        self.column.resize(self.column.len().max(n), NO_COLUMN);
        for row in at.rows.chunks_exact(n).take(k) {
            largest(row, k + 1, &mut self.short);
            for &(_, i) in &self.short {
                if self.column[i as usize] == NO_COLUMN {
                    self.column[i as usize] = self.leaves.len() as u32;
                    self.leaves.push(i);
                }
            }
        }
    }

    /// The best leaf of each place that fills none.
    fn read_spare(&mut self, k: usize, m: usize) {
        for row in self.costs.chunks_exact(m).take(k) {
            let mut best = (0, f64::NEG_INFINITY);
            for (&i, cost) in self.leaves.iter().zip(row) {
                if -cost > best.1 && !self.leaf.contains(&i) {
                    best = (i, -cost);
                }
            }
            self.spare.push(best);
        }
    }
}
