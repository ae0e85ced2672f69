//! What a run states for several goals must agree: a device carries no less where some loss is allowed, and
//! no rate stands that trials for another goal have contradicted.

use super::device::{Device, devices};
use crate::known_truth::bed;
use method::rfc2544::{ThroughputResult, throughput};
use method::{Event, Finding, Profile, SuiteConfig};
use sim::ClosedForm;
use trial::Role;
use units::Duration;

const SEEDS: u64 = 12;

fn search(device: &Device, seed: u64) -> (ThroughputResult, Vec<Event>) {
    let mut config = SuiteConfig::of(Profile::Quick);
    config.frame_sizes = vec![bed::size(64)];
    bed::run(&config, &mut ClosedForm::new(&[bed::VIRTUAL; 2], device.law(seed)), throughput)
}

/// Trials of full length that lost frames at this rate or below.
fn lossy_trials(events: &[Event], rate_fps: f64, full: Duration) -> usize {
    let finished = events.iter().filter_map(|event| match event {
        Event::TrialFinished(record) => Some(record),
        _ => None,
    });
    let lossy = finished.filter(|record| {
        let streams = record.result.streams.iter().filter(|stream| stream.role == Role::Test);
        let lost: u64 = streams.map(|stream| stream.lost).sum();
        lost > 0 && record.duration >= full && record.intended.fps() <= rate_fps
    });
    lossy.count()
}

#[test]
fn what_is_stated_for_several_goals_agrees() {
    let new = crate::new_seed::new_seed();
    for device in devices() {
        for seed in (0..SEEDS).chain([new]) {
            let (result, events) = search(&device, seed);
            let found = &result.throughput;
            let Some(strict) = found.rate else { continue };
            for tolerant in &result.with_tolerance {
                let rate = tolerant.rate.expect("what carries a load without loss carries it");
                assert!(rate >= strict, "{}, seed {seed}: {found:#?} {tolerant:#?}", device.name);
            }
            let lossy = lossy_trials(&events, strict.fps(), found.trial_duration);
            let told = found.failed_trials_at_rate as usize;
            assert!(
                found.confidence.is_some() || lossy <= told,
                "{}, seed {seed}: {lossy} trials lost frames, {found:#?}",
                device.name
            );
        }
    }
}

/// An interval that searches for two goals have made narrow together is a measurement.
#[test]
fn what_little_is_left_open_is_no_bracket() {
    for device in devices() {
        for seed in 0..3 * SEEDS {
            let found = search(&device, seed).0.throughput;
            let (Some(low), Some(high)) = (found.rate, found.upper) else { continue };
            let is_narrow = low.fps() > 0.96 * high.fps() && found.confidence.is_some();
            let is_open = matches!(found.finding, Finding::Between { .. });
            assert!(!is_narrow || !is_open, "{}, seed {seed}: {found:#?}", device.name);
        }
    }
}
