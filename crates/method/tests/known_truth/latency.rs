//! Latency: a known delay, by RFC 2544, by RFC 8219 and over all frames.

use crate::bed::*;
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
    let frames = 3.0 * config.latency.stream_s * result.rate.unwrap().fps();
    assert!((all.count as f64 - frames).abs() <= 3.0, "every frame of three repetitions");
    assert_eq!(result.trials.len(), 3);
    assert!(result.trials.iter().all(|trial| trial.tags_received == config.latency.tags));
    let definition = result.definition;
    assert_eq!(definition.serialization_in, Some(Duration::from_ns(512)));
    assert!(definition.meaning.contains("LIFO"), "{}", definition.meaning);
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
