//! `ordain inspect`.

use super::files;
use crate::args::Inspect;
use crate::plan;
use crate::screen::Screen;
use crate::show::{self, Given, Show};
use anyhow::Result;
use ordain::data::Holds;
use ordain::method::{Annotate, Match, Rank};
use ordain::model_file::{self, Opened};
use ordain::task::DataSet;
use serde::Serialize;
use std::time::Instant;

pub(super) fn run(args: &Inspect, screen: &Screen) -> Result<()> {
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
    }
    screen.answer(&answer)
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
