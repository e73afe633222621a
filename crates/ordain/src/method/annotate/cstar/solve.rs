//! One fit of a c-star model at given settings: by likelihood, by margin, and by rounds of margins where several sets are right.

use super::search::{Point, no_margin};
use super::{CStar, LabelLoss};
use crate::error::{Error, Result};
use crate::method::annotate::annotator::Trainer;
use crate::method::annotate::centre::{Centre, Centred};
use crate::method::annotate::stage::Stage;
use crate::risk::{Empirical, Ridged};
use crate::scorer::labels::{Labels, LabelsWork, Linked};
use crate::solver::block_fw::{BlockFw, objective};
use crate::solver::cccp::{Place, Rounds, cccp};
use crate::solver::lbfgs::Lbfgs;
use crate::solver::run::{Report, Watch, run};
use crate::structure::star::{MaxWork, Star};
use crate::surrogate::star::{StarLikelihood, StarMargin, Target};
use crate::traits::{Blocks, Progress, Scorer, Solver, Stop};

/// The ridge on what the likelihood leaves free but for labels that never occur.
const WEAK: f64 = 1e-6;

/// So many steps in a row that lower the objective by less than was asked end a fit by likelihood. The first steps from a warm start
/// are short, because nothing is known of the curvature: fewer would take them for the end.
const SETTLED: usize = 5;

/// Where a fit ended.
pub(super) struct Solved {
    pub(super) theta: Vec<f64>,
    pub(super) report: Report,
}

impl Solved {
    /// Refuses a margin that ends where it began: with every weight 0, labels come in the order of the file. A fit that was stopped may.
    pub(super) fn checked(self) -> Result<Self> {
        let zero = self.theta.iter().all(|&x| x == 0.0) && self.report.stop != Stop::Interrupted;
        if zero { Err(no_margin()) } else { Ok(self) }
    }
}

impl CStar {
    /// Fits at one point.
    pub(super) fn solve(
        &self,
        stage: &Stage,
        point: &Point,
        start: Option<&[f64]>,
        tol: f64,
        seed: u64,
        watch: &Watch,
    ) -> Result<Solved> {
        let scorer = stage.scorer(self, point.features);
        let n = scorer.labels;
        let dim = scorer.dim() + point.core.len() * n;
        match self.trainer {
            Trainer::Likelihood => {
                let loss = StarLikelihood { labels: n, core: &point.core, cases: &stage.cases };
                let (linked, count) = (Linked { scorer: &scorer, links: dim - scorer.dim() }, stage.cases.len());
                let mut risk = Empirical::new(&linked, &loss, vec![1.0 / count as f64; count]).stopped_by(watch.stop);
                let centre = Centre::new(stage, &scorer, &point.core);
                let mut centred = Centred { risk: &mut risk, centre: &centre, theta: vec![0.0; dim] };
                let strength = self.strengths(&scorer, point);
                let mut ridged = Ridged::new(&mut centred, strength, &stage.curvature(&scorer, &centre, &point.core));
                let mut theta = vec![0.0; dim];
                match start {
                    Some(start) if start.len() == dim => theta.copy_from_slice(start),
                    _ if scorer.own.is_some() => theta[scorer.layout()[1].start] = 1.0,
                    _ => {}
                }
                centre.shift(&mut theta, 1.0);
                let theta = ridged.units(&theta);
                let (theta, report) = {
                    let solver = Lbfgs::new(&mut ridged, 0.0, 0.0, theta)?;
                    let mut solver = Settling { solver, least: tol * tol, small: 0 };
                    let report = run(&mut solver, self.max_iter(), 0, watch)?;
                    (solver.theta().to_vec(), report)
                };
                let mut theta = ridged.theta(&theta);
                centre.shift(&mut theta, -1.0);
                Ok(Solved { theta, report })
            }
            Trainer::Margin => self.solve_margin(stage, point, &scorer, tol, seed, watch),
        }
    }

