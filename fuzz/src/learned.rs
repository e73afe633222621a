//! Damaged files of what was learned from pictures and tensors: refused, or every field is used and can be.

use super::models::{beyond, strange};
use super::mutate;
use super::readers::files;
use super::suite::{Check, Suite, damage, ensure};
use ordain::Interrupt;
use ordain::data::pictures::{Kept, Tensors};
use ordain::picture::tensor::Reduction;
use ordain::picture::{Learned, Picture, Recipe};
use ordain::random::Random;
use serde_json::Value;

/// The sides of pictures whose patches are learned from.
const SIDE: usize = 48;

fn picture(seed: usize) -> Picture {
    let mut random = Random::new(seed as u64);
    let pixels = (0..SIDE * SIDE).map(|_| [0; 3].map(|_: u8| random.bits() as u8)).collect();
    Picture::new(SIDE, SIDE, pixels).expect("a picture")
}

fn tensors(sizes: &[usize], ranks: &[usize]) -> Kept {
    let mut random = Random::new(1);
    let samples: Vec<f64> = (0..6 * sizes.iter().product::<usize>()).map(|_| random.normal()).collect();
    Kept::Tensors(Reduction::learn(&samples, sizes, ranks, &Interrupt::default()).expect("a reduction"))
}

fn pictures(recipe: Recipe) -> Kept {
    let learned = Learned::learn(recipe, 6, |i| Ok(picture(i)), 1, &Interrupt::default());
    Kept::Pictures(learned.expect("features"))
}

fn numbers(value: &Value) -> Option<Vec<f64>> {
    value.as_array()?.iter().map(Value::as_f64).collect()
}

fn sizes(value: &Value) -> Option<Vec<usize>> {
    value.as_array()?.iter().map(|n| n.as_u64().map(|n| n as usize)).collect()
}

/// Whether rows of this length are of length 1 and at right angles.
fn are_axes(rows: &[f64], length: usize) -> bool {
    let rows: Vec<&[f64]> = rows.chunks(length).collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    (0..rows.len()).all(|i| (0..=i).all(|j| (dot(rows[i], rows[j]) - if i == j { 1.0 } else { 0.0 }).abs() <= 1e-6))
}

/// A reduction has a factor of right angles for each mode, and an error that never rises.
fn reduction(said: &Value) -> Option<bool> {
    let (sizes, ranks) = (sizes(&said["sizes"])?, sizes(&said["ranks"])?);
    let factors = said["factors"].as_array()?.iter().map(numbers).collect::<Option<Vec<_>>>()?;
    let errors = numbers(&said["errors"])?;
    let all = sizes.len();
    let factor = |k: usize| {
        let right = (1..=sizes[k]).contains(&ranks[k]) && factors[k].len() == ranks[k] * sizes[k];
        right && are_axes(&factors[k], sizes[k])
    };
    let falls = errors.windows(2).all(|two| two[1] <= two[0]) && errors.last().is_some_and(|error| *error >= 0.0);
    Some(all > 0 && ranks.len() == all && factors.len() == all && (0..all).all(factor) && falls)
}

/// Gaussians over patches of so many numbers: weights that add up to 1, and everything else within what patches can be.
fn mixture(said: &Value, length: usize, components: usize) -> Option<bool> {
    let of = |name: &str| numbers(&said[name]);
    let (centre, axes, weights) = (of("centre")?, of("axes")?, of("weights")?);
    let (means, deviations) = (of("means")?, of("deviations")?);
    let far = (length as f64).sqrt();
    let fits = centre.len() == length && axes.len() == 32 * length && weights.len() == components;
    let fit = means.len() == 32 * components && deviations.len() == means.len();
    let weighed = weights.iter().all(|w| *w > 0.0) && (weights.iter().sum::<f64>() - 1.0).abs() <= 1e-6;
    let near = centre.iter().all(|x| x.abs() <= 1.001) && means.iter().all(|x| x.abs() <= far * 1.001);
    let wide = deviations.iter().all(|x| (1e-8..=far * 1.001).contains(x));
    Some(fits && fit && weighed && near && wide && are_axes(&axes, length))
}

