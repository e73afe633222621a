//! Model files: a safetensors file whose metadata holds one JSON header, with a checksum over both.
//!
//! The same model gives the same bytes. Loading executes nothing, allocates no more than the file is long, and refuses
//! whatever is damaged, too new or inconsistent.

use crate::data::scale::{Affine, Scale};
use crate::data::{Columns, Missing, peek, read_whole, write_whole};
use crate::error::{Error, Result};
use crate::kernel::{Expansion, Kernel, Part};
use crate::matrix::Matrix;
use crate::method::{
    Annotator, CountModel, Facts, Fitted, FittedMatch, FittedTags, Journal, MatchFacts, Matcher, OneVsRest, Ranker,
    TagFacts, Trainer,
};
use crate::random::GENERATOR;
use crate::structure::matching::Engine;
use crate::structure::matching::places::MOST;
use crate::structure::star::Star;
use crate::traits::State;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::Path;

/// The version of the format that is written, and the newest that is read.
pub const FORMAT: u32 = 1;
const KEY: &str = "ordain";
const NO_CHECKSUM: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The JSON header of a model file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the format.
    pub format: u32,
    /// Version of ordain that wrote it.
    pub ordain: String,
    /// The task, `rank`.
    pub task: String,
    /// The columns that the model takes.
    pub features: Columns,
    /// How they are scaled; the numbers are tensors.
    pub scale: Scale,
    /// What missing values mean.
    pub missing: Missing,
    /// The kernel with the sizes of its parts, of a model that has one; core documents and coefficients are tensors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expansion: Option<ExpansionHeader>,
    /// Method, settings and training.
    #[serde(flatten)]
    pub facts: Facts,
    /// The generator behind the seed.
    pub generator: String,
    /// BLAKE3 of this header, with zeros here, and of the tensors.
    pub checksum: String,
}

/// What the header says of a sum of kernels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExpansionHeader {
    /// The kernel.
    pub kernel: Kernel,
    /// How many core documents there are.
    pub documents: usize,
    /// For each part the queries that it is for, all where there is no name, and its number of core documents.
    pub parts: Vec<(Option<String>, usize)>,
}

impl Header {
    /// The header of a model.
    pub fn of(model: &Fitted) -> Self {
        Self {
            format: FORMAT,
            ordain: env!("CARGO_PKG_VERSION").into(),
            task: "rank".into(),
            features: model.ranker.columns.clone(),
            scale: model.ranker.scale,
            missing: model.ranker.missing,
            expansion: model.ranker.expansion.as_ref().map(|expansion| ExpansionHeader {
                kernel: expansion.kernel,
                documents: expansion.documents.rows(),
                parts: expansion.parts.iter().map(|part| (part.query.clone(), part.documents.len())).collect(),
            }),
            facts: model.facts.clone(),
            generator: GENERATOR.into(),
            checksum: NO_CHECKSUM.into(),
        }
    }
}

/// The JSON header of the file of an annotator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TagHeader {
    /// Version of the format.
    pub format: u32,
    /// Version of ordain that wrote it.
    pub ordain: String,
    /// The task, `annotate`.
    pub task: String,
    /// The columns that the model takes.
    pub features: Columns,
    /// The vocabulary.
    pub labels: Vec<String>,
    /// How columns are scaled; the numbers are tensors.
    pub scale: Scale,
    /// What missing values mean.
    pub missing: Missing,
    /// What the model was trained for.
    pub trainer: Trainer,
    /// The labels that have links, in the order of the rows of links.
    pub core: Vec<u32>,
    /// Method, settings and training.
    #[serde(flatten)]
    pub facts: TagFacts,
    /// The generator behind the seed.
    pub generator: String,
    /// BLAKE3 of this header, with zeros here, and of the tensors.
    pub checksum: String,
}

impl TagHeader {
    /// The header of a model.
    pub fn of(model: &FittedTags) -> Self {
        let annotator = &model.annotator;
        Self {
            format: FORMAT,
            ordain: env!("CARGO_PKG_VERSION").into(),
            task: "annotate".into(),
            features: annotator.columns.clone(),
            labels: annotator.labels.clone(),
            scale: if annotator.affine.is_some() { Scale::Global } else { Scale::None },
            missing: annotator.missing,
            trainer: annotator.trainer,
            core: annotator.star.core().to_vec(),
            facts: model.facts.clone(),
            generator: GENERATOR.into(),
            checksum: NO_CHECKSUM.into(),
        }
    }
}

