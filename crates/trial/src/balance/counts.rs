//! A trial's counters, added up over all ports, and the leg on which each of them lies.

use super::{DevicePlace, Fate, Leg, Station, TakenIn};
use crate::{PortBalance, TrialResult};

/// The counts of a trial, over all ports.
pub(super) struct Counts<'a> {
    sent: u64,
    tester_out: Option<u64>,
    /// In and out.
    pub(super) device: Option<(u64, u64)>,
    tester_in: Option<u64>,
    pub(super) taken_in: TakenIn,
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
    pub(super) fn of(result: &'a TrialResult) -> Self {
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
    pub(super) fn stations(&self) -> Vec<(Station, u64)> {
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
    pub(super) fn name_parts(&self, legs: &mut [Leg]) {
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
