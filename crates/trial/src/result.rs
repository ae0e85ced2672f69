//! What came of a trial: counts, and ratios derived from them.

use crate::{
    DeviceCount, DevicePlace, FlowCounts, Histogram, InvalidReason, Leftovers, Missing,
    PortBalance, PortClock, PortId, Pressure, QueryCounts, Role, Schedule, Slips, StreamAccount,
    StreamId, Validity,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use units::{Duration, FrameRate, Instant};

/// What a transmitter did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransmitReport {
    /// The port.
    pub port: PortId,
    /// Frames that the schedule held.
    pub intended_frames: u64,
    /// Frames that left.
    pub sent_frames: u64,
    /// Their bytes, FCS included.
    pub sent_bytes: u64,
    /// Frames that left, by stream.
    pub sent_of_stream: Vec<(StreamId, u64)>,
    /// When the first left.
    pub first_departure: Option<Instant>,
    /// When the last left.
    pub last_departure: Option<Instant>,
    /// Departure minus due time, of every frame.
    pub lateness: Histogram,
    /// Frames that left more than `late_after` after they were due.
    pub late_frames: u64,
    /// Bound of what counts as late.
    pub late_after: Duration,
    /// What it gave up of its lateness.
    #[serde(default)]
    pub slips: Slips,
    /// What the device asked of it by flow control.
    #[serde(default)]
    pub paused: Paused,
    /// How long others kept it from a medium that they share with it.
    #[serde(default, skip_serializing_if = "Deferred::is_none")]
    pub deferred: Deferred,
    /// Where frames are spaced by their lengths, and so not evenly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_length: Option<ByLength>,
}

/// How far apart first and last frame were to be where gaps differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByLength {
    /// Mean rate of the schedule.
    pub rate: FrameRate,
    /// Intended time from the first departure to the last of those that were sent.
    pub to_last: Duration,
    /// Bytes on the medium of the longest frame.
    #[serde(default)]
    pub longest_bytes: u32,
    /// By how many bytes a frame differs from the one before it on average, rounded up.
    #[serde(default)]
    pub step_bytes: u32,
}

impl ByLength {
    /// Of a schedule of one pace whose frames differ in length; nothing has left yet.
    pub fn of(schedule: &Schedule) -> Option<ByLength> {
        let [only] = &schedule.segments[..] else { return None };
        let cycle = only.by_length.as_ref().filter(|_| only.bursts.is_none())?;
        Some(ByLength {
            rate: only.rate,
            to_last: Duration::ZERO,
            longest_bytes: cycle.longest_bytes(),
            step_bytes: cycle.step_bytes(),
        })
    }
}

/// Pauses that a device asked for (IEEE 802.3 annex 31B). The time is the device's doing: it takes
/// nothing from the tester's validity, and all of it from the offered load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paused {
    /// PAUSE frames received.
    pub frames: u64,
    /// By how much they made the last frame later.
    pub time: Duration,
}

/// What a port waited for a half-duplex medium: others' frames, collisions and back-off (IEEE 802.3
/// section 4.2.3.2). A tester on such a medium tries to send the intended load, and offers what the
/// medium took of it (RFC 2285 sections 3.5.1 and 3.5.2): this time takes nothing from its validity, and
/// all of it from the offered load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deferred {
    /// Frames that waited.
    pub frames: u64,
    /// By how much the schedule moved: what frames waited beyond the credit that is made up for.
    pub time: Duration,
    /// By how much the last frame was late for the medium's sake, within that credit.
    pub lag: Duration,
}

impl Deferred {
    /// Whether no frame waited.
    pub fn is_none(&self) -> bool {
        *self == Deferred::default()
    }
}

