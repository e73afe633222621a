//! Text parsed in pieces on all threads, and rows of features put together from the pieces in the order of the file.

use super::losses::{SAMPLE, Suspects};
use super::source::{Source, control, control_name};
use crate::data::rank::letor::Piece;
use crate::error::{Error, Result, Way};
use crate::matrix::{Csr, Features, Matrix};
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

/// Size of the pieces that are parsed in parallel; it does not depend on the number of threads, nor does any result.
const PIECE: usize = 256 << 10;

/// The first line of a piece that does not follow the format.
pub(crate) struct Problem {
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) expected: Expected,
    pub(crate) found: String,
}

/// Where a line is wrong (from 0), what was expected there, and how many bytes are shown.
pub(crate) type Refusal = (usize, Expected, usize);

/// What was expected.
pub(crate) struct Expected {
    pub(crate) text: Cow<'static, str>,
    /// Whether a value is missing, which an option allows.
    gap: bool,
}

impl Expected {
    /// A value, where there is none.
    pub(crate) fn value(text: impl Into<Cow<'static, str>>) -> Self {
        Self { text: text.into(), gap: true }
    }
}

impl<T: Into<Cow<'static, str>>> From<T> for Expected {
    fn from(text: T) -> Self {
        Self { text: text.into(), gap: false }
    }
}

impl Problem {
    /// The problem of line number `line`, whose text is given.
    pub(super) fn new(line: usize, text: &[u8], (at, expected, len): Refusal) -> Self {
        let shown = &text[at.min(text.len())..(at + len.min(60)).min(text.len())];
        let found = match String::from_utf8_lossy(shown).trim_ascii() {
            _ if control(&shown[..shown.len().min(1)]).is_some() => control_name(shown[0]),
            "" if text[at.min(text.len())..].trim_ascii().is_empty() => "the end of the line".to_owned(),
            "" => "nothing".to_owned(),
            word => format!("{word:?}"),
        };
        Self { line, column: at + 1, expected, found }
    }

    /// The error, where `before` lines come before those of the piece.
    pub(super) fn error(&self, path: &Path, before: usize) -> Error {
        let error = Error::Parse {
            path: path.into(),
            line: before + self.line,
            column: self.column,
            expected: self.expected.text.to_string(),
            found: self.found.clone(),
        };
        if self.expected.gap { error.or(Way::gaps()) } else { error }
    }
}

/// Calls `parse` on pieces of `block` and of all that follows it in the source, and `take` on each in order. `parse` is told how many
/// rows of the piece to look at in double precision: all of the first block, a few of the others.
///
/// Three things are done at a time: the last block is put away, this one is parsed, the next one is read.
pub(super) fn pieces<P: Default + Send + Sync>(
    source: &mut Source,
    mut block: Vec<u8>,
    parse: impl Fn(&mut P, &[u8], usize) + Sync,
    mut take: impl FnMut(&P) -> Result<()> + Send,
) -> Result<()> {
    let (mut next, mut ready, mut look) = (vec![], 0, usize::MAX);
    let (mut parsed, mut parsing): (Vec<P>, Vec<P>) = (vec![], vec![]);
    while !block.is_empty() || ready > 0 {
        let cuts = cut(&block);
        if parsing.len() < cuts.len() {
            parsing.resize_with(cuts.len(), P::default);
        }
        let (done, ()) = rayon::join(
            || {
                parsed[..ready].iter().try_for_each(&mut take)?;
                source.next_block(&mut next)
            },
            || parsing.par_iter_mut().zip(&cuts).for_each(|(piece, of)| parse(piece, &block[of.clone()], look)),
        );
        done?;
        (ready, look) = (cuts.len(), SAMPLE);
        std::mem::swap(&mut parsed, &mut parsing);
        std::mem::swap(&mut block, &mut next);
    }
    Ok(())
}

#[derive(Default)]
enum Layout {
    #[default]
    Empty,
    Regular {
        first: u32,
        width: usize,
    },
    Irregular {
        columns: Vec<u32>,
        ends: Vec<usize>,
    },
}

/// The features of the rows read so far.
#[derive(Default)]
pub(super) struct Rows {
    count: usize,
    values: Vec<f32>,
    layout: Layout,
    suspects: Suspects,
}

impl Rows {
    /// Rows of a table with this number of columns follow.
    pub(super) fn of_table(&mut self, width: usize) {
        self.layout = Layout::Regular { first: 1, width };
    }

    /// Adds the row of a table.
    pub(super) fn push(&mut self, row: &[f32]) {
        self.values.extend_from_slice(row);
        self.count += 1;
    }

    /// Number of stored values.
    pub(super) fn stored(&self) -> usize {
        self.values.len()
    }

    /// Adds the rows of a piece.
    pub(super) fn piece(&mut self, piece: &Piece) {
        let rows = piece.grades.len();
        match (&mut self.layout, piece.regular) {
            _ if rows == 0 => return,
            (Layout::Empty, Some((first, width))) => self.layout = Layout::Regular { first, width },
            (Layout::Regular { first, width }, Some(other)) if (*first, *width) == other => {}
            _ => {
                let (columns, ends) = self.irregular();
                let offset = columns.len();
                match piece.regular {
                    Some((first, width)) => {
                        for row in 1..=rows {
                            columns.extend((0..width as u32).map(|j| first + j));
                            ends.push(offset + row * width);
                        }
                    }
                    None => {
                        columns.extend_from_slice(&piece.columns);
                        ends.extend(piece.ends.iter().map(|end| offset + end));
                    }
                }
            }
        }
        self.values.extend_from_slice(&piece.values);
        self.count += rows;
        self.suspects.merge(&piece.suspects);
    }

