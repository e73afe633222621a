//! `ordain evaluate`.

use super::tags::{self, evaluate::Said};
use super::{check_output, compare, matches, open_model, read_all, read_for};
use crate::args::Evaluate;
use crate::plan::{self, Measures, Usage};
use crate::report::{Cell, MethodPart, Report, Words};
use crate::screen::{Screen, four, table};
use anyhow::Result;
use ordain::Error;
use ordain::data::{self, LabelSet, MatchSet, RankSet, Split, read_labels, read_matches, trec, write_whole};
use ordain::method::{Matcher, Task};
use ordain::metric::calibration::Calibration;
use ordain::metric::{self, Convention, Evaluation, Kind, Metric};
use ordain::model_file::Model;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::path::Path;

/// Seed of the bootstrap: an interval is part of the answer, so it does not change from run to run.
pub(super) const BOOTSTRAP: u64 = 1;

/// Scores beside the truth, from wherever they come.
enum Subject {
    Set { set: Box<RankSet>, scores: Vec<f64> },
    Run(trec::Run),
    Items { set: Box<LabelSet>, said: Said },
    Problems { set: Box<MatchSet>, matcher: Box<Matcher> },
}

impl Subject {
    fn evaluate(&self, metrics: &[Metric], by: &Convention) -> ordain::Result<Evaluation> {
        match self {
            Self::Set { set, scores } => metric::evaluate(set, &set.all(), scores, metrics, by),
            Self::Run(run) => metric::evaluate_run(run, metrics, by),
            Self::Items { set, said } => said.evaluate(set, metrics, by),
            Self::Problems { set, matcher } => matcher.evaluate(set, &set.all(), metrics),
        }
    }

    /// The id of a query or of an item.
    fn name(&self, q: usize) -> Cow<'_, str> {
        match self {
            Self::Set { set, .. } => set.query(q).into(),
            Self::Run(run) => run.queries[q].query.as_str().into(),
            Self::Items { set, .. } => set.item(q),
            Self::Problems { set, .. } => set.problem(q).name.as_str().into(),
        }
    }

    fn task(&self) -> Task {
        match self {
            Self::Items { .. } => Task::Annotate,
            Self::Problems { .. } => Task::Match,
            Self::Set { .. } | Self::Run(_) => Task::Rank,
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Set { set, .. } => set.len(),
            Self::Run(run) => run.queries.len(),
            Self::Items { set, .. } => set.len(),
            Self::Problems { set, .. } => set.len(),
        }
    }

    /// How many there are, what was left out, and by which rules.
    fn remark(&self, measures: &Measures, result: &Evaluation) -> String {
        let (n, skipped, convention) = (self.len(), result.skipped(), &measures.convention);
        match self {
            Self::Items { said, .. } => format!(
                "{n} items, {}; convention {convention}\n{}",
                tags::evaluate::skipped(result),
                said.remarks(&measures.metrics).into_iter().map(|line| line + "\n").collect::<String>()
            ),
            Self::Problems { .. } => {
                let lines = matches::evaluate::remarks(&measures.metrics).into_iter().map(|line| line + "\n");
                let said = matches::evaluate::skipped(result);
                format!(
                    "{n} problems, {said}\n{}{}",
                    lines.collect::<String>(),
                    matches::evaluate::reliability(result).unwrap_or_default()
                )
            }
            _ => format!("{n} queries, {skipped} left out (nothing in them is relevant); convention {convention}\n"),
        }
    }
}

