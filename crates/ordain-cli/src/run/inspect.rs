//! `ordain inspect`.

use super::files;
use crate::args::Inspect;
use crate::plan::{self, Usage};
use crate::screen::{Screen, table};
use crate::show::{self, Given, Show};
use anyhow::Result;
use ordain::answer::{Overlap, Shared, overlap};
use ordain::data::Holds;
use ordain::method::{Annotate, Match, Rank};
use ordain::model_file::{self, Opened};
use ordain::task::{DataSet, Fitted, Model as _, Words};
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Instant;

pub(super) fn run(args: &Inspect, screen: &Screen) -> Result<()> {
    if let Some(other) = &args.other {
        if model_file::is_model(&args.file) || model_file::is_model(other) {
            let text = "inspect A B is for two parts of data; a model is inspected by itself, and `evaluate` says what data leave its ranges";
            return Err(Usage(text.into()).into());
        }
        return match files::what(&args.file, &args.reading, &args.columns) {
            Holds::Queries => both::<Rank>(args, other, screen),
            Holds::Items => both::<Annotate>(args, other, screen),
            Holds::Problems => both::<Match>(args, other, screen),
        };
    }
    if args.file.extension().is_some_and(|e| e == "ordain") || model_file::is_model(&args.file) {
        let bytes = model_file::read(&args.file)?;
        let opened = Opened::new(&bytes, &args.file)?;
        return match opened.task() {
            "annotate" => model::<Annotate>(&opened, args, screen),
            "match" => model::<Match>(&opened, args, screen),
            _ => model::<Rank>(&opened, args, screen),
        };
    }
    match files::what(&args.file, &args.reading, &args.columns) {
        Holds::Queries => data::<Rank>(args, screen),
        Holds::Items => data::<Annotate>(args, screen),
        Holds::Problems => data::<Match>(args, screen),
    }
}

fn model<T: Show>(opened: &Opened, args: &Inspect, screen: &Screen) -> Result<()> {
    let (fitted, header) = opened.fitted::<T>()?;
    if !screen.json {
        return screen.data(&show::model(&fitted, &header, &args.file)?);
    }
    // the header with what the model holds beside it; what both name is that of the model
    let mut answer = serde_json::to_value(&header)?;
    if let (Some(map), serde_json::Value::Object(more)) =
        (answer.as_object_mut(), serde_json::to_value(T::model_facts(&fitted))?)
    {
        map.extend(more);
        map.insert("ranges".into(), ranges(&fitted)?);
    }
    screen.answer(&answer)
}

/// Least value, quantiles and largest value of every column in training, by its name.
fn ranges<T: Show>(fitted: &Fitted<T>) -> Result<Value> {
    let inputs = fitted.model.inputs();
    let columns = inputs.columns.names.iter().zip(inputs.ranges.columns());
    Ok(serde_json::to_value(columns.collect::<std::collections::BTreeMap<_, _>>())?)
}

/// What stands in two parts, and how large they are.
#[derive(Serialize)]
struct BothAnswer {
    task: &'static str,
    unit: &'static str,
    parts: [PartAnswer; 2],
    both: Overlap,
}

#[derive(Serialize)]
struct PartAnswer {
    units: usize,
    rows: usize,
}

fn both<T: Show>(args: &Inspect, other: &Path, screen: &Screen) -> Result<()> {
    plan::check_inspect(args, T::WORDS)?;
    let given = Given::new(&args.reading, &args.columns, &args.points);
    let parts = [args.file.clone(), other.to_path_buf()];
    let (set, ranges) =
        files::read::<T>(&parts.clone().map(|file| vec![file]), &T::reading(&given)?, "this task", &given)?;
    files::say_columns(set.columns(), &given, screen)?;
    screen.allow_data()?;
    let first = ranges.first().map_or(0, |range| range.end);
    let of = |units: std::ops::Range<usize>| PartAnswer {
        rows: units.clone().map(|u| set.span(u).len()).sum(),
        units: units.len(),
    };
    let both = overlap(&set, first, |row| T::row_id(&set, row));
    let answer =
        BothAnswer { task: T::WORDS.name, unit: T::WORDS.unit[0], parts: [of(0..first), of(first..set.len())], both };
    if screen.json {
        return screen.answer(&answer);
    }
    screen.data(&both_text(&answer, T::WORDS, &parts))
}

fn both_text(answer: &BothAnswer, words: &Words, parts: &[PathBuf; 2]) -> String {
    let BothAnswer { both, parts: sizes, .. } = answer;
    let mut rows = vec![];
    let mut line = |what: String, shared: &Shared| {
        let share = 100.0 * shared.count as f64 / shared.of.max(1) as f64;
        let examples = shared.examples.iter().map(|text| crate::screen::name(text).into_owned()).collect::<Vec<_>>();
        rows.push(vec![
            what,
            format!("{} of {}", shared.count, shared.of),
            format!("{share:.1} %"),
            examples.join(", "),
        ]);
    };
    line(format!("{} of the same name", words.unit[1]), &both.names);
    if words.unit != words.row {
        line(format!("{} of the same {}", words.unit[1], words.row[1]), &both.units);
    }
    line(format!("{} of the same values", words.row[1]), &both.rows);
    both.ids.iter().for_each(|ids| line(format!("{} of the same id", words.row[1]), ids));
    both.texts.iter().for_each(|own| line(format!("cells of {}", own.column), &own.shared));
    let mut text = String::new();
    for (part, size) in parts.iter().zip(sizes) {
        text += &format!("{}: {}, {} {}\n", part.display(), words.units(size.units), size.rows, words.row[1]);
    }
    let head = ["in both", "of the second", "share", "such as"].map(str::to_owned);
    text + "\n" + &table(&head, &rows)
}

/// What a set holds, and the seconds of reading it.
#[derive(Serialize)]
struct SetAnswer<F> {
    #[serde(flatten)]
    facts: F,
    seconds: Seconds,
}

#[derive(Serialize)]
struct Seconds {
    load: f64,
}

fn data<T: Show>(args: &Inspect, screen: &Screen) -> Result<()> {
    plan::check_inspect(args, T::WORDS)?;
    let given = Given::new(&args.reading, &args.columns, &args.points);
    let start = Instant::now();
    let paths = std::slice::from_ref(&args.file);
    let (mut set, _) = files::read::<T>(&[paths.to_vec()], &T::reading(&given)?, "this task", &given)?;
    files::say_columns(set.columns(), &given, screen)?;
    files::numeric::<T>(&mut set)?;
    let seconds = start.elapsed().as_secs_f64();
    T::warn_of_set(&set, &given, &files::named(paths), screen);
    screen.allow_data()?;
    let facts = T::set_facts(&set);
    if screen.json {
        return screen.answer(&SetAnswer { facts, seconds: Seconds { load: seconds } });
    }
    screen.data(&T::set_text(&set, &facts, &args.file, seconds)?)
}
