//! The one error type of the library: each variant carries the place, what was expected and what was found.

use std::path::PathBuf;
use std::sync::Arc;

/// What can go wrong. Slow convergence is not here: it is the stop reason of a fit.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be opened, read or written.
    #[error("{}: cannot {action}: {reason}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried, such as `read`.
        action: &'static str,
        /// The reason that the system gave.
        reason: std::io::Error,
    },
    /// A line of a text file does not follow its format.
    #[error("{}:{line}:{column}: expected {expected}, found {found}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column in bytes, from 1.
        column: usize,
        /// What the format asks for here.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// A file as a whole is not what it should be.
    #[error("{}: expected {expected}, found {found}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What was expected, and where there is one the way out.
        expected: String,
        /// What was found.
        found: String,
    },
    /// A model file is damaged, too new, or not a model.
    #[error("{}: {problem}; {cure}", path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
        /// What to do.
        cure: &'static str,
    },
    /// A setting has a value outside its range.
    #[error("{name}: expected {expected}, found {:?}", cut(found))]
    Setting {
        /// The name of the setting.
        name: String,
        /// Its range.
        expected: String,
        /// The value that was given.
        found: String,
    },
    /// A name that is not known here.
    #[error("unknown {kind} {found:?}{}", hint(nearest.as_deref(), known))]
    Unknown {
        /// What the name is of: method, setting, metric.
        kind: &'static str,
        /// The name that was given.
        found: String,
        /// The nearest right one.
        nearest: Option<String>,
        /// All right ones.
        known: Vec<String>,
    },
    /// The data do not have the features that a model was trained with.
    #[error(
        "the features of the data are not the expected ones{}{}",
        list("missing", missing),
        list("not expected", extra)
    )]
    Features {
        /// In the model, not in the data.
        missing: Vec<String>,
        /// In the data, not in the model.
        extra: Vec<String>,
    },
    /// The data lack something that the work needs.
    #[error("expected {expected}, found {found}")]
    Data {
        /// What is needed, and where there is one the way out.
        expected: String,
        /// What the data hold.
        found: String,
    },
    /// A number that should be finite is not.
    #[error(
        "{what} is not a finite number: features of very different size do that; try scale=query or scale=global, or a larger lambda"
    )]
    NotFinite {
        /// The quantity.
        what: &'static str,
    },
    /// A score that is not finite: it has no place in an order, and no metric can count it.
    #[error("{place}: expected a finite score, found {score}; {cure}")]
    Score {
        /// The row: a document of a query, a label of an item, an edge of a problem.
        place: String,
        /// The score.
        score: f64,
        /// What to do.
        cure: &'static str,
    },
    /// Some pairs are forbidden, and no matching is left.
    #[error(
        "{side} {index} (counted from 0) cannot be matched: every {} that it allows is taken by {side}s that have no other; allow more pairs",
        if *side == "row" { "column" } else { "row" }
    )]
    Infeasible {
        /// `row` or `column`: the side of which all have to be matched.
        side: &'static str,
        /// Which one, from 0.
        index: usize,
    },
    /// Answers rule out every set of the size that is asked for.
    #[error(
        "cannot choose {k} labels: {inside} are forced in and {free} more are not ruled out; change k or release some answers"
    )]
    NoSet {
        /// The size of a set.
        k: usize,
        /// Labels that are forced in.
        inside: usize,
        /// Labels that are free.
        free: usize,
    },
    /// An error out of which an option leads.
    #[error("{error}; {way}")]
    Advised {
        /// What is wrong.
        error: Box<Error>,
        /// The way out.
        way: Way,
    },
    /// What somebody outside of the library said, of whom it asked something.
    #[error("{0}")]
    Outside(Box<dyn std::error::Error + Send + Sync>),
    /// The work was stopped before there was anything to return.
    #[error("interrupted")]
    Interrupted,
}

/// A way out of an error that an option opens. [`Display`](std::fmt::Display) says it in neutral words; an interface says it in its own
/// ([`Error::told`]): the command line as `--missing zero`, Python as `missing="zero"`.
///
/// ```
/// # use ordain::error::Way;
/// let way = Way::new("missing", ["zero", "mean"], "allows gaps");
/// assert_eq!(way.to_string(), "missing=zero or missing=mean allows gaps");
/// assert_eq!(way.said(|option, value| format!("--{option} {value}")), "--missing zero or --missing mean allows gaps");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Way {
    /// The name of the option.
    pub option: &'static str,
    /// The values that help.
    pub values: Vec<String>,
    /// What one of them does.
    pub effect: &'static str,
}

impl Way {
    /// That the option with one of these values does this.
    pub fn new<S: Into<String>>(
        option: &'static str,
        values: impl IntoIterator<Item = S>,
        effect: &'static str,
    ) -> Self {
        Self { option, values: values.into_iter().map(Into::into).collect(), effect }
    }

    /// What allows cells without a value.
    pub(crate) fn gaps() -> Self {
        Self::new("missing", ["zero", "mean"], "allows gaps")
    }

