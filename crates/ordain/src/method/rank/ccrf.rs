//! C-CRF: the continuous conditional random field, documents of a query that pull at each other's scores.

use crate::data::scale::{Scale, Scaling};
use crate::data::transform::Transform;
use crate::error::{Error, Result};
use crate::matrix::eigen;
use crate::method::settings::{self, Common, SCALE, TRANSFORM, accuracy, name_of, one_of, steps};
use crate::method::{Choice, Positive, Rank, RankNotes, Ranker};
use crate::metric::Metric;
use crate::pieces::{Pieces, Run, sums_of};
use crate::risk::go_on;
use crate::score::Score;
use crate::scorer::field::{Field, Similarity};
use crate::scorer::rows::Rows;
use crate::solver::lbfgs::Lbfgs;
use crate::solver::run::{Watch, run};
use crate::task::{About, Facts, Fitted, Inputs, Method, Setting, Training, Written};
use crate::traits::{Risk, Solver};
use rayon::prelude::*;
use serde_json::{Map, Value};
use std::sync::atomic::AtomicBool;

/// C-CRF: grades as a Gaussian field around the features, in which documents that are alike have like grades.
///
/// ```text
/// p(y | X) ∝ exp(−Σ_k α_k Σ_i (y_i − x_ik)² − β/2 Σ_ij S_ij (y_i − y_j)²),     α_k, β > 0,   y = grade / largest grade
/// max over log α, log β:   Σ over queries  ½ log|A| − (y − μ)'A(y − μ),    A = aI + βΛ,  a = Σα,  Λ = diag(S 1) − S,  A μ = Xα
/// ```
///
/// Qin, Liu, Zhang, Wang and Li 2008, Eqs. (4) to (6); a query is ranked by the mode μ. Λ is made diagonal once for each query, O(n³), after
/// which an evaluation is O(values). Fitted by L-BFGS over the logarithms, which stay within −12 and 12; there is no ridge.
/// Features are taken literally as guesses of y: they should be between 0 and 1 (`scale=minmax`), and a
/// feature whose small values are good gets no weight. The paper takes the similarity from the text of documents, which feature files do not
/// have: `similarity=rbf` makes it from the features themselves.
///
/// ```
/// use ordain::{data::synthetic::Synthetic, method::RankMethod, solver::run::Watch, task::{Method, Model, Training}};
/// let set = Synthetic::default().make();
/// let method: RankMethod = "ccrf".parse()?;
/// let fitted = method.fit(&Training::new(&set, &set.all()), &Watch::NOBODY)?;
/// assert_eq!(fitted.model.scores(&fitted.model.prepare(&set)?)?.len(), set.rows());
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ccrf {
    /// Transform of columns before they are scaled.
    pub transform: Transform,
    /// Scaling of the features.
    pub scale: Scale,
    /// How alike documents are.
    pub similarity: Similarity,
    /// The most steps of a fit.
    pub max_iter: usize,
    /// The norm of the gradient at which a fit stops, relative to the one at its start.
    pub tol: Positive,
}

impl Default for Ccrf {
    fn default() -> Self {
        Self {
            transform: Transform::Auto,
            scale: Scale::Minmax,
            similarity: Similarity::Rbf,
            max_iter: 1000,
            tol: Positive(1e-7),
        }
    }
}

const SIMILARITIES: [(&str, Similarity); 2] = [("rbf", Similarity::Rbf), ("none", Similarity::None)];
/// Logarithms of α and β stay within this and its negative.
const FAR: f64 = 12.0;
/// A query of so many documents has 200 MB of distances, and its eigenvalues take minutes.
const MOST: usize = 5000;

impl Ccrf {
    /// What can be set.
    pub const SETTINGS: &'static [Setting] = &[
        TRANSFORM,
        Setting {
            default: "minmax",
            range: "none, global, query, minmax",
            help: "scaling of the features, which stand for grades from 0 to 1: minmax (0 to 1 within each query), none, global or query",
            ..SCALE
        },
        Setting {
            name: "similarity",
            range: "rbf, none",
            default: "rbf",
            help: "how alike two documents of a query are: exp(-distance²/median) of their scaled features (rbf), or not at all (none)",
        },
        steps("1000", "the most steps of a fit"),
        accuracy("1e-7", "the norm of the gradient at which a fit stops, relative to the one at its start"),
    ];

    fn used(&self) -> Map<String, Value> {
        Map::from_iter([
            ("scale".into(), self.scale.name().into()),
            ("similarity".into(), name_of(&self.similarity, &SIMILARITIES).into()),
            ("max_iter".into(), self.max_iter.into()),
            ("tol".into(), self.tol.get().into()),
        ])
    }
}

