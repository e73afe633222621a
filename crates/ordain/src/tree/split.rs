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
    /// Of each bin, whether it goes left.
    pub(super) fn table(&self) -> [bool; 256] {
        std::array::from_fn(|bin| self.left(bin as u8))
    }

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
    let missing = cells[0];
    let along = &cells[1..=bins];
    let scan = |start: Cell| match open.bounds {
        None => rules.scan(along, start, open.cell),
        Some(_) => rules.scan_bounded(along, start, open, rises),
    };
    let (gaps, mut found, mut missing_left) = (rules.units.rows(missing), scan([0; 2]), false);
    if gaps > 0 {
        let other = scan(missing);
        // the better one, else the lower bin, else to the right
        let better = |a: &Best, b: &Best| a.worth > b.worth || a.worth >= b.worth && a.bin < b.bin;
        if other.as_ref().is_some_and(|other| found.as_ref().is_none_or(|found| better(other, found))) {
            (found, missing_left) = (other, true);
        }
    }
    let found = found?;
    if gaps == 0 {
        // nobody knows: with the larger part
        missing_left = 2 * rules.units.rows(found.left) >= rules.units.rows(open.cell);
    }
    let test = Test::Cut { bin: found.bin, missing_left };
    Some(Split { gain: rules.gain(found.worth, open)?, slot, test, left: found.left })
}

/// The best cut of a scan.
struct Best {
    /// Twice what both sides take off.
    worth: f64,
    bin: u8,
    left: Cell,
}

impl Rules {
    /// The best cut without bounds: bins go left one after another, after what is in `left` already.
    ///
    /// `(d²/h of the left + d²/h of the right)` over one denominator, in the units of cells. Rows and curvatures grow from bin to bin, so
    /// that the cuts that are allowed are a run.
    fn scan(&self, along: &[Cell], mut left: Cell, all: Cell) -> Option<Best> {
        let units = &self.units;
        let ridge = self.ridge / units.curvature;
        let (all_d, all_h, all_rows) = (all[0] as i64 as f64, units.whole_curvature(all) + ridge, units.rows(all));
        let least = (self.least_curvature / units.curvature + ridge).max(f64::MIN_POSITIVE);
        // some value has to be below the cut
        let least_left = self.least_rows.max(units.rows(left) + 1);
        let (mut worth, mut found) = (f64::NEG_INFINITY, None);
        for (bin, &cell) in (1u8..=255).zip(along) {
            left = plus(left, cell);
            let (rows, h) = (units.rows(left), units.whole_curvature(left) + ridge);
            if rows < least_left || h < least {
                continue;
            }
            let rest = all_h - h + ridge;
            if all_rows - rows < self.least_rows || rest < least {
                break;
            }
            let d = left[0] as i64 as f64;
            let other = all_d - d;
            let both = (d * d * rest + other * other * h) / (h * rest);
            if both > worth {
                (worth, found) = (both, Some((bin, left)));
            }
        }
        let unit = units.slope * (units.slope / units.curvature);
        found.map(|(bin, left)| Best { worth: worth * unit, bin, left })
    }

    /// The same with bounds, and perhaps along a monotone column.
    fn scan_bounded(&self, along: &[Cell], mut left: Cell, open: &Open, rises: i8) -> Option<Best> {
        let (mut worth, mut found) = (f64::NEG_INFINITY, None);
        let gaps = self.units.rows(left);
        for (bin, &cell) in (1u8..=255).zip(along) {
            left = plus(left, cell);
            if self.units.rows(left) == gaps {
                continue; // no value is below the cut yet
            }
            let both = self.both(&self.units.read(left), &self.units.read(minus(open.cell, left)), open, rises);
            if let Some(both) = both.filter(|&both| both > worth) {
                (worth, found) = (both, Some((bin, left)));
            }
        }
        found.map(|(bin, left)| Best { worth, bin, left })
    }
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
