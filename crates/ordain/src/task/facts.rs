//! What is known of a training.

use crate::metric::{Convention, Metric};
use crate::solver::run::Report;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What is known of a training, besides the parameters. `N` are the notes of one task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Facts<N> {
    /// The method.
    pub method: String,
    /// Every setting, as it was used in the end.
    pub settings: Map<String, Value>,
    /// What was asked of the settings that validation can choose.
    pub asked: Map<String, Value>,
    /// Digest of the data.
    pub data: String,
    /// What this task counts.
    #[serde(flatten)]
    pub notes: N,
    /// How the solver ended.
    #[serde(flatten)]
    pub report: Report,
    /// Whether the fit is on training and validation together.
    pub refit: bool,
    /// How settings were chosen, if any were.
    pub chosen: Option<Chosen>,
    /// The seed.
    pub seed: u64,
    /// How the method was chosen, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto: Option<AutoChoice>,
    /// Digest of the data of the model that the fit started from, if it started from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub init: Option<String>,
}

impl<N> Facts<N> {
    /// The candidate that was taken, if something was chosen.
    pub fn taken(&self) -> Option<&Candidate> {
        self.chosen.as_ref()?.taken(&self.settings)
    }
}

/// How a method was chosen among others ([`crate::method::auto`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AutoChoice {
    /// How many of the list of candidates were tried: as many again make the same model.
    pub candidates: usize,
    /// How long the list is.
    pub of: usize,
    /// The metric of the choice.
    pub metric: String,
    /// Its convention.
    pub convention: String,
    /// On how many units each was measured; none of them had a part in the fits that it measured.
    pub units: usize,
    /// In how many parts these were cross-validated; nothing if one part was held out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<usize>,
    /// The candidate that was taken.
    pub taken: String,
    /// What a choice among these is worth on units that had no part in it; nothing if there was one to choose from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub honest: Option<f64>,
    /// All that was tried, in order.
    pub tried: Vec<TriedMethod>,
}

/// A candidate of a choice among methods.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TriedMethod {
    /// The method with its settings.
    pub method: String,
    /// The mean of the metric over the units that count; nothing if it could not be fitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// The standard error of that mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
    /// How far it is behind the best, and the standard error of that, over the same units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<[f64; 2]>,
    /// Why it could not be fitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// Settings that were tried on validation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The settings.
    pub settings: Map<String, Value>,
    /// The value of the metric.
    pub value: f64,
    /// On how many units it was measured, if it was dropped before it had seen all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units: Option<usize>,
}

impl Candidate {
    /// Settings with their value on all units.
    pub(crate) fn new(settings: Map<String, Value>, value: f64) -> Self {
        Self { settings, value, units: None }
    }
}

/// An end of the path of λ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Edge {
    /// The strongest ridge.
    Strongest,
    /// The weakest ridge.
    Weakest,
}

/// How settings were chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chosen {
    /// The metric of the choice.
    pub metric: String,
    /// Its convention.
    pub convention: String,
    /// The number of units it was measured on.
    #[serde(rename = "queries")]
    pub units: usize,
    /// In how many parts these were cross-validated; nothing if they are validation units that no fit saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<usize>,
    /// If the best λ is at an end of its path, although the path was made longer: which one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge: Option<Edge>,
    /// If λ were level over a factor of 100 or more, none further below the best than one paired standard error: the least and the
    /// largest of them. Other units might have chosen any of these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<[f64; 2]>,
    /// All that was tried, in order.
    pub candidates: Vec<Candidate>,
}

impl Chosen {
    /// A choice by a metric on so many units.
    pub(crate) fn new(by: Metric, convention: &Convention, units: usize, candidates: Vec<Candidate>) -> Self {
        let (metric, convention) = (by.to_string(), convention.to_string());
        Self { metric, convention, units, parts: None, edge: None, level: None, candidates }
    }

    /// The candidate with the settings of the model. Its value need not be the best: kernels take the mean over
    /// neighbours, and matchers break ties by likelihood.
    ///
    /// `settings` are those of the facts that this choice is part of. A core that was chosen again for the last fit
    /// counts by its size. Of several the first of those that say most.
    pub fn taken(&self, settings: &Map<String, Value>) -> Option<&Candidate> {
        let same = |(name, tried): (&String, &Value)| match (tried, settings.get(name)) {
            (Value::Array(tried), Some(Value::Array(used))) => tried.len() == used.len(),
            (tried, used) => used == Some(tried),
        };
        let fits = |candidate: &&Candidate| candidate.settings.iter().all(same);
        self.candidates.iter().rev().filter(fits).max_by_key(|candidate| candidate.settings.len())
    }
}
