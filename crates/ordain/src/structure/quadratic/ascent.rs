//! The dual ascent of Hahn and Grant: a lower bound that grows round by round.
//!
//! Every number here is a whole multiple of one quantum, a power of two, small enough for all sums to be exact. So nothing is lost when costs move, and the
//! bound needs no allowance for rounding but that of the first step, where products are rounded down to the quantum.

use super::{Clock, Problem};
use crate::error::{Interrupt, Result};
use crate::structure::matching::assignment::{self, Work};

/// Up to so many items: n⁴ numbers are 50 MB then.
pub(super) const MOST: usize = 50;
/// Rounds at most.
const ROUNDS: usize = 100;
/// Two rounds that raise the bound by less than this share of it are the last.
const SLOW: f64 = 1e-4;
/// A value is at most 2^45 quanta. Costs above 2^46 are cut off there, which only lowers the bound, and prices at half of it, since any price is valid: a
/// sum over 50 of both is exact.
const CAP: f64 = (1u64 << 46) as f64;

/// For every p, f(p) is at least `bound + Σ_i leader[i, p(i)] + Σ_{i≠k} cost[i, p(i); k, p(k)]`, and but for what was rounded down or cut off it is
/// equal. Leaders and costs are at least 0 after the first sweep, and so f(p) is at least `bound`.
struct Ascent {
    n: usize,
    bound: f64,
    /// n × n.
    leader: Vec<f64>,
    /// Block (i, j) has the costs of all (k, l) beside it; those of k = i or l = j are not used.
    cost: Vec<f64>,
    /// One block without row i and column j.
    block: Vec<f64>,
    work: Work,
}

/// The bound. Time ends it between two blocks; before the end of the first sweep there is none then.
pub(super) fn hahn_grant(problem: &Problem, until: &Interrupt, clock: &Clock) -> Result<f64> {
    let n = problem.n;
    // a power of two, so that dividing by it is exact
    let size = problem.size.max(1e-280);
    let quantum = 2f64.powi(size.log2().ceil() as i32 - 45);
    let mut ascent = Ascent {
        n,
        bound: 0.0,
        leader: problem.linear.iter().map(|x| (x / quantum).floor()).collect(),
        cost: vec![0.0; n * n * n * n],
        block: vec![0.0; n.saturating_sub(1).pow(2)],
        work: Work::default(),
    };
    ascent.first_sweep(problem, quantum, until)?;
    let mut slow = 0;
    for round in 0..ROUNDS {
        let before = ascent.bound;
        let whole = clock.go_on(ascent.round(round % 2 == 1, until), false)?;
        ascent.collect()?;
        slow = if ascent.bound - before <= SLOW * ascent.bound.abs() { slow + 1 } else { 0 };
        if !whole || slow == 2 {
            break;
        }
    }
    // products may have been rounded up before they were rounded down
    Ok(problem.safe(ascent.bound * quantum, problem.slack()))
}

impl Ascent {
    /// All costs of pairs, made at least 0 by the prices of Gilmore and Lawler: a block is the product of a row of A and a row of B, so that
    /// sorting gives its prices.
    fn first_sweep(&mut self, problem: &Problem, quantum: f64, until: &Interrupt) -> Result<()> {
        let (n, m) = (self.n, self.n.saturating_sub(1));
        let order = |matrix: &[f64], i: usize| {
            let mut order: Vec<usize> = (0..n).filter(|&j| j != i).collect();
            order.sort_by(|&j, &l| matrix[i * n + j].total_cmp(&matrix[i * n + l]));
            order
        };
        let falling: Vec<Vec<usize>> = (0..n).map(|j| order(&problem.b, j).into_iter().rev().collect()).collect();
        let mut price = vec![0.0; n];
        for i in 0..n {
            let rising = order(&problem.a, i);
            let a = &problem.a[i * n..][..n];
            for j in 0..n {
                until.check()?;
                let b = &problem.b[j * n..][..n];
                let mut at = 0.0;
                for t in 0..m {
                    if t > 0 {
                        // anything from a of the one before to a of this one is a price; the middle leaves both something
                        let middle = 0.5 * (a[rising[t - 1]] + a[rising[t]]);
                        at += middle * (b[falling[j][t]] - b[falling[j][t - 1]]) / quantum;
                    }
                    price[falling[j][t]] = at.floor().clamp(-0.5 * CAP, 0.5 * CAP);
                }
                for (k, row) in self.block.chunks_exact_mut(m.max(1)).enumerate() {
                    let a = a[k + usize::from(k >= i)];
                    for (l, cost) in row.iter_mut().enumerate() {
                        *cost = (a * b[l + usize::from(l >= j)] / quantum).floor();
                    }
                }
                let prices: Vec<f64> = (0..n).filter(|&l| l != j).map(|l| price[l]).collect();
                self.settle(i, j, &prices);
            }
        }
        self.collect()
    }

