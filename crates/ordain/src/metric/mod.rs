//! Metrics of rankings, each under a named convention, because the tools disagree.
//!
//! The same ranking gives NDCG .72 or .67 by the gain, a query without relevant documents counts 1, 0 or not at all,
//! and tied documents stand in input order, by id, or share their places. A [`Convention`] says which.

pub mod calibration;
mod labels;
mod matches;
mod own;
mod rank;
pub mod stats;

pub use labels::{LabelScores, evaluate_labels};
pub use matches::{SaidMatches, evaluate_matches};
pub use own::Own;
pub use rank::Query;

use crate::data::RankSet;
use crate::error::{Error, Result};
use calibration::Calibration;
use rayon::prelude::*;
use std::fmt;
use std::str::FromStr;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Discounted cumulative gain over that of the ideal order.
    Ndcg,
    /// Discounted cumulative gain.
    Dcg,
    /// Average precision.
    Map,
    /// Share of the first k that is relevant; the divisor is always k.
    Precision,
    /// Share of the relevant documents that is among the first k.
    Recall,
    /// One over the rank of the first relevant document.
    Mrr,
    /// Expected reciprocal rank of the document at which a reader stops (Chapelle et al. 2009).
    Err,
    /// Whether the first document has the best grade of its query.
    Wta,
    /// Precision at the number of relevant documents (break-even point, R-precision).
    Bep,
    /// The same of labels, where the model is not told their number.
    BepLearned,
    /// Kendall's tau-b between scores and grades; from −1 to 1.
    Kendall,
    /// Share of the pairs of different grades that are in the right order; a tied pair counts ½ where ties are averaged. Where preferences stand in
    /// place of grades, the share of their weight.
    Pairs,
    /// Average precision, under the name that it has for the labels of one item.
    Ap,
    /// Share of the pairs of a label that applies and one that does not that are in the wrong order; of labels.
    RankLoss,
    /// How many labels have to be taken from the top to have all that apply; of labels.
    Coverage,
    /// Share of the labels that are wrong in a set of labels, missing or too many; share of the items that are matched wrongly.
    Hamming,
    /// `2 |A ∩ B| / (|A| + |B|)` of the set of labels, or of matched edges, and the right one.
    F1,
    /// Share of the items that are matched rightly; of matchings.
    Accuracy,
    /// Share of the matched edges that are right; of matchings.
    EdgePrecision,
    /// Minus the logarithm of the probability of the right matching.
    Nll,
    /// Expected calibration error of the probabilities of edges, over all problems together.
    Ece,
    /// A function of the caller's, by its number among all that are alive: see [`Own`].
    Own(u32),
}

/// A metric, with its cut-off where it has one; written `ndcg@10`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Metric {
    /// What is measured.
    pub kind: Kind,
    /// How many places count.
    pub k: Option<usize>,
}

/// All there is to say of a metric but its formula.
struct Row {
    name: &'static str,
    kind: Kind,
    cut: Cut,
    better: Better,
    /// The tasks that have it.
    tasks: &'static [&'static str],
}

/// Of a ranking, be it of documents or of labels.
const LISTS: &[&str] = &["rank", "annotate"];
/// Of labels alone.
const LABELS: &[&str] = &["annotate"];
/// Of a set, be it of labels or of edges.
const SETS: &[&str] = &["annotate", "match"];
/// Of matchings alone.
const MATCHES: &[&str] = &["match"];
/// `recall`: with a cut-off of a ranking, without one of a matching.
const EVERY: &[&str] = &["rank", "annotate", "match"];

