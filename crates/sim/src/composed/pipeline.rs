//! The processors that a frame passes: its card, the bus, the middle, the card where it leaves.

use super::buffer::Room;
use super::description::{
    Busy, Card, Cost, Description, Filter, FilterBy, Pauses, Protocol, Queue, Servers,
};
use super::multicast::{Copies, Medium};
use super::server::{Server, Slow, Stall, Work};
use crate::Frame;
use crate::soonest::Soonest;
use std::collections::BTreeMap;
use trial::PortId;
use units::{Duration, Instant};

/// A frame on its way through the device.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub frame: Frame,
    pub from: PortId,
    /// Ports where it leaves, a bit each.
    pub to: u64,
    pub protocol: Protocol,
    /// Filter rules looked at.
    pub rules: u64,
    /// Copies for a multicast group.
    pub copies: Option<Copies>,
    /// It came in a tunnel.
    pub decapsulated: bool,
    /// What the device itself has to say once it has dealt with the frame.
    pub said: Vec<(PortId, Frame)>,
    /// What comes next.
    pub step: Step,
}

/// Where a frame is served next, if there is such a processor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Step {
    CardIn,
    Bus,
    Cpu,
    CardOut,
    Output,
}

/// What came of handing on a frame.
pub(crate) enum Handed {
    /// A processor has it.
    Taken,
    /// It found a queue full.
    Refused(Box<Job>),
    /// No processor is left before its output.
    Done(Box<Job>),
}

#[derive(Clone, Debug)]
pub(crate) struct Pipeline {
    servers: Vec<Server<Box<Job>>>,
    /// When each of them is done.
    done: Soonest,
    /// Places of frames that have left, for the next ones: a frame is moved into its place once,
    /// however many processors it passes.
    #[allow(clippy::vec_box, reason = "what is kept are the boxes")]
    spare: Vec<Box<Job>>,
    ports: usize,
    card: Option<Cards>,
    bus: Option<Costs>,
    cpu: Option<(Costs, Servers)>,
    filter: FilterCost,
    filter_by: FilterBy,
    copying: CopyCost,
    first: Step,
}

/// What copies for multicast groups cost, on top of the frame.
#[derive(Clone, Copy, Debug, Default)]
struct CopyCost {
    per_frame: Duration,
    per_copy: Duration,
    per_encapsulation: Duration,
    per_decapsulation: Duration,
}

#[derive(Clone, Copy, Debug)]
struct FilterCost {
    per_frame: Duration,
    per_rule: Duration,
    receive: Duration,
    output: Duration,
}

#[derive(Clone, Debug)]
struct Cards {
    ports_each: usize,
    ports_a_server: usize,
    /// Processors on all cards.
    count: usize,
    local: bool,
    input: Costs,
    output: Costs,
}

impl Pipeline {
    pub(crate) fn new(device: &Description) -> Self {
        let ports = device.ports;
        let first = match (&device.card, &device.bus, &device.cpu) {
            (Some(_), ..) => Step::CardIn,
            (_, Some(_), _) => Step::Bus,
            (.., Some(_)) => Step::Cpu,
            _ => Step::Output,
        };
        let rooms = |step: Step, queue: Queue| {
            let room = if step == first { device.input } else { queue };
            vec![room_of(room); ports]
        };
        let mut servers = vec![];
        if let Some(card) = &device.card {
            let mut queues = rooms(Step::CardIn, Queue::default());
            queues.extend(vec![room_of(card.queue); ports]);
            let server = Server::new(&queues, card.stall.map(stall_of));
            servers.resize(ports.div_ceil(ports_a_server(card)), server);
        }
        if let Some(bus) = &device.bus {
            servers.push(Server::new(&rooms(Step::Bus, bus.queue), bus.stall.map(stall_of)));
        }
        if let Some(cpu) = &device.cpu {
            let server = Server::new(&rooms(Step::Cpu, cpu.queue), cpu.stall.map(stall_of))
                .slow_at(cpu.busy.iter().map(slow_of).collect());
            let count = if cpu.servers == Servers::Shared { 1 } else { ports };
            servers.resize(servers.len() + count, server);
        }
        let Filter { per_frame, per_rule, receive, output, by: filter_by, .. } = device.filter;
        let filter = FilterCost {
            per_frame: per_frame.0,
            per_rule: per_rule.0,
            receive: receive.0,
            output: output.0,
        };
        Pipeline {
            done: Soonest::new(servers.len()),
            servers,
            spare: vec![],
            ports,
            card: device.card.as_ref().map(|card| Cards {
                ports_each: card.ports.max(1),
                ports_a_server: ports_a_server(card),
                count: ports.div_ceil(ports_a_server(card)),
                local: card.local,
                input: Costs::new(card.input, &card.protocols),
                output: Costs::new(card.output, &BTreeMap::new()),
            }),
            bus: device.bus.as_ref().map(|bus| Costs::new(bus.cost, &bus.protocols)),
            cpu: device.cpu.as_ref().map(|cpu| (Costs::new(cpu.cost, &cpu.protocols), cpu.servers)),
            filter,
            filter_by,
            copying: device.multicast.as_ref().map_or_else(CopyCost::default, |plan| CopyCost {
                per_frame: plan.per_frame.0,
                per_copy: plan.per_copy.0,
                per_encapsulation: plan.per_encapsulation.0,
                per_decapsulation: plan.per_decapsulation.0,
            }),
            first,
        }
    }

