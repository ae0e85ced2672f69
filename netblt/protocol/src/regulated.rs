//! A sender whose rate is the one agreed on, or one that a [`Control`] chooses below it: it watches
//! what the sender sends and hears.

use crate::control::{Arrival, Control, RateControl};
use crate::counters::Counters;
use crate::event::Event;
use crate::gaps::{Gaps, OVERTAKEN_BY};
use crate::marks::{Heeded, Marks};
use crate::sender::Sender;
use crate::sequence::ahead;
use crate::terms::Burst;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use units::{Duration, Instant};
use wire::ecn::Codepoint;
use wire::netblt::{Data, Kind, Messages, Packet};

/// The receiver is told the rate so often at least, since its data timers rest on it.
const ANNOUNCED_EVERY: Duration = Duration::from_ms(100);

/// A sender under control.
#[derive(Clone, Debug)]
pub struct Regulated {
    sender: Sender,
    adaptive: Option<Box<Adaptive>>,
}

/// What a control is told of.
#[derive(Clone, Debug)]
struct Adaptive {
    rule: RateControl,
    control: Control,
    /// Buffers that are whole on their way, by number.
    flights: BTreeMap<u32, Flight>,
    /// The buffer that was begun last, and the packets that had left before.
    newest_begun: Option<(u32, u64)>,
    newest_told: Option<u16>,
    gaps: Gaps,
    announced: Instant,
    /// So long what is heard now may have waited in this host.
    late: Duration,
    /// Marks of the network, where both clients have agreed on them.
    marks: Option<Heeded>,
    /// Of all packets that left, those up to this number are known to have arrived, or to be lost.
    arrived: u64,
}

/// A buffer, all of which left.
#[derive(Clone, Debug)]
struct Flight {
    left: Instant,
    /// The rate then, in packets a second.
    left_pps: f64,
    /// Its packets among all that left.
    packets: Range<u64>,
    /// The receiver asked for some of it.
    again: bool,
    /// It is known that some of it was lost, as it left last.
    missed: bool,
}

impl Regulated {
    pub fn new(sender: Sender) -> Self {
        Regulated { sender, adaptive: None }
    }
    /// From now on the rate is chosen; OPEN was answered after `handshake`, as far as that is known.
    pub fn adapt(&mut self, now: Instant, rule: RateControl, handshake: Option<Duration>) {
        let control = Control::new(rule, now, self.sender.buffer_packets(), handshake);
        self.adaptive = Some(Box::new(Adaptive {
            rule,
            control,
            flights: BTreeMap::new(),
            newest_begun: None,
            newest_told: None,
            gaps: Gaps::default(),
            announced: now,
            late: Duration::ZERO,
            marks: None,
            arrived: 0,
        }));
        self.follow(now, true);
    }
    /// Before any packet left: they have so many bytes of data.
    pub fn cut_packets(&mut self, now: Instant, bytes: u16) {
        self.sender.cut_packets(bytes);
        if let Some(Adaptive { rule, marks, .. }) = self.adaptive.as_deref() {
            let (rule, marks) = (*rule, *marks);
            self.adapt(now, rule, None);
            self.adaptive.iter_mut().for_each(|adaptive| adaptive.marks = marks);
        }
    }
    pub fn sender(&self) -> &Sender {
        &self.sender
    }
    /// Both ends agree to any rate up to this one.
    pub fn permit(&mut self, most: Burst) {
        self.sender.raise_limit(most);
    }
    /// This end's client wants no rate above this one.
    pub fn bound(&mut self, now: Instant, most: Burst) {
        self.sender.bound(now, most);
        self.follow(now, true);
    }
    /// Says what control messages came.
    pub fn acknowledge(&mut self) {
        self.sender.acknowledge();
    }
    pub fn supply(&mut self, data: Vec<u8>, last: bool) -> Result<(), Vec<u8>> {
        self.sender.supply(data, last)
    }

