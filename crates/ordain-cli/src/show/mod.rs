//! Answers as text, a file for each task: what is printed, and nothing else.

mod labels;
mod matches;
mod rank;

pub(crate) use matches::{engines, measurable, pictures, reliability, warn_approximate};

use crate::args::{Columns, Evaluate, Points, Predict, Reading};
use crate::screen::{Screen, assignments, four, table};
use anyhow::Result;
use ordain::answer::{Answers, ContributionPart, ReasonPart};
use ordain::data::{Missing, Role, Roles, Rules, Split};
use ordain::kernel::Expansion;
use ordain::matrix::Features;
use ordain::metric::{Evaluation, Metric};
use ordain::model_file::{Header, Transformed};
use ordain::score::Score;
use ordain::solver::run::Report;
use ordain::task::{AutoChoice, Chosen, Edge, Facts, Fitted, Inputs, Ready, TriedMethod, Words};
use serde_json::Value;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A set, the units to fit on, and those to choose on if something says which they are.
pub(crate) type Parts<T> = (T, Vec<u32>, Option<Vec<u32>>);

/// How the options of a command concern reading.
#[derive(Clone, Copy)]
pub(crate) struct Given<'a> {
    pub(crate) reading: &'a Reading,
    pub(crate) columns: &'a Columns,
    pub(crate) points: &'a Points,
    /// Of pairs with a split: only these parts.
    pub(crate) only: &'a [Split],
    /// Of rankings: places that are known beforehand.
    pub(crate) pins: Option<&'a Path>,
    /// Of labels: the kernel with training items, in place of features.
    pub(crate) gram: Option<&'a Path>,
    /// Of rankings: features of pairs of documents.
    pub(crate) links: Option<&'a Path>,
    /// Of rankings: the scores that rows start from.
    pub(crate) start: Option<&'a Path>,
    /// Of rankings: which of two documents is better, in place of grades.
    pub(crate) preferences: Option<&'a Path>,
    /// Of rankings: how clicks are weighed.
    pub(crate) clicks: Option<&'a str>,
    /// Of rankings: what lists have to look like.
    pub(crate) rules: Option<&'a Rules>,
    /// Whether something is learned from the files.
    pub(crate) learns: bool,
}

impl<'a> Given<'a> {
    /// Files without anything beside them.
    pub(crate) fn new(reading: &'a Reading, columns: &'a Columns, points: &'a Points) -> Self {
        Self {
            reading,
            columns,
            points,
            only: &[],
            pins: None,
            gram: None,
            links: None,
            start: None,
            preferences: None,
            clicks: None,
            rules: None,
            learns: false,
        }
    }
}

/// How a model is to answer, where that is not what it was fitted for.
pub(crate) struct Operate<'a> {
    pub(crate) decide: Option<&'a str>,
    pub(crate) min_probability: Option<f64>,
    pub(crate) precision: Option<f64>,
}

impl<'a> From<&'a Predict> for Operate<'a> {
    fn from(args: &'a Predict) -> Self {
        let Predict { decide, min_probability, precision, .. } = args;
        Self { decide: decide.as_deref(), min_probability: *min_probability, precision: *precision }
    }
}

impl<'a> From<&'a Evaluate> for Operate<'a> {
    fn from(args: &'a Evaluate) -> Self {
        let Evaluate { decide, min_probability, precision, .. } = args;
        Self { decide: decide.as_deref(), min_probability: *min_probability, precision: *precision }
    }
}

