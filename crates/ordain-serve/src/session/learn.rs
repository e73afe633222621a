//! Learning from answers while people go on: a fit beside them, a check on answers that were held out, and another model.
//!
//! Every fifth unit by its place in the data is held out. A fit on the answers of the others is judged on them, beside the model that is
//! served. If it is not worse, a fit on all answers is saved and takes its place. The next fit is judged beside the one that was judged
//! before, which has not seen the held-out answers either.

use super::export::votes;
use crate::models::{Kept, Loaded};
use crate::routes::App;
use ordain::labelling::{Answer, Subject};
use ordain::metric::{Convention, Metric};
use ordain::model_file::{self, AnyModel};
use ordain::solver::run::Watch;
use ordain::task::{DataSet as _, Fitted, Method as _, Model as _, Training};
use ordain::{Error, Result};
use serde_json::Value;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// With fewer units than this nothing is learned.
const LEAST: usize = 5;

/// What a session has to do with learning.
pub(crate) struct Learner {
    every: usize,
    said: AtomicUsize,
    wanted: Mutex<Option<Sender<()>>>,
    waiting: Mutex<Option<Receiver<()>>>,
    stop: AtomicBool,
    path: PathBuf,
}

impl Learner {
    /// Learning after every so many answers, with a place beside the file of the model.
    pub(super) fn new(every: usize, model: &Path) -> Result<Self> {
        let stem = model.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let stem = stem.strip_suffix(".learned").unwrap_or(&stem);
        let path = model.with_file_name(format!("{stem}.learned.ordain"));
        if path.exists() && !model_file::is_model(&path) {
            return Err(Error::Content {
                path,
                expected: "a place for the model that is learned".into(),
                found: "a file that is no model".into(),
            });
        }
        let (send, receive) = channel();
        Ok(Self {
            every: every.max(1),
            said: AtomicUsize::new(0),
            wanted: Mutex::new(Some(send)),
            waiting: Mutex::new(Some(receive)),
            stop: AtomicBool::new(false),
            path,
        })
    }

    /// Counts answers, and asks for a fit where there are enough of them.
    pub(super) fn noted(&self, count: usize) {
        let before = self.said.fetch_add(count, Ordering::SeqCst);
        if before / self.every != (before + count) / self.every {
            let wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
            wanted.as_ref().map(|wanted| wanted.send(()).ok());
        }
    }

