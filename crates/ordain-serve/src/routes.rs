//! The table of routes.

use crate::annif::{self, Vocabulary};
use crate::guard::{body, guard};
use crate::metrics::Metrics;
use crate::models::Models;
use crate::native::{Route, answer};
use crate::problem::{At, Problem, Result, json};
use crate::session::Session;
use crate::work::Work;
use crate::{Access, LabelStudio, Limits, Say, label_studio, open_inference, operations, page, session};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What routes share.
pub(crate) struct App {
    pub(crate) models: Models,
    /// Whether files of models are looked at again and again.
    pub(crate) watch: bool,
    pub(crate) session: Option<Session>,
    pub(crate) access: Access,
    pub(crate) hosts: Vec<String>,
    /// Whether the server listens on a loopback address.
    pub(crate) loopback: bool,
    pub(crate) label_studio: Option<LabelStudio>,
    pub(crate) vocabulary: Option<Vocabulary>,
    pub(crate) accept_learn: bool,
    pub(crate) limits: Limits,
    pub(crate) work: Work,
    pub(crate) metrics: Arc<Metrics>,
    /// Whether the server ends.
    pub(crate) ending: AtomicBool,
    pub(crate) say: Say,
}

/// All routes.
pub(crate) fn router(app: Arc<App>) -> Router {
    let routes = Router::new()
        .route("/", get(|| async { page::file("index.html") }))
        .route("/static/{name}", get(|At(name): At<String>| async move { page::file(&name) }))
        .route("/media/{*name}", get(session::routes::picture))
        .route("/healthz", get(operations::alive))
        .route("/readyz", get(operations::ready))
        .route("/metrics", get(operations::metrics))
        .route("/openapi.json", get(operations::openapi))
        .route("/api/v1/models", get(operations::models))
        .route("/api/v1/models/{model}", get(operations::model))
        .route("/api/v1/models/{model}/rank", post(predict::<{ Route::Rank as u8 }>))
        .route("/api/v1/models/{model}/annotate", post(predict::<{ Route::Annotate as u8 }>))
        .route("/api/v1/models/{model}/match", post(predict::<{ Route::Match as u8 }>))
        .route("/api/v1/models/{model}/explain", post(predict::<{ Route::Explain as u8 }>))
        .route("/api/v1/session", get(session::routes::session))
        .route("/api/v1/items", get(session::routes::items))
        .route("/api/v1/items/{item}", get(session::routes::item))
        .route("/api/v1/labels", get(session::routes::labels))
        .route("/api/v1/answers", post(session::routes::answers))
        .route("/api/v1/undo", post(session::routes::undo))
        .route("/api/v1/redo", post(session::routes::redo))
        .route("/api/v1/export", get(session::routes::export))
        .route("/v2", get(open_inference::server))
        .route("/v2/health/live", get(open_inference::live))
        .route("/v2/health/ready", get(open_inference::ready))
        .route("/v2/models/{model}", get(open_inference::model))
        .route("/v2/models/{model}/ready", get(open_inference::model_ready))
        .route("/v2/models/{model}/infer", post(open_inference::infer))
        .route("/v2/models/{model}/versions/{version}", get(open_inference::model))
        .route("/v2/models/{model}/versions/{version}/ready", get(open_inference::model_ready))
        .route("/v2/models/{model}/versions/{version}/infer", post(open_inference::infer))
        .route("/v1/", get(annif::root))
        .route("/v1/projects", get(annif::projects))
        .route("/v1/projects/{project}", get(annif::one))
        .route("/v1/projects/{project}/suggest", post(annif::suggest))
        .route("/v1/projects/{project}/suggest-batch", post(annif::suggest_batch))
        .route("/v1/projects/{project}/learn", post(annif::learn))
        .route("/v1/vocabs", get(annif::vocabularies))
        .route("/label-studio/{secret}/health", get(label_studio::health))
        .route("/label-studio/{secret}/setup", post(label_studio::setup))
        .route("/label-studio/{secret}/predict", post(label_studio::predict))
        .route("/label-studio/{secret}/webhook", post(label_studio::webhook))
        .route("/label-studio/{secret}/versions", get(label_studio::versions))
        .route("/label-studio/{secret}/validate", post(label_studio::none));
    routes
        .fallback(|| async { Problem::not_found("there is no such route (GET /openapi.json lists all)") })
        .method_not_allowed_fallback(|| async {
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "this route does not take this method")
        })
        .layer(axum::middleware::from_fn_with_state(app.clone(), guard))
        .with_state(app)
}

/// Predictions and explanations.
async fn predict<const ROUTE: u8>(
    State(app): State<Arc<App>>,
    At(model): At<String>,
    request: Request,
) -> Result<Response> {
    let route = [Route::Rank, Route::Annotate, Route::Match, Route::Explain][ROUTE as usize];
    let loaded = app.models.find(&model)?;
    let (bytes, most) = (body(&app, request.into_body()).await?, app.limits.rows);
    let (text, rows) = app.work.run(&app.metrics, move || answer(&loaded, route, &bytes, most)).await??;
    app.metrics.rows(&model, rows);
    Ok(json(StatusCode::OK, text))
}
