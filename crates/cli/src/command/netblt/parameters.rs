//! Flags into limits, hosts into addresses.

use super::args::{Sealing, Transfer, UDP_PORT};
use crate::failure::{Failure, Outcome};
use crate::output;
use netblt::{Burst, Limits};
use netblt_io::{Carrier, Code, Key, Socket};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

/// Packets in a burst when a rate is given, if that is not too fast or too slow for it: the
/// receiver of RFC 998's time wanted few, system calls want many.
const BURST_PACKETS: f64 = 16.0;

/// Where the key is looked for without a file.
const KEY_VARIABLE: &str = "NETANVIL_NETBLT_KEY";

/// What the control of the rate may choose when nothing bounds it.
pub const FASTEST: Burst = Burst { size_packets: u16::MAX, interval_ms: 1 };

/// Whether the sender is to find the rate.
pub fn is_adaptive(transfer: &Transfer) -> bool {
    transfer.rate.is_none() && transfer.burst.is_none()
}

/// Bytes of data in a packet: what fits into 1,500 bytes with the headers of IP, UDP and NETBLT, and what
/// sealing adds.
fn packet_size(transfer: &Transfer, over_ipv6: bool) -> Outcome<u16> {
    let sealed = is_sealed(&transfer.sealing)?;
    let fitting = if sealed && over_ipv6 { 1376 } else { 1400 };
    Ok(transfer.packet_size.unwrap_or(fitting))
}

/// What an active end proposes to `peer`.
pub fn limits(transfer: &Transfer, peer: SocketAddr) -> Outcome<Limits> {
    let death_timer = transfer.death_timer;
    let packet_size = packet_size(transfer, peer.is_ipv6())?;
    let (buffer_packets, buffers) = if is_adaptive(transfer) { (8, 2048) } else { (64, 64) };
    let buffer_size = transfer.buffer_size.unwrap_or(buffer_packets * u32::from(packet_size));
    let buffers = transfer.buffers.unwrap_or(buffers);
    if packet_size == 0 || buffer_size == 0 || buffers == 0 {
        return Err(Failure::new("packet size, buffer size and buffers must be at least 1"));
    }
    if buffer_size.div_ceil(packet_size.into()) > 1 << 16 {
        return Err(Failure::new("a buffer of more than 65536 packets cannot be numbered")
            .help("use larger packets or smaller buffers"));
    }
    // IP and UDP headers, NETBLT's, and padding must fit a datagram.
    if packet_size > 65_400 {
        return Err(Failure::new("a packet of more than 65400 bytes fits no datagram"));
    }
    Ok(Limits {
        buffer_size_bytes: buffer_size,
        data_packet_size_bytes: packet_size,
        burst: match (&transfer.burst, transfer.rate.as_ref().or(transfer.at_most.as_ref())) {
            (Some(text), _) => parse_burst(text)?,
            (None, Some(rate)) => burst_of_rate(parse_rate(rate)?, packet_size),
            (None, None) => FASTEST,
        },
        max_outstanding_buffers: buffers,
        checksum_data: !transfer.no_data_checksum,
        death_timer_s: death_timer,
    })
}

fn parse_burst(text: &str) -> Outcome<Burst> {
    let wrong = || Failure::new(format!("no burst: {text}")).help("for example --burst 5/40");
    let (size, interval) = text.split_once('/').ok_or_else(wrong)?;
    let size_packets = size.parse().ok().filter(|size| *size > 0).ok_or_else(wrong)?;
    let interval_ms = interval.parse().ok().filter(|ms| *ms > 0).ok_or_else(wrong)?;
    Ok(Burst { size_packets, interval_ms })
}

pub fn parse_rate(text: &str) -> Outcome<f64> {
    let said = text;
    let text = text.strip_suffix("bit/s").unwrap_or(text);
    let (number, factor) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1e3),
        Some((at, 'M')) => (&text[..at], 1e6),
        Some((at, 'G')) => (&text[..at], 1e9),
        _ => (text, 1.0),
    };
    let rate = number.parse::<f64>().ok().map(|number| number * factor);
    rate.filter(|rate| rate.is_finite() && *rate >= 1.0).ok_or_else(|| {
        Failure::new(format!("no rate: {said}")).help("for example --rate 100M, --rate 2.5G")
    })
}

