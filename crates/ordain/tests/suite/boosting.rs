//! Trees as scores of rankers, annotators and matchers.
#![allow(clippy::unwrap_used)] // a test may panic

use ordain::data::synthetic::{Interactions, Linkage, Scenes, Synthetic};
use ordain::data::{LabelSet, MatchSet, Missing, RankSet};
use ordain::matrix::{Features, Matrix};
use ordain::method::{Annotate, AnyMethod, CStar, Match, MatchMethod, Rank, RankMethod};
use ordain::metric::{Convention, Metric};
use ordain::model_file::{from_bytes, to_bytes};
use ordain::score::Score;
use ordain::solver::run::Watch;
use ordain::task::{Fitted, Method, Model, Training};
use ordain::traits::Stop;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

fn ranker(method: &str, set: &RankSet, units: &[u32]) -> Fitted<Rank> {
    method.parse::<RankMethod>().unwrap().fit(&Training::new(set, units), &Watch::NOBODY).unwrap()
}

fn ndcg(fitted: &Fitted<Rank>, set: &RankSet, units: &[u32]) -> f64 {
    let (ready, metric) = (fitted.model.prepare(set).unwrap(), "ndcg@10".parse::<Metric>().unwrap());
    fitted.model.evaluate(&ready, units, &[metric], &Convention::STANDARD).unwrap().mean(0)
}

/// What depends on pairs of columns is out of reach of weights, and not of trees, whatever their loss.
#[test]
fn trees_see_what_weights_cannot() {
    let set = Interactions { queries: 250, ..Interactions::default() }.make();
    let all = set.all();
    let (train, test) = all.split_at(180);
    let linear = ndcg(&ranker("ranksvm[scale=none,lambda=1]", &set, train), &set, test);
    for method in [
        "ranksvm[scorer=trees,rounds=60,leaves=15,rate=0.15]",
        "ranksvm[scorer=trees,loss=lambda,rounds=60,leaves=15,rate=0.15]",
        "ranksvm[scorer=trees,loss=squared,rounds=60,leaves=15,rate=0.15]",
        "rankmatch[scorer=trees,rounds=60,leaves=15,rate=0.15]",
        "rankmatch[scorer=linear+trees,scale=none,lambda=0.1,rounds=60,leaves=15,rate=0.15]",
    ] {
        let trees = ndcg(&ranker(method, &set, train), &set, test);
        assert!(trees > linear + 0.05, "{method}: {trees} beside {linear}");
    }
}

/// Where scores are linear, `auto` keeps weights alone or loses nothing by trees.
#[test]
fn auto_keeps_what_validation_finds_better() {
    let linear = Synthetic { queries: 60, noise: 0.3, ..Synthetic::default() }.make();
    let fitted = ranker("ranksvm[scorer=auto,scale=query,lambda=0.1,leaves=7]", &linear, &linear.all());
    let (gain, error) = fitted.facts.notes.trees.as_ref().unwrap().gain.unwrap();
    let has = !fitted.model.score.forests().is_empty();
    assert_eq!(has, gain > error);
    assert_eq!(fitted.facts.settings["scorer"], if has { "linear+trees" } else { "linear" });
    let strong = Interactions { queries: 100, ..Interactions::default() }.make();
    let fitted = ranker("ranksvm[scorer=auto,scale=none,lambda=1,leaves=7]", &strong, &strong.all());
    let notes = fitted.facts.notes.trees.unwrap();
    assert!(notes.trees > 0 && notes.trees < notes.curve.len());
    assert_eq!(fitted.facts.chosen.unwrap().taken(&fitted.facts.settings).unwrap().settings["rounds"], notes.trees);
}

/// From 2,000 queries on trees are judged by the validation queries, with a last fit on all and without one.
#[test]
fn many_queries_are_judged_by_those_that_are_held_out() {
    let set = Interactions { queries: 2600, documents: (3, 5), ..Interactions::default() }.make();
    let all = set.all();
    let (train, valid) = all.split_at(2100);
    for refit in [true, false] {
        let method: RankMethod = "ranksvm[scorer=auto,scale=none,lambda=1,leaves=7,rate=0.3]".parse().unwrap();
        let training = Training { valid: Some(valid), refit, ..Training::new(&set, train) };
        let fitted = method.fit(&training, &Watch::NOBODY).unwrap();
        let notes = fitted.facts.notes.trees.unwrap();
        assert!(notes.trees > 0 && fitted.facts.settings["scorer"] == "linear+trees", "refit {refit}");
        assert!(notes.curve.len() > notes.trees, "refit {refit}");
        assert_eq!(fitted.facts.notes.queries, if refit { 2600 } else { 2100 });
    }
}

