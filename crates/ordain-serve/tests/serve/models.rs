//! Models that change while they are served: read again, watched, and learned from answers.

use super::{Server, config, fitted, scenes, session};
use ordain::answer::{Answers as _, Want};
use ordain::data::synthetic::{Linkage, Scenes, Synthetic};
use ordain::data::{LabelSet, MatchSet, Problem, Truth, write_matches};
use ordain::method::{CStar, Match, MatchMethod, Rank, RankSvm};
use ordain::model_file;
use ordain::task::Model as _;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

/// Takes words for the person who runs a server.
fn heard(config: &mut ordain_serve::Config) -> Receiver<String> {
    let (tell, told) = channel();
    let tell = Mutex::new(tell);
    config.say = Arc::new(move |text| drop(tell.lock().unwrap().send(text.to_owned())));
    told
}

fn version(server: &Server, model: &str) -> Value {
    server.get(&format!("/api/v1/models/{model}")).well()["version"].clone()
}

#[test]
fn a_file_that_changes_is_read_again_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let set = Synthetic { queries: 20, ..Synthetic::default() }.make();
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    fitted(&RankSvm::default(), &set, &one);
    fitted(&RankSvm::default(), &set, &two);
    let mut config = config(vec![("one".into(), one.clone()), ("two".into(), two)]);
    let told = heard(&mut config);
    let server = Server::new(config);
    let said = || told.try_iter().collect::<Vec<_>>();
    let before = version(&server, "one");
    server.service.look();
    assert!(said().is_empty());
    let units: Vec<u32> = (0..15).collect();
    fitted(&RankSvm::default(), &set.only(&units), &one);
    server.service.look();
    let [words] = &said()[..] else { panic!("expected one line") };
    assert!(words.starts_with("one: ") && words.contains("in the place of"), "{words}");
    let after = version(&server, "one");
    assert_ne!(before, after);
    // half a file is said once, and leaves the model where it is
    let whole = std::fs::read(&one).unwrap();
    std::fs::write(&one, &whole[..whole.len() / 2]).unwrap();
    server.service.look();
    server.service.look();
    let [words] = &said()[..] else { panic!("expected one line") };
    assert!(words.starts_with("warning: one: "), "{words}");
    std::fs::write(&one, &whole).unwrap();
    server.service.look();
    assert_eq!(version(&server, "one"), after);
    assert_eq!(said(), ["one: the file holds the same model"]);
}

/// Whatever model is in the place, an answer is that of the version which it names.
#[test]
fn no_answer_mixes_two_models() {
    let folder = tempfile::tempdir().unwrap();
    let set = Synthetic { queries: 20, ..Synthetic::default() }.make();
    let files = ["a", "b"].map(|name| folder.path().join(name));
    let (mut expected, mut bytes) = (HashMap::new(), vec![]);
    for (file, units) in files.iter().zip([0..10u32, 10..20]) {
        fitted(&RankSvm::default(), &set.only(&units.collect::<Vec<_>>()), file);
        let fitted = model_file::load::<Rank>(file).unwrap();
        let ready = fitted.model.prepare(&set).unwrap();
        let lists = Rank::predict(&fitted.model, &ready, &[0, 1], Want::default()).unwrap();
        let lists: Value = serde_json::from_str(&serde_json::to_string(&lists).unwrap()).unwrap();
        bytes.push(std::fs::read(file).unwrap());
        let server = Server::new(config(vec![("m".into(), file.clone())]));
        expected.insert(version(&server, "m").as_str().unwrap().to_owned(), lists);
    }
    let served = folder.path().join("m");
    std::fs::write(&served, &bytes[0]).unwrap();
    let server = Server::new(config(vec![("m".into(), served.clone())]));
    let item = |row: usize| {
        let values: Vec<f32> = (0..set.features.cols()).map(|j| set.features.value(row, j)).collect();
        json!({"id": set.document(row), "row": values})
    };
    let queries: Vec<Value> =
        [0, 1].map(|q| json!({"id": set.query(q), "items": set.span(q).map(item).collect::<Vec<_>>()})).to_vec();
    let body = json!({"queries": queries});
    let mut seen = HashMap::new();
    std::thread::scope(|scope| {
        let (done, ended) = channel::<()>();
        let service = &server.service;
        let (bytes, served) = (&bytes, &served);
        scope.spawn(move || {
            for n in 1.. {
                if ended.try_recv() != Err(std::sync::mpsc::TryRecvError::Empty) {
                    return;
                }
                std::fs::write(served, &bytes[n % 2]).unwrap();
                service.reload();
            }
        });
        // until both were seen many times
        while seen.len() < 2 || seen.values().any(|count| *count < 20) {
            let said = server.post("/api/v1/models/m/rank", &body).well();
            let version = said["version"].as_str().unwrap();
            assert_eq!(said["queries"], expected[version], "{version}");
            *seen.entry(version.to_owned()).or_insert(0) += 1;
        }
        drop(done);
    });
}

