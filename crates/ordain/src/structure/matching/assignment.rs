//! Linear assignment: the cheapest one-to-one matching of rows to columns, with the prices that prove it.

use crate::error::{Error, Interrupt, Result};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// No row: a free column.
const NOBODY: u32 = u32::MAX;
/// The largest cost, so that the sums along a path stay finite.
const LARGEST: f64 = 1e300;
/// Columns that are taken at once. Arrays over columns are filled up to a multiple of it.
const BLOCK: usize = 16;
/// Up to this many columns each row finds a shortest path at once, over columns one by one: less is done before the first.
const SMALL: usize = 64;
/// From this many columns on, each row keeps a list of its cheapest columns: reading a whole row costs more then.
const LISTS_FROM: usize = 1024;
/// Length of these lists.
const LISTED: usize = 64;

/// Scratch of [`solve`], kept from call to call: solving another problem of the same size allocates nothing.
#[derive(Default)]
pub struct Work {
    flipped: Vec<f64>,
    v: Vec<f64>,
    u: Vec<f64>,
    row_of: Vec<u32>,
    column_of: Vec<u32>,
    paid: Vec<f64>,
    free: Vec<u32>,
    next: Vec<u32>,
    lists: Lists,
    search: Search,
    open: Open,
    matched: Vec<Option<u32>>,
    stop: Interrupt,
}

/// Why rows are not all matched.
enum Halt {
    /// This row has no match.
    Unmatched(usize),
    /// Somebody stopped it.
    Stopped,
}

impl From<Error> for Halt {
    fn from(_: Error) -> Self {
        Self::Stopped
    }
}

/// How rows are matched.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// By paths over columns that become fewer.
    Small,
    /// By bids, then by paths, in blocks of columns.
    Blocks,
    /// The same with lists of this length.
    Lists(usize),
}

/// A cheapest matching and its dual solution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Matched<'a> {
    /// Sum of the costs of the matched pairs, added up in the order of the lesser side.
    pub cost: f64,
    /// The column of each row; all are there when `rows <= cols`, else `cols` of them.
    pub column_of: &'a [Option<u32>],
    /// The price `u` of each row.
    pub row_dual: &'a [f64],
    /// The price `v` of each column.
    pub column_dual: &'a [f64],
}

/// The cheapest matching of every row where `rows <= cols`, of every column otherwise.
///
/// ```text
/// minimise Σ c_ij x_ij     over one-to-one matchings x of the lesser side
/// maximise Σ u_i + Σ v_j   over u_i + v_j ≤ c_ij, and v ≤ 0 where rows < cols, u ≤ 0 where rows > cols
/// ```
///
/// `costs` lie row after row; `f64::INFINITY` forbids a pair, and the other costs are at most 1e300 in size. The prices
/// solve the second problem: `u_i + v_j = c_ij` on matched pairs, and a row or column that is left over has price 0.
/// The signs and the zeros are exact, the rest is so up to the rounding of sums of costs; costs that are whole numbers,
/// and small enough for their sums to be exact, give exact optima. The same costs give the same matching, ties included.
///
/// O(rows² · cols) at worst, with rows the lesser side: rows bid for columns as long as that is cheap (augmenting row
/// reduction of Jonker and Volgenant 1987), then each row that is still free finds a shortest augmenting path (Crouse
/// 2016); up to 64 columns there are paths alone. From 1024 columns on a row lists its 64 cheapest columns, 1 kB a row: prices of columns only fall, so that any
/// other column still costs at least what the last of the list did, and mostly need not be looked at. Problems of more
/// rows than columns are copied, columns for rows.
///
/// ```
/// use ordain::structure::matching::assignment::{Work, solve};
/// let mut work = Work::default();
/// let best = solve(&[4.0, 1.0, 3.0, 2.0, 0.0, 5.0], 2, 3, &mut work)?;
/// assert_eq!((best.cost, best.column_of), (3.0, &[Some(1), Some(0)][..]));
/// assert_eq!((best.row_dual, best.column_dual), (&[3.0, 2.0][..], &[0.0, -2.0, 0.0][..]));
/// # Ok::<(), ordain::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Data`] for a cost that is not a number, is −∞ or too large, or for sizes that do not fit;
/// [`Error::Infeasible`] where the forbidden pairs leave no matching; [`Error::Interrupted`] where [`Work::stopped_by`] says so, which is asked
/// for each row that is read.
pub fn solve<'a>(costs: &[f64], rows: usize, cols: usize, work: &'a mut Work) -> Result<Matched<'a>> {
    if rows.max(cols) <= SMALL {
        return solve_by(Way::Small, costs, rows, cols, work);
    }
    solve_with_bids(costs, rows, cols, work)
}

