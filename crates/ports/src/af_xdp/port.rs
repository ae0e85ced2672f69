//! An AF_XDP port: one socket a receive queue, the first of which also sends.

use super::bpf::{self, SocketMap, XdpMode};
use super::redirect;
use super::socket::{Receiving, Sending, Socket, Transfer};
use super::umem::Layout;
use crate::open::TAGS_BYTES;
use crate::pump::FrameSource;
use crate::pumped::{PumpedReceive, PumpedTransmit, TrialSource};
use crate::sys;
use crate::{Facts, Halves, Interface, Opened, Port, PortKind, PortType, Room};
use std::io;
use std::os::fd::OwnedFd;
use trial::{ArrivalStamp, Capabilities, PortDescription, TesterError};
use units::Instant;

/// Frames that the receive side holds before it overflows, over all queues: at a million frames
/// a second a stall of 30 ms.
const RECEIVE_CHUNKS: usize = 32 << 10;
const TRANSMIT_SLOTS: usize = 256;

/// The kind.
pub struct AfXdp;

impl PortKind for AfXdp {
    fn name(&self) -> &'static str {
        PortType::AF_XDP.name()
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            arrivals: ArrivalStamp::Program,
            drops_in_interface: true,
            ..Capabilities::default()
        }
    }
    fn suits(&self, facts: &Facts) -> Result<String, String> {
        facts.driver_runs_programs()?;
        Ok("past the kernel's stack".into())
    }
    fn open(
        &self,
        interface: &Interface,
        description: PortDescription,
        room: Room,
    ) -> Result<Opened, TesterError> {
        let port = AfXdpPort::open(interface, description, room.receive_frames)?;
        let notes = port.notes().to_vec();
        Ok((Box::new(port), notes))
    }
}

/// A port whose frames go through AF_XDP sockets.
pub struct AfXdpPort {
    description: PortDescription,
    transmit: PumpedTransmit<Sending>,
    receive: PumpedReceive<Queues>,
    notes: Vec<String>,
    // The program is detached first, and the map goes last.
    _link: OwnedFd,
    _map: SocketMap,
}

struct Queues(Vec<Receiving>);

impl AfXdpPort {
    /// Opens a socket on each of the interface's receive queues, and attaches the program that
    /// feeds them; in the namespace of the calling thread. There is room for so many received
    /// frames (rounded up to a power of two), or for the default number.
    pub fn open(
        interface: &Interface,
        description: PortDescription,
        receive_frames: Option<usize>,
    ) -> Result<Self, TesterError> {
        let name = interface.name().to_string();
        let failed = |what: &str, error: &io::Error| sys::port_error(&name, what, error);
        let longest_bytes = description.max_frame_size_bytes as usize - 4 + TAGS_BYTES;
        let queues = interface.ethtool().receive_queues();
        let frames = receive_frames.unwrap_or(RECEIVE_CHUNKS).next_power_of_two();
        let chunks = (frames / (queues as usize).next_power_of_two()).max(64);
        let layout = Layout::new(longest_bytes, chunks, TRANSMIT_SLOTS);
        let map = SocketMap::new(queues).map_err(|e| failed("create a map of sockets", &e))?;
        let program = bpf::load_program(&redirect::program(map.fd()))
            .map_err(|error| failed("load the XDP program", &error))?;
        let (link, mode) = attach(&name, &program, interface.index())?;
        let in_pieces = layout.in_pieces(longest_bytes);
        let mut sockets = vec![];
        for queue in 0..queues {
            let socket = open_socket(interface.index(), queue, layout, in_pieces, mode)
                .map_err(|error| cannot_open(&name, longest_bytes, in_pieces, &error))?;
            map.insert(queue, socket.fd()).map_err(|e| failed("join a socket to a queue", &e))?;
            sockets.push(socket);
        }
        let notes = vec![describe_mode(&name, mode, sockets[0].transfer, queues)];
        let mut receiving = vec![];
        let mut sending = None;
        for socket in sockets {
            sending.get_or_insert(socket.sending);
            receiving.push(socket.receiving);
        }
        let socket = sending.expect("an interface has at least one queue");
        Ok(AfXdpPort {
            description,
            transmit: PumpedTransmit::new(&name, socket, longest_bytes),
            receive: PumpedReceive::new(&name, Queues(receiving), longest_bytes),
            notes,
            _link: link,
            _map: map,
        })
    }