/// Items that have no labels in their file, and a model of the first of them, but of none that is held out.
fn few(folder: &Path, learned_from: u32) -> LabelSet {
    let set = Scenes { items: 60, labels: 12, ..Scenes::default() }.make();
    let bare = set.with_labels(vec![vec![]; 60], vec![vec![]; 60]).unwrap();
    ordain::data::write_labels(&bare, &folder.join("items.csv")).unwrap();
    let units: Vec<u32> = (0..learned_from).filter(|unit| unit % 5 != 4).collect();
    fitted(&CStar::independent(), &set.only(&units), &folder.join("model"));
    set
}

/// Answers on all labels of the first items; the truth, or of items that are not held out the contrary.
fn told_all(server: &Server, set: &LabelSet, items: usize, truth: bool) -> usize {
    for item in 0..items {
        for (label, name) in (0..).zip(&set.labels) {
            let yes = set.yes(item).contains(&label) == (truth || item % 5 == 4);
            let body = json!({"item": set.item(item), "label": name, "answer": yes, "asked": false});
            server.post("/api/v1/answers", &body).well();
        }
    }
    items * set.labels.len()
}

#[test]
fn what_is_learned_from_answers_takes_the_place_of_the_model_if_it_is_not_worse() {
    let folder = tempfile::tempdir().unwrap();
    let set = few(folder.path(), 9);
    let mut told = None;
    let labels = set.labels.len();
    let server = session(folder.path(), |config| {
        config.labelling.as_mut().unwrap().labels = Some(set.labels.join(","));
        config.labelling.as_mut().unwrap().learn = Some(30 * labels);
        config.label_studio = Some(ordain_serve::LabelStudio::default());
        told = Some(heard(config));
    });
    let before = version(&server, "model");
    told_all(&server, &set, 30, true);
    let told = told.unwrap();
    let said = told.recv().unwrap();
    assert!(said.contains("learned from the answers on 30: f1"), "{said}");
    let after = version(&server, "model");
    assert_ne!(before, after);
    assert!(said.contains(&format!("\"model_version\":\"model@{}\"", after.as_str().unwrap())), "{said}");
    // the page knows, and what is saved is what is served
    assert_eq!(server.get("/api/v1/session").well()["version"], format!("model@{}", after.as_str().unwrap()));
    let saved = Server::new(config(vec![("model".into(), folder.path().join("model.learned.ordain"))]));
    assert_eq!(version(&saved, "model"), after);
    // the file of the model is as it was, so it does not come back
    server.service.reload();
    server.service.look();
    assert_eq!(version(&server, "model"), after);
    fitted(&CStar::independent(), &set, &folder.path().join("model"));
    server.service.reload();
    let said: Vec<String> = told.try_iter().collect();
    assert!(![&before, &after].contains(&&version(&server, "model")), "{said:?}");
}

#[test]
fn what_is_worse_on_answers_that_were_held_out_is_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let set = few(folder.path(), 60);
    let mut told = None;
    let labels = set.labels.len();
    let server = session(folder.path(), |config| {
        config.labelling.as_mut().unwrap().labels = Some(set.labels.join(","));
        config.labelling.as_mut().unwrap().learn = Some(20 * labels);
        told = Some(heard(config));
    });
    let before = version(&server, "model");
    told_all(&server, &set, 20, false);
    let said = told.unwrap().recv().unwrap();
    assert!(said.contains("what was learned is worse"), "{said}");
    assert_eq!(version(&server, "model"), before);
    assert!(!folder.path().join("model.learned.ordain").exists());
}

/// What a session says after all these answers, with data that teach beside them.
fn taught(folder: &Path, answers: Vec<Value>) -> String {
    let mut told = None;
    let server = session(folder, |config| {
        let own = config.labelling.as_mut().unwrap();
        own.teach = Some(folder.join("teach.csv"));
        own.learn = Some(answers.len());
        told = Some(heard(config));
    });
    for body in answers {
        server.post("/api/v1/answers", &body).well();
    }
    told.unwrap().recv().unwrap()
}

