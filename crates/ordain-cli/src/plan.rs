//! What was typed, turned into what it means; all of it is checked before any file is read.

use crate::args;
use anyhow::Result;
use ordain::ask::Strategy;
use ordain::data::{Clicks, Holds, LabelReading, MatchReading, Missing, PointFeature, RankReading, Roles};
use ordain::method::auto::Limit;
use ordain::method::{AnyMethod, KernelBy, Rank};
use ordain::metric::{Convention, Discount, Empty, Gain, Metric, Short, Ties};
use ordain::task::{Task, Words};
use std::path::Path;
use std::time::Duration;

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
    result.map_err(|error| Usage(crate::said(&error)).into())
}

pub(crate) fn method(name: &str, settings: &[String]) -> Result<AnyMethod> {
    usage(AnyMethod::parse(name, settings))
}

pub(crate) fn metric(text: &str) -> Result<Metric> {
    usage(text.parse())
}

/// Metrics and the convention they are under.
pub(crate) struct Measures {
    pub(crate) metrics: Vec<Metric>,
    pub(crate) convention: Convention,
}

/// An option that only some tasks have, and what is said with another.
struct Rule {
    option: &'static str,
    tasks: &'static [Holds],
    otherwise: fn(&str, &Words) -> String,
}

const POINTS: fn(&str, &Words) -> String =
    |option, _| format!("{option} is for points, which matchmap and matchmargin match");
const OF_DOCUMENTS: fn(&str, &Words) -> String =
    |option, words| format!("{option} names a column of documents; here are {}: leave it out", words.unit[1]);
const OF_EDGES: fn(&str, &Words) -> String =
    |option, words| format!("{option} names a column of edges; here are {}: leave it out", words.unit[1]);
const OF_MATCHES: fn(&str, &Words) -> String =
    |option, words| format!("{option} is for models that match; this one {}: leave it out", words.does);
const RULES_OF_METRICS: fn(&str, &Words) -> String =
    |option, _| format!("{option} is for metrics of rankings and labels; those of matches have one rule: leave it out");
const WITH_CONVENTIONS: &[Holds] = &[Holds::Queries, Holds::Items];