    /// Takes from the block of (i, j) what its columns and rows cost, and puts the rest back.
    fn settle(&mut self, i: usize, j: usize, prices: &[f64]) {
        let (n, m) = (self.n, self.n.saturating_sub(1));
        let mut sum = prices.iter().fold(0.0, |sum, price| sum + price);
        for (k, row) in self.block.chunks_exact(m.max(1)).enumerate() {
            let least = row.iter().zip(prices).fold(f64::INFINITY, |least, (cost, price)| {
                let left = cost - price;
                if left < least { left } else { least }
            });
            sum += least;
            let to = &mut self.cost[((i * n + j) * n + k + usize::from(k >= i)) * n..][..n];
            let (before, after) = to.split_at_mut(j);
            let (left, right) = row.split_at(j);
            let (price_left, price_right) = prices.split_at(j);
            let rest = |cost: &f64, price: &f64| (cost - price - least).min(CAP);
            before.iter_mut().zip(left.iter().zip(price_left)).for_each(|(to, (cost, price))| *to = rest(cost, price));
            let after = after[1..].iter_mut().zip(right.iter().zip(price_right));
            after.for_each(|(to, (cost, price))| *to = rest(cost, price));
        }
        self.leader[i * n + j] = (self.leader[i * n + j] + sum).min(CAP);
    }

    /// Raises the bound by the best assignment of the leaders.
    fn collect(&mut self) -> Result<()> {
        let n = self.n;
        let prices = prices(&self.leader, n, &mut self.work)?;
        let mut sum = prices.iter().fold(0.0, |sum, price| sum + price);
        for row in self.leader.chunks_exact_mut(n.max(1)) {
            let least = row.iter().zip(&prices).fold(f64::INFINITY, |least, (cost, price)| least.min(cost - price));
            sum += least;
            row.iter_mut().zip(&prices).for_each(|(cost, price)| *cost = (*cost - price - least).min(CAP));
        }
        self.bound += sum;
        Ok(())
    }

    /// Each block gets its leader and the costs of the same pairs in other blocks, and gives its best assignment back to the leader.
    /// Whether all have been.
    fn round(&mut self, backward: bool, until: &Interrupt) -> Result<bool> {
        let (n, m) = (self.n, self.n.saturating_sub(1));
        if n < 2 {
            return Ok(true);
        }
        for (leader, block) in self.leader.iter_mut().zip(self.cost.chunks_exact_mut(n * n)) {
            let share = (*leader / m as f64).floor();
            *leader -= share * m as f64;
            block.iter_mut().for_each(|cost| *cost += share);
        }
        for step in 0..n * n {
            until.check()?;
            let at = if backward { n * n - 1 - step } else { step };
            let (i, j) = (at / n, at % n);
            for k in 0..m {
                let of = k + usize::from(k >= i);
                for l in 0..m {
                    let to = l + usize::from(l >= j);
                    let other = &mut self.cost[((of * n + to) * n + i) * n + j];
                    let twin = std::mem::replace(other, 0.0);
                    self.block[k * m + l] = (self.cost[((i * n + j) * n + of) * n + to] + twin).min(CAP);
                }
            }
            let prices = prices(&self.block, m, &mut self.work)?;
            self.settle(i, j, &prices);
        }
        Ok(true)
    }
}

/// The prices of columns in the best assignment.
fn prices(costs: &[f64], n: usize, work: &mut Work) -> Result<Vec<f64>> {
    let found = assignment::solve(costs, n, n, work)?;
    Ok(found.column_dual.iter().map(|price| price.clamp(-0.5 * CAP, 0.5 * CAP)).collect())
}
