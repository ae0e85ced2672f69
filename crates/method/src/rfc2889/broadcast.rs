//! Broadcast latency (RFC 2889 section 5.10.3): a single frame, and when each port has it.

use crate::bench::Bench;
use crate::chassis::{ChassisConditions, ChassisTest, Pattern, TestSetup, shortfall_words};
use crate::found::Spread;
use crate::{LatencyDefinition, RunError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use trial::{LatencyForm, PortId, Schedule, Segment};
use units::Duration;

/// When each port has a broadcast frame.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BroadcastLatencyResult {
    /// Under which conditions.
    pub conditions: ChassisConditions,
    /// Single frames sent.
    pub frames: u32,
    /// Each receiving port.
    pub ports: Vec<PortLatency>,
    /// Why nothing is known; empty where something is.
    pub invalid: Vec<String>,
}

/// One receiving port.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PortLatency {
    /// Which.
    pub port: PortId,
    /// Frames that came.
    pub received: u64,
    /// Their latencies in nanoseconds, in the form of `definition`; `None` where none came.
    pub latency_ns: Option<Spread>,
    /// That form. Runs saved before there was one have what was stamped.
    #[serde(default)]
    pub definition: Option<LatencyDefinition>,
}

impl PortLatency {
    /// The latencies in the form in which they are stated, and then in the others.
    pub fn forms(&self) -> Vec<(LatencyForm, Spread)> {
        let Some(stated) = self.latency_ns else { return vec![] };
        let Some(definition) = &self.definition else { return vec![(LatencyForm::Filo, stated)] };
        let off = |form| definition.bits().taken_off_ps(form) as f64 / 1e3;
        let forms = std::iter::once(definition.form).chain(definition.other_forms());
        forms.map(|form| (form, stated.shifted(off(definition.form) - off(form)))).collect()
    }
}

/// The test: one frame at a time from the first port to all others.
pub fn broadcast_latency(
    bench: &mut Bench<'_>,
    rack: &TestSetup<'_>,
) -> Result<BroadcastLatencyResult, RunError> {
    let test = ChassisTest::BroadcastLatency;
    if rack.ports < Pattern::Broadcast.fewest_ports() {
        return Err(RunError::Config(format!("{test} needs 3 ports or more")));
    }
    let rate = rack.theoretical_max();
    let one = Schedule { segments: vec![Segment::constant(rate, 1)] };
    let mut latencies: BTreeMap<PortId, Vec<Duration>> = BTreeMap::new();
    let mut invalid = vec![];
    for number in 1..=rack.config.chassis.broadcast_frames {
        let label = format!("{test}, {} bytes: frame {number}", rack.size);
        let ran = rack.run(bench, test, &label, rate, &|draft| {
            for turn in Pattern::Broadcast.turns(rack.ports) {
                draft.turn(rack, &turn, one.clone())?;
            }
            Ok(())
        })?;
        invalid.extend(shortfall_words(&ran));
        for received in ran.result.expected_accounts() {
            let of_port = latencies.entry(received.port).or_default();
            of_port.extend(received.account.latency.min());
        }
    }
    let of_port = |(port, latencies): (PortId, Vec<Duration>)| {
        let to = (0..rack.ports).find(|to| rack.port(*to).port == port).unwrap_or(0);
        let definition = rack.latency_definition((0, rack.size), (to, rack.size));
        let ns: Vec<f64> = latencies.iter().map(|stamped| definition.ns(*stamped)).collect();
        let (received, latency_ns) = (ns.len() as u64, Spread::of(&ns));
        PortLatency { port, received, latency_ns, definition: Some(definition) }
    };
    Ok(BroadcastLatencyResult {
        conditions: rack.conditions(test),
        frames: rack.config.chassis.broadcast_frames,
        ports: latencies.into_iter().map(of_port).collect(),
        invalid,
    })
}
