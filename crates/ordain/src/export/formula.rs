//! What the score of a row is, in a form that every target can write down.

use super::trees::{Node, Test, Tree, on_data};
use crate::data::scale::{Scale, Scaling};
use crate::data::transform::ColumnTransform;
use crate::data::{Groups, Missing};
use crate::error::{Error, Result};
use crate::kernel::{Form, Kernel};
use crate::matrix::{Features, Matrix};
use crate::method::{Annotator, Matcher, Ranker};
use crate::score::Score;
use crate::task::Inputs;

/// What is done about a missing value before anything else.
#[derive(Clone, Debug, PartialEq)]
pub enum Gaps {
    /// It is refused.
    Refused,
    /// A value of its column takes its place.
    Filled(Vec<f32>),
    /// It stays: the model is of trees alone, and these know what to do with it.
    Kept,
}

/// How columns are scaled.
#[derive(Clone, Debug, PartialEq)]
pub enum Scaled {
    /// Not at all.
    No,
    /// `(x − offset) · factor`, of each column.
    By {
        /// What is subtracted.
        offset: Vec<f32>,
        /// What it is then multiplied by.
        factor: Vec<f32>,
    },
    /// To mean 0 and standard deviation 1 within each query; 0 where a column is constant there.
    Query,
    /// To the range from 0 to 1 within each query; 0 where a column is constant there.
    Minmax,
}

/// `Σ_j β_j k(c_j, x)` over core rows, on scaled columns.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelSum {
    /// The kernel.
    pub kernel: Kernel,
    /// The core rows, as they are scaled.
    pub rows: Matrix,
    /// β, one of each core row.
    pub coefficients: Vec<f64>,
}

/// The scores of a row, step after step:
///
/// ```text
/// x, a value of each column of the data
/// 1. gaps are filled; a column 1 or 0 is put behind the others for each of `flags`: whether that value was missing
/// 2. columns are transformed
/// 3. columns are scaled
/// 4. score_o = constant_o + Σ_j w_jo x_j + Σ_j β_j k(c_j, x) + Σ_t tree_t(the values of the data)
/// ```
///
/// Trees are stated on the values of the data: gaps and transforms are in their cuts already.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    /// The columns of the data.
    pub columns: Vec<String>,
    /// What is scored: one name, or that of each label.
    pub outputs: Vec<String>,
    /// What is done about a missing value.
    pub gaps: Gaps,
    /// The columns whose gaps are a column of their own.
    pub flags: Vec<u32>,
    /// The transform of each column, flags among them; empty if there is none.
    pub transforms: Vec<ColumnTransform>,
    /// How columns are scaled.
    pub scale: Scaled,
    /// What each output has without looking.
    pub constant: Vec<f64>,
    /// Column after column, a weight of each output; empty if there are none.
    pub weights: Vec<f64>,
    /// A sum of kernels.
    pub kernel: Option<KernelSum>,
    /// Trees.
    pub trees: Vec<Tree>,
}

/// The name of the output of rankers and matchers.
pub const SCORE: &str = "score";

fn refused(expected: &str, found: &str) -> Error {
    Error::Data { expected: expected.into(), found: found.into() }
}

impl Formula {
    /// The score of a document.
    ///
    /// # Errors
    ///
    /// [`Error::Data`] if an order is more than a sort by such scores, or if a score depends on other documents beside their scaling.
    pub fn of_ranker(model: &Ranker) -> Result<Self> {
        if model.quadratic.is_some() {
            return Err(refused(
                "a model that sorts by scores (predict answers for one with links)",
                "one with links between items, whose order is no sort",
            ));
        }
        if model.start.is_some() {
            return Err(refused(
                "a model that needs columns alone",
                "one that adds trees to the scores of another model: export both, and add them",
            ));
        }
        Self::of_score(&model.inputs, &model.score)
    }

    /// The score of an edge.
    ///
    /// # Errors
    ///
    /// As [`Self::of_ranker`].
    pub fn of_matcher(model: &Matcher) -> Result<Self> {
        Self::of_score(&model.inputs, &model.score)
    }

