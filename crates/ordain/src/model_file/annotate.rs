//! Annotators in a file.

use super::score::{ExpansionHeader, Place};
use super::{Opened, Stored, Tensors};
use crate::error::Result;
use crate::method::{Annotate, Annotator, CountModel, Decide, LabelNotes, OneVsRest, Trainer};
use crate::score::Score;
use crate::structure::star::Star;
use crate::task::{Facts, Inputs};
use serde::{Deserialize, Serialize};

/// What the header of an annotator says beside what all models have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabelParts {
    /// The vocabulary.
    pub labels: Vec<String>,
    /// What the model was trained for.
    pub trainer: Trainer,
    /// The labels that have links, in the order of the rows of links.
    pub core: Vec<u32>,
    /// The kernel of scores by features, if they have one: a part per label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direct_expansion: Option<ExpansionHeader>,
    /// The kernel of the classifiers, if they have one: a part per label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classifiers_expansion: Option<ExpansionHeader>,
    /// What the labels that an item is given are best for; files of earlier versions have none, and go by the number of labels.
    #[serde(default)]
    pub decide: Decide,
    /// The probability above which labels are given, if it was tuned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
}

/// The scores of labels by features; no weights and no kernel where there are none.
const DIRECT: Place = Place { weights: "direct", expansion: "direct_expansion", trees: "direct_trees" };
/// Those of the classifiers.
const CLASSIFIERS: Place =
    Place { weights: "classifiers/weights", expansion: "classifiers/expansion", trees: "classifiers/trees" };

impl Stored for Annotate {
    type Parts = LabelParts;

    fn parts(model: &Annotator) -> LabelParts {
        LabelParts {
            labels: model.labels.clone(),
            trainer: model.trainer,
            core: model.star.core().to_vec(),
            direct_expansion: model.direct.as_ref().and_then(ExpansionHeader::of),
            classifiers_expansion: ExpansionHeader::of(&model.classifiers.score),
            decide: model.decide,
            threshold: model.threshold,
        }
    }

    fn store(model: &Annotator, to: &mut Tensors) {
        let links: Vec<f64> = (0..model.star.core().len()).flat_map(|c| model.star.links(c)).copied().collect();
        let numbers: Vec<f64> = model.count.numbers.iter().map(|&k| f64::from(k)).collect();
        match &model.direct {
            Some(direct) => DIRECT.store(direct, to),
            None => to.f64s(DIRECT.weights, &[]),
        }
        CLASSIFIERS.store(&model.classifiers.score, to);
        for (name, values) in [
            ("bias", &model.bias[..]),
            ("own", &model.own),
            ("count_bias", &model.count_bias),
            ("links", &links),
            ("classifiers/offset", &model.classifiers.offset),
            ("classifiers/slope", &model.classifiers.slope),
            ("classifiers/shift", &model.classifiers.shift),
            ("count/numbers", &numbers),
            ("count/level", &model.count.level),
            ("count/slope", &model.count.slope),
            ("count/center", &model.count.center),
        ] {
            to.f64s(name, values);
        }
    }

    fn restore(inputs: Inputs, parts: &LabelParts, _: &Facts<LabelNotes>, from: &Opened) -> Result<Annotator> {
        let star = Star::new(parts.labels.len(), &parts.core, &from.f64s("links")?);
        let d = inputs.columns.names.len();
        let direct = DIRECT.restore(parts.direct_expansion.as_ref(), d, from)?;
        let classifiers = CLASSIFIERS.restore(parts.classifiers_expansion.as_ref(), d, from)?;
        let pair = |name: &str| -> Result<[f64; 2]> { from.f64s(name)?.try_into().map_err(|_| from.misshapen()) };
        Ok(Annotator {
            inputs,
            labels: parts.labels.clone(),
            trainer: parts.trainer,
            bias: from.f64s("bias")?,
            direct: (direct != Score::Linear(vec![])).then_some(direct),
            own: from.f64s("own")?,
            count_bias: from.f64s("count_bias")?,
            classifiers: OneVsRest {
                score: classifiers,
                offset: from.f64s("classifiers/offset")?,
                slope: from.f64s("classifiers/slope")?,
                shift: from.f64s("classifiers/shift")?,
            },
            count: CountModel {
                numbers: from.f64s("count/numbers")?.iter().map(|&k| k as u32).collect(),
                level: from.f64s("count/level")?,
                slope: pair("count/slope")?,
                center: pair("count/center")?,
            },
            star: star.map_err(|_| from.refusal.impossible())?,
            decide: parts.decide,
            threshold: parts.threshold,
        })
    }
}
