//! The best matching of a graph, the prices that prove it, and what each of its edges is worth.

use super::assignment;
use super::graph::Graph;
use crate::error::{Error, Interrupt, Result};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// No row, no entry: a column that is free, a row that is not matched.
const NOBODY: u32 = u32::MAX;
/// The largest score, so that the sums along a path stay finite.
const LARGEST: f64 = 1e300;
/// From one pair in this many on, pairs are laid out as a matrix: then reading it is faster than following edges.
const DENSE: usize = 4;
/// Bids per row, before paths are looked for.
const BIDS: usize = 16;

/// Scratch of [`best`] and [`forbidden`], kept from call to call: problems of the same size allocate nothing.
///
/// Inside, rows are the lesser side and columns the greater one.
#[derive(Default)]
pub struct Work {
    shape: Option<(usize, usize, usize, bool)>,
    /// The edges of row i are `entries[starts[i]..starts[i + 1]]`, without those that are worth no more than their nulls.
    starts: Vec<u32>,
    entries: Vec<Entry>,
    /// How many of them there can be.
    most: usize,
    /// What a row or column is worth unmatched; −∞ where it has to be matched.
    row_stays: Vec<f64>,
    column_stays: Vec<f64>,
    p: Vec<f64>,
    q: Vec<f64>,
    row_of: Vec<u32>,
    entry_of: Vec<u32>,
    free: Vec<u32>,
    next: Vec<u32>,
    search: Search,
    back: Search,
    pairs: Pairs,
    costs: Vec<f64>,
    dense: assignment::Work,
    edges: Vec<u32>,
    stop: Interrupt,
}

#[derive(Clone, Copy)]
struct Entry {
    score: f64,
    column: u32,
    edge: u32,
}

/// A best matching and its dual solution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Best<'a> {
    /// [`Graph::score`] of the matching.
    pub score: f64,
    /// The matched edges, ascending.
    pub edges: &'a [u32],
    /// The price `p` of each left item.
    pub left_dual: &'a [f64],
    /// The price `q` of each right item.
    pub right_dual: &'a [f64],
}

/// The matching of the largest score, over a table of scores as [`Graph`] has it.
///
/// ```text
/// maximise score(y)          over the matchings y of the graph
/// minimise Σ p_i + Σ q_j     over p_i + q_j ≥ s_ij on every edge,
///                            p_i ≥ s_{E+i} where left items may stay unmatched, q_j ≥ s_{E+n+j} where right ones may
/// ```
///
/// where without `null` an item that may stay does so for 0, and the prices of a side that has to be matched may have any
/// sign. The prices solve the second problem, so that both sums are equal: `p_i + q_j = s_ij` on matched edges, and an item
/// that stays unmatched has the price at which it does. This holds up to the rounding of sums of scores; scores that are
/// whole numbers, and small enough for their sums to be exact, give exact optima. The same scores give the same matching,
/// ties included.
///
/// O(r (E + r) log E) at worst, with r the lesser side, and O(E + n + m) memory. Edges that are worth no more than the two
/// nulls of their ends are dropped; items of the lesser side bid for those of the greater one as long as that is cheap, and
/// then each that is still free finds a shortest augmenting path over the edges, which may end where one of the items on the
/// path goes unmatched. Where there is no `null`, and a quarter or more of all pairs are edges, they are laid out as a matrix
/// for [`assignment::solve`], in O(n m) memory.
///
/// ```
/// use ordain::structure::matching::{best::{Work, best}, graph::Graph};
/// let graph = Graph::new(2, 2, &[(0, 0), (0, 1), (1, 1)], true)?;
/// let mut work = Work::default();
/// let s = [1.0, 4.0, 2.0, 0.0, 0.5, 0.0, 0.0]; // three edges, two left and two right items alone
/// let found = best(&graph, &s, &mut work)?;
/// assert_eq!((found.score, found.edges), (4.5, &[1][..]));
/// assert_eq!((found.left_dual[1], found.right_dual[0]), (0.5, 0.0)); // both stay unmatched
/// # Ok::<(), ordain::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Data`] for a table of another length, or a score that is not finite or above 1e300 in size;
/// [`Error::Infeasible`] where there is no matching, which names a left item as `row` or a right one as `column`.
pub fn best<'a>(graph: &Graph, s: &[f64], work: &'a mut Work) -> Result<Best<'a>> {
    check(graph, s)?;
    let flipped = graph.left() > graph.right();
    work.shape = None;
    work.load(graph, s, flipped);
    let (rows, cols) = (work.row_stays.len(), work.q.len());
    let dense = !graph.null() && work.entries.len().saturating_mul(DENSE) >= rows * cols;
    let done = if dense { work.solve_dense() } else { work.solve_sparse() };
    done.map_err(|error| match error {
        Error::Infeasible { index, .. } => Error::Infeasible { side: if flipped { "column" } else { "row" }, index },
        other => other,
    })?;
    work.shape = Some(shape(graph));
    work.finish(flipped);
    let (left_dual, right_dual) = if flipped { (&work.q, &work.p) } else { (&work.p, &work.q) };
    Ok(Best { score: graph.score(s, &work.edges), edges: &work.edges, left_dual, right_dual })
}

