//! Made-up pictures of silhouettes, and sequences in which one turns, leans and grows.

use crate::error::{Error, Result};
use crate::picture::Grey;
use crate::random::Random;

/// The longer side of the pictures that are turned: large enough that a smaller one has soft edges.
const DRAWN: usize = 128;

/// Pictures of silhouettes, white on black: each class has an outline of its own, and each picture a turn, lean and size of its own.
///
/// ```
/// use ordain::data::synthetic::Shapes;
/// let all = Shapes { classes: 3, each: 2, ..Shapes::default() }.make();
/// assert_eq!((all.len(), all[5].0, all[0].1.values().len()), (6, 2, 64 * 64));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shapes {
    /// Number of classes.
    pub classes: usize,
    /// Pictures of each.
    pub each: usize,
    /// Pixels of a side.
    pub side: usize,
    /// Seed.
    pub seed: u64,
}

impl Default for Shapes {
    fn default() -> Self {
        Self { classes: 10, each: 20, side: 64, seed: 1 }
    }
}

impl Shapes {
    /// The pictures with their classes, class after class.
    pub fn make(&self) -> Vec<(usize, Grey)> {
        let mut random = Random::new(self.seed);
        let mut all = vec![];
        for class in 0..self.classes {
            let outline = Outline::new(&mut random);
            for _ in 0..self.each {
                let drawn = outline.varied(&mut random).drawn();
                all.push((class, Pose::any(&mut random).of(&drawn, self.side)));
            }
        }
        all
    }
}

/// Sequences of frames, as of a video: in each a silhouette turns, leans and grows from its first to its last frame.
///
/// The usual ones are 347 sequences of five frames in 10 classes, the sizes of the video retrieval in the paper on ball ranking
/// machines. The classes have as many sequences as they can alike.
///
/// ```
/// use ordain::data::synthetic::Videos;
/// let all = Videos::default().make();
/// assert_eq!((all.len(), all[346].0, all[0].1.len(), all[0].1[4].values().len()), (347, 9, 5, 40 * 40));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Videos {
    /// Number of classes.
    pub classes: usize,
    /// Sequences of all classes together.
    pub sequences: usize,
    /// Frames of each.
    pub frames: usize,
    /// Pixels of a side.
    pub side: usize,
    /// Seed.
    pub seed: u64,
}

impl Default for Videos {
    fn default() -> Self {
        Self { classes: 10, sequences: 347, frames: 5, side: 40, seed: 1 }
    }
}

impl Videos {
    /// The sequences with their classes, class after class.
    pub fn make(&self) -> Vec<(usize, Vec<Grey>)> {
        let mut random = Random::new(self.seed);
        let outlines: Vec<Outline> = (0..self.classes).map(|_| Outline::new(&mut random)).collect();
        let one = |class: usize| {
            let drawn = outlines[class].varied(&mut random).drawn();
            (class, self.frames_of(&drawn, &mut random))
        };
        self.classes_of().into_iter().map(one).collect()
    }

    /// The same of pictures that are given for each class, one after another.
    ///
    /// # Errors
    ///
    /// [`Error::Data`] where a class has no picture.
    pub fn of_pictures(&self, pictures: &[Vec<Grey>]) -> Result<Vec<(usize, Vec<Grey>)>> {
        if pictures.len() != self.classes || pictures.iter().any(Vec::is_empty) {
            return Err(Error::Data {
                expected: format!("{} classes of pictures, and pictures in each", self.classes),
                found: format!("{}, of which the least has {:?}", pictures.len(), pictures.iter().map(Vec::len).min()),
            });
        }
        let mut random = Random::new(self.seed);
        let mut used = vec![0; self.classes];
        let one = |class: usize| {
            let drawn = &pictures[class][used[class] % pictures[class].len()];
            used[class] += 1;
            (class, self.frames_of(drawn, &mut random))
        };
        Ok(self.classes_of().into_iter().map(one).collect())
    }

    /// The class of each sequence.
    fn classes_of(&self) -> Vec<usize> {
        (0..self.sequences).map(|n| n * self.classes / self.sequences.max(1)).collect()
    }

