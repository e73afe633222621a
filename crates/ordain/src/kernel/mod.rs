//! Kernels: inner products of documents in a space where what is linear need not be so in the features.

pub mod columns;
pub mod expansion;
pub mod factor;

pub use columns::Columns;
pub use expansion::{Expansion, Part};
pub use factor::Factor;

use crate::error::{Error, Result};
use crate::matrix::multiply_f32;
use crate::random::Random;

/// The shape of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Form {
    /// `⟨a, b⟩`.
    Linear,
    /// `exp(−γ |a − b|²)`, Gaussian.
    Rbf,
    /// `(γ ⟨a, b⟩ + coef0)^degree`.
    Poly {
        /// The power.
        degree: u32,
        /// What is added.
        coef0: f64,
    },
    /// `exp(−γ Σ |a_j − b_j|)`.
    Laplace,
    /// `Σ min(a_j, b_j)`, of histograms.
    Intersection,
    /// `exp(−γ Σ (a_j − b_j)²/(a_j + b_j))`, of histograms.
    Chi2,
}

impl Form {
    /// The names, as they are typed.
    pub const NAMES: [&'static str; 6] = ["linear", "rbf", "poly", "laplace", "intersection", "chi2"];

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Rbf => "rbf",
            Self::Poly { .. } => "poly",
            Self::Laplace => "laplace",
            Self::Intersection => "intersection",
            Self::Chi2 => "chi2",
        }
    }

    /// Whether it has a width to be chosen.
    pub fn has_width(self) -> bool {
        !matches!(self, Self::Linear | Self::Intersection)
    }

    /// Whether it takes histograms: no value below 0.
    pub fn of_histograms(self) -> bool {
        matches!(self, Self::Intersection | Self::Chi2)
    }
}

/// A kernel.
///
/// ```
/// use ordain::kernel::{Form, Kernel};
/// let kernel = Kernel { form: Form::Rbf, gamma: 0.5 };
/// assert_eq!(kernel.of(&[1.0, 2.0], &[1.0, 2.0]), 1.0);
/// assert!((kernel.of(&[0.0, 0.0], &[1.0, 1.0]) - (-1.0f64).exp()).abs() < 1e-15);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Kernel {
    /// Its shape.
    pub form: Form,
    /// γ, of those that have a width.
    pub gamma: f64,
}

/// How many pairs of documents the median distance is taken over at most.
const PAIRS: usize = 2001;

impl Kernel {
    /// The kernel with γ in units of one over the median distance of documents (of `d` values each): the distance that the form has under its exponential, squared and Euclidean for
    /// polynomials. O(pairs · d).
    ///
    /// The median is over all pairs that lie apart where there are at most 2,001 of them (up to 63 documents). Of more documents it is over 2,001
    /// pairs from a stream of its own, always the same one: the width belongs to the data, not to the seed of a fit.
    pub fn in_units(form: Form, gamma: f64, docs: &[f32], d: usize) -> Self {
        let n = docs.len() / d.max(1);
        if !form.has_width() || n < 2 {
            return Self { form, gamma };
        }
        let row = |i: usize| &docs[i * d..(i + 1) * d];
        let pairs: Vec<(usize, usize)> = if n * (n - 1) / 2 <= PAIRS {
            (1..n).flat_map(|j| (0..j).map(move |i| (i, j))).collect()
        } else {
            let mut random = Random::new(0);
            let mut pair = || {
                let i = random.below(n);
                (i, (i + 1 + random.below(n - 1)) % n)
            };
            (0..PAIRS).map(|_| pair()).collect()
        };
        let mut apart: Vec<f64> =
            pairs.into_iter().map(|(i, j)| distance(form, row(i), row(j))).filter(|&x| x > 0.0).collect();
        apart.sort_by(f64::total_cmp);
        let median = apart.get(apart.len() / 2).copied().unwrap_or(1.0);
        Self { form, gamma: gamma / median }
    }

    /// The value for two documents, in double precision. O(d).
    pub fn of(&self, a: &[f32], b: &[f32]) -> f64 {
        match self.form {
            Form::Linear => inner(a, b),
            Form::Poly { degree, coef0 } => (self.gamma * inner(a, b) + coef0).powi(degree as i32),
            Form::Intersection => a.iter().zip(b).map(|(&a, &b)| f64::from(a.min(b))).sum(),
            Form::Rbf | Form::Laplace | Form::Chi2 => (-self.gamma * distance(self.form, a, b)).exp(),
        }
    }

