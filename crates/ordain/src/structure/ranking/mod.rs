//! Orders of items whose score has linear and quadratic terms: top-k lists and whole rankings, \[QAP\] Eqs. (4), (5).
//!
//! ```text
//! f(π) = Σ_i [ s_i c(π_i) + e_i(π_i) ] + Σ_{pairs c, i with c in the core} g_ci D(π_c, π_i)
//! ```
//!
//! Every item stands at a place. There are `m` classes of places: the first `m − 1` are places of the head, for one item
//! each, and the last one is the tail, which holds the other `n − m + 1` items in any order. With as many classes as
//! items the last class is a place like the others, and an order is a whole ranking.

use crate::error::{Error, Interrupt, Result};

mod check;
mod design;
pub mod exhaustive;
mod fill;
mod forced;
mod largest;
mod links;
mod list;
mod power;
mod reduced;
mod sum;
mod walk;
mod weights;
mod whole;
mod wide;

pub use crate::structure::ranking::design::Design;
pub use crate::structure::ranking::links::{Links, MOST_CORE};

/// The most head places over which orders are summed ([`Problem::log_sum`]): time doubles with each.
pub const MOST_SUM: usize = crate::structure::matching::places::MOST;

/// A work limit that is no limit.
pub const UNLIMITED: u64 = u64::MAX;

/// The score of orders: everything that `f` is made of. `n` items, `m` classes of places.
///
/// ```
/// use ordain::structure::ranking::{Design, Links, Problem, UNLIMITED, Work};
///
/// // four items, two head places and the tail; items 0 and 3 want to stand side by side
/// let links = Links::new(4, &[3], &[-2.0, 0.0, 0.0, 0.0])?;
/// let problem = Problem {
///     scores: &[1.0, 0.9, 0.2, 0.1],
///     discounts: &[1.0, 0.6, 0.0],
///     design: &Design::distance(3),
///     links: &links,
///     extra: &[],
///     pins: &[],
/// };
/// let (mut work, mut places) = (Work::default(), vec![]);
/// let best = problem.best(UNLIMITED, &mut work, &mut places)?;
/// assert_eq!(places, [2, 0, 1, 2]); // both in the tail: items 1 and 2 lead
/// assert!((best.value - (0.9 + 0.6 * 0.2)).abs() < 1e-15 && best.proven());
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// The scores `s` of the items.
    pub scores: &'a [f64],
    /// The design vector `c`, a number per class; any numbers.
    pub discounts: &'a [f64],
    /// The design matrix `D` over the classes.
    pub design: &'a Design,
    /// The core and its links.
    pub links: &'a Links,
    /// Further linear terms `e`, `n × m`, row by row, such as a loss that is linear in the order; −∞ excludes an item
    /// from a place. Empty where there are none.
    pub extra: &'a [f64],
    /// Items whose class is known: (item, class).
    pub pins: &'a [(u32, u32)],
}

/// The value of the order that was found, and what no order exceeds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Best {
    /// The score of the order, [`Problem::value`].
    pub value: f64,
    /// No order has a larger score. The same number as `value` where the order is proven to be the best.
    pub bound: f64,
}

impl Best {
    /// Whether the order is proven to be a best one (but for rounding).
    pub fn proven(&self) -> bool {
        self.bound <= self.value
    }

    /// By how much a better order could be better.
    pub fn gap(&self) -> f64 {
        self.bound - self.value
    }
}

/// Probabilities of places under `p(π) ∝ exp f(π)`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sums {
    /// `p(π_i = j)`, `n × m`, row by row: ∂ log Z / ∂ e_i(j).
    pub marginals: Vec<f64>,
    /// `E[D(π_c, π_i)]` in the layout of the links, a row of all items per core item: ∂ log Z / ∂ g_ci. 0 where a core item
    /// meets itself; a pair inside the core stands in both rows.
    pub pairs: Vec<f64>,
}

/// Buffers, to be kept from one call to the next: then calls of the same size allocate nothing.
#[derive(Default)]
pub struct Work {
    lists: list::Lists,
    summing: sum::Summing,
    force: forced::Force,
    whole: whole::Whole,
}

impl Work {
    /// The same, but it asks whether to stop.
    pub fn stopped_by(mut self, stop: Interrupt) -> Self {
        self.lists.walk.stopped_by(stop.clone());
        self.summing.stopped_by(stop.clone());
        self.whole.stopped_by(stop);
        self
    }
}

/// The ways to the best list; both are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(hidden)]
pub enum Search {
    /// Placements of the core that cannot be the best are not looked into.
    #[default]
    Bounded,
    /// Every placement of the core.
    Every,
}

/// The ways to the sum over lists; both give the same numbers but for rounding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(hidden)]
pub enum Way {
    /// Power sums where nothing cancels, and the recursion otherwise.
    #[default]
    Powers,
    /// The recursion over leaves.
    Recursion,
}

