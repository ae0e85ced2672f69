//! Transfers that send as L4S (RFC 9331) over queues that mark in its way, in another, or not at all.

use super::study::{Contender, Road};
use super::*;
use ::netblt::RateControl;
use units::Duration;

const MBPS: u64 = 1_000_000;
const RUN: Duration = Duration::from_secs(30);
const FROM: Duration = Duration::from_secs(10);

fn ms(count: u64) -> Duration {
    Duration::from_ms(count)
}

/// A path with a queue of a round trip, and a transfer over it by this rule.
fn road(rate_bps: u64, round_trip_ms: u64) -> Road {
    Road::new(rate_bps, round_trip_ms, Loss::None)
}

fn flow(road: &Road, rule: RateControl, start: Duration) -> Flow {
    let model = road.transfer(Contender::Competitive);
    Flow::Netblt(TransferModel { control: Some(rule), ..model }, start)
}

/// In bins of a millisecond, so that the longest waits of these say how long a packet waits at nearly any time.
fn go(path: &Path, flows: &[Flow], seed: u64) -> Run {
    run(path, flows, RUN, ms(1), seed)
}

/// Of the longest waits in each millisecond the one that 99 of 100 are below.
fn wait_99(run: &Run) -> Duration {
    let from = (FROM.as_us() / 1000) as usize;
    let mut waits: Vec<_> = run.meters.link[from..].iter().map(|bin| bin.most_wait).collect();
    waits.sort();
    waits[waits.len() * 99 / 100]
}

fn share(road: &Road, run: &Run, flow: usize) -> f64 {
    let pps = run.meters.packets(flow, FROM, RUN) as f64 / (RUN.as_secs_f64() - FROM.as_secs_f64());
    pps / road.packets_per_s(road.rate_bps)
}

/// Jain's index of two.
fn jain(shares: [f64; 2]) -> f64 {
    let [a, b] = shares;
    (a + b).powi(2) / (2.0 * (a * a + b * b))
}

fn drops(run: &Run) -> u64 {
    run.meters.drops(FROM, RUN).1
}

/// A step at 1 ms is the middle of what RFC 9332 appendix A.1 has.
#[test]
fn a_queue_that_marks_from_1_ms_on_stays_short_and_the_path_full() {
    for (rate_bps, round_trip_ms) in [(50, 10), (100, 20), (100, 80), (500, 20)] {
        let road = road(rate_bps * MBPS, round_trip_ms);
        let mut path = road.path();
        path.forward.mark_l4s_after = Some(ms(1));
        let at = |rule| go(&path, &[flow(&road, rule, ms(0))], 1);
        let (l4s, classic) = (at(RateControl::L4s), at(RateControl::Competitive));
        let what = format!("{rate_bps} Mb/s, {round_trip_ms} ms");
        let (wait, got) = (wait_99(&l4s), share(&road, &l4s, 0));
        println!("{what}: {got:.3}, 99 % below {wait:?}, classic {:?}", wait_99(&classic));
        assert!(wait < ms(2) && got > 0.9, "{what}: {wait:?} {got}");
        assert_eq!(drops(&l4s), 0, "{what}");
        assert!(wait_99(&classic) > ms(8), "{what}: the comparison is empty");
    }
}

/// Without a mark everything is as it is without L4S, packet by packet: losses by chance and by a full queue, too.
#[test]
fn over_a_path_that_does_not_mark_nothing_changes() {
    for loss in [Loss::None, Loss::Random(0.001)] {
        let road = Road::new(50 * MBPS, 20, loss);
        let at = |rule| go(&road.path(), &[flow(&road, rule, ms(0))], 1);
        let (l4s, competitive) = (at(RateControl::L4s), at(RateControl::Competitive));
        assert!(drops(&competitive) > 0 || loss != Loss::None, "the comparison is empty");
        assert_eq!(l4s, competitive, "{loss:?}");
    }
}

/// Transfers of which the second begins three seconds later, on hosts that take up to 20 us for a packet.
fn two(road: &Road, rules: [RateControl; 2], with: impl Fn(&mut Path), seed: u64) -> Run {
    let mut path = road.path();
    path.processing = Duration::from_us(20);
    with(&mut path);
    let [first, second] = rules;
    go(&path, &[flow(road, first, ms(0)), flow(road, second, ms(3000))], seed)
}

#[test]
fn two_of_l4s_share_a_path_evenly() {
    for (rate_bps, round_trip_ms) in [(50, 10), (100, 20), (500, 20)] {
        let road = road(rate_bps * MBPS, round_trip_ms);
        let run =
            two(&road, [RateControl::L4s; 2], |path| path.forward.mark_l4s_after = Some(ms(1)), 1);
        let shares = [0, 1].map(|at| share(&road, &run, at));
        let (jain, wait) = (jain(shares), wait_99(&run));
        println!("{rate_bps} Mb/s, {round_trip_ms} ms: {shares:.3?} {jain:.3} {wait:?}");
        assert!(jain > 0.95 && shares[0] + shares[1] > 0.9, "{rate_bps}: {shares:?}");
        assert!(wait < ms(2) && drops(&run) == 0, "{rate_bps}: {wait:?}");
    }
}

/// RFC 9331 section 4.3: below the usual round trips rates are as independent of them as can be. Two that grow by a packet
/// in each round trip share as 7 to 1 here.
#[test]
fn a_short_round_trip_takes_no_more_than_a_longer_one() {
    let road = road(50 * MBPS, 5);
    let unequal = |path: &mut Path| {
        path.forward.mark_l4s_after = Some(ms(1));
        path.detours = vec![ms(0), ms(15)];
    };
    let run = two(&road, [RateControl::L4s; 2], unequal, 1);
    let [short, long] = [0, 1].map(|at| share(&road, &run, at));
    println!("{short:.3} at 5 ms, {long:.3} at 20 ms");
    assert!((0.5..2.0).contains(&(short / long)), "{short} {long}");
}

/// RFC 9331 section 4.3: a queue that does not know L4S marks its packets late, as those of classic ECN. Who answered
/// these by their share would leave the neighbour 5 to 13 % of the path here.
#[test]
fn a_classic_queue_that_marks_l4s_too_is_shared_with_a_classic_neighbour() {
    for (rate_bps, round_trip_ms) in [(50, 10), (100, 20)] {
        for seed in 1..=3 {
            for neighbour in [0, 1] {
                let mut rules = [RateControl::L4s; 2];
                rules[neighbour] = RateControl::Competitive;
                let road = road(rate_bps * MBPS, round_trip_ms);
                let codel = |path: &mut Path| {
                    path.forward.marks_as_codel = true;
                    path.forward.queue_bytes *= 4;
                };
                let run = two(&road, rules, codel, seed);
                let got = [0, 1].map(|at| share(&road, &run, at));
                println!(
                    "{rate_bps} {round_trip_ms} {seed} {neighbour}: {got:.3?} {:?}",
                    wait_99(&run)
                );
                // Of an equal share 70 %; two classic ones have 91 % and more here.
                assert!(got[neighbour] > 0.35, "{rate_bps} seed {seed}, {neighbour}: {got:?}");
                assert_eq!(drops(&run), 0);
            }
        }
    }
}
