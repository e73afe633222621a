//! A fit whose rows are on other machines: what every task asks of them.
//!
//! A set is cut into shards, each a run of [pieces](crate::pieces). Where the fit runs no row is known; it
//! asks all shards the same question through a [`Cluster`] and merges what they say. A question says everything that its answer
//! depends on, so that a shard that was lost and made anew answers as the old one would have. All sums are nodes of the one tree of pieces: the
//! model has the bytes of a fit on one machine.

pub(in crate::method) mod field;
mod layout;
mod order;
pub(in crate::method) mod parts;
pub(in crate::method) mod remote;
pub(in crate::method) mod wire;

use crate::error::{Error, Result};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub use layout::{Joint, Layout, layouts};

/// Where the rows of a set are.
pub struct Whereabouts {
    /// The machines.
    pub cluster: Arc<dyn Cluster>,
    /// The pieces of each shard, one run behind the other.
    pub shards: Vec<Range<usize>>,
    /// Whether documents have weights.
    pub weighted: bool,
}

/// Machines that hold shards.
pub trait Cluster: Send + Sync + 'static {
    /// Asks every shard, by [`Shard::answer`](crate::method::Shard::answer); each is told what is common to all and what is its own. Answers are in the order of the shards.
    ///
    /// # Errors
    ///
    /// What a shard or a machine said ([`crate::Error::Outside`]), and [`crate::Error::Interrupted`] once the flag is set.
    fn ask(&self, common: &[u8], own: &[Vec<u8>], stop: Option<&AtomicBool>) -> Result<Vec<Vec<u8>>>;

    /// From now on every shard is what [`Shard::transformed`](crate::method::Shard::transformed) makes of it.
    ///
    /// # Errors
    ///
    /// What a shard or a machine said.
    fn transform(&self, by: &[u8]) -> Result<()>;
}

/// Refuses a setting that needs all rows on one machine.
pub(in crate::method) fn alone(name: &str, value: &str, found: &str, right: bool) -> Result<()> {
    match right {
        true => Ok(()),
        false => Err(Error::Setting {
            name: name.into(),
            expected: format!("{value} on several machines (anything else on a sample of the data, on one machine)"),
            found: found.into(),
        }),
    }
}
