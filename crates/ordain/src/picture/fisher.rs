//! Fisher vectors: how the patches of a picture differ from those of all pictures.

use super::axes;
use super::{Picture, edges};
use crate::error::{Error, Interrupt, Result};
use crate::random::Random;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// The longer side of a picture whose patches are described.
const SIDE: usize = 192;
/// Patches are squares of this many pixels, in 4 × 4 cells, one every `STEP` pixels.
const PATCH: usize = 24;
const STEP: usize = 8;
const CELLS: usize = 4;
/// Numbers of a patch that are kept by principal components.
const KEPT: usize = 32;
/// At most so many patches are learned from.
const MOST: usize = 40_000;
const ROUNDS: usize = 25;
/// Patches that one thread adds up before sums are joined, in this order.
const PIECE: usize = 512;

/// Descriptors of the patches of a picture, row after row.
struct Patches {
    length: usize,
    values: Vec<f32>,
}

impl Patches {
    fn rows(&self) -> impl Iterator<Item = &[f32]> {
        self.values.chunks_exact(self.length)
    }
}

/// Gradients of a patch: 4 × 4 cells of 8 directions, scaled to length 1, cut at .2 and scaled again (Lowe, *Distinctive
/// image features*, 2004). Colours of a patch: mean and standard deviation of red, green and blue in each cell.
fn describe(picture: &Picture) -> [Patches; 2] {
    let planes = picture.planes().map(|plane| plane.within(SIDE));
    let grey = picture.brightness().within(SIDE);
    let oriented = edges::oriented(&grey);
    let side = PATCH / CELLS;
    let (mut gradients, mut colours) = (vec![], vec![]);
    let places = |length: usize| (0..=length.saturating_sub(PATCH)).step_by(STEP);
    for top in places(grey.height) {
        for left in places(grey.width) {
            let mut slopes = [0.0f32; CELLS * CELLS * 8];
            let mut sums = [[0.0f32; 7]; CELLS * CELLS];
            for y in top..(top + PATCH).min(grey.height) {
                for x in left..(left + PATCH).min(grey.width) {
                    let (at, cell) = (y * grey.width + x, (y - top) / side * CELLS + (x - left) / side);
                    slopes[cell * 8..cell * 8 + 8].iter_mut().zip(&oriented[at]).for_each(|(a, b)| *a += b);
                    let sum = &mut sums[cell];
                    for (c, plane) in planes.iter().enumerate() {
                        let v = plane.values[at] / 255.0;
                        sum[c] += v;
                        sum[3 + c] += v * v;
                    }
                    sum[6] += 1.0;
                }
            }
            to_length_1(&mut slopes, 1.0); // a patch without slopes stays near 0
            slopes.iter_mut().for_each(|x| *x = x.min(0.2));
            to_length_1(&mut slopes, 1e-6);
            gradients.extend(slopes);
            for sum in sums {
                let n = sum[6].max(1.0);
                for c in 0..3 {
                    let mean = sum[c] / n;
                    colours.extend([mean, (sum[3 + c] / n - mean * mean).max(0.0).sqrt()]);
                }
            }
        }
    }
    [Patches { length: CELLS * CELLS * 8, values: gradients }, Patches { length: CELLS * CELLS * 6, values: colours }]
}

fn to_length_1(values: &mut [f32], least: f32) {
    let norm = values.iter().map(|x| x * x).sum::<f32>().sqrt().max(least);
    values.iter_mut().for_each(|x| *x /= norm);
}

