//! Damaged model files of all tasks: refused, or the same model. Behind a right checksum: refused, or a model that gives finite
//! numbers or an error, and that is written as the bytes it was read from.

use super::memory;
use super::mutate;
use super::suite::{Check, Suite, clear, damage, ensure};
use ordain::Error;
use ordain::data::synthetic::Synthetic;
use ordain::data::{Missing, RankSet};
use ordain::method::{Rank, RankMethod};
use ordain::model_file::{self, AnyModel};
use ordain::random::Random;
use ordain::solver::run::Watch;
use ordain::task::{Fitted, Method, Model, Task, Training};
use serde_json::{Value, json};
use std::path::Path;

const PATH: &str = "some/model.ordain";

/// Rankers whose files differ in kind.
const METHODS: [&str; 12] = [
    "ranksvm[scale=global,lambda=1]",
    "ranksvm[kernel=rbf,scale=global,lambda=0.01,gamma=1,documents=9]",
    "ballrank[scale=query,lambda=0.01,gamma=1,blocks=true,epsilon=0.1]",
    "quadrank[places=2,core=2,scale=query,lambda=0.1]",
    LINKED,
    FIELD,
    "ranksvm[transform=quantile,scale=global,lambda=1]",
    "ranksvm[scorer=trees,scale=global,lambda=1,rounds=2]",
    "ranknet[scale=global,lambda=0.1,hidden=2]",
    "rankboost[rounds=3]",
    "ccrf[scale=query]",
    "rankmatch[places=2,scale=query,lambda=1]",
];

/// With links between documents.
const LINKED: &str = "quadrank[places=2,core=1,scale=none,lambda=0.1]";
const FIELD: &str = "ccrf[max_iter=5]";

#[cfg(test)]
fn small() -> (RankSet, Fitted<Rank>) {
    made(METHODS[0])
}

fn made(method: &str) -> (RankSet, Fitted<Rank>) {
    let set = Synthetic { queries: 12, documents: (3, 6), features: 4, ..Synthetic::default() }.make();
    // items that queries share, for the one that links them
    let names: Vec<String> = (0..set.len())
        .flat_map(|q| set.span(q).map(move |row| (row, q)))
        .map(|(row, q)| format!("i{}", row - set.span(q).start))
        .collect();
    let mut set = set.with_documents(&names).expect("a name each");
    if method == LINKED || method == FIELD {
        let firsts: Vec<usize> = (0..set.len()).map(|q| set.span(q).start).collect();
        let pairs: Vec<(usize, usize)> = firsts.iter().flat_map(|&a| [(a, a + 1), (a + 2, a)]).collect();
        let values: Vec<f64> = (0..2 * pairs.len()).map(|at| (at as f64).sin().abs()).collect();
        set = set.with_pairs(vec!["near".into(), "far".into()], &pairs, &values).expect("pairs");
    }
    let method: RankMethod = method.parse().expect("a method");
    let train = set.all();
    let filled = set.fill(Missing::Mean, &train);
    let training = Training { filled, ..Training::new(&set, &train) };
    let model = method.fit(&training, &Watch::NOBODY).expect("a model");
    // what is in the file, as far as JSON keeps it
    let model = model_file::from_bytes(&model_file::to_bytes(&model), Path::new(PATH)).expect("a model");
    (set, model)
}

/// The parts of a model file: the JSON of safetensors, and the bytes of the tensors.
fn parts(file: &[u8]) -> (Value, Vec<u8>) {
    let len = u64::from_le_bytes(*file.first_chunk().expect("a length")) as usize;
    (serde_json::from_slice(&file[8..8 + len]).expect("JSON"), file[8 + len..].to_vec())
}

/// A model file of these parts.
fn joined(json: &Value, tensors: &[u8]) -> Vec<u8> {
    let mut head = serde_json::to_vec(json).expect("JSON");
    head.resize(head.len().next_multiple_of(8), b' ');
    [&(head.len() as u64).to_le_bytes()[..], &head, tensors].concat()
}

