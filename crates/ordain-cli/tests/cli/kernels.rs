//! Rankers with a kernel, from file to explanation.

use crate::support::{Place, number, ordain, well};
use ordain::data::{synthetic::Levels, write};

/// Two categories of points, near and far from the middle, which no linear score can tell apart; as a table of items.
fn place() -> (Place, String, String) {
    let place = Place::empty();
    let mut table = String::from("id,kind,x,y\n");
    for i in 0..80 {
        let (angle, far) = (0.7 * f64::from(i), i % 2 == 0);
        let radius = if far { 3.0 } else { 0.5 } + 0.1 * f64::from(i % 7);
        let kind = if far { "rim" } else { "hub" };
        table += &format!("p{i},{kind},{:.4},{:.4}\n", radius * angle.cos(), radius * angle.sin());
    }
    let items = place.write("items.csv", &table);
    let (train, test) = (place.at("train.csv"), place.at("test.csv"));
    // every second item is of either kind, so rows go by halves of the table
    let lines: Vec<&str> = table.lines().collect();
    for (name, part, out) in [("a.csv", &lines[1..41], &train), ("b.csv", &lines[41..], &test)] {
        let half = place.write(name, &format!("{}\n{}\n", lines[0], part.join("\n")));
        well(&["convert", &half, out, "--queries", "category=kind"]);
    }
    assert!(items.ends_with("items.csv"));
    (place, train, test)
}

#[test]
fn a_scorer_for_each_category() {
    let (place, train, test) = place();
    let model = place.at("m.ordain");
    for method in ["ballrank", "ballrank[polish=false]", "ranksvm[kernel=rbf]", "ranksvm[kernel=rbf,documents=8]"] {
        let name = method.split('[').next().unwrap();
        let mut words =
            vec!["fit".to_owned(), name.into(), train.clone(), "-o".into(), model.clone(), "--set=blocks=true".into()];
        let more = method.strip_prefix(name).unwrap().trim_matches(['[', ']']);
        words.extend(more.split(',').filter(|word| !word.is_empty()).map(|word| format!("--set={word}")));
        words.extend(["--set=gamma=1".into(), "--set=lambda=1e-3".into(), "--json".into()]);
        let fit = well(&words.iter().map(String::as_str).collect::<Vec<_>>()).json();
        let documents = fit["core"]["documents"].as_u64().unwrap();
        assert!(
            documents > 0 && documents <= 80 && (!method.contains("=8") || documents <= 8),
            "{method}: {documents}"
        );
        assert_eq!(fit["core"]["pairs"].is_u64(), name == "ballrank");
        let right = well(&["evaluate", &model, &test, "--metric", "pairs", "--json"]).json();
        assert!(number(&right["metrics"]["pairs"]["mean"]) > 0.95, "{method}: {right}");
        let shown = well(&["inspect", &model]).out;
        assert!(shown.contains("a scorer for each of 2 queries") && shown.contains("core documents"), "{shown}");
        // what features add makes up the difference of the scores
        let why = well(&["explain", &model, &test, "--query", "rim", "--json"]).json();
        let sum: f64 = why["contributions"].as_array().unwrap().iter().map(|c| number(&c["contribution"])).sum();
        let apart = number(&why["above"]["score"]) - number(&why["below"]["score"]);
        assert!((sum - apart).abs() < 1e-3 * (1.0 + apart.abs()), "{sum} {apart}");
    }
    // the same bytes again
    let words = ["fit", "ballrank", &train, "-o", &model, "--set=blocks=true"];
    well(&words);
    let first = place.bytes("m.ordain");
    well(&[&words[..], &["--threads", "1"]].concat());
    assert_eq!(first, place.bytes("m.ordain"));
}

#[test]
fn a_query_without_a_scorer_is_refused() {
    let (place, train, _) = place();
    let model = place.at("m.ordain");
    well(&["fit", "ballrank", &train, "-o", &model, "--set=blocks=true", "--set=gamma=1", "--set=lambda=1e-3"]);
    let other = place.write("other.csv", "label,qid,docid,x,y\n1,nave,a,1,2\n0,nave,b,2,1\n");
    ordain(&["predict", &model, &other]).code(1).silent().says("one of the 2 queries").says("query \"nave\"");
    // one scorer for all queries takes any
    well(&["fit", "ballrank", &train, "-o", &model, "--set=gamma=1", "--set=lambda=1e-3"]);
    assert_eq!(well(&["predict", &model, &other]).out.lines().count(), 2);
}

