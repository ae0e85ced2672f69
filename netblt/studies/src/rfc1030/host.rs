//! A host of 1987: one processor that does one thing at a time, a network adapter, NETBLT, and a
//! client that fills or empties buffers in memory.

use super::path::Dice;
use netblt::{
    ConnectionId, Counters, Endpoint, EndpointLimits, Event, Limits, Mode, Opening, Timing,
};
use std::collections::VecDeque;
use units::{Duration, Instant};
use wire::netblt::{Message, Packet, Repr};

/// Time that depends on a packet's length.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cost {
    /// For any packet.
    pub fixed: Duration,
    /// For each byte of it.
    pub per_byte: Duration,
}

impl Cost {
    /// For a packet of `bytes`.
    pub fn of(self, bytes: usize) -> Duration {
        self.fixed + self.per_byte * bytes as u64
    }
}

/// What a network adapter can and cannot do at once.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Adapter {
    /// Sends and receives at the same time, with buffers enough.
    FullDuplex,
    /// One buffer for both. Deaf from the moment a data packet is loaded or a control packet is begun
    /// until it has left, while a packet that has come in is read out, and for a while after each.
    OneBuffer {
        /// Time to load a packet or to read one out.
        copy: Cost,
        /// Time until it listens again after a packet was read out.
        reenable: Duration,
        /// Time until it listens again after a packet was sent.
        reenable_after_sending: Duration,
    },
}

/// How long a host takes for what it does.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HostModel {
    /// To copy, format and send a data packet, the adapter's part included.
    pub send_data: Cost,
    /// To take in a data packet and put it into its buffer, the adapter's part included, with one
    /// outstanding buffer.
    pub receive_data: Cost,
    /// More of it for each further outstanding buffer: "almost all of this added overhead is directly
    /// related to the number of outstanding buffers" (RFC 1030 section 4).
    pub receive_data_per_further_buffer: Duration,
    /// To build and send a control packet, or any other small one.
    pub send_control: Duration,
    /// To act on a control packet.
    pub receive_control: Duration,
    /// To set up the packet list of a buffer, before its first packet.
    pub start_buffer: Duration,
    /// For the receiving client to take a buffer's data over and give memory for another, by the buffer's
    /// bytes. The sending one has its data in memory and does "very little more than transmit packets"
    /// (RFC 1030 section 4).
    pub take_buffer: Cost,
    /// Whether all control messages leave in one packet, and with them all that are not acknowledged: OK
    /// together with the GO that follows it. Else each leaves alone, once (RFC 1030 section 7: before).
    pub packs_control: bool,
    /// A timer calls its process within this time.
    pub timer_accuracy: Duration,
    /// And later by this for each outstanding buffer: the list is scanned.
    pub timer_latency_per_buffer: Duration,
    /// By how much of its time a piece of work is shorter or longer, evenly.
    pub jitter: f64,
    /// Its adapter.
    pub adapter: Adapter,
}

/// What the processor is at.
#[derive(Clone, Debug)]
enum Activity {
    Preparing {
        packet: Vec<u8>,
        load: Duration,
    },
    Loading {
        packet: Vec<u8>,
    },
    Receiving {
        packet: Vec<u8>,
    },
    Turning {
        give: Option<Vec<u8>>,
    },
    /// The adapter's interrupt found it idle.
    ReadingOut,
}

/// A host at work.
#[derive(Clone, Debug)]
pub struct Host {
    model: HostModel,
    endpoint: Endpoint<()>,
    id: Option<ConnectionId>,
    limits: Limits,
    activity: Option<(Activity, Instant)>,
    inbox: VecDeque<Vec<u8>>,
    /// Control packets that one was cut into.
    outbox: VecDeque<Vec<u8>>,
    /// The latest control message that has left.
    latest_message: u16,
    /// Buffers that the client is to fill or empty.
    to_turn: VecDeque<Option<Vec<u8>>>,
    /// The adapter hears nothing between the two.
    deaf: (Instant, Instant),
    on_the_wire_until: Instant,
    /// Bytes that the client has yet to send.
    left_bytes: u64,
    sends: bool,
    dice: Dice,
    /// When its client opens a connection, if it has yet to.
    opens_at: Option<Instant>,
    /// What its steady state is computed from.
    pub steady: Steady,
    /// Data packets that it handed to the wire.
    pub data_sent: Span,
    /// Data packets that are in their buffers.
    pub data_taken: Span,
    /// From the times that packets were heard to those at which their data was in its buffer, in all, where none waited
    /// for another.
    pub waits: Duration,
    heard: Instant,
    /// Packets for this host that its adapter was deaf to.
    pub unheard: u64,
    /// Control packets that it sent.
    pub control_packets: u64,
    /// What happened and when, once the client was told the end.
    pub ended: Option<(Counters, Instant)>,
}

