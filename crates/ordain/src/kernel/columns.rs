//! Columns of a kernel matrix, made when they are asked for, the latest kept.

use super::{Kernel, Packed};
use std::sync::{Arc, Mutex, PoisonError};

/// The kernel of some documents with each other, column by column: the matrix itself is never written out. Of what was asked the latest are kept,
/// up to a number of bytes; what does not fit is made anew when it is asked again. A clone shares what is kept: blocks of the same documents make
/// each column once.
///
/// ```
/// use ordain::kernel::{Columns, Form, Kernel};
/// let docs = [0.0, 1.0, 3.0];
/// let columns = Columns::new(Kernel { form: Form::Rbf, gamma: 1.0 }, &docs, 1, 1 << 20);
/// assert!((columns.get(0)[1] - (-1.0f32).exp()).abs() < 1e-6);
/// columns.clone().get(0);
/// assert_eq!(columns.made(), 1);
/// ```
#[derive(Clone)]
pub struct Columns<'a> {
    kernel: Kernel,
    docs: &'a [f32],
    packed: Arc<Packed>,
    d: usize,
    kept: Arc<Mutex<Kept>>,
}

/// The columns that are kept.
struct Kept {
    most: usize,
    /// Of each document its column, with when it was asked for last.
    columns: Vec<Option<(u64, Arc<[f32]>)>>,
    /// How many there are.
    count: usize,
    clock: u64,
    made: u64,
}

impl<'a> Columns<'a> {
    /// Columns for documents of `d` values each, of which at most so many bytes are kept, and never fewer than four columns.
    /// The documents are packed for it once, O(n d).
    pub fn new(kernel: Kernel, docs: &'a [f32], d: usize, bytes: usize) -> Self {
        let n = docs.len() / d.max(1);
        let most = (bytes / (4 * n).max(1)).max(4);
        let kept = Kept { most, columns: vec![None; n], count: 0, clock: 0, made: 0 };
        Self { kernel, docs, packed: Arc::new(Packed::new(&kernel, docs, d)), d, kept: Arc::new(Mutex::new(kept)) }
    }

    /// Number of documents.
    pub fn len(&self) -> usize {
        self.docs.len() / self.d.max(1)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The kernel of document `i` with itself.
    pub fn own(&self, i: usize) -> f64 {
        self.kernel.own(self.doc(i))
    }

    /// The kernel.
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// How many columns were made so far, by all that share them.
    pub fn made(&self) -> u64 {
        self.kept().made
    }

    /// Nothing in it can be left half done.
    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn doc(&self, i: usize) -> &'a [f32] {
        &self.docs[i * self.d..(i + 1) * self.d]
    }

    /// `k(·, i)` for all documents. O(n d) where it is not kept.
    pub fn get(&self, i: usize) -> Arc<[f32]> {
        let mut kept = self.kept();
        if let Some(column) = kept.find(i) {
            return column;
        }
        let mut column = vec![0.0; self.len()];
        self.kernel.column(&self.packed, i, &mut column);
        kept.keep(i, column.into())
    }
}

impl Kept {
    /// A column that is kept.
    fn find(&mut self, i: usize) -> Option<Arc<[f32]>> {
        self.clock += 1;
        let (used, column) = self.columns[i].as_mut()?;
        *used = self.clock;
        Some(column.clone())
    }

    /// Keeps a column, and drops the older half of the others where there is no room.
    fn keep(&mut self, i: usize, column: Arc<[f32]>) -> Arc<[f32]> {
        if self.count >= self.most {
            // half of them at once, so that looking for the oldest costs nothing in the mean
            let mut ages: Vec<u64> = self.columns.iter().flatten().map(|(used, _)| *used).collect();
            ages.sort_unstable();
            let old = ages[ages.len() / 2];
            self.columns.iter_mut().for_each(|kept| *kept = kept.take().filter(|(used, _)| *used > old));
            self.count = self.columns.iter().flatten().count();
        }
        self.made += 1;
        self.columns[i] = Some((self.clock, column.clone()));
        self.count += 1;
        column
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Form;
    use crate::random::Random;

    #[test]
    fn what_is_dropped_comes_back_the_same() {
        let mut random = Random::new(1);
        let docs: Vec<f32> = (0..40 * 3).map(|_| random.normal() as f32).collect();
        let kernel = Kernel { form: Form::Rbf, gamma: 0.4 };
        let (few, all) = (Columns::new(kernel, &docs, 3, 8 * 160), Columns::new(kernel, &docs, 3, 1 << 20));
        for _ in 0..400 {
            let i = random.below(40);
            assert_eq!(few.get(i), all.get(i));
            let kept = few.kept();
            assert!(kept.count <= 8 && kept.count == kept.columns.iter().flatten().count());
        }
        assert!(all.made() == 40 && few.made() > 100 && (few.own(3) - 1.0).abs() < 1e-12);
    }
}
