//! The end that sends data: passive but for its bursts (RFC 998 section 5.2).

use crate::counters::Counters;
use crate::event::Event;
use crate::outgoing::Outgoing;
use crate::pacer::{Pace, Pacer};
use crate::sequence::{Window, ahead};
use crate::terms::{Burst, Limits, Terms, Timing};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use units::{Duration, Instant};
use wire::netblt::{Data, Kind, Message, Messages, NullAck, Packet};

/// Shortest control timer that the dally reckons with.
const MIN_DALLIED_TIMER: Duration = Duration::from_secs(1);

/// State of the sending end.
#[derive(Clone, Debug)]
pub struct Sender {
    terms: Terms,
    /// The fastest this end can do, beyond which no offer takes it.
    fastest: Burst,
    window: Window,
    /// Number of the first buffer: that of control message 1 (our choice; RFC 998 does not say).
    base: Option<u32>,
    /// By place in the transfer, from 0.
    buffers: BTreeMap<u32, Outgoing>,
    /// Buffers that have packets to send; the lowest goes first.
    ready: BTreeSet<u32>,
    /// Since when there have been such buffers; none if there are none, or not looked at yet.
    waiting_since: Option<Instant>,
    /// GOs for buffers that the client has not filled yet.
    permitted: BTreeSet<u32>,
    supplied: u32,
    last_supplied: bool,
    /// The fastest that both ends agree to.
    limit: Burst,
    /// What the receiver knows of the rate, or is about to be told.
    burst: Burst,
    pacer: Pacer,
    newest_offer: Option<u16>,
    control_timer: Duration,
    null_ack: bool,
    /// Shortest time from the departure of the last packet of a buffer to its OK; none before the
    /// first.
    round_trip: Option<Duration>,
}

impl Sender {
    pub fn new(terms: Terms, limits: &Limits, timing: &Timing) -> Self {
        Sender {
            terms,
            fastest: limits.burst,
            window: Window::default(),
            base: None,
            buffers: BTreeMap::new(),
            ready: BTreeSet::new(),
            waiting_since: None,
            permitted: BTreeSet::new(),
            supplied: 0,
            last_supplied: false,
            limit: terms.burst,
            burst: terms.burst,
            pacer: Pacer::new(terms.burst.into(), timing.pacing_slack),
            newest_offer: None,
            control_timer: timing.first_control_timer,
            null_ack: false,
            round_trip: None,
        }
    }

    pub fn burst(&self) -> Burst {
        self.burst
    }
    /// The fastest that both ends agree to.
    pub fn limit(&self) -> Burst {
        self.limit
    }
    /// Packets of a full buffer.
    pub fn buffer_packets(&self) -> u32 {
        self.terms.packets(self.terms.buffer_size_bytes as usize)
    }
    /// Before any packet left: they have so many bytes of data.
    pub fn cut_packets(&mut self, bytes: u16) {
        self.terms.data_packet_size_bytes = bytes;
        for buffer in self.buffers.values_mut() {
            buffer.cut(bytes, self.terms.packets(buffer.len()));
        }
    }
    /// Whether the message numbered `sequence` has not come yet.
    pub fn is_new(&self, sequence: u16) -> bool {
        self.window.is_new(sequence)
    }
    /// Messages up to this one have come, all of them.
    pub fn high_consecutive(&self) -> u16 {
        self.window.high_consecutive()
    }
    /// Data may leave as far as permission and data go.
    pub fn has_packets(&self) -> bool {
        !self.ready.is_empty()
    }
    /// Sends at this pace, which is within the limit, until an offer changes that.
    pub fn set_pace(&mut self, now: Instant, pace: Pace) {
        self.pacer.set_pace(now, pace);
    }
    /// What the receiver would be told of the pace now.
    pub fn named(&self) -> Burst {
        self.pacer.pace().named(self.limit)
    }
    /// Both ends agree that this end may choose among all rates up to this one.
    pub fn raise_limit(&mut self, to: Burst) {
        self.limit = to.restricted_by(self.fastest);
    }
    /// This end's client wants no rate above this one. What is offered next is taken up to it.
    pub fn bound(&mut self, now: Instant, most: Burst) {
        self.fastest = most;
        self.limit = self.limit.restricted_by(most);
        self.set_pace(now, self.limit.into());
        self.announce();
    }
    /// Tells the receiver the rate in a NULL-ACK.
    pub fn announce(&mut self) {
        self.burst = self.named();
        self.null_ack = true;
    }
    /// Buffers that the client may fill now without exceeding what may be under way.
    pub fn buffers_wanted(&self) -> usize {
        let most = usize::from(self.terms.max_outstanding_buffers);
        if self.last_supplied { 0 } else { most.saturating_sub(self.buffers.len()) }
    }
    /// Buffers that the other end has room for and the client has not filled yet.
    pub fn buffers_permitted(&self) -> usize {
        self.permitted.len()
    }
    /// Buffers with packets that are to leave.
    pub fn buffers_ready(&self) -> usize {
        self.ready.len()
    }
    /// Says what control messages came, though nothing else is to be said.
    pub fn acknowledge(&mut self) {
        self.null_ack = true;
    }
    /// Packets of the buffer with this number; 0 if there is none.
    pub fn packets_of(&self, number: u32) -> u32 {
        let index = number.wrapping_sub(self.base.unwrap_or(0));
        self.buffers.get(&index).map_or(0, Outgoing::packets)
    }
    /// Whether the receiver owes a GO or an OK. It does not while all but the last buffer is OK: it may
    /// be verifying what came before it makes room for the end.
    pub fn awaits_word(&self) -> bool {
        let verified = self.last_supplied && self.supplied > 1 && self.buffers.len() == 1;
        let closing = verified && self.buffers.values().all(|buffer| !buffer.is_permitted());
        !closing && (!self.buffers.is_empty() || self.permitted.is_empty())
    }
    /// Everything was sent and everything is OK.
    pub fn is_finished(&self) -> bool {
        self.last_supplied && self.buffers.is_empty()
    }
    /// How long to answer repeated OKs after the end: the receiver's control timer must run out
    /// and its OK must come again (RFC 998 section 5.3.1; four timers are our choice).
    pub fn dally(&self) -> Duration {
        self.control_timer.max(MIN_DALLIED_TIMER) * 4
    }

