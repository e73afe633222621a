//! One kernel classifier per label: kernel ridge regression on 0 and 1, judged on items that it has not seen.

use crate::data::LabelSet;
use crate::error::{Error, Result};
use crate::kernel::{Expansion, Kernel, Part};
use crate::matrix::{Features, Matrix, factor_spd, invert_lower, solve_factored_columns, squares_by_column};
use crate::method::annotate::one_vs_rest::{Judged, OneVsRest, maps_of};
use crate::method::coordinates::Coordinates;
use crate::method::kernels::{EXACT, Shape};
use crate::method::{Choice, Positive};
use crate::score::Score;
use crate::scorer::kernel_rows::Gram;
use crate::solver::run::Watch;

/// Core items where there are more than [`EXACT`], where a label is not known of every item, and of direct features.
pub(in crate::method) const BUDGET: usize = 1000;
/// Widths that are tried, in units of one over the median (squared) distance.
const WIDTHS: [f64; 4] = [0.1, 0.3, 1.0, 3.0];
/// Strengths of the ridge that are tried, in units of the mean variance of an item in the space of the kernel.
const STRENGTHS: [f64; 6] = [10.0, 3.0, 1.0, 0.3, 0.1, 0.03];

/// Kernel classifiers with what they say of items that they have not seen, and the kernel that was taken.
pub(in crate::method) struct Kernelled {
    pub(in crate::method) judged: Judged,
    pub(in crate::method) kernel: Kernel,
    /// γ in the units in which it is set.
    pub(in crate::method) gamma: f64,
}

/// Trains kernel classifiers on `units`; width and ridge are those whose calibrated scores of unseen items have the smallest
/// loss.
///
/// ```text
/// min over f, b:   Σ_items (y − f(x) − b)² + strength·|f|²,     f = Σ_j α_j k(x_j, ·)
/// ```
///
/// Up to 5,000 items of which every label is known, scores of unseen items are those of leaving one out, by
/// `y_i − α_i / P_ii` with P the inverse of the system with its offset (Cawley 2006): O(m³) for each width and strength.
/// Otherwise the function rests on 1,000 core items, which makes it linear in their [`Factor`](crate::kernel::Factor), and parts are left out as
/// in [`OneVsRest::fit`].
pub(in crate::method) fn fit(
    shape: &Shape,
    features: &Features,
    set: &LabelSet,
    units: &[u32],
    seed: u64,
    watch: &Watch,
) -> Result<Kernelled> {
    let items = dense(features, units);
    let d = features.cols();
    let widths = match shape.gamma {
        Choice::Set(gamma) => vec![Positive::get(gamma)],
        Choice::Auto if shape.form.has_width() => WIDTHS.to_vec(),
        Choice::Auto => vec![1.0],
    };
    let known = units.iter().all(|&i| set.unknown(i as usize).is_empty());
    let mut best: Option<Kernelled> = None;
    for gamma in widths {
        if watch.stopped() {
            return Err(Error::Interrupted);
        }
        let kernel = Kernel::in_units(shape.form(), gamma, &items, d);
        kernel.check(&items)?;
        let judged = match known && units.len() <= EXACT {
            true => exact(&kernel, &items, set, units, watch)?,
            false => budget(&kernel, &items, (features, set, units), seed, watch)?,
        };
        if best.as_ref().is_none_or(|best| judged.loss < best.judged.loss) {
            best = Some(Kernelled { judged, kernel, gamma });
        }
    }
    best.ok_or(Error::NotFinite { what: "the kernel of the items" })
}

/// Items with all their values, row after row.
pub(in crate::method) fn dense(features: &Features, units: &[u32]) -> Vec<f32> {
    let d = features.cols();
    let mut items = vec![0.0; units.len() * d];
    for (item, &i) in items.chunks_exact_mut(d.max(1)).zip(units) {
        features.each(i as usize, |j, x| item[j] = x);
    }
    items
}

