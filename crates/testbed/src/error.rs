//! What can go wrong while a test bed is built, used or removed, each with its remedy.

use std::io;

use kernel::KernelError;

/// An error of the test bed. The text names what was being done and, where there is one, the remedy.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// The kernel refused a step.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// A program the test bed needs is missing or failed.
    #[error("{program}: {message}")]
    Program {
        /// The program.
        program: &'static str,
        /// What it said, or how to get it.
        message: String,
    },
    /// Routes that a routing protocol was to bring did not all come.
    #[error("feed: {message}. Give it longer (feed_within_s), or fewer routes (routes_per_port)")]
    Feed {
        /// What came.
        message: String,
    },
    /// An interface that was named is not fit for tests.
    #[error("{0}")]
    Interface(String),
    /// The configuration asks for something that cannot be built.
    #[error("test bed configuration: {0}")]
    Configuration(String),
}

impl TestbedError {
    /// An I/O error while doing something.
    pub(crate) fn system(doing: impl Into<String>, source: impl Into<io::Error>) -> Self {
        KernelError::system(doing, source).into()
    }
}

/// Shorthand of this crate.
pub type Result<T, E = TestbedError> = std::result::Result<T, E>;
