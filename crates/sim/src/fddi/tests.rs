//! Rings against the standard's constants and against R. Jain, "Performance Analysis of FDDI Token Ring
//! Networks: Effect of Parameters and Guidelines for Setting TTRT" (1990).

use super::*;
use crate::Frame;
use units::Instant;

fn frame() -> Frame {
    vec![0; 60].into()
}

fn setup(bid: Duration, frames_per_token: Option<u32>) -> StationSetup {
    StationSetup { bid, frames_per_token }
}

/// RFC 2544 appendix B, the FDDI column, to the nearest frame: 100,000,000 / 4,240 is 23,584.9.
#[test]
fn frames_take_the_time_of_rfc2544_appendix_b() {
    let table = [
        (64, 152_439),
        (128, 85_616),
        (256, 45_620),
        (512, 23_585),
        (768, 15_903),
        (1_024, 11_996),
        (1_280, 9_630),
        (1_518, 8_138),
    ];
    for (bytes, fps) in table {
        let time = time_of_frame(FrameSize::from_bytes(bytes));
        assert_eq!((1e12 / time.as_ps() as f64).round() as u64, fps, "{bytes} bytes");
    }
}

/// D_Max of the standard: 1,000 stations and 200 km of fibre.
#[test]
fn the_largest_ring_has_the_standards_latency() {
    let fibre = Duration::from_ns(5_085) * 200;
    assert_eq!(STATION_LATENCY * 1_000 + fibre, Duration::from_us(1_617));
}

/// Everything that arrives until `end`, by sender; each station has frames for all of that time.
fn saturated(ring: &mut Ring, stations: usize, end: Instant) -> Vec<Vec<Instant>> {
    let mut arrived = vec![vec![]; stations];
    for station in 0..stations {
        let all = end.since(Instant::ZERO).as_ps() / time_of_frame(frame().size()).as_ps();
        (0..all).for_each(|_| ring.send(station, Instant::ZERO, frame()));
    }
    while let Some(now) = ring.next_event().filter(|now| *now <= end) {
        for (station, of) in arrived.iter_mut().enumerate() {
            while let Some((at, _)) = ring.receive(station, now) {
                of.push(at);
            }
        }
    }
    arrived
}

/// Two stations, of which one sends a frame by each token: frame 6.56 us, token 0.88 us, and twice
/// 0.6 us around: 8.64 us, or 115,740.7 frames a second.
#[test]
fn one_frame_by_each_token() {
    let mut ring = Ring::new(&[setup(TTRT, Some(1)); 2], STATION_LATENCY);
    let mut sent = vec![];
    ring.send(0, Instant::ZERO, frame());
    while sent.len() < 1_000 {
        let now = ring.next_event().unwrap();
        while let Some((at, frame)) = ring.receive(0, now) {
            sent.push(at);
            ring.send(0, now, frame);
        }
    }
    let gaps = sent.windows(2).map(|pair| pair[1].since(pair[0]));
    assert!(gaps.clone().all(|gap| gap == Duration::from_ns(8_640)), "{:?}", gaps.max());
}

/// A station alone with its token holding time sends for TTRT less the latency of the ring, and then
/// waits for the token to come around.
#[test]
fn a_station_holds_the_token_for_what_it_came_early() {
    let ttrt = Duration::from_ms(4);
    let mut ring = Ring::new(&[setup(ttrt, None); 2], STATION_LATENCY);
    let [arrived, _] = &saturated_one(&mut ring, Instant::ZERO + Duration::from_ms(40))[..] else {
        panic!("two stations");
    };
    let back_to_back = time_of_frame(frame().size());
    let pauses = arrived.windows(2).filter(|pair| pair[1].since(pair[0]) > back_to_back).count();
    // About one rotation each 4 ms, of which every other is one in which the token is late.
    assert!((8..=21).contains(&pauses), "{pauses}");
}

fn saturated_one(ring: &mut Ring, end: Instant) -> [Vec<Instant>; 2] {
    let mut arrived = vec![];
    (0..2).for_each(|_| ring.send(0, Instant::ZERO, frame()));
    while let Some(now) = ring.next_event().filter(|now| *now <= end) {
        while let Some((at, frame)) = ring.receive(0, now) {
            arrived.push(at);
            ring.send(0, now, frame);
        }
    }
    [arrived, vec![]]
}

