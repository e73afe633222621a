//! Queries with graded documents.

pub(in crate::data) mod letor;
mod pairs;
mod pins;
pub(in crate::data) mod read;
pub mod resample;
mod rows;
mod scores;
mod set;
pub mod trec;
mod write;

pub use pairs::DocumentPairs;
pub use read::{RankReading, read, read_parts, read_rank};
pub use scores::read_scores;
pub use set::RankSet;
pub use write::{check_ids, write};
