//! `ordain fit`.

use super::{check_interrupt, check_not_input, check_output, files, watched};
use crate::args::Fit;
use crate::plan::{self, Usage};
use crate::screen::Screen;
use crate::show::{self, Given, Parts, Show};
use anyhow::Result;
use ordain::answer::FitAnswer;
use ordain::data::Holds;
use ordain::method::auto::AutoFit;
use ordain::method::{self, Annotate, AnyMethod, Match, Rank};
use ordain::model_file;
use ordain::task::{DataSet, Fitted, Method, Training};
use ordain::traits::Stop;
use std::path::PathBuf;
use std::time::Instant;

pub(super) fn run(args: &Fit, screen: &Screen) -> Result<()> {
    if args.method == "auto" {
        return match args.train.first().map(|file| files::what(file, &args.reading, &args.columns)) {
            Some(Holds::Items) => auto::<Annotate>(args, screen),
            Some(Holds::Problems) => auto::<Match>(args, screen),
            _ => auto::<Rank>(args, screen),
        };
    }
    let method = plan::method(&args.method, &args.settings)?;
    plan::check_fit(args, &method)?;
    check_place(args, screen)?;
    match method {
        AnyMethod::Rank(method) => fit(&method, args, screen),
        AnyMethod::Annotate(method) => fit(&method, args, screen),
        AnyMethod::Match(method) => fit(&method, args, screen),
        other => Err(Usage(format!("{other}: fit is not for this task")).into()),
    }
}

/// Refuses an output that cannot be written, or that is no model yet.
fn check_place(args: &Fit, screen: &Screen) -> Result<()> {
    if screen.json && args.output.as_os_str() == "-" {
        return Err(Usage("-o - and --json cannot share standard output; give the model a file".into()).into());
    }
    check_output(&args.output)?;
    check_not_input(
        &args.output,
        args.train
            .iter()
            .chain(&args.valid)
            .chain(&args.points.pairs)
            .chain(&args.links)
            .chain(&args.start)
            .chain(&args.preferences)
            .chain(&args.answers),
    )?;
    if args.output.is_file() && !model_file::is_model(&args.output) {
        return Err(Usage(format!(
            "{}: a file that is no model stands there; remove it first, or give another name",
            args.output.display()
        ))
        .into());
    }
    Ok(())
}

/// Reads what a method, or the choice of one, learns from.
fn read<T: Show>(args: &Fit, who: &str, given: &Given, screen: &Screen) -> Result<Parts<T::Set>> {
    let how = T::reading(given)?;
    let parts: Vec<Vec<PathBuf>> =
        std::iter::once(args.train.clone()).chain(args.valid.iter().map(|file| vec![file.clone()])).collect();
    let start = Instant::now();
    let (mut set, mut train, mut valid) = files::read_training::<T>(&parts, &how, who, given)?;
    if let Some(gram) = given.gram {
        set = T::with_gram(set, gram, None)?;
    }
    if let Some(column) = &args.split_by {
        let (rest, newest) = files::split_by::<T>(&set, &train, &args.train, column, given)?;
        screen.say(&format!("the newest {} by {column} choose, of {}", newest.len(), T::WORDS.units(train.len())));
        (train, valid) = (rest, Some(newest));
    }
    if let Some(answers) = &args.answers {
        let (own, count) = T::with_answers((set, train, valid), answers)?;
        let stand = if count == 1 { "answer that stands" } else { "answers that stand" };
        screen.say(&format!("{}: {count} {stand}", answers.display()));
        (set, train, valid) = own;
    }
    files::say_columns(set.columns(), given, screen)?;
    files::need_truth::<T>(&set, &args.train)?;
    T::check_set(&set, given)?;
    check_interrupt()?;
    screen.detail(&format!("read {} in {:.2} s", T::size(&set), start.elapsed().as_secs_f64()));
    Ok((set, train, valid))
}

/// Chooses a method, fits it and says what was tried.
fn auto<T: Show>(args: &Fit, screen: &Screen) -> Result<()> {
    let limit = plan::auto(args, T::WORDS)?;
    check_place(args, screen)?;
    let columns = plan::without(&args.columns, args.split_by.as_ref());
    let given = Given {
        preferences: args.preferences.as_deref(),
        clicks: args.clicks.as_deref(),
        learns: true,
        ..Given::new(&args.reading, &columns, &args.points)
    };
    let (by, convention) = plan::choose_by(&args.choosing, &args.rules, T::WORDS)?;
    let missing = T::missing(&T::reading(&given)?);
    let (set, train, valid) = read::<T>(args, "the method", &given, screen)?;
    let training: Training<'_, T> =
        Training { valid: valid.as_deref(), by, convention, seed: args.choosing.seed, ..Training::new(&set, &train) };
    let fitting = Instant::now();
    let made = watched(screen, |watch| method::auto::auto(&training, missing, limit, watch))?;
    let seconds = fitting.elapsed().as_secs_f64();
    let AutoFit { fitted, method, seconds: each } = &made;
    model_file::save(fitted, &args.output)?;
    if screen.json {
        screen.answer(&FitAnswer::of(fitted, seconds, args.output.display().to_string()))?;
    }
    if let Some(choice) = &fitted.facts.auto {
        screen.say(show::tried(choice, Some(each)).trim_end());
        screen.say(&show::choice(choice, &T::WORDS.units(choice.units)));
    }
    tell(fitted, method, &training, seconds, screen);
    screen.say(&format!("wrote {}", args.output.display()));
    Ok(())
}