pub(super) fn run(args: &Evaluate, screen: &Screen) -> Result<()> {
    plan::check_measures(&args.metrics)?; // what is wrong with them is said before any file is read
    args.metrics.report.as_deref().map(check_output).transpose()?;
    let (subject, label, features) = subject(args, screen)?;
    let mut measures = plan::measures(&args.metrics, subject.task())?;
    let asked = !args.metrics.metric.is_empty();
    match &subject {
        Subject::Items { said, .. } => said.measurable(&mut measures.metrics, asked)?,
        Subject::Problems { set, matcher } => {
            let has = matcher.temperature.is_some();
            matches::evaluate::measurable(has, "this model", &mut measures.metrics, asked)?;
            matches::evaluate::warn_approximate(matcher, set, &measures.metrics, screen)?;
        }
        Subject::Set { .. } | Subject::Run(_) => {}
    }
    let result = subject.evaluate(&measures.metrics, &measures.convention)?;
    if let Some(path) = &args.metrics.report {
        let report = report(&subject, &label, features, &measures, &result)?;
        let html = crate::report::html(&report)?;
        write_whole(path, |out| out.write_all(html.as_bytes()))?;
        screen.say(&format!("wrote {}", path.display()));
    }
    if screen.json {
        return screen.document(&document(&subject, &measures, &result, args.per_query));
    }
    let mut text = String::new();
    if args.per_query {
        let mut head = vec![subject.task().unit().to_owned()];
        head.extend(measures.metrics.iter().map(Metric::to_string));
        let rows: Vec<Vec<String>> = (0..subject.len())
            .map(|q| {
                let values = result.values.iter().map(|values| values[q].map_or("-".to_owned(), four));
                std::iter::once(subject.name(q).into_owned()).chain(values).collect()
            })
            .collect();
        text += &table(&head, &rows);
        text.push('\n');
    }
    let rows: Vec<Vec<String>> = (0..measures.metrics.len())
        .map(|m| {
            let counted = result.counted(m);
            if counted.is_empty() {
                return vec![
                    measures.metrics[m].to_string(),
                    "-".into(),
                    format!("no {} counts", subject.task().unit()),
                ];
            }
            let (low, high) = result.interval(m, BOOTSTRAP);
            vec![measures.metrics[m].to_string(), four(result.mean(m)), format!("[{}, {}]", four(low), four(high))]
        })
        .collect();
    text += &table(&["metric", "mean", "95 % interval"].map(str::to_owned), &rows);
    text += &subject.remark(&measures, &result);
    screen.data(&text)
}

/// What is measured, what to call it, and its strongest features if it is a model.
type Named = (Subject, String, Vec<(String, f64)>);

fn subject(args: &Evaluate, screen: &Screen) -> Result<Named> {
    let wrong = |text: &str| Err(Usage(text.into()).into());
    if let (Some(run), Some(qrels)) = (&args.run, &args.qrels) {
        if args.reading.labels.is_some() {
            return wrong("--run is of queries with documents; items with labels have no run: use --scores");
        }
        if !args.inputs.is_empty() {
            return wrong("--run and --qrels stand alone: leave out MODEL and DATA");
        }
        let read = trec::read_run(run, qrels)?;
        if read.not_run + read.not_judged > 0 {
            screen.say(&format!(
                "{} judged queries are not in the run, {} queries of the run are not judged: both are left out, as trec_eval does",
                read.not_run, read.not_judged
            ));
        }
        return Ok((Subject::Run(read), run.display().to_string(), vec![]));
    }
    let missing = plan::missing(&args.reading);
    match (&args.inputs[..], &args.scores, &args.feature) {
        ([first, ..], Some(_), _) if matches::are_problems(first, &args.reading) => {
            wrong("--scores is for rankings and labels; matches are measured with a model or by one --feature")
        }
        (data @ [first, ..], None, Some(feature)) if matches::are_problems(first, &args.reading) => {
            let mut reading = plan::match_reading(&args.reading, &args.points)?;
            reading.only = vec![Split::Test];
            let (mut set, _) = read_matches(&[data.to_vec()], &reading)?;
            set.fill(missing, &set.all());
            matches::need_truth(&set, data)?;
            let matcher = Box::new(matches::evaluate::by_feature(&set, feature)?);
            Ok((Subject::Problems { set: Box::new(set), matcher }, format!("feature {feature}"), vec![]))
        }
        ([first, ..], Some(file), None) if tags::are_items(first, &args.reading) => {
            let (mut set, _) = read_labels(std::slice::from_ref(&args.inputs), &plan::tag_reading(&args.reading))?;
            set.fill(missing, &set.all());
            tags::need_labels(&set, &args.inputs)?;
            let said = Said::Scores(tags::evaluate::read_scores(file, &set)?);
            Ok((Subject::Items { set: Box::new(set), said }, file.display().to_string(), vec![]))
        }
        ([first, ..], None, Some(_)) if tags::are_items(first, &args.reading) => {
            wrong("--feature ranks documents; labels of items are not ranked by one feature: use --scores")
        }
        (data @ [_, ..], Some(file), None) => {
            let set = read_all(data, missing)?;
            let scores = read_scores(file, &set)?;
            Ok((Subject::Set { set: Box::new(set), scores }, file.display().to_string(), vec![]))
        }
        (data @ [_, ..], None, Some(feature)) => {
            let mut set = read_all(data, missing)?;
            set.fill(missing, &set.all());
            let j = set.columns.find(feature)?;
            let scores = (0..set.rows()).map(|row| f64::from(set.features.value(row, j))).collect();
            Ok((Subject::Set { set: Box::new(set), scores }, format!("feature {feature}"), vec![]))
        }
        ([path, data @ ..], None, None) if !data.is_empty() => {
            let model = match open_model(path, &args.reading)? {
                Model::Rank(model) => model,
                Model::Match(model) => {
                    super::warn_interrupted(&model.facts.report, path, screen);
                    let set = matches::read_for(&model.matcher, data, &args.points, &[Split::Test], screen)?;
                    matches::need_truth(&set, data)?;
                    if model.facts.data == set.digest() {
                        screen.say("note: these are the data that the model was trained on");
                    }
                    let features = strongest(&model.matcher.columns, &model.matcher.weights);
                    let subject = Subject::Problems { set: Box::new(set), matcher: Box::new(model.matcher) };
                    return Ok((subject, model.facts.method, features));
                }
                Model::Annotate(model) => {
                    plan::no_points(&args.points)?;
                    super::warn_interrupted(&model.facts.report, path, screen);
                    let set = tags::read_for(&model.annotator, data, args.reading.labels.as_deref(), screen)?;
                    tags::need_labels(&set, data)?;
                    if model.facts.data == set.digest() {
                        screen.say("note: these are the data that the model was trained on");
                    }
                    let said = Said::Model(Box::new(model.annotator));
                    return Ok((Subject::Items { set: Box::new(set), said }, model.facts.method, vec![]));
                }
            };
            super::warn_interrupted(&model.facts.report, path, screen);
            plan::no_points(&args.points)?;
            tags::refuse_items(path, data, &args.reading)?;
            let set = read_for(&model, data, screen)?;
            if model.facts.data == set.digest() {
                screen.say("note: these are the data that the model was trained on");
            }
            let scores = model.ranker.scores(&set)?;
            let features = strongest(&model.ranker.columns, &model.ranker.weights);
            Ok((Subject::Set { set: Box::new(set), scores }, model.facts.method.clone(), features))
        }
        _ => wrong("give MODEL DATA, or DATA with --scores FILE or --feature N, or --run RUN --qrels QRELS"),
    }
}

