//! `ordain evaluate`: a model, scores, one feature or a TREC run beside the truth.

mod agreement;

use super::compare::Round;
use super::{check_output, each_model, files, followed};
use crate::args::Evaluate;
use crate::plan::{self, Measures, Usage};
use crate::report::{Cell, MethodPart, Report};
use crate::screen::{Screen, four, table};
use crate::show::{self, Given, Show, left_out};
use anyhow::Result;
use ordain::Error;
use ordain::answer::{Importance, Importances, curve_metrics, importances, measured, strongest};
use ordain::data::{self, Holds, LabelSet, MatchSet, RankSet, Split, trec, write_whole};
use ordain::method::{Annotate, Match, Matcher, Rank};
use ordain::metric::{self, Convention, Evaluation, Kind, LabelScores, Metric};
use ordain::score::Score;
use ordain::solver::run::Watch;
use ordain::task::{DataSet, Fitted, Model, Task, Words};
use std::path::{Path, PathBuf};

/// Features of a model that a report shows.
const FEATURES: usize = 15;

/// Features whose importance is printed.
const SHOWN: usize = 20;

/// Draws of an importance.
const DRAWS: usize = 3;

/// What each feature is worth by a metric.
type Exchange<'a> = dyn Fn(Metric, &Convention) -> Result<Vec<Importance>> + 'a;

/// What is measured, from wherever it comes.
pub(super) struct Subject<'a> {
    pub(super) words: &'static Words,
    /// What to call it.
    pub(super) label: String,
    pub(super) len: usize,
    /// The id of a unit.
    pub(super) name: &'a dyn Fn(usize) -> String,
    pub(super) evaluate: &'a dyn Fn(&[Metric], &Convention) -> ordain::Result<Evaluation>,
    /// What metrics mean where it is not plain, and how many units are left out.
    pub(super) remarks: fn(&[Metric]) -> Vec<String>,
    pub(super) skipped: fn(&Evaluation) -> String,
    /// The number of labels, for the curve of a report.
    pub(super) labels: usize,
    /// What a report shows beside figures.
    pub(super) part: &'a dyn Fn(&Evaluation) -> Result<MethodPart>,
    /// What each feature is worth, of a model.
    pub(super) importances: Option<&'a Exchange<'a>>,
}

pub(super) fn run(args: &Evaluate, screen: &Screen) -> Result<()> {
    plan::check_measures(&args.metrics)?; // what is wrong with them is said before any file is read
    args.metrics.report.as_deref().map(check_output).transpose()?;
    let wrong = |text: &str| Err(Usage(text.into()).into());
    if let (Some(path), Some(qrels)) = (&args.run, &args.qrels) {
        if args.reading.labels.is_some() {
            return wrong("--run is of queries with documents; items with labels have no run: use --scores");
        }
        if !args.inputs.is_empty() {
            return wrong("--run and --qrels stand alone: leave out MODEL and DATA");
        }
        return trec_run(path, qrels, args, screen);
    }
    match (&args.inputs[..], &args.scores, &args.feature) {
        ([path, data @ ..], None, None) if !data.is_empty() => {
            if let Some(answers) = &args.answers {
                return agreement::run(path, data, answers, args, screen);
            }
            let model = super::open_model(path, &args.reading)?;
            each_model!(model, fitted => of_model(fitted, path, data, args, screen))
        }
        (data @ [first, ..], Some(scores), None) => match files::what(first, &args.reading, &args.columns) {
            Holds::Queries => scores_of_documents(data, scores, args, screen),
            Holds::Items => scores_of_labels(data, scores, args, screen),
            Holds::Problems => {
                wrong("--scores is for rankings and labels; matches are measured with a model or by one --feature")
            }
        },
        (data @ [first, ..], None, Some(feature)) => match files::what(first, &args.reading, &args.columns) {
            Holds::Queries => by_feature(data, feature, args, screen),
            Holds::Items => {
                wrong("--feature ranks documents; labels of items are not ranked by one feature: use --scores")
            }
            Holds::Problems => matched_by_feature(data, feature, args, screen),
        },
        _ => wrong("give MODEL DATA, or DATA with --scores FILE or --feature N, or --run RUN --qrels QRELS"),
    }
}

