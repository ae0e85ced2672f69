//! What the interfaces' own counters say of a trial, and whose fault it is: a pure function of
//! readings taken before and after.

use kernel::{InterfaceCounters, InterfaceState};

/// Two readings of one port's interface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Reading {
    /// Name of the interface.
    pub name: String,
    /// Its number.
    pub index: u32,
    /// Whether frames that it had no room for were lost at the far end, such as that of a veth.
    pub sends_into_far_queue: bool,
    /// Frames the port itself has lost, by counter.
    pub own_drops: Vec<(String, u64)>,
    /// Whether the kernel counts those in the interface's rx_dropped too (XDP does).
    pub own_drops_in_interface: bool,
    /// Frames that the port took and counted, and that the interface counts in rx_dropped all the same.
    pub taken_as_dropped: u64,
    /// Frames that the device could not hand over to it.
    pub turned_away: u64,
    /// Before the first frame.
    pub before: InterfaceState,
    /// After the last.
    pub after: InterfaceState,
}

/// What a reading means.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Tally {
    /// Frames the interface was given to send, whatever became of them.
    pub sent: u64,
    /// Frames it received.
    pub received: u64,
    /// Frames the tester lost on the way in, by counter.
    pub tester_drops: Vec<(String, u64)>,
    /// Frames that never left, by the tester's fault.
    pub not_sent: u64,
    /// Frames that left and that the far end had no room for.
    pub refused: u64,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// Tallies every port. `link_was_reset`: the trial itself took a link down.
pub(crate) fn tally(readings: &[Reading], link_was_reset: bool) -> Vec<Tally> {
    let mut tallies: Vec<Tally> = readings.iter().map(own_part).collect();
    if !link_was_reset {
        for (tally, reading) in tallies.iter_mut().zip(readings) {
            let counter = "no room, by the counter of the device's interface";
            tally.tester_drops.push((counter.into(), reading.turned_away));
        }
    }
    for (index, reading) in readings.iter().enumerate() {
        let turned_away = counted(reading).tx_dropped;
        if turned_away == 0 {
            continue;
        }
        let peer = readings.iter().position(|other| Some(other.index) == reading.after.peer_here);
        let name = &reading.name;
        match peer {
            // Frames that its backlog had no room for are counted at both ends.
            Some(peer) => {
                let known = counted(&readings[peer]).rx_without_room();
                let drops = &mut tallies[peer].tester_drops;
                drops.push(("input queue full".into(), turned_away.saturating_sub(known)));
            }
            None if reading.sends_into_far_queue => {
                tallies[index].refused = turned_away;
                tallies[index].notes.push(format!(
                    "{name}: the far end had no room for {turned_away} frames, or its link was \
                     down; they left the tester and count as lost by the device"
                ));
            }
            None if link_was_reset => tallies[index].notes.push(format!(
                "{name}: {turned_away} frames met a link that was down; they count as lost"
            )),
            None => tallies[index].not_sent += turned_away,
        }
    }
    tallies
}

/// What one reading says by itself.
fn own_part(reading: &Reading) -> Tally {
    let counted = counted(reading);
    let own: u64 = match reading.own_drops_in_interface {
        true => reading.own_drops.iter().map(|(_, frames)| frames).sum(),
        false => 0,
    };
    let dropped = counted.rx_without_room().saturating_sub(own + reading.taken_as_dropped);
    let mut tester_drops = reading.own_drops.clone();
    tester_drops.push(("interface rx_dropped".into(), dropped));
    tester_drops.push(("interface rx_errors".into(), counted.rx_own_errors()));
    Tally {
        sent: counted.tx_frames + counted.tx_dropped,
        received: counted.rx_frames,
        tester_drops,
        ..Tally::default()
    }
}

fn counted(reading: &Reading) -> InterfaceCounters {
    reading.after.counters.since(&reading.before.counters)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(index: u32, kind: Option<&str>, peer_here: Option<u32>) -> Reading {
        let state = InterfaceState {
            kind: kind.map(String::from),
            peer_here,
            counters: InterfaceCounters { tx_frames: 100, ..Default::default() },
            ..Default::default()
        };
        Reading {
            name: format!("eth{index}"),
            index,
            sends_into_far_queue: kind == Some("veth"),
            own_drops: vec![],
            own_drops_in_interface: false,
            taken_as_dropped: 0,
            turned_away: 0,
            before: state.clone(),
            after: state,
        }
    }

    fn drops(tally: &Tally) -> u64 {
        tally.tester_drops.iter().map(|(_, frames)| frames).sum()
    }

    /// A link that is down turns everything away: that is the reset's doing.
    #[test]
    fn what_the_device_could_not_hand_over_is_the_testers_loss() {
        let port = Reading { turned_away: 9, ..reading(1, Some("veth"), None) };
        let ports = [port];
        assert_eq!(drops(&tally(&ports, false)[0]), 9);
        assert_eq!(drops(&tally(&ports, true)[0]), 0);
    }

    #[test]
    fn what_was_counted_before_the_trial_is_not_the_trials() {
        let mut port = reading(1, None, None);
        port.after.counters.tx_frames += 7;
        let [tally] = &tally(&[port], false)[..] else { panic!() };
        assert_eq!((tally.sent, tally.received, tally.not_sent, drops(tally)), (7, 0, 0, 0));
    }

    #[test]
    fn frames_that_a_network_card_drops_were_not_sent() {
        let mut port = reading(1, None, None);
        port.after.counters.tx_dropped = 3;
        assert_eq!(tally(&[port.clone()], false)[0].not_sent, 3);
        let reset = &tally(&[port], true)[0];
        assert_eq!(reset.not_sent, 0);
        assert!(reset.notes[0].contains("3 frames met a link that was down"));
    }

    #[test]
    fn a_full_queue_at_the_devices_end_of_a_veth_is_the_devices_loss() {
        let mut port = reading(1, Some("veth"), None);
        port.after.counters.tx_dropped = 3;
        let tally = &tally(&[port], false)[0];
        assert_eq!((tally.sent, tally.not_sent, drops(tally)), (3, 0, 0));
        assert!(tally.notes[0].contains("lost by the device"));
    }

    #[test]
    fn back_to_back_it_is_the_testers_and_counted_once() {
        let mut sender = reading(1, Some("veth"), Some(2));
        sender.after.counters.tx_dropped = 5;
        let mut receiver = reading(2, Some("veth"), Some(1));
        receiver.after.counters.rx_dropped = 2;
        let tallies = tally(&[sender, receiver], false);
        assert_eq!((drops(&tallies[0]), drops(&tallies[1])), (0, 5));
    }

    #[test]
    fn a_full_socket_ring_that_the_interface_counts_too_is_counted_once() {
        let mut port = reading(1, None, None);
        port.own_drops = vec![("ring full".into(), 4)];
        port.own_drops_in_interface = true;
        port.after.counters.rx_dropped = 6;
        assert_eq!(drops(&tally(&[port], false)[0]), 6);
    }

    /// As virtio_net counts: 2,000 frames came, its XDP program took each of them, and 3 found no room.
    #[test]
    fn what_an_xdp_program_takes_is_no_loss_though_the_driver_counts_it_as_dropped() {
        let mut port = reading(1, None, None);
        port.taken_as_dropped = 2000;
        port.after.counters.rx_dropped = 2003;
        assert_eq!(drops(&tally(&[port.clone()], false)[0]), 3);
        port.taken_as_dropped = 0;
        assert_eq!(drops(&tally(&[port], false)[0]), 2003);
    }
}
