//! One classifier per label: ridge regression on 0 and 1, with a map from its score to log-odds.

use super::gradients::{ABREAST, Normal};
use crate::data::LabelSet;
use crate::error::{Error, Result};
use crate::matrix::{Features, add_symmetric_product, dot, factor_spd, mirror, solve_factored_columns};
use crate::score::Score;
use crate::solver::run::Watch;
use rayon::prelude::*;
use std::cmp::Ordering;

/// Parts for scores of items that the classifier has not seen.
const FOLDS: usize = 5;
/// Strengths of the ridge that are tried, in units of the median variance of a column times the number of items.
const STRENGTHS: [f64; 5] = [10.0, 1.0, 0.1, 1e-2, 1e-3];
/// Up to so many columns the normal equations are factored; above, they are solved by conjugate gradients.
const FACTORED: usize = 3000;
/// To what relative residual conjugate gradients go: of classifiers that score unseen items, and of the one that is kept.
const RESIDUAL: [f64; 2] = [1e-5, 1e-7];

/// One ridge classifier per label with its calibration: the log-odds of label `i` are `slope_i·(w_i·x + offset_i) + shift_i`.
#[derive(Clone, Debug, PartialEq)]
pub struct OneVsRest {
    /// How an item gets the score of each label.
    pub score: Score,
    /// What is added for each label.
    pub offset: Vec<f64>,
    /// Factor from score to log-odds.
    pub slope: Vec<f64>,
    /// Shift from score to log-odds.
    pub shift: Vec<f64>,
}

/// Classifiers with what they say of their own items before they have seen them.
pub(in crate::method) struct Judged {
    pub(in crate::method) model: OneVsRest,
    /// Log-odds of the items, item after item, by classifiers that have not seen them.
    pub(in crate::method) logits: Vec<f64>,
    /// The log-loss of these, summed over labels.
    pub(in crate::method) loss: f64,
}

impl Judged {
    /// From scores of unseen items, which the maps of the model turn into log-odds.
    pub(in crate::method) fn new(
        mut model: OneVsRest,
        mut scores: Vec<f64>,
        loss: f64,
        set: &LabelSet,
        units: &[u32],
    ) -> Self {
        guess_unknown(set, units, &mut model.shift);
        scores.par_chunks_mut(set.labels.len().max(1)).for_each(|s| model.calibrate(s));
        Self { model, logits: scores, loss }
    }
}

/// The map of each label from scores to log-odds, with the mean loss that is left; scores stand item after item.
pub(in crate::method) fn maps_of(set: &LabelSet, units: &[u32], scores: &[f64]) -> Vec<(f64, f64, f64)> {
    let n = set.labels.len();
    let answers = |label: usize| {
        units.iter().enumerate().filter_map(move |(i, &unit)| {
            let known = set.unknown(unit as usize).binary_search(&(label as u32)).is_err();
            let yes = set.yes(unit as usize).binary_search(&(label as u32)).is_ok();
            known.then(|| (scores[i * n + label], yes))
        })
    };
    (0..n).into_par_iter().map(|label| platt(answers(label).collect::<Vec<_>>().iter().copied())).collect()
}

/// Sums over some items that the normal equations need.
#[derive(Clone)]
struct Sums {
    items: f64,
    x: Vec<f64>,
    /// `Σ x xᵀ`, empty where it would be too large.
    square: Vec<f64>,
    y: Vec<f64>,
    /// `Σ x y`, feature after feature.
    xy: Vec<f64>,
}

