//! Which way the sum over all matchings is found, and how near it is.

use super::graph::Graph;
use super::samples::Samples;
use super::{Accuracy, Engine, Sum, best, bethe, chain, forest, huber_law, importance, partial, pruned, sinkhorn};
use crate::error::{Error, Interrupt, Result};
use crate::random::Random;

/// Sets below this share of the heaviest are dropped.
const EPSILON: f64 = 1e-8;
/// The most sets of a row that a pruned sum may keep: 20 ms at 30 items.
const CAP: usize = 10_000;
/// A certificate above this is not taken where the sum can be had exactly.
const ENOUGH: f64 = 1e-5;
/// Up to so many items of the lesser side the exact sum is as quick as a pruned one.
const AT_ONCE: usize = 10;
/// The largest problem with nulls that is summed exactly whatever the weights: 40 ms.
const LARGEST_NULL: usize = 16;
/// Samples that are drawn, or that weighted ones should be worth.
const SAMPLES: usize = 1000;
/// The most weighted samples.
const MOST: usize = 20_000;
/// Chains that agree less than this have not met.
const MET: f64 = 1.1;
/// The most trials of a rejection sampler.
const TRIALS: usize = 2_000_000;
/// Columns that DeepAR draws exactly.
const HEAD: usize = 10;
/// In how many parts an approximation is looked at, and how many items of either side they have at most: 3 ms.
const LOOKS: usize = 8;
const LOOK: usize = 10;

/// The most items of the lesser side of a part for which a pruned sum may be tried.
pub const PRUNED: usize = pruned::LARGEST;

/// Buffers of all engines, kept from call to call.
#[derive(Default)]
pub struct Work {
    best: best::Work,
    forest: forest::Work,
    partial: partial::Work,
    pruned: pruned::Work,
    sinkhorn: sinkhorn::Work,
    bethe: bethe::Work,
    importance: importance::Work,
    chain: chain::Work,
    huber_law: huber_law::Work,
    samples: Samples,
    looks: bool,
}

impl Work {
    /// Work that takes the exact sum as far as [`partial::Work::on_request`] does.
    pub fn on_request() -> Self {
        Self { partial: partial::Work::on_request(), ..Self::default() }
    }

    /// The same, but it looks how far `sinkhorn` and `bethe` are off where that can be seen ([`Accuracy::Seen`]): in up to 8 parts of the problem, of
    /// up to 10 items of either side that are likely matched with each other, it takes the exact sum and the approximation of the part alone. The largest difference of
    /// two probabilities is what is said.
    pub fn looking(self) -> Self {
        Self { looks: true, ..self }
    }

    /// The same, but it asks whether to stop.
    pub fn stopped_by(self, stop: Interrupt) -> Self {
        Self {
            best: self.best.stopped_by(stop.clone()),
            partial: self.partial.stopped_by(stop.clone()),
            sinkhorn: self.sinkhorn.stopped_by(stop.clone()),
            bethe: self.bethe.stopped_by(stop.clone()),
            importance: self.importance.stopped_by(stop.clone()),
            chain: self.chain.stopped_by(stop.clone()),
            huber_law: self.huber_law.stopped_by(stop),
            ..self
        }
    }
}

/// Whether the sum over the matchings of a graph is exact at any scores and in little time: its parts have up to 22 items on the lesser side,
/// 16 with nulls, or are trees with nulls.
pub fn always_exact(graph: &Graph) -> bool {
    let most = if graph.null() { LARGEST_NULL } else { partial::LARGEST };
    let small = |graph: &Graph| graph.lesser() <= most || forest::fits(graph);
    small(graph) || parts(graph).is_some_and(|parts| parts.iter().all(|part| small(&part.graph)))
}

/// The most items on the lesser side of a part that no edge connects with the rest.
pub fn widest(graph: &Graph) -> usize {
    let all = parts(graph).map(|parts| parts.iter().map(|part| part.graph.lesser()).max().unwrap_or(0));
    all.unwrap_or(graph.lesser())
}

/// Whether a pruned sum may be tried: peaked weights decide whether it succeeds.
pub fn may_prune(graph: &Graph) -> bool {
    let fits = |graph: &Graph| graph.lesser() <= PRUNED || forest::fits(graph);
    fits(graph) || parts(graph).is_some_and(|parts| parts.iter().all(|part| fits(&part.graph)))
}

