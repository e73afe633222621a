//! Tensors made smaller in every mode but that of the samples: `D − 1` orthogonal tensor decomposition.

use super::axes;
use crate::error::{Error, Interrupt, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Samples that one thread adds up before sums are joined, in this order: no number of threads changes a bit.
const PIECE: usize = 16;

/// Factors `U_k` with orthonormal columns, one for each mode, that minimise `Σ_n |X_n − G_n ×₁ U_1 … ×_D U_D|²` with
/// `G_n = X_n ×₁ U_1' … ×_D U_D'`: the features of a sample are its core `G_n`.
///
/// Ding, Huang, Luo, *Tensor reduction error analysis*, 2008; Luo, Huang 2011, section 4.2, reduces 40 × 40 × 5 pixels to 5 × 5 × 4.
/// Alternating eigenproblems: with the other factors fixed, the best `U_k` are the first eigenvectors of
/// `Σ_n Y_n Y_n'`, where `Y_n` is sample n reduced in the other modes and unfolded in mode k. The error never rises. For
/// samples of one mode it is the singular value decomposition.
///
/// ```
/// use ordain::picture::tensor::Reduction;
/// // 3 samples of 2 x 2 that are multiples of one picture
/// let samples = [1.0, 2.0, 2.0, 4.0, -1.0, -2.0, -2.0, -4.0, 0.5, 1.0, 1.0, 2.0];
/// let reduction = Reduction::learn(&samples, &[2, 2], &[1, 1], &ordain::Interrupt::default())?;
/// assert!(reduction.error() < 1e-12);
/// let core = reduction.apply(&samples[..4])?;
/// assert!((core[0].abs() - 5.0).abs() < 1e-12); // all of its length
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reduction {
    sizes: Vec<usize>,
    ranks: Vec<usize>,
    /// The columns of each factor as rows: `ranks[k]` × `sizes[k]`.
    factors: Vec<Vec<f64>>,
    /// Sum of squares that is lost, after each round.
    errors: Vec<f64>,
}

impl Reduction {
    /// Learns the factors from samples that stand one after the other, each `sizes[0] × sizes[1] × …` numbers with the last
    /// index running fastest. A round costs O(samples · Π sizes · Σ ranks).
    ///
    /// # Errors
    ///
    /// [`Error::Data`] where the sizes do not fit the samples, or a rank is 0 or above its size.
    pub fn learn(samples: &[f64], sizes: &[usize], ranks: &[usize], stop: &Interrupt) -> Result<Self> {
        let size: usize = sizes.iter().product();
        if sizes.len() != ranks.len() || ranks.iter().zip(sizes).any(|(r, s)| *r == 0 || r > s) {
            return Err(Error::Data {
                expected: format!("for each of the sizes {} a rank from 1 to that size", by(sizes)),
                found: by(ranks),
            });
        }
        if size == 0 || samples.is_empty() || !samples.len().is_multiple_of(size) {
            return Err(Error::Data {
                expected: format!("samples of {} numbers, and at least one", by(sizes)),
                found: format!("{} numbers", samples.len()),
            });
        }
        let mut this = Self {
            sizes: sizes.to_vec(),
            ranks: ranks.to_vec(),
            factors: sizes.iter().map(|&s| identity(s)).collect(),
            errors: vec![],
        };
        let total = captured(samples);
        // first round: every mode by itself, the others whole
        let mut begun = vec![];
        for mode in 0..sizes.len() {
            stop.check()?;
            begun.push(this.best(samples, mode, &vec![false; sizes.len()]).0);
        }
        this.factors = begun;
        let all = vec![true; sizes.len()];
        for _ in 0..200 {
            let mut kept = 0.0;
            for mode in 0..sizes.len() {
                stop.check()?;
                (this.factors[mode], kept) = this.best(samples, mode, &all);
            }
            let error = (total - kept).max(0.0);
            let before = this.errors.last().copied();
            this.errors.push(before.map_or(error, |before| error.min(before)));
            if before.is_some_and(|before| before - error <= 1e-12 * total) || sizes.len() == 1 {
                break;
            }
        }
        Ok(this)
    }

    /// The best factor of a mode when the others that are `used` reduce, and the sum of squares that it keeps.
    fn best(&self, samples: &[f64], mode: usize, used: &[bool]) -> (Vec<f64>, f64) {
        let (size, rank) = (self.sizes[mode], self.ranks[mode]);
        let whole: usize = self.sizes.iter().product();
        let piece = |piece: &[f64]| {
            let mut sum = vec![0.0; size * size];
            for sample in piece.chunks_exact(whole) {
                let (mut tensor, mut shape) = (sample.to_vec(), self.sizes.clone());
                for (k, factor) in self.factors.iter().enumerate() {
                    if k != mode && used[k] {
                        tensor = reduced(&tensor, &shape, k, factor, self.ranks[k]);
                        shape[k] = self.ranks[k];
                    }
                }
                add_unfolded(&tensor, &shape, mode, &mut sum);
            }
            sum
        };
        let pieces: Vec<Vec<f64>> = samples.par_chunks(whole * PIECE).map(piece).collect();
        let sum = pieces.into_iter().reduce(|mut a, b| {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            a
        });
        let (values, vectors) = axes::falling(&sum.unwrap_or_default(), size);
        (vectors[..rank * size].to_vec(), values[..rank].iter().sum())
    }

    /// The core of a sample, its features: `ranks[0] × ranks[1] × …` numbers.
    ///
    /// # Errors
    ///
    /// [`Error::Data`] where the sample has another size.
    pub fn apply(&self, sample: &[f64]) -> Result<Vec<f64>> {
        if sample.len() != self.sizes.iter().product::<usize>() {
            return Err(Error::Data {
                expected: format!("a sample of {} numbers", by(&self.sizes)),
                found: sample.len().to_string(),
            });
        }
        let (mut tensor, mut shape) = (sample.to_vec(), self.sizes.clone());
        for (k, factor) in self.factors.iter().enumerate() {
            tensor = reduced(&tensor, &shape, k, factor, self.ranks[k]);
            shape[k] = self.ranks[k];
        }
        Ok(tensor)
    }

    /// The sample that has this core.
    pub fn restore(&self, core: &[f64]) -> Vec<f64> {
        let (mut tensor, mut shape) = (core.to_vec(), self.ranks.clone());
        for (k, factor) in self.factors.iter().enumerate() {
            let (size, rank) = (self.sizes[k], self.ranks[k]);
            let turned: Vec<f64> = (0..size).flat_map(|i| (0..rank).map(move |r| factor[r * size + i])).collect();
            tensor = reduced(&tensor, &shape, k, &turned, size);
            shape[k] = size;
        }
        tensor
    }

    /// The sum of squares that the cores do not hold.
    pub fn error(&self) -> f64 {
        self.errors.last().copied().unwrap_or(0.0)
    }

    /// The error after each round.
    pub fn errors(&self) -> &[f64] {
        &self.errors
    }

    /// The factor of a mode: as many rows as its rank, orthonormal.
    pub fn factor(&self, mode: usize) -> &[f64] {
        &self.factors[mode]
    }

    /// Sizes of a sample.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Sizes of a core.
    pub fn ranks(&self) -> &[usize] {
        &self.ranks
    }

    /// Whether sizes, ranks, factors and errors are those that [`Reduction::learn`] can give, as those of a stored reduction
    /// have to be.
    pub fn is_whole(&self) -> bool {
        let sizes = self.sizes.iter().try_fold(1usize, |all, size| all.checked_mul(*size));
        !self.sizes.is_empty()
            && sizes.is_some()
            && self.sizes.len() == self.ranks.len()
            && self.sizes.len() == self.factors.len()
            && self.ranks.iter().zip(&self.sizes).all(|(r, s)| *r > 0 && r <= s)
            && self.factors.iter().enumerate().all(|(k, factor)| {
                Some(factor.len()) == self.ranks[k].checked_mul(self.sizes[k])
                    && axes::are_orthonormal(factor, self.sizes[k])
            })
            && self.errors.is_sorted_by(|before, after| before >= after)
            && self.errors.last().is_some_and(|error| *error >= 0.0)
    }
}

fn by(sizes: &[usize]) -> String {
    sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ")
}

fn identity(n: usize) -> Vec<f64> {
    (0..n * n).map(|at| f64::from(u8::from(at / n == at % n))).collect()
}

/// The sum of squares, in pieces of fixed size.
fn captured(values: &[f64]) -> f64 {
    let sums: Vec<f64> = values.par_chunks(1 << 14).map(|piece| piece.iter().map(|x| x * x).sum()).collect();
    sums.into_iter().sum()
}

/// Mode `k` of a tensor multiplied by the rows of `factor`.
fn reduced(tensor: &[f64], shape: &[usize], k: usize, factor: &[f64], rank: usize) -> Vec<f64> {
    let (size, inner) = (shape[k], shape[k + 1..].iter().product::<usize>());
    let mut out = vec![0.0; tensor.len() / size * rank];
    for (from, to) in tensor.chunks_exact(size * inner).zip(out.chunks_exact_mut(rank * inner)) {
        for (row, to) in factor.chunks_exact(size).zip(to.chunks_exact_mut(inner)) {
            for (u, from) in row.iter().zip(from.chunks_exact(inner)) {
                to.iter_mut().zip(from).for_each(|(to, from)| *to += u * from);
            }
        }
    }
    out
}

/// Adds `Y Y'` of the tensor unfolded in mode `k`, its lower half.
fn add_unfolded(tensor: &[f64], shape: &[usize], k: usize, sum: &mut [f64]) {
    let (size, inner) = (shape[k], shape[k + 1..].iter().product::<usize>());
    for block in tensor.chunks_exact(size * inner) {
        for i in 0..size {
            for j in 0..=i {
                sum[i * size + j] +=
                    block[i * inner..(i + 1) * inner].iter().zip(&block[j * inner..]).map(|(a, b)| a * b).sum::<f64>();
            }
        }
    }
}