/// What the command line needs of a task beside its answers: how options are read, and answers as text.
pub(crate) trait Show: Answers {
    /// How files are read without a model.
    fn reading(given: &Given) -> Result<Self::Reading>;
    /// How files are read for a model.
    fn reading_for(model: &Self::Model, given: &Given) -> Self::Reading;
    /// Reads files, folders and streams as one set.
    fn read(parts: &[Vec<PathBuf>], how: &Self::Reading) -> ordain::Result<(Self::Set, Vec<Range<usize>>)> {
        <Self as ordain::task::Task>::read(parts, how)
    }
    /// The same for a fit: with the units to fit on, and those to choose on.
    fn read_training(parts: &[Vec<PathBuf>], how: &Self::Reading) -> ordain::Result<Parts<Self::Set>> {
        let (set, ranges) = <Self as Show>::read(parts, how)?;
        let mut units = ranges.into_iter().map(|range| range.map(|unit| unit as u32).collect::<Vec<u32>>());
        let train = units.next().unwrap_or_default();
        Ok((set, train, units.next()))
    }
    /// The set with a kernel in place of its features, by the ids of the training items of a model, or of its own items.
    fn with_gram(set: Self::Set, _gram: &Path, _training: Option<&[String]>) -> ordain::Result<Self::Set> {
        Ok(set)
    }
    /// What is read with the answers of a file, and how many of these there are.
    fn with_answers(parts: Parts<Self::Set>, answers: &Path) -> ordain::Result<(Parts<Self::Set>, usize)>;
    /// Whether a model has links between documents.
    fn has_links(_model: &Self::Model) -> bool {
        false
    }
    /// The column that says which unit a row of a table is of, by the name of the unit; none where rows are known by their place.
    const UNIT: Option<Role> = None;
    /// The unit of each row of the files, in their order; the names are those of the column above, if there is one.
    fn unit_of_rows(set: &Self::Set, names: &[String]) -> Vec<u32>;
    /// The id of a row beside that of its unit, where rows have one.
    fn row_id(_set: &Self::Set, _row: usize) -> Option<String> {
        None
    }
    /// What gaps mean.
    fn missing(how: &Self::Reading) -> Missing;
    /// What data of this task should be, where others were found.
    fn wanted() -> String {
        Self::WORDS.holds.into()
    }
    /// The option that gives data a truth, if there is one.
    const TRUTH: &'static str = "";
    /// Warnings about a set that was read.
    fn warn_of_set(_set: &Self::Set, _given: &Given, _name: &str, _screen: &Screen) {}
    /// Refuses options that do not fit the data.
    fn check_set(_set: &Self::Set, _given: &Given) -> Result<()> {
        Ok(())
    }
    /// The size of a set: `12 documents of 3 queries`.
    fn size(set: &Self::Set) -> String;

    /// What is said of a fit before the choice of settings.
    fn before_choice(_fitted: &Fitted<Self>, _set: &Self::Set, _units: &[u32], _screen: &Screen) {}
    /// The settings that were taken, with their value.
    fn taken(facts: &Facts<Self::Notes>) -> String {
        facts.taken().map_or(String::new(), |taken| format!("{} ({:.4})", assignments(&taken.settings), taken.value))
    }
    /// Doubts about the choice of settings.
    fn doubt_choice(_fitted: &Fitted<Self>, _screen: &Screen) {}
    /// Why the defaults were used, if something was left open.
    fn no_choice(_facts: &Facts<Self::Notes>) -> String {
        format!("warning: too few {} to choose on: the default settings were used", Self::WORDS.unit[1])
    }
    /// What is said of a fit before its summary: warnings, then facts.
    fn before_summary(_fitted: &Fitted<Self>, _screen: &Screen) {}
    /// What is said of a fit after the warnings about its end.
    fn facts(_fitted: &Fitted<Self>, _screen: &Screen) {}
    /// What was fitted on.
    fn fitted_on(fitted: &Fitted<Self>) -> String;
    /// What is said of a fit after its summary.
    fn after_summary(_fitted: &Fitted<Self>, _screen: &Screen) {}

    /// Refuses a prediction that the model cannot make.
    fn check_predict(_model: &Self::Model, _args: &Predict) -> Result<()> {
        Ok(())
    }
    /// Makes a model answer in another way than it was fitted for, and says what that means; rankings have one way.
    fn operate(_model: &mut Self::Model, _how: &Operate, _screen: &Screen) -> Result<()> {
        Ok(())
    }
    /// Predictions as text or as JSON lines.
    fn predicted(
        model: &Self::Model,
        on: &Ready<'_, Self>,
        asked: (&Predict, &Given),
        screen: &Screen,
    ) -> Result<String>;
    /// An explanation as text.
    fn explained(why: &Self::Explanation, fitted: &Fitted<Self>, screen: &Screen) -> Result<String>;
    /// What is said beside an explanation.
    fn warn_of_explanation(_why: &Self::Explanation, _screen: &Screen) {}

    /// What metrics mean where it is not plain.
    fn remarks(metrics: &[Metric]) -> Vec<String>;
    /// How many units are left out, and why.
    fn skipped(result: &Evaluation) -> String;

