//! The squared pair hinge of RankSVM, in O(n log n) for any number of grades.

use crate::data::RankSet;
use crate::error::Result;
use crate::matrix::axpy;
use crate::traits::Surrogate;

/// The squared hinge over all pairs of different grades within a query.
///
/// ```text
/// L(s) = ½ Σ_{g_i > g_j} u_i u_j (1 − s_i + s_j)₊²
/// ```
///
/// with `u = 1`, or the square roots of document weights, so that a weight given to all documents of a query weighs its
/// pairs by just that. \[BRM\] Eq. (4) with the sum over pairs that the paper leaves out; Lee and Lin 2014.
///
/// Value, gradient and Hessian product cost O(n log n): documents are sorted by score once, then grades are halved
/// again and again, and at each halving the pairs between the better and the lesser half are summed by two pointers.
/// With L grades that is O(n log L) after the sort, where a sweep per pair of grades would be O(n L).
///
/// ```
/// use ordain::{surrogate::pair_hinge::PairHinge, traits::Surrogate};
/// let loss = PairHinge::new([&[2.0, 0.0][..]], None);
/// let mut slope = [0.0; 2];
/// let value = loss.value(0, &[0.25, 0.0], &mut slope, &mut Default::default())?;
/// assert_eq!((value, slope), (0.5 * 0.75 * 0.75, [-0.75, 0.75]));
/// # Ok::<(), ordain::Error>(())
/// ```
pub struct PairHinge(pub(super) Graded);

/// Queries by the grades of their documents, with the roots of document weights where there are any.
pub(super) struct Graded {
    /// Grades as whole numbers from 0.
    pub(super) levels: Vec<u32>,
    roots: Vec<f64>,
    ends: Vec<usize>,
    /// Preferences in place of grades: the pairs of all queries, and where those of each end.
    given: Option<(Vec<Preferred>, Vec<usize>)>,
}

/// Two documents of a query by their places in it, the better one first, and the weight of the pair.
pub type Preferred = (u32, u32, f64);

/// Grades as whole numbers from 0, in the same order.
pub fn levels_of(grades: &[f64]) -> impl Iterator<Item = u32> {
    let mut distinct = grades.to_vec();
    distinct.sort_by(f64::total_cmp);
    distinct.dedup_by(|next, last| *next <= *last); // sorted, so this is equality
    grades.iter().map(move |grade| distinct.partition_point(|x| x < grade) as u32)
}

/// A document in its place by score.
#[derive(Clone, Copy, Default)]
pub(super) struct Doc {
    pub(super) score: f64,
    pub(super) root: f64,
    pub(super) row: u32,
    level: u32,
}

/// Scratch of [`PairHinge`].
#[derive(Default)]
pub struct Work {
    pub(super) docs: Vec<Doc>,
    pub(super) spare: Vec<Doc>,
    pub(super) sum: Vec<f64>,
}

