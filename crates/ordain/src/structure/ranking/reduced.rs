//! A problem without the items that are pinned to the head: what the ways through the placements of the core start from.

use super::Problem;

/// One item of the core at one class: the free head place that it takes, if any, and what it is worth there on its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub(super) class: u32,
    /// Its number among the free places, [`TAIL`] for the tail.
    pub(super) slot: u32,
    /// Its linear term, its links to pinned items, and what it does to all leaves in the tail.
    pub(super) value: f64,
}

pub(super) const TAIL: u32 = u32::MAX;

/// Items are core items, pinned ones (to a head place) and leaves. In terms of
///
/// ```text
/// a_ij(p) = w_i(j; p) − w_i(tail; p) = a_ij + Σ_c g_ci [D(j, p_c) − D(tail, p_c)]
/// f(π) = constant + Σ_c value_c(p_c) + Σ_{c<d} g_cd D(p_c, p_d) + Σ_{leaves i in the head} a_ij(p)
/// ```
#[derive(Default)]
pub(super) struct Reduced {
    /// Items that are neither in the core nor pinned to the head.
    pub(super) leaves: Vec<u32>,
    /// Items outside the core that are pinned to a head place.
    pub(super) pinned: Vec<(u32, u32)>,
    /// Head places that no pinned item takes.
    pub(super) free: Vec<u32>,
    /// `a_ij`, a row of leaves per free place; −∞ where excluded.
    pub(super) rows: Vec<f64>,
    /// Leaves that are excluded from the tail: `big` is added to their rows, so that they are taken first.
    pub(super) must: Vec<u32>,
    pub(super) big: f64,
    /// The links of the core to the leaves, a row per core item.
    pub(super) g: Vec<f64>,
    /// The choices of all core items, one after another; where those of each start.
    pub(super) choices: Vec<Choice>,
    pub(super) starts: Vec<usize>,
    /// Links inside the core, C × C.
    pub(super) inside: Vec<f64>,
    pub(super) constant: f64,
    taken: Vec<bool>,
    known: Vec<u32>,
}

const NOT_PINNED: u32 = u32::MAX;

impl Reduced {
    pub(super) fn core(&self) -> usize {
        self.starts.len() - 1
    }

    pub(super) fn of_core(&self, c: usize) -> &[Choice] {
        &self.choices[self.starts[c]..self.starts[c + 1]]
    }

    /// The links of a core item to the leaves.
    pub(super) fn links(&self, c: usize) -> &[f64] {
        let n = self.leaves.len();
        &self.g[c * n..(c + 1) * n]
    }

    /// Reads a problem that was checked. O(n (m + C)).
    pub(super) fn set(&mut self, problem: &Problem) {
        self.split(problem);
        self.read_rows(problem);
        self.read_core(problem);
    }

    fn split(&mut self, problem: &Problem) {
        let (n, head) = (problem.items(), problem.head());
        self.known.clear();
        self.known.resize(n, NOT_PINNED);
        self.taken.clear();
        self.taken.resize(head, false);
        self.pinned.clear();
        for &(item, place) in problem.pins {
            let first = self.known[item as usize] == NOT_PINNED;
            self.known[item as usize] = place;
            if first && (place as usize) < head && problem.links.in_core(item as usize).is_none() {
                self.pinned.push((item, place));
                self.taken[place as usize] = true;
            }
        }
        self.leaves.clear();
        let known = &self.known;
        let leaf = |&i: &u32| {
            let place = known[i as usize];
            problem.links.in_core(i as usize).is_none() && (place == NOT_PINNED || place as usize == head)
        };
        self.leaves.extend((0..n as u32).filter(leaf));
        self.free.clear();
        self.free.extend((0..head as u32).filter(|&j| !self.taken[j as usize]));
    }

    /// The linear term but for pins.
    fn plain(problem: &Problem, i: usize, j: usize) -> f64 {
        let own = problem.scores[i] * problem.discounts[j];
        if problem.extra.is_empty() { own } else { own + problem.extra[i * problem.classes() + j] }
    }

    fn read_rows(&mut self, problem: &Problem) {
        let (n, tail) = (self.leaves.len(), problem.head());
        self.constant = self.pinned.iter().map(|&(i, j)| Self::plain(problem, i as usize, j as usize)).sum();
        self.rows.clear();
        self.rows.resize(self.free.len() * n, 0.0);
        self.must.clear();
        let mut most = 0.0f64;
        for (at, &i) in self.leaves.iter().enumerate() {
            let i = i as usize;
            let mut below = Self::plain(problem, i, tail);
            if below == f64::NEG_INFINITY {
                self.must.push(at as u32);
                below = 0.0;
            }
            self.constant += below;
            let only_tail = self.known[i] as usize == tail;
            for (slot, &j) in self.free.iter().enumerate() {
                let a = if only_tail { f64::NEG_INFINITY } else { Self::plain(problem, i, j as usize) - below };
                self.rows[slot * n + at] = a;
                most = if a.is_finite() { most.max(a.abs()) } else { most };
            }
        }
        let links: f64 = (0..problem.links.core().len())
            .map(|c| problem.links.row(c).iter().fold(0.0f64, |most, g| most.max(g.abs())))
            .sum();
        self.big = 1.0 + 2.0 * (self.free.len() as f64 + 1.0) * (most + 2.0 * links * problem.design.largest());
        for &at in &self.must {
            (0..self.free.len()).for_each(|slot| self.rows[slot * n + at as usize] += self.big);
        }
    }

    fn read_core(&mut self, problem: &Problem) {
        let (tail, links) = (problem.head(), problem.links);
        self.g.clear();
        self.choices.clear();
        self.starts.clear();
        self.inside.clear();
        self.starts.push(0);
        for (c, &item) in links.core().iter().enumerate() {
            let row = links.row(c);
            self.g.extend(self.leaves.iter().map(|&i| row[i as usize]));
            self.inside.extend(links.core().iter().map(|&other| row[other as usize]));
            let all: f64 = self.leaves.iter().map(|&i| row[i as usize]).sum();
            let known = self.known[item as usize];
            let mut offer = |class: usize, slot: u32| {
                let own = Self::plain(problem, item as usize, class);
                if own == f64::NEG_INFINITY || (known != NOT_PINNED && known as usize != class) {
                    return;
                }
                let d = problem.design.row(class);
                let pinned: f64 = self.pinned.iter().map(|&(i, j)| row[i as usize] * d[j as usize]).sum();
                self.choices.push(Choice { class: class as u32, slot, value: own + pinned + all * d[tail] });
            };
            for (slot, &j) in self.free.iter().enumerate() {
                offer(j as usize, slot as u32);
            }
            offer(tail, TAIL);
            self.starts.push(self.choices.len());
        }
    }
}
