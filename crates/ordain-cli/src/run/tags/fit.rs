//! `ordain fit` of a method that annotates.

use super::{names, need_labels, not_items};
use crate::args::Fit;
use crate::plan::{self, Usage};
use crate::run::{check_interrupt, fit_document, watched};
use crate::screen::{Screen, assignments};
use anyhow::Result;
use ordain::data::{LabelSet, read_labels, split};
use ordain::method::{CStar, FittedTags, TagFacts, TagTraining, Trainer};
use ordain::metric::{Convention, Metric};
use ordain::model_file;
use ordain::traits::Stop;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Instant;

pub(in crate::run) fn run(
    method: &CStar,
    args: &Fit,
    parts: &[Vec<PathBuf>],
    by: (Metric, Convention),
    screen: &Screen,
) -> Result<()> {
    check(method, args)?;
    let reading = plan::tag_reading(&args.reading);
    let start = Instant::now();
    let (mut set, ranges) = read_labels(parts, &reading).map_err(|error| not_items(error, method.name()))?;
    need_labels(&set, &args.train)?;
    check_interrupt()?;
    let seconds = start.elapsed().as_secs_f64();
    screen.detail(&format!("read {} items with {} labels in {seconds:.2} s", set.len(), set.labels.len()));
    let units = |part: usize| ranges.get(part).map(|range| range.clone().map(|i| i as u32).collect::<Vec<u32>>());
    let (train, valid) = (units(0).unwrap_or_default(), units(1));
    let means = set.fill(reading.missing, &train);
    let training = TagTraining {
        set: &set,
        train: &train,
        valid: valid.as_deref(),
        by,
        refit: !args.choosing.no_refit,
        seed: args.choosing.seed,
        missing: reading.missing,
        means: means.as_deref(),
    };
    let fitting = Instant::now();
    let model = watched(screen, |watch| method.fit(&training, watch))?;
    let seconds = fitting.elapsed().as_secs_f64();
    model_file::save_tags(&model, &args.output)?;
    if screen.json {
        screen.document(&document(&model.facts, args, seconds))?;
    }
    let units = fitted_on(&model.facts, &train, valid.as_deref());
    tell(&model, (&set, &units), method.chooses(), seconds, screen);
    screen.say(&format!("wrote {}", args.output.display()));
    Ok(())
}

/// What can be refused before any file is read.
fn check(method: &CStar, args: &Fit) -> Result<()> {
    if args.resume {
        return Err(Usage(format!(
            "--resume: {} is fitted in seconds to minutes, so there is nothing to resume: leave it out and fit anew",
            method.name()
        ))
        .into());
    }
    Ok(())
}

/// The items of the last fit.
fn fitted_on(facts: &TagFacts, train: &[u32], valid: Option<&[u32]>) -> Vec<u32> {
    match valid {
        Some(valid) if facts.refit => [train, valid].concat(),
        None if facts.chosen.is_some() && !facts.refit => split::hold_out(train).0,
        _ => train.to_vec(),
    }
}

/// What was taken of what was tried: the settings that were open, and the size of the core.
pub(super) fn taken(facts: &TagFacts) -> String {
    let Some(best) = facts.taken() else { return String::new() };
    let mut settings = best.settings.clone();
    let size = settings.get("core").and_then(Value::as_array).map(Vec::len);
    match size {
        Some(0) if facts.asked.get("core") != Some(&"auto".into()) => {
            settings.retain(|name, _| name == "lambda"); // no core was asked for: links have no settings
        }
        Some(size) => {
            settings.insert("core".into(), size.into());
        }
        None => {}
    }
    format!("{} ({:.4})", assignments(&settings), best.value)
}

fn document(facts: &TagFacts, args: &Fit, seconds: f64) -> serde_json::Value {
    let (report, examples) = (&facts.report, facts.examples.into());
    let mut document = fit_document(&facts.method, report, &facts.settings, examples, seconds, &args.output);
    if let (Some(floor), Some(chosen)) = (facts.floor, &facts.chosen) {
        document["floor"] =
            json!({"metric": chosen.metric, "one_vs_rest": floor.one_vs_rest, "reached": floor.reached});
    }
    document
}

fn tell(model: &FittedTags, (set, units): (&LabelSet, &[u32]), chooses: bool, seconds: f64, screen: &Screen) {
    let facts = &model.facts;
    if facts.bare_items > 0 {
        screen.say(&format!(
            "{} of {} items have no label: they teach how many labels there are, and no more",
            facts.bare_items, facts.items
        ));
    }
    let blank = set.blank_items(units);
    if blank > 0 {
        screen.say(&format!("warning: of {blank} of {} items every label is unknown: they teach nothing", units.len()));
    }
    let silent = set.silent_labels(units);
    if !silent.is_empty() {
        screen.say(&format!(
            "warning: {} of {} labels are on no training item ({}): the model will hardly ever give them",
            silent.len(),
            set.labels.len(),
            names(set, &silent)
        ));
    }
    if let Some(chosen) = &facts.chosen {
        screen.say(&format!(
            "chosen of {} by {} on {} items: {}{}",
            chosen.candidates.len(),
            chosen.metric,
            chosen.queries,
            taken(facts),
            if facts.refit { ", then fitted on all" } else { "" },
        ));
        if let Some(floor) = facts.floor.filter(|_| facts.below_floor()) {
            let is = |name: &str, value: &str| facts.settings.get(name).and_then(Value::as_str) == Some(value);
            let auto = facts.asked.get("core") == Some(&"auto".into());
            let cure = match model.annotator.trainer {
                Trainer::Margin => "trainer=likelihood is the better trainer of noisy labels",
                Trainer::Likelihood if !model.annotator.star.core().is_empty() && auto => "try `fit independent`",
                Trainer::Likelihood if !model.annotator.star.core().is_empty() => "try core=auto, or `fit independent`",
                Trainer::Likelihood if is("features", "scores") => {
                    "the classifiers alone rank as well; features=direct or both may help"
                }
                Trainer::Likelihood => "the classifiers alone rank as well; features=scores may help",
            };
            screen.say(&format!(
                "warning: {} of {:.4} on validation is below the {:.4} of a classifier for each label alone; {cure}",
                chosen.metric, floor.reached, floor.one_vs_rest
            ));
        }
    } else if chooses {
        screen.say("warning: too few items to choose on: the default settings were used");
    }
    let report = &facts.report;
    if report.stop == Stop::Interrupted {
        screen.say("warning: interrupted before the fit was complete; the model so far is saved");
    }
    if let Some(text) = report.unfinished(&facts.settings) {
        screen.say(&format!("warning: {text}"));
    }
    let core: Vec<&str> =
        model.annotator.star.core().iter().map(|&label| model.annotator.labels[label as usize].as_str()).collect();
    if !core.is_empty() {
        screen.say(&format!("core of the model: {}", core.join(", ")));
    }
    screen.say(&format!(
        "{}: {} items, {} labels; objective {:.6}, {} steps, {} ({}), {seconds:.2} s",
        facts.method,
        facts.items,
        set.labels.len(),
        report.objective,
        report.iterations,
        report.accuracy(),
        report.stop.name()
    ));
}
