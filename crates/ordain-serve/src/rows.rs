//! Rows of JSON: features by name or in the order of the model, and cells of text, categories and vectors.

use crate::problem::{Problem, Result};
use ordain::data::{Cells, Columns, Input, Kind, Missing, Texts, pair_text, vector_text};
use ordain::matrix::{Features, Matrix};
use ordain::task::Inputs;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

/// A cell of a row.
#[derive(Clone, Debug)]
pub(crate) enum Cell<'a> {
    Number(f64),
    Text(Cow<'a, str>),
    Truth(bool),
    Vector(Vec<f64>),
    Gap(()),
}

/// Read as it comes: nothing is put aside to see what it might be.
impl<'de: 'a, 'a> Deserialize<'de> for Cell<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        struct One<'a>(std::marker::PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for One<'a> {
            type Value = Cell<'a>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a number, a text, true or false, a vector or null")
            }
            fn visit_f64<E>(self, x: f64) -> std::result::Result<Cell<'a>, E> {
                Ok(Cell::Number(x))
            }
            fn visit_u64<E>(self, x: u64) -> std::result::Result<Cell<'a>, E> {
                Ok(Cell::Number(x as f64))
            }
            fn visit_i64<E>(self, x: i64) -> std::result::Result<Cell<'a>, E> {
                Ok(Cell::Number(x as f64))
            }
            fn visit_bool<E>(self, yes: bool) -> std::result::Result<Cell<'a>, E> {
                Ok(Cell::Truth(yes))
            }
            fn visit_unit<E>(self) -> std::result::Result<Cell<'a>, E> {
                Ok(Cell::Gap(()))
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> std::result::Result<Cell<'a>, E> {
                Ok(Cell::Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> std::result::Result<Cell<'a>, E> {
                Ok(Cell::Text(Cow::Owned(text.to_owned())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<Cell<'a>, A::Error> {
                let mut all = vec![];
                while let Some(x) = list.next_element()? {
                    all.push(x);
                }
                Ok(Cell::Vector(all))
            }
        }
        from.deserialize_any(One(std::marker::PhantomData))
    }
}

/// Features by name, in the order in which they were sent.
#[derive(Clone, Debug)]
pub(crate) struct Named<'a>(Vec<(Cow<'a, str>, Cell<'a>)>);

impl<'de: 'a, 'a> Deserialize<'de> for Named<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        struct Each<'a>(std::marker::PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Each<'a> {
            type Value = Named<'a>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object of features by name")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Named<'a>, A::Error> {
                let mut all = vec![];
                while let Some(Word(name)) = map.next_key()? {
                    all.push((name, map.next_value()?));
                }
                Ok(Named(all))
            }
        }
        from.deserialize_map(Each(std::marker::PhantomData))
    }
}

/// Text that is borrowed where it stands in the request without escapes.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct Word<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// The features of a row: one of three ways to say them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Row<'r, 'a> {
    /// By name.
    pub(crate) features: Option<&'r Named<'a>>,
    /// In the order of the model.
    pub(crate) row: Option<&'r [Cell<'a>]>,
    /// The text of a model with one column of text.
    pub(crate) text: Option<&'r str>,
}

/// Makes rows for a model.
pub(crate) struct Reader<'m> {
    inputs: &'m Inputs,
    names: Vec<String>,
    numbers: HashMap<String, usize>,
    /// The inputs of cells; a vectors one has two columns in the data and one cell.
    cells: Vec<&'m Input>,
    /// How many columns are numbers; those of cells follow.
    plain: usize,
    texts: Texts,
    values: Vec<f32>,
    rows: usize,
    most: usize,
}

impl<'m> Reader<'m> {
    /// A reader of at most so many rows.
    pub(crate) fn new(inputs: &'m Inputs, most: usize) -> Result<Self> {
        let cells: Vec<&Input> = inputs.steps.iter().map(|(input, _)| input).collect();
        if let Some(image) = cells.iter().find(|input| input.kind == Kind::Image) {
            let text =
                format!("{image}: pictures are read from files, which a request cannot name; send their features");
            return Err(Problem::unfit(text));
        }
        let names = inputs.raw();
        let plain = names.len() - cells.len();
        let numbers = names.iter().cloned().zip(0..).collect();
        Ok(Self { inputs, names, numbers, cells, plain, texts: Texts::default(), values: vec![], rows: 0, most })
    }

    /// Adds a row; `place` says where it stands in the request.
    pub(crate) fn push(&mut self, row: Row<'_, '_>, place: &dyn Fn() -> String) -> Result<()> {
        if self.rows == self.most {
            let text = format!("expected at most {} rows in a request, found more: send several requests", self.most);
            return Err(Problem::new(axum::http::StatusCode::PAYLOAD_TOO_LARGE, text));
        }
        self.rows += 1;
        let cells = match (row.features, row.row, row.text) {
            (Some(Named(named)), None, None) => self.by_name(named, place)?,
            (None, Some(row), None) if row.len() == self.names.len() => row.iter().map(Some).collect(),
            (None, Some(row), None) => {
                let text = format!(
                    "{}: expected {} features in the order of the model, found {}",
                    place(),
                    self.names.len(),
                    row.len()
                );
                return Err(Problem::unfit(text));
            }
            (None, None, Some(text)) => return self.text(text, place),
            _ => return Err(Problem::unfit(format!("{}: expected one of features, row and text", place()))),
        };
        for (j, cell) in cells.into_iter().enumerate() {
            let value = if j < self.plain { self.number(j, cell, place)? } else { self.cell(j, cell, place)? };
            self.values.push(value);
        }
        Ok(())
    }

