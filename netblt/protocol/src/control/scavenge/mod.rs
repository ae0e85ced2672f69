//! A rate that fits the path, found from end to end: RFC 1030 section 8 left it open ("NETBLT
//! processes will use end-to-end information in order to make transmission rate decisions").
//!
//! It works at the sender, which may always restrict the rate further than the receiver offers
//! (RFC 998 section 4), and it needs nothing of the receiver but the OKs and RESENDs that every
//! receiver sends. Whoever has another receiver, or a fixed rate at the other end, loses nothing.
//!
//! * **Start**: a short train of packets back to back. How far apart its buffers arrive tells what
//!   the bottleneck can do; the rate goes there in large steps, a round trip each.
//! * **Steering**: once a queue stands, what arrives arrives at the rate at which the path serves
//!   this transfer. The rate is set to it, a little more or less, so that what is under way is what
//!   the path holds plus a short queue. Packets under way are counted in, so that a long round trip
//!   does not make it swing.
//! * **Sharing**: the queue aimed at is the shorter the faster the transfer is. Transfers that see
//!   the same queue therefore come to the same rate.
//! * **Growth**: when no queue stands for a whole round trip, the rate grows, faster each time.
//! * **Emptying**: now and then the queue is let run empty, to see the path without it. Transfers
//!   that share a queue see it empty at the same time and so come to do it together.
//! * **Loss** as such means nothing; a loss that is well above what it was before means that a
//!   queue overflowed, and lowers the queue aimed at.

mod base;
mod feedback;
mod held;
mod loss;
mod sharing;

use crate::Burst;
use crate::pacer::Pace;
use base::Base;
use feedback::{Feedback, LEAST, Sample, Service};
use held::Held;
use loss::Losses;
use sharing::{LONGEST_BASE_S, Sharing, Sight};
use std::ops::Range;
use units::{Duration, Instant};

