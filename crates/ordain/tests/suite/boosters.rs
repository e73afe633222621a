//! RankBoost, FRank, AdaRank, QBRank and IsoRank against plain loops over pairs, and what they must keep.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test may panic, and one prints what it measured

use crate::cases::cases;
use crate::programme::minimum;
use ordain::data::synthetic::Synthetic;
use ordain::data::{self, Columns, Filled, Missing, RankSet};
use ordain::matrix::{Features, Matrix};
use ordain::method::{Rank, RankMethod};
use ordain::metric::{Convention, Metric, evaluate};
use ordain::random::Random;
use ordain::solver::run::Watch;
use ordain::surrogate::isotonic::Isotonic;
use ordain::task::{Fitted, Method, Model, Training};
use ordain::traits::Surrogate;
use ordain::tree::Parts;

pub(crate) fn fit(method: &str, set: &RankSet) -> Fitted<Rank> {
    method.parse::<RankMethod>().unwrap().fit(&Training::new(set, &set.all()), &Watch::NOBODY).unwrap()
}

/// A threshold on a column with its weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rule {
    pub(crate) column: usize,
    pub(crate) cut: f32,
    /// Whether missing values are above.
    pub(crate) gap: bool,
    pub(crate) alpha: f64,
}

impl Rule {
    fn marks(&self, x: f32) -> bool {
        if x.is_nan() { self.gap } else { x > self.cut }
    }

    pub(crate) fn add(&self, set: &RankSet, scores: &mut [f64]) {
        let above = |row: usize| self.marks(set.features.value(row, self.column));
        (0..set.rows()).filter(|&row| above(row)).for_each(|row| scores[row] += self.alpha);
    }
}

/// The rules of a model.
fn rules(fitted: &Fitted<Rank>) -> Vec<Rule> {
    let parts = fitted.model.score.forests()[0].parts();
    let rule = |at: usize| Rule {
        column: parts.column[at] as usize,
        cut: parts.cut[at],
        gap: parts.kind[at] == Parts::CUT,
        alpha: parts.value[at + 2],
    };
    (0..parts.kind.len()).step_by(3).map(rule).collect()
}

/// All pairs of different grades with their weights, one by one.
pub(crate) struct Pairs {
    pub(crate) all: Vec<(usize, usize, f64)>,
    /// All thresholds: columns with the cuts between their values.
    pub(crate) cuts: Vec<(usize, Vec<f32>)>,
    gaps: bool,
}

impl Pairs {
    /// With a cut between every two values that follow each other, or at this many quantiles.
    pub(crate) fn new(set: &RankSet, by_query: bool, thresholds: usize) -> Self {
        let mut all = vec![];
        for q in 0..set.len() {
            let (span, first) = (set.span(q), all.len());
            for i in span.clone() {
                all.extend(span.clone().filter(|&j| set.grades[i] > set.grades[j]).map(|j| (i, j, 1.0)));
            }
            let own = (all.len() - first) as f64;
            all[first..].iter_mut().for_each(|pair| pair.2 = if by_query { 1.0 / own } else { 1.0 });
        }
        let total: f64 = all.iter().map(|pair| pair.2).sum();
        all.iter_mut().for_each(|pair| pair.2 /= total);
        let rows: Vec<u32> = (0..set.rows() as u32).collect();
        let none = vec![false; set.features.cols()];
        let cuts = ordain::tree::Cuts::learn(&set.features, &rows, &none, thresholds + 1).unwrap();
        let cuts = (0..set.features.cols()).map(|j| (j, cuts.of(j).to_vec())).collect();
        Self { all, cuts, gaps: set.features.has_gaps() }
    }

    /// The loss of RankBoost.
    pub(crate) fn exponential(&self, s: &[f64]) -> f64 {
        self.all.iter().map(|&(i, j, w)| w * (s[j] - s[i]).exp()).sum()
    }