/// Features of pictures that there are, with what they need.
fn features(said: &Value) -> Option<bool> {
    let recipe = &said["recipe"];
    let number = |name: &str, most: u64| recipe[name].as_u64().filter(|n| *n <= most);
    let (colour, fisher) = (number("colour", 4096)?, number("fisher", 256)? as usize);
    let some = colour + number("edges", 360)? + number("gradients", 180)? + fisher as u64;
    let grid = number("grid", 64)?;
    let whether = |name: &str| recipe[name].as_bool();
    whether("shares")?;
    let any = some > 0 || whether("layout")? || whether("shape")?;
    let right = any && colour % 8 == 0 && grid > 0;
    match &said["fisher"] {
        Value::Null => Some(right && fisher == 0),
        own => {
            let [slopes, colours] = &own["kinds"].as_array()?[..] else { return None };
            Some(right && fisher > 0 && mixture(slopes, 128, fisher)? && mixture(colours, 96, fisher)?)
        }
    }
}

/// What was read is all that the file says; it fits together, and what it is used for are finite numbers.
fn judged(kept: &Kept, text: &[u8]) -> Check {
    let said: Value = serde_json::from_slice(text).map_err(|error| ("no JSON was read".into(), error.to_string()))?;
    let again = serde_json::to_value(kept).expect("JSON");
    if let Some(place) = beyond(&said, &again, "") {
        return Err(("a field is lost or changed".into(), place));
    }
    let right = match kept {
        Kept::Pictures(_) => features(&said["pictures"]),
        Kept::Tensors(_) => reduction(&said["tensors"]),
    };
    ensure!(right == Some(true), "what does not fit together was read", "{right:?}");
    let (names, values) = match kept {
        Kept::Pictures(learned) => (learned.names().len(), learned.apply(&picture(9))),
        Kept::Tensors(reduction) => {
            let size: usize = reduction.sizes().iter().product();
            let values = (0..size).map(|at| (at as f64).sin()).collect();
            let rows = vec![("1".to_owned(), String::new())];
            let table = Tensors { rows, sizes: reduction.sizes().to_vec(), values }.reduced(reduction);
            let table = table.map_err(|error| ("no core".to_owned(), error.to_string()))?;
            (table.names.len(), table.values)
        }
    };
    ensure!(values.len() == names, "another number of columns", "{} for {names}", values.len());
    ensure!(values.iter().all(|x| x.is_finite()), "a number that is not finite", "{values:?}");
    Ok(())
}

/// What `ordain features --learned` reads: damage to the text, and strange things in the JSON.
pub(crate) fn damaged_learned(suite: &mut Suite, inputs: usize) {
    let usual = Recipe { colour: 8, layout: true, edges: 3, gradients: 2, shape: true, grid: 2, ..Recipe::default() };
    let large = pictures(Recipe { fisher: 2, ..usual });
    let small = [tensors(&[4, 3, 2], &[2, 2, 1]), pictures(usual), tensors(&[5], &[2])];
    let whole = |kept: &Kept| serde_json::to_vec(kept).expect("JSON");
    let seeds: Vec<Vec<u8>> = small.iter().cycle().take(15).chain([&large]).map(whole).collect();
    let mut random = damage(1300);
    let next = |turn: usize| {
        let whole = &seeds[turn % seeds.len()];
        match turn / seeds.len() {
            0 => (whole.clone(), "whole".to_owned()),
            turn if turn % 2 == 0 => mutate::text(whole, &mut random),
            _ => {
                let mut json = serde_json::from_slice(whole).expect("JSON");
                strange(&mut json, &mut random);
                (json.to_string().into_bytes(), "something strange in the JSON".to_owned())
            }
        }
    };
    files(suite, inputs, "learned.json", next, Kept::read, judged);
}