/// Every item a core item.
fn exact(kernel: &Kernel, items: &[f32], set: &LabelSet, units: &[u32], watch: &Watch) -> Result<Judged> {
    let (m, n) = (units.len(), set.labels.len());
    let d = items.len() / m.max(1);
    exact_of(&Gram::new(kernel, items, d), set, units, watch, |alpha| {
        let part = |label: usize| Part {
            query: None,
            documents: (0..m as u32).collect(),
            coefficients: alpha.iter().skip(label).step_by(n).copied().collect(),
        };
        Score::Kernel(Expansion::new(*kernel, Matrix::new(items.to_vec(), d), (0..n).map(part).collect()))
    })
}

/// The best ridge by leaving one out; `score` makes a score of coefficients, item after item, one per label.
pub(super) fn exact_of(
    gram: &Gram,
    set: &LabelSet,
    units: &[u32],
    watch: &Watch,
    score: impl Fn(&[f64]) -> Score,
) -> Result<Judged> {
    let mut best: Option<(f64, Vec<f64>, Loo)> = None;
    let unit = variance(gram);
    for strength in STRENGTHS.map(|s| s * unit) {
        if watch.stopped() {
            return Err(Error::Interrupted);
        }
        let Some(loo) = leave_one_out(gram, set, units, strength) else { continue };
        let maps = maps_of(set, units, &loo.scores);
        let loss: f64 = maps.iter().map(|map| map.2).sum();
        if best.as_ref().is_none_or(|(least, ..)| loss < *least) {
            best = Some((loss, maps.iter().flat_map(|map| [map.0, map.1]).collect(), loo));
        }
    }
    let Some((loss, maps, Loo { alpha, offset, scores })) = best else {
        return Err(Error::NotFinite { what: "the kernel matrix of the items" });
    };
    let (slope, shift) = maps.chunks_exact(2).map(|map| (map[0], map[1])).unzip();
    let model = OneVsRest { score: score(&alpha), offset, slope, shift };
    Ok(Judged::new(model, scores, loss, set, units))
}

/// The mean variance of an item in the space of the kernel.
fn variance(gram: &Gram) -> f64 {
    let m = gram.len().max(1) as f64;
    let (mut own, mut all) = (0.0, 0.0);
    for i in 0..gram.len() {
        let row = gram.row(i);
        own += f64::from(row[i]) / m;
        all += row.iter().map(|&k| f64::from(k)).sum::<f64>() / (m * m);
    }
    let spread = own - all;
    if spread > 0.0 { spread } else { 1.0 }
}

/// A kernel ridge with the scores of its own items by fits without them.
struct Loo {
    /// Item after item, a coefficient per label.
    alpha: Vec<f64>,
    offset: Vec<f64>,
    /// Item after item, a score per label.
    scores: Vec<f64>,
}

/// Kernel ridge regression of every label with a free offset; nothing where the matrix cannot be factored.
///
/// With `M = K + strength` and `v = M⁻¹1`: `b = 1'M⁻¹y / 1'v`, `α = M⁻¹y − b v`, and without item i the residual at it is
/// `α_i / (M⁻¹_ii − v_i²/1'v)`.
fn leave_one_out(gram: &Gram, set: &LabelSet, units: &[u32], strength: f64) -> Option<Loo> {
    let (m, n) = (units.len(), set.labels.len());
    let mut system: Vec<f64> = Vec::with_capacity(m * m);
    for i in 0..m {
        system.extend(gram.row(i).iter().map(|&k| f64::from(k)));
        system[i * m + i] += strength;
    }
    if !factor_spd(&mut system, m) {
        return None;
    }
    // a column per label, and one of ones
    let wide = n + 1;
    let mut columns = vec![0.0; m * wide];
    for (row, &i) in columns.chunks_exact_mut(wide).zip(units) {
        set.yes(i as usize).iter().for_each(|&label| row[label as usize] = 1.0);
        row[n] = 1.0;
    }
    solve_factored_columns(&system, m, &mut columns);
    let mut total = vec![0.0; wide];
    columns.chunks_exact(wide).for_each(|row| total.iter_mut().zip(row).for_each(|(t, x)| *t += x));
    let offset: Vec<f64> = total[..n].iter().map(|t| t / total[n]).collect();
    let own = squares_by_column(&invert_lower(&system, m), m);
    let (mut alpha, mut scores) = (vec![0.0; m * n], vec![0.0; m * n]);
    for (at, row) in columns.chunks_exact(wide).enumerate() {
        let (v, span) = (row[n], at * n..(at + 1) * n);
        let weight = own[at] - v * v / total[n];
        let yes = set.yes(units[at] as usize);
        for (label, (alpha, score)) in alpha[span.clone()].iter_mut().zip(&mut scores[span]).enumerate() {
            *alpha = row[label] - offset[label] * v;
            let y = f64::from(u8::from(yes.binary_search(&(label as u32)).is_ok()));
            *score = y - *alpha / weight;
        }
    }
    let finite = |numbers: &[f64]| numbers.iter().all(|x| x.is_finite());
    (finite(&alpha) && finite(&scores) && finite(&offset)).then_some(Loo { alpha, offset, scores })
}

