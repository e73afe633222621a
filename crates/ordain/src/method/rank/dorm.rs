//! DORM: max-margin on the lists of rankmatch.

use crate::data::scale::Scale;
use crate::data::transform::Transform;
use crate::error::{Error, Result};
use crate::matrix::dot;
use crate::method::rank::exportable::{EXPORTABLE, Exportable};
use crate::method::rank::lists::{self, DRAWS, ListSettings, SHARE, Subset, draw, draws, draws_text, draws_value};
use crate::method::rank::rankmatch::{LAMBDA, PlaceDiscount};
use crate::method::rank::search::{Choices, Drawn, Learner, Problem, Solved, Start, bundle, mean_risk, searched};
use crate::method::rank::shards::{Spread, Whole, alone};
use crate::method::settings::{self, Common, SCALE, TRANSFORM, accuracy, list_loss, name_of, one_of, ridge, steps};
use crate::method::{Choice, Positive, Rank};
use crate::risk::Empirical;
use crate::scorer::rows::{self, Rows};
use crate::solver::bundle::Bundle;
use crate::solver::cccp::{Place, Rounds, cccp};
use crate::solver::run::{Report, Watch, run};
use crate::surrogate::lists::{FixedOrders, ListCases, ListLoss, ListMargin, MarginWork, RightOrders};
use crate::task::{About, Method, Setting, Training};
use crate::traits::{Risk, Scorer, Solver, State, Stop, Surrogate};
use serde_json::{Map, Value};
use std::sync::atomic::AtomicBool;

/// DORM: the right order of each subset should beat every other by what that one costs.
///
/// ```text
/// min over w:   λ/2·|w|² + mean over subsets  max over y [ loss(y) + s·c(y) ] − s·c(right)
/// ```
///
/// Le and Smola 2007, as the max-margin counterpart in \[EFM\] section 5.1: with the same subset, draws and seed it sees precisely the
/// subsets of [`crate::method::RankMatch`]. Fitted by a bundle method to a duality gap. On whole lists its minimum on real data is
/// w = 0 (the worst order costs almost 1 whatever the scores), so that is refused.
///
/// Where several orders are right, `ties` says which of them counts. `best` is the tightest bound on the loss, \[QAP\] Eq. (8): of all orders of the least
/// loss the one with the largest score, by [`cccp`]: rounds that fix the best right orders and solve what is then convex. Its first right orders
/// go by the start, or where that is zero by the direction from the mean document to what stands right. `average` is convex, but
/// documents of one grade have to lie together for it: of one relevant document at 3 and others at 2, 0 and −2 it learns w = 0. `random` takes one
/// right order of each subset by the seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dorm {
    /// Strength of the ridge.
    pub lambda: Choice<Positive>,
    /// Transform of columns before they are scaled.
    pub transform: Transform,
    /// Scaling of the features.
    pub scale: Choice<Scale>,
    /// What the model is to be exported to, which restricts the choice.
    pub exportable: Exportable,
    /// Documents of a subset.
    pub subset: Subset,
    /// Which right order of documents of equal grade counts; not the sum.
    pub ties: RightOrders,
    /// Subsets per query, as a share of documents times M; `None` takes all pairs (M = 2).
    pub draws: Option<Positive>,
    /// What a wrong order costs.
    pub loss: ListLoss,
    /// The most planes of one fit.
    pub max_iter: usize,
    /// The gap at which a fit stops, relative to the objective.
    pub tol: Positive,
}

const TIES: [(&str, RightOrders); 3] =
    [("best", RightOrders::Best), ("average", RightOrders::Average), ("random", RightOrders::Random)];
/// The λ that are tried on validation, from the strongest; planes grow with 1/λ.
const PATH: [f64; 6] = [10.0, 3.0, 1.0, 0.3, 0.1, 0.03];

impl Default for Dorm {
    fn default() -> Self {
        Self {
            lambda: Choice::Auto,
            transform: Transform::Auto,
            scale: Choice::Auto,
            exportable: Exportable::No,
            subset: Subset::Grades,
            ties: RightOrders::Best,
            draws: Some(SHARE),
            loss: ListLoss::Ndcg,
            max_iter: 200,
            tol: Positive(1e-3),
        }
    }
}

