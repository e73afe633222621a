//! The exact law of matchings against enumeration, closed forms and other recursions; its samples.
#![allow(clippy::unwrap_used)] // a test may panic

use crate::cases::cases;
use ordain::Error;
use ordain::random::Random;
use ordain::structure::exhaustive;
use ordain::structure::matching::subsets::{LARGEST, LARGEST_ON_REQUEST, Layout, Sampler, Work, log_sum, log_sum_by};
use proptest::prelude::*;

const NONE: f64 = f64::NEG_INFINITY;

pub(crate) fn gaussian(m: usize, scale: f64, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    (0..m * m).map(|_| scale * random.normal()).collect()
}

fn exact(layout: Layout, w: &[f64], m: usize) -> (f64, Vec<f64>) {
    let mut p = vec![f64::NAN; m * m];
    (log_sum_by(layout, w, m, &mut Work::default(), &mut p).unwrap(), p)
}

fn apart(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// The largest distance of a row or column sum from 1.
fn unbalanced(p: &[f64], m: usize) -> f64 {
    let row = |i: usize| p[i * m..(i + 1) * m].iter().sum::<f64>();
    let column = |j: usize| p.iter().skip(j).step_by(m).sum::<f64>();
    (0..m).flat_map(|k| [row(k), column(k)]).map(|sum| (sum - 1.0).abs()).fold(0.0, f64::max)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(300)))]
    #[test]
    fn sums_equal_enumeration(
        m in 0usize..9,
        scale in prop::sample::select(vec![1.0, 5.0, 30.0, 2000.0]),
        kind in 0..4,
        shifted in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let mut random = Random::new(seed);
        let mut w = gaussian(m, scale, seed);
        for x in &mut w {
            match kind {
                1 => *x = (*x / scale * 2.0).round(), // ties
                2 if random.below(3) == 0 => *x = NONE,
                3 if random.below(3) > 0 => *x = NONE,
                _ => {}
            }
        }
        let (log_z, p) = exhaustive::log_sum(&w, m, m);
        let (mut total, mut close) = (0.0, 4e-12);
        if shifted {
            // constants of rows and columns are added up in log Z and do nothing else
            close = 1e-10;
            let mut constant = || { let c = 2e4 * random.uniform() - 1e4; total += c; c };
            let (rows, columns): (Vec<f64>, Vec<f64>) = (0..m).map(|_| (constant(), constant())).unzip();
            for (at, x) in w.iter_mut().enumerate() {
                *x += rows[at / m] + columns[at % m];
            }
        }
        for layout in [Layout::Scalar, Layout::Lanes] {
            let mut fast = vec![f64::NAN; m * m];
            match log_sum_by(layout, &w, m, &mut Work::default(), &mut fast) {
                Ok(sum) => {
                    let truth = log_z + total;
                    prop_assert!((sum - truth).abs() <= close * (1.0 + sum.abs()), "{} {}", sum, truth);
                    // numbers of size 1e4 hold their place to 2e-12 and no better
                    let rounding = if scale > 1e3 { 1e-10 } else { close };
                    prop_assert!(apart(&fast, &p) <= rounding, "{layout:?} {}", apart(&fast, &p));
                    prop_assert!(unbalanced(&fast, m) <= 1e-12);
                }
                Err(Error::Infeasible { side, index }) => {
                    prop_assert!(log_z == NONE && side == "row" && index < m);
                }
                Err(other) => prop_assert!(false, "{}", other),
            }
        }
    }

    #[test]
    fn lanes_equal_scalars(m in 3usize..15, scale in prop::sample::select(vec![1.0, 5.0, 30.0]), seed in any::<u64>()) {
        let mut w = gaussian(m, scale, seed);
        let mut random = Random::new(seed);
        // a permutation stays allowed
        w.iter_mut().enumerate().for_each(|(at, x)| if at % (m + 1) > 0 && random.below(5) == 0 { *x = NONE });
        let ((a, p), (b, q)) = (exact(Layout::Lanes, &w, m), exact(Layout::Scalar, &w, m));
        prop_assert!((a - b).abs() <= 1e-13 * (1.0 + b.abs()));
        prop_assert!(apart(&p, &q) <= 1e-12, "{}", apart(&p, &q));
        prop_assert!(unbalanced(&p, m) <= 1e-12 && unbalanced(&q, m) <= 1e-12);
    }
}

