//! What a transfer is to be like, and what an active end proposes because of it.

use crate::error::Error;
use netblt::{Burst, DATA_HEADER_LEN, Limits, RateControl};
use netblt_io::{Carrier, Code, Key, SEAL_BYTES, path_mtu_bytes};
use std::net::SocketAddr;

/// The NETBLT port of servers, unless another is given. Ours to choose: none is assigned.
pub const SERVICE_PORT: u16 = 30;
/// UDP port of servers, unless another is given. Ours to choose: none is assigned.
pub const UDP_PORT: u16 = 20_030;

/// Packets in a burst when a rate is given, if that is not too fast or too slow for it: the
/// receiver of RFC 998's time wanted few, system calls want many.
const BURST_PACKETS: f64 = 16.0;

/// What the control of the rate may choose when nothing bounds it.
pub const FASTEST: Burst = Burst { size_packets: u16::MAX, interval_ms: 1 };

/// How fast the end that sends does so. Rates are of data, in bits a second; headers are not counted.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Rate {
    /// The sender finds the rate, and takes about what a TCP would take.
    Competing {
        /// No faster than this.
        at_most_bps: Option<f64>,
    },
    /// The sender finds a rate that leaves the path to others: it keeps queues short and takes what TCP does not
    /// use.
    Scavenging {
        /// No faster than this.
        at_most_bps: Option<f64>,
    },
    /// Always this fast. Only for paths that are yours: it slows down for nobody.
    Fixed(f64),
    /// The same in the form of RFC 998.
    Bursts(Burst),
}

impl Default for Rate {
    fn default() -> Self {
        Rate::Competing { at_most_bps: None }
    }
}

impl Rate {
    /// How the sender finds the rate, if it does.
    pub fn control(self) -> Option<RateControl> {
        match self {
            Rate::Competing { .. } => Some(RateControl::of(false)),
            Rate::Scavenging { .. } => Some(RateControl::of(true)),
            Rate::Fixed(_) | Rate::Bursts(_) => None,
        }
    }

    /// The fastest burst.
    fn burst(self, packet_size_bytes: u16) -> Result<Burst, Error> {
        let bits_per_s = match self {
            Rate::Bursts(burst) => return Ok(burst),
            Rate::Fixed(bits_per_s) => Some(bits_per_s),
            Rate::Competing { at_most_bps } | Rate::Scavenging { at_most_bps } => at_most_bps,
        };
        let Some(bits_per_s) = bits_per_s else { return Ok(FASTEST) };
        if !(bits_per_s.is_finite() && bits_per_s >= 1.0) {
            let what = format!("{bits_per_s} bit/s is no rate");
            return Err(Error::Options { what, remedy: "give at least 1 bit/s" });
        }
        Ok(burst_of_rate(bits_per_s, packet_size_bytes))
    }
}

/// What both ends have, and nobody else.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Seal {
    /// 32 bytes. Who learns it can read what was recorded.
    Key(Key),
    /// What one end has drawn and people have told each other. It leads to a key of its own each time; who learns it later
    /// can read nothing.
    Code(Code),
}

impl From<Key> for Seal {
    fn from(key: Key) -> Seal {
        Seal::Key(key)
    }
}

impl From<Code> for Seal {
    fn from(code: Code) -> Seal {
        Seal::Code(code)
    }
}

