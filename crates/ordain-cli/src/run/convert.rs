//! `ordain convert`.

use super::{check_not_input, check_output, files, queries};
use crate::args::{Convert, FromArg, ToArg};
use crate::plan::{self, Usage};
use crate::screen::Screen;
use crate::show::{Given, Show};
use anyhow::Result;
use ordain::data::{
    Foreign, ForeignTable, Holds, MatchReading, Missing, PointFeature, is_frames, is_table, read_foreign,
    write_contexts, write_splink,
};
use ordain::method::{Annotate, Match, Rank};
use ordain::task::{DataSet, Task};
use serde_json::{Map, Value};
use std::path::Path;

pub(super) fn run(args: &Convert, screen: &Screen) -> Result<()> {
    check_output(&args.output)?;
    check_not_input(&args.output, args.input.iter().chain(&args.points.pairs).chain(&args.qrels))?;
    if let Some(from) = args.from {
        return foreign(args, from, screen);
    }
    if let Some(ToArg::Splink) = args.to {
        return for_splink(args, screen);
    }
    if let Some(what) = &args.items.queries {
        plan::check_convert(args, Annotate::WORDS)?;
        return queries::run(args, what, screen);
    }
    let holds = |what: Holds| args.input.iter().any(|path| files::what(path, &args.reading, &args.columns) == what);
    if holds(Holds::Problems) {
        return match frames(args, screen)? {
            true => Ok(()),
            false => convert::<Match>(args, screen),
        };
    }
    if holds(Holds::Items) { convert::<Annotate>(args, screen) } else { convert::<Rank>(args, screen) }
}

/// Makes a table of files of another program.
fn foreign(args: &Convert, from: FromArg, screen: &Screen) -> Result<()> {
    let labels = args.reading.labels.as_deref().map(Path::new);
    let (program, beside) = match (from, args.qrels.as_deref(), labels) {
        (FromArg::Splink, Some(_), _) => {
            return Err(Usage("--qrels is for --from es-log and solr; of splink --labels FILE has them".into()).into());
        }
        (FromArg::EsLog | FromArg::Solr, _, Some(_)) => {
            return Err(Usage("--labels is for --from splink; of search engines --qrels FILE has grades".into()).into());
        }
        (FromArg::EsLog, qrels, None) => (Foreign::EsLog, qrels),
        (FromArg::Solr, qrels, None) => (Foreign::Solr, qrels),
        (FromArg::Splink, None, labels) => (Foreign::Splink, labels),
    };
    if args.output.as_os_str() != "-" && !is_table(&args.output) {
        return Err(Usage("--from makes a table: give the output the ending .csv or .tsv".into()).into());
    }
    let table = read_foreign(&args.input, program, beside)?;
    screen.allow_data()?;
    table.write(&args.output)?;
    let ForeignTable { rows, missing, unjudged, .. } = &table;
    if screen.json && args.output.as_os_str() != "-" {
        let numbers = [("rows", rows.len()), ("missing", *missing), ("unjudged", *unjudged)];
        let mut answer: Map<String, Value> =
            numbers.into_iter().map(|(name, number)| (name.to_owned(), number.into())).collect();
        answer.insert("output".into(), args.output.display().to_string().into());
        screen.answer(&answer)?;
    }
    if *missing > 0 {
        let cure = if program == Foreign::Splink { "" } else { "; --missing zero counts them 0, as engines do" };
        screen.say(&format!("note: {missing} features have no value{cure}"));
    }
    if *unjudged > 0 {
        screen.say(&match program {
            Foreign::Splink => format!("note: {unjudged} labels are of pairs that are no edges"),
            _ => format!("note: {unjudged} documents have no judgement: their grade is 0"),
        });
    }
    screen.say(&format!("wrote {} rows to {}", rows.len(), args.output.display()));
    Ok(())
}

/// Writes edges of matching for splink.
fn for_splink(args: &Convert, screen: &Screen) -> Result<()> {
    plan::check_convert(args, Match::WORDS)?;
    let given = Given::new(&args.reading, &args.columns, &args.points);
    let how = MatchReading { missing: Missing::Keep, ..<Match as Show>::reading(&given)? };
    let (set, _) = files::read::<Match>(std::slice::from_ref(&args.input), &how, "--to splink", &given)?;
    files::say_columns(set.columns(), &given, screen)?;
    screen.allow_data()?;
    write_splink(&set, &args.output)?;
    if screen.json && args.output.as_os_str() != "-" {
        let answer = [("rows", Value::from(set.rows())), ("output", args.output.display().to_string().into())];
        screen.answer(&answer.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>())?;
    }
    screen.say(&format!("wrote {} edges to {}", set.rows(), args.output.display()));
    Ok(())
}

fn convert<T: Show>(args: &Convert, screen: &Screen) -> Result<()> {
    plan::check_convert(args, T::WORDS)?;
    let given = Given::new(&args.reading, &args.columns, &args.points);
    let how = T::reading(&given)?;
    let (mut set, _) = files::read::<T>(std::slice::from_ref(&args.input), &how, "this task", &given)?;
    files::say_columns(set.columns(), &given, screen)?;
    T::warn_of_set(&set, &given, &files::named(&args.input), screen);
    screen.allow_data()?;
    files::numeric::<T>(&mut set)?;
    set.fill(T::missing(&how), &set.all());
    written::<T>(&set, &args.output, screen)
}

/// Writes a set, and says so.
pub(super) fn written<T: Show>(set: &T::Set, output: &Path, screen: &Screen) -> Result<()> {
    T::write(set, output)?;
    if screen.json && output.as_os_str() != "-" {
        let mut answer = Map::from_iter([("rows".into(), set.rows().into()), ("units".into(), set.len().into())]);
        answer.extend(T::converted_facts(set).into_iter().map(|(name, value)| (name.to_owned(), value)));
        answer.insert("output".into(), output.display().to_string().into());
        screen.answer(&answer)?;
    }
    T::converted(set, output, screen);
    Ok(())
}

/// Writes the shape contexts of the points of frames that no pairs join; whether the input is such points.
fn frames(args: &Convert, screen: &Screen) -> Result<bool> {
    let [input] = args.input.as_slice() else { return Ok(false) };
    if args.points.pairs.is_some() || !is_frames(input) {
        return Ok(false);
    }
    let reading = plan::match_reading(&args.reading, &args.columns, &args.points)?;
    if reading.features.iter().any(|feature| *feature != PointFeature::ShapeContext) {
        let text = "--point-features: points of frames alone give shape-context; with --pairs FILE, which says which frames belong together, all features of their edges";
        return Err(Usage(text.into()).into());
    }
    let points = write_contexts(input, &args.output)?;
    let output = args.output.display().to_string();
    if screen.json && output != "-" {
        let answer = [("rows", Value::from(points)), ("output", output.clone().into())];
        screen.answer(&answer.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>())?;
    }
    screen
        .say(&format!("wrote the shape contexts of {points} points to {output}; with --pairs FILE it would be edges"));
    Ok(true)
}
