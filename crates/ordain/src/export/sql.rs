//! A query that computes scores in a database, layer after layer.

use super::formula::{Formula, Gaps, KernelSum, Scaled};
use super::trees::{Node, Test, Tree};
use super::{Exported, Options};
use crate::data::transform::ColumnTransform;
use crate::error::{Error, Result};
use crate::kernel::Form;
use std::fmt::Write;
use std::str::FromStr;

/// The words of a database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite, with its functions of mathematics.
    #[default]
    Sqlite,
    /// DuckDB.
    Duckdb,
    /// PostgreSQL.
    Postgres,
    /// BigQuery.
    Bigquery,
}

/// The dialects, by name.
const DIALECTS: [(&str, Dialect); 4] = [
    ("sqlite", Dialect::Sqlite),
    ("duckdb", Dialect::Duckdb),
    ("postgres", Dialect::Postgres),
    ("bigquery", Dialect::Bigquery),
];

impl FromStr for Dialect {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let found = DIALECTS.iter().find(|(name, _)| *name == text);
        found
            .map(|(_, dialect)| *dialect)
            .ok_or_else(|| Error::unknown("dialect", text, DIALECTS.iter().map(|(name, _)| *name)))
    }
}

impl Dialect {
    /// The type of a number of double precision.
    fn double(self) -> &'static str {
        match self {
            Self::Sqlite => "REAL",
            Self::Duckdb => "DOUBLE",
            Self::Postgres => "DOUBLE PRECISION",
            Self::Bigquery => "FLOAT64",
        }
    }

    /// A name as it stands.
    fn quoted(self, name: &str) -> String {
        match self {
            Self::Bigquery => format!("`{}`", name.replace('\\', "\\\\").replace('`', "\\`")),
            _ => format!("\"{}\"", name.replace('"', "\"\"")),
        }
    }
}

/// Core rows of a kernel beyond which a query would be too long.
const CORE: usize = 200;

/// A number that every database reads as one of double precision.
fn number(x: f64) -> String {
    let text = format!("{x:e}");
    if x < 0.0 { format!("({text})") } else { text }
}

/// The largest number of double precision that single precision rounds to at most `cut`.
///
/// ```text
/// single(x) ≤ cut  ⇔  x ≤ the middle of cut and the next number of single precision; the middle itself rounds to the even one
/// ```
pub(super) fn cut_of_doubles(cut: f32) -> f64 {
    let next = cut.next_up();
    if !next.is_finite() {
        return f64::MAX;
    }
    let middle = f64::midpoint(f64::from(cut), f64::from(next));
    if (middle as f32) <= cut { middle } else { middle.next_down() }
}

/// A sum, nested as a balanced tree: databases bound how deep a formula is.
fn sum(mut terms: Vec<String>) -> String {
    while terms.len() > 1 {
        terms = terms.chunks(8).map(|some| format!("({})", some.join(" + "))).collect();
    }
    terms.pop().unwrap_or_else(|| "0e0".into())
}

fn transformed(transform: &ColumnTransform, x: &str) -> String {
    match transform {
        ColumnTransform::Keep => x.into(),
        ColumnTransform::Log { unit } => {
            format!("SIGN({x}) * LN(1e0 + ABS({x}) / {})", number(f64::from(*unit)))
        }
        ColumnTransform::Quantile { values, levels } => {
            let knot = |k: usize| (f64::from(values[k]), f64::from(levels[k]));
            let mut text = format!("CASE WHEN {x} < {} THEN {}", number(knot(0).0), number(knot(0).1));
            for k in 1..values.len() {
                let ((low, from), (high, to)) = (knot(k - 1), knot(k));
                let slope = number((to - from) / (high - low));
                let _ = write!(
                    text,
                    " WHEN {x} < {} THEN {} + ({x} - {}) * {slope}",
                    number(high),
                    number(from),
                    number(low)
                );
            }
            let _ = write!(text, " ELSE {} END", number(knot(values.len() - 1).1));
            text
        }
    }
}

