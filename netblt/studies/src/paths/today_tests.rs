//! What links of today do, against its truth, and that the control gets through.

use super::study::Contender;
use super::today::{Feature, Today};
use super::*;
use proptest::prelude::*;
use units::{Duration, Instant};

const BYTES: usize = 1250;
const MBPS: u64 = 1_000_000;

fn ms(count: u64) -> Duration {
    Duration::from_ms(count)
}

/// 10 Mb/s, so that a packet takes a millisecond, and 7 ms.
fn link(queue_bytes: u64) -> LinkModel {
    LinkModel::plain(10 * MBPS, ms(7), queue_bytes)
}

/// What becomes of a packet each so often for a time, by when it is sent.
fn fates(model: LinkModel, apart: Duration, length: Duration) -> Vec<(Instant, Fate)> {
    let (mut link, mut dice) = (Link::new(model), Dice::new(7));
    let times = (0..length.as_ps() / apart.as_ps()).map(|k| Instant::ZERO + apart * k);
    times.map(|now| (now, link.carry(now, BYTES, &mut dice))).collect()
}
fn arrivals(fates: &[(Instant, Fate)]) -> Vec<Instant> {
    let at = |(_, fate): &(Instant, Fate)| match fate {
        Fate::Carried { at, .. } => *at,
        Fate::Dropped => None,
    };
    fates.iter().filter_map(at).collect()
}

fn handovers(loses: bool) -> Handovers {
    Handovers { first: ms(3200), every: ms(15_000), outage: ms(50), detour: ms(20), loses }
}

/// Twice the rate is offered: what arrives is the rate less the outages, to a packet.
#[test]
fn a_link_with_handovers_carries_its_rate_less_the_outages() {
    for loses in [false, true] {
        let model = LinkModel { handovers: Some(handovers(loses)), ..link(20_000) };
        let arrived = arrivals(&fates(model, Duration::from_us(500), Duration::from_secs(60)));
        assert!(arrived.is_sorted(), "in order");
        // At 3.2, 18.2, 33.2 and 48.2 s; the queue of 16 packets is left over.
        let want = 60_000.0 - 4.0 * 50.0 + 16.0;
        assert!((arrived.len() as f64 - want).abs() <= 5.0, "{loses}: {}", arrived.len());
    }
}

/// Sparse packets: what is sent in an outage waits for its end or is lost, and after each handover the delay is
/// another one, which stays.
#[test]
fn a_handover_lets_nothing_pass_and_changes_the_delay() {
    for loses in [false, true] {
        let model = LinkModel { handovers: Some(handovers(loses)), ..link(1 << 30) };
        let mut delays: Vec<Vec<Duration>> = vec![Vec::new(); 5];
        for (sent, fate) in fates(model, ms(10), Duration::from_secs(60)) {
            let Fate::Carried { at, .. } = fate else { panic!("dropped at {sent:?}") };
            let since = sent.since(Instant::ZERO).as_us() / 1000;
            // A packet that is sent in the last millisecond before leaves in the outage.
            let (index, within) = match since.checked_sub(3200) {
                None => (0, u64::MAX),
                Some(since) => (1 + since / 15_000, since % 15_000),
            };
            match at {
                // Ten wait, the last ones behind the others.
                Some(_) if within < 70 && !loses => {}
                Some(at) => delays[index as usize].push(at.since(sent)),
                None => assert!(loses && within < 50, "{sent:?}"),
            }
            assert!(at.is_none() || !loses || within >= 50, "{sent:?} {at:?}");
        }
        let firsts: Vec<Duration> = delays.iter().map(|of| of[0]).collect();
        for (of, first) in delays.iter().zip(&firsts) {
            assert!(of.iter().all(|delay| delay == first), "{loses}: one delay between handovers");
            assert!(*first >= ms(8) && *first < ms(28), "{first:?}");
        }
        assert!(firsts.windows(2).all(|pair| pair[0] != pair[1]), "{firsts:?}");
    }
}

/// What waits for the end of an outage is not taken for a queue that is longer than it is.
#[test]
fn in_an_outage_the_queue_holds_what_it_always_holds() {
    let model = LinkModel { handovers: Some(handovers(false)), ..link(10 * BYTES as u64) };
    let fates = fates(model, ms(1), ms(3250));
    let in_outage = &fates[3200..];
    let dropped = in_outage.iter().filter(|(_, fate)| *fate == Fate::Dropped).count();
    assert_eq!((in_outage.len(), dropped), (50, 40));
    assert!(fates[..3200].iter().all(|(_, fate)| *fate != Fate::Dropped));
}

#[test]
fn a_policer_drops_before_the_queue() {
    let policer = Some(Policer { rate_bps: MBPS, bucket_bytes: 10 * BYTES as u64 });
    let fates = fates(LinkModel { policer, ..link(1 << 30) }, ms(1), Duration::from_secs(10));
    // Ten of the bucket, then one of ten; nothing waits.
    assert_eq!(arrivals(&fates).len(), 10 + 999);
    let waits = |fate: &Fate| matches!(fate, Fate::Carried { waited, .. } if *waited > ms(0));
    assert!(!fates.iter().any(|(_, fate)| waits(fate)));
}

