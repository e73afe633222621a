//! Samples of matchings from a Markov chain that exchanges partners.

use super::graph::Graph;
use super::samples::Samples;
use super::sinkhorn;
use crate::error::{Error, Interrupt, Result};
use crate::random::Random;

const NONE: u32 = u32::MAX;

/// Up to this many pairs, the edge of a pair is looked up in a table.
const TABLE: usize = 1 << 22;

/// How long a chain runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Steps before the first sample.
    pub burn_in: usize,
    /// Steps from sample to sample.
    pub thin: usize,
}

impl Settings {
    /// Ten steps per edge to forget the start, and one step per item between samples, at least 10.
    pub fn of(graph: &Graph) -> Self {
        Self { burn_in: 1000 + 10 * graph.edges(), thin: (graph.left() + graph.right()).max(10) }
    }
}

/// Buffers of [`draw`], kept from call to call.
#[derive(Default)]
pub struct Work {
    balance: sinkhorn::Work,
    /// By left item and right item: the edge.
    table: Vec<u32>,
    left: Vec<u32>,
    right: Vec<u32>,
    /// By item: the edge it is matched by.
    matching: Vec<u32>,
    /// Sums over pieces of the chains, for [`Drawn::r_hat`].
    pieces: Vec<f64>,
}

/// Steps of a chain between two questions whether to stop.
const ASK: usize = 1 << 12;

/// What [`draw`] did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drawn {
    /// Steps of both chains, burn-in included.
    pub steps: usize,
    /// The share of them that changed the matching.
    pub accepted: f64,
    /// Split-R̂: the largest over all edges, of four halves of two chains. Above 1.05 the chains have not met.
    pub r_hat: f64,
    /// The effective sample size.
    pub effective: f64,
}

