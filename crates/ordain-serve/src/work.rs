//! Where models work: as many requests at a time as there are processors, and a short queue.

use crate::metrics::Metrics;
use crate::problem::{Problem, Result};
use axum::http::StatusCode;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{Semaphore, oneshot};

/// Places to work at.
pub(crate) struct Work {
    places: Arc<Semaphore>,
    waiting: AtomicUsize,
    most: usize,
}

impl Work {
    /// As many places as threads, and a queue of so many.
    pub(crate) fn new(most: usize) -> Self {
        let places = Arc::new(Semaphore::new(rayon::current_num_threads()));
        Self { places, waiting: AtomicUsize::new(0), most }
    }

    /// Does work on the threads of the library, when there is a place.
    pub(crate) async fn run<R: Send + 'static>(
        &self,
        metrics: &Metrics,
        job: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R> {
        let _waits = Waits::new(&self.waiting, self.most).ok_or_else(|| {
            metrics.queue_full();
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too many requests wait already: try again in a second")
        })?;
        let closed = || Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the work ended without an answer");
        let place = self.places.clone().acquire_owned().await.map_err(|_| closed())?;
        let (tell, told) = oneshot::channel();
        rayon::spawn(move || {
            // a panic is a fault of this one request
            if let Ok(done) = catch_unwind(AssertUnwindSafe(job)) {
                drop(place);
                drop(tell.send(done));
            }
        });
        told.await.map_err(|_| closed())
    }
}

/// A place in the queue, which ends with the request.
struct Waits<'a>(&'a AtomicUsize);

impl<'a> Waits<'a> {
    fn new(count: &'a AtomicUsize, most: usize) -> Option<Self> {
        let before = count.fetch_add(1, Ordering::SeqCst);
        let place = Self(count);
        // those that work stand in the count too
        (before < most + rayon::current_num_threads()).then_some(place)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
