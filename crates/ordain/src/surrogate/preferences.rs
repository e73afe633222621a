//! The joint probability of all preferences of a query, as a cumulative distribution network (StructRank).

use crate::error::Result;
use crate::random::Random;
use crate::surrogate::pair_hinge::levels_of;
use crate::traits::Surrogate;

/// Minus the logarithm of the probability that all preferences of a query hold, list by list.
///
/// A preference of i over j is an edge of the order graph, with argument `r = s_i − s_j`; the probability of them all is a product of
/// functions, each the joint distribution function of the noises of some edges, Huang and Frey 2008:
///
/// ```text
/// star    L(s) = Σ_i log(1 + Σ_{g_j < g_i} exp(s_j − s_i))        one function for all edges from a document i
/// pairs   L(s) = Σ_{e, e'} log(1 + exp(−r_e) + exp(−r_e'))        one function for two edges from one document
/// ```
///
/// divided by the number of documents that are better than another (`star`) or of edges (`pairs`). The value of a distribution function *is* the
/// probability, so nothing is to be summed by messages. If all grades differ, `star` is the likelihood of the order under Plackett and Luce
/// (ListMLE). `pairs` puts the edges from a document in a circle in an order that is drawn once, and joins neighbours: every edge is in two
/// functions, so none counts more than another. A document with one edge has the logistic loss of that edge, once.
///
/// Convex in s. O(n) for a query with its documents in order of grade (`star`), O(edges) (`pairs`).
///
/// ```
/// use ordain::{surrogate::preferences::Preferences, traits::Surrogate};
/// let loss = Preferences::star([&[2.0, 1.0, 0.0][..]]);
/// let mut d = [0.0; 3];
/// let value = loss.value(0, &[0.0; 3], &mut d, &mut Default::default())?;
/// assert!((value - 0.5 * 6f64.ln()).abs() < 1e-12); // 1/3 · 1/2, the mean of two factors
/// # Ok::<(), ordain::Error>(())
/// ```
pub struct Preferences {
    /// Documents by grade from the lowest, of each query.
    order: Vec<u32>,
    /// Of each place of that order, its grade as a whole number.
    level: Vec<u32>,
    bounds: Vec<usize>,
    /// Of `pairs`: better document, and two lesser ones, of each function; else nothing.
    triples: Option<Vec<Vec<[u32; 3]>>>,
    /// What the sum of each query is divided by.
    count: Vec<f64>,
}

/// Scratch of [`Preferences`].
#[derive(Default)]
pub struct Work {
    below: Vec<f64>,
    weight: Vec<f64>,
}