    /// Ends a fit that is under way, and every later one.
    pub(super) fn end(&self) {
        self.stop.store(true, Ordering::SeqCst);
        drop(self.wanted.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// What a fit came to.
pub(crate) struct Learned {
    metric: String,
    /// The units that it was judged on, and those of the last fit.
    held: usize,
    units: usize,
    before: f64,
    after: f64,
    /// The model of all answers, and the one that was judged; none if that was worse.
    taken: Option<(AnyModel, AnyModel)>,
}

/// Starts the thread that learns, with a half of the processors: keys that are pressed meanwhile are answered by the others.
pub(crate) fn start(app: &Arc<App>) -> Result<()> {
    let waiting = app.session.as_ref().and_then(|session| session.learner.as_ref());
    let waiting = waiting.and_then(|learner| learner.waiting.lock().unwrap_or_else(PoisonError::into_inner).take());
    let Some(waiting) = waiting else { return Ok(()) };
    let threads = (rayon::current_num_threads() / 2).max(1);
    let failed = |reason| Error::Io { path: "what learns".into(), action: "start", reason };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| failed(std::io::Error::other(error)))?;
    let app = Arc::downgrade(app);
    let work = move || {
        let mut judged = None;
        while waiting.recv().is_ok() {
            while waiting.try_recv().is_ok() {}
            let Some(app) = Weak::upgrade(&app) else { return };
            // a panic is a fault of this one fit
            let done = catch_unwind(AssertUnwindSafe(|| pool.install(|| once(&app, &mut judged))));
            let said = match done {
                Ok(Ok(said)) => said,
                Ok(Err(Error::Interrupted)) => return,
                Ok(Err(error)) => format!("warning: nothing was learned from the answers: {error}"),
                Err(_) => "warning: nothing was learned from the answers: the fit broke off".into(),
            };
            (app.say)(&said);
        }
    };
    std::thread::Builder::new().name("learner".into()).spawn(work).map(drop).map_err(failed)
}

/// Learns once; `judged` is the model that was judged last, with the version that was taken for it.
fn once(app: &App, judged: &mut Option<(String, AnyModel)>) -> Result<String> {
    let (Some(session), Some(served)) = (&app.session, app.models.all().into_iter().next()) else {
        return Err(Error::Interrupted);
    };
    let Some(learner) = &session.learner else { return Err(Error::Interrupted) };
    let standing = session.writer.look_here(|book| book.standing()).map_err(|_| Error::Interrupted)?;
    let twin = judged.as_ref().filter(|(version, _)| *version == served.version).map(|(_, model)| model);
    let watch = Watch { stop: &learner.stop, tell: &|_, _| {} };
    let learned = session.page.learn(&served, twin, &standing, &watch)?;
    if watch.stopped() {
        return Err(Error::Interrupted);
    }
    let name = &served.name;
    let Some(Learned { metric, held, units, before, after, taken }) = learned else {
        return Ok(format!("{name}: too few answers to learn from yet: every fifth of the data is held out"));
    };
    let figures = format!("{metric} {after:.4} on {held} held out, where it had {before:.4}");
    let Some((all, twin)) = taken else {
        app.metrics.reloaded(name, "worse");
        return Ok(format!("{name}: {} stays: what was learned is worse: {figures}", served.version));
    };
    let _one = app.models.one_at_a_time();
    if app.models.all().first().is_none_or(|now| now.version != served.version) {
        return Ok(format!("{name}: another model came meanwhile: what was learned is left out"));
    }
    save(&all, &learner.path)?;
    let new = Arc::new(Loaded::read(name, &learner.path)?);
    session.take_over(&new)?;
    app.models.put(0, new.clone());
    app.metrics.reloaded(name, "learned");
    *judged = Some((new.version.clone(), twin));
    let place = learner.path.display();
    let mut said = format!(
        "{name}: {} in the place of {}, learned from the answers on {units}: {figures}; saved as {place}",
        new.version, served.version
    );
    if app.label_studio.is_some() {
        // the title first: a version is taken if a model has it as its title
        let version = new.full();
        let call = |path: &str, body: &str| {
            format!(
                "\n  curl -X PATCH http://LABEL-STUDIO/api/{path} -H 'Authorization: Token TOKEN' \
                 -H 'Content-Type: application/json' -d '{body}'"
            )
        };
        said += "\nLabel Studio, so that its queue goes by the new model:";
        said += &call("ml/MODEL", &format!("{{\"title\":\"{version}\",\"url\":\"URL\",\"project\":ID}}"));
        said += &call("projects/ID", &format!("{{\"model_version\":\"{version}\"}}"));
    }
    Ok(said)
}

fn save(model: &AnyModel, path: &Path) -> Result<()> {
    match model {
        AnyModel::Rank(fitted) => model_file::save(fitted, path),
        AnyModel::Annotate(fitted) => model_file::save(fitted, path),
        AnyModel::Match(fitted) => model_file::save(fitted, path),
        _ => Err(Error::Data { expected: "a model that can be saved".into(), found: "one of another task".into() }),
    }
}

/// What most people say of each subject.
pub(super) fn majority(standing: &[(Answer, Option<String>)]) -> Vec<(Subject, bool)> {
    let vote = |vote: super::export::Vote| (Subject { unit: vote.unit, thing: vote.thing }, vote.yes);
    votes(standing, false).into_iter().map(vote).collect()
}

/// Data with the answers in them, and what is to be done with them.
pub(super) struct Told<'a, T: Kept> {
    pub(super) set: T::Set,
    /// Units of the set of which something is known, and the number of each in the data.
    pub(super) units: Vec<(u32, usize)>,
    /// Those that somebody answered, by their number in the data.
    pub(super) answered: &'a dyn Fn(usize) -> bool,
    pub(super) metric: &'a str,
}

/// Whether a unit is one to judge on.
fn is_held(number: usize) -> bool {
    number % 5 == 4
}

/// Fits on the answers, judges, and fits on all of them if that is not worse; nothing where there are too few.
pub(super) fn learned<T: Kept>(
    served: &Loaded,
    twin: Option<&AnyModel>,
    told: Told<'_, T>,
    watch: &Watch,
) -> Result<Option<Learned>> {
    let Told { set, units, answered, metric } = told;
    let served: &Fitted<T> = served.known()?;
    let twin = twin.and_then(T::of);
    let method = method_of(served)?;
    let held = |number: usize| is_held(number) && answered(number);
    let of = |wanted: &dyn Fn(usize) -> bool| -> Vec<u32> {
        units.iter().filter(|(_, number)| wanted(*number)).map(|(unit, _)| *unit).collect()
    };
    let (rest, judges, all) = (of(&|number| !held(number)), of(&held), of(&|_| true));
    if rest.len() < LEAST || judges.is_empty() {
        return Ok(None);
    }
    let metric: Metric = metric.parse()?;
    let value = |model: &Fitted<T>| -> Result<f64> {
        let on = model.model.prepare(&set)?;
        Ok(model.model.evaluate(&on, &judges, &[metric], &Convention::STANDARD)?.mean(0))
    };
    let seed = served.facts.seed;
    let fit = |units: &[u32]| -> Result<Fitted<T>> {
        let mut own = set.clone();
        let filled = own.fill(served.model.inputs().missing, units);
        let fitted = method.fit(&Training { filled, seed, ..Training::new(&own, units) }, watch)?;
        // a model of half a fit is not one to judge
        if watch.stopped() { Err(Error::Interrupted) } else { Ok(fitted) }
    };
    let candidate = fit(&rest)?;
    let (before, after) = (value(twin.unwrap_or(served))?, value(&candidate)?);
    let taken = match metric.better(before, after) {
        true => None,
        false => Some((T::any(fit(&all)?), T::any(candidate))),
    };
    Ok(Some(Learned { metric: metric.to_string(), held: judges.len(), units: all.len(), before, after, taken }))
}

/// The method of a model, with the settings that were asked for.
fn method_of<T: Kept>(fitted: &Fitted<T>) -> Result<T::Method> {
    let facts = &fitted.facts;
    let mut method: T::Method = facts.method.parse()?;
    for setting in method.settings() {
        let text = match facts.asked.get(setting.name).or(facts.settings.get(setting.name)) {
            Some(Value::String(text)) => text.clone(),
            Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
            _ => continue,
        };
        method.set(setting.name, &text)?;
    }
    method.check()?;
    Ok(method)
}

impl super::Session {
    /// Answers were written.
    pub(crate) fn noted(&self, count: usize) {
        self.learner.iter().for_each(|learner| learner.noted(count));
    }
}
