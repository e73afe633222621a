//! Which labels an item is given: the set that is best for what is asked.

use crate::error::{Error, Result};
use crate::structure::star::{Clamp, Subsets};

/// What the set of labels that an item is given is to be best for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decide {
    /// The largest expected F1, `2 |T ∩ P| / (|T| + |P|)`.
    F1,
    /// The smallest expected Hamming loss: labels that are more likely than not.
    Hamming,
    /// As many as the number of labels says, in the median; all that a model by margin can do.
    #[default]
    Count,
    /// Labels above one probability, by which the items of validation had the largest mean F1.
    Threshold,
}

/// Every way to decide, by name.
pub(in crate::method) const DECIDES: [(&str, Decide); 4] =
    [("f1", Decide::F1), ("hamming", Decide::Hamming), ("count", Decide::Count), ("threshold", Decide::Threshold)];

impl std::str::FromStr for Decide {
    type Err = Error;

    /// ```
    /// use ordain::method::Decide;
    /// assert_eq!("f1".parse::<Decide>().unwrap(), Decide::F1);
    /// assert!("f2".parse::<Decide>().is_err());
    /// ```
    fn from_str(name: &str) -> Result<Self> {
        crate::method::settings::one_of("decide", name, &DECIDES)
    }
}

/// The labels of the set with the largest expected F1, exactly, by label number.
///
/// ```text
/// E F1(P) = Σ_{i in P} Σ_k p(k)·P(i | k)·2 / (k + |P|),     E F1(∅) = p(0)
/// ```
///
/// Given how many labels apply, F1 is a sum over the labels of the set. So for every size the best set are the labels with the
/// largest inner sums, and the best size is found by trying them (Dembczyński et al. 2011). `numbers` are the numbers of labels
/// with their probabilities, `rows` the probability of each label for each of them. Labels that are clamped in are in the set,
/// those that are out are not. O(n·(numbers + log n)) for each size; sizes end where `Σ_k p(k)·2k / (k + size)`, which none of
/// them can pass, is below the best.
pub(in crate::method) fn best_f1(numbers: &[(usize, f64)], rows: &[Vec<f64>], clamp: &[Clamp]) -> Vec<u32> {
    let n = rows.first().map_or(0, Vec::len);
    let is = |label: u32, what: Clamp| clamp.get(label as usize).copied().unwrap_or_default() == what;
    let inside: Vec<u32> = (0..n as u32).filter(|&label| is(label, Clamp::In)).collect();
    let free: Vec<u32> = (0..n as u32).filter(|&label| is(label, Clamp::Free)).collect();
    let none = numbers.iter().filter(|(k, _)| *k == 0).map(|(_, p)| p).sum::<f64>();
    let (mut best, mut set) = (if inside.is_empty() { none } else { f64::NEG_INFINITY }, inside.clone());
    let (mut gain, mut order) = (vec![0.0; n], free.clone());
    for size in Subsets::sizes(n, clamp).filter(|&size| size > 0) {
        let share = |k: usize| 2.0 / (k + size) as f64;
        if numbers.iter().map(|&(k, p)| p * k as f64 * share(k)).sum::<f64>() <= best {
            break;
        }
        gain.fill(0.0);
        for (&(k, p), row) in numbers.iter().zip(rows) {
            gain.iter_mut().zip(row).for_each(|(gain, q)| *gain += p * share(k) * q);
        }
        let of = |label: u32| gain[label as usize];
        order.sort_unstable_by(|&a, &b| of(b).total_cmp(&of(a)).then(a.cmp(&b)));
        let chosen = inside.iter().chain(order.iter().take(size - inside.len()));
        let value = chosen.clone().map(|&label| of(label)).sum::<f64>();
        if value > best {
            (best, set) = (value, chosen.copied().collect());
        }
    }
    set.sort_unstable();
    set
}

