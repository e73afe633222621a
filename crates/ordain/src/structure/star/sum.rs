//! The sum over all sets of `k` labels of a star, exactly: log-partition function and marginals.
//!
//! For each configuration of the core the other labels are independent but for their number, so that the sum over them is
//! an elementary symmetric polynomial. Configurations stand side by side in the lanes of one table.

use crate::error::{Error, Interrupt, Result};
use crate::structure::star::{Clamp, MOST_SUM, Star, Subsets};
use std::borrow::Cow;

/// Configurations that are done side by side.
const LANES: usize = 8;
/// Fewer labels than this are multiplied out one by one.
const FEW: usize = 64;
/// Labels with odds of at most the first number enter a polynomial by their first power sums, so many of them.
///
/// What is left out of the logarithm of a sum is at most `odds^(terms + 1)` for each label: 1e-13 and 3e-14 for these.
const RARE: [(f64, usize); 2] = [(0.05, 9), (0.002, 4)];
/// How far below these bounds odds have to be by the estimate that sorts labels; the bounds themselves are checked.
const MARGIN: f64 = 0.7;
/// Links up to this size have exponentials whose products stay far inside the range of a double.
const TAME: f64 = 30.0;

/// A star, ready to be summed over: exponentials of its links are made once for all items.
///
/// ```
/// use ordain::structure::{star::{Star, Subsets, sum::{StarSum, SumWork}}};
/// let star = Star::new(3, &[0], &[0.0, 2.0, 0.0])?; // label 0 likes label 1
/// let sum = StarSum::new(&star)?;
/// let mut p = [0.0; 3];
/// let log_z = sum.log_sum(&[1.0, 0.0, 0.5], &Subsets { k: 2, clamp: &[] }, &mut SumWork::default(), &mut p, None)?;
/// let z = 3f64.exp() + 1.5f64.exp() + 0.5f64.exp(); // {0, 1}, {0, 2}, {1, 2}
/// assert!((log_z - z.ln()).abs() < 1e-12 && (p[1] - (3f64.exp() + 0.5f64.exp()) / z).abs() < 1e-12);
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct StarSum<'a> {
    star: Cow<'a, Star>,
    /// `exp` of the links, row by row.
    factors: Vec<f64>,
    tame: bool,
    in_core: Vec<bool>,
}

/// Scratch of [`StarSum::log_sum`], one per thread.
#[derive(Clone, Debug, Default)]
pub struct SumWork {
    /// Labels outside the core that are free.
    free: Vec<u32>,
    /// Labels outside the core that are in every set.
    inside: Vec<u32>,
    /// Places in the core of the labels that are free, and of those that are in.
    open: Vec<usize>,
    fixed: Vec<usize>,
    base: Vec<f64>,
    high: Vec<f64>,
    x: Vec<f64>,
    /// Places among the free labels: those that are multiplied out, and those of each kind of [`RARE`].
    often: Vec<u32>,
    rare: [Vec<u32>; 2],
    table: Vec<f64>,
    tail: Vec<f64>,
    lane: Vec<f64>,
    stop: Interrupt,
}

impl SumWork {
    /// The same, but it asks whether to stop.
    pub fn stopped_by(self, stop: Interrupt) -> Self {
        Self { stop, ..self }
    }
}

/// The configurations from `first` on, with `r` labels to choose beside those that are in anyway; `top_score` is the largest score of
/// a free label.
struct Part<'s> {
    scores: &'s [f64],
    first: usize,
    r: usize,
    top_score: f64,
}

/// The sums of one group of configurations, relative to `exp(top)`.
struct Sums<'w> {
    top: f64,
    total: f64,
    marginals: &'w mut [f64],
    pairs: Option<&'w mut [f64]>,
}

impl Sums<'_> {
    /// Makes room for a term of log-size `to`.
    fn raise(&mut self, to: f64) {
        if to > self.top {
            let shrink = (self.top - to).exp(); // 0 at the first term
            self.total *= shrink;
            self.marginals.iter_mut().for_each(|p| *p *= shrink);
            if let Some(pairs) = &mut self.pairs {
                pairs.iter_mut().for_each(|p| *p *= shrink);
            }
            self.top = to;
        }
    }
}