/// The same bytes on any number of threads, and through a file.
#[test]
fn bytes_do_not_depend_on_threads_and_files_keep_them() {
    let set = Interactions { queries: 60, ..Interactions::default() }.make();
    for method in [
        "ranksvm[scorer=linear+trees,scale=query,lambda=1,rounds=12]",
        "rankmatch[scorer=trees,rounds=8,leaves=5,categories=20,monotone=+11;-12]",
        "ranksvm[scorer=auto,loss=lambda,scale=global,lambda=1,leaves=5]",
    ] {
        let fit = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| ranker(method, &set, &set.all()))
        };
        let first = fit(1);
        let bytes = to_bytes(&first);
        assert!(bytes == to_bytes(&fit(2)) && bytes == to_bytes(&fit(7)), "{method}");
        assert!(from_bytes::<Rank>(&bytes, Path::new("m")).unwrap() == first, "{method}");
    }
}

/// An interrupted fit keeps the best so far, and goes on to the bytes of one that was not interrupted.
#[test]
fn an_interrupted_fit_goes_on_to_the_same_bytes() {
    let set = Interactions { queries: 16, ..Interactions::default() }.make();
    let all = set.all();
    for method in [
        "rankmatch[scorer=linear+trees,scale=query,lambda=0.1]",
        "ranksvm[scorer=trees,leaves=7]",
        "ranksvm[scorer=auto]",
    ] {
        let method: RankMethod = method.parse().unwrap();
        let whole = method.fit(&Training::new(&set, &all), &Watch::NOBODY).unwrap();
        for after in [3, 30] {
            let (count, stop) = (AtomicUsize::new(0), std::sync::atomic::AtomicBool::new(false));
            let tell = |_: f64, what: &str| {
                if what == "growing trees" && count.fetch_add(1, Ordering::SeqCst) == after {
                    stop.store(true, Ordering::SeqCst);
                }
            };
            let part = method.fit(&Training::new(&set, &all), &Watch { stop: &stop, tell: &tell }).unwrap();
            assert_eq!(part.facts.report.stop, Stop::Interrupted);
            let part: Fitted<Rank> = from_bytes(&to_bytes(&part), Path::new("m")).unwrap();
            let training = Training::new(&set, &all);
            let journal = method.resume(&part, &training).unwrap();
            let again = method.fit(&Training { resume: Some(journal), ..training }, &Watch::NOBODY).unwrap();
            assert!(to_bytes(&again) == to_bytes(&whole), "{} after {after}", method.name());
        }
    }
}

/// Trees on top of the scores of another model: its answer is that score, times a temperature where there are probabilities, and the trees.
#[test]
fn trees_start_from_the_scores_of_another_model() {
    let set = Interactions { queries: 40, ..Interactions::default() }.make();
    let all = set.all();
    let other = ranker("ranksvm[scale=none,lambda=1]", &set, &all);
    let start = other.model.scores(&other.model.prepare(&set).unwrap()).unwrap();
    let started = set.clone().with_start(&start).unwrap();
    for method in ["ranksvm[scorer=trees,rounds=20,leaves=5]", "rankmatch[scorer=trees,leaves=5]"] {
        let fitted = ranker(method, &started, &all);
        let bare = ranker(method, &set, &all);
        assert!(to_bytes(&fitted) != to_bytes(&bare), "{method}");
        let ready = fitted.model.prepare(&started).unwrap();
        let (scores, factor) = (fitted.model.scores(&ready).unwrap(), fitted.model.start.unwrap());
        // the slow way: every row through every tree
        for row in 0..set.rows() {
            let values = dense(&set.features, row);
            let trees: f64 = fitted.model.score.forests().iter().map(|forest| forest.score_row(&values)).sum();
            assert!((scores[row] - factor * start[row] - trees).abs() < 1e-9, "{method}: row {row}");
        }
        for (said, &q) in fitted.model.predict(&ready, &all, false).unwrap().iter().zip(&all) {
            assert_eq!(said.scores, scores[set.span(q as usize)], "{method}");
        }
        assert_eq!(fitted.model.row_scores(&set.features), None);
        let file = from_bytes::<Rank>(&to_bytes(&fitted), Path::new("m")).unwrap();
        assert!(file == fitted && !file.trained_on(&set) && file.trained_on(&started));
        // with scores and without them are two kinds of model
        let text = fitted.model.prepare(&set).unwrap_err().to_string();
        assert!(text.contains("--start") && text.contains("init_score"), "{text}");
        assert!(bare.model.prepare(&started).unwrap_err().to_string().contains("no start scores"));
        // some queries of the set keep theirs
        let few = started.only(&[3, 1]);
        let some = fitted.model.scores(&fitted.model.prepare(&few).unwrap()).unwrap();
        assert_eq!(some[few.span(0)], scores[set.span(3)]);
    }
    let refused = "ranksvm[scorer=linear+trees]".parse::<RankMethod>().unwrap();
    let text = refused.fit(&Training::new(&started, &all), &Watch::NOBODY).unwrap_err().to_string();
    assert!(text.contains("scorer=trees"), "{text}");
    for wrong in [vec![0.0], vec![f64::NAN; set.rows()]] {
        assert!(set.clone().with_start(&wrong).is_err());
    }
}