/// Measures, and says what came out.
fn measure(subject: &Subject, measures: &Measures, args: &Evaluate, screen: &Screen) -> Result<()> {
    let result = (subject.evaluate)(&measures.metrics, &measures.convention)?;
    if let Some(path) = &args.metrics.report {
        let html = crate::report::html(&report(subject, measures, &result)?)?;
        write_whole(path, |out| out.write_all(html.as_bytes()))?;
        screen.say(&format!("wrote {}", path.display()));
    }
    let by = measures.metrics[watched(&measures.metrics)];
    let worth = subject.importances.filter(|_| args.importance);
    let worth = worth.map(|importances| importances(by, &measures.convention)).transpose()?;
    if screen.json {
        let names = args.per_query.then_some(subject.name);
        let mut answer = measured(subject.words, &measures.convention, subject.len, &result, names);
        answer.importances = worth.map(|all| Importances { metric: by.to_string(), features: all });
        return screen.answer(&answer);
    }
    let mut text = String::new();
    if args.per_query {
        let mut head = vec![subject.words.unit[0].to_owned()];
        head.extend(measures.metrics.iter().map(Metric::to_string));
        let rows: Vec<Vec<String>> = (0..subject.len)
            .map(|q| {
                let values = result.values.iter().map(|values| values[q].map_or("-".to_owned(), four));
                std::iter::once((subject.name)(q)).chain(values).collect()
            })
            .collect();
        text += &table(&head, &rows);
        text.push('\n');
    }
    let row = |(metric, cell): (&Metric, ordain::answer::Cell)| match (cell.mean, cell.low, cell.high) {
        (Some(mean), Some(low), Some(high)) => {
            vec![metric.to_string(), four(mean), format!("[{}, {}]", four(low), four(high))]
        }
        (Some(mean), ..) => vec![metric.to_string(), four(mean), format!("none of one {}", subject.words.unit[0])],
        _ => vec![metric.to_string(), "-".into(), format!("no {} counts", subject.words.unit[0])],
    };
    let rows: Vec<Vec<String>> = measures.metrics.iter().zip(ordain::answer::cells(&result)).map(row).collect();
    text += &table(&["metric", "mean", "95 % interval"].map(str::to_owned), &rows);
    let convention = match subject.words.file {
        Holds::Problems => String::new(),
        _ => format!("; convention {}", measures.convention),
    };
    text += &format!(
        "{} {}, {}{convention}\n{}",
        subject.len,
        subject.words.unit[1],
        (subject.skipped)(&result),
        (subject.remarks)(&measures.metrics).into_iter().map(|line| line + "\n").collect::<String>(),
    );
    text += &show::reliability(&result).unwrap_or_default();
    if let Some(all) = worth {
        let cell = |x: f64| format!("{x:+.4}");
        let row = |one: &Importance| {
            vec![one.feature.clone(), cell(one.mean), format!("[{}, {}]", cell(one.low), cell(one.high))]
        };
        let rows: Vec<Vec<String>> = all.iter().take(SHOWN).map(row).collect();
        text += &format!("\nwhat {by} loses if a feature is exchanged between {}:\n", subject.words.unit[1]);
        text += &table(&["feature", "loss", "95 % interval"].map(str::to_owned), &rows);
        if all.len() > SHOWN {
            text += &format!("and {} more (--json has all)\n", all.len() - SHOWN);
        }
    }
    screen.data(&text)
}