    /// Where frames are served first.
    pub(crate) fn first(&self) -> Step {
        self.first
    }

    /// Whether a frame that comes in at `port` finds room, and how many of its frames wait. One
    /// that does not has to be received all the same.
    #[inline]
    pub(crate) fn admits(
        &mut self,
        now: Instant,
        port: PortId,
        size_bytes: u64,
        protocol: Protocol,
    ) -> (bool, u64) {
        let index = match self.first {
            Step::CardIn => self.card_of(port),
            Step::Bus => 0,
            Step::Cpu => self.cpu_of(port),
            Step::CardOut | Step::Output => return (true, 0),
        };
        let queue = usize::from(port.0);
        let waiting = self.servers[index].waiting_frames(queue);
        if self.servers[index].has_room(queue, size_bytes) {
            return (true, waiting);
        }
        let receive = self
            .costs_of(self.first)
            .map_or(Duration::ZERO, |c| c.of(protocol).reception(size_bytes));
        self.servers[index].interrupt(now, receive);
        self.note_done(index);
        (false, waiting)
    }

    /// Puts a frame into a place of its own.
    #[inline]
    pub(crate) fn place(&mut self, job: Job) -> Box<Job> {
        match self.spare.pop() {
            Some(mut place) => {
                *place = job;
                place
            }
            None => Box::new(job),
        }
    }

    /// Takes back the place of a frame that has left it.
    #[inline]
    pub(crate) fn give_back(&mut self, place: Box<Job>) {
        self.spare.push(place);
    }

    /// Hands a frame to the next processor on its way.
    #[inline]
    pub(crate) fn hand_on(&mut self, now: Instant, mut job: Box<Job>) -> Handed {
        while job.step < Step::Output {
            let step = job.step;
            job.step = step.next();
            if let Some((server, work)) = self.stop(step, &job) {
                let offered = self.servers[server].offer(now, work, job);
                self.note_done(server);
                return match offered {
                    Ok(()) => Handed::Taken,
                    Err(job) => Handed::Refused(job),
                };
            }
        }
        Handed::Done(job)
    }

    /// The frame that is done first, if it is by `now`, and when.
    #[inline]
    pub(crate) fn finish(&mut self, now: Instant) -> Option<(Instant, Box<Job>)> {
        let (index, done) = self.done.first();
        if done > now {
            return None;
        }
        let finished = self.servers[index].finish(now);
        self.note_done(index);
        finished
    }

    /// Frames that wait for any processor, or are worked on.
    pub(crate) fn all_kept(&self) -> u64 {
        self.servers.iter().map(Server::all_kept).sum()
    }

    /// For how long each processor has worked since the beginning.
    pub(crate) fn work(&self) -> impl Iterator<Item = (String, Duration)> {
        let cards = self.card.as_ref().map_or(0, |card| card.count);
        let bus = usize::from(self.bus.is_some());
        let name = move |index: usize| match index {
            card if card < cards => format!("card {card}"),
            index if index < cards + bus => "bus".into(),
            cpu => format!("cpu {}", cpu - cards - bus),
        };
        self.servers.iter().enumerate().map(move |(index, server)| (name(index), server.work()))
    }

    /// When the next frame is done.
    #[inline]
    pub(crate) fn next_done(&self) -> Instant {
        self.done.first().1
    }

    #[inline]
    fn note_done(&mut self, server: usize) {
        let done = self.servers[server].next_done();
        self.done.set(server, done.unwrap_or(Instant::FAR_FUTURE));
    }

    pub(crate) fn clear(&mut self) {
        self.servers.iter_mut().for_each(Server::clear);
        self.done.clear();
    }

