//! The mean loss of a data set, as a function of the parameters.

use crate::error::{Error, Result};
use crate::matrix::{add_symmetric_product, axpy, finite, mirror};
use crate::pieces::{Node, Pool, Run, cover, tree};
use crate::traits::{Risk, Scorer, Surrogate};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// `Σ_n weight_n · L_n(A_n θ)`.
///
/// Examples are summed by the [pieces](crate::pieces) of the set that they are of: a piece is one task, and the sums of pieces are added in
/// a fixed tree. No number depends on the threads, nor on which machine sums which pieces. Within a piece scores, loss and
/// gradient of an example are done while its rows are in the cache, so that an evaluation reads the features once. Scores are remembered, with the
/// parameters that they belong to: a Hessian at other parameters scores anew.
pub struct Empirical<'a, C: Scorer, R: Surrogate> {
    scorer: &'a C,
    surrogate: &'a R,
    weight: Vec<f64>,
    held: Vec<Held>,
    /// The most scores of an example.
    longest: usize,
    /// The parameters of the scores, where all are held.
    at: Vec<f64>,
    holds: bool,
    desks: Pool<Box<Desk<C::Work, R::Work>>>,
    sums: Pool<Vec<f64>>,
    stop: Option<&'a AtomicBool>,
    heeds: bool,
}

/// What a shard can be asked for, at parameters `theta`.
#[derive(Clone, Copy, Debug)]
pub enum Ask<'a> {
    /// The gradient, and after it the value.
    Value {
        /// Where.
        theta: &'a [f64],
    },
    /// `H·v`.
    Product {
        /// Where.
        theta: &'a [f64],
        /// What it is multiplied by.
        v: &'a [f64],
    },
    /// The Hessian: its lower half, row-major in a full square. Above the diagonal nothing is right; [`mirror`] is for the whole sum.
    Hessian {
        /// Where.
        theta: &'a [f64],
    },
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

/// The examples of a piece, with their scores at the last point.
struct Held {
    run: Run,
    scores: Vec<f64>,
}

/// Where a thread works on a piece.
#[derive(Default)]
struct Desk<A, B> {
    scores: Vec<f64>,
    slope: Vec<f64>,
    z: Vec<f64>,
    hz: Vec<f64>,
    scorer: A,
    surrogate: B,
}

/// Why there is no sum.
enum Missing {
    Curvature,
    Failed(Error),
}

impl From<Error> for Missing {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Rows of a Hessian panel: enough to feed the matrix product, few enough to stay in the cache.
const PANEL: usize = 256;

/// The most values of one example that are written out in double precision for a Hessian: 32 MB of them.
const LARGEST_EXAMPLE: usize = 1 << 22;

impl<'a, C: Scorer, R: Surrogate> Empirical<'a, C, R> {
    /// The risk of all examples with these weights.
    pub fn new(scorer: &'a C, surrogate: &'a R, weight: Vec<f64>) -> Self {
        assert!(scorer.len() == surrogate.len() && weight.len() == scorer.len());
        let kept = surrogate.bends();
        let len = |n: u32| scorer.span(n as usize).len();
        let held = |run: Run| {
            let scores = if kept { run.examples.iter().map(|&n| len(n)).sum() } else { 0 };
            Held { scores: vec![0.0; scores], run }
        };
        Self {
            scorer,
            surrogate,
            held: scorer.pieces().runs((0..scorer.len()).map(|n| scorer.unit(n))).into_iter().map(held).collect(),
            longest: (0..scorer.len() as u32).map(len).max().unwrap_or(0),
            weight,
            at: vec![],
            holds: false,
            desks: Pool::default(),
            sums: Pool::default(),
            stop: None,
            heeds: false,
        }
    }

    /// The same, but within the steps of a solver an evaluation ends with [`Error::Interrupted`] at the next example once the flag is set.
    pub fn stopped_by(self, stop: &'a AtomicBool) -> Self {
        Self { stop: Some(stop), ..self }
    }

    /// What the examples of a run of pieces have to say: the nodes that [`cover`] the run and have examples, for
    /// [`merge`](crate::pieces::merge). Nothing where there is no curvature.
    ///
    /// Nodes of shards that are a run of pieces each are merged to precisely what [`Risk`] says of them all.
    pub fn nodes(&mut self, run: Range<usize>, ask: Ask) -> Result<Option<Vec<Node<Vec<f64>>>>> {
        if !self.ready(ask)? {
            return Ok(None);
        }
        let (mut nodes, all) = (vec![], self.held.iter().all(|held| run.contains(&held.run.piece)));
        for (level, at) in cover(run) {
            let before = |piece: usize| self.held.partition_point(|held| held.run.piece < piece);
            match self.sum(before(at << level)..before((at + 1) << level), ask) {
                Err(Missing::Failed(error)) => return Err(error),
                Err(Missing::Curvature) => return Ok(None),
                Ok(sum) => nodes.extend(sum.map(|sum| Node { level, at, sum })),
            }
        }
        self.holds = all;
        Ok(Some(nodes))
    }

