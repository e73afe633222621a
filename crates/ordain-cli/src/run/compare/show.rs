//! A comparison as a table, as JSON, and as a report.

use super::published::Published;
use super::{Comparison, Entry, Trained, best_and_level};
use crate::report::{ChoicePart, ChosenPart, MethodPart, Report, TestPart};
use crate::run::evaluate::{cells, command_line, watched};
use crate::screen::{assignments, four, table};
use crate::show::left_out;
use ordain::answer::{self, Cell, Compared, ComparedMethod, Difference, FoldCell, Named, Seconds};
use ordain::data::Holds;
use ordain::metric::Metric;
use ordain::task::Candidate;
use serde_json::{Map, Value, json};

pub(super) fn text(all: &Comparison) -> String {
    let (entries, metrics) = (&all.entries, &all.measures.metrics);
    let mut head = vec!["method".to_owned()];
    head.extend(metrics.iter().map(Metric::to_string));
    let mut wide = head.clone();
    wide.extend(["fit s", "bytes"].map(str::to_owned));
    let marks: Vec<_> = (0..metrics.len()).map(|m| best_and_level(all, m)).collect();
    let rows: Vec<Vec<String>> = entries
        .iter()
        .enumerate()
        .map(|(i, entry)| {
            let mut row = vec![entry.label.clone()];
            for (m, cell) in cells(&entry.result).iter().enumerate() {
                let mark = if entries.len() < 2 {
                    ""
                } else if marks[m].0 == i {
                    "*"
                } else if marks[m].1.contains(&i) {
                    "="
                } else {
                    " "
                };
                let half = (cell.high - cell.low) / 2.0; // a single unit may have no interval
                let half = if half.is_nan() { String::new() } else { format!(" ±{half:.3}") };
                row.push(format!("{}{half}{mark}", four(cell.mean)));
            }
            row.extend([format!("{:.2}", entry.fit), entry.bytes.to_string()]);
            row
        })
        .collect();
    let mut text = table(&wide, &rows);
    if entries.len() > 1 {
        text += "* best, = not shown to differ from it (paired randomisation, Holm, p ≥ 0.05)\n";
    }
    text += &(all.remarks)(metrics).into_iter().map(|line| line + "\n").collect::<String>();
    if all.folds.len() > 1 {
        let rows: Vec<Vec<String>> = entries
            .iter()
            .map(|entry| {
                std::iter::once(entry.label.clone())
                    .chain((0..metrics.len()).map(|m| four(entry.fold_mean(m))))
                    .collect()
            })
            .collect();
        text += &format!("\nmeans of the {} fold means:\n{}", all.folds.len(), table(&head, &rows));
    }
    if !all.published.is_empty() {
        let cell = |own: &Published, metric: &Metric| own.value(&metric.to_string()).map_or("–".into(), four);
        let row = |own: &Published| {
            std::iter::once(own.label.clone()).chain(metrics.iter().map(|metric| cell(own, metric))).collect()
        };
        text += &format!("\npublished:\n{}", table(&head, &all.published.iter().map(row).collect::<Vec<_>>()));
    }
    let seen = watched(metrics);
    for entry in entries {
        text += &entry.seeds_text(seen, &metrics[seen].to_string());
    }
    if let Some(questions) = &all.questions {
        text += &super::questions::text(all, questions);
    }
    if all.words.file != Holds::Queries && entries.len() > 1 {
        text += &differences(all, 0);
    }
    for entry in entries {
        text += &choices(entry, &all.folds, all.folded);
    }
    for (entry, reliability) in entries.iter().filter_map(|entry| Some((entry, entry.reliability()?))) {
        let what = match reliability.k {
            Some(k) => format!("of the first {k} places"),
            None => format!("of {}", all.words.thing[1]),
        };
        let first = reliability.first.map_or(String::new(), |error| format!(" (of the first alone {error:.4})"));
        text += &format!(
            "\n{}: probabilities {what}, expected calibration error {:.4}{first}\n",
            entry.label, reliability.error
        );
    }
    let skipped = entries.first().map_or(String::new(), |entry| match all.words.file {
        Holds::Queries => format!("{} left out (nothing relevant)", entry.result.skipped()),
        _ => (all.skipped)(&entry.result),
    });
    let convention = match all.words.file {
        Holds::Problems => String::new(),
        _ => format!("; convention {}", all.measures.convention),
    };
    text += &format!(
        "\n{} test {}, {skipped}{convention}; ± is half a 95 % bootstrap interval; data read in {:.2} s\n",
        all.tested.len(),
        all.words.unit[1],
        all.load
    );
    text
}

