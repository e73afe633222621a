//! `ordain inspect` of models that annotate and of items with labels.

use super::names;
use crate::args::Inspect;
use crate::plan;
use crate::run::result_line;
use crate::screen::{Screen, assignments, table};
use anyhow::Result;
use ordain::data::{LabelSet, read_labels};
use ordain::matrix::Features;
use ordain::method::CountModel;
use ordain::model_file;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

pub(in crate::run) fn model(bytes: &[u8], path: &Path, screen: &Screen) -> Result<()> {
    let (model, header) = model_file::annotator(bytes, path)?;
    let (annotator, facts) = (&model.annotator, &header.facts);
    let core: Vec<&str> = header.core.iter().map(|&label| header.labels[label as usize].as_str()).collect();
    let count = Numbers::of(&annotator.count);
    if screen.json {
        let mut json = serde_json::to_value(&header)?;
        let links = annotator.strongest_links(50).into_iter().map(|(a, b, g)| json!({"a": a, "b": b, "weight": g}));
        json["core"] = core.into();
        json["links"] = links.collect();
        json["labels_per_item"] = json!({"median": count.median, "low": count.low, "high": count.high});
        return screen.document(&json);
    }
    let mut text =
        format!("{}: {} model, format {}, ordain {}\n", path.display(), facts.method, header.format, header.ordain);
    let mut settings = facts.settings.clone();
    if settings.contains_key("core") {
        settings.insert("core".into(), core.len().into()); // the names have a line of their own
    }
    if core.is_empty() {
        settings.retain(|name, _| name != "core" && name != "link_lambda");
    }
    writeln!(text, "settings   {}", assignments(&settings))?;
    writeln!(
        text,
        "trained on {} items with {} labels and {} features; {} items have no label, {} labels never occur",
        facts.items,
        header.labels.len(),
        header.features.names.len(),
        facts.bare_items,
        facts.silent_labels
    )?;
    text += &result_line(&facts.report);
    if let Some(chosen) = &facts.chosen {
        writeln!(
            text,
            "chosen     of {} by {} ({}) on {} items: {}",
            chosen.candidates.len(),
            chosen.metric,
            chosen.convention,
            chosen.queries,
            super::fit::taken(facts)
        )?;
        if let Some(floor) = facts.floor {
            writeln!(
                text,
                "validation {} {:.4}; a classifier for each label alone {:.4}",
                chosen.metric, floor.reached, floor.one_vs_rest
            )?;
        }
    }
    writeln!(text, "labels     {} on a usual item, {} to {} on nine of ten", count.median, count.low, count.high)?;
    writeln!(text, "data       {}", facts.data)?;
    if core.is_empty() {
        text += "core       none: labels are independent of one another\n";
        return screen.data(&text);
    }
    writeln!(text, "core       {}", core.join(", "))?;
    let links = annotator.strongest_links(20);
    writeln!(text, "\nstrongest links (+ together, - apart):")?;
    let rows: Vec<Vec<String>> = links.into_iter().map(|(a, b, g)| vec![a, b, format!("{g:+.4}")]).collect();
    text += &table(&["core label", "label", "weight"].map(str::to_owned), &rows);
    screen.data(&text)
}

/// How many labels a usual item has: the median, and the middle nine tenths.
struct Numbers {
    median: usize,
    low: usize,
    high: usize,
}

impl Numbers {
    fn of(count: &CountModel) -> Self {
        let p = count.distribution(count.center[0]);
        let at = |share: f64| {
            let mut sum = 0.0;
            let found = p.iter().position(|p| {
                sum += p;
                sum >= share
            });
            found.unwrap_or(p.len().saturating_sub(1))
        };
        Self { median: at(0.5), low: at(0.05), high: at(0.95) }
    }
}

pub(in crate::run) fn data(args: &Inspect, screen: &Screen) -> Result<()> {
    let start = Instant::now();
    let (set, _) = read_labels(&[vec![args.file.clone()]], &plan::tag_reading(&args.reading))?;
    let seconds = start.elapsed().as_secs_f64();
    super::warn_of_labels(&set, args.reading.labels.as_deref(), &args.file.display().to_string(), screen);
    let all = set.all();
    let facts = Counts::of(&set);
    let layout = if matches!(set.features, Features::Dense(_)) { "dense" } else { "sparse" };
    let silent = if set.labelled { set.silent_labels(&all) } else { vec![] };
    let mut often: Vec<(usize, usize)> =
        set.label_counts(&all).into_iter().enumerate().filter(|&(_, n)| n > 0).collect();
    often.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    if screen.json {
        let name = |&label: &u32| Value::from(set.labels[label as usize].as_str());
        let often = often.iter().take(50).map(|&(label, n)| json!({"label": set.labels[label], "items": n}));
        return screen.document(&json!({
            "task": "annotate", "unit": "item", "units": set.len(), "rows": set.len(),
            "features": set.features.cols(), "layout": layout, "labels": set.labels.len(), "labelled": set.labelled,
            "labels_per_item": {"mean": facts.mean, "min": facts.least, "max": facts.most},
            "label_sets": facts.sets, "bare_items": facts.bare, "unknown": facts.unknown,
            "silent_labels": silent.iter().map(name).collect::<Vec<_>>(),
            "frequent": often.collect::<Vec<_>>(), "seconds": {"load": seconds},
        }));
    }
    let mut text = format!(
        "{}: {} items, {} labels, {} features ({layout}), read in {seconds:.2} s\n",
        args.file.display(),
        set.len(),
        set.labels.len(),
        set.features.cols()
    );
    if !set.labelled {
        text += "the file does not say which labels apply: it can be predicted on, not fitted or measured\n";
        return screen.data(&text);
    }
    writeln!(
        text,
        "labels per item: {} to {}, mean {:.2}; {} different sets; {} items have no label",
        facts.least, facts.most, facts.mean, facts.sets, facts.bare
    )?;
    if facts.unknown > 0 {
        let blank = match set.blank_items(&all) {
            0 => String::new(),
            n => format!("; of {n} items every label is unknown"),
        };
        writeln!(text, "unknown whether a label applies: {} entries{blank}", facts.unknown)?;
    }
    match silent.len() {
        0 => writeln!(text, "every label occurs")?,
        n => writeln!(text, "{n} labels never occur: {}", names(&set, &silent))?,
    }
    text += "\nmost frequent labels:\n";
    let share = |n: usize| format!("{:.1} %", 100.0 * n as f64 / set.len().max(1) as f64);
    let rows: Vec<Vec<String>> =
        often.iter().take(20).map(|&(label, n)| vec![set.labels[label].clone(), n.to_string(), share(n)]).collect();
    text += &table(&["label", "items", "share"].map(str::to_owned), &rows);
    if often.len() > 20 {
        writeln!(text, "… and {} more", often.len() - 20)?;
    }
    screen.data(&text)
}

/// What is counted in a set.
struct Counts {
    mean: f64,
    least: usize,
    most: usize,
    sets: usize,
    bare: usize,
    unknown: usize,
}

impl Counts {
    fn of(set: &LabelSet) -> Self {
        let sizes = || (0..set.len()).map(|i| set.yes(i).len());
        Self {
            mean: sizes().sum::<usize>() as f64 / set.len().max(1) as f64,
            least: sizes().min().unwrap_or(0),
            most: sizes().max().unwrap_or(0),
            sets: (0..set.len()).map(|i| set.yes(i)).collect::<HashSet<_>>().len(),
            bare: set.bare_items(&set.all()),
            unknown: (0..set.len()).map(|i| set.unknown(i).len()).sum(),
        }
    }
}