    /// The one text of a model that reads nothing else.
    fn text(&mut self, text: &str, place: &dyn Fn() -> String) -> Result<()> {
        if self.plain > 0 || self.cells.len() != 1 || self.cells[0].kind != Kind::Text {
            let text = format!(
                "{}: text alone is for models with one column of text; this one reads features by name",
                place()
            );
            return Err(Problem::unfit(text));
        }
        let at = self.texts.push(text.trim(), self.rows)?;
        self.values.push(at);
        Ok(())
    }

    /// Cells in the order of the model.
    fn by_name<'r, 'a>(
        &self,
        named: &'r [(Cow<'a, str>, Cell<'a>)],
        place: &dyn Fn() -> String,
    ) -> Result<Vec<Option<&'r Cell<'a>>>> {
        let mut all = vec![None; self.names.len()];
        let (mut extra, mut pairs) = (vec![], vec![]);
        for (at, (name, cell)) in named.iter().enumerate() {
            // most senders keep the order of the model
            let column = match self.names.get(at) {
                Some(own) if own == name => Some(at),
                _ => self.numbers.get(&**name).copied(),
            };
            match column {
                Some(j) if all[j].is_some() => {
                    return Err(Problem::unfit(format!("{}: feature {name:?} twice", place())));
                }
                Some(j) => all[j] = Some(cell),
                None if self.of_pair(name).is_some() => pairs.push((&**name, cell)),
                None => extra.push(name.to_string()),
            }
        }
        // absent features of numbered columns are 0, and those that the model does not know have no weight
        let loose = self.inputs.columns.numbered && self.cells.is_empty();
        let lacks = |j: usize| {
            all[j].is_none()
                && !self.cells.iter().any(|input| input.column == self.names[j] && input.kind == Kind::Vectors)
        };
        let missing: Vec<String> = (0..all.len()).filter(|&j| lacks(j)).map(|j| self.names[j].clone()).collect();
        if !loose && (!missing.is_empty() || !extra.is_empty()) {
            let mut problem = Problem::from(ordain::Error::Features { missing, extra });
            problem.detail = format!("{}: {}", place(), problem.detail);
            return Err(problem);
        }
        if !pairs.is_empty() || self.cells.iter().any(|input| input.kind == Kind::Vectors) {
            let text = format!("{}: pairs of vectors are sent in a row, as one text A|B", place());
            return Err(Problem::unfit(text));
        }
        Ok(all)
    }

    /// The input of two columns that a name is one of.
    fn of_pair(&self, name: &str) -> Option<&Input> {
        self.cells.iter().find(|input| input.kind == Kind::Vectors && input.columns().contains(&name)).copied()
    }

    fn number(&self, j: usize, cell: Option<&Cell<'_>>, place: &dyn Fn() -> String) -> Result<f32> {
        let refuse = |found: String| {
            let name = &self.names[j];
            Err(Problem::unfit(format!("{}: feature {name:?}: expected a finite number, found {found}", place())))
        };
        match cell {
            None => Ok(0.0),
            Some(Cell::Number(x)) if (*x as f32).is_finite() => Ok(*x as f32),
            Some(Cell::Number(x)) => refuse(format!("{x}, which single precision does not hold")),
            Some(Cell::Truth(yes)) => Ok(f32::from(u8::from(*yes))),
            Some(Cell::Gap(())) if self.inputs.missing != Missing::Error => Ok(f32::NAN),
            Some(Cell::Gap(())) => refuse("null (this model was fitted without a rule for gaps)".into()),
            Some(Cell::Text(text)) => refuse(format!("the text {:?}", text.chars().take(60).collect::<String>())),
            Some(Cell::Vector(_)) => refuse("an array".into()),
        }
    }

    /// The place of a cell that is no number.
    fn cell(&self, j: usize, cell: Option<&Cell<'_>>, place: &dyn Fn() -> String) -> Result<f32> {
        let vector = |numbers: &[f64]| vector_text(numbers.iter().map(|x| *x as f32));
        let text: Cow<str> = match cell {
            None | Some(Cell::Gap(())) => "".into(),
            Some(Cell::Text(text)) => text.trim().into(),
            Some(Cell::Number(x)) => x.to_string().into(),
            Some(Cell::Truth(yes)) => yes.to_string().into(),
            Some(Cell::Vector(numbers)) => {
                let finite = numbers.iter().all(|x| (*x as f32).is_finite());
                if !finite {
                    return Err(Problem::unfit(format!("{}: {:?}: expected finite numbers", place(), self.names[j])));
                }
                match self.cells[j - self.plain].kind {
                    Kind::Vectors if numbers.len() % 2 == 0 => {
                        let (a, b) = numbers.split_at(numbers.len() / 2);
                        pair_text(&vector(a), &vector(b)).into()
                    }
                    _ => vector(numbers).into(),
                }
            }
        };
        Ok(self.texts.push(&text, self.rows)?)
    }

    /// The rows and their columns.
    pub(crate) fn done(self) -> (Features, Columns) {
        let features = Features::Dense(Matrix::new(self.values, self.names.len()));
        if self.cells.is_empty() {
            let columns = Columns { names: self.names, ..self.inputs.columns.clone() };
            return (features, columns);
        }
        let inputs = self.cells.into_iter().cloned().collect();
        let cells = Some(Cells { inputs, texts: self.texts });
        (features, Columns { cells, numbered: false, ..Columns::of(self.names) })
    }
}