/// [`solve`] with bids at every size: of several cheapest matchings, and of several prices for one, training takes these.
pub(super) fn solve_with_bids<'a>(costs: &[f64], rows: usize, cols: usize, work: &'a mut Work) -> Result<Matched<'a>> {
    let way = if rows.max(cols) < LISTS_FROM { Way::Blocks } else { Way::Lists(LISTED) };
    solve_by(way, costs, rows, cols, work)
}

/// [`solve`] on a given way.
fn solve_by<'a>(way: Way, costs: &[f64], rows: usize, cols: usize, work: &'a mut Work) -> Result<Matched<'a>> {
    if rows.checked_mul(cols) != Some(costs.len()) || rows.max(cols) >= NOBODY as usize {
        return Err(Error::Data {
            expected: format!("{rows} x {cols} costs, fewer than 2^32 - 1 each way"),
            found: format!("{} costs", costs.len()),
        });
    }
    work.v.clear();
    work.v.resize(cols, f64::INFINITY);
    if !lower(costs, &mut work.v) {
        return Err(misfit(costs, cols));
    }
    let done = if rows <= cols {
        // a column that may be left over has to start at price 0
        let square = rows == cols;
        work.v.iter_mut().filter(|v| !square || v.is_infinite()).for_each(|v| *v = 0.0);
        work.run(way, costs, rows).map_err(|halt| (halt, "row"))
    } else {
        work.v.clear();
        work.v.resize(rows, 0.0);
        let mut flipped = std::mem::take(&mut work.flipped);
        flip(costs, cols, &mut flipped);
        let done = work.run(way, &flipped, cols).map_err(|halt| (halt, "column"));
        work.flipped = flipped;
        done
    };
    let cost = done.map_err(|(halt, side)| match halt {
        Halt::Unmatched(index) => Error::Infeasible { side, index },
        Halt::Stopped => Error::Interrupted,
    })?;
    work.matched.clear();
    if rows <= cols {
        work.matched.extend(work.column_of.iter().map(|&j| Some(j)));
    } else {
        work.matched.extend(work.row_of.iter().map(|&j| (j != NOBODY).then_some(j)));
    }
    let (lesser, greater) = (&work.u[..], &work.v[..rows.max(cols)]);
    let (row_dual, column_dual) = if rows <= cols { (lesser, greater) } else { (greater, lesser) };
    Ok(Matched { cost, column_of: &work.matched, row_dual, column_dual })
}

/// Lowers `least` to the least cost of each column; whether all costs are fit to be used.
fn lower(costs: &[f64], least: &mut [f64]) -> bool {
    let mut fit = true;
    for row in costs.chunks_exact(least.len().max(1)) {
        for (least, &cost) in least.iter_mut().zip(row) {
            *least = if cost < *least { cost } else { *least };
            fit &= (cost.abs() <= LARGEST) | (cost == f64::INFINITY);
        }
    }
    fit
}

#[cold]
fn misfit(costs: &[f64], cols: usize) -> Error {
    let at = costs.iter().position(|&cost| !lower(&[cost], &mut [0.0])).unwrap_or(0);
    Error::Data {
        expected: format!("costs of at most {LARGEST:e} in size, or infinity for a pair that is forbidden"),
        found: format!("{} in row {}, column {} (counted from 0)", costs[at], at / cols, at % cols),
    }
}

/// Columns for rows, in squares that stay in the cache.
fn flip(costs: &[f64], cols: usize, flipped: &mut Vec<f64>) {
    const SIDE: usize = 32;
    let rows = costs.len().checked_div(cols).unwrap_or(0);
    flipped.clear();
    flipped.resize(costs.len(), 0.0);
    for top in (0..rows).step_by(SIDE) {
        for left in (0..cols).step_by(SIDE) {
            for j in left..cols.min(left + SIDE) {
                for i in top..rows.min(top + SIDE) {
                    flipped[j * rows + i] = costs[i * cols + j];
                }
            }
        }
    }
}

impl Work {
    /// The same, but it asks whether to stop.
    pub fn stopped_by(self, stop: Interrupt) -> Self {
        Self { stop, ..self }
    }

