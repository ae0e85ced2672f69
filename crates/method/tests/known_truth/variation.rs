//! Delay variation of random devices: what is found contains what a list of every frame's delay says,
//! and lies where the device's description puts it.

use super::bed::{config, run};
use super::composed::tester;
use method::rfc2544::{ThroughputResult, throughput};
use method::rfc8219::{IpdvResult, PdvResult, ipdv, pdv};
use method::{Event, SuiteConfig, median, percentile};
use sim::{Composed, Description, EveryNth, Fate, Impaired, Protocol, SimPort, SimTester};
use traffic::modifier::sub_seed;
use units::text::Span;
use units::{Duration, LineRate};

const PORTS: [SimPort; 2] = [SimPort::nominal(LineRate::from_mbps(1)); 2];

/// A router whose delay varies by up to so much, evenly.
fn device(delay: Duration, varies_by: Duration, seed: u64) -> Description {
    Description {
        route: vec![Protocol::Ipv4],
        delay: Span(delay),
        delay_varies_by: Span(varies_by),
        seed,
        ..Description::default()
    }
}

/// 1,488 frames a second, so that no frame waits for the one before it as long as the delay varies by
/// less than 672 us.
fn short() -> SuiteConfig {
    let mut config = config();
    config.trial.duration_s = 0.2;
    config.search.trial_duration_s = 0.2;
    config.pdv.repetitions = 3;
    config.pdv.stream_s = 4.0;
    config.ipdv.repetitions = 3;
    config.ipdv.stream_s = 4.0;
    config.ipdv.median_frames = 100_000;
    config
}

fn measure<R>(
    config: &SuiteConfig,
    description: &Description,
    test: impl FnOnce(
        &mut method::Bench<'_>,
        &method::Subject<'_>,
        &ThroughputResult,
    ) -> Result<R, method::RunError>,
) -> (R, Vec<Event>) {
    let mut tester = tester(description, &PORTS);
    run(config, &mut tester, |bench, subject| {
        let found = throughput(bench, subject)?;
        test(bench, subject, &found)
    })
}

/// Every frame's delay in each repetition of a test, which tags them all.
fn delays(events: &[Event], test: method::TestKind) -> Vec<Vec<Duration>> {
    let of_event = |event: &Event| match event {
        Event::TrialFinished(record) if record.test == test => {
            let tagged = record.result.expected_accounts().flat_map(|r| &r.account.tagged);
            let mut tagged: Vec<_> = tagged.copied().collect();
            tagged.sort();
            Some(tagged.into_iter().map(|(_, delay)| delay).collect())
        }
        _ => None,
    };
    events.iter().filter_map(of_event).collect()
}

fn random(seed: u64) -> (Duration, Duration) {
    let draw = |what: u64, from: u64, to: u64| from + sub_seed(seed, what) % (to - from);
    (Duration::from_ns(draw(0, 0, 2_000_000)), Duration::from_ns(draw(1, 0, 600_000)))
}

/// The delay is spread evenly over the variation: of some 6,000 frames the 999th of a thousand lies
/// within 0.4 % of its end, and what is stated contains it.
#[test]
fn the_variation_of_a_description_is_found() {
    for seed in 0..12 {
        let (delay, varies_by) = random(seed);
        let work = |bench: &mut method::Bench<'_>, subject: &method::Subject<'_>, found: &_| {
            pdv(bench, subject, found)
        };
        let (result, _): (PdvResult, _) = measure(&short(), &device(delay, varies_by, seed), work);
        let context = format!("seed {seed}: {delay} varying by {varies_by}");
        let found = result.pdv.unwrap_or_else(|| panic!("{context}: {:?}", result.not_measured));
        assert_eq!(found.repetitions, 3, "{context}");
        let truth = varies_by.as_ps() as f64;
        let (low, high) = (found.median.low.as_ps() as f64, found.median.high.as_ps() as f64);
        assert!(low <= truth && high >= truth * 0.994, "{context}: {low} to {high}");
        // A bucket of the whole delay, and no more.
        let width = (delay + varies_by).as_ps() as f64 * trial::Histogram::RELATIVE_ERROR;
        assert!(high - low <= width, "{context}: {low} to {high}");
        assert!(result.trials.iter().all(|trial| trial.frames > 5_000), "{context}");
    }
}

