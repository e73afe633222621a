//! The c-star model of labels, by likelihood or by margin; without a core it is the independent model.

use crate::data::LabelSet;
use crate::data::scale::Scale;
use crate::error::{Error, Result};
use crate::method::annotate::annotator::{Annotator, Trainer};
use crate::method::annotate::centre::{Centre, Centred};
use crate::method::annotate::core_choice::choose_core;
use crate::method::annotate::stage::Stage;
use crate::method::settings::{SWITCH, above_0, count, lambda, name_of, one_of, positive, shown_number};
use crate::method::{Annotate, Choice, Positive};
use crate::metric::{Kind, Metric};
use crate::risk::{Empirical, Ridged};
use crate::scorer::labels::{Labels, LabelsWork, Linked};
use crate::solver::block_fw::{BlockFw, objective};
use crate::solver::cccp::{Place, Rounds, cccp};
use crate::solver::lbfgs::Lbfgs;
use crate::solver::run::{Report, Watch, run};
use crate::structure::star::{MOST_MAX, MOST_SUM, MaxWork, Star};
use crate::surrogate::star::{StarLikelihood, StarMargin, Target};
use crate::task::{Candidate, Chosen, Facts, Fitted, Inputs, Method, Model, Setting, Training, Written, both};
use crate::traits::{Blocks, Scorer, Solver, Stop};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;

/// Which labels have links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Core {
    /// So many, by greedy joint mutual information.
    Size(usize),
    /// These.
    Names(Vec<String>),
    /// By mutual information, their number by validation.
    Auto,
}

/// What labels are scored by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelFeatures {
    /// The score of a classifier of each label's own.
    Scores,
    /// The features of the item.
    Direct,
    /// Both.
    Both,
    /// A score of each label that the data give, in a column named `score_LABEL`.
    Given,
}

/// What is lost on a set, with `trainer=margin`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelLoss {
    /// The share that is wrong of as many labels as the item has.
    BreakEven,
    /// The share that is wrong of so many labels.
    PrecisionAt(usize),
}

/// How features are scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelScale {
    /// Dense features to mean 0 and deviation 1, sparse ones not at all.
    Auto,
    /// Not at all.
    None,
    /// To deviation 1, and dense ones to mean 0.
    Global,
}

impl fmt::Display for LabelLoss {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::BreakEven => f.write_str("bep"),
            Self::PrecisionAt(k) => write!(f, "p@{k}"),
        }
    }
}

/// As it is written in a setting; names cannot hold `,`, `;` or `]` there.
impl fmt::Display for Core {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Size(size) => write!(f, "{size}"),
            // the last ; tells a name from a number
            Self::Names(names) => write!(f, "{};", names.join(";")),
        }
    }
}

/// The c-star model: a score for each label and a link between each label of a small core and every other label.
///
/// ```text
/// f(t) = Σ_{i in t} s_i + Σ_{pairs in t that touch the core} g_ij,     s_i = v_i + w_i·x + (u + u_i)·z_i + h_i·log k
///
/// trainer=likelihood:  min  λ/2·|w, u_i, h|² + λ_g/2·|g|² + mean of  log Σ_{|t| = k} exp f(t) − f(right)
/// trainer=margin:      min  λ/2·|v, w, u, h|² + λ_g/2·|g|² + mean of  max_{|t| = k} {loss(t) + f(t)} − f(right)
/// ```
///
/// \[QAP\] sections 3-5 for the second; the first is the exact likelihood of the same model, which is the better trainer of
/// noisy labels, and is decoded by the k largest marginals. k is the number of labels of the item: known in training, and
/// in prediction a distribution that is learned.
///
/// ```
/// use ordain::{data::synthetic::Scenes, method::CStar, solver::run::Watch, task::{Method, Training}};
/// let set = Scenes { items: 400, ..Scenes::default() }.make();
/// let model = CStar::default().fit(&Training::new(&set, &set.all()), &Watch::NOBODY)?;
/// assert_eq!(model.model.star.core().len(), 3);
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CStar {
    /// Which labels have links; `None` for the independent model.
    pub core: Option<Core>,
    /// What is minimised.
    pub trainer: Trainer,
    /// What labels are scored by.
    pub features: LabelFeatures,
    /// Strength of the ridge on what scores labels.
    pub lambda: Choice<Positive>,
    /// Strength of the ridge on links.
    pub link_lambda: Choice<Positive>,
    /// Whether labels know how many there are.
    pub count_bias: bool,
    /// The loss of `trainer=margin`.
    pub loss: LabelLoss,
    /// Scaling of the features.
    pub scale: LabelScale,
    /// The most steps of one fit; by default 500, by margin 200 passes.
    pub max_iter: Option<usize>,
    /// Where a fit stops: a relative gradient of 1e-3, or a duality gap of 1e-3.
    pub tol: Option<Positive>,
}

impl Default for CStar {
    fn default() -> Self {
        Self {
            core: Some(Core::Size(3)),
            trainer: Trainer::Likelihood,
            features: LabelFeatures::Scores,
            lambda: Choice::Auto,
            link_lambda: Choice::Auto,
            count_bias: true,
            loss: LabelLoss::BreakEven,
            scale: LabelScale::Auto,
            max_iter: None,
            tol: None,
        }
    }
}

