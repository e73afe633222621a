//! A bundle (cutting-plane) method with a duality gap, for convex risks that are not smooth.

use crate::error::Result;
use crate::matrix::{axpy, dot};
use crate::traits::{Progress, Risk, Solver, State, Stop};

/// Planes without weight that are kept beyond twice the number of parameters.
const SPARE: usize = 30;
/// Planes that are kept whatever they carry.
const NEWEST: usize = 10;

/// Minimises `λ/2·|θ|² + risk(θ)` for a convex risk that is never negative (Teo et al. 2010).
///
/// Each evaluation gives a plane below the risk, `b + ⟨g, θ⟩`; the next point is the minimum of the ridge plus the largest of all
/// planes, which is a quadratic programme over a simplex with one unknown per plane. The best objective seen minus that
/// minimum is the gap, and the run stops when it is `tol` times the objective.
pub struct Bundle<'a> {
    risk: &'a mut dyn Risk,
    lambda: f64,
    tol: f64,
    point: Vec<f64>,
    theta: Vec<f64>,
    upper: f64,
    lower: f64,
    planes: Vec<Vec<f64>>,
    offsets: Vec<f64>,
    gram: Vec<Vec<f64>>,
    share: Vec<f64>,
    /// The point is that of the next plane: a step was left before the risk was known there.
    due: bool,
}

impl<'a> Bundle<'a> {
    /// Starts at `theta`.
    pub fn new(risk: &'a mut dyn Risk, lambda: f64, tol: f64, theta: Vec<f64>) -> Result<Self> {
        let point = theta.clone();
        let mut bundle = Self {
            risk,
            lambda,
            tol,
            point,
            theta,
            upper: f64::INFINITY,
            lower: 0.0,
            planes: vec![],
            offsets: vec![],
            gram: vec![],
            share: vec![],
            due: false,
        };
        bundle.cut()?;
        Ok(bundle)
    }

    /// What [`Self::restore`] needs.
    pub fn state(&self) -> State {
        vec![
            ("point".into(), self.point.clone()),
            ("theta".into(), self.theta.clone()),
            ("bounds".into(), vec![self.upper, self.lower]),
            ("planes".into(), self.planes.concat()),
            ("offsets".into(), self.offsets.clone()),
            ("shares".into(), self.share.clone()),
            ("due".into(), vec![f64::from(u8::from(self.due))]),
        ]
    }

    /// Goes on from a saved state, to the same bytes as if it had not stopped.
    pub fn restore(&mut self, from: &State) {
        let of = |name: &str| from.iter().find(|(n, _)| n == name).map_or(vec![], |(_, values)| values.clone());
        let d = self.point.len().max(1);
        if of("point").len() != self.point.len() || of("bounds").len() != 2 {
            return;
        }
        (self.point, self.theta, self.offsets, self.share) = (of("point"), of("theta"), of("offsets"), of("shares"));
        (self.upper, self.lower) = (of("bounds")[0], of("bounds")[1]);
        self.due = of("due").first().is_some_and(|&due| due > 0.0);
        self.planes = of("planes").chunks_exact(d).map(<[f64]>::to_vec).collect();
        self.gram = self.planes.iter().map(|a| self.planes.iter().map(|b| dot(a, b)).collect()).collect();
    }

    /// Takes over the planes of a [`Self::state`] from a risk that differs from this one by `⟨shift, θ⟩`: they bound this one too, once they are
    /// turned by it.
    pub fn recall(&mut self, from: &State, shift: &[f64]) {
        let of = |name: &str| from.iter().find(|(n, _)| n == name).map_or(&[][..], |(_, values)| values.as_slice());
        let turned = of("planes")
            .chunks_exact(shift.len().max(1))
            .map(|plane| plane.iter().zip(shift).map(|(plane, shift)| plane + shift).collect::<Vec<f64>>());
        for (offset, plane) in of("offsets").iter().zip(turned) {
            self.push(*offset, plane);
        }
    }

