//! The losses of orders with links: against enumeration and finite differences.
#![allow(clippy::unwrap_used)] // a test may panic

use crate::cases::cases;
use ordain::data::Columns;
use ordain::data::RankSet;
use ordain::data::scale::Scaling;
use ordain::matrix::{Features, Matrix};
use ordain::random::Random;
use ordain::risk::Empirical;
use ordain::scorer::items::{ItemIndex, Items, NO_ITEM};
use ordain::scorer::rows::Rows;
use ordain::solver::block_fw::{BlockFw, objective};
use ordain::solver::bundle::Bundle;
use ordain::solver::run::{Watch, run};
use ordain::surrogate::lists::ListLoss;
use ordain::surrogate::ranking::{
    MarginWork, PlaceDesign, Places, RankingCase, RankingLikelihood, RankingMargin, RankingTarget, RankingWork,
    mean_places,
};
use ordain::traits::{Risk, Scorer, Solver, Stop, Surrogate};

const DESIGNS: [PlaceDesign; 3] = [PlaceDesign::Distance, PlaceDesign::Product, PlaceDesign::Head];

/// Some lists of items with features, grades and a core; items recur.
struct Lists {
    set: RankSet,
    index: ItemIndex,
    places: Places,
    k: usize,
}

/// The same lists as whole rankings: every document has a place of its own.
fn whole(lists: Lists) -> Lists {
    Lists { places: Places::whole(lists.places.design()).unwrap(), ..lists }
}

fn lists(random: &mut Random, design: PlaceDesign, count: usize) -> Lists {
    let (k, core) = (1 + random.below(3), random.below(3));
    let mut index = ItemIndex::new(6, (0..core as u32).map(|c| 2 * c + 1).collect());
    let (mut values, mut grades, mut bounds, mut names) = (vec![], vec![], vec![0], vec![]);
    for q in 0..count {
        let n = 1 + random.below(5);
        let mut items: Vec<u32> = (0..6).collect();
        random.shuffle(&mut items);
        items.truncate(n);
        if random.below(3) == 0 {
            items[0] = NO_ITEM;
        }
        index.push(items);
        values.extend((0..2 * n).map(|_| random.normal() as f32));
        grades.extend((0..n).map(|_| random.below(3) as f64));
        bounds.push(grades.len());
        names.push(q.to_string());
    }
    let columns = Columns::named(vec!["a".into(), "b".into()]);
    let set = RankSet::new(Features::Dense(Matrix::new(values, 2)), columns, grades, bounds, names).unwrap();
    let values: Vec<f64> = (0..k).map(|j| 1.0 / ((j + 2) as f64).log2()).collect();
    Lists { set, index, places: Places::new(&values, design).unwrap(), k }
}

impl Lists {
    fn grades(&self, n: usize) -> &[f64] {
        &self.set.grades[self.set.span(n)]
    }

    /// Places of a list that have an order.
    fn head(&self, n: usize) -> usize {
        if self.places.is_whole() { self.set.span(n).len() } else { self.k }
    }

    fn core(&self, n: usize) -> Vec<u32> {
        self.index.inside(n).iter().map(|&(_, document)| document).collect()
    }

    /// Every order of all documents of a list, with its score at some parameters.
    fn orders(&self, n: usize, theta: &[f64], visit: &mut dyn FnMut(&[usize], f64)) {
        let (of, items) = (self.index.of(n), self.index.items);
        let own: Vec<f64> = (self.set.span(n))
            .zip(of)
            .map(|(row, &item)| {
                let x = |j: usize| f64::from(self.set.features.value(row, j));
                theta[0] * x(0)
                    + theta[1] * x(1)
                    + theta.get(2 + item as usize).filter(|_| item != NO_ITEM).unwrap_or(&0.0)
            })
            .collect();
        let k = self.head(n);
        let value = |j: usize| if j < k { 1.0 / ((j + 2) as f64).log2() } else { 0.0 };
        let design = |j: usize, l: usize| match self.places.design() {
            // the last place of a whole ranking is as far from the first as the tail of a list
            PlaceDesign::Distance if self.places.is_whole() => j.abs_diff(l) as f64 / (k.max(2) - 1) as f64,
            PlaceDesign::Distance => (j.min(k) as f64 - l.min(k) as f64).abs() / k as f64,
            PlaceDesign::Product => value(j) * value(l),
            PlaceDesign::Head => f64::from(u8::from(j < k && l < k)),
        };
        let mut order: Vec<usize> = (0..of.len()).collect();
        permutations(&mut order, 0, &mut |order| {
            // order[i] is the place of document i
            let mut f: f64 = order.iter().zip(&own).map(|(&place, s)| s * value(place)).sum();
            for (c, core) in self.index.core.iter().enumerate() {
                let Some(at) = of.iter().position(|item| item == core) else { continue };
                for (i, &item) in of.iter().enumerate().filter(|&(_, &item)| item != NO_ITEM) {
                    // one link for each pair inside the core
                    if i != at && !self.index.core[..c].contains(&item) {
                        f += theta[2 + items * (1 + c) + item as usize] * design(order[at], order[i]);
                    }
                }
            }
            visit(order, f);
        });
    }
}

