//! `ordain simulate`.

use super::files;
use crate::args::{Columns, CountArg, Points, Simulate};
use crate::plan::{self, Usage};
use crate::report::questions::{Curve, Page, Point};
use crate::run::evaluate::command_line;
use crate::run::{check_not_input, check_output, followed};
use crate::screen::{Screen, four, table};
use crate::show::Given;
use anyhow::{Context as _, Result};
use ordain::answer::BOOTSTRAP;
use ordain::ask::{self, Replayed, Strategy};
use ordain::data::write_whole;
use ordain::method::Annotate;
use ordain::metric::stats;
use ordain::model_file;
use ordain::solver::run::Watch;
use ordain::task::Fitted;
use serde_json::{Map, Value, json};
use std::path::Path;

/// A model and what its questions gave.
struct Subject {
    name: String,
    method: String,
    all: Vec<Replayed>,
}

pub(in crate::run) fn run(args: &Simulate, screen: &Screen) -> Result<()> {
    let mut questions = plan::question_counts(&args.questions)?;
    let strategies = plan::strategies(&args.strategy)?;
    if args.items == Some(0) {
        return Err(Usage("--items: expected a number above 0".into()).into());
    }
    args.report.as_deref().map(check_output).transpose()?;
    if let Some(path) = &args.report {
        check_not_input(path, [&args.model, &args.data].into_iter().chain(&args.against))?;
    }
    // what is not named may be left out where a model cannot follow it
    let named = args.strategy.join(",") != Strategy::ALL.iter().map(|one| one.name()).collect::<Vec<_>>().join(",");
    super::refuse_missing(&args.reading)?;
    let mut models = vec![];
    for path in [Some(&args.model), args.against.as_ref()].into_iter().flatten() {
        models.push((path, model_file::load::<Annotate>(path)?));
    }
    cap(&mut questions, models.iter().map(|(_, model)| model.model.labels.len()).max().unwrap_or(0), screen);
    let mut subjects = vec![];
    for (m, (path, model)) in models.iter().enumerate() {
        let share = (m as f64 / models.len() as f64, 1.0 / models.len() as f64);
        subjects.push(subject(args, (path, model), (&strategies, named), &questions, share, screen)?);
    }
    let items = subjects[0].all.first().map_or(0, |replayed| replayed.rows.len());
    let result = Outcome { questions: &questions, subjects: &subjects, items, count: count_name(args.count) };
    if let Some(path) = &args.report {
        let html = crate::report::questions::html(&result.page())?;
        write_whole(path, |out| out.write_all(html.as_bytes()))?;
        screen.say(&format!("wrote {}", path.display()));
    }
    if screen.json {
        return screen.answer(&result.document());
    }
    screen.data(&result.text())
}

fn count_name(count: CountArg) -> &'static str {
    if count == CountArg::Oracle { "oracle" } else { "learned" }
}

/// Leaves out questions beyond the number of labels, which nothing is left for.
pub(super) fn cap(questions: &mut Vec<usize>, labels: usize, screen: &Screen) {
    if let Some(&most) = questions.last().filter(|&&most| most > labels) {
        screen.say(&format!("--questions {most}: there are {labels} labels, and no question is left after {labels}"));
        questions.iter_mut().for_each(|q| *q = labels.min(*q));
        questions.dedup();
    }
}

/// The head of a column, as in Table 1 of the paper.
pub(super) fn column(questions: usize) -> String {
    if questions == 0 { "Auto".to_owned() } else { format!("Q{questions}") }
}

/// To one decimal, without a sign before 0.
fn tenths(x: f64) -> String {
    format!("{:.1}", (10.0 * x).round() / 10.0 + 0.0)
}

