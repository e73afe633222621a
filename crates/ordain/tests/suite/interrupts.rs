//! Work that is stopped: how much is done after the word, counted in steps of work, and what is left then.
#![allow(clippy::unwrap_used)] // a test may panic

use crate::assignment::hard;
use ordain::data::scale::{Scale, Scaling};
use ordain::data::synthetic::{Linkage, Scenes, Synthetic};
use ordain::method::{CStar, MatchMethod, RankMethod};
use ordain::random::Random;
use ordain::risk::Empirical;
use ordain::scorer::labels::{Labels, Linked};
use ordain::scorer::rows::Rows;
use ordain::solver::block_fw::BlockFw;
use ordain::solver::bundle::Bundle;
use ordain::solver::lbfgs::Lbfgs;
use ordain::solver::newton::{Memory, Newton};
use ordain::solver::run::{Report, Watch, run};
use ordain::structure::matching::graph::Graph;
use ordain::structure::matching::samples::Samples;
use ordain::structure::matching::{
    Engine, assignment, best, bethe, chain, engine, huber_law, importance, partial, places, sinkhorn, subsets,
};
use ordain::structure::quadratic;
use ordain::structure::star::sum::{StarSum, SumWork};
use ordain::structure::star::{Star, Subsets};
use ordain::surrogate::pair_hinge::PairHinge;
use ordain::surrogate::star::{Case, StarLikelihood, StarMargin, Target};
use ordain::task::{Method, Training};
use ordain::traits::{Blocks, Risk, Solver, Stop, Surrogate};
use ordain::{Error, Interrupt, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Says yes at question number `at`, and counts the questions.
fn asked(at: usize) -> (Interrupt, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let asked = count.clone();
    (Interrupt::when(move || asked.fetch_add(1, Ordering::SeqCst) + 1 >= at), count)
}

/// Work asks at least so often, ends at the question that is answered with yes, and asks no more.
fn stops<T>(name: &str, least: usize, work: impl Fn(Interrupt) -> Result<T>) {
    let (never, count) = asked(usize::MAX);
    work(never).unwrap();
    let all = count.load(Ordering::SeqCst);
    assert!(all >= least, "{name}: {all} questions, at least {least}");
    for at in [1, 2, all / 2, all] {
        let (stop, count) = asked(at.max(1));
        assert!(matches!(work(stop), Err(Error::Interrupted)), "{name}, question {at} of {all}");
        assert_eq!(count.load(Ordering::SeqCst), at.max(1), "{name}");
    }
}

fn complete(n: usize, m: usize, null: bool) -> Graph {
    let edges: Vec<(u32, u32)> = (0..n as u32).flat_map(|i| (0..m as u32).map(move |j| (i, j))).collect();
    Graph::new(n, m, &edges, null).unwrap()
}

fn normal(graph: &Graph, scale: f64) -> Vec<f64> {
    let mut random = Random::new(5);
    (0..graph.table()).map(|_| scale * random.normal()).collect()
}

/// One question for each row that is read, at most 64 listed or all of its columns: rows of 10,000 take ten microseconds.
#[test]
fn assignments_ask_at_every_row() {
    let mut random = Random::new(2);
    // without lists of cheap columns, and with them
    for (n, costs) in [(100, hard(100)), (300, hard(300)), (1100, (0..1100 * 1100).map(|_| random.uniform()).collect())]
    {
        stops("assignment", n, |stop| {
            assignment::solve(&costs, n, n, &mut assignment::Work::default().stopped_by(stop)).map(|found| found.cost)
        });
    }
    let wide: Vec<f64> = hard(120)[..100 * 120].to_vec();
    stops("wide", 100, |stop| {
        assignment::solve(&wide, 120, 100, &mut assignment::Work::default().stopped_by(stop)).map(|found| found.cost)
    });
}

/// A question for each exchange of the search, and for each assignment of the bound.
#[test]
fn quadratic_assignments_ask_at_every_step() {
    let (n, mut random) = (12, Random::new(4));
    let (a, b): (Vec<f64>, Vec<f64>) = (0..n * n).map(|_| (random.normal(), random.normal())).unzip();
    let problem = quadratic::Problem::new(n, &a, &b, None).unwrap();
    for (bound, least) in [(quadratic::Bound::None, 500), (quadratic::Bound::Auto, 500 + 2 * n * n)] {
        let settings = quadratic::Settings { limit: quadratic::Limit::Steps(500), bound, seed: 0 };
        stops(bound.name(), least, |stop| quadratic::solve(&problem, &settings, stop));
    }
    for bound in [quadratic::Bound::GilmoreLawler, quadratic::Bound::HahnGrant] {
        stops(bound.name(), n, |stop| quadratic::lower_bound(&problem, bound, &stop));
    }
}

#[test]
fn best_matchings_ask_at_every_row() {
    for null in [true, false] {
        let mut edges: Vec<(u32, u32)> = (0..200).flat_map(|i| (0..9).map(move |k| (i, (i + k * k) % 200))).collect();
        edges.sort_unstable();
        let graph = Graph::new(200, 200, &edges, null).unwrap();
        let s = normal(&graph, 1.0);
        stops("best", 200, |stop| {
            let mut work = best::Work::default().stopped_by(stop);
            let score = best::best(&graph, &s, &mut work)?.score;
            best::forbidden(&graph, &s, &mut work, &mut vec![])?;
            Ok(score)
        });
    }
    let dense = complete(80, 90, false);
    let s = normal(&dense, 1.0);
    stops("dense", 80, |stop| best::best(&dense, &s, &mut best::Work::default().stopped_by(stop)).map(|b| b.score));
}

/// A table of 2^m sets is asked about in parts of 2^17 sets; 2^26 of them, the largest, are 512 parts each way.
#[test]
fn sums_over_subsets_ask_in_parts() {
    let m = 19;
    let graph = complete(m, m, false);
    let s = normal(&graph, 1.0);
    let parts = 1 << (m - 17);
    stops("subsets", 2 * parts, |stop| {
        subsets::log_sum(&s, m, &mut subsets::Work::default().stopped_by(stop), &mut vec![0.0; m * m])
    });
    stops("sampler", parts, |stop| subsets::Sampler::new(&s, m, subsets::Work::default().stopped_by(stop)).map(|_| ()));
    // forward, and backward: a row each
    for graph in [complete(10, 10, true), complete(20, 9, false)] {
        let s = normal(&graph, 1.0);
        let mut p = vec![0.0; graph.table()];
        stops("partial", 2 * graph.left(), |stop| {
            partial::log_sum(&graph, &s, &mut partial::Work::default().stopped_by(stop), &mut p.clone())
        });
        p.clear();
    }
    let (scores, c) = (vec![0.1; 50], vec![1.0; 6]);
    stops("places", 100, |stop| {
        places::log_sum(&scores, &c, &mut places::Work::default().stopped_by(stop), &mut vec![0.0; 300])
    });
    let star = Star::new(30, &(0..10).collect::<Vec<u32>>(), &vec![0.1; 300]).unwrap();
    stops("stars", 60, |stop| {
        let mut work = SumWork::default().stopped_by(stop);
        StarSum::new(&star)?.log_sum(&[0.2; 30], &Subsets { k: 6, clamp: &[] }, &mut work, &mut [0.0; 30], None)
    });
}

#[test]
fn approximations_and_samplers_ask_at_every_sweep_and_draw() {
    let graph = complete(30, 30, false);
    let s = normal(&graph, 2.0);
    let p = || vec![0.0; graph.table()];
    stops("sinkhorn", 10, |stop| {
        sinkhorn::log_sum(&graph, &s, &mut sinkhorn::Work::default().stopped_by(stop), &mut p()).map(|sum| sum.log_z)
    });
    stops("bethe", 10, |stop| {
        bethe::log_sum(&graph, &s, &mut bethe::Work::default().stopped_by(stop), &mut p()).map(|sum| sum.log_z)
    });
    stops("importance", 1000, |stop| {
        let mut work = importance::Work::default().stopped_by(stop);
        importance::draw(&graph, &s, 1e9, 1000, &mut Random::new(1), &mut work, &mut Samples::default())
    });
    // 4096 steps between two questions
    let first: Vec<u32> = (0..30).map(|i| 31 * i).collect();
    let settings = chain::Settings { burn_in: 50_000, thin: 100 };
    stops("chain", 2 * (50_000 + 500 * 100) / 4096, |stop| {
        let (mut work, mut samples) = (chain::Work::default().stopped_by(stop), Samples::default());
        chain::draw(&graph, &s, &first, 1000, &settings, &mut Random::new(1), &mut work, &mut samples)
    });
    let small = complete(6, 6, false);
    let flat = normal(&small, 0.3);
    stops("huber-law", 500, |stop| {
        let settings = huber_law::Settings { head: 0, cap: 1_000_000 };
        let (mut work, mut samples) = (huber_law::Work::default().stopped_by(stop), Samples::default());
        huber_law::draw(&small, &flat, 500, &settings, &mut Random::new(1), &mut work, &mut samples)
    });
    for by in [Engine::Sinkhorn, Engine::Bethe, Engine::Importance, Engine::Chain, Engine::Auto] {
        stops(by.name(), 5, |stop| {
            engine::log_sum(by, &graph, &s, 1, &mut engine::Work::default().stopped_by(stop), &mut p())
                .map(|sum| sum.log_z)
        });
    }
}

/// A loss that sets the flag at example number `at`, and counts the examples.
struct Flagged<'a, R> {
    loss: &'a R,
    at: usize,
    stop: &'a AtomicBool,
    count: AtomicUsize,
}

