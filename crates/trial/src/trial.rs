//! One trial: what is sent where and when, and how long everything is waited for.

use crate::{
    Cycle, DeviceAction, Expectation, ExpectedStream, FrameSet, Insertion, InvalidReason,
    LATE_FROM, LATE_MAX, PortCounters, PortId, PortReceived, PortSent, Pressure, QueryCounts,
    ReceivePlan, Residual, Residue, Schedule, Stream, StreamId, StreamReceived, StreamResult,
    Tagging, TesterError, TransmitPlan, TransmitReport, TrialResult, ValidityLimits, Waits, clocks,
    unwanted, validity,
};
use std::collections::BTreeMap;
use units::{Duration, FrameRate, Instant};
use wire::group_message;
use wire::signature::Key;

/// What one port transmits in a trial.
#[derive(Clone, PartialEq, Debug)]
pub struct PortLoad {
    /// The port.
    pub port: PortId,
    /// When frames leave.
    pub schedule: Schedule,
    /// Streams taking turns, round robin; repeat one for more weight.
    pub order: Vec<StreamId>,
    /// Extra streams whose frames replace some test frames.
    pub insertions: Vec<Insertion>,
}

impl PortLoad {
    /// More frames than this the load cannot send of a stream: its share of the turns, and each
    /// time an insertion of it can fire.
    fn frames_max(&self, stream: StreamId, schedule: impl Fn() -> Schedule) -> u64 {
        let frames = self.schedule.frames();
        let turns_in = |order: &[StreamId]| order.iter().filter(|id| **id == stream).count() as u64;
        let rounds = frames.checked_div(self.order.len() as u64).unwrap_or(0);
        let rest = frames.checked_rem(self.order.len() as u64).unwrap_or(0) as usize;
        let turns = rounds * turns_in(&self.order) + turns_in(&self.order[..rest]);
        let insertions = self.insertions.iter().filter(|insertion| insertion.stream == stream);
        let fired: u64 = insertions.map(|i| i.trigger.fires_max(&schedule())).sum();
        frames.min(turns + fired)
    }
}

/// Frames sent before the stream: learning frames and routing updates
/// (RFC 2544 section 23 a and b).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Prelude {
    /// Out of which port.
    pub port: PortId,
    /// Without FCS.
    pub frames: Vec<Vec<u8>>,
    /// How long to wait afterwards.
    pub wait: Duration,
}

/// Frames to be written to a capture file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CaptureRequest {
    /// At which port.
    pub port: PortId,
    /// Sent frames.
    pub sent: bool,
    /// Received frames.
    pub received: bool,
    /// Only these streams; empty for every frame, foreign ones too.
    pub streams: Vec<StreamId>,
    /// At most so many frames.
    pub max_frames: u64,
    /// Where to (pcapng).
    pub path: std::path::PathBuf,
}

/// One trial.
#[derive(Clone, PartialEq, Debug)]
pub struct Trial {
    /// What it is for, in words; part of its identity on resuming.
    pub label: String,
    /// Of the signatures; different from trial to trial, so that a straggler is not taken for a frame
    /// of the next one.
    pub key: Key,
    /// All streams, modifiers included.
    pub streams: Vec<Stream>,
    /// What each transmitting port does; all start together.
    pub loads: Vec<PortLoad>,
    /// Before the streams, in order.
    pub prelude: Vec<Prelude>,
    /// Afterwards.
    pub waits: Waits,
    /// Frames whose latency is kept one by one.
    pub tagging: Option<Tagging>,
    /// Whether each frame of a test stream's period is counted as a flow of its own.
    pub count_flows: bool,
    /// Whether receivers verify transport checksums too.
    pub verify_payload: bool,
    /// Something done to the device, so long after the start.
    pub action: Option<(Duration, DeviceAction)>,
    /// What to capture.
    pub captures: Vec<CaptureRequest>,
    /// Bounds of validity.
    pub limits: ValidityLimits,
}

/// Beyond that a transmitter may still send for so long; what is unsent then is shortfall.
const GRACE: Duration = Duration::from_ms(20);
/// The same where no port is to send faster than `SLOW`: any tester can, unless it is held up.
const GRACE_OF_SLOW: Duration = Duration::from_ms(300);
const SLOW: FrameRate = FrameRate::from_fps(20_000);
/// A trial is longer than intended by at most this share.
const SLIP_MAX: f64 = 0.1;