/// The sum over all matchings of a graph, and the probability of every edge and of every item to stay unmatched.
///
/// | engine | how | accuracy |
/// |---|---|---|
/// | `exact` | [`partial`]: up to 22 items on the lesser side, 18 with nulls; [`Work::on_request`] 26 and 22 | exact |
/// | `pruned` | [`pruned`]; where it fails, `exact` if that can be | certified |
/// | `sinkhorn`, `bethe` | [`sinkhorn`], [`bethe`]: any size | approximate, or as [`Work::looking`] sees it |
/// | `importance` | [`importance`] to an effective size of 1,000 | standard error |
/// | `chain` | [`chain`]: 2,000 samples; its log Z is the one of Bethe | standard error, or approximate where two chains have not met |
/// | `huber-law`, `deepar` | [`huber_law`]: 1,000 samples, for flat weights | standard error |
/// | `auto` | `pruned` or `exact`; beyond them up to 100 items `importance` if its samples are worth 1,000, else `chain`; above 100 `sinkhorn`, with nulls always `bethe` | as it says |
///
/// Of `auto`, `exact` and `pruned` a forest with nulls is summed exactly whatever its size ([`forest`]).
/// Parts of a graph that no edge connects are summed one by one, so that thousands of items with few candidates each are exact where
/// their parts are small. The same seed draws the same samples.
///
/// ```
/// use ordain::structure::matching::{Accuracy, Engine, engine::{Work, log_sum}, graph::Graph};
/// let graph = Graph::new(2, 2, &[(0, 0), (1, 1)], true)?; // two pairs, each matched or not
/// let (s, mut p) = ([3f64.ln(), 0.0, 0.0, 0.0, 0.0, 0.0], [0.0; 6]);
/// let sum = log_sum(Engine::Auto, &graph, &s, 0, &mut Work::default(), &mut p)?;
/// assert!((sum.log_z - 8f64.ln()).abs() < 1e-14 && sum.accuracy == Accuracy::Exact); // (3 + 1)·(1 + 1)
/// assert!((p[0] - 0.75).abs() < 1e-14 && (p[2] - 0.25).abs() < 1e-14);
/// # Ok::<(), ordain::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Infeasible`] where not all items can be matched that have to be, [`Error::Data`] where the engine that was asked for cannot do it.
pub fn log_sum(
    engine: Engine,
    graph: &Graph,
    s: &[f64],
    seed: u64,
    work: &mut Work,
    marginals: &mut [f64],
) -> Result<Sum> {
    if let Some(sum) = tree(engine, graph, s, work, marginals)? {
        return Ok(sum);
    }
    if let (Engine::Auto | Engine::Exact | Engine::Pruned, Some(parts)) = (engine, parts(graph)) {
        let mut all = Sum { log_z: 0.0, accuracy: Accuracy::Exact, by: Engine::Exact };
        for part in parts {
            let own: Vec<f64> = part.place.iter().map(|&at| s[at as usize]).collect();
            let mut p = vec![0.0; own.len()];
            let sum = match tree(engine, &part.graph, &own, work, &mut p)? {
                Some(sum) => Ok(sum),
                None => whole(engine, &part.graph, &own, seed, work, &mut p),
            };
            let sum = match sum {
                // a part may be even where the whole is not: the whole knows which side has to be matched
                Err(Error::Infeasible { .. }) => return Err(infeasible(graph, s, work)),
                other => other?,
            };
            part.place.iter().zip(&p).for_each(|(&at, &p)| marginals[at as usize] = p);
            all.log_z += sum.log_z;
            if rank(sum.accuracy) >= rank(all.accuracy) {
                (all.accuracy, all.by) = (sum.accuracy, sum.by);
            }
        }
        return Ok(all);
    }
    whole(engine, graph, s, seed, work, marginals)
}

/// From the best accuracy to the worst; of one kind, by its size.
fn rank(accuracy: Accuracy) -> (u8, u64) {
    match accuracy {
        Accuracy::Exact => (0, 0),
        Accuracy::Certified(error) => (1, error.to_bits()),
        Accuracy::Estimated(error) => (2, error.to_bits()),
        Accuracy::Seen(error) => (3, error.to_bits()),
        Accuracy::Approximate => (4, 0),
    }
}