    /// The scores of labels, links and the number of labels apart: `v_i + w_i·x + (u + u_i)·z_i` with the log-odds z of linear classifiers.
    ///
    /// # Errors
    ///
    /// [`Error::Data`] if a part of the model is no weighted sum of columns.
    pub fn of_annotator(model: &Annotator) -> Result<Self> {
        let mut formula = Self::steps(&model.inputs, model.labels.clone());
        (formula.weights, formula.constant) = model.linear().ok_or_else(|| {
            refused(
                "labels whose scores are weighted sums of columns (scorer=linear, kernel=linear)",
                "kernels or trees of labels",
            )
        })?;
        Ok(formula)
    }

    fn of_score(inputs: &Inputs, score: &Score) -> Result<Self> {
        let mut formula = Self::steps(inputs, vec![SCORE.into()]);
        match score {
            Score::Linear(weights) => formula.weights = weights.clone(),
            Score::Trees(trees) => {
                formula.weights = trees.weights.clone();
                for forest in &trees.forests {
                    formula.trees.extend(on_data(&forest.parts(), &formula)?);
                }
                if formula.weights.is_empty() {
                    // what is below serves weights alone
                    (formula.scale, formula.transforms, formula.flags) = (Scaled::No, vec![], vec![]);
                    formula.gaps = if formula.gaps == Gaps::Refused { Gaps::Refused } else { Gaps::Kept };
                }
            }
            Score::Kernel(sum) => {
                let [part] = sum.parts.as_slice() else {
                    return Err(refused(
                        "one function for all queries (fit with blocks=false)",
                        "one for each query by its name",
                    ));
                };
                if part.query.is_some() {
                    return Err(refused(
                        "one function for all queries (fit with blocks=false)",
                        "one for a query by its name",
                    ));
                }
                let rows: Vec<f32> =
                    part.documents.iter().flat_map(|&row| sum.documents.row(row as usize)).copied().collect();
                let kernel = KernelSum {
                    kernel: sum.kernel,
                    rows: Matrix::new(rows, sum.documents.cols()),
                    coefficients: part.coefficients.clone(),
                };
                formula.take_kernel(kernel);
            }
            Score::Network(_) | Score::Comparison(_) | Score::Field(_) => {
                return Err(refused(
                    "weights, kernels or trees (ranksvm, rankmatch, dorm, listnet and others)",
                    "a network, or a score that depends on the other documents of a query",
                ));
            }
        }
        Ok(formula)
    }

    /// A linear kernel is weights.
    fn take_kernel(&mut self, sum: KernelSum) {
        if sum.kernel.form != Form::Linear {
            self.kernel = Some(sum);
            return;
        }
        self.weights = vec![0.0; sum.rows.cols()];
        for (row, beta) in sum.rows.some_rows(0..sum.rows.rows()).zip(&sum.coefficients) {
            self.weights.iter_mut().zip(row).for_each(|(w, &x)| *w += beta * f64::from(x));
        }
    }

    /// All but the score itself.
    fn steps(inputs: &Inputs, outputs: Vec<String>) -> Self {
        let columns = inputs.given().to_vec();
        let d = columns.len();
        let gaps = match inputs.missing {
            Missing::Zero => Gaps::Filled(vec![0.0; d]),
            Missing::Mean | Missing::Indicator => Gaps::Filled(inputs.means.clone().unwrap_or_default()),
            Missing::Keep => Gaps::Kept,
            _ => Gaps::Refused,
        };
        let scale = match (&inputs.global, inputs.scale) {
            (Some(affine), _) => Scaled::By { offset: affine.offset.clone(), factor: affine.factor.clone() },
            (None, Scale::Query) => Scaled::Query,
            (None, Scale::Minmax) => Scaled::Minmax,
            (None, _) => Scaled::No,
        };
        Self {
            constant: vec![0.0; outputs.len()],
            transforms: inputs.transforms.columns().to_vec(),
            columns,
            outputs,
            gaps,
            flags: inputs.flags(),
            scale,
            weights: vec![],
            kernel: None,
            trees: vec![],
        }
    }

