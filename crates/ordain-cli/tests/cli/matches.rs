//! Problems of matching: every command that takes them.

use crate::golden::{calm_text, golden, golden_json, golden_lines};
use crate::support::{Done, Place, fit, has_fields, near, number, ordain, shape, well};
use ordain::random::Random;
use serde_json::{Value, json};
use std::fmt::Write;

/// A table of edges: four left and five right items in each problem, with some edges forbidden; every third problem has a left item
/// without a match where that is asked for.
pub(crate) fn edges(problems: usize, seed: u64, labelled: bool, alone: bool) -> String {
    let mut random = Random::new(seed);
    let mut text = format!("problem,left,right,likeness,distance{}\n", if labelled { ",matched" } else { "" });
    for p in 0..problems {
        for i in 0..4 {
            for j in 0..5 {
                let free = alone && p % 3 == 0 && i == 0;
                let matched = !free && j == (2 * i + p) % 5;
                if !matched && (i + 2 * j + p) % 7 == 0 {
                    continue;
                }
                let (mean, far) = if matched { (0.7, 1.0) } else { (0.3, 2.0) };
                let likeness = mean + 0.2 * random.normal();
                let distance = far + 0.7 * random.normal();
                write!(text, "p{p},a{i},b{j},{likeness:.3},{distance:.3}").unwrap();
                text += match (labelled, matched) {
                    (false, _) => "\n",
                    (true, true) => ",1\n",
                    (true, false) => ",0\n",
                };
            }
        }
    }
    text
}

/// Points of some problems: three to the left and the same, moved a little, to the right.
pub(crate) fn points(problems: usize) -> String {
    let mut text = "problem,side,id,x,y\n".to_owned();
    let outline = [[0.0, 0.0], [9.0, 1.0], [7.0, 6.0], [1.0, 5.0], [4.0, 9.0]];
    for p in 0..problems {
        for (k, [x, y]) in outline.iter().enumerate() {
            writeln!(text, "p{p},left,{k},{x},{y}").unwrap();
        }
        for (k, [x, y]) in outline.iter().enumerate().rev() {
            writeln!(text, "p{p},right,{k},{},{y}", x + 0.03 * (p as f64 + 1.0) * y).unwrap();
        }
    }
    text
}

/// The same as frames, and which of them belong together.
pub(crate) fn frames() -> (String, String) {
    let mut text = "frame,point,x,y\n".to_owned();
    let mut pairs = "frame_a,frame_b,split\n".to_owned();
    for f in 0..20 {
        for (k, [x, y]) in [[0.0, 0.0], [9.0, 1.0], [7.0, 6.0], [1.0, 5.0], [4.0, 9.0]].iter().enumerate() {
            writeln!(text, "{f},{k},{},{y}", x + 0.05 * f as f64 * y).unwrap();
        }
        let split = ["train", "train", "train", "validate", "test"][f % 5];
        writeln!(pairs, "{f},{},{split}", (f + 3) % 20).unwrap();
    }
    (text, pairs)
}

const FIXED: [&str; 2] = ["--set=lambda=0.01", "--set=scale=global"];

/// A folder with `train.csv`, `test.csv`, `bare.csv` without truth, and a `model.ordain` fitted on the first.
pub(crate) fn trained() -> Place {
    let place = Place::empty();
    place.write("train.csv", &edges(20, 1, true, false));
    place.write("test.csv", &edges(8, 2, true, false));
    place.write("bare.csv", &edges(8, 2, false, false));
    fit(&place, "matchmap", "model.ordain", &FIXED);
    place
}

#[test]
fn the_json_of_every_command_keeps_its_shape() {
    let place = trained();
    let (model, test, new) = (place.at("model.ordain"), place.at("test.csv"), place.at("new.ordain"));
    fit(&place, "matchmargin", "margin.ordain", &["--set=calibrate=false", "--set=null=true", "--set=lambda=0.1"]);
    let margin = place.at("margin.ordain");
    let compare = ["compare", "matchmap[lambda=0.01,scale=global]", "--cv", "4", &test, "--json"];
    let shapes = json!({
        "fit": shape(&well(&["fit", "matchmap", &place.at("train.csv"), "-o", &new, "--json", "--set=null=true"]).json()),
        "predict": shape(&well(&["predict", &model, &test, "--json"]).json_lines()[0]),
        "predict_top": shape(&well(&["predict", &model, &test, "--json", "--top=2"]).json_lines()[0]),
        "predict_check": shape(&well(&["predict", &model, &test, "--json", "--check=2"]).json_lines()[0]),
        "predict_without_probabilities": shape(&well(&["predict", &margin, &test, "--json"]).json_lines()[0]),
        "evaluate": shape(&well(&["evaluate", &model, &test, "--json", "--per-query"]).json()),
        "inspect_model": shape(&well(&["inspect", &new, "--json"]).json()),
        "inspect_data": shape(&well(&["inspect", &test, "--json"]).json()),
        "explain": shape(&well(&["explain", &model, &test, "--problem=p3", "--json"]).json()),
        "compare": shape(&well(&compare).json()),
        "convert": shape(&well(&["convert", &test, &place.at("x.tsv"), "--json"]).json()),
    });
    golden_json("matches_shapes.json", &shapes);
}

