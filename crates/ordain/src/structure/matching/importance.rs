//! Weighted samples of matchings, drawn item by item from balanced weights.

use super::graph::Graph;
use super::samples::Samples;
use super::sinkhorn;
use crate::error::{Error, Interrupt, Result};
use crate::random::Random;

/// Samples that are drawn before the effective size is looked at.
const BATCH: usize = 256;

/// Buffers of [`draw`], kept from call to call.
#[derive(Default)]
pub struct Work {
    balance: sinkhorn::Work,
    /// Items of the side that chooses, in turn, and where their choices end.
    order: Vec<u32>,
    ends: Vec<usize>,
    choices: Vec<Choice>,
    /// The balanced weight of staying, by item of the side that chooses, in turn.
    stay: Vec<f64>,
    rest: Vec<f64>,
    /// By item of the other side: the last round in which it was taken.
    taken: Vec<u64>,
    round: u64,
    matching: Vec<u32>,
}

impl Work {
    /// The same, but it asks whether to stop.
    pub fn stopped_by(self, stop: Interrupt) -> Self {
        Self { balance: self.balance.stopped_by(stop), ..self }
    }
}

#[derive(Clone, Copy)]
struct Choice {
    edge: u32,
    to: u32,
    /// Balanced weight over what the items to come, and staying, have for the other end: infinite where they have nothing.
    weight: f64,
}

/// What [`draw`] did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drawn {
    /// Matchings that were tried.
    pub draws: usize,
    /// Those that ended with an item that no free one is left for; their weight is 0, and they are not kept.
    pub dead: usize,
    /// The effective sample size.
    pub effective: f64,
    /// The estimate of the log-partition function.
    pub log_z: f64,
    /// Its standard error.
    pub log_z_error: f64,
}

/// Draws weighted matchings until their effective size is `wanted`, or `cap` have been tried.
///
/// ```text
/// item i takes j with  q_j ∝ D_ij / (Σ_{k after i} D_kj + b_j),   or stays with  q ∝ a_i
/// weight = exp score(y) / Π q,   Z ≈ mean weight
/// ```
///
/// for the weights D, a, b that [`sinkhorn`] balances. The lesser side chooses, items with the largest D first. Unbiased for
/// Z; marginals are weighted means. A small effective size is the alarm: the weights are peaked in ways that the balanced
/// ones do not show, and a chain is the better choice. O(edges) per sample.
///
/// ```
/// use ordain::random::Random;
/// use ordain::structure::matching::graph::Graph;
/// use ordain::structure::matching::importance::{Work, draw};
/// use ordain::structure::matching::samples::Samples;
/// let graph = Graph::new(2, 2, &[(0, 0), (0, 1), (1, 0), (1, 1)], false)?;
/// let mut samples = Samples::default();
/// let s = [3f64.ln(), 0.0, 0.0, 0.0];
/// let drawn = draw(&graph, &s, 1000.0, 10_000, &mut Random::new(1), &mut Work::default(), &mut samples)?;
/// assert!(drawn.effective >= 1000.0 && (drawn.log_z - 4f64.ln()).abs() < 5.0 * drawn.log_z_error);
/// # Ok::<(), ordain::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Infeasible`] where no matching is allowed; [`Error::Data`] where all of `cap` trials came to a dead end.
pub fn draw(
    graph: &Graph,
    s: &[f64],
    wanted: f64,
    cap: usize,
    random: &mut Random,
    work: &mut Work,
    samples: &mut Samples,
) -> Result<Drawn> {
    work.prepare(graph, s)?;
    samples.clear();
    let (mut draws, mut dead) = (0, 0);
    while draws < cap && samples.effective() < wanted {
        for _ in 0..BATCH.min(cap - draws) {
            work.balance.stop.check()?;
            draws += 1;
            match work.one(random) {
                Some(log_q) => samples.push(&work.matching, graph.score(s, &work.matching) - log_q),
                None => dead += 1,
            }
        }
    }
    if samples.is_empty() {
        return Err(Error::Data {
            expected: "a matching among those that were drawn; take a chain instead".into(),
            found: format!("a dead end in all {draws} trials"),
        });
    }
    let top = (0..samples.len()).map(|k| samples.log_weight(k)).fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = (0..samples.len()).map(|k| (samples.log_weight(k) - top).exp()).sum();
    let log_z = top + (sum / draws as f64).ln();
    let effective = samples.effective();
    samples.log_z = Some(log_z);
    let log_z_error = (1.0 / effective - 1.0 / draws as f64).max(f64::EPSILON * f64::EPSILON).sqrt();
    Ok(Drawn { draws, dead, effective, log_z, log_z_error })
}

