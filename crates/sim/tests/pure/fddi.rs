//! Testers and devices on FDDI: full duplex, on a ring with a token, and behind feed switches.

use sim::{Addresses, Description};
use std::net::Ipv4Addr;
use traffic::template::FrameTemplate;
use trial::{Balance, PortId, Schedule, Stream, StreamId, Tester, Trial, TrialResult};
use units::{Duration, FrameRate, FrameSize};
use wire::ethernet::MacAddr;
use wire::signature::Key;

/// Frames of 64 bytes from each port to the one at its other end, at `fps`.
fn trial(ways: &[(u16, u16)], fps: f64, ms: u64) -> Trial {
    let key = Key::from_seed(5);
    let host = |n: u16| (MacAddr([2, 0, 0, 0, 0, n as u8]), Ipv4Addr::new(198, 18, n as u8, 2));
    let schedule = Schedule::constant(FrameRate::from_fps_f64(fps), Duration::from_ms(ms));
    ways.iter().zip(1..).fold(Trial::new("FDDI", key), |trial, (&(from, to), id)| {
        let frames = FrameTemplate::udp_ipv4(host(from), host(to));
        let ports = (PortId(from), PortId(to));
        let stream =
            Stream::new(StreamId(id), ports, &frames, FrameSize::MIN_ETHERNET, key).unwrap();
        trial.sending(stream, schedule.clone())
    })
}

/// Two ports that a device joins without any cost. Every frame is accounted for, from the transmitters to the
/// receivers.
fn run(more: &str, trial: &Trial) -> TrialResult {
    let text = format!("line-rate = \"100M\"\nmedium = \"fddi\"\n{more}");
    let device = Description::from_toml(&text).unwrap();
    let result = device.tester(&Addresses::plan(2)).unwrap().run(trial).unwrap();
    let balance = Balance::of(&result);
    assert_eq!((balance.unknown(), balance.surplus()), (0, 0), "{balance:?}");
    result
}

/// What a single ring carries with a frame by each token: frame 6.56 us, token 0.88 us, two
/// stations of 0.6 us each.
const BY_TOKEN_FPS: f64 = 1e9 / 8_640.0;

const FED: &str = "feed-switches = true\n[ring]\nframes-per-token = 1\n";

/// RFC 2544 appendix B: 152,439 frames of 64 bytes a second, both ways at once, and no more.
#[test]
fn full_duplex_fddi_carries_the_theoretical_rate_both_ways() {
    let both = [(0, 1), (1, 0)];
    let result = run("", &trial(&both, 1e9 / 6_560.0, 200));
    assert!(result.is_valid(), "{:?}", result.validity);
    assert_eq!((result.offered_frames(), result.lost_frames()), (2 * 30_488, 0));
    // 64 bytes, FC, LLC and SNAP twice: 71 bytes at 80 ns.
    let latency = Some(Duration::from_ns(2 * 5_680));
    assert_eq!(result.latency().unwrap().max(), latency);
    let more = run("", &trial(&both, 154_000.0, 200));
    assert!(!more.is_valid() && more.lost_frames() == 0);
    assert!((more.offered_rate().fps() / (2e9 / 6_560.0) - 1.0).abs() < 1e-3);
}

/// Tester and device share a ring: what one sends the other waits for, and nothing is lost.
#[test]
fn a_ring_is_shared_by_tester_and_device() {
    let result = run("duplex = \"half\"\n", &trial(&[(0, 1), (1, 0)], 50_000.0, 100));
    assert!(result.is_valid(), "{:?}", result.validity);
    assert_eq!((result.offered_frames(), result.lost_frames()), (2 * 5_000, 0));
    let result = run("duplex = \"half\"\n", &trial(&[(0, 1), (1, 0)], 100_000.0, 100));
    assert_eq!(result.lost_frames(), 0, "what waits for the token is not lost");
    assert!(!result.is_valid(), "{}", result.offered_rate());
}

/// Behind feed switches each transmitter has a ring of its own: 115,741 frames a second.
#[test]
fn behind_feed_switches_a_port_is_offered_what_a_ring_carries() {
    let all = [(0, 1), (1, 0)];
    let result = run(FED, &trial(&all, BY_TOKEN_FPS * 0.9999, 500));
    assert!(result.is_valid(), "{:?}", result.validity);
    assert_eq!(result.lost_frames(), 0);
    let more = run(FED, &trial(&all, 130_000.0, 500));
    assert!(!more.is_valid() && more.lost_frames() == 0);
    assert!((more.offered_rate().fps() / (2.0 * BY_TOKEN_FPS) - 1.0).abs() < 1e-3);
}

/// "Increasing the data rate beyond that led to a decrease in throughput (but no packet loss) due to
/// FDDI claiming": a transmitter that keeps its own time loses the token by that, and the ring claims.
#[test]
fn rings_that_claim_decrease_the_throughput_and_lose_nothing() {
    let claims = format!("{FED}[tester]\nignores-token = true\n");
    let at = |fps: f64| run(&claims, &trial(&[(0, 1), (1, 0)], fps, 500));
    let highest = at(BY_TOKEN_FPS * 0.9999);
    assert!(highest.is_valid(), "{:?}", highest.validity);
    let has_claimed = |result: &TrialResult| result.notes.iter().any(|it| it.contains("claims"));
    assert!(!has_claimed(&highest), "{:?}", highest.notes);
    let mut before = highest.offered_rate().fps();
    for more in [1.001, 1.01, 1.1] {
        let beyond = at(BY_TOKEN_FPS * more);
        assert_eq!((beyond.lost_frames(), has_claimed(&beyond)), (0, true), "{:?}", beyond.notes);
        let offered = beyond.offered_rate().fps();
        assert!(offered < before * 0.99, "{offered} after {before}");
        assert!(!beyond.is_valid(), "the test bed was short, not the device");
        before = offered;
    }
}

/// A logical bridge domain keeps to itself what its own rings show.
#[test]
fn a_bridge_domain_keeps_its_own_frames() {
    let text = format!("line-rate = \"100M\"\nmedium = \"fddi\"\nbridge = true\n{FED}");
    let device = Description::from_toml(&text).unwrap();
    let mut tester = device.tester(&Addresses::plan(2)).unwrap();
    // From the host of port 0 to itself.
    let mut own = trial(&[(0, 0)], 1_000.0, 100);
    own.streams[0].expect = trial::Expectation::Ports(vec![PortId(0)]);
    let result = tester.run(&own).unwrap();
    assert_eq!((result.offered_frames(), result.lost_frames()), (100, 0));
    let reached = result.device.iter().filter(|count| count.name == "in-frames");
    assert_eq!(reached.map(|count| count.count).sum::<u64>(), 0);
}

#[test]
fn what_fddi_does_not_have_is_refused() {
    for (text, word) in [
        ("medium = \"fddi\"", "line-rate"),
        ("feed-switches = true", "feed-switches"),
        ("[ring]\nframes-per-token = 1", "ring"),
        ("line-rate = \"100M\"\nmedium = \"fddi\"\n[ring]\nttrt = \"1ms\"", "ring.ttrt"),
        (
            "line-rate = \"100M\"\nmedium = \"fddi\"\n[tester]\nignores-token = true",
            "ignores-token",
        ),
        (
            "line-rate = \"100M\"\nmedium = \"fddi\"\nduplex = \"half\"\nfeed-switches = true",
            "duplex",
        ),
    ] {
        let refusal = Description::from_toml(text).unwrap_err().to_string();
        assert!(refusal.contains(word), "{refusal}");
    }
}
