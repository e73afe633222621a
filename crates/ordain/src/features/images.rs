//! Pictures as a step: cells are paths, and what has to be learned is learned from the pictures of the training part.

use super::in_row;
use crate::data::{Cell, Input};
use crate::error::{Error, Interrupt, Result};
use crate::picture::{Learned, Picture, Recipe};

/// The settings of an input `image`.
pub(super) const SETTINGS: &[&str] = &["colour", "layout", "edges", "gradients", "shape", "fisher", "grid", "shares"];

/// Fisher vectors are learned from at most so many pictures, evenly over all.
const LEARNED_FROM: usize = 2000;

/// The features that settings ask for; without any that names a feature, colours, layout, edges and gradients on a grid of 4 × 4, as
/// shares of the pixels.
fn recipe(input: &Input) -> Result<Recipe> {
    let setting = |name: &str| super::setting(input, name);
    let some = ["colour", "layout", "edges", "gradients", "shape", "fisher"].iter().any(|name| setting(name).is_some());
    let usual = |n: usize| if some { 0 } else { n };
    let recipe = Recipe {
        colour: setting("colour").unwrap_or(usual(64)),
        layout: setting("layout").unwrap_or(usual(1)) > 0,
        edges: setting("edges").unwrap_or(usual(16)),
        gradients: setting("gradients").unwrap_or(usual(8)),
        shape: setting("shape").unwrap_or(0) > 0,
        fisher: setting("fisher").unwrap_or(0),
        grid: setting("grid").unwrap_or(if some { 1 } else { 4 }),
        shares: setting("shares").unwrap_or(1) > 0,
    };
    recipe.check()?;
    Ok(recipe)
}

/// Learns what the features need. Pictures are read as they are needed, and not kept.
pub(super) fn learn<'a>(input: &Input, cells: impl Iterator<Item = Cell<'a>>) -> Result<Learned> {
    let recipe = recipe(input)?;
    let all: Vec<Cell> = if recipe.fisher > 0 { cells.filter(|cell| !cell.text.is_empty()).collect() } else { vec![] };
    let some: Vec<&Cell> = all.iter().step_by(all.len().div_ceil(LEARNED_FROM).max(1)).collect();
    let read = |i: usize| picture(some[i]).map_err(|error| placed(error, input, some[i]));
    Learned::learn(recipe, some.len(), read, 0, &Interrupt::default())
}

/// The features of the picture that a cell names, or why there are none, with the row.
pub(super) fn apply(learned: &Learned, input: &Input, cell: &Cell) -> Result<Vec<f32>> {
    read(learned, cell).map_err(|error| placed(error, input, cell))
}

/// The features of the picture that a cell names.
pub(super) fn read(learned: &Learned, cell: &Cell) -> Result<Vec<f32>> {
    Ok(learned.apply(&picture(cell)?))
}

#[cfg(feature = "pictures")]
fn picture(cell: &Cell) -> Result<Picture> {
    crate::data::pictures::read_picture(&cell.file())
}

#[cfg(not(feature = "pictures"))]
fn picture(cell: &Cell) -> Result<Picture> {
    let expected = "a build that reads pictures (the feature \"pictures\" is off)".into();
    Err(Error::Data { expected, found: cell.text.into() })
}

/// The refusal of a picture, with the column and the row that name it.
#[cold]
fn placed(error: Error, input: &Input, cell: &Cell) -> Error {
    match error {
        Error::Interrupted => error,
        other => Error::Data {
            expected: format!("a picture in column {:?}{}", input.column, in_row(cell)),
            found: other.to_string(),
        },
    }
}
