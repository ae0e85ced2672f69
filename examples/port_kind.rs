//! A kind of port in one file: a packet socket, one system call a frame. It is slow, and it keeps the rules:
//! pace and accounts are those of [`Transmitter`] and [`Receiver`], and what it loses itself it says.
//! As root: `cargo run --example port_kind`

use nix::sys::socket::{
    AddressFamily, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType, bind, recvfrom, send,
    socket,
};
use ports::clock::{self, TICK};
use ports::{
    Halves, Interface, LiveOptions, LiveTester, Opened, Port, PortKind, PortRequest, PortType,
    ReceiveHalf, Room, Transmission, TransmitHalf, TrialSignals, open_port_of,
};
use std::error::Error;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};
use testbed::{DeviceKind, Testbed, TestbedConfig};
use traffic::template::FrameTemplate;
use trial::{
    ArrivalStamp, Capabilities, PortDescription, PortId, PortReceived, ReceivePlan, Receiver,
    Schedule, Stream, StreamId, Tester, TesterError, TransmitPlan, Transmitter, Trial, Waits,
};
use units::{Duration, FrameRate, FrameSize, Instant, LineRate};
use wire::{ethernet::MacAddr, signature::Key};

/// What a frame takes at most, two VLAN tags included.
const LONGEST_BYTES: usize = 65_536;
/// The kernel's mark of a frame that somebody sent out of the interface (`PACKET_OUTGOING`).
const OUTGOING: u8 = 4;

/// The kind.
struct PlainSocket;

impl PortKind for PlainSocket {
    fn name(&self) -> &'static str {
        "plain_socket"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            arrivals: ArrivalStamp::Program,
            arrivals_reach_host: true,
            ..Capabilities::default()
        }
    }

    fn open(
        &self,
        interface: &Interface,
        description: PortDescription,
        _: Room,
    ) -> Result<Opened, TesterError> {
        let opened = || -> nix::Result<(OwnedFd, OwnedFd)> {
            let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
            let all = SockProtocol::EthAll;
            let socket = socket(AddressFamily::Packet, SockType::Raw, flags, all)?;
            let own =
                |entry: &nix::ifaddrs::InterfaceAddress| entry.interface_name == interface.name();
            let entry = nix::ifaddrs::getifaddrs()?.filter(own);
            let address = entry.filter_map(|entry| entry.address?.as_link_addr().copied()).next();
            bind(socket.as_raw_fd(), &address.ok_or(nix::Error::ENODEV)?)?;
            let other = socket.try_clone().map_err(|_| nix::Error::EMFILE)?;
            Ok((socket, other))
        };
        let (sending, receiving) =
            opened().map_err(|error| failed("open a packet socket", error))?;
        let counted = Interface::open(interface.name())?;
        let receive = Receive { socket: receiving, counted, before_frames: 0, taken_frames: 0 };
        let transmit = Transmit { socket: sending };
        Ok((Box::new(PlainPort { description, transmit, receive }), vec![]))
    }
}

fn failed(what: &str, error: nix::Error) -> TesterError {
    TesterError::System { what: what.into(), detail: error.to_string() }
}

struct PlainPort {
    description: PortDescription,
    transmit: Transmit,
    receive: Receive,
}

impl Port for PlainPort {
    fn describe(&self) -> &PortDescription {
        &self.description
    }
    fn halves(&mut self) -> Halves<'_> {
        Halves::of(&mut self.transmit, &mut self.receive)
    }
}

struct Transmit {
    socket: OwnedFd,
}

impl TransmitHalf for Transmit {
    fn prepare(&mut self, _plan: &TransmitPlan) -> Result<(), TesterError> {
        Ok(())
    }

    fn transmit(
        &mut self,
        plan: &TransmitPlan,
        start: Instant,
        stop_at: Instant,
        signals: &TrialSignals,
    ) -> Result<Transmission, TesterError> {
        let mut transmitter = Transmitter::new(plan, start, TICK);
        let mut frame = vec![0; plan.set.longest_bytes()];
        let mut not_sent_frames = 0;
        while let Some(due) = transmitter.next_due() {
            if due >= stop_at || signals.stopped() {
                break;
            }
            let emitted = transmitter.emit(clock::wait_until(due), &mut frame);
            let bytes = &frame[..emitted.len_bytes];
            match send(self.socket.as_raw_fd(), bytes, MsgFlags::empty()) {
                Ok(_) => {}
                // No room: it was counted as sent, so that it is said that it was not.
                Err(nix::Error::EAGAIN | nix::Error::ENOBUFS) => not_sent_frames += 1,
                Err(error) => return Err(failed("send a frame", error)),
            }
        }
        Ok(Transmission { report: transmitter.into_report(), not_sent_frames, notes: vec![] })
    }
}

