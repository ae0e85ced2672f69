//! The end that receives data: it owns every timer that makes the transfer reliable (RFC 998
//! section 5.2, with the changes of RFC 1030 section 7).

use crate::arrivals::Arrivals;
use crate::control_list::ControlList;
use crate::counters::Counters;
use crate::event::Event;
use crate::incoming::{Incoming, Placed, State};
use crate::offers::Offers;
use crate::patience::Patience;
use crate::sequence::at_or_before;
use crate::tail::{Choice, Tail};
use crate::terms::{Burst, DataTimer, Terms, Timing};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use units::{Duration, Instant};
use wire::netblt::{Data, HEADER_LEN, Kind, Missing, Packet};

/// Number of the first buffer that we ask for.
const FIRST_BUFFER: u32 = 1;
/// Control messages of a packet take at least so much room: the smallest IP packet that every
/// host takes is 576 bytes.
const MIN_CONTROL_ROOM_BYTES: usize = 512;
/// Data packets that do not fit before the other end counts as malfunctioning.
const MAX_MISFITS: u64 = 100;
/// Of a RESEND, before its list.
const RESEND_HEADER_BYTES: usize = 12;

/// Up to so many data timers are cut short at once, more in steps of this part of the wait.
const FEW_TIMERS: usize = 64;
const SLACK_OF_WAIT: u64 = 8;

/// What a RESEND names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Asked {
    /// All packets that are not here.
    Everything,
    /// Those before one that is.
    Holes,
    /// The first that is not.
    First,
}

/// State of the receiving end.
#[derive(Clone, Debug)]
pub struct Receiver {
    terms: Terms,
    timer_rule: DataTimer,
    /// The rate in force: offered in every OK, and what data timers reckon with.
    burst: Burst,
    offer: Burst,
    /// No offer is faster.
    permitted: Burst,
    /// What chooses the offer, if the client does not.
    offers: Option<Offers>,
    control: ControlList,
    control_room_bytes: usize,
    arrivals: Arrivals,
    patience: Patience,
    /// Buffers from GO to OK, by number.
    buffers: BTreeMap<u32, Incoming>,
    /// Packets missing from them in all.
    missing: u64,
    /// The highest buffer that data has come for; of those above, everything is missing.
    highest: u32,
    /// Buffers that wait for the acknowledgement of a control message, in the order of messages.
    unacknowledged: VecDeque<(u16, u32)>,
    /// Running data timers.
    timers: BTreeSet<(Instant, u32)>,
    /// Buffers whose timers have run out, and of which nobody knows whether they have left.
    tail: Tail,
    /// Memory of the client that no data has come for yet. What was used last is used first: it is still in the
    /// processor's cache, where a window's worth of buffers would not be.
    memory: Vec<Vec<u8>>,
    /// Buffers that the client supplied memory for and no GO was sent for yet.
    spare: usize,
    next: u32,
    /// The last buffer of the transfer, once a packet of it has come.
    last: Option<u32>,
    last_arrived: bool,
    /// The client says when the last buffer is OK; that buffer, while it has not.
    withholds: bool,
    withheld: Option<u32>,
}

impl Receiver {
    pub fn new(terms: Terms, timing: &Timing) -> Self {
        // As large as a data packet, which the path is known to carry.
        let control_room_bytes =
            MIN_CONTROL_ROOM_BYTES.max(usize::from(terms.data_packet_size_bytes));
        Receiver {
            terms,
            timer_rule: timing.data_timer,
            burst: terms.burst,
            offer: terms.burst,
            permitted: terms.burst,
            offers: None,
            control: ControlList::new(*timing, control_room_bytes),
            control_room_bytes,
            arrivals: Arrivals::new(terms.burst),
            patience: Patience::default(),
            buffers: BTreeMap::new(),
            missing: 0,
            highest: FIRST_BUFFER.wrapping_sub(1),
            unacknowledged: VecDeque::new(),
            timers: BTreeSet::new(),
            tail: Tail::default(),
            memory: Vec::new(),
            spare: 0,
            next: FIRST_BUFFER,
            last: None,
            last_arrived: false,
            withholds: false,
            withheld: None,
        }
    }

