use super::link::{Fate, Link};
use super::*;
use crate::rfc1030::Dice;
use ::netblt::{Burst, RateControl};
use proptest::prelude::*;
use units::{Duration, Instant};

const MBPS: u64 = 1_000_000;

fn path(rate_bps: u64, round_trip_ms: u64, queue_bytes: u64) -> Path {
    let one_way = Duration::from_us(500 * round_trip_ms);
    let forward = LinkModel::plain(rate_bps, one_way, queue_bytes);
    let back = LinkModel { queue_bytes: 1 << 30, ..forward.clone() };
    let (processing, naps, detours) = (Duration::ZERO, None, Vec::new());
    Path { processing, naps, detours, back, forward, data_bytes: 1400 }
}

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Packets a second of the first flow between two times.
fn rate(run: &Run, from_s: u64, to_s: u64) -> f64 {
    run.meters.packets(0, s(from_s), s(to_s)) as f64 / (to_s - from_s) as f64
}

fn tcp(algorithm: Algorithm, path: &Path, seconds: u64) -> Run {
    run(path, &[Flow::Tcp(algorithm, Duration::ZERO)], s(seconds), Duration::from_ms(10), 1)
}

#[test]
fn a_packet_takes_its_time_over_a_rate_that_changes() {
    // 1000 bits at 1 kb/s are a second; after half of them the rate is a tenth, then tenfold.
    let mut model = LinkModel::plain(1000, Duration::from_ms(7), 1 << 20);
    let ms = Duration::from_ms;
    model.changes = vec![(ms(500), 100), (ms(1500), 10_000)];
    let mut link = Link::new(model);
    let mut dice = Dice::new(1);
    let at = |fate| match fate {
        Fate::Carried { at: Some(at), .. } => at.since(Instant::ZERO),
        other => panic!("{other:?}"),
    };
    // 500 bits in 500 ms, 100 in 1 s, 400 in 40 ms.
    assert_eq!(at(link.carry(Instant::ZERO, 125, &mut dice)), ms(1540 + 7));
    assert_eq!(at(link.carry(Instant::ZERO, 125, &mut dice)), ms(1640 + 7));
}

#[test]
fn what_the_queue_does_not_hold_is_dropped() {
    let mut link = Link::new(LinkModel::plain(MBPS, Duration::ZERO, 3000));
    let mut dice = Dice::new(1);
    let fates: Vec<Fate> = (0..5).map(|_| link.carry(Instant::ZERO, 1000, &mut dice)).collect();
    // One leaves, two wait.
    assert!(fates[..3].iter().all(|fate| matches!(fate, Fate::Carried { .. })), "{fates:?}");
    assert_eq!(fates[3..], [Fate::Dropped; 2]);
}

proptest! {
    #[test]
    fn losses_come_at_their_mean_rate(
        to_bad in 0.002f64..0.05, to_good in 0.1f64..0.9, loss_while_bad in 0.2f64..1.0, seed: u64,
    ) {
        let bursts = Bursts { to_bad, to_good, loss_while_bad };
        let mut chance = Chance::new(Loss::Bursts(bursts));
        let mut dice = Dice::new(seed);
        let count = 200_000;
        let lost = (0..count).filter(|_| chance.loses(&mut dice)).count() as f64 / f64::from(count);
        prop_assert!((lost / bursts.mean() - 1.0).abs() < 0.35, "{lost} {}", bursts.mean());
    }
}

/// Mathis, Semke, Mahdavi and Ott 1997: sqrt(3/2) / sqrt(p) packets in a round trip, where every
/// packet is acknowledged.
#[test]
fn reno_under_random_loss_is_as_fast_as_its_law_says() {
    for loss in [0.001f64, 0.005, 0.01] {
        let mut path = path(1000 * MBPS, 20, 1 << 30);
        path.forward.loss = Loss::Random(loss);
        let run = tcp(Algorithm::Reno, &path, 200);
        let law = (1.5 / loss).sqrt() / 0.020;
        let got = rate(&run, 10, 200);
        assert!((got / law - 1.0).abs() < 0.15, "{loss}: {got} for {law}");
    }
}