/// Answers that are the truth, beside the truth of the other queries: the model is that of a fit on all of it.
#[test]
fn rankings_are_learned_from_grades_and_from_what_was_known() {
    let folder = tempfile::tempdir().unwrap();
    let set = Synthetic { queries: 20, ..Synthetic::default() }.make();
    let units = |range: std::ops::Range<u32>| range.collect::<Vec<u32>>();
    ordain::data::write(&set.only(&units(0..12)), &folder.path().join("items.csv")).unwrap();
    ordain::data::write(&set.only(&units(12..20)), &folder.path().join("teach.csv")).unwrap();
    let method: ordain::method::RankMethod = "ranksvm[lambda=1]".parse().unwrap();
    // a model of everything the wrong way round
    let mut wrong = set.only(&[12]);
    wrong.grades.iter_mut().for_each(|grade| *grade = 4.0 - *grade);
    fitted(&method, &wrong, &folder.path().join("model"));
    let mut answers = vec![];
    for q in 0..12 {
        for row in set.span(q) {
            let grade = set.grades[row] as u8;
            answers.push(json!({"item": set.query(q), "doc": set.document(row), "answer": grade}));
        }
    }
    let said = taught(folder.path(), answers);
    assert!(said.contains("learned from the answers on 20: ndcg@10"), "{said}");
    let learned = model_file::load::<Rank>(&folder.path().join("model.learned.ordain")).unwrap();
    fitted(&method, &set, &folder.path().join("all"));
    assert_eq!(learned.model, model_file::load::<Rank>(&folder.path().join("all")).unwrap().model);
}

#[test]
fn matchings_are_learned_from_answers_and_from_what_was_known() {
    let folder = tempfile::tempdir().unwrap();
    let set = Linkage { problems: 16, ..Linkage::default() }.make();
    let (first, last): (Vec<u32>, Vec<u32>) = set.all().into_iter().partition(|p| *p < 11);
    let mut bare = set.only(&first);
    let problems = bare.problems().iter();
    let blank = problems.map(|p| Problem { truth: vec![Truth::Unknown; p.edges.len()], ..p.clone() }).collect();
    bare = MatchSet::new(bare.features.clone(), bare.columns.clone(), blank).unwrap();
    write_matches(&bare, &folder.path().join("items.csv")).unwrap();
    write_matches(&set.only(&last), &folder.path().join("teach.csv")).unwrap();
    let method: MatchMethod = "matchmap[null=true,lambda=1]".parse().unwrap();
    fitted(&method, &set.only(&last[..2]), &folder.path().join("model"));
    let mut answers = vec![];
    for p in 0..11 {
        let problem = set.problem(p);
        for (&(i, j), truth) in problem.edges.iter().zip(&problem.truth) {
            let (left, right) = (&problem.left[i as usize], &problem.right[j as usize]);
            answers.push(json!({"item": problem.name, "left": left, "right": right, "answer": *truth == Truth::Yes}));
        }
    }
    let said = taught(folder.path(), answers);
    assert!(said.contains("learned from the answers on 16: f1"), "{said}");
    let learned = model_file::load::<Match>(&folder.path().join("model.learned.ordain")).unwrap();
    fitted(&method, &set, &folder.path().join("all"));
    assert_eq!(learned.model, model_file::load::<Match>(&folder.path().join("all")).unwrap().model);
}

#[test]
fn a_place_that_holds_something_else_is_not_learned_to() {
    let folder = tempfile::tempdir().unwrap();
    scenes(folder.path());
    std::fs::write(folder.path().join("model.learned.ordain"), "a letter").unwrap();
    let mut config = config(vec![("model".into(), folder.path().join("model"))]);
    config.labelling = Some(session_of(folder.path()));
    let refused = ordain_serve::Service::new(config).err().unwrap().to_string();
    assert!(refused.contains("model.learned.ordain") && refused.contains("no model"), "{refused}");
}

fn session_of(folder: &Path) -> ordain_serve::Labelled {
    ordain_serve::Labelled {
        items: folder.join("items.csv"),
        labels: None,
        answers: folder.join("answers.jsonl"),
        show: vec![],
        media: None,
        records: None,
        strategy: ordain::ask::Strategy::Entropy,
        blind: false,
        overlap: 1,
        target: 0.95,
        learn: Some(10),
        teach: None,
    }
}
