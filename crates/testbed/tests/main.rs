//! Devices of the kernel, one module a file.

mod common;

/// On real devices, in real time: one at a time, with nothing beside them (`make test-live`).
mod live {
    mod feeds;
    mod forwarding;
    mod interfaces;
    mod limits;
    mod multicast;
    mod reset;
    mod threads;
}