/// A budget of core items.
fn budget(
    kernel: &Kernel,
    items: &[f32],
    (features, set, units): (&Features, &LabelSet, &[u32]),
    seed: u64,
    watch: &Watch,
) -> Result<Judged> {
    let coordinates = Coordinates::new(kernel, items, features.cols(), BUDGET, seed);
    let seen = coordinates.at(items, units, features.rows());
    let mut judged = OneVsRest::judged(&seen, set, units, watch)?;
    judged.model.score = coordinates.score(judged.model.score.weights(), set.labels.len());
    Ok(judged)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;
    use crate::data::synthetic::Scenes;
    use crate::kernel::Form;

    fn scenes(items: usize) -> LabelSet {
        Scenes { items, labels: 5, scenes: 3, ..Scenes::default() }.make()
    }

    /// The score of an item by a fit without it, for every item.
    #[test]
    fn leaving_one_out_equals_a_fit_without_it() {
        let set = scenes(14);
        let d = set.features.cols();
        for form in [Form::Rbf, Form::Laplace, Form::Linear] {
            let kernel = Kernel { form, gamma: 0.05 };
            let items = dense(&set.features, &set.all());
            let all = leave_one_out(&Gram::new(&kernel, &items, d), &set, &set.all(), 0.3).unwrap();
            for out in 0..set.len() as u32 {
                let rest: Vec<u32> = set.all().into_iter().filter(|&i| i != out).collect();
                let others = dense(&set.features, &rest);
                let fit = leave_one_out(&Gram::new(&kernel, &others, d), &set, &rest, 0.3).unwrap();
                let x = &items[out as usize * d..(out as usize + 1) * d];
                for label in 0..5 {
                    let sum: f64 = (0..rest.len())
                        .map(|j| fit.alpha[j * 5 + label] * kernel.of(&others[j * d..(j + 1) * d], x))
                        .sum();
                    let score = sum + fit.offset[label];
                    assert!((score - all.scores[out as usize * 5 + label]).abs() < 1e-4, "{form:?}");
                }
            }
        }
    }

    /// The ridge is where its gradient is zero: residuals are strength times coefficients, and sum to 0.
    #[test]
    fn a_kernel_ridge_is_where_its_gradient_is_zero() {
        let set = scenes(40);
        let d = set.features.cols();
        let (kernel, items) = (Kernel { form: Form::Rbf, gamma: 0.05 }, dense(&set.features, &set.all()));
        let gram = Gram::new(&kernel, &items, d);
        let Loo { alpha, offset, .. } = leave_one_out(&gram, &set, &set.all(), 0.5).unwrap();
        for label in 0..5 {
            let mut sum = 0.0;
            for i in 0..set.len() {
                let near: f64 = gram.row(i).iter().enumerate().map(|(j, &k)| f64::from(k) * alpha[j * 5 + label]).sum();
                let y = f64::from(u8::from(set.yes(i).contains(&(label as u32))));
                assert!((y - near - offset[label] - 0.5 * alpha[i * 5 + label]).abs() < 1e-9);
                sum += alpha[i * 5 + label];
            }
            assert!(sum.abs() < 1e-9);
        }
    }
}
