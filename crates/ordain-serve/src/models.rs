//! The models that are served: loaded as a whole, and replaced as a whole.

use crate::problem::{Problem, Result};
use ordain::answer::Answers;
use ordain::model_file::{AnyModel, Opened, read};
use ordain::task::{Fitted, Model as _};
use ordain::{Error, method};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::SystemTime;

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

    /// The model as one of a task, or the refusal of another.
    pub(crate) fn of<T: Kept>(&self) -> Result<&Fitted<T>> {
        T::of(&self.model).ok_or_else(|| self.other(T::WORDS.name))
    }

    /// The model that gives labels, or the refusal of another.
    pub(crate) fn annotator(&self) -> Result<&Fitted<method::Annotate>> {
        self.of()
    }

    /// The model as one of the task of a session.
    pub(crate) fn known<T: Kept>(&self) -> ordain::Result<&Fitted<T>> {
        T::of(&self.model).ok_or_else(|| Error::Data {
            expected: format!("a model that {}", T::WORDS.does),
            found: format!("one of the task {}", self.task()),
        })
    }

    /// The refusal of a model of another task.
    pub(crate) fn other(&self, wanted: &str) -> Problem {
        let (name, own) = (&self.name, self.task());
        Problem::unfit(format!("expected a model for /{wanted}, found {name:?}, whose route is /{own}"))
    }
}

/// A task whose models are served.
pub(crate) trait Kept: Answers {
    /// The model, if it is of this task.
    fn of(model: &AnyModel) -> Option<&Fitted<Self>>;
    /// A model of this task as one of any.
    fn any(fitted: Fitted<Self>) -> AnyModel;
}

macro_rules! kept {
    ($($task:ident)*) => {$(
        impl Kept for method::$task {
            fn of(model: &AnyModel) -> Option<&Fitted<Self>> {
                if let AnyModel::$task(fitted) = model { Some(fitted) } else { None }
            }
            fn any(fitted: Fitted<Self>) -> AnyModel {
                AnyModel::$task(fitted)
            }
        }
    )*};
}
kept!(Rank Annotate Match);

/// What tells one state of a file from another: when it was changed, and its size; nothing where there is no file.
type Stamp = Option<(SystemTime, u64)>;

fn stamp(path: &Path) -> Stamp {
    let facts = std::fs::metadata(path).ok()?;
    Some((facts.modified().ok()?, facts.len()))
}

/// What a file was when it was read last.
struct Seen {
    stamp: Stamp,
    version: String,
}

/// A place for a model, whose content changes as a whole.
struct Slot {
    name: String,
    path: PathBuf,
    loaded: RwLock<Arc<Loaded>>,
    seen: Mutex<Seen>,
}

/// All models, by name.
pub(crate) struct Models {
    slots: Vec<Slot>,
    /// Held by whoever puts models in the place of others.
    changing: Mutex<()>,
}

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
            let stamp = stamp(path);
            let loaded = Loaded::read(name, path)?;
            let seen = Mutex::new(Seen { stamp, version: loaded.version.clone() });
            all.push(Slot { name: name.clone(), path: path.clone(), loaded: RwLock::new(Arc::new(loaded)), seen });
        }
        Ok(Self { slots: all, changing: Mutex::default() })
    }

    /// Waits until nobody else puts models in the place of others.
    pub(crate) fn one_at_a_time(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All models as they are now.
    pub(crate) fn all(&self) -> Vec<Arc<Loaded>> {
        self.slots.iter().map(Slot::get).collect()
    }

    /// A model by its name.
    pub(crate) fn find(&self, name: &str) -> Result<Arc<Loaded>> {
        let slot = self.slots.iter().find(|slot| slot.name == name);
        slot.map(Slot::get)
            .ok_or_else(|| Error::unknown("model", name, self.slots.iter().map(|slot| slot.name.as_str())).into())
    }

    /// The file of a model.
    pub(crate) fn path(&self, at: usize) -> &Path {
        &self.slots[at].path
    }

    /// Whether a file is no longer what it was when it was read last.
    pub(crate) fn has_changed(&self, at: usize) -> bool {
        stamp(&self.slots[at].path) != self.slots[at].seen().stamp
    }

    /// Reads a file again; the new model, if the file holds another than when it was read last.
    pub(crate) fn again(&self, at: usize) -> ordain::Result<Option<Loaded>> {
        let slot = &self.slots[at];
        // what is written while this reads is another change
        slot.seen().stamp = stamp(&slot.path);
        let new = Loaded::read(&slot.name, &slot.path)?;
        let same = slot.seen().version == new.version;
        Ok(Some(new).filter(|_| !same))
    }

    /// Puts the model of a file in the place of another.
    pub(crate) fn put_read(&self, at: usize, new: Arc<Loaded>) {
        self.slots[at].seen().version.clone_from(&new.version);
        self.put(at, new);
    }

    /// Puts a model in the place of another: requests that are under way keep the old one.
    pub(crate) fn put(&self, at: usize, new: Arc<Loaded>) {
        *self.slots[at].loaded.write().unwrap_or_else(PoisonError::into_inner) = new;
    }
}

impl Slot {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self) -> Arc<Loaded> {
        self.loaded.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
