//! CSMA/CD against the arithmetic of the standard, and against Metcalfe and Boggs.

use super::*;
use units::LineRate;

const RATE: LineRate = LineRate::from_mbps(10);

fn pace() -> Pace {
    Pace::new(Some(RATE), Duration::ZERO)
}

/// A link of 2 us between two stations that give up after 16 attempts.
fn medium() -> SharedMedium {
    SharedMedium::new(&[(pace(), AfterLimit::Discards); 2], Duration::from_us(2), 7)
}

fn at_us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_us(us)
}

/// Without FCS: 64 bytes with it.
fn frame() -> Frame {
    vec![0; 60].into()
}

/// Everything that arrives, in order: whose and when.
fn arrivals(medium: &mut SharedMedium) -> Vec<(usize, Instant)> {
    let mut arrivals = vec![];
    while let Some(now) = medium.next_event() {
        for station in 0..medium.stations.len() {
            arrivals.extend(medium.receive_of(station, now).map(|sent| (station, sent.arrives)));
        }
    }
    arrivals
}

/// RFC 2544 appendix B: 14,880 frames of 64 bytes a second at 10 Mb/s, 148,809 at 100 Mb/s.
#[test]
fn a_station_alone_sends_at_the_theoretical_rate() {
    for (mbps, frames) in [(10, 14_880), (100, 148_809)] {
        let pace = Pace::new(Some(LineRate::from_mbps(mbps)), Duration::ZERO);
        let mut medium = SharedMedium::new(&[(pace, AfterLimit::Discards); 2], Duration::ZERO, 1);
        (0..frames + 10).for_each(|_| medium.send_from(0, Instant::ZERO, frame()));
        let arrivals = arrivals(&mut medium);
        // A frame counts in the second in which its period ends.
        let rest = pace.period(frame().size()) - pace.time_of_frame(frame().size());
        let within = arrivals.iter().filter(|(_, at)| *at + rest <= at_us(1_000_000)).count();
        assert_eq!(within, frames);
        assert_eq!(medium.stations[0].counts, MacCounts::default());
    }
}

/// 64 bytes at 10 Mb/s take 51.2 us and 6.4 us of preamble; 2 us later the other hears their end,
/// and starts after a gap of 9.6 us.
#[test]
fn a_station_that_hears_another_defers() {
    let mut medium = medium();
    medium.send(Way::ToDevice, at_us(0), frame());
    assert_eq!(medium.free_at(Way::ToTester, at_us(10)), Instant::from_ns(69_200));
    assert_eq!(medium.free_at(Way::ToDevice, at_us(10)), Instant::from_ns(67_200));
    medium.send(Way::ToTester, at_us(10), frame());
    let expected = [(0, 53_200), (1, 69_200 + 53_200)];
    assert_eq!(arrivals(&mut medium), expected.map(|(way, ns)| (way, Instant::from_ns(ns))));
    assert_eq!(medium.counts(Way::ToDevice), MacCounts::default());
    assert_eq!(medium.counts(Way::ToTester), MacCounts { deferred: 1, ..MacCounts::default() });
}

/// Both send preamble and jam, 9.6 us, from their starts. Each hears the other end, and waits a gap.
#[test]
fn two_that_start_together_collide_and_get_through_one_after_the_other() {
    for second_starts_us in [0, 1, 2] {
        let mut medium = medium();
        medium.send(Way::ToDevice, at_us(0), frame());
        medium.send(Way::ToTester, at_us(second_starts_us), frame());
        let ends: Vec<Instant> = medium.recent.iter().map(|air| air.ends).collect();
        let jam_ends = |start_us| at_us(start_us) + Duration::from_ns(9_600);
        assert_eq!(ends, [jam_ends(0), jam_ends(second_starts_us)]);
        let arrivals = arrivals(&mut medium);
        assert_eq!(arrivals.len(), 2, "nothing is lost");
        assert!(arrivals[0].1 >= jam_ends(second_starts_us) + Duration::from_ns(9_600 + 53_200));
        assert!(arrivals[1].1.since(arrivals[0].1) >= Duration::from_ns(67_200));
        let counts = [Way::ToDevice, Way::ToTester].map(|way| medium.counts(way));
        assert!(counts[0].collisions >= 1 && counts[0].collisions == counts[1].collisions);
        for MacCounts { single_collisions, multiple_collisions, deferred, .. } in counts {
            assert_eq!((single_collisions + multiple_collisions, deferred), (1, 0));
        }
    }
    let mut apart = medium();
    apart.send(Way::ToDevice, at_us(0), frame());
    apart.send(Way::ToTester, Instant::from_ps(2_000_001), frame());
    assert_eq!((arrivals(&mut apart).len(), apart.counts(Way::ToTester).collisions), (2, 0));
}

