//! Work without the interpreter lock: on threads of its own, watched, and stopped by Ctrl-C.

use crate::raised;
use ordain::Interrupt;
use ordain::solver::run::Watch;
use pyo3::exceptions::{PyRuntimeError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder, Yield};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How often a signal is looked for.
const LOOK: Duration = Duration::from_millis(50);

/// More threads than any machine has use for.
const MOST: usize = 1024;

/// The latest pool, with the process and the number of threads that it was made for.
static POOL: Mutex<Option<(u32, usize, Arc<ThreadPool>)>> = Mutex::new(None);

/// Threads to work on, kept from call to call. A forked process has none of its parent's threads: it gets its own.
fn pool(threads: Option<NonZeroUsize>) -> PyResult<Arc<ThreadPool>> {
    let threads = threads.or(thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    if threads > MOST {
        return Err(PyValueError::new_err(format!("n_threads: expected at most {MOST}, found {threads}")));
    }
    let process = std::process::id();
    let mut kept = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    match kept.take() {
        Some((of, n, pool)) if of == process && n == threads => {
            *kept = Some((of, n, pool.clone()));
            return Ok(pool);
        }
        // waiting for threads that a fork has left behind would never end
        Some((of, _, pool)) if of != process => std::mem::forget(pool),
        _ => {}
    }
    let made = ThreadPoolBuilder::new().num_threads(threads).build();
    let made =
        Arc::new(made.map_err(|error| PyRuntimeError::new_err(format!("cannot start {threads} threads: {error}")))?);
    *kept = Some((process, threads, made.clone()));
    Ok(made)
}

/// Short work on all threads, without the interpreter lock.
pub(crate) fn work<T: Send>(
    py: Python<'_>,
    threads: Option<NonZeroUsize>,
    work: impl FnOnce() -> ordain::Result<T> + Send,
) -> PyResult<T> {
    let pool = pool(threads)?;
    py.detach(|| pool.install(work)).map_err(raised)
}

/// Waits for what comes out of the other end, and looks for signals meanwhile: `raise` is called with the exception of one, until it says that
/// this is enough. Nothing comes out where the other end is closed.
fn await_with_signals<T: Send>(
    py: Python<'_>,
    mut told: Receiver<T>,
    mut raise: impl FnMut(PyErr) -> bool,
) -> Option<T> {
    loop {
        let told = &mut told; // a receiver is for one thread at a time
        match py.detach(move || told.recv_timeout(LOOK)) {
            Ok(value) => return Some(value),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => {
                if let Err(error) = py.check_signals()
                    && raise(error)
                {
                    return None;
                }
            }
        }
    }
}

/// Work on one thread that asks whether to stop: a signal does it, and its exception is raised. `short` work is not worth the thread.
pub(crate) fn stoppable<T: Send>(
    py: Python<'_>,
    short: bool,
    work: impl FnOnce(Interrupt) -> ordain::Result<T> + Send,
) -> PyResult<T> {
    if short {
        return py.detach(|| work(Interrupt::default())).map_err(raised);
    }
    let stop = Arc::new(AtomicBool::new(false));
    let asked = stop.clone();
    let asked = Interrupt::when(move || asked.load(Ordering::Relaxed));
    let (tell, told) = channel::<()>();
    let mut raise: Option<PyErr> = None;
    let made = thread::scope(|scope| {
        let handle = scope.spawn(move || {
            let _open = tell; // closed at the end, also by a panic
            work(asked)
        });
        await_with_signals(py, told, |error| {
            raise.get_or_insert(error);
            stop.store(true, Ordering::Relaxed);
            false
        });
        py.detach(|| handle.join())
    });
    match (made, raise) {
        (Err(panic), _) => std::panic::resume_unwind(panic),
        (Ok(_), Some(error)) => Err(error),
        (Ok(made), None) => made.map_err(raised),
    }
}

/// Warns of what readers noticed beside their result, such as a file that may be cut. A filter may make an exception of it.
pub(crate) fn noted(py: Python<'_>) -> PyResult<()> {
    for note in ordain::data::take_notes() {
        let text = std::ffi::CString::new(note.to_string()).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 2)?;
    }
    Ok(())
}