proptest! {
    /// Whatever a link has: nothing is overtaken, nothing comes sooner than the delay, and nothing faster than the rate
    /// in the long run.
    #[test]
    fn no_link_is_faster_than_it_is_or_changes_the_order(
        turns in proptest::option::of((1u64..20, 0u64..20, 0.0f64..0.5, 0u64..20)),
        handovers in proptest::option::of((0u64..3000, 200u64..3000, 1u64..150, 0u64..40, any::<bool>())),
        policer in proptest::option::of((1u64..20, 3u64..100)),
        stalls in proptest::option::of((100u64..1000, 1u64..50)),
        apart_us in 200u64..5000,
    ) {
        let model = LinkModel {
            turns: turns.map(|(every, spread, failing, repeat)| Turns {
                every: ms(every), spread: ms(spread), failing, repeat: ms(repeat),
            }),
            handovers: handovers.map(|(first, every, outage, detour, loses)| Handovers {
                first: ms(first), every: ms(every), outage: ms(outage), detour: ms(detour), loses,
            }),
            policer: policer.map(|(rate, packets)| Policer {
                rate_bps: rate * MBPS, bucket_bytes: packets * BYTES as u64,
            }),
            stalls: stalls.map(|(every, length)| Stalls { every: ms(every), length: ms(length) }),
            ..link(50 * BYTES as u64)
        };
        let fates = fates(model, Duration::from_us(apart_us), Duration::from_secs(8));
        prop_assert!(arrivals(&fates).is_sorted());
        let mut carried = 0u64;
        for (sent, fate) in &fates {
            let Fate::Carried { waited, at, .. } = fate else { continue };
            carried += 1;
            prop_assert!(at.is_none_or(|at| at.since(*sent) >= ms(8) + *waited));
        }
        // A packet a millisecond, what the queue holds, and the one that is leaving.
        prop_assert!(carried <= 8000 + 51, "{carried}");
    }
}

/// A receiver that sleeps answers when it wakes: no answer is sent in a nap, and all data arrive.
#[test]
fn a_receiver_without_a_processor_takes_nothing_in_its_naps() {
    let busy = |today: &Today| matches!(today.feature, Feature::BusyReceiver(_));
    let today = Today::all().into_iter().find(busy).expect("there is one");
    let mut path = today.path(1);
    // Half a second asleep, then two awake, and so on.
    let half = ms(500);
    path.naps = Some(Naps { apart: Duration::from_secs(2), shortest: half, longest: half });
    let burst = ::netblt::Burst { size_packets: 10, interval_ms: 10 };
    let model =
        TransferModel { burst, control: None, buffer_packets: 10, outstanding_buffers: 1000 };
    let length = Duration::from_secs(40);
    let run = run(&path, &[Flow::Netblt(model, Duration::ZERO)], length, ms(10), 1);
    let bins = &run.meters.flows[0];
    let packets: u64 = bins.iter().map(|bin| bin.new_packets).sum();
    // 1,000 a second but for the first round trip; the last nap may not be over.
    assert!((39_400..=40_000).contains(&packets), "{packets}");
    let longest = bins.split(|bin| bin.new_packets > 0).map(<[_]>::len).max();
    assert!((48..=51).contains(&longest.unwrap_or(0)), "{longest:?} bins of 10 ms");
    assert_eq!(run.meters.drops(Duration::ZERO, length).1, 0);
}

/// The way that has a feature is the one that it is said of.
#[test]
fn what_is_usable_of_a_path_of_today_is_known() {
    for today in Today::all() {
        let path = today.path(1);
        let plain = today.road.path();
        let pps = today.road.packets_per_s(today.road.rate_bps);
        assert_eq!(path.data_bytes, plain.data_bytes, "{}", today.name);
        match today.feature {
            Feature::Policer(policer, _) => {
                assert_eq!(policer.rate_bps, today.road.rate_bps);
                assert!(path.forward.rate_bps > policer.rate_bps && path.back.policer.is_none());
            }
            Feature::AnswersLost(share) => {
                assert_eq!(path.forward, plain.forward);
                assert_eq!(path.back.loss, Loss::Random(share));
            }
            Feature::NarrowBack(rate_bps) => {
                assert_eq!((path.forward, path.back.rate_bps), (plain.forward, rate_bps));
            }
            Feature::Radio(turns) => assert_eq!(path.back.turns, Some(turns)),
            Feature::Handovers(_) => {
                assert_eq!(path.forward.handovers, path.back.handovers);
                assert_ne!(path.forward.handovers, today.path(2).forward.handovers);
                let share = today.usable_pps() / pps;
                assert!((share - (1.0 - 0.05 / 15.0)).abs() < 1e-9, "{share}");
                continue;
            }
            Feature::BusyReceiver(_) => assert_eq!(path.forward, plain.forward),
        }
        assert_eq!(today.usable_pps(), pps, "{}", today.name);
    }
}

/// In a third of a run, with one seed: who competes is stuck on no path, and who scavenges only where
/// docs/netblt-control.md says so of most seeds or many.
#[test]
fn no_transfer_is_stuck_on_a_path_of_today_but_where_that_is_known() {
    let length = Duration::from_secs(10);
    for today in Today::all() {
        for who in [Contender::Adaptive, Contender::Competitive] {
            if who == Contender::Competitive || today.name != "1 Mb/s back" {
                let used = today.alone_for(who, length, 1).utilisation;
                assert!(used > 0.5 && used < 1.05, "{} {}: {used}", today.name, who.name());
            }
        }
    }
}

/// Turns of a radio link, and a receiver that sleeps, delay packets as a queue of others would: who steps back from
/// those has a packet in a round trip for ever.
#[test]
fn who_gives_way_does_not_give_way_to_a_radio() {
    let length = Duration::from_secs(10);
    let held =
        |today: &Today| matches!(today.feature, Feature::Radio(_) | Feature::BusyReceiver(_));
    for today in Today::all().iter().filter(|today| held(today)) {
        let used = |seed| today.alone_for(Contender::Adaptive, length, seed).utilisation;
        let mut used: Vec<f64> = (1987..1994).map(used).collect();
        used.sort_by(f64::total_cmp);
        assert!(used[1] > 0.5 && used[3] > 0.75, "{}: {used:?}", today.name);
    }
}
