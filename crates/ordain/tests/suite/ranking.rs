//! Orders with quadratic scores against enumeration: the best of them, the sum over all of them, and forced values.
#![allow(clippy::unwrap_used)] // a test may panic

use crate::cases::cases;
use ordain::Error;
use ordain::random::Random;
use ordain::structure::matching::assignment;
use ordain::structure::matching::places;
use ordain::structure::ranking::{Design, Links, Problem, Search, Sums, UNLIMITED, Work, exhaustive, order};
use ordain::structure::star::sum::{StarSum, SumWork};
use ordain::structure::star::{MaxWork, Star, Subsets};

/// A problem with what it borrows.
struct Case {
    scores: Vec<f64>,
    discounts: Vec<f64>,
    design: Design,
    links: Links,
    extra: Vec<f64>,
    pins: Vec<(u32, u32)>,
    /// Whether all numbers are whole, so that sums are exact and there are ties.
    whole: bool,
}

impl Case {
    fn problem(&self) -> Problem<'_> {
        Problem {
            scores: &self.scores,
            discounts: &self.discounts,
            design: &self.design,
            links: &self.links,
            extra: &self.extra,
            pins: &self.pins,
        }
    }
}

/// Each design: distance, product, head, a matrix, and one that follows the core.
fn design(random: &mut Random, classes: usize, discounts: &[f64], draw: &mut dyn FnMut(&mut Random) -> f64) -> Design {
    match random.below(5) {
        0 => Design::distance(classes),
        1 => Design::product(discounts).unwrap(),
        2 => Design::head(classes, random.below(classes + 1)),
        3 => {
            let by_distance: Vec<f64> = (0..classes).map(|_| draw(random)).collect();
            let table = (0..classes * classes).map(|at| by_distance[(at / classes).abs_diff(at % classes)]);
            Design::matrix(classes, table.collect()).unwrap()
        }
        _ => {
            let mut table = vec![0.0; classes * classes];
            for k in 0..classes {
                for l in 0..=k {
                    table[k * classes + l] = draw(random);
                    table[l * classes + k] = table[k * classes + l];
                }
            }
            Design::matrix(classes, table).unwrap()
        }
    }
}

/// Each linear loss as `extra`: p@k, winner takes all, reciprocal rank, NDCG; or any numbers; or nothing.
fn loss(random: &mut Random, n: usize, classes: usize, draw: &mut dyn FnMut(&mut Random) -> f64) -> Vec<f64> {
    let relevant: Vec<bool> = (0..n).map(|_| random.below(3) == 0).collect();
    let (head, kind) = (classes - 1, random.below(6));
    let one = random.below(n.max(1));
    let gain: Vec<f64> = (0..n).map(|_| random.below(4) as f64).collect();
    match kind {
        0 => vec![],
        5 => (0..n * classes).map(|_| draw(random)).collect(),
        _ => (0..n * classes)
            .map(|at| {
                let (i, j) = (at / classes, at % classes);
                match kind {
                    1 if j < head => f64::from(u8::from(!relevant[i])) / head as f64,
                    2 if j == 0 => f64::from(u8::from(!relevant[i])),
                    3 if i == one && j < head => -1.0 / (j + 1) as f64,
                    4 if j < head => -gain[i] / (j as f64 + 2.0).log2(),
                    _ => 0.0,
                }
            })
            .collect(),
    }
}

/// A random problem: sometimes of whole numbers, with pins, with excluded places.
fn case(random: &mut Random, n: usize, classes: usize, core: usize) -> Case {
    let whole = random.below(3) == 0;
    let scale = [0.1, 1.0, 4.0][random.below(3)];
    let mut draw =
        |random: &mut Random| if whole { random.below(7) as f64 - 3.0 } else { scale * random.normal() };
    let scores: Vec<f64> = (0..n).map(|_| draw(random)).collect();
    let discounts: Vec<f64> = match random.below(3) {
        0 => (0..classes).map(|_| draw(random)).collect(),
        _ if whole => (0..classes).map(|j| (classes - 1 - j) as f64).collect(),
        _ => (0..classes).map(|j| if j + 1 < classes { 1.0 / (j as f64 + 2.0).log2() } else { 0.0 }).collect(),
    };
    let design = design(random, classes, &discounts, &mut draw);
    let mut items: Vec<u32> = (0..n as u32).collect();
    random.shuffle(&mut items);
    let core = core.min(n);
    let g: Vec<f64> = (0..core * n).map(|_| draw(random)).collect();
    let links = Links::new(n, &items[..core], &g).unwrap();
    let mut extra = loss(random, n, classes, &mut draw);
    if random.below(3) == 0 {
        extra.resize(n * classes, 0.0);
        for x in &mut extra {
            if random.below(5) == 0 {
                *x = f64::NEG_INFINITY;
            }
        }
    }
    let mut pins = vec![];
    if random.below(3) == 0 {
        random.shuffle(&mut items);
        let mut places: Vec<u32> = (0..classes as u32).collect();
        random.shuffle(&mut places);
        let count = random.below(4);
        pins.extend(items.iter().copied().zip(places).take(count));
    }
    let whole = whole && extra.iter().all(|x| x.fract().abs() < f64::EPSILON || x.is_infinite());
    Case { scores, discounts, design, links, extra, pins, whole }
}

