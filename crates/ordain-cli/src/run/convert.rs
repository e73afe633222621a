//! `ordain convert`.

use super::{check_not_input, check_output, files, queries};
use crate::args::Convert;
use crate::plan::{self, Usage};
use crate::screen::Screen;
use crate::show::{Given, Show};
use anyhow::Result;
use ordain::data::{Holds, PointFeature, is_frames, write_contexts};
use ordain::method::{Annotate, Match, Rank};
use ordain::task::{DataSet, Task};
use serde_json::{Map, Value};
use std::path::Path;

pub(super) fn run(args: &Convert, screen: &Screen) -> Result<()> {
    check_output(&args.output)?;
    check_not_input(&args.output, args.input.iter().chain(&args.points.pairs))?;
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
