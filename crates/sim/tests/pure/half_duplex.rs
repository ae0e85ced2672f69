//! Testers and devices on half-duplex Ethernet: what was to be sent, what left, and what was lost.

use sim::{Addresses, Departing, Description, DeviceUnderTest, Frame, Lines, SimPort, SimTester};
use std::collections::VecDeque;
use std::net::Ipv4Addr;
use traffic::template::FrameTemplate;
use trial::{
    Balance, PortId, PortSent, Schedule, Station, Stream, StreamId, Tester, Trial, TrialResult,
    Waits,
};
use units::{Duration, FrameRate, FrameSize, Instant, LineRate};
use wire::ethernet::MacAddr;
use wire::signature::Key;

const ETHERNET: LineRate = LineRate::from_mbps(10);

/// From a frame of 64 bytes to the next one.
const PERIOD: Duration = Duration::from_ns(67_200);

/// Frames of 64 bytes between hosts of two ports, each way at `fps`.
fn trial(ways: &[(u16, u16)], fps: f64, ms: u64) -> Trial {
    let key = Key::from_seed(5);
    let host = |n: u16| (MacAddr([2, 0, 0, 0, 0, n as u8]), Ipv4Addr::new(198, 18, n as u8, 2));
    let schedule = Schedule::constant(FrameRate::from_fps_f64(fps), Duration::from_ms(ms));
    ways.iter().zip(1..).fold(Trial::new("half duplex", key), |trial, (&(from, to), id)| {
        let frames = FrameTemplate::udp_ipv4(host(from), host(to));
        let ports = (PortId(from), PortId(to));
        let size = FrameSize::MIN_ETHERNET;
        let stream = Stream::new(StreamId(id), ports, &frames, size, key).unwrap();
        trial.sending(stream, schedule.clone())
    })
}

/// Two ports joined by what stores and forwards with no cost, on links of 10 Mb/s.
fn run(trial: &Trial, more: &str) -> TrialResult {
    let text = format!("line-rate = \"10M\"\nduplex = \"half\"\n{more}");
    let device = Description::from_toml(&text).unwrap();
    device.tester(&Addresses::plan(2)).unwrap().run(trial).unwrap()
}

/// What the device counted of something, over all ports.
fn counted(result: &TrialResult, name: &str) -> u64 {
    let counts = result.device.iter().filter(|count| count.name == name);
    counts.map(|count| count.count).sum()
}

/// RFC 2544 appendix B: with frames one way only each medium has one station that sends.
#[test]
fn one_way_a_half_duplex_link_carries_the_theoretical_rate() {
    let maximum = ETHERNET.max_frame_rate(FrameSize::MIN_ETHERNET).fps();
    let result = run(&trial(&[(0, 1)], maximum, 1_000), "");
    assert!(result.is_valid(), "{:?}", result.validity);
    assert_eq!((result.offered_frames(), result.lost_frames()), (14_881, 0));
    assert_eq!(
        counted(&result, "deferred-frames") + counted(&result, "single-collision-frames"),
        0
    );
}

/// 3,001 and 2,703 frames on each medium, of 14,880 that it takes: everything leaves, with collisions on the way.
#[test]
fn what_the_medium_has_room_for_is_offered() {
    let (mut both, other) =
        (trial(&[(0, 1), (1, 0)], 3_001.0, 1_000), trial(&[(1, 0)], 2_703.0, 1_000));
    // Different rates, so that they meet at all phases.
    both.loads[1].schedule = other.loads[0].schedule.clone();
    let result = run(&both, "propagation = \"5us\"");
    assert!(result.is_valid(), "{:?}", result.validity);
    assert_eq!((result.offered_frames(), result.lost_frames()), (3_001 + 2_703, 0));
    for PortSent { report, intended_rate, .. } in &result.sent {
        // The schedule moved by what frames waited beyond the credit, and by nothing else.
        assert_eq!((report.slips.total, report.slips.times), (Duration::ZERO, 0));
        let span = report.last_departure.unwrap().since(report.first_departure.unwrap());
        let intended = intended_rate.departure(report.sent_frames - 1) + report.deferred.time;
        let off = span.max(intended).saturating_sub(span.min(intended));
        assert!(off <= report.slips.credit, "{span} for {intended}: {report:?}");
    }
    let collided =
        counted(&result, "single-collision-frames") + counted(&result, "multiple-collision-frames");
    assert!(collided > 0 && counted(&result, "deferred-frames") > 0, "{:?}", result.device);
    assert!(result.notes.iter().any(|note| note.contains("collisions")), "{:?}", result.notes);
}