/// The header of ordain inside of the JSON of safetensors.
fn header(json: &Value) -> Value {
    serde_json::from_str(json["__metadata__"]["ordain"].as_str().expect("a header")).expect("JSON")
}

fn set_header(json: &mut Value, header: &Value) {
    json["__metadata__"]["ordain"] = header.to_string().into();
}

/// Gives forged parts a right checksum, so that what lies behind it is tested too.
fn sealed(json: &Value, header: &Value, tensors: &[u8]) -> Vec<u8> {
    let (mut json, mut header) = (json.clone(), header.clone());
    header["checksum"] = "0".repeat(64).into();
    let text = header.to_string();
    let mut hash = blake3::Hasher::new();
    hash.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
    let mut names: Vec<&String> =
        json.as_object().expect("an object").keys().filter(|k| *k != "__metadata__").collect();
    names.sort();
    for name in names {
        let tensor = &json[name];
        let (dtype, shape) = (tensor["dtype"].as_str().unwrap_or(""), tensor["shape"].as_array().cloned());
        let shape: Vec<u64> = shape.unwrap_or_default().iter().filter_map(Value::as_u64).collect();
        let at = |k: usize| tensor["data_offsets"][k].as_u64().unwrap_or(0) as usize;
        hash.update(format!("\n{name} {dtype} {shape:?}\n").as_bytes());
        hash.update(tensors.get(at(0)..at(1)).unwrap_or(&[]));
    }
    header["checksum"] = hash.finalize().to_hex().to_string().into();
    set_header(&mut json, &header);
    joined(&json, tensors)
}

/// A model file, and what a model of its kind is good for: numbers that are finite, or errors.
pub(super) struct Whole {
    pub(super) bytes: Vec<u8>,
    pub(super) uses: Box<dyn Fn(&AnyModel) -> Check>,
}

/// The bytes that a model is written as.
fn written(model: &AnyModel) -> Vec<u8> {
    match model {
        AnyModel::Rank(model) => model_file::to_bytes(model),
        AnyModel::Annotate(model) => model_file::to_bytes(model),
        AnyModel::Match(model) => model_file::to_bytes(model),
        _ => vec![],
    }
}

/// Loads a file; nothing where it is refused, as it should be.
fn loaded(file: &[u8]) -> Check<Option<AnyModel>> {
    let (loaded, peak) = memory::peak(|| model_file::any_from_bytes(file, Path::new(PATH)));
    ensure!(peak < (1 << 20) + 64 * file.len(), "too much memory", "{peak} bytes for {}", file.len());
    match loaded {
        Ok(model) => Ok(Some(model)),
        Err(error) => {
            ensure!(matches!(error, Error::Model { .. }), "not an error of a model", "{error}");
            clear(&error, &[(Path::new(PATH), &[])]).map(|()| None)
        }
    }
}

/// Loads a damaged file; whether it was refused.
fn refused(file: &[u8], whole: &[u8]) -> Check<bool> {
    let Some(model) = loaded(file)? else { return Ok(true) };
    ensure!(written(&model) == whole, "a damaged file gives another model", "{model:?}");
    Ok(false)
}

/// Damages files of models anywhere.
pub(super) fn damaged(suite: &mut Suite, inputs: usize, seed: u64, all: &[Whole]) {
    let mut random = damage(seed);
    let mut count = 0;
    for turn in 0..inputs {
        let whole = &all[turn / 8 % all.len()].bytes;
        let (mut json, tensors) = parts(whole);
        let (file, told) = match turn % 8 {
            0..=4 => mutate::binary(whole, &mut random),
            5 => {
                let mut file = whole.clone();
                let lengths = [0, 1, 7, file.len() as u64 - 8, file.len() as u64 - 7, 1 << 31, 100_000_001, u64::MAX];
                let length = [lengths[random.below(8)], random.bits(), random.below(2 * file.len()) as u64];
                file[..8].copy_from_slice(&length[random.below(3)].to_le_bytes());
                (file, "another length of the header".to_owned())
            }
            6 => {
                strange(&mut json, &mut random);
                (joined(&json, &tensors), "JSON of safetensors".to_owned())
            }
            _ => {
                let mut header = header(&json);
                strange(&mut header, &mut random);
                set_header(&mut json, &header);
                (joined(&json, &tensors), "header of ordain".to_owned())
            }
        };
        let outcome = suite.run(&format!("model {turn} ({told})"), &file, || refused(&file, whole));
        count += usize::from(outcome == Some(true));
    }
    assert!(inputs < 1000 || count * 100 >= inputs * 95, "{count} of {inputs} refused");
}

