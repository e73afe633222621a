//! The right set of labels of every item made likely, or put above all others by a margin, with links between labels among
//! the parameters.

use crate::error::{Error, Result};
use crate::matrix::{axpy, finite};
use crate::structure::star::sum::{StarSum, SumWork};
use crate::structure::star::{Clamp, MaxWork, Star, Subsets};
use crate::traits::{Blocks, Risk, Scorer};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// The labels of one item.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Case {
    /// The labels that it has, ascending.
    pub yes: Vec<u32>,
    /// Which labels it may have: [`Clamp::Out`] where that is not known, so that the label is in no set. Empty: all.
    pub clamp: Vec<Clamp>,
}

impl Case {
    /// An item with these labels, of `n`; of `unknown` it is not known whether they apply.
    pub fn new(n: usize, yes: &[u32], unknown: &[u32]) -> Self {
        Self { yes: yes.to_vec(), clamp: Clamp::out(n, unknown) }
    }

    /// Sets of as many labels as it has.
    pub fn over(&self) -> Subsets<'_> {
        Subsets { k: self.yes.len(), clamp: &self.clamp }
    }
}

/// `mean over items of  log Σ_{|t| = k} exp f(t) − f(right)`, with k the number of labels of the item.
///
/// The parameters are those of the scorer, then a row of links per core label as in [`Star::new`]. Convex. Items are cut into
/// groups by the data alone, and their sums are added in order: no number depends on the threads. O(2^C·n·k) per item.
pub struct StarLikelihood<'a, C: Scorer> {
    scorer: &'a C,
    core: &'a [u32],
    cases: &'a [Case],
    labels: usize,
    groups: Vec<Group<C::Work>>,
    stop: Option<&'a AtomicBool>,
    heeds: bool,
}

#[derive(Default)]
struct Group<W> {
    items: Range<usize>,
    sum: Vec<f64>,
    scores: Vec<f64>,
    marginals: Vec<f64>,
    pairs: Vec<f64>,
    scorer: W,
}

impl<'a, C: Scorer> StarLikelihood<'a, C> {
    /// The risk of items whose scores the scorer gives.
    pub fn new(scorer: &'a C, labels: usize, core: &'a [u32], cases: &'a [Case]) -> Self {
        debug_assert_eq!(scorer.len(), cases.len());
        let dim = scorer.dim() + core.len() * labels;
        let count = ((1 << 23) / dim.max(1)).clamp(2, 32).min(cases.len().max(1));
        let bound = |g: usize| cases.len() * g / count;
        let group = |g: usize| Group {
            items: bound(g)..bound(g + 1),
            sum: vec![0.0; dim],
            scores: vec![0.0; labels],
            marginals: vec![0.0; labels],
            pairs: vec![0.0; core.len() * labels],
            ..Group::default()
        };
        Self { scorer, core, cases, labels, groups: (0..count).map(group).collect(), stop: None, heeds: false }
    }

    /// The same, but within the steps of a solver an evaluation ends with [`crate::Error::Interrupted`] at the next item once the flag is set.
    pub fn stopped_by(self, stop: &'a AtomicBool) -> Self {
        Self { stop: Some(stop), ..self }
    }
}

impl<C: Scorer> Risk for StarLikelihood<'_, C> {
    fn dim(&self) -> usize {
        self.scorer.dim() + self.core.len() * self.labels
    }

    fn value(&mut self, theta: &[f64], grad: &mut [f64]) -> Result<f64> {
        let (scorer, cases, own, stop) = (self.scorer, self.cases, self.scorer.dim(), self.stop.filter(|_| self.heeds));
        let (theta, links) = theta.split_at(own);
        let star = &Star::new(self.labels, self.core, links)?;
        let sum = &StarSum::new(star)?;
        let weight = 1.0 / cases.len().max(1) as f64;
        let values: Result<Vec<f64>> = self
            .groups
            .par_iter_mut()
            .map_init(SumWork::default, |work, group| {
                group.sum.fill(0.0);
                let (own_sum, link_sum) = group.sum.split_at_mut(own);
                let mut total = 0.0;
                for n in group.items.clone() {
                    if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                        return Err(Error::Interrupted);
                    }
                    let case = &cases[n];
                    let (s, p) = (&mut group.scores, &mut group.marginals);
                    scorer.scores(n, theta, s, &mut group.scorer);
                    let pairs = (!link_sum.is_empty()).then_some(&mut group.pairs[..]);
                    let log_z = sum.log_sum(s, &case.over(), work, p, pairs)?;
                    total += weight * (log_z - star.score(s, &case.yes));
                    case.yes.iter().for_each(|&i| p[i as usize] -= 1.0);
                    p.iter_mut().for_each(|p| *p *= weight);
                    scorer.pull_back(n, p, own_sum, &mut group.scorer);
                    axpy(weight, &group.pairs, link_sum);
                    star.each_pair(&case.yes, |at| link_sum[at] -= weight);
                }
                Ok(total)
            })
            .collect();
        grad.fill(0.0);
        self.groups.iter().for_each(|group| axpy(1.0, &group.sum, grad));
        finite("the objective", values?.iter().sum())
    }

    fn heed(&mut self, stop: bool) {
        self.heeds = stop;
    }
}

