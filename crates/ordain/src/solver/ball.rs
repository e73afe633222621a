//! The core-set machine of "Ball Ranking Machines" \[BRM\]: a ball around all pairs of documents, held by a few of them.
//!
//! A pair w = (query, i, j) has a document i of a higher level than j. It is the point `x_w = (φ_i − φ_j, e_w/√C)`, and
//! `H = x'x` (\[BRM\] Eq. (6) and (12)). What is solved on the simplex is, with `b = 0` or `b = diag(H)`,
//!
//! `q(α) = α'Hα − b'α`, of which half the slope is `u = Hα − b/2`.
//!
//! * [`Geometry::Centred`], `b = 0`: \[BRM\] Eq. (5), the dual of the ranking machine with squared hinges,
//!   `min q = 1/(2 min P)` for `P(w) = |w|²/2 + C/2·Σ (1 − w·x_w)₊²`. Each point has one coordinate more, which makes its
//!   norm `√η` and is 0 in the centre: `|c − x_w|² = |c|² − 2u_w + η`, and the furthest pair is the most violated one.
//! * [`Geometry::Plain`], `b = diag(H)`: the ball as printed, Eq. (8), `|c − x_w|² = |c|² − 2u_w`. It is another machine,
//!   whose margin grows with the distance of the two documents.
//!
//! In both `r² = η − q` (η = 0 in the plain ball) is a lower bound of the smallest ball.

use crate::error::{Error, Result};
use crate::kernel::{Columns, Form};
use crate::matrix::{axpy, axpy_row, dot, finite};
use crate::random::Random;
use crate::traits::{Progress, Solver, Stop};
use std::collections::HashMap;
use std::ops::Range;

/// Which ball is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Geometry {
    /// Around a centre whose last coordinate is 0: it solves \[BRM\] Eq. (5).
    Centred,
    /// As printed: it solves \[BRM\] Eq. (8), which is not Eq. (5) unless all pairs are equally far apart.
    Plain,
}

/// How a pair outside the ball is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oracle {
    /// The worst of some random pairs of one query, the queries in turn.
    Turn,
    /// The worst of some random pairs of all queries, each pair as likely as another.
    Sample,
    /// The furthest pair of all.
    Exact,
}

/// What is done with a pair that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inner {
    /// The problem of the core set is solved anew: the smallest ball around its pairs.
    Qp,
    /// The t-th centre moves to the pair by the 1/(t + 1)-th of the way.
    BadoiuClarkson,
}

/// When it is finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// No pair is found outside the ball of radius (1 + ε)r. Of sampled pairs this certifies nothing, and ε is not an
    /// accuracy of the objective: it is measured with η.
    Epsilon,
    /// The certified gap, as a share, is at most ε.
    Gap,
}

/// What can be chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// C of `C/2·Σ ξ²`.
    pub c: f64,
    /// ε.
    pub epsilon: f64,
    /// Which ball.
    pub geometry: Geometry,
    /// How pairs are found.
    pub oracle: Oracle,
    /// How many random pairs are drawn at a time; the worst of 59 is among the worst twentieth with probability 0.95.
    pub sample: usize,
    /// What is done with them.
    pub inner: Inner,
    /// When it is finished.
    pub until: Until,
    /// Where randomness comes from.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            c: 1.0,
            epsilon: 1e-3,
            geometry: Geometry::Centred,
            oracle: Oracle::Turn,
            sample: 59,
            inner: Inner::Qp,
            until: Until::Epsilon,
            seed: 1,
        }
    }
}

/// Documents of a block that are ranked together.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// The block that they stand in.
    pub block: usize,
    /// Which documents of the block.
    pub documents: Range<usize>,
    /// The level of each, higher is better.
    pub levels: Vec<u32>,
}

/// A pair that holds the ball.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CorePair {
    /// The query, in the order given.
    pub query: u32,
    /// The better document, counted within the block.
    pub better: u32,
    /// The lesser one.
    pub lesser: u32,
    /// α, above 0.
    pub weight: f64,
}

/// What one look at all pairs proves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Certificate {
    /// The objective: `α'Hα`, or `α'Hα − α'diag(H) = −r²` in the plain ball.
    pub f: f64,
    /// `min_w u_w` or below: the smallest `(Hα)_w`, less `H_ww/2` in the plain ball.
    pub least: f64,
    /// A number that the objective cannot fall below: the largest that was proved so far.
    pub lower: f64,
    /// `(f − lower)/f`, or in the plain ball `(R² − r²)/R²` with the radius R of a ball that holds all pairs.
    pub gap: f64,
}

/// Additions between two exact looks of sampled oracles that need a certificate.
const BETWEEN: usize = 50;
/// The problem on the core set is solved to this share of what the test outside allows.
const INNER: f64 = 0.1;
/// Steps after which sums are made anew.
const RENEW: usize = 200;

