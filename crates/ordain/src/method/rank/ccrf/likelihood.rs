//! The likelihood of a field, by the logarithms of its numbers.

use crate::error::Result;
use crate::matrix::{dot, eigen, factor_spd, solve_factored, solve_factored_columns};
use crate::pieces::{Pieces, Run, sums_of};
use crate::risk::go_on;
use crate::scorer::field::{Linked, Similarity};
use crate::traits::Risk;
use std::f64::consts::PI;
use std::sync::atomic::AtomicBool;

/// Logarithms of α and β stay within this and its negative.
pub(super) const FAR: f64 = 12.0;

/// The documents of a query.
pub(super) enum List {
    /// At most one S: in coordinates in which Λ is diagonal.
    Turned(Turned),
    /// Several.
    Joined(Joined),
}

/// A query in coordinates in which Λ is diagonal.
pub(super) struct Turned {
    /// The eigenvalues of Λ.
    values: Vec<f64>,
    /// U'X, row after row.
    x: Vec<f64>,
    /// U'y.
    y: Vec<f64>,
}

/// A query with one Λ for each S.
pub(super) struct Joined {
    x: Vec<f64>,
    y: Vec<f64>,
    all: Vec<Vec<f64>>,
}

/// Λ = diag(S 1) − S, in place of S.
fn laplacian(mut s: Vec<f64>, n: usize) -> Vec<f64> {
    for i in 0..n {
        let sum: f64 = s[i * n..(i + 1) * n].iter().sum();
        s[i * n..(i + 1) * n].iter_mut().for_each(|s| *s = -*s);
        s[i * n + i] = sum;
    }
    s
}

impl List {
    /// The documents of a query with features, grades from 0 to 1, and so many columns of links.
    pub(super) fn new(docs: &[f32], y: &[f64], by: Similarity, linked: &Linked<'_>, columns: usize) -> Self {
        let (n, d) = (y.len(), docs.len() / y.len().max(1));
        let x: Vec<f64> = docs.iter().map(|&x| f64::from(x)).collect();
        let alike = by.matrix(docs, d);
        let link = |column: usize| {
            let mut s = vec![0.0; n * n];
            for &(i, j, values) in linked {
                s[i * n + j] = values[column];
                s[j * n + i] = values[column];
            }
            s
        };
        let own = std::iter::once(alike).filter(|_| by != Similarity::None);
        let mut all: Vec<Vec<f64>> = own.chain((0..columns).map(link)).map(|s| laplacian(s, n)).collect();
        match all.len() {
            0 => Self::Turned(Turned { values: vec![0.0; n], x, y: y.to_vec() }),
            1 => Self::Turned(Turned::new(&all.remove(0), &x, y)),
            _ => Self::Joined(Joined { x, y: y.to_vec(), all }),
        }
    }

    fn documents(&self) -> usize {
        match self {
            Self::Turned(list) => list.y.len(),
            Self::Joined(list) => list.y.len(),
        }
    }

    /// Adds minus the logarithm of the likelihood, which is last, and its slopes by α and β.
    fn add(&self, alpha: &[f64], beta: &[f64], sums: &mut [f64]) {
        match self {
            Self::Turned(list) => list.add(alpha, beta.first().copied().unwrap_or(0.0), sums),
            Self::Joined(list) => list.add(alpha, beta, sums),
        }
    }
}

impl Turned {
    fn new(pull: &[f64], x: &[f64], y: &[f64]) -> Self {
        let (n, d) = (y.len(), x.len() / y.len().max(1));
        let (values, vectors) = eigen(pull, n);
        let (mut turned, mut to) = (vec![0.0; n * d], vec![0.0; n]);
        for ((line, row), y) in vectors.chunks_exact(n).zip(x.chunks_exact(d.max(1))).zip(y) {
            for ((u, to), turned) in line.iter().zip(&mut to).zip(turned.chunks_exact_mut(d.max(1))) {
                *to += u * y;
                turned.iter_mut().zip(row).for_each(|(t, x)| *t += u * x);
            }
        }
        // what rounding left below 0
        Self { values: values.into_iter().map(|value| value.max(0.0)).collect(), x: turned, y: to }
    }

