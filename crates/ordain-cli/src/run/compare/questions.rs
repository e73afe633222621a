//! Questions in a comparison: \[QAP\] Table 1, Auto, Q1, Q5 … of every method.

use super::{Comparison, Entry};
use crate::plan::Questions;
use crate::report::questions::{Curve, Point};
use crate::run::simulate::column;
use crate::screen::{four, table};
use anyhow::Result;
use ordain::answer::{self, AskedCells, Difference, Named};
use ordain::ask::{self, Replayed, Strategy};
use ordain::method::{Annotate, Annotator};
use ordain::solver::run::Watch;
use ordain::task::Ready;

/// One strategy of one method, fold by fold.
pub(in crate::run) struct Asked {
    strategy: Strategy,
    folds: Vec<Replayed>,
}

impl Asked {
    /// Of all items after so many questions.
    fn at(&self, questions: usize) -> Vec<f64> {
        self.folds.iter().flat_map(|fold| fold.at(questions)).collect()
    }
}

/// Asks about the test items of a round, by every strategy.
pub(super) fn ask(
    entry: &mut Entry,
    model: &Annotator,
    on: &Ready<'_, Annotate>,
    test: &[u32],
    (questions, seed): (&Questions, u64),
) -> Result<()> {
    let units: Vec<u32> = test.iter().copied().filter(|&i| ask::replayable(on.set(), i as usize)).collect();
    let most = questions.after.last().copied().unwrap_or(0);
    if entry.asked.is_empty() {
        entry.asked = questions.strategies.iter().map(|&strategy| Asked { strategy, folds: vec![] }).collect();
    }
    for asked in &mut entry.asked {
        let how = (asked.strategy, most, questions.told);
        asked.folds.push(ask::replay_all(model, on, &units, how, seed, &Watch::NOBODY)?);
    }
    Ok(())
}

/// What a number after questions is called among the tests.
fn name(strategy: Strategy, questions: usize) -> String {
    format!("bep {} by {strategy}", column(questions))
}

/// Paired tests of all methods after each number of questions.
pub(super) fn tests(entries: &[Entry], questions: &Questions) -> Vec<Difference> {
    let labels: Vec<String> = entries.iter().map(|entry| entry.label.clone()).collect();
    let mut all = vec![];
    for (s, &strategy) in questions.strategies.iter().enumerate() {
        for &q in &questions.after {
            let values: Vec<Vec<f64>> = entries.iter().map(|entry| entry.asked[s].at(q)).collect();
            all.extend(answer::differences_in(&name(strategy, q), &labels, &values));
        }
    }
    all
}

fn count(questions: &Questions) -> &'static str {
    if questions.told { "oracle" } else { "learned" }
}

/// What the document of `--json` says of a method.
pub(super) fn cells(entry: &Entry, questions: &Questions) -> Named<AskedCells> {
    let cell = |asked: &Asked| {
        (asked.strategy.name().into(), AskedCells::of(&questions.after, count(questions), &asked.folds))
    };
    Named(entry.asked.iter().map(cell).collect())
}

/// A table per strategy: means over items with half of their intervals, and over folds the means of their means.
pub(super) fn text(all: &Comparison, questions: &Questions) -> String {
    let head: Vec<String> =
        std::iter::once("method".to_owned()).chain(questions.after.iter().map(|&q| column(q))).collect();
    let told = match questions.told {
        true => "told the number of labels of each item",
        false => "the number of labels learned; the first k count, k the true number",
    };
    let mut text = String::new();
    for (s, &strategy) in questions.strategies.iter().enumerate() {
        let cells: Vec<AskedCells> = all
            .entries
            .iter()
            .map(|entry| AskedCells::of(&questions.after, count(questions), &entry.asked[s].folds))
            .collect();
        let mark = |row: usize, m: usize| {
            let means: Vec<f64> = cells.iter().map(|cell| cell.bep[m]).collect();
            let (best, level) = answer::best_of(&name(strategy, questions.after[m]), &means, &all.tests, |a, b| a > b);
            match () {
                () if means.len() < 2 => "",
                () if best == row => "*",
                () if level.contains(&row) => "=",
                () => " ",
            }
        };
        let row = |(row, (entry, cell)): (usize, (&Entry, &AskedCells))| {
            let one =
                |m: usize| format!("{} ±{:.3}{}", four(cell.bep[m]), (cell.high[m] - cell.low[m]) / 2.0, mark(row, m));
            std::iter::once(entry.label.clone()).chain((0..cell.after.len()).map(one)).collect()
        };
        let rows: Vec<Vec<String>> = all.entries.iter().zip(&cells).enumerate().map(row).collect();
        let items = cells.first().map_or(0, |cell| cell.items);
        text += &format!("\nbep after questions, strategy {strategy}, {items} items, {told}:\n{}", table(&head, &rows));
        if all.folds.len() > 1 {
            let row = |(entry, cell): (&Entry, &AskedCells)| {
                std::iter::once(entry.label.clone()).chain(cell.fold_mean.iter().map(|&mean| four(mean))).collect()
            };
            let rows: Vec<Vec<String>> = all.entries.iter().zip(&cells).map(row).collect();
            text += &format!("means of the {} fold means:\n{}", all.folds.len(), table(&head, &rows));
        }
    }
    text
}

/// The lines of a report.
pub(super) fn curves(all: &Comparison, questions: &Questions) -> Vec<Curve> {
    let after: Vec<usize> = (0..=questions.after.last().copied().unwrap_or(0)).collect();
    let mut curves = vec![];
    for (s, &strategy) in questions.strategies.iter().enumerate() {
        for entry in &all.entries {
            let label = match questions.strategies.len() {
                1 => entry.label.clone(),
                _ => format!("{}, {strategy}", entry.label),
            };
            let cells = AskedCells::of(&after, count(questions), &entry.asked[s].folds);
            let point = |&q: &usize| Point { questions: q, mean: cells.bep[q], low: cells.low[q], high: cells.high[q] };
            curves.push(Curve { label, points: after.iter().map(point).collect() });
        }
    }
    curves
}
