//! Top-k lists: the sum over all of them by power sums, where nothing cancels.
//!
//! With weights `w_ij` of leaves at the open places of one placement of the core, the sum over all ways to fill the places
//! with different leaves is a sum over partitions of the places into blocks,
//!
//! ```text
//! Z[S] = Σ over blocks B ⊆ S with the first place of S   c_B P_B Z[S∖B],   Z[∅] = 1
//! P_B = Σ_i Π_{j in B} w_ij,   c_B = (−1)^(|B|−1) (|B|−1)!
//! weight of the lists with i at j = Σ_{B with j} c_B Z[all∖B] Π_{l in B} w_il
//! ```
//!
//! Leaves stand side by side in registers, and weights are products of factors that are found once per problem. Signs
//! alternate, so terms cancel where one leaf has most of the weight of two places. The sum of absolute terms `A` says by
//! how much: where `A > 64 Z` at any placement, there is no answer here, and the recursion over leaves is taken instead.

use super::Problem;
use super::reduced::{Choice, Reduced, TAIL};
use super::weights::Weights;
use crate::error::{Interrupt, Result};

const LANES: usize = 4;
type Lanes = [f64; LANES];

/// The most free places: blocks double with each, and exponents add up.
const MOST_PLACES: usize = 5;
/// Terms may be so many times larger than their sum. Rounding of `Z` and of probabilities is then below 1e-12.
const CANCEL: f64 = 64.0;
/// Placements below this share of what is summed already add nothing to a double.
const NOTHING: f64 = 1.0 / (1u64 << 60) as f64;

/// One level: the places that are open, their weights as rows of leaves, and the sums of all placements below.
#[derive(Default)]
struct Level {
    open: Vec<u32>,
    rows: Vec<Lanes>,
    /// The weight of lists with a leaf at a free place, a row of leaves per place, and of all lists.
    table: Vec<Lanes>,
    share: f64,
}

/// Buffers of power sums, and what was summed.
#[derive(Default)]
pub(super) struct Power {
    levels: Vec<Level>,
    /// `exp(g_ci slope)` for every core item and every slope, rows of leaves.
    factors: Vec<Lanes>,
    /// By core item: the weighted design against leaves in the head, a row of leaves; and what all leaves have in the tail.
    pairs: Vec<Lanes>,
    tails: Vec<f64>,
    /// Weights of core items at classes, and the weighted design inside the core.
    core: Vec<f64>,
    inside: Vec<f64>,
    at: Vec<u32>,
    blocks: usize,
    largest: f64,
    stop: Interrupt,
}

/// What power sums found: all but the weights of leaves, which [`Power::leaf`] and [`Power::pair`] give.
pub(super) struct Found<'a> {
    /// The weight of all lists, over `exp` of `scale`.
    pub(super) share: f64,
    pub(super) scale: f64,
    pub(super) core: &'a [f64],
    pub(super) inside: &'a [f64],
}

/// The parts of a problem that every placement needs.
struct View<'a> {
    problem: &'a Problem<'a>,
    reduced: &'a Reduced,
    weights: &'a Weights,
    /// `D(j, l) − D(tail, l)` by class l and free place j.
    slopes: &'a [f64],
}

impl View<'_> {
    /// The links of core item `depth` at `class` to those placed before it.
    fn pairs(&self, at: &[u32], depth: usize, class: u32) -> f64 {
        let (d, c) = (self.problem.design.row(class as usize), self.reduced.core());
        (0..depth).map(|other| self.reduced.inside[depth * c + other] * d[at[other] as usize]).sum()
    }

    /// The largest worth of the core, over all placements.
    fn largest(&self, at: &mut Vec<u32>, taken: u32, value: f64) -> f64 {
        let depth = at.len();
        if depth == self.reduced.core() {
            return value;
        }
        let mut most = f64::NEG_INFINITY;
        for choice in self.reduced.of_core(depth) {
            let bit = if choice.slot == TAIL { 0 } else { 1 << choice.slot };
            if taken & bit == 0 {
                let own = choice.value + self.pairs(at, depth, choice.class);
                at.push(choice.class);
                most = most.max(self.largest(at, taken | bit, value + own));
                at.pop();
            }
        }
        most
    }
}

#[inline(always)]
fn plus(a: Lanes, b: Lanes) -> Lanes {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]]
}

#[inline(always)]
fn times(a: Lanes, b: Lanes) -> Lanes {
    [a[0] * b[0], a[1] * b[1], a[2] * b[2], a[3] * b[3]]
}

