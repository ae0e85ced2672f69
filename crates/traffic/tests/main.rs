//! Frames built from templates, read by `wire` and by tshark, one module a file.

mod common;

/// As many at a time as there are processors (`make test-pure`).
mod pure {
    mod replayed;
    mod summaries;
    mod tshark;
    mod tshark_legacy;
    mod tunnels;
    mod verification;
}