/// One item of a max-margin problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Labels and candidates.
    pub case: Case,
    /// The size of a set.
    pub k: usize,
    /// The set that should win: one with the least loss.
    pub right: Vec<u32>,
}

impl Target {
    /// The labels themselves are to win, under the break-even loss: the share of a set that is wrong.
    pub fn break_even(case: Case) -> Self {
        Self { k: case.yes.len(), right: case.yes.clone(), case }
    }

    /// Sets of `k` labels whatever the item has; `None` where all of them are as good. The set to win is left to
    /// [`Self::complete`].
    pub fn precision_at(case: Case, k: usize, labels: usize) -> Option<Self> {
        let possible = *Subsets::sizes(labels, &case.clamp).end();
        (k < possible && !case.yes.is_empty() && case.yes.len() < possible).then(|| Self { right: vec![], case, k })
    }

    /// Takes the best of the sets with the least loss: labels of the item alone, or all of them and others beside.
    pub fn complete(&mut self, star: &Star, scores: &[f64], work: &mut MaxWork) -> Result<()> {
        let mut clamp = self.case.clamp.clone();
        clamp.resize(scores.len(), Clamp::Free);
        let has = |i: usize| self.case.yes.binary_search(&(i as u32)).is_ok();
        let few = self.case.yes.len() < self.k;
        for (i, clamp) in clamp.iter_mut().enumerate() {
            if few && has(i) {
                *clamp = Clamp::In;
            } else if !few && !has(i) {
                *clamp = Clamp::Out;
            }
        }
        star.max(scores, &Subsets { k: self.k, clamp: &clamp }, work, &mut self.right)?;
        Ok(())
    }

    fn misses(&self, set: &[u32]) -> f64 {
        set.iter().filter(|i| self.case.yes.binary_search(i).is_err()).count() as f64 / self.k as f64
    }
}

/// `max over sets t of  loss(t) + f(t) − f(right)`, the structured hinge of \[QAP\] Eq. (1), for block-coordinate Frank-Wolfe.
///
/// The loss is the share of the set that the item does not have, less the least that is possible. The parameters are those of
/// the scorer, then a row of links per core label. One call costs the scores of the labels and [`Star::max`].
pub struct StarMargin<'a, C: Scorer> {
    scorer: &'a C,
    labels: usize,
    targets: &'a [Target],
    /// Strengths of the ridge on the parameters of the scorer, and on links.
    lambda: [f64; 2],
    star: Star,
}

/// Scratch of [`StarMargin`].
#[derive(Default)]
pub struct MarginWork<W> {
    scorer: W,
    scores: Vec<f64>,
    augmented: Vec<f64>,
    right: f64,
    set: Vec<u32>,
    max: MaxWork,
    change: Vec<f64>,
    touched: Vec<u32>,
    few: Vec<(u32, f64)>,
    links: Vec<(u32, f64)>,
}

impl<'a, C: Scorer> StarMargin<'a, C> {
    /// The problem of these items, with the strengths of the ridge on the parameters of the scorer and on links.
    pub fn new(scorer: &'a C, labels: usize, core: &[u32], targets: &'a [Target], lambda: [f64; 2]) -> Result<Self> {
        debug_assert_eq!(scorer.len(), targets.len());
        let star = Star::new(labels, core, &vec![0.0; core.len() * labels])?;
        Ok(Self { scorer, labels, targets, lambda, star })
    }
}