impl Sums {
    fn of(features: &Features, set: &LabelSet, rows: &[u32]) -> Self {
        let (d, n) = (features.cols(), set.labels.len());
        let explicit = d <= FACTORED;
        let mut sums = Self {
            items: rows.len() as f64,
            x: vec![0.0; d],
            square: vec![0.0; if explicit { d * d } else { 0 }],
            y: vec![0.0; n],
            xy: vec![0.0; d * n],
        };
        let mut panel: Vec<f64> = vec![];
        for (at, &row) in rows.iter().enumerate() {
            let row = row as usize;
            features.each(row, |j, x| sums.x[j] += f64::from(x));
            for &label in set.yes(row) {
                sums.y[label as usize] += 1.0;
                features.each(row, |j, x| sums.xy[j * n + label as usize] += f64::from(x));
            }
            match features {
                _ if !explicit => {}
                Features::Dense(m) => {
                    panel.extend(m.row(row).iter().map(|&x| f64::from(x)));
                    if panel.len() >= 512 * d || at + 1 == rows.len() {
                        add_symmetric_product(&panel, &panel, d, &mut sums.square);
                        panel.clear();
                    }
                }
                Features::Sparse(m) => {
                    let (columns, values) = m.row(row);
                    for (&j, &a) in columns.iter().zip(values) {
                        let line = &mut sums.square[j as usize * d..(j as usize + 1) * d];
                        columns.iter().zip(values).for_each(|(&k, &b)| line[k as usize] += f64::from(a) * f64::from(b));
                    }
                }
            }
        }
        mirror(&mut sums.square, if explicit { d } else { 0 });
        sums
    }

    fn add(&mut self, other: &Self, sign: f64) {
        self.items += sign * other.items;
        let pairs = [(&mut self.x, &other.x), (&mut self.square, &other.square), (&mut self.y, &other.y)];
        for (a, b) in pairs.into_iter().chain([(&mut self.xy, &other.xy)]) {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += sign * b);
        }
    }
}

/// Weights, feature after feature, and offsets.
struct Linear {
    score: Score,
    offset: Vec<f64>,
}

/// One strength of the ridge: scores of items that were not seen, their maps to log-odds, and the loss that is left.
struct Tried {
    loss: f64,
    strength: f64,
    scores: Vec<f64>,
    maps: Vec<(f64, f64, f64)>,
}

/// Ridge regression of every label on the features of `rows`, with an offset that is free.
///
/// ```text
/// min over w, b:   Σ_items (y − w·x − b)² + strength·|w|²
/// ```
///
/// An item of which it is not known whether a label applies plays no part in the regression of that label. Conjugate gradients begin at `from`.
fn ridge(
    features: &Features,
    set: &LabelSet,
    rows: &[u32],
    sums: &Sums,
    (strength, residual, from): (f64, f64, Option<&Linear>),
    watch: &Watch,
) -> Result<Linear> {
    let (d, n) = (features.cols(), set.labels.len());
    let m = sums.items.max(1.0);
    let mean: Vec<f64> = sums.x.iter().map(|x| x / m).collect();
    let mut weights = sums.xy.clone();
    for (line, mean) in weights.chunks_exact_mut(n.max(1)).zip(&mean) {
        line.iter_mut().zip(&sums.y).for_each(|(w, y)| *w -= mean * y);
    }
    let mut gaps = vec![false; n];
    rows.iter().flat_map(|&i| set.unknown(i as usize)).for_each(|&label| gaps[label as usize] = true);
    let (one_by_one, whole): (Vec<usize>, Vec<usize>) = (0..n).partition(|&label| gaps[label]);
    if sums.square.is_empty() {
        side_by_side(&Normal::new(features, rows, &mean, strength), &whole, &mut weights, (residual, from), watch)?;
    } else {
        let mut factor = sums.square.clone();
        for i in 0..d {
            let line = &mut factor[i * d..(i + 1) * d];
            line.iter_mut().zip(&mean).for_each(|(h, x)| *h -= sums.x[i] * x);
            line[i] += strength;
        }
        if !factor_spd(&mut factor, d) {
            return Err(Error::NotFinite { what: "the Gram matrix of the features" });
        }
        solve_factored_columns(&factor, d, &mut weights);
    }
    let mut offset: Vec<f64> = sums.y.iter().map(|y| y / m).collect();
    for (line, mean) in weights.chunks_exact(n.max(1)).zip(&mean) {
        offset.iter_mut().zip(line).for_each(|(b, w)| *b -= mean * w);
    }
    let solved: Vec<(Vec<f64>, f64)> = one_by_one
        .par_iter()
        .map(|&label| conjugate_gradients(features, set, rows, label as u32, strength, watch))
        .collect::<Result<_>>()?;
    for (&label, (w, b)) in one_by_one.iter().zip(&solved) {
        offset[label] = *b;
        w.iter().enumerate().for_each(|(j, w)| weights[j * n + label] = *w);
    }
    Ok(Linear { score: Score::Linear(weights), offset })
}