/// All differences by one metric, with their intervals.
fn differences(all: &Comparison, metric: usize) -> String {
    let name = all.measures.metrics[metric].to_string();
    let head = ["difference", "mean", "95 % interval", "p (Holm)"].map(str::to_owned);
    let row = |test: &Difference| {
        vec![
            format!("{} − {}", test.a, test.b),
            format!("{:+.4}", test.difference),
            format!("[{:+.4}, {:+.4}]", test.low, test.high),
            four(test.p),
        ]
    };
    let rows: Vec<Vec<String>> = all.tests.iter().filter(|test| test.metric == name).map(row).collect();
    format!("\ndifferences in {name}, paired by {}:\n{}", all.words.unit[0], table(&head, &rows))
}

/// What the data chose for one method.
fn choices(entry: &Entry, folds: &[usize], folded: bool) -> String {
    let chosen = entry.chosen();
    if chosen.iter().all(Map::is_empty) && !entry.chooses {
        return String::new();
    }
    let by = if entry.chooses { "chosen by validation" } else { "chosen by the training part" };
    let mut text = format!("\n{}: {by}\n", entry.label);
    for (name, mut settings) in folds.iter().zip(chosen) {
        let core = settings.remove("core");
        let mut said: Vec<String> = Some(assignments(&settings)).filter(|text| !text.is_empty()).into_iter().collect();
        said.extend(core.and_then(|core| {
            let names: Vec<&str> = core.as_array()?.iter().filter_map(Value::as_str).collect();
            (!names.is_empty()).then(|| format!("core: {}", names.join(", ")))
        }));
        let said = if said.is_empty() { "the defaults".to_owned() } else { said.join("; ") };
        text += &if folded { format!("  fold {name}: {said}\n") } else { format!("  {said}\n") };
    }
    text
}

pub(super) fn document(all: &Comparison) -> Compared {
    let first = all.entries.first();
    let (units, skipped) = first.map_or((0, 0), |e| (e.result.values[0].len(), e.result.skipped()));
    Compared {
        task: all.words.name,
        convention: all.measures.convention.to_string(),
        folds: all.folds.len(),
        unit: all.words.unit[0],
        units,
        skipped,
        methods: all.entries.iter().map(|entry| method(entry, all)).collect(),
        published: Named(all.published.iter().map(|own| (own.label.clone(), published(own))).collect()),
        tests: all.tests.clone(),
    }
}

/// What was published, by metric.
fn published(own: &Published) -> Named<f64> {
    Named(own.values.iter().filter_map(|(name, _)| Some((name.to_lowercase(), own.value(name)?))).collect())
}

fn method(entry: &Entry, all: &Comparison) -> ComparedMethod {
    let cell = |(m, cell): (usize, Cell)| {
        let folds = entry.fold_means.iter().map(|fold| fold[m]).collect();
        (all.measures.metrics[m].to_string(), FoldCell { cell, fold_mean: entry.fold_mean(m), folds })
    };
    let floors = || entry.trained.iter().map(|trained| trained.floor);
    ComparedMethod {
        method: entry.name,
        label: entry.label.clone(),
        chosen: entry.chosen(),
        metrics: Named(answer::cells(&entry.result).into_iter().enumerate().map(cell).collect()),
        seconds: Seconds { load: all.load, fit: entry.fit, predict: entry.predict },
        model_bytes: entry.bytes,
        support: entry.support,
        core: entry.core().map(<[String]>::to_vec),
        floor: floors().any(|floor| floor.is_some()).then(|| floors().collect()),
        calibration: entry.reliability().map(|reliability| match all.words.file {
            Holds::Queries => json!(reliability),
            _ => reliability.document(all.words.thing[1]),
        }),
        questions: all.questions.as_ref().map(|questions| super::questions::cells(entry, questions)),
        seeds: (!entry.seeds.is_empty()).then(|| {
            let of = |m: usize| entry.seeds.iter().map(|means| means[m]).collect();
            Named(all.measures.metrics.iter().enumerate().map(|(m, metric)| (metric.to_string(), of(m))).collect())
        }),
    }
}