#[test]
fn a_fit_says_what_was_chosen_and_how_sums_were_found() {
    let place = trained();
    let done = fit(&place, "matchmap", "new.ordain", &[]).silent();
    for text in [
        "by hamming on 20 problems in 5 parts, each by a fit on the others: ",
        "lambda=",
        "sums over matchings by ",
        "matchmap: ",
        "edges of 20 problems; objective",
    ] {
        assert!(done.err.contains(text), "no {text:?} in\n{}", done.err);
    }
    let done = fit(&place, "matchmap", "new.ordain", &["--set=null=true", "--json"]);
    assert!(
        done.err.contains("by f1 on 20 problems in 5 parts") && done.err.contains("stays unmatched scores"),
        "{}",
        done.err
    );
    let value = done.json();
    assert_eq!(value["method"], "matchmap");
    assert!(value["null"].is_number() && value["temperature"].as_f64().is_some_and(|t| t > 0.0));
    has_fields(&value["marginals"], &["engines", "accuracy", "error"]);
    let done = fit(&place, "matchmargin", "new.ordain", &["--choose-by=nll"]).silent();
    assert!(
        done.err.contains("by nll on 20 problems in 5 parts") && done.err.contains("(the temperature)"),
        "{}",
        done.err
    );
    let value = well(&["inspect", &place.at("new.ordain"), "--json"]).json();
    assert_eq!((&value["task"], &value["chosen"]["metric"]), (&"match".into(), &"nll".into()));
    let text = well(&["inspect", &place.at("new.ordain")]).out;
    for part in ["matchmargin model", "likeness", "temperature", "trained on"] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
}

/// After a choice the null is moved and scores are divided by a temperature: the probabilities are then not those of the paper's law.
#[test]
fn inspect_says_where_probabilities_are_not_those_that_were_fitted() {
    let place = trained();
    let line = |model: &str| {
        let text = well(&["inspect", &place.at(model)]).out;
        text.lines().find(|line| line.starts_with("law ")).map(str::to_owned)
    };
    fit(&place, "matchmap", "chosen.ordain", &[]);
    fit(&place, "matchmap", "null.ordain", &["--set=null=true"]);
    fit(&place, "matchmap", "nll.ordain", &["--set=null=true", "--choose-by=nll"]);
    fit(&place, "matchmargin", "margin.ordain", &["--set=lambda=0.1"]);
    let law = "law        probabilities are not Eq. (3) of the paper, which was fitted: ";
    let divided = "scores are divided by the temperature";
    assert_eq!(line("chosen.ordain"), Some(format!("{law}{divided}")));
    assert_eq!(line("null.ordain"), Some(format!("{law}staying unmatched was moved for f1, and {divided}")));
    assert_eq!(line("nll.ordain"), Some(format!("{law}{divided}")));
    assert_eq!((line("model.ordain"), line("margin.ordain")), (None, None));
    let fixed = well(&["inspect", &place.at("model.ordain"), "--json"]).json();
    assert_eq!(fixed["temperature"], 1.0);
}

#[test]
fn problems_that_are_not_known_are_counted() {
    let place = Place::empty();
    let mut text = edges(12, 1, true, false).replace("p0,a0,b0", "p0,a0,bX");
    // nothing is known of p1, and of p2 not of its first edge
    let line = |line: &str| match line {
        line if line.starts_with("p1,") => line.trim_end_matches(['0', '1']).to_owned(),
        line if line.starts_with("p2,a1,b0,") => line.trim_end_matches(['0', '1']).to_owned(),
        line => line.to_owned(),
    };
    text = text.lines().map(|l| line(l) + "\n").collect();
    let data = place.write("t.csv", &text);
    let done = well(&[&["fit", "matchmap", &data, "-o", &place.at("m.ordain")], &FIXED[..]].concat());
    assert!(done.err.contains("left out: 1 problem, of which nobody said"), "{}", done.err);
    assert!(done.err.contains("known in part: 1 of 11 problems"), "{}", done.err);
}