    pub fn handle_control(
        &mut self,
        now: Instant,
        messages: &Messages<'_>,
        counters: &mut Counters,
        events: &mut VecDeque<Event>,
    ) -> Result<(), &'static str> {
        if let Some(adaptive) = &mut self.adaptive {
            adaptive.hear(now, messages, &self.sender);
            counters.round_trip = adaptive.control.round_trip().unwrap_or(Duration::ZERO);
        }
        self.sender.handle_control(now, messages, counters, events)?;
        if let Some(adaptive) = &mut self.adaptive {
            adaptive.find_gaps(now, self.sender.high_consecutive());
        }
        self.follow(now, false);
        Ok(())
    }
    /// Marks are taken for losses from now on. Who finds no rate, or finds it by delay, has no use for them.
    pub fn heed_marks(&mut self) {
        if let Some(adaptive) = &mut self.adaptive
            && matches!(adaptive.control, Control::Compete(_))
        {
            adaptive.marks = Some(Heeded::default());
        }
    }
    /// Whether data packets may be marked, and in which way.
    pub fn codepoint(&self) -> Codepoint {
        let Some(adaptive) = &self.adaptive else { return Codepoint::NotCapable };
        match (&adaptive.control, adaptive.marks.is_some_and(|marks| marks.is_on())) {
            (_, false) => Codepoint::NotCapable,
            (Control::Compete(control), true) if control.is_scalable() => Codepoint::Scalable,
            (_, true) => Codepoint::Capable,
        }
    }
    /// The receiver says how many were.
    pub fn hear_marks(&mut self, now: Instant, said: Marks, counters: &mut Counters) {
        let Some(adaptive) = &mut self.adaptive else { return };
        let (Control::Compete(control), Some(marks)) = (&mut adaptive.control, &mut adaptive.marks)
        else {
            return;
        };
        let before = marks.told();
        marks.hear(said);
        let since = marks.told().since(before);
        if marks.is_on() {
            control.marked((since.packets, since.marked), adaptive.arrived);
        }
        counters.marked_data_packets += u64::from(since.marked);
        self.follow(now, false);
    }
    /// What is handled from now on may have waited in this host for so long before it was read.
    pub fn note_lateness(&mut self, late: Duration) {
        if let Some(adaptive) = &mut self.adaptive {
            adaptive.late = late;
        }
    }
    /// Everything that came before `heard_until` has been handled.
    pub fn handle_timeout(&mut self, heard_until: Instant) {
        if let Some(adaptive) = &mut self.adaptive {
            adaptive.control.handle_timeout(heard_until);
            if let (Control::Compete(control), Some(marks)) =
                (&adaptive.control, &mut adaptive.marks)
                && control.is_silent()
                && adaptive.arrived == 0
            {
                marks.give_up();
            }
        }
    }

    /// Sets the sender's pace to what the control wants.
    fn follow(&mut self, now: Instant, announce: bool) {
        let Some(adaptive) = &mut self.adaptive else { return };
        let pace = adaptive.control.pace(self.sender.limit());
        self.sender.set_pace(now, pace);
        if adaptive.control.is_quiet() {
            return;
        }
        let (told, burst) = (self.sender.burst(), self.sender.named());
        let changed = !alike(told, burst);
        if announce || changed || now.since(adaptive.announced) >= ANNOUNCED_EVERY {
            adaptive.announced = now;
            self.sender.announce();
        }
    }

    pub fn due(&self) -> Option<Instant> {
        let tick = self.adaptive.as_ref().filter(|_| self.sender.has_packets());
        let tick = tick.and_then(|adaptive| adaptive.control.timeout());
        [self.sender.due(), tick].into_iter().flatten().min()
    }

    pub fn poll(&mut self, now: Instant, counters: &mut Counters) -> Option<Packet<'_>> {
        if let Some(adaptive) = &mut self.adaptive {
            adaptive.control.tick(now);
            let pace = adaptive.control.pace(self.sender.limit());
            self.sender.set_pace(now, pace);
            if !self.sender.has_packets() {
                adaptive.control.idle(now);
            }
        }
        let again = counters.data_packets_resent;
        let packet = self.sender.poll(now, counters)?;
        if let Some(adaptive) = &mut self.adaptive {
            match &packet {
                Packet::Data(data) => adaptive.send(now, data, false),
                Packet::LastData(data) => {
                    adaptive.send(now, data, again == counters.data_packets_resent);
                }
                _ => {}
            }
        }
        Some(packet)
    }
}

/// In the order of buffer numbers, which may wrap.
fn ahead_of(a: u32, b: u32) -> bool {
    a != b && a.wrapping_sub(b) < 1 << 31
}

