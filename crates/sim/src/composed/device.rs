//! A composed device, put together from its description.

use super::addresses::{Addresses, Interface};
use super::arp_server::{ArpServer, Request};
use super::bridge::{LearningTable, Lookup};
use super::counters::{Counter, Counters};
use super::crossbar::Crossbar;
use super::description::{Description, DescriptionError, Learning, Protocol, Queue, Table};
use super::filter::FilterRule;
use super::flow_control::FlowControl;
use super::forwarding::{Decision, Forwarding};
use super::misbehaviour::Health;
use super::multicast::{Medium, Multicast};
use super::neighbours::TableLimits;
use super::output::Outputs;
use super::pipeline::{Handed, Job, Pipeline, Step, room_of};
use super::router::{self, Router, RouterLimits};
use crate::{Departing, DeviceUnderTest, Frame, Lines};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;
use trial::{DeviceSetup, PortId};
use units::{Duration, FrameSize, Instant};
use wire::ethernet::{self, EtherType};

/// A device composed of its mechanisms.
///
/// A frame is checked and counted by its port, finds room or not, is decided over (and rewritten)
/// as it is taken in, passes the processors on its way, and waits at its output for the link.
#[derive(Clone, Debug)]
pub struct Composed {
    forwarding: Forwarding,
    pipeline: Pipeline,
    outputs: Outputs,
    /// Queues at the inputs, where there are any.
    crossbar: Option<Crossbar>,
    flow_control: Option<FlowControl>,
    arp_server: Option<ArpServer>,
    health: Health,
    counters: Vec<Counters>,
    shown: Vec<Counter>,
    counter_names: BTreeMap<Counter, String>,
    hello: Option<Hello>,
    cut_through_bytes: Option<u32>,
    max_frame_bytes: u32,
    filter_room: u64,
    joins_pairs: bool,
    delay: Duration,
    delay_varies_by: Duration,
    random: Xoshiro256PlusPlus,
    /// When something happens by itself.
    wakes_at: Instant,
}

/// The largest untagged frame, and what a VLAN tag adds to it.
const MAX_FRAME_BYTES: u32 = FrameSize::MAX_ETHERNET.bytes();
const TAG_BYTES: u32 = 4;

impl Composed {
    /// A device with these addresses, one interface a port.
    ///
    /// # Errors
    /// Where the description is impossible, or has other ports than the addresses.
    pub fn new(device: &Description, addresses: &Addresses) -> Result<Self, DescriptionError> {
        device.check()?;
        if addresses.interfaces.len() != device.ports {
            let interfaces = addresses.interfaces.len();
            return Err(DescriptionError {
                what: format!("{interfaces} interfaces for {} ports", device.ports),
                remedy: "give one interface a port".into(),
            });
        }
        let joins_pairs = device.joins_pairs();
        let largest = if joins_pairs { u32::MAX } else { MAX_FRAME_BYTES };
        let forwarding = forwarding_of(device, addresses);
        let hello = device.hello.map_or(Instant::FAR_FUTURE, |every| Instant::ZERO + every.0);
        Ok(Composed {
            wakes_at: hello.min(forwarding.next_query()),
            forwarding,
            pipeline: Pipeline::new(device),
            outputs: Outputs::new(device.ports, room_of(device.output), room_of(device.memory)),
            crossbar: device.fabric.map(|fabric| {
                let room = room_of(Queue { frames: fabric.frames, bytes: fabric.bytes });
                Crossbar::new(device.ports, room, fabric.arbitration)
            }),
            flow_control: device
                .flow_control
                .map(|plan| FlowControl::new(&plan, device.ports, device.line_rate.line_rate())),
            arp_server: device.arp_server.as_ref().map(ArpServer::new),
            health: Health::new(device.misbehaviour.clone()),
            counters: vec![Counters::default(); device.ports],
            shown: device.counters.clone().unwrap_or_else(|| Counter::ALL.to_vec()),
            counter_names: device.counter_names.clone(),
            hello: device.hello.map(|every| Hello::new(every.0, addresses)),
            cut_through_bytes: device.cut_through_bytes,
            max_frame_bytes: device.max_frame_bytes.unwrap_or(largest),
            filter_room: device.filter.room.unwrap_or(u64::MAX),
            joins_pairs,
            delay: device.delay.0,
            delay_varies_by: device.delay_varies_by.0,
            random: Xoshiro256PlusPlus::seed_from_u64(device.seed),
        })
    }

    /// What really happened at a port, whether the device shows it or not.
    pub fn truth(&self, port: PortId, counter: Counter) -> u64 {
        self.counters.get(usize::from(port.0)).map_or(0, |counters| counters.get(counter))
    }

    fn count(&mut self, port: PortId, counter: Counter) {
        self.counters[usize::from(port.0)].add(counter, 1);
    }

