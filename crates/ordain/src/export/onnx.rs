//! ONNX: a graph of plain operators (version 17), and trees by `ai.onnx.ml` 3.
//!
//! Sums are computed in double precision, as the model does: in single precision weights and kernels that cancel lose digits.

use super::formula::{Formula, Gaps, KernelSum, Scaled};
use super::protobuf::Message;
use super::trees::{Node, Test};
use super::{Exported, Options};
use crate::data::transform::ColumnTransform;
use crate::error::Result;
use crate::kernel::Form;

/// Types of elements of a tensor.
const FLOAT: i64 = 1;
const INT64: i64 = 7;
const BOOL: i64 = 9;
const DOUBLE: i64 = 11;
/// The domain of trees.
const ML: &str = "ai.onnx.ml";

/// A graph under way; every operator has one output, and gives its name.
#[derive(Default)]
struct Graph {
    nodes: Vec<Message>,
    tensors: Vec<Message>,
    named: usize,
    trees: bool,
}

/// An attribute of an operator.
enum Attribute {
    Int(&'static str, i64),
    Ints(&'static str, Vec<i64>),
    Floats(&'static str, Vec<f32>),
    Text(&'static str, &'static str),
    Texts(&'static str, Vec<&'static str>),
}

impl Attribute {
    fn message(&self) -> Message {
        let named = |name: &str| Message::default().bytes(1, name);
        match self {
            Self::Int(name, x) => named(name).int(3, *x).int(20, 2),
            Self::Text(name, text) => named(name).bytes(4, text).int(20, 3),
            Self::Floats(name, list) => named(name).floats(7, list).int(20, 6),
            Self::Ints(name, list) => named(name).ints(8, list.iter().copied()).int(20, 7),
            Self::Texts(name, list) => named(name).all(9, list).int(20, 8),
        }
    }
}

impl Graph {
    fn name(&mut self, what: &str) -> String {
        self.named += 1;
        format!("{what}_{}", self.named)
    }

    fn tensor(&mut self, dims: &[usize], kind: i64, raw: Vec<u8>) -> String {
        let name = self.name("c");
        let dims = dims.iter().map(|&dim| dim as i64);
        self.tensors.push(Message::default().ints(1, dims).int(2, kind).bytes(8, &name).bytes(9, raw));
        name
    }

    /// Constant numbers of double precision.
    fn doubles<X: Into<f64>>(&mut self, dims: &[usize], values: impl IntoIterator<Item = X>) -> String {
        self.tensor(dims, DOUBLE, values.into_iter().flat_map(|x| x.into().to_le_bytes()).collect())
    }

    fn cast(&mut self, input: &str, to: i64) -> String {
        self.with("Cast", "", &[input], &[Attribute::Int("to", to)])
    }

    fn ints(&mut self, values: impl IntoIterator<Item = i64>) -> String {
        let raw: Vec<u8> = values.into_iter().flat_map(i64::to_le_bytes).collect();
        self.tensor(&[raw.len() / 8], INT64, raw)
    }

    fn number(&mut self, x: f64) -> String {
        self.doubles(&[1], [x])
    }

    fn with(&mut self, op: &str, domain: &str, inputs: &[&str], attributes: &[Attribute]) -> String {
        let out = self.name("t");
        let node = Message::default().all(1, inputs).bytes(2, &out).bytes(4, op);
        let node = node.all(5, attributes.iter().map(Attribute::message));
        self.nodes.push(if domain.is_empty() { node } else { node.bytes(7, domain) });
        out
    }

    fn op(&mut self, op: &str, inputs: &[&str]) -> String {
        self.with(op, "", inputs, &[])
    }

    /// Along the columns (1) or the rows (0), of an operator that has its axes as an attribute.
    fn reduce(&mut self, op: &str, input: &str, axis: i64) -> String {
        self.with(op, "", &[input], &[Attribute::Ints("axes", vec![axis]), Attribute::Int("keepdims", 1)])
    }

    fn column(&mut self, input: &str, j: u32) -> String {
        let at = self.ints([i64::from(j)]);
        self.with("Gather", "", &[input, &at], &[Attribute::Int("axis", 1)])
    }

    fn columns(&mut self, parts: &[&str]) -> String {
        self.with("Concat", "", parts, &[Attribute::Int("axis", 1)])
    }

    /// `a · b` by a constant.
    fn times(&mut self, a: &str, x: f64) -> String {
        let x = self.number(x);
        self.op("Mul", &[a, &x])
    }

    /// Gaps filled, and the columns that say where they were.
    fn fill(&mut self, formula: &Formula, x: String) -> String {
        let Gaps::Filled(values) = &formula.gaps else { return x };
        let gap = self.op("IsNaN", &[&x]);
        let fill = self.doubles(&[1, values.len()], values.iter().copied());
        let filled = self.op("Where", &[&gap, &fill, &x]);
        if formula.flags.is_empty() {
            return filled;
        }
        let at = self.ints(formula.flags.iter().map(|&j| i64::from(j)));
        let flags = self.with("Gather", "", &[&gap, &at], &[Attribute::Int("axis", 1)]);
        let flags = self.cast(&flags, DOUBLE);
        self.columns(&[&filled, &flags])
    }

    /// Logarithms of all columns at once, then quantiles of single ones, each put where it belongs.
    fn transform(&mut self, formula: &Formula, mut x: String) -> String {
        let width = formula.width();
        let unit = |j: usize| match formula.transform(j) {
            ColumnTransform::Log { unit } => Some(*unit),
            _ => None,
        };
        if (0..width).any(|j| unit(j).is_some()) {
            let units = self.doubles(&[1, width], (0..width).map(|j| unit(j).unwrap_or(1.0)));
            let (size, sign) = (self.op("Abs", &[&x]), self.op("Sign", &[&x]));
            let size = self.op("Div", &[&size, &units]);
            let one = self.number(1.0);
            let size = self.op("Add", &[&size, &one]);
            let size = self.op("Log", &[&size]);
            let made = self.op("Mul", &[&size, &sign]);
            let raw = (0..width).map(|j| u8::from(unit(j).is_some())).collect();
            let logged = self.tensor(&[1, width], BOOL, raw);
            x = self.op("Where", &[&logged, &made, &x]);
        }
        let mut parts = vec![];
        let mut last = 0;
        for j in 0..width {
            let ColumnTransform::Quantile { values, levels } = formula.transform(j) else { continue };
            if last < j {
                parts.push(self.span(&x, last, j));
            }
            parts.push(self.quantile(&x, j as u32, values, levels));
            last = j + 1;
        }
        if parts.is_empty() {
            return x;
        }
        if last < width {
            parts.push(self.span(&x, last, width));
        }
        self.columns(&parts.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn span(&mut self, x: &str, from: usize, to: usize) -> String {
        let at = self.ints((from..to).map(|j| j as i64));
        self.with("Gather", "", &[x, &at], &[Attribute::Int("axis", 1)])
    }

    /// `level_0 + Σ_k (level_{k+1} − level_k) · clip((x − value_k) / (value_{k+1} − value_k), 0, 1)`.
    fn quantile(&mut self, x: &str, j: u32, values: &[f32], levels: &[f32]) -> String {
        let steps =
            |list: &[f32]| list.windows(2).map(|pair| f64::from(pair[1]) - f64::from(pair[0])).collect::<Vec<_>>();
        let x = self.column(x, j);
        let k = values.len() - 1;
        let first = self.number(f64::from(levels[0]));
        if k == 0 {
            let nothing = self.times(&x, 0.0);
            return self.op("Add", &[&nothing, &first]);
        }
        let starts = self.doubles(&[1, k], values[..k].iter().copied());
        let widths = self.doubles(&[1, k], steps(values));
        let (zero, one) = (self.doubles(&[], [0.0]), self.doubles(&[], [1.0]));
        let from = self.op("Sub", &[&x, &starts]);
        let share = self.op("Div", &[&from, &widths]);
        let share = self.op("Clip", &[&share, &zero, &one]);
        let rises = self.doubles(&[k, 1], steps(levels));
        let sum = self.op("MatMul", &[&share, &rises]);
        self.op("Add", &[&sum, &first])
    }

    fn scale(&mut self, formula: &Formula, x: String) -> String {
        let width = formula.width();
        match &formula.scale {
            Scaled::No => x,
            Scaled::By { offset, factor } => {
                let offset = self.doubles(&[1, width], offset.iter().copied());
                let factor = self.doubles(&[1, width], factor.iter().copied());
                let apart = self.op("Sub", &[&x, &offset]);
                self.op("Mul", &[&apart, &factor])
            }
            Scaled::Query | Scaled::Minmax => {
                let (low, high) = (self.reduce("ReduceMin", &x, 0), self.reduce("ReduceMax", &x, 0));
                let (apart, wide) = if formula.scale == Scaled::Minmax {
                    (self.op("Sub", &[&x, &low]), self.op("Sub", &[&high, &low]))
                } else {
                    let mean = self.reduce("ReduceMean", &x, 0);
                    let apart = self.op("Sub", &[&x, &mean]);
                    let square = self.op("Mul", &[&apart, &apart]);
                    let square = self.reduce("ReduceMean", &square, 0);
                    (apart, self.op("Sqrt", &[&square]))
                };
                let scaled = self.op("Div", &[&apart, &wide]);
                let varies = self.op("Greater", &[&high, &low]);
                let zero = self.number(0.0);
                self.op("Where", &[&varies, &scaled, &zero])
            }
        }
    }

    fn kernel(&mut self, sum: &KernelSum, x: &str) -> String {
        let (m, d) = (sum.rows.rows(), sum.rows.cols());
        let gamma = sum.kernel.gamma;
        let beta = self.doubles(&[m, 1], sum.coefficients.iter().copied());
        let made = match sum.kernel.form {
            Form::Rbf | Form::Poly { .. } | Form::Linear => {
                let turned = (0..d).flat_map(|j| (0..m).map(move |i| (i, j)));
                let core = self.doubles(&[d, m], turned.map(|(i, j)| sum.rows.row(i)[j]));
                let inner = self.op("MatMul", &[x, &core]);
                self.of_inner(sum, x, &inner, gamma)
            }
            form => {
                let axis = self.ints([1]);
                let x = self.op("Unsqueeze", &[x, &axis]);
                let core = self.doubles(&[1, m, d], sum.rows.values().iter().copied());
                let apart = match form {
                    Form::Intersection => self.op("Min", &[&x, &core]),
                    Form::Laplace => {
                        let apart = self.op("Sub", &[&x, &core]);
                        self.op("Abs", &[&apart])
                    }
                    _ => self.chi2(&x, &core),
                };
                let axis = self.ints([2]);
                let total = self.with("ReduceSum", "", &[&apart, &axis], &[Attribute::Int("keepdims", 0)]);
                if form == Form::Intersection {
                    total
                } else {
                    let power = self.times(&total, -gamma);
                    self.op("Exp", &[&power])
                }
            }
        };
        self.op("MatMul", &[&made, &beta])
    }

    /// The kernel of inner products.
    fn of_inner(&mut self, sum: &KernelSum, x: &str, inner: &str, gamma: f64) -> String {
        match sum.kernel.form {
            Form::Poly { degree, coef0 } => {
                let inner = self.times(inner, gamma);
                let coef0 = self.number(coef0);
                let base = self.op("Add", &[&inner, &coef0]);
                let power = self.number(f64::from(degree));
                self.op("Pow", &[&base, &power])
            }
            Form::Rbf => {
                let square = |row: &[f32]| row.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>();
                let squares: Vec<f64> = sum.rows.some_rows(0..sum.rows.rows()).map(square).collect();
                let squares = self.doubles(&[1, sum.rows.rows()], squares);
                let own = self.op("Mul", &[x, x]);
                let axis = self.ints([1]);
                let own = self.with("ReduceSum", "", &[&own, &axis], &[Attribute::Int("keepdims", 1)]);
                let both = self.op("Add", &[&own, &squares]);
                let twice = self.times(inner, 2.0);
                let apart = self.op("Sub", &[&both, &twice]);
                let power = self.times(&apart, -gamma);
                self.op("Exp", &[&power])
            }
            _ => inner.into(),
        }
    }

    /// `(a − b)² / (a + b)`, 0 where both are 0.
    fn chi2(&mut self, a: &str, b: &str) -> String {
        let (apart, both) = (self.op("Sub", &[a, b]), self.op("Add", &[a, b]));
        let square = self.op("Mul", &[&apart, &apart]);
        let zero = self.number(0.0);
        let any = self.op("Greater", &[&both, &zero]);
        let one = self.number(1.0);
        let safe = self.op("Where", &[&any, &both, &one]);
        self.op("Div", &[&square, &safe])
    }

    /// The sum of trees on the data. A question by a list is a column that says whether the value is in it.
    fn forest(&mut self, formula: &Formula, x: &str) -> String {
        self.trees = true;
        let mut made: Vec<String> = vec![];
        let mut nodes = TreeNodes::default();
        for (t, tree) in formula.trees.iter().enumerate() {
            for (at, node) in tree.nodes.iter().enumerate() {
                let Node::Split(split) = node else {
                    if let Node::Leaf(value) = node {
                        nodes.leaf(t, at, *value as f32);
                    }
                    continue;
                };
                let (column, cut, gap_left) = match &split.test {
                    Test::AtMost(cut) => (split.column as usize, *cut, split.gap_left),
                    Test::OneOf(values) => {
                        let inside = self.outside(x, split.column, values, split.gap_left);
                        made.push(inside);
                        (formula.columns.len() + made.len() - 1, 0.5, false)
                    }
                };
                nodes.split(t, at, column, cut, gap_left, split.child);
            }
        }
        let input = if made.is_empty() {
            x.to_owned()
        } else {
            let parts: Vec<&str> = std::iter::once(x).chain(made.iter().map(String::as_str)).collect();
            self.columns(&parts)
        };
        self.with("TreeEnsembleRegressor", ML, &[&input], &nodes.attributes())
    }

    /// 1 where a value is not in a list, and a gap does not count as one that is.
    fn outside(&mut self, x: &str, column: u32, values: &[f32], gap_left: bool) -> String {
        let own = self.column(x, column);
        let list = values.iter().copied().chain(values.is_empty().then_some(f32::NAN));
        let list = self.tensor(&[1, values.len().max(1)], FLOAT, list.flat_map(f32::to_le_bytes).collect());
        let same = self.op("Equal", &[&own, &list]);
        let same = self.cast(&same, FLOAT);
        let mut inside = self.reduce("ReduceMax", &same, 1);
        if gap_left {
            let gap = self.op("IsNaN", &[&own]);
            let gap = self.cast(&gap, FLOAT);
            inside = self.op("Add", &[&inside, &gap]);
        }
        let one = self.tensor(&[1], FLOAT, 1f32.to_le_bytes().to_vec());
        self.op("Sub", &[&one, &inside])
    }
}

/// The attributes of trees, node after node.
#[derive(Default)]
struct TreeNodes {
    tree: Vec<i64>,
    node: Vec<i64>,
    column: Vec<i64>,
    mode: Vec<&'static str>,
    cut: Vec<f32>,
    yes: Vec<i64>,
    no: Vec<i64>,
    gap: Vec<i64>,
    leaf_tree: Vec<i64>,
    leaf_node: Vec<i64>,
    leaf: Vec<f32>,
}

impl TreeNodes {
    fn push(&mut self, (tree, node): (usize, usize), column: usize, mode: &'static str, cut: f32, ways: [i64; 3]) {
        self.tree.push(tree as i64);
        self.node.push(node as i64);
        self.column.push(column as i64);
        self.mode.push(mode);
        self.cut.push(cut);
        self.yes.push(ways[0]);
        self.no.push(ways[1]);
        self.gap.push(ways[2]);
    }

    fn split(&mut self, tree: usize, node: usize, column: usize, cut: f32, gap_left: bool, child: [u32; 2]) {
        let ways = [i64::from(child[0]), i64::from(child[1]), i64::from(gap_left)];
        self.push((tree, node), column, "BRANCH_LEQ", cut, ways);
    }

    fn leaf(&mut self, tree: usize, node: usize, value: f32) {
        self.push((tree, node), 0, "LEAF", 0.0, [0; 3]);
        self.leaf_tree.push(tree as i64);
        self.leaf_node.push(node as i64);
        self.leaf.push(value);
    }

    fn attributes(self) -> Vec<Attribute> {
        let leaves = self.leaf.len();
        vec![
            Attribute::Text("aggregate_function", "SUM"),
            Attribute::Int("n_targets", 1),
            Attribute::Ints("nodes_falsenodeids", self.no),
            Attribute::Ints("nodes_featureids", self.column),
            Attribute::Ints("nodes_missing_value_tracks_true", self.gap),
            Attribute::Texts("nodes_modes", self.mode),
            Attribute::Ints("nodes_nodeids", self.node),
            Attribute::Ints("nodes_treeids", self.tree),
            Attribute::Ints("nodes_truenodeids", self.yes),
            Attribute::Floats("nodes_values", self.cut),
            Attribute::Text("post_transform", "NONE"),
            Attribute::Ints("target_ids", vec![0; leaves]),
            Attribute::Ints("target_nodeids", self.leaf_node),
            Attribute::Ints("target_treeids", self.leaf_tree),
            Attribute::Floats("target_weights", self.leaf),
        ]
    }
}

/// A value of the graph: `[n, columns]` numbers.
fn value_info(name: &str, columns: usize) -> Message {
    let dim = |dim: Message| Message::default().bytes(1, dim);
    let rows = dim(Message::default().bytes(2, "n"));
    let columns = dim(Message::default().int(1, columns as i64));
    let shape = [rows, columns].iter().fold(Vec::new(), |mut all, dim| {
        all.extend_from_slice(dim.as_ref());
        all
    });
    let tensor = Message::default().int(1, FLOAT).bytes(2, shape);
    Message::default().bytes(1, name).bytes(2, Message::default().bytes(1, tensor))
}

pub(super) fn write(formula: &Formula, how: &Options, digest: &str) -> Result<Exported> {
    let outputs = formula.outputs.len();
    let mut graph = Graph::default();
    let mut sum: Option<String> = None;
    let add = |graph: &mut Graph, part: String, sum: Option<String>| match sum {
        Some(sum) => Some(graph.op("Add", &[&sum, &part])),
        None => Some(part),
    };
    if !formula.weights.is_empty() || formula.kernel.is_some() {
        let x = graph.cast("X", DOUBLE);
        let x = graph.fill(formula, x);
        let x = graph.transform(formula, x);
        let x = graph.scale(formula, x);
        if !formula.weights.is_empty() {
            let weights = graph.doubles(&[formula.width(), outputs], formula.weights.iter().copied());
            let part = graph.op("MatMul", &[&x, &weights]);
            sum = add(&mut graph, part, sum);
        }
        if let Some(kernel) = &formula.kernel {
            let part = graph.kernel(kernel, &x);
            sum = add(&mut graph, part, sum);
        }
    }
    if !formula.trees.is_empty() {
        let part = graph.forest(formula, "X");
        let part = graph.cast(&part, DOUBLE);
        sum = add(&mut graph, part, sum);
    }
    let constant = graph.doubles(&[1, outputs], formula.constant.iter().copied());
    let sum = match sum {
        Some(sum) => sum,
        None => {
            let none = graph.doubles(&[formula.columns.len(), outputs], vec![0.0; formula.columns.len() * outputs]);
            let x = graph.cast("X", DOUBLE);
            graph.op("MatMul", &[&x, &none])
        }
    };
    let name = if outputs == 1 { "score" } else { "scores" };
    let sum = graph.op("Add", &[&sum, &constant]);
    let single = Attribute::Int("to", FLOAT).message();
    graph.nodes.push(Message::default().bytes(1, sum).bytes(2, name).bytes(4, "Cast").bytes(5, single));

    let body = Message::default()
        .all(1, &graph.nodes)
        .bytes(2, &how.name)
        .all(5, &graph.tensors)
        .bytes(11, value_info("X", formula.columns.len()))
        .bytes(12, value_info(name, outputs));
    let names = serde_json::Value::from(formula.columns.clone()).to_string();
    let missing = match formula.gaps {
        Gaps::Refused => "refused",
        Gaps::Filled(_) => "filled",
        Gaps::Kept => "kept",
    };
    let mut facts = vec![("feature_names", names), ("missing", missing.into()), ("ordain", digest.to_owned())];
    if outputs > 1 {
        facts.push(("outputs", serde_json::Value::from(formula.outputs.clone()).to_string()));
    }
    if formula.by_query() {
        facts.push(("contract", "one query per call".into()));
    }
    let opset = |domain: &str, version: i64| Message::default().bytes(1, domain).int(2, version);
    let mut model = Message::default()
        .int(1, 8)
        .bytes(2, "ordain")
        .bytes(3, env!("CARGO_PKG_VERSION"))
        .bytes(7, body)
        .bytes(8, opset("", 17));
    if graph.trees {
        model = model.bytes(8, opset(ML, 3));
    }
    let facts = facts.iter().map(|(name, value)| Message::default().bytes(1, name).bytes(2, value));
    let mut made = Exported::new(model.all(14, facts).into_bytes());
    if formula.gaps == Gaps::Refused {
        made.warnings.push("the model refuses gaps; in ONNX a NaN goes through, and its score is of no use".into());
    }
    Ok(made)
}
