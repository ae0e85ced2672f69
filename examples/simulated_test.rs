//! A simulated test in ten lines: how much a device of 10,000 frames a second loses below and above that.
//! `cargo run --example simulated_test`

use sim::{QueueLimit, SimPort, SimTester, StoreAndForward};
use std::{error::Error, net::Ipv4Addr};
use traffic::template::FrameTemplate;
use trial::{PortId, Schedule, Stream, StreamId, Tester, Trial};
use units::{Duration, FrameRate, FrameSize, LineRate};
use wire::{ethernet::MacAddr, signature::Key};

fn main() -> Result<(), Box<dyn Error>> {
    let device =
        StoreAndForward::with_capacity(FrameRate::from_fps(10_000), QueueLimit::Frames(32));
    let mut tester = SimTester::new(&[SimPort::physical(LineRate::from_mbps(100)); 2], device);
    let end = |n| (MacAddr([2, 0, 0, 0, 0, n]), Ipv4Addr::new(198, 18, n, 2));
    let (frames, ports) = (FrameTemplate::udp_ipv4(end(0), end(1)), (PortId(0), PortId(1)));
    for (key, fps) in [(Key::from_seed(1), 9_000), (Key::from_seed(2), 12_500)] {
        let stream = Stream::new(StreamId(1), ports, &frames, FrameSize::from_bytes(64), key)?;
        let schedule = Schedule::constant(FrameRate::from_fps(fps), Duration::from_secs(1));
        let result = tester.run(&Trial::new("a load", key).sending(stream, schedule))?;
        println!("{fps} frames/s: {} of {} lost", result.lost_frames(), result.offered_frames());
    }
    Ok(())
}
