//! What can be set of a kernel.

use super::settings::{count, one_of, positive, serves, shown_number};
use super::{Choice, Positive};
use crate::error::{Error, Result};
use crate::kernel::Form;
use crate::task::Setting;
use serde_json::{Map, Value};

/// Up to so many rows that are compared with one another, every one is a core row; above, a budget of them.
pub const EXACT: usize = 5000;

/// The largest degree of a polynomial.
const MOST_DEGREE: usize = 1000;

/// Where a kernel comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelBy {
    /// It is set.
    Set,
    /// The best is found by validation.
    Auto,
    /// The data are its values: column `i` of a row is the kernel with training row `i`.
    Given,
}

/// The kernel of labels or of edges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelChoice {
    /// The kernel; linear for weights on features.
    pub shape: Shape,
    /// Where it comes from.
    pub by: KernelBy,
}

impl KernelChoice {
    /// This kernel, with its width chosen by the data.
    pub const fn new(form: Form) -> Self {
        Self { shape: Shape::new(form), by: KernelBy::Set }
    }

    /// Whether it is weights on features, and nothing else is tried.
    pub(in crate::method) fn is_linear(&self) -> bool {
        self.by == KernelBy::Set && self.shape.form == Form::Linear
    }

    /// The same with another form, which is set.
    pub(in crate::method) fn with(&self, form: Form) -> Self {
        Self { shape: Shape { form, ..self.shape }, by: KernelBy::Set }
    }

    /// Sets it, if it is one of its settings.
    pub(in crate::method) fn set(&mut self, name: &str, value: &str) -> Result<bool> {
        if let ("kernel", "auto" | "given") = (name, value) {
            self.by = if value == "auto" { KernelBy::Auto } else { KernelBy::Given };
            self.shape.form = Form::Linear;
            return Ok(true);
        }
        let known = self.shape.set(name, value)?;
        if name == "kernel" {
            self.by = KernelBy::Set;
        }
        Ok(known)
    }

    /// One of its settings as text.
    pub(in crate::method) fn get(&self, name: &str) -> Option<String> {
        match (name, self.by) {
            ("kernel", KernelBy::Auto) => Some("auto".into()),
            ("kernel", KernelBy::Given) => Some("given".into()),
            _ => self.shape.get(name),
        }
    }

    /// Refuses what makes no sense together.
    pub(in crate::method) fn check(&self) -> Result<()> {
        match self.by {
            KernelBy::Auto => Shape { form: Form::Rbf, ..self.shape }.check(),
            KernelBy::Set => self.shape.check(),
            KernelBy::Given => Shape { form: Form::Linear, ..self.shape }.check(),
        }
    }

    /// What was asked, of a kernel that is not linear.
    pub(in crate::method) fn asked(&self) -> Map<String, Value> {
        if *self == Self::new(Form::Linear) {
            return Map::new();
        }
        if self.by == KernelBy::Given {
            // values that are given have no width
            return Map::from_iter([("kernel".into(), self.get("kernel").into())]);
        }
        let gamma = match self.shape.gamma {
            Choice::Set(gamma) => gamma.get().into(),
            Choice::Auto => "auto".into(),
        };
        Map::from_iter([("kernel".into(), self.get("kernel").into()), ("gamma".into(), gamma)])
    }
}

/// The shape of a kernel, as far as it is set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// The form; degree and coef0 of a polynomial are below.
    pub form: Form,
    /// γ in units of one over the median distance of training rows.
    pub gamma: Choice<Positive>,
    /// The degree of a polynomial.
    pub degree: usize,
    /// What a polynomial adds to the inner product.
    pub coef0: f64,
}

impl Shape {
    pub(in crate::method) const fn new(form: Form) -> Self {
        Self { form, gamma: Choice::Auto, degree: 3, coef0: 1.0 }
    }

