//! A simulated device in one file: it polices, by a token bucket, what goes in at each port. Its truth is
//! known, so that a test method can be tried on it. `cargo run --example simulated_device`

use sim::{Departing, DeviceUnderTest, Frame, Lines, SimPort, SimTester};
use std::collections::{BTreeMap, VecDeque};
use std::{error::Error, net::Ipv4Addr};
use traffic::template::FrameTemplate;
use trial::{PortId, Schedule, Stream, StreamId, Tester, Trial};
use units::{Duration, FrameRate, FrameSize, Instant, LineRate};
use wire::{ethernet::MacAddr, signature::Key};

/// Forwards between ports in pairs at once, and drops what finds no token.
struct Policer {
    /// A token comes so often.
    interval: Duration,
    /// A bucket holds so many.
    depth: u64,
    /// When the bucket of a port would have been empty, had it always been filled.
    empty_at: BTreeMap<PortId, Instant>,
    leaving: VecDeque<Departing>,
    dropped_frames: u64,
}

impl Policer {
    fn new(rate: FrameRate, depth: u64) -> Policer {
        Policer {
            interval: rate.interval(),
            depth,
            empty_at: BTreeMap::new(),
            leaving: VecDeque::new(),
            dropped_frames: 0,
        }
    }
}

impl DeviceUnderTest for Policer {
    fn handle_frame(&mut self, now: Instant, port: PortId, frame: Frame) {
        let empty_at = self.empty_at.entry(port).or_insert(now);
        let after = (*empty_at).max(now) + self.interval;
        if after.since(now) > self.interval * self.depth {
            self.dropped_frames += 1;
            return;
        }
        *empty_at = after;
        self.leaving.push_back(Departing { port: PortId(port.0 ^ 1), frame });
    }

    fn poll_output(&mut self, _now: Instant, _lines: &Lines<'_>) -> Option<Departing> {
        self.leaving.pop_front()
    }

    /// Nothing happens by itself: what is forwarded leaves at once.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// So that a trial says where its frames are.
    fn drops(&self) -> Vec<(String, u64)> {
        vec![("policer".into(), self.dropped_frames)]
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = Policer::new(FrameRate::from_fps(1_000), 50);
    let mut tester = SimTester::new(&[SimPort::physical(LineRate::from_mbps(100)); 2], device);
    let end = |n| (MacAddr([2, 0, 0, 0, 0, n]), Ipv4Addr::new(198, 18, n, 2));
    let frames = FrameTemplate::udp_ipv4(end(0), end(1));
    let (key, ports) = (Key::from_seed(1), (PortId(0), PortId(1)));
    let stream = Stream::new(StreamId(1), ports, &frames, FrameSize::from_bytes(64), key)?;
    let schedule = Schedule::constant(FrameRate::from_fps(2_000), Duration::from_secs(1));
    let result = tester.run(&Trial::new("twice the rate", key).sending(stream, schedule))?;
    println!("{} of {} frames forwarded", result.forwarded_frames(), result.offered_frames());
    println!("{} dropped by the policer", tester.device().dropped_frames);
    Ok(())
}
