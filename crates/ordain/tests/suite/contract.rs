//! What every method must keep: bytes from the seed, order of documents, files, constant features, short queries.
#![allow(clippy::unwrap_used)] // a test may panic

use ordain::Error;
use ordain::data::scale::Scale;
use ordain::data::synthetic::{Linkage, Scenes, Synthetic};
use ordain::data::{Columns, LabelSet, MatchSet, Problem, RankSet, Truth};
use ordain::matrix::{Features, Matrix};
use ordain::method::{
    BallRank, CStar, Choice, Documents, Dorm, Fitted, FittedMatch, FittedTags, LabelLoss, MatchMap, MatchMargin,
    MatchMethod, MatchTraining, Method, RankMatch, RankMethod, RankSvm, Subset, TagTraining, Training,
};
use ordain::metric::{Convention, evaluate};
use ordain::model_file::{
    Model, any_from_bytes, from_bytes, load, load_any, match_to_bytes, save, save_match, save_tags, tags_to_bytes,
    to_bytes,
};
use ordain::solver::run::Watch;
use ordain::traits::Stop;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// A line for each method, in the settings that differ in kind.
const METHODS: [&str; 20] = [
    "ranksvm",
    "ranksvm[weight=pair]",
    "ranksvm[scale=none,lambda=0.1]",
    "ranksvm[scale=global,lambda=0.1]",
    "ranksvm[scale=query,c=10]",
    "ranksvm[scale=minmax,lambda=auto]",
    "ranksvm[scale=auto,lambda=1,max_iter=3,tol=1e-2]",
    "rankmatch",
    "rankmatch[ties=sum,places=3,scale=query,lambda=0.1]",
    "rankmatch[subset=R,scale=global,lambda=0.1]",
    "dorm[scale=query,lambda=0.1]",
    "dorm[scale=global,lambda=1,loss=wta,subset=R,draws=0.2]",
    "rankmatch[subset=5,ties=random,draws=0.2,discount=log,scale=minmax,lambda=0.1]",
    "ranksvm[kernel=rbf,scale=query,lambda=0.01]",
    "ranksvm[kernel=laplace,gamma=0.5,scale=global,lambda=0.01,documents=30]",
    "ranksvm[kernel=poly,degree=2,coef0=0.5,scale=minmax,lambda=0.01,documents=20,choose=random]",
    "ranksvm[kernel=chi2,scale=minmax,gamma=1,lambda=0.01,documents=20,choose=cholesky]",
    "ranksvm[kernel=intersection,scale=minmax,lambda=0.01,weight=pair]",
    "ballrank[scale=query,gamma=1,epsilon=1e-2]",
    "ballrank[scale=global,gamma=1,lambda=1e-3,epsilon=0.05,oracle=sample,inner=badoiu-clarkson,polish=false]",
];

fn fit(method: &str, set: &RankSet) -> Fitted {
    method.parse::<RankMethod>().unwrap().fit(&Training::new(set, &set.all()), &Watch::NOBODY).unwrap()
}

fn small() -> RankSet {
    Synthetic { queries: 40, documents: (1, 12), features: 7, ..Synthetic::default() }.make()
}

#[test]
fn the_same_data_give_the_same_bytes_on_any_number_of_threads() {
    let set = Synthetic { queries: 200, ..Synthetic::default() }.make();
    for method in METHODS {
        let bytes = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| to_bytes(&fit(method, &set)))
        };
        let first = bytes(1);
        assert!(first == bytes(2) && first == bytes(3) && first == bytes(1), "{method}");
    }
}

