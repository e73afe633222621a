//! How sure a model may be: the one factor on its scores that makes sets of labels of unseen items most likely.

use crate::error::Result;
use crate::method::Annotate;
use crate::method::annotate::annotator::{Annotator, LabelWork};
use crate::method::trees::paired;
use crate::structure::star::Star;
use crate::structure::star::sum::StarSum;
use crate::surrogate::star::Case;
use crate::task::Ready;
use rayon::prelude::*;

/// Temperatures are looked for between one over this and this.
const WIDEST: f64 = 20.0;
/// The logarithm of a temperature is found to within this.
const CLOSE: f64 = 1e-3;

/// The temperature T at which the labels of held-out items are most likely, given their number; 1 where none is better than that by
/// more than a standard error over the items.
///
/// ```text
/// max over T:   Σ_items f(right)/T − log Σ_{|t| = k} exp f(t)/T
/// ```
///
/// A concave function of 1/T, by golden section on log T: about 20 passes over the items, O(2^C·n·k) for each.
pub(in crate::method) fn fit_temperature(model: &Annotator, on: &Ready<'_, Annotate>, units: &[u32]) -> Result<f64> {
    let set = on.set();
    let told: Vec<u32> = units.iter().copied().filter(|&i| set.tells(i as usize)).collect();
    let items: Vec<(Vec<f64>, Case)> = told
        .par_iter()
        .map(|&i| {
            let case = Case::new(model.labels.len(), set.yes(i as usize), set.unknown(i as usize));
            let mut scores = vec![];
            model.scores_at(&model.score(on, i as usize)?, case.yes.len(), &mut scores);
            Ok((scores, case))
        })
        .collect::<Result<_>>()?;
    let likely = |log: f64| likelihoods(&model.star, &items, log.exp());
    let total = |log: f64| Ok(likely(log)?.iter().sum::<f64>());
    let log = golden(-WIDEST.ln(), WIDEST.ln(), total)?;
    let worth = [likely(0.0)?, likely(log)?];
    Ok(if paired(&worth).is_some_and(|(gain, error)| gain > error) { log.exp() } else { 1.0 })
}

/// The log-likelihood of the labels of each item at a temperature.
fn likelihoods(star: &Star, items: &[(Vec<f64>, Case)], t: f64) -> Result<Vec<f64>> {
    let links: Vec<f64> = (0..star.core().len()).flat_map(|c| star.links(c)).map(|g| g / t).collect();
    let sum = StarSum::of(Star::new(star.len(), star.core(), &links)?)?;
    let one = |work: &mut LabelWork, (scores, case): &(Vec<f64>, Case)| {
        let scores: Vec<f64> = scores.iter().map(|s| s / t).collect();
        work.scores.resize(scores.len(), 0.0);
        let log_z = sum.log_sum(&scores, &case.over(), &mut work.sum, &mut work.scores, None)?;
        Ok(sum.star().score(&scores, &case.yes) - log_z)
    };
    items.par_iter().with_min_len(8).map_init(LabelWork::default, one).collect()
}

/// Where a function of one hump has its largest value between two ends.
fn golden(mut low: f64, mut high: f64, f: impl Fn(f64) -> Result<f64>) -> Result<f64> {
    let ratio = 0.5 * (5f64.sqrt() - 1.0);
    let (mut a, mut b) = (high - ratio * (high - low), low + ratio * (high - low));
    let (mut at_a, mut at_b) = (f(a)?, f(b)?);
    while high - low > CLOSE {
        if at_a >= at_b {
            (high, b, at_b) = (b, a, at_a);
            a = high - ratio * (high - low);
            at_a = f(a)?;
        } else {
            (low, a, at_a) = (a, b, at_b);
            b = low + ratio * (high - low);
            at_b = f(b)?;
        }
    }
    Ok(0.5 * (low + high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::structure::exhaustive;

    /// All sets of `k` of `n` labels.
    fn subsets(n: usize, k: usize) -> Vec<Vec<u32>> {
        let mut all = vec![];
        exhaustive::subsets(n, k, &mut |set| all.push(set.to_vec()));
        all
    }

    /// The sum of the likelihoods at the temperature that is found is that of the best of a fine grid, by all sets; and where
    /// scores are three times too large, the temperature is about 3.
    #[test]
    fn the_temperature_is_the_best_of_a_grid_and_undoes_a_factor() {
        let mut random = Random::new(3);
        let n = 5;
        let links: Vec<f64> = (0..n).map(|_| random.normal()).collect();
        let star = Star::new(n, &[0], &links).unwrap();
        let mut items = vec![];
        for _ in 0..300 {
            let scores: Vec<f64> = (0..n).map(|_| 1.5 * random.normal()).collect();
            let k = 1 + random.below(n - 1);
            let sets = subsets(n, k);
            let weight: Vec<f64> = sets.iter().map(|set| star.score(&scores, set).exp()).collect();
            let mut left = random.uniform() * weight.iter().sum::<f64>();
            let at = weight.iter().position(|w| {
                left -= w;
                left <= 0.0
            });
            let yes = sets[at.unwrap_or(0)].clone();
            items.push((scores, Case::new(n, &yes, &[])));
        }
        let wild: Vec<(Vec<f64>, Case)> =
            items.iter().map(|(s, case)| (s.iter().map(|s| 3.0 * s).collect(), case.clone())).collect();
        let links: Vec<f64> = links.iter().map(|g| 3.0 * g).collect();
        let wild_star = Star::new(n, &[0], &links).unwrap();
        let slow = |t: f64| -> f64 {
            let one = |(s, case): &(Vec<f64>, Case)| {
                let all = subsets(n, case.yes.len());
                let z: f64 = all.iter().map(|set| (wild_star.score(s, set) / t).exp()).sum();
                wild_star.score(s, &case.yes) / t - z.ln()
            };
            wild.iter().map(one).sum()
        };
        let total = |log: f64| Ok(likelihoods(&wild_star, &wild, log.exp())?.iter().sum::<f64>());
        let log = golden(-3.0, 3.0, total).unwrap();
        assert!((total(log).unwrap() - slow(log.exp())).abs() < 1e-8);
        let most = (-300..300).map(|i| slow((f64::from(i) / 100.0).exp())).fold(f64::NEG_INFINITY, f64::max);
        assert!(slow(log.exp()) >= most - 1e-6, "{} below {most}", slow(log.exp()));
        assert!((2.4..3.8).contains(&log.exp()), "{}", log.exp());
    }
}
