//! Devices of a configuration: hosts that answer ARP and neighbour discovery, and the ends of flows.

use crate::error::Refusal;
use crate::model::{
    Config, Device, DeviceEthernet, DeviceIpv4GatewayMACChoice, DeviceIpv6GatewayMACChoice,
    DeviceVlan, DeviceVlanTpid,
};
use ports::Host;
use std::collections::BTreeMap;
use std::net::IpAddr;
use trial::PortId;
use wire::ethernet::{EtherType, MacAddr};
use wire::vlan::{self, Tag};

/// Tags that a frame of a device may have.
const TAGS_MAX: usize = 2;
/// The specification's default, and the only one.
const MTU_BYTES: u32 = 1500;

/// An address of a device, with its way out.
#[derive(Clone, PartialEq, Debug)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its device's.
    pub device: String,
    /// Its Ethernet's.
    pub ethernet: String,
    /// The port behind which it is.
    pub port: PortId,
    /// Its hardware address.
    pub mac: MacAddr,
    /// VLAN tags of its frames, the outermost first.
    pub tags: Vec<Tag>,
    /// Its address.
    pub ip: IpAddr,
    /// The length of its network's prefix in bits.
    pub prefix: u8,
    /// Addresses of flows from and to it, as numbers; its own.
    pub ends: Vec<u128>,
    /// Where it sends what is for others.
    pub gateway: IpAddr,
    /// The gateway's hardware address, where the configuration gives it.
    pub gateway_mac: Option<MacAddr>,
}

/// Every address of every device.
///
/// # Errors
/// Where an Ethernet is joined to no port, or has what netanvil does not play.
pub fn interfaces(
    config: &Config,
    ports: &BTreeMap<String, PortId>,
) -> Result<Vec<Interface>, Vec<Refusal>> {
    let (mut found, mut errors) = (vec![], vec![]);
    for (at, device) in config.devices.iter().enumerate() {
        for (eth, ethernet) in device.ethernets.iter().enumerate() {
            let path = format!("devices[{at}].ethernets[{eth}]");
            match of_ethernet((device, ethernet), ports, &path) {
                Ok(interfaces) => found.extend(interfaces),
                Err(error) => errors.push(error),
            }
        }
    }
    if errors.is_empty() { Ok(found) } else { Err(errors) }
}

fn of_ethernet(
    (device, ethernet): (&Device, &DeviceEthernet),
    ports: &BTreeMap<String, PortId>,
    path: &str,
) -> Result<Vec<Interface>, Refusal> {
    let name = ethernet.connection.port_name.as_deref();
    let of_port = format!("{path}.connection.port_name");
    let name = name.ok_or_else(|| Refusal::new(&of_port, "give the name of a port".into()))?;
    let port = *ports
        .get(name)
        .ok_or_else(|| Refusal::new(&of_port, format!("there is no port `{name}`")))?;
    if ethernet.mtu != MTU_BYTES {
        let what =
            format!("netanvil's hosts have an MTU of {MTU_BYTES}; sizes of frames are the flows'");
        return Err(Refusal::new(&format!("{path}.mtu"), what));
    }
    let mac = match &ethernet.mac {
        Some(mac) => {
            mac.parse().map_err(|error| Refusal::new(&format!("{path}.mac"), format!("{error}")))?
        }
        None => {
            return Err(Refusal::new(
                &format!("{path}.mac"),
                "give the device a MAC address".into(),
            ));
        }
    };
    let tags = tags(&ethernet.vlans, path)?;
    let plain = |name: &str, (ip, prefix): (&str, u32), gateway: &str, mac_of: Option<&String>| {
        let ip: IpAddr = ip.parse().unwrap_or(IpAddr::from([0; 4]));
        Interface {
            name: name.into(),
            device: device.name.clone(),
            ethernet: ethernet.name.clone(),
            port,
            mac,
            tags: tags.clone(),
            ip,
            prefix: prefix as u8,
            ends: vec![number(ip)],
            gateway: gateway.parse().unwrap_or(IpAddr::from([0; 4])),
            gateway_mac: mac_of.and_then(|mac| mac.parse().ok()),
        }
    };
    let ipv4 = ethernet.ipv4_addresses.iter().map(|ip| {
        let given = ip.gateway_mac.choice == DeviceIpv4GatewayMACChoice::Value;
        let mac = ip.gateway_mac.value.as_ref().filter(|_| given);
        plain(&ip.name, (&ip.address, ip.prefix), &ip.gateway, mac)
    });
    let ipv6 = ethernet.ipv6_addresses.iter().map(|ip| {
        let given = ip.gateway_mac.choice == DeviceIpv6GatewayMACChoice::Value;
        let mac = ip.gateway_mac.value.as_ref().filter(|_| given);
        plain(&ip.name, (&ip.address, ip.prefix), &ip.gateway, mac)
    });
    Ok(ipv4.chain(ipv6).collect())
}

/// An address as a number.
pub fn number(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => ip.to_bits().into(),
        IpAddr::V6(ip) => ip.to_bits(),
    }
}

/// The tags of an Ethernet, the outermost first.
fn tags(vlans: &[DeviceVlan], path: &str) -> Result<Vec<Tag>, Refusal> {
    let path = format!("{path}.vlans");
    if vlans.len() > TAGS_MAX {
        let what = format!("{} tags; netanvil's hosts have {TAGS_MAX} at most", vlans.len());
        return Err(Refusal::new(&format!("{path}[{TAGS_MAX}]"), what));
    }
    let tag = |(at, vlan): (usize, &DeviceVlan)| {
        let tpid = match vlan.tpid {
            DeviceVlanTpid::X8100 => EtherType::VLAN,
            DeviceVlanTpid::X88A8 => EtherType::SERVICE_VLAN,
            _ => {
                let what = "netanvil's hosts have tags of x8100 (802.1Q) and x88A8 (802.1ad)";
                return Err(Refusal::new(&format!("{path}[{at}].tpid"), what.into()));
            }
        };
        let id = vlan.id as u16;
        if id == 0 || id > vlan::MAX_ID {
            let what = format!("{id} is of no VLAN (IEEE 802.1Q); write 1 to {}", vlan::MAX_ID);
            return Err(Refusal::new(&format!("{path}[{at}].id"), what));
        }
        Ok(Tag { tpid, priority: vlan.priority as u8, id })
    };
    vlans.iter().enumerate().map(tag).collect()
}

/// The hosts that answer on a port.
pub fn hosts(interfaces: &[Interface], port: PortId) -> Vec<Host> {
    let here = interfaces.iter().filter(|interface| interface.port == port);
    let host = |interface: &Interface| Host {
        mac: interface.mac,
        tags: interface.tags.clone(),
        networks: vec![(interface.ip, if interface.ip.is_ipv4() { 32 } else { 128 })],
        except: vec![],
    };
    here.map(host).collect()
}
