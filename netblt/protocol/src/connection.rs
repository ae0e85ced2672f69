//! One connection: opening, a transfer one way, and the three ways to close (RFC 998 section 5).

mod packet_size;

use crate::control::RateControl;
use crate::counters::Counters;
use crate::event::{Ending, Event};
use crate::guard::{Guard, Secret};
use crate::identity;
use crate::marks::{MARKS_LEN, Marks};
use crate::receiver::Receiver;
use crate::regulated::Regulated;
use crate::sender::Sender;
use crate::terms::{Burst, Limits, Terms, Timing};
use std::collections::VecDeque;
use units::{Duration, Instant};
use wire::ecn::Codepoint;
use wire::netblt::{DATA_HEADER_LEN, Header, Kind, Mode, NullAck, Open, Packet, Repr, Text};

/// An OPEN or QUIT is repeated after a wait that doubles up to this many times the first.
const LONGEST_WAIT: u64 = 8;
/// Waits for repeated QUITs of a peer that our QUITACK did not reach.
const QUIT_DALLIES: u64 = 4;
/// KEEPALIVEs that fit into the other end's death timer (RFC 998 section 5.2.3). A path that loses a sixth
/// loses four in a row once in 1,300 times, eight once in 1,700,000.
const KEEPALIVES: u64 = 8;
/// Buffers that a receiver permits before it has seen data, and how many more for each that came.
const FIRST_BUFFERS: usize = 64;
const BUFFERS_GROWTH: usize = 7;

/// The reason of an ABORT for somebody else who uses a connection's ports.
const TAKEN: &str = "a connection between these ports is open";

/// What an OPEN says beside the limits.
#[derive(Clone, Copy, Debug)]
pub struct Opening<'a> {
    /// Different from that of earlier connections between the same ports; best drawn at random.
    pub connection_id: u32,
    /// Which way the data goes.
    pub mode: Mode,
    /// For the other client; 0 for unknown.
    pub transfer_size_bytes: u32,
    /// For the other client.
    pub client_string: &'a str,
}

/// Where a connection is in its life.
#[derive(Clone, Debug)]
enum Life {
    /// OPEN was sent, or is about to be.
    Opening { attempts: u32, again: Repeat },
    /// Data goes over it.
    Open,
    /// All is sent and OK; repeated OKs are answered until then.
    Dallying { until: Instant },
    /// QUIT was sent and wants its QUITACK.
    Quitting { again: Repeat },
    /// QUIT was answered; repeated ones are until then.
    QuitDallying { until: Instant },
    /// Over.
    Closed,
}

/// Something repeated at growing waits.
#[derive(Clone, Copy, Debug)]
struct Repeat {
    at: Instant,
    wait: Duration,
}

impl Repeat {
    fn starting(now: Instant, wait: Duration) -> Repeat {
        Repeat { at: now + wait, wait }
    }
    fn next(self, now: Instant, first: Duration) -> Repeat {
        Repeat::starting(now, (self.wait * 2).min(first * LONGEST_WAIT))
    }
}

/// What is done at this end.
#[derive(Clone, Debug)]
enum Role {
    /// Not agreed yet.
    Waiting,
    Sending(Box<Regulated>),
    Receiving(Box<Receiver>),
}

/// Whether a packet ends a connection, or its opening.
pub(crate) fn closes(packet: &Packet<'_>) -> bool {
    matches!(
        packet,
        Packet::Abort(_) | Packet::Quit(_) | Packet::QuitAck | Packet::Done | Packet::Refused(_)
    )
}

/// One-off packets that are to leave.
#[derive(Clone, Debug, Default)]
struct Due {
    open: bool,
    response: bool,
    quit: bool,
    quit_ack: bool,
    keepalive: bool,
    done: bool,
    abort: bool,
    /// ABORT for somebody else who uses these ports.
    stranger: bool,
}