fn whole(engine: Engine, graph: &Graph, s: &[f64], seed: u64, work: &mut Work, marginals: &mut [f64]) -> Result<Sum> {
    match engine {
        Engine::Exact => exact(graph, s, work, marginals),
        Engine::Pruned => match pruned_or_exact(graph, s, work, marginals)? {
            Some(sum) => Ok(sum),
            None => Err(Error::Data {
                expected: format!(
                    "weights that are peaked enough for pruned sums of {} items, or marginals=auto",
                    graph.lesser()
                ),
                found: format!("more than {CAP} sets that carry weight"),
            }),
        },
        Engine::Sinkhorn => {
            let log_z = sinkhorn::log_sum(graph, s, &mut work.sinkhorn, marginals)?.log_z;
            Ok(Sum { log_z, accuracy: looked_at(engine, graph, s, work, marginals)?, by: engine })
        }
        Engine::Bethe => {
            let log_z = bethe::log_sum(graph, s, &mut work.bethe, marginals)?.log_z;
            Ok(Sum { log_z, accuracy: looked_at(engine, graph, s, work, marginals)?, by: engine })
        }
        Engine::HuberLaw | Engine::DeepAr | Engine::Importance | Engine::Chain => {
            sampled(engine, graph, s, seed, work, marginals)
        }
        Engine::Auto => {
            if may_prune(graph)
                && let Some(sum) = pruned_or_exact(graph, s, work, marginals)?
            {
                return Ok(sum);
            }
            if graph.null() {
                return whole(Engine::Bethe, graph, s, seed, work, marginals);
            }
            if graph.lesser() > 100 {
                return whole(Engine::Sinkhorn, graph, s, seed, work, marginals);
            }
            match sampled(Engine::Importance, graph, s, seed, work, marginals) {
                Ok(sum) if work.samples.effective() >= SAMPLES as f64 => Ok(sum),
                Err(Error::Interrupted) => Err(Error::Interrupted),
                _ => sampled(Engine::Chain, graph, s, seed, work, marginals),
            }
        }
    }
}

/// How near an approximation is where that can be seen, if that is asked for.
fn looked_at(by: Engine, graph: &Graph, s: &[f64], work: &mut Work, marginals: &[f64]) -> Result<Accuracy> {
    let (mut worst, looks): (Option<f64>, usize) = (None, if work.looks { LOOKS.min(graph.left()) } else { 0 });
    for look in 0..looks {
        let Some(Part { graph: part, place }) = around(graph, marginals, look * graph.left() / looks)? else {
            continue;
        };
        let own: Vec<f64> = place.iter().map(|&at| s[at as usize]).collect();
        let (mut exact, mut rough) = (vec![0.0; own.len()], vec![0.0; own.len()]);
        match partial::log_sum(&part, &own, &mut work.partial, &mut exact) {
            Err(Error::Infeasible { .. }) => continue, // without its neighbours somebody has no partner
            other => other?,
        };
        match by {
            Engine::Sinkhorn => sinkhorn::log_sum(&part, &own, &mut work.sinkhorn, &mut rough)?,
            _ => bethe::log_sum(&part, &own, &mut work.bethe, &mut rough)?,
        };
        let off = exact.iter().zip(&rough).map(|(p, q)| (p - q).abs()).fold(0.0, f64::max);
        worst = Some(worst.map_or(off, |worst| worst.max(off)));
    }
    Ok(worst.map_or(Accuracy::Approximate, Accuracy::Seen))
}

/// The part of a graph around a left item: next to come is the likeliest partner of those who are in, on either side in turn. Nothing where it has none.
fn around(graph: &Graph, marginals: &[f64], start: usize) -> Result<Option<Part>> {
    let (mut lefts, mut rights) = (vec![start], vec![]);
    while lefts.len() + rights.len() < 2 * LOOK {
        let to_right = lefts.iter().flat_map(|&i| graph.of_left(i)).map(|e| (e, graph.ends(e).1));
        let to_left =
            rights.iter().flat_map(|&j: &usize| graph.of_right(j)).map(|&e| (e as usize, graph.ends(e as usize).0));
        let likeliest =
            |a: &(usize, usize), b: &(usize, usize)| marginals[a.0].total_cmp(&marginals[b.0]).then(b.0.cmp(&a.0));
        let right = to_right.filter(|(_, j)| !rights.contains(j)).max_by(likeliest).filter(|_| rights.len() < LOOK);
        let left = to_left.filter(|(_, i)| !lefts.contains(i)).max_by(likeliest).filter(|_| lefts.len() < LOOK);
        match (left, right) {
            (Some((_, left)), None) => lefts.push(left),
            (Some((_, left)), Some(_)) if lefts.len() <= rights.len() => lefts.push(left),
            (_, Some((_, right))) => rights.push(right),
            (None, None) => break,
        }
    }
    if rights.is_empty() {
        return Ok(None);
    }
    lefts.sort_unstable();
    rights.sort_unstable();
    let (mut ends, mut place) = (vec![], vec![]);
    for (own, &i) in (0u32..).zip(&lefts) {
        for e in graph.of_left(i) {
            if let Ok(j) = rights.binary_search(&graph.ends(e).1) {
                ends.push((own, j as u32));
                place.push(e as u32);
            }
        }
    }
    if graph.null() {
        place.extend(lefts.iter().map(|i| (graph.edges() + i) as u32));
        place.extend(rights.iter().map(|j| (graph.edges() + graph.left() + j) as u32));
    }
    Ok(Some(Part { graph: Graph::new(lefts.len(), rights.len(), &ends, graph.null())?, place }))
}

