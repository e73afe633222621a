//! Model files: a safetensors file whose metadata holds one JSON header, with a checksum over both.
//!
//! The same model gives the same bytes. Loading executes nothing, allocates no more than the file is long, and refuses
//! whatever is damaged, too new or inconsistent. What all tasks share is here; each task stores its own parameters
//! ([`Stored`]) in a file of its own.

mod annotate;
mod matching;
mod rank;
mod score;

pub use annotate::LabelParts;
pub use matching::MatchParts;
pub use rank::RankParts;
pub use score::ExpansionHeader;

use crate::data::ranges::{KEPT, Ranges};
use crate::data::scale::{Affine, Scale};
use crate::data::transform::{ColumnTransform, Transforms};
use crate::data::{Columns, Missing, peek, read_plain, write_whole};
use crate::error::{Error, Result};
use crate::features::Steps;
use crate::method::{Annotate, Match, Rank};
use crate::random::GENERATOR;
use crate::task::{Facts, Fitted, Inputs, Journal, Method as _, Model as _, Task};
use crate::traits::State;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// The version of the format that is written, and the newest that is read.
pub const FORMAT: u32 = 1;
const KEY: &str = "ordain";
const NO_CHECKSUM: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// How the parameters of a task stand in a file.
pub trait Stored: Task {
    /// What the header says beside what all tasks have.
    type Parts: Clone + std::fmt::Debug + PartialEq + Serialize + DeserializeOwned;
    /// This part of the header of a model.
    fn parts(model: &Self::Model) -> Self::Parts;
    /// Adds the numbers of a model.
    fn store(model: &Self::Model, to: &mut Tensors);
    /// Number of parameters that a solver moves: the length of those in a journal.
    fn parameters(model: &Self::Model) -> usize {
        model.inputs().columns.names.len()
    }
    /// The model of a file whose checksum is right.
    fn restore(inputs: Inputs, parts: &Self::Parts, facts: &Facts<Self::Notes>, from: &Opened) -> Result<Self::Model>;
}

/// The JSON header of a model file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Header<T: Stored> {
    /// Version of the format.
    pub format: u32,
    /// Version of ordain that wrote it.
    pub ordain: String,
    /// The task.
    pub task: String,
    /// The columns that the model takes.
    pub features: Columns,
    /// What makes columns of cells that are no numbers, if any do.
    #[serde(default, skip_serializing_if = "Steps::is_empty")]
    pub steps: Steps,
    /// Which of them are transformed before they are scaled, if any are; the numbers are tensors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transformed: Option<Transformed>,
    /// How they are scaled; the numbers are tensors.
    pub scale: Scale,
    /// What missing values mean.
    pub missing: Missing,
    /// What the task adds.
    #[serde(flatten)]
    pub parts: T::Parts,
    /// Method, settings and training.
    #[serde(flatten)]
    pub facts: Facts<T::Notes>,
    /// The generator behind the seed.
    pub generator: String,
    /// BLAKE3 of this header, with zeros here, and of the tensors.
    pub checksum: String,
}

impl<T: Stored> Header<T> {
    /// The header of a model.
    pub fn of(fitted: &Fitted<T>) -> Self {
        let inputs = fitted.model.inputs();
        Self {
            format: FORMAT,
            ordain: env!("CARGO_PKG_VERSION").into(),
            task: T::WORDS.name.into(),
            features: inputs.columns.clone(),
            steps: inputs.steps.clone(),
            transformed: Transformed::of(inputs),
            scale: inputs.scale,
            missing: inputs.missing,
            parts: T::parts(&fitted.model),
            facts: fitted.facts.clone(),
            generator: GENERATOR.into(),
            checksum: NO_CHECKSUM.into(),
        }
    }
}

/// The columns of a model that are transformed, by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Transformed {
    /// Those that become their logarithm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
    /// Those that become their quantile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quantile: Vec<String>,
}

impl Transformed {
    /// Those of a model, if there are any.
    pub fn of(inputs: &Inputs) -> Option<Self> {
        let names = |is: fn(&ColumnTransform) -> bool| {
            let columns = inputs.columns.names.iter().zip(inputs.transforms.columns());
            columns.filter(|(_, column)| is(column)).map(|(name, _)| name.clone()).collect()
        };
        (!inputs.transforms.is_empty()).then(|| Self {
            log: names(|column| matches!(column, ColumnTransform::Log { .. })),
            quantile: names(|column| matches!(column, ColumnTransform::Quantile { .. })),
        })
    }
}

