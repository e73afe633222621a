//! How a row gets its score: one type for documents, items and edges.
//!
//! A ranker has one [`Score`] for documents, a matcher one for edges, an annotator one with a function per label. They
//! differ in what they do with scores, not in how these are made.

use crate::data::Groups;
use crate::data::scale::Scaling;
use crate::kernel::Expansion;
use crate::matrix::{Features, dot_row};
use crate::scorer::comparison::Comparison;
use crate::scorer::field::Field;
use crate::scorer::network::Network;
use crate::scorer::rows::{Rows, Work};
use crate::traits::Scorer;
use crate::tree::Forest;
use rayon::prelude::*;
use std::ops::Range;

/// What turns a row of scaled features into a score, or into a score per label.
///
/// ```
/// use ordain::{data::Groups, data::scale::Scaling, matrix::{Features, Matrix}, score::Score};
/// let rows = Features::Dense(Matrix::new(vec![1.0, 2.0, 3.0, 4.0], 2));
/// let score = Score::Linear(vec![10.0, 1.0]);
/// assert!(score.fits(2));
/// let set = Groups::new(&rows, &[0, 2]);
/// assert_eq!(score.units(set, &[0], &Scaling::None, |_| ""), [12.0, 34.0]);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Score {
    /// `w·x`: column after column, a weight per label (one where there are no labels).
    Linear(Vec<f64>),
    /// `Σ_j β_j k(x_j, x)` over core rows: a part per label, or one for all units, or one for each unit by name.
    Kernel(Expansion),
    /// A sum of trees, on top of weights or alone.
    Trees(TreeScore),
    /// A network of two layers.
    Network(Network),
    /// How a row does against the others of its unit, by a network that compares two.
    Comparison(Comparison),
    /// The mode of a field in which the rows of a unit pull at each other.
    Field(Field),
}

/// `w·x + Σ_t tree_t(z)`: weights on the scaled features x, and trees on the columns z as they stand in the data.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeScore {
    /// As in [`Score::Linear`]; empty where there are only trees.
    pub weights: Vec<f64>,
    /// The trees: one forest, or one for each label.
    pub forests: Vec<Forest>,
}

/// Why one row stands above another: what one feature adds to the difference of their scores.
#[derive(Clone, Debug, PartialEq)]
pub struct Contribution {
    /// The column.
    pub column: usize,
    /// Its value of the upper row.
    pub above: f32,
    /// Its value of the lower row.
    pub below: f32,
    /// The difference of the two after scaling.
    pub difference: f64,
    /// The weight.
    pub weight: f64,
    /// Weight times difference.
    pub contribution: f64,
}

/// What makes up the score of one label.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares {
    /// What a row of zeros scores.
    pub zero: f64,
    /// What each column adds, where it adds something.
    pub columns: Vec<(usize, f64)>,
}

/// Rows of a job of trees.
const TREE_ROWS: usize = 1 << 12;
/// Rows that are scaled at once.
const ROWS: usize = 1 << 14;

impl Score {
    /// The weights of a linear score, or those below trees; else empty.
    pub fn weights(&self) -> &[f64] {
        match self {
            Self::Linear(weights) | Self::Trees(TreeScore { weights, .. }) => weights,
            Self::Kernel(_) | Self::Network(_) | Self::Comparison(_) | Self::Field(_) => &[],
        }
    }

    /// The trees, of a score that has them: one forest, or one for each label.
    pub fn forests(&self) -> &[Forest] {
        match self {
            Self::Trees(score) => &score.forests,
            _ => &[],
        }
    }

    /// What splits by each column gain in all trees, as a share of all; `None` without trees.
    pub fn gains(&self) -> Option<Vec<f64>> {
        let (first, rest) = self.forests().split_first()?;
        let mut gains = first.gains();
        for forest in rest {
            gains.iter_mut().zip(forest.gains()).for_each(|(sum, gain)| *sum += gain);
        }
        let total = gains.iter().sum::<f64>();
        gains.iter_mut().for_each(|gain| *gain /= if total > 0.0 { total } else { 1.0 });
        Some(gains)
    }