/// A connection seen from one end. See the crate's documentation for its verbs.
#[derive(Clone, Debug)]
pub struct Connection {
    limits: Limits,
    /// What the first OPENs propose in their place, one after another: ever shorter packets.
    tries: Vec<Limits>,
    /// The last OPEN that came was as long as data packets: so is its answer, where this end sends.
    answers_at_length: bool,
    timing: Timing,
    header: Header,
    mode: Mode,
    active: bool,
    connection_id: u32,
    transfer_size_bytes: u32,
    client_string: String,
    peer_string: Vec<u8>,
    life: Life,
    role: Role,
    terms: Option<Terms>,
    reason: String,
    /// Something of the transfer itself has come: the other end has this very connection.
    confirmed: bool,
    /// Something came that only an end sends which has our OPEN or RESPONSE.
    proven: bool,
    due: Due,
    last_heard: Instant,
    last_said: Instant,
    counters: Counters,
    events: VecDeque<Event>,
    /// None at the end that opened, and where the path to the other end is proved or trusted.
    guard: Option<Guard>,
    /// The rate is to be chosen, and how, once the path is proved.
    adapts_when_proven: Option<RateControl>,
    /// How long the only OPEN waited for its answer.
    handshake: Option<Duration>,
    /// The last time that the other end did what moves a transfer on.
    progress_at: Instant,
    opened_at: Instant,
    /// ABORT, QUIT and the like say which connection they mean, at both ends.
    identified: bool,
    /// Data packets that came, and marks on them, where the other end is to be told.
    marks: Option<Marks>,
    /// Of the packet that is handled.
    came_as: Codepoint,
    /// Of the packet that left last.
    left_as: Codepoint,
}

impl Connection {
    /// The active end: sends OPEN.
    pub fn open(
        now: Instant,
        header: Header,
        limits: Limits,
        timing: Timing,
        opening: Opening<'_>,
    ) -> Connection {
        let Opening { connection_id, mode, transfer_size_bytes, client_string } = opening;
        let again = Repeat::starting(now, timing.open_timeout);
        let life = Life::Opening { attempts: 1, again };
        Connection {
            limits: limits.sane(),
            tries: Vec::new(),
            answers_at_length: false,
            timing,
            header,
            mode,
            active: true,
            connection_id,
            transfer_size_bytes,
            client_string: client_string.to_owned(),
            peer_string: Vec::new(),
            life,
            role: Role::Waiting,
            terms: None,
            reason: String::new(),
            confirmed: false,
            proven: false,
            due: Due { open: true, ..Due::default() },
            last_heard: now,
            last_said: now,
            counters: Counters::default(),
            events: VecDeque::new(),
            guard: None,
            adapts_when_proven: None,
            handshake: None,
            progress_at: now,
            opened_at: now,
            identified: false,
            marks: None,
            came_as: Codepoint::NotCapable,
            left_as: Codepoint::NotCapable,
        }
    }

    /// The passive end: answers an OPEN with RESPONSE. `header` is that of this end's packets. An
    /// error is the reason to refuse.
    pub fn accept(
        now: Instant,
        header: Header,
        limits: Limits,
        timing: Timing,
        open: &Open<'_>,
        client_string: &str,
    ) -> Result<Connection, &'static str> {
        let limits = limits.sane();
        let terms = Terms::answering(&limits, open)?;
        let opening = Opening {
            connection_id: open.connection_id,
            mode: open.mode,
            transfer_size_bytes: open.transfer_size_bytes,
            client_string,
        };
        let mut connection = Connection {
            active: false,
            peer_string: open.client_string.as_bytes().to_vec(),
            due: Due { response: true, ..Due::default() },
            ..Connection::open(now, header, limits, timing, opening)
        };
        connection.begin(terms);
        Ok(connection)
    }

    /// The same where nobody has shown yet that the OPEN came from where it says: what leaves is bounded
    /// by what came, until the other end has.
    pub(crate) fn accept_unproven(
        now: Instant,
        header: Header,
        limits: Limits,
        timing: Timing,
        open: &Open<'_>,
        (client_string, secret, number, came_bytes): (&str, Secret, u64, usize),
    ) -> Result<Connection, &'static str> {
        let limits = if open.mode == Mode::Read { limits.provable(open) } else { limits };
        let mut connection = Connection::accept(now, header, limits, timing, open, client_string)?;
        connection.guard = Some(Guard::new(secret, number, came_bytes as u64));
        Ok(connection)
    }

    fn begin(&mut self, terms: Terms) {
        let sends = self.active == (self.mode == Mode::Write);
        self.role = if sends {
            let sender = Sender::new(terms, &self.limits, &self.timing);
            Role::Sending(Box::new(Regulated::new(sender)))
        } else {
            Role::Receiving(Box::new(Receiver::new(terms, &self.timing)))
        };
        self.terms = Some(terms);
        self.life = Life::Open;
        self.events.push_back(Event::Opened);
    }
}

