//! Where the frames of a trial went: every counter there is, put together so that nothing is left over.
//!
//! ```text
//! sent ->| tester's interfaces ->| device, in ->| device, out ->| tester's interfaces ->| taken in
//!        leg                    leg            leg             leg                     leg
//! ```
//!
//! Each leg lies between two places that count, and closes by itself:
//!
//! ```text
//! entered + surplus = left + named parts + unknown
//! ```
//!
//! `unknown` is what no counter names. `surplus` is what left and had not entered: copies, frames of
//! the device's own, or counters that disagree. One of the two is always zero. A place that nobody reads
//! is no station; its two legs are one.

use crate::{PortBalance, PortId, TrialResult};
use serde::{Deserialize, Serialize};
use std::fmt;

/// One place of a built device that drops or keeps frames, as its own counter tells.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct DevicePlace {
    /// What it is called, such as `input queue of dut0`.
    pub name: String,
    /// Frames dropped there during the trial.
    pub dropped: u64,
    /// Frames that waited there when counting began.
    pub waiting_before: u64,
    /// Frames that waited there when counting ended, read before the counters of the interfaces.
    pub waiting: u64,
    /// The counter is the whole machine's: frames of others may be among them.
    pub of_machine: bool,
}

/// A place where frames are counted, in the order in which a frame comes by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Station {
    /// The tester's transmitters.
    Sent,
    /// The tester's interfaces, on the way out.
    TesterOut,
    /// The device's interfaces, on the way in.
    DeviceIn,
    /// The device's interfaces, on the way out.
    DeviceOut,
    /// The tester's interfaces, on the way in.
    TesterIn,
    /// The tester's receivers.
    TakenIn,
}

/// What became of frames that did not pass a leg, or whose frames came in besides.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// Dropped by the device.
    Dropped,
    /// Still within the device when counting ended: not lost.
    NotYetOut,
    /// Dropped by the tester: not the device's loss.
    TesterDropped,
    /// Taken by the tester itself, such as requests that it answers.
    Answered,
}

/// Frames at a named place.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Part {
    /// The place.
    pub name: String,
    /// What became of them there.
    pub fate: Fate,
    /// How many.
    pub frames: u64,
}

/// From one station to the next.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Leg {
    /// Where it begins.
    pub from: Station,
    /// Where it ends.
    pub to: Station,
    /// Frames counted where it begins, and those that were on it already.
    pub entered: u64,
    /// Frames counted where it ends.
    pub left: u64,
    /// Where frames went that did not pass.
    pub parts: Vec<Part>,
    /// Frames that nobody names.
    pub unknown: u64,
    /// Frames too many.
    pub surplus: u64,
}

/// Frames that the tester's receivers took in, each in exactly one member.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct TakenIn {
    /// Different frames where and when they should arrive.
    pub in_time: u64,
    /// The same, after the wait for them was over.
    pub late: u64,
    /// Second arrivals.
    pub duplicates: u64,
    /// Ours, but damaged or changed.
    pub corrupted: u64,
    /// Ours, on a port where they do not belong.
    pub misdirected: u64,
    /// Frames of streams that may arrive anywhere.
    pub beside: u64,
    /// None of ours.
    pub foreign: u64,
    /// With this run's signature, but not sent so.
    pub forged: u64,
    /// Of earlier trials.
    pub leftovers: u64,
}

/// Where the frames of a trial went.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Balance {
    /// From the transmitters to the receivers.
    pub legs: Vec<Leg>,
    /// What became of the frames that arrived.
    pub taken_in: TakenIn,
    /// Whether the device's interfaces were read.
    pub sees_device: bool,
}

impl Leg {
    fn new((from, entered): (Station, u64), (to, left): (Station, u64)) -> Self {
        let mut leg = Leg { from, to, entered, left, parts: vec![], unknown: 0, surplus: 0 };
        leg.close();
        leg
    }

    fn close(&mut self) {
        let out = self.left + self.parts.iter().map(|part| part.frames).sum::<u64>();
        self.unknown = self.entered.saturating_sub(out);
        self.surplus = out.saturating_sub(self.entered);
    }

