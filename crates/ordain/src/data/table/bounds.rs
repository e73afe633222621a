//! What the head of a Parquet file says of the values of its row groups, beside the values that are read.
//!
//! Pages carry no checksums by default, and a damaged one may still be read, as other values. Nearly all writers note the least and
//! the largest value of each column and how many are null: a file that says otherwise than it holds is refused. Numbers must attain
//! their bounds. Texts need only lie between them: writers cut long ones, and pyarrow calls bounds exact that the dictionary has and the
//! rows have not, where some are null.

use super::arrays::{is_number, range};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Schema};
use parquet::basic::{ColumnOrder, SortOrder};
use parquet::data_type::ByteArray;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::statistics::Statistics;
use rayon::prelude::*;
use std::cmp::Ordering;

/// The least and the largest number or text of a column, and its nulls.
#[derive(Default)]
struct Seen {
    numbers: Option<(f64, f64)>,
    texts: Option<(Vec<u8>, Vec<u8>)>,
    nulls: u64,
}

impl Seen {
    fn add(&mut self, array: &dyn Array) {
        self.nulls += array.logical_null_count() as u64;
        if let Some((low, high)) = range(array) {
            self.numbers = Some(self.numbers.map_or((low, high), |(least, most)| (least.min(low), most.max(high))));
        } else if let Some((low, high)) = text_range(array) {
            let (least, most) = self.texts.get_or_insert_with(|| (low.to_vec(), high.to_vec()));
            if low < &least[..] {
                *least = low.to_vec();
            }
            if high > &most[..] {
                *most = high.to_vec();
            }
        }
    }

    /// Whether these are the values that the file told of. Where all are null, or NaN, nothing can be told.
    fn is(&self, said: &Said) -> bool {
        let ends = match &said.ends {
            Ends::Numbers(low, high) => self.numbers.is_none_or(|(least, most)| {
                let equal =
                    |known: f64, found: f64| known.is_nan() || known.partial_cmp(&found) == Some(Ordering::Equal);
                low.is_none_or(|low| equal(low, least)) && high.is_none_or(|high| equal(high, most))
            }),
            Ends::Texts(low, high) => self.texts.as_ref().is_none_or(|(least, most)| {
                low.as_ref().is_none_or(|low| low.data() <= &least[..])
                    && high.as_ref().is_none_or(|high| high.data() >= &most[..])
            }),
        };
        ends && said.nulls.is_none_or(|nulls| nulls == self.nulls)
    }
}

/// The least and the largest value that the file says.
enum Ends {
    Numbers(Option<f64>, Option<f64>),
    /// In the order of their bytes.
    Texts(Option<ByteArray>, Option<ByteArray>),
}

/// What the file says of a column in a row group.
struct Said {
    ends: Ends,
    nulls: Option<u64>,
}

/// What is said of the columns that are read, and what was read so far of the row group.
#[derive(Default)]
pub(super) struct Bounds {
    columns: Vec<usize>,
    /// The rows of each row group.
    rows: Vec<usize>,
    /// For each column what is said of it in each row group.
    said: Vec<Vec<Option<Said>>>,
    seen: Vec<Seen>,
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
            let kind = schema.field(root).data_type();
            leaves[root] = Some(leaf).filter(|_| is_number(kind) || is_text(kind));
        }
        let orders = file.file_metadata().column_orders();
        let ordered = |leaf: usize| orders.and_then(|orders| orders.get(leaf)) == Some(&BY_BYTES);
        let groups: Vec<&RowGroupMetaData> = file.row_groups().iter().filter(|group| group.num_rows() > 0).collect();
        let of = |&column: &usize| {
            let (leaf, kind) = (leaves[column], schema.field(column).data_type());
            let told = groups.iter().map(|group| said(group.column(leaf?).statistics()?, kind, ordered(leaf?)));
            told.collect::<Vec<Option<Said>>>()
        };
        let rows: Vec<usize> = groups.iter().map(|group| usize::try_from(group.num_rows()).unwrap_or(0)).collect();
        Self {
            columns: columns.to_vec(),
            left: rows.first().copied().unwrap_or(0),
            rows,
            said: columns.iter().map(of).collect(),
            seen: columns.iter().map(|_| Seen::default()).collect(),
            group: 0,
        }
    }

    /// Looks at the next rows of the columns; the column of the file that is not as the file says.
    pub(super) fn check(&mut self, arrays: &[ArrayRef]) -> Option<usize> {
        let (rows, mut from) = (arrays.first().map_or(0, |array| array.len()), 0);
        while from < rows && self.left > 0 {
            let count = self.left.min(rows - from);
            let (group, all) = (self.group, self.seen.par_iter_mut().zip(&self.said).zip(arrays));
            all.filter(|((_, said), _)| said[group].is_some())
                .for_each(|((seen, _), array)| seen.add(array.slice(from, count).as_ref()));
            from += count;
            self.left -= count;
            if self.left == 0 {
                let mut all = self.seen.iter().zip(&self.said);
                if let Some(k) = all.position(|(seen, said)| said[group].as_ref().is_some_and(|said| !seen.is(said))) {
                    return Some(self.columns[k]);
                }
                self.seen.iter_mut().for_each(|seen| *seen = Seen::default());
                self.group += 1;
                self.left = self.rows.get(self.group).copied().unwrap_or(0);
            }
        }
        None
    }
}