/// Ports of the two ends.
const PORTS: [u16; 2] = [1000, 7];

/// Departures of the first packets of buffers, from which the steady state is computed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Steady {
    first: Option<Instant>,
    latest: Option<Instant>,
    buffers: u32,
}

impl Steady {
    /// RFC 1030 section 3: "the rate at which data is transmitted as the transfer size approaches
    /// infinity". Here: all buffers but the last, over the time from the first packet of the first
    /// to that of the last; neither setup nor late recovery is in it.
    pub fn mbps(&self, buffer_bytes: u32) -> Option<f64> {
        let span_s = self.latest?.since(self.first?).as_secs_f64();
        let bits = f64::from(buffer_bytes) * 8.0 * f64::from(self.buffers - 1);
        (span_s > 0.0).then_some(bits / span_s / 1e6)
    }
}

/// Events one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    first: Option<Instant>,
    latest: Option<Instant>,
    count: u64,
}

impl Span {
    fn mark(&mut self, now: Instant) {
        self.first.get_or_insert(now);
        self.latest = Some(now);
        self.count += 1;
    }
    /// How many.
    pub fn count(&self) -> u64 {
        self.count
    }
    /// Mean time from one to the next.
    pub fn each(&self) -> Option<Duration> {
        let span = self.latest?.since(self.first?);
        (self.count > 1).then(|| Duration::from_ps(span.as_ps() / (self.count - 1)))
    }
}

fn is_data(packet: &[u8]) -> bool {
    let packet = Repr::parse(packet).map(|repr| repr.packet);
    matches!(packet, Ok(Packet::Data(_) | Packet::LastData(_)))
}

impl Host {
    fn new(
        model: HostModel,
        limits: Limits,
        timing: Timing,
        sends_bytes: Option<u64>,
        dice: Dice,
    ) -> Host {
        Host {
            model,
            endpoint: Endpoint::new(EndpointLimits::default(), timing),
            id: None,
            limits,
            activity: None,
            inbox: VecDeque::new(),
            outbox: VecDeque::new(),
            latest_message: 0,
            to_turn: VecDeque::new(),
            deaf: (Instant::ZERO, Instant::ZERO),
            on_the_wire_until: Instant::ZERO,
            left_bytes: sends_bytes.unwrap_or(0),
            sends: sends_bytes.is_some(),
            dice,
            opens_at: None,
            steady: Steady::default(),
            data_sent: Span::default(),
            data_taken: Span::default(),
            waits: Duration::ZERO,
            heard: Instant::ZERO,
            unheard: 0,
            control_packets: 0,
            ended: None,
        }
    }
    /// A host whose client opens a connection after `wait` and sends `bytes`.
    pub fn sender(
        model: HostModel,
        limits: Limits,
        timing: Timing,
        (bytes, wait): (u64, Duration),
        dice: Dice,
    ) -> Host {
        let opens_at = Some(Instant::ZERO + wait);
        Host { opens_at, ..Host::new(model, limits, timing, Some(bytes), dice) }
    }
    /// A host whose client receives.
    pub fn receiver(model: HostModel, limits: Limits, timing: Timing, dice: Dice) -> Host {
        let mut host = Host::new(model, limits, timing, None, dice);
        host.endpoint.listen(PORTS[1]);
        host
    }

    fn open(&mut self, now: Instant) {
        self.opens_at = None;
        let opening = Opening {
            connection_id: 1,
            mode: Mode::Write,
            transfer_size_bytes: self.left_bytes as u32,
            client_string: "",
        };
        let ports = ((), PORTS[0], PORTS[1]);
        self.id = self.endpoint.open(now, ports, self.limits, opening);
    }

    /// When the processor is done with what it is at, or wants to be woken for something else.
    pub fn wake(&self, now: Instant) -> Option<Instant> {
        if let Some((_, until)) = &self.activity {
            return Some(*until);
        }
        if self.opens_at.is_some() {
            return self.opens_at;
        }
        if !self.inbox.is_empty() || !self.to_turn.is_empty() || !self.outbox.is_empty() {
            return Some(now);
        }
        let due = self.endpoint.poll_timeout()?;
        let latency = self.timer_latency(due)
            + self.model.timer_latency_per_buffer * self.limits.max_outstanding_buffers.into();
        // What became due while the processor was busy follows at once.
        Some(if due <= now { now } else { due + latency })
    }

    /// How late a timer is: evenly within its accuracy, as if drawn, by the time that it was set for.
    fn timer_latency(&self, due: Instant) -> Duration {
        Dice::new(due.as_ps()).within(self.model.timer_accuracy)
    }