impl Trial {
    /// Intended time from the first departure to the last.
    pub fn duration(&self) -> Duration {
        self.loads.iter().map(|load| load.schedule.duration()).max().unwrap_or(Duration::ZERO)
    }

    /// When transmitters end, of a trial that began at `start`, however much they have not sent: a
    /// schedule that slipped goes on for a while, so that all frames leave.
    pub fn stops_at(&self, start: Instant) -> Instant {
        let longer = self.duration().as_secs_f64() * SLIP_MAX;
        let is_slow = self.loads.iter().all(|load| fastest(&load.schedule) <= SLOW);
        let grace = if is_slow { GRACE_OF_SLOW } else { GRACE };
        start + self.duration() + Duration::from_secs_f64(longer) + grace
    }

    /// The IGMP and MLD messages that a port's load sends, in order, each with its departure from the start.
    pub fn group_messages(&self, port: PortId) -> Vec<(Duration, Vec<u8>)> {
        let Some(load) = self.loads.iter().find(|load| load.port == port) else { return vec![] };
        let by_id: BTreeMap<StreamId, &Stream> = self.streams.iter().map(|s| (s.id, s)).collect();
        let turns: Vec<&Stream> =
            load.order.iter().filter_map(|id| by_id.get(id).copied()).collect();
        if turns.len() != load.order.len() || !turns.iter().any(|stream| speaks_of_groups(stream)) {
            return vec![];
        }
        let mut sent: BTreeMap<StreamId, usize> = BTreeMap::new();
        let departures = self.schedule_of(load).departures();
        let frames = departures.zip(turns.iter().cycle()).map(|(departure, stream)| {
            let number = sent.entry(stream.id).or_default();
            let frame = &stream.frames[*number % stream.frames.len()];
            *number += 1;
            (departure, frame)
        });
        let said = frames.filter(|(_, frame)| frame.form.is_none());
        said.map(|(departure, frame)| (departure, frame.bytes.clone())).collect()
    }

    /// What each transmitting port needs.
    pub fn transmit_plans(&self) -> Result<Vec<TransmitPlan>, TesterError> {
        self.loads.iter().map(|load| self.transmit_plan(load)).collect()
    }

    fn transmit_plan(&self, load: &PortLoad) -> Result<TransmitPlan, TesterError> {
        let bad = |what: String| TesterError::BadTrial(format!("{}: {what}", load.port));
        let streams: Vec<&Stream> = self.streams.iter().filter(|s| s.from == load.port).collect();
        if let Some(empty) = streams.iter().find(|stream| stream.frames.is_empty()) {
            return Err(bad(format!("stream {} has no frames", empty.name)));
        }
        let index_of = |id: StreamId| {
            let position = streams.iter().position(|stream| stream.id == id);
            position.ok_or_else(|| bad(format!("stream {} does not start here", id.0)))
        };
        let order = load.order.iter().map(|id| index_of(*id)).collect::<Result<Vec<_>, _>>()?;
        let schedule = match Cycle::of(&streams, &order)? {
            Some(cycle) if !load.schedule.is_timed() => load.schedule.clone().by_length(&cycle),
            _ => load.schedule.clone(),
        };
        if order.is_empty() && load.schedule.frames() > 0 {
            return Err(bad("a load without streams".into()));
        }
        let insertions = load.insertions.iter();
        let insertions = insertions.map(|i| Ok((index_of(i.stream)?, i.trigger)));
        Ok(TransmitPlan {
            port: load.port,
            key: self.key,
            set: FrameSet::new(streams.iter().copied()),
            order,
            insertions: insertions.collect::<Result<Vec<_>, TesterError>>()?,
            late_after: self.limits.late_after(load.schedule.mean_rate()),
            credit: self.limits.credit(fastest(&load.schedule)),
            schedule,
        })
    }

