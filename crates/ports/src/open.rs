//! Opening a port: the interface is locked, checked and made fit, then its frames' carrier is
//! set up.

use crate::control::{ControlCounts, ControlHandle, Host, PacketSocket, Responder};
use crate::interface::open_ethtool;
use crate::kind::{self, Facts, Opened, OpenedDevice, PortKind, PortType, Room};
use crate::own_fcs::{self, OwnFcsTransmit};
use crate::shield::Shield;
use crate::{Halves, Interface, Link, Port, PortLock, af_xdp, carrier, probe, sys, xdp};
use kernel::{InterfaceState, Namespace, OffloadsOff, Stamping, thread};
use std::io;
use std::net::IpAddr;
use trial::{PortDescription, PortId, TesterError, TransmitPlan};
use units::{FrameSize, LineRate};
use wire::ethernet::MacAddr;

/// Room for two VLAN tags beyond what the MTU allows.
pub(crate) const TAGS_BYTES: usize = 8;
/// Ethernet header (14 bytes) and FCS, which an MTU does not count.
pub(crate) const ETHERNET_OVERHEAD_BYTES: u32 = 18;

/// What a port should be like.
#[derive(Clone, PartialEq, Debug)]
pub struct PortRequest {
    /// Its number in the tester.
    pub id: PortId,
    /// Name of the interface, or a device of another kind with its arguments.
    pub interface: String,
    /// Rate from which theoretical maxima are computed, where the driver has none to tell.
    pub nominal_rate: LineRate,
    /// Largest frame that will be sent, without VLAN tags.
    pub largest_frame: FrameSize,
    /// What is to carry its frames.
    pub port_type: PortType,
    /// By how many queues it sends, each in a thread of its own; at least one.
    pub queues: u16,
}

/// An open port and what belongs to it.
pub struct OpenPort {
    pub(crate) port: Box<dyn Port>,
    pub(crate) link: Box<dyn Link>,
    pub(crate) notes: Vec<String>,
    pub(crate) namespace: Namespace,
    /// How often its interface had lost or gained its carrier before it was opened.
    carrier_changes: Option<u64>,
    /// Opened for the first trial that needs it.
    own_fcs: Option<OwnFcsTransmit>,
    responder: Responder,
    /// After the port, which wants it as long as it lives.
    _hold: Option<Hold>,
}

/// What an interface is kept in while a port is open on it; given back in this order.
struct Hold {
    _offloads: OffloadsOff,
    _shield: Option<Shield>,
    _lock: PortLock,
}

/// Parts of a port, to be used at the same time.
pub(crate) struct PartsOfPort<'a> {
    pub halves: Halves<'a>,
    pub namespace: &'a Namespace,
    pub link: &'a dyn Link,
}

/// Opens the ports of a tester in the network namespace of the calling thread.
///
/// Where the type is to be chosen, each xdp port sends one frame first, once all are open: a veth
/// takes what an XDP program sends only if its far end polls, and only the attempt tells. If it
/// does not, the next type is taken.
pub fn open_ports(requests: &[PortRequest]) -> Result<Vec<OpenPort>, TesterError> {
    let of = |request: &PortRequest| Room {
        receive_frames: None,
        ports: requests.len(),
        queues: request.queues,
    };
    let opened = requests.iter().map(|request| open_ruled(request, of(request), None));
    let mut ports = opened.collect::<Result<Vec<_>, _>>()?;
    await_carriers(&ports)?;
    for (request, at) in requests.iter().zip(0..) {
        let is_xdp = ports[at].describe().port_type == PortType::XDP.name();
        if request.port_type != PortType::AUTO || !is_xdp {
            continue;
        }
        if let Err(refused) = probe::send_one(ports[at].port.as_mut()) {
            // The interface must be free again before another type can have it.
            drop(ports.remove(at));
            let refused = Some(Err(refused.to_string()));
            ports.insert(at, open_ruled(request, of(request), refused)?);
        }
    }
    // Only now: ports may be each other's far ends.
    await_carriers(&ports)?;
    ports.iter().try_for_each(|port| port.link.await_far_end())?;
    Ok(ports)
}

/// Opens a port in the network namespace of the calling thread; its threads will run there too.
pub fn open_port(request: &PortRequest) -> Result<OpenPort, TesterError> {
    open_port_with_room(request, None)
}

