//! What stands before every route: names of hosts, origins, tokens, kinds and sizes of bodies, time, and the headers of every answer.

use crate::Access;
use crate::problem::{Problem, Result};
use crate::routes::App;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

/// Who asks: the name that belongs to the token.
#[derive(Clone, Debug, Default)]
pub(crate) struct Person(pub(crate) Option<String>);

/// What a browser may load for the page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Lets a request through, or refuses it, and dresses the answer.
pub(crate) async fn guard(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let route = request.extensions().get::<MatchedPath>().map_or("other", |path| path.as_str()).to_owned();
    app.metrics.begin();
    let uri = request.uri().path().to_owned();
    let mut response = match check(&app, request.method(), request.uri(), request.headers(), &route) {
        Err(problem) => problem.into_response(),
        Ok(person) => {
            request.extensions_mut().insert(person);
            match tokio::time::timeout(app.limits.time, next.run(request)).await {
                Ok(response) => response,
                Err(_) => {
                    let text = "the request took too long: ask for less at a time";
                    Problem::new(StatusCode::SERVICE_UNAVAILABLE, text).into_response()
                }
            }
        }
    };
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    let kept = if uri == "/" || uri.starts_with("/static/") { "no-cache" } else { "no-store" };
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(kept));
    app.metrics.end(&route, response.status().as_u16(), begun.elapsed());
    response
}

/// Routes that need no token: they say nothing of data.
fn is_public(route: &str) -> bool {
    matches!(
        route,
        "/" | "/static/{name}"
            | "/healthz"
            | "/readyz"
            | "/metrics"
            | "/openapi.json"
            | "/v2/health/live"
            | "/v2/health/ready"
            | "other"
    )
}

fn check(app: &App, method: &Method, uri: &Uri, headers: &HeaderMap, route: &str) -> Result<Person> {
    let text = |name: header::HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    // the whole address may stand in the request line
    let host = uri.authority().map(|own| own.as_str()).or(text(header::HOST));
    let host = host.ok_or_else(|| Problem::bad("expected a Host header, found none"))?;
    if headers.get_all(header::HOST).iter().count() > 1 || !is_known(app, host) {
        let detail = "this host name is not one of the server's (ordain serve --allow-host NAME allows one)";
        return Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, detail));
    }
    if let Some(origin) = headers.get(header::ORIGIN) {
        let own = [format!("http://{host}"), format!("https://{host}")];
        if !own.iter().any(|own| own.as_bytes() == origin.as_bytes()) {
            return Err(Problem::new(StatusCode::FORBIDDEN, "requests of other origins are refused"));
        }
    }
    // the secret of these routes is in their path
    let person = if is_public(route) || route.starts_with("/label-studio/") {
        Person::default()
    } else {
        person(app, text(header::AUTHORIZATION))?
    };
    let kind = text(header::CONTENT_TYPE).unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let json = kind.eq_ignore_ascii_case("application/json");
    let form = route.ends_with("/suggest") && kind.eq_ignore_ascii_case("application/x-www-form-urlencoded");
    if *method == Method::POST && !json && !form {
        let detail = "expected Content-Type: application/json";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
    }
    Ok(person)
}

/// Whether a host is the server's: an address, one of its names, or a loopback name of a loopback address. A page of another origin can
/// make a browser call the server by a name of its own only (DNS rebinding).
fn is_known(app: &App, host: &str) -> bool {
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, _)) => name,
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.parse::<IpAddr>().is_ok()
        || app.loopback && name.eq_ignore_ascii_case("localhost")
        || app.hosts.iter().any(|own| own.eq_ignore_ascii_case(name))
}

/// The person of the token of a request.
fn person(app: &App, authorization: Option<&str>) -> Result<Person> {
    let Access::Tokens(tokens) = &app.access else { return Ok(Person::default()) };
    let refuse = || {
        let detail = "expected the header Authorization: Bearer TOKEN, with the token of the server";
        Problem::new(StatusCode::UNAUTHORIZED, detail)
    };
    let basic = authorization.and_then(|text| text.strip_prefix("Basic ")).and_then(password);
    let basic = basic.as_deref().map(|password| ("Basic", password));
    let given =
        authorization.and_then(|text| text.split_once(' ')).filter(|(kind, _)| kind.eq_ignore_ascii_case("bearer"));
    let (_, given) = given.or(basic).ok_or_else(refuse)?;
    let mut found = None;
    // all are compared, so that time tells nothing
    for (name, token) in tokens {
        if same(token.as_bytes(), given.trim().as_bytes()) {
            found = Some(name.clone());
        }
    }
    found.map(Person).ok_or_else(refuse)
}

/// The password of a header of the kind Basic, which programs make of an address `http://user:password@host/`.
fn password(encoded: &str) -> Option<String> {
    let bytes = base64::engine::general_purpose::STANDARD.decode(encoded.trim()).ok()?;
    Some(String::from_utf8(bytes).ok()?.split_once(':')?.1.to_owned())
}

/// Whether two texts are the same, in a time that depends on their lengths alone.
pub(crate) fn same(a: &[u8], b: &[u8]) -> bool {
    let differ = a.iter().zip(b).fold(0, |differ, (a, b)| std::hint::black_box(differ | (a ^ b)));
    a.len() == b.len() && differ == 0
}

/// The body of a request, if it is not too large.
pub(crate) async fn body(app: &App, body: Body) -> Result<Bytes> {
    to_bytes(body, app.limits.body).await.map_err(|_| {
        let detail = format!("expected a body of at most {} bytes that arrives whole", app.limits.body);
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
    })
}
