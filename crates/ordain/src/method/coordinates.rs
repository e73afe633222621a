//! Rows in coordinates of a kernel: a kernel machine on core rows is a linear one there.

use crate::kernel::{Expansion, Factor, Kernel, Part};
use crate::matrix::{Features, Matrix, multiply};
use crate::method::kernels::EXACT;
use crate::random::Random;
use crate::score::Score;
use rayon::prelude::*;

/// Core rows with coordinates in which the kernel of rows is (nearly) the plain inner product: `k L⁻ᵀ`, with k the kernel
/// with the core rows and `L Lᵀ` their kernel matrix.
pub(in crate::method) struct Coordinates {
    core: Core,
    factor: Factor,
    inverse: Vec<f64>,
}

/// The core rows.
enum Core {
    /// Rows of values, with the kernel of two of them.
    Rows(Kernel, Matrix),
    /// Columns of rows that hold the kernel with all of so many columns, as a Gram matrix does.
    Columns(Vec<u32>, usize),
}

impl Coordinates {
    /// At most `most` of some rows of `d` values as the core: all of them, or so many at random.
    pub(in crate::method) fn new(kernel: &Kernel, rows: &[f32], d: usize, most: usize, seed: u64) -> Self {
        Self::of_pool(kernel, &drawn(rows, d, most, seed), d, most)
    }

    /// The same, of [`EXACT`] rows at random those that others explain least, one after another: where rows come again
    /// and again, as comparisons of words do, few of them span all. O(`EXACT` · most · (d + most)).
    pub(in crate::method) fn spanning(kernel: &Kernel, rows: &[f32], d: usize, most: usize, seed: u64) -> Self {
        Self::of_pool(kernel, &drawn(rows, d, EXACT, seed), d, most)
    }

    fn of_pool(kernel: &Kernel, pool: &[f32], d: usize, most: usize) -> Self {
        let factor = Factor::with_at_most(kernel, pool, d, most);
        let core = factor.kept.iter().flat_map(|&i| &pool[i as usize * d..(i as usize + 1) * d]).copied().collect();
        let inverse = factor.inverse();
        Self { core: Core::Rows(*kernel, Matrix::new(core, d)), factor, inverse }
    }

    /// The same where the kernel is given: column `i` of the rows is the kernel with item `i`. At most `most` of `units` are the
    /// core, at random.
    pub(in crate::method) fn given(gram: &Features, units: &[u32], most: usize, seed: u64) -> Self {
        let mut pool = units.to_vec();
        if pool.len() > most {
            Random::new(seed).shuffle(&mut pool);
            pool.truncate(most);
            pool.sort_unstable();
        }
        let value = |i: usize, j: usize| f64::from(gram.value(pool[i] as usize, pool[j] as usize));
        let factor = Factor::of(pool.len(), most, &value);
        let core = factor.kept.iter().map(|&at| pool[at as usize]).collect();
        let inverse = factor.inverse();
        Self { core: Core::Columns(core, gram.cols()), factor, inverse }
    }

    /// How many there are.
    pub(in crate::method) fn len(&self) -> usize {
        self.factor.len()
    }

    /// The coordinates of rows, row after row. O(rows · core · (d + core)), in parallel.
    pub(in crate::method) fn of(&self, rows: &[f32]) -> Vec<f32> {
        const CHUNK: usize = 64;
        let r = self.len();
        let d = match &self.core {
            Core::Rows(_, core) => core.cols(),
            Core::Columns(_, all) => *all,
        };
        let made: Vec<Vec<f32>> = rows
            .par_chunks((CHUNK * d).max(1))
            .map(|rows| {
                let mut near = vec![0.0f32; rows.len() / d.max(1) * r];
                match &self.core {
                    Core::Rows(kernel, core) => kernel.block(rows, core.values(), d, &mut near),
                    Core::Columns(core, _) => {
                        for (near, row) in near.chunks_exact_mut(r.max(1)).zip(rows.chunks_exact(d)) {
                            near.iter_mut().zip(core).for_each(|(near, &j)| *near = row[j as usize]);
                        }
                    }
                }
                let near: Vec<f64> = near.into_iter().map(f64::from).collect();
                let mut out = vec![0.0; near.len()];
                self.factor.feature_rows(&self.inverse, &near, &mut out);
                out.into_iter().map(|x| x as f32).collect()
            })
            .collect();
        made.concat()
    }

    /// The coordinates of some items of a set of so many, at their rows; 0 elsewhere.
    pub(in crate::method) fn at(&self, items: &[f32], units: &[u32], all: usize) -> Features {
        let r = self.len();
        let mut values = vec![0.0; all * r];
        for (made, &i) in self.of(items).chunks_exact(r.max(1)).zip(units) {
            values[i as usize * r..(i as usize + 1) * r].copy_from_slice(made);
        }
        Features::Dense(Matrix::new(values, r))
    }

