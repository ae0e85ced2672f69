//! A trial under way in virtual time.
//!
//! Events are kept one a port and one for the device, in a tournament tree. On a full-duplex link the next frame's departure depends on nothing
//! but its port, so it is made ahead, and what is kept is its arrival at the device: one event a
//! frame on the way in. On the way out there is none: as soon as the device lets go of a frame,
//! its arrival is known, and the receiver accounts for it at that time.

use crate::link_counts::LinkCounts;
use crate::medium::{Uncarried, Way};
use crate::port::Cable;
use crate::sender::Sender;
use crate::soonest::Soonest;
use crate::{DeviceUnderTest, Frame, Limits, SimTester};
use std::collections::BTreeMap;
use trial::{
    Observer, PortBalance, PortCounters, PortId, QueryCounts, QueryResponder, ReceivePlan,
    Receiver, Residual, Residue, Sample, SentSoFar, StreamId, Tester, TesterError, TransmitPlan,
    TransmitReport, Transmitter, Trial, TrialResult,
};
use units::{Duration, Instant};
use wire::ethernet::{self, EtherType};
use wire::ipv4::{self, Protocol};
use wire::signature::{self, Form, Stamp};
use wire::{group_message, pause, snmp, udp};

pub(crate) struct Running<'a, D> {
    tester: &'a mut SimTester<D>,
    trial: &'a Trial,
    /// On the tester's clock.
    start: Instant,
    sending: Vec<Option<Sending<'a>>>,
    receiving: Vec<Receiving<'a>>,
    /// When something happens next at each port, and last in the device.
    events: Soonest,
    /// Ports that have not sent everything yet.
    unfinished: usize,
    /// When transmitters end, by the tester's clock.
    stops_at: Instant,
    /// When somebody ended sending, by the tester's clock.
    ended: Option<Instant>,
    /// Frames that arrive so long after the last departure are in time, whatever else comes.
    least_drain: Duration,
    /// The latest departure planned so far, in true time.
    last_departure: Instant,
    action: Option<(Instant, Instant)>,
    /// Frames that the device has heard and let go of, by port.
    at_device: Vec<(u64, u64)>,
    /// Queries that hosts heard and answered before, by port.
    queries_before: Vec<QueryCounts>,
    /// What links had not carried before, by port: for the tester, and for the device.
    uncarried_before: Vec<[Uncarried; 2]>,
}

struct Sending<'a> {
    plan: &'a TransmitPlan,
    transmitter: Transmitter<'a>,
    /// The frame emitted last, which may leave later than now: its stream, and when it leaves.
    last: Option<(StreamId, Instant)>,
    sender: Sender,
    longest_bytes: usize,
    next: Next,
    /// What its end of the link had counted before the trial.
    before: LinkCounts,
}

/// What a port sends next.
enum Next {
    Nothing,
    /// It has left, and the device will hear of it.
    UnderWay(Instant, Frame),
    /// It will leave, if the link is free then.
    Leaves(Instant),
}

struct Receiving<'a> {
    receiver: Receiver<'a>,
    arrived: u64,
    damaged: u64,
    /// MAC control frames, and queries for members of groups.
    control: u64,
    /// Answers of the device's SNMP agent.
    answers: u64,
    lost_by_tester: u64,
}

/// When samples are taken, by the tester's clock.
struct Samples {
    every: Duration,
    next: Option<Instant>,
}

impl Samples {
    fn of(observer: &dyn Observer, start: Instant) -> Self {
        let every = observer.every();
        Samples { every: every.unwrap_or_default(), next: every.map(|every| start + every) }
    }

    /// The last moment before the next sample, in true time.
    fn before(&self, limits: &Limits) -> Instant {
        let moment = self.next.map(|next| limits.moment(next));
        moment.map_or(Instant::FAR_FUTURE, |at| Instant::from_ps(at.as_ps().saturating_sub(1)))
    }

    fn advance(&mut self) {
        self.next = self.next.map(|next| next + self.every);
    }
}

/// Half a gigabyte or so.
const KEPT_FRAMES_MAX: u64 = 1 << 21;
const STEPS_BETWEEN_LOOKS: u64 = 1 << 16;

