//! `ordain demo serve`: pictures that the program draws, a model of some of them, and the labelling page for the others.

use crate::args::{Cli, Command, Demo};
use crate::run::{fit, serve};
use crate::screen::Screen;
use anyhow::Result;
use clap::Parser;
use ordain::Error;
use ordain::data::{write_rows, write_whole};
use ordain::random::Random;
use std::path::Path;

/// Pictures to learn from, and pictures to label.
const KNOWN: usize = 80;
const OPEN: usize = 60;
/// Pixels of a picture.
const WIDTH: usize = 192;
const HEIGHT: usize = 128;
/// The height of the horizon, as a share of the picture.
const HORIZON: f64 = 0.62;
/// The names under which a scene has what is in it.
const LABELS: [&str; 8] = ["sea", "boat", "mountain", "sun", "moon", "cloud", "tree", "house"];

pub(in crate::run) fn run(args: &Demo, screen: &Screen) -> Result<()> {
    let folder = &args.out;
    let at = |name: &str| folder.join(name).display().to_string();
    draw(folder)?;
    screen.say(&format!(
        "wrote {} and {}: {KNOWN} pictures with their labels, and {OPEN} to label",
        at("known.csv"),
        at("open.csv")
    ));
    let ordain = |words: &[&str]| -> Result<()> {
        screen.say(&format!("\nordain {}", words.join(" ")));
        match &Cli::try_parse_from(["ordain"].iter().chain(words))?.command {
            Command::Fit(args) => fit::run(args, screen),
            Command::Serve(args) => serve::run(args, screen),
            _ => Ok(()),
        }
    };
    let (known, open, model, answers) = (at("known.csv"), at("open.csv"), at("model.ordain"), at("answers.jsonl"));
    let input = "photo:image[colour=32,edges=8,grid=4]";
    let fit = ["fit", "cstar[core=3,lambda=0.1]", &known, "-o", &model, "--input", input];
    ordain(&fit)?;
    let (media, bind) = (folder.display().to_string(), args.bind.to_string());
    let learn = ["--learn", "100", "--teach", &known, "--answers", &answers];
    ordain(&[&["serve", &model, "--items", &open, "--media", &media, "--bind", &bind], &learn[..]].concat())
}

/// Writes pictures, a table of those with labels, and a table of the others.
fn draw(folder: &Path) -> Result<()> {
    let pictures = folder.join("pictures");
    std::fs::create_dir_all(&pictures).map_err(|reason| Error::Io {
        path: pictures.clone(),
        action: "create",
        reason,
    })?;
    let mut random = Random::new(1);
    let mut rows = vec![];
    for n in 1..=KNOWN + OPEN {
        let (scene, path) = (Scene::new(&mut random), format!("pictures/{n:03}.bmp"));
        let bytes = bitmap(&|x, y| scene.colour(x, y));
        write_whole(&folder.join(&path), |out| out.write_all(&bytes))?;
        rows.push([n.to_string(), path, scene.labels().join(";")]);
    }
    let (known, open) = rows.split_at(KNOWN);
    write_rows(&folder.join("known.csv"), ["id", "photo", "labels"].into_iter(), |row| {
        known.iter().try_for_each(|cells| row(&mut cells.iter().map(String::as_str)))
    })?;
    // nobody knows labels of these: the column is there so that both tables can be read together
    Ok(write_rows(&folder.join("open.csv"), ["id", "photo", "labels"].into_iter(), |row| {
        open.iter().try_for_each(|[id, photo, _]| row(&mut [id.as_str(), photo, ""].into_iter()))
    })?)
}

/// Red, green and blue, from 0 to 1.
type Colour = [f64; 3];

fn mix(a: Colour, b: Colour, share: f64) -> Colour {
    let share = share.clamp(0.0, 1.0);
    std::array::from_fn(|i| a[i] + share * (b[i] - a[i]))
}

/// A picture as a file of the kind BMP: rows from the lowest on, each pixel blue, green and red; each is the mean of 2 × 2 points.
fn bitmap(colour: &dyn Fn(f64, f64) -> Colour) -> Vec<u8> {
    let (row, head) = ((WIDTH * 3).next_multiple_of(4), 54);
    let size = head + row * HEIGHT;
    let mut bytes = b"BM".to_vec();
    for number in [size as u32, 0, head as u32, 40, WIDTH as u32, HEIGHT as u32, 1 | 24 << 16, 0, 0, 2835, 2835, 0, 0] {
        bytes.extend(number.to_le_bytes());
    }
    for y in (0..HEIGHT).rev() {
        for x in 0..WIDTH {
            let point = |i: usize| {
                let half = |n: usize, bit: usize| n as f64 + 0.25 + 0.5 * bit as f64;
                colour(half(x, i % 2) / WIDTH as f64, half(y, i / 2) / HEIGHT as f64)
            };
            let sum = (0..4).map(point).fold([0.0; 3], |sum, own| std::array::from_fn(|i| sum[i] + own[i]));
            bytes.extend(sum.iter().rev().map(|own| (255.0 * own / 4.0).round().clamp(0.0, 255.0) as u8));
        }
        bytes.resize(bytes.len() + row - WIDTH * 3, 0);
    }
    bytes
}

