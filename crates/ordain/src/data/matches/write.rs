//! Writing problems of matching: a table of edges, or the shape contexts of points.

use crate::data::atomic::write_whole;
use crate::data::matches::points::{self, FRAMES, Names, SIDES};
use crate::data::matches::read::format;
use crate::data::matches::rows::SPECIAL;
use crate::data::matches::shape_context::{BINS, shape_contexts};
use crate::data::strings::short;
use crate::data::table::Table;
use crate::data::table::csv::{check_writable, headed, table_name};
use crate::data::{MatchSet, Missing, Truth};
use crate::error::{Error, Result};
use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;

/// Writes a set as a table of edges, `.csv` or `.tsv`; `.gz` and `.zst` after that are packed.
///
/// Numbers are written with the fewest digits that give the same `f32` again. The column `matched` is left out where
/// nothing is known of any edge. An item without an edge has no row, and places of points have no column.
///
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// use ordain::data::{MatchReading, read_matches, synthetic::Linkage, write_matches};
/// let set = Linkage { problems: 5, ..Linkage::default() }.make();
/// let path = dir.path().join("links.csv");
/// write_matches(&set, &path)?;
/// let again = read_matches(&[vec![path]], &MatchReading::default())?.0;
/// assert_eq!((again.digest(), again.problem(4).name.as_str()), (set.digest(), "5"));
/// # Ok::<(), ordain::Error>(())
/// ```
pub fn write_matches(set: &MatchSet, path: &Path) -> Result<()> {
    let delimiter = table_name(path)?;
    let refuse = |expected: &str, found: &str| {
        Err(Error::Data { expected: expected.into(), found: format!("{:?}", short(found)) })
    };
    let own = |name: &&String| SPECIAL.iter().any(|special| name.eq_ignore_ascii_case(special));
    if let Some(name) = set.columns.names.iter().find(own) {
        return refuse("no feature named problem, left, right or matched", name);
    }
    let plain = |name: &str| name.trim_start_matches('\u{feff}').trim_ascii() == name && !name.is_empty();
    if let Some(name) = set.columns.names.iter().find(|name| !plain(name)) {
        return refuse("names of features without white space around them", name);
    }
    for problem in set.problems() {
        let ids = std::iter::once(&problem.name).chain(&problem.left).chain(&problem.right);
        if let Some(id) = ids.into_iter().find(|id| id.trim_ascii() != id.as_str() || id.is_empty()) {
            return refuse("names and ids that are not empty, without white space around them", id);
        }
    }
    let ids = set.problems().iter().flat_map(|p| std::iter::once(&p.name).chain(&p.left).chain(&p.right));
    check_writable(&set.columns.names, ids.map(Cow::from))?;
    write_whole(path, |out| edges(set, delimiter, out))
}

fn edges(set: &MatchSet, delimiter: u8, out: &mut dyn Write) -> io::Result<()> {
    use std::fmt::Write as _;
    let labelled = set.labelled();
    let head = SPECIAL[..3].iter().copied().chain(set.columns.names.iter().map(String::as_str));
    let mut out = headed(out, delimiter, head.chain(labelled.then_some(SPECIAL[3])))?;
    let mut values = vec![0.0f32; set.features.cols()];
    let mut text = String::new();
    for (p, problem) in set.problems().iter().enumerate() {
        for ((row, &(i, j)), truth) in set.span(p).zip(&problem.edges).zip(&problem.truth) {
            out.write_field(&problem.name)?;
            out.write_field(&problem.left[i as usize])?;
            out.write_field(&problem.right[j as usize])?;
            values.fill(0.0);
            set.features.each(row, |j, x| values[j] = x);
            for &x in &values {
                text.clear();
                if !x.is_nan() {
                    write!(text, "{x}").map_err(io::Error::other)?;
                }
                out.write_field(&text)?;
            }
            if labelled {
                out.write_field(match truth {
                    Truth::Yes => "1",
                    Truth::No => "0",
                    Truth::Unknown => "",
                })?;
            }
            out.write_record(None::<&[u8]>)?;
        }
    }
    out.flush()
}

/// Writes the shape contexts of the points of a file, `s0` to `s59` beside `frame` and `point`, or beside `problem`,
/// `side` and `id`: the points of a frame together, frames in order of first appearance. Returns the number of points.
///
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// let (points, out) = (dir.path().join("points.csv"), dir.path().join("contexts.csv"));
/// std::fs::write(&points, "frame,point,x,y\n1,0,0,0\n1,1,4,1\n1,2,2,5\n").unwrap();
/// assert_eq!(ordain::data::write_contexts(&points, &out)?, 3);
/// assert!(std::fs::read_to_string(out).unwrap().starts_with("frame,point,s0,s1,"));
/// # Ok::<(), ordain::Error>(())
/// ```
pub fn write_contexts(points: &Path, path: &Path) -> Result<usize> {
    let delimiter = table_name(path)?;
    let read = points::read(points, Table::open(points, format(points)?)?, Missing::Zero)?;
    write_whole(path, |out| {
        let mut out = csv::WriterBuilder::new().delimiter(delimiter).from_writer(out);
        let head = if matches!(read.names, Names::Frames(_)) { &FRAMES[..2] } else { &SIDES[..3] };
        let counts: Vec<String> = (0..BINS).map(|k| format!("s{k}")).collect();
        out.write_record(head.iter().copied().chain(counts.iter().map(String::as_str)))?;
        for (c, cloud) in read.clouds.iter().enumerate() {
            for (id, context) in cloud.ids.iter().zip(shape_contexts(&cloud.places)) {
                match &read.names {
                    Names::Frames(frames) => out.write_field(&frames[c])?,
                    Names::Sides(sides, _) => {
                        out.write_field(&sides[c].0)?;
                        out.write_field(if sides[c].1 { "right" } else { "left" })?;
                    }
                }
                out.write_field(id)?;
                context.iter().try_for_each(|count| out.write_field(count.to_string()))?;
                out.write_record(None::<&[u8]>)?;
            }
        }
        out.flush()
    })?;
    Ok(read.clouds.iter().map(|cloud| cloud.ids.len()).sum())
}
