//! A pass of block-coordinate Frank-Wolfe beside the calls of its oracle.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test may panic, and this one prints what it measured

use super::{alone, at_most};
use crate::star_optimisers::{cutting_plane, subgradient};
use crate::star_training::Demo;
use ordain::pieces::Pieces;
use ordain::scorer::labels::Labels;
use ordain::solver::block_fw::{BlockFw, objective};
use ordain::surrogate::star::StarMargin;
use ordain::traits::{Blocks, Solver};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The same examples, with the time that their oracle takes.
struct Timed<B> {
    blocks: B,
    /// Nanoseconds inside the oracle, and how often the clock was read for them.
    nanos: AtomicU64,
    spans: AtomicU64,
}

impl<B> Timed<B> {
    fn new(blocks: B) -> Self {
        Self { blocks, nanos: AtomicU64::new(0), spans: AtomicU64::new(0) }
    }

    fn add(&self, time: Duration) {
        self.nanos.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
        self.spans.fetch_add(1, Ordering::Relaxed);
    }

    /// Seconds inside the oracle, and spans.
    fn calls(&self) -> [f64; 2] {
        [self.nanos.load(Ordering::Relaxed) as f64 * 1e-9, self.spans.load(Ordering::Relaxed) as f64]
    }
}

/// What timing a span costs beside the time that it says.
fn price_of_a_span() -> f64 {
    let (empty, start) = (Timed::new(()), Instant::now());
    for _ in 0..200_000 {
        let start = Instant::now();
        empty.add(start.elapsed());
    }
    (start.elapsed().as_secs_f64() - empty.calls()[0]) / 200_000.0
}

impl<B: Blocks> Blocks for Timed<B> {
    type Output = B::Output;
    type Work = B::Work;
    fn len(&self) -> usize {
        self.blocks.len()
    }
    fn strength(&self) -> Vec<f64> {
        self.blocks.strength()
    }
    fn right(&self, n: usize) -> B::Output {
        self.blocks.right(n)
    }
    fn set_theta(&mut self, theta: &[f64]) -> ordain::Result<()> {
        self.blocks.set_theta(theta)
    }
    fn enter(&self, n: usize, theta: &[f64], work: &mut B::Work) {
        let start = Instant::now();
        self.blocks.enter(n, theta, work);
        self.add(start.elapsed());
    }
    fn worst(&self, n: usize, work: &mut B::Work) -> ordain::Result<(B::Output, f64)> {
        let start = Instant::now();
        let worst = self.blocks.worst(n, work);
        self.add(start.elapsed());
        worst
    }
    fn score(&self, n: usize, output: &B::Output, work: &B::Work) -> f64 {
        self.blocks.score(n, output, work)
    }
    fn loss(&self, n: usize, output: &B::Output) -> f64 {
        self.blocks.loss(n, output)
    }
    fn turn(&self, n: usize, outputs: &[(f64, &B::Output)], work: &mut B::Work) -> f64 {
        self.blocks.turn(n, outputs, work)
    }
    fn advance(&mut self, n: usize, length: f64, theta: &mut [f64], work: &mut B::Work) {
        self.blocks.advance(n, length, theta, work);
    }
}

#[test]
#[ignore = "measures time, run by ./check --speed"]
fn passes_on_made_up_scenes() {
    let Demo { n, units, features, own, log_count, targets, core } = Demo::new();
    let both = [(Some(&own[..]), None), (None, Some(&features))];
    // a step on features themselves moves a row of parameters per feature: it costs more beside the same oracle. The aim is 1.3 with scores;
    // 1.24 to 1.33 were measured as other code moved around it, so that the test leaves room
    for ((what, most), (own, features)) in [("scores", 1.4), ("direct", 1.6)].into_iter().zip(both) {
        let (pieces, log_count) = (Pieces::of_items(units.len(), 1), Some(&log_count[..]));
        let scorer = Labels { labels: n, units: &units, pieces: &pieces, features, own, log_count };
        // every pass does the same work in every run: the shortest time of each is the one that nobody disturbed
        let price = (0..5).map(|_| price_of_a_span()).fold(f64::INFINITY, f64::min);
        let mut shortest: Vec<[f64; 2]> = vec![];
        let (mut gap, mut passes) = (0.0, 0);
        // one thread, so that times can be compared
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        for _ in 0..15 {
            let blocks = StarMargin::new(&scorer, n, &core, &targets, [1.0; 2]).unwrap();
            let mut blocks = Timed::new(blocks);
            pool.install(|| {
                let mut solver = BlockFw::new(&mut blocks, 1e-3, 0).unwrap();
                passes = 0;
                while solver.progress().done.is_none() && passes < 200 {
                    let (before, start) = (solver.blocks().calls(), Instant::now());
                    solver.step().unwrap();
                    let (all, after) = (start.elapsed().as_secs_f64(), solver.blocks().calls());
                    let times = [all - price * (after[1] - before[1]), after[0] - before[0]];
                    match shortest.get_mut(passes) {
                        Some(best) => best.iter_mut().zip(times).for_each(|(best, time)| *best = best.min(time)),
                        None => shortest.push(times),
                    }
                    passes += 1;
                }
                gap = solver.progress().gap.unwrap();
            });
        }
        let dearest = shortest.iter().fold(0.0, |worst: f64, [all, oracle]| worst.max(all / oracle));
        println!(
            "{what}: gap {gap:.1e} after {passes} passes (<= 120), dearest pass {dearest:.2} times its oracle calls (<= {most})"
        );
        at_most(&format!("the dearest pass beside its oracle calls, {what}"), dearest, most);
    }
}

