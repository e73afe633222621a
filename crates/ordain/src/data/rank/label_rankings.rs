//! Label rankings as queries: every item asks, and its documents are the labels.

use crate::data::{Columns, RankSet};
use crate::error::{Error, Result};
use crate::matrix::{Csr, Features};

impl RankSet {
    /// Label rankings: every item has an order of some labels, or grades of them. Each item becomes a query, and its documents are the labels of
    /// which something is known.
    ///
    /// `grades` has a row per item and a number per label: a larger one stands before a smaller one, and NaN is not known. An item of which less
    /// than one label is known has no documents. A document has the features of its item, in the columns of its own label (`LABEL COLUMN`), so that
    /// weights on them are a function of the item for each label: `s_label = w_label · x`. Queries are called by `items`, documents by their labels.
    ///
    /// O(values · labels) of time and memory; columns of other labels cost nothing.
    ///
    /// ```
    /// use ordain::{data::{Columns, RankSet}, matrix::{Features, Matrix}};
    /// let people = Features::Dense(Matrix::new(vec![25.0, 61.0], 1));
    /// let labels = ["jazz", "pop", "rock"].map(String::from);
    /// let (items, nan) = (["ann", "bob"].map(String::from), f64::NAN);
    /// // ann: rock before pop before jazz; bob: jazz before rock, of pop nothing is known
    /// let grades = [1.0, 2.0, 3.0, 2.0, nan, 1.0];
    /// let set = RankSet::of_label_rankings(&people, &Columns::named(vec!["age".into()]), &items, &labels, &grades)?;
    /// assert_eq!((set.len(), set.span(1), set.document(4)), (2, 3..5, "rock".into()));
    /// assert_eq!((set.columns.names[2].as_str(), set.features.value(4, 2)), ("rock age", 61.0));
    /// # Ok::<(), ordain::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Data`] for numbers of names, columns or grades that do not fit together, a label that comes twice, and a grade that is infinite.
    pub fn of_label_rankings(
        features: &Features,
        columns: &Columns,
        items: &[String],
        labels: &[String],
        grades: &[f64],
    ) -> Result<Self> {
        let (d, n) = (features.cols(), labels.len());
        let wrong = |expected: String, found: String| Err(Error::Data { expected, found });
        if features.rows() != items.len() || columns.names.len() != d {
            let found = format!("{} rows of {d} columns with {} names", features.rows(), columns.names.len());
            return wrong(format!("a row for each of {} items, a name for each column", items.len()), found);
        }
        if grades.len() != items.len() * n {
            return wrong(format!("{} x {n} grades, a row per item", items.len()), format!("{} grades", grades.len()));
        }
        if u32::try_from(n * d).is_err() {
            return wrong("at most 4294967295 columns".into(), format!("{n} labels times {d} columns"));
        }
        if let Some(label) = (1..n).find(|&label| labels[..label].contains(&labels[label])) {
            return wrong("each label once".into(), format!("{:?} twice", labels[label]));
        }
        if let Some(at) = grades.iter().position(|grade| grade.is_infinite()) {
            let (item, label) = (&items[at / n], &labels[at % n]);
            return wrong(
                "finite grades, or NaN where nothing is known".into(),
                format!("{} of {label:?} for {item:?}", grades[at]),
            );
        }
        let (mut ends, mut at, mut values, mut bounds) = (vec![], vec![], vec![], vec![0]);
        let (mut known, mut names) = (vec![], vec![]);
        for (item, grades) in grades.chunks_exact(n.max(1)).enumerate() {
            for (label, grade) in grades.iter().enumerate().filter(|(_, grade)| !grade.is_nan()) {
                features.each(item, |j, x| {
                    at.push((label * d + j) as u32);
                    values.push(x);
                });
                ends.push(values.len());
                known.push(*grade);
                names.push(&labels[label]);
            }
            bounds.push(ends.len());
        }
        bounds.resize(items.len() + 1, ends.len());
        let named = labels.iter().flat_map(|label| columns.names.iter().map(move |column| format!("{label} {column}")));
        let (crossed, named) = (Csr::new(ends, at, values, n * d), Columns::named(named.collect()));
        Self::new(Features::Sparse(crossed), named, known, bounds, items.to_vec())?.with_documents(&names)
    }
}
