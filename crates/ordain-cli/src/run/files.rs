//! Data files: what they hold, and how they become a set for a task or for a model.

use crate::args;
use crate::plan::{self, Usage};
use crate::screen::Screen;
use crate::show::{Given, Parts, Show};
use anyhow::Result;
use ordain::Error;
use ordain::data::{Aligned, Columns, Holds, Role, holds, is_stream, split, texts};
use ordain::features::Steps;
use ordain::task::{DataSet, Fitted, Model, Ready};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What a file holds, as far as its beginning and the options tell; queries where nothing says otherwise.
pub(super) fn what(path: &Path, reading: &args::Reading, columns: &args::Columns) -> Holds {
    match () {
        () if reading.labels.is_some() => Holds::Items,
        () if columns.query.is_some() => Holds::Queries,
        () if columns.left.is_some() => Holds::Problems,
        () => holds(path).unwrap_or(Holds::Queries),
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

/// Says which columns were found under other names than the usual ones, although nobody named them.
pub(super) fn say_columns(columns: &Columns, given: &Given, screen: &Screen) -> Result<()> {
    let roles = plan::roles(given.columns)?;
    if roles.features.is_some() && columns.roles.features.is_none() {
        screen.say("note: --point-features is the new name of --features for points");
    }
    if !columns.coarse.is_empty() {
        screen.doubt(&format!(
            "{} loses more than 1e-6 of its spread in single precision: subtract a constant from it first, such as its least value",
            columns.coarse.join(", ")
        ));
    }
    screen.allow_data()?;
    let found = columns.roles.found_beside(&roles);
    if found.is_empty() {
        return Ok(());
    }
    let said: Vec<String> = found.iter().map(|(option, name)| format!("{name} is the {option}")).collect();
    screen.say(&format!("columns: {} (--{} NAME takes another)", said.join(", "), found[0].0));
    Ok(())
}

/// Makes columns of numbers of cells that are none, by steps that all of the set teaches.
pub(super) fn numeric<T: Show>(set: &mut T::Set) -> Result<()> {
    let steps = Steps::learn(set, &set.all())?;
    Ok(steps.apply(set)?)
}

/// Refuses columns that are named otherwise than the model knows them.
fn agree<T: Show>(fitted: &Fitted<T>, given: &Given) -> Result<()> {
    let roles = plan::roles(given.columns)?;
    match roles.contradicts(&fitted.model.inputs().columns.roles) {
        None => Ok(()),
        Some((option, here, there)) => {
            let there = if there.is_empty() { "none".into() } else { there };
            let text = format!(
                "--{option} {here}: the model was trained with {there}, which it remembers: leave out --{option}"
            );
            Err(Usage(text).into())
        }
    }
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
    agree(fitted, given)?;
    if given.links.is_some() && !T::has_links(model) {
        let text =
            "--links: this model was fitted without links between documents, and would not look at them: leave it out";
        return Err(Usage(text.into()).into());
    }
    let wants = fitted.facts.settings.get("kernel").is_some_and(|kernel| kernel == "given");
    match (wants, given.gram) {
        (true, None) => {
            let text =
                "this model has kernel=given: it wants the kernel of the items with its training items, --gram FILE";
            return Err(Usage(text.into()).into());
        }
        (false, Some(_)) => return Err(Usage("--gram is for models with kernel=given: leave it out".into()).into()),
        _ => {}
    }
    let (mut set, _) = read::<T>(&[paths.to_vec()], &T::reading_for(model, given), "this model", given)?;
    if let Some(gram) = given.gram {
        set = T::with_gram(set, gram, Some(&model.inputs().columns.names))?;
    }
    let name = named(paths);
    T::warn_of_set(&set, given, &name, screen);
    let ready = model.prepare_owned(set).map_err(|error| anyhow::Error::from(error).context(name.clone()))?;
    warn_of_names::<T>(ready.differ(), model.inputs().columns.names.len(), &name, screen);
    screen.allow_data()?;
    Ok(ready)
}

/// Says in which columns and labels data differ from a model of `all` columns.
fn warn_of_names<T: Show>(differ: &Aligned, all: usize, name: &str, screen: &Screen) {
    if let Some(first) = differ.unknown.first() {
        let n = differ.unknown.len();
        screen
            .doubt(&format!("{name}: {n} feature(s) that the model has never seen carry no weight (such as {first})"));
    }
    if let Some(first) = differ.absent.first() {
        let n = differ.absent.len();
        screen.doubt(&format!(
            "{name} has no value for {n} of the model's {all} features (such as {first}): they count as 0"
        ));
    }
    if let Some(first) = differ.labels.first() {
        let n = differ.labels.len();
        screen.doubt(&match T::WORDS.file {
            Holds::Queries => {
                format!("{name}: {n} item(s) that the model does not know have no bias and no links (such as {first})")
            }
            _ => format!("{name}: {n} label(s) that the model does not know are left out (such as {first})"),
        });
    }
}

/// The units of some files of a table, without the newest fifth by a column, and these.
pub(super) fn split_by<T: Show>(
    set: &T::Set,
    units: &[u32],
    files: &[PathBuf],
    column: &str,
    given: &Given,
) -> Result<(Vec<u32>, Vec<u32>)> {
    let (mut cells, mut names) = (vec![], vec![]);
    for file in files {
        if is_stream(file) {
            let text = format!("--split-by {column}: {} cannot be read twice: give a file", file.display());
            return Err(Usage(text).into());
        }
        let keys: Vec<Role> = T::UNIT.into_iter().collect();
        for mut row in texts(file, &plan::roles(given.columns)?, &keys, &[column.to_owned()])? {
            cells.extend(row.pop());
            names.extend(row.pop());
        }
    }
    let mut newest = vec![0; set.len()];
    for (unit, moment) in T::unit_of_rows(set, &names).into_iter().zip(split::moments(&cells)?) {
        newest[unit as usize] = newest[unit as usize].max(moment);
    }
    Ok(split::newest(units, |unit| newest[unit as usize])?)
}

/// Most columns that are named when data leave what a model has seen.
const NAMED: usize = 5;

/// Says which columns have left what the model has seen of them, and how far.
pub(super) fn say_left<T: Show>(ready: &Ready<'_, T>, paths: &[PathBuf], screen: &Screen) {
    let (left, names) = (ready.left(), &ready.set().columns().names);
    let percent = |share: f64| format!("{:.0} %", (100.0 * share).max(1.0));
    for one in left.iter().take(NAMED) {
        let side = |count: usize, place: usize| {
            let [way, end, to] = [["below", "least", "down to"], ["above", "largest", "up to"]][place];
            (count > 0).then(|| {
                let share = percent(count as f64 / one.rows as f64);
                format!(
                    "{share} of rows {way} {}, the {end} value in training ({to} {})",
                    one.range[place], one.now[place]
                )
            })
        };
        let said = [side(one.below, 0), side(one.above, 1)].into_iter().flatten();
        let moved = one.moved.map(|share| format!("{} of rows beyond a quartile of training", percent(share)));
        let all: Vec<String> = said.chain(moved).collect();
        screen.say(&format!("note: {}: {}: {}", named(paths), crate::screen::name(&names[one.column]), all.join("; ")));
    }
    if left.len() > NAMED {
        screen.say(&format!("note: {} other columns have left what the model has seen too", left.len() - NAMED));
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
