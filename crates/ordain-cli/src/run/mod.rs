//! One file per command.

mod ask;
mod compare;
mod convert;
mod demo;
mod evaluate;
mod explain;
mod export;
mod features;
mod files;
mod fit;
mod inspect;
mod link;
mod make;
mod methods;
mod predict;
mod queries;
mod serve;
mod simulate;

use crate::args::{Cli, Command, Reading};
use crate::plan::Usage;
use crate::screen::{Progress, Screen};
use anyhow::Result;
use ordain::data::pictures::{self, Collection};
use ordain::model_file::{self, AnyModel};
use ordain::solver::run::{Report, Watch};
use ordain::traits::Stop;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// The same call for a model of any task.
macro_rules! each_model {
    ($model:expr, $fitted:ident => $call:expr) => {
        match $model {
            ordain::model_file::AnyModel::Rank($fitted) => $call,
            ordain::model_file::AnyModel::Annotate($fitted) => $call,
            ordain::model_file::AnyModel::Match($fitted) => $call,
            _ => Err($crate::plan::Usage("this command is not for models of this task".into()).into()),
        }
    };
}
use each_model;
pub(crate) use serve::told;

pub(crate) fn run(cli: Cli, command: clap::Command) -> Result<()> {
    let screen = Screen::new(&cli.common);
    if let Some(most) = cli.common.max_line {
        ordain::data::set_max_line(usize::try_from(most)?);
    }
    command_of(cli, command, &screen)?;
    // what was read beside the data, such as scores and lists
    screen.allow_data()
}

fn command_of(cli: Cli, mut command: clap::Command, screen: &Screen) -> Result<()> {
    match cli.command {
        Command::Fit(args) => fit::run(&args, screen),
        Command::Predict(args) => predict::run(&args, screen),
        Command::Evaluate(args) => evaluate::run(&args, screen),
        Command::Compare(args) => compare::run(&args, screen),
        Command::Methods(args) => methods::run(&args, screen),
        Command::Inspect(args) => inspect::run(&args, screen),
        Command::Explain(args) => explain::run(&args, screen),
        Command::Export(args) => export::run(&args, screen),
        Command::Convert(args) => convert::run(&args, screen),
        Command::Simulate(args) => simulate::run(&args, screen),
        Command::Ask(args) => ask::run(&args, screen),
        Command::Serve(args) => serve::run(&args, screen),
        Command::Link(args) => link::run(&args, screen),
        Command::Make(args) => make::run(&args, screen),
        Command::Features(args) => features::run(&args, screen),
        Command::Demo(args) => demo::run(&args, screen),
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

/// A model of any task, for data that are read in this way.
fn open_model(path: &Path, reading: &Reading) -> Result<AnyModel> {
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
    if path.as_os_str() == "-" {
        crate::screen::open()?;
    }
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

/// The pictures of folders; says how many files are none.
fn find_pictures(folders: &[PathBuf], frames: bool, screen: &Screen) -> Result<Collection> {
    let found = pictures::find(folders, frames)?;
    if found.skipped > 0 {
        screen.say(&format!("left out {} files that are no pictures by their names", found.skipped));
    }
    Ok(found)
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
