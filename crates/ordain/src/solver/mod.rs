//! Minimisers of a ridge plus a risk; none of them knows what an example means.

pub mod newton;
pub mod run;
