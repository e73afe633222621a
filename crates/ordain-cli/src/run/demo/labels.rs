//! `ordain demo annotate`: made-up scenes, a comparison, a model, and what questions save.

use crate::args::{Cli, Command};
use crate::run::compare;
use crate::screen::Screen;
use anyhow::Result;
use clap::Parser;
use ordain::data::synthetic::Scenes;
use ordain::data::write_labels;
use ordain::method::Annotate;
use ordain::{Error, model_file};
use std::ffi::OsString;
use std::path::Path;

/// Items to train on, and to test on.
const TRAIN: usize = 1000;
const TEST: usize = 500;
/// How much noise the detectors have.
const NOISE: f64 = 1.5;
/// The c-star on the detectors of the data, then labels by themselves: on the same detectors, and by classifiers that see all
/// detectors at once.
const METHODS: [&str; 4] = [
    "cstar[core=5,features=given]",
    "independent[features=given]",
    "independent[features=given,count_bias=false]",
    "independent[features=scores,count_bias=false]",
];

pub(in crate::run) fn run(folder: &Path, screen: &Screen) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|reason| Error::Io { path: folder.into(), action: "create", reason })?;
    let at = |name: &str| folder.join(name);
    let (train, test, report) = (at("train.arff"), at("test.arff"), at("report.html"));
    let set = Scenes { items: TRAIN + TEST, noise: NOISE, ..Scenes::default() }.make();
    let (first, last): (Vec<u32>, Vec<u32>) = set.all().into_iter().partition(|&i| (i as usize) < TRAIN);
    write_labels(&set.only(&first), &train)?;
    write_labels(&set.only(&last), &test)?;
    screen.say(&format!(
        "wrote {} and {}: {} and {} items of made-up data, each with some of {} labels and a noisy detector of each label",
        train.display(),
        test.display(),
        first.len(),
        last.len(),
        set.labels.len()
    ));
    let mut words: Vec<OsString> = ["ordain", "compare"].iter().chain(&METHODS).map(Into::into).collect();
    words.extend(["--train".into(), train.clone().into(), "--test".into(), test.clone().into()]);
    words.extend(["--report".into(), report.clone().into()]);
    let (model, alone) = (at("model.ordain"), at("independent.ordain"));
    let mut means = vec![];
    if let Command::Compare(compare) = &Cli::try_parse_from(words)?.command {
        means = compare::run_and_keep(compare, &[(0, &model), (1, &alone)], screen)?;
    }
    let core = model_file::load::<Annotate>(&model)?.model.core_names().join(", ");
    if let [linked, counted, alone, classified] = means[..] {
        screen.say(&format!(
            "\nBreak-even precision of the c-star: {linked:.4}. That is {:+.4} against labels by themselves on the same detectors \
             ({alone:.4}),\n{:+.4} of it by knowing the number of labels and {:+.4} by links; and {:+.4} against classifiers that see all \
             detectors at once ({classified:.4}).",
            linked - alone,
            counted - alone,
            linked - counted,
            linked - classified
        ));
        screen.say(&format!("The labels that say most about the others, found in the data: {core}.\n"));
    }
    let mut words: Vec<OsString> = ["ordain", "simulate"].iter().map(Into::into).collect();
    words.extend([model.clone().into(), test.clone().into(), "--against".into(), alone.clone().into()]);
    words.extend(["--questions", "1,5,10", "--items", "200", "--report"].map(Into::into));
    let questions = at("questions.html");
    words.push(questions.clone().into());
    if let Command::Simulate(simulate) = &Cli::try_parse_from(words)?.command {
        crate::run::simulate::run(simulate, screen)?;
    }
    let (model, alone, test, report) = (model.display(), alone.display(), test.display(), report.display());
    screen.say(&format!(
        "\nwrote {model}, {alone}, {report} and {}: open the two pages in a browser. Then try\n  \
         ordain evaluate {model} {test}\n  \
         ordain predict {model} {test} --top 5 --probabilities\n  \
         ordain explain {model} {test} --item 1\n  \
         ordain inspect {model}\n  \
         ordain ask {model} {test}",
        questions.display()
    ));
    Ok(())
}