pub(super) fn report(all: &Comparison) -> Report {
    let (entries, metrics, folds) = (&all.entries, &all.measures.metrics, all.folds.len());
    let marks: Vec<_> = (0..metrics.len()).map(|m| best_and_level(all, m)).collect();
    let watched = watched(metrics);
    let methods = entries.iter().enumerate().map(|(i, entry)| {
        let mut shown = cells(&entry.result);
        for (m, cell) in shown.iter_mut().enumerate() {
            cell.fold_mean = (folds > 1).then(|| entry.fold_mean(m));
            cell.best = entries.len() > 1 && marks[m].0 == i;
            cell.level = marks[m].1.contains(&i);
        }
        let choice = |(fold, trained): (&usize, &Trained)| match all.words.file {
            Holds::Items => link_choice(*fold, trained),
            _ => scale_choice(*fold, trained),
        };
        MethodPart {
            label: entry.label.clone(),
            cells: shown,
            fit_seconds: Some(entry.fit),
            predict_seconds: Some(entry.predict),
            model_bytes: Some(entry.bytes),
            curve: entry.curve.as_ref().filter(|curve| !curve.values[0].is_empty()).map(cells).unwrap_or_default(),
            per_query: all.tested.iter().cloned().zip(entry.result.values[watched].iter().copied()).collect(),
            lists: entry.lists.clone(),
            chosen: all
                .folds
                .iter()
                .zip(&entry.trained)
                .filter_map(|(fold, trained)| chosen(*fold, trained, all))
                .collect(),
            choices: all.folds.iter().zip(&entry.trained).filter_map(choice).collect(),
            features: entry.features.clone(),
            gains: entry.gains.clone(),
            core: entry.core().unwrap_or_default().to_vec(),
            links: entry.links.clone(),
            reliability: entry.reliability(),
            places: entry.places.clone(),
            pictures: entry.pictures.clone(),
            plane: entry.plane.clone(),
        }
    });
    Report {
        title: entries.iter().map(|e| e.label.as_str()).collect::<Vec<_>>().join(" · "),
        command: command_line(),
        version: env!("CARGO_PKG_VERSION").into(),
        words: all.words.into(),
        convention: match all.words.file {
            Holds::Problems => String::new(),
            _ => all.measures.convention.to_string(),
        },
        data: all.data.clone(),
        units: all.tested.len(),
        skipped: entries.first().map_or(0, |e| e.result.skipped()),
        folds,
        metrics: metrics.iter().map(Metric::to_string).collect(),
        notes: (all.remarks)(metrics),
        left_out: match all.words.file {
            Holds::Queries => vec![],
            _ => entries.first().map(|e| left_out(&e.result)).unwrap_or_default(),
        },
        watched: metrics[watched].to_string(),
        watched_is_loss: metrics[watched].is_loss(),
        methods: methods.collect(),
        published: all.published.iter().map(|own| (own.label.clone(), own.curve())).collect(),
        questions: all.questions.as_ref().map(|q| super::questions::curves(all, q)).unwrap_or_default(),
        tests: all
            .tests
            .iter()
            .map(|test| TestPart {
                metric: test.metric.clone(),
                is_loss: test.metric.parse::<Metric>().is_ok_and(Metric::is_loss),
                a: test.a.clone(),
                b: test.b.clone(),
                difference: test.difference,
                low: test.low,
                high: test.high,
                p: test.p,
            })
            .collect(),
    }
}

/// What validation chose in a fold, of methods that left something open.
fn chosen(fold: usize, trained: &Trained, all: &Comparison) -> Option<ChosenPart> {
    let by = trained.chosen.as_ref()?;
    let open: Vec<&String> = by.candidates.iter().flat_map(|candidate| candidate.settings.keys()).collect();
    let mut settings = trained.settings.clone();
    settings.retain(|name, _| open.contains(&name));
    let units = if by.units == 1 { all.words.unit[0] } else { all.words.unit[1] };
    let how = by.parts.map_or("held out".to_owned(), |parts| format!("in {parts} parts"));
    let doubts = [
        by.edge.map(|_| "the best lambda is the last that was tried".to_owned()),
        by.level.map(|[least, most]| format!("lambda {} to {} are level", short(least), short(most))),
    ];
    Some(ChosenPart {
        fold,
        settings: assignments(&settings),
        value: by.taken(&trained.settings).map(|candidate| candidate.value),
        metric: by.metric.clone(),
        candidates: by.candidates.len(),
        on: format!("{} {units} {how}", by.units),
        doubt: doubts.into_iter().flatten().collect::<Vec<_>>().join("; "),
    })
}

