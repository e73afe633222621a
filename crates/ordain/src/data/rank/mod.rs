//! Queries with graded documents.

mod clicks;
mod label_rankings;
pub(in crate::data) mod letor;
mod pairs;
mod pins;
mod preferences;
pub(in crate::data) mod read;
pub mod resample;
mod rows;
mod rules;
mod scores;
mod set;
pub mod trec;
mod write;

pub use clicks::{ClickFacts, Clicks};
pub use pairs::DocumentPairs;
pub use preferences::{PreferenceFacts, Preferences};
pub use read::{RankReading, read, read_parts, read_rank};
pub use rules::{CapRule, ExclusionRule, PinRule, Rules};
pub use scores::read_scores;
pub use set::{Place, RankSet};
pub use write::{check_ids, write};
