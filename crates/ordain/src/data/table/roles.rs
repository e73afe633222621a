//! Which column of a table means what.

use super::Row;
use crate::data::cells::{Cells, Input, Kind, Texts, pair_text};
use crate::data::columns::once;
use crate::data::strings::short;
use crate::error::{Error, Result, Way};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;

/// Which columns of a table are no features, by name, and which are.
///
/// Without a name a role is found by the usual name of its column, or by another common one ([`Role::names`]). A model keeps the
/// roles of the table that it was trained on, so that they need not be told again.
///
/// ```
/// use ordain::data::{Missing, RankReading, Roles, read_rank};
/// # let dir = tempfile::tempdir().unwrap();
/// let path = dir.path().join("shop.csv");
/// std::fs::write(&path, "session,title,stars,bm25\na,red shoe,2,1.5\na,blue shoe,0,0.5\n").unwrap();
/// let roles = Roles {
///     label: Some("stars".into()),
///     query: Some("session".into()),
///     ignore: vec!["title".into()],
///     ..Roles::default()
/// };
/// let (set, _) = read_rank(&[vec![path]], &RankReading { roles, ..RankReading::default() })?;
/// assert_eq!((set.len(), set.columns.names.join(",")), (1, "bm25".to_owned()));
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Roles {
    /// The grade of a document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The query of a document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// The id of a document or an item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The weight of a document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<String>,
    /// The problem of an edge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The left item of an edge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<String>,
    /// The right item of an edge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub right: Option<String>,
    /// Whether an edge is matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matched: Option<String>,
    /// Columns that are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// The features; without them all columns that nobody named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub features: Option<Vec<String>>,
    /// Columns whose cells are no numbers, and what they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Input>,
}

/// What a column can mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// The grade of a document.
    Label,
    /// The query of a document.
    Query,
    /// The id of a document.
    Document,
    /// The id of an item.
    Item,
    /// The weight of a document.
    Weight,
    /// The problem of an edge.
    Problem,
    /// The left item of an edge.
    Left,
    /// The right item of an edge.
    Right,
    /// Whether an edge is matched.
    Matched,
}

impl Role {
    /// One role for each option that names a column; the ids of documents and of items share theirs.
    const OPTIONS: &'static [Self] = &[
        Self::Label,
        Self::Query,
        Self::Document,
        Self::Weight,
        Self::Problem,
        Self::Left,
        Self::Right,
        Self::Matched,
    ];

    /// The names by which its column is found: the usual one, then others.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Self::Label => &["label", "relevance", "grade", "rel", "target"],
            Self::Query => &["qid", "query", "query_id", "group"],
            Self::Document => &["docid", "doc_id", "docno", "id"],
            Self::Item => &["id", "item"],
            Self::Weight => &["weight"],
            Self::Problem => &["problem"],
            Self::Left => &["left"],
            Self::Right => &["right"],
            Self::Matched => &["matched"],
        }
    }

    /// The option that names its column.
    pub fn option(self) -> &'static str {
        match self {
            Self::Label => "label",
            Self::Query => "query",
            Self::Document | Self::Item => "id",
            Self::Weight => "weight",
            Self::Problem => "problem",
            Self::Left => "left",
            Self::Right => "right",
            Self::Matched => "matched",
        }
    }
}

impl Roles {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The column that was named for a role.
    pub fn get(&self, role: Role) -> Option<&String> {
        match role {
            Role::Label => &self.label,
            Role::Query => &self.query,
            Role::Document | Role::Item => &self.id,
            Role::Weight => &self.weight,
            Role::Problem => &self.problem,
            Role::Left => &self.left,
            Role::Right => &self.right,
            Role::Matched => &self.matched,
        }
        .as_ref()
    }

    fn put(&mut self, role: Role, name: String) {
        let place = match role {
            Role::Label => &mut self.label,
            Role::Query => &mut self.query,
            Role::Document | Role::Item => &mut self.id,
            Role::Weight => &mut self.weight,
            Role::Problem => &mut self.problem,
            Role::Left => &mut self.left,
            Role::Right => &mut self.right,
            Role::Matched => &mut self.matched,
        };
        *place = Some(name);
    }

    /// The first role in which flags contradict those of a model, with both names; names that the model has too are fine.
    pub fn contradicts(&self, model: &Self) -> Option<(&'static str, String, String)> {
        let usual = |role: Role| model.get(role).cloned().unwrap_or_else(|| role.names()[0].to_owned());
        let one = Role::OPTIONS.iter().find_map(|&role| {
            let (given, known) = (self.get(role)?, usual(role));
            (*given != known).then(|| (role.option(), given.clone(), known))
        });
        one.or_else(|| {
            let extra = self.ignore.iter().find(|name| !model.ignore.contains(name))?;
            Some(("ignore", extra.clone(), model.ignore.join(",")))
        })
        .or_else(|| {
            let extra = self.inputs.iter().find(|input| !model.inputs.contains(input))?;
            let known: Vec<String> = model.inputs.iter().map(ToString::to_string).collect();
            Some(("input", extra.to_string(), known.join(",")))
        })
        .or_else(|| {
            let (given, known) = (self.features.as_ref()?, model.features.clone().unwrap_or_default());
            (*given != known).then(|| ("features", given.join(","), known.join(",")))
        })
    }

