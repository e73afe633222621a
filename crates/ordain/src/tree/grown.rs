//! One tree, as it was grown.

use super::bins::Bins;
use super::split::Test;

/// What a node does.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Leaf(f64),
    Inner(Inner),
}

/// A node with two children.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Inner {
    pub(super) column: u32,
    /// Where the column is stored in bins.
    pub(super) slot: u32,
    pub(super) test: Test,
    pub(super) raw: Raw,
    /// Left and right, both later than the node itself.
    pub(super) child: [u32; 2],
    pub(super) gain: f64,
}

/// The test of a node on raw values.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Raw {
    /// `x ≤ cut` goes left, a missing value as it is said.
    Cut { cut: f32, missing_left: bool },
    /// These values go left, ascending; all others go right.
    Set(Vec<f32>),
}

/// A tree that a [`Grower`](super::Grower) made. Children stand behind their parent; node 0 is the root.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    pub(super) nodes: Vec<Node>,
    /// The node of each leaf, in the order in which the grower knows their rows.
    pub(super) leaves: Vec<u32>,
}

impl Tree {
    /// Number of leaves; 1 if no split was worth it.
    pub fn leaves(&self) -> usize {
        self.leaves.len()
    }

    /// The values of the leaves.
    pub fn values(&self) -> impl Iterator<Item = f64> {
        self.nodes.iter().filter_map(|node| match node {
            Node::Leaf(value) => Some(*value),
            Node::Inner(_) => None,
        })
    }

    /// The sum of the gains of all splits: how much less the sum to be minimised became, but for rounding.
    pub fn gain(&self) -> f64 {
        self.nodes.iter().map(|node| if let Node::Inner(inner) = node { inner.gain } else { 0.0 }).sum()
    }

    /// The value of leaf `leaf`, in the order in which the grower knows their rows.
    pub(super) fn value(&self, leaf: usize) -> f64 {
        match self.nodes[self.leaves[leaf] as usize] {
            Node::Leaf(value) => value,
            Node::Inner(_) => 0.0,
        }
    }

    /// The value of a row in bins.
    #[inline]
    pub(super) fn of_row(&self, bins: &Bins, row: usize) -> f64 {
        let mut at = 0;
        loop {
            match &self.nodes[at] {
                Node::Leaf(value) => return *value,
                Node::Inner(inner) => {
                    let left = inner.test.left(bins.bin(row, inner.slot as usize));
                    at = inner.child[usize::from(!left)] as usize;
                }
            }
        }
    }
}