impl Preferences {
    /// One function for each document.
    pub fn star<'a>(lists: impl IntoIterator<Item = &'a [f64]>) -> Self {
        let (mut order, mut level, mut bounds, mut count) = (vec![], vec![], vec![0], vec![]);
        for grades in lists {
            let levels: Vec<u32> = levels_of(grades).collect();
            let mut own: Vec<u32> = (0..grades.len() as u32).collect();
            own.sort_by_key(|&i| levels[i as usize]);
            level.extend(own.iter().map(|&i| levels[i as usize]));
            count.push(levels.iter().filter(|&&level| level > 0).count().max(1) as f64);
            order.extend(own);
            bounds.push(order.len());
        }
        Self { order, level, bounds, triples: None, count }
    }

    /// One function for two edges from one document, in circles that are drawn by the seed.
    pub fn pairs<'a>(lists: impl IntoIterator<Item = &'a [f64]>, seed: u64) -> Self {
        let mut all = Self::star(lists);
        let mut random = Random::new(seed);
        let queries = (0..all.bounds.len() - 1).map(|n| {
            let of = all.bounds[n]..all.bounds[n + 1];
            let (order, level) = (&all.order[of.clone()], &all.level[of]);
            let mut triples = vec![];
            for (&i, &own) in order.iter().zip(level) {
                let mut lesser = order[..level.partition_point(|&other| other < own)].to_vec();
                random.shuffle(&mut lesser);
                let around = lesser.iter().skip(1).chain(lesser.first());
                triples.extend(lesser.iter().zip(around).map(|(&a, &b)| [i, a, b]));
            }
            triples
        });
        let triples: Vec<Vec<[u32; 3]>> = queries.collect();
        all.count = triples.iter().map(|own| own.len().max(1) as f64).collect();
        all.triples = Some(triples);
        all
    }

    /// The functions of `pairs` of query `n`: a better document and two lesser ones, the same one where there is no other.
    pub fn joined(&self, n: usize) -> &[[u32; 3]] {
        self.triples.as_ref().map_or(&[], |triples| &triples[n])
    }

    fn star_value(&self, n: usize, s: &[f64], d: &mut [f64], work: &mut Work) -> f64 {
        let of = self.bounds[n]..self.bounds[n + 1];
        let (order, level) = (&self.order[of.clone()], &self.level[of]);
        let Work { below, weight } = work;
        below.clear();
        weight.clear();
        let mut total = 0.0;
        // the logarithm of the sum of exp(s) over all grades so far
        let mut log = f64::NEG_INFINITY;
        let mut at = 0;
        while at < order.len() {
            let end = at + level[at..].partition_point(|&other| other == level[at]);
            let mut mass = 0.0;
            for &i in order[at..end].iter().filter(|_| log > f64::NEG_INFINITY) {
                let behind = log - s[i as usize];
                total += behind.max(0.0) + (-behind.abs()).exp().ln_1p();
                let slope = 1.0 / (1.0 + (-behind).exp());
                d[i as usize] -= slope;
                mass += slope;
            }
            below.push(log);
            weight.push(mass);
            let top = order[at..end].iter().map(|&i| s[i as usize]).fold(log, f64::max);
            let sum: f64 = order[at..end].iter().map(|&i| (s[i as usize] - top).exp()).sum();
            log = top + (sum + (log - top).exp()).ln();
            at = end;
        }
        // from the top: what all better grades push a document down by, relative to the sum below the next grade
        let (mut push, mut end) = (0.0, order.len());
        for grade in (0..below.len()).rev() {
            let start = level.partition_point(|&other| other < level[end - 1]);
            if grade + 1 < below.len() {
                let over = below[grade + 1];
                let step = if grade + 2 < below.len() { (over - below[grade + 2]).exp() } else { 0.0 };
                push = weight[grade + 1] + push * step;
                order[start..end].iter().for_each(|&j| d[j as usize] += push * (s[j as usize] - over).exp());
            }
            end = start;
        }
        total
    }
}

impl Surrogate for Preferences {
    type Work = Work;

    fn len(&self) -> usize {
        self.bounds.len() - 1
    }

