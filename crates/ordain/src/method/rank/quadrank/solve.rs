//! One fit of QuadRank at given settings: the likelihood as a risk, and rounds of margins.

use super::{Cases, QuadRank};
use crate::error::Result;
use crate::method::rank::search::{Problem, Solved};
use crate::risk::Empirical;
use crate::scorer::items::Items;
use crate::scorer::rows::{self, Rows};
use crate::solver::block_fw::{BlockFw, objective};
use crate::solver::cccp::{Place, Rounds, cccp};
use crate::solver::run::{Report, Watch, run};
use crate::surrogate::lists::RightOrders;
use crate::surrogate::ranking::{MarginWork, RankingLikelihood, RankingMargin, RankingTarget};
use crate::traits::{Risk, Scorer, Solver};
use std::sync::atomic::AtomicBool;

/// The mean loss of the lists, with what the ridge on biases and links has more than that on weights.
pub(super) struct Likelihood<'a> {
    rows: &'a Rows<'a>,
    cases: &'a Cases,
    sum: bool,
    /// The ridge on biases and links, less the one on weights.
    more: f64,
    stop: &'a AtomicBool,
    heeds: bool,
}

impl<'a> Likelihood<'a> {
    pub(super) fn new(method: &QuadRank, problem: &Problem<'a, Cases>, stop: &'a AtomicBool) -> Self {
        let more = method.link_lambda.map_or(0.0, |own| own.get() - problem.lambda);
        let (rows, cases) = (problem.rows, &problem.drawn.examples);
        Self { rows, cases, sum: method.ties == RightOrders::Sum, more, stop, heeds: false }
    }
}

impl Risk for Likelihood<'_> {
    fn dim(&self) -> usize {
        self.rows.dim() + self.cases.shared.index.dim()
    }

    fn value(&mut self, theta: &[f64], grad: &mut [f64]) -> Result<f64> {
        let (scorer, count) = (Items::new(self.rows, &self.cases.shared.index), self.cases.likely.len());
        let loss = RankingLikelihood { places: &self.cases.places, cases: &self.cases.likely, sum: self.sum };
        let mut risk = Empirical::new(&scorer, &loss, vec![1.0 / count as f64; count]).stopped_by(self.stop);
        risk.heed(self.heeds);
        let mut value = risk.value(theta, grad)?;
        let columns = self.rows.dim();
        for (g, t) in grad[columns..].iter_mut().zip(&theta[columns..]) {
            *g += self.more * t;
            value += 0.5 * self.more * t * t;
        }
        Ok(value)
    }

    fn heed(&mut self, stop: bool) {
        self.heeds = stop;
    }
}

/// Fits by margin, from zero: the solver goes by its dual, which knows no other start.
pub(super) fn margin(method: &QuadRank, problem: &Problem<Cases>, watch: &Watch) -> Result<Solved<()>> {
    let cases = &problem.drawn.examples;
    let scorer = Items::new(problem.rows, &cases.shared.index);
    let (dim, columns) = (scorer.dim(), problem.rows.dim());
    let mut strength = vec![problem.lambda; dim];
    strength[columns..].fill(method.link_lambda.map_or(problem.lambda, |own| own.get()));
    // at zero all right orders are as good: there the direction decides in which the right ones lie
    let (zero, mut direction) = (vec![0.0; dim], vec![0.0; dim]);
    Likelihood::new(method, problem, watch.stop).value(&zero, &mut direction)?;
    direction.iter_mut().for_each(|x| *x = -*x);
    let (targets, tol) = (cases.targets.clone(), method.tol.get());
    let mut orders = BestOrders { scorer: &scorer, cases, targets, strength, tol, max_iter: method.max_iter };
    let (theta, _, report) = cccp(&mut orders, Place::new(zero, direction), &|_| tol, watch)?;
    Ok(Solved { theta, report, carry: (), state: None })
}

/// The margin over the best right orders, \[QAP\] Eq. (8), as rounds of convex problems.
pub(super) struct BestOrders<'a> {
    pub(super) scorer: &'a Items<'a>,
    pub(super) cases: &'a Cases,
    pub(super) targets: Vec<RankingTarget>,
    pub(super) strength: Vec<f64>,
    pub(super) tol: f64,
    pub(super) max_iter: usize,
}

impl BestOrders<'_> {
    fn blocks(&self) -> RankingMargin<'_, Items<'_>> {
        let Self { scorer, cases, targets, strength, .. } = self;
        RankingMargin { scorer, places: &cases.places, targets, strength }
    }
}

impl Rounds for BestOrders<'_> {
    fn fix(&mut self, theta: &[f64]) -> Result<bool> {
        let (mut work, mut of_rows, mut s, mut others) = (MarginWork::default(), rows::Work::default(), vec![], false);
        for (n, target) in self.targets.iter_mut().enumerate() {
            s.clear();
            s.resize(self.scorer.span(n).len(), 0.0);
            self.scorer.scores(n, theta, &mut s, &mut of_rows);
            let before = std::mem::take(&mut target.right);
            target.complete(&self.cases.places, &s, &mut work)?;
            others |= target.right != before;
        }
        Ok(others)
    }

    fn value(&mut self, theta: &[f64]) -> Result<f64> {
        let mut blocks = self.blocks();
        objective(&mut blocks, &self.strength, theta, None)
    }

    fn solve(&mut self, _: &[f64], watch: &Watch) -> Result<(Vec<f64>, Report)> {
        let mut blocks = self.blocks();
        let mut solver = BlockFw::new(&mut blocks, self.tol, self.cases.seed)?.stopped_by(watch.stop);
        let report = run(&mut solver, self.max_iter, 0, watch)?;
        Ok((solver.theta().to_vec(), report))
    }
}