/// For each matched edge by how much the best score falls when this edge is forbidden; ∞ where no matching is left then.
///
/// Call it with the graph, the scores and the scratch of the last call of [`best`]; losses come in the order of its edges,
/// and what it found stays as it is.
///
/// ```text
/// loss(e) = score(best) − max { score(y) : e not in y }
/// ```
///
/// A loss of 0 says that another matching without this edge is as good. Forbidding a matched edge shifts one unit of flow
/// to another way between its ends, so that the loss is the length of a shortest path under the prices (Ahuja, Magnanti and
/// Orlin 1993, section 9.11): two searches that meet, O(E log E) at worst per matched edge, and mostly far less.
///
/// ```
/// use ordain::structure::matching::{best::{Work, best, forbidden}, graph::Graph};
/// let graph = Graph::new(2, 2, &[(0, 0), (0, 1), (1, 0), (1, 1)], false)?;
/// let (s, mut work, mut losses) = ([5.0, 1.0, 2.0, 1.5], Work::default(), vec![]);
/// assert_eq!(best(&graph, &s, &mut work)?.edges, [0, 3]);
/// forbidden(&graph, &s, &mut work, &mut losses)?;
/// assert_eq!(losses, [3.5, 3.5]); // 6.5 for the one matching, 3 for the other
/// # Ok::<(), ordain::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Data`] where the last call of [`best`] with this scratch failed, or was for a graph of another size.
pub fn forbidden(graph: &Graph, s: &[f64], work: &mut Work, losses: &mut Vec<f64>) -> Result<()> {
    if work.shape != Some(shape(graph)) || s.len() != graph.table() {
        return Err(Error::Data {
            expected: "a best matching of the same graph before its edges are forbidden".into(),
            found: "none, or one of another graph".into(),
        });
    }
    work.lay_pairs();
    losses.clear();
    losses.reserve(graph.lesser());
    let flipped = graph.left() > graph.right();
    for &edge in &work.edges {
        work.stop.check()?;
        let (left, right) = graph.ends(edge as usize);
        let pair = if flipped { right } else { left };
        losses.push(work.pairs.detour(pair, &mut work.search, &mut work.back));
    }
    Ok(())
}

fn shape(graph: &Graph) -> (usize, usize, usize, bool) {
    (graph.left(), graph.right(), graph.edges(), graph.null())
}

fn check(graph: &Graph, s: &[f64]) -> Result<()> {
    if s.len() != graph.table() {
        let expected = format!("a table of {} scores: edges, and with null all items", graph.table());
        return Err(Error::Data { expected, found: format!("{} scores", s.len()) });
    }
    let Some(at) = s.iter().position(|x| x.is_nan() || x.abs() > LARGEST) else { return Ok(()) };
    let (edges, left) = (graph.edges(), graph.left());
    let place = if at < edges {
        let (i, j) = graph.ends(at);
        format!("on the edge of left item {i} and right item {j}")
    } else if at < edges + left {
        format!("of left item {} unmatched", at - edges)
    } else {
        format!("of right item {} unmatched", at - edges - left)
    };
    let expected = format!("scores of at most {LARGEST:e} in size");
    Err(Error::Data { expected, found: format!("{} {place} (counted from 0)", s[at]) })
}