const TRAINERS: [(&str, Trainer); 2] = [("likelihood", Trainer::Likelihood), ("margin", Trainer::Margin)];
const FEATURES: [(&str, LabelFeatures); 4] = [
    ("scores", LabelFeatures::Scores),
    ("direct", LabelFeatures::Direct),
    ("both", LabelFeatures::Both),
    ("given", LabelFeatures::Given),
];
const SCALES: [(&str, LabelScale); 3] =
    [("auto", LabelScale::Auto), ("none", LabelScale::None), ("global", LabelScale::Global)];

/// λ that are tried on validation, from the strongest: by likelihood.
const PATH: &[f64] = &[1e-2, 1e-3, 1e-4, 1e-5];
/// The same by margin, where weaker ones take a solver of this kind very long.
const MARGIN_PATH: &[f64] = &[1e-1, 1e-2, 1e-3];
/// λ where nothing says otherwise.
const LAMBDA: f64 = 1e-3;
/// λ of links that are tried, from the strongest.
const LINK_PATH: &[f64] = &[1e-2, 1e-3, 1e-4, 1e-5];
/// The same by margin.
const MARGIN_LINK_PATH: &[f64] = &[1e-2, 1e-3, 1e-4];
/// The same where nothing says otherwise.
const LINK_LAMBDA: f64 = 1e-3;
/// Sizes of a core that are tried.
const SIZES: [usize; 4] = [0, 1, 3, 5];
/// How much earlier a fit may stop that only serves a choice.
const ROUGH: f64 = 5.0;
/// The ridge on what the likelihood leaves free but for labels that never occur.
const WEAK: f64 = 1e-6;

macro_rules! settings {
    ($($core:expr)?) => {
        &[
            $($core,)?
            Setting {
                name: "trainer",
                range: "likelihood, margin",
                default: "likelihood",
                help: "the exact likelihood of the labels, or the structured SVM of the paper with a certified duality gap",
            },
            Setting {
                name: "features",
                range: "scores, direct, both, given",
                default: "scores",
                help: "what labels are scored by: classifiers of each label's own, trained inside; the features themselves; both; or scores that the data give in columns named score_LABEL",
            },
            Setting { name: "count_bias", range: "true, false", default: "true", help: "a bias h·log k per label, with k the number of labels of the item" },
            Setting {
                name: "lambda",
                range: "auto or a number above 0",
                default: "auto",
                help: "strength of the ridge: auto by validation (else 1e-3); c=1/lambda is accepted too",
            },
            $({
                let _ = $core;
                Setting {
                    name: "link_lambda",
                    range: "auto or a number above 0",
                    default: "auto",
                    help: "strength of the ridge on links: auto by validation (else 1e-3)",
                }
            },)?
            Setting { name: "loss", range: "bep or p@K", default: "bep", help: "what trainer=margin loses: the wrong share of as many labels as there are, or of K" },
            Setting { name: "scale", range: "auto, none, global", default: "auto", help: "scaling of the features: global (mean 0, deviation 1), none, or auto: global where they are dense" },
            Setting { name: "max_iter", range: "a whole number above 0", default: "500, by margin 200", help: "the most steps of one fit, by margin passes over the items" },
            Setting { name: "tol", range: "a number above 0", default: "1e-3", help: "where a fit stops: gradient relative to the one at zero, by margin the duality gap" },
        ]
    };
}

