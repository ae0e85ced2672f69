//! Devices of a configuration: hosts that answer ARP and neighbour discovery, and the ends of flows.

use crate::error::Refusal;
use crate::model::{
    Config, Device, DeviceEthernet, DeviceIpv4GatewayMACChoice, DeviceIpv6GatewayMACChoice,
};
use ports::Host;
use std::collections::BTreeMap;
use std::net::IpAddr;
use trial::PortId;
use wire::ethernet::MacAddr;

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
    /// Its address.
    pub ip: IpAddr,
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
    let plain = |name: &str, ip: &str, gateway: &str, gateway_mac: Option<&String>| Interface {
        name: name.into(),
        device: device.name.clone(),
        ethernet: ethernet.name.clone(),
        port,
        mac,
        ip: ip.parse().unwrap_or(IpAddr::from([0; 4])),
        gateway: gateway.parse().unwrap_or(IpAddr::from([0; 4])),
        gateway_mac: gateway_mac.and_then(|mac| mac.parse().ok()),
    };
    let ipv4 = ethernet.ipv4_addresses.iter().map(|ip| {
        let given = ip.gateway_mac.choice == DeviceIpv4GatewayMACChoice::Value;
        let mac = ip.gateway_mac.value.as_ref().filter(|_| given);
        plain(&ip.name, &ip.address, &ip.gateway, mac)
    });
    let ipv6 = ethernet.ipv6_addresses.iter().map(|ip| {
        let given = ip.gateway_mac.choice == DeviceIpv6GatewayMACChoice::Value;
        let mac = ip.gateway_mac.value.as_ref().filter(|_| given);
        plain(&ip.name, &ip.address, &ip.gateway, mac)
    });
    Ok(ipv4.chain(ipv6).collect())
}

/// The hosts that answer on a port.
pub fn hosts(interfaces: &[Interface], port: PortId) -> Vec<Host> {
    let here = interfaces.iter().filter(|interface| interface.port == port);
    let host = |interface: &Interface| Host {
        mac: interface.mac,
        networks: vec![(interface.ip, if interface.ip.is_ipv4() { 32 } else { 128 })],
        except: vec![],
    };
    here.map(host).collect()
}
