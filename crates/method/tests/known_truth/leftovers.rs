//! A device that keeps frames for longer than the waits between trials: 1,000 frames a second, and
//! 300 that wait.

use super::bed::{VIRTUAL, config, run};
use method::rfc2544::frame_loss;
use method::{Event, TrialRecord, Verdict};
use sim::{QueueLimit, SimTester, StoreAndForward};
use trial::InvalidReason;
use units::FrameRate;

/// The trials of a frame loss test with this wait after each, each sent far above what the device
/// carries and drained for at most so long.
fn trials(settle_s: f64, drain_max_s: f64) -> Vec<TrialRecord> {
    let mut config = config();
    config.trial.drain_s = 0.1;
    config.trial.drain_max_s = drain_max_s;
    config.trial.settle_s = settle_s;
    config.trial.invalid_retries = 0;
    let capacity = FrameRate::from_fps(1_000);
    let device = StoreAndForward::with_capacity(capacity, QueueLimit::Frames(300));
    let mut tester = SimTester::new(&[VIRTUAL; 2], device);
    let (_, events) = run(&config, &mut tester, frame_loss);
    let records = events.into_iter().filter_map(|event| match event {
        Event::TrialFinished(record) => Some(*record),
        _ => None,
    });
    records.collect()
}

fn forwarded_and_corrupted(record: &TrialRecord) -> (u64, u64) {
    let received = &record.result.received[1];
    let of_streams: u64 = record.result.streams.iter().map(|stream| stream.corrupted).sum();
    (record.result.forwarded_frames(), received.corrupted + received.foreign + of_streams)
}

/// In 1 s 1,000 frames come out, and the 300 that wait then come out while it drains.
#[test]
fn what_is_gone_before_the_next_trial_harms_none() {
    let records = trials(0.0, 2.0);
    assert!(records.len() > 5);
    for record in records {
        assert!(record.result.is_valid(), "{}: {:?}", record.number, record.result.validity);
        let (forwarded, others) = forwarded_and_corrupted(&record);
        assert!((1_299..=1_301).contains(&forwarded), "{}: {forwarded}", record.number);
        assert_eq!(others, 0, "{}: frames of the trial before came before this one", record.number);
    }
}

/// Of the 300 frames that wait at the end 100 leave while it drains: the trial does not know what was
/// lost, says so, and the others have left before the next begins.
#[test]
fn what_is_still_there_is_not_lost_and_leaves_before_the_next_trial() {
    let records = trials(0.0, 0.1);
    assert!(records.len() > 5);
    for record in &records {
        assert_eq!(record.verdict, Verdict::Invalid, "frames are still in the device");
        let reasons = record.result.invalid_reasons();
        let is_cut = |reason: &InvalidReason| matches!(reason, InvalidReason::StillArriving { .. });
        assert!(reasons.iter().any(is_cut), "{reasons:?}");
    }
    // Each is waited for before the next begins.
    for record in &records {
        let reasons = record.result.invalid_reasons();
        let is_leftover =
            |reason: &InvalidReason| matches!(reason, InvalidReason::Leftovers { .. });
        assert!(!reasons.iter().any(is_leftover), "{}: {reasons:?}", record.number);
        assert_eq!(forwarded_and_corrupted(record).1, 0, "{}", record.number);
    }
}
