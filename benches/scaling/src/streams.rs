//! Streams and trials of many ports, flows and groups.

use std::net::Ipv4Addr;
use traffic::test_frame;
use trial::{
    Expectation, PortId, PortLoad, Prelude, Role, Schedule, Stream, StreamFrame, StreamId, Trial,
    ValidityLimits, Waits,
};
use units::{Duration, FrameSize};
use wire::ethernet::MacAddr;
use wire::signature::Key;

/// Draws signatures, anew for each trial.
pub struct Keys(Key);

impl Default for Keys {
    fn default() -> Self {
        Keys(Key::from_seed(1))
    }
}

impl Keys {
    /// The next one.
    pub fn next(&mut self) -> Key {
        self.0 = self.0.later(1);
        self.0
    }
}

/// Where a frame goes.
pub type Destination = (MacAddr, Ipv4Addr);

/// The Ethernet address of the tester's port.
pub fn mac_of(port: u16) -> MacAddr {
    MacAddr([2, 0, 0, 1, port as u8, 2])
}

/// The host at a port, where the device is none that routes.
pub fn host_of(port: u16) -> Ipv4Addr {
    Ipv4Addr::new(198, 18, 0, port as u8 + 2)
}

/// Who is `flow` beyond a port.
pub fn host_of_flow(flow: u64) -> Ipv4Addr {
    Ipv4Addr::from_bits(Ipv4Addr::new(198, 19, 0, 0).to_bits() + flow as u32)
}

/// A stream whose frames go to these destinations in turn.
pub fn stream(
    (id, key): (u16, Key),
    size: FrameSize,
    (from, source): (PortId, Destination),
    to: impl Iterator<Item = Destination>,
    ports: Vec<PortId>,
) -> Stream {
    let frame = |destination: Destination| {
        let template = test_frame::template(source, destination);
        let prepared = template.prepare(size, Some((key, id))).expect("room for UDP and signature");
        StreamFrame { bytes: prepared.frame(0), form: prepared.form() }
    };
    Stream {
        id: StreamId(id),
        name: format!("stream {id}"),
        role: Role::Test,
        from,
        expect: Expectation::Ports(ports),
        frames: to.map(frame).collect(),
        fingerprint: None,
        given_up: vec![],
        bad_fcs: false,
        grows_by_bytes: 0,
    }
}

/// A trial in which each port with streams follows the schedule.
pub fn trial(key: Key, streams: Vec<Stream>, schedule: &Schedule, prelude: Vec<Prelude>) -> Trial {
    let mut from: Vec<PortId> = streams.iter().map(|stream| stream.from).collect();
    from.dedup();
    let load = |port: PortId| PortLoad {
        port,
        schedule: schedule.clone(),
        order: streams.iter().filter(|s| s.from == port).map(|s| s.id).collect(),
        insertions: vec![],
    };
    Trial {
        label: "scaling".into(),
        key,
        loads: from.into_iter().map(load).collect(),
        streams,
        prelude,
        waits: Waits::fixed(Duration::from_ms(100), Duration::ZERO),
        tagging: None,
        count_flows: true,
        verify_payload: false,
        action: None,
        captures: vec![],
        limits: ValidityLimits::default(),
    }
}