impl Graded {
    pub(super) fn new<'a>(grades: impl IntoIterator<Item = &'a [f64]>, weights: Option<&[&[f64]]>) -> Self {
        let (mut levels, mut ends) = (vec![], vec![]);
        for query in grades {
            levels.extend(levels_of(query));
            ends.push(levels.len());
        }
        let roots = weights.map_or(vec![], |w| w.iter().flat_map(|w| w.iter().map(|w| w.sqrt())).collect());
        Self { levels, roots, ends, given: None }
    }

    /// Queries of a set: by its preferences where it has some, else by grades and weights.
    pub(super) fn of_set(set: &RankSet, units: &[u32]) -> Self {
        let spans = || units.iter().map(|&q| set.span(q as usize));
        if let Some(preferences) = set.preferences() {
            return Self::of_pairs(spans().map(|span| (span.len(), preferences.of(span))));
        }
        let weights: Option<Vec<&[f64]>> = set.weights.as_ref().map(|w| spans().map(|span| &w[span]).collect());
        Self::new(spans().map(|span| &set.grades[span]), weights.as_deref())
    }

    /// Queries of so many documents each, with their pairs.
    pub(super) fn of_pairs<P: IntoIterator<Item = Preferred>>(queries: impl IntoIterator<Item = (usize, P)>) -> Self {
        let (mut rows, mut ends, mut all, mut until) = (0, vec![], vec![], vec![]);
        for (len, pairs) in queries {
            rows += len;
            ends.push(rows);
            all.extend(pairs);
            until.push(all.len());
        }
        Self { levels: vec![0; rows], roots: vec![], ends, given: Some((all, until)) }
    }

    /// The pairs of query `n`, where these were given in place of grades.
    pub(super) fn given(&self, n: usize) -> Option<&[Preferred]> {
        let (pairs, until) = self.given.as_ref()?;
        Some(&pairs[if n == 0 { 0 } else { until[n - 1] }..until[n]])
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Where the documents of query `n` stand.
    pub(super) fn span(&self, n: usize) -> std::ops::Range<usize> {
        if n == 0 { 0..self.ends[0] } else { self.ends[n - 1]..self.ends[n] }
    }

    /// The root of the weight of a document.
    pub(super) fn root(&self, at: usize) -> f64 {
        self.roots.get(at).copied().unwrap_or(1.0)
    }

    /// For each document of query `n` the sum of the weights of its pairs.
    pub(super) fn partners(&self, n: usize) -> Vec<f64> {
        let of = self.span(n);
        if let Some(pairs) = self.given(n) {
            let mut sums = vec![0.0; of.len()];
            for &(i, j, weight) in pairs {
                sums[i as usize] += weight;
                sums[j as usize] += weight;
            }
            return sums;
        }
        let top = self.levels[of.clone()].iter().copied().max().unwrap_or(0) as usize;
        let mut by_level = vec![0.0; top + 1];
        of.clone().for_each(|at| by_level[self.levels[at] as usize] += self.root(at));
        // the sum over all other grades, so that nothing is subtracted
        let other = |level: usize| by_level[..level].iter().chain(&by_level[level + 1..]).sum::<f64>();
        let others: Vec<f64> = (0..=top).map(other).collect();
        of.map(|at| self.root(at) * others[self.levels[at] as usize]).collect()
    }

    /// Number of pairs of query `n`, and the sum of their weights `u_i u_j`.
    pub(super) fn pairs(&self, n: usize) -> (f64, f64) {
        if let Some(pairs) = self.given(n) {
            return (pairs.len() as f64, pairs.iter().map(|(.., weight)| weight).sum());
        }
        let of = self.span(n);
        let top = self.levels[of.clone()].iter().copied().max().unwrap_or(0) as usize;
        let mut by_level = vec![(0.0, 0.0); top + 1];
        for at in of {
            let (count, weight) = &mut by_level[self.levels[at] as usize];
            *count += 1.0;
            *weight += self.root(at);
        }
        // pairs between a level and all below it, so that nothing is subtracted
        let (mut pairs, mut weights, mut below) = (0.0, 0.0, (0.0, 0.0));
        for (count, weight) in by_level {
            pairs += count * below.0;
            weights += weight * below.1;
            below = (below.0 + count, below.1 + weight);
        }
        (pairs, weights)
    }
}

