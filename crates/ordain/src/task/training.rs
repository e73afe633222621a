//! What a method is fitted on, and what a fit gives.

use super::{DataSet, Facts, Journal, Method, Model, Task};
use crate::data::ranges::Ranges;
use crate::data::transform::{Transform, Transforms};
use crate::data::{Filled, Missing, split};
use crate::error::{Error, Result};
use crate::metric::{Convention, Kind, Metric};
use std::borrow::Cow;
use std::ops::Range;

/// What a method is fitted on.
pub struct Training<'a, T: Task> {
    /// The data.
    pub set: &'a T::Set,
    /// The units to fit on.
    pub train: &'a [u32],
    /// The units to choose on. Without them every fifth unit of `train` is held out if something is to be chosen.
    pub valid: Option<&'a [u32]>,
    /// The metric of the choice; by default that of the method.
    pub by: Option<Metric>,
    /// The rules of this metric.
    pub convention: Convention,
    /// Whether the model is fitted again on `train` and `valid` together after the choice.
    pub refit: bool,
    /// The seed of whatever is random.
    pub seed: u64,
    /// What gaps in the data were filled with.
    pub filled: Filled,
    /// Where an interrupted fit of the same data and settings stopped.
    pub resume: Option<&'a Journal>,
    /// A model of the same method and columns whose parameters a fit starts from.
    pub init: Option<&'a Fitted<T>>,
}

/// With more columns than this no ranges are kept: they would be most of the model.
pub(crate) const WIDE: usize = 10_000;

/// Units to fit on, and units to choose on.
pub(crate) type Parts<'a> = (Cow<'a, [u32]>, Cow<'a, [u32]>);

impl<'a, T: Task> Training<'a, T> {
    /// A fit on the units `train`: choices on units held out of them, then a fit on all of them.
    pub fn new(set: &'a T::Set, train: &'a [u32]) -> Self {
        Self {
            set,
            train,
            valid: None,
            by: None,
            convention: Convention::STANDARD,
            refit: true,
            seed: 0,
            filled: Filled::default(),
            resume: None,
            init: None,
        }
    }

    /// The metric of a choice: the one that was asked for, else `pairs` of preferences, else that of the method.
    pub(crate) fn by(&self, method: &impl Method<T>) -> Metric {
        let usual = || match self.set.has_preferences() {
            true => Metric { kind: Kind::Pairs, k: None },
            false => method.chooses_by(),
        };
        self.by.unwrap_or_else(usual)
    }

