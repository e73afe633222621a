//! What was typed, turned into what it means; all of it is checked before any file is read.

use crate::args;
use anyhow::Result;
use ordain::data::Missing;
use ordain::data::{LabelReading, MatchReading, PointFeature};
use ordain::method::{Method, Task};
use ordain::metric::{Convention, Discount, Empty, Gain, Metric, Short, Ties};

/// A mistake in what was typed: exit code 2.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// What `explain` is asked about.
pub(crate) fn explained(query: Option<&String>) -> Result<&str> {
    let missing = || Usage("say what to explain: --query ID, of labels --item ID, of a matching --problem ID".into());
    query.map(String::as_str).ok_or_else(|| missing().into())
}

/// Marks an error of the library as a mistake in what was typed.
pub(crate) fn usage<T>(result: ordain::Result<T>) -> Result<T> {
    result.map_err(|error| Usage(error.to_string()).into())
}

pub(crate) fn method(name: &str, settings: &[String]) -> Result<Method> {
    usage(Method::parse(name, settings))
}

pub(crate) fn metric(text: &str) -> Result<Metric> {
    usage(text.parse())
}

/// Metrics and the convention they are under.
pub(crate) struct Measures {
    pub(crate) metrics: Vec<Metric>,
    pub(crate) convention: Convention,
}

