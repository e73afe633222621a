//! Trees in the files of XGBoost and LightGBM.

use super::formula::{Formula, Gaps};
use super::search::{below, categories};
use super::sql::cut_of_doubles;
use super::trees::{Node, Split, Test, Tree};
use super::{Exported, Options};
use crate::error::{Error, Result};
use serde_json::{Value, json};
use std::fmt::Write;

fn check(formula: &Formula) -> Result<()> {
    let found = match formula {
        _ if formula.trees.is_empty() => "weights or kernels",
        _ if !formula.weights.is_empty() => "trees on top of weights",
        _ => return Ok(()),
    };
    Err(Error::Data {
        expected: "trees alone (fit with scorer=trees; onnx, sql, python and json take the others)".into(),
        found: found.into(),
    })
}

fn made(formula: &Formula, text: String) -> Exported {
    let mut made = Exported::new(text);
    if formula.gaps == Gaps::Refused {
        made.warnings.push("the model refuses gaps; trees elsewhere send them somewhere".into());
    }
    made
}

/// The file of `Booster.load_model`, and of `xgb.Booster(model_file=…)`.
pub(super) fn xgboost(formula: &Formula, how: &Options) -> Result<Exported> {
    check(formula)?;
    let trees: Result<Vec<Value>> =
        formula.trees.iter().enumerate().map(|(id, tree)| xgboost_tree(tree, id, formula)).collect();
    let names: Vec<&str> = formula.columns.iter().map(|name| how.mapped(name)).collect();
    let columns = formula.columns.len();
    let model = json!({
        "learner": {
            "attributes": {},
            "feature_names": names,
            "feature_types": vec!["float"; columns],
            "gradient_booster": {
                "model": {
                    "gbtree_model_param": {
                        "num_parallel_tree": "1",
                        "num_trees": formula.trees.len().to_string(),
                    },
                    "iteration_indptr": (0..=formula.trees.len()).collect::<Vec<_>>(),
                    "tree_info": vec![0; formula.trees.len()],
                    "trees": trees?,
                },
                "name": "gbtree",
            },
            "learner_model_param": {
                "base_score": "0E0",
                "boost_from_average": "1",
                "num_class": "0",
                "num_feature": columns.to_string(),
                "num_target": "1",
            },
            "objective": {"name": "reg:squarederror", "reg_loss_param": {"scale_pos_weight": "1"}},
        },
        "version": [2, 1, 0],
    });
    Ok(made(formula, format!("{model}\n")))
}

fn xgboost_tree(tree: &Tree, id: usize, formula: &Formula) -> Result<Value> {
    const NONE: i64 = 2_147_483_647;
    let n = tree.nodes.len();
    let (mut left, mut right, mut parents) = (vec![-1i64; n], vec![-1i64; n], vec![NONE; n]);
    let (mut cut, mut column, mut gap, mut gain) = (vec![0.0f32; n], vec![0u32; n], vec![0u8; n], vec![0.0f32; n]);
    let mut weight = vec![0.0f32; n];
    for (at, node) in tree.nodes.iter().enumerate() {
        match node {
            Node::Leaf(value) => (cut[at], weight[at]) = (*value as f32, *value as f32),
            Node::Split(split) => {
                [left[at], right[at]] = split.child.map(i64::from);
                split.child.iter().for_each(|&child| parents[child as usize] = at as i64);
                (cut[at], column[at], gap[at]) = (below(split, formula)?, split.column, u8::from(split.gap_left));
                gain[at] = split.gain as f32;
            }
        }
    }
    Ok(json!({
        "base_weights": weight,
        "categories": [],
        "categories_nodes": [],
        "categories_segments": [],
        "categories_sizes": [],
        "default_left": gap,
        "id": id,
        "left_children": left,
        "loss_changes": gain,
        "parents": parents,
        "right_children": right,
        "split_conditions": cut,
        "split_indices": column,
        "split_type": vec![0; n],
        "sum_hessian": vec![1.0; n],
        "tree_param": {
            "num_deleted": "0",
            "num_feature": formula.columns.len().to_string(),
            "num_nodes": n.to_string(),
            "size_leaf_vector": "1",
        },
    }))
}

/// The text of `Booster(model_str=…)`: `x <= threshold` goes left.
pub(super) fn lightgbm(formula: &Formula, how: &Options) -> Result<Exported> {
    check(formula)?;
    let names: Vec<String> = formula.columns.iter().map(|name| how.mapped(name).to_owned()).collect();
    if let Some(name) = names.iter().find(|name| name.contains(|c: char| c.is_whitespace() || ",:\"[]{}".contains(c))) {
        return Err(Error::Data {
            expected: "names of columns without blanks and without , : \" [ ] { } (give them other names: map)".into(),
            found: format!("{name:?}"),
        });
    }
    let mut text = format!(
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx={}\nobjective=regression\n\
         feature_names={}\nfeature_infos={}\n\n",
        formula.columns.len() - 1,
        names.join(" "),
        vec!["[-1e308:1e308]"; names.len()].join(" "),
    );
    for (id, tree) in formula.trees.iter().enumerate() {
        lightgbm_tree(tree, id, formula, &mut text)?;
    }
    text.push_str("end of trees\n\npandas_categorical:null\n");
    Ok(made(formula, text))
}

fn lightgbm_tree(tree: &Tree, id: usize, formula: &Formula, text: &mut String) -> Result<()> {
    let (mut places, mut leaves, mut splits) = (vec![0i64; tree.nodes.len()], vec![], vec![]);
    for (at, node) in tree.nodes.iter().enumerate() {
        match node {
            Node::Leaf(value) => {
                places[at] = -1 - leaves.len() as i64;
                leaves.push(*value);
            }
            Node::Split(split) => {
                places[at] = splits.len() as i64;
                splits.push(split);
            }
        }
    }
    let cut = |split: &&Split| match split.test {
        Test::AtMost(cut) => Ok(cut_of_doubles(cut)),
        Test::OneOf(_) => Err(categories(split, formula)),
    };
    let cuts: Result<Vec<f64>> = splits.iter().map(cut).collect();
    let mut line = |name: &str, values: Vec<String>| {
        let _ = writeln!(text, "{name}={}", values.join(" "));
    };
    let of = |one: &dyn Fn(&Split) -> String| splits.iter().map(|split| one(split)).collect::<Vec<_>>();
    line("Tree", vec![id.to_string()]);
    line("num_leaves", vec![leaves.len().to_string()]);
    line("num_cat", vec!["0".into()]);
    if !splits.is_empty() {
        line("split_feature", of(&|split| split.column.to_string()));
        line("split_gain", of(&|split| split.gain.to_string()));
        line("threshold", cuts?.iter().map(|cut| format!("{cut:e}")).collect());
        // a missing value is NaN, and goes left or right by default
        line("decision_type", of(&|split| if split.gap_left { "10" } else { "8" }.into()));
        line("left_child", of(&|split| places[split.child[0] as usize].to_string()));
        line("right_child", of(&|split| places[split.child[1] as usize].to_string()));
    }
    line("leaf_value", leaves.iter().map(|value| format!("{value:e}")).collect());
    line("is_linear", vec!["0".into()]);
    line("shrinkage", vec!["1".into()]);
    text.push_str("\n\n");
    Ok(())
}