    /// Roles that were found by a name that is not the usual one, although nobody named them: what has to be said.
    pub fn found_beside(&self, given: &Self) -> Vec<(&'static str, &str)> {
        let new = Role::OPTIONS.iter().filter(|&&role| given.get(role).is_none());
        new.filter_map(|&role| Some((role.option(), self.get(role)?.as_str()))).collect()
    }
}

/// Where the cells of an input stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// In this column.
    Column(usize),
    /// In the file of this number.
    File(usize),
}

/// An input, and where the cells of its columns stand.
type Placed = (Vec<Source>, Input);

/// The columns of one table by their roles.
pub(in crate::data) struct Found {
    places: Vec<(Role, usize)>,
    /// Columns that are features, in the order of the table.
    pub(in crate::data) features: Vec<usize>,
    /// Columns whose cells are no numbers.
    inputs: Vec<Placed>,
    /// The roles whose columns do not have their usual names, as a model keeps them.
    pub(in crate::data) roles: Roles,
}

impl Found {
    /// The names of the features and of the columns whose cells are no numbers, behind them.
    pub(in crate::data) fn with_cells(&self, mut names: Vec<String>) -> Vec<String> {
        names.extend(self.inputs.iter().map(|(_, input)| input.column.clone()));
        names
    }

    /// Keeps the cells of a row that are no numbers, and adds their places to its features.
    pub(in crate::data) fn push_cells(&self, row: &Row, texts: &Texts, values: &mut Vec<f32>) -> Result<()> {
        for (sources, input) in &self.inputs {
            let part = |source: &Source| match *source {
                Source::Column(j) => row.word(j).ok_or_else(|| row.refuse(j, "text in UTF-8 (save the file as UTF-8)")),
                Source::File(k) => Ok(Cow::Owned(texts.next_vector(&input.column, &input.files[k])?)),
            };
            let place = match &sources[..] {
                [one] => texts.push(&part(one)?, row.line())?,
                [a, b] => texts.push(&pair_text(&part(a)?, &part(b)?), row.line())?,
                _ => 0.0,
            };
            if let (Kind::Image, [Source::Column(j)]) = (input.kind, &sources[..])
                && place > 0.0
                && !texts.read().cell(place as usize).file().is_file()
            {
                return Err(row.refuse(*j, "the path of a picture, from the folder of the table; no such file"));
            }
            values.push(place);
        }
        Ok(())
    }

    /// What is known of the cells.
    pub(in crate::data) fn cells(&self, texts: &Texts) -> Option<Cells> {
        let inputs: Vec<Input> = self.inputs.iter().map(|(_, input)| input.clone()).collect();
        (!inputs.is_empty()).then(|| Cells { inputs, texts: texts.clone() })
    }

    /// The columns that have a role.
    pub(in crate::data) fn others(&self) -> Vec<usize> {
        let of_inputs = self.inputs.iter().flat_map(|(sources, _)| sources).filter_map(|source| match source {
            Source::Column(column) => Some(*column),
            Source::File(_) => None,
        });
        self.places.iter().map(|(_, column)| *column).chain(of_inputs).collect()
    }

    pub(in crate::data) fn get(&self, role: Role) -> Option<usize> {
        self.places.iter().find(|(own, _)| *own == role).map(|(_, column)| *column)
    }
}

/// How the columns of a table are found.
pub(in crate::data) struct Finding<'a> {
    pub(in crate::data) path: &'a Path,
    pub(in crate::data) header: &'a [String],
    pub(in crate::data) roles: &'a Roles,
    /// The columns of a model: they are features whatever they are called, and what the model ignored may be absent.
    pub(in crate::data) model: Option<&'a [String]>,
}