/// The oracle knows each frame's delay one by one.
#[test]
fn both_variations_are_those_of_a_list_of_every_delay() {
    for seed in 20..26 {
        let (delay, varies_by) = random(seed);
        let work = |bench: &mut method::Bench<'_>, subject: &method::Subject<'_>, found: &_| {
            ipdv(bench, subject, found)
        };
        let (result, events): (IpdvResult, _) =
            measure(&short(), &device(delay, varies_by, seed), work);
        let lists = delays(&events, method::TestKind::Ipdv);
        let context = format!("seed {seed}: {delay} varying by {varies_by}");
        assert_eq!((lists.len(), result.repetitions), (3, 3), "{context}");
        let signed = |list: &[Duration]| -> Vec<i64> {
            list.windows(2).map(|pair| pair[1].as_ps() as i64 - pair[0].as_ps() as i64).collect()
        };
        let all = |pick: fn(Vec<i64>) -> i64| {
            let mut picked: Vec<i64> = lists.iter().map(|list| pick(signed(list))).collect();
            picked.sort();
            picked[1]
        };
        let found = result.ipdv.unwrap();
        assert_eq!(found.min_ps, all(|list| list.into_iter().min().unwrap()), "{context}");
        assert_eq!(found.max_ps, all(|list| list.into_iter().max().unwrap()), "{context}");
        assert!(found.max_ps <= varies_by.as_ps() as i64, "{context}");
        // Half of the differences are not above the median, and half are not below it.
        for (list, trial) in lists.iter().zip(&result.trials) {
            let list = signed(list);
            assert_eq!(trial.median_pairs, list.len() as u64, "{context}");
            assert_eq!(trial.pairs, trial.median_pairs, "{context}");
            let at = trial.ipdv.unwrap().median_ps;
            let half = list.len() / 2;
            assert!(list.iter().filter(|d| **d <= at).count() >= half, "{context}");
            assert!(list.iter().filter(|d| **d >= at).count() >= half, "{context}");
        }
        assert!(percentile(&lists[0], 99.9) >= median(&lists[0]), "{context}");
    }
}

/// No variation is stated as none; and a frame that has no room for a time has no result.
#[test]
fn a_steady_device_has_none_and_small_frames_cannot_tell() {
    let steady = device(Duration::from_us(100), Duration::ZERO, 1);
    let work = |bench: &mut method::Bench<'_>, subject: &method::Subject<'_>, found: &_| {
        Ok((pdv(bench, subject, found)?, ipdv(bench, subject, found)?))
    };
    let ((pdv, ipdv), _) = measure(&short(), &steady, work);
    let found = pdv.pdv.unwrap();
    assert_eq!((found.median.low, found.median.high), (Duration::ZERO, Duration::ZERO));
    let found = ipdv.ipdv.unwrap();
    assert_eq!((found.min_ps, found.median_ps, found.max_ps), (0, 0, 0));

    let mut config = short();
    config.traffic.protocol = method::Protocol::UdpIpv6;
    let device = Description { route: vec![Protocol::Ipv6], ..steady };
    let work = |bench: &mut method::Bench<'_>, subject: &method::Subject<'_>, found: &_| {
        method::rfc8219::pdv(bench, subject, found)
    };
    let (result, events) = measure(&config, &device, work);
    let why = result.not_measured.expect("64 bytes of IPv6 have no room for a time");
    assert!(why.contains("no transmit time"), "{why}");
    let is_of_it =
        |e: &&Event| matches!(e, Event::TrialFinished(r) if r.test == method::TestKind::Pdv);
    assert_eq!(events.iter().filter(is_of_it).count(), 0, "nothing was tried in vain");
}

/// Each frame that a device drops makes two differences undefined; and where every load loses frames,
/// the result is not at the throughput, and says so.
#[test]
fn lost_frames_are_told_and_have_no_delay() {
    let mut config = short();
    // More than one in a hundred, so that no rounding decides.
    config.throughput.loss_tolerances_percent = vec![1.5];
    config.search.lowest_load_percent = 50.0;
    let description = device(Duration::from_us(10), Duration::from_us(5), 3);
    let router = Composed::new(&description, &super::composed::addresses()).unwrap();
    let lossy = Impaired::new(router, EveryNth::new(100, Fate::Drop));
    let mut tester = SimTester::new(&PORTS, lossy);
    let (result, events) = run(&config, &mut tester, |bench, subject| {
        let found = throughput(bench, subject)?;
        ipdv(bench, subject, &found)
    });
    assert!(!result.rate_is_throughput);
    assert!(result.ipdv.is_some(), "{:?}", result.not_measured);
    let notes = result.notes.join("\n");
    assert!(notes.contains("frames were lost meanwhile"), "{notes}");
    let lists = delays(&events, method::TestKind::Ipdv);
    for (trial, list) in result.trials.iter().zip(lists) {
        assert!(trial.lost_frames > 50, "{trial:?}");
        // A frame that is lost at an end of the stream costs one difference only.
        let inner = list.len() as u64 - 1 - trial.lost_frames;
        assert!((inner..=inner + 2).contains(&trial.pairs), "{trial:?}, {} arrived", list.len());
    }
}