    fn frames_of(&self, drawn: &Grey, random: &mut Random) -> Vec<Grey> {
        let (first, last) = (Pose::any(random), Pose::any(random));
        let at = |k: usize| k as f64 / (self.frames.max(2) - 1) as f64;
        (0..self.frames).map(|k| first.towards(last, at(k)).of(drawn, self.side)).collect()
    }
}

/// How a silhouette stands: its turn in radians, its lean, and its size.
#[derive(Clone, Copy)]
struct Pose {
    turn: f64,
    lean: f64,
    size: f64,
}

impl Pose {
    /// A turn of up to a fifth of a right angle either way, a lean of up to .3, and .7 to 1 of the size.
    fn any(random: &mut Random) -> Self {
        let mut within = |most: f64| most * (2.0 * random.uniform() - 1.0);
        Self { turn: within(std::f64::consts::FRAC_PI_2 / 5.0), lean: within(0.3), size: 0.85 + within(0.15) }
    }

    fn towards(self, other: Self, share: f64) -> Self {
        let mix = |a: f64, b: f64| a + share * (b - a);
        Self { turn: mix(self.turn, other.turn), lean: mix(self.lean, other.lean), size: mix(self.size, other.size) }
    }

    /// The picture in this pose, in the middle of a square of black; a pixel is the mean of 2 × 2 points, each between four pixels.
    fn of(self, drawn: &Grey, side: usize) -> Grey {
        let (sin, cos) = self.turn.sin_cos();
        let longest = drawn.width().max(drawn.height()) as f64;
        let step = longest / (side as f64 * self.size);
        let value = |x: f64, y: f64| {
            // back from the picture: size, lean, turn
            let (x, y) = ((x - side as f64 / 2.0) * step, (y - side as f64 / 2.0) * step);
            let x = x - self.lean * y;
            between(drawn, cos * x + sin * y, cos * y - sin * x)
        };
        let pixel = |at: usize| {
            let (x, y) = ((at % side) as f64, (at / side) as f64);
            let points = [(0.25, 0.25), (0.75, 0.25), (0.25, 0.75), (0.75, 0.75)];
            (points.iter().map(|(dx, dy)| value(x + dx, y + dy)).sum::<f64>() / 4.0) as f32
        };
        Grey::new(side, side, (0..side * side).map(pixel).collect()).expect("a side has a pixel at least")
    }
}

/// The value of a plane at a place from its middle, between its four nearest pixels; 0 outside.
fn between(plane: &Grey, x: f64, y: f64) -> f64 {
    let (w, h) = (plane.width() as i64, plane.height() as i64);
    let (x, y) = (x + w as f64 / 2.0 - 0.5, y + h as f64 / 2.0 - 0.5);
    let (left, top) = (x.floor(), y.floor());
    let (dx, dy) = (x - left, y - top);
    let at = |i: i64, j: i64| {
        let inside = (0..w).contains(&i) && (0..h).contains(&j);
        if inside { f64::from(plane.values()[(j * w + i) as usize]) } else { 0.0 }
    };
    let (i, j) = (left as i64, top as i64);
    let row = |j: i64| (1.0 - dx) * at(i, j) + dx * at(i + 1, j);
    (1.0 - dy) * row(j) + dy * row(j + 1)
}

/// An outline around a middle: how far it is in each direction, as waves (number, size, shift).
#[derive(Clone)]
struct Outline(Vec<(f64, f64, f64)>);

impl Outline {
    fn new(random: &mut Random) -> Self {
        let wave = |n: u32| {
            (f64::from(n), 0.5 * random.normal() / f64::from(n).sqrt(), std::f64::consts::TAU * random.uniform())
        };
        Self((2..8).map(wave).collect())
    }

    /// Another of the same class: all waves a little larger or smaller.
    fn varied(&self, random: &mut Random) -> Self {
        let wave =
            |&(n, size, shift): &(f64, f64, f64)| (n, size + 0.06 * random.normal(), shift + 0.15 * random.normal());
        Self(self.0.iter().map(wave).collect())
    }

    /// How far the outline is in a direction: never less than a tenth of the mean.
    fn reach(&self, angle: f64) -> f64 {
        self.0.iter().fold(1.0, |r, &(n, size, shift)| r + size * (n * angle + shift).cos()).max(0.1)
    }

