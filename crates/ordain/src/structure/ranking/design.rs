//! The design matrix of a ranking: what two places have to do with each other.

use crate::error::{Error, Result};

/// A symmetric matrix `D` over classes of places, \[QAP\] Eq. (5).
///
/// A class is a place of its own, but for the last one: with fewer classes than items that is the tail, which holds all
/// items below the head. An asymmetric matrix is refused: with it `Σ f_ij d(π_i, π_j)` is no function of `f_ij + f_ji`.
/// (Where `F` is symmetric, `(D + Dᵀ)/2` gives the same score.)
///
/// ```
/// use ordain::structure::ranking::Design;
/// let three = Design::distance(3);
/// assert_eq!((three.at(0, 2), three.at(2, 1)), (2.0, 1.0));
/// assert_eq!(Design::matrix(2, vec![0.0, 1.0, 1.0, 0.0])?, Design::distance(2));
/// assert!(Design::matrix(2, vec![0.0, 1.0, 2.0, 0.0]).is_err());
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    classes: usize,
    table: Vec<f64>,
    shape: Shape,
}

/// What a matrix depends on; the fast bounds of whole rankings go by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::structure) enum Shape {
    /// `step |k − l|`.
    Distance,
    /// A function of `|k − l|`.
    Toeplitz,
    /// Anything else.
    Other,
}

impl Design {
    /// `D(k, l) = |k − l|`: links below 0 draw items together, links above 0 drive them apart.
    pub fn distance(classes: usize) -> Self {
        Self::of(classes, |k, l| k.abs_diff(l) as f64)
    }

    /// `D(k, l) = c_k c_l` for the discounts `c` of all classes, the tail included.
    ///
    /// # Errors
    ///
    /// [`Error::NotFinite`] where a product is not finite.
    pub fn product(discounts: &[f64]) -> Result<Self> {
        let design = Self::of(discounts.len(), |k, l| discounts[k] * discounts[l]);
        if design.table.iter().all(|d| d.is_finite()) {
            Ok(design)
        } else {
            Err(Error::NotFinite { what: "a product of two discounts" })
        }
    }

    /// `D(k, l) = 1` where both are among the first `head` classes, else 0: the blocks of \[QAP\] Eq. (6).
    pub fn head(classes: usize, head: usize) -> Self {
        Self::of(classes, |k, l| if k.max(l) < head { 1.0 } else { 0.0 })
    }

    /// A matrix of its own, row after row.
    ///
    /// # Errors
    ///
    /// [`Error::Data`] where it is not square or not symmetric, [`Error::NotFinite`] where a number is not finite.
    pub fn matrix(classes: usize, table: Vec<f64>) -> Result<Self> {
        if classes.checked_mul(classes) != Some(table.len()) {
            return Err(Error::Data {
                expected: format!("a design of {classes} x {classes} numbers"),
                found: format!("{} numbers", table.len()),
            });
        }
        if table.iter().any(|d| !d.is_finite()) {
            return Err(Error::NotFinite { what: "a number of the design" });
        }
        for k in 0..classes {
            for l in 0..k {
                let (lower, upper) = (table[k * classes + l], table[l * classes + k]);
                if lower.total_cmp(&upper).is_ne() && lower - upper != 0.0 {
                    return Err(Error::Data {
                        expected: "a symmetric design; with symmetric links (D + D')/2 means the same".into(),
                        found: format!("{upper} at ({l}, {k}) and {lower} at ({k}, {l})"),
                    });
                }
            }
        }
        Ok(Self::of(classes, |k, l| table[k * classes + l]))
    }

    /// A matrix by a symmetric function of two classes.
    pub(crate) fn of(classes: usize, d: impl Fn(usize, usize) -> f64) -> Self {
        let table: Vec<f64> = (0..classes * classes).map(|at| d(at / classes, at % classes)).collect();
        let same = |a: f64, b: f64| a - b == 0.0;
        let toeplitz = (1..classes).all(|k| (1..classes).all(|l| same(d(k, l), d(k - 1, l - 1))));
        let step = if classes > 1 { table[1] } else { 0.0 };
        let linear = toeplitz && (0..classes).all(|l| same(table[l], step * l as f64));
        let shape = if linear {
            Shape::Distance
        } else if toeplitz {
            Shape::Toeplitz
        } else {
            Shape::Other
        };
        Self { classes, table, shape }
    }

    /// The number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// `D(k, l)`.
    #[inline]
    pub fn at(&self, k: usize, l: usize) -> f64 {
        self.table[k * self.classes + l]
    }

    /// The row of class `k`, which is its column too.
    #[inline]
    pub fn row(&self, k: usize) -> &[f64] {
        &self.table[k * self.classes..(k + 1) * self.classes]
    }

    pub(in crate::structure) fn shape(&self) -> Shape {
        self.shape
    }

    /// The largest entry in size.
    pub(in crate::structure) fn largest(&self) -> f64 {
        self.table.iter().fold(0.0, |most, d| if d.abs() > most { d.abs() } else { most })
    }
}
