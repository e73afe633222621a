//! Search engines: the learning-to-rank plugin of Elasticsearch and OpenSearch, and the module of Solr.

use super::formula::{Formula, Gaps, Scaled};
use super::trees::{Node, Split, Test, Tree};
use super::{Exported, Options};
use crate::data::transform::ColumnTransform;
use crate::error::{Error, Result};
use serde_json::{Map, Value, json};

/// A column that has a weight: its name in the engine, the weight, what is subtracted, and what the rest is divided by.
struct Weighted {
    name: String,
    weight: f32,
    mean: f32,
    deviation: f32,
}

/// The name of a column behind its logarithm.
fn logged(name: &str) -> String {
    format!("{name}_log")
}

/// The name of the constant feature.
const SHIFT: &str = "ordain_shift";

fn refused(expected: &str, found: impl Into<String>) -> Error {
    Error::Data { expected: expected.into(), found: found.into() }
}

/// Refuses what no search engine computes.
fn check(formula: &Formula) -> Result<()> {
    if formula.outputs.len() > 1 {
        return Err(refused(
            "a model that ranks (json, python, sql and onnx take scores of labels)",
            "one that annotates",
        ));
    }
    if formula.kernel.is_some() {
        return Err(refused("weights or trees (onnx, python, sql and json take kernels)", "a sum of kernels"));
    }
    if !formula.trees.is_empty() && !formula.weights.is_empty() {
        return Err(refused(
            "weights or trees, not both (fit with scorer=trees or scorer=linear; onnx, python, sql and json take both)",
            "trees on top of weights",
        ));
    }
    Ok(())
}

/// The columns that count, as an engine is to compute them.
fn weighted(formula: &Formula, how: &Options) -> Result<Vec<Weighted>> {
    let (offset, factor) = match &formula.scale {
        Scaled::By { offset, factor } => (Some(offset), Some(factor)),
        _ => (None, None),
    };
    let mut all = vec![];
    for (j, &weight) in formula.weights.iter().enumerate() {
        let factor = factor.map_or(1.0, |factor| factor[j]);
        if weight == 0.0 || factor == 0.0 {
            continue;
        }
        let Some(column) = formula.columns.get(j) else {
            return Err(refused(
                "a model without columns that say where others have gaps (fit with missing=zero; python, sql and onnx take them)",
                "missing=indicator",
            ));
        };
        let name = match formula.transform(j) {
            ColumnTransform::Keep => how.mapped(column).to_owned(),
            ColumnTransform::Log { .. } => logged(how.mapped(column)),
            ColumnTransform::Quantile { .. } => {
                return Err(refused(
                    "columns as they are, or logarithms (fit with transform=log, or exportable=search; onnx, sql, python and json take quantiles)",
                    format!("transform=quantile of {column:?}"),
                ));
            }
        };
        let mean = offset.map_or(0.0, |offset| offset[j]);
        all.push(Weighted { name, weight: weight as f32, mean, deviation: 1.0 / factor });
    }
    Ok(all)
}

/// Columns whose logarithm counts: name in the engine, name of the logarithm, unit.
fn logs(formula: &Formula, how: &Options) -> Vec<(String, String, f32)> {
    let one = |(j, column): (usize, &String)| match formula.transform(j) {
        ColumnTransform::Log { unit } if formula.weights.get(j).is_some_and(|&w| w != 0.0) => {
            let name = how.mapped(column);
            Some((name.to_owned(), logged(name), *unit))
        }
        _ => None,
    };
    formula.columns.iter().enumerate().filter_map(one).collect()
}

