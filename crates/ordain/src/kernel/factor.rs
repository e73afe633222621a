//! A triangular factor of the kernel matrix of some documents, without those that add nothing.

use super::Kernel;
use crate::matrix::{dot, invert_lower, multiply, squares_by_column};

/// `K_SS = L Lᵀ` for documents S, found with pivots: documents that others (nearly) make up, such as duplicates, are left out.
///
/// With θ the coordinates in which the kernel's inner product is the plain one, the function `Σ β_j k(x_j, ·)` has `β = L⁻ᵀ θ`, and its values at documents
/// with kernel rows `k` are `(k L⁻ᵀ) θ`: a kernel machine on S is a linear one on these features.
///
/// ```
/// use ordain::kernel::{Factor, Form, Kernel};
/// let docs = [0.0, 1.0, 1.0, 5.0]; // the second and the third are the same
/// let factor = Factor::new(&Kernel { form: Form::Rbf, gamma: 1.0 }, &docs, 1);
/// assert_eq!(factor.kept.len(), 3);
/// ```
pub struct Factor {
    /// The documents that were kept, the one that tells most first.
    pub kept: Vec<u32>,
    /// L, row after row.
    lower: Vec<f64>,
}

/// A document is left out when what it adds is below this share of the largest diagonal value.
const DROP: f64 = 1e-7;
/// Rows or columns that are taken at once in products with triangles.
const PANEL: usize = 128;

/// Pivots after which the matrix is brought up to date.
const PIVOTS: usize = 64;

/// The first of the largest.
fn largest(left: &[f64]) -> Option<usize> {
    (0..left.len()).fold(None, |best: Option<usize>, i| match best {
        Some(b) if left[b] >= left[i] => Some(b),
        _ => Some(i),
    })
}

