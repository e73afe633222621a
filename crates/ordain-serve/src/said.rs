//! What an annotator says of one item, for programs that show labels.

use crate::models::Loaded;
use crate::native::items;
use crate::problem::Result;
use crate::rows::Row;
use ordain::ask::{Count, Known, precision};
use ordain::method::{Annotate, Annotator, LabelWork, Trainer, ranked};
use ordain::task::{Model as _, Ready};

/// The labels of an item.
pub(crate) struct Said {
    /// All labels, best first, with their probabilities where the model has them.
    pub(crate) labels: Vec<(String, Option<f64>)>,
    /// Those that the model gives.
    pub(crate) chosen: Vec<String>,
    /// The expected precision of the best labels, of a model with probabilities.
    pub(crate) precision: Option<f64>,
}

/// The labels of an item of a set.
pub(crate) fn said(model: &Annotator, on: &Ready<'_, Annotate>, unit: usize) -> ordain::Result<Said> {
    let mut work = LabelWork::default();
    let item = model.score(on, unit)?;
    let said = model.predict_item(&item, &[], &mut work)?;
    let known = Known { count: Count::Learned, clamp: &[], skipped: &[] };
    let name = |label: u32| model.labels[label as usize].clone();
    let chance = |label: u32| (model.trainer == Trainer::Likelihood).then(|| said.values[label as usize]);
    Ok(Said {
        labels: ranked(&said.values).into_iter().map(|label| (name(label), chance(label))).collect(),
        chosen: said.chosen.iter().map(|&label| name(label)).collect(),
        precision: precision(model, &item, &known, &mut work)?,
    })
}

/// The labels of a row that was sent.
pub(crate) fn said_of(loaded: &Loaded, row: Row<'_, '_>) -> Result<Said> {
    let fitted = loaded.annotator()?;
    let ready = fitted.model.prepare_owned(items(fitted, std::iter::once((None, row)), 1)?)?;
    Ok(said(&fitted.model, &ready, 0)?)
}
