//! Commands on items with labels.

pub(super) mod ask;
pub(super) mod convert;
pub(super) mod demo;
pub(super) mod evaluate;
pub(super) mod explain;
pub(super) mod fit;
pub(super) mod inspect;
pub(super) mod predict;
pub(super) mod queries;
pub(super) mod simulate;

use crate::args::Reading;
use crate::screen::Screen;
use anyhow::Result;
use ordain::data::{LabelReading, LabelSet, is_labels, is_matches, read_labels};
use ordain::method::{Annotator, Trainer};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Items as a model wants them: its own rule for missing values, its columns, its labels. Says what differs.
pub(super) fn read_for(
    annotator: &Annotator,
    paths: &[PathBuf],
    labels: Option<&str>,
    screen: &Screen,
) -> Result<LabelSet> {
    // where nothing else says it, columns with the names of the model's labels are labels
    let columns: HashSet<&String> = annotator.columns.names.iter().collect();
    let known = annotator.labels.iter().filter(|label| !columns.contains(label)).cloned().collect();
    let reading = LabelReading {
        missing: annotator.missing,
        labels: labels.map(str::to_owned),
        known,
        ..LabelReading::default()
    };
    let (mut set, _) = read_labels(&[paths.to_vec()], &reading).map_err(|error| not_items(error, "this model"))?;
    let name = files(paths);
    warn_of_labels(&set, labels, &name, screen);
    let (differ, strange) =
        annotator.prepare(&mut set).map_err(|error| anyhow::Error::from(error).context(name.clone()))?;
    super::warn_of_columns(&differ, annotator.columns.names.len(), &name, screen);
    if let Some(first) = strange.first() {
        screen.say(&format!(
            "warning: {name}: {} label(s) that the model does not know are left out (such as {first})",
            strange.len()
        ));
    }
    Ok(set)
}

/// Files by name.
fn files(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// A model that annotates.
pub(super) fn load(path: &Path, reading: &Reading) -> Result<ordain::method::FittedTags> {
    super::refuse_missing(reading)?;
    Ok(ordain::model_file::load_tags_with_header(path)?.0)
}

/// Whether a file is read as items with labels: it looks like it, or `--labels` says so.
pub(super) fn are_items(path: &Path, reading: &Reading) -> bool {
    reading.labels.is_some() || is_labels(path)
}

/// Says that a file holds queries, where that is why it cannot be read.
fn not_items(error: ordain::Error, who: &str) -> ordain::Error {
    let problems = match &error {
        ordain::Error::Parse { path, .. } | ordain::Error::Content { path, .. } if super::looked(path, is_matches) => {
            Some(path)
        }
        _ => None,
    };
    if let Some(path) = problems {
        return ordain::Error::Content {
            path: path.clone(),
            expected: format!("items with labels, because {who} annotates"),
            found: "two sides with edges between them, which matchmap and matchmargin are for".into(),
        };
    }
    match error {
        ordain::Error::Parse { path, found, .. } if found.starts_with("\"qid:") => ordain::Error::Content {
            path,
            expected: format!("items with labels, because {who} annotates"),
            found: "queries with documents".into(),
        },
        other => other,
    }
}

/// Says that none of the labels of `--labels` is in the data.
pub(super) fn warn_of_labels(set: &LabelSet, given: Option<&str>, name: &str, screen: &Screen) {
    if let Some(given) = given.filter(|_| !set.labelled && !set.labels.is_empty()) {
        let n = set.labels.len();
        screen
            .say(&format!("warning: {name}: none of the {n} labels of {given} is an attribute: items without labels"));
    }
}

/// Refuses items of which nothing says which labels they have, with what to do.
pub(super) fn need_labels(set: &LabelSet, paths: &[PathBuf]) -> Result<()> {
    match paths.first() {
        Some(path) if !set.labelled => Err(ordain::Error::Content {
            path: path.clone(),
            expected: "labels of the items (a column named labels, or --labels NAMES; for ARFF its XML)".into(),
            found: match set.labels.len() {
                0 => "none".into(),
                n => {
                    let all: Vec<u32> = (0..n as u32).collect();
                    format!("no column or attribute of the {n} labels {}", names(set, &all))
                }
            },
        }
        .into()),
        _ => Ok(()),
    }
}

/// Refuses items, and problems of matching, where a model that ranks wants queries.
pub(super) fn refuse_items(model: &Path, data: &[PathBuf], reading: &Reading) -> Result<()> {
    let expected = format!("queries with documents, because {} is a model that ranks", model.display());
    super::matches::refuse_problems(&expected, data, reading)?;
    match data.iter().find(|path| are_items(path, reading)) {
        None => Ok(()),
        Some(path) => {
            Err(ordain::Error::Content { path: path.clone(), expected, found: "items with labels".into() }.into())
        }
    }
}

/// What a model ranks labels by, as it is called in tables and in JSON.
pub(super) fn rank_name(annotator: &Annotator) -> &'static str {
    match annotator.trainer {
        Trainer::Likelihood => "probability",
        Trainer::Margin => "margin",
    }
}

/// The first of some labels by name.
pub(super) fn names(set: &LabelSet, labels: &[u32]) -> String {
    let first: Vec<&str> = labels.iter().take(5).map(|&label| set.labels[label as usize].as_str()).collect();
    let more = labels.len() - first.len();
    first.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
}
