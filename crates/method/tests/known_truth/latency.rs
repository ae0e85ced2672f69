//! Latency: a known delay, by RFC 2544, by RFC 8219 and over all frames.

use super::bed::*;
use method::rfc2544::{LatencyResult, latency, throughput};
use method::{Finding, SuiteConfig};
use sim::{
    DeviceUnderTest, EveryNth, Fate, Impaired, QueueLimit, SimPort, SimTester, StoreAndForward,
};
use units::{Duration, FrameRate};

fn measure(
    config: &SuiteConfig,
    ports: [SimPort; 2],
    device: impl DeviceUnderTest,
) -> LatencyResult {
    let mut tester = SimTester::new(&ports, device);
    let work = |bench: &mut method::Bench<'_>, subject: &method::Subject<'_>| {
        let found = throughput(bench, subject)?;
        latency(bench, subject, &found)
    };
    run(config, &mut tester, work).0
}

fn device(delay_us: u64) -> StoreAndForward {
    StoreAndForward::with_capacity(FrameRate::from_fps(50_000), QueueLimit::Frames(1))
        .delay(Duration::from_us(delay_us))
}

/// 512 ns onto the line, 20 us of service, 100 us of delay, 512 ns off the line.
#[test]
fn a_known_delay_is_found_by_every_definition() {
    let mut config = config();
    config.latency.repetitions = 3;
    let result = measure(&config, [GIGABIT; 2], device(100));
    assert_eq!(result.not_measured, None);
    assert!(result.rate_is_throughput);
    let truth = Duration::from_ns(121_024);
    let at_most = truth + Duration::from_us(20);
    let tagged = result.rfc2544.unwrap();
    assert_eq!(tagged.repetitions, 3);
    assert!((truth..=at_most).contains(&tagged.mean), "{:?}", tagged.mean);
    let many = result.rfc8219.unwrap();
    assert!((truth..=at_most).contains(&many.typical));
    assert!(many.typical <= many.worst_case && many.worst_case <= at_most);
    let all = result.all_frames.unwrap();
    assert_eq!(all.min, truth, "one frame finds the server idle");
    // At half of the load every frame finds it idle.
    let half = result.half_load.unwrap();
    assert_eq!((half.min, half.max, half.p99), (truth, truth, truth));
    let frames = 0.5 * config.latency.stream_s * result.rate.unwrap().fps();
    assert!((half.count as f64 - frames).abs() <= 1.0, "{} of {frames}", half.count);
    let frames = 3.0 * config.latency.stream_s * result.rate.unwrap().fps();
    assert!((all.count as f64 - frames).abs() <= 3.0, "every frame of three repetitions");
    assert_eq!(result.trials.len(), 3);
    assert!(result.trials.iter().all(|trial| trial.tags_received == config.latency.tags));
    let definition = result.definition;
    assert_eq!(definition.serialization_in, Some(Duration::from_ns(512)));
    // By RFC 1242 the lines are no part of it: service and delay alone.
    assert_eq!(definition.ns(all.min), 120_000.0);
}

/// A device that has a frame for 2.0 ms, from its last bit in to its first bit out, on lines on which
/// 1518 bytes take 12.144 ms: RFC 1242's latency of a store-and-forward device is 2.0 ms.
#[test]
fn the_headline_is_rfc_1242s_latency_and_the_other_forms_stand_beside_it() {
    let mut config = config();
    config.frame_sizes = vec![size(1518)];
    config.latency.repetitions = 2;
    let slow = SimPort::physical(units::LineRate::from_mbps(1));
    let device = StoreAndForward::with_capacity(FrameRate::from_fps(1_000), QueueLimit::Frames(9))
        .delay(Duration::from_ms(1));
    let outcome = measure(&config, [slow; 2], device).outcome();
    let of = |name: &str| {
        let found = outcome.figures.iter().find(|figure| figure.name == name);
        found.unwrap_or_else(|| panic!("{name}: {:?}", outcome.figures)).value.unwrap()
    };
    for name in [
        "latency mean (RFC 2544, LIFO)",
        "latency typical (RFC 8219, LIFO)",
        "latency worst case (RFC 8219, LIFO)",
        "latency of every frame min, LIFO",
        "latency of every frame max, LIFO",
    ] {
        assert_eq!(of(name), 2_000_000.0, "{name}");
    }
    assert_eq!(of("latency mean (RFC 2544, FIFO)"), 14_144_000.0);
    assert_eq!(of("latency mean (RFC 2544, LILO)"), 14_144_000.0);
    assert_eq!(of("latency mean (RFC 2544, FILO)"), 26_288_000.0);
    let headline = outcome.figures[0].clone();
    assert_eq!(headline.known_as, Some(method::FigureName::Latency));
    assert_eq!(headline.value, Some(2_000_000.0), "what --accept and compare read");
}

