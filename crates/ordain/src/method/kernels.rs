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
