//! Two sides with candidate edges between them.

mod delaunay;
mod edges;
pub(in crate::data) mod point_features;
pub(in crate::data) mod points;
pub(in crate::data) mod read;
mod rows;
mod set;
mod shape_context;
mod write;

pub use delaunay::{delaunay, delaunay_degrees};
pub use edges::{Clash, Clashing, EdgeRows};
pub use point_features::{Cloud, PointFeature};
pub use read::{MatchReading, Split, is_frames, is_matches, read_match_splits, read_matches};
pub use set::{MatchSet, Problem, Truth};
pub use shape_context::{Context, mean_distance, normalised, shape_contexts};
pub use write::{write_contexts, write_matches};