/// As [`open_port`], with room for about so many received frames that wait to be accounted for
/// (AF_PACKET and AF_XDP). More bridges longer stalls of the machine and takes more memory.
pub fn open_port_with_room(
    request: &PortRequest,
    receive_frames: Option<usize>,
) -> Result<OpenPort, TesterError> {
    let room = Room { receive_frames, ports: 1, queues: request.queues };
    let port = open_ruled(request, room, None)?;
    await_carriers(std::slice::from_ref(&port))?;
    port.link.await_far_end()?;
    Ok(port)
}

/// Waits for links that opening has reset.
fn await_carriers(ports: &[OpenPort]) -> Result<(), TesterError> {
    carrier::await_steady(&ports.iter().filter_map(OpenPort::as_opened).collect::<Vec<_>>())
}

/// As [`open_port`], but of a kind of one's own: the request's own type is not looked at.
///
/// # Errors
/// As [`open_port`], and those of the kind.
pub fn open_port_of(kind: &dyn PortKind, request: &PortRequest) -> Result<OpenPort, TesterError> {
    let room = Room { receive_frames: None, ports: 1, queues: request.queues };
    if !kind.has_interface() {
        let port = open_device(kind, request, room)?;
        port.link.await_far_end()?;
        return Ok(port);
    }
    open_with(request, |interface, description| {
        check_queues(kind, interface.name(), room.queues)?;
        open_as(kind, "asked for", interface, description, room)
    })
}

/// Opens a port of a kind, for a reason.
fn open_as(
    kind: &dyn PortKind,
    reason: &str,
    interface: &Interface,
    mut description: PortDescription,
    room: Room,
) -> Result<Opened, TesterError> {
    description.port_type = kind.name().into();
    description.reason = reason.into();
    description.capabilities = kind.capabilities();
    kind.open(interface, description, room)
}

/// A port that was to send by several queues and cannot is refused: it would be slower than it was asked to be.
fn check_queues(kind: &dyn PortKind, port: &str, queues: u16) -> Result<(), TesterError> {
    if queues <= kind.queues_max() {
        return Ok(());
    }
    let remedy = match kind.queues_max() {
        1 if kind.name() == "agent" => "leave --queues out: ports of agents have one".into(),
        1 => "leave --queues out, or use --port-type xdp or af_xdp, whose ports can".into(),
        most => format!("{most} are the most"),
    };
    Err(TesterError::Unsupported {
        port: port.into(),
        what: format!("sending by {queues} queues on a port of type {}", kind.name()),
        remedy,
    })
}

/// Opens a port that is no interface of the kernel. Its far end may not be there yet.
fn open_device(
    kind: &dyn PortKind,
    request: &PortRequest,
    room: Room,
) -> Result<OpenPort, TesterError> {
    check_queues(kind, &request.interface, room.queues)?;
    let description = PortDescription {
        id: request.id,
        name: request.interface.clone(),
        port_type: kind.name().into(),
        reason: "asked for".into(),
        capabilities: kind.capabilities(),
        line_rate: request.nominal_rate,
        line_rate_is_physical: false,
        max_frame_size_bytes: request.largest_frame.bytes(),
        mac: String::new(),
        driver: String::new(),
    };
    let OpenedDevice { port, link, control, notes } =
        kind.open_device(request, description, room)?;
    let name = link.name().to_owned();
    let responder = Responder::start(control, link.index().into())
        .map_err(|error| sys::port_error(&name, "start its control side", &error))?;
    let namespace = Namespace::current()
        .map_err(|error| sys::port_error(&name, "look up the network namespace", &error.into()))?;
    Ok(OpenPort {
        port,
        link,
        notes,
        namespace,
        carrier_changes: None,
        own_fcs: None,
        responder,
        _hold: None,
    })
}

fn open_ruled(
    request: &PortRequest,
    room: Room,
    xdp_sends: Option<Result<(), String>>,
) -> Result<OpenPort, TesterError> {
    if let Some(kind) = request.port_type.kind().filter(|kind| !kind.has_interface()) {
        return open_device(kind, request, room);
    }
    open_with(request, |interface, description| {
        open_chosen(request, interface, description, room, xdp_sends)
    })
}

