//! What answers are about: labels of items, edges of problems, and documents of queries.

use super::Subject;
use crate::data::{LabelSet, MatchSet, RankSet};
use crate::error::{Error, Result};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// Things that people can be asked about, by name in a file of answers.
pub trait Subjects {
    /// The task, as the first line of a file names it.
    const TASK: &'static str;
    /// An answer, as an example for messages.
    const EXAMPLE: &'static str;
    /// The best grade, where answers are grades.
    const BEST: Option<u8> = None;
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

/// How relevant documents are.
pub struct RankQuestions<'a> {
    set: &'a RankSet,
    queries: HashMap<&'a str, u32>,
    /// The number of each document within its query.
    documents: Vec<HashMap<String, u32>>,
    head: Map<String, Value>,
}

impl<'a> RankQuestions<'a> {
    /// Questions about the documents of a set.
    ///
    /// # Errors
    ///
    /// [`Error::Data`] if two queries have the same id, or two documents of one query.
    pub fn new(set: &'a RankSet) -> Result<Self> {
        let twice = |what: &str, found: String| Error::Data {
            expected: format!("{what} with different ids, so that answers can be told apart"),
            found,
        };
        let (mut queries, mut documents) = (HashMap::new(), vec![]);
        for q in 0..set.len() {
            if queries.insert(set.query(q), q as u32).is_some() {
                return Err(twice("queries", format!("two queries {:?}", set.query(q))));
            }
            let mut own = HashMap::new();
            for (row, number) in set.span(q).zip(0..) {
                if own.insert(set.document(row).into_owned(), number).is_some() {
                    let found = format!("two documents {:?} of query {:?}", set.document(row), set.query(q));
                    return Err(twice("documents", found));
                }
            }
            documents.push(own);
        }
        let head = Map::from_iter([
            ("data".into(), set.documents_digest().into()),
            ("queries".into(), set.len().into()),
            ("documents".into(), set.rows().into()),
        ]);
        Ok(Self { set, queries, documents, head })
    }
}

impl Subjects for RankQuestions<'_> {
    const TASK: &'static str = "rank";
    const EXAMPLE: &'static str = r#"{"query":"q","doc":"d1","grade":3}"#;
    const BEST: Option<u8> = Some(9);

    fn head(&self) -> Map<String, Value> {
        self.head.clone()
    }

    fn differs(&self, head: &Value) -> Option<&'static str> {
        unlike(head, &self.head, &["data", "queries", "documents"]).map(|_| "answers on other documents")
    }

    fn by_name(&self) -> bool {
        self.set.has_documents()
    }

    fn units(&self) -> usize {
        self.set.len()
    }

    fn find(&self, line: &Value) -> std::result::Result<Option<Subject>, String> {
        let (Some(query), Some(doc)) = (line["query"].as_str(), line["doc"].as_str()) else { return Ok(None) };
        let Some(&unit) = self.queries.get(query) else { return Err(format!("no query {query:?}")) };
        match self.documents[unit as usize].get(doc) {
            Some(&thing) => Ok(Some(Subject { unit, thing })),
            None => Err(format!("no document {doc:?} of query {query:?}")),
        }
    }

    fn names(&self, subject: Subject) -> Map<String, Value> {
        let row = self.set.span(subject.unit as usize).start + subject.thing as usize;
        Map::from_iter([
            ("query".into(), self.set.query(subject.unit as usize).into()),
            ("doc".into(), self.set.document(row).into()),
        ])
    }
}