impl TransmitReport {
    /// By how much device and medium moved the schedule: by pauses, and by a medium that was taken. It
    /// was not the tester that sent less for it.
    pub fn held_back(&self) -> Duration {
        self.paused.time + self.deferred.time
    }
    /// Rate at which frames really left: frames but one over the time from first to last. Where gaps
    /// differ, mean gaps over that time.
    pub fn sent_rate(&self) -> Option<FrameRate> {
        let span = self.last_departure?.since(self.first_departure?);
        let gaps = Some(self.gaps()).filter(|gaps| *gaps > 0.0)?;
        let seconds = span.as_secs_f64();
        (seconds > 0.0).then(|| FrameRate::from_fps_f64(gaps / seconds))
    }
    /// How many gaps of mean length lie between the first departure and the last.
    pub(crate) fn gaps(&self) -> f64 {
        match self.by_length {
            Some(ByLength { rate, to_last, .. }) => rate.fps() * to_last.as_secs_f64(),
            None => self.sent_frames.saturating_sub(1) as f64,
        }
    }
    /// Of a schedule, begun at `start`, that somebody ended at `ended`: only what was due by then was
    /// intended. Transmitters hear of the end a moment later, and may have sent a little more.
    pub fn end_at(&mut self, schedule: &Schedule, (start, ended): (Instant, Instant)) {
        let moved = self.held_back() + self.slips.total;
        let due = schedule.frames_before(ended.since(start).saturating_sub(moved));
        self.intended_frames = due.max(self.sent_frames).min(self.intended_frames);
    }
    /// From the first departure to one mean interval after the last; of a single frame nothing.
    pub fn sending_time(&self) -> Duration {
        let span =
            self.last_departure.zip(self.first_departure).map(|(last, first)| last.since(first));
        and_one_interval(span.unwrap_or_default(), self.sent_frames)
    }
}

/// A time from the first of so many frames to the last, and one mean interval.
fn and_one_interval(span: Duration, frames: u64) -> Duration {
    let intervals = u128::from(frames.saturating_sub(1).max(1));
    let interval_ps = u128::from(span.as_ps()) / intervals;
    span + Duration::from_ps(u64::try_from(interval_ps).unwrap_or(u64::MAX))
}

/// What arrived of several streams at one place.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrived {
    frames: u64,
    first_at: Option<Instant>,
    last_at: Option<Instant>,
}

impl Arrived {
    /// Takes in what arrived of one more stream.
    pub fn add(&mut self, account: &StreamAccount) {
        self.frames += account.unique;
        self.first_at = self.first_at.into_iter().chain(account.first_at).min();
        self.last_at = self.last_at.into_iter().chain(account.last_at).max();
    }
    /// Frames a second over the time in which they were sent or, where that is longer, over the time
    /// in which they arrived: out of no port more comes than its medium takes.
    pub fn rate_fps(&self, sending: Duration) -> f64 {
        let span = self.last_at.zip(self.first_at).map(|(last, first)| last.since(first));
        let arriving = and_one_interval(span.unwrap_or_default(), self.frames);
        match sending.max(arriving).as_secs_f64() {
            0.0 => 0.0,
            seconds => self.frames as f64 / seconds,
        }
    }
}

/// The transmit side of one port with the judgement base: what it should and did send.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortSent {
    /// What the transmitter says.
    pub report: TransmitReport,
    /// Rate that was asked for, averaged over the schedule.
    pub intended_rate: FrameRate,
    /// Frames the transmitter handed over but the interface did not send.
    pub dropped_by_tester: u64,
}

impl PortSent {
    /// Rate that was offered: that at which frames really left, but no more than intended. What left
    /// faster did so to catch up with a schedule that it had fallen behind; `None` where less than two
    /// frames left.
    pub fn offered_rate(&self) -> Option<FrameRate> {
        self.report.sent_rate().map(|rate| rate.min(self.intended_rate))
    }
    /// Frames that may have left beyond the intended rate at any time: those of the credit, rounded
    /// up.
    pub fn credit_frames(&self) -> u64 {
        let interval_ps = self.intended_rate.interval().as_ps().max(1);
        // A credit is in whole nanoseconds, rounded up.
        self.report.slips.credit.as_ps().saturating_sub(999).div_ceil(interval_ps)
    }
}

/// The receive side of one port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortReceived {
    /// The port.
    pub port: PortId,
    /// Signed streams of the trial that were expected here, and those that arrived all the same.
    pub streams: Vec<StreamReceived>,
    /// Frames that are none of ours.
    pub foreign: u64,
    /// Their bytes, FCS included.
    pub foreign_bytes: u64,
    /// Frames that bear a stream's fingerprint but no good signature.
    pub corrupted: u64,
    /// Frames that bear the run's check but the tag of none of its trials: somebody made or changed
    /// them who does not know the run's key.
    #[serde(default)]
    pub forged: u64,
    /// Frames of earlier trials of the run.
    #[serde(default, skip_serializing_if = "Leftovers::is_empty")]
    pub leftovers: Leftovers,
}

