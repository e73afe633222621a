//! All numbers of a model as one JSON document.

use super::formula::{Formula, Gaps, Scaled};
use super::trees::{Node, Test, Tree};
use super::{Exported, Exports, digest};
use crate::data::transform::ColumnTransform;
use crate::error::{Error, Result};
use crate::method::Annotator;
use crate::task::Fitted;
use serde_json::{Map, Value, json};

/// The name and the number of the format.
const FORMAT: (&str, u32) = ("ordain-export", 1);

pub(super) fn write<T: Exports>(fitted: &Fitted<T>, formula: &Formula) -> Result<Exported> {
    let mut document = object(json!({
        "format": FORMAT.0,
        "version": FORMAT.1,
        "model": digest(fitted),
        "task": T::WORDS.name,
        "method": fitted.facts.method,
    }));
    document.append(&mut of_formula(formula));
    document.append(&mut T::rest(&fitted.model));
    let mut bytes = serde_json::to_vec(&document)
        .map_err(|error| Error::Data { expected: "numbers that JSON has".into(), found: error.to_string() })?;
    bytes.push(b'\n');
    Ok(Exported::new(bytes))
}

pub(super) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// What an annotator has beside the scores of labels: how many there are, and who goes with whom.
pub(super) fn annotator(model: &Annotator) -> Map<String, Value> {
    let (count, star) = (&model.count, &model.star);
    let links: Vec<&[f64]> = (0..star.core().len()).map(|c| star.links(c)).collect();
    object(json!({
        "trainer": model.trainer,
        "classifiers": {
            "weights": model.classifiers.score.weights(), "offset": model.classifiers.offset,
            "slope": model.classifiers.slope, "shift": model.classifiers.shift,
        },
        "count_bias": model.count_bias,
        "count": {
            "numbers": count.numbers, "level": count.level, "slope": count.slope, "center": count.center,
        },
        "core": star.core(),
        "links": links,
        "decide": format!("{:?}", model.decide).to_lowercase(),
        "threshold": model.threshold,
    }))
}

/// The steps of a formula, as `docs/export.md` describes them.
fn of_formula(formula: &Formula) -> Map<String, Value> {
    let missing = match &formula.gaps {
        Gaps::Refused => json!({"rule": "refused"}),
        Gaps::Filled(values) => json!({"rule": "filled", "values": values}),
        Gaps::Kept => json!({"rule": "kept"}),
    };
    let scale = match &formula.scale {
        Scaled::No => json!({"rule": "none"}),
        Scaled::By { offset, factor } => json!({"rule": "global", "offset": offset, "factor": factor}),
        Scaled::Query => json!({"rule": "query"}),
        Scaled::Minmax => json!({"rule": "minmax"}),
    };
    let transform = |transform: &ColumnTransform| match transform {
        ColumnTransform::Keep => Value::Null,
        ColumnTransform::Log { unit } => json!({"log": {"unit": unit}}),
        ColumnTransform::Quantile { values, levels } => json!({"quantile": {"values": values, "levels": levels}}),
    };
    let transforms: Vec<Value> = formula.transforms.iter().map(transform).collect();
    let kernel = formula.kernel.as_ref().map(|sum| {
        let rows: Vec<&[f32]> = sum.rows.some_rows(0..sum.rows.rows()).collect();
        json!({"kernel": sum.kernel.form, "gamma": sum.kernel.gamma, "rows": rows, "coefficients": sum.coefficients})
    });
    object(json!({
        "columns": formula.columns,
        "outputs": formula.outputs,
        "missing": missing,
        "flags": formula.flags,
        "transforms": transforms,
        "scale": scale,
        "constant": formula.constant,
        "weights": formula.weights,
        "kernel": kernel,
        "trees": formula.trees.iter().map(tree).collect::<Vec<_>>(),
    }))
}

/// A tree as a list of nodes: a number is a leaf, `[column, cut or list, gap goes left, left, right]` a question.
pub(super) fn tree(tree: &Tree) -> Value {
    let node = |node: &Node| match node {
        Node::Leaf(value) => json!(value),
        Node::Split(split) => {
            let test = match &split.test {
                Test::AtMost(cut) => json!(cut),
                Test::OneOf(values) => json!(values),
            };
            json!([split.column, test, split.gap_left, split.child[0], split.child[1]])
        }
    };
    tree.nodes.iter().map(node).collect()
}