/// After collision n both draw one of 2^n numbers and collide again where they draw the same: n
/// collisions happen with the probability (1 - 2^-n) x 2^-1 x ... x 2^-(n-1).
#[test]
fn the_back_off_of_two_stations_is_truncated_binary_exponential() {
    const ROUNDS: u64 = 20_000;
    let mut medium = medium();
    let mut seen = [0u64; 5];
    for round in 0..ROUNDS {
        let before = medium.counts(Way::ToDevice).collisions;
        let start = medium.next_event().unwrap_or(at_us(round * 1_000_000));
        medium.send(Way::ToDevice, start, frame());
        medium.send(Way::ToTester, start, frame());
        arrivals(&mut medium);
        let collisions = medium.counts(Way::ToDevice).collisions - before;
        seen[(collisions as usize).min(5) - 1] += 1;
    }
    let mut before = 1.0;
    for (collisions, seen) in (1..=3).zip(seen) {
        let again = 0.5f64.powi(collisions);
        let share = before * (1.0 - again);
        before *= again;
        let (mean, n) = (share * ROUNDS as f64, ROUNDS as f64);
        // Five standard deviations: once in 1.7 million, and the seed is fixed.
        let bound = 5.0 * (n * share * (1.0 - share)).sqrt();
        assert!((seen as f64 - mean).abs() < bound, "{collisions}: {seen}, expected {mean}");
    }
}

/// Both have a frame every 200 us, that is two thirds of the medium: everything gets through,
/// one after the other.
#[test]
fn both_get_their_turn() {
    let mut medium = medium();
    let mut all = vec![];
    for round in 0..500 {
        let now = at_us(200 * round);
        while let Some(at) = medium.next_event().filter(|at| *at <= now) {
            all.extend([0, 1].iter().filter_map(|of| Some(medium.receive_of(*of, at)?.arrives)));
        }
        medium.send(Way::ToDevice, now, frame());
        medium.send(Way::ToTester, now, frame());
    }
    all.extend(arrivals(&mut medium).into_iter().map(|(_, at)| at));
    assert_eq!((all.len(), medium.counts(Way::ToTester).excessive_collisions), (1_000, 0));
    assert!(medium.counts(Way::ToTester).collisions >= 100, "they often start together");
    let spacing = all.windows(2).map(|pair| pair[1].since(pair[0])).min();
    assert!(spacing >= Some(Duration::from_ns(67_200 - 2_000)), "{spacing:?}");
}

/// Sends until each of so many stations has had this many frames put into its queue.
fn saturated(stations: usize, after: AfterLimit, frames: usize, bytes: usize) -> SharedMedium {
    let propagation = Duration::from_ns(25_600);
    let mut medium = SharedMedium::new(&vec![(pace(), after); stations], propagation, 11);
    for station in 0..stations {
        (0..frames).for_each(|_| medium.send_from(station, Instant::ZERO, vec![0; bytes].into()));
    }
    medium
}

/// Two stations that always have something to send: the one that wins starts afresh, the other
/// backs off longer and longer. That is how CSMA/CD is (the capture effect).
#[test]
fn the_winner_of_a_collision_captures_the_medium() {
    let mut medium = saturated(2, AfterLimit::TriesAgain, 200, 60);
    let whose: Vec<usize> = arrivals(&mut medium).into_iter().map(|(whose, _)| whose).collect();
    let turns = whose.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(turns < 100, "{turns} turns in 400 frames");
}

/// A station whose clock is 50 parts in a million fast ends its gap 0.5 ns before the other does, which hears
/// that in the last third of its own and starts none the less (interFrameSpacingPart2): they collide, and
/// the faster one does not have the medium for itself until it has nothing more to send.
#[test]
fn a_faster_clock_does_not_take_the_medium_for_ever() {
    let fast = Pace::new(Some(LineRate::from_bps(10_000_500)), Duration::ZERO);
    let stations = [(pace(), AfterLimit::TriesAgain), (fast, AfterLimit::TriesAgain)];
    let mut medium = SharedMedium::new(&stations, Duration::from_us(2), 5);
    for _ in 0..20_000 {
        medium.send(Way::ToDevice, Instant::ZERO, frame());
        medium.send(Way::ToTester, Instant::ZERO, frame());
    }
    let whose: Vec<usize> = arrivals(&mut medium).into_iter().map(|(whose, _)| whose).collect();
    let first_of_fast = whose.iter().position(|whose| *whose == 1).unwrap();
    let in_a_row = whose[first_of_fast..].iter().take_while(|whose| **whose == 1).count();
    assert!(in_a_row < 20_000, "all of its frames");
    // On a short cable all is heard within a slot time.
    for counts in [Way::ToDevice, Way::ToTester].map(|way| medium.counts(way)) {
        assert_eq!((counts.late_collisions, counts.unnoticed), (0, 0));
    }
}

