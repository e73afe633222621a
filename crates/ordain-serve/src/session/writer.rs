//! The one writer of the file of answers: it takes whatever waits, writes and syncs it at once, and then tells everybody.

use crate::metrics::Metrics;
use crate::problem::{Problem, Result};
use axum::http::StatusCode;
use ordain::data::{LabelSet, MatchSet, RankSet};
use ordain::labelling::{Answer, LabelQuestions, Labelling, MatchQuestions, RankQuestions, Said, Subject, Subjects};
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::sync::oneshot;

/// The answers of a session, whatever they are about.
pub(crate) trait Book {
    fn change(&mut self, answer: Answer, more: Map<String, Value>, said: Said<'_>) -> ordain::Result<u64>;
    fn undo(&mut self, said: Said<'_>) -> ordain::Result<Option<Answer>>;
    fn redo(&mut self, said: Said<'_>) -> ordain::Result<Option<Answer>>;
    fn take_back(&mut self, subject: Subject, said: Said<'_>) -> ordain::Result<Option<Answer>>;
    fn of_unit(&self, unit: usize, by: Option<&str>) -> Vec<Answer>;
    fn last_line(&self, unit: usize, by: Option<&str>) -> u64;
    fn has_key(&self, key: &str) -> bool;
    fn can_turn(&self, by: Option<&str>) -> (bool, bool);
    fn control(&self, by: Option<&str>) -> (usize, usize);
    fn standing(&self) -> Vec<(Answer, Option<String>)>;
}

impl<S: Subjects> Book for Labelling<'_, S> {
    fn change(&mut self, answer: Answer, more: Map<String, Value>, said: Said<'_>) -> ordain::Result<u64> {
        self.change(answer, more, said)
    }
    fn undo(&mut self, said: Said<'_>) -> ordain::Result<Option<Answer>> {
        self.undo(said)
    }
    fn redo(&mut self, said: Said<'_>) -> ordain::Result<Option<Answer>> {
        self.redo(said)
    }
    fn take_back(&mut self, subject: Subject, said: Said<'_>) -> ordain::Result<Option<Answer>> {
        self.take_back(subject, said)
    }
    fn of_unit(&self, unit: usize, by: Option<&str>) -> Vec<Answer> {
        self.of_unit_by(unit, by).copied().collect()
    }
    fn last_line(&self, unit: usize, by: Option<&str>) -> u64 {
        self.last_line(unit, by)
    }
    fn has_key(&self, key: &str) -> bool {
        self.line_of(key).is_some()
    }
    fn can_turn(&self, by: Option<&str>) -> (bool, bool) {
        self.can_turn(by)
    }
    fn control(&self, by: Option<&str>) -> (usize, usize) {
        self.control(by)
    }
    fn standing(&self) -> Vec<(Answer, Option<String>)> {
        self.standing().map(|(answer, by)| (*answer, by.map(Into::into))).collect()
    }
}

/// Data that answers are about.
pub(crate) trait Asks: Send + Sync + 'static {
    /// The questions about them.
    type Questions<'a>: Subjects;
    fn questions(&self) -> ordain::Result<Self::Questions<'_>>;
}

impl Asks for LabelSet {
    type Questions<'a> = LabelQuestions<'a>;
    fn questions(&self) -> ordain::Result<LabelQuestions<'_>> {
        LabelQuestions::new(self)
    }
}

impl Asks for MatchSet {
    type Questions<'a> = MatchQuestions<'a>;
    fn questions(&self) -> ordain::Result<MatchQuestions<'_>> {
        MatchQuestions::new(self)
    }
}

impl Asks for RankSet {
    type Questions<'a> = RankQuestions<'a>;
    fn questions(&self) -> ordain::Result<RankQuestions<'_>> {
        RankQuestions::new(self)
    }
}

/// What is called when lines are on the disk, or cannot be.
type Told = Box<dyn FnOnce(std::result::Result<(), String>) + Send>;
type Job = Box<dyn FnOnce(&mut dyn Book) -> Told + Send>;

/// What a job does to the file.
#[derive(Clone, Copy, PartialEq)]
enum Does {
    Look,
    Write,
    /// It writes, and reads the file: nothing else is under way.
    WriteAlone,
}

type Sent = (Does, Job);

/// The way to the writer.
pub(crate) struct Writer {
    jobs: Mutex<Option<Sender<Sent>>>,
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
    /// Why the last lines could not be written.
    failed: Arc<Mutex<Option<String>>>,
}

/// The most words that are written at once.
const BATCH: usize = 256;

