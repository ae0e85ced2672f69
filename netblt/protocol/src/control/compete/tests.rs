use super::*;

const FASTEST: Burst = Burst { size_packets: u16::MAX, interval_ms: 1 };
const BUFFER: u64 = 8;

fn at_ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_ms(ms)
}

/// A control whose path takes 100 ms, after slow start, and its window.
fn steady() -> Compete {
    let mut control = Compete::new(Instant::ZERO, BUFFER as u32, Some(Duration::from_ms(100)));
    (0..3).for_each(|round| turn(&mut control, 100 * round, 100, 0));
    control.cubic.leave_slow_start();
    control
}

/// A window leaves at once at `at`, in whole buffers, and arrives after `round_trip`; the OKs wait
/// for `late` in this host.
fn turn(control: &mut Compete, at: u64, round_trip: u64, late: u64) {
    let buffers = (control.cubic.window() as u64).div_ceil(BUFFER);
    let first = control.sent();
    (0..buffers * BUFFER).for_each(|_| control.departed(at_ms(at)));
    for buffer in 0..buffers {
        let begin = first + buffer * BUFFER;
        let (packets, late) = (begin..begin + BUFFER, Duration::from_ms(late));
        let now = at_ms(at + round_trip) + late;
        control.completed(now);
        control.arrived(now, &Arrival { left: at_ms(at), packets, late });
    }
}

#[test]
fn a_window_leaves_in_a_round_trip_and_twice_as_much_in_the_next_of_slow_start() {
    let mut control = Compete::new(Instant::ZERO, BUFFER as u32, Some(Duration::from_ms(100)));
    // 2 ln 2 windows of 10 packets in 100 ms.
    assert!((control.pps() - 138.6).abs() < 0.1, "{}", control.pps());
    turn(&mut control, 0, 100, 0);
    assert_eq!(control.cubic.window(), 10.0 + 16.0);
    control.cubic.leave_slow_start();
    assert!((control.pps() - 260.0).abs() < 1e-6, "{}", control.pps());
}

#[test]
fn losses_of_one_round_trip_lower_the_rate_once_and_those_of_the_next_again() {
    let mut control = steady();
    let window = control.cubic.window();
    let first = control.sent();
    (0..3 * BUFFER).for_each(|_| control.departed(at_ms(400)));
    control.lost(first);
    control.lost(first + BUFFER);
    control.lost(first + 2 * BUFFER);
    assert!((control.cubic.window() - 0.7 * window).abs() < 1e-9);
    control.departed(at_ms(503));
    control.lost(control.sent() - 1);
    assert!((control.cubic.window() - 0.49 * window).abs() < 1e-9);
}

#[test]
fn what_waited_in_this_host_is_neither_a_queue_nor_a_longer_round_trip() {
    let (mut control, mut late) = (steady(), steady());
    for round in 4..8 {
        turn(&mut control, 100 * round, 100, 0);
        turn(&mut late, 200 * round, 100, 50);
    }
    assert_eq!(control.trips.smoothed_s(), late.trips.smoothed_s());
    let mut queued = steady();
    turn(&mut queued, 400, 150, 0);
    assert!(queued.trips.smoothed_s() > control.trips.smoothed_s());
    let mut start = Compete::new(Instant::ZERO, BUFFER as u32, None);
    (0..4).for_each(|round| turn(&mut start, 200 * round, 100, 10 * round));
    assert_eq!(start.start.growth(), 1.0, "slow start goes on");
}

#[test]
fn who_hears_nothing_sends_a_window_more_and_waits_then_begins_with_one_packet() {
    let mut control = steady();
    let mut left = 0;
    while !control.is_quiet() {
        control.departed(at_ms(400));
        left += 1;
    }
    assert_eq!(left, control.cubic.window() as u64 + 2 * BUFFER);
    assert_eq!(control.pace(FASTEST).size_packets, 1);
    assert!(control.pace(FASTEST).interval >= Duration::from_secs(1));
    // What is asked for is under way no more, but nothing has arrived.
    let timer = control.timeout();
    control.asked(3);
    (0..3).for_each(|_| {
        assert!(!control.is_quiet());
        control.departed(at_ms(401));
    });
    assert!(control.is_quiet() && control.timeout() == timer);
    let timeout = control.timeout().expect("a timer runs");
    assert!(timeout > at_ms(1300), "a second after the last word");
    // Of what came until then only a part was read: nobody has been silent yet.
    control.handle_timeout(at_ms(900));
    assert!(control.cubic.window() > 10.0);
    control.handle_timeout(timeout);
    assert_eq!(control.cubic.window(), 1.0);
    assert!(!control.is_quiet() && control.cubic.is_slow_start());
    // A second silence is no second loss.
    let threshold = control.cubic.clone();
    control.departed(timeout);
    control.handle_timeout(timeout + Duration::from_secs(20));
    assert_eq!(format!("{:?}", control.cubic), format!("{threshold:?}"));
}

#[test]
fn before_anything_was_heard_a_window_leaves_after_a_second_each_and_then_more_rarely() {
    let mut control = Compete::new(Instant::ZERO, BUFFER as u32, None);
    let pace = control.pace(FASTEST);
    assert_eq!((pace.size_packets, pace.interval), (10, Duration::from_secs(1)));
    (0..10).for_each(|_| control.departed(Instant::ZERO));
    let timeout = control.timeout().expect("a timer runs");
    control.handle_timeout(timeout);
    assert_eq!(control.pace(FASTEST).interval, Duration::from_secs(2));
}

#[test]
fn no_burst_exceeds_what_was_offered() {
    let control = steady();
    for (size_packets, interval_ms) in [(1, 1), (3, 2), (1, 50), (7, 1000)] {
        let limit = Burst { size_packets, interval_ms };
        let pace = control.pace(limit);
        assert!(pace.size_packets <= size_packets && pace.interval >= limit.interval());
    }
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut control = steady();
    let before = control.cubic.window();
    for round in 0..20u64 {
        // A buffer in a round trip, of a window of many.
        let (first, at) = (control.sent(), at_ms(400 + 100 * round));
        (0..BUFFER).for_each(|_| control.departed(at));
        let now = at + Duration::from_ms(100);
        control.completed(now);
        let (packets, late) = (first..first + BUFFER, Duration::ZERO);
        control.arrived(now, &Arrival { left: at, packets, late });
        control.idle(now);
    }
    let window = control.cubic.window();
    let mut busy = control.clone();
    (0..20).for_each(|round| turn(&mut busy, 2400 + 100 * round, 100, 0));
    // The first of these round trips follows one that was used.
    assert!(window < before + 1.0 && busy.cubic.window() > window + 5.0, "{window} {busy:?}");
}
