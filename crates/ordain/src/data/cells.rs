//! Cells of a table that are no numbers yet: texts, categories, dates, vectors, pictures.
//!
//! A set keeps such a cell as a number in its features: the place of the cell in a list that the whole set shares. So
//! whatever is done to rows of features is done to cells too. [`crate::features`] makes columns of numbers of them.

use super::npy::Array;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

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
    /// Two columns of vectors: how like they are.
    Vectors,
    /// The path of a picture, from the folder of the table.
    Image,
}

impl Kind {
    /// All of them.
    pub const ALL: &'static [Self] =
        &[Self::Text, Self::Number, Self::Category, Self::Date, Self::Vector, Self::Vectors, Self::Image];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Number => "number",
            Self::Category => "category",
            Self::Date => "date",
            Self::Vector => "vector",
            Self::Vectors => "vectors",
            Self::Image => "image",
        }
    }
}

/// A column and what its cells are, with settings: `title:text`, `title:text[words=2]`; two columns of vectors, `query,document:vectors`.
///
/// Vectors may stand in `.npy` files instead of columns, a row for each row of the table: `emb:vector=FILE.npy`,
/// `query,document:vectors=FILE.npy,FILE.npy`. Files are no part of what an input is: a model does not keep them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Input {
    /// The column, or two with a comma between them.
    pub column: String,
    /// What its cells are.
    pub kind: Kind,
    /// Settings of the step that makes numbers of them, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<(String, usize)>,
    /// Files that hold the vectors of the columns.
    #[serde(skip)]
    pub files: Vec<PathBuf>,
}

impl PartialEq for Input {
    fn eq(&self, other: &Self) -> bool {
        let Self { column, kind, settings, files: _ } = self;
        (column, kind, settings) == (&other.column, &other.kind, &other.settings)
    }
}

impl Eq for Input {}

impl Input {
    /// The columns of a table that it is made of: one, or two of [`Kind::Vectors`].
    pub fn columns(&self) -> Vec<&str> {
        match self.kind {
            Kind::Vectors => self.column.split(',').collect(),
            _ => vec![&self.column],
        }
    }
}

impl FromStr for Input {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            Error::Setting {
            name: "input".into(),
            expected: "COLUMN:text, number, category, date, vector or image, such as title:text or title:text[words=2]; A,B:vectors; emb:vector=FILE.npy".into(),
            found: text.into(),
        }
        };
        let cut = [":vector=", ":vectors="].iter().find_map(|mark| Some(text.find(mark)? + mark.len()));
        let (head, files) = cut.map_or((text, ""), |end| (&text[..end - 1], &text[end..]));
        let (rest, settings) = match head.strip_suffix(']').and_then(|head| head.rsplit_once('[')) {
            Some((rest, settings)) => (rest, settings),
            None => (head, ""),
        };
        let (column, kind) = rest.rsplit_once(':').filter(|(column, _)| !column.is_empty()).ok_or_else(wrong)?;
        let names = Kind::ALL.iter().map(|kind| kind.name());
        let known = Kind::ALL.iter().copied().find(|known| known.name() == kind);
        let kind = known.ok_or_else(|| Error::unknown("kind of input", kind, names))?;
        let setting = |text: &str| {
            let (name, value) = text.split_once('=').ok_or_else(wrong)?;
            Ok((name.trim_ascii().to_owned(), value.trim_ascii().parse().map_err(|_| wrong())?))
        };
        let settings = settings.split(',').filter(|text| !text.is_empty()).map(setting).collect::<Result<_>>()?;
        let files: Vec<PathBuf> = match kind {
            Kind::Vectors => files.split(',').filter(|file| !file.is_empty()).map(PathBuf::from).collect(),
            _ => Some(files).filter(|file| !file.is_empty()).map(PathBuf::from).into_iter().collect(),
        };
        let made = Self { column: column.to_owned(), kind, settings, files };
        let columns = made.columns();
        let right = (kind != Kind::Vectors || columns.len() == 2) && columns.iter().all(|column| !column.is_empty());
        let fits = head.len() == text.len() || made.files.len() == columns.len();
        if right && fits { Ok(made) } else { Err(wrong()) }
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

/// A cell, the row that it stands in, and the folder of its table.
#[derive(Clone, Copy, Debug)]
pub struct Cell<'a> {
    /// What stands in it.
    pub text: &'a str,
    /// The row of its table, from 1, in text files the line; 0 where it is not known.
    pub row: u32,
    folder: &'a Path,
}

impl Cell<'_> {
    /// The file that it names, from the folder of its table.
    pub fn file(&self) -> PathBuf {
        self.folder.join(self.text)
    }
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Self {
        Self { text, row: 0, folder: Path::new("") }
    }
}

