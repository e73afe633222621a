//! Weights of leaves at open places, `exp(a_ij(p) − u_i − v_j)`.

use super::fill::Fill;
use super::reduced::Reduced;
use super::walk::At;

/// Up to this size of all terms together, weights are products: nothing overflows on the way.
const TAME: f64 = 100.0;

/// Where scores are tame, `exp a_ij(p) = exp a_ij · Π_c exp(g_ci slope)`, and the slopes of a design are few: their factors
/// are found once per problem, not once per placement.
#[derive(Default)]
pub(super) struct Weights {
    tame: bool,
    /// `exp a_ij`, a row of leaves per free place.
    own: Vec<f64>,
    /// `exp(g_ci slope)` for every core item and every slope, rows of leaves.
    factors: Vec<f64>,
    /// The slopes that differ, and which of them it is, by class and free place.
    slopes: Vec<f64>,
    kinds: Vec<usize>,
    row: Vec<f64>,
}

impl Weights {
    /// Reads a problem; `slopes` are `D(j, l) − D(tail, l)` by class l and free place j.
    pub(super) fn set(&mut self, reduced: &Reduced, slopes: &[f64]) {
        let size = |of: &[f64]| of.iter().filter(|x| x.is_finite()).fold(0.0, |most: f64, x| most.max(x.abs()));
        let links: f64 = (0..reduced.core()).map(|c| size(reduced.links(c))).sum();
        self.tame = size(&reduced.rows) + links * size(slopes) <= TAME;
        if !self.tame {
            return;
        }
        self.slopes.clear();
        self.kinds.clear();
        for slope in slopes {
            let known = self.slopes.iter().position(|other| other.total_cmp(slope).is_eq());
            self.kinds.push(known.unwrap_or(self.slopes.len()));
            if known.is_none() {
                self.slopes.push(*slope);
            }
        }
        self.own.clear();
        self.own.extend(reduced.rows.iter().map(|a| a.exp()));
        self.factors.clear();
        for c in 0..reduced.core() {
            for slope in &self.slopes {
                self.factors.extend(reduced.links(c).iter().map(|g| (g * slope).exp()));
            }
        }
    }

    /// Whether weights are products of `own` and `factors`.
    pub(super) fn is_tame(&self) -> bool {
        self.tame
    }

    /// `exp a_ij`, a row of leaves per free place.
    pub(super) fn own(&self) -> &[f64] {
        &self.own
    }

    /// `exp(g_ci slope)`, rows of leaves: see [`Weights::kind`].
    pub(super) fn factors(&self) -> &[f64] {
        &self.factors
    }

    /// Which row of the factors is that of core item `c` at a class and a free place, by their place among the slopes.
    pub(super) fn kind(&self, c: usize, at: usize) -> usize {
        c * self.slopes.len() + self.kinds[at]
    }

    /// The weights of a placement, leaf by leaf, and those of staying in the tail.
    pub(super) fn fill(&mut self, reduced: &Reduced, at: &At, fill: &Fill, weights: &mut [f64], stay: &mut [f64]) {
        let (n, k) = (reduced.leaves.len(), at.open.len());
        stay.fill(1.0);
        fill.paid.iter().for_each(|&(i, u)| stay[i as usize] = (-u).exp());
        if self.tame && fill.price.iter().all(|v| v.abs() <= 4.0 * TAME) {
            for (j, (&slot, price)) in at.open.iter().zip(&fill.price).enumerate() {
                self.product(reduced, at.core, slot as usize, price);
                self.row.iter().enumerate().for_each(|(i, w)| weights[i * k + j] = *w);
            }
            for &(i, _) in &fill.paid {
                weights[i as usize * k..][..k].iter_mut().for_each(|w| *w *= stay[i as usize]);
            }
        } else {
            self.row.clear();
            self.row.resize(n, 0.0);
            fill.paid.iter().for_each(|&(i, u)| self.row[i as usize] = u);
            for (j, (row, price)) in at.rows.chunks_exact(n).zip(&fill.price).enumerate() {
                for (i, (a, lift)) in row.iter().zip(&self.row).enumerate() {
                    weights[i * k + j] = (a - lift - price).exp();
                }
            }
        }
        reduced.must.iter().for_each(|&i| stay[i as usize] = 0.0);
    }

    /// The row of one free place at a placement of the core, less its price.
    fn product(&mut self, reduced: &Reduced, core: &[u32], slot: usize, price: &f64) {
        let (n, f, kinds) = (reduced.leaves.len(), reduced.free.len(), self.slopes.len());
        let scale = (-price).exp();
        let own = &self.own[slot * n..(slot + 1) * n];
        let factor = |c: usize| {
            let kind = c * kinds + self.kinds[core[c] as usize * f + slot];
            &self.factors[kind * n..(kind + 1) * n]
        };
        self.row.clear();
        let mut from = 2;
        match core.len() {
            0 => self.row.extend(own.iter().map(|w| w * scale)),
            1 => self.row.extend(own.iter().zip(factor(0)).map(|(w, a)| w * scale * a)),
            _ => {
                let three = own.iter().zip(factor(0)).zip(factor(1));
                self.row.extend(three.map(|((w, a), b)| w * scale * (a * b)));
            }
        }
        while from < core.len() {
            self.row.iter_mut().zip(factor(from)).for_each(|(w, a)| *w *= a);
            from += 1;
        }
    }
}