/// The sum over the matchings of a forest, of engines that are to be exact where they can.
fn tree(engine: Engine, graph: &Graph, s: &[f64], work: &mut Work, marginals: &mut [f64]) -> Result<Option<Sum>> {
    if !matches!(engine, Engine::Auto | Engine::Exact | Engine::Pruned) {
        return Ok(None);
    }
    let found = forest::log_sum(graph, s, &mut work.forest, marginals)?;
    Ok(found.map(|log_z| Sum { log_z, accuracy: Accuracy::Exact, by: Engine::Exact }))
}

fn exact(graph: &Graph, s: &[f64], work: &mut Work, marginals: &mut [f64]) -> Result<Sum> {
    let log_z = partial::log_sum(graph, s, &mut work.partial, marginals)?;
    Ok(Sum { log_z, accuracy: Accuracy::Exact, by: Engine::Exact })
}

/// The pruned sum where it is good enough, else the exact one where that can be; nothing where neither.
fn pruned_or_exact(graph: &Graph, s: &[f64], work: &mut Work, marginals: &mut [f64]) -> Result<Option<Sum>> {
    let n = graph.lesser();
    let dense = n <= if graph.null() { partial::LARGEST_NULL } else { partial::LARGEST };
    if n <= AT_ONCE {
        return exact(graph, s, work, marginals).map(Some);
    }
    // a pruned sum that takes as long as the dense one is no gain
    let cap = if dense { (1 << (n - 10).min(20)).clamp(64, CAP) } else { CAP };
    match pruned::log_sum(graph, s, EPSILON, cap, &mut work.pruned, marginals)? {
        Some(found) if found.error <= ENOUGH || !dense => {
            Ok(Some(Sum { log_z: found.log_z, accuracy: Accuracy::Certified(found.error), by: Engine::Pruned }))
        }
        _ if dense => exact(graph, s, work, marginals).map(Some),
        _ => Ok(None),
    }
}

fn sampled(engine: Engine, graph: &Graph, s: &[f64], seed: u64, work: &mut Work, marginals: &mut [f64]) -> Result<Sum> {
    let (log_z, met) = fill(engine, graph, s, seed, work)?;
    work.samples.marginals(graph, marginals);
    let error = work.samples.standard_error(graph, marginals);
    let accuracy = if met { Accuracy::Estimated(error) } else { Accuracy::Approximate };
    Ok(Sum { log_z, accuracy, by: engine })
}

/// Matchings from the law at some scores, and the log-partition function as well as it is known.
///
/// # Errors
///
/// Those of [`log_sum`]; [`Error::Data`] for an engine that does not draw.
pub fn draw(engine: Engine, graph: &Graph, s: &[f64], seed: u64, work: &mut Work) -> Result<(Samples, f64)> {
    let (log_z, _) = fill(engine, graph, s, seed, work)?;
    Ok((work.samples.clone(), log_z))
}

