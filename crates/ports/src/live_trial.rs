//! One trial on live ports: threads are started, watched and ended, and what they report is put
//! together. The order of events is that of [`crate::Port`].

use crate::control::ControlCounts;
use crate::cores::{CorePlan, receiver_name, transmitter_name};
use crate::groups::{Groups, exchange, join_senders, receive, transmit};
use crate::live::{DeviceCounts, DeviceLink, LiveOptions, PlaceCount, receivers_of};
use crate::open::{OpenPort, PartsOfPort};
use crate::pressure::{self, DeviceThread, Looks, OwnThreads};
use crate::sampling::Sampling;
use crate::tally::{Reading, Tally, tally};
use crate::watch::{Place, Received, ThreadResults, Threads, Watch, spawn};
use crate::{CaptureWish, Captured, ControlHandle, PerhapsFull, TrialSignals, capture_file, clock};
use kernel::InterfaceState;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc;
use trial::{
    ByQueues, CaptureRequest, DeviceAction, DevicePlace, InvalidReason, LinkChanges, Observer,
    Owner, PortBalance, PortCounters, PortId, Pressure, ReceivePlan, StreamId, TesterError,
    TransmitPlan, Trial, TrialResult,
};
use units::{Duration, Instant};

/// From announcing the start to the first frame: threads get into position.
const LEAD: Duration = Duration::from_ms(10);
/// An interface adds what it has received to its counters at the end of a round of polling: for so
/// long it may lag behind the tester.
const COUNTER_LAG: Duration = Duration::from_ms(20);
/// From preparing a trial to its first frame it takes no longer.
const LONGEST_START: Duration = Duration::from_secs(10);
/// Frames, each with its departure from the start of a trial.
type Said = Vec<(Duration, Vec<u8>)>;

/// A trial about to run.
pub(crate) struct LiveTrial<'a> {
    trial: &'a Trial,
    cores: &'a CorePlan,
    ports: &'a mut [OpenPort],
    options: &'a mut LiveOptions,
    transmit_plans: BTreeMap<PortId, TransmitPlan>,
    receive_plans: BTreeMap<PortId, ReceivePlan>,
    /// Frames received by each interface before its port began to count.
    received_before: Vec<u64>,
}

impl<'a> LiveTrial<'a> {
    /// Makes ready; nothing is sent yet, but from here on ports receive.
    pub fn new(
        trial: &'a Trial,
        cores: &'a CorePlan,
        ports: &'a mut [OpenPort],
        options: &'a mut LiveOptions,
    ) -> Result<Self, TesterError> {
        let states: Result<Vec<_>, _> = ports.iter().map(|port| port.link.state_if_up()).collect();
        let received_before = states?.iter().map(|state| state.counters.rx_frames).collect();
        let plans = trial.transmit_plans()?;
        let transmit_plans: BTreeMap<_, _> =
            plans.into_iter().map(|plan| (plan.port, plan)).collect();
        let mut receive_plans = BTreeMap::new();
        let slack = clock_slack(trial, ports)?;
        let by_queues = by_queues(&transmit_plans, ports);
        for port in ports.iter_mut() {
            let id = port.describe().id;
            let mut receive_plan = trial.receive_plan(id);
            receive_plan.clock_slack += slack;
            for stream in &mut receive_plan.streams {
                stream.by_queues = by_queues.get(&stream.id).copied();
            }
            let request = capture_at(trial, id)?;
            let wish = |wanted: fn(&CaptureRequest) -> bool| {
                request.filter(|request| wanted(request)).map(CaptureWish::of)
            };
            let halves = port.halves_for(transmit_plans.get(&id));
            let (queues, receivers) = halves.used(transmit_plans.get(&id));
            for (queue, plan) in queues {
                queue.capture(wish(|request| request.sent))?;
                queue.prepare(plan)?;
            }
            for receiver in receivers {
                receiver.capture(wish(|request| request.received))?;
                receiver.prepare(&receive_plan)?;
            }
            receive_plans.insert(id, receive_plan);
        }
        Ok(LiveTrial {
            trial,
            cores,
            ports,
            options,
            transmit_plans,
            receive_plans,
            received_before,
        })
    }