/// A query with its documents in the order of their levels.
struct Ranked {
    query: u32,
    block: usize,
    order: Vec<u32>,
    /// Where each level ends in `order`.
    ends: Vec<usize>,
    /// Pairs whose better document is of a level before; at the end all.
    before: Vec<u64>,
}

impl Ranked {
    fn new(index: usize, query: &Query) -> Self {
        let mut order: Vec<u32> = (0..query.levels.len() as u32).collect();
        order.sort_by_key(|&i| query.levels[i as usize]);
        let level = |i: u32| query.levels[i as usize];
        let mut ends: Vec<usize> = (1..order.len()).filter(|&at| level(order[at - 1]) != level(order[at])).collect();
        ends.push(order.len());
        let mut before = vec![0; ends.len() + 1];
        for l in 1..ends.len() {
            before[l + 1] = before[l] + (ends[l] - ends[l - 1]) as u64 * ends[l - 1] as u64;
        }
        order.iter_mut().for_each(|i| *i += query.documents.start as u32);
        Self { query: index as u32, block: query.block, order, ends, before }
    }

    fn pairs(&self) -> u64 {
        self.before.last().copied().unwrap_or(0)
    }

    /// Pair number `at`. O(log levels).
    fn pair(&self, at: u64) -> (u32, u32) {
        let l = self.before.partition_point(|&b| b <= at) - 1;
        let (lower, at) = (self.ends[l - 1], (at - self.before[l]) as usize);
        (self.order[lower + at / lower], self.order[at % lower])
    }

    /// The lower documents and the documents of a level, levels upwards.
    fn levels(&self) -> impl Iterator<Item = (&[u32], &[u32])> {
        self.ends.windows(2).map(|w| (&self.order[..w[0]], &self.order[w[0]..w[1]]))
    }

    /// The smallest `F_i − F_j` below `best` over all pairs but those passed over. O(n) where the smallest of all is not
    /// passed over; else the documents are sorted, and pairs are gone through from the smallest on.
    fn worst(&self, scores: &[f64], best: f64, pass_over: impl Fn(u32, u32) -> bool) -> Option<(f64, u32, u32)> {
        let score = |i: u32| scores[i as usize];
        let (mut top, mut from) = (self.order[0], 0);
        let mut found: Option<(f64, u32, u32)> = None;
        for (lower, level) in self.levels() {
            top = lower[from..].iter().fold(top, |top, &j| if score(j) > score(top) { j } else { top });
            from = lower.len();
            for &i in level {
                let value = score(i) - score(top);
                if value < found.map_or(best, |f| f.0) {
                    found = Some((value, i, top));
                }
            }
        }
        if found.is_none_or(|(_, i, j)| !pass_over(i, j)) {
            return found;
        }
        found = None;
        let mut sorted: Vec<u32> = vec![];
        for (lower, level) in self.levels() {
            // two sorted runs but for the new ones, which a stable sort takes as such
            sorted.extend_from_slice(&lower[sorted.len()..]);
            sorted.sort_by(|&a, &b| score(b).total_cmp(&score(a)));
            for &i in level {
                for &j in &sorted {
                    let value = score(i) - score(j);
                    if value >= found.map_or(best, |f| f.0) {
                        break;
                    }
                    if !pass_over(i, j) {
                        found = Some((value, i, j));
                        break;
                    }
                }
            }
        }
        found
    }
}

/// A pair: which of the ranked queries, the better document, the lesser.
type Pair = (u32, u32, u32);

/// The documents of a block and what of the core set stands in it.
struct Block<'a> {
    columns: Columns<'a>,
    /// `k(i, i)`.
    own: Vec<f64>,
    pairs: Vec<Pair>,
    alpha: Vec<f64>,
    u: Vec<f64>,
    /// `b/2`.
    half: Vec<f64>,
    /// H between the pairs, in full.
    rows: Vec<Vec<f64>>,
    /// Documents of the pairs, and where each stands.
    documents: Vec<u32>,
    places: HashMap<u32, usize>,
    /// The places of the two documents of each pair.
    sides: Vec<(usize, usize)>,
    /// `Σ ±α` of the documents, as of the state that `weighed` counts.
    weights: Vec<f64>,
    weighed: u64,
    /// F of all documents of the block, made with the weights in `with`.
    scores: Vec<f64>,
    /// Room for the scores of pairs that are drawn.
    drawn: Vec<f64>,
    with: Vec<f64>,
    scored: u64,
    updates: usize,
}

impl<'a> Block<'a> {
    fn new(columns: Columns<'a>) -> Self {
        let own = (0..columns.len()).map(|i| columns.own(i)).collect();
        Self {
            columns,
            own,
            pairs: vec![],
            alpha: vec![],
            u: vec![],
            half: vec![],
            rows: vec![],
            documents: vec![],
            places: HashMap::new(),
            sides: vec![],
            weights: vec![],
            weighed: 0,
            scores: vec![],
            drawn: vec![],
            with: vec![],
            scored: 0,
            updates: 0,
        }
    }

