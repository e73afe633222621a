//! What a fit of labels rests on: scaling, classifiers of single labels, and the number of labels.

use crate::data::LabelSet;
use crate::data::scale::Affine;
use crate::error::{Error, Result};
use crate::kernel::Form;
use crate::matrix::Features;
use crate::method::Annotate;
use crate::method::annotate::annotator::Trainer;
use crate::method::annotate::axes::Axes;
use crate::method::annotate::centre::Centre;
use crate::method::annotate::count::{CountModel, expected};
use crate::method::annotate::cstar::{CStar, LabelFeatures, LabelScale};
use crate::method::annotate::one_vs_rest::OneVsRest;
use crate::method::annotate::{given_kernel, kernel_ridge, tree_labels};
use crate::method::coordinates::Coordinates;
use crate::method::kernels::KernelBy;
use crate::method::trees::TreeNotes;
use crate::metric::{self, Evaluation, LabelScores, Metric};
use crate::pieces::{Pieces, sums};
use crate::score::Score;
use crate::scorer::labels::Labels;
use crate::solver::run::Watch;
use crate::surrogate::star::Case;
use crate::task::Training;
use crate::traits::Scorer;
use std::borrow::Cow;
use std::sync::Arc;

/// Everything that depends on the items of a fit and not on λ: scaling, classifiers, number of labels.
pub(in crate::method) struct Stage<'a> {
    pub(in crate::method) units: Vec<u32>,
    pub(in crate::method) affine: Option<Affine>,
    pub(in crate::method) scaled: Cow<'a, Features>,
    pub(in crate::method) classifiers: OneVsRest,
    /// The kernel, of a method that has one.
    pub(in crate::method) kernel: Option<StageKernel>,
    /// Axes that direct weights of a likelihood are on, and items along them, where features are dense.
    turned: Option<Arc<(Axes, Features)>>,
    /// The trees of the classifiers, of a method that has them.
    pub(in crate::method) trees: Option<TreeNotes>,
    pub(in crate::method) count: CountModel,
    /// Items that teach something, with their right sets, scores of classifiers that have not seen them, and log k.
    pub(in crate::method) taught: Vec<u32>,
    pub(in crate::method) cases: Vec<Case>,
    pub(in crate::method) own: Vec<f64>,
    pub(in crate::method) log_count: Vec<f64>,
    pub(in crate::method) labels: usize,
    pub(in crate::method) pieces: Pieces,
}

/// The kernel of a stage.
#[derive(Clone)]
pub(in crate::method) struct StageKernel {
    /// γ in the units in which it is set.
    pub(in crate::method) gamma: f64,
    /// What direct features are weights on, if there are any: items in coordinates of the kernel.
    direct: Option<Arc<(Coordinates, Features)>>,
}

