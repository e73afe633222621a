//! Rankers with a kernel, from file to explanation.

use crate::support::{Place, number, ordain, well};

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
    ordain(&["fit", "ranksvm", &weighted, "-o", &model, "--set=kernel=rbf"]).code(1).says("without weights");
    let help = well(&["fit", "ballrank", "--help"]).out;
    for name in ["geometry", "oracle", "epsilon", "polish", "blocks", "gamma"] {
        assert!(help.contains(name), "{name}");
    }
}
