//! Flows over a path, event by event.

use super::link::{Fate, Link, LinkModel};
use super::meter::Meters;
use super::naps::{Naps, Sleep};
use super::tcp::{Algorithm, Segment, Tcp};
use super::transfer::{Transfer, TransferModel};
use crate::rfc1030::Dice;
use netblt::{Codepoint, Counters};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use units::{Duration, Instant};

/// IP's and TCP's headers, with time stamps; room for what names packets in acknowledgements.
const TCP_HEADER_BYTES: usize = 52;
const TCP_ACK_BYTES: usize = 72;

/// What all flows share.
#[derive(Clone, PartialEq, Debug)]
pub struct Path {
    /// The way of the data.
    pub forward: LinkModel,
    /// The way of what answers.
    pub back: LinkModel,
    /// Bytes of data in a packet.
    pub data_bytes: usize,
    /// A host takes up to so long for each packet that comes to it, by chance. Without it hosts are exact,
    /// and who sends when a place in a full queue becomes free is always the same one (Floyd and Jacobson,
    /// 1992).
    pub processing: Duration,
    /// Of the host that receives. None: it always runs.
    pub naps: Option<Naps>,
    /// What the path of each flow adds to the round trip; nothing for flows that are not here.
    pub detours: Vec<Duration>,
}

/// What uses the path.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Flow {
    /// A NETBLT transfer that begins at a time from the start.
    Netblt(TransferModel, Duration),
    /// A TCP connection that begins at a time from the start.
    Tcp(Algorithm, Duration),
}

/// What came of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// What was written down on the way.
    pub meters: Meters,
    /// Of NETBLT flows: both ends.
    pub counters: Vec<[Counters; 2]>,
}

/// Runs flows over a path for a time, and writes down what happens in bins of `bin`.
pub fn run(path: &Path, flows: &[Flow], length: Duration, bin: Duration, seed: u64) -> Run {
    let mut world = World::new(path, flows, length, bin, seed);
    let end = Instant::ZERO + length;
    while world.step(end) {}
    let counters = world.lines.iter().map(|line| match &line.flow {
        Ends::Netblt(transfer) => [transfer.counters(0), transfer.counters(1)],
        Ends::Tcp(_) => Default::default(),
    });
    Run { counters: counters.collect(), meters: world.meters }
}

enum Ends {
    Netblt(Box<Transfer>),
    Tcp(Box<Tcp>),
}

enum Parcel {
    Netblt(Vec<u8>, Codepoint),
    Tcp(Segment),
}

/// A flow and its packets under way, to end 1 and to end 0: in order, and those overtaken.
struct Line {
    flow: Ends,
    under_way: [VecDeque<(Instant, Parcel)>; 2],
    late: BTreeMap<(Instant, u64), (usize, Parcel)>,
    scheduled: Option<Instant>,
}

impl Line {
    fn next(&self) -> Option<Instant> {
        let wake = match &self.flow {
            Ends::Netblt(transfer) => transfer.wake(),
            Ends::Tcp(tcp) => tcp.wake(),
        };
        let heads = self.under_way.iter().filter_map(|queue| queue.front().map(|(at, _)| *at));
        let late = self.late.first_key_value().map(|((at, _), _)| *at);
        heads.chain(late).chain(wake).min()
    }

    /// A packet that is at its end by `now`, and which end.
    fn arrival(&mut self, now: Instant) -> Option<(usize, Parcel)> {
        if self.late.first_key_value().is_some_and(|((at, _), _)| *at <= now) {
            return self.late.pop_first().map(|(_, arrival)| arrival);
        }
        let due =
            |queue: &VecDeque<(Instant, Parcel)>| queue.front().is_some_and(|(at, _)| *at <= now);
        let way = self.under_way.iter().position(due)?;
        self.under_way[way].pop_front().map(|(_, parcel)| (1 - way, parcel))
    }
}

struct World {
    lines: Vec<Line>,
    /// Towards end 1, towards end 0.
    links: [Link; 2],
    data_bytes: usize,
    dice: Dice,
    /// Of the hosts, apart from that of the links: exact hosts draw nothing.
    host_dice: Dice,
    processing: Duration,
    sleep: Sleep,
    detours: Vec<Duration>,
    meters: Meters,
    agenda: BinaryHeap<Reverse<(Instant, usize)>>,
    count: u64,
}

impl World {
    fn new(path: &Path, flows: &[Flow], length: Duration, bin: Duration, seed: u64) -> World {
        // Naps have chances of their own, too.
        let drawn = |naps| Sleep::drawn(naps, length, &mut Dice::new(!seed.rotate_left(32)));
        let sleep = path.naps.map(drawn).unwrap_or_default();
        let line = |(index, flow): (usize, &Flow)| Line {
            flow: match *flow {
                Flow::Netblt(model, start) => {
                    let start = Instant::ZERO + start;
                    let id = index as u32 + 1;
                    let sleep = sleep.clone();
                    Ends::Netblt(Box::new(Transfer::new(model, path.data_bytes, start, id, sleep)))
                }
                Flow::Tcp(algorithm, start) => {
                    // A source of chance of its own for each, apart from those of the links and hosts.
                    let dice = Dice::new(seed.rotate_left(32) ^ (index as u64 + 1));
                    Ends::Tcp(Box::new(Tcp::new(algorithm, Instant::ZERO + start, dice)))
                }
            },
            under_way: Default::default(),
            late: BTreeMap::new(),
            scheduled: None,
        };
        let mut world = World {
            lines: flows.iter().enumerate().map(line).collect(),
            links: [Link::new(path.forward.clone()), Link::new(path.back.clone())],
            data_bytes: path.data_bytes,
            dice: Dice::new(seed),
            host_dice: Dice::new(!seed),
            processing: path.processing,
            sleep,
            detours: path.detours.clone(),
            meters: Meters::new(bin, length, flows.len()),
            agenda: BinaryHeap::new(),
            count: 0,
        };
        (0..flows.len()).for_each(|index| world.schedule(index, Instant::ZERO));
        world
    }

