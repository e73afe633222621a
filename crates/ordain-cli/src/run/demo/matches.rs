//! `ordain demo match`: a silhouette that is sheared, whose points are found again; and two registers of people.

use crate::args::{Cli, Command};
use crate::run::{compare, followed};
use crate::screen::Screen;
use anyhow::Result;
use clap::Parser;
use ordain::data::synthetic::{Linkage, Silhouettes};
use ordain::data::{MatchReading, MatchSet, read_matches, split, write_matches, write_whole};
use ordain::method::MatchMap;
use ordain::metric::{Convention, Kind, Metric};
use ordain::task::{Method, Model, Training};
use ordain::{Error, model_file};
use std::ffi::OsString;
use std::path::Path;

/// Points of the silhouette, and pairs of pictures to train, to choose and to test on.
const POINTS: usize = 15;
const PAIRS: [usize; 3] = [30, 15, 40];
/// How far pictures are sheared.
const SHEAR: f64 = 0.9;
/// Pages of the registers, and people on a page.
const PAGES: usize = 60;
const PEOPLE: usize = 6;
const METHODS: [&str; 2] = ["matchmap", "matchmargin"];

pub(in crate::run) fn run(folder: &Path, screen: &Screen) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|reason| Error::Io { path: folder.into(), action: "create", reason })?;
    let at = |name: &str| folder.join(name);
    let report = at("report.html");
    let (set, parts) = Silhouettes { points: POINTS, pairs: PAIRS, shear: SHEAR, ..Silhouettes::default() }.make();
    let files = ["train.csv", "valid.csv", "test.csv"].map(at);
    for (range, file) in parts.into_iter().zip(&files) {
        let units: Vec<u32> = range.map(|p| p as u32).collect();
        write_points(&set.only(&units), file)?;
    }
    let [train, valid, test] = &files;
    screen.say(&format!(
        "wrote {}, {} and {}: {POINTS} points of a silhouette in {} pairs of pictures, each sheared in its own way",
        train.display(),
        valid.display(),
        test.display(),
        set.len()
    ));
    let mut words: Vec<OsString> = ["ordain", "compare"].iter().chain(&METHODS).map(Into::into).collect();
    for (name, file) in [("--train", train), ("--valid", valid), ("--test", test), ("--report", &report)] {
        words.extend([name.into(), file.clone().into()]);
    }
    let (model, mut errors) = (at("model.ordain"), vec![]);
    if let Command::Compare(compare) = &Cli::try_parse_from(words)?.command {
        errors = compare::run_and_keep(compare, &[(0, &model)], screen)?;
    }
    let (tested, _) = read_matches(&[vec![test.clone()]], &MatchReading::default())?;
    let plain = unlearned(&tested)?;
    if let [family, margin] = errors[..] {
        screen.say(&format!(
            "\nShare of points that are matched wrongly: {plain:.4} by the shape contexts as they are, {family:.4} by matchmap and \
             {margin:.4} by matchmargin, which have learned what each part of a context is worth.\n"
        ));
    }
    let linked = registers(folder, screen)?;
    let (model, test, report) = (model.display(), test.display(), report.display());
    screen.say(&format!(
        "\nwrote {model} and {report}: open the report in a browser, it shows the matches. Then try\n  \
         ordain evaluate {model} {test}\n  \
         ordain predict {model} {test} --check 10\n  \
         ordain explain {model} {test} --problem {}\n  \
         ordain inspect {model}\n{linked}",
        tested.problem(0).name
    ));
    Ok(())
}

/// Points of both sides of all problems, as a table.
fn write_points(set: &MatchSet, path: &Path) -> Result<()> {
    let mut text = "problem,side,id,x,y\n".to_owned();
    for problem in set.problems() {
        for (side, (names, at)) in ["left", "right"]
            .iter()
            .zip([&problem.left, &problem.right].into_iter().zip(problem.places.iter().flatten()))
        {
            for (name, [x, y]) in names.iter().zip(at) {
                text += &format!("{},{side},{name},{x},{y}\n", problem.name);
            }
        }
    }
    Ok(write_whole(path, |out| out.write_all(text.as_bytes()))?)
}

/// The share of points that are matched wrongly where every feature is a distance of the same worth.
fn unlearned(set: &MatchSet) -> Result<f64> {
    let matcher = ordain::method::Matcher::unlearned(set, vec![-1.0; set.columns.names.len()]);
    let hamming = [Metric { kind: Kind::Hamming, k: None }];
    Ok(matcher.evaluate(&matcher.prepare(set)?, &set.all(), &hamming, &Convention::STANDARD)?.mean(0))
}

/// Two registers of people, some of whom are in one only: a table of edges, and a model that may leave items unmatched.
fn registers(folder: &Path, screen: &Screen) -> Result<String> {
    let at = |name: &str| folder.join(name);
    let (train, test, model) = (at("people-train.csv"), at("people-test.csv"), at("people.ordain"));
    let set = Linkage { problems: PAGES, records: PEOPLE, ..Linkage::default() }.make();
    let (first, last) = split::hold_out(&set.all());
    write_matches(&set.only(&first), &train)?;
    write_matches(&set.only(&last), &test)?;
    let (set, ranges) = read_matches(&[vec![train.clone()], vec![test.clone()]], &MatchReading::default())?;
    let units: Vec<Vec<u32>> = ranges.into_iter().map(|range| range.map(|p| p as u32).collect()).collect();
    let (learned, tested) = (set.only(&units[0]), &units[1]);
    let method = MatchMap { null: true, ..MatchMap::default() };
    let fitted = followed(screen, |watch| method.fit(&Training::new(&learned, &learned.all()), watch))?;
    model_file::save(&fitted, &model)?;
    let metrics = [Kind::EdgePrecision, Kind::Recall, Kind::F1].map(|kind| Metric { kind, k: None });
    let result = fitted.model.evaluate(&fitted.model.prepare(&set)?, tested, &metrics, &Convention::STANDARD)?;
    screen.say(&format!(
        "wrote {} and {}: people of two registers, some of them in one only. matchmap[null=true] finds them again with a precision \
         of {:.4} and a recall of {:.4} (f1 {:.4}) on {} pages that it has not seen.",
        train.display(),
        test.display(),
        result.mean(0),
        result.mean(1),
        result.mean(2),
        tested.len()
    ));
    let (model, test) = (model.display(), test.display());
    Ok(format!("  ordain predict {model} {test} --top 3\n  ordain evaluate {model} {test}"))
}
