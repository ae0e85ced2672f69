//! Points in virtual time: the device's work is in them, and none of a kernel's.

use crate::point::{Axis, Point, Reading};
use crate::streams::{Destination, Keys, host_of, host_of_flow, mac_of, stream, trial};
use crate::{Failure, meter};
use sim::{Addresses, Description};
use std::net::Ipv4Addr;
use trial::{PortId, Prelude, Schedule, Segment, Stream, Tester, Trial, TrialResult};
use units::{Duration, FrameRate, FrameSize, LineRate};
use wire::ethernet::MacAddr;
use wire::{igmp, learning};

/// Frames of the shorter trial at the least, over all ports, and of the longer one in its terms.
const FRAMES: u64 = 1 << 19;
const TIMES: u64 = 4;
/// What a multicast group is copied to.
const COPIES: u16 = 4;
/// In a report of IGMPv3 that fits an MTU of 1500.
const RECORDS: usize = 183;
/// Of the medium, for nothing to be lost.
const LOAD: f64 = 0.5;
const LINE: LineRate = LineRate::from_gbps(10);
const SWITCH: &str = "line-rate = \"10G\"\nbridge = true\n[output]\nframes = 4096\n";
const MULTICAST: &str = "[multicast]\n";

/// Measures one.
pub fn measure(point: Point) -> Result<Reading, Failure> {
    let (ports, text) = match point.axis {
        Axis::Ports => (point.count as usize, SWITCH.to_owned()),
        Axis::Flows | Axis::LongFlows => (2, SWITCH.to_owned()),
        Axis::Groups => (1 + usize::from(COPIES), format!("{SWITCH}{MULTICAST}")),
    };
    let device = Description::from_toml(&format!("ports = {ports}\n{text}"))?;
    let mut tester = device.tester(&Addresses::plan(ports))?;
    let scene = Scene::of(point, ports as u16);
    let mut keys = Keys::default();
    meter::read(
        &mut tester as &mut dyn Tester,
        TIMES,
        &mut |times| Ok(scene.trial(times, &mut keys)),
        &lossless,
    )
}

/// What is sent at a point.
struct Scene {
    point: Point,
    ports: u16,
    size: FrameSize,
    /// Frames of each sending port in the shorter trial.
    frames: u64,
}

impl Scene {
    fn of(point: Point, ports: u16) -> Scene {
        let senders = if point.axis == Axis::Ports { u64::from(ports) } else { 1 };
        let size = if point.axis == Axis::LongFlows { 1518 } else { 64 };
        let frames = match point.axis {
            Axis::Ports => FRAMES / senders,
            _ => FRAMES.max(point.count),
        };
        Scene { point, ports, size: FrameSize::from_bytes(size), frames }
    }

    fn trial(&self, times: u64, keys: &mut Keys) -> Trial {
        let key = keys.next();
        let streams = match self.point.axis {
            Axis::Ports => (0..self.ports).flat_map(|from| self.mesh(key, from)).collect(),
            Axis::Flows | Axis::LongFlows => {
                let to = (0..self.point.count).map(|flow| (mac_of(1), host_of_flow(flow)));
                vec![stream((1, key), self.size, at(0), to, vec![PortId(1)])]
            }
            Axis::Groups => {
                let to = (0..self.point.count).map(group);
                let all = (1..=COPIES).map(PortId).collect();
                vec![stream((1, key), self.size, at(0), to, all)]
            }
        };
        let rate = FrameRate::from_fps_f64(LINE.max_frame_rate(self.size).fps() * LOAD);
        let schedule = Schedule { segments: vec![Segment::constant(rate, self.frames * times)] };
        trial(key, streams, &schedule, self.prelude())
    }

    /// A stream from a port to each other one, which take turns beginning with the next.
    fn mesh(&self, key: wire::signature::Key, from: u16) -> Vec<Stream> {
        let to = |turn: u16| {
            let to = (from + turn) % self.ports;
            let destination = std::iter::once((mac_of(to), host_of(to)));
            let id = from * self.ports + to;
            stream((id, key), self.size, at(from), destination, vec![PortId(to)])
        };
        (1..self.ports).map(to).collect()
    }

    /// The device learns all ports, and the hosts join their groups.
    fn prelude(&self) -> Vec<Prelude> {
        let of = |port: u16| {
            let mut frames = vec![learning::bridge(mac_of(port))];
            if self.point.axis == Axis::Groups && port > 0 {
                let groups: Vec<_> = (0..self.point.count).map(|g| group(g).1).collect();
                frames.extend(groups.chunks(RECORDS).map(|groups| {
                    let records = groups
                        .iter()
                        .map(|group| igmp::Record {
                            kind: igmp::RecordKind::TO_EXCLUDE,
                            group: *group,
                            sources: vec![],
                        })
                        .collect();
                    igmp::Repr::V3Report { records }.frame((mac_of(port), host_of(port)))
                }));
            }
            Prelude { port: PortId(port), frames, wait: Duration::from_ms(10) }
        };
        (0..self.ports).map(of).collect()
    }
}

fn at(port: u16) -> (PortId, Destination) {
    (PortId(port), (mac_of(port), host_of(port)))
}

fn group(number: u64) -> Destination {
    let group = Ipv4Addr::from_bits(Ipv4Addr::new(239, 192, 0, 1).to_bits() + number as u32);
    (MacAddr::of_ipv4_group(group), group)
}

/// What is not whole is no measurement.
fn lossless(result: &TrialResult) -> Result<(), Failure> {
    match (result.lost_frames(), result.is_valid()) {
        (0, true) => Ok(()),
        (lost, _) => Err(format!("{lost} of {} lost", result.expected_frames()).into()),
    }
}