impl<R> Flagged<'_, R> {
    fn one(&self) {
        if self.count.fetch_add(1, Ordering::SeqCst) + 1 == self.at {
            self.stop.store(true, Ordering::SeqCst);
        }
    }
}

impl<R: Surrogate> Surrogate for Flagged<'_, R> {
    type Work = R::Work;
    fn len(&self) -> usize {
        self.loss.len()
    }
    fn value(&self, n: usize, s: &[f64], d: &mut [f64], work: &mut R::Work) -> Result<f64> {
        self.one();
        self.loss.value(n, s, d, work)
    }
    fn curvature(&self, n: usize, s: &[f64], v: &[f64], k: usize, out: &mut [f64], w: &mut R::Work) -> Result<bool> {
        self.one();
        self.loss.curvature(n, s, v, k, out, w)
    }
}

/// On one thread no example is begun after the flag is set; the parameters are those of the last whole step, bit by bit.
#[test]
fn solvers_stop_within_an_example_and_keep_the_last_step() {
    let set = Synthetic { queries: 40, features: 5, ..Synthetic::default() }.make();
    let units: Vec<u32> = set.all().into_iter().filter(|&q| !set.is_flat(q as usize)).collect();
    let loss = PairHinge::new(units.iter().map(|&q| &set.grades[set.span(q as usize)]), None);
    let scaling = Scaling::learn(Scale::Query, &set, &units);
    let (rows, n) = (Rows::new(&set, &units, &scaling), units.len());
    let weight = vec![1.0 / n as f64; n];
    let fit = |way: usize, risk: &mut dyn Risk, most: usize, stop: &AtomicBool| -> Result<(Vec<f64>, Report)> {
        let watch = Watch { stop, tell: &|_, _| {} };
        let zero = vec![0.0; 5];
        let mut solver: Box<dyn Solver + '_> = match way {
            0 => Box::new(Newton::new(risk, 1e-3, 1e-9, zero, Memory::default())?),
            1 => Box::new(Newton::new(risk, 1e-3, 1e-9, zero, Memory::default())?.by_products()),
            2 => Box::new(Lbfgs::new(risk, 1e-3, 1e-9, zero)?),
            _ => Box::new(Bundle::new(risk, 1e-3, 1e-9, zero)?),
        };
        let report = run(solver.as_mut(), most, 0, &watch)?;
        Ok((solver.theta().to_vec(), report))
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        for way in 0..4 {
            for at in [1, n / 2, 2 * n + 3, 3 * n, 5 * n + 1, 7 * n + 5] {
                let stop = AtomicBool::new(false);
                let flagged = Flagged { loss: &loss, at, stop: &stop, count: AtomicUsize::new(0) };
                let mut risk = Empirical::new(&rows, &flagged, weight.clone()).stopped_by(&stop);
                let found = fit(way, &mut risk, 1000, &stop);
                if flagged.count.load(Ordering::SeqCst) < at {
                    assert!(at > 2 * n && found.unwrap().1.stop != Stop::Interrupted, "solver {way}, {at}");
                    continue; // done before
                }
                // the evaluation with which a solver begins is whole: without it there is nothing to keep
                let count = flagged.count.load(Ordering::SeqCst);
                let whole = if way == 2 { 2 * n } else { n }; // L-BFGS begins with a Hessian as well
                assert_eq!(count, at.max(whole), "solver {way}");
                let (theta, report) = found.unwrap();
                assert_eq!(report.stop, Stop::Interrupted, "solver {way}, {at}");
                let mut plain = Empirical::new(&rows, &loss, weight.clone());
                let (same, to_here) = fit(way, &mut plain, report.iterations, &AtomicBool::new(false)).unwrap();
                assert_eq!((theta, report.objective), (same, to_here.objective), "solver {way}, {at}");
            }
        }
    });
}