/// A tree as nested questions about raw columns `r0`, `r1`, …
fn case(tree: &Tree, at: usize, text: &mut String) {
    match &tree.nodes[at] {
        Node::Leaf(value) => text.push_str(&number(*value)),
        Node::Split(split) => {
            let x = format!("r{}", split.column);
            let test = match &split.test {
                Test::AtMost(cut) => format!("{x} <= {}", number(cut_of_doubles(*cut))),
                Test::OneOf(values) if values.is_empty() => "1 = 0".into(),
                Test::OneOf(values) => {
                    let list: Vec<String> = values.iter().map(|&value| number(f64::from(value))).collect();
                    format!("{x} IN ({})", list.join(", "))
                }
            };
            let gap =
                if split.gap_left { format!("{x} IS NULL OR {test}") } else { format!("{x} IS NOT NULL AND {test}") };
            let _ = write!(text, "CASE WHEN {gap} THEN ");
            case(tree, split.child[0] as usize, text);
            text.push_str(" ELSE ");
            case(tree, split.child[1] as usize, text);
            text.push_str(" END");
        }
    }
}

/// The kernel of a core row `k` and a scaled row.
fn kernel(sum_of: &KernelSum) -> String {
    let (d, gamma) = (sum_of.rows.cols(), number(sum_of.kernel.gamma));
    let terms =
        |one: &dyn Fn(&str, &str) -> String| sum((0..d).map(|j| one(&format!("s.c{j}"), &format!("k.k{j}"))).collect());
    match sum_of.kernel.form {
        Form::Poly { degree, coef0 } => {
            let base = format!("({gamma} * {} + {})", terms(&|a, b| format!("{a} * {b}")), number(coef0));
            match degree {
                0 => "1e0".into(),
                _ => vec![base; degree as usize].join(" * "),
            }
        }
        Form::Intersection => terms(&|a, b| format!("CASE WHEN {a} < {b} THEN {a} ELSE {b} END")),
        Form::Rbf => format!("EXP(-{gamma} * {})", terms(&|a, b| format!("({a} - {b}) * ({a} - {b})"))),
        Form::Laplace => format!("EXP(-{gamma} * {})", terms(&|a, b| format!("ABS({a} - {b})"))),
        Form::Chi2 => {
            let one = |a: &str, b: &str| {
                format!("CASE WHEN {a} + {b} > 0 THEN ({a} - {b}) * ({a} - {b}) / ({a} + {b}) ELSE 0e0 END")
            };
            format!("EXP(-{gamma} * {})", terms(&one))
        }
        Form::Linear => terms(&|a, b| format!("{a} * {b}")),
    }
}

/// One layer: its name, and what it selects.
struct Layers {
    text: String,
    last: &'static str,
}

impl Layers {
    fn push(&mut self, name: &'static str, columns: &[String]) {
        let from = self.last;
        let _ = write!(self.text, ",\n{name} AS (\n  SELECT\n    {}\n  FROM {from}\n)", columns.join(",\n    "));
        self.last = name;
    }
}

