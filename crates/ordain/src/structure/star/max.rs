//! The best set of a star: labels that can never be in it are left out, then a sweep or a bounded search of the core.

use crate::error::{Error, Result};
use crate::structure::star::branch::Branch;
use crate::structure::star::forced::Force;
use crate::structure::star::reduced::Reduced;
use crate::structure::star::sweep::Sweep;
use crate::structure::star::{Star, Subsets};

/// The ways to the best set; all of them are exact, and dispatch takes one by size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(hidden)]
pub enum Search {
    /// Leaves out dominated labels, then sweeps where few sums are left and branches elsewhere.
    #[default]
    Fast,
    /// Every configuration of the core with all labels: O(2^C N).
    Sweep,
    /// Every configuration of the core, without dominated labels; those that cannot be the best are not looked into.
    ShortSweep,
    /// Depth-first over the core with dominance and bound.
    Branch,
}

/// A set and its score.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Best {
    /// Its score, [`Star::score`].
    pub value: f64,
    /// Its labels, ascending.
    pub labels: Vec<u32>,
}

/// Buffers of the search, to be kept from one call to the next: then calls allocate nothing.
#[derive(Clone, Debug, Default)]
pub struct MaxWork {
    pub(in crate::structure) reduced: Reduced,
    pub(in crate::structure) sweep: Sweep,
    pub(in crate::structure) force: Force,
    branch: Branch,
    chosen: Vec<(f64, u32)>,
}

/// A set that the search has met, by its value, the part of the core (the first free core label is the highest bit) and
/// whether the label at the threshold was exchanged for the next one.
#[derive(Clone, Copy, Debug)]
pub(in crate::structure) struct Met {
    pub(in crate::structure) value: f64,
    pub(in crate::structure) mask: u32,
    pub(in crate::structure) exchanged: bool,
}

impl Met {
    /// The order of sets: larger values, then the order of labels with the core first.
    fn before(&self, other: &Self) -> bool {
        let rank = |met: &Self| (met.mask, !met.exchanged);
        self.value > other.value || (self.value >= other.value && rank(self) > rank(other))
    }
}

/// The best one or two sets so far.
#[derive(Clone, Copy, Debug)]
pub(in crate::structure) struct Found {
    pub(in crate::structure) two: bool,
    best: Option<Met>,
    next: Option<Met>,
}

impl Found {
    pub(in crate::structure) fn new(two: bool) -> Self {
        Self { two, best: None, next: None }
    }

    pub(in crate::structure) fn offer(&mut self, met: Met) {
        if self.best.is_none_or(|best| met.before(&best)) {
            self.next = self.best.replace(met);
        } else if self.next.is_none_or(|next| met.before(&next)) {
            self.next = Some(met);
        }
    }

    /// Whether sets of at most this value and with no more than this part of the core are of no use.
    pub(in crate::structure) fn beats(&self, bound: f64, mask: u32) -> bool {
        let last = if self.two { self.next } else { self.best };
        last.is_some_and(|last| bound < last.value || (bound <= last.value && mask <= last.mask))
    }
}

/// Up to this many items too many, the least are taken away one by one; above, the rest is selected.
const FEW: usize = 4;

/// Puts the `r` largest items first and returns the largest value of the others, −∞ if there are none.
pub(in crate::structure) fn front<T: Copy>(items: &mut [T], r: usize, value: impl Fn(&T) -> f64) -> f64 {
    let mut next = f64::NEG_INFINITY;
    if r >= items.len() {
        return next;
    }
    if r > 0 && items.len() - r > FEW {
        items.select_nth_unstable_by(r - 1, |a, b| value(b).total_cmp(&value(a)));
    } else if r > 0 {
        for end in (r + 1..=items.len()).rev() {
            let (mut least, mut at) = (value(&items[0]), 0);
            for (i, item) in items[..end].iter().enumerate() {
                let x = value(item);
                (least, at) = if x < least { (x, i) } else { (least, at) };
            }
            items.swap(at, end - 1);
            next = least;
        }
        return next;
    }
    for item in &items[r..] {
        let x = value(item);
        next = if x > next { x } else { next };
    }
    next
}

/// No less than the sum of the `r` largest of `values`, and that sum where `level` is the least of them:
///
/// ```text
/// r level + Σ_i max(0, x_i − level)
/// ```
pub(in crate::structure) fn at_most(values: &[f64], r: usize, level: f64) -> f64 {
    let mut sums = [0.0; 4];
    let (blocks, rest) = values.as_chunks::<4>();
    let over = |x: f64| if x > level { x - level } else { 0.0 };
    for block in blocks {
        for (sum, &x) in sums.iter_mut().zip(block) {
            *sum += over(x);
        }
    }
    let more: f64 = rest.iter().map(|&x| over(x)).sum();
    r as f64 * level + ((sums[0] + sums[2]) + (sums[1] + sums[3]) + more)
}

/// The sum of the `r` largest of `values`, and what the exchange of the least of them for the next one costs, ∞ where
/// there is none. None where there are fewer than `r`.
pub(in crate::structure) fn top(values: &mut [f64], r: usize) -> Option<(f64, f64)> {
    if r > values.len() {
        return None;
    }
    let next = front(values, r, |&x| x);
    let least = values[..r].iter().fold(f64::INFINITY, |least, &x| if x < least { x } else { least });
    Some((values[..r].iter().sum(), least - next))
}

/// Sums up to which a sweep is faster than branching.
const SHORT: usize = 8192;

