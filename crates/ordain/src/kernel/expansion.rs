//! A function as a sum of kernels at core documents.

use super::Kernel;
use crate::matrix::Matrix;
use rayon::prelude::*;

/// One function: for all queries, or for the queries of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The queries that it is for; all where there is no name.
    pub query: Option<String>,
    /// Core documents, by their number.
    pub documents: Vec<u32>,
    /// Their coefficients.
    pub coefficients: Vec<f64>,
}

/// `F(x) = Σ_j β_j k(x_j, x)`: core documents, which all parts share, and the coefficients of each part.
///
/// ```
/// use ordain::{kernel::{Expansion, Form, Kernel, Part}, matrix::Matrix};
/// let part = Part { query: None, documents: vec![0, 1], coefficients: vec![2.0, -1.0] };
/// let linear = Kernel { form: Form::Linear, gamma: 1.0 };
/// let expansion = Expansion::new(linear, Matrix::new(vec![1.0, 0.0, 0.0, 1.0], 2), vec![part]);
/// let mut scores = [0.0];
/// expansion.scores(&expansion.parts[0], &[3.0, 5.0], &mut scores);
/// assert_eq!(scores, [1.0]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Expansion {
    /// The kernel.
    pub kernel: Kernel,
    /// Core documents as they are scaled, each once.
    pub documents: Matrix,
    /// One part, or one for each query by name.
    pub parts: Vec<Part>,
    /// `|x|²` of the core documents, where the kernel asks for it.
    squares: Vec<f32>,
}

/// Documents that are scored at once: their kernel block stays in the cache.
const CHUNK: usize = 128;

/// Gauss's rule of five points for a piece of length 1 around 0: places and weights.
pub(crate) const GAUSS: [(f64, f64); 5] = [
    (0.0, 0.284_444_444_444_444_44),
    (-0.269_234_655_052_841_55, 0.239_314_335_249_683_23),
    (0.269_234_655_052_841_55, 0.239_314_335_249_683_23),
    (-0.453_089_922_969_332, 0.118_463_442_528_094_54),
    (0.453_089_922_969_332, 0.118_463_442_528_094_54),
];

impl Expansion {
    /// The sum of these parts. O(core documents · d).
    pub fn new(kernel: Kernel, documents: Matrix, parts: Vec<Part>) -> Self {
        let squares = kernel.squares(documents.values(), documents.cols());
        Self { kernel, documents, parts, squares }
    }

    /// The part for a query, if there is one.
    pub fn part(&self, query: &str) -> Option<&Part> {
        self.parts.iter().find(|part| part.query.as_deref().is_none_or(|own| own == query))
    }

    /// Whether it scores documents of so many columns: sizes and numbers of documents fit, and every number is finite.
    pub fn fits(&self, columns: usize) -> bool {
        let all = self.documents.rows();
        let whole = |part: &Part| {
            part.documents.len() == part.coefficients.len()
                && part.documents.iter().all(|&j| (j as usize) < all)
                && part.coefficients.iter().all(|b| b.is_finite())
        };
        columns > 0
            && self.documents.cols() == columns
            && self.documents.values().iter().all(|x| x.is_finite())
            && self.kernel.gamma.is_finite()
            && self.kernel.gamma > 0.0
            && !self.parts.is_empty()
            && self.parts.iter().all(whole)
    }

    /// Whether each query has at most one function: one for all, or one for each by name.
    pub fn one_function(&self) -> bool {
        self.parts.len() == 1 || self.parts.iter().all(|part| part.query.is_some())
    }

    /// Adds the score by each part to `s`, for one scaled document. O(core documents · (d + parts)).
    pub(crate) fn add_parts(&self, document: &[f32], s: &mut [f64]) {
        let (d, core) = (self.documents.cols(), self.documents.values());
        let mut near = vec![0.0f32; self.documents.rows()];
        self.kernel.block_with(document, (core, &self.squares), d, &mut near);
        for (s, part) in s.iter_mut().zip(&self.parts) {
            let terms = part.documents.iter().zip(&part.coefficients);
            *s += terms.map(|(&j, b)| b * f64::from(near[j as usize])).sum::<f64>();
        }
    }

