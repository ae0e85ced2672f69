//! Multicast latency (RFC 3918 section 5.1), min/max multicast latency (5.2), and the same with a burden
//! (8.1).

use super::burden::{self, Burden};
use super::group_membership::{GroupMembership, MulticastConditions};
use crate::bench::{Bench, Ran};
use crate::chassis::{ChassisConditions, ChassisTest, TestSetup, shortfall_words};
use crate::{LatencyDefinition, RunError, Spread};
use serde::{Deserialize, Serialize};
use trial::{InvalidReason, LatencyForm, PortId, Schedule, Tagging, TrialResult};
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
    /// In which form latencies are stated, by receiving port; empty in runs saved before there was a form,
    /// which have LILO.
    #[serde(default)]
    pub definitions: Vec<(PortId, LatencyDefinition)>,
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
    /// Offered by the source; `None` in runs saved before it was kept.
    #[serde(default)]
    pub ingress: Option<FrameRate>,
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
    /// As stamped ([`MulticastLatencyResult::ns`] has it in the form that is stated).
    pub latency: Duration,
}

impl MulticastLatencyResult {
    /// A latency in the form that is stated, in nanoseconds.
    pub fn ns(&self, tagged: &TaggedLatency) -> f64 {
        match self.definition_at(tagged.port) {
            Some(definition) => definition.ns(tagged.latency),
            None => tagged.latency.as_ns_f64(),
        }
    }
    /// In which form latencies at a port are stated.
    pub fn definition_at(&self, port: PortId) -> Option<&LatencyDefinition> {
        self.definitions.iter().find(|(at, _)| *at == port).map(|(_, definition)| definition)
    }
    /// Smallest, mean and largest of these in nanoseconds: in the form that is stated, and then in the
    /// others. They are of one port.
    pub fn forms<'t>(
        &self,
        tagged: impl Iterator<Item = &'t TaggedLatency>,
    ) -> Vec<(LatencyForm, Spread)> {
        let tagged: Vec<&TaggedLatency> = tagged.collect();
        let in_form = |form, definition: &LatencyDefinition| {
            let ns = tagged.iter().map(|tagged| definition.ns_in(form, tagged.latency));
            Spread::of(&ns.collect::<Vec<_>>()).map(|spread| (form, spread))
        };
        let definition = tagged.first().and_then(|tagged| self.definition_at(tagged.port));
        match definition {
            Some(definition) => {
                let forms = std::iter::once(definition.form).chain(definition.other_forms());
                forms.filter_map(|form| in_form(form, definition)).collect()
            }
            None => {
                let ns: Vec<f64> = tagged.iter().map(|tagged| self.ns(tagged)).collect();
                Spread::of(&ns).map(|spread| (LatencyForm::Lilo, spread)).into_iter().collect()
            }
        }
    }
    /// MAX(M) - MIN(M) of a set (section 5.2), in nanoseconds.
    pub fn min_max_ns(&self, set: &LatencySet) -> Option<f64> {
        let ns: Vec<f64> = set.latencies.iter().map(|tagged| self.ns(tagged)).collect();
        Spread::of(&ns).map(|spread| spread.max - spread.min)
    }
}

/// The test: one of those that differ in what they report.
pub fn latency(
    bench: &mut Bench<'_>,
    rack: &TestSetup<'_>,
    test: ChassisTest,
) -> Result<MulticastLatencyResult, RunError> {
    let config = &rack.config.chassis.multicast;
    let is_burdened = test == ChassisTest::BurdenedLatency;
    let (egress, others) = match is_burdened {
        true => burden::split(rack)?,
        false => ((1..rack.ports).collect(), vec![]),
    };
    let stage = GroupMembership::with_egress(rack, test, egress)?;
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
        definitions: definitions(&stage),
        sets,
        invalid,
    })
}

/// The test's, with the length of its own trials: 120 s (section 5.1).
fn conditions(stage: &GroupMembership<'_, '_>) -> ChassisConditions {
    let seconds = Duration::from_secs_f64(stage.config().latency_s);
    stage.rack.conditions_of(stage.test, seconds)
}

/// In which form latencies at each receiving port are stated.
fn definitions(stage: &GroupMembership<'_, '_>) -> Vec<(PortId, LatencyDefinition)> {
    let rack = stage.rack;
    let of = |to: &usize| {
        let sent = (stage.source, stage.sent_size());
        (rack.port(*to).port, rack.latency_definition(sent, (*to, stage.received_size())))
    };
    stage.egress.iter().map(of).collect()
}

fn trial(
    bench: &mut Bench<'_>,
    stage: &GroupMembership<'_, '_>,
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
    stage.heard(bench, &ran, duration)?;
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
fn incomplete(
    stage: &GroupMembership<'_, '_>,
    result: &TrialResult,
    groups: u64,
) -> Option<InvalidReason> {
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

fn set_of(stage: &GroupMembership<'_, '_>, ran: &Ran, others: &[usize]) -> LatencySet {
    let id = ran.result.streams.first().map(|stream| stream.id);
    let accounts = ran.result.received.iter().flat_map(|port| &port.streams);
    let mut latencies = vec![];
    for received in accounts.filter(|received| received.expected && Some(received.stream) == id) {
        for (index, latency) in &received.account.tagged {
            latencies.push(TaggedLatency {
                port: received.port,
                group: stage.version.group(*index),
                latency: *latency,
            });
        }
    }
    let is_burdened = !others.is_empty();
    let burden = is_burdened.then(|| burden::measured(stage.rack, others, &ran.result));
    LatencySet { burden, ingress: stage.ingress(&ran.result), latencies }
}
