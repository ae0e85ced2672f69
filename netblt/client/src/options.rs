//! What a transfer is to be like, and what an active end proposes because of it.

use crate::error::Error;
use netblt::{Burst, Limits, RateControl};
use netblt_io::{Carrier, Code, Envelope, Key, path_mtu_bytes};
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
    /// Bytes of data in a packet. None: what the path carries, up to what fills 1,500 bytes with all headers
    /// ([`proposal`](Self::proposal)).
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

/// IP packets that an OPEN of ours tries, one after another: what Ethernet carries (RFC 894), what most tunnels do, and
/// what every link of IPv6 must (RFC 8200 section 5).
const TRIED_BYTES: [u32; 3] = [1500, 1452, 1280];

/// What an active end proposes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proposal {
    /// What the first OPENs propose in place of the limits' data packets: bytes of data, ever less. Each such OPEN is as
    /// long as the packets that it proposes. Empty where a size or a rate was asked for.
    pub packet_sizes_bytes: Vec<u16>,
    /// What OPENs propose where no longer packets are tried, or none was answered.
    pub limits: Limits,
}

impl Options {
    /// Whether the packets' size is to be found.
    fn finds_packet_size(&self) -> bool {
        let free = self.packet_size_bytes.is_none() && self.buffer_size_bytes.is_none();
        free && self.carrier == Carrier::Udp && self.rate.control().is_some()
    }

    /// Bytes of data in the packets to `peer`: those that are tried, and those without trying.
    fn packet_sizes(&self, peer: SocketAddr, mtu_bytes: Option<u32>) -> (Vec<u16>, u16) {
        let envelope = Envelope { carrier: self.carrier, sealed: self.seal.is_some() };
        let room = |bytes: u32| envelope.data_bytes(peer, bytes.min(mtu_bytes.unwrap_or(bytes)));
        let [longest, _, least] = TRIED_BYTES;
        // Where the host knows no MTU, packets may leave so that routers fragment them, and prove nothing.
        if self.finds_packet_size() && mtu_bytes.is_some() {
            let mut tried = TRIED_BYTES.map(room).to_vec();
            tried.dedup();
            // The least of them is proposed once more by an OPEN that is not lengthened, for a peer that takes none such.
            if tried.len() > 1 {
                tried.retain(|bytes| *bytes > room(least));
            }
            return (tried, room(least));
        }
        // Sealed packets over IPv6 fit Ethernet so, too.
        let usual = if self.seal.is_some() && peer.is_ipv6() { 1376 } else { 1400 };
        (Vec::new(), self.packet_size_bytes.unwrap_or_else(|| usual.min(room(longest))))
    }

    /// How the sender finds the rate, if it does.
    pub fn control(&self) -> Option<RateControl> {
        match (self.rate.control(), self.l4s) {
            (Some(RateControl::Competitive), true) => Some(RateControl::L4s),
            (control, _) => control,
        }
    }

    /// What an active end proposes to `peer`, as far as this host knows the path.
    pub fn proposal(&self, peer: SocketAddr) -> Result<Proposal, Error> {
        self.proposal_over(peer, path_mtu_bytes(peer))
    }

