//! Features of pairs of points, made from the two sets that the points are in.

use crate::data::matches::delaunay::delaunay_degrees;
use crate::data::matches::shape_context::{BINS, Context, normalised, shape_contexts};
use crate::data::strings::short;
use crate::data::{Columns, Problem, Truth};
use crate::error::{Error, Result};
use crate::random::Random;
use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

/// A group of columns that is made for every pair of a left and a right point.
///
/// ```
/// use ordain::data::PointFeature;
/// assert_eq!(PointFeature::list("coordinates,degree")?, [PointFeature::Coordinates, PointFeature::Degree]);
/// let error = "shape_context".parse::<PointFeature>().unwrap_err();
/// assert_eq!(error.to_string(), "unknown feature of points \"shape_context\": did you mean \"shape-context\"?");
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointFeature {
    /// `shape-context`: the squared differences of the 60 counts, `context0` to `context59`.
    ShapeContext,
    /// `shape-context-abs`: the absolute differences of the 60 counts, `abs_context0` to `abs_context59`.
    ShapeContextAbs,
    /// `coordinates`: `dx`, `dy`, `dx2`, `dy2`, the absolute and the squared differences of normalised coordinates.
    Coordinates,
    /// `degree`: the absolute difference of the degrees in the Delaunay graph.
    Degree,
    /// `descriptors`: the absolute difference of every further column of the file, by its name.
    Descriptors,
}

const COORDINATES: [&str; 4] = ["dx", "dy", "dx2", "dy2"];
const CONTEXT: &str = "context";
const ABS_CONTEXT: &str = "abs_context";
const DEGREE: &str = "degree";

impl PointFeature {
    /// All of them.
    pub const ALL: &'static [Self] =
        &[Self::ShapeContext, Self::ShapeContextAbs, Self::Coordinates, Self::Degree, Self::Descriptors];

    /// The name by which it is asked for.
    pub fn name(self) -> &'static str {
        match self {
            Self::ShapeContext => "shape-context",
            Self::ShapeContextAbs => "shape-context-abs",
            Self::Coordinates => "coordinates",
            Self::Degree => "degree",
            Self::Descriptors => "descriptors",
        }
    }

    /// A list between commas, as `--features` takes it.
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`] for a name that is none, [`Error::Setting`] for an empty list or a name twice.
    pub fn list(text: &str) -> Result<Vec<Self>> {
        let mut out: Vec<Self> = vec![];
        for name in text.split(',').map(str::trim_ascii) {
            let feature = match name {
                "" => None,
                name => Some(name.parse()?),
            };
            match feature.filter(|feature| !out.contains(feature)) {
                Some(feature) => out.push(feature),
                None => {
                    return Err(Error::Setting {
                        name: "features".into(),
                        expected: "names between commas, each once".into(),
                        found: short(text),
                    });
                }
            }
        }
        Ok(out)
    }

    /// The names of its columns.
    pub(in crate::data) fn columns(self, descriptors: &[String]) -> Vec<String> {
        let numbered = |name: &str| (0..BINS).map(|k| format!("{name}{k}")).collect();
        match self {
            Self::ShapeContext => numbered(CONTEXT),
            Self::ShapeContextAbs => numbered(ABS_CONTEXT),
            Self::Coordinates => COORDINATES.map(String::from).to_vec(),
            Self::Degree => vec![DEGREE.into()],
            Self::Descriptors => descriptors.to_vec(),
        }
    }

    /// The features that have these columns, so that a model knows what to make of points.
    ///
    /// Names that are of no other feature are those of descriptors. `None` where a group is not whole, where
    /// descriptors are in two places, or where there are only indices.
    ///
    /// ```
    /// use ordain::data::{Columns, PointFeature};
    /// let names = ["degree", "dx", "dy", "dx2", "dy2", "red", "green"].map(String::from).to_vec();
    /// let list = PointFeature::of_columns(&Columns::named(names));
    /// assert_eq!(list, Some(vec![PointFeature::Degree, PointFeature::Coordinates, PointFeature::Descriptors]));
    /// ```
    pub fn of_columns(columns: &Columns) -> Option<Vec<Self>> {
        let (mut out, mut rest) = (vec![], &columns.names[..]);
        let made = [Self::ShapeContext, Self::ShapeContextAbs, Self::Coordinates, Self::Degree];
        let groups = made.map(|feature| (feature, feature.columns(&[])));
        let of_group = |name: &String| groups.iter().find(|(_, names)| names.contains(name));
        while let Some(first) = rest.first() {
            let (feature, len) = match of_group(first) {
                Some((feature, names)) => (*feature, rest.starts_with(names).then_some(names.len())?),
                None => {
                    let len = rest.iter().position(|name| of_group(name).is_some()).unwrap_or(rest.len());
                    (Self::Descriptors, len)
                }
            };
            if out.contains(&feature) {
                return None;
            }
            out.push(feature);
            rest = &rest[len..];
        }
        (!out.is_empty() && !columns.numbered).then_some(out)
    }
}

