//! One type of score in all three tasks: kernels for documents, edges and labels are predicted, explained, stored and
//! checked by the same code as weights.
#![allow(clippy::unwrap_used, clippy::panic)] // a test may panic

use crate::cases::cases;
use ordain::data::scale::Affine;
use ordain::data::synthetic::{Linkage, Scenes, Synthetic};
use ordain::data::{DataSet, LabelSet, MatchSet, RankSet};
use ordain::kernel::{Expansion, Form, Kernel, Part};
use ordain::matrix::{Csr, Features, Matrix};
use ordain::method::{Annotate, CStar, Match, MatchMethod, Rank, RankMethod};
use ordain::metric::Convention;
use ordain::model_file::{from_bytes, to_bytes};
use ordain::random::Random;
use ordain::score::Score;
use ordain::solver::run::Watch;
use ordain::task::{Fitted, Method, Model, Training};
use std::path::Path;

const FORMS: [Form; 4] = [Form::Linear, Form::Rbf, Form::Laplace, Form::Poly { degree: 2, coef0: 0.5 }];

/// Kernels at `core` random rows of `d` columns, with so many functions.
fn expansion(random: &mut Random, d: usize, core: usize, functions: usize) -> Expansion {
    let form = FORMS[random.below(FORMS.len())];
    let documents = (0..core * d).map(|_| random.normal() as f32).collect();
    let part = |random: &mut Random| {
        let documents: Vec<u32> = (0..core as u32).filter(|_| random.uniform() < 0.7).collect();
        Part { query: None, coefficients: documents.iter().map(|_| random.normal()).collect(), documents }
    };
    let parts = (0..functions).map(|_| part(random)).collect();
    Expansion::new(Kernel { form, gamma: 0.3 }, Matrix::new(documents, d), parts)
}

/// The slow truth: `Σ_j β_j k(x_j, x)` at a row that is scaled.
fn truth(expansion: &Expansion, part: usize, x: &[f32]) -> f64 {
    let part = &expansion.parts[part];
    let terms = part.documents.iter().zip(&part.coefficients);
    terms.map(|(&j, b)| b * expansion.kernel.of(expansion.documents.row(j as usize), x)).sum()
}

fn scaled(affine: Option<&Affine>, set: &impl DataSet, row: usize) -> Vec<f32> {
    let value = |j: usize| {
        let x = set.features().value(row, j);
        affine.map_or(x, |a| (x - a.offset[j]) * a.factor[j])
    };
    (0..set.features().cols()).map(value).collect()
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-3 * (1.0 + a.abs().max(b.abs())) // kernels are computed in single precision
}

fn registers() -> MatchSet {
    Linkage { problems: 20, records: 4, ..Linkage::default() }.make()
}

fn matcher(method: &str, set: &MatchSet) -> Fitted<Match> {
    method.parse::<MatchMethod>().unwrap().fit(&Training::new(set, &set.all()), &Watch::NOBODY).unwrap()
}

fn scenes() -> LabelSet {
    Scenes { items: 60, labels: 6, scenes: 3, ..Scenes::default() }.make()
}

fn annotator(method: &str, set: &LabelSet) -> Fitted<Annotate> {
    method.parse::<CStar>().unwrap().fit(&Training::new(set, &set.all()), &Watch::NOBODY).unwrap()
}

#[test]
fn kernels_score_edges() {
    let (set, mut random) = (registers(), Random::new(3));
    let d = set.features.cols();
    for _ in 0..cases(10) {
        let mut fitted = matcher("matchmap[null=true,scale=global,lambda=0.1]", &set);
        let kernels = expansion(&mut random, d, 12, 1);
        fitted.model.score = Score::Kernel(kernels.clone());
        let model = &fitted.model;
        let ready = model.prepare(&set).unwrap();
        for (&p, said) in set.all().iter().zip(&model.predict(&ready, &set.all()).unwrap()) {
            let span = set.span(p as usize);
            for (row, &score) in span.clone().zip(&said.scores) {
                assert!(near(score, truth(&kernels, 0, &scaled(model.inputs.global.as_ref(), &set, row))));
            }
            assert_eq!(model.scores(&ready, p as usize).unwrap(), said.scores);
            if said.scores.len() > 1 && kernels.kernel.form != Form::Laplace {
                let parts = model.explain(&ready, p as usize, 0, 1).unwrap();
                let sum: f64 = parts.iter().map(|part| part.contribution).sum();
                assert!(near(sum, said.scores[0] - said.scores[1]));
            }
        }
        let again = from_bytes::<Match>(&to_bytes(&fitted), Path::new("m")).unwrap();
        assert!(again == fitted);
    }
}