    /// The value for a document with itself: 1 where it is the exponential of a distance. O(d), or O(1).
    pub(crate) fn own(&self, a: &[f32]) -> f64 {
        match self.form {
            Form::Rbf | Form::Laplace | Form::Chi2 => 1.0,
            Form::Linear | Form::Poly { .. } | Form::Intersection => self.of(a, a),
        }
    }

    /// The value for all of some documents with all of others, `d` values each: `out[i·n + j] = k(a_i, b_j)` in single precision. A matrix product for
    /// linear, Gaussian and polynomial kernels, O(m n d) for all.
    pub fn block(&self, a: &[f32], b: &[f32], d: usize, out: &mut [f32]) {
        self.block_with(a, (b, &self.squares(b, d)), d, out);
    }

    /// `|x|²` of documents, where the kernel asks for it: what [`Self::block_with`] takes, so that it need not be found again for each block.
    pub(crate) fn squares(&self, docs: &[f32], d: usize) -> Vec<f32> {
        match self.form {
            Form::Rbf => docs.chunks_exact(d.max(1)).map(square).collect(),
            _ => vec![],
        }
    }

    /// The same as [`Self::block`], with the squares of `b`.
    pub(crate) fn block_with(&self, a: &[f32], (b, of_b): (&[f32], &[f32]), d: usize, out: &mut [f32]) {
        self.sums(a, b, d, out);
        let rows = a.chunks_exact(d.max(1)).zip(out.chunks_exact_mut((b.len() / d.max(1)).max(1)));
        for (a, out) in rows {
            self.apart_of_sums(a, of_b, out);
            self.of_apart(out);
        }
    }

    /// What [`Self::of_apart`] makes the kernel of, for all of some documents with all of others: distances under the
    /// exponential, inner products or sums of minima. It does not depend on γ, so that it serves all widths.
    pub(crate) fn apart(&self, a: &[f32], (b, of_b): (&[f32], &[f32]), d: usize, out: &mut [f32]) {
        self.sums(a, b, d, out);
        let rows = a.chunks_exact(d.max(1)).zip(out.chunks_exact_mut((b.len() / d.max(1)).max(1)));
        rows.for_each(|(a, out)| self.apart_of_sums(a, of_b, out));
    }

    /// The kernel of what [`Self::apart`] gives, in place.
    pub(crate) fn of_apart(&self, out: &mut [f32]) {
        let gamma = self.gamma as f32;
        match self.form {
            Form::Linear | Form::Intersection => {}
            Form::Poly { degree, coef0 } => {
                out.iter_mut().for_each(|x| *x = (gamma * *x + coef0 as f32).powi(degree as i32));
            }
            Form::Rbf | Form::Laplace | Form::Chi2 => out.iter_mut().for_each(|x| *x = exp_below_zero(-gamma * *x)),
        }
    }

    /// The sums over values of two documents that a kernel is made of: inner products, or what a form adds up.
    fn sums(&self, a: &[f32], b: &[f32], d: usize, out: &mut [f32]) {
        let (m, n) = (a.len() / d.max(1), b.len() / d.max(1));
        assert_eq!(out.len(), m * n, "a place for each pair");
        match self.form {
            Form::Linear | Form::Poly { .. } | Form::Rbf => {
                out.fill(0.0);
                multiply_f32([m, d, n], 1.0, (a, [d, 1]), (b, [1, d]), (out, n));
            }
            _ => {
                for (a, out) in a.chunks_exact(d.max(1)).zip(out.chunks_exact_mut(n.max(1))) {
                    for (b, out) in b.chunks_exact(d.max(1)).zip(out) {
                        let pairs = a.iter().zip(b);
                        *out = match self.form {
                            Form::Intersection => pairs.map(|(a, b)| a.min(*b)).sum(),
                            Form::Laplace => pairs.map(|(a, b)| (a - b).abs()).sum::<f32>(),
                            _ => pairs.map(|(a, b)| chi2(*a, *b)).sum::<f32>(),
                        };
                    }
                }
            }
        }
    }

    /// `|a|² + |b|² − 2⟨a, b⟩` of inner products, where the kernel asks for distances.
    fn apart_of_sums(&self, a: &[f32], of_b: &[f32], out: &mut [f32]) {
        if self.form == Form::Rbf {
            let a = square(a);
            out.iter_mut().zip(of_b).for_each(|(out, b)| *out = a + b - 2.0 * *out);
        }
    }