impl Method<Rank> for Ccrf {
    fn name(&self) -> &'static str {
        "ccrf"
    }

    fn about(&self) -> About {
        About {
            good_for: "documents that are alike; has nothing to choose",
            measured_on: "OHSUMED",
            figures: &[("ndcg@10", 0.4350), ("map", 0.4451)],
        }
    }

    fn settings(&self) -> &'static [Setting] {
        Self::SETTINGS
    }

    fn get(&self, name: &str) -> Option<String> {
        match name {
            "similarity" => Some(name_of(&self.similarity, &SIMILARITIES).into()),
            "lambda" => None,
            _ => {
                let scale = Choice::Set(self.scale);
                settings::common(name, self.transform, &scale, &Choice::Auto, self.max_iter, self.tol)
            }
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "similarity" => self.similarity = one_of("similarity", value, &SIMILARITIES)?,
            "scale" => self.scale = value.parse()?,
            "c" => return Err(Error::unknown("setting", name, Self::SETTINGS.iter().map(|setting| setting.name))),
            _ => {
                let Self { transform, max_iter, tol, .. } = self;
                let (scale, lambda) = (&mut Choice::Auto, &mut Choice::Auto);
                Common { transform, scale, lambda, max_iter, tol }.set(name, value)?;
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<()> {
        settings::check(Choice::Set(self.scale), self.max_iter)
    }

    fn chooses(&self) -> bool {
        false
    }

    fn chooses_by(&self) -> Metric {
        super::CHOOSES_BY
    }

    fn resumes(&self) -> bool {
        false
    }

    fn transform(&self) -> Transform {
        self.transform
    }

    fn written(&self) -> Written {
        Written { asked: Map::new(), settings: self.used() }
    }

    fn learn(&self, data: &Training<'_, Rank>, watch: &Watch) -> Result<Fitted<Rank>> {
        let set = data.set;
        if set.weights.is_some() {
            return Err(Error::Data {
                expected: "data without a column of weights (ranksvm takes them)".into(),
                found: "weights of documents".into(),
            });
        }
        let all = data.train;
        // a query of one grade has a likelihood too
        let units: Vec<u32> = all.iter().copied().filter(|&q| set.span(q as usize).len() > 1).collect();
        let flat = units.iter().all(|&q| set.is_flat(q as usize));
        let grades = || units.iter().flat_map(|&q| &set.grades[set.span(q as usize)]);
        let top = grades().copied().fold(0.0, f64::max);
        if flat || top <= 0.0 || grades().any(|&grade| grade < 0.0) {
            return Err(Error::Data {
                expected: "at least one training query with two different grades, none of them below 0".into(),
                found: if flat { "none: there is nothing to put in order" } else { "grades below 0" }.into(),
            });
        }
        if let Some(&long) = units.iter().find(|&&q| set.span(q as usize).len() > MOST) {
            return Err(Error::Data {
                expected: format!("queries of at most {MOST} documents (ccrf has a number for every two of them)"),
                found: format!("{} in query {:?}", set.span(long as usize).len(), set.query(long as usize)),
            });
        }
        (watch.tell)(0.0, "documents that are alike");
        let scaling = Scaling::learn(self.scale, set, all);
        let rows = Rows::new(set, &units, &scaling);
        let one = |n: usize| {
            let own = &set.grades[set.span(units[n] as usize)];
            let y: Vec<f64> = own.iter().map(|grade| grade / top).collect();
            Turned::new(&rows.dense(n), &y, self.similarity)
        };
        let lists: Vec<Turned> = (0..units.len()).into_par_iter().map(one).collect();
        let d = set.features.cols();
        let mut risk = Likelihood::new(lists, d, self.similarity, &set.pieces(), &units, watch.stop);
        // all features alike, and little pull: the middle of what may be
        let theta = vec![0.0; risk.dim()];
        (watch.tell)(0.1, "fitting");
        let mut solver = Lbfgs::at(&mut risk, 0.0, self.tol.get(), theta, None)?;
        let report = run(&mut solver, self.max_iter, 0, watch)?;
        let numbers: Vec<f64> = solver.theta().iter().map(|log| log.clamp(-FAR, FAR).exp()).collect();
        let (alpha, rest) = numbers.split_at(d);
        let beta = rest.first().copied().unwrap_or(0.0);
        let score = Score::Field(Field { alpha: alpha.to_vec(), beta, similarity: self.similarity });
        let inputs = Inputs::new(&set.columns, &data.filled, self.scale, scaling.global());
        let documents: usize = units.iter().map(|&q| set.span(q as usize).len()).sum();
        let facts = Facts {
            method: self.name().into(),
            settings: self.used(),
            asked: Map::new(),
            data: set.digest(),
            notes: RankNotes {
                rows: all.iter().map(|&q| set.span(q as usize).len()).sum(),
                queries: all.len(),
                flat_queries: all.len() - units.len(),
                examples: documents as f64,
                example: "document".into(),
                core: None,
                trees: None,
            },
            report,
            refit: false,
            chosen: None,
            seed: data.seed,
        };
        let model = Ranker { inputs, score, places: vec![], quadratic: None, start: None };
        Ok(Fitted { model, facts, journal: None })
    }
}

/// A query in coordinates in which Λ is diagonal.
struct Turned {
    /// The eigenvalues of Λ.
    values: Vec<f64>,
    /// U'X, row after row.
    x: Vec<f64>,
    /// U'y.
    y: Vec<f64>,
}

impl Turned {
    fn new(docs: &[f32], y: &[f64], similarity: Similarity) -> Self {
        let (n, d) = (y.len(), docs.len() / y.len().max(1));
        let x: Vec<f64> = docs.iter().map(|&x| f64::from(x)).collect();
        let mut pull = similarity.matrix(docs, d);
        if pull.is_empty() {
            return Self { values: vec![0.0; n], x, y: y.to_vec() };
        }
        for i in 0..n {
            let sum: f64 = pull[i * n..(i + 1) * n].iter().sum();
            pull[i * n..(i + 1) * n].iter_mut().for_each(|s| *s = -*s);
            pull[i * n + i] = sum;
        }
        let (values, vectors) = eigen(&pull, n);
        let (mut turned, mut to) = (vec![0.0; n * d], vec![0.0; n]);
        for ((line, row), y) in vectors.chunks_exact(n).zip(x.chunks_exact(d.max(1))).zip(y) {
            for ((u, to), turned) in line.iter().zip(&mut to).zip(turned.chunks_exact_mut(d.max(1))) {
                *to += u * y;
                turned.iter_mut().zip(row).for_each(|(t, x)| *t += u * x);
            }
        }
        // what rounding left below 0
        Self { values: values.into_iter().map(|value| value.max(0.0)).collect(), x: turned, y: to }
    }

    /// Adds minus the logarithm of the likelihood and its slopes by α and β.
    fn add(&self, alpha: &[f64], beta: f64, sums: &mut [f64]) {
        let (d, a) = (alpha.len(), alpha.iter().sum::<f64>());
        let (slopes, rest) = sums.split_at_mut(d);
        let mut of_all = 0.0;
        for ((value, x), y) in self.values.iter().zip(self.x.chunks_exact(d.max(1))).zip(&self.y) {
            let own = a + beta * value;
            let mu = x.iter().zip(alpha).map(|(x, alpha)| x * alpha).sum::<f64>() / own;
            rest[1] += own * (y - mu).powi(2) - 0.5 * (own / std::f64::consts::PI).ln();
            of_all += y * y - mu * mu - 0.5 / own;
            slopes.iter_mut().zip(x).for_each(|(slope, x)| *slope += 2.0 * (mu - y) * x);
            rest[0] += value * (y * y - mu * mu - 0.5 / own);
        }
        slopes.iter_mut().for_each(|slope| *slope += of_all);
    }
}

/// Minus the mean over documents of the logarithm of the likelihood, by the logarithms of α and β; without β where nothing is alike.
struct Likelihood<'a> {
    lists: Vec<Turned>,
    d: usize,
    pulls: bool,
    documents: f64,
    runs: Vec<Run>,
    stop: &'a AtomicBool,
    heeds: bool,
}

impl<'a> Likelihood<'a> {
    fn new(
        lists: Vec<Turned>,
        d: usize,
        similarity: Similarity,
        pieces: &Pieces,
        units: &[u32],
        stop: &'a AtomicBool,
    ) -> Self {
        let documents = lists.iter().map(|list| list.y.len() as f64).sum();
        let runs = pieces.runs(units.iter().map(|&q| q as usize));
        Self { lists, d, pulls: similarity != Similarity::None, documents, runs, stop, heeds: false }
    }
}

impl Risk for Likelihood<'_> {
    fn dim(&self) -> usize {
        self.d + usize::from(self.pulls)
    }

    fn value(&mut self, theta: &[f64], grad: &mut [f64]) -> Result<f64> {
        if self.heeds {
            go_on(Some(self.stop))?;
        }
        let numbers: Vec<f64> = theta.iter().map(|log| log.clamp(-FAR, FAR).exp()).collect();
        let (alpha, beta) = (&numbers[..self.d], if self.pulls { numbers[self.d] } else { 0.0 });
        let sums = sums_of(&self.runs, self.d + 2, |n, sums| self.lists[n].add(alpha, beta, sums));
        for ((grad, log), (slope, number)) in grad.iter_mut().zip(theta).zip(sums.iter().zip(&numbers)) {
            *grad = if log.abs() < FAR { slope * number / self.documents } else { 0.0 };
        }
        Ok(sums[self.d + 1] / self.documents)
    }

    fn heed(&mut self, stop: bool) {
        self.heeds = stop;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;
    use crate::random::Random;

    fn made(random: &mut Random, n: usize, d: usize) -> (Vec<f32>, Vec<f64>) {
        let docs = (0..n * d).map(|_| random.uniform() as f32).collect();
        (docs, (0..n).map(|_| random.below(3) as f64 / 2.0).collect())
    }

    #[test]
    fn slopes_of_the_likelihood_are_those_of_differences() {
        let (mut random, d, stop) = (Random::new(3), 4, AtomicBool::new(false));
        let sets: Vec<(Vec<f32>, Vec<f64>)> = [1, 5, 9].iter().map(|&n| made(&mut random, n, d)).collect();
        for similarity in [Similarity::Rbf, Similarity::None] {
            let lists = sets.iter().map(|(docs, y)| Turned::new(docs, y, similarity)).collect();
            let pieces = Pieces::new(&[0, 1, 6, 15], d);
            let mut risk = Likelihood::new(lists, d, similarity, &pieces, &[0, 1, 2], &stop);
            let theta: Vec<f64> = (0..risk.dim()).map(|_| random.normal()).collect();
            let mut grad = vec![0.0; theta.len()];
            risk.value(&theta, &mut grad).unwrap();
            for i in 0..theta.len() {
                let mut at = |step: f64| {
                    let mut moved = theta.clone();
                    moved[i] += step;
                    risk.value(&moved, &mut vec![0.0; theta.len()]).unwrap()
                };
                assert!(((at(1e-5) - at(-1e-5)) / 2e-5 - grad[i]).abs() < 1e-7, "{similarity:?} {i}");
            }
        }
    }

    /// The slow truth: the density on a grid of grades, of two documents.
    #[test]
    fn the_density_is_that_of_its_formula() {
        let mut random = Random::new(5);
        for _ in 0..3 {
            let (n, d) = (2, 3);
            let (docs, y) = made(&mut random, n, d);
            let alpha: Vec<f64> = (0..d).map(|_| 0.5 + random.uniform()).collect();
            let beta = 1.0 + random.uniform();
            let s = Similarity::Rbf.matrix(&docs, d);
            let energy = |y: &[f64]| {
                let mut sum = 0.0;
                for i in 0..n {
                    sum += (0..d).map(|k| alpha[k] * (y[i] - f64::from(docs[i * d + k])).powi(2)).sum::<f64>();
                    sum += (0..n).map(|j| 0.5 * beta * s[i * n + j] * (y[i] - y[j]).powi(2)).sum::<f64>();
                }
                sum
            };
            let (step, size) = (0.02, 300);
            let at = |k: i32| f64::from(k) * step;
            let total: f64 = (-size..size)
                .flat_map(|a| (-size..size).map(move |b| (a, b)))
                .map(|(a, b)| (-energy(&[at(a), at(b)])).exp() * step * step)
                .sum();
            let mut sums = vec![0.0; d + 2];
            Turned::new(&docs, &y, Similarity::Rbf).add(&alpha, beta, &mut sums);
            assert!(
                (sums[d + 1] - (energy(&y) + total.ln())).abs() < 1e-6,
                "{} {}",
                sums[d + 1],
                energy(&y) + total.ln()
            );
        }
    }
}
