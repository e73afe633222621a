//! The best split of a leaf by one column, out of its histogram.

use super::cuts::Column;
use super::histogram::{Cell, Cells, Sums, Units, minus, plus};

/// How a row is sent left or right by its bin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Test {
    /// Bins up to this one go left; that of missing values as it is said.
    Cut { bin: u8, missing_left: bool },
    /// These bins go left, all others right.
    Set([u64; 4]),
}

impl Test {
    /// Whether a bin goes left.
    #[inline(always)]
    pub(super) fn left(&self, bin: u8) -> bool {
        match self {
            Self::Cut { bin: cut, missing_left } => bin <= *cut && (bin > 0 || *missing_left),
            Self::Set(set) => set[bin as usize / 64] >> (bin % 64) & 1 == 1,
        }
    }
}

/// A split, with what goes left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Split {
    /// How much less the sum to be minimised becomes.
    pub(super) gain: f64,
    /// Where the column is stored in bins.
    pub(super) slot: u32,
    pub(super) test: Test,
    pub(super) left: Cell,
}

/// What a split has to keep.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) ridge: f64,
    pub(super) least_rows: u64,
    pub(super) least_curvature: f64,
    pub(super) least_gain: f64,
    pub(super) units: Units,
}

/// A leaf that may be split: its sums, and where its value has to lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub(super) cell: Cell,
    pub(super) bounds: Option<[f64; 2]>,
}

impl Rules {
    /// The value of a leaf: `−d/(h + ridge)` within its bounds, and 0 where there is no curvature.
    pub(super) fn value(&self, sums: &Sums, bounds: Option<[f64; 2]>) -> f64 {
        let curvature = sums.h + self.ridge;
        let value = if curvature > 0.0 { super::histogram::finite(-sums.d / curvature) } else { 0.0 };
        bounds.map_or(value, |[low, high]| value.max(low).min(high))
    }

    /// Twice what a leaf takes off the sum to be minimised: `d²/(h + ridge)` unless bounds keep it from its best value.
    fn worth(&self, sums: &Sums, bounds: Option<[f64; 2]>) -> f64 {
        let curvature = sums.h + self.ridge;
        if curvature <= 0.0 {
            return 0.0;
        }
        if bounds.is_none() {
            return sums.d * sums.d / curvature;
        }
        let value = self.value(sums, bounds);
        -(2.0 * sums.d + curvature * value) * value
    }

    fn allows(&self, side: &Sums) -> bool {
        side.rows >= self.least_rows && side.h >= self.least_curvature && side.h + self.ridge > 0.0
    }

    /// Twice what two leaves take off, or nothing where they may not be.
    #[inline(always)]
    fn both(&self, left: &Sums, right: &Sums, open: &Open, rises: i8) -> Option<f64> {
        if !self.allows(left) || !self.allows(right) {
            return None;
        }
        let Some(_) = open.bounds else {
            let (a, b) = (left.h + self.ridge, right.h + self.ridge);
            return Some((left.d * left.d * b + right.d * right.d * a) / (a * b));
        };
        if rises != 0 {
            let (low, high) = (self.value(left, open.bounds), self.value(right, open.bounds));
            if rises > 0 && low > high || rises < 0 && low < high {
                return None;
            }
        }
        Some(self.worth(left, open.bounds) + self.worth(right, open.bounds))
    }

    /// The gain of the best pair, if it is one.
    fn gain(&self, best: f64, open: &Open) -> Option<f64> {
        let alone = self.worth(&self.units.read(open.cell), open.bounds);
        let gain = (best - alone) / 2.0;
        // a billionth of what is there may be rounding
        (gain > self.least_gain && gain > 1e-12 * alone.abs()).then_some(gain)
    }
}