/// The ridges of labels that are known of all items: right sides become weights, feature after feature.
fn side_by_side(
    normal: &Normal,
    labels: &[usize],
    weights: &mut [f64],
    (residual, from): (f64, Option<&Linear>),
    watch: &Watch,
) -> Result<()> {
    let d = normal.mean.len();
    let n = weights.len() / d.max(1);
    let of = |all: &[f64], block: &[usize]| -> Vec<[f64; ABREAST]> {
        let lane = |j: usize, l: usize| block.get(l).map_or(0.0, |&label| all[j * n + label]);
        (0..d).map(|j| std::array::from_fn(|l| lane(j, l))).collect()
    };
    let solved: Vec<Vec<[f64; ABREAST]>> = labels
        .par_chunks(ABREAST)
        .map(|block| {
            let start = match from.map(|from| &from.score) {
                Some(Score::Linear(before)) => of(before, block),
                _ => vec![[0.0; ABREAST]; d],
            };
            normal.solve(&of(weights, block), start, residual, watch)
        })
        .collect::<Result<_>>()?;
    for (block, solved) in labels.chunks(ABREAST).zip(&solved) {
        for (j, lanes) in solved.iter().enumerate() {
            block.iter().zip(lanes).for_each(|(&label, w)| weights[j * n + label] = *w);
        }
    }
    Ok(())
}

/// The ridge of one label on the items of which it is known: weights and offset, by conjugate gradients with the diagonal as
/// preconditioner, to a relative residual of 1e-7.
fn conjugate_gradients(
    features: &Features,
    set: &LabelSet,
    rows: &[u32],
    label: u32,
    strength: f64,
    watch: &Watch,
) -> Result<(Vec<f64>, f64)> {
    let d = features.cols();
    let known: Vec<usize> =
        rows.iter().map(|&i| i as usize).filter(|&i| set.unknown(i).binary_search(&label).is_err()).collect();
    let m = known.len().max(1) as f64;
    let (mut mean, mut r, mut diagonal, mut yes) = (vec![0.0; d], vec![0.0; d], vec![0.0; d], 0.0);
    for &i in &known {
        let has = set.yes(i).binary_search(&label).is_ok();
        yes += f64::from(u8::from(has));
        features.each(i, |j, x| {
            let x = f64::from(x);
            mean[j] += x / m;
            diagonal[j] += x * x;
            r[j] += if has { x } else { 0.0 };
        });
    }
    for j in 0..d {
        r[j] -= mean[j] * yes;
        diagonal[j] = (diagonal[j] - m * mean[j] * mean[j]).max(0.0) + strength;
    }
    let product = |v: &[f64], out: &mut [f64]| {
        out.iter_mut().zip(v).for_each(|(out, v)| *out = strength * v);
        let shift = dot(&mean, v);
        let mut total = 0.0;
        for &i in &known {
            let mut s = -shift;
            features.each(i, |j, x| s += f64::from(x) * v[j]);
            features.each(i, |j, x| out[j] += s * f64::from(x));
            total += s;
        }
        out.iter_mut().zip(&mean).for_each(|(out, mean)| *out -= total * mean);
    };
    let smooth = |r: &[f64]| r.iter().zip(&diagonal).map(|(r, d)| r / d).collect::<Vec<f64>>();
    let (mut x, mut hp) = (vec![0.0; d], vec![0.0; d]);
    let mut z = smooth(&r);
    let mut p = z.clone();
    let (mut rz, start) = (dot(&r, &z), dot(&r, &z));
    for _ in 0..1000 {
        if rz <= 1e-14 * start {
            break;
        }
        if watch.stopped() {
            return Err(Error::Interrupted);
        }
        product(&p, &mut hp);
        let step = rz / dot(&p, &hp);
        x.iter_mut().zip(&p).for_each(|(x, p)| *x += step * p);
        r.iter_mut().zip(&hp).for_each(|(r, hp)| *r -= step * hp);
        z = smooth(&r);
        let next = dot(&r, &z);
        p.iter_mut().zip(&z).for_each(|(p, z)| *p = z + next / rz * *p);
        rz = next;
    }
    let offset = yes / m - dot(&mean, &x);
    Ok((x, offset))
}