    /// `gamma`, `degree` and `coef0`.
    pub(in crate::method) const SETTINGS: [Setting; 3] = [
        Setting {
            name: "gamma",
            range: "auto or a number above 0",
            default: "auto",
            help: "width of the kernel in units of one over the median (squared) distance of training documents: auto by validation (else 1)",
        },
        Setting { name: "degree", range: "a whole number above 0", default: "3", help: "the power of kernel=poly" },
        Setting {
            name: "coef0",
            range: "a number of at least 0",
            default: "1",
            help: "what kernel=poly adds to the inner product",
        },
    ];

    /// Sets it, if it is one of them.
    pub(in crate::method) fn set(&mut self, name: &str, value: &str) -> Result<bool> {
        match name {
            "kernel" => {
                let forms = [
                    Form::Linear,
                    Form::Rbf,
                    Form::Poly { degree: 3, coef0: 1.0 },
                    Form::Laplace,
                    Form::Intersection,
                    Form::Chi2,
                ];
                self.form = one_of("kernel", value, &forms.map(|form| (form.name(), form)))?;
            }
            "gamma" if value == "auto" => self.gamma = Choice::Auto,
            "gamma" => self.gamma = Choice::Set(positive(name, value)?),
            "degree" => self.degree = count(name, value)?,
            "coef0" => {
                self.coef0 = value.parse().ok().filter(|x: &f64| x.is_finite() && *x >= 0.0).ok_or_else(|| {
                    Error::Setting { name: name.into(), expected: "a number of at least 0".into(), found: value.into() }
                })?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// One of them as text.
    pub(in crate::method) fn get(&self, name: &str) -> Option<String> {
        match name {
            "kernel" => Some(self.form.name().into()),
            "gamma" => Some(shown_number(&self.gamma)),
            "degree" => Some(self.degree.to_string()),
            "coef0" => Some(self.coef0.to_string()),
            _ => None,
        }
    }

    /// Refuses what the kernel makes no use of.
    pub(in crate::method) fn check(&self) -> Result<()> {
        let (name, usual) = (self.form.name(), Self::new(self.form));
        let power = matches!(self.form, Form::Poly { .. });
        let found = format!("kernel={name}");
        let wide = self.form.has_width();
        serves("gamma", self.gamma != Choice::Auto, wide, "kernel=rbf, poly, laplace or chi2", &found)?;
        serves("degree", self.degree != usual.degree, power, "kernel=poly", &found)?;
        serves("coef0", self.coef0.total_cmp(&usual.coef0).is_ne(), power, "kernel=poly", &found)?;
        let added = self.coef0 >= 0.0 && self.coef0.is_finite();
        if self.degree == 0 || self.degree > MOST_DEGREE || !added {
            return Err(Error::Setting {
                name: "kernel".into(),
                expected: format!("a degree from 1 to {MOST_DEGREE} and a finite coef0 of at least 0"),
                found: format!("degree={}, coef0={}", self.degree, self.coef0),
            });
        }
        Ok(())
    }

    /// The form with its numbers.
    pub(in crate::method) fn form(&self) -> Form {
        match self.form {
            Form::Poly { .. } => Form::Poly { degree: self.degree as u32, coef0: self.coef0 },
            form => form,
        }
    }

    /// Form, and numbers of a polynomial, as they stand in a model.
    pub(in crate::method) fn settings(&self) -> Map<String, Value> {
        let mut all = Map::from_iter([("kernel".into(), self.form.name().into())]);
        if matches!(self.form, Form::Poly { .. }) {
            all.insert("degree".into(), self.degree.into());
            all.insert("coef0".into(), self.coef0.into());
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_is_given_has_no_width_to_choose() {
        let mut choice = KernelChoice::new(Form::Linear);
        assert!(choice.asked().is_empty());
        choice.set("kernel", "given").unwrap();
        assert_eq!(choice.asked().keys().collect::<Vec<_>>(), ["kernel"]);
        choice.set("kernel", "auto").unwrap();
        assert_eq!(choice.asked()["gamma"], "auto");
    }
}
