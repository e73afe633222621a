//! The one place that prints: data on standard output, everything else on standard error.

use crate::args::Common;
use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use serde_json::{Map, Value};
use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A line to standard error; where that is closed there is nobody to tell.
pub(crate) fn complain(text: &str) {
    drop(writeln!(io::stderr(), "{text}"));
}

/// Where a command writes.
pub(crate) struct Screen {
    pub(crate) json: bool,
    quiet: bool,
    verbose: bool,
}

impl Screen {
    pub(crate) fn new(common: &Common) -> Self {
        Self { json: common.json, quiet: common.quiet, verbose: common.verbose }
    }

    /// Data, to standard output.
    pub(crate) fn data(&self, text: &str) -> Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()?;
        Ok(())
    }

    /// One answer as a JSON document on a line of its own.
    pub(crate) fn answer(&self, answer: &impl Serialize) -> Result<()> {
        self.data(&(serde_json::to_string(answer)? + "\n"))
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
