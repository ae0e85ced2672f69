//! What can go wrong, with its remedy.

use std::io;
use trial::TesterError;

/// Why something could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// A program is not installed.
    #[error(
        "{program} is not installed: apt install {package}, or leave it out with --without {without}"
    )]
    Missing {
        /// Its name.
        program: &'static str,
        /// The Debian package that has it.
        package: &'static str,
        /// What to give to `--without`; several in a row where it serves several.
        without: &'static str,
    },
    /// A tool did not do what it was started for.
    #[error("{tool}: {what}; it said:\n{said}")]
    Tool {
        /// Its name.
        tool: String,
        /// What went wrong.
        what: String,
        /// The end of what it wrote.
        said: String,
    },
    /// The veth pair could not be built.
    #[error(transparent)]
    Testbed(#[from] testbed::TestbedError),
    /// The kernel refused a step.
    #[error(transparent)]
    Kernel(#[from] kernel::KernelError),
    /// netanvil's own tester failed.
    #[error(transparent)]
    Tester(#[from] TesterError),
    /// The system refused.
    #[error("{what}: {source}")]
    System {
        /// What was attempted.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// Something was measured that cannot be.
    #[error("{0}")]
    Implausible(String),
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
}

/// The result of most functions here.
pub type Result<T> = std::result::Result<T, BenchError>;

/// Names what was attempted when the system refuses.
pub fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> BenchError {
    let what = what.into();
    move |source| BenchError::System { what, source }
}
