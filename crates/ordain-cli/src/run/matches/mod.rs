//! Commands on problems of matching.

pub(super) mod convert;
pub(super) mod demo;
pub(super) mod evaluate;
pub(super) mod explain;
pub(super) mod fit;
pub(super) mod inspect;
pub(super) mod predict;

use crate::args::{Points, Reading};
use crate::plan::Usage;
use crate::screen::Screen;
use anyhow::Result;
use ordain::Error;
use ordain::data::{MatchReading, MatchSet, PointFeature, Split, is_labels, is_matches, read_matches};
use ordain::method::{MatchPrediction, Matcher, Sums};
use std::path::{Path, PathBuf};

/// Whether a file is read as problems of matching: it looks like it, and nothing says that it holds items with labels.
pub(super) fn are_problems(path: &Path, reading: &Reading) -> bool {
    reading.labels.is_none() && is_matches(path)
}

/// Refuses problems where something else is wanted.
pub(super) fn refuse_problems(expected: &str, data: &[PathBuf], reading: &Reading) -> Result<()> {
    match data.iter().find(|path| are_problems(path, reading)) {
        None => Ok(()),
        Some(path) => Err(Error::Content {
            path: path.clone(),
            expected: expected.into(),
            found: "two sides with edges between them, which matchmap and matchmargin are for".into(),
        }
        .into()),
    }
}

/// Says that a file holds queries or items, where that is why it cannot be read.
pub(super) fn not_problems(error: Error, who: &str) -> Error {
    let path = match &error {
        Error::Parse { path, .. } | Error::Content { path, .. } => path.clone(),
        _ => return error,
    };
    let queries = matches!(&error, Error::Parse { found, .. } if found.contains("qid"));
    let found = match () {
        () if super::looked(&path, is_matches) => return error,
        () if super::looked(&path, is_labels) => "items with labels",
        () if queries => "queries with documents",
        () => return error,
    };
    let expected = format!(
        "edges (a table with the columns problem, left, right, features and matched) or points, because {who} matches"
    );
    Error::Content { path, expected, found: found.into() }
}

/// Problems as a model wants them: its own rule for missing values, its features of points, its columns. Says what differs.
pub(super) fn read_for(
    matcher: &Matcher,
    paths: &[PathBuf],
    points: &Points,
    only: &[Split],
    screen: &Screen,
) -> Result<MatchSet> {
    if points.features.is_some() {
        return Err(Usage("a model knows the features that it takes: leave out --features".into()).into());
    }
    let how = MatchReading {
        missing: matcher.missing,
        features: PointFeature::of_columns(&matcher.columns).unwrap_or_default(),
        pairs: points.pairs.clone(),
        only: only.to_vec(),
    };
    let (mut set, _) = read_matches(&[paths.to_vec()], &how).map_err(|error| not_problems(error, "this model"))?;
    let name = paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    let differ = matcher.prepare(&mut set).map_err(|error| anyhow::Error::from(error).context(name.clone()))?;
    super::warn_of_columns(&differ, matcher.columns.names.len(), &name, screen);
    Ok(set)
}

/// Refuses problems of which nobody said what is matched.
pub(super) fn need_truth(set: &MatchSet, paths: &[PathBuf]) -> Result<()> {
    match paths.first() {
        Some(path) if !set.labelled() => Err(Error::Content {
            path: path.clone(),
            expected: "a column matched of 0 and 1 (of points the same id on both sides)".into(),
            found: match set.columns.names.iter().take(8).map(String::as_str).collect::<Vec<_>>().join(", ") {
                names if names.is_empty() => "none, or an empty one".into(),
                names => format!(
                    "none, or an empty one; features are {names}{}",
                    if set.columns.names.len() > 8 { ", …" } else { "" }
                ),
            },
        }
        .into()),
        _ => Ok(()),
    }
}

/// Refuses features of points where there are none.
pub(super) fn need_points(set: &MatchSet, points: &Points) -> Result<()> {
    match points.features {
        Some(_) if !set.problems().iter().any(|problem| problem.places.is_some()) => Err(Usage(
            "--features is for points; these are edges, whose columns are their features: leave it out".into(),
        )
        .into()),
        _ => Ok(()),
    }
}

/// How the probabilities of some predictions were found.
pub(super) fn sums(said: &[MatchPrediction]) -> Sums {
    let mut all = Sums::default();
    said.iter().filter_map(|said| said.sum.as_ref()).for_each(|sum| all.add(sum));
    all
}

/// `1 problem`, `2 problems`.
pub(super) fn problems(count: usize) -> String {
    format!("{count} problem{}", if count == 1 { "" } else { "s" })
}

/// How many sums were found by which engine: `exact (12), bethe (3)`.
pub(super) fn engines(engines: &serde_json::Map<String, serde_json::Value>) -> String {
    engines.iter().map(|(name, count)| format!("{name} ({count})")).collect::<Vec<_>>().join(", ")
}

/// How near probabilities are, in words.
pub(super) fn nearness(accuracy: &str, error: Option<f64>) -> String {
    match (accuracy, error) {
        ("exact", _) => "exact".into(),
        ("certified", Some(error)) => format!("off by {error:.1e} at most"),
        ("estimated", Some(error)) => format!("by samples, with a standard error of about {error:.1e}"),
        ("approximate", _) => "approximate, and nobody knows how near".into(),
        (other, _) => other.into(),
    }
}

/// Warns of probabilities of which nobody knows how near they are.
pub(super) fn warn_approximate(all: &Sums, screen: &Screen) {
    match all.accuracy() {
        "approximate" => screen.say(&format!(
            "warning: probabilities are approximate, found by {}: nobody knows how near they are; marginals=exact or pruned gives them for small problems, marginals=chain by samples with an error",
            engines(&all.engines)
        )),
        "exact" => {}
        other => screen.say(&format!(
            "probabilities were found by {}: {}",
            engines(&all.engines),
            nearness(other, all.error())
        )),
    }
}
