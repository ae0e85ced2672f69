//! NETBLT over real sockets, one module a file.

mod common;

/// On real sockets, where no rate is compared: several at a time (`make test-live`).
mod concurrent {
    mod hostile;
    mod plain;
    mod reflection;
    mod transfers;
    mod waiting;
}

/// In real time: one at a time, with nothing beside them (`make test-live`).
mod live {
    mod crowds;
}
