//! Losses of matchings: minus the log-likelihood of the right one, and the margin to the worst wrong one.

use crate::error::{Error, Result};
use crate::structure::matching::best::{self, best};
use crate::structure::matching::engine;
use crate::structure::matching::graph::Graph;
use crate::structure::matching::samples::Samples;
use crate::structure::matching::{Engine, Sum};
use crate::surrogate::variances;
use crate::traits::Surrogate;

/// What is right of a problem.
#[derive(Clone, Debug, PartialEq)]
pub enum Right {
    /// One matching, by its edges.
    Matching(Vec<u32>),
    /// Whatever matching agrees with what is known.
    Among(Box<Among>),
}

/// The matchings that agree with what is known: some edges for sure, and any matching of the items that are left.
#[derive(Clone, Debug, PartialEq)]
pub struct Among {
    /// Edges that are known to be matched.
    pub sure: Vec<u32>,
    /// The items that are left, with the edges between them that are not ruled out.
    pub rest: Graph,
    /// Where the table of the rest stands in the whole table.
    pub place: Vec<u32>,
}

/// A problem with what is right of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Its edges.
    pub graph: Graph,
    /// What is right.
    pub right: Right,
}

impl Case {
    /// A problem of which `yes` and `unknown` edges are known to be right, or not known; all others are wrong.
    ///
    /// # Errors
    ///
    /// [`Error::Infeasible`] naming an item of the lesser side that is known to be unmatched, where nulls are not allowed; [`Error::Data`] where no
    /// matching agrees with what is known in part.
    pub fn new(graph: Graph, yes: &[u32], unknown: &[u32]) -> Result<Self> {
        if unknown.is_empty() {
            if !graph.null() && yes.len() < graph.lesser() {
                let by_left = graph.left() <= graph.right();
                let mut free = vec![true; graph.lesser()];
                for &e in yes {
                    let (i, j) = graph.ends(e as usize);
                    free[if by_left { i } else { j }] = false;
                }
                let index = free.iter().position(|&free| free).unwrap_or(0);
                return Err(Error::Infeasible { side: if by_left { "row" } else { "column" }, index });
            }
            return Ok(Self { graph, right: Right::Matching(yes.to_vec()) });
        }
        let (mut left, mut right) = (vec![true; graph.left()], vec![true; graph.right()]);
        for &e in yes {
            let (i, j) = graph.ends(e as usize);
            (left[i], right[j]) = (false, false);
        }
        let numbered = |free: &[bool]| -> Vec<u32> {
            free.iter()
                .scan(0, |next, &free| {
                    *next += u32::from(free);
                    Some(*next - u32::from(free))
                })
                .collect()
        };
        let (left_number, right_number) = (numbered(&left), numbered(&right));
        let open: Vec<u32> = unknown
            .iter()
            .copied()
            .filter(|&e| {
                let (i, j) = graph.ends(e as usize);
                left[i] && right[j]
            })
            .collect();
        let ends: Vec<(u32, u32)> = open
            .iter()
            .map(|&e| {
                let (i, j) = graph.ends(e as usize);
                (left_number[i], right_number[j])
            })
            .collect();
        let count = |free: &[bool]| free.iter().filter(|&&free| free).count();
        let rest = Graph::new(count(&left), count(&right), &ends, graph.null())?;
        best(&rest, &vec![0.0; rest.table()], &mut best::Work::default()).map_err(|_| Error::Data {
            expected: "a matching that agrees with what is known; null=true learns when items stay unmatched".into(),
            found: "none".into(),
        })?;
        let mut place = open;
        if graph.null() {
            let (edges, lefts) = (graph.edges(), graph.left());
            place.extend((0..lefts).filter(|&i| left[i]).map(|i| (edges + i) as u32));
            place.extend((0..graph.right()).filter(|&j| right[j]).map(|j| (edges + lefts + j) as u32));
        }
        Ok(Self { graph, right: Right::Among(Box::new(Among { sure: yes.to_vec(), rest, place })) })
    }

    /// The right matching; of several the one with the largest score.
    pub fn best_right(&self, s: &[f64], work: &mut best::Work) -> Result<Vec<u32>> {
        match &self.right {
            Right::Matching(edges) => Ok(edges.clone()),
            Right::Among(among) => {
                let own: Vec<f64> = among.place.iter().map(|&at| s[at as usize]).collect();
                let found = best(&among.rest, &own, work)?;
                let mut all = among.sure.clone();
                all.extend(found.edges.iter().map(|&e| among.place[e as usize]));
                all.sort_unstable();
                Ok(all)
            }
        }
    }
}

