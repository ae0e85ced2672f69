//! Opening a port: the interface is locked, checked and made fit, then its frames' carrier is
//! set up.

use crate::control::ControlSocket;
use crate::{AfPacketPort, Interface, InterfaceState, Port, PortLock, sys};
use trial::{PortDescription, PortId, TesterError};
use units::{FrameSize, LineRate};

/// Ethernet header (14 bytes) and FCS, which an MTU does not count.
const ETHERNET_OVERHEAD_BYTES: u32 = 18;

/// What a port should be like.
#[derive(Clone, PartialEq, Debug)]
pub struct PortRequest {
    /// Its number in the tester.
    pub id: PortId,
    /// Name of the interface.
    pub interface: String,
    /// Rate from which theoretical maxima are computed, where the driver has none to tell.
    pub nominal_rate: LineRate,
    /// Largest frame that will be sent, VLAN tags included.
    pub largest_frame: FrameSize,
}

/// An open port and what belongs to it.
pub struct OpenPort {
    pub(crate) port: Box<dyn Port>,
    pub(crate) interface: Interface,
    pub(crate) notes: Vec<String>,
    control: ControlSocket,
    _lock: PortLock,
}

/// Opens a port in the network namespace of the calling thread.
pub fn open_port(request: &PortRequest) -> Result<OpenPort, TesterError> {
    let interface = Interface::open(&request.interface)?;
    let lock = PortLock::take(&request.interface, interface.index())?;
    let state = interface.state_if_up()?;
    check_mtu(&request.interface, &state, request.largest_frame)?;
    let left_on = interface.ethtool().disable_offloads();
    let mut notes = vec![];
    if !left_on.is_empty() {
        notes.push(format!(
            "{}: {} could not be switched off; frames may be merged or changed by the interface",
            request.interface,
            left_on.join(", ")
        ));
    }
    let description = describe(request, &interface, &state);
    let port = Box::new(AfPacketPort::open(&interface, description)?);
    let control = ControlSocket::open(interface.index())
        .map_err(|error| sys::port_error(&request.interface, "open a control socket", &error))?;
    Ok(OpenPort { port, interface, notes, control, _lock: lock })
}

impl OpenPort {
    /// What it is.
    pub fn describe(&self) -> &PortDescription {
        self.port.describe()
    }
    /// Its interface.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }
    /// Frames that the tester has answered or consumed itself so far.
    pub(crate) fn control_frames(&self) -> u64 {
        0
    }
    /// Sends single frames at once: learning frames, routing updates.
    pub(crate) fn send_now(&mut self, frames: &[Vec<u8>]) -> Result<(), TesterError> {
        frames
            .iter()
            .try_for_each(|frame| self.control.send(frame))
            .map_err(|error| sys::port_error(self.interface.name(), "send a control frame", &error))
    }
}

fn describe(
    request: &PortRequest,
    interface: &Interface,
    state: &InterfaceState,
) -> PortDescription {
    let speed = interface.ethtool().speed_mbps().filter(|_| state.kind.is_none());
    PortDescription {
        id: request.id,
        name: request.interface.clone(),
        port_type: "af_packet".into(),
        reason: String::new(),
        line_rate: match speed {
            Some(mbps) => LineRate::from_mbps(mbps.into()),
            None => request.nominal_rate,
        },
        line_rate_is_physical: speed.is_some(),
        max_frame_size_bytes: state.mtu_bytes + ETHERNET_OVERHEAD_BYTES,
        mac: mac_text(state.mac),
        driver: interface.ethtool().driver(),
    }
}

fn mac_text(mac: [u8; 6]) -> String {
    let bytes: Vec<String> = mac.iter().map(|byte| format!("{byte:02x}")).collect();
    bytes.join(":")
}

/// A frame longer than the MTU allows would not be sent, or be lost at the far end.
fn check_mtu(name: &str, state: &InterfaceState, largest: FrameSize) -> Result<(), TesterError> {
    let needed = largest.bytes().saturating_sub(ETHERNET_OVERHEAD_BYTES);
    if state.mtu_bytes >= needed {
        return Ok(());
    }
    Err(TesterError::Unsupported {
        port: name.into(),
        what: format!(
            "frames of {} bytes with an MTU of {} bytes, which allows frames of {}",
            largest.bytes(),
            state.mtu_bytes,
            state.mtu_bytes + ETHERNET_OVERHEAD_BYTES
        ),
        remedy: format!("ip link set {name} mtu {needed}, and likewise on the device's side"),
    })
}

/// Makes the process fit for measuring; gives what could not be had, in words.
pub(crate) fn settle_process() -> Vec<String> {
    match sys::lock_memory() {
        Ok(()) => vec![],
        Err(error) => vec![format!(
            "memory is not locked ({error}): paging may delay frames; raise `ulimit -l` or run as \
             root"
        )],
    }
}