impl Sums<'_> {
    /// Adds what a label is worth in the configurations from `first` on, the last `low` bits of which are the lane.
    #[inline(always)]
    fn add<const L: usize>(
        &mut self,
        marginal: &[f64; L],
        label: usize,
        (first, low): (usize, usize),
        open: &[usize],
        width: usize,
    ) {
        let all: f64 = marginal.iter().sum();
        self.marginals[label] += all;
        let Some(pairs) = &mut self.pairs else { return };
        for (bit, &c) in open.iter().enumerate() {
            if bit >= low {
                if first >> bit & 1 == 1 {
                    pairs[c * width + label] += all;
                }
                continue;
            }
            let mut some = 0.0;
            for (lane, marginal) in marginal.iter().enumerate() {
                some += if lane >> bit & 1 == 1 { *marginal } else { 0.0 };
            }
            pairs[c * width + label] += some;
        }
    }
}

/// The first values as they stand in a register: loops over copies become instructions for several lanes, loops over places in memory do not.
#[inline(always)]
fn lanes<const L: usize>(values: &[f64]) -> [f64; L] {
    values[..L].try_into().expect("L values")
}

/// Writes the polynomials of the rare labels into the first row of the table, by Newton's identities from their power sums:
/// `q e_q = Σ_j (−1)^(j−1) p_j e_(q−j)`. Returns the largest value of each kind of them.
#[inline(always)]
fn rare_polynomial<const L: usize>(work: &mut SumWork, most: usize) -> [[f64; L]; 2] {
    let mut power = [[0.0; L]; RARE[0].1];
    let mut largest = [[0.0; L]; 2];
    for ((rare, (_, terms)), largest) in work.rare.iter().zip(RARE).zip(&mut largest) {
        for &at in rare {
            let x = lanes::<L>(&work.x[at as usize * L..]);
            let mut y = x;
            for power in &mut power[..terms] {
                *power = std::array::from_fn(|lane| power[lane] + y[lane]);
                y = std::array::from_fn(|lane| y[lane] * x[lane]);
            }
            *largest = std::array::from_fn(|lane| if x[lane] > largest[lane] { x[lane] } else { largest[lane] });
        }
    }
    let table = &mut work.table[..(most + 1) * L];
    table.fill(0.0);
    table[..L].fill(1.0);
    for q in 1..=most {
        let mut sum = [0.0; L];
        for (j, power) in (1..=q).zip(&power) {
            let sign = if j % 2 == 1 { 1.0 } else { -1.0 };
            for lane in 0..L {
                sum[lane] += sign * power[lane] * table[(q - j) * L + lane];
            }
        }
        for lane in 0..L {
            table[q * L + lane] = sum[lane] / q as f64;
        }
    }
    largest
}

impl<'a> StarSum<'a> {
    /// Gets a star ready; refuses a core of more than [`MOST_SUM`] labels.
    pub fn new(star: &'a Star) -> Result<Self> {
        Self::ready(Cow::Borrowed(star))
    }

    /// The same of a star that it keeps.
    pub fn of(star: Star) -> Result<Self> {
        Self::ready(Cow::Owned(star))
    }

    /// The star.
    pub fn star(&self) -> &Star {
        &self.star
    }

    fn ready(star: Cow<'a, Star>) -> Result<Self> {
        let c = star.core().len();
        if c > MOST_SUM {
            return Err(Error::Data {
                expected: format!("a core of at most {MOST_SUM} labels to sum over"),
                found: format!("{c}"),
            });
        }
        let links = (0..c).flat_map(|c| star.links(c));
        let tame = links.clone().all(|g| g.abs() <= TAME);
        let factors = if tame { links.map(|g| g.exp()).collect() } else { vec![] };
        let mut in_core = vec![false; star.len()];
        star.core().iter().for_each(|&label| in_core[label as usize] = true);
        Ok(Self { star, factors, tame, in_core })
    }

