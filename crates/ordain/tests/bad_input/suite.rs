//! Runs cases one after another and keeps what went wrong: the first case of each kind of failure, and their number.

use ordain::Error;
use ordain::random::Random;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
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
/// Errors that were looked at: each is an input that was refused.
static REFUSED: AtomicUsize = AtomicUsize::new(0);
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
        let refused = REFUSED.load(Ordering::SeqCst);
        Self { failures: BTreeMap::new(), cases: 0, folder, limit: CASE, refused, _turn: turn }
    }

    /// A suite of larger cases.
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
        let start = Instant::now();
        *locked(&NOW) = Some((start, name.to_owned()));
        INSIDE.store(true, Ordering::SeqCst);
        let outcome = catch_unwind(AssertUnwindSafe(work));
        INSIDE.store(false, Ordering::SeqCst);
        *locked(&NOW) = None;
        let taken = start.elapsed();
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

    /// Ends the suite: no case may have failed.
    #[allow(clippy::print_stdout)] // the counts are what a soak is for
    pub(crate) fn finish(self) {
        let (tried, refused) = (self.cases, REFUSED.load(Ordering::SeqCst) - self.refused);
        println!("inputs: tried {tried} refused {refused} accepted {}", tried.saturating_sub(refused));
        let list = self.failures.iter().map(|(kind, (count, first))| format!("{count} × {kind}\n    first: {first}\n"));
        let list: String = list.collect();
        assert!(self.failures.is_empty(), "{} kinds of failure in {} cases\n{list}", self.failures.len(), self.cases);
    }
}

/// A generator of damage. `ORDAIN_SOAK` is another seed for all of them: `./check --soak` counts it up.
pub(crate) fn damage(seed: u64) -> Random {
    let soak: u64 = std::env::var("ORDAIN_SOAK").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    Random::new(seed + 10_000 * soak)
}

/// Whether limits of time count.
fn limits() -> bool {
    std::env::var_os("ORDAIN_SPEED").is_some()
}

/// The start of a text.
pub(crate) fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

/// Notes what a panic says, and ends the run where a case hangs.
fn watch() {
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
        if !limits() {
            return;
        }
        std::thread::spawn(|| {
            loop {
                std::thread::sleep(Duration::from_millis(500));
                if let Some((start, name)) = &*locked(&NOW)
                    && start.elapsed() > HANG
                {
                    eprintln!("this case hangs: {name}");
                    std::process::exit(101);
                }
            }
        });
    });
}

/// The message of an error is clear: it is short, without control characters, and names the file.
pub(crate) fn clear_message(error: &Error, path: &Path) -> Check {
    REFUSED.fetch_add(1, Ordering::SeqCst);
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
