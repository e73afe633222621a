//! Items with labels.

use crate::data::{Aligned, Columns, Filled, Missing, Strings, columns};
use crate::error::{Error, Result};
use crate::matrix::Features;
use crate::pieces::Pieces;
use std::borrow::Cow;
use std::collections::HashMap;

/// Items, each a row of features with the labels that apply; a label may also be unknown of an item.
///
/// ```
/// use ordain::{data::{Columns, LabelSet}, matrix::{Features, Matrix}};
/// let features = Features::Dense(Matrix::new(vec![0.5, 1.0, 2.0], 1));
/// let columns = Columns::named(vec!["size".into()]);
/// let labels = vec!["sea".into(), "sky".into()];
/// let set = LabelSet::new(features, columns, labels, vec![vec![0, 1], vec![], vec![1]])?;
/// assert_eq!((set.len(), set.yes(2)), (3, &[1][..]));
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LabelSet {
    /// One row per item.
    pub features: Features,
    /// The names of the columns.
    pub columns: Columns,
    /// The vocabulary.
    pub labels: Vec<String>,
    /// Whether the file said which labels apply.
    pub labelled: bool,
    yes: Lists,
    unknown: Lists,
    items: Option<Strings>,
}

/// Lists of numbers in one block.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::data) struct Lists {
    values: Vec<u32>,
    ends: Vec<usize>,
}

impl Lists {
    fn of(lists: impl IntoIterator<Item = Vec<u32>>) -> Self {
        let mut all = Self::default();
        for mut list in lists {
            list.sort_unstable();
            list.dedup();
            all.values.extend(list);
            all.ends.push(all.values.len());
        }
        all
    }

    /// Adds a list, ascending and each value once.
    pub(in crate::data) fn push(&mut self, list: &[u32]) {
        let start = self.values.len();
        self.values.extend_from_slice(list);
        let new = &mut self.values[start..];
        if !new.windows(2).all(|pair| pair[0] < pair[1]) {
            new.sort_unstable();
            let mut kept = usize::from(!new.is_empty());
            for k in 1..new.len() {
                if new[k] != new[kept - 1] {
                    new[kept] = new[k];
                    kept += 1;
                }
            }
            self.values.truncate(start + kept);
        }
        self.ends.push(self.values.len());
    }

    /// Adds the lists `0..n` of another, their values put through a table.
    pub(in crate::data) fn append(&mut self, other: &Self, n: usize, place: &[u32]) {
        let mut list = vec![];
        for i in 0..n {
            list.clear();
            list.extend(other.get(i).iter().map(|&label| place[label as usize]));
            self.push(&list);
        }
    }

    /// All values, list after list.
    pub(in crate::data) fn values(&self) -> &[u32] {
        &self.values
    }

    /// Puts every value through a table.
    pub(in crate::data) fn renumber(&mut self, place: impl Fn(u32) -> u32) {
        self.values.iter_mut().for_each(|value| *value = place(*value));
    }

    fn get(&self, i: usize) -> &[u32] {
        match self.ends.get(i) {
            Some(&end) => &self.values[if i == 0 { 0 } else { self.ends[i - 1] }..end],
            None => &[], // a set without unknown labels keeps no list of them
        }
    }
}

impl LabelSet {
    /// A set from its parts; `yes[i]` are the labels of item `i`, and every other label does not apply to it.
    pub fn new(features: Features, columns: Columns, labels: Vec<String>, yes: Vec<Vec<u32>>) -> Result<Self> {
        let largest = yes.iter().flatten().max().map_or(0, |&label| label as usize + 1);
        if yes.len() != features.rows() || columns.names.len() != features.cols() || largest > labels.len() {
            return Err(Error::Data {
                expected: "features, names and label lists that fit together".into(),
                found: format!(
                    "{} rows of {} columns, {} names, {} label lists with labels up to {largest} of {}",
                    features.rows(),
                    features.cols(),
                    columns.names.len(),
                    yes.len(),
                    labels.len()
                ),
            });
        }
        let (yes, unknown) = (Lists::of(yes), Lists::default());
        Ok(Self { features, columns, labels, labelled: true, yes, unknown, items: None })
    }

    /// A set from lists that are known to fit.
    pub(in crate::data) fn of_lists(
        (features, columns): (Features, Columns),
        labels: Vec<String>,
        labelled: bool,
        (yes, unknown): (Lists, Lists),
        items: Strings,
    ) -> Self {
        let unknown = if unknown.values.is_empty() { Lists::default() } else { unknown };
        let items = Some(items).filter(|items| !items.is_empty());
        Self { features, columns, labels, labelled, yes, unknown, items }
    }

