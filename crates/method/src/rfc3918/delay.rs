//! Group join delay and group leave delay (RFC 3918 section 6), and join delay with a burden (8.2).
//!
//! Every trial has a group of its own, which no trial used before: so the device cannot know it yet, and
//! an attempt that is repeated finds everything as the first one did. Traffic runs from the start; a port
//! says something harmless first and its one report or leave later. One clock times both ends.

use super::burden::{self, Burden};
use super::group_membership::{GroupMembership, MulticastConditions};
use crate::RunError;
use crate::bench::{Bench, Ran};
use crate::chassis::{ChassisConditions, ChassisTest, Draft, TestSetup, shortfall_words};
use serde::{Deserialize, Serialize};
use trial::{PortId, Schedule, Segment, StreamId, TrialResult};
use units::{Duration, FrameRate, FrameSize, Instant};
use wire::learning;

/// How long joins or leaves take.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct GroupDelayResult {
    /// Under which conditions.
    pub conditions: ChassisConditions,
    /// And of multicasting.
    pub multicast: MulticastConditions,
    /// Offered by the source, in percent of its medium.
    pub load_percent: f64,
    /// From one frame of the source to the next, as offered in the trial that offered least: no delay can be told
    /// more finely.
    pub resolution: Duration,
    /// Each trial.
    pub sets: Vec<DelaySet>,
    /// Why nothing is known; empty where something is.
    pub invalid: Vec<String>,
}

/// One trial.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DelaySet {
    /// `A`: nobody had asked for the group before (MFDB state 0). `B`: another port had (state 1).
    /// `None` for leaves.
    pub method: Option<char>,
    /// What other ports did meanwhile.
    pub burden: Option<Burden>,
    /// Offered by the source; `None` in runs saved before it was kept.
    #[serde(default)]
    pub ingress: Option<FrameRate>,
    /// By how much a frame of the source left late at most: no two frames of it were further apart than the interval
    /// and this. `None` in runs saved before it was kept.
    #[serde(default)]
    pub late_by: Option<Duration>,
    /// Each port that said something.
    pub ports: Vec<PortDelay>,
}

/// One port.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PortDelay {
    /// Which.
    pub port: PortId,
    /// What came of what it said.
    pub outcome: DelayOutcome,
}

/// What came of a report or a leave.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DelayOutcome {
    /// It took effect after so long.
    Measured {
        /// From its last bit to the first bit of the first frame forwarded, or to the last bit of the
        /// last one.
        delay: Duration,
    },
    /// It took no effect as long as the tester waited.
    Never {
        /// So long.
        waited: Duration,
    },
    /// The port had what it asked for before it asked, or not what it gave up: nothing can be said.
    NotFromThere {
        /// What was wrong.
        why: String,
    },
}

/// Group join delay: by method A with one port, by method B with all but one; with a burden by method A.
pub fn join_delay(
    bench: &mut Bench<'_>,
    rack: &TestSetup<'_>,
    test: ChassisTest,
) -> Result<GroupDelayResult, RunError> {
    let last = rack.ports - 1;
    let one =
        |others: Vec<usize>| Plan { method: Some('A'), ports: vec![1], known_by: None, others };
    let plans = match test {
        ChassisTest::BurdenedJoinDelay => vec![one(vec![]), one(burden::split(rack)?.1)],
        _ if rack.ports < 3 => vec![one(vec![])],
        _ => {
            let (ports, known_by) = ((1..last).collect(), Some(last));
            vec![one(vec![]), Plan { method: Some('B'), ports, known_by, others: vec![] }]
        }
    };
    delays(bench, rack, test, &plans)
}

/// Group leave delay, of all ports.
pub fn leave_delay(
    bench: &mut Bench<'_>,
    rack: &TestSetup<'_>,
) -> Result<GroupDelayResult, RunError> {
    let version = rack.config.chassis.multicast.version;
    if !version.has_leave() {
        return Err(RunError::Config(format!("hosts of {version} cannot say that they leave")));
    }
    let ports = (1..rack.ports).collect();
    let plan = Plan { method: None, ports, known_by: None, others: vec![] };
    delays(bench, rack, ChassisTest::GroupLeaveDelay, &[plan])
}

/// A delay is told to the interval of the frames that were offered. These may be fewer than intended by this share: the
/// frame is rarer by as much, and the delay no other.
const OFFERS_LESS: f64 = 0.05;

/// One trial to be.
struct Plan {
    method: Option<char>,
    /// Those whose report or leave is timed.
    ports: Vec<usize>,
    /// Has joined before.
    known_by: Option<usize>,
    /// The burden.
    others: Vec<usize>,
}

