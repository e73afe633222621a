//! Methods that match, and the matcher that they fit.

pub mod matcher;
pub mod matchmap;
pub mod matchmargin;
pub(super) mod search;

pub use matcher::{FittedMatch, Match, MatchFacts, MatchPrediction, MatchTraining, Matcher, Sums};
pub use matchmap::MatchMap;
pub use matchmargin::MatchMargin;
