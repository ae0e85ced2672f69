//! A bridge of eight ports, fully meshed (RFC 2889 section 5.1) and fanned out (GIGAswitch): every frame of every pair accounted for
//! and laid beside the kernel's counters of each port; the learning phase and the round-robin order
//! looked at on the wire by a script of its own.

use live::{Bed, Capture, Direction, can_run};
use method::chassis::ChassisTest;
use method::{Event, Profile, Suite, SuiteConfig, TestKind, TrialRecord};
use ports::PortType;
use std::collections::BTreeMap;
use std::process::Command;
use testbed::{DeviceCounters, DeviceKind, TestbedConfig};
use traffic::size::SizePattern;
use trial::{PortId, Tester, TesterDescription, TesterError, Trial, TrialResult};
use units::{Duration, FrameSize, LineRate};

const PORTS: usize = 8;
/// Ports whose wire is looked at: the first, one in the middle, the last.
const WATCHED: [usize; 3] = [0, 4, 7];
/// 1,488 frames of 64 bytes a second.
const LINE: LineRate = LineRate::from_mbps(1);
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/round_robin.py");

/// One load, in trials of a second; one in which the tester was held up is repeated.
fn config() -> SuiteConfig {
    let mut config = SuiteConfig::of_many_ports(
        Profile::Quick,
        &[ChassisTest::FullyMeshed, ChassisTest::Fanout],
    );
    config.chassis.fanout.receivers = 4;
    config.frame_sizes = vec![SizePattern::Fixed(FrameSize::MIN_ETHERNET)];
    config.chassis.loads_percent = vec![20.0];
    config.search.resolution_percent = 90.0;
    config.search.trial_duration_s = 0.5;
    config.trial.duration_s = 0.5;
    config.trial.drain_s = 2.0;
    config.trial.invalid_retries = 5;
    config
}

/// Looks at the device's counters around each trial.
struct Counted<'a, T> {
    tester: T,
    bed: &'a Bed,
    trials: Vec<(Trial, TrialResult, DeviceCounters)>,
}

impl<T: Tester> Tester for Counted<'_, T> {
    fn describe(&self) -> &TesterDescription {
        self.tester.describe()
    }
    fn run(&mut self, trial: &Trial) -> Result<TrialResult, TesterError> {
        let device = self.bed.device().expect("a device");
        let before = device.counters().expect("counters");
        let result = self.tester.run(trial)?;
        let counted = device.counters().expect("counters").since(&before);
        self.trials.push((trial.clone(), result.clone(), counted));
        Ok(result)
    }
    fn pause(&mut self, span: Duration) -> Result<(), TesterError> {
        self.tester.pause(span)
    }
}

#[test]
fn a_bridge_of_eight_ports_is_accounted_for_to_the_frame() {
    if !can_run("a_bridge_of_eight_ports_is_accounted_for_to_the_frame") {
        return;
    }
    let testbed = TestbedConfig { ports: PORTS, ..TestbedConfig::of(DeviceKind::LinuxBridge) };
    let bed = Bed::build(&testbed);
    let device = bed.device().expect("a device");
    let tester = bed.live(PortType::AF_PACKET, FrameSize::MAX_ETHERNET, LINE);
    let mut tester = Counted { tester, bed: &bed, trials: vec![] };
    let watch = |port| Capture::start(device.namespace(), &device.connector(port), Direction::In);
    let captures = WATCHED.map(watch);
    let suite = Suite {
        program: "live test".into(),
        device: "linux-bridge".into(),
        environment: BTreeMap::new(),
        config: config(),
        topology: bed.topology(),
        self_test: None,
        more: &[],
    };
    let mut events: Vec<Event> = vec![];
    suite.run(&mut tester, None, &mut events).expect("a run");
    let trials = tester.trials;
    let valid: Vec<_> = trials.iter().filter(|(_, result, _)| result.is_valid()).collect();
    assert!(!valid.is_empty(), "none of {} trials is valid", trials.len());
    for (trial, result, counted) in valid {
        accounted_for(&bed, trial, result, counted);
    }
    let of_events = events.iter().filter_map(|event| match event {
        Event::TrialFinished(record) => Some(record.as_ref()),
        _ => None,
    });
    let of_events: Vec<&TrialRecord> = of_events.collect();
    assert!(of_events.len() == trials.len() && !trials.is_empty());
    for (port, capture) in WATCHED.into_iter().zip(captures) {
        in_order(port, capture, &of_events);
    }
}

/// Every learning frame is flooded to all others; beyond them and the test frames there is nothing.
fn accounted_for(bed: &Bed, trial: &Trial, result: &TrialResult, counted: &DeviceCounters) {
    let label = &trial.label;
    let learning = |at: PortId| trial.prelude.iter().filter(|p| p.port == at).count() as u64;
    let all_learning = trial.prelude.len() as u64;
    for port in bed.ports() {
        let id = PortId(port.port as u16);
        let of_device = &counted.interfaces[&format!("dut{}", port.port)];
        let sent = result.sent.iter().filter(|sent| sent.report.port == id);
        let sent: u64 = sent.map(|sent| sent.report.sent_frames).sum();
        assert_eq!(of_device.rx_frames, sent + learning(id), "{label}: into port {}", port.port);
        let received = result.received.iter().filter(|received| received.port == id);
        let received: u64 = received.map(|received| received.arrivals()).sum();
        let flooded = all_learning - learning(id);
        assert_eq!(of_device.tx_frames, received + flooded, "{label}: out of port {}", port.port);
    }
    let receivers = if is_fanout(trial) { 4 } else { PORTS - 1 };
    assert_eq!(result.streams.len(), PORTS * receivers, "{label}: a stream for each pair");
    let lost: u64 = result.streams.iter().map(|stream| stream.lost).sum();
    assert_eq!((lost, result.flood_count()), (0, 0), "{label}: a bridge at a fifth of 1 Mb/s");
}

/// Of the GIGAswitch tests, whose transmitters send to the four ports that follow them.
fn is_fanout(trial: &Trial) -> bool {
    trial.label.starts_with(&ChassisTest::Fanout.to_string())
}

/// The script reads the capture; what it counts is what the tester says it sent.
fn in_order(port: usize, capture: Capture, trials: &[&TrialRecord]) {
    let id = PortId(port as u16);
    let sent = |record: &&TrialRecord| -> u64 {
        let of_port = record.result.sent.iter().filter(|sent| sent.report.port == id);
        of_port.map(|sent| sent.report.sent_frames).sum()
    };
    let expected: Vec<u64> = trials.iter().map(sent).collect();
    let captured = capture.finish(expected.iter().sum::<u64>() + trials.len() as u64);
    let receivers = trials.iter().map(|record| match record.test {
        TestKind::Chassis(ChassisTest::Fanout) => "4".to_string(),
        _ => (PORTS - 1).to_string(),
    });
    let receivers = receivers.collect::<Vec<_>>().join(",");
    let mut script = Command::new("python3");
    script.arg(SCRIPT).arg((port + 1).to_string()).arg(PORTS.to_string());
    script.arg(receivers).arg(captured.path());
    let output = script.output().expect("python3 (Debian: apt-get install python3)");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "port {port}: {complaint}");
    let seen = String::from_utf8_lossy(&output.stdout);
    let seen: Vec<u64> = seen.split_whitespace().map(|n| n.parse().expect("a number")).collect();
    assert_eq!(seen, expected, "port {port}: test frames of each trial");
}
