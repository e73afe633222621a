//! Parameters to scores and back; none of them sees an answer.

pub mod comparison;
pub mod edges;
pub mod field;
pub mod items;
pub mod kernel_rows;
pub mod labels;
pub mod network;
pub mod pairs;
pub mod rows;
