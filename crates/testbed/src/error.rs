//! What can go wrong while a test bed is built, used or removed, each with its remedy.

use std::io;
use std::path::{Path, PathBuf};

/// An error of the test bed. The text names what was being done and, where there is one, the remedy.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// The kernel refused a step because the process may not do it.
    #[error("{doing}: not permitted. {remedy}")]
    NotPermitted {
        /// The step.
        doing: String,
        /// What the operator can do about it.
        remedy: String,
    },
    /// The kernel refused a netlink request.
    #[error("{doing}: {source}{}", explanation.as_deref().map(|e| format!(" ({e})")).unwrap_or_default())]
    Netlink {
        /// The step.
        doing: String,
        /// The kernel's own sentence, when it gave one (netlink extended acknowledgement).
        explanation: Option<String>,
        /// The error number.
        source: io::Error,
    },
    /// A system call or a file failed.
    #[error("{doing}: {source}")]
    System {
        /// The step.
        doing: String,
        /// The error number.
        source: io::Error,
    },
    /// A named namespace of this test bed is no longer there.
    #[error(
        "network namespace {name} is gone: somebody removed it (`ip netns del`, `netanvil clean \
         --force`) while the test bed was in use. Results since then are void; build the test bed again"
    )]
    NamespaceGone {
        /// Its name under /run/netns.
        name: String,
    },
    /// An interface that should exist does not.
    #[error("interface {name} does not exist in {place}. `ip -br link` lists those that do")]
    NoSuchInterface {
        /// The interface.
        name: String,
        /// The namespace looked in.
        place: String,
    },
    /// An interface came up and got no carrier.
    #[error("interface {name} has no carrier after {waited_ms} ms. Is the other end up?")]
    NoCarrier {
        /// The interface.
        name: String,
        /// Milliseconds waited.
        waited_ms: u32,
    },
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
    /// The configuration asks for something that cannot be built.
    #[error("test bed configuration: {0}")]
    Configuration(String),
}

impl TestbedError {
    /// Wraps an I/O error, turning a refusal into [`TestbedError::NotPermitted`].
    pub(crate) fn system(doing: impl Into<String>, source: impl Into<io::Error>) -> Self {
        let (doing, source) = (doing.into(), source.into());
        match source.kind() {
            io::ErrorKind::PermissionDenied => Self::not_permitted(doing),
            _ => Self::System { doing, source },
        }
    }

    /// A refusal, with the remedy every test bed has.
    pub(crate) fn not_permitted(doing: impl Into<String>) -> Self {
        Self::NotPermitted {
            doing: doing.into(),
            remedy: "Run as root (in a container with CAP_NET_ADMIN and CAP_SYS_ADMIN), or let \
                     netanvil enter a user namespace of its own (the default for an ordinary \
                     user, where the kernel allows it)"
                .into(),
        }
    }
}

/// Shorthand of this crate.
pub type Result<T, E = TestbedError> = std::result::Result<T, E>;

/// Reads a whole file, naming it when that fails.
pub(crate) fn read_file(path: impl AsRef<Path>) -> Result<String> {
    let path = path.as_ref();
    std::fs::read_to_string(path)
        .map_err(|e| TestbedError::system(format!("read {}", path.display()), e))
}

/// Writes a whole file (also one of /proc or /sys), naming it when that fails.
pub(crate) fn write_file(path: impl Into<PathBuf>, content: &str) -> Result<()> {
    let path = path.into();
    std::fs::write(&path, content).map_err(|e| {
        TestbedError::system(format!("write {:?} to {}", content.trim_end(), path.display()), e)
    })
}
