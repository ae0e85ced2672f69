//! Tunnels at each port of a multicast router, one for each host: the kernel forwards groups into them and
//! out of them as by any interface.

use super::MULTICAST_INTERFACES;
use crate::addressing::PortAddresses;
use crate::config::TestbedConfig;
use crate::error::{Result, TestbedError};
use crate::tunnel::{Tunnel, make};
use kernel::Namespace;

/// Network identifier of the VXLAN at port 0; one more at each further port.
const FIRST_VXLAN: u32 = 100;

/// Name of a tunnel's interface.
pub(crate) fn interface(kind: Tunnel, port: usize) -> String {
    match kind {
        Tunnel::Gre => format!("tgre{port}"),
        _ => format!("tvxlan{port}"),
    }
}

impl TestbedConfig {
    /// Number of the interface, as a [`GroupRange`](crate::GroupRange) has it, by which groups go into the
    /// tunnel of a kind at a port, or come out of it; `None` where there is none.
    pub fn tunnel_interface(&self, kind: Tunnel, port: usize) -> Option<usize> {
        let kind = self.multicast_tunnels.iter().position(|known| *known == kind)?;
        Some(self.ports * (1 + kind) + port)
    }
}

/// Refuses what the kernel's multicast forwarding cannot have.
pub(crate) fn check(config: &TestbedConfig) -> Result<()> {
    let refuse = |why: String| Err(TestbedError::Configuration(why));
    let kinds = &config.multicast_tunnels;
    let is_table = config.device == crate::DeviceKind::LinuxMcast
        && config.multicast == super::MulticastRouting::Table;
    if !kinds.is_empty() && !is_table {
        return refuse("multicast_tunnels: linux-mcast with multicast = \"table\" has them".into());
    }
    if kinds.iter().any(|kind| !matches!(kind, Tunnel::Gre | Tunnel::Vxlan)) {
        return refuse("multicast_tunnels: gre and vxlan are possible".into());
    }
    let interfaces = config.ports * (1 + kinds.len());
    if !kinds.is_empty() && interfaces > MULTICAST_INTERFACES {
        return refuse(format!(
            "{} ports with {} tunnels each: the kernel forwards multicast between \
             {MULTICAST_INTERFACES} interfaces at most, {} ports are possible",
            config.ports,
            kinds.len(),
            MULTICAST_INTERFACES / (1 + kinds.len())
        ));
    }
    Ok(())
}

/// Makes the tunnels of a device whose ports are up; their interfaces, kind after kind.
pub(crate) fn build(namespace: &Namespace, config: &TestbedConfig) -> Result<Vec<String>> {
    let mut interfaces = vec![];
    for kind in &config.multicast_tunnels {
        let ports = 0..config.ports;
        let commands: String = ports.clone().map(|port| commands(*kind, port, config)).collect();
        make(namespace, *kind, &commands)?;
        interfaces.extend(ports.map(|port| interface(*kind, port)));
    }
    Ok(interfaces)
}

/// Removes them.
pub(crate) fn remove(namespace: &Namespace, config: &TestbedConfig) -> Result<()> {
    let mut netlink = namespace.netlink()?;
    let all = config.multicast_tunnels.iter();
    let mut all = all.flat_map(|kind| (0..config.ports).map(|port| interface(*kind, port)));
    Ok(all.try_for_each(|name| netlink.delete_link(&name))?)
}

fn commands(kind: Tunnel, port: usize, config: &TestbedConfig) -> String {
    let name = interface(kind, port);
    let ends = PortAddresses::of_port(port).ipv4;
    let (end, host) = (ends.device, ends.host);
    let add = match kind {
        Tunnel::Gre => format!("type gre local {end} remote {host} ttl 64"),
        _ => format!(
            "type vxlan id {} local {end} remote {host} dstport 4789 dev dut{port} nolearning \
             noudpcsum",
            FIRST_VXLAN + port as u32
        ),
    };
    let mtu_bytes = kind.mtu_bytes(config.mtu_bytes);
    format!(
        "link add {name} {add}\nlink set {name} addrgenmode none\n\
         link set {name} mtu {mtu_bytes} multicast on up\n"
    )
}
