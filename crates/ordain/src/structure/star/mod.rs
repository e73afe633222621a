//! Sets of `k` labels of `n` whose interactions all touch a small core.

use crate::error::{Error, Result};

mod branch;
mod forced;
mod max;
mod reduced;
pub mod sum;
mod sweep;

pub use crate::structure::star::forced::Forced;
pub use crate::structure::star::max::{Best, MaxWork, Search};

/// What is known of a label beforehand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clamp {
    /// Nothing.
    #[default]
    Free,
    /// It is in the set.
    In,
    /// It is not in the set.
    Out,
}

/// The sets to choose from: `k` labels, some of them forced in or out. An empty `clamp` leaves all labels free.
#[derive(Clone, Copy, Debug)]
pub struct Subsets<'a> {
    /// The size of a set.
    pub k: usize,
    /// What is known of each label.
    pub clamp: &'a [Clamp],
}

impl<'a> Subsets<'a> {
    /// The sizes that a set of `n` labels can have under these clamps.
    pub fn sizes(n: usize, clamp: &'a [Clamp]) -> std::ops::RangeInclusive<usize> {
        let count = |what: Clamp| clamp.iter().filter(|&&clamp| clamp == what).count();
        count(Clamp::In)..=n - count(Clamp::Out)
    }
}

impl Clamp {
    /// Some of `n` labels out, the others free; empty, which means the same, where none is out.
    pub fn out(n: usize, labels: &[u32]) -> Vec<Self> {
        let mut clamp = vec![];
        if !labels.is_empty() {
            clamp.resize(n, Self::Free);
            labels.iter().for_each(|&label| clamp[label as usize] = Self::Out);
        }
        clamp
    }
}

/// The largest core over which sets are maximised.
pub const MOST_MAX: usize = 20;
/// The largest core over which sets are summed.
pub const MOST_SUM: usize = 10;

/// Links between a core of labels and all labels: the score of a set `t` is
///
/// ```text
/// f(t) = Σ_{i in t} s_i + Σ_{pairs i, j in t, one of them in the core} g_ij
/// ```
///
/// \[QAP\] Eq. (7), with one weight per unordered pair.
#[derive(Clone, Debug, PartialEq)]
pub struct Star {
    n: usize,
    core: Vec<u32>,
    /// Row c: the links of core label c to all labels, 0 to itself; a pair inside the core stands in both rows.
    links: Vec<f64>,
    /// Where a label stands in the core, [`NOT_CORE`] for the others.
    place: Vec<u8>,
    /// What all links together can add to a label, and what they can take from it: sums of the positive and of the
    /// negative ones.
    pub(in crate::structure) above: Vec<f64>,
    pub(in crate::structure) below: Vec<f64>,
}

/// The place of a label that is not in the core, after all places.
pub(in crate::structure) const NOT_CORE: u8 = u8::MAX;

impl Star {
    /// A star over `n` labels. `links` has a row of `n` per core label; a pair inside the core is read from the row of the
    /// one that comes first in `core`, and what a label has to itself is not read. O(`links`).
    pub fn new(n: usize, core: &[u32], links: &[f64]) -> Result<Self> {
        let c = core.len();
        let mut seen = core.to_vec();
        seen.sort_unstable();
        seen.dedup();
        if c > MOST_MAX
            || seen.len() != c
            || seen.last().is_some_and(|&label| label as usize >= n)
            || links.len() != c * n
        {
            return Err(Error::Data {
                expected: format!("a core of at most {MOST_MAX} different labels of {n}, with {n} links each"),
                found: format!("the core {core:?} with {} links", links.len()),
            });
        }
        if links.iter().any(|x| !x.is_finite()) {
            return Err(Error::NotFinite { what: "a link" });
        }
        let mut links = links.to_vec();
        let mut place = vec![NOT_CORE; n];
        for (a, &label) in core.iter().enumerate() {
            links[a * n + label as usize] = 0.0;
            place[label as usize] = a as u8;
            for (b, &other) in core.iter().enumerate().skip(a + 1) {
                links[b * n + label as usize] = links[a * n + other as usize];
            }
        }
        let (mut above, mut below) = (vec![0.0; n], vec![0.0; n]);
        for row in links.chunks_exact(n.max(1)) {
            for ((up, down), &g) in above.iter_mut().zip(&mut below).zip(row) {
                *up += if g > 0.0 { g } else { 0.0 };
                *down += if g < 0.0 { g } else { 0.0 };
            }
        }
        if above.iter().chain(&below).any(|x| !x.is_finite()) {
            return Err(Error::NotFinite { what: "a sum of links" });
        }
        Ok(Self { n, core: core.to_vec(), links, place, above, below })
    }

    /// Number of labels.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether there is no label.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// The core.
    pub fn core(&self) -> &[u32] {
        &self.core
    }

    /// The links of the core label at place `c` of the core to all labels.
    pub fn links(&self, c: usize) -> &[f64] {
        &self.links[c * self.n..(c + 1) * self.n]
    }

    /// Where the links inside a set stand among the rows of [`Star::new`]: each pair once.
    pub fn each_pair(&self, set: &[u32], mut visit: impl FnMut(usize)) {
        for &label in set {
            let c = self.place[label as usize];
            if c != NOT_CORE {
                let row = c as usize * self.n;
                set.iter().filter(|&&i| self.place[i as usize] > c).for_each(|&i| visit(row + i as usize));
            }
        }
    }

    /// Changes links at places among the rows of [`Star::new`]; O(C) each.
    pub fn set_links(&mut self, changes: impl Iterator<Item = (usize, f64)>) {
        for (at, g) in changes {
            let (c, i) = (at / self.n, at % self.n);
            self.links[at] = g;
            self.bound(i);
            if self.place[i] != NOT_CORE {
                let label = self.core[c] as usize;
                self.links[self.place[i] as usize * self.n + label] = g;
                self.bound(label);
            }
        }
    }

    /// What links can add to a label and take from it.
    fn bound(&mut self, i: usize) {
        let (mut above, mut below) = (0.0, 0.0);
        for row in self.links.chunks_exact(self.n) {
            above += row[i].max(0.0);
            below += row[i].min(0.0);
        }
        (self.above[i], self.below[i]) = (above, below);
    }

    /// Where each label stands in the core.
    pub(in crate::structure) fn places(&self) -> &[u8] {
        &self.place
    }

    /// The score of a set: `f(t)` summed in the order of `set`, the links of one core label after the other. O(C k).
    ///
    /// ```
    /// let star = ordain::structure::star::Star::new(3, &[1], &[4.0, 0.0, -1.0])?;
    /// assert_eq!(star.score(&[1.0, 2.0, 3.0], &[0, 1]), 1.0 + 2.0 + 4.0);
    /// # Ok::<(), ordain::Error>(())
    /// ```
    pub fn score(&self, scores: &[f64], set: &[u32]) -> f64 {
        let own: f64 = set.iter().map(|&i| scores[i as usize]).sum();
        let inside = set.iter().fold(0u32, |inside, &i| match self.place[i as usize] {
            NOT_CORE => inside,
            c => inside | 1 << c,
        });
        let mut pairs = 0.0;
        for c in (0..self.core.len()).filter(|c| inside >> c & 1 == 1) {
            let row = self.links(c);
            pairs += set.iter().map(|&i| i as usize).filter(|&i| self.place[i] > c as u8).map(|i| row[i]).sum::<f64>();
        }
        own + pairs
    }
}