impl fmt::Display for PointFeature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for PointFeature {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Self::ALL.iter().copied().find(|feature| feature.name() == name);
        found.ok_or_else(|| Error::unknown("feature of points", &short(name), Self::ALL.iter().map(|one| one.name())))
    }
}

/// The points of one side or frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cloud {
    /// Their ids.
    pub ids: Vec<String>,
    /// Where they are.
    pub places: Vec<[f64; 2]>,
    /// What else is known of them, row by row; NaN where a value is missing.
    pub descriptors: Vec<f32>,
}

/// A cloud with what the features of pairs are made from.
pub(in crate::data) struct Prepared<'a> {
    cloud: &'a Cloud,
    width: usize,
    contexts: Vec<Context>,
    places: Vec<[f64; 2]>,
    degrees: Vec<u32>,
}

impl<'a> Prepared<'a> {
    /// Makes what these features need, once for a cloud that may be in many problems.
    pub(in crate::data) fn new(cloud: &'a Cloud, features: &[PointFeature]) -> Self {
        let has = |wanted: &[PointFeature]| features.iter().any(|feature| wanted.contains(feature));
        let contexts = has(&[PointFeature::ShapeContext, PointFeature::ShapeContextAbs]);
        Self {
            cloud,
            width: cloud.descriptors.len() / cloud.ids.len().max(1),
            contexts: if contexts { shape_contexts(&cloud.places) } else { vec![] },
            places: if has(&[PointFeature::Coordinates]) { normalised(&cloud.places) } else { vec![] },
            degrees: if has(&[PointFeature::Degree]) { delaunay_degrees(&cloud.places) } else { vec![] },
        }
    }

    /// Adds the features of the pair of `self`'s point `i` and `other`'s point `j`.
    fn pair(&self, i: usize, other: &Self, j: usize, features: &[PointFeature], out: &mut Vec<f32>) {
        for feature in features {
            match feature {
                PointFeature::ShapeContext => {
                    out.extend(self.contexts[i].iter().zip(&other.contexts[j]).map(|(a, b)| (a - b) * (a - b)));
                }
                PointFeature::ShapeContextAbs => {
                    out.extend(self.contexts[i].iter().zip(&other.contexts[j]).map(|(a, b)| (a - b).abs()));
                }
                PointFeature::Coordinates => {
                    let [dx, dy] = [0, 1].map(|k| (self.places[i][k] - other.places[j][k]).abs());
                    out.extend([dx, dy, dx * dx, dy * dy].map(|x| x as f32));
                }
                PointFeature::Degree => out.push(self.degrees[i].abs_diff(other.degrees[j]) as f32),
                PointFeature::Descriptors => {
                    let row = |cloud: &'a Cloud, i: usize| &cloud.descriptors[i * self.width..(i + 1) * self.width];
                    let (a, b) = (row(self.cloud, i), row(other.cloud, j));
                    // not f32::min, which would drop the NaN of a gap
                    let apart = |a: f32, b: f32| if (a - b).is_infinite() { f32::MAX } else { (a - b).abs() };
                    out.extend(a.iter().zip(b).map(|(&a, &b)| apart(a, b)));
                }
            }
        }
    }
}

/// The problem of matching two clouds, all pairs allowed; its features are added to `values`.
///
/// Points with the same id are matched. The right points are put into an order that depends on the name of the problem
/// alone: the right match is often the identity, and whoever breaks ties by number would find it by chance.
pub(in crate::data) fn problem(
    name: String,
    left: &Prepared,
    right: &Prepared,
    features: &[PointFeature],
    values: &mut Vec<f32>,
) -> Problem {
    let seed = blake3::hash(name.as_bytes()).as_bytes().iter().take(8).fold(0u64, |seed, &b| seed << 8 | u64::from(b));
    let mut order: Vec<usize> = (0..right.cloud.ids.len()).collect();
    Random::new(seed).shuffle(&mut order);
    let partner: HashMap<&str, usize> = order.iter().map(|&j| right.cloud.ids[j].as_str()).zip(0..).collect();
    let (n, m) = (left.cloud.ids.len(), order.len());
    let (mut edges, mut truth) = (Vec::with_capacity(n * m), vec![Truth::No; n * m]);
    for (i, id) in left.cloud.ids.iter().enumerate() {
        if let Some(&place) = partner.get(id.as_str()) {
            truth[i * m + place] = Truth::Yes;
        }
        for (place, &j) in order.iter().enumerate() {
            edges.push((i as u32, place as u32));
            left.pair(i, right, j, features, values);
        }
    }
    let place = |p: &[f64; 2]| p.map(|x| x as f32);
    Problem {
        name,
        left: left.cloud.ids.clone(),
        right: order.iter().map(|&j| right.cloud.ids[j].clone()).collect(),
        edges,
        truth,
        places: Some([
            left.cloud.places.iter().map(place).collect(),
            order.iter().map(|&j| place(&right.cloud.places[j])).collect(),
        ]),
    }
}