/// A model of any task.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)] // there is one of them at a time
#[non_exhaustive]
pub enum AnyModel {
    /// A ranker.
    Rank(Fitted<Rank>),
    /// An annotator.
    Annotate(Fitted<Annotate>),
    /// A matcher.
    Match(Fitted<Match>),
}

/// Named numbers, as they stand in the file.
#[derive(Default)]
pub struct Tensors(Vec<(String, Dtype, Vec<u8>)>);

impl Tensors {
    fn f32s(&mut self, name: &str, values: &[f32]) {
        self.0.push((name.into(), Dtype::F32, values.iter().flat_map(|x| x.to_le_bytes()).collect()));
    }

    fn f64s(&mut self, name: &str, values: &[f64]) {
        self.0.push((name.into(), Dtype::F64, values.iter().flat_map(|x| x.to_le_bytes()).collect()));
    }

    fn u32s(&mut self, name: &str, values: impl Iterator<Item = u32>) {
        self.0.push((name.into(), Dtype::U32, values.flat_map(u32::to_le_bytes).collect()));
    }

    fn u8s(&mut self, name: &str, values: impl Iterator<Item = u8>) {
        self.0.push((name.into(), Dtype::U8, values.collect()));
    }
}

/// The bytes of a model file.
pub fn to_bytes<T: Stored>(fitted: &Fitted<T>) -> Vec<u8> {
    pack(&Header::of(fitted), &tensors_of(fitted).0)
}

/// The tensors of a model file.
fn tensors_of<T: Stored>(fitted: &Fitted<T>) -> Tensors {
    let mut tensors = Tensors::default();
    T::store(&fitted.model, &mut tensors);
    let inputs = fitted.model.inputs();
    if let Some(affine) = &inputs.global {
        tensors.f32s("scale_offset", &affine.offset);
        tensors.f32s("scale_factor", &affine.factor);
    }
    store_transforms(inputs.transforms.columns(), &mut tensors);
    if !inputs.ranges.is_empty() {
        tensors.u32s("range_units", std::iter::once(inputs.ranges.units()));
        tensors.f32s("ranges", inputs.ranges.columns().as_flattened());
    }
    if let Some(means) = &inputs.means {
        tensors.f32s("missing_means", means);
    }
    for (name, values) in fitted.journal.iter().flat_map(Journal::to_state) {
        tensors.f64s(&format!("journal/{name}"), &values);
    }
    tensors
}

/// The numbers of transforms: the unit of each logarithm, 0 where there is none, and the knots of quantiles, column after column.
fn store_transforms(columns: &[ColumnTransform], to: &mut Tensors) {
    if columns.is_empty() {
        return;
    }
    let unit = |column: &ColumnTransform| if let ColumnTransform::Log { unit } = column { *unit } else { 0.0 };
    to.f32s("transform_unit", &columns.iter().map(unit).collect::<Vec<f32>>());
    let (mut ends, mut knots, mut steps) = (vec![], vec![], vec![]);
    for column in columns {
        if let ColumnTransform::Quantile { values, levels } = column {
            knots.extend_from_slice(values);
            steps.extend_from_slice(levels);
        }
        ends.push(knots.len() as u32);
    }
    if !knots.is_empty() {
        to.u32s("transform_ends", ends.into_iter());
        to.f32s("transform_values", &knots);
        to.f32s("transform_levels", &steps);
    }
}

/// Writes a model file, as a whole or not at all.
pub fn save<T: Stored>(fitted: &Fitted<T>, path: &Path) -> Result<()> {
    let bytes = to_bytes(fitted);
    write_whole(path, |out| out.write_all(&bytes))
}

/// Reads a model of one task; `-` is standard input.
///
/// ```
/// # use ordain::{data::synthetic::Synthetic, method::{Rank, RankSvm}, model_file, solver::run::Watch};
/// # use ordain::task::{Method, Training};
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("m.ordain");
/// # let set = Synthetic::default().make();
/// # let fitted = RankSvm::default().fit(&Training::new(&set, &set.all()), &Watch::NOBODY)?;
/// model_file::save(&fitted, &path)?;
/// assert_eq!(model_file::load::<Rank>(&path)?, fitted);
/// # Ok::<(), ordain::Error>(())
/// ```
pub fn load<T: Stored>(path: &Path) -> Result<Fitted<T>> {
    from_bytes(&read(path)?, path)
}

