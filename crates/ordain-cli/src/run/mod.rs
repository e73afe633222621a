//! One file per command.

mod compare;
mod convert;
mod demo;
mod evaluate;
mod explain;
mod fit;
mod inspect;
mod matches;
mod predict;
mod tags;

use crate::args::{Cli, Command, Reading};
use crate::plan::Usage;
use crate::screen::{Progress, Screen};
use anyhow::Result;
use ordain::data::split::{self, Layout};
use ordain::data::{Aligned, Missing, RankSet};
use ordain::method::Fitted;
use ordain::model_file::{self, Model};
use ordain::solver::run::{Report, Watch};
use ordain::traits::Stop;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

pub(crate) fn run(cli: Cli, mut command: clap::Command) -> Result<()> {
    let screen = Screen::new(&cli.common);
    match cli.command {
        Command::Fit(args) => fit::run(&args, &screen),
        Command::Predict(args) => predict::run(&args, &screen),
        Command::Evaluate(args) => evaluate::run(&args, &screen),
        Command::Compare(args) => compare::run(&args, &screen),
        Command::Inspect(args) => inspect::run(&args, &screen),
        Command::Explain(args) => explain::run(&args, &screen),
        Command::Convert(args) => convert::run(&args, &screen),
        Command::Simulate(args) => tags::simulate::run(&args, &screen),
        Command::Ask(args) => tags::ask::run(&args, &screen),
        Command::Demo(args) => demo::run(&args, &screen),
        Command::Completions { shell } => {
            let mut text = vec![];
            clap_complete::generate(shell, &mut command, "ordain", &mut text);
            screen.data(&String::from_utf8_lossy(&text))
        }
        Command::Man => screen.data(&manual(command)?),
    }
}

/// Work that tells its progress and that Ctrl-C stops, with something to save.
fn watched<T>(screen: &Screen, work: impl FnOnce(&Watch) -> T) -> T {
    crate::STOPPABLE.store(true, Ordering::SeqCst);
    followed(screen, work)
}

/// Work that tells its progress and leaves nothing where it is not finished: Ctrl-C ends it at once.
fn followed<T>(screen: &Screen, work: impl FnOnce(&Watch) -> T) -> T {
    let progress: Progress = screen.progress();
    work(&Watch { stop: &crate::INTERRUPTED, tell: &|share, what| progress.tell(share, what) })
}

/// Files as one data set; a folder stands for its parts S1, S2 … Missing values stay gaps unless they are refused.
fn read_all(paths: &[PathBuf], missing: Missing) -> Result<RankSet> {
    let mut files = vec![];
    for path in paths {
        match path.is_dir().then(|| split::layout(path)).transpose()? {
            None => files.push(path.clone()),
            Some(Layout::Parts(parts)) => files.extend(parts),
            Some(Layout::Folders(folds)) => {
                return Err(ordain::Error::Content {
                    path: path.clone(),
                    expected: "a file, or a folder of parts S1, S2 …".into(),
                    found: format!("folds: name a file, such as {}", folds[0][2].display()),
                }
                .into());
            }
        }
    }
    Ok(ordain::data::read(&[files], missing)?.0)
}

/// Looks at a file that could not be read, for a better message. A stream is gone by then.
fn looked(path: &Path, look: impl Fn(&Path) -> bool) -> bool {
    !ordain::data::is_stream(path) && look(path)
}

/// A data set as a model wants it: its own rule for missing values, its columns.
fn read_for(model: &Fitted, paths: &[PathBuf], screen: &Screen) -> Result<RankSet> {
    let mut set = read_all(paths, model.ranker.missing)?;
    let name = paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    let differ = model.ranker.prepare(&mut set).map_err(|error| anyhow::Error::from(error).context(name.clone()))?;
    warn_of_columns(&differ, model.ranker.columns.names.len(), &name, screen);
    Ok(set)
}

/// A model of any task, for data that are read in this way.
fn open_model(path: &Path, reading: &Reading) -> Result<Model> {
    refuse_missing(reading)?;
    Ok(model_file::load_any(path)?)
}

