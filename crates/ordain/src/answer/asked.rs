//! What a person sees who labels an item: the next question with its reason, and the labels under the answers so far.

use crate::ask::{Count, Known, Question, Strategy, generator, known, next, precision};
use crate::error::Result;
use crate::matrix::Features;
use crate::method::annotator::ranked;
use crate::method::{Annotate, Annotator, LabelPrediction, LabelWork, Trainer};
use crate::task::Ready;
use serde::Serialize;

/// An item under the answers of a person.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AskedItem {
    /// The next question; none where nothing is left to ask.
    pub question: Option<AskedLabel>,
    /// The labels: answered with yes, guessed, the next most probable ones, answered with no.
    pub set: Vec<LabelState>,
    /// The expected precision of the best labels, of a model with probabilities.
    pub expected_precision: Option<f64>,
    /// Why the person may stop here, if so.
    pub stop: Option<String>,
}

/// A question about a label.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AskedLabel {
    /// The label.
    pub label: String,
    /// Its number.
    #[serde(skip)]
    pub number: u32,
    /// Its probability, of a model that has them.
    pub probability: Option<f64>,
    /// What it was chosen by; see [`Question::value`].
    pub value: f64,
    /// By how much the answer is expected to lift the precision, where the strategy tells: of the last open label it does not.
    pub gain: Option<f64>,
    /// Why it is asked.
    pub why: String,
    /// Which answers speak for or against it.
    pub links: Vec<LinkSays>,
    /// Whether it was drawn at random, to control the model.
    pub control: bool,
    /// Whether the model would give the label.
    #[serde(skip)]
    pub guess: bool,
}

/// What an answered label says of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LinkSays {
    /// The answered label.
    pub label: String,
    /// `for` or `against`.
    pub says: &'static str,
}

/// A label of an item under answers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LabelState {
    /// The label.
    pub label: String,
    /// Its probability given the answers, of a model that has them.
    pub probability: Option<f64>,
    /// `yes` and `no` by the answers, `guessed` where the model would give it, else `likely`.
    pub state: &'static str,
}

/// How an item is asked about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AskHow {
    /// How the question is chosen.
    pub strategy: Strategy,
    /// Whether it is drawn at random instead, to control the model.
    pub control: bool,
    /// The expected precision that is enough.
    pub target: f64,
    /// The seed of random questions.
    pub seed: u64,
}

/// The most labels that are listed though the model would not give them.
const LIKELY: usize = 20;
/// The most links that are named.
const LINKS: usize = 5;
/// A gain of precision that is not worth a question.
const LITTLE: f64 = 0.005;

