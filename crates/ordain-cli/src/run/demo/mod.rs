//! `ordain demo`: data, training, comparison and report without anything at hand.

mod labels;
mod matches;
mod pictures;
mod serve;

use super::compare;
use crate::args::{Cli, Command, Demo, DemoArg};
use crate::plan::Usage;
use crate::screen::Screen;
use anyhow::Result;
use clap::Parser;
use ordain::Error;
use ordain::data::{self, split, synthetic::Synthetic};
use std::path::Path;

pub(super) fn run(args: &Demo, screen: &Screen) -> Result<()> {
    match args.what {
        DemoArg::Rank if args.pictures => pictures::run(&args.out, screen),
        _ if args.pictures => Err(Usage("--pictures is for ordain demo rank".into()).into()),
        DemoArg::Rank => rank(&args.out, screen),
        DemoArg::Serve => serve::run(args, screen),
        DemoArg::Annotate => labels::run(&args.out, screen),
        DemoArg::Match => matches::run(&args.out, screen),
        DemoArg::All => {
            rank(&args.out.join("rank"), screen)?;
            labels::run(&args.out.join("annotate"), screen)?;
            matches::run(&args.out.join("match"), screen)
        }
    }
}

fn rank(folder: &Path, screen: &Screen) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|reason| Error::Io { path: folder.into(), action: "create", reason })?;
    let (train, test) = (folder.join("train.txt"), folder.join("test.txt"));
    let set = Synthetic::default().make();
    let (first, last) = split::hold_out(&set.all());
    data::write(&set.only(&first), &train)?;
    data::write(&set.only(&last), &test)?;
    screen.say(&format!(
        "wrote {} and {}: {} and {} queries of made-up data",
        train.display(),
        test.display(),
        first.len(),
        last.len()
    ));
    let report = folder.join("report.html");
    let words =
        ["ordain", "compare", "ranksvm", "rankmatch", "dorm[scale=query,lambda=0.1]", "--train"].map(Into::into);
    let more = [train.as_os_str(), "--test".as_ref(), test.as_os_str(), "--report".as_ref(), report.as_os_str()]
        .map(Into::into);
    let parsed = Cli::try_parse_from(words.into_iter().chain::<[std::ffi::OsString; 5]>(more))?;
    let model = folder.join("model.ordain");
    if let Command::Compare(compare) = &parsed.command {
        compare::run_and_keep(compare, &[(1, &model)], screen)?;
    }
    let (model, test, report) = (model.display(), test.display(), report.display());
    screen.say(&format!(
        "\nwrote {model} and {report}: open the report in a browser. Then try\n  \
         ordain evaluate {model} {test}\n  \
         ordain predict {model} {test} --top 3 --probabilities\n  \
         ordain explain {model} {test} --query {}\n  \
         ordain inspect {model}",
        set_first(&last)
    ));
    Ok(())
}

/// The id of the first test query: made-up queries are numbered from 1.
fn set_first(units: &[u32]) -> u32 {
    units.first().map_or(1, |q| q + 1)
}