    /// In the words of an interface, which writes an option and its value.
    pub fn said(&self, write: impl Fn(&str, &str) -> String) -> String {
        let options: Vec<String> = self.values.iter().map(|value| write(self.option, value)).collect();
        format!("{} {}", options.join(" or "), self.effect)
    }
}

impl std::fmt::Display for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.said(|option, value| format!("{option}={}", value.escape_debug())))
    }
}

/// The result of everything that can fail here.
pub type Result<T> = std::result::Result<T, Error>;

/// A question that long work asks every so often: is it to stop? Clones ask the same. By default nobody stops it.
///
/// Buffers of what may take long (`Work::stopped_by`) keep one; when the answer is yes the work ends with [`Error::Interrupted`]. Between two
/// questions lies work of milliseconds.
#[derive(Clone, Default)]
pub struct Interrupt(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl std::fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Interrupt(asked)" } else { "Interrupt(nobody)" })
    }
}

impl Interrupt {
    /// Stops when this says so.
    pub fn when(stop: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(stop)))
    }

    /// Asks.
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`] where the work is to stop.
    #[inline]
    pub fn check(&self) -> Result<()> {
        match &self.0 {
            Some(stop) if stop() => Err(Error::Interrupted),
            _ => Ok(()),
        }
    }
}

fn hint(nearest: Option<&str>, known: &[String]) -> String {
    match nearest {
        Some(name) => format!(": did you mean {name:?}?"),
        None if known.len() == 1 => format!("; the only one is {}", known[0]),
        None if known.len() <= 15 => format!("; known are {}", known.join(", ")),
        None => format!("; known are {} and {} more", known[..8].join(", "), known.len() - 8),
    }
}

fn list(what: &str, names: &[String]) -> String {
    match names {
        [] => String::new(),
        few if few.len() <= 5 => format!("; {what}: {}", few.join(", ")),
        [a, b, c, rest @ ..] => format!("; {what}: {a}, {b}, {c} and {} more", rest.len()),
        _ => String::new(),
    }
}

impl Error {
    /// This error with a way out of it.
    pub(crate) fn or(self, way: Way) -> Self {
        Self::Advised { error: Box::new(self), way }
    }

    /// What is wrong, without a way out.
    pub fn cause(&self) -> &Self {
        match self {
            Self::Advised { error, .. } => error.cause(),
            plain => plain,
        }
    }

    /// Its text, with options in the words of an interface.
    pub fn told(&self, write: impl Fn(&str, &str) -> String) -> String {
        self.told_by(&write)
    }

    fn told_by(&self, write: &dyn Fn(&str, &str) -> String) -> String {
        match self {
            Self::Advised { error, way } => format!("{}; {}", error.told_by(write), way.said(write)),
            plain => plain.to_string(),
        }
    }

    /// `Unknown` with the nearest of `known`, where one is near enough to be meant.
    pub fn unknown<S: AsRef<str>>(kind: &'static str, found: &str, known: impl IntoIterator<Item = S>) -> Self {
        let known: Vec<String> = known.into_iter().map(|name| name.as_ref().to_owned()).collect();
        let lower = found.to_lowercase();
        let nearest = known
            .iter()
            .map(|name| (edits(&lower, &name.to_lowercase()), name))
            .min_by_key(|&(distance, _)| distance)
            .filter(|&(distance, name)| distance <= 1 + name.len() / 4)
            .map(|(_, name)| name.clone());
        Self::Unknown { kind, found: cut(found), nearest, known }
    }
}

/// The most characters of a word that a message repeats.
const LONGEST_WORD: usize = 200;

/// The beginning of a word, for a message.
fn cut(word: &str) -> String {
    word.chars().take(LONGEST_WORD).collect()
}

/// What another library says, for a message: on one line, without control characters, and not too long.
#[cfg(any(feature = "pictures", feature = "parquet"))]
pub(crate) fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ").chars().take(LONGEST_WORD).collect()
}

/// Levenshtein distance with swaps of neighbours counted once; names are short, so the plain table serves.
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    rows[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let differ = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + differ);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_named_and_a_stranger_is_not() {
        let known = ["lambda", "scale", "weight"];
        assert_eq!(
            Error::unknown("setting", "lamdba", known).to_string(),
            "unknown setting \"lamdba\": did you mean \"lambda\"?"
        );
        assert_eq!(
            Error::unknown("setting", "gamma_ray", known).to_string(),
            "unknown setting \"gamma_ray\"; known are lambda, scale, weight"
        );
    }

    #[test]
    fn every_way_out_is_said_in_the_words_of_the_interface() {
        let plain = Error::Data { expected: "a".into(), found: "b".into() };
        let error = plain.or(Way::new("ignore", ["x"], "leaves it out")).or(Way::new("labels", ["x"], "takes it"));
        assert_eq!(error.to_string(), "expected a, found b; ignore=x leaves it out; labels=x takes it");
        let told = error.told(|option, value| format!("--{option} {value}"));
        assert_eq!(told, "expected a, found b; --ignore x leaves it out; --labels x takes it");
    }

    #[test]
    fn edits_of_known_words() {
        assert_eq!(edits("kitten", "sitting"), 3); // the textbook pair
        assert_eq!(edits("ab", "ba"), 1);
        assert_eq!(edits("", "abc"), 3);
    }
}
