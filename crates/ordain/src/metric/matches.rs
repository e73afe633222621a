//! Metrics of matchings.

use super::calibration::Calibration;
use super::{Evaluation, Kind, Metric, own, transposed};
use crate::data::{MatchSet, Problem, Truth};
use crate::error::{Error, Result};

/// Edges that are less likely than this say nothing about calibration: nearly all are.
const LEAST: f64 = 0.01;

/// What is said of one problem.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SaidMatches {
    /// The edges that are matched.
    pub edges: Vec<u32>,
    /// Where other matchings score the same: edges that are in some of them, with the share of those that they are in.
    pub ties: Vec<(u32, f64)>,
    /// The probability of every edge, of models that have them.
    pub probabilities: Option<Vec<f64>>,
    /// Minus the log of the probability of the right matching, where all of it is known.
    pub nll: Option<f64>,
}

/// What one item of the lesser side adds to metrics of counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    right: f64,
    matched: f64,
    both: f64,
    wrong: Option<f64>,
}

impl Tally {
    /// Those of all items of the lesser side of a problem.
    fn all(problem: &Problem, said: &SaidMatches) -> Vec<Self> {
        let (item, n) = lesser(problem);
        let mut all = vec![Self::default(); n];
        problem.matched().for_each(|e| all[item(e)].right += 1.0);
        for e in said.edges.iter().map(|&e| e as usize).filter(|&e| problem.truth[e] != Truth::Unknown) {
            all[item(e)].matched += 1.0;
            all[item(e)].both += f64::from(u8::from(problem.truth[e] == Truth::Yes));
        }
        all.iter_mut().zip(wrongs(problem, said)).for_each(|(tally, wrong)| tally.wrong = wrong);
        all
    }

    /// What a metric of some items together is a ratio of; nothing for one that is not of counts.
    pub(super) fn ratio(metric: &Metric, items: &[Self]) -> Option<(f64, f64)> {
        let sum = |of: &dyn Fn(&Self) -> f64| items.iter().map(of).sum::<f64>();
        let (right, matched, both) = (sum(&|t| t.right), sum(&|t| t.matched), sum(&|t| t.both));
        let (known, wrong) = (sum(&|t| f64::from(u8::from(t.wrong.is_some()))), sum(&|t| t.wrong.unwrap_or(0.0)));
        match metric.kind {
            Kind::Hamming => Some((wrong, known)),
            Kind::Accuracy => Some((known - wrong, known)),
            Kind::EdgePrecision => Some((both, matched)),
            Kind::Recall => Some((both, right)),
            Kind::F1 => Some((2.0 * both, right + matched)),
            _ => None,
        }
    }

    /// A metric of some items together, as [`evaluate_matches`] has it; nothing for one of probabilities, and where none counts.
    pub(super) fn of(metric: &Metric, items: &[Self]) -> Option<f64> {
        let sum = |of: &dyn Fn(&Self) -> f64| items.iter().map(of).sum::<f64>();
        let (right, matched, both) = (sum(&|t| t.right), sum(&|t| t.matched), sum(&|t| t.both));
        let known = sum(&|t| f64::from(u8::from(t.wrong.is_some())));
        let hamming = (known > 0.0).then(|| sum(&|t| t.wrong.unwrap_or(0.0)) / known);
        match metric.kind {
            Kind::Hamming => hamming,
            Kind::Accuracy => hamming.map(|wrong| 1.0 - wrong),
            Kind::EdgePrecision => (matched > 0.0).then(|| both / matched),
            Kind::Recall => (right > 0.0).then(|| both / right),
            Kind::F1 => Some(if right + matched > 0.0 { 2.0 * both / (right + matched) } else { 1.0 }),
            _ => None,
        }
    }
}

