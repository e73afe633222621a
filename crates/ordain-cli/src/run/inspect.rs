//! `ordain inspect`.

use super::evaluate::strongest;
use super::{matches, read_all, tags};
use crate::args::Inspect;
use crate::plan;
use crate::screen::{Screen, assignments, four, table};
use anyhow::Result;
use ordain::data::RankSet;
use ordain::matrix::Features;
use ordain::method::CoreFacts;
use ordain::model_file::{self, ExpansionHeader, Model};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

pub(super) fn run(args: &Inspect, screen: &Screen) -> Result<()> {
    if args.file.extension().is_some_and(|e| e == "ordain") || model_file::is_model(&args.file) {
        let bytes = ordain::data::read_whole(&args.file)?;
        return match model_file::any_from_bytes(&bytes, &args.file)? {
            Model::Rank(_) => model(&bytes, &args.file, screen),
            Model::Annotate(_) => tags::inspect::model(&bytes, &args.file, screen),
            Model::Match(_) => matches::inspect::model(&bytes, &args.file, screen),
        };
    }
    if matches::are_problems(&args.file, &args.reading) {
        return matches::inspect::data(args, screen);
    }
    plan::no_points(&args.points)?;
    if tags::are_items(&args.file, &args.reading) {
        return tags::inspect::data(args, screen);
    }
    let start = Instant::now();
    let set = read_all(std::slice::from_ref(&args.file), plan::missing(&args.reading))?;
    data(&set, start.elapsed().as_secs_f64(), &args.file, screen)
}

fn model(bytes: &[u8], path: &Path, screen: &Screen) -> Result<()> {
    let (model, header) = model_file::ranker(bytes, path)?;
    if screen.json {
        let mut json = serde_json::to_value(&header)?;
        if let Value::Object(map) = &mut json {
            let weights = header.features.names.iter().zip(&model.ranker.weights);
            map.insert(
                "weights".into(),
                weights.map(|(name, &w)| (name.clone(), w.into())).collect::<Map<_, _>>().into(),
            );
        }
        return screen.document(&json);
    }
    let facts = &header.facts;
    let mut text =
        format!("{}: {} model, format {}, ordain {}\n", path.display(), facts.method, header.format, header.ordain);
    writeln!(text, "settings   {}", assignments(&facts.settings))?;
    writeln!(
        text,
        "trained on {} documents of {} queries ({} of one grade), {:.0} {}s",
        facts.rows, facts.queries, facts.flat_queries, facts.examples, facts.example
    )?;
    text += &super::result_line(&facts.report);
    if let Some(chosen) = &facts.chosen {
        writeln!(
            text,
            "chosen     of {} by {} ({}) on {} queries",
            chosen.candidates.len(),
            chosen.metric,
            chosen.convention,
            chosen.queries
        )?;
    }
    writeln!(text, "data       {}", facts.data)?;
    if let (Some(expansion), Some(core)) = (&header.expansion, &facts.core) {
        text += &rests_on(expansion, core);
        return screen.data(&text);
    }
    writeln!(text, "\nstrongest of {} features (weights on scaled values):", header.features.names.len())?;
    let rows: Vec<Vec<String>> = strongest(&model.ranker.columns, &model.ranker.weights)
        .into_iter()
        .map(|(name, weight)| vec![name, format!("{weight:+.4}")])
        .collect();
    text += &table(&["feature".into(), "weight".into()], &rows);
    screen.data(&text)
}

/// What a model with a kernel rests on.
fn rests_on(expansion: &ExpansionHeader, core: &CoreFacts) -> String {
    let kernel = expansion.kernel;
    let width = if kernel.form.has_width() { format!(" of gamma {:.4}", kernel.gamma) } else { String::new() };
    let scorers = match &expansion.parts[..] {
        [(None, _)] => "one scorer for all queries".to_owned(),
        parts => format!("a scorer for each of {} queries", parts.len()),
    };
    let mut text = format!(
        "\nkernel     {}{width}, {scorers}, {} core documents ({} different ones)\n",
        kernel.form.name(),
        core.documents,
        expansion.documents
    );
    if let (Some(pairs), Some(f), Some(gap)) = (core.pairs, core.f, core.certificate) {
        text += &format!("ball       {pairs} core pairs, f {f:.6}, certified gap {:.2} % of f\n", 100.0 * gap);
    }
    text
}

fn data(set: &RankSet, seconds: f64, path: &Path, screen: &Screen) -> Result<()> {
    let mut grades: BTreeMap<String, usize> = BTreeMap::new();
    for grade in &set.grades {
        *grades.entry(grade.to_string()).or_default() += 1;
    }
    let mut by_grade: Vec<(String, usize)> = grades.into_iter().collect();
    by_grade.sort_by(|a, b| a.0.parse::<f64>().unwrap_or(0.0).total_cmp(&b.0.parse().unwrap_or(0.0)));
    let sizes = || (0..set.len()).map(|q| set.span(q).len());
    let flat = (0..set.len()).filter(|&q| set.is_flat(q)).count();
    let layout = if matches!(set.features, Features::Dense(_)) { "dense" } else { "sparse" };
    if screen.json {
        let grades: Map<String, Value> = by_grade.iter().map(|(g, n)| (g.clone(), (*n).into())).collect();
        return screen.document(&json!({
            "task": "rank", "unit": "query", "units": set.len(), "rows": set.rows(), "features": set.features.cols(),
            "layout": layout, "grades": grades, "flat_queries": flat, "seconds": {"load": seconds},
        }));
    }
    let mut text = format!(
        "{}: {} documents of {} queries, {} features ({layout}), read in {seconds:.2} s\n",
        path.display(),
        set.rows(),
        set.len(),
        set.features.cols()
    );
    writeln!(
        text,
        "documents per query: {} to {}, mean {:.1}; {flat} queries have one grade only",
        sizes().min().unwrap_or(0),
        sizes().max().unwrap_or(0),
        set.rows() as f64 / set.len().max(1) as f64
    )?;
    let shown: Vec<String> = by_grade.iter().take(12).map(|(grade, n)| format!("{grade}: {n}")).collect();
    let more = if by_grade.len() > 12 { format!(" and {} more", by_grade.len() - 12) } else { String::new() };
    writeln!(text, "grades: {}{more}\n", if set.graded { shown.join(", ") } else { "none".into() })?;
    text += &ranges(&set.features, &set.columns.names);
    screen.data(&text)
}

/// Least, mean and largest value of the first columns.
pub(super) fn ranges(features: &Features, names: &[String]) -> String {
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
