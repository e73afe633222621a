//! What annotates: scores of labels, links between them, and how many there are.

use crate::data::LabelSet;
use crate::data::scale::Scale;
use crate::error::{Error, Result};
use crate::matrix::Features;
use crate::method::Annotate;
use crate::method::annotate::count::{CountModel, expected};
use crate::method::annotate::decide::{self, Decide};
use crate::method::annotate::one_vs_rest::OneVsRest;
use crate::metric::{self, Convention, Evaluation, Kind, LabelScores, Metric};
use crate::score::Score;
use crate::structure::star::sum::{StarSum, SumWork};
use crate::structure::star::{Clamp, MOST_SUM, MaxWork, Star, Subsets};
use crate::task::{Inputs, Model, Ready};
use rayon::prelude::*;
use std::borrow::Cow;

/// What a model was trained for, which says how it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trainer {
    /// The probability of the right set: labels have probabilities.
    Likelihood,
    /// The margin of the right set: labels have differences of scores.
    Margin,
}

/// A fitted annotator: `s_i = v_i + w_i·x + (u + u_i)·z_i + h_i·log k` for each label, and links between a core and all labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Annotator {
    /// What it needs to read a row.
    pub inputs: Inputs,
    /// The vocabulary.
    pub labels: Vec<String>,
    /// Which question it was trained to answer.
    pub trainer: Trainer,
    /// v: what each label has without looking.
    pub bias: Vec<f64>,
    /// How an item gets the score w_i·x of each label; none without direct features.
    pub direct: Option<Score>,
    /// u, then u_i; empty without the scores of classifiers.
    pub own: Vec<f64>,
    /// h; empty without it.
    pub count_bias: Vec<f64>,
    /// The classifiers behind z and behind the number of labels.
    pub classifiers: OneVsRest,
    /// The distribution of the number of labels.
    pub count: CountModel,
    /// The core and its links.
    pub star: Star,
    /// What the labels that an item is given are to be best for.
    pub decide: Decide,
    /// The probability above which a label is given, of a model that was fitted to decide by one.
    pub threshold: Option<f64>,
}

/// What is known of one item before any answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored {
    /// The score of each label, what depends on the number of labels apart.
    pub base: Vec<f64>,
    /// The probability of each number of labels, from 0.
    pub counts: Vec<f64>,
}

/// Scratch for predictions, one per thread.
#[derive(Default)]
pub struct LabelWork {
    pub(crate) scores: Vec<f64>,
    pub(crate) sum: SumWork,
    pub(crate) max: MaxWork,
}

/// What a model says of one item.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelPrediction {
    /// A value per label, larger first: probabilities of models by likelihood, differences of scores of models by margin.
    pub values: Vec<f64>,
    /// The score of each label by itself, links apart.
    pub scores: Vec<f64>,
    /// The labels that it would give, best first.
    pub chosen: Vec<u32>,
}

/// What one label has over another.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelReason {
    /// A feature or a classifier, the number of labels, or a label that is linked.
    pub what: String,
    /// What it adds to the upper label.
    pub above: f64,
    /// What it adds to the lower label.
    pub below: f64,
}

impl Model<Annotate> for Annotator {
    /// The features, scaled, if they are.
    type Scaled = Option<Features>;

    fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    fn inputs_mut(&mut self) -> &mut Inputs {
        &mut self.inputs
    }

    fn check(&self) -> Result<()> {
        let (n, d) = (self.labels.len(), self.inputs.columns.names.len());
        let fits = |len: usize, full: usize| len == 0 || len == full;
        let right = n > 0
            && self.bias.len() == n
            && self.direct.as_ref().is_none_or(|score| score.fits_labels(d, n))
            && fits(self.own.len(), n + 1)
            && fits(self.count_bias.len(), n)
            && self.classifiers.score.fits_labels(d, n)
            && [&self.classifiers.offset, &self.classifiers.slope, &self.classifiers.shift]
                .iter()
                .all(|v| v.len() == n)
            && self.star.len() == n
            && (1..=n + 1).contains(&self.count.level.len())
            && self.count.numbers.len() == self.count.level.len()
            && self.count.numbers.is_sorted_by(|a, b| a < b)
            && self.count.numbers.iter().all(|&k| k as usize <= n)
            && self.count.center[1] > 0.0
            && (self.trainer == Trainer::Margin || self.star.core().len() <= MOST_SUM)
            && self.threshold.is_none_or(|t| (0.0..=1.0).contains(&t))
            && self.can_decide(self.decide).is_ok()
            && self.inputs.fits()
            && matches!(self.inputs.scale, Scale::None | Scale::Global);
        if right {
            return Ok(());
        }
        Err(Error::Data { expected: "parts of a model that fit together".into(), found: "others".into() })
    }

