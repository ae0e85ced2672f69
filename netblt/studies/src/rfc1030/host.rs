//! A host of 1987: one processor that does one thing at a time, a network adapter, NETBLT, and a
//! client that fills or empties buffers in memory.

use netblt::{
    ConnectionId, Counters, Endpoint, EndpointLimits, Event, Limits, Mode, Opening, Timing,
};
use std::collections::VecDeque;
use units::{Duration, Instant};
use wire::netblt::{Packet, Repr};

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
    /// One buffer for both. Deaf from the moment a packet to be sent is loaded until it is on the
    /// wire, while a packet that has come in is read out, and for a while after each.
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
    /// To take in a data packet and put it into its buffer, the adapter's part included.
    pub receive_data: Cost,
    /// To build and send a control packet, or any other small one.
    pub send_control: Duration,
    /// To act on a control packet.
    pub receive_control: Duration,
    /// To set up the packet list of a buffer, before its first packet.
    pub start_buffer: Duration,
    /// For the client to fill or to empty a buffer and hand it over.
    pub turn_buffer: Duration,
    /// From the time a timer was set for to the process that waits for it, with no buffers.
    pub timer_latency: Duration,
    /// The same for each outstanding buffer: the list is scanned.
    pub timer_latency_per_buffer: Duration,
    /// Its adapter.
    pub adapter: Adapter,
}

/// What the processor is at.
#[derive(Clone, Debug)]
enum Activity {
    Preparing { packet: Vec<u8>, load: Duration },
    Loading { packet: Vec<u8> },
    Receiving { packet: Vec<u8> },
    Turning { give: Option<Vec<u8>> },
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
    /// Buffers that the client is to fill or empty.
    to_turn: VecDeque<Option<Vec<u8>>>,
    /// The adapter hears nothing between the two.
    deaf: (Instant, Instant),
    on_the_wire_until: Instant,
    /// Bytes that the client has yet to send.
    left_bytes: u64,
    sends: bool,
    /// When its client opens a connection, if it has yet to.
    opens_at: Option<Instant>,
    /// What its steady state is computed from.
    pub steady: Steady,
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

impl Host {
    fn new(model: HostModel, limits: Limits, timing: Timing, sends_bytes: Option<u64>) -> Host {
        Host {
            model,
            endpoint: Endpoint::new(EndpointLimits::default(), timing),
            id: None,
            limits,
            activity: None,
            inbox: VecDeque::new(),
            to_turn: VecDeque::new(),
            deaf: (Instant::ZERO, Instant::ZERO),
            on_the_wire_until: Instant::ZERO,
            left_bytes: sends_bytes.unwrap_or(0),
            sends: sends_bytes.is_some(),
            opens_at: None,
            steady: Steady::default(),
            ended: None,
        }
    }
    /// A host whose client opens a connection after `wait` and sends `bytes`.
    pub fn sender(
        model: HostModel,
        limits: Limits,
        timing: Timing,
        bytes: u64,
        wait: Duration,
    ) -> Host {
        let opens_at = Some(Instant::ZERO + wait);
        Host { opens_at, ..Host::new(model, limits, timing, Some(bytes)) }
    }
    /// A host whose client receives.
    pub fn receiver(model: HostModel, limits: Limits, timing: Timing) -> Host {
        let mut host = Host::new(model, limits, timing, None);
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
        if !self.inbox.is_empty() || !self.to_turn.is_empty() {
            return Some(now);
        }
        let due = self.endpoint.poll_timeout()?;
        let latency = self.model.timer_latency
            + self.model.timer_latency_per_buffer * self.limits.max_outstanding_buffers.into();
        // What became due while the processor was busy follows at once.
        Some(if due <= now { now } else { due + latency })
    }

    /// A packet for this host, or somebody's broadcast, was on its wire from `start` to `now`.
    pub fn hear(&mut self, now: Instant, start: Instant, packet: Option<Vec<u8>>, bytes: usize) {
        if let Adapter::OneBuffer { copy, reenable, .. } = self.model.adapter {
            if start < self.deaf.1 && now > self.deaf.0 {
                return;
            }
            // The interrupt reads it out, whatever else the processor is at.
            let read_out = copy.of(bytes);
            self.deaf = (now, now + read_out + reenable);
            if let Some((_, until)) = &mut self.activity {
                *until += read_out;
            }
        }
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
                return Some(packet);
            }
            Some((Activity::Loading { packet }, _)) => return Some(packet),
            Some((Activity::Receiving { packet }, _)) => {
                self.endpoint.handle_datagram(now, (), &packet);
                self.listen(now);
            }
            Some((Activity::Turning { give }, _)) => self.give(give),
            None => {}
        }
        self.begin(now);
        None
    }

    /// The packet given by [`go_on`](Host::go_on) is off the wire at `until`.
    pub fn sent(&mut self, until: Instant) {
        if let Adapter::OneBuffer { reenable_after_sending, .. } = self.model.adapter {
            self.on_the_wire_until = until;
            self.deaf.1 = until + reenable_after_sending;
        }
    }

    /// Takes up what comes first. Control packets leave at once: the receiver of data owns the
    /// timers. The sender acts on what has come in before it goes on with its burst.
    fn begin(&mut self, now: Instant) {
        if self.opens_at.is_some_and(|at| at <= now) {
            self.open(now);
        }
        if !self.sends && self.transmit(now) {
            return;
        }
        if let Some(packet) = self.inbox.pop_front() {
            let cost = self.receive_cost(&packet);
            self.activity = Some((Activity::Receiving { packet }, now + cost));
        } else if let Some(give) = self.to_turn.pop_front() {
            self.activity = Some((Activity::Turning { give }, now + self.model.turn_buffer));
        } else {
            self.transmit(now);
        }
    }

    fn transmit(&mut self, now: Instant) -> bool {
        let mut packet = Vec::new();
        let sends = self.endpoint.poll_transmit(now, &mut packet).is_some();
        if sends {
            let (prepare, load) = self.send_cost(now, &packet);
            self.activity = Some((Activity::Preparing { packet, load }, now + prepare));
        }
        self.listen(now);
        sends
    }

    fn adapter_cost(&self, bytes: usize) -> Duration {
        match self.model.adapter {
            Adapter::FullDuplex => Duration::ZERO,
            Adapter::OneBuffer { copy, .. } => copy.of(bytes),
        }
    }

    fn receive_cost(&self, packet: &[u8]) -> Duration {
        match Repr::parse(packet).map(|repr| repr.packet) {
            // The adapter's part was the interrupt's.
            Ok(Packet::Data(_) | Packet::LastData(_)) => {
                let whole = self.model.receive_data.of(packet.len());
                whole.saturating_sub(self.adapter_cost(packet.len()))
            }
            _ => self.model.receive_control,
        }
    }

    /// What it takes until the adapter is loaded, and to load it.
    fn send_cost(&mut self, now: Instant, packet: &[u8]) -> (Duration, Duration) {
        let load = self.adapter_cost(packet.len());
        let Ok(Repr { packet: Packet::Data(data) | Packet::LastData(data), .. }) =
            Repr::parse(packet)
        else {
            return (self.model.send_control, load);
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
                Event::Opened if self.sends => (0..buffers).for_each(|_| self.give(None)),
                // One buffer more than may be under way, so that GO leaves together with OK.
                Event::Opened => (0..=buffers).for_each(|_| self.give(None)),
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
