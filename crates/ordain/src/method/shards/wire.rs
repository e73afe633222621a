//! Questions and answers as bytes.

use crate::data::transform::{ColumnTransform, Transforms};
use crate::error::{Error, Result};
use crate::pieces::Node;
use crate::risk::Ask;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What a shard can be asked; numbers stand behind the question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::method) enum Question<Q> {
    /// Of the rows, whatever the task.
    Rows(OfRows),
    /// Of what a method makes of them.
    Own(Q),
}

/// Which rows of units are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::method) enum Which {
    /// All of them.
    All,
    /// Edges that are matched.
    Matched,
}

/// What can be asked of the rows of some units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::method) enum OfRows {
    /// The digests of the pieces.
    Digests,
    /// All values of each column with how often they occur, of a column of few values.
    Values,
    /// How many values of some columns are below each of some keys, given one list per column.
    Below { columns: Vec<u32> },
    /// The first pass of a scaling to mean 0 and deviation 1.
    Totals(Which),
    /// The second pass, given the means.
    Squares(Which),
}

/// What a risk is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::method) enum What {
    Value,
    Product,
    Hessian,
}

impl What {
    /// The same at these parameters; `v` is what a Hessian is multiplied by.
    pub(in crate::method) fn at<'a>(self, theta: &'a [f64], v: &'a [f64]) -> Ask<'a> {
        match self {
            Self::Value => Ask::Value { theta },
            Self::Product => Ask::Product { theta, v },
            Self::Hessian => Ask::Hessian { theta },
        }
    }
}

/// What a shard says; numbers stand behind it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::method) struct Said {
    /// The nodes that the last lists of numbers are of; nothing where there is no curvature.
    pub(in crate::method) nodes: Option<Vec<(u32, usize)>>,
    /// Bits or bytes.
    pub(in crate::method) bytes: Vec<u8>,
}

/// Words and lists of numbers.
pub(in crate::method) fn pack(head: &impl Serialize, numbers: &[&[f64]]) -> Result<Vec<u8>> {
    let head = serde_json::to_vec(head).map_err(|error| torn(&error.to_string()))?;
    let mut all = Vec::with_capacity(16 + head.len() + numbers.iter().map(|list| 8 + 8 * list.len()).sum::<usize>());
    all.extend_from_slice(&(head.len() as u64).to_le_bytes());
    all.extend_from_slice(&head);
    for list in numbers {
        all.extend_from_slice(&(list.len() as u64).to_le_bytes());
        all.extend(list.iter().flat_map(|x| x.to_le_bytes()));
    }
    Ok(all)
}

/// The same, read back.
pub(in crate::method) fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> Result<(T, Vec<Vec<f64>>)> {
    let (mut rest, mut lists) = (bytes, vec![]);
    let head = serde_json::from_slice(take(&mut rest, 1)?).map_err(|error| torn(&error.to_string()))?;
    while !rest.is_empty() {
        let list = take(&mut rest, 8)?.chunks_exact(8);
        lists.push(list.map(|x| f64::from_le_bytes(std::array::from_fn(|k| x[k]))).collect());
    }
    Ok((head, lists))
}

/// Things of `width` bytes behind their number.
fn take<'a>(rest: &mut &'a [u8], width: usize) -> Result<&'a [u8]> {
    let cut = || torn("it ends early");
    let (len, after) = rest.split_first_chunk::<8>().ok_or_else(cut)?;
    let len = usize::try_from(u64::from_le_bytes(*len)).ok().and_then(|len| len.checked_mul(width));
    let (own, after) = len.and_then(|len| after.split_at_checked(len)).ok_or_else(cut)?;
    *rest = after;
    Ok(own)
}

pub(in crate::method) fn torn(why: &str) -> Error {
    Error::Data {
        expected: "a message of the same version of ordain on every machine".into(),
        found: format!("another one: {why}"),
    }
}