    /// The middle of the inspection of a model: what it was trained on, and what it holds.
    fn model_text(fitted: &Fitted<Self>, header: &Header<Self>) -> Result<String>;
    /// What is shown beside settings in an inspection.
    fn shown_settings(facts: &Facts<Self::Notes>, _model: &Self::Model) -> String {
        assignments(&facts.settings)
    }
    /// The inspection of a set as text.
    fn set_text(set: &Self::Set, facts: &Self::SetFacts, path: &Path, seconds: f64) -> Result<String>;
    /// Words after a conversion.
    fn converted(set: &Self::Set, output: &Path, screen: &Screen);
    /// What a conversion says in JSON beside rows and units.
    fn converted_facts(_set: &Self::Set) -> Vec<(&'static str, Value)> {
        vec![]
    }
}

/// The roles that a model knows, with the files that were given for its vectors.
pub(crate) fn roles_for(inputs: &Inputs, given: &Given) -> Roles {
    let mut roles = inputs.columns.roles.clone();
    let told = crate::plan::roles(given.columns).map(|roles| roles.inputs).unwrap_or_default(); // refused before
    for input in &mut roles.inputs {
        if let Some(own) = told.iter().find(|own| *own == input) {
            input.files.clone_from(&own.files);
        }
    }
    roles
}

/// In how many parts a choice was cross-validated, as it is said after its units.
pub(crate) fn parts(chosen: &Chosen) -> String {
    chosen.parts.map_or(String::new(), |parts| format!(" in {parts} parts, each by a fit on the others"))
}

/// The candidates of a choice among methods as a table, with their seconds where they are known.
pub(crate) fn tried(choice: &AutoChoice, seconds: Option<&[f64]>) -> String {
    let mut head = vec!["method".to_owned(), choice.metric.clone(), "behind the best".into()];
    head.extend(seconds.map(|_| "seconds".to_owned()));
    let row = |(k, tried): (usize, &TriedMethod)| {
        let own = |x: f64, error: f64| format!("{x:.4} ±{error:.4}");
        let mark = if tried.method == choice.taken { " *" } else { "" };
        let mut row = vec![
            format!("{}{mark}", tried.method),
            tried.value.zip(tried.error).map_or("–".into(), |(value, error)| own(value, error)),
            tried.behind.map_or("–".into(), |[behind, error]| own(behind, error)),
        ];
        row.extend(seconds.and_then(|all| all.get(k)).map(|seconds| format!("{seconds:.2}")));
        row
    };
    let mut text = table(&head, &choice.tried.iter().enumerate().map(row).collect::<Vec<_>>());
    for one in &choice.tried {
        if let Some(refused) = &one.refused {
            text += &format!("{}: {refused}\n", one.method);
        }
    }
    text
}

/// What was taken of these candidates, why, and what that is worth.
pub(crate) fn choice(choice: &AutoChoice, units: &str) -> String {
    let parts = choice.parts.map_or(String::new(), |parts| format!(" in {parts} parts"));
    let honest = choice.honest.map_or(String::new(), |value| {
        format!("; a choice like this is worth {value:.4} on units that have no part in it")
    });
    format!(
        "* {}: the first of {} of {} candidates that no other beats by more than a standard error (±) of {} on {units}{parts}, which no fit saw{honest}; --candidates {} repeats it",
        choice.taken, choice.candidates, choice.of, choice.metric, choice.candidates
    )
}

/// That the best λ is still at an end of its path.
pub(crate) fn edge(chosen: &Chosen) -> Option<String> {
    let (way, cure) = match chosen.edge? {
        Edge::Strongest => ("strongest", "these features may tell nothing about this order"),
        Edge::Weakest => ("weakest", "smaller values of lambda, set by hand, or kernels and trees may do better"),
    };
    Some(format!("the best lambda is the {way} that was tried, although the path was made longer: {cure}"))
}

/// That the data do not tell which λ is the best.
pub(crate) fn level(chosen: &Chosen, units: &str) -> Option<String> {
    let [least, most] = chosen.level?;
    Some(format!(
        "the choice is unsure: on {units} nothing between lambda={least} and lambda={most} differs by more than its standard error, so that other held-out data may choose otherwise; more data, --valid FILE or lambda= by hand settle it"
    ))
}