/// One stream on one port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamReceived {
    /// Where.
    pub port: PortId,
    /// Which.
    pub stream: StreamId,
    /// Whether it should arrive here.
    pub expected: bool,
    /// Whether it may arrive anywhere or nowhere.
    pub unchecked: bool,
    /// What did not arrive of what was sent (zero where it was not expected).
    pub missing: Missing,
    /// What did of each flow, where flows are counted.
    #[serde(default, skip_serializing_if = "FlowCounts::is_empty")]
    pub flows: FlowCounts,
    /// What did.
    pub account: StreamAccount,
}

/// The interface's own counters over the trial, and the drops that are the tester's own.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PortCounters {
    /// The port.
    pub port: PortId,
    /// Frames that the interface says it sent; `None` where it cannot say.
    pub interface_sent: Option<u64>,
    /// Frames that the interface says it received; `None` where it cannot say.
    pub interface_received: Option<u64>,
    /// Frames the tester itself lost on the way in, by the name of the counter
    /// ("ring full", "tp_drops", "rx_dropped", ...).
    pub tester_drops: Vec<(String, u64)>,
    /// Requests and replies that the tester answered or consumed itself (ARP, ND, SNMP).
    pub control_frames: u64,
    /// Frames that came in with a bad FCS; `None` where the port cannot say.
    #[serde(default)]
    pub bad_fcs: Option<u64>,
    /// Whole answers to management queries (RFC 2544 section 11.2) that came in; `None` where nobody looked.
    #[serde(default)]
    pub management_answers: Option<u64>,
    /// Queries for members of multicast groups, and the reports of the tester's hosts in answer.
    #[serde(default)]
    pub group_queries: QueryCounts,
}

/// One stream over the whole trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamResult {
    /// Which.
    pub id: StreamId,
    /// For people.
    pub name: String,
    /// Test stream or modifier.
    pub role: Role,
    /// Where it entered the device.
    pub from: PortId,
    /// Mean frame size with FCS, in bytes.
    pub mean_frame_size_bytes: f64,
    /// Frames that left.
    pub sent: u64,
    /// Ports where it should arrive.
    pub expected_ports: Vec<PortId>,
    /// Different frames that arrived in time where they should, over all such ports.
    pub received: u64,
    /// sent x expected ports - received.
    pub lost: u64,
    /// Arrivals on ports where it should not arrive.
    pub misdirected: u64,
    /// Second arrivals where it should arrive.
    pub duplicates: u64,
    /// Out of order (RFC 4737).
    pub reordered: u64,
    /// After the drain time.
    pub late: u64,
    /// Signature good but checksum, number or time bad.
    pub corrupted: u64,
}

/// What came of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialResult {
    /// What the trial was for, in words.
    pub label: String,
    /// Transmit side.
    pub sent: Vec<PortSent>,
    /// Receive side.
    pub received: Vec<PortReceived>,
    /// Interfaces' own counters and tester drops.
    pub counters: Vec<PortCounters>,
    /// By stream, over all ports.
    pub streams: Vec<StreamResult>,
    /// Start of the schedule on the tester's clock.
    pub started_at: Instant,
    /// How long residual frames were waited for after the last frame had left.
    #[serde(default)]
    pub drained_after: Duration,
    /// When a device action asked for in the trial began and ended.
    pub action: Option<(Instant, Instant)>,
    /// What the device itself counted, where its counters are read.
    #[serde(default)]
    pub device: Vec<DeviceCount>,
    /// What held up tester and device.
    #[serde(default, skip_serializing_if = "Pressure::is_empty")]
    pub pressure: Pressure,
    /// Frames counted at the tester's interfaces and the device's, by port, where the device's can be
    /// read; [`Balance::of`](crate::Balance::of) puts them together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub balance: Vec<PortBalance>,
    /// Where the device dropped and kept frames; places where nothing happened are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<DevicePlace>,
    /// How well the clocks of ports on other hosts were known, where there are any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clocks: Vec<PortClock>,
    /// Whether the tester itself kept up.
    pub validity: Validity,
    /// What the reader should know of this trial (cores shared, rings chosen, ...).
    pub notes: Vec<String>,
}