/// Seconds until an optimiser was first this near the optimum, for each of some accuracies.
struct Clock<'a> {
    start: Instant,
    /// Seconds spent on looking.
    looking: f64,
    value: &'a dyn Fn(&[f64]) -> f64,
    best: f64,
    reached: Vec<(f64, Option<f64>)>,
    passes: usize,
}

impl<'a> Clock<'a> {
    fn new(value: &'a dyn Fn(&[f64]) -> f64, best: f64) -> Self {
        let reached = [1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 1e-4].map(|accuracy| (accuracy, None)).to_vec();
        Self { start: Instant::now(), looking: 0.0, value, best, reached, passes: 0 }
    }

    /// Hears of parameters; whether it is late, or the last accuracy is reached.
    fn hear(&mut self, theta: &[f64], most: f64) -> bool {
        let (now, look) = (self.start.elapsed().as_secs_f64() - self.looking, Instant::now());
        let above = (self.value)(theta) / self.best - 1.0;
        for (_, time) in self.reached.iter_mut().filter(|(accuracy, time)| time.is_none() && above <= *accuracy) {
            *time = Some(now);
        }
        self.passes += 1;
        self.looking += look.elapsed().as_secs_f64();
        now > most || self.reached.iter().all(|(_, time)| time.is_some())
    }

    fn tell(&self, what: &str) {
        let cell = |(_, time): &(f64, Option<f64>)| time.map_or("–".into(), |time| format!("{time:.3}"));
        let cells: Vec<String> = self.reached.iter().map(cell).collect();
        println!("| {what} | {} | {} |", self.passes, cells.join(" | "));
    }

    fn of(&self, accuracy: f64) -> Option<f64> {
        self.reached.iter().find(|(own, _)| *own <= accuracy).and_then(|(_, time)| *time)
    }
}

/// Objective against time of the optimisers that [QAP] names beside the one that is shipped.
#[test]
#[ignore = "measures time, run by ./check --speed"]
fn optimisers_on_made_up_scenes() {
    let Demo { n, units, features, own, log_count, targets, core } = Demo::new();
    for (what, own, features) in [("scores", Some(&own[..]), None), ("direct", None, Some(&features))] {
        let (pieces, log_count) = (Pieces::of_items(units.len(), 1), Some(&log_count[..]));
        let scorer = Labels { labels: n, units: &units, pieces: &pieces, features, own, log_count };
        let new = || StarMargin::new(&scorer, n, &core, &targets, [1.0; 2]).unwrap();
        alone(|| {
            let strength = new().strength();
            let mut blocks = new();
            let mut solver = BlockFw::new(&mut blocks, 2e-5, 0).unwrap();
            while solver.progress().done.is_none() {
                solver.step().unwrap();
            }
            let best = solver.progress().objective;
            let value = |theta: &[f64]| objective(&mut new(), &strength, theta, None).unwrap();
            println!(
                "{what}: optimum {best:.6}, gap {:.1e}; seconds to be above it by",
                solver.progress().gap.unwrap()
            );
            println!("| | passes | 10 % | 3 % | 1 % | .3 % | .1 % | .01 % |");
            let (mut fast, mut blocks) = (Clock::new(&value, best), new());
            let mut solver = BlockFw::new(&mut blocks, 2e-5, 0).unwrap();
            while !fast.hear(solver.theta(), 20.0) {
                solver.step().unwrap();
            }
            fast.tell("block Frank-Wolfe");
            let mut planes = Clock::new(&value, best);
            cutting_plane(&mut new(), 2e-5, &mut |theta| planes.hear(theta, 20.0));
            planes.tell("cutting planes");
            let mut slow = Clock::new(&value, best);
            subgradient(&mut new(), 0, &mut |theta| slow.hear(theta, 20.0));
            slow.tell("sub-gradient");
            let at = |clock: &Clock| clock.of(1e-3).unwrap_or(f64::INFINITY);
            let other = at(&planes).min(at(&slow));
            at_most(
                &format!("block Frank-Wolfe to .1 % beside the better of the others, {what}"),
                at(&fast) / other,
                1.0,
            );
        });
    }
}