/// Changes a number among the tensors: any bits, or one of those that are easy to get wrong.
fn strange_number(tensors: &mut [u8], random: &mut Random) {
    if tensors.len() < 8 {
        return;
    }
    let at = random.below(tensors.len() / 4) * 4;
    match random.below(4) {
        0 => {
            let odd = [f32::NAN, f32::INFINITY, -0.0, f32::MAX, 1e-45][random.below(5)];
            tensors[at..at + 4].copy_from_slice(&odd.to_le_bytes());
        }
        1 => {
            let at = at.min(tensors.len() - 8) / 8 * 8;
            let odd = [f64::NAN, f64::INFINITY, -0.0, 0.0, f64::MAX, -1e300, -1.0, 5e-324][random.below(8)];
            tensors[at..at + 8].copy_from_slice(&odd.to_le_bytes());
        }
        2 => {
            let odd = [0u32, 1, 7, 1 << 31, u32::MAX][random.below(5)];
            tensors[at..at + 4].copy_from_slice(&odd.to_le_bytes());
        }
        _ => tensors[at + random.below(4)] = random.bits() as u8,
    }
}

/// Where JSON says something that other JSON does not.
pub(super) fn beyond(part: &Value, whole: &Value, place: &str) -> Option<String> {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => part.iter().find_map(|(name, value)| match whole.get(name) {
            Some(own) => beyond(value, own, &format!("{place}/{name}")),
            None => Some(format!("{place}/{name}: {value}")),
        }),
        (Value::Array(part), Value::Array(whole)) if part.len() == whole.len() => {
            part.iter().zip(whole).find_map(|(a, b)| beyond(a, b, place))
        }
        (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() => None,
        (a, b) => (a != b).then(|| format!("{place}: {a} became {b}")),
    }
}

/// What is written holds every field and every tensor that was read; fields that were absent may have been added.
fn holds(again: &[u8], json: &Value, head: &Value, tensors: &[u8]) -> Check {
    let (other, others) = parts(again);
    let mut head = head.clone();
    for field in ["checksum", "ordain"] {
        head[field] = header(&other)[field].clone(); // who wrote it, and what seals it
    }
    if let Some(place) = beyond(&head, &header(&other), "") {
        return Err(("a field is lost or changed".into(), place));
    }
    let bytes = |json: &Value, name: &str, all: &[u8]| {
        let at = |k: usize| json[name]["data_offsets"][k].as_u64().unwrap_or(0) as usize;
        (json[name]["dtype"].clone(), json[name]["shape"].clone(), all.get(at(0)..at(1)).map(<[u8]>::to_vec))
    };
    for name in json.as_object().into_iter().flat_map(|map| map.keys()).filter(|name| *name != "__metadata__") {
        let same = bytes(json, name, tensors) == bytes(&other, name, &others);
        ensure!(same, "a tensor is lost or changed", "{name}");
    }
    Ok(())
}