/// A mixture of Gaussians over patches, learned from many pictures; it turns a picture into a vector for a linear score.
///
/// Mensink, Verbeek, Caetano 2011, section 5: dense descriptors of gradients and of colours, principal components, a mixture of Gaussians with diagonal
/// covariances for each, and for a picture with patches x the normalised slopes of its log-likelihood (Perronnin, Sánchez,
/// Mensink, *Improving the Fisher kernel*, 2010)
///
/// ```text
/// u_k = 1/(N √w_k)  Σ_n γ_nk (x_n − μ_k)/σ_k        v_k = 1/(N √(2 w_k)) Σ_n γ_nk ((x_n − μ_k)²/σ_k² − 1)
/// ```
///
/// then the square root of each entry with its sign, and length 1. A vector has `4 · 32 · components` numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fisher {
    kinds: [Mixture; 2],
}

impl Fisher {
    /// Learns from `count` pictures, which are read one by one: principal components and mixtures of at most 40,000 patches,
    /// evenly over the pictures.
    ///
    /// # Errors
    ///
    /// Those of `read`; [`Error::Data`] where there are no more patches than components.
    pub fn learn(
        count: usize,
        read: impl Fn(usize) -> Result<Picture> + Sync,
        components: usize,
        seed: u64,
        stop: &Interrupt,
    ) -> Result<Self> {
        let each = (MOST / count.max(1)).max(1);
        let sample = |i: usize| -> Result<[Patches; 2]> {
            stop.check()?;
            Ok(describe(&read(i)?).map(|all| {
                let step = (all.values.len() / all.length).div_ceil(each).max(1);
                let values = all.rows().step_by(step).flatten().copied().collect();
                Patches { length: all.length, values }
            }))
        };
        let sampled: Vec<[Patches; 2]> = (0..count).into_par_iter().map(sample).collect::<Result<_>>()?;
        stop.check()?;
        let kind = |kind: usize| {
            let length = sampled.first().map_or(1, |s| s[kind].length);
            let values: Vec<f32> = sampled.iter().flat_map(|s| &s[kind].values).copied().collect();
            Mixture::learn(&Patches { length, values }, components, seed.wrapping_add(kind as u64), stop)
        };
        Ok(Self { kinds: [kind(0)?, kind(1)?] })
    }

    /// The vector of a picture. O(patches · components).
    pub fn apply(&self, picture: &Picture) -> Vec<f32> {
        let patches = describe(picture);
        let mut out: Vec<f64> =
            self.kinds.iter().zip(&patches).flat_map(|(kind, patches)| kind.slopes(patches)).collect();
        out.iter_mut().for_each(|x| *x = x.signum() * x.abs().sqrt());
        let norm = out.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-12);
        out.into_iter().map(|x| (x / norm) as f32).collect()
    }

    /// The number of entries of a vector of so many Gaussians.
    pub(super) fn entries(components: usize) -> usize {
        4 * KEPT * components
    }

    /// The number of entries of a vector.
    pub fn length(&self) -> usize {
        self.kinds.iter().map(|kind| 2 * kind.means.len()).sum()
    }

    /// Whether all parts are those that [`Fisher::learn`] can give for so many Gaussians, as those of a stored one have to be.
    pub(crate) fn is_of(&self, components: usize) -> bool {
        self.kinds[0].is_of(components, CELLS * CELLS * 8) && self.kinds[1].is_of(components, CELLS * CELLS * 6)
    }
}

/// Principal components of patches, and Gaussians over them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mixture {
    centre: Vec<f64>,
    /// The components as rows.
    axes: Vec<f64>,
    weights: Vec<f64>,
    /// A row for each Gaussian.
    means: Vec<f64>,
    deviations: Vec<f64>,
}

/// What one round of expectation and maximisation adds up: for each Gaussian its share, first and second moments.
struct Sums {
    likelihood: f64,
    shares: Vec<f64>,
    first: Vec<f64>,
    second: Vec<f64>,
}

