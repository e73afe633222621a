//! CSV and TSV of points: `problem,side,id,x,y`, or `frame,point,x,y` with a file of pairs of frames.

use crate::data::columns::once;
use crate::data::matches::point_features::{Cloud, PointFeature, Prepared, problem};
use crate::data::matches::read::{MatchReading, Part, Split};
use crate::data::strings::short;
use crate::data::table::{Format, Table};
use crate::data::{Columns, MatchSet, Missing, Truth};
use crate::error::{Error, Result, Way};
use crate::matrix::{Features, Matrix};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// The largest coordinate: its square is still an `f32`.
pub(in crate::data) const LARGEST: f64 = 1e18;
/// The most values that are made: 8 GB.
const VALUES: usize = 1 << 31;
/// How the two sides are written.
const STYLES: [[&str; 2]; 5] = [["left", "right"], ["l", "r"], ["a", "b"], ["0", "1"], ["1", "2"]];

/// The columns that a file of points has beside its descriptors; the last two are `x` and `y`.
pub(in crate::data) const SIDES: [&str; 5] = ["problem", "side", "id", "x", "y"];
pub(in crate::data) const FRAMES: [&str; 4] = ["frame", "point", "x", "y"];

/// A file of points.
pub(in crate::data) struct Points {
    /// In order of first appearance.
    pub(in crate::data) clouds: Vec<Cloud>,
    pub(in crate::data) names: Names,
    pub(in crate::data) descriptors: Vec<String>,
}

/// What the clouds are.
pub(in crate::data) enum Names {
    /// Frames by name.
    Frames(Vec<String>),
    /// The problem of each cloud, whether it is the right side, and whether problems were named at all.
    Sides(Vec<(String, bool)>, bool),
}

/// Whether a header is that of points.
pub(in crate::data) fn is_points(has: impl Fn(&str) -> bool) -> bool {
    SIDES[1..].iter().all(|name| has(name)) || FRAMES.iter().all(|name| has(name))
}

