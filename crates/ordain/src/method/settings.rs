//! Values of settings as they are typed.

use super::{Choice, Positive};
use crate::data::scale::Scale;
use crate::data::transform::Transform;
use crate::error::{Error, Result};
use crate::surrogate::lists::ListLoss;
use crate::task::Setting;

fn wrong(name: &str, expected: &str, found: &str) -> Error {
    Error::Setting { name: name.into(), expected: expected.into(), found: found.into() }
}

/// `scale`, the same for all methods.
pub(super) const SCALE: Setting = Setting {
    name: "scale",
    range: "auto, none, global, query, minmax",
    default: "auto",
    help: "scaling of the features: auto by validation (else query), none, global (mean 0, deviation 1), query (the same within each query), minmax (0 to 1 within each query)",
};

/// `transform`, the same for all methods.
pub(super) const TRANSFORM: Setting = Setting {
    name: "transform",
    range: "auto, none, log, quantile",
    default: "auto",
    help: "monotone transform of columns before scaling: log (sign(x)·log(1 + |x|/s), s learned), quantile (the share of training rows below), none, or auto: log of the columns whose tail is heavier than exponential",
};

/// `lambda`, with what it is where nothing can be chosen.
pub(super) const fn ridge(help: &'static str) -> Setting {
    Setting { name: "lambda", range: "auto or a number above 0", default: "auto", help }
}

/// `max_iter`.
pub(super) const fn steps(default: &'static str, help: &'static str) -> Setting {
    Setting { name: "max_iter", range: "a whole number above 0", default, help }
}

/// `tol`.
pub(super) const fn accuracy(default: &'static str, help: &'static str) -> Setting {
    Setting { name: "tol", range: "a number above 0", default, help }
}

/// The settings that every method has, to be changed by name.
pub(super) struct Common<'a> {
    pub(super) transform: &'a mut Transform,
    pub(super) scale: &'a mut Choice<Scale>,
    pub(super) lambda: &'a mut Choice<Positive>,
    pub(super) max_iter: &'a mut usize,
    pub(super) tol: &'a mut Positive,
}

impl Common<'_> {
    /// Sets it, if it is one of them.
    pub(super) fn set(self, name: &str, value: &str) -> Result<bool> {
        match name {
            "transform" => *self.transform = value.parse()?,
            "scale" => *self.scale = scale(value)?,
            "lambda" | "c" => *self.lambda = lambda(name, value)?,
            "max_iter" => *self.max_iter = count(name, value)?,
            "tol" => *self.tol = positive(name, value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// One of the settings that every method has, as text.
pub(super) fn common(
    name: &str,
    transform: Transform,
    scale: &Choice<Scale>,
    ridge: &Choice<Positive>,
    max_iter: usize,
    tol: Positive,
) -> Option<String> {
    match name {
        "transform" => Some(transform.name().into()),
        "scale" => Some(shown(scale, |scale| scale.name().into())),
        "lambda" => Some(shown_number(ridge)),
        "max_iter" => Some(max_iter.to_string()),
        "tol" => Some(tol.get().to_string()),
        _ => None,
    }
}

/// A value or `auto`, as text.
pub(super) fn shown<T>(choice: &Choice<T>, text: impl Fn(&T) -> String) -> String {
    if let Choice::Set(value) = choice { text(value) } else { "auto".into() }
}

/// A number or `auto`, as text.
pub(super) fn shown_number(choice: &Choice<Positive>) -> String {
    shown(choice, |x| x.get().to_string())
}

/// The name of a value among those that [`one_of`] knows.
pub(super) fn name_of<T: PartialEq>(value: &T, known: &[(&'static str, T)]) -> &'static str {
    known.iter().find(|(_, own)| own == value).map_or("", |(name, _)| name)
}

/// `true` and `false`.
pub(super) const SWITCH: [(&str, bool); 2] = [("true", true), ("false", false)];

/// A number above 0.
pub(super) fn positive(name: &str, value: &str) -> Result<Positive> {
    let number = value.parse().ok().and_then(|x| Positive::new(x).ok());
    number.ok_or_else(|| wrong(name, "a number above 0", value))
}

/// The number K of `p@K` as it is usually written: `p@+5` and `p@05` are no names of a loss.
pub(super) fn places(text: &str) -> Option<usize> {
    let k = text.strip_prefix("p@")?;
    k.parse().ok().filter(|&number: &usize| number > 0 && number.to_string() == k)
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
fn scale(value: &str) -> Result<Choice<Scale>> {
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

/// What a wrong order costs.
pub(super) fn list_loss(value: &str) -> Result<ListLoss> {
    if value.starts_with("p@") {
        let k = places(value).ok_or_else(|| wrong("loss", "p@K with a whole number K above 0", value))?;
        return Ok(ListLoss::Precision(k));
    }
    let known = [("ndcg", ListLoss::Ndcg), ("mrr", ListLoss::Mrr), ("wta", ListLoss::Wta)];
    one_of("loss", value, &known)
}

/// Refuses a number of steps that is not above 0, and a scaling of matchings alone.
pub(super) fn check(scale: Choice<Scale>, max_iter: usize) -> Result<()> {
    above_0("max_iter", max_iter)?;
    match scale {
        Choice::Set(scale @ Scale::Matched) => Err(wrong("scale", SCALE.range, scale.name())),
        _ => Ok(()),
    }
}

/// Refuses 0.
pub(super) fn above_0(name: &str, n: usize) -> Result<()> {
    if n > 0 { Ok(()) } else { Err(wrong(name, "a whole number above 0", "0")) }
}

/// Refuses a setting that was given although it `serves` nothing beside the others.
pub(super) fn serves(name: &str, given: bool, serves: bool, with: &str, found: &str) -> Result<()> {
    match given && !serves {
        true => Err(wrong(name, &format!("{with} with it"), found)),
        false => Ok(()),
    }
}

/// Names between semicolons; none of `none`.
pub(super) fn names(value: &str) -> impl Iterator<Item = String> {
    let value = if value == "none" { "" } else { value };
    value
        .split(';')
        .map(str::trim_ascii)
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect::<Vec<_>>()
        .into_iter()
}