/// What management queries call themselves, and ask about (RFC 2544 appendix C.2.4.3).
const QUERY: i32 = 1;
const INTERFACE: u32 = 1;

/// UDP over IPv4 from an agent's port.
#[inline]
fn is_from_agent(frame: &Frame) -> bool {
    let Some(header) = ethernet::View::peek(&frame.bytes) else { return false };
    let Some(packet) = ipv4::View::peek(header.payload()) else { return false };
    // Agents use no options. Their port comes first: it tells all other frames from theirs.
    let datagram = udp::View::peek(&header.payload()[ipv4::HEADER_LEN..]);
    datagram.is_some_and(|datagram| datagram.src_port() == snmp::PORT)
        && packet.protocol() == Protocol::UDP
        && header.ether_type() == EtherType::IPV4
}

fn uncarried(cable: &Cable) -> [Uncarried; 2] {
    [Way::ToDevice, Way::ToTester].map(|way| cable.uncarried(way))
}

#[inline]
fn is_mac_control(frame: &Frame) -> bool {
    ethernet::View::peek(&frame.bytes).is_some_and(|it| it.ether_type() == pause::MAC_CONTROL)
}

impl<'a, D: DeviceUnderTest> Running<'a, D> {
    pub(crate) fn new(
        tester: &'a mut SimTester<D>,
        trial: &'a Trial,
        transmit: &'a [TransmitPlan],
        receive: &'a [ReceivePlan],
    ) -> Self {
        let start = tester.limits.reads(tester.now);
        let tick = tester.limits.tick();
        for plan in transmit {
            let interval = plan.schedule.mean_rate().interval();
            tester.cables[usize::from(plan.port.0)].intends(interval);
        }
        let sending = receive.iter().map(|port| {
            let plan = transmit.iter().find(|plan| plan.port == port.port)?;
            Some(Sending {
                plan,
                last: None,
                transmitter: Transmitter::new(plan, start, tick),
                sender: Sender::new(tester.limits, start),
                longest_bytes: plan.set.longest_bytes(),
                next: Next::Nothing,
                before: LinkCounts::of(&tester.cables[usize::from(port.port.0)]),
            })
        });
        let receiving = receive.iter().map(|plan| Receiving {
            receiver: Receiver::new(plan, start, tick),
            arrived: 0,
            damaged: 0,
            control: 0,
            answers: 0,
            lost_by_tester: 0,
        });
        let mut running = Running {
            trial,
            start,
            sending: sending.collect(),
            receiving: receiving.collect(),
            events: Soonest::new(receive.len() + 1),
            unfinished: transmit.len(),
            stops_at: trial.stops_at(start),
            ended: None,
            least_drain: trial.waits.least_drain(trial.expects_arrivals()),
            last_departure: tester.now,
            action: None,
            at_device: vec![(0, 0); receive.len()],
            queries_before: tester.members.iter().map(QueryResponder::counts).collect(),
            uncarried_before: tester.cables.iter().map(uncarried).collect(),
            tester,
        };
        for port in 0..running.sending.len() {
            running.plan_said(port);
            running.plan_next(port);
            running.note_event(port);
        }
        running.poll_device();
        running
    }

    /// Tells a port's hosts what they will say in the trial.
    fn plan_said(&mut self, port: usize) {
        let (now, start, limits) = (self.tester.now, self.start, self.tester.limits);
        let said = self.trial.group_messages(PortId(port as u16)).into_iter();
        let said = said.map(|(departs, frame)| (limits.moment(start + departs), frame));
        self.tester.members[port].plan(now, said);
    }

