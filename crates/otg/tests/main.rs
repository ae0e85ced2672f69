//! The API as its clients see it: one binary, one module a file.

mod common;

/// Requests that move no frames: several at a time (`make test-live`).
mod concurrent {
    mod devices;
    mod fuzz;
    mod requests;
}

/// On real devices and ports: one at a time (`make test-live`).
mod live {
    mod devices;
    mod snappi;
}

/// As many at a time as there are processors (`make test-pure`).
mod pure {
    mod table;
}
