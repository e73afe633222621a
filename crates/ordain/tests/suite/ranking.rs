//! Orders with quadratic scores against enumeration: the best of them, the sum over all of them, and forced values.
#![allow(clippy::unwrap_used)] // a test may panic

use crate::cases::cases;
use ordain::Error;
use ordain::random::Random;
use ordain::structure::matching::assignment;
use ordain::structure::matching::places;
use ordain::structure::ranking::{Design, Links, Problem, Search, Sums, UNLIMITED, Way, Work, exhaustive, order};
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
    let mut draw = |random: &mut Random| if whole { random.below(7) as f64 - 3.0 } else { scale * random.normal() };
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
    let same = |best: ordain::Result<ordain::structure::ranking::Best>, places: &[u32]| {
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
        let (n, core) = (random.below(8), round as usize % 4);
        let classes = if round % 3 == 0 { n.max(1) + random.below(2) } else { 1 + random.below(n + 1) };
        let classes = classes.min(n + 1);
        let case = case(&mut random, n, classes, core);
        possible += u32::from(equals_enumeration(&case, &mut work));
    }
    assert!(possible * 10 > count * 7, "{possible} of {count} had an order");
}

#[test]
fn everything_equals_enumeration() {
    rounds(cases(500));
}

#[test]
fn forced_values_are_the_best_with_a_pin() {
    let (mut random, mut work) = (Random::new(23), Work::default());
    let (mut places, mut values) = (vec![], vec![]);
    for round in 0..cases(16) {
        // enough items for whole blocks of leaves, and for lists shorter than all of them
        let (n, classes) = (8 + random.below(40), 2 + random.below(5));
        let mut case = case(&mut random, n, classes, round as usize % 4);
        case.pins.truncate(1);
        let possible = case.problem().forced(&mut work, &mut values).is_ok();
        for (at, &value) in values.iter().enumerate().filter(|_| possible) {
            let mut pins = case.pins.clone();
            pins.push(((at / classes) as u32, (at % classes) as u32));
            let pinned = Problem { pins: &pins, ..case.problem() };
            let best = pinned.best(UNLIMITED, &mut work, &mut places).map_or(f64::NEG_INFINITY, |best| best.value);
            assert!(near(value, best, 1e-11), "forced {at}: {value} is not {best}");
        }
    }
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
    assert!(near(
        log_z,
        places::log_sum(&scores, &discounts[..4], &mut places::Work::default(), &mut truth).unwrap(),
        1e-13
    ));
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
        let mut head: Vec<u32> = order(&places)[..k].to_vec();
        head.sort_unstable();
        assert_eq!(head, set);
        // every set has k! orders
        let (mut sums, mut p, mut pairs) = (Sums::default(), vec![0.0; n], vec![0.0; c * n]);
        let log_z = problem.log_sum(&mut work, &mut sums).unwrap();
        let sum = StarSum::new(&star).unwrap();
        let sets = sum.log_sum(&scores, &over, &mut SumWork::default(), &mut p, Some(&mut pairs)).unwrap();
        assert!(near(log_z, sets + (1..=k).map(|j| (j as f64).ln()).sum::<f64>(), 1e-12));
        for (row, p) in sums.marginals.chunks(k + 1).zip(&p) {
            assert!(near(1.0 - row[k], *p, 1e-10));
        }
        links.each_pair(|_, _, at| assert!(near(sums.pairs[at], pairs[at], 1e-10)));
    }
}