impl<'a> Stage<'a> {
    pub(in crate::method) fn new(
        method: &CStar,
        data: &Training<'a, Annotate>,
        units: &[u32],
        watch: &Watch,
    ) -> Result<Self> {
        let (set, n) = (data.set, data.set.labels.len());
        let pieces = set.pieces();
        let wanted = match method.scale {
            LabelScale::Global => true,
            LabelScale::None => false,
            LabelScale::Auto => method.kernel.by != KernelBy::Given && matches!(set.features, Features::Dense(_)),
        };
        let affine = wanted.then(|| {
            let rows = units.iter().map(|&i| i as usize..i as usize + 1);
            let affine = Affine::standard(&set.features, &pieces, rows);
            match set.features {
                Features::Sparse(_) => affine.without_offsets(),
                Features::Dense(_) => affine,
            }
        });
        let scaled = match &affine {
            Some(affine) => Cow::Owned(affine.apply(&set.features)),
            None => Cow::Borrowed(&set.features),
        };
        let (mut kernel, mut trees) = (None, None);
        let (classifiers, logits) = match method.features {
            LabelFeatures::Given => OneVsRest::given(&scaled, set, units, &given_columns(set)?)?,
            _ if method.trees.grows() => {
                let (made, notes) = tree_labels::fit(&method.trees, &scaled, set, units, data.seed, watch)?;
                trees = Some(notes);
                (made.model, made.logits)
            }
            features if method.kernel.by == KernelBy::Given => {
                let judged = given_kernel::fit(set, units, data.seed, watch)?;
                let direct = matches!(features, LabelFeatures::Direct | LabelFeatures::Both).then(|| {
                    let by = Coordinates::given(&scaled, units, kernel_ridge::BUDGET, data.seed);
                    let seen = by.at(&kernel_ridge::dense(&scaled, units), units, scaled.rows());
                    Arc::new((by, seen))
                });
                kernel = Some(StageKernel { gamma: 1.0, direct });
                (judged.model, judged.logits)
            }
            _ if method.kernel.shape.form == Form::Linear => OneVsRest::fit(&scaled, set, units, watch)?,
            features => {
                let made = kernel_ridge::fit(&method.kernel.shape, &scaled, set, units, data.seed, watch)?;
                let direct = matches!(features, LabelFeatures::Direct | LabelFeatures::Both).then(|| {
                    let items = kernel_ridge::dense(&scaled, units);
                    let by = Coordinates::new(&made.kernel, &items, scaled.cols(), kernel_ridge::BUDGET, data.seed);
                    let seen = by.at(&items, units, scaled.rows());
                    Arc::new((by, seen))
                });
                kernel = Some(StageKernel { gamma: made.gamma, direct });
                (made.judged.model, made.judged.logits)
            }
        };
        // a label that is not known of an item counts there as far as it is likely
        let counts = units.iter().zip(logits.chunks_exact(n.max(1))).map(|(&i, z)| {
            let open = set.unknown(i as usize).iter().map(|&label| expected(&z[label as usize..=label as usize]));
            (expected(z), set.yes(i as usize).len() + open.sum::<f64>().round() as usize)
        });
        let counts: Vec<(f64, usize)> = counts.collect();
        let count = CountModel::fit(&counts, n, &pieces.runs(units.iter().map(|&i| i as usize)))?;
        let weighs = matches!(method.features, LabelFeatures::Auto | LabelFeatures::Direct | LabelFeatures::Both);
        let turns = weighs && kernel.is_none() && method.trainer == Trainer::Likelihood;
        let turned = if turns { Axes::of(&scaled, units) } else { None };
        let turned = turned.map(|axes| {
            let seen = axes.at(&scaled, units);
            Arc::new((axes, seen))
        });
        let (mut taught, mut cases, mut own, mut log_count) = (vec![], vec![], vec![], vec![]);
        for (&i, z) in units.iter().zip(logits.chunks_exact(n.max(1))) {
            if set.tells(i as usize) {
                let case = Case::new(n, set.yes(i as usize), set.unknown(i as usize));
                log_count.push((case.yes.len() as f64).ln());
                taught.push(i);
                cases.push(case);
                own.extend_from_slice(z);
            }
        }
        if cases.is_empty() {
            return Err(Error::Data {
                expected: "items with some labels but not all".into(),
                found: format!("none among {} items of {n} labels", units.len()),
            });
        }
        Ok(Self {
            units: units.to_vec(),
            affine,
            scaled,
            classifiers,
            kernel,
            turned,
            trees,
            count,
            taught,
            cases,
            own,
            log_count,
            labels: n,
            pieces,
        })
    }

