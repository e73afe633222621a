//! The models that are served: loaded as a whole, and replaced as a whole.

use crate::problem::{Problem, Result};
use ordain::answer::Answers;
use ordain::model_file::{AnyModel, Opened, read};
use ordain::task::{Fitted, Model as _};
use ordain::{Error, method};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

/// A model with its version, which is a beginning of its checksum: it changes when the file does.
pub(crate) struct Loaded {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) model: AnyModel,
}

impl Loaded {
    /// Reads and checks a file.
    pub(crate) fn read(name: &str, path: &Path) -> ordain::Result<Self> {
        let bytes = read(path)?;
        let opened = Opened::new(&bytes, path)?;
        let (model, checksum) = match opened.task() {
            "annotate" => opened.fitted().map(|(fitted, header)| (AnyModel::Annotate(fitted), header.checksum))?,
            "match" => opened.fitted().map(|(fitted, header)| (AnyModel::Match(fitted), header.checksum))?,
            _ => opened.fitted().map(|(fitted, header)| (AnyModel::Rank(fitted), header.checksum))?,
        };
        Ok(Self { name: name.into(), version: checksum.chars().take(12).collect(), model })
    }

    /// What is said of a model: its task, and what its rows are made of.
    pub(crate) fn facts(&self) -> Value {
        fn of<T: Answers>(fitted: &Fitted<T>) -> Value {
            let inputs = fitted.model.inputs();
            let cells: Vec<Value> = (inputs.steps.iter())
                .map(|(input, _)| json!({"name": input.column, "kind": input.kind.name()}))
                .collect();
            json!({
                "task": T::WORDS.name,
                "method": fitted.facts.method,
                "features": inputs.raw(),
                "inputs": cells,
                "missing": inputs.missing,
                "scale": inputs.scale,
            })
        }
        let mut facts = match &self.model {
            AnyModel::Rank(fitted) => of(fitted),
            AnyModel::Annotate(fitted) => of(fitted),
            AnyModel::Match(fitted) => of(fitted),
            _ => Value::Null,
        };
        facts["model"] = self.name.clone().into();
        facts["version"] = self.version.clone().into();
        if let AnyModel::Annotate(fitted) = &self.model {
            facts["labels"] = fitted.model.labels.len().into();
        }
        facts
    }

    pub(crate) fn task(&self) -> &'static str {
        match &self.model {
            AnyModel::Annotate(_) => "annotate",
            AnyModel::Match(_) => "match",
            _ => "rank",
        }
    }

    /// `NAME@VERSION`, as other programs know it.
    pub(crate) fn full(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }

    /// The ranker, or the refusal of another task.
    pub(crate) fn ranker(&self) -> Result<&Fitted<method::Rank>> {
        match &self.model {
            AnyModel::Rank(fitted) => Ok(fitted),
            _ => Err(self.other("rank")),
        }
    }

    /// The annotator, or the refusal of another task.
    pub(crate) fn annotator(&self) -> Result<&Fitted<method::Annotate>> {
        match &self.model {
            AnyModel::Annotate(fitted) => Ok(fitted),
            _ => Err(self.other("annotate")),
        }
    }

    /// The matcher, or the refusal of another task.
    pub(crate) fn matcher(&self) -> Result<&Fitted<method::Match>> {
        match &self.model {
            AnyModel::Match(fitted) => Ok(fitted),
            _ => Err(self.other("match")),
        }
    }

    fn other(&self, wanted: &str) -> Problem {
        let (name, own) = (&self.name, self.task());
        Problem::unfit(format!("expected a model for /{wanted}, found {name:?}, whose route is /{own}"))
    }
}

/// A place for a model, whose content changes as a whole.
struct Slot {
    name: String,
    path: PathBuf,
    loaded: RwLock<Arc<Loaded>>,
}

/// All models, by name.
pub(crate) struct Models(Vec<Slot>);

impl Models {
    /// Loads all files.
    pub(crate) fn load(models: &[(String, PathBuf)]) -> ordain::Result<Self> {
        let mut all: Vec<Slot> = vec![];
        for (name, path) in models {
            if all.iter().any(|slot| slot.name == *name) {
                return Err(Error::Setting {
                    name: "model".into(),
                    expected: "models of different names (MODEL=NAME gives one)".into(),
                    found: name.clone(),
                });
            }
            let loaded = RwLock::new(Arc::new(Loaded::read(name, path)?));
            all.push(Slot { name: name.clone(), path: path.clone(), loaded });
        }
        Ok(Self(all))
    }

    /// All models as they are now.
    pub(crate) fn all(&self) -> Vec<Arc<Loaded>> {
        self.0.iter().map(Slot::get).collect()
    }

    /// A model by its name.
    pub(crate) fn find(&self, name: &str) -> Result<Arc<Loaded>> {
        let slot = self.0.iter().find(|slot| slot.name == name);
        slot.map(Slot::get)
            .ok_or_else(|| Error::unknown("model", name, self.0.iter().map(|slot| slot.name.as_str())).into())
    }

    /// Reads a file again; the new model, if the file holds another than before.
    pub(crate) fn again(&self, at: usize) -> ordain::Result<Option<Loaded>> {
        let slot = &self.0[at];
        let (new, old) = (Loaded::read(&slot.name, &slot.path)?, slot.get());
        Ok(Some(new).filter(|new| new.version != old.version))
    }

    /// Puts a model in the place of another: requests that are under way keep the old one.
    pub(crate) fn put(&self, at: usize, new: Arc<Loaded>) {
        *self.0[at].loaded.write().unwrap_or_else(PoisonError::into_inner) = new;
    }
}

impl Slot {
    fn get(&self) -> Arc<Loaded> {
        self.loaded.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