    /// Matches all rows and prices them, from prices of columns that may only fall; or names a row that has no match.
    fn run(&mut self, way: Way, costs: &[f64], rows: usize) -> std::result::Result<f64, Halt> {
        self.row_of.clear();
        self.row_of.resize(self.v.len(), NOBODY);
        self.column_of.clear();
        self.column_of.resize(rows, 0);
        self.paid.clear();
        self.paid.resize(rows, 0.0);
        match way {
            Way::Small => (0..rows).try_for_each(|i| self.augment_small(costs, i))?,
            Way::Blocks => self.match_blocks(costs, rows, 0)?,
            Way::Lists(length) => self.match_blocks(costs, rows, length)?,
        }
        self.u.clear();
        self.u.extend(self.paid.iter().zip(&self.column_of).map(|(paid, &j)| paid - self.v[j as usize]));
        Ok(self.paid.iter().fold(0.0, |sum, paid| sum + paid))
    }

    /// By bids and paths, with lists of `listed` columns, or none where that is 0.
    fn match_blocks(&mut self, costs: &[f64], rows: usize, listed: usize) -> std::result::Result<(), Halt> {
        let cols = self.v.len();
        self.v.resize(cols.next_multiple_of(BLOCK), 0.0);
        self.free.clear();
        self.free.extend(0..rows as u32);
        self.next.clear();
        self.next.reserve(rows);
        self.lists.clear(rows, cols, listed);
        self.search.resize(rows, cols);

        // two rounds as in the paper; more bids pay only where lists save the reading of rows
        let mut again = if self.lists.on { 16 * rows } else { rows / 2 };
        for _ in 0..2 {
            self.bid(costs, &mut again)?;
        }
        if !self.free.is_empty() {
            self.search.clear(&self.row_of);
        }
        for at in 0..self.free.len() {
            self.augment(costs, self.free[at] as usize)?;
        }
        Ok(())
    }

    /// What [`Work::augment`] does, for few columns.
    fn augment_small(&mut self, costs: &[f64], start: usize) -> std::result::Result<(), Halt> {
        let Self { v, row_of, column_of, paid, open, .. } = self;
        let cols = row_of.len();
        let row = &costs[start * cols..][..cols];
        let mut low = f64::INFINITY;
        for ((distance, cost), price) in open.distance.iter_mut().zip(row).zip(&*v) {
            *distance = cost - price;
            low = lesser(low, *distance);
        }
        // most paths are one step long
        let mut at = open.find(cols, low);
        if low < f64::INFINITY && row_of[at] == NOBODY {
            row_of[at] = start as u32;
            column_of[start] = at as u32;
            paid[start] = row[at];
            return Ok(());
        }
        open.price[..cols].copy_from_slice(v);
        (0u32..).zip(&mut open.column[..cols]).for_each(|(j, column)| *column = j);
        open.from[..cols].fill(start as u32);
        let mut left = cols; // those behind are settled
        let far = loop {
            if low.is_infinite() {
                return Err(Halt::Unmatched(start));
            }
            left -= 1;
            open.swap(at, left);
            let i = row_of[open.column[left] as usize];
            if i == NOBODY {
                break low;
            }
            let base = low - (paid[i as usize] - open.price[left]);
            low = open.reach(left, i, base, &costs[i as usize * cols..][..cols]);
            at = open.find(left, low);
        };
        for k in left + 1..cols {
            v[open.column[k] as usize] = open.price[k] - (far - open.distance[k]);
        }
        let mut k = left;
        loop {
            let (i, j) = (open.from[k] as usize, open.column[k] as usize);
            row_of[j] = i as u32;
            paid[i] = costs[i * cols + j];
            let last = std::mem::replace(&mut column_of[i], j as u32);
            if i == start {
                return Ok(());
            }
            k = open.column[..cols].iter().position(|&column| column == last).unwrap_or(0);
        }
    }

    /// Each free row takes its cheapest column and lowers the price so far that its second choice is as good; the row
    /// that had the column bids next, `again` times in all. Who is free after that is left in `free`.
    fn bid(&mut self, costs: &[f64], again: &mut usize) -> std::result::Result<(), Halt> {
        let cols = self.row_of.len();
        for at in 0..self.free.len() {
            let mut i = self.free[at] as usize;
            loop {
                self.stop.check()?;
                let row = &costs[i * cols..][..cols];
                let best = if self.lists.on { self.lists.best(i, row, &self.v) } else { Best::of_row(row, &self.v) };
                if best.first.is_infinite() {
                    return Err(Halt::Unmatched(i));
                }
                let (mut j, gap) = (best.at as usize, best.second - best.first);
                // rounding may swallow the gap; a row with no second choice must not drive the price to -inf
                let falls = gap < f64::INFINITY && self.v[j] - gap < self.v[j];
                if falls {
                    self.v[j] -= gap;
                } else if self.row_of[j] != NOBODY && gap < f64::INFINITY {
                    j = best.second_choice(row, &self.v);
                }
                let loser = std::mem::replace(&mut self.row_of[j], i as u32);
                self.column_of[i] = j as u32;
                self.paid[i] = row[j];
                if loser == NOBODY {
                    break;
                }
                if !falls || *again == 0 {
                    self.next.push(loser);
                    break;
                }
                *again -= 1;
                i = loser as usize;
            }
        }
        std::mem::swap(&mut self.free, &mut self.next);
        self.next.clear();
        Ok(())
    }

