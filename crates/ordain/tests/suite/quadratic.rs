//! Quadratic assignment against all permutations, planted optima, published ones, and data at the edge of what fits.
#![allow(clippy::unwrap_used, clippy::float_cmp)] // a test may panic, and values of whole numbers are exact

use crate::cases::cases;
use ordain::random::Random;
use ordain::structure::exhaustive::permutations;
use ordain::structure::quadratic::{Bound, Limit, Problem, Settings, Solution, lower_bound, solve};
use ordain::{Error, Interrupt};
use proptest::prelude::*;
use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

/// Matrices of one problem.
struct Data {
    n: usize,
    a: Vec<f64>,
    b: Vec<f64>,
    linear: Option<Vec<f64>>,
}

impl Data {
    /// Every kind: whole numbers, with many zeros, real ones; symmetric or not; a linear term or none; now and then a matrix of zeros.
    fn random(random: &mut Random, n: usize) -> Self {
        let kind = random.below(3);
        let (mirror, zero, term) = (random.below(4), random.below(12), random.below(2) == 0);
        let mut matrix = |mirror: bool, zero: bool| {
            let number = |random: &mut Random| match kind {
                0 => random.below(19) as f64 - 5.0,
                1 => 10.0 * (random.below(5) as f64 - 3.0).max(0.0),
                _ => random.normal(),
            };
            let mut made: Vec<f64> = (0..n * n).map(|_| if zero { 0.0 } else { number(random) }).collect();
            for at in 0..if mirror { n * n } else { 0 } {
                made[at] = made[at % n * n + at / n];
            }
            made
        };
        let (a, b) = (matrix(mirror & 1 == 1, zero == 0), matrix(mirror & 2 == 2, zero == 1));
        Self { n, a, b, linear: term.then(|| matrix(false, false)) }
    }

    fn problem(&self) -> Problem {
        Problem::new(self.n, &self.a, &self.b, self.linear.as_deref()).unwrap()
    }

    /// By the definition.
    fn value(&self, places: &[u32]) -> f64 {
        let mut sum = 0.0;
        for (i, &p) in places.iter().enumerate() {
            for (j, &q) in places.iter().enumerate() {
                sum += self.a[i * self.n + j] * self.b[p as usize * self.n + q as usize];
            }
            sum += self.linear.as_ref().map_or(0.0, |linear| linear[i * self.n + p as usize]);
        }
        sum
    }

    fn optimum(&self) -> f64 {
        let mut least = f64::INFINITY;
        permutations(self.n, &mut |places| least = least.min(self.value(places)));
        least
    }

    /// How far a sum may be off.
    fn slack(&self) -> f64 {
        let whole = self.a.iter().chain(&self.b).chain(self.linear.iter().flatten()).all(|x| x.fract() == 0.0);
        if whole { 0.0 } else { 1e-12 * (1.0 + (self.n * self.n) as f64) }
    }
}

fn steps(problem: &Problem, steps: u64, bound: Bound, seed: u64) -> Solution {
    let settings = Settings { limit: Limit::Steps(steps), bound, seed };
    solve(problem, &settings, Interrupt::default()).unwrap()
}

