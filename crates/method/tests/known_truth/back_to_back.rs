//! Back-to-back frames: the burst that a known queue takes, and the queue computed back from it.

use super::bed::*;
use method::rfc2544::{BackToBackResult, BurstOutcome, ThroughputResult, back_to_back, throughput};
use method::{Bench, Event, RunError, Subject, SuiteConfig};
use sim::{ClosedForm, Offered, Patch, QueueLimit, Response, SimPort, SimTester, StoreAndForward};
use units::{Duration, FrameRate, FrameSize, LineRate};

/// 100 Mb/s: 148,809.5 frames of 64 bytes a second.
const PORTS: [SimPort; 2] = [SimPort::physical(LineRate::from_mbps(100)); 2];

fn measure(config: &SuiteConfig, tester: &mut SimTester<StoreAndForward>) -> BackToBackResult {
    run(config, tester, both).0
}

fn both(bench: &mut Bench<'_>, subject: &Subject<'_>) -> Result<BackToBackResult, RunError> {
    let found: ThroughputResult = throughput(bench, subject)?;
    back_to_back(bench, subject, &found)
}

/// The longest burst that a queue of `queue` frames takes whole. Frame k comes at k times t; the
/// server has finished floor((k t) / s) of those before it, and one is in service.
fn longest_burst(interval: Duration, service: Duration, queue: u64) -> u64 {
    let is_lost = |k: u64| {
        let finished = (interval * k).as_ps() / service.as_ps();
        k - finished > queue
    };
    (1..).find(|k| is_lost(*k)).unwrap()
}

#[test]
fn the_burst_and_the_buffer_of_a_known_queue() {
    let queue = 500;
    let capacity = FrameRate::from_fps(100_000);
    let mut config = config();
    config.search.resolution_percent = 0.2;
    config.back_to_back.repetitions = 3;
    config.back_to_back.step_frames = 1;
    config.back_to_back.resolution_percent = 0.0;
    let device = StoreAndForward::with_capacity(capacity, QueueLimit::Frames(queue));
    let result = measure(&config, &mut SimTester::new(&PORTS, device));
    let interval = LineRate::from_mbps(100).max_frame_rate(FrameSize::MIN_ETHERNET).interval();
    let truth = longest_burst(interval, capacity.interval(), queue);
    assert_eq!(result.searches.len(), 3);
    for search in &result.searches {
        assert_eq!((search.frames, &search.outcome), (truth, &BurstOutcome::Measured));
    }
    let summary = result.summary.unwrap();
    assert_eq!((summary.frames.mean, summary.frames.standard_deviation), (truth as f64, 0.0));
    // The corrected buffer is the queue, as exactly as the throughput is known: 500 frames of
    // queue raise it by 500 a second at most, which is 0.5 %, and its resolution is 0.2 %.
    let buffer = summary.corrected_buffer_frames;
    assert!((buffer - queue as f64).abs() < 0.03 * queue as f64, "{buffer}");
    assert!(result.burst_rate_is_theoretical);
}

/// 2,000 frames of queue fill after 41 ms of bursts at 148,810 frames/s with 100,000 leaving.
#[test]
fn a_limit_that_is_too_low_is_raised() {
    let mut config = config();
    config.back_to_back.limit_s = 0.01;
    config.back_to_back.highest_limit_s = 1.0;
    (config.back_to_back.step_frames, config.back_to_back.resolution_percent) = (1, 0.0);
    let capacity = FrameRate::from_fps(100_000);
    let device = StoreAndForward::with_capacity(capacity, QueueLimit::Frames(2_000));
    let result = measure(&config, &mut SimTester::new(&PORTS, device));
    let interval = LineRate::from_mbps(100).max_frame_rate(FrameSize::MIN_ETHERNET).interval();
    let truth = longest_burst(interval, capacity.interval(), 2_000);
    assert_eq!(result.limit, Duration::from_ms(160), "10 ms, 40 ms, 160 ms");
    assert_eq!(result.searches.len(), config.back_to_back.repetitions as usize);
    for search in &result.searches {
        assert_eq!((search.frames, &search.outcome), (truth, &BurstOutcome::Measured));
    }
}