/// The JSON header of the file of a matcher.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchHeader {
    /// Version of the format.
    pub format: u32,
    /// Version of ordain that wrote it.
    pub ordain: String,
    /// The task, `match`.
    pub task: String,
    /// The columns that the model takes.
    pub features: Columns,
    /// How they are scaled; the numbers are tensors.
    pub scale: Scale,
    /// What missing values mean.
    pub missing: Missing,
    /// How probabilities are found.
    pub marginals: String,
    /// Method, settings and training.
    #[serde(flatten)]
    pub facts: MatchFacts,
    /// The generator behind the seed.
    pub generator: String,
    /// BLAKE3 of this header, with zeros here, and of the tensors.
    pub checksum: String,
}

impl MatchHeader {
    /// The header of a model.
    pub fn of(model: &FittedMatch) -> Self {
        let matcher = &model.matcher;
        Self {
            format: FORMAT,
            ordain: env!("CARGO_PKG_VERSION").into(),
            task: "match".into(),
            features: matcher.columns.clone(),
            scale: matcher.scale,
            missing: matcher.missing,
            marginals: matcher.engine.name().into(),
            facts: model.facts.clone(),
            generator: GENERATOR.into(),
            checksum: NO_CHECKSUM.into(),
        }
    }
}

/// What a model file holds.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)] // there is one of them at a time
pub enum Model {
    /// A ranker.
    Rank(Fitted),
    /// An annotator.
    Annotate(FittedTags),
    /// A matcher.
    Match(FittedMatch),
}

/// Named numbers, as they stand in the file.
type Tensors = Vec<(String, Dtype, Vec<u8>)>;

fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn f64s(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn shared(affine: Option<&Affine>, means: Option<&[f32]>, tensors: &mut Tensors) {
    if let Some(affine) = affine {
        tensors.push(("scale_offset".into(), Dtype::F32, f32s(&affine.offset)));
        tensors.push(("scale_factor".into(), Dtype::F32, f32s(&affine.factor)));
    }
    if let Some(means) = means {
        tensors.push(("missing_means".into(), Dtype::F32, f32s(means)));
    }
}

/// The bytes of the file of a ranker.
pub fn to_bytes(model: &Fitted) -> Vec<u8> {
    let ranker = &model.ranker;
    let mut tensors: Tensors = vec![("weights".into(), Dtype::F64, f64s(&ranker.weights))];
    shared(ranker.global.as_ref(), ranker.means.as_deref(), &mut tensors);
    if !ranker.places.is_empty() {
        tensors.push(("places".into(), Dtype::F64, f64s(&ranker.places)));
    }
    if let Some(expansion) = &ranker.expansion {
        let of: Vec<u8> =
            expansion.parts.iter().flat_map(|part| &part.documents).flat_map(|j| j.to_le_bytes()).collect();
        let beta: Vec<f64> = expansion.parts.iter().flat_map(|part| &part.coefficients).copied().collect();
        tensors.push(("expansion/documents".into(), Dtype::F32, f32s(expansion.documents.values())));
        tensors.push(("expansion/of_part".into(), Dtype::U32, of));
        tensors.push(("expansion/coefficients".into(), Dtype::F64, f64s(&beta)));
    }
    for (name, values) in model.journal.iter().flat_map(Journal::to_state) {
        tensors.push((format!("journal/{name}"), Dtype::F64, f64s(&values)));
    }
    pack(&Header::of(model), &tensors)
}

/// The bytes of the file of an annotator.
pub fn tags_to_bytes(model: &FittedTags) -> Vec<u8> {
    let annotator = &model.annotator;
    let mut tensors: Tensors = vec![];
    let links: Vec<f64> = (0..annotator.star.core().len()).flat_map(|c| annotator.star.links(c)).copied().collect();
    for (name, values) in [
        ("bias", &annotator.bias),
        ("direct", &annotator.direct),
        ("own", &annotator.own),
        ("count_bias", &annotator.count_bias),
        ("links", &links),
        ("classifiers/weights", &annotator.classifiers.weights),
        ("classifiers/offset", &annotator.classifiers.offset),
        ("classifiers/slope", &annotator.classifiers.slope),
        ("classifiers/shift", &annotator.classifiers.shift),
        ("count/numbers", &annotator.count.numbers.iter().map(|&k| f64::from(k)).collect()),
        ("count/level", &annotator.count.level),
        ("count/slope", &annotator.count.slope.to_vec()),
        ("count/center", &annotator.count.center.to_vec()),
    ] {
        tensors.push((name.into(), Dtype::F64, f64s(values)));
    }
    shared(annotator.affine.as_ref(), annotator.means.as_deref(), &mut tensors);
    pack(&TagHeader::of(model), &tensors)
}

/// The bytes of the file of a matcher.
pub fn match_to_bytes(model: &FittedMatch) -> Vec<u8> {
    let matcher = &model.matcher;
    let mut tensors: Tensors = vec![("weights".into(), Dtype::F64, f64s(&matcher.weights))];
    for (name, value) in [("null", matcher.null), ("temperature", matcher.temperature)] {
        tensors.push((name.into(), Dtype::F64, f64s(&value.into_iter().collect::<Vec<f64>>())));
    }
    shared(matcher.global.as_ref(), matcher.means.as_deref(), &mut tensors);
    pack(&MatchHeader::of(model), &tensors)
}

/// A header and tensors as one file, with the checksum of both.
fn pack(header: &impl Serialize, tensors: &Tensors) -> Vec<u8> {
    let views: Vec<(&str, TensorView)> = tensors
        .iter()
        .map(|(name, dtype, bytes)| {
            let size = if *dtype == Dtype::F64 { 8 } else { 4 };
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

/// Writes a ranker, as a whole or not at all.
pub fn save(model: &Fitted, path: &Path) -> Result<()> {
    let bytes = to_bytes(model);
    write_whole(path, |out| out.write_all(&bytes))
}

/// Writes an annotator, as a whole or not at all.
pub fn save_tags(model: &FittedTags, path: &Path) -> Result<()> {
    let bytes = tags_to_bytes(model);
    write_whole(path, |out| out.write_all(&bytes))
}

/// Writes a matcher, as a whole or not at all.
pub fn save_match(model: &FittedMatch, path: &Path) -> Result<()> {
    let bytes = match_to_bytes(model);
    write_whole(path, |out| out.write_all(&bytes))
}

/// Reads a ranker; `-` is standard input.
pub fn load(path: &Path) -> Result<Fitted> {
    Ok(load_with_header(path)?.0)
}

/// Reads a ranker, and its header as it stands in the file.
pub fn load_with_header(path: &Path) -> Result<(Fitted, Header)> {
    ranker(&read_whole(path)?, path)
}

/// Reads a model of any task; `-` is standard input.
pub fn load_any(path: &Path) -> Result<Model> {
    any_from_bytes(&read_whole(path)?, path)
}

/// Reads a model of any task from the bytes of its file; `path` is for messages.
pub fn any_from_bytes(bytes: &[u8], path: &Path) -> Result<Model> {
    let refusal = Refusal { path };
    match Opened::new(bytes, &refusal)?.task.as_str() {
        "annotate" => Ok(Model::Annotate(annotator(bytes, path)?.0)),
        "match" => Ok(Model::Match(matcher(bytes, path)?.0)),
        _ => Ok(Model::Rank(ranker(bytes, path)?.0)),
    }
}

/// Reads an annotator, and its header as it stands in the file.
pub fn load_tags_with_header(path: &Path) -> Result<(FittedTags, TagHeader)> {
    annotator(&read_whole(path)?, path)
}

/// Reads a matcher, and its header as it stands in the file.
pub fn load_match_with_header(path: &Path) -> Result<(FittedMatch, MatchHeader)> {
    matcher(&read_whole(path)?, path)
}

/// Whether the file begins as a model file does: eight bytes of length, then JSON that names ordain.
pub fn is_model(path: &Path) -> bool {
    peek(path, 64).is_ok_and(|start| start.len() > 16 && start[8..].starts_with(b"{\"__metadata__\""))
}

/// Reads a ranker from the bytes of its file; `path` is for messages.
pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Fitted> {
    Ok(ranker(bytes, path)?.0)
}

/// How a file is refused.
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

/// A file whose format is known and whose checksum is right.
struct Opened<'a> {
    refusal: &'a Refusal<'a>,
    header: String,
    task: String,
    file: SafeTensors<'a>,
}

impl<'a> Opened<'a> {
    fn new(bytes: &'a [u8], refusal: &'a Refusal<'a>) -> Result<Self> {
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|_| refusal.stranger())?;
        let header = metadata.metadata().as_ref().and_then(|map| map.get(KEY)).ok_or_else(|| refusal.stranger())?;
        let unreadable = || refusal.damaged("its header cannot be read");
        let json: serde_json::Value = serde_json::from_str(header).map_err(|_| unreadable())?;
        let version = json.get("format").and_then(serde_json::Value::as_u64).ok_or_else(unreadable)?;
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

    fn parse<H: for<'d> Deserialize<'d>>(&self) -> Result<H> {
        serde_json::from_str(&self.header).map_err(|_| self.refusal.damaged("its header cannot be read"))
    }

    /// The bytes of a tensor of one dimension.
    fn bytes(&self, name: &str, dtype: Dtype) -> Result<Vec<u8>> {
        match self.file.tensor(name) {
            Ok(view) if view.dtype() == dtype && view.shape().len() == 1 => Ok(view.data().to_vec()),
            _ => Err(self.refusal.damaged("a tensor is missing or has an impossible shape")),
        }
    }

    fn f32s(&self, name: &str, len: usize) -> Result<Vec<f32>> {
        let bytes = self.bytes(name, Dtype::F32)?;
        let values: Vec<f32> = bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        self.sized(values.len(), len)?;
        if values.iter().all(|x| x.is_finite()) { Ok(values) } else { Err(self.refusal.impossible()) }
    }

    fn f64s(&self, name: &str) -> Result<Vec<f64>> {
        self.numbers(&self.bytes(name, Dtype::F64)?)
    }

    fn numbers(&self, bytes: &[u8]) -> Result<Vec<f64>> {
        let eight = |b: &[u8]| f64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]);
        let values: Vec<f64> = bytes.chunks_exact(8).map(eight).collect();
        if values.iter().all(|x| x.is_finite()) { Ok(values) } else { Err(self.refusal.impossible()) }
    }

    /// Core documents and coefficients, as the header says that they are.
    fn expansion(&self, header: &ExpansionHeader, d: usize) -> Result<Expansion> {
        let values = header.documents.checked_mul(d).ok_or_else(|| self.refusal.impossible())?;
        let documents = Matrix::new(self.f32s("expansion/documents", values)?, d);
        let of: Vec<u32> = self
            .bytes("expansion/of_part", Dtype::U32)?
            .chunks_exact(4)
            .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect();
        let beta = self.f64s("expansion/coefficients")?;
        let total = header.parts.iter().try_fold(0usize, |sum, part| sum.checked_add(part.1));
        self.sized(of.len(), total.ok_or_else(|| self.refusal.impossible())?)?;
        self.sized(beta.len(), of.len())?;
        let named = header.parts.iter().filter(|part| part.0.is_some()).count();
        let width = header.kernel.gamma.is_finite() && header.kernel.gamma > 0.0;
        if of.iter().any(|&j| j as usize >= header.documents)
            || header.parts.is_empty()
            || (named < header.parts.len() && header.parts.len() > 1)
            || !width
            || d == 0
        {
            return Err(self.refusal.impossible());
        }
        let mut from = 0;
        let part = |(query, len): &(Option<String>, usize)| {
            let at = from..from + len;
            from = at.end;
            Part { query: query.clone(), documents: of[at.clone()].to_vec(), coefficients: beta[at].to_vec() }
        };
        let parts = header.parts.iter().map(part).collect();
        Ok(Expansion { kernel: header.kernel, documents, parts })
    }

    fn sized(&self, len: usize, wanted: usize) -> Result<()> {
        match len == wanted {
            true => Ok(()),
            false => Err(self.refusal.damaged("a tensor is missing or has an impossible shape")),
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

    fn means(&self, missing: Missing, d: usize) -> Result<Option<Vec<f32>>> {
        if missing == Missing::Mean { Ok(Some(self.f32s("missing_means", d)?)) } else { Ok(None) }
    }

    /// Refuses a model of another task, and says which commands make one of this.
    fn need_task(&self, task: &str) -> Result<()> {
        if self.task == task {
            return Ok(());
        }
        let does = match self.task.as_str() {
            "rank" => "ranks",
            "annotate" => "annotates",
            "match" => "matches",
            _ => return Err(self.refusal.impossible()),
        };
        let cure = match task {
            "rank" => "give one that ranks (ordain fit ranksvm)",
            "annotate" => "give one that annotates (ordain fit cstar)",
            _ => "give one that matches (ordain fit matchmap)",
        };
        Err(self.refusal.refuse(format!("this model {does}"), cure))
    }
}

/// Reads a ranker and its header from the bytes of its file; `path` is for messages.
pub fn ranker(bytes: &[u8], path: &Path) -> Result<(Fitted, Header)> {
    let refusal = Refusal { path };
    let opened = Opened::new(bytes, &refusal)?;
    opened.need_task("rank")?;
    let parsed: Header = opened.parse()?;
    let d = parsed.features.names.len();
    let weights = opened.f64s("weights")?;
    opened.sized(weights.len(), if parsed.expansion.is_some() { 0 } else { d })?;
    let expansion = parsed.expansion.as_ref().map(|header| opened.expansion(header, d)).transpose()?;
    let mut places = vec![];
    let mut journal: State = vec![];
    let tensors = opened.file.tensors();
    for (name, view) in tensors.iter().filter(|(_, view)| view.dtype() == Dtype::F64 && view.shape().len() == 1) {
        if name == "places" {
            places = opened.numbers(view.data())?;
        } else if let Some(name) = name.strip_prefix("journal/") {
            journal.push((name.to_owned(), opened.numbers(view.data())?));
        }
    }
    let places_fit = places.len() <= MOST && places.iter().all(|&c| c > 0.0) && places.is_sorted_by(|a, b| a >= b);
    if !places_fit || parsed.scale == Scale::Matched {
        return Err(refusal.impossible());
    }
    let journal = match &journal[..] {
        [] => None,
        _ => Some(Journal::from_state(&journal, d).ok_or_else(|| refusal.damaged("its journal does not fit"))?),
    };
    let (global, means) = (opened.affine(parsed.scale, d)?, opened.means(parsed.missing, d)?);
    let (columns, scale, missing) = (parsed.features.clone(), parsed.scale, parsed.missing);
    let ranker = Ranker { weights, expansion, columns, scale, global, missing, means, places };
    Ok((Fitted { ranker, facts: parsed.facts.clone(), journal }, parsed))
}

/// Reads an annotator and its header from the bytes of its file; `path` is for messages.
pub fn annotator(bytes: &[u8], path: &Path) -> Result<(FittedTags, TagHeader)> {
    let refusal = Refusal { path };
    let opened = Opened::new(bytes, &refusal)?;
    opened.need_task("annotate")?;
    let parsed: TagHeader = opened.parse()?;
    if !matches!(parsed.scale, Scale::None | Scale::Global) {
        return Err(refusal.impossible());
    }
    let d = parsed.features.names.len();
    let star =
        Star::new(parsed.labels.len(), &parsed.core, &opened.f64s("links")?).map_err(|_| refusal.impossible())?;
    let pair = |name: &str| -> Result<[f64; 2]> {
        opened.f64s(name)?.try_into().map_err(|_| refusal.damaged("a tensor is missing or has an impossible shape"))
    };
    let annotator = Annotator {
        columns: parsed.features.clone(),
        labels: parsed.labels.clone(),
        affine: opened.affine(parsed.scale, d)?,
        missing: parsed.missing,
        means: opened.means(parsed.missing, d)?,
        trainer: parsed.trainer,
        bias: opened.f64s("bias")?,
        direct: opened.f64s("direct")?,
        own: opened.f64s("own")?,
        count_bias: opened.f64s("count_bias")?,
        classifiers: OneVsRest {
            weights: opened.f64s("classifiers/weights")?,
            offset: opened.f64s("classifiers/offset")?,
            slope: opened.f64s("classifiers/slope")?,
            shift: opened.f64s("classifiers/shift")?,
        },
        count: CountModel {
            numbers: opened.f64s("count/numbers")?.iter().map(|&k| k as u32).collect(),
            level: opened.f64s("count/level")?,
            slope: pair("count/slope")?,
            center: pair("count/center")?,
        },
        star,
    };
    annotator.check().map_err(|_| refusal.impossible())?;
    Ok((FittedTags { annotator, facts: parsed.facts.clone() }, parsed))
}

/// Reads a matcher and its header from the bytes of its file; `path` is for messages.
pub fn matcher(bytes: &[u8], path: &Path) -> Result<(FittedMatch, MatchHeader)> {
    let refusal = Refusal { path };
    let opened = Opened::new(bytes, &refusal)?;
    opened.need_task("match")?;
    let parsed: MatchHeader = opened.parse()?;
    let d = parsed.features.names.len();
    let one = |name: &str| match opened.f64s(name)?[..] {
        [] => Ok(None),
        [value] => Ok(Some(value)),
        _ => Err(refusal.damaged("a tensor is missing or has an impossible shape")),
    };
    let engine = Engine::ALL.into_iter().find(|engine| engine.name() == parsed.marginals);
    let matcher = Matcher {
        weights: opened.f64s("weights")?,
        null: one("null")?,
        temperature: one("temperature")?,
        engine: engine.ok_or_else(|| refusal.impossible())?,
        columns: parsed.features.clone(),
        scale: parsed.scale,
        global: opened.affine(parsed.scale, d)?,
        missing: parsed.missing,
        means: opened.means(parsed.missing, d)?,
        seed: parsed.facts.seed,
    };
    matcher.check().map_err(|_| refusal.impossible())?;
    Ok((FittedMatch { matcher, facts: parsed.facts.clone() }, parsed))
}
