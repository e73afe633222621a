//! What the sets of all three tasks have in common.

use super::{Aligned, Columns, Filled, LabelSet, MatchSet, Missing, RankSet};
use crate::error::Result;
use crate::matrix::Features;
use std::borrow::Cow;
use std::fmt::Debug;
use std::ops::Range;

/// A set of units, numbered from 0: queries, items or problems. Each has rows of features.
pub trait DataSet: Clone + Debug + PartialEq + Send + Sync {
    /// Number of units.
    fn len(&self) -> usize;
    /// Whether there is no unit.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Number of rows: documents, items or edges.
    fn rows(&self) -> usize;
    /// The id of a unit.
    fn name(&self, unit: usize) -> Cow<'_, str>;
    /// The unit with this id.
    fn find(&self, wanted: &str) -> Result<usize>;
    /// One row each.
    fn features(&self) -> &Features;
    /// The same, to be changed.
    fn features_mut(&mut self) -> &mut Features;
    /// The rows of a unit.
    fn span(&self, unit: usize) -> Range<usize>;
    /// The names of the columns.
    fn columns(&self) -> &Columns;
    /// The same, to be changed.
    fn columns_mut(&mut self) -> &mut Columns;
    /// Refuses a set without a truth to learn from or to measure by.
    fn need_truth(&self) -> Result<()>;
    /// All units, as the list that a fit or an evaluation takes.
    fn all(&self) -> Vec<u32> {
        (0..self.len() as u32).collect()
    }
    /// A set of some of the units alone.
    fn only(&self, units: &[u32]) -> Self;
    /// Puts the columns into the order of a model's, by name.
    fn align(&mut self, to: &Columns) -> Result<Aligned>;
    /// Fills gaps as `missing` says, with the means of the rows of some units if they are asked for.
    fn fill(&mut self, missing: Missing, units: &[u32]) -> Filled;
    /// Adds a column for each of `flagged` that says where it has gaps.
    fn flag(&mut self, flagged: &[u32]);
    /// Puts `means[j]` where a value of column `j` is missing, or 0 without means.
    fn fill_missing(&mut self, means: Option<&[f32]>);
    /// Whether rows start from scores of another model.
    fn has_start(&self) -> bool {
        false
    }
    /// Whether pairs of rows stand in place of a truth for each row.
    fn has_preferences(&self) -> bool {
        false
    }
    /// A digest of all that a fit depends on.
    fn digest(&self) -> String;
    /// The same for methods that learn from names of rows, or from links between rows, too.
    fn linked_digest(&self) -> String {
        self.digest()
    }
}

/// The trait by the methods that a set has itself.
macro_rules! data_set {
    ($set:ty, $rows:ident, $name:expr, $find:ident $(, { $($more:item)* })?) => {
        impl DataSet for $set {
            fn len(&self) -> usize {
                self.len()
            }
            fn rows(&self) -> usize {
                self.$rows()
            }
            fn name(&self, unit: usize) -> Cow<'_, str> {
                let name: fn(&Self, usize) -> Cow<'_, str> = $name;
                name(self, unit)
            }
            fn find(&self, wanted: &str) -> Result<usize> {
                self.$find(wanted)
            }
            fn features(&self) -> &Features {
                &self.features
            }
            fn features_mut(&mut self) -> &mut Features {
                &mut self.features
            }
            fn span(&self, unit: usize) -> Range<usize> {
                self.span(unit)
            }
            fn columns(&self) -> &Columns {
                &self.columns
            }
            fn columns_mut(&mut self) -> &mut Columns {
                &mut self.columns
            }
            fn need_truth(&self) -> Result<()> {
                self.need_truth()
            }
            fn only(&self, units: &[u32]) -> Self {
                self.only(units)
            }
            fn align(&mut self, to: &Columns) -> Result<Aligned> {
                self.align(to)
            }
            fn fill(&mut self, missing: Missing, units: &[u32]) -> Filled {
                self.fill(missing, units)
            }
            fn flag(&mut self, flagged: &[u32]) {
                super::columns::flag(&mut self.features, &mut self.columns, flagged);
            }
            fn fill_missing(&mut self, means: Option<&[f32]>) {
                self.fill_missing(means);
            }
            fn digest(&self) -> String {
                let own = self.digest();
                self.columns.cells.as_ref().map_or(own.clone(), |cells| cells.digest(&own))
            }
            $($($more)*)?
        }
    };
}

data_set!(RankSet, rows, |set, q| set.query(q).into(), find_query, {
    fn linked_digest(&self) -> String {
        self.linked_digest()
    }
    fn has_start(&self) -> bool {
        self.start().is_some()
    }
    fn has_preferences(&self) -> bool {
        self.preferences().is_some()
    }
});
data_set!(LabelSet, len, |set, i| set.item(i), find_item);
data_set!(MatchSet, edges, |set, p| set.problem(p).name.as_str().into(), find_problem);
