//! The mean loss of a data set, as a function of the parameters.

use crate::error::{Error, Result};
use crate::matrix::{add_symmetric_product, axpy, finite, mirror};
use crate::traits::{Risk, Scorer, Surrogate};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// `Σ_n weight_n · L_n(A_n θ)`.
///
/// Examples are cut into groups by the data alone; each group is one task with its own buffers, made once, and their
/// sums are added in order: no number depends on the threads. Within a group scores, loss and gradient of an example
/// are done while its rows are in the cache, so that an evaluation reads the features once.
pub struct Empirical<'a, C: Scorer, R: Surrogate> {
    scorer: &'a C,
    surrogate: &'a R,
    weight: Vec<f64>,
    groups: Vec<Group<C::Work, R::Work>>,
    stop: Option<&'a AtomicBool>,
    heeds: bool,
}

/// Leaves with [`Error::Interrupted`] where the flag is set.
pub(crate) fn go_on(stop: Option<&AtomicBool>) -> Result<()> {
    if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) { Err(Error::Interrupted) } else { Ok(()) }
}

/// A risk with a ridge of its own on each parameter, in units in which its parameters bend it about alike.
///
/// ```text
/// value(θ') = risk(θ) + ½ Σ_j strength_j θ_j²,   θ_j = unit_j·θ'_j
/// ```
///
/// A solver that minimises it is given no further ridge.
pub struct Ridged<'a> {
    risk: &'a mut dyn Risk,
    strength: Vec<f64>,
    unit: Vec<f64>,
    theta: Vec<f64>,
}

impl<'a> Ridged<'a> {
    /// The risk with these strengths; `curvature` is roughly the second derivative of the risk by each parameter.
    pub fn new(risk: &'a mut dyn Risk, strength: Vec<f64>, curvature: &[f64]) -> Self {
        let unit = curvature.iter().zip(&strength).map(|(c, s)| 1.0 / (c + s).max(1e-12).sqrt()).collect();
        let theta = vec![0.0; strength.len()];
        Self { risk, strength, unit, theta }
    }

    /// Parameters of the risk from those of the solver.
    pub fn theta(&self, of_solver: &[f64]) -> Vec<f64> {
        of_solver.iter().zip(&self.unit).map(|(t, unit)| t * unit).collect()
    }

    /// Parameters of the solver from those of the risk.
    pub fn units(&self, theta: &[f64]) -> Vec<f64> {
        theta.iter().zip(&self.unit).map(|(t, unit)| t / unit).collect()
    }
}

impl Risk for Ridged<'_> {
    fn dim(&self) -> usize {
        self.strength.len()
    }

    fn value(&mut self, theta: &[f64], grad: &mut [f64]) -> Result<f64> {
        self.theta.iter_mut().zip(theta).zip(&self.unit).for_each(|((t, own), unit)| *t = own * unit);
        let mut value = self.risk.value(&self.theta, grad)?;
        for (((g, t), strength), unit) in grad.iter_mut().zip(&self.theta).zip(&self.strength).zip(&self.unit) {
            value += 0.5 * strength * t * t;
            *g = (*g + strength * t) * unit;
        }
        Ok(value)
    }

    fn heed(&mut self, stop: bool) {
        self.risk.heed(stop);
    }
}

#[derive(Default)]
struct Group<A, B> {
    examples: Range<usize>,
    first: usize,
    scores: Vec<f64>,
    slope: Vec<f64>,
    sum: Vec<f64>,
    z: Vec<f64>,
    hz: Vec<f64>,
    product: Vec<f64>,
    scorer: A,
    surrogate: B,
}

/// Rows of a Hessian panel: enough to feed the matrix product, few enough to stay in the cache.
const PANEL: usize = 256;

/// The most values of one example that are written out in double precision for a Hessian: 32 MB of them.
const LARGEST_EXAMPLE: usize = 1 << 22;

impl<'a, C: Scorer, R: Surrogate> Empirical<'a, C, R> {
    /// The risk of all examples with these weights.
    pub fn new(scorer: &'a C, surrogate: &'a R, weight: Vec<f64>) -> Self {
        debug_assert!(scorer.len() == surrogate.len() && weight.len() == scorer.len());
        let n = scorer.len();
        let total = if n == 0 { 0 } else { scorer.span(n - 1).end };
        // as many groups as threads could use, fewer where the gradient of each is long
        let count = ((1 << 22) / scorer.dim().max(1)).clamp(2, 32).min(n.max(1));
        let mut groups = vec![];
        let mut start = 0;
        for g in 1..=count {
            let mut end = start;
            while end < n && (scorer.span(end).end * count <= total * g || g == count) {
                end += 1;
            }
            if end > start {
                let first = scorer.span(start).start;
                let scores = vec![0.0; scorer.span(end - 1).end - first];
                groups.push(Group {
                    examples: start..end,
                    first,
                    slope: vec![0.0; (start..end).map(|n| scorer.span(n).len()).max().unwrap_or(0)],
                    sum: vec![0.0; scorer.dim()],
                    scores,
                    z: vec![],
                    hz: vec![],
                    product: vec![],
                    scorer: C::Work::default(),
                    surrogate: R::Work::default(),
                });
            }
            start = end;
        }
        Self { scorer, surrogate, weight, groups, stop: None, heeds: false }
    }

