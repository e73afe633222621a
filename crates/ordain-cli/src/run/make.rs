//! `ordain make`.

use crate::args::{Make, MakeArg};
use crate::screen::Screen;
use anyhow::Result;
use ordain::Error;
use ordain::data::synthetic::Registers;
use ordain::data::{write_records, write_rows};
use ordain::random::Random;
use std::path::Path;

pub(super) fn run(args: &Make, screen: &Screen) -> Result<()> {
    let folder = &args.output;
    std::fs::create_dir_all(folder).map_err(|reason| Error::Io { path: folder.clone(), action: "create", reason })?;
    match args.what {
        MakeArg::Linkage => linkage(args, screen),
    }
}

fn linkage(args: &Make, screen: &Screen) -> Result<()> {
    let registers = Registers { records: args.records as usize, page: None, seed: args.seed };
    let [left, right] = registers.records();
    let path = |name: &str| args.output.join(name);
    write_records(&left, "id", &path("left.csv"))?;
    write_records(&right, "id", &path("right.csv"))?;
    let all = registers.matches();
    let mut some = all.clone();
    Random::new(args.seed).shuffle(&mut some);
    some.truncate(args.known as usize);
    pairs(&all, &path("truth.csv"))?;
    pairs(&some, &path("known.csv"))?;
    screen.say(&format!(
        "wrote left.csv and right.csv ({} records each), truth.csv ({} matches) and known.csv ({} of them) to {}",
        left.len(),
        all.len(),
        some.len(),
        args.output.display()
    ));
    Ok(())
}

fn pairs(pairs: &[(String, String)], path: &Path) -> Result<()> {
    Ok(write_rows(path, ["left", "right"].into_iter(), |row| {
        pairs.iter().try_for_each(|(left, right)| row(&mut [left.as_str(), right].into_iter()))
    })?)
}