#[test]
fn with_a_queue_of_a_round_trip_every_tcp_fills_the_path() {
    let path = path(20 * MBPS, 40, 20_000_000 / 8 / 25);
    let full = 20e6 / 8.0 / 1452.0;
    for algorithm in [Algorithm::Reno, Algorithm::Cubic, Algorithm::Vegas] {
        let run = tcp(algorithm, &path, 60);
        let got = rate(&run, 10, 60);
        assert!(got > 0.97 * full && got <= full * 1.001, "{algorithm:?}: {got} of {full}");
        let wait_ms = run.meters.least_wait(s(40), s(41)).as_us() / 1000;
        match algorithm {
            Algorithm::Vegas => assert!(wait_ms < 4, "Vegas keeps few packets: {wait_ms} ms"),
            _ => assert!(run.meters.drops(s(10), s(60)).1 > 0, "{algorithm:?} fills the queue"),
        }
    }
}

#[test]
fn two_renos_share_a_path_evenly() {
    let path = path(20 * MBPS, 20, 50_000);
    let flows = [Flow::Tcp(Algorithm::Reno, s(0)), Flow::Tcp(Algorithm::Reno, s(5))];
    let run = run(&path, &flows, s(120), Duration::from_ms(10), 3);
    let [a, b] = [0, 1].map(|flow| run.meters.packets(flow, s(40), s(120)) as f64);
    assert!(a.min(b) / a.max(b) > 0.8, "{a} {b}");
}

fn fixed(burst: Burst) -> Flow {
    let model =
        TransferModel { burst, control: None, buffer_packets: 10, outstanding_buffers: 100 };
    Flow::Netblt(model, Duration::ZERO)
}

#[test]
fn netblt_at_a_fixed_rate_gets_what_it_sends_below_the_rate_of_the_path_and_drops_above() {
    let path = path(20 * MBPS, 40, 50_000);
    let full = 20e6 / 8.0 / 1452.0;
    // 15 packets in 10 ms are 87 % of it, 20 are 116 %.
    let below = run(&path, &[fixed(Burst { size_packets: 15, interval_ms: 10 })], s(20), s(1), 1);
    assert_eq!(below.meters.drops(s(0), s(20)).1, 0);
    assert!((rate(&below, 2, 20) / 1500.0 - 1.0).abs() < 0.01);
    let above = run(&path, &[fixed(Burst { size_packets: 20, interval_ms: 10 })], s(20), s(1), 1);
    let (came, dropped) = above.meters.drops(s(2), s(20));
    assert!(dropped as f64 > 0.1 * came as f64, "{dropped} of {came}");
    // What waited in the queue at the beginning comes on top.
    assert!(rate(&above, 2, 20) <= full + 35.0 / 18.0, "{}", rate(&above, 2, 20));
}

#[test]
fn netblt_delivers_over_a_path_that_loses_overtakes_and_changes_its_rate() {
    let mut path = path(20 * MBPS, 40, 50_000);
    path.forward.loss = Loss::Bursts(Bursts { to_bad: 0.01, to_good: 0.3, loss_while_bad: 0.5 });
    path.forward.overtaking = Some(Overtaking { share: 0.01, late: Duration::from_ms(5) });
    path.forward.changes = vec![(s(5), 10 * MBPS), (s(10), 20 * MBPS)];
    let run = run(&path, &[fixed(Burst { size_packets: 15, interval_ms: 10 })], s(20), s(1), 1);
    let lost = path.forward.loss.mean();
    assert!((rate(&run, 1, 5) / 1500.0 - 1.0).abs() < 2.0 * lost, "{}", rate(&run, 1, 5));
    assert!(rate(&run, 6, 10) <= 10e6 / 8.0 / 1452.0 * 1.001);
    assert!(run.counters[0][0].data_packets_resent > 0);
}