/// The order of texts. Files that do not say it may have compared signed bytes.
const BY_BYTES: ColumnOrder = ColumnOrder::TYPE_DEFINED_ORDER(SortOrder::UNSIGNED);

/// Statistics of values of this kind; of texts in the order of their bytes or in an unknown one.
fn said(told: &Statistics, kind: &DataType, by_bytes: bool) -> Option<Said> {
    let unsigned = matches!(kind, DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64);
    let deprecated = told.is_min_max_deprecated();
    if unsigned && deprecated {
        return None; // in the order of signed numbers
    }
    let int = |&x: &i32| if unsigned { f64::from(x as u32) } else { f64::from(x) };
    let long = |&x: &i64| if unsigned { x as u64 as f64 } else { x as f64 };
    let ends = match told {
        Statistics::ByteArray(told) if is_text(kind) => {
            let known = by_bytes && !deprecated;
            Ends::Texts(told.min_opt().filter(|_| known).cloned(), told.max_opt().filter(|_| known).cloned())
        }
        Statistics::Int32(told) => Ends::Numbers(told.min_opt().map(int), told.max_opt().map(int)),
        Statistics::Int64(told) => Ends::Numbers(told.min_opt().map(long), told.max_opt().map(long)),
        Statistics::Float(told) => {
            Ends::Numbers(told.min_opt().map(|&x| f64::from(x)), told.max_opt().map(|&x| f64::from(x)))
        }
        Statistics::Double(told) => Ends::Numbers(told.min_opt().copied(), told.max_opt().copied()),
        _ => return None,
    };
    Some(Said { ends, nulls: told.null_count_opt() })
}

/// Whether a column holds text, or bytes, or a dictionary of them.
fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => is_text(values),
        kind => kind.is_string() || kind.is_binary() && !matches!(kind, DataType::FixedSizeBinary(_)),
    }
}

/// The least and the largest text of a column, in the order of their bytes.
fn text_range(array: &dyn Array) -> Option<(&[u8], &[u8])> {
    fn ends<'a>(mut texts: impl Iterator<Item = &'a [u8]>) -> Option<(&'a [u8], &'a [u8])> {
        let first = texts.next()?;
        Some(texts.fold((first, first), |(low, high), text| (low.min(text), high.max(text))))
    }
    fn of<'a>(array: &'a dyn Array, rows: impl Iterator<Item = usize> + 'a) -> Option<(&'a [u8], &'a [u8])> {
        match array.data_type() {
            DataType::Utf8 => ends(rows.map(|row| array.as_string::<i32>().value(row).as_bytes())),
            DataType::LargeUtf8 => ends(rows.map(|row| array.as_string::<i64>().value(row).as_bytes())),
            DataType::Utf8View => ends(rows.map(|row| array.as_string_view().value(row).as_bytes())),
            DataType::Binary => ends(rows.map(|row| array.as_binary::<i32>().value(row))),
            DataType::LargeBinary => ends(rows.map(|row| array.as_binary::<i64>().value(row))),
            DataType::BinaryView => ends(rows.map(|row| array.as_binary_view().value(row))),
            _ => None,
        }
    }
    let known = (0..array.len()).filter(|&row| !array.is_null(row));
    match array.as_any_dictionary_opt() {
        None => of(array, known),
        Some(words) if words.values().is_empty() => None,
        Some(words) => {
            // a dictionary may hold more than the rows do
            let (keys, mut used) = (words.normalized_keys(), vec![false; words.values().len()]);
            known.for_each(|row| used[keys[row]] = true);
            of(words.values().as_ref(), (0..used.len()).filter(move |&at| used[at]))
        }
    }
}