impl Dorm {
    /// What can be set.
    pub const SETTINGS: &'static [Setting] = &[
        TRANSFORM,
        SCALE,
        Exportable::SETTING,
        ridge("strength of the ridge: auto by validation (else 0.1); c=1/lambda is accepted too"),
        Setting {
            name: "subset",
            range: "R or a number from 2 to 16",
            default: "R",
            help: "random subsets of M documents with one of every grade at least (R: as many as there are grades)",
        },
        Setting {
            name: "ties",
            range: "best, average, random",
            default: "best",
            help: "where several orders are right: the best at the weights, in rounds (the tightest bound), the mean of orders by grade, or one of them at random",
        },
        DRAWS,
        Setting {
            name: "loss",
            range: "ndcg, p@k, mrr, wta",
            default: "ndcg",
            help: "what a wrong order costs: 1 minus this metric",
        },
        steps("200", "the most planes of one fit, with ties=best of one round"),
        accuracy(
            "1e-3",
            "the duality gap at which a fit stops, and with ties=best the last fall from one round to the next, relative to the objective",
        ),
    ];

    /// Rounds of convex problems, from a start or from the state of an interrupted round.
    fn solve_rounds(&self, problem: &Problem<ListMargin>, from: Start<()>, watch: &Watch) -> Result<Solved<()>> {
        let (lambda, tol) = (problem.lambda, self.tol.get());
        let mut orders = BestOrders::new(problem.rows, &problem.drawn.examples, lambda, tol, self.max_iter);
        let place = match from.state {
            Some((state, _)) => orders.restore(state, &from.theta),
            None => orders.begin(from.theta),
        };
        let enough = |objective: f64| tol * objective.abs().max(tol);
        let (theta, place, report) = cccp(&mut orders, place, &enough, watch)?;
        let state = (report.stop == Stop::Interrupted).then(|| orders.state(&place));
        Ok(Solved { theta, report, carry: (), state })
    }
}

impl Dorm {
    fn lists(&self) -> ListSettings {
        let (discount, ties) = (PlaceDiscount::Linear, self.ties);
        ListSettings { subset: self.subset, places: 0, discount, ties, draws: self.draws }
    }

    /// The margin of lists that were drawn.
    fn margin(&self, data: &Training<'_, Rank>, drawn: Drawn<ListCases>) -> Result<Drawn<ListMargin>> {
        let Drawn { units, examples, count, weights, kind } = drawn;
        let grades = units.iter().map(|&q| &data.set.grades[data.set.span(q as usize)]);
        let examples = ListMargin::new(examples, grades, self.loss)?;
        Ok(Drawn { units, examples, count, weights, kind })
    }
}

impl Spread for Dorm {
    type Loss = ListMargin;

    fn kind(&self) -> &'static str {
        "subset"
    }

    fn check_spread(&self) -> Result<()> {
        let ties = TIES.iter().find(|(_, ties)| *ties == self.ties).map_or("", |(name, _)| name);
        alone("ties", "average", ties, self.ties == RightOrders::Average)
    }

    fn loss(examples: &ListMargin) -> &ListMargin {
        examples
    }

    fn examples(&self, data: &Training<'_, Rank>, units: &[u32], grades: &[f64]) -> Result<Drawn<ListMargin>> {
        super::refuse_weights(data.set, "dorm on several machines")?;
        self.margin(data, lists::cases(data, units, &self.lists(), grades)?)
    }

    fn enough(&self, whole: &Whole) -> Result<()> {
        lists::enough(whole.count)
    }
}

