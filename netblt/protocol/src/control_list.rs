//! The one long-lived control packet: an ordered list of unacknowledged messages, with the timer
//! that repeats it (RFC 998 section 5.2.1, RFC 1030 section 7).

use crate::sequence::{ahead, at_or_before};
use crate::terms::Timing;
use std::collections::VecDeque;
use units::{Duration, Instant};
use wire::netblt::{Kind, Message, Messages};

/// Longest control timer before any round trip was measured: satellites answer within it.
const LONGEST_BLIND_TIMER: Duration = Duration::from_secs(8);
/// Longest that fits the 16 bits in which an OK message says it.
const LONGEST_TIMER: Duration = Duration::from_ms(u16::MAX as u64);

/// GO (RFC 998 section 8).
const SHORTEST_MESSAGE_BYTES: usize = 8;

#[derive(Clone, Debug)]
struct Entry {
    message: Message<'static>,
    first_sent: Option<Instant>,
    /// Repeated because the timer ran out, so that its round trip is ambiguous (Karn's rule).
    repeated: bool,
}

/// Messages from the moment they are made to the moment they are acknowledged.
#[derive(Clone, Debug)]
pub struct ControlList {
    entries: VecDeque<Entry>,
    last_sequence: u16,
    /// Messages at the end of the list that never left.
    unsent: usize,
    /// Where a repetition of the whole list has come to.
    repeating_from: Option<usize>,
    /// Where the old messages begin that go along with the next new ones, in turn.
    along: usize,
    /// Where the messages begin that were new in the last packet.
    recent: usize,
    timer: Option<Instant>,
    backoff: u32,
    round_trip: Option<RoundTrip>,
    timing: Timing,
    room_bytes: usize,
}

#[derive(Clone, Copy, Debug)]
struct RoundTrip {
    smoothed: Duration,
    variation: Duration,
}

impl RoundTrip {
    /// Takes in one more sample (the weights of RFC 6298 section 2).
    fn with(last: Option<RoundTrip>, sample: Duration) -> RoundTrip {
        let Some(RoundTrip { smoothed, variation }) = last else {
            let half = Duration::from_ps(sample.as_ps() / 2);
            return RoundTrip { smoothed: sample, variation: half };
        };
        let error = Duration::from_ps(sample.as_ps().abs_diff(smoothed.as_ps()));
        let mix = |old: Duration, new: Duration, parts: u64| {
            Duration::from_ps(old.as_ps() - old.as_ps() / parts + new.as_ps() / parts)
        };
        RoundTrip { smoothed: mix(smoothed, sample, 8), variation: mix(variation, error, 4) }
    }
}

impl ControlList {
    /// An empty list whose packets carry at most `room_bytes` of messages.
    pub fn new(timing: Timing, room_bytes: usize) -> Self {
        ControlList {
            entries: VecDeque::new(),
            last_sequence: 0,
            unsent: 0,
            repeating_from: None,
            along: 0,
            recent: 0,
            timer: None,
            backoff: 0,
            round_trip: None,
            timing,
            room_bytes,
        }
    }

    /// Packets carry at most so many bytes of messages from now on, but always one message.
    pub fn bound(&mut self, room_bytes: usize) {
        self.room_bytes = room_bytes;
    }
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
    /// Number of the newest message.
    pub fn last_sequence(&self) -> u16 {
        self.last_sequence
    }
    /// Whether one more message can be numbered. Half the numbers may be under way, no more.
    pub fn has_room(&self) -> bool {
        self.entries.len() < 30_000
    }
    /// Whether the whole list goes into each packet: then who has a message has all that come before.
    pub fn fits_a_packet(&self) -> bool {
        let bytes = self.entries.iter().map(|entry| entry.message.len_bytes());
        // Short lists are the rule, long ones cost.
        self.entries.len() * SHORTEST_MESSAGE_BYTES <= self.room_bytes
            && bytes.sum::<usize>() <= self.room_bytes
    }
    /// When the list is repeated.
    pub fn timeout(&self) -> Option<Instant> {
        self.timer
    }
    /// Smoothed round trip; zero before the first sample.
    pub fn round_trip(&self) -> Duration {
        self.round_trip.map_or(Duration::ZERO, |trip| trip.smoothed)
    }
    /// The control timer without backoff: a round trip and its variation.
    pub fn timer_value(&self) -> Duration {
        let value = self
            .round_trip
            .map_or(self.timing.first_control_timer, |trip| trip.smoothed + trip.variation * 4);
        value.max(self.timing.min_control_timer)
    }