impl Problem<'_> {
    /// The number of items.
    pub fn items(&self) -> usize {
        self.scores.len()
    }

    /// The number of classes of places; the last one is the tail.
    pub fn classes(&self) -> usize {
        self.design.classes()
    }

    /// The number of head places: all classes but the last.
    pub fn head(&self) -> usize {
        self.classes() - 1
    }

    /// Whether every class is one place: whole rankings.
    pub fn is_whole(&self) -> bool {
        self.items() <= self.classes()
    }

    /// The linear term of an item at a class, `s_i c_j + e_i(j)`; −∞ where it is excluded or pinned elsewhere.
    #[inline]
    pub fn linear(&self, i: usize, j: usize) -> f64 {
        let own = self.scores[i] * self.discounts[j];
        let extra = if self.extra.is_empty() { own } else { own + self.extra[i * self.classes() + j] };
        match self.pins.iter().find(|&&(item, _)| item as usize == i) {
            Some(&(_, place)) if place as usize != j => f64::NEG_INFINITY,
            _ => extra,
        }
    }

    /// The score `f` of an order, given by the class of each item. O(C n).
    pub fn value(&self, places: &[u32]) -> f64 {
        let own: f64 = (0..self.items()).map(|i| self.linear(i, places[i] as usize)).sum();
        let mut pairs = 0.0;
        self.links.each_pair(|c, i, _| {
            let other = self.links.core()[c] as usize;
            pairs += self.links.row(c)[i] * self.design.at(places[other] as usize, places[i] as usize);
        });
        own + pairs
    }

    /// The best order, as the class of each item.
    ///
    /// ```text
    /// max_π f(π) = max over places p of the core [ f(p) + max over assignments of the others Σ_i w_i(π_i; p) ]
    /// w_i(j; p) = s_i c_j + e_i(j) + Σ_c g_ci D(p_c, j)
    /// ```
    ///
    /// \[QAP\] section 3, where it costs O(N^(C+3)). Of equal orders one is returned, the same at every call.
    ///
    /// **Top-k lists** go through the placements of the core on k places and the tail, some k^C. Each is an assignment of
    /// its K open places, O(n K + K⁴): the K + 1 best items of each place are enough. Placements whose largest terms
    /// together do not exceed the best so far are left out. The answer is always proven.
    ///
    /// **Whole rankings** have N^C placements, each an assignment of N items. Prices `v` of places bound the placements
    /// that are not solved:
    ///
    /// ```text
    /// B(p; v) = f(p) + Σ_{j not in p} v_j + Σ_i max_{j not in p} [ w_i(j; p) − v_j ]  ≥  the best order with the core at p
    /// ```
    ///
    /// A bound costs O(N C) for `D = |k − l|`, where the best place of each item between two core items is a running
    /// maximum, and O(N²) otherwise. Boxes of placements are halved, each with the prices of its best placement. Where `D`
    /// depends on `k − l` and more than 30 % of the placements survive, prices that follow the core are fitted.
    /// The search ends when `limit` is used up, in assignments solved or as much other work; then the answer carries
    /// what no order can exceed. A `D` without structure prunes little.
    ///
    /// ```
    /// use ordain::structure::ranking::{Design, Links, Problem, UNLIMITED, Work, order};
    ///
    /// // a whole ranking of four items, of which 0 and 3 want to be far apart
    /// let links = Links::new(4, &[3], &[1.0, 0.0, 0.0, 0.0])?;
    /// let problem = Problem {
    ///     scores: &[1.0, 0.9, 0.2, 0.1],
    ///     discounts: &[1.0, 0.6, 0.5, 0.4],
    ///     design: &Design::distance(4),
    ///     links: &links,
    ///     extra: &[],
    ///     pins: &[(1, 0)], // item 1 is known to lead
    /// };
    /// let mut places = vec![];
    /// let best = problem.best(UNLIMITED, &mut Work::default(), &mut places)?;
    /// assert_eq!(order(&places), [1, 0, 2, 3]);
    /// assert!(best.proven() && (best.value - (0.9 + 0.6 + 0.1 + 0.04 + 2.0)).abs() < 1e-15);
    /// # Ok::<(), ordain::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Data`] for sizes that do not fit, and where pins and excluded places leave no order;
    /// [`Error::NotFinite`]; [`Error::Interrupted`].
    pub fn best(&self, limit: u64, work: &mut Work, places: &mut Vec<u32>) -> Result<Best> {
        if !self.is_whole() {
            return self.best_list(Search::Bounded, work, places);
        }
        self.check()?;
        work.whole.best(self, limit, places)?.ok_or_else(|| self.no_order())
    }

    /// [`Problem::best`] of a list on a given way.
    #[doc(hidden)]
    pub fn best_list(&self, search: Search, work: &mut Work, places: &mut Vec<u32>) -> Result<Best> {
        self.check()?;
        if !work.lists.search(self, search)? {
            return Err(self.no_order());
        }
        work.lists.read(self, places);
        let value = self.value(places);
        Ok(Best { value, bound: value })
    }

    /// `log Z = log Σ_π exp f(π)`, with the probabilities of places and the expectations of the links: the exact
    /// likelihood of orders and its slopes. Items of the tail are not told apart.
    ///
    /// Each placement of the core is a sum over lists as in [`places`](crate::structure::matching::places): items one by
    /// one, with the sets of open places as states, O(n K 2^K) and some k^C placements; at most [`MOST_SUM`] head places.
    /// Weights are divided by the prices of the best list, so that the best list weighs 1 and no item more than 1
    /// anywhere. Placements that weigh less than e^−60 of the best list are left out.
    ///
    /// Up to five head places, power sums over partitions of the open places take the place of the recursion, some four
    /// times as fast, unless terms that cancel would cost digits: that is checked at every placement.
    ///
    /// ```
    /// use ordain::structure::ranking::{Design, Links, Problem, Sums, Work};
    ///
    /// // two items and one head place: either leads, and they are one step apart
    /// let (design, links) = (Design::distance(2), Links::new(2, &[0], &[0.0, 0.7])?);
    /// let problem = Problem {
    ///     scores: &[1.0, 0.0], discounts: &[1.0, 0.0], design: &design, links: &links, extra: &[], pins: &[]
    /// };
    /// let mut sums = Sums::default();
    /// let log_z = problem.log_sum(&mut Work::default(), &mut sums)?;
    /// assert!((log_z - (0.7 + (1f64.exp() + 1.0).ln())).abs() < 1e-15);
    /// assert!((sums.marginals[0] - 1f64.exp() / (1f64.exp() + 1.0)).abs() < 1e-15);
    /// assert!((sums.pairs[1] - 1.0).abs() < 1e-15);
    /// # Ok::<(), ordain::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Problem::best`]; [`Error::Setting`] for more head places.
    pub fn log_sum(&self, work: &mut Work, sums: &mut Sums) -> Result<f64> {
        self.log_sum_by(Way::Powers, work, sums)
    }

    /// [`Problem::log_sum`] on a given way.
    #[doc(hidden)]
    pub fn log_sum_by(&self, way: Way, work: &mut Work, sums: &mut Sums) -> Result<f64> {
        self.check()?;
        if self.head() > MOST_SUM {
            return Err(Error::Setting {
                name: "places".into(),
                expected: format!("at most {MOST_SUM} of the head"),
                found: self.head().to_string(),
            });
        }
        work.lists.log_sum(self, way, &mut work.summing, sums)?.ok_or_else(|| self.no_order())
    }

    /// The best value of an order with item i at class j, for all i and j: `n × m`, row by row; −∞ where there is none.
    /// Returns the largest.
    ///
    /// For each placement of the core, with the best list known: who is forced to place j displaces its item, which
    /// displaces another, until the place is reached that was left. The least loss of such a chain between any two
    /// places is a shortest path (Floyd and Warshall, O(K³)), so that all items at all places cost O(n K) more. By
    /// placements, as top-k lists; for whole rankings of more than some 20 items that is slow.
    ///
    /// ```
    /// use ordain::structure::ranking::{Design, Links, Problem, Work};
    /// let (design, links) = (Design::distance(2), Links::none(2));
    /// let problem =
    ///     Problem { scores: &[1.0, 2.0], discounts: &[1.0, 0.0], design: &design, links: &links, extra: &[], pins: &[] };
    /// let mut values = vec![];
    /// assert_eq!(problem.forced(&mut Work::default(), &mut values)?, 2.0);
    /// assert_eq!(values, [1.0, 2.0, 2.0, 1.0]); // item 0 leads, item 0 below, item 1 leads, item 1 below
    /// # Ok::<(), ordain::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Problem::best`].
    pub fn forced(&self, work: &mut Work, values: &mut Vec<f64>) -> Result<f64> {
        self.check()?;
        let best = work.lists.forced(self, &mut work.force, values)?;
        if best > f64::NEG_INFINITY { Ok(best) } else { Err(self.no_order()) }
    }
}

/// All items by their place: those of the head in order, then those of the tail, ascending.
///
/// ```
/// assert_eq!(ordain::structure::ranking::order(&[2, 0, 1, 2]), [1, 2, 0, 3]);
/// ```
pub fn order(places: &[u32]) -> Vec<u32> {
    let mut items: Vec<u32> = (0..places.len() as u32).collect();
    items.sort_by_key(|&i| places[i as usize]);
    items
}