    /// The log-partition function of all sets of `k` labels, with the probability of each label.
    ///
    /// ```text
    /// log Σ_{|t| = k} exp f(t)  =  log Σ_S exp const(S) · e_{k−|S|}(exp a_i(S))
    /// ```
    ///
    /// over core configurations S, where e_r is the elementary symmetric polynomial of the labels outside the core. `pairs`, a
    /// row per core label as in [`Star::new`], gets the probability that a core label and another are both in the set; the
    /// pair of two core labels stands in the row of the first of them, and other places there are 0.
    ///
    /// Exact, with clamps. O(2^C·n·k) with C the number of free core labels; no allocation after the first call.
    pub fn log_sum(
        &self,
        scores: &[f64],
        over: &Subsets,
        work: &mut SumWork,
        marginals: &mut [f64],
        mut pairs: Option<&mut [f64]>,
    ) -> Result<f64> {
        let star = &*self.star;
        self.sort_out(scores, over, work)?;
        marginals.fill(0.0);
        if let Some(pairs) = &mut pairs {
            pairs.fill(0.0);
        }
        let mut sums = Sums { top: f64::NEG_INFINITY, total: 0.0, marginals, pairs };
        // what every configuration shares: labels and core labels that are in anyway
        let taken = work.inside.len() + work.fixed.len();
        let r = over.k.checked_sub(taken);
        let (n, open) = (work.free.len(), work.open.len());
        let no_set = Error::NoSet { k: over.k, inside: taken, free: n + open };
        let Some(r) = r.filter(|&r| r <= n + open) else { return Err(no_set) };
        let top_score = work.free.iter().fold(f64::NEG_INFINITY, |top, &i| top.max(scores[i as usize]));
        if self.tame {
            work.base.clear();
            work.base.extend(work.free.iter().map(|&i| (scores[i as usize] - top_score).exp()));
            for &c in &work.fixed {
                let row = &self.factors[c * star.len()..(c + 1) * star.len()];
                work.base.iter_mut().zip(&work.free).for_each(|(x, &i)| *x *= row[i as usize]);
            }
        }
        let lanes = 1 << open.min(LANES.trailing_zeros() as usize);
        for first in (0..1usize << open).step_by(lanes) {
            let fits = |mask: usize| {
                let size = mask.count_ones() as usize;
                size <= r && r - size <= n
            };
            if !(first..first + lanes).any(fits) {
                continue;
            }
            work.stop.check()?;
            let part = Part { scores, first, r, top_score };
            let done = self.tame
                && match lanes {
                    1 => self.group::<1>(&part, work, &mut sums),
                    2 => self.group::<2>(&part, work, &mut sums),
                    4 => self.group::<4>(&part, work, &mut sums),
                    _ => self.wide_group(&part, work, &mut sums),
                };
            if !done {
                (first..first + lanes).filter(|&mask| fits(mask)).for_each(|mask| {
                    self.careful(scores, mask, r - mask.count_ones() as usize, work, &mut sums);
                });
            }
        }
        self.finish(work, sums)
    }

    /// Which labels are free, in, or out.
    fn sort_out(&self, scores: &[f64], over: &Subsets, work: &mut SumWork) -> Result<()> {
        let star = &*self.star;
        assert!(scores.len() == star.len() && (over.clamp.is_empty() || over.clamp.len() == star.len()));
        if scores.iter().any(|s| !s.is_finite()) {
            return Err(Error::NotFinite { what: "a score" });
        }
        let clamp = |i: usize| over.clamp.get(i).copied().unwrap_or_default();
        [&mut work.free, &mut work.inside].into_iter().for_each(Vec::clear);
        [&mut work.open, &mut work.fixed].into_iter().for_each(Vec::clear);
        for i in (0..star.len()).filter(|&i| !self.in_core[i]) {
            match clamp(i) {
                Clamp::Free => work.free.push(i as u32),
                Clamp::In => work.inside.push(i as u32),
                Clamp::Out => {}
            }
        }
        for (c, &label) in star.core().iter().enumerate() {
            match clamp(label as usize) {
                Clamp::Free => work.open.push(c),
                Clamp::In => work.fixed.push(c),
                Clamp::Out => {}
            }
        }
        Ok(())
    }

