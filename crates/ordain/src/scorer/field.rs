//! Scores of the rows of a list that pull at each other: the mode of a Gaussian field.

use crate::matrix::{axpy, dot};
use std::cmp::Ordering;

/// The continuous conditional random field, Qin et al. 2008 (C-CRF).
///
/// ```text
/// p(y | X) ∝ exp(−Σ_k α_k Σ_i (y_i − x_ik)² − β/2 Σ_ij S_ij (y_i − y_j)²),   α_k, β > 0
/// scores   = the mode,  (aI + βΛ) μ = Xα,   a = Σ_k α_k,   Λ = diag(S 1) − S
/// ```
///
/// S says how alike the rows of a list are. Each column l of a table of links is one more such S, with a β of its own; rows that the table does
/// not have as a pair do not pull at each other by it.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// What each column counts.
    pub alpha: Vec<f64>,
    /// How much rows that are alike pull at each other.
    pub beta: f64,
    /// How alike rows are.
    pub similarity: Similarity,
    /// Columns of links by name, and how much linked rows pull at each other by each.
    pub links: Vec<(String, f64)>,
}

/// Pairs of rows of a list that are linked, with a value for each column of links.
pub type Linked<'a> = [(usize, usize, &'a [f64])];

/// How alike two rows of a list are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Similarity {
    /// Not at all: rows do not see each other.
    None,
    /// `exp(−d²/m)` by their squared distance d², m being the median of those of the list that are above 0.
    Rbf,
}

impl Similarity {
    /// S of the rows of a list, with zeros on the diagonal; empty where there is none. O(rows² · columns).
    pub fn matrix(self, rows: &[f32], columns: usize) -> Vec<f64> {
        let n = rows.len() / columns.max(1);
        if self == Self::None {
            return vec![];
        }
        let row = |i: usize| &rows[i * columns..(i + 1) * columns];
        let mut s = vec![0.0; n * n];
        let mut apart = vec![];
        for i in 0..n {
            for j in 0..i {
                let of = |(&a, &b): (&f32, &f32)| (f64::from(a) - f64::from(b)).powi(2);
                let d2: f64 = row(i).iter().zip(row(j)).map(of).sum();
                s[i * n + j] = d2;
                if d2 > 0.0 {
                    apart.push(d2);
                }
            }
        }
        apart.sort_unstable_by(f64::total_cmp);
        let half = apart.len() / 2;
        let median = match apart.len() {
            0 => 1.0,
            odd if odd % 2 == 1 => apart[half],
            _ => 0.5 * (apart[half - 1] + apart[half]),
        };
        for i in 0..n {
            for j in 0..i {
                let alike = (-s[i * n + j] / median).exp();
                s[i * n + j] = alike;
                s[j * n + i] = alike;
            }
        }
        s
    }
}

/// Conjugate gradients end at a residual of so much of the right side.
const RESIDUAL: f64 = 1e-13;

impl Field {
    /// Whether it scores rows of so many columns.
    pub fn fits(&self, columns: usize) -> bool {
        let fine = |x: &f64| x.is_finite() && *x >= 0.0;
        let pulls = fine(&self.beta) && self.links.iter().all(|(_, pull)| fine(pull));
        self.alpha.len() == columns && self.alpha.iter().all(fine) && pulls && self.a() > 0.0
    }

    fn a(&self) -> f64 {
        self.alpha.iter().sum()
    }

    /// `Σ β S` over all that makes rows pull at each other; empty where nothing does.
    fn pulls(&self, rows: &[f32], linked: &Linked<'_>) -> Vec<f64> {
        let d = self.alpha.len();
        let n = rows.len() / d.max(1);
        let mut pulls = if self.beta > 0.0 { self.similarity.matrix(rows, d) } else { vec![] };
        pulls.iter_mut().for_each(|s| *s *= self.beta);
        if self.links.is_empty() {
            return pulls;
        }
        pulls.resize(n * n, 0.0);
        for &(i, j, values) in linked {
            let pull: f64 = values.iter().zip(&self.links).map(|(x, (_, beta))| x * beta).sum();
            pulls[i * n + j] += pull;
            pulls[j * n + i] += pull;
        }
        pulls
    }

