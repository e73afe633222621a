//! Single trees of a forest: scored, taken over, multiplied.

use super::forest::{Forest, Parts};
use crate::matrix::Features;

impl Forest {
    /// `out[i] += value` of tree `tree` for some rows, to the bit as [`Grower::add_last`](super::Grower::add_last) added it.
    pub fn add_tree(&self, tree: usize, x: &Features, rows: &[u32], out: &mut [f64]) {
        let root = self.parts.first[tree] as usize;
        for &row in rows {
            let mut at = root;
            while self.parts.kind[at] != Parts::LEAF {
                let left = self.left(at, x.value(row as usize, self.parts.column[at] as usize));
                at = self.parts.child[at][usize::from(!left)] as usize;
            }
            out[row as usize] += self.parts.value[at];
        }
    }

    /// Adds tree `tree` of another forest.
    pub fn push_from(&mut self, other: &Self, tree: usize) {
        let (from, to) = (&other.parts, &mut self.parts);
        let nodes = from.first[tree] as usize..from.first[tree + 1] as usize;
        let (old, new) = (nodes.start as u32, to.kind.len() as u32);
        let lists = |end: usize| from.kind[..end].iter().filter(|&&kind| kind == Parts::SET).count();
        for list in lists(nodes.start)..lists(nodes.end) {
            let start = if list == 0 { 0 } else { from.set_end[list - 1] as usize };
            to.set.extend_from_slice(&from.set[start..from.set_end[list] as usize]);
            to.set_end.push(to.set.len() as u32);
        }
        let moved = |[a, b]: [u32; 2]| if [a, b] == [0; 2] { [0; 2] } else { [a - old + new, b - old + new] };
        to.kind.extend_from_slice(&from.kind[nodes.clone()]);
        to.column.extend_from_slice(&from.column[nodes.clone()]);
        to.cut.extend_from_slice(&from.cut[nodes.clone()]);
        to.child.extend(from.child[nodes.clone()].iter().copied().map(moved));
        to.value.extend_from_slice(&from.value[nodes]);
        to.first.push(to.kind.len() as u32);
        self.compile();
    }

    /// Multiplies what every tree says.
    pub fn scale(&mut self, factor: f64) {
        let leaves = self.parts.kind.iter().zip(&mut self.parts.value).filter(|(kind, _)| **kind == Parts::LEAF);
        leaves.for_each(|(_, value)| *value *= factor);
    }
}