/// Packets of the first train: little for any path,
const TRAIN_PACKETS: u32 = 32;
/// but so many buffers at least.
const TRAIN_BUFFERS: u32 = 3;
/// If nothing comes back, the train is sent again, then after twice the time, and so on.
const TRAIN_AGAIN: Duration = Duration::from_secs(1);
/// or, as short as buffers allow, sooner if the receiver was heard at all.
const TRAIN_AGAIN_ALIVE: Duration = Duration::from_ms(250);
/// Long buffers seldom arrive whole where packets are lost: so many trains leave as soon as that.
const LONG_TRAINS: u32 = 8;
/// Of the rate at which the first train arrived, the first aim.
const OF_TRAIN: f64 = 0.98;
/// The first rate after that is this share of it,
const FIRST_SHARE: f64 = 0.125;
/// and as long as no queue is seen, it grows so much in a round trip.
const START_GROWTH: f64 = 2.83;
/// Without a queue for a round trip the rate grows by so much, then twice that, and so on; by less
/// where that fills a longer queue before it can be seen.
const GROWTH: f64 = 0.25;
const GROWTH_S: f64 = 0.025;
/// Buffers until it is seen, if they take longer than the path.
const SEEN_BUFFERS: f64 = 4.0;
const GROWTH_RISES: f64 = 2.0;
const MOST_GROWTH: f64 = 1.0;
/// A queue that is longer by this share of the one aimed at than in the round before will be there
/// without it.
const RISES: f64 = 0.1;
/// The rate for which a queue of `LEAST_QUEUE_S` is aimed at; for half of it `QUEUE_STEP_S` more.
const FASTEST_PPS: f64 = 1e6;
const LEAST_QUEUE_S: f64 = 0.001;
const QUEUE_STEP_S: f64 = 0.00065;
const MOST_QUEUE_S: f64 = 0.010;
/// Shortest time in which a wrong queue is put right, and in which rates are measured.
const LEAST_CORRECTION_S: f64 = 0.020;
/// Range of the rate, as shares of the measured service, while steering.
const STEERED: std::ops::RangeInclusive<f64> = 0.2..=1.05;
/// Rounds without growth after that.
const EMPTIED_ROUNDS: u32 = 2;
/// What is under way is known to so many packets.
const GRAIN_PACKETS: f64 = 2.0;
/// Of the rate at which packets left, what their arrival can show: more is for growth to find.
const BELIEVED_RISE: f64 = 1.1;
/// Changes of the measured service below this share are mostly chance, and count so much.
const CHANCE: f64 = 0.2;
const CHANCE_WEIGHT: f64 = 0.2;
/// Buffers that should have arrived whole before their absence means something.
const SILENT_BUFFERS: f64 = 8.0;
const SILENT_S: f64 = 0.2;
/// Rate while a queue is let run empty, as a share.
const EMPTYING: f64 = 0.05;
/// With such a share of losses the rate is too high, whatever the queue looks like.
const FLOODED: f64 = 0.2;
/// A queue is too long from so many times the one aimed at, and a little, for so many rounds.
const LONG: f64 = 1.5;
const LONG_S: f64 = 0.001;
const LONG_ROUNDS: u32 = 3;
/// The bottleneck is left without work for so long, and for so many packets, to be sure.
const EMPTY_S: f64 = 0.0005;
const EMPTY_PACKETS: f64 = 2.0;
/// A transfer with a smaller share than that is not alone: it is quiet for as long as the queue takes
/// to drain by its share, and some more.
const SOLE_SHARE: f64 = 0.8;
const SHARED_EMPTYING: f64 = 1.5;
const SHARED_EMPTYING_S: f64 = 0.006;
const MOST_EMPTYING_S: f64 = 0.3;
/// Shorter round trips than that give no right to more packets.
const LEAST_ROUND_S: f64 = 0.025;
/// The slowest rate and the fastest. A packet in a second floods no path, and with fewer nothing would
/// be heard of it that could set the rate right.
const MOST_PPS: f64 = 6.5e7;
const SLOWEST_PPS: f64 = 1.0;
/// Who shares a path with several steps back from a queue that is so much longer than the one that
/// those with more of it aim at.
const SHARED_QUEUE_S: f64 = 0.001;
/// What left so many times faster than it came was drawn apart by the bottleneck.
const TRAIN_SHRINKS: f64 = 4.0;
/// Where packets are held up, a queue is the shortest of so many samples at least, and what is served is measured over
/// so many times the longest delay of that kind.
const HELD_SAMPLES: usize = 6;
const HELD_SPANS: f64 = 10.0;
/// Where the first train was mostly lost, what the path can do is taken for so many times the first
/// rate that came through.
const UNKNOWN: f64 = 16.0;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// The first train is under way and nothing has come back.
    Waiting,
    /// Growing towards what the train showed.
    Starting,
    Steady,
}

/// From a packet's departure to its buffer's OK.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// Over when packet number `until` is OK.
    until: u64,
    began_s: f64,
    first: u64,
    /// A queue stood.
    queued: bool,
    most_queue_s: f64,
    least_queue_s: f64,
    /// Least queue of the round before.
    former_queue_s: f64,
    /// The client had nothing to send.
    idle: bool,
}

/// The rate of one sender. Pure: time is an argument.
#[derive(Clone, Debug)]
pub struct Scavenge {
    origin: Instant,
    phase: Phase,
    pace_pps: f64,
    /// What the path serves, when it was last measured.
    service_pps: Option<f64>,
    ceiling_pps: Option<f64>,
    /// The next growth; none while a queue was seen last.
    growth: Option<f64>,
    buffer_packets: u32,
    /// Data packets that left.
    sent: u64,
    feedback: Feedback,
    base: Base,
    held: Held,
    losses: Losses,
    round: Round,
    /// Rounds in which the queue was too long all the time.
    long_rounds: u32,
    emptying_until: Option<Instant>,
    /// Rounds to come in which the queue may still be empty from that.
    emptied_rounds: u32,
    /// When a buffer arrived whole the last time.
    heard_s: f64,
    /// Packets of buffers that were completed since, at whatever attempt.
    completed: u64,
    sharing: Sharing,
    /// The first train alone filled the path.
    filled: bool,
    /// The ceiling is a guess.
    guessed: bool,
    /// Trains that left, and when the next one will have.
    trains: u32,
    train_ends: u64,
}

