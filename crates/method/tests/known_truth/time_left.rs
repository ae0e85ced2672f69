//! What a run of the quick profile tells of the time that it will take and that is left, beside what it takes in virtual
//! time: devices that keep frames and save tokens take several times as long as others.

use super::bed::{VIRTUAL, suite};
use super::shapers::Shaper;
use method::{Event, Forwarding, Profile, SuiteConfig, TestKind};
use sim::{
    DeviceUnderTest, Fate, Impaired, Noise, Patch, Policer, QueueLimit, SimTester, StoreAndForward,
};
use units::{Duration, FrameRate, Instant};

/// Of the time that the run takes in all: by no more than such a factor too little or too much.
const AT_FIRST: f64 = 3.0;
const FROM_A_QUARTER_ON: f64 = 2.0;
/// From the first twentieth on, by which time trials have shown whether the device keeps frames.
const FROM_A_TWENTIETH_ON: f64 = 3.0;
/// From one trial to the next, from then on; but where tests are to be made once more, which nobody could foretell.
const JUMPS: f64 = 1.6;
/// As long as a twentieth of the run is left, so large a part of what is left is told at least.
const TOLD_OF_REST: f64 = 0.2;

/// What had passed when the run began, and when each trial did, and what was left by what the run told, in seconds.
struct Told {
    gone_s: f64,
    left_s: f64,
    /// Tests are made once more.
    repeats: bool,
}

/// The tester's ports joined back to back have a time of their own, which passes while that of the device stands still.
fn told(events: &[Event]) -> (Vec<Told>, f64) {
    let mut told = vec![];
    let (mut left, mut repeats) = (Duration::ZERO, false);
    let mut ends = [Instant::ZERO; 2];
    let gone_s = |ends: &[Instant; 2]| {
        let gone = ends.iter().map(|end| end.since(Instant::ZERO).as_secs_f64());
        gone.sum::<f64>()
    };
    for event in events {
        match event {
            Event::RunStarted(run) => {
                told.push(Told { gone_s: 0.0, left_s: run.estimate.as_secs_f64(), repeats });
            }
            Event::TestRepeated(_) => repeats = true,
            Event::TrialStarted(trial) => left = trial.remaining,
            Event::TrialFinished(trial) => {
                let began = trial.result.started_at;
                let tester = usize::from(trial.test == TestKind::SelfTest);
                ends[tester] = began;
                told.push(Told { gone_s: gone_s(&ends), left_s: left.as_secs_f64(), repeats });
                ends[tester] = began + trial.duration + trial.result.drained_after;
            }
            _ => {}
        }
    }
    (told, gone_s(&ends))
}

/// What a run told that is not within bounds, in words. Before a trial nobody knows whether a device keeps frames: the
/// first word is for one that does not.
fn wrong(what: &str, device: impl DeviceUnderTest, keeps_frames: bool) -> Vec<String> {
    let mut tester = SimTester::new(&[VIRTUAL; 2], device);
    let mut events: Vec<Event> = vec![];
    let config = SuiteConfig::of(Profile::Quick);
    let mut looped = SimTester::new(&[VIRTUAL; 2], Patch::default());
    let suite = suite(config, Forwarding::Bridged);
    suite.run(&mut tester, Some(&mut looped), &mut events).expect("a run");
    let (told, took_s) = told(&events);
    let mut wrong = vec![];
    let mut hold = |at: &Told, told: f64, factor: f64, of: &str| {
        if !(1.0 / factor..=factor).contains(&told) {
            let Told { gone_s, left_s, .. } = at;
            wrong.push(format!(
                "{what}: {left_s:.1} s left after {gone_s:.1} of {took_s:.1}: {told:.2} of {of}"
            ));
        }
    };
    let in_all = |at: &Told| at.gone_s + at.left_s;
    for (place, at) in told.iter().enumerate() {
        let share = at.gone_s / took_s;
        let of_all = in_all(at) / took_s;
        match share {
            0.25.. => hold(at, of_all, FROM_A_QUARTER_ON, "the run"),
            0.05.. => hold(at, of_all, FROM_A_TWENTIETH_ON, "the run"),
            _ if place == 0 && !keeps_frames => hold(at, of_all, AT_FIRST, "the run"),
            _ => {}
        }
        if (0.05..0.95).contains(&share) {
            let before = &told[place - 1];
            let of_rest = at.left_s / (took_s - at.gone_s);
            hold(at, of_rest.min(1.0), 1.0 / TOLD_OF_REST, "the rest");
            if before.repeats == at.repeats && before.gone_s >= 0.05 * took_s {
                hold(at, in_all(at) / in_all(before), JUMPS, "what was told before");
            }
        }
    }
    wrong
}

fn forwarder(fps: u64, frames: u64) -> StoreAndForward {
    StoreAndForward::with_capacity(FrameRate::from_fps(fps), QueueLimit::Frames(frames))
}

#[test]
fn a_run_tells_the_time_that_is_left() {
    let policer = Impaired::new(Patch::default(), Policer::new(10_000.0, 2_000));
    let noise = Noise::new(1e-5, Fate::Drop, 7);
    let wrong = [
        wrong("a cable", Patch::default(), false),
        wrong("fast", forwarder(100_000, 100), false),
        wrong("some frames kept", forwarder(20_000, 1_000), false),
        wrong("slow", forwarder(5_000, 100), false),
        wrong("slow with a second's queue", forwarder(1_000, 1_000), true),
        wrong("two seconds' queue", forwarder(2_000, 4_000), true),
        wrong("policer", policer, false),
        wrong("shaper", Shaper::new(16_667.0, 8_333, 8_335), true),
        wrong("slow shaper", Shaper::new(2_000.0, 1_000, 1_000), true),
        wrong("noisy", Impaired::new(forwarder(50_000, 100), noise), false),
    ]
    .concat();
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}