struct Receive {
    socket: OwnedFd,
    /// The interface, which counts what the socket should have given.
    counted: Interface,
    before_frames: u64,
    taken_frames: u64,
}

impl Receive {
    /// The next frame that waits; frames that were sent out of the interface are passed over.
    fn next<'a>(&self, room: &'a mut [u8]) -> Result<Option<&'a [u8]>, TesterError> {
        loop {
            match recvfrom::<LinkAddr>(self.socket.as_raw_fd(), room) {
                Ok((_, Some(from))) if from.pkttype() == OUTGOING => {}
                Ok((len, _)) => return Ok(Some(&room[..len])),
                Err(nix::Error::EAGAIN) => return Ok(None),
                Err(error) => return Err(failed("receive a frame", error)),
            }
        }
    }
}

impl ReceiveHalf for Receive {
    fn prepare(&mut self, _plan: &ReceivePlan) -> Result<(), TesterError> {
        let mut room = vec![0; LONGEST_BYTES];
        while self.next(&mut room)?.is_some() {}
        self.before_frames = self.counted.state()?.counters.rx_frames;
        self.taken_frames = 0;
        Ok(())
    }

    fn receive(
        &mut self,
        plan: &ReceivePlan,
        signals: &TrialSignals,
    ) -> Result<PortReceived, TesterError> {
        let mut receiver = Receiver::new(plan, Instant::ZERO, TICK);
        let mut room = vec![0; LONGEST_BYTES];
        loop {
            // Read before the frames are: what arrives after closing belongs to no trial.
            let closed = signals.closed();
            if let Some(start) = signals.start() {
                receiver.set_start(start);
            }
            receiver.set_deadline(signals.deadline());
            match (self.next(&mut room)?, closed) {
                (Some(frame), _) => {
                    receiver.absorb(clock::now(), frame);
                    self.taken_frames += 1;
                    signals.note_arrivals(
                        plan.port,
                        self.taken_frames,
                        receiver.expected_arrivals(),
                    );
                    signals.note_longest_delay(plan.port, receiver.longest_delay());
                    signals.note_leftover(plan.port, receiver.last_leftover());
                }
                (None, Some(sent)) => {
                    return Ok(receiver.into_received(|id| sent.get(&id).copied().unwrap_or(0)));
                }
                (None, None) => clock::sleep(Duration::from_us(50)),
            }
        }
    }

    fn drops(&mut self) -> Result<Vec<(String, u64)>, TesterError> {
        let came = self.counted.state()?.counters.rx_frames - self.before_frames;
        Ok(vec![("not given by the socket".into(), came.saturating_sub(self.taken_frames))])
    }
}

/// 200 frames from port to port of a veth pair.
fn main() -> Result<(), Box<dyn Error>> {
    let bed = Testbed::build(&TestbedConfig::of(DeviceKind::Loopback))?;
    let requests = bed.ports().iter().map(|port| PortRequest {
        id: PortId(port.port as u16),
        interface: port.interface.clone(),
        nominal_rate: LineRate::from_gbps(1),
        queues: 1,
        largest_frame: FrameSize::from_bytes(1518),
        port_type: PortType::AUTO,
    });
    let requests: Vec<PortRequest> = requests.collect();
    let open = |request| open_port_of(&PlainSocket, request);
    let opened = bed.tester().run(|| requests.iter().map(open).collect::<Result<Vec<_>, _>>())?;
    let mut tester = LiveTester::new(opened?, LiveOptions::default())?;

    let end = |n: usize| (MacAddr(bed.ports()[n].mac), Ipv4Addr::new(198, 18, n as u8, 2));
    let frames = FrameTemplate::udp_ipv4(end(0), end(1));
    // A busy machine may hold the tester up: such a trial says so, and is made again.
    for attempt in 1..=5 {
        let (key, ports) = (Key::from_seed(attempt), (PortId(0), PortId(1)));
        let stream = Stream::new(StreamId(1), ports, &frames, FrameSize::from_bytes(128), key)?;
        let schedule = Schedule::constant(FrameRate::from_fps(1_000), Duration::from_ms(200));
        let waits = Waits::fixed(Duration::from_ms(200), Duration::ZERO);
        let trial = Trial { waits, ..Trial::new("a few frames", key) };
        let result = tester.run(&trial.sending(stream, schedule))?;
        if result.is_valid() {
            let port_type = &tester.describe().ports[0].port_type;
            let (came, sent) = (result.forwarded_frames(), result.offered_frames());
            println!("{port_type}: {came} of {sent} frames");
            return Ok(());
        }
        result.invalid_reasons().iter().for_each(|reason| eprintln!("invalid: {reason}"));
    }
    Err("no valid trial".into())
}
