//! An AF_XDP port: one socket a receive queue, the first of which also sends. A port that sends by several queues sends
//! by as many sockets, and receives in as many threads, the sockets by turns among them.

use super::bpf::{self, SocketMap, SumMap, XdpMode};
use super::redirect;
use super::socket::{Receiving, Sending, Socket, Transfer};
use super::umem::Layout;
use crate::control::OwnFrames;
use crate::open::TAGS_BYTES;
use crate::pump::FrameSource;
use crate::pumped::{PumpedReceive, PumpedTransmit, TrialSource};
use crate::queues::{AccountQueue, SendQueue, one_queue, receives_by, sends_by};
use crate::sys;
use crate::watch::add_drops;
use crate::{Facts, Halves, Interface, Opened, Port, PortKind, PortType, Room};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use trial::{ArrivalStamp, Capabilities, PortDescription, TesterError};
use units::Instant;
use wire::signature::Form;

/// Frames that a thread of the receive side holds before it overflows, over all its queues: at a million frames
/// a second a stall of 30 ms.
const RECEIVE_CHUNKS: usize = 32 << 10;
/// Of a socket that shares its thread's room with many, or is there to send alone.
const FEWEST_CHUNKS: usize = 64;
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
    fn queues_max(&self) -> u16 {
        trial::QUEUES_MAX
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
        let wanted = (room.queues, room.receive_frames);
        let port = AfXdpPort::open_with_queues(interface, description, wanted)?;
        let notes = port.notes().to_vec();
        Ok((Box::new(port), notes))
    }
}

/// A port whose frames go through AF_XDP sockets.
pub struct AfXdpPort {
    description: PortDescription,
    /// One for each queue by which it sends, at least one.
    transmit: Vec<PumpedTransmit<Sending>>,
    /// One for each thread that receives, at least one.
    receive: Vec<PumpedReceive<Sockets>>,
    notes: Vec<String>,
    // The program is detached first, and the map goes last.
    _link: OwnedFd,
    _map: SocketMap,
}

/// Those that one thread reads.
struct Sockets {
    all: Vec<Receiving>,
    sums: Arc<SumMap>,
}

impl AfXdpPort {
    /// Opens a socket on each of the interface's receive queues, and attaches the program that
    /// feeds them; in the namespace of the calling thread. There is room for so many received
    /// frames (rounded up to a power of two), or for the default number.
    pub fn open(
        interface: &Interface,
        description: PortDescription,
        receive_frames: Option<usize>,
    ) -> Result<Self, TesterError> {
        Self::open_with_queues(interface, description, (1, receive_frames))
    }

    /// The same; it sends by so many queues, at least one, each by a socket of its own, and receives in as many threads,
    /// if there are as many receive queues. Each thread has room for so many frames.
    ///
    /// # Errors
    /// If the interface has fewer queues, its driver takes no program or sockets, or privileges are missing.
    pub fn open_with_queues(
        interface: &Interface,
        description: PortDescription,
        (queues, receive_frames): (u16, Option<usize>),
    ) -> Result<Self, TesterError> {
        let name = interface.name();
        let queues = u32::from(queues.max(1));
        check_queues(interface, queues)?;
        let receive_queues = interface.ethtool().receive_queues();
        let threads = queues.min(receive_queues) as usize;
        let longest_bytes = description.max_frame_size_bytes as usize - 4 + TAGS_BYTES;
        let frames = receive_frames.unwrap_or(RECEIVE_CHUNKS).next_power_of_two();
        let of_thread = (receive_queues as usize).div_ceil(threads);
        let chunks = (frames / of_thread.next_power_of_two()).max(FEWEST_CHUNKS);
        let attached = Attached::new(interface, receive_queues.max(queues))?;
        let layout = |queue| {
            let chunks = if queue < receive_queues { chunks } else { FEWEST_CHUNKS };
            Layout::new(longest_bytes, chunks, TRANSMIT_SLOTS)
        };
        let sockets = attached.sockets(interface, longest_bytes, layout)?;
        let sums = attached.sums.clone();
        let mut notes =
            vec![describe_mode(name, attached.mode, sockets[0].transfer, receive_queues)];
        if queues > 1 {
            notes.push(sends_by(name, queues as u16));
        }
        if receive_queues > 1 {
            let threads =
                if threads > 1 { format!(" in {threads} threads") } else { String::new() };
            notes.push(receives_by(
                name,
                &format!("{receive_queues} receive queues{threads}"),
                &one_queue(name),
            ));
        }
        let (mut sending, mut receiving) = (vec![], vec![]);
        receiving.resize_with(threads, Vec::new);
        for (queue, socket) in sockets.into_iter().enumerate() {
            sending.push(socket.sending);
            receiving[queue % threads].push(socket.receiving);
        }
        let of_queue =
            |(queue, socket)| PumpedTransmit::of_queue(name, socket, longest_bytes, queue);
        let transmit = SendQueue::all(queues as usize).zip(sending).map(of_queue).collect();
        let of_thread = |(queue, sockets)| {
            let sockets = Sockets { all: sockets, sums: sums.clone() };
            PumpedReceive::of_queue(name, sockets, longest_bytes, queue)
        };
        let receive = AccountQueue::all(threads).zip(receiving).map(of_thread).collect();
        let Attached { link: _link, map: _map, .. } = attached;
        Ok(AfXdpPort { description, transmit, receive, notes, _link, _map })
    }

