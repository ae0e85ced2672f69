//! How long a trial takes beyond its own length: the sum over a run is what an engineer waits for.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "measures how long trials take in real time"
)]

use crate::bed;
use crate::bed::Bed;
use crate::bed::control::Control;
use ports::{DeviceControl, LiveOptions, LiveTester, PortType};
use std::time::{Duration as Span, Instant};
use testbed::{DeviceKind, TestbedConfig};
use trial::Tester;
use trial::conformance::Load;
use units::{Duration, FrameRate, FrameSize};
use wire::signature::Key;

/// Trials on each port type; the first loads programs and is not counted.
const TRIALS: u64 = 8;

/// Getting ready, starting threads, draining a device that is empty at once, and reading every counter took
/// 340 ms where each trial loaded its programs anew. The least of some trials is the program's doing, and
/// not that of whatever else this machine does.
#[test]
fn a_trial_takes_little_longer_than_its_frames() {
    let testbed: Bed = bed::build_config(&TestbedConfig::of(DeviceKind::LinuxBridge));
    for port_type in PortType::of_interfaces() {
        let ports =
            bed::open(&testbed, port_type, FrameSize::MIN_ETHERNET).expect("open the ports");
        let device: Box<dyn DeviceControl> = Box::new(Control(testbed.device().expect("a device")));
        let options = LiveOptions { device: Some(device), ..LiveOptions::default() };
        let mut tester = LiveTester::new(ports, options).expect("a tester");
        let length = Span::from_millis(100);
        let load = |number| Load {
            paths: &[],
            streams_each: 1,
            sizes: &[FrameSize::MIN_ETHERNET],
            rate: FrameRate::from_fps(5_000),
            duration: Duration::from_ms(100),
            key: Key::from_seed(0x0ead).later(number),
        };
        let paths = bed::paths(&testbed);
        let mut beyond = vec![];
        for number in 0..TRIALS {
            let mut trial = Load { paths: &paths[..1], ..load(number) }.trial("overhead");
            trial.waits.drain = Duration::ZERO;
            trial.waits.drain_max = Duration::from_secs(2);
            trial.waits.settle = Duration::ZERO;
            let begun = Instant::now();
            let result = tester.run(&trial).expect("a result");
            assert_eq!(result.offered_frames(), 500, "{port_type:?}");
            beyond.push(begun.elapsed().saturating_sub(length));
        }
        let least = beyond[1..].iter().min().expect("trials");
        println!("{port_type:?}: least {least:?} of {beyond:?}");
        assert!(*least < Span::from_millis(100), "{port_type:?}: {beyond:?}");
    }
}