pub(super) fn write(formula: &Formula, how: &Options) -> Result<Exported> {
    let (dialect, width) = (how.dialect, formula.width());
    if let Some(sum) = &formula.kernel
        && sum.rows.rows() > CORE
    {
        return Err(Error::Data {
            expected: format!(
                "at most {CORE} core documents for a query of SQL (fit with documents={CORE}; onnx, python and json take any number)"
            ),
            found: sum.rows.rows().to_string(),
        });
    }
    if formula.by_query() && how.query.is_none() {
        return Err(Error::Data {
            expected: "the column that names the query, because columns are scaled within queries".into(),
            found: "none".into(),
        });
    }
    // the columns of the data, then those that a layer carries along
    let mut first: Vec<String> = vec!["ROW_NUMBER() OVER () AS ordain_row".into()];
    let mut carried: Vec<String> = vec!["ordain_row".into()];
    for (at, key) in how.query.iter().chain(&how.keys).enumerate() {
        first.push(format!("{} AS key{at}", dialect.quoted(key)));
        carried.push(format!("key{at}"));
    }
    for (j, column) in formula.columns.iter().enumerate() {
        first.push(format!("CAST({} AS {}) AS r{j}", dialect.quoted(how.mapped(column)), dialect.double()));
    }
    let raw: Vec<String> =
        if formula.trees.is_empty() { vec![] } else { (0..formula.columns.len()).map(|j| format!("r{j}")).collect() };
    let text = format!(
        "WITH ordain_data AS (\n  SELECT\n    {}\n  FROM {}\n)",
        first.join(",\n    "),
        dialect.quoted(&how.table)
    );
    let mut layers = Layers { text, last: "ordain_data" };
    let keep = |more: Vec<String>| carried.iter().chain(&raw).cloned().chain(more).collect::<Vec<_>>();
    if !formula.weights.is_empty() || formula.kernel.is_some() {
        let filled =
            (0..width).map(|j| match (&formula.gaps, formula.flags.get(j.wrapping_sub(formula.columns.len()))) {
                (_, Some(of)) => format!("CASE WHEN r{of} IS NULL THEN 1e0 ELSE 0e0 END AS c{j}"),
                (Gaps::Filled(values), None) => format!("COALESCE(r{j}, {}) AS c{j}", number(f64::from(values[j]))),
                _ => format!("r{j} AS c{j}"),
            });
        layers.push("ordain_filled", &keep(filled.collect()));
        if !formula.transforms.is_empty() {
            let made = (0..width).map(|j| format!("{} AS c{j}", transformed(formula.transform(j), &format!("c{j}"))));
            layers.push("ordain_transformed", &keep(made.collect()));
        }
        scale(formula, &mut layers, &keep);
    }
    let mut from = layers.last.to_owned();
    let mut parts: Vec<Vec<String>> = formula.constant.iter().map(|&constant| vec![number(constant)]).collect();
    for (j, weights) in formula.weights.chunks_exact(formula.outputs.len()).enumerate() {
        for (part, &w) in parts.iter_mut().zip(weights).filter(|(_, w)| **w != 0.0) {
            part.push(format!("{} * s.c{j}", number(w)));
        }
    }
    for tree in &formula.trees {
        let mut text = String::new();
        case(tree, 0, &mut text);
        parts.iter_mut().for_each(|part| part.push(text.clone()));
    }
    let mut text = layers.text;
    if let Some(kernel_sum) = &formula.kernel {
        core_rows(kernel_sum, &mut text);
        let keys = carried.iter().map(|key| format!("s.{key}")).collect::<Vec<_>>().join(", ");
        let _ = write!(
            text,
            ",\nordain_kernel AS (\n  SELECT {keys}, SUM(k.beta * {}) AS c0\n  FROM {from} s CROSS JOIN ordain_core k\n  GROUP BY {keys}\n)",
            kernel(kernel_sum)
        );
        from = "ordain_kernel".into();
        parts.iter_mut().for_each(|part| part.push("s.c0".into()));
    }
    finish(formula, how, &from, parts, &mut text);
    let mut made = Exported::new(text);
    if formula.gaps == Gaps::Refused {
        made.warnings.push("the model refuses gaps; in SQL the score of a row with a NULL is NULL".into());
    }
    Ok(made)
}

