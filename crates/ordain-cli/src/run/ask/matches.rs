//! Questions about the pairs of a matching.

use super::{Asked, Asker, ask, line, read, shown};
use crate::args::Ask;
use crate::screen::{Screen, name};
use anyhow::Result;
use ordain::ask::{GivenMatches, given, next_pair, pair_doubts};
use ordain::data::{MatchSet, Problem, Role, fields_of_pairs, texts};
use ordain::labelling::{Answer, Labelling, MatchQuestions};
use ordain::method::{Match, Matcher};
use ordain::task::{Fitted, Ready};
use serde_json::{Map, json};
use std::collections::HashMap;
use std::fmt::Write as _;

pub(super) fn run(fitted: &Fitted<Match>, args: &Ask, screen: &Screen) -> Result<()> {
    let ready = read(fitted, args, screen)?;
    let questions = MatchQuestions::new(ready.set())?;
    let (show, mut cells) = (shown(args, &fitted.model.inputs), HashMap::new());
    if !show.is_empty() {
        let keys = [Role::Problem, Role::Left, Role::Right];
        for mut row in texts(&args.data, &fitted.model.inputs.columns.roles, &keys, &show)? {
            let own = row.split_off(keys.len());
            cells.insert(row, own);
        }
    }
    let (on, set, fields) = (&ready, ready.set(), fields_of_pairs(&show));
    let mut pairs = Pairs { on, set, matcher: &fitted.model, questions: &questions, fields, cells };
    ask(&mut pairs, &questions, args, screen)
}

struct Pairs<'a> {
    on: &'a Ready<'static, Match>,
    set: &'a MatchSet,
    matcher: &'a Matcher,
    questions: &'a MatchQuestions<'a>,
    /// Fields to show, with the places of both columns, and the cells by problem, left and right.
    fields: Vec<(String, usize, usize)>,
    cells: HashMap<Vec<String>, Vec<String>>,
}

/// What is known of the edges of a problem, and those that were skipped.
fn known(problem: &Problem, answers: &[Answer]) -> (Vec<Option<bool>>, Vec<u32>) {
    let (mut known, mut skipped) = (vec![None; problem.edges.len()], vec![]);
    for Answer { subject, yes, .. } in answers {
        match yes {
            Some(_) => known[subject.thing as usize] = *yes,
            None => skipped.push(subject.thing),
        }
    }
    (known, skipped)
}

impl Pairs<'_> {
    /// The names of the two items of an edge.
    fn ends(&self, unit: usize, edge: u32) -> (&str, &str) {
        let problem = self.set.problem(unit);
        let (i, j) = problem.edges[edge as usize];
        (&problem.left[i as usize], &problem.right[j as usize])
    }

    fn given(&self, unit: usize, answers: &[Answer]) -> Result<(GivenMatches, Vec<Option<bool>>, Vec<u32>)> {
        let (known, skipped) = known(self.set.problem(unit), answers);
        Ok((given(self.matcher, self.on, unit, &known)?, known, skipped))
    }

    /// How likely an edge is, who the two would be matched with else, and both records; without these the values of the edge.
    fn facts(&self, unit: usize, edge: u32, value: f64, said: &GivenMatches) -> String {
        let (problem, mut text) = (self.set.problem(unit), String::new());
        let what = if said.probabilities.is_some() { "probability" } else { "margin" };
        _ = write!(text, "  {what} {value:.3}");
        if self.fields.is_empty() {
            let row = self.set.span(unit).start + edge as usize;
            self.set.features.each(row, |j, x| _ = write!(text, "; {} {x}", self.set.columns.names[j]));
        }
        let (i, j) = problem.edges[edge as usize];
        let others = said.edges.iter().filter(|&&other| {
            let ends = problem.edges[other as usize];
            other != edge && (ends.0 == i || ends.1 == j)
        });
        let others: Vec<String> = others.map(|&other| self.shown(unit, other)).collect();
        if !others.is_empty() {
            _ = write!(text, "; else {}", others.join(", "));
        }
        let (left, right) = self.ends(unit, edge);
        let key = [problem.name.as_str(), left, right].map(str::to_owned).to_vec();
        text + &self.cells.get(&key).map_or(String::new(), |cells| self.records(cells))
    }

    /// Both records field by field, without fields that are empty on both sides.
    fn records(&self, cells: &[String]) -> String {
        let field = |(name, left, right): &(String, usize, usize)| {
            let (a, b) = (line(&cells[*left]), line(&cells[*right]));
            let said = match (a.is_empty(), b.is_empty()) {
                (true, true) => return None,
                _ if left == right => return Some(format!("\n  {name}: {a}")),
                (false, false) if a == b => "same",
                (false, false) => "differs",
                _ => "missing",
            };
            let side = |cell: String| if cell.is_empty() { "-".to_owned() } else { cell };
            Some(format!("\n  {name}: {} | {} ({said})", side(a), side(b)))
        };
        self.fields.iter().filter_map(field).collect()
    }
}

