//! Comparisons: what two records say of the same field, as columns of numbers.

use super::agreement::{LEVELS, STEPS};
use super::fields::{self, Field};
use super::similar;
use crate::data::parse_date;
use crate::error::{Error, Result};
use crate::matrix::{Features, Matrix};
use rayon::prelude::*;
use std::fmt;
use std::str::FromStr;

/// How a field is compared; every comparison is between 0 (different) and 1 (the same).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum How {
    /// Whether the values are equal.
    Exact,
    /// The likeness by Jaro, for names.
    Jaro,
    /// The likeness by Levenshtein, for names, numbers and codes.
    Levenshtein,
    /// The likeness of the sorted words.
    Tokens,
    /// The share of runs of three letters in common.
    Ngrams,
    /// How near two numbers are: `1 / (1 + |a − b| / spread)`, with the middle half of all values as spread.
    Number,
    /// The share of year, month and day that agree.
    Date,
    /// Whether the values are equal, and how rare they are: `log(share) / log(1 / all)`; 0 where they differ.
    Frequency,
}

impl How {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::Exact,
        Self::Jaro,
        Self::Levenshtein,
        Self::Tokens,
        Self::Ngrams,
        Self::Number,
        Self::Date,
        Self::Frequency,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Jaro => "jaro",
            Self::Levenshtein => "levenshtein",
            Self::Tokens => "tokens",
            Self::Ngrams => "ngrams",
            Self::Number => "number",
            Self::Date => "date",
            Self::Frequency => "frequency",
        }
    }
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for How {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let known = Self::ALL.iter().copied().find(|how| how.name() == text);
        known.ok_or_else(|| Error::unknown("comparison", text, Self::ALL.iter().map(|how| how.name())))
    }
}

/// A field and how it is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The column of both tables.
    pub field: String,
    /// How.
    pub how: How,
}

impl Comparison {
    /// Comparisons as they are typed: `surname:jaro,levenshtein,birth:date`. A kind without a column is one more of the column before it.
    ///
    /// ```
    /// let all = ordain::link::Comparison::list("surname:jaro,exact,birth:date")?;
    /// assert_eq!(all.iter().map(ToString::to_string).collect::<Vec<_>>(), ["surname_jaro", "surname_exact", "birth_date"]);
    /// # Ok::<(), ordain::Error>(())
    /// ```
    pub fn list(text: &str) -> Result<Vec<Self>> {
        let mut all: Vec<Self> = vec![];
        for part in text.split(',').map(str::trim_ascii) {
            let (field, how) = match (part.rsplit_once(':'), all.last()) {
                (Some((field, how)), _) => (field.to_owned(), how),
                (None, Some(last)) => (last.field.clone(), part),
                (None, None) => {
                    return Err(Error::Setting {
                        name: "compare".into(),
                        expected: "COLUMN:HOW, such as surname:jaro".into(),
                        found: part.into(),
                    });
                }
            };
            let own = Self { field, how: how.trim_ascii().parse()? };
            if !all.contains(&own) {
                all.push(own);
            }
        }
        Ok(all)
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}_{}", self.field, self.how)
    }
}

/// Comparisons that suit what the fields hold.
///
/// Dates (four of five values are) by `exact`, `date` and `levenshtein`; numbers with signs or decimals by `exact` and `number`; other
/// numbers are codes, by `exact`, `levenshtein` and `frequency`; texts of three words and more by `exact`, `jaro`, `tokens`, `ngrams` and `frequency`; all
/// others are names, by `exact`, `jaro`, `levenshtein` and `frequency`.
pub(super) fn usual(fields: &[Field]) -> Vec<Comparison> {
    let of = |field: &Field| {
        let all = field.words.len().max(1) as f64;
        let share = |test: &dyn Fn(&str) -> bool| field.words.iter().filter(|word| test(word)).count() as f64 / all;
        let number = |word: &str| word.parse::<f64>().is_ok_and(f64::is_finite);
        let words = field.words.iter().map(|word| word.split(' ').count()).sum::<usize>() as f64 / all;
        let kinds: &[How] = match () {
            () if share(&|word| parse_date(word).is_some()) >= 0.8 => &[How::Exact, How::Date, How::Levenshtein],
            () if share(&number) >= 0.95 && share(&|word| word.contains(['.', '-'])) > 0.0 => {
                &[How::Exact, How::Number]
            }
            () if share(&number) >= 0.8 => &[How::Exact, How::Levenshtein, How::Frequency],
            () if words >= 2.5 => &[How::Exact, How::Jaro, How::Tokens, How::Ngrams, How::Frequency],
            () => &[How::Exact, How::Jaro, How::Levenshtein, How::Frequency],
        };
        kinds.iter().map(|&how| Comparison { field: field.name.clone(), how }).collect::<Vec<_>>()
    };
    fields.iter().flat_map(of).collect()
}

