//! Folders of pictures and of frames, tensors in `.npy` files, and tables of what they are turned into.

use super::atomic::write_whole;
use super::npy::Array;
use super::source::{extension, read_at_most};
use super::strings::no_json;
use super::table::csv::{check_writable, headed, table_name};
use crate::error::{Error, Interrupt, Result};
use crate::picture::tensor::Reduction;
use crate::picture::{Grey, Learned, Picture, Recipe};
use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::path::{Path, PathBuf};

/// Endings of the names of pictures.
const KINDS: [&str; 6] = ["png", "jpg", "jpeg", "gif", "bmp", "webp"];
/// A file larger than this is no picture that anybody can use here.
const MOST_BYTES: u64 = 1 << 28;
/// Fisher vectors are learned from at most so many pictures, evenly over all.
const LEARNED_FROM: usize = 2000;

/// A picture file, or a folder of frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its path below the folder that was given, with `/`.
    pub id: String,
    /// The folder that it is in, below the one that was given; empty where it is in that one.
    pub category: String,
    /// The picture, or the frames in order.
    pub files: Vec<PathBuf>,
}

/// What was found in folders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collection {
    /// Pictures, or sequences of frames, in order of their ids: numbers in names count as numbers.
    pub found: Vec<Found>,
    /// Files that are no pictures by their names.
    pub skipped: usize,
}

/// Reads one picture, of at most 256 MiB.
///
/// # Errors
///
/// [`Error::Io`], or [`Error::Content`] where it is no picture, damaged, or too large.
pub fn read_picture(path: &Path) -> Result<Picture> {
    let size = std::fs::metadata(path).map_err(|reason| Error::Io { path: path.into(), action: "open", reason })?.len();
    if size > MOST_BYTES {
        return Err(Error::Content {
            path: path.into(),
            expected: format!("a picture of at most {MOST_BYTES} bytes; make it smaller"),
            found: size.to_string(),
        });
    }
    Picture::decode(&read_at_most(path, MOST_BYTES as usize, "a picture")?, path)
}

/// Writes values from 0 to 255 as a PNG picture in shades of grey.
///
/// # Errors
///
/// [`Error::Io`].
pub fn write_grey(plane: &Grey, path: &Path) -> Result<()> {
    let pixels: Vec<u8> = plane.values().iter().map(|v| v.round().clamp(0.0, 255.0) as u8).collect();
    let (width, height) = (plane.width() as u32, plane.height() as u32);
    write_whole(path, |out| {
        let encoder = PngEncoder::new(out);
        encoder.write_image(&pixels, width, height, ExtendedColorType::L8).map_err(std::io::Error::other)
    })
}

/// All pictures of folders and single files. With `frames` a folder that holds pictures is one sequence of frames.
///
/// # Errors
///
/// [`Error::Io`], or [`Error::Content`] where a folder holds no picture.
pub fn find(paths: &[PathBuf], frames: bool) -> Result<Collection> {
    let mut all = Collection::default();
    for path in paths {
        let before = all.found.len();
        if path.is_dir() {
            walk(path, "", frames, &mut all)?;
        } else {
            let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
            all.found.push(Found { id: name, category: String::new(), files: vec![path.clone()] });
        }
        if all.found.len() == before {
            return Err(Error::Content {
                path: path.clone(),
                expected: format!("a folder with pictures ({})", KINDS.map(|kind| format!(".{kind}")).join(", ")),
                found: "none in it and in the folders below".into(),
            });
        }
    }
    Ok(all)
}

fn walk(folder: &Path, below: &str, frames: bool, all: &mut Collection) -> Result<()> {
    let fail = |reason| Error::Io { path: folder.into(), action: "read", reason };
    let mut names = vec![];
    for entry in std::fs::read_dir(folder).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let Ok(name) = entry.file_name().into_string() else {
            return Err(Error::Content {
                path: entry.path(),
                expected: "names of files in UTF-8".into(),
                found: "other bytes".into(),
            });
        };
        let kind = std::fs::metadata(entry.path()).map_err(fail)?;
        names.push((name, kind.is_dir() && !entry.file_type().map_err(fail)?.is_symlink(), kind.is_file()));
    }
    names.sort_by(|a, b| natural(&a.0, &b.0));
    let mut pictures = vec![];
    for (name, is_folder, is_file) in names {
        let at = folder.join(&name);
        let id = if below.is_empty() { name } else { format!("{below}/{name}") };
        if is_folder {
            walk(&at, &id, frames, all)?;
        } else if is_file && KINDS.contains(&extension(&at).as_str()) {
            pictures.push((id, at));
        } else {
            all.skipped += 1;
        }
    }
    if frames && !pictures.is_empty() {
        let (category, _) = below.rsplit_once('/').unwrap_or(("", below));
        let files = pictures.into_iter().map(|(_, path)| path).collect();
        all.found.push(Found { id: below.to_owned(), category: category.to_owned(), files });
    } else {
        let one = |(id, path)| Found { id, category: below.to_owned(), files: vec![path] };
        all.found.extend(pictures.into_iter().map(one));
    }
    Ok(())
}

