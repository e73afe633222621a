//! Methods that match, and the matcher that they fit.

mod boosting;
mod crossed;
mod decide;
pub(crate) mod local;
pub mod matcher;
pub mod matchmap;
pub mod matchmargin;
mod precision;
pub(super) mod search;
mod shards;
mod space;
mod temperature;

use crate::data::{self, Holds, MatchReading, MatchSet};
use crate::error::Result;
use crate::method::registry::methods;
use crate::task::{Methods, Task, Words};
use std::ops::Range;
use std::path::{Path, PathBuf};

pub use decide::{DecideNotes, MatchDecide};
pub use matcher::{MatchNotes, MatchPrediction, Matched, Matcher, Operating, Sums};
pub use matchmap::MatchMap;
pub use matchmargin::MatchMargin;
pub use precision::{Precision, PrecisionBin, Reached};
pub use shards::{ProblemShard, fit_problem_shards};

/// The task of matching: two sides with candidate edges to a one-to-one matching.
#[derive(Clone, Debug, PartialEq)]
pub enum Match {}

impl Task for Match {
    const WORDS: &'static Words = &Words {
        name: "match",
        does: "matches",
        unit: ["problem", "problems"],
        row: ["edge", "edges"],
        thing: ["edge", "edges"],
        curve: ["", ""],
        empty: "what is right is not known, or there is nothing to match",
        holds: "two sides with edges between them",
        file: Holds::Problems,
        metrics: &["hamming", "accuracy", "precision", "recall", "f1", "nll", "ece"],
    };
    type Set = MatchSet;
    type Reading = MatchReading;
    type Method = MatchMethod;
    type Model = Matcher;
    type Notes = MatchNotes;
    const METHODS: Methods<MatchMethod> = MatchMethod::ALL;

    const CANDIDATES: &'static [&'static [&'static str]] = &[
        &[
            "matchmap",
            "matchmargin",
            "matchmap[scorer=linear+trees]",
            "matchmap[kernel=rbf]",
            "matchmargin[kernel=rbf]",
        ],
        &[
            "matchmap[null=true]",
            "matchmargin[null=true]",
            "matchmap[null=true,scorer=linear+trees]",
            "matchmap[kernel=rbf,null=true]",
            "matchmargin[kernel=rbf,null=true]",
        ],
    ];

    /// With a null where an item of the lesser side of a problem stays alone.
    fn candidates(set: &MatchSet, units: &[u32]) -> &'static [&'static str] {
        let alone = |&p: &u32| {
            let problem = set.problem(p as usize);
            problem.is_known() && problem.matched().count() < problem.left.len().min(problem.right.len())
        };
        Self::CANDIDATES[usize::from(units.iter().any(alone))]
    }

    fn read(parts: &[Vec<PathBuf>], how: &MatchReading) -> Result<(MatchSet, Vec<Range<usize>>)> {
        data::read_matches(parts, how)
    }

    fn write(set: &MatchSet, path: &Path) -> Result<()> {
        data::write_matches(set, path)
    }
}

methods! {
    /// A method that matches.
    MatchMethod of Match {
        /// The exponential family over matchings.
        "matchmap" => MatchMap,
        /// Max-margin.
        "matchmargin" => MatchMargin,
    }
}