/// Getters.
impl Connection {
    /// What was agreed on, once it was.
    pub fn terms(&self) -> Option<Terms> {
        self.terms
    }
    /// What happened so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }
    /// A packet of so many bytes came.
    pub(crate) fn count_received(&mut self, bytes: usize) {
        self.counters.bytes_received += bytes as u64;
        if let Some(guard) = &mut self.guard {
            guard.received(bytes);
        }
    }
    /// Whether the other end is known to be where it says.
    pub(crate) fn has_proven_path(&self) -> bool {
        self.guard.as_ref().is_none_or(Guard::is_proven)
    }
    /// Whether anything moved since the connection was opened.
    pub(crate) fn has_begun(&self) -> bool {
        self.counters.data_packets_received > 0 || self.progress_at > self.opened_at
    }
    /// How fast it was so far: packets in 1,000 s, each counted once. A second more counts than it has lived: nobody is
    /// fast by a packet at the start.
    pub(crate) fn pace(&self, now: Instant) -> u64 {
        let Counters { data_packets_received, data_packets_sent, data_packets_resent, .. } =
            self.counters;
        let packets = match self.role {
            Role::Sending(_) => data_packets_sent.saturating_sub(data_packets_resent),
            _ => data_packets_received,
        };
        let age_ms = now.since(self.opened_at).as_us() / 1000;
        packets.saturating_mul(1_000_000) / (age_ms + 1000)
    }
    /// Whether nothing more moves.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.life, Life::Closed)
    }
    /// Since when the other end owes what would move the transfer on; None if it owes nothing.
    pub(crate) fn waits_since(&self) -> Option<Instant> {
        let owes = match (&self.life, &self.role) {
            (Life::Open, Role::Sending(sender)) => sender.sender().awaits_word(),
            (Life::Open, Role::Receiving(receiver)) => receiver.awaits_data(),
            (Life::Dallying { .. } | Life::QuitDallying { .. }, _) => true,
            _ => false,
        };
        owes.then_some(self.progress_at)
    }
    /// Tells this connection from others between the same ports.
    pub fn connection_id(&self) -> u32 {
        self.connection_id
    }
    /// Whether this end sent the OPEN.
    pub fn is_active(&self) -> bool {
        self.active
    }
    /// Whether this end was opened and has heard nothing since but OPENs: who sent them may never have
    /// had a RESPONSE.
    pub fn is_half_open(&self) -> bool {
        !self.active && !self.proven && matches!(self.life, Life::Open)
    }
    /// What the other client said in OPEN or RESPONSE.
    pub fn peer_string(&self) -> &[u8] {
        &self.peer_string
    }
    /// What the active end said of the size of the transfer; 0 for unknown.
    pub fn transfer_size_bytes(&self) -> u32 {
        self.transfer_size_bytes
    }
    /// The rate in force, as far as this end knows.
    pub fn burst(&self) -> Option<Burst> {
        match &self.role {
            Role::Waiting => None,
            Role::Sending(sender) => Some(sender.sender().burst()),
            Role::Receiving(receiver) => Some(receiver.burst()),
        }
    }
    /// Buffers that the client may hand over now, to fill the number agreed on.
    pub fn buffers_wanted(&self) -> usize {
        match (&self.life, &self.role) {
            (Life::Open, Role::Sending(sender)) => sender.sender().buffers_wanted(),
            (Life::Open, Role::Receiving(receiver)) => receiver.buffers_wanted(),
            _ => 0,
        }
    }
    /// At the sending end: buffers that the other end has room for and the client has not filled.
    pub fn buffers_permitted(&self) -> usize {
        match &self.role {
            Role::Sending(sender) => sender.sender().buffers_permitted(),
            _ => 0,
        }
    }
    /// At the sending end: buffers with packets that are to leave.
    pub fn buffers_ready(&self) -> usize {
        match &self.role {
            Role::Sending(sender) => sender.sender().buffers_ready(),
            _ => 0,
        }
    }
    /// The same for a receiver that does not know the path: a short one is not covered with
    /// permissions for more than it will hold, and yet eight times as many are out after every round
    /// trip.
    pub fn buffers_needed(&self) -> usize {
        let Some(terms) = self.terms else { return 0 };
        let wanted = self.buffers_wanted();
        let most = usize::from(terms.max_outstanding_buffers);
        let came = (self.counters.data_bytes / u64::from(terms.buffer_size_bytes)) as usize;
        let allowed = most.min(FIRST_BUFFERS + BUFFERS_GROWTH * came);
        wanted.min((allowed + wanted).saturating_sub(most))
    }
    /// Whether [`poll_event`](Connection::poll_event) has something.
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }
    /// Over, with nothing left to say: it can be dropped.
    pub fn is_over(&self) -> bool {
        let Due { abort, done, quit_ack, .. } = self.due;
        matches!(self.life, Life::Closed) && !abort && !done && !quit_ack
    }
}