/// The table of options and tasks: every refusal of an option by a task is made here.
const RULES: &[Rule] = &[
    Rule { option: "--point-features", tasks: &[Holds::Problems], otherwise: POINTS },
    Rule { option: "--label", tasks: &[Holds::Queries], otherwise: OF_DOCUMENTS },
    Rule { option: "--query", tasks: &[Holds::Queries], otherwise: OF_DOCUMENTS },
    Rule { option: "--weight", tasks: &[Holds::Queries], otherwise: OF_DOCUMENTS },
    Rule {
        option: "--id",
        tasks: &[Holds::Queries, Holds::Items],
        otherwise: |_, _| {
            "--id is for documents and items; the items of an edge are named by --left and --right".into()
        },
    },
    Rule { option: "--problem", tasks: &[Holds::Problems], otherwise: OF_EDGES },
    Rule { option: "--left", tasks: &[Holds::Problems], otherwise: OF_EDGES },
    Rule { option: "--right", tasks: &[Holds::Problems], otherwise: OF_EDGES },
    Rule { option: "--matched", tasks: &[Holds::Problems], otherwise: OF_EDGES },
    Rule {
        option: "--labels",
        tasks: &[Holds::Items],
        otherwise: |_, words| format!("--labels is for items with labels; this {}: leave it out", words.does),
    },
    Rule { option: "--pairs", tasks: &[Holds::Problems], otherwise: POINTS },
    Rule {
        option: "--check",
        tasks: &[Holds::Problems],
        otherwise: |_, _| "--check is for models that match; this one does not: use --top K".into(),
    },
    Rule {
        option: "--left of explain",
        tasks: &[Holds::Problems],
        otherwise: |_, _| "--left is for models that match; this one does not: use --above and --below".into(),
    },
    Rule {
        option: "--run",
        tasks: &[Holds::Queries],
        otherwise: |_, words| {
            let more = if words.file == Holds::Problems { ", --check N" } else { "" };
            format!("--run is for models that rank; this one {}: use --top K{more} or --json", words.does)
        },
    },
    Rule {
        option: "--pin",
        tasks: &[Holds::Queries],
        otherwise: |_, words| {
            format!("--pin is for models that rank (quadrank); this one {}: leave it out", words.does)
        },
    },
    Rule {
        option: "--links",
        tasks: &[Holds::Queries],
        otherwise: |_, words| {
            format!(
                "--links is for rankings with links between documents (quadrank, ccrf); this one {}: leave it out",
                words.does
            )
        },
    },
    Rule {
        option: "--start",
        tasks: &[Holds::Queries],
        otherwise: |_, words| {
            format!("--start is for rankings by trees (scorer=trees); this one {}: leave it out", words.does)
        },
    },
    Rule {
        option: "--rules",
        tasks: &[Holds::Queries],
        otherwise: |_, words| format!("--rules is for models that rank; this one {}: leave it out", words.does),
    },
    Rule {
        option: "--preferences",
        tasks: &[Holds::Queries],
        otherwise: |_, words| format!("--preferences is for rankings; this one {}: leave it out", words.does),
    },
    Rule {
        option: "--clicks",
        tasks: &[Holds::Queries],
        otherwise: |_, words| format!("--clicks is for rankings; this one {}: leave it out", words.does),
    },
    Rule {
        option: "--folds",
        tasks: &[Holds::Queries],
        otherwise: |_, words| {
            let what = if words.file == Holds::Items { "items with labels" } else { "problems of matching" };
            format!(
                "--folds reads the layouts of ranking data; for {what} give --cv 5 FILE, or --train FILE --test FILE"
            )
        },
    },
    Rule {
        option: "--questions",
        tasks: &[Holds::Items],
        otherwise: |_, words| {
            format!("--questions is for methods that give labels; this one {}: leave it out", words.does)
        },
    },
    Rule {
        option: "--decide",
        tasks: &[Holds::Items, Holds::Problems],
        otherwise: |_, words| {
            format!("--decide is for models that give labels or match; this one {}: leave it out", words.does)
        },
    },
    Rule { option: "--min-probability", tasks: &[Holds::Problems], otherwise: OF_MATCHES },
    Rule { option: "--precision", tasks: &[Holds::Problems], otherwise: OF_MATCHES },
    Rule { option: "--convention", tasks: WITH_CONVENTIONS, otherwise: RULES_OF_METRICS },
    Rule { option: "--gain", tasks: WITH_CONVENTIONS, otherwise: RULES_OF_METRICS },
    Rule { option: "--discount", tasks: WITH_CONVENTIONS, otherwise: RULES_OF_METRICS },
    Rule { option: "--empty", tasks: WITH_CONVENTIONS, otherwise: RULES_OF_METRICS },
    Rule { option: "--short", tasks: WITH_CONVENTIONS, otherwise: RULES_OF_METRICS },
    Rule { option: "--ties", tasks: WITH_CONVENTIONS, otherwise: RULES_OF_METRICS },
    Rule { option: "--relevant-from", tasks: WITH_CONVENTIONS, otherwise: RULES_OF_METRICS },
];

/// Refuses the options of a command that its task does not have.
fn allow(task: &Words, given: &[(&str, bool)]) -> Result<()> {
    for (option, _) in given.iter().filter(|(_, given)| *given) {
        if let Some(rule) = RULES.iter().find(|rule| rule.option == *option && !rule.tasks.contains(&task.file)) {
            return Err(Usage((rule.otherwise)(option, task)).into());
        }
    }
    Ok(())
}