#[test]
fn known_permanents() {
    let mut factorial = 1.0;
    for m in 1..=20usize {
        factorial *= m as f64;
        let (sum, p) = exact(Layout::Lanes, &vec![0.0; m * m], m);
        assert!((sum - factorial.ln()).abs() < 1e-13 * (1.0 + sum));
        assert!(p.iter().all(|p| (p - 1.0 / m as f64).abs() < 1e-14));
        // only the diagonal
        let w: Vec<f64> = (0..m * m).map(|at| if at % (m + 1) == 0 { -(at as f64) } else { NONE }).collect();
        let (sum, p) = exact(Layout::Lanes, &w, m);
        assert!((sum - w.iter().step_by(m + 1).sum::<f64>()).abs() < 1e-9);
        assert!(p.iter().enumerate().all(|(at, p)| (p - f64::from(u8::from(at % (m + 1) == 0))).abs() < 1e-15));
    }
}

#[test]
fn a_matrix_and_its_transpose_agree() {
    for (m, scale) in [(4, 3.0), (9, 3.0), (17, 1.0), (17, 30.0)] {
        let w = gaussian(m, scale, 9);
        let turn = |x: &[f64]| (0..m * m).map(|at| x[at % m * m + at / m]).collect::<Vec<f64>>();
        let ((a, p), (b, q)) = (exact(Layout::Lanes, &w, m), exact(Layout::Lanes, &turn(&w), m));
        assert!((a - b).abs() <= 1e-12 * (1.0 + a.abs()) && apart(&p, &turn(&q)) <= 1e-12);
    }
}

/// 1 on and above the diagonal, `t` below it: signed formulas lose up to all of their digits here.
fn triangular(m: usize, t: f64) -> Vec<f64> {
    (0..m * m).map(|at| if at / m > at % m { t.ln() } else { 0.0 }).collect()
}

/// F, G and the marginals in log space, all in one plain recursion.
fn log_space(w: &[f64], m: usize) -> (f64, Vec<f64>) {
    let add = |a: f64, b: f64| {
        let (low, high) = (a.min(b), a.max(b));
        if low == NONE { high } else { high + (low - high).exp().ln_1p() }
    };
    let size = |s: usize| s.count_ones() as usize;
    let all = (1usize << m) - 1;
    let (mut f, mut g) = (vec![NONE; all + 1], vec![NONE; all + 1]);
    (f[0], g[all]) = (0.0, 0.0);
    for s in 1..=all {
        for j in (0..m).filter(|j| s >> j & 1 == 1) {
            f[s] = add(f[s], w[(size(s) - 1) * m + j] + f[s ^ (1 << j)]);
        }
    }
    let mut p = vec![0.0; m * m];
    for s in (0..all).rev() {
        for j in (0..m).filter(|j| s >> j & 1 == 0) {
            let at = size(s) * m + j;
            let onward = w[at] + g[s | (1 << j)];
            g[s] = add(g[s], onward);
            p[at] += (f[s] + onward - f[all]).exp();
        }
    }
    (f[all], p)
}