    /// Labels by name: those that the model does not know are left out, and named.
    fn adapt(&self, set: &mut Cow<'_, LabelSet>) -> Result<Vec<String>> {
        Ok(if set.labels == self.labels { vec![] } else { set.to_mut().align_labels(&self.labels) })
    }

    fn scaled(&self, set: &LabelSet) -> Option<Features> {
        self.inputs.global.as_ref().map(|affine| affine.apply(&set.features))
    }

    /// For `bep` the model is told how many labels each item has, as \[QAP\] does: an oracle. For all other metrics,
    /// `bep_learned` among them, the number is what the model predicts.
    fn evaluate(
        &self,
        on: &Ready<'_, Annotate>,
        units: &[u32],
        metrics: &[Metric],
        by: &Convention,
    ) -> Result<Evaluation> {
        let said = if metrics.iter().all(is_told) { vec![] } else { self.predict(on, units)? };
        self.evaluate_said(on, units, &said, metrics, by)
    }
}

impl Annotator {
    /// The features of a set as this model sees them.
    fn features<'r>(&self, on: &'r Ready<'_, Annotate>) -> Result<&'r Features> {
        Ok(on.scaled(self)?.as_ref().unwrap_or(&on.set().features))
    }

    /// What is known of an item of a set before any answer.
    ///
    /// O(values · labels).
    ///
    /// # Errors
    ///
    /// [`Error::Score`] naming the item and the first label whose score is not finite.
    pub fn score(&self, on: &Ready<'_, Annotate>, row: usize) -> Result<Scored> {
        self.score_by(on.set(), self.features(on)?, row)
    }

    fn score_by(&self, set: &LabelSet, scaled: &Features, row: usize) -> Result<Scored> {
        let scored = self.made(scaled, row);
        self.finite(set, row, &scored.base)?;
        // a number of labels is a weighted sum of the features too
        match scored.counts.iter().find(|p| !p.is_finite()) {
            None => Ok(scored),
            Some(&p) => Err(Error::Score {
                place: format!("item {:?}, its number of labels", set.item(row)),
                score: p,
                cure: CURE,
            }),
        }
    }

    /// Refuses values of the labels of an item that are not finite: the one place where annotations are kept from them.
    fn finite(&self, set: &LabelSet, row: usize, values: &[f64]) -> Result<()> {
        match values.iter().position(|s| !s.is_finite()) {
            None => Ok(()),
            Some(label) => Err(Error::Score {
                place: format!("item {:?}, label {:?}", set.item(row), self.labels[label]),
                score: values[label],
                cure: CURE,
            }),
        }
    }

    fn made(&self, scaled: &Features, row: usize) -> Scored {
        let n = self.labels.len();
        let (mut base, mut z) = (self.bias.clone(), vec![0.0; n]);
        self.classifiers.logits(scaled, row, &mut z);
        if let Some(direct) = &self.direct {
            direct.labels(&self.bias, scaled, row, &mut base);
        }
        if let Some((shared, own)) = self.own.split_first() {
            base.iter_mut().zip(own).zip(&z).for_each(|((s, u), z)| *s += (shared + u) * z);
        }
        Scored { base, counts: self.count.distribution(expected(&z)) }
    }

    /// The score of every label of an item with `k` labels.
    pub fn scores_at(&self, item: &Scored, k: usize, out: &mut Vec<f64>) {
        out.clear();
        out.extend_from_slice(&item.base);
        let log = (k.max(1) as f64).ln();
        out.iter_mut().zip(&self.count_bias).for_each(|(s, h)| *s += h * log);
    }

    /// A value per label, larger first, for an item with `k` labels of which some are known: marginal probabilities of
    /// a model by likelihood, best score with the label minus best score without it of a model by margin.
    ///
    /// The `k` largest are the answer: they maximise the expected precision of the one and the score of the other.
    pub fn values_at(&self, item: &Scored, over: &Subsets, work: &mut LabelWork) -> Result<Vec<f64>> {
        self.values_by(self.sum()?.as_ref(), item, over, work)
    }

