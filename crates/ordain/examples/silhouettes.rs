//! Figure 3, left, of \[EFM\]: points of sheared silhouettes are matched, with more and more pairs of images to learn from.
//!
//! `cargo run --release -p ordain --example silhouettes -- DATA [--sizes 10,20,50,100,200,500] [--shapes horse-1,deer-1,…]`;
//! `--short` is N = 200 on three shapes with `scale=none`, and `--scale none` or `global` leaves only λ to be chosen. DATA is the
//! folder of data sets, or `ORDAIN_DATA` is. From 20 of the 100 points of an outline of MPEG-7 200 images are made, `x + a·y` with `a`
//! uniform in ±0.6. Weights are learned on N pairs, λ and scaling are chosen on N others, and all are measured on 500 pairs of images
//! that are in neither; the right side of every pair is shuffled. Losses are means over matchings that score the same, and intervals
//! are over images.
#![allow(clippy::print_stdout)] // an example shows what it does

use ordain::data::scale::Scale;
use ordain::data::synthetic::Silhouettes;
use ordain::data::{MatchSet, read_contours};
use ordain::method::{Choice, MatchMap, MatchMargin, Matcher};
use ordain::metric::Convention;
use ordain::metric::stats::{crossed_interval, mean};
use ordain::solver::run::Watch;
use ordain::task::{Method, Model, Training};
use std::path::Path;
use std::time::Instant;

const SHAPES: &str = "horse-1,deer-1,bird-1,camel-1,dog-1,elephant-1";

/// A matcher that has learned nothing: the squared distance of shape contexts.
fn unlearned(set: &MatchSet) -> Matcher {
    Matcher::unlearned(set, vec![-1.0; set.columns.names.len()])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let short = words.iter().any(|word| word == "--short");
    let option = |name: &str, default: &str| {
        let at = words.iter().position(|word| word == name);
        at.and_then(|at| words.get(at + 1)).map_or(default.to_owned(), String::clone)
    };
    let sizes: Result<Vec<usize>, _> =
        option("--sizes", if short { "200" } else { "10,20,50,100,200,500" }).split(',').map(str::parse).collect();
    let shapes = option("--shapes", if short { "horse-1,deer-1,bird-1" } else { SHAPES });
    let scale = match option("--scale", if short { "none" } else { "auto" }).as_str() {
        "none" => Choice::Set(Scale::None),
        "global" => Choice::Set(Scale::Global),
        _ => Choice::Auto,
    };
    let data = words.first().filter(|word| !word.starts_with("--")).cloned().or(std::env::var("ORDAIN_DATA").ok());
    let data = data.ok_or("the folder of data sets, as the first word or in ORDAIN_DATA")?;
    let contours = read_contours(&Path::new(&data).join("matching/mpeg7-ce1-b/contours100.csv.gz"))?;
    println!(
        "   N  shape        unlearned  matchmap, 95 %            matchmargin  map - margin, 95 %          seconds"
    );
    for n in sizes? {
        let (mut all, mut all_images, mut seen) = ([vec![], vec![], vec![]], vec![], 0);
        for name in shapes.split(',') {
            let (_, contour) = contours.iter().find(|(own, _)| own == name).ok_or(format!("no outline {name:?}"))?;
            // the first N of as many as there are: the same test pairs for all N
            let pairs = [n.max(500), n.max(500), 500];
            let drawn = Silhouettes { pairs, ..Silhouettes::of_contour(contour.clone()) };
            let (set, [train, valid, test], of) = drawn.make_of_images();
            // images of one outline are not those of another
            let images: Vec<[usize; 2]> = of[test.clone()].iter().map(|of| of.map(|k| k + 1000 * seen)).collect();
            seen += 1;
            let units = |range: std::ops::Range<usize>| range.map(|p| p as u32).collect::<Vec<u32>>();
            let (train, valid) = (units(train.start..train.start + n), units(valid.start..valid.start + n));
            let training = Training { valid: Some(&valid), refit: false, ..Training::new(&set, &train) };
            let hamming = |matcher: &Matcher| -> ordain::Result<Vec<f64>> {
                let (ready, metric) = (matcher.prepare(&set)?, "hamming".parse()?);
                Ok(matcher.evaluate(&ready, &units(test.clone()), &[metric], &Convention::STANDARD)?.counted(0))
            };
            let start = Instant::now();
            let map = MatchMap { scale, ..MatchMap::default() }.fit(&training, &Watch::NOBODY)?;
            let middle = Instant::now();
            let margin = MatchMargin { scale, calibrate: false, ..MatchMargin::default() };
            let margin = margin.fit(&training, &Watch::NOBODY)?;
            let seconds = [(middle - start).as_secs_f64(), middle.elapsed().as_secs_f64()];
            let losses = [hamming(&unlearned(&set))?, hamming(&map.model)?, hamming(&margin.model)?];
            row(n, name, &losses, &images, &format!("{:.1} {:.1}", seconds[0], seconds[1]));
            if words.iter().any(|word| word == "--chosen") {
                println!("      {:?}\n      {:?}", map.facts.settings, margin.facts.settings);
            }
            all.iter_mut().zip(losses).for_each(|(all, own)| all.extend(own));
            all_images.extend(images);
        }
        row(n, "mean", &all, &all_images, "");
    }
    Ok(())
}

/// Errors with their interval over images: 500 pairs come from 66 of them.
fn row(n: usize, name: &str, [plain, map, margin]: &[Vec<f64>; 3], images: &[[usize; 2]], seconds: &str) {
    let ahead: Vec<f64> = map.iter().zip(margin).map(|(map, margin)| map - margin).collect();
    let ((low, high), (from, to)) = (crossed_interval(&ahead, images, 1), crossed_interval(map, images, 1));
    let (a, b, c) = (mean(plain), mean(map), mean(margin));
    println!(
        "{n:4}  {name:12} {a:.4}     {b:.4} [{from:.4}, {to:.4}]  {c:.4}       {:+.4} [{low:+.4}, {high:+.4}]  {seconds}",
        b - c
    );
}
