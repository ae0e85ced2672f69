//! Where a port is: its host, its interface or device, and what carries its frames, as one text.

use crate::PortType;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The longest name of an interface (`IFNAMSIZ`, without the end).
const LONGEST_NAME: usize = 15;
/// What the long form of a port of another host begins with.
const AGENT: &str = "agent:";

/// Where a port is: `eth1`, or with what is to carry its frames, `xdp:eth1`. After `dpdk:` everything is the
/// device and its arguments, commas and colons included: `dpdk:net_memif0,role=client,socket=/run/x.sock`.
/// On another host whose ports an agent lends: `hostA:eth1`, or with the agent's port or a kind of port
/// `agent:hostA:9000/xdp:eth1`. A host that is called like a kind of port needs the long form.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Location {
    /// Whose agent lends it, with the agent's port where that is said; `None` for this host.
    pub host: Option<String>,
    /// Name of the interface, or a device of another kind with its arguments.
    pub interface: String,
    /// What carries its frames, where that is said.
    pub port_type: Option<PortType>,
}

impl Location {
    /// This kernel's interface that its frames go through: itself, or the one that a device of another kind
    /// sits on (`dpdk:net_af_packet0,iface=eth1`).
    pub fn kernel_interface(&self) -> Option<&str> {
        if self.host.is_some() {
            return None;
        }
        if self.port_type.is_none_or(PortType::has_interface) {
            return Some(&self.interface);
        }
        let sits_on_one = ["net_af_packet", "net_af_xdp"];
        sits_on_one.iter().find(|driver| self.interface.starts_with(**driver))?;
        self.interface.split(',').find_map(|argument| argument.strip_prefix("iface="))
    }

    /// What to write, in the words of an error.
    pub fn examples() -> String {
        let kinds: Vec<_> = PortType::of_interfaces().map(|kind| format!("{kind}:eth1")).collect();
        format!(
            "write the name of an interface, such as eth1, or {}, or a device of DPDK, such as \
             dpdk:net_memif0,role=client,socket=/run/x.sock, or a port of another host, such as hostA:eth1",
            kinds.join(", ")
        )
    }

    /// Its name without arguments, for a table or the name of a folder.
    pub fn short_name(&self) -> String {
        let device = self.interface.split(',').next().unwrap_or_default();
        match &self.host {
            Some(host) => {
                format!("{}-{device}", host.replace([':', '[', ']'], "-").trim_matches('-'))
            }
            None => device.into(),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Some(host) if self.port_type.is_none() && is_plain(host) => write!(f, "{host}:")?,
            Some(host) => write!(f, "{AGENT}{host}/")?,
            None => {}
        }
        match self.port_type {
            Some(port_type) => write!(f, "{port_type}:{}", self.interface),
            None => f.write_str(&self.interface),
        }
    }
}

/// Whether a host can stand before `:eth1` and is known as one.
fn is_plain(host: &str) -> bool {
    !host.contains(':') && host.parse::<PortType>().is_err()
}

/// Whether it may be the name or the address of a host.
fn is_host(host: &str) -> bool {
    let may_be = |c: char| c.is_ascii_alphanumeric() || ".-:[]%".contains(c);
    !host.is_empty() && host.chars().all(may_be) && !host.starts_with(['-', '.', ':'])
}

impl From<Location> for String {
    fn from(location: Location) -> String {
        location.to_string()
    }
}

impl TryFrom<String> for Location {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for Location {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(rest) = text.strip_prefix(AGENT) {
            let Some((host, rest)) = rest.split_once('/').filter(|(host, _)| is_host(host)) else {
                return Err(format!(
                    "{text:?} names no host and port; write agent:HOST/eth1, agent:HOST:PORT/eth1 or \
                     agent:HOST/xdp:eth1"
                ));
            };
            return Ok(Location { host: Some(host.into()), ..here(rest)? });
        }
        match text.split_once(':') {
            Some((host, interface)) if is_host(host) && is_plain(host) => {
                elsewhere(host, interface)
            }
            _ => here(text),
        }
    }
}

/// `hostA:eth1`.
fn elsewhere(host: &str, interface: &str) -> Result<Location, String> {
    if interface.contains(':') || interface.parse::<u16>().is_ok() {
        let host = format!("{host}:{interface}");
        return Err(format!(
            "`{host}` names no interface; {}, or of an agent agent:{host}/eth1",
            Location::examples()
        ));
    }
    Ok(Location { host: Some(host.into()), ..here(interface)? })
}