    /// Sees to it that the scores are those of the parameters, where they are asked for; `false` where there is no curvature.
    fn ready(&mut self, ask: Ask) -> Result<bool> {
        let theta = match ask {
            Ask::Value { theta } => {
                self.holds = false;
                self.at.clear();
                self.at.extend_from_slice(theta);
                return Ok(true);
            }
            Ask::Product { theta, .. } | Ask::Hessian { theta } => theta,
        };
        let large = matches!(ask, Ask::Hessian { .. }) && self.longest * self.scorer.dim() > LARGEST_EXAMPLE;
        if !self.surrogate.bends() || large {
            return Ok(false);
        }
        if self.holds && self.at.iter().zip(theta).all(|(a, b)| a.to_bits() == b.to_bits()) {
            return Ok(true);
        }
        let (scorer, desks, stop) = (self.scorer, &self.desks, self.stop.filter(|_| self.heeds));
        self.holds = false;
        self.held.par_iter_mut().try_for_each(|held| {
            let mut desk = desks.take();
            let mut rest = &mut held.scores[..];
            for &n in &held.run.examples {
                go_on(stop)?;
                let (s, after) = rest.split_at_mut(scorer.span(n as usize).len());
                scorer.scores(n as usize, theta, s, &mut desk.scorer);
                rest = after;
            }
            desks.put(desk);
            Ok(())
        })?;
        self.at.clear();
        self.at.extend_from_slice(theta);
        self.holds = true;
        Ok(true)
    }

    /// The sum over some pieces by the tree; nothing where no example is in them.
    fn sum(&mut self, of: Range<usize>, ask: Ask) -> std::result::Result<Option<Vec<f64>>, Missing> {
        let d = self.scorer.dim();
        let job = Job {
            scorer: self.scorer,
            surrogate: self.surrogate,
            weight: &self.weight,
            longest: self.longest,
            stop: self.stop.filter(|_| self.heeds),
        };
        let (desks, sums) = (&self.desks, &self.sums);
        let leaf = |held: &mut Held| {
            let (mut desk, mut sum) = (desks.take(), sums.take());
            sum.clear();
            let made = match ask {
                Ask::Value { theta } => {
                    sum.resize(d + 1, 0.0);
                    job.value(held, theta, &mut desk, &mut sum)
                }
                Ask::Product { v, .. } => {
                    sum.resize(d, 0.0);
                    job.product(held, v, &mut desk, &mut sum)
                }
                Ask::Hessian { .. } => {
                    sum.resize(d * d, 0.0);
                    job.hessian(held, &mut desk, &mut sum)
                }
            };
            desks.put(desk);
            made.map(|()| sum)
        };
        let add = |mut a: Vec<f64>, b: Vec<f64>| {
            axpy(1.0, &b, &mut a);
            sums.put(b);
            a
        };
        tree(&mut self.held[of], &|held| held.run.piece, &leaf, &add)
    }

    /// The sum over all pieces, written to `out`; the number after that is returned. Nothing where there is no curvature.
    fn whole(&mut self, ask: Ask, out: &mut [f64]) -> Result<Option<f64>> {
        if !self.ready(ask)? {
            return Ok(None);
        }
        let sum = self.sum(0..self.held.len(), ask);
        self.holds = sum.is_ok();
        match sum {
            Err(Missing::Failed(error)) => Err(error),
            Err(Missing::Curvature) => Ok(None),
            Ok(None) => {
                out.fill(0.0);
                Ok(Some(0.0))
            }
            Ok(Some(sum)) => {
                out.copy_from_slice(&sum[..out.len()]);
                let rest = sum.get(out.len()).copied().unwrap_or(0.0);
                self.sums.put(sum);
                Ok(Some(rest))
            }
        }
    }
}

/// What is done with the examples of a piece.
struct Job<'a, C, R> {
    scorer: &'a C,
    surrogate: &'a R,
    weight: &'a [f64],
    longest: usize,
    stop: Option<&'a AtomicBool>,
}