    /// The loss of FRank.
    pub(crate) fn fidelity(&self, s: &[f64]) -> f64 {
        self.all.iter().map(|&(i, j, w)| w * (1.0 - (1.0 / (1.0 + (s[j] - s[i]).exp())).sqrt())).sum()
    }

    /// The weights of the pairs that a rule orders rightly and wrongly, with the weight of each pair at these scores.
    pub(crate) fn crossing(&self, set: &RankSet, rule: Rule, weights: &[f64]) -> [f64; 2] {
        let mut sum = [0.0; 2];
        let mark = |row: usize| rule.marks(set.features.value(row, rule.column));
        for (&(i, j, _), w) in self.all.iter().zip(weights) {
            let (better, lesser) = (mark(i), mark(j));
            if better != lesser {
                sum[usize::from(lesser)] += w;
            }
        }
        sum
    }

    /// All rules, each with what it orders rightly and wrongly.
    fn crossings(&self, set: &RankSet, weights: &[f64], gaps: bool) -> Vec<(Rule, [f64; 2])> {
        let ways: &[bool] = if gaps { &[false, true] } else { &[false] };
        let mut all = vec![];
        for (column, cuts) in &self.cuts {
            for &gap in ways {
                let last = gap.then_some(f32::INFINITY);
                for cut in cuts.iter().copied().chain(last) {
                    let rule = Rule { column: *column, cut, gap, alpha: 0.0 };
                    all.push((rule, self.crossing(set, rule, weights)));
                }
            }
        }
        all
    }

    /// The next rule of RankBoost, its r, and the exact α.
    pub(crate) fn rankboost(&self, set: &RankSet, s: &[f64]) -> (Rule, f64, f64) {
        let mut weights: Vec<f64> = self.all.iter().map(|&(i, j, w)| w * (s[j] - s[i]).exp()).collect();
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w /= total);
        let all = self.crossings(set, &weights, self.gaps);
        let r = |[right, wrong]: [f64; 2]| right - wrong;
        let (mut rule, cross) =
            all.into_iter().reduce(|best, next| if r(next.1).abs() > r(best.1).abs() { next } else { best }).unwrap();
        rule.alpha = half_log(1.0 + r(cross), 1.0 - r(cross), 1.0);
        (rule, r(cross), half_log(cross[0], cross[1], 1.0))
    }

    /// The next rule of FRank and the loss after it.
    pub(crate) fn frank(&self, set: &RankSet, s: &[f64]) -> (Rule, f64) {
        let weight = |&(i, j, w): &(usize, usize, f64)| {
            let p = 1.0 / (1.0 + (s[j] - s[i]).exp());
            0.5 * w * p.sqrt() * (1.0 - p)
        };
        let weights: Vec<f64> = self.all.iter().map(weight).collect();
        let mut all = self.crossings(set, &weights, false);
        let worth = |[right, wrong]: [f64; 2]| (right.sqrt() - wrong.sqrt()).powi(2);
        all.sort_by(|a, b| worth(b.1).total_cmp(&worth(a.1)));
        let step = |(mut rule, [right, wrong]): (Rule, [f64; 2])| {
            rule.alpha = half_log(right, wrong, right + wrong);
            let mut after = s.to_vec();
            rule.add(set, &mut after);
            (rule, self.fidelity(&after))
        };
        let best = all.into_iter().take(8).map(step);
        best.reduce(|best, next| if next.1 < best.1 { next } else { best }).unwrap()
    }
}

/// `½ ln(right/wrong)`, finite where nothing is wrong.
fn half_log(right: f64, wrong: f64, all: f64) -> f64 {
    0.5 * ((right + 1e-9 * all) / (wrong + 1e-9 * all)).ln()
}