fn permutations(order: &mut Vec<usize>, from: usize, visit: &mut dyn FnMut(&[usize])) {
    if from == order.len() {
        return visit(order);
    }
    for i in from..order.len() {
        order.swap(from, i);
        permutations(order, from + 1, visit);
        order.swap(from, i);
    }
}

/// Whether an order follows the grades as far as the head shows it.
fn follows(order: &[usize], grades: &[f64], k: usize) -> bool {
    let pairs = |i: usize| (0..grades.len()).map(move |j| (i, j));
    (0..grades.len())
        .flat_map(pairs)
        .all(|(i, j)| grades[i] <= grades[j] || order[i] < order[j] || order[i].min(order[j]) >= k)
}

fn theta(random: &mut Random, dim: usize) -> Vec<f64> {
    (0..dim).map(|_| random.normal()).collect()
}

#[test]
fn the_likelihood_is_that_of_all_orders_and_its_gradient_that_of_differences() {
    let mut random = Random::new(5);
    for round in 0..cases(60) as usize {
        let lists = lists(&mut random, DESIGNS[round % 3], 4);
        let units = lists.set.all();
        let rows = Rows::new(&lists.set, &units, &Scaling::None);
        let scorer = Items::new(&rows, &lists.index);
        let mut work = RankingWork::default();
        let case = |n: usize| RankingCase::new(lists.grades(n), lists.core(n), &lists.places, &mut work).unwrap();
        let all: Vec<RankingCase> = (0..units.len()).map(case).collect();
        let theta = theta(&mut random, scorer.dim());
        for sum in [false, true] {
            let loss = RankingLikelihood { places: &lists.places, cases: &all, sum };
            let mut risk = Empirical::new(&scorer, &loss, vec![0.25; 4]);
            let mut grad = vec![0.0; theta.len()];
            let value = risk.value(&theta, &mut grad).unwrap();
            // by all orders: those of the tail are counted alike on both sides
            let mut truth = 0.0;
            for n in 0..units.len() {
                let (mut z, mut right, mut mean, mut count) = (0.0, 0.0, 0.0, 0.0);
                lists.orders(n, &theta, &mut |order, f| {
                    z += f.exp();
                    if follows(order, lists.grades(n), lists.k) {
                        (right, mean, count) = (right + f.exp(), mean + f, count + 1.0);
                    }
                });
                let tail: f64 = (1..=lists.grades(n).len().saturating_sub(lists.k)).map(|x| x as f64).product();
                truth += 0.25 * if sum { z.ln() - right.ln() } else { (z / tail).ln() - mean / count };
            }
            assert!((value - truth).abs() < 1e-10 * (1.0 + truth.abs()), "{round} {sum}: {value}, not {truth}");
            for j in 0..theta.len() {
                let mut at = |step: f64| {
                    let mut moved = theta.clone();
                    moved[j] += step;
                    risk.value(&moved, &mut vec![0.0; theta.len()]).unwrap()
                };
                let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert!((slope - grad[j]).abs() < 1e-7, "{round} {sum} {j}: {} not {slope}", grad[j]);
            }
        }
    }
}