/// Within a fifth of each other.
fn alike(a: Burst, b: Burst) -> bool {
    (a.packets_per_ms() / b.packets_per_ms() - 1.0).abs() < 0.2
}

impl Adaptive {
    /// A data packet leaves; `completes` if with it all of its buffer has left.
    fn send(&mut self, now: Instant, data: &Data<'_>, completes: bool) {
        let before = self.control.sent();
        self.control.departed(now);
        if self.newest_begun.is_none_or(|(newest, _)| ahead_of(data.buffer, newest)) {
            self.newest_begun = Some((data.buffer, before));
        }
        let left_pps = self.control.pps();
        if let (true, Some((_, begun))) = (completes, self.newest_begun) {
            let packets = begun..before + 1;
            let flight = Flight { left: now, left_pps, packets, again: false, missed: false };
            self.flights.insert(data.buffer, flight);
        } else if let (Control::Compete(_), Some(flight)) =
            (&self.control, self.flights.get_mut(&data.buffer))
        {
            (flight.left, flight.packets, flight.missed) = (now, before..before + 1, false);
        }
    }

    /// Control messages come; those that came before say nothing.
    fn hear(&mut self, now: Instant, messages: &Messages<'_>, sender: &Sender) {
        let mut newest = None;
        for message in messages.iter().filter(|message| sender.is_new(message.sequence)) {
            match &message.kind {
                Kind::Go => {}
                Kind::Resend(missing) => {
                    self.asked(now, message.buffer, missing.count() as u64);
                    if self.is_timely(message.sequence) {
                        newest = None;
                    }
                }
                Kind::Ok { .. } => {
                    self.control.completed(now);
                    let flight = self.flights.remove(&message.buffer);
                    let end = flight.as_ref().map_or(0, |flight| flight.packets.end);
                    self.arrived = self.arrived.max(end);
                    if let Some(flight) = flight.as_ref().filter(|flight| !flight.again) {
                        self.gaps.arrived(message.sequence, flight.packets.end);
                    }
                    if self.is_timely(message.sequence) {
                        newest = flight;
                    }
                }
            }
        }
        if let Some(flight) = newest.filter(|flight| !flight.again) {
            let (left, packets, late) = (flight.left, flight.packets, self.late);
            self.control.arrived(now, Arrival { left, packets, late });
        }
    }

    /// The receiver asks for packets. What has had no time to come and be asked for is not lost: the
    /// receiver is impatient. Nor is what never left.
    fn asked(&mut self, now: Instant, buffer: u32, missing: u64) {
        let flight = self.flights.get_mut(&buffer);
        match &mut self.control {
            Control::Scavenge(control) => {
                let round_trip = control.round_trip().unwrap_or(Duration::ZERO);
                if let Some(flight) = flight.filter(|flight| flight.left + round_trip <= now) {
                    flight.again = true;
                    control.lost(missing, flight.left_pps);
                }
            }
            Control::Compete(control) => {
                let Some(flight) = flight else { return };
                flight.again = true;
                if flight.left + control.word() + self.late <= now || flight.missed {
                    control.asked(missing);
                    if !std::mem::replace(&mut flight.missed, true) {
                        control.lost(flight.packets.start);
                    }
                }
            }
        }
    }

    /// All messages up to `high_consecutive` have come: what was overtaken by what they say is lost.
    fn find_gaps(&mut self, now: Instant, high_consecutive: u16) {
        let Control::Compete(control) = &mut self.control else { return };
        let Some(arrived) = self.gaps.advance(high_consecutive) else { return };
        // They left in the order of their numbers, which wrap.
        let wait = control.overtaking();
        let overtaken = |flight: &Flight| {
            flight.packets.end + OVERTAKEN_BY <= arrived && flight.left + wait <= now
        };
        let silent = |flight: &Flight| !flight.missed && !flight.again;
        for flight in self.flights.values_mut().filter(|flight| silent(flight)) {
            if !overtaken(flight) {
                break;
            }
            flight.missed = true;
            control.lost(flight.packets.start);
        }
    }

    /// Whether a message is newer than all others that were seen but GOs. Older ones were repeated:
    /// what they came with first was lost, and they come late.
    fn is_timely(&mut self, sequence: u16) -> bool {
        let timely = self.newest_told.is_none_or(|newest| ahead(sequence, newest) < 1 << 15);
        if timely {
            self.newest_told = Some(sequence);
        }
        timely
    }
}