impl CStar {
    /// What can be set.
    pub const SETTINGS: &'static [Setting] = settings!(Setting {
        name: "core",
        range: "a number up to 10 (trainer=margin: 20), names separated by ; or auto",
        default: "3",
        help: "labels that are linked with all others: so many by mutual information, these, or auto by validation",
    });
    /// What can be set of the independent model.
    pub const INDEPENDENT: &'static [Setting] = settings!();

    /// The independent model: labels without links.
    pub fn independent() -> Self {
        Self { core: None, ..Self::default() }
    }

    fn parse_core(&self, value: &str) -> Result<Core> {
        let wrong = |expected: String| Error::Setting { name: "core".into(), expected, found: value.into() };
        if value == "auto" {
            return Ok(Core::Auto);
        }
        if let Ok(size) = value.parse::<usize>() {
            return match size <= MOST_MAX {
                true => Ok(Core::Size(size)),
                false => Err(wrong(format!(
                    "a number up to {MOST_MAX} ({MOST_SUM} with trainer=likelihood), names, or auto"
                ))),
            };
        }
        if value.parse::<f64>().is_ok() {
            return Err(wrong(format!(
                "a whole number up to {MOST_MAX} ({MOST_SUM} with trainer=likelihood), names, or auto"
            )));
        }
        // one name that looks like a number or a word of its own is told apart by a last ;
        let names = value.strip_suffix(';').unwrap_or(value);
        let names: Vec<String> = names.split([';', ',']).map(|name| name.trim().to_owned()).collect();
        let mut seen = names.clone();
        seen.sort_unstable();
        seen.dedup();
        if seen.len() < names.len() || seen.iter().any(String::is_empty) || names.len() > MOST_MAX {
            return Err(wrong(format!("a number, up to {MOST_MAX} different names, or auto")));
        }
        Ok(Core::Names(names))
    }

    /// What was asked of the settings that can be left to validation.
    fn asked(&self) -> Map<String, Value> {
        let number = |choice: Choice<Positive>| match choice {
            Choice::Set(x) => Value::from(x.get()),
            Choice::Auto => "auto".into(),
        };
        let mut asked = Map::from_iter([("lambda".into(), number(self.lambda))]);
        if let Some(core) = &self.core {
            let core = match core {
                Core::Auto => "auto".into(),
                Core::Size(size) => Value::from(*size),
                Core::Names(names) => names.clone().into(),
            };
            asked.insert("core".into(), core);
            asked.insert("link_lambda".into(), number(self.link_lambda));
        }
        asked
    }

    fn max_iter(&self) -> usize {
        self.max_iter.unwrap_or(if self.trainer == Trainer::Margin { 200 } else { 500 })
    }

    fn tol(&self) -> f64 {
        self.tol.map_or(1e-3, Positive::get)
    }

    fn fixed(&self) -> Point {
        let number = |choice: Choice<Positive>, default: f64| match choice {
            Choice::Set(x) => x.get(),
            Choice::Auto => default,
        };
        Point { core: vec![], lambda: number(self.lambda, LAMBDA), link_lambda: number(self.link_lambda, LINK_LAMBDA) }
    }

    /// The core that was asked for, or the usual one where its size is open.
    fn fixed_core(&self, stage: &Stage, set: &LabelSet) -> Result<Vec<u32>> {
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
        Ok(choose_core(set, &stage.units, size))
    }

    /// One setting after another: λ, then λ of links, then the size of the core, each by validation.
    fn choose(
        &self,
        data: &Training<'_, Annotate>,
        train: &[u32],
        valid: &[u32],
        watch: &Watch,
    ) -> Result<Fitted<Annotate>> {
        (watch.tell)(0.0, "classifiers of single labels");
        let stage = Stage::new(self, data, train, watch)?;
        let base = Point { core: self.fixed_core(&stage, data.set)?, ..self.fixed() };
        let floor = stage.floor(data, data.by(self), valid)?;
        let mut search = Search {
            method: self,
            data,
            stage: &stage,
            valid,
            by: data.by(self),
            watch,
            candidates: vec![],
            best: None,
            last: None,
            total: 1,
        };
        let mut lambdas = vec![base.lambda];
        if self.lambda == Choice::Auto {
            lambdas = if self.trainer == Trainer::Margin { MARGIN_PATH } else { PATH }.to_vec();
        }
        search.total = lambdas.len() + 8;
        for lambda in lambdas {
            search.attempt(Point { lambda, ..base.clone() })?;
        }
        let has_core = !base.core.is_empty() || self.core == Some(Core::Auto);
        if self.link_lambda == Choice::Auto && has_core {
            let lambda = search.lambda();
            let links = if self.trainer == Trainer::Margin { MARGIN_LINK_PATH } else { LINK_PATH };
            for &link_lambda in links.iter().filter(|l| l.total_cmp(&base.link_lambda).is_ne()) {
                search.attempt(Point { lambda, link_lambda, core: base.core.clone() })?;
            }
        }
        if self.core == Some(Core::Auto) {
            let point = search.point();
            for size in SIZES.into_iter().filter(|&size| size != base.core.len()) {
                let core = choose_core(data.set, &stage.units, size);
                search.attempt(Point { core, ..point.clone() })?;
            }
        }
        let (candidates, best) = (search.candidates, search.best);
        let Some((value, point, mut solved)) = best else { return Err(Error::Interrupted) };
        let chosen = Chosen::new(data.by(self), &data.convention, valid.len(), candidates);
        let floor = Some((floor, value));
        if !data.refit || watch.stopped() {
            if watch.stopped() {
                solved.report.stop = Stop::Interrupted;
            }
            return self.fitted(data, &stage, &point, solved, Some(chosen), floor, false);
        }
        (watch.tell)(0.9, "fitting on training and validation");
        let both = both(train, valid);
        let last = Stage::new(self, data, &both, watch).and_then(|wider| {
            let core = match &self.core {
                Some(Core::Size(_) | Core::Auto) => choose_core(data.set, &both, point.core.len()),
                _ => point.core.clone(),
            };
            let last = Point { core, ..point.clone() };
            let start = (last.core == point.core).then_some(&solved.theta[..]);
            let solved = self.solve(&wider, &last, start, self.tol(), data.seed, watch)?;
            Ok((wider, last, solved))
        });
        match last {
            Err(Error::Interrupted) => {
                solved.report.stop = Stop::Interrupted;
                self.fitted(data, &stage, &point, solved, Some(chosen), floor, false)
            }
            last => {
                let (wider, last, solved) = last?;
                self.fitted(data, &wider, &last, solved, Some(chosen), floor, true)
            }
        }
    }

    /// Fits at one point.
    fn solve(
        &self,
        stage: &Stage,
        point: &Point,
        start: Option<&[f64]>,
        tol: f64,
        seed: u64,
        watch: &Watch,
    ) -> Result<Solved> {
        let scorer = stage.scorer(self);
        let n = scorer.labels;
        let dim = scorer.dim() + point.core.len() * n;
        match self.trainer {
            Trainer::Likelihood => {
                let loss = StarLikelihood { labels: n, core: &point.core, cases: &stage.cases };
                let (linked, count) = (Linked { scorer: &scorer, links: dim - scorer.dim() }, stage.cases.len());
                let mut risk = Empirical::new(&linked, &loss, vec![1.0 / count as f64; count]).stopped_by(watch.stop);
                let centre = Centre::new(stage, &scorer, &point.core);
                let mut centred = Centred { risk: &mut risk, centre: &centre, theta: vec![0.0; dim] };
                let strength = self.strengths(&scorer, point);
                let mut ridged = Ridged::new(&mut centred, strength, &stage.curvature(&scorer, &centre, &point.core));
                let mut theta = vec![0.0; dim];
                match start {
                    Some(start) if start.len() == dim => theta.copy_from_slice(start),
                    _ if scorer.own.is_some() => theta[scorer.layout()[1].start] = 1.0,
                    _ => {}
                }
                centre.shift(&mut theta, 1.0);
                let theta = ridged.units(&theta);
                let (theta, report) = {
                    let mut solver = Lbfgs::new(&mut ridged, 0.0, tol, theta)?;
                    let report = run(&mut solver, self.max_iter(), 0, watch)?;
                    (solver.theta().to_vec(), report)
                };
                let mut theta = ridged.theta(&theta);
                centre.shift(&mut theta, -1.0);
                Ok(Solved { theta, report })
            }
            Trainer::Margin => self.solve_margin(stage, point, &scorer, tol, seed, watch),
        }
    }

    fn solve_margin(
        &self,
        stage: &Stage,
        point: &Point,
        scorer: &Labels,
        tol: f64,
        seed: u64,
        watch: &Watch,
    ) -> Result<Solved> {
        let n = scorer.labels;
        let lambda = [point.lambda, point.link_lambda];
        let LabelLoss::PrecisionAt(k) = self.loss else {
            let targets: Vec<Target> = stage.cases.iter().cloned().map(Target::break_even).collect();
            let mut blocks = StarMargin::new(scorer, n, &point.core, &targets, lambda)?;
            let mut solver = BlockFw::new(&mut blocks, tol, seed)?.stopped_by(watch.stop);
            let report = run(&mut solver, self.max_iter(), 0, watch)?;
            return Ok(Solved { theta: solver.theta().to_vec(), report });
        };
        // several sets are right: the best of them at the present parameters, then a convex problem, and again
        let targets: Vec<Option<Target>> =
            stage.cases.iter().cloned().map(|case| Target::precision_at(case, k, n)).collect();
        let kept: Vec<usize> = (0..targets.len()).filter(|&i| targets[i].is_some()).collect();
        let targets: Vec<Target> = targets.into_iter().flatten().collect();
        if targets.is_empty() {
            return Err(Error::Data {
                expected: format!("items that tell good sets of {k} labels from bad ones"),
                found: "none".into(),
            });
        }
        let part = stage.some(&kept);
        let scorer = part.scorer(self);
        let mut theta = vec![0.0; scorer.dim() + point.core.len() * n];
        if scorer.own.is_some() {
            theta[scorer.layout()[1].start] = 1.0;
        }
        let (core, max_iter) = (&point.core[..], self.max_iter());
        let mut sets = BestSets { scorer: &scorer, core, targets, lambda, tol, seed, max_iter };
        let (theta, _, report) = cccp(&mut sets, Place::new(theta.clone(), theta), &|_| tol, watch)?;
        Ok(Solved { theta, report })
    }

    /// The ridge on every parameter of the likelihood.
    fn strengths(&self, scorer: &Labels, point: &Point) -> Vec<f64> {
        let [direct, own, _] = scorer.layout();
        let mut strength = vec![point.lambda; scorer.dim()];
        strength[..direct.start].fill(WEAK);
        if !own.is_empty() {
            strength[own.start] = WEAK;
        }
        strength.extend(std::iter::repeat_n(point.link_lambda, point.core.len() * scorer.labels));
        strength
    }

    #[allow(clippy::too_many_arguments)] // each is one fact of a fit, and this is where they meet
    fn fitted(
        &self,
        data: &Training<'_, Annotate>,
        stage: &Stage,
        point: &Point,
        solved: Solved,
        chosen: Option<Chosen>,
        floor: Option<(f64, f64)>,
        refit: bool,
    ) -> Result<Fitted<Annotate>> {
        let set = data.set;
        let names: Vec<String> = point.core.iter().map(|&label| set.labels[label as usize].clone()).collect();
        let mut settings = point.settings(self.core.is_some(), &names);
        settings.insert("trainer".into(), name_of(&self.trainer, &TRAINERS).into());
        settings.insert("features".into(), name_of(&self.features, &FEATURES).into());
        settings.insert("count_bias".into(), self.count_bias.into());
        settings.insert("scale".into(), if stage.affine.is_some() { "global" } else { "none" }.into());
        if self.trainer == Trainer::Margin {
            settings.insert("loss".into(), self.loss.to_string().into());
        }
        settings.insert("max_iter".into(), self.max_iter().into());
        settings.insert("tol".into(), self.tol().into());
        let facts = Facts {
            method: self.name().into(),
            settings,
            asked: self.asked(),
            data: set.digest(),
            notes: LabelNotes {
                items: stage.units.len(),
                bare_items: set.bare_items(&stage.units),
                silent_labels: set.silent_labels(&stage.units).len(),
                examples: stage.cases.len(),
                floor: floor.map(|(floor, reached)| Floor { one_vs_rest: floor, reached }),
            },
            report: solved.report,
            refit,
            chosen,
            seed: data.seed,
        };
        Ok(Fitted { model: self.annotator(data, stage, point, &solved.theta)?, facts, journal: None })
    }

    fn annotator(
        &self,
        data: &Training<'_, Annotate>,
        stage: &Stage,
        point: &Point,
        theta: &[f64],
    ) -> Result<Annotator> {
        let scorer = stage.scorer(self);
        let [direct, own, count] = scorer.layout();
        let (n, dim) = (scorer.labels, scorer.dim());
        let scale = if stage.affine.is_some() { Scale::Global } else { Scale::None };
        Ok(Annotator {
            inputs: Inputs::new(&data.set.columns, &data.filled, scale, stage.affine.as_ref()),
            labels: data.set.labels.clone(),
            trainer: self.trainer,
            bias: theta[..n].to_vec(),
            direct: theta[direct].to_vec(),
            own: theta[own].to_vec(),
            count_bias: theta[count].to_vec(),
            classifiers: stage.classifiers.clone(),
            count: stage.count.clone(),
            star: Star::new(n, &point.core, &theta[dim..])?,
        })
    }
}

