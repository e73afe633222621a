//! What a person sees who matches: the most doubtful pair, what speaks for and against it, and the matching under the answers so far.

use super::asked::percent;
use crate::ask::{GivenMatches, PairQuestion, given, next_pair};
use crate::data::{MatchSet, Problem};
use crate::error::{Error, Result};
use crate::method::{Match, Matcher};
use crate::task::Ready;
use serde::Serialize;

/// A problem under the answers of a person.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AskedProblem {
    /// The pair in question; none where nothing is in doubt.
    pub question: Option<AskedPair>,
    /// What speaks for and against it, feature by feature, in the order of the model.
    #[serde(skip)]
    pub features: Vec<PairFeature>,
    /// Other pairs of one of the two, the most likely first.
    pub others: Vec<PairState>,
    /// The best matching that agrees with the answers, in the order of the left items, those without a partner too.
    pub matching: Vec<PairState>,
    /// Pairs that were answered with no.
    pub refused: Vec<PairName>,
    /// Which answer cannot stand beside the others, if so; then the last answers are left out that cannot.
    pub impossible: Option<String>,
    /// Why the person may stop here, if so.
    pub stop: Option<String>,
}

/// A left and a right item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PairName {
    /// The left item.
    pub left: String,
    /// The right item; none if the left one stays alone.
    pub right: Option<String>,
}

/// A question about a pair.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AskedPair {
    /// The pair.
    #[serde(flatten)]
    pub pair: PairName,
    /// The number of its edge.
    #[serde(skip)]
    pub edge: u32,
    /// Its probability given the answers, of a model that has them.
    pub probability: Option<f64>,
    /// By how much the best sum of scores falls without it, if it is a match that can be given up.
    pub margin: Option<f64>,
    /// Why it is asked.
    pub why: String,
    /// Pairs are not drawn at random: always false.
    pub control: bool,
    /// The pair that it is compared with: the most likely other one of the two.
    pub beside: Option<PairName>,
}

/// What a feature says of a pair.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairFeature {
    /// The feature.
    pub feature: String,
    /// Its value before any transform.
    pub value: f32,
    /// What it adds to the score of the pair, beyond what it adds to that of the pair beside it.
    pub contribution: Option<f64>,
}

/// A pair under answers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairState {
    /// The pair.
    #[serde(flatten)]
    pub pair: PairName,
    /// Its probability given the answers, of a model that has them.
    pub probability: Option<f64>,
    /// `yes` by an answer, else `guessed`.
    pub state: &'static str,
    /// Whether the last answer brought it about.
    pub changed: bool,
}

/// The most other pairs, and the most matches that are listed.
const OTHERS: usize = 9;
const MATCHES: usize = 500;

/// What is said of each edge, and those of which nobody could say.
fn known(problem: &Problem, answers: &[(u32, Option<bool>)]) -> (Vec<Option<bool>>, Vec<u32>) {
    let mut known = vec![None; problem.edges.len()];
    answers.iter().for_each(|&(e, yes)| known[e as usize] = yes);
    (known, answers.iter().filter(|(_, yes)| yes.is_none()).map(|&(e, _)| e).collect())
}

/// A problem of a set under answers: edges by their numbers within the problem, with what was said of each. `wanted` is an edge that the
/// person wants to be asked about.
///
/// ```
/// use ordain::{answer::asked_problem, data::synthetic::Linkage, method::MatchMap, solver::run::Watch};
/// use ordain::task::{Method, Model, Training};
/// let set = Linkage::default().make();
/// let method = MatchMap { null: true, ..MatchMap::default() };
/// let model = method.fit(&Training::new(&set, &set.all()), &Watch::NOBODY)?.model;
/// let ready = model.prepare(&set)?;
/// let before = asked_problem(&model, &ready, 0, &[], None)?;
/// let question = before.question.unwrap();
/// let after = asked_problem(&model, &ready, 0, &[(question.edge, Some(true))], None)?;
/// assert!(after.matching.iter().any(|pair| pair.pair == question.pair && pair.state == "yes"));
/// # Ok::<(), ordain::Error>(())
/// ```
///
/// Costs up to two predictions of the problem.
pub fn asked_problem(
    matcher: &Matcher,
    on: &Ready<'_, Match>,
    p: usize,
    answers: &[(u32, Option<bool>)],
    wanted: Option<u32>,
) -> Result<AskedProblem> {
    let problem = on.set().problem(p);
    let (mut stand, mut impossible) = (answers.len(), None);
    let (said, all, skipped) = loop {
        let (all, skipped) = known(problem, &answers[..stand]);
        match given(matcher, on, p, &all) {
            Err(error @ Error::Data { .. }) if stand > 0 => {
                impossible.get_or_insert_with(|| error.to_string());
                stand -= 1;
            }
            said => break (said?, all, skipped),
        }
    };
    let before = match answers[..stand].iter().rposition(|(_, yes)| yes.is_some()) {
        Some(last) => {
            let mut less = answers[..stand].to_vec();
            less.remove(last);
            given(matcher, on, p, &known(problem, &less).0).ok()
        }
        None => None,
    };
    let asked = match wanted {
        Some(edge) => Some(PairQuestion { edge, value: 0.0 }),
        None => next_pair(&said, &all, &skipped),
    };
    let scores = matcher.scores(on, p)?;
    let chance = |e: u32| said.probabilities.as_ref().map(|all| all[e as usize].clamp(0.0, 1.0));
    let likely = |e: u32| chance(e).unwrap_or(scores[e as usize]);
    let mut others: Vec<u32> = asked.map_or(vec![], |asked| neighbours(problem, asked.edge));
    others.retain(|&e| all[e as usize] != Some(false));
    others.sort_by(|&a, &b| likely(b).total_cmp(&likely(a)).then(a.cmp(&b)));
    let beside = others.first().copied();
    let features = asked.map_or(Ok(vec![]), |asked| features(matcher, on, p, asked.edge, beside))?;
    let question = asked.map(|asked| {
        let place = said.edges.binary_search(&asked.edge).ok();
        let margin = place.map(|at| said.margins[at]).filter(|margin| margin.is_finite());
        AskedPair {
            pair: name(problem, asked.edge),
            edge: asked.edge,
            probability: chance(asked.edge),
            margin,
            why: why(wanted.is_some(), chance(asked.edge), margin),
            control: false,
            beside: beside.map(|e| name(problem, e)),
        }
    });
    let stop = question.is_none().then(|| "no pair of this problem is in doubt".to_owned());
    let state = |e: u32| PairState {
        pair: name(problem, e),
        probability: chance(e),
        state: if all[e as usize] == Some(true) { "yes" } else { "guessed" },
        changed: false,
    };
    Ok(AskedProblem {
        question,
        features,
        others: others.into_iter().take(OTHERS).map(state).collect(),
        matching: matching(on.set(), p, &said, before.as_ref(), state),
        refused: (0..).zip(&all).filter(|(_, yes)| **yes == Some(false)).map(|(e, _)| name(problem, e)).collect(),
        impossible,
        stop,
    })
}

