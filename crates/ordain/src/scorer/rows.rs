//! One score per row (a document, an edge), linear in its scaled features.

use crate::data::Groups;
use crate::data::scale::{Affine, Scaling};
use crate::matrix::{Csr, Features, Matrix, axpy_row, dot_rows};
use crate::pieces::Pieces;
use crate::traits::Scorer;
use rayon::prelude::*;
use std::ops::Range;

/// `s_i = Σ_j θ_j (x_ij − offset_j) · factor_j` for the documents of some queries.
///
/// Offsets and factors are folded into the parameters once per query, so that a row costs one product of its stored
/// values whatever the scaling, sparse rows included. O(values) for scores and for their way back.
#[derive(Clone)]
pub struct Rows<'a> {
    set: Groups<'a>,
    units: &'a [u32],
    scaling: &'a Scaling,
    ends: Vec<usize>,
}

/// Rows that are scored at once, into scratch that stays in the nearest cache.
const BLOCK: usize = 256;
/// Blocks of a job: fewer are not worth a thread.
const JOB: usize = 16;

/// Scratch of [`Rows`]: parameters and gradient in the units of one query.
#[derive(Default)]
pub struct Work {
    theta: Vec<f64>,
    grad: Vec<f64>,
}

/// What one query is scaled by.
enum Local<'a> {
    None,
    All(&'a [f32], &'a [f32]),
    Some(&'a [u32], &'a [f32], &'a [f32]),
}

impl<'a> Rows<'a> {
    /// The documents of the queries `units`, under a scaling that was learned for this set.
    pub fn new(set: impl Into<Groups<'a>>, units: &'a [u32], scaling: &'a Scaling) -> Self {
        let set = set.into();
        let ends = units.iter().scan(0, |end, &q| {
            *end += set.span(q as usize).len();
            Some(*end)
        });
        Self { set, units, scaling, ends: ends.collect() }
    }

    /// All rows as they stand in the data.
    pub fn features(&self) -> &'a Features {
        self.set.features
    }

    /// Offsets and factors, if they are the same for all rows.
    pub fn global(&self) -> Option<&'a Affine> {
        self.scaling.global()
    }

    /// The rows of query `n`, as they stand in the data.
    pub fn rows(&self, n: usize) -> Range<usize> {
        self.set.span(self.units[n] as usize)
    }

    /// Rows of query `n` that are linked, counted from its first, with the features of each pair; none where the set has no links.
    pub fn linked(&self, n: usize) -> Vec<(usize, usize, &'a [f64])> {
        let (span, pairs) = (self.rows(n), self.set.pairs);
        let start = span.start;
        pairs.map_or(vec![], |pairs| pairs.of(span).map(|(a, b, x)| (a - start, b - start, x)).collect())
    }

    fn local(&self, q: usize) -> Local<'a> {
        match self.scaling {
            Scaling::None => Local::None,
            Scaling::Global(Affine { offset, factor }) => Local::All(offset, factor),
            Scaling::Query { affine, starts, columns } => {
                let of = starts[q]..starts[q + 1];
                let (offset, factor) = (&affine.offset[of.clone()], &affine.factor[of.clone()]);
                if columns.is_empty() { Local::All(offset, factor) } else { Local::Some(&columns[of], offset, factor) }
            }
        }
    }

    /// The scaled documents of query `n`, row after row, in single precision.
    pub fn dense(&self, n: usize) -> Vec<f32> {
        let mut out = vec![0.0; self.span(n).len() * self.dim()];
        self.matrix(n, &mut out);
        out.into_iter().map(|x| x as f32).collect()
    }

    /// The scores of all rows of the set, whatever query they belong to; not for a scaling by query.
    ///
    /// O(values), in parallel over blocks of rows, so that one query of a million documents is as fast as many small ones.
    /// Memory is touched once: every value is read once, every score written once, nothing is zeroed before.
    pub fn all_scores(&self, theta: &[f64]) -> Vec<f64> {
        let mut work = Work::default();
        let (theta, shift) = self.folded(&self.local(0), theta, &mut work);
        let rows = self.set.features.rows();
        let block = |b: usize| {
            let mut s = [0.0; BLOCK];
            let of = b * BLOCK..rows.min((b + 1) * BLOCK);
            let len = of.len();
            self.row_scores(of, theta, shift, &mut s[..len]);
            s
        };
        let blocks: Vec<[f64; BLOCK]> =
            (0..rows.div_ceil(BLOCK)).into_par_iter().with_min_len(JOB).map(block).collect();
        let mut s = blocks.into_flattened();
        s.truncate(rows);
        s
    }

    /// Parameters in the units of the stored values, and what is to be taken from each score.
    fn folded<'w>(&self, local: &Local, theta: &'w [f64], work: &'w mut Work) -> (&'w [f64], f64) {
        let mut shift = 0.0;
        match *local {
            Local::None => return (theta, 0.0),
            Local::All(offset, factor) => {
                work.theta.resize(theta.len(), 0.0);
                for (((own, theta), &factor), &offset) in work.theta.iter_mut().zip(theta).zip(factor).zip(offset) {
                    *own = theta * f64::from(factor);
                    shift += *own * f64::from(offset);
                }
            }
            // columns that the query does not have are never read
            Local::Some(columns, offset, factor) => {
                work.theta.resize(theta.len(), 0.0);
                for ((&j, &factor), &offset) in columns.iter().zip(factor).zip(offset) {
                    let own = theta[j as usize] * f64::from(factor);
                    work.theta[j as usize] = own;
                    shift += own * f64::from(offset);
                }
            }
        }
        (&work.theta, shift)
    }

    fn row_scores(&self, rows: Range<usize>, theta: &[f64], shift: f64, s: &mut [f64]) {
        match self.set.features {
            Features::Dense(m) => dense_scores(m, rows, theta, shift, s),
            Features::Sparse(m) => sparse_scores(m, rows, theta, shift, s),
        }
    }

    fn row_sums(&self, rows: Range<usize>, d: &[f64], grad: &mut [f64]) {
        match self.set.features {
            Features::Dense(m) => m.some_rows(rows).zip(d).for_each(|(row, &d)| axpy_row(d, row, grad)),
            Features::Sparse(m) => rows.zip(d).for_each(|(row, &d)| {
                let (columns, values) = m.row(row);
                columns.iter().zip(values).for_each(|(&j, &x)| grad[j as usize] += d * f64::from(x));
            }),
        }
    }
}

