//! Links between a core of items and all items.

use crate::error::{Error, Result};

/// The largest core: the placements of the core are gone through.
pub const MOST_CORE: usize = 8;

/// The place of an item that is not in the core.
pub(in crate::structure) const NOT_CORE: u8 = u8::MAX;

/// What a core item and another item are worth to each other per unit of the design: `g_ci = f_ci + f_ic`.
///
/// As in [`Star`](crate::structure::star::Star) there is one weight per unordered pair. A pair inside the core is read
/// from the row of the one that comes first in the core, and what an item has to itself is not read (it belongs to the
/// linear part).
///
/// ```
/// use ordain::structure::ranking::Links;
/// let links = Links::new(3, &[1], &[4.0, 9.0, -1.0])?;
/// assert_eq!(links.row(0), [4.0, 0.0, -1.0]);
/// // f(1, 0) + f(0, 1) and f(1, 2) + f(2, 1)
/// let flow = [0.0, 1.0, 0.0, 3.0, 0.0, -2.0, 0.0, 1.0, 0.0];
/// assert_eq!(Links::of_flow(3, &[1], &flow)?, links);
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Links {
    n: usize,
    core: Vec<u32>,
    /// Row c: the links of core item c to all items, 0 to itself; a pair inside the core stands in both rows.
    g: Vec<f64>,
    /// Where an item stands in the core, [`NOT_CORE`] for the others.
    place: Vec<u8>,
}

impl Links {
    /// No core and no link.
    pub fn none(n: usize) -> Self {
        Self { n, core: vec![], g: vec![], place: vec![NOT_CORE; n] }
    }

    /// Links of `n` items: a row of `n` weights per core item. O(`g`).
    ///
    /// # Errors
    ///
    /// [`Error::Data`] for a core of more than [`MOST_CORE`] items, of equal ones or of ones that are not there, or for
    /// another number of weights; [`Error::NotFinite`].
    pub fn new(n: usize, core: &[u32], g: &[f64]) -> Result<Self> {
        let mut links = Self::none(0);
        links.set(n, core, g)?;
        Ok(links)
    }

    /// [`Links::new`] in place: it allocates nothing where there was as much before.
    pub fn set(&mut self, n: usize, core: &[u32], g: &[f64]) -> Result<()> {
        let twice = |(at, item): (usize, &u32)| core[..at].contains(item);
        if core.len() > MOST_CORE
            || core.iter().enumerate().any(twice)
            || core.iter().any(|&item| item as usize >= n)
            || g.len() != core.len() * n
        {
            return Err(Error::Data {
                expected: format!("a core of at most {MOST_CORE} different items of {n}, with {n} links each"),
                found: format!("the core {core:?} with {} links", g.len()),
            });
        }
        if g.iter().any(|x| !x.is_finite()) {
            return Err(Error::NotFinite { what: "a link" });
        }
        self.n = n;
        self.core.clear();
        self.core.extend_from_slice(core);
        self.g.clear();
        self.g.extend_from_slice(g);
        self.place.clear();
        self.place.resize(n, NOT_CORE);
        for (a, &item) in core.iter().enumerate() {
            self.g[a * n + item as usize] = 0.0;
            self.place[item as usize] = a as u8;
            for (b, &other) in core.iter().enumerate().skip(a + 1) {
                self.g[b * n + item as usize] = self.g[a * n + other as usize];
            }
        }
        Ok(())
    }

    /// Links out of the matrix `F` of \[QAP\] Eq. (5), `n × n`, symmetric or not: `g_ci = f_ci + f_ic`. The diagonal is
    /// not read.
    ///
    /// # Errors
    ///
    /// As [`Links::new`]; [`Error::Data`] where a link touches no item of the core.
    pub fn of_flow(n: usize, core: &[u32], f: &[f64]) -> Result<Self> {
        if n.checked_mul(n) != Some(f.len()) {
            return Err(Error::Data { expected: format!("{n} x {n} links"), found: format!("{} links", f.len()) });
        }
        let outside = |i: usize| !core.contains(&(i as u32));
        for i in (0..n).filter(|&i| outside(i)) {
            if let Some(j) = (0..n).find(|&j| j != i && outside(j) && f[i * n + j].abs() > 0.0) {
                return Err(Error::Data {
                    expected: format!("links that touch the core {core:?}"),
                    found: format!("{} between items {i} and {j}", f[i * n + j]),
                });
            }
        }
        let mut g = vec![0.0; core.len() * n];
        for (c, &item) in core.iter().enumerate().filter(|&(_, &item)| (item as usize) < n) {
            let item = item as usize;
            (0..n).for_each(|i| g[c * n + i] = f[item * n + i] + f[i * n + item]);
        }
        Self::new(n, core, &g)
    }

    /// The number of items.
    pub fn items(&self) -> usize {
        self.n
    }

    /// The core.
    pub fn core(&self) -> &[u32] {
        &self.core
    }

    /// The links of the core item at place `c` of the core to all items.
    #[inline]
    pub fn row(&self, c: usize) -> &[f64] {
        &self.g[c * self.n..(c + 1) * self.n]
    }

    /// Where an item stands in the core, if it does.
    #[inline]
    pub fn in_core(&self, item: usize) -> Option<usize> {
        (self.place[item] != NOT_CORE).then_some(usize::from(self.place[item]))
    }

    /// Calls `visit` with every unordered pair that has a link: the place of one in the core, the other item, and where
    /// the link stands among the rows of [`Links::new`].
    pub fn each_pair(&self, mut visit: impl FnMut(usize, usize, usize)) {
        for c in 0..self.core.len() {
            for i in 0..self.n {
                if self.in_core(i).is_none_or(|other| other > c) {
                    visit(c, i, c * self.n + i);
                }
            }
        }
    }
}