/// Jain: of n stations that always have frames the efficiency is n (T - D) / (n T + D), and none waits
/// longer than (n - 1) T + 2 D. T is TTRT, D the latency of the ring; a frame's overrun of each token
/// and the token itself come on top, here less than 1 in 500.
#[test]
fn a_ring_that_is_always_busy_is_as_efficient_as_jain_has_it() {
    for (stations, hop_us, ttrt_ms) in [(4, 100, 8), (8, 60, 8), (8, 150, 5)] {
        let ttrt = Duration::from_ms(ttrt_ms);
        let mut ring = Ring::new(&vec![setup(ttrt, None); stations], Duration::from_us(hop_us));
        let latency = ring.latency();
        let n = stations as u64;
        // Cycles of n T + D, after a first one.
        let cycle = ttrt * n + latency;
        let (from, end) = (Instant::ZERO + cycle * 2, Instant::ZERO + cycle * 8);
        let arrived = saturated(&mut ring, stations, end);
        let frames: u64 =
            arrived.iter().map(|of| of.iter().filter(|at| **at > from).count() as u64).sum();
        let busy = (time_of_frame(frame().size()) * frames).as_secs_f64();
        let efficiency = busy / end.since(from).as_secs_f64();
        let theory = ((ttrt - latency) * n).as_secs_f64() / cycle.as_secs_f64();
        println!("{stations}: {efficiency:.5} for {theory:.5}");
        assert!((efficiency / theory - 1.0).abs() < 0.004, "{stations}: {efficiency} for {theory}");
        let waits = arrived.iter().flat_map(|of| of.windows(2).map(|two| two[1].since(two[0])));
        let longest = waits.max().unwrap();
        let overruns = (time_of_frame(frame().size()) + SYMBOL * TOKEN_SYMBOLS) * 2 * n;
        assert!(longest <= ttrt * (n - 1) + latency * 2 + overruns, "{longest}");
        assert!(longest >= ttrt * (n - 2), "{longest}");
    }
}

/// The lowest bid wins, at the beginning and after a token was lost; the ring is back within the timer of
/// valid transmissions, a claim frame's time, two silent rotations and the one of the frame.
#[test]
fn a_ring_recovers_from_a_lost_token_in_a_bounded_time() {
    let bids = [8, 5, 20, 5].map(|ms| setup(Duration::from_ms(ms), Some(1)));
    let mut ring = Ring::new(&bids, STATION_LATENCY);
    assert_eq!((ring.ttrt, ring.counts().claims), (Duration::from_ms(5), 1));
    // The higher address of the two that bid 5 ms has issued the token.
    assert!(matches!(ring.token, super::ring::Token::Claimed { winner: 3, .. }));
    let lost = Instant::ZERO + Duration::from_ms(100);
    ring.lose_token(lost);
    ring.send(2, lost, frame());
    let arrives = std::iter::from_fn(|| ring.next_event().map(|at| ring.receive(2, at)));
    let arrives = arrives.take(50).flatten().next().expect("a frame").0;
    let claimed = VALID_TRANSMISSION + SYMBOL * CLAIM_SYMBOLS + ring.latency();
    let rotations = ring.latency() * 3 + SYMBOL * TOKEN_SYMBOLS * 2;
    let bound = claimed + rotations + time_of_frame(frame().size()) + STATION_LATENCY;
    assert!(arrives <= lost + bound, "{} for {bound}", arrives.since(lost));
    assert!(arrives > lost + claimed);
    assert_eq!(ring.counts().claims, 2);
}

/// A minute with nothing to send is skipped, and the token is where it would have come to.
#[test]
fn an_idle_ring_costs_nothing() {
    let at_after = |minutes: u64| {
        let mut ring = Ring::new(&[setup(TTRT, None); 3], STATION_LATENCY);
        let now = Instant::ZERO + Duration::from_secs(60 * minutes);
        ring.advance(now);
        ring.free_at(1, now)
    };
    let first = Ring::new(&[setup(TTRT, None); 3], STATION_LATENCY).free_at(1, Instant::ZERO);
    let rotation = (STATION_LATENCY * 3).as_ps();
    for minutes in [1, 7] {
        let later = at_after(minutes);
        assert!(
            later.since(Instant::ZERO) < Duration::from_secs(60 * minutes) + STATION_LATENCY * 3
        );
        assert_eq!(later.since(first).as_ps() % rotation, 0);
    }
}
