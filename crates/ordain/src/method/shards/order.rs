//! Transforms and ranges of columns whose values are on several machines: each is learned from a summary that no cut of the rows changes.
//!
//! A column of few values is sent as it is. Of any other the [ranks](crate::data::transform::Wanted) that they rest on are looked for
//! by questions how many values are below a key: eight questions about some columns at a time, and a ninth for the counts.

use crate::data::transform::{Look, Summary, Transform, Wanted};
use crate::error::Result;

/// Columns whose values a shard keeps in order at a time.
pub(super) const TOGETHER: usize = 8;
/// Parts of an interval of keys that are told apart by one question, as a power of two.
const STEP: u32 = 4;

/// The smallest key whose rank is above a wanted one lies in `low..=high`.
struct Sought {
    wanted: Wanted,
    low: u32,
    high: u32,
}

/// Keys inside an interval that cut it into about equal parts.
fn cuts(low: u32, high: u32) -> impl Iterator<Item = u32> {
    let width = u64::from(high - low);
    (1..1u64 << STEP).map(move |k| (u64::from(low) + ((k * width) >> STEP)) as u32).filter(move |&key| key < high)
}

/// The transforms and ranges of some columns of many values; `below` says for lists of keys, one list per column, how many values are below each.
pub(super) fn learn(
    how: Transform,
    columns: usize,
    mut below: impl FnMut(&[Vec<u32>]) -> Result<Vec<Vec<usize>>>,
) -> Result<Vec<Look>> {
    let counted = below(&vec![Summary::LANDMARKS.to_vec(); columns])?;
    let summaries: Vec<Summary> = counted.iter().map(|counts| Summary::new(counts)).collect();
    let mut sought: Vec<Vec<Sought>> = summaries
        .iter()
        .map(|summary| {
            summary
                .wanted(how)
                .into_iter()
                .map(|wanted| Sought { low: summary.least(wanted), high: u32::MAX, wanted })
                .collect()
        })
        .collect();
    while sought.iter().flatten().any(|one| one.low < one.high) {
        // the rank of a key is known from how many values are below some keys
        let keys: Vec<Vec<u32>> = sought
            .iter()
            .map(|column| {
                let open = column.iter().filter(|one| one.low < one.high);
                let mut keys: Vec<u32> =
                    open.flat_map(|one| cuts(one.low, one.high).flat_map(|key| one.wanted.asks(key))).collect();
                keys.sort_unstable();
                keys.dedup();
                keys
            })
            .collect();
        let counts = below(&keys)?;
        for (((column, summary), keys), counts) in sought.iter_mut().zip(&summaries).zip(&keys).zip(&counts) {
            let of = |key: u32| keys.binary_search(&key).map_or(0, |at| counts[at]);
            for one in column.iter_mut().filter(|one| one.low < one.high) {
                let above = |key: &u32| summary.rank(one.wanted, *key, &of) > one.wanted.rank();
                let all: Vec<u32> = cuts(one.low, one.high).collect();
                let first = all.partition_point(|key| !above(key));
                one.low = if first == 0 { one.low } else { all[first - 1] + 1 };
                one.high = all.get(first).copied().unwrap_or(one.high);
            }
        }
    }
    let keys: Vec<Vec<u32>> = sought
        .iter()
        .map(|column| {
            let found = column.iter().flat_map(|one| one.wanted.keys(one.low));
            let mut keys: Vec<u32> =
                found.chain(Summary::LANDMARKS).flat_map(|key| [key, key.saturating_add(1)]).collect();
            keys.sort_unstable();
            keys.dedup();
            keys
        })
        .collect();
    let counts = below(&keys)?;
    let of = |((summary, keys), counts): ((&Summary, &Vec<u32>), &Vec<usize>)| summary.learn(how, keys, counts);
    Ok(summaries.iter().zip(&keys).zip(&counts).map(of).collect())
}
