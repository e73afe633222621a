//! The best sets of a star against enumeration, the ways to them against each other, and what forced values say.
#![allow(clippy::unwrap_used)] // a test may panic

use crate::speed::star::{K, case as large, naive};
use ordain::Error;
use ordain::random::Random;
use ordain::structure::exhaustive;
use ordain::structure::star::{Best, Clamp, MaxWork, Search, Star, Subsets};

const WAYS: [Search; 4] = [Search::Fast, Search::Sweep, Search::ShortSweep, Search::Branch];

/// Scores and a star with a random core; whole numbers where `levels` is given, so that there are ties.
fn case(random: &mut Random, n: usize, c: usize, scale: f64, levels: Option<usize>) -> (Vec<f64>, Star) {
    let draw = |random: &mut Random, scale: f64| match levels {
        Some(levels) => random.below(2 * levels + 1) as f64 - levels as f64,
        None => scale * random.normal(),
    };
    let s: Vec<f64> = (0..n).map(|_| draw(random, 1.0)).collect();
    let mut labels: Vec<u32> = (0..n as u32).collect();
    random.shuffle(&mut labels);
    let links: Vec<f64> = (0..n * c).map(|_| draw(random, scale)).collect();
    (s, Star::new(n, &labels[..c], &links).unwrap())
}

fn clamps(random: &mut Random, n: usize) -> Vec<Clamp> {
    match random.below(3) {
        0 => vec![],
        one_in => (0..n)
            .map(|_| match random.below(3 * one_in) {
                0 => Clamp::In,
                1 => Clamp::Out,
                _ => Clamp::Free,
            })
            .collect(),
    }
}

/// All sets in the order of the documentation: by value, then with the core first, in before out.
fn ranked(star: &Star, s: &[f64], over: &Subsets) -> Vec<Best> {
    let mut order = star.core().to_vec();
    order.extend((0..star.len() as u32).filter(|i| !star.core().contains(i)));
    let mut all = vec![];
    exhaustive::subsets(star.len(), over.k, &mut |set| {
        let fits = |(i, clamp): (usize, &Clamp)| match clamp {
            Clamp::Free => true,
            Clamp::In => set.contains(&(i as u32)),
            Clamp::Out => !set.contains(&(i as u32)),
        };
        if over.clamp.iter().enumerate().all(fits) {
            let out: Vec<bool> = order.iter().map(|i| !set.contains(i)).collect();
            all.push((Best { value: star.score(s, set), labels: set.to_vec() }, out));
        }
    });
    all.sort_by(|(a, out), (b, other)| b.value.total_cmp(&a.value).then_with(|| out.cmp(other)));
    all.into_iter().map(|x| x.0).collect()
}

fn close(a: f64, b: f64) -> bool {
    a.total_cmp(&b).is_eq() || (a - b).abs() <= 1e-12 * (1.0 + a.abs())
}

#[test]
fn sets_and_forced_values_equal_enumeration() {
    let mut random = Random::new(1);
    let (mut work, mut set) = (MaxWork::default(), vec![]);
    let mut feasible = 0;
    for round in 0..14_000 {
        let n = random.below(11);
        let c = random.below(if round % 5 == 0 { 7 } else { 5 }).min(n);
        let levels = [None, None, Some(0), Some(1), Some(3)][random.below(5)];
        let scale = [0.1, 0.5, 3.0][random.below(3)];
        let (s, star) = case(&mut random, n, c, scale, levels);
        let clamp = clamps(&mut random, n);
        let over = Subsets { k: random.below(n + 1), clamp: &clamp };
        let all = ranked(&star, &s, &over);
        let truth = exhaustive::star_max(&star, &s, &over);
        assert_eq!(truth.is_some(), !all.is_empty());
        for way in WAYS {
            match star.max_by(way, &s, &over, &mut work, &mut set) {
                Ok(value) => {
                    let (best, next) = star.two_best_by(way, &s, &over, &mut work).unwrap();
                    assert!(close(value, truth.as_ref().unwrap().0) && close(value, all[0].value));
                    assert!(value.total_cmp(&star.score(&s, &set)).is_eq());
                    assert_eq!(next.is_some(), all.len() > 1);
                    assert_eq!(set, best.labels);
                    assert_eq!(set, all[0].labels, "{way:?}");
                    assert_eq!(next.as_ref().map(|x| &x.labels), all.get(1).map(|x| &x.labels), "{way:?}");
                    feasible += 1;
                }
                Err(Error::NoSet { k, inside, free }) => {
                    assert!(all.is_empty() && k == over.k && (k < inside || k > inside + free));
                    assert!(matches!(star.two_best(&s, &over, &mut work), Err(Error::NoSet { .. })));
                    assert!(matches!(star.forced(&s, &over, &mut work), Err(Error::NoSet { .. })));
                }
                Err(other) => panic!("{other}"),
            }
        }
        if all.is_empty() {
            continue;
        }
        let forced = star.forced(&s, &over, &mut work).unwrap();
        let with = |i: u32, yes: bool| all.iter().find(|x| x.labels.contains(&i) == yes);
        for i in 0..n as u32 {
            let value = |yes| with(i, yes).map_or(f64::NEG_INFINITY, |x| x.value);
            let (inside, outside) = (forced.inside[i as usize], forced.outside[i as usize]);
            assert!(close(inside, value(true)) && close(outside, value(false)), "{inside} {outside}");
        }
        if let Some(next) = all.get(1) {
            let apart = forced.inside.iter().zip(&forced.outside).map(|(a, b)| (a - b).abs()).fold(f64::MAX, f64::min);
            assert!(close(apart, all[0].value - next.value));
        }
    }
    assert!(feasible > 4 * 10_000, "{feasible}");
}