/// A cable of 100 us. Of a frame of 64 bytes that starts at 0 and one of 1,518 at 67.2 us none is heard at
/// the other end when a frame starts there at 99 us. The first is over when that is heard, and lost; the
/// second is noticed, and comes again.
#[test]
fn of_two_frames_on_a_long_cable_each_has_its_own_fate() {
    let paces = [(pace(), AfterLimit::Discards); 2];
    let mut medium = SharedMedium::new(&paces, Duration::from_us(100), 3);
    medium.send(Way::ToDevice, at_us(0), frame());
    medium.send(Way::ToDevice, at_us(0), vec![0; 1_514].into());
    medium.send(Way::ToTester, at_us(99), frame());
    let mut arrived = vec![];
    while let Some(now) = medium.next_event() {
        arrived.extend(medium.receive(Way::ToDevice, now).map(|(_, frame)| frame.bytes.len()));
        medium.receive(Way::ToTester, now);
    }
    assert_eq!(arrived, [1_514]);
    assert_eq!(medium.uncarried(Way::ToDevice).lost_since(&Uncarried::default()), 1);
    assert!(medium.counts(Way::ToDevice).collisions >= 1);
}

/// Each frame has arrived or was given up and counted; a station that hands it over again loses
/// none.
#[test]
fn a_frame_is_given_up_after_sixteen_attempts() {
    let run = |after| {
        let mut medium = saturated(2, after, 2_000, 1_514);
        let arrived = arrivals(&mut medium).len() as u64;
        let counts = [0, 1].map(|station: usize| medium.stations[station].counts);
        let given_up: u64 = counts.iter().map(|counts| counts.excessive_collisions).sum();
        // Each time it had collided 16 times.
        assert!(counts.iter().all(|it| it.collisions >= 16 * it.excessive_collisions));
        (arrived, given_up)
    };
    let (arrived, given_up) = run(AfterLimit::Discards);
    assert!(given_up > 0, "captured for longer than 16 collisions");
    assert_eq!(arrived + given_up, 4_000);
    let (arrived, given_up) = run(AfterLimit::TriesAgain);
    assert!(arrived == 4_000 && given_up > 0, "{arrived} {given_up}");
}

/// Metcalfe and Boggs, "Ethernet: Distributed Packet Switching for Local Computer Networks" (1976),
/// section 6: with Q stations that always have a packet, a slot acquires the medium with the
/// probability A = (1 - 1/Q)^(Q-1), W = (1 - A) / A slots are lost before, and the efficiency is
/// E = (P/C) / (P/C + W T). T is the slot here, P/C the time from a frame to the next. They assume that
/// every packet is contended for afresh; by the back-off of the standard a winner starts afresh and the others
/// wait, so that it sends several frames without contention. So theirs is a lower bound, and less of
/// the medium is used the more stations there are.
#[test]
fn the_efficiency_is_at_least_that_of_metcalfe_and_boggs() {
    let mut before = (0, 1.0);
    for (stations, bytes) in [(1, 1_514), (2, 1_514), (5, 1_514), (10, 1_514), (5, 508), (10, 508)]
    {
        let frames = 6_000 / stations;
        let mut medium = saturated(stations, AfterLimit::TriesAgain, frames, bytes);
        // Until the first has nothing more to send.
        let (mut arrived, mut now) = (0u64, Instant::ZERO);
        while medium.stations.iter().all(|station| !station.waiting.is_empty()) {
            now = medium.next_event().unwrap();
            arrived +=
                (0..stations).filter(|of| medium.receive_of(*of, now).is_some()).count() as u64;
        }
        let period = pace().period(Frame::from(vec![0; bytes]).size());
        let efficiency = (period * arrived).as_secs_f64() / now.since(Instant::ZERO).as_secs_f64();
        let q = stations as f64;
        let acquires = (1.0 - 1.0 / q).powf(q - 1.0);
        let lost = (1.0 - acquires) / acquires * 51.2e-6;
        let theory = period.as_secs_f64() / (period.as_secs_f64() + lost);
        let said = format!("{stations} stations, {bytes}: {efficiency:.4}, theory {theory:.4}");
        println!("{said}");
        assert!(efficiency >= theory - 0.001 && efficiency <= 1.0, "{said}");
        if before.0 == bytes {
            assert!(efficiency < before.1, "{said}");
        }
        before = (bytes, efficiency);
    }
}

/// A cable of 40 us, longer than half a slot time. A frame of 64 bytes is out after 57.6 us, before
/// its station hears at 79 us of what started at 39 us; one of 1,518 bytes hears it 79 us into the
/// frame, later than a slot time of 51.2 us.
#[test]
fn a_cable_that_is_too_long_makes_late_collisions_and_loses_frames() {
    let run = |bytes: usize| {
        let paces = [(pace(), AfterLimit::Discards); 2];
        let mut medium = SharedMedium::new(&paces, Duration::from_us(40), 3);
        medium.send(Way::ToDevice, at_us(0), vec![0; bytes].into());
        medium.send(Way::ToTester, at_us(39), vec![0; bytes].into());
        let arrived = arrivals(&mut medium).len();
        (arrived, medium.counts(Way::ToDevice))
    };
    let (arrived, counts) = run(60);
    assert_eq!((arrived, counts.unnoticed, counts.collisions), (1, 1, 0));
    let (arrived, counts) = run(1_514);
    assert!(arrived == 2 && counts.late_collisions >= 1 && counts.unnoticed == 0, "{counts:?}");
}
