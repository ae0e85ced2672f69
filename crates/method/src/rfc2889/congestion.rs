//! Congestion control: whether a congested port hurts another (RFC 2889 section 5.5).

use crate::RunError;
use crate::bench::Bench;
use crate::chassis::{ChassisConditions, ChassisTest, PortMatrix, TestSetup, shortfall_words};
use serde::{Deserialize, Serialize};
use trial::{Arrived, PortId, StreamResult, TrialResult};
use units::{Duration, FrameRate};

/// What became of the frames of one group of four ports.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CongestionResult {
    /// Under which conditions.
    pub conditions: ChassisConditions,
    /// Frames of each source, as intended.
    pub frames: u64,
    /// Frames that left each source; empty in runs saved before they were told apart.
    #[serde(default)]
    pub frames_by_source: Vec<u64>,
    /// Sent to the uncongested port, and received there.
    pub uncongested: (u64, u64),
    /// Sent to the congested port, and received there.
    pub congested: (u64, u64),
    /// The load that the device took from both sources.
    pub offered: FrameRate,
    /// Frames received at the uncongested port over the time in which its source sent or, where that
    /// is longer, in which they arrived.
    pub uncongested_rate: FrameRate,
    /// The same of the congested port.
    pub congested_rate: FrameRate,
    /// PAUSE frames that the sources were sent, and by how much the longest-paused one was late.
    pub pauses: (u64, Duration),
    /// Frames on other ports than those that they were for.
    pub flood_count: u64,
    /// What that means.
    pub verdicts: Vec<CongestionVerdict>,
    /// Each pair of ports.
    pub matrix: PortMatrix,
    /// Why the trial decides nothing; empty where it does.
    pub invalid: Vec<String>,
}

/// What the counts say (RFC 2889 section 5.5.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CongestionVerdict {
    /// Frames for the uncongested port were lost.
    HeadOfLineBlocking,
    /// None were.
    NoHeadOfLineBlocking,
    /// Nothing was lost at the congested port, which was offered half as much again as it takes.
    Backpressure,
    /// Something was.
    NoBackpressure,
    /// Nothing was lost at the uncongested port, but less than half of the medium came out: flow
    /// control holds back what it need not.
    Throttled,
}

impl CongestionResult {
    /// Loss at the uncongested port, in percent.
    pub fn uncongested_loss_percent(&self) -> f64 {
        loss_percent(self.uncongested)
    }
    /// Loss at the congested port, in percent; 33.3 for a device that fills its link.
    pub fn congested_loss_percent(&self) -> f64 {
        loss_percent(self.congested)
    }
}

fn loss_percent((sent, received): (u64, u64)) -> f64 {
    sent.saturating_sub(received) as f64 / sent.max(1) as f64 * 100.0
}

/// A rate this much below half the medium's is no rounding.
const SLACK: f64 = 0.001;
const SOURCES: [usize; 2] = [0, 1];
const UNCONGESTED: usize = 2;
const CONGESTED: usize = 3;

/// The test, on the first four ports: source 0 sends to ports 2 and 3 in turn, source 1 to port 3;
/// both the same number of frames at the maximum offered load.
pub fn congestion(
    bench: &mut Bench<'_>,
    rack: &TestSetup<'_>,
) -> Result<CongestionResult, RunError> {
    if rack.ports < 4 {
        return Err(RunError::Config("congestion control needs 4 ports or more".into()));
    }
    let rack = &rack.with_ports(4);
    let test = ChassisTest::Congestion;
    let rate = rack.theoretical_max();
    let duration = Duration::from_secs_f64(rack.config.trial.duration_s);
    // As many frames to either port.
    let frames = rate.frames_in(duration).next_multiple_of(2);
    let schedule = trial::Schedule { segments: vec![trial::Segment::constant(rate, frames)] };
    let label = format!("{test}, {} bytes: {frames} frames of each source", rack.size);
    let ran = rack.run(bench, test, &label, rate, &|draft| {
        draft.learn_all(rack);
        for source in SOURCES {
            let to = if source == 0 { &[UNCONGESTED, CONGESTED][..] } else { &[CONGESTED] };
            let to = to.iter().map(|to| vec![*to]).collect();
            let turn = crate::chassis::Turn { from: source, to };
            draft.turn(rack, &turn, schedule.clone())?;
        }
        Ok(())
    })?;
    let invalid = shortfall_words(&ran);
    Ok(conclude(rack, frames, &ran.result, invalid))
}

