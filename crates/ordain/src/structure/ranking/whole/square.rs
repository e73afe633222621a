//! A whole ranking without the items that are pinned: leaves and core items over the places that are left.

use crate::error::{Error, Result};
use crate::structure::matching::assignment;
use crate::structure::ranking::{MOST_CORE, Problem};

/// Where each core item stands, by the number of the place among the free ones.
pub(super) type Placement = [usize; MOST_CORE];

/// With free places j, leaves i and core items c:
///
/// ```text
/// f = constant + Σ_c own_c(p_c) + Σ_{c<d} inside_cd D(p_c, p_d) + Σ_i [ linear_ij + Σ_c g_ci D(j, p_c) ]
/// ```
#[derive(Default)]
pub(super) struct Square {
    pub(super) leaves: Vec<u32>,
    pub(super) free: Vec<u32>,
    pinned: Vec<(u32, u32)>,
    /// A row of leaves per place; −∞ where excluded.
    pub(super) linear: Vec<f64>,
    /// A row of leaves per core item.
    pub(super) g: Vec<f64>,
    /// A row of places per core item; −∞ where excluded.
    pub(super) own: Vec<f64>,
    pub(super) inside: Vec<f64>,
    /// The design between free places.
    pub(super) design: Vec<f64>,
    pub(super) constant: f64,
    core: usize,
    costs: Vec<f64>,
    open: Vec<usize>,
    solver: assignment::Work,
}

/// The best order of a placement, with the price of every free place.
pub(super) struct Solved {
    pub(super) value: f64,
    pub(super) prices: Vec<f64>,
    /// The place of each leaf.
    pub(super) place: Vec<usize>,
}

impl Square {
    pub(super) fn core(&self) -> usize {
        self.core
    }

    /// Reads a problem that was checked. O(N² + C N).
    pub(super) fn set(&mut self, problem: &Problem) {
        let (n, links) = (problem.items(), problem.links);
        self.core = links.core().len();
        let outside = |i: u32| links.in_core(i as usize).is_none();
        let known = |i: u32| problem.pins.iter().find(|&&(item, _)| item == i).map(|&(_, place)| place);
        self.pinned.clear();
        self.pinned.extend((0..n as u32).filter(|&i| outside(i)).filter_map(|i| known(i).map(|place| (i, place))));
        let pinned = &self.pinned;
        self.leaves.clear();
        self.leaves.extend((0..n as u32).filter(|&i| outside(i) && !pinned.iter().any(|&(item, _)| item == i)));
        self.free.clear();
        self.free.extend((0..n as u32).filter(|&j| !pinned.iter().any(|&(_, place)| place == j)));
        self.constant = pinned.iter().map(|&(i, j)| problem.linear(i as usize, j as usize)).sum();
        self.design.clear();
        self.linear.clear();
        for &j in &self.free {
            let d = problem.design.row(j as usize);
            self.design.extend(self.free.iter().map(|&l| d[l as usize]));
            self.linear.extend(self.leaves.iter().map(|&i| problem.linear(i as usize, j as usize)));
        }
        self.g.clear();
        self.own.clear();
        self.inside.clear();
        for (c, &item) in links.core().iter().enumerate() {
            let row = links.row(c);
            self.g.extend(self.leaves.iter().map(|&i| row[i as usize]));
            self.inside.extend(links.core().iter().map(|&other| row[other as usize]));
            self.own.extend(self.free.iter().map(|&j| {
                let d = problem.design.row(j as usize);
                let pinned: f64 = pinned.iter().map(|&(i, place)| row[i as usize] * d[place as usize]).sum();
                problem.linear(item as usize, j as usize) + pinned
            }));
        }
    }

    pub(super) fn links(&self, c: usize) -> &[f64] {
        &self.g[c * self.leaves.len()..(c + 1) * self.leaves.len()]
    }

    /// What the core is worth on its own, with the constant.
    pub(super) fn of_core(&self, p: &Placement) -> f64 {
        (0..self.core).fold(self.constant, |sum, c| sum + self.added(p, c))
    }

    /// What core item `c` adds to those before it.
    pub(super) fn added(&self, p: &Placement, c: usize) -> f64 {
        let f = self.free.len();
        let pairs = (0..c).map(|d| self.inside[c * self.core + d] * self.design[p[c] * f + p[d]]);
        self.own[c * f + p[c]] + pairs.sum::<f64>()
    }

