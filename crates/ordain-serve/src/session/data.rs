//! The data of a session, as they were read and as the model that is served reads them.

use super::writer::{Asks, Writer};
use crate::Labelled;
use crate::metrics::Metrics;
use crate::models::{Kept, Loaded};
use ordain::task::{Fitted, Model as _, Ready};
use std::sync::{Arc, PoisonError, RwLock};

/// A model and the data as it reads them.
pub(super) struct Scored<T: Kept> {
    pub(super) loaded: Arc<Loaded>,
    pub(super) on: Ready<'static, T>,
}

impl<T: Kept> Scored<T> {
    fn new(loaded: &Arc<Loaded>, set: T::Set) -> ordain::Result<Self> {
        let on = loaded.known::<T>()?.model.prepare_owned(set)?;
        Ok(Self { loaded: loaded.clone(), on })
    }

    pub(super) fn fitted(&self) -> ordain::Result<&Fitted<T>> {
        self.loaded.known()
    }
}

/// The data of a session.
pub(super) struct Data<T: Kept> {
    /// As they were read, for the next model.
    given: T::Set,
    /// The same, and behind them data with a known truth, which teach too.
    taught: Option<T::Set>,
    /// As answers are about them.
    pub(super) set: Arc<T::Set>,
    scored: RwLock<Arc<Scored<T>>>,
}

impl<T: Kept<Set: Asks>> Data<T> {
    /// Reads the data, and opens the answers; the last value says whether half a line was left out of these.
    pub(super) fn open(
        given: &Labelled,
        loaded: &Arc<Loaded>,
        reading: &T::Reading,
        metrics: &Arc<Metrics>,
    ) -> ordain::Result<(Self, Writer, bool)> {
        let (read, _) = T::read(&[vec![given.items.clone()]], reading)?;
        let scored = Scored::<T>::new(loaded, read.clone())?;
        // units of a part are a range: those of the items come first
        let parts = given.teach.as_ref().map(|path| [vec![given.items.clone()], vec![path.clone()]]);
        let taught = parts.map(|parts| T::read(&parts, reading)).transpose()?.map(|(set, _)| set);
        let set = Arc::new(scored.on.set().clone());
        let (writer, half) = Writer::start(set.clone(), given.answers.clone(), metrics.clone())?;
        Ok((Self { given: read, taught, set, scored: RwLock::new(Arc::new(scored)) }, writer, half))
    }
}

impl<T: Kept> Data<T> {
    /// The model that is served now.
    pub(super) fn scored(&self) -> Arc<Scored<T>> {
        self.scored.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What a fit learns from, before the answers.
    pub(super) fn teaches(&self) -> &T::Set {
        self.taught.as_ref().unwrap_or(&self.given)
    }

    /// `NAME@VERSION` of that model.
    pub(super) fn version(&self) -> String {
        self.scored().loaded.full()
    }

    /// Takes over another model of the same columns.
    pub(super) fn take_over(&self, loaded: &Arc<Loaded>) -> ordain::Result<()> {
        let new = Arc::new(Scored::new(loaded, self.given.clone())?);
        *self.scored.write().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(())
    }
}