/// Draws `count` matchings from two chains that start at the matching `start`.
///
/// ```text
/// a step: take an edge (i, j) at random, and change the matching so that it has it (or, with nulls, not):
///   i and j matched elsewhere: they become partners, and so do their partners, if that edge exists
///   one of them matched, the other free: the free one takes the place of the partner
///   both free: they become partners;   partners already: both become free
/// accepted with probability min(1, exp(new score − old score))
/// ```
///
/// Every step can be undone by as likely a step, so that the law of matchings is kept (Metropolis). O(1) per step: edges are
/// looked up in a table, and by binary search above 4 million pairs. With nulls, and where all edges are there, every
/// matching can be reached. Without nulls and with forbidden edges, exchanges alone could be stuck: then one pair may be
/// open in between (Jerrum and Sinclair 1989), at a price that burn-in tunes so that a pair is open half of the time, and only
/// steps without an open pair count. So all matchings can be reached on every graph; only time is not bounded: between
/// matchings of great weight that differ in a long circle of edges of small weight, chains are slow, and `r_hat` tells
/// only if the two chains saw both.
///
/// The second chain burns in at flat weights for half of the time, so that it starts elsewhere. The samples of the first chain
/// come first.
///
/// ```
/// use ordain::random::Random;
/// use ordain::structure::matching::chain::{Settings, Work, draw};
/// use ordain::structure::matching::graph::Graph;
/// use ordain::structure::matching::samples::Samples;
/// let graph = Graph::new(2, 2, &[(0, 0), (0, 1), (1, 0), (1, 1)], false)?;
/// let (mut work, mut samples) = (Work::default(), Samples::default());
/// let s = [3f64.ln(), 0.0, 0.0, 0.0];
/// let drawn = draw(&graph, &s, &[0, 3], 4000, &Settings::of(&graph), &mut Random::new(1), &mut work, &mut samples)?;
/// let mut p = [0.0; 4];
/// samples.marginals(&graph, &mut p);
/// assert!(drawn.r_hat < 1.05 && (p[0] - 0.75).abs() < 0.05);
/// # Ok::<(), ordain::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Data`] where `start` is no matching of the graph that leaves none out that has to be in.
#[allow(clippy::too_many_arguments)] // the shape that all samplers share, a start and settings
pub fn draw(
    graph: &Graph,
    s: &[f64],
    start: &[u32],
    count: usize,
    settings: &Settings,
    random: &mut Random,
    work: &mut Work,
    samples: &mut Samples,
) -> Result<Drawn> {
    assert_eq!(s.len(), graph.table(), "a score for each edge and null");
    if !s.iter().all(|s| s.is_finite()) {
        return Err(Error::NotFinite { what: "a score" });
    }
    work.look_up(graph);
    let holes = !graph.null() && !graph.is_complete();
    if holes {
        work.balance.balance(graph, s, 1e-3, 200)?;
    }
    samples.clear();
    let (mut steps, mut accepted) = (0, 0);
    for chain in 0..2 {
        let many = if chain == 0 { count.div_ceil(2) } else { count / 2 };
        work.start(graph, start)?;
        let mut walk = Walk { graph, s, heat: 1.0, price: 0.0, open: None, holes, steps: 0, accepted: 0 };
        if graph.edges() > 0 && graph.lesser() > 0 {
            // the price of an open pair, tuned while burning in
            walk.price = -2.0 * (graph.lesser() as f64).ln();
            for k in 0..settings.burn_in {
                if k % ASK == 0 {
                    work.balance.stop.check()?;
                }
                walk.heat = if chain == 1 && k < settings.burn_in / 2 { 0.0 } else { 1.0 };
                walk.step(work, random);
                let pull = if walk.open.is_some() { -0.5 } else { 0.5 };
                walk.price += pull * 20.0 / (20.0 + k as f64).max(1.0);
            }
            walk.heat = 1.0;
        }
        for _ in 0..many {
            if graph.edges() > 0 {
                let mut counted = 0;
                while counted < settings.thin.max(1) {
                    if walk.steps.is_multiple_of(ASK) {
                        work.balance.stop.check()?;
                    }
                    walk.step(work, random);
                    counted += usize::from(walk.open.is_none());
                }
            }
            work.matching.clear();
            work.matching.extend(work.left.iter().filter(|&&e| e != NONE));
            samples.push(&work.matching, 0.0);
        }
        steps += walk.steps;
        accepted += walk.accepted;
    }
    samples.worth = 1.0 / work.slowness(graph, samples);
    let r_hat = work.split(graph, samples);
    Ok(Drawn { steps, accepted: accepted as f64 / (steps as f64).max(1.0), r_hat, effective: samples.effective() })
}

impl Work {
    /// The same, but it asks whether to stop.
    pub fn stopped_by(self, stop: Interrupt) -> Self {
        Self { balance: self.balance.stopped_by(stop), ..self }
    }

    fn look_up(&mut self, graph: &Graph) {
        self.table.clear();
        if graph.left() * graph.right() <= TABLE && !graph.is_complete() {
            self.table.resize(graph.left() * graph.right(), NONE);
            for e in 0..graph.edges() {
                let (i, j) = graph.ends(e);
                self.table[i * graph.right() + j] = e as u32;
            }
        }
    }

    fn edge(&self, graph: &Graph, i: usize, j: usize) -> Option<u32> {
        if graph.is_complete() {
            return Some((i * graph.right() + j) as u32);
        }
        if !self.table.is_empty() {
            return Some(self.table[i * graph.right() + j]).filter(|&e| e != NONE);
        }
        let mut of = graph.of_left(i);
        while of.len() > 1 {
            let middle = of.start + of.len() / 2;
            if graph.ends(middle).1 <= j { of.start = middle } else { of.end = middle }
        }
        Some(of.start as u32).filter(|_| !of.is_empty() && graph.ends(of.start).1 == j)
    }

