//! Features of a data set, dense or sparse, and the few dense operations that the solvers need.
//!
//! Features are stored as `f32`, one block per data set; parameters, sums and scores are `f64`.

mod eigen;
pub(crate) mod runs;

pub use eigen::eigen;

use crate::error::{Error, Result};
use rayon::prelude::*;
use std::fmt;
use std::sync::Arc;

/// Values that somebody else keeps: an array of another language, read where it stands.
pub type Lent = Arc<dyn AsRef<[f32]> + Send + Sync>;

/// Where the values of a matrix are.
#[derive(Clone)]
enum Values {
    Own(Vec<f32>),
    Lent(Lent),
}

/// A row-major block of `f32`, its own or [lent](Matrix::lent).
#[derive(Clone)]
pub struct Matrix {
    values: Values,
    cols: usize,
}

impl Default for Matrix {
    fn default() -> Self {
        Self::new(vec![], 0)
    }
}

impl PartialEq for Matrix {
    fn eq(&self, other: &Self) -> bool {
        self.cols == other.cols && self.values() == other.values()
    }
}

impl fmt::Debug for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Matrix").field("values", &self.values()).field("cols", &self.cols).finish()
    }
}

impl Matrix {
    /// A matrix of `values.len() / cols` rows.
    pub fn new(values: Vec<f32>, cols: usize) -> Self {
        assert!(cols == 0 && values.is_empty() || cols > 0 && values.len().is_multiple_of(cols));
        Self { values: Values::Own(values), cols }
    }

    /// A matrix of values that are read where they stand; they are copied only when they are to be changed.
    ///
    /// ```
    /// use ordain::matrix::Matrix;
    /// let lent = Matrix::lent(std::sync::Arc::new([1.0, 2.0, 3.0, 4.0]), 2);
    /// assert_eq!((lent.rows(), lent.row(1)), (2, &[3.0, 4.0][..]));
    /// ```
    pub fn lent(values: Lent, cols: usize) -> Self {
        assert!(cols > 0 && (*values).as_ref().len().is_multiple_of(cols));
        Self { values: Values::Lent(values), cols }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.values().len().checked_div(self.cols).unwrap_or(0)
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Row `i`.
    pub fn row(&self, i: usize) -> &[f32] {
        &self.values()[i * self.cols..(i + 1) * self.cols]
    }

    /// Some rows, one after the other.
    pub fn some_rows(&self, of: std::ops::Range<usize>) -> impl Iterator<Item = &[f32]> {
        self.values()[of.start * self.cols..of.end * self.cols].chunks_exact(self.cols.max(1))
    }

    /// All values, row after row.
    #[inline]
    pub fn values(&self) -> &[f32] {
        match &self.values {
            Values::Own(values) => values,
            Values::Lent(values) => (**values).as_ref(),
        }
    }

    /// All values, to change in place.
    pub fn values_mut(&mut self) -> &mut [f32] {
        if let Values::Lent(values) = &self.values {
            self.values = Values::Own((**values).as_ref().to_vec());
        }
        match &mut self.values {
            Values::Own(values) => values,
            Values::Lent(_) => &mut [],
        }
    }

    /// All values, row after row, without a copy unless they are lent.
    pub fn into_values(self) -> Vec<f32> {
        match self.values {
            Values::Own(values) => values,
            Values::Lent(values) => (*values).as_ref().to_vec(),
        }
    }
}

/// Compressed sparse rows; the columns of a row ascend, and a column occurs once in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Csr {
    ends: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f32>,
    cols: usize,
}

impl Csr {
    /// Rows given by where each one ends in `columns` and `values`.
    pub fn new(ends: Vec<usize>, columns: Vec<u32>, values: Vec<f32>, cols: usize) -> Self {
        assert_eq!(columns.len(), values.len());
        assert_eq!(ends.last().copied().unwrap_or(0), values.len());
        Self { ends, columns, values, cols }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.ends.len()
    }

    /// Columns and values of row `i`.
    pub fn row(&self, i: usize) -> (&[u32], &[f32]) {
        let of = if i == 0 { 0 } else { self.ends[i - 1] }..self.ends[i];
        (&self.columns[of.clone()], &self.values[of])
    }

