//! Who was held up: evidence of what kept the tester and a built device from their processors, of
//! links that changed, and of frames that the device had sent and the tester had not yet received.
//!
//! A trial without loss proves that the device carried what was offered, whatever held it up. Loss is
//! the device's only where the device had its processor and its links, and where all that it sent has
//! arrived.

use crate::{InvalidReason, PortId, TrialResult, balance};
use serde::{Deserialize, Serialize};
use std::fmt;
use units::Duration;

/// Loss decides nothing where a thread of the device waited for a processor for more than this share
/// of the time in which frames were sent. On a quiet machine a saturated device waits for up to 5 %,
/// beside one busy program for 30 % and more (docs/scheduling.md). The kernel forwards beside its other
/// work, and such waits are its own. A program that forwards has its processor to itself, or somebody
/// takes it away: its loss decides nothing either where no more was lost than came in its waits.
pub const HELD_UP_SHARE: f64 = 0.10;

/// A thread that sleeps between frames waits up to so long each time it is woken: an idle processor has to be woken
/// first, a busy one to be taken from another program. Measured on a virtual machine: 10 us where the processor was
/// idle, 14 to 25 us beside a busy loop.
const WAKING: Duration = Duration::from_us(30);

/// Shares below this are not worth a note.
const NOTED_SHARE: f64 = 0.01;

/// Whose thread or link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// The tester's.
    Tester,
    /// The device's, where it was built here.
    Device,
}

/// What one thread had of its processor during a trial (`/proc/PID/schedstat`).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ThreadPressure {
    /// Whose.
    pub owner: Owner,
    /// Name, such as `port 0 transmit` or `cpumap/1/map:17`.
    pub name: String,
    /// Time on a processor.
    pub ran: Duration,
    /// Time in which it could have run and had no processor (run-queue delay).
    pub waited: Duration,
    /// Of that, what others kept it from its processor: the sum of [`held_up_in`] over short spans. `None` where it was
    /// not looked at meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_up: Option<Duration>,
    /// How often it was put on a processor.
    #[serde(default)]
    pub slices: u64,
    /// The processor on which it was last.
    #[serde(default)]
    pub processor: Option<u32>,
    /// Time for which somebody had stopped it (SIGSTOP, a debugger), as far as looks at it show; neither
    /// running nor waiting. Only a program of the device is looked at.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stopped: Duration,
    /// Whether it is a program's, not the kernel's own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_program: bool,
}

fn is_zero(span: &Duration) -> bool {
    *span == Duration::ZERO
}

/// How long a processor was not idle, whoever used it (`/proc/stat`, in steps of 10 ms).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ProcessorUse {
    /// Which.
    pub processor: u32,
    /// How long.
    pub busy: Duration,
}

/// How often a link lost or gained its carrier during a trial (IFLA_CARRIER_CHANGES).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LinkChanges {
    /// At whose end of the link this was counted.
    pub owner: Owner,
    /// The tester's port at that link.
    pub port: PortId,
    /// Changes; going down and coming up again are two.
    pub changes: u64,
    /// Whether the link had a carrier at the end.
    pub carrier: bool,
}

/// What held up tester and device in a trial. A simulated tester is held up by nothing, and a simulated
/// device tells no more than for how long it worked.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Pressure {
    /// Threads of the tester, and those that forward in a built device.
    pub threads: Vec<ThreadPressure>,
    /// Time that the hypervisor took, over all processors (`/proc/stat`).
    pub stolen: Duration,
    /// Time in which some task of the machine waited for a processor (PSI); `None` where the kernel
    /// does not tell.
    pub stalled: Option<Duration>,
    /// How often the kernel's network softirq ended for want of time with frames left, whole machine
    /// (`/proc/net/softnet_stat`, third column).
    pub softirq_squeezed: u64,
    /// Frames dropped at full backlogs of processors, whole machine (the same, second column).
    pub backlog_dropped: u64,
    /// Links.
    pub links: Vec<LinkChanges>,
    /// The processors on which the device's threads ran.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub processors: Vec<ProcessorUse>,
    /// Why the device's processor time is not known, where it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untimed: Option<String>,
}

impl Pressure {
    /// The thread of this owner that waited longest.
    pub fn longest_wait(&self, owner: Owner) -> Option<&ThreadPressure> {
        self.threads.iter().filter(|thread| thread.owner == owner).max_by_key(|t| t.waited)
    }