    /// What a reader should know: where the program runs, whether frames are copied.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// A port that was to send by more queues than there are would be slower than it was asked to be.
fn check_queues(interface: &Interface, queues: u32) -> Result<(), TesterError> {
    let (name, has) = (interface.name(), interface.ethtool().transmit_queues());
    if queues == 1 || queues <= has {
        return Ok(());
    }
    Err(TesterError::Unsupported {
        port: name.into(),
        what: format!("sending by {queues} queues on an interface with {has}"),
        remedy: format!(
            "ethtool -L {name} combined {queues} (a veth: ethtool -L {name} rx {queues} tx {queues}, on both ends); a veth \
             that has no more: ip link add ... numtxqueues {queues} numrxqueues {queues}"
        ),
    })
}

/// The program on an interface, and its maps: from queues to sockets, and of what signatures add up to.
struct Attached {
    map: SocketMap,
    sums: Arc<SumMap>,
    link: OwnedFd,
    mode: XdpMode,
    /// Sockets, one a queue.
    queues: u32,
}

impl Attached {
    fn new(interface: &Interface, queues: u32) -> Result<Self, TesterError> {
        let name = interface.name();
        let failed = |what: &str, error: &io::Error| sys::port_error(name, what, error);
        let map = SocketMap::new(queues).map_err(|e| failed("create a map of sockets", &e))?;
        let sums = SumMap::new().map_err(|e| failed("create a map of sums", &e))?;
        let program = bpf::load_program(&redirect::program(map.fd(), sums.fd()))
            .map_err(|error| failed("load the XDP program", &error))?;
        let (link, mode) = attach(name, &program, interface.index())?;
        Ok(Attached { map, sums: Arc::new(sums), link, mode, queues })
    }

    /// Opens a socket on each queue.
    fn sockets(
        &self,
        interface: &Interface,
        longest_bytes: usize,
        layout: impl Fn(u32) -> Layout,
    ) -> Result<Vec<Socket>, TesterError> {
        let name = interface.name();
        let open = |queue| {
            let layout = layout(queue);
            let in_pieces = layout.in_pieces(longest_bytes);
            let socket = open_socket(interface.index(), queue, layout, in_pieces, self.mode)
                .map_err(|error| cannot_open(name, longest_bytes, in_pieces, &error))?;
            self.map
                .insert(queue, socket.fd())
                .map_err(|error| sys::port_error(name, "join a socket to a queue", &error))?;
            Ok(socket)
        };
        (0..self.queues).map(open).collect()
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
        // The kernel's rule for a veth (veth_xdp_set): a queue of the far end would have nowhere to go.
        Some(libc::ENOSPC) => Err(TesterError::Unsupported {
            port: name.into(),
            what: "an XDP program on an interface whose far end has more queues to send than it has to receive".into(),
            remedy: format!("ethtool -L {name} rx NUMBER, with the number of transmit queues of its far end"),
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
        Halves::of_queues(&mut self.transmit, &mut self.receive)
    }
}

impl TrialSource for Sockets {
    fn restart(&mut self, own: &OwnFrames) -> io::Result<()> {
        self.sums.set([Form::Full, Form::Short].map(|form| own.sum(form)))?;
        self.all.iter_mut().try_for_each(Receiving::restart)
    }

    fn drops(&mut self) -> io::Result<Vec<(String, u64)>> {
        let mut sums: Vec<(String, u64)> = vec![];
        for queue in &self.all {
            let drops = queue.drops()?.map(|(counter, frames)| (counter.to_string(), frames));
            add_drops(&mut sums, drops.into());
        }
        Ok(sums)
    }

    fn note(&self) -> Option<String> {
        let unstamped: u64 = self.all.iter().map(Receiving::unstamped).sum();
        let note = format!(
            "{unstamped} frames have the time at which they were read as their arrival, since the \
             driver has no room for a stamp: latency is overstated"
        );
        (unstamped > 0).then_some(note)
    }
}

impl FrameSource for Sockets {
    fn queues(&self) -> usize {
        self.all.len()
    }
    fn take_waiting(&mut self, queue: usize, take: impl FnMut(Instant, &[u8])) -> io::Result<u64> {
        self.all[queue].take_waiting(take)
    }
}
