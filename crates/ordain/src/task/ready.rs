//! A set that a model can score.

use super::{DataSet, Model, Task};
use crate::data::ranges::{Left, Ranges};
use crate::data::scale::{Affine, Scale, Scaling};
use crate::data::transform::Transforms;
use crate::data::{Aligned, Columns, Filled, Groups, Kind, Missing, flagged};
use crate::error::{Error, Result};
use crate::features::Steps;
use std::borrow::Cow;
use std::collections::HashSet;

/// What a model needs to read a row: its columns, what gaps mean, and how values are scaled.
#[derive(Clone, Debug, PartialEq)]
pub struct Inputs {
    /// The columns, by name.
    pub columns: Columns,
    /// What missing values mean.
    pub missing: Missing,
    /// The values put in their place, with `missing=mean` and `missing=indicator`: one for each column of the data.
    pub means: Option<Vec<f32>>,
    /// What makes columns of cells that are no numbers.
    pub steps: Steps,
    /// What the columns of the data looked like in training, before they are transformed.
    pub ranges: Ranges,
    /// How columns are transformed before they are scaled.
    pub transforms: Transforms,
    /// How columns are scaled.
    pub scale: Scale,
    /// Offsets and factors of `scale=global` and `scale=matched`.
    pub global: Option<Affine>,
}

impl Inputs {
    /// The inputs of a fit on columns whose gaps were filled.
    pub(crate) fn new(columns: &Columns, filled: &Filled, scale: Scale, global: Option<&Affine>) -> Self {
        Self {
            columns: Columns { coarse: vec![], ..columns.clone() },
            missing: filled.missing(),
            means: filled.means().map(<[f32]>::to_vec),
            steps: Steps::default(),
            ranges: Ranges::default(),
            transforms: Transforms::default(),
            scale,
            global: global.cloned(),
        }
    }

    /// The scaling of some groups of rows. O(values of these groups) if each is scaled by itself, else O(columns).
    pub(crate) fn scaling<'a>(&self, groups: impl Into<Groups<'a>>, units: &[u32]) -> Scaling {
        match &self.global {
            Some(affine) => Scaling::Global(affine.clone()),
            None => Scaling::of_units(self.scale, groups, units),
        }
    }

    /// Whether sizes fit together.
    pub(crate) fn fits(&self) -> bool {
        let d = self.columns.names.len();
        let sized = |affine: &Affine| affine.offset.len() == d && affine.factor.len() == d;
        self.global.as_ref().is_none_or(sized)
            && self.transforms.fits(d)
            && self.ranges.fits(d)
            && self.global.is_some() == matches!(self.scale, Scale::Global | Scale::Matched)
            && self.means.is_some() == matches!(self.missing, Missing::Mean | Missing::Indicator)
            && match (&self.means, self.missing) {
                (Some(means), Missing::Indicator) => flagged(&self.columns.names, means.len()).is_some(),
                (Some(means), _) => means.len() == d,
                (None, _) => true,
            }
    }

    /// The columns whose gaps the columns behind those of the data say.
    pub fn flags(&self) -> Vec<u32> {
        flagged(&self.columns.names, self.given().len()).unwrap_or_default()
    }

    /// The columns that data have: all but those that say where others have gaps.
    pub fn given(&self) -> &[String] {
        let all = &self.columns.names;
        match (self.missing, &self.means) {
            (Missing::Indicator, Some(means)) => &all[..means.len().min(all.len())],
            _ => all,
        }
    }

    /// The columns of a table that a person reads rather than numbers: texts, categories, dates, and paths of pictures.
    pub fn readable(&self) -> Vec<String> {
        let kinds = [Kind::Text, Kind::Category, Kind::Date, Kind::Image];
        self.steps
            .iter()
            .filter(|(input, _)| kinds.contains(&input.kind))
            .map(|(input, _)| input.column.clone())
            .collect()
    }

    /// The columns that data have before steps make numbers of cells: columns of numbers, then those of cells.
    pub fn raw(&self) -> Vec<String> {
        let made: HashSet<String> = self.steps.iter().flat_map(|(input, step)| step.names(&input.column)).collect();
        let numbers = self.given().iter().filter(|name| !made.contains(*name)).cloned();
        numbers.chain(self.steps.iter().map(|(input, _)| input.column.clone())).collect()
    }
}

/// A set that fits a model: columns in its order, gaps filled, columns transformed, scaling learned once.
///
/// Only [`Model::prepare`] and [`Model::prepare_owned`] make one, and models score nothing else.
#[derive(Clone, Debug)]
pub struct Ready<'a, T: Task> {
    set: Cow<'a, T::Set>,
    /// The set before columns were transformed, if any are.
    raw: Option<Cow<'a, T::Set>>,
    scaled: <T::Model as Model<T>>::Scaled,
    inputs: Inputs,
    differ: Aligned,
}

impl<'a, T: Task> Ready<'a, T> {
    pub(super) fn new(model: &T::Model, mut set: Cow<'a, T::Set>) -> Result<Self> {
        let inputs = model.inputs();
        let mut differ = Aligned::default();
        if set.columns().cells.is_some() {
            inputs.steps.apply(set.to_mut())?;
        }
        if !set.columns().same(&inputs.columns) {
            let names = inputs.given();
            differ = set.to_mut().align(&Columns { names: names.to_vec(), ..inputs.columns.clone() })?;
            match flagged(&inputs.columns.names, names.len()) {
                Some(flagged) if !flagged.is_empty() => set.to_mut().flag(&flagged),
                _ => {}
            }
        }
        differ.labels = model.adapt(&mut set)?;
        if !matches!(inputs.missing, Missing::Error | Missing::Keep) && set.features().has_gaps() {
            set.to_mut().fill_missing(inputs.means.as_deref());
        }
        let mut raw = None;
        if !inputs.transforms.is_empty() {
            let mut changed = T::Set::clone(&set);
            inputs.transforms.apply(changed.features_mut());
            raw = Some(std::mem::replace(&mut set, Cow::Owned(changed)));
        }
        let scaled = model.scaled(&set);
        Ok(Self { set, raw, scaled, inputs: inputs.clone(), differ })
    }

    /// The set, as the model sees it before scaling.
    pub fn set(&self) -> &T::Set {
        &self.set
    }

    /// The set before its columns were transformed: what a person knows its values by.
    pub fn raw(&self) -> &T::Set {
        self.raw.as_ref().unwrap_or(&self.set)
    }

    /// The same with other values of features, in place of those of [`Self::set`]: only the scaling is learned anew.
    pub(crate) fn with<'b>(&self, model: &T::Model, set: &'b T::Set) -> Ready<'b, T> {
        let (inputs, differ) = (self.inputs.clone(), self.differ.clone());
        Ready { scaled: model.scaled(set), set: Cow::Borrowed(set), raw: None, inputs, differ }
    }

    /// The columns that have left what the model has seen of them, the farthest first; none where it kept no ranges.
    pub fn left(&self) -> Vec<Left> {
        let set = self.raw();
        self.inputs.ranges.left(set.features(), (0..set.len()).map(|unit| set.span(unit)))
    }

    /// Where the set differed from what the model knows.
    pub fn differ(&self) -> &Aligned {
        &self.differ
    }

    /// The scaling, if this set was prepared for a model with these inputs.
    pub(crate) fn scaled(&self, by: &T::Model) -> Result<&<T::Model as Model<T>>::Scaled> {
        match self.inputs == *by.inputs() {
            true => Ok(&self.scaled),
            false => Err(Error::Data {
                expected: "a set that this model prepared".into(),
                found: "one that another model prepared".into(),
            }),
        }
    }
}
