//! Hosts that others keep from their processors: what is late is not lost.

use crate::link::Nap;
use crate::world::{Case, Finished, World};
use netblt::{Burst, Ending, Limits, RateControl};
use units::Duration;

fn ms(ms: u64) -> Duration {
    Duration::from_ms(ms)
}

/// 32,000 packets a second, as 400 Mb/s are, over a round trip of 10 ms; as many buffers as a file has
/// at a fixed rate.
fn fast(transfer_bytes: usize) -> Case {
    let mut case = Case { transfer_bytes, ..Case::plain(1) };
    case.faults.delay = ms(5);
    case.work = Duration::from_us(3);
    case.limits = [Limits {
        buffer_size_bytes: 256,
        data_packet_size_bytes: 4,
        burst: Burst { size_packets: 32, interval_ms: 1 },
        max_outstanding_buffers: 64,
        ..case.limits[0]
    }; 2];
    case
}

fn run(case: Case) -> Finished {
    let ending = World::new(case).run();
    assert_eq!(ending.outcomes, [Some(Ending::Complete), Some(Ending::Complete)]);
    assert_eq!(ending.received, ending.sent);
    ending
}

#[test]
fn what_waits_at_a_receiver_that_slept_is_not_asked_for_again() {
    for length in [5, 20, 50, 100, 200] {
        let mut case = fast(100_000);
        case.naps[1] = Nap { every: ms(250), length: ms(length) };
        let counters = run(case).counters;
        let again = (counters[1].packets_asked_again, counters[0].data_packets_resent);
        assert_eq!(again, (0, 0), "naps of {length} ms: {:?}", counters[1]);
    }
}

#[test]
fn what_has_yet_to_leave_or_has_just_left_a_sender_that_slept_is_not_sent_twice() {
    for length in [20, 50, 100, 200] {
        let mut case = fast(100_000);
        case.naps[0] = Nap { every: ms(250), length: ms(length) };
        let counters = run(case).counters;
        // Asked for it is: nobody told the receiver.
        assert!(length < 50 || counters[1].packets_asked_again > 0);
        assert_eq!(counters[0].data_packets_resent, 0, "naps of {length} ms: {:?}", counters[1]);
    }
}

#[test]
fn who_asked_too_early_for_what_stalled_on_its_way_waits_longer_from_then_on() {
    let mut case = fast(0);
    // As large as they are, control packets hold all messages of a round trip.
    case.limits = case.limits.map(|limits| Limits {
        buffer_size_bytes: 64 * 1400,
        data_packet_size_bytes: 1400,
        ..limits
    });
    case.transfer_bytes = 50_000 * 1400;
    case.faults.stalls = Nap { every: ms(150), length: ms(70) };
    let [sent, received] = run(case).counters;
    println!("{received:?}");
    assert!((1..200).contains(&sent.data_packets_resent), "{received:?}");
}

#[test]
fn where_both_are_late_what_was_lost_is_sent_again_and_nothing_else() {
    for (loss_permille, nap_ms) in [(1, 0), (50, 0), (1, 50), (10, 50), (50, 50)] {
        let mut case = fast(200_000);
        case.faults.loss_permille = loss_permille;
        case.naps = [170, 230].map(|every| Nap { every: ms(every), length: ms(nap_ms) });
        let [sent, received] = run(case).counters;
        let arrived = received.data_packets_received + received.duplicate_data_packets;
        let lost = sent.data_packets_sent - arrived;
        assert!(lost > 0);
        assert_eq!(
            sent.data_packets_resent, lost,
            "{loss_permille}, naps of {nap_ms} ms: {received:?}"
        );
    }
}

/// Nothing is lost; who asks for what has not left asks in vain.
fn asked_in_vain(case: Case) -> u64 {
    let [sent, received] = run(case).counters;
    // Once, before the round trip is known, what was asked for may just have left.
    assert!(sent.data_packets_resent <= 64, "{received:?}");
    received.packets_asked_again
}

#[test]
fn who_has_nothing_to_send_is_not_asked_for_it_over_and_over() {
    // 79 buffers of 64 packets; a client that takes 1.5 s for each.
    let mut case = fast(20_000);
    case.idle = Duration::from_secs(3);
    let asked = asked_in_vain(case);
    assert!(asked < 79 * 64, "{asked} packets asked for in vain");
}

#[test]
fn who_sends_slower_than_agreed_is_not_asked_for_what_is_to_come() {
    let mut case = fast(100_000);
    // 15 of 100 ms, 10 of them to make up for lateness.
    case.naps[0] = Nap { every: ms(100), length: ms(95) };
    let asked = asked_in_vain(case);
    assert!(asked < 400, "{asked} packets asked for in vain");
}

#[test]
fn a_stall_of_twelve_seconds_is_no_reason_to_ask_hundreds_of_times() {
    let mut case = fast(100_000);
    case.naps[0] = Nap { every: ms(12_100), length: ms(12_000) };
    let asked = asked_in_vain(case);
    assert!(asked < 2_000, "{asked} packets asked for in vain");
}

/// A sender that competes takes the naps of its own host neither for losses nor for silence: it sends about
/// what it sends without them, for as long as it is awake.
#[test]
fn a_sender_that_competes_does_not_slow_down_for_its_own_naps() {
    let took = |nap_ms| {
        let mut case = fast(400_000);
        case.adaptive = Some(RateControl::Competitive);
        case.naps[0] = Nap { every: ms(400), length: ms(nap_ms) };
        let ending = World::new(case).run();
        assert_eq!(ending.outcomes, [Some(Ending::Complete), Some(Ending::Complete)]);
        assert_eq!(ending.counters[0].data_packets_resent, 0, "{:?}", ending.counters);
        ending.counters[0].newest_buffer_at.map(|at| at.since(units::Instant::ZERO).as_secs_f64())
    };
    let (awake, sleepy) = (took(0).expect("data"), took(100).expect("data"));
    // Three quarters of the time, and what was to be begun again.
    assert!(sleepy < awake * 4.0 / 3.0 + 1.0, "{awake} s, {sleepy} s with naps");
}
