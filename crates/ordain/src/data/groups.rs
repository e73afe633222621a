//! Rows in groups: the documents of queries, the edges of problems.

use crate::data::{DocumentPairs, RankSet};
use crate::matrix::Features;
use crate::pieces::Pieces;
use std::ops::Range;

/// Rows in groups, whatever they are: documents of queries, edges of problems.
#[derive(Clone, Copy, Debug)]
pub struct Groups<'a> {
    /// One row each.
    pub features: &'a Features,
    bounds: &'a [usize],
    /// How the whole set is cut, of which these are a part.
    whole: Option<&'a Pieces>,
    /// Pairs of rows of one group that are linked, with their features.
    pub pairs: Option<&'a DocumentPairs>,
}

impl<'a> Groups<'a> {
    /// The rows `bounds[g]..bounds[g + 1]` as group `g`.
    pub fn new(features: &'a Features, bounds: &'a [usize]) -> Self {
        Self { features, bounds, whole: None, pairs: None }
    }

    /// The same groups as a part of a whole that is cut in this way.
    pub(in crate::data) fn part_of(self, whole: Option<&'a Pieces>) -> Self {
        Self { whole, ..self }
    }

    /// Number of groups.
    pub fn len(&self) -> usize {
        self.bounds.len() - 1
    }

    /// Whether there is no group.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows of group `g`.
    pub fn span(&self, g: usize) -> Range<usize> {
        self.bounds[g]..self.bounds[g + 1]
    }

    /// How the groups are cut for sums over all of them.
    pub fn pieces(&self) -> Pieces {
        self.whole.cloned().unwrap_or_else(|| Pieces::new(self.bounds, self.features.cols()))
    }

    /// The same groups of other rows.
    pub fn with(self, features: &'a Features) -> Self {
        Self { features, ..self }
    }

    /// Group `g` alone, as group 0; its rows keep their numbers.
    pub fn one(self, g: usize) -> Self {
        Self { bounds: &self.bounds[g..g + 2], whole: None, ..self }
    }
}

impl<'a> From<&'a RankSet> for Groups<'a> {
    fn from(set: &'a RankSet) -> Self {
        Self { features: &set.features, bounds: &set.bounds, whole: set.whole(), pairs: set.pairs() }
    }
}
