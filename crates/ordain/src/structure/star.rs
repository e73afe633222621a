//! Sets of `k` labels of `n` whose interactions all touch a small core.

use crate::error::{Error, Result};

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
}

impl Star {
    /// A star over `n` labels. `links` has a row of `n` per core label; a pair inside the core is read from the row of the
    /// one that comes first in `core`, and what a label has to itself is not read.
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
        for (a, &label) in core.iter().enumerate() {
            links[a * n + label as usize] = 0.0;
            for (b, &other) in core.iter().enumerate().skip(a + 1) {
                links[b * n + label as usize] = links[a * n + other as usize];
            }
        }
        Ok(Self { n, core: core.to_vec(), links })
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

    /// The score of a set.
    pub fn score(&self, scores: &[f64], set: &[u32]) -> f64 {
        let own: f64 = set.iter().map(|&i| scores[i as usize]).sum();
        let mut pairs = 0.0;
        for (c, &label) in self.core.iter().enumerate().filter(|(_, label)| set.contains(label)) {
            let later = |i: u32| !self.core[..c].contains(&i) && i != label;
            pairs += set.iter().filter(|&&i| later(i)).map(|&i| self.links(c)[i as usize]).sum::<f64>();
        }
        own + pairs
    }
}
