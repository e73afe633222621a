//! The margin to the worst ordering under average precision (SVM-map).

use crate::error::Result;
use crate::traits::Surrogate;

/// The structural hinge of whole lists under the loss 1 − average precision.
///
/// ```text
/// L(s) = max over orderings y of [ 1 − AP(y) + F(y) ] − F(right)
/// F(y) = mean over relevant i and irrelevant j of  s_i − s_j where i stands above j in y, else s_j − s_i
/// ```
///
/// Yue, Finley, Radlinski and Joachims 2007. Right is every ordering with the relevant documents first, and all of them have the same F,
/// so L is convex. It is never negative, bounds 1 − AP of the ordering by s (of every one of them where scores are tied), and is not
/// smooth.
///
/// An ordering says for each irrelevant document above how many relevant ones it stands. Both kinds are sorted by score. Then the gain of the
/// j-th irrelevant document from standing just above the k-th of p relevant ones, times p, is
///
/// ```text
/// H(j+p−1) − H(j+k−2) + j/(j+p) − j/(j+k−1) − 2/q · Σ_{h≥k} (s_h − s_j),   H(n) = 1 + 1/2 + … + 1/n
/// ```
///
/// of q irrelevant ones: the paper's sum over h in O(1). Its differences in k fall with j, so the best k never falls with j, and the
/// best k of the middle document bounds those of all others: O(n log n) for a list of n, where a search document by document is
/// O(n · relevant).
///
/// Documents of the same kind and score share the mean of their slopes, so that no order of the input counts.
///
/// ```
/// use ordain::{surrogate::average_precision::ApMargin, traits::Surrogate};
/// let loss = ApMargin::new([[true, false, false]]);
/// let mut d = [0.0; 3];
/// // nothing is learned: the worst ordering has AP = 1/3
/// let value = loss.value(0, &[0.0; 3], &mut d, &mut Default::default())?;
/// assert!((value - 2.0 / 3.0).abs() < 1e-12 && d == [-2.0, 1.0, 1.0]);
/// // far apart: nothing is lost
/// assert_eq!(loss.value(0, &[5.0, 0.0, 0.0], &mut d, &mut Default::default())?, 0.0);
/// # Ok::<(), ordain::Error>(())
/// ```
pub struct ApMargin {
    /// The documents of each list, the relevant ones first.
    rows: Vec<u32>,
    /// Where each list begins in them, and its irrelevant documents; then where all end.
    starts: Vec<[usize; 2]>,
    /// `H(n)` for as many as a list has at most.
    harmonic: Vec<f64>,
}

impl ApMargin {
    /// The loss of lists, each of them given by which documents are relevant.
    pub fn new<L: IntoIterator<Item = bool>>(lists: impl IntoIterator<Item = L>) -> Self {
        let (mut rows, mut starts, mut rest, mut longest) = (vec![], vec![], vec![], 0);
        for list in lists {
            let start = rows.len();
            rest.clear();
            for (i, relevant) in (0u32..).zip(list) {
                if relevant { &mut rows } else { &mut rest }.push(i);
            }
            starts.push([start, rows.len()]);
            rows.append(&mut rest);
            longest = longest.max(rows.len() - start);
        }
        starts.push([rows.len(); 2]);
        let mut sum = 0.0;
        let terms = (1..=longest).map(|n| {
            sum += 1.0 / n as f64;
            sum
        });
        let harmonic = std::iter::once(0.0).chain(terms).collect();
        Self { rows, starts, harmonic }
    }
}

/// Scratch of [`ApMargin`].
#[derive(Default)]
pub struct ApWork {
    /// Scores and documents from the best, relevant ones first.
    sorted: Vec<(f64, u32)>,
    /// What the scores of the k-th relevant document and of all below it add up to.
    tail: Vec<f64>,
    /// The first relevant document, from 0, that each irrelevant one stands above in the worst ordering.
    above: Vec<u32>,
}

/// The sorted documents of a list, as the search sees them.
struct Search<'a> {
    irrelevant: &'a [(f64, u32)],
    tail: &'a [f64],
    harmonic: &'a [f64],
}