    /// Who trains and who chooses: the validation units that are given, else every fifth unit if something is open.
    pub(crate) fn parts(&self, open: bool) -> Parts<'a> {
        Self::cut(self.train.into(), self.valid.map(Cow::from), open)
    }

    /// The same rule for some of the units.
    pub(crate) fn cut(train: Cow<'a, [u32]>, valid: Option<Cow<'a, [u32]>>, open: bool) -> Parts<'a> {
        match valid {
            Some(valid) => (train, valid),
            None if open && train.len() >= split::LEAST => {
                let (rest, held) = split::hold_out(&train);
                (rest.into(), held.into())
            }
            None => (train, Cow::Borrowed(&[])),
        }
    }

    /// The units that a model of this training was fitted on in the end.
    pub fn fitted_on(&self, facts: &Facts<T::Notes>) -> Vec<u32> {
        let (train, valid) = self.parts(facts.chosen.is_some());
        if facts.chosen.is_none() {
            return self.train.to_vec();
        }
        if facts.refit { both(&train, &valid) } else { train.into_owned() }
    }

    /// The same training once more.
    pub(crate) fn again(&self) -> Self {
        Self { filled: self.filled.clone(), ..*self }
    }

    /// The transforms of columns that the rows of the training units teach, and their ranges; columns that steps `made` have neither.
    pub(crate) fn looks(&self, method: &impl Method<T>, made: &Range<usize>) -> (Transforms, Ranges) {
        let rows = self.train.iter().flat_map(|&unit| self.set.span(unit as usize)).map(|row| row as u32);
        let (how, names) = (method.transform(), &self.set.columns().names);
        if how == Transform::None
            && (names.len() > WIDE || method.get("kernel").is_some_and(|kernel| kernel == "given"))
        {
            return Default::default();
        }
        let rows: Vec<u32> = rows.collect();
        let (learned, ranges) = Transforms::learn_with_ranges(how, self.set.features(), &rows, self.train.len());
        let kept = |j: usize| made.contains(&j) || method.categories().contains(&names[j]);
        // steps come behind the columns of the data
        let given = if made.is_empty() { names.len() } else { made.start };
        (learned.without(kept), if given > WIDE { Ranges::default() } else { ranges.first(given) })
    }

    /// Refuses preferences where a method would not look at them.
    pub(crate) fn refuse_preferences(&self, method: &str, takes_preferences: bool) -> Result<()> {
        match self.set.has_preferences() && !takes_preferences {
            false => Ok(()),
            true => Err(Error::Data {
                expected: "a method that learns from pairs, for preferences and clicks: ranksvm (of trees with loss=logistic), ranknet, rankboost, frank or qbrank"
                    .into(),
                found: method.into(),
            }),
        }
    }

    /// Refuses a model to start from of another method, and any model where a method does not start from one.
    pub(crate) fn refuse_init(&self, method: &str, takes_init: bool) -> Result<()> {
        let wrong = |expected: String, found: String| Err(Error::Data { expected, found });
        let Some(init) = self.init else { return Ok(()) };
        if !takes_init {
            return wrong(
                format!(
                    "no model to start from for {method} with these settings (ranksvm and rankmatch without kernels and trees, listnet, ranknet, dorm, svmmap and structrank start from one)"
                ),
                "one".into(),
            );
        }
        if init.facts.method != method {
            return wrong(format!("a model of {method} to start from"), format!("one of {}", init.facts.method));
        }
        Ok(())
    }

    /// Refuses a model to start from whose columns are not those of a set.
    pub(crate) fn refuse_other_columns(&self, set: &T::Set) -> Result<()> {
        let Some(init) = self.init else { return Ok(()) };
        let (own, other) = (&set.columns().names, &init.model.inputs().columns.names);
        let wrong = |expected: String, found: String| Err(Error::Data { expected, found });
        match own.iter().zip(other).position(|(own, other)| own != other) {
            Some(j) => wrong(
                format!("a model of the same columns to start from, whose column {} is {:?}", j + 1, own[j]),
                format!("{:?}", other[j]),
            ),
            None if own.len() != other.len() => wrong(
                format!("a model of the same {} columns to start from", own.len()),
                format!("one of {}", other.len()),
            ),
            None => Ok(()),
        }
    }

    /// Refuses start scores where a method would not look at them.
    pub(crate) fn refuse_start(&self, takes_start: bool) -> Result<()> {
        match self.set.has_start() && !takes_start {
            false => Ok(()),
            true => Err(Error::Data {
                expected: "trees alone (scorer=trees of ranksvm or rankmatch) on top of start scores; any method takes such scores as a feature"
                    .into(),
                found: "another method".into(),
            }),
        }
    }

    /// Refuses gaps: a value that is missing has to be filled before a fit, unless it is to be kept and the method takes gaps.
    pub(crate) fn need_values(&self, takes_gaps: bool) -> Result<()> {
        let keeps = self.filled.missing() == Missing::Keep;
        if keeps && !takes_gaps {
            let error = Error::Data {
                expected: "a method that takes missing values (trees alone: scorer=trees) for values that are kept"
                    .into(),
                found: "one that needs a number in every cell".into(),
            };
            return Err(error);
        }
        match self.set.features().has_gaps() && !keeps {
            false => Ok(()),
            true => Err(Error::Data {
                expected: "a value in every cell (fill gaps first, and give the training what they were filled with)"
                    .into(),
                found: "missing values".into(),
            }),
        }
    }
}

/// Below so many validation units that count a choice is cross-validated.
pub(crate) const FEW: usize = 50;
/// Into so many parts.
const PARTS: usize = 5;

