//! The labelling page: files that are part of the program.

use crate::problem::{Problem, Result};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Names, kinds and contents.
const FILES: &[(&str, &str, &str)] = &[
    ("index.html", "text/html; charset=utf-8", include_str!("../page/index.html")),
    ("app.js", SCRIPT, include_str!("../page/app.js")),
    ("dialogs.js", SCRIPT, include_str!("../page/dialogs.js")),
    ("dom.js", SCRIPT, include_str!("../page/dom.js")),
    ("keys.js", SCRIPT, include_str!("../page/keys.js")),
    ("labels.js", SCRIPT, include_str!("../page/labels.js")),
    ("matches.js", SCRIPT, include_str!("../page/matches.js")),
    ("net.js", SCRIPT, include_str!("../page/net.js")),
    ("parts.js", SCRIPT, include_str!("../page/parts.js")),
    ("ranks.js", SCRIPT, include_str!("../page/ranks.js")),
    ("show.js", SCRIPT, include_str!("../page/show.js")),
    ("icon.svg", "image/svg+xml", include_str!("../page/icon.svg")),
    ("style.css", "text/css; charset=utf-8", include_str!("../page/style.css")),
];

/// A file by its name.
pub(crate) fn file(name: &str) -> Result<Response> {
    let found = FILES.iter().find(|(own, ..)| *own == name);
    let (_, kind, text) = found.ok_or_else(|| Problem::not_found(format!("no file {name:?}")))?;
    let mut response = (*text).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    Ok(response)
}
