//! What every method must keep: bytes from the seed, order of documents, files, constant features, short queries.
#![allow(clippy::unwrap_used)] // a test may panic

use ordain::Error;
use ordain::data::scale::Scale;
use ordain::data::synthetic::{Linkage, Scenes, Synthetic};
use ordain::data::{Columns, LabelSet, MatchSet, Missing, Problem, RankSet, Truth};
use ordain::matrix::{Features, Matrix};
use ordain::method::{
    Annotate, AnyMethod, BallRank, CStar, Choice, Decide, Documents, Dorm, LabelLoss, LabelPrediction, Match,
    MatchDecide, MatchMap, MatchMargin, MatchMethod, MatchPrediction, Operating, Rank, RankMatch, RankMethod, RankSvm,
    Subset,
};
use ordain::metric::{Convention, evaluate};
use ordain::model_file::{AnyModel, any_from_bytes, from_bytes, load, load_any, save, to_bytes};
use ordain::score::Score;
use ordain::solver::run::Watch;
use ordain::task::{Fitted, Method, Model, Ready, Training};
use ordain::traits::Stop;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// A line for each method, in the settings that differ in kind.
const METHODS: [&str; 44] = [
    "ranksvm",
    "ranksvm[weight=pair]",
    "ranksvm[scale=none,lambda=0.1]",
    "ranksvm[scale=global,lambda=0.1]",
    "ranksvm[scale=query,c=10]",
    "ranksvm[scale=minmax,lambda=auto]",
    "ranksvm[scale=auto,lambda=1,max_iter=3,tol=1e-2]",
    "ranksvm[transform=quantile,scale=query,lambda=0.1]",
    "rankmatch[transform=log,scale=minmax,lambda=0.1]",
    "rankmatch",
    "rankmatch[ties=sum,places=3,scale=query,lambda=0.1]",
    "rankmatch[subset=R,scale=global,lambda=0.1]",
    "dorm[scale=query,lambda=0.1]",
    "dorm[scale=global,lambda=1,loss=wta,subset=R,draws=0.2]",
    "rankmatch[subset=5,ties=random,draws=0.2,discount=log,scale=minmax,lambda=0.1]",
    "svmmap[scale=minmax,lambda=0.1,tol=1e-9]",
    "ranksvm[kernel=rbf,scale=query,lambda=0.01]",
    "ranksvm[kernel=laplace,gamma=0.5,scale=global,lambda=0.01,documents=30]",
    "ranksvm[kernel=poly,degree=2,coef0=0.5,scale=minmax,lambda=0.01,documents=20,choose=random]",
    "ranksvm[kernel=chi2,scale=minmax,gamma=1,lambda=0.01,documents=20,choose=cholesky]",
    "ranksvm[kernel=intersection,scale=minmax,lambda=0.01,weight=pair]",
    "ballrank[scale=query,gamma=1,epsilon=1e-2]",
    "ballrank[scale=global,gamma=1,lambda=1e-3,epsilon=0.05,oracle=sample,inner=badoiu-clarkson,polish=false]",
    "ranksvm[scorer=trees,rounds=5,least_rows=5]",
    "rankmatch[scorer=linear+trees,scale=global,lambda=0.1,rounds=4,leaves=5,least_rows=3]",
    "rankboost",
    "rankboost[rounds=20,weight=query,alpha=exact,thresholds=9]",
    "frank[rounds=9]",
    "frank[rounds=5,weight=pair,thresholds=20]",
    "adarank",
    "adarank[metric=ndcg@10,scale=auto]",
    "qbrank[rounds=12,least_rows=1]",
    "isorank[rounds=12,least_rows=1,leaves=5,rate=0.5,gap=linear]",
    // with links they need items that queries share: see `quadrank`
    "quadrank[core=0,places=3,scale=query,lambda=0.1]",
    "quadrank[trainer=margin,core=0,places=3,scale=global,lambda=0.1,max_iter=50]",
    "quadrank[trainer=margin,core=0,places=all,scale=none,lambda=0.1,max_iter=10]",
    "ranksvm[loss=hinge,scale=query,lambda=0.1,tol=1e-9]",
    "ranksvm[loss=hinge,kernel=rbf,scale=query,lambda=0.01]",
    "ranknet[scale=query,lambda=0.01]",
    "ranknet[hidden=3,scale=minmax,lambda=0.01,max_iter=30]",
    "structrank[scale=query,lambda=0.01]",
    "structrank[edges=pairs,scale=global,lambda=0.1]",
    "ccrf",
    "sortnet[hidden=3,pairs=100,rounds=2]",
];

/// The lines above, and the plain name of every method that has none.
fn methods() -> Vec<&'static str> {
    let has = |name: &str| METHODS.iter().any(|line| line.split('[').next() == Some(name));
    METHODS
        .into_iter()
        .chain(<Rank as ordain::task::Task>::METHODS.iter().map(|(name, _)| *name).filter(|name| !has(name)))
        .collect()
}

fn fit(method: &str, set: &RankSet) -> Fitted<Rank> {
    method.parse::<RankMethod>().unwrap().fit(&Training::new(set, &set.all()), &Watch::NOBODY).unwrap()
}

/// The scores of a set.
fn scores(fitted: &Fitted<Rank>, set: &RankSet) -> Vec<f64> {
    fitted.model.scores(&fitted.model.prepare(set).unwrap()).unwrap()
}

fn small() -> RankSet {
    Synthetic { queries: 40, documents: (1, 12), features: 7, ..Synthetic::default() }.make()
}

#[test]
fn the_same_data_give_the_same_bytes_on_any_number_of_threads() {
    let set = Synthetic { queries: 120, ..Synthetic::default() }.make();
    for method in methods() {
        let bytes = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| to_bytes(&fit(method, &set)))
        };
        let first = bytes(1);
        assert!(first == bytes(2) && first == bytes(7), "{method}");
    }
}

/// An exact fit draws nothing, so the seed has no part in it: not in the width of a kernel either.
#[test]
fn an_exact_kernel_fit_is_the_same_for_every_seed() {
    let sets = [small(), Synthetic { queries: 8, documents: (4, 7), features: 5, ..Synthetic::default() }.make()];
    let exact = methods().into_iter().filter(|method| method.contains("kernel") && !method.contains("documents"));
    let others =
        ["ranksvm[kernel=laplace,scale=global,gamma=0.5,lambda=0.1]", "ranksvm[kernel=poly,scale=query,lambda=0.1]"];
    for method in exact.chain(others) {
        for set in &sets {
            let bytes = |seed: u64| {
                let (method, all) = (method.parse::<RankMethod>().unwrap(), set.all());
                let training = Training { seed, ..Training::new(set, &all) };
                let mut model = method.fit(&training, &Watch::NOBODY).unwrap();
                model.facts.seed = 0;
                to_bytes(&model)
            };
            let first = bytes(0);
            assert!((1..4).all(|seed| bytes(seed) == first), "{method}");
        }
    }
}