    /// Stored values of some rows, one after the other.
    pub fn values_of(&self, rows: std::ops::Range<usize>) -> &[f32] {
        let end = |row: usize| if row == 0 { 0 } else { self.ends[row - 1] };
        &self.values[end(rows.start)..end(rows.end)]
    }

    /// Stored values, row after row.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Stored values with their columns, to change in place.
    pub fn entries_mut(&mut self) -> (&[u32], &mut [f32]) {
        (&self.columns, &mut self.values)
    }

    /// Where each row ends, and the columns and values of all rows.
    pub fn into_parts(self) -> (Vec<usize>, Vec<u32>, Vec<f32>) {
        (self.ends, self.columns, self.values)
    }
}

/// The features of a data set: dense where most values are there, sparse where most are zero.
#[derive(Clone, Debug, PartialEq)]
pub enum Features {
    /// Every value stored.
    Dense(Matrix),
    /// Zeros left out.
    Sparse(Csr),
}

impl Features {
    /// Whether a value is missing (NaN). O(values), in parallel.
    pub fn has_gaps(&self) -> bool {
        let values = match self {
            Self::Dense(m) => m.values(),
            Self::Sparse(m) => m.values(),
        };
        // without a branch per value, so that it runs at the speed of memory
        values.par_chunks(1 << 14).any(|part| part.iter().fold(false, |gap, x| gap | x.is_nan()))
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Self::Dense(m) => m.rows(),
            Self::Sparse(m) => m.rows(),
        }
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        match self {
            Self::Dense(m) => m.cols(),
            Self::Sparse(m) => m.cols,
        }
    }

    /// Calls `visit(column, value)` for each value of row `i` that is stored, columns ascending.
    pub fn each(&self, i: usize, mut visit: impl FnMut(usize, f32)) {
        match self {
            Self::Dense(m) => m.row(i).iter().enumerate().for_each(|(j, &x)| visit(j, x)),
            Self::Sparse(m) => {
                let (columns, values) = m.row(i);
                columns.iter().zip(values).for_each(|(&j, &x)| visit(j as usize, x));
            }
        }
    }

    /// The value of row `i` in column `j`; what a sparse row does not store is 0. O(log row) where sparse.
    pub fn value(&self, i: usize, j: usize) -> f32 {
        match self {
            Self::Dense(m) => m.row(i)[j],
            Self::Sparse(m) => {
                let (columns, values) = m.row(i);
                columns.binary_search(&(j as u32)).map_or(0.0, |at| values[at])
            }
        }
    }

    /// All values of all rows, zeros among them.
    pub fn to_dense(&self) -> Matrix {
        match self {
            Self::Dense(m) => m.clone(),
            Self::Sparse(m) => {
                let mut values = vec![0.0; m.rows() * m.cols];
                for (i, row) in values.chunks_exact_mut(m.cols.max(1)).enumerate() {
                    self.each(i, |j, x| row[j] = x);
                }
                Matrix::new(values, m.cols)
            }
        }
    }

    /// Puts other values into column `j`, one for each row. O(rows) where dense, O(values) where sparse.
    ///
    /// ```
    /// use ordain::matrix::{Csr, Features};
    /// let mut x = Features::Sparse(Csr::new(vec![1, 2], vec![0, 2], vec![5.0, 6.0], 3));
    /// x.replace_column(2, &[1.0, 0.0]);
    /// assert_eq!((x.value(0, 0), x.value(0, 2), x.value(1, 2)), (5.0, 1.0, 0.0));
    /// ```
    pub fn replace_column(&mut self, j: usize, new: &[f32]) {
        match self {
            Self::Dense(m) => {
                let cols = m.cols();
                m.values_mut().chunks_exact_mut(cols).zip(new).for_each(|(row, x)| row[j] = *x);
            }
            Self::Sparse(m) => {
                let (mut ends, mut columns, mut values) = (vec![], vec![], vec![]);
                for (i, &x) in new.iter().enumerate() {
                    let (own, old) = m.row(i);
                    let at = own.partition_point(|&column| (column as usize) < j);
                    let after = at + usize::from(own.get(at) == Some(&(j as u32)));
                    columns.extend_from_slice(&own[..at]);
                    values.extend_from_slice(&old[..at]);
                    if x != 0.0 {
                        columns.push(j as u32);
                        values.push(x);
                    }
                    columns.extend_from_slice(&own[after..]);
                    values.extend_from_slice(&old[after..]);
                    ends.push(values.len());
                }
                *m = Csr::new(ends, columns, values, m.cols);
            }
        }
    }

    /// Puts row `from[i]` at place `i` for every `i`; `from` is a permutation of the rows. In place where dense.
    pub fn permute_rows(&mut self, from: &[u32]) {
        match self {
            Self::Dense(m) => {
                let cols = m.cols;
                let values = m.values_mut();
                let mut done = vec![false; from.len()];
                let mut held = vec![0.0; cols];
                for start in 0..from.len() {
                    if done[start] || from[start] as usize == start {
                        continue;
                    }
                    held.copy_from_slice(&values[start * cols..(start + 1) * cols]);
                    let mut at = start;
                    loop {
                        done[at] = true;
                        let next = from[at] as usize;
                        if next == start {
                            values[at * cols..(at + 1) * cols].copy_from_slice(&held);
                            break;
                        }
                        values.copy_within(next * cols..(next + 1) * cols, at * cols);
                        at = next;
                    }
                }
            }
            Self::Sparse(_) => *self = self.select_rows(from),
        }
    }

    /// The rows in the list, in its order.
    pub fn select_rows(&self, from: &[u32]) -> Self {
        match self {
            Self::Dense(m) => {
                let mut values = Vec::with_capacity(from.len() * m.cols);
                from.iter().for_each(|&i| values.extend_from_slice(m.row(i as usize)));
                Self::Dense(Matrix::new(values, m.cols))
            }
            Self::Sparse(m) => {
                let mut out =
                    Csr { ends: Vec::with_capacity(from.len()), columns: vec![], values: vec![], cols: m.cols };
                for &i in from {
                    let (columns, values) = m.row(i as usize);
                    out.columns.extend_from_slice(columns);
                    out.values.extend_from_slice(values);
                    out.ends.push(out.values.len());
                }
                Self::Sparse(out)
            }
        }
    }

    /// The same with a column more for each of `flagged`: 1 where that one has a gap, else 0. O(values).
    pub(crate) fn with_flags(&self, flagged: &[u32]) -> Self {
        let cols = self.cols() + flagged.len();
        match self {
            Self::Dense(m) => {
                let mut values = Vec::with_capacity(m.rows() * cols);
                for i in 0..m.rows() {
                    let row = m.row(i);
                    values.extend_from_slice(row);
                    values.extend(flagged.iter().map(|&j| f32::from(u8::from(row[j as usize].is_nan()))));
                }
                Self::Dense(Matrix::new(values, cols))
            }
            Self::Sparse(m) => {
                let mut out = Csr { ends: vec![], columns: vec![], values: vec![], cols };
                for i in 0..m.rows() {
                    let (columns, values) = m.row(i);
                    out.columns.extend_from_slice(columns);
                    out.values.extend_from_slice(values);
                    for (flag, j) in (self.cols() as u32..).zip(flagged) {
                        if columns.binary_search(j).is_ok_and(|at| values[at].is_nan()) {
                            out.columns.push(flag);
                            out.values.push(1.0);
                        }
                    }
                    out.ends.push(out.values.len());
                }
                Self::Sparse(out)
            }
        }
    }

    /// The same rows with column `j` of the result taken from column `from[j]`; `None` makes a column of zeros.
    pub fn select_columns(&self, from: &[Option<u32>]) -> Self {
        match self {
            Self::Dense(m) => {
                let mut values = Vec::with_capacity(m.rows() * from.len());
                for i in 0..m.rows() {
                    let row = m.row(i);
                    values.extend(from.iter().map(|j| j.map_or(0.0, |j| row[j as usize])));
                }
                Self::Dense(Matrix::new(values, from.len()))
            }
            Self::Sparse(m) => {
                let mut to = vec![None; m.cols];
                for (j, old) in from.iter().enumerate() {
                    if let Some(old) = old {
                        to[*old as usize] = Some(j as u32);
                    }
                }
                let mut out = Csr { ends: vec![], columns: vec![], values: vec![], cols: from.len() };
                let mut row: Vec<(u32, f32)> = vec![];
                for i in 0..m.rows() {
                    let (columns, values) = m.row(i);
                    row.clear();
                    row.extend(columns.iter().zip(values).filter_map(|(&j, &x)| to[j as usize].map(|j| (j, x))));
                    row.sort_unstable_by_key(|&(j, _)| j);
                    out.columns.extend(row.iter().map(|&(j, _)| j));
                    out.values.extend(row.iter().map(|&(_, x)| x));
                    out.ends.push(out.values.len());
                }
                Self::Sparse(out)
            }
        }
    }
}