impl<C: Scorer, R: Surrogate> Job<'_, C, R> {
    fn value(
        &self,
        held: &mut Held,
        theta: &[f64],
        desk: &mut Desk<C::Work, R::Work>,
        sum: &mut [f64],
    ) -> std::result::Result<(), Missing> {
        desk.slope.resize(self.longest, 0.0);
        let kept = self.surrogate.bends();
        if !kept {
            desk.scores.resize(self.longest, 0.0);
        }
        let (grad, total) = sum.split_at_mut(self.scorer.dim());
        let mut rest = &mut held.scores[..];
        for n in held.run.examples.iter().map(|&n| n as usize) {
            go_on(self.stop)?;
            let len = self.scorer.span(n).len();
            let (s, after) = if kept { rest.split_at_mut(len) } else { (&mut desk.scores[..len], rest) };
            let d = &mut desk.slope[..len];
            self.scorer.scores(n, theta, s, &mut desk.scorer);
            total[0] += self.weight[n] * self.surrogate.value(n, s, d, &mut desk.surrogate)?;
            d.iter_mut().for_each(|d| *d *= self.weight[n]);
            self.scorer.pull_back(n, d, grad, &mut desk.scorer);
            rest = after;
        }
        Ok(())
    }

    fn product(
        &self,
        held: &mut Held,
        v: &[f64],
        desk: &mut Desk<C::Work, R::Work>,
        sum: &mut [f64],
    ) -> std::result::Result<(), Missing> {
        desk.slope.resize(self.longest, 0.0);
        if desk.z.len() < self.longest {
            desk.z.resize(self.longest, 0.0);
        }
        let mut rest = &held.scores[..];
        for n in held.run.examples.iter().map(|&n| n as usize) {
            go_on(self.stop)?;
            let (s, after) = rest.split_at(self.scorer.span(n).len());
            let (z, hz) = (&mut desk.z[..s.len()], &mut desk.slope[..s.len()]);
            self.scorer.scores(n, v, z, &mut desk.scorer);
            if !self.surrogate.curvature(n, s, z, 1, hz, &mut desk.surrogate)? {
                return Err(Missing::Curvature);
            }
            hz.iter_mut().for_each(|x| *x *= self.weight[n]);
            self.scorer.pull_back(n, hz, sum, &mut desk.scorer);
            rest = after;
        }
        Ok(())
    }

    fn hessian(
        &self,
        held: &mut Held,
        desk: &mut Desk<C::Work, R::Work>,
        sum: &mut [f64],
    ) -> std::result::Result<(), Missing> {
        let d = self.scorer.dim();
        let room = (PANEL + self.longest) * d;
        if desk.z.len() < room {
            desk.z.resize(room, 0.0);
        }
        desk.hz.resize(room, 0.0);
        let (mut rest, mut filled, last) = (&held.scores[..], 0, held.run.examples.len() - 1);
        for (at, n) in held.run.examples.iter().map(|&n| n as usize).enumerate() {
            go_on(self.stop)?;
            let (s, after) = rest.split_at(self.scorer.span(n).len());
            let of = filled..filled + s.len() * d;
            let (z, hz) = (&mut desk.z[of.clone()], &mut desk.hz[of.clone()]);
            if !self.scorer.matrix(n, z) || !self.surrogate.curvature(n, s, z, d, hz, &mut desk.surrogate)? {
                return Err(Missing::Curvature);
            }
            hz.iter_mut().for_each(|x| *x *= self.weight[n]);
            (rest, filled) = (after, of.end);
            if filled >= PANEL * d || at == last {
                add_symmetric_product(&desk.z[..filled], &desk.hz[..filled], d, sum);
                filled = 0;
            }
        }
        Ok(())
    }
}

impl<C: Scorer, R: Surrogate> Risk for Empirical<'_, C, R> {
    fn dim(&self) -> usize {
        self.scorer.dim()
    }

    fn value(&mut self, theta: &[f64], grad: &mut [f64]) -> Result<f64> {
        finite("the objective", self.whole(Ask::Value { theta }, grad)?.unwrap_or(0.0))
    }

    fn curvature(&mut self, theta: &[f64], v: &[f64], out: &mut [f64]) -> Result<bool> {
        Ok(self.whole(Ask::Product { theta, v }, out)?.is_some())
    }

    fn hessian(&mut self, theta: &[f64], out: &mut [f64]) -> Result<bool> {
        let there = self.whole(Ask::Hessian { theta }, out)?.is_some();
        mirror(out, self.scorer.dim());
        Ok(there)
    }

    fn dot(&self, a: &[f64], b: &[f64]) -> f64 {
        self.scorer.dot(a, b)
    }

    fn heed(&mut self, stop: bool) {
        self.heeds = stop;
    }
}