impl Method<Annotate> for CStar {
    fn name(&self) -> &'static str {
        if self.core.is_some() { "cstar" } else { "independent" }
    }

    fn settings(&self) -> &'static [Setting] {
        if self.core.is_some() { Self::SETTINGS } else { Self::INDEPENDENT }
    }

    fn get(&self, name: &str) -> Option<String> {
        match name {
            "core" => self.core.as_ref().map(Core::to_string),
            "trainer" => Some(name_of(&self.trainer, &TRAINERS).into()),
            "features" => Some(name_of(&self.features, &FEATURES).into()),
            "count_bias" => Some(self.count_bias.to_string()),
            "scale" => Some(name_of(&self.scale, &SCALES).into()),
            "lambda" => Some(shown_number(&self.lambda)),
            "link_lambda" => Some(shown_number(&self.link_lambda)),
            "loss" => Some(self.loss.to_string()),
            "max_iter" => self.max_iter.map(|steps| steps.to_string()),
            "tol" => self.tol.map(|tol| tol.get().to_string()),
            _ => None,
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "core" => self.core = Some(self.parse_core(value)?),
            "trainer" => self.trainer = one_of("trainer", value, &TRAINERS)?,
            "features" => self.features = one_of("features", value, &FEATURES)?,
            "count_bias" => self.count_bias = one_of("count_bias", value, &SWITCH)?,
            "scale" => self.scale = one_of("scale", value, &SCALES)?,
            "lambda" | "c" => self.lambda = lambda(name, value)?,
            "link_lambda" => self.link_lambda = lambda(name, value)?,
            "max_iter" => self.max_iter = Some(count(name, value)?),
            "tol" => self.tol = Some(positive(name, value)?),
            _ => self.loss = parse_loss(value)?,
        }
        Ok(())
    }

    /// Refuses settings that do not go together.
    ///
    /// ```
    /// use ordain::{method::{CStar, Core, cstar::LabelLoss}, task::Method};
    /// assert!(CStar { core: Some(Core::Size(15)), ..CStar::default() }.check().is_err());
    /// assert!(CStar { loss: LabelLoss::PrecisionAt(3), ..CStar::default() }.check().is_err());
    /// ```
    fn check(&self) -> Result<()> {
        self.max_iter.map_or(Ok(()), |steps| above_0("max_iter", steps))?;
        let size = match &self.core {
            Some(Core::Size(size)) => *size,
            Some(Core::Names(names)) => names.len(),
            _ => 0,
        };
        match self.loss {
            _ if self.trainer == Trainer::Margin => Ok(()),
            LabelLoss::PrecisionAt(k) => Err(Error::Setting {
                name: "loss".into(),
                expected: "trainer=margin with it: trainer=likelihood has no loss to choose".into(),
                found: format!("p@{k} with trainer=likelihood"),
            }),
            LabelLoss::BreakEven if size > MOST_SUM => Err(Error::Setting {
                name: "core".into(),
                expected: format!("at most {MOST_SUM} labels with trainer=likelihood (trainer=margin takes more)"),
                found: size.to_string(),
            }),
            LabelLoss::BreakEven => Ok(()),
        }
    }

    fn chooses(&self) -> bool {
        self.lambda == Choice::Auto
            || self.core == Some(Core::Auto)
            || self.link_lambda == Choice::Auto && self.core.as_ref().is_some_and(|core| *core != Core::Size(0))
    }

    fn chooses_by(&self) -> Metric {
        Metric { kind: Kind::Bep, k: None }
    }

    fn written(&self) -> Written {
        Written { asked: self.asked(), settings: Map::new() }
    }

    fn learn(&self, data: &Training<'_, Annotate>, watch: &Watch) -> Result<Fitted<Annotate>> {
        let (train, valid) = data.parts(self.chooses());
        if !self.chooses() || !valid.iter().any(|&i| data.set.tells(i as usize)) {
            let stage = Stage::new(self, data, data.train, watch)?;
            let point = Point { core: self.fixed_core(&stage, data.set)?, ..self.fixed() };
            (watch.tell)(0.2, "fitting");
            let solved = self.solve(&stage, &point, None, self.tol(), data.seed, watch)?;
            return self.fitted(data, &stage, &point, solved, None, None, false);
        }
        self.choose(data, &train, &valid, watch)
    }
}

