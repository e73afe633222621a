//! The right set of labels of every item made likely, or put above all others by a margin, with links between labels among
//! the parameters.

use crate::error::Result;
use crate::structure::star::sum::{StarSum, SumWork};
use crate::structure::star::{Clamp, MaxWork, Star, Subsets};
use crate::traits::{Blocks, Scorer, Surrogate};

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

/// `log Σ_{|t| = k} exp f(t) − f(right)` of each item, with k the number of its labels.
///
/// The scores of an item are those of its labels, then a row of links per core label as in [`Star::new`], as
/// [`Linked`](crate::scorer::labels::Linked) has them. Convex in both. O(2^C·n·k) per item.
pub struct StarLikelihood<'a> {
    /// Number of labels.
    pub labels: usize,
    /// The core.
    pub core: &'a [u32],
    /// The items with what is right of them.
    pub cases: &'a [Case],
}

/// Scratch of [`StarLikelihood`]: a star with the links that it was made of, which serve all items alike.
#[derive(Default)]
pub struct LikelihoodWork {
    links: Vec<f64>,
    sum: Option<StarSum<'static>>,
    work: SumWork,
}

impl Surrogate for StarLikelihood<'_> {
    type Work = LikelihoodWork;

    fn len(&self) -> usize {
        self.cases.len()
    }

    fn bends(&self) -> bool {
        false
    }

    fn value(&self, n: usize, s: &[f64], d: &mut [f64], work: &mut LikelihoodWork) -> Result<f64> {
        let (case, (s, links), (p, pairs)) = (&self.cases[n], s.split_at(self.labels), d.split_at_mut(self.labels));
        if work.links != links {
            work.sum = None;
        }
        let sum = match &mut work.sum {
            Some(sum) => sum,
            none => {
                work.links = links.to_vec();
                none.insert(StarSum::of(Star::new(self.labels, self.core, links)?)?)
            }
        };
        let linked = !links.is_empty();
        let log_z = sum.log_sum(s, &case.over(), &mut work.work, p, linked.then_some(&mut *pairs))?;
        case.yes.iter().for_each(|&i| p[i as usize] -= 1.0);
        sum.star().each_pair(&case.yes, |at| pairs[at] -= 1.0);
        Ok(log_z - sum.star().score(s, &case.yes))
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
