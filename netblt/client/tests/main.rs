//! Transfers between both ends of this crate over real sockets.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "waits for what happens")]

mod common;

/// Real sockets and threads, where no rate is compared: several at a time (`make test-live`).
mod concurrent {
    mod cancelling;
    mod dying;
    mod executors;
    mod files;
    mod troubles;
}
