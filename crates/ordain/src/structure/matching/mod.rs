//! Documents to places, one to one.

pub mod places;
pub mod subsets;