    /// The thread of this owner that others kept longest from its processor, and for how long they did.
    pub fn longest_held_up(&self, owner: Owner) -> Option<(&ThreadPressure, Duration)> {
        let threads = self.threads.iter().filter(|thread| thread.owner == owner);
        let held_up = |thread: &ThreadPressure| thread.held_up.unwrap_or(thread.waited);
        threads.map(|thread| (thread, held_up(thread))).max_by_key(|(_, time)| *time)
    }

    /// For how long others kept programs of the device from their processors, one thread after another: a frame may
    /// pass through several.
    fn program_waits(&self) -> Duration {
        let threads = self.threads.iter().filter(|t| t.owner == Owner::Device && t.is_program);
        threads.map(|thread| thread.held_up.unwrap_or(thread.waited)).sum()
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        *self == Pressure::default()
    }
}

/// For how long others kept a thread from its processor within a span in which it ran, waited, and was put on a
/// processor as often as this.
///
/// A thread that sleeps has done what there was to do, and waits each time it is woken. Those waits keep back no more
/// frames than arrive within one of them. They are excused for as long as the thread slept: one that never sleeps has
/// work left, and each wait of it is somebody else's doing.
pub fn held_up_in(span: Duration, ran: Duration, waited: Duration, slices: u64) -> Duration {
    let slept = span.saturating_sub(ran + waited);
    waited.saturating_sub((WAKING * slices).min(slept))
}

/// Frames at one port as the device's interface and the tester counted them in a trial: where a frame
/// went that did not arrive. The device's counts lie within the tester's: its interface is read after
/// the tester's at the beginning and before it at the end.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PortBalance {
    /// The tester's port.
    pub port: PortId,
    /// Frames that the tester's interface sent.
    pub tester_sent: u64,
    /// Those among them that the device's interface had no room for.
    #[serde(default)]
    pub refused: u64,
    /// Frames that the device's interface received.
    pub device_received: u64,
    /// Frames that the device's interface received and dropped.
    pub device_dropped_in: u64,
    /// Frames that the device's interface sent towards the tester.
    pub device_sent: u64,
    /// Frames that the device could not hand over since the tester had no room for them.
    pub turned_away: u64,
    /// Frames that the tester's interface received.
    pub tester_received: u64,
    /// Frames that the tester lost on the way in, `turned_away` among them.
    pub tester_dropped: u64,
    /// The device's counts may lag or lead the tester's by some frames, since the device cannot be read
    /// at a moment of choice (SNMP): they are told, and decide nothing.
    #[serde(default)]
    pub is_rough: bool,
}

impl PortBalance {
    /// Frames that had left the device and that neither arrived nor were dropped by the tester when
    /// counting ended: they were still on their way.
    pub fn on_the_way(&self) -> u64 {
        if self.is_rough {
            return 0;
        }
        let dropped_later = self.tester_dropped.saturating_sub(self.turned_away);
        self.device_sent.saturating_sub(self.tester_received + dropped_later)
    }
}

/// Adds to a result's verdict what its pressure, its links and its balance say. `acted_upon`: the
/// trial itself took a link or the device down.
pub fn judge(result: &mut TrialResult, acted_upon: bool) {
    let mut reasons = vec![];
    if !acted_upon {
        reasons.extend(result.pressure.links.iter().filter_map(changed));
    }
    let lost = result.lost_frames();
    if lost > 0 {
        reasons.extend(held_up(result));
        reasons.extend(stopped(result));
        reasons.extend(result.balance.iter().filter(|balance| balance.on_the_way() > 0).map(
            |balance| InvalidReason::OnTheWay { port: balance.port, frames: balance.on_the_way() },
        ));
        let within = balance::still_within(&result.places);
        reasons.extend(
            within.map(|(place, frames)| InvalidReason::NotYetOut { place: place.into(), frames }),
        );
    }
    reasons.into_iter().for_each(|reason| result.invalidate(reason));
    result.notes.extend(note(result));
}

fn changed(link: &LinkChanges) -> Option<InvalidReason> {
    (link.changes > 0 || !link.carrier).then_some(InvalidReason::LinkChanged {
        port: link.port,
        owner: link.owner,
        changes: link.changes,
        carrier: link.carrier,
    })
}

fn held_up(result: &TrialResult) -> Option<InvalidReason> {
    let sending = sending_time(result);
    let (thread, waited) = result.pressure.longest_held_up(Owner::Device)?;
    let bound = sending.as_secs_f64() * HELD_UP_SHARE;
    let came_meanwhile = came_within(result, result.pressure.program_waits(), sending);
    let may_be_all = thread.is_program && came_meanwhile >= result.lost_frames();
    (may_be_all || waited.as_secs_f64() > bound).then(|| InvalidReason::DeviceHeldUp {
        thread: thread.name.clone(),
        waited,
        sending,
        came_meanwhile: thread.is_program.then_some(came_meanwhile),
    })
}

