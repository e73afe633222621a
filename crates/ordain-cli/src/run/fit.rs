//! `ordain fit`.

use super::{check_interrupt, check_not_input, check_output, fit_document, looked, matches, tags, watched};
use crate::args::Fit;
use crate::plan::{self, Usage};
use crate::screen::Screen;
use anyhow::Result;
use ordain::data;
use ordain::method::{Fitted, Method, RankMethod, Training};
use ordain::model_file;
use ordain::traits::Stop;
use std::time::Instant;

pub(super) fn run(args: &Fit, screen: &Screen) -> Result<()> {
    let method = plan::method(&args.method, &args.settings)?;
    let by = plan::choose_by(&args.choosing, &args.rules, method.task())?;
    let missing = plan::missing(&args.reading);
    if screen.json && args.output.as_os_str() == "-" {
        return Err(Usage("-o - and --json cannot share standard output; give the model a file".into()).into());
    }
    check_output(&args.output)?;
    check_not_input(&args.output, args.train.iter().chain(&args.valid).chain(&args.points.pairs))?;
    if args.output.is_file() && !model_file::is_model(&args.output) {
        return Err(Usage(format!(
            "{}: a file that is no model stands there; remove it first, or give another name",
            args.output.display()
        ))
        .into());
    }
    let mut parts = vec![args.train.clone()];
    parts.extend(args.valid.iter().map(|file| vec![file.clone()]));
    let method = match method {
        Method::Rank(method) => method,
        Method::Annotate(method) => {
            plan::no_points(&args.points)?;
            return tags::fit::run(&method, args, &parts, by, screen);
        }
        Method::Match(method) => {
            let by = args.choosing.choose_by.as_ref().map(|_| by.0);
            return matches::fit::run(&method, args, &parts, by, screen);
        }
    };
    plan::no_points(&args.points)?;
    matches::refuse_problems(
        &format!("queries with documents, because {} ranks", method.name()),
        &args.train,
        &args.reading,
    )?;
    let start = Instant::now();
    let (mut set, ranges) = data::read(&parts, missing).map_err(|error| {
        match parts.iter().flatten().find(|path| looked(path, data::is_labels)) {
            Some(path) => ordain::Error::Content {
                path: path.clone(),
                expected: format!("queries with documents, because {} ranks", method.name()),
                found: "items with labels, which cstar and independent are for".into(),
            },
            None => error,
        }
    })?;
    check_interrupt()?;
    screen.detail(&format!(
        "read {} documents of {} queries in {:.2} s",
        set.rows(),
        set.len(),
        start.elapsed().as_secs_f64()
    ));
    let units = |part: usize| ranges.get(part).map(|range| range.clone().map(|q| q as u32).collect::<Vec<u32>>());
    let (train, valid) = (units(0).unwrap_or_default(), units(1));
    let means = set.fill(missing, &train);
    let old = if args.resume { Some(model_file::load(&args.output)?) } else { None };
    let resume = old.as_ref().map(|model| method.resume(model, &set, args.choosing.seed, by)).transpose()?;
    let fitting = Instant::now();
    let training = Training {
        set: &set,
        train: &train,
        valid: valid.as_deref(),
        by,
        refit: !args.choosing.no_refit,
        seed: args.choosing.seed,
        missing,
        means: means.as_deref(),
        resume,
    };
    let model = watched(screen, |watch| method.fit(&training, watch))?;
    let seconds = fitting.elapsed().as_secs_f64();
    model_file::save(&model, &args.output)?;
    tell(&model, args, screen, &method, seconds)
}

fn tell(model: &Fitted, args: &Fit, screen: &Screen, method: &RankMethod, seconds: f64) -> Result<()> {
    let facts = &model.facts;
    if screen.json {
        let (report, examples) = (&facts.report, facts.examples.into());
        let mut document = fit_document(&facts.method, report, &facts.settings, examples, seconds, &args.output);
        if let Some(core) = &facts.core {
            document["core"] = serde_json::to_value(core)?;
        }
        screen.document(&document)?;
    }
    if facts.flat_queries > 0 {
        screen.say(&format!(
            "{} of {} queries have one grade only and play no part in training",
            facts.flat_queries, facts.queries
        ));
    }
    if let Some(chosen) = &facts.chosen {
        let value = facts.taken().map_or(String::new(), |taken| format!(" ({:.4})", taken.value));
        screen.say(&format!(
            "chosen of {} by {} on {} queries: scale={}{} lambda={}{value}{}",
            chosen.candidates.len(),
            chosen.metric,
            chosen.queries,
            facts.settings["scale"].as_str().unwrap_or("?"),
            facts.settings.get("gamma").map_or(String::new(), |gamma| format!(" gamma={gamma}")),
            facts.settings["lambda"],
            if facts.refit { ", then fitted on all" } else { "" },
        ));
    }
    if facts.chosen.is_none() && method.chooses() {
        screen.say("warning: too few queries to choose on: the default settings were used");
    }
    let report = &facts.report;
    if report.stop == Stop::Interrupted {
        let resume = if method.resumes() { "; --resume goes on from here" } else { "" };
        screen.say(&format!("warning: interrupted before the fit was complete; the model so far is saved{resume}"));
    }
    if let Some(text) = report.unfinished(&facts.settings) {
        screen.say(&format!("warning: {text}"));
    }
    screen.say(&format!(
        "{}: {} documents, {} queries, {:.0} {}s; objective {:.6}, {} steps, {} ({}), {seconds:.2} s",
        facts.method,
        facts.rows,
        facts.queries,
        facts.examples,
        facts.example,
        report.objective,
        report.iterations,
        report.accuracy(),
        report.stop.name()
    ));
    if let Some(core) = &facts.core {
        let ball = core.pairs.zip(core.certificate).map_or(String::new(), |(pairs, gap)| {
            format!(" from {pairs} core pairs (certified gap {:.2} % of f)", 100.0 * gap)
        });
        screen.say(&format!("the model rests on {} of {} documents{ball}", core.documents, facts.rows));
    }
    screen.say(&format!("wrote {}", args.output.display()));
    if let Some(peak) = peak_memory() {
        screen.detail(&format!("peak memory {peak} kB"));
    }
    Ok(())
}

/// The most memory that this process held at once, in kB, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.split_whitespace().next()?.parse().ok()
}
