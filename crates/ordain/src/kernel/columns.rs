//! Columns of a kernel matrix, made when they are asked for, the latest kept.

use super::{Kernel, Packed};
use std::sync::Arc;

/// The kernel of some documents with each other, column by column: the matrix itself is never written out. Of what was asked the latest are kept,
/// up to a number of bytes; what does not fit is made anew when it is asked again.
///
/// ```
/// use ordain::kernel::{Columns, Form, Kernel};
/// let docs = [0.0, 1.0, 3.0];
/// let mut columns = Columns::new(Kernel { form: Form::Rbf, gamma: 1.0 }, &docs, 1, 1 << 20);
/// assert!((columns.get(0)[1] - (-1.0f32).exp()).abs() < 1e-6);
/// ```
pub struct Columns<'a> {
    kernel: Kernel,
    docs: &'a [f32],
    packed: Packed,
    d: usize,
    most: usize,
    /// Of each document its column, with when it was asked for last.
    kept: Vec<Option<(u64, Arc<[f32]>)>>,
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
        let packed = Packed::new(&kernel, docs, d);
        Self { kernel, docs, packed, d, most, kept: vec![None; n], count: 0, clock: 0, made: 0 }
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

    /// How many columns were made so far.
    pub fn made(&self) -> u64 {
        self.made
    }

    fn doc(&self, i: usize) -> &'a [f32] {
        &self.docs[i * self.d..(i + 1) * self.d]
    }

    /// `k(·, i)` for all documents. O(n d) where it is not kept.
    pub fn get(&mut self, i: usize) -> Arc<[f32]> {
        self.clock += 1;
        if let Some((used, column)) = &mut self.kept[i] {
            *used = self.clock;
            return column.clone();
        }
        if self.count >= self.most {
            // half of them at once, so that looking for the oldest costs nothing in the mean
            let mut ages: Vec<u64> = self.kept.iter().flatten().map(|(used, _)| *used).collect();
            ages.sort_unstable();
            let old = ages[ages.len() / 2];
            self.kept.iter_mut().for_each(|kept| *kept = kept.take().filter(|(used, _)| *used > old));
            self.count = self.kept.iter().flatten().count();
        }
        let mut column = vec![0.0; self.len()];
        self.kernel.column(&self.packed, i, &mut column);
        self.made += 1;
        let column: Arc<[f32]> = column.into();
        self.kept[i] = Some((self.clock, column.clone()));
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
        let (mut few, mut all) = (Columns::new(kernel, &docs, 3, 8 * 160), Columns::new(kernel, &docs, 3, 1 << 20));
        for _ in 0..400 {
            let i = random.below(40);
            assert_eq!(few.get(i), all.get(i));
            assert!(few.count <= 8 && few.count == few.kept.iter().flatten().count());
        }
        assert!(all.made() == 40 && few.made() > 100 && (few.own(3) - 1.0).abs() < 1e-12);
    }
}
