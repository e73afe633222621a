//! What a fit came to.

use super::Answers;
use crate::data::PreferenceFacts;
use crate::method::{Annotate, CoreFacts, DecideNotes, Match, Rank};
use crate::task::{AutoChoice, Facts, Fitted};
use serde::Serialize;
use serde_json::{Map, Value};

/// What a fit came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FitAnswer<F> {
    /// The method.
    pub method: String,
    /// Ridge and risk together.
    pub objective: f64,
    /// How far the objective may be above its minimum, of solvers that know.
    pub gap: Option<f64>,
    /// Steps made.
    pub iterations: usize,
    /// Norm of the gradient, relative to the one at zero.
    pub gradient: f64,
    /// Why it stopped.
    pub stop: &'static str,
    /// Every setting, as it was used in the end.
    pub settings: Map<String, Value>,
    /// Examples fitted on.
    pub examples: Value,
    /// Seconds of the fit.
    pub seconds: f64,
    /// The file of the model.
    pub model: String,
    /// Convex problems that were solved one after another, if the objective is not convex.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<usize>,
    /// How the method was chosen, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto: Option<AutoChoice>,
    /// What the task adds.
    #[serde(flatten)]
    pub facts: F,
}

impl<F> FitAnswer<F> {
    /// What a fit came to that took so long and is written to a file.
    pub fn of<T: Answers<FitFacts = F>>(fitted: &Fitted<T>, seconds: f64, model: String) -> Self {
        let Facts { method, settings, report, auto, .. } = &fitted.facts;
        Self {
            method: method.clone(),
            objective: report.objective,
            gap: report.gap,
            iterations: report.iterations,
            gradient: report.gradient,
            stop: report.stop.name(),
            settings: settings.clone(),
            examples: T::examples(fitted),
            seconds,
            model,
            rounds: report.rounds,
            auto: auto.clone(),
            facts: T::fit_facts(fitted),
        }
    }
}

/// What is said of the fit of a ranker.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankFit {
    /// The support of a model with a kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core: Option<CoreFacts>,
    /// The preferences fitted on, if they stood in place of grades.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preferences: Option<PreferenceFacts>,
}

pub(super) fn ranker(fitted: &Fitted<Rank>) -> RankFit {
    let notes = &fitted.facts.notes;
    RankFit { core: notes.core.clone(), preferences: notes.preferences.clone() }
}

/// What is said of the fit of an annotator.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LabelFit {
    /// The model beside classifiers alone, on validation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor: Option<FloorPart>,
}

/// The model beside classifiers alone, on validation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FloorPart {
    /// The metric of the choice.
    pub metric: String,
    /// What a classifier for each label reaches.
    pub one_vs_rest: f64,
    /// What the model reaches.
    pub reached: f64,
}

pub(super) fn annotator(fitted: &Fitted<Annotate>) -> LabelFit {
    let both = fitted.facts.notes.floor.zip(fitted.facts.chosen.as_ref());
    let part = both.map(|(floor, chosen)| FloorPart {
        metric: chosen.metric.clone(),
        one_vs_rest: floor.one_vs_rest,
        reached: floor.reached,
    });
    LabelFit { floor: part }
}

/// What is said of the fit of a matcher.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MatchFit {
    /// How the sums over matchings were found.
    pub marginals: super::SumsPart,
    /// What staying unmatched scores, if it is possible.
    pub null: Option<f64>,
    /// What scores are divided by before they become probabilities.
    pub temperature: Option<f64>,
    /// What the two ways to decide are worth on validation, where they were compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decisions: Option<DecideNotes>,
}

pub(super) fn matcher(fitted: &Fitted<Match>) -> MatchFit {
    let super::MatchModel { null, temperature, sums, .. } = super::inspect::matcher(fitted);
    MatchFit { marginals: sums, null, temperature, decisions: fitted.facts.notes.decisions.clone() }
}
