//! Trials at each rate and credit.

use crate::device::{Devices, Refused};
use crate::{Options, Result};
use ports::{LiveOptions, LiveTester, PortRequest, PortType, open_port};
use serde::Serialize;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};
use testbed::{DeviceKind, Testbed, TestbedConfig};
use traffic::template::FrameTemplate;
use trial::{
    Expectation, PortId, PortLoad, Role, Schedule, Stream, StreamFrame, StreamId, Tester, Trial,
    TrialResult, ValidityLimits, Waits,
};
use units::{Duration, FrameRate, FrameSize, LineRate};
use wire::ethernet::MacAddr;
use wire::signature::Key;

const SIZE: FrameSize = FrameSize::from_bytes(64);
/// More than any port reaches.
const UNREACHABLE: FrameRate = FrameRate::from_fps(50_000_000);
/// So much of what a port reaches flat out is asked for as its maximum.
const OF_MAXIMUM: f64 = 0.95;
/// What "no bound" is: longer than any trial.
const NO_BOUND_US: u64 = 10_000_000;

/// Other work on the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// None of ours.
    Idle,
    /// A program that spins for each processor, in a session of its own.
    Busy,
}

/// What one trial came to.
#[derive(Clone, Debug, Serialize)]
pub struct One {
    /// Frames a second sent, in the time from the first to the last.
    pub offered_fps: f64,
    /// Frames that were not sent in time.
    pub unsent_frames: u64,
    /// By how much the schedule moved.
    pub slipped_us: f64,
    /// 99th percentile of lateness.
    pub late_p99_us: f64,
    /// Largest lateness.
    pub late_max_us: f64,
    /// Frames that found queues full.
    pub refused: Refused,
}

/// All trials of a rate and a credit.
#[derive(Clone, Debug, Serialize)]
pub struct Point {
    /// In frames a second.
    pub intended_fps: f64,
    /// Whether the rate was chosen by what the port reaches.
    pub is_maximum: bool,
    /// -1 for no bound.
    pub credit_us: i64,
    /// Most frames that the credit stands for at this rate.
    pub credit_frames: f64,
    /// In the order in which they were made.
    pub trials: Vec<One>,
}

/// A port and the devices at its far end.
pub struct Bench {
    tester: LiveTester,
    devices: Devices,
    frame: FrameTemplate,
    next_key: Key,
    _busy: Vec<Busy>,
    _bed: Testbed,
}

impl Bench {
    /// Builds the veth pair, opens the port, puts the devices at the far end, and gives the machine
    /// its other work.
    pub fn open(options: &Options) -> Result<Bench> {
        let bed = Testbed::build(&TestbedConfig::of(DeviceKind::Loopback))?;
        let [near, far] = [0, 1].map(|port: usize| bed.ports()[port].clone());
        let devices = Devices::attach(bed.tester(), &far.interface)?;
        let port = bed.tester().run(|| {
            open_port(&PortRequest {
                id: PortId(0),
                interface: near.interface.clone(),
                port_type: options.port_type,
                nominal_rate: LineRate::from_gbps(10),
                queues: 1,
                largest_frame: SIZE,
            })
        })??;
        let tester = LiveTester::new(vec![port], LiveOptions::default())?;
        let host = |port: &testbed::TestPort| port.addresses.ipv4.host;
        let to = (MacAddr(far.mac), host(&far));
        let frame = FrameTemplate::udp_ipv4((MacAddr(near.mac), host(&near)), to);
        let processors = std::thread::available_parallelism()?.get();
        let busy = match options.load {
            Load::Idle => vec![],
            Load::Busy => (0..processors).map(|_| Busy::spin()).collect::<Result<_>>()?,
        };
        let next_key = Key::from_seed(1);
        Ok(Bench { tester, devices, frame, next_key, _busy: busy, _bed: bed })
    }

