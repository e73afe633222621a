//! The values of ARFF rows.

use crate::data::labels::arff::header::{Kind, Plan, skip, word_until};
use crate::data::layout::{Expected, Refusal};
use crate::data::number::{self, Value};
use crate::data::strings::short;
use std::borrow::Cow;

/// A value and where it ends: in quotes, or up to one of `signs` without the white space around it.
#[inline(always)]
pub(in crate::data) fn token<'a>(line: &'a [u8], at: usize, signs: &[u8]) -> Result<(Cow<'a, [u8]>, usize), Refusal> {
    if matches!(line.get(at), Some(b'\'' | b'"')) {
        let (text, after) = word_until(line, at, signs)?;
        return Ok((Cow::Owned(text.into_bytes()), after));
    }
    let at = at.min(line.len());
    let rest = &line[at..];
    let end = match signs {
        [sign] => memchr::memchr(*sign, rest),
        [sign, other] => memchr::memchr2(*sign, *other, rest),
        _ => rest.iter().position(|b| signs.contains(b)),
    };
    let value = rest[..end.unwrap_or(rest.len())].trim_ascii_end();
    Ok((Cow::Borrowed(value), at + value.len()))
}

/// The index of an attribute, and where it ends.
pub(in crate::data) fn index(line: &[u8], at: usize, count: usize) -> Result<(u32, usize), Refusal> {
    let (mut after, mut index) = (at, 0usize);
    while let Some(digit) = line.get(after).map(|b| b.wrapping_sub(b'0')).filter(|&d| d < 10) {
        index = index.saturating_mul(10).saturating_add(usize::from(digit));
        after += 1;
    }
    if after == at || line.get(after).is_none_or(|&b| b > b' ') {
        return Err((at, "an index and a value ({index value, …})".into(), 20));
    }
    if index >= count {
        let expected = format!("an index below {count} (attributes are counted from 0)");
        return Err((at, expected.into(), after - at));
    }
    Ok((index as u32, after))
}

#[inline]
pub(in crate::data) fn bit(value: &[u8]) -> Option<u8> {
    match value {
        [bit @ (b'0' | b'1')] => Some(bit - b'0'),
        _ => None,
    }
}

/// The number of a numeric attribute or of one that is 0 or 1.
#[inline]
pub(in crate::data) fn numeric(kind: &Kind, value: &[u8], at: usize, plan: &Plan, keep: bool) -> Result<f32, Refusal> {
    if let Some(bit) = bit(value) {
        return Ok(f32::from(bit));
    }
    let column = match kind {
        Kind::Number(column) | Kind::Bit(column, _) | Kind::Choice(column, _) | Kind::Label(column, _) => *column,
    };
    let name = || short(&plan.columns.names[column as usize]);
    let read = if value == b"?" { Value::Missing } else { number::whole(value) };
    match (read, kind) {
        (Value::Missing, _) if keep => Ok(f32::NAN),
        (Value::Missing, _) => Err((at, Expected::value(format!("a value of {:?}", name())), value.len().max(1))),
        (Value::Number(x), Kind::Number(_)) => Ok(x),
        (_, Kind::Number(_)) => Err((at, format!("a finite number for {:?}", name()).into(), value.len().max(1))),
        _ => Err((at, format!("0 or 1 for {:?}", name()).into(), value.len().max(1))),
    }
}

/// Which of the values it is; `None` where it is missing.
pub(in crate::data) fn choice(
    values: &[String],
    value: &[u8],
    at: usize,
    keep: bool,
) -> Result<Option<usize>, Refusal> {
    match values.iter().position(|known| known.as_bytes() == value) {
        Some(chosen) => Ok(Some(chosen)),
        None if value == b"?" && keep => Ok(None),
        None if value == b"?" => Err((at, Expected::value("a value"), value.len())),
        None => {
            let expected = format!("one of {:?}", short(&values.join(",")));
            Err((at, expected.into(), value.len().max(1)))
        }
    }
}

#[cold]
pub(in crate::data) fn label_expected(plan: &Plan, label: u32) -> Expected {
    format!("0, 1 or ? for the label {:?}", short(&plan.labels[label as usize])).into()
}

#[cold]
pub(in crate::data) fn weighted(line: &[u8], at: usize) -> Refusal {
    (skip(line, at), "rows without weights (take {weight} off the end of the rows)".into(), 20)
}
