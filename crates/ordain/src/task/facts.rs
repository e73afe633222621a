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
}

impl<N> Facts<N> {
    /// The candidate that was taken, if something was chosen.
    pub fn taken(&self) -> Option<&Candidate> {
        self.chosen.as_ref()?.taken(&self.settings)
    }
}

/// Settings that were tried on validation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The settings.
    pub settings: Map<String, Value>,
    /// The value of the metric.
    pub value: f64,
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
    /// All that was tried, in order.
    pub candidates: Vec<Candidate>,
}

impl Chosen {
    /// A choice by a metric on so many units.
    pub(crate) fn new(by: Metric, convention: &Convention, units: usize, candidates: Vec<Candidate>) -> Self {
        Self { metric: by.to_string(), convention: convention.to_string(), units, candidates }
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