/// Commands of the client.
impl Connection {
    /// Hands over a buffer to send: of the size agreed on, or any smaller if it is the `last`.
    /// Gives it back if that is not so, if this end does not send, or after the last one.
    pub fn send_buffer(&mut self, data: Vec<u8>, last: bool) -> Result<(), Vec<u8>> {
        match (&self.life, &mut self.role) {
            (Life::Open, Role::Sending(sender)) => sender.supply(data, last),
            _ => Err(data),
        }
    }
    /// Hands over memory to receive a buffer in; any, even none, since it is fitted when data
    /// comes. Dropped if this end does not receive.
    pub fn supply_buffer(&mut self, memory: Vec<u8>) {
        if let (Life::Open, Role::Receiving(receiver)) = (&self.life, &mut self.role) {
            receiver.supply(memory);
        }
    }
    /// The receiving client has something to do before the last buffer counts as safe: the sender is not
    /// told that it is before [`confirm_last_buffer`](Connection::confirm_last_buffer).
    pub fn withhold_last_buffer(&mut self) {
        if let Role::Receiving(receiver) = &mut self.role {
            receiver.withhold_last();
        }
    }
    /// It is done: every buffer is safe.
    pub fn confirm_last_buffer(&mut self, now: Instant) {
        if let Role::Receiving(receiver) = &mut self.role {
            receiver.confirm_last(now);
        }
    }
    /// The receiving client offers another rate, with the next OK. The sender may restrict it.
    pub fn offer_burst(&mut self, burst: Burst) {
        if let Role::Receiving(receiver) = &mut self.role {
            receiver.offer(burst);
        }
    }
    /// Both clients have agreed, apart from OPEN and RESPONSE, to any rate up to this one: the sender may
    /// choose it, the receiver offers it.
    pub fn permit_rate(&mut self, most: Burst) {
        match &mut self.role {
            Role::Sending(sender) => sender.permit(most),
            Role::Receiving(receiver) => receiver.offer(most),
            Role::Waiting => {}
        }
    }
    /// What the client wants the rate to be at most from now on, whatever was agreed on or is offered. At the end
    /// that sends the receiver's next OK raises it again where it may; at the end that receives the next OK
    /// offers no more.
    pub fn bound_rate(&mut self, now: Instant, most: Burst) {
        match &mut self.role {
            Role::Sending(sender) => sender.bound(now, most),
            Role::Receiving(receiver) => receiver.bound(most),
            Role::Waiting => {}
        }
    }
    /// The receiving client knows neither the path nor whether the sender does: with each OK it offers a
    /// rate by what came of the one before, none faster than `most`.
    pub fn steer_offers(&mut self, now: Instant, most: Burst) {
        if let Role::Receiving(receiver) = &mut self.role {
            receiver.steer(now, most);
        }
    }
    /// The sending client does not know the path: the rate is chosen by what comes back, within
    /// what was agreed on and what the receiver offers. At the end that receives: the other does so, and
    /// is told all that may have been lost.
    pub fn adapt_rate(&mut self, now: Instant, rule: RateControl) {
        let proven = self.has_proven_path();
        if let Role::Receiving(receiver) = &mut self.role {
            receiver.trust();
        }
        if let Role::Sending(sender) = &mut self.role {
            // What the guard withholds would be taken for losses.
            match proven {
                true => sender.adapt(now, rule, self.handshake),
                false => self.adapts_when_proven = Some(rule),
            }
        }
    }
    /// Both clients have agreed that a network may mark data packets in place of dropping them: the end that receives
    /// says how many were marked, and the end that sends and finds its rate by losses takes a mark for one, or
    /// answers the share of marks ([`RateControl::L4s`]). It says which packets may be marked
    /// ([`Connection::left_as`]).
    pub fn heed_marks(&mut self) {
        match &mut self.role {
            Role::Sending(sender) => sender.heed_marks(),
            Role::Receiving(_) => _ = self.marks.get_or_insert_default(),
            Role::Waiting => {}
        }
    }
    /// The client wants no more. The other end is told until it confirms or counts as dead.
    pub fn quit(&mut self, now: Instant, reason: &str) {
        match self.life {
            Life::Opening { .. } => self.abort(reason),
            Life::Open => {
                self.reason = reason.to_owned();
                self.due.quit = true;
                self.last_heard = now;
                let again = Repeat::starting(now, self.timing.open_timeout);
                self.life = Life::Quitting { again };
            }
            _ => {}
        }
    }
    /// Breaks off at once; the other end is told, once.
    pub fn abort(&mut self, reason: &str) {
        if !matches!(self.life, Life::Closed) {
            self.reason = reason.to_owned();
            self.due.abort = true;
            self.close(Ending::Aborted { by_peer: false, reason: reason.to_owned() });
        }
    }

    /// Nobody answered the RESPONSE and others need the place.
    pub(crate) fn give_way(&mut self) {
        self.reason = "gave way to others before anything was heard".to_owned();
        self.due.abort = true;
        self.close(Ending::NoAnswer);
    }

