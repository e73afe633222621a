//! What can be set of QuadRank, in words.

use super::QuadRank;
use crate::error::{Error, Result};
use crate::method::GivenOrder;
use crate::method::annotate::annotator::Trainer;
use crate::method::settings::{SCALE, TRANSFORM, accuracy, count, ridge, steps};
use crate::structure::ranking::MOST_CORE;
use crate::surrogate::lists::RightOrders;
use crate::surrogate::ranking::PlaceDesign;
use crate::task::Setting;
use std::fmt;
use std::str::FromStr;

pub(super) const TRAINERS: [(&str, Trainer); 2] = [("likelihood", Trainer::Likelihood), ("margin", Trainer::Margin)];
pub(super) const TIES: [(&str, RightOrders); 2] = [("average", RightOrders::Average), ("sum", RightOrders::Sum)];
pub(super) const ORDERS: [(&str, GivenOrder); 2] = [("expected", GivenOrder::Expected), ("best", GivenOrder::Best)];
pub(super) const DESIGNS: [(&str, PlaceDesign); 3] =
    [("distance", PlaceDesign::Distance), ("product", PlaceDesign::Product), ("head", PlaceDesign::Head)];

impl QuadRank {
    /// What can be set.
    pub const SETTINGS: &'static [Setting] = &[
        Setting {
            name: "core",
            range: "auto, a number up to 8, or names of documents separated by ;",
            default: "1",
            help: "items that are linked with all others: so many whose places depend most on those of others in the training data, or these; 0 ranks without links, auto tries 0 to 3 on validation. With links between documents: the so many best documents of each query by the same fit without links",
        },
        Setting {
            name: "design",
            range: "distance, product, head",
            default: "distance",
            help: "what a link counts: how far two items are apart (|j-l|/k), c_j times c_l, or whether both are in the head",
        },
        Setting {
            name: "places",
            range: "a number from 1 to 16, by margin up to 1000, or all",
            default: "5",
            help: "head places; below them order does not count. all ranks whole lists (of up to 1000 documents), by margin alone: the exact sum of the likelihood doubles its time with each place",
        },
        Setting {
            name: "trainer",
            range: "likelihood, margin",
            default: "likelihood",
            help: "the exact likelihood of the right orders, or the structured SVM of the paper with a certified duality gap",
        },
        Setting {
            name: "loss",
            range: "ndcg, p@K, mrr, wta",
            default: "ndcg",
            help: "what a wrong order costs with trainer=margin: 1 minus this metric at the head places. It has to be linear in the places: map, err and others are not",
        },
        Setting {
            name: "ties",
            range: "average, sum",
            default: "average",
            help: "right orders of equal grades with trainer=likelihood: the mean of their log-likelihoods, or the sum of their probabilities",
        },
        Setting {
            name: "order",
            range: "expected, best",
            default: "expected, by margin best",
            help: "the order that a model gives: documents by the expected worth of their place (best for NDCG), or the order of the largest score",
        },
        TRANSFORM,
        SCALE,
        ridge("strength of the ridge on weights: auto by validation (else 0.01); c=1/lambda is accepted too"),
        Setting {
            name: "link_lambda",
            range: "auto or a number above 0",
            default: "auto",
            help: "strength of the ridge on links and on the bias of each item: auto is that of lambda",
        },
        steps("500", "the most steps of one fit, by margin passes over the lists"),
        accuracy("1e-3", "where a fit stops: gradient relative to the one at zero, by margin the duality gap"),
    ];
}

/// Which places have an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// So many, and a tail below them.
    Places(usize),
    /// All of them: whole rankings.
    All,
}

impl FromStr for Head {
    type Err = Error;
    fn from_str(value: &str) -> Result<Self> {
        if value == "all" { Ok(Self::All) } else { count("places", value).map(Self::Places) }
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Places(k) => write!(f, "{k}"),
            Self::All => f.write_str("all"),
        }
    }
}

/// The items that are linked with all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Core {
    /// As many as are best on validation queries, from 0 to [`Core::MOST_TRIED`].
    Auto,
    /// So many.
    Size(usize),
    /// These.
    Names(Vec<String>),
}

impl Core {
    /// The most that are tried where the size is left open.
    pub const MOST_TRIED: usize = 3;

    /// How many they are; 1 where that is open and there is nothing to choose on.
    pub fn len(&self) -> usize {
        match self {
            Self::Auto => 1,
            Self::Size(size) => *size,
            Self::Names(names) => names.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl FromStr for Core {
    type Err = Error;
    fn from_str(value: &str) -> Result<Self> {
        let wrong = || Error::Setting {
            name: "core".into(),
            expected: format!("auto, a number up to {MOST_CORE}, or up to {MOST_CORE} different names separated by ;"),
            found: value.into(),
        };
        if let Ok(size) = value.parse::<usize>() {
            return if size <= MOST_CORE { Ok(Self::Size(size)) } else { Err(wrong()) };
        }
        if value == "auto" {
            return Ok(Self::Auto);
        }
        if value.parse::<f64>().is_ok() {
            return Err(wrong());
        }
        // one name that looks like a number is told apart by a last ;
        let names = value.strip_suffix(';').unwrap_or(value);
        let names: Vec<String> = names.split([';', ',']).map(|name| name.trim_ascii().to_owned()).collect();
        let mut seen = names.clone();
        seen.sort_unstable();
        seen.dedup();
        match seen.len() < names.len() || seen.iter().any(String::is_empty) || names.len() > MOST_CORE {
            true => Err(wrong()),
            false => Ok(Self::Names(names)),
        }
    }
}

/// As it is written in a setting; names cannot hold `,`, `;` or `]` there.
impl fmt::Display for Core {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Size(size) => write!(f, "{size}"),
            // the last ; tells a name from a number
            Self::Names(names) => write!(f, "{};", names.join(";")),
        }
    }
}