/// Log-odds from scores: the slope and shift that make the answers most likely, and the mean loss that is left.
///
/// Platt 1999 with his smoothed targets; Newton with step halving (Lin, Lin and Weng 2007). A slope below 0 would turn a
/// ranking over: it becomes 0.
fn platt(scores: impl Iterator<Item = (f64, bool)> + Clone) -> (f64, f64, f64) {
    let (mut yes, mut no) = (0.0, 0.0);
    scores.clone().for_each(|(_, t)| if t { yes += 1.0 } else { no += 1.0 });
    let (high, low) = ((yes + 1.0) / (yes + 2.0), 1.0 / (no + 2.0));
    let prior = ((yes + 1.0f64) / (no + 1.0)).ln();
    let count = (yes + no).max(1.0);
    // the loss with its derivatives, in one pass
    let bend = |a: f64, b: f64| {
        let (mut value, mut ga, mut gb, mut haa, mut hab, mut hbb) = (0.0, 0.0, 0.0, 1e-12, 0.0, 1e-12);
        for (s, t) in scores.clone() {
            let (z, target) = (a * s + b, if t { high } else { low });
            let e = (-z.abs()).exp();
            let p = if z > 0.0 { 1.0 } else { e } / (1.0 + e);
            value += z.max(0.0) + e.ln_1p() - target * z;
            let (g, h) = (p - target, p * (1.0 - p));
            ga += g * s;
            gb += g;
            haa += h * s * s;
            hab += h * s;
            hbb += h;
        }
        (value / count, [ga, gb], [haa, hab, hbb])
    };
    let (mut a, mut b) = (0.0, prior);
    let mut here = bend(a, b);
    if yes == 0.0 || no == 0.0 {
        return (a, b, here.0);
    }
    for _ in 0..50 {
        let (value, [ga, gb], [haa, hab, hbb]) = here;
        let determinant = haa * hbb - hab * hab;
        let (da, db) = if determinant > 1e-12 * haa * hbb {
            ((hbb * ga - hab * gb) / determinant, (haa * gb - hab * ga) / determinant)
        } else {
            (0.0, gb / hbb)
        };
        let mut length = 1.0;
        let mut next = bend(a - da, b - db);
        let lower = |next: f64| next.partial_cmp(&value) == Some(Ordering::Less);
        while !lower(next.0) && length > 1e-6 {
            length *= 0.5;
            next = bend(a - length * da, b - length * db);
        }
        if !lower(next.0) {
            break;
        }
        (a, b, here) = (a - length * da, b - length * db, next);
        if value - here.0 < 1e-9 {
            break;
        }
    }
    if a < 0.0 {
        return (0.0, prior, bend(0.0, prior).0);
    }
    (a, b, here.0)
}

/// A label of which nothing is known of any item gets the log-odds of a usual label.
fn guess_unknown(set: &LabelSet, units: &[u32], shift: &mut [f64]) {
    let mut known = vec![units.len(); shift.len()];
    units.iter().flat_map(|&i| set.unknown(i as usize)).for_each(|&label| known[label as usize] -= 1);
    let yes: usize = set.label_counts(units).iter().sum();
    let all: usize = known.iter().sum();
    let rate = (yes as f64 + 0.5) / (all as f64 + 1.0);
    for (shift, _) in shift.iter_mut().zip(known).filter(|(_, known)| *known == 0) {
        *shift = (rate / (1.0 - rate)).ln();
    }
}

impl OneVsRest {
    /// Trains on `units`; also the log-odds of these items by classifiers that have not seen them, item after item.
    ///
    /// Items are cut into five parts (unit i belongs to part i mod 5), each scored by a classifier of the other four. The strength
    /// of the ridge is the one whose calibrated scores of unseen items have the smallest loss; from strong to weak, until the loss rises. O(D³/3) for
    /// each part and strength with up to 3,000 columns; conjugate gradients above, sixteen labels side by side, and one by one for labels that are
    /// not known of every item.
    pub fn fit(features: &Features, set: &LabelSet, units: &[u32], watch: &Watch) -> Result<(Self, Vec<f64>)> {
        Self::judged(features, set, units, watch).map(|judged| (judged.model, judged.logits))
    }