    /// Runs the trial to the end of its drain time.
    pub fn run(mut self, observer: &mut dyn Observer) -> Result<TrialResult, TesterError> {
        let ids: Vec<PortId> = self.ports.iter_mut().flat_map(receivers_of).collect();
        let receiving = ids.len();
        let before = self.states()?;
        let control_before = self.control_counts();
        let said = self.said_of_groups();
        let device_threads = self.device_threads();
        let looked_at = self.looked_at(&device_threads);
        let untimed = self.untimed(&device_threads);
        let own_threads = OwnThreads::default();
        let signals = TrialSignals::new(ids);
        let LiveTrial {
            trial,
            cores,
            ports,
            options,
            transmit_plans,
            receive_plans,
            received_before,
        } = self;
        let pressure_before = pressure::Reading::take(&device_threads);
        let mut looks = Looks::at(&looked_at, clock::now());
        let hides_latency = ports.iter().any(|port| port.port.is_elsewhere());
        let notice = ports.iter().map(|port| port.port.notice()).max();
        let lead = LEAD + notice.unwrap_or_default();
        let outcome = std::thread::scope(|scope| {
            let real_time = options.real_time;
            let mut links = vec![];
            let mut threads = Threads { transmit: vec![], receive: vec![], action: vec![] };
            let (mut transmitters, mut receivers) = (Groups::default(), Groups::default());
            for port in ports.iter_mut() {
                let id = port.port.describe().id;
                let PartsOfPort { halves, namespace, link } =
                    port.parts_for(transmit_plans.get(&id));
                let place = |name: String, core, real_time, shares| Place {
                    name,
                    core,
                    namespace,
                    real_time,
                    shares,
                    own_threads: &own_threads,
                };
                let (queues, receiving) = halves.used(transmit_plans.get(&id));
                let on = cores.receive.get(&id).map_or(&[][..], Vec::as_slice);
                for (queue, half) in receiving.into_iter().enumerate() {
                    let (core, shares) = (on.get(queue).copied(), half.takes_turns());
                    let receiver = place(receiver_name(id, queue), core, real_time.receive, shares);
                    receivers.add(receiver, (&receive_plans[&id], half));
                }
                let cores = cores.transmit.get(&id).map_or(&[][..], Vec::as_slice);
                for (queue, (half, plan)) in queues.into_iter().enumerate() {
                    let (core, shares) = (cores.get(queue).copied(), half.takes_turns());
                    let name = transmitter_name(id, queue);
                    let transmitter = place(name, core, real_time.transmit, shares);
                    transmitters.add(transmitter, (plan, half));
                }
                links.push(link);
            }
            let signals = &signals;
            let answers = receiving + transmitters.0.iter().map(|(_, of)| of.len()).sum::<usize>();
            let mut sampling = Sampling::new(observer, signals, answers);
            sampling.hides_latency = hides_latency;
            let both = join_senders(&mut transmitters, &mut receivers);
            for (place, group) in receivers.0 {
                let body = move || receive(group, signals);
                threads.receive.push(spawn(scope, Some(place), signals, body));
            }
            let start = clock::now() + lead;
            signals.announce(start);
            let stop_at = trial.stops_at(start);
            for (place, group) in transmitters.0 {
                let body = move || transmit(group, start, stop_at, signals);
                threads.transmit.push(spawn(scope, Some(place), signals, body));
            }
            for (place, senders, group) in both {
                let (sent, all_sent) = mpsc::channel();
                let body = move || exchange(senders, group, (start, stop_at), signals, sent);
                threads.receive.push(spawn(scope, Some(place), signals, body));
                // What was sent is asked for while the thread goes on to receive. One that fails tells nothing here:
                // its error is that of the receive thread.
                let body = move || Ok(all_sent.recv().unwrap_or_default());
                threads.transmit.push(spawn(scope, None, signals, body));
            }
            for (control, said) in said {
                control.plan_said(said.into_iter().map(|(after, frame)| (start + after, frame)));
            }
            let acting = options.device.as_mut().filter(|device| device.acts());
            if let (Some((after, action)), Some(device)) = (&trial.action, acting) {
                threads.action.push(spawn(scope, None, signals, move || {
                    clock::wait_until(start + *after);
                    let begun = clock::now();
                    device.act(action)?;
                    Ok((begun, clock::now()))
                }));
            }
            let next_look = clock::now();
            let (stop, looks) = (&options.stop, &mut looks);
            let mut watch = Watch { signals, links, stop, looks, next_look, sampling };
            watch.conduct(trial, start, threads)
        })?;
        let now = pressure::Reading::take(&device_threads);
        looks.look_now(clock::now());
        let mut pressure = now.since(&pressure_before, &looks);
        pressure.untimed = untimed;
        pressure.threads.extend(own_threads.into_threads());
        let captured = write_captures(trial, ports, &transmit_plans);
        let mut session = LiveTrial {
            trial,
            cores,
            ports,
            options,
            transmit_plans,
            receive_plans,
            received_before,
        };
        let mut result = session.conclude(outcome, before, &control_before, pressure)?;
        result.notes.extend(captured);
        Ok(result)
    }

