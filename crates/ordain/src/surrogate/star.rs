//! The right set of labels of every item made likely, or put above all others by a margin, with links between labels among
//! the parameters.

use crate::error::Result;
use crate::structure::star::sum::{StarSum, SumWork};
use crate::structure::star::{Clamp, MaxWork, Star, Subsets};
use crate::surrogate::variances;
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

/// `log Z − f(right)` of an item with its slopes in the scores of labels, and in links where there is room for them; `law` sees the
/// probabilities of labels and of pairs.
fn likelihood(
    sum: &StarSum,
    case: &Case,
    s: &[f64],
    (p, pairs): (&mut [f64], &mut [f64]),
    work: &mut SumWork,
    law: impl FnOnce(&[f64], &[f64]),
) -> Result<f64> {
    let linked = !pairs.is_empty();
    let log_z = sum.log_sum(s, &case.over(), work, p, linked.then_some(&mut *pairs))?;
    law(p, pairs);
    case.yes.iter().for_each(|&i| p[i as usize] -= 1.0);
    if linked {
        sum.star().each_pair(&case.yes, |at| pairs[at] -= 1.0);
    }
    Ok(log_z - sum.star().score(s, &case.yes))
}

impl StarLikelihood<'_> {
    /// Value and slopes; `law` sees the probabilities of labels and of pairs.
    fn slopes(
        &self,
        n: usize,
        s: &[f64],
        d: &mut [f64],
        work: &mut LikelihoodWork,
        law: impl FnOnce(&[f64], &[f64]),
    ) -> Result<f64> {
        let (s, links) = s.split_at(self.labels);
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
        likelihood(sum, &self.cases[n], s, d.split_at_mut(self.labels), &mut work.work, law)
    }
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
        self.slopes(n, s, d, work, |_, _| ())
    }

    /// `h_i = p_i (1 − p_i)` by the probability of each label, and of each pair that has a link; 0 where a label is not known.
    fn diagonal(
        &self,
        n: usize,
        s: &[f64],
        d: &mut [f64],
        h: &mut [f64],
        work: &mut LikelihoodWork,
    ) -> Result<Option<f64>> {
        let (own, links) = h.split_at_mut(self.labels);
        let law = |p: &[f64], pairs: &[f64]| {
            variances(p, own);
            variances(pairs, links);
        };
        self.slopes(n, s, d, work, law).map(Some)
    }
}

/// [`StarLikelihood`] of the scores of labels alone, where the links are given.
///
/// ```
/// use ordain::structure::star::{Star, sum::StarSum};
/// use ordain::{surrogate::star::{Case, FixedLinks}, traits::Surrogate};
/// let star = Star::new(3, &[0], &[0.0, 2.0, 0.0])?; // label 0 likes label 1
/// let cases = [Case::new(3, &[0], &[2])]; // it has label 0; of label 2 it is not known
/// let loss = FixedLinks { sum: StarSum::new(&star)?, cases: &cases };
/// let (mut d, mut h) = ([0.0; 3], [0.0; 3]);
/// let value = loss.diagonal(0, &[0.0; 3], &mut d, &mut h, &mut Default::default())?;
/// assert!((value.unwrap_or(0.0) - 2f64.ln()).abs() < 1e-12);
/// assert_eq!((d, h), ([-0.5, 0.5, 0.0], [0.25, 0.25, 0.0]));
/// # Ok::<(), ordain::Error>(())
/// ```
pub struct FixedLinks<'a> {
    /// The sum over label sets, with the links.
    pub sum: StarSum<'a>,
    /// The items with what is right of them.
    pub cases: &'a [Case],
}

impl Surrogate for FixedLinks<'_> {
    type Work = SumWork;

    fn len(&self) -> usize {
        self.cases.len()
    }

    fn bends(&self) -> bool {
        false
    }

    fn value(&self, n: usize, s: &[f64], d: &mut [f64], work: &mut SumWork) -> Result<f64> {
        likelihood(&self.sum, &self.cases[n], s, (d, &mut []), work, |_, _| ())
    }

    fn diagonal(&self, n: usize, s: &[f64], d: &mut [f64], h: &mut [f64], work: &mut SumWork) -> Result<Option<f64>> {
        likelihood(&self.sum, &self.cases[n], s, (d, &mut []), work, |p, _| variances(p, h)).map(Some)
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
        assert_eq!(scorer.len(), targets.len());
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