/// What a transfer is to be like. The other end can make the proposal less, not more.
///
/// ```
/// use netblt_client::{Options, Rate};
///
/// let gentle = Options { rate: Rate::Scavenging { at_most_bps: Some(50e6) }, ..Options::default() };
/// assert!(gentle.resume && !gentle.overwrite);
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    /// What carries the packets. Raw IP takes root, or CAP_NET_RAW, and cannot be sealed.
    pub carrier: Carrier,
    /// What both ends have, a key or a code: packets are encrypted and authenticated. Without one nothing is.
    pub seal: Option<Seal>,
    /// How fast.
    pub rate: Rate,
    /// Data packets leave as those of L4S (RFC 9331), where the rate competes and both ends see marks: a network that
    /// marks them early keeps their queue short. An experiment; for whom it slows down is in the documentation of
    /// the control.
    pub l4s: bool,
    /// Bytes of data in a packet. None: what the path bears ([`packet_size_bytes`](Self::packet_size_bytes),
    /// [`longer_packet_bytes`](Self::longer_packet_bytes)).
    pub packet_size_bytes: Option<u16>,
    /// Bytes of a buffer. None: 64 packets at a fixed rate, otherwise 8.
    pub buffer_size_bytes: Option<u32>,
    /// Buffers under way at once: somewhat more than rate times round trip divided by buffer size. None: 64 at a
    /// fixed rate, otherwise 2,048.
    pub max_outstanding_buffers: Option<u16>,
    /// Checksum data packets; the digest of a file is verified in any case.
    pub checksum_data: bool,
    /// Silence after which the other end counts as dead; 0 for never.
    pub death_timer_s: u16,
    /// NETBLT port of the server (not the UDP port).
    pub port: u16,
    /// Go on where an earlier attempt at the same file broke off. If not, what is left of it is replaced.
    pub resume: bool,
    /// Replace a file that is here when it is fetched. Whether files of a server are replaced is the server's choice.
    pub overwrite: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            carrier: Carrier::Udp,
            seal: None,
            rate: Rate::default(),
            l4s: false,
            packet_size_bytes: None,
            buffer_size_bytes: None,
            max_outstanding_buffers: None,
            checksum_data: true,
            death_timer_s: 30,
            port: SERVICE_PORT,
            resume: true,
            overwrite: false,
        }
    }
}

/// What Ethernet carries (RFC 894).
const ETHERNET_MTU_BYTES: u32 = 1500;

/// As far as this host knows it; that of Ethernet where it does not.
fn path_mtu(peer: SocketAddr) -> u32 {
    path_mtu_bytes(peer).unwrap_or(ETHERNET_MTU_BYTES)
}

impl Options {
    /// Bytes of data in a packet to `peer`: what was asked for, or what passes most tunnels and fits into the MTU of the
    /// path as far as this host knows it.
    pub fn packet_size_bytes(&self, peer: SocketAddr) -> u16 {
        self.packet_size_bytes.unwrap_or_else(|| self.usual_packet_bytes(peer, path_mtu(peer)))
    }

    /// Bytes of data in the packets that an OPEN of ours tries first where we send: all that 1,500 bytes hold with the
    /// headers, if that is more and the path's MTU allows it. The OPEN is as long as they are; if nothing answers it, the
    /// next ones propose [`packet_size_bytes`](Self::packet_size_bytes). None where a size or a rate was asked for.
    pub fn longer_packet_bytes(&self, peer: SocketAddr) -> Option<u16> {
        let free = self.packet_size_bytes.is_none() && self.buffer_size_bytes.is_none();
        let tries = free && self.carrier == Carrier::Udp && self.seal.is_none();
        // Where the host knows no MTU, packets may leave so that routers fragment them, and prove nothing.
        let longer = || self.longer_than_usual_bytes(peer, path_mtu_bytes(peer)?);
        (tries && self.rate.control().is_some()).then(longer).flatten()
    }

    /// What passes most tunnels, or less if the path's MTU is less.
    fn usual_packet_bytes(&self, peer: SocketAddr, mtu_bytes: u32) -> u16 {
        let most = if self.seal.is_some() && peer.is_ipv6() { 1376 } else { 1400 };
        self.room_bytes(peer, mtu_bytes).min(most)
    }

    /// What fills the path's MTU, 1,500 bytes at the most, if that is more than usual.
    fn longer_than_usual_bytes(&self, peer: SocketAddr, mtu_bytes: u32) -> Option<u16> {
        let room = self.room_bytes(peer, mtu_bytes.min(ETHERNET_MTU_BYTES));
        (room > self.usual_packet_bytes(peer, mtu_bytes)).then_some(room)
    }

    /// Bytes of data in an IP packet of so many bytes.
    fn room_bytes(&self, peer: SocketAddr, mtu_bytes: u32) -> u16 {
        let ip = if peer.is_ipv4() { 20 } else { 40 };
        let udp = if self.carrier == Carrier::Udp { 8 } else { 0 };
        let sealed = if self.seal.is_some() { SEAL_BYTES } else { 0 };
        let headers = ip + udp + DATA_HEADER_LEN + sealed;
        u16::try_from((mtu_bytes as usize).saturating_sub(headers)).unwrap_or(u16::MAX).max(1)
    }

    /// How the sender finds the rate, if it does.
    pub fn control(&self) -> Option<RateControl> {
        match (self.rate.control(), self.l4s) {
            (Some(RateControl::Competitive), true) => Some(RateControl::L4s),
            (control, _) => control,
        }
    }

