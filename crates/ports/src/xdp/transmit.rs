//! The sending half: has the kernel run the transmit program until all frames have left.

use super::capture::Capture;
use super::groups::{GroupWatch, Groups, fastest_fps};
use super::interrupt;
use super::layout::finished;
use super::prepared::Prepared;
use super::program::{Object, Spare, failed};
use crate::clock;
use crate::interface::open_ethtool;
use crate::queues::{CATCH_UP, SendQueue};
use crate::{CaptureWish, Captured, Interface, Transmission, TransmitHalf, TrialSignals};
use aya::TestRun as _;
use aya::maps::DevMap;
use aya::maps::xdp::XdpMapError;
use aya::programs::{ProgramError, TestRunAttrs, TestRunOptions};
use kernel::{Ethtool, Namespace};
use std::io;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use trial::{SentSoFar, TesterError, TransmitPlan, TransmitReport};
use units::{Duration, Instant};

/// The longest time that the program waits in one run (`PIECE_NS` there).
const PIECE: Duration = Duration::from_us(16);

/// Sends through one interface, by one of its queues.
pub(super) struct XdpTransmit {
    name: String,
    queue: SendQueue,
    ifindex: u32,
    namespace: Namespace,
    ethtool: Ethtool,
    groups: Groups,
    wish: Option<CaptureWish>,
    prepared: Option<Prepared>,
    spare: Spare,
    captured: Captured,
}

impl XdpTransmit {
    /// The queues of a port that has so many.
    pub fn open_all(interface: &Interface, of: usize) -> Result<Vec<Self>, TesterError> {
        SendQueue::all(of).map(|queue| Self::open(interface, queue)).collect()
    }

    fn open(interface: &Interface, queue: SendQueue) -> Result<Self, TesterError> {
        let name = interface.name().to_string();
        let namespace = Namespace::current().map_err(|error| {
            failed(&name, "find its network namespace", &io::Error::from(error))
        })?;
        let ethtool = open_ethtool(&name)?;
        Ok(XdpTransmit {
            name,
            queue,
            ifindex: interface.index(),
            namespace,
            ethtool,
            groups: Groups::default(),
            wish: None,
            prepared: None,
            spare: Spare::default(),
            captured: Captured::default(),
        })
    }

    /// Makes the program's frames leave by this interface. An interface's number means something
    /// only in its own namespace; anywhere else the frames would leave by another one.
    fn set_device(&self, object: &mut Object) -> Result<(), TesterError> {
        let map = object.map_mut("device").expect("the object has a device map");
        let set =
            || -> Result<(), XdpMapError> { DevMap::try_from(map)?.set(0, self.ifindex, None, 0) };
        let set = self.namespace.run(set).map_err(|error| {
            failed(&self.name, "enter its network namespace", &io::Error::from(error))
        })?;
        set.map_err(|error| failed(&self.name, "send through it by XDP", &error))
    }

    /// Keeps the programs for the next trial, unless their ring for captures was taken out.
    fn keep(&mut self, prepared: Prepared) {
        if !prepared.captures {
            self.spare.give_back(prepared.object);
        }
    }

    /// Runs the program until it says that it has finished. The kernel returns early when a
    /// signal comes in; the program's state is in its maps, so it simply goes on.
    fn run(
        &self,
        prepared: &Prepared,
        plan: &TransmitPlan,
        stop_at: Instant,
        signals: &TrialSignals,
        group: &AtomicU32,
    ) -> Result<(), TesterError> {
        let mut watch = GroupWatch::new(&prepared.state, group);
        let mut sampled = 0;
        let reason = || {
            let asked = signals.asked();
            if asked != sampled {
                sampled = asked;
                signals.note_sent(asked, self.queue.number, prepared.sent_so_far(plan));
            }
            if signals.stopped() {
                prepared.stop();
            }
            let ends = signals.stopped() || prepared.finished() != finished::RUNNING;
            ends || watch.look()
        };
        interrupt::when(reason, || self.run_on(prepared, plan, stop_at, group))?;
        match prepared.finished() {
            finished::NO_DEVICE => Err(TesterError::PortGone {
                port: self.name.clone(),
                detail: "the interface was removed while the trial was sending".into(),
            }),
            finished::BROKEN => Err(TesterError::System {
                what: format!("{}: send", self.name),
                detail: "a frame did not fit the live frame that the kernel gave".into(),
            }),
            _ => Ok(()),
        }
    }

    /// Has the kernel run the program for as long as it wants to be.
    fn run_on(
        &self,
        prepared: &Prepared,
        plan: &TransmitPlan,
        stop_at: Instant,
        group: &AtomicU32,
    ) -> Result<(), TesterError> {
        while prepared.finished() == finished::RUNNING {
            run_once(prepared, plan, stop_at, group.load(Relaxed))
                .map_err(|error| failed(&self.name, "send", &error))?;
        }
        Ok(())
    }

