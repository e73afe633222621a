//! The settings of a c-star model chosen by validation, one after another.

use super::settings::FEATURES;
use super::solve::Solved;
use super::{CStar, Core, CoreBy, Floor, Held, LabelFeatures};
use crate::data::LabelSet;
use crate::error::{Error, Result};
use crate::method::annotate::annotator::Trainer;
use crate::method::annotate::core_choice::choose_core;
use crate::method::annotate::core_rest::rest_steps;
use crate::method::annotate::decide::Decide;
use crate::method::annotate::stage::Stage;
use crate::method::annotate::temperature::fit_temperature;
use crate::method::settings::name_of;
use crate::method::{Annotate, Choice, Positive};
use crate::metric::Metric;
use crate::solver::run::Watch;
use crate::structure::star::{MOST_MAX, MOST_SUM};
use crate::task::{Candidate, Chosen, Fitted, Model, Training, both};
use crate::traits::Stop;
use serde_json::{Map, Value};

/// Strengths of a ridge that are tried on validation, from the strongest, and those beyond, which are tried while the strongest is the
/// best. Weaker ones than the weakest are no ridge at all for a hundred thousand items or fewer.
struct Path {
    stronger: &'static [f64],
    values: &'static [f64],
}

/// λ by likelihood.
const PATH: Path = Path { stronger: &[1e-1, 1.0], values: &[1e-2, 1e-3, 1e-4, 1e-5] };
/// The same by margin, where weaker ones take a solver of this kind very long.
const MARGIN_PATH: Path = Path { stronger: &[1.0, 10.0], values: &[1e-1, 1e-2, 1e-3] };
/// λ where nothing says otherwise.
const LAMBDA: f64 = 1e-3;
/// λ of links.
const LINK_PATH: Path = PATH;
/// The same by margin.
const MARGIN_LINK_PATH: Path = Path { stronger: &[1e-1, 1.0], values: &[1e-2, 1e-3, 1e-4] };
/// The same where nothing says otherwise.
const LINK_LAMBDA: f64 = 1e-3;
/// So many strengths in a row below the best of their path end it: weaker ones cost most, and are worse still. Of weights on features,
/// which cost most of all, it is one.
const WORSE: usize = 2;
/// Sizes of a core that are tried.
const SIZES: [usize; 4] = [0, 1, 3, 5];

/// Settings of one fit.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub(super) features: LabelFeatures,
    pub(super) core: Vec<u32>,
    pub(super) lambda: f64,
    pub(super) link_lambda: f64,
}

impl Point {
    pub(super) fn settings(&self, links: bool, core: &[String]) -> Map<String, Value> {
        let features = name_of(&self.features, &FEATURES);
        let mut map = Map::from_iter([("lambda".into(), self.lambda.into()), ("features".into(), features.into())]);
        if links {
            map.insert("link_lambda".into(), self.link_lambda.into());
            map.insert("core".into(), core.to_vec().into());
        }
        map
    }
}

impl CStar {
    /// What was asked of the settings that can be left to validation.
    pub(super) fn asked(&self) -> Map<String, Value> {
        let number = |choice: Choice<Positive>| match choice {
            Choice::Set(x) => Value::from(x.get()),
            Choice::Auto => "auto".into(),
        };
        let mut asked = Map::from_iter([("lambda".into(), number(self.lambda))]);
        asked.insert("features".into(), name_of(&self.features, &FEATURES).into());
        asked.append(&mut self.kernel.asked());
        if let Some(core) = &self.core {
            let core = match core {
                Core::Auto => "auto".into(),
                Core::Size(size) => Value::from(*size),
                Core::Names(names) => names.clone().into(),
            };
            asked.insert("core".into(), core);
            asked.insert("link_lambda".into(), number(self.link_lambda));
        }
        asked.append(&mut self.trees.asked());
        asked
    }

