//! Cells of a table that are no numbers yet: texts, categories, dates, vectors.
//!
//! A set keeps such a cell as a number in its features: the place of the cell in a list that the whole set shares. So
//! whatever is done to rows of features is done to cells too. [`crate::features`] makes columns of numbers of them.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

/// What the cells of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Kind {
    /// Text, by its words.
    Text,
    /// A number, as columns are without being told.
    Number,
    /// One of a few values.
    Category,
    /// A date.
    Date,
    /// Numbers between blanks or commas, as many in every row.
    Vector,
}

impl Kind {
    /// All of them.
    pub const ALL: &'static [Self] = &[Self::Text, Self::Number, Self::Category, Self::Date, Self::Vector];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Number => "number",
            Self::Category => "category",
            Self::Date => "date",
            Self::Vector => "vector",
        }
    }
}

/// A column and what its cells are, with settings: `title:text`, `title:text[words=2]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// The column.
    pub column: String,
    /// What its cells are.
    pub kind: Kind,
    /// Settings of the step that makes numbers of them, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<(String, usize)>,
}

impl FromStr for Input {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || Error::Setting {
            name: "input".into(),
            expected: "COLUMN:text, number, category, date or vector, such as title:text or title:text[words=2]".into(),
            found: text.into(),
        };
        let (rest, settings) = match text.strip_suffix(']').and_then(|text| text.rsplit_once('[')) {
            Some((rest, settings)) => (rest, settings),
            None => (text, ""),
        };
        let (column, kind) = rest.rsplit_once(':').filter(|(column, _)| !column.is_empty()).ok_or_else(wrong)?;
        let names = Kind::ALL.iter().map(|kind| kind.name());
        let known = Kind::ALL.iter().copied().find(|known| known.name() == kind);
        let kind = known.ok_or_else(|| Error::unknown("kind of input", kind, names))?;
        let setting = |text: &str| {
            let (name, value) = text.split_once('=').ok_or_else(wrong)?;
            Ok((name.trim().to_owned(), value.trim().parse().map_err(|_| wrong())?))
        };
        let settings = settings.split(',').filter(|text| !text.is_empty()).map(setting).collect::<Result<_>>()?;
        Ok(Self { column: column.to_owned(), kind, settings })
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}:{}", self.column, self.kind.name())?;
        let settings: Vec<String> = self.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if settings.is_empty() { Ok(()) } else { write!(f, "[{}]", settings.join(",")) }
    }
}

/// The most cells of a set: a float32 holds no more places.
const MOST: usize = 1 << 24;

/// Cells by their places; the first is empty. All copies share them.
#[derive(Clone, Debug)]
pub struct Texts(Arc<RwLock<Vec<Box<str>>>>);

impl Default for Texts {
    fn default() -> Self {
        Self(Arc::new(RwLock::new(vec!["".into()])))
    }
}

/// They are only a place where cells are kept.
impl PartialEq for Texts {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Texts {}

impl Texts {
    /// Keeps a cell; its place.
    pub fn push(&self, cell: &str) -> Result<f32> {
        if cell.is_empty() {
            return Ok(0.0);
        }
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if all.len() == MOST {
            return Err(Error::Data {
                expected: format!("at most {MOST} cells of texts, categories, dates and vectors"),
                found: "more".into(),
            });
        }
        all.push(cell.into());
        Ok((all.len() - 1) as f32)
    }

    /// All cells, to be read.
    pub fn read(&self) -> RwLockReadGuard<'_, Vec<Box<str>>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which columns of a set are places of cells, and the cells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cells {
    /// The columns.
    pub inputs: Vec<Input>,
    /// The cells.
    pub texts: Texts,
}

impl Cells {
    /// A digest of the cells, to stand beside that of their places.
    pub(in crate::data) fn digest(&self, of: &str) -> String {
        let mut hash = blake3::Hasher::new();
        hash.update(of.as_bytes());
        for input in &self.inputs {
            hash.update(input.to_string().as_bytes()).update(&[0]);
        }
        for cell in self.texts.read().iter() {
            hash.update(&(cell.len() as u64).to_le_bytes()).update(cell.as_bytes());
        }
        hash.finalize().to_hex().to_string()
    }
}
