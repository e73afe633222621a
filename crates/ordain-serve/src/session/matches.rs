//! Pairs of problems.

use super::writer::Writer;
use super::{How, Page, State};
use crate::Labelled;
use crate::metrics::Metrics;
use crate::models::Loaded;
use crate::problem::{Problem, Result};
use ordain::answer::{AskedProblem, PairFeature, asked_problem};
use ordain::ask::pair_doubts;
use ordain::data::{Columns, MatchReading, MatchSet, PointFeature, Role, texts};
use ordain::labelling::Answer;
use ordain::method::Match;
use ordain::model_file::AnyModel;
use ordain::task::{Fitted, Model as _, Ready, Task as _};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

/// A model and the problems as it reads them.
struct Scored {
    loaded: Arc<Loaded>,
    on: Ready<'static, Match>,
}

struct Matches {
    scored: RwLock<Arc<Scored>>,
    /// The problems as they were read, for the next model.
    given: MatchSet,
    /// The problems that answers are about.
    set: Arc<MatchSet>,
    doubts: Vec<f64>,
    records: Records,
}

/// Reads the problems, and opens the answers.
pub(super) fn open(
    given: &Labelled,
    loaded: &Arc<Loaded>,
    metrics: &Arc<Metrics>,
) -> ordain::Result<(Arc<dyn Page>, Writer, bool)> {
    let model = &matcher(loaded)?.model;
    let inputs = &model.inputs;
    let reading = MatchReading {
        missing: inputs.missing,
        features: PointFeature::of_columns(&inputs.columns).unwrap_or_default(),
        roles: inputs.columns.roles.clone(),
        model: Some(inputs.given().to_vec()),
        ..MatchReading::default()
    };
    let (read, _) = Match::read(&[vec![given.items.clone()]], &reading)?;
    let on = model.prepare_owned(read.clone())?;
    let set = Arc::new(on.set().clone());
    let (writer, half) = Writer::start(set.clone(), given.answers.clone(), metrics.clone())?;
    let matches = Matches {
        doubts: pair_doubts(model, &on)?,
        records: Records::read(&given.items, &model.inputs.columns, &given.show)?,
        given: read,
        set,
        scored: RwLock::new(Arc::new(Scored { loaded: loaded.clone(), on })),
    };
    Ok((Arc::new(matches), writer, half))
}

fn matcher(loaded: &Loaded) -> ordain::Result<&Fitted<Match>> {
    match &loaded.model {
        AnyModel::Match(fitted) => Ok(fitted),
        _ => Err(ordain::Error::Data {
            expected: "a model that matches".into(),
            found: format!("one of the task {}", loaded.task()),
        }),
    }
}

/// Columns of the table that are shown: those of both items side by side, and others.
struct Records {
    /// The name of a field, with the places of its left and its right column; the same place twice for a column of the pair.
    fields: Vec<(String, usize, usize)>,
    /// Texts by problem, left and right.
    texts: HashMap<Vec<String>, Vec<String>>,
}

/// The name of a column without its side, and which side it is of.
fn side(name: &str) -> Option<(String, bool)> {
    let words: Vec<&str> = name.split(['_', '.', ' ', '-']).collect();
    let at = words.iter().position(|word| ["left", "right"].contains(&word.to_ascii_lowercase().as_str()))?;
    let rest: Vec<&str> = words.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, word)| *word).collect();
    Some((rest.join(" "), words[at].eq_ignore_ascii_case("right")))
}

impl Records {
    fn read(path: &Path, columns: &Columns, show: &[String]) -> ordain::Result<Self> {
        let mut fields: Vec<(String, usize, usize)> = vec![];
        for (place, name) in show.iter().enumerate() {
            let Some((field, right)) = side(name) else {
                fields.push((name.clone(), place, place));
                continue;
            };
            let other = |own: &str| side(own) == Some((field.clone(), !right));
            match show.iter().position(|own| other(own)) {
                Some(right_place) if !right => fields.push((field, place, right_place)),
                Some(_) => {}
                None => fields.push((name.clone(), place, place)),
            }
        }
        let mut own = HashMap::new();
        if !show.is_empty() {
            let keys = [Role::Problem, Role::Left, Role::Right];
            for mut row in texts(path, &columns.roles, &keys, show)? {
                let cells = row.split_off(keys.len());
                own.insert(row, cells);
            }
        }
        Ok(Self { fields, texts: own })
    }

