//! The slow truth of matchings and of sets of labels: every one of them, one by one.
//!
//! Good for up to some 9 rows, or some thousands of sets; what is fast is tested against it.

use super::matching::graph::Graph;
use super::star::{Clamp, Star, Subsets};

/// Calls `visit` with every permutation of `0..m`, in lexicographic order; for `m = 0` once, with nothing.
///
/// Costs O(m!) and allocates once, not per visit.
///
/// ```
/// let mut all = vec![];
/// ordain::structure::exhaustive::permutations(3, &mut |y| all.push(y.to_vec()));
/// assert_eq!(all, [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]);
/// ```
pub fn permutations(m: usize, visit: &mut dyn FnMut(&[u32])) {
    injections(m, m, visit);
}

/// Calls `visit` with every choice of `k` different numbers of `0..n` in a row, in lexicographic order.
///
/// There are n!/(n − k)! of them, none where `k > n`. Allocates once, not per visit.
///
/// ```
/// let mut count = 0;
/// ordain::structure::exhaustive::injections(5, 2, &mut |_| count += 1);
/// assert_eq!(count, 5 * 4);
/// ```
pub fn injections(n: usize, k: usize, visit: &mut dyn FnMut(&[u32])) {
    fn choose(at: usize, chosen: &mut [u32], taken: &mut [bool], visit: &mut dyn FnMut(&[u32])) {
        if at == chosen.len() {
            return visit(chosen);
        }
        for i in 0..taken.len() {
            if !taken[i] {
                taken[i] = true;
                chosen[at] = i as u32;
                choose(at + 1, chosen, taken, visit);
                taken[i] = false;
            }
        }
    }
    if k <= n {
        choose(0, &mut vec![0; k], &mut vec![false; n], visit);
    }
}

/// Log-partition function and edge marginals of `k` columns that choose `k` different rows of `n`; others stay out.
///
/// ```text
/// Z = Σ_y Π_j exp w[y(j), j],   P[i, j] = p(y(j) = i)
/// ```
///
/// over all injections `y` of columns into rows; `w` and `P` are row-major `n`×`k`, and −∞ forbids an edge. For `n = k`
/// this is the permanent, for `k < n` the law of the top k places of a list. Summed in log space, in two rounds; O(k)
/// per injection. Where nothing is allowed, log Z is −∞ and the marginals are 0.
///
/// ```
/// let (log_z, p) = ordain::structure::exhaustive::log_sum(&[0.0; 6], 3, 2);
/// assert!((log_z - 6f64.ln()).abs() < 1e-14);
/// assert!(p.iter().all(|p| (p - 1.0 / 3.0).abs() < 1e-14));
/// ```
pub fn log_sum(w: &[f64], n: usize, k: usize) -> (f64, Vec<f64>) {
    assert_eq!(w.len(), n * k, "log-weights of {n} rows and {k} columns");
    let weight = |rows: &[u32]| rows.iter().enumerate().map(|(j, &i)| w[i as usize * k + j]).sum::<f64>();
    let (mut top, mut sum, mut marginals) = (f64::NEG_INFINITY, 0.0, vec![0.0; n * k]);
    injections(n, k, &mut |rows| top = top.max(weight(rows)));
    if top == f64::NEG_INFINITY {
        return (top, marginals);
    }
    injections(n, k, &mut |rows| {
        let share = (weight(rows) - top).exp();
        sum += share;
        rows.iter().enumerate().for_each(|(j, &i)| marginals[i as usize * k + j] += share);
    });
    marginals.iter_mut().for_each(|p| *p /= sum);
    (top + sum.ln(), marginals)
}