/// Queries of a few documents on columns with few values, so that cuts are between all of them.
fn few(random: &mut Random, gaps: bool) -> RankSet {
    let (queries, cols) = (4 + random.below(4), 3);
    let (mut values, mut grades, mut bounds) = (vec![], vec![], vec![0]);
    for _ in 0..queries {
        for _ in 0..3 + random.below(6) {
            let row: Vec<f32> = (0..cols).map(|_| (4.0 * random.normal()).round() as f32).collect();
            grades.push((f64::from(row[0]) / 4.0 + 0.7 * random.normal()).clamp(0.0, 2.0).round());
            let missing = |x: f32, random: &mut Random| if gaps && random.below(5) == 0 { f32::NAN } else { x };
            values.extend(row.into_iter().map(|x| missing(x, random)));
        }
        bounds.push(grades.len());
    }
    // so that something can be learned
    let last = grades.len() - 1;
    (grades[last - 1], grades[last]) = (0.0, 2.0);
    let names = (0..queries).map(|q| q.to_string()).collect();
    let columns = Columns::named((0..cols).map(|j| j.to_string()).collect());
    RankSet::new(Features::Dense(Matrix::new(values, cols)), columns, grades, bounds, names).unwrap()
}

/// A fit on a set that may have gaps, which are kept.
fn keeping(method: &str, set: &RankSet) -> Fitted<Rank> {
    let mut set = set.clone();
    let all = set.all();
    let filled = if set.features.has_gaps() { set.fill(Missing::Keep, &all) } else { Filled::default() };
    let training = Training { filled, ..Training::new(&set, &all) };
    method.parse::<RankMethod>().unwrap().fit(&training, &Watch::NOBODY).unwrap()
}

#[test]
fn every_rule_of_rankboost_is_the_best_of_all() {
    let (mut random, mut gaps_above) = (Random::new(1), 0);
    for case in 0..cases(60) {
        let set = few(&mut random, case % 3 == 0);
        for (weight, by_query) in [("pair", false), ("query", true)] {
            let pairs = Pairs::new(&set, by_query, 254);
            let exact = case % 2 == 0;
            let alpha = if exact { "exact" } else { "bound" };
            let fitted = keeping(&format!("rankboost[rounds=6,weight={weight},alpha={alpha}]"), &set);
            let mut s = vec![0.0; set.rows()];
            let mut before = pairs.exponential(&s);
            assert!((before - 1.0).abs() < 1e-12);
            for rule in rules(&fitted) {
                let (_, r, best_alpha) = pairs.rankboost(&set, &s);
                let own: Vec<f64> = pairs.all.iter().map(|&(i, j, w)| w * (s[j] - s[i]).exp() / before).collect();
                let [right, wrong] = pairs.crossing(&set, rule, &own);
                assert!((r.abs() - (right - wrong).abs()).abs() < 1e-9, "case {case}: {r} and {rule:?}");
                let own_r = right - wrong;
                let wanted =
                    if exact { 0.5 * (right / wrong).ln() } else { 0.5 * ((1.0 + own_r) / (1.0 - own_r)).ln() };
                // a rule without a fault has a large weight, not an infinite one
                let finite = wanted.is_finite() && wanted.abs() < 3.0;
                assert!(!finite || (rule.alpha - wanted).abs() < 1e-6, "case {case}: {wanted} and {rule:?}");
                assert!(rule.alpha.is_finite() && best_alpha.is_finite());
                gaps_above += usize::from(rule.gap);
                rule.add(&set, &mut s);
                let after = pairs.exponential(&s);
                assert!(after < before + 1e-12, "case {case}: the loss rises from {before} to {after}");
                // no other weight of the same rule has less of it
                for factor in [0.9, 1.1].into_iter().filter(|_| exact && finite) {
                    let mut other = s.clone();
                    Rule { alpha: (factor - 1.0) * rule.alpha, ..rule }.add(&set, &mut other);
                    assert!(pairs.exponential(&other) > after - 1e-12, "case {case}");
                }
                before = after;
            }
            assert!((fitted.facts.report.objective - before).abs() < 1e-9 * before.max(1e-3), "case {case}");
        }
    }
    assert!(gaps_above > 0);
}