/// What is in a picture, and where; a share of the width, or of the height below the upper edge.
struct Scene {
    sea: bool,
    night: bool,
    /// The sun or the moon.
    disc: Option<[f64; 2]>,
    clouds: Vec<[f64; 2]>,
    /// The middle and the top of each.
    mountains: Vec<[f64; 2]>,
    boat: Option<[f64; 2]>,
    trees: Vec<[f64; 2]>,
    house: Option<f64>,
    /// How light it is, and how far colours are from the usual ones.
    light: f64,
}

impl Scene {
    /// A scene at random: boats are at sea, trees and houses mostly are not, the moon shines at night.
    fn new(random: &mut Random) -> Self {
        let mut within = |low: f64, high: f64| low + (high - low) * random.uniform();
        let (sea, night) = (within(0.0, 1.0) < 0.5, within(0.0, 1.0) < 0.35);
        let by = |chosen: bool, [yes, no]: [f64; 2]| if chosen { yes } else { no };
        let disc = within(0.0, 1.0) < 0.6;
        let boat = sea && within(0.0, 1.0) < 0.75;
        let house = within(0.0, 1.0) < by(sea, [0.1, 0.5]);
        let mut count =
            |chance: f64, most: f64| if within(0.0, 1.0) < chance { within(1.0, most + 1.0) as usize } else { 0 };
        let clouds = count(by(night, [0.25, 0.5]), 3.0);
        let mountains = count(by(sea, [0.3, 0.5]), 3.0);
        let trees = count(by(sea, [0.15, 0.7]), 4.0);
        Self {
            sea,
            night,
            disc: disc.then(|| [within(0.15, 0.85), within(0.12, 0.3)]),
            clouds: (0..clouds).map(|_| [within(0.1, 0.9), within(0.1, 0.3)]).collect(),
            mountains: (0..mountains).map(|_| [within(0.1, 0.9), within(0.25, 0.45)]).collect(),
            boat: boat.then(|| [within(0.2, 0.8), within(0.72, 0.88)]),
            trees: (0..trees).map(|_| [within(0.05, 0.95), within(0.72, 0.9)]).collect(),
            house: house.then(|| within(0.2, 0.8)),
            light: within(0.85, 1.1),
        }
    }