/// Contributions add up to the difference of scores, with weights and without, with missing values too.
#[test]
fn contributions_add_up() {
    let set = Interactions { queries: 30, ..Interactions::default() }.make();
    let mut gaps = set.clone();
    let (d, values) =
        (set.features.cols(), (0..set.rows()).flat_map(|i| dense(&set.features, i)).collect::<Vec<f32>>());
    let with = |i: usize, x: f32| if i % 7 == 3 { f32::NAN } else { x };
    gaps.features = Features::Dense(Matrix::new(values.into_iter().enumerate().map(|(i, x)| with(i, x)).collect(), d));
    let filled = gaps.fill(Missing::Keep, &gaps.all());
    let kept = "ranksvm[scorer=trees,rounds=20]".parse::<RankMethod>().unwrap();
    let all = gaps.all();
    let training = Training { filled, ..Training::new(&gaps, &all) };
    let kept = kept.fit(&training, &Watch::NOBODY).unwrap();
    let both = ranker("rankmatch[scorer=linear+trees,scale=query,lambda=0.1,rounds=20]", &set, &set.all());
    for (fitted, set) in [(&kept, &gaps), (&both, &set)] {
        let ready = fitted.model.prepare(set).unwrap();
        let scores = fitted.model.scores(&ready).unwrap();
        for q in 0..5 {
            let span = set.span(q);
            let (a, b) = (span.start, span.end - 1);
            let parts = fitted.model.explain(&ready, q, a, b).unwrap();
            let sum: f64 = parts.iter().map(|part| part.contribution).sum();
            assert!((sum - (scores[a] - scores[b])).abs() < 1e-9, "{sum} {}", scores[a] - scores[b]);
        }
    }
    // missing values are for trees alone
    let linear = "ranksvm[scale=none,lambda=1]".parse::<RankMethod>().unwrap();
    assert!(linear.fit(&training, &Watch::NOBODY).is_err());
    let mixed = "ranksvm[scorer=linear+trees]".parse::<RankMethod>().unwrap();
    assert!(mixed.fit(&training, &Watch::NOBODY).unwrap_err().to_string().contains("scorer=trees"));
}

fn dense(features: &Features, row: usize) -> Vec<f32> {
    (0..features.cols()).map(|j| features.value(row, j)).collect()
}

/// A monotone column moves scores one way only, and a model says which columns it splits by.
#[test]
fn monotone_columns_and_gains() {
    let set = Interactions { queries: 60, ..Interactions::default() }.make();
    let fitted = ranker("ranksvm[scorer=trees,rounds=40,leaves=15,monotone=+11;-1]", &set, &set.all());
    let Score::Trees(score) = &fitted.model.score else { unreachable!("trees were asked for") };
    for row in (0..set.rows()).step_by(37) {
        let mut x = dense(&set.features, row);
        for (column, sign) in [(10, 1.0), (0, -1.0)] {
            let at = |x: &mut Vec<f32>, value: f32| {
                x[column] = value;
                sign * score.forests[0].score_row(x)
            };
            let way: Vec<f64> = (-30..=30).map(|step| at(&mut x, 0.1 * step as f32)).collect();
            assert!(way.is_sorted(), "column {column}: {way:?}");
            x[column] = set.features.value(row, column);
        }
    }
    let gains = fitted.model.score.gains().unwrap();
    assert!((gains.iter().sum::<f64>() - 1.0).abs() < 1e-12 && gains[2] > gains[15]);
    assert!(
        "ranksvm[scorer=trees,monotone=+nothing]"
            .parse::<RankMethod>()
            .unwrap()
            .fit(&Training::new(&set, &set.all()), &Watch::NOBODY)
            .is_err()
    );
}

