//! Traffic by hand: what each second and the summary say of devices whose truth is known.

use super::bed::{GIGABIT, VIRTUAL, config, size, topology};
use method::generator::{
    Control, Generator, GeneratorConfig, GeneratorEvent, Mix, Order, STRETCH_FRAMES, Second, Totals,
};
use method::{Flows, Forwarding, Modifier, Rewrites, RunError, SuiteConfig, Traffic, Vary};
use sim::{
    DeviceUnderTest, EveryNth, Fate, Impaired, Patch, QueueLimit, Rule, SimPort, SimTester,
    StoreAndForward,
};
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use traffic::size::SizePattern;
use trial::PortId;
use units::{Duration, FrameRate, Instant, LineRate};
use wire::signature::RunKey;

const SECOND: Duration = Duration::from_secs(1);

/// What is done at each look, in this order; then nothing more.
struct Script(VecDeque<Option<Order>>);

impl Control for Script {
    fn poll(&mut self) -> Option<Order> {
        self.0.pop_front().flatten()
    }
}

fn generator_config(load: &str, duration: Option<Duration>) -> GeneratorConfig {
    GeneratorConfig {
        load: load.parse().unwrap(),
        timed: None,
        duration,
        every: SECOND,
        run_key: RunKey::from_seed(3),
        stretch_frames: STRETCH_FRAMES,
    }
}

struct Sent {
    seconds: Vec<Second>,
    loads: Vec<f64>,
    totals: Totals,
}

fn send(
    (suite, size): (&SuiteConfig, &SizePattern),
    (port, device): (SimPort, impl DeviceUnderTest),
    config: &GeneratorConfig,
    script: &[Option<Order>],
) -> Result<Sent, RunError> {
    let mix = Mix::one(Traffic::new(suite, &topology(Forwarding::Routed), size, Modifier::None)?);
    send_mix(&mix, (port, device), config, script)
}

fn send_mix(
    mix: &Mix,
    (port, device): (SimPort, impl DeviceUnderTest),
    config: &GeneratorConfig,
    script: &[Option<Order>],
) -> Result<Sent, RunError> {
    let mut tester = SimTester::new(&[port; 2], device);
    let mut script = Script(script.iter().copied().collect());
    let (mut seconds, mut loads) = (vec![], vec![]);
    let mut sink = |event: &GeneratorEvent| {
        match event {
            GeneratorEvent::Second(second) => seconds.push(Second::clone(second)),
            GeneratorEvent::Began(rate) => loads.push(rate.fps()),
            GeneratorEvent::Paused => loads.push(0.0),
        }
        Ok(())
    };
    let totals = Generator { config, mix }.run(&mut tester, &mut script, &mut sink)?;
    Ok(Sent { seconds, loads, totals })
}

fn plain(device: impl DeviceUnderTest, config: &GeneratorConfig, script: &[Option<Order>]) -> Sent {
    send((&self::config(), &size(64)), (VIRTUAL, device), config, script).unwrap()
}

fn sum(seconds: &[Second], of: fn(&Second) -> i64) -> i64 {
    seconds.iter().map(of).sum()
}

/// 1,000 frames a second come out and 300 wait, of 1,500 a second: 500 a second are lost once the queue is
/// full, which takes 0.6 s.
#[test]
fn seconds_show_what_a_slow_device_carries_and_add_up_to_the_summary() {
    let device =
        StoreAndForward::with_capacity(FrameRate::from_fps(1_000), QueueLimit::Frames(300));
    let sent = plain(device, &generator_config("1.5kpps", Some(SECOND * 4)), &[]);
    let of_second: Vec<u64> = sent.seconds.iter().map(|second| second.sent).collect();
    assert_eq!(of_second, [1_500; 4]);
    for second in &sent.seconds[..3] {
        assert!((998..=1_001).contains(&second.received), "{second:?}");
    }
    // A frame waits behind 300 others at 1 ms each.
    let p99 = sent.seconds[2].latency.as_ref().unwrap().percentile(99.0).unwrap();
    assert!((299..=305).contains(&(p99.as_us() / 1_000)), "{p99}");
    let Totals { sent: all, received, lost, .. } = sent.totals;
    assert_eq!((all, received + lost), (6_000, 6_000));
    assert!((4_299..=4_301).contains(&received), "{received}");
    assert_eq!(sum(&sent.seconds, |s| s.received as i64), received as i64);
    assert_eq!(sum(&sent.seconds, |s| s.lost), lost as i64);
    assert!(sent.totals.invalid.is_empty(), "{:?}", sent.totals.invalid);
}

