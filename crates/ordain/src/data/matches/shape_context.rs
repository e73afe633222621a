//! Shape contexts: where the other points of a set lie, seen from each point, counted in rings and angles.

/// Rings, from the nearest out: the first edge that is greater than a distance is its ring.
const EDGES: [f64; 5] = [0.125, 0.25, 0.5, 1.0, 2.0];
/// Angles of 30 degrees.
const ANGLES: usize = 12;
/// Number of counts of a point.
pub(in crate::data) const BINS: usize = EDGES.len() * ANGLES;

/// The counts of one point, `12 · ring + angle`.
pub type Context = [f32; BINS];

/// The mean of the distances of all ordered pairs of points, each point to itself included.
///
/// ```
/// assert_eq!(ordain::data::mean_distance(&[[0.0, 0.0], [3.0, 4.0]]), 2.5);
/// ```
pub fn mean_distance(points: &[[f64; 2]]) -> f64 {
    let from = |a: &[f64; 2]| points.iter().map(|b| (b[0] - a[0]).hypot(b[1] - a[1])).sum::<f64>();
    points.iter().map(from).sum::<f64>() / (points.len() * points.len()).max(1) as f64
}

/// The points around their mean, in units of their mean distance; all at 0 where that is 0.
pub fn normalised(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let (unit, n) = (mean_distance(points), points.len().max(1) as f64);
    let centre = [0, 1].map(|k| points.iter().map(|p| p[k]).sum::<f64>() / n);
    let place = |x: f64, c: f64| if unit > 0.0 { (x - c) / unit } else { 0.0 };
    points.iter().map(|p| [place(p[0], centre[0]), place(p[1], centre[1])]).collect()
}

/// The shape context of each point of a set.
///
/// Distances are in units of [`mean_distance`]. The ring of another point is the first of the edges 1/8, 1/4, 1/2, 1, 2
/// that is greater than its distance; farther points are not counted, nor is the point itself. The angle is that of
/// the way to the other point, from −180 degrees on in steps of 30. On the axes: a way straight to the left counts in
/// angle 11, and straight down (y less) in angle 2, as in the files of the house sequence. A point in the same place
/// is in ring 0, angle 6.
///
/// Cost: the square of the number of points.
///
/// ```
/// let contexts = ordain::data::shape_contexts(&[[0.0, 0.0], [1.0, 0.0]]);
/// // the mean distance is 1/2, so the other point is at 2: too far
/// assert!(contexts[0].iter().all(|&count| count == 0.0));
/// ```
pub fn shape_contexts(points: &[[f64; 2]]) -> Vec<Context> {
    let unit = mean_distance(points);
    let mut out = vec![[0.0; BINS]; points.len()];
    for (i, (counts, from)) in out.iter_mut().zip(points).enumerate() {
        for (j, to) in points.iter().enumerate() {
            let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
            let distance = if unit > 0.0 { dx.hypot(dy) / unit } else { 0.0 };
            if let Some(ring) = EDGES.iter().position(|&edge| distance < edge)
                && i != j
            {
                counts[ANGLES * ring + angle(dx, dy)] += 1.0;
            }
        }
    }
    out
}

/// The angle of a way; on the axes as written out, so that no rounding decides.
fn angle(dx: f64, dy: f64) -> usize {
    let zero = |x: f64| x.abs() <= 0.0;
    match (zero(dx), zero(dy)) {
        (true, true) => 6,
        (true, false) => [2, 9][usize::from(dy > 0.0)],
        (false, true) => [11, 6][usize::from(dx > 0.0)],
        (false, false) => {
            let turn = (dy.atan2(dx) + std::f64::consts::PI) / (std::f64::consts::PI / 6.0);
            (turn as usize).min(ANGLES - 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_on_the_axes_and_between() {
        let turns = [(-1.0, 0.0, 11), (0.0, -1.0, 2), (1.0, 0.0, 6), (0.0, 1.0, 9), (0.0, 0.0, 6), (-0.0, -0.0, 6)];
        for (dx, dy, bin) in turns {
            assert_eq!(angle(dx, dy), bin, "{dx} {dy}");
        }
        for bin in 0..12 {
            let at = (f64::from(bin) + 0.5) * std::f64::consts::PI / 6.0 - std::f64::consts::PI;
            assert_eq!(angle(at.cos(), at.sin()), bin as usize);
        }
        assert_eq!((angle(-1.0, -1e-300), angle(-1.0, 1e-300)), (0, 11));
    }

    #[test]
    fn rings_end_before_their_edges() {
        // a square of side 1 and one far point would move the unit; four corners have the mean (2 + √2)/4
        let square = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
        let contexts = shape_contexts(&square);
        let counted: Vec<usize> = (0..BINS).filter(|&bin| contexts[0][bin] > 0.0).collect();
        assert_eq!(counted, [4 * 12 + 6, 4 * 12 + 7, 4 * 12 + 9]); // 1.17, 1.66 and 1.17 units away
        assert!(shape_contexts(&[[5.0, 5.0]; 3]).iter().all(|c| c[6].to_bits() == 2f32.to_bits()));
        assert!(shape_contexts(&[]).is_empty() && normalised(&[]).is_empty());
    }
}
