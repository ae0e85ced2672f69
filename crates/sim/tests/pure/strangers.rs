//! Devices as a stranger may describe them: what can be is built and behaves as its description
//! says, down to the frame; what cannot work on this machine is refused with a remedy.

use proptest::prelude::*;
use sim::{Addresses, Description};
use std::net::Ipv4Addr;
use trial::conformance::{Load, Path};
use trial::{PortId, Prelude, Tester, TesterError, Trial, TrialResult};
use units::{Duration, FrameRate, FrameSize};
use wire::ethernet::MacAddr;
use wire::learning;
use wire::signature::Key;

fn mac(port: u16) -> MacAddr {
    MacAddr([2, 0, 0, 0, port as u8, 2])
}

fn host(port: u16) -> Ipv4Addr {
    let (device, _) = Addresses::plan(64).interfaces[usize::from(port)].ipv4;
    Ipv4Addr::from_bits(device.to_bits() + 1)
}

/// UDP from some ports to others, each after its host has made itself known.
fn trial(pairs: &[(u16, u16)], size: u32, rate: u64, duration: Duration) -> Trial {
    let plan = Addresses::plan(64).interfaces;
    let paths: Vec<Path> = pairs
        .iter()
        .map(|(from, to)| {
            let next_hop = (plan[usize::from(*from)].mac, host(*to).into());
            Path::udp(PortId(*from), PortId(*to), (mac(*from), host(*from).into()), next_hop)
        })
        .collect();
    let load = Load {
        paths: &paths,
        streams_each: 1,
        sizes: &[FrameSize::from_bytes(size)],
        rate: FrameRate::from_fps(rate),
        duration,
        key: Key::from_seed(7),
    };
    let mut trial = load.trial("a stranger's device");
    let known = |port: u16| Prelude {
        port: PortId(port),
        frames: vec![learning::arp_request(mac(port), host(port), plan[usize::from(port)].ipv4.0)],
        wait: Duration::from_ms(200),
    };
    trial.prelude = pairs.iter().flat_map(|(from, to)| [known(*from), known(*to)]).collect();
    trial
}