#[test]
fn permuting_documents_permutes_scores() {
    let set = small();
    let mut order: Vec<u32> = (0..set.rows() as u32).collect();
    let mut random = ordain::random::Random::new(3);
    let mut bounds = vec![0];
    for q in 0..set.len() {
        random.shuffle(&mut order[set.span(q)]);
        bounds.push(set.span(q).end);
    }
    let grades = order.iter().map(|&row| set.grades[row as usize]).collect();
    let names = (0..set.len()).map(|q| set.query(q).to_owned()).collect();
    let moved = RankSet::new(set.features.select_rows(&order), set.columns.clone(), grades, bounds, names).unwrap();
    // subsets, core documents and pairs for the median distance are drawn by row, so other rows are others
    // (and a margin is fitted to a gap, within which other orders of the same rows end elsewhere)
    let drawn = ["subset", "dorm", "gamma", "rbf", "documents", "ballrank", "margin", "hidden", "edges"];
    for method in methods().into_iter().filter(|method| !drawn.iter().any(|word| method.contains(word))) {
        let (a, b) = (scores(&fit(method, &set), &set), scores(&fit(method, &moved), &moved));
        for (row, &old) in order.iter().enumerate() {
            assert!((b[row] - a[old as usize]).abs() < 1e-4 * (1.0 + a[old as usize].abs()), "{method}");
        }
    }
}

#[test]
fn a_saved_model_scores_alike() {
    let dir = tempfile::tempdir().unwrap();
    let set = small();
    for method in methods() {
        let model = fit(method, &set);
        let path = dir.path().join("m.ordain");
        save(&model, &path).unwrap();
        let again = load(&path).unwrap();
        assert!(again == model, "{method}");
        assert_eq!(scores(&again, &set), scores(&model, &set), "{method}");
    }
}

#[test]
fn scaled_documents_score_alike() {
    let set = small();
    for method in methods() {
        let ranker = fit(method, &set).model;
        let others = matches!(ranker.score, Score::Comparison(_) | Score::Field(_));
        if ranker.quadratic.is_some() || !ranker.score.forests().is_empty() || others {
            continue; // the order of a query is no function of one document; trees see documents as they are
        }
        let ready = ranker.prepare(&set).unwrap();
        let docs = ranker.scaled_rows(&ready, &set.all()).unwrap();
        assert_eq!(docs.len(), 7 * set.rows());
        let (scores, again) = (ranker.scores(&ready).unwrap(), ranker.scores_of_scaled(set.query(0), &docs).unwrap());
        for (a, b) in scores.iter().zip(&again) {
            assert!((a - b).abs() < 1e-4 * (1.0 + a.abs()), "{method}: {a} and {b}"); // scaled ones are in single precision
        }
    }
}

#[test]
fn the_objective_is_never_above_its_value_at_zero() {
    for method in methods() {
        let report = fit(method, &small()).facts.report;
        // a density may be above 1, and its logarithm above 0
        assert!(report.objective > 0.0 || method == "ccrf", "{method}: {report:?}");
        // at zero every pair costs 1/2, and every margin 1; likelihoods of lists have no common value there
        let at_zero = match method.split('[').next() {
            Some("ranksvm") if method.contains("trees") => std::f64::consts::LN_2,
            Some("ranksvm") if method.contains("hinge") => 1.0,
            Some("ranksvm") => 0.5,
            Some("ranknet") if !method.contains("hidden") => std::f64::consts::LN_2,
            Some("dorm" | "ballrank" | "svmmap") => 1.0,
            _ => continue,
        };
        assert!(report.objective <= at_zero + 1e-12, "{method}: {report:?}");
    }
}

#[test]
fn constant_features_and_short_queries_are_harmless() {
    let values = vec![5.0, 1.0, 5.0, 2.0, 5.0, 3.0, 5.0, 9.0, 5.0, 7.0];
    let columns = Columns::named(vec!["constant".into(), "x".into()]);
    let names = ["a", "b", "c"].map(str::to_owned).to_vec();
    let features = Features::Dense(Matrix::new(values, 2));
    let set = RankSet::new(features, columns, vec![0.0, 1.0, 2.0, 1.0, 1.0], vec![0, 3, 4, 5], names).unwrap();
    for method in methods() {
        let model = fit(method, &set);
        let scores = scores(&model, &set);
        assert!(scores.iter().all(|s| s.is_finite()), "{method}");
        // trees do not cut so few documents
        let cuts = method.contains("trees");
        assert!(cuts || scores[0] < scores[1] && scores[1] < scores[2], "{method}: {scores:?}");
        assert!(!method.contains("query") || model.model.score.weights().first().is_none_or(|&w| w == 0.0));
        assert_eq!((model.facts.notes.queries, model.facts.notes.flat_queries), (3, 2));
    }
}

#[test]
fn data_without_a_pair_are_refused() {
    let mut set = small();
    set.grades.fill(1.0);
    for method in methods() {
        let refusal =
            method.parse::<RankMethod>().unwrap().fit(&Training::new(&set, &set.all()), &Watch::NOBODY).unwrap_err();
        assert!(refusal.to_string().contains("two different grades"), "{refusal}");
    }
}

#[test]
fn a_weight_of_two_counts_as_a_query_given_twice() {
    let set = small();
    let n = set.len() as u32;
    let mut weighted = set.clone();
    let weights = (0..set.len()).flat_map(|q| vec![if q == 3 { 2.0 } else { 1.0 }; set.span(q).len()]);
    weighted.weights = Some(weights.collect());
    let mut units: Vec<u32> = (0..n).collect();
    units.push(3);
    let twice = set.only(&units);
    for method in ["ranksvm[scale=query,lambda=1]", "ranksvm[scale=query,lambda=1,weight=pair]"] {
        let (a, b) = (fit(method, &weighted), fit(method, &twice));
        for (a, b) in a.model.score.weights().iter().zip(b.model.score.weights()) {
            assert!((a - b).abs() < 1e-5, "{method}: {a} and {b}");
        }
    }
}

#[test]
fn the_choice_is_the_best_of_what_was_tried() {
    // 60 validation queries choose
    let set = Synthetic { queries: 300, ..Synthetic::default() }.make();
    let model = fit("ranksvm", &set);
    let chosen = model.facts.chosen.clone().unwrap();
    assert_eq!((chosen.metric.as_str(), chosen.units, chosen.parts), ("ndcg@10", 60, None));
    let best = chosen.candidates.iter().map(|c| c.value).fold(0.0, f64::max);
    assert!((model.facts.taken().unwrap().value - best).abs() < 1e-15);
    // 20 are too few: all queries choose, in five parts
    let set = Synthetic { queries: 100, ..Synthetic::default() }.make();
    let model = fit("ranksvm", &set);
    let chosen = model.facts.chosen.clone().unwrap();
    assert_eq!((chosen.units, chosen.parts), (100, Some(5)));
    assert!(model.facts.refit && model.facts.notes.queries == 100);
    // better than the best single feature, under units and offsets that change from query to query
    let metric = "ndcg@10".parse().unwrap();
    let of = |scores: &[f64]| evaluate(&set, &set.all(), scores, &[metric], &Convention::STANDARD).unwrap().mean(0);
    let feature = |j: usize| of(&(0..set.rows()).map(|row| f64::from(set.features.value(row, j))).collect::<Vec<_>>());
    let floor = (0..20).map(feature).fold(0.0, f64::max);
    assert!(of(&scores(&model, &set)) > floor + 0.05);
}