impl Mixture {
    fn learn(patches: &Patches, components: usize, seed: u64, stop: &Interrupt) -> Result<Self> {
        let n = patches.values.len() / patches.length;
        if components == 0 || n <= components {
            return Err(Error::Data {
                expected: format!(
                    "more than {components} patches of {PATCH} pixels to learn {components} Gaussians from"
                ),
                found: format!("{n}; give more or larger pictures"),
            });
        }
        let (centre, axes) = principal(patches);
        let mut this = Self { centre, axes, weights: vec![], means: vec![], deviations: vec![] };
        let points = this.projected(patches);
        let d = this.kept();
        let mean: Vec<f64> = (0..d).map(|j| points.iter().skip(j).step_by(d).sum::<f64>() / n as f64).collect();
        let deviation: Vec<f64> = (0..d)
            .map(|j| {
                let squares = points.iter().skip(j).step_by(d).map(|x| (x - mean[j]).powi(2)).sum::<f64>();
                (squares / n as f64).sqrt().max(1e-6)
            })
            .collect();
        let mut order: Vec<usize> = (0..n).collect();
        Random::new(seed).shuffle(&mut order);
        this.weights = vec![1.0 / components as f64; components];
        this.means = order[..components].iter().flat_map(|&i| points[i * d..(i + 1) * d].to_vec()).collect();
        this.deviations = deviation.repeat(components);
        let mut last = f64::NEG_INFINITY;
        for _ in 0..ROUNDS {
            stop.check()?;
            let sums = this.sums(&points);
            this.update(&sums, n, &deviation);
            if sums.likelihood - last < 1e-4 * n as f64 {
                break;
            }
            last = sums.likelihood;
        }
        Ok(this)
    }

    /// Whether it can have been learned from patches of so many numbers: those are from 0 to 1, so that along an axis no patch is
    /// farther from the centre than the root of their number. A Gaussian without patches keeps a millionth, see `update`.
    fn is_of(&self, components: usize, length: usize) -> bool {
        let (size, far) = (KEPT * components, 1.001 * (length as f64).sqrt());
        let near = |values: &[f64], most: f64| values.iter().all(|x| x.abs() <= most);
        self.centre.len() == length
            && near(&self.centre, 1.001)
            && self.axes.len() == KEPT * length
            && axes::are_orthonormal(&self.axes, length)
            && self.weights.len() == components
            && self.weights.iter().all(|w| *w > 1e-9)
            && (self.weights.iter().sum::<f64>() - 1.0).abs() <= 1e-6
            && self.means.len() == size
            && near(&self.means, far)
            && self.deviations.len() == size
            && self.deviations.iter().all(|s| (1e-8..=far).contains(s))
    }

    fn kept(&self) -> usize {
        self.axes.len() / self.centre.len()
    }

    /// The patches along the axes, row after row.
    fn projected(&self, patches: &Patches) -> Vec<f64> {
        let length = patches.length;
        let piece = |rows: &[f32]| {
            let mut out = Vec::with_capacity(rows.len() / length * self.kept());
            for row in rows.chunks_exact(length) {
                let moved: Vec<f64> = row.iter().zip(&self.centre).map(|(x, m)| f64::from(*x) - m).collect();
                out.extend(self.axes.chunks_exact(length).map(|axis| crate::matrix::dot(axis, &moved)));
            }
            out
        };
        patches.values.par_chunks(length * PIECE).flat_map_iter(piece).collect()
    }

    /// The share of each Gaussian in a point, into `shares`; returns the log-likelihood.
    fn shares(&self, point: &[f64], constants: &[f64], shares: &mut [f64]) -> f64 {
        let d = point.len();
        for (k, share) in shares.iter_mut().enumerate() {
            let (mean, deviation) = (&self.means[k * d..(k + 1) * d], &self.deviations[k * d..(k + 1) * d]);
            let mut far = 0.0;
            for j in 0..d {
                let z = (point[j] - mean[j]) / deviation[j];
                far += z * z;
            }
            *share = constants[k] - 0.5 * far;
        }
        let most = shares.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = shares.iter().map(|s| (s - most).exp()).sum();
        shares.iter_mut().for_each(|s| *s = (*s - most).exp() / sum);
        most + sum.ln()
    }