const ROWS: &[Row] = &[
    Row { name: "ndcg", kind: Kind::Ndcg, cut: Cut::May, better: Better::More, tasks: LISTS },
    Row { name: "dcg", kind: Kind::Dcg, cut: Cut::May, better: Better::More, tasks: LISTS },
    Row { name: "map", kind: Kind::Map, cut: Cut::Not, better: Better::More, tasks: LISTS },
    Row { name: "p", kind: Kind::Precision, cut: Cut::Must, better: Better::More, tasks: LISTS },
    Row { name: "recall", kind: Kind::Recall, cut: Cut::May, better: Better::More, tasks: EVERY },
    Row { name: "mrr", kind: Kind::Mrr, cut: Cut::Not, better: Better::More, tasks: LISTS },
    Row { name: "err", kind: Kind::Err, cut: Cut::Must, better: Better::More, tasks: LISTS },
    Row { name: "wta", kind: Kind::Wta, cut: Cut::Not, better: Better::More, tasks: LISTS },
    Row { name: "bep", kind: Kind::Bep, cut: Cut::Not, better: Better::More, tasks: LISTS },
    Row { name: "bep_learned", kind: Kind::BepLearned, cut: Cut::Not, better: Better::More, tasks: LABELS },
    Row { name: "kendall", kind: Kind::Kendall, cut: Cut::Not, better: Better::More, tasks: LISTS },
    Row { name: "pairs", kind: Kind::Pairs, cut: Cut::Not, better: Better::More, tasks: LISTS },
    Row { name: "ap", kind: Kind::Ap, cut: Cut::Not, better: Better::More, tasks: LISTS },
    Row { name: "rankloss", kind: Kind::RankLoss, cut: Cut::Not, better: Better::Less, tasks: LABELS },
    Row { name: "coverage", kind: Kind::Coverage, cut: Cut::Not, better: Better::Less, tasks: LABELS },
    Row { name: "hamming", kind: Kind::Hamming, cut: Cut::Not, better: Better::Less, tasks: SETS },
    Row { name: "f1", kind: Kind::F1, cut: Cut::Not, better: Better::More, tasks: SETS },
    Row { name: "accuracy", kind: Kind::Accuracy, cut: Cut::Not, better: Better::More, tasks: MATCHES },
    Row { name: "precision", kind: Kind::EdgePrecision, cut: Cut::Not, better: Better::More, tasks: MATCHES },
    Row { name: "nll", kind: Kind::Nll, cut: Cut::Not, better: Better::Less, tasks: MATCHES },
    Row { name: "ece", kind: Kind::Ece, cut: Cut::Not, better: Better::Less, tasks: MATCHES },
];

/// What is said of every metric that a caller brings.
const OWN: &Row = &Row { name: "own", kind: Kind::Own(0), cut: Cut::Not, better: Better::More, tasks: EVERY };

/// All metrics, a list for each task.
fn by_task() -> Vec<String> {
    let tasks = [("those of rankings", "rank"), ("of labels", "annotate"), ("of matches", "match")];
    let list = |(what, task): (&str, &str)| {
        let name = |row: &Row| match row.cut {
            Cut::Must => format!("{}@k", row.name),
            Cut::May if row.kind == Kind::Recall && task != "match" => format!("{}@k", row.name),
            _ => row.name.to_owned(),
        };
        let names: Vec<String> = ROWS.iter().filter(|row| row.tasks.contains(&task)).map(name).collect();
        format!("{what} ({})", names.join(", "))
    };
    tasks.map(list).into()
}

#[derive(Clone, Copy, PartialEq)]
enum Better {
    More,
    Less,
}

#[derive(Clone, Copy, PartialEq)]
enum Cut {
    May,
    Must,
    Not,
}