impl Scavenge {
    /// Nothing is known of the path; buffers have so many packets.
    pub fn new(now: Instant, buffer_packets: u32) -> Scavenge {
        let train = TRAIN_PACKETS.max(TRAIN_BUFFERS * buffer_packets);
        Scavenge {
            origin: now,
            phase: Phase::Waiting,
            pace_pps: f64::from(train) / TRAIN_AGAIN.as_secs_f64(),
            service_pps: None,
            ceiling_pps: None,
            growth: None,
            buffer_packets,
            sent: 0,
            feedback: Feedback::default(),
            base: Base::default(),
            held: Held::default(),
            losses: Losses::default(),
            round: Round {
                until: train.into(),
                began_s: 0.0,
                first: 0,
                queued: false,
                most_queue_s: 0.0,
                least_queue_s: f64::INFINITY,
                former_queue_s: 0.0,
                idle: false,
            },
            long_rounds: 0,
            emptying_until: None,
            emptied_rounds: 0,
            heard_s: 0.0,
            completed: 0,
            sharing: Sharing::default(),
            filled: false,
            guessed: true,
            trains: 0,
            train_ends: train.into(),
        }
    }

    fn seconds(&self, at: Instant) -> f64 {
        at.since(self.origin).as_secs_f64()
    }

    /// Bursts of the rate chosen, none faster than `limit`: as many packets as leave in a
    /// millisecond, or one.
    pub fn pace(&self, limit: Burst) -> Pace {
        if self.phase == Phase::Waiting {
            let trains = self.trains.saturating_sub(1).min(5);
            let packets = if self.trains == 0 { self.train() } else { 2 * self.buffer_packets };
            let interval = match self.losses.any() {
                true => TRAIN_AGAIN_ALIVE,
                false if self.is_long() && self.trains < LONG_TRAINS => TRAIN_AGAIN_ALIVE,
                false => TRAIN_AGAIN * (1 << trains),
            };
            let size_packets = packets.min(limit.size_packets.into()) as u16;
            return Pace { size_packets, interval: interval.max(limit.interval()) };
        }
        if self.phase == Phase::Starting && self.guessed && (self.is_long() || self.is_far()) {
            let size = (2 * self.buffer_packets).min(limit.size_packets.into());
            let interval = Duration::from_secs_f64(f64::from(size) / self.pace_pps);
            return Pace { size_packets: size as u16, interval: interval.max(limit.interval()) };
        }
        let emptying = self.emptying_until.map_or(1.0, |_| EMPTYING);
        let least_s = limit.interval().as_secs_f64().max(0.001);
        let pps = (self.pace_pps * emptying).min(f64::from(limit.size_packets) / least_s);
        let size = (pps * least_s).floor().clamp(1.0, f64::from(limit.size_packets));
        Pace { size_packets: size as u16, interval: Duration::from_secs_f64(size / pps) }
    }

    /// How long no buffer may arrive whole before the rate is too high: so long as it takes, by what
    /// the path loses itself, until some must have.
    fn silent_s(&self) -> f64 {
        let whole = (1.0 - self.losses.own()).powi(self.buffer_packets as i32);
        let buffer_s = f64::from(self.buffer_packets) / self.pace_pps;
        3.0 * self.base_s() + SILENT_S + SILENT_BUFFERS * buffer_s / whole.max(1e-3)
    }
    /// Buffers are so long that a path which loses packets lets few arrive whole.
    fn is_long(&self) -> bool {
        self.buffer_packets > TRAIN_PACKETS / TRAIN_BUFFERS
    }
    /// The round trip is so long that what is heard of a mistake at the start comes much too late.
    fn is_far(&self) -> bool {
        self.base_s() > LONGEST_BASE_S
    }
    fn train(&self) -> u32 {
        TRAIN_PACKETS.max(TRAIN_BUFFERS * self.buffer_packets)
    }
    /// Data packets that left so far.
    pub fn sent(&self) -> u64 {
        self.sent
    }
    /// Shortest round trip seen, if any.
    pub fn round_trip(&self) -> Option<Duration> {
        self.base.shortest_s().map(Duration::from_secs_f64)
    }