    pub(super) fn fixed(&self) -> Point {
        let number = |choice: Choice<Positive>, default: f64| match choice {
            Choice::Set(x) => x.get(),
            Choice::Auto => default,
        };
        let features = if self.features == LabelFeatures::Auto { LabelFeatures::Scores } else { self.features };
        Point {
            features,
            core: vec![],
            lambda: number(self.lambda, LAMBDA),
            link_lambda: number(self.link_lambda, LINK_LAMBDA),
        }
    }

    /// The core that was asked for, or the usual one where its size is open.
    pub(super) fn fixed_core(&self, stage: &Stage, set: &LabelSet) -> Result<Vec<u32>> {
        let most = if self.trainer == Trainer::Likelihood { MOST_SUM } else { MOST_MAX };
        let size = match &self.core {
            None => 0,
            Some(Core::Names(names)) => {
                let core: Result<Vec<u32>> =
                    names.iter().map(|name| set.find_label(name).map(|label| label as u32)).collect();
                let core = core?;
                if core.len() > most {
                    return Err(too_large(core.len()));
                }
                return Ok(core);
            }
            Some(Core::Size(size)) => *size,
            Some(Core::Auto) => 3,
        };
        if size > most {
            return Err(too_large(size));
        }
        self.grown_core(set, &stage.units, size)
    }

    /// A core of so many labels by what they tell.
    fn grown_core(&self, set: &LabelSet, units: &[u32], size: usize) -> Result<Vec<u32>> {
        if self.core_by == CoreBy::Joint {
            return Ok(choose_core(set, units, size));
        }
        if size > 0 && units.iter().all(|&i| !set.unknown(i as usize).is_empty()) {
            return Err(Error::Data {
                expected: "items of which every label is known, for core_by=rest (core_by=joint takes others too)"
                    .into(),
                found: format!("none among {} items", units.len()),
            });
        }
        Ok(rest_steps(set, units, size).iter().map(|step| step.label).collect())
    }

    /// The temperature of a fit by what it says of held-out items, none where 1 is as good, and the threshold of `decide=threshold` at it.
    fn calibrated(
        &self,
        data: &Training<'_, Annotate>,
        stage: &Stage,
        point: &Point,
        theta: &[f64],
        valid: &[u32],
    ) -> Result<(Option<f64>, Option<f64>)> {
        let mut annotator = self.annotator(data, stage, point, theta)?;
        let ready = annotator.prepare(data.set)?;
        let t = fit_temperature(&annotator, &ready, valid)?;
        let mut threshold = None;
        if annotator.decide == Decide::Threshold {
            let theta: Vec<f64> = theta.iter().map(|x| x / t).collect();
            annotator = self.annotator(data, stage, point, &theta)?;
            threshold = Some(annotator.tuned_threshold(&ready, valid)?);
        }
        Ok(((t.total_cmp(&1.0).is_ne()).then_some(t), threshold))
    }

