//! Pictures and videos as numbers: features that can be read off pixels, and features that are learned from many pictures.
//!
//! | features | function | learned |
//! |---|---|---|
//! | colour histogram, hue × saturation × value | [`colour::histogram`] | no |
//! | colour layout: mean colour of the cells of a grid | [`colour::layout`] | no |
//! | pixels on edges, by direction | [`edges::directions`] | no |
//! | histograms of gradients | [`edges::gradients`] | no |
//! | moments and Fourier descriptors of a silhouette | [`shape::descriptors`] | no |
//! | Fisher vectors of dense descriptors | [`fisher::Fisher`] | yes |
//! | tensors reduced in every mode but that of the samples | [`tensor::Reduction`] | yes |
//!
//! [`Recipe`] says which of them a table is made of. What is learned has to be learned on the training part alone.

mod axes;
pub mod colour;
#[cfg(feature = "pictures")]
mod decode;
pub mod edges;
pub mod fisher;
mod recipe;
pub mod shape;
pub mod tensor;

#[cfg(feature = "pictures")]
pub use decode::MOST_PIXELS;
pub use recipe::{Learned, Recipe};

use crate::error::{Error, Result};

/// A picture of eight bits for each of red, green and blue, row after row from the top left.
///
/// ```
/// use ordain::picture::Picture;
/// let red = Picture::new(2, 1, vec![[255, 0, 0]; 2])?;
/// assert_eq!((red.width(), red.height(), red.pixels().len()), (2, 1, 2));
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    width: usize,
    height: usize,
    pixels: Vec<[u8; 3]>,
}

impl Picture {
    /// A picture of at least one pixel.
    ///
    /// # Errors
    ///
    /// [`Error::Data`] where the number of pixels is not width times height, or 0.
    pub fn new(width: usize, height: usize, pixels: Vec<[u8; 3]>) -> Result<Self> {
        if pixels.is_empty() || width.checked_mul(height) != Some(pixels.len()) {
            return Err(Error::Data {
                expected: format!("{width} x {height} pixels, and at least one"),
                found: pixels.len().to_string(),
            });
        }
        Ok(Self { width, height, pixels })
    }

    /// Pixels in a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// All pixels, row after row.
    pub fn pixels(&self) -> &[[u8; 3]] {
        &self.pixels
    }

    /// Brightness of every pixel, 0 to 255: .299 R + .587 G + .114 B.
    pub fn brightness(&self) -> Grey {
        let weigh = |[r, g, b]: &[u8; 3]| 0.299 * f32::from(*r) + 0.587 * f32::from(*g) + 0.114 * f32::from(*b);
        Grey { width: self.width, height: self.height, values: self.pixels.iter().map(weigh).collect() }
    }

    /// The three colours as planes of their own.
    fn planes(&self) -> [Grey; 3] {
        [0, 1, 2].map(|c| {
            let values = self.pixels.iter().map(|pixel| f32::from(pixel[c])).collect();
            Grey { width: self.width, height: self.height, values }
        })
    }

    /// The cell of an `n`×`n` grid that a pixel lies in, cells row after row.
    fn cell(&self, x: usize, y: usize, n: usize) -> usize {
        (y * n / self.height) * n + x * n / self.width
    }
}

/// A plane of numbers, row after row: the brightness of a picture, or one of its colours.
#[derive(Clone, Debug, PartialEq)]
pub struct Grey {
    width: usize,
    height: usize,
    values: Vec<f32>,
}

impl Grey {
    /// A plane of at least one number.
    ///
    /// # Errors
    ///
    /// [`Error::Data`] where the number of values is not width times height, or 0.
    pub fn new(width: usize, height: usize, values: Vec<f32>) -> Result<Self> {
        if values.is_empty() || width.checked_mul(height) != Some(values.len()) {
            return Err(Error::Data {
                expected: format!("{width} x {height} values, and at least one"),
                found: values.len().to_string(),
            });
        }
        Ok(Self { width, height, values })
    }

    /// Values in a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// All values, row after row.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// The value nearest to a place: places outside have that of the border.
    #[inline]
    fn at(&self, x: isize, y: isize) -> f32 {
        let x = x.clamp(0, self.width as isize - 1) as usize;
        let y = y.clamp(0, self.height as isize - 1) as usize;
        self.values[y * self.width + x]
    }

    /// The plane in another size. A new value is the mean over the area that it covers, so that nothing is left out and
    /// nothing flickers. O(old + new values).
    ///
    /// ```
    /// use ordain::picture::Grey;
    /// let plane = Grey::new(3, 1, vec![0.0, 3.0, 6.0])?;
    /// assert_eq!(plane.resized(2, 1).values(), [1.0, 5.0]); // (0 + 3/2) / 1.5 and (3/2 + 6) / 1.5
    /// # Ok::<(), ordain::Error>(())
    /// ```
    pub fn resized(&self, width: usize, height: usize) -> Self {
        let (width, height) = (width.max(1), height.max(1));
        let (columns, rows) = (covered(self.width, width), covered(self.height, height));
        let mut wide = vec![0.0f64; width * self.height];
        for y in 0..self.height {
            let from = &self.values[y * self.width..(y + 1) * self.width];
            for (x, (first, weights)) in columns.iter().enumerate() {
                wide[y * width + x] =
                    weights.iter().zip(&from[*first..]).fold(0.0, |sum, (w, v)| sum + w * f64::from(*v));
            }
        }
        let mut values = vec![0.0f32; width * height];
        for (y, (first, weights)) in rows.iter().enumerate() {
            for x in 0..width {
                let sum = weights.iter().enumerate().fold(0.0, |sum, (k, w)| sum + w * wide[(first + k) * width + x]);
                values[y * width + x] = sum as f32;
            }
        }
        Self { width, height, values }
    }

    /// The plane with no side longer than this, in its own proportions.
    fn within(&self, most: usize) -> Self {
        let longest = self.width.max(self.height);
        if longest <= most {
            return self.clone();
        }
        self.resized((self.width * most).div_ceil(longest), (self.height * most).div_ceil(longest))
    }
}

/// For each of `new` parts of equal length of `old` cells: the first cell that it covers, and the share of each.
fn covered(old: usize, new: usize) -> Vec<(usize, Vec<f64>)> {
    let part = |k: usize| {
        let (from, to) = (k * old, (k + 1) * old); // in units of 1/new of a cell
        let (first, last) = (from / new, (to - 1) / new);
        let share = |cell: usize| (to.min((cell + 1) * new) - from.max(cell * new)) as f64 / old as f64;
        (first, (first..=last).map(share).collect())
    };
    (0..new).map(part).collect()
}