/// What is lost again when it is sent again is asked for again, however much else arrives: buffers that
/// wait for it would in time be all that may be outstanding.
#[test]
fn netblt_does_not_run_out_of_buffers_on_a_path_that_loses() {
    let mut path = path(20 * MBPS, 50, 200_000);
    path.forward.loss = Loss::Random(0.05);
    path.back.loss = Loss::Random(0.05);
    let burst = Burst { size_packets: 16, interval_ms: 10 };
    let model = TransferModel { burst, control: None, buffer_packets: 8, outstanding_buffers: 80 };
    let run = run(&path, &[Flow::Netblt(model, Duration::ZERO)], s(60), s(1), 1);
    let got = rate(&run, 40, 60) / (0.95 * 1600.0);
    assert!(got > 0.98, "{got}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let mut path = path(20 * MBPS, 40, 50_000);
    path.forward.loss = Loss::Random(0.02);
    let flows =
        [fixed(Burst { size_packets: 15, interval_ms: 10 }), Flow::Tcp(Algorithm::Cubic, s(1))];
    let go = |seed| run(&path, &flows, s(5), Duration::from_ms(10), seed);
    assert_eq!(go(7), go(7));
    assert_ne!(go(7).meters, go(8).meters);
}

/// Paths drawn by seed: the control finds the rate of each and keeps its queue short.
#[test]
fn the_control_fills_paths_of_any_kind_and_keeps_their_queues_short() {
    let mut dice = Dice::new(998);
    for seed in 0..24 {
        let rate_bps = (2e6 * 100f64.powf(dice.unit())) as u64;
        let round_trip_ms = (5.0 * 20f64.powf(dice.unit())) as u64;
        let loss = if dice.unit() < 0.3 { Loss::None } else { Loss::Random(0.04 * dice.unit()) };
        let road = study::Road::new(rate_bps, round_trip_ms, loss);
        let got = study::alone(&road, study::Contender::Adaptive, seed);
        assert!(got.utilisation > 0.85 && got.utilisation < 1.02, "{road:?}: {got:?}");
        let bearable = road.burst() * 3 + Duration::from_ms(15);
        assert!(got.standing_queue < bearable, "{road:?}: {got:?}");
    }
}

/// Where packets take longer than the path, what is seen of it is a buffer's own queue.
#[test]
fn the_control_starts_at_once_on_slow_and_short_paths_and_keeps_their_queues_short() {
    for (rate_bps, round_trip_ms) in [(MBPS, 1), (2 * MBPS, 5), (5 * MBPS, 10), (10 * MBPS, 1)] {
        let road = study::Road::new(rate_bps, round_trip_ms, Loss::None);
        let got = study::alone(&road, study::Contender::Adaptive, 1);
        let in_time = got.start_up.is_some_and(|at| at < road.whole_round_trip() * 10);
        assert!(in_time && got.utilisation > 0.95, "{road:?}: {got:?}");
        assert!(got.standing_queue < road.burst() + Duration::from_ms(10), "{road:?}: {got:?}");
    }
}

/// A fifth of such buffers arrives whole at the first attempt. One transfer in eight takes longer to find the rate,
/// and has found half of it by then.
#[test]
fn the_control_finds_the_rate_of_a_path_that_loses_with_long_buffers() {
    let shares = (1..=8).map(|seed| {
        let mut path = path(50 * MBPS, 800, 600_000);
        path.forward.loss = Loss::Random(0.05);
        path.back.loss = Loss::Random(0.05);
        let burst = Burst { size_packets: u16::MAX, interval_ms: 1 };
        let model = TransferModel {
            burst,
            control: Some(RateControl::Scavenging),
            buffer_packets: 32,
            outstanding_buffers: 600,
        };
        let run = run(&path, &[Flow::Netblt(model, Duration::ZERO)], s(24), s(1), seed);
        rate(&run, 16, 24) * 8.0 * 1452.0 / 50e6 / 0.95
    });
    let mut shares: Vec<f64> = shares.collect();
    shares.sort_by(f64::total_cmp);
    assert!(shares[0] > 0.5 && shares[1] > 0.95, "{shares:?}");
}

/// What is lost is heard of late: who stepped back before does so once.
#[test]
fn a_rate_that_falls_on_a_long_path_is_followed_once() {
    let road = study::Road::new(30 * MBPS, 600, Loss::None);
    let change = study::change(&road, study::Contender::Adaptive, 1);
    assert!(change.down.is_some_and(|span| span < road.round_trip * 5), "{change:?}");
}

#[test]
fn the_control_follows_a_rate_that_falls_and_rises_within_ten_round_trips() {
    let road = study::Road::new(50 * MBPS, 60, Loss::None);
    let change = study::change(&road, study::Contender::Adaptive, 1);
    let within = |span: Option<Duration>| span.is_some_and(|span| span < road.round_trip * 10);
    assert!(within(change.down) && within(change.up), "{change:?}");
}

#[test]
fn transfers_under_control_share_a_path_evenly() {
    let road = study::Road::new(100 * MBPS, 20, Loss::None);
    for count in [2, 8, 16] {
        let sharing = study::share(&road, &vec![study::Contender::Adaptive; count], s(24), 1);
        assert!(sharing.jain() > 0.95 && sharing.utilisation > 0.95, "{count}: {sharing:?}");
        assert!(sharing.standing_queue < Duration::from_ms(11), "{count}: {sharing:?}");
    }
}

/// A crowd that comes within seconds: nobody is shut out.
#[test]
fn a_crowd_under_control_leaves_something_to_each() {
    let road = study::Road::new(100 * MBPS, 20, Loss::None);
    let sharing = study::share(&road, &[study::Contender::Adaptive; 64], s(24), 1);
    assert!(sharing.jain() > 0.75 && sharing.utilisation > 0.95, "{sharing:?}");
    assert!(sharing.shares.iter().all(|share| *share > 0.05), "{sharing:?}");
}

/// Who goes by delay gives way to those who fill queues.
#[test]
fn tcp_beside_transfers_under_control_keeps_its_share() {
    let road = study::Road::new(100 * MBPS, 20, Loss::None);
    for algorithm in [Algorithm::Reno, Algorithm::Cubic] {
        let both = [study::Contender::Adaptive, study::Contender::Tcp(algorithm)];
        let sharing = study::share(&road, &both, s(12), 1);
        assert!(sharing.mean_share(1..2) > 0.3, "{algorithm:?}: {sharing:?}");
    }
}

/// A queue that marks is kept short without a loss; the same queue without marks is filled until it drops.
#[test]
fn a_sender_that_competes_heeds_marks() {
    const MARK_ABOVE_BYTES: u64 = 150_000;
    for seed in 1..=10 {
        let at = |mark_above_bytes| {
            let mut path = path(100 * MBPS, 20, 1_000_000);
            path.forward.mark_above_bytes = mark_above_bytes;
            let burst = Burst { size_packets: u16::MAX, interval_ms: 1 };
            let model = TransferModel {
                burst,
                control: Some(RateControl::Competitive),
                buffer_packets: 8,
                outstanding_buffers: 600,
            };
            let flow = Flow::Netblt(model, Duration::ZERO);
            run(&path, &[flow], s(20), Duration::from_ms(10), seed)
        };
        let (marked, dropped) = (at(Some(MARK_ABOVE_BYTES)), at(None));
        let drops = |run: &Run| run.meters.drops(s(5), s(20)).1;
        assert_eq!(drops(&marked), 0, "seed {seed}");
        assert!(drops(&dropped) > 0, "seed {seed}: the comparison is empty");
        // The sender knows what came with a mark, but for what is under way.
        let [sender, receiver] = marked.counters[0].map(|end| end.marked_data_packets);
        assert!(sender > 0 && sender <= receiver && receiver - sender < 200, "{sender} {receiver}");
        // 150 KB are 12 ms. What leaves in the round trip until the sender hears of it comes on top.
        let wait = marked.meters.most_wait(s(5), s(20));
        assert!(wait < Duration::from_ms(30), "seed {seed}: {wait:?}");
        assert!(dropped.meters.most_wait(s(5), s(20)) > Duration::from_ms(75), "seed {seed}");
        let full = 100e6 / 8.0 / 1452.0;
        let got = rate(&marked, 5, 20) / full;
        assert!(got > 0.95, "seed {seed}: {got}");
    }
}

/// Marks of a path that marks everything say nothing, and the sender asks for no more of them.
#[test]
fn a_path_that_marks_everything_is_used_all_the_same() {
    let road = study::Road::new(20 * MBPS, 20, Loss::None);
    let mut path = road.path();
    path.forward.mark_above_bytes = Some(0);
    let model = road.transfer(study::Contender::Competitive);
    let run = run(&path, &[Flow::Netblt(model, Duration::ZERO)], s(30), Duration::from_ms(10), 1);
    let got = rate(&run, 10, 30) / (20e6 / 8.0 / 1452.0);
    let marked = run.counters[0][1].marked_data_packets;
    assert!(got > 0.9 && (100..300).contains(&marked), "{got}, {marked} marked");
}

/// What comes all at once came no faster than it was sent, and where all that is sent again takes a
/// while no path has fallen silent.
#[test]
fn a_path_that_stalls_neither_floods_nor_starves_a_transfer_under_control() {
    let ms = Duration::from_ms;
    for loss in [Loss::None, Loss::Random(0.01)] {
        for [forth, back] in [[45, 0], [0, 45]] {
            let mut path = path(100 * MBPS, 50, 600_000);
            (path.forward.loss, path.back.loss) = (loss, loss);
            path.forward.stalls = Some(Stalls { every: ms(700), length: ms(forth) });
            path.back.stalls = Some(Stalls { every: ms(1100), length: ms(back) });
            let model = study::Road::new(100 * MBPS, 50, loss).transfer(study::Contender::Adaptive);
            let run = run(&path, &[Flow::Netblt(model, Duration::ZERO)], s(8), ms(10), 1);
            let got = rate(&run, 2, 8) * 8.0 * 1452.0 / 100e6;
            let (came, dropped) = run.meters.drops(Duration::ZERO, s(8));
            let dropped = dropped as f64 / came as f64;
            assert!(got > 0.9 && dropped < 0.005, "{forth} {back}: {got}, {dropped} dropped");
        }
    }
}

/// An offer bounds the control, and a receiver that adapts nothing serves it.
#[test]
fn the_control_never_exceeds_what_was_agreed_on() {
    let path = path(100 * MBPS, 20, 500_000);
    let burst = Burst { size_packets: 3, interval_ms: 2 };
    let model = TransferModel {
        burst,
        control: Some(RateControl::Scavenging),
        buffer_packets: 8,
        outstanding_buffers: 99,
    };
    let run = run(&path, &[Flow::Netblt(model, Duration::ZERO)], s(10), Duration::from_ms(10), 1);
    let got = rate(&run, 4, 10);
    assert!((1400.0..=1501.0).contains(&got), "{got}");
}

/// Of these chances one has an OK of the first train lost at first, so that it comes a round trip late: the path was
/// once taken for one of 30 packets a second, and the transfer never got over it. With the other no more
/// than one buffer of the train arrives whole.
#[test]
fn a_start_that_loses_much_of_its_train_finds_the_rate_all_the_same() {
    for seed in [3, 6, 12] {
        let road = study::Road::new(100 * MBPS, 600, Loss::Random(0.05));
        let alone = study::alone(&road, study::Contender::Adaptive, seed);
        assert!(alone.utilisation > 0.95, "seed {seed}: {alone:?}");
        assert!(
            alone.start_up.is_some_and(|at| at < Duration::from_secs(6)),
            "seed {seed}: {alone:?}"
        );
    }
}

/// Alone BBR fills a path and leaves its queue nearly empty; what it knows of the path is right, or it would do
/// one or the other.
#[test]
fn bbr_alone_fills_a_path_and_lets_its_queue_run_empty() {
    for (rate_bps, round_trip_ms) in [(20 * MBPS, 40), (100 * MBPS, 20)] {
        let queue_bytes = rate_bps / 8 * round_trip_ms / 1000;
        let path = path(rate_bps, round_trip_ms, queue_bytes);
        let full = rate_bps as f64 / 8.0 / 1452.0;
        let run = tcp(Algorithm::Bbr, &path, 40);
        let got = rate(&run, 5, 40);
        // Two hundred milliseconds in ten seconds are for the round trip.
        assert!(got > 0.94 * full && got <= full * 1.001, "{got} of {full}");
        let waits = (20..38).map(|at| run.meters.least_wait(s(at), s(at + 1)).as_us());
        assert!(waits.max() < Some(3000), "an empty queue in each second");
    }
}

/// BBR takes one loss in a hundred for no congestion: Reno and CUBIC are at a small share of the path then.
#[test]
fn bbr_takes_little_notice_of_random_loss() {
    let mut path = path(20 * MBPS, 40, 100_000);
    path.forward.loss = Loss::Random(0.01);
    let full = 20e6 / 8.0 / 1452.0 * 0.99;
    let got = |algorithm| rate(&tcp(algorithm, &path, 40), 10, 40) / full;
    let (bbr, reno) = (got(Algorithm::Bbr), got(Algorithm::Reno));
    assert!(bbr > 0.85 && reno < 0.4, "BBR {bbr}, Reno {reno}");
}

/// Each beside as many of another kind.
fn beside(ours: usize, theirs: usize, algorithm: Algorithm) -> neighbourhood::Neighbourhood {
    let road = study::Road::new(100 * MBPS, 20, Loss::None);
    neighbourhood::Neighbourhood::new(road, ours, theirs, algorithm)
}

#[test]
fn a_transfer_that_competes_takes_what_a_tcp_would() {
    for algorithm in [Algorithm::Cubic, Algorithm::Reno] {
        for (ours, theirs) in [(1, 1), (1, 16)] {
            let place = beside(ours, theirs, algorithm);
            let share = place.share_of_fair(study::Contender::Competitive, 1);
            assert!((0.5..1.5).contains(&share), "{ours}:{theirs} {algorithm:?}: {share}");
        }
    }
}

#[test]
fn transfers_that_compete_share_a_path_evenly_and_fill_it() {
    for count in [2, 16] {
        let sharing = beside(count, 0, Algorithm::Cubic).shares(study::Contender::Competitive, 2);
        assert!(sharing.jain() > 0.95 && sharing.utilisation > 0.95, "{count}: {sharing:?}");
    }
}

/// A detour is a longer round trip, of that flow alone.
#[test]
fn a_detour_slows_down_the_flow_that_takes_it() {
    let mut path = path(1000 * MBPS, 20, 1 << 30);
    path.forward.loss = Loss::Random(0.01);
    path.detours = vec![Duration::ZERO, Duration::from_ms(60)];
    let flows = [Flow::Tcp(Algorithm::Reno, s(0)), Flow::Tcp(Algorithm::Reno, s(0))];
    let run = run(&path, &flows, s(120), s(1), 1);
    let [near, far] = [0, 1].map(|flow| run.meters.packets(flow, s(10), s(120)) as f64);
    // Mathis et al.: in proportion to the inverse of the round trip.
    assert!((near / far / 4.0 - 1.0).abs() < 0.15, "{near} {far}");
}

/// A transfer that competes and hears nothing more stops, and goes on when the path does.
#[test]
fn a_path_that_falls_silent_is_not_flooded_and_is_filled_again() {
    let ms = Duration::from_ms;
    let mut path = path(50 * MBPS, 20, 125_000);
    path.forward.stalls = Some(Stalls { every: s(8), length: s(3) });
    let model = study::Road::new(50 * MBPS, 20, Loss::None).transfer(study::Contender::Competitive);
    let run = run(&path, &[Flow::Netblt(model, Duration::ZERO)], s(16), ms(10), 1);
    let full = 50e6 / 8.0 / 1452.0;
    // The second stall is from 8 s to 11 s; what waits comes at its end.
    let [before, after] = [rate(&run, 6, 8) / full, rate(&run, 13, 16) / full];
    assert!(before > 0.9 && after > 0.9, "{before} before, {after} after");
    let (came, _) = run.meters.drops(ms(8500), ms(10_900));
    // A window is 172 packets and up to twice that with the queue.
    assert!(came < 600, "{came} packets sent into silence");
}