    /// White inside, black outside, as large as fits.
    fn drawn(&self) -> Grey {
        let farthest = (0..720).map(|k| self.reach(f64::from(k).to_radians() / 2.0)).fold(0.0, f64::max);
        let pixel = |at: usize| {
            let middle = DRAWN as f64 / 2.0;
            let (x, y) = ((at % DRAWN) as f64 + 0.5 - middle, (at / DRAWN) as f64 + 0.5 - middle);
            let inside = x.hypot(y) <= self.reach(y.atan2(x)) / farthest * middle;
            if inside { 255.0 } else { 0.0 }
        };
        Grey::new(DRAWN, DRAWN, (0..DRAWN * DRAWN).map(pixel).collect()).expect("a side has a pixel at least")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mass(plane: &Grey) -> f64 {
        plane.values().iter().map(|v| f64::from(*v) / 255.0).sum()
    }

    /// A square that is turned by a right angle, leaned or made smaller has the area that it should have, and stays in the middle.
    #[test]
    fn poses_keep_areas() {
        let square =
            |at: usize| if (32..96).contains(&(at % 128)) && (32..96).contains(&(at / 128)) { 255.0 } else { 0.0 };
        let drawn = Grey::new(128, 128, (0..128 * 128).map(square).collect()).unwrap();
        for (turn, lean, size) in [(0.0, 0.0, 1.0), (0.7, 0.0, 1.0), (0.0, 0.4, 1.0), (0.3, -0.2, 0.8)] {
            let seen = Pose { turn, lean, size }.of(&drawn, 64);
            let expected = 32.0f64.powi(2) * size * size;
            assert!((mass(&seen) - expected).abs() < 0.02 * expected, "{turn} {lean} {size}: {}", mass(&seen));
            let middle = |along: fn(usize) -> usize| {
                let sum = seen
                    .values()
                    .iter()
                    .enumerate()
                    .map(|(at, v)| along(at) as f64 * f64::from(*v) / 255.0)
                    .sum::<f64>();
                sum / mass(&seen)
            };
            assert!((middle(|at| at % 64) - 31.5).abs() < 0.3 && (middle(|at| at / 64) - 31.5).abs() < 0.3);
        }
        let turned = Pose { turn: std::f64::consts::FRAC_PI_2, lean: 0.0, size: 1.0 }.of(&drawn, 64);
        let plain = Pose { turn: 0.0, lean: 0.0, size: 1.0 }.of(&drawn, 64);
        assert!(turned.values().iter().zip(plain.values()).all(|(a, b)| (a - b).abs() < 0.01));
    }

    /// The seed says all; pictures of a class are more like each other than those of others; frames go from one pose to another.
    #[test]
    fn classes_and_frames_are_what_they_say() {
        let make = |seed| Shapes { classes: 4, each: 6, side: 32, seed }.make();
        assert!(make(1) == make(1) && make(1) != make(2));
        let far =
            |a: &Grey, b: &Grey| a.values().iter().zip(b.values()).map(|(x, y)| f64::from((x - y).abs())).sum::<f64>();
        let all = make(3);
        let (mut own, mut others) = (vec![], vec![]);
        for (i, (a, x)) in all.iter().enumerate() {
            all[..i].iter().for_each(|(b, y)| if a == b { own.push(far(x, y)) } else { others.push(far(x, y)) });
        }
        let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
        assert!(mean(&own) < 0.8 * mean(&others), "{} {}", mean(&own), mean(&others));
        let videos = Videos { sequences: 23, classes: 4, ..Videos::default() }.make();
        let count = |class: usize| videos.iter().filter(|(own, _)| *own == class).count();
        assert_eq!((0..4).map(count).collect::<Vec<_>>(), [6, 6, 6, 5]);
        let steps = |frames: &Vec<Grey>| [far(&frames[0], &frames[1]), far(&frames[0], &frames[4])];
        assert!(videos.iter().map(|(_, frames)| steps(frames)).filter(|[a, b]| a < b).count() > 20);
        let given = Videos { sequences: 5, classes: 1, ..Videos::default() };
        assert_eq!(given.of_pictures(&[vec![all[0].1.clone()]]).unwrap().len(), 5);
        assert!(given.of_pictures(&[vec![]]).is_err() && given.of_pictures(&[]).is_err());
    }
}
