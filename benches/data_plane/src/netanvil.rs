//! netanvil's own ports, driven as the command line drives them: through trials of the live
//! tester.

use crate::bed::Bed;
use crate::error::{BenchError, Result};
use crate::subject::Subject;
use crate::window::{self, Window};
use ports::{LiveOptions, LiveTester, OpenPort, PortRequest, clock, open_port};
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use traffic::template::{FrameTemplate, PreparedFrame};
use trial::{
    Expectation, PortId, PortLoad, Role, Schedule, Stream, StreamAccount, StreamFrame, StreamId,
    Tester, Trial, TrialResult, ValidityLimits, Waits,
};
use units::{Duration, FrameRate, FrameSize, LineRate};
use wire::ethernet::MacAddr;
use wire::signature::Key;

/// More than any port can do: what is reached is the port's own limit.
const UNREACHABLE: FrameRate = FrameRate::from_fps(50_000_000);
/// Longer than a warm-up and a window, with time to notice the first frame.
const FLAT_OUT: Duration = Duration::from_ms(1_600);
/// Length of a trial that is to lose nothing.
const NO_LOSS_TRIAL: Duration = Duration::from_ms(500);
/// The search for the highest rate without loss ends when it is known to this part of itself.
const RESOLUTION: f64 = 0.02;
/// What the search goes down by until nothing is lost.
const STEP_DOWN: f64 = 0.88;
/// A rate at which no trial succeeds so often is too high.
const ATTEMPTS: u32 = 2;

/// An Ethernet address that no interface has: the far end's stack drops frames for it at once. It
/// is the one to which testpmd sends.
pub const NOBODY: [u8; 6] = [2, 0, 0, 0, 0, 0];

/// A live tester on the bed's pair.
pub struct Netanvil<'a> {
    bed: &'a Bed,
    tester: LiveTester,
    next_key: Key,
    /// Ready frames that it sends in turn: those of one queue, unless several send.
    ready_frames: usize,
}

/// Transmission and reception at full speed.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct FlatOut {
    /// Frames a second that left.
    pub sent_fps: f64,
    /// Frames a second that arrived and were accounted for.
    pub received_fps: f64,
    /// Frames that were sent and did not arrive.
    pub lost_frames: u64,
    /// Frames among them that the tester says it dropped itself.
    pub dropped_frames: u64,
    /// The machine's view.
    pub window: Window,
}