/// Replays all strategies that a model can follow.
fn subject(
    args: &Simulate,
    (path, model): (&Path, &Fitted<Annotate>),
    (strategies, named): (&[Strategy], bool),
    questions: &[usize],
    (done, share): (f64, f64),
    screen: &Screen,
) -> Result<Subject> {
    let annotator = &model.model;
    if named && let Some(strategy) = strategies.iter().find(|strategy| !strategy.suits(annotator.trainer)) {
        return Err(Usage(format!(
            "{}: --strategy {strategy} needs probabilities, and a model by margin has none: leave it out, or fit with trainer=likelihood",
            path.display()
        ))
        .into());
    }
    let columns = Columns::default();
    let points = Points::default();
    let given = Given { gram: args.gram.as_deref(), ..Given::new(&args.reading, &columns, &points) };
    let ready = files::read_for(model, std::slice::from_ref(&args.data), &given, screen)?;
    let set = ready.set();
    set.need_truth().with_context(|| args.data.display().to_string())?;
    let items = args.items.map_or(set.len(), |most| most.min(set.len()));
    let units: Vec<u32> = (0..items).filter(|&i| ask::replayable(set, i)).map(|i| i as u32).collect();
    if units.is_empty() {
        return Err(ordain::Error::Content {
            path: args.data.clone(),
            expected: "items with at least one label, and without at least one".into(),
            found: format!("none among {items}"),
        }
        .into());
    }
    let (follows, left): (Vec<Strategy>, Vec<Strategy>) = strategies.iter().partition(|s| s.suits(annotator.trainer));
    for strategy in left {
        screen.say(&format!(
            "{}: the strategy {strategy} is left out: it needs probabilities, and a model by margin has none",
            path.display()
        ));
    }
    let most = questions.iter().copied().max().unwrap_or(0).min(set.labels.len());
    let told = args.count == CountArg::Oracle;
    let mut all = vec![];
    for (s, &strategy) in follows.iter().enumerate() {
        all.push(followed(screen, |watch| {
            let part = share / follows.len() as f64;
            let tell = |done_here: f64, what: &str| (watch.tell)(done + part * (s as f64 + done_here), what);
            let watch = Watch { stop: watch.stop, tell: &tell };
            ask::replay_all(annotator, &ready, &units, (strategy, most, told), args.seed, &watch)
        })?);
    }
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Ok(Subject { name, method: model.facts.method.clone(), all })
}

/// What is shown of questions.
trait Shown {
    fn mean(&self, questions: usize) -> f64;
    fn point(&self, questions: usize) -> Point;
    fn questions_to(&self, precision: f64, most: usize) -> Option<f64>;
}

impl Shown for Replayed {
    fn mean(&self, questions: usize) -> f64 {
        stats::mean(&self.at(questions))
    }

    fn point(&self, questions: usize) -> Point {
        let values = self.at(questions);
        let (low, high) = stats::interval(&values, BOOTSTRAP);
        Point { questions, mean: stats::mean(&values), low, high }
    }

    /// Questions to a precision, between whole ones by proportion; none where it is not reached.
    fn questions_to(&self, precision: f64, most: usize) -> Option<f64> {
        let mut before = self.mean(0);
        if before >= precision {
            return Some(0.0);
        }
        for q in 1..=most {
            let here = self.mean(q);
            if here >= precision {
                return Some((q - 1) as f64 + (precision - before) / (here - before));
            }
            before = here;
        }
        None
    }
}

struct Outcome<'a> {
    questions: &'a [usize],
    subjects: &'a [Subject],
    items: usize,
    count: &'static str,
}

/// A strategy of the first model beside one of the second.
struct Pair<'a> {
    first: &'a Replayed,
    second: &'a Replayed,
}

impl Pair<'_> {
    /// Mean difference, its interval and p-value after so many questions.
    fn difference(&self, questions: usize) -> (f64, (f64, f64), f64) {
        let (a, b) = (self.first.at(questions), self.second.at(questions));
        let gains: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
        (stats::mean(&gains), stats::interval(&gains, BOOTSTRAP), stats::paired_test(&a, &b, BOOTSTRAP))
    }

    /// Questions that the first needs less of to be where the second is after so many: each counted up to the first moment at
    /// which it is there, because the second may have been there before; none where the first never is.
    fn saved(&self, questions: usize, most: usize) -> Option<f64> {
        let there = self.second.mean(questions);
        Some(self.second.questions_to(there, questions)? - self.first.questions_to(there, most)?)
    }
}

