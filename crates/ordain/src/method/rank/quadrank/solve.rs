//! One fit of QuadRank at given settings: the likelihood as a risk, and rounds of margins.

use super::{Lists, QuadRank};
use crate::error::Result;
use crate::method::rank::search::Solved;
use crate::risk::Empirical;
use crate::scorer::rows;
use crate::solver::block_fw::{BlockFw, objective};
use crate::solver::cccp::{Place, Rounds, cccp};
use crate::solver::run::{Report, Watch, run};
use crate::surrogate::lists::RightOrders;
use crate::surrogate::ranking::{MarginWork, Places, RankingCase, RankingLikelihood, RankingMargin, RankingTarget};
use crate::traits::{Risk, Scorer, Solver};
use std::sync::atomic::AtomicBool;

/// What a fit is about, beside scores and lists.
pub(super) struct About<'a, 'm> {
    pub(super) method: &'m QuadRank,
    pub(super) places: &'a Places,
    /// Number of weights; parameters after them are biases and links.
    pub(super) columns: usize,
    pub(super) lambda: f64,
}

/// The mean loss of the lists, with what the ridge on biases and links has more than that on weights.
pub(super) struct Likelihood<'a, S> {
    scorer: S,
    places: &'a Places,
    cases: &'a [RankingCase],
    columns: usize,
    sum: bool,
    /// The ridge on biases and links, less the one on weights.
    more: f64,
    stop: &'a AtomicBool,
    heeds: bool,
}

impl<'a, S: Scorer> Likelihood<'a, S> {
    pub(super) fn new(scorer: S, about: &About<'a, '_>, cases: &'a [RankingCase], stop: &'a AtomicBool) -> Self {
        let About { method, places, columns, lambda } = *about;
        let more = method.link_lambda.map_or(0.0, |own| own.get() - lambda);
        Self { scorer, places, cases, columns, sum: method.ties == RightOrders::Sum, more, stop, heeds: false }
    }
}

impl<S: Scorer> Risk for Likelihood<'_, S> {
    fn dim(&self) -> usize {
        self.scorer.dim()
    }

    fn value(&mut self, theta: &[f64], grad: &mut [f64]) -> Result<f64> {
        let count = self.cases.len();
        let loss = RankingLikelihood { places: self.places, cases: self.cases, sum: self.sum };
        let mut risk = Empirical::new(&self.scorer, &loss, vec![1.0 / count as f64; count]).stopped_by(self.stop);
        risk.heed(self.heeds);
        let mut value = risk.value(theta, grad)?;
        for (g, t) in grad[self.columns..].iter_mut().zip(&theta[self.columns..]) {
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
pub(super) fn margin<S: Scorer<Work = rows::Work>>(
    scorer: S,
    about: &About<'_, '_>,
    lists: &Lists,
    seed: u64,
    watch: &Watch,
) -> Result<Solved<()>> {
    let (dim, method) = (scorer.dim(), about.method);
    let mut strength = vec![about.lambda; dim];
    strength[about.columns..].fill(method.link_lambda.map_or(about.lambda, |own| own.get()));
    // at zero all right orders are as good: there the direction decides in which the right ones lie
    let (zero, mut direction) = (vec![0.0; dim], vec![0.0; dim]);
    let mut likelihood = Likelihood::new(scorer, about, &lists.likely, watch.stop);
    if about.places.sums() {
        likelihood.value(&zero, &mut direction)?;
        direction.iter_mut().for_each(|x| *x = -*x);
    } else {
        let mut work = rows::Work::default();
        let lists = lists.likely.iter().enumerate();
        lists.for_each(|(n, case)| likelihood.scorer.pull_back(n, &case.lean(about.places), &mut direction, &mut work));
    }
    let (scorer, places) = (&likelihood.scorer, about.places);
    let (targets, tol) = (lists.targets.clone(), method.tol.get());
    let mut orders = BestOrders { scorer, places, seed, targets, strength, tol, max_iter: method.max_iter };
    let (theta, _, report) = cccp(&mut orders, Place::new(zero, direction), &|_| tol, watch)?;
    Ok(Solved { theta, report, carry: (), state: None })
}

/// The margin over the best right orders, \[QAP\] Eq. (8), as rounds of convex problems.
struct BestOrders<'a, S> {
    scorer: &'a S,
    places: &'a Places,
    seed: u64,
    targets: Vec<RankingTarget>,
    strength: Vec<f64>,
    tol: f64,
    max_iter: usize,
}

impl<S: Scorer> BestOrders<'_, S> {
    fn blocks(&self) -> RankingMargin<'_, S> {
        let Self { scorer, places, targets, strength, .. } = self;
        RankingMargin { scorer, places, targets, strength }
    }
}

impl<S: Scorer<Work = rows::Work>> Rounds for BestOrders<'_, S> {
    fn fix(&mut self, theta: &[f64]) -> Result<bool> {
        let (mut work, mut of_rows, mut s, mut others) = (MarginWork::default(), rows::Work::default(), vec![], false);
        for (n, target) in self.targets.iter_mut().enumerate() {
            s.clear();
            s.resize(self.scorer.span(n).len(), 0.0);
            self.scorer.scores(n, theta, &mut s, &mut of_rows);
            let before = std::mem::take(&mut target.right);
            target.complete(self.places, &s, &mut work)?;
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
        let mut solver = BlockFw::new(&mut blocks, self.tol, self.seed)?.stopped_by(watch.stop);
        let report = run(&mut solver, self.max_iter, 0, watch)?;
        Ok((solver.theta().to_vec(), report))
    }
}