/// Sets all of a buffer.
fn reset<T: Clone>(buffer: &mut Vec<T>, len: usize, value: T) {
    buffer.clear();
    buffer.resize(len, value);
}

impl Work {
    /// The same, but it asks whether to stop.
    pub fn stopped_by(self, stop: Interrupt) -> Self {
        Self { dense: self.dense.stopped_by(stop.clone()), stop, ..self }
    }

    /// Takes the problem over, lesser side for rows, with the lowest prices of columns that may only rise.
    fn load(&mut self, graph: &Graph, s: &[f64], flipped: bool) {
        let (rows, cols) = (graph.lesser(), graph.left().max(graph.right()));
        let alone = |item: usize, left: bool| match (graph.null(), left) {
            (true, true) => graph.left_null(s, item),
            (true, false) => graph.right_null(s, item),
            _ => f64::NEG_INFINITY,
        };
        self.row_stays.clear();
        self.row_stays.extend((0..rows).map(|i| alone(i, !flipped)));
        self.column_stays.clear();
        if rows == cols || graph.null() {
            self.column_stays.extend((0..cols).map(|j| alone(j, flipped)));
        } else {
            self.column_stays.resize(cols, 0.0);
        }

        self.starts.clear();
        self.starts.reserve(rows + 1);
        self.starts.push(0);
        self.entries.clear();
        self.entries.reserve(graph.edges());
        self.most = graph.edges();
        for i in 0..rows {
            let worst = self.row_stays[i];
            let mut take = |edge: usize, column: usize| {
                let score = s[edge];
                if score - self.column_stays[column] > worst {
                    self.entries.push(Entry { score, column: column as u32, edge: edge as u32 });
                }
            };
            if flipped {
                graph.of_right(i).iter().for_each(|&e| take(e as usize, graph.ends(e as usize).0));
            } else {
                graph.of_left(i).for_each(|e| take(e, graph.ends(e).1));
            }
            self.starts.push(self.entries.len() as u32);
        }

        // a column that may be left over has to start at the price of that; others at the best score of any row
        self.q.clear();
        self.q.extend_from_slice(&self.column_stays);
        if rows == cols && !graph.null() {
            for entry in &self.entries {
                let q = &mut self.q[entry.column as usize];
                *q = if entry.score > *q { entry.score } else { *q };
            }
            self.q.iter_mut().filter(|q| q.is_infinite()).for_each(|q| *q = 0.0);
        }
        reset(&mut self.row_of, cols, NOBODY);
        reset(&mut self.entry_of, rows, NOBODY);
        self.edges.clear();
        self.edges.reserve(rows);
    }

    fn of(&self, i: usize) -> std::ops::Range<usize> {
        self.starts[i] as usize..self.starts[i + 1] as usize
    }

    /// The prices of rows, and the edges of the matching.
    fn finish(&mut self, flipped: bool) {
        let Self { entries, entry_of, row_stays, p, q, row_of, edges, .. } = self;
        p.clear();
        p.extend(entry_of.iter().zip(&*row_stays).map(|(&e, &stays)| match entries.get(e as usize) {
            Some(entry) => entry.score - q[entry.column as usize],
            None => stays,
        }));
        if flipped {
            let matched = row_of.iter().filter(|row| **row != NOBODY);
            edges.extend(matched.map(|&i| entries[entry_of[i as usize] as usize].edge));
        } else {
            edges.extend(entry_of.iter().filter_map(|&e| entries.get(e as usize)).map(|entry| entry.edge));
        }
    }

