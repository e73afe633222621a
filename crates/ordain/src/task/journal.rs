//! What an interrupted fit leaves behind, so that it can go on to the same result.

use crate::solver::run::Report;
use crate::traits::{State, Stop};

/// The fits of a search so far, in order: finished ones with their results, and the state of the one that was interrupted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Journal {
    finished: Vec<(Vec<f64>, Report)>,
    partial: Option<(State, usize)>,
    read: usize,
}

impl Journal {
    /// The next fit, if it was finished before.
    pub(crate) fn replay(&mut self) -> Option<(Vec<f64>, Report)> {
        let next = self.finished.get(self.read).cloned();
        self.read += usize::from(next.is_some());
        next
    }

    /// The state of the interrupted fit, and its steps so far.
    pub(crate) fn partial(&mut self) -> Option<(State, usize)> {
        self.partial.take()
    }

    /// Writes a fit down.
    pub(crate) fn record(&mut self, theta: &[f64], report: &Report, state: &Option<State>) {
        match state {
            Some(state) => self.partial = Some((by_name(state.clone()), report.iterations)),
            None => {
                self.finished.push((theta.to_vec(), *report));
                self.read = self.finished.len();
            }
        }
    }

    /// The same, to be read from its beginning.
    pub(crate) fn rewound(&self) -> Self {
        Self { read: 0, ..self.clone() }
    }

    /// As named vectors, for a file.
    pub(crate) fn to_state(&self) -> State {
        let stop = |stop: Stop| Stop::ALL.iter().position(|&s| s == stop).unwrap_or(0) as f64;
        let report = |r: &Report| [r.iterations as f64, r.objective, r.gradient, r.gap.unwrap_or(-1.0), stop(r.stop)];
        let mut state = vec![
            ("thetas".to_owned(), self.finished.iter().flat_map(|(theta, _)| theta.clone()).collect()),
            ("reports".to_owned(), self.finished.iter().flat_map(|(_, r)| report(r)).collect()),
        ];
        // fits of parts of the data may have parameters of their own
        let sizes = || self.finished.iter().map(|(theta, _)| theta.len());
        if sizes().zip(sizes().skip(1)).any(|(a, b)| a != b) {
            state.push(("sizes".to_owned(), sizes().map(|size| size as f64).collect()));
        }
        if self.finished.iter().any(|(_, r)| r.rounds.is_some()) {
            let rounds = |r: &Report| r.rounds.map_or(-1.0, |rounds| rounds as f64);
            state.push(("rounds".to_owned(), self.finished.iter().map(|(_, r)| rounds(r)).collect()));
        }
        if let Some((partial, iterations)) = &self.partial {
            state.push(("iterations".to_owned(), vec![*iterations as f64]));
            state.extend(partial.iter().map(|(name, values)| (format!("solver/{name}"), values.clone())));
        }
        state
    }

    /// From the vectors of a file; `None` where they do not fit together.
    pub(crate) fn from_state(state: &State, dim: usize) -> Option<Self> {
        let of = |name: &str| state.iter().find(|(n, _)| n == name).map(|(_, values)| values.as_slice());
        let (thetas, reports) = (of("thetas")?, of("reports")?);
        if dim == 0 || reports.len() % 5 != 0 {
            return None;
        }
        let sizes = match of("sizes") {
            Some(sizes) => sizes.iter().map(|&size| size as usize).collect(),
            None => vec![dim; reports.len() / 5],
        };
        if sizes.len() != reports.len() / 5
            || sizes.iter().try_fold(0usize, |sum, &n| sum.checked_add(n)) != Some(thetas.len())
        {
            return None;
        }
        let rounds = of("rounds").unwrap_or_default();
        if !rounds.is_empty() && rounds.len() != reports.len() / 5 {
            return None;
        }
        let report = |n: usize, r: &[f64]| {
            Some(Report {
                iterations: r[0] as usize,
                objective: r[1],
                gradient: r[2],
                gap: Some(r[3]).filter(|&gap| gap >= 0.0),
                rounds: rounds.get(n).filter(|&&rounds| rounds >= 0.0).map(|&rounds| rounds as usize),
                stop: *Stop::ALL.get(r[4] as usize)?,
            })
        };
        let mut rest = thetas;
        let next = |&size: &usize| {
            let (own, others) = rest.split_at(size);
            rest = others;
            own.to_vec()
        };
        let thetas: Vec<Vec<f64>> = sizes.iter().map(next).collect();
        let finished = thetas.into_iter().zip(reports.chunks_exact(5));
        let finished = finished.enumerate().map(|(n, (theta, r))| Some((theta, report(n, r)?)));
        let finished = finished.collect::<Option<Vec<_>>>()?;
        let own = state.iter().filter_map(|(n, values)| Some((n.strip_prefix("solver/")?.to_owned(), values.clone())));
        let partial = of("iterations").and_then(|n| Some((by_name(own.collect()), *n.first()? as usize)));
        Some(Self { finished, partial, read: 0 })
    }
}

/// In the order of names, as a file gives them back.
fn by_name(mut state: State) -> State {
    state.sort_by(|a, b| a.0.cmp(&b.0));
    state
}