/// A location on the host itself.
fn here(text: &str) -> Result<Location, String> {
    let (port_type, interface) = match text.split_once(':') {
        None => (None, text),
        Some((kind, interface)) => match kind.parse() {
            Ok(known) => (Some(known), interface),
            Err(_) => {
                return Err(format!("there is no kind of port `{kind}`; {}", Location::examples()));
            }
        },
    };
    let found = Location { host: None, interface: interface.into(), port_type };
    if port_type.is_some_and(|kind: PortType| !kind.has_interface()) {
        let is_bad = |c: char| c.is_whitespace() || c.is_control();
        return match interface.is_empty() || interface.contains(is_bad) {
            true => Err(format!("{interface:?} is no device; {}", Location::examples())),
            false => Ok(found),
        };
    }
    let is_bad = |c: char| c == '/' || c == ':' || c.is_whitespace() || c.is_control();
    let is_name = !interface.is_empty()
        && interface.len() <= LONGEST_NAME
        && !interface.contains(is_bad)
        && ![".", ".."].contains(&interface);
    match is_name {
        true => Ok(found),
        false => Err(format!("{interface:?} is no name of an interface; {}", Location::examples())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_an_interface_with_or_without_a_kind_of_port() {
        let of = |text: &str| {
            text.parse::<Location>().map(|location| (location.port_type, location.interface))
        };
        assert_eq!(of("eth1"), Ok((None, "eth1".into())));
        assert_eq!(of("af_packet:eth1"), Ok((Some(PortType::AF_PACKET), "eth1".into())));
        assert_eq!(of("auto:eth1"), Ok((Some(PortType::AUTO), "eth1".into())));
        let memif = "dpdk:net_memif0,role=client,socket=/run/x.sock";
        assert_eq!(of(memif), Ok((Some(PortType::DPDK), memif[5..].into())));
        assert_eq!(memif.parse::<Location>().unwrap().to_string(), memif);
        assert_eq!(memif.parse::<Location>().unwrap().short_name(), "net_memif0");
        let on =
            |text: &str| text.parse::<Location>().unwrap().kernel_interface().map(String::from);
        assert_eq!(on("xdp:eth1"), Some("eth1".into()));
        assert_eq!(on("dpdk:net_af_packet0,iface=eth1,blocksz=4096"), Some("eth1".into()));
        assert_eq!((on(memif), on("dpdk:net_vhost0,iface=/tmp/v")), (None, None));
        assert_eq!(of("dpdk:0000:3b:00.0"), Ok((Some(PortType::DPDK), "0000:3b:00.0".into())));
        for wrong in [
            "",
            "dpdk:",
            "dpdk:a b",
            "pf_ring:eth1",
            "agent:eth1",
            "agent:/eth1",
            "agent:hostA/",
            "xdp:",
            "a/b",
            "10.0.0.1:5555",
            "hostA:9000:eth1",
            "a name",
            "sixteen-letters-",
        ] {
            let error = of(wrong).unwrap_err();
            assert!(
                error.contains("af_packet:eth1") || error.contains("agent:HOST/eth1"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn a_port_of_another_host_has_that_hosts_name() {
        let of = |text: &str| text.parse::<Location>().unwrap();
        let plain = of("hostA:eth1");
        assert_eq!((plain.host.as_deref(), &*plain.interface), (Some("hostA"), "eth1"));
        assert_eq!((plain.kernel_interface(), &*plain.short_name()), (None, "hostA-eth1"));
        let long = of("agent:[fd00::1]:9000/af_packet:eth1");
        assert_eq!(long.host.as_deref(), Some("[fd00::1]:9000"));
        assert_eq!(long.port_type, Some(PortType::AF_PACKET));
        assert_eq!(of("xdp:eth1").host, None, "a kind of port");
        assert_eq!(of("agent:xdp/eth1").host.as_deref(), Some("xdp"));
        for text in
            ["hostA:eth1", "10.0.0.1:eth1", "agent:hostA:9000/xdp:eth1", "agent:xdp/eth1", "eth1"]
        {
            assert_eq!(of(text).to_string(), text);
        }
        assert_eq!(of("agent:hostA/eth1").to_string(), "hostA:eth1");
    }
}