fn conclude(
    rack: &TestSetup<'_>,
    frames: u64,
    result: &TrialResult,
    invalid: Vec<String>,
) -> CongestionResult {
    let at = |port: usize| {
        let id = rack.port(port).port;
        let streams = result.streams.iter().filter(move |s| s.expected_ports == [id]);
        streams.fold((0, 0), |(sent, received), s: &StreamResult| {
            (sent + s.sent, received + s.received)
        })
    };
    let (uncongested, congested) = (at(UNCONGESTED), at(CONGESTED));
    let rate = |port: usize, sources: &[usize]| {
        let sent = |source: &usize| rack.port(*source).port;
        rate_at(result, rack.port(port).port, &sources.iter().map(sent).collect::<Vec<_>>())
    };
    let uncongested_rate = rate(UNCONGESTED, &SOURCES[..1]);
    let congested_rate = rate(CONGESTED, &SOURCES);
    let half = rack.theoretical_max().fps() / 2.0;
    let lost = |(sent, received): (u64, u64)| sent > received;
    let mut verdicts = vec![];
    verdicts.push(match lost(uncongested) {
        true => CongestionVerdict::HeadOfLineBlocking,
        false => CongestionVerdict::NoHeadOfLineBlocking,
    });
    verdicts.push(match lost(congested) {
        true => CongestionVerdict::NoBackpressure,
        false => CongestionVerdict::Backpressure,
    });
    if !lost(uncongested) && uncongested_rate.fps() < half * (1.0 - SLACK) {
        verdicts.push(CongestionVerdict::Throttled);
    }
    let pauses = result.sent.iter().map(|sent| sent.report.paused);
    let control: u64 = result.counters.iter().map(|port| port.control_frames).sum();
    let paused = pauses.clone().map(|paused| paused.time).max().unwrap_or_default();
    CongestionResult {
        conditions: rack.conditions(ChassisTest::Congestion),
        frames,
        frames_by_source: SOURCES.map(|source| sent_by(result, rack.port(source).port)).to_vec(),
        uncongested,
        congested,
        offered: result.offered_rate(),
        uncongested_rate,
        congested_rate,
        pauses: (pauses.map(|paused| paused.frames).sum::<u64>().max(control), paused),
        flood_count: result.flood_count(),
        verdicts: if invalid.is_empty() { verdicts } else { vec![] },
        matrix: PortMatrix::of(result, rack.ports, "two sources at the maximum offered load"),
        invalid,
    }
}

/// Frames that left a port.
fn sent_by(result: &TrialResult, port: PortId) -> u64 {
    let sent = result.sent.iter().filter(|sent| sent.report.port == port);
    sent.map(|sent| sent.report.sent_frames.saturating_sub(sent.dropped_by_tester)).sum()
}

/// What came out of a port, over the time in which these sources sent or, where frames waited for
/// longer, in which it did: a queue that empties afterwards makes no port faster than its medium.
fn rate_at(result: &TrialResult, port: PortId, sources: &[PortId]) -> FrameRate {
    let sent = result.sent.iter().filter(|sent| sources.contains(&sent.report.port));
    let sending = sent.map(|sent| sent.report.sending_time()).max().unwrap_or_default();
    let mut arrived = Arrived::default();
    let here = result.expected_accounts().filter(|received| received.port == port);
    here.for_each(|received| arrived.add(&received.account));
    FrameRate::from_fps_f64(arrived.rate_fps(sending))
}