    /// `Σ ±α` of the documents of the core. O(pairs of the block).
    fn weigh_into(&self, weights: &mut Vec<f64>) {
        weights.clear();
        weights.resize(self.documents.len(), 0.0);
        for (&(i, j), &a) in self.sides.iter().zip(&self.alpha) {
            weights[i] += a;
            weights[j] -= a;
        }
    }

    /// Brings the weights up to date.
    fn weigh(&mut self, state: u64) {
        if self.weighed != state {
            self.weighed = state;
            let mut weights = std::mem::take(&mut self.weights);
            self.weigh_into(&mut weights);
            self.weights = weights;
        }
    }

    /// Brings F up to date. O(n) for each core document whose weight has changed.
    fn score(&mut self, state: u64) {
        if self.scored == state {
            return;
        }
        self.scored = state;
        self.weigh(state);
        self.updates += 1;
        self.with.resize(self.documents.len(), 0.0);
        if self.updates % RENEW == 1 {
            self.scores.clear();
            self.scores.resize(self.own.len(), 0.0);
            self.with.fill(0.0);
        }
        for ((&document, &weight), with) in self.documents.iter().zip(&self.weights).zip(&mut self.with) {
            let change = weight - *with;
            if change != 0.0 {
                axpy_row(change, &self.columns.get(document as usize), &mut self.scores);
                *with = weight;
            }
        }
    }

    /// F of some documents. O(core documents of the block) each; where they are many of the block, all are summed, which is the same sum
    /// without looking each of them up.
    fn scores_of(&mut self, which: &[u32], state: u64, out: &mut Vec<f64>) {
        self.weigh(state);
        out.clear();
        out.resize(which.len(), 0.0);
        let all = self.own.len() <= 2 * which.len();
        self.drawn.clear();
        self.drawn.resize(if all { self.own.len() } else { 0 }, 0.0);
        for (&document, &weight) in self.documents.iter().zip(&self.weights) {
            if weight != 0.0 {
                let column = self.columns.get(document as usize);
                match all {
                    true => axpy_row(weight, &column, &mut self.drawn),
                    false => {
                        out.iter_mut().zip(which).for_each(|(out, &i)| *out += weight * f64::from(column[i as usize]));
                    }
                }
            }
        }
        if all {
            out.iter_mut().zip(which).for_each(|(out, &i)| *out = self.drawn[i as usize]);
        }
    }

    /// The place of a document among those of the core.
    fn place(&mut self, document: u32) -> usize {
        let next = self.documents.len();
        let place = *self.places.entry(document).or_insert(next);
        if place == next {
            self.documents.push(document);
        }
        place
    }

    /// Half of `H_ww` as the plain ball has it.
    fn half(&self, k: f64, i: u32, j: u32, ridge: f64) -> f64 {
        0.5 * (self.own[i as usize] + self.own[j as usize] + ridge) - k
    }

    /// Takes a pair up with weight 0. O(pairs of the block), and two columns.
    fn push(&mut self, pair: Pair, ridge: f64, plain: bool) {
        let (_, i, j) = pair;
        let (a, b) = (self.columns.get(i as usize), self.columns.get(j as usize));
        let difference = |at: u32| f64::from(a[at as usize]) - f64::from(b[at as usize]);
        let mut row: Vec<f64> = self.pairs.iter().map(|&(_, i, j)| difference(i) - difference(j)).collect();
        self.rows.iter_mut().zip(&row).for_each(|(old, &h)| old.push(h));
        self.half.push(if plain { self.half(f64::from(a[j as usize]), i, j, ridge) } else { 0.0 });
        self.u.push(dot(&row, &self.alpha) - self.half[self.pairs.len()]);
        row.push(difference(i) - difference(j) + ridge);
        self.rows.push(row);
        self.pairs.push(pair);
        self.alpha.push(0.0);
        let sides = (self.place(i), self.place(j));
        self.sides.push(sides);
    }

    /// `α_w += change`. O(pairs of the block).
    fn shift(&mut self, w: usize, change: f64) {
        self.alpha[w] += change;
        axpy(change, &self.rows[w], &mut self.u);
    }

    /// The pair of the smallest u, and the one of the largest u with a weight.
    fn ends(&self) -> Ends {
        // the values first, two at a time and without a branch; then the first pair that has each
        let (mut low, mut high) = ([f64::INFINITY; 4], [f64::NEG_INFINITY; 4]);
        let (u, a) = (self.u.as_chunks::<4>(), self.alpha.as_chunks::<4>());
        let mut see = |k: usize, u: f64, a: f64| {
            low[k] = if u < low[k] { u } else { low[k] };
            let held = if a > 0.0 { u } else { f64::NEG_INFINITY };
            high[k] = if held > high[k] { held } else { high[k] };
        };
        for (u, a) in u.0.iter().zip(a.0) {
            (0..4).for_each(|k| see(k, u[k], a[k]));
        }
        u.1.iter().zip(a.1).for_each(|(&u, &a)| see(0, u, a));
        let low = low.into_iter().fold(f64::INFINITY, f64::min);
        let high = high.into_iter().fold(f64::NEG_INFINITY, f64::max);
        let first_low = self.u.iter().position(|&u| u <= low);
        let first_high = self.u.iter().zip(&self.alpha).position(|(&u, &a)| a > 0.0 && u >= high);
        Ends {
            low: first_low.map_or(Ends::NONE.low, |w| (low, w)),
            high: first_high.map_or(Ends::NONE.high, |w| (high, w)),
        }
    }
}