impl Writer {
    /// Opens a file of answers and starts the writer. The second value says whether half a last line was cut off.
    pub(crate) fn start<D: Asks>(data: Arc<D>, path: PathBuf, metrics: Arc<Metrics>) -> ordain::Result<(Self, bool)> {
        let (jobs, waiting) = channel();
        let (opened, opening) = channel();
        let failed = Arc::new(Mutex::new(None));
        let noted = failed.clone();
        let work = move || {
            let questions = match data.questions() {
                Ok(questions) => questions,
                Err(error) => return drop(opened.send(Err(error))),
            };
            match Labelling::open(&questions, &path) {
                Err(error) => drop(opened.send(Err(error))),
                Ok((mut labelling, half)) => {
                    drop(opened.send(Ok(half)));
                    serve(&mut labelling, &waiting, &noted, &metrics);
                }
            }
        };
        let started = std::thread::Builder::new().name("answers".into()).spawn(work);
        let failure = |reason| ordain::Error::Io { path: "answers".into(), action: "start a thread for", reason };
        let thread = started.map_err(failure)?;
        let ended = || ordain::Error::Data { expected: "a writer of answers".into(), found: "one that ended".into() };
        let half = opening.recv().map_err(|_| ended())??;
        Ok((Self { jobs: Mutex::new(Some(jobs)), thread: Mutex::new(Some(thread)), failed }, half))
    }

    /// Does something with the answers, and returns when what it wrote is on the disk.
    pub(crate) async fn run<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn Book) -> R + Send + 'static,
    ) -> Result<R> {
        self.send(Does::Write, work).await
    }

    /// The same of work that reads the file of answers: all lines before are in it.
    pub(crate) async fn run_alone<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn Book) -> R + Send + 'static,
    ) -> Result<R> {
        self.send(Does::WriteAlone, work).await
    }

    /// Looks at the answers.
    pub(crate) async fn look<R: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Book) -> R + Send + 'static,
    ) -> Result<R> {
        self.send(Does::Look, |book| work(&*book)).await
    }

    /// Looks at the answers, from a thread that may wait.
    pub(crate) fn look_here<R: Send + 'static>(&self, work: impl FnOnce(&dyn Book) -> R + Send + 'static) -> Result<R> {
        answered(self.post(Does::Look, |book| work(&*book))?.blocking_recv())
    }

    async fn send<R: Send + 'static>(
        &self,
        does: Does,
        work: impl FnOnce(&mut dyn Book) -> R + Send + 'static,
    ) -> Result<R> {
        answered(self.post(does, work)?.await)
    }

    /// Hands a job to the writer, who tells what became of it.
    fn post<R: Send + 'static>(
        &self,
        does: Does,
        work: impl FnOnce(&mut dyn Book) -> R + Send + 'static,
    ) -> Result<oneshot::Receiver<std::result::Result<R, String>>> {
        let (tell, told) = oneshot::channel();
        let job: Job = Box::new(move |book| {
            let done = work(book);
            Box::new(move |synced| drop(tell.send(synced.map(|()| done))))
        });
        let sent = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|jobs| jobs.send((does, job)));
        sent.and_then(|sent| sent.ok()).ok_or_else(ending)?;
        Ok(told)
    }

    /// Why answers cannot be written, if that is so.
    pub(crate) fn failed(&self) -> Option<String> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until everything is written.
    pub(crate) fn close(&self) {
        drop(self.jobs.lock().unwrap_or_else(PoisonError::into_inner).take());
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(thread.map(std::thread::JoinHandle::join));
    }
}

fn ending() -> Problem {
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the server is ending")
}

/// What the writer told of a job.
fn answered<R, E>(told: std::result::Result<std::result::Result<R, String>, E>) -> Result<R> {
    let done = told.map_err(|_| ending())?;
    done.map_err(|why| Problem::new(StatusCode::INSUFFICIENT_STORAGE, why))
}

/// Takes what waits, again and again.
fn serve<S: Subjects>(
    labelling: &mut Labelling<'_, S>,
    waiting: &Receiver<Sent>,
    failed: &Mutex<Option<String>>,
    metrics: &Metrics,
) {
    let mut next = None;
    while let Some(first) = next.take().or_else(|| waiting.recv().ok()) {
        let begun = Instant::now();
        let mut batch = vec![first];
        while batch[0].0 != Does::WriteAlone && batch.len() < BATCH && next.is_none() {
            match waiting.try_recv() {
                Ok(job) if job.0 == Does::WriteAlone => next = Some(job),
                Ok(job) => batch.push(job),
                Err(_) => break,
            }
        }
        let writes = batch.iter().any(|(does, _)| *does != Does::Look);
        let (told, written) =
            labelling.together(|labelling| batch.into_iter().map(|(_, job)| job(labelling)).collect::<Vec<Told>>());
        let written = written.map_err(|error| error.to_string());
        if writes {
            metrics.synced(begun.elapsed());
            *failed.lock().unwrap_or_else(PoisonError::into_inner) = written.clone().err();
        }
        told.into_iter().for_each(|tell| tell(written.clone()));
    }
}
