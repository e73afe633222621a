//! Upper bounds of placements by weak duality, for all placements of a box.
//!
//! At any prices `v` of places
//!
//! ```text
//! B(p; v) = core(p) + Σ_{j not in p} v_j + Σ_i max_{j not in p} [ w_i(j; p) − v_j ]  ≥  the best order with the core at p
//! ```
//!
//! with equality at the prices of its own assignment.

use super::square::{Placement, Square};
use crate::structure::ranking::MOST_CORE;

/// Core item `c` stands at one of the free places `low[c]..=high[c]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Region {
    pub(super) low: Placement,
    pub(super) high: Placement,
}

impl Region {
    /// The number of placements, those with two items at one place included.
    pub(super) fn volume(&self, core: usize) -> f64 {
        (0..core).map(|c| (self.high[c] - self.low[c] + 1) as f64).product()
    }
}

/// Prices of places. They may follow the core: `v_j(p) = fixed_j + Σ_c follow_c(j − p_c)`.
pub(super) struct Prices<'a> {
    pub(super) fixed: &'a [f64],
    /// Empty, or per core item a number for each difference of places, from −(N − 1) on.
    pub(super) follow: &'a [f64],
}

impl Prices<'_> {
    fn moving(&self, square: &Square, c: usize, j: usize, q: usize) -> f64 {
        if self.follow.is_empty() {
            return 0.0;
        }
        let width = self.follow.len() / square.core();
        self.follow[c * width + width / 2 + square.free[j] as usize - square.free[q] as usize]
    }

    /// The prices at a placement.
    pub(super) fn at(&self, square: &Square, p: &Placement, out: &mut Vec<f64>) {
        out.clear();
        out.extend_from_slice(self.fixed);
        if !self.follow.is_empty() {
            for (c, &q) in p[..square.core()].iter().enumerate() {
                out.iter_mut().enumerate().for_each(|(j, v)| *v += self.moving(square, c, j, q));
            }
        }
    }
}

/// Buffers of the passes.
#[derive(Default)]
pub(super) struct Bounds {
    /// By the set of core items on the left: `linear_ij − v_j + x_j (Σ left g − Σ right g)`, a row of leaves per place.
    lines: Vec<f64>,
    /// The largest with the whole core on the left, of all places behind.
    behind: Vec<f64>,
    links: Vec<f64>,
    levels: Vec<Level>,
    row: Vec<f64>,
    most: Vec<f64>,
    prices: Vec<f64>,
}

#[derive(Default)]
struct Level {
    /// Of places left of the last core item: the largest value so far; between it and the next one; and `Σ g x`.
    best: Vec<f64>,
    between: Vec<f64>,
    moved: Vec<f64>,
    /// Any design: values of leaves at places.
    table: Vec<f64>,
    /// The sum of prices that follow the core.
    follow: f64,
}

#[inline(always)]
fn greater(a: f64, b: f64) -> f64 {
    if b > a { b } else { a }
}

const LANES: usize = 8;

/// The innermost step with `g x` of the last core item: the sum over leaves of the largest value; `between` takes in `here`.
#[inline(always)]
fn close(best: &[f64], between: &mut [f64], moved: &[f64], g: &[f64], x: f64, behind: &[f64], here: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let (best, moved, g) = (best.as_chunks::<LANES>(), moved.as_chunks::<LANES>(), g.as_chunks::<LANES>());
    let (behind, here) = (behind.as_chunks::<LANES>(), here.as_chunks::<LANES>());
    let (blocks, rest) = between.as_chunks_mut::<LANES>();
    for (b, between) in blocks.iter_mut().enumerate() {
        let (best, moved, g, behind, here) = (&best.0[b], &moved.0[b], &g.0[b], &behind.0[b], &here.0[b]);
        for l in 0..LANES {
            let by = g[l] * x;
            let left = greater(best[l], between[l] - moved[l]) + by;
            sums[l] += greater(left, behind[l] - (moved[l] + by));
            between[l] = greater(between[l], here[l]);
        }
    }
    let mut sum = 0.0;
    for (l, between) in rest.iter_mut().enumerate() {
        let by = g.1[l] * x;
        let left = greater(best.1[l], *between - moved.1[l]) + by;
        sum += greater(left, behind.1[l] - (moved.1[l] + by));
        *between = greater(*between, here.1[l]);
    }
    sums.iter().sum::<f64>() + sum
}