    /// Whether its weights are all that there is.
    pub fn is_linear(&self) -> bool {
        matches!(self, Self::Linear(_))
    }

    /// The sum of kernels, if it is one.
    pub fn expansion(&self) -> Option<&Expansion> {
        match self {
            Self::Kernel(expansion) => Some(expansion),
            _ => None,
        }
    }

    /// Whether it scores rows of so many columns: all sizes fit, and every number is finite.
    pub fn fits(&self, columns: usize) -> bool {
        match self {
            Self::Linear(weights) => weights.len() == columns && weights.iter().all(|w| w.is_finite()),
            Self::Kernel(expansion) => expansion.fits(columns) && expansion.one_function(),
            Self::Trees(score) => score.fits(columns, 1),
            Self::Network(network) => network.fits(columns),
            Self::Comparison(comparison) => comparison.fits(columns),
            Self::Field(field) => field.fits(columns),
        }
    }

    /// Whether it gives each of some labels a score of its own, on rows of so many columns.
    pub fn fits_labels(&self, columns: usize, labels: usize) -> bool {
        match self {
            Self::Linear(weights) => weights.len() == columns * labels && weights.iter().all(|w| w.is_finite()),
            Self::Kernel(expansion) => {
                let own = expansion.parts.iter().all(|part| part.query.is_none());
                expansion.fits(columns) && own && expansion.parts.len() == labels
            }
            Self::Trees(score) => score.fits(columns, labels),
            Self::Network(_) | Self::Comparison(_) | Self::Field(_) => false,
        }
    }

    /// The number of its weights or coefficients that are not 0, and of the nodes of its trees.
    pub fn support(&self) -> usize {
        let count = |numbers: &[f64]| numbers.iter().filter(|&&x| x != 0.0).count();
        match self {
            Self::Linear(weights) => count(weights),
            Self::Kernel(expansion) => expansion.parts.iter().map(|part| count(&part.coefficients)).sum(),
            Self::Trees(score) => count(&score.weights) + score.forests.iter().map(Forest::nodes).sum::<usize>(),
            Self::Network(network) => count(&network.numbers),
            Self::Comparison(comparison) => count(&comparison.numbers),
            Self::Field(field) => {
                let links = field.links.iter().filter(|(_, pull)| *pull > 0.0).count();
                count(&field.alpha) + usize::from(field.beta > 0.0) + links
            }
        }
    }

