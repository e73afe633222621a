//! Made-up pictures: points on the outline of a silhouette, sheared, with their shape contexts.

use crate::data::matches::point_features::{Cloud, PointFeature, Prepared, problem};
use crate::data::matches::read::format;
use crate::data::table::Table;
use crate::data::{Columns, MatchSet};
use crate::error::{Error, Result};
use crate::matrix::{Features, Matrix};
use crate::random::Random;
use std::ops::Range;
use std::path::Path;

/// Points of the outline that is drawn.
const OUTLINE: usize = 100;

/// What made-up pictures of one silhouette look like.
#[derive(Clone, Debug, PartialEq)]
pub struct Silhouettes {
    /// Points that are drawn from the outline; the same in all images.
    pub points: usize,
    /// Number of images.
    pub images: usize,
    /// The largest shear: in an image `x` becomes `x + a·y`, with `a` uniform from −shear to shear.
    pub shear: f64,
    /// Number of pairs of images to train, to validate and to test on.
    pub pairs: [usize; 3],
    /// Seed.
    pub seed: u64,
    /// The outline; empty: one of our own, something like a leaf.
    pub contour: Vec<[f64; 2]>,
}

impl Default for Silhouettes {
    fn default() -> Self {
        Self { points: 20, images: 200, shear: 0.6, pairs: [60; 3], seed: 1, contour: vec![] }
    }
}

impl Silhouettes {
    /// Pictures of an outline from elsewhere, such as one of [`read_contours`].
    pub fn of_contour(contour: Vec<[f64; 2]>) -> Self {
        Self { contour, ..Self::default() }
    }

    /// Makes the problems: pairs of different images, with squared differences of shape contexts as features; and the
    /// problems to train, to validate and to test on.
    ///
    /// Images are cut into three thirds, and both images of a pair are in the same one. Point `k` of one image is
    /// point `k` of the other; the right points are in random order.
    ///
    /// ```
    /// let (set, [train, _, test]) = ordain::data::synthetic::Silhouettes::default().make();
    /// assert_eq!((set.len(), train, test), (180, 0..60, 120..180));
    /// assert_eq!((set.edges(), set.columns.names.len()), (180 * 20 * 20, 60));
    /// ```
    pub fn make(&self) -> (MatchSet, [Range<usize>; 3]) {
        let (set, ranges, _) = self.make_of_images();
        (set, ranges)
    }

    /// The same, with the numbers of the two images of every pair: pairs that share an image are not independent.
    pub fn make_of_images(&self) -> (MatchSet, [Range<usize>; 3], Vec<[usize; 2]>) {
        let mut random = Random::new(self.seed);
        let outline = if self.contour.is_empty() { leaf() } else { self.contour.clone() };
        let mut numbers: Vec<usize> = (0..outline.len()).collect();
        random.shuffle(&mut numbers);
        numbers.truncate(self.points);
        let ids: Vec<String> = (0..numbers.len()).map(|k| k.to_string()).collect();
        let images: Vec<Cloud> = (0..self.images.max(3))
            .map(|_| {
                let a = self.shear * (2.0 * random.uniform() - 1.0);
                let places = numbers.iter().map(|&k| [outline[k][0] + a * outline[k][1], outline[k][1]]).collect();
                Cloud { ids: ids.clone(), places, descriptors: vec![] }
            })
            .collect();
        let features = [PointFeature::ShapeContext];
        let prepared: Vec<Prepared> = images.iter().map(|cloud| Prepared::new(cloud, &features)).collect();
        let (mut problems, mut values, mut both) = (vec![], vec![], vec![]);
        let ranges = [0, 1, 2].map(|third| {
            let start = problems.len();
            let span = prepared.len() * third / 3..prepared.len() * (third + 1) / 3;
            for _ in 0..self.pairs[third] {
                let a = random.below(span.len());
                // another one, where there is one
                let b = (a + 1 + random.below((span.len() - 1).max(1))) % span.len();
                let name = (problems.len() + 1).to_string();
                both.push([span.start + a, span.start + b]);
                let (a, b) = (&prepared[span.start + a], &prepared[span.start + b]);
                problems.push(problem(name, a, b, &features, &mut values));
            }
            start..problems.len()
        });
        let names = PointFeature::ShapeContext.columns(&[]);
        let matrix = Features::Dense(Matrix::new(values, names.len()));
        let set = MatchSet::new(matrix, Columns::named(names), problems).expect("the parts are made to fit together");
        (set, ranges, both)
    }
}