    /// A data packet leaves.
    pub fn departed(&mut self) {
        self.sent += 1;
        if self.phase == Phase::Waiting && self.sent >= self.train_ends {
            self.trains += 1;
            self.train_ends += u64::from(2 * self.buffer_packets);
        }
    }
    /// A buffer is complete at the other end.
    pub fn completed(&mut self) {
        self.completed += u64::from(self.buffer_packets);
    }
    /// The sender would send but has nothing, or no permission.
    pub fn idle(&mut self) {
        self.round.idle = true;
    }
    /// The receiver asks for packets again, which had left at a rate of `left_pps`.
    pub fn lost(&mut self, packets: u64, left_pps: f64) {
        self.losses.lost(packets, left_pps);
    }
    /// The rate in packets a second.
    pub fn pps(&self) -> f64 {
        self.pace_pps
    }

    /// A queue is let run empty, and that is over before a packet would leave at this pace. A receiver
    /// that was told of it would wait for minutes for what it misses.
    pub fn is_quiet(&self) -> bool {
        let interval_s = 1.0 / (self.pace_pps * EMPTYING);
        self.emptying_until.is_some() && interval_s > MOST_EMPTYING_S
    }

    /// When [`tick`](Scavenge::tick) has something to do, at the latest.
    pub fn timeout(&self) -> Option<Instant> {
        self.emptying_until
    }

    /// Time has come to `now`: a queue has had time to run empty; a path that has fallen silent is
    /// not flooded.
    pub fn tick(&mut self, now: Instant) {
        let now_s = self.seconds(now);
        self.emptying_until = self.emptying_until.filter(|at| *at > now);
        let silent_s = now_s - self.heard_s;
        if self.phase != Phase::Waiting && silent_s > self.silent_s() {
            // While what was lost leaves again nothing can arrive at the first attempt; but what does
            // arrive then shows what the path can do.
            let arrived_pps = self.completed as f64 / silent_s;
            self.heard_s = now_s;
            self.completed = 0;
            self.growth = None;
            self.cut_pace((self.pace_pps / 2.0).max(arrived_pps.min(self.pace_pps)));
            self.service_pps = Some(self.pace_pps);
        }
    }

    /// A buffer arrived at the first attempt; its packets were those from `packets.start` on of all
    /// that left, and the last of them left at `left`.
    pub fn arrived(&mut self, now: Instant, left: Instant, packets: Range<u64>) {
        let (left_s, back_s) = (self.seconds(left), self.seconds(now));
        let sample = Sample { left_s, before: packets.start, packets: packets.end, back_s };
        self.heard_s = sample.back_s;
        self.completed = 0;
        self.base.observe(sample.back_s, sample.round_trip_s(), self.aim_s());
        if let Some(older) = self.feedback.newest() {
            self.held.observe(older, sample, self.ceiling_pps);
        }
        let keep_s = 2.0 * sample.round_trip_s() + 4.0 * LEAST_CORRECTION_S;
        let keep_s = keep_s.max(HELD_SPANS * self.held.up_s());
        if !self.feedback.push(sample, keep_s) {
            return;
        }
        let queue_s = self.queue_s();
        self.round.most_queue_s = self.round.most_queue_s.max(queue_s);
        self.round.least_queue_s = self.round.least_queue_s.min(queue_s);
        match self.phase {
            Phase::Waiting | Phase::Starting => self.start(sample, queue_s),
            Phase::Steady => self.steer(sample, queue_s),
        }
        let lasted_s = sample.back_s - self.round.began_s;
        let long_enough = self.phase == Phase::Starting || lasted_s >= LEAST_CORRECTION_S / 2.0;
        if sample.packets >= self.round.until && long_enough {
            self.end_round(sample.back_s);
        }
    }