    /// The star, ready to be summed over, of a model by likelihood: made once for many items.
    pub(crate) fn sum(&self) -> Result<Option<StarSum<'_>>> {
        match self.trainer {
            Trainer::Likelihood => StarSum::new(&self.star).map(Some),
            Trainer::Margin => Ok(None),
        }
    }

    /// [`Self::values_at`] with the star of [`Self::sum`].
    fn values_by(
        &self,
        sum: Option<&StarSum>,
        item: &Scored,
        over: &Subsets,
        work: &mut LabelWork,
    ) -> Result<Vec<f64>> {
        let mut scores = std::mem::take(&mut work.scores);
        self.scores_at(item, over.k, &mut scores);
        let mut values = vec![0.0; scores.len()];
        let done = match sum {
            Some(sum) => sum.log_sum(&scores, over, &mut work.sum, &mut values, None).map(drop),
            None => self.star.forced(&scores, over, &mut work.max).map(|forced| {
                let sides = forced.inside.iter().zip(&forced.outside);
                values.iter_mut().zip(sides).for_each(|(v, (inside, outside))| *v = inside - outside);
            }),
        };
        work.scores = scores;
        done.map(|()| values)
    }

    /// The numbers of labels that answers allow, with their probabilities; those below a thousandth are left out. O(labels).
    ///
    /// Without answers they are those of the learned distribution. With answers the number is never certain, because
    /// items may have more or fewer labels than any that was learned from: 1 % of the mass goes to the (up to 4) nearest
    /// numbers that are possible and not likely, halved with each step away; all of it, where answers rule out every
    /// number that is likely.
    pub fn numbers(&self, item: &Scored, clamp: &[Clamp]) -> Vec<(usize, f64)> {
        if clamp.iter().any(|&c| c != Clamp::Free) {
            return self.open_numbers(item, clamp);
        }
        let mut all = likely(item);
        all.retain(|&(k, _)| k <= self.labels.len());
        if all.is_empty() {
            return vec![(1.min(self.labels.len()), 1.0)];
        }
        normalise(&mut all, 1.0);
        all
    }

    /// [`Self::numbers`] before the first answer too: never one alone where a label is open.
    pub(crate) fn open_numbers(&self, item: &Scored, clamp: &[Clamp]) -> Vec<(usize, f64)> {
        let possible = Subsets::sizes(self.labels.len(), clamp);
        let mut all = likely(item);
        if all.is_empty() {
            all.push((1, 1.0));
        }
        let away = |k: usize| all.iter().map(|&(number, _)| number.abs_diff(k)).min().unwrap_or(0);
        let mut other: Vec<(usize, usize)> =
            possible.clone().map(|k| (away(k), k)).filter(|&(away, _)| away > 0).collect();
        other.sort_unstable();
        other.truncate(NEAREST);
        let first = other.first().map_or(0, |&(away, _)| away);
        // beyond 64 halvings nothing is left to add
        let mut other: Vec<(usize, f64)> =
            other.iter().map(|&(away, k)| (k, 0.5f64.powi((away - first).min(64) as i32))).collect();
        all.retain(|(k, _)| possible.contains(k));
        let floor = match (all.is_empty(), other.is_empty()) {
            (true, _) => 1.0,
            (_, true) => 0.0,
            _ => FLOOR,
        };
        normalise(&mut all, 1.0 - floor);
        normalise(&mut other, floor);
        all.append(&mut other);
        all.sort_unstable_by_key(|&(k, _)| k);
        all
    }

    /// A value per label where the number of labels is not known: averaged over its distribution (likelihood), or at its
    /// median (margin); and the median itself.
    pub fn values(&self, item: &Scored, clamp: &[Clamp], work: &mut LabelWork) -> Result<(Vec<f64>, usize)> {
        self.values_of(self.sum()?.as_ref(), item, clamp, work)
    }

    /// [`Self::values`] with the star of [`Self::sum`].
    fn values_of(
        &self,
        sum: Option<&StarSum>,
        item: &Scored,
        clamp: &[Clamp],
        work: &mut LabelWork,
    ) -> Result<(Vec<f64>, usize)> {
        let weights = self.numbers(item, clamp);
        let median = median(&weights);
        if self.trainer == Trainer::Margin {
            // a set of no label, or of all, tells nothing about their order
            let (inside, most) = Subsets::sizes(self.labels.len(), clamp).into_inner();
            let k = if inside + 1 < most { median.clamp(inside + 1, most - 1) } else { median };
            return Ok((self.values_by(sum, item, &Subsets { k, clamp }, work)?, median));
        }
        Ok((self.average(sum, item, &weights, clamp, work)?, median))
    }

    /// The mean of the values over numbers of labels with their probabilities.
    pub(crate) fn average(
        &self,
        sum: Option<&StarSum>,
        item: &Scored,
        numbers: &[(usize, f64)],
        clamp: &[Clamp],
        work: &mut LabelWork,
    ) -> Result<Vec<f64>> {
        let mut mean = vec![0.0; self.labels.len()];
        for &(k, p) in numbers {
            let values = self.values_by(sum, item, &Subsets { k, clamp }, work)?;
            mean.iter_mut().zip(values).for_each(|(m, v)| *m += p * v);
        }
        Ok(mean)
    }

    /// What the model says of some items, without being told how many labels they have.
    pub fn predict(&self, on: &Ready<'_, Annotate>, units: &[u32]) -> Result<Vec<LabelPrediction>> {
        self.predict_known(on, units, &[])
    }

    /// The same, where something is known of each of the items: one list of answers per unit, which may be empty.
    pub fn predict_known(
        &self,
        on: &Ready<'_, Annotate>,
        units: &[u32],
        known: &[Vec<Clamp>],
    ) -> Result<Vec<LabelPrediction>> {
        self.predict_as(on, units, known, self.decide)
    }

    /// The same, where the labels that are given are to be best for something else than the model was fitted for.
    ///
    /// ```
    /// use ordain::{data::synthetic::Scenes, method::{CStar, Decide}, solver::run::Watch};
    /// use ordain::task::{Method, Model, Training};
    /// let set = Scenes { items: 200, ..Scenes::default() }.make();
    /// let model = CStar::independent().fit(&Training::new(&set, &set.all()), &Watch::NOBODY)?.model;
    /// let ready = model.prepare(&set)?;
    /// let likely = &model.predict_as(&ready, &[0], &[], Decide::Hamming)?[0];
    /// assert!(likely.chosen.iter().all(|&label| likely.values[label as usize] > 0.5));
    /// assert!(model.predict_as(&ready, &[0], &[], Decide::Threshold).is_err()); // it has none
    /// # Ok::<(), ordain::Error>(())
    /// ```
    pub fn predict_as(
        &self,
        on: &Ready<'_, Annotate>,
        units: &[u32],
        known: &[Vec<Clamp>],
        decide: Decide,
    ) -> Result<Vec<LabelPrediction>> {
        self.can_decide(decide)?;
        let (set, scaled, sum) = (on.set(), self.features(on)?, self.sum()?);
        let one = |work: &mut LabelWork, (u, &i): (usize, &u32)| {
            let clamp = known.get(u).map_or(&[][..], Vec::as_slice);
            self.say(sum.as_ref(), &self.score_by(set, scaled, i as usize)?, clamp, decide, work)
        };
        units.par_iter().enumerate().with_min_len(8).map_init(LabelWork::default, one).collect()
    }

    /// Refuses a decision that the model has nothing for: probabilities, or a threshold.
    pub fn can_decide(&self, decide: Decide) -> Result<()> {
        let refuse = |expected: &str, found: &str| {
            Err(Error::Setting { name: "decide".into(), expected: expected.into(), found: found.into() })
        };
        match (decide, self.trainer) {
            (Decide::Count, _) => Ok(()),
            (_, Trainer::Margin) => refuse(
                "count of a model with trainer=margin, which has no probabilities (trainer=likelihood has)",
                "another",
            ),
            (Decide::Threshold, _) if self.threshold.is_none() => refuse(
                "f1, hamming or count of this model: a threshold is tuned at the fit, with decide=threshold",
                "threshold",
            ),
            _ => Ok(()),
        }
    }

    /// What the model says of one item, given answers: labels that were answered with yes are always chosen, those that
    /// were answered with no never.
    pub fn predict_item(&self, item: &Scored, clamp: &[Clamp], work: &mut LabelWork) -> Result<LabelPrediction> {
        self.say(self.sum()?.as_ref(), item, clamp, self.decide, work)
    }

    /// [`Self::predict_item`] with the star of [`Self::sum`].
    fn say(
        &self,
        sum: Option<&StarSum>,
        item: &Scored,
        clamp: &[Clamp],
        decide: Decide,
        work: &mut LabelWork,
    ) -> Result<LabelPrediction> {
        let known = |label: u32| clamp.get(label as usize).copied().unwrap_or_default();
        let numbers = self.numbers(item, clamp);
        let (values, mut chosen, k) = if decide == Decide::F1 {
            let rows = numbers.iter().map(|&(k, _)| self.values_by(sum, item, &Subsets { k, clamp }, work));
            let rows: Vec<Vec<f64>> = rows.collect::<Result<_>>()?;
            (mean_of(&numbers, &rows, self.labels.len()), decide::best_f1(&numbers, &rows, clamp), median(&numbers))
        } else {
            let (values, k) = self.values_of(sum, item, clamp, work)?;
            let above = |least: f64| {
                let given = |&label: &u32| match known(label) {
                    Clamp::Free => values[label as usize] > least,
                    clamp => clamp == Clamp::In,
                };
                (0..values.len() as u32).filter(given).collect()
            };
            let chosen = match decide {
                Decide::Hamming => above(0.5),
                Decide::Threshold => above(self.threshold.unwrap_or(1.0)),
                Decide::F1 | Decide::Count => {
                    let mut chosen = ranked(&values);
                    chosen.retain(|&label| known(label) != Clamp::Out);
                    chosen.sort_by_key(|&label| known(label) != Clamp::In);
                    chosen.truncate(k);
                    chosen
                }
            };
            (values, chosen, k)
        };
        let value = |label: u32| values[label as usize];
        chosen.sort_by(|&a, &b| {
            let answered = |label: u32| known(label) != Clamp::In;
            answered(a).cmp(&answered(b)).then(value(b).total_cmp(&value(a))).then(a.cmp(&b))
        });
        let mut scores = vec![];
        self.scores_at(item, k, &mut scores);
        Ok(LabelPrediction { values, scores, chosen })
    }

    /// The threshold of [`Decide::Threshold`]: the one with the largest mean F1 on some items with known labels.
    pub(in crate::method) fn tuned_threshold(&self, on: &Ready<'_, Annotate>, units: &[u32]) -> Result<f64> {
        let set = on.set();
        let said = self.predict_as(on, units, &[], Decide::Count)?;
        let items = units.iter().zip(&said).map(|(&i, said)| {
            let known = |label: &u32| set.unknown(i as usize).binary_search(label).is_err();
            let answer = |label: u32| (said.values[label as usize], set.yes(i as usize).binary_search(&label).is_ok());
            (0..self.labels.len() as u32).filter(known).map(answer).collect()
        });
        Ok(decide::best_threshold(&items.collect::<Vec<_>>()))
    }

    /// A value per label, item after item, where the model is told how many labels each item has, as \[QAP\] does.
    ///
    /// Labels of which it is not known whether they apply are no candidates; items without labels get the scores themselves.
    pub fn oracle_values(&self, on: &Ready<'_, Annotate>, units: &[u32]) -> Result<Vec<f64>> {
        let (set, scaled, sum) = (on.set(), self.features(on)?, self.sum()?);
        let one = |work: &mut LabelWork, &i: &u32| {
            let i = i as usize;
            let item = self.score_by(set, scaled, i)?;
            let k = set.yes(i).len();
            if k == 0 || k == self.labels.len() {
                return Ok(item.base);
            }
            let clamp = Clamp::out(self.labels.len(), set.unknown(i));
            self.values_by(sum.as_ref(), &item, &Subsets { k, clamp: &clamp }, work)
        };
        let rows: Result<Vec<Vec<f64>>> = units.par_iter().with_min_len(8).map_init(LabelWork::default, one).collect();
        Ok(rows?.concat())
    }

    /// [`Model::evaluate`] with [predictions](Self::predict) that are at hand; they may be empty if no metric needs them.
    pub fn evaluate_said(
        &self,
        on: &Ready<'_, Annotate>,
        units: &[u32],
        said: &[LabelPrediction],
        metrics: &[Metric],
        by: &Convention,
    ) -> Result<Evaluation> {
        let set = on.set();
        let (told, learned): (Vec<Metric>, Vec<Metric>) = metrics.iter().partition(|metric| is_told(metric));
        let (mut oracle, mut own) = (vec![].into_iter(), vec![].into_iter());
        if !told.is_empty() {
            let scores = LabelScores { scores: self.oracle_values(on, units)?, sets: vec![] };
            oracle = metric::evaluate_labels(set, units, &scores, &told, by)?.values.into_iter();
        }
        if !learned.is_empty() {
            let sets = said.iter().map(|item| item.chosen.clone()).collect();
            let scores = said.iter().flat_map(|item| item.values.iter().copied()).collect();
            own = metric::evaluate_labels(set, units, &LabelScores { scores, sets }, &learned, by)?.values.into_iter();
        }
        // back into the order in which they were asked
        let values = metrics.iter().filter_map(|metric| if is_told(metric) { oracle.next() } else { own.next() });
        Ok(Evaluation { metrics: metrics.to_vec(), values: values.collect(), calibration: vec![], items: vec![] })
    }

    /// The score of each label as a weighted sum of scaled features, what depends on the number of labels apart: weights,
    /// feature after feature with one per label, and what is added to each label; `None` if kernels or trees are among the scores.
    pub fn linear(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        let (n, by) = (self.labels.len(), &self.classifiers);
        let linear = Score::is_linear;
        if !self.direct.iter().all(linear) || !(self.own.is_empty() || linear(&by.score)) {
            return None;
        }
        let (mut weights, mut added) = (vec![0.0; n * self.inputs.columns.names.len()], self.bias.clone());
        let direct = self.direct.iter().flat_map(Score::weights);
        weights.iter_mut().zip(direct).for_each(|(weight, direct)| *weight = *direct);
        if let Some((shared, own)) = self.own.split_first() {
            for (label, u) in own.iter().enumerate() {
                let factor = (shared + u) * by.slope[label];
                let column = weights.iter_mut().skip(label).step_by(n);
                column
                    .zip(by.score.weights().iter().skip(label).step_by(n))
                    .for_each(|(weight, w)| *weight += factor * w);
                added[label] += factor * by.offset[label] + (shared + u) * by.shift[label];
            }
        }
        Some((weights, added))
    }

    /// The labels of the core, by name.
    pub fn core_names(&self) -> Vec<String> {
        self.star.core().iter().map(|&label| self.labels[label as usize].clone()).collect()
    }

    /// The number of parameters that are not 0.
    pub fn support(&self) -> usize {
        let links = (0..self.star.core().len()).flat_map(|c| self.star.links(c));
        let own = [&self.bias, &self.own, &self.count_bias].into_iter().flatten();
        own.chain(links).filter(|&&x| x != 0.0).count() + self.direct.as_ref().map_or(0, Score::support)
    }

    /// The strongest links by name: core label, other label, weight; each pair once.
    pub fn strongest_links(&self, most: usize) -> Vec<(String, String, f64)> {
        let core = self.star.core();
        let mut all = vec![];
        for (c, &label) in core.iter().enumerate() {
            for (i, &g) in self.star.links(c).iter().enumerate() {
                if g != 0.0 && !core[..=c].contains(&(i as u32)) {
                    all.push((label, i, g));
                }
            }
        }
        all.sort_by(|a, b| b.2.abs().total_cmp(&a.2.abs()).then((a.0, a.1).cmp(&(b.0, b.1))));
        all.truncate(most);
        all.into_iter().map(|(a, b, g)| (self.labels[a as usize].clone(), self.labels[b].clone(), g)).collect()
    }

    /// Why label `above` stands above label `below` on an item: what features, classifiers, the number of labels and links to
    /// labels of the answer add to each. The largest difference first.
    ///
    /// Links count with the probability that the linked label is there (likelihood), or with the best set itself (margin).
    pub fn explain(
        &self,
        on: &Ready<'_, Annotate>,
        row: usize,
        above: usize,
        below: usize,
    ) -> Result<Vec<LabelReason>> {
        let (scaled, n, mut work) = (self.features(on)?, self.labels.len(), LabelWork::default());
        let item = self.score(on, row)?;
        let (values, k) = self.values(&item, &[], &mut work)?;
        let mut all = vec![];
        let mut add = |what: String, above: f64, below: f64| {
            if above != 0.0 || below != 0.0 {
                all.push(LabelReason { what, above, below });
            }
        };
        add("how common the label is".into(), self.bias[above], self.bias[below]);
        if let Some(direct) = &self.direct {
            let [upper, lower] = [above, below].map(|label| direct.shares(scaled, row, label, n));
            add("an item whose features are all 0".into(), upper.zero, lower.zero);
            for ((j, above), (_, below)) in upper.columns.into_iter().zip(lower.columns) {
                add(format!("feature {}", self.inputs.columns.names[j]), above, below);
            }
        }
        if let Some((shared, own)) = self.own.split_first() {
            let mut z = vec![0.0; n];
            self.classifiers.logits(scaled, row, &mut z);
            add("its own classifier".into(), (shared + own[above]) * z[above], (shared + own[below]) * z[below]);
        }
        if !self.count_bias.is_empty() {
            let log = (k.max(1) as f64).ln();
            add(format!("the number of labels, about {k}"), self.count_bias[above] * log, self.count_bias[below] * log);
        }
        let best: Vec<f64> = match self.trainer {
            Trainer::Likelihood => values,
            Trainer::Margin => {
                let mut set = vec![];
                self.scores_at(&item, k, &mut work.scores);
                self.star.max(&work.scores, &Subsets { k, clamp: &[] }, &mut work.max, &mut set)?;
                (0..n as u32).map(|i| f64::from(u8::from(set.contains(&i)))).collect()
            }
        };
        let core = self.star.core();
        for (c, &label) in core.iter().enumerate() {
            let (links, p) = (self.star.links(c), best[label as usize]);
            add(format!("link to {} ({p:.2})", self.labels[label as usize]), p * links[above], p * links[below]);
        }
        // a core label feels the links to all labels that are not in the core
        for (i, &p) in best.iter().enumerate().filter(|(i, _)| !core.contains(&(*i as u32))) {
            let to =
                |label: usize| core.iter().position(|&c| c as usize == label).map_or(0.0, |c| self.star.links(c)[i]);
            add(format!("link to {} ({p:.2})", self.labels[i]), p * to(above), p * to(below));
        }
        all.sort_by(|a, b| (b.above - b.below).abs().total_cmp(&(a.above - a.below).abs()).then(a.what.cmp(&b.what)));
        Ok(all)
    }
}