    /// The same, where it is not known of item `i` whether the labels `unknown[i]` apply.
    pub fn with_unknown(mut self, unknown: Vec<Vec<u32>>) -> Result<Self> {
        let lists = Lists::of(unknown);
        let right = lists.ends.len() == self.len()
            && lists.values.iter().all(|&label| (label as usize) < self.labels.len())
            && (0..self.len()).all(|i| lists.get(i).iter().all(|label| self.yes(i).binary_search(label).is_err()));
        if !right {
            return Err(Error::Data {
                expected: "one list of unknown labels per item, none of which applies to it".into(),
                found: "other lists".into(),
            });
        }
        self.unknown = if lists.values.is_empty() { Lists::default() } else { lists };
        Ok(self)
    }

    /// The same items with other labels: those that apply to each, and those of which it is not known.
    pub fn with_labels(&self, yes: Vec<Vec<u32>>, unknown: Vec<Vec<u32>>) -> Result<Self> {
        let mut set = Self::new(self.features.clone(), self.columns.clone(), self.labels.clone(), yes)?;
        set.items = self.items.clone();
        set.with_unknown(unknown)
    }

    /// The same with an id for each item.
    pub fn with_items(mut self, items: Strings) -> Self {
        self.items = Some(items).filter(|items| items.len() == self.len());
        self
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.features.rows()
    }

    /// Whether there is no item.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The labels of item `i`, ascending.
    pub fn yes(&self, i: usize) -> &[u32] {
        self.yes.get(i)
    }

    /// The labels of which it is not known whether they apply to item `i`, ascending.
    pub fn unknown(&self, i: usize) -> &[u32] {
        self.unknown.get(i)
    }

    /// Whether item `i` tells good sets of labels from bad ones: it has a label, and one that it is known not to have.
    pub fn tells(&self, i: usize) -> bool {
        let k = self.yes(i).len();
        k >= 1 && k + self.unknown(i).len() < self.labels.len()
    }

    /// Whether any label is unknown of any item.
    pub fn has_unknown(&self) -> bool {
        !self.unknown.values.is_empty()
    }

    /// Whether the file named its items.
    pub fn has_items(&self) -> bool {
        self.items.is_some()
    }