/// A bundle that was stopped within a step goes on to the same bits.
#[test]
fn a_bundle_that_was_stopped_within_a_step_goes_on() {
    let set = Synthetic { queries: 20, features: 4, ..Synthetic::default() }.make();
    let units: Vec<u32> = set.all().into_iter().filter(|&q| !set.is_flat(q as usize)).collect();
    let loss = PairHinge::new(units.iter().map(|&q| &set.grades[set.span(q as usize)]), None);
    let (rows, n) = (Rows::new(&set, &units, &Scaling::None), units.len());
    let whole = {
        let mut risk = Empirical::new(&rows, &loss, vec![1.0; n]);
        let mut solver = Bundle::new(&mut risk, 0.1, 1e-6, vec![0.0; 4]).unwrap();
        run(&mut solver, 12, 0, &Watch::NOBODY).unwrap();
        solver.theta().to_vec()
    };
    for at in [n + 1, 3 * n + 2, 6 * n - 1] {
        let stop = AtomicBool::new(false);
        let flagged = Flagged { loss: &loss, at, stop: &stop, count: AtomicUsize::new(0) };
        let mut risk = Empirical::new(&rows, &flagged, vec![1.0; n]).stopped_by(&stop);
        let mut solver = Bundle::new(&mut risk, 0.1, 1e-6, vec![0.0; 4]).unwrap();
        let report = run(&mut solver, 12, 0, &Watch { stop: &stop, tell: &|_, _| {} }).unwrap();
        assert_eq!(report.stop, Stop::Interrupted);
        let state = solver.state();
        let mut risk = Empirical::new(&rows, &loss, vec![1.0; n]);
        let mut solver = Bundle::new(&mut risk, 0.1, 1e-6, vec![0.0; 4]).unwrap();
        solver.restore(&state);
        run(&mut solver, 12, report.iterations, &Watch::NOBODY).unwrap();
        assert_eq!(solver.theta(), whole, "{at}");
    }
}

