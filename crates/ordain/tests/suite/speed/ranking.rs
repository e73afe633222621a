//! Speed gates of orders with quadratic scores, beside the loop of the paper: every placement of the core, an assignment
//! each. Where that is long, some placements are timed and their share is taken.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test may panic, and this one prints what it measured

use super::{alone, at_least, at_most, fastest};
use ordain::random::Random;
use ordain::structure::exhaustive::injections;
use ordain::structure::matching::assignment;
use ordain::structure::ranking::{Design, Links, Problem, Search, Sums, UNLIMITED, Work};
use std::hint::black_box;

/// Links of weak and of strong problems: their size on the whole length of a list, beside scores of size 1.
const LINKS: [(&str, f64); 2] = [("weak", 0.1), ("strong", 1.0)];

struct Case {
    scores: Vec<f64>,
    discounts: Vec<f64>,
    design: Design,
    links: Links,
}

impl Case {
    /// `n` items, the discounts of DCG at `k` places (and a tail, where there are more items), a core of `c`.
    fn new(n: usize, k: usize, c: usize, size: f64, seed: u64, design: impl Fn(usize) -> Design) -> Self {
        let mut random = Random::new(seed);
        let classes = if k < n { k + 1 } else { n };
        let scores = (0..n).map(|_| random.normal()).collect();
        let g: Vec<f64> = (0..n * c).map(|_| size * random.normal() / classes as f64).collect();
        let mut items: Vec<u32> = (0..n as u32).collect();
        random.shuffle(&mut items);
        let discount = |j: usize| if j < k { 1.0 / (j as f64 + 2.0).log2() } else { 0.0 };
        let links = Links::new(n, &items[..c], &g).unwrap();
        Self { scores, discounts: (0..classes).map(discount).collect(), design: design(classes), links }
    }

    fn problem(&self) -> Problem<'_> {
        let Self { scores, discounts, design, links } = self;
        Problem { scores, discounts, design, links, extra: &[], pins: &[] }
    }
}

/// Every placement of the core on `n` places; those in the tail of a list differ by name alone and count once.
fn placements(problem: &Problem) -> Vec<Vec<usize>> {
    let (n, head, c) = (problem.items(), problem.head(), problem.links.core().len());
    let mut all = vec![];
    injections(n.min(head + c), c, &mut |p| {
        let tail: Vec<u32> = p.iter().copied().filter(|&j| j as usize >= head).collect();
        if problem.is_whole() || tail.iter().enumerate().all(|(at, &j)| j as usize == head + at) {
            all.push(p.iter().map(|&j| j as usize).collect());
        }
    });
    all
}

/// The loop of the paper over some placements: `n − C` leaves and as many places, those of the tail all alike.
fn naive(problem: &Problem, placements: &[Vec<usize>], costs: &mut Vec<f64>, solver: &mut assignment::Work) -> f64 {
    let (n, links, last) = (problem.items(), problem.links, problem.classes() - 1);
    let mut best = f64::NEG_INFINITY;
    for p in placements {
        let mut value = 0.0;
        for (c, &item) in links.core().iter().enumerate() {
            value += problem.linear(item as usize, p[c].min(last));
            for (d, &other) in links.core().iter().enumerate().take(c) {
                value += links.row(c)[other as usize] * problem.design.at(p[c].min(last), p[d].min(last));
            }
        }
        costs.clear();
        for i in (0..n).filter(|&i| links.in_core(i).is_none()) {
            for j in (0..n).filter(|j| !p.contains(j)) {
                let j = j.min(last);
                let mut w = problem.scores[i] * problem.discounts[j];
                for (c, &q) in p.iter().enumerate() {
                    w += links.row(c)[i] * problem.design.at(q.min(last), j);
                }
                costs.push(-w);
            }
        }
        let leaves = n - links.core().len();
        value -= assignment::solve(costs, leaves, leaves, solver).unwrap().cost;
        best = if value > best { value } else { best };
    }
    best
}