#[test]
fn every_rule_of_frank_is_the_best_of_the_promising_ones() {
    let mut random = Random::new(2);
    for case in 0..cases(60) {
        let set = few(&mut random, case % 4 == 0);
        for (weight, by_query) in [("pair", false), ("query", true)] {
            let pairs = Pairs::new(&set, by_query, 254);
            let fitted = keeping(&format!("frank[rounds=6,weight={weight},thresholds=254]"), &set);
            let mut s = vec![0.0; set.rows()];
            let mut before = pairs.fidelity(&s);
            for rule in rules(&fitted) {
                let (best, least) = pairs.frank(&set, &s);
                rule.add(&set, &mut s);
                let after = pairs.fidelity(&s);
                assert!(after < before, "case {case}: the loss rises from {before} to {after}");
                // where a rule has no fault its weight is cut off, and where no step is good it is halved
                if best.alpha.abs() < 6.0 && rule.alpha.abs() < 6.0 && least < before {
                    assert!((after - least).abs() < 1e-6, "case {case}: {after} by {rule:?}, {least} by {best:?}");
                }
                before = after;
            }
            assert!((fitted.facts.report.objective - before).abs() < 1e-9, "case {case}");
        }
    }
}

/// Average precision by counting for each relevant document those that stand above it; ties in the order of rows.
pub(crate) fn plain_ap(grades: &[f64], scores: &[f64]) -> f64 {
    let relevant: Vec<usize> = (0..grades.len()).filter(|&i| grades[i] > 0.0).collect();
    let first = |j: usize, i: usize| scores[j] > scores[i] || scores[j] >= scores[i] && j <= i;
    let place = |i: usize| (0..grades.len()).filter(|&j| first(j, i)).count() as f64;
    let hits = |i: usize| relevant.iter().filter(|&&j| first(j, i)).count() as f64;
    relevant.iter().map(|&i| hits(i) / place(i)).sum::<f64>() / relevant.len() as f64
}

/// AdaRank with every column measured anew in every round: columns and their α.
pub(crate) fn plain_adarank(set: &RankSet, scaled: &[Vec<f64>], rounds: usize) -> Vec<(usize, f64)> {
    let spans: Vec<_> = (0..set.len()).map(|q| set.span(q)).collect();
    let counts = |q: &usize| set.grades[spans[*q].clone()].iter().any(|&g| g > 0.0) && !set.is_flat(*q);
    let queries: Vec<usize> = (0..set.len()).filter(counts).collect();
    let measure = |scores: &[f64]| -> Vec<f64> {
        queries.iter().map(|&q| plain_ap(&set.grades[spans[q].clone()], &scores[spans[q].clone()])).collect()
    };
    let (mut made, mut scores, mut rests) = (vec![], vec![0.0; set.rows()], vec![false; 2 * scaled.len()]);
    let mut worth = vec![0.0; queries.len()];
    for _ in 0..rounds {
        let weights: Vec<f64> = worth.iter().map(|m: &f64| (-m).exp()).collect();
        let total: f64 = weights.iter().sum();
        let mut best = (0, f64::NEG_INFINITY);
        for ranker in (0..2 * scaled.len()).filter(|&ranker| !rests[ranker]) {
            let sign = if ranker % 2 == 0 { 1.0 } else { -1.0 };
            let own: Vec<f64> = scaled[ranker / 2].iter().map(|x| sign * x).collect();
            let value = measure(&own).iter().zip(&weights).map(|(m, p)| m * p).sum::<f64>() / total;
            if value > best.1 + 1e-12 {
                best = (ranker, value);
            }
        }
        let (ranker, value) = best;
        let alpha = 0.5 * ((1.0 + value) / (1.0 - value)).ln();
        let sign = if ranker % 2 == 0 { 1.0 } else { -1.0 };
        scores.iter_mut().zip(&scaled[ranker / 2]).for_each(|(s, x)| *s += sign * alpha * x);
        made.push((ranker / 2, sign * alpha));
        let before: f64 = if made.len() == 1 { f64::NEG_INFINITY } else { worth.iter().sum() };
        worth = measure(&scores);
        if (worth.iter().sum::<f64>() - before).abs() > 1e-9 {
            rests.fill(false);
        }
        rests[ranker] = true;
    }
    made
}