/// An exact fit draws nothing, so the seed has no part in it: not in the width of a kernel either.
#[test]
fn an_exact_kernel_fit_is_the_same_for_every_seed() {
    let sets = [small(), Synthetic { queries: 8, documents: (4, 7), features: 5, ..Synthetic::default() }.make()];
    let exact = METHODS.into_iter().filter(|method| method.contains("kernel") && !method.contains("documents"));
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
    let drawn = ["subset", "dorm", "gamma", "rbf", "documents", "ballrank"];
    for method in METHODS.into_iter().filter(|method| !drawn.iter().any(|word| method.contains(word))) {
        let (a, b) =
            (fit(method, &set).ranker.scores(&set).unwrap(), fit(method, &moved).ranker.scores(&moved).unwrap());
        for (row, &old) in order.iter().enumerate() {
            assert!((b[row] - a[old as usize]).abs() < 1e-4 * (1.0 + a[old as usize].abs()), "{method}");
        }
    }
}

#[test]
fn a_saved_model_scores_alike() {
    let dir = tempfile::tempdir().unwrap();
    let set = small();
    for method in METHODS {
        let model = fit(method, &set);
        let path = dir.path().join("m.ordain");
        save(&model, &path).unwrap();
        let again = load(&path).unwrap();
        assert!(again == model, "{method}");
        assert_eq!(again.ranker.scores(&set).unwrap(), model.ranker.scores(&set).unwrap(), "{method}");
    }
}

#[test]
fn scaled_documents_score_alike() {
    let set = small();
    for method in METHODS {
        let ranker = fit(method, &set).ranker;
        let docs = ranker.scaled(&set, &set.all()).unwrap();
        assert_eq!(docs.len(), 7 * set.rows());
        let (scores, again) = (ranker.scores(&set).unwrap(), ranker.scores_of_scaled(set.query(0), &docs).unwrap());
        for (a, b) in scores.iter().zip(&again) {
            assert!((a - b).abs() < 1e-4 * (1.0 + a.abs()), "{method}: {a} and {b}"); // scaled ones are in single precision
        }
    }
}

#[test]
fn the_objective_is_never_above_its_value_at_zero() {
    for method in METHODS {
        // at zero every pair costs 1/2; lists have no common value there
        let report = fit(method, &small()).facts.report;
        assert!(report.objective > 0.0, "{method}: {report:?}");
        let at_zero = if method.starts_with("ranksvm") { 0.5 } else { 1.0 };
        assert!(method.starts_with("rankmatch") || report.objective <= at_zero + 1e-12, "{method}: {report:?}");
    }
}

#[test]
fn constant_features_and_short_queries_are_harmless() {
    let values = vec![5.0, 1.0, 5.0, 2.0, 5.0, 3.0, 5.0, 9.0, 5.0, 7.0];
    let columns = Columns { names: vec!["constant".into(), "x".into()], numbered: false };
    let names = ["a", "b", "c"].map(str::to_owned).to_vec();
    let features = Features::Dense(Matrix::new(values, 2));
    let set = RankSet::new(features, columns, vec![0.0, 1.0, 2.0, 1.0, 1.0], vec![0, 3, 4, 5], names).unwrap();
    for method in METHODS {
        let model = fit(method, &set);
        let scores = model.ranker.scores(&set).unwrap();
        assert!(scores.iter().all(|s| s.is_finite()), "{method}");
        assert!(scores[0] < scores[1] && scores[1] < scores[2], "{method}: {scores:?}");
        assert!(!method.contains("query") || model.ranker.weights.first().is_none_or(|&w| w == 0.0));
        assert_eq!((model.facts.queries, model.facts.flat_queries), (3, 2));
    }
}

#[test]
fn data_without_a_pair_are_refused() {
    let mut set = small();
    set.grades.fill(1.0);
    for method in METHODS {
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
        for (a, b) in a.ranker.weights.iter().zip(&b.ranker.weights) {
            assert!((a - b).abs() < 1e-5, "{method}: {a} and {b}");
        }
    }
}