/// A model on data that it has not seen, or has.
fn of_model<T: Round>(
    mut fitted: Fitted<T>,
    path: &Path,
    data: &[PathBuf],
    args: &Evaluate,
    screen: &Screen,
) -> Result<()> {
    plan::check_evaluate(args, T::WORDS, true)?;
    T::operate(&mut fitted.model, &args.into(), screen)?;
    let mut measures = plan::measures(&args.metrics, T::WORDS)?;
    let asked = !args.metrics.metric.is_empty();
    if args.preferences.is_some() && !asked {
        measures.metrics = vec![plan::metric("pairs")?];
    }
    T::measurable(&fitted.model, &mut measures.metrics, asked)?;
    super::warn_interrupted(&fitted.facts.report, path, screen);
    let given = Given {
        only: &[Split::Test],
        pins: args.pin.as_deref(),
        gram: args.gram.as_deref(),
        links: args.links.as_deref(),
        start: args.start.as_deref(),
        preferences: args.preferences.as_deref(),
        ..Given::new(&args.reading, &args.columns, &args.points)
    };
    let ready = files::read_for(&fitted, data, &given, screen)?;
    files::need_truth::<T>(ready.set(), data)?;
    if fitted.trained_on(ready.raw()) {
        screen.say("note: these are the data that the model was trained on");
    }
    files::say_left(&ready, data, screen);
    T::warn_of_metrics(&fitted.model, &ready, &measures.metrics, screen)?;
    let (set, all) = (ready.set(), ready.set().all());
    let subject = Subject {
        words: T::WORDS,
        label: fitted.facts.method.clone(),
        len: set.len(),
        name: &|unit| set.name(unit).into_owned(),
        evaluate: &|metrics, by| fitted.model.evaluate(&ready, &all, metrics, by),
        remarks: T::remarks,
        skipped: T::skipped,
        labels: T::labels(set),
        part: &|result| T::part(&fitted.model, &ready, result),
        importances: Some(&|metric, by| {
            let exchange = |watch: &Watch| {
                importances::<T>(&fitted.model, &ready, metric, by, DRAWS, |done| {
                    (watch.tell)(done, "exchanging features");
                    if watch.stopped() { Err(Error::Interrupted) } else { Ok(()) }
                })
            };
            Ok(followed(screen, exchange)?)
        }),
    };
    measure(&subject, &measures, args, screen)
}

fn nothing(_: &Evaluation) -> Result<MethodPart> {
    Ok(MethodPart::default())
}

fn trec_run(path: &Path, qrels: &Path, args: &Evaluate, screen: &Screen) -> Result<()> {
    let measures = plan::measures(&args.metrics, Rank::WORDS)?;
    let run = trec::read_run(path, qrels)?;
    if run.not_run + run.not_judged > 0 {
        screen.say(&format!(
            "{} judged queries are not in the run, {} queries of the run are not judged: both are left out, as trec_eval does",
            run.not_run, run.not_judged
        ));
    }
    let subject = Subject {
        words: Rank::WORDS,
        label: path.display().to_string(),
        len: run.queries.len(),
        name: &|q| run.queries[q].query.clone(),
        evaluate: &|metrics, by| metric::evaluate_run(&run, metrics, by),
        remarks: Rank::remarks,
        skipped: Rank::skipped,
        labels: 0,
        part: &nothing,
        importances: None,
    };
    measure(&subject, &measures, args, screen)
}

/// Data without a model, gaps filled by what is asked.
fn plain<T: Show>(paths: &[PathBuf], args: &Evaluate, screen: &Screen) -> Result<T::Set> {
    plan::check_evaluate(args, T::WORDS, false)?;
    let given = Given { only: &[Split::Test], ..Given::new(&args.reading, &args.columns, &args.points) };
    let how = T::reading(&given)?;
    let (mut set, _) = files::read::<T>(&[paths.to_vec()], &how, "this task", &given)?;
    files::say_columns(set.columns(), &given, screen)?;
    T::warn_of_set(&set, &given, &files::named(paths), screen);
    screen.allow_data()?;
    set.fill(T::missing(&how), &set.all());
    files::need_truth::<T>(&set, paths)?;
    Ok(set)
}

/// Scores of documents beside their grades.
fn ranked(set: &RankSet, label: String, scores: &[f64], args: &Evaluate, screen: &Screen) -> Result<()> {
    let measures = plan::measures(&args.metrics, Rank::WORDS)?;
    let subject = Subject {
        words: Rank::WORDS,
        label,
        len: set.len(),
        name: &|q| set.query(q).to_owned(),
        evaluate: &|metrics, by| metric::evaluate(set, &set.all(), scores, metrics, by),
        remarks: Rank::remarks,
        skipped: Rank::skipped,
        labels: 0,
        part: &nothing,
        importances: None,
    };
    measure(&subject, &measures, args, screen)
}