    /// The client's next buffer. Refused are a size that was not agreed on, and anything after
    /// the last buffer.
    pub fn supply(&mut self, data: Vec<u8>, last: bool) -> Result<(), Vec<u8>> {
        let full = self.terms.buffer_size_bytes as usize;
        if self.last_supplied || data.len() > full || (!last && data.len() != full) {
            return Err(data);
        }
        let packets = self.terms.packets(data.len());
        let mut buffer = Outgoing::new(data, self.terms.data_packet_size_bytes, packets, last);
        if self.permitted.remove(&self.supplied) {
            buffer.permit();
            self.ready.insert(self.supplied);
        }
        self.buffers.insert(self.supplied, buffer);
        self.supplied += 1;
        self.last_supplied = last;
        if last {
            self.permitted.clear();
        }
        Ok(())
    }

    /// Acts on a CONTROL packet. An error is a malfunction of the other end.
    pub fn handle_control(
        &mut self,
        now: Instant,
        messages: &Messages<'_>,
        counters: &mut Counters,
        events: &mut VecDeque<Event>,
    ) -> Result<(), &'static str> {
        for message in messages.iter() {
            if let Kind::Ok { control_timer_ms, .. } = message.kind {
                // Repeated ones too: the timer may have grown since.
                self.control_timer = Duration::from_ms(control_timer_ms.into());
            }
            let Some(base) =
                self.base.or_else(|| (message.sequence == 1).then_some(message.buffer))
            else {
                // Which buffer is the first is not known yet: this will be repeated.
                continue;
            };
            self.base = Some(base);
            if self.window.accept(message.sequence) {
                self.obey(now, &message, message.buffer.wrapping_sub(base), events)?;
            } else {
                counters.duplicate_control_messages += 1;
            }
        }
        // Nothing else would carry the acknowledgement. Duplicates are answered too: the packet
        // that acknowledged them may have been lost.
        self.null_ack |= self.ready.is_empty() && self.base.is_some();
        self.note_waiting(now);
        Ok(())
    }

    /// Notes since when packets have waited for their burst.
    fn note_waiting(&mut self, now: Instant) {
        match self.ready.is_empty() {
            true => self.waiting_since = None,
            false => _ = self.waiting_since.get_or_insert(now),
        }
    }

    fn obey(
        &mut self,
        now: Instant,
        message: &Message<'_>,
        index: u32,
        events: &mut VecDeque<Event>,
    ) -> Result<(), &'static str> {
        match &message.kind {
            Kind::Go => self.go(index),
            Kind::Ok { burst_size_packets, burst_interval_ms, .. } => {
                let offer = self.offered(*burst_size_packets, *burst_interval_ms);
                self.adopt(now, message.sequence, offer);
                self.ok(now, index, events)
            }
            Kind::Resend(missing) => {
                // What left within a round trip cannot have been missed: the receiver's timer was early.
                let round_trip = self.round_trip.unwrap_or(Duration::ZERO);
                let until = Instant::from_ps(now.as_ps().saturating_sub(round_trip.as_ps()));
                if let Some(buffer) = self.buffers.get_mut(&index) {
                    missing.iter().for_each(|packet| buffer.resend(packet, until));
                    if buffer.has_packets() {
                        self.ready.insert(index);
                    }
                }
                Ok(())
            }
        }
    }

    fn go(&mut self, index: u32) -> Result<(), &'static str> {
        if let Some(buffer) = self.buffers.get_mut(&index) {
            buffer.permit();
            if buffer.has_packets() {
                self.ready.insert(index);
            }
        } else if index >= self.supplied && !self.last_supplied {
            // An OK that makes room may have been overtaken by the GO that uses it.
            let most = 2 * usize::from(self.terms.max_outstanding_buffers) + 16;
            if self.permitted.len() >= most {
                return Err("GO for more buffers than agreed on");
            }
            self.permitted.insert(index);
        }
        Ok(())
    }

    fn ok(
        &mut self,
        now: Instant,
        index: u32,
        events: &mut VecDeque<Event>,
    ) -> Result<(), &'static str> {
        match self.buffers.get(&index) {
            Some(buffer) if !buffer.has_left() => return Err("OK for data that never left"),
            None if index >= self.supplied => return Err("OK for data that never was"),
            _ => {}
        }
        if let Some(buffer) = self.buffers.remove(&index) {
            self.ready.remove(&index);
            if let Some(left) = buffer.left_once() {
                let sample = now.since(left);
                self.round_trip =
                    Some(self.round_trip.map_or(sample, |shortest| shortest.min(sample)));
            }
            events.push_back(Event::Sent { index, data: buffer.into_data() });
        }
        Ok(())
    }

    /// What an OK offers; 0 leaves a value as it is (our choice).
    fn offered(&self, size_packets: u16, interval_ms: u16) -> Burst {
        let now = self.limit;
        Burst {
            size_packets: if size_packets > 0 { size_packets } else { now.size_packets },
            interval_ms: if interval_ms > 0 { interval_ms } else { now.interval_ms },
        }
    }

    /// Takes the newest offer, as far as this end can do it, and says so in a NULL-ACK if that
    /// changes anything.
    fn adopt(&mut self, now: Instant, sequence: u16, offer: Burst) {
        let stale = self.newest_offer.is_some_and(|newest| ahead(sequence, newest) >= 1 << 15);
        if stale {
            return;
        }
        self.newest_offer = Some(sequence);
        let limit = offer.restricted_by(self.fastest);
        if limit != self.limit {
            self.limit = limit;
            self.set_pace(now, limit.into());
            self.announce();
        }
    }

    /// When a packet may leave, if one wants to.
    pub fn due(&self) -> Option<Instant> {
        if self.null_ack {
            return Some(Instant::ZERO);
        }
        (!self.ready.is_empty()).then(|| self.pacer.due())
    }

    /// The next packet that may leave now: an acknowledgement first, then data, lowest buffer
    /// first.
    pub fn poll(&mut self, now: Instant, counters: &mut Counters) -> Option<Packet<'_>> {
        let high_consecutive = self.window.high_consecutive();
        if std::mem::take(&mut self.null_ack) {
            let Burst { size_packets, interval_ms } = self.burst;
            return Some(Packet::NullAck(NullAck {
                high_consecutive,
                burst_size_packets: size_packets,
                burst_interval_ms: interval_ms,
            }));
        }
        self.note_waiting(now);
        if self.pacer.due() > now {
            return None;
        }
        let (index, waiting_since) = (*self.ready.first()?, self.waiting_since?);
        let buffer = self.buffers.get_mut(&index)?;
        let last_buffer = buffer.last;
        if buffer.queued() == 1 {
            self.ready.remove(&index);
        }
        if self.ready.is_empty() {
            self.waiting_since = None;
        }
        let piece = buffer.pop(now)?;
        self.pacer.sent(now, waiting_since);
        counters.data_packets_sent += 1;
        if piece.again {
            counters.data_packets_resent += 1;
        } else {
            counters.new_data(now, index, piece.data.len());
        }
        let data = Data {
            buffer: self.base?.wrapping_add(index),
            high_consecutive,
            packet: piece.packet,
            checksum: 0,
            last_buffer,
            data: piece.data,
        };
        let data = if self.terms.checksum_data { data.checksummed() } else { data };
        Some(if piece.last { Packet::LastData(data) } else { Packet::Data(data) })
    }
}
