//! Flags into limits, hosts into addresses.

use super::args::{Sealing, Transfer};
use crate::failure::{Failure, Outcome};
use crate::output;
use netblt::{Burst, Limits};
use netblt_client::{Error, FASTEST, address, burst_of_rate};
use netblt_io::{Carrier, Code, Key, Socket};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

/// Where the key is looked for without a file.
const KEY_VARIABLE: &str = "NETANVIL_NETBLT_KEY";

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

/// The address of a server. One on raw IP has no port.
pub fn resolve(host: &str, raw_ip: bool) -> Outcome<SocketAddr> {
    address::resolve(host, carrier(raw_ip)).map_err(|error| {
        let remedy = match error {
            Error::Options { .. } if raw_ip => "give the host alone; --port is the port of NETBLT",
            _ => error.remedy(),
        };
        Failure::new(error.message()).help(remedy)
    })
}

/// What carries the packets.
pub fn carrier(raw_ip: bool) -> Carrier {
    if raw_ip { Carrier::RawIp } else { Carrier::Udp }
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
    let mut socket = Socket::bind(carrier(raw_ip), address).map_err(|error| {
        let failure = Failure::new(format!("cannot open a socket on {address}: {error}"));
        match error.kind() {
            std::io::ErrorKind::PermissionDenied if raw_ip => {
                failure.help("raw IP takes root, or CAP_NET_RAW; without --raw-ip it is UDP")
            }
            std::io::ErrorKind::AddrInUse => failure.help("give another one with --listen"),
            _ => failure,
        }
    })?;
    tell_unused(sealing);
    if let Some(text) = &sealing.code {
        let none = |error| Failure::new(format!("no key can be drawn: {error}"));
        socket.seal_by_code(code(text)?).map_err(none)?;
    } else if let Some(key) = key(sealing)? {
        socket.seal(key);
    }
    Ok(socket)
}

/// An option counts before the environment; whoever has set the variable hears of it.
fn tell_unused(sealing: &Sealing) {
    let option = match (&sealing.code, &sealing.key_file) {
        (Some(_), _) => "--code",
        (None, Some(_)) => "--key-file",
        (None, None) => return,
    };
    if std::env::var_os(KEY_VARIABLE).is_some() {
        output::say(format_args!("note: {KEY_VARIABLE} is set and not used: {option} is given"));
    }
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
    let (text, place) = match (&sealing.key_file, std::env::var_os(KEY_VARIABLE)) {
        (Some(file), _) => {
            let place = file.display().to_string();
            let text = std::fs::read_to_string(file);
            (text.map_err(|error| Failure::new(format!("cannot read {place}: {error}")))?, place)
        }
        // What is no text is no key either, and refused as such.
        (None, Some(text)) => (text.to_string_lossy().into_owned(), KEY_VARIABLE.to_owned()),
        (None, None) => return Ok(None),
    };
    let failure = |why| Failure::new(format!("{place}: {why}")).help("openssl rand -hex 32 > FILE");
    Key::parse(&text).map(Some).map_err(failure)
}

#[cfg(test)]
mod tests {
    use super::*;

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