#[test]
fn a_stopped_fit_gives_a_model_that_says_so() {
    let set = small();
    for method in methods() {
        let stop = AtomicBool::new(true);
        let watch = Watch { stop: &stop, tell: &|_, _| {} };
        let model = method.parse::<RankMethod>().unwrap().fit(&Training::new(&set, &set.all()), &watch).unwrap();
        assert_eq!(model.facts.report.stop, Stop::Interrupted, "{method}");
        assert!(from_bytes(&to_bytes(&model), Path::new("m")).unwrap() == model, "{method}");
    }
}

#[test]
fn settings_are_checked() {
    let message = |text: &str| text.parse::<AnyMethod>().unwrap_err().to_string();
    assert_eq!(message("ranksvn"), "unknown method \"ranksvn\": did you mean \"ranksvm\"?");
    assert_eq!(message("ranksvm[lamda=1]"), "unknown setting \"lamda\": did you mean \"lambda\"?");
    assert_eq!(message("ranksvm[lambda=-1]"), "lambda: expected auto or a number above 0, found \"-1\"");
    assert_eq!(message("ranksvm[c=0]"), "c: expected auto or a number above 0, found \"0\"");
    assert_eq!(message("ranksvm[scale=quer]"), "unknown scale \"quer\": did you mean \"query\"?");
    assert_eq!(message("ranksvm[weight=both]"), "unknown weight \"both\"; known are auto, query, pair");
    assert_eq!(message("ranksvm[lambda=1"), "method: expected METHOD[name=value,…], found \"ranksvm[lambda=1\"");
    assert_eq!(message("ranksvm[lambda]"), "a setting: expected name=value, found \"lambda\"");
    assert_eq!(message("ranksvm[max_iter=0]"), "max_iter: expected a whole number above 0, found \"0\"");
    assert_eq!(message("dorm[loss=p@+5]"), "loss: expected p@K with a whole number K above 0, found \"p@+5\"");
}

/// What no interface has to check: text is refused where it is read, and settings made in code where they are fitted.
#[test]
fn settings_that_do_not_go_together_are_refused() {
    for (text, found) in [
        ("cstar[loss=p@3]", "loss: expected trainer=margin with it"),
        ("cstar[core=15]", "core: expected at most 10 labels with trainer=likelihood"),
        ("dorm[subset=full]", "subset: expected R or a number of documents"),
        ("dorm[subset=3,draws=all]", "draws: expected a number above 0 (all is for subset=2)"),
        ("rankmatch[draws=0.2]", "draws: expected subset=R or a number with it"),
        ("ranksvm[gamma=1]", "gamma: expected kernel=rbf, poly, laplace or chi2 with it, found \"kernel=linear\""),
        ("ranksvm[kernel=intersection,gamma=1]", "gamma: expected kernel=rbf"),
        ("ranksvm[kernel=rbf,degree=4]", "degree: expected kernel=poly with it, found \"kernel=rbf\""),
        ("ballrank[coef0=0]", "coef0: expected kernel=poly with it"),
        ("ranksvm[documents=50]", "documents: expected a kernel"),
        ("ranksvm[choose=random]", "choose: expected a kernel"),
        ("ranksvm[kernel=poly,degree=2000]", "a degree from 1 to 1000"),
    ] {
        let error = text.parse::<AnyMethod>().unwrap_err().to_string();
        assert!(error.contains(found), "{text}: {error}");
    }
    // settings that come later may make it right
    assert!(AnyMethod::parse("cstar[loss=p@3]", ["trainer=margin"]).is_ok());
    assert!("ranksvm[blocks=true,documents=50]".parse::<AnyMethod>().is_ok());

    let (set, items, registers) = (small(), scenes(), registers(false, 5));
    let (units, all, problems) = (set.all(), items.all(), registers.all());
    let matched = Choice::Set(Scale::Matched);
    let data = Training::new(&set, &units);
    let refused = [
        RankSvm { scale: matched, ..RankSvm::default() }.fit(&data, &Watch::NOBODY).unwrap_err(),
        RankSvm { max_iter: 0, ..RankSvm::default() }.fit(&data, &Watch::NOBODY).unwrap_err(),
        RankSvm { documents: Documents::Most(5), ..RankSvm::default() }.fit(&data, &Watch::NOBODY).unwrap_err(),
        RankMatch { places: 0, ..RankMatch::default() }.fit(&data, &Watch::NOBODY).unwrap_err(),
        RankMatch { subset: Subset::Of(1), ..RankMatch::default() }.fit(&data, &Watch::NOBODY).unwrap_err(),
        Dorm { subset: Subset::Full, ..Dorm::default() }.fit(&data, &Watch::NOBODY).unwrap_err(),
        BallRank { sample: 0, ..BallRank::default() }.fit(&data, &Watch::NOBODY).unwrap_err(),
        CStar { loss: LabelLoss::PrecisionAt(3), ..CStar::default() }
            .fit(&Training::new(&items, &all), &Watch::NOBODY)
            .unwrap_err(),
        MatchMap { max_iter: 0, ..MatchMap::default() }
            .fit(&Training::new(&registers, &problems), &Watch::NOBODY)
            .unwrap_err(),
        MatchMargin { max_iter: 0, ..MatchMargin::default() }
            .fit(&Training::new(&registers, &problems), &Watch::NOBODY)
            .unwrap_err(),
    ];
    refused.iter().for_each(|error| assert!(matches!(error, Error::Setting { .. }), "{error}"));
}

#[test]
fn a_metric_of_another_task_is_refused_by_every_fit() {
    let (set, items, registers) = (small(), scenes(), registers(false, 5));
    let (units, all, problems) = (set.all(), items.all(), registers.all());
    for name in ["bep_learned", "rankloss", "coverage", "hamming", "f1", "accuracy", "nll", "recall"] {
        for method in ["ranksvm", "ranksvm[scale=none,lambda=1]", "ballrank[lambda=1,gamma=1,scale=none]"] {
            let data = Training { by: Some(name.parse().unwrap()), ..Training::new(&set, &units) };
            let error = method.parse::<RankMethod>().unwrap().fit(&data, &Watch::NOBODY).unwrap_err().to_string();
            assert!(error.starts_with("metric: expected a"), "{method}, {name}: {error}");
        }
    }
    for (method, name) in [("cstar", "ece"), ("cstar[lambda=1,core=0]", "precision"), ("independent", "recall")] {
        let data = Training { by: Some(name.parse().unwrap()), ..Training::new(&items, &all) };
        let error = method.parse::<CStar>().unwrap().fit(&data, &Watch::NOBODY).unwrap_err().to_string();
        assert!(error.starts_with("metric: expected a"), "{method}, {name}: {error}");
    }
    for name in ["ndcg@10", "bep", "recall@5"] {
        let data = Training { by: Some(name.parse().unwrap()), ..Training::new(&registers, &problems) };
        let error = "matchmap".parse::<MatchMethod>().unwrap().fit(&data, &Watch::NOBODY).unwrap_err().to_string();
        assert!(error.contains("a metric of matches"), "{name}: {error}");
    }
}

