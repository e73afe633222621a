//! Open places filled with leaves: an assignment over the few best leaves of each place.

use super::largest::Largest;
use super::reduced::Reduced;
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
    costs: Vec<f64>,
    largest: Largest,
    leaves: Vec<u32>,
    column: Vec<u32>,
    solver: assignment::Work,
}

const NO_COLUMN: u32 = u32::MAX;

impl Fill {
    /// Fills `k` open places, given their rows of leaves; the sum of their `a_ij`, `big` included, or none where that
    /// cannot be done.
    ///
    /// The K + 1 best leaves of each of K places are enough: one of them fills no place, so its price is 0, and no leaf
    /// beyond it is worth more. O(n K + K⁴).
    pub(super) fn run(&mut self, reduced: &Reduced, k: usize, rows: &[f64]) -> Result<Option<f64>> {
        let n = reduced.leaves.len();
        self.leaf.clear();
        self.price.clear();
        self.paid.clear();
        if k == 0 {
            return Ok(reduced.must.is_empty().then_some(0.0));
        }
        self.list(n, k, rows);
        let m = self.leaves.len();
        self.costs.clear();
        for row in rows.chunks_exact(n).take(k) {
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
        Ok(Some(sum))
    }

    /// The best leaves of each place, each leaf once.
    fn list(&mut self, n: usize, k: usize, rows: &[f64]) {
        self.leaves.clear();
        self.column.resize(self.column.len().max(n), NO_COLUMN);
        for row in rows.chunks_exact(n).take(k) {
            self.largest.find(row, k + 1);
            for &(_, i) in &self.largest.short {
                if self.column[i as usize] == NO_COLUMN {
                    self.column[i as usize] = self.leaves.len() as u32;
                    self.leaves.push(i);
                }
            }
        }
    }

    /// The largest `a_ij` at an open place of a leaf that fills none; −∞ where there is none.
    pub(super) fn spare(&self, place: usize) -> f64 {
        let m = self.leaves.len();
        let row = self.leaves.iter().zip(&self.costs[place * m..(place + 1) * m]);
        row.fold(
            f64::NEG_INFINITY,
            |most, (leaf, cost)| {
                if -cost > most && !self.leaf.contains(leaf) { -cost } else { most }
            },
        )
    }
}