#[test]
fn predictions() {
    let place = trained();
    let (model, test, bare) = (place.at("model.ordain"), place.at("test.csv"), place.at("bare.csv"));
    let done = well(&["predict", &model, &test]);
    let mut lines = done.out.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    assert_eq!(lines.next().unwrap(), ["problem", "left", "right", "score", "probability", "check", "unlikely"]);
    let rows: Vec<Vec<&str>> = lines.collect();
    // four matches and one right item that stays unmatched in each of eight problems
    assert_eq!(rows.len(), 40);
    let first: Vec<&Vec<&str>> = rows.iter().filter(|row| row[0] == "p0").collect();
    let mut checks: Vec<&str> = first.iter().map(|row| row[5]).collect();
    checks.sort_unstable();
    assert_eq!(checks, ["", "1", "2", "3", "4"]);
    let alone = first.iter().find(|row| row[1].is_empty()).unwrap();
    assert!(alone[2].starts_with('b') && alone[3].is_empty() && alone[4].parse::<f64>().unwrap() <= 1.0);
    assert_eq!(done.out, well(&["predict", &model, &bare, "--probabilities"]).out, "what is right is not looked at");
    let mut lines = well(&["predict", &model, &test, "--json"]).json_lines();
    assert_eq!((lines.len(), &lines[0]["problem"]), (8, &"p0".into()));
    assert_eq!(lines[0]["unmatched"]["right"].as_array().unwrap().len(), 1);
    assert_eq!(lines[0]["marginals"]["accuracy"], "exact");
    let all = |line: &Value| line["matches"].as_array().unwrap().clone();
    for m in lines.iter().flat_map(all) {
        assert!((0.0..=1.0).contains(&number(&m["probability"])));
    }
    for line in &mut lines {
        for m in line["matches"].as_array_mut().unwrap() {
            m.as_object_mut().unwrap().remove("margin");
        }
    }
    golden_lines("matches_predict.jsonl", &lines);
}

#[test]
fn candidates_and_what_to_check() {
    let place = trained();
    let (model, test) = (place.at("model.ordain"), place.at("test.csv"));
    let done = well(&["predict", &model, &test, "--top", "2"]);
    let rows: Vec<Vec<&str>> = done.out.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(rows[0], ["problem", "left", "right", "score", "probability", "matched"]);
    assert_eq!(rows.len(), 1 + 8 * 4 * 2);
    let chance = |row: &Vec<&str>| row[4].parse::<f64>().unwrap();
    assert!(rows[1..].chunks(2).all(|pair| pair[0][1] == pair[1][1] && chance(&pair[0]) >= chance(&pair[1])));
    let done = well(&["predict", &model, &test, "--check", "5"]);
    let rows: Vec<Vec<&str>> = done.out.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(rows[0], ["check", "problem", "left", "right", "score", "probability", "margin", "unlikely"]);
    let chances: Vec<f64> = rows[1..].iter().map(|row| row[5].parse().unwrap()).collect();
    assert!(chances.len() == 5 && chances.is_sorted());
    let all = well(&["predict", &model, &test, "--json"]).json_lines();
    let least = all.iter().flat_map(|line| line["matches"].as_array().unwrap());
    near(
        chances[0],
        (number(least.map(|m| &m["probability"]).min_by(|a, b| number(a).total_cmp(&number(b))).unwrap()) * 1e6)
            .round()
            / 1e6,
    );
}

#[test]
fn items_may_stay_unmatched() {
    let place = Place::empty();
    let train = place.write("train.csv", &edges(30, 1, true, true));
    let test = place.write("test.csv", &edges(9, 2, true, true));
    let model = place.at("m.ordain");
    well(&[&["fit", "matchmap[null=true]", &train, "-o", &model], &FIXED[..]].concat());
    let done = well(&["predict", &model, &test, "--top", "1"]);
    assert!(done.out.lines().any(|line| line.split('\t').nth(2) == Some("") && line.ends_with("\t1")), "{}", done.out);
    let value = well(&["evaluate", &model, &test, "--json"]).json();
    assert!(number(&value["metrics"]["f1"]["mean"]) > 0.7, "{value}");
    let value = well(&["explain", &model, &test, "--problem=p0", "--left=a0", "--json"]).json();
    has_fields(&value["unmatched"], &["score", "probability"]);
}

