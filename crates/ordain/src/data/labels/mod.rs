//! Items with labels.

mod arff;
mod gram;
mod label_xml;
pub(in crate::data) mod multilabel;
mod read;
mod retrieval;
mod rows;
mod set;
mod write;

pub use read::{LabelReading, read_labels};
pub use retrieval::{ItemQueries, ItemRows, Retrieval};
pub use set::LabelSet;
pub use write::{side_file, write_labels};