/// What is known of every value of a field for one comparison.
enum Prepared {
    Plain,
    Sorted(Vec<String>),
    Trigrams(Vec<Vec<[char; 3]>>),
    Numbers(Vec<Option<f64>>, f64),
    Dates(Vec<Option<similar::Date>>),
    Rarity(Vec<f64>),
}

impl Prepared {
    fn new(field: &Field, how: How) -> Self {
        let words = &field.words;
        match how {
            How::Exact | How::Jaro | How::Levenshtein => Self::Plain,
            How::Tokens => Self::Sorted(words.iter().map(|word| similar::sorted_words(word)).collect()),
            How::Ngrams => Self::Trigrams(words.iter().map(|word| similar::trigrams(word)).collect()),
            How::Date => Self::Dates(words.iter().map(|word| parse_date(word)).collect()),
            How::Number => {
                let of = |word: &str| word.parse::<f64>().ok().filter(|x| x.is_finite());
                let all: Vec<Option<f64>> = words.iter().map(|word| of(word)).collect();
                let mut sorted: Vec<f64> = all.iter().flatten().copied().collect();
                sorted.sort_by(f64::total_cmp);
                let at = |share: f64| sorted.get((share * sorted.len() as f64) as usize).copied().unwrap_or(0.0);
                let spread = at(0.75) - at(0.25);
                Self::Numbers(all, if spread > 0.0 { spread } else { 1.0 })
            }
            How::Frequency => {
                let all: f64 = field.counts.iter().map(|&count| f64::from(count)).sum();
                let rarity = |&count: &u32| (f64::from(count) / all).ln() / (1.0 / all.max(2.0)).ln();
                Self::Rarity(field.counts.iter().map(rarity).collect())
            }
        }
    }

    fn compare(&self, how: How, field: &Field, a: u32, b: u32) -> f64 {
        let (x, y) = (a as usize, b as usize);
        let (word, other) = (&*field.words[x], &*field.words[y]);
        match self {
            _ if a == b && !matches!(self, Self::Rarity(_)) => 1.0,
            Self::Plain => match how {
                How::Jaro => similar::jaro(word, other),
                How::Levenshtein => similar::levenshtein(word, other),
                _ => 0.0,
            },
            Self::Sorted(words) => similar::of_sorted(&words[x], &words[y]),
            Self::Trigrams(grams) => similar::dice(&grams[x], &grams[y]),
            Self::Numbers(numbers, spread) => match (numbers[x], numbers[y]) {
                (Some(a), Some(b)) => 1.0 / (1.0 + (a - b).abs() / spread),
                _ => 0.0,
            },
            Self::Dates(dates) => match (dates[x], dates[y]) {
                (Some(a), Some(b)) => similar::dates(a, b),
                _ => 0.0,
            },
            Self::Rarity(rarity) if a == b => rarity[x],
            Self::Rarity(_) => 0.0,
        }
    }
}

/// Where likenesses are no longer those of any two words, and where two words are the same but for a slip.
const NEAR: [f64; 2] = [0.6, 0.9];

/// Whether two words are the same but for a slip, by their likeness: from 0 below [`NEAR`] to 1 above it.
fn near(likeness: f64) -> f64 {
    ((likeness - NEAR[0]) / (NEAR[1] - NEAR[0])).clamp(0.0, 1.0)
}

impl How {
    /// Whether a second column says whether two values are the same but for a slip: a likeness counts for little below that, and for much
    /// above, which no weight on the likeness alone can say.
    fn has_near(self) -> bool {
        matches!(self, Self::Jaro | Self::Levenshtein | Self::Tokens | Self::Ngrams)
    }
}

/// How a field agrees in pairs of records: the level of each, 0 where either is empty and the last where both are equal, and minus the logarithm of the share of
/// all records that have the value, if both have the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Agreement {
    pub(super) level: Vec<u8>,
    pub(super) rarity: Vec<f32>,
}

/// All comparisons of pairs of records.
pub(super) struct Comparer<'a> {
    fields: &'a [Field],
    /// Of each comparison its field, its kind and what it needs.
    all: Vec<(usize, How, Prepared)>,
    /// The fields with empty cells that are compared: each has a column that says where.
    gaps: Vec<usize>,
    pub(super) names: Vec<String>,
}