/// How a model answers where that is not what it was fitted for: by the probabilities of edges, and no match below a probability.
#[test]
fn matches_at_an_operating_point() {
    let place = Place::empty();
    let train = place.write("train.csv", &edges(60, 1, true, true));
    let test = place.write("test.csv", &edges(30, 2, true, true));
    let model = place.at("m.ordain");
    let done = well(&["fit", "matchmap[null=true]", &train, "-o", &model]);
    assert!(done.err.contains("by map, ") && done.err.contains("paired standard error"), "{}", done.err);
    let text = well(&["inspect", &model]).out;
    assert!(text.contains("\ndecides    by ") && text.contains("\nprecision  known: "), "{text}");
    let header = well(&["inspect", &model, "--json"]).json();
    has_fields(&header["decisions"], &["metric", "problems", "map", "marginals", "error"]);
    has_fields(&header["precision"][0], &["least", "matches", "right"]);
    let matches = |words: &[&str]| {
        let lines = well(&[&["predict", &model, &test, "--json"], words].concat()).json_lines();
        let all = |line: &Value| line["matches"].as_array().unwrap().clone();
        (lines.iter().flat_map(all).collect::<Vec<Value>>(), lines)
    };
    let chance = |m: &Value| number(&m["probability"]);
    let ((all, _), (sure, lines)) = (matches(&["--decide=map"]), matches(&["--decide=map", "--min-probability=.9"]));
    assert!(sure.len() < all.len() && sure.iter().all(|m| chance(m) >= 0.9));
    assert_eq!(sure.len(), all.iter().filter(|m| chance(m) >= 0.9).count());
    let free: usize = lines.iter().map(|line| line["unmatched"]["left"].as_array().unwrap().len()).sum();
    assert_eq!(free + sure.len(), 30 * 4);
    // a match is marked as text too, in the same places
    let rows = |words: &[&str]| {
        let out = well(&[&["predict", &model, &test, "--decide=map"], words].concat()).out;
        let column = if words.is_empty() { 6 } else { 7 };
        out.lines().skip(1).map(|line| line.split('\t').nth(column).unwrap().to_owned()).collect::<Vec<String>>()
    };
    let marked = all.iter().filter(|m| m["unlikely"] == true).count();
    assert_eq!(rows(&[]).iter().filter(|mark| *mark == "1").count(), marked);
    assert_eq!(rows(&["--check=1000"]).iter().filter(|mark| *mark == "1").count(), marked);
    assert_eq!(rows(&[]).iter().filter(|mark| *mark == "0").count(), all.len() - marked);
    // without a word it answers as it was fitted to
    let taken = header["settings"]["decide"].as_str().unwrap();
    let way = format!("--decide={taken}");
    assert_eq!(matches(&[]).0, matches(&[way.as_str()]).0);
    let done = well(&["predict", &model, &test, "--precision=.97"]);
    assert!(done.err.contains("such matches of validation were right"), "{}", done.err);
    let precision = |words: &[&str]| {
        let value = well(&[&["evaluate", &model, &test, "--json"], words].concat()).json();
        (number(&value["metrics"]["precision"]["mean"]), number(&value["metrics"]["recall"]["mean"]))
    };
    let (plain, sure) = (precision(&[]), precision(&["--min-probability=0.9"]));
    assert!(sure.0 > plain.0 && sure.1 < plain.1, "{plain:?} {sure:?}");
    assert!(precision(&["--decide=marginals"]).0 > 0.5);
    for (words, text) in [
        (&["--min-probability=1.5"][..], "expected a number from 0 to 1"),
        (&["--min-probability=.5", "--precision=.9"], "cannot be used with"),
        (&["--precision=0"], "above 0 and at most 1"),
        (&["--decide=hamming"], "map, marginals"),
    ] {
        ordain(&[&["predict", &model, &test], words].concat()).code(2).silent().says(text);
        ordain(&[&["evaluate", &model, &test], words].concat()).code(2).silent().says(text);
    }
    let fixed = place.at("fixed.ordain");
    well(&[&["fit", "matchmap[null=true]", &train, "-o", &fixed], &FIXED[..]].concat());
    ordain(&["predict", &fixed, &test, "--precision=.9"]).code(2).silent().says("knows how precise its matches are");
    ordain(&["evaluate", &test, "--feature=1", "--min-probability=.9"]).code(2).silent().says("cannot be used with");
    let ranker = place.at("ranker.ordain");
    let letor = place.write("rank.txt", &crate::data::letor(12, 1));
    well(&["fit", "ranksvm", &letor, "-o", &ranker, "--set=lambda=0.1", "--set=scale=query"]);
    for words in ["--min-probability=.9", "--precision=.9"] {
        ordain(&["predict", &ranker, &letor, words]).code(2).says("is for models that match; this one ranks");
    }
}

#[test]
fn metrics() {
    let place = trained();
    let (model, test) = (place.at("model.ordain"), place.at("test.csv"));
    let value = well(&["evaluate", &model, &test, "--json", "--per-query"]).json();
    golden_json("matches_evaluate.json", &value);
    assert_eq!((&value["task"], &value["unit"], &value["units"]), (&"match".into(), &"problem".into(), &8.into()));
    assert_eq!(value["per_query"][0]["problem"], "p0");
    let mean = |name: &str| number(&value["metrics"][name]["mean"]);
    near(mean("hamming"), 1.0 - mean("accuracy"));
    let done = well(&["evaluate", &model, &test]);
    for text in ["hamming", "ece", "8 problems, none left out", "how probabilities of edges come true:", "observed"] {
        assert!(done.out.contains(text), "no {text:?} in\n{}", done.out);
    }
    assert!(!done.out.contains("convention"));
    let bins = value["calibration"]["bins"].as_array().unwrap();
    has_fields(&bins[0], &["low", "high", "edges", "predicted", "observed"]);
    well(&["evaluate", &model, &place.at("train.csv")]).says("note: these are the data that the model was trained on");
    fit(&place, "matchmargin", "bare.ordain", &["--set=calibrate=false", "--set=lambda=0.1"]);
    let bare = place.at("bare.ordain");
    let value = well(&["evaluate", &bare, &test, "--json"]).json();
    assert!(value["metrics"].get("nll").is_none() && value["metrics"].get("f1").is_some());
    ordain(&["evaluate", &bare, &test, "--metric=nll"]).code(2).silent().says("has no probabilities (calibrate=false)");
    ordain(&["predict", &bare, &test, "--probabilities"]).code(2).silent().says("calibrate=false");
    ordain(&["evaluate", &model, &place.at("bare.csv")]).code(1).silent().says("a column matched");
}