#[test]
fn nothing_cancels_on_triangles() {
    let t: f64 = 1e-3;
    // permutations of m with k places i where y(i) < i are counted by Eulerian numbers: Z = Σ_k <m, k> t^k
    let mut eulerian = vec![1u128];
    for m in 2..=LARGEST {
        let get = |k: usize| eulerian.get(k).copied().unwrap_or(0);
        let below = |k: usize| if k == 0 { 0 } else { get(k - 1) };
        eulerian = (0..m).map(|k| (k as u128 + 1) * get(k) + (m - k) as u128 * below(k)).collect();
        let term = |k: usize| eulerian[k] as f64 * t.powi(k as i32);
        let z: f64 = (0..m).map(term).sum();
        let lower: f64 = (0..m).map(|k| k as f64 * term(k)).sum::<f64>() / z;
        let (sum, p) = exact(Layout::Lanes, &triangular(m, t), m);
        assert!((sum - z.ln()).abs() <= 1e-13 * (1.0 + sum), "{m} rows: {sum} {}", z.ln());
        assert!(unbalanced(&p, m) <= 1e-12);
        // the expected number of places below the diagonal, and the mirror at the other diagonal
        let found: f64 = (0..m * m).filter(|at| at / m > at % m).map(|at| p[at]).sum();
        assert!((found - lower).abs() <= 1e-12 * (1.0 + lower), "{m} rows: {found} {lower}");
        let mirrored: Vec<f64> = (0..m * m).map(|at| p[(m - 1 - at % m) * m + m - 1 - at / m]).collect();
        assert!(apart(&p, &mirrored) <= 1e-13);
        if m == 8 || m == 16 {
            let (slow, q) = log_space(&triangular(m, t), m);
            assert!((sum - slow).abs() <= 1e-12 * (1.0 + sum) && apart(&p, &q) <= 1e-12, "{}", apart(&p, &q));
        }
    }
}

#[test]
fn marginals_are_the_slope_of_the_sum() {
    for m in [2, 5, 9] {
        let w = gaussian(m, 1.5, m as u64);
        let (_, p) = exact(Layout::Lanes, &w, m);
        for at in 0..m * m {
            let moved = |by: f64| {
                let mut w = w.clone();
                w[at] += by;
                log_sum(&w, m, &mut Work::default(), &mut vec![0.0; m * m]).unwrap()
            };
            assert!(((moved(1e-5) - moved(-1e-5)) / 2e-5 - p[at]).abs() < 1e-9);
        }
    }
}

#[test]
fn places_of_a_list_are_a_matching_with_equal_last_columns() {
    let factorial = |n: usize| (1..=n).map(|x| x as f64).product::<f64>();
    for (n, k) in [(1, 0), (3, 1), (5, 2), (7, 3), (7, 6), (6, 6)] {
        let full = gaussian(n, 2.0, n as u64);
        let head: Vec<f64> = full.chunks(n).flat_map(|row| &row[..k]).copied().collect();
        let square: Vec<f64> = full.iter().enumerate().map(|(at, &x)| if at % n < k { x } else { 0.0 }).collect();
        let (log_z, p) = exhaustive::log_sum(&head, n, k);
        let (sum, q) = exact(Layout::Lanes, &square, n);
        assert!((log_z + factorial(n - k).ln() - sum).abs() < 1e-12);
        let q: Vec<f64> = q.chunks(n).flat_map(|row| &row[..k]).copied().collect();
        assert!(apart(&p, &q) < 1e-12);
    }
}

#[test]
fn samples_follow_the_law() {
    let draws = 200_000;
    // chi-square: 23 and 119 degrees of freedom pass 49.7 and 172.4 by chance once in a thousand seeds
    for (m, bound) in [(4, 49.7), (5, 172.4)] {
        let w = gaussian(m, 0.7, 3);
        let sampler = Sampler::new(&w, m, Work::default()).unwrap();
        let (log_z, _) = exhaustive::log_sum(&w, m, m);
        assert!((sampler.log_sum() - log_z).abs() < 1e-13);
        let (mut random, mut y, mut counts) = (Random::new(11), vec![0; m], std::collections::HashMap::new());
        for _ in 0..draws {
            sampler.draw(&mut random, &mut y);
            *counts.entry(y.clone()).or_insert(0) += 1;
        }
        let (mut chi, mut seen) = (0.0, 0);
        exhaustive::permutations(m, &mut |y| {
            let weight: f64 = y.iter().enumerate().map(|(i, &j)| w[i * m + j as usize]).sum();
            let expected = f64::from(draws) * (weight - log_z).exp();
            assert!(expected > 5.0, "too rare for a chi-square");
            let count = counts.get(y).copied().unwrap_or(0);
            seen += count;
            chi += (f64::from(count) - expected).powi(2) / expected;
        });
        assert_eq!(seen, draws);
        assert!(chi < bound, "{m} rows: {chi}");
    }
}