#[test]
fn stretches_add_up() {
    let config =
        GeneratorConfig { stretch_frames: 1_500, ..generator_config("1kpps", Some(SECOND * 5)) };
    let sent = plain(Patch::default(), &config, &[]);
    assert_eq!((sent.totals.sent, sent.totals.lost, sent.totals.stretches), (5_000, 0, 4));
    assert_eq!(sum(&sent.seconds, |s| s.sent as i64), 5_000);
    assert_eq!(sent.seconds.last().unwrap().until, SECOND * 5);
    assert!(sent.seconds.windows(2).all(|pair| pair[0].until < pair[1].until));
    let latency = sent.totals.latency.unwrap();
    assert_eq!(latency.count(), 5_000);
}

/// Two seconds at 1,000 frames a second, two at twice that, a pause, and a second at three times that. A frame that is due
/// at the moment of the change has left.
#[test]
fn the_load_changes_pauses_and_ends_as_it_is_told() {
    let script = [
        None,
        Some(Order::Scale(2.0)),
        None,
        Some(Order::Pause),
        None,
        Some(Order::Scale(3.0)),
        Some(Order::Pause),
        Some(Order::End),
    ];
    let sent = plain(Patch::default(), &generator_config("1kpps", None), &script);
    assert_eq!(sent.loads, [1_000.0, 2_000.0, 0.0, 6_000.0]);
    let of_second: Vec<u64> = sent.seconds.iter().map(|second| second.sent).collect();
    assert_eq!(of_second, [1_000, 1_000, 1, 2_000, 2_000, 1, 6_000, 1]);
    let Totals { sent: all, received, stretches, .. } = sent.totals;
    assert_eq!((all, received, stretches), (12_003, 12_003, 3));
    assert!(sent.totals.invalid.is_empty(), "{:?}", sent.totals.invalid);
}

fn with_flows(count: u64, vary: &[Vary]) -> SuiteConfig {
    let mut suite = config();
    suite.traffic.flows = Some(Flows { count, vary: vary.to_vec() });
    suite
}

/// Every hundredth frame is of the last of 100 flows; of 7 flows each has its turn at being lost. With a mix
/// of 12 sizes 10 flows come again after 60 frames.
#[test]
fn flows_that_lose_frames_are_counted() {
    let imix: SizePattern = "imix".parse().unwrap();
    let cases = [(100, 100, &size(64), 1), (7, 100, &size(64), 7), (10, 60, &imix, 1)];
    for (count, every, size, with_loss) in cases {
        let suite = with_flows(count, &[Vary::DstPort]);
        let device = Impaired::new(Patch::default(), EveryNth::new(every, Fate::Drop));
        let config = generator_config("3kpps", Some(SECOND * 2));
        let sent = send((&suite, size), (VIRTUAL, device), &config, &[]).unwrap();
        assert_eq!(sent.totals.lost, 6_000 / every);
        assert_eq!(sent.totals.flows, Some((count, with_loss)), "{count} flows");
    }
}

