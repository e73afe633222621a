//! Rounds of convex problems, for objectives that are convex once the best of several right answers is fixed.

use super::run::{Report, Watch};
use crate::error::Result;
use crate::traits::Stop;

/// `J(θ) = F(θ) − max over right answers a of ⟨a, θ⟩` with a convex F: convex as soon as the answers are fixed.
pub trait Rounds {
    /// Fixes the answers that are best at some parameters: from there on the objective is convex, nowhere below J, and J at these parameters.
    /// Tells whether they are others than before.
    fn fix(&mut self, theta: &[f64]) -> Result<bool>;
    /// The objective with the answers that are fixed.
    fn value(&mut self, theta: &[f64]) -> Result<f64>;
    /// Minimises it; `from` is where it may start.
    fn solve(&mut self, from: &[f64], watch: &Watch) -> Result<(Vec<f64>, Report)>;
}

/// Where rounds stand before one of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The best parameters so far.
    pub theta: Vec<f64>,
    /// The parameters at which the answers are fixed.
    pub fixed: Vec<f64>,
    /// J at the best parameters; infinite before it is known.
    pub objective: f64,
    /// Rounds that are finished.
    pub rounds: usize,
    /// Steps of all of them.
    pub iterations: usize,
    /// Whether the last of them lowered nothing worth while.
    pub idle: bool,
}

impl Place {
    /// The beginning: parameters, and those at which the first answers are fixed. Where several answers are as good at the first,
    /// the second may choose among them.
    pub fn new(theta: Vec<f64>, fixed: Vec<f64>) -> Self {
        Self { theta, fixed, objective: f64::INFINITY, rounds: 0, iterations: 0, idle: false }
    }
}

/// The convex-concave procedure (Yuille and Rangarajan 2003): fixes the best right answers, minimises what is then convex, and again, until the
/// answers stay, or two rounds one after the other lower the objective by no more than `enough` of it. Gives the parameters, where an interrupted
/// round stood, and the report.
///
/// ```text
/// J(θ_t) = Q_t(θ_t) ≥ Q_t(θ_t+1) ≥ J(θ_t+1),   Q_t the objective with the answers that are best at θ_t
/// ```
///
/// so J never rises, however roughly the convex problems are solved: what does not lower it is not taken. The minimum of a convex
/// problem often lies where two answers are as good, and the other one may lead on: hence the second idle round. The gap is
/// that of the last convex problem. With the right answers of the end no parameters are lower than it by more than that gap and
/// `enough`; other answers may have a lower minimum, and nobody knows how much.
pub fn cccp(
    problem: &mut dyn Rounds,
    mut at: Place,
    enough: &dyn Fn(f64) -> f64,
    watch: &Watch,
) -> Result<(Vec<f64>, Place, Report)> {
    problem.fix(&at.fixed)?;
    if at.objective.is_infinite() {
        at.objective = problem.value(&at.theta)?;
    }
    loop {
        let (next, report) = problem.solve(&at.theta, watch)?;
        let iterations = at.iterations + report.iterations;
        if report.stop == Stop::Interrupted {
            let better = report.objective < at.objective;
            let (theta, objective) = if better { (next, report.objective) } else { (at.theta.clone(), at.objective) };
            let report = Report { objective, iterations, rounds: Some(at.rounds), ..report };
            return Ok((theta, at, report));
        }
        (at.rounds, at.iterations) = (at.rounds + 1, iterations);
        let others = problem.fix(&next)?;
        let value = problem.value(&next)?;
        let fall = at.objective - value;
        let idle = fall <= enough(at.objective);
        let last = !others || idle && at.idle;
        if fall > 0.0 && !(idle && at.idle) {
            (at.theta, at.objective) = (next.clone(), value);
        }
        (at.fixed, at.idle) = (next, idle);
        if last {
            let stop = if report.stop == Stop::Iterations { Stop::Iterations } else { Stop::Change };
            let report = Report { objective: at.objective, iterations, rounds: Some(at.rounds), stop, ..report };
            return Ok((at.theta.clone(), at, report));
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Rounds that write down every J.
    pub(crate) struct Heard<'a> {
        pub(crate) problem: &'a mut dyn Rounds,
        pub(crate) values: Vec<(Vec<f64>, f64)>,
    }

    impl<'a> Heard<'a> {
        pub(crate) fn new(problem: &'a mut dyn Rounds) -> Self {
            Self { problem, values: vec![] }
        }

        /// The objective never rises, no two rounds before the last are idle, and the report is the least of it.
        pub(crate) fn check(&self, enough: f64, report: &Report) {
            let values: Vec<f64> = self.values.iter().map(|(_, value)| *value).collect();
            assert_eq!(report.rounds, Some(values.len() - 1), "{report:?}");
            let mut least = values[0];
            let mut idle = vec![];
            for &value in &values[1..] {
                assert!(value <= least + enough, "{values:?}");
                idle.push(least - value <= enough);
                least = least.min(value);
            }
            let before_last = idle.len().saturating_sub(1);
            assert!(idle[..before_last].windows(2).all(|two| !(two[0] && two[1])), "{values:?}");
            assert!((least..=least + enough).contains(&report.objective), "{values:?} {report:?}");
        }
    }

    impl Rounds for Heard<'_> {
        fn fix(&mut self, theta: &[f64]) -> Result<bool> {
            self.problem.fix(theta)
        }
        fn value(&mut self, theta: &[f64]) -> Result<f64> {
            let value = self.problem.value(theta)?;
            self.values.push((theta.to_vec(), value));
            Ok(value)
        }
        fn solve(&mut self, from: &[f64], watch: &Watch) -> Result<(Vec<f64>, Report)> {
            self.problem.solve(from, watch)
        }
    }

    /// `½(θ − 1/2)² − |θ|`, with minima at 3/2 and −1/2, whose convex problems are solved only half of the way.
    struct Valleys(f64);

    impl Rounds for Valleys {
        fn fix(&mut self, theta: &[f64]) -> Result<bool> {
            let old = std::mem::replace(&mut self.0, if theta[0] < 0.0 { -1.0 } else { 1.0 });
            Ok((old - self.0).abs() > 0.0)
        }
        fn value(&mut self, theta: &[f64]) -> Result<f64> {
            Ok(0.5 * (theta[0] - 0.5).powi(2) - self.0 * theta[0])
        }
        fn solve(&mut self, from: &[f64], _: &Watch) -> Result<(Vec<f64>, Report)> {
            let theta = vec![0.5 * (from[0] + 0.5 + self.0)];
            let objective = self.value(&theta)?;
            let report =
                Report { iterations: 2, objective, gradient: 0.0, gap: Some(0.0), rounds: None, stop: Stop::Gap };
            Ok((theta, report))
        }
    }

    #[test]
    fn every_start_has_its_valley() {
        // from −2 and from −0.1 the answer stays; at 0 the one that is fixed decides
        for (start, fixed, end) in [(-2.0, -2.0, -1.25), (-0.1, -0.1, -0.3), (0.0, 1.0, 0.75), (0.0, -1.0, -0.25)] {
            let mut valleys = Valleys(0.0);
            let mut heard = Heard::new(&mut valleys);
            let place = Place::new(vec![start], vec![fixed]);
            let (theta, at, report) = cccp(&mut heard, place, &|_| 1e-12, &Watch::NOBODY).unwrap();
            assert!((theta[0] - end).abs() < 1e-12 && at.theta == theta, "{start}: {theta:?}");
            assert_eq!((report.stop, report.iterations, report.gap), (Stop::Change, 2, Some(0.0)));
            heard.check(1e-12, &report);
        }
    }
}