impl Metric {
    fn row(self) -> &'static Row {
        match self.kind {
            Kind::Own(_) => OWN,
            kind => ROWS.iter().find(|row| row.kind == kind).expect("every kind has a row"),
        }
    }

    /// Whether less is better.
    pub fn is_loss(self) -> bool {
        self.row().better == Better::Less
    }

    /// Whether a task has it; recall is one of rankings with a cut-off, and one of matchings without.
    fn is_of(self, task: &str) -> bool {
        let cut = self.kind != Kind::Recall || self.k.is_none() == (task == "match");
        cut && self.row().tasks.contains(&task)
    }

    /// Whether it goes by probabilities.
    pub fn of_probabilities(self) -> bool {
        matches!(self.kind, Kind::Nll | Kind::Ece)
    }

    /// Whether it is one of rankings of documents.
    pub fn of_rankings(self) -> bool {
        self.is_of("rank")
    }

    /// Whether it is one of labels: of a ranking of them, or of a set.
    pub fn of_labels(self) -> bool {
        self.is_of("annotate")
    }

    /// Refuses a metric that is none of rankings.
    pub fn need_rankings(self) -> Result<()> {
        self.need(self.of_rankings(), "a metric of rankings, such as ndcg@10, map or p@5")
    }

    /// Refuses a metric that is none of labels.
    pub fn need_labels(self) -> Result<()> {
        self.need(self.of_labels(), "a metric of labels: bep, bep_learned, p@k, ap, rankloss, coverage, hamming, f1")
    }

    /// Refuses a metric that is none of matches.
    pub fn need_matches(self) -> Result<()> {
        self.need(self.of_matches(), "a metric of matches: hamming, accuracy, precision, recall, f1, nll, ece")
    }

    /// Refuses a metric of another task than the one of this name.
    pub(crate) fn need_task(self, task: &str) -> Result<()> {
        match task {
            "rank" => self.need_rankings(),
            "annotate" => self.need_labels(),
            _ => self.need_matches(),
        }
    }

    /// Whether one value is better than another.
    pub fn better(self, value: f64, than: f64) -> bool {
        if self.is_loss() { value < than } else { value > than }
    }

    fn need(self, right: bool, expected: &str) -> Result<()> {
        let uncut = self.kind == Kind::Recall && self.k.is_none();
        let expected = if uncut { "a cut-off, as in recall@10" } else { expected };
        match right {
            true => Ok(()),
            false => Err(Error::Setting { name: "metric".into(), expected: expected.into(), found: self.to_string() }),
        }
    }

    /// Whether it is one of matchings.
    pub fn of_matches(self) -> bool {
        self.is_of("match")
    }

    /// Whether it measures a set of labels, not a ranking of them.
    pub fn of_sets(self) -> bool {
        matches!(self.kind, Kind::Hamming | Kind::F1)
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if let Kind::Own(id) = self.kind {
            return f.write_str(&own::written(id));
        }
        let name = self.row().name;
        match self.k {
            Some(k) => write!(f, "{name}@{k}"),
            None => f.write_str(name),
        }
    }
}

impl FromStr for Metric {
    type Err = Error;

    /// ```
    /// let metric: ordain::metric::Metric = "NDCG@10".parse()?;
    /// assert_eq!(metric.to_string(), "ndcg@10");
    /// # Ok::<(), ordain::Error>(())
    /// ```
    fn from_str(text: &str) -> Result<Self> {
        own::refuse_text(text)?;
        let lower = text.to_lowercase();
        let (name, k) = match lower.split_once('@') {
            Some((name, k)) => (name, Some(k)),
            None => (lower.as_str(), None),
        };
        let Some(Row { kind, cut, .. }) = ROWS.iter().find(|row| row.name == name) else {
            // ndcg10 means ndcg@10; else what was meant has the same cut-off, if it takes one
            let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
            let k = k.or(Some(digits).filter(|digits| !digits.is_empty())).filter(|k| k.len() <= 9);
            let shown = ROWS.iter().map(|row| match (k, row.cut) {
                (Some(k), Cut::May | Cut::Must) => format!("{}@{k}", row.name),
                (None, Cut::Must) => format!("{}@k", row.name),
                _ => row.name.to_owned(),
            });
            let mut error = Error::unknown("metric", text, shown);
            if let Error::Unknown { nearest: None, known, .. } = &mut error {
                *known = by_task();
            }
            return Err(error);
        };
        let wrong =
            |expected: &str| Error::Setting { name: "metric".into(), expected: expected.into(), found: text.into() };
        let k = match k {
            Some(_) if *cut == Cut::Not => return Err(wrong(&format!("{name}, which has no cut-off"))),
            None if *cut == Cut::Must => return Err(wrong(&format!("a cut-off, as in {name}@10"))),
            Some(k) => Some(
                k.parse()
                    .ok()
                    .filter(|number: &usize| *number > 0 && number.to_string() == k)
                    .ok_or_else(|| wrong(&format!("a whole number above 0 after {name}@")))?,
            ),
            None => None,
        };
        Ok(Self { kind: *kind, k })
    }
}