fn run(text: &str, trial: &Trial) -> Result<TrialResult, TesterError> {
    let device = Description::from_toml(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut tester = device.tester(&Addresses::plan(device.ports)).expect("what was checked");
    tester.run(trial)
}

fn ok(text: &str, trial: &Trial) -> TrialResult {
    run(text, trial).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

const MS_100: Duration = Duration::from_ms(100);

#[test]
fn an_odd_number_of_ports() {
    let text = "ports = 3\nroute = [\"ipv4\"]";
    let result = ok(text, &trial(&[(0, 2), (1, 0), (2, 1)], 64, 1_000, MS_100));
    assert_eq!((result.offered_frames(), result.lost_frames()), (300, 0));
}

/// Busy for 100 us with nowhere to wait: at a frame every 90 us each second one is lost.
#[test]
fn no_queue_at_all() {
    let text = "route = [\"ipv4\"]\n[input]\nframes = 0\n[cpu]\ncost = { per-frame = \"100us\" }";
    assert_eq!(ok(text, &trial(&[(0, 1)], 64, 10_000, MS_100)).lost_frames(), 0);
    let flooded = ok(text, &trial(&[(0, 1)], 64, 11_111, MS_100));
    assert_eq!((flooded.offered_frames(), flooded.lost_frames()), (1_112, 556));
}

/// 10,000 frames a second of all ports together, and 3 that wait at each.
#[test]
fn one_processor_for_all_ports() {
    let text = "ports = 8\nroute = [\"ipv4\"]\n[input]\nframes = 3\n\
                [cpu]\ncost = { per-frame = \"100us\" }";
    let pairs = [(0, 1), (2, 3), (4, 5), (6, 7)];
    assert_eq!(ok(text, &trial(&pairs, 64, 2_500, MS_100)).lost_frames(), 0);
    let result = ok(text, &trial(&pairs, 64, 5_000, MS_100));
    assert_eq!(result.offered_frames(), 2_000);
    // A frame each 100 us, the last at 99.8 ms, and then those that wait.
    assert_eq!(result.forwarded_frames(), 999 + 12);
}

/// Bytes take 10 ps; the device acts on the first 64 of 1,518.
#[test]
fn cut_through_at_800g() {
    let text = "line-rate = \"800G\"\nroute = [\"ipv4\"]\ncut-through-bytes = 64";
    let result = ok(text, &trial(&[(0, 1)], 1_518, 1_000, MS_100));
    let truth = Some(Duration::from_ps(640 + 15_180));
    let latency = result.latency().unwrap();
    assert_eq!((latency.min(), latency.max()), (truth, truth));
}

/// Both ways on one medium: 10 Mb/s carry 14,880 frames of 64 bytes, and no more than that in all.
#[test]
fn half_duplex_at_10m() {
    let text = "line-rate = \"10M\"\nduplex = \"half\"\nroute = [\"ipv4\"]";
    let quiet = ok(text, &trial(&[(0, 1), (1, 0)], 64, 3_000, MS_100));
    assert_eq!((quiet.offered_frames(), quiet.lost_frames()), (600, 0));
    let busy = ok(text, &trial(&[(0, 1), (1, 0)], 64, 14_000, MS_100));
    assert!(
        busy.forwarded_frames() < 2 * 14_880
            && busy.lost_frames() + busy.forwarded_frames() == busy.offered_frames()
    );
}

/// Receiving takes all there is from 3,333 a second on.
#[test]
fn a_livelock() {
    let text = "route = [\"ipv4\"]\n[input]\nframes = 5\n\
                [cpu]\ncost = { per-frame = \"700us\", receive = \"300us\" }";
    assert_eq!(ok(text, &trial(&[(0, 1)], 64, 1_000, MS_100)).lost_frames(), 0);
    let flooded = ok(text, &trial(&[(0, 1)], 64, 10_000, MS_100));
    assert!(flooded.forwarded_frames() <= 7, "{}", flooded.forwarded_frames());
}

/// A frame takes 51.2 ms to send, and 54.4 ms from start to start with preamble; 16 ms of gap.
#[test]
fn a_link_of_10k() {
    let text = "line-rate = \"10k\"\nroute = [\"ipv4\"]";
    let result = ok(text, &trial(&[(0, 1)], 64, 10, Duration::from_secs(2)));
    let latency = result.latency().unwrap();
    assert_eq!((result.lost_frames(), latency.min()), (0, Some(Duration::from_us(102_400))));
    let too_fast = ok(text, &trial(&[(0, 1)], 64, 100, Duration::from_secs(2)));
    assert!(!too_fast.is_valid(), "the medium carries no such load: {:?}", too_fast.validity);
}

/// Two seconds on the way: nothing is there in time, and all of it is late, not lost for ever.
#[test]
fn a_link_round_the_moon() {
    let text = "propagation = \"1s\"\nroute = [\"ipv4\"]";
    let mut trial = trial(&[(0, 1)], 64, 100, MS_100);
    trial.prelude.iter_mut().for_each(|prelude| prelude.wait = Duration::from_secs(3));
    let late = ok(text, &trial);
    assert_eq!((late.offered_frames(), late.lost_frames()), (10, 10));
    trial.waits.drain = Duration::from_secs(3);
    assert_eq!(ok(text, &trial).lost_frames(), 0);
}

/// It crashes at the sixth frame within a second, and never comes back.
#[test]
fn a_device_that_crashes_at_once() {
    let text = "route = [\"ipv4\"]\n[misbehaviour]\ncrashes-above-fps = 5";
    let result = ok(text, &trial(&[(0, 1)], 64, 1_000, MS_100));
    assert_eq!(result.offered_frames(), 100);
    assert!((3..=5).contains(&result.forwarded_frames()), "{}", result.forwarded_frames());
}

/// The sender's own gap of a second: it falls short, and says so; nothing is lost.
#[test]
fn a_tester_with_a_gap_of_a_second() {
    let text = "route = [\"ipv4\"]\n[tester]\nmin-gap = \"1s\"";
    let result = ok(text, &trial(&[(0, 1)], 64, 100, MS_100));
    assert!(!result.is_valid());
    assert_eq!(result.lost_frames(), 0);
}

/// It ends when its schedule does, as on real ports: else a thousand seconds of hellos would follow.
#[test]
fn a_weak_tester_before_a_device_that_talks_all_the_time() {
    let text = "ports = 64\nroute = [\"ipv4\"]\nhello = \"5ms\"\n[tester]\nframes-per-second = 1";
    let result = ok(text, &trial(&[(0, 1)], 64, 200_000, Duration::from_ms(5)));
    assert_eq!((result.offered_frames(), result.lost_frames()), (1, 0));
    assert!(!result.is_valid());
    let heard: u64 = result.received.iter().map(|port| port.foreign).sum();
    assert!(heard < 64 * 400, "{heard} hellos in a second or two");
}

/// A queue without limit before a processor that is too slow, and a sender of a thousand million
/// frames a second: this machine's memory is the limit, and the error says what to do.
#[test]
fn a_queue_that_would_eat_all_memory() {
    let text = "line-rate = \"800G\"\nroute = [\"ipv4\"]\n[cpu]\ncost = { per-frame = \"1us\" }";
    let refused = run(text, &trial(&[(0, 1)], 64, 1_000_000_000, Duration::from_secs(1)));
    let text = refused.expect_err("no room").to_string();
    assert!(text.contains("keeps") && text.contains("[input] frames"), "{text}");
}

/// A stranger's description: every number small or large, every mechanism there or not.
fn any_description() -> impl Strategy<Value = String> {
    let times = ["0s", "1ps", "333ns", "67us", "5ms", "1s", "1000s"];
    let counts = ["0", "1", "2", "7", "1000", "9223372036854775807"];
    let time = move || proptest::sample::select(times.to_vec());
    let count = move || proptest::sample::select(counts.to_vec());
    let lines = (
        proptest::sample::select(vec!["10k", "10M", "1G", "123456789", "800G"]),
        proptest::sample::select(vec!["full", "half"]),
        proptest::sample::select(vec!["[]", "[\"ipv4\"]", "[\"ipv4\", \"ipx\"]"]),
        any::<bool>(),
        proptest::sample::select(vec![2u8, 3, 4, 64]),
    );
    let parts = [
        (time(), count(), "propagation = \"T\""),
        (time(), count(), "delay = \"T\""),
        (time(), count(), "delay-varies-by = \"T\""),
        (time(), count(), "hello = \"T\""),
        (time(), count(), "cut-through-bytes = 64"),
        (time(), count(), "max-frame-bytes = 64"),
    ];
    let tables = [
        (time(), count(), "[input]\nframes = N"),
        (time(), count(), "[output]\nframes = N"),
        (time(), count(), "[memory]\nbytes = N"),
        (time(), count(), "[fabric]\nframes = N"),
        (time(), count(), "[flow-control]\npause-at-frames = 7\nresume-at-frames = 2"),
        (
            time(),
            count(),
            "[card]\nports = 2\ninput = { per-frame = \"T\" }\nqueue = { frames = N }",
        ),
        (time(), count(), "[bus]\ncost = { per-byte = \"T\" }"),
        (time(), count(), "[cpu]\ncost = { per-frame = \"T\", receive = \"T\" }"),
        (time(), count(), "[cpu.stall]\nevery = \"1s\"\nlasts = \"T\""),
        (time(), count(), "[learning]\nentries = N\nageing = \"T\"\nbuckets = N\nplaces = N"),
        (time(), count(), "[neighbours]\nentries = N\nageing = \"T\""),
        (time(), count(), "[arp-server]\nper-request = \"T\"\nentries = N"),
        (time(), count(), "[multicast]\ngroups = N\njoin = \"T\""),
        (time(), count(), "[misbehaviour]\ncrashes-above-fps = N\nreboots-in = \"T\""),
        (time(), count(), "[impair]\nreorder-every = N\nreorder-by = \"T\""),
        (time(), count(), "[tester]\nmin-gap = \"T\"\nframes-per-second = N"),
    ];
    // Three million hellos a second out of each of 64 ports are taken, and take minutes.
    let filled = |(time, count, text): (&str, &str, &str)| {
        let filled = text.replace('T', time).replace('N', count);
        filled.replace("hello = \"333ns\"", "hello = \"20us\"")
    };
    let some = |all: Vec<(_, _, &'static str)>| {
        let each = all.into_iter().map(move |(time, count, text)| {
            proptest::option::weighted(0.3, (time, count, Just(text)).prop_map(filled))
        });
        each.collect::<Vec<_>>()
    };
    (lines, some(parts.to_vec()), some(tables.to_vec())).prop_map(|(first, parts, tables)| {
        let (line_rate, duplex, route, bridge, ports) = first;
        let head = format!(
            "ports = {ports}\nline-rate = \"{line_rate}\"\nduplex = \"{duplex}\"\nroute = {route}\n\
             bridge = {bridge}"
        );
        let parts = parts.into_iter().chain(tables).flatten();
        std::iter::once(head).chain(parts).collect::<Vec<_>>().join("\n")
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, ..ProptestConfig::default() })]

    /// It is refused with a remedy, or it runs: to an end, without a panic, and no frame comes out that
    /// did not go in.
    #[test]
    fn any_device_is_refused_or_runs(text in any_description(), rate in 1u64..200_000) {
        match Description::from_toml(&text) {
            Err(error) => prop_assert!(error.to_string().len() > 20, "{text}: {error}"),
            Ok(device) => {
                let mut trial = trial(&[(0, 1)], 64, rate, Duration::from_ms(5));
                trial.waits.drain = Duration::from_ms(20);
                trial.prelude.iter_mut().for_each(|before| before.wait = Duration::from_ms(1));
                let mut tester = device.tester(&Addresses::plan(device.ports)).unwrap();
                match tester.run(&trial) {
                    Ok(result) => {
                        let stream = &result.streams[0];
                        prop_assert_eq!(stream.received + stream.lost, stream.sent, "{}", text);
                        prop_assert_eq!(stream.duplicates, 0, "{}", text);
                    }
                    Err(error) => prop_assert!(error.to_string().contains("; "), "{text}: {error}"),
                }
            }
        }
    }
}
