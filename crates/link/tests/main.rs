//! The simulator's link in real time.

/// On real devices, in real time: one at a time, with nothing beside them (`make test-live`).
mod live {
    mod real_time;
}
