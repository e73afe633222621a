//! The c-star model of labels, by likelihood or by margin; without a core it is the independent model.

mod classifiers;
mod search;
mod settings;
mod solve;

use crate::data::scale::Scale;
use crate::data::transform::Transform;
use crate::error::{Error, Result};
use crate::kernel::Form;
use crate::method::annotate::annotator::{Annotator, Trainer};
use crate::method::annotate::decide::{DECIDES, Decide};
use crate::method::annotate::stage::Stage;
use crate::method::kernels::{KernelBy, KernelChoice};
use crate::method::settings::{SWITCH, above_0, count, lambda, name_of, one_of, positive, serves, shown_number};
use crate::method::{Annotate, Choice, Positive, TreeNotes, Trees};
use crate::metric::{Kind, Metric};
use crate::solver::run::Watch;
use crate::structure::star::{MOST_SUM, Star};
use crate::task::{About, Chosen, Facts, Fitted, Inputs, Method, Setting, Training, Written};
use crate::traits::Scorer;
use search::Point;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use settings::{CORES, FEATURES, SCALES, TRAINERS, parse_loss};
use solve::Solved;

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

/// What a core is to tell most about, where its labels are not named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoreBy {
    /// Each other label, `Σ_i I(y_i; y_S)`: see [`core_choice`](super::core_choice).
    Joint,
    /// All other labels as one, `I(y_R; y_S)`: see [`core_rest`](super::core_rest).
    Rest,
}

/// What labels are scored by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelFeatures {
    /// The score of a classifier of each label's own, alone or with the features of the item: by validation.
    Auto,
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
    /// What labels of the core are chosen by, if they are not named.
    pub core_by: CoreBy,
    /// What is minimised.
    pub trainer: Trainer,
    /// What labels are scored by.
    pub features: LabelFeatures,
    /// The kernel of classifiers and of direct features.
    pub kernel: KernelChoice,
    /// Strength of the ridge on what scores labels.
    pub lambda: Choice<Positive>,
    /// Strength of the ridge on links.
    pub link_lambda: Choice<Positive>,
    /// Whether labels know how many there are.
    pub count_bias: bool,
    /// The loss of `trainer=margin`.
    pub loss: LabelLoss,
    /// Transform of columns before they are scaled.
    pub transform: Transform,
    /// Scaling of the features.
    pub scale: LabelScale,
    /// The most steps of one fit; by default 500, by margin 200 passes.
    pub max_iter: Option<usize>,
    /// Where a fit stops, by default 1e-3: its square is the share of the objective by which one of five steps has to lower it, by margin it is the duality gap.
    pub tol: Option<Positive>,
    /// Trees in the classifiers.
    pub trees: Trees,
    /// What the labels that an item is given are best for; by default F1, by margin the number of labels.
    pub decide: Option<Decide>,
}

impl Default for CStar {
    fn default() -> Self {
        Self {
            core: Some(Core::Size(3)),
            core_by: CoreBy::Joint,
            trainer: Trainer::Likelihood,
            features: LabelFeatures::Auto,
            kernel: KernelChoice::new(Form::Linear),
            lambda: Choice::Auto,
            link_lambda: Choice::Auto,
            count_bias: true,
            loss: LabelLoss::BreakEven,
            transform: Transform::Auto,
            scale: LabelScale::Auto,
            max_iter: None,
            tol: None,
            trees: Trees::default(),
            decide: None,
        }
    }
}

impl CStar {
    /// The independent model: labels without links.
    pub fn independent() -> Self {
        Self { core: None, ..Self::default() }
    }

    fn max_iter(&self) -> usize {
        self.max_iter.unwrap_or(if self.trainer == Trainer::Margin { 200 } else { 500 })
    }

    fn tol(&self) -> f64 {
        self.tol.map_or(1e-3, Positive::get)
    }

    /// Whether `features=auto` tries weights on features. By margin they would take a solver of its kind very long, and classifiers
    /// with a kernel are functions of the same kind as such weights already.
    fn weighs(&self) -> bool {
        self.trainer == Trainer::Likelihood && self.kernel.is_linear()
    }

    fn decides(&self) -> Decide {
        self.decide.unwrap_or(if self.trainer == Trainer::Margin { Decide::Count } else { Decide::F1 })
    }

