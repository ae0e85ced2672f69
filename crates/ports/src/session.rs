//! One trial on live ports: threads are started, watched and ended, and what they report is put
//! together. The order of events is that of [`crate::Port`].

use crate::cores::CorePlan;
use crate::live::LiveOptions;
use crate::open::{OpenPort, PartsOfPort};
use crate::tally::{Reading, tally};
use crate::watch::{Outcome, Place, Received, Threads, Watch, spawn};
use crate::{CaptureWish, Halves, InterfaceState, PortType, TrialSignals, capture_file, clock};
use std::collections::BTreeMap;
use trial::{
    CaptureRequest, DeviceAction, PortCounters, PortId, ReceivePlan, TesterError, TransmitPlan,
    Trial, TrialResult,
};
use units::Duration;

/// From announcing the start to the first frame: threads get into position.
const LEAD: Duration = Duration::from_ms(20);
/// A trial about to run.
pub(crate) struct Session<'a> {
    trial: &'a Trial,
    cores: &'a CorePlan,
    ports: &'a mut [OpenPort],
    options: &'a mut LiveOptions,
    transmit_plans: BTreeMap<PortId, TransmitPlan>,
    receive_plans: BTreeMap<PortId, ReceivePlan>,
}

impl<'a> Session<'a> {
    /// Makes ready; nothing is sent yet, but from here on ports receive.
    pub fn new(
        trial: &'a Trial,
        cores: &'a CorePlan,
        ports: &'a mut [OpenPort],
        options: &'a mut LiveOptions,
    ) -> Result<Self, TesterError> {
        let plans = trial.transmit_plans()?;
        let transmit_plans: BTreeMap<_, _> =
            plans.into_iter().map(|plan| (plan.port, plan)).collect();
        let mut receive_plans = BTreeMap::new();
        for port in ports.iter_mut() {
            let id = port.describe().id;
            let receive_plan = trial.receive_plan(id);
            let request = capture_at(trial, id)?;
            let wish = |wanted: fn(&CaptureRequest) -> bool| {
                request.filter(|request| wanted(request)).map(CaptureWish::of)
            };
            let Halves { transmit, receive } = port.halves_for(transmit_plans.get(&id));
            transmit.capture(wish(|request| request.sent))?;
            receive.capture(wish(|request| request.received))?;
            if let Some(plan) = transmit_plans.get(&id) {
                transmit.prepare(plan)?;
            }
            receive.prepare(&receive_plan)?;
            receive_plans.insert(id, receive_plan);
        }
        Ok(Session { trial, cores, ports, options, transmit_plans, receive_plans })
    }

    /// Runs the trial to the end of its drain time.
    pub fn run(mut self) -> Result<TrialResult, TesterError> {
        let ids: Vec<PortId> = self.ports.iter().map(|port| port.describe().id).collect();
        let before = self.states()?;
        let control_before = self.control_frames();
        let signals = TrialSignals::new(ids);
        let Session { trial, cores, ports, options, transmit_plans, receive_plans } = self;
        let outcome = std::thread::scope(|scope| {
            let real_time = options.real_time;
            let mut interfaces = vec![];
            let mut threads = Threads { transmit: vec![], receive: vec![], action: vec![] };
            let mut transmitters = vec![];
            for port in ports.iter_mut() {
                let id = port.port.describe().id;
                let PartsOfPort { halves: Halves { transmit, receive }, namespace, interface } =
                    port.parts_for(transmit_plans.get(&id));
                let place = |core| Place { core, namespace, real_time: false };
                let (plan, core) = (&receive_plans[&id], cores.receive.get(&id).copied());
                let signals = &signals;
                threads.receive.push(spawn(scope, Some(place(core)), signals, move || {
                    let account = receive.receive(plan, signals)?;
                    Ok(Received { account, drops: receive.drops()?, notes: receive.notes() })
                }));
                if let Some(plan) = transmit_plans.get(&id) {
                    let place = Place { real_time, ..place(cores.transmit.get(&id).copied()) };
                    transmitters.push((plan, transmit, place));
                }
                interfaces.push(interface);
            }
            let start = clock::now() + LEAD;
            signals.announce(start);
            let stop_at = trial.stops_at(start);
            for (plan, transmit, place) in transmitters {
                let signals = &signals;
                threads.transmit.push(spawn(scope, Some(place), signals, move || {
                    transmit.transmit(plan, start, stop_at, signals)
                }));
            }
            if let (Some((after, action)), Some(device)) = (&trial.action, &mut options.device) {
                let signals = &signals;
                threads.action.push(spawn(scope, None, signals, move || {
                    clock::wait_until(start + *after);
                    let begun = clock::now();
                    device.act(action)?;
                    Ok((begun, clock::now()))
                }));
            }
            let next_look = clock::now();
            let mut watch = Watch { signals: &signals, interfaces, stop: &options.stop, next_look };
            watch.conduct(trial, start, threads)
        })?;
        let captured = write_captures(trial, ports, &transmit_plans);
        let mut session = Session { trial, cores, ports, options, transmit_plans, receive_plans };
        let mut result = session.conclude(outcome, before, &control_before)?;
        result.notes.extend(captured);
        Ok(result)
    }