/// Calls `visit` with the edges, ascending, of every matching that the graph allows.
///
/// With `null` these are all partial matchings, the empty one too; without it, all that match every item of the lesser
/// side. Left items choose in turn: an edge before none, edges in their order. Allocates twice, not per visit.
///
/// ```
/// use ordain::structure::{exhaustive::matchings, matching::graph::Graph};
/// let mut all = vec![];
/// matchings(&Graph::new(2, 2, &[(0, 0), (0, 1), (1, 1)], true)?, &mut |edges| all.push(edges.to_vec()));
/// assert_eq!(all, [vec![0, 2], vec![0], vec![1], vec![2], vec![]]);
/// # Ok::<(), ordain::Error>(())
/// ```
pub fn matchings(graph: &Graph, visit: &mut dyn FnMut(&[u32])) {
    fn choose(
        graph: &Graph,
        i: usize,
        stay: usize,
        chosen: &mut Vec<u32>,
        taken: &mut [bool],
        visit: &mut dyn FnMut(&[u32]),
    ) {
        if i == graph.left() {
            return visit(chosen);
        }
        for e in graph.of_left(i) {
            let (_, j) = graph.ends(e);
            if !taken[j] {
                taken[j] = true;
                chosen.push(e as u32);
                choose(graph, i + 1, stay, chosen, taken, visit);
                chosen.pop();
                taken[j] = false;
            }
        }
        if stay > 0 {
            choose(graph, i + 1, stay - 1, chosen, taken, visit);
        }
    }
    let stay = if graph.null() { graph.left() } else { graph.left() - graph.lesser() };
    choose(graph, 0, stay, &mut Vec::with_capacity(graph.lesser()), &mut vec![false; graph.right()], visit);
}

/// Calls `visit` with every set of `k` numbers of `0..n`, each ascending, in lexicographic order.
///
/// There are n!/(k! (n − k)!) of them, none where `k > n`. Allocates once, not per visit.
///
/// ```
/// let mut all = vec![];
/// ordain::structure::exhaustive::subsets(3, 2, &mut |set| all.push(set.to_vec()));
/// assert_eq!(all, [[0, 1], [0, 2], [1, 2]]);
/// ```
pub fn subsets(n: usize, k: usize, visit: &mut dyn FnMut(&[u32])) {
    fn choose(at: usize, from: usize, n: usize, set: &mut [u32], visit: &mut dyn FnMut(&[u32])) {
        if at == set.len() {
            return visit(set);
        }
        for i in from..=n + at - set.len() {
            set[at] = i as u32;
            choose(at + 1, i + 1, n, set, visit);
        }
    }
    if k <= n {
        choose(0, 0, n, &mut vec![0; k], visit);
    }
}

/// Calls `visit` with every set of `over` and its score.
fn scored(star: &Star, scores: &[f64], over: &Subsets, visit: &mut dyn FnMut(&[u32], f64)) {
    let fits = |set: &[u32]| {
        over.clamp.iter().enumerate().all(|(i, clamp)| match clamp {
            Clamp::Free => true,
            Clamp::In => set.contains(&(i as u32)),
            Clamp::Out => !set.contains(&(i as u32)),
        })
    };
    subsets(star.len(), over.k, &mut |set| {
        if fits(set) {
            visit(set, star.score(scores, set));
        }
    });
}

/// The best set of `over` by [`Star::score`], the lexicographically first among equals; none where no set is possible.
///
/// ```
/// use ordain::structure::exhaustive::star_max;
/// use ordain::structure::star::{Star, Subsets};
///
/// let star = Star::new(3, &[0], &[0.0, 0.0, 5.0])?;
/// assert_eq!(star_max(&star, &[1.0, 3.0, 2.0], &Subsets { k: 2, clamp: &[] }), Some((8.0, vec![0, 2])));
/// # Ok::<(), ordain::Error>(())
/// ```
pub fn star_max(star: &Star, scores: &[f64], over: &Subsets) -> Option<(f64, Vec<u32>)> {
    let mut best: Option<(f64, Vec<u32>)> = None;
    scored(star, scores, over, &mut |set, value| {
        if best.as_ref().is_none_or(|(most, _)| value > *most) {
            best = Some((value, set.to_vec()));
        }
    });
    best
}

