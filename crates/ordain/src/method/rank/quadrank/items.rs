//! The items that queries share, and which of them become the core.

use super::Core;
use crate::data::RankSet;
use crate::error::{Error, Result};
use crate::scorer::items::{ItemIndex, NO_ITEM};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

/// Items that may become the core: those that occur most.
const CANDIDATES: usize = 50;

/// Items by name, with the queries that they are in.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::method) struct Shared {
    /// Names of items that at least two queries have, ascending.
    pub(in crate::method) names: Vec<String>,
    pub(in crate::method) index: ItemIndex,
}

/// Where an item stands in the right orders of a query: the share of each head place, and of the tail.
type Shares = Vec<f64>;

impl Shared {
    /// Queries whose documents are no items: they have neither biases nor links.
    pub(in crate::method) fn bare(set: &RankSet, units: &[u32]) -> Self {
        let mut index = ItemIndex::new(0, vec![]);
        units.iter().for_each(|&q| index.push(vec![NO_ITEM; set.span(q as usize).len()]));
        Self { names: vec![], index }
    }

    /// The items of some queries, with a core; `places` is the number of head places, `design` a value for each pair of places.
    pub(in crate::method) fn new(
        set: &RankSet,
        units: &[u32],
        core: &Core,
        places: usize,
        design: &[f64],
    ) -> Result<Self> {
        let names = shared_names(set, units)?;
        let of = |q: u32| -> Vec<u32> {
            let item = |row: usize| find(&names, &set.document(row)).map_or(NO_ITEM, |item| item as u32);
            if names.is_empty() {
                vec![NO_ITEM; set.span(q as usize).len()]
            } else {
                set.span(q as usize).map(item).collect()
            }
        };
        let lists: Vec<Vec<u32>> = units.iter().map(|&q| of(q)).collect();
        let core = match core {
            Core::Names(wanted) => {
                let find = |name: &String| {
                    let at =
                        find(&names, name).ok_or_else(|| Error::unknown("item that two queries share", name, &names));
                    at.map(|item| item as u32)
                };
                wanted.iter().map(find).collect::<Result<Vec<u32>>>()?
            }
            Core::Size(0) => vec![],
            Core::Auto | Core::Size(_) if names.len() <= core.len() => {
                let size = core.len();
                return Err(Error::Data {
                    expected: format!(
                        "documents with names (a column docid) of which more than {size} stand in several queries, to link them by core={size}; core=0 ranks without links"
                    ),
                    found: names.len().to_string(),
                });
            }
            Core::Auto | Core::Size(_) => {
                let shares = units.iter().map(|&q| right_shares(&set.grades[set.span(q as usize)], places));
                linked_most(&lists, &shares.collect::<Vec<_>>(), names.len(), places, design, core.len())
            }
        };
        let mut index = ItemIndex::new(names.len(), core);
        lists.into_iter().for_each(|list| index.push(list));
        Ok(Self { names, index })
    }
}

/// Where a name stands among names in ascending order.
pub(in crate::method) fn find(names: &[String], name: &str) -> Option<usize> {
    names.binary_search_by(|own| own.as_str().cmp(name)).ok()
}

/// The names that at least two queries have; refuses a name that one query has twice.
fn shared_names(set: &RankSet, units: &[u32]) -> Result<Vec<String>> {
    if !set.has_documents() {
        return Ok(vec![]);
    }
    let mut seen: HashMap<Cow<'_, str>, (u32, usize)> = HashMap::new();
    for (n, &q) in units.iter().enumerate() {
        for row in set.span(q as usize) {
            let (last, count) = seen.entry(set.document(row)).or_insert((u32::MAX, 0));
            if *last == n as u32 {
                return Err(Error::Data {
                    expected: "each item once in a query".into(),
                    found: format!("{} twice", set.place(row)),
                });
            }
            (*last, *count) = (n as u32, *count + 1);
        }
    }
    let mut names: Vec<String> =
        seen.into_iter().filter(|(_, (_, count))| *count > 1).map(|(name, _)| name.into_owned()).collect();
    names.sort_unstable();
    Ok(names)
}

/// For each document the share of the right orders in which it has each place; documents of one grade are in any order.
pub(in crate::method) fn right_shares(grades: &[f64], places: usize) -> Vec<Shares> {
    let one = |grade: &f64| {
        let above = grades.iter().filter(|g| *g > grade).count();
        let equal = grades.iter().filter(|g| *g >= grade).count() - above;
        let mut shares = vec![0.0; places + 1];
        for place in above..above + equal {
            shares[place.min(places)] += 1.0 / equal as f64;
        }
        shares
    };
    grades.iter().map(one).collect()
}

/// The items whose places depend most on the places of others.
///
/// ```text
/// strength(c) = Σ_i n_ci (mean of D(π_i, π_c) − what it would be if both stood where they usually stand)²
/// ```
///
/// over the `n_ci` lists that both are in. Two items never share a head place: pairs of equal head places do not count. O(lists · n² · places).
fn linked_most(
    lists: &[Vec<u32>],
    shares: &[Vec<Shares>],
    items: usize,
    places: usize,
    design: &[f64],
    size: usize,
) -> Vec<u32> {
    let classes = places + 1;
    let (mut usual, mut counts) = (vec![0.0; items * classes], vec![0usize; items]);
    for (list, shares) in lists.iter().zip(shares) {
        for (&item, shares) in list.iter().zip(shares).filter(|(item, _)| **item != NO_ITEM) {
            counts[item as usize] += 1;
            let row = &mut usual[item as usize * classes..(item as usize + 1) * classes];
            row.iter_mut().zip(shares).for_each(|(sum, share)| *sum += share);
        }
    }
    for (row, &count) in usual.chunks_exact_mut(classes).zip(&counts) {
        row.iter_mut().for_each(|share| *share /= count.max(1) as f64);
    }
    let mut often: Vec<u32> = (0..items as u32).collect();
    often.sort_by_key(|&item| (std::cmp::Reverse(counts[item as usize]), item));
    often.truncate(CANDIDATES.max(size));
    let mut strength: Vec<(f64, u32)> = often
        .iter()
        .map(|&core| {
            let mut met: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
            for (list, shares) in lists.iter().zip(shares) {
                let Some(at) = list.iter().position(|&item| item == core) else { continue };
                for (i, &item) in list.iter().enumerate().filter(|(i, item)| *i != at && **item != NO_ITEM) {
                    let (sum, count) = met.entry(item).or_default();
                    (*sum, *count) = (*sum + apart(&shares[i], &shares[at], design), *count + 1.0);
                }
            }
            let row = |item: u32| &usual[item as usize * classes..(item as usize + 1) * classes];
            let one = |(&item, &(sum, count)): (&u32, &(f64, f64))| {
                count * (sum / count - apart(row(item), row(core), design)).powi(2)
            };
            (met.iter().map(one).sum(), core)
        })
        .collect();
    strength.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut core: Vec<u32> = strength.into_iter().take(size).map(|(_, item)| item).collect();
    core.sort_unstable();
    core
}

/// The mean of the design at the places of two items by their shares, which never are the same head place.
fn apart(a: &[f64], b: &[f64], design: &[f64]) -> f64 {
    let (mut sum, mut weight, tail) = (0.0, 0.0, a.len() - 1);
    for (j, x) in a.iter().enumerate() {
        for (l, y) in b.iter().enumerate().filter(|&(l, _)| l != j || l == tail) {
            sum += x * y * design[j * a.len() + l];
            weight += x * y;
        }
    }
    if weight > 0.0 { sum / weight } else { 0.0 }
}