/// Damages files of models and gives them a right checksum.
pub(super) fn forged(suite: &mut Suite, inputs: usize, seed: u64, all: &[Whole]) {
    let mut random = damage(seed);
    let all: Vec<_> = all.iter().map(|whole| (parts(&whole.bytes), whole)).collect();
    for ((json, tensors), whole) in &all {
        assert_eq!(sealed(json, &header(json), tensors), whole.bytes, "the checksum is understood");
    }
    let (mut turn, mut tried) = (0, 0);
    while tried < inputs {
        let ((json, tensors), whole) = &all[turn / 4 % all.len()];
        let (mut json, mut tensors) = (json.clone(), tensors.clone());
        let mut header = header(&json);
        match turn % 4 {
            0 => strange(&mut json, &mut random),
            1 | 2 => strange(&mut header, &mut random),
            _ => strange_number(&mut tensors, &mut random),
        }
        turn += 1;
        if json.get("__metadata__").and_then(|m| m.get("ordain")).is_none() || !header.is_object() {
            continue;
        }
        tried += 1;
        let file = sealed(&json, &header, &tensors);
        suite.run(&format!("forged {turn}"), header.to_string().as_bytes(), || {
            let Some(model) = loaded(&file)? else { return Ok(()) };
            let again = written(&model);
            if again != file {
                holds(&again, &json, &header, &tensors)?;
                let other = loaded(&again)?.map(|model| written(&model));
                ensure!(other.as_ref() == Some(&again), "written otherwise each time", "{model:?}");
            }
            (whole.uses)(&model)
        });
    }
}

/// Puts strange things into JSON, at a random place.
pub(super) fn strange(json: &mut Value, random: &mut Random) {
    let at = |n: usize, random: &mut Random| random.below(n.max(1));
    match json {
        Value::Object(map) if !map.is_empty() && random.below(6) > 0 => {
            let keys: Vec<String> = map.keys().cloned().collect();
            let (a, b) = (keys[at(keys.len(), random)].clone(), keys[at(keys.len(), random)].clone());
            match random.below(8) {
                0 => drop(map.remove(&a)),
                1 if a != b => {
                    let (x, y) = (map[&a].clone(), map[&b].clone());
                    (map[&a], map[&b]) = (y, x);
                }
                2 => {
                    let x = map[&a].clone();
                    map.insert(format!("{a}_"), x);
                }
                _ => strange(&mut map[&a], random),
            }
        }
        Value::Array(list) if !list.is_empty() && random.below(4) > 0 => {
            let (k, n) = (at(list.len(), random), list.len());
            match random.below(5) {
                0 => drop(list.remove(k)),
                1 => list.push(list[k].clone()),
                2 => list.swap(k, n - 1),
                _ => strange(&mut list[k], random),
            }
        }
        other => {
            let list = [
                json!(null),
                json!(true),
                json!(-1),
                json!(0),
                json!(2),
                json!(1.5),
                json!(u64::MAX),
                json!(1e300),
                json!(""),
                json!("F16"),
                json!("x".repeat(64)),
                json!("0".repeat(64)),
                json!([]),
                json!({}),
                json!([[[1]]]),
                json!([u64::MAX, 2]),
                json!([1u64 << 40]),
                json!([4, 1]),
                json!("query"),
                json!(99),
            ];
            *other = list[random.below(list.len())].clone();
        }
    }
}

/// What rankers are good for.
fn rankers() -> Vec<Whole> {
    let ranker = |method: &&str| {
        let (set, truth) = made(method);
        let uses = move |model: &AnyModel| {
            let AnyModel::Rank(model) = model else { return Ok(()) };
            let known = Rank::METHODS.iter().any(|(name, _)| *name == model.facts.method);
            ensure!(known, "a method that there is not", "{}", model.facts.method);
            let ranker = &model.model;
            let global = ranker.inputs.global.iter().flat_map(|affine| affine.offset.iter().chain(&affine.factor));
            let singles = global.chain(ranker.inputs.means.iter().flatten()).map(|&x| f64::from(x));
            let core =
                ranker.score.expansion().into_iter().flat_map(|e| e.parts.iter().flat_map(|part| &part.coefficients));
            let finite = singles.chain(core.copied()).all(f64::is_finite);
            ensure!(finite, "a model with numbers that are not finite", "{ranker:?}");
            if let Ok(ready) = ranker.prepare(&set) {
                // scores may be beyond all bounds: an error then, never a panic
                if let Ok(scores) = ranker.scores(&ready) {
                    ensure!(scores.iter().all(|s| s.is_finite()), "a score is not finite", "{ranker:?}");
                }
                drop(ranker.explain(&ready, 0, 0, 1));
            }
            Ok(())
        };
        Whole { bytes: model_file::to_bytes(&truth), uses: Box::new(uses) }
    };
    METHODS.iter().map(ranker).collect()
}