/// An item of a set under answers: labels by their numbers, with what was said of each.
///
/// ```
/// use ordain::{answer::{AskHow, asked_item}, ask::Strategy, data::synthetic::Scenes, method::CStar, solver::run::Watch};
/// use ordain::task::{Method, Model, Training};
/// let set = Scenes { items: 200, ..Scenes::default() }.make();
/// let model = CStar::independent().fit(&Training::new(&set, &set.all()), &Watch::NOBODY)?.model;
/// let ready = model.prepare(&set)?;
/// let how = AskHow { strategy: Strategy::Expected, control: false, target: 0.95, seed: 0 };
/// let before = asked_item(&model, &ready, 0, &[], &how)?;
/// let question = before.question.unwrap();
/// let after = asked_item(&model, &ready, 0, &[(question.number, Some(true))], &how)?;
/// assert_eq!((after.set[0].label.as_str(), after.set[0].state), (question.label.as_str(), "yes"));
/// assert!(question.gain.unwrap() > 0.0 && after.question.unwrap().number != question.number);
/// # Ok::<(), ordain::Error>(())
/// ```
///
/// Costs a question ([`next`]) and a prediction.
pub fn asked_item(
    model: &Annotator,
    on: &Ready<'_, Annotate>,
    unit: usize,
    answers: &[(u32, Option<bool>)],
    how: &AskHow,
) -> Result<AskedItem> {
    let (item, mut work) = (model.score(on, unit)?, LabelWork::default());
    let (clamp, skipped) = known(model.labels.len(), answers.iter().copied());
    let so_far = Known { count: Count::Learned, clamp: &clamp, skipped: &skipped };
    let said = model.predict_item(&item, &clamp, &mut work)?;
    let before = precision(model, &item, &so_far, &mut work)?;
    let strategy = if how.control { Strategy::Random } else { how.strategy };
    let mut random = generator(how.seed, unit, answers.len());
    let question = next(model, &item, &so_far, strategy, &mut random, &mut work)?;
    let lifts = strategy == Strategy::Expected && model.trainer == Trainer::Likelihood;
    let question = question.map(|question @ Question { label, value }| {
        let probability = chance(model, &said, label);
        // no number of labels leaves a choice: the value is none, and no precision is promised
        let lifts = lifts && value > 0.0;
        let gain = before.filter(|_| lifts).map(|before| value - before);
        AskedLabel {
            label: model.labels[label as usize].clone(),
            number: label,
            probability,
            value,
            gain,
            why: why(how, lifts, before, question, probability),
            links: links(model, label, answers),
            control: how.control,
            guess: said.chosen.contains(&label),
        }
    });
    let stop = match (&question, before) {
        (None, _) => Some("nothing is left to ask".to_owned()),
        (Some(AskedLabel { gain: Some(gain), .. }), _) if *gain < LITTLE => {
            Some("no answer is expected to change much".to_owned())
        }
        (_, Some(precision)) if precision >= how.target => {
            Some(format!("the expected precision is {:.0} %", 100.0 * precision))
        }
        _ => None,
    };
    Ok(AskedItem { question, set: states(model, &said, answers), expected_precision: before, stop })
}

fn chance(model: &Annotator, said: &LabelPrediction, label: u32) -> Option<f64> {
    (model.trainer == Trainer::Likelihood).then(|| said.values[label as usize].clamp(0.0, 1.0))
}

pub(super) fn percent(p: f64) -> String {
    format!("{:.0} %", 100.0 * p)
}

fn why(how: &AskHow, lifts: bool, before: Option<f64>, question: Question, chance: Option<f64>) -> String {
    match (how.strategy, before) {
        _ if how.control => "drawn at random, to see how often the model is right".into(),
        (Strategy::Expected, _) if question.value <= 0.0 => "nothing else is left to ask".into(),
        (Strategy::Expected, Some(before)) if lifts => {
            let after = percent(question.value.clamp(0.0, 1.0));
            format!("the answer is expected to lift precision from {} to {after}", percent(before))
        }
        (Strategy::Expected, _) => format!("the answer is expected to change {:.1} labels", question.value),
        (Strategy::Entropy, _) => {
            format!("its probability, {}, is the least certain", percent(chance.unwrap_or(question.value)))
        }
        (Strategy::Paper, _) => "the two best sets of labels differ in it".into(),
        (Strategy::Random, _) => "drawn at random".into(),
    }
}

/// The answered labels with the strongest links to a label.
fn links(model: &Annotator, label: u32, answers: &[(u32, Option<bool>)]) -> Vec<LinkSays> {
    let core = model.star.core();
    let row = |of: u32| core.iter().position(|&own| own == of).map(|c| model.star.links(c));
    let weight = |other: u32| match (row(label), row(other)) {
        (Some(links), _) => links[other as usize],
        (None, Some(links)) => links[label as usize],
        (None, None) => 0.0,
    };
    let said = answers.iter().filter_map(|&(other, yes)| Some((other, if yes? { 1.0 } else { -1.0 } * weight(other))));
    let mut all: Vec<(u32, f64)> = said.filter(|(other, weight)| *other != label && *weight != 0.0).collect();
    all.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
    all.truncate(LINKS);
    let says = |weight: f64| if weight > 0.0 { "for" } else { "against" };
    all.into_iter()
        .map(|(other, weight)| LinkSays { label: model.labels[other as usize].clone(), says: says(weight) })
        .collect()
}

