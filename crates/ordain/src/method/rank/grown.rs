//! What methods share that grow trees alone: how large these are, and how they are added.

use crate::data::scale::Scale;
use crate::error::{Error, Result};
use crate::method::rank::staged::{self, Job, Made, rows_of};
use crate::method::settings::{above_0, count, positive, shown};
use crate::method::trees::{BINS, choice};
use crate::method::{Choice, Positive};
use crate::score::{Score, TreeScore};
use crate::solver::boost::{Boost, Course, Table};
use crate::solver::stages::Ran;
use crate::task::Setting;
use crate::traits::Surrogate;
use crate::tree::{Cuts, Growth};
use serde_json::{Map, Value};
use std::ops::Range;

/// How trees are grown and added.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grown {
    /// Their number.
    pub rounds: Choice<usize>,
    /// The leaves of each.
    pub leaves: usize,
    /// What each is multiplied by.
    pub rate: Positive,
    /// The fewest rows of a leaf.
    pub least_rows: usize,
}

impl Default for Grown {
    fn default() -> Self {
        Self { rounds: Choice::Auto, leaves: 8, rate: Positive(0.1), least_rows: 20 }
    }
}

/// The most trees, where their number is chosen.
pub(super) const MOST: usize = 150;
/// The most leaves of a tree.
const MOST_LEAVES: usize = 4096;

impl Grown {
    pub(super) const SETTINGS: [Setting; 4] = [
        staged::rounds("the number of trees: auto by validation (at most 150; 100 if nothing can be chosen)"),
        Setting {
            name: "leaves",
            range: "a whole number from 2 to 4096",
            default: "8",
            help: "the most leaves of each tree",
        },
        Setting {
            name: "rate",
            range: "a number above 0, at most 1",
            default: "0.1",
            help: "what each tree is multiplied by",
        },
        Setting {
            name: "least_rows",
            range: "a whole number above 0",
            default: "20",
            help: "the fewest rows of a leaf",
        },
    ];

    pub(super) fn get(&self, name: &str) -> Option<String> {
        match name {
            "rounds" => Some(shown(&self.rounds, usize::to_string)),
            "leaves" => Some(self.leaves.to_string()),
            "rate" => Some(self.rate.get().to_string()),
            "least_rows" => Some(self.least_rows.to_string()),
            _ => None,
        }
    }

    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "rounds" => self.rounds = choice(name, value)?,
            "leaves" => self.leaves = count(name, value)?,
            "rate" => self.rate = positive(name, value)?,
            "least_rows" => self.least_rows = count(name, value)?,
            _ => {}
        }
        Ok(())
    }

    pub(super) fn check(&self) -> Result<()> {
        let wrong = |at: usize, found: String| {
            let Setting { name, range, .. } = Self::SETTINGS[at];
            Err(Error::Setting { name: name.into(), expected: range.into(), found })
        };
        staged::above_0(self.rounds)?;
        above_0("least_rows", self.least_rows)?;
        if !(2..=MOST_LEAVES).contains(&self.leaves) {
            return wrong(1, self.leaves.to_string());
        }
        if self.rate.get() > 1.0 {
            return wrong(2, self.rate.get().to_string());
        }
        Ok(())
    }

    /// All but the rounds, as they stand in a model.
    pub(super) fn used(&self) -> Map<String, Value> {
        Map::from_iter([
            ("leaves".to_owned(), self.leaves.into()),
            ("rate".to_owned(), self.rate.get().into()),
            ("least_rows".to_owned(), self.least_rows.into()),
        ])
    }

    /// Grows trees on a loss of the queries of each course, and their weights.
    ///
    /// Leaves take the exact minimum of what the loss asks (no ridge), of all rows and columns, so that no step of a rate up to 1 raises a loss
    /// whose curvature is an upper bound.
    pub(super) fn run<S: Surrogate + Send>(
        &self,
        job: &Job<'_>,
        loss: impl Fn(&[u32]) -> S,
        weight: impl Fn(&[u32]) -> Vec<f64>,
        examples: (f64, &'static str),
    ) -> Result<Vec<Made>> {
        let set = job.data.set;
        (job.watch.tell)(0.0, "cutting columns into bins");
        let cuts = Cuts::learn(&set.features, &rows_of(job.data, &job.units), &vec![false; set.features.cols()], BINS)?;
        let bins = cuts.bin(&set.features)?;
        let losses: Vec<S> = job.courses.iter().map(|(on, _)| loss(on)).collect();
        let course = |(loss, (on, held)): (_, &(Vec<u32>, Vec<u32>))| Course {
            loss,
            weight: weight(on),
            spans: on.iter().map(|&q| set.span(q as usize)).collect::<Vec<Range<usize>>>(),
            start: vec![0.0; set.rows()],
            held: rows_of(job.data, held),
        };
        let courses: Vec<Course<'_, S>> = losses.iter().zip(&job.courses).map(course).collect();
        let growth = Growth {
            leaves: self.leaves,
            ridge: 0.0,
            least_rows: self.least_rows.min(u32::MAX as usize) as u32,
            ..Growth::default()
        };
        let boost = Boost {
            rounds: job.pace.rounds,
            rate: self.rate.get(),
            share: 1.0,
            patience: job.pace.patience,
            growth,
            seed: job.data.seed,
        };
        let table = Table { features: &set.features, cuts: &cuts, bins: &bins };
        let made = boost.run(table, &courses, &|n, scores| job.judge(n, scores), None, job.watch)?;
        Ok(vec![Made {
            score: Score::Trees(TreeScore { weights: vec![], forests: vec![made.forest] }),
            scale: Scale::None,
            global: None,
            ran: Ran {
                best: made.report.iterations,
                curve: made.curve,
                worth: made.worth,
                mean: made.best,
                stop: made.report.stop,
            },
            objective: made.report.objective,
            chosen: Map::new(),
            examples,
        }])
    }
}
