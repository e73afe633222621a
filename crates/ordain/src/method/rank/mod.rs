//! Methods that rank, and the ranker that they fit.

pub mod ballrank;
mod core_documents;
pub mod dorm;
mod journal;
pub(super) mod kernel_search;
mod lists;
pub(super) mod ranker;
pub mod rankmatch;
pub mod ranksvm;
pub(super) mod search;

pub use ballrank::BallRank;
pub use core_documents::Choose;
pub use dorm::Dorm;
pub use journal::Journal;
pub use kernel_search::Kernels;
pub use lists::Subset;
pub use ranker::{Contribution, PlaceProbabilities, Ranker};
pub use rankmatch::RankMatch;
pub use ranksvm::{Documents, RankSvm};