    /// Matches row `start` by a shortest path over reduced costs, and lowers the prices of the columns settled by it.
    fn augment(&mut self, costs: &[f64], start: usize) -> std::result::Result<(), Halt> {
        let Self { v, row_of, column_of, paid, lists, search, stop, .. } = self;
        let cols = row_of.len();
        search.restart();
        // `base` is the length of the way to row i, less the price of i
        let (mut i, mut base, mut whole) = (start, 0.0, !lists.on);
        loop {
            stop.check()?;
            if whole {
                search.reach_all(i, base, &costs[i * cols..][..cols], v);
            } else {
                search.reach_listed(i, base, lists.of(i), v);
                search.put_off(i, base, lists.floor[i]);
                lists.used += 1;
            }
            match search.nearest(v) {
                Near::Row(put_off, its_base) => {
                    (i, base, whole) = (put_off, its_base, true);
                    search.read.push(i as u32);
                }
                Near::Column(j, distance, price) => {
                    i = row_of[j] as usize;
                    base = distance - (paid[i] - price);
                    whole = !lists.on;
                }
                Near::End => break,
            }
        }
        if search.far.is_infinite() {
            return Err(Halt::Unmatched(start));
        }
        for &(j, distance, price) in &search.settled {
            v[j as usize] = price - (search.far - distance);
        }
        for &i in &search.read {
            lists.renew(i as usize, &costs[i as usize * cols..][..cols], v);
        }
        lists.judge(search.read.len());
        let mut j = search.finish();
        loop {
            let i = search.from[j];
            row_of[j] = i as u32;
            paid[i] = costs[i * cols + j];
            let last = std::mem::replace(&mut column_of[i], j as u32);
            if i == start {
                return Ok(());
            }
            j = last as usize;
        }
    }
}

