//! Frames beside what tshark reads, one module a file.

mod common;

/// As many at a time as there are processors (`make test-pure`).
mod pure {
    mod netblt_tshark;
    mod tshark;
    mod tshark_legacy;
}