    /// The queue aimed at: the same for the same rate, whatever the path.
    fn aim_s(&self) -> f64 {
        let aim_s = self.aim_of(self.pace_pps).min(self.losses.most_queue_s());
        if self.is_small() {
            return aim_s;
        }
        // What is under way is known to some packets only.
        (aim_s - GRAIN_PACKETS / self.pace_pps.max(SLOWEST_PPS)).max(aim_s / 2.0)
    }
    fn aim_of(&self, pps: f64) -> f64 {
        let halvings = (FASTEST_PPS / pps.max(SLOWEST_PPS)).log2().max(0.0);
        (LEAST_QUEUE_S + QUEUE_STEP_S * halvings).min(MOST_QUEUE_S)
    }
    fn base_s(&self) -> f64 {
        self.base.shortest_s().unwrap_or(0.0)
    }
    /// What stands in the queue.
    fn queue_s(&self) -> f64 {
        let held_s = self.held.up_s();
        let span_s = (self.base_s() / 4.0).max(LEAST_CORRECTION_S / 4.0).max(held_s);
        let least = if held_s > 0.0 { HELD_SAMPLES } else { LEAST };
        self.feedback.shortest_s(span_s, least).map_or(0.0, |shortest| shortest - self.base_s())
    }
    /// From buffer to buffer.
    fn buffer_s(&self) -> f64 {
        f64::from(self.buffer_packets) / self.service_pps.unwrap_or(self.pace_pps)
    }
    fn first_growth(&self) -> f64 {
        GROWTH.min(GROWTH_S / self.base_s().max(SEEN_BUFFERS * self.buffer_s()))
    }

    fn start(&mut self, sample: Sample, queue_s: f64) {
        let round_trip_s = sample.round_trip_s().max(1e-6);
        let train = u64::from(self.train());
        if self.phase == Phase::Waiting {
            self.phase = Phase::Starting;
            self.losses.forget();
            self.set_pace(f64::from(self.buffer_packets) / round_trip_s);
            if self.is_long() {
                // What left so far took its time, and filled nothing.
                self.set_pace(self.pace_pps.max(self.sent as f64 / sample.back_s.max(0.25)));
            }
            if sample.packets > train && round_trip_s <= LONGEST_BASE_S {
                // Of the trains much was lost: others use the path, and what it can do is not known.
                self.ceiling_pps = Some(UNKNOWN * self.pace_pps);
                self.service_pps = Some(self.pace_pps);
                self.phase = Phase::Steady;
                self.base.doubt();
                return;
            }
        }
        if sample.packets <= train
            && !self.is_held_up(sample)
            && let Some(Service { pps, .. }) = self.feedback.service(f64::INFINITY, 0.0)
        {
            let ceiling = OF_TRAIN * pps;
            self.ceiling_pps = Some(ceiling);
            self.guessed = false;
            self.service_pps = Some(pps);
            self.base.hide((self.buffer_packets - 1).into(), pps);
            let filled = train as f64 >= pps * round_trip_s;
            self.filled = filled;
            self.set_pace(if filled { ceiling } else { ceiling * FIRST_SHARE });
        }
        if self.guessed {
            self.note_ceiling();
            let known = self.ceiling_pps.filter(|_| !self.guessed && self.is_far());
            self.set_pace(known.map_or(0.0, |ceiling| ceiling * FIRST_SHARE).max(self.pace_pps));
        }
        let there = self.ceiling_pps.is_some_and(|ceiling| self.pace_pps >= ceiling);
        let late = sample.packets > train + u64::from(self.buffer_packets);
        if there || late && queue_s >= self.aim_s() / 2.0 {
            self.phase = Phase::Steady;
            if !there && queue_s >= self.aim_s() / 2.0 {
                self.service_pps = Some(self.pace_pps);
            }
            if self.filled {
                self.empty(sample);
            }
            self.steer(sample, queue_s);
        }
    }

    /// Where the first buffers of the train have told what the path can do, one that comes half a round trip
    /// later than that explains was acknowledged late: what its OK came with first was lost. On shorter paths a
    /// queue of others may have held it up as long.
    fn is_held_up(&self, sample: Sample) -> bool {
        let known = self.service_pps.filter(|_| !self.guessed && self.is_far());
        let Some(service_pps) = known else { return false };
        let explained_s = 2.0 * f64::from(self.train()) / service_pps;
        sample.round_trip_s() > 1.5 * self.base_s() + explained_s
    }

    /// Grows and steps back with the others who share the path.
    fn share(&mut self, sample: Sample) {
        let most_pps = self.ceiling_pps.unwrap_or(self.pace_pps);
        let sight = Sight {
            left_s: sample.left_s,
            back_s: sample.back_s,
            queue_s: sample.round_trip_s() - self.base_s(),
            bound_s: self.aim_of(Sharing::bounding_pps(most_pps)) + SHARED_QUEUE_S,
            base_s: self.base_s(),
            buffer_s: f64::from(self.buffer_packets) / self.pace_pps,
            share: (self.pace_pps / most_pps).clamp(1e-4, 1.0),
        };
        let (factor, queued) = self.sharing.factor(sight);
        self.round.queued |= queued;
        self.service_pps = Some(self.pace_pps);
        self.set_pace(self.pace_pps * factor);
    }

