//! Values of settings as they are typed.

use super::{Choice, Positive};
use crate::data::scale::Scale;
use crate::error::{Error, Result};

fn wrong(name: &str, expected: &str, found: &str) -> Error {
    Error::Setting { name: name.into(), expected: expected.into(), found: found.into() }
}

/// A number above 0.
pub(super) fn positive(name: &str, value: &str) -> Result<Positive> {
    let number = value.parse().ok().and_then(|x| Positive::new(x).ok());
    number.ok_or_else(|| wrong(name, "a number above 0", value))
}

/// A whole number above 0.
pub(super) fn count(name: &str, value: &str) -> Result<usize> {
    value.parse().ok().filter(|&n| n > 0).ok_or_else(|| wrong(name, "a whole number above 0", value))
}

/// `lambda`, or `c` = 1/lambda; `auto` leaves it to validation.
pub(super) fn lambda(name: &str, value: &str) -> Result<Choice<Positive>> {
    if value == "auto" {
        return Ok(Choice::Auto);
    }
    let number = positive(name, value).ok();
    let lambda = if name == "c" { number.and_then(|c| Positive::new(1.0 / c.get()).ok()) } else { number };
    lambda.map(Choice::Set).ok_or_else(|| wrong(name, "auto or a number above 0", value))
}

/// A scaling; `auto` leaves it to validation.
pub(super) fn scale(value: &str) -> Result<Choice<Scale>> {
    if value == "auto" { Ok(Choice::Auto) } else { value.parse().map(Choice::Set) }
}

/// One of some names.
pub(super) fn one_of<T: Copy>(name: &'static str, value: &str, known: &[(&str, T)]) -> Result<T> {
    known
        .iter()
        .find(|(known, _)| *known == value)
        .map(|&(_, meaning)| meaning)
        .ok_or_else(|| Error::unknown(name, value, known.iter().map(|(known, _)| *known)))
}