    /// # Errors
    /// Where the device keeps more frames than this machine should.
    pub(crate) fn run(mut self, observer: &mut dyn Observer) -> Result<TrialResult, TesterError> {
        let mut steps = 0u64;
        let mut samples = Samples::of(observer, self.start);
        while self.unfinished > 0 {
            if !self.step(samples.before(&self.tester.limits)) {
                let Some(at) = samples.next.filter(|_| self.events.first().1 < Instant::FAR_FUTURE)
                else {
                    break;
                };
                observer.observe(&self.sample(at));
                samples.advance();
                self.end_if_wanted(at, observer);
            }
            steps += 1;
            if steps.is_multiple_of(STEPS_BETWEEN_LOOKS) {
                self.check_memory()?;
                self.end_if_wanted(self.tester.limits.reads(self.tester.now), observer);
            }
        }
        let drained = self.drain();
        self.receiving.iter_mut().for_each(|port| port.receiver.set_deadline(drained));
        let end = self.tester.limits.moment(drained + self.trial.waits.settle);
        while self.step(end) {}
        self.act_if_due(end);
        self.tester.now = end;
        Ok(self.conclude(drained))
    }

    /// What was counted before `at`, by the tester's clock. What the device has let go of counts as arrived.
    fn sample(&self, at: Instant) -> Sample {
        let now = self.tester.limits.moment(at);
        let sent = self.sending.iter().flatten().map(|sending| {
            let mut sent = SentSoFar::of(sending.transmitter.report());
            if let Some((stream, _)) = sending.last.filter(|(_, departs)| *departs >= now)
                && let Some((_, frames)) = sent.of_stream.iter_mut().find(|(id, _)| *id == stream)
            {
                *frames -= 1;
            }
            sent
        });
        Sample {
            elapsed: at.since(self.start),
            sent: sent.collect(),
            received: self.receiving.iter().flat_map(|port| port.receiver.so_far()).collect(),
        }
    }

    /// Ends sending where the observer wants that; what is under way arrives.
    fn end_if_wanted(&mut self, now: Instant, observer: &mut dyn Observer) {
        if self.ended.is_some() || !observer.ends() {
            return;
        }
        self.ended = Some(now);
        for port in 0..self.sending.len() {
            let Some(sending) = &mut self.sending[port] else { continue };
            if matches!(sending.next, Next::Leaves(_)) {
                self.plan_next(port);
                self.note_event(port);
            }
        }
    }

    /// Waits for residual frames; gives the time at which that was over, by the tester's clock.
    fn drain(&mut self) -> Instant {
        let mut sent = BTreeMap::new();
        let transmitters = self.sending.iter().flatten().map(|sending| &sending.transmitter);
        for (stream, frames) in transmitters.flat_map(|t| &t.report().sent_of_stream) {
            *sent.entry(*stream).or_default() += frames;
        }
        let expected = self.trial.expected_arrivals(&sent);
        let mut over = self.drained_at(expected);
        loop {
            let end = self.tester.limits.moment(over);
            while self.step(end) {}
            let later = self.drained_at(expected);
            if later <= over {
                return over;
            }
            over = later;
        }
    }

    fn drained_at(&self, expected: Option<u64>) -> Instant {
        let receivers = || self.receiving.iter().map(|port| &port.receiver);
        let arrived: u64 = receivers().map(Receiver::expected_arrivals).sum();
        self.trial.waits.drained_at(&Residue {
            last_departure: self.tester.limits.reads(self.last_departure),
            last_arrival: receivers().filter_map(Receiver::last_arrival).max(),
            last_leftover: receivers().filter_map(Receiver::last_leftover).max(),
            longest_delay: receivers().filter_map(Receiver::longest_delay).max(),
            outcome: Residual::of(arrived, expected),
        })
    }

    /// A queue without limit before a processor that is too slow grows until nothing is left.
    fn check_memory(&self) -> Result<(), TesterError> {
        let kept = self.tester.device.keeps_frames();
        if kept <= KEPT_FRAMES_MAX {
            return Ok(());
        }
        Err(TesterError::Unsupported {
            port: "simulated".into(),
            what: format!("a device that keeps {kept} frames at once"),
            remedy: "give the queues of its description room for fewer (`[input] frames`, \
                     `[output] frames`, the `queue` of each processor), or send more slowly"
                .into(),
        })
    }

    /// The next event, if it comes by `end`; false where none does.
    #[inline]
    fn step(&mut self, end: Instant) -> bool {
        let (next, at) = self.events.first();
        if at > end || at == Instant::FAR_FUTURE {
            return false;
        }
        self.act_if_due(at);
        self.tester.now = self.tester.now.max(at);
        if next < self.sending.len() {
            self.at_port(next, at);
        }
        self.poll_device();
        if next < self.sending.len() {
            self.note_event(next);
        }
        true
    }

