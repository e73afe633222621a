//! **ordain** learns to put things in order.
//!
//! This library holds all the mathematics and all the file formats: it prints nothing and knows no network. The line
//! through it is *file → [data] → [scorer] → [surrogate] → [risk] → [solver] → [method] → [model_file]*, with
//! [metric] beside it and [ask] on top; each module uses only those before it.
//!
//! ```
//! use ordain::{data, method::{RankMethod, Training}, metric::{self, Convention}, solver::run::Watch};
//! # let dir = tempfile::tempdir().unwrap();
//! # let path = dir.path().join("train.txt");
//! # data::write(&data::synthetic::Synthetic::default().make(), &path)?;
//! let (set, parts) = data::read(&[vec![path]], data::Missing::Error)?;
//! let (train, test) = data::split::hold_out(&set.all());
//! let method: RankMethod = "ranksvm[scale=query,lambda=1]".parse()?;
//! let model = method.fit(&Training::new(&set, &train), &Watch::NOBODY)?;
//! let scores = model.ranker.scores(&set)?;
//! let result = metric::evaluate(&set, &test, &scores, &["ndcg@10".parse()?], &Convention::STANDARD)?;
//! assert!(result.mean(0) > 0.7);
//! # Ok::<(), ordain::Error>(())
//! ```

pub mod ask;
pub mod data;
pub mod error;
pub mod kernel;
pub mod matrix;
pub mod method;
pub mod metric;
pub mod model_file;
pub mod random;
pub mod risk;
pub mod scorer;
pub mod solver;
pub mod structure;
pub mod surrogate;
pub mod traits;

pub use error::{Error, Interrupt, Result};

#[cfg(test)]
#[path = "../tests/common/cases.rs"]
mod cases;

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