/// Measures what is said of the problems `units` of a set.
///
/// With the right edges `T` and the matched ones `P` of a problem:
///
/// | name | value |
/// |---|---|
/// | `hamming` | share of the items of the lesser side (left where both are as large) with another partner than is right; none is a partner too; the mean over matchings that score the same, where ties are given |
/// | `accuracy` | 1 − `hamming` |
/// | `precision` | `\|T ∩ P\| / \|P\|`; left out where nothing is matched |
/// | `recall` | `\|T ∩ P\| / \|T\|`; left out where there is nothing to match |
/// | `f1` | `2 \|T ∩ P\| / (\|T\| + \|P\|)`; 1 where both are empty |
/// | `nll` | minus the log of the probability of the right matching |
/// | `ece` | over all problems together: edges with a probability above .01 in ten equal bins, the mean distance of probability and truth |
///
/// An edge of which nobody knows whether it is matched is neither right nor wrong: it is left out of `T` and `P`, and its items of `hamming`,
/// unless another edge of theirs is known to be matched. A problem of which nothing is known is left out of every metric, one that is
/// known in part of `nll`.
///
/// # Errors
///
/// [`Error::Data`] where nothing is known of any problem, for a metric of something else, and for `nll` and `ece` without probabilities.
pub fn evaluate_matches(set: &MatchSet, units: &[u32], said: &[SaidMatches], metrics: &[Metric]) -> Result<Evaluation> {
    let refuse = |expected: &str, found: String| Err(Error::Data { expected: expected.into(), found });
    if said.len() != units.len() {
        return refuse("an answer for each problem", format!("{} of {}", said.len(), units.len()));
    }
    if !units.is_empty() && units.iter().all(|&p| is_blank(set.problem(p as usize))) {
        return refuse("a column matched that says of edges whether they are", "none, or an empty one".into());
    }
    for (&p, said) in units.iter().zip(said) {
        let problem = set.problem(p as usize);
        let edge = |e: usize| match problem.edges.get(e) {
            Some(&(i, j)) => format!("edge {:?} - {:?}", problem.left[i as usize], problem.right[j as usize]),
            None => format!("edge {e}"),
        };
        let name = &problem.name;
        super::finite(said.probabilities.as_deref().unwrap_or(&[]), |e| format!("problem {name:?}, {}", edge(e)))?;
    }
    for metric in metrics {
        metric.need_matches()?;
        if metric.of_probabilities() && said.iter().any(|said| said.probabilities.is_none()) {
            return refuse(
                "a model with probabilities (matchmap, or matchmargin with calibrate=true)",
                format!("{metric} of one without"),
            );
        }
    }
    let one = |(&p, said): (&u32, &SaidMatches)| measure(set.problem(p as usize), said, metrics);
    let measured: Result<Vec<_>> = units.iter().zip(said).map(one).collect();
    let (rows, calibration): (Vec<_>, Vec<_>) = measured?.into_iter().unzip();
    let mut result = transposed(metrics, rows);
    result.items = units.iter().zip(said).map(|(&p, said)| Tally::all(set.problem(p as usize), said)).collect();
    if said.iter().all(|said| said.probabilities.is_some()) {
        result.calibration = calibration;
    }
    Ok(result)
}

fn is_blank(problem: &Problem) -> bool {
    problem.truth.iter().all(|&truth| truth == Truth::Unknown)
}

/// Of the edges of which it is known whether they are right: that, and whether they are matched.
fn known(problem: &Problem, said: &SaidMatches) -> (Vec<f64>, Vec<f64>) {
    let mut matched = vec![0.0; problem.truth.len()];
    said.edges.iter().for_each(|&e| matched[e as usize] = 1.0);
    let told = problem.truth.iter().zip(matched).filter(|(truth, _)| **truth != Truth::Unknown);
    told.map(|(&truth, matched)| (f64::from(u8::from(truth == Truth::Yes)), matched)).unzip()
}

/// The values of one problem, and its probabilities beside what is so.
type Measured = (Vec<Option<f64>>, Calibration);

fn measure(problem: &Problem, said: &SaidMatches, metrics: &[Metric]) -> Result<Measured> {
    let mut calibration = Calibration::default();
    for (&p, &truth) in said.probabilities.iter().flatten().zip(&problem.truth) {
        if p > LEAST && truth != Truth::Unknown {
            calibration.add(p.min(1.0), f64::from(u8::from(truth == Truth::Yes)));
        }
    }
    if is_blank(problem) {
        return Ok((vec![None; metrics.len()], calibration));
    }
    let items = Tally::all(problem, said);
    let value = |metric: &Metric| match metric.kind {
        Kind::Nll => Ok(said.nll),
        Kind::Ece => Ok(Some(calibration.error())),
        Kind::Own(id) => {
            let (truth, matched) = known(problem, said);
            own::value(id, &truth, &matched)
        }
        _ => Ok(Tally::of(metric, &items)), // nothing of one that is not of matches: refused before
    };
    let values: Result<Vec<Option<f64>>> = metrics.iter().map(value).collect();
    Ok((values?, calibration))
}

/// The item of the lesser side, left where both are as large, that an edge of a problem is of, and how many there are.
fn lesser(problem: &Problem) -> (impl Fn(usize) -> usize, usize) {
    let by_left = problem.left.len() <= problem.right.len();
    let item = move |e: usize| if by_left { problem.edges[e].0 as usize } else { problem.edges[e].1 as usize };
    (item, problem.left.len().min(problem.right.len()))
}

/// For each item of the lesser side how wrong its partner is, from 0 to 1; nothing where its partner is not known.
fn wrongs(problem: &Problem, said: &SaidMatches) -> Vec<Option<f64>> {
    let (item, n) = lesser(problem);
    let (mut right, mut partner, mut open) = (vec![None; n], vec![None; n], vec![false; n]);
    for (e, &truth) in problem.truth.iter().enumerate() {
        match truth {
            Truth::Yes => right[item(e)] = Some(e),
            Truth::Unknown => open[item(e)] = true,
            Truth::No => {}
        }
    }
    said.edges.iter().for_each(|&e| partner[item(e as usize)] = Some(e as usize));
    let mut wrong: Vec<Option<f64>> =
        (0..n).map(|i| (right[i].is_some() || !open[i]).then(|| f64::from(u8::from(right[i] != partner[i])))).collect();
    for &(e, _) in &said.ties {
        let i = item(e as usize);
        wrong[i] = wrong[i].map(|_| 1.0);
    }
    for &(e, share) in said.ties.iter().filter(|(e, _)| problem.truth[*e as usize] == Truth::Yes) {
        let i = item(e as usize);
        wrong[i] = wrong[i].map(|_| 1.0 - share);
    }
    wrong
}
