//! What a client is told that asked for something it does not get: what was wrong, and what to write instead.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::fmt::Display;

/// An answer that is none.
#[derive(Debug)]
pub struct Refusal {
    status: StatusCode,
    error: String,
    help: String,
}

#[derive(Serialize)]
struct Body {
    error: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    help: String,
}

impl Refusal {
    /// Of this kind, without advice yet.
    pub fn new(status: StatusCode, error: impl Display) -> Self {
        Refusal { status, error: error.to_string(), help: String::new() }
    }

    /// What the client sent is wrong.
    pub fn bad(error: impl Display) -> Self {
        Refusal::new(StatusCode::BAD_REQUEST, error)
    }

    /// It does not fit what goes on.
    pub fn conflict(error: impl Display) -> Self {
        Refusal::new(StatusCode::CONFLICT, error)
    }

    /// There is no such thing.
    pub fn missing(error: impl Display) -> Self {
        Refusal::new(StatusCode::NOT_FOUND, error)
    }

    /// This host failed, not the client.
    pub fn broken(error: impl Display) -> Self {
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, error)
    }

    /// With advice.
    pub fn help(self, help: impl Display) -> Self {
        Refusal { help: help.to_string(), ..self }
    }
}

impl Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.help.is_empty() {
            true => write!(f, "{}", self.error),
            false => write!(f, "{}; {}", self.error, self.help),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let Refusal { status, error, help } = self;
        (status, Json(Body { error, help })).into_response()
    }
}
