//! Hosts into addresses, and addresses into sockets.

use crate::error::Error;
use crate::options::{Seal, UDP_PORT};
use netblt_io::{Carrier, Socket};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};

/// The address of a server: host, or host:port for another UDP port than 20030. One on raw IP has no port. Asks the
/// name servers of this host and waits for them.
pub fn resolve(host: &str, carrier: Carrier) -> Result<SocketAddr, Error> {
    let wrong = |what: &str, remedy| Error::Options { what: format!("{host}: {what}"), remedy };
    if carrier == Carrier::RawIp && host_and_port(host).1.is_some() {
        let remedy = "give the host alone; the port of NETBLT is an option of its own";
        return Err(wrong("raw IP has no port", remedy));
    }
    let address = look_up(host)?;
    match address.port() {
        0 => Err(wrong("nobody can be reached at UDP port 0", "without a port it is 20030")),
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

fn look_up(host: &str) -> Result<SocketAddr, Error> {
    let (name, port) = host_and_port(host);
    let unknown = |why: String| Error::UnknownHost { host: host.to_owned(), why };
    let port = port.map_or(Ok(UDP_PORT), str::parse);
    let port = port.map_err(|_| unknown("the port is no number up to 65535".to_owned()))?;
    let found = (name, port).to_socket_addrs().map_err(|error| unknown(error.to_string()))?;
    let found: Vec<SocketAddr> = found.collect();
    // This host itself is served on its IPv4 address, unless a server is told otherwise.
    let own = found.iter().find(|address| address.ip().is_loopback() && address.is_ipv4());
    own.or(found.first()).copied().ok_or_else(|| unknown("no address".to_owned()))
}

/// Where a server listens that nobody told: for this host alone, unless others need a key or are trusted.
pub fn where_to_listen(others: bool, carrier: Carrier) -> SocketAddr {
    match (others, has_ipv6() && carrier == Carrier::Udp) {
        (false, _) => (Ipv4Addr::LOCALHOST, UDP_PORT).into(),
        (true, false) => (Ipv4Addr::UNSPECIFIED, UDP_PORT).into(),
        // Of both versions of IP.
        (true, true) => (Ipv6Addr::UNSPECIFIED, UDP_PORT).into(),
    }
}

/// Whether this host speaks IPv6 at all.
fn has_ipv6() -> bool {
    UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).is_ok()
}

/// A socket of any address from which `peer` can be reached.
pub fn socket_towards(
    peer: SocketAddr,
    carrier: Carrier,
    seal: Option<&Seal>,
) -> Result<Socket, Error> {
    let any = match peer {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    socket(any, carrier, seal)
}

/// A socket bound to an address.
pub fn socket(address: SocketAddr, carrier: Carrier, seal: Option<&Seal>) -> Result<Socket, Error> {
    if carrier == Carrier::RawIp && seal.is_some() {
        return Err(Error::SealedRawIp);
    }
    let mut socket = Socket::bind(carrier, address).map_err(|error| Error::Socket {
        address,
        carrier,
        error,
    })?;
    match seal {
        None => {}
        Some(Seal::Key(key)) => socket.seal(key.clone()),
        Some(Seal::Code(code)) => socket.seal_by_code(code.clone()).map_err(Error::System)?,
    }
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let raw = Carrier::RawIp;
        assert!(resolve("[::1]:7", raw).is_err() && resolve("::1", raw).is_ok());
        assert!(resolve("127.0.0.1:0", Carrier::Udp).is_err());
    }

    #[test]
    fn without_key_and_trust_this_host_alone_is_served() {
        assert!(where_to_listen(false, Carrier::Udp).ip().is_loopback());
        assert!(where_to_listen(true, Carrier::RawIp).is_ipv4());
        assert!(where_to_listen(true, Carrier::Udp).ip().is_unspecified());
    }
}