/// `most = max(most, row + by·g − less)`.
#[inline(always)]
fn raise(most: &mut [f64], row: &[f64], g: &[f64], by: f64, less: f64) {
    for ((most, w), g) in most.iter_mut().zip(row).zip(g) {
        *most = greater(*most, w + by * g - less);
    }
}

impl Bounds {
    /// Calls `visit` with every placement of the region and its bound, −∞ where it allows no order.
    pub(super) fn pass(
        &mut self,
        square: &Square,
        region: &Region,
        prices: &Prices,
        distance: bool,
        visit: &mut dyn FnMut(&Placement, f64),
    ) {
        if self.levels.len() < square.core() + 1 {
            self.levels.resize_with(square.core() + 1, Level::default);
        }
        let (n, f) = (square.leaves.len(), square.free.len());
        let total = square.constant + prices.fixed.iter().sum::<f64>();
        let mut p = [0; MOST_CORE];
        if distance {
            self.draw_lines(square, prices.fixed);
            let first = &mut self.levels[0];
            first.best.clear();
            first.best.resize(n, f64::NEG_INFINITY);
            first.moved.clear();
            first.moved.resize(n, 0.0);
            self.sorted(square, region, prices.fixed, 0, (0, 0), total, &mut p, visit);
        } else {
            let first = &mut self.levels[0];
            first.table.clear();
            first.follow = 0.0;
            for j in 0..f {
                first.table.extend(square.linear[j * n..(j + 1) * n].iter().map(|w| w - prices.fixed[j]));
            }
            self.any(square, region, prices, 0, total, &mut p, visit);
        }
    }

    /// The lines of all sets of core items, for `D = step |k − l|`.
    fn draw_lines(&mut self, square: &Square, prices: &[f64]) {
        let (n, f, core) = (square.leaves.len(), square.free.len(), square.core());
        // the step of the design is that of any two places
        let x = |j: usize| f64::from(square.free[j]);
        let step = if f > 1 { square.design[1] / (x(1) - x(0)) } else { 0.0 };
        self.links.clear();
        self.links.extend(square.g.iter().map(|g| g * step));
        self.lines.clear();
        self.row.resize(n, 0.0);
        for left in 0..1usize << core {
            self.row.fill(0.0);
            for (c, g) in self.links.chunks_exact(n.max(1)).enumerate().take(core) {
                let sign = if left >> c & 1 == 1 { 1.0 } else { -1.0 };
                self.row.iter_mut().zip(g).for_each(|(slope, g)| *slope += sign * g);
            }
            for (j, &v) in prices.iter().enumerate() {
                let x = x(j);
                let linear = &square.linear[j * n..(j + 1) * n];
                self.lines.extend(linear.iter().zip(&self.row).map(|(w, slope)| w - v + slope * x));
            }
        }
        self.behind.clear();
        self.behind.resize(f * n, f64::NEG_INFINITY);
        let all = &self.lines[((1 << core) - 1) * f * n..];
        for j in (1..f).rev() {
            let (to, from) = self.behind.split_at_mut(j * n);
            let to = &mut to[(j - 1) * n..];
            to.iter_mut().zip(&from[..n]).zip(&all[j * n..]).for_each(|((to, a), b)| *to = greater(*a, *b));
        }
    }