    /// What to do about a score that is not finite, beside looking at the data.
    pub fn cure(&self, scales: &'static str, powers: &'static str) -> &'static str {
        match self {
            Self::Kernel(expansion) if expansion.kernel.form.name() == "poly" => powers,
            _ => scales,
        }
    }

    /// The scores of the rows of unit `n` of some rows; `name` is the name of the unit. A unit without a function scores 0.
    ///
    /// O(values) of a linear score, O(rows · core rows · columns) of kernels, O(rows · trees · depth) of trees, O(values · hidden units) of
    /// networks, and besides O(rows² · hidden units) of one that compares and O(rows² · columns) of a field.
    pub fn unit(&self, rows: &Rows<'_>, n: usize, name: &str, s: &mut [f64], work: &mut Work) {
        match self {
            Self::Linear(weights) => rows.scores(n, weights, s, work),
            Self::Kernel(expansion) => match expansion.part(name) {
                Some(part) => expansion.scores(part, &rows.dense(n), s),
                None => s.fill(0.0),
            },
            Self::Trees(score) => {
                match score.weights.is_empty() {
                    true => s.fill(0.0),
                    false => rows.scores(n, &score.weights, s, work),
                }
                score.add(rows.features(), rows.rows(n), s);
            }
            Self::Network(network) => network.scores(&rows.dense(n), s),
            Self::Comparison(comparison) => comparison.scores(&rows.dense(n), s),
            Self::Field(field) => field.scores(&rows.dense(n), &rows.linked(n), s),
        }
    }

    /// The scores of all rows of some units under a scaling of their set; 0 elsewhere. In parallel; cost as [`Self::unit`].
    pub fn units<'n>(
        &self,
        set: Groups<'_>,
        units: &[u32],
        scaling: &Scaling,
        name: impl Fn(usize) -> &'n str + Sync,
    ) -> Vec<f64> {
        let rows = Rows::new(set, units, scaling);
        match self {
            // of one long unit too, in blocks
            Self::Trees(score) if units.len() == set.len() && !matches!(scaling, Scaling::Query { .. }) => {
                let mut scores = match score.weights.is_empty() {
                    true => vec![0.0; set.features.rows()],
                    false => rows.all_scores(&score.weights),
                };
                let block =
                    |(b, s): (usize, &mut [f64])| score.add(set.features, b * TREE_ROWS..b * TREE_ROWS + s.len(), s);
                scores.par_chunks_mut(TREE_ROWS).enumerate().for_each(block);
                scores
            }
            Self::Linear(weights) if units.len() == set.len() && !matches!(scaling, Scaling::Query { .. }) => {
                rows.all_scores(weights)
            }
            Self::Linear(_) | Self::Trees(_) | Self::Network(_) | Self::Comparison(_) | Self::Field(_) => {
                self.row_units(set, units, &rows)
            }
            Self::Kernel(expansion) => kernel_units(expansion, set, units, &rows, name),
        }
    }

    /// The scores of all rows of some units, unit after unit; 0 elsewhere.
    fn row_units(&self, set: Groups<'_>, units: &[u32], rows: &Rows<'_>) -> Vec<f64> {
        let parts: Vec<(usize, Vec<f64>)> = (0..units.len())
            .into_par_iter()
            .with_min_len(if self.is_linear() { 64 } else { 1 })
            .map_init(Work::default, |work, n| {
                let span = set.span(units[n] as usize);
                let mut s = vec![0.0; span.len()];
                self.unit(rows, n, "", &mut s, work);
                (span.start, s)
            })
            .collect();
        let mut scores = vec![0.0; set.features.rows()];
        for (start, part) in parts {
            scores[start..start + part.len()].copy_from_slice(&part);
        }
        scores
    }

    /// The scores of rows that are scaled already, row after row; `None` where the unit of this name has no function,
    /// of trees, which see rows as they stand in the data, and where the score of a row depends on the others of its unit.
    ///
    /// With it the function can be seen where there is no row.
    pub fn scaled(&self, name: &str, rows: &[f32], columns: usize) -> Option<Vec<f64>> {
        let d = columns.max(1);
        match self {
            Self::Linear(weights) => Some(rows.chunks_exact(d).map(|row| dot_row(row, weights)).collect()),
            Self::Kernel(expansion) => {
                let mut scores = vec![0.0; rows.len() / d];
                expansion.scores(expansion.part(name)?, rows, &mut scores);
                Some(scores)
            }
            Self::Network(network) => {
                let mut scores = vec![0.0; rows.len() / d];
                network.scores(rows, &mut scores);
                Some(scores)
            }
            Self::Trees(_) | Self::Comparison(_) | Self::Field(_) => None,
        }
    }

    /// A score per label of one row of scaled features, each with its offset. Trees of labels see scaled features too.
    ///
    /// O(values · labels) of a linear score, O(core rows · (columns + labels)) of kernels, O(labels · trees · depth) of trees.
    pub fn labels(&self, offset: &[f64], features: &Features, row: usize, s: &mut [f64]) {
        s.copy_from_slice(offset);
        let n = s.len();
        let weights = self.weights();
        if !weights.is_empty() {
            features.each(row, |j, x| {
                let x = f64::from(x);
                s.iter_mut().zip(&weights[j * n..(j + 1) * n]).for_each(|(s, w)| *s += x * w);
            });
        }
        match self {
            Self::Linear(_) | Self::Network(_) | Self::Comparison(_) | Self::Field(_) => {}
            Self::Kernel(expansion) => expansion.add_parts(&dense(features, row), s),
            Self::Trees(score) => {
                let x = dense(features, row);
                s.iter_mut().zip(&score.forests).for_each(|(s, forest)| *s += forest.score_row(&x));
            }
        }
    }

    /// What each feature adds to the score of row `above` over row `below`, both of unit `q`; the largest first.
    ///
    /// The contributions add up to the difference of the scores. With a kernel or a network the weight of a feature is its mean slope
    /// on the straight way from one row to the other, the rest of the unit staying as it is. What a field adds is linear in the values of all rows of the unit, column by column. What trees add is shared among columns by Shapley's rule with the
    /// lower row as the background ([`Forest::shares`]); the weight is then the contribution over the difference.
    pub fn explain(
        &self,
        set: Groups<'_>,
        (q, name): (usize, &str),
        scaling: &Scaling,
        above: usize,
        below: usize,
    ) -> Vec<Contribution> {
        let (units, d, start) = ([q as u32], set.features.cols(), set.span(q).start);
        let rows = Rows::new(set, &units, scaling);
        let slope;
        let weights = match self {
            Self::Linear(weights) => weights,
            Self::Trees(score) if score.weights.is_empty() => {
                slope = vec![0.0; d];
                &slope
            }
            Self::Trees(score) => &score.weights,
            Self::Kernel(expansion) => {
                let lines = rows.dense(0);
                let line = |row: usize| &lines[(row - start) * d..(row - start + 1) * d];
                let part = expansion.part(name);
                slope = part.map_or(vec![0.0; d], |part| expansion.mean_slope(part, line(below), line(above)));
                &slope
            }
            Self::Network(_) | Self::Comparison(_) | Self::Field(_) => {
                let lines = rows.dense(0);
                let line = |row: usize| &lines[(row - start) * d..(row - start + 1) * d];
                slope = match self {
                    Self::Network(network) => network.mean_slope(line(below), line(above)),
                    Self::Comparison(comparison) => comparison.mean_slope(&lines, line(below), line(above)),
                    _ => vec![0.0; d],
                };
                &slope
            }
        };
        // row i of A is Aᵀeᵢ
        let line = |row: usize| {
            let (mut out, mut one) = (vec![0.0; d], vec![0.0; set.span(q).len()]);
            one[row - start] = 1.0;
            rows.pull_back(0, &one, &mut out, &mut Work::default());
            out
        };
        let raw = |row: usize| dense(set.features, row).into_iter().map(f64::from).collect();
        // trees alone have no scaling, and take missing values
        let alone = matches!(self, Self::Trees(score) if score.weights.is_empty());
        let (upper, lower): (Vec<f64>, Vec<f64>) =
            if alone { (raw(above), raw(below)) } else { (line(above), line(below)) };
        let mut all: Vec<Contribution> = (0..d)
            .map(|j| {
                let difference = upper[j] - lower[j];
                Contribution {
                    column: j,
                    above: set.features.value(above, j),
                    below: set.features.value(below, j),
                    difference,
                    weight: weights[j],
                    contribution: if alone { 0.0 } else { weights[j] * difference },
                }
            })
            .collect();
        let shares = match self {
            Self::Field(field) => {
                let shares = field.shares(&rows.dense(0), &rows.linked(0), above - start, below - start);
                shares.into_iter().enumerate().collect()
            }
            _ => self
                .forests()
                .iter()
                .flat_map(|forest| forest.shares(&dense(set.features, above), &dense(set.features, below)))
                .collect::<Vec<(usize, f64)>>(),
        };
        for (j, share) in shares {
            let part = &mut all[j];
            part.contribution += share;
            let slope = part.contribution / part.difference;
            part.weight = if slope.is_finite() { slope } else { 0.0 };
        }
        all.sort_by(|a, b| b.contribution.abs().total_cmp(&a.contribution.abs()).then(a.column.cmp(&b.column)));
        all
    }

    /// What makes up the score of one of `labels` labels on a row of scaled features, its offset apart: the value of a row
    /// of zeros, and what each column adds to it.
    pub fn shares(&self, features: &Features, row: usize, label: usize, labels: usize) -> Shares {
        let mut shares = Shares { zero: 0.0, columns: vec![] };
        let weights = self.weights();
        if !weights.is_empty() {
            features.each(row, |j, x| shares.columns.push((j, f64::from(x) * weights[j * labels + label])));
        }
        match self {
            Self::Linear(_) | Self::Network(_) | Self::Comparison(_) | Self::Field(_) => {}
            Self::Trees(score) => {
                let (x, forest) = (dense(features, row), &score.forests[label]);
                let origin = vec![0.0; x.len()];
                shares.zero = forest.score_row(&origin);
                let mut all = vec![0.0; x.len()];
                shares.columns.iter().chain(&forest.shares(&x, &origin)).for_each(|&(j, share)| all[j] += share);
                shares.columns = all.into_iter().enumerate().filter(|(_, share)| *share != 0.0).collect();
            }
            Self::Kernel(expansion) => {
                let (x, part) = (dense(features, row), &expansion.parts[label]);
                let origin = vec![0.0; x.len()];
                let slope = expansion.mean_slope(part, &origin, &x);
                let mut zero = [0.0];
                expansion.scores(part, &origin, &mut zero);
                shares.zero = zero[0];
                shares.columns = slope.iter().zip(&x).map(|(slope, &x)| slope * f64::from(x)).enumerate().collect();
            }
        }
        shares
    }
}