/// How a fit ended, as `inspect` shows it.
fn result_line(report: &Report) -> String {
    let Report { objective, iterations, stop, .. } = report;
    format!("result     objective {objective:.6}, {iterations} steps, {}, stop: {}\n", report.accuracy(), stop.name())
}

/// The inspection of a model as text.
pub(crate) fn model<T: Show>(fitted: &Fitted<T>, header: &Header<T>, path: &Path) -> Result<String> {
    let facts = &fitted.facts;
    let mut text =
        format!("{}: {} model, format {}, ordain {}\n", path.display(), facts.method, header.format, header.ordain);
    text += &format!("settings   {}\n", T::shown_settings(facts, &fitted.model));
    for (input, step) in header.steps.iter() {
        let columns = step.names(&input.column);
        let shown = columns.iter().take(4).map(String::as_str).collect::<Vec<_>>().join(", ");
        let rest = if columns.len() > 4 { ", …" } else { "" };
        text += &format!("input      {input}: {} columns ({shown}{rest})\n", columns.len());
    }
    if let Some(transformed) = &header.transformed {
        text += &format!("transform  {}\n", transformed_columns(transformed));
    }
    text += &T::model_text(fitted, header)?;
    if let Some(auto) = &facts.auto {
        text += &format!("\n{}{}\n", tried(auto, None), choice(auto, &T::WORDS.units(auto.units)));
    }
    Ok(text)
}

/// Which columns are transformed, the first of them by name.
fn transformed_columns(all: &Transformed) -> String {
    let of = |(kind, names): (&str, &Vec<String>)| {
        let shown: Vec<&str> = names.iter().take(8).map(String::as_str).collect();
        let rest = if names.len() > shown.len() { ", …" } else { "" };
        let columns = if names.len() == 1 { "column" } else { "columns" };
        format!("{kind} of {} {columns}: {}{rest}", names.len(), shown.join(", "))
    };
    let kinds = [("log", &all.log), ("quantile", &all.quantile)];
    kinds.into_iter().filter(|(_, names)| !names.is_empty()).map(of).collect::<Vec<_>>().join("; ")
}

/// Rows of a table of reasons.
const SHOWN: usize = 20;

/// What each feature adds to a difference of scores, as a table.
fn contributions(all: &[ContributionPart], above: &str, below: &str, rest: &str, last: &str, sum: f64) -> String {
    let head = ["feature", above, below, "difference", "weight", "contribution"].map(str::to_owned);
    let counted: Vec<&ContributionPart> = all.iter().filter(|c| c.contribution != 0.0).collect();
    let signed = |x: f64| format!("{x:+.4}");
    let row = |c: &&ContributionPart| {
        vec![
            c.feature.clone(),
            c.above.to_string(),
            c.below.to_string(),
            signed(c.difference),
            signed(c.weight),
            signed(c.contribution),
        ]
    };
    let end = |what: String, sum: f64| {
        let mut row = vec![String::new(); 6];
        (row[0], row[5]) = (what, signed(sum));
        row
    };
    let mut rows: Vec<Vec<String>> = counted.iter().take(SHOWN).map(row).collect();
    if counted.len() > SHOWN {
        let others = counted[SHOWN..].iter().map(|c| c.contribution).sum();
        rows.push(end(rest.replace("{}", &(counted.len() - SHOWN).to_string()), others));
    }
    rows.push(end(last.into(), sum));
    table(&head, &rows)
}

/// What each reason adds to two things, as a table.
fn reasons(head: [&str; 4], all: &[ReasonPart], last: &str, sum: f64) -> String {
    let row = |what: &str, above: f64, below: f64| {
        vec![what.to_owned(), format!("{above:+.4}"), format!("{below:+.4}"), format!("{:+.4}", above - below)]
    };
    let mut rows: Vec<Vec<String>> = all.iter().take(SHOWN).map(|r| row(&r.what, r.above, r.below)).collect();
    if all.len() > SHOWN {
        let rest = &all[SHOWN..];
        rows.push(row(
            &format!("{} others", rest.len()),
            rest.iter().map(|r| r.above).sum(),
            rest.iter().map(|r| r.below).sum(),
        ));
    }
    rows.push(vec![last.to_owned(), String::new(), String::new(), format!("{sum:+.4}")]);
    table(&head.map(str::to_owned), &rows)
}

