//! Named methods: settings, `fit`, and what is fitted. Each composes the modules below it.
//!
//! The tasks [`Rank`], [`Annotate`] and [`Match`] list their methods ([`crate::task::Task::METHODS`]); help, Python, tests and
//! documents read these lists. A method is a struct of settings, such as [`RankSvm`], that implements
//! [`crate::task::Method`]. [`AnyMethod`] is one of them by its name, written `ranksvm[lambda=1,scale=query]`.

pub mod annotate;
pub mod auto;
mod coordinates;
mod kernels;
pub mod matching;
mod monotone;
pub mod rank;
mod registry;
mod settings;
pub(crate) mod shards;
mod trees;

pub use annotate::*;
pub use kernels::{KernelBy, KernelChoice, Shape};
pub use matching::*;
pub use rank::*;
pub use registry::AnyMethod;
pub use shards::{Cluster, Joint, Layout, Whereabouts, layouts};
pub use trees::{Scorer, TreeNotes, Trees};

use crate::error::{Error, Result};
use serde::Serialize;

/// A finite number above 0.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
pub struct Positive(f64);

impl Positive {
    /// The number, unless it is not above 0.
    ///
    /// ```
    /// assert!(ordain::method::Positive::new(0.1).is_ok());
    /// assert!(ordain::method::Positive::new(-1.0).is_err());
    /// ```
    pub fn new(x: f64) -> Result<Self> {
        if x.is_finite() && x > 0.0 {
            Ok(Self(x))
        } else {
            Err(Error::Setting {
                name: "number".into(),
                expected: "a finite number above 0".into(),
                found: x.to_string(),
            })
        }
    }

    /// The number itself.
    pub fn get(self) -> f64 {
        self.0
    }
}

/// A value, or its choice by validation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Choice<T> {
    /// By validation; the documented default if there is nothing to validate on.
    Auto,
    /// This one.
    Set(T),
}