/// `Σ a_i b_i`, in four interleaved sums so that it runs in vector registers; the order is fixed.
#[inline]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (a4, b4) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = a4.remainder().iter().zip(b4.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a4.zip(b4) {
        for k in 0..4 {
            sums[k] += x[k] * y[k];
        }
    }
    (sums[0] + sums[2]) + (sums[1] + sums[3]) + rest
}

/// `Σ x_i w_i` of a stored row and parameters.
#[inline]
pub fn dot_row(row: &[f32], w: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (r8, w8) = (row.chunks_exact(8), w.chunks_exact(8));
    let rest: f64 = r8.remainder().iter().zip(w8.remainder()).map(|(&x, y)| f64::from(x) * y).sum();
    for (x, y) in r8.zip(w8) {
        for k in 0..8 {
            sums[k] += f64::from(x[k]) * y[k];
        }
    }
    ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7])) + rest
}

/// [`dot_row`] of each of some stored rows of `cols` values: the same bits, in wider registers where the machine has them.
#[allow(unsafe_code)] // the one call of code for a newer processor, after a look at the processor
pub fn dot_rows(values: &[f32], cols: usize, w: &[f64], out: &mut [f64]) {
    let rows = values.chunks_exact(cols.max(1)).zip(out);
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn avx2<'a>(rows: impl Iterator<Item = (&'a [f32], &'a mut f64)>, w: &[f64]) {
            rows.for_each(|(row, out)| *out = wide::dot_row(row, w));
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            return unsafe { avx2(rows, w) };
        }
    }
    rows.for_each(|(row, out)| *out = dot_row(row, w));
}

