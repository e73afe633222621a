//! Queries made of items: every label asks for its items, or every item for those that are like it.

use crate::data::strings::short;
use crate::data::{LabelSet, RankSet, Strings};
use crate::error::{Error, Result, Way};
use crate::matrix::{Csr, Features, Matrix};
use std::cmp::Ordering;
use std::collections::HashSet;

/// What asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ItemQueries {
    /// Every label (of a table a category): all items are its documents, with their own features.
    #[default]
    Labels,
    /// Every item: all others are its documents, and a feature is how far the two are apart in a column, `|x − y|`.
    Items,
}

/// Which items are taken, by their place in the set, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ItemRows {
    /// All.
    #[default]
    All,
    /// Every second one, from the first on.
    Even,
    /// Every second one, from the second on.
    Odd,
}

/// How ranking data are made of items with labels.
///
/// A category is a label of which every item has one. The grade of a document is 1 where it has the label of the query,
/// or shares a label with the item that asks, else 0; where that is not known the document is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retrieval {
    /// What asks.
    pub queries: ItemQueries,
    /// Which items are taken.
    pub rows: ItemRows,
    /// Take an item only while one of its labels is on fewer than this many items before it, among those taken.
    pub per_label: Option<usize>,
    /// Only this many labels, the commonest; of two that are as common, the one that comes first.
    pub commonest: Option<usize>,
    /// Only labels that are on at most this many items.
    pub at_most: Option<usize>,
    /// Count for `commonest` and `at_most` only the first items, this many.
    pub among_first: Option<usize>,
}

impl Retrieval {
    /// Makes the queries, each with at least one document of either grade; what has none of one is left out.
    ///
    /// A query is called by its label or by the id of its item, a document by the id of its item: the one of the file,
    /// else its number in `set`, from 1. Labels stand in the order of `set.labels`, items in their own.
    ///
    /// Cost and memory: queries × items × columns.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// use ordain::data::{Retrieval, LabelReading, read_labels};
    /// let path = dir.path().join("photos.csv");
    /// std::fs::write(&path, "blue,green,kind\n0.9,0.1,sea\n0.2,0.8,forest\n0.8,0.3,sea\n").unwrap();
    /// let reading = LabelReading { category: Some("kind".into()), ..LabelReading::default() };
    /// let set = Retrieval::default().make(&read_labels(&[vec![path]], &reading)?.0)?;
    /// assert_eq!((set.query(0), set.query(1)), ("sea", "forest"));
    /// assert_eq!(set.grades, [1.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
    /// # Ok::<(), ordain::Error>(())
    /// ```
    pub fn make(&self, set: &LabelSet) -> Result<RankSet> {
        let labels = self.labels(set)?;
        let items = self.items(set, &labels);
        let mut seen = HashSet::new();
        if let Some(&twice) = items.iter().find(|&&i| !seen.insert(set.item(i as usize))) {
            return Err(Error::Data {
                expected: "each id of an item once".into(),
                found: format!("{:?} twice", short(&set.item(twice as usize))),
            });
        }
        let mut made = Made::default();
        match self.queries {
            ItemQueries::Labels => {
                for label in (0..set.labels.len()).filter(|&label| labels[label]) {
                    let grade = |d: &u32| Some((*d, has(set, *d as usize, label as u32)?));
                    made.query(&set.labels[label], items.iter().filter_map(grade).collect());
                }
            }
            ItemQueries::Items => {
                for &q in &items {
                    let grade = |d: &u32| Some((*d, shares(set, q as usize, *d as usize, &labels)?));
                    let others = items.iter().filter(|&&d| d != q);
                    if made.query(&set.item(q as usize), others.filter_map(grade).collect()) {
                        made.asking.resize(made.documents.len(), q);
                    }
                }
            }
        }
        if made.queries.is_empty() {
            return Err(Error::Data {
                expected: match self.queries {
                    ItemQueries::Labels => "a label or a category that some of the items have and others have not",
                    ItemQueries::Items => "items of which some share a label or a category and others do not",
                }
                .into(),
                found: match items.len() {
                    0 => "no items: none is taken".into(),
                    n => format!("none among {n} item(s) with {} label(s)", labels.iter().filter(|&&on| on).count()),
                },
            });
        }
        if made.documents.len() > u32::MAX as usize {
            let found = made.documents.len().to_string();
            let expected = "at most 4294967295 documents (take fewer items, or fewer of each label)".into();
            return Err(Error::Data { expected, found });
        }
        let features = match self.queries {
            ItemQueries::Labels => set.features.select_rows(&made.documents),
            ItemQueries::Items => apart(&set.features, &made.asking, &made.documents),
        };
        let mut ids = Strings::default();
        made.documents.iter().for_each(|&i| ids.push(set.item(i as usize).as_bytes()));
        let bounds = std::iter::once(0).chain(made.ends).collect();
        let mut out = RankSet::new(features, set.columns.clone(), made.grades, bounds, made.queries)?;
        out.documents = Some(ids);
        Ok(out)
    }

