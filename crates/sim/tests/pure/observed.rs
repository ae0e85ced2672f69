//! A trial that is looked at while it runs in virtual time, and ended before its time.

use sim::{DeviceUnderTest, EveryNth, Fate, Impaired, Patch, SimPort, SimTester};
use trial::{
    Expectation, Observer, PortId, PortLoad, Role, Sample, Schedule, Stream, StreamFrame, StreamId,
    Tester, Trial, TrialResult, ValidityLimits, Waits,
};
use units::{Duration, FrameRate, LineRate};
use wire::signature::{Form, Key};

const SECOND: Duration = Duration::from_secs(1);

/// 1,000 frames a second for so long.
fn trial(duration: Duration) -> Trial {
    let stream = Stream {
        id: StreamId(1),
        name: "forward".into(),
        role: Role::Test,
        from: PortId(0),
        expect: Expectation::Ports(vec![PortId(1)]),
        frames: vec![StreamFrame { bytes: vec![0x5a; 60], form: Some(Form::Full) }],
        fingerprint: None,
        given_up: vec![],
        bad_fcs: false,
        grows_by_bytes: 0,
    };
    Trial {
        label: "observed".into(),
        key: Key::from_seed(7),
        streams: vec![stream],
        loads: vec![PortLoad {
            port: PortId(0),
            schedule: Schedule::constant(FrameRate::from_fps(1_000), duration),
            order: vec![StreamId(1)],
            insertions: vec![],
        }],
        prelude: vec![],
        waits: Waits::until_silence(Duration::ZERO, SECOND * 10, Duration::ZERO),
        tagging: None,
        count_flows: false,
        verify_payload: false,
        action: None,
        captures: vec![],
        limits: ValidityLimits::default(),
    }
}

/// Takes a sample a second, and ends the trial after so many.
struct Looks {
    samples: Vec<Sample>,
    end_after: usize,
}

impl Observer for Looks {
    fn every(&self) -> Option<Duration> {
        Some(SECOND)
    }
    fn observe(&mut self, sample: &Sample) {
        self.samples.push(sample.clone());
    }
    fn ends(&mut self) -> bool {
        self.samples.len() >= self.end_after
    }
}

fn run(device: impl DeviceUnderTest, seconds: u64, end_after: usize) -> (Vec<Sample>, TrialResult) {
    let port = SimPort::physical(LineRate::from_gbps(1));
    let mut looks = Looks { samples: vec![], end_after };
    let trial = trial(SECOND * seconds);
    let result = SimTester::new(&[port; 2], device).run_observed(&trial, &mut looks).unwrap();
    (looks.samples, result)
}

#[test]
fn each_second_shows_what_left_and_arrived_in_it() {
    let lossy = Impaired::new(Patch::default(), EveryNth::new(100, Fate::Drop));
    let (samples, result) = run(lossy, 5, usize::MAX);
    let seen: Vec<_> = samples
        .iter()
        .map(|sample| {
            let received = &sample.received[0];
            (sample.elapsed, sample.sent_of(StreamId(1)), received.unique, sample.missing(None))
        })
        .collect();
    let expected: Vec<_> = (1..5)
        .map(|second| {
            // Whether the last frame of a hundred is overtaken yet cannot be told before the next.
            (SECOND * second, 1_000 * second, 990 * second, 10 * second - 1)
        })
        .collect();
    assert_eq!(seen, expected);
    assert_eq!((result.offered_frames(), result.lost_frames()), (5_000, 50));
    assert!(result.is_valid(), "{:?}", result.validity);
}

#[test]
fn a_trial_that_was_ended_is_that_of_the_frames_until_then() {
    let (samples, result) = run(Patch::default(), 3_600, 2);
    assert_eq!(samples.len(), 2);
    // A frame that is due at the very end has left.
    assert_eq!((result.offered_frames(), result.lost_frames()), (2_001, 0));
    assert_eq!(result.intended_frames(), 2_001);
    assert!(result.is_valid(), "{:?}", result.validity);
}