    fn solve_margin(
        &self,
        stage: &Stage,
        point: &Point,
        scorer: &Labels,
        tol: f64,
        seed: u64,
        watch: &Watch,
    ) -> Result<Solved> {
        let n = scorer.labels;
        let lambda = [point.lambda, point.link_lambda];
        let LabelLoss::PrecisionAt(k) = self.loss else {
            let targets: Vec<Target> = stage.cases.iter().cloned().map(Target::break_even).collect();
            let mut blocks = StarMargin::new(scorer, n, &point.core, &targets, lambda)?;
            let mut solver = BlockFw::new(&mut blocks, tol, seed)?.stopped_by(watch.stop);
            let report = run(&mut solver, self.max_iter(), 0, watch)?;
            return Ok(Solved { theta: solver.theta().to_vec(), report });
        };
        // several sets are right: the best of them at the present parameters, then a convex problem, and again
        let targets: Vec<Option<Target>> =
            stage.cases.iter().cloned().map(|case| Target::precision_at(case, k, n)).collect();
        let kept: Vec<usize> = (0..targets.len()).filter(|&i| targets[i].is_some()).collect();
        let targets: Vec<Target> = targets.into_iter().flatten().collect();
        if targets.is_empty() {
            return Err(Error::Data {
                expected: format!("items that tell good sets of {k} labels from bad ones"),
                found: "none".into(),
            });
        }
        let part = stage.some(&kept);
        let scorer = part.scorer(self, point.features);
        let mut theta = vec![0.0; scorer.dim() + point.core.len() * n];
        if scorer.own.is_some() {
            theta[scorer.layout()[1].start] = 1.0;
        }
        let (core, max_iter) = (&point.core[..], self.max_iter());
        let mut sets = BestSets { scorer: &scorer, core, targets, lambda, tol, seed, max_iter };
        let (theta, _, report) = cccp(&mut sets, Place::new(theta.clone(), theta), &|_| tol, watch)?;
        Ok(Solved { theta, report })
    }

    /// The ridge on every parameter of the likelihood.
    fn strengths(&self, scorer: &Labels, point: &Point) -> Vec<f64> {
        let [direct, own, _] = scorer.layout();
        let mut strength = vec![point.lambda; scorer.dim()];
        strength[..direct.start].fill(WEAK);
        if !own.is_empty() {
            strength[own.start] = WEAK;
        }
        strength.extend(std::iter::repeat_n(point.link_lambda, point.core.len() * scorer.labels));
        strength
    }
}

/// L-BFGS that ends where steps no longer lower the objective by more than a share of it.
///
/// The gradient relative to the one at zero says little of a fit that starts near its end: it would not move at all, and be
/// taken for the fit before. This rule makes at least [`SETTLED`] steps, from wherever it starts.
struct Settling<'a> {
    solver: Lbfgs<'a>,
    /// The share.
    least: f64,
    /// Steps in a row that were below it.
    small: usize,
}

impl Solver for Settling<'_> {
    fn step(&mut self) -> Result<()> {
        let before = self.solver.progress().objective;
        self.solver.step()?;
        let now = self.solver.progress().objective;
        self.small = if before - now <= self.least * now.abs() { self.small + 1 } else { 0 };
        Ok(())
    }

    fn progress(&self) -> Progress {
        let now = self.solver.progress();
        Progress { done: now.done.or_else(|| (self.small >= SETTLED).then_some(Stop::Change)), ..now }
    }

    fn theta(&self) -> &[f64] {
        self.solver.theta()
    }
}

/// The margin over the best right sets of k labels, \[QAP\] Eq. (8), as rounds of convex problems.
struct BestSets<'a> {
    scorer: &'a Labels<'a>,
    core: &'a [u32],
    targets: Vec<Target>,
    lambda: [f64; 2],
    tol: f64,
    seed: u64,
    max_iter: usize,
}