impl Method<Rank> for Dorm {
    fn name(&self) -> &'static str {
        "dorm"
    }

    fn about(&self) -> About {
        About {
            good_for: "the margin on small lists, to set beside rankmatch",
            measured_on: "OHSUMED",
            figures: &[("ndcg@10", 0.4346), ("map", 0.4436)],
        }
    }

    fn settings(&self) -> &'static [Setting] {
        Self::SETTINGS
    }

    fn get(&self, name: &str) -> Option<String> {
        match name {
            "exportable" => Some(name_of(&self.exportable, &EXPORTABLE).into()),
            "subset" => Some(self.subset.to_string()),
            "ties" => Some(name_of(&self.ties, &TIES).into()),
            "draws" => Some(draws_text(self.draws)),
            "loss" => Some(self.loss.to_string()),
            _ => settings::common(name, self.transform, &self.scale, &self.lambda, self.max_iter, self.tol),
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let Self { transform, scale, lambda, max_iter, tol, .. } = self;
        if (Common { transform, scale, lambda, max_iter, tol }).set(name, value)? {
            return Ok(());
        }
        match name {
            "exportable" => self.exportable = one_of("exportable", value, &EXPORTABLE)?,
            "subset" => self.subset = value.parse()?,
            "ties" => self.ties = one_of("ties", value, &TIES)?,
            "draws" => self.draws = draws(value)?,
            _ => self.loss = list_loss(value)?,
        }
        Ok(())
    }

    /// Refuses settings that do not go together.
    fn check(&self) -> Result<()> {
        settings::check(self.scale, self.max_iter)?;
        self.exportable.check(self.scale, self.transform)?;
        if self.subset == Subset::Full {
            return Err(Error::Setting {
                name: "subset".into(),
                expected: "R or a number of documents: on whole lists the margin of dorm is smallest at w = 0, which ranks nothing (rankmatch takes whole lists)".into(),
                found: self.subset.to_string(),
            });
        }
        lists::check(self.subset, self.draws)
    }

    fn transform(&self) -> Transform {
        self.transform
    }

    searched!();
}

impl Learner for Dorm {
    type Examples = ListMargin;
    type Carry = ();

    fn choices(&self) -> Choices {
        Choices::new(self.scale, self.lambda, LAMBDA, &PATH).exported(self.exportable)
    }

    fn draw(&self, data: &Training<'_, Rank>, units: &[u32]) -> Result<Drawn<ListMargin>> {
        if self.ties == RightOrders::Best {
            super::refuse_weights(data.set, "dorm with ties=best")?;
        }
        self.margin(data, draw(data, units, &self.lists())?)
    }

    fn solve(&self, problem: &Problem<ListMargin>, from: Start<()>, watch: &Watch) -> Result<Solved<()>> {
        if self.ties == RightOrders::Best {
            return self.solve_rounds(problem, from, watch);
        }
        self.descend(&mut *self.risk(problem, watch.stop), problem.lambda, from, watch)
    }

    fn risk<'a>(&self, problem: &Problem<'a, ListMargin>, stop: &'a AtomicBool) -> Box<dyn Risk + 'a> {
        mean_risk(problem, stop)
    }

    fn descend(&self, risk: &mut dyn Risk, lambda: f64, from: Start<()>, watch: &Watch) -> Result<Solved<()>> {
        bundle(risk, lambda, (self.tol.get(), self.max_iter), from, watch)
    }

    fn used(&self) -> Map<String, Value> {
        let own = [
            ("subset".into(), self.subset.to_string().into()),
            ("ties".into(), TIES.iter().find(|(_, ties)| *ties == self.ties).map_or("", |(name, _)| name).into()),
            ("draws".into(), draws_value(self.draws)),
            ("loss".into(), self.loss.to_string().into()),
            ("max_iter".into(), self.max_iter.into()),
            ("tol".into(), self.tol.get().into()),
        ];
        Map::from_iter(own.into_iter().chain(self.exportable.written()))
    }
}

/// The margin over the best right orders, as rounds of convex problems.
struct BestOrders<'a> {
    rows: &'a Rows<'a>,
    margin: &'a ListMargin,
    weight: f64,
    lambda: f64,
    tol: f64,
    max_iter: usize,
    /// The right orders that are fixed, as the values of places, and the slope of their scores.
    right: Vec<f64>,
    tilt: Vec<f64>,
    /// The last convex problem, and the slope that it had: its planes, turned, bound the next one too.
    planes: Option<(State, Vec<f64>)>,
    /// An interrupted convex problem to go on with, and its steps so far.
    resume: Option<(State, usize)>,
    /// Steps of the last convex problem.
    steps: usize,
}