/// Where documents stand in the mean of all right orders, by counting and by the sum over orders.
#[test]
fn mean_places_are_those_of_all_right_orders() {
    let mut random = Random::new(9);
    for round in 0..cases(100) as usize {
        let lists = lists(&mut random, DESIGNS[round % 3], 3);
        for n in 0..3 {
            let (grades, core, places) = (lists.grades(n), lists.core(n), &lists.places);
            let case = RankingCase::new(grades, core.clone(), places, &mut RankingWork::default()).unwrap();
            let mean = mean_places(grades, &core, places);
            // minus the slope of the likelihood at zero
            let loss = RankingLikelihood { places, cases: std::slice::from_ref(&case), sum: false };
            let (zero, mut slope) = (vec![0.0; mean.len()], vec![0.0; mean.len()]);
            loss.value(0, &zero, &mut slope, &mut RankingWork::default()).unwrap();
            for (lean, slope) in case.lean(places).iter().zip(&slope) {
                assert!((lean + slope).abs() < 1e-12, "{round}: {lean} and {slope}");
            }
            // of whole rankings by going through them all
            let mean = mean_places(grades, &core, &Places::whole(PlaceDesign::Product).unwrap());
            let (mut truth, mut count) = (vec![0.0; mean.len()], 0.0);
            let (len, value) = (grades.len(), |j: usize| 1.0 / ((j + 2) as f64).log2());
            permutations(&mut (0..len).collect(), 0, &mut |order| {
                if follows(order, grades, len) {
                    count += 1.0;
                    order.iter().zip(&mut truth).for_each(|(&place, truth)| *truth += value(place));
                    for (c, &at) in core.iter().enumerate() {
                        for i in (0..len).filter(|&i| !core[..=c].contains(&(i as u32))) {
                            truth[len * (1 + c) + i] += value(order[at as usize]) * value(order[i]);
                        }
                    }
                }
            });
            for (mean, truth) in mean.iter().zip(truth) {
                assert!((mean - truth / count).abs() < 1e-12, "{round}: {mean} and {}", truth / count);
            }
        }
    }
}

/// The structured hinge by all orders, for another solver; its ridge is of strength 1 in units of its own.
struct Slow<'a> {
    lists: &'a Lists,
    targets: &'a [(usize, RankingTarget)],
    loss: ListLoss,
    unit: Vec<f64>,
}

/// What an order costs: 1 minus the metric, at the head places.
fn cost(loss: ListLoss, grades: &[f64], order: &[usize], k: usize) -> f64 {
    let mut sorted = grades.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let discount = |j: usize| if j < k { 1.0 / ((j + 2) as f64).log2() } else { 0.0 };
    let relevant = grades.iter().filter(|&&g| g > 0.0).count();
    let gained = |value: &dyn Fn(f64) -> f64, of: &dyn Fn(usize) -> f64| {
        order.iter().zip(grades).map(|(&place, &g)| value(g) * of(place)).sum::<f64>()
    };
    let gain = |g: f64| g.exp2() - 1.0;
    1.0 - match loss {
        ListLoss::Ndcg => {
            let ideal: f64 = sorted.iter().enumerate().map(|(j, &g)| gain(g) * discount(j)).sum();
            gained(&gain, &discount) / ideal
        }
        ListLoss::Precision(at) => {
            let hit = gained(&|g| f64::from(u8::from(g > 0.0)), &|j| f64::from(u8::from(j < at)));
            hit / relevant.min(at).max(1) as f64
        }
        ListLoss::Mrr => gained(&|g| f64::from(u8::from(g > 0.0)), &|j| if j < k { 1.0 / (j + 1) as f64 } else { 0.0 }),
        ListLoss::Wta => gained(&|g| f64::from(u8::from(g >= sorted[0])), &|j| f64::from(u8::from(j == 0))),
    }
}

impl Slow<'_> {
    /// The hinge of all lists with the right orders that they have, and a slope of it.
    fn hinge(&self, theta: &[f64]) -> (f64, Vec<f64>) {
        let (mut total, mut slope, m) = (0.0, vec![0.0; theta.len()], self.targets.len() as f64);
        for (n, target) in self.targets {
            let (grades, k) = (self.lists.grades(*n), self.lists.head(*n));
            let mut worst = (f64::NEG_INFINITY, vec![]);
            let (mut least, mut right) = (f64::INFINITY, (f64::NEG_INFINITY, vec![], 0.0));
            self.lists.orders(*n, theta, &mut |order, f| {
                let cost = cost(self.loss, grades, order, k);
                least = least.min(cost);
                if cost + f > worst.0 {
                    worst = (cost + f, order.to_vec());
                }
                let last = self.lists.places.of(order.len()).0.len() - 1;
                if order.iter().zip(&target.right).all(|(&place, &class)| place.min(last) == class as usize) {
                    right = (f, order.to_vec(), cost);
                }
            });
            assert!(right.2 < least + 1e-9, "the right order has the least loss");
            total += (worst.0 - least - right.0) / m;
            // the score is linear: what a parameter adds to an order is its score where this one is 1
            for (j, slope) in slope.iter_mut().enumerate() {
                let mut one = vec![0.0; theta.len()];
                one[j] = 1.0;
                self.lists.orders(*n, &one, &mut |order, f| {
                    *slope += if order == worst.1 { f / m } else { 0.0 } - if order == right.1 { f / m } else { 0.0 };
                });
            }
        }
        (total, slope)
    }
}

