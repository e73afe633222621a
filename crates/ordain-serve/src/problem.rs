//! What is wrong with a request: problem documents of RFC 9457.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ordain::Error;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A refusal.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    pub(crate) detail: String,
    /// More members of the document.
    pub(crate) more: Map<String, Value>,
}

/// What routes return.
pub(crate) type Result<T> = std::result::Result<T, Problem>;

impl Problem {
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into(), more: Map::new() }
    }

    /// JSON that is not what the route takes.
    pub(crate) fn bad(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    /// Values that the model or the data do not take.
    pub(crate) fn unfit(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.more.insert(name.into(), value.into());
        self
    }

    /// The document.
    pub(crate) fn document(&self) -> Value {
        let mut all = Map::from_iter([
            ("type".into(), "about:blank".into()),
            ("title".into(), self.status.canonical_reason().unwrap_or("Error").into()),
            ("status".into(), self.status.as_u16().into()),
            ("detail".into(), self.detail.clone().into()),
        ]);
        all.extend(self.more.clone());
        all.into()
    }
}

impl From<Error> for Problem {
    /// The parts of an error become members: what was expected and found, and the names that are known.
    fn from(error: Error) -> Self {
        let status = match error.cause() {
            Error::Io { .. } => StatusCode::INSUFFICIENT_STORAGE,
            Error::Unknown { .. } => StatusCode::NOT_FOUND,
            _ => StatusCode::UNPROCESSABLE_ENTITY,
        };
        let problem = Self::new(status, error.told(|option, value| format!("{option}={value}")));
        match error.cause() {
            Error::Data { expected, found } | Error::Setting { expected, found, .. } => {
                problem.with("expected", expected.as_str()).with("found", found.as_str())
            }
            Error::Unknown { found, nearest, .. } => {
                problem.with("found", found.as_str()).with("nearest", nearest.clone())
            }
            Error::Features { missing, extra } => {
                problem.with("missing", missing.clone()).with("unexpected", extra.clone())
            }
            _ => problem,
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, self.document().to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        match self.status {
            StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            StatusCode::UNAUTHORIZED => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            _ => {}
        }
        response
    }
}

/// A part of the address, as a route names it. What is wrong with it is told as everything else is.
pub(crate) struct At<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for At<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        let read = Path::<T>::from_request_parts(parts, state).await;
        read.map(|Path(value)| Self(value)).map_err(|error| Problem::bad(error.body_text()))
    }
}

/// A document of JSON as a response.
pub(crate) fn json(status: StatusCode, text: String) -> Response {
    let mut response = (status, text).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