    /// `k(·, x_i)` for all packed documents and one of them, in single precision. O(n d), as fast as memory.
    pub(crate) fn column(&self, packed: &Packed, i: usize, out: &mut [f32]) {
        match self.form {
            Form::Linear | Form::Poly { .. } | Form::Rbf => packed.sums(i, out, |a, b| a * b),
            Form::Intersection => packed.sums(i, out, f32::min),
            Form::Laplace => packed.sums(i, out, |a, b| (a - b).abs()),
            Form::Chi2 => packed.sums(i, out, chi2),
        }
        if self.form == Form::Rbf {
            let own = packed.squares[i];
            out.iter_mut().zip(&packed.squares).for_each(|(out, a)| *out = a + own - 2.0 * *out);
        }
        self.of_apart(out);
    }

    /// The slope of `k(a, b)` by `a`, added to `to` with a weight. O(d).
    pub fn add_slope(&self, a: &[f32], b: &[f32], weight: f64, to: &mut [f64]) {
        let value = self.of(a, b);
        let sign = |x: f64| {
            if x > 0.0 {
                1.0
            } else if x < 0.0 {
                -1.0
            } else {
                0.0
            }
        };
        let power = match self.form {
            Form::Poly { degree: 0, .. } => 0.0,
            Form::Poly { degree, coef0 } => {
                f64::from(degree) * self.gamma * (self.gamma * inner(a, b) + coef0).powi(degree as i32 - 1)
            }
            _ => 0.0,
        };
        for ((to, &a), &b) in to.iter_mut().zip(a).zip(b) {
            let (a, b) = (f64::from(a), f64::from(b));
            *to += weight
                * match self.form {
                    Form::Linear => b,
                    Form::Poly { .. } => power * b,
                    Form::Rbf => -2.0 * self.gamma * (a - b) * value,
                    Form::Laplace => -self.gamma * sign(a - b) * value,
                    Form::Intersection => 0.5 * (1.0 + sign(b - a)),
                    // (a − b)²/(a + b) = a − 3b + 4b²/(a + b)
                    Form::Chi2 if a + b > 0.0 => -self.gamma * (1.0 - 4.0 * (b / (a + b)).powi(2)) * value,
                    Form::Chi2 => 0.0,
                };
        }
    }

    /// Refuses documents that the kernel has no value for.
    pub fn check(&self, docs: &[f32]) -> Result<()> {
        match docs.iter().find(|x| **x < 0.0) {
            Some(x) if self.form.of_histograms() => Err(Error::Data {
                expected: format!(
                    "values of at least 0 for kernel={} (scale=none keeps histograms, scale=minmax makes any values so)",
                    self.form.name()
                ),
                found: x.to_string(),
            }),
            _ => Ok(()),
        }
    }
}

/// Documents of a tile: their values stand side by side.
const LANES: usize = 16;

/// Documents packed once for many kernel columns: tiles of 16 documents, value after value, so that a column reads memory in
/// its order and sums 16 documents at once. A matrix product with a single column would pack all of them for each.
pub(crate) struct Packed {
    tiles: Vec<f32>,
    /// `|x|²`, where the kernel asks for it.
    squares: Vec<f32>,
    d: usize,
}

impl Packed {
    /// O(n d).
    pub(crate) fn new(kernel: &Kernel, docs: &[f32], d: usize) -> Self {
        let n = docs.len() / d.max(1);
        let mut tiles = vec![0.0; n.div_ceil(LANES) * LANES * d];
        for (i, doc) in docs.chunks_exact(d.max(1)).enumerate() {
            let tile = &mut tiles[i / LANES * LANES * d..][..LANES * d];
            tile.iter_mut().skip(i % LANES).step_by(LANES).zip(doc).for_each(|(to, x)| *to = *x);
        }
        Self { tiles, squares: kernel.squares(docs, d), d }
    }

    /// `Σ_j add(x_j, x_ij)` for every document x.
    #[inline]
    fn sums(&self, i: usize, out: &mut [f32], add: impl Fn(f32, f32) -> f32) {
        let own: Vec<f32> = self.tiles[i / LANES * LANES * self.d..][..LANES * self.d]
            .iter()
            .skip(i % LANES)
            .step_by(LANES)
            .copied()
            .collect();
        for (tile, out) in self.tiles.chunks_exact((LANES * self.d).max(1)).zip(out.chunks_mut(LANES)) {
            let mut sums = [0.0f32; LANES];
            for (values, &x) in tile.as_chunks::<LANES>().0.iter().zip(&own) {
                sums.iter_mut().zip(values).for_each(|(sum, &a)| *sum += add(a, x));
            }
            out.copy_from_slice(&sums[..out.len()]);
        }
    }
}