/// Four doubles in a register.
#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::{
        _mm_add_pd, _mm_cvtsd_f64, _mm_setr_ps, _mm_unpackhi_pd, _mm256_add_pd, _mm256_castpd256_pd128,
        _mm256_cvtps_pd, _mm256_extractf128_pd, _mm256_mul_pd, _mm256_setr_pd, _mm256_setzero_pd,
    };

    /// [`dot_row`](super::dot_row), every sum in the same order: lanes 0 to 3 of its eight, and lanes 4 to 7.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn dot_row(row: &[f32], w: &[f64]) -> f64 {
        let ((r8, r_rest), (w8, w_rest)) = (row.as_chunks::<8>(), w.as_chunks::<8>());
        let (mut lower, mut upper) = (_mm256_setzero_pd(), _mm256_setzero_pd());
        for (x, y) in r8.iter().zip(w8) {
            let values = _mm256_cvtps_pd(_mm_setr_ps(x[0], x[1], x[2], x[3]));
            lower = _mm256_add_pd(lower, _mm256_mul_pd(values, _mm256_setr_pd(y[0], y[1], y[2], y[3])));
            let values = _mm256_cvtps_pd(_mm_setr_ps(x[4], x[5], x[6], x[7]));
            upper = _mm256_add_pd(upper, _mm256_mul_pd(values, _mm256_setr_pd(y[4], y[5], y[6], y[7])));
        }
        let rest: f64 = r_rest.iter().zip(w_rest).map(|(&x, y)| f64::from(x) * y).sum();
        let four = _mm256_add_pd(lower, upper);
        let two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd::<1>(four));
        _mm_cvtsd_f64(two) + _mm_cvtsd_f64(_mm_unpackhi_pd(two, two)) + rest
    }
}

/// `y += a·x`.
#[inline]
pub fn axpy(a: f64, x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * x;
    }
}

/// `y += a·row`.
#[inline]
pub fn axpy_row(a: f64, row: &[f32], y: &mut [f64]) {
    for (y, &x) in y.iter_mut().zip(row) {
        *y += a * f64::from(x);
    }
}

