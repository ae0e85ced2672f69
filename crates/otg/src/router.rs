//! The paths of the API.

use crate::engine::Engine;
use crate::error::Refused;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, patch, post};
use serde::Serialize;
use serde_json::Value;

/// A longer request is refused before it is read to its end.
const BODY_MAX: usize = 32 << 20;

/// The API of a tester over REST and gRPC, to be served alone: gRPC knows its methods by their whole paths.
///
/// Browsers may not drive it: they alone say where a page is from, and let any page send requests.
pub fn service(engine: Engine) -> Router {
    let all = router(engine.clone()).merge(crate::grpc::router(engine));
    all.layer(middleware::from_fn(refuse_pages))
}

async fn refuse_pages(request: Request, next: Next) -> Response {
    let Some(origin) = request.headers().get(header::ORIGIN) else {
        return next.run(request).await;
    };
    let origin = origin.to_str().unwrap_or("an unreadable origin");
    let what = format!("a page of {origin} may not drive this server: clients send no Origin");
    error(Refused { code: 403, errors: vec![what] })
}

/// The API of a tester over REST, to be served alone or below a path.
pub fn router(engine: Engine) -> Router {
    Router::new()
        .route(
            "/config",
            get(|State(engine): State<Engine>| async move { call(move || Ok(engine.config())).await })
                .post(|state: State<Engine>, request: Request| on(state, request, Engine::set_config))
                .patch(|state: State<Engine>, request: Request| on(state, request, Engine::update_config)),
        )
        .route("/config/append", patch(|s: State<Engine>, r: Request| on(s, r, Engine::append_config)))
        .route("/config/delete", patch(|s: State<Engine>, r: Request| on(s, r, Engine::delete_config)))
        .route("/control/state", post(|s: State<Engine>, r: Request| on(s, r, Engine::control_state)))
        .route("/control/action", post(|s: State<Engine>, r: Request| on(s, r, Engine::control_action)))
        .route("/monitor/metrics", post(|s: State<Engine>, r: Request| on(s, r, Engine::metrics)))
        .route("/monitor/states", post(|s: State<Engine>, r: Request| on(s, r, Engine::states)))
        .route("/monitor/capture", post(capture))
        .route(
            "/capabilities/version",
            get(|State(engine): State<Engine>| async move { call(move || Ok(engine.version())).await }),
        )
        .route(
            "/netanvil/flows",
            get(|State(engine): State<Engine>| async move { call(move || engine.flow_details()).await }),
        )
        .fallback(|| async { error(Refused { code: 404, errors: vec!["there is no such path".into()] }) })
        .method_not_allowed_fallback(|| async {
            error(Refused { code: 405, errors: vec!["the path has no such method".into()] })
        })
        .with_state(engine)
}

/// Answers a request with what the engine makes of its body.
async fn on<T: Serialize + Send + 'static>(
    State(engine): State<Engine>,
    request: Request,
    what: fn(&Engine, Value) -> Result<T, Refused>,
) -> Response {
    match body(request).await {
        Ok(body) => call(move || what(&engine, body)).await,
        Err(refused) => error(refused),
    }
}

async fn capture(State(engine): State<Engine>, request: Request) -> Response {
    let body = match body(request).await {
        Ok(body) => body,
        Err(refused) => return error(refused),
    };
    match tokio::task::spawn_blocking(move || engine.capture(body)).await {
        Ok(Ok(bytes)) => {
            let kind = [(header::CONTENT_TYPE, "application/octet-stream")];
            (kind, Body::from(bytes)).into_response()
        }
        Ok(Err(refused)) => error(refused),
        Err(failed) => broken(&failed),
    }
}

/// Ports are opened and trials are ended by calls that take their time: not on a thread that serves others.
/// A client that goes away does not end the call: what was begun is done.
async fn call<T: Serialize + Send + 'static>(
    what: impl FnOnce() -> Result<T, Refused> + Send + 'static,
) -> Response {
    match tokio::task::spawn_blocking(what).await {
        Ok(Ok(answer)) => json(StatusCode::OK, &answer),
        Ok(Err(refused)) => error(refused),
        Err(failed) => broken(&failed),
    }
}

async fn body(request: Request) -> Result<Value, Refused> {
    let bytes = to_bytes(request.into_body(), BODY_MAX).await.map_err(|error| {
        let (code, what) = match is_too_long(&error) {
            true => (413, format!("the request is longer than {BODY_MAX} bytes")),
            false => (400, format!("the request did not arrive: {error}")),
        };
        Refused { code, errors: vec![what] }
    })?;
    serde_json::from_slice(&bytes)
        .map_err(|error| Refused::request(vec![format!("the request is no JSON: {error}")]))
}

fn is_too_long(error: &axum::Error) -> bool {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = cause {
        if error.to_string().contains("length limit exceeded") {
            return true;
        }
        cause = error.source();
    }
    false
}

fn json(status: StatusCode, answer: &impl Serialize) -> Response {
    match serde_json::to_vec(answer) {
        Ok(bytes) => (status, [(header::CONTENT_TYPE, "application/json")], bytes).into_response(),
        Err(failed) => broken(&failed),
    }
}

fn error(refused: Refused) -> Response {
    let code = u16::try_from(refused.code).ok().and_then(|code| StatusCode::from_u16(code).ok());
    json(code.unwrap_or(StatusCode::BAD_REQUEST), &refused.body())
}

fn broken(why: &dyn std::fmt::Display) -> Response {
    let body = Refused { code: 500, errors: vec![format!("netanvil failed: {why}")] }.body();
    let bytes = serde_json::to_vec(&body).unwrap_or_default();
    let kind = [(header::CONTENT_TYPE, "application/json")];
    (StatusCode::INTERNAL_SERVER_ERROR, kind, bytes).into_response()
}