impl PairHinge {
    /// The loss of queries given by the grades of their documents, and the weights of these where there are any.
    pub fn new<'a>(grades: impl IntoIterator<Item = &'a [f64]>, weights: Option<&[&[f64]]>) -> Self {
        Self(Graded::new(grades, weights))
    }

    /// The loss of queries of a set: over the pairs of its preferences, where it has some, else over those of its grades, with the weights of its documents.
    pub fn of_set(set: &RankSet, units: &[u32]) -> Self {
        Self(Graded::of_set(set, units))
    }

    /// The loss over given pairs, query by query with the number of its documents: `L(s) = ½ Σ w (1 − s_i + s_j)₊²` in O(pairs).
    ///
    /// ```
    /// use ordain::{surrogate::pair_hinge::PairHinge, traits::Surrogate};
    /// let loss = PairHinge::of_pairs([(3, vec![(2, 0, 4.0)])]);
    /// let mut slope = [0.0; 3];
    /// assert_eq!(loss.value(0, &[0.0, 9.0, 0.5], &mut slope, &mut Default::default())?, 0.5);
    /// assert_eq!((slope, loss.pairs(0)), ([2.0, 0.0, -2.0], (1.0, 4.0)));
    /// # Ok::<(), ordain::Error>(())
    /// ```
    pub fn of_pairs<P: IntoIterator<Item = Preferred>>(queries: impl IntoIterator<Item = (usize, P)>) -> Self {
        Self(Graded::of_pairs(queries))
    }

    /// Number of pairs of query `n`, and the sum of their weights `u_i u_j`.
    pub fn pairs(&self, n: usize) -> (f64, f64) {
        self.0.pairs(n)
    }

    /// Calls `visit(lesser, better)` for disjoint sets of pairs that together are all; both ascend in score.
    pub(super) fn sweep(
        &self,
        n: usize,
        s: &[f64],
        docs: &mut Vec<Doc>,
        spare: &mut Vec<Doc>,
        visit: &mut impl FnMut(&[Doc], &[Doc]),
    ) {
        if let Some(pairs) = self.0.given(n) {
            for &(better, lesser, weight) in pairs {
                // a weight of 1 has a root of 1
                let doc = |row: u32| Doc { score: s[row as usize], root: weight.sqrt(), row, level: 0 };
                visit(&[doc(lesser)], &[doc(better)]);
            }
            return;
        }
        let start = self.0.span(n).start;
        docs.clear();
        let mut top = 0;
        for (i, &score) in s.iter().enumerate() {
            let level = self.0.levels[start + i];
            top = top.max(level);
            docs.push(Doc { score, root: self.0.root(start + i), row: i as u32, level });
        }
        docs.sort_unstable_by(|a, b| a.score.total_cmp(&b.score).then(a.row.cmp(&b.row)));
        spare.resize(docs.len(), Doc::default());
        halve(docs, spare, 0, top + 1, visit);
    }

    /// Value and slopes; `active_weight(i, Σ_j u_j)` is called with the active partners j of each document, part by part.
    fn slopes(
        &self,
        n: usize,
        s: &[f64],
        d: &mut [f64],
        work: &mut Work,
        mut active_weight: impl FnMut(&Doc, f64),
    ) -> f64 {
        d.fill(0.0);
        let mut total = 0.0;
        self.sweep(n, s, &mut work.docs, &mut work.spare, &mut |lesser, better| {
            let (mut count, mut sum, mut at) = (0.0, 0.0, lesser.len());
            for i in better.iter().rev() {
                while at > 0 && active(i, &lesser[at - 1]) {
                    at -= 1;
                    count += lesser[at].root;
                    sum += lesser[at].root * lesser[at].score;
                }
                let slack = i.root * (count * (1.0 - i.score) + sum);
                d[i.row as usize] -= slack;
                total += slack;
                active_weight(i, count);
            }
            let (mut count, mut sum, mut at) = (0.0, 0.0, 0);
            for j in lesser {
                while at < better.len() && active(&better[at], j) {
                    count += better[at].root;
                    sum += better[at].root * better[at].score;
                    at += 1;
                }
                d[j.row as usize] += j.root * (count * (1.0 + j.score) - sum);
                active_weight(j, count);
            }
        });
        // Σ slack² = Σ slack·(1 − s_i + s_j) = Σ slack + ⟨d, s⟩
        0.5 * (total + crate::matrix::dot(d, s))
    }
}

/// Parts the documents by grade at the middle of `low..high`, in order of score, and goes on in both halves.
fn halve(docs: &mut [Doc], spare: &mut [Doc], low: u32, high: u32, visit: &mut impl FnMut(&[Doc], &[Doc])) {
    if high - low < 2 || docs.len() < 2 {
        return;
    }
    let middle = low + (high - low) / 2;
    let (mut lesser, mut better) = (0, 0);
    for i in 0..docs.len() {
        let doc = docs[i];
        // write to both sides and move one end: no branch to guess wrong
        docs[lesser] = doc;
        spare[better] = doc;
        let up = usize::from(doc.level >= middle);
        better += up;
        lesser += 1 - up;
    }
    docs[lesser..].copy_from_slice(&spare[..better]);
    let (down, up) = docs.split_at_mut(lesser);
    visit(down, up);
    halve(down, spare, low, middle, visit);
    halve(up, spare, middle, high, visit);
}

/// Whether the pair costs anything; written once, so that both directions of a sweep agree to the last bit.
#[inline]
fn active(better: &Doc, lesser: &Doc) -> bool {
    1.0 - better.score + lesser.score > 0.0
}