    /// Forgets planes that carry no weight, but for the newest: the minimum of the model rests on at most one more than there are parameters.
    fn forget(&mut self) {
        let n = self.offsets.len();
        if n <= 2 * self.point.len() + SPARE {
            return;
        }
        let keep: Vec<usize> = (0..n).filter(|&i| self.share[i] > 0.0 || i + NEWEST >= n).collect();
        let pick = |values: &[f64]| keep.iter().map(|&i| values[i]).collect::<Vec<f64>>();
        self.offsets = pick(&self.offsets);
        self.share = pick(&self.share);
        self.gram = keep.iter().map(|&i| pick(&self.gram[i])).collect();
        self.planes = keep.iter().map(|&i| std::mem::take(&mut self.planes[i])).collect();
    }

    /// Adds the plane at the present point.
    fn cut(&mut self) -> Result<()> {
        let mut g = vec![0.0; self.point.len()];
        let value = self.risk.value(&self.point, &mut g)?;
        let objective = value + 0.5 * self.lambda * dot(&self.point, &self.point);
        if objective < self.upper {
            self.upper = objective;
            self.theta.copy_from_slice(&self.point);
        }
        let offset = value - dot(&g, &self.point);
        self.push(offset, g);
        Ok(())
    }

    fn push(&mut self, offset: f64, g: Vec<f64>) {
        self.offsets.push(offset);
        let mut row: Vec<f64> = self.planes.iter().map(|plane| dot(plane, &g)).collect();
        self.gram.iter_mut().zip(&row).for_each(|(old, &x)| old.push(x));
        row.push(dot(&g, &g));
        self.gram.push(row);
        self.planes.push(g);
        self.share.push(if self.share.is_empty() { 1.0 } else { 0.0 });
    }

    /// The minimum of ridge and planes: pairwise steps on the simplex, from the last answer, to a tenth of the gap asked.
    fn minimise_model(&mut self) {
        let n = self.offsets.len();
        let mut slope: Vec<f64> =
            (0..n).map(|i| self.offsets[i] - dot(&self.gram[i], &self.share) / self.lambda).collect();
        let enough = 0.1 * self.tol * self.upper.abs().max(self.tol);
        for _ in 0..30 * n + 500 {
            let up = (0..n).fold(0, |a, i| if slope[i] > slope[a] { i } else { a });
            let used = (0..n).filter(|&i| self.share[i] > 0.0);
            let Some(down) = used.reduce(|a, i| if slope[i] < slope[a] { i } else { a }) else { break };
            if slope[up] - slope[down] <= enough {
                break;
            }
            let curve = (self.gram[up][up] - 2.0 * self.gram[up][down] + self.gram[down][down]) / self.lambda;
            let most = self.share[down];
            let step = if curve > 0.0 { ((slope[up] - slope[down]) / curve).min(most) } else { most };
            self.share[up] += step;
            self.share[down] = if step < most { most - step } else { 0.0 };
            // the matrix is symmetric: rows, which lie together, stand for columns
            for (slope, (up, down)) in slope.iter_mut().zip(self.gram[up].iter().zip(&self.gram[down])) {
                *slope -= step * (up - down) / self.lambda;
            }
        }
        self.point.fill(0.0);
        for (plane, share) in self.planes.iter().zip(&self.share).filter(|(_, share)| **share > 0.0) {
            axpy(-share / self.lambda, plane, &mut self.point);
        }
        let dual = dot(&self.offsets, &self.share) - 0.5 * self.lambda * dot(&self.point, &self.point);
        self.lower = self.lower.max(dual);
    }
}

impl Bundle<'_> {
    fn make_step(&mut self) -> Result<()> {
        if !self.due {
            self.minimise_model();
            self.forget();
            self.due = true;
        }
        self.cut()?;
        self.due = false;
        Ok(())
    }
}

impl Solver for Bundle<'_> {
    fn step(&mut self) -> Result<()> {
        self.risk.heed(true);
        let made = self.make_step();
        self.risk.heed(false);
        made
    }

    fn progress(&self) -> Progress {
        let gap = (self.upper - self.lower).max(0.0);
        let done = (gap <= self.tol * self.upper.abs().max(self.tol)).then_some(Stop::Gap);
        Progress { objective: self.upper, gradient: 0.0, gap: Some(gap), done }
    }

    fn theta(&self) -> &[f64] {
        &self.theta
    }
}