    /// Everything that happens at a port at `now`.
    #[inline]
    fn at_port(&mut self, port: usize, now: Instant) {
        let id = PortId(port as u16);
        while let Some((heard, mut frame, left)) = self.tester.cables[port].receive_from_tester(now)
        {
            if let Some(left) = left {
                self.restamp(&mut frame, left);
            }
            self.at_device[port].0 += 1;
            self.tester.device.handle_frame(heard, id, frame);
        }
        self.send(port, id, now);
        while let Some((arrives, frame)) = self.tester.cables[port].receive(Way::ToTester, now) {
            self.absorb(port, arrives, frame);
        }
        self.tester.answer_queries(port, now);
    }

    #[inline]
    fn send(&mut self, port: usize, id: PortId, now: Instant) {
        let Some(sending) = &mut self.sending[port] else { return };
        match &mut sending.next {
            Next::UnderWay(heard, frame) if *heard <= now => {
                let (heard, frame) = (*heard, std::mem::take(frame));
                self.at_device[port].0 += 1;
                self.tester.device.handle_frame(heard, id, frame);
                self.plan_next(port);
            }
            Next::Leaves(at) => {
                let free_at = self.tester.cables[port].free_at(Way::ToDevice, now);
                if *at <= now && free_at <= now {
                    let frame = self.emit(port, now);
                    self.tester.cables[port].send(Way::ToDevice, now, frame);
                }
                self.plan_next(port);
            }
            Next::UnderWay(..) | Next::Nothing => {}
        }
    }

    /// Decides when the port's next frame leaves.
    #[inline]
    fn plan_next(&mut self, port: usize) {
        let Some(sending) = &mut self.sending[port] else { return };
        let limits = self.tester.limits;
        sending.next = Next::Nothing;
        let due = sending.transmitter.next_due().filter(|_| self.ended.is_none());
        let Some(due) = due else {
            self.unfinished -= 1;
            return;
        };
        // What the device held back by a pause is due after its end, and still leaves.
        let is_due_in_time = due < self.stops_at;
        let earliest = |free_at: Instant| {
            let due = due.max(limits.reads(free_at));
            limits.moment(sending.sender.departure(due)).max(free_at)
        };
        let now = self.tester.now;
        let cable = &self.tester.cables[port];
        let free_at = cable.free_at(Way::ToDevice, now);
        let by_itself = match cable {
            Cable::Half(medium) => {
                let alone_at = medium.free_alone_at(Way::ToDevice).max(now);
                let ready = limits.reads(earliest(alone_at));
                let is_taken = free_at == Instant::FAR_FUTURE;
                let free = if is_taken { ready } else { limits.reads(free_at) };
                Some(sending.transmitter.wait_for_medium((ready, free), self.stops_at))
            }
            Cable::Full { .. } | Cable::Ring(_) => None,
        };
        if free_at == Instant::FAR_FUTURE {
            // While the medium is not to be had, its next event will ask again.
            sending.next = Next::Leaves(free_at);
            return;
        }
        let leaves = earliest(free_at);
        let is_in_time = by_itself.unwrap_or(limits.reads(leaves) < self.stops_at);
        if is_due_in_time && !is_in_time {
            self.unfinished -= 1;
            return;
        }
        sending.next = Next::Leaves(leaves);
        // Where the device may ask for a pause, nothing leaves before its time has come.
        if matches!(self.tester.cables[port], Cable::Full { .. }) && !limits.honours_pause {
            let frame = self.emit(port, leaves);
            let Cable::Full { to_device, .. } = &mut self.tester.cables[port] else { return };
            let heard = to_device.take(leaves, frame.size());
            if let Some(sending) = &mut self.sending[port] {
                sending.next = Next::UnderWay(heard, frame);
            }
        }
    }