/// The columns of a set between 0 and 1 within each query.
pub(crate) fn minmax(set: &RankSet) -> Vec<Vec<f64>> {
    let column = |j: usize| {
        let mut all: Vec<f64> = (0..set.rows()).map(|row| f64::from(set.features.value(row, j))).collect();
        for q in 0..set.len() {
            let own = &mut all[set.span(q)];
            let (low, high) = own.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &x| (a.min(x), b.max(x)));
            own.iter_mut().for_each(|x| *x = if high > low { (*x - low) / (high - low) } else { 0.0 });
        }
        all
    };
    (0..set.features.cols()).map(column).collect()
}

#[test]
fn adarank_takes_the_columns_of_a_plain_loop() {
    for seed in 0..u64::from(cases(20)) {
        let set = Synthetic { queries: 12, documents: (5, 15), features: 6, seed, ..Synthetic::default() }.make();
        let rounds = 1 + (seed as usize) % 7;
        let convention = Convention { ties: ordain::metric::Ties::Input, ..Convention::STANDARD };
        let method: RankMethod = format!("adarank[rounds={rounds},transform=none]").parse().unwrap();
        let all = set.all();
        let fitted = method.fit(&Training { convention, ..Training::new(&set, &all) }, &Watch::NOBODY).unwrap();
        let mut weights = vec![0.0; 6];
        plain_adarank(&set, &minmax(&set), rounds).iter().for_each(|&(column, alpha)| weights[column] += alpha);
        for (a, b) in fitted.model.score.weights().iter().zip(&weights) {
            assert!((a - b).abs() < 1e-6, "seed {seed}: {:?} and {weights:?}", fitted.model.score.weights());
        }
    }
}

/// The first column is better in every query: without a rest it would be taken in every round, and nothing would change.
#[test]
fn a_column_of_adarank_rests_until_the_metric_moves() {
    let mut random = Random::new(4);
    let (mut values, mut grades, mut bounds) = (vec![], vec![], vec![0]);
    for _ in 0..30 {
        for _ in 0..12 {
            let grade = random.below(3) as f64;
            values.extend([(grade + 0.8 * random.normal()) as f32, (grade + 1.6 * random.normal()) as f32]);
            grades.push(grade);
        }
        bounds.push(grades.len());
    }
    let names = (0..30).map(|q| q.to_string()).collect();
    let columns = Columns::named(vec!["good".into(), "fair".into()]);
    let set = RankSet::new(Features::Dense(Matrix::new(values, 2)), columns, grades, bounds, names).unwrap();
    let once = fit("adarank[rounds=1]", &set).model.score.weights().to_vec();
    assert!(once[0] > 0.0 && once[1] == 0.0, "{once:?}");
    let often = fit("adarank[rounds=20]", &set).model.score.weights().to_vec();
    assert!(often[0] > 0.0 && often[1] > 0.0 && often[0] < 20.0 * once[0], "{often:?}");
    // and for other metrics
    for metric in ["ndcg@10", "p@3", "mrr"] {
        let weights = fit(&format!("adarank[rounds=20,metric={metric}]"), &set).model.score.weights().to_vec();
        assert!(weights.iter().all(|&w| w != 0.0), "{metric}: {weights:?}");
    }
}