fn states(model: &Annotator, said: &LabelPrediction, answers: &[(u32, Option<bool>)]) -> Vec<LabelState> {
    let answered = |label: u32| answers.iter().rev().find(|(own, _)| *own == label).and_then(|(_, yes)| *yes);
    let state = |label: u32, state| LabelState {
        label: model.labels[label as usize].clone(),
        probability: chance(model, said, label),
        state,
    };
    let of = |wanted: bool| answers.iter().filter(move |(_, yes)| *yes == Some(wanted)).map(|(label, _)| *label);
    let mut all: Vec<LabelState> = of(true).map(|label| state(label, "yes")).collect();
    let open = |label: &u32| answered(*label).is_none();
    all.extend(said.chosen.iter().copied().filter(open).map(|label| state(label, "guessed")));
    let others = ranked(&said.values).into_iter().filter(|label| open(label) && !said.chosen.contains(label));
    all.extend(others.take(LIKELY).map(|label| state(label, "likely")));
    all.extend(of(false).map(|label| state(label, "no")));
    all
}

/// How often a model was right where it was controlled.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Control {
    /// The questions that were drawn at random and answered.
    pub asked: usize,
    /// Those that were answered as the model would have.
    pub right: usize,
    /// The lower end of Wilson's 95 % interval of the share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// The upper end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

impl Control {
    /// So many of so many, with the interval of E. B. Wilson (1927):
    ///
    /// ```text
    /// (p + z²/2n ± z √(p (1 − p)/n + z²/4n²)) / (1 + z²/n)      z = 1.96
    /// ```
    ///
    /// ```
    /// let control = ordain::answer::Control::new(10, 8); // 0.490 to 0.943
    /// assert!((control.low.unwrap() - 0.4902).abs() < 1e-4 && (control.high.unwrap() - 0.9433).abs() < 1e-4);
    /// ```
    pub fn new(asked: usize, right: usize) -> Self {
        let (n, z) = (asked as f64, 1.959_963_984_540_054_f64);
        let p = right as f64 / n;
        let half = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
        let end = |sign: f64| {
            (asked > 0).then(|| ((p + z * z / (2.0 * n) + sign * half) / (1.0 + z * z / n)).clamp(0.0, 1.0))
        };
        Self { asked, right, low: end(-1.0), high: end(1.0) }
    }

    /// Why nobody needs to go on, if the model is right often enough.
    pub fn stop(&self, target: f64) -> Option<String> {
        let low = self.low.filter(|low| *low >= target)?;
        let Self { asked, right, .. } = self;
        Some(format!(
            "the model was right in {right} of {asked} control questions: with 95 % certainty in {:.0} % or more",
            100.0 * low
        ))
    }
}

/// The first and the third quartile of each column: what its values usually are.
///
/// ```
/// use ordain::matrix::{Features, Matrix};
/// let features = Features::Dense(Matrix::new(vec![5.0, 1.0, 2.0, 3.0, 4.0], 1));
/// assert_eq!(ordain::answer::quartiles(&features), [[2.0, 4.0]]);
/// ```
///
/// O(rows · columns), with a copy of one column at a time.
pub fn quartiles(features: &Features) -> Vec<[f32; 2]> {
    let of = |j: usize| {
        let mut values: Vec<f32> = (0..features.rows()).map(|i| features.value(i, j)).filter(|x| !x.is_nan()).collect();
        values.sort_unstable_by(f32::total_cmp);
        let at =
            |quarter: usize| values.get((values.len().saturating_sub(1) * quarter + 2) / 4).copied().unwrap_or(0.0);
        [at(1), at(3)]
    };
    (0..features.cols()).map(of).collect()
}
