//! `ordain demo rank --pictures`: from pixels to a ranking, without anything at hand.

use crate::args::{Cli, Command};
use crate::run::{compare, convert, features, make};
use crate::screen::Screen;
use anyhow::Result;
use clap::Parser;
use ordain::data::synthetic::Shapes;
use std::path::Path;

pub(super) fn run(folder: &Path, screen: &Screen) -> Result<()> {
    let at = |name: &str| folder.join(name).display().to_string();
    let (pictures, table, train, test) = (at("pictures"), at("pictures.csv"), at("train.csv"), at("test.csv"));
    let shapes = Shapes { each: 10, ..Shapes::default() };
    make::silhouettes(&shapes, Path::new(&pictures), screen)?;
    let ordain = |words: &[&str]| -> Result<()> {
        screen.say(&format!("\nordain {}", words.join(" ")));
        match &Cli::try_parse_from(["ordain"].iter().chain(words))?.command {
            Command::Features(args) => features::run(args, screen),
            Command::Convert(args) => convert::run(args, screen),
            Command::Compare(args) => compare::run(args, screen),
            _ => Ok(()),
        }
    };
    ordain(&["features", &pictures, "-o", &table, "--shape", "--gradients", "8", "--grid", "4"])?;
    for (rows, path) in [("even", &train), ("odd", &test)] {
        ordain(&["convert", &table, path, "--queries", "image=category", "--rows", rows, "--per-category", "3"])?;
    }
    let report = at("report.html");
    let methods = ["ranksvm", "ballrank[kernel=rbf]"];
    ordain(&[&["compare"], &methods[..], &["--train", &train, "--test", &test, "--report", &report]].concat())?;
    screen.say(&format!("\nwrote {report}: open it in a browser"));
    Ok(())
}