    /// What the interfaces count, and the device's ends of them.
    fn states(&mut self) -> Result<States, TesterError> {
        let interfaces = self.ports.iter().map(|port| port.interface.state_if_up());
        let interfaces: Result<_, _> = interfaces.collect();
        let turned_away = self.options.device.as_mut().map(|device| device.turned_away());
        Ok(States { interfaces: interfaces?, turned_away: turned_away.unwrap_or(Ok(vec![]))? })
    }

    fn control_frames(&self) -> Vec<u64> {
        self.ports.iter().map(OpenPort::control_frames).collect()
    }

    fn conclude(
        &mut self,
        outcome: Outcome,
        before: States,
        control_before: &[u64],
    ) -> Result<TrialResult, TesterError> {
        let after = self.states()?;
        let control_after = self.control_frames();
        let readings = self.readings(&outcome.received, before, after);
        let link_was_reset = matches!(self.trial.action, Some((_, DeviceAction::LinkReset { .. })));
        let mut tallies = tally(&readings, link_was_reset);
        let mut notes = self.cores.notes.clone();
        let mut reports = vec![];
        for sent in outcome.transmissions {
            let tally = &mut tallies[usize::from(sent.report.port.0)];
            notes.extend(sent.notes);
            let mut not_sent = sent.not_sent_frames + tally.not_sent;
            if link_was_reset && sent.not_sent_frames > 0 {
                notes.push(format!(
                    "{}: {} frames met a link that was down; they count as lost",
                    sent.report.port, sent.not_sent_frames
                ));
                tally.sent += sent.not_sent_frames;
                not_sent -= sent.not_sent_frames;
            }
            reports.push((sent.report, not_sent));
        }
        let mut accounts = vec![];
        let mut counters = vec![];
        for (index, (received, tally)) in outcome.received.into_iter().zip(tallies).enumerate() {
            counters.push(PortCounters {
                port: received.account.port,
                interface_sent: Some(tally.sent),
                interface_received: Some(tally.received),
                tester_drops: tally.tester_drops,
                control_frames: control_after[index] - control_before[index],
                bad_fcs: None,
            });
            accounts.push(received.account);
            notes.extend(received.notes.into_iter().chain(tally.notes));
        }
        let mut result = self.trial.conclude(outcome.start, reports, accounts, counters);
        result.action = outcome.action;
        result.notes.extend(notes);
        Ok(result)
    }

    fn readings(&self, received: &[Received], before: States, after: States) -> Vec<Reading> {
        let turned_away = |index: usize| {
            let [before, after] = [&before, &after].map(|states| states.turned_away.get(index));
            after.zip(before).map_or(0, |(after, before)| after.saturating_sub(*before))
        };
        let turned_away: Vec<u64> = (0..self.ports.len()).map(turned_away).collect();
        let states = before.interfaces.into_iter().zip(after.interfaces).zip(turned_away);
        let ports = self.ports.iter().zip(received).zip(states);
        ports
            .map(|((port, received), ((before, after), turned_away))| Reading {
                name: port.interface.name().into(),
                index: port.interface.index(),
                own_drops: received.drops.clone(),
                own_drops_in_interface: port.describe().port_type != PortType::AfPacket.name(),
                turned_away,
                before,
                after,
            })
            .collect()
    }
}

/// Counters as they stand at one time.
struct States {
    interfaces: Vec<InterfaceState>,
    /// See [`crate::DeviceControl::turned_away`].
    turned_away: Vec<u64>,
}

/// The one capture asked for at a port.
fn capture_at(trial: &Trial, port: PortId) -> Result<Option<&CaptureRequest>, TesterError> {
    let mut requests = trial.captures.iter().filter(|request| request.port == port);
    match (requests.next(), requests.next()) {
        (first, None) => Ok(first),
        _ => Err(TesterError::BadTrial(format!(
            "{port}: more than one capture; join them into one that names all streams"
        ))),
    }
}

/// Writes the captures asked for; gives a note of each. A capture that cannot be written does
/// not cost the trial its result.
fn write_captures(
    trial: &Trial,
    ports: &mut [OpenPort],
    plans: &BTreeMap<PortId, TransmitPlan>,
) -> Vec<String> {
    let mut notes = vec![];
    for request in &trial.captures {
        let Some(port) = ports.get_mut(usize::from(request.port.0)) else { continue };
        let description = port.describe().clone();
        let Halves { transmit, receive } = port.halves_for(plans.get(&request.port));
        let (sent, received) = (transmit.captured(), receive.captured());
        let (frames, missed) =
            (sent.frames.len() + received.frames.len(), sent.missed + received.missed);
        notes.push(match capture_file::write(&request.path, &description, &sent, &received) {
            Ok(()) if missed == 0 => {
                format!("{}: {frames} frames captured", request.path.display())
            }
            Ok(()) => format!(
                "{}: {frames} frames captured, {missed} more found no room",
                request.path.display()
            ),
            Err(error) => format!("could not {error}"),
        });
    }
    notes
}