    /// What a port needs to account for what arrives.
    pub fn receive_plan(&self, port: PortId) -> ReceivePlan {
        let mut forms: Vec<_> =
            self.streams.iter().flat_map(|s| &s.frames).filter_map(|frame| frame.form).collect();
        forms.sort();
        forms.dedup();
        let signed = self.streams.iter().filter(|s| s.frames.iter().any(|f| f.form.is_some()));
        let streams = signed.map(|stream| ExpectedStream {
            id: stream.id,
            role: stream.role,
            here: stream.expect.includes(port),
            unchecked: stream.expect == Expectation::Unchecked,
            frames_max: self.frames_max(stream),
            lengths_bytes: lengths(stream),
            flows: match self.count_flows && stream.role == crate::Role::Test {
                true => stream.frames.len() as u64,
                false => 0,
            },
            tagging: self.tagging.filter(|tagging| tagging.stream == stream.id),
            fingerprint: stream.fingerprint,
            by_queues: None,
        });
        ReceivePlan {
            port,
            key: self.key,
            forms,
            streams: streams.collect(),
            verify_payload: self.verify_payload,
            clock_slack: clocks::SLACK,
        }
    }

    /// Whether any frame should arrive anywhere.
    pub fn expects_arrivals(&self) -> bool {
        let one = self.streams.iter().map(|stream| (stream.id, 1)).collect();
        self.expected_arrivals(&one).is_some()
    }

    /// How many arrivals there are when nothing is missing of what was sent, by stream; `None`
    /// where nothing is expected.
    pub fn expected_arrivals(&self, sent: &BTreeMap<StreamId, u64>) -> Option<u64> {
        let signed = self.streams.iter().filter(|s| s.frames.iter().all(|f| f.form.is_some()));
        let expected = signed.map(|stream| match &stream.expect {
            Expectation::Ports(ports) => {
                ports.len() as u64 * sent.get(&stream.id).copied().unwrap_or(0)
            }
            Expectation::Unchecked => 0,
        });
        Some(expected.sum()).filter(|arrivals| *arrivals > 0)
    }

    /// More frames than this the loads cannot send of a stream.
    fn frames_max(&self, stream: &Stream) -> u64 {
        let loads = self.loads.iter().filter(|load| load.port == stream.from);
        loads.map(|load| load.frames_max(stream.id, || self.schedule_of(load))).sum()
    }

    /// A load's schedule by the lengths of its frames, where they differ.
    fn schedule_of(&self, load: &PortLoad) -> Schedule {
        let plan = self.transmit_plan(load);
        plan.map_or_else(|_| load.schedule.clone(), |plan| plan.schedule)
    }

    /// Puts together and judges what the ports report of a trial in which residual frames were
    /// waited for until `drained_at`; for `late` of that wait the machine was late, and it did not count.
    pub fn conclude(
        &self,
        (started_at, drained_at, late): (Instant, Instant, Duration),
        reports: Vec<(TransmitReport, u64)>,
        received: Vec<PortReceived>,
        counters: Vec<PortCounters>,
    ) -> TrialResult {
        let sent: Vec<PortSent> = reports
            .into_iter()
            .map(|(report, dropped_by_tester)| {
                let load = self.loads.iter().find(|load| load.port == report.port);
                let intended_rate = load.map(|load| load.schedule.mean_rate());
                let intended_rate = intended_rate.unwrap_or(FrameRate::ZERO);
                PortSent { report, intended_rate, dropped_by_tester }
            })
            .collect();
        let sent_of = sent_of_stream(&sent);
        let accounts = accounts_of_stream(&received);
        let of = |stream: &Stream| {
            let sent = sent_of.get(&stream.id).copied().unwrap_or(0);
            stream_result(stream, sent, accounts.get(&stream.id).map_or(&[], |all| all))
        };
        let streams: Vec<StreamResult> = self.streams.iter().map(of).collect();
        let validity = validity::judge(&self.limits, &sent, &received, &counters);
        let last_departure = sent.iter().filter_map(|sent| sent.report.last_departure).max();
        let last_departure = last_departure.unwrap_or(started_at);
        let mut result = TrialResult {
            label: self.label.clone(),
            sent,
            received,
            counters,
            streams,
            started_at,
            drained_after: drained_at.since(last_departure),
            action: None,
            device: vec![],
            pressure: Pressure::default(),
            balance: vec![],
            places: vec![],
            clocks: vec![],
            validity,
            notes: vec![],
        };
        result.notes.extend(result.counters.iter().filter_map(group_queries));
        self.judge_residue(&mut result, (last_departure, late));
        unwanted::judge(self, &mut result);
        result
    }