/// The pairs of a block at the two ends of u.
#[derive(Clone, Copy)]
struct Ends {
    low: (f64, usize),
    high: (f64, usize),
}

impl Ends {
    const NONE: Self = Self { low: (f64::INFINITY, 0), high: (f64::NEG_INFINITY, 0) };
}

/// The core-set machine. A step finds a pair outside the ball, takes it up and makes the ball anew (\[BRM\] algorithm 1);
/// [`Solver::theta`] are the weights α of the pairs in the order in which they were taken up.
///
/// The columns of core documents are asked for again and again: their cache should have room for all of them. H of the
/// core set is kept in full for each block.
///
/// ```
/// use ordain::kernel::{Columns, Form, Kernel};
/// use ordain::solver::ball::{Ball, Query, Settings, Until};
/// use ordain::solver::run::{Watch, run};
/// let docs = [0.0, 1.0, 3.0];
/// let columns = Columns::new(Kernel { form: Form::Linear, gamma: 1.0 }, &docs, 1, 1 << 20);
/// let query = Query { block: 0, documents: 0..3, levels: vec![0, 1, 2] };
/// let settings = Settings { until: Until::Gap, ..Settings::default() };
/// let mut ball = Ball::new(vec![columns], vec![query], settings)?;
/// run(&mut ball, 1000, 0, &Watch::NOBODY)?;
/// // w·x_w = 1, 2 and 3 times w: the hardest pair decides
/// assert!(ball.certificate().gap <= 1e-3 && ball.core().len() < 3);
/// # Ok::<(), ordain::Error>(())
/// ```
pub struct Ball<'a> {
    settings: Settings,
    blocks: Vec<Block<'a>>,
    /// Of each block.
    ends: Vec<Ends>,
    queries: Vec<Ranked>,
    /// Pairs of the queries before each; at the end all.
    before: Vec<u64>,
    /// η, 0 in the plain ball.
    eta: f64,
    /// No value of the kernel is below this.
    least_kernel: f64,
    /// Below this, differences of u are rounding.
    rounding: f64,
    random: Random,
    core: HashMap<Pair, (usize, usize)>,
    order: Vec<(usize, usize)>,
    theta: Vec<f64>,
    /// q, and `α'u`.
    q: f64,
    mean: f64,
    /// Counts changes of α.
    state: u64,
    /// By how much the pair taken up last was violated.
    violation: f64,
    /// Whether the problem on the core set is solved.
    solved: bool,
    steps: usize,
    turn: usize,
    since: usize,
    /// Additions for which the exact oracle stands in for samples that found nothing.
    exact: usize,
    lower: Option<f64>,
    done: Option<Stop>,
    draws: Vec<(usize, Pair)>,
    sampled: (Vec<u32>, Vec<f64>),
}