/// All products of the weights of one block of leaves, by set of places.
#[inline(always)]
fn products<const K: usize, const S: usize>(w: [Lanes; K]) -> [Lanes; S] {
    let mut of = [[1.0; LANES]; S];
    for (j, w) in w.into_iter().enumerate() {
        let bit = 1 << j;
        of[bit] = w;
        for set in 1..bit {
            of[bit | set] = times(of[set], w);
        }
    }
    of
}

/// `P_B` of all sets of places.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // leaf i of all rows at once
fn power_sums<const K: usize, const S: usize>(rows: &[Lanes], blocks: usize) -> [f64; S] {
    let rows: [&[Lanes]; K] = std::array::from_fn(|j| &rows[j * blocks..(j + 1) * blocks]);
    let mut sums = [[0.0; LANES]; S];
    for i in 0..blocks {
        let products: [Lanes; S] = products(std::array::from_fn::<_, K, _>(|j| rows[j][i]));
        for set in 1..S {
            sums[set] = plus(sums[set], products[set]);
        }
    }
    sums.map(|of| (of[0] + of[1]) + (of[2] + of[3]))
}

/// `Z[S]` of all sets of places, and whether nothing cancels. `None` where no leaf may stand at some place.
fn partitions<const S: usize>(sums: &[f64; S]) -> Option<([f64; S], bool)> {
    const SIGNED: [f64; MOST_PLACES + 1] = [0.0, 1.0, -1.0, 2.0, -6.0, 24.0];
    let (mut z, mut all) = ([0.0; S], [0.0; S]);
    (z[0], all[0]) = (1.0, 1.0);
    for set in 1..S {
        let first = set & set.wrapping_neg();
        let rest = set & !first;
        let mut block = rest;
        loop {
            let term = SIGNED[block.count_ones() as usize + 1] * sums[block | first];
            z[set] += term * z[rest & !block];
            all[set] += term.abs() * all[rest & !block];
            if block == 0 {
                break;
            }
            block = (block - 1) & rest;
        }
    }
    (all[S - 1] > 0.0).then(|| (z, z.iter().zip(&all).all(|(z, all)| *all <= CANCEL * z)))
}

/// Where the weights of leaves at places go: the table of the level and the pairs of its core item.
struct Into<'a> {
    table: &'a mut [Lanes],
    pairs: &'a mut [Lanes],
    open: &'a [u32],
    slopes: &'a [f64],
}

/// Adds the weights of all leaves at the open places, `by` times.
#[inline(always)]
fn spread<const K: usize, const S: usize>(rows: &[Lanes], blocks: usize, z: &[f64; S], by: f64, into: Into) {
    const SIGNED: [f64; MOST_PLACES + 1] = [0.0, 1.0, -1.0, 2.0, -6.0, 24.0];
    let rows: [&[Lanes]; K] = std::array::from_fn(|j| &rows[j * blocks..(j + 1) * blocks]);
    let q: [f64; S] = std::array::from_fn(|set| SIGNED[set.count_ones() as usize] * z[S - 1 - set] * by);
    let slopes: [f64; K] = std::array::from_fn(|j| into.slopes[into.open[j] as usize]);
    let ranges: [_; K] = std::array::from_fn(|j| into.open[j] as usize * blocks..(into.open[j] as usize + 1) * blocks);
    let Ok(tables) = into.table.get_disjoint_mut(ranges) else { return };
    let pairs = &mut into.pairs[..blocks];
    for i in 0..blocks {
        let mut terms: [Lanes; S] = products(std::array::from_fn::<_, K, _>(|j| rows[j][i]));
        for set in 1..S {
            terms[set] = times(terms[set], [q[set]; LANES]);
        }
        let mut pair = pairs[i];
        for j in 0..K {
            let mut at = [0.0; LANES];
            for rest in 0..S / 2 {
                let set = (rest >> j) << (j + 1) | 1 << j | (rest & ((1 << j) - 1));
                at = plus(at, terms[set]);
            }
            tables[j][i] = plus(tables[j][i], at);
            pair = plus(pair, times(at, [slopes[j]; LANES]));
        }
        pairs[i] = pair;
    }
}

/// The sum over the lists of one placement, spread over leaves and places; `None` where terms cancel.
#[inline(always)]
fn lists<const K: usize, const S: usize>(
    rows: &[Lanes],
    blocks: usize,
    share: f64,
    least: f64,
    into: Into,
) -> Option<f64> {
    let Some((z, fine)) = partitions(&power_sums::<K, S>(rows, blocks)) else { return Some(0.0) };
    if !fine {
        return None;
    }
    let weight = share * z[S - 1];
    if weight > least {
        spread::<K, S>(rows, blocks, &z, share, into);
    }
    Some(weight)
}

