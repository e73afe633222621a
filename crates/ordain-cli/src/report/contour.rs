//! Where a function on a grid crosses a level: marching squares.

/// A point of the plane.
pub(super) type Point = (f64, f64);

/// A function by its values on a grid: at `(xs[c], ys[r])` it is `values[r · xs.len() + c]`.
pub(super) struct Surface {
    pub(super) xs: Vec<f64>,
    pub(super) ys: Vec<f64>,
    pub(super) values: Vec<f64>,
}

const NONE: usize = usize::MAX;

impl Surface {
    /// The lines on which the function has this value, linear between the points of the grid. A line that comes back to its start ends with it.
    ///
    /// Every crossing is on an edge of the grid. Round a cell, where the function leaves the level a line starts, and where it comes back one ends: seen from the cell
    /// next door it is the other way round, so that each crossing knows the one that follows. With two lines in a cell the mean of its corners says which
    /// way they go. O(points of the grid).
    pub(super) fn lines(&self, level: f64) -> Vec<Vec<Point>> {
        let (w, h) = (self.xs.len(), self.ys.len());
        let (mut next, mut led) = (vec![NONE; 2 * w * h], vec![false; 2 * w * h]);
        let high = |r: usize, c: usize| self.values[r * w + c] >= level;
        for (r, c) in (1..h).flat_map(|r| (1..w).map(move |c| (r - 1, c - 1))) {
            let corners = [(r, c), (r, c + 1), (r + 1, c + 1), (r + 1, c)];
            // an edge has twice the number of its first point, and one more if it goes down
            let edges = [2 * (r * w + c), 2 * (r * w + c + 1) + 1, 2 * ((r + 1) * w + c), 2 * (r * w + c) + 1];
            let is_high = corners.map(|(r, c)| high(r, c));
            let (mut outs, mut ins) = (vec![], vec![]);
            for i in 0..4 {
                match (is_high[i], is_high[(i + 1) % 4]) {
                    (true, false) => outs.push((i, edges[i])),
                    (false, true) => ins.push((i, edges[i])),
                    _ => {}
                }
            }
            let mean = corners.iter().map(|&(r, c)| self.values[r * w + c] / 4.0).sum::<f64>();
            for &(i, out) in &outs {
                // the next way in, around the low corners; or the one before, around the high ones
                let steps = |&&(j, _): &&(usize, usize)| if mean >= level { (j + 4 - i) % 4 } else { (i + 4 - j) % 4 };
                if let Some(&(_, back)) = ins.iter().min_by_key(steps) {
                    next[out] = back;
                    led[back] = true;
                }
            }
        }
        let crossings = || (0..next.len()).filter(|&edge| next[edge] != NONE);
        let starts: Vec<usize> = crossings().filter(|&edge| !led[edge]).chain(crossings()).collect();
        let mut lines = vec![];
        for start in starts {
            let (mut line, mut edge) = (vec![], start);
            while next[edge] != NONE {
                line.push(self.crossing(edge, level));
                edge = std::mem::replace(&mut next[edge], NONE);
            }
            if !line.is_empty() {
                line.push(self.crossing(edge, level));
                lines.push(line);
            }
        }
        lines
    }

    /// The edges of where the function is at least this value, which are closed: around the grid it is low.
    pub(super) fn areas(&self, level: f64) -> Vec<Vec<Point>> {
        let (w, h) = (self.xs.len(), self.ys.len());
        let ends = |at: &[f64]| at.first().into_iter().chain(at).chain(at.last()).copied().collect();
        let mut values = vec![f64::NEG_INFINITY; (w + 2) * (h + 2)];
        for (from, to) in self.values.chunks_exact(w).zip(values.chunks_exact_mut(w + 2).skip(1)) {
            to[1..=w].copy_from_slice(from);
        }
        Self { xs: ends(&self.xs), ys: ends(&self.ys), values }.lines(level)
    }

