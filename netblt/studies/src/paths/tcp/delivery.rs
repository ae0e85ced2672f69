//! The rate of delivery as a sender knows it (draft-cheng-iccrg-delivery-rate-estimation-00).

use std::collections::BTreeMap;
use units::{Duration, Instant};

/// What was known when a transmission left.
#[derive(Clone, Copy, Debug)]
struct Snapshot {
    /// Packets delivered by then, and when the last of them was known to be.
    delivered: u64,
    delivered_at: Instant,
    /// When the transmission left that was delivered last.
    first_left: Instant,
    left: Instant,
    /// The sender kept its own rate low.
    limited: bool,
}

/// Counts of one sender.
#[derive(Clone, Debug, Default)]
pub struct Delivery {
    delivered: u64,
    delivered_at: Option<Instant>,
    first_left: Option<Instant>,
    /// By order of transmission.
    under_way: BTreeMap<u64, Snapshot>,
    /// What leaves counts as limited until so many are delivered.
    limited_until: Option<u64>,
    shortest: Option<Duration>,
}

/// What an acknowledgement tells of packets: how many it adds, how many remain under way, how many are now known to be
/// lost, and whether the sender is still recovering from a loss.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    pub new: u64,
    pub in_flight: u64,
    pub lost: u64,
    pub recovering: bool,
}

/// What an acknowledgement tells.
#[derive(Clone, Copy, Debug)]
pub struct RateSample {
    /// Packets a second; none where the sender cannot know.
    pub pps: Option<f64>,
    /// Packets delivered when the acknowledged one left, and now.
    pub delivered_before: u64,
    /// Packets delivered in all.
    pub delivered: u64,
    /// Packets that this acknowledgement adds.
    pub new: u64,
    /// Packets that are still under way.
    pub in_flight: u64,
    /// Packets that are now known to be lost.
    pub lost: u64,
    /// Not all that was under way at the last loss has been acknowledged.
    pub recovering: bool,
    /// The rate is one to which the sender limited itself.
    pub limited: bool,
    /// From the departure of the packet to its acknowledgement.
    pub round_trip: Duration,
}

impl Delivery {
    /// A transmission leaves while so many others are under way.
    pub fn left(&mut self, now: Instant, order: u64, in_flight: u64) {
        if in_flight == 0 {
            (self.delivered_at, self.first_left) = (Some(now), Some(now));
        }
        let delivered_at = *self.delivered_at.get_or_insert(now);
        let first_left = *self.first_left.get_or_insert(now);
        let (delivered, limited) = (self.delivered, self.limited_until.is_some());
        let snapshot = Snapshot { delivered, delivered_at, first_left, left: now, limited };
        self.under_way.insert(order, snapshot);
    }

    /// The sender keeps its rate low while so many are under way (section 3.4 there, app_limited).
    pub fn limit(&mut self, in_flight: u64) {
        self.limited_until = Some(self.delivered + in_flight);
    }

    /// A transmission was acknowledged after a time.
    pub fn arrived(
        &mut self,
        now: Instant,
        order: u64,
        Told { new, in_flight, lost, recovering }: Told,
        round_trip: Duration,
    ) -> RateSample {
        self.shortest = Some(self.shortest.map_or(round_trip, |old| old.min(round_trip)));
        self.delivered += new;
        self.delivered_at = Some(now);
        let snapshot = self.under_way.remove(&order);
        // Older ones were lost, or their acknowledgements were.
        self.under_way = self.under_way.split_off(&order);
        let delivered = self.delivered;
        let pps = snapshot.and_then(|snapshot| {
            let sent = snapshot.left.since(snapshot.first_left);
            let acknowledged = now.since(snapshot.delivered_at);
            let span_s = sent.max(acknowledged).as_secs_f64();
            self.first_left = Some(snapshot.left);
            let packets = (delivered - snapshot.delivered) as f64;
            // Faster than the shortest round trip allows is an artefact (section 3.3 there).
            let least_s = self.shortest.map_or(0.0, Duration::as_secs_f64);
            (span_s >= least_s && packets > 0.0).then_some(packets / span_s)
        });
        if self.limited_until.is_some_and(|until| delivered > until) {
            self.limited_until = None;
        }
        let limited = snapshot.is_some_and(|snapshot| snapshot.limited);
        let delivered_before = snapshot.map_or(delivered, |snapshot| snapshot.delivered);
        RateSample {
            pps,
            delivered_before,
            delivered,
            new,
            in_flight,
            lost,
            recovering,
            limited,
            round_trip,
        }
    }
}