/// How many frames came at a device within a part of the sending time. A device that does nothing for so long loses no
/// more of them, whatever room it has: if it lost more, it would have lost some without those waits.
fn came_within(result: &TrialResult, span: Duration, sending: Duration) -> u64 {
    let share = span.as_secs_f64() / sending.as_secs_f64().max(f64::MIN_POSITIVE);
    (result.expected_frames() as f64 * share.min(1.0)).ceil() as u64
}

/// A device that somebody has stopped keeps what reaches it, or loses it for want of room, for however
/// short a time.
fn stopped(result: &TrialResult) -> Option<InvalidReason> {
    let threads = result.pressure.threads.iter();
    let of_device = threads.filter(|thread| thread.owner == Owner::Device);
    let longest = of_device.max_by_key(|thread| thread.stopped)?;
    (longest.stopped > Duration::ZERO).then(|| InvalidReason::DeviceStopped {
        thread: longest.name.clone(),
        stopped: longest.stopped,
    })
}

/// From the first departure to the last, over all ports.
fn sending_time(result: &TrialResult) -> Duration {
    let reports = || result.sent.iter().map(|sent| &sent.report);
    let first = reports().filter_map(|report| report.first_departure).min();
    let last = reports().filter_map(|report| report.last_departure).max();
    last.zip(first).map_or(Duration::ZERO, |(last, first)| last.since(first))
}

