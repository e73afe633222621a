//! One score per document, linear in the space of a kernel.

use crate::kernel::Kernel;
use crate::matrix::{axpy_row, dot};
use crate::traits::Scorer;
use rayon::prelude::*;
use std::ops::Range;

/// The kernel of some documents with each other, written out in single precision: 4 n² bytes.
pub struct Gram {
    values: Vec<f32>,
    n: usize,
}

/// Rows that are made at once.
const CHUNK: usize = 128;
/// Sides of the squares in which the matrix is mirrored.
const TILE: usize = 64;
/// Scores that a product takes at once: they stay in the nearest cache.
const WIDTH: usize = 1024;
/// From so many values on, a product is shared among threads.
const SHARED: usize = 1 << 19;

impl Gram {
    /// The matrix of documents with `d` values each. Half of it is made, O(n² d / 2), in parallel, and the other half copied.
    pub fn new(kernel: &Kernel, docs: &[f32], d: usize) -> Self {
        let n = docs.len() / d.max(1);
        let mut values = vec![0.0; n * n];
        values.par_chunks_mut((CHUNK * n).max(1)).enumerate().for_each(|(at, rows)| {
            let (start, count) = (at * CHUNK, rows.len() / n);
            let end = start + count;
            let mut block = vec![0.0; count * end];
            kernel.block(&docs[start * d..end * d], &docs[..end * d], d, &mut block);
            for (row, made) in rows.chunks_exact_mut(n).zip(block.chunks_exact(end)) {
                row[..end].copy_from_slice(made);
            }
        });
        for top in (0..n).step_by(TILE) {
            for left in (top..n).step_by(TILE) {
                for i in top..(top + TILE).min(n) {
                    for j in left.max(i + 1)..(left + TILE).min(n) {
                        values[i * n + j] = values[j * n + i];
                    }
                }
            }
        }
        Self { values, n }
    }

    /// A matrix that is given, row after row.
    ///
    /// ```
    /// let gram = ordain::scorer::kernel_rows::Gram::of(vec![1.0, 0.5, 0.5, 1.0], 2);
    /// assert_eq!(gram.row(1), [0.5, 1.0]);
    /// ```
    pub fn of(values: Vec<f32>, n: usize) -> Self {
        assert_eq!(values.len(), n * n, "a value for each pair");
        Self { values, n }
    }

    /// Number of documents.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// `k(·, i)` for all documents.
    pub fn row(&self, i: usize) -> &[f32] {
        &self.values[i * self.n..(i + 1) * self.n]
    }

    /// `y += Σ a·k(·, i)` over some documents i with their a. O(n) for each; every place of y is summed in the same order
    /// whatever the threads.
    pub fn add_rows(&self, of: &[(u32, f64)], y: &mut [f64]) {
        let part = |(at, y): (usize, &mut [f64])| {
            let of_y = at * WIDTH..at * WIDTH + y.len();
            let cut = |i: u32| &self.row(i as usize)[of_y.clone()];
            let fours = of.chunks_exact(4);
            for &(i, a) in fours.remainder() {
                axpy_row(a, cut(i), y);
            }
            for four in fours {
                let [a, b, c, d] = [0, 1, 2, 3].map(|k| four[k].1);
                let [p, q, r, s] = [0, 1, 2, 3].map(|k| cut(four[k].0));
                for ((((y, &p), &q), &r), &s) in y.iter_mut().zip(p).zip(q).zip(r).zip(s) {
                    *y += (a * f64::from(p) + b * f64::from(q)) + (c * f64::from(r) + d * f64::from(s));
                }
            }
        };
        if of.len() * self.n < SHARED {
            y.chunks_mut(WIDTH).enumerate().for_each(part);
        } else {
            y.par_chunks_mut(WIDTH).enumerate().for_each(part);
        }
    }
}

/// The documents of some lists, scored by `F = Σ_j β_j k(x_j, ·)`.
///
/// A parameter vector is `(β, Kβ)`, of length 2n: it carries its image. So scores are read off, the inner product of the
/// kernel's space is `dot(a, b) = β_a·(Kβ_b)`, and the one product with the kernel is in `pull_back`, O(n) for each document
/// with a slope. Sums of such vectors are such vectors: a solver that uses only sums and `dot` runs unchanged.
///
/// ```
/// use ordain::kernel::{Form, Kernel};
/// use ordain::{scorer::kernel_rows::{Gram, KernelRows}, traits::Scorer};
/// let gram = Gram::new(&Kernel { form: Form::Rbf, gamma: 1.0 }, &[0.0, 1.0, 2.0], 1);
/// let rows = KernelRows::new(&gram, &[0..3]);
/// let mut theta = vec![0.0; rows.dim()];
/// rows.pull_back(0, &[0.0, 2.0, 0.0], &mut theta, &mut Default::default());
/// assert!(theta[1] == 2.0 && theta[4] == 2.0 && rows.dot(&theta, &theta) == 4.0);
/// ```
pub struct KernelRows<'a> {
    gram: &'a Gram,
    lists: &'a [Range<usize>],
    ends: Vec<usize>,
}