/// Columns scaled, `c0`, `c1`, …
fn scale(formula: &Formula, layers: &mut Layers, keep: &dyn Fn(Vec<String>) -> Vec<String>) {
    let width = formula.width();
    let each = |one: &dyn Fn(usize) -> String| (0..width).map(one).collect::<Vec<_>>();
    let varies = |j: usize, then: String| format!("CASE WHEN h{j} > l{j} THEN {then} ELSE 0e0 END AS c{j}");
    let ends = |j: usize| {
        let over = "OVER (PARTITION BY key0)";
        [format!("c{j}"), format!("MIN(c{j}) {over} AS l{j}"), format!("MAX(c{j}) {over} AS h{j}")]
    };
    match &formula.scale {
        Scaled::No => {}
        Scaled::By { offset, factor } => {
            let (offset, factor) = (|j: usize| f64::from(offset[j]), |j: usize| f64::from(factor[j]));
            let made = each(&|j| format!("(c{j} - {}) * {} AS c{j}", number(offset(j)), number(factor(j))));
            layers.push("ordain_scaled", &keep(made));
        }
        Scaled::Minmax => {
            layers.push("ordain_ends", &keep((0..width).flat_map(ends).collect()));
            layers.push("ordain_scaled", &keep(each(&|j| varies(j, format!("(c{j} - l{j}) / (h{j} - l{j})")))));
        }
        Scaled::Query => {
            let mean = |j: usize| format!("c{j} - AVG(c{j}) OVER (PARTITION BY key0) AS a{j}");
            let seen = (0..width).flat_map(|j| ends(j).into_iter().chain([mean(j)]));
            layers.push("ordain_means", &keep(seen.collect()));
            let spread = |j: usize| {
                [
                    format!("a{j}"),
                    format!("l{j}"),
                    format!("h{j}"),
                    format!("SQRT(AVG(a{j} * a{j}) OVER (PARTITION BY key0)) AS d{j}"),
                ]
            };
            layers.push("ordain_spreads", &keep((0..width).flat_map(spread).collect()));
            layers.push("ordain_scaled", &keep(each(&|j| varies(j, format!("a{j} / d{j}")))));
        }
    }
}

/// The core rows of a kernel as a table.
fn core_rows(sum: &KernelSum, text: &mut String) {
    text.push_str(",\nordain_core AS (\n");
    let rows = sum.rows.some_rows(0..sum.rows.rows()).zip(&sum.coefficients);
    for (at, (row, &beta)) in rows.enumerate() {
        let values: Vec<String> =
            row.iter().enumerate().map(|(j, &x)| format!("{} AS k{j}", number(f64::from(x)))).collect();
        let all = if at == 0 { "  " } else { "  UNION ALL " };
        let _ = writeln!(text, "{all}SELECT {} AS beta, {}", number(beta), values.join(", "));
    }
    text.push(')');
}

/// Keys, scores and ranks.
fn finish(formula: &Formula, how: &Options, from: &str, parts: Vec<Vec<String>>, text: &mut String) {
    let dialect = how.dialect;
    let keys: Vec<&String> = how.query.iter().chain(&how.keys).collect();
    let inner: Vec<String> = (0..keys.len()).map(|at| format!("s.key{at}")).collect();
    let scores = parts.into_iter().enumerate().map(|(o, part)| format!("{} AS o{o}", sum(part)));
    let inner: Vec<String> = inner.into_iter().chain(scores).collect();
    let _ = write!(text, ",\nordain_scores AS (\n  SELECT\n    {}\n  FROM {from} s\n)\n", inner.join(",\n    "));
    let mut outer: Vec<String> =
        keys.iter().enumerate().map(|(at, key)| format!("key{at} AS {}", dialect.quoted(key))).collect();
    outer.extend(formula.outputs.iter().enumerate().map(|(o, name)| format!("o{o} AS {}", dialect.quoted(name))));
    if how.query.is_some() && formula.outputs.len() == 1 {
        let ties: String = (1..keys.len()).map(|at| format!(", key{at}")).collect();
        let rank = dialect.quoted("rank");
        outer.push(format!("ROW_NUMBER() OVER (PARTITION BY key0 ORDER BY o0 DESC{ties}) AS {rank}"));
    }
    let _ = writeln!(text, "SELECT\n  {}\nFROM ordain_scores;", outer.join(",\n  "));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn a_cut_asks_doubles_what_it_asks_singles() {
        let mut random = Random::new(3);
        for round in 0..2000 {
            let cut = if round == 0 { f32::MIN } else { random.normal() as f32 };
            let wide = cut_of_doubles(cut);
            let near = f64::from(cut) + random.normal() * f64::from(cut.next_up() - cut);
            for x in [wide, wide.next_up(), wide.next_down(), near] {
                assert_eq!(x <= wide, (x as f32) <= cut, "{cut} {wide} {x}");
            }
        }
        assert_eq!(cut_of_doubles(f32::MAX).to_bits(), f64::MAX.to_bits());
    }
}