impl<'a> BestOrders<'a> {
    fn new(rows: &'a Rows<'a>, margin: &'a ListMargin, lambda: f64, tol: f64, max_iter: usize) -> Self {
        let weight = 1.0 / margin.lists() as f64;
        let (right, tilt) = (vec![], vec![]);
        Self { rows, margin, weight, lambda, tol, max_iter, right, tilt, planes: None, resume: None, steps: 0 }
    }

    /// The best right places at some parameters, and the slope of their scores, with all places centred.
    fn right_at(&self, theta: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (mut right, mut tilt) = (vec![], vec![0.0; theta.len()]);
        let (mut of_rows, mut of_lists) = (rows::Work::default(), MarginWork::default());
        for n in 0..self.margin.len() {
            let mut s = vec![0.0; self.rows.span(n).len()];
            self.rows.scores(n, theta, &mut s, &mut of_rows);
            let mut own = vec![0.0; self.margin.span(n).len()];
            self.margin.best_right(n, &s, &mut own, &mut of_lists);
            s.fill(0.0);
            self.margin.add_centred(n, &own, &mut s);
            s.iter_mut().for_each(|d| *d *= self.weight);
            self.rows.pull_back(n, &s, &mut tilt, &mut of_rows);
            right.extend(own);
        }
        (right, tilt)
    }

    /// At zero all right orders are as good: there the direction decides in which right documents lie.
    fn begin(&self, theta: Vec<f64>) -> Place {
        let zero = theta.iter().all(|&t| t == 0.0);
        let fixed = if zero { self.right_at(&theta).1 } else { theta.clone() };
        Place::new(theta, fixed)
    }

    fn state(&self, at: &Place) -> State {
        let mut state = self.planes.as_ref().map_or(vec![], |(state, _)| state.clone());
        state.push(("start".into(), at.theta.clone()));
        state.push(("fixed".into(), at.fixed.clone()));
        let counts = [at.rounds, at.iterations, self.steps, usize::from(at.idle)].map(|n| n as f64);
        state.push(("rounds".into(), [&counts[..], &[at.objective]].concat()));
        state
    }

    fn restore(&mut self, state: State, theta: &[f64]) -> Place {
        let of = |name: &str| state.iter().find(|(n, _)| n == name).map_or(vec![], |(_, values)| values.clone());
        let (start, fixed, rounds) = (of("start"), of("fixed"), of("rounds"));
        if start.len() != theta.len() || fixed.len() != theta.len() || rounds.len() != 5 {
            return Place::new(theta.to_vec(), theta.to_vec());
        }
        self.resume = Some((state, rounds[2] as usize));
        Place {
            theta: start,
            fixed,
            objective: rounds[4],
            rounds: rounds[0] as usize,
            iterations: rounds[1] as usize,
            idle: rounds[3] > 0.0,
        }
    }
}

