//! Exported models: the formula against the model, and each text against a plain reader of it.
#![allow(clippy::unwrap_used, clippy::panic)] // a test may panic

use crate::cases::cases;
use ordain::data::scale::Affine;
use ordain::data::synthetic::{Linkage, Scenes, Synthetic};
use ordain::data::transform::{ColumnTransform, Transforms};
use ordain::data::{Missing, RankSet};
use ordain::export::{Exports, Formula, Options, SelfCheck, Target, export};
use ordain::kernel::{Expansion, Form, Kernel, Part};
use ordain::matrix::{Csr, Features, Matrix};
use ordain::method::{Annotate, CStar, Match, MatchMethod, Rank, RankMethod};
use ordain::random::Random;
use ordain::score::{Score, TreeScore};
use ordain::solver::run::Watch;
use ordain::task::{Fitted, Method, Model, Training};
use ordain::tree::{Forest, Parts};
use serde_json::Value;

fn fit(method: &str, set: &RankSet) -> Fitted<Rank> {
    method.parse::<RankMethod>().unwrap().fit(&Training::new(set, &set.all()), &Watch::NOBODY).unwrap()
}

fn documents(random: &mut Random) -> RankSet {
    let mut set =
        Synthetic { queries: 12, features: 4, seed: random.below(1000) as u64, ..Synthetic::default() }.make();
    let Features::Dense(m) = &mut set.features else { panic!("rows are dense") };
    // a column that is constant in many queries, and one of sizes
    for row in m.values_mut().chunks_exact_mut(4) {
        row[1] = (row[1] > 1.0).into();
        row[2] = row[2].clamp(-3.0, 3.0).exp();
    }
    set
}

/// A forest of random trees with cuts, gaps and lists.
pub(crate) fn forest(random: &mut Random, columns: usize, lists: bool) -> Forest {
    let mut parts = Parts { first: vec![0], ..Parts::default() };
    for _ in 0..1 + random.below(4) {
        let root = parts.kind.len() as u32;
        let depth = random.below(4);
        let mut open = vec![(root, depth)];
        let mut next = root + 1;
        while let Some((_, depth)) = open.first().copied() {
            open.remove(0);
            if depth == 0 {
                parts.kind.push(Parts::LEAF);
                parts.column.push(0);
                parts.cut.push(0.0);
                parts.child.push([0; 2]);
                parts.value.push(random.normal());
                continue;
            }
            let list = lists && random.below(4) == 0;
            let kind = if list { Parts::SET } else { [Parts::CUT, Parts::CUT_OR_GAP][random.below(2)] };
            parts.kind.push(kind);
            parts.column.push(random.below(columns) as u32);
            parts.cut.push(if list { 0.0 } else { random.normal() as f32 });
            if list {
                parts.set.extend([0.0, 1.0]);
                parts.set_end.push(parts.set.len() as u32);
            }
            parts.child.push([next, next + 1]);
            parts.value.push(1.0);
            open.extend([(next, depth - 1), (next + 1, depth - 1)]);
            next += 2;
        }
        parts.first.push(parts.kind.len() as u32);
    }
    Forest::new(parts, columns).unwrap()
}