#[test]
fn on_a_virtual_link_frames_take_no_time() {
    let result = measure(&config(), [VIRTUAL; 2], device(7));
    assert_eq!(result.all_frames.unwrap().min, Duration::from_us(27));
    assert_eq!(result.definition.serialization_in, None);
}

/// In at 1 Gb/s, out at 100 Mb/s: 512 ns and 5.12 us.
#[test]
fn each_line_has_its_own_time() {
    let slow = SimPort::physical(units::LineRate::from_mbps(100));
    let result = measure(&config(), [GIGABIT, slow], device(0));
    let definition = result.definition;
    assert_eq!(definition.serialization_in, Some(Duration::from_ns(512)));
    assert_eq!(definition.serialization_out, Some(Duration::from_ns(5_120)));
    assert_eq!(result.all_frames.unwrap().min, Duration::from_ns(20_000 + 512 + 5_120));
}

/// Every 97th frame is held back: it counts in the worst case of enough tags, not in the median.
#[test]
fn the_worst_case_sees_what_the_typical_does_not() {
    let mut config = config();
    config.latency.tags = 5_000;
    let slow = Fate::Delay(Duration::from_ms(1));
    let device = Impaired::new(device(0), EveryNth::new(97, slow));
    let result = measure(&config, [VIRTUAL; 2], device);
    let many = result.rfc8219.unwrap();
    assert!(many.typical < Duration::from_us(60), "{:?}", many.typical);
    assert!(many.worst_case >= Duration::from_ms(1), "{:?}", many.worst_case);
}

/// Without throughput there is a delay at a rate with loss, and it is labelled so.
#[test]
fn off_the_throughput_it_is_a_delay() {
    let mut config = config();
    config.throughput.loss_tolerances_percent = vec![1.0];
    config.search.lowest_load_percent = 1.0;
    let device = Impaired::new(device(5), EveryNth::new(500, Fate::Drop));
    let mut tester = SimTester::new(&[VIRTUAL; 2], device);
    let work = |bench: &mut method::Bench<'_>, subject: &method::Subject<'_>| {
        let found = throughput(bench, subject)?;
        assert!(matches!(found.throughput.finding, Finding::NothingPassed { .. }));
        latency(bench, subject, &found)
    };
    let (result, _) = run(&config, &mut tester, work);
    assert!(!result.rate_is_throughput);
    let notes = result.notes.join("\n");
    assert!(notes.contains("no load was without loss"), "{notes}");
    assert!(notes.contains("frames were lost while"), "{notes}");
}

/// The device loses a frame only in the long trials: what is measured there is no latency at the
/// throughput, however the rate was found.
#[test]
fn under_loss_it_is_a_delay() {
    let mut config = config();
    config.trial.duration_s = 0.1;
    config.search.trial_duration_s = 0.1;
    config.latency.repetitions = 2;
    let device = Impaired::new(device(5), EveryNth::new(20_000, Fate::Drop));
    let result = measure(&config, [VIRTUAL; 2], device);
    let lost: u64 = result.trials.iter().map(|trial| trial.lost_frames).sum();
    assert!(lost > 0, "the case that this is about");
    assert!(!result.rate_is_throughput);
    let named: Vec<_> = result.outcome().figures.into_iter().map(|figure| figure.name).collect();
    assert!(named.iter().all(|name| name.starts_with("delay")), "{named:?}");
}

/// One frame in 50,000 is lost, in one of the repetitions; that one is made again.
#[test]
fn a_repetition_that_loses_a_frame_is_made_again() {
    let mut config = config();
    config.trial.duration_s = 0.1;
    config.search.trial_duration_s = 0.1;
    config.latency.repetitions = 3;
    config.latency.stream_s = 0.2;
    config.latency.first_tag_s = 0.1;
    let device = Impaired::new(device(5), EveryNth::new(50_000, Fate::Drop));
    let result = measure(&config, [VIRTUAL; 2], device);
    assert!(result.rate_is_throughput, "{:?}", result.notes);
    assert_eq!(result.trials.len(), 3);
    assert!(result.trials.iter().all(|trial| trial.lost_frames == 0));
    assert!(result.notes.iter().any(|note| note.contains("made again")), "{:?}", result.notes);
}
