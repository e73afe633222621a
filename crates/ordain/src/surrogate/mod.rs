//! Losses in score space; none of them sees a feature.

pub mod average_precision;
pub mod listnet;
pub mod lists;
pub mod matching;
pub mod pair_hinge;
pub mod pair_logistic;
pub mod ranking;
pub mod star;