#[test]
fn isotonic_regression_is_the_nearest_point_of_a_quadratic_programme() {
    let (mut random, mut work, mut near, mut count) = (Random::new(6), Default::default(), 0, 0);
    for case in 0..cases(40) {
        let n = 2 + random.below(6);
        let grades: Vec<f64> = (0..n).map(|_| random.below(3) as f64).collect();
        let gaps: Vec<f64> = grades.iter().map(|g| g.exp2() - 1.0).collect();
        // some of them tied
        let s: Vec<f64> = (0..n).map(|_| (4.0 * random.normal()).round() / [1.0, 3.0][case as usize % 2]).collect();
        let mut slope = vec![0.0; n];
        let value = Isotonic::new([(&grades[..], &gaps[..])]).value(0, &s, &mut slope, &mut work).unwrap();
        // over δ: −δ_i + δ_j ≤ s_i − s_j − (G_i − G_j)
        let identity: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
        let mut rows = vec![];
        for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).filter(|&(i, j)| grades[i] > grades[j]) {
            let row = (0..n).map(|k| f64::from(i8::from(k == j) - i8::from(k == i))).collect();
            rows.push((row, s[i] - s[j] - (gaps[i] - gaps[j])));
        }
        if rows.is_empty() {
            assert!(value.abs() < f64::MIN_POSITIVE);
            continue;
        }
        count += 1;
        // a feasible change that no other one beats
        let kept =
            |(row, most): &(Vec<f64>, f64)| -row.iter().zip(&slope).map(|(a, d)| a * d).sum::<f64>() <= most + 1e-9;
        assert!(rows.iter().all(kept), "case {case}");
        let (least, _) = minimum(&identity, &vec![0.0; n], &rows, 0);
        assert!(value <= least + 1e-7 * (1.0 + value), "case {case}: {least} and {value}");
        near += u32::from((least - value).abs() < 1e-6 * (1.0 + value));
        for (step, slope) in projected(&rows, n).iter().zip(&slope) {
            assert!((step + slope).abs() < 1e-6, "case {case}: {step} and {slope}");
        }
        // the slope by differences
        for i in 0..n {
            let at = |h: f64| {
                let mut moved = s.clone();
                moved[i] += h;
                let loss = Isotonic::new([(&grades[..], &gaps[..])]);
                loss.value(0, &moved, &mut vec![0.0; n], &mut Default::default()).unwrap()
            };
            // its curvature jumps between 0 and 1 where pools meet: a difference is off by at most its step
            assert!(((at(1e-5) - at(-1e-5)) / 2e-5 - slope[i]).abs() < 2e-5, "case {case}");
        }
    }
    // the interior point method gives up early in a few degenerate cases
    assert!(10 * near >= 8 * count, "{near} of {count}");
}

/// The nearest point to 0 where `a·x ≤ b` of all rows, `a` with one 1 and one −1: Dykstra's projections, row after row.
fn projected(rows: &[(Vec<f64>, f64)], n: usize) -> Vec<f64> {
    let (mut x, mut taken) = (vec![0.0; n], vec![0.0; rows.len()]);
    for _ in 0..20_000 {
        for ((row, most), taken) in rows.iter().zip(&mut taken) {
            x.iter_mut().zip(row).for_each(|(x, a)| *x += *taken * a);
            let over = x.iter().zip(row).map(|(x, a)| x * a).sum::<f64>() - most;
            *taken = (over / 2.0).max(0.0);
            x.iter_mut().zip(row).for_each(|(x, a)| *x -= *taken * a);
        }
    }
    x
}

/// With rates up to 1, since the curvature is an upper bound and leaves have no ridge.
#[test]
fn trees_of_qbrank_and_isorank_never_raise_their_loss() {
    let set = Synthetic { queries: 20, documents: (5, 15), features: 5, ..Synthetic::default() }.make();
    for method in ["qbrank", "isorank", "isorank[gap=linear]"] {
        for rate in [0.1, 1.0] {
            let mut before = f64::INFINITY;
            for rounds in 1..12 {
                let with = format!("rounds={rounds},rate={rate},least_rows=1");
                let text = match method.strip_suffix(']') {
                    Some(start) => format!("{start},{with}]"),
                    None => format!("{method}[{with}]"),
                };
                let now = fit(&text, &set).facts.report.objective;
                assert!(now <= before * (1.0 + 1e-12), "{text}: {now} after {before}");
                before = now;
            }
        }
    }
}

