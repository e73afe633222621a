//! Damaged files of matchers: refused, or the same matcher.

use super::models::{PATH, header, joined, parts, sealed, set_header, strange};
use super::suite::{Check, Suite, clear, damage, ensure};
use super::{memory, mutate};
use ordain::data::synthetic::Linkage;
use ordain::data::{MatchSet, Missing};
use ordain::method::{Match, MatchMethod, Rank};
use ordain::model_file::{AnyModel, any_from_bytes, from_bytes, to_bytes};
use ordain::solver::run::Watch;
use ordain::task::{Fitted, Method, Model, Training};
use std::path::Path;

const CASES: usize = 5000;

/// Matchers whose files differ in kind.
const METHODS: [&str; 3] = [
    "matchmap[scale=global,lambda=0.1,null=true]",
    "matchmargin[scale=query,lambda=0.1,null=true]",
    "matchmargin[scale=none,lambda=0.1,null=true,calibrate=false]",
];

fn small(method: &str) -> (MatchSet, Fitted<Match>) {
    let mut set = Linkage { problems: 8, records: 3, ..Linkage::default() }.make();
    let train = set.all();
    let filled = set.fill(Missing::Mean, &train);
    let method: MatchMethod = method.parse().expect("a method");
    let training = Training { filled, ..Training::new(&set, &train) };
    let model = method.fit(&training, &Watch::NOBODY).expect("a model");
    // what is in the file, as far as JSON keeps it
    let Ok(AnyModel::Match(model)) = any_from_bytes(&to_bytes(&model), Path::new(PATH)) else {
        panic!("not a matcher")
    };
    (set, model)
}

/// Loads a damaged file; whether it was refused.
fn refused(file: &[u8], truth: &Fitted<Match>) -> Check<bool> {
    let (loaded, peak) = memory::peak(|| any_from_bytes(file, Path::new(PATH)));
    ensure!(peak < (1 << 20) + 64 * file.len(), "too much memory", "{peak} bytes for {}", file.len());
    match loaded {
        Ok(model) => {
            let same = matches!(&model, AnyModel::Match(model) if model == truth);
            ensure!(same, "a damaged file gives another model", "{model:?}");
            Ok(false)
        }
        Err(error) => {
            ensure!(matches!(error, ordain::Error::Model { .. }), "not an error of a model", "{error}");
            clear(&error, &[(Path::new(PATH), &[])]).map(|()| true)
        }
    }
}

#[test]
fn damaged_matchers() {
    let mut suite = Suite::new();
    let mut random = damage(800);
    let mut count = 0;
    for method in METHODS {
        let (_, truth) = small(method);
        let whole = to_bytes(&truth);
        for turn in 0..CASES {
            let (mut json, tensors) = parts(&whole);
            let (file, told) = match turn % 4 {
                0 | 1 => mutate::binary(&whole, &mut random),
                2 => {
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
            let what = format!("{method} {turn} ({told})");
            count += usize::from(suite.run(&what, &file, || refused(&file, &truth)) == Some(true));
        }
        // cut anywhere, and read as what it is not
        for len in (0..whole.len()).step_by(7) {
            let outcome = suite.run(&format!("{len} bytes"), &whole[..len], || refused(&whole[..len], &truth));
            assert_ne!(outcome, Some(false), "{len} bytes were taken for the whole file");
        }
        let error = from_bytes::<Rank>(&whole, Path::new(PATH)).expect_err("it does not rank").to_string();
        assert!(error.contains("this model matches"), "{error}");
    }
    assert!(count * 100 >= 3 * CASES * 95, "{count} of {} refused", 3 * CASES);
    suite.finish();
}

/// Files with a right checksum and impossible contents: refused, or a matcher that can be used.
#[test]
fn forged_matchers() {
    let mut suite = Suite::new();
    let mut random = damage(900);
    for method in METHODS {
        let (set, truth) = small(method);
        let (json, tensors) = parts(&to_bytes(&truth));
        let plain = header(&json);
        assert_eq!(sealed(&json, &plain, &tensors), to_bytes(&truth), "the checksum is understood");
        for turn in 0..CASES / 3 {
            let (mut json, mut header, mut tensors) = (json.clone(), plain.clone(), tensors.clone());
            match turn % 4 {
                0 => strange(&mut json, &mut random),
                1 => strange(&mut header, &mut random),
                2 => {
                    // numbers of eight bytes: weights, the null, the temperature
                    let at = random.below(tensors.len() / 8) * 8;
                    let odd = [f64::NAN, f64::INFINITY, -0.0, 0.0, f64::MAX, -1e300, -1.0, 5e-324][random.below(8)];
                    tensors[at..at + 8].copy_from_slice(&odd.to_le_bytes());
                }
                _ => {
                    let at = random.below(tensors.len() / 4) * 4;
                    let odd = [f32::NAN, f32::INFINITY, -0.0, f32::MAX, 1e-45][random.below(5)];
                    tensors[at..at + 4].copy_from_slice(&odd.to_le_bytes());
                }
            }
            if json.get("__metadata__").and_then(|m| m.get("ordain")).is_none() || !header.is_object() {
                continue;
            }
            let file = sealed(&json, &header, &tensors);
            suite.run(&format!("{method} forged {turn}"), &file, || {
                let model = match any_from_bytes(&file, Path::new(PATH)) {
                    Ok(AnyModel::Match(model)) => model,
                    Ok(_) => return Ok(()),
                    Err(error) => return clear(&error, &[(Path::new(PATH), &[])]),
                };
                let matcher = &model.model;
                let global = matcher.inputs.global.iter().flat_map(|affine| affine.offset.iter().chain(&affine.factor));
                let singles = global.chain(matcher.inputs.means.iter().flatten()).map(|&x| f64::from(x));
                let own = matcher.score.weights().iter().copied().chain(matcher.null).chain(matcher.temperature);
                let finite = singles.chain(own).all(f64::is_finite);
                ensure!(finite, "a model with numbers that are not finite", "{matcher:?}");
                ensure!(matcher.temperature.is_none_or(|t| t > 0.0), "an impossible temperature", "{matcher:?}");
                if let Ok(ready) = matcher.prepare(&set) {
                    // scores may be beyond all bounds: an error then, never a panic
                    if let Ok(said) = matcher.predict(&ready, &set.all()) {
                        let nan = said.iter().flat_map(|s| s.probabilities.iter().flatten()).any(|p| p.is_nan());
                        ensure!(!nan, "a probability that is no number", "{matcher:?}");
                    }
                    if let Ok(scores) = matcher.scores(&ready, 0) {
                        ensure!(scores.iter().all(|s| s.is_finite()), "a score is not finite", "{matcher:?}");
                    }
                    drop(matcher.explain(&ready, 0, 0, 1));
                }
                Ok(())
            });
        }
    }
    suite.finish();
}