/// The lesser of two numbers, neither of them NaN: one instruction, unlike [`f64::min`].
#[inline(always)]
fn lesser(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// The greater of two numbers, neither of them NaN.
#[inline(always)]
fn greater(a: f64, b: f64) -> f64 {
    if a < b { b } else { a }
}

/// The least of a block, by halves so that several are compared at once.
#[inline(always)]
fn least(mut of: [f64; BLOCK]) -> f64 {
    let mut width = BLOCK / 2;
    while width > 0 {
        for l in 0..width {
            of[l] = lesser(of[l], of[l + width]);
        }
        width /= 2;
    }
    of[0]
}

/// Calls `each` with the blocks of a row, the last one filled up with forbidden pairs.
#[inline(always)]
fn blocks<const N: usize>(row: &[f64], mut each: impl FnMut(usize, &[f64; N])) {
    let (whole, rest) = row.as_chunks();
    for (b, costs) in whole.iter().enumerate() {
        each(b, costs);
    }
    if !rest.is_empty() {
        let mut last = [f64::INFINITY; N];
        last[..rest.len()].copy_from_slice(rest);
        each(whole.len(), &last);
    }
}

/// The two least reduced costs of a row and their columns; the second column may have to be looked for.
struct Best {
    first: f64,
    second: f64,
    at: u32,
    next: Option<u32>,
}

impl Best {
    fn of_row(row: &[f64], v: &[f64]) -> Self {
        const LANES: usize = 8;
        let (mut first, mut second) = ([f64::INFINITY; LANES], [f64::INFINITY; LANES]);
        let prices = v.as_chunks::<LANES>().0;
        blocks::<LANES>(row, |b, costs| {
            for l in 0..LANES {
                let reduced = costs[l] - prices[b][l];
                second[l] = lesser(second[l], greater(first[l], reduced));
                first[l] = lesser(first[l], reduced);
            }
        });
        let mut width = LANES / 2;
        while width > 0 {
            for l in 0..width {
                let (one, other) = (first[l], first[l + width]);
                second[l] = lesser(lesser(second[l], second[l + width]), greater(one, other));
                first[l] = lesser(one, other);
            }
            width /= 2;
        }
        let at = row.iter().zip(v).position(|(cost, v)| cost - v <= first[0]).unwrap_or(0);
        Self { first: first[0], second: second[0], at: at as u32, next: None }
    }

    fn of_list(list: &[(f64, u32)], v: &[f64]) -> Self {
        let mut best = Self { first: f64::INFINITY, second: f64::INFINITY, at: 0, next: Some(0) };
        for &(cost, j) in list {
            let reduced = cost - v[j as usize];
            if reduced < best.first {
                best = Self { first: reduced, second: best.first, at: j, next: Some(best.at) };
            } else if reduced < best.second {
                (best.second, best.next) = (reduced, Some(j));
            }
        }
        best
    }

    fn second_choice(&self, row: &[f64], v: &[f64]) -> usize {
        let look = || (0..row.len()).find(|&j| j != self.at as usize && row[j] - v[j] <= self.second);
        self.next.map(|j| j as usize).or_else(look).unwrap_or(self.at as usize)
    }
}

/// For each row the columns that were cheapest at some time. Prices only fall, so that the others still cost at least
/// `floor`, the most that a listed one did then.
#[derive(Default)]
struct Lists {
    on: bool,
    length: usize,
    entries: Vec<(f64, u32)>,
    floor: Vec<f64>,
    found: Vec<(f64, u32)>,
    used: usize,
    passed: usize,
}

impl Lists {
    fn clear(&mut self, rows: usize, cols: usize, length: usize) {
        let length = length.min(cols);
        let (on, rows) = if length >= 2 { (true, rows) } else { (false, 0) };
        (self.on, self.length, self.used, self.passed) = (on, length, 0, 0);
        self.entries.clear();
        self.entries.resize(rows * length, (f64::INFINITY, 0));
        self.floor.clear();
        self.floor.resize(rows, f64::NEG_INFINITY);
        self.found.clear();
        self.found.reserve(2 * length);
    }

    fn of(&self, i: usize) -> &[(f64, u32)] {
        &self.entries[i * self.length..][..self.length]
    }

    fn best(&mut self, i: usize, row: &[f64], v: &[f64]) -> Best {
        let best = Best::of_list(self.of(i), v);
        if best.second <= self.floor[i] {
            return best;
        }
        self.renew(i, row, v);
        Best::of_list(self.of(i), v)
    }

    /// Lists anew. O(cols): whenever twice the length is found, the dearer half is thrown out and the floor sinks.
    fn renew(&mut self, i: usize, row: &[f64], v: &[f64]) {
        let Self { length, found, .. } = self;
        let length = *length;
        let mut floor = f64::INFINITY;
        let cut = |found: &mut Vec<(f64, u32)>| {
            found.select_nth_unstable_by(length - 1, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            found.truncate(length);
            found[length - 1].0
        };
        found.clear();
        let prices = v.as_chunks::<BLOCK>().0;
        blocks::<BLOCK>(row, |b, costs| {
            if !(0..BLOCK).fold(false, |any, l| any | (costs[l] - prices[b][l] < floor)) {
                return;
            }
            for l in 0..BLOCK {
                let reduced = costs[l] - prices[b][l];
                if reduced < floor {
                    found.push((reduced, (b * BLOCK + l) as u32));
                    if found.len() == 2 * length {
                        floor = cut(found);
                    }
                }
            }
        });
        if found.len() > length {
            floor = cut(found);
        }
        self.floor[i] = floor;
        let list = &mut self.entries[i * length..][..length];
        list.fill((f64::INFINITY, 0));
        for (entry, &(_, j)) in list.iter_mut().zip(found.iter()) {
            *entry = (row[j as usize], j);
        }
    }

    /// Gives up where rows have to be read whole too often: there lists cost more than they save.
    fn judge(&mut self, passed: usize) {
        self.passed += passed;
        self.on &= self.passed * 4 <= self.used + 64;
    }
}

/// Dijkstra's search over few columns, side by side in any order: those that are not settled come first.
struct Open {
    /// Length of the shortest known way.
    distance: [f64; SMALL],
    price: [f64; SMALL],
    column: [u32; SMALL],
    /// The row from which it was reached.
    from: [u32; SMALL],
}

impl Default for Open {
    fn default() -> Self {
        Self { distance: [0.0; SMALL], price: [0.0; SMALL], column: [0; SMALL], from: [0; SMALL] }
    }
}

impl Open {
    /// Goes on from row `i` to the first `left` columns; the least distance of them.
    #[inline(always)]
    fn reach(&mut self, left: usize, i: u32, base: f64, row: &[f64]) -> f64 {
        let (distance, price) = (&mut self.distance[..left], &self.price[..left]);
        let (column, from) = (&self.column[..left], &mut self.from[..left]);
        let mut low = f64::INFINITY;
        for k in 0..left {
            let way = row[column[k] as usize] - price[k] + base;
            let better = way < distance[k];
            from[k] = if better { i } else { from[k] };
            distance[k] = if better { way } else { distance[k] };
            low = lesser(low, distance[k]);
        }
        low
    }

    /// The first of `left` columns that is no further than `low`.
    #[inline(always)]
    fn find(&self, left: usize, low: f64) -> usize {
        self.distance[..left].iter().position(|&distance| distance <= low).unwrap_or(0)
    }

    #[inline(always)]
    fn swap(&mut self, a: usize, b: usize) {
        self.distance.swap(a, b);
        self.price.swap(a, b);
        self.column.swap(a, b);
        self.from.swap(a, b);
    }
}

/// Dijkstra's search from a free row. A settled column leaves it: its price is set to -inf meanwhile.
#[derive(Default)]
struct Search {
    /// Length of the shortest known way to each column that is not settled.
    distance: Vec<f64>,
    /// Least distance within each block.
    least: Vec<f64>,
    /// The row from which each column was reached.
    from: Vec<usize>,
    /// 0 for free columns, infinity for matched ones.
    taken: Vec<f64>,
    /// Least distance of a free column.
    far: f64,
    /// Columns whose shortest way is known: its length, and the price to put back.
    settled: Vec<(u32, f64, f64)>,
    /// Rows of which only the list was looked at: the least that another column can cost, the row, and its base.
    later: BinaryHeap<Reverse<(i64, u32, u64)>>,
    /// Rows that were read whole after that.
    read: Vec<u32>,
}

/// What comes next in order of distance.
enum Near {
    /// A row that was put off, and its base.
    Row(usize, f64),
    /// A column that is settled now: its distance and price.
    Column(usize, f64, f64),
    /// Nothing before the nearest free column.
    End,
}

/// A number in the order of [`f64::total_cmp`].
fn order(x: f64) -> i64 {
    let bits = x.to_bits() as i64;
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

impl Search {
    fn resize(&mut self, rows: usize, cols: usize) {
        let cols = cols.next_multiple_of(BLOCK);
        self.taken.resize(cols, 0.0);
        self.distance.resize(cols, 0.0);
        self.from.resize(cols, 0);
        self.least.resize(cols / BLOCK, 0.0);
        self.restart();
        self.settled.reserve(rows);
        self.later.reserve(rows);
        self.read.reserve(rows);
    }

    fn clear(&mut self, row_of: &[u32]) {
        self.taken.fill(f64::INFINITY);
        for (taken, _) in self.taken.iter_mut().zip(row_of).filter(|(_, row)| **row == NOBODY) {
            *taken = 0.0;
        }
    }

    fn restart(&mut self) {
        self.distance.fill(f64::INFINITY);
        self.least.fill(f64::INFINITY);
        self.far = f64::INFINITY;
        self.settled.clear();
        self.later.clear();
        self.read.clear();
    }

    /// Goes on from row `i` to all columns.
    fn reach_all(&mut self, i: usize, base: f64, row: &[f64], v: &[f64]) {
        let prices = v.as_chunks::<BLOCK>().0;
        let taken = self.taken.as_chunks::<BLOCK>().0;
        let distance = self.distance.as_chunks_mut::<BLOCK>().0;
        let from = self.from.as_chunks_mut::<BLOCK>().0;
        let mut far = self.far;
        blocks::<BLOCK>(row, |b, costs| {
            let (known, old) = (distance[b], &mut from[b]);
            let way: [f64; BLOCK] = std::array::from_fn(|l| costs[l] - prices[b][l] + base);
            if !(0..BLOCK).fold(false, |any, l| any | ((way[l] < known[l]) & (way[l] < far))) {
                return;
            }
            *old = std::array::from_fn(|l| if way[l] < known[l] { i } else { old[l] });
            let near: [f64; BLOCK] = std::array::from_fn(|l| lesser(way[l], known[l]));
            distance[b] = near;
            self.least[b] = least(near);
            far = lesser(far, least(std::array::from_fn(|l| near[l] + taken[b][l])));
        });
        self.far = far;
    }

    /// Goes on from row `i` to the columns of its list.
    fn reach_listed(&mut self, i: usize, base: f64, list: &[(f64, u32)], v: &[f64]) {
        for &(cost, j) in list {
            let j = j as usize;
            let way = cost - v[j] + base;
            if way < self.far && way < self.distance[j] {
                (self.distance[j], self.from[j]) = (way, i);
                self.least[j / BLOCK] = lesser(way, self.least[j / BLOCK]);
                self.far = lesser(self.far, way + self.taken[j]);
            }
        }
    }

    /// Keeps in mind that row `i` has more columns, none of them cheaper than `floor`.
    fn put_off(&mut self, i: usize, base: f64, floor: f64) {
        if floor + base < self.far {
            self.later.push(Reverse((order(floor + base), i as u32, base.to_bits())));
        }
    }

    fn nearest(&mut self, v: &mut [f64]) -> Near {
        let (mut distance, mut block) = (self.far, self.least.len());
        for (b, &least) in self.least.iter().enumerate() {
            if least < distance {
                (distance, block) = (least, b);
            }
        }
        // what was put off goes first among equals: it may lead to a free column at once
        if let Some(&Reverse((floor, i, base))) = self.later.peek()
            && floor <= order(distance)
            && floor < order(self.far)
        {
            self.later.pop();
            return Near::Row(i as usize, f64::from_bits(base));
        }
        let Some(within) = self.distance.as_chunks_mut::<BLOCK>().0.get_mut(block) else { return Near::End };
        let l = within.iter().position(|&d| d <= distance).unwrap_or(0);
        within[l] = f64::INFINITY;
        self.least[block] = least(*within);
        let j = block * BLOCK + l;
        let price = std::mem::replace(&mut v[j], f64::NEG_INFINITY);
        self.settled.push((j as u32, distance, price));
        Near::Column(j, distance, price)
    }

    /// The nearest free column, which is free no more.
    fn finish(&mut self) -> usize {
        let end = self.taken.iter().zip(&self.distance).position(|(taken, d)| taken + d <= self.far).unwrap_or(0);
        self.taken[end] = f64::INFINITY;
        end
    }
}

/// The matching of largest sum where a pair is worth `scores[i] * values[j]`: both sorted, largest to largest.
///
/// ```text
/// max_π Σ s_i c_π(i) = Σ s_(i) c_(i)
/// ```
///
/// by the rearrangement inequality (Hardy, Littlewood and Pólya 1934, Theorem 368). All of the shorter list are
/// matched; where the lists differ in length, its negative numbers take the least numbers of the other one. Equal
/// numbers are taken in order of index. O(n log n), where [`solve`] would need O(n³).
///
/// ```
/// use ordain::structure::matching::assignment::sorted;
/// assert_eq!(sorted(&[0.5, 2.0, -1.0], &[1.0, 0.0, 3.0])?, [Some(0), Some(2), Some(1)]);
/// assert_eq!(sorted(&[0.5, 2.0, -1.0], &[7.0])?, [None, Some(0), None]);
/// # Ok::<(), ordain::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Data`] for a number that is not finite, or for 2^32 − 1 numbers or more.
pub fn sorted(scores: &[f64], values: &[f64]) -> Result<Vec<Option<u32>>> {
    for (name, list) in [("score", scores), ("value", values)] {
        if let Some(at) = list.iter().position(|x| !x.is_finite()) {
            let found = format!("{} as {name} {at} (counted from 0)", list[at]);
            return Err(Error::Data { expected: format!("finite {name}s"), found });
        }
        if list.len() >= NOBODY as usize {
            let found = format!("{} {name}s", list.len());
            return Err(Error::Data { expected: "fewer than 2^32 - 1 numbers".into(), found });
        }
    }
    let falling = |list: &[f64]| {
        let mut order: Vec<u32> = (0..list.len() as u32).collect();
        order.sort_by(|&a, &b| list[b as usize].partial_cmp(&list[a as usize]).unwrap_or(std::cmp::Ordering::Equal));
        order
    };
    let (rows, columns) = (falling(scores), falling(values));
    let (short, list) = if rows.len() <= columns.len() { (&rows, scores) } else { (&columns, values) };
    let top = short.partition_point(|&at| list[at as usize] >= 0.0);
    let skipped = rows.len().abs_diff(columns.len());
    let mut column_of = vec![None; scores.len()];
    for k in 0..short.len() {
        let other = if k < top { k } else { k + skipped };
        let (i, j) = if rows.len() <= columns.len() { (rows[k], columns[other]) } else { (rows[other], columns[k]) };
        column_of[i as usize] = Some(j);
    }
    Ok(column_of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The slow truth: the least cost over all injections of rows `i..` into the columns that are not taken.
    fn slow(costs: &[f64], rows: usize, cols: usize, i: usize, taken: u32) -> f64 {
        if i == rows {
            return 0.0;
        }
        let rest = |j: usize| costs[i * cols + j] + slow(costs, rows, cols, i + 1, taken | 1 << j);
        (0..cols).filter(|j| taken >> j & 1 == 0).map(rest).fold(f64::INFINITY, f64::min)
    }

    /// Sizes, costs, and how far sums of the costs may be off: integers are exact.
    fn problem() -> impl Strategy<Value = (usize, usize, Vec<f64>, f64)> {
        let few = prop_oneof![3 => (0..4i32).prop_map(f64::from), 1 => Just(f64::INFINITY)];
        let whole = prop_oneof![6 => (-50..50i32).prop_map(f64::from), 1 => Just(f64::INFINITY)];
        let any = prop_oneof![8 => -3.0..3.0f64, 1 => Just(f64::INFINITY), 1 => Just(-0.0)];
        (0..7usize, 0..8usize).prop_flat_map(move |(rows, cols)| {
            let costs = |one: BoxedStrategy<f64>| prop::collection::vec(one, rows * cols);
            let exact = prop_oneof![costs(few.clone().boxed()), costs(whole.clone().boxed())];
            prop_oneof![
                exact.prop_map(move |costs| (rows, cols, costs, 0.0)),
                costs(any.clone().boxed()).prop_map(move |costs| (rows, cols, costs, 1e-12)),
            ]
        })
    }

    fn way() -> impl Strategy<Value = Way> {
        prop_oneof![Just(Way::Small), Just(Way::Blocks), (2..5usize).prop_map(Way::Lists)]
    }

    fn flipped(costs: &[f64], cols: usize) -> Vec<f64> {
        let mut other = vec![];
        flip(costs, cols, &mut other);
        other
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(crate::cases::cases(3000)))]
        #[test]
        fn equals_enumeration((rows, cols, costs, slack) in problem(), way in way()) {
            let truth = if rows <= cols {
                slow(&costs, rows, cols, 0, 0)
            } else {
                slow(&flipped(&costs, cols), cols, rows, 0, 0)
            };
            let mut work = Work::default();
            match solve_by(way, &costs, rows, cols, &mut work) {
                Ok(best) => {
                    prop_assert!((best.cost - truth).abs() <= slack, "{} is not {truth}", best.cost);
                    prop_assert_eq!((best.row_dual.len(), best.column_dual.len()), (rows, cols));
                    prop_assert_eq!(best.column_of.iter().flatten().count(), rows.min(cols));
                    let mut left = vec![true; cols];
                    for (i, (u, &column)) in best.row_dual.iter().zip(best.column_of).enumerate() {
                        for (j, v) in best.column_dual.iter().enumerate() {
                            prop_assert!(u + v <= costs[i * cols + j] + slack);
                        }
                        if let Some(j) = column {
                            let j = j as usize;
                            prop_assert!(std::mem::replace(&mut left[j], false));
                            prop_assert!((u + best.column_dual[j] - costs[i * cols + j]).abs() <= slack);
                        }
                        prop_assert!(rows <= cols || *u <= 0.0 && (column.is_some() || *u >= 0.0));
                    }
                    for (v, left) in best.column_dual.iter().zip(left) {
                        prop_assert!(rows >= cols || *v <= 0.0 && (!left || *v >= 0.0));
                    }
                }
                Err(Error::Infeasible { side, index }) => {
                    prop_assert!(truth.is_infinite());
                    prop_assert_eq!(side, if rows <= cols { "row" } else { "column" });
                    prop_assert!(index < rows.min(cols));
                }
                Err(other) => prop_assert!(false, "{other}"),
            }
        }

        #[test]
        fn a_used_work_gives_the_same(problems in prop::collection::vec(problem(), 1..6), way in way()) {
            let mut used = Work::default();
            for (rows, cols, costs, _) in &problems {
                let mut fresh = Work::default();
                let again = solve_by(way, costs, *rows, *cols, &mut used).map_err(|error| error.to_string());
                let first = solve_by(way, costs, *rows, *cols, &mut fresh).map_err(|error| error.to_string());
                prop_assert_eq!(again, first);
            }
        }
    }

    #[test]
    fn order_is_total() {
        let rising = [f64::NEG_INFINITY, -2.0, -1e-300, -0.0, 0.0, 1e-300, 3.0, f64::INFINITY];
        assert!(rising.windows(2).all(|pair| order(pair[0]) < order(pair[1])));
    }
}