    /// log w_k − Σ log σ_kj, without what is common to all.
    fn constants(&self) -> Vec<f64> {
        let d = self.kept();
        let logs = self.deviations.chunks_exact(d).map(|row| row.iter().map(|s| s.ln()).sum::<f64>());
        self.weights.iter().zip(logs).map(|(w, logs)| w.ln() - logs).collect()
    }

    fn sums(&self, points: &[f64]) -> Sums {
        let (d, k) = (self.kept(), self.weights.len());
        let constants = self.constants();
        let piece = |piece: &[f64]| {
            let mut sums =
                Sums { likelihood: 0.0, shares: vec![0.0; k], first: vec![0.0; k * d], second: vec![0.0; k * d] };
            let mut shares = vec![0.0; k];
            for point in piece.chunks_exact(d) {
                sums.likelihood += self.shares(point, &constants, &mut shares);
                for (c, share) in shares.iter().enumerate().filter(|(_, share)| **share > 1e-12) {
                    sums.shares[c] += share;
                    for (at, x) in (c * d..).zip(point) {
                        sums.first[at] += share * x;
                        sums.second[at] += share * x * x;
                    }
                }
            }
            sums
        };
        let pieces: Vec<Sums> = points.par_chunks(d * PIECE).map(piece).collect();
        let add = |a: &mut [f64], b: &[f64]| a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        let empty = Sums { likelihood: 0.0, shares: vec![0.0; k], first: vec![0.0; k * d], second: vec![0.0; k * d] };
        pieces.into_iter().fold(empty, |mut a, b| {
            a.likelihood += b.likelihood;
            add(&mut a.shares, &b.shares);
            add(&mut a.first, &b.first);
            add(&mut a.second, &b.second);
            a
        })
    }

    /// A Gaussian that hardly has a patch keeps its place; no deviation falls below a tenth of that of all patches.
    fn update(&mut self, sums: &Sums, n: usize, all: &[f64]) {
        let d = self.kept();
        for (c, &share) in sums.shares.iter().enumerate() {
            self.weights[c] = (share / n as f64).max(1e-6);
            if share < 1.0 {
                continue;
            }
            for (at, deviation) in (c * d..).zip(all) {
                let mean = sums.first[at] / share;
                let variance = sums.second[at] / share - mean * mean;
                self.means[at] = mean;
                self.deviations[at] = variance.max(0.0).sqrt().max(0.1 * deviation);
            }
        }
        let total: f64 = self.weights.iter().sum();
        self.weights.iter_mut().for_each(|w| *w /= total);
    }

    /// `u` and `v` of every Gaussian: all `u`, then all `v`.
    fn slopes(&self, patches: &Patches) -> Vec<f64> {
        let d = self.kept();
        let points = self.projected(patches);
        let n = (points.len() / d).max(1) as f64;
        let sums = self.sums(&points);
        let mut out = vec![0.0; 2 * self.means.len()];
        let (u, v) = out.split_at_mut(self.means.len());
        for (c, (&share, &w)) in sums.shares.iter().zip(&self.weights).enumerate() {
            for at in c * d..(c + 1) * d {
                let (m, s) = (self.means[at], self.deviations[at]);
                u[at] = (sums.first[at] - share * m) / s / (n * w.sqrt());
                let squares = (sums.second[at] - 2.0 * m * sums.first[at] + share * m * m) / (s * s);
                v[at] = (squares - share) / (n * (2.0 * w).sqrt());
            }
        }
        out
    }
}