/// The probability above which labels give some items the largest mean F1. Each item has the probabilities of the labels that are
/// known of it, and whether they apply.
///
/// One pass over all probabilities from the largest on; between two neighbours the one in the middle. Of equals the largest.
/// O(items·n·log(items·n)).
pub(in crate::method) fn best_threshold(items: &[Vec<(f64, bool)>]) -> f64 {
    let mut all: Vec<(f64, bool, usize)> = vec![];
    for (at, item) in items.iter().enumerate() {
        all.extend(item.iter().map(|&(p, yes)| (p, yes, at)));
    }
    all.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.2.cmp(&b.2)).then(a.1.cmp(&b.1)));
    // of each item: labels that apply, those that are given, and those of both
    let mut counts: Vec<[usize; 3]> =
        items.iter().map(|item| [item.iter().filter(|(_, yes)| *yes).count(), 0, 0]).collect();
    let f1 =
        |[yes, given, both]: [usize; 3]| if yes + given == 0 { 1.0 } else { 2.0 * both as f64 / (yes + given) as f64 };
    let mut sum: f64 = counts.iter().map(|&c| f1(c)).sum();
    let (mut best, mut at) = (sum, 1.0);
    for (place, &(p, yes, item)) in all.iter().enumerate() {
        sum -= f1(counts[item]);
        counts[item][1] += 1;
        counts[item][2] += usize::from(yes);
        sum += f1(counts[item]);
        let next = all.get(place + 1).map_or(0.0, |next| next.0);
        // a sum of many terms: what differs by rounding alone is equal
        if next < p && sum > best + 1e-9 {
            (best, at) = (sum, 0.5 * (p + next));
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// A law over all sets of some labels, by its numbers of labels and the probabilities given them.
    struct Law {
        sets: Vec<f64>,
        n: usize,
    }

    impl Law {
        fn draw(n: usize, random: &mut Random) -> Self {
            let mut sets: Vec<f64> = (0..1 << n).map(|_| (2.0 * random.normal()).exp()).collect();
            let total: f64 = sets.iter().sum();
            sets.iter_mut().for_each(|p| *p /= total);
            Self { sets, n }
        }

        fn only(&self, clamp: &[Clamp]) -> Self {
            let fits = |set: usize| {
                clamp.iter().enumerate().all(|(i, c)| match c {
                    Clamp::Free => true,
                    Clamp::In => set >> i & 1 == 1,
                    Clamp::Out => set >> i & 1 == 0,
                })
            };
            let mut sets: Vec<f64> =
                self.sets.iter().enumerate().map(|(set, p)| if fits(set) { *p } else { 0.0 }).collect();
            let total: f64 = sets.iter().sum();
            sets.iter_mut().for_each(|p| *p /= total);
            Self { sets, n: self.n }
        }

        fn parts(&self) -> (Vec<(usize, f64)>, Vec<Vec<f64>>) {
            let mut numbers: Vec<(usize, f64)> = (0..=self.n).map(|k| (k, 0.0)).collect();
            let mut rows = vec![vec![0.0; self.n]; self.n + 1];
            for (set, p) in self.sets.iter().enumerate() {
                let k = set.count_ones() as usize;
                numbers[k].1 += p;
                (0..self.n).filter(|i| set >> i & 1 == 1).for_each(|i| rows[k][i] += p);
            }
            for (row, (_, p)) in rows.iter_mut().zip(&numbers).filter(|(_, (_, p))| *p > 0.0) {
                row.iter_mut().for_each(|q| *q /= p);
            }
            (numbers, rows)
        }

        fn f1(&self, given: usize) -> f64 {
            let one = |(set, p): (usize, &f64)| {
                let sum = (set.count_ones() + given.count_ones()) as f64;
                p * if sum == 0.0 { 1.0 } else { 2.0 * f64::from((set & given).count_ones()) / sum }
            };
            self.sets.iter().enumerate().map(one).sum()
        }
    }

    /// The expected F1 of the set is that of the best of all sets.
    #[test]
    fn the_set_of_the_largest_f1_is_the_best_of_all_sets() {
        let mut random = Random::new(5);
        let mut sizes = [0; 7];
        for round in 0..400 {
            let n = 1 + random.below(6);
            let law = Law::draw(n, &mut random);
            let clamp: Vec<Clamp> = match round % 2 {
                0 => vec![],
                _ => (0..n).map(|_| [Clamp::Free, Clamp::Free, Clamp::In, Clamp::Out][random.below(4)]).collect(),
            };
            let law = law.only(&clamp);
            let (numbers, rows) = law.parts();
            let set = best_f1(&numbers, &rows, &clamp);
            let mask = set.iter().map(|&label| 1 << label).sum::<usize>();
            let allowed = |mask: usize| {
                clamp.iter().enumerate().all(|(i, c)| match c {
                    Clamp::Free => true,
                    Clamp::In => mask >> i & 1 == 1,
                    Clamp::Out => mask >> i & 1 == 0,
                })
            };
            assert!(allowed(mask), "{clamp:?} {set:?}");
            let most = (0..1 << n).filter(|&mask| allowed(mask)).map(|mask| law.f1(mask)).fold(0.0, f64::max);
            assert!((law.f1(mask) - most).abs() < 1e-12, "round {round}: {} of {most}", law.f1(mask));
            sizes[set.len()] += 1;
        }
        assert!(sizes.iter().all(|&often| often > 0), "{sizes:?}");
    }

    /// The mean F1 at the threshold is the best of all thresholds.
    #[test]
    fn the_threshold_is_the_best_of_all() {
        let mut random = Random::new(6);
        for _ in 0..100 {
            let (count, n) = (1 + random.below(6), 1 + random.below(5));
            let items: Vec<Vec<(f64, bool)>> = (0..count)
                .map(|_| (0..n).map(|_| ((1 + random.below(7)) as f64 / 8.0, random.below(3) == 0)).collect())
                .collect();
            let mean = |t: f64| {
                let one = |item: &Vec<(f64, bool)>| {
                    let given = item.iter().filter(|(p, _)| *p > t).count();
                    let yes = item.iter().filter(|(_, yes)| *yes).count();
                    let both = item.iter().filter(|(p, yes)| *p > t && *yes).count();
                    if given + yes == 0 { 1.0 } else { 2.0 * both as f64 / (given + yes) as f64 }
                };
                items.iter().map(one).sum::<f64>() / count as f64
            };
            let most = (0..=17).map(|t| mean(f64::from(t) / 16.0 - 1.0 / 32.0)).fold(0.0, f64::max);
            let found = best_threshold(&items);
            assert!((mean(found) - most).abs() < 1e-9, "{found}: {} of {most}", mean(found));
        }
    }
}