    /// What the port's MAC thinks of a frame: `None` for a good one.
    #[inline]
    fn fault_of(&self, frame: &Frame) -> Option<Counter> {
        let size = frame.size().bytes();
        if size < FrameSize::MIN_ETHERNET.bytes()
            && !self.joins_pairs
            && !self.health.forwards_runts()
        {
            return Some(Counter::Runts);
        }
        if frame.damaged && !self.health.forwards_bad_fcs() {
            let alignment = self.health.counts_crc_as_alignment();
            return Some(if alignment { Counter::AlignmentErrors } else { Counter::CrcErrors });
        }
        if size > self.max_frame_bytes {
            let header = ethernet::View::peek(&frame.bytes);
            let tagged = header.is_some_and(|header| header.ether_type().is_vlan());
            return (size > self.max_frame_bytes + TAG_BYTES || !tagged).then_some(Counter::Giants);
        }
        None
    }

    /// Takes in a good frame, if there is room.
    #[inline]
    fn take_in(&mut self, now: Instant, port: PortId, mut frame: Frame) {
        let size_bytes = u64::from(frame.size().bytes());
        let routed = match self.joins_pairs {
            true => None,
            false => router::protocol_of_frame(&frame),
        };
        let protocol = routed.unwrap_or(Protocol::Bridged);
        match self.arp_server.as_mut().map(|server| server.handle(now, port, &frame)) {
            Some(Request::Taken) => return,
            Some(Request::NoRoom) => return self.count(port, Counter::InDiscards),
            Some(Request::NotServed) | None => {}
        }
        let (room, waiting) = self.pipeline.admits(now, port, size_bytes, protocol);
        if self.health.drops(now, port, size_bytes, waiting) {
            return self.count(port, Counter::Misbehaved);
        }
        if !room {
            return self.count(port, Counter::InDiscards);
        }
        let mut said = vec![];
        let decision = self.forwarding.decide(now, port, routed, &mut frame, &mut said);
        if let Some(why) = decision.dropped {
            self.count(port, why);
        }
        if self.health.is_unreachable(waiting) {
            said.clear();
        }
        let step = self.pipeline.first();
        let Decision { to, protocol, rules, copies, decapsulated, .. } = decision;
        let from = port;
        self.start(now, Job { frame, from, to, protocol, rules, copies, decapsulated, said, step });
    }

    #[inline]
    fn start(&mut self, now: Instant, job: Job) {
        let job = self.pipeline.place(job);
        self.pass_on(now, job);
    }

    /// Lets a frame go on from one processor to the next, and at last to its outputs.
    #[inline]
    fn pass_on(&mut self, now: Instant, mut job: Box<Job>) {
        if job.step >= Step::CardOut || self.pipeline.first() == Step::Output {
            for (port, frame) in std::mem::take(&mut job.said) {
                let (to, said) = (1 << port.0, vec![]);
                let (protocol, rules) = (job.protocol, 0);
                let (step, copies, decapsulated) = (Step::CardOut, None, false);
                let from = port;
                self.start(
                    now,
                    Job { frame, from, to, protocol, rules, copies, decapsulated, said, step },
                );
            }
        }
        match self.pipeline.hand_on(now, job) {
            Handed::Taken => {}
            Handed::Refused(job) => {
                self.count(job.from, Counter::InDiscards);
                self.pipeline.give_back(job);
            }
            Handed::Done(mut job) => {
                self.put_out(now, &mut job);
                self.pipeline.give_back(job);
            }
        }
    }

    #[inline]
    fn put_out(&mut self, now: Instant, job: &mut Job) {
        let from = job.from;
        for (port, frame) in std::mem::take(&mut job.said) {
            self.put_out_at(now, port, from, frame);
        }
        if self.crossbar.is_none() && job.copies.is_some() {
            self.put_out_copies(now, job);
            return self.control_flow(now, from);
        }
        let mut to = job.to;
        if let Some(crossbar) = &mut self.crossbar {
            let frame = std::mem::take(&mut job.frame);
            if !crossbar.push(usize::from(from.0), to, now + self.delay, frame) {
                self.count(from, Counter::InDiscards);
            }
            to = 0;
        }
        while to != 0 {
            let port = PortId(to.trailing_zeros() as u16);
            to &= to - 1;
            // The last copy is the frame itself.
            let frame = if to == 0 { std::mem::take(&mut job.frame) } else { job.frame.clone() };
            self.put_out_at(now, port, from, frame);
        }
        self.control_flow(now, from);
    }