fn scores_of_documents(data: &[PathBuf], file: &Path, args: &Evaluate, screen: &Screen) -> Result<()> {
    let set = plain::<Rank>(data, args, screen)?;
    let scores = read_scores(file, &set)?;
    ranked(&set, file.display().to_string(), &scores, args, screen)
}

fn by_feature(data: &[PathBuf], feature: &str, args: &Evaluate, screen: &Screen) -> Result<()> {
    let set = plain::<Rank>(data, args, screen)?;
    let j = set.columns.find(feature)?;
    let scores: Vec<f64> = (0..set.rows()).map(|row| f64::from(set.features.value(row, j))).collect();
    ranked(&set, format!("feature {feature}"), &scores, args, screen)
}

fn scores_of_labels(data: &[PathBuf], file: &Path, args: &Evaluate, screen: &Screen) -> Result<()> {
    let mut measures = plan::measures(&args.metrics, Annotate::WORDS)?;
    let needs_number = |metric: &Metric| metric.of_sets() || metric.kind == Kind::BepLearned;
    let asked = !args.metrics.metric.is_empty();
    if let Some(metric) = measures.metrics.iter().find(|metric| needs_number(metric)).filter(|_| asked) {
        return Err(Usage(format!(
            "--metric {metric}: scores rank labels but do not say how many apply; {metric} needs a model (bep, p@k, ap, rankloss and coverage do not)"
        ))
        .into());
    }
    measures.metrics.retain(|metric| !needs_number(metric));
    let set = plain::<Annotate>(data, args, screen)?;
    let said = LabelScores { scores: read_label_scores(file, &set)?, sets: vec![] };
    let subject = Subject {
        words: Annotate::WORDS,
        label: file.display().to_string(),
        len: set.len(),
        name: &|i| set.item(i).into_owned(),
        evaluate: &|metrics, by| metric::evaluate_labels(&set, &set.all(), &said, metrics, by),
        remarks: |metrics| show::losses(metrics).into_iter().collect(),
        skipped: Annotate::skipped,
        labels: set.labels.len(),
        part: &nothing,
        importances: None,
    };
    measure(&subject, &measures, args, screen)
}

fn matched_by_feature(data: &[PathBuf], feature: &str, args: &Evaluate, screen: &Screen) -> Result<()> {
    let mut measures = plan::measures(&args.metrics, Match::WORDS)?;
    show::measurable(false, "this model", &mut measures.metrics, !args.metrics.metric.is_empty())?;
    let set = plain::<Match>(data, args, screen)?;
    let matcher = one_feature(&set, feature)?;
    let (ready, all) = (matcher.prepare(&set)?, set.all());
    let subject = Subject {
        words: Match::WORDS,
        label: format!("feature {feature}"),
        len: set.len(),
        name: &|p| set.problem(p).name.clone(),
        evaluate: &|metrics, by| matcher.evaluate(&ready, &all, metrics, by),
        remarks: Match::remarks,
        skipped: Match::skipped,
        labels: 0,
        part: &|result| Match::part(&matcher, &ready, result).map(|part| MethodPart { features: vec![], ..part }),
        importances: None,
    };
    measure(&subject, &measures, args, screen)
}

/// A matcher by one feature, the more the better; `-NAME` is one of which less is better.
fn one_feature(set: &MatchSet, feature: &str) -> Result<Matcher> {
    let (j, sign) = match (set.columns.find(feature), feature.strip_prefix('-')) {
        (Err(_), Some(name)) => (set.columns.find(name)?, -1.0),
        (found, _) => (found?, 1.0),
    };
    let mut weights = vec![0.0; set.columns.names.len()];
    weights[j] = sign;
    Ok(Matcher::unlearned(set, weights))
}

/// The strongest features of a linear model, for a report.
pub(super) fn features(columns: &data::Columns, weights: &[f64]) -> Vec<(String, f64)> {
    strongest(columns, weights, FEATURES)
}

/// The features by which trees gain most, for a report; none without trees.
pub(super) fn gains(columns: &data::Columns, score: &Score) -> Vec<(String, f64)> {
    let mut all = score.gains().map_or(vec![], |gains| strongest(columns, &gains, FEATURES));
    all.retain(|(_, gain)| *gain > 0.0);
    all
}