    /// The places in the core that a configuration has on.
    fn on<'w>(work: &'w SumWork, mask: usize) -> impl Iterator<Item = usize> + Clone + 'w {
        let chosen = work.open.iter().enumerate().filter(move |(bit, _)| mask >> bit & 1 == 1).map(|(_, &c)| c);
        work.fixed.iter().copied().chain(chosen)
    }

    /// The score of what a configuration puts in, other labels that are free apart.
    fn constant(&self, scores: &[f64], work: &SumWork, mask: usize) -> f64 {
        let star = &*self.star;
        let mut sum: f64 = work.inside.iter().map(|&i| scores[i as usize]).sum();
        let on = Self::on(work, mask);
        for (at, c) in on.clone().enumerate() {
            let links = star.links(c);
            sum += scores[star.core()[c] as usize];
            sum += on.clone().skip(at + 1).map(|d| links[star.core()[d] as usize]).sum::<f64>();
            sum += work.inside.iter().map(|&i| links[i as usize]).sum::<f64>();
        }
        sum
    }

    /// Eight configurations, in wider registers where the machine has them: the same operations, the same bits.
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code)] // the one call of code for a newer processor, after a look at the processor
    fn wide_group(&self, part: &Part, work: &mut SumWork, sums: &mut Sums) -> bool {
        #[target_feature(enable = "avx2")]
        fn avx2(sum: &StarSum, part: &Part, work: &mut SumWork, sums: &mut Sums) -> bool {
            sum.group::<LANES>(part, work, sums)
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            return unsafe { avx2(self, part, work, sums) };
        }
        self.group::<LANES>(part, work, sums)
    }

    /// Eight configurations.
    #[cfg(not(target_arch = "x86_64"))]
    fn wide_group(&self, part: &Part, work: &mut SumWork, sums: &mut Sums) -> bool {
        self.group::<LANES>(part, work, sums)
    }

    /// The configurations `first..first + L`, with plain products; `false`, and nothing added, where they leave the range of
    /// doubles.
    #[inline(always)]
    fn group<const L: usize>(&self, part: &Part, work: &mut SumWork, sums: &mut Sums) -> bool {
        let &Part { scores, first, r, top_score } = part;
        let (star, n) = (&*self.star, work.free.len());
        let low = L.trailing_zeros() as usize;
        let rows = |c: usize| &self.factors[c * star.len()..(c + 1) * star.len()];
        work.high.clear();
        work.high.extend_from_slice(&work.base);
        for bit in (low..work.open.len()).filter(|bit| first >> bit & 1 == 1) {
            let row = rows(work.open[bit]);
            work.high.iter_mut().zip(&work.free).for_each(|(x, &i)| *x *= row[i as usize]);
        }
        work.x.resize(n * L, 0.0);
        let mut total = [0.0; L];
        for (at, (x, &i)) in work.x.chunks_exact_mut(L).zip(&work.free).enumerate() {
            x[0] = work.high[at];
            for bit in 0..low {
                let factor = rows(work.open[bit])[i as usize];
                for lane in 0..1 << bit {
                    x[(1 << bit) + lane] = x[lane] * factor;
                }
            }
            let x = lanes::<L>(x);
            total = std::array::from_fn(|lane| total[lane] + x[lane]);
        }
        // each lane in its own unit, in which the first polynomial is r: the others then stay near 1
        let size = |lane: usize| (first + lane).count_ones() as usize;
        let left: [Option<usize>; L] = std::array::from_fn(|lane| r.checked_sub(size(lane)).filter(|&left| left <= n));
        let most = left.iter().flatten().max().copied().unwrap_or(0);
        let unit: [f64; L] = std::array::from_fn(|lane| match left[lane] {
            Some(left) if left > 0 => left as f64 / total[lane],
            _ => 0.0,
        });
        for x in work.x.chunks_exact_mut(L) {
            x.iter_mut().zip(&unit).for_each(|(x, unit)| *x *= unit);
        }
        self.sort_by_odds::<L>(work, &unit, &left);
        let row = (most + 1) * L;
        let mut done = self.polynomials::<L>(work, most, &left);
        if done.is_none() && work.often.len() < n {
            // a label is not as rare as it seemed: all of them one by one
            work.rare.iter_mut().for_each(Vec::clear);
            work.often.clear();
            work.often.extend(0..n as u32);
            done = self.polynomials::<L>(work, most, &left);
        }
        let Some(e) = done.filter(|_| total.iter().zip(&left).all(|(x, left)| left.is_none() || x.is_finite())) else {
            return false;
        };
        let mut log_size = [f64::NEG_INFINITY; L];
        for lane in 0..L {
            let Some(left) = left[lane] else { continue };
            let scale = if left > 0 { left as f64 * (top_score - unit[lane].ln()) } else { 0.0 };
            log_size[lane] = self.constant(scores, work, first + lane) + scale + e[lane].ln();
        }
        sums.raise(log_size.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b)));
        let share: [f64; L] = std::array::from_fn(|lane| (log_size[lane] - sums.top).exp());
        sums.total += share.iter().sum::<f64>();
        // back again: what follows a label, times what comes before it, is its marginal
        work.tail.clear();
        work.tail.resize(row, 0.0);
        for lane in 0..L {
            if let Some(left) = left[lane] {
                work.tail[left * L + lane] = share[lane] / e[lane];
            }
        }
        let width = star.len();
        for (i, &at) in work.often.iter().enumerate().rev() {
            let x = lanes::<L>(&work.x[at as usize * L..]);
            let before = &work.table[i * row..(i + 1) * row];
            let mut marginal = [0.0; L];
            let mut here = lanes::<L>(&work.tail);
            for q in 0..most {
                let (head, next) = (lanes::<L>(&before[q * L..]), lanes::<L>(&work.tail[(q + 1) * L..]));
                let up: [f64; L] = std::array::from_fn(|lane| x[lane] * next[lane]);
                marginal = std::array::from_fn(|lane| marginal[lane] + head[lane] * up[lane]);
                let new: [f64; L] = std::array::from_fn(|lane| here[lane] + up[lane]);
                work.tail[q * L..(q + 1) * L].copy_from_slice(&new);
                here = next;
            }
            sums.add::<L>(&marginal, work.free[at as usize] as usize, (first, low), &work.open, width);
        }
        self.add_rare::<L>((first, most, low), work, sums);
        for (lane, share) in share.into_iter().enumerate().filter(|(_, share)| *share > 0.0) {
            self.add_core(first + lane, share, work, sums);
        }
        true
    }

    /// Polynomials of the rare labels, then of these and the first i others, all orders up to `most`, for every i: the wanted one of all in each
    /// configuration. Nothing where they leave the range of doubles, or where a label is not rare.
    #[inline(always)]
    fn polynomials<const L: usize>(
        &self,
        work: &mut SumWork,
        most: usize,
        left: &[Option<usize>; L],
    ) -> Option<[f64; L]> {
        let (row, m) = ((most + 1) * L, work.often.len());
        work.table.resize((m + 1) * row, 0.0);
        let largest_rare = rare_polynomial::<L>(work, most);
        for (i, &at) in work.often.iter().enumerate() {
            let (before, after) = work.table.split_at_mut((i + 1) * row);
            let (before, after) = (&before[i * row..], &mut after[..row]);
            let x = lanes::<L>(&work.x[at as usize * L..]);
            let mut old = lanes::<L>(before);
            after[..L].copy_from_slice(&old);
            for (before, after) in before[L..row].chunks_exact(L).zip(after[L..].chunks_exact_mut(L)) {
                let same = lanes::<L>(before);
                let new: [f64; L] = std::array::from_fn(|lane| same[lane] + x[lane] * old[lane]);
                after.copy_from_slice(&new);
                old = same;
            }
        }
        let last = &work.table[m * row..(m + 1) * row];
        let mut e = [1.0; L];
        for lane in 0..L {
            let Some(left) = left[lane] else { continue };
            e[lane] = last[left * L + lane];
            // the way back divides every polynomial by this one
            let largest = (0..=left).fold(0.0, |a: f64, q| a.max(last[q * L + lane]));
            if !(1e-250..1e250).contains(&e[lane]) || largest > 1e250 * e[lane] {
                return None;
            }
            // the odds of a label are at most its x times the ratio of the last two polynomials of all labels
            let ratio = if left > 0 { last[(left - 1) * L + lane] / e[lane] } else { 0.0 };
            if largest_rare.iter().zip(RARE).any(|(x, (most, _))| x[lane] * ratio > most) {
                return None;
            }
        }
        Some(e)
    }

    /// Which labels are multiplied out, and which are so rare in all configurations that power sums say enough of them.
    ///
    /// The odds of a label are about `x t`, where t is such that the odds of all make up the number of labels to choose; it is found for one
    /// configuration, and stands in for that of the others.
    #[inline(always)]
    fn sort_by_odds<const L: usize>(&self, work: &mut SumWork, unit: &[f64; L], left: &[Option<usize>; L]) {
        let n = work.free.len();
        work.often.clear();
        work.rare.iter_mut().for_each(Vec::clear);
        let lane = (0..L).find(|&lane| left[lane].is_some_and(|left| left > 0 && left < n) && unit[lane].is_finite());
        let Some(lane) = lane.filter(|_| n >= FEW) else {
            work.often.extend(0..n as u32);
            return;
        };
        work.lane.clear();
        work.lane.extend(work.x.chunks_exact(L).take(n).map(|x| x[lane]));
        let wanted = left[lane].unwrap_or(0) as f64;
        let mut t = 1.0f64;
        for _ in 0..8 {
            let (mut sum, mut slope) = ([0.0; 4], [0.0; 4]);
            for x in work.lane.chunks_exact(4) {
                for (at, x) in x.iter().enumerate() {
                    let stay = 1.0 / (1.0 + x * t);
                    let take = 1.0 - stay;
                    sum[at] += take;
                    slope[at] += take * stay;
                }
            }
            let (sum, slope) = (sum.iter().sum::<f64>(), slope.iter().sum::<f64>());
            let step = ((wanted - sum) / slope.max(1e-300)).clamp(-4.0, 4.0);
            t *= step.exp();
            if step.abs() < 0.3 {
                break;
            }
        }
        let [near, far] = RARE.map(|(odds, _)| MARGIN * odds / t);
        for (at, x) in (0u32..).zip(work.x.chunks_exact(L).take(n)) {
            let most = x.iter().fold(0.0f64, |most, &x| if x > most { x } else { most });
            match most {
                most if most <= far => work.rare[1].push(at),
                most if most <= near => work.rare[0].push(at),
                _ => work.often.push(at),
            }
        }
    }

    /// The marginals of rare labels: a label with `x` is in a set with weight `Σ_l (−1)^(l−1) x^l c_l`, where c_l is the weight of l places that
    /// all labels leave.
    #[inline(always)]
    fn add_rare<const L: usize>(&self, (first, most, low): (usize, usize, usize), work: &SumWork, sums: &mut Sums) {
        if work.rare.iter().all(Vec::is_empty) {
            return;
        }
        let mut c = [[0.0; L]; RARE[0].1];
        for (l, c) in (1..).zip(&mut c) {
            for q in l..=most {
                for ((c, tail), table) in c.iter_mut().zip(&work.tail[q * L..]).zip(&work.table[(q - l) * L..]) {
                    *c += tail * table;
                }
            }
            if l % 2 == 0 {
                c.iter_mut().for_each(|c| *c = -*c);
            }
        }
        for (rare, (_, terms)) in work.rare.iter().zip(RARE) {
            for &at in rare {
                let x = lanes::<L>(&work.x[at as usize * L..]);
                let mut marginal = [0.0; L];
                for c in c[..terms].iter().rev() {
                    marginal = std::array::from_fn(|lane| (marginal[lane] + c[lane]) * x[lane]);
                }
                sums.add::<L>(&marginal, work.free[at as usize] as usize, (first, low), &work.open, self.star.len());
            }
        }
    }

    /// Counts a configuration for its own labels.
    fn add_core(&self, mask: usize, share: f64, work: &SumWork, sums: &mut Sums) {
        let (core, width) = (self.star.core(), self.star.len());
        let chosen = || work.open.iter().enumerate().filter(|(bit, _)| mask >> bit & 1 == 1).map(|(_, &c)| c);
        for c in chosen() {
            sums.marginals[core[c] as usize] += share;
            if let Some(pairs) = &mut sums.pairs {
                chosen().filter(|&d| d > c).for_each(|d| pairs[c * width + core[d] as usize] += share);
            }
        }
    }

    /// One configuration, whatever the size of its scores.
    ///
    /// With `p_i = 1/(1 + exp(τ − a_i))` the polynomial is `e_r = Π_i (1 + exp(a_i − τ)) · exp(r τ) · P(r of independent labels)`,
    /// and τ is where their expected number is r: nothing leaves the range of doubles.
    fn careful(&self, scores: &[f64], mask: usize, r: usize, work: &mut SumWork, sums: &mut Sums) {
        let (star, n) = (&*self.star, work.free.len());
        let mut a = std::mem::take(&mut work.lane);
        a.clear();
        a.extend(work.free.iter().map(|&i| scores[i as usize]));
        for c in Self::on(work, mask) {
            let links = star.links(c);
            a.iter_mut().zip(&work.free).for_each(|(a, &i)| *a += links[i as usize]);
        }
        let constant = self.constant(scores, work, mask);
        let width = star.len();
        let mut add = |size: f64, p: &dyn Fn(usize) -> f64, work: &SumWork| {
            sums.raise(size);
            let share = (size - sums.top).exp();
            sums.total += share;
            for (i, &label) in work.free.iter().enumerate() {
                let p = share * p(i);
                sums.marginals[label as usize] += p;
                if let Some(pairs) = &mut sums.pairs {
                    let chosen = work.open.iter().enumerate().filter(|(bit, _)| mask >> bit & 1 == 1);
                    chosen.for_each(|(_, &c)| pairs[c * width + label as usize] += p);
                }
            }
            self.add_core(mask, share, work, sums);
        };
        if r == 0 || r == n {
            let (whole, p) = if r == 0 { (0.0, 0.0) } else { (a.iter().sum(), 1.0) };
            add(constant + whole, &|_| p, work);
            work.lane = a;
            return;
        }
        let expected = |tau: f64| a.iter().map(|a| 1.0 / (1.0 + (tau - a).exp())).sum::<f64>();
        let (mut low, mut high) = a.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &a| (l.min(a), h.max(a)));
        let room = 2.0 * (n as f64).ln() + 2.0;
        (low, high) = (low - room, high + room);
        loop {
            let middle = 0.5 * low + 0.5 * high;
            if middle <= low || middle >= high {
                break; // neighbours: no number between them
            }
            if expected(middle) > r as f64 { low = middle } else { high = middle }
        }
        let tau = low;
        let take = |i: usize| 1.0 / (1.0 + (tau - a[i]).exp());
        let stay = |i: usize| 1.0 / (1.0 + (a[i] - tau).exp());
        let row = r + 1;
        work.table.clear();
        work.table.resize((n + 1) * row, 0.0);
        work.table[0] = 1.0;
        for i in 0..n {
            let (before, after) = work.table.split_at_mut((i + 1) * row);
            let before = &before[i * row..];
            let (p, q) = (take(i), stay(i));
            after[0] = q * before[0];
            for j in 1..row {
                after[j] = q * before[j] + p * before[j - 1];
            }
        }
        let e = work.table[n * row + r];
        let softplus = |x: f64| if x > 0.0 { x + (-x).exp().ln_1p() } else { x.exp().ln_1p() };
        let whole = a.iter().map(|a| softplus(a - tau)).sum::<f64>() + r as f64 * tau;
        work.tail.clear();
        work.tail.resize(row, 0.0);
        work.tail[r] = 1.0 / e;
        work.x.resize(n.max(work.x.len()), 0.0);
        for i in (0..n).rev() {
            let (p, q) = (take(i), stay(i));
            let before = &work.table[i * row..(i + 1) * row];
            let mut marginal = 0.0;
            for (j, head) in before.iter().enumerate() {
                let up = if j < r { p * work.tail[j + 1] } else { 0.0 };
                marginal += head * up;
                work.tail[j] = q * work.tail[j] + up;
            }
            work.x[i] = marginal;
        }
        add(constant + whole + e.ln(), &|i| work.x[i], work);
        work.lane = a;
    }

    /// Divides by the total; labels that are in anyway get what is theirs.
    fn finish(&self, work: &SumWork, sums: Sums) -> Result<f64> {
        let (star, width) = (&*self.star, self.star.len());
        let Sums { top, total, marginals, pairs } = sums;
        if !(top + total.ln()).is_finite() || marginals.iter().any(|p| !p.is_finite()) {
            return Err(Error::NotFinite { what: "the sum over sets of labels" });
        }
        marginals.iter_mut().for_each(|p| *p /= total);
        work.inside.iter().for_each(|&i| marginals[i as usize] = 1.0);
        work.fixed.iter().for_each(|&c| marginals[star.core()[c] as usize] = 1.0);
        if let Some(pairs) = pairs {
            pairs.iter_mut().for_each(|p| *p /= total);
            for &c in &work.open {
                let p = marginals[star.core()[c] as usize];
                work.inside.iter().for_each(|&i| pairs[c * width + i as usize] = p);
            }
            // a core label that is in stands beside every label that is
            for &c in &work.fixed {
                let row = &mut pairs[c * width..(c + 1) * width];
                row.copy_from_slice(marginals);
                star.core()[..=c].iter().for_each(|&label| row[label as usize] = 0.0);
                for &d in work.open.iter().filter(|&&d| d < c) {
                    pairs[d * width + star.core()[c] as usize] = marginals[star.core()[d] as usize];
                }
            }
        }
        Ok(top + total.ln())
    }
}