/// The burst that comes nearest to a rate without exceeding it, among those of about
/// [`BURST_PACKETS`]. Slower than a packet in 65,535 ms the protocol cannot say.
pub fn burst_of_rate(bits_per_s: f64, packet_size: u16) -> Burst {
    let packets_per_ms = bits_per_s / 8e3 / f64::from(packet_size);
    let wanted_ms = (BURST_PACKETS / packets_per_ms).ceil().clamp(1.0, f64::from(u16::MAX));
    let size = (packets_per_ms * wanted_ms).floor().clamp(1.0, f64::from(u16::MAX));
    let interval = (size / packets_per_ms).ceil().clamp(1.0, f64::from(u16::MAX));
    Burst { size_packets: size as u16, interval_ms: interval as u16 }
}

/// The address of a server. One on raw IP has no port.
pub fn resolve(host: &str, raw_ip: bool) -> Outcome<SocketAddr> {
    if raw_ip && host_and_port(host).1.is_some() {
        return Err(Failure::new(format!("{host}: raw IP has no port"))
            .help("give the host alone; --port is the port of NETBLT"));
    }
    let address = look_up(host)?;
    match address.port() {
        0 => Err(Failure::new(format!("{host}: nobody can be reached at UDP port 0"))
            .help("without a port it is 20030")),
        _ => Ok(address),
    }
}

/// A host and the port that is given with it; an IPv6 address with a port is in brackets.
fn host_and_port(text: &str) -> (&str, Option<&str>) {
    let is_ipv6 = |text: &str| {
        let (address, _) = text.split_once('%').unwrap_or((text, ""));
        address.parse::<Ipv6Addr>().is_ok()
    };
    let bare = |host: &'_ str| -> bool { host.starts_with('[') && host.ends_with(']') };
    let inside = |host| if bare(host) { &host[1..host.len() - 1] } else { host };
    match text.rsplit_once(':') {
        Some((host, port)) if !is_ipv6(inside(text)) => (inside(host), Some(port)),
        _ => (inside(text), None),
    }
}

fn look_up(host: &str) -> Outcome<SocketAddr> {
    let (name, port) = host_and_port(host);
    let unknown = |why: String| {
        Failure::new(format!("cannot find {host}: {why}"))
            .help("give a host name or address, with :PORT for another UDP port than 20030")
    };
    let port = port.map_or(Ok(UDP_PORT), str::parse);
    let port = port.map_err(|_| unknown("the port is no number up to 65535".to_owned()))?;
    let found = (name, port).to_socket_addrs().map_err(|error| unknown(error.to_string()))?;
    let found: Vec<SocketAddr> = found.collect();
    // This host itself is served on its IPv4 address, unless a server is told otherwise.
    let own = found.iter().find(|address| address.ip().is_loopback() && address.is_ipv4());
    own.or(found.first()).copied().ok_or_else(|| unknown("no address".to_owned()))
}