/// What was taken has the settings of the model, which need not be the best of all that was tried; a file keeps it.
#[test]
fn what_was_taken_is_known_of_every_method() {
    let set = Synthetic { queries: 40, documents: (8, 8), features: 3, ..Synthetic::default() }.make();
    let mut smoothed = 0;
    for method in ["ranksvm", "rankmatch[scale=query]", "ranksvm[kernel=rbf,scale=query]", "ballrank[scale=global]"] {
        let model = fit(method, &set);
        let taken = model.facts.taken().unwrap();
        assert!(taken.settings.iter().all(|(name, value)| model.facts.settings[name] == *value), "{method}");
        let best = model.facts.chosen.iter().flat_map(|c| &c.candidates).map(|c| c.value).fold(0.0, f64::max);
        assert!(taken.value <= best, "{method}");
        smoothed += usize::from(taken.value < best);
        let loaded = from_bytes::<Rank>(&to_bytes(&model), Path::new("m")).unwrap();
        assert_eq!(loaded.facts.taken(), Some(taken), "{method}");
    }
    assert!(smoothed > 0, "a kernel takes the middle of a good region here, not its highest point");
    let items = scenes();
    for method in ["cstar[core=auto]", "cstar[core=2]", "independent"] {
        let model = annotator(method, &items);
        let (taken, chosen) = (model.facts.taken().unwrap(), model.facts.chosen.as_ref().unwrap());
        assert!((taken.value - model.facts.notes.floor.unwrap().reached).abs() < 1e-12, "{method}: {chosen:?}");
    }
    let model = matcher("matchmap[null=true]", &registers(true, 25));
    let taken = model.facts.taken().unwrap();
    assert!(taken.settings.iter().all(|(name, value)| model.facts.settings[name] == *value));
}

#[test]
fn a_choice_is_made_and_kept_under_its_convention() {
    let set = Synthetic { queries: 60, ..Synthetic::default() }.make();
    let units = set.all();
    let under = |convention: Convention| {
        let by = Some("ndcg@5".parse().unwrap());
        let data = Training { by, convention, ..Training::new(&set, &units) };
        "ranksvm[scale=query]".parse::<RankMethod>().unwrap().fit(&data, &Watch::NOBODY).unwrap().facts.chosen.unwrap()
    };
    let by: Convention = "trec, empty=one".parse().unwrap();
    let (plain, other) = (under(Convention::STANDARD), under(by));
    assert_eq!((plain.convention.as_str(), other.convention.as_str()), ("standard", "trec, empty=one"));
    assert_eq!(other.convention.parse::<Convention>().unwrap(), by);
    assert!(plain.candidates.iter().zip(&other.candidates).any(|(a, b)| (a.value - b.value).abs() > 1e-6));
}

/// Format 1 keeps loading: this file was written by version 0.1.0.
#[test]
fn the_first_format_still_loads() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/model_1.ordain");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        save(&fit("ranksvm[scale=global,lambda=0.1]", &small()), &path).unwrap();
    }
    let model = load::<Rank>(&path).unwrap();
    assert_eq!((model.facts.method.as_str(), model.model.score.weights().len()), ("ranksvm", 7));
    let (old, new) = (scores(&model, &small()), scores(&fit("ranksvm[scale=global,lambda=0.1]", &small()), &small()));
    assert!(old.iter().zip(&new).all(|(a, b)| (a - b).abs() < 1e-6));
}

/// Scores of the first documents, by the code that wrote the model.
const RANK_BEFORE: [f64; 5] = [0.391522523764, 0.224593804137, 0.252007563376, -0.283240619862, -0.207138209889];
/// The values of the labels of the first item, by the same code.
const CSTAR_BEFORE: [f64; 9] = [
    0.501657457841,
    0.104264171449,
    0.004642789439,
    0.092311590399,
    0.016623543487,
    0.00059638035,
    0.994501643559,
    0.010066820791,
    0.012224985665,
];
/// The probabilities of the first edges, by the same code.
const MATCHMAP_BEFORE: [f64; 5] = [1.7808375e-05, 2.27253e-07, 0.998290885667, 0.001281104364, 5.4452525e-05];

/// Models that were written before sums went by pieces keep loading, and predict what they predicted then.
#[test]
fn models_from_before_pieces_still_load() {
    let load = |name: &str| load_any(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)).unwrap();
    let close = |found: &[f64], truth: &[f64]| {
        assert!(found.iter().zip(truth).all(|(a, b)| (a - b).abs() < 1e-9), "{found:?}, not {truth:?}");
    };
    let (AnyModel::Rank(rank), AnyModel::Annotate(labels), AnyModel::Match(matches)) =
        (load("rank_before_pieces.ordain"), load("cstar_before_pieces.ordain"), load("matchmap_before_pieces.ordain"))
    else {
        panic!("other models")
    };
    assert!(rank.model.inputs.global.is_some() && matches.model.null.is_some());
    assert!(rank.model.inputs.ranges.is_empty() && labels.model.inputs.ranges.is_empty(), "nothing is said of ranges");
    close(&scores(&rank, &small())[..5], &RANK_BEFORE);
    close(&annotations(&labels, &scenes())[0].values, &CSTAR_BEFORE);
    assert_eq!((labels.model.decide, labels.model.threshold), (Decide::Count, None));
    let problem = &matchings(&matches, &registers(true, 25))[0];
    close(problem.probabilities.as_ref().unwrap(), &MATCHMAP_BEFORE);
    // they decide as they did, and what they do not know is said
    let mut matcher = matches.model;
    assert_eq!((matcher.decide, matcher.least, &matcher.precision), (MatchDecide::Map, None, &None));
    let refused = matcher.operate(&Operating { precision: Some(0.9), ..Operating::default() }).unwrap_err();
    assert!(refused.to_string().contains("knows how precise its matches are"), "{refused}");
}

/// A line for each annotator, in the settings that differ in kind.
const ANNOTATORS: [&str; 11] = [
    "cstar",
    "independent",
    "cstar[core=auto,features=both,lambda=0.01]",
    "cstar[core=beach;sand,features=direct,scale=none,count_bias=false,lambda=0.01,link_lambda=0.01]",
    "cstar[trainer=margin,core=2,lambda=0.01,link_lambda=0.01,max_iter=20]",
    "cstar[trainer=margin,loss=p@2,core=1,lambda=0.01,link_lambda=0.01,max_iter=20]",
    "independent[trainer=margin,features=both,lambda=0.01,max_iter=20]",
    "cstar[kernel=auto,core=1,lambda=0.01,link_lambda=0.01]",
    "cstar[kernel=rbf,gamma=1,features=both,core=2,lambda=0.01,link_lambda=0.01]",
    "independent[kernel=laplace,features=direct,trainer=margin,lambda=0.01,max_iter=20]",
    "independent[decide=threshold,features=scores,lambda=0.01]",
];

fn scenes() -> LabelSet {
    Scenes { items: 90, labels: 9, scenes: 3, ..Scenes::default() }.make()
}

fn annotator(method: &str, set: &LabelSet) -> Fitted<Annotate> {
    method.parse::<CStar>().unwrap().fit(&Training::new(set, &set.all()), &Watch::NOBODY).unwrap()
}

/// What is said of a set.
fn annotations(fitted: &Fitted<Annotate>, set: &LabelSet) -> Vec<LabelPrediction> {
    fitted.model.predict(&fitted.model.prepare(set).unwrap(), &set.all()).unwrap()
}