/// Lines of points by name.
type Lines = Vec<(String, Vec<(f64, f64)>)>;

fn add(lines: &mut Lines, name: String, point: (f64, f64)) {
    match lines.iter_mut().find(|(known, _)| *known == name) {
        Some((_, points)) => points.push(point),
        None => lines.push((name, vec![point])),
    }
}

/// What was tried on validation, as lines over lambda, one for each scaling.
fn scale_choice(fold: usize, trained: &Trained) -> Option<ChoicePart> {
    let chosen = trained.chosen.as_ref()?;
    let mut lines: Lines = vec![];
    let place = |candidate: &Candidate| {
        let mut scale = format!("scale={}", candidate.settings.get("scale")?.as_str()?);
        if let Some(weight) = candidate.settings.get("weight").and_then(Value::as_str) {
            scale += &format!(", weight={weight}");
        }
        if let Some(kernel) = candidate.settings.get("kernel").and_then(Value::as_str) {
            scale += &format!(", kernel={kernel}");
            if let Some(gamma) = candidate.settings.get("gamma").and_then(Value::as_f64) {
                scale += &format!(", gamma={}", short(gamma));
            }
        }
        Some((scale, candidate.settings.get("lambda")?.as_f64()?))
    };
    for candidate in &chosen.candidates {
        let (scale, lambda) = place(candidate)?;
        add(&mut lines, scale, (lambda, candidate.value));
    }
    let candidate = chosen.taken(&trained.settings)?;
    let (scale, lambda) = place(candidate)?;
    let taken = (format!("{scale}, lambda={}", short(lambda)), lambda, candidate.value);
    Some(ChoicePart { fold, metric: chosen.metric.clone(), lines, taken })
}

/// The same of labels: a line over lambda, one over the lambda of links.
///
/// Lambda is chosen first, then that of links, then the size of the core, which has no place on these lines.
fn link_choice(fold: usize, trained: &Trained) -> Option<ChoicePart> {
    let chosen = trained.chosen.as_ref()?;
    let loss = chosen.metric.parse::<Metric>().is_ok_and(Metric::is_loss);
    let number = |candidate: &Candidate, name: &str| candidate.settings.get(name)?.as_f64();
    let core = |candidate: &Candidate| candidate.settings.get("core").cloned();
    let first = chosen.candidates.first()?;
    let mut lines: Lines = vec![];
    let mut taken: Option<(String, f64, f64)> = None;
    for candidate in chosen.candidates.iter().filter(|candidate| core(candidate) == core(first)) {
        let (lambda, link) = (number(candidate, "lambda")?, number(candidate, "link_lambda"));
        let of_links = link.filter(|_| link != number(first, "link_lambda"));
        let better = |best: f64| if loss { candidate.value < best } else { candidate.value > best };
        if taken.as_ref().is_none_or(|(_, _, best)| better(*best)) {
            let words = format!("lambda={}", short(lambda));
            let words = link.map_or(words.clone(), |link| format!("{words}, link_lambda={}", short(link)));
            taken = Some((words, of_links.unwrap_or(lambda), candidate.value));
        }
        match of_links {
            Some(link) => add(&mut lines, "link_lambda".into(), (link, candidate.value)),
            None => add(&mut lines, "lambda".into(), (lambda, candidate.value)),
        }
    }
    // the value of the first lambda of links was measured along the first line
    let start = chosen.candidates.iter().filter(|c| number(c, "link_lambda") == number(first, "link_lambda"));
    let best = start.map(|c| c.value).reduce(|a, b| if (a > b) == loss { b } else { a });
    if let (Some((_, points)), Some(link), Some(value)) =
        (lines.iter_mut().find(|(name, _)| name == "link_lambda"), number(first, "link_lambda"), best)
    {
        points.push((link, value));
        points.sort_by(|a, b| b.0.total_cmp(&a.0));
    }
    Some(ChoicePart { fold, metric: chosen.metric.clone(), lines, taken: taken? })
}

/// A number to four digits.
fn short(x: f64) -> String {
    format!("{x:.3e}").parse::<f64>().map_or_else(|_| x.to_string(), |x| format!("{x:?}"))
}