impl Rounds for BestOrders<'_> {
    fn fix(&mut self, theta: &[f64]) -> Result<bool> {
        let (right, tilt) = self.right_at(theta);
        let others = right != self.right;
        (self.right, self.tilt) = (right, tilt);
        Ok(others)
    }

    fn value(&mut self, theta: &[f64]) -> Result<f64> {
        let loss = FixedOrders { margin: self.margin, right: &self.right };
        let mut risk = Empirical::new(self.rows, &loss, vec![self.weight; loss.len()]);
        Ok(risk.value(theta, &mut vec![0.0; theta.len()])? + 0.5 * self.lambda * dot(theta, theta))
    }

    fn solve(&mut self, from: &[f64], watch: &Watch) -> Result<(Vec<f64>, Report)> {
        let loss = FixedOrders { margin: self.margin, right: &self.right };
        let mut risk = Empirical::new(self.rows, &loss, vec![self.weight; loss.len()]).stopped_by(watch.stop);
        let mut solver = Bundle::new(&mut risk, self.lambda, self.tol, from.to_vec())?;
        let mut before = 0;
        if let Some((state, steps)) = self.resume.take() {
            solver.restore(&state);
            before = steps;
        } else if let Some((planes, tilt)) = &self.planes {
            let shift: Vec<f64> = tilt.iter().zip(&self.tilt).map(|(old, new)| old - new).collect();
            solver.recall(planes, &shift);
        }
        let report = run(&mut solver, self.max_iter, before, watch)?;
        let (theta, state) = (solver.theta().to_vec(), solver.state());
        self.planes = Some((state, self.tilt.clone()));
        self.steps = report.iterations;
        Ok((theta, report))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::RankSet;
    use crate::data::scale::Scaling;
    use crate::data::synthetic::Synthetic;
    use crate::solver::cccp::tests::Heard;

    /// Rounds on lists of five documents of three grades, so that some are tied in every list.
    fn with_rounds<T>(dorm: &Dorm, lambda: f64, make: impl FnOnce(BestOrders, &ListMargin, &Rows) -> T) -> T {
        let set: RankSet =
            Synthetic { queries: 30, documents: (6, 12), features: 5, grades: 3, ..Synthetic::default() }.make();
        let all = set.all();
        let data = Training::new(&set, &all);
        let drawn = dorm.draw(&data, &all).unwrap();
        let scaling = Scaling::learn(Scale::Query, &set, &all);
        let rows = Rows::new(&set, &drawn.units, &scaling);
        let orders = BestOrders::new(&rows, &drawn.examples, lambda, dorm.tol.get(), 2000);
        make(orders, &drawn.examples, &rows)
    }

    fn five(loss: ListLoss, tol: f64) -> Dorm {
        Dorm { subset: Subset::Of(5), draws: Some(Positive(0.1)), loss, tol: Positive(tol), ..Dorm::default() }
    }

    /// J by the loss itself, which takes the best right orders at whatever scores it is given.
    fn bound(loss: &ListMargin, rows: &Rows, lambda: f64, theta: &[f64]) -> (f64, Vec<f64>) {
        let count = loss.lists() as f64;
        let mut risk = Empirical::new(rows, loss, vec![1.0 / count; loss.len()]);
        let mut grad = vec![0.0; theta.len()];
        let value = risk.value(theta, &mut grad).unwrap() + 0.5 * lambda * dot(theta, theta);
        grad.iter_mut().zip(theta).for_each(|(g, t)| *g += lambda * t);
        (value, grad)
    }

    #[test]
    fn rounds_never_rise_and_end_where_their_own_right_orders_are_best() {
        let mut most = 0;
        for loss in [ListLoss::Ndcg, ListLoss::Precision(1), ListLoss::Precision(3), ListLoss::Wta] {
            for lambda in [0.3, 0.03] {
                with_rounds(&five(loss, 1e-8), lambda, |mut orders, margin, rows| {
                    let place = orders.begin(vec![0.0; 5]);
                    let mut heard = Heard::new(&mut orders);
                    let enough = 1e-8;
                    let (theta, _, report) = cccp(&mut heard, place, &|_| enough, &Watch::NOBODY).unwrap();
                    heard.check(enough, &report);
                    assert_eq!(report.stop, Stop::Change, "{loss:?} {lambda}: {report:?}");
                    // every J of the way is the bound of Eq. (8), not that of some fixed orders
                    for (theta, value) in &heard.values {
                        assert!((bound(margin, rows, lambda, theta).0 - value).abs() < 1e-10, "{loss:?} {lambda}");
                    }
                    most = most.max(report.rounds.unwrap());
                    // with the right orders of the end fixed, another solver finds nothing lower
                    orders.fix(&theta).unwrap();
                    orders.planes = None;
                    let (_, again) = orders.solve(&[0.0; 5], &Watch::NOBODY).unwrap();
                    assert!(again.objective > report.objective - 1e-6, "{loss:?} {lambda}: {again:?} {report:?}");
                    let slow = plain(&mut |at| orders.value(at).unwrap(), &theta);
                    assert!(slow > report.objective - 1e-6, "{loss:?} {lambda}: {slow} {report:?}");
                });
            }
        }
        assert!(most > 2, "{most} rounds at most: nothing to see");
    }

    /// The least value along all coordinates and some directions, by halving steps.
    fn plain(value: &mut dyn FnMut(&[f64]) -> f64, start: &[f64]) -> f64 {
        let mut random = crate::random::Random::new(7);
        let (mut at, mut best, mut step) = (start.to_vec(), value(start), 0.1);
        while step > 1e-7 {
            let mut better = false;
            for _ in 0..6 * start.len() {
                let way: Vec<f64> = start.iter().map(|_| random.normal()).collect();
                for sign in [step, -step] {
                    let there: Vec<f64> = at.iter().zip(&way).map(|(t, w)| t + sign * w).collect();
                    let found = value(&there);
                    if found < best {
                        (at, best, better) = (there, found, true);
                    }
                }
            }
            step *= if better { 1.0 } else { 0.5 };
        }
        best
    }

    #[test]
    fn slopes_of_the_bound_agree_with_differences() {
        for loss in [ListLoss::Ndcg, ListLoss::Precision(2), ListLoss::Wta] {
            with_rounds(&five(loss, 1e-3), 0.1, |_, margin, rows| {
                let mut random = crate::random::Random::new(3);
                for _ in 0..5 {
                    let theta: Vec<f64> = (0..5).map(|_| 0.5 * random.normal()).collect();
                    let (_, grad) = bound(margin, rows, 0.1, &theta);
                    for j in 0..5 {
                        let at = |by: f64| {
                            let mut moved = theta.clone();
                            moved[j] += by;
                            bound(margin, rows, 0.1, &moved).0
                        };
                        let (up, down) = ((at(1e-6) - at(0.0)) / 1e-6, (at(0.0) - at(-1e-6)) / 1e-6);
                        // at a kink the slope is between both sides
                        let (low, high) = (up.min(down) - 1e-5, up.max(down) + 1e-5);
                        assert!((low..=high).contains(&grad[j]), "{loss:?} {j}: {} {low} {high}", grad[j]);
                    }
                }
            });
        }
    }

    /// Stopped in any round after any number of its steps, the rest ends in the same bytes.
    #[test]
    fn an_interrupted_round_goes_on_to_the_same_bytes() {
        struct Broken<'a, 'b>(&'a mut BestOrders<'b>, usize, usize);
        impl Rounds for Broken<'_, '_> {
            fn fix(&mut self, theta: &[f64]) -> Result<bool> {
                self.0.fix(theta)
            }
            fn value(&mut self, theta: &[f64]) -> Result<f64> {
                self.0.value(theta)
            }
            fn solve(&mut self, from: &[f64], watch: &Watch) -> Result<(Vec<f64>, Report)> {
                if self.1 > 0 {
                    self.1 -= 1;
                    return self.0.solve(from, watch);
                }
                let most = std::mem::replace(&mut self.0.max_iter, self.2);
                let (theta, report) = self.0.solve(from, watch)?;
                self.0.max_iter = most;
                Ok((theta, Report { stop: Stop::Interrupted, ..report }))
            }
        }
        let dorm = five(ListLoss::Precision(1), 1e-5);
        let enough = |objective: f64| 1e-5 * objective.max(1e-5);
        let whole = with_rounds(&dorm, 0.01, |mut orders, _, _| {
            let place = orders.begin(vec![0.0; 5]);
            cccp(&mut orders, place, &enough, &Watch::NOBODY).unwrap()
        });
        let rounds = whole.2.rounds.unwrap();
        assert!(rounds > 2, "{:?}", whole.2);
        for (round, steps) in [(0, 0), (0, 5), (1, 0), (1, 2), (rounds - 1, 1)] {
            let state = with_rounds(&dorm, 0.01, |mut orders, _, _| {
                let place = orders.begin(vec![0.0; 5]);
                let stopped = cccp(&mut Broken(&mut orders, round, steps), place, &enough, &Watch::NOBODY).unwrap();
                assert_eq!((stopped.2.stop, stopped.2.rounds), (Stop::Interrupted, Some(round)));
                orders.state(&stopped.1)
            });
            let again = with_rounds(&dorm, 0.01, |mut orders, _, _| {
                let place = orders.restore(state, &[0.0; 5]);
                cccp(&mut orders, place, &enough, &Watch::NOBODY).unwrap()
            });
            let bits = |theta: &[f64]| theta.iter().map(|t| t.to_bits()).collect::<Vec<u64>>();
            assert_eq!(bits(&again.0), bits(&whole.0), "stopped in round {round} after {steps} steps");
            assert_eq!(again.2, whole.2);
        }
    }
}
