//! Runs inputs one after another and keeps what went wrong: the first input of each kind of failure, and their number.

use ordain::Error;
use ordain::random::Random;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

/// The longest time of one small case. Limits of time count only where `ORDAIN_SPEED` is set, by `./check --speed`: on a busy machine any case may take long.
const CASE: Duration = Duration::from_secs(2);
/// The time after which a case counts as a hang and ends the whole run.
const HANG: Duration = Duration::from_secs(60);

/// What is wrong with the outcome of a case: its kind, and what it was exactly.
pub(crate) type Check<T = ()> = Result<T, (String, String)>;

/// Leaves with a failure of this kind unless the condition holds.
macro_rules! ensure {
    ($right:expr, $kind:expr, $($detail:tt)+) => {
        if !$right {
            return Err((String::from($kind), format!($($detail)+)));
        }
    };
}
pub(crate) use ensure;

static TURN: Mutex<()> = Mutex::new(());
static NOW: Mutex<Option<(Instant, String)>> = Mutex::new(None);
static CAUGHT: Mutex<String> = Mutex::new(String::new());
/// Errors that were looked at.
static ERRORS: AtomicUsize = AtomicUsize::new(0);
static SEED: AtomicU64 = AtomicU64::new(0);
static INSIDE: AtomicBool = AtomicBool::new(false);

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The cases of one test. While it lives no other test runs, so that memory and time are those of its cases.
pub(crate) struct Suite {
    failures: BTreeMap<String, (usize, String)>,
    /// How many cases there were.
    pub(crate) cases: usize,
    /// A folder for files.
    pub(crate) folder: tempfile::TempDir,
    limit: Duration,
    refused: usize,
    _turn: MutexGuard<'static, ()>,
}

impl Suite {
    /// A suite of small cases.
    pub(crate) fn new() -> Self {
        watch();
        let turn = locked(&TURN);
        // in memory where there is such a folder: each file that is written is synced to its disk
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder for files");
        Self { failures: BTreeMap::new(), cases: 0, folder, limit: CASE, refused: 0, _turn: turn }
    }

    /// A suite of larger cases.
    #[cfg(test)]
    pub(crate) fn with_limit(seconds: u64) -> Self {
        Self { limit: Duration::from_secs(seconds), ..Self::new() }
    }

    /// A file in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs one case. `input` is shown where it fails.
    pub(crate) fn run<T>(&mut self, name: &str, input: &[u8], work: impl FnOnce() -> Check<T>) -> Option<T> {
        self.cases += 1;
        let errors = ERRORS.load(Ordering::SeqCst);
        let start = Instant::now();
        *locked(&NOW) = Some((start, name.to_owned()));
        INSIDE.store(true, Ordering::SeqCst);
        let outcome = catch_unwind(AssertUnwindSafe(work));
        INSIDE.store(false, Ordering::SeqCst);
        *locked(&NOW) = None;
        let taken = start.elapsed();
        self.refused += usize::from(ERRORS.load(Ordering::SeqCst) > errors);
        if taken > self.limit && limits() {
            self.fail(format!("slower than {:?}", self.limit), format!("{name}: {taken:.2?}"), input);
        }
        match outcome {
            Ok(Ok(out)) => return Some(out),
            Ok(Err((kind, detail))) => self.fail(kind, format!("{name}: {detail}"), input),
            Err(_) => {
                let message = std::mem::take(&mut *locked(&CAUGHT));
                let place = message.lines().next().unwrap_or("").to_owned();
                self.fail(format!("panic {place}"), format!("{name}: {message}"), input);
            }
        }
        None
    }

    fn fail(&mut self, kind: String, detail: String, input: &[u8]) {
        let (count, _) = self.failures.entry(kind).or_insert_with(|| {
            let shown = input[..input.len().min(700)].escape_ascii();
            (0, format!("{}\n    input ({} bytes): {shown}", cut(&detail, 700), input.len()))
        });
        *count += 1;
    }

    /// The first failure, if there is one.
    pub(crate) fn first(&self) -> Option<&str> {
        self.failures.values().map(|(_, first)| first.as_str()).next()
    }