fn name(problem: &Problem, edge: u32) -> PairName {
    let (i, j) = problem.edges[edge as usize];
    PairName { left: problem.left[i as usize].clone(), right: Some(problem.right[j as usize].clone()) }
}

/// The other edges of the two items of an edge.
fn neighbours(problem: &Problem, edge: u32) -> Vec<u32> {
    let (i, j) = problem.edges[edge as usize];
    let touches = |&(e, ends): &(u32, &(u32, u32))| e != edge && (ends.0 == i || ends.1 == j);
    (0..).zip(&problem.edges).filter(touches).map(|(e, _)| e).collect()
}

fn why(wanted: bool, chance: Option<f64>, margin: Option<f64>) -> String {
    match (wanted, chance, margin) {
        (true, ..) => "the pair that you chose".into(),
        (_, Some(p), _) => format!("its probability, {}, is the least certain", percent(p)),
        (_, _, Some(margin)) => format!("this match costs least to give up: {margin:.3}"),
        _ => "the most doubtful pair".into(),
    }
}

/// What each feature says of an edge beside another one; contributions are there if the model can tell, and there is another one.
fn features(
    matcher: &Matcher,
    on: &Ready<'_, Match>,
    p: usize,
    edge: u32,
    beside: Option<u32>,
) -> Result<Vec<PairFeature>> {
    let parts = beside.map(|beside| matcher.explain(on, p, edge as usize, beside as usize)).transpose()?;
    let raw = on.raw();
    let row = raw.span(p).start + edge as usize;
    let mut all: Vec<PairFeature> = vec![];
    raw.features.each(row, |j, value| {
        all.push(PairFeature { feature: raw.columns.names[j].clone(), value, contribution: None });
    });
    for part in parts.iter().flatten() {
        let name = &matcher.inputs.columns.names[part.column];
        if let Some(own) = all.iter_mut().find(|own| own.feature == *name) {
            own.contribution = Some(part.contribution);
        }
    }
    Ok(all)
}

/// The matches in the order of the left items, and left items that have none.
fn matching(
    set: &MatchSet,
    p: usize,
    said: &GivenMatches,
    before: Option<&GivenMatches>,
    state: impl Fn(u32) -> PairState,
) -> Vec<PairState> {
    let problem = set.problem(p);
    let partners = |of: &GivenMatches| {
        let mut all = vec![None; problem.left.len()];
        of.edges.iter().for_each(|&e| all[problem.edges[e as usize].0 as usize] = Some(e));
        all
    };
    let (now, old) = (partners(said), before.map(partners));
    let alone = |i: usize| {
        let taken = said.probabilities.as_ref().map(|all| problem.candidates(i).map(|e| all[e]).sum::<f64>());
        let pair = PairName { left: problem.left[i].clone(), right: None };
        let probability = taken.map(|taken| (1.0 - taken).clamp(0.0, 1.0));
        PairState { pair, probability, state: "guessed", changed: false }
    };
    let row = |(i, edge): (usize, &Option<u32>)| PairState {
        changed: old.as_ref().is_some_and(|old| old[i] != *edge),
        ..edge.map_or_else(|| alone(i), &state)
    };
    now.iter().enumerate().take(MATCHES).map(row).collect()
}
