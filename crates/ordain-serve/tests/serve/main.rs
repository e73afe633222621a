//! The routes, called without a socket.
#![allow(clippy::unwrap_used)] // a test may panic

#[path = "../../../ordain/tests/common/cases.rs"]
mod cases;
mod labels;
mod models;
mod native;
mod others;
mod pairs;
mod pictures;
mod shield;
mod sockets;
mod strange;

use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode};
use ordain::answer::Answers;
use ordain::ask::Strategy;
use ordain::data::synthetic::{Linkage, Scenes, Synthetic};
use ordain::data::{LabelSet, write_labels};
use ordain::method::{CStar, MatchMethod, RankSvm};
use ordain::model_file;
use ordain::solver::run::Watch;
use ordain::task::{Method, Training};
use ordain_serve::{Access, Config, Labelled, Limits, Service};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use tower::ServiceExt;

/// An answer of the server.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("expected JSON, found {:?}", self.text))
    }

    /// The document, of an answer that went well.
    #[track_caller]
    pub(crate) fn well(&self) -> Value {
        assert_eq!(self.status, StatusCode::OK, "{}", self.text);
        self.json()
    }
}

/// A server without a socket.
pub(crate) struct Server {
    pub(crate) service: Service,
    runtime: tokio::runtime::Runtime,
    /// Headers of every request.
    pub(crate) headers: Vec<(&'static str, String)>,
}

impl Server {
    pub(crate) fn new(config: Config) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        Self { service: Service::new(config).unwrap(), runtime, headers: vec![("host", "127.0.0.1:8080".into())] }
    }

    pub(crate) fn send(&self, method: &str, path: &str, more: &[(&str, &str)], body: &[u8]) -> Reply {
        let more: Vec<(HeaderName, HeaderValue)> =
            more.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        self.send_bytes(method, path, &more, body)
    }

    pub(crate) fn send_bytes(
        &self,
        method: &str,
        path: &str,
        more: &[(HeaderName, HeaderValue)],
        body: &[u8],
    ) -> Reply {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        for (name, value) in more {
            request = request.header(name, value);
        }
        let request = request.body(Body::from(body.to_vec())).unwrap();
        let routes = self.service.routes();
        self.runtime.block_on(async {
            let response = routes.oneshot(request).await.unwrap();
            let (status, headers) = (response.status(), response.headers().clone());
            let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
            Reply { status, headers, text: String::from_utf8(bytes.to_vec()).unwrap() }
        })
    }

    /// The statuses of so many requests that are there at once; `later` is called when all of them wait or are answered.
    pub(crate) fn at_once(&self, count: usize, path: &str, body: &Value, later: impl FnOnce()) -> Vec<StatusCode> {
        let request = || {
            let (name, host) = &self.headers[0];
            let request = Request::builder().method("POST").uri(path).header(*name, host);
            request.header("content-type", "application/json").body(Body::from(body.to_string())).unwrap()
        };
        self.runtime.block_on(async {
            let under_way: Vec<_> =
                (0..count).map(|_| tokio::spawn(self.service.routes().oneshot(request()))).collect();
            // on one thread each of them goes as far as it can before this goes on
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            later();
            let mut statuses = vec![];
            for one in under_way {
                statuses.push(one.await.unwrap().unwrap().status());
            }
            statuses
        })
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[], b"")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Reply {
        self.send("POST", path, &[("content-type", "application/json")], body.to_string().as_bytes())
    }
}

/// What is served without a token, at a loopback address.
pub(crate) fn config(models: Vec<(String, std::path::PathBuf)>) -> Config {
    Config {
        models,
        watch: false,
        labelling: None,
        bind: "127.0.0.1:8080".parse().unwrap(),
        access: Access::Open,
        hosts: vec![],
        label_studio: None,
        annif: None,
        accept_learn: false,
        limits: Limits::default(),
        say: Arc::new(|_| {}),
    }
}

/// A fit with the defaults of a method, in a file.
pub(crate) fn fitted<T: Answers>(method: &impl Method<T>, set: &T::Set, path: &Path) {
    use ordain::data::DataSet as _;
    let fitted = method.fit(&Training::new(set, &set.all()), &Watch::NOBODY).unwrap();
    model_file::save(&fitted, path).unwrap();
}

/// A server of three models, one for each task: `r`, `a` and `m`.
pub(crate) fn three(folder: &Path) -> Server {
    let files = ["r", "a", "m"].map(|name| (name.to_owned(), folder.join(name)));
    fitted(&RankSvm::default(), &Synthetic { queries: 20, ..Synthetic::default() }.make(), &files[0].1);
    fitted(&CStar::independent(), &Scenes { items: 60, ..Scenes::default() }.make(), &files[1].1);
    let matching: MatchMethod = "matchmap[null=true]".parse().unwrap();
    fitted(&matching, &Linkage { problems: 12, ..Linkage::default() }.make(), &files[2].1);
    Server::new(config(files.to_vec()))
}

/// Items to label, a model of them in `model`, and their file `items.csv`.
pub(crate) fn scenes(folder: &Path) -> LabelSet {
    let set = Scenes { items: 60, ..Scenes::default() }.make();
    fitted(&CStar::independent(), &set, &folder.join("model"));
    write_labels(&set, &folder.join("items.csv")).unwrap();
    set
}

/// A server of a session on these.
pub(crate) fn session(folder: &Path, change: impl FnOnce(&mut Config)) -> Server {
    let mut config = config(vec![("model".into(), folder.join("model"))]);
    config.labelling = Some(Labelled {
        items: folder.join("items.csv"),
        labels: None,
        answers: folder.join("answers.jsonl"),
        show: vec![],
        media: None,
        records: None,
        strategy: Strategy::Entropy,
        blind: false,
        overlap: 1,
        target: 0.95,
        learn: None,
        teach: None,
    });
    change(&mut config);
    Server::new(config)
}
