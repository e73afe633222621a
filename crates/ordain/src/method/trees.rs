//! What can be set of trees, and what all tasks do with them.

use super::monotone::{self, MONOTONE};
use super::settings::{count, names, one_of, positive, serves, shown};
use super::{Choice, Positive};
use crate::data::Columns;
use crate::data::transform::Transform;
use crate::error::{Error, Result};
use crate::solver::boost::Boost;
use crate::task::Setting;
use crate::tree::Growth;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What gives a row its score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scorer {
    /// Weights, or kernels.
    Linear,
    /// Trees alone.
    Trees,
    /// Weights first, then trees on what they leave.
    LinearTrees,
    /// Weights, and trees on top if held-out units are worth more with them by a standard error.
    Auto,
}

/// What serves settings of trees.
const TREES: &str = "trees (scorer=trees, linear+trees or auto)";

const SCORERS: [(&str, Scorer); 4] = [
    ("linear", Scorer::Linear),
    ("trees", Scorer::Trees),
    ("linear+trees", Scorer::LinearTrees),
    ("auto", Scorer::Auto),
];

/// Trees as a scorer, as far as they are set.
#[derive(Clone, Debug, PartialEq)]
pub struct Trees {
    /// What gives a row its score.
    pub scorer: Scorer,
    /// The number of trees.
    pub rounds: Choice<usize>,
    /// Leaves of a tree.
    pub leaves: Choice<usize>,
    /// What each tree is multiplied by.
    pub rate: Positive,
    /// The fewest rows of a leaf.
    pub least_rows: usize,
    /// The share of units that each tree sees.
    pub unit_share: Positive,
    /// The share of columns that each tree sees.
    pub column_share: Positive,
    /// Columns that a score may only rise with (+1) or fall with (−1), by name.
    pub monotone: Vec<(String, i8)>,
    /// Columns whose numbers are names of categories.
    pub categories: Vec<String>,
}

/// The most rounds, where their number is chosen.
const MOST_ROUNDS: usize = 1000;
/// Rounds where nothing can be chosen.
pub(in crate::method) const ROUNDS: usize = 100;
/// Rounds without a better mean after which a choice ends.
const PATIENCE: usize = 60;
/// The sizes of trees that are tried.
const LEAVES: [usize; 2] = [7, 31];
/// From so many items on trees of labels are large ones.
const MANY: usize = 10_000;
/// The ridge on the values of leaves.
const RIDGE: f64 = 1.0;
/// The least sum of curvatures of a leaf.
const LEAST_CURVATURE: f64 = 1e-3;
/// The most leaves of a tree.
const MOST_LEAVES: usize = 4096;
/// Below so many units the number of rounds is that of the mean curve of [`FOLDS`] parts.
pub(in crate::method) const FEW: usize = 2000;
/// Parts of units for a mean curve.
pub(in crate::method) const FOLDS: usize = 5;
/// The most bins of a column.
pub(in crate::method) const BINS: usize = 255;

impl Default for Trees {
    fn default() -> Self {
        Self {
            scorer: Scorer::Linear,
            rounds: Choice::Auto,
            leaves: Choice::Auto,
            rate: Positive(0.05),
            least_rows: 20,
            unit_share: Positive(0.6),
            column_share: Positive(0.5),
            monotone: vec![],
            categories: vec![],
        }
    }
}

impl Trees {
    /// All of them.
    pub(in crate::method) const SETTINGS: [Setting; 9] = [
        Setting {
            name: "scorer",
            range: "linear, trees, linear+trees, auto",
            default: "linear",
            help: "what gives a row its score: weights (linear), trees alone, weights and then trees on what they leave (linear+trees), or these if validation finds them better by a standard error (auto)",
        },
        Setting {
            name: "rounds",
            range: "auto or a whole number above 0",
            default: "auto",
            help: "with trees: their number; auto by validation (at most 1000), by the mean curve of five parts below 2000 units",
        },
        Setting {
            name: "leaves",
            range: "auto or a whole number from 2 to 4096",
            default: "auto",
            help: "with trees: the leaves of each; auto by validation of 7 and 31, of labels 7 below 10000 items and else 31",
        },
        Setting {
            name: "rate",
            range: "a number above 0",
            default: "0.05",
            help: "with trees: what each is multiplied by",
        },
        Setting {
            name: "least_rows",
            range: "a whole number above 0",
            default: "20",
            help: "with trees: the fewest rows of a leaf",
        },
        Setting {
            name: "unit_share",
            range: "a number above 0, at most 1",
            default: "0.6",
            help: "with trees: the share of queries, items or problems that each tree sees",
        },
        Setting {
            name: "column_share",
            range: "a number above 0, at most 1",
            default: "0.5",
            help: "with trees: the share of columns that each tree sees",
        },
        MONOTONE,
        Setting {
            name: "categories",
            range: "none or columns, as in brand;shop",
            default: "none",
            help: "with trees: columns whose numbers are names of categories",
        },
    ];