fn near(a: f64, b: f64, slack: f64) -> bool {
    a.total_cmp(&b).is_eq() || (a - b).abs() <= slack * (1.0 + b.abs())
}

/// Everything that is fast, against every order.
fn equals_enumeration(case: &Case, work: &mut Work) -> bool {
    let problem = case.problem();
    let (mut places, mut sums, mut values) = (vec![], Sums::default(), vec![]);
    let Some((value, truth)) = exhaustive::best(&problem) else {
        for error in [
            problem.best(UNLIMITED, work, &mut places).unwrap_err(),
            problem.best_list(Search::Every, work, &mut places).unwrap_err(),
            problem.log_sum(work, &mut sums).unwrap_err(),
            problem.forced(work, &mut values).unwrap_err(),
        ] {
            assert!(matches!(error, Error::Data { .. }), "{error}");
        }
        return false;
    };
    // is there another order that is as good?
    let mut second = f64::NEG_INFINITY;
    exhaustive::orders(&problem, &mut |places, value| {
        second = if places != truth { second.max(value) } else { second };
    });
    let unique = value - second > 1e-9 * (1.0 + value.abs());
    let mut same = |best: ordain::Result<ordain::structure::ranking::Best>, places: &[u32]| {
        let best = best.unwrap();
        assert!(best.proven() && near(best.value, value, 1e-12), "{best:?} is not {value}");
        assert!(!case.whole || best.value.total_cmp(&value).is_eq(), "{best:?} is not {value}");
        assert!(near(problem.value(places), best.value, 0.0));
        assert!(!unique || places == truth, "{places:?} is not {truth:?}");
    };
    same(problem.best(UNLIMITED, work, &mut places), &places);
    for search in [Search::Bounded, Search::Every] {
        let best = problem.best_list(search, work, &mut places);
        same(best, &places);
    }
    let (log_z, truth) = exhaustive::log_sum(&problem);
    let found = problem.log_sum(work, &mut sums).unwrap();
    assert!(near(found, log_z, 1e-11), "{found} is not {log_z}");
    for (name, found, truth) in [("marginal", &sums.marginals, &truth.marginals), ("pair", &sums.pairs, &truth.pairs)] {
        assert_eq!(found.len(), truth.len());
        for (at, (a, b)) in found.iter().zip(truth).enumerate() {
            assert!(near(*a, *b, 1e-10), "{name} {at}: {a} is not {b}");
        }
    }
    let (best, truth) = exhaustive::forced(&problem);
    let found = problem.forced(work, &mut values).unwrap();
    assert!(near(found, best, 1e-11));
    for (at, (a, b)) in values.iter().zip(&truth).enumerate() {
        assert!(near(*a, *b, 1e-11), "forced {at}: {a} is not {b}");
    }
    true
}

fn rounds(count: u32) {
    let (mut random, mut work) = (Random::new(17), Work::default());
    let mut possible = 0;
    for round in 0..count {
        let n = if round % 4 == 0 { random.below(8) } else { random.below(6) };
        let classes = 1 + random.below(n + 1);
        let case = case(&mut random, n, classes, round as usize % 4);
        possible += u32::from(equals_enumeration(&case, &mut work));
    }
    assert!(possible * 10 > count * 7, "{possible} of {count} had an order");
}

#[test]
fn everything_equals_enumeration() {
    rounds(cases(500));
}

#[test]
fn without_a_core_it_is_the_assignment() {
    let mut random = Random::new(3);
    let (mut work, mut places, mut solver) = (Work::default(), vec![], assignment::Work::default());
    for round in 0..cases(60) {
        let n = 1 + random.below(30);
        let extra: Vec<f64> = (0..n * n).map(|_| random.normal()).collect();
        let (zeros, design, links) = (vec![0.0; n], Design::distance(n), Links::none(n));
        let problem =
            Problem { scores: &zeros, discounts: &zeros, design: &design, links: &links, extra: &extra, pins: &[] };
        let costs: Vec<f64> = extra.iter().map(|x| -x).collect();
        let truth = assignment::solve(&costs, n, n, &mut solver).unwrap();
        let best = problem.best(UNLIMITED, &mut work, &mut places).unwrap();
        assert!(near(best.value, -truth.cost, 1e-12) && best.proven(), "round {round}");
        assert!(places.iter().zip(truth.column_of).all(|(&a, b)| Some(a) == *b));
    }
    // and lists by discounts alone have their sum from sorting
    let scores: Vec<f64> = (0..40).map(|_| random.normal()).collect();
    let (design, links) = (Design::distance(5), Links::none(40));
    let discounts = [1.0, 0.6, 0.5, 0.4, 0.0];
    let problem =
        Problem { scores: &scores, discounts: &discounts, design: &design, links: &links, extra: &[], pins: &[] };
    let (mut sums, mut truth) = (Sums::default(), vec![0.0; 160]);
    let log_z = problem.log_sum(&mut work, &mut sums).unwrap();
    assert!(near(log_z, places::log_sum(&scores, &discounts[..4], &mut places::Work::default(), &mut truth).unwrap(), 1e-13));
    for i in 0..40 {
        assert!((0..4).all(|j| near(sums.marginals[i * 5 + j], truth[i * 4 + j], 1e-12)));
    }
}

