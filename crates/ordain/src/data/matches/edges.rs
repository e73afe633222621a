//! Rows of a table of edges, in whatever order they come, as problems.

use crate::data::{Problem, Truth};
use std::collections::HashMap;

/// The edges of a table, row by row; problems and their items are numbered by first appearance.
///
/// ```
/// use ordain::data::{EdgeRows, Truth};
/// let mut rows = EdgeRows::default();
/// rows.push("p", "b", "y", Truth::No);
/// rows.push("p", "a", "y", Truth::Yes);
/// rows.push("p", "b", "x", Truth::Yes);
/// let (problems, order) = rows.grouped().unwrap();
/// assert_eq!((&problems[0].left[..], &problems[0].right[..]), (&["b".into(), "a".into()][..], &["y".into(), "x".into()][..]));
/// assert_eq!((&problems[0].edges[..], order), (&[(0, 0), (0, 1), (1, 0)][..], vec![0, 2, 1]));
/// ```
#[derive(Debug, Default)]
pub struct EdgeRows {
    rows: Vec<Row>,
    names: Vec<String>,
    numbers: HashMap<Box<str>, u32>,
    items: Vec<[Ids; 2]>,
}

/// Ids of one kind, numbered by first appearance.
#[derive(Debug, Default)]
struct Ids(HashMap<Box<str>, u32>);

impl Ids {
    fn number(&mut self, id: &str) -> u32 {
        match self.0.get(id) {
            Some(&number) => number,
            None => {
                let number = self.0.len() as u32;
                self.0.insert(id.into(), number);
                number
            }
        }
    }

    fn names(self) -> Vec<String> {
        let mut out = vec![String::new(); self.0.len()];
        for (id, number) in self.0 {
            out[number as usize] = id.into();
        }
        out
    }
}

#[derive(Clone, Copy, Debug)]
struct Row {
    problem: u32,
    ends: (u32, u32),
    truth: Truth,
}

/// Two rows that cannot both be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clash {
    /// The rows, from 0, the first of them first.
    pub rows: [usize; 2],
    /// The name of their problem.
    pub problem: String,
    /// What is wrong with them.
    pub what: Clashing,
}

/// What is wrong with two rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Clashing {
    /// Both are the edge between these two items.
    Edge(String, String),
    /// Both match the item of this side (`left` or `right`) and id.
    Item(&'static str, String),
}

impl EdgeRows {
    /// Adds a row.
    pub fn push(&mut self, problem: &str, left: &str, right: &str, truth: Truth) {
        let number = match self.numbers.get(problem) {
            Some(&number) => number,
            None => {
                let number = self.names.len() as u32;
                self.numbers.insert(problem.into(), number);
                self.names.push(problem.into());
                self.items.push(Default::default());
                number
            }
        };
        let [lefts, rights] = &mut self.items[number as usize];
        self.rows.push(Row { problem: number, ends: (lefts.number(left), rights.number(right)), truth });
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Ends a part: a problem of a name that was there is another one from here on. Returns the number of problems so far.
    pub fn next_part(&mut self) -> usize {
        self.numbers.clear();
        self.names.len()
    }

    /// The problems, their edges ascending, and for each edge of one problem after the other the row that it was.
    ///
    /// # Errors
    ///
    /// A [`Clash`] where an edge is there twice or an item has two matches.
    pub fn grouped(self) -> Result<(Vec<Problem>, Vec<u32>), Clash> {
        let Self { rows, names, items, .. } = self;
        let of = |(name, [left, right]): (String, [Ids; 2])| Problem {
            name,
            left: left.names(),
            right: right.names(),
            ..Problem::default()
        };
        let mut problems: Vec<Problem> = names.into_iter().zip(items).map(of).collect();
        let mut order: Vec<u32> = (0..rows.len() as u32).collect();
        let key = |row: u32| (rows[row as usize].problem, rows[row as usize].ends, row);
        if !order.is_sorted_by_key(|&row| key(row)) {
            order.sort_unstable_by_key(|&row| key(row));
        }
        check(&rows, &order, &problems)?;
        for &row in &order {
            let row = &rows[row as usize];
            problems[row.problem as usize].edges.push(row.ends);
            problems[row.problem as usize].truth.push(row.truth);
        }
        Ok((problems, order))
    }
}

/// Refuses an edge that is there twice, and an item with two matches.
fn check(rows: &[Row], order: &[u32], problems: &[Problem]) -> Result<(), Clash> {
    let clash = |a: u32, b: u32, problem: &Problem, what: Clashing| {
        Err(Clash { rows: [a.min(b) as usize, a.max(b) as usize], problem: problem.name.clone(), what })
    };
    let edge = |row: u32| (rows[row as usize].problem, rows[row as usize].ends);
    if let Some(pair) = order.windows(2).find(|pair| edge(pair[0]) == edge(pair[1])) {
        let (p, (i, j)) = edge(pair[1]);
        let problem = &problems[p as usize];
        let (left, right) = (problem.left[i as usize].clone(), problem.right[j as usize].clone());
        return clash(pair[0], pair[1], problem, Clashing::Edge(left, right));
    }
    let mut taken: [HashMap<u32, u32>; 2] = Default::default();
    let mut current = None;
    for &number in order {
        let row = &rows[number as usize];
        if current.replace(row.problem) != Some(row.problem) {
            taken.iter_mut().for_each(HashMap::clear);
        }
        if row.truth != Truth::Yes {
            continue;
        }
        let problem = &problems[row.problem as usize];
        let ends = [(row.ends.0, "left", &problem.left), (row.ends.1, "right", &problem.right)];
        for (taken, (item, side, names)) in taken.iter_mut().zip(ends) {
            if let Some(other) = taken.insert(item, number) {
                return clash(other, number, problem, Clashing::Item(side, names[item as usize].clone()));
            }
        }
    }
    Ok(())
}