fn points(points: &args::Points) -> [(&'static str, bool); 2] {
    [("--point-features", points.point_features.is_some()), ("--pairs", points.pairs.is_some())]
}

/// Refuses columns and labels that the data of a task do not have.
fn columns(task: &Words, columns: &args::Columns, reading: &args::Reading) -> Result<()> {
    let given = [
        ("--label", &columns.label),
        ("--query", &columns.query),
        ("--id", &columns.id),
        ("--weight", &columns.weight),
        ("--problem", &columns.problem),
        ("--left", &columns.left),
        ("--right", &columns.right),
        ("--matched", &columns.matched),
        ("--labels", &reading.labels),
    ];
    allow(task, &given.map(|(option, value)| (option, value.is_some())))
}

/// Refuses a kernel that is given where a method takes none, and a method that takes one where none is given.
pub(crate) fn check_gram(gram: Option<&Path>, methods: &[AnyMethod]) -> Result<()> {
    let given = |method: &AnyMethod| match method {
        AnyMethod::Annotate(method) => method.kernel.by == KernelBy::Given,
        _ => false,
    };
    for method in methods {
        let text = match (given(method), gram.is_some()) {
            (true, false) => "kernel=given: give the kernel of the items with one another, --gram FILE".to_owned(),
            (false, true) => {
                format!("--gram is for kernel=given of cstar and independent; {} has another", method.name())
            }
            _ => continue,
        };
        return Err(Usage(text).into());
    }
    Ok(())
}

/// What can be refused of a fit before any file is read.
pub(crate) fn check_fit(args: &args::Fit, method: &AnyMethod) -> Result<()> {
    allow(method.task(), &points(&args.points))?;
    allow(method.task(), &[("--links", args.links.is_some()), ("--start", args.start.is_some())])?;
    check_preferences(args, method)?;
    columns(method.task(), &args.columns, &args.reading)?;
    check_gram(args.gram.as_deref(), std::slice::from_ref(method))?;
    check_links(args.links.is_some(), std::slice::from_ref(method))?;
    if args.budget.is_some() || args.candidates.is_some() {
        let text = "--budget and --candidates are for fit auto, which chooses the method: leave them out";
        return Err(Usage(text.into()).into());
    }
    if args.start.is_some() && !method.takes_start() {
        return Err(Usage(format!(
            "--start is for trees alone, ranksvm[scorer=trees] and rankmatch[scorer=trees]; {method} does not start from scores: give them as a feature"
        ))
        .into());
    }
    if args.resume && !method.resumes() && method.task().file != Holds::Queries {
        return Err(Usage(format!(
            "--resume: {} cannot go on from an interrupted model: leave it out and fit anew",
            method.name()
        ))
        .into());
    }
    if args.points.pairs.is_some() && args.valid.is_some() {
        return Err(Usage(
            "--pairs and --valid: the column split of the pairs says what is for validation; leave out --valid".into(),
        )
        .into());
    }
    Ok(())
}

/// Columns of which the one that says the moment is no feature.
pub(crate) fn without(columns: &args::Columns, moment: Option<&String>) -> args::Columns {
    let mut columns = columns.clone();
    let known = columns.ignore.as_deref().and_then(|text| LabelReading::names(text).ok()).unwrap_or_default();
    if let (Some(moment), None) = (moment.filter(|moment| !known.contains(moment)), &columns.features) {
        let quoted = format!("\"{}\"", moment.replace('"', "\"\""));
        columns.ignore = Some(columns.ignore.map_or(quoted.clone(), |ignore| format!("{ignore},{quoted}")));
    }
    columns
}

/// How long a choice among methods may take, or among how many it is; refuses what it leaves no room for.
pub(crate) fn auto(args: &args::Fit, task: &Words) -> Result<Limit> {
    allow(task, &points(&args.points))?;
    allow(task, &[("--preferences", args.preferences.is_some()), ("--clicks", args.clicks.is_some())])?;
    args.clicks.as_deref().map(clicks).transpose()?;
    columns(task, &args.columns, &args.reading)?;
    let not = [
        ("--set", !args.settings.is_empty()),
        ("--resume", args.resume),
        ("--gram", args.gram.is_some()),
        ("--links", args.links.is_some()),
        ("--start", args.start.is_some()),
        ("--no-refit", args.choosing.no_refit),
    ];
    if let Some((option, _)) = not.iter().find(|(_, given)| *given) {
        return Err(Usage(format!("{option} is for a method by its name; auto has settings of its own: leave it out, or name a method (ordain methods)")).into());
    }
    if args.points.pairs.is_some() && args.valid.is_some() {
        return Err(Usage(
            "--pairs and --valid: the column split of the pairs says what is for validation; leave out --valid".into(),
        )
        .into());
    }
    Ok(match (&args.budget, args.candidates) {
        (Some(text), _) => Limit::Budget(duration(text)?),
        (None, Some(count)) => Limit::Candidates(count),
        (None, None) => Limit::All,
    })
}

/// A time as it is typed: `90`, `60s`, `5m`, `2h`.
fn duration(text: &str) -> Result<Duration> {
    let (number, unit) = match text.strip_suffix(['s', 'm', 'h']) {
        Some(number) if text.ends_with('m') => (number, 60.0),
        Some(number) if text.ends_with('h') => (number, 3600.0),
        Some(number) => (number, 1.0),
        None => (text, 1.0),
    };
    let seconds = number.parse::<f64>().ok().map(|number| number * unit);
    match seconds.filter(|seconds| *seconds > 0.0 && *seconds <= 3.2e7) {
        Some(seconds) => Ok(Duration::from_secs_f64(seconds)),
        None => {
            Err(Usage(format!("--budget: expected a time up to a year, such as 60s, 5m or 2h, found {text:?}")).into())
        }
    }
}

/// Refuses preferences and clicks where a method does not learn from pairs.
fn check_preferences(args: &args::Fit, method: &AnyMethod) -> Result<()> {
    allow(method.task(), &[("--preferences", args.preferences.is_some()), ("--clicks", args.clicks.is_some())])?;
    args.clicks.as_deref().map(clicks).transpose()?;
    let option = if args.clicks.is_some() { "--clicks" } else { "--preferences" };
    let given = args.preferences.is_some() || args.clicks.is_some();
    if given { need_pairs(option, method) } else { Ok(()) }
}

/// Refuses a method that does not learn from pairs.
pub(crate) fn need_pairs(option: &str, method: &AnyMethod) -> Result<()> {
    match method.takes_preferences() {
        true => Ok(()),
        false => Err(Usage(format!(
            "{option} is for methods that learn from pairs: ranksvm (of trees with loss=logistic), ranknet, rankboost, frank and qbrank; {method} does not"
        ))
        .into()),
    }
}

/// How clicks are weighed.
pub(crate) fn clicks(text: &str) -> Result<Clicks> {
    usage(text.parse())
}

/// Refuses links between documents where no method learns from them.
pub(crate) fn check_links(given: bool, methods: &[AnyMethod]) -> Result<()> {
    if !given || methods.iter().any(AnyMethod::takes_links) {
        return Ok(());
    }
    let names: Vec<&str> = methods.iter().map(AnyMethod::name).collect();
    let text = format!("--links is for quadrank and ccrf; {} would not look at them: leave it out", names.join(", "));
    Err(Usage(text).into())
}

/// A model has its own features of points.
fn no_features(points: &args::Points) -> Result<()> {
    match points.point_features {
        Some(_) => Err(Usage("a model knows the features that it takes: leave out --point-features".into()).into()),
        None => Ok(()),
    }
}

fn operating(min_probability: Option<f64>, precision: Option<f64>) -> [(&'static str, bool); 2] {
    [("--min-probability", min_probability.is_some()), ("--precision", precision.is_some())]
}

pub(crate) fn check_predict(args: &args::Predict, task: &Words) -> Result<()> {
    allow(task, &[("--check", args.check.is_some()), ("--run", args.run.is_some()), ("--pin", args.pin.is_some())])?;
    allow(task, &[("--links", args.links.is_some()), ("--start", args.start.is_some())])?;
    allow(task, &[("--decide", args.decide.is_some()), ("--rules", args.rules.is_some())])?;
    allow(task, &operating(args.min_probability, args.precision))?;
    allow(task, &points(&args.points))?;
    columns(task, &args.columns, &args.reading)?;
    no_features(&args.points)
}

pub(crate) fn check_explain(args: &args::Explain, task: &Words) -> Result<()> {
    allow(task, &[("--left of explain", args.left.is_some()), ("--links", args.links.is_some())])?;
    allow(task, &[("--start", args.start.is_some())])?;
    allow(task, &points(&args.points))?;
    no_features(&args.points)?;
    if args.query.is_none() && task.file != Holds::Problems {
        explained(None)?;
    }
    let what = match task.file {
        Holds::Queries => "document",
        Holds::Items => "label",
        Holds::Problems => "right item",
    };
    match (&args.above, &args.below) {
        (Some(above), Some(below)) if above == below => {
            Err(Usage(format!("--above and --below name the same {what}; give two")).into())
        }
        _ => Ok(()),
    }
}

pub(crate) fn check_evaluate(args: &args::Evaluate, task: &Words, model: bool) -> Result<()> {
    allow(task, &points(&args.points))?;
    allow(task, &[("--pin", args.pin.is_some()), ("--links", args.links.is_some())])?;
    allow(task, &[("--start", args.start.is_some()), ("--decide", args.decide.is_some())])?;
    allow(task, &operating(args.min_probability, args.precision))?;
    allow(task, &[("--preferences", args.preferences.is_some())])?;
    if args.preferences.is_some() && !model {
        return Err(Usage("--preferences is for a model: give MODEL DATA".into()).into());
    }
    if args.decide.is_some() && !model {
        return Err(Usage("--decide is for a model that gives labels or matches: give MODEL DATA".into()).into());
    }
    if (args.min_probability.is_some() || args.precision.is_some()) && !model {
        let text = "--min-probability and --precision are for a model that matches: give MODEL DATA";
        return Err(Usage(text.into()).into());
    }
    if args.start.is_some() && !model {
        return Err(Usage("--start is for a model that was fitted with it: give MODEL DATA".into()).into());
    }
    if args.links.is_some() && !model {
        return Err(
            Usage("--links is for a model that was fitted with them (quadrank, ccrf): give MODEL DATA".into()).into()
        );
    }
    if args.pin.is_some() && !model {
        return Err(Usage("--pin is for a model with links (quadrank): give MODEL DATA".into()).into());
    }
    columns(task, &args.columns, &args.reading)?;
    if model { no_features(&args.points) } else { Ok(()) }
}

pub(crate) fn check_compare(args: &args::Compare, task: &Words) -> Result<()> {
    allow(task, &[("--folds", args.folds.is_some()), ("--questions", !args.asking.questions.is_empty())])?;
    allow(task, &[("--links", args.links.is_some()), ("--preferences", args.preferences.is_some())])?;
    columns(task, &args.columns, &args.reading)?;
    allow(task, &points(&args.points))
}

pub(crate) fn check_inspect(args: &args::Inspect, task: &Words) -> Result<()> {
    columns(task, &args.columns, &args.reading)?;
    allow(task, &points(&args.points))
}

pub(crate) fn check_convert(args: &args::Convert, task: &Words) -> Result<()> {
    columns(task, &args.columns, &args.reading)?;
    allow(task, &points(&args.points))
}

/// The metric of a choice by validation if one was asked for, and its rules: the same in `fit` and `compare`, so that what wins in the
/// one is what the other makes.
pub(crate) fn choose_by(
    args: &args::Choosing,
    rules: &args::Rules,
    task: &Words,
) -> Result<(Option<Metric>, Convention)> {
    let by = args.choose_by.as_deref().map(metric).transpose()?;
    by.map_or(Ok(()), |by| of_task(by, task, "--choose-by"))?;
    Ok((by, convention(rules, task)?))
}

/// Questions that are replayed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Questions {
    /// After how many to measure: 0 first, then ascending.
    pub(crate) after: Vec<usize>,
    pub(crate) strategies: Vec<Strategy>,
    /// Whether models are told the number of labels.
    pub(crate) told: bool,
}

/// Numbers of questions with 0 before them, in order.
pub(crate) fn question_counts(asked: &[usize]) -> Result<Vec<usize>> {
    let mut after = asked.to_vec();
    after.push(0);
    after.sort_unstable();
    after.dedup();
    if after.len() == 1 {
        return Err(Usage("--questions: expected numbers above 0, such as 1,5,10".into()).into());
    }
    Ok(after)
}

/// Strategies by their names, each once.
pub(crate) fn strategies(names: &[String]) -> Result<Vec<Strategy>> {
    let mut all: Vec<Strategy> = vec![];
    for name in names {
        let strategy = usage(name.trim().parse())?;
        if !all.contains(&strategy) {
            all.push(strategy);
        }
    }
    Ok(all)
}

/// The questions of a comparison, if there are any; strategies that one of its methods cannot follow are refused.
pub(crate) fn questions(args: &args::Asking, methods: &[AnyMethod]) -> Result<Option<Questions>> {
    if args.questions.is_empty() {
        return Ok(None);
    }
    let mut strategies = strategies(&args.strategy)?;
    if strategies.is_empty() {
        strategies.push(Strategy::Expected);
    }
    let trainers = methods.iter().filter_map(|method| match method {
        AnyMethod::Annotate(method) => Some(method.trainer),
        _ => None,
    });
    for trainer in trainers {
        if let Some(strategy) = strategies.iter().find(|strategy| !strategy.suits(trainer)) {
            return Err(Usage(format!(
                "--strategy {strategy} needs probabilities, and a model by margin has none: leave it out, or use trainer=likelihood"
            ))
            .into());
        }
    }
    let told = args.count.is_none_or(|count| count == args::CountArg::Oracle);
    Ok(Some(Questions { after: question_counts(&args.questions)?, strategies, told }))
}

/// Refuses a metric of another task.
fn of_task(metric: Metric, task: &Words, option: &str) -> Result<()> {
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
    convention(&args.rules, Rank::WORDS).map(drop)
}

pub(crate) fn measures(args: &args::Metrics, task: &Words) -> Result<Measures> {
    let mut metrics: Vec<Metric> = vec![];
    let usual: Vec<String> = task.metrics.iter().map(|&name| name.to_owned()).collect();
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
fn convention(args: &args::Rules, task: &Words) -> Result<Convention> {
    allow(
        task,
        &[
            ("--convention", args.convention.is_some()),
            ("--gain", args.gain.is_some()),
            ("--discount", args.discount.is_some()),
            ("--empty", args.empty.is_some()),
            ("--short", args.short.is_some()),
            ("--ties", args.ties.is_some()),
            ("--relevant-from", args.relevant_from.is_some()),
        ],
    )?;
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
        Some(args::MissingArg::Indicator) => Missing::Indicator,
        Some(args::MissingArg::Keep) => Missing::Keep,
    }
}

/// Which columns were named.
pub(crate) fn roles(args: &args::Columns) -> Result<Roles> {
    let names = |option: &str, text: &Option<String>| {
        let list = text.as_deref().map(LabelReading::names).transpose();
        list.map_err(|_| {
            let found = text.as_deref().unwrap_or_default();
            Usage(format!("{option}: expected names of columns between commas, each once; found {found:?}"))
        })
    };
    Ok(Roles {
        label: args.label.clone(),
        query: args.query.clone(),
        id: args.id.clone(),
        weight: args.weight.clone(),
        problem: args.problem.clone(),
        left: args.left.clone(),
        right: args.right.clone(),
        matched: args.matched.clone(),
        ignore: names("--ignore", &args.ignore)?.unwrap_or_default(),
        features: names("--features", &args.features)?,
        inputs: args.inputs.iter().map(|text| usage(text.parse())).collect::<Result<_>>()?,
    })
}

/// How queries with documents are read.
pub(crate) fn rank_reading(args: &args::Reading, columns: &args::Columns) -> Result<RankReading> {
    Ok(RankReading { missing: missing(args), roles: roles(columns)?, ..RankReading::default() })
}

/// How items with labels are read.
pub(crate) fn label_reading(args: &args::Reading, columns: &args::Columns) -> Result<LabelReading> {
    let (missing, labels) = (missing(args), args.labels.clone());
    Ok(LabelReading { missing, labels, roles: roles(columns)?, ..LabelReading::default() })
}

/// How problems of matching are read. Features of points used to be given by `--features`, which still works.
pub(crate) fn match_reading(
    reading: &args::Reading,
    columns: &args::Columns,
    points: &args::Points,
) -> Result<MatchReading> {
    let mut roles = roles(columns)?;
    let mut features = points.point_features.as_deref().map(|list| usage(PointFeature::list(list))).transpose()?;
    if let Some(Ok(list)) = columns.features.as_deref().filter(|_| features.is_none()).map(PointFeature::list) {
        roles.features = None;
        features = Some(list);
    }
    Ok(MatchReading {
        missing: missing(reading),
        features: features.unwrap_or_default(),
        pairs: points.pairs.clone(),
        roles,
        ..MatchReading::default()
    })
}