fn is_permutation(places: &[u32]) -> bool {
    let mut sorted = places.to_vec();
    sorted.sort_unstable();
    sorted.iter().copied().eq(0..places.len() as u32)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(300)))]

    #[test]
    fn small_problems_are_solved_and_no_bound_is_above_the_optimum(seed: u64, n in 0..7usize) {
        let data = Data::random(&mut Random::new(seed), n);
        let (problem, optimum) = (data.problem(), data.optimum());
        for &by in Bound::ALL {
            if by == Bound::Projection && !problem.symmetric() {
                prop_assert!(lower_bound(&problem, by, &Interrupt::default()).is_err());
                continue;
            }
            let bound = lower_bound(&problem, by, &Interrupt::default()).unwrap();
            prop_assert!(bound <= optimum, "{} {bound} is above {optimum}", by.name());
            prop_assert_eq!(bound == f64::NEG_INFINITY, by == Bound::None);
            let found = steps(&problem, 10, by, seed);
            prop_assert!((found.value - optimum).abs() <= data.slack());
            prop_assert!((found.value - data.value(&found.places)).abs() <= data.slack());
            prop_assert!(is_permutation(&found.places) && found.proven && found.gap() == 0.0);
        }
        // each is at least as good as the one that it starts from, and the best of them is taken
        let bound = |by| lower_bound(&problem, by, &Interrupt::default()).unwrap();
        let near = 1e-9 * (1.0 + optimum.abs());
        prop_assert!(bound(Bound::HahnGrant) >= bound(Bound::GilmoreLawler) - near);
        prop_assert!(bound(Bound::Auto) >= bound(Bound::HahnGrant));
    }

    #[test]
    fn values_are_those_of_the_definition(seed: u64, n in 0..20usize) {
        let mut random = Random::new(seed);
        let data = Data::random(&mut random, n);
        let mut places: Vec<u32> = (0..n as u32).collect();
        random.shuffle(&mut places);
        prop_assert!((data.problem().value(&places) - data.value(&places)).abs() <= 10.0 * data.slack());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(12)))]

    /// Eight items are too many to be tried one by one.
    #[test]
    fn the_search_finds_optima(seed: u64) {
        let data = Data::random(&mut Random::new(seed), 8);
        let (problem, optimum) = (data.problem(), data.optimum());
        for by in [Bound::None, Bound::Auto] {
            let found = steps(&problem, 6000, by, seed);
            prop_assert!((found.value - optimum).abs() <= data.slack(), "{} is not {optimum}", found.value);
            prop_assert!(found.bound <= optimum + data.slack() && found.steps <= 6000 && is_permutation(&found.places));
            prop_assert!(found.value == problem.value(&found.places) && !found.gap().is_nan());
        }
    }

    #[test]
    fn the_same_seed_and_steps_give_the_same(seed: u64, n in 8..12usize, most in 0..2000u64) {
        let data = Data::random(&mut Random::new(seed), n);
        let first = steps(&data.problem(), most, Bound::Auto, seed);
        prop_assert_eq!(&first, &steps(&data.problem(), most, Bound::Auto, seed));
        prop_assert!(first.steps <= most);
        // more steps are the same ones and more, but for the half in which tabu search begins
        prop_assert!(steps(&data.problem(), 4 * most, Bound::Auto, seed).value <= steps(&data.problem(), 0, Bound::None, seed).value);
    }
}

/// A hidden copy of a graph: no order agrees with it better than the one that hid it, by Cauchy and Schwarz.
#[test]
fn hidden_copies_are_found() {
    for (n, whole) in [(12, true), (20, false), (30, true)] {
        let mut random = Random::new(n as u64);
        let mut a = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..i {
                let x = if whole { random.below(10) as f64 } else { random.uniform() };
                (a[i * n + j], a[j * n + i]) = (x, x);
            }
        }
        let mut hidden: Vec<usize> = (0..n).collect();
        random.shuffle(&mut hidden);
        let mut b = vec![0.0; n * n];
        (0..n * n).for_each(|at| b[hidden[at / n] * n + hidden[at % n]] = -a[at]);
        let best = -a.iter().map(|x| x * x).sum::<f64>();
        let found = steps(&Problem::new(n, &a, &b, None).unwrap(), 60_000, Bound::Auto, 1);
        assert!((found.value - best).abs() <= 1e-9, "{} is not {best}", found.value);
        assert!(found.bound <= best + 1e-9 * best.abs());
    }
}

/// n points of a grid on themselves, where items that are neighbours belong together: the identity costs least, and each link at least 1.
#[test]
fn grids_are_laid_out() {
    let (rows, cols) = (4, 5);
    let n = rows * cols;
    let far = |i: usize, j: usize| (i / cols).abs_diff(j / cols) + (i % cols).abs_diff(j % cols);
    let distance: Vec<f64> = (0..n * n).map(|at| far(at / n, at % n) as f64).collect();
    let links: Vec<f64> = distance.iter().map(|&d| f64::from(u8::from(d == 1.0))).collect();
    let found = steps(&Problem::new(n, &links, &distance, None).unwrap(), 40_000, Bound::Auto, 0);
    assert_eq!((found.value, found.bound, found.proven), (62.0, 62.0, true)); // 31 links, both ways
}

#[test]
fn a_linear_term_alone_is_an_assignment() {
    let n = 12;
    let mut random = Random::new(3);
    let (zero, one) = (vec![0.0; n * n], vec![1.0; n * n]);
    for real in [false, true] {
        let linear: Vec<f64> =
            (0..n * n).map(|_| if real { random.normal() } else { random.below(50) as f64 }).collect();
        let mut work = ordain::structure::matching::assignment::Work::default();
        let least = ordain::structure::matching::assignment::solve(&linear, n, n, &mut work).unwrap().cost;
        let found = steps(&Problem::new(n, &zero, &one, Some(&linear)).unwrap(), 30_000, Bound::GilmoreLawler, 0);
        assert!((found.value - least).abs() < 1e-12 && found.proven, "{found:?}");
    }
    let found = steps(&Problem::new(n, &zero, &zero, None).unwrap(), 100, Bound::Auto, 0);
    assert_eq!((found.value, found.bound, found.proven, found.steps), (0.0, 0.0, true, 0));
}