/// RFC 2285 sections 3.5.1 and 3.5.2: twice the medium's maximum is intended, and what left is offered.
/// The tester did what CSMA/CD has it do, so the trial is valid. What is lost, the device gave up
/// after 16 collisions, and no other frame.
#[test]
fn what_the_medium_has_no_room_for_is_not_offered() {
    let maximum = ETHERNET.max_frame_rate(FrameSize::MIN_ETHERNET).fps();
    let result = run(&trial(&[(0, 1), (1, 0)], maximum, 1_000), "");
    assert!(result.is_valid(), "{:?}", result.validity);
    assert_eq!(result.offered_frames(), 2 * 14_881, "it takes longer, and leaves out no frame");
    assert!((result.intended_rate().fps() - 2.0 * maximum).abs() < 1.0);
    // The ports need not finish together: one of them may capture its medium first.
    let offered = result.offered_rate().fps();
    assert!(offered < 1.5 * maximum, "{offered} offered");
    // Each medium carries what one port offers and what the other's stream becomes.
    for (sent, received) in result.sent.iter().zip(&result.received) {
        let [of_other] = &received.streams[..] else { panic!("{received:?}") };
        let ends = sent.report.last_departure.max(of_other.account.last_at).unwrap();
        let frames = sent.report.sent_frames + of_other.account.unique;
        let span = ends.since(result.started_at);
        assert!(PERIOD * frames <= span + PERIOD, "{frames} frames in {span}");
    }
    assert_eq!(result.lost_frames(), counted(&result, "excessive-collisions"));
    let places = result.places.iter().filter(|place| place.name.contains("16 collisions"));
    assert_eq!(places.map(|place| place.dropped).sum::<u64>(), result.lost_frames());
    // Every frame is accounted for, from the transmitters to the receivers.
    let balance = Balance::of(&result);
    assert_eq!((balance.unknown(), balance.surplus()), (0, 0), "{balance:?}");
    for sent in &result.sent {
        assert!(sent.report.deferred.time > Duration::ZERO, "{:?}", sent.report);
        assert_eq!((sent.report.slips.total, sent.dropped_by_tester), (Duration::ZERO, 0));
    }
}

/// Metcalfe and Boggs (1976, section 6): of two stations that always have a frame half of all slots acquire the
/// medium, so that a slot of 51.2 us is lost for each frame of 67.2 us, and 57 % of the medium are used. That is
/// a lower bound for back-off by the standard, since a winner need not contend again.
#[test]
fn tester_and_device_that_always_send_use_at_least_what_metcalfe_and_boggs_have() {
    let port = SimPort::physical(ETHERNET).half_duplex().propagation(Duration::from_ns(25_600));
    let mut tester = SimTester::new(&[port; 2], Talks::every(Duration::from_us(60)));
    let maximum = ETHERNET.max_frame_rate(FrameSize::MIN_ETHERNET).fps();
    let result = tester.run(&trial(&[(0, 1)], maximum, 1_000)).unwrap();
    let said = result.counters[0].interface_received.unwrap();
    assert!(said > 1_000 && result.offered_frames() == 14_881, "{said}");
    // The device has more to say until the end of the trial.
    let span = tester.now().since(result.started_at);
    let used = (PERIOD * (14_881 + said)).as_secs_f64() / span.as_secs_f64();
    assert!((67.2 / (67.2 + 51.2)..1.0).contains(&used), "{used}");
}