    /// Names a place where frames went, whatever else is known.
    fn name(&mut self, name: &str, fate: Fate, frames: u64) {
        if frames > 0 {
            self.parts.push(Part { name: name.into(), fate, frames });
            self.close();
        }
    }

    /// Names a place for no more frames than nobody names yet; gives how many are left. For counters
    /// of which it is not known on which side of a station they count, or whose frames.
    fn name_within(&mut self, name: &str, fate: Fate, frames: u64) -> u64 {
        let here = frames.min(self.unknown);
        self.name(name, fate, here);
        frames - here
    }

    /// Whether counters contradict each other: more was dropped by name than went missing.
    pub fn disagrees(&self) -> bool {
        self.surplus > 0 && !self.parts.is_empty()
    }
}

impl TakenIn {
    /// All of them.
    pub fn total(&self) -> u64 {
        let TakenIn { in_time, late, duplicates, corrupted, misdirected, .. } = self;
        let TakenIn { beside, foreign, forged, leftovers, .. } = self;
        let ours = in_time + late + duplicates + corrupted + misdirected + beside;
        ours + foreign + forged + leftovers
    }

    fn of(result: &TrialResult) -> Self {
        let mut all = TakenIn::default();
        for port in &result.received {
            for received in &port.streams {
                let account = &received.account;
                if received.expected {
                    all.in_time += account.unique;
                    all.late += account.late;
                    all.duplicates += account.duplicates;
                    all.corrupted += account.corrupted;
                } else if received.unchecked {
                    all.beside += account.arrivals();
                } else {
                    all.misdirected += account.arrivals();
                }
            }
            all.corrupted += port.corrupted;
            all.foreign += port.foreign;
            all.forged += port.forged;
            all.leftovers += port.leftovers.total();
        }
        all
    }
}

impl Balance {
    /// Of a trial, from all that was counted in it.
    pub fn of(result: &TrialResult) -> Self {
        let counts = Counts::of(result);
        let stations = counts.stations();
        let pairs = stations.iter().zip(&stations[1..]);
        let mut legs: Vec<Leg> = pairs.map(|(from, to)| Leg::new(*from, *to)).collect();
        counts.name_parts(&mut legs);
        Balance { legs, taken_in: counts.taken_in, sees_device: counts.device.is_some() }
    }

    /// Frames that the tester's transmitters sent.
    pub fn sent(&self) -> u64 {
        self.legs.first().map_or(0, |leg| leg.entered)
    }

    /// Every named place, on its leg.
    pub fn parts(&self) -> impl Iterator<Item = &Part> {
        self.legs.iter().flat_map(|leg| &leg.parts)
    }

    /// Frames of one fate, over all places.
    pub fn frames(&self, fate: Fate) -> u64 {
        self.parts().filter(|part| part.fate == fate).map(|part| part.frames).sum()
    }

    /// Frames counted at a station; `None` where nobody read it.
    pub fn at(&self, station: Station) -> Option<u64> {
        let begins = self.legs.iter().find(|leg| leg.from == station);
        let ends = self.legs.iter().find(|leg| leg.to == station).map(|leg| leg.left);
        // What was within the device already has not been counted at its interfaces.
        ends.or(begins.map(|leg| leg.entered))
    }

    /// Frames that nobody names, over all legs.
    pub fn unknown(&self) -> u64 {
        self.legs.iter().map(|leg| leg.unknown).sum()
    }

    /// Frames that came in besides, over all legs.
    pub fn surplus(&self) -> u64 {
        self.legs.iter().map(|leg| leg.surplus).sum()
    }

    /// Where counters contradict each other, a sentence each.
    pub fn disagreements(&self) -> Vec<String> {
        let legs = self.legs.iter().filter(|leg| leg.disagrees());
        legs.map(|leg| {
            let named: u64 = leg.parts.iter().map(|part| part.frames).sum();
            format!(
                "{} frames {} and {} {}, yet {named} are named as missing between the two: {} too many",
                leg.entered, leg.from, leg.left, leg.to, leg.surplus
            )
        })
        .collect()
    }
}