    fn start(&mut self, graph: &Graph, start: &[u32]) -> Result<()> {
        let wrong = |found: String| Error::Data { expected: "a matching to start the chain from".into(), found };
        for (values, len) in [(&mut self.left, graph.left()), (&mut self.right, graph.right())] {
            values.clear();
            values.resize(len, NONE);
        }
        for &e in start {
            if e as usize >= graph.edges() {
                return Err(wrong(format!("edge {e} of {}", graph.edges())));
            }
            let (i, j) = graph.ends(e as usize);
            if self.left[i] != NONE || self.right[j] != NONE {
                return Err(wrong(format!("an item of edge {e} twice")));
            }
            (self.left[i], self.right[j]) = (e, e);
        }
        if !graph.null() && start.len() < graph.lesser() {
            return Err(wrong(format!("{} edges where {} are needed", start.len(), graph.lesser())));
        }
        Ok(())
    }

    fn piece(&mut self, graph: &Graph, samples: &Samples, pieces: usize) -> usize {
        let (edges, first) = (graph.edges(), samples.len().div_ceil(2));
        let long = (samples.len() / 2) / (pieces / 2);
        self.pieces.clear();
        self.pieces.resize(pieces * edges, 0.0);
        for piece in 0..pieces {
            let half = pieces / 2;
            let from = if piece < half { piece * long } else { first + (piece - half) * long };
            for k in from..from + long {
                for &e in samples.get(k) {
                    self.pieces[piece * edges + e as usize] += 1.0;
                }
            }
        }
        long
    }

    /// How many samples of the chain are worth one independent sample: by means of 20 pieces, over all edges.
    fn slowness(&mut self, graph: &Graph, samples: &Samples) -> f64 {
        const PIECES: usize = 20;
        let long = self.piece(graph, samples, PIECES) as f64;
        if long < 1.0 {
            return 1.0;
        }
        let (mut between, mut within) = (0.0, 0.0);
        for e in 0..graph.edges() {
            let shares = self.pieces.iter().skip(e).step_by(graph.edges()).map(|count| count / long);
            let mean = shares.clone().sum::<f64>() / PIECES as f64;
            between += shares.map(|share| (share - mean).powi(2)).sum::<f64>() / (PIECES - 1) as f64;
            within += mean * (1.0 - mean);
        }
        if within > 0.0 { (between * long / within).max(1.0) } else { 1.0 }
    }

    fn split(&mut self, graph: &Graph, samples: &Samples) -> f64 {
        let long = self.piece(graph, samples, 4) as f64;
        if long < 2.0 {
            return f64::INFINITY;
        }
        let mut worst = 1.0f64;
        for e in 0..graph.edges() {
            let shares = [0, 1, 2, 3].map(|piece| self.pieces[piece * graph.edges() + e] / long);
            let mean = shares.iter().sum::<f64>() / 4.0;
            let between = shares.iter().map(|share| (share - mean).powi(2)).sum::<f64>() / 3.0;
            let within = shares.iter().map(|share| share * (1.0 - share)).sum::<f64>() / 4.0 * long / (long - 1.0);
            if between > 0.0 {
                worst = worst.max(((long - 1.0) / long + between / within).sqrt());
            }
        }
        worst
    }
}

struct Walk<'a> {
    graph: &'a Graph,
    s: &'a [f64],
    /// What scores are multiplied by.
    heat: f64,
    /// The log-weight of an open pair, before its duals.
    price: f64,
    /// The open item of the lesser side, and one of the other side where both are as large.
    open: Option<(usize, usize)>,
    holes: bool,
    steps: usize,
    accepted: usize,
}