    /// The indices of columns that lose much in single precision.
    pub(super) fn coarse(&self) -> Vec<u32> {
        self.suspects.coarse().collect()
    }

    /// The columns and row ends of the irregular layout, written out for the rows before.
    fn irregular(&mut self) -> (&mut Vec<u32>, &mut Vec<usize>) {
        let before = match self.layout {
            Layout::Irregular { .. } => None,
            Layout::Empty => Some((0, 0)),
            Layout::Regular { first, width } => Some((first, width)),
        };
        if let Some((first, width)) = before {
            let columns = (0..self.count).flat_map(|_| (0..width as u32).map(|j| first + j)).collect();
            self.layout = Layout::Irregular { columns, ends: (1..=self.count).map(|row| row * width).collect() };
        }
        match &mut self.layout {
            Layout::Irregular { columns, ends } => (columns, ends),
            _ => unreachable!("the layout was made irregular above"),
        }
    }

    /// The matrix and the index of each of its columns: dense where at least a quarter of the values are there.
    pub(super) fn features(self) -> (Features, Vec<u32>) {
        let rows = self.count;
        match self.sorted(&[]) {
            Stored::Whole(matrix, ids) => (Features::Dense(matrix), ids),
            Stored::Some { columns, ends, values, ids } if 4 * values.len() >= rows * ids.len() => {
                let mut dense = vec![0.0; rows * ids.len()];
                let mut start = 0;
                for (row, &end) in ends.iter().enumerate() {
                    for k in start..end {
                        dense[row * ids.len() + columns[k] as usize] = values[k];
                    }
                    start = end;
                }
                (Features::Dense(Matrix::new(dense, ids.len())), ids)
            }
            Stored::Some { columns, ends, values, ids } => {
                (Features::Sparse(Csr::new(ends, columns, values, ids.len())), ids)
            }
        }
    }

    /// The matrix and the index of each of its columns, those in `also` among them: dense only where every row has all.
    pub(super) fn sparse_features(mut self, also: &[u32]) -> (Features, Vec<u32>) {
        let whole = match self.layout {
            Layout::Regular { first, width } => also.iter().all(|id| id.wrapping_sub(first) < width as u32),
            _ => false,
        };
        if !whole {
            self.irregular();
        }
        match self.sorted(also) {
            Stored::Whole(matrix, ids) => (Features::Dense(matrix), ids),
            Stored::Some { columns, ends, values, ids } => {
                (Features::Sparse(Csr::new(ends, columns, values, ids.len())), ids)
            }
        }
    }

    fn sorted(mut self, also: &[u32]) -> Stored {
        let mut values = std::mem::take(&mut self.values);
        values.shrink_to_fit();
        match self.layout {
            Layout::Empty => Stored::Whole(Matrix::default(), vec![]),
            Layout::Regular { first, width } => {
                Stored::Whole(Matrix::new(values, width), (first..first + width as u32).collect())
            }
            Layout::Irregular { mut columns, ends } => {
                let mut ids = distinct(&columns);
                if !also.is_empty() {
                    ids.extend_from_slice(also);
                    ids.sort_unstable();
                    ids.dedup();
                }
                if let (Some(&first), Some(&last)) = (ids.first(), ids.last()) {
                    // an index between others that no row names is a column of zeros, unless most of them are such
                    let first = first.min(1);
                    if ((last - first) as usize) < 2 * ids.len() {
                        ids = (first..=last).collect();
                    }
                }
                let place: HashMap<u32, u32> = ids.iter().copied().zip(0..).collect();
                let whole = ids.last().is_some_and(|&last| (last - ids[0]) as usize == ids.len() - 1);
                for column in &mut columns {
                    *column = if whole { *column - ids[0] } else { place[column] };
                }
                Stored::Some { columns, ends, values, ids }
            }
        }
    }
}

/// Rows with the index of each column of theirs.
enum Stored {
    Whole(Matrix, Vec<u32>),
    Some { columns: Vec<u32>, ends: Vec<usize>, values: Vec<f32>, ids: Vec<u32> },
}

/// The indices that occur, ascending: by a table where they are not much larger than their number, else by sorting.
pub(super) fn distinct(columns: &[u32]) -> Vec<u32> {
    let largest = columns.iter().copied().max().unwrap_or(0) as usize;
    if largest < 1024 + 4 * columns.len() {
        let mut seen = vec![false; largest + 1];
        columns.iter().for_each(|&column| seen[column as usize] = true);
        return (0..).zip(&seen).filter(|(_, seen)| **seen).map(|(id, _)| id).collect();
    }
    let mut ids = columns.to_vec();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Ranges of about `PIECE` bytes that end at line ends.
fn cut(block: &[u8]) -> Vec<Range<usize>> {
    let (mut cuts, mut start) = (vec![], 0);
    while start < block.len() {
        let end = match block.get(start + PIECE..).and_then(|rest| memchr::memchr(b'\n', rest)) {
            Some(more) => start + PIECE + more + 1,
            None => block.len(),
        };
        cuts.push(start..end);
        start = end;
    }
    cuts
}