impl<'a> Ball<'a> {
    /// Starts with one random pair. Queries of one level only are passed over.
    pub fn new(blocks: Vec<Columns<'a>>, queries: Vec<Query>, settings: Settings) -> Result<Self> {
        let setting = |name: &str, expected: &str, found: f64| Error::Setting {
            name: name.into(),
            expected: expected.into(),
            found: found.to_string(),
        };
        let Settings { c, epsilon, geometry, sample, .. } = settings;
        if !(c > 0.0 && c.is_finite()) {
            return Err(setting("c", "a number above 0", c));
        }
        if !(epsilon > 0.0 && epsilon < 1.0) {
            return Err(setting("epsilon", "a number between 0 and 1", epsilon));
        }
        if sample == 0 {
            return Err(setting("sample", "at least 1", 0.0));
        }
        for (n, query) in queries.iter().enumerate() {
            let room = blocks.get(query.block).map_or(0, Columns::len);
            if query.documents.end > room || query.documents.len() != query.levels.len() {
                return Err(Error::Data {
                    expected: "queries with documents of their blocks and a level for each".into(),
                    found: format!("query {n} with {:?} of {room} and {} levels", query.documents, query.levels.len()),
                });
            }
        }
        let all = queries.len();
        let ranked = queries.iter().enumerate().filter(|(_, query)| !query.levels.is_empty());
        let queries: Vec<Ranked> = ranked.map(|(n, query)| Ranked::new(n, query)).filter(|q| q.pairs() > 0).collect();
        if queries.is_empty() {
            return Err(Error::Data {
                expected: "a query with documents of two levels".into(),
                found: format!("{all} queries without a pair"),
            });
        }
        let mut before = vec![0; queries.len() + 1];
        queries.iter().enumerate().for_each(|(n, query)| before[n + 1] = before[n] + query.pairs());
        let below_zero =
            blocks.iter().any(|b| matches!(b.kernel().form, Form::Linear | Form::Poly { .. }) && !b.is_empty());
        let blocks: Vec<Block> = blocks.into_iter().map(Block::new).collect();
        let mut largest = 0.0f64;
        for own in blocks.iter().flat_map(|block| &block.own) {
            largest = largest.max(finite("the kernel of a document with itself", *own)?);
        }
        let eta = if below_zero { 4.0 } else { 2.0 } * largest + 1.0 / c;
        let mut ball = Self {
            settings,
            ends: vec![Ends::NONE; blocks.len()],
            blocks,
            queries,
            before,
            eta: if geometry == Geometry::Centred { eta } else { 0.0 },
            least_kernel: if below_zero { -largest } else { 0.0 },
            rounding: 16.0 * f64::EPSILON * eta,
            random: Random::new(settings.seed),
            core: HashMap::new(),
            order: vec![],
            theta: vec![],
            q: 0.0,
            mean: 0.0,
            state: 0,
            violation: 0.0,
            solved: true,
            steps: 0,
            turn: 0,
            since: 0,
            exact: 0,
            lower: None,
            done: None,
            draws: vec![],
            sampled: (vec![], vec![]),
        };
        let at = ball.random.below(ball.total() as usize) as u64;
        let (_, first) = ball.numbered(at);
        let (block, w) = ball.take_up(first);
        ball.blocks[block].shift(w, 1.0);
        ball.finish()?;
        Ok(ball)
    }

    /// The pairs with a weight, in the order in which they were taken up.
    pub fn core(&self) -> Vec<CorePair> {
        let pairs = self.order.iter().map(|&(block, w)| {
            let (query, better, lesser) = self.blocks[block].pairs[w];
            CorePair { query: self.queries[query as usize].query, better, lesser, weight: self.blocks[block].alpha[w] }
        });
        pairs.filter(|pair| pair.weight > 0.0).collect()
    }

    /// The documents of a block with `Σ ±α`, where it is not 0: `F(x) = Σ coefficient·k(document, x)`.
    pub fn coefficients(&self, block: usize) -> Vec<(u32, f64)> {
        let block = &self.blocks[block];
        let mut weights = vec![];
        block.weigh_into(&mut weights);
        let mut out: Vec<(u32, f64)> = block.documents.iter().copied().zip(weights).filter(|x| x.1 != 0.0).collect();
        out.sort_unstable_by_key(|x| x.0);
        out
    }

    /// How many documents the pairs with a weight have.
    pub fn documents(&self) -> usize {
        let of = |block: &Block| {
            let mut used = vec![false; block.documents.len()];
            for (&(i, j), _) in block.sides.iter().zip(&block.alpha).filter(|(_, a)| **a > 0.0) {
                (used[i], used[j]) = (true, true);
            }
            used.iter().filter(|used| **used).count()
        };
        self.blocks.iter().map(of).sum()
    }

    /// How many pairs there are.
    pub fn total(&self) -> u64 {
        self.before.last().copied().unwrap_or(0)
    }

    /// `r² = η − q`, \[BRM\] Eq. (9): the smallest ball around all pairs is not smaller.
    pub fn radius2(&self) -> f64 {
        self.eta - self.q
    }

    /// Looks at all pairs: O(n) for each query in the centred ball, O(pairs) in the plain one, F apart.
    pub fn certificate(&mut self) -> Certificate {
        let (least, _) = self.furthest();
        let lower = self.prove(least);
        Certificate { f: self.q, least: least - self.rounding, lower, gap: self.gap(lower) }
    }

    /// What a smallest u proves: by Cauchy and Schwarz `q* ≥ max(0, m)²/q`; or that all pairs are as near as the furthest.
    fn prove(&mut self, least: f64) -> f64 {
        let least = least - self.rounding;
        let lower = match self.settings.geometry {
            Geometry::Centred => (least.max(0.0).powi(2) / self.q.max(f64::MIN_POSITIVE)).min(self.q),
            // |c|² = q + b'α = 2α'u − q
            Geometry::Plain => (2.0 * (least - self.mean) + self.q).min(self.q),
        };
        let lower = self.lower.map_or(lower, |l| l.max(lower));
        self.lower = Some(lower);
        lower
    }

    /// The gap as a share.
    fn gap(&self, lower: f64) -> f64 {
        let whole = if self.settings.geometry == Geometry::Centred { self.q } else { -lower };
        if whole > 4.0 * self.rounding { ((self.q - lower) / whole).max(0.0) } else { 0.0 }
    }

