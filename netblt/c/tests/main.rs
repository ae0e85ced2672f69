//! The C library as C has it.

mod pure {
    mod header;
}

/// Real sockets and programs, nothing measured (`make test-live`).
mod concurrent {
    mod program;
}
