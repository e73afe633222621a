//! Data files: what they hold, and how they become a set for a task or for a model.

use crate::args::Reading;
use crate::screen::Screen;
use crate::show::{Given, Parts, Show};
use anyhow::Result;
use ordain::Error;
use ordain::data::{Aligned, Holds, holds, is_stream};
use ordain::task::{DataSet, Fitted, Model, Ready};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What a file holds, as far as its beginning and `--labels` tell; queries where nothing says otherwise.
pub(super) fn what(path: &Path, reading: &Reading) -> Holds {
    match (&reading.labels, holds(path)) {
        (Some(_), _) => Holds::Items,
        (None, found) => found.unwrap_or(Holds::Queries),
    }
}

/// Files by name.
pub(super) fn named(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// The error of a file that holds the data of another task, as far as its beginning tells.
fn other_task<T: Show>(path: &Path, who: &str, given: &Given) -> Option<Error> {
    let found = holds(path).filter(|found| *found != T::WORDS.file && given.reading.labels.is_none())?;
    let found = match found {
        Holds::Queries => "queries with documents",
        Holds::Items => "items with labels, which cstar and independent are for",
        Holds::Problems => "two sides with edges between them, which matchmap and matchmargin are for",
    };
    let expected = format!("{}, because {who} {}", T::wanted(), T::WORDS.does);
    Some(Error::Content { path: path.into(), expected, found: found.into() })
}

/// An error of reading, or that of a file of another task if that is why it cannot be read.
fn strange<T: Show>(error: Error, who: &str, given: &Given) -> Error {
    let path = match error.cause() {
        Error::Parse { path, .. } | Error::Content { path, .. } if !is_stream(path) => path.clone(),
        _ => return error,
    };
    other_task::<T>(&path, who, given).unwrap_or(error)
}

/// Refuses streams of another task before they are read: afterwards they cannot be looked at.
fn refuse_streams<T: Show>(parts: &[Vec<PathBuf>], who: &str, given: &Given) -> Result<()> {
    let mut streams = parts.iter().flatten().filter(|path| is_stream(path));
    streams.find_map(|path| other_task::<T>(path, who, given)).map_or(Ok(()), |error| Err(error.into()))
}

/// Reads files as one set of a task, for a method or a model of this name.
pub(super) fn read<T: Show>(
    parts: &[Vec<PathBuf>],
    how: &T::Reading,
    who: &str,
    given: &Given,
) -> Result<(T::Set, Vec<Range<usize>>)> {
    refuse_streams::<T>(parts, who, given)?;
    Ok(<T as Show>::read(parts, how).map_err(|error| strange::<T>(error, who, given))?)
}

/// The same for a fit.
pub(super) fn read_training<T: Show>(
    parts: &[Vec<PathBuf>],
    how: &T::Reading,
    who: &str,
    given: &Given,
) -> Result<Parts<T::Set>> {
    refuse_streams::<T>(parts, who, given)?;
    Ok(T::read_training(parts, how).map_err(|error| strange::<T>(error, who, given))?)
}

/// Data as a model wants them: its own rule for missing values, its columns, its labels. Says what differs.
pub(super) fn read_for<T: Show>(
    fitted: &Fitted<T>,
    paths: &[PathBuf],
    given: &Given,
    screen: &Screen,
) -> Result<Ready<'static, T>> {
    let model = &fitted.model;
    let (set, _) = read::<T>(&[paths.to_vec()], &T::reading_for(model, given), "this model", given)?;
    let name = named(paths);
    T::warn_of_set(&set, given, &name, screen);
    let ready = model.prepare_owned(set).map_err(|error| anyhow::Error::from(error).context(name.clone()))?;
    warn_of_names(ready.differ(), model.inputs().columns.names.len(), &name, screen);
    Ok(ready)
}

/// Says in which columns and labels data differ from a model of `all` columns.
fn warn_of_names(differ: &Aligned, all: usize, name: &str, screen: &Screen) {
    if let Some(first) = differ.unknown.first() {
        let n = differ.unknown.len();
        screen.say(&format!(
            "warning: {name}: {n} feature(s) that the model has never seen carry no weight (such as {first})"
        ));
    }
    if let Some(first) = differ.absent.first() {
        let n = differ.absent.len();
        screen.say(&format!(
            "warning: {name} has no value for {n} of the model's {all} features (such as {first}): they count as 0"
        ));
    }
    if let Some(first) = differ.labels.first() {
        let n = differ.labels.len();
        screen
            .say(&format!("warning: {name}: {n} label(s) that the model does not know are left out (such as {first})"));
    }
}

/// Refuses data without a truth, with the file.
pub(super) fn need_truth<T: Show>(set: &T::Set, paths: &[PathBuf]) -> Result<()> {
    match (set.need_truth(), paths.first()) {
        (Err(Error::Data { expected, found }), Some(path)) => {
            Err(Error::Content { path: path.clone(), expected: expected + T::TRUTH, found }.into())
        }
        (other, _) => Ok(other?),
    }
}