    /// Which labels are taken.
    fn labels(&self, set: &LabelSet) -> Result<Vec<bool>> {
        if !set.labelled {
            let expected = "items with labels (a column named labels; for ARFF its XML)".into();
            let way = Way::new("labels", ["a,b,c"], "names columns of labels");
            return Err(Error::Data { expected, found: "items without".into() }.or(way));
        }
        let counted = self.among_first.unwrap_or(set.len()).min(set.len());
        let counts = set.label_counts(&set.all()[..counted]);
        let mut order: Vec<usize> =
            (0..counts.len()).filter(|&l| counts[l] <= self.at_most.unwrap_or(counted)).collect();
        order.sort_by_key(|&label| std::cmp::Reverse(counts[label])); // stable: the first of equals stays first
        let mut taken = vec![false; counts.len()];
        order.iter().take(self.commonest.unwrap_or(usize::MAX)).for_each(|&label| taken[label] = true);
        Ok(taken)
    }

    /// The items that are taken, ascending.
    fn items(&self, set: &LabelSet, labels: &[bool]) -> Vec<u32> {
        let mut counts = vec![0; labels.len()];
        let wanted = |&i: &u32| match self.rows {
            ItemRows::All => true,
            ItemRows::Even => i % 2 == 0,
            ItemRows::Odd => i % 2 == 1,
        };
        let mut room = |&i: &u32| {
            let Some(most) = self.per_label else { return true };
            let own = || set.yes(i as usize).iter().map(|&label| label as usize).filter(|&label| labels[label]);
            let taken = own().any(|label| counts[label] < most);
            own().filter(|_| taken).for_each(|label| counts[label] += 1);
            taken
        };
        (0..set.len() as u32).filter(wanted).filter(&mut room).collect()
    }
}

/// The rows so far.
#[derive(Default)]
struct Made {
    queries: Vec<String>,
    ends: Vec<usize>,
    grades: Vec<f64>,
    /// The item that is the document.
    documents: Vec<u32>,
    /// The item that asks, where items do.
    asking: Vec<u32>,
}

impl Made {
    /// Adds a query unless all its documents have the same grade; whether it was added.
    fn query(&mut self, name: &str, documents: Vec<(u32, bool)>) -> bool {
        if documents.iter().all(|d| d.1) || !documents.iter().any(|d| d.1) {
            return false;
        }
        self.queries.push(name.to_owned());
        self.documents.extend(documents.iter().map(|d| d.0));
        self.grades.extend(documents.iter().map(|d| f64::from(u8::from(d.1))));
        self.ends.push(self.documents.len());
        true
    }
}

/// Whether an item has a label; `None` where that is not known.
fn has(set: &LabelSet, item: usize, label: u32) -> Option<bool> {
    let within = |list: &[u32]| list.binary_search(&label).is_ok();
    if within(set.unknown(item)) { None } else { Some(within(set.yes(item))) }
}

/// Whether two items share one of some labels; `None` where that is not known.
fn shares(set: &LabelSet, a: usize, b: usize, labels: &[bool]) -> Option<bool> {
    let both = |x: &[u32], y: &[u32]| x.iter().any(|l| labels[*l as usize] && y.binary_search(l).is_ok());
    if both(set.yes(a), set.yes(b)) {
        return Some(true);
    }
    let (a, b) = ((set.yes(a), set.unknown(a)), (set.yes(b), set.unknown(b)));
    let maybe = both(a.0, b.1) || both(a.1, b.0) || both(a.1, b.1);
    (!maybe).then_some(false)
}

/// `|x − y|` of the rows `a[k]` and `b[k]`, column by column.
fn apart(features: &Features, a: &[u32], b: &[u32]) -> Features {
    let pairs = || a.iter().zip(b).map(|(&i, &j)| (i as usize, j as usize));
    match features {
        Features::Dense(m) => {
            let mut values = Vec::with_capacity(a.len() * m.cols());
            pairs().for_each(|(i, j)| values.extend(m.row(i).iter().zip(m.row(j)).map(|(x, y)| (x - y).abs())));
            Features::Dense(Matrix::new(values, m.cols()))
        }
        Features::Sparse(m) => {
            let (mut ends, mut columns, mut values) = (vec![], vec![], vec![]);
            for (i, j) in pairs() {
                let ((at_x, x), (at_y, y)) = (m.row(i), m.row(j));
                let (mut p, mut q) = (0, 0);
                while p < x.len() || q < y.len() {
                    let order = match (at_x.get(p), at_y.get(q)) {
                        (Some(left), Some(right)) => left.cmp(right),
                        (Some(_), None) => Ordering::Less,
                        _ => Ordering::Greater,
                    };
                    let (from_x, from_y) = (order != Ordering::Greater, order != Ordering::Less);
                    let value = if from_x { x[p] } else { 0.0 } - if from_y { y[q] } else { 0.0 };
                    if value != 0.0 {
                        columns.push(if from_x { at_x[p] } else { at_y[q] });
                        values.push(value.abs());
                    }
                    p += usize::from(from_x);
                    q += usize::from(from_y);
                }
                ends.push(values.len());
            }
            Features::Sparse(Csr::new(ends, columns, values, features.cols()))
        }
    }
}
