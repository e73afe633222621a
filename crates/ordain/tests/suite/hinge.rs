//! The L1 Ranking SVM against an independent solver of its dual on explicit pairs.
#![allow(clippy::unwrap_used)] // a test may panic

use crate::programme::minimum;
use ordain::data::RankSet;
use ordain::data::synthetic::Synthetic;
use ordain::kernel::{Form, Kernel};
use ordain::method::RankMethod;
use ordain::solver::run::Watch;
use ordain::task::{Method, Model, Training};
use ordain::traits::Stop;

/// The pairs (better, lesser, weight) of all queries; every query counts alike, or every pair.
fn pairs(set: &RankSet, by_query: bool) -> Vec<(usize, usize, f64)> {
    let mut all = vec![];
    let mut queries = 0.0;
    for q in 0..set.len() {
        let rows = set.span(q);
        let own: Vec<(usize, usize)> = rows
            .clone()
            .flat_map(|i| rows.clone().map(move |j| (i, j)))
            .filter(|&(i, j)| set.grades[i] > set.grades[j])
            .collect();
        let weight = 1.0 / own.len() as f64;
        queries += if own.is_empty() { 0.0 } else { 1.0 };
        all.extend(own.into_iter().map(|(i, j)| (i, j, weight)));
    }
    let count = all.len() as f64;
    all.iter_mut().for_each(|pair| pair.2 = if by_query { pair.2 / queries } else { 1.0 / count });
    all
}

/// Objective and scores of the machine on explicit pairs: `max Σα − α'Qα/(2λ)` with `0 ≤ α ≤ weight`.
fn machine(set: &RankSet, pairs: &[(usize, usize, f64)], k: &[Vec<f64>], lambda: f64) -> (f64, Vec<f64>) {
    let n = pairs.len();
    let of = |&(i, j, _): &(usize, usize, f64), &(a, b, _): &(usize, usize, f64)| k[i][a] - k[i][b] - k[j][a] + k[j][b];
    let q: Vec<Vec<f64>> = pairs.iter().map(|p| pairs.iter().map(|o| of(p, o) / lambda).collect()).collect();
    let unit = |at: usize, sign: f64| (0..n).map(|i| if i == at { sign } else { 0.0 }).collect::<Vec<f64>>();
    let mut rows: Vec<(Vec<f64>, f64)> = (0..n).map(|i| (unit(i, -1.0), 0.0)).collect();
    rows.extend((0..n).map(|i| (unit(i, 1.0), pairs[i].2)));
    let (value, alpha) = minimum(&q, &vec![-1.0; n], &rows, 0);
    let score = |row: usize| {
        let of = |(alpha, &(i, j, _)): (&f64, &(usize, usize, f64))| alpha * (k[i][row] - k[j][row]);
        alpha.iter().zip(pairs).map(of).sum::<f64>() / lambda
    };
    (-value, (0..set.rows()).map(score).collect())
}

#[test]
fn it_is_the_machine_on_explicit_pairs() {
    for (seed, form, lambda, weight) in [
        (1, Form::Linear, 0.1, "query"),
        (2, Form::Linear, 1e-3, "pair"),
        (3, Form::Rbf, 0.1, "query"),
        (4, Form::Rbf, 1e-3, "query"),
        (5, Form::Rbf, 1e-2, "pair"),
    ] {
        let shape = Synthetic { queries: 4, documents: (4, 8), features: 4, grades: 3, seed, ..Synthetic::default() };
        let set = shape.make();
        let shape = if form == Form::Rbf { ",kernel=rbf,gamma=0.25" } else { "" };
        let name =
            format!("ranksvm[loss=hinge,lambda={lambda},scale=none,transform=none,weight={weight},tol=1e-8{shape}]");
        let method: RankMethod = name.parse().unwrap();
        let all = set.all();
        let fitted = method.fit(&Training::new(&set, &all), &Watch::NOBODY).unwrap();
        // gamma is typed in units of one over the median distance
        let kernel = fitted.model.score.expansion().map_or(Kernel { form, gamma: 1.0 }, |expansion| expansion.kernel);
        let line = |row: usize| (0..4).map(|j| set.features.value(row, j)).collect::<Vec<f32>>();
        let k: Vec<Vec<f64>> =
            (0..set.rows()).map(|a| (0..set.rows()).map(|b| kernel.of(&line(a), &line(b))).collect()).collect();
        let pairs = pairs(&set, weight == "query");
        let (truth, scores) = machine(&set, &pairs, &k, lambda);
        let report = fitted.facts.report;
        assert_eq!(report.stop, Stop::Gap, "{name}: {report:?}");
        assert!(report.gap.unwrap() <= 1e-8 * report.objective);
        // its own gap says how good it is; the interior point method stops a little earlier
        let most = (1.0 + 1e-6) * truth;
        assert!(
            report.objective <= most && report.objective >= (1.0 - 1e-5) * truth,
            "{name}: {} for {truth}",
            report.objective
        );
        let own = fitted.model.scores(&fitted.model.prepare(&set).unwrap()).unwrap();
        // scores of a query are right up to a constant; with a kernel there is none
        for q in 0..set.len() {
            for i in set.span(q) {
                let first = set.span(q).start;
                let (a, b) = (own[i] - own[first], scores[i] - scores[first]);
                assert!((a - b).abs() < 2e-5 * (1.0 + b.abs()), "{name}: {a} for {b}");
            }
        }
        if form == Form::Rbf {
            let support = fitted.facts.notes.core.unwrap().pairs.unwrap();
            let behind = pairs.iter().filter(|&&(i, j, _)| 1.0 - scores[i] + scores[j] > 1e-6).count();
            assert!(support >= behind && support <= pairs.len(), "{support} of {behind} and {}", pairs.len());
        }
    }
}

#[test]
fn wrong_settings_are_refused() {
    for wrong in ["ranksvm[loss=hinge,scorer=trees]", "ranksvm[loss=hinges]"] {
        assert!(wrong.parse::<RankMethod>().is_err(), "{wrong}");
    }
    assert_eq!("ranksvm[loss=hinge]".parse::<RankMethod>().unwrap().to_string(), "ranksvm[loss=hinge]");
}