/// The counts of a trial, over all ports.
struct Counts<'a> {
    sent: u64,
    tester_out: Option<u64>,
    /// In and out.
    device: Option<(u64, u64)>,
    tester_in: Option<u64>,
    taken_in: TakenIn,
    not_sent: u64,
    refused: u64,
    device_dropped_in: u64,
    turned_away: u64,
    tester_dropped: u64,
    answered: u64,
    damaged: u64,
    places: &'a [DevicePlace],
}

impl<'a> Counts<'a> {
    fn of(result: &'a TrialResult) -> Self {
        let balance = &result.balance;
        let known = |all: Option<Vec<u64>>| all.map(|all| all.iter().sum::<u64>());
        let counters = || result.counters.iter();
        let at_ports = |count: fn(&PortBalance) -> u64| balance.iter().map(count).sum::<u64>();
        let seen = !balance.is_empty();
        let tester_out = match seen {
            true => Some(at_ports(|port| port.tester_sent)),
            false => known(counters().map(|port| port.interface_sent).collect()),
        };
        let tester_in = match seen {
            true => Some(at_ports(|port| port.tester_received)),
            false => known(counters().map(|port| port.interface_received).collect()),
        };
        Counts {
            sent: result.sent.iter().map(|port| port.report.sent_frames).sum(),
            tester_out: tester_out.filter(|_| !result.counters.is_empty()),
            device: seen.then(|| (at_ports(|p| p.device_received), at_ports(|p| p.device_sent))),
            tester_in: tester_in.filter(|_| !result.counters.is_empty()),
            taken_in: TakenIn::of(result),
            not_sent: result.sent.iter().map(|port| port.dropped_by_tester).sum(),
            refused: at_ports(|port| port.refused),
            device_dropped_in: at_ports(|port| port.device_dropped_in),
            turned_away: at_ports(|port| port.turned_away),
            tester_dropped: result.tester_drops(),
            answered: counters().map(|port| port.control_frames).sum(),
            damaged: counters().filter_map(|port| port.bad_fcs).sum(),
            places: &result.places,
        }
    }

    /// Stations that were read, with what they counted.
    fn stations(&self) -> Vec<(Station, u64)> {
        let (device_in, device_out) = self.device.unzip();
        let all = [
            (Station::Sent, Some(self.sent)),
            (Station::TesterOut, self.tester_out),
            (Station::DeviceIn, device_in),
            (Station::DeviceOut, device_out),
            (Station::TesterIn, self.tester_in),
            (Station::TakenIn, Some(self.taken_in.total())),
        ];
        all.into_iter().filter_map(|(station, count)| Some((station, count?))).collect()
    }

    /// Puts every named place on the leg on which it lies. A counter that may lie on either of two is
    /// put where frames are missing.
    fn name_parts(&self, legs: &mut [Leg]) {
        let not_sent = "the tester's interfaces did not send them";
        let left = within(legs, Station::Sent, not_sent, Fate::TesterDropped, self.not_sent);
        within(legs, Station::TesterOut, not_sent, Fate::TesterDropped, left);
        let mut tester_dropped = self.tester_dropped;
        if self.device.is_some() {
            let refused = "no room at the device's interfaces";
            leg_after(legs, Station::TesterOut).name(refused, Fate::Dropped, self.refused);
            // Of a veth both ends count a frame that an XDP program could not hand over.
            let left = self.device_dropped_in.saturating_sub(self.refused);
            let left = within(legs, Station::TesterOut, DROPPED_IN, Fate::Dropped, left);
            self.name_places(leg_after(legs, Station::DeviceIn), left);
            tester_dropped = tester_dropped.saturating_sub(self.turned_away);
        }
        let damaged = "arrived with a bad FCS";
        within(legs, Station::DeviceOut, damaged, Fate::Dropped, self.damaged);
        let lost = "dropped by the tester on the way in";
        let left = within(legs, Station::DeviceOut, lost, Fate::TesterDropped, tester_dropped);
        within(legs, Station::TesterIn, lost, Fate::TesterDropped, left);
        let answered = "answered by the tester";
        within(legs, Station::TesterIn, answered, Fate::Answered, self.answered);
    }