#[test]
fn kernels_score_labels() {
    let (set, mut random) = (scenes(), Random::new(4));
    let (d, n) = (set.features.cols(), set.labels.len());
    for _ in 0..cases(10) {
        let mut fitted = annotator("cstar[core=2,features=both,lambda=0.01,link_lambda=0.01]", &set);
        let (direct, classifiers) = (expansion(&mut random, d, 9, n), expansion(&mut random, d, 7, n));
        fitted.model.direct = Some(Score::Kernel(direct.clone()));
        fitted.model.classifiers.score = Score::Kernel(classifiers.clone());
        let model = &fitted.model;
        assert!(model.check().is_ok() && model.linear().is_none());
        let ready = model.prepare(&set).unwrap();
        for item in [0usize, 7, 31] {
            let x = scaled(model.inputs.global.as_ref(), &set, item);
            let scored = model.score(&ready, item).unwrap();
            for label in 0..n {
                let by = &model.classifiers;
                let z = by.slope[label] * (truth(&classifiers, label, &x) + by.offset[label]) + by.shift[label];
                let own = (model.own[0] + model.own[1 + label]) * z;
                assert!(near(scored.base[label], model.bias[label] + truth(&direct, label, &x) + own));
            }
            let said = &model.predict(&ready, &[item as u32]).unwrap()[0];
            if direct.kernel.form != Form::Laplace {
                let reasons = model.explain(&ready, item, 0, 3).unwrap();
                let own = reasons.iter().filter(|reason| !reason.what.starts_with("link to "));
                let (a, b) = own.fold((0.0, 0.0), |(a, b), reason| (a + reason.above, b + reason.below));
                assert!(near(a, said.scores[0]) && near(b, said.scores[3]));
            }
        }
        let again = from_bytes::<Annotate>(&to_bytes(&fitted), Path::new("m")).unwrap();
        assert!(again == fitted);
    }
}

/// The linear kernel at the unit vectors, with the weights as coefficients.
fn as_kernel(weights: &[f64], d: usize, labels: usize) -> Score {
    let unit = (0..d * d).map(|at| if at % (d + 1) == 0 { 1.0 } else { 0.0 }).collect();
    let part = |label: usize| Part {
        query: None,
        documents: (0..d as u32).collect(),
        coefficients: weights.iter().skip(label).step_by(labels).copied().collect(),
    };
    let parts = (0..labels).map(part).collect();
    Score::Kernel(Expansion::new(Kernel { form: Form::Linear, gamma: 1.0 }, Matrix::new(unit, d), parts))
}

#[test]
fn a_linear_kernel_scores_as_weights_do() {
    let set = Synthetic { queries: 30, documents: (1, 9), ..Synthetic::default() }.make();
    for scale in ["none", "global", "query", "minmax"] {
        let method: RankMethod = format!("ranksvm[lambda=1,scale={scale}]").parse().unwrap();
        let model = method.fit(&Training::new(&set, &set.all()), &Watch::NOBODY).unwrap().model;
        let mut other = model.clone();
        other.score = as_kernel(model.score.weights(), set.features.cols(), 1);
        let (a, b) = (model.prepare(&set).unwrap(), other.prepare(&set).unwrap());
        let pairs = model.scores(&a).unwrap().into_iter().zip(other.scores(&b).unwrap());
        pairs.for_each(|(a, b)| assert!(near(a, b), "{scale}: {a} {b}"));
    }
    let set = registers();
    let model = matcher("matchmap[null=true,scale=query,lambda=0.1]", &set).model;
    let mut other = model.clone();
    other.score = as_kernel(model.score.weights(), set.features.cols(), 1);
    let (a, b) = (model.prepare(&set).unwrap(), other.prepare(&set).unwrap());
    let said = model.predict(&a, &set.all()).unwrap().into_iter().zip(other.predict(&b, &set.all()).unwrap());
    for (a, b) in said {
        a.scores.iter().zip(&b.scores).for_each(|(&a, &b)| assert!(near(a, b)));
    }
    let set = scenes();
    let model = annotator("independent[features=direct,lambda=0.01]", &set).model;
    let mut other = model.clone();
    let (d, n) = (set.features.cols(), set.labels.len());
    other.direct = model.direct.as_ref().map(|direct| as_kernel(direct.weights(), d, n));
    let (a, b) = (model.prepare(&set).unwrap(), other.prepare(&set).unwrap());
    let said = model.predict(&a, &set.all()).unwrap().into_iter().zip(other.predict(&b, &set.all()).unwrap());
    for (a, b) in said {
        a.scores.iter().zip(&b.scores).for_each(|(&a, &b)| assert!(near(a, b)));
    }
}

