//! `ordain evaluate` of a model that matches.

use crate::plan::Usage;
use crate::report::PicturePart;
use crate::screen::{Screen, four, table};
use anyhow::Result;
use ordain::data::{MatchSet, Truth, delaunay};
use ordain::method::{MatchPrediction, Matcher};
use ordain::metric::calibration::Calibration;
use ordain::metric::{Evaluation, Metric};

/// Problems of which a report shows a picture.
const PICTURES: usize = 3;
/// Points of a side up to which neighbours are joined in it.
const MESH: usize = 300;

/// Leaves out metrics of probabilities where there are none; refuses them where they were asked for.
pub(in crate::run) fn measurable(has: bool, who: &str, metrics: &mut Vec<Metric>, asked: bool) -> Result<()> {
    if has {
        return Ok(());
    }
    match metrics.iter().find(|metric| metric.of_probabilities()).filter(|_| asked) {
        Some(metric) => Err(Usage(format!(
            "--metric {metric}: {who} has no probabilities (calibrate=false); {metric} needs them: fit matchmap, or matchmargin with calibrate=true"
        ))
        .into()),
        None => {
            metrics.retain(|metric| !metric.of_probabilities());
            Ok(())
        }
    }
}

/// What the metrics of matches mean where it is not plain.
pub(in crate::run) fn remarks(metrics: &[Metric]) -> Vec<String> {
    let mut all: Vec<String> = crate::run::tags::evaluate::losses(metrics).into_iter().collect();
    if metrics.iter().any(|metric| metric.to_string() == "ece") {
        all.push("ece: of all problems together, over edges with a probability above 0.01".into());
    }
    all
}

/// A matcher by one feature, the more the better; `-NAME` is one of which less is better.
pub(in crate::run) fn by_feature(set: &MatchSet, feature: &str) -> Result<Matcher> {
    let (j, sign) = match (set.columns.find(feature), feature.strip_prefix('-')) {
        (Err(_), Some(name)) => (set.columns.find(name)?, -1.0),
        (found, _) => (found?, 1.0),
    };
    let mut weights = vec![0.0; set.columns.names.len()];
    weights[j] = sign;
    Ok(Matcher::unlearned(set, weights))
}

/// How many problems are left out, and why.
pub(in crate::run) fn skipped(result: &Evaluation) -> String {
    match result.skipped() {
        0 => "none left out".into(),
        n => format!(
            "{n} left out of {} (not known, or nothing to match)",
            crate::run::tags::evaluate::left_out(result).join(", ")
        ),
    }
}

/// Warns where metrics go by probabilities that are approximate; the largest problem tells, for it is the hardest.
pub(in crate::run) fn warn_approximate(
    matcher: &Matcher,
    set: &MatchSet,
    metrics: &[Metric],
    screen: &Screen,
) -> Result<()> {
    let largest = set.all().into_iter().max_by_key(|&p| set.span(p as usize).len());
    let (Some(p), true) = (largest, metrics.iter().any(|metric| metric.of_probabilities())) else { return Ok(()) };
    super::warn_approximate(&super::sums(&matcher.predict(set, &[p])?), screen);
    Ok(())
}

/// How the probabilities of edges come true, as a table.
pub(in crate::run) fn reliability(result: &Evaluation) -> Option<String> {
    let calibration = Calibration::joined(&result.calibration);
    let bins = calibration.bins.iter().enumerate().filter(|(_, bin)| bin.count > 0);
    let rows: Vec<Vec<String>> = bins
        .map(|(i, bin)| {
            let n = bin.count as f64;
            let range = format!("{:.1} to {:.1}", i as f64 / 10.0, (i + 1) as f64 / 10.0);
            vec![range, bin.count.to_string(), four(bin.predicted / n), four(bin.observed / n)]
        })
        .collect();
    let head = ["probability", "edges", "predicted", "observed"].map(str::to_owned);
    (!rows.is_empty()).then(|| format!("\nhow probabilities of edges come true:\n{}", table(&head, &rows)))
}

/// Pictures of some problems that have places.
pub(in crate::run) fn pictures(matcher: &Matcher, set: &MatchSet, units: &[u32]) -> Result<Vec<PicturePart>> {
    let placed = |p: &&u32| set.problem(**p as usize).places.is_some();
    let all: Vec<u32> = units.iter().filter(placed).copied().collect();
    // files often go from the easy to the hard: the first, the last, and some between them
    let shown: Vec<u32> = match all.len() {
        n if n <= PICTURES => all,
        n => (0..PICTURES).map(|k| all[k * (n - 1) / (PICTURES - 1)]).collect(),
    };
    let said = matcher.predict(set, &shown)?;
    Ok(shown.iter().zip(&said).filter_map(|(&p, said)| picture(set, p as usize, said)).collect())
}

fn picture(set: &MatchSet, p: usize, said: &MatchPrediction) -> Option<PicturePart> {
    let problem = set.problem(p);
    let [left, right] =
        problem.places.clone()?.map(|side| side.into_iter().map(|at| at.map(f64::from)).collect::<Vec<[f64; 2]>>());
    let mesh = [mesh(&left), mesh(&right)];
    let lines = said.matches.iter().map(|m| {
        let (i, j) = problem.edges[m.edge as usize];
        let truth = match problem.truth[m.edge as usize] {
            Truth::Yes => Some(true),
            Truth::No => Some(false),
            Truth::Unknown => None,
        };
        (i as usize, j as usize, m.probability, truth)
    });
    Some(PicturePart {
        problem: problem.name.clone(),
        left,
        right,
        names: [problem.left.clone(), problem.right.clone()],
        mesh,
        lines: lines.collect(),
    })
}

/// Neighbours of the triangulation, without the long edges across hollows: twice the median length at most.
fn mesh(places: &[[f64; 2]]) -> Vec<(u32, u32)> {
    if places.len() > MESH {
        return vec![];
    }
    let length = |&(a, b): &(u32, u32)| {
        let (p, q) = (places[a as usize], places[b as usize]);
        (p[0] - q[0]).hypot(p[1] - q[1])
    };
    let mut edges = delaunay(places);
    let mut lengths: Vec<f64> = edges.iter().map(length).collect();
    lengths.sort_by(f64::total_cmp);
    let most = 2.0 * lengths.get(lengths.len() / 2).copied().unwrap_or(0.0);
    edges.retain(|edge| length(edge) <= most);
    edges
}