#[test]
fn the_choice_is_the_best_of_what_was_tried() {
    let set = Synthetic { queries: 100, ..Synthetic::default() }.make();
    let model = fit("ranksvm", &set);
    let chosen = model.facts.chosen.clone().unwrap();
    assert_eq!((chosen.metric.as_str(), chosen.queries, chosen.candidates.len()), ("ndcg@10", 20, 44));
    let best = chosen.candidates.iter().max_by(|a, b| a.value.total_cmp(&b.value)).unwrap();
    assert!(
        chosen
            .candidates
            .iter()
            .any(|c| c.settings["lambda"] == model.facts.settings["lambda"] && c.value >= best.value)
    );
    assert!(model.facts.refit && model.facts.queries == 100);
    // better than the best single feature, under units and offsets that change from query to query
    let metric = "ndcg@10".parse().unwrap();
    let of = |scores: &[f64]| evaluate(&set, &set.all(), scores, &[metric], &Convention::STANDARD).unwrap().mean(0);
    let feature = |j: usize| of(&(0..set.rows()).map(|row| f64::from(set.features.value(row, j))).collect::<Vec<_>>());
    let floor = (0..20).map(feature).fold(0.0, f64::max);
    assert!(of(&model.ranker.scores(&set).unwrap()) > floor + 0.05);
}

#[test]
fn a_stopped_fit_gives_a_model_that_says_so() {
    let set = small();
    for method in METHODS {
        let stop = AtomicBool::new(true);
        let watch = Watch { stop: &stop, tell: &|_, _| {} };
        let model = method.parse::<RankMethod>().unwrap().fit(&Training::new(&set, &set.all()), &watch).unwrap();
        assert_eq!(model.facts.report.stop, Stop::Interrupted, "{method}");
        assert!(from_bytes(&to_bytes(&model), Path::new("m")).unwrap() == model, "{method}");
    }
}

#[test]
fn settings_are_checked() {
    let message = |text: &str| text.parse::<Method>().unwrap_err().to_string();
    assert_eq!(message("ranksvn"), "unknown method \"ranksvn\": did you mean \"ranksvm\"?");
    assert_eq!(message("ranksvm[lamda=1]"), "unknown setting \"lamda\": did you mean \"lambda\"?");
    assert_eq!(message("ranksvm[lambda=-1]"), "lambda: expected auto or a number above 0, found \"-1\"");
    assert_eq!(message("ranksvm[c=0]"), "c: expected auto or a number above 0, found \"0\"");
    assert_eq!(message("ranksvm[scale=quer]"), "unknown scale \"quer\": did you mean \"query\"?");
    assert_eq!(message("ranksvm[weight=both]"), "unknown weight \"both\"; known are query, pair");
    assert_eq!(message("ranksvm[lambda=1"), "method: expected METHOD[name=value,…], found \"ranksvm[lambda=1\"");
    assert_eq!(message("ranksvm[lambda]"), "--set: expected name=value, found \"lambda\"");
    assert_eq!(message("ranksvm[max_iter=0]"), "max_iter: expected a whole number above 0, found \"0\"");
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
        let error = text.parse::<Method>().unwrap_err().to_string();
        assert!(error.contains(found), "{text}: {error}");
    }
    // settings that come later may make it right
    assert!(Method::parse("cstar[loss=p@3]", ["trainer=margin"]).is_ok());
    assert!("ranksvm[blocks=true,documents=50]".parse::<Method>().is_ok());

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
            .fit(&TagTraining::new(&items, &all), &Watch::NOBODY)
            .unwrap_err(),
        MatchMap { max_iter: 0, ..MatchMap::default() }
            .fit(&MatchTraining::new(&registers, &problems), &Watch::NOBODY)
            .unwrap_err(),
        MatchMargin { max_iter: 0, ..MatchMargin::default() }
            .fit(&MatchTraining::new(&registers, &problems), &Watch::NOBODY)
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
            let by = (name.parse().unwrap(), Convention::STANDARD);
            let data = Training { by, ..Training::new(&set, &units) };
            let error = method.parse::<RankMethod>().unwrap().fit(&data, &Watch::NOBODY).unwrap_err().to_string();
            assert!(error.starts_with("metric: expected a"), "{method}, {name}: {error}");
        }
    }
    for (method, name) in [("cstar", "ece"), ("cstar[lambda=1,core=0]", "precision"), ("independent", "recall")] {
        let by = (name.parse().unwrap(), Convention::STANDARD);
        let data = TagTraining { by, ..TagTraining::new(&items, &all) };
        let error = method.parse::<CStar>().unwrap().fit(&data, &Watch::NOBODY).unwrap_err().to_string();
        assert!(error.starts_with("metric: expected a"), "{method}, {name}: {error}");
    }
    for name in ["ndcg@10", "bep", "recall@5"] {
        let data = MatchTraining { by: Some(name.parse().unwrap()), ..MatchTraining::new(&registers, &problems) };
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
        let loaded = from_bytes(&to_bytes(&model), Path::new("m")).unwrap();
        assert_eq!(loaded.facts.taken(), Some(taken), "{method}");
    }
    assert!(smoothed > 0, "a kernel takes the middle of a good region here, not its highest point");
    let items = scenes();
    for method in ["cstar[core=auto]", "cstar[core=2]", "independent"] {
        let model = annotator(method, &items);
        let (taken, chosen) = (model.facts.taken().unwrap(), model.facts.chosen.as_ref().unwrap());
        assert!((taken.value - model.facts.floor.unwrap().reached).abs() < 1e-12, "{method}: {chosen:?}");
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
        let data = Training { by: ("ndcg@5".parse().unwrap(), convention), ..Training::new(&set, &units) };
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
    let model = load(&path).unwrap();
    assert_eq!((model.facts.method.as_str(), model.ranker.weights.len()), ("ranksvm", 7));
    let (old, new) = (
        model.ranker.scores(&small()).unwrap(),
        fit("ranksvm[scale=global,lambda=0.1]", &small()).ranker.scores(&small()).unwrap(),
    );
    assert!(old.iter().zip(&new).all(|(a, b)| (a - b).abs() < 1e-6));
}

