//! A port on a device of DPDK: sink and source with their meaning as a [`Port`].

use super::arguments::DeviceArguments;
use super::control::DeviceControl;
use super::device::Device;
use super::device_link::DeviceLink;
use super::eal::eal;
use super::flow::{Sink, Source};
use super::trial_time::TrialTime;
use crate::open::{ETHERNET_OVERHEAD_BYTES, TAGS_BYTES};
use crate::pumped::{PumpedReceive, PumpedTransmit};
use crate::queues::{AccountQueue, SendQueue, receives_by, sends_by};
use crate::{Halves, OpenedDevice, Port, PortRequest};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use trial::{PortDescription, TesterError};
use units::{FrameSize, LineRate};

const USUAL_MTU_BYTES: u32 = 1_500;
/// Control frames that wait for the control side while a trial runs.
const CONTROL_FRAMES: usize = 4_096;

struct DpdkPort {
    description: PortDescription,
    /// One for each queue, at least one.
    transmit: Vec<PumpedTransmit<Sink>>,
    receive: Vec<PumpedReceive<Source>>,
}

impl Port for DpdkPort {
    fn describe(&self) -> &PortDescription {
        &self.description
    }
    fn halves(&mut self) -> Halves<'_> {
        Halves::of_queues(&mut self.transmit, &mut self.receive)
    }
}

/// Opens a port on the device that the request names, with so many queues each way; its link may not be up yet.
pub(super) fn open(
    request: &PortRequest,
    mut description: PortDescription,
    queues: u16,
) -> Result<OpenedDevice, TesterError> {
    let queues = queues.max(1);
    let arguments = DeviceArguments::parse(&request.interface)?.with_queues(queues)?;
    let eal = eal().map_err(|detail| TesterError::System {
        what: format!("open port dpdk:{}", request.interface),
        detail,
    })?;
    let mtu_bytes = mtu_for(request.largest_frame);
    let longest_bytes = (mtu_bytes + ETHERNET_OVERHEAD_BYTES) as usize - 4 + TAGS_BYTES;
    let room = (queues, longest_bytes, mtu_bytes);
    let device = Arc::new(Device::attach(eal, arguments, room)?);
    let attached = device.attached;
    check_mtu(&device, request.largest_frame)?;
    let mac = own_mac(&device);
    let name = device.arguments.name.clone();
    let (link, is_promiscuous) = DeviceLink::start(device.clone(), mac);
    let mut notes = vec![format!(
        "{name}: DPDK {}, driver {}, {} huge pages; arrivals are stamped by the program that takes them",
        eal.shim.release().trim_start_matches("DPDK "),
        attached.driver(),
        if eal.has_huge_pages { "with" } else { "without" },
    )];
    if is_promiscuous == Some(false) && device.arguments.is_pci {
        notes.push(format!("{name}: receives frames to its own MAC address and to groups alone"));
    }
    if queues > 1 {
        notes.push(sends_by(&name, queues));
        let places = format!("{queues} receive queues in as many threads");
        notes.push(receives_by(&name, &places, "leave --queues out"));
    }
    let speed = device.speed_mbps();
    description.name = name.clone();
    description.line_rate =
        speed.map_or(request.nominal_rate, |mbps| LineRate::from_mbps(mbps.into()));
    description.line_rate_is_physical = speed.is_some();
    description.max_frame_size_bytes = attached.mtu_bytes + ETHERNET_OVERHEAD_BYTES;
    description.mac = wire::ethernet::MacAddr(mac).to_string();
    description.driver = attached.driver();
    let time = Arc::new(TrialTime::of(queues.into()));
    let (to_control, from_trials) = sync_channel(CONTROL_FRAMES);
    let control = DeviceControl::new(&device, time.clone(), from_trials);
    let longest_bytes = device.longest_bytes;
    let transmit = SendQueue::all(queues.into()).map(|queue| {
        let sink = Sink::new(device.clone(), queue.number);
        PumpedTransmit::of_queue(&name, sink, longest_bytes, queue)
    });
    let receive = AccountQueue::all(queues.into()).map(|queue| {
        let source = Source::new((device.clone(), queue.number), time.clone(), to_control.clone());
        PumpedReceive::of_queue(&name, source, longest_bytes, queue)
    });
    let (transmit, receive) = (transmit.collect(), receive.collect());
    let port = DpdkPort { description, transmit, receive };
    Ok(OpenedDevice {
        port: Box::new(port),
        link: Box::new(link),
        control: Box::new(control),
        notes,
    })
}

fn mtu_for(largest: FrameSize) -> u32 {
    largest.bytes().saturating_sub(ETHERNET_OVERHEAD_BYTES).max(USUAL_MTU_BYTES)
}

fn check_mtu(device: &Device, largest: FrameSize) -> Result<(), TesterError> {
    let needed = largest.bytes().saturating_sub(ETHERNET_OVERHEAD_BYTES);
    let mtu = device.attached.mtu_bytes;
    if mtu >= needed {
        return Ok(());
    }
    Err(TesterError::Unsupported {
        port: device.arguments.name.clone(),
        what: format!(
            "frames of {} bytes: its driver ({}) has an MTU of {mtu} bytes at most",
            largest.bytes(),
            device.attached.driver()
        ),
        remedy: format!("use frames of {} bytes at most", mtu + ETHERNET_OVERHEAD_BYTES),
    })
}

/// Some drivers, such as that of rings, give no address: then a locally administered one with the port's number.
fn own_mac(device: &Device) -> [u8; 6] {
    match device.attached.mac {
        [0, 0, 0, 0, 0, 0] => {
            let [high, low] = device.attached.port.to_be_bytes();
            [2, 0, 0, 0xd9, high, low]
        }
        mac => mac,
    }
}