/// What a document of some grade is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gain {
    /// `2^grade − 1`.
    Exp,
    /// The grade.
    Linear,
}

/// What a place is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discount {
    /// `1 / log2(1 + rank)`.
    Log2,
    /// 1 at ranks 1 and 2, then `1 / log2(rank)`, as in the scripts of LETOR.
    Letor,
}

/// What a query counts in which nothing is relevant, or an item without labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Empty {
    /// It is left out, and counted as such.
    Skip,
    /// 0.
    Zero,
    /// 1 for NDCG, MAP and the other normalised metrics; 0 for those that are a count or a loss.
    One,
}

/// What NDCG@k is for a query of fewer than k documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Short {
    /// What it is.
    Keep,
    /// 0.
    Zero,
}

/// How documents of the same score stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// The metric is averaged over all orders of them, exactly.
    Average,
    /// In the order of the input.
    Input,
    /// By document id, descending, as trec_eval does.
    Id,
}

/// The rules under which a metric is computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Convention {
    /// Name of the preset that the rules started from.
    pub name: &'static str,
    /// Gain of a grade.
    pub gain: Gain,
    /// Discount of a place.
    pub discount: Discount,
    /// Queries without a relevant document.
    pub empty: Empty,
    /// Queries of fewer than k documents.
    pub short: Short,
    /// Documents of the same score.
    pub ties: Ties,
    /// A document is relevant from this grade on; `None` means above 0.
    pub relevant_from: Option<f64>,
    /// Whether scores are compared as `f32`, as the tool does that the preset is named after.
    pub single: bool,
    /// Whether `ap`, `rankloss` and `coverage` of labels follow scikit-learn: tied labels all stand at the last of their
    /// places, and an item with no label or with all counts, unless `empty` leaves it out; see [`evaluate_labels`].
    pub labels_last: bool,
}

impl Convention {
    /// `standard`: exponential gain, empty queries left out, ties averaged.
    pub const STANDARD: Self = Self {
        name: "standard",
        gain: Gain::Exp,
        discount: Discount::Log2,
        empty: Empty::Skip,
        short: Short::Keep,
        ties: Ties::Average,
        relevant_from: None,
        single: false,
        labels_last: false,
    };

    /// All presets.
    pub const ALL: &'static [Self] = &[
        Self::STANDARD,
        Self { name: "letor2", discount: Discount::Letor, empty: Empty::Zero, ties: Ties::Input, ..Self::STANDARD },
        Self {
            name: "letor4",
            discount: Discount::Letor,
            empty: Empty::Zero,
            short: Short::Zero,
            ties: Ties::Input,
            ..Self::STANDARD
        },
        Self { name: "trec", gain: Gain::Linear, empty: Empty::Zero, ties: Ties::Id, single: true, ..Self::STANDARD },
        Self { name: "sklearn", gain: Gain::Linear, empty: Empty::Zero, labels_last: true, ..Self::STANDARD },
        Self { name: "lightgbm", empty: Empty::One, ties: Ties::Input, ..Self::STANDARD },
        Self { name: "xgboost", empty: Empty::One, ties: Ties::Input, single: true, ..Self::STANDARD },
    ];

    /// Whether a document of this grade is relevant.
    pub fn relevant(&self, grade: f64) -> bool {
        self.relevant_from.map_or(grade > 0.0, |from| grade >= from)
    }

    /// Changes one rule by name.
    ///
    /// ```
    /// use ordain::metric::{Convention, Empty};
    /// let mut convention = Convention::STANDARD;
    /// convention.set("empty", "zero")?;
    /// assert_eq!((convention.empty, convention.to_string().as_str()), (Empty::Zero, "standard, empty=zero"));
    /// # Ok::<(), ordain::Error>(())
    /// ```
    pub fn set(&mut self, rule: &str, value: &str) -> Result<()> {
        fn one_of<T: Copy>(rule: &'static str, value: &str, known: &[(&str, T)]) -> Result<T> {
            let found = known.iter().find(|(name, _)| *name == value);
            found.map(|&(_, meaning)| meaning).ok_or_else(|| Error::unknown(rule, value, known.iter().map(|k| k.0)))
        }
        match rule {
            "gain" => self.gain = one_of("gain", value, &[("exp", Gain::Exp), ("linear", Gain::Linear)])?,
            "discount" => {
                self.discount = one_of("discount", value, &[("log2", Discount::Log2), ("letor", Discount::Letor)])?;
            }
            "empty" => {
                let known = [("skip", Empty::Skip), ("zero", Empty::Zero), ("one", Empty::One)];
                self.empty = one_of("empty", value, &known)?;
            }
            "short" => self.short = one_of("short", value, &[("keep", Short::Keep), ("zero", Short::Zero)])?,
            "ties" => {
                let known = [("average", Ties::Average), ("input", Ties::Input), ("id", Ties::Id)];
                self.ties = one_of("ties", value, &known)?;
            }
            "relevant_from" => {
                let grade = value.parse::<f64>().ok().filter(|grade| grade.is_finite());
                self.relevant_from = Some(grade.ok_or_else(|| Error::Setting {
                    name: "relevant_from".into(),
                    expected: "a finite number".into(),
                    found: value.into(),
                })?);
            }
            _ => {
                let known = ["gain", "discount", "empty", "short", "ties", "relevant_from"];
                return Err(Error::unknown("rule", rule, known));
            }
        }
        Ok(())
    }
}