    /// Every rate with every credit. Credits take turns, trial after trial, so that a moment in which
    /// the machine is disturbed is not one credit's alone.
    pub fn measure(&mut self, options: &Options) -> Result<Vec<Point>> {
        let mut points = vec![];
        for &fps in &options.rates {
            let rate = match fps {
                0 => self.maximum()?,
                fps => FrameRate::from_fps(fps),
            };
            let first = points.len();
            points.extend(options.credits.iter().map(|&credit_us| Point {
                intended_fps: rate.fps(),
                is_maximum: fps == 0,
                credit_us,
                credit_frames: limits(options, credit_us).credit(rate).as_secs_f64() * rate.fps(),
                trials: vec![],
            }));
            for _ in 0..options.trials {
                for point in &mut points[first..] {
                    let limits = limits(options, point.credit_us);
                    let length = Duration::from_ms(options.trial_ms);
                    point.trials.push(self.one(rate, length, limits)?);
                }
            }
        }
        Ok(points)
    }

    /// What the port is asked for as its maximum: most of what it reaches in half a second.
    fn maximum(&mut self) -> Result<FrameRate> {
        let mut limits = ValidityLimits::default();
        (limits.credit_us, limits.credit_frames) = (NO_BOUND_US, u64::MAX);
        let trial = self.trial(UNREACHABLE, Duration::from_ms(500), limits)?;
        let result = self.tester.run(&trial)?;
        Ok(result.offered_rate().scaled(OF_MAXIMUM))
    }

    fn one(&mut self, rate: FrameRate, length: Duration, limits: ValidityLimits) -> Result<One> {
        let trial = self.trial(rate, length, limits)?;
        self.devices.reset(rate)?;
        let result = self.tester.run(&trial)?;
        let refused = self.devices.refused()?;
        one(&result, refused)
    }

    fn trial(
        &mut self,
        rate: FrameRate,
        length: Duration,
        limits: ValidityLimits,
    ) -> Result<Trial> {
        let (id, key) = (StreamId(1), self.next_key);
        self.next_key = key.later(1);
        let prepared = self.frame.prepare(SIZE, Some((key, id.0)))?;
        Ok(Trial {
            label: "credit".into(),
            key,
            streams: vec![Stream {
                id,
                name: "credit".into(),
                role: Role::Test,
                from: PortId(0),
                expect: Expectation::Unchecked,
                frames: vec![StreamFrame { bytes: prepared.frame(0), form: prepared.form() }],
                fingerprint: None,
                given_up: vec![],
                bad_fcs: false,
                grows_by_bytes: 0,
            }],
            loads: vec![PortLoad {
                port: PortId(0),
                schedule: Schedule::constant(rate, length),
                order: vec![id],
                insertions: vec![],
            }],
            prelude: vec![],
            waits: Waits::fixed(Duration::ZERO, Duration::ZERO),
            tagging: None,
            count_flows: false,
            verify_payload: false,
            action: None,
            captures: vec![],
            limits,
        })
    }
}

fn limits(options: &Options, credit_us: i64) -> ValidityLimits {
    let credit_frames = if options.credit_frames == 0 { u64::MAX } else { options.credit_frames };
    let credit_us = u64::try_from(credit_us).unwrap_or(NO_BOUND_US);
    ValidityLimits { credit_us, credit_frames, ..ValidityLimits::default() }
}

fn one(result: &TrialResult, refused: Refused) -> Result<One> {
    let report = &result.sent.first().ok_or("nothing was sent")?.report;
    // What a port says it sent is what has come in: nothing is lost between, or the devices saw less
    // than they were to judge.
    if refused.offered != report.sent_frames {
        eprintln!("{} frames sent, {} came in", report.sent_frames, refused.offered);
    }
    let us = |span: Option<Duration>| span.unwrap_or(Duration::ZERO).as_ns_f64() / 1e3;
    Ok(One {
        offered_fps: result.offered_rate().fps(),
        unsent_frames: report.intended_frames - report.sent_frames,
        slipped_us: us(Some(report.slips.total)),
        late_p99_us: us(report.lateness.percentile(99.0)),
        late_max_us: us(report.lateness.max()),
        refused,
    })
}

/// A program that spins in a session of its own until this is dropped.
struct Busy(Child);

impl Busy {
    fn spin() -> Result<Busy> {
        let mut command = Command::new("setsid");
        command.args(["setpriv", "--pdeathsig", "KILL", "sh", "-c", "while :; do :; done"]);
        Ok(Busy(command.process_group(0).spawn()?))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Which port type it was, for the table.
pub fn name_of(port_type: PortType) -> &'static str {
    port_type.name()
}