    /// Where the function has this value on an edge.
    fn crossing(&self, edge: usize, level: f64) -> Point {
        let w = self.xs.len();
        let (from, down) = (edge / 2, edge % 2);
        let to = if down == 1 { from + w } else { from + 1 };
        let (high, low) = if self.values[from] >= level { (from, to) } else { (to, from) };
        let t = (self.values[high] - level) / (self.values[high] - self.values[low]);
        let mix = |a: f64, b: f64| a + t * (b - a);
        (mix(self.xs[high % w], self.xs[low % w]), mix(self.ys[high / w], self.ys[low / w]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordain::random::Random;

    fn surface(w: usize, h: usize, f: impl Fn(f64, f64) -> f64) -> Surface {
        let at = |n: usize, from: f64, to: f64| -> Vec<f64> {
            (0..n).map(|i| from + (to - from) * i as f64 / (n - 1) as f64).collect()
        };
        let (xs, ys) = (at(w, -1.0, 2.0), at(h, -3.0, 1.0));
        let values = ys.iter().flat_map(|&y| xs.iter().map(move |&x| (x, y))).map(|(x, y)| f(x, y)).collect();
        Surface { xs, ys, values }
    }

    /// Twice the area inside a closed line, by the shoelace formula.
    fn twice_inside(line: &[Point]) -> f64 {
        line.windows(2).map(|p| p[0].0 * p[1].1 - p[1].0 * p[0].1).sum::<f64>()
    }

    #[test]
    fn lines_of_a_linear_function_are_exact() {
        let f = |x: f64, y: f64| 2.0 * x - 0.7 * y + 0.3;
        for (w, h, level) in [(2, 2, 0.9), (7, 11, 0.9), (40, 40, -1.3), (13, 5, 4.1)] {
            let lines = surface(w, h, f).lines(level);
            assert_eq!(lines.len(), 1, "{w} {h} {level}");
            assert!(lines[0].iter().all(|&(x, y)| (f(x, y) - level).abs() < 1e-12));
            let on_the_rim =
                |&(x, y): &Point| [x + 1.0, x - 2.0, y + 3.0, y - 1.0].iter().any(|d: &f64| d.abs() < 1e-12);
            assert!(on_the_rim(&lines[0][0]) && on_the_rim(lines[0].last().unwrap()), "from rim to rim");
        }
        assert!(surface(9, 9, f).lines(100.0).is_empty() && surface(9, 9, f).lines(-100.0).is_empty());
    }

    #[test]
    fn a_circle_is_closed_and_has_its_area() {
        let round = surface(81, 81, |x, y| -(x - 0.5).powi(2) - (y + 1.0).powi(2));
        let lines = round.lines(-1.0);
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].first(), lines[0].last());
        let far = |&(x, y): &Point| ((x - 0.5).hypot(y + 1.0) - 1.0).abs();
        assert!(lines[0].iter().map(far).fold(0.0, f64::max) < 1e-3);
        assert!((twice_inside(&lines[0]).abs() / 2.0 - std::f64::consts::PI).abs() < 0.01);
    }

    #[test]
    fn areas_are_closed_and_as_large_as_what_is_high() {
        let f = |x: f64, y: f64| 2.0 * x - 0.7 * y + 0.3;
        let whole = surface(30, 30, f);
        for level in [-100.0, -1.0, 0.9, 2.5, 100.0] {
            let loops = whole.areas(level);
            assert!(loops.iter().all(|line| line.first() == line.last()));
            let inside = loops.iter().map(|line| twice_inside(line)).sum::<f64>().abs() / 2.0;
            // the share of a fine lattice that is high, of a rectangle of 3 by 4
            let lattice = (0..400).flat_map(|i| (0..400).map(move |j| (i, j)));
            let at = |(i, j): (i32, i32)| {
                (3.0 * (f64::from(i) + 0.5) / 400.0 - 1.0, 4.0 * (f64::from(j) + 0.5) / 400.0 - 3.0)
            };
            let high = lattice.map(at).filter(|&(x, y)| f(x, y) >= level).count() as f64;
            assert!((inside - 12.0 * high / 160_000.0).abs() < 0.02, "{level}: {inside}");
        }
    }

    /// On noise, saddles and flat places every crossing of an edge is on one line, once.
    #[test]
    fn no_crossing_is_lost() {
        let mut random = Random::new(5);
        for case in 0..200 {
            let (w, h) = (2 + random.below(6), 2 + random.below(6));
            let values = (0..w * h).map(|_| if case % 2 == 0 { random.normal() } else { random.below(3) as f64 });
            let (xs, ys) = ((0..w).map(|c| c as f64).collect(), (0..h).map(|r| r as f64).collect());
            let noise = Surface { xs, ys, values: values.collect() };
            let level = if case % 4 == 1 { 1.0 } else { 0.3 };
            let high = |r: usize, c: usize| noise.values[r * w + c] >= level;
            let across =
                (0..h).flat_map(|r| (1..w).map(move |c| (r, c))).filter(|&(r, c)| high(r, c) != high(r, c - 1));
            let down = (1..h).flat_map(|r| (0..w).map(move |c| (r, c))).filter(|&(r, c)| high(r, c) != high(r - 1, c));
            let crossings = across.count() + down.count();
            let lines = noise.lines(level);
            let on: usize = lines
                .iter()
                .map(|line| if line.len() > 2 && line.first() == line.last() { line.len() - 1 } else { line.len() })
                .sum();
            // with whole values two ends of a line may lie on the same point without being the same crossing
            assert!(if case % 2 == 0 { on == crossings } else { on <= crossings }, "{on} of {crossings}");
        }
    }
}
