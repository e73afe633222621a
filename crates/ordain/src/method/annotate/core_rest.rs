//! The other reading of \[QAP\] section 5: the core that tells most about all other labels together.
//!
//! ```text
//! I(y_S; y_R) = H(y_S) + H(y_R) − H(y),        R = all labels that are not in S,
//! ```
//!
//! with entropies of whole patterns, corrected as in [`core_choice`](super::core_choice). `H(y)` is the same for every
//! core. A pattern of the rest changes only where it holds the candidate, so that a step looks at each label of each
//! different pattern once.
//!
//! With many labels nearly every item has a pattern of its own. Then `H(y_R) = H(y)` whatever the core, the information is
//! `H(y_S)`, and the choice is that of labels near one half which do not go together, not of labels that tell of others.

use super::core_choice::{CoreStep, psi};
use crate::data::LabelSet;

/// Grows a core of `size` labels on the items `units`, greedily, by the information that it has about all others as one.
///
/// Items of which a label is unknown have no pattern and are left out. A label that is on none of the rest, or on all, is
/// never chosen; of labels that tell equally much (to 10⁻⁹) the one of the lowest number is. Cost of a step
/// O(Σ L² log M) for M different patterns of L labels.
///
/// ```
/// use ordain::{data::{Columns, LabelSet}, matrix::{Features, Matrix}, method::core_rest::rest_steps};
/// let features = Features::Dense(Matrix::new(vec![0.0; 40], 1));
/// let columns = Columns::named(vec!["x".into()]);
/// let labels = ["sea", "water", "rare"].map(String::from).to_vec();
/// let yes = (0..40).map(|i| if i < 20 { vec![0, 1] } else if i == 39 { vec![2] } else { vec![] }).collect();
/// let set = LabelSet::new(features, columns, labels, yes)?;
/// assert_eq!(rest_steps(&set, &set.all(), 1)[0].label, 0); // what it says is what all others say
/// # Ok::<(), ordain::Error>(())
/// ```
pub fn rest_steps(set: &LabelSet, units: &[u32], size: usize) -> Vec<CoreStep> {
    let n = set.labels.len();
    let known: Vec<usize> = units.iter().map(|&i| i as usize).filter(|&i| set.unknown(i).is_empty()).collect();
    let items = known.len();
    let mut count = vec![0usize; n];
    known.iter().flat_map(|&i| set.yes(i)).for_each(|&label| count[label as usize] += 1);
    let mut free: Vec<bool> = count.iter().map(|&yes| 0 < yes && yes < items).collect();
    // patterns of the rest with how many items have each; an item with the cell of its core
    let mut rest = gathered(known.iter().map(|&i| (set.yes(i).to_vec(), 1)).collect());
    let mut cell = vec![0usize; items];
    let mut cells = vec![items];
    let all: f64 = rest.iter().map(|(_, count)| psi(*count as f64)).sum();
    let (mut steps, mut before): (Vec<CoreStep>, f64) = (vec![], 0.0);
    while steps.len() < size && free.contains(&true) {
        // −n H of the rest without c, and of the core with c
        let mut without: Vec<f64> = vec![rest.iter().map(|(_, count)| psi(*count as f64)).sum(); n];
        for (pattern, own) in &rest {
            for &label in pattern.iter().filter(|&&label| free[label as usize]) {
                let other = less(pattern, label);
                if let Ok(at) = rest.binary_search_by(|(pattern, _)| pattern.cmp(&other)) {
                    let met = rest[at].1;
                    without[label as usize] += psi((own + met) as f64) - psi(*own as f64) - psi(met as f64);
                }
            }
        }
        let mut on = vec![0usize; cells.len() * n];
        for (&i, &s) in known.iter().zip(&cell) {
            set.yes(i).iter().for_each(|&label| on[s * n + label as usize] += 1);
        }
        let told = |c: usize| {
            let parts = cells.iter().enumerate().map(|(s, &size)| {
                let yes = on[s * n + c];
                psi(yes as f64) + psi((size - yes) as f64)
            });
            all + psi(items as f64) - parts.sum::<f64>() - without[c]
        };
        let totals: Vec<f64> = (0..n).map(|c| if free[c] { told(c) } else { f64::NEG_INFINITY }).collect();
        let best = totals.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let slack = 1e-9 * best.abs().max(1.0);
        let Some(label) = (0..n).find(|&c| free[c] && totals[c] >= best - slack) else { break };
        let information = totals[label] / items.max(1) as f64;
        steps.push(CoreStep { label: label as u32, gain: information - before, information });
        before = information;
        free[label] = false;
        rest = gathered(rest.into_iter().map(|(pattern, count)| (less(&pattern, label as u32), count)).collect());
        split(set, &known, label as u32, &mut cell, &mut cells);
    }
    steps
}

/// A pattern without a label.
fn less(pattern: &[u32], label: u32) -> Vec<u32> {
    pattern.iter().copied().filter(|&other| other != label).collect()
}

/// Equal patterns as one, in order.
fn gathered(mut patterns: Vec<(Vec<u32>, usize)>) -> Vec<(Vec<u32>, usize)> {
    patterns.sort_unstable();
    let mut merged: Vec<(Vec<u32>, usize)> = vec![];
    for (pattern, count) in patterns {
        match merged.last_mut() {
            Some((last, sum)) if *last == pattern => *sum += count,
            _ => merged.push((pattern, count)),
        }
    }
    merged
}

/// Moves items that have a label to cells of their own, and leaves out empty cells.
fn split(set: &LabelSet, known: &[usize], label: u32, cell: &mut [usize], cells: &mut Vec<usize>) {
    let old = cells.len();
    cells.resize(2 * old, 0);
    for (&i, s) in known.iter().zip(cell.iter_mut()) {
        if set.yes(i).binary_search(&label).is_ok() {
            cells[*s] -= 1;
            *s += old;
            cells[*s] += 1;
        }
    }
    let mut place = vec![usize::MAX; 2 * old];
    let mut kept = vec![];
    for (s, &size) in cells.iter().enumerate().filter(|(_, size)| **size > 0) {
        place[s] = kept.len();
        kept.push(size);
    }
    cell.iter_mut().for_each(|s| *s = place[*s]);
    *cells = kept;
}