    /// The rate in force, as far as this end knows.
    pub fn burst(&self) -> Burst {
        self.burst
    }
    /// Offers another rate with the next OK.
    pub fn offer(&mut self, burst: Burst) {
        (self.offer, self.permitted) = (burst, burst);
    }
    /// From now on no offer is faster than this, nor than what was permitted.
    pub fn bound(&mut self, most: Burst) {
        let most = most.restricted_by(self.permitted);
        match &mut self.offers {
            Some(offers) => offers.bound(most),
            None => self.offer = most,
        }
    }
    /// From now on what arrives decides on the offers.
    pub fn steer(&mut self, now: Instant, most: Burst) {
        self.permitted = most;
        self.offers = Some(Offers::new(now, self.terms.burst, most));
    }
    /// Buffers that the client may supply now without exceeding what may be under way.
    pub fn buffers_wanted(&self) -> usize {
        let most = usize::from(self.terms.max_outstanding_buffers);
        let here = self.buffers.len() + self.spare;
        if self.last.is_some() { 0 } else { most.saturating_sub(here) }
    }
    /// Whether the sender owes data.
    pub fn awaits_data(&self) -> bool {
        !self.buffers.is_empty()
    }
    /// Control packets carry no more than so many bytes for now.
    pub fn bound_control(&mut self, bytes: u64) {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).saturating_sub(HEADER_LEN);
        self.control.bound(self.control_room_bytes.min(bytes));
    }
    /// All data is here, and the client has no objection.
    pub fn has_everything(&self) -> bool {
        self.last_arrived && self.buffers.is_empty() && self.withheld.is_none()
    }
    /// The last buffer is OK only once the client confirms it.
    pub fn withhold_last(&mut self) {
        self.withholds = true;
    }
    /// Now it is.
    pub fn confirm_last(&mut self, now: Instant) {
        self.withholds = false;
        if let Some(number) = self.withheld.take() {
            self.say_ok(now, number);
        }
    }
    /// All data is here and the sender knows it (RFC 998 section 5.3.1).
    pub fn is_finished(&self) -> bool {
        self.has_everything() && self.control.is_empty()
    }

    /// The sender finds the rate.
    pub fn trust(&mut self) {
        self.tail.trust();
    }

    /// The client's memory for a buffer; any size, it is fitted when data comes.
    pub fn supply(&mut self, memory: Vec<u8>) {
        self.memory.push(memory);
        self.spare += 1;
        self.open_buffers();
    }

    /// Sends GO for as many buffers as may be under way.
    fn open_buffers(&mut self) {
        let most = usize::from(self.terms.max_outstanding_buffers);
        while self.last.is_none()
            && self.spare > 0
            && self.buffers.len() < most
            && self.control.has_room()
        {
            self.spare -= 1;
            let go = self.control.push(self.next, Kind::Go);
            let full = self.terms.buffer_size_bytes as usize;
            let buffer = Incoming::new(full, self.terms.data_packet_size_bytes, go);
            self.missing += buffer.missing();
            self.unacknowledged.push_back((go, self.next));
            self.buffers.insert(self.next, buffer);
            self.next = self.next.wrapping_add(1);
        }
    }

    /// The sender has every control message up to this one: buffers that waited for that now wait
    /// for data, with a loose timer.
    pub fn acknowledge(&mut self, now: Instant, high_consecutive: u16, counters: &mut Counters) {
        self.control.acknowledge(now, high_consecutive);
        counters.round_trip = self.control.round_trip();
        if !at_or_before(high_consecutive, self.control.last_sequence()) {
            return;
        }
        while let Some(&(message, number)) =
            self.unacknowledged.front().filter(|entry| at_or_before(entry.0, high_consecutive))
        {
            self.unacknowledged.pop_front();
            let state = self.buffers.get(&number).map(|buffer| buffer.state);
            if state == Some(State::AckWait(message)) {
                self.set_timer(now, number, self.missing_through(number), State::Acked);
            }
        }
        self.open_buffers();
    }

    /// The sender's answer to an offer.
    pub fn adopt(&mut self, burst: Burst) {
        if burst.size_packets > 0 {
            self.burst = burst;
        }
    }

    /// Packets missing from a buffer and all lower ones: they come first, and the data timer reckons
    /// with them (RFC 998 section 5.2.2).
    fn missing_through(&self, number: u32) -> u64 {
        if number > self.highest {
            let full = self.terms.packets(self.terms.buffer_size_bytes as usize);
            let above = self.next.wrapping_sub(1).wrapping_sub(number);
            return self.missing - u64::from(above) * u64::from(full);
        }
        self.buffers.range(..=number).map(|(_, buffer)| buffer.missing()).sum()
    }

    /// How long to wait for so many missing packets.
    fn data_timer(&self, missing: u64) -> Duration {
        self.arrivals.data_timer(missing, self.expected(), self.timer_rule) + self.patience.wait()
    }

    /// The bursts that data timers expect. A sender that finds its rate names a pace that is a little faster than
    /// its own, and mostly speeds up: it is expected at the packets of a millisecond, each time in whole ones.
    fn expected(&self) -> Burst {
        if !self.tail.is_trusted() {
            return self.burst;
        }
        let rate = self.burst.packets_per_ms();
        let size_packets = rate.floor().max(1.0);
        let interval_ms = (size_packets / rate).floor();
        Burst { size_packets: size_packets as u16, interval_ms: interval_ms as u16 }
    }

    /// Sets the data timer of a buffer for so many missing packets.
    fn set_timer(&mut self, now: Instant, number: u32, missing: u64, state: fn(Instant) -> State) {
        let at = now + self.data_timer(missing);
        let Some(buffer) = self.buffers.get_mut(&number) else { return };
        if let Some(old) = buffer.state.data_timer() {
            self.timers.remove(&(old, number));
        }
        buffer.state = state(at);
        self.timers.insert((at, number));
        self.tail.overdue.remove(&number);
    }

    /// Takes in DATA, or LDATA if `ends`. An error is a malfunction of the other end.
    pub fn handle_data(
        &mut self,
        now: Instant,
        packet: &Data<'_>,
        ends: bool,
        counters: &mut Counters,
        events: &mut VecDeque<Event>,
    ) -> Result<(), &'static str> {
        self.acknowledge(now, packet.high_consecutive, counters);
        if self.terms.checksum_data && !packet.is_intact() {
            counters.damaged_data_packets += 1;
            return Ok(());
        }
        let Some(buffer) = self.buffers.get_mut(&packet.buffer) else {
            counters.duplicate_data_packets += 1;
            return Ok(());
        };
        self.arrivals.observe(now, self.burst);
        let packet = &Data { data: buffer.without_padding(packet, ends), ..*packet };
        let before = buffer.missing();
        // What lies beyond all that came may come for the first time.
        let left = packet.buffer < self.highest
            || buffer.highest().is_some_and(|highest| u32::from(packet.packet) < highest);
        let placed = buffer.place(packet, ends, || self.memory.pop().unwrap_or_default());
        let owed = placed == Placed::New && buffer.take_owed() && left;
        self.missing -= before - buffer.missing();
        if packet.buffer > self.highest {
            let before = std::mem::replace(&mut self.highest, packet.buffer);
            self.leave_tail(now, before);
        }
        match placed {
            Placed::Misfit => {
                counters.misfit_data_packets += 1;
                let many = counters.misfit_data_packets > MAX_MISFITS;
                return if many {
                    Err("data packets that do not fit their buffers")
                } else {
                    Ok(())
                };
            }
            Placed::Duplicate => counters.duplicate_data_packets += 1,
            Placed::New => {
                counters.data_packets_received += 1;
                self.offers.iter_mut().for_each(Offers::arrived);
                self.tail.arrived(now, owed);
                let index = packet.buffer.wrapping_sub(FIRST_BUFFER);
                counters.new_data(now, index, packet.data.len());
                self.judge_timer(now, packet.buffer);
            }
        }
        if packet.last_buffer {
            self.close_after(packet.buffer)?;
        }
        self.note_arrival(now, packet.buffer);
        self.hand_over_if_whole(now, packet.buffer, events);
        self.shorten_timers(now);
        Ok(())
    }

    /// Something new came for a buffer: was it right to ask for it, if it was asked for?
    fn judge_timer(&mut self, now: Instant, number: u32) {
        let Some(buffer) = self.buffers.get_mut(&number) else { return };
        match (buffer.asked, buffer.state) {
            // It left before the sender knew.
            (Some(asked), State::AckWait(_)) if self.control.fits_a_packet() => {
                self.patience.was_too_short(asked, now);
            }
            (Some(_), State::Acked(_) | State::Receiving(_)) => {
                buffer.asked = None;
                self.patience.was_long_enough();
            }
            _ => {}
        }
    }

    /// The first packet of a buffer sets its tight timer, and those of lower buffers of which
    /// nothing has come: either their packets are lost or the network reorders, so that no RESEND
    /// is sent at once (RFC 1030 section 7). Nor is one sent when LDATA leaves holes behind.
    fn note_arrival(&mut self, now: Instant, number: u32) {
        let first = self.buffers.get(&number).is_some_and(|buffer| match buffer.state {
            State::Receiving(_) => false,
            // Asked for again and not acknowledged yet: the control timer takes care.
            State::AckWait(_) => false,
            State::Acked(_) => true,
        });
        if !first {
            return;
        }
        let mut missing = 0;
        let mut lower = Vec::new();
        for (&number, buffer) in self.buffers.range(..=number) {
            missing += buffer.missing();
            if matches!(buffer.state, State::Acked(_)) {
                lower.push((number, missing));
            }
        }
        for (lower, missing) in lower {
            if lower == number {
                self.set_timer(now, lower, missing, State::Receiving);
            } else {
                self.hasten_timer(now, lower, missing);
            }
        }
    }

    /// Data of a higher buffer came: what is below has left, and its timers run again.
    fn leave_tail(&mut self, now: Instant, from: u32) {
        for number in self.tail.take_below(self.highest) {
            let state = self.buffers.get(&number).map(|buffer| buffer.state);
            let missing = self.missing_through(number);
            match state {
                Some(State::Acked(_)) => self.set_timer(now, number, missing, State::Acked),
                Some(State::Receiving(_)) => self.set_timer(now, number, missing, State::Receiving),
                Some(State::AckWait(_)) | None => debug_assert!(number >= from),
            }
        }
    }

    /// Sets the data timer of a buffer that nothing has come of, if it would run for longer. It is never
    /// put off: buffer after buffer would do so, and what was lost again when it was sent again would
    /// not be asked for as long as data flows.
    fn hasten_timer(&mut self, now: Instant, number: u32, missing: u64) {
        let at = now + self.data_timer(missing);
        let state = self.buffers.get(&number).map(|buffer| buffer.state);
        if state.and_then(State::data_timer).is_some_and(|set| set > at) {
            self.set_timer(now, number, missing, State::Acked);
        }
    }

    /// No timer runs for longer than all that is missing would take now: those that were set when the
    /// rate was lower, or much more was missing, would have the last few packets wait for minutes.
    fn shorten_timers(&mut self, now: Instant) {
        let wait = self.data_timer(self.missing);
        let latest = now + wait;
        // Of many nearly all are at that bound, which moves with each packet: they follow in steps.
        let many = self.timers.len() > FEW_TIMERS;
        let slack = if many { wait.as_ps() / SLACK_OF_WAIT } else { 0 };
        let slack = Duration::from_ps(slack);
        if self.timers.last().is_none_or(|(at, _)| *at <= latest + slack) {
            return;
        }
        while let Some(&(at, number)) = self.timers.last().filter(|(at, _)| *at > latest) {
            self.timers.remove(&(at, number));
            self.timers.insert((latest, number));
            if let Some(buffer) = self.buffers.get_mut(&number) {
                buffer.state.set_data_timer(latest);
            }
        }
    }

    /// No buffer follows `last`: those opened beyond it are closed again (our choice; otherwise
    /// the transfer would never count as over).
    fn close_after(&mut self, last: u32) -> Result<(), &'static str> {
        match self.last {
            Some(known) if known != last => return Err("two last buffers"),
            Some(_) => return Ok(()),
            None => self.last = Some(last),
        }
        let beyond = self.buffers.split_off(&last.wrapping_add(1));
        if beyond.values().any(|buffer| !buffer.is_untouched()) {
            return Err("data beyond the last buffer");
        }
        self.next = last.wrapping_add(1);
        for (number, buffer) in beyond {
            self.tail.overdue.remove(&number);
            self.missing -= buffer.missing();
            if let Some(at) = buffer.state.data_timer() {
                self.timers.remove(&(at, number));
            }
        }
        self.spare = 0;
        Ok(())
    }

    fn hand_over_if_whole(&mut self, now: Instant, number: u32, events: &mut VecDeque<Event>) {
        if !self.buffers.get(&number).is_some_and(Incoming::is_whole) {
            return;
        }
        let Some(buffer) = self.buffers.remove(&number) else { return };
        self.tail.overdue.remove(&number);
        if let Some(at) = buffer.state.data_timer() {
            self.timers.remove(&(at, number));
        }
        let last = self.last == Some(number);
        self.last_arrived |= last;
        match last && self.withholds {
            true => self.withheld = Some(number),
            false => self.say_ok(now, number),
        }
        let index = number.wrapping_sub(FIRST_BUFFER);
        events.push_back(Event::Received { index, data: buffer.into_data(), last });
        self.open_buffers();
    }

    fn say_ok(&mut self, now: Instant, number: u32) {
        if let Some(offers) = &mut self.offers {
            self.offer = offers.next(now, self.control.round_trip());
        }
        let ok = Kind::Ok {
            burst_size_packets: self.offer.size_packets,
            burst_interval_ms: self.offer.interval_ms,
            // Filled in when it leaves.
            control_timer_ms: 0,
        };
        self.control.push(number, ok);
    }

    /// The next timer.
    pub fn timeout(&self) -> Option<Instant> {
        let data = self.timers.first().map(|(at, _)| *at);
        let tail = self.tail.timeout(self.data_timer(1));
        [self.control.timeout(), data, tail].into_iter().flatten().min()
    }

    /// Timers that ran out: the control list is repeated, packets that did not come are asked for
    /// again.
    pub fn handle_timeout(&mut self, now: Instant, counters: &mut Counters) {
        if self.control.handle_timeout(now) {
            counters.control_timeouts += 1;
        }
        while let Some(&(at, number)) = self.timers.first().filter(|(at, _)| *at <= now) {
            self.timers.remove(&(at, number));
            match self.has_surely_left(number) {
                true => self.ask(now, number, Asked::Everything, counters),
                false => _ = self.tail.overdue.insert(number),
            }
        }
        self.ask_tail(now, counters);
    }

    /// Whether data of a higher buffer came, or there is no reason to doubt it.
    fn has_surely_left(&self, number: u32) -> bool {
        let full = u64::from(self.terms.packets(self.terms.buffer_size_bytes as usize));
        let trusted = self.tail.trusted(full);
        number < self.highest
            || trusted == usize::MAX
            || self.buffers.range(self.highest..).take(trusted).any(|(other, _)| *other == number)
    }

    /// Of what may not have left holes are asked for, and the rest only once nothing has come for a while.
    fn ask_tail(&mut self, now: Instant, counters: &mut Counters) {
        let due = self.tail.timeout(self.data_timer(1));
        if due.is_some_and(|at| at <= now) {
            let reach = self.buffers.range(self.highest..).map(|(number, _)| *number);
            let (numbers, asked) = match self.tail.choose(now, reach) {
                Choice::Packet(number) => (number.into_iter().collect(), Asked::First),
                Choice::Buffers(numbers) => (numbers, Asked::Everything),
            };
            numbers.into_iter().for_each(|number| self.ask(now, number, asked, counters));
        } else if self.tail.overdue.contains(&self.highest) {
            self.ask(now, self.highest, Asked::Holes, counters);
        }
    }

    /// Asks for what is missing of a buffer, if anything is.
    fn ask(&mut self, now: Instant, number: u32, asked: Asked, counters: &mut Counters) {
        let most = match asked {
            Asked::First => 1,
            _ => (self.control_room_bytes - RESEND_HEADER_BYTES) / 2,
        };
        let Some(buffer) = self.buffers.get_mut(&number) else { return };
        let holes_end = buffer.highest().filter(|_| asked == Asked::Holes).unwrap_or(u32::MAX);
        let missing = buffer.missing_numbers(self.last == Some(number));
        let missing = missing.take_while(|packet| u32::from(*packet) < holes_end);
        // What does not fit is asked for when the timer runs out the next time.
        let missing: Missing<'static> = missing.take(most).collect();
        if missing.count() == 0 {
            return;
        }
        counters.data_timeouts += 1;
        counters.packets_asked_again += missing.count() as u64;
        self.offers.iter_mut().for_each(|offers| offers.missed(missing.count() as u64));
        self.tail.ask(missing.count() as u64);
        if asked == Asked::First {
            self.arrivals.asked_for_one();
        }
        buffer.owed += missing.count() as u32;
        let message = self.control.push(number, Kind::Resend(missing));
        buffer.state = State::AckWait(message);
        buffer.asked = Some(now);
        self.unacknowledged.push_back((message, number));
        self.tail.overdue.remove(&number);
    }

    pub fn wants_to_send(&self) -> bool {
        self.control.wants_to_send()
    }
    /// The next CONTROL packet.
    pub fn poll(&mut self, now: Instant, counters: &mut Counters) -> Option<Packet<'static>> {
        let messages = self.control.poll(now)?;
        counters.control_packets_sent += 1;
        Some(Packet::Control(messages))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Buffers that wait for data hold none of the memory that others could use.
    #[test]
    fn memory_used_last_is_used_first() {
        let terms = Terms {
            buffer_size_bytes: 4,
            data_packet_size_bytes: 4,
            burst: Burst { size_packets: 1, interval_ms: 1 },
            max_outstanding_buffers: 8,
            checksum_data: false,
            peer_death_timer_s: 0,
        };
        let mut receiver = Receiver::new(terms, &Timing::default());
        let memories: Vec<Vec<u8>> = (0..4).map(|_| Vec::with_capacity(64)).collect();
        let addresses: Vec<_> = memories.iter().map(Vec::as_ptr).collect();
        memories.into_iter().for_each(|memory| receiver.supply(memory));
        let (mut counters, mut events) = (Counters::default(), VecDeque::new());
        let mut comes = |receiver: &mut Receiver, buffer| {
            let (high_consecutive, packet, checksum, last_buffer) = (0, 0, 0, false);
            let data = b"data";
            let data = &Data { buffer, high_consecutive, packet, checksum, last_buffer, data };
            let now = Instant::ZERO;
            receiver.handle_data(now, data, true, &mut counters, &mut events).unwrap();
            match events.pop_front() {
                Some(Event::Received { data, .. }) => data,
                event => panic!("{event:?}"),
            }
        };
        // In whatever order buffers are filled.
        let first = comes(&mut receiver, 3);
        assert_eq!((first.as_ptr(), &first[..]), (addresses[3], &b"data"[..]));
        receiver.supply(first);
        let later = [1, 2, 4, 5].map(|buffer| comes(&mut receiver, buffer));
        let used: Vec<_> = later.iter().map(Vec::as_ptr).collect();
        assert_eq!(used, [3, 2, 1, 0].map(|at| addresses[at]), "the first one came back");
    }
}