/// One line for a reader, where there was pressure worth a word.
fn note(result: &TrialResult) -> Option<String> {
    let pressure = &result.pressure;
    let sending = sending_time(result);
    let worth = |waited: Duration| waited.as_secs_f64() > sending.as_secs_f64() * NOTED_SHARE;
    let waits = [Owner::Device, Owner::Tester].into_iter().filter_map(|owner| {
        let longest = pressure.longest_held_up(owner);
        let (thread, waited) = longest.filter(|(_, waited)| worth(*waited))?;
        Some(format!("{owner} thread {} waited {waited} for a processor", thread.name))
    });
    let stolen = worth(pressure.stolen).then(|| format!("{} stolen", pressure.stolen));
    let stops = pressure.threads.iter().filter(|thread| thread.stopped > Duration::ZERO);
    let stops = stops.map(|thread| {
        format!("{} thread {} was stopped for about {}", thread.owner, thread.name, thread.stopped)
    });
    let parts: Vec<String> = waits.chain(stops).chain(stolen).collect();
    (!parts.is_empty()).then(|| format!("held up: {}", parts.join("; ")))
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Owner::Tester => "tester",
            Owner::Device => "device",
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{
        Deferred, DevicePlace, Histogram, Paused, PortSent, Role, Slips, StreamId, StreamResult,
        TransmitReport, Validity,
    };
    use units::{FrameRate, Instant};

    const MS: fn(u64) -> Duration = Duration::from_ms;

    /// A trial of 400 ms in which 4,000 frames were sent and so many of them lost.
    pub(crate) fn trial(lost: u64) -> TrialResult {
        let report = TransmitReport {
            port: PortId(0),
            intended_frames: 4_000,
            sent_frames: 4_000,
            sent_bytes: 256_000,
            sent_of_stream: vec![(StreamId(1), 4_000)],
            first_departure: Some(Instant::ZERO),
            last_departure: Some(Instant::ZERO + MS(400)),
            lateness: Histogram::new(Duration::from_ns(1)),
            late_frames: 0,
            late_after: MS(1),
            slips: Slips::default(),
            paused: Paused::default(),
            deferred: Deferred::default(),
            by_length: None,
        };
        let intended_rate = FrameRate::from_fps(10_000);
        let stream = StreamResult {
            id: StreamId(1),
            name: "test".into(),
            role: Role::Test,
            from: PortId(0),
            mean_frame_size_bytes: 64.0,
            sent: 4_000,
            expected_ports: vec![PortId(1)],
            received: 4_000 - lost,
            lost,
            misdirected: 0,
            duplicates: 0,
            reordered: 0,
            late: 0,
            corrupted: 0,
        };
        TrialResult {
            label: String::new(),
            sent: vec![PortSent { report, intended_rate, dropped_by_tester: 0 }],
            received: vec![],
            counters: vec![],
            streams: vec![stream],
            started_at: Instant::ZERO,
            drained_after: Duration::ZERO,
            action: None,
            device: vec![],
            pressure: Pressure::default(),
            balance: vec![],
            places: vec![],
            clocks: vec![],
            validity: Validity::Valid,
            notes: vec![],
        }
    }

    fn waiting(owner: Owner, waited: Duration) -> ThreadPressure {
        let name = "cpumap/1/map:7".into();
        ThreadPressure {
            owner,
            name,
            ran: MS(100),
            waited,
            held_up: None,
            slices: 20,
            processor: None,
            stopped: Duration::ZERO,
            is_program: false,
        }
    }

    /// A thread that is woken for each of 4,000 frames in 400 ms waits some microseconds for its processor each time.
    /// That holds nobody up, unless it never sleeps, or its waits were few and long.
    #[test]
    fn being_woken_is_no_hold_up() {
        for (ran, waited, slices, held_up) in [
            (MS(100), MS(80), 4_000, MS(0)),
            (MS(300), MS(80), 4_000, MS(60)),
            (MS(320), MS(80), 4_000, MS(80)),
            (MS(100), MS(80), 100, MS(77)),
            (MS(100), MS(150), 4_000, MS(30)),
        ] {
            assert_eq!(
                held_up_in(MS(400), ran, waited, slices),
                held_up,
                "{ran} {waited} {slices}"
            );
        }
    }

    /// A thread that was looked at is judged by what others kept it from, and told by that.
    #[test]
    fn waits_that_hold_nobody_up_decide_nothing() {
        for (held_up, valid) in [(MS(39), true), (MS(41), false)] {
            let mut result = trial(577);
            let held_up = Some(held_up);
            result.pressure.threads =
                vec![ThreadPressure { held_up, ..waiting(Owner::Device, MS(90)) }];
            judge(&mut result, false);
            assert_eq!(result.is_valid(), valid, "held up for {held_up:?} of 400 ms");
        }
    }

    fn link(changes: u64, carrier: bool) -> LinkChanges {
        LinkChanges { owner: Owner::Device, port: PortId(1), changes, carrier }
    }

    fn balance(device_sent: u64, tester_received: u64, tester_dropped: u64) -> PortBalance {
        PortBalance { device_sent, tester_received, tester_dropped, ..PortBalance::at(PortId(1)) }
    }

    /// 10 % of 400 ms are 40 ms.
    #[test]
    fn loss_of_a_device_that_waited_for_its_processor_decides_nothing() {
        for (lost, waited, valid) in
            [(1, MS(41), false), (1, MS(39), true), (0, MS(390), true), (0, MS(0), true)]
        {
            let mut result = trial(lost);
            result.pressure.threads = vec![waiting(Owner::Device, waited)];
            judge(&mut result, false);
            assert_eq!(result.is_valid(), valid, "{lost} lost, waited {waited}");
        }
    }

    /// 4,000 frames in 400 ms: 100 of them come within 10 ms. A program that had no processor for so long may have lost
    /// these, and no more; a thread of the kernel waits for the kernel's other work.
    #[test]
    fn a_program_is_not_blamed_for_what_came_while_it_waited() {
        for (is_program, lost, waited, valid) in [
            (true, 99, MS(10), false),
            (true, 100, MS(10), false),
            (true, 101, MS(10), true),
            (true, 1, MS(0), true),
            (true, 0, MS(10), true),
            (true, 4_000, MS(41), false),
            (false, 99, MS(10), true),
        ] {
            let mut result = trial(lost);
            let thread = ThreadPressure { is_program, ..waiting(Owner::Device, waited) };
            result.pressure.threads = vec![thread];
            judge(&mut result, false);
            assert_eq!(result.is_valid(), valid, "program {is_program}, {lost} lost, {waited}");
        }
        let mut result = trial(99);
        let thread = ThreadPressure { is_program: true, ..waiting(Owner::Device, MS(10)) };
        result.pressure.threads = vec![thread];
        judge(&mut result, false);
        let text = result.invalid_reasons()[0].to_string();
        assert!(text.contains("100 frames came meanwhile"), "{text}");
    }

    #[test]
    fn the_reason_names_thread_wait_and_trial() {
        let mut result = trial(9);
        result.pressure.threads = vec![waiting(Owner::Device, MS(200))];
        judge(&mut result, false);
        let text = result.invalid_reasons()[0].to_string();
        assert!(text.contains("the device was held up"), "{text}");
        assert!(text.contains("waited 200 ms of 400 ms for a processor"), "{text}");
        assert!(result.notes[0].contains("device thread cpumap/1/map:7 waited 200 ms"));
    }

    /// It may have frames yet, or had no room for them: whatever was lost is not its doing.
    #[test]
    fn loss_of_a_device_that_somebody_stopped_decides_nothing() {
        for (lost, stopped, valid) in [(1, MS(1), false), (0, MS(300), true), (9, MS(0), true)] {
            let mut result = trial(lost);
            result.pressure.threads = vec![waiting(Owner::Device, MS(0))];
            result.pressure.threads[0].stopped = stopped;
            judge(&mut result, false);
            assert_eq!(result.is_valid(), valid, "{lost} lost, stopped for {stopped}");
            let told = format!("was stopped for about {stopped}");
            assert_eq!(result.notes.iter().any(|n| n.contains(&told)), stopped > MS(0));
        }
    }

    /// A tester that waits sends late, and is judged by that.
    #[test]
    fn a_wait_of_the_tester_is_noted_and_no_verdict() {
        let mut result = trial(9);
        result.pressure.threads = vec![waiting(Owner::Tester, MS(200))];
        judge(&mut result, false);
        assert!(result.is_valid());
        assert_eq!(result.notes.len(), 1);
        assert!(result.notes[0].starts_with("held up: tester thread"));
    }

    #[test]
    fn a_link_that_changed_unasked_makes_any_trial_invalid() {
        for lost in [0, 7] {
            for (link, valid) in
                [(link(2, true), false), (link(0, false), false), (link(0, true), true)]
            {
                let mut result = trial(lost);
                result.pressure.links = vec![link.clone()];
                judge(&mut result, false);
                assert_eq!(result.is_valid(), valid, "{link:?}");
                let mut reset = trial(lost);
                reset.pressure.links = vec![link];
                judge(&mut reset, true);
                assert!(reset.is_valid(), "it was asked for");
            }
        }
    }

    #[test]
    fn a_frame_that_left_the_device_is_never_its_loss() {
        for (lost, balance, valid) in [
            (5, balance(4_000, 3_995, 0), false),
            (5, balance(3_995, 3_995, 0), true),
            // The device sends frames of its own too, and foreign frames come in before counting begins.
            (5, balance(3_995, 4_010, 0), true),
            // The tester dropped them: that has a reason of its own.
            (5, balance(4_000, 3_995, 5), true),
            (0, balance(4_003, 4_000, 0), true),
        ] {
            let mut result = trial(lost);
            result.balance = vec![balance.clone()];
            judge(&mut result, false);
            assert_eq!(result.is_valid(), valid, "{lost} {balance:?}");
        }
    }

    #[test]
    fn a_frame_that_is_still_within_the_device_is_not_lost() {
        let place = |waiting| DevicePlace {
            name: "tbf of dut1".into(),
            waiting_before: 3,
            waiting,
            ..DevicePlace::default()
        };
        for (lost, waiting, valid) in [(5, 5, false), (5, 1, false), (5, 0, true), (0, 2, true)] {
            let mut result = trial(lost);
            result.places = vec![place(waiting), place(0)];
            judge(&mut result, false);
            assert_eq!(result.is_valid(), valid, "{lost} lost, {waiting} waiting");
            let says = |reason: &InvalidReason| reason.to_string().contains("not yet out");
            assert_eq!(result.invalid_reasons().iter().any(says), !valid);
        }
    }

    /// A counter that is read by SNMP may be that of a moment before.
    #[test]
    fn rough_counts_decide_nothing() {
        let mut result = trial(5);
        result.balance = vec![PortBalance { is_rough: true, ..balance(4_000, 3_995, 0) }];
        judge(&mut result, false);
        assert!(result.is_valid(), "{:?}", result.validity);
    }

    /// A veth counts what it turned away as dropped and not as sent: it is no part of `device_sent`.
    #[test]
    fn what_was_turned_away_was_never_sent() {
        let mut port = balance(4_000, 3_995, 8);
        port.turned_away = 8;
        assert_eq!(port.on_the_way(), 5);
        port.tester_dropped = 10;
        assert_eq!(port.on_the_way(), 3);
    }

    #[test]
    fn an_old_record_has_no_pressure() {
        let mut value = serde_json::to_value(trial(0)).expect("plain data");
        let members = value.as_object_mut().expect("a structure");
        assert!(members.remove("pressure").is_none(), "empty is left out");
        assert!(members.remove("balance").is_none(), "empty is left out");
        let read: TrialResult = serde_json::from_value(value).expect("an old record");
        assert_eq!(read, trial(0));
    }
}