/// Reads a model of any task; `-` is standard input.
pub fn load_any(path: &Path) -> Result<AnyModel> {
    any_from_bytes(&read(path)?, path)
}

/// Reads a model of one task from the bytes of its file; `path` is for messages.
pub fn from_bytes<T: Stored>(bytes: &[u8], path: &Path) -> Result<Fitted<T>> {
    Ok(Opened::new(bytes, path)?.fitted()?.0)
}

/// Reads a model of any task from the bytes of its file; `path` is for messages.
pub fn any_from_bytes(bytes: &[u8], path: &Path) -> Result<AnyModel> {
    let opened = Opened::new(bytes, path)?;
    match opened.task() {
        "annotate" => Ok(AnyModel::Annotate(opened.fitted()?.0)),
        "match" => Ok(AnyModel::Match(opened.fitted()?.0)),
        _ => Ok(AnyModel::Rank(opened.fitted()?.0)),
    }
}

/// The bytes of a model file; `-` is standard input. A packed file, and one that does not begin as a model, is refused
/// before it is read: it may be endless.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    read_plain(path, begins)?.ok_or_else(|| Refusal { path }.stranger())
}

/// Whether the file begins as a model file does: eight bytes of length, then JSON that names ordain.
pub fn is_model(path: &Path) -> bool {
    peek(path, 64).is_ok_and(|start| begins(&start))
}

fn begins(start: &[u8]) -> bool {
    start.len() > 16 && start[8..].starts_with(b"{\"__metadata__\"")
}

/// A header and tensors as one file, with the checksum of both.
fn pack(header: &impl Serialize, tensors: &[(String, Dtype, Vec<u8>)]) -> Vec<u8> {
    let views: Vec<(&str, TensorView)> = tensors
        .iter()
        .map(|(name, dtype, bytes)| {
            let size = dtype.bitsize() / 8;
            (
                name.as_str(),
                TensorView::new(*dtype, vec![bytes.len() / size], bytes).expect("the length is that of the shape"),
            )
        })
        .collect();
    let header = serde_json::to_string(header).expect("a header is plain data");
    let sum = checksum(&header, views.iter().map(|(name, view)| (*name, view)));
    let header = with_checksum(&header, NO_CHECKSUM, &sum);
    safetensors::serialize(views, Some(HashMap::from([(KEY.to_owned(), header)]))).expect("tensors fit their shapes")
}

/// The header with another checksum: the last field, so the last place where the old one stands.
fn with_checksum(header: &str, old: &str, new: &str) -> String {
    match header.rfind(old) {
        Some(at) => format!("{}{new}{}", &header[..at], &header[at + old.len()..]),
        None => header.to_owned(),
    }
}

/// Names ascending, so that the order in the file does not matter.
fn checksum<'a>(header: &str, tensors: impl Iterator<Item = (&'a str, &'a TensorView<'a>)>) -> String {
    let mut hash = blake3::Hasher::new();
    hash.update(&(header.len() as u64).to_le_bytes()).update(header.as_bytes());
    let mut tensors: Vec<_> = tensors.collect();
    tensors.sort_by_key(|(name, _)| *name);
    for (name, view) in tensors {
        hash.update(format!("\n{name} {:?} {:?}\n", view.dtype(), view.shape()).as_bytes()).update(view.data());
    }
    hash.finalize().to_hex().to_string()
}

/// The beginning of a text of a file, for messages.
fn shown(text: &str) -> String {
    format!("{:?}", text.chars().take(60).collect::<String>())
}

/// How a file is refused.
#[derive(Clone, Copy)]
struct Refusal<'a> {
    path: &'a Path,
}

impl Refusal<'_> {
    fn refuse(&self, problem: String, cure: &'static str) -> Error {
        Error::Model { path: self.path.into(), problem, cure }
    }

    fn damaged(&self, problem: &str) -> Error {
        self.refuse(problem.into(), "copy the file again, or fit the model again")
    }

    fn impossible(&self) -> Error {
        self.damaged("its contents are impossible")
    }

    fn stranger(&self) -> Error {
        self.refuse("this is not an ordain model".into(), "give a file that `ordain fit -o` wrote")
    }
}

