//! Outputs that are matchings, or sets of labels: the best of them, the sum over all of them. Only numbers come in, never a feature.

pub mod exhaustive;
pub mod matching;
pub mod star;