#[test]
fn samples_have_the_marginals_of_the_sum() {
    let (m, draws) = (10, 20_000);
    let mut w = gaussian(m, 2.0, 5);
    (0..m).for_each(|i| w[i * m + (i + 3) % m] = NONE);
    let (_, p) = exact(Layout::Lanes, &w, m);
    let sampler = Sampler::new(&w, m, Work::default()).unwrap();
    let (mut random, mut y, mut counts) = (Random::new(2), vec![0; m], vec![0.0; m * m]);
    for _ in 0..draws {
        sampler.draw(&mut random, &mut y);
        y.iter().enumerate().for_each(|(i, &j)| counts[i * m + j as usize] += 1.0);
    }
    for (at, (&count, &p)) in counts.iter().zip(&p).enumerate() {
        let n = f64::from(draws);
        assert!((count - n * p).abs() <= 4.5 * (n * p * (1.0 - p)).sqrt() + 1.0, "edge {at}: {count} of {}", n * p);
        assert!(w[at] > NONE || count < 0.5);
    }
    // the buffers go back, and few rows are served as well
    let mut work = sampler.into_work();
    assert!(log_sum(&w, m, &mut work, &mut counts).is_ok());
    for m in 0..3 {
        let sampler = Sampler::new(&vec![0.5; m * m], m, work).unwrap();
        let mut y = vec![9; m];
        sampler.draw(&mut random, &mut y);
        y.sort_unstable();
        assert!(y.iter().enumerate().all(|(k, &j)| k == j as usize));
        assert!((sampler.log_sum() - (0.5 * m as f64 + if m == 2 { 2f64.ln() } else { 0.0 })).abs() < 1e-14);
        work = sampler.into_work();
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let say = |w: &[f64], m: usize, mut work: Work| {
        let said = log_sum(w, m, &mut work, &mut vec![0.0; m * m]).map_err(|e| e.to_string());
        assert_eq!(Sampler::new(w, m, work).map(|s| s.log_sum()).map_err(|e| e.to_string()).is_err(), said.is_err());
        said.unwrap_err()
    };
    for m in [3, 9] {
        for (bad, name) in [(f64::NAN, "NaN"), (f64::INFINITY, "inf"), (-1e301, "-1")] {
            let mut w = vec![0.0; m * m];
            w[2 * m + 1] = bad;
            let said = say(&w, m, Work::default());
            assert!(said.contains(&format!("found {name}")) && said.contains("in row 2, column 1 "), "{said}");
        }
        // rows 0 and 2 have but one column, the same
        let mut w = vec![0.0; m * m];
        [0, 2].into_iter().for_each(|i| w[i * m + 1..(i + 1) * m].fill(NONE));
        let said = say(&w, m, Work::default());
        assert!(said.contains("row 2 (counted from 0)"), "{said}");
        let error = log_sum(&w, m, &mut Work::default(), &mut vec![0.0; m * m]).unwrap_err();
        assert!(matches!(error, Error::Infeasible { side: "row", index: 2 }));
    }
    let (large, larger) = (LARGEST + 1, LARGEST_ON_REQUEST + 1);
    assert_eq!(
        say(&vec![0.0; large * large], large, Work::default()),
        "expected at most 22 rows for exact inference over matchings; up to 26 are taken on request, in 67 MB, \
         found 23 rows"
    );
    for work in [Work::default(), Work::up_to(100)] {
        assert!(say(&vec![0.0; larger * larger], larger, work).ends_with("found 27 rows"));
    }
    let mut p = vec![0.0; large * large];
    let sum = log_sum(&vec![0.0; large * large], large, &mut Work::up_to(large), &mut p).unwrap();
    assert!((sum - (1..=large).map(|k| (k as f64).ln()).sum::<f64>()).abs() < 1e-11 && unbalanced(&p, large) < 1e-12);
}

#[test]
fn buffers_serve_every_size() {
    let mut work = Work::default();
    for m in [9, 3, 14, 7, 0, 1, 14, 8] {
        let w = gaussian(m, 2.0, m as u64);
        let mut p = vec![f64::NAN; m * m];
        let sum = log_sum(&w, m, &mut work, &mut p).unwrap();
        let (fresh, q) = exact(if m <= 6 { Layout::Scalar } else { Layout::Lanes }, &w, m);
        assert_eq!((sum.to_bits(), p), (fresh.to_bits(), q));
    }
}