impl<'a> Netanvil<'a> {
    /// Opens the near end, or both ends.
    pub fn open(
        bed: &'a Bed,
        subject: Subject,
        both_ends: bool,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self> {
        Self::open_queues(bed, subject, (1, both_ends), stop)
    }

    /// The same; each end has so many queues.
    pub fn open_queues(
        bed: &'a Bed,
        subject: Subject,
        (queues, both_ends): (u16, bool),
        stop: &Arc<AtomicBool>,
    ) -> Result<Self> {
        let port_type = subject.port_type().expect("a port type of netanvil");
        let interfaces = [bed.near(), bed.far()];
        let interfaces = &interfaces[..if both_ends { 2 } else { 1 }];
        let ports: Vec<OpenPort> = bed.testbed().tester().run(|| {
            let requests = interfaces.iter().enumerate().map(|(id, interface)| PortRequest {
                id: PortId(id as u16),
                interface: interface.to_string(),
                port_type,
                nominal_rate: LineRate::from_gbps(10),
                queues,
                largest_frame: FrameSize::from_bytes(1518),
            });
            requests.map(|request| open_port(&request)).collect::<std::result::Result<_, _>>()
        })??;
        let options = LiveOptions { stop: stop.clone(), ..LiveOptions::default() };
        let tester = LiveTester::new(ports, options)?;
        Ok(Netanvil { bed, tester, next_key: Key::from_seed(1), ready_frames: 1 })
    }

    /// Has it send so many ready frames in turn.
    pub fn with_ready_frames(self, ready_frames: usize) -> Self {
        Netanvil { ready_frames, ..self }
    }

    /// Sends as fast as the port can; watches what arrives at the far end.
    pub fn transmit_only(&mut self, size_bytes: u32) -> Result<Window> {
        let trial = self.trial(size_bytes, UNREACHABLE, FLAT_OUT, Expectation::Unchecked);
        Ok(self.run_watched(&trial)?.1)
    }

    /// Sends as fast as the port can and accounts for every frame.
    pub fn flat_out(&mut self, size_bytes: u32) -> Result<FlatOut> {
        let trial = self.trial(size_bytes, UNREACHABLE, FLAT_OUT, to_the_far_end());
        let (result, window) = self.run_watched(&trial)?;
        let account = account(&result)?;
        Ok(FlatOut {
            sent_fps: result.offered_rate().fps(),
            received_fps: received_fps(account)?,
            lost_frames: result.lost_frames(),
            dropped_frames: result.tester_drops(),
            window,
        })
    }

    /// The highest rate, in frames a second, at which a valid trial loses nothing; at most
    /// `at_most_fps`.
    pub fn no_loss_fps(&mut self, size_bytes: u32, at_most_fps: f64) -> Result<f64> {
        let (mut bad, mut try_fps) = (at_most_fps, at_most_fps * (1.0 - RESOLUTION));
        let mut good = loop {
            if let Some(offered) = self.loses_nothing(size_bytes, try_fps)? {
                break offered;
            }
            bad = try_fps;
            try_fps *= STEP_DOWN;
            if try_fps < at_most_fps / 100.0 {
                return Ok(0.0);
            }
        };
        while bad - good > RESOLUTION * bad {
            let middle = (good + bad) / 2.0;
            match self.loses_nothing(size_bytes, middle)? {
                Some(offered) => good = offered.max(good),
                None => bad = middle,
            }
            if bad <= good {
                break;
            }
        }
        Ok(good)
    }

    /// The rate that was really offered, if some valid trial lost nothing.
    fn loses_nothing(&mut self, size_bytes: u32, fps: f64) -> Result<Option<f64>> {
        let rate = FrameRate::from_fps_f64(fps);
        for _ in 0..ATTEMPTS {
            let result = self.paced(size_bytes, rate, NO_LOSS_TRIAL)?;
            if result.is_valid() && result.lost_frames() == 0 {
                return Ok(Some(result.offered_rate().fps()));
            }
        }
        Ok(None)
    }

    /// Sends at a rate and accounts for every frame.
    pub fn paced(
        &mut self,
        size_bytes: u32,
        rate: FrameRate,
        duration: Duration,
    ) -> Result<TrialResult> {
        let trial = self.trial(size_bytes, rate, duration, to_the_far_end());
        Ok(self.tester.run(&trial)?)
    }

    fn run_watched(&mut self, trial: &Trial) -> Result<(TrialResult, Window)> {
        let (bed, over) = (self.bed, AtomicBool::new(false));
        std::thread::scope(|scope| {
            let watcher = scope.spawn(|| watch_when_it_runs(bed, &over));
            let result = self.tester.run(trial);
            over.store(true, Ordering::Relaxed);
            let window = watcher.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok((result?, window?))
        })
    }

    fn trial(
        &mut self,
        size_bytes: u32,
        rate: FrameRate,
        duration: Duration,
        expect: Expectation,
    ) -> Trial {
        let (id, key) = (StreamId(1), self.next_key);
        self.next_key = key.later(1);
        let to = match expect {
            Expectation::Unchecked => NOBODY,
            Expectation::Ports(_) => self.bed.testbed().ports()[1].mac,
        };
        let prepared = prepare(self.bed, size_bytes, Some((key, id.0)), MacAddr(to));
        let stream = Stream {
            id,
            name: "bench".into(),
            role: Role::Test,
            from: PortId(0),
            expect,
            frames: vec![
                StreamFrame { bytes: prepared.frame(0), form: prepared.form() };
                self.ready_frames
            ],
            fingerprint: None,
            given_up: vec![],
            bad_fcs: false,
            grows_by_bytes: 0,
        };
        let load = PortLoad {
            port: PortId(0),
            schedule: Schedule::constant(rate, duration),
            order: vec![id],
            insertions: vec![],
        };
        Trial {
            label: format!("bench, {size_bytes} bytes"),
            key,
            streams: vec![stream],
            loads: vec![load],
            prelude: vec![],
            waits: Waits::fixed(Duration::from_ms(100), Duration::ZERO),
            tagging: None,
            count_flows: false,
            verify_payload: false,
            action: None,
            captures: vec![],
            limits: ValidityLimits::default(),
        }
    }
}

/// What arrived of the stream where it should.
pub fn account(result: &TrialResult) -> Result<&StreamAccount> {
    let received = result.expected_accounts().next();
    let none = || BenchError::Implausible("a trial without an account of its stream".into());
    received.map(|received| &received.account).ok_or_else(none)
}

/// Frames but one over the time from the first arrival to the last.
fn received_fps(account: &StreamAccount) -> Result<f64> {
    match (account.first_at, account.last_at) {
        (Some(first), Some(last)) if last > first => {
            Ok((account.unique - 1) as f64 / last.since(first).as_secs_f64())
        }
        _ => Err(BenchError::Implausible("no frame arrived".into())),
    }
}

/// A UDP frame of this size for nobody at the far end, FCS not included.
pub fn frame_for_nobody(bed: &Bed, size_bytes: u32) -> Vec<u8> {
    prepare(bed, size_bytes, None, MacAddr(NOBODY)).frame(0)
}

/// The same for the host at the far end, by way of the device between.
pub fn frame_for_far_host(bed: &Bed, size_bytes: u32) -> Vec<u8> {
    let device = bed.testbed().ports()[0].device_mac.unwrap_or(NOBODY);
    prepare(bed, size_bytes, None, MacAddr(device)).frame(0)
}

fn prepare(
    bed: &Bed,
    size_bytes: u32,
    signature: Option<(Key, u16)>,
    to: MacAddr,
) -> PreparedFrame {
    let host = |port: usize| bed.testbed().ports()[port].addresses.ipv4.host;
    let near = MacAddr(bed.testbed().ports()[0].mac);
    let template = FrameTemplate::udp_ipv4((near, host(0)), (to, host(1)));
    let prepared = template.prepare(FrameSize::from_bytes(size_bytes), signature);
    prepared.expect("sizes from 64 bytes have room for UDP and a signature")
}

fn to_the_far_end() -> Expectation {
    Expectation::Ports(vec![PortId(1)])
}

/// Watches as soon as frames arrive at the far end.
fn watch_when_it_runs(bed: &Bed, over: &AtomicBool) -> Result<Window> {
    let before = bed.arrived()?.received;
    while bed.arrived()?.received < before + 1_000 {
        if over.load(Ordering::Relaxed) {
            return Err(BenchError::Implausible("the trial was over before it was seen".into()));
        }
        clock::sleep(Duration::from_ms(5));
    }
    let window = window::watch(bed, &[std::process::id()])?;
    if over.load(Ordering::Relaxed) {
        return Err(BenchError::Implausible("the trial was over before the window was".into()));
    }
    Ok(window)
}