    /// Adds a message; gives its number.
    pub fn push(&mut self, buffer: u32, kind: Kind<'static>) -> u16 {
        self.last_sequence = self.last_sequence.wrapping_add(1);
        let message = Message { sequence: self.last_sequence, buffer, kind };
        self.entries.push_back(Entry { message, first_sent: None, repeated: false });
        self.unsent += 1;
        self.last_sequence
    }

    /// Drops what is acknowledged.
    pub fn acknowledge(&mut self, now: Instant, high_consecutive: u16) {
        let Some(front) = self.entries.front().map(|entry| entry.message.sequence) else { return };
        let sent = self.entries.len() - self.unsent;
        let count = usize::from(ahead(high_consecutive, front).wrapping_add(1));
        if !at_or_before(front, high_consecutive) || count > sent {
            return;
        }
        let newest = self.entries.drain(..count).next_back().expect("at least one");
        if let (Some(first_sent), false) = (newest.first_sent, newest.repeated) {
            self.round_trip = Some(RoundTrip::with(self.round_trip, now.since(first_sent)));
            self.backoff = 0;
        }
        self.repeating_from = self.repeating_from.map(|at| at.saturating_sub(count));
        self.along = self.along.saturating_sub(count);
        self.recent = self.recent.saturating_sub(count);
        if self.entries.len() == self.unsent {
            self.timer = None;
            self.repeating_from = None;
        }
    }

    /// The timer ran out: everything is to be sent again. False if it has not.
    pub fn handle_timeout(&mut self, now: Instant) -> bool {
        if self.timer.is_none_or(|at| at > now) {
            return false;
        }
        let longest = if self.round_trip.is_some() { 2 } else { 4 };
        self.backoff = (self.backoff + 1).min(longest);
        self.repeating_from = Some(0);
        self.unsent = 0;
        for entry in &mut self.entries {
            entry.repeated = entry.first_sent.is_some();
        }
        self.set_timer(now);
        true
    }

    /// Gives what OK messages that leave now say of it: never less than it is, since the sender's
    /// dally must let it run out (RFC 998 section 5.3.1).
    fn set_timer(&mut self, now: Instant) -> u16 {
        let mut wait = self.timer_value() * (1 << self.backoff);
        if self.round_trip.is_none() {
            wait = wait.min(LONGEST_BLIND_TIMER.max(self.timing.first_control_timer));
        }
        let wait = wait.min(LONGEST_TIMER);
        self.timer = Some(now + wait);
        u16::try_from(wait.as_ps().div_ceil(Duration::from_ms(1).as_ps())).unwrap_or(u16::MAX)
    }

    pub fn wants_to_send(&self) -> bool {
        self.unsent > 0 || self.repeating_from.is_some()
    }