#[test]
fn one_feature_is_measured_by_itself() {
    let place = trained();
    let (test, metric) = (place.at("test.csv"), "--metric=accuracy");
    let mean = |feature: &str| {
        number(&well(&["evaluate", &test, feature, metric, "--json"]).json()["metrics"]["accuracy"]["mean"])
    };
    assert!(mean("--feature=likeness") > 0.5);
    assert!(mean("--feature=-distance") > mean("--feature=distance"), "of a distance the least counts");
    let value = well(&["evaluate", &test, "--feature=1", "--json"]).json();
    assert!(value["metrics"].get("nll").is_none() && value["metrics"].get("hamming").is_some());
    ordain(&["evaluate", &test, "--feature=likenes"]).code(1).says("did you mean \"likeness\"?");
}

#[test]
fn explanations_add_up() {
    let place = trained();
    let (model, test) = (place.at("model.ordain"), place.at("test.csv"));
    let text = well(&["explain", &model, &test, "--problem", "p3", "--left", "a1"]).out;
    golden("matches_explain.txt", &calm_text(&text, place.path()));
    let value = well(&["explain", &model, &test, "--query=p3", "--left=a1", "--json"]).json();
    let sum: f64 = value["contributions"].as_array().unwrap().iter().map(|c| number(&c["contribution"])).sum();
    near(sum, number(&value["difference"]));
    near(number(&value["difference"]), number(&value["above"]["score"]) - number(&value["below"]["score"]));
    assert_eq!(value["above"]["right"], value["match"]);
    let said = &well(&["predict", &model, &test, "--json"]).json_lines()[3];
    let doubtful = said["matches"].as_array().unwrap().iter().find(|m| m["check"] == 1).unwrap();
    let value = well(&["explain", &model, &test, "--problem=p3", "--json"]).json();
    assert_eq!(value["left"], doubtful["left"]);
    ordain(&["explain", &model, &test, "--problem=p3", "--left=a9"]).code(1).says("unknown left item");
    ordain(&["explain", &model, &test, "--problem=x"]).code(1).says("unknown problem");
    let words = ["explain", &model, &test, "--problem=p3", "--left=a1", "--above=b1", "--below=b1"];
    ordain(&words).code(2).says("name the same right item");
}

#[test]
fn the_best_candidate_of_one_may_be_needed_by_another() {
    let place = Place::empty();
    let mut text = "problem,left,right,likeness,matched\n".to_owned();
    for p in 0..6 {
        writeln!(text, "p{p},a,x,0.9,1\np{p},a,y,0.1,0\np{p},b,x,0.8,0\np{p},b,y,0.5,1").unwrap();
    }
    let (data, model) = (place.write("t.csv", &text), place.at("m.ordain"));
    well(&["fit", "matchmap[lambda=0.01,scale=none]", &data, "-o", &model]);
    let done = well(&["explain", &model, &data, "--problem=p0", "--left=b"]);
    assert!(done.out.contains("left item b is matched with y"), "{}", done.out);
    assert!(
        done.out.contains("its best candidate alone would be x")
            && done.out.contains("but left item a needs that more"),
        "{}",
        done.out
    );
    let value = well(&["explain", &model, &data, "--problem=p0", "--left=b", "--json"]).json();
    assert_eq!((&value["taken"]["right"], &value["taken"]["by"]), (&"x".into(), &"a".into()));
}

#[test]
fn what_a_table_holds() {
    let place = trained();
    let text = well(&["inspect", &place.at("test.csv")]).out;
    golden("matches_inspect_data.txt", &calm_text(&text, place.path()));
    let value = well(&["inspect", &place.at("test.csv"), "--json"]).json();
    assert_eq!((&value["task"], &value["unit"], &value["units"]), (&"match".into(), &"problem".into(), &8.into()));
    assert_eq!((&value["left"]["max"], &value["right"]["max"], &value["matched"]), (&4.into(), &5.into(), &32.into()));
    assert_eq!(value["unmatched"], json!({"left": 0, "right": 8}));
    assert!(well(&["inspect", &place.at("bare.csv")]).out.contains("does not say what is matched"));
}