impl FromStr for Convention {
    type Err = Error;

    /// The name of a preset, and rules that are to differ from it: what [`Display`](fmt::Display) writes is read back.
    ///
    /// ```
    /// use ordain::metric::{Convention, Empty};
    /// let convention: Convention = "letor4, empty=skip".parse()?;
    /// assert_eq!((convention.name, convention.empty), ("letor4", Empty::Skip));
    /// assert_eq!(convention.to_string().parse::<Convention>()?, convention);
    /// # Ok::<(), ordain::Error>(())
    /// ```
    fn from_str(text: &str) -> Result<Self> {
        let mut words = text.split(',').map(str::trim_ascii);
        let name = words.next().unwrap_or_default();
        let mut convention =
            Self::ALL.iter().copied().find(|convention| convention.name == name).ok_or_else(|| {
                Error::unknown("convention", name, Self::ALL.iter().map(|convention| convention.name))
            })?;
        for word in words {
            let Some((rule, value)) = word.split_once('=') else {
                let expected = "rules after the name, as in letor4, empty=skip".into();
                return Err(Error::Setting { name: "convention".into(), expected, found: word.into() });
            };
            convention.set(&rule.trim_ascii().replace('-', "_"), value.trim_ascii())?;
        }
        Ok(convention)
    }
}

impl fmt::Display for Convention {
    /// The name of the preset, and the rules that differ from it: `standard, empty=zero, ties=input`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name)?;
        let preset = Self::ALL.iter().copied().find(|c| c.name == self.name).unwrap_or(Self::STANDARD);
        if self.gain != preset.gain {
            write!(f, ", gain={}", if self.gain == Gain::Exp { "exp" } else { "linear" })?;
        }
        if self.discount != preset.discount {
            write!(f, ", discount={}", if self.discount == Discount::Log2 { "log2" } else { "letor" })?;
        }
        if self.empty != preset.empty {
            write!(f, ", empty={}", ["skip", "zero", "one"][self.empty as usize])?;
        }
        if self.short != preset.short {
            write!(f, ", short={}", if self.short == Short::Keep { "keep" } else { "zero" })?;
        }
        if self.ties != preset.ties {
            write!(f, ", ties={}", ["average", "input", "id"][self.ties as usize])?;
        }
        match self.relevant_from {
            Some(grade) => write!(f, ", relevant-from={grade}"),
            None => Ok(()),
        }
    }
}

/// The values of some metrics for each query.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// What was measured.
    pub metrics: Vec<Metric>,
    /// For each metric the value of each query; `None` where the query was left out.
    pub values: Vec<Vec<Option<f64>>>,
    /// Of matchings with probabilities: those of the edges of each problem, beside what is so.
    pub calibration: Vec<Calibration>,
    /// Of matchings: what each item of each problem adds to a metric of counts.
    pub items: Vec<Vec<matches::Tally>>,
}

