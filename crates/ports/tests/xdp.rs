//! The `xdp` port on a veth pair, back to back. Needs root.
#![allow(clippy::disallowed_methods)]

mod common;

use common::*;
use ports::Interface;
use ports::xdp::XdpPort;
use wire::signature::Form;

fn open(id: u16, name: &str) -> XdpPort {
    XdpPort::open(&Interface::open(name).unwrap(), describe(id, name)).unwrap()
}

#[test]
fn one_stream_back_to_back_arrives_whole() {
    with_veth_pair(|| {
        let mut ports = [open(0, "va"), open(1, "vb")];
        let frames = vec![frame(60, 1_000, Some(Form::Full))];
        let trial =
            trial(vec![stream(1, 0, 1, frames)], vec![load(0, constant(100_000, 500), &[1])]);
        let outcome = run(&trial, &mut ports);
        let report = outcome.report(0);
        assert_eq!((report.intended_frames, report.sent_frames), (50_000, 50_000));
        assert_eq!(report.sent_bytes, 50_000 * 64);
        let received = &outcome.received[1].streams[0];
        assert_eq!((received.account.unique, received.missing.count), (50_000, 0));
        assert_eq!(received.account.arrivals(), 50_000);
        assert_eq!(outcome.received[1].foreign, 0);
        assert_eq!(outcome.received[0].arrivals(), 0);
    });
}
