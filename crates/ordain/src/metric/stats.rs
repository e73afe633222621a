//! How sure a mean is, and whether two differ: bootstrap intervals, paired randomisation, Holm's correction.

use crate::random::Random;

/// The mean; 0 of nothing.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

const RESAMPLES: usize = 1000;

/// A 95 % interval of the mean: the 2.5 % and 97.5 % points of the means of 1000 resamples (percentile bootstrap).
///
/// ```
/// let (low, high) = ordain::metric::stats::interval(&[0.2, 0.4, 0.6, 0.8], 1);
/// assert!(low < 0.5 && 0.5 < high);
/// ```
pub fn interval(values: &[f64], seed: u64) -> (f64, f64) {
    interval_of(values.len(), seed, |sample| sample.iter().map(|&i| values[i]).sum::<f64>() / sample.len() as f64)
}

/// The same of any function of a sample of `n` units, which is given by their numbers.
pub fn interval_of(n: usize, seed: u64, value: impl Fn(&[usize]) -> f64) -> (f64, f64) {
    if n == 0 {
        return (0.0, 0.0);
    }
    let values = resampled(n, seed, value);
    (quantile(&values, 0.025), quantile(&values, 0.975))
}

/// The same where resampling makes the value larger on the mean, as it does with sums of distances: moved back by that much.
///
/// Without it the interval of a value near 0 may be all above it.
pub fn centred_interval_of(n: usize, seed: u64, value: impl Fn(&[usize]) -> f64) -> (f64, f64) {
    if n == 0 {
        return (0.0, 0.0);
    }
    let whole = value(&(0..n).collect::<Vec<usize>>());
    let values = resampled(n, seed, value);
    let shift = whole - mean(&values);
    ((quantile(&values, 0.025) + shift).min(whole), (quantile(&values, 0.975) + shift).max(whole))
}