impl<'a> KernelRows<'a> {
    /// Lists of documents, each the range of its rows.
    pub fn new(gram: &'a Gram, lists: &'a [Range<usize>]) -> Self {
        let ends = lists.iter().scan(0, |end, list| {
            *end += list.len();
            Some(*end)
        });
        Self { gram, lists, ends: ends.collect() }
    }
}

impl Scorer for KernelRows<'_> {
    /// Documents with a slope.
    type Work = Vec<(u32, f64)>;

    fn dim(&self) -> usize {
        2 * self.gram.len()
    }

    fn len(&self) -> usize {
        self.lists.len()
    }

    fn span(&self, n: usize) -> Range<usize> {
        if n == 0 { 0..self.ends[0] } else { self.ends[n - 1]..self.ends[n] }
    }

    fn scores(&self, n: usize, theta: &[f64], s: &mut [f64], _: &mut Self::Work) {
        s.copy_from_slice(&theta[self.gram.len()..][self.lists[n].clone()]);
    }

    fn pull_back(&self, n: usize, d: &[f64], grad: &mut [f64], work: &mut Self::Work) {
        work.clear();
        work.extend(self.lists[n].clone().zip(d).filter(|(_, d)| **d != 0.0).map(|(i, &d)| (i as u32, d)));
        let (beta, image) = grad.split_at_mut(self.gram.len());
        work.iter().for_each(|&(i, d)| beta[i as usize] += d);
        self.gram.add_rows(work, image);
    }

    fn add_few(&self, n: usize, d: &[(u32, f64)], to: &mut [f64], work: &mut Self::Work) {
        work.clear();
        work.extend(d.iter().map(|&(i, d)| (i + self.lists[n].start as u32, d)));
        let (beta, image) = to.split_at_mut(self.gram.len());
        work.iter().for_each(|&(i, d)| beta[i as usize] += d);
        self.gram.add_rows(work, image);
    }

    fn norm2_few(&self, n: usize, d: &[(u32, f64)], _: &mut Self::Work) -> f64 {
        let start = self.lists[n].start;
        let of = |i: u32, j: u32| f64::from(self.gram.row(start + i as usize)[start + j as usize]);
        d.iter().map(|&(i, a)| a * d.iter().map(|&(j, b)| b * of(i, j)).sum::<f64>()).sum()
    }

    fn dot(&self, a: &[f64], b: &[f64]) -> f64 {
        let n = self.gram.len();
        dot(&a[..n], &b[n..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Form;

    /// Numbers in 0..1 without much of an order.
    fn number(k: usize) -> f64 {
        (k as f64 * 0.754_877_666 + (k as f64).sqrt()).fract()
    }

    #[test]
    fn the_matrix_is_the_kernel_of_all_pairs() {
        for (n, form) in [(0, Form::Rbf), (1, Form::Chi2), (37, Form::Laplace), (300, Form::Rbf), (129, Form::Linear)] {
            let docs: Vec<f32> = (0..n * 5).map(|k| number(k) as f32).collect();
            let kernel = Kernel { form, gamma: 0.7 };
            let gram = Gram::new(&kernel, &docs, 5);
            assert!(gram.len() == n && gram.is_empty() == (n == 0));
            for i in 0..n {
                for j in 0..n {
                    let truth = kernel.of(&docs[i * 5..i * 5 + 5], &docs[j * 5..j * 5 + 5]);
                    assert!((f64::from(gram.row(i)[j]) - truth).abs() < 1e-5 * (1.0 + truth.abs()));
                    assert!(gram.row(i)[j].to_bits() == gram.row(j)[i].to_bits());
                }
            }
        }
    }

    #[test]
    fn products_and_few_slopes_agree_with_sums() {
        let n = 1500; // more than one part, and enough work to be shared
        let docs: Vec<f32> = (0..n * 2).map(|k| 4.0 * number(k) as f32 - 2.0).collect();
        let gram = Gram::new(&Kernel { form: Form::Rbf, gamma: 0.3 }, &docs, 2);
        let lists = [0..700, 700..703, 703..n];
        let rows = KernelRows::new(&gram, &lists);
        let mut work = vec![];
        for q in 0..3 {
            let d: Vec<f64> = lists[q].clone().map(|i| if i % 3 == 0 { 0.0 } else { number(i + 7) - 0.5 }).collect();
            let mut theta = vec![0.0; 2 * n];
            rows.pull_back(q, &d, &mut theta, &mut work);
            for j in (0..n).step_by(97) {
                let truth: f64 = lists[q].clone().zip(&d).map(|(i, d)| d * f64::from(gram.row(i)[j])).sum();
                assert!((theta[n + j] - truth).abs() < 1e-9, "{} {truth}", theta[n + j]);
            }
            let few: Vec<(u32, f64)> = d.iter().enumerate().map(|(i, &d)| (i as u32, d)).take(40).collect();
            let mut to = vec![0.0; 2 * n];
            rows.add_few(q, &few, &mut to, &mut work);
            let norm2 = rows.norm2_few(q, &few, &mut work);
            assert!((norm2 - rows.dot(&to, &to)).abs() < 1e-9 * norm2 && norm2 > 0.0);
            let mut s = vec![0.0; lists[q].len()];
            rows.scores(q, &to, &mut s, &mut work);
            assert_eq!(s, to[n..][lists[q].clone()]);
        }
    }
}
