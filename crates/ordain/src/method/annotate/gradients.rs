//! Ridge regressions of many labels side by side, by conjugate gradients.

use crate::error::{Error, Result};
use crate::matrix::Features;
use crate::solver::run::Watch;

/// How many labels go side by side: a row of features is read once for all of them.
pub(super) const ABREAST: usize = 16;
/// The most steps.
const MOST: usize = 1000;

/// A number for each label of a block.
type Lanes = [f64; ABREAST];

/// The normal equations of a ridge with an offset that is free, on items of which all labels are known:
///
/// ```text
/// (Σ_items (x − mean)(x − mean)ᵀ + strength) w = Σ_items (x − mean) y
/// ```
pub(super) struct Normal<'a> {
    pub(super) features: &'a Features,
    pub(super) rows: &'a [u32],
    pub(super) mean: &'a [f64],
    /// What the matrix has on its diagonal: it is the preconditioner.
    diagonal: Vec<f64>,
    strength: f64,
}

impl<'a> Normal<'a> {
    pub(super) fn new(features: &'a Features, rows: &'a [u32], mean: &'a [f64], strength: f64) -> Self {
        let mut diagonal = vec![0.0; mean.len()];
        for &row in rows {
            features.each(row as usize, |j, x| diagonal[j] += f64::from(x) * f64::from(x));
        }
        let items = rows.len() as f64;
        diagonal.iter_mut().zip(mean).for_each(|(d, mean)| *d = (*d - items * mean * mean).max(0.0) + strength);
        Self { features, rows, mean, diagonal, strength }
    }

    /// The weights of a block of labels, from the right sides and from where to start, to a relative residual.
    ///
    /// The arithmetic of a label does not depend on its neighbours. O(steps · values · ABREAST).
    pub(super) fn solve(&self, right: &[Lanes], from: Vec<Lanes>, residual: f64, watch: &Watch) -> Result<Vec<Lanes>> {
        let d = self.mean.len();
        let enough = {
            let start = self.inner(right, right);
            start.map(|start| residual * residual * start)
        };
        let (mut x, mut hp) = (from, vec![[0.0; ABREAST]; d]);
        self.product(&x, &mut hp);
        let mut r: Vec<Lanes> = right.iter().zip(&hp).map(|(b, h)| std::array::from_fn(|l| b[l] - h[l])).collect();
        let mut rz = self.inner(&r, &r);
        let mut p: Vec<Lanes> = r.iter().zip(&self.diagonal).map(|(r, d)| r.map(|r| r / d)).collect();
        for _ in 0..MOST {
            let open: [bool; ABREAST] = std::array::from_fn(|l| rz[l] > enough[l]);
            if !open.contains(&true) {
                break;
            }
            if watch.stopped() {
                return Err(Error::Interrupted);
            }
            self.product(&p, &mut hp);
            let mut bend = [0.0; ABREAST];
            for (p, hp) in p.iter().zip(&hp) {
                (0..ABREAST).for_each(|l| bend[l] += p[l] * hp[l]);
            }
            let step: Lanes = std::array::from_fn(|l| if open[l] { rz[l] / bend[l] } else { 0.0 });
            for (((x, r), p), hp) in x.iter_mut().zip(&mut r).zip(&p).zip(&hp) {
                (0..ABREAST).for_each(|l| x[l] += step[l] * p[l]);
                (0..ABREAST).for_each(|l| r[l] -= step[l] * hp[l]);
            }
            let next = self.inner(&r, &r);
            let turn: Lanes = std::array::from_fn(|l| if open[l] { next[l] / rz[l] } else { 0.0 });
            for ((p, r), d) in p.iter_mut().zip(&r).zip(&self.diagonal) {
                (0..ABREAST).for_each(|l| p[l] = r[l] / d + turn[l] * p[l]);
            }
            // a label that has arrived stays where it is
            (0..ABREAST).filter(|&l| open[l]).for_each(|l| rz[l] = next[l]);
        }
        Ok(x)
    }

    /// `Σ_j a_j b_j / diagonal_j` of each label.
    fn inner(&self, a: &[Lanes], b: &[Lanes]) -> Lanes {
        let mut sum = [0.0; ABREAST];
        for ((a, b), d) in a.iter().zip(b).zip(&self.diagonal) {
            (0..ABREAST).for_each(|l| sum[l] += a[l] * b[l] / d);
        }
        sum
    }

    /// The matrix times a block of vectors.
    fn product(&self, v: &[Lanes], out: &mut [Lanes]) {
        let (mut shift, mut total) = ([0.0; ABREAST], [0.0; ABREAST]);
        for ((out, v), &mean) in out.iter_mut().zip(v).zip(self.mean) {
            *out = v.map(|v| self.strength * v);
            (0..ABREAST).for_each(|l| shift[l] += mean * v[l]);
        }
        for &row in self.rows {
            let mut s = shift.map(|shift| -shift);
            self.features.each(row as usize, |j, x| add(&mut s, f64::from(x), &v[j]));
            self.features.each(row as usize, |j, x| add(&mut out[j], f64::from(x), &s));
            add(&mut total, 1.0, &s);
        }
        out.iter_mut().zip(self.mean).for_each(|(out, &mean)| add(out, -mean, &total));
    }
}

/// `to += factor · of`.
#[inline]
fn add(to: &mut Lanes, factor: f64, of: &Lanes) {
    (0..ABREAST).for_each(|l| to[l] += factor * of[l]);
}
