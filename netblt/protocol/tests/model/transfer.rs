//! One circumstance at a time.

use crate::link::Faults;
use crate::world::{Case, Finished, World};
use netblt::{Burst, Ending, Limits, Mode};
use units::{Duration, Instant};

fn run(case: Case) -> Finished {
    World::new(case).run()
}
fn assert_complete(ending: &Finished) {
    assert_eq!(ending.outcomes, [Some(Ending::Complete), Some(Ending::Complete)]);
    assert_eq!(ending.received, ending.sent);
}
fn faulty(change: impl FnOnce(&mut Faults)) -> Case {
    let mut case = Case::plain(1);
    change(&mut case.faults);
    case
}
fn ms(ms: u64) -> Duration {
    Duration::from_ms(ms)
}

#[test]
fn over_a_good_link_nothing_is_sent_twice_in_either_mode() {
    for mode in [Mode::Write, Mode::Read] {
        let ending = run(Case { mode, ..Case::plain(1) });
        assert_complete(&ending);
        let sender = usize::from(mode == Mode::Read);
        let (sent, received) = (ending.counters[sender], ending.counters[1 - sender]);
        assert_eq!(sent.data_packets_sent, 100, "50,000 bytes in packets of 500");
        assert_eq!(received.data_packets_received, 100);
        let again = [sent.data_packets_resent, received.data_timeouts, received.control_timeouts];
        assert_eq!(again, [0, 0, 0]);
        assert_eq!(received.round_trip, ms(40));
    }
}

#[test]
fn data_leaves_at_the_rate_agreed_on() {
    // 4 buffers of two bursts are 40 ms: the round trip of 30 ms is hidden.
    let ending = run(faulty(|faults| faults.delay = ms(15)));
    let counters = ending.counters[0];
    let first = counters.first_data_at.expect("sent");
    let took = counters.last_new_data_at.expect("sent").since(first);
    assert_eq!(took, ms(5) * 24, "25 bursts of 4 packets, 5 ms from start to start");
}

#[test]
fn with_one_buffer_a_transfer_runs_in_lock_step() {
    let mut case = Case::plain(1);
    case.limits[1].max_outstanding_buffers = 1;
    let ending = run(case);
    let counters = ending.counters[0];
    let first = counters.first_data_at.expect("sent");
    let took = counters.last_new_data_at.expect("sent").since(first);
    // 12 buffers of two bursts: the second 5 ms after the first, then a round trip of 40 ms for
    // OK and GO. The 13th, of 2,000 bytes, fits one burst.
    assert_eq!(took, (ms(5) + ms(40)) * 12);
}

#[test]
fn reordered_packets_are_waited_for_not_asked_for_again() {
    // Within 8 ms everything may come in any order, LDATA first.
    let ending = run(faulty(|faults| faults.jitter = ms(8)));
    assert_complete(&ending);
    assert_eq!(ending.counters[0].data_packets_resent, 0);
    assert_eq!(ending.counters[1].packets_asked_again, 0);
}

#[test]
fn lost_packets_and_no_others_are_sent_again() {
    let ending = run(faulty(|faults| faults.loss_permille = 50));
    assert_complete(&ending);
    let (sent, received) = (ending.counters[0], ending.counters[1]);
    assert!(sent.data_packets_resent > 0);
    assert_eq!(received.duplicate_data_packets, 0, "only what was missing");
}

#[test]
fn damaged_data_counts_as_lost_where_data_is_checksummed() {
    let ending = run(faulty(|faults| faults.damage_permille = 100));
    assert_complete(&ending);
    assert!(ending.counters[1].damaged_data_packets > 0);
}

#[test]
fn a_slow_client_is_waited_for_however_long() {
    let mut case = Case { idle: Duration::from_secs(100), ..Case::plain(3) };
    // Less than the clients' pauses: only KEEPALIVE holds the connection.
    case.limits[0].death_timer_s = 20;
    case.limits[1].death_timer_s = 12;
    let ending = run(case);
    assert_complete(&ending);
    assert!(ending.finished_at > Instant::ZERO + Duration::from_secs(100));
}

#[test]
fn when_the_link_is_cut_both_ends_know_by_their_death_timers() {
    let cut = Instant::ZERO + ms(70);
    let mut case = faulty(|faults| faults.cut_at = cut);
    case.limits[0].death_timer_s = 20;
    case.limits[1].death_timer_s = 12;
    let ending = run(case);
    assert_eq!(ending.outcomes, [Some(Ending::PeerDead), Some(Ending::PeerDead)]);
    let silent = ending.finished_at.since(cut);
    assert!((Duration::from_secs(20)..Duration::from_secs(21)).contains(&silent), "{silent}");
}