    fn close(&mut self, outcome: Ending) {
        // A dallying sender has told its client already.
        if !matches!(self.life, Life::Dallying { .. } | Life::QuitDallying { .. } | Life::Closed) {
            self.events.push_back(Event::Closed(outcome));
        }
        self.life = Life::Closed;
        self.role = Role::Waiting;
    }
}

/// What comes from outside.
impl Connection {
    /// Takes in a packet of this connection's addresses and ports.
    pub fn handle_packet(&mut self, now: Instant, packet: &Packet<'_>) {
        self.handle_named(now, packet, None);
    }
    /// From now on only those packets end this connection that say its identifier.
    pub(crate) fn identify(&mut self) {
        self.identified = true;
    }

    /// Takes in a datagram that was read as `packet`, with what IP's header and the end of the datagram say beside it.
    pub fn handle_datagram(
        &mut self,
        now: Instant,
        packet: &Packet<'_>,
        (datagram, came_as): (&[u8], Codepoint),
    ) {
        self.came_as = came_as;
        let at_length = identity::is_lengthened(datagram);
        match packet {
            Packet::Open(open) if open.connection_id == self.connection_id => {
                self.answers_at_length = at_length;
            }
            Packet::Response(answer) if at_length && self.was_too_long(answer) => {
                return self.counters.packets_received += 1;
            }
            _ => {}
        }
        self.handle_named(now, packet, identity::named(datagram));
        if let (Packet::Control(_), Role::Sending(sender)) = (packet, &mut self.role)
            && let Some(marks) = identity::behind(datagram).and_then(Marks::said)
        {
            sender.hear_marks(now, marks, &mut self.counters);
        }
    }

    /// What comes from now on may have waited in this host for so long before it was read.
    pub(crate) fn note_lateness(&mut self, late: Duration) {
        if let Role::Sending(sender) = &mut self.role {
            sender.note_lateness(late);
        }
    }

    /// Whether ports and address are all that this connection is known by.
    pub(crate) fn is_nameless(&self) -> bool {
        !self.identified
    }
    /// Somebody may be guessing how to end this connection.
    pub(crate) fn note_stray(&mut self) {
        self.counters.stray_closings += 1;
    }

    /// The same for a packet that says which connection it means, or does not.
    pub(crate) fn handle_named(&mut self, now: Instant, packet: &Packet<'_>, id: Option<u32>) {
        self.counters.packets_received += 1;
        if matches!(self.life, Life::Closed) {
            return;
        }
        if self.identified && closes(packet) && id != Some(self.connection_id) {
            return self.note_stray();
        }
        match packet {
            Packet::Open(open) => return self.handle_open(now, open),
            Packet::Response(answer) => return self.handle_response(now, answer),
            Packet::Refused(reason) => return self.handle_refused(reason),
            // Half open: nothing else means anything yet; what matters will be repeated.
            _ if matches!(self.life, Life::Opening { .. })
                && !matches!(packet, Packet::Abort(_)) =>
            {
                self.counters.unexpected_packets += 1;
                return;
            }
            // Meant for somebody whose OPEN or RESPONSE had another identifier, though it came from
            // these ports.
            Packet::Abort(reason) if self.confirmed && reason.as_bytes() == TAKEN.as_bytes() => {
                self.counters.unexpected_packets += 1;
                return;
            }
            _ => self.last_heard = now,
        }
        self.proven = true;
        match packet {
            Packet::Abort(reason) => {
                self.close(Ending::Aborted { by_peer: true, reason: reason.to_string() });
            }
            Packet::Quit(reason) => self.handle_quit(now, reason),
            Packet::QuitAck => self.handle_quit_ack(),
            Packet::KeepAlive => {}
            _ => self.handle_transfer(now, packet),
        }
    }