/// A line for each annotator, in the settings that differ in kind.
const ANNOTATORS: [&str; 7] = [
    "cstar",
    "independent",
    "cstar[core=auto,features=both,lambda=0.01]",
    "cstar[core=beach;sand,features=direct,scale=none,count_bias=false,lambda=0.01,link_lambda=0.01]",
    "cstar[trainer=margin,core=2,lambda=0.01,link_lambda=0.01,max_iter=20]",
    "cstar[trainer=margin,loss=p@2,core=1,lambda=0.01,link_lambda=0.01,max_iter=20]",
    "independent[trainer=margin,features=both,lambda=0.01,max_iter=20]",
];

fn scenes() -> LabelSet {
    Scenes { items: 90, labels: 9, scenes: 3, ..Scenes::default() }.make()
}

fn annotator(method: &str, set: &LabelSet) -> FittedTags {
    method.parse::<CStar>().unwrap().fit(&TagTraining::new(set, &set.all()), &Watch::NOBODY).unwrap()
}

#[test]
fn annotators_give_the_same_bytes_on_any_number_of_threads() {
    let set = scenes();
    for method in ANNOTATORS {
        let bytes = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let model = annotator(method, &set);
                (tags_to_bytes(&model), model.annotator.predict(&set, &set.all()).unwrap())
            })
        };
        let first = bytes(1);
        assert!(first == bytes(2) && first == bytes(3) && first == bytes(1), "{method}");
    }
}

#[test]
fn a_saved_annotator_says_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let (set, path) = (scenes(), dir.path().join("m.ordain"));
    for method in ANNOTATORS {
        let model = annotator(method, &set);
        save_tags(&model, &path).unwrap();
        let Model::Annotate(again) = load_any(&path).unwrap() else { panic!("{method}") };
        assert!(again == model, "{method}");
        let said = |model: &FittedTags| model.annotator.predict(&set, &set.all()).unwrap();
        assert_eq!(said(&again), said(&model), "{method}");
        let refusal = load(&path).unwrap_err().to_string();
        assert!(refusal.contains("this model annotates"), "{refusal}");
    }
}