impl Search<'_> {
    /// What the irrelevant document `j` gains by standing just above the relevant one `k`, both from 0, but for what no `k` changes.
    fn gain(&self, j: usize, k: usize) -> f64 {
        let below = (self.tail.len() - 1 - k) as f64;
        let scores = self.tail[k] - below * self.irrelevant[j].0;
        let (j1, q) = ((j + 1) as f64, self.irrelevant.len() as f64);
        -self.harmonic[j + k] - j1 / (j1 + k as f64) - 2.0 / q * scores
    }

    /// The best k of the irrelevant documents from `first` on, one for each of `above`, all of them from `low` to `high`.
    fn fill(&self, first: usize, above: &mut [u32], low: usize, high: usize) {
        if low == high {
            above.fill(low as u32);
            return;
        }
        let middle = above.len() / 2;
        if middle == above.len() {
            return;
        }
        let j = first + middle;
        let (mut best, mut most) = (low, self.gain(j, low));
        for k in low + 1..=high {
            let gain = self.gain(j, k);
            if gain > most {
                (best, most) = (k, gain);
            }
        }
        let (before, rest) = above.split_at_mut(middle);
        rest[0] = best as u32;
        self.fill(first, before, low, best);
        self.fill(j + 1, &mut rest[1..], best, high);
    }
}

impl ApMargin {
    /// Sorts the documents of list `n` and finds its worst ordering; returns how many are relevant.
    fn search(&self, n: usize, s: &[f64], work: &mut ApWork) -> usize {
        let ([start, middle], end) = (self.starts[n], self.starts[n + 1][0]);
        let p = middle - start;
        let ApWork { sorted, tail, above } = work;
        sorted.clear();
        sorted.extend(self.rows[start..end].iter().map(|&row| (s[row as usize] + 0.0, row))); // no zero below zero
        let (relevant, irrelevant) = sorted.split_at_mut(p);
        let from_the_best = |a: &(f64, u32), b: &(f64, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        relevant.sort_unstable_by(from_the_best);
        irrelevant.sort_unstable_by(from_the_best);
        tail.clear();
        tail.resize(p + 1, 0.0);
        for k in (0..p).rev() {
            tail[k] = tail[k + 1] + relevant[k].0;
        }
        above.clear();
        above.resize(irrelevant.len(), 0);
        Search { irrelevant, tail, harmonic: &self.harmonic }.fill(0, above, 0, p);
        p
    }
}

impl Surrogate for ApMargin {
    type Work = ApWork;

    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    fn bends(&self) -> bool {
        false
    }