fn delays(
    bench: &mut Bench<'_>,
    rack: &TestSetup<'_>,
    test: ChassisTest,
    plans: &[Plan],
) -> Result<GroupDelayResult, RunError> {
    let stage = GroupMembership::new(rack, test)?;
    let (load_percent, mut invalid) = match stage.load_percent(bench)? {
        Ok(percent) => (percent, vec![]),
        Err(why) => (0.0, vec![why]),
    };
    stage.leave_all(bench)?;
    let mut sets = vec![];
    for plan in plans.iter().filter(|_| load_percent > 0.0) {
        let ran = trial(bench, &stage, load_percent, plan)?;
        let why = shortfall_words(&ran);
        if why.is_empty() {
            sets.push(set_of(&stage, plan, &ran.result));
        }
        invalid.extend(why);
    }
    let intended = stage.rate_of(load_percent);
    let offered = sets.iter().filter_map(|set| set.ingress).fold(intended, FrameRate::min);
    Ok(GroupDelayResult {
        conditions: rack
            .conditions_of(test, duration(&stage, plans.iter().any(|plan| plan.method.is_some()))),
        multicast: stage.conditions(1, None),
        load_percent,
        resolution: offered.interval(),
        sets,
        invalid,
    })
}

/// Of a trial: until what was said last is given up, and no less than any other trial (RFC 3918 section
/// 3.1.5: 30 s).
fn duration(stage: &GroupMembership<'_, '_>, joins: bool) -> Duration {
    let config = stage.config();
    let wait = if joins { config.join_timeout_s } else { config.leave_timeout_s };
    let least = stage.rack.config.trial.duration_s;
    Duration::from_secs_f64((config.before_report_s + wait).max(least))
}

/// Groups of these trials come after all that any other test may use.
const FIRST_FRESH_GROUP: u64 = 131_072;

fn trial(
    bench: &mut Bench<'_>,
    stage: &GroupMembership<'_, '_>,
    load_percent: f64,
    plan: &Plan,
) -> Result<Ran, RunError> {
    let (rack, config) = (stage.rack, stage.config());
    let before = Duration::from_secs_f64(config.before_report_s);
    let duration = duration(stage, plan.method.is_some());
    let rate = stage.rate_of(load_percent);
    let method = plan.method.map_or(String::new(), |method| format!(" method {method}"));
    let with = if plan.others.is_empty() { "" } else { ", burdened" };
    let label =
        format!("{}, {} bytes:{method} at {load_percent:.4} %{with}", stage.test, rack.size);
    let used = &rack.tables.groups_used;
    let ran = rack.run_with(bench, stage.test, &label, rate, rack.waits(), &|draft| {
        let group = FIRST_FRESH_GROUP + used.get();
        used.set(used.get() + 1);
        stage.introduce(draft);
        let joined_before = match plan.method {
            Some(_) => plan.known_by.as_slice(),
            None => &plan.ports[..],
        };
        joins(draft, stage, joined_before, group);
        let id = stage.data_of(draft, group, 1)?;
        draft.unchecked();
        draft.may_offer_less(OFFERS_LESS);
        draft.send(stage.source, Schedule::constant(rate, duration), vec![id]);
        for port in &plan.ports {
            says(draft, stage, *port, plan, (group, before));
        }
        burden::add(draft, rack, &plan.others, duration)
    })?;
    stage.heard(bench, &ran, duration)?;
    // Whatever group it was, nobody needs it any more.
    let last = FIRST_FRESH_GROUP + used.get();
    if stage.version.has_leave() {
        stage.say(bench, (last - 1, last), false)?;
    }
    Ok(ran)
}

/// These ports have joined long before the trial begins.
fn joins(draft: &mut Draft, stage: &GroupMembership<'_, '_>, ports: &[usize], group: u64) {
    for port in ports {
        let reports = stage.version.reports(stage.rack.port(*port), group, group + 1);
        let frames = reports.into_iter().map(|frame| stage.rack.traffic.tagged(frame)).collect();
        let wait = Duration::from_secs_f64(stage.config().join_settle_s / ports.len() as f64);
        draft.say(stage.rack, *port, frames, wait);
    }
}

/// A port says something harmless at the start, and what is timed after `before`.
fn says(
    draft: &mut Draft,
    stage: &GroupMembership<'_, '_>,
    port: usize,
    plan: &Plan,
    (group, before): (u64, Duration),
) {
    let host = stage.rack.port(port);
    let harmless = stage.unsigned(draft, port, vec![learning::bridge(host.mac)]);
    let message = match plan.method {
        Some(_) => stage.version.reports(host, group, group + 1),
        None => stage.version.leaves(host, group, group + 1),
    };
    let timed = stage.unsigned(draft, port, message);
    let rate = FrameRate::from_fps_f64(1.0 / before.as_secs_f64());
    let schedule = Schedule { segments: vec![Segment::constant(rate, 2)] };
    draft.send(port, schedule, vec![harmless, timed]);
}

