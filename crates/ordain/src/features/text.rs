//! Text as the weights of its words: TF-IDF.

use super::words::{lowered, words};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// How texts become columns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextSettings {
    /// Runs of up to so many words are columns.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub words: usize,
    /// Runs of so many letters are columns as well, with blanks at the ends of words; 0 for none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub letters: usize,
    /// The most columns: those that occur most often in the training part.
    pub most: usize,
    /// The number of columns that words are spread over by a hash, in place of a vocabulary; 0 for none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hash: usize,
}

fn one() -> usize {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde asks for it
fn is_one(n: &usize) -> bool {
    *n == 1
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde asks for it
fn is_zero(n: &usize) -> bool {
    *n == 0
}

impl Default for TextSettings {
    fn default() -> Self {
        Self { words: 1, letters: 0, most: 50_000, hash: 0 }
    }
}

/// The step that turns texts into TF-IDF, as scikit-learn's `TfidfVectorizer` has it.
///
/// ```text
/// x_t = count_t · idf_t / |…|,   idf_t = 1 + ln((1 + n) / (1 + df_t))
/// ```
///
/// with `n` training texts of which `df_t` hold the term t; rows have length 1, or 0 where no term is known.
///
/// ```
/// use ordain::features::{Text, TextSettings};
/// let step = Text::learn(TextSettings::default(), ["red shoe", "blue shoe"].into_iter())?;
/// assert_eq!(step.terms().collect::<Vec<_>>(), ["blue", "red", "shoe"]);
/// let mut row = vec![];
/// step.apply("Shoe, shoe!", &mut row);
/// assert_eq!(row, [(2, 1.0)]);
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Text {
    settings: TextSettings,
    /// The terms, ascending; none with a hash.
    terms: Vec<Box<str>>,
    idf: Vec<f64>,
    #[serde(skip)]
    places: Places,
}

/// Terms with their places.
type Places = HashMap<Box<str>, u32, BuildHasherDefault<Fnv>>;

/// A quick hash of short words (FNV-1a), the same in every release.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Buffers.
#[derive(Default)]
struct Work {
    low: String,
    words: Vec<(u32, u32)>,
    term: String,
}

impl TextSettings {
    fn check(&self) -> Result<()> {
        let right = (1..=5).contains(&self.words) && self.letters <= 8 && self.most > 0 && self.hash <= 1 << 24;
        match right {
            true => Ok(()),
            false => Err(Error::Setting {
                name: "text".into(),
                expected: "words=1 to 5, letters=0 to 8, most=1 or more, hash=0 to 16777216".into(),
                found: format!("{self:?}"),
            }),
        }
    }

    /// Calls `take` with every term of a text.
    fn each(&self, text: &str, work: &mut Work, mut take: impl FnMut(&str)) {
        lowered(text, &mut work.low);
        words(&work.low, &mut work.words);
        let low = &work.low;
        let word = |n: usize| &low[work.words[n].0 as usize..work.words[n].1 as usize];
        for n in 0..work.words.len() {
            take(word(n));
            if self.words > 1 {
                work.term.clear();
                work.term.push_str(word(n));
                for next in n + 1..(n + self.words).min(work.words.len()) {
                    work.term.push(' ');
                    work.term.push_str(word(next));
                    take(&work.term);
                }
            }
            if self.letters > 0 {
                work.term.clear();
                work.term.push(' ');
                work.term.push_str(word(n));
                work.term.push(' ');
                let ends: Vec<usize> = work.term.char_indices().map(|(at, _)| at).chain([work.term.len()]).collect();
                ends.windows(self.letters + 1).for_each(|w| take(&work.term[w[0]..w[self.letters]]));
            }
        }
    }
}

/// The column of a term among so many.
fn spread(term: &str, columns: usize) -> u32 {
    let mut hash = Fnv::default();
    hash.write(term.as_bytes());
    let mixed = (hash.finish() ^ (hash.finish() >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed >> 32) % columns as u64) as u32
}

/// A term while it is counted.
#[derive(Clone, Copy)]
struct Count {
    texts: u32,
    /// The last text that had it, from 1.
    last: u32,
    all: u64,
}

impl Text {
    /// Learns terms and how rare they are from training texts. O(letters).
    pub fn learn<'a>(settings: TextSettings, texts: impl Iterator<Item = &'a str>) -> Result<Self> {
        settings.check()?;
        let (mut work, mut n, mut numbers) = (Work::default(), 0u32, Places::default());
        let mut counts = vec![Count { texts: 0, last: 0, all: 0 }; settings.hash];
        for text in texts {
            n += 1;
            settings.each(text, &mut work, |term| {
                let at = match settings.hash {
                    0 => match numbers.get(term) {
                        Some(&at) => at as usize,
                        None => {
                            numbers.insert(term.into(), counts.len() as u32);
                            counts.push(Count { texts: 0, last: 0, all: 0 });
                            counts.len() - 1
                        }
                    },
                    columns => spread(term, columns) as usize,
                };
                let count = &mut counts[at];
                count.all += 1;
                count.texts += u32::from(count.last != n);
                count.last = n;
            });
        }
        let idf = |count: &Count| 1.0 + (f64::from(1 + n) / f64::from(1 + count.texts)).ln();
        if settings.hash > 0 {
            let idf = counts.iter().map(idf).collect();
            return Ok(Self { settings, terms: vec![], idf, places: Places::default() });
        }
        let mut kept: Vec<(Box<str>, Count)> =
            numbers.into_iter().map(|(term, at)| (term, counts[at as usize])).collect();
        if kept.len() > settings.most {
            kept.sort_unstable_by(|a, b| b.1.all.cmp(&a.1.all).then_with(|| a.0.cmp(&b.0)));
            kept.truncate(settings.most);
        }
        kept.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let idf = kept.iter().map(|(_, count)| idf(count)).collect();
        let terms = kept.into_iter().map(|(term, _)| term).collect();
        Ok(Self { settings, terms, idf, places: Places::default() }.placed())
    }

    /// The same with the places of its terms.
    fn placed(mut self) -> Self {
        self.places = self.terms.iter().cloned().zip(0..).collect();
        self
    }

    /// What was read from a file, if it can be.
    pub(super) fn restored(self) -> Result<Self> {
        self.settings.check()?;
        let columns = if self.settings.hash > 0 { self.settings.hash } else { self.terms.len() };
        let right = self.idf.len() == columns
            && self.idf.iter().all(|idf| idf.is_finite() && *idf > 0.0)
            && (self.settings.hash == 0 || self.terms.is_empty())
            && self.terms.windows(2).all(|pair| pair[0] < pair[1]);
        match right {
            true => Ok(self.placed()),
            false => Err(Error::Data { expected: "terms in order, each with a weight".into(), found: "others".into() }),
        }
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.idf.len()
    }

    /// The terms, in the order of their columns; none with a hash.
    pub fn terms(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().map(|term| &**term)
    }

    /// The columns of a text that are not 0, ascending, with their values.
    pub fn apply(&self, text: &str, row: &mut Vec<(u32, f32)>) {
        let mut found: Vec<u32> = vec![];
        self.settings.each(text, &mut Work::default(), |term| match self.settings.hash {
            0 => found.extend(self.places.get(term)),
            columns => found.push(spread(term, columns)),
        });
        row.clear();
        found.sort_unstable();
        let runs = || found.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as f64 * self.idf[run[0] as usize]));
        let length = runs().map(|(_, x)| x * x).sum::<f64>().sqrt();
        row.extend(runs().map(|(column, x)| (column, (x / length) as f32)));
    }
}