pub(in crate::data) fn read(path: &Path, mut rows: Table, missing: Missing) -> Result<Points> {
    let header = rows.header.clone();
    let find = |name: &str| header.iter().position(|h| h.eq_ignore_ascii_case(name));
    let sides = SIDES[1..].iter().all(|name| find(name).is_some());
    let (group, side, id) = match sides {
        true => (find("problem"), find("side"), find("id")),
        false => (find("frame"), None, find("point")),
    };
    let (Some(id), Some(x), Some(y)) = (id, find("x"), find("y")) else {
        return Err(crate::data::matches::read::no_format(path, &header));
    };
    let special = [group, side, Some(id), Some(x), Some(y)];
    let further: Vec<usize> = (0..header.len()).filter(|&j| !special.contains(&Some(j))).collect();
    once(path, "column", &header)?;
    let again = |j: &&usize| special.iter().flatten().any(|&k| header[**j].eq_ignore_ascii_case(&header[k]));
    if let Some(&twice) = further.iter().find(again) {
        let found = format!("{:?} twice", short(&header[twice]));
        return Err(Error::Content { path: path.into(), expected: "each column name once".into(), found });
    }
    let descriptors = rows.select(&further, &special.iter().flatten().copied().collect::<Vec<_>>())?;
    let mut clouds: Vec<Cloud> = vec![];
    let mut index: HashMap<(Box<[u8]>, usize), usize> = HashMap::new();
    let (mut groups, mut seen) = (vec![], vec![]);
    let mut styles: Vec<usize> = (0..STYLES.len()).collect();
    while let Some(record) = rows.next()? {
        let refuse = |j: usize, expected: String| record.refuse(j, expected);
        let word = |j: usize, what: &str| match record.word(j) {
            None => Err(refuse(j, format!("{what} in UTF-8"))),
            Some(word) if word.is_empty() => Err(refuse(j, what.into())),
            Some(word) => Ok(word.into_owned()),
        };
        let name = match group {
            Some(j) => word(j, if sides { "the name of a problem" } else { "the name of a frame" })?,
            None => "1".into(),
        };
        let hand = match side {
            None => 0,
            Some(j) => {
                let has = |style: usize, k: usize| record.text(j).eq_ignore_ascii_case(STYLES[style][k].as_bytes());
                let fits: Vec<usize> = styles.iter().copied().filter(|&style| has(style, 0) || has(style, 1)).collect();
                if fits.is_empty() {
                    let shown: Vec<String> = styles.iter().map(|&s| STYLES[s].join(" or ")).collect();
                    let way = if styles.len() < STYLES.len() { ", as in the rows before" } else { "" };
                    return Err(refuse(j, format!("a side: {}{way}", shown.join("; "))));
                }
                styles = fits;
                // 1 may be the left of 1 and 2 or the right of 0 and 1: what it is shows in the end
                let token = STYLES.iter().flatten().position(|t| record.text(j).eq_ignore_ascii_case(t.as_bytes()));
                token.unwrap_or(0)
            }
        };
        let at = *index.entry((name.as_bytes().into(), hand)).or_insert_with(|| {
            groups.push((name, hand));
            seen.push(HashMap::<String, usize>::new());
            clouds.push(Cloud::default());
            clouds.len() - 1
        });
        let point = word(id, "the id of a point")?;
        if let Some(first) = seen[at].insert(point.clone(), record.line()) {
            return Err(refuse(
                id,
                format!("each point of a {} once (the first is on line {first})", if sides { "side" } else { "frame" }),
            ));
        }
        let coordinate = |j: usize| match record.number(j) {
            Some(x) if x.abs() <= LARGEST => Ok(x),
            _ => Err(refuse(j, "a coordinate (a finite number, at most 1e18)".into())),
        };
        clouds[at].places.push([coordinate(x)?, coordinate(y)?]);
        clouds[at].ids.push(point);
        record.features(missing != Missing::Error, &mut clouds[at].descriptors)?;
    }
    if clouds.is_empty() {
        let found = "none: the file has no rows".into();
        return Err(Error::Content { path: path.into(), expected: "points".into(), found });
    }
    let is_right = |token: usize| STYLES.as_flattened()[token].eq_ignore_ascii_case(STYLES[styles[0]][1]);
    let names = match sides {
        true => {
            Names::Sides(groups.into_iter().map(|(name, token)| (name, is_right(token))).collect(), group.is_some())
        }
        false => Names::Frames(groups.into_iter().map(|(name, _)| name).collect()),
    };
    Ok(Points { clouds, names, descriptors })
}

/// A pair of frames.
struct Pair {
    name: String,
    frames: [usize; 2],
    split: Option<Split>,
}

/// The features that are asked for; without any, shape contexts, and descriptors if there are any.
fn wanted(asked: &[PointFeature], descriptors: &[String]) -> Vec<PointFeature> {
    match (asked, descriptors) {
        ([], []) => vec![PointFeature::ShapeContext],
        ([], _) => vec![PointFeature::ShapeContext, PointFeature::Descriptors],
        (asked, _) => asked.to_vec(),
    }
}