    /// What an active end proposes to `peer`.
    pub fn limits(&self, peer: SocketAddr) -> Result<Limits, Error> {
        let wrong = |what: &str, remedy| Err(Error::Options { what: what.to_owned(), remedy });
        let packet_size = self.packet_size_bytes(peer);
        let (buffer_packets, buffers) =
            if self.rate.control().is_some() { (8, 2048) } else { (64, 64) };
        let buffer_size = self.buffer_size_bytes.unwrap_or(buffer_packets * u32::from(packet_size));
        let buffers = self.max_outstanding_buffers.unwrap_or(buffers);
        if packet_size == 0 || buffer_size == 0 || buffers == 0 {
            let what = "packet size, buffer size and buffers must be at least 1";
            return wrong(what, "leave them out for the defaults");
        }
        if buffer_size.div_ceil(packet_size.into()) > 1 << 16 {
            let what = "a buffer of more than 65536 packets cannot be numbered";
            return wrong(what, "use larger packets or smaller buffers");
        }
        if self.l4s && self.control() != Some(RateControl::L4s) {
            return wrong(
                "L4S is for a rate that competes",
                "leave it out, or have the rate found",
            );
        }
        // IP and UDP headers, NETBLT's, and padding must fit a datagram.
        if packet_size > 65_400 {
            return wrong("a packet of more than 65400 bytes fits no datagram", "use smaller ones");
        }
        Ok(Limits {
            buffer_size_bytes: buffer_size,
            data_packet_size_bytes: packet_size,
            // A bound is kept with the longer ones, too.
            burst: self.rate.burst(self.longer_packet_bytes(peer).unwrap_or(packet_size))?,
            max_outstanding_buffers: buffers,
            checksum_data: self.checksum_data,
            death_timer_s: self.death_timer_s,
        })
    }
}