    /// Goes to the next thing that happens; false if that is beyond the end.
    fn step(&mut self, end: Instant) -> bool {
        let Some(Reverse((now, index))) = self.agenda.pop() else { return false };
        if now >= end {
            return false;
        }
        if self.lines[index].scheduled == Some(now) {
            self.lines[index].scheduled = None;
            self.turn(now, index);
            self.schedule(index, now);
        }
        true
    }

    fn schedule(&mut self, index: usize, now: Instant) {
        let next = self.lines[index].next().map(|at| at.max(now));
        if self.lines[index].scheduled != next {
            self.lines[index].scheduled = next;
            self.agenda.extend(next.map(|at| Reverse((at, index))));
        }
    }

    fn turn(&mut self, now: Instant, index: usize) {
        while let Some((end, parcel)) = self.lines[index].arrival(now) {
            self.deliver(now, index, end, parcel);
            self.send(now, index);
        }
        if let Ends::Netblt(transfer) = &mut self.lines[index].flow {
            transfer.turn(now);
        }
        self.send(now, index);
    }

    fn deliver(&mut self, now: Instant, index: usize, end: usize, parcel: Parcel) {
        let new = match (&mut self.lines[index].flow, parcel) {
            (Ends::Netblt(transfer), Parcel::Netblt(bytes, codepoint)) => {
                transfer.handle(now, end, (&bytes, codepoint))
            }
            (Ends::Tcp(tcp), Parcel::Tcp(Segment::Data { number, order, sent })) => {
                let (answer, new) = tcp.receive(number, order, sent);
                self.put_on_link(now, index, 1, Parcel::Tcp(answer), TCP_ACK_BYTES);
                u64::from(new)
            }
            (Ends::Tcp(tcp), Parcel::Tcp(Segment::Ack { before, named, order, sent })) => {
                tcp.acknowledge(now, before, &named[..], order, sent);
                0
            }
            _ => 0,
        };
        self.meters.delivered(now, index, new);
    }

    /// When the host at the end has dealt with a packet that the link brings at `at`: one after the other.
    fn handled(&mut self, index: usize, way: usize, at: Instant) -> Instant {
        let detour = self.detours.get(index).map_or(0, |detour| detour.as_ps() / 2);
        let at = at + Duration::from_ps(detour);
        let at = if way == 0 { self.sleep.awake(at) } else { at };
        if self.processing == Duration::ZERO {
            return at;
        }
        let before = self.lines[index].under_way[way].back().map_or(at, |(before, _)| *before);
        let took = self.processing.as_secs_f64() * self.host_dice.unit();
        at.max(before) + Duration::from_secs_f64(took)
    }

    /// Everything that may leave now.
    fn send(&mut self, now: Instant, index: usize) {
        let data_bytes = self.data_bytes + TCP_HEADER_BYTES;
        loop {
            let (way, parcel, bytes) = match &mut self.lines[index].flow {
                Ends::Tcp(tcp) => match tcp.poll(now) {
                    Some(segment) => (0, Parcel::Tcp(segment), data_bytes),
                    None => return,
                },
                Ends::Netblt(transfer) => {
                    let next = (0..2).find_map(|end| Some((end, transfer.poll(now, end)?)));
                    let Some((end, (packet, codepoint, bytes))) = next else { return };
                    (end, Parcel::Netblt(packet, codepoint), bytes)
                }
            };
            self.put_on_link(now, index, way, parcel, bytes);
        }
    }

    fn put_on_link(
        &mut self,
        now: Instant,
        index: usize,
        way: usize,
        mut parcel: Parcel,
        bytes: usize,
    ) {
        let fate = self.links[way].carry(now, bytes, &mut self.dice);
        match fate {
            Fate::Dropped if way == 0 => self.meters.dropped(now),
            Fate::Carried { waited, .. } if way == 0 => self.meters.carried(now, bytes, waited),
            _ => {}
        }
        let Fate::Carried { at: Some(at), late, .. } = fate else { return };
        // Of the TCPs none asks for marks.
        if let Parcel::Netblt(_, codepoint) = &mut parcel
            && fate.marks(*codepoint)
        {
            *codepoint = Codepoint::Marked;
        }
        let at = self.handled(index, way, at);
        let line = &mut self.lines[index];
        if late {
            self.count += 1;
            line.late.insert((at, self.count), (1 - way, parcel));
        } else {
            line.under_way[way].push_back((at, parcel));
        }
    }
}
