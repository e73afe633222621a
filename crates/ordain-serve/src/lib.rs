//! Models of ordain over HTTP, and a page to label with.
//!
//! Requests become sets of the library, and its answers become JSON: the documents of `ordain --json`, field for field. Nothing is computed
//! here. [`run`] listens until it is told to end.

mod annif;
mod guard;
mod label_studio;
mod listen;
mod metrics;
mod models;
mod native;
mod open_inference;
mod operations;
mod page;
mod problem;
mod routes;
mod rows;
mod said;
mod session;
mod stream;
mod work;

pub use listen::{Control, Orders, Service, control, run};

use ordain::ask::Strategy;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What is served, to whom, and within which limits.
pub struct Config {
    /// Models by the names under which they are served.
    pub models: Vec<(String, PathBuf)>,
    /// Whether a model is read again when its file changes, which is looked at every two seconds.
    pub watch: bool,
    /// What the page labels, if it is wanted.
    pub labelling: Option<Labelled>,
    /// Where to listen.
    pub bind: SocketAddr,
    /// Who may ask.
    pub access: Access,
    /// Names of hosts by which the server may be called, beside addresses and, on a loopback address, `localhost`.
    pub hosts: Vec<String>,
    /// The routes of a machine learning backend of Label Studio, if they are wanted.
    pub label_studio: Option<LabelStudio>,
    /// The vocabulary of the routes of Annif and its language, if they are wanted.
    pub annif: Option<(PathBuf, String)>,
    /// Whether what clients of Annif teach is written to the answers.
    pub accept_learn: bool,
    /// What is too much.
    pub limits: Limits,
    /// Where words for the person who runs the server go.
    pub say: Say,
}

/// Takes a line of text.
pub type Say = Arc<dyn Fn(&str) + Send + Sync>;

/// What people label by the page, with the only model that is served.
pub struct Labelled {
    /// The data.
    pub items: PathBuf,
    /// Where the labels of items are; see [`LabelReading::labels`](ordain::data::LabelReading).
    pub labels: Option<String>,
    /// The file of answers.
    pub answers: PathBuf,
    /// Columns of the table that are shown.
    pub show: Vec<String>,
    /// Of matches: two tables with the records of both sides, by their column `id`.
    pub records: Option<[PathBuf; 2]>,
    /// The folder of pictures: a cell of a column that is shown is shown as a picture if it has the name of one.
    pub media: Option<PathBuf>,
    /// How the next label is chosen.
    pub strategy: Strategy,
    /// Whether nobody sees what the model thinks before the answer.
    pub blind: bool,
    /// How many people are offered the same item.
    pub overlap: usize,
    /// The expected precision that is enough.
    pub target: f64,
    /// After how many answers a model is learned from all of them, beside those who go on; none: never.
    pub learn: Option<usize>,
    /// Data with a known truth, which teach too.
    pub teach: Option<PathBuf>,
}

/// How annotations of Label Studio are read.
#[derive(Clone, Copy, Debug, Default)]
pub struct LabelStudio {
    /// Whether a label that was not chosen does not apply; else nothing is known of it.
    pub complete: bool,
}

/// Who may ask.
pub enum Access {
    /// Whoever reaches the server.
    Open,
    /// Who has one of these tokens; some have the name of a person.
    Tokens(Vec<(Option<String>, String)>),
}

/// What is too much.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of the body of a request.
    pub body: usize,
    /// Rows of a request: documents, items or edges.
    pub rows: usize,
    /// How long a request may take.
    pub time: Duration,
    /// Connections at the same time.
    pub connections: usize,
    /// Requests that wait for a processor.
    pub waiting: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { body: 8 << 20, rows: 10_000, time: Duration::from_secs(30), connections: 256, waiting: 64 }
    }
}