#[test]
fn a_damaged_annotator_is_refused() {
    let set = scenes();
    for method in [ANNOTATORS[1], ANNOTATORS[4]] {
        let model = annotator(method, &set);
        let bytes = tags_to_bytes(&model);
        let read = |bytes: &[u8]| any_from_bytes(bytes, Path::new("m"));
        assert!(read(&bytes).unwrap() == Model::Annotate(model));
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
            method.parse::<CStar>().unwrap().fit(&TagTraining::new(&set, &all), &Watch { stop: &stop, tell: &tell })
        };
        // before the classifiers of single labels stand there is no model
        assert!(matches!(fit(&[]), Err(ordain::Error::Interrupted)), "{method}");
        let late = fit(&["fitting", "fitting on training and validation"]).unwrap();
        assert_eq!(late.facts.report.stop, Stop::Interrupted, "{method}");
        let model = fit(&["fitting", "choosing"]).unwrap();
        assert_eq!(model.facts.report.stop, Stop::Interrupted, "{method}");
        assert!(any_from_bytes(&tags_to_bytes(&model), Path::new("m")).unwrap() == Model::Annotate(model), "{method}");
    }
}

#[test]
fn the_choice_of_an_annotator_is_the_best_of_what_was_tried() {
    let set = scenes();
    for (metric, sign) in [("bep", 1.0), ("rankloss", -1.0), ("hamming", -1.0), ("f1", 1.0)] {
        let all = set.all();
        let mut training = TagTraining::new(&set, &all);
        training.by.0 = metric.parse().unwrap();
        let facts = "cstar".parse::<CStar>().unwrap().fit(&training, &Watch::NOBODY).unwrap().facts;
        let chosen = facts.chosen.unwrap();
        let best = chosen.candidates.iter().map(|c| sign * c.value).fold(f64::NEG_INFINITY, f64::max);
        assert!((facts.floor.unwrap().reached - sign * best).abs() < 1e-12, "{metric}");
    }
}

#[test]
fn what_explains_a_label_adds_up_to_its_score() {
    let set = scenes();
    for method in ANNOTATORS {
        let annotator = annotator(method, &set).annotator;
        for (item, above, below) in [(0, 0, 1), (1, 5, 0), (2, 7, 3)] {
            let scores = &annotator.predict(&set, &[item]).unwrap()[0].scores;
            let reasons = annotator.explain(&set, item as usize, above, below).unwrap();
            let own = reasons.iter().filter(|reason| !reason.what.starts_with("link to "));
            let (a, b) = own.fold((0.0, 0.0), |(a, b), reason| (a + reason.above, b + reason.below));
            assert!((a - scores[above]).abs() < 1e-9 && (b - scores[below]).abs() < 1e-9, "{method}");
        }
    }
}

#[test]
fn annotations_that_are_not_finite_and_other_columns_are_refused() {
    let set = scenes();
    let annotator = annotator("cstar[core=2,lambda=0.01,link_lambda=0.01,features=both,scale=none]", &set).annotator;
    let metrics = ["bep", "f1"].map(|name| name.parse().unwrap());
    let all = |set: &LabelSet| {
        [
            annotator.predict(set, &[3]).map(drop),
            annotator.oracle_values(set, &[3]).map(drop),
            annotator.evaluate(set, &[3], &metrics, &Convention::STANDARD).map(drop),
            annotator.explain(set, 3, 0, 1).map(drop),
        ]
    };
    all(&set).into_iter().for_each(|right| right.unwrap());

    let (mut strange, cols) = (set.clone(), set.features.cols());
    let Features::Dense(m) = &mut strange.features else { panic!("made dense") };
    m.values_mut()[3 * cols] = f32::NAN; // a gap that nobody filled
    for refused in all(&strange) {
        let error = refused.unwrap_err();
        let place = format!("item {:?}, label {:?}: expected a finite score, found NaN", set.item(3), set.labels[0]);
        assert!(error.to_string().starts_with(&place), "{error}");
    }
    assert!(annotator.predict(&strange, &[2, 4]).is_ok());

    let mut other = set.clone();
    other.columns.names.swap(0, 1);
    for refused in all(&other) {
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("as column 1: `prepare` the set with the model first"), "{error}");
    }
    let mut renamed = set.clone();
    renamed.labels.swap(0, 1);
    let error = annotator.evaluate(&renamed, &[3], &metrics, &Convention::STANDARD).unwrap_err().to_string();
    assert!(error.contains("the 9 labels of the model"), "{error}");
}

