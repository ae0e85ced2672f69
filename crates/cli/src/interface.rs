//! Whether an interface of this host is free for tests (RFC 6815).

use std::collections::BTreeSet;

/// What the host itself uses an interface for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// Its addresses; IPv6 link-local ones, which the kernel gives to every interface, left out.
    pub addresses: Vec<String>,
    /// Whether a default route leaves by it.
    pub default_route: bool,
}

impl Use {
    /// Looks in this network namespace.
    pub fn of(name: &str) -> Self {
        Use { addresses: addresses(name), default_route: default_routes().contains(name) }
    }

    /// Nobody but the tester needs it.
    pub fn is_free(&self) -> bool {
        self.addresses.is_empty() && !self.default_route
    }
}

fn addresses(name: &str) -> Vec<String> {
    let all = nix::ifaddrs::getifaddrs().into_iter().flatten();
    let of_interface = all.filter(|entry| entry.interface_name == name);
    let internet = of_interface.filter_map(|entry| {
        let address = entry.address?;
        let v4 = address.as_sockaddr_in().map(|a| a.ip().to_string());
        let v6 = address.as_sockaddr_in6().filter(|a| !a.ip().is_unicast_link_local());
        v4.or(v6.map(|a| a.ip().to_string()))
    });
    internet.collect()
}

/// Interfaces of default routes: destination and mask zero (IPv4), or prefix length zero and not
/// the unreachable route every namespace has on `lo` (IPv6).
fn default_routes() -> BTreeSet<String> {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let ipv4 = read("/proc/net/route");
    let ipv4 = ipv4.lines().skip(1).filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        (fields.get(1) == Some(&"00000000") && fields.get(7) == Some(&"00000000"))
            .then(|| fields[0].to_owned())
    });
    let ipv6 = read("/proc/net/ipv6_route");
    let ipv6 = ipv6.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let default = fields.first().is_some_and(|to| to.bytes().all(|b| b == b'0'));
        (default && fields.get(1) == Some(&"00") && fields.get(9) != Some(&"lo"))
            .then(|| fields.get(9).copied().unwrap_or_default().to_owned())
    });
    ipv4.chain(ipv6).collect()
}

/// How many packet sockets are bound to an interface (`/proc/net/packet`, column Iface).
pub fn packet_sockets(name: &str) -> usize {
    let Ok(index) = nix::net::if_::if_nametoindex(name) else { return 0 };
    let table = std::fs::read_to_string("/proc/net/packet").unwrap_or_default();
    let bound = |line: &&str| line.split_whitespace().nth(4) == Some(&index.to_string());
    table.lines().skip(1).filter(bound).count()
}