/// Everything about opening a port but what carries its frames.
fn open_with(
    request: &PortRequest,
    open: impl FnOnce(&Interface, PortDescription) -> Result<Opened, TesterError>,
) -> Result<OpenPort, TesterError> {
    let interface = Interface::open(&request.interface)?;
    let lock = PortLock::take(&request.interface, interface.index())?;
    let state = interface.state_if_up()?;
    check_mtu(&request.interface, &state, request.largest_frame)?;
    let failed = |what, error: io::Error| sys::port_error(&request.interface, what, &error);
    let offloads = OffloadsOff::new(open_ethtool(&request.interface)?);
    let mut notes = vec![];
    if !offloads.left_on().is_empty() {
        notes.push(format!(
            "{}: {} could not be switched off; frames may be merged or changed by the interface",
            request.interface,
            offloads.left_on().join(", ")
        ));
    }
    let responder = PacketSocket::open(interface.index())
        .and_then(|socket| Responder::start(Box::new(socket), interface.index().into()))
        .map_err(|error| failed("open a control socket", error))?;
    let namespace = Namespace::current()
        .map_err(|error| failed("look up its network namespace", error.into()))?;
    let description = describe(request, &interface, &state);
    let (port, more_notes) = open(&interface, description)?;
    notes.extend(more_notes);
    notes.extend(unused_stamps(&interface));
    let _shield = raise_shield(port.describe(), &interface, &mut notes);
    let hold = Hold { _offloads: offloads, _shield, _lock: lock };
    Ok(OpenPort {
        port,
        link: Box::new(interface),
        notes,
        namespace,
        carrier_changes: Some(state.carrier_changes),
        own_fcs: None,
        responder,
        _hold: Some(hold),
    })
}

/// That the card could stamp frames better than the port does.
fn unused_stamps(interface: &Interface) -> Option<String> {
    let Stamping { hardware, .. } = interface.ethtool().stamping().ok()?;
    let name = interface.name();
    let what = "could stamp every frame (ethtool -T), which netanvil does not use";
    hardware.then(|| format!("{name}: its card {what}"))
}

/// Keeps arrivals from the host's own stack, where they would reach it.
fn raise_shield(
    port: &PortDescription,
    interface: &Interface,
    notes: &mut Vec<String>,
) -> Option<Shield> {
    if !port.capabilities.arrivals_reach_host {
        return None;
    }
    let shield = Shield::raise(interface.name(), interface.index());
    let note = |error: &io::Error| {
        notes.push(format!(
            "{}: what arrives also goes through the kernel's own stack, which costs rate \
             (nftables at ingress: {error})",
            interface.name()
        ));
    };
    shield.inspect_err(note).ok()
}

/// Opens the type asked for; `auto` is the first of [`KINDS`](crate::KINDS) that works here.
fn open_chosen(
    request: &PortRequest,
    interface: &Interface,
    description: PortDescription,
    room: Room,
    xdp_sends: Option<Result<(), String>>,
) -> Result<Opened, TesterError> {
    let mut facts = Facts {
        xdp_sends,
        xdp_frame_size_max_bytes: (af_xdp::longest_live_frame_bytes() + 4) as u32,
        xdp_built: xdp::available().map_err(String::from),
        bpf_allowed: af_xdp::bpf_allowed(),
        driver_xdp: None,
        frame_size_bytes: request.largest_frame.bytes(),
        ports_and_cores: (room.ports, thread::allowed_cores().len()),
    };
    let mut choice = kind::choose(request.port_type, &facts);
    loop {
        let kind = choice.port_type.kind().expect("a choice is a kind");
        check_queues(kind, interface.name(), room.queues)?;
        let opened = open_as(kind, &choice.reason, interface, description.clone(), room);
        let error = match opened {
            Err(error @ (TesterError::Unsupported { .. } | TesterError::System { .. })) => error,
            opened => return opened,
        };
        facts.driver_xdp = Some(Err(error.to_string()));
        let next = kind::choose(request.port_type, &facts);
        if next.port_type == choice.port_type {
            return Err(error);
        }
        choice = next;
    }
}