impl Work {
    /// Balances, puts the items of the lesser side into order, and finds what is left for each choice not made.
    fn prepare(&mut self, graph: &Graph, s: &[f64]) -> Result<()> {
        self.balance.balance(graph, s, 1e-6, 1000)?;
        let left = graph.left() <= graph.right();
        let (small, great) = (graph.lesser(), graph.left().max(graph.right()));
        let balance = &self.balance;
        let (stay, other_stay) =
            if left { (&balance.left_stay, &balance.right_stay) } else { (&balance.right_stay, &balance.left_stay) };
        let alive = &balance.support.alive;
        let edges = |i: usize| {
            let (of, by) = if left { (graph.of_left(i), &[][..]) } else { (0..0, graph.of_right(i)) };
            of.chain(by.iter().map(|&e| e as usize)).filter(|&e| alive.is_empty() || alive[e])
        };
        self.rest.clear();
        self.rest.extend((0..small).map(|i| edges(i).map(|e| balance.kernel[e]).fold(stay[i], f64::max)));
        self.order.clear();
        self.order.extend(0..small as u32);
        self.order.sort_by(|&a, &b| self.rest[b as usize].total_cmp(&self.rest[a as usize]).then(a.cmp(&b)));
        // backward, so that sums over items to come grow
        self.rest.clear();
        let least = if graph.null() || great > small { f64::MIN_POSITIVE } else { 0.0 };
        let leaves = &balance.support.leaves;
        self.rest.extend(
            other_stay.iter().enumerate().map(
                |(k, stay)| {
                    if leaves.is_empty() || leaves[k] { stay.max(least) } else { 0.0 }
                },
            ),
        );
        self.choices.clear();
        self.ends.clear();
        self.stay.clear();
        for &i in self.order.iter().rev() {
            let from = self.choices.len();
            for edge in edges(i as usize) {
                let (a, b) = graph.ends(edge);
                let to = if left { b } else { a };
                // a weight of 0 is one too small for a number
                let d = balance.kernel[edge].max(f64::MIN_POSITIVE);
                let forced = self.rest[to] == 0.0;
                let weight = if forced { f64::INFINITY } else { (d / self.rest[to]).min(1e290) };
                self.choices.push(Choice { edge: edge as u32, to: to as u32, weight });
            }
            for choice in &self.choices[from..] {
                self.rest[choice.to as usize] += balance.kernel[choice.edge as usize].max(f64::MIN_POSITIVE);
            }
            self.ends.push(self.choices.len());
            self.stay.push(stay[i as usize].max(if graph.null() { f64::MIN_POSITIVE } else { 0.0 }));
        }
        self.taken.clear();
        self.taken.resize(great, 0);
        self.round = 0;
        Ok(())
    }

    /// Draws a matching; the logarithm of its probability, or none at a dead end.
    fn one(&mut self, random: &mut Random) -> Option<f64> {
        self.matching.clear();
        self.round += 1;
        let round = self.round;
        let (mut log_q, mut q) = (0.0, 1.0f64);
        for turn in (0..self.ends.len()).rev() {
            let choices = &self.choices[if turn == 0 { 0 } else { self.ends[turn - 1] }..self.ends[turn]];
            let free = |c: &&Choice| self.taken[c.to as usize] != round;
            let stay = self.stay[turn];
            let total = stay + choices.iter().filter(free).map(|c| c.weight).sum::<f64>();
            let chosen = if total == f64::INFINITY {
                // an item that nobody else is left for: all else would be a dead end
                let mut forced = choices.iter().filter(free).filter(|c| c.weight == f64::INFINITY);
                let first = forced.next();
                if forced.next().is_some() {
                    return None;
                }
                first
            } else if total > 0.0 {
                let mut at = random.uniform() * total - stay;
                let (mut chosen, mut weight) = (None, stay);
                if at >= 0.0 || stay == 0.0 {
                    for c in choices.iter().filter(free) {
                        // the last one stands where rounding leaves something over
                        (chosen, weight) = (Some(c), c.weight);
                        at -= c.weight;
                        if at < 0.0 {
                            break;
                        }
                    }
                }
                q *= weight / total;
                chosen
            } else {
                return None;
            };
            if let Some(c) = chosen {
                self.taken[c.to as usize] = round;
                self.matching.push(c.edge);
            }
            if q < 1e-200 {
                log_q += q.ln();
                q = 1.0;
            }
        }
        Some(log_q + q.ln())
    }
}