    /// [`Self::fit`] with the loss on unseen items.
    pub(in crate::method) fn judged(
        features: &Features,
        set: &LabelSet,
        units: &[u32],
        watch: &Watch,
    ) -> Result<Judged> {
        let (d, n) = (features.cols(), set.labels.len());
        let folds = FOLDS.min(units.len().max(1));
        let part = |f: usize| units.iter().copied().skip(f).step_by(folds).collect::<Vec<u32>>();
        let parts: Vec<Sums> = (0..folds).into_par_iter().map(|f| Sums::of(features, set, &part(f))).collect();
        let mut all = Sums { items: 0.0, x: vec![0.0; d], square: vec![], y: vec![0.0; n], xy: vec![0.0; d * n] };
        all.square.resize(parts.first().map_or(0, |p| p.square.len()), 0.0);
        parts.iter().for_each(|sums| all.add(sums, 1.0));
        // the usual variance of a column: one column in another unit does not change it
        let mut spread = vec![0.0; d];
        for &i in units {
            features.each(i as usize, |j, x| spread[j] += f64::from(x) * f64::from(x));
        }
        spread.iter_mut().zip(&all.x).for_each(|(s, x)| *s -= x * x / all.items.max(1.0));
        spread.retain(|&s| s > 0.0);
        spread.sort_by(f64::total_cmp);
        let unit = spread.get(spread.len() / 2).copied().unwrap_or(1.0);
        let others: Vec<Vec<u32>> = (0..folds)
            .map(|f| units.iter().copied().enumerate().filter(|(i, _)| i % folds != f).map(|(_, u)| u).collect())
            .collect();
        let mut best: Option<Tried> = None;
        let mut linear: Vec<Linear> = vec![];
        for strength in STRENGTHS.map(|s| s * unit) {
            if watch.stopped() {
                return Err(Error::Interrupted);
            }
            linear = (0..folds)
                .into_par_iter()
                .map(|f| {
                    let how = (strength, RESIDUAL[0], linear.get(f));
                    if folds == 1 {
                        return ridge(features, set, units, &all, how, watch);
                    }
                    let mut sums = all.clone();
                    sums.add(&parts[f], -1.0);
                    ridge(features, set, &others[f], &sums, how, watch)
                })
                .collect::<Result<_>>()?;
            let mut scores = vec![0.0; units.len() * n];
            scores.par_chunks_mut(n.max(1)).zip(units).enumerate().for_each(|(i, (s, &unit))| {
                let Linear { score, offset } = &linear[i % folds];
                score.labels(offset, features, unit as usize, s);
            });
            let maps = maps_of(set, units, &scores);
            let loss = maps.iter().map(|map| map.2).sum::<f64>();
            if best.as_ref().is_some_and(|best| loss >= best.loss) {
                break; // a weaker ridge still costs more, and is worse too
            }
            best = Some(Tried { loss, strength, scores, maps });
        }
        let Some(Tried { strength, scores, maps, loss }) = best else { return Err(Error::Interrupted) };
        let Linear { score, offset } = ridge(features, set, units, &all, (strength, RESIDUAL[1], None), watch)?;
        let (slope, shift) = maps.iter().map(|map| (map.0, map.1)).unzip();
        Ok(Judged::new(Self { score, offset, slope, shift }, scores, loss, set, units))
    }

    /// No classifiers but scores that the data give: column `columns[i]` is the score of label `i`. Only the maps to log-odds
    /// are learned; the log-odds of `units` come back too, item after item.
    pub fn given(features: &Features, set: &LabelSet, units: &[u32], columns: &[usize]) -> Result<(Self, Vec<f64>)> {
        let n = columns.len();
        let mut weights = vec![0.0; features.cols() * n];
        columns.iter().enumerate().for_each(|(label, j)| weights[j * n + label] = 1.0);
        let maps = (0..n).into_par_iter().map(|label| {
            let known = units.iter().filter(|&&i| set.unknown(i as usize).binary_search(&(label as u32)).is_err());
            let answer = |&i: &u32| {
                let yes = set.yes(i as usize).binary_search(&(label as u32)).is_ok();
                (f64::from(features.value(i as usize, columns[label])), yes)
            };
            platt(known.map(answer).collect::<Vec<_>>().iter().copied())
        });
        let (slope, mut shift): (Vec<f64>, Vec<f64>) =
            maps.collect::<Vec<_>>().iter().map(|&(slope, shift, _)| (slope, shift)).unzip();
        if n > 0 && slope.iter().all(|&slope| slope == 0.0) {
            return Err(Error::Data {
                expected: "given scores that are higher where a label applies".into(),
                found: "scores that tell nothing, or are lower there".into(),
            });
        }
        guess_unknown(set, units, &mut shift);
        let model = Self { score: Score::Linear(weights), offset: vec![0.0; n], slope, shift };
        let mut scores = vec![0.0; units.len() * n];
        scores.par_chunks_mut(n.max(1)).zip(units).for_each(|(s, &unit)| model.logits(features, unit as usize, s));
        Ok((model, scores))
    }

