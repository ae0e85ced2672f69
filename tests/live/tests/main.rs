//! Real devices, real ports and the methods, one module a file.

/// On real devices, in real time: one at a time, with nothing beside them (`make test-live`).
mod live {
    mod conformance;
    mod device_gone;
    mod known_limits;
    mod many_routes;
    mod mesh;
    mod multicast;
    mod parade;
    mod pathological;
    mod suite_on_the_wire;
    mod tolly;
}