    /// One setting after another: λ, then λ of links, then the size of the core, each by validation.
    pub(super) fn choose(
        &self,
        data: &Training<'_, Annotate>,
        stage: &Stage<'_>,
        floor: f64,
        train: &[u32],
        valid: &[u32],
        watch: &Watch,
    ) -> Result<Fitted<Annotate>> {
        let base = Point { core: self.fixed_core(stage, data.set)?, ..self.fixed() };
        let mut search = Search {
            method: self,
            data,
            stage,
            valid,
            by: data.by(self),
            watch,
            candidates: vec![],
            best: None,
            last: None,
            total: 1,
        };
        let margin = self.trainer == Trainer::Margin;
        search.total = PATH.values.len() + 8;
        let tried = match self.features {
            LabelFeatures::Auto if self.weighs() => vec![LabelFeatures::Scores, LabelFeatures::Both],
            _ => vec![base.features],
        };
        for features in tried {
            let base = Point { features, ..base.clone() };
            match self.lambda {
                Choice::Auto => {
                    let path = if margin { MARGIN_PATH } else { PATH };
                    let worse = if features == LabelFeatures::Both { 1 } else { WORSE };
                    search.path(&path, None, worse, |lambda| Point { lambda, ..base.clone() })?;
                }
                Choice::Set(_) => drop(search.attempt(base)?),
            }
        }
        let has_core = !base.core.is_empty() || self.core == Some(Core::Auto);
        if self.link_lambda == Choice::Auto && has_core {
            let found = search.point();
            let path = if margin { MARGIN_LINK_PATH } else { LINK_PATH };
            let known = search.best.as_ref().map(|best| (found.link_lambda, best.value));
            search.path(&path, known, WORSE, |link_lambda| Point { link_lambda, ..found.clone() })?;
        }
        if self.core == Some(Core::Auto) {
            let point = search.point();
            for size in SIZES.into_iter().filter(|&size| size != base.core.len()) {
                let core = self.grown_core(data.set, &stage.units, size)?;
                search.attempt(Point { core, ..point.clone() })?;
            }
        }
        let (candidates, best) = (search.candidates, search.best);
        let Some(Best { value, point, mut solved, mut threshold }) = best else {
            return Err(if candidates.is_empty() { Error::Interrupted } else { no_margin() });
        };
        let mut temperature = None;
        if self.trainer == Trainer::Likelihood && !watch.stopped() {
            (temperature, threshold) = self.calibrated(data, stage, &point, &solved.theta, valid)?;
        }
        let held = Held {
            chosen: Some(Chosen::new(data.by(self), &data.convention, valid.len(), candidates)),
            floor: Some(Floor { one_vs_rest: floor, reached: value }),
            refit: false,
            threshold,
            temperature,
        };
        if !data.refit || watch.stopped() {
            if watch.stopped() {
                solved.report.stop = Stop::Interrupted;
            }
            return self.fitted(data, stage, &point, solved, held);
        }
        (watch.tell)(0.9, "fitting on training and validation");
        let both = both(train, valid);
        let settled = Self { features: point.features, ..self.clone() };
        let last = Stage::new(&settled, data, &both, watch).and_then(|wider| {
            let core = match &self.core {
                Some(Core::Size(_) | Core::Auto) => self.grown_core(data.set, &both, point.core.len())?,
                _ => point.core.clone(),
            };
            let last = Point { core, ..point.clone() };
            let mut start = (last.core == point.core).then(|| solved.theta.clone());
            if let Some(start) = &mut start {
                let [direct, ..] = wider.scorer(self, last.features).layout();
                wider.taken_over(stage, &mut start[direct]);
            }
            let solved = self.solve(&wider, &last, start.as_deref(), self.tol(), data.seed, watch)?.checked()?;
            Ok((wider, last, solved))
        });
        match last {
            Err(Error::Interrupted) => {
                solved.report.stop = Stop::Interrupted;
                self.fitted(data, stage, &point, solved, held)
            }
            last => {
                let (wider, last, solved) = last?;
                self.fitted(data, &wider, &last, solved, Held { refit: true, ..held })
            }
        }
    }
}

/// A margin that no weight is worth.
pub(super) fn no_margin() -> Error {
    Error::Data {
        expected: "weights that tell labels apart: a smaller lambda, more passes (max_iter), or trainer=likelihood"
            .into(),
        found: "weights that are all 0 by trainer=margin, with every label as good as any other".into(),
    }
}

fn too_large(size: usize) -> Error {
    Error::Setting {
        name: "core".into(),
        expected: format!("at most {MOST_SUM} labels with trainer=likelihood, {MOST_MAX} with trainer=margin"),
        found: size.to_string(),
    }
}

/// The best candidate so far.
struct Best {
    value: f64,
    point: Point,
    solved: Solved,
    threshold: Option<f64>,
}

/// A search by validation, one candidate after another.
struct Search<'a, 'd> {
    method: &'a CStar,
    data: &'a Training<'d, Annotate>,
    stage: &'a Stage<'d>,
    valid: &'a [u32],
    by: Metric,
    watch: &'a Watch<'a>,
    candidates: Vec<Candidate>,
    best: Option<Best>,
    /// Where the fit before ended, from which the next one starts, and what it scored by.
    last: Option<(LabelFeatures, Vec<f64>)>,
    total: usize,
}