    /// Sends what is left up to where the foremost queue of the port has stopped.
    fn catch_up(
        &self,
        prepared: &Prepared,
        plan: &TransmitPlan,
        group: &AtomicU32,
    ) -> Result<(), TesterError> {
        let foremost = self.queue.meeting.await_foremost(prepared.walked());
        if prepared.finished() != finished::STOPPED || prepared.walked() >= foremost {
            return Ok(());
        }
        let stop_at = clock::now() + CATCH_UP;
        prepared.go_on_to(foremost, stop_at);
        self.run_on(prepared, plan, stop_at, group)
    }

    /// Frames that the interface took from the program, if it counts them: sent, or refused by
    /// the queue of a virtual link's far end, which is no longer the tester's.
    fn taken(&self) -> Option<u64> {
        let statistics = self.ethtool.statistics();
        let taken = statistics
            .iter()
            .filter(|(name, _)| name.ends_with("xdp_xmit") || name.ends_with("xdp_xmit_errors"));
        let counts: Vec<u64> = taken.map(|(_, count)| *count).collect();
        (!counts.is_empty()).then(|| counts.iter().sum())
    }

    /// Of what all queues have sent, asked by the last of them: an interface counts for all its queues.
    fn not_sent(&self, report: &TransmitReport, before: Option<u64>) -> Result<u64, TesterError> {
        let Some(sent) = self.queue.meeting.all_sent(report.sent_frames) else { return Ok(0) };
        let (Some(before), Some(after)) = (before, self.taken()) else { return Ok(0) };
        let not_sent = sent.saturating_sub(after.saturating_sub(before));
        if not_sent == sent && not_sent > 0 {
            return Err(TesterError::Unsupported {
                port: self.name.clone(),
                what: "the interface took none of the frames; a veth takes them only if its far \
                       end polls (NAPI)"
                    .into(),
                remedy: "ethtool -K PEER gro on, while it is up, or use --port-type af_packet"
                    .into(),
            });
        }
        Ok(not_sent)
    }

    fn notes(&self, group: u32) -> Vec<String> {
        if group == 1 || self.queue.number > 0 {
            return vec![];
        }
        vec![format!(
            "{}: frames left in groups of up to {group}, which the rate takes; within a group \
             they follow each other at once",
            self.name
        )]
    }
}

impl TransmitHalf for XdpTransmit {
    fn prepare(&mut self, plan: &TransmitPlan) -> Result<(), TesterError> {
        if let Some(unused) = self.prepared.take() {
            self.keep(unused);
        }
        let queue = self.queue.begin(plan);
        let mut prepared =
            Prepared::new(&self.name, plan, queue, self.wish.as_ref(), &mut self.spare)?;
        self.set_device(&mut prepared.object)?;
        prepared.object.load_program("transmit")?;
        self.prepared = Some(prepared);
        Ok(())
    }

    fn transmit(
        &mut self,
        plan: &TransmitPlan,
        start: Instant,
        stop_at: Instant,
        signals: &TrialSignals,
    ) -> Result<Transmission, TesterError> {
        let mut prepared = self.prepared.take().expect("prepared before it transmits");
        let rate = fastest_fps(&plan.schedule) / self.queue.used(plan) as f64;
        let group = AtomicU32::new(self.groups.size_for(rate));
        prepared.set_times(start, stop_at);
        let taken_before = self.queue.meeting.taken_before(|| self.taken());
        let ran = self.run(&prepared, plan, stop_at, signals, &group);
        let ran = self.catch_up(&prepared, plan, &group).and(ran);
        self.captured = prepared.capture.take().map(Capture::into_captured).unwrap_or_default();
        ran?;
        let group = group.into_inner();
        self.groups.note(rate, group);
        let report = prepared.report(plan);
        if signals.asked() > 0 {
            signals.note_sent(signals.asked(), self.queue.number, SentSoFar::of(&report));
        }
        self.keep(prepared);
        let not_sent_frames = self.not_sent(&report, taken_before)?;
        Ok(Transmission { report, not_sent_frames, notes: self.notes(group) })
    }

    fn capture(&mut self, wish: Option<CaptureWish>) -> Result<(), TesterError> {
        self.wish = wish;
        Ok(())
    }

    fn captured(&mut self) -> Captured {
        std::mem::take(&mut self.captured)
    }
}

/// One call into the kernel, with as many runs as are still needed: one for each frame, and one
/// for each piece of waiting.
fn run_once(
    prepared: &Prepared,
    plan: &TransmitPlan,
    stop_at: Instant,
    group: u32,
) -> Result<(), ProgramError> {
    let frames = plan.schedule.frames().saturating_sub(prepared.walked());
    let pieces = stop_at.since(clock::now()).as_ps() / PIECE.as_ps();
    let repeat = frames.saturating_add(pieces).saturating_add(64);
    let mut options = TestRunOptions::new();
    options.data_in = Some(&prepared.blank);
    options.repeat = u32::try_from(repeat).unwrap_or(u32::MAX);
    options.attrs = TestRunAttrs::new().xdp_live_frames(group);
    match prepared.object.program("transmit").test_run(options) {
        Err(ProgramError::SyscallError(error))
            if error.io_error.raw_os_error() == Some(libc::EINTR) =>
        {
            Ok(())
        }
        other => other.map(drop),
    }
}