    fn fitted(
        &self,
        data: &Training<'_, Annotate>,
        stage: &Stage,
        point: &Point,
        solved: Solved,
        held: Held,
    ) -> Result<Fitted<Annotate>> {
        let set = data.set;
        let names: Vec<String> = point.core.iter().map(|&label| set.labels[label as usize].clone()).collect();
        let mut settings = point.settings(self.core.is_some(), &names);
        if self.core_by != CoreBy::Joint {
            settings.insert("core_by".into(), name_of(&self.core_by, &CORES).into());
        }
        settings.insert("trainer".into(), name_of(&self.trainer, &TRAINERS).into());
        settings.insert("features".into(), name_of(&point.features, &FEATURES).into());
        if self.kernel.by == KernelBy::Given {
            settings.insert("kernel".into(), "given".into());
        } else if let Some(kernel) = &stage.kernel {
            settings.append(&mut self.kernel.shape.settings());
            if self.kernel.shape.form.has_width() {
                settings.insert("gamma".into(), kernel.gamma.into());
            }
        }
        if self.trees.grows() {
            settings.insert("scorer".into(), self.trees.get("scorer").into());
            settings.append(&mut self.trees.used());
        }
        settings.insert("count_bias".into(), self.count_bias.into());
        settings.insert("scale".into(), if stage.affine.is_some() { "global" } else { "none" }.into());
        if self.trainer == Trainer::Margin {
            settings.insert("loss".into(), self.loss.to_string().into());
        }
        settings.insert("max_iter".into(), self.max_iter().into());
        settings.insert("tol".into(), self.tol().into());
        settings.insert("decide".into(), name_of(&self.decides(), &DECIDES).into());
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
                floor: held.floor,
                kernels: vec![],
                trees: stage.trees.clone(),
                temperature: held.temperature,
            },
            report: solved.report,
            refit: held.refit,
            chosen: held.chosen,
            seed: data.seed,
            auto: None,
            init: None,
        };
        // every score is linear in the parameters: to divide them is to divide the scores
        let theta: Vec<f64> = solved.theta.iter().map(|x| x / held.temperature.unwrap_or(1.0)).collect();
        let model = Annotator { threshold: held.threshold, ..self.annotator(data, stage, point, &theta)? };
        Ok(Fitted { model, facts, journal: None })
    }

    fn annotator(
        &self,
        data: &Training<'_, Annotate>,
        stage: &Stage,
        point: &Point,
        theta: &[f64],
    ) -> Result<Annotator> {
        let scorer = stage.scorer(self, point.features);
        let [direct, own, count] = scorer.layout();
        let (n, dim) = (scorer.labels, scorer.dim());
        let scale = if stage.affine.is_some() { Scale::Global } else { Scale::None };
        Ok(Annotator {
            inputs: Inputs::new(&data.set.columns, &data.filled, scale, stage.affine.as_ref()),
            labels: data.set.labels.clone(),
            trainer: self.trainer,
            bias: theta[..n].to_vec(),
            direct: (!direct.is_empty()).then(|| stage.direct(&theta[direct])),
            own: theta[own].to_vec(),
            count_bias: theta[count].to_vec(),
            classifiers: stage.classifiers.clone(),
            count: stage.count.clone(),
            star: Star::new(n, &point.core, &theta[dim..])?,
            decide: self.decides(),
            threshold: None,
        })
    }
}

