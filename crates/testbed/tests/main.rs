//! Devices of the kernel, one module a file.

mod common;

/// On real devices, where no time matters: several at a time (`make test-live`).
mod concurrent {
    mod feeds;
    mod forwarding;
    mod interfaces;
    mod multicast;
}

/// On real devices, in real time: one at a time, with nothing beside them (`make test-live`).
mod live {
    mod limits;
    mod reset;
    mod threads;
}