#[test]
fn blocks_are_sets() {
    let (mut random, mut work, mut places) = (Random::new(5), Work::default(), vec![]);
    let (mut star_work, mut set) = (MaxWork::default(), vec![]);
    for _ in 0..cases(40) {
        let (n, c, k) = (8 + random.below(8), random.below(4), 1 + random.below(4));
        let scores: Vec<f64> = (0..n).map(|_| random.normal()).collect();
        let core: Vec<u32> = (0..c as u32).map(|c| 2 * c + 1).collect();
        let g: Vec<f64> = (0..c * n).map(|_| random.normal()).collect();
        let (star, links) = (Star::new(n, &core, &g).unwrap(), Links::new(n, &core, &g).unwrap());
        let design = Design::head(k + 1, k);
        let mut discounts = vec![1.0; k + 1];
        discounts[k] = 0.0;
        let problem =
            Problem { scores: &scores, discounts: &discounts, design: &design, links: &links, extra: &[], pins: &[] };
        let over = Subsets { k, clamp: &[] };
        let truth = star.max(&scores, &over, &mut star_work, &mut set).unwrap();
        let best = problem.best(UNLIMITED, &mut work, &mut places).unwrap();
        assert!(near(best.value, truth, 1e-12));
        let mut head: Vec<u32> = order(&places, k + 1)[..k].to_vec();
        head.sort_unstable();
        assert_eq!(head, set);
        // every set has k! orders
        let (mut sums, mut p, mut pairs) = (Sums::default(), vec![0.0; n], vec![0.0; c * n]);
        let log_z = problem.log_sum(&mut work, &mut sums).unwrap();
        let sum = StarSum::new(&star).unwrap();
        let sets = sum.log_sum(&scores, &over, &mut SumWork::default(), &mut p, Some(&mut pairs)).unwrap();
        assert!(near(log_z, sets + (1..=k).map(|j| (j as f64).ln()).sum::<f64>(), 1e-12));
        for i in 0..n {
            assert!(near(1.0 - sums.marginals[i * (k + 1) + k], p[i], 1e-10));
        }
        links.each_pair(|_, _, at| assert!(near(sums.pairs[at], pairs[at], 1e-10)));
    }
}

#[test]
fn slopes_of_the_sum_agree_with_differences() {
    let (mut random, mut work, mut sums) = (Random::new(7), Work::default(), Sums::default());
    let (n, classes) = (12, 4);
    let scores: Vec<f64> = (0..n).map(|_| random.normal()).collect();
    let g: Vec<f64> = (0..2 * n).map(|_| random.normal()).collect();
    let discounts = [1.0, 0.6, 0.5, 0.0];
    let design = Design::distance(classes);
    let mut at = |g: &[f64], scores: &[f64], sums: &mut Sums| {
        let links = Links::new(n, &[4, 9], g).unwrap();
        let problem = Problem { scores, discounts: &discounts, design: &design, links: &links, extra: &[], pins: &[] };
        problem.log_sum(&mut work, sums).unwrap()
    };
    at(&g, &scores, &mut sums);
    let mut other = Sums::default();
    Links::new(n, &[4, 9], &g).unwrap().each_pair(|_, _, link| {
        let mut moved = |by: f64| {
            let mut g = g.clone();
            g[link] += by;
            at(&g, &scores, &mut other)
        };
        let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
        assert!((slope - sums.pairs[link]).abs() < 1e-8, "{slope} is not {}", sums.pairs[link]);
    });
    for i in 0..n {
        let mut moved = |by: f64| {
            let mut scores = scores.clone();
            scores[i] += by;
            at(&g, &scores, &mut other)
        };
        let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
        let expected: f64 = discounts.iter().zip(&sums.marginals[i * classes..]).map(|(c, p)| c * p).sum();
        assert!((slope - expected).abs() < 1e-8, "{slope} is not {expected}");
    }
}

#[test]
fn steep_scores_do_not_overflow() {
    let (mut random, mut work, mut sums) = (Random::new(8), Work::default(), Sums::default());
    for scale in [1e3, 1e6] {
        let scores: Vec<f64> = (0..7).map(|_| scale * random.normal()).collect();
        let g: Vec<f64> = (0..14).map(|_| scale * random.normal()).collect();
        let (design, links) = (Design::distance(4), Links::new(7, &[1, 2], &g).unwrap());
        let discounts = [1.0, 0.6, 0.5, 0.0];
        let problem =
            Problem { scores: &scores, discounts: &discounts, design: &design, links: &links, extra: &[], pins: &[] };
        let log_z = problem.log_sum(&mut work, &mut sums).unwrap();
        let (truth, all) = exhaustive::log_sum(&problem);
        assert!(near(log_z, truth, 1e-14));
        assert!(sums.marginals.iter().zip(&all.marginals).all(|(a, b)| near(*a, *b, 1e-9)));
    }
}