    /// What a reader should know: where the program runs, whether frames are copied.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// In the driver if it can, else behind it.
fn attach(name: &str, program: &OwnedFd, ifindex: u32) -> Result<(OwnedFd, XdpMode), TesterError> {
    let driver = bpf::attach(program, ifindex, XdpMode::Driver);
    let error = match driver {
        Ok(link) => return Ok((link, XdpMode::Driver)),
        Err(error) => error,
    };
    match error.raw_os_error() {
        Some(libc::EBUSY | libc::EEXIST) => Err(TesterError::System {
            what: format!("open port {name} as af_xdp"),
            detail: format!(
                "another XDP program is attached to it, perhaps another tester's; end that \
                 program, or take it off with: ip link set dev {name} xdp off"
            ),
        }),
        Some(libc::EOPNOTSUPP | libc::EINVAL) => bpf::attach(program, ifindex, XdpMode::Generic)
            .map(|link| (link, XdpMode::Generic))
            .map_err(|error| sys::port_error(name, "attach an XDP program", &error)),
        _ => Err(sys::port_error(name, "attach an XDP program", &error)),
    }
}

/// Without copying if the driver can. Where the kernel copies, it takes chunks wherever they lie,
/// and keeps but one description of a chunk at work instead of one for each.
fn open_socket(
    ifindex: u32,
    queue: u32,
    layout: Layout,
    in_pieces: bool,
    mode: XdpMode,
) -> io::Result<Socket> {
    let open = |transfer| {
        let layout = if transfer == Transfer::Copy { layout.spread() } else { layout };
        Socket::open(ifindex, queue, layout, in_pieces, transfer)
    };
    match mode {
        XdpMode::Driver => open(Transfer::ZeroCopy).or_else(|_| open(Transfer::Copy)),
        XdpMode::Generic => open(Transfer::Copy),
    }
}

fn cannot_open(
    name: &str,
    longest_bytes: usize,
    in_pieces: bool,
    error: &io::Error,
) -> TesterError {
    match error.raw_os_error() {
        Some(libc::EOPNOTSUPP | libc::EINVAL) if in_pieces => TesterError::Unsupported {
            port: name.into(),
            what: format!(
                "AF_XDP with frames of {} bytes, which take several pieces ({error})",
                longest_bytes + 4
            ),
            remedy: "use --port-type af_packet, or Linux 6.6 or newer with a driver that can, or \
                     a smaller MTU"
                .into(),
        },
        Some(libc::ENOBUFS | libc::ENOMEM) => TesterError::System {
            what: format!("{name}: reserve memory for AF_XDP"),
            detail: format!("{error}; raise `ulimit -l`, or run as root"),
        },
        Some(libc::EBUSY) => TesterError::System {
            what: format!("open port {name} as af_xdp"),
            detail: "another AF_XDP socket is bound to its queue; end the program that owns it"
                .into(),
        },
        _ => sys::port_error(name, "open an AF_XDP socket", error),
    }
}

fn describe_mode(name: &str, mode: XdpMode, transfer: Transfer, queues: u32) -> String {
    let mode = match mode {
        XdpMode::Driver => "in the driver",
        XdpMode::Generic => "behind the driver (generic XDP)",
    };
    let transfer = match transfer {
        Transfer::ZeroCopy => "zero-copy",
        Transfer::Copy => "copying",
    };
    format!(
        "{name}: AF_XDP {mode}, {transfer}, {queues} receive queue(s); arrivals are stamped by the \
         XDP program"
    )
}

impl Port for AfXdpPort {
    fn describe(&self) -> &PortDescription {
        &self.description
    }
    fn halves(&mut self) -> Halves<'_> {
        Halves::of(&mut self.transmit, &mut self.receive)
    }
}

impl TrialSource for Queues {
    fn restart(&mut self) -> io::Result<()> {
        self.0.iter_mut().try_for_each(Receiving::restart)
    }

    fn drops(&mut self) -> io::Result<Vec<(String, u64)>> {
        let mut sums: Vec<(String, u64)> = vec![];
        for queue in &self.0 {
            for (index, (counter, frames)) in queue.drops()?.into_iter().enumerate() {
                match sums.get_mut(index) {
                    Some((_, sum)) => *sum += frames,
                    None => sums.push((counter.into(), frames)),
                }
            }
        }
        Ok(sums)
    }

    fn note(&self) -> Option<String> {
        let unstamped: u64 = self.0.iter().map(Receiving::unstamped).sum();
        let note = format!(
            "{unstamped} frames have the time at which they were read as their arrival, since the \
             driver has no room for a stamp: latency is overstated"
        );
        (unstamped > 0).then_some(note)
    }
}

impl FrameSource for Queues {
    fn take_waiting(&mut self, mut take: impl FnMut(Instant, &[u8])) -> io::Result<u64> {
        let mut taken = 0;
        for queue in &mut self.0 {
            taken += queue.take_waiting(&mut take)?;
        }
        Ok(taken)
    }
}
