//! Files of matchers.

use super::models::{Whole, damaged, forged};
use super::suite::{Suite, ensure};
use ordain::data::Missing;
use ordain::data::synthetic::Linkage;
use ordain::method::MatchMethod;
use ordain::model_file::{AnyModel, to_bytes};
use ordain::solver::run::Watch;
use ordain::task::{Method, Model, Training};

/// Matchers whose files differ in kind.
const METHODS: [&str; 3] = [
    "matchmap[scale=global,lambda=0.1,null=true]",
    "matchmargin[scale=query,lambda=0.1,null=true]",
    "matchmargin[scale=none,lambda=0.1,null=true,calibrate=false]",
];

fn matcher(method: &str) -> Whole {
    let mut set = Linkage { problems: 8, records: 3, ..Linkage::default() }.make();
    let train = set.all();
    let filled = set.fill(Missing::Mean, &train);
    let method: MatchMethod = method.parse().expect("a method");
    let training = Training { filled, ..Training::new(&set, &train) };
    let model = method.fit(&training, &Watch::NOBODY).expect("a model");
    let uses = move |model: &AnyModel| {
        let AnyModel::Match(model) = model else { return Ok(()) };
        let matcher = &model.model;
        let global = matcher.inputs.global.iter().flat_map(|affine| affine.offset.iter().chain(&affine.factor));
        let singles = global.chain(matcher.inputs.means.iter().flatten()).map(|&x| f64::from(x));
        let own = matcher.score.weights().iter().copied().chain(matcher.null).chain(matcher.temperature);
        ensure!(singles.chain(own).all(f64::is_finite), "a model with numbers that are not finite", "{matcher:?}");
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
    };
    Whole { bytes: to_bytes(&model), uses: Box::new(uses) }
}

/// Matchers.
pub(crate) fn damaged_matchers(suite: &mut Suite, inputs: usize) {
    damaged(suite, inputs, 800, &METHODS.map(matcher));
}

/// Matchers behind a right checksum.
pub(crate) fn forged_matchers(suite: &mut Suite, inputs: usize) {
    forged(suite, inputs, 900, &METHODS.map(matcher));
}

#[cfg(test)]
#[test]
fn a_matcher_is_no_ranker() {
    use ordain::model_file::from_bytes;
    use std::path::Path;
    let whole = matcher(METHODS[0]).bytes;
    let error = from_bytes::<ordain::method::Rank>(&whole, Path::new("m.ordain")).expect_err("it does not rank");
    assert!(error.to_string().contains("this model matches"), "{error}");
}