    /// Those of the device; where nobody can say, those of the programs at the far ends.
    fn device_threads(&mut self) -> Vec<DeviceThread> {
        if let Some(device) = &mut self.options.device {
            return device.threads();
        }
        let mut threads: Vec<_> =
            self.ports.iter().flat_map(|port| port.link.far_threads()).collect();
        // One program may be at several ends.
        threads.sort();
        threads.dedup();
        threads
    }

    /// Whose waits the end of a trial waits for: beside a device that was not built here, whatever in this kernel may
    /// have a frame of the trial in hand. A device in another namespace has its queues here, too.
    fn looked_at(&self, device_threads: &[DeviceThread]) -> Vec<DeviceThread> {
        let unknown = self.options.device.is_none().then(pressure::kernel_threads);
        device_threads.iter().cloned().chain(unknown.into_iter().flatten()).collect()
    }

    /// What the interfaces count.
    fn interfaces(&self) -> Result<Vec<InterfaceState>, TesterError> {
        self.ports.iter().map(|port| port.link.state_if_up()).collect()
    }

    /// Both, the device's within the tester's. Where the device's counters take their time to be up to date,
    /// what came by meanwhile is before the trial for both.
    fn states(&mut self) -> Result<States, TesterError> {
        let interfaces = self.interfaces()?;
        let device = self.device_counts()?;
        let is_rough = self.options.device.as_ref().is_some_and(|device| device.is_rough());
        let interfaces = if is_rough { self.interfaces()? } else { interfaces };
        Ok(States { interfaces, device })
    }

    /// What the device counts.
    fn device_counts(&mut self) -> Result<DeviceCounts, TesterError> {
        self.options.device.as_mut().map_or(Ok(DeviceCounts::default()), |device| device.counts())
    }

    /// Why the device's processor time is not known, where it is not.
    fn untimed(&self, threads: &[DeviceThread]) -> Option<String> {
        let Some(device) = &self.options.device else {
            return Some("the device was not built here: its processors are its own".into());
        };
        let none = || threads.is_empty().then(|| "the device has no threads of its own".into());
        device.untimed().or_else(none)
    }

    /// What the interfaces count when all is over: no less than the ports have seen, if they ever
    /// come to that.
    fn settled_interfaces(
        &self,
        received: &[Received],
    ) -> Result<Vec<InterfaceState>, TesterError> {
        let until = clock::now() + COUNTER_LAG;
        loop {
            let states = self.interfaces()?;
            let lags = |((state, before), received): ((&InterfaceState, &u64), &Received)| {
                state.counters.rx_frames.saturating_sub(*before) < received.account.arrivals()
            };
            let ports = states.iter().zip(&self.received_before).zip(received);
            if clock::now() >= until || !ports.into_iter().any(lags) {
                return Ok(states);
            }
            clock::sleep(Duration::from_ms(1));
        }
    }

    /// What the control side of each port has seen so far.
    fn control_counts(&self) -> Vec<ControlCounts> {
        self.ports.iter().map(OpenPort::control_counts).collect()
    }

    /// What the hosts of each port say of groups in the trial, and when.
    fn said_of_groups(&self) -> Vec<(ControlHandle, Said)> {
        let of = |port: &OpenPort| (port.control(), self.trial.group_messages(port.describe().id));
        self.ports.iter().map(of).collect()
    }

