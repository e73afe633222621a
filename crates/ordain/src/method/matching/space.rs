//! What the weights of a matcher are on: scaled features of edges, or their coordinates in the space of a kernel.

use crate::data::scale::{Affine, Scale, Scaling};
use crate::data::{Groups, MatchSet};
use crate::error::Result;
use crate::kernel::{Form, Kernel};
use crate::matrix::{Features, Matrix};
use crate::method::coordinates::Coordinates;
use crate::method::matching::shards::Far;
use crate::method::shards::parts::Spreads;
use crate::method::shards::wire::Which;
use crate::score::Score;
use crate::scorer::edges::Edges;
use crate::scorer::rows::Rows;
use crate::task::Candidate;
use serde_json::{Map, Value};

/// The most core edges: where there are fewer different ones, the kernel machine is exact.
const BUDGET: usize = 500;
/// The most coordinates of all edges together (1 GB); large sets have fewer core edges.
const VALUES: usize = 1 << 28;
/// Core edges whatever the size of the set.
const LEAST: usize = 50;

/// A scaling, and a kernel if it is not linear.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spec {
    pub(super) scale: Scale,
    /// The form, and γ in units of one over the median distance of training edges.
    pub(super) kernel: Option<(Form, f64)>,
}

impl Spec {
    /// Scaling and λ, and where a kernel was asked for (`kernels`) that too.
    pub(super) fn settings(&self, lambda: f64, kernels: bool) -> Map<String, Value> {
        let mut all = Map::from_iter([("scale".into(), self.scale.name().into()), ("lambda".into(), lambda.into())]);
        if kernels {
            let form = self.kernel.map_or(Form::Linear, |(form, _)| form);
            all.insert("kernel".into(), form.name().into());
            if let Some((Form::Poly { degree, coef0 }, _)) = self.kernel {
                all.insert("degree".into(), degree.into());
                all.insert("coef0".into(), coef0.into());
            }
            if let Some((_, gamma)) = self.kernel.filter(|(form, _)| form.has_width()) {
                all.insert("gamma".into(), gamma.into());
            }
        }
        all
    }

    /// A candidate of a choice.
    pub(super) fn candidate(&self, lambda: f64, kernels: bool, value: f64) -> Candidate {
        Candidate::new(self.settings(lambda, kernels), value)
    }
}

/// The edges of some problems as a fit sees them.
pub(super) struct Space {
    pub(super) spec: Spec,
    pub(super) scaling: Scaling,
    kernel: Option<Spanned>,
}

/// Coordinates, and those of the edges of the problems, at their rows.
struct Spanned {
    by: Coordinates,
    seen: Features,
}

impl Space {
    /// Scaling and core edges are learned from the problems `units`.
    ///
    /// A kernel machine on core edges is linear in their [`Coordinates`], so that the likelihood and the margin of matchings
    /// stay what they are, exact where they were. O(edges · core · (d + core)).
    pub(super) fn new(spec: Spec, from: &Origin<'_>, units: &[u32], seed: u64) -> Result<Self> {
        let scaling = from.scaling(spec.scale, units)?;
        let set = from.set;
        let Some((form, gamma)) = spec.kernel else { return Ok(Self { spec, scaling, kernel: None }) };
        let (d, all) = (set.features.cols(), set.features.rows());
        let rows = Rows::new(set, units, &scaling);
        let edges: Vec<f32> = (0..units.len()).flat_map(|n| rows.dense(n)).collect();
        let kernel = Kernel::in_units(form, gamma, &edges, d);
        kernel.check(&edges)?;
        let by = Coordinates::spanning(&kernel, &edges, d, BUDGET.min((VALUES / all.max(1)).max(LEAST)), seed);
        let (made, r) = (by.of(&edges), by.len());
        let (mut values, mut from) = (vec![0.0; all * r], 0);
        for &p in units {
            let span = set.span(p as usize);
            values[span.start * r..span.end * r].copy_from_slice(&made[from..from + span.len() * r]);
            from += span.len() * r;
        }
        drop(rows);
        let seen = Features::Dense(Matrix::new(values, r));
        Ok(Self { spec, scaling, kernel: Some(Spanned { by, seen }) })
    }