/// Reading, which may wait for a pipe as long as that likes: a signal leaves it to itself, and its exception is raised at once. What is read
/// then is thrown away; the threads are its own, so that nobody waits for them.
pub(crate) fn reading<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> ordain::Result<T> + Send + 'static,
) -> PyResult<T> {
    let pool = ThreadPoolBuilder::new().build();
    let pool = pool.map_err(|error| PyRuntimeError::new_err(format!("cannot start threads to read: {error}")))?;
    let (tell, told) = channel();
    let handle = thread::spawn(move || {
        let made = pool.install(work);
        let _ = tell.send(made); // nobody listens once an exception is on its way
    });
    let mut raise = None;
    let made = await_with_signals(py, told, |error| {
        raise = Some(error);
        true
    });
    match (made, raise) {
        (_, Some(error)) => Err(error),
        (Some(made), None) => {
            let made = made.map_err(raised)?;
            noted(py)?;
            Ok(made)
        }
        (None, None) => match py.detach(|| handle.join()) {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(()) => Err(PyRuntimeError::new_err("the thread that reads ended without an answer")),
        },
    }
}

/// Waits until the other end is dropped. Other work of this pool goes on meanwhile, also that which the callback asks for.
fn wait_for(heard: &Receiver<()>) {
    while heard.try_recv() == Err(TryRecvError::Empty) {
        let busy = rayon::yield_now() == Some(Yield::Executed);
        if !busy && heard.recv_timeout(Duration::from_millis(1)) == Err(RecvTimeoutError::Disconnected) {
            return;
        }
    }
}

/// Long work: `callback(share, word)` hears of it, and Ctrl-C, an exception of the callback or its answer `True` stops it. The work waits for
/// its callback, so that nothing is done between a word and its answer.
///
/// Returns what was made, the best so far where it was stopped, and the exception that is to be raised then.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    threads: Option<NonZeroUsize>,
    callback: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Watch) -> ordain::Result<T> + Send,
) -> PyResult<(T, Option<PyErr>)> {
    let pool = pool(threads)?;
    let stop = AtomicBool::new(false);
    let (tell, mut told) = channel::<(f64, String, Sender<()>)>();
    let listens = callback.is_some();
    let mut raise: Option<PyErr> = None;
    let made = thread::scope(|scope| {
        let stop = &stop;
        let handle = scope.spawn(move || {
            let tell = |share: f64, word: &str| {
                if listens {
                    let (hears, heard) = channel();
                    let _ = tell.send((share, word.to_owned(), hears)); // it listens to the end
                    wait_for(&heard);
                }
            };
            pool.install(|| work(&Watch { stop, tell: &tell }))
        });
        loop {
            let told = &mut told; // a receiver is for one thread at a time
            let (heard, _waits) = match py.detach(move || told.recv_timeout(LOOK)) {
                Ok((share, word, waits)) => {
                    let heard = callback.map_or(Ok(false), |call| call.call1((share, word))?.is_truthy());
                    (heard, Some(waits))
                }
                Err(RecvTimeoutError::Timeout) => (Ok(false), None),
                Err(RecvTimeoutError::Disconnected) => break,
            };
            match heard.and_then(|enough| py.check_signals().map(|()| enough)) {
                Ok(enough) => stop.fetch_or(enough, Ordering::Relaxed),
                Err(error) => {
                    raise.get_or_insert(error);
                    stop.swap(true, Ordering::Relaxed)
                }
            };
        }
        py.detach(|| handle.join())
    });
    match made {
        Ok(Ok(made)) => {
            if let (Some(call), None, false) = (callback, &raise, stop.into_inner()) {
                raise = call.call1((1.0, "done")).err();
            }
            Ok((made, raise))
        }
        Ok(Err(ordain::Error::Interrupted)) => Err(raise.unwrap_or_else(|| {
            PyRuntimeError::new_err("a callback stopped the fit before there was anything to keep")
        })),
        Ok(Err(error)) => Err(raise.unwrap_or_else(|| raised(error))),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