impl Evaluation {
    /// The values of metric `m` that count.
    pub fn counted(&self, m: usize) -> Vec<f64> {
        self.values[m].iter().copied().flatten().collect()
    }

    /// The mean of metric `m` over the queries that count; 0 where none does.
    ///
    /// `ece` is no mean: it is that of all problems together.
    pub fn mean(&self, m: usize) -> f64 {
        if self.metrics[m].kind == Kind::Ece {
            return Calibration::joined(&self.calibration).error();
        }
        stats::mean(&self.counted(m))
    }

    /// Metric `m` over the items of all problems together, however these are cut; the mean of a metric that is not of counts.
    pub(crate) fn together(&self, m: usize) -> f64 {
        let all: Vec<matches::Tally> = self.items.iter().flatten().copied().collect();
        matches::Tally::of(&self.metrics[m], &all).unwrap_or_else(|| self.mean(m))
    }

    /// What metric `m` of each unit is a ratio of: of counts of items, else its value and 1; nothing, over nothing, where it does not count.
    pub(crate) fn ratios(&self, m: usize) -> Vec<(f64, f64)> {
        let of = |(n, value): (usize, &Option<f64>)| match (self.items.get(n), value) {
            (_, None) => (0.0, 0.0),
            (Some(items), Some(value)) => matches::Tally::ratio(&self.metrics[m], items).unwrap_or((*value, 1.0)),
            (None, Some(value)) => (*value, 1.0),
        };
        self.values[m].iter().enumerate().map(of).collect()
    }

    /// A 95 % interval of [`Self::mean`], by resampling of queries.
    ///
    /// One query says nothing about others: there is none then, unless it is a problem of matching and the metric one of counts, where the
    /// items of its lesser side are resampled.
    pub fn interval(&self, m: usize, seed: u64) -> Option<(f64, f64)> {
        let counted: Vec<usize> = (0..self.values[m].len()).filter(|&n| self.values[m][n].is_some()).collect();
        if let [alone] = counted[..] {
            let items = self.items.get(alone).filter(|items| items.len() > 1)?;
            matches::Tally::of(&self.metrics[m], items)?;
            let value = |sample: &[usize]| {
                let drawn: Vec<matches::Tally> = sample.iter().map(|&i| items[i]).collect();
                matches::Tally::of(&self.metrics[m], &drawn).unwrap_or(1.0)
            };
            return Some(stats::interval_of(items.len(), seed, value));
        }
        if self.metrics[m].kind == Kind::Ece {
            let (low, high) = stats::centred_interval_of(self.calibration.len(), seed, |sample| {
                Calibration::joined(sample.iter().map(|&p| &self.calibration[p])).error()
            });
            return Some((low.max(0.0), high));
        }
        Some(stats::interval(&self.counted(m), seed))
    }

    /// How many queries were left out of the metric that leaves out most.
    pub fn skipped(&self) -> usize {
        self.values.iter().map(|v| v.iter().filter(|x| x.is_none()).count()).max().unwrap_or(0)
    }

    /// Adds the queries of another evaluation of the same metrics.
    pub fn extend(&mut self, other: Self) {
        for (mine, more) in self.values.iter_mut().zip(other.values) {
            mine.extend(more);
        }
        self.calibration.extend(other.calibration);
        self.items.extend(other.items);
    }
}

/// Measures scores of the queries `units` of a set; `scores` has one per row, in stored order.
///
/// Cost O(n log n) per query, in parallel over queries.
///
/// # Errors
///
/// [`Error::Score`] naming the first document of these queries whose score is not finite; [`Error::Setting`] for a metric of something else.
///
/// ```
/// use ordain::metric::{evaluate, Convention};
/// let set = ordain::data::synthetic::Synthetic::default().make();
/// let ideal = evaluate(&set, &set.all(), &set.grades, &["ndcg@10".parse()?], &Convention::STANDARD)?;
/// assert_eq!(ideal.mean(0), 1.0);
/// # Ok::<(), ordain::Error>(())
/// ```
pub fn evaluate(
    set: &RankSet,
    units: &[u32],
    scores: &[f64],
    metrics: &[Metric],
    by: &Convention,
) -> Result<Evaluation> {
    let max_grade = units.iter().flat_map(|&q| &set.grades[set.span(q as usize)]).fold(0.0f64, |a, &b| a.max(b));
    evaluate_part(set, units, scores, metrics, by, max_grade)
}