    /// Lays the edges out as a matrix of costs. Not for nulls: they are faster without, as most edges are dropped.
    fn solve_dense(&mut self) -> Result<()> {
        let (rows, cols) = (self.row_stays.len(), self.q.len());
        reset(&mut self.costs, rows * cols, f64::INFINITY);
        for i in 0..rows {
            let row = &mut self.costs[i * cols..][..cols];
            for entry in &self.entries[self.starts[i] as usize..self.starts[i + 1] as usize] {
                row[entry.column as usize] = -entry.score;
            }
        }
        let solved = match assignment::solve_with_bids(&self.costs, rows, cols, &mut self.dense) {
            Ok(solved) => solved,
            Err(error @ (Error::Infeasible { .. } | Error::Interrupted)) => return Err(error),
            Err(_) => return self.solve_sparse(),
        };
        for (q, v) in self.q.iter_mut().zip(solved.column_dual) {
            *q = 0.0 - v;
        }
        for (i, column) in solved.column_of.iter().enumerate() {
            let (Some(column), start) = (*column, self.starts[i] as usize) else { continue };
            let of = &self.entries[start..self.starts[i + 1] as usize];
            if let Ok(at) = of.binary_search_by_key(&column, |entry| entry.column) {
                self.entry_of[i] = (start + at) as u32;
                self.row_of[column as usize] = i as u32;
            }
        }
        Ok(())
    }

    /// Matches all rows from prices of columns that may only rise; or names a row that has no match.
    fn solve_sparse(&mut self) -> Result<()> {
        let (rows, cols) = (self.row_stays.len(), self.q.len());
        self.free.clear();
        self.free.extend(0..rows as u32);
        self.next.clear();
        self.next.reserve(rows);
        self.search.clear(rows, cols, self.most);
        let mut again = BIDS * rows;
        for _ in 0..2 {
            self.bid(&mut again)?;
        }
        for at in 0..self.free.len() {
            self.augment(self.free[at] as usize)?;
        }
        Ok(())
    }