    /// The same where the path's MTU is known, or known to be unknown.
    fn proposal_over(&self, peer: SocketAddr, mtu_bytes: Option<u32>) -> Result<Proposal, Error> {
        let wrong = |what: &str, remedy| Err(Error::Options { what: what.to_owned(), remedy });
        let (packet_sizes_bytes, packet_size) = self.packet_sizes(peer, mtu_bytes);
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
        // A bound is kept with the longest ones, too.
        let longest = packet_sizes_bytes.first().copied().unwrap_or(packet_size);
        let limits = Limits {
            buffer_size_bytes: buffer_size,
            data_packet_size_bytes: packet_size,
            burst: self.rate.burst(longest)?,
            max_outstanding_buffers: buffers,
            checksum_data: self.checksum_data,
            death_timer_s: self.death_timer_s,
        };
        Ok(Proposal { packet_sizes_bytes, limits })
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
        assert_eq!(whole.proposal(peer).unwrap().limits.burst, FASTEST);
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
            assert!(matches!(wrong.proposal(peer), Err(Error::Options { .. })), "{wrong:?}");
        }
    }

    const OVER_IPV4: &str = "192.0.2.1:20030";
    const OVER_IPV6: &str = "[2001:db8::1]:20030";

    /// Bytes that are tried, then those without trying.
    fn sizes(options: &Options, peer: &str, mtu_bytes: Option<u32>) -> (Vec<u16>, u16) {
        let Proposal { packet_sizes_bytes, limits } =
            options.proposal_over(peer.parse().unwrap(), mtu_bytes).unwrap();
        assert_eq!(limits.buffer_size_bytes % u32::from(limits.data_packet_size_bytes), 0);
        (packet_sizes_bytes, limits.data_packet_size_bytes)
    }

    /// 20 (IPv6: 40) + 8 + 24 of NETBLT are 52 (72) bytes of headers. Sealed ones have 20 + 16 more.
    #[test]
    fn packets_that_are_tried_fit_the_path() {
        let (plain, seal) = (Options::default(), Code::draw().map(Seal::from));
        let sealed = Options { seal, ..Options::default() };
        for (options, peer, mtu_bytes, tried, least) in [
            (&plain, OVER_IPV4, 65_536, &[1448, 1400][..], 1228),
            (&plain, OVER_IPV4, 1500, &[1448, 1400], 1228),
            (&plain, OVER_IPV4, 1492, &[1440, 1400], 1228), // PPPoE (RFC 2516 section 7)
            (&plain, OVER_IPV4, 1452, &[1400], 1228),
            (&plain, OVER_IPV4, 1450, &[1396], 1228), // VXLAN (RFC 7348), padded to four bytes
            (&plain, OVER_IPV4, 1420, &[1368], 1228), // WireGuard
            (&plain, OVER_IPV4, 1280, &[1228], 1228),
            (&plain, OVER_IPV4, 576, &[524], 524),
            (&plain, OVER_IPV6, 1500, &[1428, 1380], 1208),
            (&plain, OVER_IPV6, 1280, &[1208], 1208),
            (&sealed, OVER_IPV4, 1500, &[1412, 1364], 1192),
            (&sealed, OVER_IPV4, 1450, &[1360], 1192),
            (&sealed, OVER_IPV4, 1400, &[1312], 1192),
            (&sealed, OVER_IPV6, 1500, &[1392, 1344], 1172),
        ] {
            let got = sizes(options, peer, Some(mtu_bytes));
            assert_eq!(got, (tried.to_vec(), least), "{peer} {mtu_bytes} {options:?}");
        }
    }

    /// Where a rate or a size was asked for, where nothing is known of the path, and on raw IP nothing is tried.
    #[test]
    fn packets_that_are_not_tried_fit_what_is_known_of_the_path() {
        let whole = Options::default();
        let fixed = Options { rate: Rate::Fixed(1e9), ..whole.clone() };
        let raw = Options { carrier: Carrier::RawIp, ..whole.clone() };
        let sealed = Options { seal: Code::draw().map(Seal::from), ..fixed.clone() };
        let bursts = Options { rate: Rate::Bursts(FASTEST), ..whole.clone() };
        let buffers = Options { buffer_size_bytes: Some(14_000), ..whole.clone() };
        for (options, peer, mtu_bytes, bytes) in [
            (&fixed, OVER_IPV4, Some(1500), 1400),
            (&bursts, OVER_IPV4, Some(1500), 1400),
            (&buffers, OVER_IPV4, Some(1500), 1400),
            (&whole, OVER_IPV4, None, 1400),
            (&fixed, OVER_IPV4, Some(1280), 1228),
            (&fixed, OVER_IPV6, Some(1500), 1400),
            (&raw, OVER_IPV4, Some(1500), 1400),
            (&raw, OVER_IPV4, Some(1400), 1400 - 20 - 24),
            (&sealed, OVER_IPV4, Some(1500), 1400),
            (&sealed, OVER_IPV4, Some(1400), 1400 - 52 - 36),
            // 40 + 8 + 24 + 36 + 1,376 are less than 1,500.
            (&sealed, OVER_IPV6, Some(1500), 1376),
        ] {
            let got = sizes(options, peer, mtu_bytes);
            assert_eq!(got, (vec![], bytes), "{peer} {mtu_bytes:?} {options:?}");
        }
        let asked = Options { packet_size_bytes: Some(1450), ..whole };
        assert_eq!(sizes(&asked, OVER_IPV4, Some(1280)), (vec![], 1450));
    }

    #[test]
    fn a_bound_of_the_rate_holds_for_the_longest_packets() {
        let at_most_bps = Some(1e9);
        for rate in [Rate::Competing { at_most_bps }, Rate::Scavenging { at_most_bps }] {
            let bounded = Options { rate, ..Options::default() };
            let proposal = bounded.proposal_over(OVER_IPV4.parse().unwrap(), Some(1500)).unwrap();
            // 86.3 of 1,448 bytes a millisecond.
            assert_eq!(proposal.limits.burst, Burst { size_packets: 86, interval_ms: 1 });
        }
    }
}