#[test]
fn settings_and_values_that_do_not_fit() {
    let (place, train, _) = place();
    let model = place.at("m.ordain");
    let fit = |words: &[&str]| ordain(&[&["fit", "ranksvm", &train, "-o", &model], words].concat());
    fit(&["--set=kernel=gauss"]).code(2).says("gauss");
    fit(&["--set=kernel=rbf", "--set=gamma=-1"]).code(2).says("gamma");
    fit(&["--set=kernel=rbf", "--set=documents=0"]).code(2).says("documents");
    fit(&["--set=kernel=chi2", "--set=scale=none"]).code(1).says("at least 0").says("scale=minmax");
    let weighted = place.write("weighted.csv", "label,qid,weight,x\n1,a,2,1\n0,a,1,2\n");
    ordain(&["fit", "ballrank", &weighted, "-o", &model]).code(1).says("without a column of weights for ballrank");
    let help = well(&["fit", "ballrank", "--help"]).out;
    for name in ["geometry", "oracle", "epsilon", "polish", "blocks", "gamma"] {
        assert!(help.contains(name), "{name}");
    }
}

/// The pictures of a report, each with the words of its method.
fn planes(html: &str) -> Vec<&str> {
    let Some(section) = html.split("<h2>The ranking function</h2>").nth(1) else { return vec![] };
    section.split("</section>").next().unwrap().split("<figure>").skip(1).collect()
}

#[test]
fn a_report_draws_the_function_of_two_features() {
    let place = Place::empty();
    let (train, test, report) = (place.at("train.txt"), place.at("test.txt"), place.at("report.html"));
    for (seed, path) in [(1, &train), (2, &test)] {
        let set = Levels { queries: 6, documents: 20, side: 2.0, seed }.make();
        write(&set, path.as_ref()).unwrap();
    }
    let settings =
        ["gamma=1,lambda=1e-3,scale=none", "gamma=1,lambda=1e-3,scale=global", "gamma=1,lambda=1e-3,scale=query"];
    let methods: Vec<String> = settings.iter().map(|settings| format!("ballrank[{settings}]")).collect();
    let mut words: Vec<&str> = vec![
        "compare",
        "ranksvm[lambda=1,scale=minmax]",
        "ranksvm[kernel=rbf,gamma=1,lambda=1e-3,blocks=true,scale=none]",
    ];
    words.extend(methods.iter().map(String::as_str));
    words.extend(["--train", &train, "--test", &test, "--report", &report]);
    well(&words);
    let html = place.read("report.html");
    let drawn = planes(&html);
    assert_eq!(drawn.len(), 5);
    let count = |picture: &str, what: &str| picture.matches(what).count();
    for picture in &drawn {
        assert!(picture.contains("Ranking function of "), "a title");
        assert_eq!(count(picture, "class=\"area\""), count(picture, "class=\"strand level"));
        assert!(count(picture, "class=\"area\"") >= 8, "nine lines, of which one may lie outside");
    }
    assert_eq!((count(drawn[0], "class=\"mark"), count(drawn[0], "dot ring")), (360, 0));
    assert!(drawn[0].contains("feature 1, from 0 to 1 within its query"));
    assert_eq!(count(drawn[1], "class=\"mark"), 60, "the documents of one query");
    assert!(drawn[1].contains(", the scorer of query 1: 60 documents, "));
    for (settings, picture) in settings.iter().zip(&drawn[2..]) {
        let model = place.at("m.ordain");
        let mut words = vec!["fit", "ballrank", &train, "-o", &model, "--json"];
        let sets: Vec<String> = settings.split(',').map(|setting| format!("--set={setting}")).collect();
        words.extend(sets.iter().map(String::as_str));
        let core = well(&words).json()["core"]["documents"].as_u64().unwrap() as usize;
        assert!(core > 0 && core <= 300, "{core}");
        assert_eq!(count(picture, "dot ring"), core, "{settings}");
        assert!(picture.contains(&format!("360 documents, all {core} core documents ringed.")));
    }
    well(&words);
    let again = place.read("report.html");
    assert_eq!(planes(&html), planes(&again), "the same again");
}