/// One score per row of the input, put into stored order.
fn read_scores(path: &Path, set: &RankSet) -> Result<Vec<f64>> {
    let input = data::read_scores(path, set.rows())?;
    Ok((0..set.rows()).map(|row| input[set.input_row(row)]).collect())
}

/// One line per item with one score per label, apart by white space or commas.
fn read_label_scores(path: &Path, set: &LabelSet) -> Result<Vec<f64>> {
    let (n, mut scores, mut items) = (set.labels.len(), vec![], 0);
    for (i, line) in data::read_lines(path)?.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
        let refuse = |column: usize, expected: String, found: String| {
            Err(Error::Parse { path: path.into(), line: i + 1, column, expected, found }.into())
        };
        let mut here = 0;
        for word in line.split([',', ' ', '\t']).filter(|word| !word.is_empty()) {
            match word.parse::<f64>() {
                Ok(score) if score.is_finite() => scores.push(score),
                _ => {
                    let column = word.as_ptr() as usize - line.as_ptr() as usize + 1;
                    let found = format!("{:?}", word.chars().take(60).collect::<String>());
                    return refuse(column, "a finite score".into(), found);
                }
            }
            here += 1;
        }
        if here != n {
            return refuse(1, format!("{n} scores, one per label"), here.to_string());
        }
        items += 1;
    }
    if items != set.len() {
        return Err(Error::Content {
            path: path.into(),
            expected: format!("{} lines of scores, one per item of the data", set.len()),
            found: items.to_string(),
        }
        .into());
    }
    Ok(scores)
}

/// Means with intervals, as a report shows them.
pub(super) fn cells(result: &Evaluation) -> Vec<Cell> {
    let number = |x: Option<f64>| x.unwrap_or(f64::NAN);
    let one = |cell: ordain::answer::Cell| Cell {
        mean: number(cell.mean),
        low: number(cell.low),
        high: number(cell.high),
        ..Cell::default()
    };
    ordain::answer::cells(result).into_iter().map(one).collect()
}

/// The metric that a report shows query by query: NDCG@10, else the first.
pub(super) fn watched(metrics: &[Metric]) -> usize {
    metrics.iter().position(|m| *m == Metric { kind: Kind::Ndcg, k: Some(10) }).unwrap_or(0)
}

fn report(subject: &Subject, measures: &Measures, result: &Evaluation) -> Result<Report> {
    // without gains (negative grades) there is no curve, and the rest of the report still stands
    let curve = match curve_metrics(subject.words, subject.labels) {
        curve if curve.is_empty() => vec![],
        curve => (subject.evaluate)(&curve, &measures.convention).map(|curve| cells(&curve)).unwrap_or_default(),
    };
    let watched = watched(&measures.metrics);
    let ranks = subject.words.file == Holds::Queries;
    let method = MethodPart {
        label: subject.label.clone(),
        cells: cells(result),
        curve,
        per_query: result.values[watched].iter().enumerate().map(|(q, &value)| ((subject.name)(q), value)).collect(),
        ..(subject.part)(result)?
    };
    Ok(Report {
        title: format!("Evaluation of {}", subject.label),
        command: command_line(),
        version: env!("CARGO_PKG_VERSION").into(),
        words: subject.words.into(),
        convention: match subject.words.file {
            Holds::Problems => String::new(),
            _ => measures.convention.to_string(),
        },
        notes: if ranks { vec![] } else { (subject.remarks)(&measures.metrics) },
        left_out: if ranks { vec![] } else { left_out(result) },
        units: subject.len,
        skipped: result.skipped(),
        folds: 1,
        metrics: measures.metrics.iter().map(Metric::to_string).collect(),
        watched: measures.metrics[watched].to_string(),
        watched_is_loss: measures.metrics[watched].is_loss(),
        methods: vec![method],
        ..Report::default()
    })
}

/// The command as it was typed, with quotes where a shell needs them.
pub(super) fn command_line() -> String {
    let words = std::env::args().skip(1).map(|word| {
        let plain = !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_=./@,:+".contains(c));
        if plain { word } else { format!("'{}'", word.replace('\'', "'\\''")) }
    });
    std::iter::once("ordain".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}