    /// By how much u may be below `α'u` where the objective is q: for the ball `2·slack = (2ε + ε²) r²`.
    fn slack(&self, q: f64) -> f64 {
        let (epsilon, r2) = (self.settings.epsilon, (self.eta - q).max(0.0));
        match (self.settings.until, self.settings.geometry) {
            (Until::Epsilon, _) => 0.5 * epsilon * (2.0 + epsilon) * r2,
            (Until::Gap, Geometry::Centred) => q * epsilon / (1.0 + (1.0 - epsilon).sqrt()),
            (Until::Gap, Geometry::Plain) => 0.5 * epsilon / (1.0 - epsilon) * r2,
        }
    }

    /// A pair whose u is below this is outside.
    fn threshold(&self) -> f64 {
        self.mean - self.slack(self.q) - self.rounding
    }

    /// Pair number `at` of all, with its block.
    fn numbered(&self, at: u64) -> (usize, Pair) {
        let query = self.before.partition_point(|&b| b <= at) - 1;
        self.pair_of(query, at - self.before[query])
    }

    fn pair_of(&self, query: usize, at: u64) -> (usize, Pair) {
        let ranked = &self.queries[query];
        let (i, j) = ranked.pair(at);
        (ranked.block, (query as u32, i, j))
    }

    /// The place of a pair in the core set, which it joins where it is not there yet.
    fn take_up(&mut self, pair: Pair) -> (usize, usize) {
        if let Some(&at) = self.core.get(&pair) {
            return at;
        }
        let block = self.queries[pair.0 as usize].block;
        let plain = self.settings.geometry == Geometry::Plain;
        self.blocks[block].push(pair, 1.0 / self.settings.c, plain);
        let at = (block, self.blocks[block].pairs.len() - 1);
        self.ends[block] = self.blocks[block].ends();
        self.core.insert(pair, at);
        self.order.push(at);
        at
    }

    /// The smallest u of all pairs, and its pair. Pairs of the core set have a ridge, the others have not.
    fn furthest(&mut self) -> (f64, Pair) {
        let Self { blocks, ends, queries, core, state, settings, least_kernel, .. } = self;
        let ridge = 1.0 / settings.c;
        let mut best = (f64::INFINITY, (0, 0, 0));
        for (block, &Ends { low, .. }) in blocks.iter().zip(ends.iter()) {
            if low.0 < best.0 {
                best = (low.0, block.pairs[low.1]);
            }
        }
        for (n, query) in queries.iter().enumerate() {
            let n = n as u32;
            let block = &mut blocks[query.block];
            block.score(*state);
            if settings.geometry == Geometry::Centred {
                let worst = query.worst(&block.scores, best.0, |i, j| core.contains_key(&(n, i, j)));
                if let Some((value, i, j)) = worst {
                    best = (value, (n, i, j));
                }
                continue;
            }
            // u = F_i − F_j + k(i, j) − (k(i, i) + k(j, j) + 1/C)/2
            let (mut top, mut from) = (f64::NEG_INFINITY, 0);
            for (lower, level) in query.levels() {
                let far = |j: &u32| block.scores[*j as usize] + 0.5 * block.own[*j as usize];
                top = lower[from..].iter().map(far).fold(top, f64::max);
                from = lower.len();
                for &i in level {
                    let near = block.scores[i as usize] - 0.5 * (block.own[i as usize] + ridge);
                    if near - top + *least_kernel >= best.0 {
                        continue;
                    }
                    let column = block.columns.get(i as usize);
                    for &j in lower {
                        let far = block.scores[j as usize] + 0.5 * block.own[j as usize];
                        let value = near - far + f64::from(column[j as usize]);
                        if value < best.0 && !core.contains_key(&(n, i, j)) {
                            best = (value, (n, i, j));
                        }
                    }
                }
            }
        }
        best
    }

    /// The worst of the pairs drawn, if it is outside the ball.
    fn worst_drawn(&mut self) -> Option<Pair> {
        let mut best = (self.threshold(), None);
        let ridge = 1.0 / self.settings.c;
        self.draws.sort_by_key(|draw| draw.0);
        for drawn in self.draws.chunk_by(|a, b| a.0 == b.0) {
            let block = &mut self.blocks[drawn[0].0];
            let (which, scores) = &mut self.sampled;
            which.clear();
            which.extend(drawn.iter().flat_map(|&(_, (_, i, j))| [i, j]));
            block.scores_of(which, self.state, scores);
            for (&(_, pair), f) in drawn.iter().zip(scores.chunks_exact(2)) {
                let (_, i, j) = pair;
                let mut value = f[0] - f[1];
                if self.settings.geometry == Geometry::Plain {
                    if value - block.half(self.least_kernel, i, j, ridge) >= best.0 {
                        continue;
                    }
                    let k = f64::from(block.columns.get(i as usize)[j as usize]);
                    value -= block.half(k, i, j, ridge);
                }
                if value >= best.0 {
                    continue;
                }
                // what is in the core set is the business of the inner problem, if there is one
                match self.core.get(&pair) {
                    Some(_) if self.settings.inner == Inner::Qp => {}
                    Some(&(_, w)) if block.u[w] >= best.0 => {}
                    Some(&(_, w)) => best = (block.u[w], Some(pair)),
                    None => best = (value, Some(pair)),
                }
            }
        }
        if best.1.is_some() {
            self.violation = self.mean - best.0;
        }
        best.1
    }