    /// The id of item `i`: the one of the file, else its number, from 1.
    pub fn item(&self, i: usize) -> Cow<'_, str> {
        match self.items.as_ref().map(|items| items.get(i)) {
            Some(id) if !id.is_empty() => String::from_utf8_lossy(id),
            _ => Cow::Owned((i + 1).to_string()),
        }
    }

    /// The item with this id.
    pub fn find_item(&self, wanted: &str) -> Result<usize> {
        let found = (0..self.len()).find(|&i| self.item(i) == wanted);
        found.ok_or_else(|| Error::unknown("item", wanted, (0..self.len()).map(|i| self.item(i).into_owned())))
    }

    /// The label of this name.
    pub fn find_label(&self, wanted: &str) -> Result<usize> {
        let found = self.labels.iter().position(|label| label == wanted);
        found.ok_or_else(|| Error::unknown("label", wanted, &self.labels))
    }

    /// The row of an item, as a range.
    pub fn span(&self, item: usize) -> std::ops::Range<usize> {
        item..item + 1
    }

    /// All items, as the list that a fit or an evaluation takes.
    pub fn all(&self) -> Vec<u32> {
        (0..self.len() as u32).collect()
    }

    /// A set of some of the items alone.
    pub fn only(&self, units: &[u32]) -> Self {
        let lists = |of: &Lists| Lists::of(units.iter().map(|&i| of.get(i as usize).to_vec()));
        Self {
            features: self.features.select_rows(units),
            columns: self.columns.clone(),
            labels: self.labels.clone(),
            labelled: self.labelled,
            yes: lists(&self.yes),
            unknown: if self.has_unknown() { lists(&self.unknown) } else { Lists::default() },
            items: self.items.as_ref().map(|items| items.permuted(units)),
        }
    }

    /// On how many of some items each label is.
    pub fn label_counts(&self, units: &[u32]) -> Vec<usize> {
        let mut counts = vec![0; self.labels.len()];
        units.iter().flat_map(|&i| self.yes(i as usize)).for_each(|&label| counts[label as usize] += 1);
        counts
    }

    /// The labels that are on none of some items.
    ///
    /// ```
    /// # use ordain::{data::{Columns, LabelSet}, matrix::{Features, Matrix}};
    /// # let features = Features::Dense(Matrix::new(vec![0.5, 1.0, 2.0], 1));
    /// # let columns = Columns::named(vec!["size".into()]);
    /// let labels = vec!["sea".into(), "sky".into()];
    /// let set = LabelSet::new(features, columns, labels, vec![vec![0, 1], vec![], vec![1]])?;
    /// assert_eq!((set.silent_labels(&[1, 2]), set.bare_items(&[0, 1, 2])), (vec![0], 1));
    /// # Ok::<(), ordain::Error>(())
    /// ```
    pub fn silent_labels(&self, units: &[u32]) -> Vec<u32> {
        (0u32..).zip(self.label_counts(units)).filter(|&(_, count)| count == 0).map(|(label, _)| label).collect()
    }

    /// How many of some items are known to have no label.
    pub fn bare_items(&self, units: &[u32]) -> usize {
        units.iter().filter(|&&i| self.yes(i as usize).is_empty() && self.unknown(i as usize).is_empty()).count()
    }

    /// Of how many of some items nothing is known: every label is unknown.
    pub fn blank_items(&self, units: &[u32]) -> usize {
        let n = self.labels.len();
        units.iter().filter(|&&i| n > 0 && self.unknown(i as usize).len() == n).count()
    }

    /// Refuses a set without labels.
    pub fn need_truth(&self) -> Result<()> {
        if self.labelled {
            return Ok(());
        }
        let shown = self.labels.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = self.labels.len().saturating_sub(5);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        Err(Error::Data {
            expected:
                "labels of the items (a column named labels, or columns that are named as labels; for ARFF its XML)"
                    .into(),
            found: match self.labels.len() {
                0 => "none".into(),
                n => format!("no column or attribute of the {n} labels {shown}{more}"),
            },
        })
    }

    /// Puts the columns into the order of a model's, by name; see [`crate::data::RankSet::align`].
    pub fn align(&mut self, to: &Columns) -> Result<Aligned> {
        columns::align(&mut self.features, &mut self.columns, to)
    }

    /// Puts the labels into the order of a model's, by name; returns labels that the model does not know, which are
    /// left out. A label of the model that the data do not name is on no item.
    pub fn align_labels(&mut self, to: &[String]) -> Vec<String> {
        if self.labels == to {
            return vec![];
        }
        let there: HashMap<&str, u32> = to.iter().zip(0u32..).map(|(name, label)| (name.as_str(), label)).collect();
        let place: Vec<Option<u32>> = self.labels.iter().map(|name| there.get(name.as_str()).copied()).collect();
        let lists = |of: &Lists, n: usize| {
            Lists::of((0..n).map(|i| of.get(i).iter().filter_map(|&label| place[label as usize]).collect()))
        };
        self.yes = lists(&self.yes, self.len());
        if self.has_unknown() {
            self.unknown = lists(&self.unknown, self.len());
        }
        let strange =
            self.labels.iter().zip(&place).filter(|(_, p)| p.is_none()).map(|(name, _)| name.clone()).collect();
        self.labels = to.to_vec();
        strange
    }

    /// Fills gaps of the features as `missing` says; the means of `units`, where they were what was filled in.
    pub fn fill(&mut self, missing: Missing, units: &[u32]) -> Filled {
        let pieces = self.pieces();
        columns::fill_as(
            (&mut self.features, &mut self.columns),
            missing,
            &pieces,
            units.iter().map(|&i| i as usize..i as usize + 1),
        )
    }

    /// Puts `means[j]` where a value of column `j` is missing, or 0 without means.
    pub fn fill_missing(&mut self, means: Option<&[f32]>) {
        columns::fill(&mut self.features, means);
    }

    /// How the items are cut for sums over all of them.
    pub fn pieces(&self) -> Pieces {
        Pieces::of_items(self.len(), self.features.cols())
    }

    /// A digest of the items themselves: ids and features, whichever labels they have.
    pub fn items_digest(&self) -> String {
        let mut hash = blake3::Hasher::new();
        let mut bytes: Vec<u8> = (self.len() as u64).to_le_bytes().to_vec();
        let mut add = |name: &str| {
            bytes.extend_from_slice(&(name.len() as u64).to_le_bytes());
            bytes.extend_from_slice(name.as_bytes());
        };
        self.columns.names.iter().for_each(|name| add(name));
        (0..self.len()).for_each(|i| add(&self.item(i)));
        hash.update(&bytes);
        columns::hash(&self.features, 0..self.features.rows(), &mut hash);
        hash.finalize().to_hex().to_string()
    }

    /// A digest of the vocabulary, in its order.
    pub fn labels_digest(&self) -> String {
        let mut hash = blake3::Hasher::new();
        for name in &self.labels {
            hash.update(&(name.len() as u64).to_le_bytes());
            hash.update(name.as_bytes());
        }
        hash.finalize().to_hex().to_string()
    }

    /// A digest of all that a fit depends on: labels and features.
    pub fn digest(&self) -> String {
        let pieces = self.pieces();
        let mut head: Vec<u8> = vec![];
        for n in [self.len(), self.columns.names.len(), self.labels.len()] {
            head.extend_from_slice(&(n as u64).to_le_bytes());
        }
        self.columns.names.iter().chain(&self.labels).for_each(|name| columns::write_name(name, &mut head));
        let own = columns::piece_digests(0..pieces.len(), |p, hash| {
            let mut bytes: Vec<u8> = vec![];
            for labels in pieces.units(p).flat_map(|i| [self.yes(i), self.unknown(i)]) {
                bytes.extend_from_slice(&(labels.len() as u32).to_le_bytes());
                bytes.extend(labels.iter().flat_map(|label| label.to_le_bytes()));
            }
            hash.update(&bytes);
            columns::hash(&self.features, pieces.rows(p), hash);
        });
        columns::digest(&head, &own)
    }
}
