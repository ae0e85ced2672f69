//! A device in namespaces behind a server: it goes with its run, whatever ends that.

use crate::common::{Scratch, left_by, sh, turn};
use crate::concurrent::serve::client::Events;
use crate::concurrent::serve::server::{Server, wait_for};
use serde_json::json;

const RUN: &str =
    "run --device linux-router --profile quick --test throughput --sizes 64 --skip-selftest";

/// The process that a server started.
fn child_of(server: &Server) -> u32 {
    let pid = server.pid();
    wait_for("a child", || {
        std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok().map(|_| ())
    });
    let children = sh(&format!("cat /proc/{pid}/task/*/children"));
    children.split_whitespace().next().expect("a child").parse().expect("a process")
}

/// A server that tests a router, and the process that does it.
fn testing(scratch: &Scratch) -> (Server, String, u32) {
    let server = Server::start(scratch, "");
    let id = server.run(&format!("{RUN} --duration 20s"));
    let child = child_of(&server);
    Events::of(&server.address, &id, None).until("trial_started");
    assert!(!left_by(child).is_empty(), "namespaces of the run");
    (server, id, child)
}

#[test]
fn a_device_goes_with_a_run_that_is_stopped() {
    if !crate::concurrent::serve::can_build_devices("a_device_goes_with_a_run_that_is_stopped") {
        return;
    }
    let _turn = turn::wait();
    let scratch = Scratch::new();
    let (server, id, child) = testing(&scratch);
    server.post(&format!("/api/runs/{id}/stop"), &json!({}));
    assert_eq!(server.end_of(&id), "stopped");
    assert_eq!(left_by(child), [""; 0]);
}

#[test]
fn a_device_goes_with_a_run_that_is_killed() {
    if !crate::concurrent::serve::can_build_devices("a_device_goes_with_a_run_that_is_killed") {
        return;
    }
    let _turn = turn::wait();
    let scratch = Scratch::new();
    let (server, id, child) = testing(&scratch);
    server.post(&format!("/api/runs/{id}/stop"), &json!({ "kill": true }));
    assert_eq!(server.end_of(&id), "cut_off");
    assert_eq!(left_by(child), [""; 0], "`netanvil clean` removed it");
    // The ports are free again.
    let again = server.run(&format!("{RUN} --duration 1s"));
    Events::of(&server.address, &again, None).until("trial");
}

#[test]
fn a_device_goes_with_a_server_that_is_killed() {
    if !crate::concurrent::serve::can_build_devices("a_device_goes_with_a_server_that_is_killed") {
        return;
    }
    let _turn = turn::wait();
    let scratch = Scratch::new();
    let (server, _, child) = testing(&scratch);
    server.kill();
    wait_for("the end of the run", || left_by(child).is_empty().then_some(()));
}
