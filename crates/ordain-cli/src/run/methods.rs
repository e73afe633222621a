//! `ordain methods`.

use crate::args::{Methods, TaskArg};
use crate::help::figures;
use crate::screen::Screen;
use anyhow::Result;
use ordain::answer::MethodFacts;
use ordain::method::{Annotate, Match, Rank};
use ordain::task::Task;
use serde::Serialize;

#[derive(Serialize)]
struct Answer {
    methods: Vec<MethodFacts>,
}

pub(super) fn run(args: &Methods, screen: &Screen) -> Result<()> {
    let task = args.task.map(|task| match task {
        TaskArg::Rank => Rank::WORDS.name,
        TaskArg::Annotate => Annotate::WORDS.name,
        TaskArg::Match => Match::WORDS.name,
    });
    let methods = ordain::answer::methods(task);
    if screen.json {
        return screen.answer(&Answer { methods });
    }
    let line = |m: &MethodFacts| format!("{:<8}  {:<11}  {:<51}  {}\n", m.task, m.name, m.good_for, figures(m));
    let head = format!("{:<8}  {:<11}  {:<51}  {}\n", "task", "method", "good for", "figure by default settings");
    screen.data(&(head + &methods.iter().map(line).collect::<String>()))
}
