//! Why a run stops before its end. Results already taken are in the events.

use crate::SinkError;
use trial::TesterError;

/// Why a run stopped.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RunError {
    /// The tester broke, the device vanished, or the user asked to stop.
    #[error(transparent)]
    Tester(#[from] TesterError),
    /// An event could not be kept.
    #[error(transparent)]
    Sink(#[from] SinkError),
    /// The configuration asks for something that cannot be.
    #[error("{0}")]
    Config(String),
}

impl From<traffic::template::BuildError> for RunError {
    fn from(error: traffic::template::BuildError) -> Self {
        RunError::Config(error.to_string())
    }
}