    /// The edges of the problems that it was learned from, to be weighed.
    pub(super) fn edges<'a>(&'a self, set: &'a MatchSet, units: &'a [u32], null: bool) -> Edges<'a> {
        let items = |p: u32| set.problem(p as usize).left.len() + set.problem(p as usize).right.len();
        let items = null.then_some(&items as &dyn Fn(u32) -> usize);
        match &self.kernel {
            None => Edges::new(set, units, &self.scaling, items),
            Some(kernel) => Edges::new(Groups::from(set).with(&kernel.seen), units, &Scaling::None, items),
        }
    }

    /// How many weights there are, the null apart.
    pub(super) fn dim(&self, set: &MatchSet) -> usize {
        self.kernel.as_ref().map_or(set.features.cols(), |kernel| kernel.by.len())
    }

    /// What weights come to as a score of features.
    pub(super) fn score(&self, weights: &[f64]) -> Score {
        match &self.kernel {
            None => Score::Linear(weights.to_vec()),
            Some(kernel) => kernel.by.score(weights, 1),
        }
    }

    /// The unit of λ, a power of ten: the mean variance of a column over the edges of the problems; of a kernel the variance
    /// of an edge in its space.
    pub(super) fn unit(&self, from: &Origin<'_>, units: &[u32]) -> Result<f64> {
        let Some(kernel) = &self.kernel else { return from.variation(self.spec.scale, units) };
        let set = from.set;
        let mut all = vec![(0.0f64, 0.0f64); kernel.by.len()];
        let edges: usize = units.iter().map(|&p| set.span(p as usize).len()).sum();
        for row in units.iter().flat_map(|&p| set.span(p as usize)) {
            kernel.seen.each(row, |j, x| {
                all[j].0 += f64::from(x);
                all[j].1 += f64::from(x) * f64::from(x);
            });
        }
        let m = edges.max(1) as f64;
        Ok(power_of_ten(all.iter().map(|(sum, squares)| squares / m - (sum / m).powi(2)).sum()))
    }
}

/// Where the edges of a set are: here, or on other machines, where this is their outline.
#[derive(Clone, Copy)]
pub(super) struct Origin<'a> {
    pub(super) set: &'a MatchSet,
    pub(super) far: Option<&'a Far>,
}

impl Origin<'_> {
    /// To mean 0 and deviation 1 over the edges of some problems.
    fn standard(&self, units: &[u32], which: Which) -> Result<Affine> {
        if let Some(far) = self.far {
            return far.standard(self.set, units, which);
        }
        let rows = self.set.rows_of(units, which).into_iter();
        Ok(Affine::standard(&self.set.features, &self.set.pieces(), rows))
    }

    /// A scaling of the edges, learned from some problems. Where the edges are elsewhere, problems are scaled there that learn from themselves.
    fn scaling(&self, scale: Scale, units: &[u32]) -> Result<Scaling> {
        Ok(match scale {
            Scale::Matched => {
                let own = self.standard(units, Which::Matched)?;
                Scaling::Global(own.beside(&self.standard(units, Which::All)?))
            }
            Scale::Global => Scaling::Global(self.standard(units, Which::All)?),
            Scale::Query | Scale::Minmax if self.far.is_some() => Scaling::None,
            _ => Scaling::learn(scale, self.set, units),
        })
    }

    /// The power of ten next to the mean variance of the scaled columns over the edges of some problems; 1 where they are scaled to deviation 1.
    fn variation(&self, scale: Scale, units: &[u32]) -> Result<f64> {
        if matches!(scale, Scale::Global | Scale::Query) {
            return Ok(1.0);
        }
        if scale == Scale::Minmax {
            return Ok(0.1);
        }
        let whole = self.standard(units, Which::All)?;
        let own = match self.scaling(scale, units)? {
            Scaling::Global(affine) => affine.factor,
            _ => vec![1.0; whole.factor.len()],
        };
        let pairs = own.iter().zip(&whole.factor).filter(|(_, whole)| **whole > 0.0);
        let varied: Vec<f64> = pairs.map(|(&own, &whole)| (f64::from(own) / f64::from(whole)).powi(2)).collect();
        let mean = varied.iter().sum::<f64>() / varied.len().max(1) as f64;
        Ok(power_of_ten(mean))
    }
}

/// The power of ten next to a number above 0, else 1.
fn power_of_ten(x: f64) -> f64 {
    if x > 0.0 && x.is_finite() { 10f64.powf(x.log10().round()) } else { 1.0 }
}
