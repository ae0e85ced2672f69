//! Whether addresses of ports can be those of one device: a router has a network of its own at each port.

use crate::failure::{Failure, Outcome};
use std::net::IpAddr;

const EXAMPLE: &str = "write --address 198.18.1.2/24,198.19.1.2/24";

/// A tester's address, and the length of its network's prefix where it is given.
struct Own<'a> {
    text: &'a str,
    address: IpAddr,
    prefix: Option<u32>,
}

impl Own<'_> {
    fn of(text: &str) -> Outcome<Own<'_>> {
        let wrong = |what: String| Failure::new(format!("--address: {what}")).help(EXAMPLE);
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let is_wrong = |_| wrong(format!("`{text}` is no address"));
        let address: IpAddr = address.parse().map_err(is_wrong)?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix.map(str::parse::<u32>) {
            None => None,
            Some(Ok(prefix)) if prefix <= bits => Some(prefix),
            Some(_) => {
                return Err(wrong(format!("`{text}`: a prefix has a length from 0 to {bits}")));
            }
        };
        Ok(Own { text, address, prefix })
    }

    /// Whether both are in one network; without a length, whether they are the same.
    fn has(&self, other: IpAddr, prefix: Option<u32>) -> bool {
        let prefix = self.prefix.unwrap_or(128).min(prefix.unwrap_or(128));
        let differ = match (self.address, other) {
            (IpAddr::V4(a), IpAddr::V4(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
            (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
            _ => return false,
        };
        let bits = if other.is_ipv4() { 32 } else { 128 };
        differ >= prefix.min(bits)
    }
}

/// Refuses addresses that no device can have. Without gateways it is a bridge, whose ports are all in one network.
pub fn check(addresses: &[String], gateways: Option<&[IpAddr]>) -> Outcome<()> {
    let own = addresses.iter().map(|text| Own::of(text)).collect::<Outcome<Vec<_>>>()?;
    for (index, one) in own.iter().enumerate() {
        if let Some(other) = own[..index].iter().find(|other| other.address == one.address) {
            return Err(Failure::new(format!(
                "--address: {} is given for two ports",
                other.address
            ))
            .help(EXAMPLE));
        }
        let mut before = own[..index].iter();
        let Some(gateways) = gateways else { continue };
        if let Some(other) = before.find(|other| other.has(one.address, one.prefix)) {
            return Err(Failure::new(format!(
                "--address: {} and {} are in one network, and a router has another at each port",
                other.text, one.text
            ))
            .help(EXAMPLE)
            .help("for a bridge or switch leave out --gateway"));
        }
        let gateway = gateways.get(index).filter(|gateway| {
            one.prefix.is_some() && !is_link_local(**gateway) && !one.has(**gateway, None)
        });
        if let Some(gateway) = gateway {
            return Err(Failure::new(format!(
                "--gateway: {gateway} is not in the network of {}, the tester's address on that port",
                one.text
            ))
            .help("write the address of the device at each port, in the order of --ports"));
        }
    }
    Ok(())
}

/// In every network (RFC 4291 section 2.5.6).
fn is_link_local(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.is_unicast_link_local())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(addresses: &str, gateways: &str) -> Result<(), String> {
        let addresses: Vec<String> = addresses.split(',').map(Into::into).collect();
        let gateways: Vec<IpAddr> = match gateways {
            "" => vec![],
            some => some.split(',').map(|text| text.parse().unwrap()).collect(),
        };
        let gateways = (!gateways.is_empty()).then_some(&gateways[..]);
        check(&addresses, gateways).map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_router_has_a_network_of_its_own_at_each_port() {
        let refused = |addresses, gateways, words: &str| {
            let refusal = checked(addresses, gateways).expect_err(addresses);
            assert!(refusal.contains(words), "{refusal}");
        };
        let both = ("198.18.0.2/24,198.18.0.3/24", "198.18.0.1,198.18.0.1");
        refused(both.0, both.1, "198.18.0.2/24 and 198.18.0.3/24 are in one network");
        refused(both.0, both.1, "for a bridge or switch leave out --gateway");
        refused("198.18.0.2/15,198.19.0.2/24", "198.18.0.1,198.19.0.1", "in one network");
        refused("2001:2::2/48,2001:2:0:1::2/64", "2001:2::1,2001:2:0:1::1", "in one network");
        refused("198.18.0.2,198.18.0.2", "", "198.18.0.2 is given for two ports");
        refused("198.18.0.2/24,198.19.0.2/33", "", "a length from 0 to 32");
        refused("198.18.0.2/24,198.19.0.2/x", "", "a length from 0 to 32");
        refused("198.18.0.2/24,198.19.0/24", "", "`198.19.0/24` is no address");
        let wrong = "10.0.0.1 is not in the network of 198.18.1.2/24";
        refused("198.18.1.2/24,198.19.1.2/24", "10.0.0.1,198.19.1.1", wrong);
    }

    #[test]
    fn what_a_device_can_have_is_accepted() {
        for (addresses, gateways) in [
            ("198.18.1.2/24,198.19.1.2/24", "198.18.1.1,198.19.1.1"),
            ("198.18.1.2,198.19.1.2", "198.18.1.1,198.19.1.1"),
            ("2001:2:0:1::2/64,2001:2:0:2::2/64", "2001:2:0:1::1,fe80::1"),
            // A bridge's ports are in one network.
            ("198.18.0.2/24,198.18.0.3/24", ""),
            ("198.18.0.2/31,198.18.0.4/31", "198.18.0.3,198.18.0.5"),
        ] {
            assert_eq!(checked(addresses, gateways), Ok(()), "{addresses} {gateways}");
        }
    }
}