/// Whether JSON says nothing that other JSON does not say: objects may lack fields.
fn within(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => {
            part.iter().all(|(name, value)| whole.get(name).is_some_and(|own| within(value, own)))
        }
        (Value::Array(part), Value::Array(whole)) => {
            part.len() == whole.len() && part.iter().zip(whole).all(|(a, b)| within(a, b))
        }
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64().is_some() && a.as_f64() == b.as_f64(),
        (a, b) => a == b,
    }
}

/// A file whose format is known and whose checksum is right. The checksum is computed once.
pub struct Opened<'a> {
    refusal: Refusal<'a>,
    header: String,
    task: String,
    file: SafeTensors<'a>,
}

/// Whether a fit writes this among its settings by itself: how columns were read, and where it ended.
fn found(name: &str, value: &Value) -> bool {
    ["scale", "transform", "round", "step", "circles"].contains(&name)
        || (name == "rounds" && value.as_u64() == Some(0))
}

impl<'a> Opened<'a> {
    /// Opens the bytes of a model file; `path` is for messages.
    pub fn new(bytes: &'a [u8], path: &'a Path) -> Result<Self> {
        let refusal = Refusal { path };
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|_| refusal.stranger())?;
        let header = metadata.metadata().as_ref().and_then(|map| map.get(KEY)).ok_or_else(|| refusal.stranger())?;
        let unreadable = || refusal.damaged("its header cannot be read");
        let json: serde_json::Value = serde_json::from_str(header).map_err(|_| unreadable())?;
        let version = json.get("format").and_then(serde_json::Value::as_u64).ok_or_else(unreadable)?;
        if version == 0 {
            return Err(refusal.damaged("it has format 0, which there never was"));
        }
        if version > u64::from(FORMAT) {
            let problem = format!("it has format {version}, and this ordain reads up to {FORMAT}");
            return Err(refusal.refuse(problem, "use the version of ordain that wrote it, or a newer one"));
        }
        let text = |name: &str| json.get(name).and_then(serde_json::Value::as_str).map(str::to_owned);
        let (Some(sum), Some(task)) = (text("checksum"), text("task")) else { return Err(unreadable()) };
        let file = SafeTensors::deserialize(bytes).map_err(|_| refusal.damaged("its tensors do not fit the file"))?;
        let blank = with_checksum(header, &sum, NO_CHECKSUM);
        if sum.len() != NO_CHECKSUM.len()
            || checksum(&blank, file.tensors().iter().map(|(name, view)| (name.as_str(), view))) != sum
        {
            return Err(refusal.damaged("its checksum is wrong, so it was damaged or changed"));
        }
        Ok(Self { refusal, header: header.clone(), task, file })
    }

    /// The name of its task.
    pub fn task(&self) -> &str {
        &self.task
    }

    /// The model of one task, and the header as it stands in the file.
    pub fn fitted<T: Stored>(&self) -> Result<(Fitted<T>, Header<T>)> {
        self.need_task(T::WORDS.name)?;
        let unreadable = |_| self.refusal.damaged("its header cannot be read");
        let header: Header<T> = serde_json::from_str(&self.header).map_err(unreadable)?;
        let d = header.features.names.len();
        let inputs = Inputs {
            columns: header.features.clone(),
            missing: header.missing,
            means: self.means(header.missing, d)?,
            steps: header.steps.clone().restored(&header.features.names).map_err(|_| self.refusal.impossible())?,
            ranges: self.ranges()?,
            transforms: self.transforms(d)?,
            scale: header.scale,
            global: self.affine(header.scale, d)?,
        };
        if header.transformed != Transformed::of(&inputs) || header.generator != GENERATOR {
            return Err(self.refusal.impossible());
        }
        self.known_facts::<T>(&header.facts)?;
        let mut seen = HashSet::new();
        if let Some(twice) = header.features.names.iter().find(|name| !seen.insert(name.as_str())) {
            return Err(self.refusal.damaged(&format!("it has the feature {} twice", shown(twice))));
        }
        let model = T::restore(inputs, &header.parts, &header.facts, self)?;
        model.check().map_err(|_| self.refusal.impossible())?;
        let journal = self.journal(T::parameters(&model))?;
        let fitted = Fitted { model, facts: header.facts.clone(), journal };
        self.nothing_else(&fitted)?;
        Ok((fitted, header))
    }

    /// Refuses what a model of this version would not be written with: fields and tensors that were not read mean something to
    /// another version, and without them the answers may be others. What an older version did not write may be absent.
    fn nothing_else<T: Stored>(&self, fitted: &Fitted<T>) -> Result<()> {
        let strange = |what: &str, name: &str| {
            let problem = format!("it has a {what} {} that this ordain does not write so", shown(name));
            self.refusal.refuse(problem, "use the version of ordain that wrote it, or fit the model again")
        };
        let (held, own) = (serde_json::from_str(&self.header), serde_json::to_value(Header::of(fitted)));
        let (Ok(Value::Object(mut held)), Ok(Value::Object(own))) = (held, own) else {
            return Err(self.refusal.impossible());
        };
        held.retain(|name, _| name != "ordain" && name != "checksum");
        if let Some((name, _)) = held.iter().find(|(name, value)| !own.get(*name).is_some_and(|own| within(value, own)))
        {
            return Err(strange("field", name));
        }
        let known = tensors_of(fitted).0;
        let tensors = self.file.tensors();
        let same = |name: &str, view: &TensorView| {
            known.iter().any(|(own, dtype, bytes)| own == name && *dtype == view.dtype() && bytes == view.data())
        };
        match tensors.iter().find(|(name, view)| !same(name, view)) {
            Some((name, _)) => Err(strange("tensor", name)),
            None => Ok(()),
        }
    }

    /// Refuses a method that there is not, a setting that the method has not, and a value that it would not take.
    fn known_facts<T: Stored>(&self, facts: &Facts<T::Notes>) -> Result<()> {
        let Some((_, make)) = T::METHODS.iter().find(|(name, _)| *name == facts.method) else {
            return Err(self.refusal.damaged(&format!("there is no method {} for its task", shown(&facts.method))));
        };
        let mut method = make();
        let known: Vec<&str> = method.settings().iter().map(|setting| setting.name).collect();
        for (name, value) in facts.settings.iter().filter(|(name, value)| !found(name, value)).chain(&facts.asked) {
            let text = match value {
                Value::Number(number) => Some(number.to_string()),
                Value::Bool(yes) => Some(yes.to_string()),
                // words are names of choices, and some stand for another setting; a number in quotes is a number
                Value::String(text) => text.parse::<f64>().is_ok().then(|| text.clone()),
                _ => None,
            };
            let taken = text.is_none_or(|text| method.set(name, &text).is_ok());
            if !known.contains(&name.as_str()) || !taken {
                let (name, value) = (shown(name), shown(&value.to_string()));
                let problem = format!("its method {} has no setting {name} = {value}", facts.method);
                return Err(self.refusal.damaged(&problem));
            }
        }
        Ok(())
    }

    /// What an interrupted fit left, if it did.
    fn journal(&self, d: usize) -> Result<Option<Journal>> {
        let mut journal: State = vec![];
        let tensors = self.file.tensors();
        for (name, view) in tensors.iter().filter(|(_, view)| view.dtype() == Dtype::F64 && view.shape().len() == 1) {
            if let Some(name) = name.strip_prefix("journal/") {
                journal.push((name.to_owned(), self.numbers(view.data())?));
            }
        }
        if journal.is_empty() {
            return Ok(None);
        }
        let read = Journal::from_state(&journal, d);
        Ok(Some(read.ok_or_else(|| self.refusal.damaged("its journal does not fit"))?))
    }

    fn misshapen(&self) -> Error {
        self.refusal.damaged("a tensor is missing or has an impossible shape")
    }

    /// Whether there is such a tensor.
    fn has(&self, name: &str) -> bool {
        self.file.tensor(name).is_ok()
    }

    /// The bytes of a tensor of one dimension.
    fn bytes(&self, name: &str, dtype: Dtype) -> Result<Vec<u8>> {
        match self.file.tensor(name) {
            Ok(view) if view.dtype() == dtype && view.shape().len() == 1 => Ok(view.data().to_vec()),
            _ => Err(self.misshapen()),
        }
    }

    fn f32s(&self, name: &str, len: usize) -> Result<Vec<f32>> {
        let bytes = self.bytes(name, Dtype::F32)?;
        let values: Vec<f32> = bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        self.sized(values.len(), len)?;
        if values.iter().all(|x| x.is_finite()) { Ok(values) } else { Err(self.refusal.impossible()) }
    }

    fn u32s(&self, name: &str) -> Result<Vec<u32>> {
        let bytes = self.bytes(name, Dtype::U32)?;
        Ok(bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
    }

    fn f64s(&self, name: &str) -> Result<Vec<f64>> {
        self.numbers(&self.bytes(name, Dtype::F64)?)
    }

    fn numbers(&self, bytes: &[u8]) -> Result<Vec<f64>> {
        let eight = |b: &[u8]| f64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]);
        let values: Vec<f64> = bytes.chunks_exact(8).map(eight).collect();
        if values.iter().all(|x| x.is_finite()) { Ok(values) } else { Err(self.refusal.impossible()) }
    }

    fn sized(&self, len: usize, wanted: usize) -> Result<()> {
        match len == wanted {
            true => Ok(()),
            false => Err(self.misshapen()),
        }
    }

    fn affine(&self, scale: Scale, d: usize) -> Result<Option<Affine>> {
        match scale {
            Scale::Global | Scale::Matched => {
                Ok(Some(Affine { offset: self.f32s("scale_offset", d)?, factor: self.f32s("scale_factor", d)? }))
            }
            _ => Ok(None),
        }
    }

    /// The transforms of columns; none in a file of a version that had none.
    fn transforms(&self, d: usize) -> Result<Transforms> {
        if !self.has("transform_unit") {
            return Ok(Transforms::default());
        }
        let unit = |unit: f32| if unit == 0.0 { ColumnTransform::Keep } else { ColumnTransform::Log { unit } };
        let mut columns: Vec<ColumnTransform> = self.f32s("transform_unit", d)?.into_iter().map(unit).collect();
        if self.has("transform_ends") {
            let ends = self.u32s("transform_ends")?;
            self.sized(ends.len(), d)?;
            let total = ends.last().copied().unwrap_or(0) as usize;
            let (values, levels) = (self.f32s("transform_values", total)?, self.f32s("transform_levels", total)?);
            let mut start = 0;
            for (column, end) in columns.iter_mut().zip(ends) {
                let of = start..end as usize;
                let (Some(values), Some(levels)) = (values.get(of.clone()), levels.get(of)) else {
                    return Err(self.misshapen());
                };
                if !values.is_empty() {
                    if *column != ColumnTransform::Keep {
                        return Err(self.refusal.impossible());
                    }
                    *column = ColumnTransform::Quantile { values: values.to_vec(), levels: levels.to_vec() };
                }
                start = end as usize;
            }
        }
        Ok(Transforms::new(columns))
    }

    /// What columns looked like in training; nothing in a file of a version that did not keep it.
    fn ranges(&self) -> Result<Ranges> {
        if !self.has("ranges") {
            return Ok(Ranges::default());
        }
        let units = self.u32s("range_units")?;
        let numbers = self.bytes("ranges", Dtype::F32)?.len() / 4;
        let values = self.f32s("ranges", numbers)?;
        let (columns, rest) = values.as_chunks::<KEPT>();
        match units[..] {
            [units] if rest.is_empty() => Ok(Ranges::new(units as usize, columns.to_vec())),
            _ => Err(self.misshapen()),
        }
    }

    fn means(&self, missing: Missing, d: usize) -> Result<Option<Vec<f32>>> {
        match missing {
            Missing::Mean => Ok(Some(self.f32s("missing_means", d)?)),
            Missing::Indicator => {
                let stored = self.bytes("missing_means", Dtype::F32)?.len() / 4;
                Ok(Some(self.f32s("missing_means", stored.min(d))?))
            }
            _ => Ok(None),
        }
    }

    /// Refuses a model of another task, and says which commands make one of this.
    fn need_task(&self, task: &str) -> Result<()> {
        if self.task == task {
            return Ok(());
        }
        let words = [Rank::WORDS, Annotate::WORDS, Match::WORDS];
        let Some(own) = words.iter().find(|words| words.name == self.task) else {
            return Err(self.refusal.impossible());
        };
        let cure = match task {
            "rank" => "give one that ranks (ordain fit ranksvm)",
            "annotate" => "give one that annotates (ordain fit cstar)",
            _ => "give one that matches (ordain fit matchmap)",
        };
        Err(self.refusal.refuse(format!("this model {}", own.does), cure))
    }
}