fn too_large(size: usize) -> Error {
    Error::Setting {
        name: "core".into(),
        expected: format!("at most {MOST_SUM} labels with trainer=likelihood, {MOST_MAX} with trainer=margin"),
        found: size.to_string(),
    }
}

fn parse_loss(value: &str) -> Result<LabelLoss> {
    if value == "bep" {
        return Ok(LabelLoss::BreakEven);
    }
    let k = value.strip_prefix("p@").and_then(|k| k.parse().ok()).filter(|&k| k > 0);
    k.map(LabelLoss::PrecisionAt).ok_or_else(|| Error::Setting {
        name: "loss".into(),
        expected: "bep, or p@K with a number K above 0".into(),
        found: value.into(),
    })
}

/// What a classifier for each label reaches on validation, and what the model reaches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Floor {
    /// Labels ranked by classifiers of their own.
    pub one_vs_rest: f64,
    /// Labels ranked by the model.
    pub reached: f64,
}

/// What is known of the training of an annotator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabelNotes {
    /// Items fitted on.
    pub items: usize,
    /// Of these, items without any label.
    pub bare_items: usize,
    /// Labels that are on none of them.
    pub silent_labels: usize,
    /// Items that teach something.
    pub examples: usize,
    /// The metric of the choice on validation, beside that of classifiers alone.
    pub floor: Option<Floor>,
}

