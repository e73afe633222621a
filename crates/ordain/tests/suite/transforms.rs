//! Transforms of columns: what they are worth, and that a model does to other sets what was done to its training data.
#![allow(clippy::unwrap_used)] // a test may panic

use ordain::answer::{Answers, Ask};
use ordain::data::synthetic::{Linkage, Scenes, Synthetic};
use ordain::data::transform::{Transform, Transforms};
use ordain::data::{DataSet, RankSet};
use ordain::matrix::{Csr, Features, Matrix};
use ordain::method::{Annotate, CStar, Match, MatchMethod, Rank, RankMethod};
use ordain::metric::{Convention, Evaluation};
use ordain::model_file::{from_bytes, to_bytes};
use ordain::random::Random;
use ordain::solver::run::Watch;
use ordain::task::{Fitted, Method, Model, Training};
use std::path::Path;

fn each_value(features: &mut Features, f: impl Fn(f32) -> f32) {
    match features {
        Features::Dense(m) => m.values_mut().iter_mut().for_each(|x| *x = f(*x)),
        Features::Sparse(m) => m.entries_mut().1.iter_mut().for_each(|x| *x = f(*x)),
    }
}

/// Queries whose grades follow a linear score of standard normal features, with noise.
fn linear(queries: usize, features: usize, seed: u64) -> RankSet {
    let mut set = Synthetic { queries, features, seed, ..Synthetic::default() }.make();
    let mut random = Random::new(seed);
    let weights: Vec<f64> = (0..features).map(|_| random.normal()).collect();
    let size = weights.iter().map(|w| w * w).sum::<f64>().sqrt();
    let mut values = vec![];
    for grade in &mut set.grades {
        let z: Vec<f64> = (0..features).map(|_| random.normal()).collect();
        let score = z.iter().zip(&weights).map(|(z, w)| z * w).sum::<f64>() / size + 0.5 * random.normal();
        *grade = [0.2, 0.9, 1.6].iter().filter(|cut| score > **cut).count() as f64;
        values.extend(z.iter().map(|&z| z as f32));
    }
    set.features = Features::Dense(Matrix::new(values, features));
    set
}

fn fit(method: &str, set: &RankSet, train: &[u32]) -> Fitted<Rank> {
    method.parse::<RankMethod>().unwrap().fit(&Training::new(set, train), &Watch::NOBODY).unwrap()
}

fn ndcg(fitted: &Fitted<Rank>, set: &RankSet, units: &[u32]) -> Evaluation {
    let ready = fitted.model.prepare(set).unwrap();
    fitted.model.evaluate(&ready, units, &["ndcg@10".parse().unwrap()], &Convention::STANDARD).unwrap()
}

/// Features exp(3z) of a linear set: with all defaults within .005 NDCG@10 of the set before the exponential.
#[test]
fn an_exponential_of_features_costs_nothing() {
    for seed in [1, 2] {
        let plain = linear(450, 12, seed);
        let mut bent = plain.clone();
        each_value(&mut bent.features, |z| (3.0 * z).exp());
        let all = plain.all();
        let (train, test) = all.split_at(300);
        let [before, after, raw] = [(&plain, "ranksvm"), (&bent, "ranksvm"), (&bent, "ranksvm[transform=none]")]
            .map(|(set, method)| ndcg(&fit(method, set, train), set, test).mean(0));
        assert!(before - after < 0.005, "seed {seed}: {before} before, {after} after");
        assert!(before - raw > 0.01, "seed {seed}: {before} before, {raw} without a transform: nothing to gain here");
    }
}

/// A fit with a transform is the fit of the transformed set, and the model transforms what it is given.
fn same<T: Answers>(method: &str, set: &T::Set, how: Transform) {
    let all = set.all();
    let method: T::Method = method.parse().unwrap();
    let fitted = method.fit(&Training::new(set, &all), &Watch::NOBODY).unwrap();
    assert!(!fitted.model.inputs().transforms.is_empty());
    let rows: Vec<u32> = (0..set.rows() as u32).collect();
    let learned = Transforms::learn(how, set.features(), &rows);
    assert_eq!(fitted.model.inputs().transforms, learned);
    let ready = fitted.model.prepare(set).unwrap();
    assert_eq!(ready.raw(), set);
    assert_eq!(ready.raw().features(), set.features());
    let mut changed = set.clone();
    learned.apply(changed.features_mut());
    assert_eq!(ready.set().features(), changed.features());
    assert_eq!(matches!(changed.features(), Features::Sparse(_)), matches!(set.features(), Features::Sparse(_)));
    assert!(fitted.trained_on(set));
    // and back from a file
    let bytes = to_bytes(&fitted);
    let loaded = from_bytes::<T>(&bytes, Path::new("m")).unwrap();
    assert_eq!(loaded, fitted);
    assert_eq!(to_bytes(&loaded), bytes);
}