#[test]
fn annotators_give_the_same_bytes_on_any_number_of_threads() {
    let set = scenes();
    for method in ANNOTATORS {
        let bytes = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let model = annotator(method, &set);
                (to_bytes(&model), annotations(&model, &set))
            })
        };
        let first = bytes(1);
        assert!(first == bytes(2) && first == bytes(7), "{method}");
    }
}

#[test]
fn a_saved_annotator_says_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let (set, path) = (scenes(), dir.path().join("m.ordain"));
    for method in ANNOTATORS {
        let model = annotator(method, &set);
        save(&model, &path).unwrap();
        let AnyModel::Annotate(again) = load_any(&path).unwrap() else { panic!("{method}") };
        assert!(again == model, "{method}");
        assert_eq!(annotations(&again, &set), annotations(&model, &set), "{method}");
        let refusal = load::<Rank>(&path).unwrap_err().to_string();
        assert!(refusal.contains("this model annotates"), "{refusal}");
    }
}

#[test]
fn a_damaged_annotator_is_refused() {
    let set = scenes();
    for method in [ANNOTATORS[1], ANNOTATORS[4]] {
        let model = annotator(method, &set);
        let bytes = to_bytes(&model);
        let read = |bytes: &[u8]| any_from_bytes(bytes, Path::new("m"));
        assert!(read(&bytes).unwrap() == AnyModel::Annotate(model));
        // every byte of the beginning, with lengths and names, then some of the numbers
        for at in (0..400).chain((400..bytes.len()).step_by(37)) {
            for flip in [1, 32, 128] {
                let mut bad = bytes.clone();
                bad[at] ^= flip;
                assert!(read(&bad).is_err(), "{method}: byte {at} flipped by {flip}");
            }
        }
        for end in (0..bytes.len()).step_by(101) {
            assert!(read(&bytes[..end]).is_err(), "{method}: cut at {end}");
        }
    }
}

#[test]
fn a_stopped_annotator_is_a_model_that_says_so() {
    let set = scenes();
    for method in ANNOTATORS {
        let all = set.all();
        let fit = |at: &[&str]| {
            let stop = AtomicBool::new(at.is_empty());
            let tell = |_: f64, what: &str| {
                let name = what.split(':').next().unwrap();
                stop.fetch_or(at.contains(&name), Ordering::SeqCst);
            };
            method.parse::<CStar>().unwrap().fit(&Training::new(&set, &all), &Watch { stop: &stop, tell: &tell })
        };
        // before the classifiers of single labels stand there is no model
        assert!(matches!(fit(&[]), Err(ordain::Error::Interrupted)), "{method}");
        let late = fit(&["fitting", "fitting on training and validation"]).unwrap();
        assert_eq!(late.facts.report.stop, Stop::Interrupted, "{method}");
        let model = fit(&["fitting", "choosing"]).unwrap();
        assert_eq!(model.facts.report.stop, Stop::Interrupted, "{method}");
        assert!(any_from_bytes(&to_bytes(&model), Path::new("m")).unwrap() == AnyModel::Annotate(model), "{method}");
    }
}

#[test]
fn the_choice_of_an_annotator_is_the_best_of_what_was_tried() {
    let set = scenes();
    for (metric, sign) in [("bep", 1.0), ("rankloss", -1.0), ("hamming", -1.0), ("f1", 1.0)] {
        let all = set.all();
        let mut training = Training::new(&set, &all);
        training.by = Some(metric.parse().unwrap());
        let facts = "cstar".parse::<CStar>().unwrap().fit(&training, &Watch::NOBODY).unwrap().facts;
        let chosen = facts.chosen.unwrap();
        let best = chosen.candidates.iter().map(|c| sign * c.value).fold(f64::NEG_INFINITY, f64::max);
        assert!((facts.notes.floor.unwrap().reached - sign * best).abs() < 1e-12, "{metric}");
    }
}

#[test]
fn what_explains_a_label_adds_up_to_its_score() {
    let set = scenes();
    for method in ANNOTATORS {
        let annotator = annotator(method, &set).model;
        let ready = annotator.prepare(&set).unwrap();
        for (item, above, below) in [(0, 0, 1), (1, 5, 0), (2, 7, 3)] {
            let scores = &annotator.predict(&ready, &[item]).unwrap()[0].scores;
            let reasons = annotator.explain(&ready, item as usize, above, below).unwrap();
            let own = reasons.iter().filter(|reason| !reason.what.starts_with("link to "));
            let (a, b) = own.fold((0.0, 0.0), |(a, b), reason| (a + reason.above, b + reason.below));
            // kernels are computed in single precision, and slopes of those with kinks in steps
            let near = |a: f64, b: f64| (a - b).abs() < if method.contains("kernel") { 0.02 } else { 1e-9 };
            assert!(near(a, scores[above]) && near(b, scores[below]), "{method}");
        }
    }
}

#[test]
fn annotations_that_are_not_finite_and_other_columns_are_refused() {
    let set = scenes();
    let annotator = annotator("cstar[core=2,lambda=0.01,link_lambda=0.01,features=both,scale=none]", &set).model;
    let metrics = ["bep", "f1"].map(|name| name.parse().unwrap());
    let all = |ready: &Ready<Annotate>| {
        [
            annotator.score(ready, 3).map(drop),
            annotator.predict(ready, &[3]).map(drop),
            annotator.oracle_values(ready, &[3]).map(drop),
            annotator.evaluate(ready, &[3], &metrics, &Convention::STANDARD).map(drop),
            annotator.explain(ready, 3, 0, 1).map(drop),
        ]
    };
    let ready = annotator.prepare(&set).unwrap();
    all(&ready).into_iter().for_each(|right| right.unwrap());

    let (mut strange, cols) = (set.clone(), set.features.cols());
    let Features::Dense(m) = &mut strange.features else { panic!("made dense") };
    m.values_mut()[3 * cols] = f32::NAN; // a gap that nobody filled
    let strange = annotator.prepare(&strange).unwrap();
    for refused in all(&strange) {
        let error = refused.unwrap_err();
        let place = format!("item {:?}, label {:?}: expected a finite score, found NaN", set.item(3), set.labels[0]);
        assert!(error.to_string().starts_with(&place), "{error}");
    }
    assert!(annotator.predict(&strange, &[2, 4]).is_ok());

    // columns of other names are refused
    let mut other = set.clone();
    other.columns.names[1] = "another".into();
    let error = annotator.prepare(&other).unwrap_err();
    let missing = format!("missing: {}; not expected: another", set.columns.names[1]);
    assert!(matches!(error, Error::Features { .. }) && error.to_string().contains(&missing), "{error}");

    // and a set that was prepared for a model of other inputs is refused by every call
    let scaled = self::annotator("cstar[core=2,lambda=0.01,link_lambda=0.01,features=both,scale=global]", &set).model;
    for refused in all(&scaled.prepare(&set).unwrap()) {
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("found one that another model prepared"), "{error}");
    }
}