impl Surrogate for PairHinge {
    type Work = Work;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn value(&self, n: usize, s: &[f64], d: &mut [f64], work: &mut Work) -> Result<f64> {
        Ok(self.slopes(n, s, d, work, |_, _| ()))
    }

    /// `h_i` is the weight of the pairs of i that cost anything: what the sweep counts.
    fn diagonal(&self, n: usize, s: &[f64], d: &mut [f64], h: &mut [f64], work: &mut Work) -> Result<Option<f64>> {
        h.fill(0.0);
        Ok(Some(self.slopes(n, s, d, work, |doc, count| h[doc.row as usize] += doc.root * count)))
    }

    fn curvature(
        &self,
        n: usize,
        s: &[f64],
        v: &[f64],
        columns: usize,
        out: &mut [f64],
        work: &mut Work,
    ) -> Result<bool> {
        out.fill(0.0);
        let sum = &mut work.sum;
        sum.resize(columns, 0.0);
        let row = |doc: &Doc| doc.row as usize * columns..(doc.row as usize + 1) * columns;
        // out_i += u_i (Σ u_j · v_i − Σ u_j v_j) over the active partners j of i, from either side
        self.sweep(n, s, &mut work.docs, &mut work.spare, &mut |lesser, better| {
            let mut add = |mine: &Doc, count: f64, sum: &[f64]| {
                for ((out, v), sum) in out[row(mine)].iter_mut().zip(&v[row(mine)]).zip(sum) {
                    *out += mine.root * (count * v - sum);
                }
            };
            sum.fill(0.0);
            let (mut count, mut at) = (0.0, lesser.len());
            for i in better.iter().rev() {
                while at > 0 && active(i, &lesser[at - 1]) {
                    at -= 1;
                    count += lesser[at].root;
                    axpy(lesser[at].root, &v[row(&lesser[at])], sum);
                }
                if count > 0.0 {
                    add(i, count, sum);
                }
            }
            sum.fill(0.0);
            let (mut count, mut at) = (0.0, 0);
            for j in lesser {
                while at < better.len() && active(&better[at], j) {
                    count += better[at].root;
                    axpy(better[at].root, &v[row(&better[at])], sum);
                    at += 1;
                }
                if count > 0.0 {
                    add(j, count, sum);
                }
            }
        });
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The slow truth: all pairs, one by one.
    fn slow(grades: &[f64], weights: &[f64], s: &[f64]) -> (f64, Vec<f64>, Vec<Vec<f64>>) {
        let n = s.len();
        let (mut value, mut d, mut h) = (0.0, vec![0.0; n], vec![vec![0.0; n]; n]);
        for i in 0..n {
            for j in 0..n {
                let slack = 1.0 - s[i] + s[j];
                if grades[i] > grades[j] && slack > 0.0 {
                    let w = (weights[i] * weights[j]).sqrt();
                    value += 0.5 * w * slack * slack;
                    d[i] -= w * slack;
                    d[j] += w * slack;
                    for (a, b, sign) in [(i, i, 1.0), (j, j, 1.0), (i, j, -1.0), (j, i, -1.0)] {
                        h[a][b] += sign * w;
                    }
                }
            }
        }
        (value, d, h)
    }

    fn query() -> impl Strategy<Value = Vec<(f64, f64, f64)>> {
        // few or many grades; scores with ties and exact distances of 1; weights with zeros
        let grade = prop_oneof![(0..3i32).prop_map(f64::from), -3.0..40.0f64];
        let score = prop_oneof![(-4..5i32).prop_map(|x| f64::from(x) / 2.0), -3.0..3.0f64];
        let weight = prop_oneof![Just(1.0), Just(0.0), 0.1..5.0f64];
        prop::collection::vec((grade, score, weight), 1..24)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(crate::cases::cases(600)))]
        #[test]
        fn sweeps_equal_all_pairs(query in query(), weighted in any::<bool>()) {
            let grades: Vec<f64> = query.iter().map(|q| q.0).collect();
            let s: Vec<f64> = query.iter().map(|q| q.1).collect();
            let weights: Vec<f64> = query.iter().map(|q| if weighted { q.2 } else { 1.0 }).collect();
            let loss = PairHinge::new([&grades[..]], weighted.then_some(&[&weights[..]][..]));
            let (value, d, h) = slow(&grades, &weights, &s);
            let mut work = Work::default();
            let mut slope = vec![0.0; s.len()];
            let fast = loss.value(0, &s, &mut slope, &mut work).unwrap();
            prop_assert!((fast - value).abs() <= 1e-10 * (1.0 + value));
            for (a, b) in slope.iter().zip(&d) {
                prop_assert!((a - b).abs() <= 1e-10 * (1.0 + b.abs()));
            }
            let n = s.len();
            let v: Vec<f64> = (0..n * 3).map(|k| ((k * 37 + 11) % 17) as f64 - 8.0).collect();
            let mut hv = vec![0.0; n * 3];
            prop_assert!(loss.curvature(0, &s, &v, 3, &mut hv, &mut work).unwrap());
            for i in 0..n {
                for c in 0..3 {
                    let truth: f64 = (0..n).map(|j| h[i][j] * v[j * 3 + c]).sum();
                    prop_assert!((hv[i * 3 + c] - truth).abs() <= 1e-9 * (1.0 + truth.abs()));
                }
            }
            let pairs = (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).filter(|&(i, j)| grades[i] > grades[j]);
            let weight: f64 = pairs.clone().map(|(i, j)| (weights[i] * weights[j]).sqrt()).sum();
            prop_assert!((loss.pairs(0).0 - pairs.count() as f64).abs() < 1e-9);
            prop_assert!((loss.pairs(0).1 - weight).abs() <= 1e-9 * (1.0 + weight));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(crate::cases::cases(300)))]
        /// Pairs that contradict each other are among them.
        #[test]
        fn given_pairs_equal_a_loop_over_them(
            s in prop::collection::vec(-3.0..3.0f64, 2..9),
            drawn in prop::collection::vec((0..9usize, 1..8usize, 0.1..5.0f64), 1..20),
        ) {
            let n = s.len();
            let pairs: Vec<Preferred> =
                drawn.iter().map(|&(i, step, w)| ((i % n) as u32, ((i + 1 + step % (n - 1)) % n) as u32, w)).collect();
            let loss = PairHinge::of_pairs([(n, pairs.clone())]);
            let (mut value, mut d, mut hv) = (0.0, vec![0.0; n], vec![0.0; n]);
            let v: Vec<f64> = (0..n).map(|k| ((k * 37 + 11) % 17) as f64 - 8.0).collect();
            for &(i, j, w) in &pairs {
                let (i, j) = (i as usize, j as usize);
                let slack = (1.0 - s[i] + s[j]).max(0.0);
                value += 0.5 * w * slack * slack;
                d[i] -= w * slack;
                d[j] += w * slack;
                if slack > 0.0 {
                    hv[i] += w * (v[i] - v[j]);
                    hv[j] -= w * (v[i] - v[j]);
                }
            }
            let (mut slope, mut curve, mut work) = (vec![0.0; n], vec![0.0; n], Work::default());
            let fast = loss.value(0, &s, &mut slope, &mut work).unwrap();
            prop_assert!((fast - value).abs() <= 1e-9 * (1.0 + value));
            prop_assert!(loss.curvature(0, &s, &v, 1, &mut curve, &mut work).unwrap());
            for i in 0..n {
                prop_assert!((slope[i] - d[i]).abs() <= 1e-9 * (1.0 + d[i].abs()));
                prop_assert!((curve[i] - hv[i]).abs() <= 1e-9 * (1.0 + hv[i].abs()));
            }
        }
    }

    #[test]
    fn the_slope_agrees_with_differences() {
        let grades = [2.0, 0.0, 1.0, 1.0, 0.0, 3.0];
        let s = [0.3, 0.1, -0.2, 0.75, 0.5, 0.4];
        let loss = PairHinge::new([&grades[..]], None);
        let value = |s: &[f64]| loss.value(0, s, &mut [0.0; 6], &mut Work::default()).unwrap();
        let mut slope = [0.0; 6];
        loss.value(0, &s, &mut slope, &mut Work::default()).unwrap();
        for i in 0..6 {
            let (mut up, mut down) = (s, s);
            up[i] += 1e-6;
            down[i] -= 1e-6;
            assert!(((value(&up) - value(&down)) / 2e-6 - slope[i]).abs() < 1e-7);
        }
    }
}
