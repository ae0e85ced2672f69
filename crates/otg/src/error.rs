//! What a client is told when a request is not honoured: `Error` of the specification.

use crate::model::{Error, ErrorKind};

/// Why a request is not honoured.
#[derive(Clone, PartialEq, Debug)]
pub struct Refused {
    /// Of HTTP.
    pub code: i32,
    /// What is wrong: each names its place in the request.
    pub errors: Vec<String>,
}

impl Refused {
    /// The request is wrong, or asks for what there is not.
    pub fn request(errors: Vec<String>) -> Self {
        Refused { code: 400, errors }
    }
    /// The request does not go with what there is now.
    pub fn conflict(error: impl ToString) -> Self {
        Refused { code: 409, errors: vec![error.to_string()] }
    }
    /// What the request needs did not come about: a port that cannot be opened, a gateway that is silent.
    pub fn failed(error: impl ToString) -> Self {
        Refused { code: 422, errors: vec![error.to_string()] }
    }
    /// As the specification has it.
    pub fn body(&self) -> Error {
        let kind = if self.code >= 500 { ErrorKind::Internal } else { ErrorKind::Validation };
        Error { code: self.code, kind: Some(kind), errors: self.errors.clone() }
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Refused::request(vec![refusal.to_string()])
    }
}

/// One thing that is wrong with a configuration, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    path: String,
    what: String,
}

impl Refusal {
    /// What is wrong at `path`.
    pub fn new(path: &str, what: String) -> Self {
        Refusal { path: path.into(), what }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path, self.what)
    }
}