    /// A frame that comes out after the wait is not lost by the device: what it was waited for was
    /// too short. A wait that had to be longer than asked for is told.
    fn judge_residue(&self, result: &mut TrialResult, (last_departure, late): (Instant, Duration)) {
        let (waited, late_frames) = (result.drained_after, result.late_frames());
        let accounts = || result.expected_accounts().map(|received| &received.account);
        let residue = Residue {
            last_departure,
            last_arrival: result.last_arrival(),
            last_leftover: None,
            longest_delay: accounts().filter_map(|account| account.latency.max()).max(),
            outcome: match result.lost_frames() {
                0 => Residual::Complete,
                _ => Residual::Missing,
            },
        };
        if late_frames > 0 || self.waits.cut_short(&residue, last_departure + waited) {
            result.invalidate(InvalidReason::StillArriving { waited, late_frames });
        }
        if late > LATE_MAX {
            result.invalidate(InvalidReason::MachineLate { late });
        } else if late > LATE_FROM {
            result.notes.push(format!(
                "the machine was late by {late} while residual frames were waited for; that time did not count"
            ));
        }
        let waited = waited.saturating_sub(late);
        let longer = waited.saturating_sub(self.waits.drain);
        if self.waits.drain > Duration::ZERO && longer > Duration::from_ms(100) {
            result.notes.push(format!(
                "residual frames were waited for for {waited} instead of {}: the device kept frames \
                 that long",
                self.waits.drain
            ));
        }
    }
}

/// The highest rate of any part of a schedule.
fn fastest(schedule: &Schedule) -> FrameRate {
    let rates = schedule.segments.iter().map(|segment| segment.rate);
    rates.max().unwrap_or(FrameRate::ZERO)
}

/// Lengths without FCS as they should arrive; one entry where all are alike.
fn lengths(stream: &Stream) -> Vec<u32> {
    let mut lengths: Vec<u32> =
        stream.frames.iter().map(|frame| arrives_with(stream, frame.bytes.len() as u32)).collect();
    if lengths.iter().all(|length| *length == lengths[0]) {
        lengths.truncate(1);
    }
    lengths
}

/// Whether any of its frames is a host's message of IGMP or MLD.
fn speaks_of_groups(stream: &Stream) -> bool {
    let unsigned = stream.frames.iter().filter(|frame| frame.form.is_none());
    unsigned.into_iter().any(|frame| group_message::parse(&frame.bytes).is_some())
}

/// Bytes of a frame as it should arrive.
fn arrives_with(stream: &Stream, len: u32) -> u32 {
    len.saturating_add_signed(stream.grows_by_bytes)
}

/// What a reader should know of the queries that came to a port.
fn group_queries(counters: &PortCounters) -> Option<String> {
    let QueryCounts { queries, reports, .. } = counters.group_queries;
    (queries > 0).then(|| {
        format!(
            "{}: {queries} IGMP or MLD queries came, {reports} reports answered them",
            counters.port
        )
    })
}

/// Frames sent of each stream: looked up, since a mesh has thousands.
fn sent_of_stream(sent: &[PortSent]) -> BTreeMap<StreamId, u64> {
    let mut counts = BTreeMap::new();
    for (stream, count) in sent.iter().flat_map(|port| &port.report.sent_of_stream) {
        *counts.entry(*stream).or_default() += count;
    }
    counts
}

/// The accounts of each stream, port after port.
fn accounts_of_stream(received: &[PortReceived]) -> BTreeMap<StreamId, Vec<&StreamReceived>> {
    let mut accounts: BTreeMap<StreamId, Vec<&StreamReceived>> = BTreeMap::new();
    for account in received.iter().flat_map(|port| &port.streams) {
        accounts.entry(account.stream).or_default().push(account);
    }
    accounts
}

