//! Datagrams: UDP as an ordinary user, or IP protocol 30 through a raw socket.
//!
//! In UDP each datagram holds one NETBLT packet, byte for byte what would follow the IP header; the
//! UDP ports tell hosts behind one address apart and mean nothing else. With a key each holds a
//! sealed packet instead ([`crate::seal`]).

#[cfg(all(target_os = "linux", not(feature = "portable-sockets")))]
mod incoming;
#[cfg(all(target_os = "linux", not(feature = "portable-sockets")))]
#[path = "socket/linux.rs"]
mod kernel;
#[cfg(all(target_os = "linux", not(feature = "portable-sockets")))]
mod outgoing;
// (On Linux for its tests, by the feature: make cross-check.)
#[cfg(any(not(target_os = "linux"), feature = "portable-sockets"))]
#[path = "socket/portable.rs"]
mod kernel;

use crate::cookie::{Cookies, Said};
use crate::path_mtu::Envelope;
use crate::seal::{Code, Key, Refusal, Seals};
use kernel::{HAS_MARKS, Incoming, Outgoing};
use netblt::{Codepoint, Path};
use socket2::{Domain, Protocol, Socket as Socket2, Type};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use units::Duration;

pub(crate) use kernel::sleep_precisely;

/// Asked of the kernel for each direction; it may give less.
const KERNEL_BUFFER_BYTES: usize = 8 << 20;
/// The largest datagram, and the most that the kernel puts together.
const MAX_DATAGRAM_BYTES: usize = 65_535;
/// Bytes of one send, at most.
pub(crate) const MAX_SEND_BYTES: usize = 65_000;
/// Whom packets go to, and what their IP header says of marks.
pub(crate) type Towards = (SocketAddr, Codepoint);
/// The number of NETBLT on IP (RFC 998 section 6).
const NETBLT: i32 = 30;
/// Bytes of an IPv4 header without options.
const MIN_IPV4_HEADER_BYTES: usize = 20;

/// What carries NETBLT.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Carrier {
    /// UDP: any user, through any firewall that lets UDP pass.
    Udp,
    /// IP protocol 30, as RFC 998 has it; takes the right to open raw sockets.
    RawIp,
}

/// A socket that gives and takes whole packets of NETBLT.
#[derive(Debug)]
pub struct Socket {
    inner: UdpSocket,
    carrier: Carrier,
    incoming: Incoming,
    outgoing: Outgoing,
    seals: Seals,
    cookies: Cookies,
}

/// A packet that has come.
#[derive(Debug)]
pub struct Received<'a> {
    /// From whom.
    pub peer: SocketAddr,
    /// Empty if it was none of NETBLT's.
    pub packet: &'a [u8],
    /// What is known of where it came from.
    pub path: Path,
    /// The other end has asked for a cookie before it opens this connection of ours; it has been given.
    pub named: Option<u32>,
    /// What its IP header says.
    pub codepoint: Codepoint,
}

impl Socket {
    /// A socket bound to `address`, of which a raw one ignores the port.
    pub fn bind(carrier: Carrier, address: SocketAddr) -> io::Result<Socket> {
        let (kind, protocol) = match carrier {
            Carrier::Udp => (Type::DGRAM, Protocol::UDP),
            Carrier::RawIp => (Type::RAW, Protocol::from(NETBLT)),
        };
        let socket = Socket2::new(Domain::for_address(address), kind, Some(protocol))?;
        kernel::prepare(&socket, carrier, address);
        if address.is_ipv6() && carrier == Carrier::Udp {
            // What comes by IPv4 comes to a socket of any address, too; raw ones have no such form.
            socket.set_only_v6(false)?;
        }
        socket.bind(&key(carrier, address).into())?;
        socket.set_nonblocking(true)?;
        let (incoming, outgoing) = (Incoming::default(), Outgoing::new(carrier));
        Ok(Socket {
            inner: socket.into(),
            carrier,
            incoming,
            outgoing,
            seals: Seals::without_key(),
            cookies: Cookies::new(),
        })
    }

    /// From now on packets are sealed with keys that are derived from this one, and no others are
    /// taken. UDP only: on raw IP there is no such form.
    pub fn seal(&mut self, key: Key) {
        self.seals = Seals::with_key(key);
    }
    /// The same with a key of their own for each two ends, to which a code leads ([`crate::Code`]).
    ///
    /// # Errors
    /// If the system has no randomness.
    pub fn seal_by_code(&mut self, code: Code) -> io::Result<()> {
        let none = || io::Error::other("the system has no randomness");
        self.seals = Seals::with_code(code).ok_or_else(none)?;
        Ok(())
    }
    /// Whether packets are sealed.
    pub fn is_sealed(&self) -> bool {
        self.seals.is_keyed()
    }
    /// What the other end said of the key, if it takes no packets of ours. Anybody who can send from
    /// its address can say so.
    pub fn refusal(&self) -> Option<Refusal> {
        self.seals.refusal()
    }
    /// What carries data packets.
    pub fn envelope(&self) -> Envelope {
        Envelope { carrier: self.carrier, sealed: self.is_sealed() }
    }
    /// What carries the packets.
    pub fn carrier(&self) -> Carrier {
        self.carrier
    }
    /// Where it is bound.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }
    /// How a peer is told apart: raw IP has no port.
    pub fn key(&self, peer: SocketAddr) -> SocketAddr {
        key(self.carrier, peer)
    }

    /// Others may open connections here, once they have shown that they are where they say.
    pub fn listen(&mut self) {
        self.cookies.gives = true;
    }
    /// Whether an OPEN of ours may ask for a cookie: sealed packets prove more, raw IP has no such form.
    pub fn has_cookies(&self) -> bool {
        self.carrier == Carrier::Udp && !self.seals.is_keyed()
    }