impl Method<Annotate> for CStar {
    fn name(&self) -> &'static str {
        if self.core.is_some() { "cstar" } else { "independent" }
    }

    fn about(&self) -> About {
        if self.core.is_some() {
            About {
                good_for: "labels that go together; answers with few questions",
                measured_on: "yeast",
                figures: &[("bep", 0.6891), ("f1", 0.6530)],
            }
        } else {
            About {
                good_for: "each label by itself: the fastest, for many labels",
                measured_on: "yeast",
                figures: &[("bep", 0.684), ("f1", 0.6510)],
            }
        }
    }

    fn settings(&self) -> &'static [Setting] {
        if self.core.is_some() { Self::SETTINGS } else { Self::INDEPENDENT }
    }

    fn get(&self, name: &str) -> Option<String> {
        match name {
            "core" => self.core.as_ref().map(Core::to_string),
            "core_by" => self.core.as_ref().map(|_| name_of(&self.core_by, &CORES).into()),
            "trainer" => Some(name_of(&self.trainer, &TRAINERS).into()),
            "features" => Some(name_of(&self.features, &FEATURES).into()),
            "kernel" | "gamma" | "degree" | "coef0" => self.kernel.get(name),
            "count_bias" => Some(self.count_bias.to_string()),
            "transform" => Some(self.transform.name().into()),
            "scale" => Some(name_of(&self.scale, &SCALES).into()),
            "lambda" => Some(shown_number(&self.lambda)),
            "link_lambda" => Some(shown_number(&self.link_lambda)),
            "loss" => Some(self.loss.to_string()),
            "max_iter" => self.max_iter.map(|steps| steps.to_string()),
            "tol" => self.tol.map(|tol| tol.get().to_string()),
            "decide" => self.decide.map(|decide| name_of(&decide, &DECIDES).into()),
            _ => self.trees.get(name),
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        if self.trees.set(name, value)? {
            return Ok(());
        }
        match name {
            "core" => self.core = Some(self.parse_core(value)?),
            "core_by" => self.core_by = one_of("core_by", value, &CORES)?,
            "trainer" => self.trainer = one_of("trainer", value, &TRAINERS)?,
            "features" => self.features = one_of("features", value, &FEATURES)?,
            "kernel" | "gamma" | "degree" | "coef0" => drop(self.kernel.set(name, value)?),
            "count_bias" => self.count_bias = one_of("count_bias", value, &SWITCH)?,
            "transform" => self.transform = value.parse()?,
            "scale" => self.scale = one_of("scale", value, &SCALES)?,
            "lambda" | "c" => self.lambda = lambda(name, value)?,
            "link_lambda" => self.link_lambda = lambda(name, value)?,
            "max_iter" => self.max_iter = Some(count(name, value)?),
            "tol" => self.tol = Some(positive(name, value)?),
            "decide" => self.decide = Some(value.parse()?),
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
        self.check_kernel()?;
        let named = matches!(self.core, None | Some(Core::Names(_)));
        serves("core_by", self.core_by != CoreBy::Joint, !named, "a core by its size", "labels by name, or no core")?;
        self.trees.check()?;
        let counts = self.decides() == Decide::Count || self.trainer == Trainer::Likelihood;
        serves(
            "decide",
            true,
            counts,
            "trainer=likelihood, which has probabilities (or decide=count),",
            "trainer=margin",
        )?;
        let own = !matches!(self.features, LabelFeatures::Direct | LabelFeatures::Given);
        if self.features != LabelFeatures::Both {
            self.trees.check_transform(self.transform)?;
        }
        let given = self.features == LabelFeatures::Given || self.kernel.by == KernelBy::Given;
        let asked = matches!(self.transform, Transform::Log | Transform::Quantile);
        serves("transform", asked, !given, "features of items", "scores or a Gram matrix that the data give")?;
        serves("scorer", self.trees.grows(), own, "classifiers (features=scores or both)", "features without them")?;
        let alone = self.kernel.is_linear()
            || self.trees.scorer == crate::method::Scorer::Auto && self.kernel.by != KernelBy::Given;
        serves("scorer", self.trees.grows(), alone, "kernel=linear (or scorer=auto, where they compete)", "a kernel")?;
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
        self.kinds_compete()
            || self.features == LabelFeatures::Auto && self.weighs()
            || self.lambda == Choice::Auto
            || self.core == Some(Core::Auto)
            || self.decide == Some(Decide::Threshold)
            || self.link_lambda == Choice::Auto && self.core.as_ref().is_some_and(|core| *core != Core::Size(0))
    }

    fn chooses_by(&self) -> Metric {
        Metric { kind: Kind::Bep, k: None }
    }

    /// Scores that the data give and a Gram matrix are taken as they are.
    fn transform(&self) -> Transform {
        let given = self.features == LabelFeatures::Given || self.kernel.by == KernelBy::Given;
        let weights = self.trees.starts_linear() || self.features == LabelFeatures::Both;
        if given || !weights { Transform::None } else { self.transform }
    }

    fn categories(&self) -> &[String] {
        &self.trees.categories
    }

    fn written(&self) -> Written {
        Written { asked: self.asked(), settings: Map::new() }
    }

    fn learn(&self, data: &Training<'_, Annotate>, watch: &Watch) -> Result<Fitted<Annotate>> {
        let (train, valid) = data.parts(self.chooses());
        if self.kinds_compete() {
            return self.choose_classifiers(data, &train, &valid, watch);
        }
        let judges = valid.iter().any(|&i| data.set.tells(i as usize));
        if self.decide == Some(Decide::Threshold) && !judges {
            return Err(Error::Data {
                expected: "items with labels to tune the threshold of decide=threshold on (5 items or more, or validation items); decide=f1 needs none".into(),
                found: "none".into(),
            });
        }
        if !self.chooses() || !judges {
            let stage = Stage::new(self, data, data.train, watch)?;
            let point = Point { core: self.fixed_core(&stage, data.set)?, ..self.fixed() };
            (watch.tell)(0.2, "fitting");
            let solved = self.solve(&stage, &point, None, self.tol(), data.seed, watch)?.checked()?;
            return self.fitted(data, &stage, &point, solved, Held::default());
        }
        (watch.tell)(0.0, "classifiers of single labels");
        let stage = Stage::new(self, data, &train, watch)?;
        let floor = stage.floor(data, data.by(self), &valid)?;
        self.choose(data, &stage, floor, &train, &valid, watch)
    }
}

/// What held-out items have said.
#[derive(Clone, Debug, Default)]
struct Held {
    chosen: Option<Chosen>,
    floor: Option<Floor>,
    /// Whether the fit is on these items too.
    refit: bool,
    /// That of `decide=threshold`.
    threshold: Option<f64>,
    /// What scores are divided by; nothing is 1.
    temperature: Option<f64>,
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
    /// With `kernel=auto` or `scorer=auto`: what each kind of classifier reaches on validation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernels: Vec<(String, f64)>,
    /// How trees were grown, if any were: all labels together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trees: Option<TreeNotes>,
    /// What the parameters were divided by so that probabilities of held-out items are right; none where 1 is as good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
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
