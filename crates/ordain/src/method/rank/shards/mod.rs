//! Rankers whose queries are on other machines: what is asked of each of them, and what a linear method makes of the answers.

mod away;
mod shard;

use crate::data::RankSet;
use crate::error::Result;
use crate::method::Rank;
use crate::method::rank::search::{Drawn, Learner};
use crate::pieces::Node;
use crate::risk::{Ask, Empirical};
use crate::scorer::rows::Rows;
use crate::task::Training;
use crate::traits::Surrogate;
use std::ops::Range;

pub(in crate::method) use crate::method::shards::alone;
pub use away::fit_shards;
pub use shard::Shard;

/// What the examples of all shards come to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::method) struct Whole {
    /// Queries that teach something.
    pub(in crate::method) teaching: usize,
    /// Queries with two different grades.
    pub(in crate::method) uneven: usize,
    /// How many examples there are.
    pub(in crate::method) count: f64,
    /// The sum of [`Spread::totals`].
    pub(in crate::method) total: f64,
}

/// A learner whose examples can be spread over machines.
pub(in crate::method) trait Spread: Learner {
    /// The loss of the examples.
    type Loss: Surrogate;
    /// What an example is.
    fn kind(&self) -> &'static str;
    /// Refuses settings that need all rows on one machine.
    fn check_spread(&self) -> Result<()>;
    /// The loss of the examples.
    fn loss(examples: &Self::Examples) -> &Self::Loss;
    /// Examples of some queries, of a set whose training queries have these grades; there may be none.
    fn examples(&self, data: &Training<'_, Rank>, units: &[u32], grades: &[f64]) -> Result<Drawn<Self::Examples>>;
    /// What the weights of examples are in proportion to, summed over a run of pieces.
    fn totals(&self, _set: &RankSet, _drawn: &Drawn<Self::Examples>, _run: Range<usize>) -> Vec<Node<Vec<f64>>> {
        vec![]
    }
    /// Refuses examples that teach nothing.
    fn enough(&self, whole: &Whole) -> Result<()>;
    /// The weight of each example.
    fn weights(&self, drawn: &Drawn<Self::Examples>, whole: &Whole) -> Result<Vec<f64>> {
        Ok(vec![1.0 / whole.count; Self::loss(&drawn.examples).len()])
    }
}

/// Examples of a shard, whatever the method.
trait Taught: Send + Sync {
    /// The queries that teach something.
    fn units(&self) -> &[u32];
    /// How many examples there are.
    fn count(&self) -> f64;
    /// What weights are in proportion to.
    fn totals(&self, set: &RankSet, run: Range<usize>) -> Vec<Node<Vec<f64>>>;
    /// What they have to say.
    fn nodes(&self, rows: &Rows, whole: &Whole, run: Range<usize>, ask: Ask) -> Result<Option<Vec<Node<Vec<f64>>>>>;
}

struct Lessons<L: Spread> {
    learner: L,
    drawn: Drawn<L::Examples>,
}

impl<L: Spread> Taught for Lessons<L>
where
    L::Examples: Send + Sync,
{
    fn units(&self) -> &[u32] {
        &self.drawn.units
    }

    fn count(&self) -> f64 {
        self.drawn.count
    }

    fn totals(&self, set: &RankSet, run: Range<usize>) -> Vec<Node<Vec<f64>>> {
        self.learner.totals(set, &self.drawn, run)
    }

    fn nodes(&self, rows: &Rows, whole: &Whole, run: Range<usize>, ask: Ask) -> Result<Option<Vec<Node<Vec<f64>>>>> {
        let weights = self.learner.weights(&self.drawn, whole)?;
        Empirical::new(rows, L::loss(&self.drawn.examples), weights).nodes(run, ask)
    }
}