/// `d − T(y)`, with the table of a matching.
fn subtract(graph: &Graph, matching: &[u32], d: &mut [f64]) {
    let (edges, nulls) = d.split_at_mut(graph.edges());
    matching.iter().for_each(|&e| edges[e as usize] -= 1.0);
    if graph.null() {
        nulls.iter_mut().for_each(|d| *d -= 1.0);
        for &e in matching {
            let (i, j) = graph.ends(e as usize);
            nulls[i] += 1.0;
            nulls[graph.left() + j] += 1.0;
        }
    }
}

/// Log Z of a graph at some scores, with its marginals.
type LogSum<'a> = dyn FnMut(&Graph, &[f64], &mut [f64]) -> Result<f64> + 'a;

/// `value − (what is right)` and `d − (its table)`: the score of the right matching, or the log of the sum over the right ones.
fn subtract_right(case: &Case, s: &[f64], d: &mut [f64], sum: &mut LogSum) -> Result<f64> {
    let graph = &case.graph;
    match &case.right {
        Right::Matching(edges) => {
            subtract(graph, edges, d);
            Ok(graph.score(s, edges))
        }
        Right::Among(among) => {
            among.sure.iter().for_each(|&e| d[e as usize] -= 1.0);
            let own: Vec<f64> = among.place.iter().map(|&at| s[at as usize]).collect();
            let mut p = vec![0.0; own.len()];
            let log_z = sum(&among.rest, &own, &mut p)?;
            among.place.iter().zip(&p).for_each(|(&at, p)| d[at as usize] -= p);
            Ok(log_z + among.sure.iter().map(|&e| s[e as usize]).sum::<f64>())
        }
    }
}

/// Minus the log-likelihood of the right matchings.
///
/// ```text
/// L(s) = log Σ_y exp score(y) − score(right)
/// ```
///
/// \[EFM\] Eqs. (4), (8), with unmatched items and forbidden edges. Where only some edges are known, the probability of all
/// matchings that agree is taken: `log Z − log Z(right)`, which is not convex. The cost is that of the engine.
pub struct MatchLikelihood<'a> {
    /// The problems.
    pub cases: &'a [Case],
    /// How each sum is found.
    pub engines: Vec<Engine>,
}

impl MatchLikelihood<'_> {
    /// Value and slopes; `law` sees the marginals.
    fn slopes(
        &self,
        n: usize,
        s: &[f64],
        d: &mut [f64],
        work: &mut engine::Work,
        law: impl FnOnce(&[f64]),
    ) -> Result<f64> {
        let log_z = self.sum(n, s, d, work)?.log_z;
        law(d);
        let right = subtract_right(&self.cases[n], s, d, &mut |rest, own, p| {
            Ok(engine::log_sum(self.engines[n], rest, own, n as u64, work, p)?.log_z)
        })?;
        Ok(log_z - right)
    }

    /// The sum over the matchings of problem `n`.
    pub fn sum(&self, n: usize, s: &[f64], marginals: &mut [f64], work: &mut engine::Work) -> Result<Sum> {
        engine::log_sum(self.engines[n], &self.cases[n].graph, s, n as u64, work, marginals)
    }
}

impl Surrogate for MatchLikelihood<'_> {
    type Work = engine::Work;

    fn len(&self) -> usize {
        self.cases.len()
    }

    fn value(&self, n: usize, s: &[f64], d: &mut [f64], work: &mut engine::Work) -> Result<f64> {
        self.slopes(n, s, d, work, |_| ())
    }

    /// `h_e = p_e (1 − p_e)` by the probability of each edge, and of each item to stay unmatched: exact for `log Z`, as far as the sum is, and
    /// `log Z` alone where only some edges are known.
    fn diagonal(
        &self,
        n: usize,
        s: &[f64],
        d: &mut [f64],
        h: &mut [f64],
        work: &mut engine::Work,
    ) -> Result<Option<f64>> {
        self.slopes(n, s, d, work, |p| variances(p, h)).map(Some)
    }

    fn curvature(
        &self,
        n: usize,
        s: &[f64],
        v: &[f64],
        columns: usize,
        out: &mut [f64],
        work: &mut engine::Work,
    ) -> Result<bool> {
        let mut p = vec![0.0; s.len()];
        self.sum(n, s, &mut p, work)?;
        rough_curvature(&self.cases[n].graph, &p, v, columns, out);
        Ok(true)
    }
}