#[test]
fn the_ways_agree_on_large_stars() {
    let mut random = Random::new(2);
    let (mut work, mut set, mut truth) = (MaxWork::default(), vec![], vec![]);
    for (n, c, rounds) in [(93, 10, 60), (93, 12, 10), (300, 10, 20), (1000, 10, 8), (1000, 12, 3)] {
        for round in 0..rounds {
            let levels = [None, None, Some(2)][round % 3];
            let scale = [0.03, 0.1, 0.5][random.below(3)];
            let (s, star) = case(&mut random, n, c, scale, levels);
            let clamp = if round % 2 == 0 { vec![] } else { clamps(&mut random, n) };
            let inside = clamp.iter().filter(|&&clamp| clamp == Clamp::In).count();
            let over = Subsets { k: inside + [0, 1, 5, 12, n / 3][random.below(5)], clamp: &clamp };
            let Ok(value) = star.max_by(Search::Sweep, &s, &over, &mut work, &mut truth) else { continue };
            let two = star.two_best_by(Search::Sweep, &s, &over, &mut work).unwrap();
            for way in WAYS {
                assert!(star.max_by(way, &s, &over, &mut work, &mut set).unwrap().total_cmp(&value).is_eq());
                assert_eq!(set, truth);
                assert_eq!(star.two_best_by(way, &s, &over, &mut work).unwrap(), two);
            }
            let forced = star.forced(&s, &over, &mut work).unwrap();
            let apart = forced.inside.iter().zip(&forced.outside).map(|(a, b)| (a - b).abs());
            if let (best, Some(next)) = two {
                assert!((apart.fold(f64::MAX, f64::min) - (best.value - next.value)).abs() < 1e-10);
                let mut order: Vec<usize> = (0..n).collect();
                let gap = |i: usize| forced.inside[i] - forced.outside[i];
                order.sort_by(|&a, &b| gap(b).total_cmp(&gap(a)));
                order.truncate(over.k);
                order.sort_unstable();
                if best.value > next.value + 1e-9 {
                    assert!(order.iter().zip(&best.labels).all(|(&a, &b)| a == b as usize));
                }
            }
        }
    }
}

#[test]
fn a_core_of_twenty() {
    let mut random = Random::new(3);
    let (mut work, mut set, mut other) = (MaxWork::default(), vec![], vec![]);
    for scale in [0.02, 0.1] {
        let (s, star) = case(&mut random, 93, 20, scale, None);
        let over = Subsets { k: 12, clamp: &[] };
        let value = star.max(&s, &over, &mut work, &mut set).unwrap();
        assert!(close(value, star.max_by(Search::ShortSweep, &s, &over, &mut work, &mut other).unwrap()));
        assert_eq!(set, other);
    }
    // nothing but ties: the core is in, and the search ends at once
    let star = Star::new(1000, &(100..120).collect::<Vec<u32>>(), &vec![0.0; 20_000]).unwrap();
    assert!(star.max(&vec![1.0; 1000], &Subsets { k: 12, clamp: &[] }, &mut work, &mut set).unwrap() > 11.0);
    assert_eq!(set, (100..112).collect::<Vec<u32>>());
}

#[test]
fn what_is_no_number_is_refused() {
    let (mut work, mut set) = (MaxWork::default(), vec![]);
    let star = Star::new(3, &[0], &[0.0, 1.0, 1.0]).unwrap();
    let over = Subsets { k: 2, clamp: &[] };
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let s = [0.0, bad, 0.0];
        assert!(matches!(star.max(&s, &over, &mut work, &mut set), Err(Error::NotFinite { .. })));
        assert!(matches!(star.two_best(&s, &over, &mut work), Err(Error::NotFinite { .. })));
        assert!(matches!(star.forced(&s, &over, &mut work), Err(Error::NotFinite { .. })));
    }
    for way in WAYS {
        for huge in [f64::MAX, f64::MIN] {
            let sum = star.max_by(way, &[huge; 3], &over, &mut work, &mut set);
            assert!(matches!(sum, Err(Error::NotFinite { .. })), "{way:?}");
        }
    }
    assert!(matches!(Star::new(3, &[0, 1], &[f64::MAX; 6]), Err(Error::NotFinite { .. })));
    assert!(matches!(star.max(&[0.0; 2], &over, &mut work, &mut set), Err(Error::Data { .. })));
    let over = Subsets { k: 2, clamp: &[Clamp::Free] };
    assert!(matches!(star.max(&[0.0; 3], &over, &mut work, &mut set), Err(Error::Data { .. })));
}

#[test]
fn large_stars_equal_the_plain_loop_over_the_core() {
    let (mut work, mut set, mut a) = (MaxWork::default(), vec![], vec![]);
    for (n, c, seeds) in [(93, 5, 20), (1000, 10, 5)] {
        for seed in 0..seeds {
            let (s, star) = large(n, c, seed);
            let value = star.max(&s, &Subsets { k: K, clamp: &[] }, &mut work, &mut set).unwrap();
            assert!((naive(&star, &s, 1 << c, &mut a) - value).abs() < 1e-10);
        }
    }
}
