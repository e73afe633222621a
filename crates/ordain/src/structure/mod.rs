//! Outputs that are matchings, sets of labels, orders or quadratic assignments: the best of them, the sum over all of them.
//! Only numbers come in, never a feature.

pub mod exhaustive;
pub mod matching;
pub mod quadratic;
pub mod ranking;
pub mod ruled;
pub mod star;