    /// Two buffers that left as one train came as fast as the bottleneck sends.
    fn note_ceiling(&mut self) {
        let pair = self.feedback.newest_pair();
        let Some(pair) = pair.filter(|pair| pair.sent_pps > TRAIN_SHRINKS * pair.pps) else {
            return;
        };
        self.ceiling_pps = Some(OF_TRAIN * pair.pps);
        self.guessed = false;
    }

    /// Sets the rate by what arrives and what is under way.
    fn steer(&mut self, sample: Sample, queue_s: f64) {
        if self.guessed {
            self.note_ceiling();
        }
        if self.is_small() {
            self.growth = None;
            return self.share(sample);
        }
        let aim_s = self.aim_s();
        if queue_s >= aim_s / 2.0 {
            self.round.queued = true;
            self.growth = None;
            let span_s = (self.base_s() / 3.0).max(LEAST_CORRECTION_S);
            let span_s = span_s.max(HELD_SPANS * self.held.up_s());
            let busy_s = self.base_s() + aim_s / 4.0;
            if let Some(service) = self.feedback.service(span_s, busy_s) {
                self.note_service(service);
            }
        }
        let Some(service_pps) = self.service_pps.filter(|_| self.growth.is_none()) else { return };
        let wrong_s = aim_s - self.queue_ahead_s(sample, service_pps);
        let least_s = (self.base_s() / 2.0).max(LEAST_CORRECTION_S / 2.0);
        let factor = 1.0 + wrong_s / least_s.max(2.0 * self.buffer_s());
        self.set_pace(service_pps * factor.clamp(*STEERED.start(), *STEERED.end()));
    }

    /// Whether others use most of the path. Who steps back from every queue must not take delay for one.
    fn is_small(&self) -> bool {
        let service_pps = self.service_pps.unwrap_or(0.0);
        self.held.up_s() == 0.0
            && self.sharing.is_small(service_pps, self.ceiling_pps, self.base_s())
    }

    /// A small change is as likely chance, and a rate that follows chance wanders off. What comes all
    /// at once, after a stall of the path or of a host, was served no faster than it was sent.
    fn note_service(&mut self, Service { pps, sent_pps }: Service) {
        let Some(old) = self.service_pps else {
            self.service_pps = Some(pps.min(sent_pps * BELIEVED_RISE));
            return;
        };
        let pps = pps.min(old.max(sent_pps * BELIEVED_RISE));
        let weight = if (pps / old - 1.0).abs() >= CHANCE { 1.0 } else { CHANCE_WEIGHT };
        self.service_pps = Some(old + weight * (pps - old));
    }

    /// The queue that the next packet will meet: what the newest sample met, and what was sent since
    /// beyond what was served. A packet or two are no more than the grain of it.
    fn queue_ahead_s(&self, sample: Sample, service_pps: f64) -> f64 {
        let round_trip_s = sample.round_trip_s();
        let since = (self.sent - sample.packets) as f64 - round_trip_s * service_pps;
        let beyond = since - since.clamp(-GRAIN_PACKETS, GRAIN_PACKETS);
        // Where packets are held up, one sample alone does not tell.
        let met_s = match self.held.up_s() > 0.0 {
            true => self.queue_s(),
            false => round_trip_s - self.base_s(),
        };
        (met_s + beyond / service_pps).max(0.0)
    }

    /// A packet leaves in every round trip at least, unless losses forbid it.
    fn set_pace(&mut self, pps: f64) {
        self.cut_pace(pps.max(1.0 / self.base_s().max(LEAST_ROUND_S)));
    }
    fn cut_pace(&mut self, pps: f64) {
        self.pace_pps = pps.clamp(SLOWEST_PPS, MOST_PPS);
    }