#[test]
fn scores_that_do_not_fit_are_refused() {
    let (registers, scenes) = (registers(), scenes());
    let mut random = Random::new(5);
    let d = registers.features.cols();
    let edges = matcher("matchmap[scale=none,lambda=1,null=true]", &registers);
    let broken: [fn(&mut Expansion); 6] = [
        |e| e.parts[0].documents[0] = 99,
        |e| e.parts[0].coefficients[0] = f64::NAN,
        |e| e.parts[0].coefficients.truncate(1),
        |e| e.kernel.gamma = 0.0,
        |e| e.parts.clear(),
        |e| e.parts.push(e.parts[0].clone()), // two functions for one edge
    ];
    for (at, damage) in broken.into_iter().enumerate() {
        let mut fitted = edges.clone();
        let mut kernels = expansion(&mut random, d, 12, 1);
        damage(&mut kernels);
        fitted.model.score = Score::Kernel(kernels);
        assert!(fitted.model.check().is_err(), "{at}");
        assert!(from_bytes::<Match>(&to_bytes(&fitted), Path::new("m")).is_err(), "{at}");
    }
    let (d, n) = (scenes.features.cols(), scenes.labels.len());
    let labels = annotator("independent[features=direct,lambda=0.01]", &scenes);
    for score in [
        Score::Kernel(expansion(&mut random, d, 9, n - 1)),
        Score::Kernel(expansion(&mut random, d + 1, 9, n)),
        Score::Linear(vec![0.0; d * n - 1]),
    ] {
        let mut fitted = labels.clone();
        fitted.model.direct = Some(score);
        assert!(fitted.model.check().is_err());
        assert!(from_bytes::<Annotate>(&to_bytes(&fitted), Path::new("m")).is_err());
    }
    let set = Synthetic::default().make();
    let method: RankMethod = "ranksvm[lambda=1,scale=none]".parse().unwrap();
    let mut fitted = method.fit(&Training::new(&set, &set.all()), &Watch::NOBODY).unwrap();
    fitted.model.score = Score::Linear(vec![1.0]);
    assert!(from_bytes::<Rank>(&to_bytes(&fitted), Path::new("m")).is_err());
}

/// What a feature is worth: nothing if the model does not use it, the same of dense and sparse rows, and equal to a plain loop.
#[test]
fn importances_are_losses_by_exchange() {
    use ordain::answer::importances;
    let mut set = Synthetic { queries: 30, documents: (1, 12), features: 5, ..Synthetic::default() }.make();
    let fitted = "ranksvm[scale=query,lambda=0.1]".parse::<RankMethod>().unwrap();
    let mut fitted = fitted.fit(&Training::new(&set, &set.all()), &Watch::NOBODY).unwrap();
    let mut weights = fitted.model.score.weights().to_vec();
    weights[2] = 0.0;
    fitted.model.score = Score::Linear(weights.clone());
    let (metric, by) = ("ndcg@10".parse().unwrap(), Convention::STANDARD);
    let of = |set: &RankSet| {
        let ready = fitted.model.prepare(set).unwrap();
        importances::<Rank>(&fitted.model, &ready, metric, &by, 2, |_| Ok(())).unwrap()
    };
    let found = of(&set);
    assert!(found.iter().all(|one| one.low <= one.mean && one.mean <= one.high));
    let unused = found.iter().find(|one| one.feature == set.columns.names[2]).unwrap();
    assert_eq!((unused.mean, unused.low, unused.high), (0.0, 0.0, 0.0));
    let strongest = (0..5).max_by(|&a, &b| weights[a].abs().total_cmp(&weights[b].abs())).unwrap();
    assert_eq!(found[0].feature, set.columns.names[strongest]);
    // rows that are stored sparsely
    let (mut ends, mut columns, mut values) = (vec![], vec![], vec![]);
    for row in 0..set.rows() {
        set.features.each(row, |j, x| {
            columns.push(j as u32);
            values.push(x);
        });
        ends.push(values.len());
    }
    set.features = Features::Sparse(Csr::new(ends, columns, values, 5));
    for (a, b) in found.iter().zip(&of(&set)) {
        assert!(a.feature == b.feature && (a.mean - b.mean).abs() < 1e-9, "{a:?} {b:?}");
    }
    let stopped = importances::<Rank>(&fitted.model, &fitted.model.prepare(&set).unwrap(), metric, &by, 1, |done| {
        if done > 0.3 { Err(ordain::Error::Interrupted) } else { Ok(()) }
    });
    assert!(matches!(stopped, Err(ordain::Error::Interrupted)));
}