fn set_of(stage: &GroupMembership<'_, '_>, plan: &Plan, result: &TrialResult) -> DelaySet {
    let ports = plan.ports.iter().map(|port| {
        let seen = Seen::of(stage, result, *port);
        let outcome = match (seen, plan.method) {
            (Err(why), _) => DelayOutcome::NotFromThere { why },
            (Ok(seen), Some(_)) => seen.joined(knows(stage, plan, result)),
            (Ok(seen), None) => seen.left(),
        };
        PortDelay { port: stage.rack.port(*port).port, outcome }
    });
    let is_burdened = !plan.others.is_empty();
    DelaySet {
        method: plan.method,
        ports: ports.collect(),
        ingress: stage.ingress(result),
        late_by: late_by(stage, result),
        burden: is_burdened.then(|| burden::measured(stage.rack, &plan.others, result)),
    }
}

/// The most lateness of a frame of the source.
fn late_by(stage: &GroupMembership<'_, '_>, result: &TrialResult) -> Option<Duration> {
    let id = stage.rack.port(stage.source).port;
    result.sent.iter().find(|sent| sent.report.port == id)?.report.lateness.max()
}

/// Whether the port by which the device should know the group received it.
fn knows(stage: &GroupMembership<'_, '_>, plan: &Plan, result: &TrialResult) -> bool {
    plan.known_by.is_none_or(|port| arrivals(stage, result, port).is_some())
}

/// First and last arrival of the source's frames at a port, last bits.
fn arrivals(
    stage: &GroupMembership<'_, '_>,
    result: &TrialResult,
    port: usize,
) -> Option<(Instant, Instant)> {
    let id: StreamId = result.streams.first()?.id;
    let port = stage.rack.port(port).port;
    let here = result.received.iter().find(|received| received.port == port)?;
    let account = &here.streams.iter().find(|received| received.stream == id)?.account;
    account.first_at.zip(account.last_at)
}

/// What a port said and saw.
struct Seen {
    /// Last bit of what it said (timestamp A of section 6).
    said: Instant,
    /// First bit of the first frame, last bit of the last frame that it received.
    arrivals: Option<(Instant, Instant)>,
    /// Last bit of the source's last frame.
    source_ended: Instant,
    interval: Duration,
}

impl Seen {
    fn of(
        stage: &GroupMembership<'_, '_>,
        result: &TrialResult,
        port: usize,
    ) -> Result<Seen, String> {
        let line = |port: usize, bytes: u64| {
            let described = stage.rack.described(port);
            match described.line_rate_is_physical {
                true => described.line_rate.time_of_bytes(bytes),
                false => Duration::ZERO,
            }
        };
        let sent = |port: usize| {
            let id = stage.rack.port(port).port;
            let sent = result.sent.iter().find(|sent| sent.report.port == id);
            sent.ok_or_else(|| format!("{id} sent nothing"))
        };
        let ours = sent(port)?;
        let said = ours.report.last_departure.filter(|_| ours.report.sent_frames == 2);
        let said = said.ok_or("its report or leave never left")?;
        let message_bytes = ours.report.sent_bytes - u64::from(FrameSize::MIN_ETHERNET.bytes());
        let source = sent(stage.source)?;
        let ended = source.report.last_departure.ok_or("the source sent nothing")?;
        let size = u64::from(stage.rack.size.bytes());
        let first_bit = line(port, size);
        Ok(Seen {
            said: said + line(port, message_bytes),
            arrivals: arrivals(stage, result, port).map(|(first, last)| {
                (Instant::ZERO + first.since(Instant::ZERO + first_bit), last)
            }),
            source_ended: ended + line(stage.source, size),
            interval: stage.ingress(result).unwrap_or(source.intended_rate).interval(),
        })
    }

    fn joined(&self, is_known: bool) -> DelayOutcome {
        let not = |why: &str| DelayOutcome::NotFromThere { why: why.into() };
        match self.arrivals {
            _ if !is_known => {
                not("the port that had joined before received nothing: the device does not \
                                   know the group")
            }
            None => DelayOutcome::Never { waited: self.source_ended.since(self.said) },
            Some((first, _)) if first < self.said => {
                not("frames of the group came before it was asked for: the device floods them")
            }
            Some((first, _)) => DelayOutcome::Measured { delay: first.since(self.said) },
        }
    }

    fn left(&self) -> DelayOutcome {
        let not = |why: &str| DelayOutcome::NotFromThere { why: why.into() };
        let margin = self.interval * 2;
        match self.arrivals {
            None => not("it never received the group: a join never took effect"),
            Some((_, last)) if last + margin < self.said => {
                not("frames stopped before the leave was sent")
            }
            Some((_, last)) if last + margin >= self.source_ended => {
                DelayOutcome::Never { waited: self.source_ended.since(self.said) }
            }
            Some((_, last)) => DelayOutcome::Measured { delay: last.since(self.said) },
        }
    }
}