/// The curvature of log Z, nearly: `P·v` with the columns of v centred by the marginals P over the edges of each left item, of each right item and of
/// each left item again. It is symmetric and positive, and exact where all scores of a complete graph of as many left as right items are 0
/// but for a factor (n − 1)/n: the covariance of edges there is `(I − 1/n)⊗(I − 1/n)/(n − 1)`. It stands in for the
/// true one as the first matrix of a quasi-Newton method.
fn rough_curvature(graph: &Graph, p: &[f64], v: &[f64], columns: usize, out: &mut [f64]) {
    let edges = graph.edges();
    out.copy_from_slice(v);
    let (mut mean, mut rows) = (vec![0.0; columns], vec![]);
    let mut centre = |out: &mut [f64], rows: &[usize]| {
        mean.fill(0.0);
        let total: f64 = rows.iter().map(|&row| p[row]).sum();
        for &row in rows {
            let share = p[row] / total.max(1e-300);
            mean.iter_mut().zip(&out[row * columns..(row + 1) * columns]).for_each(|(mean, x)| *mean += share * x);
        }
        for &row in rows {
            out[row * columns..(row + 1) * columns].iter_mut().zip(&mean).for_each(|(x, mean)| *x -= mean);
        }
    };
    for side in [true, false, true] {
        for item in 0..if side { graph.left() } else { graph.right() } {
            rows.clear();
            match side {
                true => rows.extend(graph.of_left(item)),
                false => rows.extend(graph.of_right(item).iter().map(|&e| e as usize)),
            }
            if graph.null() {
                rows.push(edges + item + if side { 0 } else { graph.left() });
            }
            centre(out, &rows);
        }
    }
    for (out, p) in out.chunks_exact_mut(columns.max(1)).zip(p) {
        out.iter_mut().for_each(|x| *x *= p);
    }
}

/// The same likelihood with the sum over matchings taken from samples that were drawn once and are kept.
///
/// ```text
/// log Z(s) ≈ log 1/K Σ_k exp(score(y_k) − proposal_k)
/// ```
///
/// up to one constant: a convex, smooth and deterministic function of s, good near the scores at which the samples were drawn (Geyer
/// and Thompson 1992). A point at which fewer than a tenth of the samples still count is refused, so that a line search turns back.
pub struct FrozenLikelihood<'a> {
    /// The problems.
    pub cases: &'a [Case],
    /// The samples of each, with `log_weight` relative to the scores at which they were drawn.
    pub samples: Vec<Samples>,
    /// The scores at which they were drawn.
    pub drawn_at: Vec<Vec<f64>>,
    /// The log-partition functions there, as well as they are known.
    pub log_z: Vec<f64>,
}

/// Scratch of [`FrozenLikelihood`].
#[derive(Default)]
pub struct FrozenWork {
    log_weight: Vec<f64>,
    engine: engine::Work,
}

impl FrozenLikelihood<'_> {
    /// Value and slopes; `law` sees the marginals.
    fn slopes(
        &self,
        n: usize,
        s: &[f64],
        d: &mut [f64],
        work: &mut FrozenWork,
        law: impl FnOnce(&[f64]),
    ) -> Result<f64> {
        let (case, samples, old) = (&self.cases[n], &self.samples[n], &self.drawn_at[n]);
        let graph = &case.graph;
        let change: Vec<f64> = s.iter().zip(old).map(|(s, old)| s - old).collect();
        work.log_weight.clear();
        work.log_weight
            .extend((0..samples.len()).map(|k| samples.log_weight(k) + graph.score(&change, samples.get(k))));
        let top = work.log_weight.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
        let base = (0..samples.len()).fold(f64::NEG_INFINITY, |a, k| a.max(samples.log_weight(k)));
        if !top.is_finite() || !base.is_finite() {
            return Err(Error::NotFinite { what: "the weight of a sample" });
        }
        let (mut sum, mut squares) = (0.0, 0.0);
        d.fill(0.0);
        for k in 0..samples.len() {
            let w = (work.log_weight[k] - top).exp();
            sum += w;
            squares += w * w;
            for &e in samples.get(k) {
                d[e as usize] += w;
            }
        }
        // those of a chain are worth less, here as there
        if sum * sum < 0.1 * squares * samples.effective() / samples.worth {
            return Err(Error::NotFinite { what: "the likelihood so far from its samples" });
        }
        let before: f64 = (0..samples.len()).map(|k| (samples.log_weight(k) - base).exp()).sum();
        d[..graph.edges()].iter_mut().for_each(|d| *d /= sum);
        graph.write_rest(d);
        law(d);
        let log_z = self.log_z[n] + (top + sum.ln()) - (base + before.ln());
        let right = subtract_right(case, s, d, &mut |rest, own, p| {
            Ok(engine::log_sum(Engine::Auto, rest, own, n as u64, &mut work.engine, p)?.log_z)
        })?;
        Ok(log_z - right)
    }
}

