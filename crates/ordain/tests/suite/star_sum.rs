//! The sum over sets of labels against the sum over all of them, one by one.
#![allow(clippy::unwrap_used)] // a test may panic

use crate::cases::cases;
use ordain::random::Random;
use ordain::structure::exhaustive;
use ordain::structure::star::sum::{StarSum, SumWork};
use ordain::structure::star::{Clamp, Star, Subsets};

fn random_star(random: &mut Random, n: usize, c: usize, sigma: f64) -> Star {
    let mut labels: Vec<u32> = (0..n as u32).collect();
    random.shuffle(&mut labels);
    let links: Vec<f64> = (0..c * n).map(|_| sigma * random.normal()).collect();
    Star::new(n, &labels[..c], &links).unwrap()
}

fn clamps(random: &mut Random, n: usize) -> Vec<Clamp> {
    match random.below(3) {
        0 => vec![],
        rate => (0..n)
            .map(|_| match random.below(4 * rate) {
                0 => Clamp::In,
                1 => Clamp::Out,
                _ => Clamp::Free,
            })
            .collect(),
    }
}

#[test]
fn sums_equal_enumeration() {
    let mut random = Random::new(11);
    let mut work = SumWork::default();
    let (mut compared, mut impossible) = (0, 0);
    for round in 0..10_000 {
        let n = random.below(if round % 50 == 0 { 13 } else { 9 });
        let c = random.below(5).min(n) + usize::from(round % 50 == 0 && n > 5);
        // small, large, and so large that products of exponentials would overflow
        let (spread, sigma) = [(1.0, 0.3), (3.0, 2.0), (200.0, 0.5), (5.0, 80.0), (0.0, 0.0)][random.below(5)];
        let star = random_star(&mut random, n, c, sigma);
        let scores: Vec<f64> = (0..n).map(|_| spread * random.normal()).collect();
        let clamp = clamps(&mut random, n);
        let sum = StarSum::new(&star).unwrap();
        for k in 0..=n {
            let over = Subsets { k, clamp: &clamp };
            let (mut p, mut pairs) = (vec![9.0; n], vec![9.0; c * n]);
            let (truth, p_truth, mut pairs_truth) = exhaustive::star_log_sum(&star, &scores, &over);
            // a pair of the core stands in both rows there, in the first alone here
            for a in 0..c {
                star.core()[..a].iter().for_each(|&b| pairs_truth[a * n + b as usize] = 0.0);
            }
            match sum.log_sum(&scores, &over, &mut work, &mut p, Some(&mut pairs)) {
                Ok(log_z) => {
                    compared += 1;
                    assert!((log_z - truth).abs() <= 1e-10 * truth.abs().max(1.0), "{log_z} {truth}");
                    let far = |a: &[f64], b: &[f64]| a.iter().zip(b).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
                    assert!(far(&p, &p_truth) < 1e-10, "round {round}, k {k}: {p:?} {p_truth:?}");
                    assert!(far(&pairs, &pairs_truth) < 1e-10, "round {round}, k {k}: {pairs:?} {pairs_truth:?}");
                    assert!((p.iter().sum::<f64>() - k as f64).abs() < 1e-9);
                    let again = sum.log_sum(&scores, &over, &mut work, &mut p, None).unwrap();
                    assert!(again.total_cmp(&log_z).is_eq() && far(&p, &p_truth) < 1e-10);
                }
                Err(error) => {
                    impossible += 1;
                    assert!(truth == f64::NEG_INFINITY, "{error} although log Z = {truth}");
                }
            }
        }
    }
    assert!(compared > 30_000 && impossible > 1_000, "{compared} {impossible}");
}

#[test]
fn sums_that_leave_the_range_of_doubles_stay_exact() {
    // 400 equal labels: the number of sets is known
    let star = Star::new(400, &[3, 5], &[0.0; 800]).unwrap();
    let mut p = vec![0.0; 400];
    for k in [1, 7, 200, 399] {
        let over = Subsets { k, clamp: &[] };
        let log_z =
            StarSum::new(&star).unwrap().log_sum(&[-3.0; 400], &over, &mut SumWork::default(), &mut p, None).unwrap();
        let truth: f64 = (0..k).map(|i| ((400 - i) as f64 / (i + 1) as f64).ln()).sum::<f64>() - 3.0 * k as f64;
        assert!((log_z - truth).abs() < 1e-9 * truth.abs(), "{k}: {log_z} {truth}");
        assert!(p.iter().all(|p| (p - k as f64 / 400.0).abs() < 1e-10));
    }
    // a core of ten
    let mut random = Random::new(5);
    let star = random_star(&mut random, 60, 10, 0.7);
    let scores: Vec<f64> = (0..60).map(|_| random.normal()).collect();
    let over = Subsets { k: 6, clamp: &[] };
    let sum = StarSum::new(&star).unwrap();
    let (mut p, mut pairs) = (vec![0.0; 60], vec![0.0; 600]);
    sum.log_sum(&scores, &over, &mut SumWork::default(), &mut p, Some(&mut pairs)).unwrap();
    // the derivative of log Z by a score is a marginal, by a link a pair
    let at = |scores: &[f64], star: &Star| {
        let mut p = vec![0.0; 60];
        StarSum::new(star).unwrap().log_sum(scores, &over, &mut SumWork::default(), &mut p, None).unwrap()
    };
    for i in (0..60).step_by(7) {
        let (mut up, mut down) = (scores.clone(), scores.clone());
        up[i] += 1e-5;
        down[i] -= 1e-5;
        assert!(((at(&up, &star) - at(&down, &star)) / 2e-5 - p[i]).abs() < 1e-8);
    }
    let core = star.core().to_vec();
    for place in [3, 77, 200, 599] {
        let (c, i) = (place / 60, place % 60);
        if core[..=c].contains(&(i as u32)) {
            continue;
        }
        let moved = |by: f64| {
            let mut links: Vec<f64> = (0..10).flat_map(|c| star.links(c).to_vec()).collect();
            links[place] += by;
            at(&scores, &Star::new(60, &core, &links).unwrap())
        };
        assert!(((moved(1e-5) - moved(-1e-5)) / 2e-5 - pairs[place]).abs() < 1e-8);
    }
}