    /// The best order with the core at `p`, from prices that may be near; none where there is no order.
    ///
    /// An assignment of open places to leaves. Costs are lowered by the old prices of places, so that where these are
    /// near most places have their leaf at once. A place of the core gets the least price at which no leaf wants it.
    pub(super) fn solve(&mut self, p: &Placement, prices: &[f64]) -> Result<Option<Solved>> {
        let (n, f) = (self.leaves.len(), self.free.len());
        let core = &p[..self.core];
        let value = self.of_core(p);
        if value == f64::NEG_INFINITY {
            return Ok(None);
        }
        let mut costs = std::mem::take(&mut self.costs);
        self.open.clear();
        costs.clear();
        for j in (0..f).filter(|j| !core.contains(j)) {
            self.open.push(j);
            let from = costs.len();
            costs.extend(self.linear[j * n..(j + 1) * n].iter().map(|w| prices[j] - w));
            for (c, &q) in core.iter().enumerate() {
                let d = self.design[j * f + q];
                costs[from..].iter_mut().zip(self.links(c)).for_each(|(cost, g)| *cost -= g * d);
            }
        }
        let found = assignment::solve(&costs, n, n, &mut self.solver);
        self.costs = costs;
        let found = match found {
            Ok(found) => found,
            Err(Error::Infeasible { .. }) => return Ok(None),
            Err(other) => return Err(other),
        };
        let mut solved = Solved { value, prices: vec![0.0; f], place: vec![0; n] };
        for ((&j, v), leaf) in self.open.iter().zip(found.row_dual).zip(found.column_of) {
            solved.prices[j] = prices[j] - v;
            if let Some(leaf) = leaf {
                solved.place[*leaf as usize] = j;
            }
        }
        solved.value += self.open.iter().map(|&j| prices[j]).sum::<f64>() - found.cost;
        for &j in core {
            let mut most = f64::NEG_INFINITY;
            for (i, u) in found.column_dual.iter().enumerate() {
                let links: f64 = (0..self.core).map(|c| self.g[c * n + i] * self.design[j * f + p[c]]).sum();
                let w = self.linear[j * n + i] + links + u;
                most = if w > most { w } else { most };
            }
            solved.prices[j] = if most > f64::NEG_INFINITY { most } else { 0.0 };
        }
        Ok(Some(solved))
    }

    /// The best order as if links were `optimistic` (the most that they can add, whatever the other item does) or were not
    /// there: its value, and the place of each core item.
    pub(super) fn relaxed(&mut self, optimistic: bool) -> Result<Option<(f64, Placement)>> {
        let (n, f, core) = (self.leaves.len(), self.free.len(), self.core);
        let mut costs = std::mem::take(&mut self.costs);
        costs.clear();
        let most = |g: f64, d: &[f64]| d.iter().map(|d| g * d).fold(f64::NEG_INFINITY, f64::max);
        for j in 0..f {
            let d = &self.design[j * f..(j + 1) * f];
            let links = |i: usize| (0..core).map(|c| most(self.g[c * n + i], d)).sum::<f64>();
            let leaf = |i: usize| self.linear[j * n + i] + if optimistic { links(i) } else { 0.0 };
            let pairs = |c: usize| (0..c).map(|o| most(self.inside[c * core + o], d)).sum::<f64>();
            let own = |c: usize| self.own[c * f + j] + if optimistic { pairs(c) } else { 0.0 };
            costs.extend((0..n).map(|i| -leaf(i)));
            costs.extend((0..core).map(|c| -own(c)));
        }
        let found = assignment::solve(&costs, f, f, &mut self.solver);
        self.costs = costs;
        match found {
            Ok(found) => {
                let mut p = [0; MOST_CORE];
                for (j, column) in found.column_of.iter().enumerate() {
                    if let Some(c) = column.and_then(|column| (column as usize).checked_sub(n)) {
                        p[c] = j;
                    }
                }
                Ok(Some((self.constant - found.cost, p)))
            }
            Err(Error::Infeasible { .. }) => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// The class of each item.
    pub(super) fn read(&self, problem: &Problem, p: &Placement, place: &[usize], places: &mut Vec<u32>) {
        places.clear();
        places.resize(problem.items(), 0);
        self.pinned.iter().for_each(|&(i, j)| places[i as usize] = j);
        problem.links.core().iter().zip(p).for_each(|(&i, &j)| places[i as usize] = self.free[j]);
        self.leaves.iter().zip(place).for_each(|(&i, &j)| places[i as usize] = self.free[j]);
    }
}