impl<'a> Comparer<'a> {
    pub(super) fn new(fields: &'a [Field], comparisons: &[Comparison]) -> Result<Self> {
        let mut all = vec![];
        for Comparison { field, how } in comparisons {
            let at = fields::find(fields, field)?;
            all.push((at, *how, Prepared::new(&fields[at], *how)));
        }
        let compared = |&at: &usize| all.iter().any(|(own, ..)| *own == at);
        let gaps: Vec<usize> = (0..fields.len())
            .filter(compared)
            .filter(|&at| fields[at].filled(0) < 1.0 || fields[at].filled(1) < 1.0)
            .collect();
        let flags = gaps.iter().map(|&at| format!("{}_missing", fields[at].name));
        let nears = comparisons.iter().filter(|own| own.how.has_near()).map(|own| format!("{own}_near"));
        let names: Vec<String> = comparisons.iter().map(ToString::to_string).chain(nears).chain(flags).collect();
        Ok(Self { fields, all, gaps, names })
    }

    /// How many of the columns say where a field is empty; they are the last.
    pub(super) fn flags(&self) -> usize {
        self.gaps.len()
    }

    /// How many comparisons the field of a flag has.
    pub(super) fn comparisons_of(&self, flag: usize) -> usize {
        let own = self.all.iter().filter(|(at, ..)| *at == self.gaps[flag]);
        own.map(|(_, how, _)| 1 + usize::from(how.has_near())).sum()
    }

    /// How the fields that are compared agree in each pair, whose comparisons are `rows`.
    pub(super) fn agreements(&self, pairs: &[(u32, u32)], rows: &Features) -> Vec<Agreement> {
        let mut compared: Vec<usize> = self.all.iter().map(|one| one.0).collect();
        compared.sort_unstable();
        compared.dedup();
        compared.iter().map(|&at| self.agreement(at, pairs, rows)).collect()
    }

    fn agreement(&self, at: usize, pairs: &[(u32, u32)], rows: &Features) -> Agreement {
        let field = &self.fields[at];
        let likeness = |how: How| how.has_near() || matches!(how, How::Number | How::Date);
        let own = self.all.iter().enumerate().filter(|(_, one)| one.0 == at && likeness(one.1));
        let columns: Vec<usize> = own.map(|(column, _)| column).collect();
        let all: f64 = field.counts.iter().map(|&count| f64::from(count)).sum();
        let of = |(row, &(i, j)): (usize, &(u32, u32))| match (field.of(0, i), field.of(1, j)) {
            (Some(a), Some(b)) if a == b => (LEVELS as u8 - 1, (all / f64::from(field.counts[a as usize])).ln() as f32),
            (Some(_), Some(_)) => {
                let sum: f64 = columns.iter().map(|&column| f64::from(rows.value(row, column))).sum();
                let mean = sum / columns.len().max(1) as f64;
                (1 + STEPS.iter().filter(|step| mean >= **step).count() as u8, 0.0)
            }
            _ => (0, 0.0),
        };
        let (level, rarity) = pairs.par_iter().enumerate().with_min_len(1024).map(of).unzip();
        Agreement { level, rarity }
    }

    /// A row for each pair: 0 where either cell is empty, and 1 in the column that says so. In parallel over pairs.
    pub(super) fn rows(&self, pairs: &[(u32, u32)]) -> Matrix {
        let cols = self.names.len();
        let mut values = vec![0f32; pairs.len() * cols];
        values.par_chunks_mut(cols.max(1)).zip(pairs).with_min_len(1024).for_each(|(row, &(i, j))| {
            let (own, rest) = row.split_at_mut(self.all.len());
            let (nears, flags) = rest.split_at_mut(rest.len() - self.gaps.len());
            for (value, (at, how, prepared)) in own.iter_mut().zip(&self.all) {
                let field = &self.fields[*at];
                if let (Some(a), Some(b)) = (field.of(0, i), field.of(1, j)) {
                    *value = prepared.compare(*how, field, a, b) as f32;
                }
            }
            let likenesses = own.iter().zip(&self.all).filter(|(_, (_, how, _))| how.has_near());
            nears.iter_mut().zip(likenesses).for_each(|(out, (x, _))| *out = near(f64::from(*x)) as f32);
            for (flag, &at) in flags.iter_mut().zip(&self.gaps) {
                let field = &self.fields[at];
                *flag = f32::from(u8::from(field.of(0, i).is_none() || field.of(1, j).is_none()));
            }
        });
        Matrix::new(values, cols)
    }
}