/// A device that always has something to say may keep the tester from sending its last frame until the trial
/// is over. Such a frame is not sent: the trial is invalid, and the next one does not meet it.
#[test]
fn a_frame_that_never_got_the_medium_was_not_sent() {
    let port = SimPort::physical(ETHERNET).half_duplex();
    let talks = Talks::every(Duration::from_us(60));
    let mut tester = SimTester::new(&[port; 2], talks);
    let mut one = trial(&[(0, 1)], 1_000.0, 5);
    one.waits = Waits::fixed(Duration::from_us(100), Duration::ZERO);
    let (mut unsent, mut within) = (0, 0);
    for _ in 0..20 {
        one.key = one.key.later(1);
        let result = tester.run(&one).unwrap();
        let balance = Balance::of(&result);
        let way_in = balance.legs.iter().filter(|leg| leg.to <= Station::DeviceIn);
        for leg in way_in {
            assert_eq!((leg.unknown, leg.surplus), (0, 0), "{leg:?}");
        }
        let kept: u64 = result.sent.iter().map(|sent| sent.dropped_by_tester).sum();
        assert_eq!(balance.at(Station::DeviceIn), Some(result.offered_frames() - kept));
        let stream = &result.streams[0];
        // What the device had heard and not forwarded when the trial before was over.
        assert_eq!(result.received[1].leftovers.total(), within, "of a trial before");
        within = result.offered_frames() - kept - stream.received - stream.late;
        assert!(kept == 0 || !result.is_valid());
        unsent += kept;
    }
    assert!(unsent > 0, "the device talks without end");
}

/// A tester that is too slow by itself is so on a shared medium, too.
#[test]
fn a_weak_tester_is_told_from_a_busy_medium() {
    let weak = "[tester]\nframes-per-second = 2000\n";
    let result = run(&trial(&[(0, 1), (1, 0)], 3_000.0, 500), weak);
    assert!(!result.is_valid());
    assert!(format!("{:?}", result.invalid_reasons()).contains("Shortfall"));
}

/// Forwards from port 0 to port 1, and says something at port 0 every so often.
struct Talks {
    forwarded: VecDeque<Frame>,
    every: Duration,
    says_at: Instant,
}

impl Talks {
    fn every(every: Duration) -> Self {
        Talks { forwarded: VecDeque::new(), every, says_at: Instant::ZERO }
    }
}

impl DeviceUnderTest for Talks {
    fn handle_frame(&mut self, _now: Instant, port: PortId, frame: Frame) {
        if port == PortId(0) {
            self.forwarded.push_back(frame);
        }
    }
    fn poll_output(&mut self, now: Instant, _lines: &Lines<'_>) -> Option<Departing> {
        if let Some(frame) = self.forwarded.pop_front() {
            return Some(Departing { port: PortId(1), frame });
        }
        if self.says_at > now {
            return None;
        }
        self.says_at += self.every;
        Some(Departing { port: PortId(0), frame: vec![0xff; 60].into() })
    }
    fn poll_timeout(&self) -> Option<Instant> {
        Some(self.says_at)
    }
}

/// A frame is stamped when it leaves, not when it first collided: stored and forwarded it takes
/// 51.2 us to come in and as much to go out, whatever it went through before.
#[test]
fn the_wait_for_the_medium_is_no_latency_of_the_device() {
    let port = SimPort::physical(ETHERNET).half_duplex();
    let talks = Talks::every(Duration::from_us(150));
    let result = SimTester::new(&[port; 2], talks).run(&trial(&[(0, 1)], 4_000.0, 500)).unwrap();
    assert!(result.is_valid(), "{:?}", result.validity);
    assert!(result.notes.iter().any(|note| note.contains("collisions")), "{:?}", result.notes);
    let (latency, truth) = (result.latency().unwrap(), Some(Duration::from_ns(102_400)));
    assert_eq!((latency.min(), latency.max(), result.lost_frames()), (truth, truth, 0));
}