impl Search<'_, '_> {
    /// Tries the values of a path, from the strongest, then those beyond its strong end while that is the best; `known` is a value of it that has been tried.
    fn path(
        &mut self,
        path: &Path,
        known: Option<(f64, f64)>,
        most: usize,
        point: impl Fn(f64) -> Point,
    ) -> Result<()> {
        let mut best = known;
        let mut worse = 0;
        for &strength in path.values.iter().filter(|&&s| known.is_none_or(|(tried, _)| s.total_cmp(&tried).is_ne())) {
            let better = self.tried(point(strength), strength, &mut best)?;
            worse = if better { 0 } else { worse + 1 };
            if worse == most {
                break;
            }
        }
        let mut end = path.values.first().copied();
        for &strength in path.stronger {
            if best.map(|(at, _)| at) != end || !self.tried(point(strength), strength, &mut best)? {
                break;
            }
            end = Some(strength);
        }
        Ok(())
    }

    /// Tries one strength of a path; whether it is better than the others of that path.
    fn tried(&mut self, point: Point, strength: f64, best: &mut Option<(f64, f64)>) -> Result<bool> {
        let Some(value) = self.attempt(point)? else { return Ok(false) };
        let better = best.is_none_or(|(_, most)| self.by.better(value, most));
        if better {
            *best = Some((strength, value));
        }
        Ok(better)
    }

    /// Fits one candidate and measures it on validation; nothing where somebody has stopped the search.
    fn attempt(&mut self, point: Point) -> Result<Option<f64>> {
        if self.watch.stopped() && self.best.is_some() {
            return Ok(None);
        }
        let names: Vec<String> = point.core.iter().map(|&label| self.data.set.labels[label as usize].clone()).collect();
        let share = self.candidates.len() as f64 / self.total as f64;
        let mut what = format!("choosing: features={} lambda={}", name_of(&point.features, &FEATURES), point.lambda);
        if !names.is_empty() {
            what += &format!(" link_lambda={} core={}", point.link_lambda, names.len());
        }
        (self.watch.tell)(0.1 + 0.8 * share.min(1.0), &what);
        let start = self.last.take().map(|(from, theta)| self.moved(from, point.features, theta));
        let tol = self.method.tol();
        let solved = match self.method.solve(self.stage, &point, start.as_deref(), tol, self.data.seed, self.watch) {
            Err(Error::Interrupted) if self.best.is_some() => return Ok(None),
            other => other?,
        };
        let mut annotator = self.method.annotator(self.data, self.stage, &point, &solved.theta)?;
        self.last = Some((point.features, solved.theta.clone()));
        let ready = annotator.prepare(self.data.set)?;
        if annotator.decide == Decide::Threshold {
            annotator.threshold = Some(annotator.tuned_threshold(&ready, self.valid)?);
        }
        let value = annotator.evaluate(&ready, self.valid, &[self.by], &self.data.convention)?.mean(0);
        self.candidates.push(Candidate::new(point.settings(self.method.core.is_some(), &names), value));
        // where every weight is 0 the value is that of the order of the file: it does not count
        let tells = solved.theta.iter().any(|&x| x != 0.0) || solved.report.stop == Stop::Interrupted;
        if tells && self.best.as_ref().is_none_or(|best| self.by.better(value, best.value)) {
            self.best = Some(Best { value, point, solved, threshold: annotator.threshold });
        }
        Ok(Some(value))
    }

    /// The same scores by other features: those that come are without weight, those that go are dropped.
    fn moved(&self, from: LabelFeatures, to: LabelFeatures, theta: Vec<f64>) -> Vec<f64> {
        if from == to {
            return theta;
        }
        let [from, to] = [from, to].map(|features| self.stage.scorer(self.method, features));
        let ([_, own, _], n) = (from.layout(), from.labels);
        let [direct, ..] = to.layout();
        let mut moved = theta[..n].to_vec();
        moved.resize(direct.end, 0.0);
        moved.extend_from_slice(&theta[own.start..]);
        moved
    }

    fn point(&self) -> Point {
        self.best.as_ref().map_or_else(|| self.method.fixed(), |best| best.point.clone())
    }
}
