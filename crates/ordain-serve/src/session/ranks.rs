//! Documents of queries.

use super::show::Shown;
use super::writer::Writer;
use super::{How, Page, State};
use crate::Labelled;
use crate::metrics::Metrics;
use crate::models::Loaded;
use crate::problem::{Problem, Result};
use ordain::answer::{BEST_GRADE, asked_query};
use ordain::data::{RankReading, RankSet};
use ordain::labelling::Answer;
use ordain::method::Rank;
use ordain::model_file::AnyModel;
use ordain::task::{Fitted, Model as _, Ready, Task as _};
use serde_json::{Map, Value, json};
use std::sync::{Arc, PoisonError, RwLock};

/// The best grade where the data have none.
const USUAL: u8 = 4;

/// A model and the queries as it reads them.
struct Scored {
    loaded: Arc<Loaded>,
    on: Ready<'static, Rank>,
}

struct Ranks {
    scored: RwLock<Arc<Scored>>,
    /// The queries as they were read, for the next model.
    given: RankSet,
    /// The queries that answers are about.
    set: Arc<RankSet>,
    best: u8,
    doubts: Vec<f64>,
    shown: Shown,
}

/// Reads the queries, and opens the answers.
pub(super) fn open(
    given: &Labelled,
    loaded: &Arc<Loaded>,
    metrics: &Arc<Metrics>,
) -> ordain::Result<(Arc<dyn Page>, Writer, bool)> {
    let model = &ranker(loaded)?.model;
    let inputs = &model.inputs;
    let reading = RankReading {
        missing: inputs.missing,
        roles: inputs.columns.roles.clone(),
        model: Some(inputs.given().to_vec()),
        ..RankReading::default()
    };
    let (read, _) = Rank::read(&[vec![given.items.clone()]], &reading)?;
    let on = model.prepare_owned(read.clone())?;
    let set = Arc::new(on.set().clone());
    let (writer, half) = Writer::start(set.clone(), given.answers.clone(), metrics.clone())?;
    let best = (1..=BEST_GRADE).rev().find(|&grade| set.grades.iter().any(|own| *own >= grade.into()));
    let ranks = Ranks {
        shown: Shown::read(&given.items, &inputs.columns, &given.show, &on.raw().features)?,
        // in the order of the data
        doubts: vec![0.0; set.len()],
        best: best.unwrap_or(USUAL),
        given: read,
        set,
        scored: RwLock::new(Arc::new(Scored { loaded: loaded.clone(), on })),
    };
    Ok((Arc::new(ranks), writer, half))
}

fn ranker(loaded: &Loaded) -> ordain::Result<&Fitted<Rank>> {
    match &loaded.model {
        AnyModel::Rank(fitted) => Ok(fitted),
        _ => Err(ordain::Error::Data {
            expected: "a model that ranks".into(),
            found: format!("one of the task {}", loaded.task()),
        }),
    }
}

impl Ranks {
    fn scored(&self) -> Arc<Scored> {
        self.scored.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Page for Ranks {
    fn task(&self) -> &'static str {
        "rank"
    }

    fn version(&self) -> String {
        self.scored().loaded.full()
    }

    fn take_over(&self, loaded: &Arc<Loaded>) -> ordain::Result<()> {
        let on = ranker(loaded)?.model.prepare_owned(self.given.clone())?;
        let new = Arc::new(Scored { loaded: loaded.clone(), on });
        *self.scored.write().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(())
    }

    fn units(&self) -> usize {
        self.set.len()
    }

    fn labels(&self) -> Option<usize> {
        None
    }

    fn grades(&self) -> Option<u8> {
        Some(self.best)
    }

    fn strategy(&self) -> (&'static str, Option<String>) {
        ("order", None)
    }

    fn find(&self, name: &str) -> Result<usize> {
        Ok(self.set.find_query(name)?)
    }

    fn name(&self, unit: usize) -> String {
        self.set.query(unit).to_owned()
    }

    fn unit(&self) -> &'static str {
        "query"
    }

    fn text(&self, _: usize) -> Option<&str> {
        None
    }

    fn thing(&self, unit: usize, body: &Map<String, Value>) -> Result<u32> {
        let doc = body.get("doc").and_then(Value::as_str);
        let doc = doc.ok_or_else(|| Problem::unfit("expected \"doc\", the id of a document"))?;
        Ok((self.set.find_document(unit, doc)? - self.set.span(unit).start) as u32)
    }

    fn names(&self, unit: usize, thing: u32) -> Map<String, Value> {
        let row = self.set.span(unit).start + thing as usize;
        Map::from_iter([("doc".into(), self.set.document(row).into())])
    }

    fn doubts(&self) -> &[f64] {
        &self.doubts
    }

    fn state(&self, unit: usize, answers: &[Answer], how: &How) -> Result<State> {
        let scored = self.scored();
        let model = &ranker(&scored.loaded)?.model;
        let said: Vec<(u32, Option<u8>)> = answers.iter().map(|answer| (answer.subject.thing, answer.grade)).collect();
        let mut asked = asked_query(model, &scored.on, unit, &said, self.best)?;
        let record = asked.question.as_ref().map(|question| (question.number, Map::new()));
        if how.blind {
            // the places of the model are not to be seen: open documents stand in the order of the data
            asked.question.iter_mut().for_each(|question| question.why.clear());
            asked.list.sort_by_key(|doc| (std::cmp::Reverse(doc.grade), doc.number));
        }
        let (raw, start) = (scored.on.raw(), self.set.span(unit).start);
        let list: Vec<Value> = (asked.list.iter())
            .map(|doc| {
                let row = start + doc.number as usize;
                let (score, rank) = if how.blind { (None, None) } else { (Some(doc.score), Some(doc.rank)) };
                json!({
                    "id": doc.id, "score": score, "rank": rank, "grade": doc.grade,
                    "show": self.shown.row(&raw.features, &raw.columns, row, self.set.input_row(row)),
                })
            })
            .collect();
        let document = json!({
            "query": {"id": self.set.query(unit)},
            "need": null,
            "list": list,
            "question": asked.question,
            "metric": if how.blind { None } else { Some(asked.metric) },
            "expected_precision": null,
            "stop": asked.stop,
        });
        let Value::Object(document) = document else { return Err(Problem::bad("no document")) };
        Ok(State { document, question: record, precision: None })
    }

    fn search(&self, _: &str, _: usize) -> (Vec<u32>, usize) {
        (vec![], 0)
    }

    fn label(&self, _: u32) -> &str {
        ""
    }
}