impl Facts<LabelNotes> {
    /// Whether the model does worse on validation than a classifier for each label.
    pub fn below_floor(&self) -> bool {
        let metric = self.chosen.as_ref().and_then(|chosen| chosen.metric.parse::<Metric>().ok());
        // a margin reports every loss; a likelihood differs by chance if links carry nothing
        let slack = if self.settings.get("trainer").and_then(Value::as_str) == Some("margin") { 0.0 } else { 0.005 };
        self.notes.floor.is_some_and(|floor| match metric.is_some_and(Metric::is_loss) {
            true => floor.reached > floor.one_vs_rest + slack,
            false => floor.reached < floor.one_vs_rest - slack,
        })
    }
}

/// Settings of one fit.
#[derive(Clone, Debug)]
struct Point {
    core: Vec<u32>,
    lambda: f64,
    link_lambda: f64,
}

impl Point {
    fn settings(&self, links: bool, core: &[String]) -> Map<String, Value> {
        let mut map = Map::from_iter([("lambda".into(), self.lambda.into())]);
        if links {
            map.insert("link_lambda".into(), self.link_lambda.into());
            map.insert("core".into(), core.to_vec().into());
        }
        map
    }
}

struct Solved {
    theta: Vec<f64>,
    report: Report,
}

/// The margin over the best right sets of k labels, \[QAP\] Eq. (8), as rounds of convex problems.
struct BestSets<'a> {
    scorer: &'a Labels<'a>,
    core: &'a [u32],
    targets: Vec<Target>,
    lambda: [f64; 2],
    tol: f64,
    seed: u64,
    max_iter: usize,
}

impl Rounds for BestSets<'_> {
    fn fix(&mut self, theta: &[f64]) -> Result<bool> {
        let n = self.scorer.labels;
        let star = Star::new(n, self.core, &theta[self.scorer.dim()..])?;
        let (mut work, mut own, mut s) = (MaxWork::default(), LabelsWork::default(), vec![0.0; n]);
        let mut others = false;
        for (i, target) in self.targets.iter_mut().enumerate() {
            self.scorer.scores(i, theta, &mut s, &mut own);
            let before = std::mem::take(&mut target.right);
            target.complete(&star, &s, &mut work)?;
            others |= target.right != before;
        }
        Ok(others)
    }

    fn value(&mut self, theta: &[f64]) -> Result<f64> {
        let mut blocks = StarMargin::new(self.scorer, self.scorer.labels, self.core, &self.targets, self.lambda)?;
        let strength = blocks.strength();
        objective(&mut blocks, &strength, theta, None)
    }

    /// From zero: the solver goes by its dual, which knows no other start.
    fn solve(&mut self, _: &[f64], watch: &Watch) -> Result<(Vec<f64>, Report)> {
        let mut blocks = StarMargin::new(self.scorer, self.scorer.labels, self.core, &self.targets, self.lambda)?;
        let mut solver = BlockFw::new(&mut blocks, self.tol, self.seed)?.stopped_by(watch.stop);
        let report = run(&mut solver, self.max_iter, 0, watch)?;
        Ok((solver.theta().to_vec(), report))
    }
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
    best: Option<(f64, Point, Solved)>,
    /// Where the fit before ended, from which the next one starts.
    last: Option<Vec<f64>>,
    total: usize,
}