/// The features with the largest weights.
pub(super) fn strongest(columns: &data::Columns, weights: &[f64]) -> Vec<(String, f64)> {
    let mut all: Vec<(String, f64)> = columns.names.iter().cloned().zip(weights.iter().copied()).collect();
    all.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    all.truncate(15);
    all
}

/// One score per row of the input, put into stored order.
fn read_scores(path: &Path, set: &RankSet) -> Result<Vec<f64>> {
    let mut input = vec![];
    for (line, word) in (1..).zip(&data::read_lines(path)?).filter(|(_, word)| !word.is_empty()) {
        match word.parse::<f64>() {
            Ok(score) if score.is_finite() => input.push(score),
            _ => {
                return Err(Error::Parse {
                    path: path.into(),
                    line,
                    column: 1,
                    expected: "one finite score per line".into(),
                    found: format!("{:?}", word.chars().take(60).collect::<String>()),
                }
                .into());
            }
        }
    }
    if input.len() != set.rows() {
        return Err(Error::Content {
            path: path.into(),
            expected: format!("{} scores, one per row of the data", set.rows()),
            found: input.len().to_string(),
        }
        .into());
    }
    Ok((0..set.rows()).map(|row| input[set.input_row(row)]).collect())
}

fn document(subject: &Subject, measures: &Measures, result: &Evaluation, per_query: bool) -> Value {
    let mut metrics = Map::new();
    for (m, metric) in measures.metrics.iter().enumerate() {
        let counted = result.counted(m);
        let (low, high) = result.interval(m, BOOTSTRAP);
        let cell = if counted.is_empty() {
            json!({"mean": null, "low": null, "high": null})
        } else {
            json!({"mean": result.mean(m), "low": low, "high": high})
        };
        metrics.insert(metric.to_string(), cell);
    }
    let mut document = json!({
        "task": subject.task().name(), "convention": measures.convention.to_string(), "unit": subject.task().unit(),
        "units": subject.len(), "skipped": result.skipped(), "metrics": metrics,
    });
    if !result.calibration.is_empty() {
        let shown = compare::reliability(None, &Calibration::joined(&result.calibration));
        document["calibration"] = compare::calibration(&shown, "edges");
    }
    if per_query {
        let rows = (0..subject.len()).map(|q| {
            let mut row = Map::new();
            row.insert(subject.task().unit().into(), subject.name(q).into());
            for (metric, values) in measures.metrics.iter().zip(&result.values) {
                row.insert(metric.to_string(), values[q].into());
            }
            Value::Object(row)
        });
        document["per_query"] = rows.collect();
    }
    document
}