#[test]
fn a_limit_that_is_too_low_is_told() {
    let mut config = config();
    config.back_to_back.limit_s = 0.01;
    config.back_to_back.highest_limit_s = 0.01;
    let device =
        StoreAndForward::with_capacity(FrameRate::from_fps(100_000), QueueLimit::Frames(2_000));
    let result = measure(&config, &mut SimTester::new(&PORTS, device));
    assert_eq!(result.searches[0].outcome, BurstOutcome::AtLimit);
    // Told as a lower bound: whatever the limit allows, the truth is no less.
    assert_eq!(result.summary.unwrap().frames.mean, result.limit_frames as f64);
    assert!(result.notes.iter().any(|note| note.contains("higher limit")), "{:?}", result.notes);
}

#[test]
fn sizes_that_cannot_be_tested_are_refused_with_the_reason() {
    let refusal = |config: &SuiteConfig| {
        let mut tester = SimTester::new(&PORTS, Patch::default());
        let (result, _) = run(config, &mut tester, both);
        assert!(result.searches.is_empty());
        result.not_measured.unwrap()
    };
    let mut config = config();
    config.trial.duration_s = 0.05;
    config.search.trial_duration_s = 0.05;
    assert!(refusal(&config).contains("theoretical maximum"));
    config.frame_sizes = vec!["imix".parse().unwrap()];
    assert!(refusal(&config).contains("a mix of frame sizes"));
}

/// The reason says once that the tester was the limit.
#[test]
fn a_device_faster_than_the_tester_has_no_burst_to_find() {
    let limits = sim::Limits { max_rate: Some(FrameRate::from_fps(30_000)), ..Default::default() };
    let device = StoreAndForward::with_capacity(FrameRate::from_fps(80_000), QueueLimit::Frames(9));
    let result = measure(&config(), &mut SimTester::new(&PORTS, device).limits(limits));
    let reason = result.not_measured.unwrap();
    let limit = "is at the limit of the tester (nothing was lost at the highest load that the tester could offer)";
    assert!(reason.contains(limit), "{reason}");
}

/// The wait after a burst begins when the burst has been received (RFC 9004 section 6.2): a deep
/// queue that drains for longer than the wait costs no frame.
#[test]
fn a_deep_queue_is_waited_for() {
    let mut config = config();
    config.trial.duration_s = 5.0;
    config.search.trial_duration_s = 5.0;
    config.trial.drain_s = 1.0;
    config.back_to_back.wait_s = 0.05;
    config.back_to_back.limit_s = 0.5;
    let device =
        StoreAndForward::with_capacity(FrameRate::from_fps(10_000), QueueLimit::Frames(5_000));
    let result = measure(&config, &mut SimTester::new(&PORTS, device));
    let frames = result.summary.unwrap().frames.mean;
    // 5,000 x 148,810 / 138,810.
    assert!((5_100.0..=5_370.0).contains(&frames), "{frames}");
}

/// A tester that reaches less once the search has begun: what it could send before is no rate for bursts any
/// more, and the search begins anew with one that it can send.
#[test]
fn bursts_that_a_tester_no_longer_sends_as_fast_are_sent_slower() {
    const CAPACITY_FPS: f64 = 80_000.0;
    const SLOWER_FPS: f64 = 110_000.0;
    let queue = 400.0;
    let mut bursts = 0;
    let law = |offered: Offered| {
        let mut response = Response::default();
        let is_burst = offered.frames < 10_000 && offered.rate.fps() > CAPACITY_FPS * 1.1;
        let rate = offered.rate.fps().min(140_000.0);
        // Two bursts at the medium's rate and six slower ones find out what the tester can.
        bursts += u64::from(is_burst);
        let reached = if bursts > 8 { rate.min(SLOWER_FPS) } else { rate };
        if reached < offered.rate.fps() {
            response.reached = Some(FrameRate::from_fps_f64(reached));
        }
        let waiting = offered.frames as f64 * (1.0 - CAPACITY_FPS / reached);
        response.lost = (waiting - queue).max(0.0) as u64;
        response
    };
    let mut config = config();
    config.back_to_back.repetitions = 2;
    config.back_to_back.step_frames = 1;
    config.back_to_back.resolution_percent = 0.0;
    config.back_to_back.limit_s = 0.02;
    let mut tester = ClosedForm::new(&PORTS, law);
    let (result, events) = run(&config, &mut tester, both);
    assert_eq!(result.searches.len(), 2, "{:?}", result.notes);
    // queue / (1 - capacity / rate), at the rate that the result states.
    let rate = result.burst_rate.unwrap().fps();
    assert!((0.9 * SLOWER_FPS..=SLOWER_FPS).contains(&rate), "{rate}");
    let truth = queue / (1.0 - CAPACITY_FPS / rate);
    let mean = result.summary.unwrap().frames.mean;
    assert!((mean - truth).abs() < 0.01 * truth, "{mean}, not {truth}");
    assert!(result.notes.iter().any(|note| note.contains("no longer")), "{:?}", result.notes);
    let is_invalid = |event: &&Event| match event {
        Event::TrialFinished(record) => !record.result.is_valid(),
        _ => false,
    };
    let invalid = events.iter().filter(is_invalid).count();
    assert!(invalid <= 12, "{invalid} trials decided nothing");
}