/// [`lists`] for any number of places up to [`MOST_PLACES`].
#[inline(always)]
fn any_lists(k: usize, rows: &[Lanes], blocks: usize, share: f64, least: f64, into: Into) -> Option<f64> {
    match k {
        0 => Some(share),
        1 => lists::<1, 2>(rows, blocks, share, least, into),
        2 => lists::<2, 4>(rows, blocks, share, least, into),
        3 => lists::<3, 8>(rows, blocks, share, least, into),
        4 => lists::<4, 16>(rows, blocks, share, least, into),
        _ => lists::<5, 32>(rows, blocks, share, least, into),
    }
}

impl Power {
    pub(super) fn stopped_by(&mut self, stop: Interrupt) {
        self.stop = stop;
    }

    /// Sums over all lists; `None` where this way is not for the problem, or where terms cancel.
    pub(super) fn sum(
        &mut self,
        problem: &Problem,
        reduced: &Reduced,
        weights: &Weights,
        slopes: &[f64],
    ) -> Result<Option<Found<'_>>> {
        let few = (1..=MOST_PLACES).contains(&reduced.free.len()) && reduced.leaves.len() >= reduced.free.len();
        if !few || reduced.core() == 0 || !reduced.must.is_empty() || !weights.is_tame() {
            return Ok(None);
        }
        let view = View { problem, reduced, weights, slopes };
        self.start(&view);
        if !self.run(&view)? {
            return Ok(None);
        }
        let share = self.levels[0].share;
        let Self { core, inside, largest, .. } = self;
        Ok((share > 0.0).then_some(Found { share, scale: *largest, core, inside }))
    }

    /// The weight of a leaf at a free place.
    pub(super) fn leaf(&self, leaf: usize, slot: usize) -> f64 {
        let weight = self.levels[0].table[slot * self.blocks + leaf / LANES][leaf % LANES];
        if weight > 0.0 { weight } else { 0.0 }
    }

    /// The weighted design of a core item with a leaf.
    pub(super) fn pair(&self, c: usize, leaf: usize) -> f64 {
        self.tails[c] + self.pairs[c * self.blocks + leaf / LANES][leaf % LANES]
    }

    fn start(&mut self, view: &View) {
        let View { problem, reduced, weights, .. } = view;
        let (n, f, core) = (reduced.leaves.len(), reduced.free.len(), reduced.core());
        self.blocks = n.div_ceil(LANES);
        if self.levels.len() <= core {
            self.levels.resize_with(core + 1, Level::default);
        }
        for level in &mut self.levels[..core] {
            level.table.clear();
            level.table.resize(f * self.blocks, [0.0; LANES]);
            level.share = 0.0;
        }
        let first = &mut self.levels[0];
        first.open.clear();
        first.open.extend(0..f as u32);
        for (to, from) in [(&mut first.rows, weights.own()), (&mut self.factors, weights.factors())] {
            to.clear();
            for row in from.chunks_exact(n) {
                let (whole, rest) = row.as_chunks::<LANES>();
                to.extend_from_slice(whole);
                if !rest.is_empty() {
                    to.push(std::array::from_fn(|lane| rest.get(lane).copied().unwrap_or(0.0)));
                }
            }
        }
        self.pairs.clear();
        self.pairs.resize(core * self.blocks, [0.0; LANES]);
        for (buffer, len) in
            [(&mut self.tails, core), (&mut self.core, core * problem.classes()), (&mut self.inside, core * core)]
        {
            buffer.clear();
            buffer.resize(len, 0.0);
        }
        self.at.clear();
        self.largest = view.largest(&mut self.at, 0, reduced.constant);
    }

    /// The walk, in wider registers where the machine has them: the same operations, the same bits.
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code)] // the one call of code for a newer processor, after a look at the processor
    fn run(&mut self, view: &View) -> Result<bool> {
        #[target_feature(enable = "avx2")]
        fn avx2(power: &mut Power, view: &View) -> Result<bool> {
            power.walk(view)
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            return unsafe { avx2(self, view) };
        }
        self.walk(view)
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn run(&mut self, view: &View) -> Result<bool> {
        self.walk(view)
    }

    /// Visits all placements, depth first without recursion: `next` is the choice of each core item that is tried next.
    #[inline(always)]
    fn walk(&mut self, view: &View) -> Result<bool> {
        let (core, largest) = (view.reduced.core(), self.largest);
        let mut next = [0usize; super::MOST_CORE];
        let mut values = [view.reduced.constant; super::MOST_CORE];
        let mut depth = 0;
        loop {
            let Some(&choice) = view.reduced.of_core(depth).get(next[depth]) else {
                if depth == 0 {
                    return Ok(true);
                }
                depth -= 1;
                self.leave(view, depth);
                continue;
            };
            next[depth] += 1;
            if choice.slot != TAIL && !self.levels[depth].open.contains(&choice.slot) {
                continue;
            }
            self.at.truncate(depth);
            let value = values[depth] + choice.value + view.pairs(&self.at, depth, choice.class);
            self.at.push(choice.class);
            if depth + 1 < core {
                self.multiply(view, depth, choice);
                depth += 1;
                (values[depth], next[depth]) = (value, 0);
                continue;
            }
            self.stop.check()?;
            if !self.visit(view, depth, choice, (value - largest).exp()) {
                return Ok(false);
            }
        }
    }

    /// Opens the next level: core item `depth` stands at its choice.
    #[inline(always)]
    fn multiply(&mut self, view: &View, depth: usize, choice: Choice) {
        let (blocks, f) = (self.blocks, view.reduced.free.len());
        let (before, after) = self.levels.split_at_mut(depth + 1);
        let (Level { open, rows, .. }, level) = (&before[depth], &mut after[0]);
        level.open.clear();
        level.rows.resize(f * blocks, [0.0; LANES]);
        for (row, &slot) in rows.chunks_exact(blocks).zip(open).filter(|&(_, &slot)| slot != choice.slot) {
            let kind = view.weights.kind(depth, choice.class as usize * f + slot as usize);
            let factor = &self.factors[kind * blocks..(kind + 1) * blocks];
            let to = level.open.len() * blocks;
            for ((out, w), by) in level.rows[to..to + blocks].iter_mut().zip(row).zip(factor) {
                *out = times(*w, *by);
            }
            level.open.push(slot);
        }
    }

    /// One placement: the last core item stands at its choice. Whether nothing cancelled.
    #[inline(always)]
    fn visit(&mut self, view: &View, depth: usize, choice: Choice, share: f64) -> bool {
        self.multiply(view, depth, choice);
        let (blocks, class) = (self.blocks, choice.class as usize);
        let (f, classes, core) = (view.reduced.free.len(), view.problem.classes(), view.reduced.core());
        let (before, after) = self.levels.split_at_mut(depth + 1);
        let (Level { table, share: sum, .. }, Level { open, rows, .. }) = (&mut before[depth], &after[0]);
        let slopes = &view.slopes[class * f..(class + 1) * f];
        let pairs = &mut self.pairs[depth * blocks..(depth + 1) * blocks];
        let least = NOTHING * *sum;
        let into = Into { table, pairs, open, slopes };
        let Some(weight) = any_lists(open.len(), rows, blocks, share, least, into) else { return false };
        *sum += weight;
        self.tails[depth] += weight * view.problem.design.row(class)[view.problem.head()];
        for (c, &class) in self.at.iter().enumerate() {
            self.core[c * classes + class as usize] += weight;
            let d = view.problem.design.row(class as usize);
            for (other, &place) in self.at[..c].iter().enumerate() {
                self.inside[c * core + other] += weight * d[place as usize];
            }
        }
        true
    }

    /// All placements with core item `depth` where it stands were visited: their sums go one level up.
    #[inline(always)]
    fn leave(&mut self, view: &View, depth: usize) {
        let (blocks, f) = (self.blocks, view.reduced.free.len());
        let class = self.at[depth] as usize;
        let (before, after) = self.levels.split_at_mut(depth + 1);
        let (to, from) = (&mut before[depth], &mut after[0]);
        let share = std::mem::take(&mut from.share);
        to.share += share;
        self.tails[depth] += share * view.problem.design.row(class)[view.problem.head()];
        let pairs = &mut self.pairs[depth * blocks..(depth + 1) * blocks];
        for slot in 0..f {
            let slope = view.slopes[class * f + slot];
            let rows = slot * blocks..(slot + 1) * blocks;
            for ((to, from), pair) in to.table[rows.clone()].iter_mut().zip(&mut from.table[rows]).zip(&mut *pairs) {
                *to = plus(*to, *from);
                *pair = plus(*pair, times(*from, [slope; LANES]));
                *from = [0.0; LANES];
            }
        }
    }
}