impl TreeScore {
    /// Whether it scores rows of so many columns, for so many labels.
    fn fits(&self, columns: usize, labels: usize) -> bool {
        let sized = self.weights.is_empty() || self.weights.len() == columns * labels;
        sized
            && self.weights.iter().all(|w| w.is_finite())
            && self.forests.len() == labels
            && self.forests.iter().all(|forest| forest.columns() == columns)
    }

    /// Adds what the trees say of some rows.
    fn add(&self, features: &Features, rows: Range<usize>, s: &mut [f64]) {
        self.forests.iter().for_each(|forest| forest.add_scores(features, rows.clone(), s));
    }
}

/// The same contributions with the values that two rows have in other features: in the data, before columns were transformed.
pub(crate) fn with_values(
    mut parts: Vec<Contribution>,
    raw: &Features,
    above: usize,
    below: usize,
) -> Vec<Contribution> {
    for part in &mut parts {
        (part.above, part.below) = (raw.value(above, part.column), raw.value(below, part.column));
    }
    parts
}

/// A row with all its values.
fn dense(features: &Features, row: usize) -> Vec<f32> {
    let mut x = vec![0.0; features.cols()];
    features.each(row, |j, value| x[j] = value);
    x
}

/// Scores by kernels; 0 elsewhere, and for a unit that has no function.
fn kernel_units<'n>(
    expansion: &Expansion,
    set: Groups<'_>,
    units: &[u32],
    rows: &Rows<'_>,
    name: impl Fn(usize) -> &'n str,
) -> Vec<f64> {
    let mut scores = vec![0.0; set.features.rows()];
    let all: Vec<usize> = (0..units.len()).collect();
    let span = |n: usize| set.span(units[n] as usize);
    // units of one function together, as many as make a good block
    let mut room = 0;
    let together = |&a: &usize, &b: &usize| {
        room = if room == 0 { span(a).len() } else { room } + span(b).len();
        let same = expansion.parts.len() == 1 && expansion.parts[0].query.is_none() && room <= ROWS;
        room = if same { room } else { 0 };
        same
    };
    for group in all.chunk_by(together) {
        let Some(part) = expansion.part(name(units[group[0]] as usize)) else { continue };
        let docs: Vec<f32> = group.iter().flat_map(|&n| rows.dense(n)).collect();
        let mut made = vec![0.0; docs.len() / set.features.cols().max(1)];
        expansion.scores(part, &docs, &mut made);
        let mut from = 0;
        for &n in group {
            let span = span(n);
            scores[span.clone()].copy_from_slice(&made[from..from + span.len()]);
            from += span.len();
        }
    }
    scores
}
