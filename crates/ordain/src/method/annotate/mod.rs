//! Methods that annotate, and the annotator that they fit.

pub mod annotator;
mod axes;
mod centre;
pub mod core_choice;
pub mod core_rest;
mod count;
pub mod cstar;
mod decide;
mod given_kernel;
mod gradients;
pub(in crate::method) mod kernel_ridge;
mod one_vs_rest;
mod stage;
mod temperature;
mod tree_labels;

use crate::data::{self, Holds, LabelReading, LabelSet};
use crate::error::Result;
use crate::task::{Methods, Task, Words};
use std::ops::Range;
use std::path::{Path, PathBuf};

pub use annotator::{Annotator, LabelPrediction, LabelReason, LabelWork, Scored, Trainer, ranked};
pub use count::CountModel;
pub use cstar::{CStar, Core, CoreBy, Floor, LabelFeatures, LabelLoss, LabelNotes, LabelScale};
pub use decide::Decide;
pub use one_vs_rest::OneVsRest;

/// The task of annotation: an item and a vocabulary to the labels that fit.
#[derive(Clone, Debug, PartialEq)]
pub enum Annotate {}

impl Task for Annotate {
    const WORDS: &'static Words = &Words {
        name: "annotate",
        does: "annotates",
        unit: ["item", "items"],
        row: ["item", "items"],
        thing: ["label", "labels"],
        curve: ["Precision", "p@k"],
        empty: "it has no label, or all",
        holds: "items with labels",
        file: Holds::Items,
        metrics: &["bep", "bep_learned", "p@5", "ap", "rankloss", "f1"],
    };
    type Set = LabelSet;
    type Reading = LabelReading;
    type Method = CStar;
    type Model = Annotator;
    type Notes = LabelNotes;
    const METHODS: Methods<CStar> = &[("cstar", CStar::default), ("independent", CStar::independent)];

    const CANDIDATES: &'static [&'static [&'static str]] = &[&[
        "independent",
        "cstar",
        "independent[kernel=rbf]",
        "cstar[kernel=rbf]",
        "independent[scorer=trees]",
        "cstar[scorer=trees]",
    ]];

    fn read(parts: &[Vec<PathBuf>], how: &LabelReading) -> Result<(LabelSet, Vec<Range<usize>>)> {
        data::read_labels(parts, how)
    }

    fn write(set: &LabelSet, path: &Path) -> Result<()> {
        data::write_labels(set, path)
    }
}