/// Means with intervals, as a report shows them.
pub(super) fn cells(result: &Evaluation) -> Vec<Cell> {
    (0..result.metrics.len())
        .map(|m| {
            let (low, high) = result.interval(m, BOOTSTRAP);
            Cell { mean: result.mean(m), low, high, ..Cell::default() }
        })
        .collect()
}

/// The metric that a report shows query by query: NDCG@10, else the first.
pub(super) fn watched(metrics: &[Metric]) -> usize {
    metrics.iter().position(|m| *m == Metric { kind: Kind::Ndcg, k: Some(10) }).unwrap_or(0)
}

/// NDCG@1 to NDCG@10, for the curves of a report.
pub(super) fn curve_metrics() -> Vec<Metric> {
    (1..=10).map(|k| Metric { kind: Kind::Ndcg, k: Some(k) }).collect()
}

/// The same of labels: p@1 to p@10.
pub(super) fn precision_curve(set: &LabelSet) -> Vec<Metric> {
    (1..=set.labels.len().min(10)).map(|k| Metric { kind: Kind::Precision, k: Some(k) }).collect()
}

fn report(
    subject: &Subject,
    label: &str,
    features: Vec<(String, f64)>,
    measures: &Measures,
    result: &Evaluation,
) -> Result<Report> {
    // without gains (negative grades) there is no curve, and the rest of the report still stands
    let curve = match subject {
        Subject::Items { set, .. } => precision_curve(set),
        Subject::Problems { .. } => vec![],
        Subject::Set { .. } | Subject::Run(_) => curve_metrics(),
    };
    let curve = match curve.is_empty() {
        true => vec![],
        false => subject.evaluate(&curve, &measures.convention).map(|curve| cells(&curve)).unwrap_or_default(),
    };
    let watched = watched(&measures.metrics);
    let mut page = Report::default();
    let mut part = MethodPart::default();
    if let Subject::Items { set, said } = subject {
        page.words = Words::ANNOTATE;
        page.notes = said.remarks(&measures.metrics);
        page.left_out = tags::evaluate::left_out(result);
        if let Said::Model(annotator) = said {
            part.core = annotator.star.core().iter().map(|&label| annotator.labels[label as usize].clone()).collect();
            part.links = compare::links(annotator);
            part.reliability = compare::tag_reliability(annotator, set)?;
        }
    }
    if let Subject::Problems { set, matcher } = subject {
        page.words = Words::MATCH;
        page.notes = matches::evaluate::remarks(&measures.metrics);
        page.left_out = tags::evaluate::left_out(result);
        let calibration = (!result.calibration.is_empty()).then(|| Calibration::joined(&result.calibration));
        part.reliability = calibration.map(|calibration| compare::reliability(None, &calibration));
        part.pictures = matches::evaluate::pictures(matcher, set, &set.all())?;
    }
    let method = MethodPart {
        label: label.to_owned(),
        cells: cells(result),
        curve,
        per_query: result.values[watched]
            .iter()
            .enumerate()
            .map(|(q, &value)| (subject.name(q).into_owned(), value))
            .collect(),
        features,
        ..part
    };
    Ok(Report {
        title: format!("Evaluation of {label}"),
        command: command_line(),
        version: env!("CARGO_PKG_VERSION").into(),
        convention: match subject {
            Subject::Problems { .. } => String::new(),
            _ => measures.convention.to_string(),
        },
        units: subject.len(),
        skipped: result.skipped(),
        folds: 1,
        metrics: measures.metrics.iter().map(Metric::to_string).collect(),
        watched: measures.metrics[watched].to_string(),
        watched_is_loss: measures.metrics[watched].is_loss(),
        methods: vec![method],
        ..page
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
