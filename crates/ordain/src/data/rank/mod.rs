//! Queries with graded documents.

pub(in crate::data) mod letor;
pub(in crate::data) mod read;
pub mod resample;
mod rows;
mod set;
pub mod trec;
mod write;

pub use read::{read, read_parts};
pub use set::RankSet;
pub use write::{check_ids, write};