    /// O(values).
    fn add(&self, alpha: &[f64], beta: f64, sums: &mut [f64]) {
        let (d, a) = (alpha.len(), alpha.iter().sum::<f64>());
        let (slopes, rest) = sums.split_at_mut(d);
        let (mut of_all, mut of_beta, mut sum) = (0.0, 0.0, 0.0);
        for ((value, x), y) in self.values.iter().zip(self.x.chunks_exact(d.max(1))).zip(&self.y) {
            let own = a + beta * value;
            let mu = x.iter().zip(alpha).map(|(x, alpha)| x * alpha).sum::<f64>() / own;
            sum += own * (y - mu).powi(2) - 0.5 * (own / PI).ln();
            let slope = y * y - mu * mu - 0.5 / own;
            of_all += slope;
            of_beta += value * slope;
            slopes.iter_mut().zip(x).for_each(|(slope, x)| *slope += 2.0 * (mu - y) * x);
        }
        slopes.iter_mut().for_each(|slope| *slope += of_all);
        if let [first, .., last] = rest {
            *first += of_beta;
            *last += sum;
        } else if let [last] = rest {
            *last += sum;
        }
    }
}

impl Joined {
    /// O(n³) for n documents: A is factored, and inverted for its traces.
    fn add(&self, alpha: &[f64], beta: &[f64], sums: &mut [f64]) {
        let (d, n, a) = (alpha.len(), self.y.len(), alpha.iter().sum::<f64>());
        let mut matrix = vec![0.0; n * n];
        for (beta, own) in beta.iter().zip(&self.all) {
            matrix.iter_mut().zip(own).for_each(|(sum, x)| *sum += beta * x);
        }
        (0..n).for_each(|i| matrix[i * n + i] += a);
        let energy = matrix.clone();
        if !factor_spd(&mut matrix, n) {
            sums[d + beta.len()] = f64::INFINITY; // a step too far: the search goes back
            return;
        }
        let mut mu: Vec<f64> = self.x.chunks_exact(d.max(1)).map(|row| dot(row, alpha)).collect();
        solve_factored(&matrix, &mut mu);
        let mut inverse = vec![0.0; n * n];
        (0..n).for_each(|i| inverse[i * n + i] = 1.0);
        solve_factored_columns(&matrix, n, &mut inverse);
        let form = |matrix: &[f64], v: &[f64]| -> f64 {
            matrix.chunks_exact(n.max(1)).zip(v).map(|(row, x)| x * dot(row, v)).sum()
        };
        let off: Vec<f64> = mu.iter().zip(&self.y).map(|(mu, y)| mu - y).collect();
        let half: f64 = (0..n).map(|i| matrix[i * n + i].ln()).sum();
        sums[d + beta.len()] += form(&energy, &off) - half + 0.5 * n as f64 * PI.ln();
        let trace: f64 = (0..n).map(|i| inverse[i * n + i]).sum();
        let of_all = dot(&self.y, &self.y) - dot(&mu, &mu) - 0.5 * trace;
        sums[..d].iter_mut().for_each(|slope| *slope += of_all);
        for (row, off) in self.x.chunks_exact(d.max(1)).zip(&off) {
            sums[..d].iter_mut().zip(row).for_each(|(slope, x)| *slope += 2.0 * off * x);
        }
        for (slope, own) in sums[d..].iter_mut().zip(&self.all) {
            // both are symmetric
            *slope += form(own, &self.y) - form(own, &mu) - 0.5 * dot(&inverse, own);
        }
    }
}

/// Minus the mean over documents of the logarithm of the likelihood, by the logarithms of α and of each β.
pub(super) struct Likelihood<'a> {
    lists: Vec<List>,
    d: usize,
    /// How many S there are.
    pulls: usize,
    documents: f64,
    runs: Vec<Run>,
    stop: &'a AtomicBool,
    heeds: bool,
}

