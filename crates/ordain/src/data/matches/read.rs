//! From files to one [`MatchSet`]: each file is read by its header, and the parts are joined by the names of columns.

use crate::data::columns::stacked;
use crate::data::matches::points;
use crate::data::matches::rows;
use crate::data::sniff::{column_names, kind};
use crate::data::strings::short;
use crate::data::table::{Format, Roles, Table, shown};
use crate::data::{Columns, MatchSet, Missing, PointFeature, Problem, Texts};
use crate::error::{Error, Result};
use crate::matrix::Features;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What the problems of a file of pairs are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Split {
    /// Training.
    Train,
    /// Choosing settings.
    Validate,
    /// The last measurement.
    Test,
}

impl Split {
    /// All of them, in order.
    pub const ALL: &'static [Self] = &[Self::Train, Self::Validate, Self::Test];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Validate => "validate",
            Self::Test => "test",
        }
    }

    pub(in crate::data) fn parse(word: &str) -> Option<Self> {
        match word.to_ascii_lowercase().as_str() {
            "train" => Some(Self::Train),
            "validate" | "valid" | "validation" => Some(Self::Validate),
            "test" => Some(Self::Test),
            _ => None,
        }
    }
}

/// How files of problems are to be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MatchReading {
    /// What an absent value means.
    pub missing: Missing,
    /// What is made of points; empty: shape contexts, and descriptors if there are any. A table of edges has its own.
    pub features: Vec<PointFeature>,
    /// Which frames belong together, for points of frames: a table `frame_a,frame_b` with `split` if there is one.
    pub pairs: Option<PathBuf>,
    /// Only problems of these splits, where the pairs have any; empty: all.
    pub only: Vec<Split>,
    /// Of a table of edges: which column means what.
    pub roles: Roles,
    /// The features of a model for which a file is read; its roles are those of the model.
    pub model: Option<Vec<String>>,
    /// Where cells that are no numbers are kept.
    pub texts: Texts,
}

/// What one file holds.
pub(in crate::data) struct Part {
    pub(in crate::data) features: Features,
    pub(in crate::data) columns: Columns,
    pub(in crate::data) problems: Vec<Problem>,
    /// Whether the file names its problems.
    pub(in crate::data) named: bool,
    /// The split of each problem.
    pub(in crate::data) splits: Option<Vec<Split>>,
}

/// Reads files of problems as one set; each part is a list of files, and its problems are a range of the set.
///
/// A file is CSV or, by its name, TSV. Its header tells what it is: a table of edges
/// (`problem,left,right,<features…>,matched`), points of two sides (`problem,side,id,x,y`), or points of frames
/// (`frame,point,x,y`), for which `reading.pairs` is needed; see `docs/formats.md`. Columns are put right by name; files
/// that name others are refused, and so is a problem that is in two files of a part. With `missing` other than
/// [`Missing::Error`] gaps are kept as NaN for [`MatchSet::fill_missing`].
///
/// Cost: one pass over each file; points make one row for each pair of a left and a right point.
///
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// use ordain::data::{MatchReading, Truth, read_matches};
/// let path = dir.path().join("links.csv");
/// std::fs::write(&path, "problem,left,right,likeness,matched\np,a,x,0.9,1\np,b,x,0.2,0\np,b,y,0.4,\n").unwrap();
/// let (set, parts) = read_matches(&[vec![path]], &MatchReading::default())?;
/// let problem = set.problem(0);
/// assert_eq!((problem.left.len(), problem.right.len(), parts), (2, 2, vec![0..1]));
/// assert_eq!(problem.find_edge(0, 1), None); // a - y is not listed, so it is forbidden
/// assert_eq!(problem.truth, [Truth::Yes, Truth::No, Truth::Unknown]);
/// # Ok::<(), ordain::Error>(())
/// ```
pub fn read_matches(parts: &[Vec<PathBuf>], reading: &MatchReading) -> Result<(MatchSet, Vec<Range<usize>>)> {
    let (mut all, mut ranges, mut count) = (vec![], vec![], 0);
    for paths in parts {
        let start = count;
        let mut names: HashMap<String, &Path> = HashMap::new();
        for path in paths {
            let mut part = file(path, reading)?;
            apart(path, &mut part, &mut names)?;
            count += part.problems.len();
            all.push((path.as_path(), part));
        }
        ranges.push(start..count);
    }
    reading.texts.finish()?;
    Ok((join(all)?, ranges))
}