/// Rankers.
pub(crate) fn damaged_models(suite: &mut Suite, inputs: usize) {
    damaged(suite, inputs, 600, &rankers());
}

/// Rankers behind a right checksum.
pub(crate) fn forged_models(suite: &mut Suite, inputs: usize) {
    forged(suite, inputs, 700, &rankers());
}

/// Every byte of the file matters, but for the white space after the JSON.
#[cfg(test)]
#[test]
fn every_bit_of_a_model() {
    let mut suite = Suite::new();
    let (_, truth) = small();
    let whole = model_file::to_bytes(&truth);
    let mut accepted = 0;
    for bit in 0..8 * whole.len() {
        let mut file = whole.clone();
        file[bit / 8] ^= 1 << (bit % 8);
        let outcome = suite.run(&format!("bit {bit}"), &file, || refused(&file, &whole));
        accepted += usize::from(outcome == Some(false));
    }
    assert!(accepted <= 8, "{accepted} flips were not seen");
    for len in 0..whole.len() {
        let outcome = suite.run(&format!("{len} bytes"), &whole[..len], || refused(&whole[..len], &whole));
        assert_ne!(outcome, Some(false), "{len} bytes were taken for the whole file");
    }
    suite.finish();
}

/// Fields that a right checksum does not make right.
#[cfg(test)]
#[test]
fn fields_are_checked_behind_a_right_checksum() {
    let mut suite = Suite::new();
    let (_, truth) = small();
    let (json, tensors) = parts(&model_file::to_bytes(&truth));
    type Forge = fn(&mut Value);
    let forged: [(&str, Forge); 6] = [
        ("method", |header| header["method"] = "nonsense".into()),
        ("format", |header| header["format"] = 0.into()),
        ("lambda", |header| header["settings"]["lambda"] = (-5).into()),
        ("setting", |header| header["settings"]["colour"] = "red".into()),
        ("feature", |header| header["features"]["names"][1] = header["features"]["names"][0].clone()),
        ("generator", |header| header["generator"] = "dice".into()),
    ];
    for (what, forge) in forged {
        let mut header = header(&json);
        forge(&mut header);
        let file = sealed(&json, &header, &tensors);
        suite.run(what, &file, || match model_file::from_bytes::<Rank>(&file, Path::new(PATH)) {
            Ok(model) => Err(("was loaded".into(), format!("{:?}", model.facts))),
            Err(error) => {
                ensure!(matches!(error, Error::Model { .. }), "not an error of a model", "{error}");
                clear(&error, &[(Path::new(PATH), &[])])
            }
        });
    }
    suite.finish();
}

/// A newer format is named, and the way out too.
#[cfg(test)]
#[test]
fn a_newer_format() {
    let mut suite = Suite::new();
    let (_, truth) = small();
    let (json, tensors) = parts(&model_file::to_bytes(&truth));
    let mut newer = header(&json);
    newer["format"] = 2.into();
    let file = sealed(&json, &newer, &tensors);
    suite.run("format 2", &file, || {
        let loaded = model_file::from_bytes::<Rank>(&file, Path::new(PATH));
        let error = loaded.err().map(|e| e.to_string()).unwrap_or_default();
        ensure!(error.contains("format 2") && error.contains("newer"), "unclear", "{error}");
        Ok(())
    });
    let path = suite.path("kept.ordain");
    suite.run("a data file", b"", || {
        std::fs::write(&path, "1 qid:1 1:2\n").expect("a file");
        let error = model_file::load::<Rank>(&path).err().map(|e| e.to_string()).unwrap_or_default();
        ensure!(error.contains("not an ordain model"), "unclear", "{error}");
        super::pipeline::again(&Synthetic::default().make(), &path.with_extension("txt"))
    });
    suite.finish();
}