    /// A packet for this host, or somebody's broadcast, was on its wire from `start` to `now`.
    pub fn hear(&mut self, now: Instant, start: Instant, packet: Option<Vec<u8>>, bytes: usize) {
        if let Adapter::OneBuffer { copy, reenable, .. } = self.model.adapter {
            if start < self.deaf.1 && now > self.deaf.0 {
                self.unheard += u64::from(packet.is_some());
                return;
            }
            // The interrupt reads it out, whatever else the processor is at.
            let read_out = copy.of(bytes);
            self.deaf = (now, now + read_out + reenable);
            match &mut self.activity {
                Some((_, until)) => *until += read_out,
                // The time is the processor's all the same: section 4 counts it in the 6.1 ms.
                None => self.activity = Some((Activity::ReadingOut, now + read_out)),
            }
        }
        self.heard = now;
        self.inbox.extend(packet);
    }

    /// The processor goes on. Gives a packet that is ready for the wire; its adapter is deaf until
    /// [`sent`](Host::sent) says when it has left.
    pub fn go_on(&mut self, now: Instant) -> Option<Vec<u8>> {
        if self.activity.as_ref().is_some_and(|(_, until)| *until > now) {
            return None;
        }
        match self.activity.take() {
            Some((Activity::Preparing { packet, load }, _)) => {
                if let Adapter::OneBuffer { .. } = self.model.adapter {
                    // The last packet must be gone before its memory is written over.
                    let start = now.max(self.on_the_wire_until);
                    let since = if start <= self.deaf.1 { self.deaf.0 } else { start };
                    self.deaf = (since, Instant::FAR_FUTURE);
                    self.activity = Some((Activity::Loading { packet }, start + load));
                    return None;
                }
                return Some(self.hand_over(now, packet));
            }
            Some((Activity::Loading { packet }, _)) => return Some(self.hand_over(now, packet)),
            Some((Activity::Receiving { packet }, _)) => {
                if is_data(&packet) {
                    self.data_taken.mark(now);
                    self.waits += now.since(self.heard);
                }
                self.endpoint.handle_datagram(now, (), &packet);
                self.listen(now);
            }
            Some((Activity::Turning { give }, _)) => self.give(give),
            Some((Activity::ReadingOut, _)) | None => {}
        }
        self.begin(now);
        None
    }

    fn hand_over(&mut self, now: Instant, packet: Vec<u8>) -> Vec<u8> {
        if is_data(&packet) {
            self.data_sent.mark(now);
        }
        packet
    }

    /// The packet given by [`go_on`](Host::go_on) is off the wire at `until`.
    pub fn sent(&mut self, until: Instant) {
        if let Adapter::OneBuffer { reenable_after_sending, .. } = self.model.adapter {
            self.on_the_wire_until = until;
            self.deaf.1 = until + reenable_after_sending;
        }
    }

    /// Takes up what comes first.
    ///
    /// The end that receives: OK and the GO after it leave together (RFC 1030 section 7), so its client
    /// takes a buffer over before a control packet leaves; and control packets leave before more data is
    /// looked at, for this end owns the timers. The end that sends acts on what has come in before it goes
    /// on with its burst, and its client prepares "subsequent data" (section 7) while nothing is due.
    fn begin(&mut self, now: Instant) {
        if self.opens_at.is_some_and(|at| at <= now) {
            self.open(now);
        }
        match self.sends {
            true => _ = self.receive(now) || self.transmit(now) || self.turn(now),
            false => _ = self.turn(now) || self.transmit(now) || self.receive(now),
        }
    }

    /// About so long.
    fn about(&mut self, time: Duration) -> Duration {
        let share = 1.0 + self.model.jitter * (2.0 * self.dice.unit() - 1.0);
        Duration::from_ps((time.as_ps() as f64 * share) as u64)
    }

    fn receive(&mut self, now: Instant) -> bool {
        let Some(packet) = self.inbox.pop_front() else { return false };
        let cost = self.receive_cost(&packet);
        let cost = self.about(cost);
        self.activity = Some((Activity::Receiving { packet }, now + cost));
        true
    }

    fn turn(&mut self, now: Instant) -> bool {
        let Some(give) = self.to_turn.pop_front() else { return false };
        let bytes = give.as_ref().map_or(0, Vec::len);
        let cost = if self.sends { Duration::ZERO } else { self.model.take_buffer.of(bytes) };
        let cost = self.about(cost);
        self.activity = Some((Activity::Turning { give }, now + cost));
        true
    }