#[test]
fn models_transform_what_they_are_given() {
    let mut rank = linear(60, 6, 1);
    each_value(&mut rank.features, |z| (3.0 * z).exp());
    let mut items = Scenes { items: 150, ..Scenes::default() }.make();
    each_value(&mut items.features, |z| z * z * z);
    let mut edges = Linkage { problems: 12, matched: 1.0, ..Linkage::default() }.make();
    each_value(&mut edges.features, |z| (3.0 * z).sinh());
    for how in [Transform::Auto, Transform::Log, Transform::Quantile] {
        let name = how.name();
        if how == Transform::Auto {
            same::<Rank>("rankmatch[scale=query,lambda=0.1]", &rank, how);
            continue;
        }
        same::<Rank>(&format!("ranksvm[lambda=1,transform={name}]"), &rank, how);
        same::<Rank>(&format!("ranksvm[kernel=rbf,gamma=1,scale=query,lambda=0.1,transform={name}]"), &rank, how);
        same::<Annotate>(&format!("cstar[lambda=0.01,link_lambda=0.01,transform={name}]"), &items, how);
        same::<Match>(&format!("matchmargin[null=true,scale=none,lambda=0.1,transform={name}]"), &edges, how);
    }
}

/// What is explained is in values of the data.
#[test]
fn explanations_are_in_values_of_the_data() {
    let mut set = linear(40, 5, 2);
    each_value(&mut set.features, |z| (3.0 * z).exp());
    let fitted = fit("ranksvm[scale=global,lambda=0.1]", &set, &set.all());
    let ready = fitted.model.prepare(&set).unwrap();
    let (query, rows) = (set.query(3).to_owned(), set.span(3));
    let names = [set.document(rows.start).into_owned(), set.document(rows.start + 1).into_owned()];
    let ask = Ask { unit: Some(&query), above: Some(&names[0]), below: Some(&names[1]), ..Ask::default() };
    let why = Rank::explain(&fitted.model, &ready, &ask).unwrap();
    for part in &why.contributions {
        let j = set.columns.names.iter().position(|name| *name == part.feature).unwrap();
        assert_eq!(part.above.to_bits(), set.features.value(rows.start, j).to_bits());
        assert_eq!(part.below.to_bits(), set.features.value(rows.start + 1, j).to_bits());
    }
    let total: f64 = why.contributions.iter().map(|part| part.contribution).sum();
    assert!((total - why.difference).abs() < 1e-6 * (1.0 + why.difference.abs()));
}

/// Sparse rows stay sparse, and mean the same as dense ones.
#[test]
fn sparse_rows_are_transformed_as_dense_ones() {
    let mut dense = linear(50, 5, 3);
    each_value(&mut dense.features, |z| if z < 0.3 { 0.0 } else { (3.0 * z).exp() });
    let (mut ends, mut columns, mut values) = (vec![], vec![], vec![]);
    for row in 0..dense.rows() {
        dense.features.each(row, |j, x| {
            if x != 0.0 {
                columns.push(j as u32);
                values.push(x);
            }
        });
        ends.push(values.len());
    }
    let mut sparse = dense.clone();
    sparse.features = Features::Sparse(Csr::new(ends, columns, values, dense.features.cols()));
    for how in ["log", "quantile"] {
        let method = format!("ranksvm[transform={how},scale=global,lambda=0.1]");
        let [a, b] = [&dense, &sparse].map(|set| {
            let fitted = fit(&method, set, &set.all());
            let ready = fitted.model.prepare(set).unwrap();
            assert_eq!(
                matches!(ready.set().features, Features::Sparse(_)),
                matches!(set.features, Features::Sparse(_))
            );
            fitted.model.scores(&ready).unwrap()
        });
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-4), "{how}");
    }
}

/// Trees are the same under monotone maps: alone they see columns as they are, and a transform of them is refused.
#[test]
fn trees_alone_see_columns_as_they_are() {
    let mut set = linear(60, 5, 4);
    each_value(&mut set.features, |z| (3.0 * z).exp());
    let fitted = fit("ranksvm[scorer=trees,rounds=5]", &set, &set.all());
    assert!(fitted.model.inputs.transforms.is_empty());
    assert_eq!(fitted.facts.settings["transform"], "none");
    let refused = "ranksvm[scorer=trees,transform=log]".parse::<RankMethod>().unwrap_err().to_string();
    assert!(refused.contains("monotone"), "{refused}");
    assert!("cstar[features=given,transform=log]".parse::<CStar>().is_err());
    assert!("matchmap[scorer=trees,transform=quantile]".parse::<MatchMethod>().is_err());
}