    /// A pair outside the ball; where there is none, it is finished.
    fn find(&mut self) -> Option<Pair> {
        let gap = self.settings.until == Until::Gap;
        let sample = self.settings.sample;
        if self.settings.oracle == Oracle::Exact || self.exact > 0 {
            self.exact = self.exact.saturating_sub(1);
            return self.find_exactly();
        }
        if gap && self.since >= BETWEEN {
            self.since = 0;
            return self.find_exactly();
        }
        self.since += 1;
        let rounds = if self.settings.oracle == Oracle::Turn { self.queries.len() } else { 1 };
        for _ in 0..rounds {
            self.draws.clear();
            for _ in 0..sample {
                let draw = if self.settings.oracle == Oracle::Turn {
                    let at = self.random.below(self.queries[self.turn].pairs() as usize) as u64;
                    self.pair_of(self.turn, at)
                } else {
                    let at = self.random.below(self.total() as usize) as u64;
                    self.numbered(at)
                };
                self.draws.push(draw);
            }
            self.turn = (self.turn + 1) % self.queries.len();
            let found = self.worst_drawn();
            if found.is_some() {
                return found;
            }
        }
        if gap {
            self.exact = BETWEEN;
            return self.find_exactly();
        }
        self.done = Some(Stop::Gap);
        None
    }

    fn find_exactly(&mut self) -> Option<Pair> {
        let (least, pair) = self.furthest();
        let lower = self.prove(least);
        let enough = match self.settings.until {
            Until::Epsilon => least >= self.threshold(),
            Until::Gap => self.gap(lower) <= self.settings.epsilon,
        };
        if enough {
            self.done = Some(Stop::Gap);
            return None;
        }
        if self.settings.inner == Inner::Qp && self.core.contains_key(&pair) {
            // the worst pair is one of the core set: its problem is solved better, or as far as the arithmetic allows
            self.solved = self.violation <= 0.0;
            self.done = self.solved.then_some(Stop::Stalled);
            self.violation = 0.0;
            return None;
        }
        self.violation = self.mean - least;
        Some(pair)
    }

    /// Minimises q on the core set: weight goes from the pair of the largest u to the one of the smallest (SMO), until
    /// the two are within a tenth of what the test outside allows, or a hundredth of what the last pair was outside.
    /// O(pairs of two blocks) a turn.
    fn solve(&mut self) {
        let mut q = self.q;
        self.solved = false;
        for _ in 0..10_000 + 20 * self.order.len() {
            let (mut to, mut from, mut all) = (0, 0, Ends::NONE);
            for (n, ends) in self.ends.iter().enumerate() {
                if ends.low.0 < all.low.0 {
                    (to, all.low) = (n, ends.low);
                }
                if ends.high.0 > all.high.0 {
                    (from, all.high) = (n, ends.high);
                }
            }
            let Ends { low: (low, w), high: (high, v) } = all;
            let apart = high - low;
            let enough = (INNER * self.slack(q)).max(INNER * INNER * self.violation);
            if apart <= enough.max(self.rounding / 16.0) {
                self.solved = true;
                return;
            }
            let cross = if to == from { self.blocks[to].rows[w][v] } else { 0.0 };
            let bend = (self.blocks[to].rows[w][w] + self.blocks[from].rows[v][v] - 2.0 * cross).max(self.rounding);
            let length = (apart / bend).min(self.blocks[from].alpha[v]);
            self.blocks[to].shift(w, length);
            self.blocks[from].shift(v, -length);
            self.ends[to] = self.blocks[to].ends();
            if from != to {
                self.ends[from] = self.blocks[from].ends();
            }
            q += length * (length * bend - 2.0 * apart);
        }
    }

    /// The centre moves to a pair by a share of the way.
    fn move_to(&mut self, (block, w): (usize, usize), share: f64) {
        for block in &mut self.blocks {
            block.alpha.iter_mut().for_each(|a| *a *= 1.0 - share);
            block.u.iter_mut().zip(&block.half).for_each(|(u, half)| *u -= share * (*u + half));
        }
        self.blocks[block].shift(w, share);
    }

