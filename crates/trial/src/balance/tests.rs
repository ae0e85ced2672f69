//! Trials of which it is known where each frame went.

use super::*;
use crate::pressure::tests::trial;
use crate::{PortCounters, PortReceived};
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
        |(sent, refused, places, (turned_away, on_the_way, tester_dropped), unseen, foreign)| {
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
            foreign: tester_received - self.tester_dropped,
            ..PortReceived::nothing(PortId(0))
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