fn dense_scores(m: &Matrix, rows: Range<usize>, theta: &[f64], shift: f64, s: &mut [f64]) {
    dot_rows(&m.values()[rows.start * m.cols()..rows.end * m.cols()], m.cols(), theta, s);
    s.iter_mut().for_each(|s| *s -= shift);
}

fn sparse_scores(m: &Csr, rows: Range<usize>, theta: &[f64], shift: f64, s: &mut [f64]) {
    for (row, s) in rows.zip(s) {
        let (columns, values) = m.row(row);
        *s = columns.iter().zip(values).map(|(&j, &x)| theta[j as usize] * f64::from(x)).sum::<f64>() - shift;
    }
}

impl Scorer for Rows<'_> {
    type Work = Work;

    fn dim(&self) -> usize {
        self.set.features.cols()
    }

    fn len(&self) -> usize {
        self.units.len()
    }

    fn span(&self, n: usize) -> Range<usize> {
        if n == 0 { 0..self.ends[0] } else { self.ends[n - 1]..self.ends[n] }
    }

    fn pieces(&self) -> Pieces {
        self.set.pieces()
    }

    fn unit(&self, n: usize) -> usize {
        self.units[n] as usize
    }

    fn scores(&self, n: usize, theta: &[f64], s: &mut [f64], work: &mut Work) {
        let q = self.units[n] as usize;
        let rows = self.set.span(q);
        let (theta, shift) = self.folded(&self.local(q), theta, work);
        self.row_scores(rows, theta, shift, s);
    }

    fn pull_back(&self, n: usize, d: &[f64], grad: &mut [f64], work: &mut Work) {
        let q = self.units[n] as usize;
        let rows = self.set.span(q);
        let total: f64 = d.iter().sum();
        match self.local(q) {
            Local::None => self.row_sums(rows, d, grad),
            Local::All(offset, factor) => {
                work.grad.clear();
                work.grad.resize(grad.len(), 0.0);
                self.row_sums(rows, d, &mut work.grad);
                for (((grad, own), &factor), &offset) in grad.iter_mut().zip(&work.grad).zip(factor).zip(offset) {
                    *grad += f64::from(factor) * (own - f64::from(offset) * total);
                }
            }
            Local::Some(columns, offset, factor) => {
                work.grad.resize(grad.len(), 0.0);
                columns.iter().for_each(|&j| work.grad[j as usize] = 0.0);
                self.row_sums(rows, d, &mut work.grad);
                for ((&j, &factor), &offset) in columns.iter().zip(factor).zip(offset) {
                    grad[j as usize] += f64::from(factor) * (work.grad[j as usize] - f64::from(offset) * total);
                }
            }
        }
    }

    fn matrix(&self, n: usize, out: &mut [f64]) -> bool {
        let q = self.units[n] as usize;
        let (rows, d) = (self.set.span(q), self.dim());
        match self.set.features {
            Features::Dense(m) => {
                let values = &m.values()[rows.start * d..rows.end * d];
                out.iter_mut().zip(values).for_each(|(out, &x)| *out = f64::from(x));
            }
            Features::Sparse(_) => {
                out.fill(0.0);
                for (row, out) in rows.zip(out.chunks_exact_mut(d)) {
                    self.set.features.each(row, |j, x| out[j] = f64::from(x));
                }
            }
        }
        match self.local(q) {
            Local::None => {}
            Local::All(offset, factor) => {
                for row in out.chunks_exact_mut(d) {
                    for ((x, &offset), &factor) in row.iter_mut().zip(offset).zip(factor) {
                        *x = (*x - f64::from(offset)) * f64::from(factor);
                    }
                }
            }
            // a column that the query does not have is 0 in all its rows
            Local::Some(columns, offset, factor) => {
                for row in out.chunks_exact_mut(d) {
                    for ((&j, &offset), &factor) in columns.iter().zip(offset).zip(factor) {
                        row[j as usize] = (row[j as usize] - f64::from(offset)) * f64::from(factor);
                    }
                }
            }
        }
        true
    }
}
