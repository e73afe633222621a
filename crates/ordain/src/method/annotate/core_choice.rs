//! The core of a star: the labels that tell most about all others, \[QAP\] section 5.
//!
//! A core `S` is grown label by label so as to maximise the information that it has about the rest,
//!
//! ```text
//! Σ_{i not in S} I(y_i; y_S),        I(y_i; y_{S + c}) = I(y_i; y_S) + I(y_i; y_c | y_S).
//! ```
//!
//! Items are kept in cells, one for each pattern of the core. Inside a cell of `n` items the second term is
//!
//! ```text
//! n I = Σ_{a, b} ψ(n_ab) − Σ_a ψ(n_a·) − Σ_b ψ(n_·b) + ψ(n),       ψ(n) = n ln n − ½ [n > 0],
//! ```
//!
//! which is symmetric, so that each pair of labels is looked at once. The half in `ψ` is the correction of Miller and
//! Madow: an entropy from counts is too small by about (filled classes − 1) / 2n, and without it every label would seem
//! to tell something about every other, the more so the more cells there are. `ψ` is a table: no logarithm in the loop.
//!
//! A cell is split by a further label only if it holds at least [`FEWEST`] items and is among the [`MOST`] largest
//! such cells; other cells stay as they are, whatever the label.
//!
//! **Unknown labels** are not counted as absent: each term is taken over the items of which all labels in it are known.
//! An item of which a chosen label is unknown belongs to no cell of it and leaves the count from then on, unless
//! its cell is not split. Hence a label that is often unknown has less to tell, by as much as is not known of it.

use crate::data::LabelSet;
use rayon::prelude::*;

/// A cell of fewer items is not split.
pub const FEWEST: usize = 20;
/// At most so many cells are split by one label.
pub const MOST: usize = 128;
/// Candidates whose pairs are counted in one piece of work.
const ROWS: usize = 64;

/// A label of the core, with what was gained when it was added.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoreStep {
    /// The label.
    pub label: u32,
    /// By how much `information` grew; it may shrink, because the label itself is no longer among those to be told.
    pub gain: f64,
    /// `Σ_{i not in S} I(y_i; y_S)` of the core with this label, in nats per item, corrected for bias.
    pub information: f64,
}

/// The labels of [`core_steps`], in the order of their choice.
///
/// ```
/// use ordain::{data::{Columns, LabelSet}, matrix::{Features, Matrix}, method::core_choice::choose_core};
/// let features = Features::Dense(Matrix::new(vec![0.0; 40], 1));
/// let columns = Columns::named(vec!["x".into()]);
/// // label 1 is on with both 0 and 2, which have nothing to do with each other
/// let labels = ["sea", "water", "river"].map(String::from).to_vec();
/// let yes = (0..40).map(|i| [vec![0, 1], vec![1, 2], vec![], vec![]][i % 4].clone()).collect();
/// let set = LabelSet::new(features, columns, labels, yes)?;
/// assert_eq!(choose_core(&set, &set.all(), 1), [1]);
/// # Ok::<(), ordain::Error>(())
/// ```
pub fn choose_core(set: &LabelSet, units: &[u32], size: usize) -> Vec<u32> {
    core_steps(set, units, size).iter().map(|step| step.label).collect()
}

/// Grows a core of `size` labels on the items `units`, greedily; see the [module](self).
///
/// A label that is on none of the items, or on all, is never chosen: the core is shorter where too few are left.
/// Of labels that tell equally much (to 10⁻⁹) the one of the lowest number is chosen. Cost of a step O(Σ L² + P² cells) for
/// items with L labels and cells in which P of the labels vary, in parallel; memory O(Σ L + N) per cell at work.
/// The result does not depend on the number of threads.
pub fn core_steps(set: &LabelSet, units: &[u32], size: usize) -> Vec<CoreStep> {
    let n = set.labels.len();
    let psi: Vec<f64> = (0..=units.len()).map(|count| psi(count as f64)).collect();
    let whole = Tally::of(set, units.iter());
    let mut free: Vec<bool> = (0..n).map(|i| whole.varies(i)).collect();
    let mut cells = vec![units.to_vec()];
    let (mut steps, mut before): (Vec<CoreStep>, f64) = (vec![], 0.0);
    while steps.len() < size.min(n) && free.contains(&true) {
        let splits = to_split(&cells);
        let totals = totals(set, &cells, &splits, &free, &psi);
        let best = (0..n).filter(|&c| free[c]).map(|c| totals[c]).fold(f64::NEG_INFINITY, f64::max);
        let slack = 1e-9 * best.abs().max(1.0);
        let Some(label) = (0..n).find(|&c| free[c] && totals[c] >= best - slack) else { break };
        let items: usize = cells.iter().map(Vec::len).sum();
        let information = totals[label] / items.max(1) as f64;
        steps.push(CoreStep { label: label as u32, gain: information - before, information });
        before = information;
        free[label] = false;
        cells = split(set, cells, &splits, label as u32);
    }
    steps
}

/// `n ln n`, less a half where n is not 0.
pub(super) fn psi(n: f64) -> f64 {
    if n > 0.0 { n * n.ln() - 0.5 } else { 0.0 }
}