/// Log-partition function, marginals and core pair marginals of the sets of `over`.
///
/// ```text
/// Z = Σ_t exp f(t),   P[i] = p(i in t),   P[c, i] = p(core label c and i both in t)
/// ```
///
/// The pairs are row-major, a row of all labels per core label, 0 where a core label meets itself. Where no set is
/// possible, log Z is −∞ and the marginals are 0.
///
/// ```
/// use ordain::structure::exhaustive::star_log_sum;
/// use ordain::structure::star::{Star, Subsets};
///
/// let star = Star::new(3, &[0], &[0.0; 3])?;
/// let (log_z, one, two) = star_log_sum(&star, &[0.0; 3], &Subsets { k: 2, clamp: &[] });
/// assert!((log_z - 3f64.ln()).abs() < 1e-14);
/// assert!(one.iter().all(|p| (p - 2.0 / 3.0).abs() < 1e-14));
/// assert!(two[0] == 0.0 && two[1..].iter().all(|p| (p - 1.0 / 3.0).abs() < 1e-14));
/// # Ok::<(), ordain::Error>(())
/// ```
pub fn star_log_sum(star: &Star, scores: &[f64], over: &Subsets) -> (f64, Vec<f64>, Vec<f64>) {
    let n = star.len();
    let (mut top, mut sum) = (f64::NEG_INFINITY, 0.0);
    let (mut one, mut two) = (vec![0.0; n], vec![0.0; star.core().len() * n]);
    scored(star, scores, over, &mut |_, value| top = top.max(value));
    if top == f64::NEG_INFINITY {
        return (top, one, two);
    }
    scored(star, scores, over, &mut |set, value| {
        let share = (value - top).exp();
        sum += share;
        set.iter().for_each(|&i| one[i as usize] += share);
        for (c, &label) in star.core().iter().enumerate().filter(|(_, label)| set.contains(label)) {
            set.iter().filter(|&&i| i != label).for_each(|&i| two[c * n + i as usize] += share);
        }
    });
    one.iter_mut().chain(&mut two).for_each(|p| *p /= sum);
    (top + sum.ln(), one, two)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_all_there_once() {
        for (n, k, truth) in [(0, 0, 1), (3, 0, 1), (3, 3, 1), (2, 3, 0), (6, 3, 20), (10, 4, 210)] {
            let mut last: Option<Vec<u32>> = None;
            let mut count = 0;
            subsets(n, k, &mut |set| {
                assert!(set.len() == k && set.windows(2).all(|w| w[0] < w[1]));
                assert!(set.last().is_none_or(|&i| (i as usize) < n));
                assert!(last.as_deref().is_none_or(|last| last < set));
                last = Some(set.to_vec());
                count += 1;
            });
            assert_eq!(count, truth);
        }
    }

    #[test]
    fn a_star_by_hand() {
        // labels 0, 1, 2 with the core 1; the sets {0, 1}, {0, 2}, {1, 2} score 1 + 2 + 4, 1 + 3, 2 + 3 − 1
        let star = Star::new(3, &[1], &[4.0, 7.0, -1.0]).unwrap();
        let s = [1.0, 2.0, 3.0];
        assert_eq!(star_max(&star, &s, &Subsets { k: 2, clamp: &[] }), Some((7.0, vec![0, 1])));
        let clamp = [Clamp::Out, Clamp::Free, Clamp::In];
        assert_eq!(star_max(&star, &s, &Subsets { k: 2, clamp: &clamp }), Some((4.0, vec![1, 2])));
        assert_eq!(star_max(&star, &s, &Subsets { k: 3, clamp: &clamp }), None);
        let (log_z, one, two) = star_log_sum(&star, &s, &Subsets { k: 2, clamp: &[] });
        let z = 7f64.exp() + 2.0 * 4f64.exp();
        assert!((log_z - z.ln()).abs() < 1e-14);
        for (p, truth) in one.iter().zip([7f64.exp() + 4f64.exp(), 7f64.exp() + 4f64.exp(), 2.0 * 4f64.exp()]) {
            assert!((p - truth / z).abs() < 1e-14);
        }
        for (p, truth) in two.iter().zip([7f64.exp(), 0.0, 4f64.exp()]) {
            assert!((p - truth / z).abs() < 1e-14);
        }
        let (log_z, one, _) = star_log_sum(&star, &s, &Subsets { k: 2, clamp: &[Clamp::Out; 3] });
        assert!(log_z == f64::NEG_INFINITY && one == [0.0; 3]);
    }

    #[test]
    fn matchings_of_complete_graphs_and_of_a_path() {
        let full = |n: u32, m: u32| (0..n).flat_map(|i| (0..m).map(move |j| (i, j))).collect::<Vec<_>>();
        // with null Σ_k C(n, k) C(m, k) k!, without it the injections of the lesser side
        for (n, m, null, truth) in [
            (3, 3, true, 34),
            (2, 3, true, 13),
            (3, 2, true, 13),
            (4, 4, true, 209),
            (3, 5, false, 60),
            (5, 3, false, 60),
            (4, 4, false, 24),
            (0, 3, false, 1),
            (3, 0, true, 1),
            (0, 0, false, 1),
        ] {
            let graph = Graph::new(n as usize, m as usize, &full(n, m), null).unwrap();
            let mut all = std::collections::BTreeSet::new();
            matchings(&graph, &mut |edges| {
                assert!(edges.windows(2).all(|pair| pair[0] < pair[1]));
                assert!(null || edges.len() == graph.lesser());
                for end in [|(i, _)| i, |(_, j)| j] {
                    let ends: std::collections::BTreeSet<usize> =
                        edges.iter().map(|&e| end(graph.ends(e as usize))).collect();
                    assert_eq!(ends.len(), edges.len());
                }
                assert!(all.insert(edges.to_vec()));
            });
            assert_eq!(all.len(), truth, "{n} x {m}, null {null}");
        }
        // a path of 6 edges has F(8) = 21 matchings, one of 3 edges a single perfect one; a lone item has none
        for (n, m, edges, null, truth) in [
            (4, 3, &[(0, 0), (1, 0), (1, 1), (2, 1), (2, 2), (3, 2)][..], true, 21),
            (4, 3, &[(0, 0), (1, 0), (1, 1), (2, 1), (2, 2), (3, 2)], false, 4),
            (2, 2, &[(0, 0), (1, 0), (1, 1)], false, 1),
            (2, 2, &[(0, 0), (1, 0)], false, 0),
        ] {
            let mut count = 0;
            matchings(&Graph::new(n, m, edges, null).unwrap(), &mut |_| count += 1);
            assert_eq!(count, truth);
        }
    }

    #[test]
    fn there_are_as_many_as_there_should_be() {
        for (n, k, truth) in [(0, 0, 1), (1, 0, 1), (1, 1, 1), (2, 3, 0), (4, 4, 24), (6, 3, 120), (7, 7, 5040)] {
            let mut last: Option<Vec<u32>> = None;
            let mut count = 0;
            injections(n, k, &mut |rows| {
                assert!(rows.len() == k && rows.iter().all(|&i| (i as usize) < n));
                // ascending order, so that none comes twice
                assert!(last.as_deref().is_none_or(|last| last < rows));
                last = Some(rows.to_vec());
                count += 1;
            });
            assert_eq!(count, truth);
        }
    }

    #[test]
    fn known_sums() {
        let small = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0f64].map(f64::ln);
        let (log_z, p) = log_sum(&small, 3, 3); // the permanent of 1..9 is 450
        assert!((log_z - 450f64.ln()).abs() < 1e-14);
        assert!((p[0] - (5.0 * 9.0 + 6.0 * 8.0) / 450.0).abs() < 1e-14);
        let (log_z, p) = log_sum(&small[..2], 2, 1);
        assert!((log_z - 3f64.ln()).abs() < 1e-15 && (p[1] - 2.0 / 3.0).abs() < 1e-15);
        let none = f64::NEG_INFINITY;
        assert_eq!(log_sum(&[none, 0.0, none, 0.0], 2, 2), (none, vec![0.0; 4]));
        assert_eq!(log_sum(&[], 0, 0), (0.0, vec![]));
    }
}