    /// `(aI + diag(P 1) − P)⁻¹ b` by conjugate gradients, P being the pulls: O(rows²) for each of at most as many steps as there are rows, few
    /// where pulls are not large.
    fn solve(&self, pulls: &[f64], b: &[f64]) -> Vec<f64> {
        let (n, a) = (b.len(), self.a());
        if pulls.is_empty() {
            return b.iter().map(|b| b / a).collect();
        }
        let diagonal: Vec<f64> = pulls.chunks_exact(n).map(|row| a + row.iter().sum::<f64>()).collect();
        let mut x: Vec<f64> = b.iter().map(|b| b / a).collect();
        let times = |p: &[f64]| -> Vec<f64> {
            pulls.chunks_exact(n).zip(p).zip(&diagonal).map(|((row, p_i), d)| d * p_i - dot(row, p)).collect()
        };
        let mut r: Vec<f64> = times(&x).iter().zip(b).map(|(ax, b)| b - ax).collect();
        let better = |r: &[f64]| -> Vec<f64> { r.iter().zip(&diagonal).map(|(r, d)| r / d).collect() };
        let mut z = better(&r);
        let (mut p, mut rz) = (z.clone(), dot(&r, &z));
        let enough = RESIDUAL * dot(b, b).sqrt();
        for _ in 0..10 * n + 10 {
            if dot(&r, &r).sqrt() <= enough || rz <= 0.0 {
                break;
            }
            let ap = times(&p);
            let step = rz / dot(&p, &ap);
            if !step.is_finite() {
                break;
            }
            axpy(step, &p, &mut x);
            axpy(-step, &ap, &mut r);
            z = better(&r);
            let next = dot(&r, &z);
            p.iter_mut().zip(&z).for_each(|(p, z)| *p = z + next / rz * *p);
            rz = next;
        }
        x
    }

    /// The scores of the rows of one list; rows that are the same and have no link have the same, to the last bit. O(rows² · columns), and a
    /// few times O(rows²).
    pub fn scores(&self, rows: &[f32], linked: &Linked<'_>, scores: &mut [f64]) {
        let d = self.alpha.len();
        let b: Vec<f64> = rows
            .chunks_exact(d.max(1))
            .map(|row| row.iter().zip(&self.alpha).map(|(&x, alpha)| f64::from(x) * alpha).sum())
            .collect();
        scores.copy_from_slice(&self.solve(&self.pulls(rows, linked), &b));
        // rounding would put rows in an order that nothing else does
        let row = |i: usize| &rows[i * d..(i + 1) * d];
        let order = |&a: &usize, &b: &usize| {
            let cells = row(a).iter().zip(row(b)).map(|(a, b)| a.total_cmp(b));
            cells.fold(Ordering::Equal, Ordering::then)
        };
        let mut alone = vec![true; scores.len()];
        if !self.links.is_empty() {
            linked.iter().flat_map(|&(i, j, _)| [i, j]).for_each(|i| alone[i] = false);
        }
        let mut all: Vec<usize> = (0..scores.len()).filter(|&i| alone[i]).collect();
        all.sort_by(order);
        for same in all.chunk_by(|a, b| order(a, b) == Ordering::Equal) {
            same.iter().for_each(|&i| scores[i] = scores[same[0]]);
        }
    }