    /// Its labels.
    fn labels(&self) -> Vec<&'static str> {
        let (sun, moon) = (self.disc.is_some() && !self.night, self.disc.is_some() && self.night);
        let there = [
            self.sea,
            self.boat.is_some(),
            !self.mountains.is_empty(),
            sun,
            moon,
            !self.clouds.is_empty(),
            !self.trees.is_empty(),
            self.house.is_some(),
        ];
        LABELS.into_iter().zip(there).filter(|(_, there)| *there).map(|(label, _)| label).collect()
    }

    /// The colour of a point.
    fn colour(&self, x: f64, y: f64) -> Colour {
        let day = self.below_the_sky(x, y).unwrap_or_else(|| self.sky(x, y));
        let own = if self.night { mix(day, [0.03, 0.05, 0.16], 0.55) } else { day };
        let shining = self.night.then(|| self.shining(x, y)).flatten();
        shining.unwrap_or(own).map(|c| (c * self.light).clamp(0.0, 1.0))
    }

    /// What is bright at night too: the moon, where nothing stands before it, and a window.
    fn shining(&self, x: f64, y: f64) -> Option<Colour> {
        let window = self.house.is_some_and(|at| (x - at).abs() < 0.025 && (0.66..0.72).contains(&y));
        let moon =
            self.disc.is_some_and(|at| is_near(at, x, y, 0.055) && !is_near([at[0] + 0.03, at[1] - 0.02], x, y, 0.05));
        match () {
            () if window => Some([1.0, 0.85, 0.4]),
            () if moon && self.below_the_sky(x, y).is_none() => Some([0.95, 0.94, 0.85]),
            () => None,
        }
    }

    fn sky(&self, x: f64, y: f64) -> Colour {
        let puff = |[cx, cy]: [f64; 2]| {
            [(-0.06, 0.01, 0.035), (0.0, -0.015, 0.05), (0.06, 0.01, 0.04)]
                .iter()
                .any(|(dx, dy, r)| is_near([cx + dx, cy + dy], x, y, *r))
        };
        if self.clouds.iter().any(|&cloud| puff(cloud)) {
            return [0.95, 0.95, 0.97];
        }
        if !self.night && self.disc.is_some_and(|at| is_near(at, x, y, 0.07)) {
            return [1.0, 0.83, 0.25];
        }
        mix([0.35, 0.62, 0.92], [0.8, 0.9, 0.98], y / HORIZON)
    }

    /// What stands before the sky, from the front to the back.
    fn below_the_sky(&self, x: f64, y: f64) -> Option<Colour> {
        self.boat(x, y)
            .or_else(|| self.trees(x, y))
            .or_else(|| self.house(x, y))
            .or_else(|| self.ground(x, y))
            .or_else(|| self.mountains(x, y))
    }

    fn boat(&self, x: f64, y: f64) -> Option<Colour> {
        let [bx, by] = self.boat?;
        let (dx, up) = (x - bx, by - y);
        match () {
            () if (-0.04..0.0).contains(&up) && dx.abs() < 0.09 + 0.8 * up => Some([0.45, 0.2, 0.12]),
            () if (0.0..0.2).contains(&up) && dx > 0.005 && dx < 0.35 * (0.2 - up) => Some([0.97, 0.95, 0.9]),
            () if (0.0..0.21).contains(&up) && dx.abs() < 0.005 => Some([0.3, 0.2, 0.15]),
            () => None,
        }
    }

    fn trees(&self, x: f64, y: f64) -> Option<Colour> {
        self.trees.iter().find_map(|&[tx, ty]| match () {
            () if is_near([tx, ty - 0.17], x, y, 0.055) => Some([0.13, 0.42, 0.17]),
            () if (x - tx).abs() < 0.01 && (ty - 0.15..ty).contains(&y) => Some([0.36, 0.24, 0.14]),
            () => None,
        })
    }

    fn house(&self, x: f64, y: f64) -> Option<Colour> {
        let dx = (x - self.house?).abs();
        match () {
            () if dx < 0.025 && (0.66..0.72).contains(&y) => Some([0.55, 0.75, 0.85]),
            () if dx < 0.08 && (0.62..0.78).contains(&y) => Some([0.9, 0.82, 0.7]),
            () if (0.5..0.62).contains(&y) && dx < 0.8 * (y - 0.5) => Some([0.7, 0.22, 0.17]),
            () => None,
        }
    }

    fn ground(&self, x: f64, y: f64) -> Option<Colour> {
        if y < HORIZON {
            return None;
        }
        let deep = (y - HORIZON) / (1.0 - HORIZON);
        if !self.sea {
            return Some(mix([0.55, 0.72, 0.35], [0.3, 0.5, 0.2], deep));
        }
        let crest = (40.0 * deep + 6.0 * (9.0 * x).sin()).sin() > 0.93;
        Some(if crest { [0.75, 0.88, 0.95] } else { mix([0.2, 0.5, 0.75], [0.08, 0.28, 0.5], deep) })
    }

    fn mountains(&self, x: f64, y: f64) -> Option<Colour> {
        self.mountains.iter().find_map(|&[mx, top]| {
            let below = y - top - 1.1 * (x - mx).abs();
            let snow = y < top + 0.07 + 0.01 * (60.0 * x).sin();
            (below > 0.0).then_some(if snow { [0.97, 0.97, 1.0] } else { [0.45, 0.43, 0.47] })
        })
    }
}

/// Whether a point is within so much of the width of another one.
fn is_near([cx, cy]: [f64; 2], x: f64, y: f64, r: f64) -> bool {
    (x - cx).hypot((y - cy) * HEIGHT as f64 / WIDTH as f64) < r
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The head says what stands behind it, and the lowest row comes first.
    #[test]
    fn a_bitmap_is_what_its_head_says() {
        let bytes = bitmap(&|x, y| [x, y, 0.0]);
        let number = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i])) as usize;
        assert_eq!((number(2), number(18), number(22)), (bytes.len(), WIDTH, HEIGHT));
        let pixel = |at: usize| &bytes[54 + at..57 + at];
        assert_eq!((pixel(0)[0], pixel(0)[2]), (0, 1));
        assert!(pixel(0)[1] > 250 && pixel(3 * (WIDTH - 1))[2] > 250);
        assert!(bytes[bytes.len() - 2] < 5);
    }

    /// Every label is on some pictures and not on others, so that each can be learned.
    #[test]
    fn every_label_is_somewhere_and_not_everywhere() {
        let mut random = Random::new(1);
        let all: Vec<Vec<&str>> = (0..KNOWN).map(|_| Scene::new(&mut random).labels()).collect();
        for label in LABELS {
            let count = all.iter().filter(|own| own.contains(&label)).count();
            assert!((5..KNOWN - 5).contains(&count), "{label}: {count}");
        }
    }
}
