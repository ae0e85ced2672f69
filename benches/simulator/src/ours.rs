//! Our side: the simulator, from generation through link, device and link to the full account of
//! every frame: sequence, latency, gaps.

use crate::Scenario;
use nix::time::{ClockId, clock_gettime};
use sim::{
    Addresses, Description, DeviceUnderTest, QueueLimit, SimPort, SimTester, StoreAndForward,
};
use std::net::Ipv4Addr;
use traffic::template::FrameTemplate;
use trial::{
    Expectation, PortId, PortLoad, Prelude, Role, Schedule, Segment, Stream, StreamFrame, StreamId,
    Tester, Trial, ValidityLimits, Waits,
};
use units::{Duration, FrameRate, FrameSize, LineRate};
use wire::ethernet::MacAddr;
use wire::learning;
use wire::signature::Key;

const LINE: LineRate = LineRate::from_gbps(10);
const KEY: Key = Key::from_seed(0x4e41);
/// The router's interfaces, links and time for a frame, which is less than a frame takes on the
/// link.
const ROUTER: &str = "line-rate = \"10G\"\nroute = [\"ipv4\"]\n[input]\nframes = 64\n\
                      [cpu]\ncost = { per-frame = \"60ns\" }\n";

/// Two links with a device between them, which stay from run to run.
pub struct Bed {
    tester: SimTester<Box<dyn DeviceUnderTest>>,
}

impl Bed {
    /// With the device of the scenario.
    pub fn new(scenario: Scenario) -> Bed {
        let tester = match scenario {
            Scenario::Node => {
                let rate = FrameRate::from_fps(20_000_000);
                let node = StoreAndForward::with_capacity(rate, QueueLimit::Frames(64));
                SimTester::new(&[SimPort::physical(LINE); 2], Box::new(node) as _)
            }
            Scenario::Router => {
                let router = Description::from_toml(ROUTER).expect("a sound description");
                router.tester(&Addresses::plan(2)).expect("as many interfaces as ports")
            }
        };
        Bed { tester }
    }

    /// Sends so many frames of 64 bytes at line rate; frames for each second of processor time.
    pub fn run(&mut self, frames: u64) -> Result<f64, String> {
        let trial = trial_of(frames);
        let before = processor_s();
        let result = self.tester.run(&trial).map_err(|error| error.to_string())?;
        let took_s = processor_s() - before;
        match (result.forwarded_frames(), result.lost_frames()) {
            (forwarded, 0) if forwarded == frames => Ok(frames as f64 / took_s),
            (forwarded, lost) => Err(format!("{forwarded} of {frames} forwarded, {lost} lost")),
        }
    }
}

/// UDP frames from port 0 to port 1, after the destination has made itself known.
fn trial_of(frames: u64) -> Trial {
    let size = FrameSize::MIN_ETHERNET;
    let plan = Addresses::plan(2).interfaces;
    let host = |side: u8| Ipv4Addr::new(198, 18 + side, 1, 2);
    let mac = |side: u8| MacAddr([2, 0, 0, 0, side, 2]);
    let template = FrameTemplate::udp_ipv4((mac(0), host(0)), (plan[0].mac, host(1)));
    let prepared = template.prepare(size, Some((KEY, 1))).expect("a frame with a signature");
    let frame = StreamFrame { bytes: prepared.frame(0), form: prepared.form() };
    let stream = Stream {
        id: StreamId(1),
        name: "from port 0".into(),
        role: Role::Test,
        from: PortId(0),
        expect: Expectation::Ports(vec![PortId(1)]),
        frames: vec![frame],
        fingerprint: None,
        given_up: vec![],
        bad_fcs: false,
        grows_by_bytes: 0,
    };
    let segments = vec![Segment::constant(LINE.max_frame_rate(size), frames)];
    let load = PortLoad {
        port: PortId(0),
        schedule: Schedule { segments },
        order: vec![StreamId(1)],
        insertions: vec![],
    };
    Trial {
        label: "bench".into(),
        key: KEY,
        streams: vec![stream],
        loads: vec![load],
        prelude: vec![Prelude {
            port: PortId(1),
            frames: vec![learning::arp_request(mac(1), host(1), plan[1].ipv4.0)],
            wait: Duration::from_ms(1),
        }],
        waits: Waits::fixed(Duration::from_ms(1), Duration::ZERO),
        tagging: None,
        count_flows: false,
        verify_payload: false,
        action: None,
        captures: vec![],
        limits: ValidityLimits::default(),
    }
}

/// Processor time of this thread so far.
fn processor_s() -> f64 {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("every Linux has this clock");
    time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9
}
