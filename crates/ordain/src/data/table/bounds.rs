//! What the head of a Parquet file says of the numbers of its row groups, beside the numbers that are read.
//!
//! Pages carry no checksums by default, and a damaged one may still be read, as other numbers. Nearly all writers note the least and
//! the largest number of each column and how many are null: a file that says otherwise than it holds is refused.

use super::arrays::{is_number, range};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Schema};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::statistics::Statistics;
use rayon::prelude::*;
use std::cmp::Ordering;

/// The least and the largest number of a column, and its nulls.
#[derive(Clone, Copy)]
struct Range {
    low: f64,
    high: f64,
    nulls: u64,
}

impl Default for Range {
    fn default() -> Self {
        Self { low: f64::INFINITY, high: f64::NEG_INFINITY, nulls: 0 }
    }
}

impl Range {
    fn add(&mut self, array: &dyn Array) {
        self.nulls += array.null_count() as u64;
        if let Some((low, high)) = range(array) {
            self.low = self.low.min(low);
            self.high = self.high.max(high);
        }
    }

    /// Whether these are the numbers that the file told of. Where all are NaN nothing can be told.
    fn is(&self, said: &Said) -> bool {
        let none = self.low > self.high;
        let equal = |known: f64, found: f64| known.is_nan() || known.partial_cmp(&found) == Some(Ordering::Equal);
        let same = |known: Option<f64>, found: f64| none || known.is_none_or(|known| equal(known, found));
        said.nulls.is_none_or(|nulls| nulls == self.nulls) && same(said.low, self.low) && same(said.high, self.high)
    }
}

/// What the file says of a column in a row group.
#[derive(Clone, Copy)]
struct Said {
    low: Option<f64>,
    high: Option<f64>,
    nulls: Option<u64>,
}

/// What is said of the columns that are read, and what was read so far of the row group.
#[derive(Default)]
pub(super) struct Bounds {
    /// The rows of each row group.
    rows: Vec<usize>,
    /// For each column what is said of it in each row group.
    said: Vec<Vec<Option<Said>>>,
    seen: Vec<Range>,
    group: usize,
    /// Rows of the group that are still to come.
    left: usize,
}

impl Bounds {
    /// Those of some columns of a file.
    pub(super) fn new(file: &ParquetMetaData, schema: &Schema, columns: &[usize]) -> Self {
        let tree = file.file_metadata().schema_descr();
        let mut leaves = vec![None; schema.fields().len()];
        for leaf in (0..tree.num_columns()).filter(|&leaf| tree.column(leaf).max_rep_level() == 0) {
            let root = tree.get_column_root_idx(leaf);
            leaves[root] = Some(leaf).filter(|_| is_number(schema.field(root).data_type()));
        }
        let groups: Vec<&RowGroupMetaData> = file.row_groups().iter().filter(|group| group.num_rows() > 0).collect();
        let of = |&column: &usize| {
            let (leaf, kind) = (leaves[column], schema.field(column).data_type());
            let told = groups.iter().map(|group| said(group.column(leaf?).statistics()?, kind));
            told.collect::<Vec<Option<Said>>>()
        };
        let rows: Vec<usize> = groups.iter().map(|group| usize::try_from(group.num_rows()).unwrap_or(0)).collect();
        Self {
            left: rows.first().copied().unwrap_or(0),
            rows,
            said: columns.iter().map(of).collect(),
            seen: vec![Range::default(); columns.len()],
            group: 0,
        }
    }

    /// Looks at the columns of the next rows; the place of one that is not as the file says.
    pub(super) fn check(&mut self, columns: &[ArrayRef]) -> Option<usize> {
        let (rows, mut from) = (columns.first().map_or(0, |array| array.len()), 0);
        while from < rows && self.left > 0 {
            let count = self.left.min(rows - from);
            let (group, all) = (self.group, self.seen.par_iter_mut().zip(&self.said).zip(columns));
            all.filter(|((_, said), _)| said[group].is_some())
                .for_each(|((seen, _), array)| seen.add(array.slice(from, count).as_ref()));
            from += count;
            self.left -= count;
            if self.left == 0 {
                let told =
                    self.seen.iter().zip(&self.said).map(|(seen, said)| said[group].is_none_or(|said| seen.is(&said)));
                if let Some(wrong) = told.into_iter().position(|right| !right) {
                    return Some(wrong);
                }
                self.seen.fill(Range::default());
                self.group += 1;
                self.left = self.rows.get(self.group).copied().unwrap_or(0);
            }
        }
        None
    }
}

/// Statistics of numbers of this kind.
fn said(told: &Statistics, kind: &DataType) -> Option<Said> {
    let unsigned = matches!(kind, DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64);
    if unsigned && told.is_min_max_deprecated() {
        return None; // in the order of signed numbers
    }
    let int = |&x: &i32| if unsigned { f64::from(x as u32) } else { f64::from(x) };
    let long = |&x: &i64| if unsigned { x as u64 as f64 } else { x as f64 };
    let (low, high) = match told {
        Statistics::Int32(told) => (told.min_opt().map(int), told.max_opt().map(int)),
        Statistics::Int64(told) => (told.min_opt().map(long), told.max_opt().map(long)),
        Statistics::Float(told) => (told.min_opt().map(|&x| f64::from(x)), told.max_opt().map(|&x| f64::from(x))),
        Statistics::Double(told) => (told.min_opt().copied(), told.max_opt().copied()),
        _ => return None,
    };
    Some(Said { low, high, nulls: told.null_count_opt() })
}