    /// The same, but within the steps of a solver an evaluation ends with [`Error::Interrupted`] at the next example once the flag is set.
    pub fn stopped_by(self, stop: &'a AtomicBool) -> Self {
        Self { stop: Some(stop), ..self }
    }

    fn add_up(&self, out: &mut [f64]) {
        out.fill(0.0);
        self.groups.iter().for_each(|group| axpy(1.0, &group.sum, out));
    }
}

impl<C: Scorer, R: Surrogate> Risk for Empirical<'_, C, R> {
    fn dim(&self) -> usize {
        self.scorer.dim()
    }

    fn value(&mut self, theta: &[f64], grad: &mut [f64]) -> Result<f64> {
        let (scorer, surrogate, weight, stop) =
            (self.scorer, self.surrogate, &self.weight, self.stop.filter(|_| self.heeds));
        let values: Result<Vec<f64>> = self
            .groups
            .par_iter_mut()
            .map(|group| {
                group.sum.fill(0.0);
                let mut total = 0.0;
                for n in group.examples.clone() {
                    go_on(stop)?;
                    let span = scorer.span(n);
                    let s = &mut group.scores[span.start - group.first..span.end - group.first];
                    let d = &mut group.slope[..s.len()];
                    scorer.scores(n, theta, s, &mut group.scorer);
                    total += weight[n] * surrogate.value(n, s, d, &mut group.surrogate)?;
                    d.iter_mut().for_each(|d| *d *= weight[n]);
                    scorer.pull_back(n, d, &mut group.sum, &mut group.scorer);
                }
                Ok(total)
            })
            .collect();
        self.add_up(grad);
        finite("the objective", values?.iter().sum())
    }

    fn curvature(&mut self, v: &[f64], out: &mut [f64]) -> Result<bool> {
        let (scorer, surrogate, weight, stop) =
            (self.scorer, self.surrogate, &self.weight, self.stop.filter(|_| self.heeds));
        let there: Result<Vec<bool>> = self
            .groups
            .par_iter_mut()
            .map(|group| {
                group.sum.fill(0.0);
                group.z.resize(group.slope.len(), 0.0);
                for n in group.examples.clone() {
                    go_on(stop)?;
                    let span = scorer.span(n);
                    let s = &group.scores[span.start - group.first..span.end - group.first];
                    let (z, hz) = (&mut group.z[..s.len()], &mut group.slope[..s.len()]);
                    scorer.scores(n, v, z, &mut group.scorer);
                    if !surrogate.curvature(n, s, z, 1, hz, &mut group.surrogate)? {
                        return Ok(false);
                    }
                    hz.iter_mut().for_each(|x| *x *= weight[n]);
                    scorer.pull_back(n, hz, &mut group.sum, &mut group.scorer);
                }
                Ok(true)
            })
            .collect();
        self.add_up(out);
        Ok(there?.into_iter().all(|there| there))
    }

    fn hessian(&mut self, out: &mut [f64]) -> Result<bool> {
        let (scorer, surrogate, weight, stop) =
            (self.scorer, self.surrogate, &self.weight, self.stop.filter(|_| self.heeds));
        let d = scorer.dim();
        let longest = self.groups.iter().map(|group| group.slope.len()).max().unwrap_or(0);
        if longest * d > LARGEST_EXAMPLE {
            return Ok(false);
        }
        let there: Result<Vec<bool>> = self
            .groups
            .par_iter_mut()
            .map(|group| {
                group.product.clear();
                group.product.resize(d * d, 0.0);
                let room = (PANEL + group.slope.len()) * d;
                if group.z.len() < room {
                    group.z.resize(room, 0.0);
                    group.hz.resize(room, 0.0);
                }
                let mut filled = 0;
                for n in group.examples.clone() {
                    go_on(stop)?;
                    let span = scorer.span(n);
                    let s = &group.scores[span.start - group.first..span.end - group.first];
                    let of = filled..filled + s.len() * d;
                    let (z, hz) = (&mut group.z[of.clone()], &mut group.hz[of.clone()]);
                    if !scorer.matrix(n, z) || !surrogate.curvature(n, s, z, d, hz, &mut group.surrogate)? {
                        return Ok(false);
                    }
                    hz.iter_mut().for_each(|x| *x *= weight[n]);
                    filled = of.end;
                    if filled >= PANEL * d || n + 1 == group.examples.end {
                        add_symmetric_product(&group.z[..filled], &group.hz[..filled], d, &mut group.product);
                        filled = 0;
                    }
                }
                Ok(true)
            })
            .collect();
        out.fill(0.0);
        self.groups.iter().for_each(|group| axpy(1.0, &group.product, out));
        mirror(out, d);
        Ok(there?.into_iter().all(|there| there))
    }

    fn dot(&self, a: &[f64], b: &[f64]) -> f64 {
        self.scorer.dot(a, b)
    }

    fn heed(&mut self, stop: bool) {
        self.heeds = stop;
    }
}
