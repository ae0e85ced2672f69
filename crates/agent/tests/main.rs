//! Agents as processes of their own, in time namespaces whose clocks are hours away, and testers that use their ports.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "real processes, real time"
)]

mod lab;

/// On real devices, in real time: one at a time, with nothing beside them (`make test-live`).
mod live {
    mod bounds;
    mod deaths;
    mod refusals;
}

/// Not a test: what the tests start as an agent.
#[test]
fn as_agent() {
    lab::serve_if_asked();
}