/// Keeps what a field of each frame holds.
struct Reads {
    at: std::ops::Range<usize>,
    values: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Rule for Reads {
    fn decide(&mut self, _now: Instant, _port: PortId, frame: &[u8]) -> Fate {
        if frame.get(23) == Some(&17) {
            self.values.lock().unwrap().push(frame[self.at.clone()].to_vec());
        }
        Fate::Pass
    }
}

/// Offsets as RFC 894, RFC 791 and RFC 768 have them: 14 bytes of Ethernet, 20 of IPv4, and ports.
#[test]
fn each_field_has_as_many_values_as_there_are_flows() {
    for (vary, at) in [
        (Vary::SrcMac, 6..12),
        (Vary::DstIp, 30..34),
        (Vary::SrcPort, 34..36),
        (Vary::DstPort, 36..38),
    ] {
        let values = Arc::new(Mutex::new(vec![]));
        let rule = Reads { at, values: values.clone() };
        let device = Impaired::new(Patch::default(), rule);
        let config = generator_config("1kpps", Some(SECOND));
        let suite = with_flows(200, &[vary]);
        let sent = send((&suite, &size(64)), (VIRTUAL, device), &config, &[]).unwrap();
        assert_eq!((sent.totals.received, sent.totals.corrupted), (1_000, 0), "{vary}");
        let values = values.lock().unwrap();
        let different: BTreeSet<_> = values.iter().collect();
        assert_eq!((values.len(), different.len()), (1_000, 200), "{vary}");
        assert_eq!(values[..200], values[200..400], "{vary}: in turn");
    }
}

/// RFC 2544 section 20: 1,488,095 frames of 64 bytes a second at 1 Gb/s.
#[test]
fn loads_are_shares_and_bits_of_the_medium_and_no_more_than_it_takes() {
    let load_of = |load: &str| {
        let config = generator_config(load, Some(Duration::from_ms(10)));
        let sent = send((&self::config(), &size(64)), (GIGABIT, Patch::default()), &config, &[]);
        sent.map(|sent| sent.loads[0])
    };
    assert!((load_of("50%").unwrap() - 744_047.6).abs() < 0.1);
    assert!((load_of("500Mbit/s").unwrap() - 744_047.6).abs() < 0.1);
    assert_eq!(load_of("100kpps").unwrap(), 100_000.0);
    let refused = load_of("1.5Mpps").unwrap_err().to_string();
    assert!(
        refused.contains("1.5 Mpps is more than") && refused.contains("1.4881 Mpps"),
        "{refused}"
    );
}

#[test]
fn flows_that_cannot_be_are_refused_with_a_reason() {
    let refused = |suite: &SuiteConfig| {
        let config = generator_config("1kpps", Some(SECOND));
        let sent = send((suite, &size(64)), (VIRTUAL, Patch::default()), &config, &[]);
        sent.err().expect("refused").to_string()
    };
    assert!(refused(&with_flows(0, &[Vary::DstPort])).contains("1 to 64512"));
    assert!(refused(&with_flows(70_000, &[Vary::DstPort])).contains("1 to 64512"));
    assert!(refused(&with_flows(300, &[Vary::DstIp])).contains("--routes-per-port 300"));
    assert!(refused(&with_flows(3, &[])).contains("--vary dst-port"));
    let mut random = with_flows(3, &[Vary::DstPort]);
    random.traffic.random_ports = true;
    assert!(refused(&random).contains("random"));
}

/// Of each eight frames seven are small and one is large; every tenth frame is lost, whichever it is.
#[test]
fn streams_take_turns_by_their_weights_and_are_counted_each() {
    let traffic = |bytes| {
        let (suite, topology) = (config(), topology(Forwarding::Routed));
        Traffic::new(&suite, &topology, &size(bytes), Modifier::None).unwrap()
    };
    let mix = vec![("small".into(), traffic(64), 7), ("large".into(), traffic(1_518), 1)];
    let mix = Mix::new(mix).unwrap();
    // A round of 7 x 84 and 1 x 1,538 bytes on the medium.
    let round_bits = 8.0 * (7.0 * 84.0 + 1_538.0);
    let expected = 8.0 * 1e9 / round_bits;
    let maximum = mix.theoretical_max(LineRate::from_gbps(1)).fps();
    assert!((maximum / expected - 1.0).abs() < 1e-9, "{maximum} {expected}");

    let device = Impaired::new(Patch::default(), EveryNth::new(10, Fate::Drop));
    let script = [None, Some(Order::Switch(1)), Some(Order::End)];
    let config = generator_config("4kpps", None);
    let sent = send_mix(&mix, (GIGABIT, device), &config, &script).unwrap();
    assert_eq!(sent.loads, [4_000.0, 3_500.0], "the small ones keep their rate");
    let [large, small] = ["large", "small"].map(|name| sent.totals.streams[name].clone());
    // The frame due at the change is the first of a round.
    assert_eq!((large.sent, small.sent), (1_000, 7_001 + 3_501));
    assert_eq!(large.sent, large.received + large.lost);
    assert_eq!(small.lost + large.lost, sent.totals.lost);
    assert_eq!(sent.totals.lost, (1_000 + 7_001 + 3_501) / 10);
    assert_eq!(small.latency.unwrap().count(), small.received);
}

#[test]
fn mixes_that_cannot_be_are_refused() {
    let traffic = || {
        let (suite, topology) = (config(), topology(Forwarding::Routed));
        Traffic::new(&suite, &topology, &size(64), Modifier::None).unwrap()
    };
    let refused = |streams: &[(&str, u64)]| {
        let streams = streams.iter().map(|(name, weight)| (name.to_string(), traffic(), *weight));
        Mix::new(streams.collect()).expect_err("refused").to_string()
    };
    assert!(refused(&[]).contains("1 to 40"));
    assert!(refused(&[("a", 1), ("a", 2)]).contains("`a`"));
    assert!(refused(&[("a", 1), ("b", 0)]).contains("stream b"));
    assert!(refused(&[("a", 9_999), ("b", 2)]).contains("10000"));
}

/// Three frames of a conversation, 1 ms and 3 ms apart, and then again after their mean distance of 2 ms: the
/// times at which a device sees them are those of the capture, whatever their lengths.
#[test]
fn captured_frames_leave_as_they_were_timed_with_addresses_rewritten() {
    type Heard = Vec<(Instant, Vec<u8>)>;
    struct Times(Arc<Mutex<Heard>>);
    impl Rule for Times {
        fn decide(&mut self, now: Instant, _port: PortId, frame: &[u8]) -> Fate {
            if frame.get(23) == Some(&17) {
                self.0.lock().unwrap().push((now, frame.to_vec()));
            }
            Fate::Pass
        }
    }
    let captured = |payload: usize| {
        use traffic::template::{FrameTemplate, Ipv4Layer, Layer, UdpLayer};
        let mac = |byte| wire::ethernet::MacAddr([byte; 6]);
        let ip = Layer::Ipv4(Ipv4Layer::new([1, 1, 1, 1].into(), [2, 2, 2, 2].into()));
        let template = FrameTemplate::ethernet(mac(9), mac(7)).layer(ip);
        let template = template.layer(Layer::Udp(UdpLayer::default()));
        let size = units::FrameSize::from_bytes(payload as u32 + 46);
        template.build(0, size, None).unwrap()
    };
    let frames = vec![captured(1_000), captured(18), captured(300)];
    let topology = topology(Forwarding::Routed);
    let traffic = Traffic::new(&config(), &topology, &size(64), Modifier::None).unwrap();
    let rewrites = Rewrites { macs: true, ips: true };
    let mix = Mix::one(traffic.replaying(frames, rewrites).unwrap());
    let seen = Arc::new(Mutex::new(vec![]));
    let device = Impaired::new(Patch::default(), Times(seen.clone()));
    let ms = Duration::from_ms;
    let config = GeneratorConfig {
        timed: Some(vec![ms(1), ms(3), ms(2)]),
        ..generator_config("500pps", Some(ms(60)))
    };
    let sent = send_mix(&mix, (GIGABIT, device), &config, &[]).unwrap();
    assert_eq!((sent.totals.sent, sent.totals.received, sent.totals.corrupted), (30, 30, 0));
    assert!(sent.totals.invalid.is_empty(), "{:?}", sent.totals.invalid);
    let seen = seen.lock().unwrap();
    // The device hears a frame when all of it is in: at 1 Gb/s, 8 ns a byte with preamble and FCS.
    let left = |(at, frame): &(Instant, Vec<u8>)| at.as_ns() - (frame.len() as u64 + 12) * 8;
    let gaps: Vec<u64> = seen.windows(2).map(|pair| left(&pair[1]) - left(&pair[0])).collect();
    for (gap, expected) in gaps.iter().zip([1_000_000u64, 3_000_000, 2_000_000].iter().cycle()) {
        assert!(gap.abs_diff(*expected) <= 1, "{gaps:?}");
    }
    let (_, first) = &seen[0];
    let (from, to) = (&topology.ports[0], &topology.ports[1]);
    assert_eq!(first[6..12], from.mac.0);
    assert_eq!(first[..6], from.device_mac.0);
    assert_eq!(first[26..30], from.host_ipv4.octets());
    assert_eq!(first[30..34], to.host_ipv4.octets());
    assert!(seen.iter().all(|(_, frame)| wire::verify::transport_is_good(frame)));
}

/// 200 frames, 10 ms apart but for a gap of 300 ms after the 100th, as a program gives them: the load is their mean
/// rate to a thousandth of a frame a second, 87.281 of 87.28064. One round is the capture, and no frame more.
#[test]
fn a_capture_is_sent_once_or_as_often_as_was_asked_for_to_the_frame() {
    let ms = Duration::from_ms;
    let mut gaps = vec![ms(10); 199];
    gaps[99] = ms(300);
    let captured: Duration = gaps.iter().copied().sum();
    gaps.push(Duration::from_ps(captured.as_ps() / 199));
    let one_round: Duration = gaps.iter().copied().sum();
    for rounds in [1, 3] {
        let config = GeneratorConfig {
            timed: Some(gaps.clone()),
            ..generator_config("87.281pps", Some(one_round * rounds))
        };
        let sent = plain(Patch::default(), &config, &[]);
        assert_eq!(sent.totals.sent, 200 * rounds, "{rounds} rounds");
        assert_eq!((sent.totals.received, sent.totals.lost), (200 * rounds, 0));
    }
    // Twice as fast from the first look on, after a second.
    let config = GeneratorConfig {
        timed: Some(vec![ms(10); 100]),
        ..generator_config("100pps", Some(SECOND * 3))
    };
    let sent = plain(Patch::default(), &config, &[Some(Order::Scale(2.0))]);
    assert_eq!(sent.loads, [100.0, 200.0]);
    // 100 frames in the first second, and 400 in the other two; the last one of a stretch that is ended has no gap.
    assert!((498..=502).contains(&sent.totals.sent), "{}", sent.totals.sent);
}

/// Two frames two hours apart, by the capture: their mean rate is less than a thousandth of a frame a second.
#[test]
fn frames_that_were_hours_apart_leave_hours_apart() {
    let hours = |hours| SECOND * 3_600 * hours;
    let gaps = [hours(2); 2];
    let rate = FrameRate::new(1, 7_200);
    let load = |config: GeneratorConfig| GeneratorConfig {
        load: units::text::Load::Frames(rate),
        ..config
    };
    for (duration, frames) in [(SECOND * 3, 1), (hours(4), 2), (hours(12), 6)] {
        let config = GeneratorConfig {
            timed: Some(gaps.to_vec()),
            ..load(generator_config("1pps", Some(duration)))
        };
        let sent = plain(Patch::default(), &config, &[]);
        assert_eq!((sent.totals.sent, sent.totals.received), (frames, frames), "{duration}");
    }
    // A day apart, for ever: a stretch ends before times run out of bits.
    let script: Vec<Option<Order>> =
        (0..1_296_000).map(|_| None).chain([Some(Order::End)]).collect();
    let config =
        GeneratorConfig { timed: Some(vec![hours(24); 2]), ..load(generator_config("1pps", None)) };
    let sent = plain(Patch::default(), &config, &script);
    assert!((10..=12).contains(&sent.totals.sent), "{}", sent.totals.sent);
}

/// A frame in a thousand seconds, for ever: a stretch ends before times run out of bits.
#[test]
fn slow_traffic_goes_on_for_days() {
    let script: Vec<Option<Order>> = (0..200_000).map(|_| None).chain([Some(Order::End)]).collect();
    let sent = plain(Patch::default(), &generator_config("0.001pps", None), &script);
    assert_eq!(sent.totals.stretches, 3);
    // Of 200,000 s; at its end a stretch has one frame more than it is long.
    assert!((200..=203).contains(&sent.totals.sent), "{}", sent.totals.sent);
    assert_eq!((sent.totals.received, sent.totals.lost), (sent.totals.sent, 0));
}