/// A ranker of random parts: any scaling, transforms, rule for gaps and kind of score.
pub(crate) fn any_ranker(random: &mut Random, set: &RankSet) -> Fitted<Rank> {
    let scale = ["none", "global", "query", "minmax"][random.below(4)];
    let mut fitted = fit(&format!("ranksvm[scale={scale},lambda=1,transform=none,weight=query]"), set);
    let model = &mut fitted.model;
    let d = set.features.cols();
    if random.below(2) == 0 {
        let quantile =
            ColumnTransform::Quantile { values: vec![-1.0, 0.0, 0.5, 2.0], levels: vec![-0.5, 0.0, 0.1, 0.6] };
        let columns = vec![ColumnTransform::Keep, quantile, ColumnTransform::Log { unit: 0.7 }, ColumnTransform::Keep];
        model.inputs.transforms = Transforms::new(columns);
    }
    match random.below(4) {
        0 => model.inputs.missing = Missing::Zero,
        1 => {
            model.inputs.missing = Missing::Mean;
            model.inputs.means = Some((0..d).map(|_| random.normal() as f32).collect());
        }
        2 => {
            model.inputs.missing = Missing::Indicator;
            model.inputs.means = Some((0..d).map(|_| random.normal() as f32).collect());
            let flag = format!("{}_missing", model.inputs.columns.names[2]);
            model.inputs.columns.names.push(flag);
            if let Some(Affine { offset, factor }) = &mut model.inputs.global {
                offset.push(0.1);
                factor.push(3.0);
            }
            if !model.inputs.transforms.is_empty() {
                let mut columns = model.inputs.transforms.columns().to_vec();
                columns.push(ColumnTransform::Keep);
                model.inputs.transforms = Transforms::new(columns);
            }
        }
        _ => {}
    }
    let width = model.inputs.columns.names.len();
    let lists = model.inputs.transforms.is_empty();
    let weights: Vec<f64> = (0..width).map(|_| random.normal()).collect();
    model.score = match random.below(4) {
        0 => Score::Trees(TreeScore { weights, forests: vec![forest(random, width, lists)] }),
        1 => Score::Trees(TreeScore { weights: vec![], forests: vec![forest(random, width, lists)] }),
        2 => {
            let form = [Form::Linear, Form::Rbf, Form::Laplace, Form::Poly { degree: 2, coef0: 0.5 }][random.below(4)];
            let documents: Vec<f32> = (0..5 * width).map(|_| random.normal() as f32).collect();
            let part = Part { query: None, documents: vec![0, 1, 3], coefficients: vec![0.5, -1.0, 2.0] };
            Score::Kernel(Expansion::new(Kernel { form, gamma: 0.2 }, Matrix::new(documents, width), vec![part]))
        }
        _ => Score::Linear(weights),
    };
    model.check().unwrap();
    fitted
}

/// Puts gaps into rows, if the model has a rule for them.
fn with_gaps(set: &RankSet, missing: Missing, random: &mut Random) -> RankSet {
    let mut set = set.clone();
    if missing != Missing::Error {
        let Features::Dense(m) = &mut set.features else { panic!("rows are dense") };
        m.values_mut().iter_mut().filter(|_| random.below(8) == 0).for_each(|x| *x = f32::NAN);
    }
    set
}

fn near(a: f64, b: f64, largest: f64) -> bool {
    (a - b).abs() <= 2e-6 * largest.max(1e-3)
}

fn largest(scores: &[f64]) -> f64 {
    scores.iter().fold(0.0, |most, x| most.max(x.abs()))
}

#[test]
fn a_formula_gives_the_scores_of_its_ranker() {
    let mut random = Random::new(1);
    for round in 0..cases(60) {
        let set = documents(&mut random);
        let fitted = any_ranker(&mut random, &set);
        let set = with_gaps(&set, fitted.model.inputs.missing, &mut random);
        let formula = Formula::of_ranker(&fitted.model).unwrap();
        let ready = fitted.model.prepare(&set).unwrap();
        let truth = fitted.model.scores(&ready).unwrap();
        let (bounds, _) = Rank::units(&set);
        let Features::Dense(rows) = &set.features else { panic!("rows are dense") };
        let made = formula.scores(rows, &bounds);
        let most = largest(&truth);
        for (i, (a, b)) in truth.iter().zip(&made).enumerate() {
            assert!(near(*a, *b, most), "round {round}, row {i}: {a}, found {b}: {:?}", fitted.model);
        }
        let check = SelfCheck::on_data(&fitted, Target::Sql, &ready, 50).unwrap();
        assert!(check.difference <= 2e-6 && check.rows > 0 && check.rows <= 50, "{check:?}");
    }
}