/// What a model scores rows by: the strongest weights as a table, its kernel, or its trees.
fn scored_by(score: &Score, columns: &ordain::data::Columns, words: &Words) -> String {
    if let Some(expansion) = score.expansion() {
        let own = expansion.parts.iter().any(|part| part.query.is_some());
        let functions = match expansion.parts.len() {
            count if own => format!("a scorer for each of {}", words.units(count)),
            _ => format!("one scorer for all {}", words.unit[1]),
        };
        return format!("\n{}", kernel(expansion, &functions, words.row[1]));
    }
    let mut text = String::new();
    if let Some(gains) = score.gains() {
        let forest = score.forests();
        let (trees, nodes) = forest.iter().fold((0, 0), |sum, own| (sum.0 + own.trees(), sum.1 + own.nodes()));
        let rows: Vec<Vec<String>> = ordain::answer::strongest(columns, &gains, 15)
            .into_iter()
            .filter(|(_, gain)| *gain > 0.0)
            .map(|(name, gain)| vec![name, format!("{:.1} %", 100.0 * gain)])
            .collect();
        text = format!("\ntrees      {trees}, {nodes} nodes; what splits by each feature gain:\n");
        text += &table(&["feature".into(), "share".into()], &rows);
    }
    if score.weights().is_empty() {
        return text;
    }
    let rows: Vec<Vec<String>> = ordain::answer::strongest(columns, score.weights(), 15)
        .into_iter()
        .map(|(name, weight)| vec![name, format!("{weight:+.4}")])
        .collect();
    let head = format!("\nstrongest of {} features (weights on scaled values):\n", columns.names.len());
    text + &head + &table(&["feature".into(), "weight".into()], &rows)
}

/// A sum of kernels: what it rests on.
fn kernel(expansion: &Expansion, functions: &str, rows: &str) -> String {
    let by = expansion.kernel;
    let width = if by.form.has_width() { format!(" of gamma {:.4}", by.gamma) } else { String::new() };
    let core: usize = expansion.parts.iter().map(|part| part.documents.len()).sum();
    let different = expansion.documents.rows();
    format!("kernel     {}{width}, {functions}, {core} core {rows} ({different} different ones)\n", by.form.name())
}

/// Least, mean and largest value of the first columns.
fn ranges(features: &Features, names: &[String]) -> String {
    let (d, all) = (features.cols(), features.rows());
    let (mut low, mut high, mut sum, mut count) =
        (vec![f32::INFINITY; d], vec![f32::NEG_INFINITY; d], vec![0.0; d], vec![0usize; d]);
    for row in 0..all {
        features.each(row, |j, x| {
            if !x.is_nan() {
                low[j] = low[j].min(x);
                high[j] = high[j].max(x);
                sum[j] += f64::from(x);
                count[j] += 1;
            }
        });
    }
    let sparse = matches!(features, Features::Sparse(_));
    let rows: Vec<Vec<String>> = (0..d)
        .take(50)
        .map(|j| {
            // what a sparse row does not store is 0
            let absent = sparse && count[j] < all;
            let n = if sparse { all } else { count[j] }.max(1);
            let (low, high) = if absent { (low[j].min(0.0), high[j].max(0.0)) } else { (low[j], high[j]) };
            vec![names[j].clone(), low.to_string(), four(sum[j] / n as f64), high.to_string()]
        })
        .collect();
    let mut text = table(&["feature", "least", "mean", "largest"].map(str::to_owned), &rows);
    if d > 50 {
        text += &format!("… and {} more\n", d - 50);
    }
    text
}

/// Which metrics are losses.
pub(crate) fn losses(metrics: &[Metric]) -> Option<String> {
    let names: Vec<String> = metrics.iter().filter(|metric| metric.is_loss()).map(Metric::to_string).collect();
    (!names.is_empty()).then(|| format!("less is better: {}", names.join(", ")))
}

/// The metrics that leave out a unit, by name.
pub(crate) fn left_out(result: &Evaluation) -> Vec<String> {
    let some = |(_, values): &(&Metric, &Vec<Option<f64>>)| values.iter().any(Option::is_none);
    result.metrics.iter().zip(&result.values).filter(some).map(|(metric, _)| metric.to_string()).collect()
}