/// Reads points of frames, or anything else, with the problems in the order of their splits: train, validate, test.
///
/// The three ranges are `None` where the pairs have no `split` column: then all problems are there, in order. A split
/// that is not in the file, or that `reading.only` leaves out, is an empty range.
///
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// use ordain::data::{MatchReading, read_match_splits};
/// let (points, pairs) = (dir.path().join("points.csv"), dir.path().join("pairs.csv"));
/// std::fs::write(&points, "frame,point,x,y\n1,0,0,0\n1,1,4,1\n1,2,2,5\n2,0,0,1\n2,1,4,1\n2,2,3,5\n").unwrap();
/// std::fs::write(&pairs, "frame_a,frame_b,split\n1,2,test\n1,1,train\n2,1,train\n").unwrap();
/// let reading = MatchReading { pairs: Some(pairs), ..MatchReading::default() };
/// let (set, splits) = read_match_splits(&[points], &reading)?;
/// assert_eq!(splits, Some([0..2, 2..2, 2..3]));
/// assert_eq!((set.problem(2).name.as_str(), set.edges(), set.columns.names.len()), ("1-2", 27, 60));
/// # Ok::<(), ordain::Error>(())
/// ```
pub fn read_match_splits(paths: &[PathBuf], reading: &MatchReading) -> Result<(MatchSet, Option<[Range<usize>; 3]>)> {
    let (mut all, mut names, mut splits) = (vec![], HashMap::new(), Some(vec![]));
    for path in paths {
        let mut part = file(path, reading)?;
        apart(path, &mut part, &mut names)?;
        splits = splits.zip(part.splits.clone()).map(|(mut all, more)| {
            all.extend(more);
            all
        });
        all.push((path.as_path(), part));
    }
    let set = join(all)?;
    let Some(splits) = splits else { return Ok((set, None)) };
    let mut order = set.all();
    let mut end = 0;
    let ranges = [Split::Train, Split::Validate, Split::Test].map(|split| {
        let start = end;
        end += splits.iter().filter(|&&other| other == split).count();
        start..end
    });
    if splits.is_sorted() {
        return Ok((set, Some(ranges)));
    }
    order.sort_by_key(|&p| splits[p as usize]);
    Ok((set.only(&order), Some(ranges)))
}

/// Whether a file holds problems of matching, as far as its header tells: the columns `left` and `right`, or `side`,
/// `id`, `x` and `y`, or `frame`, `point`, `x` and `y`, and neither `qid` nor `labels`.
///
/// Only CSV and TSV does; what cannot be read does not. A stream still has its beginning after the look.
///
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// let path = dir.path().join("points.csv");
/// std::fs::write(&path, "frame,point,x,y\n1,0,208.6,341.1\n").unwrap();
/// assert!(ordain::data::is_matches(&path));
/// ```
pub fn is_matches(path: &Path) -> bool {
    column_names(path).is_some_and(|names| has_matches(&names))
}

/// Whether a table holds problems of matching, by the names of its columns in small letters.
pub(in crate::data) fn has_matches(names: &HashSet<String>) -> bool {
    let has = |name: &str| names.contains(name);
    !has("qid") && !has("labels") && (has("left") && has("right") || points::is_points(has))
}

/// Whether a file holds points of frames, as far as its header tells: the columns `frame`, `point`, `x` and `y`, and no
/// edges. What cannot be read does not. A stream still has its beginning after the look.
pub fn is_frames(path: &Path) -> bool {
    let Some(names) = column_names(path) else { return false };
    points::FRAMES.iter().all(|&name| names.contains(name)) && !names.contains("left")
}

/// The refusal of a header that is none of the three.
pub(in crate::data) fn no_format(path: &Path, header: &[String]) -> Error {
    Error::Parse {
        path: path.into(),
        line: 1,
        column: 1,
        expected: "a header with the columns left and right (edges), side, id, x and y (points of two sides), or frame, point, x and y (points of frames)".into(),
        found: shown(header),
    }
}