fn inner(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
}

/// `|a|²` in double precision, four sums at once.
fn square(a: &[f32]) -> f32 {
    let mut sums = [0.0f64; 4];
    let heads = a.chunks_exact(4);
    let rest = inner(heads.remainder(), heads.remainder());
    for a in heads {
        sums.iter_mut().zip(a).for_each(|(sum, &a)| *sum += f64::from(a) * f64::from(a));
    }
    (sums.iter().sum::<f64>() + rest) as f32
}

#[inline]
fn chi2(a: f32, b: f32) -> f32 {
    let sum = a + b;
    if sum > 0.0 { (a - b) * (a - b) / sum } else { 0.0 }
}

/// The distance under the exponential of a form.
fn distance(form: Form, a: &[f32], b: &[f32]) -> f64 {
    let pairs = a.iter().zip(b).map(|(&a, &b)| (f64::from(a), f64::from(b)));
    match form {
        Form::Laplace => pairs.map(|(a, b)| (a - b).abs()).sum(),
        Form::Chi2 => pairs.map(|(a, b)| if a + b > 0.0 { (a - b).powi(2) / (a + b) } else { 0.0 }).sum(),
        _ => pairs.map(|(a, b)| (a - b).powi(2)).sum(),
    }
}

/// `exp(x)` for x ≤ 0 (above, 1), to 3e-7 of its value; 0 below −87. Without a branch, so that a loop of it runs in vectors.
#[inline]
fn exp_below_zero(x: f32) -> f32 {
    // x = k·ln 2 + r with |r| ≤ ln 2/2; adding 1.5·2²³ rounds to a whole number
    const ROUND: f32 = 12_582_912.0;
    let x = x.clamp(-87.0, 0.0);
    let rounded = x * std::f32::consts::LOG2_E + ROUND;
    let k = rounded - ROUND;
    let r = (x - k * 0.693_359_4) + k * 2.121_944_4e-4;
    let p =
        1.0 + r * (1.0 + r * (0.5 + r * (0.166_666_67 + r * (0.041_666_67 + r * (8.333_334e-3 + r * 1.388_889e-3)))));
    // the last bits of the rounded number are k; a conversion would cost as much as the polynomial
    let power = f32::from_bits(rounded.to_bits().wrapping_add(127) << 23);
    if x > -87.0 { p * power } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMS: [Form; 7] = [
        Form::Linear,
        Form::Rbf,
        Form::Poly { degree: 3, coef0: 1.0 },
        Form::Poly { degree: 1, coef0: 0.0 },
        Form::Laplace,
        Form::Intersection,
        Form::Chi2,
    ];

    fn docs(random: &mut Random, n: usize, d: usize) -> Vec<f32> {
        (0..n * d).map(|_| if random.below(4) == 0 { 0.0 } else { random.uniform() as f32 * 2.0 }).collect()
    }

    #[test]
    fn blocks_are_single_values() {
        let mut random = Random::new(1);
        for round in 0..200 {
            let (m, n, d) = (1 + random.below(9), 1 + random.below(9), 1 + random.below(12));
            let (a, b) = (docs(&mut random, m, d), docs(&mut random, n, d));
            let kernel = Kernel { form: FORMS[round % 7], gamma: 0.05 + random.uniform() };
            let mut out = vec![9.0; m * n];
            kernel.block(&a, &b, d, &mut out);
            for i in 0..m {
                for j in 0..n {
                    let truth = kernel.of(&a[i * d..(i + 1) * d], &b[j * d..(j + 1) * d]);
                    assert!((f64::from(out[i * n + j]) - truth).abs() < 2e-5 * (1.0 + truth.abs()), "{kernel:?}");
                }
            }
        }
    }

    #[test]
    fn columns_are_blocks() {
        let mut random = Random::new(4);
        for round in 0..200 {
            let (n, d) = (1 + random.below(50), 1 + random.below(40));
            let (docs, i) = (docs(&mut random, n, d), random.below(n));
            let kernel = Kernel { form: FORMS[round % 7], gamma: 0.05 + random.uniform() };
            let (packed, own) = (Packed::new(&kernel, &docs, d), &docs[i * d..(i + 1) * d]);
            let (mut column, mut block, mut apart) = (vec![9.0; n], vec![9.0; n], vec![9.0; n]);
            kernel.column(&packed, i, &mut column);
            kernel.block(own, &docs, d, &mut block);
            for ((x, y), doc) in column.iter().zip(&block).zip(docs.chunks_exact(d)) {
                let truth = kernel.of(doc, own);
                assert!((f64::from(*x) - truth).abs() < 2e-5 * (1.0 + truth.abs()), "{kernel:?}");
                assert!((x - y).abs() <= 2e-5 * (1.0 + y.abs()), "{kernel:?}");
            }
            // what serves all widths gives the same bits as the kernel itself
            let squares = kernel.squares(&docs, d);
            kernel.apart(own, (&docs, &squares), d, &mut apart);
            kernel.of_apart(&mut apart);
            assert_eq!(apart, block, "{kernel:?}");
        }
    }

    #[test]
    fn the_exponential_is_near_enough() {
        for at in 0..200_000 {
            let x = -(at as f32) * 5e-4;
            let (own, truth) = (f64::from(exp_below_zero(x)), f64::from(x).exp());
            assert!((own - truth).abs() <= 3e-7 * truth || x <= -87.0, "{x}: {own} {truth}");
        }
        assert_eq!((exp_below_zero(0.0), exp_below_zero(-1e9), exp_below_zero(1e-3)), (1.0, 0.0, 1.0));
    }

    #[test]
    fn slopes_agree_with_differences() {
        let mut random = Random::new(2);
        for form in FORMS {
            let d = 5;
            let (a, b) = (docs(&mut random, 1, d), docs(&mut random, 1, d));
            let kernel = Kernel { form, gamma: 0.3 };
            let mut slope = vec![0.0; d];
            kernel.add_slope(&a, &b, 2.0, &mut slope);
            for j in (0..d).filter(|&j| (a[j] - b[j]).abs() > 0.01 && a[j] > 0.01) {
                let (mut up, mut down) = (a.clone(), a.clone());
                up[j] += 1e-3;
                down[j] -= 1e-3;
                let truth = 2.0 * (kernel.of(&up, &b) - kernel.of(&down, &b)) / (f64::from(up[j]) - f64::from(down[j]));
                assert!((slope[j] - truth).abs() < 1e-3 * (1.0 + truth.abs()), "{form:?} {j}: {} {truth}", slope[j]);
            }
        }
    }

    #[test]
    fn widths_are_in_units_of_the_median_distance() {
        let mut random = Random::new(3);
        let set = docs(&mut random, 300, 4);
        let far: Vec<f32> = set.iter().map(|x| 10.0 * x).collect();
        let of = |form, docs: &[f32]| Kernel::in_units(form, 0.7, docs, 4).gamma;
        assert!((of(Form::Rbf, &set) / of(Form::Rbf, &far) - 100.0).abs() < 1e-3);
        assert!((of(Form::Laplace, &set) / of(Form::Laplace, &far) - 10.0).abs() < 1e-4);
        let kernel = Kernel::in_units(Form::Rbf, 1.0, &set, 4);
        let mut values: Vec<f64> =
            (0..299).map(|i| kernel.of(&set[i * 4..i * 4 + 4], &set[i * 4 + 4..i * 4 + 8])).collect();
        values.sort_by(f64::total_cmp);
        assert!((values[150].ln() + 1.0).abs() < 0.25);
        // few documents: the median of all pairs, in whatever order they stand
        let few = &set[..40 * 4];
        let row = |i: usize| &few[i * 4..(i + 1) * 4];
        let mut apart: Vec<f64> = (0..40)
            .flat_map(|j| (0..j).map(move |i| distance(Form::Rbf, row(i), row(j))))
            .filter(|&x| x > 0.0)
            .collect();
        apart.sort_by(f64::total_cmp);
        assert!((of(Form::Rbf, few) * apart[apart.len() / 2] - 0.7).abs() < 1e-12);
        let turned: Vec<f32> = (0..40).rev().flat_map(|i| row(i).to_vec()).collect();
        assert!((of(Form::Rbf, few) / of(Form::Rbf, &turned) - 1.0).abs() < 1e-12);
        // all alike
        assert!(Kernel::in_units(Form::Rbf, 1.0, &[1.0; 40], 4).gamma.is_finite());
    }

    #[test]
    fn histograms_have_no_value_below_zero() {
        let kernel = Kernel { form: Form::Chi2, gamma: 1.0 };
        assert!(kernel.check(&[0.0, 1.0]).is_ok() && kernel.check(&[0.5, -0.1]).is_err());
        assert!(Kernel { form: Form::Rbf, gamma: 1.0 }.check(&[-1.0]).is_ok());
    }
}