/// Who trains and who chooses, in one round or in several.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rounds {
    /// Units to fit on and units to choose on, of each round.
    pub(crate) rounds: Vec<(Vec<u32>, Vec<u32>)>,
    /// Whether the rounds are those of a cross-validation over training and validation units.
    pub(crate) crossed: bool,
}

impl Rounds {
    /// The rounds of a choice between settings.
    ///
    /// From [`FEW`] validation units on that the metric counts, the validation units choose. Below, a choice on them is mostly chance: then
    /// every unit of both parts chooses once, in five parts (unit i in part i mod 5, training units first), while the others train. A round without a unit that
    /// counts says nothing and is left out; where there is none at all nothing can be chosen.
    pub(crate) fn new(train: &[u32], valid: &[u32], counts: impl Fn(u32) -> bool) -> Self {
        let some = |units: &[u32]| units.iter().any(|&unit| counts(unit));
        // in the order in which they are given, so that files in another order make the same parts
        let all = [train, valid].concat();
        if valid.iter().filter(|&&unit| counts(unit)).count() >= FEW || all.len() < split::LEAST {
            let rounds = if some(valid) { vec![(train.to_vec(), valid.to_vec())] } else { vec![] };
            return Self { rounds, crossed: false };
        }
        let part = |part: usize, own: bool| -> Vec<u32> {
            all.iter().enumerate().filter(|(i, _)| (i % PARTS == part) == own).map(|(_, &unit)| unit).collect()
        };
        let rounds = (0..PARTS).map(|n| (part(n, false), part(n, true))).filter(|(_, held)| some(held)).collect();
        Self { rounds, crossed: true }
    }
}

/// Training and validation units together, in order.
pub(crate) fn both(train: &[u32], valid: &[u32]) -> Vec<u32> {
    let mut both = [train, valid].concat();
    both.sort_unstable();
    both
}

/// A trained model.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted<T: Task> {
    /// The model itself.
    pub model: T::Model,
    /// Where it comes from.
    pub facts: Facts<T::Notes>,
    /// Where it stopped, if it was interrupted and can continue.
    pub journal: Option<Journal>,
}

impl<T: Task> Fitted<T> {
    /// Whether it was trained on exactly these data; of a method that learns from names and links of rows, with the same ones.
    pub fn trained_on(&self, set: &T::Set) -> bool {
        self.facts.data == set.digest() || self.facts.data == set.linked_digest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_units_choose_in_five_parts() {
        let (train, valid): (Vec<u32>, Vec<u32>) = ((0..40).collect(), (40..52).collect());
        let Rounds { rounds, crossed } = Rounds::new(&train, &valid, |_| true);
        assert!(crossed && rounds.len() == 5);
        let mut held: Vec<u32> = rounds.iter().flat_map(|(_, held)| held.clone()).collect();
        held.sort_unstable();
        assert_eq!(held, (0..52).collect::<Vec<u32>>(), "every unit chooses once");
        for (train, held) in &rounds {
            assert_eq!(both(train, held), (0..52).collect::<Vec<u32>>());
        }
        // a part in which nothing counts says nothing
        let some = Rounds::new(&train, &valid, |unit| unit % 5 == 0);
        assert_eq!(some.rounds.len(), 1);
        assert_eq!(Rounds::new(&train, &valid, |_| false).rounds, []);
    }

    #[test]
    fn many_units_choose_by_themselves() {
        let (train, valid): (Vec<u32>, Vec<u32>) = ((0..40).collect(), (40..100).collect());
        let one = Rounds { rounds: vec![(train.clone(), valid.clone())], crossed: false };
        assert_eq!(Rounds::new(&train, &valid, |unit| unit < 90), one);
        assert!(Rounds::new(&train, &valid, |unit| unit < 89).crossed, "49 that count are few");
        // three units cannot be cut
        assert_eq!(Rounds::new(&[0, 1], &[2], |_| true).rounds, [(vec![0, 1], vec![2])]);
    }
}