    /// The leg within the device.
    fn name_places(&self, leg: &mut Leg, dropped_in: u64) {
        leg.entered += self.places.iter().map(|place| place.waiting_before).sum::<u64>();
        leg.close();
        let own = || self.places.iter().filter(|place| !place.of_machine);
        own().for_each(|place| leg.name(&place.name, Fate::Dropped, place.dropped));
        let tester_full = "no room at the tester's interfaces";
        leg.name(tester_full, Fate::TesterDropped, self.turned_away);
        // Queues are read before interfaces: what waited then may have been sent since.
        for place in own() {
            leg.name_within(&place.name, Fate::NotYetOut, place.waiting);
        }
        leg.name_within(DROPPED_IN, Fate::Dropped, dropped_in);
        for place in self.places.iter().filter(|place| place.of_machine) {
            leg.name_within(&place.name, Fate::Dropped, place.dropped);
        }
    }
}

const DROPPED_IN: &str = "dropped by the device's interfaces on the way in";

/// The leg on which a frame is that has passed a station.
fn leg_after(legs: &mut [Leg], station: Station) -> &mut Leg {
    let leg = legs.iter().position(|leg| leg.from <= station && station < leg.to);
    &mut legs[leg.expect("the first station and the last are always read")]
}

/// [`Leg::name_within`] on that leg.
fn within(legs: &mut [Leg], station: Station, name: &str, fate: Fate, frames: u64) -> u64 {
    leg_after(legs, station).name_within(name, fate, frames)
}

/// Frames that were still within the device when counting ended, at the place where most of them were.
pub(crate) fn still_within(places: &[DevicePlace]) -> Option<(&str, u64)> {
    let most = places.iter().max_by_key(|place| place.waiting).filter(|place| place.waiting > 0)?;
    Some((&most.name, places.iter().map(|place| place.waiting).sum()))
}

impl PortBalance {
    /// Nothing counted yet at a port.
    pub fn at(port: PortId) -> Self {
        PortBalance {
            port,
            tester_sent: 0,
            refused: 0,
            device_received: 0,
            device_dropped_in: 0,
            device_sent: 0,
            turned_away: 0,
            tester_received: 0,
            tester_dropped: 0,
            is_rough: false,
        }
    }
}

impl Station {
    /// All of them, in the order in which a frame comes by.
    pub const ALL: [Station; 6] = [
        Station::Sent,
        Station::TesterOut,
        Station::DeviceIn,
        Station::DeviceOut,
        Station::TesterIn,
        Station::TakenIn,
    ];
}