impl OpenPort {
    /// What it is.
    pub fn describe(&self) -> &PortDescription {
        self.port.describe()
    }
    /// What it stands on.
    pub fn link(&self) -> &dyn Link {
        &*self.link
    }
    /// Its link, and how often that had changed before it was opened, where the kernel counts that.
    fn as_opened(&self) -> Option<(&dyn Link, u64)> {
        Some((&*self.link, self.carrier_changes?))
    }
    /// Its interface of the kernel, where it is one.
    pub fn interface(&self) -> Option<&Interface> {
        self.link.interface()
    }
    /// From now on answers ARP and neighbour discovery for these hosts. Queries for members of multicast groups
    /// are answered by hosts that have joined some, played or not.
    pub fn play(&self, hosts: Vec<Host>) {
        self.responder.set_hosts(hosts);
    }
    /// A way to its control side, for whoever does not hold the port while a trial runs.
    pub fn control(&self) -> ControlHandle {
        self.responder.handle()
    }
    /// Asks for the hardware address of a gateway, from an address of the tester's.
    pub fn resolve(
        &self,
        from: (MacAddr, IpAddr),
        gateway: IpAddr,
    ) -> Result<MacAddr, TesterError> {
        self.responder.resolve(self.link.name(), from, gateway)
    }
    /// Replies of SNMP agents that have arrived since they were taken last: whole frames without
    /// FCS.
    pub fn take_snmp_replies(&self) -> Vec<Vec<u8>> {
        self.responder.take_replies()
    }
    /// Sends single frames (without FCS) at once: learning frames, routing updates.
    pub fn send_now(&self, frames: &[Vec<u8>]) -> Result<(), TesterError> {
        self.responder
            .send(frames)
            .map_err(|error| sys::port_error(self.link.name(), "send a control frame", &error))
    }
    /// Makes ready for frames with an FCS of ours; an error where the interface's driver takes none.
    pub(crate) fn open_own_fcs(&mut self) -> Result<(), TesterError> {
        if self.own_fcs.is_some() {
            return Ok(());
        }
        let Some(interface) = self.link.interface() else {
            return Err(self.no_own_fcs());
        };
        let (name, index) = (interface.name().to_string(), interface.index());
        let longest_bytes = self.describe().max_frame_size_bytes as usize + TAGS_BYTES;
        let opened = self.namespace.run(|| own_fcs::open(&name, index, longest_bytes));
        let opened = opened.map_err(io::Error::from).flatten();
        let failed = |error| sys::port_error(&name, "open a socket for frames with FCS", &error);
        self.own_fcs = opened.map_err(failed)?;
        match self.own_fcs {
            Some(_) => Ok(()),
            None => Err(self.no_own_fcs()),
        }
    }

    fn no_own_fcs(&self) -> TesterError {
        let driver = &self.describe().driver;
        let why = match self.link.interface() {
            Some(_) => format!("its driver ({driver}) makes every FCS itself"),
            None => {
                format!("a port without an interface of the kernel ({driver}) cannot send them")
            }
        };
        TesterError::Unsupported {
            port: self.link.name().into(),
            what: "frames with a bad FCS".into(),
            remedy: format!(
                "{why}; use a card whose driver in the kernel takes it from its user (SO_NOFCS): \
                 e1000, igb, ixgbe"
            ),
        }
    }
    /// Its two halves, for whoever runs them without a [`LiveTester`](crate::LiveTester), and what they stand on.
    pub fn parts(&mut self) -> (Halves<'_>, &Namespace, &dyn Link) {
        (self.port.halves(), &self.namespace, &*self.link)
    }
    /// What a reader of its results should know of it.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
    /// The two halves of the port for such a plan.
    pub(crate) fn halves_for(&mut self, plan: Option<&TransmitPlan>) -> Halves<'_> {
        self.parts_for(plan).halves
    }
    /// What a trial with such a plan needs of the port: frames with a bad FCS have their own way out.
    pub(crate) fn parts_for(&mut self, plan: Option<&TransmitPlan>) -> PartsOfPort<'_> {
        let is_bad = plan.is_some_and(|plan| plan.set.streams().iter().any(|s| s.bad_fcs));
        let halves = self.port.halves();
        let halves = match &mut self.own_fcs {
            Some(own) if is_bad => Halves { transmit: own, more_queues: vec![], ..halves },
            _ => halves,
        };
        PartsOfPort { halves, namespace: &self.namespace, link: &*self.link }
    }
    /// What its control side has seen so far.
    pub(crate) fn control_counts(&self) -> ControlCounts {
        self.responder.counts()
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
        port_type: request.port_type.name().into(),
        reason: String::new(),
        capabilities: Default::default(),
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
    match thread::lock_memory() {
        Ok(()) => vec![],
        Err(error) => vec![format!(
            "memory is not locked ({error}): paging may delay frames; raise `ulimit -l` or run as \
             root"
        )],
    }
}
