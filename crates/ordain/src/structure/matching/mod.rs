//! Documents to places, one to one.

pub mod assignment;
pub mod places;
pub mod subsets;
