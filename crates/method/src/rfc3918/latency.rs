//! Multicast latency (RFC 3918 section 5.1), min/max multicast latency (5.2), and the same with a burden
//! (8.1).

use super::burden::{self, Burden};
use super::stage::{MulticastConditions, Stage};
use crate::RunError;
use crate::bench::{Bench, Ran};
use crate::chassis::{ChassisConditions, ChassisTest, Rack, shortfall_words};
use serde::{Deserialize, Serialize};
use trial::{InvalidReason, PortId, Schedule, Tagging, TrialResult};
use units::{Duration, FrameRate};

/// When tagged frames come out of each port.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MulticastLatencyResult {
    /// Under which conditions.
    pub conditions: ChassisConditions,
    /// And of multicasting.
    pub multicast: MulticastConditions,
    /// Offered by the source, in percent of its medium.
    pub load_percent: f64,
    /// The same as a rate.
    pub intended: FrameRate,
    /// Length of a trial.
    pub duration: Duration,
    /// Taken off what the stamps say, so that the latency counts from the completion of the tagged
    /// frame's transmission: its time on the source's line; nothing on a virtual link.
    pub source_line: Duration,
    /// Each trial; with a burden, the trials without come first.
    pub sets: Vec<LatencySet>,
    /// Why nothing is known; empty where something is.
    pub invalid: Vec<String>,
}

/// One trial's set M: the latency of each tagged frame at each port (section 5.1).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LatencySet {
    /// What other ports did meanwhile; `None` for the baseline.
    pub burden: Option<Burden>,
    /// Every expected one, by port and then by group.
    pub latencies: Vec<TaggedLatency>,
}

/// One tagged frame at one port.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TaggedLatency {
    /// Where it came out.
    pub port: PortId,
    /// For which group.
    pub group: String,
    /// From the completion of its transmission to the completion of its arrival.
    pub latency: Duration,
}

impl LatencySet {
    /// MAX(M) - MIN(M) (section 5.2).
    pub fn min_max(&self) -> Option<Duration> {
        let of = || self.latencies.iter().map(|tagged| tagged.latency);
        Some(of().max()?.saturating_sub(of().min()?))
    }
    /// Smallest, mean and largest at a port, in nanoseconds.
    pub fn at(&self, port: PortId) -> Option<crate::Spread> {
        let here = self.latencies.iter().filter(|tagged| tagged.port == port);
        let ns: Vec<f64> = here.map(|tagged| tagged.latency.as_ps() as f64 / 1e3).collect();
        crate::Spread::of(&ns)
    }
}

/// The test: one of those that differ in what they report.
pub fn latency(
    bench: &mut Bench<'_>,
    rack: &Rack<'_>,
    test: ChassisTest,
) -> Result<MulticastLatencyResult, RunError> {
    let config = &rack.config.multicast;
    let is_burdened = test == ChassisTest::BurdenedLatency;
    let (egress, others) = match is_burdened {
        true => burden::split(rack)?,
        false => ((1..rack.ports).collect(), vec![]),
    };
    let stage = Stage::with_egress(rack, test, egress)?;
    let trials = match test {
        ChassisTest::MinMaxLatency => 1,
        _ => config.latency_repetitions,
    };
    let (load_percent, mut invalid) = match stage.load_percent(bench)? {
        Ok(percent) => (percent, vec![]),
        Err(why) => (0.0, vec![why]),
    };
    let mut sets = vec![];
    let burdens: &[&[usize]] = if is_burdened { &[&[], &others] } else { &[&[]] };
    let possible = if invalid.is_empty() { burdens } else { &[] };
    for burden in possible {
        for number in 1..=trials {
            match trial(bench, &stage, (load_percent, number), burden)? {
                Ok(set) => sets.push(set),
                Err(why) => invalid.extend(why),
            }
        }
    }
    // What failed now and then is not nothing.
    let complete = burdens.iter().all(|burden| {
        sets.iter().any(|set: &LatencySet| set.burden.is_some() != burden.is_empty())
    });
    if complete {
        invalid.clear();
    }
    stage.leave_all(bench)?;
    Ok(MulticastLatencyResult {
        conditions: conditions(&stage),
        multicast: stage.conditions(config.groups, None),
        load_percent,
        intended: stage.rate_of(load_percent),
        duration: Duration::from_secs_f64(config.latency_s),
        source_line: source_line(&stage),
        sets,
        invalid,
    })
}

