//! Drawing lists for rankmatch and dorm: the same settings and seed give precisely the same lists to both.

use crate::data::resample::{Draw, Lists};
use crate::error::{Error, Result};
use crate::method::rank::rankmatch::PlaceDiscount;
use crate::method::rank::search::Drawn;
use crate::method::settings::positive;
use crate::method::{Positive, Rank};
use crate::structure::matching::places::MOST;
use crate::surrogate::lists::{ListCases, PlaceValues, RightOrders};
use crate::task::{Setting, Training};
use serde_json::Value;
use std::fmt;
use std::str::FromStr;

/// What one list is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subset {
    /// All documents of a query.
    Full,
    /// As many documents as there are grades in the training data.
    Grades,
    /// This many documents.
    Of(usize),
}

impl FromStr for Subset {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        match text {
            "full" => Ok(Self::Full),
            "R" | "r" => Ok(Self::Grades),
            _ => match text.parse() {
                Ok(m @ 2..=MOST) => Ok(Self::Of(m)),
                _ => Err(Error::Setting {
                    name: "subset".into(),
                    expected: format!("full, R or a number from 2 to {MOST}"),
                    found: text.into(),
                }),
            },
        }
    }
}

impl fmt::Display for Subset {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Full => f.write_str("full"),
            Self::Grades => f.write_str("R"),
            Self::Of(m) => write!(f, "{m}"),
        }
    }
}

/// `draws`, the same for both.
pub(in crate::method) const DRAWS: Setting = Setting {
    name: "draws",
    range: "a number above 0, or all",
    default: "0.4",
    help: "subsets per query, as a share of documents times M; all pairs of different grades with subset=2",
};

/// Its value as it is typed.
pub(in crate::method) fn draws(value: &str) -> Result<Option<Positive>> {
    if value == "all" { Ok(None) } else { positive("draws", value).map(Some) }
}

/// Its value as it is written.
pub(in crate::method) fn draws_value(draws: Option<Positive>) -> Value {
    draws.map_or("all".into(), |draws| draws.get().into())
}

/// Its value as text.
pub(in crate::method) fn draws_text(draws: Option<Positive>) -> String {
    draws.map_or("all".into(), |draws| draws.get().to_string())
}

/// Refuses a subset that is no list, and all pairs of lists that are no pairs.
pub(in crate::method) fn check(subset: Subset, draws: Option<Positive>) -> Result<()> {
    let wrong = |expected: &str| {
        let found = draws.map_or("all".into(), |draws| draws.get().to_string());
        Err(Error::Setting { name: "draws".into(), expected: expected.into(), found })
    };
    match (subset, draws) {
        (Subset::Of(m), _) if !(2..=MOST).contains(&m) => m.to_string().parse::<Subset>().map(drop),
        (Subset::Full, draws) if draws != Some(SHARE) => {
            wrong("subset=R or a number with it (with subset=full nothing is drawn)")
        }
        (Subset::Full | Subset::Of(2), _) | (_, Some(_)) => Ok(()),
        (_, None) => wrong("a number above 0 (all is for subset=2)"),
    }
}

/// `draws` where nothing is said.
pub(in crate::method) const SHARE: Positive = Positive(0.4);

/// What rankmatch and dorm have in common.
pub(in crate::method) struct ListSettings {
    pub(in crate::method) subset: Subset,
    pub(in crate::method) places: usize,
    pub(in crate::method) discount: PlaceDiscount,
    pub(in crate::method) ties: RightOrders,
    pub(in crate::method) draws: Option<Positive>,
}

impl ListSettings {
    /// What the head places of a whole list are worth.
    pub(in crate::method) fn place_values(&self) -> Vec<f64> {
        let k = self.places;
        match self.discount {
            PlaceDiscount::Log => (1..=k).map(|j| 1.0 / ((1 + j) as f64).log2()).collect(),
            PlaceDiscount::Linear => (1..k.max(2)).map(|j| (k.max(2) - j) as f64).collect(),
        }
    }
}

/// The lists of some queries, with what is right of them; queries of one grade are left out.
pub(in crate::method) fn draw(
    data: &Training<'_, Rank>,
    units: &[u32],
    how: &ListSettings,
) -> Result<Drawn<ListCases>> {
    let set = data.set;
    let mut grades: Vec<f64> = units.iter().flat_map(|&q| set.grades[set.span(q as usize)].iter().copied()).collect();
    grades.sort_by(f64::total_cmp);
    grades.dedup_by(|next, last| *next <= *last);
    let mut drawn = cases(data, units, how, &grades)?;
    enough(drawn.count)?;
    drawn.weights = super::shares(set, &drawn.units, |n| drawn.examples.lists.of(n).len() as f64)?;
    Ok(drawn)
}

/// Refuses lists of which there are none.
pub(in crate::method) fn enough(lists: f64) -> Result<()> {
    if lists > 0.0 {
        return Ok(());
    }
    Err(Error::Data {
        expected: "at least one training query with two different grades".into(),
        found: "none: there is nothing to put in order".into(),
    })
}

/// The same of queries that are a part of those that are learned from, which have these grades; there may be no list,
/// and nobody has looked at weights.
pub(in crate::method) fn cases(
    data: &Training<'_, Rank>,
    units: &[u32],
    how: &ListSettings,
    grades: &[f64],
) -> Result<Drawn<ListCases>> {
    let set = data.set;
    let units: Vec<u32> = units.iter().copied().filter(|&q| !set.is_flat(q as usize)).collect();
    let size = match how.subset {
        Subset::Full => 0,
        Subset::Grades => grades.len(),
        Subset::Of(m) => m,
    };
    if how.subset != Subset::Full && (size < grades.len() || size > MOST) && how.draws.is_some() {
        return Err(Error::Setting {
            name: "subset".into(),
            expected: format!("from {} (the number of grades, one document of each) to {MOST}", grades.len()),
            found: size.to_string(),
        });
    }
    let draw = match (how.subset, how.draws) {
        (Subset::Full, _) => Draw::Whole,
        (_, Some(share)) => Draw::Subsets { size, share: share.get() },
        (_, None) => Draw::Pairs, // `check` lets all pairs be of subset=2 alone
    };
    let lists = Lists::draw(set, &units, draw, grades.len(), data.seed);
    let values = match (how.subset, how.discount) {
        (Subset::Full, _) | (_, PlaceDiscount::Log) => PlaceValues::Fixed(how.place_values()),
        (_, PlaceDiscount::Linear) => PlaceValues::Linear,
    };
    let count = lists.len() as f64;
    let own = units.iter().map(|&q| &set.grades[set.span(q as usize)]);
    let cases = ListCases::new(lists, own, values, how.ties, data.seed);
    Ok(Drawn {
        units,
        examples: cases,
        count,
        weights: None,
        kind: if how.subset == Subset::Full { "list" } else { "subset" },
    })
}