impl<'a> Likelihood<'a> {
    pub(super) fn new(
        lists: Vec<List>,
        [d, pulls]: [usize; 2],
        pieces: &Pieces,
        units: &[u32],
        stop: &'a AtomicBool,
    ) -> Self {
        let documents = lists.iter().map(|list| list.documents() as f64).sum();
        let runs = pieces.runs(units.iter().map(|&q| q as usize));
        Self { lists, d, pulls, documents, runs, stop, heeds: false }
    }
}

impl Risk for Likelihood<'_> {
    fn dim(&self) -> usize {
        self.d + self.pulls
    }

    fn value(&mut self, theta: &[f64], grad: &mut [f64]) -> Result<f64> {
        if self.heeds {
            go_on(Some(self.stop))?;
        }
        let numbers: Vec<f64> = theta.iter().map(|log| log.clamp(-FAR, FAR).exp()).collect();
        let (alpha, beta) = numbers.split_at(self.d);
        let sums = sums_of(&self.runs, self.dim() + 1, |n, sums| self.lists[n].add(alpha, beta, sums));
        for ((grad, log), (slope, number)) in grad.iter_mut().zip(theta).zip(sums.iter().zip(&numbers)) {
            *grad = if log.abs() < FAR { slope * number / self.documents } else { 0.0 };
        }
        Ok(sums[self.dim()] / self.documents)
    }

    fn heed(&mut self, stop: bool) {
        self.heeds = stop;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;
    use crate::random::Random;

    /// Documents with features and grades, and links of some of them with two features.
    struct Made {
        docs: Vec<f32>,
        y: Vec<f64>,
        pairs: Vec<(usize, usize, [f64; 2])>,
    }

    impl Made {
        fn new(random: &mut Random, n: usize, d: usize) -> Self {
            let docs = (0..n * d).map(|_| random.uniform() as f32).collect();
            let y = (0..n).map(|_| random.below(3) as f64 / 2.0).collect();
            let all = (0..n).flat_map(|i| (0..i).map(move |j| (i, j)));
            let pairs = all.filter(|_| random.below(2) == 0).collect::<Vec<_>>();
            let pairs = pairs.into_iter().map(|(i, j)| (i, j, [random.uniform(), random.uniform()])).collect();
            Self { docs, y, pairs }
        }

        fn list(&self, by: Similarity, columns: usize) -> List {
            let linked: Vec<(usize, usize, &[f64])> =
                self.pairs.iter().map(|(i, j, x)| (*i, *j, &x[..columns])).collect();
            List::new(&self.docs, &self.y, by, &linked, columns)
        }

        /// The same by the other way: no diagonal form.
        fn joined(&self, by: Similarity, columns: usize) -> List {
            let (n, d) = (self.y.len(), self.docs.len() / self.y.len());
            let mut all = if by == Similarity::None { vec![] } else { vec![laplacian(by.matrix(&self.docs, d), n)] };
            for column in 0..columns {
                let mut s = vec![0.0; n * n];
                for (i, j, x) in &self.pairs {
                    (s[i * n + j], s[j * n + i]) = (x[column], x[column]);
                }
                all.push(laplacian(s, n));
            }
            List::Joined(Joined { x: self.docs.iter().map(|&x| f64::from(x)).collect(), y: self.y.clone(), all })
        }
    }

    const SHAPES: [(Similarity, usize); 6] = [
        (Similarity::None, 0),
        (Similarity::Rbf, 0),
        (Similarity::None, 1),
        (Similarity::Rbf, 1),
        (Similarity::None, 2),
        (Similarity::Rbf, 2),
    ];

    #[test]
    fn slopes_of_the_likelihood_are_those_of_differences() {
        let (mut random, d, stop) = (Random::new(3), 4, AtomicBool::new(false));
        let sets: Vec<Made> = [1, 5, 9].iter().map(|&n| Made::new(&mut random, n, d)).collect();
        for (by, columns) in SHAPES {
            let lists = sets.iter().map(|set| set.list(by, columns)).collect();
            let pieces = Pieces::new(&[0, 1, 6, 15], d);
            let pulls = usize::from(by != Similarity::None) + columns;
            let mut risk = Likelihood::new(lists, [d, pulls], &pieces, &[0, 1, 2], &stop);
            let theta: Vec<f64> = (0..risk.dim()).map(|_| random.normal()).collect();
            let mut grad = vec![0.0; theta.len()];
            risk.value(&theta, &mut grad).unwrap();
            for i in 0..theta.len() {
                let mut at = |step: f64| {
                    let mut moved = theta.clone();
                    moved[i] += step;
                    risk.value(&moved, &mut vec![0.0; theta.len()]).unwrap()
                };
                assert!(((at(1e-5) - at(-1e-5)) / 2e-5 - grad[i]).abs() < 1e-7, "{by:?} {columns} {i}");
            }
        }
    }

    #[test]
    fn a_diagonal_form_is_as_good_as_a_factor() {
        let mut random = Random::new(8);
        for (by, columns) in SHAPES {
            let pulls = usize::from(by != Similarity::None) + columns;
            for n in [1, 2, 7, 20] {
                let (made, d) = (Made::new(&mut random, n, 3), 3);
                let alpha: Vec<f64> = (0..d).map(|_| 0.1 + random.uniform()).collect();
                let beta: Vec<f64> = (0..pulls).map(|_| 3.0 * random.uniform()).collect();
                let sums = |list: &List| {
                    let mut sums = vec![0.0; d + pulls + 1];
                    list.add(&alpha, &beta, &mut sums);
                    sums
                };
                let (fast, slow) = (sums(&made.list(by, columns)), sums(&made.joined(by, columns)));
                let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-9 * (1.0 + b.abs());
                assert!(fast.iter().zip(&slow).all(near), "{by:?} {columns} {n}: {fast:?} {slow:?}");
            }
        }
    }

    /// The slow truth: the density on a grid of grades, of two documents.
    #[test]
    fn the_density_is_that_of_its_formula() {
        let mut random = Random::new(5);
        for columns in [0, 2] {
            let (n, d) = (2, 3);
            let mut made = Made::new(&mut random, n, d);
            made.pairs = vec![(1, 0, [0.7, 1.3])];
            let (docs, y) = (&made.docs, &made.y);
            let alpha: Vec<f64> = (0..d).map(|_| 0.5 + random.uniform()).collect();
            let beta: Vec<f64> = (0..=columns).map(|_| 1.0 + random.uniform()).collect();
            let s = Similarity::Rbf.matrix(docs, d)[1];
            let links: f64 = made.pairs[0].2[..columns].iter().zip(&beta[1..]).map(|(x, beta)| x * beta).sum();
            let energy = |y: &[f64]| {
                let of = |i: usize| (0..d).map(|k| alpha[k] * (y[i] - f64::from(docs[i * d + k])).powi(2)).sum::<f64>();
                of(0) + of(1) + (beta[0] * s + links) * (y[0] - y[1]).powi(2)
            };
            let (step, size) = (0.02, 300);
            let at = |k: i32| f64::from(k) * step;
            let total: f64 = (-size..size)
                .flat_map(|a| (-size..size).map(move |b| (a, b)))
                .map(|(a, b)| (-energy(&[at(a), at(b)])).exp() * step * step)
                .sum();
            let mut sums = vec![0.0; d + beta.len() + 1];
            made.list(Similarity::Rbf, columns).add(&alpha, &beta, &mut sums);
            let truth = energy(y) + total.ln();
            assert!((sums[d + beta.len()] - truth).abs() < 1e-6, "{} {truth}", sums[d + beta.len()]);
        }
    }
}