/// A policer drops what it has no token for and keeps nothing: nobody waits until it would have put out the burst. It
/// is given the time to earn its tokens again: each burst of a search meets a full bucket.
#[test]
fn a_policer_is_not_waited_for_as_if_it_had_a_queue() {
    let (fps, tokens) = (1_000.0, 200);
    let mut config = SuiteConfig::of(method::Profile::Quick);
    config.frame_sizes = vec![super::bed::size(64)];
    config.back_to_back.repetitions = 3;
    let device = sim::Impaired::new(Patch::default(), sim::Policer::new(fps, tokens));
    let mut tester = SimTester::new(&PORTS, device);
    let (_, events) = run(&config, &mut tester, |bench, subject| {
        let found = throughput(bench, subject)?;
        let result = back_to_back(bench, subject, &found)?;
        // A token comes in the time of 148.8 frames.
        let frames = result.summary.as_ref().expect("measured").frames;
        assert!((185.0..=220.0).contains(&frames.min), "{frames:?}");
        assert!((185.0..=220.0).contains(&frames.max), "{frames:?}");
        Ok(())
    });
    let bursts = events.iter().filter_map(|event| match event {
        Event::TrialFinished(trial) if trial.test == method::TestKind::BackToBack => Some(trial),
        _ => None,
    });
    // A burst of 0.2 s at the line rate would take a device of 1,000 frames per second 30 s.
    let waited = bursts.map(|trial| trial.result.drained_after.as_secs_f64()).fold(0.0, f64::max);
    assert!(waited < 1.0, "{waited} s");
}

/// A shaper passes a burst from its bucket and keeps the rest in its queue: the longest burst fills both, and what comes
/// out meanwhile is at its rate (`tc qdisc tbf`).
#[test]
fn the_longest_burst_of_a_shaper_fills_its_bucket_and_its_queue() {
    for (fps, bucket_frames, queue_frames) in [
        (16_667.0, 8_333, 8_335),
        (16_667.0, 8_333, 100),
        (16_667.0, 100, 8_335),
        (16_667.0, 100, 1_000),
        (5_000.0, 500, 1_500),
        (5_000.0, 1_500, 500),
        (50_000.0, 2_000, 5_000),
    ] {
        let mut config = SuiteConfig::of(method::Profile::Quick);
        config.frame_sizes = vec![super::bed::size(64)];
        config.back_to_back.repetitions = 3;
        let device = super::shapers::Shaper::new(fps, bucket_frames, queue_frames);
        let mut tester = SimTester::new(&[super::bed::VIRTUAL; 2], device);
        let (result, _) = run(&config, &mut tester, both);
        // While it leaves at 148,810 frames a second, tokens come.
        let truth = f64::from(bucket_frames + queue_frames as u32) / (1.0 - fps / 148_809.5);
        let case = format!("{fps} {bucket_frames} {queue_frames}, truth {truth}: {result:?}");
        let frames = result.summary.as_ref().expect("measured").frames;
        // To the resolution of the search, 2 % of a burst that it began with, and a frame in the bucket.
        assert!(frames.min >= 0.97 * truth - 2.0, "{case}");
        assert!(frames.max <= truth + 2.0, "{case}");
    }
}

/// A bucket that carries the medium's rate for the length of every trial shows no limit: the reason says what is known.
#[test]
fn a_limit_that_no_trial_reached_is_told_by_the_length_of_trials() {
    let mut config = SuiteConfig::of(method::Profile::Quick);
    config.frame_sizes = vec![super::bed::size(512)];
    let device = super::shapers::Shaper::new(16_667.0, 8_333, 8_335);
    let mut tester = SimTester::new(&[super::bed::VIRTUAL; 2], device);
    let (result, _) = run(&config, &mut tester, both);
    let why = result.not_measured.expect("a reason");
    // 23,496 frames/s in 0.4 s are 2,732 more than the limit: no frame was lost, and none had to wait.
    assert!(why.contains("in trials of 400 ms"), "{why}");
}