impl MatchSet {
    /// The problem of matching two clouds of points, all pairs allowed; points with the same id are matched.
    ///
    /// Without features, shape contexts are made, and descriptors where there are names of them. The right points stand in
    /// an order of their own, as they do where a file of points is read.
    ///
    /// # Errors
    ///
    /// [`Error::Data`] for coordinates that are not finite or above 1e18, and counts that do not fit.
    ///
    /// ```
    /// use ordain::data::{Cloud, MatchSet, PointFeature};
    /// let ids: Vec<String> = ["a", "b", "c"].map(String::from).to_vec();
    /// let left = Cloud { ids: ids.clone(), places: vec![[0.0, 0.0], [4.0, 1.0], [2.0, 5.0]], descriptors: vec![] };
    /// let right = Cloud { ids, places: vec![[0.0, 1.0], [4.0, 1.0], [3.0, 5.0]], descriptors: vec![] };
    /// let set = MatchSet::of_points("p", [&left, &right], &[], &[PointFeature::Coordinates])?;
    /// assert_eq!((set.edges(), set.features.cols()), (9, 4));
    /// # Ok::<(), ordain::Error>(())
    /// ```
    pub fn of_points(
        name: &str,
        sides: [&Cloud; 2],
        descriptors: &[String],
        features: &[PointFeature],
    ) -> Result<Self> {
        let refuse = |expected: String, found: String| Err(Error::Data { expected, found });
        let features = wanted(features, descriptors);
        if features.contains(&PointFeature::Descriptors) && descriptors.is_empty() {
            return refuse("further columns for the feature descriptors".into(), "x and y alone".into());
        }
        for (side, cloud) in ["left", "right"].into_iter().zip(sides) {
            let n = cloud.ids.len();
            if cloud.places.len() != n || cloud.descriptors.len() != n * descriptors.len() {
                return refuse(
                    format!("{n} {side} points with {} descriptors each", descriptors.len()),
                    format!("{} places and {} values", cloud.places.len(), cloud.descriptors.len()),
                );
            }
            let wrong = |place: &[f64; 2]| !place.iter().all(|x| x.abs() <= LARGEST);
            if let Some(i) = cloud.places.iter().position(wrong) {
                return refuse(
                    format!("{side} point {i}: coordinates (finite numbers, at most 1e18)"),
                    format!("{:?}", cloud.places[i]),
                );
            }
        }
        let names: Vec<String> = features.iter().flat_map(|feature| feature.columns(descriptors)).collect();
        let edges = sides[0].ids.len().saturating_mul(sides[1].ids.len());
        if edges.saturating_mul(names.len()) > VALUES {
            return refuse(
                format!("at most {VALUES} values in all: fewer points or features"),
                format!("{edges} pairs of points with {} features", names.len()),
            );
        }
        let [left, right] = sides.map(|cloud| Prepared::new(cloud, &features));
        let mut values = Vec::with_capacity(edges * names.len());
        let problem = problem(name.into(), &left, &right, &features, &mut values);
        let features = Features::Dense(Matrix::new(values, names.len()));
        Self::new(features, Columns::named(names), vec![problem])
    }
}

/// The problems of a file of points.
pub(in crate::data) fn problems(path: &Path, table: Table, reading: &MatchReading) -> Result<Part> {
    let points = read(path, table, reading.missing)?;
    let content = |expected: &str, found: &str| Error::Content {
        path: path.into(),
        expected: expected.into(),
        found: found.into(),
    };
    let features = wanted(&reading.features, &points.descriptors);
    if features.contains(&PointFeature::Descriptors) && points.descriptors.is_empty() {
        return Err(content("further columns for the feature descriptors", "x and y alone"));
    }
    let names: Vec<String> = features.iter().flat_map(|feature| feature.columns(&points.descriptors)).collect();
    once(path, "feature", &names)?;
    let (pairs, named) = match (&points.names, &reading.pairs) {
        (Names::Frames(frames), Some(pairs)) => (read_pairs(pairs, path, frames)?, true),
        (Names::Frames(_), None) => {
            let way = Way::new("pairs", ["FILE"], "says which frames belong together");
            return Err(content("pairs of frames", "frames alone").or(way));
        }
        (Names::Sides(..), Some(_)) => {
            return Err(content(
                "points of frames (frame,point,x,y), to which a list of pairs belongs",
                "problems with sides",
            ));
        }
        (Names::Sides(sides, named), None) => (sides_of(sides), *named),
    };
    let cut = pairs.first().is_some_and(|pair| pair.split.is_some());
    let kept = |pair: &Pair| pair.split.is_none_or(|split| reading.only.is_empty() || reading.only.contains(&split));
    let pairs: Vec<Pair> = pairs.into_iter().filter(kept).collect();
    if pairs.is_empty() {
        let names: Vec<&str> = reading.only.iter().map(|split| split.name()).collect();
        return Err(Error::Content {
            path: reading.pairs.clone().unwrap_or_default(),
            expected: format!("pairs of the split {}", names.join(" or ")),
            found: "none".into(),
        });
    }
    let empty = Cloud::default();
    let cloud = |i: usize| points.clouds.get(i).unwrap_or(&empty);
    let size = |pair: &Pair| cloud(pair.frames[0]).ids.len() * cloud(pair.frames[1]).ids.len();
    let edges: usize = pairs.iter().map(size).fold(0, usize::saturating_add);
    if edges.saturating_mul(names.len()) > VALUES {
        return Err(content(
            &format!("at most {VALUES} values in all: fewer points, pairs or features"),
            &format!("{edges} pairs of points with {} features", names.len()),
        ));
    }
    let used: HashSet<usize> = pairs.iter().flat_map(|pair| pair.frames).collect();
    // the last one is the side that a problem may lack
    let prepared: Vec<Prepared> = (0..=points.clouds.len())
        .map(|i| Prepared::new(if used.contains(&i) { cloud(i) } else { &empty }, &features))
        .collect();
    let mut values = Vec::with_capacity(edges * names.len());
    let splits = cut.then(|| pairs.iter().filter_map(|pair| pair.split).collect());
    let mut problems = vec![];
    for Pair { name, frames: [a, b], .. } in pairs {
        problems.push(problem(name, &prepared[a], &prepared[b], &features, &mut values));
    }
    if !problems.iter().any(|problem| problem.matched().next().is_some()) {
        // no id is on both sides anywhere: they are numbers of their own, and tell nothing
        problems.iter_mut().for_each(|problem| problem.truth.fill(Truth::Unknown));
    }
    let matrix = Features::Dense(Matrix::new(values, names.len()));
    Ok(Part { features: matrix, columns: Columns::named(names), problems, named, splits })
}