    fn conclude(
        &mut self,
        outcome: ThreadResults,
        before: States,
        control_before: &[ControlCounts],
        mut pressure: Pressure,
    ) -> Result<TrialResult, TesterError> {
        // The device first, so that whatever it has sent by then can be in the tester's count.
        let device = self.device_counts()?;
        let after = States { interfaces: self.settled_interfaces(&outcome.received)?, device };
        let control_after = self.control_counts();
        let readings = self.readings(&outcome.received, &before, &after);
        let link_was_reset = matches!(self.trial.action, Some((_, DeviceAction::LinkReset { .. })));
        let mut tallies = tally(&readings, link_was_reset);
        let is_rough = self.options.device.as_ref().is_some_and(|device| device.is_rough());
        let balance = balance(&tallies, &before, &after, is_rough);
        pressure.links = link_changes(&before, &after);
        let mut notes = self.cores.notes.clone();
        let mut reports = vec![];
        for mut sent in outcome.transmissions {
            if let (Some(ended), Some(plan)) =
                (outcome.ended, self.transmit_plans.get(&sent.report.port))
            {
                sent.report.end_at(&plan.schedule, (outcome.start, ended));
            }
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
        let mut perhaps_full = vec![];
        for (index, (received, tally)) in outcome.received.into_iter().zip(tallies).enumerate() {
            let control = control_after[index].since(control_before[index]);
            counters.push(PortCounters {
                port: received.account.port,
                interface_sent: Some(tally.sent),
                interface_received: Some(self.received_since_prepared(index, &after)),
                tester_drops: tally.tester_drops,
                control_frames: control.frames,
                bad_fcs: None,
                management_answers: Some(control.management_answers),
                group_queries: control.group_queries,
            });
            // Where the device's end is known, what it turned away is among the tester's drops.
            if links_of(&before, &after, index).is_none() {
                perhaps_full.extend(received.perhaps_full.map(|full| (PortId(index as u16), full)));
            }
            accounts.push(received.account);
            notes.extend(received.notes.into_iter().chain(tally.notes));
        }
        let over = (outcome.start, outcome.drained, outcome.late);
        let mut result = self.trial.conclude(over, reports, accounts, counters);
        result.action = outcome.action;
        result.notes.extend(notes);
        result.notes.extend(not_read(&before, &after));
        result.pressure = pressure;
        result.balance = balance;
        result.places = places_between(&before.device.places, &after.device.places);
        result.clocks = self.ports.iter_mut().filter_map(|port| port.port.clock()).collect();
        trial::clocks::judge(&mut result);
        trial::pressure::judge(&mut result, self.trial.action.is_some());
        if result.lost_frames() > 0 {
            for (port, PerhapsFull { queue_frames, times }) in perhaps_full {
                result.invalidate(InvalidReason::PerhapsFull { port, queue_frames, times });
            }
        }
        Ok(result)
    }

    /// Frames that an interface has received since before its port began to count: whatever the port
    /// counts is among them, foreign frames from outside of the trial too.
    fn received_since_prepared(&self, index: usize, after: &States) -> u64 {
        let now = after.interfaces[index].counters.rx_frames;
        now.saturating_sub(self.received_before[index])
    }

    fn readings(&self, received: &[Received], before: &States, after: &States) -> Vec<Reading> {
        let ports = self.ports.iter().zip(received).enumerate();
        ports
            .map(|(index, (port, received))| Reading {
                name: port.link.name().into(),
                index: port.link.index(),
                sends_into_far_queue: port.link.sends_into_far_queue(&after.interfaces[index]),
                own_drops: received.drops.clone(),
                own_drops_in_interface: port.describe().capabilities.drops_in_interface,
                taken_as_dropped: match port.describe().capabilities.drops_what_it_takes {
                    true => received.account.arrivals() - received.account.foreign,
                    false => 0,
                },
                turned_away: links_of(before, after, index).map_or(0, |(before, after)| {
                    after.tx_dropped.saturating_sub(before.tx_dropped)
                }),
                before: before.interfaces[index].clone(),
                after: after.interfaces[index].clone(),
            })
            .collect()
    }
}

/// Counters as they stand at one time.
struct States {
    interfaces: Vec<InterfaceState>,
    device: DeviceCounts,
}

/// What places counted between two readings; those where nothing happened are left out.
fn places_between(before: &[PlaceCount], after: &[PlaceCount]) -> Vec<DevicePlace> {
    let place = |now: &PlaceCount| {
        let then = before.iter().find(|then| then.name == now.name);
        let (dropped, waiting_before) = then.map_or((0, 0), |then| (then.dropped, then.waiting));
        DevicePlace {
            name: now.name.clone(),
            dropped: now.dropped.saturating_sub(dropped),
            waiting_before,
            waiting: now.waiting,
            of_machine: now.of_machine,
        }
    };
    let idle = |place: &DevicePlace| place.dropped + place.waiting_before + place.waiting == 0;
    after.iter().map(place).filter(|place| !idle(place)).collect()
}

/// Why the device could not be read, before or after; each reason once.
fn not_read(before: &States, after: &States) -> BTreeSet<String> {
    before.device.notes.iter().chain(&after.device.notes).cloned().collect()
}

/// The device's end of a port's link, before and after.
fn links_of(before: &States, after: &States, index: usize) -> Option<(DeviceLink, DeviceLink)> {
    Some((*before.device.links.get(index)?, *after.device.links.get(index)?))
}

/// Where frames were, by port, as far as the device's interfaces are known.
fn balance(tallies: &[Tally], before: &States, after: &States, is_rough: bool) -> Vec<PortBalance> {
    let ports = tallies.iter().enumerate().filter_map(|(index, tally)| {
        let (before, after) = links_of(before, after, index)?;
        Some(PortBalance {
            port: PortId(index as u16),
            tester_sent: tally.sent,
            refused: tally.refused,
            device_received: after.rx_frames.saturating_sub(before.rx_frames),
            device_dropped_in: after.rx_dropped.saturating_sub(before.rx_dropped),
            device_sent: after.tx_frames.saturating_sub(before.tx_frames),
            turned_away: after.tx_dropped.saturating_sub(before.tx_dropped),
            tester_received: tally.received,
            tester_dropped: tally.tester_drops.iter().map(|(_, frames)| frames).sum(),
            is_rough,
        })
    });
    ports.collect()
}

/// Carrier changes at both ends of every link.
fn link_changes(before: &States, after: &States) -> Vec<LinkChanges> {
    let change = |owner, index: usize, before: u64, after: u64, carrier| LinkChanges {
        owner,
        port: PortId(index as u16),
        changes: after.saturating_sub(before),
        carrier,
    };
    let own = before.interfaces.iter().zip(&after.interfaces).enumerate();
    let own = own.map(|(index, (before, after))| {
        let carrier = after.carrier;
        change(Owner::Tester, index, before.carrier_changes, after.carrier_changes, carrier)
    });
    let devices = before.device.links.iter().zip(&after.device.links).enumerate();
    let devices = devices.map(|(index, (before, after))| {
        let carrier = after.carrier;
        change(Owner::Device, index, before.carrier_changes, after.carrier_changes, carrier)
    });
    own.chain(devices).collect()
}

/// By how much the clocks of any two ports may differ in the trial, beyond those of one host: what two ports may be
/// wrong by, since one of them stamps and the other one reads.
fn clock_slack(trial: &Trial, ports: &mut [OpenPort]) -> Result<Duration, TesterError> {
    let from_start = trial.stops_at(Instant::ZERO).since(Instant::ZERO);
    let span = from_start + trial.waits.longest_drain() + LONGEST_START;
    let errors = ports.iter_mut().map(|port| port.port.clock_error_in(span));
    let mut errors = errors.collect::<Result<Vec<_>, _>>()?;
    errors.sort();
    Ok(errors.into_iter().rev().take(2).fold(Duration::ZERO, |sum, error| sum + error))
}

/// The streams that several queues of a port send.
fn by_queues(
    plans: &BTreeMap<PortId, TransmitPlan>,
    ports: &mut [OpenPort],
) -> BTreeMap<StreamId, ByQueues> {
    let mut all = BTreeMap::new();
    for port in ports {
        let Some(plan) = plans.get(&port.describe().id) else { continue };
        let queues = port.halves_for(Some(plan)).queues();
        let ids = plan.set.streams().iter().map(|stream| stream.id);
        all.extend(ids.filter_map(|id| Some((id, plan.by_queues(id, queues)?))));
    }
    all
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
        let (queues, receivers) =
            port.halves_for(plans.get(&request.port)).used(plans.get(&request.port));
        let of_queues = queues.into_iter().map(|(queue, _)| queue.captured());
        let sent = Captured::of_queues(of_queues, request.max_frames);
        let of_queues = receivers.into_iter().map(|receiver| receiver.captured());
        let received = Captured::of_queues(of_queues, request.max_frames);
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