    fn end_round(&mut self, now_s: f64) {
        let Round {
            began_s, first, queued, idle, most_queue_s, least_queue_s, former_queue_s, ..
        } = self.round;
        // A queue that becomes longer shows that the rate is beyond the service already.
        let rises = self.queue_s() > least_queue_s.min(former_queue_s) + RISES * self.aim_s();
        let long = least_queue_s > LONG * self.aim_s() + LONG_S;
        self.long_rounds = if long { self.long_rounds + 1 } else { 0 };
        let sent = (self.sent - first) as f64;
        if self.phase == Phase::Steady {
            self.sharing.end_round(self.service_pps.unwrap_or(0.0), queued);
        }
        let overflow =
            self.losses.end_round(self.sent - first, most_queue_s, self.phase == Phase::Starting);
        let next = Round {
            until: self.sent + 1,
            began_s: now_s,
            first: self.sent,
            queued: false,
            most_queue_s: 0.0,
            least_queue_s: f64::INFINITY,
            former_queue_s: least_queue_s,
            idle: false,
        };
        self.round = next;
        if let Some(overflow) = overflow.filter(|overflow| !queued || overflow.share > FLOODED) {
            // The queue is too short to be seen, or was full from the first.
            self.growth = None;
            let from = self.service_pps.unwrap_or(self.pace_pps).min(self.pace_pps);
            // Among many, whoever takes a full queue for the empty path learns of it by this alone.
            let bearable_pps = match self.is_small() {
                true => from * (1.0 - overflow.share),
                false => overflow.bearable_pps(),
            };
            self.cut_pace(from.min(bearable_pps));
            self.service_pps = Some(self.pace_pps);
            return;
        }
        let used = sent >= 0.7 * self.pace_pps * (now_s - began_s);
        match self.phase {
            Phase::Starting => {
                let ceiling = self.ceiling_pps.unwrap_or(f64::INFINITY);
                self.set_pace((self.pace_pps * START_GROWTH).min(ceiling));
            }
            // Where it was let run empty, there is no queue.
            Phase::Steady if self.emptied_rounds > 0 => self.emptied_rounds -= 1,
            Phase::Steady if self.is_small() => {}
            Phase::Steady if !queued && !rises && used && !idle => {
                let growth = self.growth.unwrap_or(self.first_growth());
                let from = self.service_pps.filter(|_| self.growth.is_none()).unwrap_or(0.0);
                self.set_pace(self.pace_pps.max(from) * (1.0 + growth));
                // Where buffers take longer than the path, what growth does is seen too late for more.
                let rare = self.buffer_s() > self.base_s() / 2.0;
                let faster = if rare { 1.0 } else { GROWTH_RISES };
                self.growth = Some((growth * faster).min(MOST_GROWTH));
            }
            _ => {}
        }
        if self.phase == Phase::Steady
            && let Some(sample) = self.feedback.newest()
            && self.base.wants_emptying(now_s, sample.left_s, self.long_rounds >= LONG_ROUNDS)
        {
            self.empty(sample);
        }
    }

    /// Lets the queue run empty: nearly nothing is sent for as long as what is under way takes
    /// beyond the path itself.
    fn empty(&mut self, sample: Sample) {
        let Some(service_pps) = self.service_pps else { return };
        let queue_s = self.queue_ahead_s(sample, service_pps) + self.base.hidden_s();
        let share = service_pps / self.ceiling_pps.unwrap_or(service_pps);
        // Alone, what is under way tells how long; of others' packets only that they must drain too.
        let others_s = match share < SOLE_SHARE && self.base_s() <= LONGEST_BASE_S {
            true => {
                let seen_s = sample.round_trip_s() - self.base_s() + self.base.doubted_s();
                let whole_s = seen_s.max(SHARED_EMPTYING_S);
                (SHARED_EMPTYING * whole_s / share).min(MOST_EMPTYING_S)
            }
            false => 0.0,
        };
        let length_s =
            (queue_s.max(0.0) * 1.1).max(others_s) + EMPTY_S + EMPTY_PACKETS / service_pps;
        let until_s = sample.back_s + length_s;
        self.emptying_until = Some(self.origin + Duration::from_secs_f64(until_s));
        self.emptied_rounds = EMPTIED_ROUNDS;
        self.base.emptied(sample.back_s, until_s);
    }
}
