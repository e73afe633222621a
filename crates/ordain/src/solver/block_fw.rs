//! Block-coordinate Frank-Wolfe, for max-margin losses over structures that only know how to find their worst output.

use crate::error::Result;
use crate::random::Random;
use crate::risk::go_on;
use crate::traits::{Blocks, Progress, Solver, Stop};
use rayon::prelude::*;
use std::sync::atomic::AtomicBool;

/// An output that carries weight.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept<O> {
    /// The output.
    pub output: O,
    /// Its weight; those of one example add up to 1.
    pub weight: f64,
    /// Its loss.
    pub loss: f64,
}

/// Minimises `½ Σ_j strength_j θ_j² + mean over examples of max_t H(t)` by its dual, one example at a time.
///
/// The dual has a distribution over outputs for each example, of which only outputs with weight are kept:
///
/// ```text
/// θ_j = 1/(strength_j·M) · Σ_n Σ_t α_n(t) ψ_n(t)_j,   D(α) = −½ Σ_j strength_j θ_j² + 1/M Σ_n Σ_t α_n(t) loss_n(t)
/// ```
///
/// A step asks for the worst output of one example and moves weight to it from the output with the smallest H, as far as
/// the dual rises (Lacoste-Julien et al. 2013; pairwise steps as in Osokin et al. 2016). After a pass the parameters are averaged over
/// passes, later ones more. The sum of the gaps that a pass meets tells when a certificate is worth its price, one call per
/// example at fixed parameters: the gap that is reported is `P − D`.
pub struct BlockFw<'a, B: Blocks> {
    blocks: &'a mut B,
    strength: Vec<f64>,
    tol: f64,
    random: Random,
    order: Vec<u32>,
    alpha: Vec<Vec<Kept<B::Output>>>,
    current: Vec<f64>,
    average: Vec<f64>,
    best: Vec<f64>,
    passes: usize,
    primal: f64,
    gap: f64,
    /// Of the last pass, met while the parameters moved.
    estimate: f64,
    certified: usize,
    work: B::Work,
    stop: Option<&'a AtomicBool>,
}

fn ridge(strength: &[f64], theta: &[f64]) -> f64 {
    0.5 * theta.iter().zip(strength).map(|(t, s)| s * t * t).sum::<f64>()
}

/// The objective of examples at some parameters, with these strengths of the ridge, one call per example; it ends with
/// [`crate::Error::Interrupted`] at the next example once the flag is set.
pub fn objective<B: Blocks>(blocks: &mut B, strength: &[f64], theta: &[f64], stop: Option<&AtomicBool>) -> Result<f64> {
    blocks.set_theta(theta)?;
    let (blocks, m) = (&*blocks, blocks.len());
    let parts: Vec<usize> = (0..m).step_by(64).collect();
    let sums: Result<Vec<f64>> = parts
        .par_iter()
        .map_init(B::Work::default, |work, &start| {
            let mut sum = 0.0;
            for n in start..(start + 64).min(m) {
                go_on(stop)?;
                blocks.enter(n, theta, work);
                sum += blocks.worst(n, work)?.1.max(0.0);
            }
            Ok(sum)
        })
        .collect();
    Ok(ridge(strength, theta) + sums?.iter().sum::<f64>() / m.max(1) as f64)
}

impl<'a, B: Blocks> BlockFw<'a, B> {
    /// Starts at zero; stops at a certified gap of `tol`. The seed gives the order of the examples.
    pub fn new(blocks: &'a mut B, tol: f64, seed: u64) -> Result<Self> {
        let strength = blocks.strength();
        let (m, d) = (blocks.len(), strength.len());
        let first = |n: usize| {
            let mut kept = Vec::with_capacity(4);
            kept.push(Kept { output: blocks.right(n), weight: 1.0, loss: 0.0 });
            kept
        };
        let alpha = (0..m).map(first).collect();
        let mut solver = Self {
            blocks,
            strength,
            tol,
            random: Random::new(seed),
            order: (0..m as u32).collect(),
            alpha,
            current: vec![0.0; d],
            average: vec![0.0; d],
            best: vec![0.0; d],
            passes: 0,
            primal: f64::INFINITY,
            gap: f64::INFINITY,
            estimate: f64::INFINITY,
            certified: 0,
            work: B::Work::default(),
            stop: None,
        };
        solver.certify()?;
        Ok(solver)
    }