/// The format of a table, by its name; refuses what is no table.
pub(in crate::data) fn format(path: &Path) -> Result<Format> {
    let kind = kind(path);
    match kind.as_str() {
        "arff" | "xml" | "json" | "jsonl" | "html" | "ordain" | "run" | "qrels" | "qrel" => Err(Error::Content {
            path: path.into(),
            expected: "a table: CSV, TSV, Parquet or Feather".into(),
            found: format!("a .{kind} file"),
        }),
        _ => Ok(Format::named(&kind).unwrap_or(Format::Text(b','))),
    }
}

fn file(path: &Path, reading: &MatchReading) -> Result<Part> {
    let content = |expected: &str, found: &str| {
        Err(Error::Content { path: path.into(), expected: expected.into(), found: found.into() })
    };
    let table = Table::open(path, format(path)?)?;
    let has = |name: &str| table.header.iter().any(|h| h.eq_ignore_ascii_case(name));
    let (edges, points) = (rows::has_edges(&table.header, reading), points::is_points(has));
    if !(edges || points) {
        return Err(no_format(path, &table.header));
    }
    let part = match edges {
        true if reading.pairs.is_some() => {
            return content("points of frames (frame,point,x,y), to which a list of pairs belongs", "a table of edges");
        }
        true => rows::read(path, table, reading)?,
        false if reading.model.is_none() && !reading.roles.is_empty() => {
            return content("a table of edges, whose columns can be named", "points");
        }
        false => points::problems(path, table, reading)?,
    };
    if part.columns.names.is_empty() {
        return content("features", "edges without any");
    }
    if part.features.rows() == 0 {
        return content("edges", "none");
    }
    Ok(part)
}

/// Refuses a problem that another file of the part has; numbers problems that have no name of their own.
fn apart<'a>(path: &'a Path, part: &mut Part, names: &mut HashMap<String, &'a Path>) -> Result<()> {
    if !part.named {
        for problem in &mut part.problems {
            let free = (1u32..).map(|k| k.to_string()).find(|name| !names.contains_key(name));
            problem.name = free.unwrap_or_default();
        }
    }
    for problem in &part.problems {
        if let Some(other) = names.insert(problem.name.clone(), path) {
            return Err(Error::Content {
                path: path.into(),
                expected: format!("other problems than {} has", other.display()),
                found: format!("{:?} in both", short(&problem.name)),
            });
        }
    }
    Ok(())
}

/// One set of all parts, in the order of the columns of the first.
fn join(mut parts: Vec<(&Path, Part)>) -> Result<MatchSet> {
    if parts.len() <= 1 {
        let Some((_, part)) = parts.pop() else {
            return Err(Error::Data { expected: "files".into(), found: "none".into() });
        };
        return MatchSet::new(part.features, part.columns, part.problems);
    }
    let edges: usize = parts.iter().map(|(_, part)| part.features.rows()).sum();
    if edges > u32::MAX as usize {
        return Err(Error::Data { expected: "at most 4294967295 edges in all".into(), found: edges.to_string() });
    }
    let shown = |name: &String| short(name).escape_debug().to_string();
    let (path, mut columns) = (parts[0].0, parts[0].1.columns.clone());
    parts[1..].iter().for_each(|(_, part)| columns.also_coarse(&part.columns.coarse));
    let known: HashSet<&String> = columns.names.iter().collect();
    let (mut features, mut problems) = (vec![], vec![]);
    for (other, part) in parts {
        let places: HashMap<&str, u32> = part.columns.names.iter().map(String::as_str).zip(0..).collect();
        let extra: Vec<String> = part.columns.names.iter().filter(|name| !known.contains(name)).map(shown).collect();
        let from: Vec<Option<u32>> = columns.names.iter().map(|name| places.get(name.as_str()).copied()).collect();
        let missing: Vec<String> =
            columns.names.iter().zip(&from).filter(|(_, j)| j.is_none()).map(|(name, _)| shown(name)).collect();
        if !(extra.is_empty() && missing.is_empty()) {
            let differ = Error::Features { missing, extra };
            let expected = format!("the columns of {}", path.display());
            return Err(Error::Content { path: other.into(), expected, found: format!("others: {differ}") });
        }
        let same = part.columns.names == columns.names;
        features.push(if same { part.features } else { part.features.select_columns(&from) });
        problems.extend(part.problems);
    }
    let features = stacked(features, columns.names.len());
    MatchSet::new(features, columns, problems)
}
