//! Model files: a safetensors file whose metadata holds one JSON header, with a checksum over both.
//!
//! The same model gives the same bytes. Loading executes nothing, allocates no more than the file is long, and refuses
//! whatever is damaged, too new or inconsistent.

use crate::data::scale::{Affine, Scale};
use crate::data::{Columns, Missing, read_whole, write_whole};
use crate::error::{Error, Result};
use crate::method::{Facts, Fitted, Journal, LinearRanker};
use crate::random::GENERATOR;
use crate::structure::matching::places::MOST;
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
    /// The task.
    pub task: String,
    /// The columns that the model takes.
    pub features: Columns,
    /// How they are scaled; the numbers are tensors.
    pub scale: Scale,
    /// What missing values mean.
    pub missing: Missing,
    /// Method, settings and training.
    #[serde(flatten)]
    pub facts: Facts,
    /// The generator behind the seed.
    pub generator: String,
    /// BLAKE3 of this header, with zeros here, and of the tensors.
    pub checksum: String,
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
            facts: model.facts.clone(),
            generator: GENERATOR.into(),
            checksum: NO_CHECKSUM.into(),
        }
    }
}

/// The bytes of the file of a model.
pub fn to_bytes(model: &Fitted) -> Vec<u8> {
    let f32s = |values: &[f32]| values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let f64s = |values: &[f64]| values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let ranker = &model.ranker;
    let mut tensors: Vec<(String, Dtype, Vec<u8>)> = vec![("weights".into(), Dtype::F64, f64s(&ranker.weights))];
    if let Some(affine) = &ranker.global {
        tensors.push(("scale_offset".into(), Dtype::F32, f32s(&affine.offset)));
        tensors.push(("scale_factor".into(), Dtype::F32, f32s(&affine.factor)));
    }
    if let Some(means) = &ranker.means {
        tensors.push(("missing_means".into(), Dtype::F32, f32s(means)));
    }
    if !ranker.places.is_empty() {
        tensors.push(("places".into(), Dtype::F64, f64s(&ranker.places)));
    }
    for (name, values) in model.journal.iter().flat_map(Journal::to_state) {
        tensors.push((format!("journal/{name}"), Dtype::F64, f64s(&values)));
    }
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
    let header = serde_json::to_string(&Header::of(model)).expect("a header is plain data");
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

/// Writes a model, as a whole or not at all.
pub fn save(model: &Fitted, path: &Path) -> Result<()> {
    let bytes = to_bytes(model);
    write_whole(path, |out| out.write_all(&bytes))
}

/// Reads a model; `-` is standard input.
pub fn load(path: &Path) -> Result<Fitted> {
    Ok(load_with_header(path)?.0)
}

/// Reads a model, and its header as it stands in the file.
pub fn load_with_header(path: &Path) -> Result<(Fitted, Header)> {
    parse(&read_whole(path)?, path)
}

/// Whether the file begins as a model file does: eight bytes of length, then JSON that names ordain.
pub fn is_model(path: &Path) -> bool {
    use std::io::Read;
    let mut start = vec![];
    let read = std::fs::File::open(path).and_then(|file| file.take(64).read_to_end(&mut start));
    read.is_ok() && start.len() > 16 && start[8..].starts_with(b"{\"__metadata__\"")
}

/// Reads a model from the bytes of its file; `path` is for messages.
pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Fitted> {
    Ok(parse(bytes, path)?.0)
}

fn parse(bytes: &[u8], path: &Path) -> Result<(Fitted, Header)> {
    let refuse = |problem: String, cure: &'static str| Error::Model { path: path.into(), problem, cure };
    let damaged = |problem: &str| refuse(problem.into(), "copy the file again, or fit the model again");
    let stranger = || refuse("this is not an ordain model".into(), "give a file that `ordain fit -o` wrote");
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|_| stranger())?;
    let header = metadata.metadata().as_ref().and_then(|map| map.get(KEY)).ok_or_else(stranger)?;
    let version = serde_json::from_str::<serde_json::Value>(header)
        .ok()
        .and_then(|json| json.get("format")?.as_u64())
        .ok_or_else(|| damaged("its header cannot be read"))?;
    if version > u64::from(FORMAT) {
        let problem = format!("it has format {version}, and this ordain reads up to {FORMAT}");
        return Err(refuse(problem, "use the version of ordain that wrote it, or a newer one"));
    }
    let parsed: Header = serde_json::from_str(header).map_err(|_| damaged("its header cannot be read"))?;
    let file = SafeTensors::deserialize(bytes).map_err(|_| damaged("its tensors do not fit the file"))?;
    let tensors = file.tensors();
    let blank = with_checksum(header, &parsed.checksum, NO_CHECKSUM);
    if parsed.checksum.len() != NO_CHECKSUM.len()
        || checksum(&blank, tensors.iter().map(|(name, view)| (name.as_str(), view))) != parsed.checksum
    {
        return Err(damaged("its checksum is wrong, so it was damaged or changed"));
    }
    let d = parsed.features.names.len();
    let view = |name: &str, dtype: Dtype| match file.tensor(name) {
        Ok(view) if view.dtype() == dtype && view.shape() == [d] => Ok(view.data().to_vec()),
        _ => Err(damaged("a tensor is missing or has an impossible shape")),
    };
    let f32s = |name: &str| -> Result<Vec<f32>> {
        let values: Vec<f32> =
            view(name, Dtype::F32)?.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        if values.iter().all(|x| x.is_finite()) { Ok(values) } else { Err(damaged("its contents are impossible")) }
    };
    let numbers = |bytes: &[u8]| -> Result<Vec<f64>> {
        let eight = |b: &[u8]| f64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]);
        let values: Vec<f64> = bytes.chunks_exact(8).map(eight).collect();
        if values.iter().all(|x| x.is_finite()) { Ok(values) } else { Err(damaged("its contents are impossible")) }
    };
    let weights = numbers(&view("weights", Dtype::F64)?)?;
    let mut places = vec![];
    let mut journal: State = vec![];
    for (name, view) in tensors.iter().filter(|(_, view)| view.dtype() == Dtype::F64 && view.shape().len() == 1) {
        if name == "places" {
            places = numbers(view.data())?;
        } else if let Some(name) = name.strip_prefix("journal/") {
            journal.push((name.to_owned(), numbers(view.data())?));
        }
    }
    let places_fit = places.len() <= MOST && places.iter().all(|&c| c > 0.0) && places.is_sorted_by(|a, b| a >= b);
    if parsed.task != "rank" || !places_fit {
        return Err(damaged("its contents are impossible"));
    }
    let journal = match &journal[..] {
        [] => None,
        _ => Some(Journal::from_state(&journal, d).ok_or_else(|| damaged("its journal does not fit"))?),
    };
    let global = match parsed.scale {
        Scale::Global => Some(Affine { offset: f32s("scale_offset")?, factor: f32s("scale_factor")? }),
        _ => None,
    };
    let means = if parsed.missing == Missing::Mean { Some(f32s("missing_means")?) } else { None };
    let (columns, scale, missing) = (parsed.features.clone(), parsed.scale, parsed.missing);
    let ranker = LinearRanker { weights, columns, scale, global, missing, means, places };
    Ok((Fitted { ranker, facts: parsed.facts.clone(), journal }, parsed))
}