    /// Whether packets can be marked, and marks be seen.
    pub fn has_marks(&self) -> bool {
        HAS_MARKS && self.carrier == Carrier::Udp
    }

    /// The next packet that has come; None if there is none.
    pub fn receive(&mut self) -> io::Result<Option<Received<'_>>> {
        let cookies = self.has_cookies();
        let Some((peer, bytes, codepoint)) = self.incoming.next(&self.inner)? else {
            return Ok(None);
        };
        let received = |peer, path, packet| Received { peer, packet, path, named: None, codepoint };
        if self.carrier == Carrier::RawIp {
            let packet = if peer.is_ipv4() { after_ipv4_header(bytes) } else { bytes };
            return Ok(Some(received(key(self.carrier, peer), Path::Unproven, packet)));
        }
        // Nobody can be answered at port 0.
        if peer.port() == 0 {
            return Ok(Some(received(peer, Path::Unproven, &[])));
        }
        let opened = self.seals.open(peer, bytes);
        for datagram in opened.answers {
            let towards = (peer, Codepoint::NotCapable);
            self.outgoing.send(&self.inner, towards, &datagram, datagram.len())?;
        }
        if !cookies {
            return Ok(Some(received(peer, Path::Sealed, opened.packet)));
        }
        let (answer, found) = match self.cookies.open(peer, opened.packet) {
            Said::Packet(packet) => return Ok(Some(received(peer, Path::Unproven, packet))),
            Said::Proven(packet) => return Ok(Some(received(peer, Path::Named, packet))),
            Said::Nothing => return Ok(Some(received(peer, Path::Unproven, &[]))),
            Said::Answer(answer) => (answer, None),
            Said::Challenged { connection_id, answer } => (answer, Some(connection_id)),
        };
        let towards = (peer, Codepoint::NotCapable);
        self.outgoing.send(&self.inner, towards, &answer, answer.len())?;
        Ok(Some(Received { named: found, ..received(peer, Path::Unproven, &[]) }))
    }

    /// Sends the packets of a burst, each `len` bytes of `packets` but the last, which may be
    /// shorter. What the kernel has no room for is lost, as any network would lose it.
    pub fn send(&mut self, peer: SocketAddr, packets: &[u8], len: usize) -> io::Result<()> {
        self.send_as((peer, Codepoint::NotCapable), packets, len)
    }

    /// The same, with a codepoint in their IP header.
    pub(crate) fn send_as(
        &mut self,
        (peer, codepoint): Towards,
        packets: &[u8],
        len: usize,
    ) -> io::Result<()> {
        // An OPEN goes alone: nothing else is to be said yet.
        if packets.len() == len
            && self.has_cookies()
            && let Some(answer) = self.cookies.send(peer, packets)
        {
            self.outgoing.send(&self.inner, (peer, codepoint), &answer, answer.len())?;
            return Ok(());
        }
        let socket = &self.inner;
        match self.seals.seal(peer, packets, len) {
            None => self.outgoing.send(socket, (peer, codepoint), packets, len)?,
            Some((sealed, len)) => self.outgoing.send(socket, (peer, codepoint), sealed, len)?,
        }
        Ok(())
    }

    /// Waits for a packet, at most so long.
    pub fn wait(&self, at_most: Duration) -> io::Result<()> {
        kernel::wait(&self.inner, at_most)
    }
}

fn key(carrier: Carrier, mut address: SocketAddr) -> SocketAddr {
    if carrier == Carrier::RawIp {
        address.set_port(0);
    }
    address
}

/// A raw IPv4 socket gives the header too.
fn after_ipv4_header(bytes: &[u8]) -> &[u8] {
    let header = bytes.first().map_or(0, |first| usize::from(first & 0xf) * 4);
    bytes.get(header.max(MIN_IPV4_HEADER_BYTES)..).unwrap_or(&[])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By IPv4, by IPv6, and by IPv4 to and from a socket of both; alone and several in one call.
    #[test]
    fn what_a_header_says_arrives_with_the_packet() {
        for [from, to] in [
            ["127.0.0.1:0", "127.0.0.1:0"],
            ["[::1]:0", "[::1]:0"],
            ["127.0.0.1:0", "[::]:0"],
            ["[::]:0", "127.0.0.1:0"],
        ] {
            let bind = |address: &str| Socket::bind(Carrier::Udp, address.parse().unwrap());
            let (mut sender, mut receiver) = (bind(from).unwrap(), bind(to).unwrap());
            let mut peer = receiver.local_address().unwrap();
            if peer.ip().is_unspecified() {
                peer.set_ip([127, 0, 0, 1].into());
            }
            if from.starts_with("[::]") {
                let SocketAddr::V4(v4) = peer else { panic!("{peer}") };
                peer = SocketAddr::new(v4.ip().to_ipv6_mapped().into(), v4.port());
            }
            let all = [
                (Codepoint::Capable, 1),
                (Codepoint::NotCapable, 1),
                (Codepoint::Scalable, 1),
                (Codepoint::Marked, 1),
                (Codepoint::Scalable, 3),
                (Codepoint::Capable, 3),
                (Codepoint::NotCapable, 3),
            ];
            for (codepoint, packets) in all {
                sender.send_as((peer, codepoint), &vec![7; packets * 100], 100).unwrap();
                receiver.wait(Duration::from_secs(5)).unwrap();
                for at in 0..packets {
                    let received = receiver.receive().unwrap().expect("a packet");
                    let came = (received.codepoint, received.packet.len());
                    let codepoint = if HAS_MARKS { codepoint } else { Codepoint::NotCapable };
                    assert_eq!(came, (codepoint, 100), "{from} {to} {at} of {packets}");
                }
            }
        }
    }
}