    /// The port's next frame, as it leaves at `departs`.
    #[inline]
    fn emit(&mut self, port: usize, departs: Instant) -> Frame {
        let mut bytes = self.tester.spare.pop().unwrap_or_default();
        let Some(sending) = &mut self.sending[port] else { return Frame::default() };
        bytes.resize(sending.longest_bytes, 0);
        let shown = self.tester.limits.reads(departs);
        let emitted = sending.transmitter.emit(shown, &mut bytes);
        bytes.truncate(emitted.len_bytes);
        sending.sender.has_sent(shown);
        sending.last = Some((emitted.stream, departs));
        self.last_departure = self.last_departure.max(departs);
        Frame { bytes, damaged: emitted.bad_fcs }
    }

    /// Writes into a frame that has collided when it left at last: its first attempt was none.
    fn restamp(&mut self, frame: &mut Frame, left: Instant) {
        let key = self.trial.key;
        let ticks = self.tester.limits.reads(left).as_ps() / self.tester.limits.tick().as_ps();
        let signed = [Form::Full, Form::Short].into_iter();
        let mut signed = signed.filter_map(|form| Some((form, signature::read(form, key, frame)?)));
        if let Some((form, stamp)) = signed.next() {
            let stamp = Stamp { transmit_ticks: ticks, ..stamp };
            signature::write(form, key, stamp, &mut frame.bytes);
        }
        self.last_departure = self.last_departure.max(left);
    }

    /// Takes what the device lets go of.
    #[inline]
    fn poll_device(&mut self) {
        let now = self.tester.now;
        while let Some((port, frame)) = self.tester.next_output() {
            self.at_device[port].1 += 1;
            match &mut self.tester.cables[port] {
                Cable::Full { to_tester, .. } => {
                    let arrives = to_tester.take(now, frame.size());
                    let is_test = !is_mac_control(&frame) && !group_message::is_query(&frame);
                    let alone = to_tester.next_arrival().is_none() && is_test;
                    if alone && self.counts_for_sure(arrives) {
                        self.absorb(port, arrives, frame);
                        continue;
                    }
                    let Cable::Full { to_tester, .. } = &mut self.tester.cables[port] else {
                        continue;
                    };
                    to_tester.keep(arrives, frame);
                }
                cable => cable.send(Way::ToTester, now, frame),
            }
            self.note_event(port);
        }
        let device = self.sending.len();
        let timeout = self.tester.device.poll_timeout();
        self.events.set(device, timeout.unwrap_or(Instant::FAR_FUTURE));
    }

    /// Whether what arrives then is in time, whatever else is sent.
    #[inline]
    fn counts_for_sure(&self, arrives: Instant) -> bool {
        let limits = &self.tester.limits;
        limits.reads(arrives) <= limits.reads(self.last_departure) + self.least_drain
    }

    #[inline]
    fn absorb(&mut self, port: usize, arrives: Instant, frame: Frame) {
        if is_mac_control(&frame) && !frame.damaged {
            return self.pause(port, arrives, &frame);
        }
        if self.tester.hear_query(port, arrives, &frame) {
            self.receiving[port].control += 1;
            return;
        }
        let receiving = &mut self.receiving[port];
        if frame.damaged {
            receiving.damaged += 1;
        } else {
            receiving.arrived += 1;
            if is_from_agent(&frame) {
                receiving.answers += u64::from(snmp::Repr::is_answer(&frame, QUERY, INTERFACE));
            }
            let loses = self.tester.limits.loses_every;
            if loses.is_some_and(|every| receiving.arrived.is_multiple_of(every)) {
                receiving.lost_by_tester += 1;
            } else {
                receiving.receiver.absorb(self.tester.limits.reads(arrives), &frame);
            }
        }
        self.tester.keep(frame.bytes);
    }

    /// A MAC control frame goes no further than the MAC.
    fn pause(&mut self, port: usize, now: Instant, frame: &Frame) {
        self.receiving[port].control += 1;
        let Some(pause) = pause::Repr::parse(frame).filter(|_| self.tester.limits.honours_pause)
        else {
            return;
        };
        let line = self.tester.describe().ports[port].line_rate;
        let Some(sending) = &mut self.sending[port] else { return };
        let until = self.tester.limits.reads(now) + pause.time(line);
        sending.transmitter.pause_until(until);
        if matches!(sending.next, Next::Leaves(_)) {
            self.plan_next(port);
        }
    }