/// What is measured where nothing is said.
fn usual_metrics(task: Task) -> &'static [&'static str] {
    match task {
        Task::Rank => &["ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "map"],
        Task::Annotate => &["bep", "bep_learned", "p@5", "ap", "rankloss", "f1"],
        Task::Match => &["hamming", "accuracy", "precision", "recall", "f1", "nll", "ece"],
    }
}

/// The metric of a choice by validation, and its rules: the same in `fit` and `compare`, so that what wins in the one is what the other makes.
/// Matchers know their own metric where nothing was said (f1 with null=true).
pub(crate) fn choose_by(args: &args::Choosing, rules: &args::Rules, task: Task) -> Result<(Metric, Convention)> {
    let usual = match task {
        Task::Rank => "ndcg@10",
        Task::Annotate => "bep",
        Task::Match => "hamming",
    };
    let by = metric(args.choose_by.as_deref().unwrap_or(usual))?;
    of_task(by, task, "--choose-by")?;
    Ok((by, convention(rules, task)?))
}

/// Refuses a metric of another task.
fn of_task(metric: Metric, task: Task, option: &str) -> Result<()> {
    match task.check_metric(metric) {
        Err(ordain::Error::Setting { expected, found, .. }) => {
            Err(Usage(format!("{option}: expected {expected}; found {found}")).into())
        }
        other => usage(other),
    }
}

/// Refuses what is no metric or convention, before anything says which task it is about.
pub(crate) fn check_measures(args: &args::Metrics) -> Result<()> {
    args.metric.iter().try_for_each(|text| metric(text.trim()).map(drop))?;
    convention(&args.rules, Task::Rank).map(drop)
}

pub(crate) fn measures(args: &args::Metrics, task: Task) -> Result<Measures> {
    let mut metrics: Vec<Metric> = vec![];
    let usual: Vec<String> = usual_metrics(task).iter().map(|&name| name.to_owned()).collect();
    for text in if args.metric.is_empty() { &usual } else { &args.metric } {
        let metric = metric(text.trim())?;
        of_task(metric, task, "--metric")?;
        if !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
    Ok(Measures { metrics, convention: convention(&args.rules, task)? })
}

/// The rules of metrics; those of matches have none to choose from.
fn convention(args: &args::Rules, task: Task) -> Result<Convention> {
    let given = [
        ("--convention", args.convention.is_some()),
        ("--gain", args.gain.is_some()),
        ("--discount", args.discount.is_some()),
        ("--empty", args.empty.is_some()),
        ("--short", args.short.is_some()),
        ("--ties", args.ties.is_some()),
        ("--relevant-from", args.relevant_from.is_some()),
    ];
    if let Some((option, _)) = given.iter().find(|(_, given)| *given && task == Task::Match) {
        return Err(Usage(format!(
            "{option} is for metrics of rankings and labels; those of matches have one rule: leave it out"
        ))
        .into());
    }
    let mut convention: Convention = usage(args.convention.as_deref().unwrap_or("standard").parse())?;
    if let Some(gain) = args.gain {
        convention.gain = match gain {
            args::GainArg::Exp => Gain::Exp,
            args::GainArg::Linear => Gain::Linear,
        };
    }
    if let Some(discount) = args.discount {
        convention.discount = match discount {
            args::DiscountArg::Log2 => Discount::Log2,
            args::DiscountArg::Letor => Discount::Letor,
        };
    }
    if let Some(empty) = args.empty {
        convention.empty = match empty {
            args::EmptyArg::Skip => Empty::Skip,
            args::EmptyArg::Zero => Empty::Zero,
            args::EmptyArg::One => Empty::One,
        };
    }
    if let Some(short) = args.short {
        convention.short = match short {
            args::ShortArg::Keep => Short::Keep,
            args::ShortArg::Zero => Short::Zero,
        };
    }
    if let Some(ties) = args.ties {
        convention.ties = match ties {
            args::TiesArg::Average => Ties::Average,
            args::TiesArg::Input => Ties::Input,
            args::TiesArg::Id => Ties::Id,
        };
    }
    if let Some(grade) = args.relevant_from {
        if !grade.is_finite() {
            return Err(Usage(format!("--relevant-from: expected a finite number, found {grade}")).into());
        }
        convention.relevant_from = Some(grade);
    }
    Ok(convention)
}

pub(crate) fn missing(args: &args::Reading) -> Missing {
    match args.missing {
        None | Some(args::MissingArg::Error) => Missing::Error,
        Some(args::MissingArg::Zero) => Missing::Zero,
        Some(args::MissingArg::Mean) => Missing::Mean,
    }
}

/// How items with labels are read.
pub(crate) fn tag_reading(args: &args::Reading) -> LabelReading {
    LabelReading { missing: missing(args), labels: args.labels.clone(), ..LabelReading::default() }
}

/// How problems of matching are read.
pub(crate) fn match_reading(reading: &args::Reading, points: &args::Points) -> Result<MatchReading> {
    let features = points.features.as_deref().map(|list| usage(PointFeature::list(list))).transpose()?;
    Ok(MatchReading {
        missing: missing(reading),
        features: features.unwrap_or_default(),
        pairs: points.pairs.clone(),
        ..MatchReading::default()
    })
}

/// Refuses options of matching with another task.
pub(crate) fn no_points(points: &args::Points) -> Result<()> {
    let given = [("--features", points.features.is_some()), ("--pairs", points.pairs.is_some())];
    match given.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((name, _)) => Err(Usage(format!("{name} is for points, which matchmap and matchmargin match")).into()),
    }
}

/// The methods of each task, for `ordain fit --help`.
pub(crate) fn methods_help() -> String {
    let of = |task: Task| {
        let right = |name: &&&str| Method::named(name).is_ok_and(|method| method.task() == task);
        let names: Vec<&str> = Method::NAMES.iter().filter(right).copied().collect();
        format!("{} ({})", names.join(", "), task.name())
    };
    format!("The method: {}", [Task::Rank, Task::Annotate, Task::Match].map(of).join("; "))
}

/// Who can go on from an interrupted model, for `ordain fit --help`.
pub(crate) fn resume_help() -> String {
    let resumes = |name: &&&str| matches!(Method::named(name), Ok(Method::Rank(method)) if method.resumes());
    let names: Vec<&str> = Method::NAMES.iter().filter(resumes).copied().collect();
    format!(
        "Go on from the interrupted model at the output, to the same result as without the interruption ({})",
        names.join(" and ")
    )
}

/// The settings of all methods, for `ordain fit --help`.
pub(crate) fn settings_help() -> String {
    let mut text = String::new();
    for name in Method::NAMES {
        let Ok(method) = Method::named(name) else { continue };
        text += &format!("Settings of {name} (--set NAME=VALUE):\n");
        for setting in method.settings() {
            text += &format!(
                "  {:<11} {} [default: {}]\n              {}\n",
                setting.name, setting.range, setting.default, setting.help
            );
        }
    }
    text
}