    /// Core items from left to right: the next one stands at a place from `from` on, those of `left` stand before it.
    #[allow(clippy::too_many_arguments)]
    fn sorted(
        &mut self,
        square: &Square,
        region: &Region,
        prices: &[f64],
        depth: usize,
        (from, left): (usize, usize),
        value: f64,
        p: &mut Placement,
        visit: &mut dyn FnMut(&Placement, f64),
    ) {
        let (n, f, core) = (square.leaves.len(), square.free.len(), square.core());
        let mut between = std::mem::take(&mut self.levels[depth].between);
        for c in (0..core).filter(|c| left >> c & 1 == 0) {
            between.clear();
            between.resize(n, f64::NEG_INFINITY);
            let g = c * n..(c + 1) * n;
            for q in from..=region.high[c] {
                let x = f64::from(square.free[q]);
                let here = (left * f + q) * n;
                if q < region.low[c] {
                    let here = &self.lines[here..here + n];
                    between.iter_mut().zip(here).for_each(|(most, w)| *most = greater(*most, *w));
                    continue;
                }
                p[c] = q;
                let value = value - prices[q] + self.added(square, p, c, left);
                if depth + 1 == core {
                    let Level { best, moved, .. } = &self.levels[depth];
                    let behind = &self.behind[q * n..(q + 1) * n];
                    let here = &self.lines[here..here + n];
                    visit(p, value + close(best, &mut between, moved, &self.links[g.clone()], x, behind, here));
                    continue;
                }
                let (before, after) = self.levels.split_at_mut(depth + 1);
                let (Level { best, moved, .. }, next) = (&before[depth], &mut after[0]);
                next.best.clear();
                next.moved.clear();
                for (((best, moved), g), between) in best.iter().zip(moved).zip(&self.links[g.clone()]).zip(&between) {
                    next.best.push(greater(*best, between - moved) + g * x);
                    next.moved.push(moved + g * x);
                }
                self.sorted(square, region, prices, depth + 1, (q + 1, left | 1 << c), value, p, visit);
                let here = &self.lines[here..here + n];
                between.iter_mut().zip(here).for_each(|(most, w)| *most = greater(*most, *w));
            }
        }
        self.levels[depth].between = between;
    }

    /// What core item `c` adds to those of `left`.
    fn added(&self, square: &Square, p: &Placement, c: usize, left: usize) -> f64 {
        let (f, core) = (square.free.len(), square.core());
        let pairs = (0..core)
            .filter(|d| left >> d & 1 == 1)
            .map(|d| square.inside[c * core + d] * square.design[p[c] * f + p[d]]);
        square.own[c * f + p[c]] + pairs.sum::<f64>()
    }

    /// Core items in their own order, for any design: each adds its links to the whole table.
    #[allow(clippy::too_many_arguments)]
    fn any(
        &mut self,
        square: &Square,
        region: &Region,
        prices: &Prices,
        c: usize,
        value: f64,
        p: &mut Placement,
        visit: &mut dyn FnMut(&Placement, f64),
    ) {
        let (n, f) = (square.leaves.len(), square.free.len());
        let last = c + 1 == square.core();
        for q in region.low[c]..=region.high[c] {
            if p[..c].contains(&q) {
                continue;
            }
            p[c] = q;
            let (before, after) = self.levels.split_at_mut(c + 1);
            let (Level { table, follow, .. }, next) = (&before[c], &mut after[0]);
            let (d, g) = (&square.design[q * f..(q + 1) * f], square.links(c));
            let added = value + square.added(p, c);
            next.follow = *follow;
            next.table.clear();
            self.most.clear();
            self.most.resize(n, f64::NEG_INFINITY);
            for j in 0..f {
                let less = prices.moving(square, c, j, q);
                next.follow += less;
                let row = &table[j * n..(j + 1) * n];
                if !last {
                    next.table.extend(row.iter().zip(g).map(|(w, g)| w + d[j] * g - less));
                } else if !p[..=c].contains(&j) {
                    raise(&mut self.most, row, g, d[j], less);
                }
            }
            if last {
                let taken: f64 = p[..=c].iter().map(|&j| self.price(square, prices, p, j)).sum();
                let follow = self.levels[c + 1].follow;
                visit(p, added + follow - taken + self.most.iter().sum::<f64>());
            } else {
                self.any(square, region, prices, c + 1, added, p, visit);
            }
        }
    }

    fn price(&self, square: &Square, prices: &Prices, p: &Placement, j: usize) -> f64 {
        prices.fixed[j] + (0..square.core()).map(|c| prices.moving(square, c, j, p[c])).sum::<f64>()
    }