#[test]
fn power_sums_equal_the_recursion() {
    let (mut random, mut work) = (Random::new(6), Work::default());
    let mut other = 0;
    for round in 0..cases(120) {
        let (n, k) = (10 + random.below(70), 1 + random.below(5));
        let core = 1 + random.below(3);
        let mut case = case(&mut random, n, k + 1, core);
        // from flat, where nothing cancels, to steep, where the recursion is taken
        let size = [0.05, 0.3, 1.0, 5.0, 40.0][round as usize % 5];
        case.scores.iter_mut().for_each(|s| *s *= size);
        let problem = case.problem();
        let (mut fast, mut slow) = (Sums::default(), Sums::default());
        let Ok(truth) = problem.log_sum_by(Way::Recursion, &mut work, &mut slow) else { continue };
        let found = problem.log_sum(&mut work, &mut fast).unwrap();
        assert!(near(found, truth, 1e-12), "{found} is not {truth}");
        for (a, b) in fast.marginals.iter().zip(&slow.marginals).chain(fast.pairs.iter().zip(&slow.pairs)) {
            assert!(near(*a, *b, 1e-10), "{a} is not {b}");
        }
        other += u32::from(fast != slow);
    }
    assert!(other * 3 > cases(120), "power sums were taken {other} times");
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

#[test]
fn a_work_limit_leaves_a_bound() {
    let (mut random, mut work, mut places) = (Random::new(9), Work::default(), vec![]);
    let (mut early, mut late) = (0, 0);
    for _ in 0..cases(40) {
        let n = 8 + random.below(8);
        let core = 1 + random.below(3);
        let mut case = case(&mut random, n, n, core);
        case.pins.clear();
        case.extra.clear();
        let problem = case.problem();
        let best = problem.best(UNLIMITED, &mut work, &mut places).unwrap();
        assert!(best.proven() && best.gap().abs() < f64::EPSILON);
        let mut last = f64::NEG_INFINITY;
        for limit in [0, 2, 20, 200, 100_000] {
            let found = problem.best(limit, &mut work, &mut places).unwrap();
            assert!(near(problem.value(&places), found.value, 0.0));
            assert!(found.value >= last && found.value <= best.value + 1e-9, "{found:?} of {best:?}");
            assert!(found.bound >= best.value - 1e-9, "{found:?} of {best:?}");
            assert!(!found.proven() || near(found.value, best.value, 1e-12));
            assert_eq!(problem.best(limit, &mut Work::default(), &mut vec![]).unwrap(), found);
            last = found.value;
            early += u32::from(limit == 0 && !found.proven());
            late += u32::from(limit == 100_000 && found.proven());
        }
    }
    assert!(early > 0 && late >= cases(40));
}

/// What the loop of the paper finds: every placement of the core, an assignment each.
fn loop_of_the_paper(problem: &Problem) -> f64 {
    let (n, links) = (problem.items(), problem.links);
    let leaves: Vec<usize> = (0..n).filter(|&i| links.in_core(i).is_none()).collect();
    let (mut solver, mut best) = (assignment::Work::default(), f64::NEG_INFINITY);
    ordain::structure::exhaustive::injections(n, links.core().len(), &mut |p| {
        let mut value = 0.0;
        for (c, &item) in links.core().iter().enumerate() {
            value += problem.linear(item as usize, p[c] as usize);
            for (d, &other) in links.core().iter().enumerate().take(c) {
                value += links.row(c)[other as usize] * problem.design.at(p[c] as usize, p[d] as usize);
            }
        }
        let mut costs = vec![];
        for &i in &leaves {
            for j in (0..n).filter(|&j| !p.contains(&(j as u32))) {
                let pairs: f64 =
                    p.iter().enumerate().map(|(c, &q)| links.row(c)[i] * problem.design.at(q as usize, j)).sum();
                costs.push(-(problem.linear(i, j) + pairs));
            }
        }
        value -= assignment::solve(&costs, leaves.len(), leaves.len(), &mut solver).unwrap().cost;
        best = if value > best { value } else { best };
    });
    best
}

#[test]
fn boxes_equal_the_loop_of_the_paper() {
    let (mut random, mut work, mut places) = (Random::new(11), Work::default(), vec![]);
    for round in 0..cases(12) {
        let (n, core) = [(24, 1), (16, 2), (11, 3)][round as usize % 3];
        let mut case = case(&mut random, n, n, core);
        case.pins.clear();
        case.extra.iter_mut().for_each(|x| *x = if x.is_finite() { *x } else { 0.0 });
        let near_ones = |at: usize| (-((at / n).abs_diff(at % n) as f64) / 3.0).exp();
        if round % 2 == 0 {
            case.design = Design::matrix(n, (0..n * n).map(near_ones).collect()).unwrap();
        } else {
            case.design = Design::distance(n);
        }
        let problem = case.problem();
        let best = problem.best(UNLIMITED, &mut work, &mut places).unwrap();
        assert!(near(best.value, loop_of_the_paper(&problem), 1e-11), "round {round}");
    }
}

#[test]
fn what_is_wrong_is_named() {
    let (design, links) = (Design::distance(3), Links::new(4, &[1], &[0.5; 4]).unwrap());
    let (scores, discounts) = ([1.0, 2.0, 3.0, 4.0], [1.0, 0.5, 0.0]);
    let right =
        Problem { scores: &scores, discounts: &discounts, design: &design, links: &links, extra: &[], pins: &[] };
    let said = |problem: &Problem| {
        let (mut work, mut places, mut sums, mut values) = (Work::default(), vec![], Sums::default(), vec![]);
        let error = problem.best(UNLIMITED, &mut work, &mut places).unwrap_err().to_string();
        assert_eq!(problem.log_sum(&mut work, &mut sums).unwrap_err().to_string(), error);
        assert_eq!(problem.forced(&mut work, &mut values).unwrap_err().to_string(), error);
        error
    };
    assert!(said(&Problem { pins: &[(0, 1), (3, 1)], ..right }).contains("items 0 and 3 pinned at place 1"));
    assert!(said(&Problem { pins: &[(0, 1), (0, 2)], ..right }).contains("item 0 pinned at 1 and at 2"));
    assert!(said(&Problem { pins: &[(4, 1)], ..right }).contains("item 4 at 1"));
    assert!(said(&Problem { pins: &[(0, 2), (1, 2), (2, 2)], ..right }).contains("3 items that may stand in the tail"));
    let none = f64::NEG_INFINITY;
    let mut extra = [0.0; 12];
    extra[3..6].fill(none);
    assert!(said(&Problem { extra: &extra, ..right }).contains("item 1, for which every place is excluded"));
    let mut extra = [0.0; 12];
    (0..4).for_each(|i| extra[i * 3] = none);
    assert!(said(&Problem { extra: &extra, ..right }).contains("place 0 (from 0), from which every item is excluded"));
    assert!(said(&Problem { scores: &[f64::NAN, 0.0, 0.0, 0.0], ..right }).contains("a score is not a finite number"));
    assert!(said(&Problem { discounts: &[1.0, f64::INFINITY, 0.0], ..right }).contains("a discount is not"));
    assert!(said(&Problem { scores: &[1e300; 4], ..right }).contains("the score of an order is not"));
    extra[1] = f64::NAN;
    assert!(said(&Problem { extra: &extra, ..right }).contains("an extra term"));
    assert!(said(&Problem { discounts: &[1.0], ..right }).contains("3 discounts"));
    assert!(said(&Problem { extra: &[1.0], ..right }).contains("4 x 3 extra terms"));
    assert!(said(&Problem { scores: &[1.0; 5], ..right }).contains("links of 5 items"));
    assert!(said(&Problem { scores: &[1.0], ..right }).contains("a design of 3 classes"));
    for (error, part) in [
        (Design::matrix(2, vec![0.0, 1.0, 2.0, 0.0]).unwrap_err(), "a symmetric design"),
        (Design::matrix(2, vec![0.0; 3]).unwrap_err(), "2 x 2 numbers"),
        (Design::matrix(1, vec![f64::NAN]).unwrap_err(), "not a finite number"),
        (Design::product(&[1e200, 1e200]).unwrap_err(), "a product of two discounts"),
        (Links::new(3, &[0, 0], &[0.0; 6]).unwrap_err(), "different items"),
        (Links::new(3, &[3], &[0.0; 3]).unwrap_err(), "different items"),
        (Links::new(3, &[0], &[f64::NAN; 3]).unwrap_err(), "a link is not"),
        (Links::of_flow(3, &[0], &[0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]).unwrap_err(), "between items 1 and 2"),
    ] {
        assert!(error.to_string().contains(part), "{error}");
    }
    let many = Design::distance(20);
    let zeros = vec![0.0; 20];
    let (links, mut work) = (Links::none(30), Work::default());
    let long = Problem { scores: &[0.0; 30], discounts: &zeros, design: &many, links: &links, extra: &[], pins: &[] };
    let error = long.log_sum(&mut work, &mut Sums::default()).unwrap_err().to_string();
    assert!(error.contains("at most 16"), "{error}");
}

#[test]
fn work_is_stopped_when_asked() {
    let mut random = Random::new(13);
    let scores: Vec<f64> = (0..60).map(|_| random.normal()).collect();
    let g: Vec<f64> = (0..180).map(|_| random.normal()).collect();
    let links = Links::new(60, &[1, 2, 3], &g).unwrap();
    for classes in [8, 60] {
        let (design, discounts) = (Design::distance(classes), vec![1.0; classes]);
        let problem =
            Problem { scores: &scores, discounts: &discounts, design: &design, links: &links, extra: &[], pins: &[] };
        let mut work = Work::default().stopped_by(ordain::Interrupt::when(|| true));
        let (mut places, mut values, mut sums) = (vec![], vec![], Sums::default());
        assert!(matches!(problem.best(UNLIMITED, &mut work, &mut places), Err(Error::Interrupted)));
        assert!(matches!(problem.forced(&mut work, &mut values), Err(Error::Interrupted)));
        if classes == 8 {
            assert!(matches!(problem.log_sum(&mut work, &mut sums), Err(Error::Interrupted)));
        }
    }
}