/// Which cells are split by the next label.
fn to_split(cells: &[Vec<u32>]) -> Vec<bool> {
    let mut large: Vec<usize> = (0..cells.len()).filter(|&s| cells[s].len() >= FEWEST).collect();
    large.sort_by_key(|&s| (usize::MAX - cells[s].len(), s));
    let mut splits = vec![false; cells.len()];
    large.iter().take(MOST).for_each(|&s| splits[s] = true);
    splits
}

/// The cells after a label was added: without it, then with it; empty ones are dropped.
fn split(set: &LabelSet, cells: Vec<Vec<u32>>, splits: &[bool], label: u32) -> Vec<Vec<u32>> {
    let mut after = Vec::with_capacity(2 * cells.len());
    for (cell, &splits) in cells.into_iter().zip(splits) {
        if splits {
            let has = |list: &[u32]| list.binary_search(&label).is_ok();
            let known = cell.into_iter().filter(|&i| !has(set.unknown(i as usize)));
            let (with, without): (Vec<u32>, Vec<u32>) = known.partition(|&i| has(set.yes(i as usize)));
            after.extend([without, with].into_iter().filter(|part| !part.is_empty()));
        } else {
            after.push(cell);
        }
    }
    after
}

/// How often each label is on, and of how many items it is known, in a cell.
struct Tally {
    yes: Vec<u32>,
    known: Vec<u32>,
}

impl Tally {
    fn of<'a>(set: &LabelSet, items: impl Iterator<Item = &'a u32>) -> Self {
        let (mut yes, mut unknown, mut n) = (vec![0; set.labels.len()], vec![0; set.labels.len()], 0);
        for &i in items {
            set.yes(i as usize).iter().for_each(|&label| yes[label as usize] += 1);
            set.unknown(i as usize).iter().for_each(|&label| unknown[label as usize] += 1);
            n += 1;
        }
        Self { yes, known: unknown.iter().map(|count| n - count).collect() }
    }

    fn varies(&self, i: usize) -> bool {
        0 < self.yes[i] && self.yes[i] < self.known[i]
    }

    /// `−n H(y_i)`, corrected.
    fn order(&self, i: usize, psi: &[f64]) -> f64 {
        let (yes, known) = (self.yes[i] as usize, self.known[i] as usize);
        psi[yes] + psi[known - yes] - psi[known]
    }
}

/// For each label c that is `free`: items times `Σ_{i free, i ≠ c} I(y_i; y_S) + I(y_i; y_c | y_S)`.
fn totals(set: &LabelSet, cells: &[Vec<u32>], splits: &[bool], free: &[bool], psi: &[f64]) -> Vec<f64> {
    let n = free.len();
    // of each cell: what is known of each label alone, and what each pair of labels tells of each other in it
    let parts: Vec<[Vec<(u32, f64)>; 2]> = cells
        .par_iter()
        .zip(splits)
        .map(|(items, &splits)| {
            let tally = Tally::of(set, items.iter());
            let varying = (0..n).filter(|&i| free[i] && tally.varies(i));
            let alone = varying.map(|i| (i as u32, tally.order(i, psi))).collect();
            let told = if splits { Cell::new(set, items, &tally, free).told(psi) } else { vec![] };
            [alone, told]
        })
        .collect();
    let all = Tally::of(set, cells.iter().flatten());
    let mut base: Vec<f64> = (0..n).map(|i| if free[i] && all.varies(i) { -all.order(i, psi) } else { 0.0 }).collect();
    let mut told = vec![0.0; n];
    for [alone, pairs] in &parts {
        alone.iter().for_each(|&(label, order)| base[label as usize] += order);
        pairs.iter().for_each(|&(label, sum)| told[label as usize] += sum);
    }
    let sum: f64 = base.iter().sum();
    (0..n).map(|c| if free[c] { sum - base[c] + told[c] } else { 0.0 }).collect()
}

/// The items of a cell as lists of those free labels that vary in it, numbered by falling count.
///
/// A label `a` stands in a list as `a · width`, and where it is unknown as `a · width + 1`; `width` is 1 where
/// nothing is unknown.
struct Cell {
    items: usize,
    width: usize,
    /// The labels, with the number of items that they are on.
    labels: Vec<(u32, u32)>,
    /// Items of which each is unknown.
    unknown: Vec<u32>,
    /// The lists, one after the other.
    codes: Vec<u32>,
    /// For each code the parts of lists that come after it.
    tails: Vec<(u32, u32)>,
    /// Where the tails of each code end.
    ends: Vec<usize>,
}

