//! Files of annotators.

use super::models::{Whole, damaged, forged};
use super::suite::{Suite, ensure};
use ordain::data::Missing;
use ordain::data::synthetic::Scenes;
use ordain::method::CStar;
use ordain::model_file::{AnyModel, to_bytes};
use ordain::solver::run::Watch;
use ordain::task::{Method, Model, Training};

/// Annotators whose files differ in kind.
const METHODS: [&str; 4] = [
    "cstar[core=1,lambda=1,link_lambda=1,features=both]",
    "independent[lambda=1]",
    "independent[kernel=rbf,gamma=0.5,lambda=1]",
    "cstar[trainer=margin,core=1,lambda=1,link_lambda=1]",
];

fn annotator(method: &str) -> Whole {
    let mut set = Scenes { items: 24, ..Scenes::default() }.make();
    let train = set.all();
    let filled = set.fill(Missing::Mean, &train);
    let method: CStar = method.parse().expect("a method");
    let training = Training { filled, ..Training::new(&set, &train) };
    let model = method.fit(&training, &Watch::NOBODY).expect("a model");
    let uses = move |model: &AnyModel| {
        let AnyModel::Annotate(model) = model else { return Ok(()) };
        let annotator = &model.model;
        if let Ok(ready) = annotator.prepare(&set) {
            // values may be beyond all bounds: an error then, never a panic
            if let Ok(said) = annotator.predict(&ready, &set.all()[..4]) {
                for item in &said {
                    let nan = item.values.iter().any(|x| x.is_nan());
                    ensure!(!nan, "a value that is no number", "{:?} of {annotator:?}", item.values);
                    let inside = item.chosen.iter().all(|&label| (label as usize) < set.labels.len());
                    ensure!(inside, "a label that there is not", "{:?}", item.chosen);
                }
            }
            drop(annotator.explain(&ready, 0, 0, 1));
        }
        Ok(())
    };
    Whole { bytes: to_bytes(&model), uses: Box::new(uses) }
}

/// Annotators.
pub(crate) fn damaged_annotators(suite: &mut Suite, inputs: usize) {
    damaged(suite, inputs, 1000, &METHODS.map(annotator));
}

/// Annotators behind a right checksum.
pub(crate) fn forged_annotators(suite: &mut Suite, inputs: usize) {
    forged(suite, inputs, 1100, &METHODS.map(annotator));
}