impl Risk for Slow<'_> {
    fn dim(&self) -> usize {
        self.unit.len()
    }

    fn value(&mut self, theta: &[f64], grad: &mut [f64]) -> ordain::Result<f64> {
        let own: Vec<f64> = theta.iter().zip(&self.unit).map(|(t, unit)| t * unit).collect();
        let (value, slope) = self.hinge(&own);
        grad.iter_mut().zip(slope).zip(&self.unit).for_each(|((g, slope), unit)| *g = slope * unit);
        Ok(value)
    }
}

#[test]
fn the_margin_is_that_of_all_orders_and_its_gap_is_right() {
    let mut random = Random::new(6);
    let losses = [ListLoss::Ndcg, ListLoss::Wta, ListLoss::Precision(1), ListLoss::Precision(2), ListLoss::Mrr];
    for round in 0..cases(36) as usize {
        let (mut lists, loss) = (lists(&mut random, DESIGNS[round % 3], 6), losses[round % losses.len()]);
        if round % 2 == 1 && lists.places.design() != PlaceDesign::Head {
            lists = whole(lists);
        }
        let loss = if let ListLoss::Precision(k) = loss { ListLoss::Precision(k.min(lists.k)) } else { loss };
        if loss == ListLoss::Mrr {
            // one relevant document at most
            for n in 0..6 {
                let span = lists.set.span(n);
                lists.set.grades[span.clone()].fill(0.0);
                lists.set.grades[span.end - 1] = 1.0;
            }
        }
        let target =
            |n: usize| Some((n, RankingTarget::new(lists.grades(n), lists.core(n), &lists.places, loss).unwrap()?));
        let mut targets: Vec<(usize, RankingTarget)> = (0..6).filter_map(target).collect();
        if targets.is_empty() {
            continue;
        }
        let units: Vec<u32> = targets.iter().map(|(n, _)| *n as u32).collect();
        let mut index = ItemIndex::new(6, lists.index.core.clone());
        units.iter().for_each(|&n| index.push(lists.index.of(n as usize).to_vec()));
        let rows = Rows::new(&lists.set, &units, &Scaling::None);
        let scorer = Items::new(&rows, &index);
        let strength: Vec<f64> = (0..scorer.dim()).map(|j| if j < 2 { 0.1 } else { 0.3 }).collect();
        let start = theta(&mut random, scorer.dim());
        for (at, (_, target)) in targets.iter_mut().enumerate() {
            let mut s = vec![0.0; scorer.span(at).len()];
            scorer.scores(at, &start, &mut s, &mut Default::default());
            target.complete(&lists.places, &s, &mut MarginWork::default()).unwrap();
        }
        let own: Vec<RankingTarget> = targets.iter().map(|(_, target)| target.clone()).collect();
        let mut blocks = RankingMargin { scorer: &scorer, places: &lists.places, targets: &own, strength: &strength };
        let unit: Vec<f64> = strength.iter().map(|s| s.sqrt().recip()).collect();
        let mut slow = Slow { lists: &lists, targets: &targets, loss, unit };
        let ridge = |theta: &[f64]| 0.5 * theta.iter().zip(&strength).map(|(t, s)| s * t * t).sum::<f64>();
        let fast = objective(&mut blocks, &strength, &start, None).unwrap();
        let truth = ridge(&start) + slow.hinge(&start).0;
        assert!((fast - truth).abs() < 1e-9, "round {round} {loss:?}: {fast}, not {truth}");
        let (report, found) = {
            let mut solver = BlockFw::new(&mut blocks, 1e-5, 1).unwrap();
            let report = run(&mut solver, 20_000, 0, &Watch::NOBODY).unwrap();
            (report, solver.theta().to_vec())
        };
        assert_eq!(report.stop, Stop::Gap, "round {round} {loss:?}: {report:?}");
        assert!((report.objective - ridge(&found) - slow.hinge(&found).0).abs() < 1e-9, "round {round}");
        // another solver, by all orders, finds nothing that is lower by more than the gap
        let zero = vec![0.0; scorer.dim()];
        let mut bundle = Bundle::new(&mut slow, 1.0, 1e-3, zero).unwrap();
        let again = run(&mut bundle, 200, 0, &Watch::NOBODY).unwrap();
        assert!(again.objective >= report.objective - 1e-5, "round {round}: {again:?} {report:?}");
        assert!(again.objective - again.gap.unwrap() <= report.objective + 1e-5, "round {round}: {again:?} {report:?}");
    }
}