impl Factor {
    /// Pivoted Cholesky in double precision, O(m² d + m² r) for r kept of m documents with `d` values each, by products of blocks: after each panel of
    /// pivots what they explain is taken from the whole matrix (LAPACK's `dpstrf`), of which 8 m² bytes are kept.
    pub fn new(kernel: &Kernel, docs: &[f32], d: usize) -> Self {
        let m = docs.len() / d.max(1);
        let row = |i: usize| &docs[i * d..(i + 1) * d];
        let mut rest = vec![0.0; m * m];
        for i in 0..m {
            for j in 0..=i {
                let value = kernel.of(row(i), row(j));
                (rest[i * m + j], rest[j * m + i]) = (value, value);
            }
        }
        let mut left: Vec<f64> = (0..m).map(|i| rest[i * m + i]).collect();
        let top = left.iter().copied().fold(0.0, f64::max);
        // the columns of L, of all documents: row i of panel p stands at `panels[p][i * PIVOTS..]`
        let (mut kept, mut panels): (Vec<u32>, Vec<Vec<f64>>) = (vec![], vec![]);
        'all: loop {
            let mut panel = vec![0.0; m * PIVOTS];
            for at in 0..PIVOTS {
                let Some(pivot) = largest(&left).filter(|&i| left[i] > DROP * top) else {
                    panels.push(panel);
                    break 'all;
                };
                let (root, own) = (left[pivot].sqrt(), panel[pivot * PIVOTS..][..at].to_vec());
                for (i, left) in left.iter_mut().enumerate().filter(|(_, left)| **left >= 0.0) {
                    let line = &mut panel[i * PIVOTS..][..at + 1];
                    let seen: f64 = line.iter().zip(&own).map(|(a, b)| a * b).sum();
                    line[at] = if i == pivot { root } else { (rest[pivot * m + i] - seen) / root };
                    *left = if i == pivot { -1.0 } else { (*left - line[at] * line[at]).max(0.0) };
                }
                kept.push(pivot as u32);
            }
            multiply([m, PIVOTS, m], -1.0, (&panel, [PIVOTS, 1]), (&panel, [1, PIVOTS]), (&mut rest, m));
            panels.push(panel);
        }
        let r = kept.len();
        let mut lower = vec![0.0; r * r];
        for (at, (&i, line)) in kept.iter().zip(lower.chunks_exact_mut(r.max(1))).enumerate() {
            for (panel, line) in panels.iter().zip(line[..at + 1].chunks_mut(PIVOTS)) {
                line.copy_from_slice(&panel[i as usize * PIVOTS..][..line.len()]);
            }
        }
        Self { kept, lower }
    }

    /// The same, of at most so many documents: at each step the one that those before it explain least (O(m r (d + r))).
    pub fn with_at_most(kernel: &Kernel, docs: &[f32], d: usize, most: usize) -> Self {
        let row = |i: usize| &docs[i * d..(i + 1) * d];
        Self::of(docs.len() / d.max(1), most, &|i, j| kernel.of(row(i), row(j)))
    }

    /// The same of at most `most` of `m` documents whose kernel is given by their numbers.
    pub fn of(m: usize, most: usize, kernel: &dyn Fn(usize, usize) -> f64) -> Self {
        let mut left: Vec<f64> = (0..m).map(|i| kernel(i, i)).collect();
        let top = left.iter().copied().fold(0.0, f64::max);
        let (mut kept, mut rows): (Vec<u32>, Vec<Vec<f64>>) = (vec![], vec![vec![]; m]);
        while kept.len() < most.min(m) {
            let Some(pivot) = largest(&left).filter(|&i| left[i] > DROP * top) else { break };
            let (root, own) = (left[pivot].sqrt(), rows[pivot].clone());
            for i in 0..m {
                if left[i] < 0.0 {
                    continue; // kept already
                }
                let value = if i == pivot { root } else { (kernel(i, pivot) - dot(&rows[i], &own)) / root };
                rows[i].push(value);
                left[i] = if i == pivot { -1.0 } else { (left[i] - value * value).max(0.0) };
            }
            kept.push(pivot as u32);
        }
        let lower = kept
            .iter()
            .enumerate()
            .flat_map(|(at, &i)| {
                let mut line = rows[i as usize].clone();
                line.truncate(at + 1);
                line.resize(kept.len(), 0.0);
                line
            })
            .collect();
        Self { kept, lower }
    }

    /// Number of documents that were kept.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// `k L⁻ᵀ` in place, for a kernel row with the kept documents in their order. O(r²).
    pub fn features(&self, k: &mut [f64]) {
        let r = self.len();
        for i in 0..r {
            let line = &self.lower[i * r..i * r + i];
            let seen: f64 = line.iter().zip(&*k).map(|(l, x)| l * x).sum();
            k[i] = (k[i] - seen) / self.lower[i * r + i];
        }
    }

    /// `L⁻ᵀ θ` in place: coefficients of the kept documents. O(r²).
    pub fn coefficients(&self, theta: &mut [f64]) {
        let r = self.len();
        for i in (0..r).rev() {
            theta[i] /= self.lower[i * r + i];
            let x = theta[i];
            theta[..i].iter_mut().zip(&self.lower[i * r..]).for_each(|(t, l)| *t -= l * x);
        }
    }

    /// `Lᵀ β` in place: the coordinates of a function given by its coefficients. O(r²).
    pub fn coordinates(&self, beta: &mut [f64]) {
        let r = self.len();
        for j in 0..r {
            beta[j] = (j..r).map(|i| self.lower[i * r + j] * beta[i]).sum();
        }
    }

    /// `L⁻¹`, row after row. O(r³/3), by products of blocks.
    pub fn inverse(&self) -> Vec<f64> {
        invert_lower(&self.lower, self.len())
    }

    /// `k L⁻ᵀ` for many kernel rows at once, given [`Self::inverse`]. O(rows · r²/2), by products of blocks.
    pub fn feature_rows(&self, inverse: &[f64], k: &[f64], out: &mut [f64]) {
        let r = self.len();
        if r == 0 {
            return;
        }
        assert!(inverse.len() == r * r && k.len() == out.len() && k.len().is_multiple_of(r), "rows of r values");
        out.fill(0.0);
        for start in (0..r).step_by(PANEL) {
            let end = (start + PANEL).min(r);
            let right = (&inverse[start * r..], [1, r]);
            multiply([k.len() / r, end, end - start], 1.0, (k, [r, 1]), right, (&mut out[start..], r));
        }
    }

    /// The diagonal of `K_SS⁻¹`: 1/that is the squared distance of a document to the span of the others. O(r³/3).
    pub fn inverse_diagonal(&self) -> Vec<f64> {
        squares_by_column(&self.inverse(), self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Form;
    use crate::random::Random;

    #[test]
    fn factors_give_the_kernel_back() {
        let mut random = Random::new(1);
        for round in 0..40 {
            let (m, d) = (1 + random.below(20), 1 + random.below(4));
            let mut docs: Vec<f32> = (0..m * d).map(|_| random.normal() as f32).collect();
            if round % 2 == 0 && m > 2 {
                docs.copy_within(0..d, (m - 1) * d); // a duplicate
            }
            let kernel = Kernel { form: [Form::Rbf, Form::Laplace, Form::Linear][round % 3], gamma: 0.5 };
            let factor = Factor::new(&kernel, &docs, d);
            let (r, row) = (factor.len(), |i: u32| &docs[i as usize * d..(i as usize + 1) * d]);
            assert!(r <= m && (round % 2 == 1 || m <= 2 || r < m));
            // every document, kept or not: its features give its kernel values with all others
            let features: Vec<Vec<f64>> = (0..m as u32)
                .map(|i| {
                    let mut k: Vec<f64> = factor.kept.iter().map(|&j| kernel.of(row(i), row(j))).collect();
                    factor.features(&mut k);
                    k
                })
                .collect();
            for i in 0..m {
                for j in 0..m {
                    let made: f64 = features[i].iter().zip(&features[j]).map(|(a, b)| a * b).sum();
                    let truth = kernel.of(row(i as u32), row(j as u32));
                    assert!((made - truth).abs() < 1e-3 * (1.0 + truth.abs()), "{made} {truth}");
                }
            }
            // coefficients and coordinates are inverse, and scores agree
            let theta: Vec<f64> = (0..r).map(|_| random.normal()).collect();
            let mut beta = theta.clone();
            factor.coefficients(&mut beta);
            let mut back = beta.clone();
            factor.coordinates(&mut back);
            for (a, b) in theta.iter().zip(&back) {
                assert!((a - b).abs() < 1e-6 * (1.0 + b.abs()));
            }
            for (i, own) in features.iter().enumerate() {
                let by_features: f64 = own.iter().zip(&theta).map(|(f, t)| f * t).sum();
                let by_kernel: f64 =
                    factor.kept.iter().zip(&beta).map(|(&j, b)| b * kernel.of(row(i as u32), row(j))).sum();
                assert!((by_features - by_kernel).abs() < 1e-5 * (1.0 + by_kernel.abs()));
            }
            // leaving a document out of the others
            for (at, inverse) in factor.inverse_diagonal().iter().enumerate() {
                let others: Vec<f32> = (0..r).filter(|&k| k != at).flat_map(|k| row(factor.kept[k]).to_vec()).collect();
                let rest = Factor::new(&kernel, &others, d);
                let mut k: Vec<f64> = rest
                    .kept
                    .iter()
                    .map(|&j| kernel.of(row(factor.kept[at]), &others[j as usize * d..][..d]))
                    .collect();
                rest.features(&mut k);
                let own = kernel.of(row(factor.kept[at]), row(factor.kept[at]));
                let apart = own - k.iter().map(|x| x * x).sum::<f64>();
                assert!((1.0 / inverse - apart).abs() < 1e-4 * own, "{} {apart}", 1.0 / inverse);
            }
        }
    }

    /// By panels and pivot after pivot the same documents are kept, and the kernel of all comes back.
    #[test]
    fn panels_are_single_pivots() {
        let mut random = Random::new(3);
        for (m, gamma) in [(0, 1.0), (1, 1.0), (63, 0.5), (64, 0.5), (65, 0.5), (200, 0.5), (150, 0.02)] {
            let docs: Vec<f32> = (0..m * 4).map(|_| random.normal() as f32).collect();
            let kernel = Kernel { form: Form::Rbf, gamma };
            let (own, slow) = (Factor::new(&kernel, &docs, 4), Factor::with_at_most(&kernel, &docs, 4, usize::MAX));
            assert_eq!(own.kept, slow.kept, "{m} {gamma}");
            assert!(own.lower.iter().zip(&slow.lower).all(|(a, b)| (a - b).abs() < 1e-6), "{m} {gamma}");
        }
    }

    #[test]
    fn many_rows_are_single_rows() {
        let mut random = Random::new(2);
        for (m, n) in [(1, 3), (40, 7), (300, 20)] {
            let docs: Vec<f32> = (0..m * 6).map(|_| random.normal() as f32).collect();
            let factor = Factor::new(&Kernel { form: Form::Rbf, gamma: 0.2 }, &docs, 6);
            let r = factor.len();
            let inverse = factor.inverse();
            let k: Vec<f64> = (0..n * r).map(|_| random.normal()).collect();
            let (mut out, mut single) = (vec![9.0; n * r], k.clone());
            factor.feature_rows(&inverse, &k, &mut out);
            single.chunks_exact_mut(r).for_each(|row| factor.features(row));
            for (a, b) in out.iter().zip(&single) {
                assert!((a - b).abs() < 1e-8 * (1.0 + b.abs()), "{a} {b}");
            }
        }
    }
}