/// An outline with lobes that are all different, at equal steps along its length.
fn leaf() -> Vec<[f64; 2]> {
    const FINE: usize = 20_000;
    // (waves around, size, shift): no symmetry is left
    let waves = [(1.0, 0.20, 0.4), (2.0, 0.16, 2.0), (3.0, 0.22, 0.9), (5.0, 0.13, 4.1), (8.0, 0.06, 1.3)];
    let at = |k: usize| {
        let t = k as f64 / FINE as f64 * std::f64::consts::TAU;
        let r = waves.iter().fold(1.0, |r, &(n, size, shift)| r + size * f64::cos(n * t + shift));
        [150.0 * r * t.cos(), 100.0 * r * t.sin()]
    };
    let curve: Vec<[f64; 2]> = (0..=FINE).map(at).collect();
    let mut along = vec![0.0];
    for pair in curve.windows(2) {
        along.push(along[along.len() - 1] + (pair[1][0] - pair[0][0]).hypot(pair[1][1] - pair[0][1]));
    }
    let step = along[FINE] / OUTLINE as f64;
    (0..OUTLINE).map(|k| curve[along.partition_point(|&s| s < k as f64 * step)]).collect()
}

/// Reads outlines: a table with a name in its first column, then `x0, y0, x1, y1, …`.
///
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// let path = dir.path().join("contours.csv");
/// std::fs::write(&path, "name,x0,y0,x1,y1,x2,y2\nbone,0,0,4,0.5,2,3\n").unwrap();
/// let contours = ordain::data::read_contours(&path)?;
/// assert_eq!(contours, [("bone".to_owned(), vec![[0.0, 0.0], [4.0, 0.5], [2.0, 3.0]])]);
/// # Ok::<(), ordain::Error>(())
/// ```
pub fn read_contours(path: &Path) -> Result<Vec<(String, Vec<[f64; 2]>)>> {
    let mut rows = Table::open(path, format(path)?)?;
    let header = rows.header.clone();
    rows.select(&[], &(0..header.len()).collect::<Vec<_>>())?;
    if header.len() < 3 || header.len() % 2 == 0 {
        return Err(Error::Parse {
            path: path.into(),
            line: 1,
            column: 1,
            expected: "a name, then pairs of coordinates x0,y0,x1,y1,…".into(),
            found: format!("{} columns", header.len()),
        });
    }
    let mut out = vec![];
    while let Some(record) = rows.next()? {
        let refuse = |j: usize, expected: &str| record.refuse(j, expected);
        let name = record.word(0).ok_or_else(|| refuse(0, "a name in UTF-8"))?.into_owned();
        let number = |j: usize| match record.number(j) {
            Some(x) if x.abs() <= crate::data::matches::points::LARGEST => Ok(x),
            _ => Err(refuse(j, "a coordinate (a finite number, at most 1e18)")),
        };
        let points: Result<Vec<[f64; 2]>> =
            (1..header.len()).step_by(2).map(|j| Ok([number(j)?, number(j + 1)?])).collect();
        out.push((name, points?));
    }
    match out.is_empty() {
        false => Ok(out),
        true => Err(Error::Content {
            path: path.into(),
            expected: "outlines".into(),
            found: "none: the file has no rows".into(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outline_has_equal_steps() {
        let outline = leaf();
        assert_eq!(outline.len(), OUTLINE);
        let step = |k: usize| {
            let (a, b) = (outline[k], outline[(k + 1) % OUTLINE]);
            (b[0] - a[0]).hypot(b[1] - a[1])
        };
        let steps: Vec<f64> = (0..OUTLINE).map(step).collect();
        let longest = steps.iter().fold(0.0f64, |a, &b| a.max(b));
        // a chord is a little shorter where the outline bends
        assert!(steps.iter().all(|&s| s > 0.7 * longest && s <= longest), "{steps:?}");
    }
}