#[test]
fn the_margin_of_qbrank_is_a_unit_and_not_0() {
    let set = Synthetic { queries: 20, documents: (5, 15), features: 5, ..Synthetic::default() }.make();
    let scores = |method: &str| {
        let model = fit(method, &set).model;
        model.scores(&model.prepare(&set).unwrap()).unwrap()
    };
    let (one, two) = (scores("qbrank[rounds=10]"), scores("qbrank[rounds=10,tau=2]"));
    assert!(
        one.iter().any(|s| s.abs() > 0.01) && one.iter().zip(&two).all(|(a, b)| (2.0 * a).to_bits() == b.to_bits())
    );
    for text in ["qbrank[tau=0]", "qbrank[tau=-1]"] {
        let error = text.parse::<RankMethod>().unwrap_err().to_string();
        assert!(error.starts_with("tau: expected a number above 0"), "{error}");
    }
}

/// What each learns is better than a single column, on data with units and offsets of their own in each query it is not worse than chance.
#[test]
fn all_of_them_learn() {
    let set = Synthetic { queries: 120, documents: (8, 20), features: 8, ..Synthetic::default() }.make();
    let (train, test): (Vec<u32>, Vec<u32>) = ((0..80).collect(), (80..120).collect());
    let metric: Metric = "ndcg@10".parse().unwrap();
    let of = |scores: &[f64]| evaluate(&set, &test, scores, &[metric], &Convention::STANDARD).unwrap().mean(0);
    let chance = of(&vec![0.0; set.rows()]);
    for method in ["rankboost", "frank", "adarank", "adarank[metric=ndcg@10,scale=auto]", "qbrank", "isorank"] {
        let learned = method.parse::<RankMethod>().unwrap().fit(&Training::new(&set, &train), &Watch::NOBODY).unwrap();
        let found = of(&learned.model.scores(&learned.model.prepare(&set).unwrap()).unwrap());
        assert!(found > chance + 0.05, "{method}: {found}, by chance {chance}");
        let chosen = learned.facts.chosen.as_ref().unwrap();
        assert_eq!((chosen.parts, chosen.units), (Some(5), 80), "{method}");
        let rounds = learned.facts.taken().unwrap().settings["rounds"].as_u64().unwrap();
        assert_eq!(rounds as usize, learned.facts.report.iterations, "{method}");
    }
}

#[test]
fn settings_are_refused_by_name() {
    for (text, found) in [
        ("rankboost[lambda=1]", "unknown setting \"lambda\""),
        ("rankboost[c=1]", "unknown setting \"c\""),
        ("rankboost[thresholds=255]", "thresholds: expected a whole number from 1 to 254, found \"255\""),
        ("rankboost[alpha=r]", "unknown alpha \"r\"; known are bound, exact"),
        ("frank[rounds=0]", "rounds: expected auto or a whole number above 0, found \"0\""),
        ("frank[weight=both]", "unknown weight \"both\"; known are query, pair"),
        ("adarank[metric=dcg@5]", "metric: expected a metric of rankings from 0 to 1, such as map or ndcg@10"),
        ("adarank[metric=hamming]", "metric: expected a metric of rankings from 0 to 1"),
        ("adarank[scale=matched]", "unknown scale \"matched\""),
        ("qbrank[leaves=1]", "leaves: expected a whole number from 2 to 4096, found \"1\""),
        ("isorank[rate=2]", "rate: expected a number above 0, at most 1, found \"2\""),
        ("isorank[gap=none]", "unknown gap \"none\"; known are exp, linear"),
    ] {
        let error = text.parse::<RankMethod>().unwrap_err().to_string();
        assert!(error.contains(found), "{text}: {error}");
    }
    let mut weighted = Synthetic { queries: 8, ..Synthetic::default() }.make();
    weighted.weights = Some(vec![1.0; weighted.rows()]);
    let method: RankMethod = "adarank".parse().unwrap();
    let refusal = method.fit(&Training::new(&weighted, &weighted.all()), &Watch::NOBODY).unwrap_err();
    assert!(refusal.to_string().contains("without a column of weights for adarank"), "{refusal}");
}