impl Walk<'_> {
    /// Whether a change of the score, and of the log-weight of what is open, is accepted.
    fn goes(&self, change: f64, random: &mut Random) -> bool {
        change >= 0.0 || random.uniform() < change.exp()
    }

    fn step(&mut self, work: &mut Work, random: &mut Random) {
        let graph = self.graph;
        self.steps += 1;
        let e = random.below(graph.edges());
        let (i, j) = graph.ends(e);
        let (at_i, at_j) = (work.left[i], work.right[j]);
        let (s, heat, null) = (self.s, self.heat, graph.null());
        let (left_stay, right_stay) = (graph.left_may_stay(), graph.right_may_stay());
        let left_null = |i: usize| graph.left_null(s, i);
        let right_null = |j: usize| graph.right_null(s, j);
        let accepted = match (at_i, at_j) {
            (a, _) if a == e as u32 => {
                let may_open = self.holes && self.open.is_none();
                if !null && !may_open {
                    return;
                }
                let change = if null {
                    heat * (left_null(i) + right_null(j) - s[e])
                } else {
                    self.hole(work, Some((i, j))) - heat * s[e]
                };
                let goes = self.goes(change, random);
                if goes {
                    (work.left[i], work.right[j]) = (NONE, NONE);
                    self.open = (!null).then_some((i, j));
                }
                goes
            }
            (NONE, NONE) => {
                // without nulls: the open item of the lesser side, and a free one
                if !null && self.open.is_none() {
                    return;
                }
                let change = if null {
                    heat * (s[e] - left_null(i) - right_null(j))
                } else {
                    heat * s[e] - self.hole(work, self.open)
                };
                let goes = self.goes(change, random);
                if goes {
                    (work.left[i], work.right[j]) = (e as u32, e as u32);
                    self.open = None;
                }
                goes
            }
            (NONE, f) => {
                // i takes j from k
                let k = graph.ends(f as usize).0;
                let moves = self.open.filter(|_| !left_stay).map(|(_, j)| (k, j));
                if !left_stay && moves.is_none() {
                    return;
                }
                let mut change = heat * (s[e] - s[f as usize] + left_null(k) - left_null(i));
                if moves.is_some() {
                    change += self.hole(work, moves) - self.hole(work, self.open);
                }
                let goes = self.goes(change, random);
                if goes {
                    (work.left[k], work.left[i], work.right[j]) = (NONE, e as u32, e as u32);
                    self.open = moves.or(self.open);
                }
                goes
            }
            (f, NONE) => {
                let l = graph.ends(f as usize).1;
                let moves = self.open.filter(|_| !right_stay).map(|(i, _)| (i, l));
                if !right_stay && moves.is_none() {
                    return;
                }
                let mut change = heat * (s[e] - s[f as usize] + right_null(l) - right_null(j));
                if moves.is_some() {
                    change += self.hole(work, moves) - self.hole(work, self.open);
                }
                let goes = self.goes(change, random);
                if goes {
                    (work.right[l], work.right[j], work.left[i]) = (NONE, e as u32, e as u32);
                    self.open = moves.or(self.open);
                }
                goes
            }
            (f, g) => {
                let (l, k) = (graph.ends(f as usize).1, graph.ends(g as usize).0);
                let Some(h) = work.edge(graph, k, l) else { return };
                let change = heat * (s[e] + s[h as usize] - s[f as usize] - s[g as usize]);
                let goes = self.goes(change, random);
                if goes {
                    (work.left[i], work.right[j]) = (e as u32, e as u32);
                    (work.left[k], work.right[l]) = (h, h);
                }
                goes
            }
        };
        self.accepted += usize::from(accepted);
    }

    /// The log-weight of an open pair: what balanced weights leave for it.
    fn hole(&self, work: &Work, open: Option<(usize, usize)>) -> f64 {
        let Some((i, j)) = open else { return 0.0 };
        let (left_stay, right_stay) = (self.graph.left_may_stay(), self.graph.right_may_stay());
        // on the greater side free items are nothing special
        let left = if left_stay { 0.0 } else { work.balance.left_dual[i] };
        let right = if right_stay { 0.0 } else { work.balance.right_dual[j] };
        self.price + self.heat * (left + right)
    }
}