/// Rows of a triangle that are inverted at once.
const PANEL: usize = 128;
/// From this size on a matrix is factored in blocks.
const BLOCKED: usize = 256;
/// Columns of such a block.
const BLOCK: usize = 64;

/// Cholesky's factor `L` of a symmetric positive definite `H = L Lᵀ` (`d`×`d`, row-major), in place of its lower half.
///
/// O(d³/3), from 256 rows on by products of blocks. Returns `false`, with `h` spoilt, where `H` is not positive definite.
pub fn factor_spd(h: &mut [f64], d: usize) -> bool {
    if d < BLOCKED {
        return factor_columns(h, d, 0..d);
    }
    let mut panel = vec![];
    for start in (0..d).step_by(BLOCK) {
        let end = (start + BLOCK).min(d);
        let (rows, width) = (d - start, end - start);
        // what the columns before take away from these: L[start.., ..start] · L[start..end, ..start]ᵀ
        panel.clear();
        panel.resize(rows * width, 0.0);
        let left = &h[start * d..];
        multiply([rows, start, width], 1.0, (left, [d, 1]), (left, [1, d]), (&mut panel, width));
        for (row, taken) in h[start * d..].chunks_exact_mut(d).zip(panel.chunks_exact(width)) {
            axpy(-1.0, taken, &mut row[start..end]);
        }
        if !factor_columns(h, d, start..end) {
            return false;
        }
    }
    true
}

/// Factors some columns, of which those before have been taken away already.
fn factor_columns(h: &mut [f64], d: usize, of: std::ops::Range<usize>) -> bool {
    let first = of.start;
    for j in of {
        let (above, below) = h.split_at_mut((j + 1) * d);
        let row_j = &mut above[j * d..];
        let pivot = row_j[j] - dot(&row_j[first..j], &row_j[first..j]);
        if !(pivot > 0.0 && pivot.is_finite()) {
            return false;
        }
        let pivot = pivot.sqrt();
        row_j[j] = pivot;
        for row_i in below.chunks_exact_mut(d) {
            row_i[j] = (row_i[j] - dot(&row_i[first..j], &row_j[first..j])) / pivot;
        }
    }
    true
}

/// `L⁻¹` of a triangle of `r` rows, row after row; what stands above the diagonal of `L` is not read. O(r³/3), by products
/// of blocks.
pub fn invert_lower(lower: &[f64], r: usize) -> Vec<f64> {
    let (mut inverse, mut taken) = (vec![0.0; r * r], vec![]);
    for start in (0..r).step_by(PANEL) {
        let end = (start + PANEL).min(r);
        // what the rows before take away from these: L[start..end, ..start] · L⁻¹[..start, ..start]
        taken.clear();
        taken.resize((end - start) * start, 0.0);
        let left = (&lower[start * r..], [r, 1]);
        multiply([end - start, start, start], -1.0, left, (&inverse, [r, 1]), (&mut taken, start));
        for i in start..end {
            let (above, row) = inverse.split_at_mut(i * r);
            row[..start].copy_from_slice(&taken[(i - start) * start..(i - start + 1) * start]);
            row[i] = 1.0;
            for j in start..i {
                axpy(-lower[i * r + j], &above[j * r..j * r + j + 1], row);
            }
            row[..=i].iter_mut().for_each(|x| *x /= lower[i * r + i]);
        }
    }
    inverse
}

/// The diagonal of `L⁻ᵀ L⁻¹`, from `L⁻¹`. O(r²).
pub(crate) fn squares_by_column(inverse: &[f64], r: usize) -> Vec<f64> {
    let mut sum = vec![0.0; r];
    for row in inverse.chunks_exact(r.max(1)) {
        sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += x * x);
    }
    sum
}