/// Nodes as what is said of them and their numbers.
pub(in crate::method) fn said(
    nodes: Option<Vec<Node<Vec<f64>>>>,
    before: Vec<Vec<f64>>,
    bytes: Vec<u8>,
) -> Result<Vec<u8>> {
    let mut lists = before;
    let known = nodes.map(|nodes| {
        let known = nodes.iter().map(|node| (node.level, node.at)).collect();
        lists.extend(nodes.into_iter().map(|node| node.sum));
        known
    });
    let lists: Vec<&[f64]> = lists.iter().map(Vec::as_slice).collect();
    pack(&Said { nodes: known, bytes }, &lists)
}

/// The nodes of an answer, behind `before` lists of numbers.
pub(in crate::method) fn nodes(said: &Said, lists: Vec<Vec<f64>>, before: usize) -> Option<Vec<Node<Vec<f64>>>> {
    let known = said.nodes.as_ref()?;
    let lists = lists.into_iter().skip(before);
    Some(known.iter().zip(lists).map(|(&(level, at), sum)| Node { level, at, sum }).collect())
}

/// Transforms as bytes.
pub(in crate::method) fn pack_transforms(all: &Transforms) -> Result<Vec<u8>> {
    let wide = |list: &[f32]| list.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
    let one = |column: &ColumnTransform| match column {
        ColumnTransform::Keep => vec![],
        ColumnTransform::Log { unit } => vec![f64::from(*unit)],
        ColumnTransform::Quantile { values, levels } => wide(&[&values[..], levels].concat()),
    };
    let lists: Vec<Vec<f64>> = all.columns().iter().map(one).collect();
    let lists: Vec<&[f64]> = lists.iter().map(Vec::as_slice).collect();
    pack(&all.columns().len(), &lists)
}

/// The same, read back.
pub(in crate::method) fn unpack_transforms(bytes: &[u8]) -> Result<Transforms> {
    let (_, lists): (usize, _) = unpack(bytes)?;
    let one = |list: Vec<f64>| {
        let list: Vec<f32> = list.iter().map(|&x| x as f32).collect();
        match list[..] {
            [] => ColumnTransform::Keep,
            [unit] => ColumnTransform::Log { unit },
            _ => {
                let (values, levels) = list.split_at(list.len() / 2);
                ColumnTransform::Quantile { values: values.to_vec(), levels: levels.to_vec() }
            }
        }
    };
    Ok(Transforms::new(lists.into_iter().map(one).collect()))
}

/// Truth values as bits.
pub(in crate::method) fn bits(of: impl ExactSizeIterator<Item = bool>) -> Vec<u8> {
    let mut all = vec![0u8; of.len().div_ceil(8)];
    of.enumerate().filter(|(_, is)| *is).for_each(|(k, _)| all[k / 8] |= 1 << (k % 8));
    all
}

/// The places of set bits in a range.
pub(in crate::method) fn set_bits(bits: &[u8], of: std::ops::Range<usize>) -> impl Iterator<Item = usize> {
    of.filter(move |k| bits.get(k / 8).is_some_and(|byte| byte >> (k % 8) & 1 == 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_bit_for_bit() {
        let question: Question<Which> = Question::Own(Which::Matched);
        let lists: [&[f64]; 3] = [&[f64::NAN, f64::NEG_INFINITY, -0.0], &[], &[1e-320]];
        let packed = pack(&question, &lists).unwrap();
        let (head, back): (Question<Which>, _) = unpack(&packed).unwrap();
        assert_eq!(head, question);
        let bits_of = |list: &[f64]| list.iter().map(|x| x.to_bits()).collect::<Vec<u64>>();
        assert!(back.iter().zip(lists).all(|(a, b)| bits_of(a) == bits_of(b)) && back.len() == 3);
        for end in 0..packed.len() {
            // a list may be missing, a part of one may not
            if let Ok((_, lists)) = unpack::<Question<Which>>(&packed[..end]) {
                assert!(lists.len() < 3);
            }
        }
        let mask = bits([true, false, false, true, true, false, true, true, false, true].into_iter());
        assert_eq!(set_bits(&mask, 2..10).collect::<Vec<_>>(), [3, 4, 6, 7, 9]);
    }
}