/// Settings of trees are refused where they serve nothing.
#[test]
fn settings_that_serve_nothing_are_refused() {
    for method in [
        "ranksvm[rounds=5]",
        "ranksvm[loss=lambda]",
        "ranksvm[kernel=rbf,scorer=trees]",
        "rankmatch[subset=3,scorer=trees]",
        "rankmatch[scorer=trees,leaves=1]",
        "rankmatch[scorer=trees,unit_share=1.5]",
        "rankmatch[scorer=trees,monotone=bm25]",
        "rankmatch[scorer=trees,monotone=+a,categories=a]",
        "matchmap[rate=0.3]",
        "cstar[scorer=trees,features=direct]",
        "cstar[scorer=trees,kernel=rbf]",
        "independent[leaves=5]",
    ] {
        assert!(method.parse::<AnyMethod>().is_err(), "{method}");
    }
}

fn matcher(method: &str, set: &MatchSet, units: &[u32]) -> Fitted<Match> {
    method.parse::<MatchMethod>().unwrap().fit(&Training::new(set, units), &Watch::NOBODY).unwrap()
}

fn nll(fitted: &Fitted<Match>, set: &MatchSet, units: &[u32]) -> f64 {
    let (ready, metric) = (fitted.model.prepare(set).unwrap(), "nll".parse::<Metric>().unwrap());
    fitted.model.evaluate(&ready, units, &[metric], &Convention::STANDARD).unwrap().mean(0)
}

/// Problems whose edges are right where two columns have the same sign: trees make them likely, weights cannot.
#[test]
fn matchers_with_trees_find_right_matchings_more_likely() {
    let mut set = Linkage { problems: 160, ..Linkage::default() }.make();
    // each column twice, once turned round at random: only products tell
    let mut random = ordain::random::Random::new(5);
    let d = set.features.cols();
    let mut values = vec![];
    for row in 0..set.features.rows() {
        for x in dense(&set.features, row) {
            let sign = if random.below(2) == 0 { 1.0 } else { -1.0 };
            values.extend([sign * (x - 0.5), sign]);
        }
    }
    set.features = Features::Dense(Matrix::new(values, 2 * d));
    set.columns = ordain::data::Columns::named((0..2 * d).map(|j| format!("c{j}")).collect());
    let all = set.all();
    let (train, test) = all.split_at(110);
    let linear = nll(&matcher("matchmap[null=true,scale=none,lambda=0.01]", &set, train), &set, test);
    for scorer in ["trees", "linear+trees"] {
        let method = format!("matchmap[null=true,scale=none,lambda=0.01,scorer={scorer},leaves=15,rate=0.2]");
        let fitted = matcher(&method, &set, train);
        let trees = nll(&fitted, &set, test);
        assert!(trees < linear - 0.1, "{method}: {trees} beside {linear}");
        assert!(from_bytes::<Match>(&to_bytes(&fitted), Path::new("m")).unwrap() == fitted);
    }
}

fn annotator(method: &str, set: &LabelSet, units: &[u32]) -> Fitted<Annotate> {
    method.parse::<CStar>().unwrap().fit(&Training::new(set, units), &Watch::NOBODY).unwrap()
}

/// Labels that hang on products of columns: trees in the classifiers find them, weights do not; reasons add up.
#[test]
fn annotators_with_trees_see_products() {
    let mut set = Scenes { items: 260, labels: 8, noise: 0.4, ..Scenes::default() }.make();
    let mut random = ordain::random::Random::new(5);
    let d = set.features.cols();
    let mut values = vec![];
    for row in 0..set.features.rows() {
        for x in dense(&set.features, row) {
            let sign = if random.below(2) == 0 { 1.0 } else { -1.0 };
            values.extend([sign * x, sign]);
        }
    }
    set.features = Features::Dense(Matrix::new(values, 2 * d));
    set.columns = ordain::data::Columns::named((0..2 * d).map(|j| format!("c{j}")).collect());
    let all = set.all();
    let (train, test) = all.split_at(180);
    let bep = |fitted: &Fitted<Annotate>| {
        let (ready, metric) = (fitted.model.prepare(&set).unwrap(), "bep".parse::<Metric>().unwrap());
        fitted.model.evaluate(&ready, test, &[metric], &Convention::STANDARD).unwrap().mean(0)
    };
    let linear = bep(&annotator("independent[lambda=0.01,features=scores]", &set, train));
    for method in [
        "independent[lambda=0.01,features=scores,scorer=trees,rounds=60,leaves=7,rate=0.2,column_share=1]",
        "cstar[lambda=0.01,link_lambda=0.01,features=scores,scorer=trees,rounds=60,leaves=7,rate=0.2,column_share=1]",
    ] {
        let fitted = annotator(method, &set, train);
        let trees = bep(&fitted);
        assert!(trees > linear + 0.1, "{method}: {trees} beside {linear}");
        assert!(from_bytes::<Annotate>(&to_bytes(&fitted), Path::new("m")).unwrap() == fitted, "{method}");
    }
}