    /// The scores of scaled documents by a part: a matrix product, block after block. O(documents · core documents · d), in parallel.
    pub fn scores(&self, part: &Part, docs: &[f32], scores: &mut [f64]) {
        let d = self.documents.cols();
        let core: Vec<f32> = part.documents.iter().flat_map(|&j| self.documents.row(j as usize)).copied().collect();
        let beta: Vec<f32> = part.coefficients.iter().map(|&b| b as f32).collect();
        let whole = part.documents.len();
        // empty where the kernel does not ask for them
        let squares: Vec<f32> = part.documents.iter().filter_map(|&j| self.squares.get(j as usize)).copied().collect();
        scores.par_chunks_mut(CHUNK).zip(docs.par_chunks((CHUNK * d).max(1))).for_each_init(
            || vec![0.0f32; CHUNK * whole],
            |block, (scores, docs)| {
                let block = &mut block[..scores.len() * whole];
                self.kernel.block_with(docs, (&core, &squares), d, block);
                for (score, row) in scores.iter_mut().zip(block.chunks_exact(whole.max(1))) {
                    *score = weighted(row, &beta);
                }
            },
        );
    }

    /// The mean slope of a part on the straight way from one document to another: times the difference of the documents it adds up to the difference of their scores.
    ///
    /// Gauss and Legendre's rule of five points on each of 32 pieces: exact to many digits for smooth kernels, to a hundredth for those with kinks (Laplace, intersection). O(core documents · d).
    pub fn mean_slope(&self, part: &Part, from: &[f32], to: &[f32]) -> Vec<f64> {
        const PIECES: usize = 32;
        let mut slope = vec![0.0; from.len()];
        for piece in 0..PIECES {
            for (at, weight) in GAUSS {
                let t = (piece as f64 + 0.5 + at) / PIECES as f64;
                let here: Vec<f32> = from
                    .iter()
                    .zip(to)
                    .map(|(&a, &b)| (f64::from(a) + t * (f64::from(b) - f64::from(a))) as f32)
                    .collect();
                for (&j, beta) in part.documents.iter().zip(&part.coefficients) {
                    let share = beta * weight / PIECES as f64;
                    self.kernel.add_slope(&here, self.documents.row(j as usize), share, &mut slope);
                }
            }
        }
        slope
    }
}

/// `Σ a_j b_j`, in eight sums at once.
fn weighted(a: &[f32], b: &[f32]) -> f64 {
    let mut sums = [0.0f32; 8];
    let (heads, tails) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f32 = heads.remainder().iter().zip(tails.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in heads.zip(tails) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += a * b);
    }
    sums.iter().map(|&sum| f64::from(sum)).sum::<f64>() + f64::from(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Form;
    use crate::random::Random;

    #[test]
    fn scores_are_sums_of_kernels() {
        let mut random = Random::new(1);
        let (m, n, d) = (37, 300, 6);
        let mut docs = |n: usize| -> Vec<f32> { (0..n * d).map(|_| random.uniform() as f32).collect() };
        let (core, new) = (docs(m), docs(n));
        for form in [Form::Rbf, Form::Laplace, Form::Chi2, Form::Poly { degree: 2, coef0: 1.0 }] {
            let part = Part {
                query: Some("a".into()),
                documents: (0..m as u32).filter(|j| j % 3 > 0).collect(),
                coefficients: (0..m).filter(|j| j % 3 > 0).map(|j| j as f64 / 10.0 - 1.5).collect(),
            };
            let kernel = Kernel { form, gamma: 0.8 };
            let expansion = Expansion::new(kernel, Matrix::new(core.clone(), d), vec![part.clone()]);
            let mut scores = vec![0.0; n];
            expansion.scores(&part, &new, &mut scores);
            let truth = |x: &[f32]| -> f64 {
                part.documents
                    .iter()
                    .zip(&part.coefficients)
                    .map(|(&j, b)| b * kernel.of(expansion.documents.row(j as usize), x))
                    .sum()
            };
            for (i, score) in scores.iter().enumerate() {
                assert!((score - truth(&new[i * d..(i + 1) * d])).abs() < 2e-4);
            }
            // what each feature adds makes up the difference of two scores
            let (a, b) = (&new[..d], &new[d..2 * d]);
            let slope = expansion.mean_slope(&part, b, a);
            let sum: f64 = slope.iter().zip(a.iter().zip(b)).map(|(s, (a, b))| s * f64::from(a - b)).sum();
            let tol = if form == Form::Laplace { 1e-2 } else { 1e-5 };
            assert!((sum - (truth(a) - truth(b))).abs() < tol * (1.0 + truth(a).abs()), "{form:?}");
            assert!(expansion.part("a").is_some() && expansion.part("b").is_none());
        }
    }
}