fn fit<T: Show<Method = M>, M: Method<T>>(method: &M, args: &Fit, screen: &Screen) -> Result<()> {
    let columns = plan::without(&args.columns, args.split_by.as_ref());
    let given = Given {
        gram: args.gram.as_deref(),
        links: args.links.as_deref(),
        start: args.start.as_deref(),
        preferences: args.preferences.as_deref(),
        clicks: args.clicks.as_deref(),
        learns: true,
        ..Given::new(&args.reading, &columns, &args.points)
    };
    let (by, convention) = plan::choose_by(&args.choosing, &args.rules, T::WORDS)?;
    let missing = T::missing(&T::reading(&given)?);
    let (mut set, train, valid) = read::<T>(args, method.name(), &given, screen)?;
    let filled = set.fill(missing, &train);
    let old: Option<Fitted<T>> = if args.resume { Some(model_file::load(&args.output)?) } else { None };
    let seed = args.choosing.seed;
    let asked = Training { by, convention, seed, ..Training::new(&set, &train) };
    let resume = old.as_ref().map(|model| method.resume(model, &asked)).transpose()?;
    let fitting = Instant::now();
    let made = method.transform_in_place(&mut set, &train);
    let training = Training {
        valid: valid.as_deref(),
        by,
        convention,
        refit: !args.choosing.no_refit,
        seed,
        filled,
        resume,
        ..Training::new(&set, &train)
    };
    let fitted = watched(screen, |watch| method.fit_transformed(&training, made, watch))?;
    let seconds = fitting.elapsed().as_secs_f64();
    model_file::save(&fitted, &args.output)?;
    if screen.json {
        screen.answer(&FitAnswer::of(&fitted, seconds, args.output.display().to_string()))?;
    }
    tell(&fitted, method, &training, seconds, screen);
    screen.say(&format!("wrote {}", args.output.display()));
    if let Some(peak) = peak_memory() {
        screen.detail(&format!("peak memory {peak} kB"));
    }
    Ok(())
}

/// Says what a fit came to.
fn tell<T: Show>(
    fitted: &Fitted<T>,
    method: &impl Method<T>,
    training: &Training<'_, T>,
    seconds: f64,
    screen: &Screen,
) {
    let facts = &fitted.facts;
    T::before_choice(fitted, training.set, &training.fitted_on(facts), screen);
    if let Some(chosen) = &facts.chosen {
        screen.say(&format!(
            "chosen of {} by {} on {}{}: {}{}",
            chosen.candidates.len(),
            chosen.metric,
            T::WORDS.units(chosen.units),
            show::parts(chosen),
            T::taken(facts),
            if facts.refit { ", then fitted on all" } else { "" },
        ));
        if let Some(edge) = show::edge(chosen) {
            screen.say(&format!("warning: {edge}"));
        }
        if let Some(level) = show::level(chosen, &T::WORDS.units(chosen.units)) {
            screen.say(&format!("warning: {level}"));
        }
        T::doubt_choice(fitted, screen);
    } else if method.chooses() && facts.asked.values().any(|asked| asked == "auto") {
        screen.say(&T::no_choice(facts));
    }
    T::before_summary(fitted, screen);
    let report = &facts.report;
    if report.stop == Stop::Interrupted {
        let resume = if method.resumes() { "; --resume goes on from here" } else { "" };
        screen.say(&format!("warning: interrupted before the fit was complete; the model so far is saved{resume}"));
    }
    if let Some(text) = report.unfinished(&facts.settings) {
        screen.say(&format!("warning: {text}"));
    }
    T::facts(fitted, screen);
    screen.say(&format!(
        "{}: {}; objective {:.6}, {} steps, {} ({}), {seconds:.2} s",
        facts.method,
        T::fitted_on(fitted),
        report.objective,
        report.iterations,
        report.accuracy(),
        report.stop.name()
    ));
    T::after_summary(fitted, screen);
}

/// The most memory that this process held at once, in kB, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.split_whitespace().next()?.parse().ok()
}