/// The burst that comes nearest to a rate without exceeding it, among those of about 16 packets. Slower than a packet
/// in 65,535 ms the protocol cannot say.
pub fn burst_of_rate(bits_per_s: f64, packet_size_bytes: u16) -> Burst {
    let packets_per_ms = bits_per_s / 8e3 / f64::from(packet_size_bytes);
    let wanted_ms = (BURST_PACKETS / packets_per_ms).ceil().clamp(1.0, f64::from(u16::MAX));
    let size = (packets_per_ms * wanted_ms).floor().clamp(1.0, f64::from(u16::MAX));
    let interval = (size / packets_per_ms).ceil().clamp(1.0, f64::from(u16::MAX));
    Burst { size_packets: size as u16, interval_ms: interval as u16 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_becomes_the_burst_that_comes_nearest() {
        // 100 Mb/s in packets of 1,250 bytes: 10 packets a millisecond.
        let burst = |rate, size| {
            let Burst { size_packets, interval_ms } = burst_of_rate(rate, size);
            (size_packets, interval_ms)
        };
        assert_eq!(burst(100e6, 1250), (20, 2));
        assert_eq!(burst(1e9, 1250), (100, 1));
        assert_eq!(burst(1e5, 1250), (16, 1600));
        assert_eq!(burst(1e3, 1250), (6, 60_000)); // and not 1 in 10,000
        // A packet in 10,000 s would be it: the interval has 16 bits.
        assert_eq!(burst(1.0, 1250), (1, 65_535));
        for rate in [3e3, 7.7e5, 1.1e7, 2.34e8, 5e9] {
            let Burst { size_packets, interval_ms } = burst_of_rate(rate, 1400);
            let got = f64::from(size_packets) * 1400.0 * 8e3 / f64::from(interval_ms);
            assert!(got <= rate * 1.0001 && got > rate * 0.9, "{rate}: {got}");
        }
    }

    #[test]
    fn options_that_cannot_be_meant_are_refused() {
        let peer: SocketAddr = "192.0.2.1:20030".parse().unwrap();
        let whole = Options::default();
        assert_eq!(whole.limits(peer).unwrap().burst, FASTEST);
        for wrong in [
            Options { packet_size_bytes: Some(0), ..whole.clone() },
            Options { packet_size_bytes: Some(65_401), ..whole.clone() },
            Options {
                packet_size_bytes: Some(1),
                buffer_size_bytes: Some(65_537),
                ..whole.clone()
            },
            Options { rate: Rate::Fixed(0.5), ..whole.clone() },
            Options { rate: Rate::Scavenging { at_most_bps: Some(f64::NAN) }, ..whole.clone() },
            Options { l4s: true, rate: Rate::Scavenging { at_most_bps: None }, ..whole.clone() },
            Options { l4s: true, rate: Rate::Fixed(1e6), ..whole.clone() },
        ] {
            assert!(matches!(wrong.limits(peer), Err(Error::Options { .. })), "{wrong:?}");
        }
    }

    const OVER_IPV4: &str = "192.0.2.1:20030";
    const OVER_IPV6: &str = "[2001:db8::1]:20030";

    /// 20 (IPv6: 40) + 8 + 24 of NETBLT are 52 (72) bytes of headers.
    #[test]
    fn packets_fit_the_mtu_of_the_path() {
        let options = Options::default();
        for (peer, mtu_bytes, usual, longer) in [
            (OVER_IPV4, 65_536, 1400, Some(1448)),
            (OVER_IPV4, 9000, 1400, Some(1448)),
            (OVER_IPV4, 1500, 1400, Some(1448)),
            (OVER_IPV4, 1492, 1400, Some(1440)), // PPPoE (RFC 2516 section 7)
            (OVER_IPV4, 1453, 1400, Some(1401)),
            (OVER_IPV4, 1452, 1400, None),
            (OVER_IPV4, 1420, 1368, None), // WireGuard
            (OVER_IPV4, 576, 524, None),
            (OVER_IPV6, 1500, 1400, Some(1428)),
            (OVER_IPV6, 1492, 1400, Some(1420)),
            (OVER_IPV6, 1472, 1400, None),
            (OVER_IPV6, 1280, 1208, None), // the least (RFC 8200 section 5)
        ] {
            let peer = peer.parse().unwrap();
            let got = options.usual_packet_bytes(peer, mtu_bytes);
            assert_eq!(got, usual, "{peer} {mtu_bytes}");
            let got = options.longer_than_usual_bytes(peer, mtu_bytes);
            assert_eq!(got, longer, "{peer} {mtu_bytes}");
        }
        let raw = Options { carrier: Carrier::RawIp, ..Options::default() };
        let peer = OVER_IPV4.parse().unwrap();
        assert_eq!(raw.usual_packet_bytes(peer, 1500), 1400);
        assert_eq!(raw.usual_packet_bytes(peer, 1400), 1400 - 20 - 24);
        // 20 + 16 of header and tag more. Over IPv6 40 + 8 + 24 + 36 + 1,376 are less than 1,500, too.
        let sealed = Options { seal: Code::draw().map(Seal::from), ..Options::default() };
        assert_eq!(sealed.usual_packet_bytes(peer, 1500), 1400);
        assert_eq!(sealed.usual_packet_bytes(peer, 1400), 1400 - 52 - 36);
        assert_eq!(sealed.usual_packet_bytes(OVER_IPV6.parse().unwrap(), 1500), 1376);
    }

    /// Loopback interfaces have MTUs above 1,500 bytes.
    #[test]
    fn longer_packets_are_tried_where_nothing_else_was_asked_for() {
        let (here, whole) = ("127.0.0.1:20030".parse().unwrap(), Options::default());
        assert_eq!(whole.longer_packet_bytes(here), Some(1448));
        let at_most_bps = Some(1e9);
        for rate in [Rate::Competing { at_most_bps }, Rate::Scavenging { at_most_bps }] {
            let bounded = Options { rate, ..whole.clone() };
            assert_eq!(bounded.longer_packet_bytes(here), Some(1448));
            // 86.3 of them a millisecond.
            let burst = bounded.limits(here).unwrap().burst;
            assert_eq!(burst, Burst { size_packets: 86, interval_ms: 1 });
        }
        for asked in [
            Options { packet_size_bytes: Some(1400), ..whole.clone() },
            Options { buffer_size_bytes: Some(14_000), ..whole.clone() },
            Options { rate: Rate::Fixed(1e9), ..whole.clone() },
            Options { rate: Rate::Bursts(FASTEST), ..whole.clone() },
            Options { carrier: Carrier::RawIp, ..whole.clone() },
            Options { seal: Code::draw().map(Seal::from), ..whole.clone() },
        ] {
            assert_eq!(asked.longer_packet_bytes(here), None, "{asked:?}");
        }
    }
}
