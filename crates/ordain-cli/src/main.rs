//! The `ordain` command: what was typed ([`args`]), what it means ([`plan`]), and what is then done ([`run`]).

mod args;
mod help;
mod plan;
mod report;
mod run;
mod screen;
mod show;
mod signals;

use anyhow::Result;
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches};
use std::io::Write;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// Set by the first Ctrl-C, SIGTERM or SIGHUP.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// The number of the last signal: an interrupted program ends with 128 and it.
static SIGNAL: AtomicU8 = AtomicU8::new(2);
/// Set while there is work that can stop and save what it has.
static STOPPABLE: AtomicBool = AtomicBool::new(false);

/// The server that runs, if one does: it ends when it is asked to, and reads its models again.
static SERVER: OnceLock<ordain_serve::Control> = OnceLock::new();

/// What Ctrl-C does.
#[derive(Debug, PartialEq)]
enum Pressed {
    /// The work stops and saves what it has.
    Stop,
    /// The program ends at once.
    End,
}

/// The first Ctrl-C asks work that has something to save to stop; without such work it ends at once, and so does the second.
fn pressed(interrupted: &AtomicBool, stoppable: &AtomicBool) -> Pressed {
    let again = interrupted.swap(true, Ordering::SeqCst);
    if again || !stoppable.load(Ordering::SeqCst) { Pressed::End } else { Pressed::Stop }
}

fn main() -> ExitCode {
    let command = args::Cli::command().mut_subcommand("fit", help::short);
    let cli = match command.clone().try_get_matches().and_then(|m| args::Cli::from_arg_matches(&m)) {
        Ok(cli) => cli,
        Err(error) => return explain(&error),
    };
    let quiet = cli.common.quiet;
    let handled = signals::handle(move |signal| {
        if let Some(server) = SERVER.get()
            && run::told(server, signal)
        {
            return;
        }
        SIGNAL.store(signal, Ordering::SeqCst);
        match pressed(&INTERRUPTED, &STOPPABLE) {
            Pressed::Stop if quiet => {}
            Pressed::Stop => screen::complain("stopping, to save the best so far; Ctrl-C again ends at once"),
            Pressed::End => {
                ordain::data::abandon_writes();
                screen::complain("interrupted");
                std::process::exit(128 + i32::from(signal));
            }
        }
    });
    if let Err(error) = handled {
        screen::complain(&format!("warning: Ctrl-C will end at once: {error}"));
    }
    match start(cli, command) {
        Ok(()) if INTERRUPTED.load(Ordering::SeqCst) => interrupted(),
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error),
    }
}

/// How an interrupted program ends.
fn interrupted() -> ExitCode {
    ExitCode::from(128 + SIGNAL.load(Ordering::SeqCst))
}

/// Prints the help, or what is wrong with the words of the command.
fn explain(error: &clap::Error) -> ExitCode {
    let code = u8::try_from(error.exit_code()).unwrap_or(2);
    let asked = error.kind() == ErrorKind::DisplayHelp;
    let method = asked.then(|| help::of_method(std::env::args().skip(1))).flatten();
    let print = || -> std::io::Result<()> {
        if !error.use_stderr() {
            screen::open()?;
        }
        match &method {
            Some(text) => std::io::stdout().write_all(text.as_bytes())?,
            None => error.print()?,
        }
        std::io::stdout().flush()
    };
    match print() {
        Err(reason) if !error.use_stderr() => fail(&reason.into()),
        _ => ExitCode::from(code),
    }
}

fn start(cli: args::Cli, command: clap::Command) -> Result<()> {
    if let Some(threads) = cli.common.threads {
        rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global()?;
    }
    run::run(cli, command)
}

/// Says what is wrong, in one line, and how it ends: 2 for wrong usage, 128 and the signal when interrupted, else 1.
fn fail(error: &anyhow::Error) -> ExitCode {
    let broken_pipe = |e: &std::io::Error| e.kind() == std::io::ErrorKind::BrokenPipe;
    let by_library = matches!(error.downcast_ref(), Some(ordain::Error::Io { reason, .. }) if broken_pipe(reason));
    if by_library || error.downcast_ref().is_some_and(broken_pipe) {
        return ExitCode::SUCCESS; // whoever read our output has seen enough
    }
    if matches!(error.downcast_ref(), Some(ordain::Error::Interrupted)) {
        screen::complain("interrupted");
        return interrupted();
    }
    if error.downcast_ref::<plan::Usage>().is_some() {
        screen::complain(&format!("error: {error}"));
        return ExitCode::from(2);
    }
    let links: Vec<String> = error.chain().map(said).collect();
    screen::complain(&format!("error: {}", links.join(": ")));
    ExitCode::FAILURE
}

/// The text of an error, with options as they are typed.
fn said(error: &(dyn std::error::Error + 'static)) -> String {
    match error.downcast_ref::<ordain::Error>() {
        Some(error) => error.told(|option, value| format!("--{option} {}", value.escape_debug())),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ctrl_c_stops_work_that_can_save_and_ends_everything_else() {
        let (interrupted, stoppable) = (AtomicBool::new(false), AtomicBool::new(true));
        assert_eq!(pressed(&interrupted, &stoppable), Pressed::Stop);
        assert!(interrupted.load(Ordering::SeqCst));
        assert_eq!(pressed(&interrupted, &stoppable), Pressed::End);
        assert_eq!(pressed(&AtomicBool::new(false), &AtomicBool::new(false)), Pressed::End);
    }
}