impl Finding<'_> {
    /// The column of a name that somebody gave.
    pub(in crate::data) fn column(&self, name: &str, option: &'static str) -> Result<usize> {
        let absent = || Error::Parse {
            path: self.path.into(),
            line: 1,
            column: 1,
            expected: format!("a header with the column {:?}", short(name)),
            found: shown(self.header),
        };
        let place = self.header.iter().position(|h| h == name);
        place.ok_or_else(|| absent().or(Way::new(option, [short(name)], "names it")))
    }

    /// Finds the columns of some roles; all others are features unless they are left out or taken by `taken`.
    pub(in crate::data) fn find(&self, wanted: &[Role], taken: &[usize]) -> Result<Found> {
        once(self.path, "column", self.header)?;
        let of_model = self.model.unwrap_or_default().iter().chain(self.roles.features.iter().flatten());
        let of_model: HashSet<&str> = of_model.chain(&self.roles.ignore).map(String::as_str).collect();
        let told: HashSet<&str> = self.roles.inputs.iter().flat_map(Input::columns).collect();
        let free = |j: usize| {
            let name = self.header[j].as_str();
            !of_model.contains(name) && !told.contains(name) && !taken.contains(&j)
        };
        let mut found = Found { places: vec![], features: vec![], inputs: vec![], roles: Roles::default() };
        let (inputs, numbers) = self.inputs()?;
        let is_input = |j: usize| inputs.iter().any(|(sources, _)| sources.contains(&Source::Column(j)));
        for &role in wanted {
            let named = self.roles.get(role).filter(|name| self.model.is_none() || self.header.contains(name));
            let column = match named {
                Some(name) => Some(self.column(name, role.option())?),
                // the usual name is found in small and in large letters if no feature of a model has it
                None => role.names().iter().find_map(|name| {
                    self.header.iter().position(|h| h.eq_ignore_ascii_case(name)).filter(|&j| free(j))
                }),
            };
            let Some(column) = column else { continue };
            if let Some((other, _)) = found.places.iter().find(|(_, place)| *place == column) {
                if named.is_none() {
                    continue; // another role has it by name
                }
                return Err(Error::Content {
                    path: self.path.into(),
                    expected: "one meaning of a column".into(),
                    found: format!("{:?} as {} and as {}", short(&self.header[column]), other.option(), role.option()),
                });
            }
            found.places.push((role, column));
            if !self.header[column].eq_ignore_ascii_case(role.names()[0]) {
                found.roles.put(role, self.header[column].clone());
            }
        }
        let mut ignored = vec![];
        for name in &self.roles.ignore {
            match self.header.iter().position(|h| h == name) {
                None if self.model.is_some() => {}
                _ => ignored.push(self.column(name, "ignore")?),
            }
        }
        let is_role = |j: usize| found.places.iter().any(|(_, column)| *column == j) || taken.contains(&j);
        found.features = match &self.roles.features {
            Some(names) => {
                let columns = names.iter().map(|name| self.column(name, "features")).collect::<Result<Vec<usize>>>()?;
                let more: Vec<usize> = numbers.iter().filter(|j| !columns.contains(j)).copied().collect();
                let columns = [columns, more].concat();
                match columns.iter().find(|&&j| is_role(j) || is_input(j)) {
                    None => columns,
                    Some(&j) => {
                        return Err(Error::Content {
                            path: self.path.into(),
                            expected: "one meaning of a column".into(),
                            found: format!("{:?} as a feature and as something else", short(&self.header[j])),
                        });
                    }
                }
            }
            None => (0..self.header.len()).filter(|&j| !is_role(j) && !is_input(j) && !ignored.contains(&j)).collect(),
        };
        found.roles.ignore.clone_from(&self.roles.ignore);
        found.roles.features.clone_from(&self.roles.features);
        found.roles.inputs.clone_from(&self.roles.inputs);
        let taken =
            |(sources, _): &&Placed| sources.iter().any(|source| matches!(source, Source::Column(j) if is_role(*j)));
        if let Some((_, input)) = inputs.iter().find(taken) {
            return Err(self.twice(&input.column, &format!("as {} and as something else", input.kind.name())));
        }
        found.inputs = inputs;
        Ok(found)
    }

    /// Where the cells of inputs stand, and the columns that are said to be numbers.
    fn inputs(&self) -> Result<(Vec<Placed>, Vec<usize>)> {
        let (mut inputs, mut numbers): (Vec<Placed>, Vec<usize>) = (vec![], vec![]);
        for input in &self.roles.inputs {
            let mut sources = vec![];
            for (k, name) in input.columns().into_iter().enumerate() {
                match input.files.get(k) {
                    None => sources.push(Source::Column(self.column(name, "input")?)),
                    Some(_) if self.header.iter().any(|own| own == name) => {
                        return Err(self.twice(name, "as a column and as a file"));
                    }
                    Some(_) => sources.push(Source::File(k)),
                }
            }
            let again = inputs.iter().any(|(own, other)| *own == sources && other.column == input.column);
            match (input.kind, &sources[..]) {
                _ if again => return Err(self.twice(&input.column, "as an input twice")),
                (_, &[Source::Column(j)]) if numbers.contains(&j) => {
                    return Err(self.twice(&input.column, "as an input twice"));
                }
                (Kind::Number, &[Source::Column(j)]) if !inputs.iter().any(|(own, _)| own.contains(&sources[0])) => {
                    numbers.push(j);
                }
                (Kind::Number, _) => return Err(self.twice(&input.column, "as an input twice")),
                _ => inputs.push((sources, input.clone())),
            }
        }
        Ok((inputs, numbers))
    }

    /// The refusal of a column with two meanings.
    #[cold]
    fn twice(&self, name: &str, found: &str) -> Error {
        let found = format!("{:?} {found}", short(name));
        Error::Content { path: self.path.into(), expected: "one meaning of a column".into(), found }
    }
}

/// Some names of a header, for a message.
pub(in crate::data) fn shown(header: &[String]) -> String {
    match header.iter().all(String::is_empty) {
        true => "an empty line, or nothing".into(),
        false => format!("{:?}", short(&header.iter().take(8).map(String::as_str).collect::<Vec<_>>().join(","))),
    }
}

/// The way out of a column that is no feature.
pub(in crate::data) fn leave_out(name: &str) -> Way {
    Way::new("ignore", [short(name)], "leaves the column out")
}
