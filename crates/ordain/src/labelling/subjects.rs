//! What answers are about: labels of items, and edges of problems.

use super::Subject;
use crate::data::{LabelSet, MatchSet};
use crate::error::{Error, Result};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// Things that people can be asked about, by name in a file of answers.
pub trait Subjects {
    /// The task, as the first line of a file names it.
    const TASK: &'static str;
    /// An answer, as an example for messages.
    const EXAMPLE: &'static str;
    /// What the answers are about: the first line of a file, beside the task.
    fn head(&self) -> Map<String, Value>;
    /// What a first line says that does not fit.
    fn differs(&self, head: &Value) -> Option<&'static str>;
    /// Whether names say what is meant, whatever file they stand in; else answers belong to one set alone.
    fn by_name(&self) -> bool;
    /// The number of units.
    fn units(&self) -> usize;
    /// The subject of a line; `None` if the line names none.
    ///
    /// # Errors
    ///
    /// What was found in place of one that is known.
    fn find(&self, line: &Value) -> std::result::Result<Option<Subject>, String>;
    /// The names of a subject, under the keys of a line.
    fn names(&self, subject: Subject) -> Map<String, Value>;
}

/// The first line of a file whose fields have to be there, and be equal.
fn unlike(head: &Value, own: &Map<String, Value>, fields: &[&'static str]) -> Option<&'static str> {
    fields.iter().copied().find(|&field| head.get(field) != own.get(field))
}

/// Whether labels apply to items.
pub struct LabelQuestions<'a> {
    set: &'a LabelSet,
    items: HashMap<String, u32>,
    labels: HashMap<&'a str, u32>,
    head: Map<String, Value>,
}

impl<'a> LabelQuestions<'a> {
    /// Questions about the items of a set.
    ///
    /// # Errors
    ///
    /// [`Error::Data`] if two items have the same id.
    pub fn new(set: &'a LabelSet) -> Result<Self> {
        let mut items = HashMap::new();
        for i in 0..set.len() {
            if items.insert(set.item(i).into_owned(), i as u32).is_some() {
                return Err(Error::Data {
                    expected: "items with different ids, so that answers can be told apart".into(),
                    found: format!("two items {:?}", set.item(i)),
                });
            }
        }
        let head = Map::from_iter([
            ("data".into(), set.items_digest().into()),
            ("model".into(), set.labels_digest().into()),
            ("items".into(), set.len().into()),
        ]);
        let labels = set.labels.iter().map(String::as_str).zip(0..).collect();
        Ok(Self { set, items, labels, head })
    }
}

impl Subjects for LabelQuestions<'_> {
    const TASK: &'static str = "annotate";
    const EXAMPLE: &'static str = r#"{"item":"7","label":"sea","answer":true}"#;

    fn head(&self) -> Map<String, Value> {
        self.head.clone()
    }

    fn differs(&self, head: &Value) -> Option<&'static str> {
        match unlike(head, &self.head, &["model", "data", "items"])? {
            "model" => Some("answers on the labels of another model"),
            _ => Some("answers on other items"),
        }
    }

    fn by_name(&self) -> bool {
        self.set.has_items()
    }

    fn units(&self) -> usize {
        self.set.len()
    }

    fn find(&self, line: &Value) -> std::result::Result<Option<Subject>, String> {
        let (Some(item), Some(label)) = (line["item"].as_str(), line["label"].as_str()) else { return Ok(None) };
        let Some(&unit) = self.items.get(item) else { return Err(format!("no item {item:?}")) };
        match self.labels.get(label) {
            Some(&thing) => Ok(Some(Subject { unit, thing })),
            None => Err(Error::unknown("label", label, &self.set.labels).to_string()),
        }
    }

    fn names(&self, subject: Subject) -> Map<String, Value> {
        Map::from_iter([
            ("item".into(), self.set.item(subject.unit as usize).into()),
            ("label".into(), self.set.labels[subject.thing as usize].clone().into()),
        ])
    }
}

/// Whether two items of a problem belong together.
pub struct MatchQuestions<'a> {
    set: &'a MatchSet,
    problems: HashMap<&'a str, u32>,
    head: Map<String, Value>,
}

impl<'a> MatchQuestions<'a> {
    /// Questions about the edges of a set.
    ///
    /// # Errors
    ///
    /// [`Error::Data`] if two problems have the same id.
    pub fn new(set: &'a MatchSet) -> Result<Self> {
        let mut problems = HashMap::new();
        for (problem, p) in set.problems().iter().zip(0..) {
            if problems.insert(problem.name.as_str(), p).is_some() {
                return Err(Error::Data {
                    expected: "problems with different ids, so that answers can be told apart".into(),
                    found: format!("two problems {:?}", problem.name),
                });
            }
        }
        let head = Map::from_iter([
            ("data".into(), set.edges_digest().into()),
            ("problems".into(), set.len().into()),
            ("edges".into(), set.edges().into()),
        ]);
        Ok(Self { set, problems, head })
    }
}

impl Subjects for MatchQuestions<'_> {
    const TASK: &'static str = "match";
    const EXAMPLE: &'static str = r#"{"problem":"p","left":"a1","right":"b1","answer":true}"#;

    fn head(&self) -> Map<String, Value> {
        self.head.clone()
    }

    fn differs(&self, head: &Value) -> Option<&'static str> {
        unlike(head, &self.head, &["data", "problems", "edges"]).map(|_| "answers on other edges")
    }

    fn by_name(&self) -> bool {
        true
    }

    fn units(&self) -> usize {
        self.set.len()
    }

    fn find(&self, line: &Value) -> std::result::Result<Option<Subject>, String> {
        let text = |name: &str| line[name].as_str();
        let (Some(problem), Some(left), Some(right)) = (text("problem"), text("left"), text("right")) else {
            return Ok(None);
        };
        let Some(&unit) = self.problems.get(problem) else { return Err(format!("no problem {problem:?}")) };
        let own = self.set.problem(unit as usize);
        let (i, j) = (own.find_left(left), own.find_right(right));
        let (i, j) = (i.map_err(|error| error.to_string())?, j.map_err(|error| error.to_string())?);
        match own.find_edge(i, j) {
            Some(edge) => Ok(Some(Subject { unit, thing: edge as u32 })),
            None => Err(format!("no edge {left:?} - {right:?} of problem {problem:?}")),
        }
    }

    fn names(&self, subject: Subject) -> Map<String, Value> {
        let problem = self.set.problem(subject.unit as usize);
        let (i, j) = problem.edges[subject.thing as usize];
        Map::from_iter([
            ("problem".into(), problem.name.clone().into()),
            ("left".into(), problem.left[i as usize].clone().into()),
            ("right".into(), problem.right[j as usize].clone().into()),
        ])
    }
}