impl Search<'_, '_> {
    fn attempt(&mut self, point: Point) -> Result<()> {
        if self.watch.stopped() && self.best.is_some() {
            return Ok(());
        }
        let names: Vec<String> = point.core.iter().map(|&label| self.data.set.labels[label as usize].clone()).collect();
        let share = self.candidates.len() as f64 / self.total as f64;
        let mut what = format!("choosing: lambda={}", point.lambda);
        if !names.is_empty() {
            what += &format!(" link_lambda={} core={}", point.link_lambda, names.len());
        }
        (self.watch.tell)(0.1 + 0.8 * share.min(1.0), &what);
        let start = self.last.take();
        // a choice needs no more than a rough fit; the last one is made as was asked
        let tol = if self.data.refit { ROUGH * self.method.tol() } else { self.method.tol() };
        let solved = match self.method.solve(self.stage, &point, start.as_deref(), tol, self.data.seed, self.watch) {
            Err(Error::Interrupted) if self.best.is_some() => return Ok(()),
            other => other?,
        };
        let annotator = self.method.annotator(self.data, self.stage, &point, &solved.theta)?;
        self.last = Some(solved.theta.clone());
        let ready = annotator.prepare(self.data.set)?;
        let value = annotator.evaluate(&ready, self.valid, &[self.by], &self.data.convention)?.mean(0);
        self.candidates.push(Candidate { settings: point.settings(self.method.core.is_some(), &names), value });
        if self.best.as_ref().is_none_or(|(best, _, _)| self.by.better(value, *best)) {
            self.best = Some((value, point, solved));
        }
        Ok(())
    }

    fn point(&self) -> Point {
        self.best.as_ref().map_or_else(|| self.method.fixed(), |(_, point, _)| point.clone())
    }

    fn lambda(&self) -> f64 {
        self.point().lambda
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::scale::Affine;
    use crate::random::Random;
    use crate::solver::bundle::Bundle;
    use crate::solver::cccp::tests::Heard;
    use crate::structure::exhaustive;
    use crate::structure::star::Clamp;
    use crate::surrogate::star::Case;
    use crate::traits::Risk;

    const LAMBDA: [f64; 2] = [0.1, 0.05];

    /// The margin over the right sets set by set: those of the least loss where `right` is none, else these.
    struct Slow<'a> {
        scorer: &'a Labels<'a>,
        core: &'a [u32],
        targets: &'a [Target],
        right: Option<Vec<Vec<u32>>>,
    }

    impl Risk for Slow<'_> {
        fn dim(&self) -> usize {
            self.scorer.dim() + self.core.len() * self.scorer.labels
        }