    /// The processor of a step that this frame passes, and its work there.
    #[inline]
    fn stop(&self, step: Step, job: &Job) -> Option<(usize, Work)> {
        let from = usize::from(job.from.0);
        let (server, queue) = match step {
            Step::CardIn => (self.card.as_ref().map(|_| self.card_of(job.from))?, from),
            Step::Bus if self.bus.is_some() && !self.is_local(job) => (self.bus_index(), from),
            Step::Cpu if self.cpu.is_some() && !self.is_local(job) => (self.cpu_of(job.from), from),
            Step::CardOut if self.card.is_some() && job.to != 0 => {
                let to = job.to.trailing_zeros() as usize;
                (self.card_of(PortId(to as u16)), self.ports + to)
            }
            _ => return None,
        };
        let cost = self.costs_of(step)?.of(job.protocol);
        let size_bytes = u64::from(job.frame.size().bytes());
        let (mut service, mut receive) = (cost.service(size_bytes), cost.reception(size_bytes));
        if job.rules > 0 && step == self.filtering_step(job) {
            service += self.filter.per_frame + self.filter.per_rule * job.rules;
            receive += self.filter.receive;
        }
        if job.rules > 0 && step == Step::CardOut {
            service += self.filter.output;
        }
        if let Some(copies) = job.copies.filter(|_| step == self.copying_step()) {
            service += self.copying.of(copies, job.decapsulated);
        }
        Some((server, Work { service, receive, size_bytes, queue }))
    }

    fn filtering_step(&self, job: &Job) -> Step {
        if self.filter_by == FilterBy::OutputCard {
            return Step::CardOut;
        }
        if self.cpu.is_some() && !self.is_local(job) { Step::Cpu } else { Step::CardIn }
    }

    /// The central processor, or else the first that there is, makes the copies.
    fn copying_step(&self) -> Step {
        if self.cpu.is_some() { Step::Cpu } else { self.first }
    }

    fn costs_of(&self, step: Step) -> Option<&Costs> {
        match step {
            Step::CardIn => self.card.as_ref().map(|card| &card.input),
            Step::Bus => self.bus.as_ref(),
            Step::Cpu => self.cpu.as_ref().map(|(costs, _)| costs),
            Step::CardOut => self.card.as_ref().map(|card| &card.output),
            Step::Output => None,
        }
    }

    /// Whether a frame's card deals with it alone.
    fn is_local(&self, job: &Job) -> bool {
        let Some(card) = self.card.as_ref().filter(|card| card.local) else { return false };
        let first = usize::from(job.from.0) / card.ports_each * card.ports_each;
        let ports = (u64::MAX >> (64 - card.ports_each.min(64))) << first;
        job.to != 0 && job.to & !ports == 0
    }

    fn card_of(&self, port: PortId) -> usize {
        self.card.as_ref().map_or(0, |card| usize::from(port.0) / card.ports_a_server)
    }
    fn bus_index(&self) -> usize {
        self.card.as_ref().map_or(0, |card| card.count)
    }
    fn cpu_of(&self, from: PortId) -> usize {
        let first = self.bus_index() + usize::from(self.bus.is_some());
        match &self.cpu {
            Some((_, Servers::PerPort)) => first + usize::from(from.0),
            _ => first,
        }
    }
}

impl Step {
    fn next(self) -> Step {
        match self {
            Step::CardIn => Step::Bus,
            Step::Bus => Step::Cpu,
            Step::Cpu => Step::CardOut,
            Step::CardOut | Step::Output => Step::Output,
        }
    }
}

impl CopyCost {
    fn of(&self, copies: Copies, decapsulated: bool) -> Duration {
        let tunnelled =
            (copies.of(Medium::Gre).count_ones() + copies.of(Medium::Vxlan).count_ones()).into();
        let further = u64::from(copies.count()).saturating_sub(1);
        let decapsulated = u64::from(decapsulated);
        self.per_frame
            + self.per_copy * further
            + self.per_encapsulation * tunnelled
            + self.per_decapsulation * decapsulated
    }
}

/// A processor's costs by protocol.
#[derive(Clone, Debug)]
struct Costs([Cost; 6]);

impl Costs {
    fn new(default: Cost, by_protocol: &BTreeMap<Protocol, Cost>) -> Self {
        let mut costs = Costs([default; 6]);
        for (protocol, cost) in by_protocol {
            costs.0[*protocol as usize] = *cost;
        }
        costs
    }
    #[inline]
    fn of(&self, protocol: Protocol) -> &Cost {
        &self.0[protocol as usize]
    }
}

fn ports_a_server(card: &Card) -> usize {
    if card.servers == Servers::PerPort { 1 } else { card.ports.max(1) }
}

pub(crate) fn room_of(queue: Queue) -> Room {
    Room { frames: queue.frames.unwrap_or(u64::MAX), bytes: queue.bytes.unwrap_or(u64::MAX) }
}

fn slow_of(busy: &Busy) -> Slow {
    let from = Instant::ZERO + busy.from.0;
    let until = busy.lasts.map_or(Instant::FAR_FUTURE, |lasts| from + lasts.0);
    Slow { from, until, times: busy.times_slower.into() }
}

fn stall_of(pauses: Pauses) -> Stall {
    Stall { every: pauses.every.0, lasts: pauses.lasts.0 }
}