fn stream_result(stream: &Stream, sent: u64, accounts: &[&StreamReceived]) -> StreamResult {
    let accounts = || accounts.iter();
    let expected = || accounts().filter(|r| r.expected || r.unchecked);
    let expected_ports = match &stream.expect {
        Expectation::Ports(ports) if stream.frames.iter().all(|f| f.form.is_some()) => {
            ports.clone()
        }
        _ => vec![],
    };
    let forwarded = expected().map(|r| r.account.unique).sum();
    StreamResult {
        id: stream.id,
        name: stream.name.clone(),
        role: stream.role,
        from: stream.from,
        mean_frame_size_bytes: stream.mean_frame_size_bytes(),
        sent,
        lost: (sent * expected_ports.len() as u64).saturating_sub(forwarded),
        expected_ports,
        received: forwarded,
        misdirected: accounts()
            .filter(|r| !r.expected && !r.unchecked)
            .map(|r| r.account.arrivals())
            .sum(),
        duplicates: expected().map(|r| r.account.duplicates).sum(),
        reordered: expected().map(|r| r.account.reordered).sum(),
        late: expected().map(|r| r.account.late).sum(),
        corrupted: accounts().map(|r| r.account.corrupted).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{StreamFrame, Trigger};
    use units::FrameRate;

    #[test]
    fn a_machine_that_is_late_for_too_long_makes_a_trial_invalid() {
        let trial = Trial::new("nothing", Key::from_seed(1));
        let conclude = |late_ms| {
            let drained = Instant::ZERO + Duration::from_ms(6_000);
            let over = (Instant::ZERO, drained, Duration::from_ms(late_ms));
            trial.conclude(over, vec![], vec![], vec![])
        };
        let notes = |result: &TrialResult| result.notes.join("\n");
        assert_eq!(
            (conclude(0).invalid_reasons().len(), notes(&conclude(0)).contains("late")),
            (0, false)
        );
        let late = conclude(5_000);
        assert!(late.invalid_reasons().is_empty(), "{late:?}");
        assert!(notes(&late).contains("late by 5 s while residual frames were waited for"));
        let reasons = conclude(5_001);
        let reasons: Vec<String> =
            reasons.invalid_reasons().iter().map(ToString::to_string).collect();
        assert!(reasons.len() == 1 && reasons[0].contains("late by 5.001 s"), "{reasons:?}");
    }

    /// Frames at 0, 100, 200 and 300 ms, of two streams in turn; the second says something at 100 and at 300 ms.
    #[test]
    fn what_hosts_say_in_a_trial_has_its_departure() {
        let host = (wire::ethernet::MacAddr([2, 0, 0, 0, 0, 2]), [198, 19, 1, 2].into());
        let messages = [1, 2].map(|n| {
            let group = std::net::Ipv4Addr::new(239, 1, 2, n);
            wire::igmp::Repr::V2Report { group }.frame(host)
        });
        let stream = |id, frames: Vec<Vec<u8>>| Stream {
            id: StreamId(id),
            name: "one".into(),
            role: crate::Role::Modifier,
            from: PortId(1),
            expect: Expectation::Unchecked,
            frames: frames.into_iter().map(|bytes| StreamFrame { bytes, form: None }).collect(),
            fingerprint: None,
            given_up: vec![],
            bad_fcs: false,
            grows_by_bytes: 0,
        };
        let mut trial = Trial::new("reports", Key::from_seed(1));
        trial.streams = vec![stream(1, vec![vec![0; 60]]), stream(2, messages.to_vec())];
        let segments = vec![crate::Segment::constant(FrameRate::from_fps(10), 4)];
        trial.loads = vec![PortLoad {
            port: PortId(1),
            schedule: Schedule { segments },
            order: [1, 2].map(StreamId).to_vec(),
            insertions: vec![],
        }];
        let said = trial.group_messages(PortId(1));
        let said: Vec<_> = said.into_iter().filter(|(_, frame)| frame[12] == 8).collect();
        let [first, second] = messages;
        assert_eq!(said, [(Duration::from_ms(100), first), (Duration::from_ms(300), second)]);
        assert_eq!(trial.group_messages(PortId(0)), vec![]);
    }

    /// Seven frames, taking turns 1 2 2: 1 2 2 1 2 2 1.
    #[test]
    fn no_stream_can_send_more_than_its_turns_and_insertions() {
        let insert = |stream, trigger| Insertion { stream: StreamId(stream), trigger };
        let load = PortLoad {
            port: PortId(0),
            schedule: Schedule::constant(FrameRate::from_fps(1_000), Duration::from_ms(7)),
            order: [1, 2, 2].map(StreamId).to_vec(),
            insertions: vec![
                insert(3, Trigger::Frames { first: 1, every: 3 }),
                insert(
                    4,
                    Trigger::Interval { first: Duration::from_ms(2), every: Duration::from_ms(4) },
                ),
            ],
        };
        let frames_max = |id| load.frames_max(StreamId(id), || load.schedule.clone());
        assert_eq!((frames_max(1), frames_max(2)), (3, 4));
        assert_eq!((frames_max(3), frames_max(4)), (2, 2), "frames 1 and 4; 2 ms and 6 ms");
        assert_eq!(frames_max(5), 0);
    }
}