#[test]
fn scores_of_labels_and_edges_are_formulas_too() {
    let items = Scenes { items: 60, labels: 5, scenes: 3, ..Scenes::default() }.make();
    for method in
        ["cstar[core=2,lambda=0.01]", "independent[features=both,lambda=0.01]", "independent[features=direct]"]
    {
        let fitted = method.parse::<CStar>().unwrap();
        let fitted = fitted.fit(&Training::new(&items, &items.all()), &Watch::NOBODY).unwrap();
        let check = SelfCheck::on_data(&fitted, Target::Json, &fitted.model.prepare(&items).unwrap(), 1000).unwrap();
        assert!(check.difference < 2e-6 && check.rows == 60 && check.expected.len() == 300, "{method}: {check:?}");
        let text = String::from_utf8(export(&fitted, Target::Json, &Options::default()).unwrap().bytes).unwrap();
        let document: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["outputs"].as_array().unwrap().len(), 5);
        assert!(export(&fitted, Target::Solr, &Options::default()).unwrap_err().to_string().contains("annotates"));
    }
    let edges = Linkage { problems: 20, records: 4, ..Linkage::default() }.make();
    for method in ["matchmap[null=true,lambda=0.1]", "matchmargin[null=true,scale=query,lambda=0.1]"] {
        let fitted = method.parse::<MatchMethod>().unwrap();
        let fitted: Fitted<Match> = fitted.fit(&Training::new(&edges, &edges.all()), &Watch::NOBODY).unwrap();
        let check = SelfCheck::on_data(&fitted, Target::Json, &fitted.model.prepare(&edges).unwrap(), 1000).unwrap();
        assert!(check.difference < 2e-6, "{method}: {check:?}");
    }
}

#[test]
fn what_a_target_has_no_words_for_is_refused_with_the_way_out() {
    let set = Synthetic { queries: 30, ..Synthetic::default() }.make();
    let refused = |method: &str, to: Target, says: &str| {
        let text = export(&fit(method, &set), to, &Options::default()).unwrap_err().to_string();
        assert!(text.contains(says), "{method} to {}: {text}", to.name());
    };
    let chosen = fit("ranksvm[lambda=1,transform=none,weight=query]", &set);
    if chosen.facts.settings["scale"] == "query" {
        let text = export(&chosen, Target::Solr, &Options::default()).unwrap_err().to_string();
        assert!(text.contains("instead of"), "{text}");
    }
    refused("ranksvm[scale=query,lambda=1]", Target::Elasticsearch, "fit with scale=global");
    refused("ranksvm[scale=minmax,lambda=1]", Target::Onnx, "one call for each query");
    refused("ranksvm[scale=global,lambda=1,kernel=rbf,gamma=1]", Target::Solr, "a sum of kernels");
    refused("ranksvm[scale=global,lambda=1]", Target::Xgboost, "scorer=trees");
    refused("ranksvm[scale=global,lambda=1,transform=quantile]", Target::Opensearch, "transform=quantile");
    refused("sortnet[rounds=1]", Target::Onnx, "a network");
    let how = Options { map: vec![("nothing".into(), "x".into())], ..Options::default() };
    let text = export(&fit("ranksvm[scale=none,lambda=1]", &set), Target::Json, &how).unwrap_err().to_string();
    assert!(text.contains("unknown column"), "{text}");
}

/// Readers of the formats of search engines, written from the rules of their parsers.
#[test]
fn search_engines_would_score_alike() {
    let mut random = Random::new(2);
    for _ in 0..cases(20) {
        let set = documents(&mut random);
        let scale = ["none", "global"][random.below(2)];
        let mut fitted = fit(&format!("ranksvm[scale={scale},lambda=1,transform=none,weight=query]"), &set);
        let log = random.below(2) == 0;
        if log {
            let keep = ColumnTransform::Keep;
            let columns = vec![keep.clone(), keep.clone(), ColumnTransform::Log { unit: 0.5 }, keep];
            fitted.model.inputs.transforms = Transforms::new(columns);
        }
        let trees = !log && random.below(3) == 0;
        if trees {
            fitted.model.score =
                Score::Trees(TreeScore { weights: vec![], forests: vec![forest(&mut random, 4, false)] });
        }
        let truth = fitted.model.scores(&fitted.model.prepare(&set).unwrap()).unwrap();
        let how = Options { map: vec![(set.columns.names[0].clone(), "title".into())], ..Options::default() };
        let names: Vec<&str> =
            set.columns.names.iter().map(|name| if *name == how.map[0].0 { "title" } else { name }).collect();
        let value = |row: usize, name: &str| -> f32 {
            match name.strip_suffix("_log") {
                Some(raw) => {
                    let x = set.features.value(row, names.iter().position(|n| *n == raw).unwrap());
                    if x >= 0.0 { (1.0 + x / 0.5).ln() } else { -(1.0 - x / 0.5).ln() }
                }
                None => set.features.value(row, names.iter().position(|n| *n == name).unwrap()),
            }
        };
        for to in [Target::Elasticsearch, Target::Solr] {
            let made = export(&fitted, to, &how).unwrap();
            assert_eq!(made.beside.len(), usize::from(log && !trees));
            let body: Value = serde_json::from_slice(&made.bytes).unwrap();
            let scores: Vec<f64> =
                (0..set.rows()).map(|row| read_engine(&body, to, &|name| value(row, name))).collect();
            let most = largest(&truth);
            for (i, j) in (1..set.rows()).map(|i| (i - 1, i)) {
                assert!(near(truth[j] - truth[i], scores[j] - scores[i], 3.0 * most), "{body}");
            }
        }
    }
}