#[test]
fn three_features_are_no_plane() {
    let place = Place::trained();
    let (train, test, report) = (place.at("train.txt"), place.at("test.txt"), place.at("report.html"));
    well(&["compare", "ranksvm[lambda=1]", "--train", &train, "--test", &test, "--report", &report]);
    assert!(planes(&place.read("report.html")).is_empty());
    let lines: Vec<String> = (0..40).map(|i| format!("{} qid:{} 1:{i} 2:{} 3:1", i % 2, i / 8, i % 3)).collect();
    let three = place.write("three.txt", &(lines.join("\n") + "\n"));
    well(&["compare", "ranksvm[lambda=1]", "--train", &three, "--test", &three, "--report", &report]);
    assert!(planes(&place.read("report.html")).is_empty());
}

/// The value that a fit prints is that of the settings it took, which need not be the largest of all that were tried.
#[test]
fn a_fit_prints_the_value_of_what_it_took() {
    let place = Place::empty();
    let mut smoothed = 0;
    for (seed, method) in
        (1..).zip(["ranksvm[kernel=rbf,scale=query]", "ranksvm[kernel=rbf,scale=global]", "ballrank[scale=query]"])
    {
        let (data, model) = (place.write("data.txt", &crate::data::letor(25, seed)), place.at("m.ordain"));
        let said = well(&["fit", method, &data, "-o", &model]).err;
        let facts = well(&["inspect", &model, "--json"]).json();
        let (settings, all) = (&facts["settings"], facts["chosen"]["candidates"].as_array().unwrap());
        let used = |tried: &&serde_json::Value| {
            tried["settings"].as_object().unwrap().iter().all(|(name, value)| settings[name] == *value)
        };
        let taken = number(&all.iter().find(used).unwrap()["value"]);
        assert!(said.contains(&format!("lambda={} ({taken:.4})", settings["lambda"])), "{taken}: {said}");
        smoothed += usize::from(all.iter().any(|tried| number(&tried["value"]) > taken + 1e-4));
    }
    assert!(smoothed > 0, "no choice here is of another point than the best");
}

/// A power of large features is beyond all numbers: no command prints or measures what is none.
#[test]
fn a_score_that_is_not_finite_is_an_error_everywhere() {
    let place = Place::empty();
    let (rows, method) = (crate::data::rows(12, 1), "ranksvm[kernel=poly,degree=30,gamma=1,scale=none,lambda=0.01]");
    let train = place.write("train.txt", &crate::data::letor_of(&rows));
    let model = place.at("m.ordain");
    well(&["fit", method, &train, "-o", &model]);
    well(&["predict", &model, &train]);
    // the same documents, the third of them with values a million million times as large
    let text = place.read("train.txt");
    let huge: Vec<String> = text
        .lines()
        .enumerate()
        .map(|(i, line)| match i {
            2 => line
                .split(' ')
                .map(|word| match word.split_once(':') {
                    Some((name, value)) if name != "qid" && value.parse::<f64>().is_ok() => {
                        format!("{name}:{value}e12")
                    }
                    _ => word.to_owned(),
                })
                .collect::<Vec<_>>()
                .join(" "),
            _ => line.to_owned(),
        })
        .collect();
    let huge = place.write("huge.txt", &(huge.join("\n") + "\n"));
    let query = well(&["predict", &model, &train, "--json"]).json_lines()[0]["query"].as_str().unwrap().to_owned();
    let place_of = format!("query {query:?}, document ");
    for words in [
        &["predict", &model, &huge][..],
        &["predict", &model, &huge, "--top=1"],
        &["predict", &model, &huge, "--run=tag"],
        &["evaluate", &model, &huge, "--metric=ndcg@10"],
        &["explain", &model, &huge, "--query", &query],
        &["compare", method, "--train", &train, "--test", &huge],
    ] {
        let done = ordain(words).code(1).silent().says(&place_of);
        for text in ["expected a finite score, found", "scale=query", "a lower degree"] {
            assert!(done.err.contains(text), "{words:?}: {}", done.err);
        }
    }
}