/// A gap has to be filled before a fit, whatever the task; a model that knows what it was filled with fills others itself.
#[test]
fn gaps_are_refused_until_they_are_filled() {
    fn gap(features: &mut Features) {
        let Features::Dense(m) = features else { panic!("made dense") };
        m.values_mut()[0] = f32::NAN;
    }
    let (mut set, mut items, mut registers) = (small(), scenes(), registers(false, 5));
    [&mut set.features, &mut items.features, &mut registers.features].into_iter().for_each(gap);
    let (units, all, problems) = (set.all(), items.all(), registers.all());
    let mut refused = vec![];
    for method in methods() {
        let method: RankMethod = method.parse().unwrap();
        refused.push(method.fit(&Training::new(&set, &units), &Watch::NOBODY).unwrap_err());
    }
    for method in ANNOTATORS {
        let method: CStar = method.parse().unwrap();
        refused.push(method.fit(&Training::new(&items, &all), &Watch::NOBODY).unwrap_err());
    }
    for method in MATCHERS {
        let method: MatchMethod = method.parse().unwrap();
        refused.push(method.fit(&Training::new(&registers, &problems), &Watch::NOBODY).unwrap_err());
    }
    for error in refused {
        assert!(matches!(&error, Error::Data { found, .. } if found == "missing values"), "{error}");
    }
    for missing in [Missing::Zero, Missing::Mean] {
        let mut full = set.clone();
        let filled = full.fill(missing, &units);
        let method: RankMethod = "ranksvm[scale=query,lambda=1]".parse().unwrap();
        let model = method.fit(&Training { filled, ..Training::new(&full, &units) }, &Watch::NOBODY).unwrap();
        assert_eq!((model.model.inputs.missing, scores(&model, &set)), (missing, scores(&model, &full)));
    }
}

/// Columns and labels in another order are found by their names; labels that the model does not know are named.
#[test]
fn columns_and_labels_in_another_order_are_found() {
    let set = scenes();
    let annotator = annotator("cstar[core=2,lambda=0.01,link_lambda=0.01,features=both]", &set).model;
    let metrics = ["bep", "f1"].map(|name| name.parse().unwrap());
    let ready = annotator.prepare(&set).unwrap();
    let (said, measured) = (annotator.predict(&ready, &set.all()).unwrap(), |ready: &Ready<Annotate>| {
        annotator.evaluate(ready, &set.all(), &metrics, &Convention::STANDARD).unwrap()
    });

    let (mut moved, cols) = (set.clone(), set.features.cols() as u32);
    let order: Vec<u32> = (0..cols).rev().collect();
    moved.features = set.features.select_columns(&order.iter().map(|&j| Some(j)).collect::<Vec<_>>());
    moved.columns.names.reverse();
    let aligned = annotator.prepare(&moved).unwrap();
    assert_eq!(annotator.predict(&aligned, &set.all()).unwrap(), said);
    assert!(moved.columns.names != set.columns.names && aligned.set().columns == set.columns);

    // the same labels under other numbers, and one that is new
    let n = set.labels.len() as u32;
    let names = (0..n).rev().map(|l| set.labels[l as usize].clone()).chain(["new".into()]).collect();
    let turned = |i: usize| -> Vec<u32> { set.yes(i).iter().map(|&l| n - 1 - l).chain([n]).collect() };
    let yes = (0..set.len()).map(turned).collect();
    let turned = LabelSet::new(set.features.clone(), set.columns.clone(), names, yes).unwrap();
    let aligned = annotator.prepare(&turned).unwrap();
    assert_eq!((aligned.set().labels == set.labels, aligned.differ().labels.clone()), (true, vec!["new".to_owned()]));
    assert_eq!(measured(&aligned).values, measured(&ready).values);
}

#[test]
fn items_without_labels_are_refused() {
    let mut set = scenes();
    set.labelled = false;
    for method in ANNOTATORS {
        let method: CStar = method.parse().unwrap();
        let refusal = method.fit(&Training::new(&set, &set.all()), &Watch::NOBODY).unwrap_err();
        assert!(refusal.to_string().contains("labels of the items"), "{refusal}");
    }
}

/// A line for each matcher, in the settings that differ in kind.
const MATCHERS: [&str; 13] = [
    "matchmap",
    "matchmap[scale=none,lambda=0.01]",
    "matchmap[scale=query,lambda=0.1,marginals=exact]",
    "matchmap[scale=minmax,lambda=auto,marginals=bethe]",
    "matchmap[scale=global,lambda=0.1,marginals=chain]",
    "matchmap[scale=auto,lambda=0.1,marginals=sinkhorn,max_iter=3]",
    "matchmap[scale=global,lambda=0.1,marginals=importance,tol=1e-2]",
    "matchmargin",
    "matchmargin[scale=none,lambda=0.1,calibrate=false]",
    "matchmargin[scale=query,c=10,max_iter=20]",
    "matchmap[kernel=rbf,scale=none,lambda=0.01,gamma=1]",
    "matchmargin[kernel=laplace,scale=global,lambda=0.1,gamma=0.3,max_iter=20]",
    "matchmap[scale=none,lambda=0.01,decide=marginals]",
];

/// The lines, with nulls and without.
fn matchers() -> Vec<(String, bool)> {
    let with = |line: &str| match line.strip_suffix(']') {
        Some(start) => format!("{start},null=true]"),
        None => format!("{line}[null=true]"),
    };
    MATCHERS.iter().flat_map(|line| [((*line).to_owned(), false), (with(line), true)]).collect()
}

/// Two registers; without nulls, those on both pages alone.
fn registers(null: bool, problems: usize) -> MatchSet {
    let set = Linkage { problems, records: 5, ..Linkage::default() }.make();
    if null {
        return set;
    }
    let (mut kept, mut rows) = (vec![], vec![]);
    for (p, problem) in set.problems().iter().enumerate() {
        // right items that nobody is are the rest of the greater side
        let stays: Vec<bool> =
            (0..problem.left.len()).map(|i| problem.matched().any(|e| problem.edges[e].0 as usize == i)).collect();
        let number = |i: u32| stays[..i as usize].iter().filter(|&&stays| stays).count() as u32;
        if stays.iter().all(|stays| !stays) {
            continue;
        }
        let edges: Vec<usize> = (0..problem.edges.len()).filter(|&e| stays[problem.edges[e].0 as usize]).collect();
        rows.extend(edges.iter().map(|&e| (set.span(p).start + e) as u32));
        kept.push(Problem {
            name: problem.name.clone(),
            left: (0..problem.left.len()).filter(|&i| stays[i]).map(|i| problem.left[i].clone()).collect(),
            right: problem.right.clone(),
            edges: edges.iter().map(|&e| (number(problem.edges[e].0), problem.edges[e].1)).collect(),
            truth: edges.iter().map(|&e| problem.truth[e]).collect(),
            places: None,
        });
    }
    MatchSet::new(set.features.select_rows(&rows), set.columns.clone(), kept).unwrap()
}

fn matcher(method: &str, set: &MatchSet) -> Fitted<Match> {
    method.parse::<MatchMethod>().unwrap().fit(&Training::new(set, &set.all()), &Watch::NOBODY).unwrap()
}

/// What is said of a set.
fn matchings(fitted: &Fitted<Match>, set: &MatchSet) -> Vec<MatchPrediction> {
    fitted.model.predict(&fitted.model.prepare(set).unwrap(), &set.all()).unwrap()
}

#[test]
fn matchers_give_the_same_bytes_and_leave_the_data_as_they_are() {
    for (method, null) in matchers() {
        let set = registers(null, 25);
        let before = set.clone();
        let bytes = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let model = matcher(&method, &set);
                (to_bytes(&model), matchings(&model, &set))
            })
        };
        let first = bytes(1);
        assert!(first == bytes(2) && first == bytes(7), "{method}");
        assert!(set == before, "{method}");
    }
}

