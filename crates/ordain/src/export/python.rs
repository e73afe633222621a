//! A module of Python that computes scores, and needs nothing beside the standard library.

use super::formula::{Formula, Gaps, Scaled};
use super::json::tree;
use super::{Exported, Options};
use crate::data::transform::ColumnTransform;
use crate::error::Result;
use serde_json::{Value, json};
use std::fmt::Write;

/// What every module says, whatever its numbers are.
const CODE: &str = include_str!("scores.py");

/// A value as Python writes it.
fn literal(value: &Value) -> String {
    match value {
        Value::Null => "None".into(),
        Value::Bool(true) => "True".into(),
        Value::Bool(false) => "False".into(),
        Value::Array(items) => format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", ")),
        // text of JSON is text of Python
        other => other.to_string(),
    }
}

pub(super) fn write(formula: &Formula, how: &Options) -> Result<Exported> {
    let transform = |transform: &ColumnTransform| match transform {
        ColumnTransform::Keep => Value::Null,
        ColumnTransform::Log { unit } => json!(["log", unit]),
        ColumnTransform::Quantile { values, levels } => json!(["quantile", values, levels]),
    };
    let (offset, factor) = match &formula.scale {
        Scaled::By { offset, factor } => (json!(offset), json!(factor)),
        _ => (Value::Null, Value::Null),
    };
    let kernel = formula.kernel.as_ref().map_or(Value::Null, |sum| {
        let rows: Vec<&[f32]> = sum.rows.some_rows(0..sum.rows.rows()).collect();
        let (degree, coef0) = match sum.kernel.form {
            crate::kernel::Form::Poly { degree, coef0 } => (degree, coef0),
            _ => (0, 0.0),
        };
        json!([sum.kernel.form.name(), sum.kernel.gamma, degree, coef0, rows, sum.coefficients])
    });
    let gaps = match &formula.gaps {
        Gaps::Refused => json!("refused"),
        Gaps::Kept => json!("kept"),
        Gaps::Filled(values) => json!(values),
    };
    let scale = match &formula.scale {
        Scaled::No => "none",
        Scaled::By { .. } => "global",
        Scaled::Query => "query",
        Scaled::Minmax => "minmax",
    };
    let parts = [
        ("NAME", json!(how.name)),
        ("COLUMNS", json!(formula.columns)),
        ("OUTPUTS", json!(formula.outputs)),
        ("GAPS", gaps),
        ("FLAGS", json!(formula.flags)),
        ("TRANSFORMS", formula.transforms.iter().map(transform).collect()),
        ("SCALE", json!(scale)),
        ("OFFSET", offset),
        ("FACTOR", factor),
        ("CONSTANT", json!(formula.constant)),
        ("WEIGHTS", json!(formula.weights)),
        ("KERNEL", kernel),
        ("TREES", formula.trees.iter().map(tree).collect()),
    ];
    let mut numbers = String::new();
    for (name, value) in &parts {
        let _ = writeln!(numbers, "{name} = {}", literal(value));
    }
    let text = CODE.replace("# NUMBERS\n", &numbers);
    let mut made = Exported::new(text);
    if formula.by_query() {
        made.warnings.push("a call of scores() takes the rows of one query: columns are scaled within them".into());
    }
    Ok(made)
}
