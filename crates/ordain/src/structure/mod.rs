//! Outputs that are matchings: the best of them, the sum over all of them. Only numbers come in, never a feature.

pub mod exhaustive;
pub mod matching;