    /// The same for some of the items that teach.
    pub(in crate::method) fn some(&self, kept: &[usize]) -> Stage<'_> {
        let n = self.labels;
        Stage {
            units: self.units.clone(),
            affine: self.affine.clone(),
            scaled: Cow::Borrowed(&self.scaled),
            classifiers: self.classifiers.clone(),
            kernel: self.kernel.clone(),
            turned: self.turned.clone(),
            trees: self.trees.clone(),
            count: self.count.clone(),
            taught: kept.iter().map(|&i| self.taught[i]).collect(),
            cases: kept.iter().map(|&i| self.cases[i].clone()).collect(),
            own: kept.iter().flat_map(|&i| self.own[i * n..(i + 1) * n].iter().copied()).collect(),
            log_count: kept.iter().map(|&i| self.log_count[i]).collect(),
            labels: n,
            pieces: self.pieces.clone(),
        }
    }

    pub(in crate::method) fn scorer(&self, method: &CStar, features: LabelFeatures) -> Labels<'_> {
        Labels {
            labels: self.labels,
            units: &self.taught,
            pieces: &self.pieces,
            features: matches!(features, LabelFeatures::Direct | LabelFeatures::Both).then(|| self.seen()),
            own: (features != LabelFeatures::Direct).then_some(&self.own),
            log_count: method.count_bias.then_some(&self.log_count),
        }
    }

    /// What direct weights are on: features, or coordinates of the kernel.
    fn seen(&self) -> &Features {
        let direct = self.kernel.as_ref().and_then(|kernel| kernel.direct.as_deref());
        let turned = self.turned.as_deref().map_or(&*self.scaled, |(_, seen)| seen);
        direct.map_or(turned, |(_, seen)| seen)
    }

    /// Direct weights as scores of the features, \[QAP\] Eq. (10) where there is a kernel.
    pub(in crate::method) fn direct(&self, weights: &[f64]) -> Score {
        match self.kernel.as_ref().and_then(|kernel| kernel.direct.as_deref()) {
            Some((by, _)) => by.score(weights, self.labels),
            None => Score::Linear(match self.turned.as_deref() {
                Some((axes, _)) => axes.on_columns(weights, self.labels),
                None => weights.to_vec(),
            }),
        }
    }

    /// Direct weights of a fit of another stage, as this one has them.
    pub(in crate::method) fn taken_over(&self, from: &Stage, weights: &mut [f64]) {
        if let Some((axes, _)) = from.turned.as_deref() {
            weights.copy_from_slice(&axes.on_columns(weights, self.labels));
        }
        if let Some((axes, _)) = self.turned.as_deref() {
            weights.copy_from_slice(&axes.on_axes(weights, self.labels));
        }
    }

    /// Roughly the second derivative of the likelihood by each parameter: labels as if they came and went by themselves.
    pub(in crate::method) fn curvature(&self, scorer: &Labels, centre: &Centre, core: &[u32]) -> Vec<f64> {
        let (n, m) = (self.labels, self.cases.len() as f64);
        let bend = |p: f64| (p * (1.0 - p)).max(1.0 / m);
        let bends: Vec<f64> = centre.often.iter().map(|&p| bend(p)).collect();
        let [direct, own, count] = scorer.layout();
        let units = self.taught.iter().map(|&i| i as usize);
        let mut out = vec![0.0; scorer.dim()];
        out[..n].copy_from_slice(&bends);
        if let Some(features) = scorer.features {
            let square = sums(&self.pieces, units.clone(), features.cols(), |_, i, square| {
                features.each(i, |j, x| square[j] += f64::from(x) * f64::from(x) / m);
            });
            for ((line, square), mean) in out[direct].chunks_exact_mut(n).zip(square).zip(&centre.features) {
                let away = (square - mean * mean).max(0.0);
                line.iter_mut().zip(&bends).for_each(|(out, b)| *out = away * b);
            }
        }
        if let Some(z) = scorer.own {
            let square = sums(&self.pieces, units.clone(), n, |item, _, square| {
                let away = z[item * n..(item + 1) * n].iter().zip(&centre.own).map(|(z, mean)| z - mean);
                square.iter_mut().zip(away).for_each(|(s, z)| *s += z * z / m);
            });
            let own = &mut out[own];
            for ((out, square), b) in own[1..].iter_mut().zip(square).zip(&bends) {
                *out = square * b;
            }
            own[0] = own[1..].iter().sum();
        }
        if let Some(log_count) = scorer.log_count {
            let square = sums(&self.pieces, units.clone(), 1, |item, _, square| {
                square[0] += (log_count[item] - centre.log_count).powi(2);
            })[0]
                / m;
            out[count].iter_mut().zip(&bends).for_each(|(out, b)| *out = square * b);
        }
        for &c in core {
            let of_core = bends[c as usize];
            out.extend(bends.iter().map(|b| (of_core * b).max(1.0 / m)));
        }
        out
    }

    /// What ranking labels by their classifiers alone reaches on validation.
    pub(in crate::method) fn floor(&self, data: &Training<'_, Annotate>, by: Metric, valid: &[u32]) -> Result<f64> {
        Ok(self.floors(data, by, valid)?.mean(0))
    }

    /// The same, item by item.
    pub(in crate::method) fn floors(
        &self,
        data: &Training<'_, Annotate>,
        by: Metric,
        valid: &[u32],
    ) -> Result<Evaluation> {
        let n = self.labels;
        let mut scores = vec![0.0; valid.len() * n];
        for (s, &i) in scores.chunks_exact_mut(n.max(1)).zip(valid) {
            self.classifiers.logits(&self.scaled, i as usize, s);
        }
        // sets, for metrics of sets: labels that are more likely than not
        let sets =
            scores.chunks_exact(n.max(1)).map(|s| (0..).zip(s).filter(|(_, s)| **s > 0.0).map(|(i, _)| i).collect());
        let sets = sets.collect();
        metric::evaluate_labels(data.set, valid, &LabelScores { scores, sets }, &[by], &data.convention)
    }
}

/// The column of each label's own score.
fn given_columns(set: &LabelSet) -> Result<Vec<usize>> {
    let wanted = |label: &String| format!("score_{label}");
    let found: Vec<Option<usize>> =
        set.labels.iter().map(|label| set.columns.names.iter().position(|name| *name == wanted(label))).collect();
    let missing: Vec<String> =
        set.labels.iter().zip(&found).filter(|(_, at)| at.is_none()).map(|(label, _)| wanted(label)).collect();
    if missing.is_empty() {
        Ok(found.into_iter().flatten().collect())
    } else {
        Err(Error::Features { missing, extra: vec![] })
    }
}