#[test]
fn methods_are_compared() {
    let place = trained();
    let (train, test) = (place.at("train.csv"), place.at("test.csv"));
    let methods = [
        "matchmap[lambda=0.01,scale=global]",
        "matchmargin[lambda=0.01,scale=global]",
        "matchmap[null=true,lambda=0.01,scale=global]",
    ];
    let report = place.at("report.html");
    let words =
        [&["compare"], &methods[..], &["--train", &train, "--test", &test, "--json", "--report", &report]].concat();
    let value = well(&words).json();
    crate::compare::check(&value, 3, 1);
    assert_eq!((&value["task"], &value["unit"], &value["units"]), (&"match".into(), &"problem".into(), &8.into()));
    assert_eq!(value["methods"][0]["support"], 2);
    has_fields(&value["methods"][0]["calibration"]["bins"][0], &["edges", "predicted", "observed"]);
    golden_json("matches_compare.json", &value);
    let page = place.read("report.html");
    assert!(page.contains("Can the probabilities be trusted?") && page.contains("8 test problems"));
    assert!(!page.contains("by the convention") && !page.contains("document"), "words of another task");
    let text = well(&["compare", methods[0], methods[1], "--cv", "4", &train]).out;
    for part in [
        "differences in hamming, paired by problem",
        "probabilities of edges",
        "20 test problems",
        "less is better: hamming, nll, ece",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    assert!(!text.contains("chosen by validation"), "nothing was left open:\n{text}");
    let bare = "matchmargin[calibrate=false,lambda=0.1]";
    let value = well(&["compare", methods[0], bare, "--cv", "4", &train, "--json"]).json();
    assert!(value["methods"][0]["metrics"].get("nll").is_none());
    ordain(&["compare", methods[0], bare, "--cv", "4", &train, "--metric=ece"]).code(2).says("has no probabilities");
    ordain(&["compare", methods[0], "--folds", "."]).code(2).says("--folds reads the layouts of ranking data");
    ordain(&["compare", methods[0], "cstar", "--cv", "4", &train])
        .code(2)
        .says("matchmap, which matches, and cstar, which annotates");
    ordain(&["compare", methods[0]]).code(2).says("--train POINTS --pairs FILE");
    ordain(&["compare", methods[0], "--train", &train]).code(2).says("--test FILE");
}

#[test]
fn points_are_matched_by_features_made_of_them() {
    let place = Place::empty();
    let (train, test) = (place.write("train.csv", &points(8)), place.write("test.csv", &points(3)));
    let model = place.at("m.ordain");
    let words = [&["fit", "matchmap", &train, "-o", &model, "--features", "coordinates,degree"], &FIXED[..]].concat();
    well(&words);
    let report = place.at("r.html");
    // the model knows what it was fitted on
    let value = well(&["evaluate", &model, &test, "--json", "--report", &report]).json();
    assert!(number(&value["metrics"]["accuracy"]["mean"]) > 0.9, "{value}");
    let page = place.read("r.html");
    assert!(
        page.contains("<h2>Matches</h2>") && page.contains("class=\"strand c0 d0\"") && page.contains("class=\"mesh\"")
    );
    ordain(&["evaluate", &model, &test, "--point-features=degree"]).code(2).says("leave out --point-features");
    let out = place.at("edges.csv");
    well(&["convert", &test, &out, "--features=coordinates"]).says("wrote 75 edges of 3 problems");
    assert!(place.read("edges.csv").starts_with("problem,left,right,dx,dy,dx2,dy2,matched\n"));
    ordain(&[&words[..5], &["--point-features=coordinate"]].concat()).code(2).says("did you mean \"coordinates\"?");
}

#[test]
fn pairs_of_frames_have_their_split() {
    let place = Place::empty();
    let (points, pairs) = frames();
    let (points, pairs) = (place.write("points.csv", &points), place.write("pairs.csv", &pairs));
    let (model, features) = (place.at("m.ordain"), "--features=coordinates");
    let done = well(&["fit", "matchmap", &points, "--pairs", &pairs, features, "-o", &model]);
    assert!(done.err.contains("by hamming on 4 problems") && done.err.contains("edges of 16 problems"), "{}", done.err);
    let value = well(&["evaluate", &model, &points, "--pairs", &pairs, "--json"]).json();
    assert_eq!(value["units"], 4);
    assert_eq!(well(&["predict", &model, &points, "--pairs", &pairs, "--json"]).json_lines().len(), 20);
    let words = ["compare", "matchmap[lambda=0.01]", "--train", &points, "--pairs", &pairs, features, "--json"];
    assert_eq!(well(&words).json()["units"], 4);
    let words = ["compare", "matchmap[lambda=0.01]", "--cv", "4", &points, "--pairs", &pairs, features, "--json"];
    assert_eq!(well(&words).json()["units"], 20);
    let out = place.at("out.csv");
    well(&["convert", &points, &out]).says("the shape contexts of 100 points");
    assert!(place.read("out.csv").starts_with("frame,point,s0,s1,"));
    well(&["convert", &points, &out, "--pairs", &pairs, features]).says("wrote 500 edges of 20 problems");
    ordain(&["convert", &points, &out, features]).code(2).says("with --pairs FILE");
    let words = ["fit", "matchmap", &points, "-o", &model];
    ordain(&words).code(1).says("--pairs FILE");
    ordain(&[&words[..], &["--pairs", "gone.csv"]].concat()).code(1).says("gone.csv");
    ordain(&[&words[..], &["--pairs", &pairs, "--valid", &points]].concat()).code(2).says("leave out --valid");
}

#[test]
fn tables_are_converted_and_packed() {
    let place = trained();
    let (test, packed, back) = (place.at("test.csv"), place.at("t.tsv.gz"), place.at("back.csv.zst"));
    well(&["convert", &test, &packed]).says("edges of 8 problems");
    well(&["convert", &packed, &back]);
    let plain = place.at("plain.csv");
    well(&["convert", &back, &plain]);
    let lines = |text: &str| text.lines().count();
    assert_eq!(lines(&place.read("plain.csv")), lines(&place.read("test.csv")));
    let model = place.at("model.ordain");
    assert_eq!(well(&["predict", &model, &packed]).out, well(&["predict", &model, &test]).out);
}

#[test]
fn what_is_wrong_is_said() {
    let place = trained();
    let (train, test, model) = (place.at("train.csv"), place.at("test.csv"), place.at("new.ordain"));
    let head = "problem,left,right,likeness,matched\n";
    let refused = |name: &str, rows: &str, says: &[&str]| {
        let data = place.write(name, &format!("{head}{rows}"));
        let done = ordain(&["fit", "matchmap", &data, "-o", &model]).code(1).silent();
        says.iter().for_each(|text| assert!(done.err.contains(text), "no {text:?} in\n{}", done.err));
    };
    refused("twice.csv", "p,a,x,0.9,1\np,a,x,0.8,0\n", &["twice.csv:3"]);
    refused("two.csv", "p,a,x,0.9,1\np,a,y,0.8,1\n", &["two.csv:3"]);
    refused("few.csv", "p7,a,x,0.9,1\np7,b,x,0.8,0\np7,b,y,0.1,0\n", &["\"p7\"", "null=true", "\"b\""]);
    // what no matching can satisfy is named when it is met, not thresholded away
    let good: String = (0..6).map(|p| format!("p{p},a,x,0.9,1\np{p},a,y,0.1,0\np{p},b,y,0.5,1\n")).collect();
    let good = place.write("good.csv", &format!("{head}{good}"));
    well(&["fit", "matchmap[lambda=0.01,scale=none]", &good, "-o", &model]);
    let rows = "p8,one,x,0.9,\np8,other,x,0.8,\np8,third,y,0.8,\np8,third,z,0.8,\n";
    let tight = place.write("tight.csv", &format!("{head}{rows}"));
    let done = ordain(&["predict", &model, &tight]).code(1).silent();
    assert!(done.err.contains("problem \"p8\"") && done.err.contains("null=true"), "{}", done.err);
    assert!(done.err.contains("\"one\"") || done.err.contains("\"other\""), "names the item: {}", done.err);
    for (words, text) in [
        (&["--metric=ndcg@10"][..], "expected a metric of matches"),
        (&["--metric=bep"], "expected a metric of matches"),
        (&["--metric=nlll"], "did you mean \"nll\"?"),
    ] {
        let at = place.at("model.ordain");
        ordain(&[&["evaluate", &at, &test], words].concat()).code(2).silent().says(text);
        ordain(&[&["compare", "matchmap", "--cv", "3", "nowhere.csv"], words].concat()).code(2).silent().says(text);
    }
    ordain(&["fit", "matchmap", "nowhere.csv", "-o", &model, "--choose-by=map"])
        .code(2)
        .says("--choose-by: expected a metric of matches");
    ordain(&["compare", "ranksvm", "--cv", "3", "nowhere.txt", "--metric=nll"]).code(2).says("a metric of rankings");
    ordain(&["compare", "cstar", "--cv", "3", "nowhere.txt", "--metric=accuracy"]).code(2).says("a metric of labels");
    ordain(&["fit", "matchmap", &train, "-o", &model, "--resume"]).code(2).says("--resume");
    ordain(&["fit", "matchmap", &train, "-o", &model, "--set=marginal=exact"])
        .code(2)
        .says("did you mean \"marginals\"?");
    ordain(&["predict", &place.at("model.ordain"), &test, "--run=x"]).code(2).says("--run is for models that rank");
}

#[test]
fn files_of_another_task_are_refused() {
    let place = trained();
    let (test, model, new) = (place.at("test.csv"), place.at("model.ordain"), place.at("new.ordain"));
    let letor = place.write("rank.txt", &crate::data::letor(12, 1));
    let tags = place.write("tags.csv", "id,a,b,labels\n1,0.5,0.1,sea\n2,0.1,0.2,sky;sea\n3,0.3,0.2,\n");
    let sides = "two sides with edges between them";
    ordain(&["fit", "ranksvm", &test, "-o", &new]).code(1).says("because ranksvm ranks").says(sides);
    ordain(&["fit", "cstar", &test, "-o", &new]).code(1).says("because cstar annotates").says(sides);
    ordain(&["fit", "matchmap", &letor, "-o", &new])
        .code(1)
        .says("because matchmap matches")
        .says("queries with documents");
    ordain(&["fit", "matchmap", &tags, "-o", &new]).code(1).says("because matchmap matches").says("items with labels");
    ordain(&["predict", &model, &letor]).code(1).says("because this model matches").says("queries with documents");
    ordain(&["evaluate", &model, &tags]).code(1).says("because this model matches").says("items with labels");
    ordain(&["compare", "ranksvm", "--cv", "3", &test]).code(1).says(sides);
    let ranker = place.at("ranker.ordain");
    well(&["fit", "ranksvm", &letor, "-o", &ranker, "--set=lambda=0.1", "--set=scale=query"]);
    ordain(&["predict", &ranker, &test]).code(1).says("because this model ranks").says(sides);
    ordain(&["evaluate", &ranker, &test]).code(1).says("because this model ranks").says(sides);
    ordain(&["predict", &ranker, &letor, "--check=3"]).code(2).says("--check is for models that match");
    ordain(&["explain", &ranker, &letor, "--query=q1", "--left=x"]).code(2).says("--left is for models that match");
    ordain(&["fit", "ranksvm", &letor, "-o", &new, "--point-features=degree"])
        .code(2)
        .says("--point-features is for points");
    ordain(&["simulate", &model, &tags]).code(1);
    ordain(&["evaluate", &test, "--scores=x"]).code(2).says("--scores is for rankings and labels");
    let annotator = place.at("annotator.ordain");
    let items: String =
        (0..30).map(|i| format!("{i},{},{},{}\n", i % 7, i % 3, ["sea", "sky;sea", ""][i % 3])).collect();
    let items = place.write("items.csv", &format!("id,a,b,labels\n{items}"));
    well(&["fit", "independent", &items, "-o", &annotator]);
    ordain(&["predict", &annotator, &test]).code(1).says("because this model annotates").says(sides);
}

#[test]
fn approximate_probabilities_are_told() {
    // which engines are approximate is for the library to say: here only that the words reach a person
    let place = trained();
    let model = place.at("rough.ordain");
    let done =
        fit(&place, "matchmap", "rough.ordain", &["--set=marginals=bethe", "--set=lambda=0.1", "--set=scale=global"]);
    let lines = well(&["predict", &model, &place.at("test.csv"), "--json"]);
    let rough = lines.json_lines().iter().any(|line| line["marginals"]["accuracy"] == "approximate");
    assert_eq!(rough, lines.err.contains("warning: probabilities are approximate, found by"), "{}", lines.err);
    assert_eq!(rough, done.err.contains("warning: sums over matchings by"), "{}", done.err);
    let done = well(&["evaluate", &model, &place.at("test.csv")]);
    assert_eq!(rough, done.err.contains("warning: probabilities are approximate, found by"), "{}", done.err);
    let done = well(&["evaluate", &model, &place.at("test.csv"), "--metric=hamming"]);
    assert!(!done.err.contains("approximate"), "no probability was asked for");
}

/// What `demo match` says and writes into a folder; it is run once, as a part of `demo all`.
pub(crate) fn the_demo_shows_what_learning_is_worth(place: &Place, done: &Done, folder: &str) {
    let after = |text: &str| {
        let at = done.err.find(text).unwrap_or_else(|| panic!("no {text:?} in\n{}", done.err)) + text.len();
        let word = done.err[at..].split_whitespace().next().unwrap();
        word.trim_end_matches(',').parse::<f64>().unwrap()
    };
    let (plain, learned) = (after("matched wrongly: "), after("as they are, "));
    assert!(learned < plain, "{learned} is not below {plain}");
    assert!(after("a precision of ") > 0.8 && after("a recall of ") > 0.8);
    let page = place.read(&format!("{folder}/report.html"));
    assert!(page.contains("<h2>Matches</h2>") && page.contains("class=\"strand c0 d0\""));
    // every command that it names works
    let commands = done.err.lines().filter_map(|line| line.trim().strip_prefix("ordain "));
    let commands: Vec<&str> = commands.filter(|words| words.contains(folder)).collect();
    assert_eq!(commands.len(), 6, "{}", done.err);
    for command in commands {
        assert!(!well(&command.split(' ').collect::<Vec<_>>()).out.is_empty(), "{command}");
    }
}