/// The same of queries that are a part of those that are measured together, whose largest grade is given (0 if it is less).
pub(crate) fn evaluate_part(
    set: &RankSet,
    units: &[u32],
    scores: &[f64],
    metrics: &[Metric],
    by: &Convention,
    max_grade: f64,
) -> Result<Evaluation> {
    set.need_truth()?;
    metrics.iter().try_for_each(|metric| metric.need_rankings())?;
    if let Some(metric) = metrics.iter().find(|metric| metric.kind != Kind::Pairs && !set.graded) {
        return Err(Error::Data {
            expected: format!("grades, which {metric} goes by (pairs goes by preferences)"),
            found: "preferences alone".into(),
        });
    }
    if scores.len() != set.rows() {
        let expected = format!("{} scores, one per document", set.rows());
        return Err(Error::Data { expected, found: scores.len().to_string() });
    }
    for &q in units {
        let span = set.span(q as usize);
        finite(&scores[span.clone()], |i| set.place(span.start + i))?;
    }
    let rows: Result<Vec<Vec<Option<f64>>>> = units
        .par_iter()
        .map(|&q| {
            let span = set.span(q as usize);
            let query = Query {
                grades: &set.grades[span.clone()],
                scores: &scores[span.clone()],
                unretrieved: &[],
                id: &|i| set.document(span.start + i),
            };
            let mut values = query.measure(metrics, by, max_grade)?;
            if let Some(preferences) = set.preferences() {
                let of_pairs = metrics.iter().zip(&mut values).filter(|(metric, _)| metric.kind == Kind::Pairs);
                of_pairs.for_each(|(_, value)| *value = query.preferred(preferences.of(span.clone()), by));
            }
            Ok(values)
        })
        .collect();
    Ok(transposed(metrics, rows?))
}

/// Measures a TREC run against its judgements.
pub fn evaluate_run(run: &crate::data::trec::Run, metrics: &[Metric], by: &Convention) -> Result<Evaluation> {
    metrics.iter().try_for_each(|metric| metric.need_rankings())?;
    for q in &run.queries {
        finite(&q.scores, |i| format!("query {:?}, document {:?}", q.query, q.documents[i]))?;
    }
    let grades = run.queries.iter().flat_map(|q| q.grades.iter().chain(&q.unretrieved));
    let max_grade = grades.fold(0.0f64, |a, &b| a.max(b));
    let rows: Result<Vec<_>> = run
        .queries
        .iter()
        .map(|q| {
            let id = |i: usize| std::borrow::Cow::Borrowed(q.documents[i].as_str());
            Query { grades: &q.grades, scores: &q.scores, unretrieved: &q.unretrieved, id: &id }
                .measure(metrics, by, max_grade)
        })
        .collect();
    Ok(transposed(metrics, rows?))
}

/// Refuses scores that are not finite: they have no place in an order.
fn finite(scores: &[f64], place: impl Fn(usize) -> String) -> Result<()> {
    match scores.iter().position(|s| !s.is_finite()) {
        None => Ok(()),
        Some(i) => Err(Error::Score {
            place: place(i),
            score: scores[i],
            cure: "a score that is not a number has no place in an order: give every row a finite one",
        }),
    }
}

fn transposed(metrics: &[Metric], rows: Vec<Vec<Option<f64>>>) -> Evaluation {
    Evaluation {
        metrics: metrics.to_vec(),
        values: (0..metrics.len()).map(|m| rows.iter().map(|row| row[m]).collect()).collect(),
        calibration: vec![],
        items: vec![],
    }
}