    fn handle_transfer(&mut self, now: Instant, packet: &Packet<'_>) {
        if let Err(reason) = self.judge(now, packet) {
            return self.abort(reason);
        }
        let before = (self.counters.data_packets_received, self.events.len());
        let (counters, events) = (&mut self.counters, &mut self.events);
        self.confirmed = true;
        if let (Some(marks), Packet::Data(_) | Packet::LastData(_)) = (&mut self.marks, packet) {
            marks.count(self.came_as);
            counters.marked_data_packets += u64::from(self.came_as == Codepoint::Marked);
        }
        let healthy = match (&mut self.role, packet) {
            (Role::Sending(sender), Packet::Control(messages)) => {
                sender.handle_control(now, messages, counters, events)
            }
            (Role::Sending(_), Packet::Done) => {
                if matches!(self.life, Life::Dallying { .. }) {
                    self.life = Life::Closed;
                }
                Ok(())
            }
            (Role::Receiving(receiver), Packet::Data(data)) => {
                receiver.handle_data(now, data, false, counters, events)
            }
            (Role::Receiving(receiver), Packet::LastData(data)) => {
                receiver.handle_data(now, data, true, counters, events)
            }
            (Role::Receiving(receiver), Packet::NullAck(ack)) => {
                let NullAck { high_consecutive, burst_size_packets, burst_interval_ms } = *ack;
                receiver.acknowledge(now, high_consecutive, counters);
                receiver.adopt(Burst {
                    size_packets: burst_size_packets,
                    interval_ms: burst_interval_ms,
                });
                Ok(())
            }
            _ => {
                counters.unexpected_packets += 1;
                Ok(())
            }
        };
        if before != (self.counters.data_packets_received, self.events.len()) {
            self.progress_at = now;
        }
        match healthy {
            Ok(()) => self.close_if_finished(now, matches!(packet, Packet::Control(_))),
            Err(reason) => self.abort(reason),
        }
    }

    /// What a packet tells of the path.
    fn judge(&mut self, now: Instant, packet: &Packet<'_>) -> Result<(), &'static str> {
        let Some(guard) = self.guard.as_mut().filter(|guard| !guard.is_proven()) else {
            return Ok(());
        };
        let (Role::Sending(sender), Packet::Control(messages)) = (&mut self.role, packet) else {
            return Ok(());
        };
        for message in messages.iter().filter(|message| sender.sender().is_new(message.sequence)) {
            match &message.kind {
                Kind::Go => {}
                Kind::Resend(missing) => guard.asked(message.buffer, missing.iter()),
                Kind::Ok { .. } if guard.has_left(message.buffer) => guard.forget(message.buffer),
                Kind::Ok { .. } => return Err("OK for data that never left"),
            }
        }
        // What acknowledges is withheld too.
        sender.acknowledge();
        if guard.is_proven() {
            self.progress_at = now;
            if let Some(rule) = self.adapts_when_proven.take() {
                sender.adapt(now, rule, None);
            }
        }
        Ok(())
    }

    fn close_if_finished(&mut self, now: Instant, control: bool) {
        match (&self.life, &self.role) {
            (Life::Open, Role::Receiving(receiver)) if receiver.is_finished() => {
                self.due.done = true;
                self.close(Ending::Complete);
            }
            (Life::Open, Role::Sending(sender)) if sender.sender().is_finished() => {
                let until = now + sender.sender().dally();
                self.events.push_back(Event::Closed(Ending::Complete));
                self.life = Life::Dallying { until };
            }
            // The receiver still repeats its OK.
            (Life::Dallying { .. }, Role::Sending(sender)) if control => {
                self.life = Life::Dallying { until: now + sender.sender().dally() };
            }
            _ => {}
        }
    }

    /// RFC 998 section 5.1: with this connection's identifier our RESPONSE was lost; with another
    /// it is an attempt at a second connection between the same ports, answered with ABORT.
    fn handle_open(&mut self, now: Instant, open: &Open<'_>) {
        if open.connection_id == self.connection_id && !self.active {
            self.last_heard = now;
            self.due.response = true;
            self.shorten_packets(now, open.data_packet_size_bytes);
        } else {
            self.counters.unexpected_packets += 1;
            self.due.stranger = open.connection_id != self.connection_id;
        }
    }

    fn handle_response(&mut self, now: Instant, answer: &Open<'_>) {
        let mine = answer.connection_id == self.connection_id && self.active;
        let opening = matches!(self.life, Life::Opening { .. });
        if matches!(self.life, Life::Opening { attempts: 1, .. }) {
            self.handshake = Some(now.since(self.opened_at));
        }
        if !mine || !opening {
            self.counters.unexpected_packets += u64::from(!mine);
            // While opening, it is late and was meant for an earlier attempt.
            self.due.stranger = !opening && answer.connection_id != self.connection_id;
            return;
        }
        self.last_heard = now;
        self.due.open = false;
        // The mode is the active end's to say: RESPONSE need not repeat it.
        // Whoever answers what the first OPEN proposed has got it, however late the answer is.
        let limits = self.tries.first().copied().unwrap_or(self.limits);
        match Terms::answered(&limits, answer) {
            Ok(terms) => {
                self.limits = limits;
                self.peer_string = answer.client_string.as_bytes().to_vec();
                self.begin(terms);
            }
            Err(reason) => self.abort(reason),
        }
    }

    fn handle_refused(&mut self, reason: &Text<'_>) {
        if matches!(self.life, Life::Opening { .. }) {
            self.close(Ending::Refused(reason.to_string()));
        } else {
            self.counters.unexpected_packets += 1;
        }
    }

    fn handle_quit(&mut self, now: Instant, reason: &Text<'_>) {
        self.due.quit_ack = true;
        let until = now + self.timing.open_timeout * QUIT_DALLIES;
        match self.life {
            Life::Open => {
                self.close(Ending::Quit { by_peer: true, reason: reason.to_string() });
                self.life = Life::QuitDallying { until };
            }
            Life::Dallying { .. } => self.life = Life::QuitDallying { until },
            _ => {}
        }
    }

    fn handle_quit_ack(&mut self) {
        if matches!(self.life, Life::Quitting { .. }) {
            self.close(Ending::Quit { by_peer: false, reason: self.reason.clone() });
        }
    }

    /// Time has come to `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.death().is_some_and(|at| at <= now) {
            return self.handle_death();
        }
        match &mut self.life {
            Life::Opening { attempts, again } if again.at <= now => {
                if *attempts >= self.timing.open_attempts {
                    return self.close(Ending::NoAnswer);
                }
                *attempts += 1;
                *again = again.next(now, self.timing.open_timeout);
                self.due.open = true;
            }
            Life::Quitting { again } if again.at <= now => {
                *again = again.next(now, self.timing.open_timeout);
                self.due.quit = true;
            }
            Life::Dallying { until } | Life::QuitDallying { until } if *until <= now => {
                self.life = Life::Closed;
                self.role = Role::Waiting;
            }
            Life::Open => match &mut self.role {
                Role::Receiving(receiver) => receiver.handle_timeout(now, &mut self.counters),
                Role::Sending(sender) => sender.handle_timeout(now),
                Role::Waiting => {}
            },
            _ => {}
        }
        self.due.keepalive |= self.keepalive().is_some_and(|at| at <= now);
    }

    fn handle_death(&mut self) {
        let outcome = match (&self.life, &self.role) {
            (Life::Quitting { .. }, _) => {
                Ending::Quit { by_peer: false, reason: self.reason.clone() }
            }
            // All data is here; only the sender's word that it knows is missing (our choice).
            (_, Role::Receiving(receiver)) if receiver.has_everything() => {
                Ending::CompleteUnconfirmed
            }
            _ => Ending::PeerDead,
        };
        self.close(outcome);
    }
}