impl Cell {
    fn new(set: &LabelSet, items: &[u32], tally: &Tally, free: &[bool]) -> Self {
        let varying = (0..free.len()).filter(|&i| free[i] && tally.varies(i));
        let mut labels: Vec<(u32, u32)> = varying.map(|i| (i as u32, tally.yes[i])).collect();
        labels.sort_by_key(|&(label, count)| (u32::MAX - count, label));
        let unknown: Vec<u32> = labels.iter().map(|&(i, _)| items.len() as u32 - tally.known[i as usize]).collect();
        let width = if unknown.iter().all(|&count| count == 0) { 1 } else { 2 };
        let mut place = vec![u32::MAX; free.len()];
        labels.iter().zip(0..).for_each(|(&(label, _), a)| place[label as usize] = a);
        let mut ends = vec![0; labels.len() * width];
        for (a, (&(_, count), &unknown)) in labels.iter().zip(&unknown).enumerate() {
            ends[a * width] = count as usize;
            if width == 2 {
                ends[a * width + 1] = unknown as usize;
            }
        }
        let mut next = 0; // first where the tails of a code start, and as they are filled in where they end
        for end in &mut ends {
            next += std::mem::replace(end, next);
        }
        let (mut codes, mut tails) = (Vec::with_capacity(next), vec![(0, 0); next]);
        for &i in items {
            let start = codes.len();
            let code = |shift: usize| {
                let place = &place;
                move |&label: &u32| {
                    let a = place[label as usize];
                    (a != u32::MAX).then(|| a * width as u32 + shift as u32)
                }
            };
            codes.extend(set.yes(i as usize).iter().filter_map(code(0)));
            if width == 2 {
                codes.extend(set.unknown(i as usize).iter().filter_map(code(1)));
            }
            codes[start..].sort_unstable();
            for at in start..codes.len() {
                let end = &mut ends[codes[at] as usize];
                tails[*end] = (at as u32 + 1, codes.len() as u32);
                *end += 1;
            }
        }
        Self { items: items.len(), width, labels, unknown, codes, tails, ends }
    }

    /// For each label the sum over all other labels of `n I(label; other)` in this cell.
    fn told(&self, psi: &[f64]) -> Vec<(u32, f64)> {
        let p = self.labels.len();
        let pieces: Vec<usize> = (0..p).step_by(ROWS).collect();
        let sums: Vec<Vec<f64>> = pieces
            .into_par_iter()
            .map(|first| {
                let mut sums = vec![0.0; p];
                let mut counts = [vec![0u32; p * self.width], vec![0u32; p * (self.width - 1) * 2]];
                for a in first..p.min(first + ROWS) {
                    let row = if self.width == 1 {
                        self.count(a, &mut counts[0]);
                        self.row(a, psi, &mut counts[0], &mut sums)
                    } else {
                        self.count(2 * a, &mut counts[0]);
                        self.count(2 * a + 1, &mut counts[1]);
                        self.row_with_unknown(a, psi, &mut counts, &mut sums)
                    };
                    sums[a] += row;
                }
                sums
            })
            .collect();
        let total = |a: usize| sums.iter().map(|sums| sums[a]).sum();
        self.labels.iter().enumerate().map(|(a, &(label, _))| (label, total(a))).collect()
    }

    /// Counts what comes after a code in the lists that it is in.
    fn count(&self, code: usize, counts: &mut [u32]) {
        let first = if code == 0 { 0 } else { self.ends[code - 1] };
        for &(start, end) in &self.tails[first..self.ends[code]] {
            self.codes[start as usize..end as usize].iter().for_each(|&code| counts[code as usize] += 1);
        }
    }

    /// Adds what `a` and each later label tell of each other to `sums`, returns the sum, and clears the counts.
    fn row(&self, a: usize, psi: &[f64], counts: &mut [u32], sums: &mut [f64]) -> f64 {
        let n = self.items;
        let yes = self.labels[a].1 as usize;
        let no = n - yes;
        let own = psi[n] - psi[yes] - psi[no];
        let mut row = 0.0;
        for ((&(_, other), both), sum) in self.labels[a + 1..].iter().zip(&mut counts[a + 1..]).zip(&mut sums[a + 1..])
        {
            let (other, x) = (other as usize, std::mem::take(both) as usize);
            let four = psi[x] + psi[yes - x] + psi[other - x] + psi[no + x - other];
            let told = four + own - psi[other] - psi[n - other];
            row += told;
            *sum += told;
        }
        row
    }

    /// The same over the items of which both labels are known.
    fn row_with_unknown(&self, a: usize, psi: &[f64], counts: &mut [Vec<u32>; 2], sums: &mut [f64]) -> f64 {
        let mut row = 0.0;
        for (b, sum) in sums.iter_mut().enumerate().skip(a + 1) {
            let mut take = |of: usize, code: usize| std::mem::take(&mut counts[of][code]) as usize;
            let (both, yes_unknown) = (take(0, 2 * b), take(0, 2 * b + 1));
            let (unknown_yes, unknown_both) = (take(1, 2 * b), take(1, 2 * b + 1));
            let n = self.items + unknown_both - (self.unknown[a] + self.unknown[b]) as usize;
            let yes = self.labels[a].1 as usize - yes_unknown;
            let other = self.labels[b].1 as usize - unknown_yes;
            let four = psi[both] + psi[yes - both] + psi[other - both] + psi[n + both - yes - other];
            let told = four + psi[n] - psi[yes] - psi[n - yes] - psi[other] - psi[n - other];
            row += told;
            *sum += told;
        }
        row
    }
}