impl TrialResult {
    fn test_streams(&self) -> impl Iterator<Item = &StreamResult> {
        self.streams.iter().filter(|stream| stream.role == Role::Test)
    }
    /// Frames that the schedules held (with the frames of modifiers, which replace test frames).
    pub fn intended_frames(&self) -> u64 {
        self.sent.iter().map(|sent| sent.report.intended_frames).sum()
    }
    /// Test frames that left.
    pub fn offered_frames(&self) -> u64 {
        self.test_streams().map(|stream| stream.sent).sum()
    }
    /// Test frames that should have come out: each as often as it has expected ports.
    pub fn expected_frames(&self) -> u64 {
        self.test_streams().map(|stream| stream.sent * stream.expected_ports.len() as u64).sum()
    }
    /// Test frames that came out where and when they should, each counted once a port.
    pub fn forwarded_frames(&self) -> u64 {
        self.test_streams().map(|stream| stream.received).sum()
    }
    /// Test frames that did not.
    pub fn lost_frames(&self) -> u64 {
        self.test_streams().map(|stream| stream.lost).sum()
    }
    /// Frame loss rate, 0 to 1: (input - output) / input (RFC 2544 section 26.3).
    pub fn loss_ratio(&self) -> f64 {
        self.lost_frames() as f64 / (self.expected_frames().max(1)) as f64
    }
    /// Ports that send test frames; others send keep-alives.
    fn test_ports(&self) -> impl Iterator<Item = &PortSent> {
        let is_tested = |port| self.test_streams().any(|stream| stream.from == port);
        self.sent.iter().filter(move |sent| is_tested(sent.report.port))
    }
    /// Intended load over all ports that transmit test frames.
    pub fn intended_rate(&self) -> FrameRate {
        FrameRate::from_fps_f64(self.test_ports().map(|sent| sent.intended_rate.fps()).sum())
    }
    /// Offered load over all ports that transmit test frames, as measured at departure
    /// (RFC 2285 section 3.5.2). A port that sent a single frame offered the rate that was asked for.
    pub fn offered_rate(&self) -> FrameRate {
        // Of a single frame no rate can be measured: it left as it was asked for.
        let has_sent = |sent: &&PortSent| sent.report.sent_frames > 0;
        let rates = self
            .test_ports()
            .filter(has_sent)
            .map(|sent| sent.offered_rate().unwrap_or(sent.intended_rate));
        FrameRate::from_fps_f64(rates.map(FrameRate::fps).sum())
    }
    /// The slowest transmitting port's rate as measured at departure; `None` where none sent.
    pub fn slowest_sent_rate(&self) -> Option<FrameRate> {
        self.sent.iter().filter_map(|sent| sent.report.sent_rate()).min()
    }
    /// Forwarding rate: frames that came out over the time in which they were sent or, where that is
    /// longer, arrived (RFC 2285 section 3.6.1, over the whole trial). What waits in the device when
    /// the last frame leaves comes out later, and is no part of what it forwards in a second.
    pub fn forwarding_rate(&self) -> FrameRate {
        let as_sent = self.offered_rate().scaled(1.0 - self.loss_ratio());
        let sending = self.sending_time();
        let ports = self.received.iter().map(|port| self.forwarding_rate_at(port.port, sending));
        as_sent.min(FrameRate::from_fps_f64(ports.sum()))
    }
    /// The same of one receiving port, in frames a second.
    fn forwarding_rate_at(&self, port: PortId, sending: Duration) -> f64 {
        let mut arrived = Arrived::default();
        let here = self.expected_accounts().filter(|received| received.port == port);
        here.for_each(|received| arrived.add(&received.account));
        arrived.rate_fps(sending)
    }
    /// From the first departure to one interval after the last, over all ports that send test frames.
    fn sending_time(&self) -> Duration {
        let times = self.test_ports().map(|sent| sent.report.sending_time());
        times.max().unwrap_or(Duration::ZERO)
    }
    /// Latency of all test streams where they were expected; `None` where none measures it.
    pub fn latency(&self) -> Option<Histogram> {
        let mut merged: Option<Histogram> = None;
        for received in self.expected_accounts() {
            match &mut merged {
                Some(histogram) => histogram.merge(&received.account.latency),
                None => merged = Some(received.account.latency.clone()),
            }
        }
        merged.filter(|histogram| histogram.count() > 0)
    }
    /// Accounts of test streams on the ports where they should arrive.
    pub fn expected_accounts(&self) -> impl Iterator<Item = &StreamReceived> {
        let tested: BTreeSet<StreamId> = self.test_streams().map(|stream| stream.id).collect();
        let all = self.received.iter().flat_map(|port| &port.streams);
        all.filter(move |received| received.expected && tested.contains(&received.stream))
    }
    /// Time between the first port's first departure and the last port's (RFC 2889 appendix B.2):
    /// zero with a single port.
    pub fn start_skew(&self) -> Duration {
        let starts = || self.sent.iter().filter_map(|sent| sent.report.first_departure);
        let (Some(first), Some(last)) = (starts().min(), starts().max()) else {
            return Duration::ZERO;
        };
        last.since(first)
    }
    /// Flood count (RFC 2285 section 3.8.3): test frames on ports where they should not arrive.
    pub fn flood_count(&self) -> u64 {
        self.test_streams().map(|stream| stream.misdirected).sum()
    }
    /// The slowest port's offered load, of those that transmit test frames.
    pub fn least_offered_rate(&self) -> Option<FrameRate> {
        self.test_ports().map(|sent| sent.offered_rate()).min()?
    }
    /// When the last test frame arrived where it should, if any did.
    pub fn last_arrival(&self) -> Option<Instant> {
        self.expected_accounts().filter_map(|received| received.account.last_at).max()
    }
    /// Test frames that arrived after the wait for residual frames was over.
    pub fn late_frames(&self) -> u64 {
        self.test_streams().map(|stream| stream.late).sum()
    }
    /// Frames that the tester itself lost on the way in.
    pub fn tester_drops(&self) -> u64 {
        let drops = self.counters.iter().flat_map(|port| &port.tester_drops);
        drops.map(|(_, count)| count).sum()
    }
    /// What every latency may be wrong by, at most, since its ends are on two hosts; zero where they are on one.
    pub fn clock_error(&self) -> Duration {
        crate::clocks::latency_error(&self.clocks, self.counters.len())
    }
    /// [`latency`](Self::latency) where it is stated without the error of clocks: all ports are on one host.
    pub fn own_latency(&self) -> Option<Histogram> {
        self.latency().filter(|_| self.clock_error() == Duration::ZERO)
    }
    /// Adds a reason why the trial may not decide anything, unless it is known already.
    pub fn invalidate(&mut self, reason: InvalidReason) {
        match &mut self.validity {
            Validity::Valid => self.validity = Validity::Invalid(vec![reason]),
            Validity::Invalid(reasons) if reasons.contains(&reason) => {}
            Validity::Invalid(reasons) => reasons.push(reason),
        }
    }
    /// Whether the tester kept up, so that the trial may decide something.
    pub fn is_valid(&self) -> bool {
        matches!(self.validity, Validity::Valid)
    }
    /// Why the trial may not decide anything.
    pub fn invalid_reasons(&self) -> &[InvalidReason] {
        match &self.validity {
            Validity::Valid => &[],
            Validity::Invalid(reasons) => reasons,
        }
    }
}

impl PortReceived {
    /// Nothing arrived.
    pub fn nothing(port: PortId) -> Self {
        PortReceived {
            port,
            streams: vec![],
            foreign: 0,
            foreign_bytes: 0,
            corrupted: 0,
            forged: 0,
            leftovers: Leftovers::default(),
        }
    }
    /// Flood count of the port (RFC 2285 section 3.8.3): frames of ours that belong elsewhere.
    pub fn flood_count(&self) -> u64 {
        let elsewhere = self.streams.iter().filter(|stream| !stream.expected && !stream.unchecked);
        elsewhere.map(|stream| stream.account.arrivals()).sum()
    }
    /// Every frame that arrived on the port.
    pub fn arrivals(&self) -> u64 {
        let ours: u64 = self.streams.iter().map(|received| received.account.arrivals()).sum();
        ours + self.foreign + self.corrupted + self.forged + self.leftovers.total()
    }
}