#[test]
fn items_without_labels_are_refused() {
    let mut set = scenes();
    set.labelled = false;
    for method in ANNOTATORS {
        let method: CStar = method.parse().unwrap();
        let refusal = method.fit(&TagTraining::new(&set, &set.all()), &Watch::NOBODY).unwrap_err();
        assert!(refusal.to_string().contains("labels of the items"), "{refusal}");
    }
}

/// A line for each matcher, in the settings that differ in kind.
const MATCHERS: [&str; 10] = [
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

fn matcher(method: &str, set: &MatchSet) -> FittedMatch {
    method.parse::<MatchMethod>().unwrap().fit(&MatchTraining::new(set, &set.all()), &Watch::NOBODY).unwrap()
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
                (match_to_bytes(&model), model.matcher.predict(&set, &set.all()).unwrap())
            })
        };
        let first = bytes(1);
        assert!(first == bytes(2) && first == bytes(3) && first == bytes(1), "{method}");
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
        save_match(&model, &path).unwrap();
        let Model::Match(again) = load_any(&path).unwrap() else { panic!("{method}") };
        assert!(again == model, "{method}");
        let said = |model: &FittedMatch| model.matcher.predict(&set, &set.all()).unwrap();
        assert_eq!(said(&again), said(&model), "{method}");
        let refusal = load(&path).unwrap_err().to_string();
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
        let (a, b) = (matcher(&method, &set).matcher, matcher(&method, &moved).matcher);
        // margins stop at a gap: their minimum is known to some per cent
        let slack = if method.contains("matchmap") { 1e-3 } else { 0.2 };
        let far = a.weights.iter().zip(&b.weights).any(|(x, y)| (x - y).abs() > slack * (1.0 + x.abs()));
        assert!(!far, "{method}: {:?} {:?}", a.weights, b.weights);
        // one model says the same of both
        for (n, &p) in order.iter().enumerate() {
            let (old, new) = (a.scores(&set, p as usize).unwrap(), a.scores(&moved, n).unwrap());
            for (e, &was) in places[n].iter().enumerate() {
                assert!((new[e] - old[was as usize]).abs() < 1e-5 * (1.0 + new[e].abs()), "{method}");
            }
            let (old, new) = (a.predict(&set, &[p]).unwrap(), a.predict(&moved, &[n as u32]).unwrap());
            let score = |said: &ordain::method::MatchPrediction| said.matches.iter().map(|m| m.score).sum::<f64>();
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
            let columns = Columns { names: vec!["constant".into(), "x".into()], numbered: false };
            let features = Features::Dense(Matrix::new(rows.iter().flat_map(value).collect(), 2));
            let set = MatchSet::new(features, columns, problems.clone()).unwrap();
            for (method, _) in matchers() {
                let model = matcher(&method, &set);
                assert!(model.matcher.weights.iter().all(|w| w.is_finite()), "{method}");
                let said = model.matcher.predict(&set, &set.all()).unwrap();
                let finite = |p: &f64| (-1e-9..=1.0 + 1e-6).contains(p);
                assert!(said.iter().all(|said| said.probabilities.iter().flatten().all(finite)), "{method}");
                assert!(any_from_bytes(&match_to_bytes(&model), Path::new("m")).unwrap() == Model::Match(model));
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
        let model = method.parse::<MatchMethod>().unwrap().fit(&MatchTraining::new(&set, &all), &watch).unwrap();
        assert_eq!(model.facts.report.stop, Stop::Interrupted, "{method}");
        assert!(any_from_bytes(&match_to_bytes(&model), Path::new("m")).unwrap() == Model::Match(model), "{method}");
    }
}