/// What wants out.
impl Connection {
    /// The next event for the client.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When to come back at the latest: with [`handle_timeout`](Connection::handle_timeout), then
    /// polling for packets. A time that has passed means now. None once all is over.
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.wants_to_send() {
            return Some(Instant::ZERO);
        }
        let life = match &self.life {
            Life::Opening { again, .. } | Life::Quitting { again } => Some(again.at),
            Life::Dallying { until } | Life::QuitDallying { until } => Some(*until),
            Life::Open | Life::Closed => None,
        };
        let role = match (&self.life, &self.role) {
            (Life::Open | Life::Dallying { .. }, Role::Sending(sender)) => sender.due(),
            (Life::Open, Role::Receiving(receiver)) => receiver.timeout(),
            _ => None,
        };
        [life, role, self.death(), self.keepalive()].into_iter().flatten().min()
    }

    fn wants_to_send(&self) -> bool {
        let Due { open, response, quit, quit_ack, keepalive, done, abort, stranger } = self.due;
        let receiver_wants = match (&self.life, &self.role) {
            (Life::Open, Role::Receiving(receiver)) => receiver.wants_to_send(),
            _ => false,
        };
        let closing = abort || done || quit_ack || quit || stranger;
        closing || open || response || keepalive || receiver_wants
    }

    /// When the other end counts as dead: long before, it should have sent KEEPALIVE.
    fn death(&self) -> Option<Instant> {
        let runs = matches!(self.life, Life::Open | Life::Quitting { .. });
        let wait = Duration::from_secs(self.limits.death_timer_s.into());
        (runs && wait > Duration::ZERO).then(|| self.last_heard + wait)
    }

    /// When the other end should hear that this one lives.
    fn keepalive(&self) -> Option<Instant> {
        let announced = self.terms?.peer_death_timer_s;
        let every = Duration::from_ps(Duration::from_secs(announced.into()).as_ps() / KEEPALIVES);
        let runs = matches!(self.life, Life::Open) && announced > 0;
        runs.then(|| self.last_said + every)
    }

    /// Writes the next packet that may leave now to the end of `out`; false if there is none.
    /// Data is copied here, once, from the client's buffer.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> bool {
        let (header, before) = (self.header, out.len());
        // What the guard holds back is as if lost: its timers repeat it.
        loop {
            self.bound_control();
            let Some(packet) = self.next_packet(now) else { return false };
            let data = match &packet {
                Packet::Data(data) | Packet::LastData(data) => Some(*data),
                _ => None,
            };
            let data = data.map(|data| ((data.buffer, data.packet), data.last_buffer));
            let (names, controls) = (closes(&packet), matches!(packet, Packet::Control(_)));
            let (opens, answers) =
                (matches!(packet, Packet::Open(_)), matches!(packet, Packet::Response(_)));
            Repr { header, packet }.emit(out);
            if let Some(data_bytes) = self.data_to_equal(opens, answers) {
                let whole = DATA_HEADER_LEN + usize::from(data_bytes);
                let padded = whole.next_multiple_of(identity::PADDED_TO);
                out.resize((before + padded).max(out.len()), 0);
            }
            if names && self.identified {
                identity::name(self.connection_id, out);
            }
            if let Some(marks) = self.marks.filter(|marks| controls && marks.marked > 0) {
                marks.say(out);
            }
            self.left_as = self.codepoint(data.is_some());
            if self.lets(out.len() - before, data) {
                break;
            }
            out.truncate(before);
        }
        self.counters.packets_sent += 1;
        self.counters.bytes_sent += (out.len() - before) as u64;
        self.last_said = now;
        self.due.keepalive = false;
        true
    }

    /// What IP's header is to say of the packet that left last.
    pub fn left_as(&self) -> Codepoint {
        self.left_as
    }
    fn codepoint(&self, is_data: bool) -> Codepoint {
        match &self.role {
            Role::Sending(sender) if is_data => sender.codepoint(),
            _ => Codepoint::NotCapable,
        }
    }

    /// Whether the guard lets a packet pass; `data` says of which buffer, its number
    /// there, and whether that is the last.
    fn lets(&mut self, bytes: usize, data: Option<((u32, u16), bool)>) -> bool {
        let Some(guard) = &mut self.guard else { return true };
        let (Some((place, last)), Role::Sending(sender)) = (data, &self.role) else {
            return guard.lets(bytes);
        };
        let packets = sender.sender().packets_of(place.0);
        let passes = guard.lets_data(bytes, place, packets, last);
        if !passes {
            self.counters.data_packets_sent -= 1;
        }
        passes
    }
    /// Control messages are no more at once than half of what may leave: something is left to repeat
    /// them.
    fn bound_control(&mut self) {
        if let (Some(guard), Role::Receiving(receiver)) = (&self.guard, &mut self.role) {
            let marks = self.marks.map_or(0, |_| MARKS_LEN as u64);
            receiver.bound_control((guard.room() / 2).saturating_sub(marks));
        }
    }

    fn next_packet(&mut self, now: Instant) -> Option<Packet<'_>> {
        let due = &mut self.due;
        if std::mem::take(&mut due.abort) {
            return Some(Packet::Abort(self.reason.as_str().into()));
        }
        if std::mem::take(&mut due.quit_ack) {
            return Some(Packet::QuitAck);
        }
        if std::mem::take(&mut due.done) {
            return Some(Packet::Done);
        }
        if matches!(self.life, Life::Closed) {
            self.due = Due::default();
            return None;
        }
        if std::mem::take(&mut due.open) {
            let values = self.tried().unwrap_or(self.limits);
            return Some(Packet::Open(self.introduction(values)));
        }
        if std::mem::take(&mut due.response) {
            let Terms {
                buffer_size_bytes,
                data_packet_size_bytes,
                burst,
                max_outstanding_buffers,
                checksum_data,
                ..
            } = self.terms?;
            return Some(Packet::Response(self.introduction(Limits {
                buffer_size_bytes,
                data_packet_size_bytes,
                burst,
                max_outstanding_buffers,
                checksum_data,
                ..self.limits
            })));
        }
        if std::mem::take(&mut due.stranger) {
            return Some(Packet::Abort(TAKEN.into()));
        }
        if std::mem::take(&mut due.quit) {
            return Some(Packet::Quit(self.reason.as_str().into()));
        }
        let keepalive = std::mem::take(&mut due.keepalive);
        let packet = match (&self.life, &mut self.role) {
            (Life::Open | Life::Dallying { .. }, Role::Sending(sender)) => {
                sender.poll(now, &mut self.counters)
            }
            (Life::Open, Role::Receiving(receiver)) => receiver.poll(now, &mut self.counters),
            _ => None,
        };
        packet.or(keepalive.then_some(Packet::KeepAlive))
    }

    fn introduction(&self, values: Limits) -> Open<'_> {
        let string = self.client_string.as_str().into();
        values.proposal(self.connection_id, self.mode, self.transfer_size_bytes, string)
    }
}
