//! Edges: how many pixels lie on an edge in each direction, and histograms of gradients.

use super::{Grey, Picture};
use std::f32::consts::TAU;

/// Slopes below this many steps of brightness a pixel are noise of eight bits, not edges.
const NOISE: f32 = 0.5;

/// The slope of brightness to the right and downwards at a pixel that is not on the border.
///
/// Differences of neighbours two apart, smoothed over five pixels across: Sobel's operator on a picture that was smoothed by
/// (1, 2, 1)/4 both ways. In steps of brightness a pixel.
struct Slopes {
    width: usize,
    height: usize,
    right: Vec<f32>,
    down: Vec<f32>,
}

impl Slopes {
    fn of(plane: &Grey) -> Self {
        let (width, height) = (plane.width, plane.height);
        let smooth = blurred(&blurred(plane));
        let (mut right, mut down) = (vec![0.0; width * height], vec![0.0; width * height]);
        for y in 1..height.saturating_sub(1) {
            for x in 1..width - 1 {
                let at = y * width + x;
                right[at] = (smooth[at + 1] - smooth[at - 1]) * 0.5;
                down[at] = (smooth[at + width] - smooth[at - width]) * 0.5;
            }
        }
        Self { width, height, right, down }
    }

    /// Strength and direction in [0, 2π) of every inner pixel, with its place.
    fn each(&self) -> impl Iterator<Item = (usize, usize, f32, f32)> + '_ {
        (1..self.height.saturating_sub(1)).flat_map(move |y| {
            (1..self.width.saturating_sub(1)).map(move |x| {
                let at = y * self.width + x;
                let (right, down) = (self.right[at], self.down[at]);
                (x, y, right.hypot(down), down.atan2(right).rem_euclid(TAU))
            })
        })
    }
}

/// Smoothed by (1, 2, 1)/4 both ways; the border counts as going on.
fn blurred(plane: &Grey) -> Grey {
    let (width, height) = (plane.width as isize, plane.height as isize);
    let mut wide = plane.clone();
    for y in 0..height {
        for x in 0..width {
            wide.values[(y * width + x) as usize] =
                0.25 * (plane.at(x - 1, y) + 2.0 * plane.at(x, y) + plane.at(x + 1, y));
        }
    }
    let mut out = wide.clone();
    for y in 0..height {
        for x in 0..width {
            out.values[(y * width + x) as usize] = 0.25 * (wide.at(x, y - 1) + 2.0 * wide.at(x, y) + wide.at(x, y + 1));
        }
    }
    out
}

impl std::ops::Index<usize> for Grey {
    type Output = f32;
    fn index(&self, at: usize) -> &f32 {
        &self.values[at]
    }
}

/// How many pixels on edges have each of `directions` directions, in each cell of an `n`×`n` grid: the shape features of
/// Luo, Huang, *Ball Ranking Machines*, 2011, section 4.2.
///
/// A pixel is on an edge if the slope of brightness there is at least the root of the mean squared slope of the picture, and
/// at least half a step of brightness a pixel. Its direction is where brightness rises: direction k holds the angles within
/// half a step of `2π k / directions`, from the right turning downwards. Pixels on the border have none. O(pixels).
pub fn directions(picture: &Picture, directions: usize, n: usize) -> Vec<u32> {
    let (directions, n) = (directions.max(1), n.max(1));
    let slopes = Slopes::of(&picture.brightness());
    let (squares, count) = slopes
        .each()
        .fold((0.0f64, 0usize), |(sum, count), (_, _, strength, _)| (sum + f64::from(strength).powi(2), count + 1));
    // a little less than the mean, so that a picture of one slope is all edge
    let least = ((squares / count.max(1) as f64).sqrt() as f32 * 0.999).max(NOISE);
    let mut counts = vec![0; n * n * directions];
    for (x, y, strength, angle) in slopes.each() {
        if strength >= least {
            let direction = (angle / TAU * directions as f32).round() as usize % directions;
            counts[picture.cell(x, y, n) * directions + direction] += 1;
        }
    }
    counts
}

/// Histograms of gradients: in each cell of an `n`×`n` grid the strengths of the slopes by their direction without its sign,
/// shared between the two nearest of `bins` directions, scaled to length 1 within the cell (0 where it is flat). O(pixels).
///
/// Dalal, Triggs, *Histograms of oriented gradients for human detection*, 2005, with cells as blocks.
pub fn gradients(picture: &Picture, bins: usize, n: usize) -> Vec<f32> {
    let (bins, n) = (bins.max(1), n.max(1));
    let mut sums = vec![0.0f64; n * n * bins];
    for (x, y, strength, angle) in Slopes::of(&picture.brightness()).each() {
        let place = f64::from(angle) / std::f64::consts::PI * bins as f64;
        let (low, part) = (place.floor(), place - place.floor());
        let cell = &mut sums[picture.cell(x, y, n) * bins..][..bins];
        cell[low as usize % bins] += (1.0 - part) * f64::from(strength);
        cell[(low as usize + 1) % bins] += part * f64::from(strength);
    }
    for cell in sums.chunks_exact_mut(bins) {
        // pixels that hardly rise do not become strong directions
        let norm = (cell.iter().map(|x| x * x).sum::<f64>() + 1.0).sqrt();
        cell.iter_mut().for_each(|x| *x /= norm);
    }
    sums.into_iter().map(|x| x as f32).collect()
}

/// The slopes of a plane as histograms of eight signed directions around a pixel: what [`super::fisher`] describes patches by.
pub(super) fn oriented(plane: &Grey) -> Vec<[f32; 8]> {
    let mut out = vec![[0.0; 8]; plane.width * plane.height];
    for (x, y, strength, angle) in Slopes::of(plane).each() {
        let place = angle / TAU * 8.0;
        let (low, part) = (place.floor(), place - place.floor());
        let bins = &mut out[y * plane.width + x];
        bins[low as usize % 8] += (1.0 - part) * strength;
        bins[(low as usize + 1) % 8] += part * strength;
    }
    out
}