    fn transmit(&mut self, now: Instant) -> bool {
        let packet = self.outbox.pop_front().or_else(|| {
            let mut packet = Vec::new();
            self.endpoint.poll_transmit(now, &mut packet)?;
            Some(self.cut(packet))
        });
        self.listen(now);
        let Some(packet) = packet else { return false };
        let (prepare, load) = self.send_cost(now, &packet);
        let [prepare, load] = [prepare, load].map(|time| self.about(time));
        self.activity = Some((Activity::Preparing { packet, load }, now + prepare));
        true
    }

    /// A control packet, if messages are to leave alone: the first of those that have not left yet, or of
    /// all where a timer repeats them. The others wait their turn.
    fn cut(&mut self, packet: Vec<u8>) -> Vec<u8> {
        let Ok(Repr { header, packet: Packet::Control(messages) }) = Repr::parse(&packet) else {
            return packet;
        };
        self.control_packets += 1;
        if self.model.packs_control {
            return packet;
        }
        let all: Vec<Message<'_>> = messages.iter().collect();
        let is_new = |message: &&Message<'_>| message.sequence > self.latest_message;
        let new: Vec<&Message<'_>> = all.iter().filter(is_new).collect();
        let chosen = if new.is_empty() { all.iter().collect() } else { new };
        self.latest_message = all.last().map_or(0, |message| message.sequence);
        let alone = |message: &&Message<'_>| {
            let packet = Packet::Control(std::iter::once((*message).clone()).collect());
            Repr { header, packet }.to_vec()
        };
        self.outbox = chosen.iter().map(alone).collect();
        self.control_packets += self.outbox.len() as u64 - 1;
        self.outbox.pop_front().unwrap_or(packet)
    }

    fn adapter_cost(&self, bytes: usize) -> Duration {
        match self.model.adapter {
            Adapter::FullDuplex => Duration::ZERO,
            Adapter::OneBuffer { copy, .. } => copy.of(bytes),
        }
    }

    fn receive_cost(&self, packet: &[u8]) -> Duration {
        match is_data(packet) {
            // The adapter's part was the interrupt's.
            true => {
                let further = u64::from(self.limits.max_outstanding_buffers.saturating_sub(1));
                let whole = self.model.receive_data.of(packet.len())
                    + self.model.receive_data_per_further_buffer * further;
                whole.saturating_sub(self.adapter_cost(packet.len()))
            }
            false => self.model.receive_control,
        }
    }

    /// What it takes until the adapter is loaded, and to load it.
    fn send_cost(&mut self, now: Instant, packet: &[u8]) -> (Duration, Duration) {
        let load = self.adapter_cost(packet.len());
        let Ok(Repr { packet: Packet::Data(data) | Packet::LastData(data), .. }) =
            Repr::parse(packet)
        else {
            return match self.model.adapter {
                Adapter::FullDuplex => (self.model.send_control, load),
                // Deaf from the moment that it "attempts to send a packet" (RFC 1030 section 6).
                Adapter::OneBuffer { .. } => (Duration::ZERO, self.model.send_control + load),
            };
        };
        let mut cost = self.model.send_data.of(packet.len()).saturating_sub(load);
        if data.packet == 0 && data.buffer > self.steady.buffers {
            cost += self.model.start_buffer;
            self.steady.buffers = data.buffer;
            self.steady.first.get_or_insert(now);
            self.steady.latest = Some(now);
        }
        (cost, load)
    }

    /// The client hears what happened.
    fn listen(&mut self, now: Instant) {
        while let Some(request) = self.endpoint.poll_request() {
            self.id = self.endpoint.accept(now, &request, self.limits, "");
        }
        while let Some((id, event)) = self.endpoint.poll_event() {
            let buffers = self.limits.max_outstanding_buffers;
            match event {
                // One more than may be under way is prepared.
                Event::Opened if self.sends => (0..=buffers).for_each(|_| self.give(None)),
                Event::Opened => (0..buffers).for_each(|_| self.give(None)),
                Event::Received { data, .. } | Event::Sent { data, .. } => {
                    self.to_turn.push_back(Some(data));
                }
                Event::Closed(_) => {
                    self.ended = self.endpoint.connection(id).map(|end| (end.counters(), now));
                }
            }
        }
    }

    /// The client hands a buffer over: to be sent, or to be received in.
    fn give(&mut self, memory: Option<Vec<u8>>) {
        let mut memory = memory.unwrap_or_default();
        let Some(id) = self.id else { return };
        if !self.sends {
            self.endpoint.with(id, |connection| connection.supply_buffer(memory));
        } else if self.left_bytes > 0 {
            let bytes = self.left_bytes.min(self.limits.buffer_size_bytes.into());
            self.left_bytes -= bytes;
            let last = self.left_bytes == 0;
            memory.resize(bytes as usize, 0x55);
            self.endpoint.with(id, |connection| connection.send_buffer(memory, last));
        }
    }
}