impl Star {
    /// The best set of `over` and its value.
    ///
    /// ```text
    /// max_t f(t) = max_{S ⊆ core} [ f(S) + the sum of the k − |S| largest a_i(S) ],   a_i(S) = s_i + Σ_{c in S} g_ci
    /// ```
    ///
    /// \[QAP\] Eq. (7). A label whose score, with all that links can add, stays below those of `k` others with all that
    /// links can take, is in no best set and is left out. What is left is swept where it is little, and otherwise searched
    /// depth-first over the core, where the same rule shortens the list at every level and a part of the core is given
    /// up once the sum of its largest possible scores does not exceed the best value so far. At worst O(2^C N), in practice
    /// little more than O(N).
    ///
    /// The value is [`Star::score`] of the set. Where sums are exact, as with whole numbers, the set is the first
    /// of the best in lexicographic order with the core counted before the other labels, in its own order: a core label
    /// is rather in than out, and of the others low numbers go first. Elsewhere sets whose values differ by rounding
    /// alone count as equal, and one of them is returned, the same at every call.
    ///
    /// ```
    /// use ordain::structure::star::{MaxWork, Star, Subsets};
    ///
    /// let star = Star::new(4, &[3], &[0.0, 0.0, 2.0, 0.0])?; // labels 2 and 3 like each other
    /// let (mut work, mut set) = (MaxWork::default(), vec![]);
    /// let value = star.max(&[1.0, 0.9, 0.2, 0.1], &Subsets { k: 2, clamp: &[] }, &mut work, &mut set)?;
    /// assert_eq!(set, [2, 3]);
    /// assert!((value - 2.3).abs() < 1e-15);
    /// # Ok::<(), ordain::Error>(())
    /// ```
    pub fn max(&self, scores: &[f64], over: &Subsets, work: &mut MaxWork, set: &mut Vec<u32>) -> Result<f64> {
        self.max_by(Search::Fast, scores, over, work, set)
    }

    /// [`Star::max`] on a given way.
    #[doc(hidden)]
    pub fn max_by(
        &self,
        search: Search,
        scores: &[f64],
        over: &Subsets,
        work: &mut MaxWork,
        set: &mut Vec<u32>,
    ) -> Result<f64> {
        let found = self.find(search, scores, over, work, false)?;
        let Some(best) = found.best else { return Err(Error::NotFinite { what: "the score of every set" }) };
        self.read(scores, over, best, work, set)
    }

    /// The two best sets of `over`; the second is none where only one set is possible.
    ///
    /// For a given part of the core the second-best set exchanges the label at the threshold for the next one, so the
    /// search of [`Star::max`] needs only to keep two values. Costs hardly more than it. The order of equal sets is that
    /// of [`Star::max`].
    ///
    /// The difference of the two values is that of the label whose forced values ([`Star::forced`]) differ least.
    ///
    /// ```
    /// use ordain::structure::star::{MaxWork, Star, Subsets};
    ///
    /// let star = Star::new(4, &[3], &[0.0, 0.0, 2.0, 0.0])?;
    /// let over = Subsets { k: 2, clamp: &[] };
    /// let (best, next) = star.two_best(&[1.0, 0.9, 0.2, 0.1], &over, &mut MaxWork::default())?;
    /// assert_eq!((best.labels, next.map(|next| next.labels)), (vec![2, 3], Some(vec![0, 1])));
    /// # Ok::<(), ordain::Error>(())
    /// ```
    pub fn two_best(&self, scores: &[f64], over: &Subsets, work: &mut MaxWork) -> Result<(Best, Option<Best>)> {
        self.two_best_by(Search::Fast, scores, over, work)
    }

    /// [`Star::two_best`] on a given way.
    #[doc(hidden)]
    pub fn two_best_by(
        &self,
        search: Search,
        scores: &[f64],
        over: &Subsets,
        work: &mut MaxWork,
    ) -> Result<(Best, Option<Best>)> {
        let found = self.find(search, scores, over, work, true)?;
        let Some(met) = found.best else { return Err(Error::NotFinite { what: "the score of every set" }) };
        let mut read = |met: Met| -> Result<Best> {
            let mut labels = vec![];
            Ok(Best { value: self.read(scores, over, met, work, &mut labels)?, labels })
        };
        let best = read(met)?;
        let next = found.next.map(read).transpose()?;
        match next {
            Some(next) if next.value > best.value => Ok((next, Some(best))), // by rounding
            next => Ok((best, next)),
        }
    }

    fn find(&self, search: Search, scores: &[f64], over: &Subsets, work: &mut MaxWork, two: bool) -> Result<Found> {
        let dominance = (search != Search::Sweep).then_some(usize::from(two));
        work.reduced.set(self, scores, over, dominance)?;
        let mut found = Found::new(two);
        let sweep = match search {
            Search::Fast => work.reduced.stride << work.reduced.core.len() < SHORT,
            Search::Sweep | Search::ShortSweep => true,
            Search::Branch => false,
        };
        if sweep {
            work.sweep.max(&work.reduced, search != Search::Sweep, &mut found);
        } else {
            work.branch.max(&work.reduced, &mut found);
        }
        Ok(found)
    }

    fn read(&self, scores: &[f64], over: &Subsets, met: Met, work: &mut MaxWork, set: &mut Vec<u32>) -> Result<f64> {
        work.reduced.labels_of(self, over, met, &mut work.chosen, set);
        let value = self.score(scores, set);
        if value.is_finite() { Ok(value) } else { Err(Error::NotFinite { what: "the score of a set" }) }
    }
}
