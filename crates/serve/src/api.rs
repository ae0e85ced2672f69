//! The routes.

use crate::Shared;
use crate::access::guard;
use crate::feed::{Feed, Line};
use crate::folder::{Entry, Kind, State as RunState};
use crate::job::{Job, JobEntry, Order};
use crate::metrics;
use crate::refusal::Refusal;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, PathRejection, QueryRejection};
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::header::{CONTENT_TYPE, SET_COOKIE};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use futures_util::stream::{self, Stream};
use report::run_folder::{self, EVENTS, REPORT_HTML};
use report::{Report, compare, html};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

const PAGE: &str = include_str!("page/page.html");
const SCRIPT: &str = include_str!("page/page.js");
const STYLE: &str = include_str!("page/page.css");
/// No request of ours is longer.
const BODY_MOST: usize = 64 * 1024;
/// No file is sent whole that is longer.
const FILE_MOST: u64 = 512 << 20;
/// A run that has not begun by then is answered for all the same: devices with many routes take longer.
const BEGINS_WITHIN: Duration = Duration::from_secs(5);
/// Lines that a stream takes at once.
const LINES_AT_ONCE: usize = 256;
/// Files of a run that may be read, with what they are.
const FILES: [(&str, &str); 8] = [
    (REPORT_HTML, "text/html; charset=utf-8"),
    (run_folder::RESULTS_JSON, "application/json"),
    (run_folder::RESULTS_CSV, "text/csv; charset=utf-8"),
    (run_folder::TRIALS_CSV, "text/csv; charset=utf-8"),
    (run_folder::STREAMS_CSV, "text/csv; charset=utf-8"),
    (EVENTS, "application/jsonl"),
    (crate::TRAFFIC, "application/jsonl"),
    ("config.toml", "text/plain; charset=utf-8"),
];

type Answer<T> = Result<T, Refusal>;
type App = State<Arc<Shared>>;

/// Every route, with `more` beside ours; all behind the same checks.
pub fn routes(shared: Arc<Shared>, more: Router) -> Router {
    let own = Router::new()
        .route("/", get(|| async { Html(PAGE) }))
        .route(
            "/page.js",
            get(|| async { ([(CONTENT_TYPE, "text/javascript; charset=utf-8")], SCRIPT) }),
        )
        .route("/page.css", get(style))
        .route("/metrics", get(openmetrics))
        .route("/compare", get(comparison))
        .route("/runs/{id}/{file}", get(file))
        .route("/api/login", post(login))
        .route("/api/state", get(state))
        .route("/api/runs", post(start))
        .route("/api/runs/{id}/events", get(events))
        .route("/api/runs/{id}/trials/{number}/balance", get(balance))
        .route("/api/runs/{id}/stop", post(stop))
        .route("/api/runs/{id}/resume", post(resume))
        .route("/api/runs/{id}/keys", post(keys))
        .layer(DefaultBodyLimit::max(BODY_MOST))
        .with_state(shared.clone());
    own.merge(more)
        .fallback(|| async {
            Refusal::missing("there is no such page")
                .help("the page is at /; docs/serve.md lists the rest")
        })
        .method_not_allowed_fallback(|| async {
            Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "this page does not take this method")
                .help("docs/serve.md lists the pages with their methods")
        })
        .layer(middleware::from_fn_with_state(shared, guard))
}

/// The body of a request.
type Body = Result<Bytes, BytesRejection>;

/// Reads a body; of what is wrong in it, the place is named.
fn read<T: DeserializeOwned>(headers: &HeaderMap, body: Body, example: &str) -> Answer<T> {
    let body = body.map_err(|rejection| {
        Refusal::new(rejection.status(), rejection.body_text())
            .help(format!("a request has at most {BODY_MOST} bytes"))
    })?;
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("none");
    if kind.split(';').next().map(str::trim) != Some("application/json") {
        let error = format!("the content type is {kind}, not application/json");
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, error)
            .help("send the header `Content-Type: application/json`"));
    }
    // A list would be read as the members in their order.
    if body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[') {
        return Err(Refusal::bad("the body: expected an object, found a list")
            .help(format!("send, for example: {example}")));
    }
    serde_json::from_slice(&body).map_err(|error| {
        Refusal::bad(format!("the body: {error}")).help(format!("send, for example: {example}"))
    })
}

/// Does what reads files beside the thread that answers.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> Answer<T> + Send + 'static) -> Answer<T> {
    tokio::task::spawn_blocking(work).await.map_err(Refusal::broken)?
}

async fn style() -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/css; charset=utf-8")], format!("{}\n{STYLE}", html::style()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Login {
    token: String,
}