/// Names in order, with runs of digits in them by their value.
fn natural(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        let digits = |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (m, n) = (digits(a), digits(b));
        if m > 0 && n > 0 {
            let (x, y) = (a[..m].trim_start_matches('0'), b[..n].trim_start_matches('0'));
            let order = x.len().cmp(&y.len()).then(x.cmp(y)).then(m.cmp(&n));
            if order != Ordering::Equal {
                return order;
            }
            (a, b) = (&a[m..], &b[n..]);
            continue;
        }
        match (a.chars().next(), b.chars().next()) {
            (Some(x), Some(y)) if x == y => (a, b) = (&a[x.len_utf8()..], &b[y.len_utf8()..]),
            (x, y) => return x.cmp(&y),
        }
    }
}

/// A table of numbers: an id and a category for each row.
#[derive(Clone, Debug, PartialEq)]
pub struct PictureTable {
    /// Names of the columns.
    pub names: Vec<String>,
    /// Id and category of each row; all categories are empty where there are none.
    pub rows: Vec<(String, String)>,
    /// Row after row.
    pub values: Vec<f32>,
}

impl PictureTable {
    /// Writes it as `.csv` or `.tsv`: `id`, `category` where there are some, the features.
    ///
    /// # Errors
    ///
    /// [`Error::Content`] for another name; [`Error::Data`] where an id holds control characters; [`Error::Io`].
    pub fn write(&self, path: &Path) -> Result<()> {
        let delimiter = table_name(path)?;
        check_writable(&self.names, self.rows.iter().flat_map(|(id, kind)| [Cow::from(id), Cow::from(kind)]))?;
        let kinds = self.rows.iter().any(|(_, kind)| !kind.is_empty());
        let head = ["id", "category"].into_iter().take(if kinds { 2 } else { 1 });
        write_whole(path, |out| {
            let mut out = headed(out, delimiter, head.chain(self.names.iter().map(String::as_str)))?;
            for ((id, kind), values) in self.rows.iter().zip(self.values.chunks_exact(self.names.len().max(1))) {
                out.write_field(id)?;
                if kinds {
                    out.write_field(kind)?;
                }
                values.iter().try_for_each(|value| out.write_field(value.to_string()))?;
                out.write_record(None::<&[u8]>)?;
            }
            out.flush()
        })
    }
}

/// Learns what a recipe needs from pictures; they are read as they are needed and not kept.
///
/// # Errors
///
/// Those of reading, and of [`Learned::learn`].
pub fn learn(recipe: Recipe, pictures: &[Found], seed: u64, stop: &Interrupt) -> Result<Learned> {
    let step = pictures.len().div_ceil(LEARNED_FROM).max(1);
    let some: Vec<&Found> = pictures.iter().step_by(step).collect();
    Learned::learn(recipe, some.len(), |i| read_picture(&some[i].files[0]), seed, stop)
}

/// The table of pictures.
///
/// # Errors
///
/// Those of reading; [`Error::Interrupted`].
pub fn describe(
    learned: &Learned,
    pictures: &[Found],
    stop: &Interrupt,
    tell: &(dyn Fn(f64) + Sync),
) -> Result<PictureTable> {
    let mut values = vec![];
    for (k, some) in pictures.chunks(64).enumerate() {
        stop.check()?;
        tell(64.0 * k as f64 / pictures.len() as f64);
        let rows: Result<Vec<Vec<f32>>> =
            some.par_iter().map(|found| Ok(learned.apply(&read_picture(&found.files[0])?))).collect();
        values.extend(rows?.into_iter().flatten());
    }
    Ok(PictureTable { names: learned.names(), rows: named(pictures), values })
}

fn named(found: &[Found]) -> Vec<(String, String)> {
    found.iter().map(|found| (found.id.clone(), found.category.clone())).collect()
}

/// Samples of equal size with their names.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensors {
    /// Id and category of each.
    pub rows: Vec<(String, String)>,
    /// Size in every mode but that of the samples.
    pub sizes: Vec<usize>,
    /// Sample after sample.
    pub values: Vec<f64>,
}

