//! Questions and answers as bytes.

use crate::data::scale::Scale;
use crate::data::transform::{ColumnTransform, Transforms};
use crate::error::{Error, Result};
use crate::pieces::Node;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What examples are drawn by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Lesson {
    /// The method with its settings.
    pub(super) method: String,
    pub(super) seed: u64,
    /// The grades of the training queries, ascending.
    pub(super) grades: Vec<f64>,
}

/// What a risk is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum What {
    Value,
    Product,
    Hessian,
}

/// What a shard can be asked; numbers stand behind the question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Question {
    /// The digests of the pieces.
    Digests,
    /// The grades that occur, ascending.
    Grades,
    /// Which queries teach something; how many have two grades, the number of examples, and the nodes of their totals.
    Draw(Lesson),
    /// All values of each column with how often they occur, of a column of few values.
    Values,
    /// How many values of some columns are below each of some keys, given one list per column.
    Below { columns: Vec<u32> },
    /// The first pass of `scale=global`.
    Totals,
    /// The second pass, given the means.
    Squares,
    /// The nodes of a risk, given the count and the total of all examples, offsets, factors, the parameters and a vector.
    Risk { lesson: Lesson, scale: Scale, what: What },
    /// What each query is worth by a metric, given offsets, factors, the weights (none: all scores are 0) and the largest grade.
    Worth { scale: Scale, metric: String, convention: String },
}

/// What a shard says; numbers stand behind it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Said {
    /// The nodes that the last lists of numbers are of; nothing where there is no curvature.
    pub(super) nodes: Option<Vec<(u32, usize)>>,
    /// Bits or bytes.
    pub(super) bytes: Vec<u8>,
}

/// Words and lists of numbers.
pub(super) fn pack(head: &impl Serialize, numbers: &[&[f64]]) -> Result<Vec<u8>> {
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
pub(super) fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> Result<(T, Vec<Vec<f64>>)> {
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

pub(super) fn torn(why: &str) -> Error {
    Error::Data {
        expected: "a message of the same version of ordain on every machine".into(),
        found: format!("another one: {why}"),
    }
}

/// Nodes as what is said of them and their numbers.
pub(super) fn said(nodes: Option<Vec<Node<Vec<f64>>>>, before: Vec<Vec<f64>>, bytes: Vec<u8>) -> Result<Vec<u8>> {
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
pub(super) fn nodes(said: &Said, lists: Vec<Vec<f64>>, before: usize) -> Option<Vec<Node<Vec<f64>>>> {
    let known = said.nodes.as_ref()?;
    let lists = lists.into_iter().skip(before);
    Some(known.iter().zip(lists).map(|(&(level, at), sum)| Node { level, at, sum }).collect())
}

/// Transforms as bytes.
pub(super) fn pack_transforms(all: &Transforms) -> Result<Vec<u8>> {
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
pub(super) fn unpack_transforms(bytes: &[u8]) -> Result<Transforms> {
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
pub(super) fn bits(of: impl ExactSizeIterator<Item = bool>) -> Vec<u8> {
    let mut all = vec![0u8; of.len().div_ceil(8)];
    of.enumerate().filter(|(_, is)| *is).for_each(|(k, _)| all[k / 8] |= 1 << (k % 8));
    all
}

/// The places of set bits in a range.
pub(super) fn set_bits(bits: &[u8], of: std::ops::Range<usize>) -> impl Iterator<Item = usize> {
    of.filter(move |k| bits.get(k / 8).is_some_and(|byte| byte >> (k % 8) & 1 == 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_bit_for_bit() {
        let lesson = Lesson { method: "ranksvm[tol=0.1]".into(), seed: u64::MAX, grades: vec![0.1 + 0.2, -1e-300] };
        let question = Question::Risk { lesson, scale: Scale::Query, what: What::Hessian };
        let lists: [&[f64]; 3] = [&[f64::NAN, f64::NEG_INFINITY, -0.0], &[], &[1e-320]];
        let packed = pack(&question, &lists).unwrap();
        let (head, back): (Question, _) = unpack(&packed).unwrap();
        assert_eq!(head, question);
        let bits_of = |list: &[f64]| list.iter().map(|x| x.to_bits()).collect::<Vec<u64>>();
        assert!(back.iter().zip(lists).all(|(a, b)| bits_of(a) == bits_of(b)) && back.len() == 3);
        for end in 0..packed.len() {
            // a list may be missing, a part of one may not
            if let Ok((_, lists)) = unpack::<Question>(&packed[..end]) {
                assert!(lists.len() < 3);
            }
        }
        let mask = bits([true, false, false, true, true, false, true, true, false, true].into_iter());
        assert_eq!(set_bits(&mask, 2..10).collect::<Vec<_>>(), [3, 4, 6, 7, 9]);
    }
}
