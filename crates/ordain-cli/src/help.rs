//! Help of `ordain fit`: a screen of it, or the page of one method.

use clap::builder::StyledStr;
use clap::{Arg, ArgAction, Command};
use ordain::answer::MethodFacts;
use ordain::method::{Annotate, AnyMethod, Match, Rank};
use ordain::task::{Task, Words};

/// Options that `ordain help fit` shows and `ordain fit --help` leaves out, by their headings.
const LATER: [&str; 3] = ["Conventions", "Columns of a table", "Matching"];

/// The characters of a line.
const WIDTH: usize = 100;

/// What stands below the screen.
const MORE: &str = "\
ordain fit auto TRAIN     chooses the method too, with --budget 60s or --candidates N
ordain methods            what each method is good for, with a figure
ordain fit METHOD --help  the settings of one method, with range and default
ordain help fit           all options at length: columns of tables, conventions of metrics, points";

/// `fit --help` as a screen; `ordain help fit` and the manual keep all of it.
pub(crate) fn short(fit: Command) -> Command {
    let flag = Arg::new("help").short('h').long("help").action(ArgAction::HelpShort);
    let later = |arg: &Arg| arg.get_help_heading().is_some_and(|heading| LATER.contains(&heading));
    fit.disable_help_flag(true)
        .arg(flag.help("Print this help; after a METHOD the help of that method"))
        .mut_args(|arg| if later(&arg) { arg.hide_short_help(true) } else { arg })
        .after_help(StyledStr::from(MORE))
        .after_long_help(settings())
}

/// The methods of each task.
pub(crate) fn methods() -> String {
    let all = AnyMethod::all();
    let of = |task: &Words| {
        let names: Vec<&str> = all.iter().filter(|m| m.task() == task).map(AnyMethod::name).collect();
        format!("{} ({})", names.join(", "), task.name)
    };
    format!(
        "The method, or auto to have it chosen: {}",
        [Rank::WORDS, Annotate::WORDS, Match::WORDS].map(of).join("; ")
    )
}

/// Who can continue an interrupted fit.
pub(crate) fn resume() -> String {
    let names: Vec<&str> = AnyMethod::all().iter().filter(|m| m.resumes()).map(AnyMethod::name).collect();
    format!(
        "Go on from the interrupted model at the output, to the same result as without the interruption ({})",
        names.join(", ")
    )
}

/// The settings of all methods.
fn settings() -> String {
    ordain::answer::methods(None).iter().map(settings_of).collect()
}

fn settings_of(method: &MethodFacts) -> String {
    let mut text = format!("Settings of {} (--set NAME=VALUE):\n", method.name);
    for setting in method.settings {
        let [name, range, default, help] = [setting.name, setting.range, setting.default, setting.help];
        text += &format!("  {name:<11} {range} [default: {default}]\n{}", wrapped(help, 14));
    }
    text
}

/// Words in lines of at most 100 characters, after so many blanks.
fn wrapped(text: &str, blanks: usize) -> String {
    let (mut lines, mut line) = (String::new(), " ".repeat(blanks));
    for word in text.split(' ') {
        let begun = line.len() > blanks;
        if begun && line.chars().count() + word.chars().count() >= WIDTH {
            lines += &(std::mem::replace(&mut line, " ".repeat(blanks)) + "\n");
        } else if begun {
            line.push(' ');
        }
        line += word;
    }
    lines + &line + "\n"
}

/// What a method reached, in words.
pub(crate) fn figures(method: &MethodFacts) -> String {
    let short = |value: f64| format!("{value:.4}").trim_start_matches('0').to_owned();
    let all: Vec<String> = method.figures.iter().map(|f| format!("{} {}", f.metric, short(f.value))).collect();
    format!("{}, {}", all.join(" "), method.measured_on)
}

/// The page of `fit auto`.
fn of_auto() -> String {
    let lists = |words: &Words, lists: &[&[&str]]| -> String {
        let list = |(n, list): (usize, &&[&str])| {
            let when = if n == 0 { "" } else { ", where items of the lesser side stay alone" };
            format!("  {} ({}{when}):\n{}", words.name, words.holds, wrapped(&list.join(" "), 6))
        };
        lists.iter().enumerate().map(list).collect()
    };
    format!(
        "auto: chooses the method with all its settings, and fits it on everything\n\nUsage: ordain fit auto <TRAIN>... -o <MODEL> [--budget TIME | --candidates N] [OPTIONS]\n\n{}{}{}{}\n{MORE}\n",
        "Candidates, in the order in which they are tried; the first that no other beats by more than a\nstandard error is taken:\n",
        lists(Rank::WORDS, Rank::CANDIDATES),
        lists(Annotate::WORDS, Annotate::CANDIDATES),
        lists(Match::WORDS, Match::CANDIDATES),
    )
}

/// The page of the method that was named after `fit`, if one was.
pub(crate) fn of_method(words: impl Iterator<Item = String>) -> Option<String> {
    let all = ordain::answer::methods(None);
    let words: Vec<String> = words.skip_while(|word| word != "fit").collect();
    if words.get(1).is_some_and(|word| word == "auto") {
        return Some(of_auto());
    }
    let named = |word: String| all.iter().find(|method| Some(method.name) == word.split('[').next());
    words.into_iter().find_map(named).map(|method| {
        let MethodFacts { name, task, good_for, .. } = method;
        format!(
            "{name} ({task}): {good_for}\n{}\n\nUsage: ordain fit {name} <TRAIN>... -o <MODEL> [OPTIONS]\n\n{}\n{MORE}\n",
            figures(method),
            settings_of(method)
        )
    })
}
