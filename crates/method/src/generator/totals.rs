//! What became of traffic: counts over all its stretches, and what happened in a second of it.

use super::Mix;
use std::collections::{BTreeMap, BTreeSet};
use trial::{
    Balance, Fate, Histogram, InvalidReason, Role, Sample, StreamId, TrialResult, sent_of_flow,
};
use units::{Duration, FrameRate};

/// What became of one stream in one direction.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct StreamTotals {
    /// Frames that left.
    pub sent: u64,
    /// Different frames that arrived in time where they should.
    pub received: u64,
    /// Frames that did not.
    pub lost: u64,
    /// Frames out of order.
    pub reordered: u64,
    /// Latency; none where frames bear no time, or none came.
    pub latency: Option<Histogram>,
}

/// Adds a histogram to one that may not be there yet.
fn merge(into: &mut Option<Histogram>, latency: Option<&Histogram>) {
    let Some(latency) = latency.filter(|latency| latency.count() > 0) else { return };
    match into {
        Some(all) => all.merge(latency),
        none => *none = Some(latency.clone()),
    }
}

/// Everything from the first frame to the last.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Totals {
    /// Frames that left.
    pub sent: u64,
    /// Their bytes, FCS included.
    pub sent_bytes: u64,
    /// Different frames that arrived in time where they should.
    pub received: u64,
    /// Frames that did not.
    pub lost: u64,
    /// Frames out of order (RFC 4737).
    pub reordered: u64,
    /// Frames that came twice.
    pub duplicates: u64,
    /// Frames that came damaged.
    pub corrupted: u64,
    /// Frames that came after the wait for them was over; they count as lost.
    pub late: u64,
    /// Frames that came where they should not.
    pub misdirected: u64,
    /// Latency; none where frames bear no time, or none came.
    pub latency: Option<Histogram>,
    /// What every latency may be wrong by, since its ends are on two hosts; zero where they are on one.
    pub clock_error: Duration,
    /// How that is known, in words; empty where they are on one.
    pub clock_known_by: BTreeSet<String>,
    /// From the first departure to one interval after the last, of every stretch.
    pub sending: Duration,
    /// Frames that the load asked for would have been in that time.
    pub intended: f64,
    /// Flows of all streams, and those that lost frames; none where flows were not asked for.
    pub flows: Option<(u64, u64)>,
    /// By stream and direction, where there are several streams.
    pub streams: BTreeMap<String, StreamTotals>,
    /// Stretches without a pause in sending.
    pub stretches: u64,
    /// Why the tester fell short, where it did.
    pub invalid: Vec<InvalidReason>,
    /// Frames that the device dropped, by the place that counts them.
    pub dropped_at: BTreeMap<String, u64>,
    /// Time between stretches in which no frame left, pauses that were asked for left out.
    pub between: Duration,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// Lost frames of each flow so far, by stream.
    pub(super) lost_of_flow: BTreeMap<StreamId, Vec<u64>>,
}

impl Totals {
    /// Lost frames as a share of those sent.
    pub fn loss_ratio(&self) -> f64 {
        self.lost as f64 / self.sent.max(1) as f64
    }
    /// What left, as a share of the load asked for; 1 where nothing was.
    pub fn load_share(&self) -> f64 {
        if self.intended > 0.0 { (self.sent as f64 / self.intended).min(1.0) } else { 1.0 }
    }
    /// Frames a second that left while there was sending, over all ports.
    pub fn sent_rate(&self) -> FrameRate {
        self.rate(self.sent)
    }
    /// Of these, those that came out.
    pub fn received_rate(&self) -> FrameRate {
        self.rate(self.received)
    }
    fn rate(&self, frames: u64) -> FrameRate {
        match self.sending.as_secs_f64() {
            0.0 => FrameRate::ZERO,
            seconds => FrameRate::from_fps_f64(frames as f64 / seconds),
        }
    }

    /// Adds a stretch of these streams.
    pub(super) fn add(&mut self, result: &TrialResult, mix: &Mix) {
        let streams = || result.streams.iter().filter(|stream| stream.role == Role::Test);
        self.stretches += 1;
        self.sent += result.expected_frames();
        self.received += result.forwarded_frames();
        self.lost += result.lost_frames();
        for stream in streams() {
            self.sent_bytes += (stream.sent as f64 * stream.mean_frame_size_bytes).round() as u64;
            self.reordered += stream.reordered;
            self.duplicates += stream.duplicates;
            self.corrupted += stream.corrupted;
            self.late += stream.late;
            self.misdirected += stream.misdirected;
        }
        self.corrupted += result.received.iter().map(|port| port.corrupted).sum::<u64>();
        merge(&mut self.latency, result.latency().as_ref());
        self.clock_error = self.clock_error.max(result.clock_error());
        self.clock_known_by.extend(result.clocks.iter().map(|clock| clock.known_by.clone()));
        let tested = |port| streams().any(|stream| stream.from == port);
        let sent = result.sent.iter().filter(|sent| tested(sent.report.port));
        let sending = sent.map(|sent| sent.report.sending_time()).max().unwrap_or_default();
        self.sending += sending;
        self.intended += result.intended_rate().fps() * sending.as_secs_f64();
        self.invalid.extend(result.invalid_reasons().iter().cloned());
        let balance = Balance::of(result);
        for part in balance.parts().filter(|part| part.fate == Fate::Dropped) {
            *self.dropped_at.entry(part.name.clone()).or_default() += part.frames;
        }
        let warnings = result.clocks.iter().filter_map(|clock| clock.warning.as_ref());
        for note in result.notes.iter().chain(warnings) {
            if !self.notes.contains(note) {
                self.notes.push(note.clone());
            }
        }
        if mix.len() > 1 {
            self.add_streams(result, mix);
        }
        self.add_flows(result, mix);
    }

