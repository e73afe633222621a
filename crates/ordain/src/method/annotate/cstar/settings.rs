//! What can be set of the c-star model, in words.

use super::{CStar, Core, CoreBy, LabelFeatures, LabelLoss, LabelScale};
use crate::error::{Error, Result};
use crate::method::Trees;
use crate::method::annotate::annotator::Trainer;
use crate::method::kernels::{KernelBy, Shape};
use crate::method::settings::{TRANSFORM, places};
use crate::structure::star::{MOST_MAX, MOST_SUM};
use crate::task::Setting;
use std::fmt;

pub(super) const TRAINERS: [(&str, Trainer); 2] = [("likelihood", Trainer::Likelihood), ("margin", Trainer::Margin)];
pub(super) const FEATURES: [(&str, LabelFeatures); 5] = [
    ("auto", LabelFeatures::Auto),
    ("scores", LabelFeatures::Scores),
    ("direct", LabelFeatures::Direct),
    ("both", LabelFeatures::Both),
    ("given", LabelFeatures::Given),
];
pub(super) const CORES: [(&str, CoreBy); 2] = [("joint", CoreBy::Joint), ("rest", CoreBy::Rest)];
pub(super) const SCALES: [(&str, LabelScale); 3] =
    [("auto", LabelScale::Auto), ("none", LabelScale::None), ("global", LabelScale::Global)];

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
                range: "auto, scores, direct, both, given",
                default: "auto",
                help: "what labels are scored by: scores, classifiers of each label's own, trained inside; direct, the features themselves; both; given, scores that the data give in columns named score_LABEL; auto, scores or both by validation (scores by margin, with a kernel, or without validation)",
            },
            Setting {
                name: "kernel",
                range: "linear, rbf, poly, laplace, intersection, chi2, auto, given",
                default: "linear",
                help: "what items are compared by, in classifiers and in direct features: linear, rbf exp(-gamma d2), poly (gamma <a,b> + coef0)^degree, laplace exp(-gamma d1), intersection and chi2 of histograms (values of at least 0), auto: the best of them by validation, or given: the data are a Gram matrix, a column per training item",
            },
            Shape::SETTINGS[0],
            Shape::SETTINGS[1],
            Shape::SETTINGS[2],
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
                    name: "core_by",
                    range: "joint, rest",
                    default: "joint",
                    help: "what a core of a given size tells most about: joint, each other label (the sum of what the core tells of each); rest, all other labels as one pattern",
                }
            },)?
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
            TRANSFORM,
            Setting { name: "scale", range: "auto, none, global", default: "auto", help: "scaling of the features: global (mean 0, deviation 1), none, or auto: global where they are dense" },
            Setting { name: "max_iter", range: "a whole number above 0", default: "500, by margin 200", help: "the most steps of one fit, by margin passes over the items" },
            Setting { name: "tol", range: "a number above 0", default: "1e-3", help: "where a fit stops: five steps in a row lower the objective by less than tol² of it each; by margin the duality gap" },
            Setting {
                name: "decide",
                range: "f1, hamming, count, threshold",
                default: "f1, by margin count",
                help: "what the labels that an item is given are best for: f1, the largest expected F1; hamming, labels that are more likely than not; count, as many as the number of labels says; threshold, labels above one probability that is tuned on validation for F1",
            },
            Trees::SETTINGS[0],
            Trees::SETTINGS[1],
            Trees::SETTINGS[2],
            Trees::SETTINGS[3],
            Trees::SETTINGS[4],
            Trees::SETTINGS[5],
            Trees::SETTINGS[6],
            Trees::SETTINGS[7],
            Trees::SETTINGS[8],
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

    pub(super) fn parse_core(&self, value: &str) -> Result<Core> {
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
        let names: Vec<String> = names.split([';', ',']).map(|name| name.trim_ascii().to_owned()).collect();
        let mut seen = names.clone();
        seen.sort_unstable();
        seen.dedup();
        if seen.len() < names.len() || seen.iter().any(String::is_empty) || names.len() > MOST_MAX {
            return Err(wrong(format!("a number, up to {MOST_MAX} different names, or auto")));
        }
        Ok(Core::Names(names))
    }
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

impl CStar {
    /// Refuses a kernel that makes no sense with the other settings.
    pub(super) fn check_kernel(&self) -> Result<()> {
        if self.features == LabelFeatures::Given && !self.kernel.is_linear() {
            return Err(Error::Setting {
                name: "kernel".into(),
                expected: "linear with features=given: scores that the data give have no kernel".into(),
                found: self.kernel.get("kernel").unwrap_or_default(),
            });
        }
        if self.kernel.by == KernelBy::Given && self.scale == LabelScale::Global {
            return Err(Error::Setting {
                name: "scale".into(),
                expected: "auto or none with kernel=given: a Gram matrix is taken as it is".into(),
                found: "global".into(),
            });
        }
        self.kernel.check()
    }
}

pub(super) fn parse_loss(value: &str) -> Result<LabelLoss> {
    if value == "bep" {
        return Ok(LabelLoss::BreakEven);
    }
    places(value).map(LabelLoss::PrecisionAt).ok_or_else(|| Error::Setting {
        name: "loss".into(),
        expected: "bep, or p@K with a number K above 0".into(),
        found: value.into(),
    })
}
