//! Annotators in a file.

use super::{Opened, Stored, Tensors};
use crate::error::Result;
use crate::method::{Annotate, Annotator, CountModel, LabelNotes, OneVsRest, Trainer};
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
}

impl Stored for Annotate {
    type Parts = LabelParts;

    fn parts(model: &Annotator) -> LabelParts {
        LabelParts { labels: model.labels.clone(), trainer: model.trainer, core: model.star.core().to_vec() }
    }

    fn store(model: &Annotator, to: &mut Tensors) {
        let links: Vec<f64> = (0..model.star.core().len()).flat_map(|c| model.star.links(c)).copied().collect();
        let numbers: Vec<f64> = model.count.numbers.iter().map(|&k| f64::from(k)).collect();
        for (name, values) in [
            ("bias", &model.bias[..]),
            ("direct", &model.direct),
            ("own", &model.own),
            ("count_bias", &model.count_bias),
            ("links", &links),
            ("classifiers/weights", &model.classifiers.weights),
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
        let pair = |name: &str| -> Result<[f64; 2]> { from.f64s(name)?.try_into().map_err(|_| from.misshapen()) };
        Ok(Annotator {
            inputs,
            labels: parts.labels.clone(),
            trainer: parts.trainer,
            bias: from.f64s("bias")?,
            direct: from.f64s("direct")?,
            own: from.f64s("own")?,
            count_bias: from.f64s("count_bias")?,
            classifiers: OneVsRest {
                weights: from.f64s("classifiers/weights")?,
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
        })
    }
}
