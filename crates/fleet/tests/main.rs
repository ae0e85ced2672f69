//! The store with run folders made here, in both databases; one binary.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "waits for a server")]

mod common;

/// With a real server of PostgreSQL; nothing is measured.
mod concurrent {
    mod postgres;
}

/// In files.
mod pure {
    mod store;
}
