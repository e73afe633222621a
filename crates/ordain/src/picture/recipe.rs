//! Which features a picture is turned into, and what has to be learned for them.

use super::fisher::Fisher;
use super::{Picture, colour, edges, shape};
use crate::error::{Error, Interrupt, Result};
use serde::{Deserialize, Serialize};

/// The features of a picture, in this order: colour, layout, edges, gradients, shape, Fisher vector.
///
/// ```
/// use ordain::picture::{Learned, Picture, Recipe};
/// let recipe = Recipe { colour: 8, edges: 4, ..Recipe::default() };
/// let picture = Picture::new(3, 3, vec![[10, 200, 30]; 9])?;
/// let learned = Learned::learn(recipe, 1, |_| Ok(picture.clone()), 0, &ordain::Interrupt::default())?;
/// let row = learned.apply(&picture);
/// assert_eq!((row.len(), learned.names().len()), (12, 12));
/// assert_eq!(row[..8].iter().sum::<f32>(), 9.0); // counts of pixels
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Bins of the [colour histogram](colour::histogram), a multiple of 8; 0 for none.
    pub colour: usize,
    /// The [mean colours](colour::layout) of the cells.
    pub layout: bool,
    /// Directions of [edges](edges::directions); 0 for none.
    pub edges: usize,
    /// Directions of [gradients](edges::gradients); 0 for none.
    pub gradients: usize,
    /// The [shape](shape::descriptors) of a silhouette.
    pub shape: bool,
    /// Gaussians of [Fisher vectors](Fisher); 0 for none.
    pub fisher: usize,
    /// Layout, edges and gradients are on a grid of this many cells each way.
    pub grid: usize,
    /// Whether counts of pixels are divided by the number of pixels, for pictures of different sizes.
    pub shares: bool,
}

impl Default for Recipe {
    /// No features, on one cell.
    fn default() -> Self {
        Self { colour: 0, layout: false, edges: 0, gradients: 0, shape: false, fisher: 0, grid: 1, shares: false }
    }
}

impl Recipe {
    /// Refuses numbers outside their ranges, and a recipe of nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`] with the name of the feature.
    pub fn check(&self) -> Result<()> {
        let refuse = |name: &str, expected: &str, found: usize| {
            Err(Error::Setting { name: name.into(), expected: expected.into(), found: found.to_string() })
        };
        match () {
            () if !self.colour.is_multiple_of(8) || self.colour > 4096 => {
                refuse("colour", "a multiple of 8 up to 4096", self.colour)
            }
            () if self.edges > 360 => refuse("edges", "at most 360 directions", self.edges),
            () if self.gradients > 180 => refuse("gradients", "at most 180 directions", self.gradients),
            () if self.fisher > 256 => refuse("fisher", "at most 256 Gaussians", self.fisher),
            () if !(1..=64).contains(&self.grid) => refuse("grid", "1 to 64 cells each way", self.grid),
            () if *self == (Self { grid: self.grid, shares: self.shares, ..Self::default() }) => Err(Error::Setting {
                name: "features".into(),
                expected: "at least one of colour, layout, edges, gradients, shape, fisher".into(),
                found: "none".into(),
            }),
            () => Ok(()),
        }
    }

    /// The names of the columns.
    pub fn names(&self) -> Vec<String> {
        let mut names = vec![];
        names.extend((0..self.colour).map(|k| format!("colour{k}")));
        let on_grid = |what: &str, each: usize| {
            let what = what.to_owned();
            (0..self.grid * self.grid).flat_map(move |cell| {
                let what = what.clone();
                (0..each).map(move |k| format!("{what}{cell}_{k}"))
            })
        };
        if self.layout {
            names.extend(on_grid("layout", 3));
        }
        names.extend(on_grid("edges", self.edges));
        names.extend(on_grid("gradients", self.gradients));
        if self.shape {
            names.extend(shape::names());
        }
        names.extend((0..Fisher::entries(self.fisher)).map(|k| format!("fisher{k}")));
        names
    }
}

/// A recipe with what was learned for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Learned {
    recipe: Recipe,
    fisher: Option<Fisher>,
}

impl Learned {
    /// Learns what the recipe needs from `count` pictures, which `read` gives: those of the training part alone.
    ///
    /// # Errors
    ///
    /// Those of [`Recipe::check`], of `read` and of [`Fisher::learn`].
    pub fn learn(
        recipe: Recipe,
        count: usize,
        read: impl Fn(usize) -> Result<Picture> + Sync,
        seed: u64,
        stop: &Interrupt,
    ) -> Result<Self> {
        recipe.check()?;
        let fisher = match recipe.fisher {
            0 => None,
            components => Some(Fisher::learn(count, read, components, seed, stop)?),
        };
        Ok(Self { recipe, fisher })
    }

    /// The recipe.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The names of the columns.
    pub fn names(&self) -> Vec<String> {
        self.recipe.names()
    }

    /// The row of a picture.
    pub fn apply(&self, picture: &Picture) -> Vec<f32> {
        let recipe = &self.recipe;
        let pixels = if recipe.shares { picture.pixels().len() as f32 } else { 1.0 };
        let counted = |counts: Vec<u32>| counts.into_iter().map(move |n| n as f32 / pixels);
        let mut row = vec![];
        if recipe.colour > 0 {
            row.extend(counted(colour::histogram(picture, recipe.colour)));
        }
        if recipe.layout {
            row.extend(colour::layout(picture, recipe.grid));
        }
        if recipe.edges > 0 {
            row.extend(counted(edges::directions(picture, recipe.edges, recipe.grid)));
        }
        if recipe.gradients > 0 {
            row.extend(edges::gradients(picture, recipe.gradients, recipe.grid));
        }
        if recipe.shape {
            row.extend(shape::descriptors(picture));
        }
        if let Some(fisher) = &self.fisher {
            row.extend(fisher.apply(picture));
        }
        row
    }

    /// Whether all parts fit together, as those of a stored one have to.
    pub fn is_whole(&self) -> bool {
        self.recipe.check().is_ok()
            && match &self.fisher {
                None => self.recipe.fisher == 0,
                Some(fisher) => self.recipe.fisher > 0 && fisher.is_of(self.recipe.fisher),
            }
    }
}
