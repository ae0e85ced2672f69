//! The API as its clients see it: one binary, one module a file.

mod common;

/// On real devices and ports: one at a time (`make test-live`).
mod live {
    mod fuzz;
    mod requests;
    mod snappi;
}

/// As many at a time as there are processors (`make test-pure`).
mod pure {
    mod table;
}
