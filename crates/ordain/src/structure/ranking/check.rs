//! What is wrong with a problem, by its place.

use super::Problem;
use crate::error::{Error, Result};

/// The largest score in size, so that sums and differences stay finite.
const LARGEST: f64 = 1e290;

impl Problem<'_> {
    /// Whether sizes fit, numbers are finite, and no pin contradicts another.
    pub(super) fn check(&self) -> Result<()> {
        self.check_sizes()?;
        self.check_numbers()?;
        self.check_pins()
    }

    fn check_sizes(&self) -> Result<()> {
        let (n, classes) = (self.items(), self.classes());
        let data = |expected: String, found: String| Err(Error::Data { expected, found });
        if classes == 0 || classes > n + 1 || n >= u32::MAX as usize {
            return data(
                format!("from 1 to {} classes of places for {n} items", n + 1),
                format!("a design of {classes} classes"),
            );
        }
        if self.discounts.len() != classes {
            return data(format!("{classes} discounts, one per class"), format!("{}", self.discounts.len()));
        }
        if self.links.items() != n {
            return data(format!("links of {n} items"), format!("links of {}", self.links.items()));
        }
        if !self.extra.is_empty() && self.extra.len() != n * classes {
            return data(format!("{n} x {classes} extra terms, or none"), format!("{}", self.extra.len()));
        }
        Ok(())
    }

    fn check_numbers(&self) -> Result<()> {
        if self.scores.iter().any(|s| !s.is_finite()) {
            return Err(Error::NotFinite { what: "a score" });
        }
        if self.discounts.iter().any(|c| !c.is_finite()) {
            return Err(Error::NotFinite { what: "a discount" });
        }
        if self.extra.iter().any(|&e| e.is_nan() || e == f64::INFINITY) {
            return Err(Error::NotFinite {
                what: "an extra term (only -inf may be, which excludes an item from a place)",
            });
        }
        let size =
            |of: &[f64]| of.iter().fold(0.0, |most: f64, x| if x.is_finite() { most.max(x.abs()) } else { most });
        let links: f64 = (0..self.links.core().len()).map(|c| size(self.links.row(c))).sum();
        let one = size(self.scores) * size(self.discounts) + size(self.extra) + links * self.design.largest();
        if one * (self.items() as f64 + 1.0) <= LARGEST {
            Ok(())
        } else {
            Err(Error::NotFinite { what: "the score of an order" })
        }
    }

    fn check_pins(&self) -> Result<()> {
        let (n, classes) = (self.items(), self.classes());
        for (at, &(item, place)) in self.pins.iter().enumerate() {
            if item as usize >= n || place as usize >= classes {
                return Err(Error::Data {
                    expected: format!("pins of items from 0 to {} at classes from 0 to {}", n as i64 - 1, classes - 1),
                    found: format!("item {item} at {place}"),
                });
            }
            for &(other, taken) in &self.pins[..at] {
                if other == item && taken != place {
                    return Err(Error::Data {
                        expected: "one place for an item".into(),
                        found: format!("item {item} pinned at {taken} and at {place}"),
                    });
                }
                if other != item && taken == place && (place as usize) < classes - 1 {
                    return Err(Error::Data {
                        expected: "one item at a place of the head".into(),
                        found: format!("items {other} and {item} pinned at place {place}"),
                    });
                }
            }
        }
        Ok(())
    }

    /// Why there is no order: the first reason that can be named.
    #[cold]
    pub(super) fn no_order(&self) -> Error {
        let (n, classes) = (self.items(), self.classes());
        let free = |i: usize, j: usize| self.linear(i, j) > f64::NEG_INFINITY;
        let found = if let Some(i) = (0..n).find(|&i| !(0..classes).any(|j| free(i, j))) {
            format!("item {i}, for which every place is excluded")
        } else if let Some(j) = (0..classes - 1).find(|&j| !(0..n).any(|i| free(i, j))) {
            format!("place {j} (from 0), from which every item is excluded")
        } else {
            let room = n - (classes - 1);
            let below = (0..n).filter(|&i| !(0..classes - 1).any(|j| free(i, j))).count();
            if below > room {
                format!("{below} items that may stand in the tail only, which holds {room}")
            } else {
                "none: some places are left to fewer items than there are of them".into()
            }
        };
        Error::Data { expected: "an order that pins and excluded places allow; release some".into(), found }
    }
}
