//! `ordain export`.

use super::{check_not_input, check_output, each_model, files};
use crate::args::{self, Export};
use crate::plan::Usage;
use crate::screen::Screen;
use crate::show::{Given, Show};
use anyhow::Result;
use ordain::data::{Holds, write_whole};
use ordain::export::{Exports, Options, SelfCheck, Target, export};
use ordain::task::Fitted;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Rows that are made up for a self-check without data.
const MADE_UP: usize = 100;

pub(super) fn run(args: &Export, screen: &Screen) -> Result<()> {
    let to: Target = args.to.parse()?;
    check_output(&args.output)?;
    check_not_input(&args.output, [&args.model].into_iter().chain(&args.check))?;
    let model = super::open_model(&args.model, &args.reading)?;
    each_model!(model, fitted => write(&fitted, to, args, screen))
}

/// A name with more at its end.
fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// How the model is to be written, but for what the self-check says.
fn options<T: Show>(args: &Export) -> Result<Options> {
    let pair = |text: &String| match text.split_once('=') {
        Some((own, engine)) if !own.is_empty() && !engine.is_empty() => Ok((own.to_owned(), engine.to_owned())),
        _ => Err(Usage(format!("--map: expected COLUMN=NAME, found {text:?}"))),
    };
    let usual = Options::default();
    let (query, keys): (Option<&str>, &[&str]) = match T::WORDS.file {
        Holds::Queries => (Some("qid"), &["docid"]),
        Holds::Items => (None, &["id"]),
        Holds::Problems => (Some("problem"), &["left", "right"]),
    };
    let keys = match &args.key {
        Some(list) => list.split(',').map(str::to_owned).collect(),
        None => keys.iter().map(|&key| key.to_owned()).collect(),
    };
    Ok(Options {
        name: args.name.clone().unwrap_or(usual.name),
        featureset: args.featureset.clone().unwrap_or(usual.featureset),
        store: args.store.clone().unwrap_or(usual.store),
        map: args.map.iter().map(pair).collect::<Result<_, _>>()?,
        shift: None,
        dialect: args.dialect.parse()?,
        table: args.table.clone().unwrap_or(usual.table),
        query: args.group.clone().or(query.map(str::to_owned)),
        keys,
        one_query_per_call: args.one_query_per_call,
    })
}

fn write<T: Show + Exports>(fitted: &Fitted<T>, to: Target, args: &Export, screen: &Screen) -> Result<()> {
    let mut how = options::<T>(args)?;
    super::warn_interrupted(&fitted.facts.report, &args.model, screen);
    export(fitted, to, &how)?; // refused before anything is read
    let check = match &args.check {
        Some(data) => {
            let (columns, points) = (args::Columns::default(), args::Points::default());
            let given = Given::new(&args.reading, &columns, &points);
            let ready = files::read_for(fitted, std::slice::from_ref(data), &given, screen)?;
            SelfCheck::on_data(fitted, to, &ready, args.rows)?
        }
        None => SelfCheck::made_up(fitted, to, MADE_UP)?,
    };
    if args.shift {
        how.shift = Some((1.0 - check.least).max(0.0) as f32);
    }
    let made = export(fitted, to, &how)?;
    write_whole(&args.output, |out| out.write_all(&made.bytes))?;
    let mut written = vec![args.output.clone()];
    if args.output.as_os_str() != "-" {
        let text = serde_json::to_string(&check)? + "\n";
        for (end, bytes) in
            made.beside.iter().map(|(end, bytes)| (*end, &bytes[..])).chain([(".check.json", text.as_bytes())])
        {
            let path = beside(&args.output, end);
            write_whole(&path, |out| out.write_all(bytes))?;
            written.push(path);
        }
    } else if !made.beside.is_empty() {
        screen.say("warning: what belongs beside the model is not written to standard output: give -o FILE");
    }
    if screen.json && args.output.as_os_str() != "-" {
        screen.answer(&json!({
            "to": to.name(),
            "files": written.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
            "rows": check.rows,
            "difference": check.difference,
            "order_changes": check.order_changes,
            "least": check.least,
            "warnings": made.warnings,
        }))?;
    }
    for path in &written {
        screen.say(&format!("wrote {}", path.display()));
    }
    made.warnings.iter().for_each(|warning| screen.say(&format!("note: {warning}")));
    say_check(&check, args, screen);
    Ok(())
}

/// What the self-check found.
fn say_check(check: &SelfCheck, args: &Export, screen: &Screen) {
    let rows = if args.check.is_some() { "rows of the data" } else { "made-up rows" };
    screen.say(&format!(
        "self-check on {} {rows}: largest difference {:.1e} of the largest score, {} changes of order, least score {:.4}",
        check.rows, check.difference, check.order_changes, check.least
    ));
    if check.difference > check.tolerance {
        screen.say(&format!(
            "warning: the difference is above {:e}: terms cancel in single precision; fit with scaled columns (scale=global)",
            check.tolerance
        ));
    }
    if let Some([a, b]) = check.changed {
        screen.say(&format!(
            "warning: in the arithmetic of the target rows {} and {} of query {} change their order; they score {} and {}",
            a + 1,
            b + 1,
            check.query[a],
            check.expected[a],
            check.expected[b]
        ));
    }
}