/// Solves `L Lᵀ X = B` for `m` columns at once, in place of `B` (`d`×`m`, row-major). O(d² m), by products of blocks.
pub fn solve_factored_columns(factor: &[f64], d: usize, b: &mut [f64]) {
    if d == 0 || b.is_empty() {
        return;
    }
    let m = b.len() / d;
    let starts: Vec<usize> = (0..d).step_by(BLOCK).collect();
    let mut taken = vec![];
    for &start in &starts {
        let end = (start + BLOCK).min(d);
        let (done, rest) = b.split_at_mut(start * m);
        taken.clear();
        taken.resize((end - start) * m, 0.0);
        multiply([end - start, start, m], 1.0, (&factor[start * d..], [d, 1]), (done, [m, 1]), (&mut taken, m));
        axpy(-1.0, &taken, &mut rest[..(end - start) * m]);
        for i in start..end {
            let (before, row) = rest.split_at_mut((i - start) * m);
            for (j, x) in before.chunks_exact(m).enumerate() {
                axpy(-factor[i * d + start + j], x, &mut row[..m]);
            }
            row[..m].iter_mut().for_each(|x| *x /= factor[i * d + i]);
        }
    }
    for &start in starts.iter().rev() {
        let end = (start + BLOCK).min(d);
        let (before, done) = b.split_at_mut(end * m);
        let here = &mut before[start * m..];
        taken.clear();
        taken.resize((end - start) * m, 0.0);
        // rows below, transposed: Lᵀ[start..end, end..] · X[end..]
        let below = factor.get(end * d + start..).unwrap_or(&[]);
        multiply([end - start, d - end, m], 1.0, (below, [1, d]), (done, [m, 1]), (&mut taken, m));
        axpy(-1.0, &taken, here);
        for i in (start..end).rev() {
            let (row, after) = here[(i - start) * m..].split_at_mut(m);
            for (j, x) in after.chunks_exact(m).enumerate() {
                axpy(-factor[(i + 1 + j) * d + i], x, row);
            }
            row.iter_mut().for_each(|x| *x /= factor[i * d + i]);
        }
    }
}

/// Solves `L Lᵀ x = b` with the factor of [`factor_spd`], in place of `b`. O(d²).
///
/// ```
/// use ordain::matrix::{factor_spd, solve_factored};
/// let (mut h, mut b) = (vec![4.0, 2.0, 2.0, 3.0], vec![2.0, 1.0]);
/// assert!(factor_spd(&mut h, 2));
/// solve_factored(&h, &mut b);
/// assert_eq!(b, [0.5, 0.0]);
/// ```
pub fn solve_factored(factor: &[f64], b: &mut [f64]) {
    let d = b.len();
    for i in 0..d {
        b[i] = (b[i] - dot(&factor[i * d..i * d + i], &b[..i])) / factor[i * d + i];
    }
    for i in (0..d).rev() {
        b[i] /= factor[i * d + i];
        let (head, x) = b.split_at_mut(i);
        axpy(-x[0], &factor[i * d..i * d + i], head);
    }
}

/// Adds `Zᵀ Y` to the lower half of `out`, for row-major `Z` and `Y` of `rows`×`d` whose product is symmetric.
///
/// The upper left quarter is left out of the work of the lower rows: three quarters of a full product. What stands above the
/// diagonal is spoilt; [`mirror`] makes it right.
pub fn add_symmetric_product(z: &[f64], y: &[f64], d: usize, out: &mut [f64]) {
    if d == 0 || z.is_empty() {
        return;
    }
    let rows = z.len() / d;
    assert!(y.len() == z.len() && out.len() == d * d && rows * d == z.len());
    // a multiple of the width of the vector kernel
    let half = if d < 16 { d } else { (d / 2).next_multiple_of(8) };
    product(z, y, rows, d, 0..half, half, out);
    product(z, y, rows, d, half..d, d, out);
}

/// Copies the lower half of a `d`×`d` matrix to its upper half.
pub fn mirror(out: &mut [f64], d: usize) {
    for i in 0..d {
        for j in 0..i {
            out[j * d + i] = out[i * d + j];
        }
    }
}

/// The rows `of` and the first `columns` columns of the product.
fn product(z: &[f64], y: &[f64], rows: usize, d: usize, of: std::ops::Range<usize>, columns: usize, out: &mut [f64]) {
    if !of.is_empty() {
        multiply([of.len(), rows, columns], 1.0, (&z[of.start..], [1, d]), (y, [d, 1]), (&mut out[of.start * d..], d));
    }
}