/// Seconds of the loop over all placements, from at most `some` of them spread over all.
fn naive_seconds(problem: &Problem, some: usize, best: f64) -> (f64, usize, usize) {
    let all = placements(problem);
    let step = all.len().div_ceil(some);
    let part: Vec<Vec<usize>> = all.iter().step_by(step).cloned().collect();
    let (mut costs, mut solver) = (vec![], assignment::Work::default());
    let (mut found, mut spent) = (f64::NEG_INFINITY, 0.0);
    // one by one, so that a busy moment is not taken for a slow loop
    for p in part.chunks(1) {
        spent += fastest(3, || found = found.max(naive(problem, p, &mut costs, &mut solver)));
    }
    assert!(found <= best + 1e-9);
    assert!(part.len() < all.len() || found >= best - 1e-9);
    (spent * all.len() as f64 / part.len() as f64, part.len(), all.len())
}

/// The mean over some seeds of the loop and of the boxes, in seconds.
fn whole(
    n: usize,
    c: usize,
    size: f64,
    seeds: u64,
    some: usize,
    design: impl Fn(usize) -> Design + Copy,
) -> (f64, f64) {
    let (mut slow, mut fast) = (0.0, 0.0);
    let (mut work, mut places) = (Work::default(), vec![]);
    for seed in 0..seeds {
        let case = Case::new(n, n, c, size, seed, design);
        let problem = case.problem();
        let mut best = f64::NEG_INFINITY;
        fast += fastest(5, || {
            let found = problem.best(UNLIMITED, &mut work, &mut places).unwrap();
            assert!(found.proven());
            best = found.value;
        });
        slow += naive_seconds(&problem, some, best).0;
    }
    (slow / seeds as f64, fast / seeds as f64)
}

#[test]
#[ignore = "measures time, run by ./check --speed"]
fn whole_rankings_beside_the_loop_of_the_paper() {
    alone(|| {
        for (n, c, least) in [(100, 2, [20.0, 10.0]), (50, 3, [15.0, 8.0])] {
            for ((word, size), least) in LINKS.into_iter().zip(least) {
                let (slow, fast) = whole(n, c, size, 5, 200, Design::distance);
                println!(
                    "|k - l|, N = {n}, C = {c}, {word} links: loop {slow:.3} s (from 200 placements), boxes {:.2} ms: {:.0} times",
                    fast * 1e3,
                    slow / fast
                );
                at_least(&format!("the loop beside boxes, N = {n}, C = {c}, {word} links"), slow / fast, least);
            }
        }
    });
}

#[test]
#[ignore = "measures time, run by ./check --speed"]
fn whole_rankings_by_size() {
    alone(|| {
        for (c, sizes) in [(1, &[20, 50, 100, 200][..]), (2, &[20, 50, 100, 200]), (3, &[20, 50, 100])] {
            for (word, size) in LINKS {
                let mut last: Option<(f64, f64, f64)> = None;
                for &n in sizes {
                    let (slow, fast) = whole(n, c, size, 3, 60, Design::distance);
                    let slope = |now: f64, then: f64, of: f64| (now / then).ln() / (n as f64 / of).ln();
                    let slopes = last.map_or(String::new(), |(of, s, f)| {
                        format!(", slopes {:.1} and {:.1}", slope(slow, s, of), slope(fast, f, of))
                    });
                    println!(
                        "|k - l|, C = {c}, N = {n}, {word} links: loop {slow:.4} s, boxes {:.3} ms: {:.0} times{slopes}",
                        fast * 1e3,
                        slow / fast
                    );
                    last = Some((n as f64, slow, fast));
                }
            }
        }
        let near = |n: usize| {
            let table = (0..n * n).map(|at| (-((at / n).abs_diff(at % n) as f64) / 3.0).exp()).collect();
            Design::matrix(n, table).unwrap()
        };
        for (n, c) in [(50, 1), (50, 2), (20, 3), (50, 3)] {
            for (word, size) in LINKS {
                let (slow, fast) = whole(n, c, size * n as f64, 2, 60, near);
                let times = slow / fast;
                println!(
                    "exp(-|k - l| / 3), C = {c}, N = {n}, {word} links: loop {slow:.4} s, boxes {fast:.4} s: {times:.1} times"
                );
            }
        }
    });
}

