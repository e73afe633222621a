//! How far people agree who answered the same questions.

use crate::args::Evaluate;
use crate::plan::Usage;
use crate::run::files;
use crate::screen::{Screen, four, name, table};
use crate::show::Given;
use anyhow::Result;
use ordain::labelling::{Agreement, LabelQuestions, MatchQuestions, Pair, RankQuestions, votes};
use ordain::model_file::AnyModel;
use std::path::{Path, PathBuf};

pub(super) fn run(model: &Path, data: &[PathBuf], answers: &Path, args: &Evaluate, screen: &Screen) -> Result<()> {
    let given = Given { gram: args.gram.as_deref(), ..Given::new(&args.reading, &args.columns, &args.points) };
    // names of items and labels are those that the model gives them
    let votes = match crate::run::open_model(model, &args.reading)? {
        AnyModel::Annotate(fitted) => {
            let ready = files::read_for(&fitted, data, &given, screen)?;
            votes(answers, &LabelQuestions::new(ready.set())?)?
        }
        AnyModel::Match(fitted) => {
            let ready = files::read_for(&fitted, data, &given, screen)?;
            votes(answers, &MatchQuestions::new(ready.set())?)?
        }
        AnyModel::Rank(fitted) => {
            let ready = files::read_for(&fitted, data, &given, screen)?;
            votes(answers, &RankQuestions::new(ready.set())?)?
        }
        _ => return Err(Usage("--answers: models of this task have no answers of people".into()).into()),
    };
    let said = Agreement::of(&votes);
    if screen.json {
        return screen.answer(&said);
    }
    let figure = |value: Option<f64>| value.map_or("-".into(), four);
    let shown = |person: &str| if person.is_empty() { "(no name)".into() } else { name(person).into_owned() };
    let row = |pair: &Pair| {
        let Pair { a, b, questions, same, kappa } = pair;
        vec![format!("{} and {}", shown(a), shown(b)), questions.to_string(), same.to_string(), figure(*kappa)]
    };
    let head = ["people", "questions", "same", "kappa"].map(str::to_owned);
    let mut text = table(&head, &said.pairs.iter().map(row).collect::<Vec<_>>());
    text += &format!("alpha {} of {} questions that two or more answered\n", figure(said.alpha), said.shared);
    screen.data(&text)
}
