//! The slow truth of rankings: every order, one by one. Good for up to some 9 items.

use super::{Problem, Sums};
use crate::structure::exhaustive::injections;

/// Calls `visit` with every order that pins and excluded places allow, as the class of each item, and with its score.
///
/// Orders come by the items of the head, in lexicographic order; those of the tail are not told apart. The problem must
/// have sizes that fit.
pub fn orders(problem: &Problem, visit: &mut dyn FnMut(&[u32], f64)) {
    let (n, head) = (problem.items(), problem.head());
    let mut places = vec![head as u32; n];
    injections(n, head, &mut |items| {
        places.fill(head as u32);
        items.iter().zip(0u32..).for_each(|(&i, place)| places[i as usize] = place);
        let value = problem.value(&places);
        if value > f64::NEG_INFINITY {
            visit(&places, value);
        }
    });
}

/// The best order and its value, the first of equal ones; none where there is no order.
///
/// ```
/// use ordain::structure::ranking::{Design, Links, Problem, exhaustive};
/// let (design, links) = (Design::distance(2), Links::new(2, &[0], &[0.0, 3.0])?);
/// let (scores, discounts) = ([1.0, 2.0], [1.0, 0.0]);
/// let problem = Problem { scores: &scores, discounts: &discounts, design: &design, links: &links, extra: &[], pins: &[] };
/// assert_eq!(exhaustive::best(&problem), Some((5.0, vec![1, 0])));
/// # Ok::<(), ordain::Error>(())
/// ```
pub fn best(problem: &Problem) -> Option<(f64, Vec<u32>)> {
    let mut best: Option<(f64, Vec<u32>)> = None;
    orders(problem, &mut |places, value| {
        if best.as_ref().is_none_or(|(most, _)| value > *most) {
            best = Some((value, places.to_vec()));
        }
    });
    best
}

/// `log Z`, marginals and pair expectations; −∞ and zeros where there is no order.
///
/// ```
/// use ordain::structure::ranking::{Design, Links, Problem, exhaustive};
/// let (design, links) = (Design::distance(2), Links::none(3));
/// let problem =
///     Problem { scores: &[0.0; 3], discounts: &[1.0, 0.0], design: &design, links: &links, extra: &[], pins: &[] };
/// let (log_z, sums) = exhaustive::log_sum(&problem);
/// assert!((log_z - 3f64.ln()).abs() < 1e-15);
/// assert!((sums.marginals[0] - 1.0 / 3.0).abs() < 1e-15 && (sums.marginals[1] - 2.0 / 3.0).abs() < 1e-15);
/// ```
pub fn log_sum(problem: &Problem) -> (f64, Sums) {
    let (n, classes, links) = (problem.items(), problem.classes(), problem.links);
    let mut sums = Sums { marginals: vec![0.0; n * classes], pairs: vec![0.0; n * links.core().len()] };
    let (mut top, mut sum) = (f64::NEG_INFINITY, 0.0);
    orders(problem, &mut |_, value| top = top.max(value));
    if top == f64::NEG_INFINITY {
        return (top, sums);
    }
    orders(problem, &mut |places, value| {
        let share = (value - top).exp();
        sum += share;
        for (i, &place) in places.iter().enumerate() {
            sums.marginals[i * classes + place as usize] += share;
            for (c, &item) in links.core().iter().enumerate().filter(|&(_, &item)| item as usize != i) {
                let d = problem.design.at(places[item as usize] as usize, place as usize);
                sums.pairs[c * n + i] += share * d;
            }
        }
    });
    sums.marginals.iter_mut().chain(&mut sums.pairs).for_each(|p| *p /= sum);
    (top + sum.ln(), sums)
}

/// The best value of an order, and of those with item i at class j for all i and j; −∞ where there is none.
///
/// ```
/// use ordain::structure::ranking::{Design, Links, Problem, exhaustive};
/// let (design, links) = (Design::distance(2), Links::none(2));
/// let problem =
///     Problem { scores: &[1.0, 2.0], discounts: &[1.0, 0.0], design: &design, links: &links, extra: &[], pins: &[] };
/// assert_eq!(exhaustive::forced(&problem), (2.0, vec![1.0, 2.0, 2.0, 1.0]));
/// ```
pub fn forced(problem: &Problem) -> (f64, Vec<f64>) {
    let classes = problem.classes();
    let mut values = vec![f64::NEG_INFINITY; problem.items() * classes];
    let mut best = f64::NEG_INFINITY;
    orders(problem, &mut |places, value| {
        best = best.max(value);
        for (i, &place) in places.iter().enumerate() {
            let most = &mut values[i * classes + place as usize];
            *most = most.max(value);
        }
    });
    (best, values)
}