    /// What each column adds to the score of one row of a list over another, by number: `α_k Σ_i v_i x_ik` with
    /// `v = (aI + βΛ)⁻¹ (e_above − e_below)`.
    pub fn shares(&self, rows: &[f32], linked: &Linked<'_>, above: usize, below: usize) -> Vec<f64> {
        let d = self.alpha.len();
        let mut b = vec![0.0; rows.len() / d.max(1)];
        b[above] += 1.0;
        b[below] -= 1.0;
        let v = self.solve(&self.pulls(rows, linked), &b);
        let mut shares = vec![0.0; d];
        for (row, v) in rows.chunks_exact(d.max(1)).zip(&v) {
            shares.iter_mut().zip(row).for_each(|(share, &x)| *share += v * f64::from(x));
        }
        shares.iter_mut().zip(&self.alpha).for_each(|(share, alpha)| *share *= alpha);
        shares
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;
    use crate::matrix::{factor_spd, solve_factored};
    use crate::random::Random;

    #[test]
    fn the_mode_solves_the_linear_system_and_is_least_in_energy() {
        let mut random = Random::new(4);
        for (n, d, beta) in [(1, 2, 0.5), (6, 3, 0.0), (9, 3, 0.7), (30, 5, 20.0), (12, 2, 1e4)] {
            for gammas in [vec![], vec![2.0], vec![0.3, 0.0, 40.0]] {
                let rows: Vec<f32> = (0..n * d).map(|_| random.uniform() as f32).collect();
                let alpha: Vec<f64> = (0..d).map(|_| random.uniform()).collect();
                let links = gammas.iter().enumerate().map(|(l, &gamma)| (format!("link {l}"), gamma)).collect();
                let field = Field { alpha: alpha.clone(), beta, similarity: Similarity::Rbf, links };
                assert!(field.fits(d) && !field.fits(d + 1));
                let pairs: Vec<(usize, usize)> =
                    (0..n).flat_map(|i| (0..i).map(move |j| (j, i))).filter(|_| random.below(3) == 0).collect();
                let values: Vec<f64> = (0..pairs.len() * gammas.len()).map(|_| random.uniform()).collect();
                let of = |at: usize| &values[at * gammas.len()..(at + 1) * gammas.len()];
                let linked: Vec<(usize, usize, &[f64])> =
                    pairs.iter().enumerate().map(|(at, &(i, j))| (i, j, of(at))).collect();
                // what pulls, pair by pair
                let mut pull = Similarity::Rbf.matrix(&rows, d);
                pull.iter_mut().for_each(|s| *s *= beta);
                for &(i, j, values) in &linked {
                    for (x, gamma) in values.iter().zip(&gammas) {
                        pull[i * n + j] += gamma * x;
                        pull[j * n + i] += gamma * x;
                    }
                }
                check(&field, &rows, &linked, &pull);
            }
        }
    }

    fn check(field: &Field, rows: &[f32], linked: &Linked<'_>, pull: &[f64]) {
        let (d, alpha) = (field.alpha.len(), &field.alpha);
        let n = rows.len() / d;
        let mut mu = vec![0.0; n];
        field.scores(rows, linked, &mut mu);
        let a: f64 = alpha.iter().sum();
        let mut matrix = vec![0.0; n * n];
        for i in 0..n {
            matrix[i * n + i] = a + pull[i * n..(i + 1) * n].iter().sum::<f64>();
            (0..n).filter(|&j| j != i).for_each(|j| matrix[i * n + j] = -pull[i * n + j]);
        }
        let mut truth: Vec<f64> =
            rows.chunks(d).map(|row| row.iter().zip(alpha).map(|(&x, a)| f64::from(x) * a).sum()).collect();
        assert!(factor_spd(&mut matrix, n));
        solve_factored(&matrix, &mut truth);
        assert!(mu.iter().zip(&truth).all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + b.abs())), "{mu:?} {truth:?}");
        let energy = |y: &[f64]| {
            let mut sum = 0.0;
            for i in 0..n {
                sum += (0..d).map(|k| alpha[k] * (y[i] - f64::from(rows[i * d + k])).powi(2)).sum::<f64>();
                sum += (0..n).map(|j| 0.5 * pull[i * n + j] * (y[i] - y[j]).powi(2)).sum::<f64>();
            }
            sum
        };
        let least = energy(&mu);
        for i in 0..n {
            for step in [-1e-3, 1e-3] {
                let mut moved = mu.clone();
                moved[i] += step;
                assert!(energy(&moved) > least);
            }
        }
        let twice = [rows, rows].concat();
        let mut again = vec![0.0; 2 * n];
        field.scores(&twice, &[], &mut again);
        assert!((0..n).all(|i| again[i].to_bits() == again[n + i].to_bits()));
        let shares: f64 = field.shares(rows, linked, 0, n - 1).iter().sum();
        assert!((shares - (mu[0] - mu[n - 1])).abs() < 1e-9 * (1.0 + shares.abs()));
    }
}