/// One list: the loop, the best list with bounds and without, the sum, all forced values.
fn lists(n: usize, k: usize, c: usize, size: f64, some: usize) -> [f64; 5] {
    let case = Case::new(n, k, c, size, 1, Design::distance);
    let problem = case.problem();
    let (mut work, mut places, mut sums, mut values) = (Work::default(), vec![], Sums::default(), vec![]);
    let best = problem.best(UNLIMITED, &mut work, &mut places).unwrap().value;
    let (slow, part, all) = naive_seconds(&problem, some, best);
    let mut times = [f64::INFINITY; 4];
    // by turns, so that a busy moment meets all of them
    for _ in 0..20 {
        let bounded = fastest(3, || _ = black_box(problem.best(UNLIMITED, &mut work, &mut places).unwrap()));
        let every = fastest(3, || _ = black_box(problem.best_list(Search::Every, &mut work, &mut places).unwrap()));
        let sum = fastest(2, || _ = black_box(problem.log_sum(&mut work, &mut sums).unwrap()));
        let forced = fastest(3, || _ = black_box(problem.forced(&mut work, &mut values).unwrap()));
        times.iter_mut().zip([bounded, every, sum, forced]).for_each(|(least, time)| *least = least.min(time));
    }
    let [bounded, every, sum, forced] = times;
    println!(
        "k = {k}, C = {c}, N = {n}, links {size}: loop {:.1} ms ({part} of {all} placements), best {:.1} us, every placement {:.1} us, \
         sum {:.1} us, all forced {:.1} us",
        slow * 1e3,
        bounded * 1e6,
        every * 1e6,
        sum * 1e6,
        forced * 1e6
    );
    [slow, bounded, every, sum, forced]
}

/// The time of all forced values beside that of the best list, k = 5, C = 3, N = 400: the sums over four draws.
fn forced_beside_best(word: &str, size: f64) -> f64 {
    let (mut work, mut places, mut values) = (Work::default(), vec![], vec![]);
    let (mut slow, mut fast) = (0.0, 0.0);
    for seed in 0..4 {
        let case = Case::new(400, 5, 3, size, seed, Design::distance);
        let problem = case.problem();
        let mut times = [f64::INFINITY; 2];
        for _ in 0..40 {
            let best = fastest(3, || _ = black_box(problem.best(UNLIMITED, &mut work, &mut places).unwrap()));
            let forced = fastest(3, || _ = black_box(problem.forced(&mut work, &mut values).unwrap()));
            times = [times[0].min(best), times[1].min(forced)];
        }
        let [best, forced] = times;
        println!(
            "draw {seed}, {word} links: best {:.1} us, all forced {:.1} us, {:.2} times",
            best * 1e6,
            forced * 1e6,
            forced / best
        );
        (slow, fast) = (slow + forced, fast + best);
    }
    slow / fast
}

#[test]
#[ignore = "measures time, run by ./check --speed"]
fn forced_values_beside_the_best_list() {
    alone(|| {
        for (word, size) in LINKS {
            let times = forced_beside_best(word, size);
            at_most(&format!("all forced values beside the best list, four draws of {word} links"), times, 2.0);
        }
    });
}

#[test]
#[ignore = "measures time, run by ./check --speed"]
fn lists_beside_the_loop_of_the_paper() {
    alone(|| {
        for (word, size) in LINKS {
            let [slow, bounded, every, sum, forced] = lists(400, 5, 3, size, 136);
            let what = format!("k = 5, C = 3, N = 400, {word} links");
            at_least(&format!("the loop beside the best list, {what}"), slow / bounded, 30.0);
            at_least(&format!("the loop beside every placement, {what}"), slow / every, 30.0);
            at_most(&format!("the sum beside the best list, {what}"), sum / bounded, 8.0);
            at_most(&format!("all forced values beside every placement, {what}"), forced / every, 1.0);
        }
    });
}

#[test]
#[ignore = "measures time, run by ./check --speed"]
fn lists_by_size() {
    alone(|| {
        for (k, c, n) in [(5, 3, 50), (5, 3, 100), (5, 3, 200), (5, 3, 800), (10, 2, 100), (10, 3, 100)] {
            lists(n, k, c, 1.0, 20);
        }
    });
}