        fn value(&mut self, theta: &[f64], grad: &mut [f64]) -> Result<f64> {
            let (n, own, m) = (self.scorer.labels, self.scorer.dim(), self.targets.len() as f64);
            let star = Star::new(n, self.core, &theta[own..])?;
            grad.fill(0.0);
            let (mut s, mut total) = (vec![0.0; n], 0.0);
            for (i, target) in self.targets.iter().enumerate() {
                self.scorer.scores(i, theta, &mut s, &mut LabelsWork::default());
                let mut sets: Vec<(f64, Vec<u32>)> = vec![];
                exhaustive::subsets(n, target.k, &mut |set| {
                    let out = |l: &u32| target.case.clamp.get(*l as usize) == Some(&Clamp::Out);
                    let wrong = set.iter().filter(|l| !target.case.yes.contains(l)).count();
                    if !set.iter().any(out) {
                        sets.push((wrong as f64 / target.k as f64, set.to_vec()));
                    }
                });
                let least = sets.iter().fold(f64::INFINITY, |a, (loss, _)| a.min(*loss));
                let best = |sets: &mut dyn Iterator<Item = &(f64, Vec<u32>)>, weight: f64| {
                    sets.map(|(loss, set)| (weight * loss + star.score(&s, set), set.clone()))
                        .fold((f64::NEG_INFINITY, vec![]), |a, b| if b.0 > a.0 { b } else { a })
                };
                let worst = best(&mut sets.iter(), 1.0);
                let right = match &self.right {
                    Some(right) => (star.score(&s, &right[i]), right[i].clone()),
                    None => best(&mut sets.iter().filter(|(loss, _)| *loss < least + 1e-9), 0.0),
                };
                total += (worst.0 - least - right.0) / m;
                for (sign, set) in [(1.0 / m, &worst.1), (-1.0 / m, &right.1)] {
                    let mut d = vec![0.0; n];
                    set.iter().for_each(|&l| d[l as usize] = sign);
                    self.scorer.pull_back(i, &d, &mut grad[..own], &mut LabelsWork::default());
                    star.each_pair(set, |at| grad[own + at] += sign);
                }
            }
            Ok(total)
        }
    }

    /// Rounds of `loss=p@k` on few labels against all sets, one by one.
    #[test]
    fn rounds_never_rise_and_end_where_their_own_sets_are_best() {
        let (mut random, mut most) = (Random::new(11), 0);
        for round in 0..12 {
            let (items, n, k) = (14, 5, 1 + round % 3);
            let units: Vec<u32> = (0..items as u32).collect();
            let values: Vec<f32> = (0..items * 3).map(|_| random.normal() as f32).collect();
            let features = crate::matrix::Features::Dense(crate::matrix::Matrix::new(values, 3));
            let pieces = crate::pieces::Pieces::of_items(items, 3);
            let features = Affine::standard(&features, &pieces, std::iter::once(0..items)).apply(&features);
            let own: Vec<f64> = (0..items * n).map(|_| random.normal()).collect();
            let scorer = Labels {
                labels: n,
                units: &units,
                pieces: &pieces,
                features: (round % 2 == 0).then_some(&features),
                own: Some(&own),
                log_count: None,
            };
            let cases: Vec<Case> = (0..items)
                .map(|_| {
                    let mut labels: Vec<u32> = (0..n as u32).collect();
                    random.shuffle(&mut labels);
                    let yes = 1 + random.below(3);
                    let unknown = usize::from(round % 4 == 3);
                    let mut has = labels[..yes].to_vec();
                    has.sort_unstable();
                    Case::new(n, &has, &labels[yes..yes + unknown])
                })
                .collect();
            let targets: Vec<Target> = cases.into_iter().filter_map(|case| Target::precision_at(case, k, n)).collect();
            // the scorer goes by place: all items tell something
            assert_eq!(targets.len(), items, "round {round}");
            let core: Vec<u32> = (0..(round % 3) as u32).collect();
            let tol = 1e-7;
            let (core, scorer) = (&core[..], &scorer);
            let mut sets = BestSets { scorer, core, targets, lambda: LAMBDA, tol, seed: 1, max_iter: 20_000 };
            let dim = scorer.dim() + core.len() * n;
            let mut start = vec![0.0; dim];
            start[scorer.layout()[1].start] = 1.0;
            let place = Place::new(start.clone(), start);
            let mut heard = Heard::new(&mut sets);
            let (theta, _, report) = cccp(&mut heard, place, &|_| tol, &Watch::NOBODY).unwrap();
            heard.check(tol, &report);
            assert_eq!(report.stop, Stop::Change, "{report:?}");
            assert!(report.gap.unwrap() <= tol, "{report:?}");
            most = most.max(report.rounds.unwrap());
            let values = std::mem::take(&mut heard.values);
            // every J of the way is Eq. (8), by all sets
            let strength: Vec<f64> = (0..dim).map(|j| LAMBDA[usize::from(j >= scorer.dim())]).collect();
            let mut grad = vec![0.0; dim];
            for (theta, value) in &values {
                let mut slow = Slow { scorer, core, targets: &sets.targets, right: None };
                let ridge: f64 = theta.iter().zip(&strength).map(|(t, s)| 0.5 * s * t * t).sum();
                let truth = ridge + slow.value(theta, &mut grad).unwrap();
                assert!((truth - value).abs() < 1e-10, "round {round}: {value}, not {truth}");
            }
            // with the sets of the end fixed, another solver on all sets finds nothing lower
            sets.fix(&theta).unwrap();
            let right = sets.targets.iter().map(|target| target.right.clone()).collect();
            let mut slow = Slow { scorer, core, targets: &sets.targets, right: Some(right) };
            // the ridge of strength 1 that the bundle wants, in units of its own
            let mut ridged = Scaled { risk: &mut slow, unit: strength.iter().map(|s| s.sqrt().recip()).collect() };
            let mut bundle = Bundle::new(&mut ridged, 1.0, 1e-8, vec![0.0; dim]).unwrap();
            let again = run(&mut bundle, 5000, 0, &Watch::NOBODY).unwrap();
            assert!(again.objective - again.gap.unwrap() <= report.objective + 1e-9, "{again:?} {report:?}");
            assert!(again.objective > report.objective - 1e-6, "round {round}: {again:?} {report:?}");
        }
        assert!(most > 1, "{most} rounds at most: nothing to see");
    }

    /// A risk of `unit·θ`.
    struct Scaled<'a> {
        risk: &'a mut dyn Risk,
        unit: Vec<f64>,
    }

    impl Risk for Scaled<'_> {
        fn dim(&self) -> usize {
            self.unit.len()
        }
        fn value(&mut self, theta: &[f64], grad: &mut [f64]) -> Result<f64> {
            let own: Vec<f64> = theta.iter().zip(&self.unit).map(|(t, unit)| t * unit).collect();
            let value = self.risk.value(&own, grad)?;
            grad.iter_mut().zip(&self.unit).for_each(|(g, unit)| *g *= unit);
            Ok(value)
        }
    }
}
