//! Which classifiers of single labels: linear, with a kernel, or with trees, by validation.

use super::CStar;
use crate::error::{Error, Result};
use crate::kernel::Form;
use crate::method::annotate::stage::Stage;
use crate::method::kernels::{KernelBy, KernelChoice};
use crate::method::trees::paired;
use crate::method::{Annotate, Scorer, Trees};
use crate::solver::run::Watch;
use crate::task::{Fitted, Method, Training};

/// Kernels that are tried, the simplest first.
const KERNELS: [Form; 5] = [Form::Linear, Form::Rbf, Form::Laplace, Form::Chi2, Form::Intersection];

impl CStar {
    /// Whether the kind of classifier is left to validation.
    pub(super) fn kinds_compete(&self) -> bool {
        self.kernel.by == KernelBy::Auto || self.trees.scorer == Scorer::Auto
    }

    /// What competes, the simplest first, each by its name: linear classifiers, and those of every kernel that is open; with
    /// `scorer=auto` also those with trees.
    fn kinds(&self) -> Vec<(String, Self)> {
        let auto = self.trees.scorer == Scorer::Auto;
        let plain = Trees { scorer: Scorer::Linear, ..self.trees.clone() };
        let with = |form: Form| {
            let method = Self { kernel: self.kernel.with(form), trees: plain.clone(), ..self.clone() };
            (form.name().to_owned(), method)
        };
        let set = self.kernel.by == KernelBy::Set && self.kernel.shape.form != Form::Linear;
        let forms = if set { vec![Form::Linear, self.kernel.shape.form()] } else { KERNELS.to_vec() };
        let mut kinds: Vec<(String, Self)> = forms.into_iter().map(with).collect();
        if auto {
            let kernel = KernelChoice::new(Form::Linear);
            kinds.push(("trees".into(), Self { kernel, ..self.clone() }));
        }
        kinds
    }

    /// The classifiers that alone do best on validation; of equals the first. Then everything else as with these.
    ///
    /// With `scorer=auto` others than linear ones have to be better than these by more than a paired standard error over the items.
    /// Kernels of histograms are tried where no value is below 0. Without validation items it is the linear one.
    pub(super) fn choose_classifiers(
        &self,
        data: &Training<'_, Annotate>,
        train: &[u32],
        valid: &[u32],
        watch: &Watch,
    ) -> Result<Fitted<Annotate>> {
        let by = data.by(self);
        let mut tried: Vec<(String, f64)> = vec![];
        let mut best: Option<(Self, Stage, f64)> = None;
        let mut linear = vec![];
        let kinds = if valid.iter().any(|&i| data.set.tells(i as usize)) { self.kinds() } else { vec![] };
        for (name, method) in kinds {
            (watch.tell)(0.0, &format!("classifiers of single labels: {name}"));
            let stage = match Stage::new(&method, data, train, watch) {
                Err(Error::Data { .. }) if method.kernel.shape.form.of_histograms() => continue,
                stage => stage?,
            };
            let values = stage.floors(data, by, valid)?;
            let floor = values.mean(0);
            tried.push((name, floor));
            let of_items: Vec<f64> = values.values[0].iter().map(|value| value.unwrap_or(0.0)).collect();
            if linear.is_empty() {
                linear = of_items.clone();
            }
            let sign = if by.is_loss() { -1.0 } else { 1.0 };
            let clear = || paired(&[linear.clone(), of_items]).is_some_and(|(gain, error)| sign * gain > error);
            let better = best.as_ref().is_none_or(|(_, _, most)| by.better(floor, *most));
            if better && (best.is_none() || self.trees.scorer != Scorer::Auto || clear()) {
                best = Some((method, stage, floor));
            }
        }
        let mut fitted = match best {
            Some((method, stage, floor)) => method.choose(data, &stage, floor, train, valid, watch)?,
            None => {
                let trees = Trees { scorer: Scorer::Linear, ..self.trees.clone() };
                Self { kernel: self.kernel.with(Form::Linear), trees, ..self.clone() }.learn(data, watch)?
            }
        };
        fitted.facts.asked = self.asked();
        fitted.facts.notes.kernels = tried;
        Ok(fitted)
    }
}