/// A socket of any address from which `peer` can be reached.
pub fn socket_towards(peer: SocketAddr, transfer: &Transfer) -> Outcome<Socket> {
    let any = match peer {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    socket(any, transfer.raw_ip, &transfer.sealing)
}

/// A socket bound to an address.
pub fn socket(address: SocketAddr, raw_ip: bool, sealing: &Sealing) -> Outcome<Socket> {
    if raw_ip && is_sealed(sealing)? {
        return Err(Failure::new("on raw IP packets cannot be sealed").help(format!(
            "leave --raw-ip out, or give no key and no code (--key-file, {KEY_VARIABLE}, --code)"
        )));
    }
    let carrier = if raw_ip { Carrier::RawIp } else { Carrier::Udp };
    let mut socket = Socket::bind(carrier, address).map_err(|error| {
        let failure = Failure::new(format!("cannot open a socket on {address}: {error}"));
        match error.kind() {
            std::io::ErrorKind::PermissionDenied if raw_ip => {
                failure.help("raw IP takes root, or CAP_NET_RAW; without --raw-ip it is UDP")
            }
            std::io::ErrorKind::AddrInUse => failure.help("give another one with --listen"),
            _ => failure,
        }
    })?;
    if let Some(text) = &sealing.code {
        let none = |error| Failure::new(format!("no key can be drawn: {error}"));
        socket.seal_by_code(code(text)?).map_err(none)?;
    } else if let Some(key) = key(sealing)? {
        socket.seal(key);
    }
    Ok(socket)
}

/// Whether packets are to be sealed.
pub fn is_sealed(sealing: &Sealing) -> Outcome<bool> {
    Ok(sealing.code.is_some() || key(sealing)?.is_some())
}

/// A code as it was given, or else as somebody types it.
fn code(given: &str) -> Outcome<Code> {
    let text = if given.is_empty() { output::ask_for("code")? } else { given.to_owned() };
    let failure = |why| Failure::new(why).help("`netanvil netblt serve --code` prints one");
    Code::parse(&text).map_err(failure)
}

/// The key, if there is one.
pub fn key(sealing: &Sealing) -> Outcome<Option<Key>> {
    let (text, place) = match (&sealing.key_file, std::env::var(KEY_VARIABLE)) {
        (Some(file), _) => {
            let place = file.display().to_string();
            let text = std::fs::read_to_string(file);
            (text.map_err(|error| Failure::new(format!("cannot read {place}: {error}")))?, place)
        }
        (None, Ok(text)) => (text, KEY_VARIABLE.to_owned()),
        (None, Err(_)) => return Ok(None),
    };
    let failure = |why| Failure::new(format!("{place}: {why}")).help("openssl rand -hex 32 > FILE");
    Key::parse(&text).map(Some).map_err(failure)
}

/// Unlike any number drawn before: seeded by the system.
pub fn random() -> u64 {
    RandomState::new().build_hasher().finish()
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
    fn hosts_are_names_and_addresses_of_either_version_with_a_port_or_without() {
        for (text, host, port) in [
            ("lab2", "lab2", None),
            ("lab2:7", "lab2", Some("7")),
            ("192.0.2.1", "192.0.2.1", None),
            ("192.0.2.1:7", "192.0.2.1", Some("7")),
            ("2001:db8::1", "2001:db8::1", None),
            ("[2001:db8::1]", "2001:db8::1", None),
            ("[2001:db8::1]:7", "2001:db8::1", Some("7")),
            ("fe80::1%eth0", "fe80::1%eth0", None),
            ("[fe80::1%eth0]:7", "fe80::1%eth0", Some("7")),
            ("::1", "::1", None),
        ] {
            assert_eq!(host_and_port(text), (host, port), "{text}");
        }
        let found = |text| look_up(text).ok();
        assert_eq!(found("::1"), Some((Ipv6Addr::LOCALHOST, UDP_PORT).into()));
        assert_eq!(found("[::1]:7"), Some((Ipv6Addr::LOCALHOST, 7).into()));
        assert_eq!(found("localhost:7"), Some((Ipv4Addr::LOCALHOST, 7).into()));
        assert!(look_up("[::1]:70000").is_err() && look_up("127.0.0.1:x").is_err());
        assert!(resolve("[::1]:7", true).is_err() && resolve("::1", true).is_ok());
    }

    #[test]
    fn rates_and_bursts_are_read() {
        assert_eq!(parse_rate("2.5G").ok(), Some(2.5e9));
        assert_eq!(parse_rate("64k").ok(), Some(64e3));
        assert_eq!(parse_rate("100Mbit/s").ok(), Some(100e6));
        assert!(
            ["bit/s", "1Mbyte/s", "", "M", "-1M", "0", "inf", "1T"]
                .iter()
                .all(|text| parse_rate(text).is_err())
        );
        assert_eq!(parse_burst("5/40").ok(), Some(Burst { size_packets: 5, interval_ms: 40 }));
        assert!(
            ["5", "0/4", "5/", "5/0", "a/b", "5/70000"].iter().all(|t| parse_burst(t).is_err())
        );
    }
}