    /// Ends a suite of single cases.
    #[cfg(test)]
    pub(crate) fn finish(self) {
        self.counts("cases");
    }

    /// Ends the suite: no input may have failed.
    pub(crate) fn counts(self, name: &str) -> Counts {
        let list = self.failures.iter().map(|(kind, (count, first))| format!("{count} × {kind}\n    first: {first}\n"));
        let list: String = list.collect();
        let kinds = self.failures.len();
        assert!(self.failures.is_empty(), "{name}: {kinds} kinds of failure in {} inputs\n{list}", self.cases);
        Counts { tried: self.cases, refused: self.refused, accepted: self.cases - self.refused }
    }
}

/// What became of some inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) tried: usize,
    pub(crate) refused: usize,
    pub(crate) accepted: usize,
}

impl Counts {
    /// As it is shown.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let ["tried", tried, "refused", refused, "accepted", accepted] = words[..] else { return None };
        Some(Self { tried: tried.parse().ok()?, refused: refused.parse().ok()?, accepted: accepted.parse().ok()? })
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tried {} refused {} accepted {}", self.tried, self.refused, self.accepted)
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.tried += other.tried;
        self.refused += other.refused;
        self.accepted += other.accepted;
    }
}

/// Another seed for all damage from here on.
pub(crate) fn set_seed(seed: u64) {
    SEED.store(seed, Ordering::SeqCst);
}

/// A generator of damage.
pub(crate) fn damage(seed: u64) -> Random {
    Random::new(seed + 10_000 * SEED.load(Ordering::SeqCst))
}

/// Counts an input as refused, where its error is looked at by nothing below.
pub(crate) fn refused() {
    ERRORS.fetch_add(1, Ordering::SeqCst);
}

/// Whether limits of time count.
fn limits() -> bool {
    std::env::var_os("ORDAIN_SPEED").is_some()
}

/// The start of a text.
pub(crate) fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

/// Notes what a panic says.
fn watch() {
    if limits() {
        watch_for_hangs();
    }
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if INSIDE.load(Ordering::SeqCst) {
                *locked(&CAUGHT) = info.to_string();
            } else {
                usual(info);
            }
        }));
    });
}

/// Ends the run where an input hangs. Tests do without, but for those of speed: on a busy machine any input may take long.
pub(crate) fn watch_for_hangs() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::thread::spawn(|| {
            loop {
                std::thread::sleep(Duration::from_millis(500));
                if let Some((start, name)) = &*locked(&NOW)
                    && start.elapsed() > HANG
                {
                    eprintln!("this input hangs: {name}");
                    std::process::exit(101);
                }
            }
        });
    });
}

/// The message of an error is clear: it is short, without control characters, and names the file.
pub(crate) fn clear_message(error: &Error, path: &Path) -> Check {
    refused();
    let message = error.to_string();
    ensure!(message.len() < 1000, "error message too long", "{} bytes: {}", message.len(), cut(&message, 200));
    ensure!(!message.contains(char::is_control), "error message with control characters", "{message:?}");
    ensure!(message.contains(&path.display().to_string()), "error message without the file", "{message}");
    Ok(())
}

/// An error of a reader is clear: its message is, and its line is one of the file's.
///
/// `files` are the files of the case with their text, unpacked; those with the longest names first.
pub(crate) fn clear(error: &Error, files: &[(&Path, &[u8])]) -> Check {
    let message = error.to_string();
    let (path, text) =
        *files.iter().find(|(path, _)| message.contains(&path.display().to_string())).unwrap_or(&files[0]);
    clear_message(error, path)?;
    if let Error::Parse { line, column, .. } = error.cause() {
        let lines = text.split_inclusive(|&b| b == b'\n' || b == b'\r').count().max(1);
        ensure!((1..=lines).contains(line), "error on a line that is not there", "{message}: {lines} lines");
        ensure!(*column >= 1 && *column <= text.len() + 1, "error in a column that is not there", "{message}");
    }
    Ok(())
}