fn warnings(formula: &Formula, shift: Option<f32>) -> Vec<String> {
    let mut warnings = vec![];
    match &formula.gaps {
        Gaps::Filled(values) if values.iter().any(|&x| x != 0.0) => {
            warnings.push(
                "the engine counts a feature without a value as 0, the model as its mean: give every feature a value"
                    .into(),
            );
        }
        Gaps::Kept => warnings.push(
            "the engine counts a feature without a value as 0, the trees know gaps: give every feature a value".into(),
        ),
        Gaps::Refused => warnings.push("the engine counts a feature without a value as 0, the model refuses it".into()),
        Gaps::Filled(_) => {}
    }
    if shift.is_some() {
        warnings.push(format!("add the feature {SHIFT:?}, whose value is always 1"));
    }
    warnings.push("a constant is left out: it changes no order".into());
    warnings
}

/// The body of `POST _ltr/_featureset/FEATURESET/_createmodel`.
pub(super) fn elasticsearch(formula: &Formula, how: &Options) -> Result<Exported> {
    check(formula)?;
    let model = if formula.trees.is_empty() {
        let columns = weighted(formula, how)?;
        let mut weights: Map<String, Value> = columns.iter().map(|one| (one.name.clone(), json!(one.weight))).collect();
        if let Some(shift) = how.shift {
            weights.insert(SHIFT.into(), json!(shift));
        }
        let mut model = Map::from_iter([("type".to_owned(), json!("model/linear"))]);
        if matches!(formula.scale, Scaled::By { .. }) {
            let normalizer = |one: &Weighted| {
                let by = json!({"standard": {"mean": one.mean, "standard_deviation": one.deviation}});
                (one.name.clone(), by)
            };
            model.insert("feature_normalizers".into(), columns.iter().map(normalizer).collect::<Map<_, _>>().into());
        }
        model.insert("definition".into(), Value::Object(weights).to_string().into());
        Value::Object(model)
    } else {
        let trees: Result<Vec<Value>> = formula.trees.iter().map(|tree| dump(tree, formula, how)).collect();
        json!({"type": "model/xgboost+json", "definition": Value::Array(trees?).to_string()})
    };
    let body = json!({"model": {"name": how.name, "model": model}});
    let mut made = Exported::new(format!("{body:#}\n"));
    made.warnings = warnings(formula, how.shift);
    let logs = logs(formula, how);
    if !logs.is_empty() {
        let feature = |(name, logged, unit): &(String, String, f32)| {
            let template = format!("{name} >= 0 ? ln(1 + {name} / {unit:?}) : -ln(1 - {name} / {unit:?})");
            json!({"name": logged, "params": [], "template_language": "derived_expression", "template": template})
        };
        let features: Vec<Value> = logs.iter().map(feature).collect();
        let body = json!({"features": features});
        made.beside.push((".features.json", format!("{body:#}\n").into_bytes()));
        made.warnings.push(format!(
            "{} columns count by their logarithm: POST the file .features.json to _ltr/_featureset/{}/_addfeatures first",
            logs.len(),
            how.featureset
        ));
    }
    Ok(made)
}

/// A tree as XGBoost dumps it: `x < split_condition` goes to `yes`.
pub(super) fn dump(tree: &Tree, formula: &Formula, how: &Options) -> Result<Value> {
    fn node(tree: &Tree, at: u32, depth: usize, formula: &Formula, how: &Options) -> Result<Value> {
        match &tree.nodes[at as usize] {
            Node::Leaf(value) => Ok(json!({"nodeid": at, "leaf": *value as f32})),
            Node::Split(split) => {
                let [yes, no] = split.child;
                let children = [node(tree, yes, depth + 1, formula, how)?, node(tree, no, depth + 1, formula, how)?];
                Ok(json!({
                    "nodeid": at,
                    "depth": depth,
                    "split": how.mapped(&formula.columns[split.column as usize]),
                    "split_condition": below(split, formula)?,
                    "yes": yes,
                    "no": no,
                    "missing": if split.gap_left { yes } else { no },
                    "children": children,
                }))
            }
        }
    }
    node(tree, 0, 0, formula, how)
}

/// The number below which values go left.
pub(super) fn below(split: &Split, formula: &Formula) -> Result<f32> {
    match &split.test {
        Test::AtMost(cut) => Ok(if *cut >= f32::MAX { f32::MAX } else { cut.next_up() }),
        Test::OneOf(_) => Err(categories(split, formula)),
    }
}