    /// Both records, and the comparison: fields with the feature that is named after them, then the other features.
    fn compare(&self, key: [&str; 3], features: &[PairFeature], blind: bool) -> Value {
        let said = |feature: &PairFeature| if blind { None } else { feature.contribution };
        let cells = self.texts.get(key.map(str::to_owned).as_slice());
        let (mut left, mut right, mut rows) = (Map::new(), Map::new(), vec![]);
        let mut used = vec![false; features.len()];
        for (name, i, j) in &self.fields {
            let cell = |at: usize| cells.map(|cells| cells[at].trim()).filter(|text| !text.is_empty());
            if i == j {
                rows.push(json!({"field": null, "feature": name, "value": cell(*i), "contribution": null}));
                continue;
            }
            left.insert(name.clone(), cell(*i).into());
            right.insert(name.clone(), cell(*j).into());
            let words = |text: &str| -> Vec<String> {
                text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase).collect()
            };
            let wanted = words(name);
            let own =
                features.iter().position(|feature| wanted.iter().all(|word| words(&feature.feature).contains(word)));
            own.into_iter().for_each(|at| used[at] = true);
            let feature = own.map(|at| &features[at]);
            rows.push(json!({
                "field": name, "left": cell(*i), "right": cell(*j), "same": cell(*i).is_some() && cell(*i) == cell(*j),
                "feature": feature.map(|own| &own.feature), "value": feature.map(|own| own.value),
                "contribution": feature.and_then(said),
            }));
        }
        let rest = features.iter().zip(&used).filter(|(_, used)| !**used).map(|(feature, _)| {
            json!({
                "field": null, "feature": feature.feature, "value": feature.value, "contribution": said(feature),
            })
        });
        rows.extend(rest);
        json!({"left": {"id": key[1], "fields": left}, "right": {"id": key[2], "fields": right}, "compare": rows})
    }
}

impl Matches {
    fn scored(&self) -> Arc<Scored> {
        self.scored.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Page for Matches {
    fn task(&self) -> &'static str {
        "match"
    }

    fn version(&self) -> String {
        self.scored().loaded.full()
    }

    fn take_over(&self, loaded: &Arc<Loaded>) -> ordain::Result<()> {
        let on = matcher(loaded)?.model.prepare_owned(self.given.clone())?;
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

    fn strategy(&self) -> (&'static str, Option<String>) {
        ("doubt", None)
    }

    fn find(&self, name: &str) -> Result<usize> {
        Ok(self.set.find_problem(name)?)
    }

    fn name(&self, unit: usize) -> String {
        self.set.problem(unit).name.clone()
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
        let problem = self.set.problem(unit);
        let edge = problem.find_edge(problem.find_left(left)?, problem.find_right(right)?);
        let none = || Problem::unfit(format!("expected two items that can be matched, found {left:?} and {right:?}"));
        Ok(edge.ok_or_else(none)? as u32)
    }

    fn names(&self, unit: usize, thing: u32) -> Map<String, Value> {
        let problem = self.set.problem(unit);
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
        let scored = self.scored();
        let model = &matcher(&scored.loaded)?.model;
        let said: Vec<(u32, Option<bool>)> = answers.iter().map(|answer| (answer.subject.thing, answer.yes)).collect();
        let mut asked = asked_problem(model, &scored.on, unit, &said, how.wanted)?;
        let pair = asked.question.as_ref().map(|question| {
            let (left, right) = (&question.pair.left, question.pair.right.as_deref().unwrap_or_default());
            self.records.compare([&self.set.problem(unit).name, left, right], &asked.features, how.blind)
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