    fn value(&self, n: usize, s: &[f64], d: &mut [f64], work: &mut Work) -> Result<f64> {
        d.fill(0.0);
        let total = match &self.triples {
            None => self.star_value(n, s, d, work),
            Some(triples) => {
                let mut total = 0.0;
                for &[i, a, b] in &triples[n] {
                    let [i, a, b] = [i as usize, a as usize, b as usize];
                    let (x, y) = (s[a] - s[i], if a == b { f64::NEG_INFINITY } else { s[b] - s[i] });
                    let top = x.max(y).max(0.0);
                    let (p, q) = ((x - top).exp(), (y - top).exp());
                    let sum = p + q + (-top).exp();
                    total += top + sum.ln();
                    d[a] += p / sum;
                    d[b] += q / sum;
                    d[i] -= (p + q) / sum;
                }
                total
            }
        };
        d.iter_mut().for_each(|d| *d /= self.count[n]);
        Ok(total / self.count[n])
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    fn orders(n: usize) -> Vec<Vec<usize>> {
        if n == 0 {
            return vec![vec![]];
        }
        let insert = |order: Vec<usize>| {
            (0..n).map(move |at| {
                let mut order = order.clone();
                order.insert(at, n - 1);
                order
            })
        };
        orders(n - 1).into_iter().flat_map(insert).collect()
    }

    /// The probability of an order of some documents under Plackett and Luce.
    fn plackett_luce(s: &[f64], order: &[usize]) -> f64 {
        let tail = |k: usize| order[k..].iter().map(|&i| s[i].exp()).sum::<f64>();
        (0..order.len()).map(|k| s[order[k]].exp() / tail(k)).product()
    }

    fn case(random: &mut Random, n: usize, grades: usize) -> (Vec<f64>, Vec<f64>) {
        ((0..n).map(|_| random.below(grades) as f64).collect(), (0..n).map(|_| 2.0 * random.normal()).collect())
    }

    /// Each factor of the star is the probability that a document comes before all lesser ones, by all orders of these.
    #[test]
    fn star_is_that_of_enumeration() {
        let mut random = Random::new(1);
        for _ in 0..100 {
            let n = 2 + random.below(4);
            let (grades, s) = case(&mut random, n, 3);
            let (mut truth, mut count) = (0.0, 0.0);
            for i in 0..n {
                let some: Vec<usize> = (0..n).filter(|&j| grades[j] < grades[i]).chain([i]).collect();
                if some.len() > 1 {
                    let scores: Vec<f64> = some.iter().map(|&j| s[j]).collect();
                    let first = orders(some.len()).into_iter().filter(|order| order[0] == some.len() - 1);
                    truth -= first.map(|order| plackett_luce(&scores, &order)).sum::<f64>().ln();
                    count += 1.0;
                }
            }
            let loss = Preferences::star([&grades[..]]);
            let value = loss.value(0, &s, &mut vec![0.0; n], &mut Work::default()).unwrap();
            assert!((value * f64::max(count, 1.0) - truth).abs() < 1e-10, "{value} {truth}");
        }
    }

    #[test]
    fn star_is_list_mle_where_grades_differ() {
        let mut random = Random::new(2);
        for n in 2..6 {
            let mut right: Vec<usize> = (0..n).collect();
            random.shuffle(&mut right);
            let mut grades = vec![0.0; n];
            right.iter().enumerate().for_each(|(place, &i)| grades[i] = (n - place) as f64);
            let s: Vec<f64> = (0..n).map(|_| random.normal()).collect();
            let loss = Preferences::star([&grades[..]]);
            let value = loss.value(0, &s, &mut vec![0.0; n], &mut Work::default()).unwrap();
            assert!((value * (n - 1) as f64 + plackett_luce(&s, &right).ln()).abs() < 1e-12);
        }
    }

    #[test]
    fn pairs_join_every_edge_with_two_others() {
        let mut random = Random::new(3);
        for _ in 0..50 {
            let n = 2 + random.below(5);
            let (grades, s) = case(&mut random, n, 3);
            let loss = Preferences::pairs([&grades[..]], 5);
            let mut uses = vec![0; n * n];
            let mut truth = 0.0;
            for &[i, a, b] in loss.joined(0) {
                let [i, a, b] = [i as usize, a as usize, b as usize];
                uses[i * n + a] += 1;
                uses[i * n + b] += usize::from(a != b);
                let other = if a == b { 0.0 } else { (s[b] - s[i]).exp() };
                truth += (1.0 + (s[a] - s[i]).exp() + other).ln();
            }
            for i in 0..n {
                let lesser = (0..n).filter(|&j| grades[j] < grades[i]).count();
                for j in 0..n {
                    let right = if grades[i] > grades[j] { lesser.min(2) } else { 0 };
                    assert_eq!(uses[i * n + j], right);
                }
            }
            let value = loss.value(0, &s, &mut vec![0.0; n], &mut Work::default()).unwrap();
            assert!((value * loss.joined(0).len().max(1) as f64 - truth).abs() < 1e-10);
        }
    }

    #[test]
    fn slopes_are_those_of_differences() {
        let mut random = Random::new(4);
        for round in 0..60 {
            let n = 1 + random.below(8);
            let (grades, mut s) = case(&mut random, n, 4);
            if round % 3 == 0 {
                s.iter_mut().for_each(|s| *s *= 100.0); // far apart: nothing overflows
            }
            for loss in [Preferences::star([&grades[..]]), Preferences::pairs([&grades[..]], 1)] {
                let value = |s: &[f64]| loss.value(0, s, &mut vec![0.0; n], &mut Work::default()).unwrap();
                let mut d = vec![0.0; n];
                assert!(loss.value(0, &s, &mut d, &mut Work::default()).unwrap().is_finite());
                for i in 0..n {
                    let (mut up, mut down) = (s.clone(), s.clone());
                    up[i] += 1e-5;
                    down[i] -= 1e-5;
                    assert!(((value(&up) - value(&down)) / 2e-5 - d[i]).abs() < 1e-6);
                }
            }
        }
    }
}
