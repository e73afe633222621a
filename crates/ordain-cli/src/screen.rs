//! The one place that prints: data on standard output, everything else on standard error.

use crate::args::Common;
use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A line to standard error; where that is closed there is nobody to tell.
pub(crate) fn complain(text: &str) {
    drop(writeln!(io::stderr(), "{}", shown(text)));
}

/// Whether standard output was closed when the program began (`>&-`). Rust opens `/dev/null` in its place before `main`, and
/// nothing would ever fail.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Looks before `main`, on systems that run such code.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)] // a place in the program file: the code itself is safe, and only tries to copy a descriptor
#[unsafe(link_section = ".init_array")]
#[used]
static LOOK: extern "C" fn() = {
    extern "C" fn look() {
        use std::os::fd::AsFd;
        CLOSED.store(io::stdout().as_fd().try_clone_to_owned().is_err(), Ordering::SeqCst);
    }
    look
};

/// An error where standard output is closed.
pub(crate) fn open() -> io::Result<()> {
    match CLOSED.load(Ordering::SeqCst) {
        false => Ok(()),
        true => Err(io::Error::other("standard output is closed: give it a reader, or a file with -o")),
    }
}

/// Whether a character may move the cursor, change colours or turn text round on a terminal.
fn strange(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Text for people and for tables: no control characters but line ends and tabs; others as `\u{1b}`.
fn shown(text: &str) -> Cow<'_, str> {
    escaped(text, |c| strange(c) && !matches!(c, '\n' | '\t'))
}

/// A name inside a line or a cell: no control characters at all; a tab is `\t`, a line end `\n`.
pub(crate) fn name(text: &str) -> Cow<'_, str> {
    escaped(text, strange)
}

fn escaped(text: &str, which: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&which) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if which(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// Where a command writes.
pub(crate) struct Screen {
    pub(crate) json: bool,
    quiet: bool,
    verbose: bool,
    strict: bool,
    /// The first warning about data, with `--strict`.
    refused: Mutex<Option<String>>,
}

impl Screen {
    pub(crate) fn new(common: &Common) -> Self {
        let Common { json, quiet, verbose, strict, .. } = *common;
        Self { json, quiet, verbose, strict, refused: Mutex::default() }
    }

    /// A warning about data that were read. With `--strict` it is an error, as soon as [`Screen::allow_data`] is asked.
    pub(crate) fn doubt(&self, text: &str) {
        if self.strict {
            let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
            refused.get_or_insert_with(|| text.to_owned());
        } else {
            self.say(&format!("warning: {text}"));
        }
    }

    /// Says what readers noticed; with `--strict` the first doubt is an error.
    pub(crate) fn allow_data(&self) -> Result<()> {
        ordain::data::take_notes().iter().for_each(|note| self.doubt(&note.to_string()));
        match self.refused.lock().unwrap_or_else(PoisonError::into_inner).take() {
            None => Ok(()),
            Some(text) => Err(anyhow::anyhow!("{text} (an error by --strict; leave it out to go on with a warning)")),
        }
    }

    /// Data, to standard output.
    pub(crate) fn data(&self, text: &str) -> Result<()> {
        self.raw(&if self.json { Cow::Borrowed(text) } else { shown(text) })
    }

    /// Data that reach standard output as they are; none, with `--strict`, of data that were read with a doubt.
    pub(crate) fn raw(&self, text: &str) -> Result<()> {
        open()?;
        self.allow_data()?;
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()?;
        Ok(())
    }

    /// One answer as a JSON document on a line of its own.
    pub(crate) fn answer(&self, answer: &impl Serialize) -> Result<()> {
        self.raw(&(serde_json::to_string(answer)? + "\n"))
    }

    /// Whether only errors are said.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// A word to the person, to standard error.
    pub(crate) fn say(&self, text: &str) {
        if !self.quiet {
            complain(text);
        }
    }

    /// A word that only `-v` shows.
    pub(crate) fn detail(&self, text: &str) {
        if self.verbose {
            complain(text);
        }
    }

    /// Progress of long work: a bar on a terminal, else a line per 10 % of work that takes longer than a second, and with `-v` a line for each part of it.
    pub(crate) fn progress(&self) -> Progress {
        let bar = (!self.quiet && io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new(1000);
            if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}") {
                bar.set_style(style);
            }
            bar
        });
        Progress { bar, quiet: self.quiet, verbose: self.verbose, state: Mutex::new((Instant::now(), 0)) }
    }
}

/// See [`Screen::progress`].
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    quiet: bool,
    verbose: bool,
    state: Mutex<(Instant, u32)>,
}

impl Progress {
    pub(crate) fn tell(&self, share: f64, what: &str) {
        if let Some(bar) = &self.bar {
            bar.set_position((share * 1000.0) as u64);
            bar.set_message(what.to_owned());
            return;
        }
        if self.verbose {
            complain(&format!("{:.0} %: {what}", (share * 100.0).floor()));
            return;
        }
        let Ok(mut state) = self.state.lock() else { return };
        let tenth = (share * 10.0) as u32;
        if !self.quiet && tenth > state.1 && state.0.elapsed() > Duration::from_secs(1) {
            state.1 = tenth;
            complain(&format!("{} %: {what}", tenth * 10));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A table of text for people: the first column to the left, the others to the right.
pub(crate) fn table(head: &[String], rows: &[Vec<String>]) -> String {
    let clean = |row: &[String]| row.iter().map(|cell| name(cell).into_owned()).collect::<Vec<String>>();
    let (head, rows) = (&clean(head)[..], &rows.iter().map(|row| clean(row)).collect::<Vec<_>>()[..]);
    let width = |j: usize| rows.iter().chain([&head.to_vec()]).map(|row| row[j].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |row: &[String]| {
        let cells = row.iter().zip(&widths).enumerate();
        let padded = cells.map(|(j, (text, &w))| if j == 0 { format!("{text:<w$}") } else { format!("{text:>w$}") });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    let rule = "─".repeat(widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1));
    line(head) + &rule + "\n" + &rows.iter().map(|row| line(row)).collect::<String>()
}

/// A number with four decimals.
pub(crate) fn four(x: f64) -> String {
    format!("{x:.4}")
}

/// Settings as they are typed: `scale=query lambda=1.0`.
pub(crate) fn assignments(settings: &Map<String, Value>) -> String {
    let one = |(name, value): (&String, &Value)| {
        format!("{name}={}", value.as_str().map_or(value.to_string(), str::to_owned))
    };
    settings.iter().map(one).collect::<Vec<_>>().join(" ")
}
