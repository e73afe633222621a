//! Documents of queries.

use super::data::Data;
use super::learn::{Learned, Told, learned};
use super::show::Shown;
use super::writer::Writer;
use super::{How, Page, State};
use crate::Labelled;
use crate::metrics::Metrics;
use crate::models::Loaded;
use crate::problem::{Problem, Result};
use ordain::answer::{BEST_GRADE, asked_query};
use ordain::data::RankReading;
use ordain::labelling::{Answer, graded, grades};
use ordain::method::Rank;
use ordain::model_file::AnyModel;
use ordain::solver::run::Watch;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The best grade where the data have none.
const USUAL: u8 = 4;

struct Ranks {
    data: Data<Rank>,
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
    let model = &loaded.known::<Rank>()?.model;
    let inputs = &model.inputs;
    let reading = RankReading {
        missing: inputs.missing,
        roles: inputs.columns.roles.clone(),
        model: Some(inputs.given().to_vec()),
        ..RankReading::default()
    };
    let (data, writer, half) = Data::<Rank>::open(given, loaded, &reading, metrics)?;
    let best = (1..=BEST_GRADE).rev().find(|&grade| data.set.grades.iter().any(|own| *own >= grade.into()));
    let ranks = Ranks {
        shown: Shown::read(given, inputs, &data.scored().on.raw().features)?,
        // in the order of the data
        doubts: vec![0.0; data.set.len()],
        best: best.unwrap_or(USUAL),
        data,
    };
    Ok((Arc::new(ranks), writer, half))
}

impl Page for Ranks {
    fn task(&self) -> &'static str {
        "rank"
    }

    fn version(&self) -> String {
        self.data.version()
    }

    fn take_over(&self, loaded: &Arc<Loaded>) -> ordain::Result<()> {
        self.data.take_over(loaded)
    }

    fn units(&self) -> usize {
        self.data.set.len()
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
        Ok(self.data.set.find_query(name)?)
    }

    fn name(&self, unit: usize) -> String {
        self.data.set.query(unit).to_owned()
    }

    fn unit(&self) -> &'static str {
        "query"
    }

    fn text(&self, _: usize) -> Option<&str> {
        None
    }

    fn pictures(&self) -> Vec<&str> {
        self.shown.pictures().collect()
    }

    fn thing(&self, unit: usize, body: &Map<String, Value>) -> Result<u32> {
        let doc = body.get("doc").and_then(Value::as_str);
        let doc = doc.ok_or_else(|| Problem::unfit("expected \"doc\", the id of a document"))?;
        Ok((self.data.set.find_document(unit, doc)? - self.data.set.span(unit).start) as u32)
    }

    fn names(&self, unit: usize, thing: u32) -> Map<String, Value> {
        let row = self.data.set.span(unit).start + thing as usize;
        Map::from_iter([("doc".into(), self.data.set.document(row).into())])
    }

    fn doubts(&self) -> &[f64] {
        &self.doubts
    }

    fn state(&self, unit: usize, answers: &[Answer], how: &How) -> Result<State> {
        let scored = self.data.scored();
        let model = &scored.fitted()?.model;
        let said: Vec<(u32, Option<u8>)> = answers.iter().map(|answer| (answer.subject.thing, answer.grade)).collect();
        let mut asked = asked_query(model, &scored.on, unit, &said, self.best)?;
        let record = asked.question.as_ref().map(|question| (question.number, Map::new()));
        if how.blind {
            // the places of the model are not to be seen: open documents stand in the order of the data
            asked.question.iter_mut().for_each(|question| question.why.clear());
            asked.list.sort_by_key(|doc| (std::cmp::Reverse(doc.grade), doc.number));
        }
        let (raw, start) = (scored.on.raw(), self.data.set.span(unit).start);
        let list: Vec<Value> = (asked.list.iter())
            .map(|doc| {
                let row = start + doc.number as usize;
                let (score, rank) = if how.blind { (None, None) } else { (Some(doc.score), Some(doc.rank)) };
                json!({
                    "id": doc.id, "score": score, "rank": rank, "grade": doc.grade,
                    "show": self.shown.row(&raw.features, &raw.columns, row, self.data.set.input_row(row)),
                })
            })
            .collect();
        let document = json!({
            "query": {"id": self.data.set.query(unit)},
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

    /// Documents that somebody graded, in queries with two of them or more; of several grades the middle one, the lesser of two.
    fn learn(
        &self,
        served: &Loaded,
        twin: Option<&AnyModel>,
        standing: &[(Answer, Option<String>)],
        watch: &Watch,
    ) -> ordain::Result<Option<Learned>> {
        let said = standing.iter().filter_map(|(answer, _)| Some((answer.subject, answer.grade?)));
        let (own, rows) = (self.data.set.len(), self.data.set.rows());
        // the grades of the items are not looked at, those of the data that teach are known
        let (set, known) = graded(self.data.teaches(), &grades(said), |row| row >= rows);
        let told =
            Told::<Rank> { units: (0..).zip(known).collect(), set, answered: &|unit| unit < own, metric: "ndcg@10" };
        learned(served, twin, told, watch)
    }

    fn search(&self, _: &str, _: usize) -> (Vec<u32>, usize) {
        (vec![], 0)
    }

    fn label(&self, _: u32) -> &str {
        ""
    }
}
