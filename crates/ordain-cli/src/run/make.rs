//! `ordain make`.

use super::find_pictures;
use crate::args::{Make, MakeArg};
use crate::plan::Usage;
use crate::screen::Screen;
use anyhow::Result;
use ordain::Error;
use ordain::data::pictures::{read_picture, write_grey};
use ordain::data::synthetic::{Levels, Registers, Shapes, Videos};
use ordain::data::{self, split, write_records, write_rows};
use ordain::picture::Grey;
use ordain::random::Random;
use std::path::{Path, PathBuf};

pub(super) fn run(args: &Make, screen: &Screen) -> Result<()> {
    create(&args.output)?;
    let given = |what: Option<u32>, usual: usize| what.map_or(usual, |n| n as usize);
    match args.what {
        MakeArg::Linkage => linkage(args, screen),
        MakeArg::Levels => levels(args, screen),
        MakeArg::Silhouettes => {
            let usual = Shapes::default();
            let shapes = Shapes { each: given(args.each, usual.each), seed: args.seed, ..usual };
            silhouettes(&shapes, &args.output, screen).map(drop)
        }
        MakeArg::Videos => videos(args, screen),
    }
}

fn create(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|reason| Error::Io { path: folder.into(), action: "create", reason })?;
    Ok(())
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

fn levels(args: &Make, screen: &Screen) -> Result<()> {
    let set = Levels { seed: args.seed, ..Levels::default() }.make();
    let (train, test) = split::hold_out(&set.all());
    data::write(&set.only(&train), &args.output.join("train.txt"))?;
    data::write(&set.only(&test), &args.output.join("test.txt"))?;
    screen.say(&format!(
        "wrote train.txt and test.txt ({} and {} queries of 300 documents on three levels) to {}",
        train.len(),
        test.len(),
        args.output.display()
    ));
    Ok(())
}

/// Writes silhouettes into a folder for each class, and a table of their paths with their classes as labels; the table.
pub(super) fn silhouettes(shapes: &Shapes, folder: &Path, screen: &Screen) -> Result<PathBuf> {
    let mut rows = vec![];
    for (n, (class, plane)) in shapes.make().iter().enumerate() {
        let (class, name) = (format!("class{class}"), format!("class{class}-{}", n % shapes.each.max(1)));
        create(&folder.join(&class))?;
        let path = format!("{class}/{name}.png");
        write_grey(plane, &folder.join(&path))?;
        rows.push([name, path, class]);
    }
    let table = folder.join("pictures.csv");
    write_rows(&table, ["id", "photo", "labels"].into_iter(), |row| {
        rows.iter().try_for_each(|cells| row(&mut cells.iter().map(String::as_str)))
    })?;
    let place = folder.display();
    screen.say(&format!("wrote {} pictures of {} classes and pictures.csv to {place}", rows.len(), shapes.classes));
    Ok(table)
}

fn videos(args: &Make, screen: &Screen) -> Result<()> {
    let usual = Videos::default();
    let sequences = args.each.map_or(usual.sequences, |each| each as usize * usual.classes);
    let videos = Videos { sequences, seed: args.seed, ..usual };
    let (names, made) = match &args.from {
        None => ((0..videos.classes).map(|class| format!("class{class}")).collect(), videos.make()),
        Some(folder) => {
            let (names, pictures) = given(folder, videos.classes, screen)?;
            (names, videos.of_pictures(&pictures)?)
        }
    };
    for (n, (class, frames)) in made.iter().enumerate() {
        let folder = args.output.join(&names[*class]).join(format!("{n:03}"));
        create(&folder)?;
        for (k, frame) in frames.iter().enumerate() {
            write_grey(frame, &folder.join(format!("{k}.png")))?;
        }
    }
    screen.say(&format!(
        "wrote {} sequences of {} frames in {} classes to {}",
        made.len(),
        videos.frames,
        videos.classes,
        args.output.display()
    ));
    Ok(())
}

/// The names of the first classes of a folder of pictures, a folder each, and their pictures.
fn given(folder: &Path, classes: usize, screen: &Screen) -> Result<(Vec<String>, Vec<Vec<Grey>>)> {
    let found = find_pictures(&[folder.to_path_buf()], false, screen)?.found;
    let (mut names, mut all): (Vec<String>, Vec<Vec<Grey>>) = (vec![], vec![]);
    for one in &found {
        if names.last() != Some(&one.category) {
            if names.len() == classes {
                break;
            }
            names.push(one.category.clone());
            all.push(vec![]);
        }
        if let Some(last) = all.last_mut() {
            last.push(read_picture(&one.files[0])?.brightness());
        }
    }
    if names.len() < classes {
        let text = format!("--from: expected {classes} folders of pictures, one for each class, found {}", names.len());
        return Err(Usage(text).into());
    }
    Ok((names, all))
}