impl<C: Scorer> Blocks for StarMargin<'_, C> {
    type Output = Vec<u32>;
    type Work = MarginWork<C::Work>;

    fn len(&self) -> usize {
        self.targets.len()
    }

    fn strength(&self) -> Vec<f64> {
        let links = self.star.core().len() * self.labels;
        let own = std::iter::repeat_n(self.lambda[0], self.scorer.dim());
        own.chain(std::iter::repeat_n(self.lambda[1], links)).collect()
    }

    fn right(&self, n: usize) -> Vec<u32> {
        self.targets[n].right.clone()
    }

    fn set_theta(&mut self, theta: &[f64]) -> Result<()> {
        let core = self.star.core().to_vec();
        self.star = Star::new(self.labels, &core, &theta[self.scorer.dim()..])?;
        Ok(())
    }

    fn enter(&self, n: usize, theta: &[f64], work: &mut MarginWork<C::Work>) {
        work.scores.resize(self.labels, 0.0);
        self.scorer.scores(n, theta, &mut work.scores, &mut work.scorer);
        work.right = self.star.score(&work.scores, &self.targets[n].right);
    }

    fn worst(&self, n: usize, work: &mut MarginWork<C::Work>) -> Result<(Vec<u32>, f64)> {
        let target = &self.targets[n];
        let wrong = 1.0 / target.k as f64;
        work.augmented.clear();
        work.augmented.extend(work.scores.iter().map(|s| s + wrong));
        target.case.yes.iter().for_each(|&i| work.augmented[i as usize] = work.scores[i as usize]);
        let over = Subsets { k: target.k, clamp: &target.case.clamp };
        let value = self.star.max(&work.augmented, &over, &mut work.max, &mut work.set)?;
        Ok((work.set.clone(), value - target.misses(&target.right) - work.right))
    }

    fn score(&self, _: usize, set: &Vec<u32>, work: &MarginWork<C::Work>) -> f64 {
        self.star.score(&work.scores, set) - work.right
    }

    fn loss(&self, n: usize, set: &Vec<u32>) -> f64 {
        self.targets[n].misses(set) - self.targets[n].misses(&self.targets[n].right)
    }

    fn turn(&self, n: usize, sets: &[(f64, &Vec<u32>)], work: &mut MarginWork<C::Work>) -> f64 {
        let labels = self.labels;
        work.change.resize(labels * (1 + self.star.core().len()), 0.0);
        let MarginWork { change, few, links, touched, scorer, .. } = work;
        let mut add = |at: usize, x: f64| {
            touched.push(at as u32);
            change[at] += x;
        };
        let total: f64 = sets.iter().map(|(weight, _)| weight).sum();
        let right = (total, &self.targets[n].right);
        for (weight, set) in sets.iter().map(|(weight, set)| (-weight, *set)).chain([right]).filter(|(w, _)| *w != 0.0)
        {
            set.iter().for_each(|&i| add(i as usize, weight));
            self.star.each_pair(set, |at| add(labels + at, weight));
        }
        // each place once, and what cancels not at all
        few.clear();
        links.clear();
        for at in touched.drain(..) {
            let x = std::mem::take(&mut change[at as usize]);
            if x != 0.0 && (at as usize) < labels {
                few.push((at, x));
            } else if x != 0.0 {
                links.push((at - labels as u32, x));
            }
        }
        let square: f64 = links.iter().map(|(_, x)| x * x).sum();
        self.scorer.norm2_few(n, few, scorer) / self.lambda[0] + square / self.lambda[1]
    }

    fn advance(&mut self, n: usize, length: f64, theta: &mut [f64], work: &mut MarginWork<C::Work>) {
        let (own, links) = theta.split_at_mut(self.scorer.dim());
        let MarginWork { few, links: changes, scorer, .. } = work;
        few.iter_mut().for_each(|(_, d)| *d *= length / self.lambda[0]);
        self.scorer.add_few(n, few, own, scorer);
        let by = length / self.lambda[1];
        self.star.set_links(changes.iter().map(|&(at, x)| {
            let link = &mut links[at as usize];
            *link += by * x;
            (at as usize, *link)
        }));
    }
}