    /// A list without relevant or without irrelevant documents costs nothing.
    fn value(&self, n: usize, s: &[f64], d: &mut [f64], work: &mut ApWork) -> Result<f64> {
        let p = self.search(n, s, work);
        let q = work.above.len();
        if p == 0 || q == 0 {
            d.fill(0.0);
            return Ok(0.0);
        }
        let unit = 2.0 / (p as f64 * q as f64);
        let (relevant, irrelevant) = work.sorted.split_at(p);
        let (mut precisions, mut moved, mut j) = (0.0, 0.0, 0);
        // each run of equal scores: how many pairs stand wrong because of it
        let mut k = 0;
        for run in relevant.chunk_by(|a, b| a.0 <= b.0) {
            let mut wrong = 0;
            for _ in run {
                while j < q && work.above[j] as usize <= k {
                    j += 1;
                }
                wrong += j;
                k += 1;
                precisions += k as f64 / (k + j) as f64;
            }
            let slope = -unit * (wrong as f64 / run.len() as f64);
            run.iter().for_each(|&(_, row)| d[row as usize] = slope);
            moved -= wrong as f64 * run[0].0;
        }
        let mut above = &work.above[..];
        for run in irrelevant.chunk_by(|a, b| a.0 <= b.0) {
            let (own, rest) = above.split_at(run.len());
            let wrong: usize = own.iter().map(|&k| p - k as usize).sum();
            let slope = unit * (wrong as f64 / run.len() as f64);
            run.iter().for_each(|&(_, row)| d[row as usize] = slope);
            moved += wrong as f64 * run[0].0;
            above = rest;
        }
        Ok(1.0 - precisions / p as f64 + unit * moved)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;
    use crate::cases::cases;
    use crate::random::Random;
    use crate::structure::exhaustive;

    /// Scores of a list, some of them tied, and which documents are relevant: of both kinds there is one at least.
    fn list(random: &mut Random, n: usize) -> (Vec<f64>, Vec<bool>) {
        let size = [0.1, 1.0, 4.0][random.below(3)];
        let coarse = random.below(2) == 0;
        let score = |random: &mut Random| if coarse { size * random.below(3) as f64 } else { size * random.normal() };
        let p = 1 + random.below(n - 1);
        let mut relevant: Vec<bool> = (0..n).map(|i| i < p).collect();
        random.shuffle(&mut relevant);
        ((0..n).map(|_| score(random)).collect(), relevant)
    }

    fn average_precision(order: &[u32], relevant: &[bool]) -> f64 {
        let (mut hits, mut sum) = (0.0, 0.0);
        for (at, &i) in order.iter().enumerate() {
            if relevant[i as usize] {
                hits += 1.0;
                sum += hits / (at + 1) as f64;
            }
        }
        sum / hits
    }

    /// F of an ordering, pair by pair.
    fn score(order: &[u32], s: &[f64], relevant: &[bool]) -> f64 {
        let (mut sum, mut pairs) = (0.0, 0.0);
        for (at, &i) in order.iter().enumerate() {
            for &j in &order[at + 1..] {
                let (i, j) = (i as usize, j as usize);
                if relevant[i] != relevant[j] {
                    sum += s[i] - s[j]; // the upper less the lower one, whichever is relevant
                    pairs += 1.0;
                }
            }
        }
        // where the irrelevant one stands above, s_irrelevant − s_relevant is what counts: the same difference
        sum / pairs
    }

    /// The ordering that the search found.
    fn worst(work: &ApWork, p: usize) -> Vec<u32> {
        let (mut order, mut k) = (vec![], 0);
        for (j, &above) in work.above.iter().enumerate() {
            order.extend(work.sorted[k..above as usize].iter().map(|&(_, row)| row));
            k = above as usize;
            order.push(work.sorted[p + j].1);
        }
        order.extend(work.sorted[k..p].iter().map(|&(_, row)| row));
        order
    }

    #[test]
    fn the_worst_ordering_is_that_of_enumeration() {
        let mut random = Random::new(17);
        for round in 0..cases(400) {
            let n = if round % 40 == 0 { 7 + round as usize / 40 % 2 } else { 2 + random.below(5) };
            let (s, relevant) = list(&mut random, n);
            let loss = ApMargin::new([relevant.iter().copied()]);
            let (mut d, mut work) = (vec![0.0; n], ApWork::default());
            let value = loss.value(0, &s, &mut d, &mut work).unwrap();
            let mut right: Vec<u32> = (0..n as u32).collect();
            right.sort_by_key(|&i| !relevant[i as usize]);
            let of = |order: &[u32]| {
                1.0 - average_precision(order, &relevant) + score(order, &s, &relevant) - score(&right, &s, &relevant)
            };
            let (mut most, mut sorted_loss) = (f64::NEG_INFINITY, 0.0f64);
            exhaustive::permutations(n, &mut |order| {
                most = most.max(of(order));
                if order.windows(2).all(|pair| s[pair[0] as usize] >= s[pair[1] as usize]) {
                    sorted_loss = sorted_loss.max(1.0 - average_precision(order, &relevant));
                }
            });
            assert!((value - most).abs() < 1e-12, "{value}, not {most}: {s:?} {relevant:?}");
            let p = relevant.iter().filter(|&&r| r).count();
            let order = worst(&work, p);
            assert_eq!(order.len(), n);
            assert!((of(&order) - most).abs() < 1e-12, "{order:?} costs {}, not {most}", of(&order));
            // a bound on the loss of every ordering by the scores
            assert!(value > sorted_loss - 1e-12, "{value} is below {sorted_loss}");
            // a plane below the loss: at other scores it is above
            let other: Vec<f64> = s.iter().map(|s| s + 0.5 * random.normal()).collect();
            let plane = value + d.iter().zip(s.iter().zip(&other)).map(|(d, (a, b))| d * (b - a)).sum::<f64>();
            let there = loss.value(0, &other, &mut vec![0.0; n], &mut work).unwrap();
            assert!(there > plane - 1e-12, "{there} is below {plane}");
        }
    }

    /// The best k of each irrelevant document by the sum of the paper, document by document, O(n · relevant).
    fn plain(s: &[f64], relevant: &[bool]) -> f64 {
        let of = |kind: bool| {
            let mut own: Vec<f64> = (0..s.len()).filter(|&i| relevant[i] == kind).map(|i| s[i]).collect();
            own.sort_by(|a, b| b.total_cmp(a));
            own
        };
        let (up, down) = (of(true), of(false));
        let (p, q) = (up.len() as f64, down.len() as f64);
        let mut total = 0.0;
        for (j, down) in (1..).zip(&down) {
            let (mut sum, mut best) = (0.0f64, 0.0f64);
            for (k, up) in up.iter().enumerate().rev() {
                let (j, k) = (f64::from(j), (k + 1) as f64);
                sum += (j / (j + k) - (j - 1.0) / (j + k - 1.0)) / p - 2.0 * (up - down) / (p * q);
                best = best.max(sum);
            }
            total += best;
        }
        total
    }

    #[test]
    fn long_lists_equal_the_search_document_by_document() {
        let mut random = Random::new(18);
        for _ in 0..cases(100) {
            let n = 2 + random.below(300);
            let (s, relevant) = list(&mut random, n);
            let loss = ApMargin::new([relevant.iter().copied()]);
            let value = loss.value(0, &s, &mut vec![0.0; n], &mut ApWork::default()).unwrap();
            let truth = plain(&s, &relevant);
            assert!((value - truth).abs() < 1e-12 * (1.0 + truth), "{value}, not {truth}");
        }
    }

    #[test]
    fn slopes_agree_with_differences() {
        let (mut random, mut smooth) = (Random::new(19), 0);
        for _ in 0..cases(200) {
            let n = 2 + random.below(20);
            let (_, relevant) = list(&mut random, n);
            let s: Vec<f64> = (0..n).map(|_| random.normal()).collect();
            let loss = ApMargin::new([relevant.iter().copied()]);
            let (mut d, mut other, mut work) = (vec![0.0; n], vec![0.0; n], ApWork::default());
            loss.value(0, &s, &mut d, &mut work).unwrap();
            assert!(d.iter().sum::<f64>().abs() < 1e-12);
            for i in 0..n {
                let mut at = |by: f64| {
                    let mut moved = s.clone();
                    moved[i] += by;
                    let value = loss.value(0, &moved, &mut other, &mut work).unwrap();
                    (value, other[i])
                };
                let (up, down) = (at(1e-6), at(-1e-6));
                // the slope is the same on both sides: no kink between them
                if (up.1 - down.1).abs() < 1e-12 {
                    assert!(((up.0 - down.0) / 2e-6 - d[i]).abs() < 1e-8, "{} {}", (up.0 - down.0) / 2e-6, d[i]);
                    smooth += 1;
                }
            }
        }
        assert!(smooth > 1000, "{smooth} slopes without a kink: nothing to see");
    }

    #[test]
    fn tied_documents_of_one_kind_have_one_slope() {
        let mut random = Random::new(20);
        for _ in 0..cases(100) {
            let n = 2 + random.below(12);
            let (s, relevant) = list(&mut random, n);
            let (mut d, mut work) = (vec![0.0; n], ApWork::default());
            ApMargin::new([relevant.iter().copied()]).value(0, &s, &mut d, &mut work).unwrap();
            for i in 0..n {
                for j in 0..n {
                    let same = s[i].total_cmp(&s[j]).is_eq() && relevant[i] == relevant[j];
                    assert!(!same || d[i].to_bits() == d[j].to_bits(), "{s:?} {relevant:?} {d:?}");
                }
            }
        }
    }

    #[test]
    fn lists_of_one_kind_cost_nothing_and_stand_beside_others() {
        let lists: [&[bool]; 4] = [&[true, true], &[], &[false], &[false, true]];
        let loss = ApMargin::new(lists.iter().map(|list| list.iter().copied()));
        let mut work = ApWork::default();
        for (n, list) in lists.iter().enumerate().take(3) {
            let mut d = vec![1.0; list.len()];
            let value = loss.value(n, &vec![0.3; list.len()], &mut d, &mut work).unwrap();
            assert!(value.total_cmp(&0.0).is_eq() && d.iter().all(|d| d.total_cmp(&0.0).is_eq()));
        }
        let mut d = [0.0; 2];
        // the one wrong ordering costs 1/2, and the pair counts twice its difference
        let value = loss.value(3, &[0.0, 0.2], &mut d, &mut work).unwrap();
        assert!((value - 0.1).abs() < 1e-12 && d[0] > 0.0 && d[1] < 0.0);
    }
}
