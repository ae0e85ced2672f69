//! NETBLT over real sockets, one module a file.

mod common;

/// On real devices, in real time: one at a time, with nothing beside them (`make test-live`).
mod live {
    mod crowds;
    mod hostile;
    mod plain;
    mod reflection;
    mod transfers;
    mod waiting;
}