/// Values of whole numbers lie on a grid, and bounds go up to its next point: symmetric matrices of tens make multiples of 200.
#[test]
fn bounds_of_whole_numbers_are_possible_values() {
    let n = 9;
    let mut random = Random::new(8);
    let mut matrix = || {
        let mut made = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..i {
                (made[i * n + j], made[j * n + i]) = [(0.0, 0.0), (10.0, 10.0), (30.0, 30.0)][random.below(3)];
            }
        }
        made
    };
    let problem = Problem::new(n, &matrix(), &matrix(), None).unwrap();
    for by in [Bound::GilmoreLawler, Bound::HahnGrant, Bound::Projection] {
        let bound = lower_bound(&problem, by, &Interrupt::default()).unwrap();
        assert_eq!(bound % 200.0, 0.0, "{} {bound}", by.name());
    }
}

#[test]
fn what_cannot_be_solved_is_named() {
    let message = |n, a: &[f64], b: &[f64], c: Option<&[f64]>| Problem::new(n, a, b, c).unwrap_err().to_string();
    let (ones, nan) = ([1.0; 4], [1.0, 2.0, f64::NAN, 4.0]);
    assert_eq!(message(2, &ones[..3], &ones, None), "expected 2 x 2 numbers in A, found 3 numbers");
    assert_eq!(message(2, &ones, &[1.0; 9], None), "expected 2 x 2 numbers in B, found 9 numbers");
    assert_eq!(message(2, &ones, &ones, Some(&[])), "expected 2 x 2 numbers in the linear term, found 0 numbers");
    assert_eq!(
        message(2, &nan, &ones, None),
        "expected finite numbers in A, found NaN in row 1, column 0 (counted from 0)"
    );
    let infinite = [1.0, f64::NEG_INFINITY, 0.0, 0.0];
    let found = message(2, &ones, &ones, Some(&infinite));
    assert_eq!(found, "expected finite numbers in the linear term, found -inf in row 0, column 1 (counted from 0)");
    assert!(message(usize::MAX, &[], &[], None).ends_with("found 0 numbers"));
    let found = message(2, &[1e300; 4], &[1e300; 4], None);
    assert_eq!(
        found,
        "expected sums of products of at most 1e290; divide the entries by a common factor, found entries of up to 1e300 in A and 1e300 in B"
    );
    assert!(
        Problem::new(2, &[f64::MAX; 4], &ones, None).is_err()
            && Problem::new(2, &ones, &ones, Some(&[1e300; 4])).is_err()
    );

    let problem = Problem::new(2, &[0.0, 1.0, 2.0, 0.0], &[0.0, 3.0, 4.0, 0.0], None).unwrap();
    let ask = |limit, bound| solve(&problem, &Settings { limit, bound, seed: 0 }, Interrupt::default()).unwrap_err();
    let found = ask(Limit::Steps(1), Bound::Projection).to_string();
    assert!(found.starts_with("expected a symmetric A or B for the bound projection"), "{found}");
    for seconds in [f64::NAN, -1.0, f64::INFINITY] {
        assert!(matches!(ask(Limit::Seconds(seconds), Bound::Auto), Error::Setting { .. }));
    }
    let large = Problem::new(51, &[0.0; 51 * 51], &[0.0; 51 * 51], None).unwrap();
    let found = lower_bound(&large, Bound::HahnGrant, &Interrupt::default()).unwrap_err().to_string();
    assert!(found.starts_with("expected at most 50 items for the bound hahn-grant"), "{found}");
    assert_eq!(lower_bound(&large, Bound::Auto, &Interrupt::default()).unwrap(), 0.0);
}

/// Entries of any size below the limit give finite values, and bounds that hold.
#[test]
fn entries_of_any_size_end() {
    let mut random = Random::new(9);
    for (scale_a, scale_b) in
        [(1e280, 1.0), (1e-300, 1e-300), (1e-300, 1.0), (1e300, 1e-20), (1e14, 1e14), (1e140, 1e140)]
    {
        for mirror in [false, true] {
            let n = 8;
            let mut matrix = |scale: f64| {
                let mut made: Vec<f64> = (0..n * n).map(|_| scale * random.normal()).collect();
                for at in 0..if mirror { n * n } else { 0 } {
                    made[at] = made[at % n * n + at / n];
                }
                made
            };
            let data = Data { n, a: matrix(scale_a), b: matrix(scale_b), linear: None };
            let (problem, mut least) = (data.problem(), f64::INFINITY);
            permutations(n, &mut |places| least = least.min(problem.value(places)));
            let found = steps(&problem, 4000, Bound::Auto, 0);
            assert!(found.value.is_finite() && found.bound.is_finite(), "{found:?}");
            assert!((found.value - least).abs() <= 1e-12 * least.abs() && found.bound <= least);
        }
    }
}

