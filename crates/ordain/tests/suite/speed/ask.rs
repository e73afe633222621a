//! Speed gates of questions: how long a person waits for the next one.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test may panic, and this one prints what it measured

use super::{at_most, seconds};
use ordain::ask::{Count, Known, Strategy, next};
use ordain::data::scale::Scale;
use ordain::data::transform::Transforms;
use ordain::data::{Columns, Missing};
use ordain::method::{Annotator, CountModel, Decide, LabelWork, OneVsRest, Scored, Trainer};
use ordain::random::Random;
use ordain::score::Score;
use ordain::structure::star::{Clamp, Star};
use ordain::task::Inputs;

const N: usize = 1000;
const C: usize = 5;
const K: usize = 12;

fn model(random: &mut Random, trainer: Trainer) -> Annotator {
    let links: Vec<f64> = (0..C * N).map(|_| 0.3 * random.normal()).collect();
    Annotator {
        inputs: Inputs {
            columns: Columns::named(vec![]),
            missing: Missing::Error,
            means: None,
            steps: Default::default(),
            ranges: Default::default(),
            transforms: Transforms::default(),
            scale: Scale::None,
            global: None,
        },
        labels: (0..N).map(|i| format!("label {i}")).collect(),
        trainer,
        bias: vec![0.0; N],
        direct: None,
        own: vec![],
        count_bias: vec![],
        classifiers: OneVsRest {
            score: Score::Linear(vec![]),
            offset: vec![0.0; N],
            slope: vec![1.0; N],
            shift: vec![0.0; N],
        },
        count: CountModel { numbers: (0..31).collect(), level: vec![0.0; 31], slope: [0.0; 2], center: [0.0, 1.0] },
        star: Star::new(N, &[0, 1, 2, 3, 4], &links).unwrap(),
        decide: Decide::Count,
        threshold: None,
    }
}

/// Milliseconds of the slowest of ten questions, one after the other.
fn slowest(annotator: &Annotator, count: Count, strategy: Strategy, random: &mut Random) -> f64 {
    let item = Scored { base: (0..N).map(|_| random.normal()).collect(), counts: vec![1.0 / 31.0; 31] };
    let (mut clamp, mut work, mut most) = (vec![Clamp::Free; N], LabelWork::default(), 0.0f64);
    for q in 0..10 {
        let known = Known { count, clamp: &clamp, skipped: &[] };
        let mut question = None;
        let spent = seconds(|| question = next(annotator, &item, &known, strategy, random, &mut work).unwrap());
        most = most.max(1e3 * spent);
        clamp[question.unwrap().label as usize] = if q % 3 == 0 { Clamp::In } else { Clamp::Out };
    }
    most
}

#[test]
#[ignore = "measures time, run by ./check --speed"]
fn made_up_questions_come_at_once() {
    let mut random = Random::new(1);
    for (trainer, name) in [(Trainer::Likelihood, "likelihood"), (Trainer::Margin, "margin")] {
        let annotator = model(&mut random, trainer);
        for strategy in [Strategy::Expected, Strategy::Paper, Strategy::Entropy] {
            if !strategy.suits(trainer) {
                continue;
            }
            let told = slowest(&annotator, Count::Told(K), strategy, &mut random);
            let learned = slowest(&annotator, Count::Learned, strategy, &mut random);
            println!(
                "{strategy} of a model by {name}, N = {N}, C = {C}: {told:.2} ms with k = {K}, {learned:.2} ms with k learned"
            );
            let most = if strategy == Strategy::Paper { 20.0 } else { 100.0 };
            at_most(&format!("milliseconds until a question, {strategy} by {name}"), told, most);
        }
    }
}