/// The mean of the patches, and the axes along which they differ most.
fn principal(patches: &Patches) -> (Vec<f64>, Vec<f64>) {
    let (length, n) = (patches.length, (patches.values.len() / patches.length) as f64);
    let sums = |of: &(dyn Fn(&[f32], &mut [f64]) + Sync), size: usize| {
        let piece = |piece: &[f32]| {
            let mut sum = vec![0.0; size];
            piece.chunks_exact(length).for_each(|row| of(row, &mut sum));
            sum
        };
        let pieces: Vec<Vec<f64>> = patches.values.par_chunks(length * PIECE).map(piece).collect();
        pieces.into_iter().fold(vec![0.0; size], |mut a, b| {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b / n);
            a
        })
    };
    let centre = sums(&|row, sum| sum.iter_mut().zip(row).for_each(|(s, x)| *s += f64::from(*x)), length);
    let covariance = sums(
        &|row, sum| {
            for i in 0..length {
                let a = f64::from(row[i]) - centre[i];
                for j in 0..=i {
                    sum[i * length + j] += a * (f64::from(row[j]) - centre[j]);
                }
            }
        },
        length * length,
    );
    let (_, vectors) = axes::falling(&covariance, length);
    (centre, vectors[..KEPT.min(length) * length].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(seed: u64, width: usize, height: usize) -> Picture {
        let mut random = Random::new(seed);
        let mut byte = || random.below(256) as u8;
        Picture::new(width, height, (0..width * height).map(|_| [byte(), byte(), byte()]).collect()).unwrap()
    }

    /// The vector equals a plain loop over patches and Gaussians, written from the formulas.
    #[test]
    fn a_vector_equals_a_plain_loop() {
        let pictures: Vec<Picture> = (0..6).map(|seed| noise(seed, 60 + seed as usize, 50)).collect();
        let fisher = Fisher::learn(pictures.len(), |i| Ok(pictures[i].clone()), 3, 1, &Interrupt::default()).unwrap();
        assert!(fisher.is_of(3) && !fisher.is_of(2));
        let got = fisher.apply(&pictures[2]);
        assert_eq!(got.len(), fisher.length());
        let mut want = vec![];
        for (kind, patches) in fisher.kinds.iter().zip(describe(&pictures[2])) {
            let d = kind.kept();
            let points: Vec<Vec<f64>> = patches
                .rows()
                .map(|row| {
                    let axis = |a: &[f64]| (0..row.len()).map(|i| a[i] * (f64::from(row[i]) - kind.centre[i])).sum();
                    kind.axes.chunks_exact(row.len()).map(axis).collect()
                })
                .collect();
            let density = |k: usize, x: &[f64]| {
                (0..d).fold(kind.weights[k], |p, j| {
                    let (m, s) = (kind.means[k * d + j], kind.deviations[k * d + j]);
                    p * (-0.5 * ((x[j] - m) / s).powi(2)).exp() / s
                })
            };
            let (mut u, mut v) = (vec![0.0; 3 * d], vec![0.0; 3 * d]);
            for x in &points {
                let total: f64 = (0..3).map(|k| density(k, x)).sum();
                for k in 0..3 {
                    let share = density(k, x) / total / points.len() as f64;
                    for j in 0..d {
                        let z = (x[j] - kind.means[k * d + j]) / kind.deviations[k * d + j];
                        u[k * d + j] += share * z / kind.weights[k].sqrt();
                        v[k * d + j] += share * (z * z - 1.0) / (2.0 * kind.weights[k]).sqrt();
                    }
                }
            }
            want.extend(u.into_iter().chain(v));
        }
        want.iter_mut().for_each(|x: &mut f64| *x = x.signum() * x.abs().sqrt());
        let norm = want.iter().map(|x| x * x).sum::<f64>().sqrt();
        for (got, want) in got.iter().zip(&want) {
            assert!((f64::from(*got) - want / norm).abs() < 1e-5, "{got} is not {}", want / norm);
        }
    }

    #[test]
    fn too_few_patches_are_refused() {
        let small = noise(1, 5, 5);
        let error = Fisher::learn(1, |_| Ok(small.clone()), 16, 1, &Interrupt::default()).unwrap_err().to_string();
        assert!(error.contains("more than 16 patches"), "{error}");
    }
}