/// The same examples, counted, with a flag at one of them.
struct Counted<'a, B> {
    blocks: B,
    at: usize,
    stop: &'a AtomicBool,
    count: AtomicUsize,
}

impl<B: Blocks> Blocks for Counted<'_, B> {
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
    fn set_theta(&mut self, theta: &[f64]) -> Result<()> {
        self.blocks.set_theta(theta)
    }
    fn enter(&self, n: usize, theta: &[f64], work: &mut B::Work) {
        self.blocks.enter(n, theta, work);
    }
    fn worst(&self, n: usize, work: &mut B::Work) -> Result<(B::Output, f64)> {
        if self.count.fetch_add(1, Ordering::SeqCst) + 1 == self.at {
            self.stop.store(true, Ordering::SeqCst);
        }
        self.blocks.worst(n, work)
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
fn stars_stop_within_an_item() {
    let set = Scenes { items: 150, ..Scenes::default() }.make();
    let (n, units) = (set.labels.len(), set.all());
    let cases: Vec<Case> = (0..set.len()).map(|i| Case::new(n, set.yes(i), set.unknown(i))).collect();
    let targets: Vec<Target> = cases.iter().cloned().map(Target::break_even).collect();
    let (pieces, features) = (set.pieces(), Some(&set.features));
    let scorer = Labels { labels: n, units: &units, pieces: &pieces, features, own: None, log_count: None };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        // two certificates at the start take two calls an item, then comes a pass
        for at in [10, 200, 2 * 150 + 20, 4 * 150 + 7] {
            let stop = AtomicBool::new(false);
            let blocks = StarMargin::new(&scorer, n, &[0, 1], &targets, [0.1; 2]).unwrap();
            let mut blocks = Counted { blocks, at, stop: &stop, count: AtomicUsize::new(0) };
            let watch = Watch { stop: &stop, tell: &|_, _| {} };
            let mut solver = BlockFw::new(&mut blocks, 1e-9, 0).unwrap().stopped_by(&stop);
            assert_eq!(run(&mut solver, 100, 0, &watch).unwrap().stop, Stop::Interrupted);
            // the first certificate is whole
            assert_eq!(blocks.count.load(Ordering::SeqCst), at.max(2 * 150));
        }
    });
    let stop = AtomicBool::new(true);
    let linked = Linked { scorer: &scorer, links: 2 * n };
    let loss = StarLikelihood { labels: n, core: &[0, 1], cases: &cases };
    let mut risk = Empirical::new(&linked, &loss, vec![1.0; cases.len()]).stopped_by(&stop);
    let (theta, mut grad) = (vec![0.0; risk.dim()], vec![0.0; risk.dim()]);
    assert!(risk.value(&theta, &mut grad).is_ok());
    risk.heed(true);
    assert!(matches!(risk.value(&theta, &mut grad), Err(Error::Interrupted)));
}