async fn login(State(shared): App, headers: HeaderMap, body: Body) -> Answer<Response> {
    let Login { token } = read(&headers, body, r#"{"token": "..."}"#)?;
    let cookie = shared.access.login(&token)?;
    let mut response = StatusCode::NO_CONTENT.into_response();
    cookie.map(|cookie| response.headers_mut().insert(SET_COOKIE, cookie));
    Ok(response)
}

#[derive(Serialize)]
struct Everything {
    program: &'static str,
    runs: Vec<Entry>,
    job: Option<JobEntry>,
}

async fn state(State(shared): App) -> Answer<Json<Everything>> {
    aside(move || {
        let job = shared.jobs.latest().map(|job| job.entry());
        let program = concat!("netanvil ", env!("CARGO_PKG_VERSION"));
        Ok(Json(Everything { program, runs: shared.folder.list(), job }))
    })
    .await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Start {
    command: String,
}

async fn start(
    State(shared): App,
    headers: HeaderMap,
    body: Body,
) -> Answer<(StatusCode, Json<JobEntry>)> {
    let example = r#"{"command": "run --device linux-router --profile quick"}"#;
    let Start { command } = read(&headers, body, example)?;
    let order = Order::parse(&command)?;
    let started = shared.clone();
    let job = aside(move || started.jobs.start(&order, &started.folder)).await?;
    begun(&shared, &job, 0).await
}

/// Answers when a record has more lines than before, or nothing came of it.
async fn begun(shared: &Shared, job: &Job, before: usize) -> Answer<(StatusCode, Json<JobEntry>)> {
    let begins = shared.jobs.begins(job, &shared.feeds, before, BEGINS_WITHIN).await?;
    let status = if begins { StatusCode::CREATED } else { StatusCode::ACCEPTED };
    Ok((status, Json(job.entry())))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stop {
    #[serde(default)]
    kill: bool,
}

async fn stop(
    State(shared): App,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Answer<Json<JobEntry>> {
    let Stop { kill } = read(&headers, body, "{} or {\"kill\": true}")?;
    let job = shared.jobs.of(&id, &shared.folder)?;
    if kill {
        job.kill()
    } else {
        job.stop()
    }
    Ok(Json(job.entry()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

async fn resume(
    State(shared): App,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Answer<(StatusCode, Json<JobEntry>)> {
    let Nothing {} = read(&headers, body, "{}")?;
    let path = shared.folder.find(&id)?;
    let kind = crate::folder::record(&path).map(|(kind, _)| kind);
    if kind != Some(Kind::Run) {
        return Err(Refusal::conflict(format!("{id} is no run of tests; only those are resumed")));
    }
    let entry = shared.folder.list().into_iter().find(|entry| entry.id == id);
    if entry.is_some_and(|entry| matches!(entry.state, RunState::Complete | RunState::Invalid)) {
        return Err(Refusal::conflict(format!("{id} is complete")).help("start a new run"));
    }
    let before = open(shared.clone(), id.clone()).await?.lines();
    let job = shared.jobs.resume(&id, &path)?;
    begun(&shared, &job, before).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    keys: String,
}

/// Keys of traffic that are not those of its end.
const KEYS: &str = "+-*/p 123456789";

async fn keys(
    State(shared): App,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Answer<Json<JobEntry>> {
    let Keys { keys } = read(&headers, body, r#"{"keys": "p"}"#)?;
    if let Some(other) = keys.chars().find(|key| !KEYS.contains(*key)) {
        return Err(Refusal::bad(format!("{other:?} is no key of traffic"))
            .help(format!("the keys are {KEYS:?}")));
    }
    let job = shared.jobs.of(&id, &shared.folder)?;
    job.press(&keys)?;
    Ok(Json(job.entry()))
}

async fn openmetrics(State(shared): App) -> Answer<impl IntoResponse> {
    aside(move || {
        let running =
            shared.folder.list().into_iter().filter(|entry| entry.state == RunState::Running);
        for entry in running.filter(|entry| entry.kind != Kind::Comparison) {
            let folder = shared.folder.path_of(&entry.id)?;
            shared
                .feeds
                .open(&entry.id, &folder)
                .into_iter()
                .for_each(|feed| shared.feeds.keep(feed));
        }
        let text = metrics::render(&shared.feeds).map_err(Refusal::broken)?;
        Ok(([(CONTENT_TYPE, metrics::CONTENT_TYPE)], text))
    })
    .await
}

async fn open(shared: Arc<Shared>, id: String) -> Answer<Arc<Feed>> {
    aside(move || {
        let folder = shared.folder.find(&id)?;
        shared
            .feeds
            .open(&id, &folder)
            .ok_or_else(|| Refusal::missing(format!("{id} has no record any more")))
    })
    .await
}

#[derive(Deserialize)]
struct After {
    after: Option<String>,
}

/// The name is not among the constants of the crate of headers.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

async fn events(
    State(shared): App,
    Path(id): Path<String>,
    query: Result<Query<After>, QueryRejection>,
    headers: HeaderMap,
) -> Answer<Sse<impl Stream<Item = Result<Event, Infallible>>>> {
    let Query(After { after }) = query.map_err(|rejection| {
        Refusal::bad(rejection.body_text()).help("write ?after=ID once, or leave it out")
    })?;
    let last =
        headers.get(LAST_EVENT_ID).map(|id| String::from_utf8_lossy(id.as_bytes()).into_owned());
    let after = match last.or(after) {
        None => 0,
        Some(text) => text.parse().map_err(|_| {
            Refusal::bad(format!("{text:?} is no id of an event"))
                .help("leave out Last-Event-ID to have all")
        })?,
    };
    let feed = open(shared.clone(), id).await?;
    let mut grown = feed.grown();
    let generation = grown.borrow_and_update().0;
    let closing = shared.closing.subscribe();
    let follower = Follower {
        feed,
        grown,
        closing,
        after,
        generation,
        queue: VecDeque::new(),
        is_current: false,
    };
    Ok(Sse::new(stream::unfold(follower, Follower::next)).keep_alive(KeepAlive::default()))
}

/// A client of a record.
struct Follower {
    feed: Arc<Feed>,
    grown: watch::Receiver<(u64, usize)>,
    closing: watch::Receiver<bool>,
    /// The id of the last line that was queued.
    after: u64,
    generation: u64,
    queue: VecDeque<Line>,
    /// Whether it was told that it has all there is.
    is_current: bool,
}

impl Follower {
    async fn next(mut self) -> Option<(Result<Event, Infallible>, Self)> {
        loop {
            if let Some(line) = self.queue.pop_front() {
                let event = Event::default().id(line.id.to_string()).data(line.data);
                return Some((Ok(event), self));
            }
            let (generation, _) = *self.grown.borrow_and_update();
            let was_replaced = generation != self.generation;
            self.generation = generation;
            let from = if was_replaced { 0 } else { self.after };
            let (lines, is_unknown) = self.feed.after(from, LINES_AT_ONCE);
            if let Some(last) = lines.last() {
                self.after = last.id;
            }
            self.queue = lines.into();
            if was_replaced || is_unknown {
                return Some((Ok(Event::default().data(r#"{"kind":"reset"}"#)), self));
            }
            if !self.queue.is_empty() {
                continue;
            }
            if !self.is_current {
                self.is_current = true;
                return Some((Ok(Event::default().data(r#"{"kind":"current"}"#)), self));
            }
            tokio::select! {
                grown = self.grown.changed() => grown.ok()?,
                _closing = self.closing.wait_for(|closing| *closing) => return None,
            }
        }
    }
}

async fn balance(
    State(shared): App,
    place: Result<Path<(String, u64)>, PathRejection>,
) -> Answer<Html<String>> {
    let Path((id, number)) = place.map_err(|rejection| {
        Refusal::bad(rejection.body_text()).help("write /api/runs/ID/trials/NUMBER/balance")
    })?;
    let feed = open(shared, id).await?;
    aside(move || {
        let trial = feed.trial(number).map_err(Refusal::broken)?;
        let trial =
            trial.ok_or_else(|| Refusal::missing(format!("{} has no trial {number}", feed.id)))?;
        Ok(Html(html::balance(&trial)))
    })
    .await
}

fn read_run(shared: &Shared, id: &str) -> Answer<Report> {
    let folder = shared.folder.find(id)?;
    let read = run_folder::read_events(&folder).map_err(Refusal::conflict)?;
    Ok(Report::from_events(&read.0, read.1))
}

#[derive(Deserialize)]
struct Compared {
    before: String,
    after: String,
}

async fn comparison(
    State(shared): App,
    query: Result<Query<Compared>, QueryRejection>,
) -> Answer<Html<String>> {
    let Query(Compared { before, after }) = query.map_err(|rejection| {
        Refusal::bad(rejection.body_text())
            .help("write /compare?before=ID&after=ID; GET /api/state lists the runs")
    })?;
    aside(move || {
        let (a, b) = (read_run(&shared, &before)?, read_run(&shared, &after)?);
        let comparison = compare::compare((&before, &a), (&after, &b));
        if !comparison.has_common() {
            return Err(Refusal::conflict(
                "nothing to compare: the runs have no quantity in common",
            )
            .help("compare runs of the same tests with the same frame sizes and conditions"));
        }
        Ok(Html(html::comparison(&comparison)))
    })
    .await
}

async fn file(State(shared): App, Path((id, name)): Path<(String, String)>) -> Answer<Response> {
    let known = FILES.iter().find(|(known, _)| *known == name);
    let (name, kind) = *known.ok_or_else(|| {
        let names: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
        Refusal::missing(format!("{name:?} is no file of a run"))
            .help(format!("there are {}", names.join(", ")))
    })?;
    aside(move || {
        let folder = shared.folder.find(&id)?;
        let path = folder.join(name);
        let Ok(found) = std::fs::metadata(&path) else {
            return match (name, crate::folder::record(&folder)) {
                // A run that goes on has no report yet, or an earlier one.
                (REPORT_HTML, Some((Kind::Run, _))) => {
                    Ok(Html(html::render(&read_run(&shared, &id)?)).into_response())
                }
                _ => Err(Refusal::missing(format!("{id} has no {name}"))),
            };
        };
        if found.len() > FILE_MOST {
            return Err(Refusal::conflict(format!("{name} has {} bytes", found.len()))
                .help(format!("read it from the folder: {}", path.display())));
        }
        let bytes = std::fs::read(&path)
            .map_err(|error| Refusal::broken(format!("cannot read {name}: {error}")))?;
        Ok(([(CONTENT_TYPE, kind)], bytes).into_response())
    })
    .await
}