    /// Each copy for a multicast group leaves by the way that its host asked by.
    fn put_out_copies(&mut self, now: Instant, job: &mut Job) {
        let copies = job.copies.take().unwrap_or_default();
        let frame = std::mem::take(&mut job.frame);
        for medium in Medium::ALL {
            let mut to = copies.of(medium);
            while to != 0 {
                let port = PortId(to.trailing_zeros() as u16);
                to &= to - 1;
                match self.forwarding.copy(medium, port, frame.clone()) {
                    Some(copy) => self.put_out_at(now, port, job.from, copy),
                    None => self.count(port, Counter::NoNeighbours),
                }
            }
        }
    }

    #[inline]
    fn put_out_at(&mut self, now: Instant, port: PortId, from: PortId, frame: Frame) {
        let index = usize::from(port.0);
        let mut ready = now + self.delay;
        if self.delay_varies_by > Duration::ZERO {
            let part = self.random.next_u64() % (self.delay_varies_by.as_ps() + 1);
            ready = (ready + Duration::from_ps(part)).max(self.outputs.last_ready(index));
        }
        if self.health.is_disabled(port) || !self.outputs.push(index, from.0.into(), ready, frame) {
            self.count(port, Counter::OutDiscards);
        }
    }

    /// Asks the sender at a port for silence, or lets it go on, where it is time to.
    #[inline]
    fn control_flow(&mut self, now: Instant, from: PortId) {
        let Some(flow_control) = &mut self.flow_control else { return };
        let index = usize::from(from.0);
        let waiting = self.outputs.waiting_from(index)
            + self.crossbar.as_ref().map_or(0, |crossbar| crossbar.waiting(index));
        if let Some(frame) = flow_control.note(now, from, waiting) {
            self.outputs.say(index, frame);
        }
    }

    /// The next frame from one of the queues, and where it came in; otherwise when to ask again.
    #[inline]
    fn next_from_queues(&mut self, now: Instant, lines: &Lines<'_>) -> Result<Departing, Instant> {
        let again = match self.outputs.next(now, lines) {
            Ok((departing, from)) => {
                if let Some(from) = from {
                    self.control_flow(now, PortId(from as u16));
                }
                return Ok(departing);
            }
            Err(again) => again,
        };
        let Some(crossbar) = &mut self.crossbar else { return Err(again) };
        match crossbar.next(now, lines) {
            Ok((departing, from)) => {
                self.control_flow(now, PortId(from as u16));
                Ok(departing)
            }
            Err(other) => Err(again.min(other)),
        }
    }

    /// Ends all service that is over by `now`.
    #[inline]
    fn advance(&mut self, now: Instant) {
        while let Some((done, job)) = self.pipeline.finish(now) {
            self.pass_on(done, job);
        }
        while let Some((at, frames)) = self.hello.as_mut().and_then(|hello| hello.due(now)) {
            for (port, frame) in frames.into_iter().enumerate() {
                let port = PortId(port as u16);
                self.put_out_at(at, port, port, frame);
            }
        }
        while let Some((at, queries)) = self.forwarding.due_queries(now) {
            queries.into_iter().for_each(|(port, frame)| self.put_out_at(at, port, port, frame));
        }
        while let Some((port, frame)) = self.arp_server.as_mut().and_then(|s| s.poll(now)) {
            self.put_out_at(now, port, port, frame);
        }
    }

    /// Forgets everything, as when it loses its power.
    fn crash(&mut self) {
        self.pipeline.clear();
        self.outputs.clear();
        self.crossbar.iter_mut().for_each(Crossbar::clear);
        self.flow_control.iter_mut().for_each(FlowControl::clear);
        self.arp_server.iter_mut().for_each(ArpServer::clear);
        self.forwarding.clear();
    }
}

impl DeviceUnderTest for Composed {
    fn handle_frame(&mut self, now: Instant, port: PortId, frame: Frame) {
        self.advance(now);
        if usize::from(port.0) >= self.counters.len() || self.health.is_down(now) {
            return;
        }
        if self.health.crashes(now) {
            self.count(port, Counter::Misbehaved);
            return self.crash();
        }
        if let Some(fault) = self.fault_of(&frame) {
            if fault == Counter::Runts {
                self.health.runt(port);
            }
            return self.count(port, fault);
        }
        if self.health.is_disabled(port) {
            return self.count(port, Counter::Misbehaved);
        }
        let counters = &mut self.counters[usize::from(port.0)];
        counters.add(Counter::InFrames, 1);
        counters.add(Counter::InBytes, frame.size().bytes().into());
        self.take_in(now, port, frame);
    }