    fn calibrate(&self, s: &mut [f64]) {
        for ((s, a), b) in s.iter_mut().zip(&self.slope).zip(&self.shift) {
            *s = a * *s + b;
        }
    }

    /// The log-odds of every label of one item.
    pub fn logits(&self, features: &Features, row: usize, s: &mut [f64]) {
        self.score.labels(&self.offset, features, row, s);
        self.calibrate(s);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Columns;
    use crate::matrix::{Csr, Matrix};
    use crate::random::Random;

    fn made(random: &mut Random, items: usize, d: usize, n: usize) -> LabelSet {
        let values: Vec<f32> = (0..items * d).map(|_| random.normal() as f32).collect();
        let yes = (0..items)
            .map(|i| {
                (0..n as u32).filter(|&l| f64::from(values[i * d + l as usize % d]) + random.normal() > 0.5).collect()
            })
            .collect();
        let names = |k: usize| (0..k).map(|j| j.to_string()).collect::<Vec<_>>();
        let columns = Columns { names: names(d), numbered: true, ..Columns::default() };
        LabelSet::new(Features::Dense(Matrix::new(values, d)), columns, names(n), yes).unwrap()
    }

    /// The same values, stored one by one.
    fn sparse(set: &LabelSet) -> Features {
        let (d, rows) = (set.features.cols(), set.len());
        let values = (0..rows * d).map(|k| set.features.value(k / d, k % d)).collect();
        Features::Sparse(Csr::new(
            (1..=rows).map(|i| i * d).collect(),
            (0..rows * d).map(|k| (k % d) as u32).collect(),
            values,
            d,
        ))
    }

    #[test]
    fn a_ridge_is_where_its_gradient_is_zero() {
        let mut random = Random::new(9);
        let set = made(&mut random, 40, 6, 4);
        let rows: Vec<u32> = (0..40).filter(|i| i % 7 != 3).collect();
        let sums = Sums::of(&set.features, &set, &rows);
        let linear = ridge(&set.features, &set, &rows, &sums, (2.5, 1e-7, None), &Watch::NOBODY).unwrap();
        let mut s = vec![0.0; 4];
        for label in 0..4 {
            let (mut slope, mut level) = (vec![0.0; 6], 0.0);
            for &i in &rows {
                linear.score.labels(&linear.offset, &set.features, i as usize, &mut s);
                let away = s[label] - f64::from(u8::from(set.yes(i as usize).contains(&(label as u32))));
                level += away;
                set.features.each(i as usize, |j, x| slope[j] += away * f64::from(x));
            }
            assert!(level.abs() < 1e-9);
            (0..6).for_each(|j| assert!((slope[j] + 2.5 * linear.score.weights()[j * 4 + label]).abs() < 1e-9));
        }
        // sums of sparse rows are the same, and so is the way that needs no matrix
        let other = sparse(&set);
        let same = Sums::of(&other, &set, &rows);
        assert!(sums.square.iter().zip(&same.square).all(|(a, b)| (a - b).abs() < 1e-9));
        let large = Sums { square: vec![], ..sums };
        let by_steps = ridge(&other, &set, &rows, &large, (2.5, 1e-7, None), &Watch::NOBODY).unwrap();
        assert!(linear.score.weights().iter().zip(by_steps.score.weights()).all(|(a, b)| (a - b).abs() < 1e-5));
        assert!(linear.offset.iter().zip(&by_steps.offset).all(|(a, b)| (a - b).abs() < 1e-5));
    }

    #[test]
    fn labels_side_by_side_are_labels_one_by_one() {
        let mut random = Random::new(12);
        for n in [1, ABREAST, 2 * ABREAST + 3] {
            let set = made(&mut random, 50, 30, n);
            let (features, rows) = (sparse(&set), set.all());
            let sums = Sums { square: vec![], ..Sums::of(&features, &set, &rows) };
            let fit = |strength, from| ridge(&features, &set, &rows, &sums, (strength, 1e-9, from), &Watch::NOBODY);
            let strong = fit(5.0, None).unwrap();
            let (cold, warm) = (fit(0.5, None).unwrap(), fit(0.5, Some(&strong)).unwrap());
            for label in 0..n {
                let (w, b) = conjugate_gradients(&features, &set, &rows, label as u32, 0.5, &Watch::NOBODY).unwrap();
                for found in [&cold, &warm] {
                    assert!((found.offset[label] - b).abs() < 1e-6);
                    let own = found.score.weights()[label..].iter().step_by(n);
                    assert!(own.zip(&w).all(|(a, b)| (a - b).abs() < 1e-6));
                }
            }
        }
    }

    #[test]
    fn an_item_of_which_a_label_is_unknown_plays_no_part_in_it() {
        let mut random = Random::new(10);
        let set = made(&mut random, 60, 5, 3);
        // of every fourth item label 1 is not known
        let yes = (0..60).map(|i| set.yes(i).iter().copied().filter(|&l| l != 1 || i % 4 != 0).collect()).collect();
        let gaps = LabelSet::new(set.features.clone(), set.columns.clone(), set.labels.clone(), yes)
            .unwrap()
            .with_unknown((0..60).map(|i| if i % 4 == 0 { vec![1] } else { vec![] }).collect())
            .unwrap();
        let (all, some): (Vec<u32>, Vec<u32>) = ((0..60).collect(), (0..60).filter(|i| i % 4 != 0).collect());
        let of = |set: &LabelSet, rows: &[u32]| {
            ridge(&set.features, set, rows, &Sums::of(&set.features, set, rows), (1.0, 1e-7, None), &Watch::NOBODY)
        };
        let (with, without) = (of(&gaps, &all).unwrap(), of(&set, &some).unwrap());
        for j in 0..5 {
            assert!((with.score.weights()[j * 3 + 1] - without.score.weights()[j * 3 + 1]).abs() < 1e-4);
        }
        assert!((with.offset[1] - without.offset[1]).abs() < 1e-4);
    }

    #[test]
    fn log_odds_are_the_most_likely_ones_and_honest() {
        let mut random = Random::new(11);
        let pairs: Vec<(f64, bool)> = (0..3000)
            .map(|_| {
                let s = random.normal();
                (s, random.uniform() < 1.0 / (1.0 + (1.0 - 2.0 * s).exp()))
            })
            .collect();
        let (a, b, loss) = platt(pairs.iter().copied());
        assert!((a - 2.0).abs() < 0.2 && (b + 1.0).abs() < 0.15 && loss < 0.6, "{a} {b} {loss}");
        let (a, b, _) = platt(pairs.iter().map(|&(s, t)| (-s, t)));
        assert!(a == 0.0 && b < 0.0); // a score that misleads is not turned over
        let (a, b, _) = platt([(0.3, false), (0.1, false)].into_iter());
        assert!(a == 0.0 && b < -0.9);
        // scores of items that were seen would be far too good here: more columns than items
        let set = made(&mut random, 60, 80, 2);
        let (model, unseen) = OneVsRest::fit(&set.features, &set, &set.all(), &Watch::NOBODY).unwrap();
        let right = |z: f64, i: usize, l: usize| (z > 0.0) == set.yes(i).contains(&(l as u32));
        let mut z = vec![0.0; 2];
        let (mut seen_right, mut unseen_right) = (0, 0);
        for i in 0..60 {
            model.logits(&set.features, i, &mut z);
            for l in 0..2 {
                seen_right += usize::from(right(z[l], i, l));
                unseen_right += usize::from(right(unseen[i * 2 + l], i, l));
            }
        }
        assert!(seen_right > unseen_right, "{seen_right} {unseen_right}");
    }
}