/// A model keeps its own rule for missing values, whatever its task and whatever is done with it.
fn refuse_missing(reading: &Reading) -> Result<()> {
    match reading.missing {
        Some(_) => Err(Usage("a model has its own rule for missing values: leave out --missing".into()).into()),
        None => Ok(()),
    }
}

/// Says in which columns data differ from a model of `all` columns.
fn warn_of_columns(differ: &Aligned, all: usize, name: &str, screen: &Screen) {
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
}

/// A fit in JSON.
fn fit_document(
    method: &str,
    report: &Report,
    settings: &Map<String, Value>,
    examples: Value,
    seconds: f64,
    model: &Path,
) -> Value {
    let mut document = json!({
        "method": method,
        "objective": report.objective,
        "gap": report.gap,
        "iterations": report.iterations,
        "gradient": report.gradient,
        "stop": report.stop.name(),
        "settings": settings,
        "examples": examples,
        "seconds": seconds,
        "model": model.display().to_string(),
    });
    if let Some(rounds) = report.rounds {
        document["rounds"] = rounds.into();
    }
    document
}

/// How a fit ended, as `inspect` shows it.
fn result_line(report: &Report) -> String {
    let Report { objective, iterations, stop, .. } = report;
    format!("result     objective {objective:.6}, {iterations} steps, {}, stop: {}\n", report.accuracy(), stop.name())
}

/// Says of a model that its fit was interrupted.
fn warn_interrupted(report: &Report, path: &Path, screen: &Screen) {
    if report.stop == Stop::Interrupted {
        screen
            .say(&format!("warning: {}: the fit of this model was interrupted before it was complete", path.display()));
    }
}

/// Stops here if Ctrl-C was pressed while there is nothing to save.
fn check_interrupt() -> Result<()> {
    if crate::INTERRUPTED.load(Ordering::SeqCst) {
        return Err(ordain::Error::Interrupted.into());
    }
    Ok(())
}

/// Refuses a folder that cannot be written to before hours of work, not after.
fn check_output(path: &Path) -> Result<()> {
    let folder: PathBuf = path.parent().filter(|p| !p.as_os_str().is_empty()).map_or(".".into(), Path::to_path_buf);
    if path.as_os_str() != "-" && !folder.is_dir() {
        return Err(ordain::Error::Content {
            path: path.into(),
            expected: format!("a name in a folder that exists (mkdir -p {})", folder.display()),
            found: "none such".into(),
        }
        .into());
    }
    if path.is_dir() {
        return Err(ordain::Error::Content {
            path: path.into(),
            expected: "the name of a file".into(),
            found: "a folder".into(),
        }
        .into());
    }
    Ok(())
}

/// Refuses to write over what is read.
fn check_not_input<'a>(output: &Path, inputs: impl IntoIterator<Item = &'a PathBuf>) -> Result<()> {
    let place = |path: &Path| std::fs::canonicalize(path).ok().filter(|place| place.is_file());
    match inputs.into_iter().find(|input| place(output).is_some() && place(output) == place(input)) {
        None => Ok(()),
        Some(input) => Err(ordain::Error::Content {
            path: output.into(),
            expected: "another name for the output".into(),
            found: format!("that of the input {}", input.display()),
        }
        .into()),
    }
}

/// One page with all commands and their options.
fn manual(mut command: clap::Command) -> Result<String> {
    command.build();
    let mut text = vec![];
    let page = clap_mangen::Man::new(command.clone());
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_description_section(&mut text)?;
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
        text.extend_from_slice(format!(".SH \"ORDAIN {}\"\n", sub.get_name().to_uppercase()).as_bytes());
        let page = clap_mangen::Man::new(sub.clone());
        let mut part = vec![];
        page.render_synopsis_section(&mut part)?;
        page.render_description_section(&mut part)?;
        page.render_options_section(&mut part)?;
        page.render_extra_section(&mut part)?;
        // the sections of a command stand below its heading
        text.extend_from_slice(String::from_utf8_lossy(&part).replace(".SH ", ".SS ").as_bytes());
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}