    /// Sums after a change of α, from scratch now and then.
    fn finish(&mut self) -> Result<()> {
        self.state += 1;
        self.steps += 1;
        if self.steps.is_multiple_of(RENEW) {
            let sum: f64 = self.blocks.iter().flat_map(|block| &block.alpha).sum();
            for block in &mut self.blocks {
                block.alpha.iter_mut().for_each(|a| *a /= sum);
                for ((u, row), half) in block.u.iter_mut().zip(&block.rows).zip(&block.half) {
                    *u = dot(row, &block.alpha) - half;
                }
            }
        }
        (self.q, self.mean) = (0.0, 0.0);
        for (block, ends) in self.blocks.iter().zip(&mut self.ends) {
            *ends = block.ends();
            let (u, half) = (dot(&block.u, &block.alpha), dot(&block.half, &block.alpha));
            self.mean += u;
            self.q += u - half;
        }
        self.theta.clear();
        self.theta.extend(self.order.iter().map(|&(block, w)| self.blocks[block].alpha[w]));
        finite("the objective", self.q).map(|_| ())
    }
}

impl Solver for Ball<'_> {
    fn step(&mut self) -> Result<()> {
        if self.done.is_some() {
            return Ok(());
        }
        if self.solved {
            let Some(pair) = self.find() else { return Ok(()) };
            let at = self.take_up(pair);
            if self.settings.inner == Inner::BadoiuClarkson {
                self.move_to(at, 1.0 / (self.steps + 1) as f64);
                return self.finish();
            }
        }
        self.solve();
        self.finish()
    }

    fn progress(&self) -> Progress {
        let gap = self.lower.map(|lower| (self.q - lower).max(0.0));
        Progress { objective: self.q, gradient: 0.0, gap, done: self.done }
    }

    fn theta(&self) -> &[f64] {
        &self.theta
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random_query(random: &mut Random, most: usize, levels: usize) -> Ranked {
        let n = 2 + random.below(most);
        let levels = (0..n).map(|_| random.below(levels) as u32).collect();
        Ranked::new(0, &Query { block: 0, documents: 3..3 + n, levels })
    }

    #[test]
    fn the_quick_oracle_finds_what_enumeration_finds() {
        let mut random = Random::new(5);
        let mut slow = 0;
        for _ in 0..3000 {
            let most = 1 + random.below(5);
            let query = random_query(&mut random, 12, most);
            // few values, so that many are equal
            let scores: Vec<f64> = (0..20).map(|_| random.below(8) as f64 / 4.0).collect();
            let (share, best) = (random.uniform(), 3.0 * random.uniform() - 2.0);
            let dropped: Vec<bool> = (0..400).map(|_| random.uniform() < share).collect();
            let passed = |i: u32, j: u32| dropped[(i * 20 + j) as usize];
            let all = query
                .levels()
                .flat_map(|(lower, level)| level.iter().flat_map(move |&i| lower.iter().map(move |&j| (i, j))));
            let value = |(i, j): (u32, u32)| scores[i as usize] - scores[j as usize];
            let right = all.filter(|&(i, j)| !passed(i, j)).map(value).fold(best, f64::min);
            match query.worst(&scores, best, passed) {
                Some((least, i, j)) => {
                    assert!(least < best && (least - right).abs() < 1e-15 && (value((i, j)) - least).abs() < 1e-15);
                    assert!(!passed(i, j));
                    slow += 1;
                }
                None => assert!((right - best).abs() < 1e-15),
            }
        }
        assert!(slow > 300);
    }

    /// Few documents of a large block are looked up one by one, many of a small one are read off the scores of all.
    #[test]
    fn scores_of_some_documents_are_sums_over_the_core() {
        let mut random = Random::new(7);
        for n in [5, 30, 31, 300] {
            let docs: Vec<f32> = (0..n * 3).map(|_| random.normal() as f32).collect();
            let kernel = crate::kernel::Kernel { form: Form::Rbf, gamma: 0.3 };
            let mut block = Block::new(Columns::new(kernel, &docs, 3, 1 << 20));
            for w in 0..4 {
                let (i, j) = (random.below(n) as u32, random.below(n) as u32);
                block.push((0, i, j), 1.0, false);
                block.shift(w, random.uniform());
            }
            let which: Vec<u32> = (0..15).map(|_| random.below(n) as u32).collect();
            let mut found = vec![];
            block.scores_of(&which, 1, &mut found);
            for (&i, found) in which.iter().zip(&found) {
                let x = |i: u32| &docs[i as usize * 3..][..3];
                let terms = block.pairs.iter().zip(&block.alpha);
                let truth: f64 = terms.map(|(p, a)| a * (kernel.of(x(p.1), x(i)) - kernel.of(x(p.2), x(i)))).sum();
                assert!((found - truth).abs() < 1e-5, "{n}: {found} {truth}");
            }
        }
    }

    #[test]
    fn each_pair_has_one_number() {
        let mut random = Random::new(6);
        for _ in 0..200 {
            let query = random_query(&mut random, 15, 4);
            let mut pairs: Vec<(u32, u32)> = (0..query.pairs()).map(|at| query.pair(at)).collect();
            let mut right: Vec<(u32, u32)> = vec![];
            for (lower, level) in query.levels() {
                right.extend(level.iter().flat_map(|&i| lower.iter().map(move |&j| (i, j))));
            }
            pairs.sort_unstable();
            right.sort_unstable();
            assert_eq!(pairs, right);
        }
    }
}