    fn add_streams(&mut self, result: &TrialResult, mix: &Mix) {
        for stream in result.streams.iter().filter(|stream| stream.role == Role::Test) {
            let Some(name) = mix.name(stream.id) else { continue };
            let name = match mix.senders().len() {
                1 => name.to_owned(),
                _ => format!("{name} {}", stream.name),
            };
            let totals = self.streams.entry(name).or_default();
            totals.sent += stream.sent;
            totals.received += stream.received;
            totals.lost += stream.lost;
            totals.reordered += stream.reordered;
            let accounts = result.expected_accounts().filter(|r| r.stream == stream.id);
            accounts.for_each(|r| merge(&mut totals.latency, Some(&r.account.latency)));
        }
    }

    /// Which flows lost frames: the frames of a period are each flow's in turn.
    fn add_flows(&mut self, result: &TrialResult, mix: &Mix) {
        for received in result.expected_accounts() {
            let Some(flows) = mix.flows(received.stream) else { continue };
            let sent = result.streams.iter().find(|stream| stream.id == received.stream);
            let sent = sent.map_or(0, |stream| stream.sent);
            let ready: u64 = received.flows.runs().iter().map(|run| run.flows).sum();
            let lost_of_flow = self.lost_of_flow.entry(received.stream).or_default();
            lost_of_flow.resize(flows as usize, 0);
            for (frame, came) in (0..).zip(received.flows.counts()) {
                let lost = sent_of_flow(sent, ready, frame).saturating_sub(came);
                lost_of_flow[(frame % flows) as usize] += lost;
            }
        }
        let all = || self.lost_of_flow.values().flatten();
        let with_loss = all().filter(|lost| **lost > 0).count() as u64;
        self.flows = Some((all().count() as u64, with_loss)).filter(|(flows, _)| *flows > 0);
    }
}

/// Counts of a stretch up to a moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct SoFar {
    pub sent: u64,
    received: u64,
    missing: u64,
    reordered: u64,
    duplicates: u64,
    latency: Option<Histogram>,
}

/// What happened from one look to the next: about a second.
#[derive(Clone, PartialEq, Debug)]
pub struct Second {
    /// Its end: time for which traffic was sent so far.
    pub until: Duration,
    /// Its length.
    pub length: Duration,
    /// Frames that left.
    pub sent: u64,
    /// Different frames that arrived where they should.
    pub received: u64,
    /// Frames found missing: later ones overtook them, or they had left at the look before. Below zero
    /// where more of those missing before have come since.
    pub lost: i64,
    /// Frames out of order.
    pub reordered: u64,
    /// Frames that came twice.
    pub duplicates: u64,
    /// Latency of the frames that arrived; empty where none bears a time.
    pub latency: Option<Histogram>,
}

impl SoFar {
    /// By a look at the streams that are tested; `before` is the look before it.
    pub fn of_sample(sample: &Sample, before: Option<&Sample>) -> Self {
        let expected = || sample.received.iter().filter(|received| received.expected);
        let mut latency = None;
        expected().for_each(|received| merge(&mut latency, Some(&received.latency)));
        SoFar {
            sent: expected().map(|received| sample.sent_of(received.stream)).sum(),
            received: expected().map(|received| received.unique).sum(),
            missing: sample.missing(before),
            reordered: expected().map(|received| received.reordered).sum(),
            duplicates: expected().map(|received| received.duplicates).sum(),
            latency,
        }
    }

    /// At the end of the stretch.
    pub fn of_result(result: &TrialResult) -> Self {
        let streams = || result.streams.iter().filter(|stream| stream.role == Role::Test);
        SoFar {
            sent: result.expected_frames(),
            received: result.forwarded_frames(),
            missing: result.lost_frames(),
            reordered: streams().map(|stream| stream.reordered).sum(),
            duplicates: streams().map(|stream| stream.duplicates).sum(),
            latency: result.own_latency(),
        }
    }

    /// What happened since it was as `before`.
    pub fn since(&self, before: &SoFar, (until, length): (Duration, Duration)) -> Second {
        let latency = match (&self.latency, &before.latency) {
            (Some(now), Some(before)) => Some(now.since(before)),
            (now, _) => now.clone(),
        };
        Second {
            until,
            length,
            sent: self.sent.saturating_sub(before.sent),
            received: self.received.saturating_sub(before.received),
            lost: self.missing as i64 - before.missing as i64,
            reordered: self.reordered.saturating_sub(before.reordered),
            duplicates: self.duplicates.saturating_sub(before.duplicates),
            latency: latency.filter(|latency| latency.count() > 0),
        }
    }
}