/// `C += α·A·B` for `A` of `m`×`k`, `B` of `k`×`n` and `C` of `m`×`n`; `A` and `B` come with the steps from row to row and
/// from column to column, `C` with the one from row to row.
#[allow(unsafe_code)] // the one call that takes raw pointers; all three lengths are checked before it
pub fn multiply(
    [m, k, n]: [usize; 3],
    alpha: f64,
    (a, [a_row, a_col]): (&[f64], [usize; 2]),
    (b, [b_row, b_col]): (&[f64], [usize; 2]),
    (c, c_row): (&mut [f64], usize),
) {
    if m == 0 || k == 0 || n == 0 {
        return;
    }
    assert!((m - 1) * a_row + (k - 1) * a_col < a.len());
    assert!((k - 1) * b_row + (n - 1) * b_col < b.len());
    assert!((m - 1) * c_row + n <= c.len() && (n <= c_row || m == 1));
    // SAFETY: the last element of each matrix is inside its slice, and rows of C do not overlap.
    unsafe {
        matrixmultiply::dgemm(
            m,
            k,
            n,
            alpha,
            a.as_ptr(),
            a_row as isize,
            a_col as isize,
            b.as_ptr(),
            b_row as isize,
            b_col as isize,
            1.0,
            c.as_mut_ptr(),
            c_row as isize,
            1,
        );
    }
}

/// The same in single precision.
#[allow(unsafe_code)] // as above
pub fn multiply_f32(
    [m, k, n]: [usize; 3],
    alpha: f32,
    (a, [a_row, a_col]): (&[f32], [usize; 2]),
    (b, [b_row, b_col]): (&[f32], [usize; 2]),
    (c, c_row): (&mut [f32], usize),
) {
    if m == 0 || k == 0 || n == 0 {
        return;
    }
    assert!((m - 1) * a_row + (k - 1) * a_col < a.len());
    assert!((k - 1) * b_row + (n - 1) * b_col < b.len());
    assert!((m - 1) * c_row + n <= c.len() && (n <= c_row || m == 1));
    // SAFETY: the last element of each matrix is inside its slice, and rows of C do not overlap.
    unsafe {
        matrixmultiply::sgemm(
            m,
            k,
            n,
            alpha,
            a.as_ptr(),
            a_row as isize,
            a_col as isize,
            b.as_ptr(),
            b_row as isize,
            b_col as isize,
            1.0,
            c.as_mut_ptr(),
            c_row as isize,
            1,
        );
    }
}