    /// Weights on coordinates (coordinate after coordinate, one per label) as a sum of kernels per label; where the kernel is given
    /// that is a weight on each column of the core.
    pub(in crate::method) fn score(&self, weights: &[f64], labels: usize) -> Score {
        let r = self.len();
        // β = L⁻ᵀ w, for all labels at once
        let mut beta = vec![0.0; r * labels];
        multiply([r, r, labels], 1.0, (&self.inverse, [1, r]), (weights, [labels, 1]), (&mut beta, labels));
        let (kernel, core) = match &self.core {
            Core::Rows(kernel, core) => (kernel, core),
            Core::Columns(core, all) => {
                let mut weights = vec![0.0; all * labels];
                for (&j, beta) in core.iter().zip(beta.chunks_exact(labels.max(1))) {
                    weights[j as usize * labels..(j as usize + 1) * labels].copy_from_slice(beta);
                }
                return Score::Linear(weights);
            }
        };
        let part = |label: usize| Part {
            query: None,
            documents: (0..r as u32).collect(),
            coefficients: beta.iter().skip(label).step_by(labels).copied().collect(),
        };
        Score::Kernel(Expansion::new(*kernel, core.clone(), (0..labels).map(part).collect()))
    }
}

/// All rows, or so many at random, in their order.
fn drawn(rows: &[f32], d: usize, most: usize, seed: u64) -> Vec<f32> {
    let m = rows.len() / d.max(1);
    let mut drawn: Vec<usize> = (0..m).collect();
    if m > most {
        Random::new(seed).shuffle(&mut drawn);
        drawn.truncate(most);
        drawn.sort_unstable();
    }
    drawn.iter().flat_map(|&i| &rows[i * d..(i + 1) * d]).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::synthetic::Scenes;
    use crate::kernel::Form;
    use crate::method::annotate::kernel_ridge::dense;

    /// Where all items are core items, both ways know the same functions: the scores of a ridge agree.
    #[test]
    fn coordinates_hold_the_kernel() {
        let set = Scenes { items: 30, labels: 5, scenes: 3, ..Scenes::default() }.make();
        let d = set.features.cols();
        let items = dense(&set.features, &set.all());
        for form in [Form::Rbf, Form::Laplace, Form::Linear] {
            let kernel = Kernel { form, gamma: 0.05 };
            let coordinates = Coordinates::new(&kernel, &items, d, 1000, 1);
            let seen = coordinates.at(&items, &set.all(), set.len());
            for i in 0..set.len() {
                for j in 0..set.len() {
                    let (a, b) = (&items[i * d..(i + 1) * d], &items[j * d..(j + 1) * d]);
                    let mut sum = 0.0;
                    seen.each(i, |c, x| sum += f64::from(x) * f64::from(seen.value(j, c)));
                    assert!((sum - kernel.of(a, b)).abs() < 1e-3 * (1.0 + sum.abs()), "{form:?}");
                }
            }
            // and weights on coordinates are kernels at core items
            let weights: Vec<f64> = (0..seen.cols() * 2).map(|at| (at as f64).sin()).collect();
            let (linear, kernels) = (Score::Linear(weights.clone()), coordinates.score(&weights, 2));
            let (mut a, mut b) = ([0.0; 2], [0.0; 2]);
            for i in 0..set.len() {
                linear.labels(&[0.5, -0.5], &seen, i, &mut a);
                kernels.labels(&[0.5, -0.5], &set.features, i, &mut b);
                a.iter().zip(&b).for_each(|(a, b)| assert!((a - b).abs() < 1e-2 * (1.0 + a.abs()), "{a} {b}"));
            }
        }
    }

    /// Of rows that come again and again, as many are kept as there are different ones; of others the most telling.
    #[test]
    fn rows_that_come_again_are_kept_once() {
        let mut random = Random::new(4);
        let different: Vec<f32> = (0..12 * 3).map(|_| random.normal() as f32).collect();
        let rows: Vec<f32> = (0..400).flat_map(|i| different[i % 12 * 3..(i % 12 + 1) * 3].to_vec()).collect();
        let kernel = Kernel { form: Form::Rbf, gamma: 1.0 };
        assert_eq!(Coordinates::spanning(&kernel, &rows, 3, 100, 1).len(), 12);
        let five = Coordinates::spanning(&kernel, &rows, 3, 5, 1);
        assert_eq!(five.len(), 5);
        // what is kept is explained in full
        let Core::Rows(_, core) = &five.core else { unreachable!("rows were given") };
        for row in core.values().chunks_exact(3) {
            let made = five.of(row);
            assert!((made.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-4);
        }
    }
}