    /// The number of columns behind the first step.
    pub fn width(&self) -> usize {
        self.columns.len() + self.flags.len()
    }

    /// Whether the score of a row depends on the other rows of its query.
    pub fn by_query(&self) -> bool {
        matches!(self.scale, Scaled::Query | Scaled::Minmax)
    }

    /// The transform of a column.
    pub fn transform(&self, j: usize) -> &ColumnTransform {
        self.transforms.get(j).unwrap_or(&ColumnTransform::Keep)
    }

    /// The cuts and the listed values of trees in a column.
    pub(super) fn cuts(&self, column: u32) -> Vec<f32> {
        let splits = self.trees.iter().flat_map(|tree| &tree.nodes).filter_map(|node| match node {
            Node::Split(split) if split.column == column => Some(&split.test),
            _ => None,
        });
        splits
            .flat_map(|test| match test {
                Test::AtMost(cut) => vec![*cut],
                Test::OneOf(values) => values.clone(),
            })
            .collect()
    }

    /// A row of the data behind steps 1 and 2; a gap that is refused stays.
    pub fn transformed(&self, row: &[f32]) -> Vec<f32> {
        let own = row.iter().enumerate().map(|(j, &x)| match &self.gaps {
            Gaps::Filled(values) if x.is_nan() => values[j],
            _ => x,
        });
        let flags = self.flags.iter().map(|&j| f32::from(u8::from(row[j as usize].is_nan())));
        own.chain(flags).enumerate().map(|(j, x)| self.transform(j).apply(x)).collect()
    }

    /// The scores of rows of the data, output after output of each row, by the plainest code: what every target is tested against.
    ///
    /// `bounds` are where each query begins, and the end.
    pub fn scores(&self, rows: &Matrix, bounds: &[usize]) -> Vec<f64> {
        let width = self.width();
        let made: Vec<f32> = rows.some_rows(0..rows.rows()).flat_map(|row| self.transformed(row)).collect();
        let made = Features::Dense(Matrix::new(made, width));
        let units: Vec<u32> = (0..bounds.len().saturating_sub(1) as u32).collect();
        let by = match &self.scale {
            Scaled::Query => Scale::Query,
            Scaled::Minmax => Scale::Minmax,
            _ => Scale::None,
        };
        let scaling = Scaling::of_units(by, Groups::new(&made, bounds), &units);
        let mut scores = Vec::with_capacity(rows.rows() * self.outputs.len());
        for (q, span) in bounds.windows(2).enumerate() {
            for i in span[0]..span[1] {
                let x: Vec<f64> = (0..width).map(|j| self.scaled(&scaling, q, j, made.value(i, j))).collect();
                self.score_row(rows.row(i), &x, &mut scores);
            }
        }
        scores
    }

    fn scaled(&self, scaling: &Scaling, q: usize, j: usize, x: f32) -> f64 {
        let (offset, factor) = match (&self.scale, scaling) {
            (Scaled::By { offset, factor }, _) => (offset[j], factor[j]),
            (_, Scaling::Query { affine, starts, .. }) => (affine.offset[starts[q] + j], affine.factor[starts[q] + j]),
            _ => (0.0, 1.0),
        };
        (f64::from(x) - f64::from(offset)) * f64::from(factor)
    }

    fn score_row(&self, data: &[f32], x: &[f64], scores: &mut Vec<f64>) {
        let outputs = self.outputs.len();
        for (o, constant) in self.constant.iter().enumerate() {
            let linear = self.weights.chunks_exact(outputs).zip(x).map(|(w, x)| w[o] * x);
            let kernel = self.kernel.as_ref().map_or(0.0, |sum| {
                let x: Vec<f32> = x.iter().map(|&x| x as f32).collect();
                let rows = sum.rows.some_rows(0..sum.rows.rows());
                rows.zip(&sum.coefficients).map(|(row, beta)| beta * sum.kernel.of(row, &x)).sum()
            });
            let trees = self.trees.iter().map(|tree| tree.value(data));
            scores.push(constant + linear.sum::<f64>() + kernel + trees.sum::<f64>());
        }
    }
}