/// No time is enough for some assignment; it has no bound then.
#[test]
fn no_time_gives_an_assignment() {
    let data = Data::random(&mut Random::new(1), 60);
    let settings = Settings { limit: Limit::Seconds(0.0), ..Settings::default() };
    let found = solve(&data.problem(), &settings, Interrupt::default()).unwrap();
    assert!(is_permutation(&found.places) && found.value == data.problem().value(&found.places));
    assert_eq!((found.bound, found.gap(), found.proven, found.steps), (f64::NEG_INFINITY, f64::INFINITY, false, 0));
}

/// An instance of QAPLIB (Burkard, Karisch, Rendl 1997): its best known value, and whether that is proved to be the optimum.
pub(crate) struct Instance {
    pub(crate) name: String,
    pub(crate) n: usize,
    pub(crate) best: f64,
    pub(crate) proven: bool,
    pub(crate) problem: Problem,
    /// Cost and permutation as published, where the permutation goes from items to places.
    solution: Option<(f64, Vec<u32>)>,
}

/// All instances, from the folder of real data.
pub(crate) fn qaplib(folder: &Path) -> Vec<Instance> {
    let folder = folder.join("matching/qaplib");
    let mut tar = vec![];
    let packed = std::fs::File::open(folder.join("qaplib.tar.zst")).unwrap();
    zstd::Decoder::new(packed).unwrap().read_to_end(&mut tar).unwrap();
    // a header of 512 bytes with name and size in octal digits, then the file, filled up to 512 bytes
    let (mut files, mut at) = (HashMap::new(), 0);
    while at + 512 <= tar.len() && tar[at] != 0 {
        let text = |from: usize, to: usize| String::from_utf8_lossy(&tar[at + from..at + to]).into_owned();
        let (name, size) = (text(0, 100), text(124, 136));
        let size = usize::from_str_radix(size.trim_matches(['\0', ' ']), 8).unwrap();
        let name = name.trim_matches('\0').rsplit('/').next().unwrap_or("").to_owned();
        files.insert(name, text(512, 512 + size));
        at += 512 + size.next_multiple_of(512);
    }
    let numbers = |name: &str| -> Option<Vec<f64>> {
        let words = files.get(name)?.split([' ', '\t', '\r', '\n', ',']).filter(|word| !word.is_empty());
        Some(words.map(|word| word.parse().unwrap()).collect())
    };
    let table = std::fs::read_to_string(folder.join("instances.csv")).unwrap();
    let mut found = vec![];
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let (name, n) = (cells[0].to_owned(), cells[1].parse::<usize>().unwrap());
        let mut all = numbers(&format!("{name}.dat")).unwrap();
        let b = all.split_off(all.len() - n * n);
        let a = all.split_off(all.len() - n * n);
        let solution = (cells[6] == "direct").then(|| {
            let words = numbers(&format!("{name}.sln")).unwrap();
            let least = words[2..].iter().copied().fold(f64::INFINITY, f64::min); // some count from 0
            (words[1], words[2..].iter().map(|place| (place - least) as u32).collect())
        });
        let best = if cells[2].is_empty() { cells[3] } else { cells[2] }.parse().unwrap();
        let problem = Problem::new(n, &a, &b, None).unwrap();
        found.push(Instance { name, n, best, proven: !cells[2].is_empty(), problem, solution });
    }
    found
}

#[test]
#[ignore = "needs the folder ORDAIN_DATA, run by ./check --data"]
fn qaplib_values_and_bounds() {
    let folder = std::env::var_os("ORDAIN_DATA").expect("ORDAIN_DATA names the data folder");
    let (mut checked, mut below, mut ascents) = (0, 0.0, 0);
    for instance in qaplib(Path::new(&folder)) {
        if let Some((cost, places)) = &instance.solution {
            assert_eq!(instance.problem.value(places), *cost, "{}", instance.name);
            checked += 1;
        }
        for by in [Bound::GilmoreLawler, Bound::HahnGrant, Bound::Projection] {
            let has = match by {
                Bound::HahnGrant => (12..=20).contains(&instance.n), // larger ones take long; the gate of speed has them
                Bound::Projection => instance.problem.symmetric(),
                _ => true,
            };
            if !has {
                continue;
            }
            let bound = lower_bound(&instance.problem, by, &Interrupt::default()).unwrap();
            // no value is better than the best known one, proved or not
            assert!(bound <= instance.best, "{}: {} {bound} is above {}", instance.name, by.name(), instance.best);
            if by == Bound::HahnGrant {
                below += (instance.best - bound) / instance.best.max(1.0);
                ascents += 1;
            }
        }
    }
    assert_eq!((checked, ascents), (119, 50)); // as counted beside the data
    assert!(below / f64::from(ascents) <= 0.19, "Hahn-Grant is {:.3} below", below / f64::from(ascents));
}