impl<'a> Asker for Pairs<'a> {
    type Questions = MatchQuestions<'a>;
    const QUESTIONS: usize = usize::MAX;
    const MORE: &'static str = "+LEFT = RIGHT (-LEFT = RIGHT) to say that another pair belongs together (does not)";

    fn questions(&self) -> &Self::Questions {
        self.questions
    }

    fn doubts(&self) -> Result<Vec<f64>> {
        Ok(pair_doubts(self.matcher, self.on)?)
    }

    fn name(&self, unit: usize) -> String {
        format!("problem {}", self.set.problem(unit).name)
    }

    fn heading(&self, unit: usize, (at, of): (usize, usize)) -> String {
        let problem = self.set.problem(unit);
        format!("{} ({at} of {of}): {} and {} items", self.name(unit), problem.left.len(), problem.right.len())
    }

    fn next(&mut self, unit: usize, answers: &[Answer]) -> Result<Option<Asked>> {
        let (said, known, skipped) = self.given(unit, answers)?;
        let Some(question) = next_pair(&said, &known, &skipped) else { return Ok(None) };
        Ok(Some(Asked {
            thing: question.edge,
            facts: self.facts(unit, question.edge, question.value, &said),
            text: self.shown(unit, question.edge),
            record: Map::from_iter([("value".into(), question.value.into())]),
        }))
    }

    fn typed(&self, unit: usize, text: &str) -> ordain::Result<u32> {
        let problem = self.set.problem(unit);
        let wrong = |found: String| ordain::Error::Data {
            expected: "a pair of this problem, as in +LEFT = RIGHT".into(),
            found,
        };
        let (left, right) = text.split_once(" = ").ok_or_else(|| wrong(format!("{text:?}")))?;
        let (i, j) = (problem.find_left(left.trim())?, problem.find_right(right.trim())?);
        let edge = problem.find_edge(i, j).ok_or_else(|| wrong(format!("two that are no candidates: {text:?}")))?;
        Ok(edge as u32)
    }

    fn shown(&self, unit: usize, thing: u32) -> String {
        let (left, right) = self.ends(unit, thing);
        format!("{left} = {right}")
    }

    fn guess(&self, unit: usize, answers: &[Answer]) -> Result<Vec<u32>> {
        Ok(self.given(unit, answers)?.0.edges)
    }

    /// The matching of every problem that was asked about, given the answers.
    fn print(&self, labelling: &Labelling<'_, Self::Questions>, screen: &Screen) -> Result<()> {
        let mut text = String::new();
        for p in 0..self.set.len() {
            let answers: Vec<Answer> = labelling.of_unit(p).copied().collect();
            if answers.is_empty() {
                continue;
            }
            let (said, known, _) = self.given(p, &answers)?;
            if text.is_empty() && !screen.json {
                text.push_str("problem\tleft\tright\tprobability\tanswered\n");
            }
            let mut matches = vec![];
            for &edge in &said.edges {
                let (left, right) = self.ends(p, edge);
                let probability = said.probabilities.as_ref().map(|all| all[edge as usize]);
                let answered = known[edge as usize] == Some(true);
                if screen.json {
                    matches
                        .push(json!({"left": left, "right": right, "probability": probability, "answered": answered}));
                } else {
                    let probability = probability.map_or(String::new(), |p| format!("{p:.6}"));
                    let answered = if answered { "yes" } else { "" };
                    let (unit, left, right) = (name(&self.set.problem(p).name), name(left), name(right));
                    writeln!(text, "{unit}\t{left}\t{right}\t{probability}\t{answered}")?;
                }
            }
            if screen.json {
                let name = &self.set.problem(p).name;
                writeln!(text, "{}", json!({"problem": name, "matches": matches, "answers": answers.len()}))?;
            }
        }
        screen.data(&text)
    }
}
