//! The Delaunay graph of points of the plane.

use delaunator::{EMPTY, Point, triangulate};

/// The edges of the Delaunay graph, ascending: pairs of points, the lesser number first.
///
/// Points on a line are joined with their neighbours on it. Of points in the same place only the first has edges. Where
/// four points lie on a circle with none inside, one of the two ways to cut is taken.
///
/// ```
/// let edges = ordain::data::delaunay(&[[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [1.0, 1.0]]);
/// assert_eq!(edges, [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]);
/// ```
pub fn delaunay(points: &[[f64; 2]]) -> Vec<(u32, u32)> {
    // a power of two, so that no digit changes: what counts as one place must not depend on the unit
    let largest = points.iter().flatten().fold(0.0f64, |most, x| most.max(x.abs()));
    let unit = if largest > 0.0 { (-largest.log2().floor()).clamp(-1000.0, 1000.0).exp2() } else { 1.0 };
    let scaled: Vec<[f64; 2]> = points.iter().map(|p| [p[0] * unit + 0.0, p[1] * unit + 0.0]).collect();
    let order = |a: &usize, b: &usize| {
        let (p, q) = (&scaled[*a], &scaled[*b]);
        p[0].total_cmp(&q[0]).then(p[1].total_cmp(&q[1])).then(a.cmp(b))
    };
    let mut kept: Vec<usize> = (0..points.len()).collect();
    kept.sort_unstable_by(order);
    kept.dedup_by_key(|i| scaled[*i].map(f64::to_bits)); // of either zero there is only one, after + 0.0
    kept.sort_unstable();
    let places: Vec<Point> = kept.iter().map(|&i| scaled[i].into()).collect();
    let graph = triangulate(&places);
    let edge = |a: usize, b: usize| (kept[a.min(b)] as u32, kept[a.max(b)] as u32);
    let mut edges: Vec<(u32, u32)> = if graph.triangles.is_empty() {
        graph.hull.windows(2).map(|pair| edge(pair[0], pair[1])).collect()
    } else {
        let once = |e: &usize| graph.halfedges[*e] == EMPTY || graph.halfedges[*e] > *e;
        let ends = |e: usize| edge(graph.triangles[e], graph.triangles[if e % 3 == 2 { e - 2 } else { e + 1 }]);
        (0..graph.triangles.len()).filter(once).map(ends).collect()
    };
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// The number of edges of each point in the Delaunay graph; points in the same place have the same.
pub fn delaunay_degrees(points: &[[f64; 2]]) -> Vec<u32> {
    let mut degrees = vec![0; points.len()];
    for (a, b) in delaunay(points) {
        degrees[a as usize] += 1;
        degrees[b as usize] += 1;
    }
    let place = |p: &[f64; 2]| [(p[0] + 0.0).to_bits(), (p[1] + 0.0).to_bits()];
    let mut first: std::collections::HashMap<[u64; 2], u32> = std::collections::HashMap::new();
    for (point, degree) in points.iter().zip(&mut degrees) {
        *degree = *first.entry(place(point)).or_insert(*degree);
    }
    degrees
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn points_that_are_few_or_in_line_or_in_one_place() {
        assert_eq!(delaunay(&[]), []);
        assert_eq!(delaunay(&[[1.0, 2.0]]), []);
        assert_eq!(delaunay(&[[1.0, 2.0]; 5]), []);
        assert_eq!(delaunay(&[[1.0, 2.0], [1.0, 3.0]]), [(0, 1)]);
        assert_eq!(delaunay(&[[0.0, 0.0], [2.0, 2.0], [1.0, 1.0], [2.0, 2.0]]), [(0, 2), (1, 2)]);
        assert_eq!(delaunay_degrees(&[[0.0, 0.0], [2.0, 2.0], [1.0, 1.0], [2.0, 2.0]]), [1, 1, 2, 1]);
        assert_eq!(delaunay(&[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]).len(), 5);
    }

    /// Whether a point lies inside the circle through three others, by whole numbers.
    fn inside(points: &[[i64; 2]], [a, b, c]: [usize; 3], d: usize) -> bool {
        let row = |i: usize| {
            let (x, y) = (points[i][0] - points[d][0], points[i][1] - points[d][1]);
            [i128::from(x), i128::from(y), i128::from(x * x + y * y)]
        };
        let (p, q, r) = (row(a), row(b), row(c));
        let circle = p[0] * (q[1] * r[2] - q[2] * r[1]) - p[1] * (q[0] * r[2] - q[2] * r[0])
            + p[2] * (q[0] * r[1] - q[1] * r[0]);
        circle * i128::from(turn(points[a], points[b], points[c]).signum()) > 0
    }

    /// Twice the area of a triangle, with a sign; 0 for points on a line.
    fn turn(a: [i64; 2], b: [i64; 2], c: [i64; 2]) -> i64 {
        (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    }

    #[test]
    fn every_edge_has_an_empty_circle_on_grids_full_of_ties() {
        let mut random = Random::new(3);
        for round in 0..400 {
            let (n, wide) = (3 + random.below(12), 2 + random.below(30));
            let points: Vec<[i64; 2]> =
                (0..n).map(|_| [random.below(wide) as i64, random.below(1 + round % 9 * 4) as i64]).collect();
            let scale = [1.0, 2f64.powi(-40), 2f64.powi(40)][round % 3]; // exact, so that lines stay lines
            let floats: Vec<[f64; 2]> = points.iter().map(|p| [p[0] as f64 * scale, p[1] as f64 * scale]).collect();
            let edges = delaunay(&floats);
            let line = |i: usize, j: usize| (0..n).all(|k| turn(points[i], points[j], points[k]) == 0);
            let flat = (0..n).all(|i| (0..n).all(|j| line(i, j)));
            let distinct: std::collections::HashSet<[i64; 2]> = points.iter().copied().collect();
            if flat {
                assert_eq!(edges.len(), distinct.len() - 1, "{points:?}");
                continue;
            }
            for &(a, b) in &edges {
                // with some third point, not on its line, its circle holds no point
                let (a, b) = (a as usize, b as usize);
                let empty = |c: usize| (0..n).all(|d| !inside(&points, [a, b, c], d));
                let right = (0..n).any(|c| turn(points[a], points[b], points[c]) != 0 && empty(c));
                assert!(right, "{points:?}: {a} {b}");
            }
            assert!(edges.len() >= distinct.len(), "{points:?}");
        }
    }

    #[test]
    fn strange_sizes_do_not_panic() {
        let mut random = Random::new(4);
        for _ in 0..3000 {
            let n = random.below(14);
            let mut coordinate = || {
                let size = [1e-320, 1e-30, 1.0, 1e18][random.below(4)];
                (random.below(5) as f64 - 2.0) * size + [0.0, 1e-16, random.normal()][random.below(3)]
            };
            let points: Vec<[f64; 2]> = (0..n).map(|_| [coordinate(), coordinate()]).collect();
            assert_eq!(delaunay_degrees(&points).len(), n);
        }
    }
}