/// The score of one document: weights on normalised features, or trees.
fn read_engine(body: &Value, to: Target, value: &dyn Fn(&str) -> f32) -> f64 {
    let number = |v: &Value| v.as_f64().or_else(|| v.as_str().and_then(|s| s.parse().ok())).unwrap() as f32;
    if to == Target::Solr {
        if let Some(trees) = body["params"].get("trees") {
            let walk = |tree: &Value| {
                let mut node = &tree["root"];
                while let Some(feature) = node["feature"].as_str() {
                    let left = value(feature) <= number(&node["threshold"]);
                    node = if left { &node["left"] } else { &node["right"] };
                }
                number(&tree["weight"]) * number(&node["value"])
            };
            return trees.as_array().unwrap().iter().map(|tree| f64::from(walk(tree))).sum();
        }
        let one = |feature: &Value| {
            let name = feature["name"].as_str().unwrap();
            let mut x = value(name);
            if let Some(norm) = feature.get("norm") {
                let (avg, std) = (number(&norm["params"]["avg"]), number(&norm["params"]["std"]));
                assert!(std > 0.0);
                x = (x - avg) / std;
            }
            f64::from(x * number(&body["params"]["weights"][name]))
        };
        return body["features"].as_array().unwrap().iter().map(one).sum();
    }
    let model = &body["model"]["model"];
    let definition: Value = serde_json::from_str(model["definition"].as_str().unwrap()).unwrap();
    if model["type"] == "model/xgboost+json" {
        let walk = |tree: &Value| {
            let mut node = tree;
            while let Some(feature) = node["split"].as_str() {
                let to = if value(feature) < number(&node["split_condition"]) { &node["yes"] } else { &node["no"] };
                node = node["children"].as_array().unwrap().iter().find(|child| child["nodeid"] == *to).unwrap();
            }
            f64::from(number(&node["leaf"]))
        };
        return definition.as_array().unwrap().iter().map(walk).sum();
    }
    let one = |(name, weight): (&String, &Value)| {
        let mut x = value(name);
        if let Some(by) = model["feature_normalizers"].get(name) {
            let (mean, deviation) = (number(&by["standard"]["mean"]), number(&by["standard"]["standard_deviation"]));
            assert!(deviation > 0.0);
            x = (x - mean) / deviation;
        }
        f64::from(x * number(weight))
    };
    definition.as_object().unwrap().iter().map(one).sum()
}

/// A model that was fitted on dense items scores the same items alike if they are stored as sparse rows, and the other way round.
#[test]
fn items_score_alike_dense_and_sparse() {
    let dense = Scenes { items: 80, labels: 4, scenes: 3, ..Scenes::default() }.make();
    let (rows, d) = (dense.features.rows(), dense.features.cols());
    let (mut ends, mut columns, mut values) = (vec![], vec![], vec![]);
    for i in 0..rows {
        for j in (0..d).filter(|&j| dense.features.value(i, j) != 0.0) {
            columns.push(j as u32);
            values.push(dense.features.value(i, j));
        }
        ends.push(values.len());
    }
    let mut sparse = dense.clone();
    sparse.features = Features::Sparse(Csr::new(ends, columns, values, d));
    for (train, scale) in [(&dense, "global"), (&sparse, "global"), (&sparse, "none")] {
        let method: CStar = format!("independent[scale={scale},features=both,lambda=0.01]").parse().unwrap();
        let fitted: Fitted<Annotate> = method.fit(&Training::new(train, &train.all()), &Watch::NOBODY).unwrap();
        let [a, b] = [&dense, &sparse].map(|set| {
            let ready = fitted.model.prepare(set).unwrap();
            Annotate::scores(&fitted.model, &ready).unwrap()
        });
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-4 * (1.0 + a.abs())), "{scale}");
    }
}