/// What to do about a score that is not finite.
const CURE: &str = "look for a value that is missing or too large, or fit with scaled features (scale=global)";

/// Whether the model is told the number of labels for this metric.
fn is_told(metric: &Metric) -> bool {
    metric.kind == Kind::Bep
}

/// What numbers of labels that are not likely have together, once there are answers.
const FLOOR: f64 = 0.01;

/// How many of these are thought about.
const NEAREST: usize = 4;

/// The learned numbers of labels that are worth a thought.
fn likely(item: &Scored) -> Vec<(usize, f64)> {
    let top = item.counts.iter().copied().fold(0.0, f64::max);
    item.counts.iter().copied().enumerate().filter(|&(_, p)| p > 0.0 && p >= 1e-3 * top).collect()
}

/// Makes weights add up to `to`.
fn normalise(numbers: &mut [(usize, f64)], to: f64) {
    let mut total = 0.0;
    numbers.iter().for_each(|(_, p)| total += p);
    numbers.iter_mut().for_each(|(_, p)| *p = *p / total * to);
}

/// The mean of values by number of labels, with the probabilities of these numbers.
fn mean_of(numbers: &[(usize, f64)], rows: &[Vec<f64>], n: usize) -> Vec<f64> {
    let mut mean = vec![0.0; n];
    for (&(_, p), row) in numbers.iter().zip(rows) {
        mean.iter_mut().zip(row).for_each(|(m, v)| *m += p * v);
    }
    mean
}

/// The least number that at least half of a distribution does not exceed.
pub(crate) fn median(numbers: &[(usize, f64)]) -> usize {
    let mut below = 0.0;
    let reached = numbers.iter().find(|(_, p)| {
        below += p;
        below >= 0.5
    });
    reached.or(numbers.last()).map_or(0, |&(k, _)| k)
}

/// Labels by value, the largest first; of equals the lower number.
pub fn ranked(values: &[f64]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..values.len() as u32).collect();
    order.sort_by(|&a, &b| values[b as usize].total_cmp(&values[a as usize]).then(a.cmp(&b)));
    order
}