/// The means of five fold means of LETOR's folds: three parts train, one is for choices, one is the test. NDCG@10 and MAP; with `None` of scores that say nothing.
fn fold_means(name: &str, method: Option<&str>, by: Option<&str>, convention: Convention) -> [f64; 2] {
    let folder = std::path::PathBuf::from(std::env::var_os("ORDAIN_DATA").expect("ORDAIN_DATA names the data folder"));
    let part = |i: usize| {
        let plain = folder.join(format!("ranking/{name}/S{i}.txt"));
        vec![if plain.exists() { plain } else { plain.with_extension("txt.zst") }]
    };
    let (set, spans) = data::read_parts(&(1..=5).map(part).collect::<Vec<_>>(), Missing::Error).unwrap();
    let units = |part: usize| spans[part % 5].clone().map(|q| q as u32).collect::<Vec<u32>>();
    let metrics: [Metric; 2] = ["ndcg@10", "map"].map(|metric| metric.parse().unwrap());
    let mut means = [0.0; 2];
    for fold in 0..5 {
        let train = [units(fold), units(fold + 1), units(fold + 2)].concat();
        let (valid, test) = (units(fold + 3), units(fold + 4));
        let scores = match method {
            None => vec![0.0; set.rows()],
            Some(method) => {
                let by = by.map(|by| by.parse().unwrap());
                let training =
                    Training { valid: Some(&valid), by, convention, refit: false, ..Training::new(&set, &train) };
                let model = method.parse::<RankMethod>().unwrap().fit(&training, &Watch::NOBODY).unwrap().model;
                model.scores(&model.prepare(&set).unwrap()).unwrap()
            }
        };
        let found = evaluate(&set, &test, &scores, &metrics, &convention).unwrap();
        (0..2).for_each(|m| means[m] += found.mean(m) / 5.0);
    }
    println!("{name} {method:?}: {means:.4?}");
    means
}

/// Twin on made-up data: `all_of_them_learn`.
#[test]
#[ignore = "needs the folder ORDAIN_DATA, run by ./check --data"]
fn rounds_on_ohsumed_and_mq2008() {
    let letor2 = Convention::ALL.iter().copied().find(|convention| convention.name == "letor2").unwrap();
    let zero = Convention { empty: letor2.empty, ..Convention::STANDARD };
    let chance = fold_means("mq2008", None, None, zero)[0];
    for (method, ndcg, map) in [
        ("rankboost", 0.420, 0.438),
        ("adarank", 0.438, 0.442),
        ("adarank[metric=ndcg@10]", 0.436, 0.441),
        ("qbrank", 0.435, 0.440),
        ("isorank", 0.432, 0.441), // rounds by validation MAP, as its figures were made; by NDCG .4318
        ("frank", 0.425, 0.441),
    ] {
        let by = (method == "isorank").then_some("map");
        let found = fold_means("ohsumed-letor2", Some(method), by, letor2);
        assert!(found[0] >= ndcg && found[1] >= map, "{method}: {found:?}");
        let found = fold_means("mq2008", Some(method), None, Convention { ties: letor2.ties, ..zero })[0];
        assert!(found >= chance + 0.1, "{method}: {found}, by chance {chance}");
    }
}
