//! **ordain** learns to put things in order: rankings, label sets and matchings.
//!
//! This library holds all the mathematics, all the file formats and all the answers. It prints nothing and uses no network.
//!
//! | task | data | method | what it minimises |
//! |---|---|---|---|
//! | rank | queries with graded documents | [`method::RankSvm`] | squared or plain hinge over all pairs; linear or with a kernel |
//! | | | [`method::RankMatch`] | likelihood of right orders; gives probabilities of places |
//! | | | [`method::Dorm`] | structured hinge on small lists |
//! | | | [`method::BallRank`] | kernel ranking by a minimum enclosing ball of core pairs |
//! | | | [`method::ListNet`] | cross-entropy of the probabilities of coming first |
//! | | | [`method::SvmMap`] | structural hinge of average precision on whole lists |
//! | | | [`method::QuadRank`] | likelihood or structured hinge of orders, with links between items that queries share |
//! | | | [`method::RankNet`] | logistic loss over all pairs; linear or with hidden units |
//! | | | [`method::StructRank`] | likelihood of all preferences of a query together |
//! | | | [`method::Ccrf`] | likelihood of grades as a Gaussian field of documents that are alike |
//! | | | [`method::SortNet`] | squared error of a symmetric network that compares two documents |
//! | | | [`method::RankBoost`] | exponential loss of pairs, by thresholds on columns |
//! | | | [`method::AdaRank`] | a metric of orders, by columns |
//! | | | [`method::FRank`] | fidelity of pairs, by thresholds on columns |
//! | | | [`method::QbRank`] | squared hinge of pairs under a quadratic bound, by trees |
//! | | | [`method::IsoRank`] | distance from the nearest scores in the right order, by trees |
//! | annotate | items with labels | [`method::CStar`] | likelihood or structured hinge of label sets with links |
//! | match | two sides with candidate edges | [`method::MatchMap`] | likelihood of whole matchings |
//! | | | [`method::MatchMargin`] | structured hinge of matchings, with a temperature |
//!
//! A method is a struct of settings. [`task::Method::fit`] makes a [`task::Fitted`] model of it. A model scores a
//! [`task::Ready`] set, and [`answer`] turns predictions into plain data.
//!
//! ```
//! use ordain::{data, method::{Choice, Positive, RankSvm}, metric::Convention, solver::run::Watch};
//! use ordain::task::{Method, Model, Training};
//! # let dir = tempfile::tempdir().unwrap();
//! # let path = dir.path().join("train.txt");
//! # data::write(&data::synthetic::Synthetic::default().make(), &path)?;
//! let set = data::read(path)?;
//! let (train, test) = data::split::hold_out(&set.all());
//! let method = RankSvm { lambda: Choice::Set(Positive::new(1.0)?), ..RankSvm::default() };
//! let fitted = method.fit(&Training::new(&set, &train), &Watch::NOBODY)?;
//! let ready = fitted.model.prepare(&set)?;
//! let result = fitted.model.evaluate(&ready, &test, &["ndcg@10".parse()?], &Convention::STANDARD)?;
//! assert!(result.mean(0) > 0.7);
//! # Ok::<(), ordain::Error>(())
//! ```

pub mod answer;
pub mod ask;
pub mod data;
pub mod error;
pub mod export;
pub mod features;
pub mod kernel;
pub mod labelling;
pub mod link;
pub mod matrix;
pub mod method;
pub mod metric;
pub mod model_file;
pub mod picture;
pub mod pieces;
pub mod random;
pub mod risk;
pub mod score;
pub mod scorer;
pub mod solver;
pub mod structure;
pub mod surrogate;
pub mod task;
pub mod traits;
pub mod tree;

pub use error::{Error, Interrupt, Result};

#[cfg(test)]
#[path = "../tests/common/cases.rs"]
mod cases;

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
