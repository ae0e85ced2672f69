//! Run folders of a simulated device, made in this process.

use method::{Event, EventSink, Forwarding, Profile, Suite, SuiteConfig, TestKind, Topology};
use report::run_folder::RunFolder;
use sim::{Patch, SimPort, SimTester};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use traffic::size::SizePattern;
use units::{FrameSize, LineRate};

/// A run of throughput over a cable of 10 Mb/s, on a given day.
pub fn run_folder(parent: &Path, day: usize) -> PathBuf {
    let path = parent.join(format!("run-{day}"));
    let mut folder = RunFolder::create_at(&path).expect("a run folder");
    for event in events(day) {
        folder.emit(&event).expect("an event");
    }
    path
}

/// The same without its end.
pub fn interrupted(parent: &Path, day: usize) -> PathBuf {
    let path = parent.join(format!("interrupted-{day}"));
    let mut folder = RunFolder::create_at(&path).expect("a run folder");
    for event in events(day).iter().filter(|event| !matches!(event, Event::RunFinished(_))) {
        folder.emit(event).expect("an event");
    }
    path
}

fn events(day: usize) -> Vec<Event> {
    let mut config = SuiteConfig::of(Profile::Quick);
    config.tests = vec![TestKind::Throughput];
    config.frame_sizes = vec![SizePattern::Fixed(FrameSize::from_bytes(1518))];
    let told = [
        ("date", format!("2026-{:02}-{:02}T00:00:00Z", 1 + day / 28, 1 + day % 28)),
        ("host", "lab".into()),
        ("kernel", "Linux 6.18".into()),
    ];
    let environment: BTreeMap<String, String> =
        told.into_iter().map(|(name, text)| (name.to_owned(), text)).collect();
    let suite = Suite {
        program: "netanvil 0.1.0".into(),
        device: "a cable".into(),
        environment,
        config,
        topology: Topology::plan(Forwarding::Looped),
        self_test: None,
        more: &[],
    };
    let mut cable =
        SimTester::new(&[SimPort::physical(LineRate::from_mbps(10)); 2], Patch::default());
    let mut events: Vec<Event> = vec![];
    suite.run(&mut cable, None, &mut events).expect("a run");
    events
}