/// Refuses a number that is not finite.
pub fn finite(what: &'static str, x: f64) -> Result<f64> {
    if x.is_finite() { Ok(x) } else { Err(Error::NotFinite { what }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(a: &[f64], b: &[f64], tol: f64) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(x, y)| (x - y).abs() <= tol * (1.0 + y.abs()))
    }

    proptest! {
        #[test]
        fn products_equal_plain_loops(d in 1usize..40, rows in 0usize..20, seed in 0u64..1000) {
            let x = |k: usize| (((k as u64 * 2_654_435_761 + seed * 97) % 1009) as f64 / 1009.0) - 0.5;
            let z: Vec<f64> = (0..rows * d).map(x).collect();
            let y: Vec<f64> = (0..rows * d).map(|k| x(k + 7919)).collect();
            let mut fast = vec![0.25; d * d];
            add_symmetric_product(&z, &z, d, &mut fast);
            mirror(&mut fast, d);
            let slow: Vec<f64> = (0..d * d)
                .map(|k| 0.25 + (0..rows).map(|i| z[i * d + k / d] * z[i * d + k % d]).sum::<f64>())
                .collect();
            prop_assert!(close(&fast, &slow, 1e-13));
            let row: Vec<f32> = z.iter().map(|&v| v as f32).collect();
            let wide: Vec<f64> = row.iter().map(|&v| f64::from(v)).collect();
            let plain: f64 = wide.iter().zip(&y).map(|(a, b)| a * b).sum();
            prop_assert!((dot(&wide, &y) - plain).abs() < 1e-12);
            prop_assert!((dot_row(&row, &y) - plain).abs() < 1e-12);
        }

        #[test]
        fn rows_at_once_equal_row_by_row(d in 1usize..40, rows in 0usize..20, seed in 0u64..1000) {
            let x = |k: usize| (((k as u64 * 2_654_435_761 + seed * 89) % 1009) as f64 / 1009.0 - 0.5) * 10f64.powi(k as i32 % 7);
            let values: Vec<f32> = (0..rows * d).map(|k| x(k) as f32).collect();
            let w: Vec<f64> = (0..d).map(|j| x(j + 7919)).collect();
            let mut fast = vec![f64::NAN; rows];
            dot_rows(&values, d, &w, &mut fast);
            let slow: Vec<u64> = values.chunks_exact(d).map(|row| dot_row(row, &w).to_bits()).collect();
            prop_assert_eq!(fast.iter().map(|s| s.to_bits()).collect::<Vec<_>>(), slow);
        }

        #[test]
        fn cholesky_solves(d in 1usize..12, seed in 0u64..1000) {
            let x = |k: usize| (((k as u64 * 2_654_435_761 + seed * 131) % 1013) as f64 / 1013.0) - 0.5;
            let z: Vec<f64> = (0..2 * d * d).map(x).collect();
            let mut h = vec![0.0; d * d];
            add_symmetric_product(&z, &z, d, &mut h);
            (0..d).for_each(|j| h[j * d + j] += 0.1);
            let truth: Vec<f64> = (0..d).map(|k| x(k + 31)).collect();
            let mut b: Vec<f64> = (0..d).map(|i| dot(&h[i * d..(i + 1) * d], &truth)).collect();
            prop_assert!(factor_spd(&mut h, d));
            solve_factored(&h, &mut b);
            prop_assert!(close(&b, &truth, 1e-9));
        }

        #[test]
        fn blocks_solve_as_columns_do(d in prop_oneof![1usize..20, 250usize..300], m in 1usize..5, seed in 0u64..20) {
            let x = |k: usize| (((k as u64 * 2_654_435_761 + seed * 131) % 1013) as f64 / 1013.0) - 0.5;
            let z: Vec<f64> = (0..(d + 3) * d).map(x).collect();
            let mut h = vec![0.0; d * d];
            add_symmetric_product(&z, &z, d, &mut h);
            mirror(&mut h, d);
            (0..d).for_each(|j| h[j * d + j] += 1.0);
            let truth: Vec<f64> = (0..d * m).map(|k| x(k + 31)).collect();
            let mut b = vec![0.0; d * m];
            multiply([d, d, m], 1.0, (&h, [d, 1]), (&truth, [m, 1]), (&mut b, m));
            let (mut blocks, mut columns) = (h.clone(), h.clone());
            prop_assert!(factor_spd(&mut blocks, d) && factor_columns(&mut columns, d, 0..d));
            for i in 0..d {
                prop_assert!(close(&blocks[i * d..i * d + i + 1], &columns[i * d..i * d + i + 1], 1e-10));
            }
            solve_factored_columns(&blocks, d, &mut b);
            prop_assert!(close(&b, &truth, 1e-8));
        }

        #[test]
        fn rows_move_as_told(n in 1usize..30, seed in 0u64..1000) {
            let mut from: Vec<u32> = (0..n as u32).collect();
            from.sort_by_key(|&i| (u64::from(i) * 7919 + seed * 104_729) % 1009);
            let values: Vec<f32> = (0..n * 3).map(|k| k as f32).collect();
            let dense = Features::Dense(Matrix::new(values.clone(), 3));
            let sparse = Features::Sparse(Csr::new(
                (1..=n).map(|i| 3 * i).collect(), (0..n * 3).map(|k| k as u32 % 3).collect(), values, 3));
            for before in [dense, sparse] {
                let mut after = before.clone();
                after.permute_rows(&from);
                for (i, &old) in from.iter().enumerate() {
                    for j in 0..3 {
                        prop_assert_eq!(after.value(i, j).to_bits(), before.value(old as usize, j).to_bits());
                    }
                }
                let picked = before.select_columns(&[Some(2), None, Some(0)]);
                prop_assert_eq!(picked.value(n - 1, 0).to_bits(), before.value(n - 1, 2).to_bits());
                prop_assert_eq!(picked.value(n - 1, 1).to_bits(), 0);
                prop_assert_eq!(picked.value(n - 1, 2).to_bits(), before.value(n - 1, 0).to_bits());
            }
        }
    }

    #[test]
    fn an_indefinite_matrix_is_refused() {
        assert!(!factor_spd(&mut [1.0, 2.0, 2.0, 1.0], 2));
        assert!(!factor_spd(&mut [f64::NAN], 1));
    }
}