    /// The same, but a pass ends with [`crate::Error::Interrupted`] at the next example once the flag is set. The best parameters are those of the
    /// last certificate.
    pub fn stopped_by(self, stop: &'a AtomicBool) -> Self {
        Self { stop: Some(stop), ..self }
    }

    /// The examples.
    pub fn blocks(&self) -> &B {
        self.blocks
    }

    /// The outputs of example `n` that carry weight.
    pub fn outputs(&self, n: usize) -> &[Kept<B::Output>] {
        &self.alpha[n]
    }

    fn ridge(&self, theta: &[f64]) -> f64 {
        ridge(&self.strength, theta)
    }

    fn objective(&mut self, theta: &[f64]) -> Result<f64> {
        objective(self.blocks, &self.strength, theta, self.stop)
    }

    /// Computes the gap at the present parameters: the better primal value of theirs and their average's, and the dual value.
    fn certify(&mut self) -> Result<()> {
        let m = self.alpha.len().max(1) as f64;
        let losses: f64 = self.alpha.iter().flatten().map(|kept| kept.weight * kept.loss).sum();
        let dual = losses / m - self.ridge(&self.current);
        let (theta, average) = (self.current.clone(), self.average.clone());
        for candidate in [average, theta] {
            let primal = self.objective(&candidate)?;
            if primal <= self.primal {
                self.primal = primal;
                self.best = candidate;
            }
        }
        let theta = self.current.clone();
        self.blocks.set_theta(&theta)?;
        self.gap = (self.primal - dual).max(0.0);
        self.certified = self.passes;
        Ok(())
    }

    /// One example: weight moves from its least bad output to its worst. Returns the gap that it had.
    fn visit(&mut self, n: usize) -> Result<f64> {
        let m = self.alpha.len() as f64;
        self.blocks.enter(n, &self.current, &mut self.work);
        let (worst, high) = self.blocks.worst(n, &mut self.work)?;
        let alpha = &mut self.alpha[n];
        let (mut mean, mut low, mut least) = (0.0, f64::INFINITY, 0);
        for (at, kept) in alpha.iter().enumerate() {
            let value = kept.loss + self.blocks.score(n, &kept.output, &self.work);
            mean += kept.weight * value;
            if value < low {
                (low, least) = (value, at);
            }
        }
        let gap = (high - mean) / m;
        // what is left to gain here would not be missed: a tenth of the gap that is asked for
        if high <= low || high - mean <= 0.1 * self.tol || worst == alpha[least].output {
            return Ok(gap.max(0.0));
        }
        let bend = self.blocks.turn(n, &[(1.0, &worst), (-1.0, &alpha[least].output)], &mut self.work) / (m * m);
        let room = alpha[least].weight;
        let step = if bend > 0.0 { ((high - low) / m / bend).min(room) } else { room };
        self.blocks.advance(n, step / m, &mut self.current, &mut self.work);
        alpha[least].weight -= step;
        if alpha[least].weight <= 0.0 {
            alpha.swap_remove(least);
        }
        match alpha.iter_mut().find(|kept| kept.output == worst) {
            Some(kept) => kept.weight += step,
            None => {
                let loss = self.blocks.loss(n, &worst);
                alpha.push(Kept { output: worst, weight: step, loss });
            }
        }
        Ok(gap.max(0.0))
    }
}

impl<B: Blocks> Solver for BlockFw<'_, B> {
    fn step(&mut self) -> Result<()> {
        let mut order = std::mem::take(&mut self.order);
        self.random.shuffle(&mut order);
        self.estimate = 0.0;
        let visited: Result<()> = order.iter().try_for_each(|&n| {
            go_on(self.stop)?;
            self.estimate += self.visit(n as usize)?;
            Ok(())
        });
        self.order = order;
        visited?;
        let share = 2.0 / (self.passes as f64 + 2.0);
        self.average.iter_mut().zip(&self.current).for_each(|(average, t)| *average += share * (t - *average));
        self.passes += 1;
        if self.estimate <= self.tol || self.passes >= self.certified + 10 {
            self.certify()?;
        }
        Ok(())
    }

    fn progress(&self) -> Progress {
        let done = (self.gap <= self.tol).then_some(Stop::Gap);
        Progress { objective: self.primal, gradient: 0.0, gap: Some(self.gap), done }
    }

    fn theta(&self) -> &[f64] {
        &self.best
    }
}