impl Surrogate for FrozenLikelihood<'_> {
    type Work = FrozenWork;

    fn len(&self) -> usize {
        self.cases.len()
    }

    fn value(&self, n: usize, s: &[f64], d: &mut [f64], work: &mut FrozenWork) -> Result<f64> {
        self.slopes(n, s, d, work, |_| ())
    }

    /// As that of [`MatchLikelihood`], with the marginals of the samples.
    fn diagonal(
        &self,
        n: usize,
        s: &[f64],
        d: &mut [f64],
        h: &mut [f64],
        work: &mut FrozenWork,
    ) -> Result<Option<f64>> {
        self.slopes(n, s, d, work, |p| variances(p, h)).map(Some)
    }

    fn curvature(
        &self,
        n: usize,
        _: &[f64],
        v: &[f64],
        columns: usize,
        out: &mut [f64],
        _: &mut FrozenWork,
    ) -> Result<bool> {
        let mut p = vec![0.0; self.drawn_at[n].len()];
        self.samples[n].marginals(&self.cases[n].graph, &mut p);
        rough_curvature(&self.cases[n].graph, &p, v, columns, out);
        Ok(true)
    }
}

/// The margin of the right matching over all others, the more wrong the larger.
///
/// ```text
/// L(s) = max_y {loss(y) + score(y)} − score(right),   loss(y) = share of the items with another partner than is right
/// ```
///
/// Where items may stay unmatched, the share is of the items of both sides, and none is a partner too:
/// `loss(y) = 1 − (2·|right edges in y| + |items unmatched in both|) / (n + m)`. Where they may not, it is of the items of the lesser side, which
/// are all matched; with sides of one size that is the same. Neither depends on which side is called left. The loss is linear in the
/// table of y, so that one best matching finds the maximum; Caetano et al. 2009, with unmatched items.
pub struct MatchMargin<'a> {
    /// The problems.
    pub cases: &'a [Case],
    /// The right matching of each.
    pub right: Vec<Vec<u32>>,
}

/// Scratch of [`MatchMargin`].
#[derive(Default)]
pub struct MarginWork {
    s: Vec<f64>,
    best: best::Work,
    alone: Vec<bool>,
}

impl MatchMargin<'_> {
    /// Adds the loss of every entry of a table to it, but for the constant 1.
    fn add_loss(&self, n: usize, s: &mut [f64], alone: &mut Vec<bool>) {
        let (graph, right) = (&self.cases[n].graph, &self.right[n]);
        if !graph.null() {
            let share = 1.0 / graph.lesser().max(1) as f64;
            right.iter().for_each(|&e| s[e as usize] -= share);
            return;
        }
        let (edges, left) = (graph.edges(), graph.left());
        let items = left + graph.right();
        let share = 1.0 / items.max(1) as f64;
        alone.clear();
        alone.resize(items, true);
        for &e in right {
            s[e as usize] -= 2.0 * share; // both its ends
            let (i, j) = graph.ends(e as usize);
            (alone[i], alone[left + j]) = (false, false);
        }
        for (s, _) in s[edges..].iter_mut().zip(alone.iter()).filter(|(_, alone)| **alone) {
            *s -= share;
        }
    }
}

impl Surrogate for MatchMargin<'_> {
    type Work = MarginWork;

    fn len(&self) -> usize {
        self.cases.len()
    }

    fn value(&self, n: usize, s: &[f64], d: &mut [f64], work: &mut MarginWork) -> Result<f64> {
        let (graph, right) = (&self.cases[n].graph, &self.right[n]);
        work.s.clear();
        work.s.extend_from_slice(s);
        self.add_loss(n, &mut work.s, &mut work.alone);
        let found = best(graph, &work.s, &mut work.best)?;
        let value = 1.0 + found.score - graph.score(s, right);
        graph.write(found.edges, d);
        subtract(graph, right, d);
        Ok(value.max(0.0))
    }
}