#[test]
fn a_saved_matcher_says_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.ordain");
    for (method, null) in matchers() {
        let set = registers(null, 15);
        let model = matcher(&method, &set);
        save(&model, &path).unwrap();
        let AnyModel::Match(again) = load_any(&path).unwrap() else { panic!("{method}") };
        assert!(again == model, "{method}");
        assert_eq!(matchings(&again, &set), matchings(&model, &set), "{method}");
        let refusal = load::<Rank>(&path).unwrap_err().to_string();
        assert!(refusal.contains("this model matches"), "{refusal}");
    }
}

/// The same problems in another order, with their items in another order.
#[test]
fn permuting_problems_and_items_changes_nothing() {
    let mut random = ordain::random::Random::new(5);
    for (method, null) in matchers() {
        // other samples are other weights, and an unfinished fit is anything
        if ["chain", "importance", "max_iter"].iter().any(|word| method.contains(word)) {
            continue;
        }
        let set = registers(null, 20);
        let mut order = set.all();
        // what is held out goes by position
        if !method.contains("auto") && method.contains("lambda=") && method.contains("matchmap") {
            random.shuffle(&mut order);
        }
        let (mut problems, mut rows, mut places) = (vec![], vec![], vec![]);
        for &p in &order {
            let problem = set.problem(p as usize);
            let mut left: Vec<usize> = (0..problem.left.len()).collect();
            let mut right: Vec<usize> = (0..problem.right.len()).collect();
            random.shuffle(&mut left);
            random.shuffle(&mut right);
            let (mut edges, mut truth, mut from) = (vec![], vec![], vec![]);
            for (i, &was_i) in (0u32..).zip(&left) {
                for (j, &was_j) in (0u32..).zip(&right) {
                    if let Some(e) = problem.find_edge(was_i, was_j) {
                        edges.push((i, j));
                        truth.push(problem.truth[e]);
                        from.push(e as u32);
                        rows.push((set.span(p as usize).start + e) as u32);
                    }
                }
            }
            problems.push(Problem {
                name: problem.name.clone(),
                left: left.iter().map(|&i| problem.left[i].clone()).collect(),
                right: right.iter().map(|&j| problem.right[j].clone()).collect(),
                edges,
                truth,
                places: None,
            });
            places.push(from);
        }
        let moved = MatchSet::new(set.features.select_rows(&rows), set.columns.clone(), problems).unwrap();
        let (a, b) = (matcher(&method, &set).model, matcher(&method, &moved).model);
        // margins stop at a gap: their minimum is known to some per cent
        let slack = if method.contains("matchmap") { 1e-3 } else { 0.2 };
        let far = a.score.weights().iter().zip(b.score.weights()).any(|(x, y)| (x - y).abs() > slack * (1.0 + x.abs()));
        assert!(!far, "{method}: {:?} {:?}", a.score.weights(), b.score.weights());
        // one model says the same of both
        let (set, moved) = (a.prepare(&set).unwrap(), a.prepare(&moved).unwrap());
        for (n, &p) in order.iter().enumerate() {
            let (old, new) = (a.scores(&set, p as usize).unwrap(), a.scores(&moved, n).unwrap());
            for (e, &was) in places[n].iter().enumerate() {
                assert!((new[e] - old[was as usize]).abs() < 1e-5 * (1.0 + new[e].abs()), "{method}");
            }
            let (old, new) = (a.predict(&set, &[p]).unwrap(), a.predict(&moved, &[n as u32]).unwrap());
            let score = |said: &MatchPrediction| said.matches.iter().map(|m| m.score).sum::<f64>();
            assert!(null || (score(&old[0]) - score(&new[0])).abs() < 1e-4, "{method}");
        }
    }
}

fn tiny(name: &str, left: usize, right: usize, right_edges: &[u32]) -> Problem {
    let edges: Vec<(u32, u32)> = (0..left as u32).flat_map(|i| (0..right as u32).map(move |j| (i, j))).collect();
    let of = |e: u32| if right_edges.contains(&e) { Truth::Yes } else { Truth::No };
    Problem {
        name: name.into(),
        left: (0..left).map(|i| i.to_string()).collect(),
        right: (0..right).map(|j| j.to_string()).collect(),
        truth: (0..edges.len() as u32).map(of).collect(),
        edges,
        places: None,
    }
}

#[test]
fn constant_features_and_tiny_problems_are_harmless_to_matchers() {
    let sets: [Vec<Problem>; 4] = [
        vec![tiny("one", 1, 1, &[0])],
        vec![tiny("wide", 1, 4, &[2]), tiny("tall", 3, 1, &[1])],
        vec![tiny("one", 1, 1, &[0]), tiny("two", 2, 2, &[0, 3]), tiny("tall", 5, 2, &[0, 9])],
        (0..7).map(|p| if p % 2 == 0 { tiny("a", 1, 1, &[0]) } else { tiny("b", 2, 3, &[1, 5]) }).collect(),
    ];
    for problems in sets {
        for constant in [true, false] {
            let rows: Vec<(usize, bool)> =
                problems.iter().flat_map(|p| p.truth.iter().map(|&t| t == Truth::Yes).enumerate()).collect();
            let value = |&(e, yes): &(usize, bool)| [5.0, if constant { 0.0 } else { f32::from(yes) + 0.1 * e as f32 }];
            let columns = Columns::named(vec!["constant".into(), "x".into()]);
            let features = Features::Dense(Matrix::new(rows.iter().flat_map(value).collect(), 2));
            let set = MatchSet::new(features, columns, problems.clone()).unwrap();
            for (method, _) in matchers() {
                let model = matcher(&method, &set);
                assert!(model.model.score.weights().iter().all(|w| w.is_finite()), "{method}");
                let said = matchings(&model, &set);
                let finite = |p: &f64| (-1e-9..=1.0 + 1e-6).contains(p);
                assert!(said.iter().all(|said| said.probabilities.iter().flatten().all(finite)), "{method}");
                assert!(any_from_bytes(&to_bytes(&model), Path::new("m")).unwrap() == AnyModel::Match(model));
            }
        }
    }
}

#[test]
fn a_stopped_matcher_is_a_model_that_says_so() {
    for (method, null) in matchers() {
        let set = registers(null, 15);
        let (stop, all) = (AtomicBool::new(true), set.all());
        let watch = Watch { stop: &stop, tell: &|_, _| {} };
        let model = method.parse::<MatchMethod>().unwrap().fit(&Training::new(&set, &all), &watch).unwrap();
        assert_eq!(model.facts.report.stop, Stop::Interrupted, "{method}");
        assert!(any_from_bytes(&to_bytes(&model), Path::new("m")).unwrap() == AnyModel::Match(model), "{method}");
    }
}

/// The lines of this file that belong to a task.
fn lines(task: &str) -> Vec<String> {
    match task {
        "rank" => methods().into_iter().map(str::to_owned).collect(),
        "annotate" => ANNOTATORS.map(str::to_owned).to_vec(),
        "match" => matchers().into_iter().map(|(line, _)| line).collect(),
        other => panic!("no lines for the methods of {other}"),
    }
}

