//! What the kernel refuses, each with its remedy.

use std::io;
use std::path::{Path, PathBuf};

/// A refusal of the kernel, or of what stands in for it. The text names what was being done and, where there is one, the remedy.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
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
    /// A named namespace that was there is gone.
    #[error(
        "network namespace {name} is gone: somebody removed it (`ip netns del`, `netanvil clean \
         --force`) while the test bed was in use. Results since then are void; build the test bed again"
    )]
    NamespaceGone {
        /// Its name under /run/netns.
        name: String,
    },
    /// There is no namespace of this name.
    #[error("there is no network namespace {name}; `ip netns` lists those that there are")]
    NoSuchNamespace {
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
}

impl KernelError {
    /// Wraps an I/O error, turning a refusal into [`KernelError::NotPermitted`].
    pub fn system(doing: impl Into<String>, source: impl Into<io::Error>) -> Self {
        let (doing, source) = (doing.into(), source.into());
        match source.kind() {
            io::ErrorKind::PermissionDenied => Self::not_permitted(doing),
            _ => Self::System { doing, source },
        }
    }

    /// A refusal, with the remedy that all of them have.
    pub fn not_permitted(doing: impl Into<String>) -> Self {
        Self::NotPermitted {
            doing: doing.into(),
            remedy: "Run as root (in a container with CAP_NET_ADMIN and CAP_SYS_ADMIN), or let \
                     netanvil enter a user namespace of its own (the default for an ordinary \
                     user, where the kernel allows it)"
                .into(),
        }
    }
}

impl From<KernelError> for io::Error {
    /// The kernel's own error number, where it gave one.
    fn from(error: KernelError) -> Self {
        match error {
            KernelError::Netlink { source, .. } | KernelError::System { source, .. } => source,
            KernelError::NotPermitted { .. } => io::Error::from_raw_os_error(libc::EPERM),
            KernelError::NoSuchInterface { .. } => io::Error::from_raw_os_error(libc::ENODEV),
            other => io::Error::other(other),
        }
    }
}

/// Shorthand of this crate.
pub type Result<T, E = KernelError> = std::result::Result<T, E>;

/// An error and what it came from, each said once.
pub fn causes(error: &dyn std::error::Error) -> String {
    let mut said = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if !said.contains(&text) {
            said = format!("{said}: {text}");
        }
        source = cause.source();
    }
    said
}

/// Reads a whole file, naming it when that fails.
pub fn read_file(path: impl AsRef<Path>) -> Result<String> {
    let path = path.as_ref();
    std::fs::read_to_string(path)
        .map_err(|e| KernelError::system(format!("read {}", path.display()), e))
}

/// Writes a whole file (also one of /proc or /sys), naming it when that fails.
pub fn write_file(path: impl Into<PathBuf>, content: &str) -> Result<()> {
    let path = path.into();
    std::fs::write(&path, content).map_err(|e| {
        KernelError::system(format!("write {:?} to {}", content.trim_end(), path.display()), e)
    })
}