    /// Whether trees are grown.
    pub(in crate::method) fn grows(&self) -> bool {
        self.scorer != Scorer::Linear
    }

    /// Whether weights come first.
    pub(in crate::method) fn starts_linear(&self) -> bool {
        self.scorer != Scorer::Trees
    }

    /// Whether something of the trees is left to validation.
    pub(in crate::method) fn open(&self) -> bool {
        self.grows() && (self.scorer == Scorer::Auto || self.rounds == Choice::Auto || self.leaves == Choice::Auto)
    }

    /// Sets it, if it is one of them.
    pub(in crate::method) fn set(&mut self, name: &str, value: &str) -> Result<bool> {
        match name {
            "scorer" => self.scorer = one_of("scorer", value, &SCORERS)?,
            "rounds" => self.rounds = choice(name, value)?,
            "leaves" => self.leaves = choice(name, value)?,
            "rate" => self.rate = positive(name, value)?,
            "least_rows" => self.least_rows = count(name, value)?,
            "unit_share" => self.unit_share = share(name, value)?,
            "column_share" => self.column_share = share(name, value)?,
            "monotone" => self.monotone = monotone::read(value)?,
            "categories" => self.categories = names(value).collect(),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// One of them as text.
    pub(in crate::method) fn get(&self, name: &str) -> Option<String> {
        let listed = |words: Vec<String>| if words.is_empty() { "none".into() } else { words.join(";") };
        match name {
            "scorer" => Some(super::settings::name_of(&self.scorer, &SCORERS).into()),
            "rounds" => Some(shown(&self.rounds, usize::to_string)),
            "leaves" => Some(shown(&self.leaves, usize::to_string)),
            "rate" => Some(self.rate.get().to_string()),
            "least_rows" => Some(self.least_rows.to_string()),
            "unit_share" => Some(self.unit_share.get().to_string()),
            "column_share" => Some(self.column_share.get().to_string()),
            "monotone" => Some(monotone::written(&self.monotone)),
            "categories" => Some(listed(self.categories.clone())),
            _ => None,
        }
    }

    /// Refuses what makes no sense, or serves nothing without trees.
    pub(in crate::method) fn check(&self) -> Result<()> {
        serves("monotone", !self.monotone.is_empty(), self.grows(), TREES, "scorer=linear")?;
        self.check_beside_signs()
    }

    /// The same of a method whose weights keep signs too.
    pub(in crate::method) fn check_beside_signs(&self) -> Result<()> {
        let usual = Self::default();
        for setting in Self::SETTINGS[1..].iter().filter(|setting| setting.name != MONOTONE.name) {
            let given = self.get(setting.name) != usual.get(setting.name);
            serves(setting.name, given, self.grows(), TREES, "scorer=linear")?;
        }
        let wrong = |name: &str, expected: &str, found: String| {
            Err(Error::Setting { name: name.into(), expected: expected.into(), found })
        };
        match (self.leaves, self.rounds) {
            (Choice::Set(leaves), _) if !(2..=MOST_LEAVES).contains(&leaves) => {
                return wrong("leaves", Self::SETTINGS[2].range, leaves.to_string());
            }
            (_, Choice::Set(0)) => return wrong("rounds", Self::SETTINGS[1].range, "0".into()),
            _ => {}
        }
        for (name, share) in [("unit_share", self.unit_share), ("column_share", self.column_share)] {
            if share.get() > 1.0 {
                return wrong(name, Self::SETTINGS[5].range, share.get().to_string());
            }
        }
        super::settings::above_0("least_rows", self.least_rows)?;
        match self.monotone.iter().find(|(name, _)| self.categories.contains(name)) {
            Some((name, _)) => wrong("monotone", "a column of numbers: categories have no order", name.clone()),
            None => Ok(()),
        }
    }

    /// What was asked of the settings that validation can choose.
    pub(in crate::method) fn asked(&self) -> Map<String, Value> {
        let names: &[&str] = if self.grows() { &["scorer", "rounds", "leaves"] } else { &[] };
        names.iter().filter_map(|name| Some(((*name).to_owned(), self.get(name)?.into()))).collect()
    }

    /// The same beside what was asked of weights, which trees alone do not have.
    pub(in crate::method) fn asked_beside(&self, weights: Map<String, Value>) -> Map<String, Value> {
        let mut asked = if self.starts_linear() { weights } else { Map::new() };
        asked.append(&mut self.asked());
        asked
    }

    /// The others, as they stand in a model.
    pub(in crate::method) fn used(&self) -> Map<String, Value> {
        let mut all = Map::new();
        if self.grows() {
            all.insert("rate".into(), self.rate.get().into());
            all.insert("least_rows".into(), self.least_rows.into());
            all.insert("unit_share".into(), self.unit_share.get().into());
            all.insert("column_share".into(), self.column_share.get().into());
        }
        let usual = Self::default();
        for name in ["monotone", "categories"] {
            if self.get(name) != usual.get(name) {
                all.extend(self.get(name).map(|value| (name.to_owned(), value.into())));
            }
        }
        all
    }

    /// The sizes of trees to try.
    pub(in crate::method) fn sizes(&self, judged: bool) -> Vec<usize> {
        match self.leaves {
            Choice::Set(leaves) => vec![leaves],
            Choice::Auto if judged => LEAVES.to_vec(),
            Choice::Auto => vec![LEAVES[0]],
        }
    }

    /// The size of trees of labels, of which there is a forest each: small ones below 10,000 items, where nothing is asked for.
    pub(in crate::method) fn size_of_labels(&self, items: usize) -> usize {
        match self.leaves {
            Choice::Set(leaves) => leaves,
            Choice::Auto => LEAVES[usize::from(items >= MANY)],
        }
    }

    /// How trees of so many leaves are added; `judged` says whether their number is chosen.
    pub(in crate::method) fn boost(&self, leaves: usize, judged: bool, columns: &Columns, seed: u64) -> Result<Boost> {
        let monotone = self.signs(columns)?;
        let rounds = match self.rounds {
            Choice::Set(rounds) => rounds,
            Choice::Auto if judged => MOST_ROUNDS,
            Choice::Auto => ROUNDS,
        };
        let patience = (self.rounds == Choice::Auto).then_some(PATIENCE);
        let growth = Growth {
            leaves,
            ridge: RIDGE,
            least_rows: self.least_rows.min(u32::MAX as usize) as u32,
            least_curvature: LEAST_CURVATURE,
            least_gain: 0.0,
            columns: self.column_share.get(),
            monotone,
        };
        Ok(Boost { rounds, rate: self.rate.get(), share: self.unit_share.get(), patience, growth, seed })
    }

    /// The sign of what each column adds to a score; nothing where none has one.
    pub(in crate::method) fn signs(&self, columns: &Columns) -> Result<Vec<i8>> {
        monotone::signs(&self.monotone, columns)
    }

    /// The transform of columns: none for trees alone, which a monotone map does not change. Trees beside weights see
    /// the columns of the weights.
    pub(in crate::method) fn transform(&self, asked: Transform) -> Transform {
        if self.starts_linear() { asked } else { Transform::None }
    }

    /// Refuses a transform that would change nothing.
    pub(in crate::method) fn check_transform(&self, asked: Transform) -> Result<()> {
        let given = matches!(asked, Transform::Log | Transform::Quantile);
        let why = "scorer=trees, which a monotone transform does not change";
        serves("transform", given, self.starts_linear(), "weights (scorer=linear or linear+trees)", why)
    }

    /// Which columns hold categories.
    pub(in crate::method) fn categorical(&self, columns: &Columns) -> Result<Vec<bool>> {
        let mut all = vec![false; columns.names.len()];
        for name in &self.categories {
            match columns.names.iter().position(|own| own == name) {
                Some(at) => all[at] = true,
                None => return Err(Error::unknown("column", name, columns.names.iter().map(String::as_str))),
            }
        }
        Ok(all)
    }
}

/// What is known of the growing of trees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TreeNotes {
    /// The number of trees.
    pub trees: usize,
    /// Their inner nodes and leaves.
    pub nodes: usize,
    /// The mean worth of held-out units after so many rounds, from 0 on; empty where nothing was held out.
    pub curve: Vec<f64>,
    /// By how much held-out units are worth more with trees, and the standard error of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain: Option<(f64, f64)>,
}

/// The mean of the differences of pairs, and its standard error.
pub(in crate::method) fn paired([before, after]: &[Vec<f64>; 2]) -> Option<(f64, f64)> {
    let n = before.len() as f64;
    if before.len() < 2 {
        return None;
    }
    let differences = || before.iter().zip(after).map(|(a, b)| b - a);
    let mean = differences().sum::<f64>() / n;
    let spread = differences().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    Some((mean, (spread / n).sqrt()))
}

/// A whole number above 0, or `auto`.
pub(in crate::method) fn choice(name: &str, value: &str) -> Result<Choice<usize>> {
    match value {
        "auto" => Ok(Choice::Auto),
        _ => count(name, value).map(Choice::Set).map_err(|_| Error::Setting {
            name: name.into(),
            expected: "auto or a whole number above 0".into(),
            found: value.into(),
        }),
    }
}

/// A number above 0, at most 1.
fn share(name: &str, value: &str) -> Result<Positive> {
    positive(name, value).ok().filter(|share| share.get() <= 1.0).ok_or_else(|| Error::Setting {
        name: name.into(),
        expected: "a number above 0, at most 1".into(),
        found: value.into(),
    })
}
