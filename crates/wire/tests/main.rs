//! Frames beside what tshark reads, one module a file.

/// As many at a time as there are processors (`make test-pure`).
mod pure {
    mod netblt_tshark;
}
