//! `ordain fit` of a method that matches.

use super::{engines, nearness, need_points, need_truth, not_problems, problems};
use crate::args::Fit;
use crate::plan::{self, Usage};
use crate::run::{check_interrupt, fit_document, watched};
use crate::screen::{Screen, assignments};
use anyhow::Result;
use ordain::data::{MatchReading, MatchSet, Split, read_match_splits, read_matches};
use ordain::method::{FittedMatch, MatchFacts, MatchMethod, MatchTraining};
use ordain::metric::Metric;
use ordain::model_file;
use ordain::traits::Stop;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Instant;

/// With fewer validation problems than this a choice is a matter of luck.
const FEW: usize = 3;

pub(in crate::run) fn run(
    method: &MatchMethod,
    args: &Fit,
    parts: &[Vec<PathBuf>],
    by: Option<Metric>,
    screen: &Screen,
) -> Result<()> {
    let reading = plan::match_reading(&args.reading, &args.points)?;
    check(method, args)?;
    let start = Instant::now();
    let (mut set, train, valid) = read(parts, &reading).map_err(|error| not_problems(error, method.name()))?;
    need_truth(&set, &args.train)?;
    need_points(&set, &args.points)?;
    check_interrupt()?;
    let seconds = start.elapsed().as_secs_f64();
    screen.detail(&format!("read {} edges of {} in {seconds:.2} s", set.edges(), problems(set.len())));
    let means = set.fill(reading.missing, &train);
    let training = MatchTraining {
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
    model_file::save_match(&model, &args.output)?;
    if screen.json {
        screen.document(&document(&model, args, seconds))?;
    }
    tell(&model, method.chooses(), seconds, screen);
    screen.say(&format!("wrote {}", args.output.display()));
    Ok(())
}

/// What can be refused before any file is read.
fn check(method: &MatchMethod, args: &Fit) -> Result<()> {
    if args.resume {
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

/// A set, the problems to fit on, and those to choose on where something says which they are.
type Cut = (MatchSet, Vec<u32>, Option<Vec<u32>>);

/// Reads the problems; where pairs have a split, their parts for training and validation.
fn read(parts: &[Vec<PathBuf>], reading: &MatchReading) -> ordain::Result<Cut> {
    let units = |range: std::ops::Range<usize>| range.map(|p| p as u32).collect::<Vec<u32>>();
    let (Some(_), [points]) = (&reading.pairs, parts) else {
        let (set, ranges) = read_matches(parts, reading)?;
        let mut units = ranges.into_iter().map(units);
        let train = units.next().unwrap_or_default();
        return Ok((set, train, units.next()));
    };
    let only = vec![Split::Train, Split::Validate];
    let (set, splits) = read_match_splits(points, &MatchReading { only, ..reading.clone() })?;
    let Some([train, valid, _]) = splits else {
        let all = set.all();
        return Ok((set, all, None));
    };
    if train.is_empty() {
        return Err(ordain::Error::Content {
            path: reading.pairs.clone().unwrap_or_default(),
            expected: "pairs of the split train".into(),
            found: "none".into(),
        });
    }
    Ok((set, units(train), Some(units(valid)).filter(|valid| !valid.is_empty())))
}

/// How probabilities were found, in JSON.
pub(super) fn marginals(facts: &MatchFacts) -> Value {
    json!({"engines": facts.engines, "accuracy": facts.accuracy, "error": facts.error})
}

fn document(model: &FittedMatch, args: &Fit, seconds: f64) -> Value {
    let facts = &model.facts;
    let examples = facts.problems.into();
    let mut document = fit_document(&facts.method, &facts.report, &facts.settings, examples, seconds, &args.output);
    document["marginals"] = marginals(facts);
    document["null"] = model.matcher.null.into();
    document["temperature"] = model.matcher.temperature.into();
    document
}

/// What was taken of what was tried.
pub(super) fn taken(facts: &MatchFacts) -> String {
    facts.taken().map_or(String::new(), |taken| format!("{} ({:.4})", assignments(&taken.settings), taken.value))
}

fn tell(model: &FittedMatch, chooses: bool, seconds: f64, screen: &Screen) {
    let facts = &model.facts;
    if facts.blank_problems > 0 {
        screen.say(&format!("left out: {}, of which nobody said what is matched", problems(facts.blank_problems)));
    }
    if facts.partly_known > 0 {
        screen.say(&format!(
            "known in part: {} of {}; what is unknown counts neither as matched nor as unmatched",
            facts.partly_known,
            problems(facts.problems)
        ));
    }
    if let Some(chosen) = &facts.chosen {
        screen.say(&format!(
            "chosen of {} by {} on {}: {}{}",
            chosen.candidates.len(),
            chosen.metric,
            problems(chosen.queries),
            taken(facts),
            if facts.refit { ", then fitted on all" } else { "" },
        ));
        if chosen.queries < FEW {
            screen.say(&format!(
                "warning: a choice on {} tells little: more problems, --valid FILE, or scale= and lambda= by hand are better",
                problems(chosen.queries)
            ));
        }
    } else if chooses && facts.asked.values().any(|asked| asked == "auto") {
        let one = if facts.problems == 1 { " (without a column problem all rows are one)" } else { "" };
        screen.say(&format!("warning: too few problems to choose on{one}: the default settings were used"));
    }
    if !facts.engines.is_empty() {
        let warning = if facts.accuracy == "approximate" { "warning: " } else { "" };
        screen.say(&format!(
            "{warning}sums over matchings by {}: {}",
            engines(&facts.engines),
            nearness(&facts.accuracy, facts.error)
        ));
    }
    let report = &facts.report;
    if report.stop == Stop::Interrupted {
        screen.say("warning: interrupted before the fit was complete; the model so far is saved");
    }
    if let Some(text) = report.unfinished(&facts.settings) {
        screen.say(&format!("warning: {text}"));
    }
    if let Some(text) = worth(model) {
        screen.say(&text);
    }
    screen.say(&format!(
        "{}: {} edges of {}; objective {:.6}, {} steps, {} ({}), {seconds:.2} s",
        facts.method,
        facts.edges,
        problems(facts.problems),
        report.objective,
        report.iterations,
        report.accuracy(),
        report.stop.name()
    ));
}

/// The score of staying unmatched and the temperature, of models that have them.
pub(super) fn worth(model: &FittedMatch) -> Option<String> {
    let null = model.matcher.null.map(|null| format!("an item that stays unmatched scores {null:.4}"));
    let temperature = match model.matcher.temperature {
        Some(t) if (t - 1.0).abs() > 1e-12 => {
            Some(format!("scores are divided by {t:.4} (the temperature) to become probabilities"))
        }
        None => Some("there are no probabilities (calibrate=false)".to_owned()),
        Some(_) => None,
    };
    let said: Vec<String> = null.into_iter().chain(temperature).collect();
    (!said.is_empty()).then(|| said.join("; "))
}