/// The test's, with the length of its own trials: 120 s (section 5.1).
fn conditions(stage: &Stage<'_, '_>) -> ChassisConditions {
    ChassisConditions {
        trial_duration: Duration::from_secs_f64(stage.config().latency_s),
        ..stage.rack.conditions(stage.test)
    }
}

/// Time of a frame on the source's line, without preamble; none on a virtual link.
fn source_line(stage: &Stage<'_, '_>) -> Duration {
    let port = stage.rack.described(stage.source);
    match port.line_rate_is_physical {
        true => port.line_rate.time_of_bytes(stage.sent_size().bytes().into()),
        false => Duration::ZERO,
    }
}

fn trial(
    bench: &mut Bench<'_>,
    stage: &Stage<'_, '_>,
    (load_percent, number): (f64, u32),
    others: &[usize],
) -> Result<Result<LatencySet, Vec<String>>, RunError> {
    let (rack, test) = (stage.rack, stage.test);
    let groups = stage.config().groups;
    let duration = Duration::from_secs_f64(stage.config().latency_s);
    if let Err(why) = stage.ready(bench, groups, duration)? {
        return Ok(Err(vec![why]));
    }
    let rate = stage.rate_of(load_percent);
    let schedule = Schedule::constant(rate, duration);
    let tagging = at_mid_point(schedule.frames(), groups)?;
    let with = if others.is_empty() { "" } else { ", burdened" };
    let label = format!("{test}, {} bytes: trial {number}{with}", rack.size);
    let check = |result: &TrialResult| incomplete(stage, result, groups);
    let ran = rack.run_checked(bench, test, (&label, rate, rack.waits()), &check, &|draft| {
        stage.introduce(draft);
        let id = stage.data(draft, groups)?;
        draft.tag(Tagging { stream: id, ..tagging });
        draft.send(stage.source, schedule.clone(), vec![id]);
        burden::add(draft, rack, others, duration)
    })?;
    let invalid = shortfall_words(&ran);
    Ok(if invalid.is_empty() { Ok(set_of(stage, &ran, others)) } else { Err(invalid) })
}

/// A frame to each group, one after the other, from the middle of the trial on.
fn at_mid_point(frames: u64, groups: u64) -> Result<Tagging, RunError> {
    let first = frames / 2 / groups * groups;
    if first + groups > frames {
        return Err(RunError::Config(format!(
            "a latency trial of {frames} frames is too short for {groups} groups: set \
             multicast.latency_s or multicast.load_percent higher, or multicast.groups lower"
        )));
    }
    Ok(Tagging { stream: trial::StreamId(0), first, every: 1, count: groups })
}

/// Why a trial is to be declared invalid (section 5.1): loss, damage, or a tagged frame that is
/// missing. One that came later than the drain time after the source stopped is missing, too.
fn incomplete(stage: &Stage<'_, '_>, result: &TrialResult, groups: u64) -> Option<InvalidReason> {
    let invalid = |what: String| Some(InvalidReason::Other { what });
    let data = result.streams.first()?;
    if data.lost > 0 {
        return invalid(format!(
            "{} of {} frames were lost at this load: the forwarding rate is not the offered load",
            data.lost,
            data.sent * data.expected_ports.len() as u64
        ));
    }
    let damaged: u64 =
        result.received.iter().map(|port| port.corrupted).sum::<u64>() + data.corrupted;
    if damaged > 0 {
        return invalid(format!("{damaged} frames came out damaged"));
    }
    let tagged: usize =
        result.expected_accounts().map(|received| received.account.tagged.len()).sum();
    let expected = groups as usize * stage.egress.len();
    if tagged < expected {
        return invalid(format!("{} of {expected} tagged frames are missing", expected - tagged));
    }
    None
}

fn set_of(stage: &Stage<'_, '_>, ran: &Ran, others: &[usize]) -> LatencySet {
    let line = source_line(stage);
    let id = ran.result.streams.first().map(|stream| stream.id);
    let accounts = ran.result.received.iter().flat_map(|port| &port.streams);
    let mut latencies = vec![];
    for received in accounts.filter(|received| received.expected && Some(received.stream) == id) {
        for (index, latency) in &received.account.tagged {
            latencies.push(TaggedLatency {
                port: received.port,
                group: stage.version.group(*index),
                latency: latency.saturating_sub(line),
            });
        }
    }
    let is_burdened = !others.is_empty();
    let burden = is_burdened.then(|| burden::measured(stage.rack, others, &ran.result));
    LatencySet { burden, latencies }
}