    /// The messages of the next packet: the whole list if it fits. If it does not, a repetition
    /// takes several packets, and new messages take along those of the packet before and as many
    /// others as fit beside them, in turn: with more than a packet's worth under way, a lost one
    /// would else wait a round trip, and with it all that wait for an acknowledgement.
    pub fn poll(&mut self, now: Instant) -> Option<Messages<'static>> {
        let chosen = match self.repeating_from {
            Some(from) => self.repetition(from),
            None if self.unsent > 0 => self.new_and_old(),
            None => return None,
        };
        let timer_ms = self.set_timer(now);
        let entries = &mut self.entries;
        Some(
            chosen
                .map(|index| {
                    let entry = &mut entries[index];
                    entry.first_sent.get_or_insert(now);
                    if let Kind::Ok { control_timer_ms, .. } = &mut entry.message.kind {
                        *control_timer_ms = timer_ms;
                    }
                    entry.message.clone()
                })
                .collect(),
        )
    }

    fn fitting(&self, range: std::ops::Range<usize>, room: &mut usize) -> usize {
        let fits = |index: &usize| {
            let len = self.entries[*index].message.len_bytes();
            *room = room.saturating_sub(len);
            *room > 0 || len == 0
        };
        range.take_while(fits).count()
    }

    fn repetition(&mut self, from: usize) -> Box<dyn Iterator<Item = usize>> {
        let count = self.fitting(from..self.entries.len(), &mut (self.room_bytes + 1)).max(1);
        let end = (from + count).min(self.entries.len());
        self.repeating_from = (end < self.entries.len()).then_some(end);
        Box::new(from..end)
    }

    fn new_and_old(&mut self) -> Box<dyn Iterator<Item = usize>> {
        let first_new = self.entries.len() - self.unsent;
        let mut room = self.room_bytes + 1;
        let new = self.fitting(first_new..self.entries.len(), &mut room).max(1);
        self.unsent -= new;
        let new = first_new..first_new + new;
        if self.unsent > 0 {
            return Box::new(new);
        }
        let recent = std::mem::replace(&mut self.recent, first_new).min(first_new);
        let recent = recent..recent + self.fitting(recent..first_new, &mut room);
        let along = if self.along < recent.start { self.along } else { 0 };
        let upper = along..along + self.fitting(along..recent.start, &mut room);
        let around = upper.end == recent.start;
        let lower = if around { self.fitting(0..along, &mut room) } else { 0 };
        self.along = if around { lower } else { upper.end };
        Box::new((0..lower).chain(upper).chain(recent).chain(new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }
    fn list(room_bytes: usize) -> ControlList {
        ControlList::new(Timing::default(), room_bytes)
    }
    fn sequences(list: &mut ControlList, now: Instant) -> Vec<u16> {
        list.poll(now).expect("a packet").iter().map(|message| message.sequence).collect()
    }

    #[test]
    fn every_packet_repeats_what_is_unacknowledged_in_order() {
        let mut list = list(1000);
        list.push(1, Kind::Go);
        assert_eq!(sequences(&mut list, at_ms(0)), [1]);
        list.push(2, Kind::Go);
        list.push(3, Kind::Go);
        assert_eq!(sequences(&mut list, at_ms(5)), [1, 2, 3]);
        assert!(!list.wants_to_send());
        list.acknowledge(at_ms(20), 2);
        list.push(4, Kind::Go);
        assert_eq!(sequences(&mut list, at_ms(25)), [3, 4]);
        list.acknowledge(at_ms(40), 4);
        assert!(list.is_empty() && list.timeout().is_none());
    }

    #[test]
    fn the_timer_repeats_the_list_in_as_many_packets_as_it_takes() {
        let mut list = list(24);
        (1..=7).for_each(|buffer| {
            list.push(buffer, Kind::Go);
        });
        assert_eq!(sequences(&mut list, at_ms(0)), [1, 2, 3]);
        assert_eq!(sequences(&mut list, at_ms(0)), [4, 5, 6]);
        // The seventh is new and alone in its packet: two of the oldest go with it.
        assert_eq!(sequences(&mut list, at_ms(0)), [1, 2, 7]);
        assert!(!list.handle_timeout(at_ms(499)));
        assert!(list.handle_timeout(at_ms(500)));
        assert_eq!(sequences(&mut list, at_ms(500)), [1, 2, 3]);
        list.acknowledge(at_ms(501), 2);
        assert_eq!(sequences(&mut list, at_ms(502)), [4, 5, 6]);
        assert_eq!(sequences(&mut list, at_ms(502)), [7]);
        assert!(list.poll(at_ms(502)).is_none());
    }

    /// Any of a hundred messages may have been lost: none waits for the timer.
    #[test]
    fn new_messages_take_along_those_just_before_and_in_turn_all_others() {
        let mut list = list(40);
        let push = |list: &mut ControlList, buffer| _ = list.push(buffer, Kind::Go);
        for buffer in 1..=100 {
            push(&mut list, buffer);
            list.poll(at_ms(0));
        }
        let mut seen = std::collections::BTreeSet::new();
        for buffer in 101..=150 {
            push(&mut list, buffer);
            let sent = sequences(&mut list, at_ms(1));
            assert!(sent.is_sorted() && sent.len() == 5, "{sent:?}");
            assert_eq!(sent[3..], [buffer as u16 - 1, buffer as u16]);
            seen.extend(sent);
        }
        assert!((1..=150).all(|sequence| seen.contains(&sequence)), "{seen:?}");
    }

    #[test]
    fn the_timer_is_a_round_trip_and_its_variation() {
        let mut list = list(1000);
        list.push(1, Kind::Go);
        list.poll(at_ms(0));
        list.acknowledge(at_ms(100), 1);
        // First sample R: R + 4 x R / 2 (RFC 6298 section 2.2).
        assert_eq!(list.timer_value(), Duration::from_ms(300));
    }

    #[test]
    fn what_the_timer_repeated_is_no_sample_but_keeps_its_backoff() {
        let mut list = list(1000);
        list.push(1, Kind::Go);
        list.poll(at_ms(0));
        assert!(list.handle_timeout(at_ms(500)));
        list.poll(at_ms(500));
        assert_eq!(list.timeout(), Some(at_ms(1500)), "doubled");
        list.acknowledge(at_ms(1400), 1);
        assert_eq!(list.round_trip(), Duration::ZERO);
        list.push(2, Kind::Go);
        list.poll(at_ms(2000));
        assert_eq!(list.timeout(), Some(at_ms(3000)), "still doubled: long enough to measure");
        list.acknowledge(at_ms(2900), 2);
        assert_eq!(list.round_trip(), Duration::from_ms(900));
    }

    #[test]
    fn an_acknowledgement_of_what_was_never_sent_is_ignored() {
        let mut list = list(1000);
        list.push(1, Kind::Go);
        list.acknowledge(at_ms(0), 1);
        list.poll(at_ms(0));
        list.acknowledge(at_ms(1), 2);
        list.acknowledge(at_ms(1), 0);
        list.acknowledge(at_ms(1), 40_000);
        assert!(!list.is_empty());
    }

    #[test]
    fn every_ok_says_how_long_the_timer_runs_that_was_set_with_it() {
        let mut list = list(1000);
        let ok = Kind::Ok { burst_size_packets: 1, burst_interval_ms: 1, control_timer_ms: 0 };
        list.push(1, ok);
        let said_ms = |list: &mut ControlList, now| {
            let messages = list.poll(now).expect("a packet");
            let message = messages.iter().next().expect("a message");
            let Kind::Ok { control_timer_ms, .. } = message.kind else { panic!("{message:?}") };
            assert_eq!(list.timeout(), Some(now + Duration::from_ms(control_timer_ms.into())));
            control_timer_ms
        };
        assert_eq!(said_ms(&mut list, at_ms(0)), 500);
        for (now_ms, doubled_ms) in [(500, 1000), (1500, 2000), (3500, 4000), (7500, 8000)] {
            assert!(list.handle_timeout(at_ms(now_ms)));
            assert_eq!(said_ms(&mut list, at_ms(now_ms)), doubled_ms);
        }
        // A round trip beyond the field's 16 bits: then the timer is what fits.
        list.acknowledge(at_ms(7600), 1);
        list.push(2, Kind::Go);
        list.poll(at_ms(8000));
        list.acknowledge(at_ms(108_000), 2);
        let ok = Kind::Ok { burst_size_packets: 1, burst_interval_ms: 1, control_timer_ms: 0 };
        list.push(3, ok);
        assert_eq!(said_ms(&mut list, at_ms(108_000)), u16::MAX);
    }
}