pub(super) fn categories(split: &Split, formula: &Formula) -> Error {
    refused(
        "cuts of numbers (fit without categories; onnx, sql, python and json take them)",
        format!("a list of categories of {:?}", formula.columns[split.column as usize]),
    )
}

/// An entry of the model store, for `PUT schema/model-store`.
pub(super) fn solr(formula: &Formula, how: &Options) -> Result<Exported> {
    check(formula)?;
    let body = if formula.trees.is_empty() { solr_linear(formula, how)? } else { solr_trees(formula, how)? };
    let mut made = Exported::new(format!("{body:#}\n"));
    made.warnings = warnings(formula, how.shift);
    let logs = logs(formula, how);
    if !logs.is_empty() {
        let feature = |(name, logged, unit): &(String, String, f32)| {
            json!({
                "name": logged,
                "class": "org.apache.solr.ltr.feature.SolrFeature",
                "store": how.store,
                "params": {"q": format!("{{!func}}ln(sum(1,div({name},{unit:?})))")},
            })
        };
        let features: Vec<Value> = logs.iter().map(feature).collect();
        made.beside.push((".features.json", format!("{:#}\n", Value::Array(features)).into_bytes()));
        made.warnings.push(format!(
            "{} columns count by their logarithm: PUT the file .features.json to schema/feature-store first. It takes these columns \
             for fields without values below 0; change its functions for others",
            logs.len()
        ));
    }
    Ok(made)
}

fn solr_linear(formula: &Formula, how: &Options) -> Result<Value> {
    let columns = weighted(formula, how)?;
    let feature = |one: &Weighted| match formula.scale {
        Scaled::By { .. } => json!({"name": one.name, "norm": {
            "class": "org.apache.solr.ltr.norm.StandardNormalizer",
            "params": {"avg": format!("{:?}", one.mean), "std": format!("{:?}", one.deviation)},
        }}),
        _ => json!({"name": one.name}),
    };
    let mut features: Vec<Value> = columns.iter().map(feature).collect();
    let mut weights: Map<String, Value> = columns.iter().map(|one| (one.name.clone(), json!(one.weight))).collect();
    if let Some(shift) = how.shift {
        features.push(json!({"name": SHIFT}));
        weights.insert(SHIFT.into(), json!(shift));
    }
    Ok(json!({
        "class": "org.apache.solr.ltr.model.LinearModel",
        "name": how.name,
        "store": how.store,
        "features": features,
        "params": {"weights": weights},
    }))
}

/// `x <= threshold` goes left.
fn solr_trees(formula: &Formula, how: &Options) -> Result<Value> {
    fn node(tree: &Tree, at: u32, formula: &Formula, how: &Options) -> Result<Value> {
        match &tree.nodes[at as usize] {
            Node::Leaf(value) => Ok(json!({"value": format!("{:?}", *value as f32)})),
            Node::Split(split) => {
                let Test::AtMost(cut) = split.test else { return Err(categories(split, formula)) };
                Ok(json!({
                    "feature": how.mapped(&formula.columns[split.column as usize]),
                    "threshold": format!("{cut:?}"),
                    "left": node(tree, split.child[0], formula, how)?,
                    "right": node(tree, split.child[1], formula, how)?,
                }))
            }
        }
    }
    let trees: Result<Vec<Value>> =
        formula.trees.iter().map(|tree| Ok(json!({"weight": "1.0", "root": node(tree, 0, formula, how)?}))).collect();
    let features: Vec<Value> = formula.columns.iter().map(|name| json!({"name": how.mapped(name)})).collect();
    Ok(json!({
        "class": "org.apache.solr.ltr.model.MultipleAdditiveTreesModel",
        "name": how.name,
        "store": how.store,
        "features": features,
        "params": {"trees": trees?},
    }))
}