/// Cells by their places.
#[derive(Debug, Default)]
pub struct Kept {
    /// Text, row and number of the folder of each.
    cells: Vec<(Box<str>, u32, u32)>,
    folders: Vec<PathBuf>,
    /// Files of vectors that are being read: the column that each is for, and its next row.
    files: Vec<(String, PathBuf, Array, usize)>,
}

impl Kept {
    /// The cell at a place.
    pub fn cell(&self, place: usize) -> Cell<'_> {
        let (text, row, folder) = &self.cells[place];
        Cell { text, row: *row, folder: self.folders.get(*folder as usize).map_or(Path::new(""), |folder| folder) }
    }
}

/// Cells by their places; the first is empty. All copies share them.
#[derive(Clone, Debug)]
pub struct Texts(Arc<RwLock<Kept>>);

impl Default for Texts {
    fn default() -> Self {
        let kept = Kept { cells: vec![("".into(), 0, 0)], folders: vec![PathBuf::new()], files: vec![] };
        Self(Arc::new(RwLock::new(kept)))
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
    fn write(&self) -> RwLockWriteGuard<'_, Kept> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// All cells, to be read.
    pub fn read(&self) -> RwLockReadGuard<'_, Kept> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The cells that follow are of this table: files that they name are in its folder.
    pub(in crate::data) fn enter(&self, table: &Path) {
        self.write().folders.push(table.parent().map_or_else(PathBuf::new, Path::to_path_buf));
    }

    /// Keeps a cell of a row; its place.
    ///
    /// # Errors
    ///
    /// [`Error::Data`] if there are too many.
    pub fn push(&self, cell: &str, row: usize) -> Result<f32> {
        if cell.is_empty() {
            return Ok(0.0);
        }
        let mut all = self.write();
        if all.cells.len() == MOST {
            return Err(Error::Data {
                expected: format!("at most {MOST} cells of texts, categories, dates, vectors and pictures"),
                found: "more".into(),
            });
        }
        let folder = all.folders.len() as u32 - 1;
        all.cells.push((cell.into(), u32::try_from(row).unwrap_or(u32::MAX), folder));
        Ok((all.cells.len() - 1) as f32)
    }

    /// The next row of a file of vectors that stands in the place of a column.
    pub(in crate::data) fn next_vector(&self, column: &str, file: &Path) -> Result<String> {
        let mut all = self.write();
        let known = all.files.iter().position(|(own, path, ..)| own == column && path == file);
        let at = match known {
            Some(at) => at,
            None => {
                let array = Array::read(file)?;
                if array.shape.len() != 2 || array.shape[1] == 0 {
                    let expected = "an array of two dimensions: a vector for each row of the table".into();
                    let found = format!("the shape {:?}", array.shape);
                    return Err(Error::Content { path: file.into(), expected, found });
                }
                all.files.push((column.to_owned(), file.into(), array, 0));
                all.files.len() - 1
            }
        };
        let (_, _, array, next) = &mut all.files[at];
        let width = array.shape[1];
        let Some(row) = array.values.get(*next * width..(*next + 1) * width) else {
            return Err(other_rows(file, "more", array.shape[0]));
        };
        *next += 1;
        if let Some(x) = row.iter().find(|x| !x.is_finite()) {
            let expected = "finite numbers".into();
            return Err(Error::Content { path: file.into(), expected, found: format!("{x} in row {next}") });
        }
        Ok(vector_text(row.iter().copied()))
    }

    /// Refuses files of vectors that have more rows than all tables together, and lets go of them.
    pub(in crate::data) fn finish(&self) -> Result<()> {
        for (_, path, array, next) in std::mem::take(&mut self.write().files) {
            if next != array.shape[0] {
                return Err(other_rows(&path, &next.to_string(), array.shape[0]));
            }
        }
        Ok(())
    }
}

#[cold]
fn other_rows(file: &Path, rows: &str, found: usize) -> Error {
    let expected = format!("as many vectors as the tables have rows, which are {rows}");
    Error::Content { path: file.into(), expected, found: found.to_string() }
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
        for (cell, ..) in &self.texts.read().cells {
            hash.update(&(cell.len() as u64).to_le_bytes()).update(cell.as_bytes());
        }
        hash.finalize().to_hex().to_string()
    }
}

/// The numbers of a vector as a cell, between blanks. Read again they are the same.
///
/// ```
/// assert_eq!(ordain::data::vector_text([0.1, -2.0].into_iter()), "0.1 -2");
/// ```
pub fn vector_text(numbers: impl Iterator<Item = f32>) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    for x in numbers {
        let blank = if text.is_empty() { "" } else { " " };
        let _ = write!(text, "{blank}{x}"); // a string takes all that is written
    }
    text
}

/// Two vectors as one cell.
///
/// ```
/// assert_eq!(ordain::data::pair_text("1 2", "0 4"), "1 2|0 4");
/// ```
pub fn pair_text(a: &str, b: &str) -> String {
    format!("{a}|{b}")
}