    /// Each free row takes the column that gains most and raises its price so far that the second choice is as good; the
    /// row that had the column bids next, `again` times in all. Who is free after that is left in `free`. A row that gains
    /// no more than alone stays alone for good, as gains only fall.
    fn bid(&mut self, again: &mut usize) -> Result<()> {
        for at in 0..self.free.len() {
            let mut i = self.free[at] as usize;
            loop {
                self.stop.check()?;
                let (mut first, mut second) = ((f64::NEG_INFINITY, NOBODY), (f64::NEG_INFINITY, NOBODY));
                let of = self.of(i);
                for (e, entry) in (of.start as u32..).zip(&self.entries[of]) {
                    let gain = entry.score - self.q[entry.column as usize];
                    if gain > first.0 {
                        (second, first) = (first, (gain, e));
                    } else if gain > second.0 {
                        second = (gain, e);
                    }
                }
                let alone = self.row_stays[i];
                if first.1 == NOBODY && alone.is_infinite() {
                    return Err(unmatched(i));
                }
                if alone >= first.0 {
                    self.entry_of[i] = NOBODY;
                    break;
                }
                let gap = first.0 - if alone > second.0 { alone } else { second.0 };
                let mut e = first.1;
                let mut j = self.entries[e as usize].column as usize;
                // rounding may swallow the gap; a row with no second choice must not drive the price to infinity
                let rises = gap < f64::INFINITY && self.q[j] + gap > self.q[j];
                if rises {
                    self.q[j] += gap;
                } else if self.row_of[j] != NOBODY && second.1 != NOBODY && second.0 >= alone {
                    e = second.1;
                    j = self.entries[e as usize].column as usize;
                }
                let loser = std::mem::replace(&mut self.row_of[j], i as u32);
                self.entry_of[i] = e;
                if loser == NOBODY {
                    break;
                }
                self.entry_of[loser as usize] = NOBODY;
                if !rises || *again == 0 {
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

    /// Matches row `start` by a shortest path over reduced scores, and raises the prices of the columns settled by it.
    fn augment(&mut self, start: usize) -> Result<()> {
        let Self { starts, entries, row_stays, q, row_of, entry_of, search, stop, .. } = self;
        let of = |i: usize| starts[i] as usize..starts[i + 1] as usize;
        let gains = entries[of(start)].iter().map(|entry| entry.score - q[entry.column as usize]);
        // the length of the way to a row, and its price
        let mut base = gains.fold(row_stays[start], |most, gain| if gain > most { gain } else { most });
        if base.is_infinite() {
            return Err(unmatched(start));
        }
        let (mut i, mut far, mut end) = (start, f64::INFINITY, End::Row(start));
        loop {
            stop.check()?;
            if base - row_stays[i] < far {
                (far, end) = (base - row_stays[i], End::Row(i));
            }
            for (e, entry) in (starts[i]..).zip(&entries[of(i)]) {
                let j = entry.column as usize;
                let way = base - (entry.score - q[j]);
                if way < far && search.shorter(j, way, (i as u32, e)) {
                    if row_of[j] == NOBODY {
                        (far, end) = (way, End::Column(j));
                    } else {
                        search.push(j, way);
                    }
                }
            }
            let Some((j, distance)) = search.settle(far) else { break };
            i = row_of[j] as usize;
            base = distance + (entries[entry_of[i] as usize].score - q[j]);
        }
        if far.is_infinite() {
            return Err(unmatched(start));
        }
        for &(j, distance) in &search.settled {
            q[j as usize] += far - distance;
        }
        let mut gap = match end {
            End::Column(j) => Some(j),
            End::Row(i) => {
                let last = std::mem::replace(&mut entry_of[i], NOBODY);
                entries.get(last as usize).map(|entry| entry.column as usize)
            }
        };
        while let Some(j) = gap {
            let (i, e) = search.from[j];
            row_of[j] = i;
            let last = std::mem::replace(&mut entry_of[i as usize], e);
            gap = entries.get(last as usize).map(|entry| entry.column as usize);
        }
        search.restart();
        Ok(())
    }

    /// Lays out what can be exchanged between matched pairs, and the shortest ways of each pair out of the matching and in.
    fn lay_pairs(&mut self) {
        let Self { starts, entries, row_stays, column_stays, p, q, row_of, entry_of, search, back, pairs, .. } = self;
        let (rows, cols) = (p.len(), q.len());
        search.clear(rows, cols, self.most + rows);
        back.clear(rows, cols, self.most + rows);
        pairs.clear(rows, self.most);
        for (i, &own) in entry_of.iter().enumerate() {
            if let Some(entry) = entries.get(own as usize) {
                let j = entry.column as usize;
                pairs.leave[i] = positive(p[i] - row_stays[i]);
                pairs.enter[i] = lesser(pairs.enter[i], positive(q[j] - column_stays[j]));
            }
            for (e, entry) in (starts[i]..).zip(&entries[starts[i] as usize..starts[i + 1] as usize]) {
                let j = entry.column as usize;
                let (weight, to) = (positive(p[i] - (entry.score - q[j])), row_of[j]);
                match (own != NOBODY, to != NOBODY) {
                    (true, true) if own != e => pairs.arcs.push((i as u32, Arc { weight, pair: to })),
                    (true, false) => pairs.leave[i] = lesser(pairs.leave[i], weight),
                    (false, true) => pairs.enter[to as usize] = lesser(pairs.enter[to as usize], weight),
                    _ => {}
                }
            }
        }
        pairs.connect();
        pairs.ahead.spread(&mut pairs.enter, search);
        pairs.behind.spread(&mut pairs.leave, search);
    }
}

/// A row that has no match.
fn unmatched(index: usize) -> Error {
    Error::Infeasible { side: "row", index }
}

/// A number that is not negative but for rounding.
fn positive(x: f64) -> f64 {
    if x > 0.0 { x } else { 0.0 }
}

/// From one matched pair to another: the row of the first takes the column of the second.
#[derive(Clone, Copy, Default)]
struct Arc {
    weight: f64,
    pair: u32,
}

/// The arcs of each pair, shortest first.
#[derive(Default)]
struct Arcs {
    starts: Vec<u32>,
    arcs: Vec<Arc>,
}

impl Arcs {
    fn of(&self, pair: usize) -> &[Arc] {
        &self.arcs[self.starts[pair] as usize..self.starts[pair + 1] as usize]
    }

    fn fill(&mut self, rows: usize, all: &[(u32, Arc)], ends: impl Fn(&(u32, Arc)) -> (u32, Arc)) {
        reset(&mut self.starts, rows + 2, 0);
        reset(&mut self.arcs, all.len(), Arc::default());
        all.iter().for_each(|arc| self.starts[ends(arc).0 as usize + 2] += 1);
        (2..rows + 2).for_each(|k| self.starts[k] += self.starts[k - 1]);
        for (from, arc) in all.iter().map(ends) {
            let at = &mut self.starts[from as usize + 1];
            self.arcs[*at as usize] = arc;
            *at += 1;
        }
        for pair in 0..rows {
            let of = self.starts[pair] as usize..self.starts[pair + 1] as usize;
            self.arcs[of].sort_unstable_by(|a, b| a.weight.total_cmp(&b.weight).then(a.pair.cmp(&b.pair)));
        }
    }

    /// Shortens distances along the arcs, as far as they go.
    fn spread(&self, distance: &mut [f64], search: &mut Search) {
        for (pair, &way) in distance.iter().enumerate().filter(|(_, way)| way.is_finite()) {
            search.push(pair, way);
        }
        while let Some((pair, near)) = search.pop() {
            if near > distance[pair] {
                continue;
            }
            for arc in self.of(pair) {
                let known = &mut distance[arc.pair as usize];
                if near + arc.weight < *known {
                    *known = near + arc.weight;
                    search.push(arc.pair as usize, *known);
                }
            }
        }
        search.restart();
    }
}

/// The matched pairs, named by their rows, as a graph of what they can exchange.
#[derive(Default)]
struct Pairs {
    arcs: Vec<(u32, Arc)>,
    ahead: Arcs,
    behind: Arcs,
    /// The least loss as one of the pairs from here on gives its column up, and its row stays alone or takes a free one.
    leave: Vec<f64>,
    /// The least loss as a column up to here is left over, or goes to a row that was alone.
    enter: Vec<f64>,
}

impl Pairs {
    fn clear(&mut self, rows: usize, most: usize) {
        for arcs in [&mut self.ahead.arcs, &mut self.behind.arcs] {
            arcs.clear();
            arcs.reserve(most);
        }
        self.arcs.clear();
        self.arcs.reserve(most);
        reset(&mut self.leave, rows, f64::INFINITY);
        reset(&mut self.enter, rows, f64::INFINITY);
    }

    fn connect(&mut self) {
        let Self { arcs, ahead, behind, leave, .. } = self;
        ahead.fill(leave.len(), arcs, |&arc| arc);
        behind.fill(leave.len(), arcs, |&(from, Arc { weight, pair })| (pair, Arc { weight, pair: from }));
    }

    /// The shortest cycle through a pair, or way out and in again: Dijkstra's search from both ends at once.
    fn detour(&self, start: usize, ahead: &mut Search, behind: &mut Search) -> f64 {
        let mut least = self.leave[start] + self.enter[start];
        let (mut near, mut other) = (0.0, 0.0);
        Self::expand(&self.ahead, start, (start, near, other), ahead, behind, &mut least);
        Self::expand(&self.behind, start, (start, near, other), behind, ahead, &mut least);
        loop {
            (near, other) = (ahead.nearest(), behind.nearest());
            if near + other >= least {
                break;
            }
            if near <= other {
                if let Some((pair, near)) = ahead.pop_valid() {
                    Self::expand(&self.ahead, start, (pair, near, other), ahead, behind, &mut least);
                }
            } else if let Some((pair, other)) = behind.pop_valid() {
                Self::expand(&self.behind, start, (pair, other, near), behind, ahead, &mut least);
            }
        }
        ahead.restart();
        behind.restart();
        least
    }

    /// Goes on from a pair at distance `near`, where the search that comes to meet this one stands at `other`.
    #[inline(always)]
    fn expand(
        arcs: &Arcs,
        start: usize,
        (pair, near, other): (usize, f64, f64),
        own: &mut Search,
        meets: &Search,
        least: &mut f64,
    ) {
        for arc in arcs.of(pair) {
            let (way, to) = (near + arc.weight, arc.pair as usize);
            if way >= *least {
                break;
            }
            if to == start {
                *least = way;
                break;
            }
            *least = lesser(*least, way + meets.distance[to]);
            if way + other < *least && own.shorter(to, way, (0, 0)) {
                own.push(to, way);
            }
        }
    }
}

/// The lesser of two numbers, neither of them NaN.
fn lesser(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// Where an augmenting path ends: at a free column, or at a row that goes unmatched.
enum End {
    Column(usize),
    Row(usize),
}

/// Dijkstra's search over columns.
#[derive(Default)]
struct Search {
    /// Length of the shortest known way to each column; −∞ once it is settled.
    distance: Vec<f64>,
    /// The row and the entry by which each column was reached.
    from: Vec<(u32, u32)>,
    /// Columns that were reached.
    reached: Vec<u32>,
    /// Columns that are settled, and how far they are.
    settled: Vec<(u32, f64)>,
    /// Distances in their order, with columns; a way that was shortened later stays in it.
    heap: BinaryHeap<Reverse<(i64, u32)>>,
}

/// A number in the order of [`f64::total_cmp`], and back again.
fn order(bits: i64) -> i64 {
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

impl Search {
    fn clear(&mut self, rows: usize, cols: usize, entries: usize) {
        reset(&mut self.distance, cols, f64::INFINITY);
        self.from.resize(cols, (0, 0));
        self.reached.clear();
        self.reached.reserve(cols);
        self.settled.clear();
        self.settled.reserve(rows);
        self.heap.clear();
        self.heap.reserve(entries);
    }

    fn restart(&mut self) {
        self.reached.iter().for_each(|&j| self.distance[j as usize] = f64::INFINITY);
        self.reached.clear();
        self.settled.clear();
        self.heap.clear();
    }

    /// Keeps this way to column `j` in mind where it is the shortest so far.
    #[inline(always)]
    fn shorter(&mut self, j: usize, way: f64, from: (u32, u32)) -> bool {
        let known = &mut self.distance[j];
        if way >= *known {
            return false;
        }
        if *known == f64::INFINITY {
            self.reached.push(j as u32);
        }
        *known = way;
        self.from[j] = from;
        true
    }

    #[inline(always)]
    fn push(&mut self, j: usize, way: f64) {
        self.heap.push(Reverse((order(way.to_bits() as i64), j as u32)));
    }

    /// The nearest of all that wait.
    #[inline(always)]
    fn pop(&mut self) -> Option<(usize, f64)> {
        self.heap.pop().map(|Reverse((key, j))| (j as usize, f64::from_bits(order(key) as u64)))
    }

    /// The same, where no shorter way was found since.
    #[inline(always)]
    fn pop_valid(&mut self) -> Option<(usize, f64)> {
        self.pop().filter(|&(j, way)| way <= self.distance[j])
    }

    /// How far the nearest is that waits.
    #[inline(always)]
    fn nearest(&self) -> f64 {
        self.heap.peek().map_or(f64::INFINITY, |Reverse((key, _))| f64::from_bits(order(*key) as u64))
    }

    /// The nearest column that is not settled, which it is then; none where it is not nearer than `far`.
    #[inline(always)]
    fn settle(&mut self, far: f64) -> Option<(usize, f64)> {
        while self.nearest() < far {
            if let Some((j, way)) = self.pop_valid() {
                self.distance[j] = f64::NEG_INFINITY;
                self.settled.push((j as u32, way));
                return Some((j, way));
            }
        }
        None
    }
}