/// Every method, stopped at each word of its progress: no further part of the work is begun, and what comes back says so.
#[test]
fn methods_begin_nothing_after_the_word() {
    let ranks = Synthetic { queries: 20, features: 4, ..Synthetic::default() }.make();
    let tags = Scenes { items: 80, ..Scenes::default() }.make();
    let matches = Linkage { problems: 12, ..Linkage::default() }.make();
    let stopped = |method: &str, fit: &dyn Fn(&Watch) -> Result<Report>| {
        for at in [1, 2, 4] {
            let (stop, told) = (AtomicBool::new(false), AtomicUsize::new(0));
            let tell = |_: f64, _: &str| {
                if told.fetch_add(1, Ordering::SeqCst) + 1 == at {
                    stop.store(true, Ordering::SeqCst);
                }
            };
            let found = fit(&Watch { stop: &stop, tell: &tell });
            let told = told.load(Ordering::SeqCst);
            assert!(told <= at, "{method}: {told} words, stopped at {at}");
            match found {
                Ok(report) if told == at => assert_eq!(report.stop, Stop::Interrupted, "{method} at {at}"),
                Ok(_) => {}
                Err(error) => assert!(matches!(error, Error::Interrupted), "{method}: {error}"),
            }
        }
    };
    for text in [
        "ranksvm",
        "rankmatch[places=2]",
        "dorm[lambda=0.1,scale=query]",
        "ranksvm[kernel=rbf]",
        "ballrank[scale=none]",
    ] {
        let method: RankMethod = text.parse().unwrap();
        let all = ranks.all();
        stopped(text, &|watch| Ok(method.fit(&Training::new(&ranks, &all), watch)?.facts.report));
    }
    for text in ["cstar[core=1]", "cstar[core=1,trainer=margin]"] {
        let method: CStar = text.parse().unwrap();
        let all = tags.all();
        stopped(text, &|watch| Ok(method.fit(&Training::new(&tags, &all), watch)?.facts.report));
    }
    for text in ["matchmap", "matchmap[null=true]", "matchmargin"] {
        let method: MatchMethod = text.parse().unwrap();
        let all = matches.all();
        let found = |watch: &Watch| method.fit(&Training::new(&matches, &all), watch);
        if matches!(found(&Watch::NOBODY), Err(Error::Data { .. })) {
            continue; // made-up registers leave people without a partner
        }
        stopped(text, &|watch| Ok(found(watch)?.facts.report));
    }
}