#[test]
fn without_any_answer_opening_gives_up() {
    let ending = run(faulty(|faults| faults.cut_at = Instant::ZERO));
    assert_eq!(ending.outcomes, [Some(Ending::NoAnswer), None]);
    // Six OPENs: after 1, 2, 4, 8, 8 and 8 seconds.
    assert_eq!(ending.finished_at, Instant::ZERO + Duration::from_secs(31));
}

#[test]
fn a_client_that_quits_or_aborts_tells_the_other() {
    for end in [0, 1] {
        for (at_once, reason) in [(false, "enough"), (true, "enough, at once")] {
            let at = Instant::ZERO + ms(90);
            let ending = run(Case { break_off: Some((end, at, at_once)), ..Case::plain(1) });
            let reason = reason.to_owned();
            let told = |by_peer| match at_once {
                true => Some(Ending::Aborted { by_peer, reason: reason.clone() }),
                false => Some(Ending::Quit { by_peer, reason: reason.clone() }),
            };
            assert_eq!(ending.outcomes[end], told(false));
            assert_eq!(ending.outcomes[1 - end], told(true));
        }
    }
}

#[test]
fn each_ok_can_change_the_rate_within_what_the_sender_can_do() {
    let offer = |size_packets, interval_ms| Burst { size_packets, interval_ms };
    // More than the sender's 4 in 5 ms is cut down to that; less is taken as it is.
    for (offered, expected) in [
        (offer(2, 10), offer(2, 10)),
        (offer(9, 1), offer(4, 5)),
        (offer(3, 1), offer(3, 5)),
        // 0 leaves a value as it is.
        (offer(0, 7), offer(4, 7)),
        (offer(3, 0), offer(3, 5)),
        (offer(0, 0), offer(4, 5)),
    ] {
        let ending = run(Case { offers: vec![offered], ..Case::plain(1) });
        assert_complete(&ending);
        assert_eq!(ending.burst_at_end, Some(expected), "{offered:?}");
    }
}

#[test]
fn a_rate_that_was_halved_doubles_the_time() {
    let halved = Burst { size_packets: 4, interval_ms: 10 };
    let ending = run(Case { offers: vec![halved], transfer_bytes: 400_000, ..Case::plain(1) });
    assert_complete(&ending);
    let counters = ending.counters[0];
    let first = counters.first_data_at.expect("sent");
    let took = counters.last_new_data_at.expect("sent").since(first);
    // 200 bursts; all but those of the first round trip and a bit at the new rate.
    assert!((ms(1900)..ms(2000)).contains(&took), "{took}");
}

#[test]
fn any_size_arrives_even_none() {
    for transfer_bytes in [0, 1, 499, 500, 501, 3999, 4000, 4001, 8000] {
        let ending = run(Case { transfer_bytes, ..Case::plain(1) });
        assert_complete(&ending);
    }
}

#[test]
fn a_path_longer_than_the_first_control_timer_is_measured() {
    // RFC 1030's satellite: 1.8 s there and back, 22 buffers.
    let mut case = faulty(|faults| faults.delay = ms(900));
    for limits in &mut case.limits {
        limits.max_outstanding_buffers = 22;
        limits.burst = Burst { size_packets: 5, interval_ms: 55 };
    }
    case.transfer_bytes = 400_000;
    let ending = run(case);
    assert_complete(&ending);
    assert_eq!(ending.counters[0].data_packets_resent, 0);
    // An acknowledgement waits for the next burst to carry it.
    let round_trip = ending.counters[1].round_trip;
    assert!((ms(1800)..=ms(1855)).contains(&round_trip), "{round_trip}");
}

#[test]
fn sequence_numbers_wrap_in_a_long_transfer() {
    let mut case = Case::plain(1);
    for limits in &mut case.limits {
        *limits = Limits {
            buffer_size_bytes: 2,
            data_packet_size_bytes: 2,
            burst: Burst { size_packets: 100, interval_ms: 1 },
            max_outstanding_buffers: 200,
            ..*limits
        };
    }
    case.faults.delay = ms(1);
    case.faults.loss_permille = 10;
    case.transfer_bytes = 80_000;
    // Two messages a buffer, 40,000 buffers: 80,000 numbers.
    assert_complete(&run(case));
}