impl Rounds for BestSets<'_> {
    fn fix(&mut self, theta: &[f64]) -> Result<bool> {
        let n = self.scorer.labels;
        let star = Star::new(n, self.core, &theta[self.scorer.dim()..])?;
        let (mut work, mut own, mut s) = (MaxWork::default(), LabelsWork::default(), vec![0.0; n]);
        let mut others = false;
        for (i, target) in self.targets.iter_mut().enumerate() {
            self.scorer.scores(i, theta, &mut s, &mut own);
            let before = std::mem::take(&mut target.right);
            target.complete(&star, &s, &mut work)?;
            others |= target.right != before;
        }
        Ok(others)
    }

    fn value(&mut self, theta: &[f64]) -> Result<f64> {
        let mut blocks = StarMargin::new(self.scorer, self.scorer.labels, self.core, &self.targets, self.lambda)?;
        let strength = blocks.strength();
        objective(&mut blocks, &strength, theta, None)
    }

    /// From zero: the solver goes by its dual, which knows no other start.
    fn solve(&mut self, _: &[f64], watch: &Watch) -> Result<(Vec<f64>, Report)> {
        let mut blocks = StarMargin::new(self.scorer, self.scorer.labels, self.core, &self.targets, self.lambda)?;
        let mut solver = BlockFw::new(&mut blocks, self.tol, self.seed)?.stopped_by(watch.stop);
        let report = run(&mut solver, self.max_iter, 0, watch)?;
        Ok((solver.theta().to_vec(), report))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::scale::Affine;
    use crate::random::Random;
    use crate::solver::bundle::Bundle;
    use crate::solver::cccp::tests::Heard;
    use crate::structure::exhaustive;
    use crate::structure::star::Clamp;
    use crate::surrogate::star::Case;
    use crate::traits::Risk;

    const LAMBDA: [f64; 2] = [0.1, 0.05];

    /// The margin over the right sets set by set: those of the least loss where `right` is none, else these.
    struct Slow<'a> {
        scorer: &'a Labels<'a>,
        core: &'a [u32],
        targets: &'a [Target],
        right: Option<Vec<Vec<u32>>>,
    }

    impl Risk for Slow<'_> {
        fn dim(&self) -> usize {
            self.scorer.dim() + self.core.len() * self.scorer.labels
        }

        fn value(&mut self, theta: &[f64], grad: &mut [f64]) -> Result<f64> {
            let (n, own, m) = (self.scorer.labels, self.scorer.dim(), self.targets.len() as f64);
            let star = Star::new(n, self.core, &theta[own..])?;
            grad.fill(0.0);
            let (mut s, mut total) = (vec![0.0; n], 0.0);
            for (i, target) in self.targets.iter().enumerate() {
                self.scorer.scores(i, theta, &mut s, &mut LabelsWork::default());
                let mut sets: Vec<(f64, Vec<u32>)> = vec![];
                exhaustive::subsets(n, target.k, &mut |set| {
                    let out = |l: &u32| target.case.clamp.get(*l as usize) == Some(&Clamp::Out);
                    let wrong = set.iter().filter(|l| !target.case.yes.contains(l)).count();
                    if !set.iter().any(out) {
                        sets.push((wrong as f64 / target.k as f64, set.to_vec()));
                    }
                });
                let least = sets.iter().fold(f64::INFINITY, |a, (loss, _)| a.min(*loss));
                let best = |sets: &mut dyn Iterator<Item = &(f64, Vec<u32>)>, weight: f64| {
                    sets.map(|(loss, set)| (weight * loss + star.score(&s, set), set.clone()))
                        .fold((f64::NEG_INFINITY, vec![]), |a, b| if b.0 > a.0 { b } else { a })
                };
                let worst = best(&mut sets.iter(), 1.0);
                let right = match &self.right {
                    Some(right) => (star.score(&s, &right[i]), right[i].clone()),
                    None => best(&mut sets.iter().filter(|(loss, _)| *loss < least + 1e-9), 0.0),
                };
                total += (worst.0 - least - right.0) / m;
                for (sign, set) in [(1.0 / m, &worst.1), (-1.0 / m, &right.1)] {
                    let mut d = vec![0.0; n];
                    set.iter().for_each(|&l| d[l as usize] = sign);
                    self.scorer.pull_back(i, &d, &mut grad[..own], &mut LabelsWork::default());
                    star.each_pair(set, |at| grad[own + at] += sign);
                }
            }
            Ok(total)
        }
    }

    /// Rounds of `loss=p@k` on few labels against all sets, one by one.
    #[test]
    fn rounds_never_rise_and_end_where_their_own_sets_are_best() {
        let (mut random, mut most) = (Random::new(11), 0);
        for round in 0..12 {
            let (items, n, k) = (14, 5, 1 + round % 3);
            let units: Vec<u32> = (0..items as u32).collect();
            let values: Vec<f32> = (0..items * 3).map(|_| random.normal() as f32).collect();
            let features = crate::matrix::Features::Dense(crate::matrix::Matrix::new(values, 3));
            let pieces = crate::pieces::Pieces::of_items(items, 3);
            let features = Affine::standard(&features, &pieces, std::iter::once(0..items)).apply(&features);
            let own: Vec<f64> = (0..items * n).map(|_| random.normal()).collect();
            let scorer = Labels {
                labels: n,
                units: &units,
                pieces: &pieces,
                features: (round % 2 == 0).then_some(&features),
                own: Some(&own),
                log_count: None,
            };
            let cases: Vec<Case> = (0..items)
                .map(|_| {
                    let mut labels: Vec<u32> = (0..n as u32).collect();
                    random.shuffle(&mut labels);
                    let yes = 1 + random.below(3);
                    let unknown = usize::from(round % 4 == 3);
                    let mut has = labels[..yes].to_vec();
                    has.sort_unstable();
                    Case::new(n, &has, &labels[yes..yes + unknown])
                })
                .collect();
            let targets: Vec<Target> = cases.into_iter().filter_map(|case| Target::precision_at(case, k, n)).collect();
            // the scorer goes by place: all items tell something
            assert_eq!(targets.len(), items, "round {round}");
            let core: Vec<u32> = (0..(round % 3) as u32).collect();
            let tol = 1e-7;
            let (core, scorer) = (&core[..], &scorer);
            let mut sets = BestSets { scorer, core, targets, lambda: LAMBDA, tol, seed: 1, max_iter: 20_000 };
            let dim = scorer.dim() + core.len() * n;
            let mut start = vec![0.0; dim];
            start[scorer.layout()[1].start] = 1.0;
            let place = Place::new(start.clone(), start);
            let mut heard = Heard::new(&mut sets);
            let (theta, _, report) = cccp(&mut heard, place, &|_| tol, &Watch::NOBODY).unwrap();
            heard.check(tol, &report);
            assert_eq!(report.stop, Stop::Change, "{report:?}");
            assert!(report.gap.unwrap() <= tol, "{report:?}");
            most = most.max(report.rounds.unwrap());
            let values = std::mem::take(&mut heard.values);
            // every J of the way is Eq. (8), by all sets
            let strength: Vec<f64> = (0..dim).map(|j| LAMBDA[usize::from(j >= scorer.dim())]).collect();
            let mut grad = vec![0.0; dim];
            for (theta, value) in &values {
                let mut slow = Slow { scorer, core, targets: &sets.targets, right: None };
                let ridge: f64 = theta.iter().zip(&strength).map(|(t, s)| 0.5 * s * t * t).sum();
                let truth = ridge + slow.value(theta, &mut grad).unwrap();
                assert!((truth - value).abs() < 1e-10, "round {round}: {value}, not {truth}");
            }
            // with the sets of the end fixed, another solver on all sets finds nothing lower
            sets.fix(&theta).unwrap();
            let right = sets.targets.iter().map(|target| target.right.clone()).collect();
            let mut slow = Slow { scorer, core, targets: &sets.targets, right: Some(right) };
            // the ridge of strength 1 that the bundle wants, in units of its own
            let mut ridged = Scaled { risk: &mut slow, unit: strength.iter().map(|s| s.sqrt().recip()).collect() };
            let mut bundle = Bundle::new(&mut ridged, 1.0, 1e-8, vec![0.0; dim]).unwrap();
            let again = run(&mut bundle, 5000, 0, &Watch::NOBODY).unwrap();
            assert!(again.objective - again.gap.unwrap() <= report.objective + 1e-9, "{again:?} {report:?}");
            assert!(again.objective > report.objective - 1e-6, "round {round}: {again:?} {report:?}");
        }
        assert!(most > 1, "{most} rounds at most: nothing to see");
    }

    /// A risk of `unit·θ`.
    struct Scaled<'a> {
        risk: &'a mut dyn Risk,
        unit: Vec<f64>,
    }

    impl Risk for Scaled<'_> {
        fn dim(&self) -> usize {
            self.unit.len()
        }
        fn value(&mut self, theta: &[f64], grad: &mut [f64]) -> Result<f64> {
            let own: Vec<f64> = theta.iter().zip(&self.unit).map(|(t, unit)| t * unit).collect();
            let value = self.risk.value(&own, grad)?;
            grad.iter_mut().zip(&self.unit).for_each(|(g, unit)| *g *= unit);
            Ok(value)
        }
    }
}