/// A method that is new gets a line here, and so all the tests of this file.
#[test]
fn every_method_has_a_line() {
    for method in AnyMethod::all() {
        let (name, task) = (method.name(), method.task().name);
        let of = |line: &String| {
            let own: AnyMethod = line.parse().unwrap();
            assert_eq!(own.task().name, task, "{line} is among the lines of another task");
            own.name() == name
        };
        assert!(lines(task).iter().filter(|line| of(line)).count() > 0, "no line for {name}");
    }
}

/// Values of a setting, right and wrong ones, the default among them. A setting that is new gets values here.
fn values(method: &str, setting: &str) -> &'static [&'static str] {
    let matches = method.starts_with("match");
    match setting {
        "scale" if matches => &["auto", "none", "matched", "global", "query", "minmax"],
        "scale" => &["auto", "none", "global", "query", "minmax", "matched"],
        "lambda" | "link_lambda" => &["auto", "1", "0.1", "1e-3", "0.3333333333333333", "12345.678", "1e-300", "1e300"],
        "c" => &["auto", "3", "0.7", "1e5", "49", "1e-9", "1e-320"],
        "max_iter" => &["1", "7", "100", "200", "500", "1000", "5000", "123456789", "18446744073709551615", "0"],
        "tol" | "epsilon" => &["1e-5", "1e-4", "1e-3", "0.01", "0.05", "1", "2.5e-17", "0"],
        "weight" => &["auto", "query", "pair", "none"],
        "kernel" if !matches && ["cstar", "independent"].contains(&method) => {
            &["linear", "rbf", "poly", "laplace", "intersection", "chi2", "auto"]
        }
        "kernel" => &["linear", "rbf", "poly", "laplace", "intersection", "chi2"],
        "gamma" => &["auto", "1", "0.5", "0.1", "3e-7", "7e8"],
        "degree" => &["1", "2", "3", "1000", "1001"],
        "coef0" => &["0", "1", "0.5", "1e-3", "1e20", "-1"],
        "blocks" | "polish" | "null" | "calibrate" | "count_bias" => &["true", "false", "yes"],
        "documents" => &["auto", "all", "1", "50", "100000"],
        "choose" => &["dual", "random", "cholesky"],
        "subset" => &["full", "R", "r", "2", "5", "16", "17"],
        "places" => &["1", "3", "5", "16", "17", "1000", "1001", "all"],
        "exportable" => &["false", "search", "onnx", "true"],
        "transform" => &["auto", "none", "log", "quantile", "sqrt"],
        "discount" => &["log", "linear"],
        "ties" => &["average", "sum", "random", "best"],
        "draws" => &["0.4", "0.2", "1", "3.25", "all"],
        "loss" => &["ndcg", "mrr", "wta", "bep", "p@1", "p@3", "p@100", "logistic", "lambda", "squared", "hinge"],
        "scorer" => &["linear", "trees", "linear+trees", "auto", "forest"],
        "rounds" | "leaves" => &["auto", "1", "2", "31", "4096", "4097", "0"],
        "rate" => &["0.05", "0.1", "1", "1e-9", "0"],
        "least_rows" => &["20", "1", "5000000000", "0"],
        "unit_share" | "column_share" => &["0.6", "0.5", "1", "1e-3", "1.1"],
        "monotone" => &["none", "+a;-b c", "-x", "x"],
        "categories" => &["none", "shop;a", "a"],
        "thresholds" => &["1", "2", "3", "5", "9", "20", "31", "63", "64", "100", "200", "253", "254", "255", "0"],
        "alpha" => &["bound", "exact", "r"],
        "metric" => &["map", "ndcg", "ndcg@10", "ndcg@3", "p@1", "p@5", "mrr", "err@10", "wta", "dcg@3", "kendall"],
        "tau" => &["1", "2", "0.1", "1e-9", "0"],
        "gap" => &["exp", "linear", "none"],
        "stop" => &["epsilon", "gap"],
        "geometry" => &["centred", "plain"],
        "oracle" => &["turn", "sample", "exact"],
        "sample" => &["1", "59", "1000"],
        "inner" => &["qp", "badoiu-clarkson"],
        "trainer" => &["likelihood", "margin"],
        "design" => &["distance", "product", "head", "circle"],
        "order" => &["expected", "best"],
        "features" => &["auto", "scores", "direct", "both", "given"],
        "core" => &[
            "0",
            "1",
            "3",
            "10",
            "11",
            "20",
            "21",
            "auto",
            "beach;sand",
            "beach",
            "2;",
            "auto;",
            "1.5;",
            "x=y; blue sky ;z",
        ],
        "core_by" => &["joint", "rest"],
        "decide" if matches => &["auto", "map", "marginals", "hamming"],
        "decide" => &["f1", "hamming", "count", "threshold"],
        "marginals" => &["auto", "exact", "pruned", "bethe", "sinkhorn", "huber-law", "deepar", "importance", "chain"],
        "hidden" => &["0", "1", "10", "1000", "1001"],
        "edges" => &["star", "pairs", "chain"],
        "similarity" => &["rbf", "none", "cosine"],
        "pairs" => &["2000", "1", "1000000", "1000001", "0"],
        other => panic!("no values for the setting {other} of {method}"),
    }
}

fn reads_back(method: &AnyMethod, from: &str) {
    let text = method.to_string();
    let again: AnyMethod = text.parse().unwrap_or_else(|error| panic!("{from} is written {text}: {error}"));
    assert!(again == *method, "{from} is written {text}, which is read as {again:?}, not {method:?}");
    assert_eq!(again.to_string(), text, "{from}");
}

/// What a method is written as is read as the same method: every line of this file, and settings at random.
#[test]
fn a_method_that_is_written_is_read_back() {
    for line in ["rank", "annotate", "match"].iter().flat_map(|task| lines(task)) {
        reads_back(&line.parse().unwrap(), &line);
    }
    let mut random = ordain::random::Random::new(11);
    for method in AnyMethod::all() {
        let name = method.name();
        assert_eq!(method.to_string(), name, "defaults are not written");
        reads_back(&method, name);
        let settings: Vec<&str> = method.settings().iter().map(|setting| setting.name).chain(["c"]).collect();
        let (mut read, mut seen) = (0, std::collections::HashSet::new());
        for _ in 0..60_000 {
            // lines with many settings and lines with few
            let (rare, mut some) = (2 + random.below(5), vec![]);
            for &setting in &settings {
                let values = values(name, setting);
                if random.below(rare) == 0 {
                    some.push(format!("{setting}={}", values[random.below(values.len())]));
                }
            }
            random.shuffle(&mut some);
            let line = format!("{name}[{}]", some.join(","));
            // settings that are wrong, or do not go together
            let Ok(made) = line.parse::<AnyMethod>() else { continue };
            reads_back(&made, &line);
            (read, _) = (read + 1, seen.insert(made.to_string()));
            if read == 1000 {
                break;
            }
        }
        assert!(read == 1000 && seen.len() > 60, "{name}: {read} of 1000 lines were right, {} different", seen.len());
        // every setting can be written: some line that was right differs from the defaults in it
        for setting in settings.iter().filter(|setting| **setting != "c") {
            let written = [format!("[{setting}="), format!(",{setting}=")];
            assert!(seen.iter().any(|line| written.iter().any(|text| line.contains(text))), "{name}: {setting}");
        }
    }
}