impl Tensors {
    /// Sequences of frames in shades of grey between 0 and 1, each frame `side`×`side`: `side × side × frames` numbers.
    ///
    /// # Errors
    ///
    /// Those of reading; [`Error::Content`] where a sequence has another number of frames than the first.
    pub fn from_frames(sequences: &[Found], side: usize) -> Result<Self> {
        let frames = sequences.first().map_or(0, |first| first.files.len());
        if let Some(other) = sequences.iter().find(|found| found.files.len() != frames) {
            return Err(Error::Content {
                path: other.files[0].parent().map_or_else(PathBuf::new, Path::to_path_buf),
                expected: format!("{frames} frames, as {:?} has", sequences[0].id),
                found: other.files.len().to_string(),
            });
        }
        let one = |found: &Found| -> Result<Vec<f64>> {
            let mut values = vec![0.0; side * side * frames];
            for (k, path) in found.files.iter().enumerate() {
                let grey = read_picture(path)?.brightness().resized(side, side);
                for (at, v) in grey.values().iter().enumerate() {
                    values[at * frames + k] = f64::from(*v) / 255.0;
                }
            }
            Ok(values)
        };
        let values: Result<Vec<Vec<f64>>> = sequences.par_iter().map(one).collect();
        Ok(Self { rows: named(sequences), sizes: vec![side, side, frames], values: values?.concat() })
    }

    /// A `.npy` array whose first dimension counts the samples; they are named by their number, from 1.
    ///
    /// # Errors
    ///
    /// [`Error::Content`] where it is no array of at least two dimensions, or holds what is no number.
    pub fn from_npy(path: &Path) -> Result<Self> {
        let array = Array::read(path)?;
        let wrong =
            |expected: &str, found: String| Error::Content { path: path.into(), expected: expected.into(), found };
        let [samples, sizes @ ..] = &array.shape[..] else {
            return Err(wrong("an array of samples, of two or more dimensions", "a number".into()));
        };
        if sizes.is_empty() {
            return Err(wrong("an array of samples, of two or more dimensions", "one dimension".into()));
        }
        if array.values.is_empty() {
            return Err(wrong("at least one sample of at least one number", format!("the shape {:?}", array.shape)));
        }
        if let Some(at) = array.values.iter().position(|x| !x.is_finite()) {
            return Err(wrong("finite numbers", format!("{} at place {at}", array.values[at])));
        }
        let rows = (1..=*samples).map(|i| (i.to_string(), String::new())).collect();
        Ok(Self { rows, sizes: sizes.to_vec(), values: array.values.iter().map(|x| f64::from(*x)).collect() })
    }

    /// The table of the cores of all samples.
    ///
    /// # Errors
    ///
    /// [`Error::Data`] where the samples have another size than those that were learned from, or their numbers are so large
    /// that the cores are beyond single precision.
    pub fn reduced(&self, by: &Reduction) -> Result<PictureTable> {
        if by.sizes() != self.sizes {
            return Err(Error::Data {
                expected: format!("samples of {:?} numbers, as those that were learned from", by.sizes()),
                found: format!("{:?}", self.sizes),
            });
        }
        let size = self.sizes.iter().product::<usize>().max(1);
        let cores: Result<Vec<Vec<f64>>> = self.values.par_chunks(size).map(|sample| by.apply(sample)).collect();
        let values: Vec<f32> = cores?.iter().flatten().map(|x| *x as f32).collect();
        let names: Vec<String> = (0..by.ranks().iter().product()).map(|k| format!("tensor{k}")).collect();
        if let Some(at) = values.iter().position(|x| !x.is_finite()) {
            let expected = "samples whose cores single precision can hold".into();
            return Err(Error::Data {
                expected,
                found: format!("too large numbers in sample {}", at / names.len() + 1),
            });
        }
        Ok(PictureTable { names, rows: self.rows.clone(), values })
    }
}

/// The most bytes of a file of what was learned.
const KEPT: usize = 1 << 28;

/// What was learned from pictures or tensors, as a file that other pictures are described by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kept {
    /// Features of single pictures.
    Pictures(Learned),
    /// Cores of sequences or tensors.
    Tensors(Reduction),
}

impl Kept {
    /// Writes it as JSON.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn write(&self, path: &Path) -> Result<()> {
        write_whole(path, |out| Ok(serde_json::to_writer(out, self)?))
    }

    /// Reads it, and checks all of it.
    ///
    /// # Errors
    ///
    /// [`Error::Content`] where it is not what [`Kept::write`] writes.
    pub fn read(path: &Path) -> Result<Self> {
        let wrong = |found: String| Error::Content {
            path: path.into(),
            expected: "what `ordain features --keep` wrote".into(),
            found,
        };
        let kept: Self =
            serde_json::from_slice(&read_at_most(path, KEPT, "what was learned")?).map_err(|e| wrong(no_json(&e)))?;
        let whole = match &kept {
            Self::Pictures(learned) => learned.is_whole(),
            Self::Tensors(reduction) => reduction.is_whole(),
        };
        if whole { Ok(kept) } else { Err(wrong("parts that do not fit together".into())) }
    }
}
