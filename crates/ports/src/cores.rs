//! Which thread runs on which core: a pure function, so that it can be printed and tested.

use std::collections::BTreeMap;
use std::fmt::Write;
use trial::PortId;

/// Where the threads of a trial run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CorePlan {
    /// Cores of each transmitting port's threads: one for each queue by which it sends.
    pub transmit: BTreeMap<PortId, Vec<usize>>,
    /// Cores of each port's receiving threads: one for each queue from which it receives.
    pub receive: BTreeMap<PortId, Vec<usize>>,
    /// What a reader should know, such as that tester and device share a core.
    pub notes: Vec<String>,
}

/// Relative weight of what runs on a core. A transmitter spins and must not be disturbed; a
/// device's thread may need all of a core; a receiver works in short spells.
const TRANSMITTER: u32 = 8;
const DEVICE: u32 = 6;
/// A device that polls has all of its core at any load, and its queues overflow while it has not.
const POLLING_DEVICE: u32 = 1_000;
const RECEIVER: u32 = 1;

/// Gives every thread the least loaded core: transmitters first, since pacing suffers most from
/// company. A port with several queues is named among `transmitting` and `receiving` once for each. `cores`
/// are those the tester may use, `device_cores` those the device's own threads are pinned to (none
/// known: empty).
pub fn plan(
    cores: &[usize],
    transmitting: &[PortId],
    receiving: &[PortId],
    device_cores: &[usize],
) -> CorePlan {
    plan_beside(cores, transmitting, receiving, (device_cores, false))
}

/// The same beside a device of which it is known whether it polls: no thread shares a core with one that does, if there
/// is another core.
pub(crate) fn plan_beside(
    cores: &[usize],
    transmitting: &[PortId],
    receiving: &[PortId],
    (device_cores, polls): (&[usize], bool),
) -> CorePlan {
    let device = if polls { POLLING_DEVICE } else { DEVICE };
    let mut load: BTreeMap<usize, u32> = cores.iter().map(|core| (*core, 0)).collect();
    for core in device_cores {
        load.entry(*core).and_modify(|load| *load += device);
    }
    let mut place = |ports: &[PortId], weight: u32| -> BTreeMap<PortId, Vec<usize>> {
        let mut placed: BTreeMap<PortId, Vec<usize>> = BTreeMap::new();
        for port in ports {
            if let Some((core, load)) = load.iter_mut().min_by_key(|(core, load)| (**load, **core))
            {
                *load += weight;
                placed.entry(*port).or_default().push(*core);
            }
        }
        placed
    };
    let transmit = place(transmitting, TRANSMITTER);
    let receive = place(receiving, RECEIVER);
    let mut plan = CorePlan { transmit, receive, notes: vec![] };
    plan.notes = notes(&plan, device_cores);
    plan
}

/// What the thread of a port's queue is called, from 0.
pub(crate) fn transmitter_name(port: PortId, queue: usize) -> String {
    match queue {
        0 => format!("{port} transmit"),
        _ => format!("{port} transmit by queue {queue}"),
    }
}

/// What the thread that receives from a port's queue is called, from 0.
pub(crate) fn receiver_name(port: PortId, queue: usize) -> String {
    match queue {
        0 => format!("{port} receive"),
        _ => format!("{port} receive from queue {queue}"),
    }
}

fn notes(plan: &CorePlan, device_cores: &[usize]) -> Vec<String> {
    let mut threads: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for (port, cores) in &plan.transmit {
        for (queue, core) in cores.iter().enumerate() {
            threads.entry(*core).or_default().push(transmitter_name(*port, queue));
        }
    }
    for (port, cores) in &plan.receive {
        for (queue, core) in cores.iter().enumerate() {
            threads.entry(*core).or_default().push(receiver_name(*port, queue));
        }
    }
    let mut notes = vec![];
    let mut layout = String::from("threads:");
    for (core, names) in &threads {
        let _ = write!(layout, " core {core}: {};", names.join(", "));
    }
    notes.push(layout.trim_end_matches(';').to_string());
    for core in threads.keys().filter(|core| device_cores.contains(core)) {
        notes.push(format!("tester and device share core {core}"));
    }
    let mut senders: BTreeMap<usize, usize> = BTreeMap::new();
    plan.transmit.values().flatten().for_each(|core| *senders.entry(*core).or_default() += 1);
    for (core, count) in senders.into_iter().filter(|(_, count)| *count > 1) {
        notes.push(format!("{count} transmitters share core {core}: pacing suffers"));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: PortId = PortId(0);
    const B: PortId = PortId(1);

    #[test]
    fn one_way_on_two_cores_sending_and_receiving_are_apart() {
        let plan = plan(&[0, 1], &[A], &[A, B], &[]);
        assert_eq!(plan.transmit[&A], [0]);
        assert_eq!((&plan.receive[&A][..], &plan.receive[&B][..]), (&[1][..], &[1][..]));
        assert_eq!(plan.notes.len(), 1, "{:?}", plan.notes);
    }

    #[test]
    fn a_core_shared_with_the_device_is_said() {
        let plan = plan(&[0, 1], &[A], &[B], &[1]);
        assert_eq!((&plan.transmit[&A][..], &plan.receive[&B][..]), (&[0][..], &[1][..]));
        assert!(plan.notes.contains(&"tester and device share core 1".to_string()));
    }

    #[test]
    fn nobody_shares_with_a_device_that_polls() {
        let plan = plan_beside(&[0, 1], &[A], &[B, A], (&[1], true));
        assert_eq!(plan.transmit[&A], [0]);
        assert_eq!((&plan.receive[&A][..], &plan.receive[&B][..]), (&[0][..], &[0][..]));
        let plan = plan_beside(&[1], &[A], &[B], (&[1], true));
        assert_eq!(plan.transmit[&A], [1], "there is no other");
        assert_eq!(plan.receive[&B], [1]);
    }

    #[test]
    fn with_cores_to_spare_nobody_shares() {
        let plan = plan(&[0, 1, 2, 3, 4, 5], &[A, B], &[A, B], &[2, 3]);
        let transmitters = plan.transmit.values().flatten();
        let mut used: Vec<_> = transmitters.chain(plan.receive.values().flatten()).collect();
        used.sort();
        used.dedup();
        assert_eq!(used.len(), 4);
        assert_eq!(plan.notes.len(), 1, "{:?}", plan.notes);
    }

    #[test]
    fn each_queue_of_a_port_has_a_core() {
        let plan = plan(&[0, 1, 2], &[A, A], &[B, A, B], &[]);
        assert_eq!((&plan.transmit[&A][..], &plan.receive[&A][..]), (&[0, 1][..], &[2][..]));
        assert_eq!(plan.receive[&B], [2, 2]);
        assert!(plan.notes[0].contains("port 1 receive from queue 1"), "{:?}", plan.notes);
        assert!(plan.notes[0].contains("core 1: port 0 transmit by queue 1"), "{:?}", plan.notes);
    }

    #[test]
    fn two_transmitters_on_one_core_are_said() {
        let plan = plan(&[3], &[A, B], &[A, B], &[]);
        assert!(plan.notes.iter().any(|note| note.contains("2 transmitters share core 3")));
    }
}
