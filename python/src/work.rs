//! Work without the interpreter lock: on threads of its own, watched, and stopped by Ctrl-C.

use crate::raised;
use ordain::solver::run::Watch;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
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

/// Long work: `callback(share, word)` hears of it, and Ctrl-C, an exception of the callback or its answer `True` stops it.
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
    let (tell, mut told) = channel::<(f64, String)>();
    let mut raise: Option<PyErr> = None;
    let made = thread::scope(|scope| {
        let stop = &stop;
        let handle = scope.spawn(move || {
            let tell = |share: f64, word: &str| {
                let _ = tell.send((share, word.to_owned())); // nobody listens once an exception is on its way
            };
            pool.install(|| work(&Watch { stop, tell: &tell }))
        });
        loop {
            let told = &mut told; // a receiver is for one thread at a time
            let heard = match py.detach(move || told.recv_timeout(LOOK)) {
                Ok((share, word)) => callback.map_or(Ok(false), |call| call.call1((share, word))?.is_truthy()),
                Err(RecvTimeoutError::Timeout) => Ok(false),
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
