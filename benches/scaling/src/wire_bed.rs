//! Points on real ports: veth pairs whose ports send to one another as fast as they can. Nothing stands
//! between them, so that all that is measured is the tester and the kernel's work for it.

use crate::point::{Axis, Bed, Point, Reading};
use crate::streams::{Keys, host_of, host_of_flow, stream, trial};
use crate::{Failure, meter};
use ports::{LiveOptions, LiveTester, OpenPort, PortRequest, PortType, open_ports};
use testbed::{DeviceKind, Testbed, TestbedConfig};
use trial::{PortId, Schedule, Trial, TrialResult};
use units::{Duration, FrameRate, FrameSize, LineRate};
use wire::ethernet::MacAddr;

/// Of each port, more than it can: what is reached is the limit. The same however many ports there are, since
/// ports send the closer together the higher their rate is.
const UNREACHABLE: FrameRate = FrameRate::from_fps(32_000_000);
/// The shorter trial, and the longer one in its terms.
const SHORT: Duration = Duration::from_ms(300);
const TIMES: u64 = 4;

/// Measures one.
pub fn measure(point: Point) -> Result<Reading, Failure> {
    let ports = if point.axis == Axis::Ports { point.count as usize } else { 2 };
    let bed = Testbed::build(&TestbedConfig { ports, ..TestbedConfig::of(DeviceKind::Loopback) })?;
    let mut tester = LiveTester::new(open(&bed, point.bed)?, LiveOptions::default())?;
    let mut keys = Keys::default();
    let mut trial_of = |times| Ok(trial_at(point, &bed, times, &mut keys));
    meter::read(&mut tester, TIMES, &mut trial_of, &all_accounted)
}

fn open(bed: &Testbed, kind: Bed) -> Result<Vec<OpenPort>, Failure> {
    let port_type = if kind == Bed::Xdp { PortType::XDP } else { PortType::AF_PACKET };
    let opened = bed.tester().run(|| {
        let request = |(id, port): (usize, &testbed::TestPort)| PortRequest {
            id: PortId(id as u16),
            interface: port.interface.clone(),
            port_type,
            nominal_rate: LineRate::from_gbps(10),
            queues: 1,
            largest_frame: FrameSize::from_bytes(1518),
        };
        open_ports(&bed.ports().iter().enumerate().map(request).collect::<Vec<_>>())
    })?;
    Ok(opened?)
}

/// Every port sends to its neighbour; with flows, the first alone.
fn trial_at(point: Point, bed: &Testbed, times: u64, keys: &mut Keys) -> Trial {
    let key = keys.next();
    let mac = |port: u16| MacAddr(bed.ports()[usize::from(port)].mac);
    let (senders, flows) = match point.axis {
        Axis::Ports => (point.count as u16, 1),
        _ => (1, point.count),
    };
    let of = |from: u16| {
        let source = (PortId(from), (mac(from), host_of(from)));
        let destinations = (0..flows).map(|flow| (mac(from ^ 1), host_of_flow(flow)));
        stream(
            (from + 1, key),
            FrameSize::MIN_ETHERNET,
            source,
            destinations,
            vec![PortId(from ^ 1)],
        )
    };
    let schedule = Schedule::constant(UNREACHABLE, SHORT * times);
    trial(key, (0..senders).map(of).collect(), &schedule, vec![])
}

/// It cannot keep up, by intention; but what was sent has to be accounted for.
fn all_accounted(result: &TrialResult) -> Result<(), Failure> {
    let (sent, came) = (result.offered_frames(), result.forwarded_frames());
    match sent {
        0 => Err("nothing was sent".into()),
        _ if came + result.lost_frames() == sent => Ok(()),
        _ => Err(format!("{sent} sent, {came} came, {} lost", result.lost_frames()).into()),
    }
}
