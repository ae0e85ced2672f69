//! A test method in one file, registered beside those of the product: how many frames a device has room for.
//! Bursts at the rate of the medium grow until one frame is lost; what a burst leaves in the device when its
//! last frame arrives is its buffer.
//!
//! The suite runs it as it runs its own: with events, repetition of invalid trials, configuration, tables and a
//! page. The method sees a [`Bench`] and nothing else, so that it runs on real ports as it does here.
//! `cargo run --example test_method`; with a folder, the run is saved there.

use method::outcome::{Cell, Figure, Outcome, Relation, Unit};
use method::registry::{Known, PairTest, Run, SuiteName, TestMethod};
use method::search::{self, Bisect, Range, Resolution, drive};
use method::{
    Bench, Forwarding, OwnTest, Profile, RunError, Subject, Suite, SuiteConfig, TestKind, Topology,
    Verdict, judge_loss,
};
use report::terminal::{self, Style};
use report::{Report, run_folder::RunFolder};
use serde::Deserialize;
use sim::{QueueLimit, SimPort, SimTester, StoreAndForward};
use std::{error::Error, path::Path};
use traffic::size::SizePattern;
use trial::{Schedule, Segment};
use units::{Duration, FrameSize, LineRate};

/// What events and reports call it.
const LONGEST_BURST: TestKind = TestKind::Own(OwnTest::new("longest burst"));

/// The entry of the registry.
static METHODS: [TestMethod; 1] = [TestMethod {
    id: "longest-burst",
    suite: SuiteName::Rfc2544,
    kind: LONGEST_BURST,
    document: "examples/test_method.rs",
    section: "",
    needs: &[],
    options: &[&["sizes", "own.longest-burst"]],
    run: Run::Pair(PairTest {
        // It sends at the rate of the medium, whatever the tester was seen to reach.
        seeks_reach: |_| false,
        ..PairTest::new(longest_burst, |_, _| Duration::from_secs(1))
    }),
}];

/// Its section of the configuration, `own.longest-burst`.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct BurstConfig {
    /// The longest burst that is tried.
    longest_frames: u64,
}

impl Default for BurstConfig {
    fn default() -> Self {
        BurstConfig { longest_frames: 10_000 }
    }
}

/// The longest burst that arrives whole.
fn longest_burst(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    _: &mut Known,
    _: usize,
) -> Result<Outcome, RunError> {
    let config: BurstConfig = subject.own_config("longest-burst")?;
    let range = Range { min: 1, max: config.longest_frames };
    let mut search = Bisect::new(range, Resolution { absolute: 1, relative: 0.0 });
    let mut invalid = vec![];
    let bounds = drive(&mut search, |frames, _| {
        let ran = burst(bench, subject, frames)?;
        Ok::<_, RunError>(match ran.verdict {
            Verdict::Passed => search::LoadVerdict::Passed,
            // A trial in which the tester did not keep up says nothing of the device.
            Verdict::Invalid => {
                invalid = ran.invalid_reasons();
                search::LoadVerdict::Undecided
            }
            _ => search::LoadVerdict::Failed { lost_frames: ran.result.lost_frames() },
        })
    })?;
    if bounds.lower.is_some() || bounds.failed.is_some() {
        invalid.clear();
    }
    let found = (bounds.lower, bounds.failed);
    let figure = Figure::count("longest burst", Unit::Frames, found, &invalid);
    Ok(outcome(subject, figure, &invalid))
}

/// A trial of one burst.
fn burst(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    frames: u64,
) -> Result<method::Ran, RunError> {
    let rate = subject.theoretical_max();
    let label = format!("a burst of {frames} frames");
    let mut request = subject.request(LONGEST_BURST, label, rate, Duration::ZERO);
    request.shape.schedule = Schedule { segments: vec![Segment::constant(rate, frames)] };
    request.judge = &|result| judge_loss(result, 0.0);
    bench.run(request)
}

/// As its document would print it.
fn outcome(subject: &Subject<'_>, figure: Figure, invalid: &[String]) -> Outcome {
    let conditions = subject.conditions();
    let cell = match figure.value {
        Some(value) => Cell::Count(value as u64).at_least_if(figure.relation == Relation::AtLeast),
        None => Cell::Words(figure.reason.clone()),
    };
    let mut layout = conditions.layout("Longest burst", &["frame size (bytes)", "frames"]);
    layout.about.push("the frames that arrive whole at the rate of the medium".into());
    let layout = layout.row([conditions.frame_size.clone().into(), cell]);
    conditions.outcome(LONGEST_BURST, vec![figure], invalid).laid_out(layout)
}

fn main() -> Result<(), Box<dyn Error>> {
    // A frame of 64 bytes takes 6.72 us on the medium and ten times that in the device. One of 1518 bytes takes
    // longer on the medium than in the device, so that no burst is too long.
    let per_frame = Duration::from_ns(67_200);
    let device = StoreAndForward::new(per_frame, Duration::ZERO, QueueLimit::Frames(90));
    let mut tester = SimTester::new(&[SimPort::physical(LineRate::from_mbps(100)); 2], device);
    let mut config = SuiteConfig::of(Profile::Quick);
    config.tests = vec![LONGEST_BURST];
    config.frame_sizes =
        [64, 1518].map(|bytes| SizePattern::Fixed(FrameSize::from_bytes(bytes))).to_vec();
    let suite = Suite {
        program: "an example".into(),
        device: "room for 90 frames".into(),
        environment: Default::default(),
        config,
        topology: Topology::plan(Forwarding::Routed),
        self_test: None,
        more: &METHODS,
    };
    let report = match std::env::args().nth(1) {
        Some(folder) => {
            let mut folder = RunFolder::create_at(Path::new(&folder))?;
            suite.run(&mut tester, None, &mut folder)?;
            // As any other program reads it, which knows nothing of this test.
            let (events, notices) = report::run_folder::read_events(folder.path())?;
            let report = Report::from_events(&events, notices);
            report::save(folder.path(), &report)?;
            report
        }
        None => {
            let mut events = vec![];
            suite.run(&mut tester, None, &mut events)?;
            Report::from_events(&events, vec![])
        }
    };
    print!("{}", terminal::render(&report, Style { width: None, colour: false }));
    Ok(())
}