    #[inline]
    fn note_event(&mut self, port: usize) {
        let sending = self.sending[port].as_ref().map(|sending| &sending.next);
        let sends = match sending {
            Some(Next::UnderWay(at, _) | Next::Leaves(at)) => *at,
            Some(Next::Nothing) | None => Instant::FAR_FUTURE,
        };
        self.events.set(port, sends.min(self.tester.next_at_port(port)));
    }

    #[inline]
    fn act_if_due(&mut self, now: Instant) {
        let Some((after, action)) = &self.trial.action else { return };
        let due = self.tester.limits.moment(self.start + *after);
        if self.action.is_none() && due <= now {
            let end = self.tester.device.act(due, action).unwrap_or(due);
            let limits = &self.tester.limits;
            self.action = Some((limits.reads(due), limits.reads(end)));
        }
    }

    fn conclude(self, drained: Instant) -> TrialResult {
        let uncarried_after: Vec<_> = self.tester.cables.iter().map(uncarried).collect();
        // What has not left by now does not leave in the next trial.
        let unsent: Vec<u64> = self.tester.cables.iter_mut().map(Cable::withdraw).collect();
        let mut notes = vec![];
        let mut reports: Vec<(TransmitReport, u64)> = vec![];
        for (port, sending) in self.sending.into_iter().enumerate() {
            let Some(sending) = sending else { continue };
            let counts = LinkCounts::of(&self.tester.cables[port]);
            notes.extend(counts.note_since(&sending.before, port));
            let mut report = sending.transmitter.into_report();
            if let Some(ended) = self.ended {
                report.end_at(&sending.plan.schedule, (self.start, ended));
            }
            let unsent = unsent[port].min(report.sent_frames);
            reports.push((report, unsent));
        }
        // Looked up, since a mesh has thousands of streams.
        let mut sent: BTreeMap<StreamId, u64> = BTreeMap::new();
        for (stream, count) in reports.iter().flat_map(|(report, _)| &report.sent_of_stream) {
            *sent.entry(*stream).or_default() += count;
        }
        let sent_of = |stream| sent.get(&stream).copied().unwrap_or(0);
        let sent_by = |port| {
            let report = reports.iter().find(|(report, _)| report.port == port);
            report.map_or(0, |(report, _)| report.sent_frames)
        };
        let mut received = vec![];
        let mut counters = vec![];
        let mut balance = vec![];
        for (port, (heard, left)) in self.receiving.into_iter().zip(self.at_device) {
            let account = port.receiver.into_received(sent_of);
            let index = usize::from(account.port.0);
            let queries = self.tester.members[index].counts().since(self.queries_before[index]);
            let [tester, device] = uncarried_after[index];
            let [tester_before, device_before] = self.uncarried_before[index];
            let handed_over = sent_by(account.port) + queries.reports + tester_before.waiting;
            let interface_sent = handed_over - unsent[index];
            // Handed over to a half-duplex link is not sent.
            let device_sent = left + device_before.waiting - device.waiting;
            let device_sent = device_sent - device.lost_since(&device_before);
            if port.damaged > 0 {
                let (frames, port) = (port.damaged, account.port);
                notes.push(format!("{frames} frames came out with a bad FCS at {port}"));
            }
            balance.push(PortBalance {
                tester_sent: interface_sent,
                device_received: heard,
                device_dropped_in: tester.lost_since(&tester_before),
                device_sent,
                tester_received: port.arrived + port.control,
                tester_dropped: port.lost_by_tester,
                ..PortBalance::at(account.port)
            });
            counters.push(PortCounters {
                port: account.port,
                interface_sent: Some(interface_sent),
                interface_received: Some(port.arrived + port.control),
                tester_drops: vec![("simulated ring full".into(), port.lost_by_tester)],
                control_frames: port.control,
                bad_fcs: Some(port.damaged),
                management_answers: Some(port.answers),
                group_queries: queries,
            });
            received.push(account);
        }
        let over = (self.start, drained, Duration::ZERO);
        let mut result = self.trial.conclude(over, reports, received, counters);
        result.action = self.action;
        result.balance = balance;
        result.notes.extend(notes);
        result
    }
}