/// Draws into `work.samples`; log Z, and whether the sampler can be trusted.
fn fill(engine: Engine, graph: &Graph, s: &[f64], seed: u64, work: &mut Work) -> Result<(f64, bool)> {
    let (random, samples) = (&mut Random::new(seed), &mut work.samples);
    match engine {
        Engine::Importance => {
            let wanted = SAMPLES as f64;
            let drawn = importance::draw(graph, s, wanted, MOST, random, &mut work.importance, samples)?;
            Ok((drawn.log_z, true))
        }
        Engine::Chain => {
            let start = best::best(graph, s, &mut work.best)?.edges.to_vec();
            let settings = chain::Settings::of(graph);
            let drawn = chain::draw(graph, s, &start, 2 * SAMPLES, &settings, random, &mut work.chain, samples)?;
            let mut rough = vec![0.0; graph.table()];
            let log_z = bethe::log_sum(graph, s, &mut work.bethe, &mut rough)?.log_z;
            Ok((log_z, drawn.r_hat < MET))
        }
        Engine::HuberLaw | Engine::DeepAr => {
            let head = if engine == Engine::DeepAr { HEAD.min(graph.lesser()) } else { 0 };
            let settings = huber_law::Settings { head, cap: TRIALS };
            let drawn = huber_law::draw(graph, s, SAMPLES, &settings, random, &mut work.huber_law, samples)?;
            match drawn.log_z {
                Some(log_z) => Ok((log_z, true)),
                None => Err(Error::Data {
                    expected: "weights that are flat enough for exact samples, or marginals=auto".into(),
                    found: format!("{} samples of {} trials", drawn.accepted, drawn.trials),
                }),
            }
        }
        _ => Err(Error::Data { expected: "an engine that draws samples".into(), found: engine.name().into() }),
    }
}

/// A part of a graph that no edge connects with the rest.
struct Part {
    graph: Graph,
    /// Where its table stands in the whole.
    place: Vec<u32>,
}

/// The error that names an item of a graph that has no matching.
fn infeasible(graph: &Graph, s: &[f64], work: &mut Work) -> Error {
    let side = if graph.left() <= graph.right() { "row" } else { "column" };
    best::best(graph, s, &mut work.best).err().unwrap_or(Error::Infeasible { side, index: 0 })
}

/// The parts of a graph; nothing where it is all one, or where a part would not have the same rule as the whole about who may stay.
fn parts(graph: &Graph) -> Option<Vec<Part>> {
    if graph.is_complete() {
        return None;
    }
    let (n, m) = (graph.left(), graph.right());
    // the part of every left and every right item, numbered by first appearance
    let (mut part_of, mut count) = (vec![u32::MAX; n + m], 0u32);
    let mut open = vec![];
    for start in 0..n + m {
        if part_of[start] != u32::MAX {
            continue;
        }
        part_of[start] = count;
        open.push(start);
        while let Some(item) = open.pop() {
            let mut reach = |other: usize| {
                if part_of[other] == u32::MAX {
                    part_of[other] = count;
                    open.push(other);
                }
            };
            if item < n {
                graph.of_left(item).for_each(|e| reach(n + graph.ends(e).1));
            } else {
                graph.of_right(item - n).iter().for_each(|&e| reach(graph.ends(e as usize).0));
            }
        }
        count += 1;
    }
    if count < 2 {
        return None;
    }
    let mut lists: Vec<(Vec<u32>, Vec<u32>, Vec<u32>)> = vec![Default::default(); count as usize];
    let mut number = vec![0u32; n + m];
    for item in 0..n + m {
        let (left, right, _) = &mut lists[part_of[item] as usize];
        let side = if item < n { left } else { right };
        number[item] = side.len() as u32;
        side.push(if item < n { item } else { item - n } as u32);
    }
    for e in 0..graph.edges() {
        lists[part_of[graph.ends(e).0] as usize].2.push(e as u32);
    }
    // without nulls a part has to be as one-sided as the whole, or exactly even
    let fits = |l: usize, r: usize| graph.null() || l == r || (l < r) == (n < m) && n != m;
    if !lists.iter().all(|(left, right, _)| fits(left.len(), right.len())) {
        return None;
    }
    lists
        .into_iter()
        .map(|(left, right, mut place)| {
            let ends: Vec<(u32, u32)> = place
                .iter()
                .map(|&e| {
                    let (i, j) = graph.ends(e as usize);
                    (number[i], number[n + j])
                })
                .collect();
            let part = Graph::new(left.len(), right.len(), &ends, graph.null()).ok()?;
            if graph.null() {
                place.extend(left.iter().map(|&i| graph.edges() as u32 + i));
                place.extend(right.iter().map(|&j| (graph.edges() + n) as u32 + j));
            }
            Some(Part { graph: part, place })
        })
        .collect()
}
