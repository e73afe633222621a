//! Clicks with the positions that they were made at, as preferences that do not favour what stood on top.

use super::preferences::Preferences;
use crate::data::RankSet;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// How clicks are weighed: by the inverse of the propensity of their positions.
///
/// ```text
/// propensity(p) = p^−η,     weight of a click at p = min(p^η, clip)
/// ```
///
/// A query is one list that was shown: its rows say at which position, from 1, and whether there was a click. A document that was clicked is
/// preferred to every one above it that was not, and to the next one below it if that was not (Joachims 2002); each of these pairs has the weight
/// of its click alone (Joachims, Swaminathan and Schnabel 2017). Without the weights what stood on top would be clicked, and learned, because
/// it stood there.
///
/// ```
/// let how: ordain::data::Clicks = "ips,eta=0.5".parse()?;
/// assert_eq!((how.eta, how.clip, how.weight(16)), (0.5, 10.0, (4.0, false)));
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Clicks {
    /// How fast attention falls with the position; 0: it does not, and all clicks count alike.
    pub eta: f64,
    /// No click weighs more.
    pub clip: f64,
    /// The column of the position.
    pub position: String,
}

impl Default for Clicks {
    fn default() -> Self {
        Self { eta: 1.0, clip: 10.0, position: "position".into() }
    }
}

impl Clicks {
    /// The weight of a click at a position, from 1, and whether it was clipped.
    pub fn weight(&self, position: u32) -> (f64, bool) {
        let weight = f64::from(position).powf(self.eta);
        (weight.min(self.clip), weight > self.clip)
    }
}

impl fmt::Display for Clicks {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "ips,eta={},clip={},position={}", self.eta, self.clip, self.position)
    }
}

impl FromStr for Clicks {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = |expected: &str, found: &str| Error::Setting {
            name: "clicks".into(),
            expected: expected.into(),
            found: found.into(),
        };
        let mut parts = text.split(',').map(str::trim_ascii);
        if parts.next() != Some("ips") {
            return Err(wrong("ips, as in ips,eta=1,clip=10", text));
        }
        let mut how = Self::default();
        for part in parts {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let number = |least: f64| value.parse::<f64>().ok().filter(|x| x.is_finite() && *x >= least);
            match name {
                "eta" => how.eta = number(0.0).ok_or_else(|| wrong("eta of at least 0", part))?,
                "clip" => how.clip = number(1.0).ok_or_else(|| wrong("clip of at least 1", part))?,
                "position" if !value.is_empty() => how.position = value.into(),
                _ => return Err(Error::unknown("part of ips", part, ["eta=1", "clip=10", "position=COLUMN"])),
            }
        }
        Ok(how)
    }
}

/// What is known of the clicks that preferences were made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClickFacts {
    /// How fast attention was said to fall with the position.
    pub eta: f64,
    /// The largest weight.
    pub clip: f64,
    /// Lists that were shown.
    pub lists: usize,
    /// Lists that say nothing: without a click, or without a document that a click is preferred to.
    pub silent: usize,
    /// Clicks that are preferred to something.
    pub clicks: usize,
    /// Of these, whose weight was clipped.
    pub clipped: usize,
    /// How many clicks of equal weight tell as much: `(Σw)²/Σw²`.
    pub effective: f64,
}

impl RankSet {
    /// The same with preferences that are made of clicks, which are the grades (1 or 0), and of the position of each input row, from 1.
    ///
    /// ```
    /// use ordain::{data::{Clicks, Columns, RankSet}, matrix::{Features, Matrix}};
    /// let features = Features::Dense(Matrix::new(vec![1.0, 2.0, 3.0], 1));
    /// let columns = Columns::named(vec!["size".into()]);
    /// let set = RankSet::new(features, columns, vec![0.0, 1.0, 0.0], vec![0, 3], vec!["shown".into()])?;
    /// let set = set.with_clicks(&[1, 2, 3], &Clicks::default())?;
    /// let pairs: Vec<_> = set.preferences().into_iter().flat_map(|all| all.of(0..3)).collect();
    /// assert_eq!(pairs, [(1, 0, 2.0), (1, 2, 2.0)]); // over what stood above it, and over the next one
    /// # Ok::<(), ordain::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Data`] for another number of positions than of rows, a position 0, a position that two rows of a list have, grades that are not 0 or
    /// 1, and where no click is preferred to anything.
    pub fn with_clicks(mut self, positions: &[u32], how: &Clicks) -> Result<Self> {
        let refuse = |expected: String, found: String| Err(Error::Data { expected, found });
        if positions.len() != self.rows() {
            return refuse(format!("a position for each of {} rows", self.rows()), positions.len().to_string());
        }
        if let Some(row) = (0..self.rows())
            .find(|&row| !self.grades[row].total_cmp(&0.0).is_eq() && !self.grades[row].total_cmp(&1.0).is_eq())
        {
            return refuse("1 for a click, else 0".into(), format!("{} for {}", self.grades[row], self.place(row)));
        }
        let mut facts = ClickFacts {
            eta: how.eta,
            clip: how.clip,
            lists: self.len(),
            silent: 0,
            clicks: 0,
            clipped: 0,
            effective: 0.0,
        };
        let (mut pairs, mut sum, mut squares) = (vec![], 0.0, 0.0);
        for q in 0..self.len() {
            let mut shown: Vec<(u32, usize)> = self.span(q).map(|row| (positions[self.input_row(row)], row)).collect();
            shown.sort_unstable();
            if let Some(&(_, row)) = shown.first().filter(|(position, _)| *position == 0) {
                return refuse("positions from 1".into(), format!("0 for {}", self.place(row)));
            }
            if let Some(twice) = shown.windows(2).find(|two| two[0].0 == two[1].0) {
                return refuse(
                    "one document at each position of a list (a query is one list that was shown: give each its own id)".into(),
                    format!("position {} twice, the second for {}", twice[0].0, self.place(twice[1].1)),
                );
            }
            let clicked = |row: usize| self.grades[row] > 0.0;
            let before = pairs.len();
            for (at, &(position, row)) in shown.iter().enumerate().filter(|(_, (_, row))| clicked(*row)) {
                let (weight, clipped) = how.weight(position);
                let lesser = shown[..at].iter().chain(shown.get(at + 1)).filter(|(_, other)| !clicked(*other));
                let first = pairs.len();
                pairs.extend(lesser.map(|&(_, other)| (row as u32, other as u32, weight)));
                if pairs.len() > first {
                    facts.clicks += 1;
                    facts.clipped += usize::from(clipped);
                    (sum, squares) = (sum + weight, squares + weight * weight);
                }
            }
            facts.silent += usize::from(pairs.len() == before);
        }
        if pairs.is_empty() {
            return refuse(
                "a click on a document below one that was not clicked".into(),
                "none: clicks say nothing of an order".into(),
            );
        }
        facts.effective = sum * sum / squares;
        self.preferences = Some(Arc::new(Preferences::new(pairs, Some(facts))));
        Ok(self)
    }
}
