//! Pairs of problems.

use super::data::Data;
use super::learn::{Learned, Told, learned, majority};
use super::records::Compared;
use super::writer::Writer;
use super::{How, Page, State};
use crate::Labelled;
use crate::metrics::Metrics;
use crate::models::Loaded;
use crate::problem::{Problem, Result};
use ordain::answer::{AskedProblem, asked_problem};
use ordain::ask::pair_doubts;
use ordain::data::{MatchReading, PointFeature, Truth};
use ordain::labelling::{Answer, matched};
use ordain::method::Match;
use ordain::model_file::AnyModel;
use ordain::solver::run::Watch;
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::sync::Arc;

struct Matches {
    data: Data<Match>,
    doubts: Vec<f64>,
    records: Compared,
}

/// Reads the problems, and opens the answers.
pub(super) fn open(
    given: &Labelled,
    loaded: &Arc<Loaded>,
    metrics: &Arc<Metrics>,
) -> ordain::Result<(Arc<dyn Page>, Writer, bool)> {
    let model = &loaded.known::<Match>()?.model;
    let inputs = &model.inputs;
    let reading = MatchReading {
        missing: inputs.missing,
        features: PointFeature::of_columns(&inputs.columns).unwrap_or_default(),
        roles: inputs.columns.roles.clone(),
        model: Some(inputs.given().to_vec()),
        ..MatchReading::default()
    };
    let (data, writer, half) = Data::<Match>::open(given, loaded, &reading, metrics)?;
    let matches = Matches {
        doubts: pair_doubts(model, &data.scored().on)?,
        records: Compared::read(given, &model.inputs)?,
        data,
    };
    Ok((Arc::new(matches), writer, half))
}

impl Page for Matches {
    fn task(&self) -> &'static str {
        "match"
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

    fn strategy(&self) -> (&'static str, Option<String>) {
        ("doubt", None)
    }

    fn find(&self, name: &str) -> Result<usize> {
        Ok(self.data.set.find_problem(name)?)
    }

    fn name(&self, unit: usize) -> String {
        self.data.set.problem(unit).name.clone()
    }

    fn unit(&self) -> &'static str {
        "problem"
    }

    fn text(&self, _: usize) -> Option<&str> {
        None
    }

    fn thing(&self, unit: usize, body: &Map<String, Value>) -> Result<u32> {
        let text = |name: &str| body.get(name).and_then(Value::as_str);
        let (Some(left), Some(right)) = (text("left"), text("right")) else {
            return Err(Problem::unfit("expected \"left\" and \"right\", the ids of two items"));
        };
        let problem = self.data.set.problem(unit);
        let edge = problem.find_edge(problem.find_left(left)?, problem.find_right(right)?);
        let none = || Problem::unfit(format!("expected two items that can be matched, found {left:?} and {right:?}"));
        Ok(edge.ok_or_else(none)? as u32)
    }

    fn names(&self, unit: usize, thing: u32) -> Map<String, Value> {
        let problem = self.data.set.problem(unit);
        let (i, j) = problem.edges[thing as usize];
        Map::from_iter([
            ("left".into(), problem.left[i as usize].clone().into()),
            ("right".into(), problem.right[j as usize].clone().into()),
        ])
    }

    fn doubts(&self) -> &[f64] {
        &self.doubts
    }

    fn state(&self, unit: usize, answers: &[Answer], how: &How) -> Result<State> {
        let scored = self.data.scored();
        let model = &scored.fitted()?.model;
        let said: Vec<(u32, Option<bool>)> = answers.iter().map(|answer| (answer.subject.thing, answer.yes)).collect();
        let mut asked = asked_problem(model, &scored.on, unit, &said, how.wanted)?;
        let pair = asked.question.as_ref().map(|question| {
            let (left, right) = (&question.pair.left, question.pair.right.as_deref().unwrap_or_default());
            self.records.compare([&self.data.set.problem(unit).name, left, right], &asked.features, how.blind)
        });
        let record = asked.question.as_ref().map(|question| {
            let value = question.probability.or(question.margin);
            (question.edge, Map::from_iter([("value".into(), value.into())]))
        });
        if how.blind {
            hide(&mut asked);
        }
        let Ok(Value::Object(mut document)) = serde_json::to_value(&asked) else {
            return Err(Problem::bad("no document"));
        };
        document.insert("pair".into(), pair.into());
        Ok(State { document, question: record, precision: None })
    }

    fn learn(
        &self,
        served: &Loaded,
        twin: Option<&AnyModel>,
        standing: &[(Answer, Option<String>)],
        watch: &Watch,
    ) -> ordain::Result<Option<Learned>> {
        let answers = majority(standing);
        let answered: HashSet<usize> = answers.iter().map(|(subject, _)| subject.unit as usize).collect();
        let set = matched(self.data.teaches(), &answers)?;
        let known = (0..set.len()).filter(|&unit| set.problem(unit).truth.iter().any(|truth| *truth != Truth::Unknown));
        let told = Told::<Match> {
            units: known.map(|unit| (unit as u32, unit)).collect(),
            set,
            answered: &|unit| answered.contains(&unit),
            metric: "f1",
        };
        learned(served, twin, told, watch)
    }

    fn search(&self, _: &str, _: usize) -> (Vec<u32>, usize) {
        (vec![], 0)
    }

    fn label(&self, _: u32) -> &str {
        ""
    }
}

/// Leaves out what the model thinks.
fn hide(asked: &mut AskedProblem) {
    if let Some(question) = &mut asked.question {
        (question.probability, question.margin, question.beside) = (None, None, None);
        question.why.clear();
    }
    asked.others.clear();
    asked.matching.retain(|pair| pair.state == "yes");
    asked.matching.iter_mut().for_each(|pair| pair.changed = false);
}