impl Outcome<'_> {
    fn most(&self) -> usize {
        self.questions.last().copied().unwrap_or(0)
    }

    /// Each strategy of the second model beside the same one of the first, else beside its first.
    fn pairs(&self) -> Vec<Pair<'_>> {
        let [a, b, ..] = self.subjects else { return vec![] };
        let mut pairs = vec![];
        for second in &b.all {
            let same = a.all.iter().find(|first| first.strategy == second.strategy);
            pairs.extend(same.or(a.all.first()).map(|first| Pair { first, second }));
        }
        pairs
    }

    fn document(&self) -> Value {
        let strategies = |subject: &Subject| {
            let mut all = Map::new();
            for replayed in &subject.all {
                let points: Vec<Point> = self.questions.iter().map(|&q| replayed.point(q)).collect();
                let list = |of: fn(&Point) -> f64| points.iter().map(of).collect::<Vec<f64>>();
                let curve: Vec<f64> = (0..=self.most()).map(|q| replayed.mean(q)).collect();
                all.insert(
                    replayed.strategy.name().into(),
                    json!({"bep": list(|p| p.mean), "low": list(|p| p.low), "high": list(|p| p.high), "curve": curve}),
                );
            }
            Value::Object(all)
        };
        let first = &self.subjects[0];
        let mut document = json!({
            "task": "annotate", "model": first.name, "method": first.method, "questions": self.questions,
            "count": self.count, "measure": "bep", "strategies": strategies(first), "items": self.items,
        });
        let Some(second) = self.subjects.get(1) else { return document };
        document["against"] = json!({"model": second.name, "method": second.method, "strategies": strategies(second)});
        let (mut differences, mut saved) = (Map::new(), Map::new());
        for pair in self.pairs() {
            let rows: Vec<_> = self.questions.iter().map(|&q| pair.difference(q)).collect();
            let name = pair.second.strategy.name();
            differences.insert(
                name.into(),
                json!({
                    "strategy": pair.first.strategy.name(),
                    "difference": rows.iter().map(|row| row.0).collect::<Vec<_>>(),
                    "low": rows.iter().map(|row| row.1.0).collect::<Vec<_>>(),
                    "high": rows.iter().map(|row| row.1.1).collect::<Vec<_>>(),
                    "p": rows.iter().map(|row| row.2).collect::<Vec<_>>(),
                }),
            );
            let fewer: Vec<_> = self.questions.iter().map(|&q| pair.saved(q, self.most())).collect();
            saved.insert(name.into(), json!(fewer));
        }
        document["differences"] = differences.into();
        document["saved"] = saved.into();
        document
    }

    /// The tables: means as in Table 1 of the paper, then what the first model gains.
    fn text(&self) -> String {
        let columns = || self.questions.iter().map(|&q| column(q));
        let mut text = String::new();
        for subject in self.subjects {
            let head: Vec<String> =
                std::iter::once(format!("{} {}", subject.method, subject.name)).chain(columns()).collect();
            let mut rows = vec![];
            for replayed in &subject.all {
                let points: Vec<Point> = self.questions.iter().map(|&q| replayed.point(q)).collect();
                let means = points.iter().map(|point| four(point.mean));
                rows.push(std::iter::once(replayed.strategy.to_string()).chain(means).collect());
                let intervals = points.iter().map(|point| format!("[{:.3}, {:.3}]", point.low, point.high));
                rows.push(std::iter::once(String::new()).chain(intervals).collect());
            }
            text += &table(&head, &rows);
            text.push('\n');
        }
        let pairs = self.pairs();
        if !pairs.is_empty() {
            let head: Vec<String> = std::iter::once("first − second".to_owned()).chain(columns()).collect();
            let mut rows = vec![];
            for pair in &pairs {
                let cells: Vec<_> = self.questions.iter().map(|&q| pair.difference(q)).collect();
                let name = match (pair.first.strategy, pair.second.strategy) {
                    (a, b) if a == b => a.to_string(),
                    (a, b) => format!("{a} − {b}"),
                };
                let row = |name: &str, cell: &dyn Fn(usize) -> String| {
                    std::iter::once(name.to_owned()).chain((0..cells.len()).map(cell)).collect::<Vec<String>>()
                };
                rows.push(row(&name, &|j| format!("{:+.4}", cells[j].0)));
                rows.push(row("", &|j| format!("[{:+.3}, {:+.3}]", cells[j].1.0, cells[j].1.1)));
                rows.push(row("  p", &|j| format!("{:.4}", cells[j].2)));
                rows.push(row("  questions saved", &|j| {
                    let saved = pair.saved(self.questions[j], self.most());
                    saved.map_or("-".into(), tenths)
                }));
            }
            text += &table(&head, &rows);
            text.push('\n');
        }
        let number = if self.count == "oracle" {
            "the models are told how many labels each item has"
        } else {
            "the models are not told; precision counts the first k labels, k the true number"
        };
        text += "measure: bep, the break-even precision (the share of right labels among the k best, k the true number of labels)\n";
        text += &format!("{} items; {number}\nintervals: 95 %, bootstrap over items", self.items);
        if !pairs.is_empty() {
            text += "; p: paired randomisation test; both are approximate and may disagree at the edge\n";
            text += "questions saved: to first reach the precision that the second has after so many questions";
        }
        text + "\n"
    }

    fn page(&self) -> Page {
        let mut curves = vec![];
        for subject in self.subjects {
            for replayed in &subject.all {
                let label = if self.subjects.len() > 1 {
                    format!("{} ({}), {}", subject.method, subject.name, replayed.strategy)
                } else {
                    replayed.strategy.to_string()
                };
                let points = (0..=self.most()).map(|q| replayed.point(q)).collect();
                curves.push(Curve { label, points });
            }
        }
        let mut saved = vec![];
        for pair in self.pairs() {
            for &questions in self.questions.iter().filter(|&&q| q > 0) {
                let (difference, (low, high), p) = pair.difference(questions);
                saved.push([
                    pair.second.strategy.to_string(),
                    questions.to_string(),
                    format!("{difference:+.4}"),
                    format!("[{low:+.3}, {high:+.3}]"),
                    format!("{p:.4}"),
                    pair.saved(questions, self.most()).map_or("–".into(), tenths),
                ]);
            }
        }
        let first = &self.subjects[0];
        let against = self.subjects.get(1).map_or(String::new(), |second| format!(" and {}", second.method));
        Page {
            title: format!("Questions of {}{against}", first.method),
            command: command_line(),
            version: env!("CARGO_PKG_VERSION").into(),
            items: self.items,
            told: self.count == "oracle",
            questions: self.questions.to_vec(),
            curves,
            saved,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replayed(curve: &[f64]) -> Replayed {
        Replayed { strategy: Strategy::Paper, rows: vec![curve.to_vec()] }
    }

    #[test]
    fn a_model_saves_nothing_against_itself() {
        for curve in [&[0.2, 0.5, 0.9, 0.9, 0.9, 1.0, 1.0][..], &[1.0; 7], &[0.5, 0.4, 0.45, 0.6, 0.3, 0.3, 0.9]] {
            let (first, second) = (replayed(curve), replayed(curve));
            let pair = Pair { first: &first, second: &second };
            for q in 0..7 {
                assert_eq!(pair.saved(q, 6).map(tenths).as_deref(), Some("0.0"), "{q} of {curve:?}");
            }
        }
    }

    #[test]
    fn saved_questions_are_counted_to_the_first_moment() {
        let (first, second) = (replayed(&[0.2, 0.6, 0.8, 0.8]), replayed(&[0.2, 0.4, 0.6, 0.6]));
        let saved = |a, b, q| Pair { first: a, second: b }.saved(q, 3).map(tenths);
        assert_eq!([1, 2, 3].map(|q| saved(&first, &second, q).unwrap()), ["0.5", "1.0", "1.0"]);
        assert_eq!([1, 2].map(|q| saved(&second, &first, q)), [Some("-1.0".into()), None]);
    }
}