    fn poll_output(&mut self, now: Instant, lines: &Lines<'_>) -> Option<Departing> {
        self.advance(now);
        match self.next_from_queues(now, lines) {
            Ok(departing) => {
                let counters = &mut self.counters[usize::from(departing.port.0)];
                counters.add(Counter::OutFrames, 1);
                counters.add(Counter::OutBytes, departing.frame.size().bytes().into());
                Some(departing)
            }
            Err(again) => {
                let hello = self.hello.as_ref().map_or(Instant::FAR_FUTURE, |hello| hello.next);
                let server = self.arp_server.as_ref();
                let response = server.map_or(Instant::FAR_FUTURE, ArpServer::next_ready);
                let query = self.forwarding.next_query();
                let own = response.min(hello).min(query);
                self.wakes_at = again.min(self.pipeline.next_done()).min(own);
                None
            }
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        (self.wakes_at < Instant::FAR_FUTURE).then_some(self.wakes_at)
    }

    fn hears_after_bytes(&self) -> Option<u32> {
        self.cut_through_bytes
    }

    fn keeps_frames(&self) -> u64 {
        let at_inputs = self.crossbar.as_ref().map_or(0, Crossbar::all_waiting);
        self.pipeline.all_kept() + self.outputs.all_waiting() + at_inputs
    }

    fn drops(&self) -> Vec<(String, u64)> {
        let drops = Counter::ALL.into_iter().filter(|counter| counter.is_drop());
        let all = |counter: Counter| self.counters.iter().map(|port| port.get(counter)).sum();
        drops.map(|counter| (counter.to_string(), all(counter))).collect()
    }

    fn work(&self) -> Vec<(String, Duration)> {
        self.pipeline.work().collect()
    }

    fn counter(&self, port: PortId, counter: Counter) -> Option<u64> {
        self.shown.contains(&counter).then(|| self.truth(port, counter))
    }

    fn counter_name(&self, counter: Counter) -> String {
        self.counter_names.get(&counter).cloned().unwrap_or_else(|| counter.to_string())
    }

    fn configure(&mut self, setup: &DeviceSetup) -> Option<Result<(), String>> {
        let rules = setup.filters.len() as u64;
        if rules > self.filter_room {
            let room = self.filter_room;
            return Some(Err(format!("{rules} filter rules, there is room for {room}")));
        }
        let rules = setup.filters.iter().map(FilterRule::from).collect();
        self.forwarding.set_filter(rules).then_some(Ok(()))
    }
}

/// Frames that a device sends to itself, to see whether its ports work (configuration test protocol,
/// the loopback of Ethernet version 2).
#[derive(Clone, Debug)]
struct Hello {
    every: Duration,
    next: Instant,
    /// One a port.
    frames: Vec<Frame>,
}

impl Hello {
    fn new(every: Duration, addresses: &Addresses) -> Self {
        let frame = |interface: &Interface| {
            let (src, dst) = (interface.mac, interface.mac);
            let header = ethernet::Repr { dst, src, ether_type: EtherType::LOOPBACK };
            // Skip count 0, function "reply", receipt number 0.
            Frame::from(header.frame(&[0, 0, 1, 0, 0, 0]))
        };
        let frames = addresses.interfaces.iter().map(frame).collect();
        Hello { every, next: Instant::ZERO + every, frames }
    }

    /// The frames that are due, and when they are.
    fn due(&mut self, now: Instant) -> Option<(Instant, Vec<Frame>)> {
        let at = self.next;
        (at <= now).then(|| {
            self.next = at + self.every;
            (at, self.frames.clone())
        })
    }
}

fn forwarding_of(device: &Description, addresses: &Addresses) -> Forwarding {
    if device.joins_pairs() {
        return Forwarding::Pairs;
    }
    let limits = RouterLimits {
        neighbours: limits_of(device.neighbours),
        routes: device.routes.entries.unwrap_or(u64::MAX),
    };
    let router = (!device.route.is_empty()).then(|| {
        let rules = device.filter.rules.clone();
        Box::new(Router::new(&device.route, addresses, &limits, rules))
    });
    let routes = |protocol| device.route.contains(&protocol);
    let multicast = device.multicast.as_ref().map(|plan| {
        let (ipv4, ipv6) = (routes(Protocol::Ipv4), routes(Protocol::Ipv6));
        Box::new(Multicast::new(plan, &addresses.interfaces, ipv4, ipv6))
    });
    Forwarding::Tables {
        multicast,
        router,
        bridge: device.bridge.then(|| table_of(device.learning)),
        all_ports: u64::MAX >> (64 - device.ports),
    }
}

fn table_of(learning: Learning) -> LearningTable {
    let lookup = match learning.buckets {
        Some(buckets) => Lookup::Hashed { buckets, places: learning.places.unwrap_or(1) },
        None => Lookup::Exact,
    };
    let Learning { entries, ageing, per_address, backlog, .. } = learning;
    LearningTable::new(limits_of(Table { entries, ageing }), lookup)
        .learning_by(per_address.0, backlog)
}

fn limits_of(table: Table) -> TableLimits {
    TableLimits {
        entries: table.entries.unwrap_or(u64::MAX),
        ageing: table.ageing.map(|span| span.0),
    }
}