#[test]
fn many_labels_and_large_scores_give_numbers_or_an_error() {
    let mut random = Random::new(3);
    let mut work = SumWork::default();
    for (n, k, spread) in
        [(1000, 420, 3.0), (800, 790, 1.0), (1000, 999, 5.0), (600, 300, 40.0), (4, 2, 1e22), (5, 3, 1e300)]
    {
        for c in [0, 2] {
            let star = random_star(&mut random, n, c, 0.5);
            let scores: Vec<f64> = (0..n).map(|_| spread * random.normal()).collect();
            let (mut p, mut pairs) = (vec![0.0; n], vec![0.0; c * n]);
            let over = Subsets { k, clamp: &[] };
            let log_z = StarSum::new(&star).unwrap().log_sum(&scores, &over, &mut work, &mut p, Some(&mut pairs));
            // either an answer without a hole, or a refusal
            if let Ok(log_z) = log_z {
                assert!(log_z.is_finite() && pairs.iter().all(|p| p.is_finite()));
                assert!((p.iter().sum::<f64>() - k as f64).abs() < 1e-6 * k as f64, "{n} {k} {spread}");
            } else {
                assert!(spread > 1e100, "{n} {k} {spread}: refused");
            }
        }
    }
}

/// All configurations of the core, and for each the polynomials of the other labels by the plainest recursion: log Z and marginals.
fn plain(star: &Star, scores: &[f64], k: usize) -> (f64, Vec<f64>) {
    let (n, core) = (scores.len(), star.core().to_vec());
    let free: Vec<usize> = (0..n).filter(|i| !core.contains(&(*i as u32))).collect();
    let (mut total, mut marginals) = (0.0, vec![0.0; n]);
    for mask in 0..1usize << core.len() {
        let on: Vec<usize> = (0..core.len()).filter(|c| mask >> c & 1 == 1).collect();
        let Some(r) = k.checked_sub(on.len()).filter(|&r| r <= free.len()) else { continue };
        let mut constant: f64 = on.iter().map(|&c| scores[core[c] as usize]).sum();
        for (at, &c) in on.iter().enumerate() {
            constant += on[at + 1..].iter().map(|&d| star.links(c)[core[d] as usize]).sum::<f64>();
        }
        let x: Vec<f64> =
            free.iter().map(|&i| (scores[i] + on.iter().map(|&c| star.links(c)[i]).sum::<f64>()).exp()).collect();
        let polynomial = |without: Option<usize>| {
            let mut e = vec![0.0; k + 1];
            e[0] = 1.0;
            for (_, x) in x.iter().enumerate().filter(|(i, _)| Some(*i) != without) {
                (1..=k).rev().for_each(|q| e[q] += x * e[q - 1]);
            }
            e
        };
        let weight = constant.exp();
        let whole = weight * polynomial(None)[r];
        total += whole;
        on.iter().for_each(|&c| marginals[core[c] as usize] += whole);
        for (i, &label) in free.iter().enumerate().filter(|_| r > 0) {
            marginals[label] += weight * x[i] * polynomial(Some(i))[r - 1];
        }
    }
    marginals.iter_mut().for_each(|p| *p /= total);
    (total.ln(), marginals)
}

/// Labels that are rare in all configurations go by power sums: the sum is the same, whatever share of them is rare.
#[test]
fn sums_over_many_rare_labels_equal_plain_polynomials() {
    let mut random = Random::new(21);
    let mut work = SumWork::default();
    for round in 0..cases(60) as usize {
        let (n, c, k) = (60 + random.below(90), random.below(4), random.below(9));
        let spread = [0.0, 0.3, 1.5, 4.0][round % 4];
        let star = random_star(&mut random, n, c, [0.3, 1.5][round % 2]);
        let scores: Vec<f64> = (0..n).map(|_| spread * random.normal() - 2.0).collect();
        let sum = StarSum::new(&star).unwrap();
        let (mut p, mut pairs) = (vec![0.0; n], vec![0.0; c * n]);
        let log_z = sum.log_sum(&scores, &Subsets { k, clamp: &[] }, &mut work, &mut p, Some(&mut pairs)).unwrap();
        let (truth, marginals) = plain(&star, &scores, k);
        assert!((log_z - truth).abs() < 1e-10 * truth.abs().max(1.0), "round {round}: {log_z} {truth}");
        for (i, (p, truth)) in p.iter().zip(&marginals).enumerate() {
            assert!((p - truth).abs() < 1e-11 + 1e-9 * truth, "round {round} label {i}: {p} {truth}");
        }
        // pairs of a core label add up to what its sets have beside it; those inside the core stand in the first row
        let core = star.core();
        for (a, &label) in core.iter().enumerate() {
            let own: f64 = pairs[a * n..(a + 1) * n].iter().sum();
            let before: f64 = (0..a).map(|b| pairs[b * n + label as usize]).sum();
            let wanted = (k as f64 - 1.0) * marginals[label as usize];
            assert!((own + before - wanted).abs() < 1e-9, "round {round}: {own} {before} {wanted}");
        }
    }
}
