//! The one loop that runs, watches and stops every solver.

use crate::error::{Error, Result};
use crate::traits::{Progress, Solver, Stop};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::atomic::{AtomicBool, Ordering};

/// How a solver ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Steps made.
    pub iterations: usize,
    /// Ridge and risk together.
    pub objective: f64,
    /// Norm of the gradient, relative to the one at zero; 0 of solvers that have none.
    pub gradient: f64,
    /// How far the objective may be above its minimum, of solvers that know; of rounds, that of the last convex problem.
    pub gap: Option<f64>,
    /// Convex problems that were solved one after another, of objectives that are not convex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<usize>,
    /// Why it stopped.
    pub stop: Stop,
}

impl Report {
    /// How near the minimum it came, in the words of its solver.
    pub fn accuracy(&self) -> String {
        match (self.gap, self.rounds) {
            (Some(gap), Some(1)) => format!("duality gap {gap:.1e} in 1 round"),
            (Some(gap), Some(rounds)) => format!("duality gap {gap:.1e} in the last of {rounds} rounds"),
            (Some(gap), None) => format!("duality gap {gap:.1e}"),
            (None, _) => format!("relative gradient {:.1e}", self.gradient),
        }
    }

    /// Says that `max_iter` of these settings ended it, how far it came, and what helps; nothing where it was done before.
    pub fn unfinished(&self, settings: &Map<String, Value>) -> Option<String> {
        if self.stop != Stop::Iterations {
            return None;
        }
        let now = settings.get("max_iter").and_then(Value::as_u64).unwrap_or(self.iterations as u64);
        Some(format!(
            "max_iter={now} was reached at a {}; a larger lambda or max_iter={} helps",
            self.accuracy(),
            now.saturating_mul(2)
        ))
    }
}

/// What somebody outside may do with a long run: watch it, and stop it.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Set it to stop after the present step.
    pub stop: &'a AtomicBool,
    /// Called with the share of the work that is done and a word on it.
    pub tell: &'a (dyn Fn(f64, &str) + Sync),
}

static NEVER: AtomicBool = AtomicBool::new(false);

impl Watch<'static> {
    /// Nobody watches.
    pub const NOBODY: Self = Self { stop: &NEVER, tell: &|_, _| {} };
}

impl Watch<'_> {
    /// Whether the work should stop.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Steps until the solver is done, `max_iter` steps were made, or somebody stops it; `before` were made already.
pub fn run(solver: &mut dyn Solver, max_iter: usize, before: usize, watch: &Watch) -> Result<Report> {
    let mut iterations = before;
    loop {
        let now = solver.progress();
        let stop = now.done.or_else(|| {
            if watch.stopped() { Some(Stop::Interrupted) } else { (iterations >= max_iter).then_some(Stop::Iterations) }
        });
        if let Some(stop) = stop {
            let Progress { objective, gradient, gap, .. } = now;
            return Ok(Report { iterations, objective, gradient, gap, rounds: None, stop });
        }
        match solver.step() {
            // the step is as if it had not been begun
            Err(Error::Interrupted) => {
                let (objective, gradient, gap) = (now.objective, now.gradient, now.gap);
                return Ok(Report { iterations, objective, gradient, gap, rounds: None, stop: Stop::Interrupted });
            }
            other => other?,
        }
        iterations += 1;
    }
}