/// The values of all resamples, ascending.
fn resampled(n: usize, seed: u64, value: impl Fn(&[usize]) -> f64) -> Vec<f64> {
    let (mut random, mut sample) = (Random::new(seed), vec![0; n]);
    let mut draw = || {
        sample.iter_mut().for_each(|i| *i = random.below(n));
        value(&sample)
    };
    let mut values: Vec<f64> = (0..RESAMPLES).map(|_| draw()).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// A 95 % interval of the difference of two means over the same units, by the same bootstrap over the differences.
///
/// ```
/// let (low, high) = ordain::metric::stats::paired_interval(&[0.5, 0.7, 0.9], &[0.4, 0.6, 0.8], 1);
/// assert!((low - 0.1).abs() < 1e-12 && (high - 0.1).abs() < 1e-12); // the units differ, their gain does not
/// ```
pub fn paired_interval(a: &[f64], b: &[f64], seed: u64) -> (f64, f64) {
    interval(&a.iter().zip(b).map(|(x, y)| x - y).collect::<Vec<f64>>(), seed)
}

/// A 95 % interval of the mean of values that each belong to two of some things, such as pairs of images: the things are drawn again,
/// and a value counts as often as both of its things together.
///
/// ```text
/// Σ_n c_a(n) c_b(n) x_n / Σ_n c_a(n) c_b(n),   c = how often each thing was drawn
/// ```
///
/// Values that share a thing are not independent, and intervals over them alone are too narrow (Owen 2007).
///
/// ```
/// let of = [[0, 1], [1, 2], [2, 0], [0, 3], [3, 1]];
/// let (low, high) = ordain::metric::stats::crossed_interval(&[0.1, 0.2, 0.3, 0.4, 0.5], &of, 1);
/// assert!(low < 0.3 && 0.3 < high);
/// ```
pub fn crossed_interval(values: &[f64], of: &[[usize; 2]], seed: u64) -> (f64, f64) {
    let mut things: Vec<usize> = of.iter().flatten().copied().collect();
    things.sort_unstable();
    things.dedup();
    let number = |thing: &usize| things.binary_search(thing).unwrap_or(0);
    let of: Vec<[usize; 2]> = of.iter().map(|[a, b]| [number(a), number(b)]).collect();
    let whole = mean(values);
    interval_of(things.len(), seed, |sample| {
        let mut count = vec![0.0; things.len()];
        sample.iter().for_each(|&thing| count[thing] += 1.0);
        let (mut sum, mut weight) = (0.0, 0.0);
        for (x, &[a, b]) in values.iter().zip(&of) {
            sum += count[a] * count[b] * x;
            weight += count[a] * count[b];
        }
        if weight > 0.0 { sum / weight } else { whole }
    })
}

/// The point below which a share `p` of the sorted values lies, between neighbours by proportion.
fn quantile(sorted: &[f64], p: f64) -> f64 {
    let at = p * (sorted.len() - 1) as f64;
    let (low, part) = (at.floor() as usize, at.fract());
    sorted[low] + part * (sorted[(low + 1).min(sorted.len() - 1)] - sorted[low])
}

const FLIPS: usize = 10_000;

/// Two-sided p-value of the paired randomisation test that two lists have the same mean.
///
/// Under that hypothesis the sign of each difference is a coin. Up to 13 pairs that differ all signs are tried; else
/// 10,000 random ones, and the p-value is (1 + as extreme) / (1 + tried), which is never 0 (Smucker et al. 2007).
pub fn paired_test(a: &[f64], b: &[f64], seed: u64) -> f64 {
    let differences: Vec<f64> = a.iter().zip(b).map(|(x, y)| x - y).filter(|&d| d != 0.0).collect();
    if differences.is_empty() {
        return 1.0;
    }
    let seen = differences.iter().sum::<f64>().abs() * (1.0 - 1e-12);
    let signed =
        |signs: &mut dyn FnMut() -> bool| differences.iter().map(|&d| if signs() { d } else { -d }).sum::<f64>().abs();
    if differences.len() <= 13 {
        let all = 1usize << differences.len();
        let extreme = (0..all)
            .filter(|signs| {
                let mut bit = 0;
                signed(&mut || {
                    bit += 1;
                    signs >> (bit - 1) & 1 == 1
                }) >= seen
            })
            .count();
        return extreme as f64 / all as f64;
    }
    let mut random = Random::new(seed);
    let (mut bits, mut left) = (0u64, 0);
    let mut coin = || {
        if left == 0 {
            (bits, left) = (random.bits(), 64);
        }
        left -= 1;
        bits >> left & 1 == 1
    };
    let extreme = (0..FLIPS).filter(|_| signed(&mut coin) >= seen).count();
    (1 + extreme) as f64 / (1 + FLIPS) as f64
}

/// Holm's correction of p-values for their number: never smaller than they were, in the same order.
///
/// ```
/// let corrected = ordain::metric::stats::holm(&[0.01, 0.04, 0.03]);
/// assert_eq!(corrected, [0.03, 0.06, 0.06]);
/// ```
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let (mut out, mut largest) = (vec![0.0; p.len()], 0.0f64);
    for (rank, &i) in order.iter().enumerate() {
        largest = largest.max(((p.len() - rank) as f64 * p[i]).min(1.0));
        out[i] = largest;
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::float_cmp)] // by hand, these values are exact
    use super::*;

    #[test]
    fn intervals_cover_as_often_as_they_say() {
        let mut random = Random::new(5);
        let covered = (0..400)
            .filter(|&seed| {
                let sample: Vec<f64> = (0..40).map(|_| random.uniform()).collect();
                let (low, high) = interval(&sample, seed);
                low <= 0.5 && 0.5 <= high
            })
            .count();
        // 95 % of 400 is 380, standard deviation 4.4; the percentile interval is a little short at n = 40
        assert!((360..=396).contains(&covered), "{covered}");
    }

    #[test]
    fn paired_intervals_cover_the_difference_and_know_the_pairs() {
        let mut random = Random::new(7);
        let (mut covered, mut width, mut apart) = (0, 0.0, 0.0);
        for seed in 0..400 {
            let a: Vec<f64> = (0..40).map(|_| random.normal()).collect();
            let b: Vec<f64> = a.iter().map(|x| x - 0.2 + 0.1 * random.normal()).collect();
            let (low, high) = paired_interval(&a, &b, seed);
            covered += usize::from(low <= 0.2 && 0.2 <= high);
            width += high - low;
            apart += interval(&a, seed).1 - interval(&a, seed).0;
        }
        assert!((360..=396).contains(&covered), "{covered}");
        assert!(width < 0.2 * apart, "{width} {apart}"); // the units vary ten times as much as the differences
    }

    #[test]
    fn p_values_are_uniform_when_nothing_differs() {
        let mut random = Random::new(6);
        let mut draw = |n: usize, shift: f64| (0..n).map(|_| random.normal() + shift).collect::<Vec<f64>>();
        let small = (0..300).filter(|&seed| paired_test(&draw(20, 0.0), &draw(20, 0.0), seed) < 0.1).count();
        assert!((15..=47).contains(&small), "{small}"); // 30 expected, standard deviation 5.2
        assert!(paired_test(&draw(50, 1.0), &draw(50, 0.0), 1) < 0.001);
        // three differences of one sign: 2 of the 8 sign patterns are as extreme, by hand
        assert_eq!(paired_test(&[1.0, 2.0, 3.0], &[0.0, 0.0, 0.0], 1), 0.25);
        assert_eq!(paired_test(&[1.0, 2.0], &[1.0, 2.0], 1), 1.0);
    }
}
