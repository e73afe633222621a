//! Parameters to scores and back; none of them sees an answer.

pub mod edges;
pub mod items;
pub mod kernel_rows;
pub mod labels;
pub mod pairs;
pub mod rows;