/// The two sides of each problem; where there is none, the number after the last cloud.
fn sides_of(sides: &[(String, bool)]) -> Vec<Pair> {
    let (mut out, mut index) = (Vec::<Pair>::new(), HashMap::<&str, usize>::new());
    for (cloud, (name, right)) in sides.iter().enumerate() {
        let at = *index.entry(name).or_insert_with(|| {
            out.push(Pair { name: name.clone(), frames: [sides.len(); 2], split: None });
            out.len() - 1
        });
        out[at].frames[usize::from(*right)] = cloud;
    }
    out
}

/// Pairs of frames: `frame_a`, `frame_b`, and if they are there `split` and `problem`; other columns are ignored.
fn read_pairs(path: &Path, points: &Path, frames: &[String]) -> Result<Vec<Pair>> {
    let mut rows = Table::open(path, Format::of(path).unwrap_or(Format::Text(b',')))?;
    let header = rows.header.clone();
    rows.select(&[], &(0..header.len()).collect::<Vec<_>>())?;
    let find = |name: &str| header.iter().position(|h| h.eq_ignore_ascii_case(name));
    let (Some(a), Some(b)) = (find("frame_a"), find("frame_b")) else {
        return Err(Error::Parse {
            path: path.into(),
            line: 1,
            column: 1,
            expected: "a header with the columns frame_a and frame_b (and split, problem)".into(),
            found: crate::data::table::shown(&header),
        });
    };
    let (split, named) = (find("split"), find("problem"));
    let index: HashMap<&str, usize> = frames.iter().map(String::as_str).zip(0..).collect();
    let (mut pairs, mut used) = (vec![], HashSet::new());
    while let Some(record) = rows.next()? {
        let refuse = |j: usize, expected: String| record.refuse(j, expected);
        let word = |j: usize| record.word(j).ok_or_else(|| refuse(j, "UTF-8".into()));
        let frame = |j: usize| {
            let frame = index.get(&*word(j)?).copied();
            frame.ok_or_else(|| refuse(j, format!("a frame of {}", points.display())))
        };
        let split = match split {
            None => None,
            Some(j) => Some(
                Split::parse(&word(j)?)
                    .ok_or_else(|| refuse(j, "train, validate (valid, validation) or test".into()))?,
            ),
        };
        let name = match named.map(word).transpose()? {
            Some(name) if !name.is_empty() => name.into_owned(),
            _ => format!("{}-{}", word(a)?, word(b)?),
        };
        let again = (2u32..).map(|k| format!("{name}#{k}"));
        let name = std::iter::once(name.clone()).chain(again).find(|name| !used.contains(name)).unwrap_or_default();
        used.insert(name.clone());
        pairs.push(Pair { name, frames: [frame(a)?, frame(b)?], split });
    }
    if pairs.is_empty() {
        let found = "none: the file has no rows".into();
        return Err(Error::Content { path: path.into(), expected: "pairs of frames".into(), found });
    }
    Ok(pairs)
}