impl fmt::Display for Station {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Station::Sent => "sent by the tester",
            Station::TesterOut => "sent by the tester's interfaces",
            Station::DeviceIn => "received by the device",
            Station::DeviceOut => "sent by the device",
            Station::TesterIn => "received by the tester's interfaces",
            Station::TakenIn => "taken in by the tester",
        })
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Fate::Dropped => "dropped",
            Fate::NotYetOut => "not yet out",
            Fate::TesterDropped => "dropped by the tester",
            Fate::Answered => "answered",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pressure::tests::trial;
    use crate::{Leftovers, PortCounters, PortReceived};
    use proptest::prelude::*;

    /// What really happens to frames, from which every counter follows.
    #[derive(Clone, Debug)]
    struct Truth {
        sent: u64,
        refused: u64,
        places: Vec<(u64, u64, u64)>,
        turned_away: u64,
        on_the_way: u64,
        tester_dropped: u64,
        unseen: u64,
        foreign: u64,
    }

    /// Nothing happens to 1,000 frames.
    const QUIET: Truth = Truth {
        sent: 1_000,
        refused: 0,
        places: vec![],
        turned_away: 0,
        on_the_way: 0,
        tester_dropped: 0,
        unseen: 0,
        foreign: 0,
    };

    fn truths() -> impl Strategy<Value = Truth> {
        let few = || 0u64..50;
        let places = prop::collection::vec((few(), few(), few()), 0..4);
        (1_000u64..100_000, few(), places, (few(), few(), few()), few(), few()).prop_map(
            |(
                sent,
                refused,
                places,
                (turned_away, on_the_way, tester_dropped),
                unseen,
                foreign,
            )| {
                Truth {
                    sent,
                    refused,
                    places,
                    turned_away,
                    on_the_way,
                    tester_dropped,
                    unseen,
                    foreign,
                }
            },
        )
    }

    impl Truth {
        fn sum(&self, of: fn(&(u64, u64, u64)) -> u64) -> u64 {
            self.places.iter().map(of).sum()
        }

        /// A trial in which every counter tells the truth.
        fn result(&self) -> TrialResult {
            let device_received = self.sent - self.refused;
            let device_sent = device_received + self.sum(|place| place.1)
                - self.sum(|place| place.0 + place.2)
                - self.turned_away
                - self.unseen
                + self.foreign;
            let tester_received = device_sent - self.on_the_way;
            let mut result = trial(0);
            result.sent[0].report.sent_frames = self.sent;
            result.balance = vec![PortBalance {
                tester_sent: self.sent,
                refused: self.refused,
                device_received,
                device_sent,
                turned_away: self.turned_away,
                tester_received,
                tester_dropped: self.tester_dropped + self.turned_away,
                ..PortBalance::at(PortId(0))
            }];
            result.places = self.places.iter().map(place).collect();
            let drops = self.tester_dropped + self.turned_away;
            result.counters = vec![PortCounters {
                interface_sent: Some(self.sent),
                interface_received: Some(tester_received),
                tester_drops: vec![("ring".into(), drops)],
                ..PortCounters::default()
            }];
            result.received = vec![PortReceived {
                port: PortId(0),
                streams: vec![],
                foreign: tester_received - self.tester_dropped,
                foreign_bytes: 0,
                corrupted: 0,
                forged: 0,
                leftovers: Leftovers::default(),
            }];
            result
        }
    }

    fn place((dropped, waiting_before, waiting): &(u64, u64, u64)) -> DevicePlace {
        DevicePlace {
            name: "queue".into(),
            dropped: *dropped,
            waiting_before: *waiting_before,
            waiting: *waiting,
            of_machine: false,
        }
    }

    fn closes(balance: &Balance) -> Result<(), TestCaseError> {
        for leg in &balance.legs {
            let named: u64 = leg.parts.iter().map(|part| part.frames).sum();
            prop_assert_eq!(leg.entered + leg.surplus, leg.left + named + leg.unknown, "{:?}", leg);
            prop_assert!(leg.surplus == 0 || leg.unknown == 0, "{:?}", leg);
        }
        let within: u64 = balance.legs.iter().map(|leg| leg.entered).sum::<u64>()
            - balance.legs[1..].iter().zip(&balance.legs).map(|(_, leg)| leg.left).sum::<u64>();
        let named: u64 = balance.parts().map(|part| part.frames).sum();
        let out = balance.taken_in.total() + named + balance.unknown();
        prop_assert_eq!(within + balance.surplus(), out);
        Ok(())
    }

    proptest! {
        /// Counters that tell the truth: each frame is where it was, and what nobody counts is all that
        /// is unknown (or, where the device sends frames of its own, no more than that).
        #[test]
        fn honest_counters_leave_no_frame_over(truth in truths()) {
            let balance = Balance::of(&truth.result());
            closes(&balance)?;
            prop_assert_eq!(balance.sent(), truth.sent);
            prop_assert_eq!(balance.at(Station::Sent), Some(truth.sent));
            prop_assert_eq!(balance.at(Station::DeviceIn), Some(truth.sent - truth.refused));
            let dropped = truth.refused + truth.sum(|place| place.0);
            prop_assert_eq!(balance.frames(Fate::Dropped), dropped);
            // A frame of the device's own looks like one that waited and was sent meanwhile.
            let waiting = truth.sum(|place| place.2);
            let more = truth.foreign.saturating_sub(truth.unseen);
            prop_assert_eq!(balance.frames(Fate::NotYetOut), waiting.saturating_sub(more));
            let of_tester = truth.turned_away + truth.tester_dropped;
            prop_assert_eq!(balance.frames(Fate::TesterDropped), of_tester);
            let inside = balance.legs.iter().find(|leg| leg.from == Station::DeviceIn).unwrap();
            prop_assert_eq!(inside.unknown, truth.unseen.saturating_sub(truth.foreign));
            prop_assert_eq!(inside.surplus, more.saturating_sub(waiting));
            let way = balance.legs.iter().find(|leg| leg.from == Station::DeviceOut).unwrap();
            let missing = truth.on_the_way.saturating_sub(truth.tester_dropped);
            prop_assert_eq!(way.unknown, missing);
        }

        /// Counters that lie: it still adds up, nothing is negative, and names for more frames than are
        /// missing are told.
        #[test]
        fn any_counters_close_and_contradictions_are_told(
            truth in truths(),
            lies in prop::array::uniform5(0u64..200_000),
        ) {
            let mut result = truth.result();
            let port = &mut result.balance[0];
            let [tester, received, sent, in_dropped, arrived] = lies;
            (port.tester_sent, port.device_received, port.device_sent) = (tester, received, sent);
            (port.device_dropped_in, port.tester_received) = (in_dropped, arrived);
            let balance = Balance::of(&result);
            closes(&balance)?;
            let inside = balance.legs.iter().find(|leg| leg.from == Station::DeviceIn).unwrap();
            let named = truth.sum(|place| place.0) + truth.turned_away;
            let contradicts = named > 0 && sent + named > inside.entered;
            prop_assert_eq!(inside.disagrees(), contradicts, "{:?}", inside);
            prop_assert!(balance.disagreements().len() >= usize::from(contradicts));
        }

        /// Nobody reads the device: what is missing is unknown, never the device's by name.
        #[test]
        fn without_the_device_its_losses_have_no_name(truth in truths()) {
            let mut result = truth.result();
            result.balance.clear();
            result.places.clear();
            let balance = Balance::of(&result);
            closes(&balance)?;
            prop_assert!(!balance.sees_device && balance.at(Station::DeviceIn).is_none());
            prop_assert_eq!(balance.frames(Fate::Dropped) + balance.frames(Fate::NotYetOut), 0);
            prop_assert_eq!(balance.legs.len(), 3);
        }
    }

    /// 10 wait when the queue is read, and 3 of them are sent before the interface is.
    #[test]
    fn a_frame_that_left_between_two_readings_is_not_counted_twice() {
        let truth = Truth { places: vec![(0, 0, 7)], ..QUIET };
        let mut result = truth.result();
        result.places[0].waiting = 10;
        let balance = Balance::of(&result);
        assert_eq!((balance.frames(Fate::NotYetOut), balance.unknown()), (7, 0), "{balance:#?}");
        assert!(balance.surplus() == 0 && balance.disagreements().is_empty(), "{balance:#?}");
    }

    /// The whole machine's backlog drops frames of others too: no more are the device's than are missing.
    #[test]
    fn a_counter_of_the_whole_machine_names_no_more_than_is_missing() {
        let quiet = Truth { unseen: 7, ..QUIET };
        for (dropped, named) in [(5, 5), (7, 7), (900, 7)] {
            let mut result = quiet.result();
            let of_machine = true;
            result.places = vec![DevicePlace { of_machine, ..place(&(dropped, 0, 0)) }];
            let balance = Balance::of(&result);
            assert_eq!((balance.frames(Fate::Dropped), balance.unknown()), (named, 7 - named));
            assert!(balance.disagreements().is_empty());
        }
    }
}
