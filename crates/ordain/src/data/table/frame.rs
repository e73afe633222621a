//! Tables that another library holds as Arrow arrays.

use super::arrays::{BLOCK, Taken, by_widths, put_rows, shape, taken, text, weigh, width};
use crate::data::Columns;
use crate::data::losses::Loss;
use crate::error::{Error, Result};
use crate::matrix::Matrix;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::Schema;

/// A table of another library: its features, and the columns that are none.
#[derive(Debug)]
#[non_exhaustive]
pub struct Frame {
    /// Its number of rows.
    pub rows: usize,
    /// The features, row by row; a gap is NaN, and what a float32 does not hold is infinite.
    pub features: Matrix,
    /// Their names, and those that lose much in single precision. A column of vectors has one for each place.
    pub columns: Columns,
    /// The columns that were asked for, by name.
    pub taken: Vec<(String, Taken)>,
}

impl Frame {
    /// Reads the batches of a table whose columns are features, but for those to `take` and those to `leave` out. Names that it does not
    /// have are passed over.
    ///
    /// Cost: one pass over the columns that are read.
    ///
    /// ```
    /// use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
    /// use ordain::data::{Frame, Taken};
    /// use std::sync::Arc;
    /// let price: ArrayRef = Arc::new(Float64Array::from(vec![Some(2.5), None]));
    /// let query: ArrayRef = Arc::new(StringArray::from(vec!["a", "a"]));
    /// let batch = RecordBatch::try_from_iter([("price", price), ("query", query)]).unwrap();
    /// let frame = Frame::read(&batch.schema(), &[batch], &["query".into()], &[])?;
    /// assert_eq!((frame.columns.names.join(","), frame.features.values()[0]), ("price".into(), 2.5));
    /// assert_eq!(frame.taken[0].1, Taken::Words(vec![Some("a".into()), Some("a".into())]));
    /// # Ok::<(), ordain::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Data`] if a feature is neither a number nor a truth value nor a vector of one width.
    pub fn read(schema: &Schema, batches: &[RecordBatch], take: &[String], leave: &[String]) -> Result<Self> {
        let name = |at: usize| schema.field(at).name();
        let wanted = |list: &[String], at: usize| list.contains(name(at));
        let aside = (0..schema.fields().len()).filter(|&at| wanted(take, at));
        let of = |at: usize| batches.iter().map(move |batch| batch.column(at).as_ref());
        let others = aside.map(|at| (name(at).clone(), taken(of(at)))).collect();
        let kept: Vec<usize> =
            (0..schema.fields().len()).filter(|&at| !wanted(take, at) && !wanted(leave, at)).collect();
        let first = batches.iter().find(|batch| batch.num_rows() > 0);
        let firsts = kept.iter().map(|&at| (&**name(at), first.map(|batch| batch.column(at))));
        let (names, widths) = shape(firsts).map_err(|(expected, found)| Error::Data { expected, found })?;
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        let (cols, mut losses) = (names.len(), vec![Loss::default(); names.len()]);
        let mut values = vec![0f32; rows * cols];
        let mut rest = &mut values[..];
        for batch in batches {
            let columns: Vec<ArrayRef> = kept.iter().map(|&at| batch.column(at).clone()).collect();
            let (own, others) = rest.split_at_mut(batch.num_rows() * cols);
            rest = others;
            for (start, block) in (0..).step_by(BLOCK).zip(own.chunks_mut((BLOCK * cols).max(1))) {
                if let Some(k) = put_rows(&columns, &widths, start, block) {
                    return Err(no_numbers(name(kept[k]), columns[k].as_ref(), widths[k]));
                }
                let open = by_widths(&mut losses, &widths).into_iter().zip(&columns);
                let open = open.filter(|(losses, _)| !losses.iter().all(Loss::is_settled));
                open.for_each(|(losses, array)| weigh(array.slice(start, block.len() / cols).as_ref(), losses));
            }
        }
        let coarse = names.iter().zip(&losses).filter(|(_, loss)| loss.is_coarse()).map(|(name, _)| name.clone());
        let columns = Columns { coarse: coarse.collect(), ..Columns::of(names) };
        Ok(Self { rows, features: Matrix::new(values, cols), columns, taken: others })
    }

    /// The cells of a column as text, as they would be read from a file: nothing as "", a list as its numbers between blanks.
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`] if there is no such column; [`Error::Data`] if a cell is not UTF-8.
    pub fn texts(schema: &Schema, batches: &[RecordBatch], column: &str) -> Result<Vec<String>> {
        let names = schema.fields().iter().map(|field| field.name().as_str());
        let at = names.clone().position(|name| name == column);
        let at = at.ok_or_else(|| Error::unknown("column", column, names))?;
        let mut all = vec![];
        for batch in batches {
            let array = batch.column(at).as_ref();
            for row in 0..array.len() {
                let cell = String::from_utf8(text(array, row).into_owned());
                all.push(cell.map_err(|_| Error::Data {
                    expected: format!("text in UTF-8 in column {column:?}"),
                    found: format!("other bytes in row {}", all.len() + 1),
                })?);
            }
        }
        Ok(all)
    }
}

/// The refusal of a column that holds no features.
#[cold]
fn no_numbers(name: &str, array: &dyn Array, places: usize) -> Error {
    match width(array) {
        None => {
            Error::Data { expected: "columns of numbers".into(), found: format!("{name:?} of {}", array.data_type()) }
        }
        Some(_) => Error::Data {
            expected: format!("vectors of {places} numbers in column {name:?}, as in its first row"),
            found: format!("others, of {}", array.data_type()),
        },
    }
}
