//! Methods that annotate, and the annotator that they fit.

pub mod annotator;
mod centre;
pub mod core_choice;
mod count;
pub mod cstar;
mod one_vs_rest;
mod stage;

pub use annotator::{Annotator, LabelPrediction, LabelReason, LabelWork, Scored, Trainer};
pub use count::CountModel;
pub use cstar::{CStar, Core, FittedTags, LabelFeatures, LabelLoss, LabelScale, TagFacts, TagTraining};
pub use one_vs_rest::OneVsRest;