    /// The bound of one placement.
    pub(super) fn one(&mut self, square: &Square, p: &Placement, prices: &Prices) -> f64 {
        let (n, f, core) = (square.leaves.len(), square.free.len(), square.core());
        let mut at = std::mem::take(&mut self.prices);
        prices.at(square, p, &mut at);
        self.most.clear();
        self.most.resize(n, f64::NEG_INFINITY);
        self.row.resize(n, 0.0);
        let mut sum = square.of_core(p);
        for j in (0..f).filter(|j| !p[..core].contains(j)) {
            sum += at[j];
            let row = &square.linear[j * n..(j + 1) * n];
            let d = |c: usize| square.design[j * f + p[c]];
            match core {
                1 => raise(&mut self.most, row, square.links(0), d(0), at[j]),
                2 => raise_two(&mut self.most, row, [square.links(0), square.links(1)], [d(0), d(1)], at[j]),
                _ => {
                    let (first, links) = ([d(0), d(1)], [square.links(0), square.links(1)]);
                    for (i, to) in self.row.iter_mut().enumerate() {
                        *to = row[i] + first[0] * links[0][i] + first[1] * links[1][i];
                    }
                    for c in 2..core - 1 {
                        self.row.iter_mut().zip(square.links(c)).for_each(|(to, g)| *to += d(c) * g);
                    }
                    raise(&mut self.most, &self.row, square.links(core - 1), d(core - 1), at[j]);
                }
            }
        }
        self.prices = at;
        sum + self.most.iter().sum::<f64>()
    }
}

/// [`raise`] with two links.
#[inline(always)]
fn raise_two(most: &mut [f64], row: &[f64], g: [&[f64]; 2], by: [f64; 2], less: f64) {
    for (((most, w), a), b) in most.iter_mut().zip(row).zip(g[0]).zip(g[1]) {
        *most = greater(*most, w + by[0] * a + by[1] * b - less);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::structure::ranking::{Design, Links, Problem};

    /// Every way to the bounds gives the same, none below the best order, and its own prices give that order.
    #[test]
    fn bounds_are_bounds() {
        let (mut random, mut square, mut bounds) = (Random::new(2), Square::default(), Bounds::default());
        for round in 0..60 {
            let (n, core, distance) = (4 + random.below(4), 1 + random.below(3), round % 2 == 0);
            let mut normal = |len: usize| (0..len).map(|_| random.normal()).collect::<Vec<f64>>();
            let (scores, discounts, by) = (normal(n), normal(n), normal(n));
            let (g, mut extra, fixed) = (normal(core * n), normal(n * n), normal(n));
            let follow = if distance { vec![] } else { normal(core * (2 * n - 1)) };
            extra[round % (n * n)] = f64::NEG_INFINITY;
            let table = (0..n * n).map(|at| by[(at / n).abs_diff(at % n)]).collect();
            let design = if distance { Design::distance(n) } else { Design::matrix(n, table).unwrap() };
            let links = Links::new(n, &(0..core as u32).collect::<Vec<u32>>(), &g).unwrap();
            let pins = [(n as u32 - 1, round as u32 % n as u32)];
            let pins = if round % 3 == 0 && core < n - 1 { &pins[..] } else { &[] };
            let problem =
                Problem { scores: &scores, discounts: &discounts, design: &design, links: &links, extra: &extra, pins };
            square.set(&problem);
            let f = square.free.len();
            let follow = &follow[..if f == n { follow.len() } else { 0 }];
            let prices = Prices { fixed: &fixed[..f], follow };
            let region = Region { low: [0; MOST_CORE], high: [f - 1; MOST_CORE] };
            let mut all = vec![];
            bounds.pass(&square, &region, &prices, false, &mut |p, bound| all.push((*p, bound)));
            assert_eq!(all.len(), (f - core + 1..=f).product::<usize>());
            if distance {
                let mut other = vec![];
                bounds.pass(&square, &region, &prices, true, &mut |p, bound| other.push((*p, bound)));
                other.sort_by_key(|x| x.0);
                assert!(other.len() == all.len());
                assert!(all.iter().zip(&other).all(|(a, b)| a.0 == b.0 && same(a.1, b.1)));
            }
            for (p, bound) in all {
                assert!(same(bound, bounds.one(&square, &p, &prices)));
                let mut at = vec![];
                prices.at(&square, &p, &mut at);
                let Some(solved) = square.solve(&p, &at).unwrap() else { continue };
                assert!(bound >= solved.value - 1e-9);
                let own = Prices { fixed: &solved.prices, follow: &[] };
                assert!(same(bounds.one(&square, &p, &own), solved.value));
            }
        }
    }

    fn same(a: f64, b: f64) -> bool {
        a.total_cmp(&b).is_eq() || (a - b).abs() <= 1e-9
    }
}
