//! Features seen along the principal axes of the items, along which a likelihood bends independently.

use crate::matrix::{Features, Matrix};
use rayon::prelude::*;

/// Up to so many dense columns are turned: O(columns³).
const MOST: usize = 400;
/// Sweeps of Jacobi's rotations. Axes serve to be met by a solver in few steps: they need not be exact.
const SWEEPS: usize = 4;

/// An orthogonal turn of the features, near the eigenvectors of `Σ x xᵀ`.
///
/// A ridge does not change under a turn, and along the axes the curvature of a likelihood is nearly diagonal: dense features that
/// go together then cost a solver no more steps than others.
pub(in crate::method) struct Axes {
    /// Axis after axis, a value per column.
    axes: Vec<f64>,
    columns: usize,
}

impl Axes {
    /// The axes of some items; none where features are sparse or too many.
    pub(in crate::method) fn of(features: &Features, units: &[u32]) -> Option<Self> {
        let Features::Dense(matrix) = features else { return None };
        let d = matrix.cols();
        if !(2..=MOST).contains(&d) {
            return None;
        }
        let mut square = vec![0.0; d * d];
        for &i in units {
            let row = matrix.row(i as usize);
            for (line, &a) in square.chunks_exact_mut(d).zip(row) {
                line.iter_mut().zip(row).for_each(|(sum, &b)| *sum += f64::from(a) * f64::from(b));
            }
        }
        let mut axes = vec![0.0; d * d];
        (0..d).for_each(|j| axes[j * d + j] = 1.0);
        for _ in 0..SWEEPS {
            (0..d).for_each(|p| (p + 1..d).for_each(|q| rotate(&mut square, &mut axes, d, p, q)));
        }
        Some(Self { axes, columns: d })
    }

    /// Some items along the axes; the others are 0.
    pub(in crate::method) fn at(&self, features: &Features, units: &[u32]) -> Features {
        let d = self.columns;
        let rows: Vec<Vec<f32>> = units
            .par_iter()
            .map(|&i| {
                let mut row = vec![0.0; d];
                features.each(i as usize, |j, x| row[j] = f64::from(x));
                let along = |axis: &[f64]| crate::matrix::dot(axis, &row) as f32;
                self.axes.chunks_exact(d).map(along).collect()
            })
            .collect();
        let mut all = vec![0.0; features.rows() * d];
        units.iter().zip(rows).for_each(|(&i, row)| all[i as usize * d..(i as usize + 1) * d].copy_from_slice(&row));
        Features::Dense(Matrix::new(all, d))
    }

    /// Weights on the columns from weights on the axes, `n` for each.
    pub(in crate::method) fn on_columns(&self, weights: &[f64], n: usize) -> Vec<f64> {
        self.turned(weights, n, |axis, column| self.axes[axis * self.columns + column])
    }

    /// Weights on the axes from weights on the columns.
    pub(in crate::method) fn on_axes(&self, weights: &[f64], n: usize) -> Vec<f64> {
        self.turned(weights, n, |column, axis| self.axes[axis * self.columns + column])
    }

    fn turned(&self, weights: &[f64], n: usize, at: impl Fn(usize, usize) -> f64) -> Vec<f64> {
        let mut out = vec![0.0; weights.len()];
        for (to, line) in out.chunks_exact_mut(n.max(1)).enumerate() {
            for (from, own) in weights.chunks_exact(n.max(1)).enumerate() {
                let share = at(from, to);
                line.iter_mut().zip(own).for_each(|(out, w)| *out += share * w);
            }
        }
        out
    }
}

/// Jacobi's rotation of rows and columns `p < q` of a symmetric matrix, which makes their entry 0 (Golub and Van Loan, 8.5).
fn rotate(square: &mut [f64], axes: &mut [f64], d: usize, p: usize, q: usize) {
    let (pp, qq, pq) = (square[p * d + p], square[q * d + q], square[p * d + q]);
    if pq * pq <= 1e-20 * pp.abs() * qq.abs() || pq == 0.0 {
        return;
    }
    let tau = (qq - pp) / (2.0 * pq);
    let t = tau.signum() / (tau.abs() + (1.0 + tau * tau).sqrt());
    let c = 1.0 / (1.0 + t * t).sqrt();
    let s = t * c;
    let turn = |m: &mut [f64]| {
        let (low, high) = m.split_at_mut(q * d);
        for (a, b) in low[p * d..(p + 1) * d].iter_mut().zip(&mut high[..d]) {
            (*a, *b) = (c * *a - s * *b, s * *a + c * *b);
        }
    };
    turn(square);
    for row in square.chunks_exact_mut(d) {
        (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
    }
    turn(axes);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;
    use crate::random::Random;

    /// Axes are orthogonal, items along them are nearly uncorrelated, and weights come back as they were.
    #[test]
    fn axes_are_orthogonal_and_take_items_apart() {
        let mut random = Random::new(9);
        let (m, d, n) = (200, 7, 3);
        let mut values = vec![];
        for _ in 0..m {
            let shared = random.normal();
            values.extend((0..d).map(|j| (shared * (1.0 + j as f64) + 0.1 * random.normal()) as f32));
        }
        let features = Features::Dense(Matrix::new(values, d));
        let units: Vec<u32> = (0..m as u32).collect();
        let axes = Axes::of(&features, &units).unwrap();
        for a in 0..d {
            for b in 0..d {
                let product: f64 = (0..d).map(|j| axes.axes[a * d + j] * axes.axes[b * d + j]).sum();
                assert!((product - f64::from(u8::from(a == b))).abs() < 1e-12);
            }
        }
        let seen = axes.at(&features, &units);
        let sum = |a: usize, b: usize| -> f64 {
            (0..m).map(|i| f64::from(seen.value(i, a)) * f64::from(seen.value(i, b))).sum()
        };
        for a in 0..d {
            (0..a).for_each(|b| assert!(sum(a, b).powi(2) <= 1e-6 * sum(a, a) * sum(b, b), "{a} {b}"));
        }
        let weights: Vec<f64> = (0..d * n).map(|_| random.normal()).collect();
        let there = axes.on_axes(&weights, n);
        axes.on_columns(&there, n).iter().zip(&weights).for_each(|(a, b)| assert!((a - b).abs() < 1e-12));
        // scores are the same either way
        let score =
            |features: &Features, w: &[f64]| (0..d).map(|j| f64::from(features.value(5, j)) * w[j * n]).sum::<f64>();
        assert!((score(&features, &weights) - score(&seen, &there)).abs() < 1e-4);
    }
}