/// The best split of a leaf by a column, the lowest bin where several are as good. `rises`: 1 where scores may not fall along the column,
/// −1 where they may not rise.
pub(super) fn best(cells: &Cells, column: &Column, slot: u32, open: &Open, rises: i8, rules: &Rules) -> Option<Split> {
    match column {
        Column::Cuts(_) => by_cut(cells, column.bins(), slot, open, rises, rules),
        Column::Values(_) => by_set(cells, column.bins(), slot, open, rules),
    }
}

fn by_cut(cells: &Cells, bins: usize, slot: u32, open: &Open, rises: i8, rules: &Rules) -> Option<Split> {
    let units = &rules.units;
    let (missing, total) = (cells[0], units.rows(open.cell));
    let gaps = units.rows(missing);
    let (mut most, mut found) = (f64::NEG_INFINITY, None);
    let mut left: Cell = [0; 2];
    for (bin, &cell) in cells.iter().enumerate().take(bins + 1).skip(1) {
        if units.rows(cell) == 0 {
            continue;
        }
        left = plus(left, cell);
        let rows = units.rows(left);
        if rows + gaps < rules.least_rows {
            continue;
        }
        if total - rows < rules.least_rows {
            break;
        }
        let mut consider = |left: Cell, missing_left: bool| {
            let both = rules.both(&units.read(left), &units.read(minus(open.cell, left)), open, rises);
            if let Some(both) = both.filter(|&both| both > most) {
                (most, found) = (both, Some((left, Test::Cut { bin: bin as u8, missing_left })));
            }
        };
        consider(left, false);
        if gaps > 0 {
            consider(plus(left, missing), true);
        }
    }
    let (left, mut test) = found?;
    if let Test::Cut { missing_left, .. } = &mut test
        && gaps == 0
    {
        // nobody knows: with the larger part
        *missing_left = 2 * units.rows(left) >= total;
    }
    Some(Split { gain: rules.gain(most, open)?, slot, test, left })
}

/// Rows whose curvature is added to that of a category before it is put in order, so that rare ones stand in the middle.
const SMOOTH: f64 = 10.0;

/// Categories in the order of `d/(h + smooth)`; the best cut of this order.
fn by_set(cells: &Cells, bins: usize, slot: u32, open: &Open, rules: &Rules) -> Option<Split> {
    let units = &rules.units;
    let (all, missing) = (units.read(open.cell), cells[0]);
    let gaps = units.rows(missing);
    let smooth = SMOOTH * all.h / all.rows.max(1) as f64 + f64::MIN_POSITIVE;
    let (mut order, mut known) = ([(0.0, 0u8); 256], 0);
    for (bin, &cell) in cells.iter().enumerate().take(bins + 1).skip(1) {
        if units.rows(cell) > 0 {
            let sums = units.read(cell);
            order[known] = (sums.d / (sums.h + smooth), bin as u8);
            known += 1;
        }
    }
    let order = &mut order[..known];
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (mut most, mut found) = (f64::NEG_INFINITY, None);
    let mut first: Cell = [0; 2];
    for (end, &(_, bin)) in (1..).zip(order.iter()) {
        first = plus(first, cells[bin as usize]);
        let mut consider = |side: Cell, missing_first: bool| {
            let both = rules.both(&units.read(side), &units.read(minus(open.cell, side)), open, 0);
            if let Some(both) = both.filter(|&both| both > most) {
                (most, found) = (both, Some((side, end, missing_first)));
            }
        };
        consider(first, false);
        if gaps > 0 {
            consider(plus(first, missing), true);
        }
    }
    let (side, end, missing_first) = found?;
    let gain = rules.gain(most, open)?;
    // what is not listed goes right: the missing, or where there is none the larger part
    let first_is_right = if gaps > 0 { missing_first } else { 2 * units.rows(side) > all.rows };
    let (listed, left) = if first_is_right { (&order[end..], minus(open.cell, side)) } else { (&order[..end], side) };
    let mut set = [0; 4];
    listed.iter().for_each(|&(_, bin)| set[bin as usize / 64] |= 1 << (bin % 64));
    Some(Split { gain, slot, test: Test::Set(set), left })
}
