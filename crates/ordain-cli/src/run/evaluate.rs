//! `ordain evaluate`.

use super::{check_output, read_all, read_for};
use crate::args::Evaluate;
use crate::plan::{self, Measures, Usage};
use crate::report::{Cell, MethodPart, Report};
use crate::screen::{Screen, four, table};
use anyhow::Result;
use ordain::data::{self, RankSet, trec, write_whole};
use ordain::metric::{self, Convention, Evaluation, Kind, Metric, stats};
use ordain::{Error, model_file};
use serde_json::{Map, Value, json};
use std::path::Path;

/// Seed of the bootstrap: an interval is part of the answer, so it does not change from run to run.
pub(super) const BOOTSTRAP: u64 = 1;

/// Scores beside the truth, from wherever they come.
enum Subject {
    Set { set: Box<RankSet>, scores: Vec<f64> },
    Run(trec::Run),
}

impl Subject {
    fn evaluate(&self, metrics: &[Metric], by: &Convention) -> ordain::Result<Evaluation> {
        match self {
            Self::Set { set, scores } => metric::evaluate(set, &set.all(), scores, metrics, by),
            Self::Run(run) => metric::evaluate_run(run, metrics, by),
        }
    }

    fn query(&self, q: usize) -> &str {
        match self {
            Self::Set { set, .. } => set.query(q),
            Self::Run(run) => &run.queries[q].query,
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Set { set, .. } => set.len(),
            Self::Run(run) => run.queries.len(),
        }
    }
}

pub(super) fn run(args: &Evaluate, screen: &Screen) -> Result<()> {
    let measures = plan::measures(&args.metrics)?;
    args.metrics.report.as_deref().map(check_output).transpose()?;
    let (subject, label, features) = subject(args, screen)?;
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
        let mut head = vec!["query".to_owned()];
        head.extend(measures.metrics.iter().map(Metric::to_string));
        let rows: Vec<Vec<String>> = (0..subject.len())
            .map(|q| {
                let values = result.values.iter().map(|values| values[q].map_or("-".to_owned(), four));
                std::iter::once(subject.query(q).to_owned()).chain(values).collect()
            })
            .collect();
        text += &table(&head, &rows);
        text.push('\n');
    }
    let rows: Vec<Vec<String>> = (0..measures.metrics.len())
        .map(|m| {
            let counted = result.counted(m);
            if counted.is_empty() {
                return vec![measures.metrics[m].to_string(), "-".into(), "no query counts".into()];
            }
            let (low, high) = stats::interval(&counted, BOOTSTRAP);
            vec![measures.metrics[m].to_string(), four(result.mean(m)), format!("[{}, {}]", four(low), four(high))]
        })
        .collect();
    text += &table(&["metric", "mean", "95 % interval"].map(str::to_owned), &rows);
    text += &format!(
        "{} queries, {} left out (nothing in them is relevant); convention {}\n",
        subject.len(),
        result.skipped(),
        measures.convention
    );
    screen.data(&text)
}

/// What is measured, what to call it, and its strongest features if it is a model.
type Named = (Subject, String, Vec<(String, f64)>);

fn subject(args: &Evaluate, screen: &Screen) -> Result<Named> {
    let wrong = |text: &str| Err(Usage(text.into()).into());
    if let (Some(run), Some(qrels)) = (&args.run, &args.qrels) {
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
            if args.reading.missing.is_some() {
                return wrong("a model has its own rule for missing values: leave out --missing");
            }
            let model = model_file::load(path)?;
            let set = read_for(&model, data, screen)?;
            if model.facts.data == set.digest() {
                screen.say("note: these are the data that the model was trained on");
            }
            let scores = model.ranker.scores(&set);
            Ok((Subject::Set { set: Box::new(set), scores }, model.facts.method.clone(), strongest(&model.ranker)))
        }
        _ => wrong("give MODEL DATA, or DATA with --scores FILE or --feature N, or --run RUN --qrels QRELS"),
    }
}

/// The features with the largest weights.
pub(super) fn strongest(ranker: &ordain::method::LinearRanker) -> Vec<(String, f64)> {
    let mut all: Vec<(String, f64)> =
        ranker.columns.names.iter().cloned().zip(ranker.weights.iter().copied()).collect();
    all.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    all.truncate(15);
    all
}

/// One score per row of the input, put into stored order.
fn read_scores(path: &Path, set: &RankSet) -> Result<Vec<f64>> {
    let text = String::from_utf8_lossy(&data::read_whole(path)?).into_owned();
    let mut input = vec![];
    for (line, word) in
        text.lines().enumerate().map(|(i, line)| (i + 1, line.trim())).filter(|(_, word)| !word.is_empty())
    {
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
        let (low, high) = stats::interval(&counted, BOOTSTRAP);
        let cell = if counted.is_empty() {
            json!({"mean": null, "low": null, "high": null})
        } else {
            json!({"mean": result.mean(m), "low": low, "high": high})
        };
        metrics.insert(metric.to_string(), cell);
    }
    let mut document = json!({
        "task": "rank", "convention": measures.convention.to_string(), "unit": "query", "units": subject.len(),
        "skipped": result.skipped(), "metrics": metrics,
    });
    if per_query {
        let rows = (0..subject.len()).map(|q| {
            let mut row = Map::new();
            row.insert("query".into(), subject.query(q).into());
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
            let (low, high) = stats::interval(&result.counted(m), BOOTSTRAP);
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

fn report(
    subject: &Subject,
    label: &str,
    features: Vec<(String, f64)>,
    measures: &Measures,
    result: &Evaluation,
) -> Result<Report> {
    // without gains (negative grades) there is no curve, and the rest of the report still stands
    let curve = subject.evaluate(&curve_metrics(), &measures.convention).map(|curve| cells(&curve)).unwrap_or_default();
    let watched = watched(&measures.metrics);
    let method = MethodPart {
        label: label.to_owned(),
        cells: cells(result),
        curve,
        per_query: result.values[watched]
            .iter()
            .enumerate()
            .map(|(q, &value)| (subject.query(q).to_owned(), value))
            .collect(),
        features,
        ..MethodPart::default()
    };
    Ok(Report {
        title: format!("Evaluation of {label}"),
        command: command_line(),
        version: env!("CARGO_PKG_VERSION").into(),
        convention: measures.convention.to_string(),
        units: subject.len(),
        skipped: result.skipped(),
        folds: 1,
        metrics: measures.metrics.iter().map(Metric::to_string).collect(),
        watched: measures.metrics[watched].to_string(),
        methods: vec![method],
        tests: vec![],
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
